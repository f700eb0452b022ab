/* SPDX-License-Identifier: Apache-2.0 */
/* Where the operands of products of matrices lie: each row of mma.def as a tape, whose operands are placed by the table's layouts,
 * against a program that places them by hand (hand.h), bit by bit, and against plain C where sums are exact. Matrices in shared
 * memory: each swizzle, both majors. ldmatrix and stmatrix: against plain C. On GPU 0 when SETT_TEST_GPU is set, and on the CPU
 * engine as far as it has these operations; $SETT_TEST_OPERANDS sums of a row (100000). Without a GPU all programs are assembled. */
#include "tests/conform/conform.h"
#include "tests/rig/hand.h"
#include "tests/rig/operands.h"
#include "tests/rig/rig.h"
#include "tests/rig/tapes.h"
#include <stdlib.h>
#include <string.h>

enum { TEXT = 1 << 13, GROUP = 128, IMAGE_OF_B = 8192 };
#ifdef __SANITIZE_ADDRESS__ /* several times as slow: of every third product */
enum { FEW = 100, EACH = 3 };
#else
enum { FEW = 2000, EACH = 1 };
#endif

/* ---- one case ---------------------------------------------------------------------------------- */
typedef struct way {
    int a_swizzle, b_swizzle; /* bytes, 16: none; a_swizzle 0: A in registers */
    bool trans_a, trans_b, neg_a, neg_b, replaces;
} way;
static const way ways[] = {
    /* of every n */
    {.a_swizzle = 128, .b_swizzle = 128}, {.b_swizzle = 128},
    /* of n 64: each swizzle of each matrix */
    {.a_swizzle = 16, .b_swizzle = 32}, {.a_swizzle = 32, .b_swizzle = 64}, {.a_swizzle = 64, .b_swizzle = 16},
    {.a_swizzle = 64, .b_swizzle = 64, .neg_a = true}, {.b_swizzle = 32, .neg_b = true}, {.a_swizzle = 128, .b_swizzle = 16, .replaces = true}, {.b_swizzle = 64, .replaces = true},
    {.a_swizzle = 16, .b_swizzle = 128, .trans_a = true}, {.a_swizzle = 32, .b_swizzle = 64, .trans_a = true, .trans_b = true},
    {.a_swizzle = 64, .b_swizzle = 16, .trans_a = true, .trans_b = true}, {.a_swizzle = 128, .b_swizzle = 32, .trans_a = true, .trans_b = true},
    {.a_swizzle = 128, .b_swizzle = 128, .trans_b = true}, {.b_swizzle = 64, .trans_b = true, .neg_a = true},
};
enum { WAYS_OF_EVERY_N = 2 };
static const int columns[] = {8, 24, 64, 128, 240, 256};

typedef struct one {
    const sett__mma *row;
    const char *word;
    int n, threads;
    way w;
    int elements[3]; /* of A, B, C that a thread holds */
} one;

static int bytes_of(int dtype)
{
    return sett__dtype_bytes((sett_dtype)dtype);
}

static one one_of(int row, int n, way w)
{
    const sett__mma *x = &sett__mmas[row];
    one o = {.row = x, .word = sett__mma_word[row], .n = x->n ? x->n : n, .threads = x->kind == SETT__MMA_GROUP ? GROUP : SETT__WARP, .w = w};
    o.elements[0] = x->m * x->k / o.threads, o.elements[1] = o.n * x->k / o.threads, o.elements[2] = x->m * o.n / o.threads;
    return o;
}

/* Has the instruction what a way is? */
static bool has(const one *o)
{
    const bool whole = o->row->model == SETT__MMA_INT;
    return sett__wgmma_has(o->row, (uint32_t)o->n) && !((o->w.trans_a || o->w.trans_b) && bytes_of(o->row->a) != 2) && !((o->w.neg_a || o->w.neg_b) && whole);
}

/* ---- places ------------------------------------------------------------------------------------- */
/* Of each element of each thread, its place in the matrix, row by row of `inner`, by the table's layout. The caller frees it. */
static int *places(const one *o, int k, int rows, int inner)
{
    char text[96];
    const char *layout = o->row->layout[k], *n = strchr(layout, 'N');
    sett_build *b = sett_build_begin();
    if (n)
        snprintf(text, sizeof text, "%.*s%d%s", (int)(n - layout), layout, o->n / 8, n + 1);
    else
        snprintf(text, sizeof text, "%s", layout);
    sett_layout *l = sett_layout_parse(b, text);
    int *to = malloc((size_t)(rows * inner) * sizeof *to);
    ck_assert_int_eq(sett_size(l).u.i, rows * inner);
    for (int i = 0; i < rows * inner; i++) {
        int at = (int)sett_crd2idx(i, l).u.i, thread = i % o->threads, element = i / o->threads;
        to[thread * o->elements[k] + element] = at % rows * inner + at / rows;
    }
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
    return to;
}

/* What the threads hold of all problems. */
static uint8_t *parts(const one *o, int k, int rows, int inner, int problems, int bytes, const uint8_t *matrix)
{
    const size_t all = (size_t)(rows * inner);
    int *place = places(o, k, rows, inner);
    uint8_t *to = malloc(all * (size_t)(problems * bytes));
    for (size_t i = 0; i < all * (size_t)problems; i++)
        memcpy(to + i * (size_t)bytes, matrix + (i / all * all + (size_t)place[i % all]) * (size_t)bytes, (size_t)bytes);
    free(place);
    return to;
}

/* ---- matrices in shared memory ------------------------------------------------------------------- */
typedef struct image {
    int swizzle, lead, stride, step; /* step: 16 bytes that the descriptor is moved on */
    int bytes;
    bool trans;
} image;

/* rows of 32 bytes along k. Rows are as long as the swizzle, and the last 32 bytes are used; transposed, 16 rows along k. */
static image image_of(int rows, int swizzle, bool trans)
{
    image x = {.swizzle = swizzle, .trans = trans, .lead = 16, .stride = 8 * swizzle, .bytes = rows * swizzle};
    if (trans) { /* 8 of k by a swizzle's bytes lie together; none: the two strides change roles */
        x.lead = swizzle == 16 ? 128 : 16 * swizzle, x.stride = swizzle == 16 ? 256 : 8 * swizzle;
        x.bytes = rows * 32;
    } else if (swizzle == 16) {
        x.lead = rows * 16, x.stride = 128;
        x.bytes = rows * 32;
    } else {
        x.step = 2 * (swizzle / 32 - 1);
    }
    return x;
}

/* Where byte b of row r is. */
static int image_at(const image *x, int r, int b)
{
    int at;
    if (x->trans) {
        const int k = b / 2, line = x->swizzle / 2, far = x->swizzle == 16 ? x->stride : x->lead, near = x->swizzle == 16 ? x->lead : x->stride;
        at = r / line * far + k / 8 * near + k % 8 * x->swizzle + r % line * 2 + b % 2;
    } else if (x->swizzle == 16) {
        at = r / 8 * x->stride + b / 16 * x->lead + r % 8 * 16 + b % 16;
    } else {
        at = r / 8 * x->stride + r % 8 * x->swizzle + 16 * x->step + b;
    }
    return at ^ ((at >> 7 & (x->swizzle / 16 - 1)) << 4);
}

static uint8_t *images(const image *x, int rows, int problems, const uint8_t *matrix)
{
    uint8_t *to = malloc((size_t)(problems * x->bytes));
    memset(to, 0x3b, (size_t)(problems * x->bytes));
    for (int p = 0; p < problems; p++)
        for (int r = 0; r < rows; r++)
            for (int b = 0; b < 32; b++)
                to[p * x->bytes + image_at(x, r, b)] = matrix[(p * rows + r) * 32 + b];
    return to;
}

/* ---- tapes --------------------------------------------------------------------------------------- */
typedef struct out {
    char *s;
    size_t len;
} out;

__attribute__((format(printf, 2, 3))) static void put(out *o, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    o->len += (size_t)vsnprintf(o->s + o->len, TEXT - o->len, format, ap);
    va_end(ap);
    ck_assert_uint_lt(o->len, TEXT);
}

static const char *type(int dtype, int n)
{
    static char text[4][32];
    static int turn;
    char *s = text[turn++ % 4];
    snprintf(s, sizeof *text, n == 1 ? "%s" : "%sx%d", sett_dtype_name((sett_dtype)dtype), n);
    return s;
}

/* %4 is the thread of the grid; %10 to %13 are A, B, C and D. */
static void put_head(out *t, const one *o, const size_t bytes[4], int problems)
{
    put(t, "sett tape 2\n");
    for (int k = 0; k < 4; k++)
        put(t, "param %c u8 (%zu):(1) align 16 %s\n", "ABCD"[k], bytes[k], k < 3 ? "read" : "write");
    put(t, "grid %d\nblock %d\n%s\n%%0 = tid.x i32\n%%1 = bid.x i32\n%%2 = const i32 %d\n%%3 = mul i32 %%1, %%2\n%%4 = add i32 %%3, %%0\n", problems, o->threads,
        o->threads == GROUP ? "smem 40960 align 1024\n" : "", o->threads);
    for (int k = 0; k < 4; k++)
        put(t, "%%%d = param u8 %c\n", 10 + k, "ABCD"[k]);
}

/* %(to): what the thread holds of operand k; its offset is %(to + 1). */
static void put_part(out *t, const one *o, int k, int dtype, int to)
{
    put(t, "%%%d = const i32 %d\n%%%d = mul i32 %%4, %%%d\n%%%d = load %s %%%d[%%%d] align %d\n", to + 2, o->elements[k], to + 1, to + 2, to,
        type(dtype, o->elements[k]), 10 + k, to + 1, bytes_of(dtype));
}

static void put_warp(out *t, const one *o)
{
    const int dtype[3] = {o->row->a, o->row->b, o->row->c};
    for (int k = 0; k < 3; k++)
        put_part(t, o, k, dtype[k], 20 + 10 * k);
    put(t, "%%50 = mma %s %%20, %%30, %%40 row=%s\nstore %%13[%%41] %%50 align %d\n", type(o->row->c, o->elements[2]), o->word, bytes_of(o->row->c));
}

/* %(to): the descriptor of an image of operand k, which the threads copy to shared memory. */
static void put_image(out *t, const image *x, int k, int to)
{
    char swizzle[16] = "none";
    if (x->swizzle > 16)
        snprintf(swizzle, sizeof swizzle, "%d", x->swizzle);
    put(t, "%%%d = smem u8x%d at %d\n%%%d = const i32 %d\n%%%d = const i32 %d\n%%%d = mul i32 %%1, %%%d\n%%%d = const i32 4\n", to + 1, x->bytes, k ? IMAGE_OF_B : 0, to + 2,
        x->bytes / 16, to + 3, x->bytes / 4, to + 4, to + 3, to + 5);
    put(t, "for %%%d = %%0 to %%%d step %%2 {\n%%%d = mul i32 %%%d, %%%d\n%%%d = add i32 %%%d, %%%d\n%%%d = load i32x4 %%%d[%%%d] align 16\nstore %%%d[%%%d] %%%d align 16\n}\n", to + 6,
        to + 2, to + 7, to + 6, to + 5, to + 8, to + 7, to + 4, to + 9, 10 + k, to + 8, to + 1, to + 7, to + 9);
    put(t, "%%%d = desc u64 %%%d[0] swizzle=%s lead=%d stride=%d\n%%%d = const u64 %d\n%%%d = add u64 %%%d, %%%d\n", to + 10, to + 1, swizzle, x->lead, x->stride, to + 11,
        x->step, to, to + 10, to + 11);
}

static void put_group(out *t, const one *o)
{
    const sett__mma *x = o->row;
    const image a = image_of(x->m, o->w.a_swizzle, o->w.trans_a), b = image_of(o->n, o->w.b_swizzle, o->w.trans_b);
    const bool held = !o->w.a_swizzle;
    put_part(t, o, 2, x->c, 40);
    put(t, "%%45 = rmem %s\nstore %%45[0] %%40 align %d\n", type(x->c, o->elements[2]), bytes_of(x->c));
    if (held) {
        put_part(t, o, 0, x->a, 20);
        put(t, "%%25 = rmem %s\nstore %%25[0] %%20 align %d\n", type(x->a, o->elements[0]), bytes_of(x->a));
    } else {
        put_image(t, &a, 0, 60);
    }
    put_image(t, &b, 1, 80);
    put(t, "fence.proxy kind=async.shared\nbarrier\n%%50 = const i1 %s\nwgmma.fence %%45%s\n", o->w.replaces ? "false" : "true", held ? ", %25" : "");
    put(t, "wgmma %%45, %s, %%80, %%50 row=%s n=%d%s%s%s%s\nwgmma.commit\nwgmma.wait %%45%s pending=0\n", held ? "%25" : "%60", o->word, o->n, o->w.trans_a ? " trans_a" : "",
        o->w.trans_b ? " trans_b" : "", o->w.neg_a ? " neg_a" : "", o->w.neg_b ? " neg_b" : "", held ? ", %25" : "");
    put(t, "%%51 = load %s %%45[0] align %d\nstore %%13[%%41] %%51 align %d\n", type(x->c, o->elements[2]), bytes_of(x->c), bytes_of(x->c));
}

static void write_tape(const one *o, int problems, char text[TEXT])
{
    const sett__mma *x = o->row;
    const size_t p = (size_t)problems, c = p * (size_t)(x->m * o->n * bytes_of(x->c));
    const bool group = o->threads == GROUP;
    const image a = image_of(x->m, o->w.a_swizzle, o->w.trans_a), b = image_of(o->n, o->w.b_swizzle, o->w.trans_b);
    const size_t bytes[4] = {p * (size_t)(group && o->w.a_swizzle ? a.bytes : x->m * x->k * bytes_of(x->a)),
        p * (size_t)(group ? b.bytes : o->n * x->k * bytes_of(x->b)), c, c};
    out t = {.s = text};
    put_head(&t, o, bytes, problems);
    if (group)
        put_group(&t, o);
    else
        put_warp(&t, o);
}

/* ---- running --------------------------------------------------------------------------------------- */
static void run_tape(const char *text, bool cpu, sett_buf bufs[4])
{
    sett_error err;
    sett_kernel *k;
    const sett_compile_options o = {.size = sizeof o, .name = "layouts", .target = cpu ? "cpu" : NULL};
    sett_status s = sett_compile_tape(conform_engine(), text, strlen(text), &o, &k, &err);
    ck_assert_msg(!s, "%s\n%s", err.text, text);
    conform_launch(k, cpu, SETT_LAUNCH_ARGS(&bufs[0], &bufs[1], &bufs[2], &bufs[3], 0));
    sett_kernel_release(k);
}

/* D, row by row, by the tape. */
static uint8_t *by_tape(const one *o, const operands *in, bool cpu)
{
    char text[TEXT];
    const sett__mma *x = o->row;
    const bool group = o->threads == GROUP;
    const image ia = image_of(x->m, o->w.a_swizzle, o->w.trans_a), ib = image_of(o->n, o->w.b_swizzle, o->w.trans_b);
    const size_t bytes = (size_t)bytes_of(x->c), all = (size_t)(x->m * o->n);
    uint8_t *a = group && o->w.a_swizzle ? images(&ia, x->m, in->problems, in->a) : parts(o, 0, x->m, x->k, in->problems, bytes_of(x->a), in->a);
    uint8_t *b = group ? images(&ib, o->n, in->problems, in->b) : parts(o, 1, o->n, x->k, in->problems, bytes_of(x->b), in->b);
    uint8_t *c = parts(o, 2, x->m, o->n, in->problems, bytes_of(x->c), in->c), *d = calloc(1, in->c_bytes), *sorted = malloc(in->c_bytes);
    sett_buf bufs[4] = {sett_buf_1d(a, SETT_U8, group && o->w.a_swizzle ? in->problems * ia.bytes : (int64_t)in->a_bytes),
        sett_buf_1d(b, SETT_U8, group ? in->problems * ib.bytes : (int64_t)in->b_bytes), sett_buf_1d(c, SETT_U8, (int64_t)in->c_bytes), sett_buf_1d(d, SETT_U8, (int64_t)in->c_bytes)};
    int *place = places(o, 2, x->m, o->n);
    write_tape(o, in->problems, text);
    run_tape(text, cpu, bufs);
    for (size_t i = 0; i < in->c_bytes / bytes; i++)
        memcpy(sorted + (i / all * all + (size_t)place[i % all]) * bytes, d + i * bytes, bytes);
    free(a), free(b), free(c), free(d), free(place);
    return sorted;
}

static uint64_t bits_at(const uint8_t *d, size_t i, size_t bytes)
{
    uint64_t x = 0;
    memcpy(&x, d + i * bytes, bytes);
    return x;
}

/* What differs is told, the first of each case, and counted: the other cases are looked at too. */
static int wrong_cases;

static void tell(const one *o, int problem, size_t at, uint64_t got, uint64_t want, const char *who, const char *how)
{
    printf("%s n %d, swizzles %d, %d%s%s%s%s%s, problem %d of kind %d: (%zu,%zu) %s is %llx, %s %llx\n", o->word, o->n, o->w.a_swizzle, o->w.b_swizzle,
        o->w.trans_a ? " trans_a" : "", o->w.trans_b ? " trans_b" : "", o->w.neg_a ? " neg_a" : "", o->w.neg_b ? " neg_b" : "", o->w.replaces ? " replaces" : "", problem,
        (int)operands_kind_of(problem), at / (size_t)o->n, at % (size_t)o->n, how, (unsigned long long)got, who, (unsigned long long)want);
    fflush(stdout);
    wrong_cases++;
}

/* Of a problem, or of all of them: -1. */
static bool same(const one *o, const operands *in, int problem, const uint8_t *got, const uint8_t *want, const char *who, const char *how)
{
    const size_t bytes = (size_t)bytes_of(o->row->c), all = (size_t)(in->m * in->n), n = problem < 0 ? all * (size_t)in->problems : all;
    const size_t first = problem < 0 ? 0 : all * (size_t)problem;
    size_t i = 0;
    while (i < n && bits_at(got, first + i, bytes) == bits_at(want, i, bytes))
        i++;
    if (i < n)
        tell(o, (int)((first + i) / all), i % all, bits_at(got, first + i, bytes), bits_at(want, i, bytes), who, how);
    return i == n;
}

/* The operands as a product without signs and without replacing has them. */
static void negate(uint8_t *to, size_t n, int bytes)
{
    for (size_t i = 0; i < n / (size_t)bytes; i++)
        to[i * (size_t)bytes + (size_t)bytes - 1] ^= 0x80;
}

static void as_plain(const one *o, operands *in)
{
    if (o->w.neg_a)
        negate(in->a, in->a_bytes, bytes_of(o->row->a));
    if (o->w.neg_b)
        negate(in->b, in->b_bytes, bytes_of(o->row->b));
    if (o->w.replaces)
        memset(in->c, 0, in->c_bytes);
}

static int problems_of(const one *o)
{
    const char *text = getenv("SETT_TEST_OPERANDS");
    const int sums = text ? atoi(text) : conform_on_gpu() ? 100000 : FEW, each = o->row->m * o->n;
    return (sums + each - 1) / each + OPERANDS_KINDS;
}

static void check_exact(const one *o, const operands *in, const uint8_t *got, const char *how)
{
    uint8_t *want = malloc(in->c_bytes / (size_t)in->problems);
    bool good = true;
    for (int p = 0; p < in->problems && good; p++)
        if (o->row->model == SETT__MMA_INT || operands_kind_of(p) == OPERANDS_INTS) {
            operands_product(in, p, want);
            good = same(o, in, p, got, want, "plain C", how);
        }
    free(want);
}

/* The tape on an engine against the program by hand and plain C. */
static void compare(const one *o)
{
    const int problems = problems_of(o);
    operands in = operands_make(o->row, o->n, problems, 1 + (uint64_t)(o->row - sett__mmas));
    uint8_t *here = conform_on_gpu() ? by_tape(o, &in, false) : NULL, *cpu = by_tape(o, &in, true);
    as_plain(o, &in);
    if (here) {
        const hand h = hand_of(o->word, o->n);
        uint8_t *want = malloc(in.c_bytes);
        hand_run(&h, problems, in.a, in.b, in.c, want);
        same(o, &in, -1, here, want, "by hand", "by the tape");
        check_exact(o, &in, here, "by the tape");
        same(o, &in, -1, cpu, want, "the GPU by hand", "by the CPU engine");
        free(want);
    }
    check_exact(o, &in, cpu, "by the CPU engine");
    free(here), free(cpu);
    operands_free(&in);
}

/* Both programs are sound for an assembler. */
static void assembles(const one *o)
{
    static char ptx[HAND_TEXT];
    char text[TEXT];
    const hand h = hand_of(o->word, o->n);
    sett_kernel *k;
    sett_error err;
    write_tape(o, 4, text);
    tape_comes_back(text);
    if (!have_compiler())
        return;
    ck_assert_msg(!tape_compiled(conform_engine(), text, "sm_90a", &k, &err), "%s\n%s", err.text, text);
    sett_kernel_release(k);
    hand_write(&h, ptx);
    if (!memcmp(&o->w, ways, sizeof o->w) && !hand_assembles(ptx))
        printf("no assembler: the program by hand of %s is not looked at\n", o->word);
}

static void check_case(const one *o)
{
    if (!conform_on_gpu())
        assembles(o);
    compare(o);
}

/* All ways of a row and of n are of one process: they share the program by hand. */
static void check_columns(int row, size_t c)
{
    for (size_t w = 0; w < (columns[c] == 64 ? SETT__COUNT(ways) : WAYS_OF_EVERY_N); w++) {
        const one o = one_of(row, columns[c], ways[w]);
        if (has(&o))
            check_case(&o);
    }
}

START_TEST(every_row)
{
    const one o = one_of(_i, 0, ways[0]);
    if (_i % EACH)
        return;
    wrong_cases = 0;
    if (o.threads == SETT__WARP) {
        if (conform_mine(_i))
            check_case(&o);
    } else {
        for (size_t c = 0; c < SETT__COUNT(columns); c++)
            if (conform_mine(7 * _i + (int)c))
                check_columns(_i, c);
    }
    ck_assert_msg(!wrong_cases, "%s: %d results differ", o.word, wrong_cases);
}
END_TEST

/* The table's layouts are the places that the program by hand has in its text: of what it loads to registers. */
static void same_places(const one *o, const char *ptx, int k, int rows, int inner, int dtype)
{
    const int bytes = bytes_of(dtype), each = bytes < 4 ? 4 / bytes : 1, warps = o->threads / SETT__WARP;
    int *place = places(o, k, rows, inner);
    const bool warp_alone = k == 0 && warps > 1; /* A of a warp group: each warp has 16 rows of its own */
    for (int thread = 0; thread < o->threads; thread++)
        for (int e = 0; e < o->elements[k]; e++) {
            int at = hand_byte(ptx, "abc"[k], warp_alone ? thread % SETT__WARP : thread, e / each);
            ck_assert_int_ge(at, 0);
            at = at / bytes + e % each + (warp_alone ? thread / SETT__WARP * 16 * inner : 0);
            ck_assert_msg(place[thread * o->elements[k] + e] == at, "%s, %c: element %d of thread %d is %d, by hand %d", o->word, "ABC"[k], e, thread,
                place[thread * o->elements[k] + e], at);
        }
    ck_assert_int_eq(hand_byte(ptx, "abc"[k], 0, o->elements[k] / each), -1);
    free(place);
}

START_TEST(places_by_hand)
{
    static char ptx[HAND_TEXT];
    const one o = one_of(_i, 64, ways[0]);
    hand h = hand_of(o.word, o.n);
    hand_write(&h, ptx);
    same_places(&o, ptx, 2, o.row->m, o.n, o.row->c);
    if (o.threads == SETT__WARP)
        same_places(&o, ptx, 1, o.n, o.row->k, o.row->b);
    h.m = o.threads == SETT__WARP ? h.m : 16, h.n = 8, h.threads = SETT__WARP; /* of a group, a warp's part of A */
    hand_write(&h, ptx);
    same_places(&o, ptx, 0, o.row->m, o.row->k, o.row->a);
}
END_TEST

/* ---- matrices between shared memory and registers ---------------------------------------------------- */
enum { MATRICES = 64, ROW_BYTES = 16 }; /* rows of shared memory, of which lanes name 32 */

/* Lane l names this row: rows in no order. */
static int row_of(int lane)
{
    return (lane * 37 + 11) % MATRICES;
}

/* Where 16-bit half h of a lane's register i lies: by rows; transposed, by columns. */
static int half_at(int lane, int i, int h, bool trans)
{
    const int row = trans ? 2 * (lane % 4) + h : lane / 4, column = trans ? lane / 4 : 2 * (lane % 4) + h;
    return row_of(8 * i + row) * ROW_BYTES + 2 * column;
}

/* X is rows of shared memory, and D the same afterwards; F is registers. */
static void write_move(char text[TEXT], int num, bool trans, bool store)
{
    out t = {.s = text};
    const char *word = trans ? " trans" : "";
    put(&t, "sett tape 2\nparam X u8 (1024):(1) align 16 read\nparam R i32 (32):(1) align 4 read\nparam F u8 (%d):(1) align 4 read write\nparam D u8 (1024):(1) align 16 write\n", 128 * num);
    put(&t, "block 32\nsmem 1024 align 128\n\n%%0 = tid.x i32\n%%1 = param u8 X\n%%2 = param i32 R\n%%3 = param u8 F\n%%4 = param u8 D\n%%5 = smem i16x512 at 0\n");
    put(&t, "%%6 = load i32 %%2[%%0] align 4\n%%7 = const i32 8\n%%8 = mul i32 %%6, %%7\n%%9 = mul i32 %%0, %%7\n%%10 = const i32 %d\n%%11 = mul i32 %%0, %%10\n", 2 * num);
    put(&t, "%%12 = load i32x8 %%1[%%9] align 16\nstore %%5[%%9] %%12 align 16\nbarrier\n");
    if (store)
        put(&t, "%%20 = load i16x%d %%3[%%11] align 4\nstmatrix %%5[%%8] i16x%d %%20%s\n", 2 * num, 2 * num, word);
    else
        put(&t, "%%20 = ldmatrix i16x%d %%5[%%8]%s\nstore %%3[%%11] i16x%d %%20 align 4\n", 2 * num, word, 2 * num);
    put(&t, "barrier\n%%30 = load i32x8 %%5[%%9] align 16\nstore %%4[%%9] i32x8 %%30 align 16\n");
}

typedef struct move { int num; bool trans, store; } move;
static const move moves[] = {{1, false, false}, {2, false, false}, {4, false, false}, {1, true, false}, {2, true, false}, {4, true, false},
    {1, false, true}, {2, false, true}, {4, false, true}, {1, true, true}, {2, true, true}, {4, true, true}};

static void check_move(const move *x, const char *text, bool cpu)
{
    uint8_t rows[1024], parts_of[512], after[1024], want_rows[1024], want_parts[512];
    int32_t names[32];
    uint64_t state = 7;
    for (size_t i = 0; i < sizeof rows; i++)
        rows[i] = (uint8_t)conform_random(&state), after[i] = 0;
    for (size_t i = 0; i < sizeof parts_of; i++)
        parts_of[i] = (uint8_t)conform_random(&state);
    memcpy(want_rows, rows, sizeof rows), memcpy(want_parts, parts_of, sizeof parts_of);
    for (int lane = 0; lane < 32; lane++) {
        names[lane] = row_of(lane);
        for (int i = 0; i < 2 * x->num; i++) {
            uint8_t *part = (x->store ? parts_of : want_parts) + 4 * x->num * lane + 2 * i, *row = (x->store ? want_rows : rows) + half_at(lane, i / 2, i % 2, x->trans);
            memcpy(x->store ? row : part, x->store ? part : row, 2);
        }
    }
    sett_buf bufs[4] = {sett_buf_1d(rows, SETT_U8, 1024), sett_buf_1d(names, SETT_I32, 32), sett_buf_1d(parts_of, SETT_U8, 128 * x->num), sett_buf_1d(after, SETT_U8, 1024)};
    run_tape(text, cpu, bufs);
    ck_assert(!memcmp(after, want_rows, sizeof after) && !memcmp(parts_of, want_parts, (size_t)(128 * x->num)));
}

START_TEST(matrices_move)
{
    const move *x = &moves[_i];
    char text[TEXT];
    sett_kernel *k;
    sett_error err;
    write_move(text, x->num, x->trans, x->store);
    tape_comes_back(text);
    if (conform_on_gpu()) {
        check_move(x, text, false);
    } else if (have_compiler()) {
        ck_assert_msg(!tape_compiled(conform_engine(), text, "sm_90a", &k, &err), "%s\n%s", err.text, text);
        sett_kernel_release(k);
    }
    check_move(x, text, true);
}
END_TEST

Suite *layouts_suite(void)
{
    Suite *s = suite_create("layouts");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 600);
    tcase_add_loop_test(t, places_by_hand, 0, SETT__N_MMAS);
    tcase_add_loop_test(t, every_row, 0, SETT__N_MMAS);
    tcase_add_loop_test(t, matrices_move, 0, (int)SETT__COUNT(moves));
    suite_add_tcase(s, t);
    return s;
}
