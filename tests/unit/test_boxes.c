/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes of tensors by random tensor maps: loads to one block and to many, stores, reductions. The CPU engine against plain C under each
 * policy; with SETT_TEST_GPU the same kernels on GPU 0 against both, 2000 maps, bit by bit. A wait ends after many tries, and what
 * came is not shown then, so that bytes which do not come are a difference and not a hang. */
#include "tests/conform/conform.h"
#include "tests/rig/async_rig.h"
#include "tests/rig/rig.h"
#include "tests/rig/tapes.h"

/* ---- what is drawn ------------------------------------------------------------------------------------------- */
enum { ROOM = 1 << 16, SHARED = 1 << 15, BLOCKS = 4, MODES = 5, TEXT = 6144 };
enum what { LOAD, STORE, ADD, MIN, MAX };
typedef struct drawn {
    int rank, size, swizzle, nan, step[MODES], box[MODES];
    long extent[MODES], stride[MODES], at[MODES]; /* stride: in bytes */
    int type;                                     /* of types[] */
    enum what what;
    int blocks, mask, from; /* of a load: of the cluster; which get the box; which asks for it */
    bool bulk;              /* a reduction of bytes, without a map */
    bool any;               /* elements are any bits; else small whole numbers */
    bool edges;             /* all pairs of some bits come first */
} drawn;
/* reduces: '-': not; a: by add; m: by min and max too; of bytes alone, A: by add, M: by min and max. */
static const struct { const char *name; sett_dtype dtype; char reduces; bool floats; } types[] = {{"u8", SETT_U8, '-', false}, {"u16", SETT_U16, '-', false},
    {"u32", SETT_U32, 'm', false}, {"i32", SETT_I32, 'm', false}, {"u64", SETT_U64, 'm', false}, {"f16", SETT_F16, 'm', true}, {"bf16", SETT_BF16, 'm', true},
    {"f32", SETT_F32, 'a', true}, {"f64", SETT_F64, 'A', true}, {"i64", SETT_I64, 'M', false}};

static uint64_t state;
static long draw(long n) /* 0 to n - 1 */
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (long)((state >> 33) % (uint64_t)n);
}

static long elements(const drawn *d, int k)
{
    return (d->box[k] + d->step[k] - 1) / d->step[k];
}

static long box_bytes(const drawn *d)
{
    long n = d->size;
    for (int k = 0; k < d->rank; k++)
        n *= elements(d, k);
    return n;
}

/* From a row to the next in shared memory: rows shorter than the swizzle leave a gap. */
static long pitch(const drawn *d)
{
    return d->swizzle ? d->swizzle : d->box[0] * d->size;
}

static long room(const drawn *d)
{
    return box_bytes(d) / (d->box[0] * d->size) * pitch(d);
}

static void draw_what(drawn *d)
{
    const char reduces = types[d->type].reduces;
    d->what = draw(2) ? LOAD : STORE;
    if (reduces == 'm' && draw(5) > 1)
        d->what = (enum what)(ADD + draw(3));
    else if (reduces == 'a' && draw(3) == 0)
        d->what = ADD;
    d->any = draw(2);
    d->nan = types[d->type].floats && draw(2);
    d->blocks = d->what == LOAD && draw(3) == 0 ? 2 << draw(2) : 1;
    d->mask = d->blocks > 1 ? 1 + (int)draw((1 << d->blocks) - 1) : 0;
    d->from = (int)draw(d->blocks);
}

/* Rows of a multiple of 16 bytes, at most the swizzle's, that begin at such a multiple. What is written ends at one too, and
 * begins at no coordinate below 0. */
static void draw_modes(drawn *d)
{
    const int unit = 16 / d->size;
    const long pieces = d->swizzle ? d->swizzle / 16 : 16;
    long far = 16;
    d->box[0] = (int)(1 + draw(pieces)) * unit;
    d->box[0] = d->box[0] > 256 ? 256 : d->box[0];
    d->step[0] = 1;
    for (int k = 0; k < d->rank; k++) {
        if (k) {
            d->step[k] = draw(3) ? 1 : 1 + (int)draw(8);
            d->box[k] = 1 + (int)draw(k == 1 ? 40 : 4);
        }
        d->extent[k] = 1 + draw(k == 0 ? 300 : k == 1 ? 12 : 3);
        if (!k && d->what != LOAD)
            d->extent[0] = (d->extent[0] + unit - 1) / unit * unit;
        d->at[k] = draw(3) ? draw(d->extent[k]) : draw(d->extent[k] + d->box[k] + 4) - d->box[k] - 1;
        if (draw(20) == 0) /* far outside */
            d->at[k] = draw(2) ? 1 << 30 : -(1 << 30);
        if (!k)
            d->at[0] &= -(long)unit;
        if (d->what != LOAD && d->at[k] < 0)
            d->at[k] = -d->at[k];
        if (k)
            d->stride[k] = d->what == LOAD && draw(6) == 0 ? 16 * draw(40) : far; /* loads: rows may lie in each other */
        far = k ? far * d->extent[k] : (d->extent[0] * d->size + 15) / 16 * 16 + 16 * draw(2);
    }
}

static long reach(const drawn *d)
{
    long n = d->extent[0] * d->size;
    for (int k = 1; k < d->rank; k++)
        n += d->stride[k] * (d->extent[k] - 1);
    return n;
}

static void draw_map(drawn *d)
{
    static const int swizzles[] = {0, 32, 64, 128};
    do {
        *d = (drawn){.rank = 1 + (int)draw(MODES), .type = (int)draw(SETT__COUNT(types)), .swizzle = swizzles[draw(4)]};
        d->size = sett__dtype_bytes(types[d->type].dtype);
        draw_what(d);
        draw_modes(d);
    } while (room(d) > SHARED || reach(d) > ROOM);
}

/* Whole numbers whose sums every type holds; of bits each second float is a special one. */
static void draw_bytes(const drawn *d, unsigned char *to, size_t bytes)
{
    const sett_dtype t = types[d->type].dtype;
    for (size_t i = 0; i < bytes / (size_t)d->size; i++) {
        const long whole = draw(17);
        uint64_t x = types[d->type].floats ? sett__float_of_integer(t, whole < 8, (uint64_t)labs(whole - 8)) : (uint64_t)whole;
        if (d->any)
            x = conform_value(t, draw(2) ? (size_t)draw(CONFORM_EDGES) : CONFORM_EDGES, &state);
        memcpy(to + i * (size_t)d->size, &x, (size_t)d->size);
    }
}

/* ---- plain C ---------------------------------------------------------------------------------------------------- */
/* Written from PTX's and the driver's rules of tiled tensor maps: element by element, with nothing of the engine's. */
/* Of an address, bits 4 on are exchanged with bits 7 on. */
static long swizzled(const drawn *d, long at)
{
    long bits = d->swizzle == 128 ? 7 : d->swizzle == 64 ? 3 : d->swizzle == 32 ? 1 : 0;
    return at ^ ((at >> 7 & bits) << 4);
}

/* Of element `i` of the box: where it lies in the tensor; -1: outside. */
static long global_at(const drawn *d, long i)
{
    long at = 0;
    for (int k = 0; k < d->rank; k++) {
        long x = d->at[k] + i % elements(d, k) * d->step[k];
        i /= elements(d, k);
        if (x < 0 || x >= d->extent[k])
            return -1;
        at += x * (k ? d->stride[k] : d->size);
    }
    return at;
}

/* As an H200 writes it: of 64 bits the NaN that there was, of two the added one, and one with a sign where infinities cancel. */
static uint64_t nan_of_sum(sett_dtype t, const uint64_t in[2])
{
    if (t == SETT_F64)
        return conform_is_nan(t, in[1]) ? in[1] : conform_is_nan(t, in[0]) ? in[0] : UINT64_C(0xfff8000000000000);
    return t == SETT_F32 ? 0x7fffffff : 0x7fff;
}

/* Minima and maxima of a number and a NaN are the number. */
static void apply(const drawn *d, unsigned char *to, const unsigned char *from)
{
    static const sett__code code[] = {[ADD] = SETT__ADD, [MIN] = SETT__MIN, [MAX] = SETT__MAX};
    const sett_dtype t = types[d->type].dtype;
    uint64_t in[3] = {0}, out = 0;
    memcpy(&in[0], to, (size_t)d->size), memcpy(&in[1], from, (size_t)d->size);
    const bool was_nan = conform_is_nan(t, in[0]), nan = conform_is_nan(t, in[1]);
    if (d->what == STORE)
        out = in[1];
    else if (d->what != ADD && was_nan != nan)
        out = in[was_nan];
    else
        ck_assert(conform_reference(code[d->what], t, t, in, &out));
    if (d->what == ADD && conform_is_nan(t, out))
        out = nan_of_sum(t, in);
    else if (d->what != STORE && was_nan && nan)
        out = t == SETT_F64 ? UINT64_C(0x7ff8000000000000) : nan_of_sum(t, in);
    memcpy(to, &out, (size_t)d->size);
}

static void model(const drawn *d, unsigned char *tensor, unsigned char *shared)
{
    for (long i = 0; i < box_bytes(d) / d->size; i++) {
        const long row = i / d->box[0] * pitch(d) + i % d->box[0] * d->size, in_box = swizzled(d, row / 16 * 16) + row % 16, g = global_at(d, i);
        const uint64_t nan = d->nan ? UINT64_C(0x7ff77ff77ff77ff7) : 0;
        unsigned char fill[8];
        memcpy(fill, &nan, sizeof fill);
        for (int b = 0; b < d->blocks && d->what == LOAD; b++)
            if (d->blocks == 1 || d->mask >> b & 1)
                memcpy(shared + b * SHARED + in_box, g < 0 ? fill : tensor + g, (size_t)d->size);
        if (d->what != LOAD && g >= 0)
            apply(d, tensor + g, shared + in_box);
    }
}

/* ---- the kernel -------------------------------------------------------------------------------------------------- */
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

static void put_numbers(out *t, const drawn *d, const char *name, int what)
{
    const int first = what == 1;
    for (int k = first; k < d->rank; k++)
        put(t, "%s%ld", k == first ? name : ",", what == 0 ? d->extent[k] : what == 1 ? d->stride[k] : what == 2 ? (long)d->box[k] : (long)d->step[k]);
    put(t, first < d->rank ? ")" : "");
}

static void put_map(out *t, const drawn *d)
{
    put(t, "map m A %s", types[d->type].name);
    put_numbers(t, d, " (", 0), put_numbers(t, d, " bytes (", 1), put_numbers(t, d, " box (", 2), put_numbers(t, d, " step (", 3);
    if (d->swizzle)
        put(t, " swizzle %d", d->swizzle);
    put(t, d->nan ? " nan\n" : "\n");
}

/* Shared memory from D, and back: each block has its own part. */
static void put_copy(out *t, bool back)
{
    const int to = back ? 50 : 30;
    put(t, "for %%%d = %%0 to %%8 step %%10 {\n  %%%d = add i32 %%%d, %%13\n  %%%d = load u32 ", to, to + 1, to, to + 2);
    put(t, back ? "%%4[%%50] align 4\n  store %%2[%%51] u32 %%52 align 4\n}\n" : "%%2[%%31] align 4\n  store %%4[%%30] u32 %%32 align 4\n}\n");
}

static void put_load(out *t, const drawn *d, const char *at)
{
    put(t, "%%60 = const i32 %d\n%%61 = shr i32 %%60, %%12\n%%62 = and i32 %%61, %%7\n%%63 = eq i1 %%62, %%7\n%%64 = and i1 %%11, %%63\n%%65 = const i32 %d\n"
           "%%66 = eq i1 %%12, %%65\n%%67 = and i1 %%11, %%66\n%%68 = rmem i32x1\nstore %%68[0] %%6 align 4\n%%69 = const i32 20000\n", d->mask ? d->mask : 1, d->from);
    put(t, "if %%11 {\n  mbarrier.init %%5[0] %%7\n}\nif %%64 {\n  mbarrier.expect_tx %%5[0] %%9 arrive\n}\nfence.mbarrier_init\nfence.proxy kind=async\nbarrier\n"
           "cluster.arrive\ncluster.wait\ntma.load %%4[0] from %%3 done %%5[0] pred %%67%s at %s\n", d->mask ? " mask %60" : "", at);
    put(t, "if %%63 {\n  loop {\n    %%40 = mbarrier.try_wait i1 %%5[0] %%6\n    %%41 = not i1 %%40\n    %%42 = load i32 %%68[0] align 4\n    %%43 = add i32 %%42, %%7\n"
           "    store %%68[0] %%43 align 4\n    %%44 = lt i1 %%42, %%69\n    %%45 = and i1 %%41, %%44\n    while %%45\n  }\n}\ncluster.arrive\ncluster.wait\n%%47 = load i32 %%68[0] align 4\n%%48 = lt i1 %%47, %%69\nif %%48 {\n");
    put_copy(t, true);
    put(t, "}\n");
}

static void text_of(const drawn *d, char *text)
{
    static const char *const op[] = {"", "store", "reduce", "reduce", "reduce"}, *const how[] = {"", "", " op=add", " op=min", " op=max"};
    const char *type = types[d->type].name;
    char at[60] = "";
    out t = {.s = text};
    for (int k = 0; k < d->rank; k++)
        snprintf(at + strlen(at), sizeof at - strlen(at), "%s%%%d", k ? ", " : "", 20 + k);
    put(&t, HEAD("param A %s (%d):(1) align 16 read write\nparam D u32 (%d):(1) align 16 read write\n"), type, ROOM / d->size,
        d->blocks * SHARED / 4);
    if (!d->bulk)
        put_map(&t, d);
    put(&t, "grid %d\nblock 32\n", d->blocks);
    if (d->blocks > 1)
        put(&t, "cluster %d\n", d->blocks);
    put(&t, "smem %d align 1024\n%%0 = tid.x i32\n%%1 = param %s A\n%%2 = param u32 D\n%%4 = smem u32x%d at 0\n"
            "%%5 = smem u64x1 at %d mbarrier\n%%6 = const i32 0\n%%7 = const i32 1\n%%8 = const i32 %d\n%%9 = const i32 %d\n%%10 = const i32 32\n%%11 = eq i1 %%0, %%6\n"
            "%%12 = cluster_ctarank i32\n%%13 = mul i32 %%12, %%8\n",
        SHARED + 8, type, SHARED / 4, SHARED, SHARED / 4, (int)box_bytes(d));
    for (int k = 0; k < MODES; k++)
        put(&t, "%%%d = const i32 %ld\n", 20 + k, d->at[k]);
    if (!d->bulk)
        put(&t, "%%3 = tmap %s m\n", type);
    put_copy(&t, false);
    if (d->what == LOAD)
        put_load(&t, d, at);
    else if (d->bulk)
        put(&t, "fence.proxy kind=async\nbarrier\n%%60 = smem %sx%d at 0\nbulk.reduce %%1[0] from %%60[0] bytes %%9 pred %%11%s\nbulk.commit\nbulk.wait\n", type, d->box[0], how[d->what]);
    else
        put(&t, "fence.proxy kind=async\nbarrier\ntma.%s %%4[0] to %%3 pred %%11 at %s%s\nbulk.commit\nbulk.wait\n", op[d->what], at, how[d->what]);
}

/* What is before, and after. */
static _Alignas(64) unsigned char tensor[ROOM], shared[BLOCKS * SHARED], is[3][ROOM + BLOCKS * SHARED];
enum { MODEL, HERE, GPU }; /* of is[], whose tensor comes first */

/* ---- what was found ------------------------------------------------------------------------------------------------ */
/* One line of each class of maps that differ somewhere: the first of them. */
enum { CLASSES = 64 };
static struct { char name[100]; int differ; } classes[CLASSES];
static int n_classes, n_differ;

static void name_class(const drawn *d, const char *who, char name[100])
{
    static const char *const words[] = {"load", "store", "add", "min", "max"};
    const bool shorter = d->swizzle && d->box[0] * d->size < d->swizzle;
    bool steps = false, outside = d->at[0] < 0 || d->at[0] + d->box[0] > d->extent[0];
    for (int k = 1; k < d->rank; k++)
        steps |= d->step[k] > 1;
    if (d->what >= ADD)
        snprintf(name, 100, "%s: %s %s %s", who, words[d->what], types[d->type].name, d->any ? "of any bits" : "of whole numbers");
    else
        snprintf(name, 100, "%s: %s%s%s%s%s%s", who, words[d->what], d->swizzle ? " swizzled" : "", shorter ? ", short rows" : "", steps ? ", steps" : "",
            d->what == LOAD && d->nan ? ", nan" : "", outside ? ", cut rows" : "");
}

static const char *bits_text(const drawn *d, const unsigned char *p, size_t at)
{
    static char text[8][24];
    static int turn;
    uint64_t x = 0;
    memcpy(&x, p + at, (size_t)d->size);
    snprintf(text[turn = (turn + 1) % 8], sizeof *text, "%llx", (unsigned long long)x);
    return text[turn];
}

/* Of a tensor, or of shared memory; `before` is what it was, `other` the other operand of a reduction, at the same place of none. */
static void look(const drawn *d, const char *who, int n, const char *of, const unsigned char *before, const unsigned char *got, const unsigned char *want, size_t bytes, const char *map)
{
    char name[100];
    size_t at = 0;
    int c = 0;
    if (!memcmp(got, want, bytes))
        return;
    while (got[at] == want[at])
        at++;
    at -= at % (size_t)d->size;
    name_class(d, who, name);
    while (c < n_classes && strcmp(classes[c].name, name))
        c++;
    n_differ++;
    if (c == n_classes && c < CLASSES) {
        snprintf(classes[n_classes++].name, sizeof classes->name, "%s", name);
        size_t many = 0;
        for (size_t i = 0; i < bytes; i++)
            many += got[i] != want[i];
        printf("%s: map %d, %s, byte %zu was %s, is %s, not %s; %zu bytes differ; from block %d mask %x at %ld %ld %ld %ld %ld %s", name, n, of, at, bits_text(d, before, at),
            bits_text(d, got, at), bits_text(d, want, at), many, d->from, d->mask, d->at[0], d->at[1], d->at[2], d->at[3], d->at[4], map);
        for (size_t i = 0, told = 0; d->bulk && i < bytes && told < 14; i += (size_t)d->size)
            if (memcmp(got + i, want + i, (size_t)d->size) && ++told)
                printf("    %s, %s: %s, not %s\n", bits_text(d, before, i), bits_text(d, shared, i), bits_text(d, got, i), bits_text(d, want, i));
        fflush(stdout);
    }
    if (c < CLASSES)
        classes[c].differ++;
}

static void tell(void)
{
    for (int c = 0; c < n_classes; c++)
        printf("%s: %d maps differ\n", classes[c].name, classes[c].differ);
    n_classes = 0;
    fflush(stdout);
}

/* ---- runs ------------------------------------------------------------------------------------------------------------ */
static void by_plain_c(const drawn *d)
{
    memcpy(is[MODEL], tensor, sizeof tensor), memcpy(is[MODEL] + ROOM, shared, sizeof shared);
    model(d, is[MODEL], is[MODEL] + ROOM);
}

static void by_policy(const drawn *d, const char *text, sett__async how)
{
    sett_error e;
    unsigned char *to = is[HERE];
    memcpy(to, tensor, sizeof tensor), memcpy(to + ROOM, shared, sizeof shared);
    task t = {.text = text, .grid = {(uint32_t)d->blocks}, .block = {32}, .cluster = {(uint32_t)d->blocks}, .data = {to, to + ROOM}, .bytes = {ROOM, (size_t)(d->blocks * SHARED)},
        .async = how, .threads = 1};
    ck_assert_msg(!run_task(&t, &e), "%s\n%s", e.text, text);
}

static void by_engine(const drawn *d, const char *text, bool cpu)
{
    unsigned char *to = is[cpu ? HERE : GPU];
    sett_error err;
    sett_kernel *k;
    const sett_compile_options o = {.size = sizeof o, .name = "boxes", .target = cpu ? "cpu" : NULL};
    memcpy(to, tensor, sizeof tensor), memcpy(to + ROOM, shared, sizeof shared);
    sett_buf a = sett_buf_1d(to, types[d->type].dtype, ROOM / d->size), s = sett_buf_1d(to + ROOM, SETT_U32, d->blocks * SHARED / 4);
    ck_assert_msg(!sett_compile_tape(conform_engine(), text, strlen(text), &o, &k, &err), "%s\n%s", err.text, text);
    conform_launch(k, cpu, 2, (const sett_launch_arg[]){sett_launch_arg_buf(&a), sett_launch_arg_buf(&s)});
    sett_kernel_release(k);
}

static void differ(const drawn *d, int n, const char *who, int got, int want, const char *text)
{
    char map[300];
    const char *at = strstr(text, d->bulk ? "bulk.reduce" : "map m");
    snprintf(map, sizeof map, "%.*s", (int)strcspn(at, "\n") + 1, at);
    look(d, who, n, "the tensor", tensor, is[got], is[want], ROOM, map);
    look(d, who, n, "shared memory", shared, is[got] + ROOM, is[want] + ROOM, (size_t)(d->blocks * SHARED), map);
}

/* Of floats both signs of zero, of the least and the greatest subnormal and normal numbers, 1, what follows it, infinity, and NaN that
 * is quiet, that signals, and that has all bits. */
enum { EDGES = 24 };
static uint64_t edge(const drawn *d, int k)
{
    const sett_dtype t = types[d->type].dtype;
    const int bits = 8 * d->size, mantissa = t == SETT_F16 ? 10 : t == SETT_BF16 ? 7 : t == SETT_F32 ? 23 : 52;
    const uint64_t one = sett__bits_of_float(t, 1), unit = (uint64_t)1 << mantissa, all = ((uint64_t)1 << (bits - 1)) - 1, infinite = all + 1 - unit;
    const uint64_t magnitude[EDGES / 2] = {0, 1, unit - 1, unit, unit + 1, one, one + 1, infinite - 1, infinite, infinite | unit / 2, infinite | 1, all};
    return types[d->type].floats ? magnitude[k / 2] | (uint64_t)(k % 2) << (bits - 1) : conform_value(t, (size_t)(k * 5 / 3), &state);
}

/* Every edge in memory with every one in shared memory. */
static void pair_edges(const drawn *d)
{
    for (int i = 0; i < EDGES * EDGES; i++) {
        const uint64_t x = edge(d, i % EDGES), y = edge(d, i / EDGES);
        memcpy(tensor + i * d->size, &x, (size_t)d->size), memcpy(shared + i * d->size, &y, (size_t)d->size);
    }
}

static void make_case(const drawn *d, char text[TEXT])
{
    draw_bytes(d, tensor, sizeof tensor), draw_bytes(d, shared, sizeof shared);
    if (d->edges)
        pair_edges(d);
    text_of(d, text);
    by_plain_c(d);
}

static void draw_case(drawn *d, int n, char text[TEXT])
{
    state = 0x5e77u + (uint64_t)n;
    draw(2);
    draw_map(d);
    make_case(d, text);
}

static void assembles(const char *text)
{
    sett_kernel *k;
    sett_error err;
    if (!have_compiler())
        return;
    ck_assert_msg(!tape_compiled(conform_engine(), text, "sm_90a", &k, &err), "%s\n%s", err.text, text);
    sett_kernel_release(k);
}

/* False: there is no such reduction of boxes. */
static bool reduces_box(drawn *d, int t, enum what w)
{
    const char r = types[t].reduces;
    *d = (drawn){.rank = 2, .size = sett__dtype_bytes(types[t].dtype), .type = t, .what = w, .blocks = 1, .any = true, .edges = true, .step = {1, 1}, .box = {EDGES, EDGES}, .extent = {EDGES, EDGES}};
    d->stride[1] = EDGES * d->size;
    return r == 'm' || (r == 'a' && w == ADD);
}

/* False: there is no such reduction. */
static bool reduces_bytes(drawn *d, int t, enum what w)
{
    const char r = types[t].reduces;
    *d = (drawn){.rank = 1, .size = sett__dtype_bytes(types[t].dtype), .type = t, .what = w, .blocks = 1, .bulk = true, .any = true, .edges = true};
    d->step[0] = 1, d->box[0] = SHARED / 2 / d->size, d->extent[0] = d->box[0];
    return r == 'm' || (r == 'M' && w != ADD) || ((r == 'A' || r == 'a') && w == ADD);
}

/* Every reduction that there is, of all pairs of edges and, of bytes, of many elements of any bits. */
START_TEST(reductions)
{
    char text[TEXT];
    n_differ = 0;
    for (int t = 0; t < (int)SETT__COUNT(types); t++)
        for (enum what w = ADD; w <= MAX; w++) {
            drawn d;
            if (!(_i ? reduces_box : reduces_bytes)(&d, t, w) || !conform_mine(3 * t + (int)w))
                continue;
            state = (uint64_t)(100 * t) + w;
            make_case(&d, text);
            by_engine(&d, text, true);
            differ(&d, 0, "the CPU engine, plain C", HERE, MODEL, text);
            if (conform_on_gpu()) {
                by_engine(&d, text, false);
                differ(&d, 0, "the GPU, the CPU engine", GPU, HERE, text);
            } else {
                assembles(text);
            }
        }
    tell();
    ck_assert_msg(!n_differ, "%d reductions differ", n_differ);
}
END_TEST

enum { LOOPS = 8, MAPS = 400, GPU_MAPS = 2000, FEW = 24 };
START_TEST(by_plain_rules)
{
    char text[TEXT];
    drawn d;
    n_differ = 0;
    for (int n = _i * MAPS; n < (_i + 1) * MAPS; n++) {
        if (!conform_mine(n))
            continue;
        draw_case(&d, n, text);
        by_policy(&d, text, policy((int)draw(8)));
        differ(&d, n, "the CPU engine, plain C", HERE, MODEL, text);
    }
    tell();
    ck_assert_msg(!n_differ, "%d maps differ", n_differ);
}
END_TEST

/* FNV-1a. */
static uint64_t hash(const unsigned char *p, size_t n)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    while (n--)
        h = (h ^ *p++) * UINT64_C(0x100000001b3);
    return h;
}

/* What an H200 gave for these maps: lines of a number and the hash of the tensor and of shared memory afterwards. */
START_TEST(as_an_h200)
{
    char text[TEXT];
    drawn d;
    int n, lines = 0, wrong = 0;
    unsigned long long want;
    FILE *f = fopen("tests/fixture/boxes_h200.txt", "r");
    ck_assert_ptr_nonnull(f);
    while (fscanf(f, "%d %llx\n", &n, &want) == 2) {
        draw_case(&d, n, text);
        by_policy(&d, text, policy(n % 8));
        lines++;
        wrong += hash(is[HERE], ROOM + (size_t)(d.blocks * SHARED)) != want;
    }
    ck_assert_msg(feof(f) && lines > 400, "%d lines", lines);
    fclose(f);
    ck_assert_msg(!wrong, "%d of %d maps differ", wrong, lines);
}
END_TEST

START_TEST(by_a_gpu)
{
    char text[TEXT];
    drawn d;
    int ran = 0;
    if (!conform_on_gpu())
        return;
    n_differ = 0;
    for (int n = 0; n < GPU_MAPS; n++) {
        if (!conform_mine(n))
            continue;
        draw_case(&d, n, text);
        by_engine(&d, text, false);
        by_engine(&d, text, true);
        differ(&d, n, "the GPU, the CPU engine", GPU, HERE, text);
        differ(&d, n, "the GPU, plain C", GPU, MODEL, text);
        ran++;
    }
    tell();
    ck_assert_msg(!n_differ, "%d of %d maps differ", n_differ, ran);
}
END_TEST

/* Without a GPU: of some, the kernel is assembled, and launched on the CPU. */
START_TEST(for_a_gpu)
{
    char text[TEXT];
    drawn d;
    n_differ = 0;
    for (int n = 0; n < FEW && !conform_on_gpu(); n++) {
        draw_case(&d, n, text);
        by_engine(&d, text, true);
        differ(&d, n, "the CPU engine, plain C", HERE, MODEL, text);
        assembles(text);
    }
    tell();
    ck_assert_msg(!n_differ, "%d maps differ", n_differ);
}
END_TEST

/* A machine takes it for an illegal instruction. Constants are refused with the tape. */
START_TEST(written_from_outside)
{
    static float a[64], d[64];
    static const char text[] = HEAD("sym N\nparam A f32 (64):(1) align 16 read write\nparam D i32 (64):(1) align 16 read write\nmap m A f32 (8,8) bytes (32) box (8,2)\nblock 32\nsmem 64 align 128\n")
        "%0 = tid.x i32\n%1 = tmap f32 m\n%2 = smem f32x16 at 0\n%3 = const i32 0\n%4 = const i32 -1\n%5 = sym i32 N\n%6 = mul i32 %5, %4\n%7 = eq i1 %0, %3\n"
        "tma.store %2[0] to %1 pred %7 at %3, %6\nbulk.commit\nbulk.wait\n";
    task t = {.text = text, .block = {32}, .data = {a, d}, .bytes = {sizeof a, sizeof d}, .sym = {0}, .threads = 1};
    sett_error e;
    ck_assert_msg(!run_task(&t, &e), "%s", e.text);
    t.sym[0] = 1;
    ck_assert_int_eq(run_task(&t, &e), SETT_E_FAULT);
    ck_assert_msg(strstr(e.text, "tma.store: coordinate 1 is -1, and what is written begins at none below 0"), "%s", e.text);
}
END_TEST

/* The same of a row that begins at no multiple of 16 bytes, of a load too. */
START_TEST(begins_within_16_bytes)
{
    static const char *const what[] = {"tma.load", "tma.store"};
    static float a[64], d[64];
    char text[1024];
    snprintf(text, sizeof text, HEAD("sym N\nparam A f32 (64):(1) align 16 read write\nparam D i32 (64):(1) align 16 read write\nmap m A f32 (8,8) bytes (32) box (4,2)\nblock 32\nsmem 128 align 128\n")
        "%%0 = tid.x i32\n%%1 = tmap f32 m\n%%2 = smem f32x16 at 0\n%%3 = const i32 0\n%%4 = sym i32 N\n%%5 = eq i1 %%0, %%3\n%%6 = smem u64x1 at 64 mbarrier\n%%7 = const i32 1\n%%8 = const i32 32\n%s\n",
        _i ? "tma.store %2[0] to %1 pred %5 at %4, %3\nbulk.commit\nbulk.wait"
           : "if %5 {\n    mbarrier.init %6[0] %7\n    mbarrier.expect_tx %6[0] %8 arrive\n}\nfence.mbarrier_init\nbarrier\ntma.load %2[0] from %1 done %6[0] pred %5 at %4, %3\nloop {\n    %9 = mbarrier.try_wait i1 %6[0] %3\n    %10 = not i1 %9\n    while %10\n}");
    task t = {.text = text, .block = {32}, .data = {a, d}, .bytes = {sizeof a, sizeof d}, .sym = {0}, .threads = 1};
    sett_error e;
    char want[160];
    ck_assert_msg(!run_task(&t, &e), "%s", e.text);
    t.sym[0] = 6;
    ck_assert_msg(run_task(&t, &e) == SETT_E_FAULT, "%s", e.text);
    snprintf(want, sizeof want, "%s: coordinate 0 is 6, of elements of 4 bytes, and a box begins at a multiple of 16 bytes", what[_i]);
    ck_assert_msg(strstr(e.text, want), "%s", e.text);
}
END_TEST

Suite *boxes_suite(void);
Suite *boxes_suite(void)
{
    Suite *s = suite_create("boxes");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, by_plain_rules, 0, LOOPS);
    tcase_add_test(t, as_an_h200);
    tcase_add_test(t, written_from_outside);
    tcase_add_loop_test(t, begins_within_16_bytes, 0, 2);
    tcase_add_loop_test(t, reductions, 0, 2);
    tcase_add_test(t, by_a_gpu);
    tcase_add_test(t, for_a_gpu);
    suite_add_tcase(s, t);
    return s;
}
