/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about layouts: known cases, and random ones against a slower way of finding out. */
#define SETT_SHORT
#include "lib/print/print.h"
#include <check.h>
#include <sett/cost.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- known cases --------------------------------------------------------------------------------------- */
typedef struct known {
    const char *layout, *tensor;
    sett_dtype dtype;
    int width, accesses, sectors, least, ways;
} known;

START_TEST(known_cases)
{
    static const known cases[] = {
        /* A warp over a row-major 32 x 32 tile of f32: a row, a column, the column swizzled, the column padded. */
        {"32:1", NULL, SETT_F32, 1, 1, 4, 4, 1},
        {"32:32", NULL, SETT_F32, 1, 1, 32, 4, 32},
        {"S<5,0,5> o 0 o 32:32", NULL, SETT_F32, 1, 1, 32, 4, 1},
        {"32:33", NULL, SETT_F32, 1, 1, 32, 4, 1},
        /* All lanes read one word: a broadcast. */
        {"32:0", NULL, SETT_F32, 1, 1, 1, 1, 1},
        /* Two lanes a word. */
        {"32:1", NULL, SETT_F16, 1, 1, 2, 2, 1},
        /* 16 bytes a lane: eight lanes a pass. A stride of 128 bytes sends all of them to the same four banks. */
        {"(32,4):(4,1)", NULL, SETT_F32, 4, 1, 16, 16, 1},
        {"(32,8):(64,1)", NULL, SETT_F16, 8, 1, 32, 16, 8},
        {"S<3,3,3> o 0 o (32,8):(64,1)", NULL, SETT_F16, 8, 1, 32, 16, 1},
        {"(32,2):(2,1)", NULL, SETT_F32, 2, 1, 8, 8, 1},
        /* Every other word, two ways. */
        {"32:2", NULL, SETT_F32, 1, 1, 8, 4, 2},
        /* A swizzle that moves single elements parts what was adjacent. */
        {"S<2,0,3> o 0 o (32,4):(4,1)", NULL, SETT_F32, 1, 4, 16, 4, 4},
        /* Values in the other order of memory are not one access. */
        {"(32,(2,2)):(4,(2,1))", NULL, SETT_F32, 4, 1, 16, 16, 1},
        /* A TV layout over a row-major tile: 8 halves a row, 4 rows. */
        {"((32,4),(8,4)):((128,4),(16,1))", "(16,256):(256,1)", SETT_F16, 8, 4, 16, 16, 1},
        /* The same over a column-major one: nothing is adjacent but the 4 rows. */
        {"((32,4),(8,4)):((128,4),(16,1))", "(16,256):(1,16)", SETT_F16, 4, 8, 32, 8, 16},
        /* A value that is read twice is accessed once. */
        {"(32,(2,4)):(4,(0,1))", NULL, SETT_F32, 4, 1, 16, 16, 1},
        {"32:1", NULL, SETT_F64, 1, 1, 8, 8, 1},
        {"32:1", NULL, SETT_I8, 1, 1, 1, 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const known *k = &cases[i];
        sett_build *b = sett_build_begin();
        sett_layout *tensor = k->tensor ? sett_layout_parse(b, k->tensor) : NULL;
        const sett_cost *f = sett_access_cost(sett_layout_parse(b, k->layout), .tensor = tensor, .dtype = k->dtype);
        ck_assert_msg(f->width == k->width && f->accesses == k->accesses && f->sectors == k->sectors &&
                f->sectors_least == k->least && f->bank_ways == k->ways,
            "%s: width %d, %lld accesses, %d sectors of %d, %d ways", k->layout, f->width, (long long)f->accesses,
            f->sectors, f->sectors_least, f->bank_ways);
        ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
    }
}
END_TEST

START_TEST(alignment_says_why)
{
    static const struct {
        const char *layout;
        int align;
        const char *text;
    } cases[] = {
        {"(32,4):(4,1)", 16, "every access starts at a multiple of 4 elements"},
        {"(32,4):(4,1)", 8, "every access starts at a multiple of 2 elements; not 4 at once: offset 0 is aligned to 8 bytes only"},
        {"(32,4):(6,1)", 16,
            "every access starts at a multiple of 2 elements; not 4 at once: thread 1 has an access at offset 6, no multiple of 4"},
        {"(32,4):(1,32)", 16,
            "one element at a time; not 2 at once: values 0 and 1 of thread 0 are at offsets 0 and 32, not adjacent"},
        {"(32,3):(3,1)", 16, "one element at a time; not 2 at once: a thread has 3 values"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sett_build *b = sett_build_begin();
        const sett_layout *l = sett_layout_parse(b, cases[i].layout);
        ck_assert_str_eq(
            sett_access_cost(l, .dtype = SETT_F32, .align = cases[i].align)->alignment, cases[i].text);
        ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
    }
}
END_TEST

START_TEST(coverage)
{
    sett_build *b = sett_build_begin();
    const sett_cost *f = sett_access_cost(sett_make_layout(b, T(4, 8), T(9, 1)));
    ck_assert(f->injective && !f->surjective);
    ck_assert_int_eq(f->elements - f->reached, 3);
    ck_assert_int_eq(f->width, 0); /* no type, no access */
    f = sett_access_cost(sett_make_layout(b, T(4, 8), T(0, 1)));
    ck_assert(!f->injective && f->surjective);
    /* Every other element of a tensor whose own offsets are not compact. */
    f = sett_access_cost(sett_make_layout(b, 8, 2), .tensor = sett_make_layout(b, T(4, 4), T(100, 1)));
    ck_assert(f->injective && !f->surjective);
    ck_assert_int_eq(f->elements, 16);
    ck_assert_int_eq(f->reached, 8);
    ck_assert_int_eq(f->high, 203);
    /* Onto the tensor, which itself has one place for all. */
    f = sett_access_cost(sett_make_layout(b, 4), .tensor = sett_make_layout(b, 4, 0));
    ck_assert(!f->injective && f->surjective);
    f = sett_access_cost(sett_make_layout(b, T(4, 2), T(-1, -4)));
    ck_assert(f->injective && f->surjective && f->low == -7 && f->high == 0);
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
}
END_TEST

/* ---- dynamic strides ------------------------------------------------------------------------------------------ */
typedef struct promise {
    int div, align, width, accesses;
    const char *alignment;
} promise;

/* 4 x 32 threads, each 4 rows of 8 halves, over a tile of a row-major matrix whose rows are ?{div} long. */
START_TEST(divisibility_proves_width)
{
    static const promise cases[] = {
        {256, 16, 8, 4, "every access starts at a multiple of 8 elements"},
        {8, 16, 8, 4, "every access starts at a multiple of 8 elements"},
        {4, 16, 4, 8,
            "every access starts at a multiple of 4 elements; not 8 at once: stride N{div=4} is not known to be a multiple of 8"},
        {1, 16, 1, 32, "one element at a time; not 2 at once: stride N is not known to be a multiple of 2"},
        {8, 4, 2, 16, "every access starts at a multiple of 2 elements; not 4 at once: offset 0 is aligned to 4 bytes only"},
    };
    for (size_t i = 0; i < SETT__COUNT(cases); i++) {
        const promise *p = &cases[i];
        sett_build *b = sett__build_new(NULL, true);
        sett_val *N = sett_sym(b, "N", .div = p->div);
        sett_layout *tile = sett_make_layout(b, T(16, 256), T(N, 1));
        sett_tv tv = sett_make_layout_tv(sett_row_major(b, 4, 32), sett_row_major(b, 4, 8));
        const sett_cost *f = sett_access_cost(tv.tv, .tensor = tile, .dtype = SETT_F16, .align = p->align);
        ck_assert_str_eq(f->alignment, p->alignment);
        ck_assert_int_eq(f->width, p->width);
        ck_assert_int_eq(f->width_bytes, 2 * p->width);
        ck_assert_int_eq(f->accesses, p->accesses);
        ck_assert(!f->exact && f->threads == 128 && f->values == 32 && !f->sectors && !f->reached);
        ck_assert_int_eq(sett_build_status(b, NULL), SETT_OK);
        sett_build_end(b, NULL);
    }
}
END_TEST

/* A value mode that is dynamic has a start of its own for each coordinate; a thread's static stride must divide too. */
START_TEST(dynamic_modes)
{
    sett_build *b = sett__build_new(NULL, true);
    sett_val *N = sett_sym(b, "N", .div = 4);
    const sett_cost *f = sett_access_cost(sett_make_layout(b, T(32, T(4, 3)), T(4, T(1, N))), .dtype = SETT_F32);
    ck_assert(f->width == 4 && f->accesses == 3);
    f = sett_access_cost(sett_make_layout(b, T(32, T(4, 3)), T(6, T(1, N))), .dtype = SETT_F32);
    ck_assert(f->width == 2 && f->accesses == 6);
    ck_assert_ptr_nonnull(strstr(f->alignment, "stride 6 is not known to be a multiple of 4"));
    f = sett_access_cost(sett_make_layout(b, T(T(32, 2), T(2, 2)), T(T(2, N), T(0, 1))), .dtype = SETT_F32);
    ck_assert(f->width == 2 && f->accesses == 1); /* two of the values are one place */
    f = sett_access_cost(sett_make_layout(b, T(32, 4), T(N, 32)), .dtype = SETT_F32);
    ck_assert(f->width == 1 && f->accesses == 4);
    ck_assert_ptr_nonnull(strstr(f->alignment, "values 0 and 1 of thread 0 are at offsets 0 and 32, not adjacent"));
    ck_assert_int_eq(sett_build_status(b, NULL), SETT_OK);
    sett_build_end(b, NULL);
}
END_TEST

/* ---- against a slower way ---------------------------------------------------------------------------------- */
enum { THREADS = 64, VALUES = 16, SPAN = 8192 };
typedef struct reference {
    int threads, values, bytes;
    int at[THREADS][VALUES];
    int width, sectors, least, ways;
    bool injective, surjective;
} reference;

static bool alike(const reference *r, int v, int w)
{
    for (int t = 0; t < r->threads; t++)
        if (r->at[t][v] != r->at[t][w])
            return false;
    return true;
}

/* The first value that is at v's place in every thread. */
static int first_of(const reference *r, int v)
{
    for (int w = 0; w < v; w++)
        if (alike(r, v, w))
            return w;
    return v;
}

/* Who leads v's access of w elements: in every thread as far before v as in thread 0, and aligned. -1: nobody. */
static int leader(const reference *r, int v, int w)
{
    int back = r->at[0][v] % w;
    for (int l = 0; l < r->values; l++) {
        bool leads = true;
        for (int t = 0; t < r->threads; t++)
            leads = leads && r->at[t][l] == r->at[t][v] - back && r->at[t][l] % w == 0;
        if (leads)
            return first_of(r, l);
    }
    return -1;
}

static bool wide(const reference *r, int w)
{
    bool used[VALUES][16] = {{false}};
    for (int v = 0; v < r->values; v++) {
        int l = leader(r, v, w);
        if (l < 0)
            return false;
        used[l][r->at[0][v] % w] = true;
    }
    for (int v = 0; v < r->values; v++)
        for (int i = 0; i < w; i++)
            if (!used[leader(r, v, w)][i])
                return false;
    return true;
}

/* Marks every byte of one request, then counts. */
static void request(reference *r, int v, int first)
{
    static bool byte[SPAN * 8];
    int bytes = r->width * r->bytes, last = first + 32 < r->threads ? first + 32 : r->threads, sectors = 0, all = 0;
    memset(byte, 0, sizeof byte);
    for (int t = first; t < last; t++)
        memset(byte + r->at[t][v] * r->bytes, 1, (size_t)bytes);
    for (int s = 0; s < SPAN * 8 / 32; s++) {
        bool met = false;
        for (int i = 0; i < 32; i++)
            met = met || byte[s * 32 + i], all += byte[s * 32 + i];
        sectors += met;
    }
    if (sectors > r->sectors)
        r->sectors = sectors, r->least = (all + 31) / 32;
    int lanes = bytes <= 4 ? 32 : 128 / bytes;
    for (int pass = first; pass < last; pass += lanes) {
        memset(byte, 0, sizeof byte);
        for (int t = pass; t < last && t < pass + lanes; t++)
            for (int i = 0; i < bytes; i++)
                byte[(r->at[t][v] * r->bytes + i) / 4] = true; /* a word here */
        for (int bank = 0; bank < 32; bank++) {
            int words = 0;
            for (int w = bank; w < SPAN * 2; w += 32)
                words += byte[w];
            r->ways = words > r->ways ? words : r->ways;
        }
    }
}

static void find_out(reference *r)
{
    static int met[SPAN];
    int high = 0, reached = 0;
    memset(met, 0, sizeof met);
    for (int i = 0; i < r->threads * r->values; i++) {
        int at = r->at[i % r->threads][i / r->threads];
        reached += !met[at]++;
        high = at > high ? at : high;
    }
    r->injective = reached == r->threads * r->values;
    r->surjective = reached == high + 1;
    for (r->width = 16 / r->bytes; r->width > 1 && !wide(r, r->width);)
        r->width /= 2;
    for (int v = 0; v < r->values; v++)
        if (first_of(r, v) == v && leader(r, v, r->width) == v)
            for (int first = 0; first < r->threads; first += 32)
                request(r, v, first);
}

static unsigned next(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Half the time strides that fit together, half any; sometimes a swizzle. */
static sett_layout *random_layout(sett_build *b, unsigned *seed)
{
    int extent[4], stride[4], at = 1;
    for (int i = 0; i < 4; i++)
        extent[i] = 1 << next(seed) % (i < 2 ? 4 : 3);
    bool compact = next(seed) % 4 != 0;
    int order[4] = {0, 1, 2, 3};
    for (int i = 3; i > 0; i--) {
        int j = (int)(next(seed) % (unsigned)(i + 1)), k = order[i];
        order[i] = order[j], order[j] = k;
    }
    for (int i = 0; i < 4; i++) {
        stride[order[i]] = compact ? at : (int)(next(seed) % 20);
        at *= extent[order[i]];
    }
    sett_layout *l = sett_make_layout(b, T(T(extent[0], extent[1]), T(extent[2], extent[3])),
        T(T(stride[0], stride[1]), T(stride[2], stride[3])));
    return next(seed) % 3 ? l : sett_make_swizzled((int)(next(seed) % 4), (int)(next(seed) % 4), 3, l);
}

START_TEST(random_cases)
{
    static const sett_dtype types[] = {SETT_I8, SETT_F16, SETT_F32, SETT_F64};
    static reference r;
    const char *given = getenv("SETT_SEED");
    unsigned seed = given ? (unsigned)strtoul(given, NULL, 0) : 1, widths = 0;
    for (int i = 0; i < 400; i++) {
        unsigned was = seed;
        sett_build *b = sett_build_begin();
        sett_layout *l = random_layout(b, &seed);
        sett_dtype type = types[next(&seed) % 4];
        memset(&r, 0, sizeof r);
        r.threads = (int)sett_static(b, sett_size(sett_get(l, 0)));
        r.values = (int)sett_static(b, sett_size(sett_get(l, 1)));
        r.bytes = sett_dtype_bits(type) / 8;
        for (int t = 0; t < r.threads; t++)
            for (int v = 0; v < r.values; v++)
                r.at[t][v] = (int)sett_static(b, sett_crd2idx(T(t, v), l));
        find_out(&r);
        const sett_cost *f = sett_access_cost(l, .dtype = type);
        char text[128];
        sett_layout_str(l, text, sizeof text);
        ck_assert_msg(f->width == r.width && f->sectors == r.sectors && f->sectors_least == r.least && f->bank_ways == r.ways &&
                f->injective == r.injective && f->surjective == r.surjective,
            "seed %u: %s of %d bytes: width %d (%d), sectors %d of %d (%d of %d), ways %d (%d), injective %d (%d), surjective "
            "%d (%d)", was, text, r.bytes, f->width, r.width, f->sectors, f->sectors_least, r.sectors, r.least, f->bank_ways,
            r.ways, f->injective, r.injective, f->surjective, r.surjective);
        widths |= 1u << f->width;
        ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
    }
    ck_assert_uint_eq(widths & 0x16, 0x16); /* 1, 2, 4: the cases are of all kinds */
}
END_TEST

/* ---- refusals --------------------------------------------------------------------------------------------- */
static const sett_cost *too_many(sett_build *b)
{
    return sett_access_cost(sett_make_layout(b, T(2048, 1024)));
}
static const sett_cost *outside(sett_build *b)
{
    return sett_access_cost(sett_make_layout(b, T(4, 2), T(4, 1)), .tensor = sett_make_layout(b, T(3, 4)));
}
static const sett_cost *coordinates(sett_build *b)
{
    return sett_access_cost(sett_make_identity_layout(b, 4, 8));
}
static const sett_cost *six_bits(sett_build *b)
{
    return sett_access_cost(sett_make_layout(b, 4), .dtype = SETT_F6E3M2FN);
}
static const sett_cost *odd_align(sett_build *b)
{
    return sett_access_cost(sett_make_layout(b, 4), .dtype = SETT_F32, .align = 12);
}
static const sett_cost *far(sett_build *b)
{
    return sett_access_cost(sett_make_layout(b, T(2, 2), T(INT64_MAX / 4, 1)), .dtype = SETT_F32);
}

static const sett_cost *dynamic_extent(sett_build *b)
{
    return sett_access_cost(sett_make_layout(b, T(32, sett_sym(b, "N"))), .dtype = SETT_F32);
}
static const sett_cost *dynamic_swizzle(sett_build *b)
{
    sett_layout *l = sett_make_layout(b, T(8, 8), T(sett_sym(b, "N"), 1));
    return sett_access_cost(sett_make_swizzled(3, 0, 3, l), .dtype = SETT_F32);
}

START_TEST(refusals)
{
    static const struct {
        const sett_cost *(*ask)(sett_build *);
        sett_status status;
        const char *text;
    } cases[] = {
        {too_many, SETT_E_LIMIT, "sett_access_cost: (2048,1024):(1,2048): more than 1048576 coordinates, or none"},
        {outside, SETT_E_SHAPE, "(4,2):(4,1): thread 3, value 0 is element 12 of (3,4):(1,3), which has 12"},
        {coordinates, SETT_E_SHAPE, "(4,8):(1@0,1@1) gives coordinates, not offsets"},
        {six_bits, SETT_E_DTYPE, "f6E3M2FN: an element of a power of two bits is needed"},
        {odd_align, SETT_E_ARGUMENT, "align 12 is no power of two"},
        {dynamic_extent, SETT_E_STATIC, "(32,N):(1,32): facts need static extents; of a kernel's accesses its report says them"},
        {dynamic_swizzle, SETT_E_STATIC, "what a swizzle of dynamic strides costs is known at run time only"},
        {far, SETT_E_RANGE, "an offset is out of range"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sett_build *b = sett__build_new(NULL, true);
        sett_error err;
        const sett_cost *f = cases[i].ask(b);
        memset(&err, 0, sizeof err);
        ck_assert(f && !f->threads && !*f->alignment);
        ck_assert_int_eq(sett_build_end(b, &err), cases[i].status);
        ck_assert_msg(strstr(err.text, cases[i].text) != NULL, "%s", err.text);
    }
}
END_TEST

Suite *facts_suite(void);
Suite *facts_suite(void)
{
    Suite *s = suite_create("facts");
    TCase *c = tcase_create("facts");
    tcase_add_test(c, known_cases);
    tcase_add_test(c, alignment_says_why);
    tcase_add_test(c, coverage);
    tcase_add_test(c, divisibility_proves_width);
    tcase_add_test(c, dynamic_modes);
    tcase_add_test(c, random_cases);
    tcase_add_test(c, refusals);
    suite_add_tcase(s, c);
    return s;
}
