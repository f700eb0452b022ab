/* SPDX-License-Identifier: Apache-2.0 */
/* Atoms and tiled operations: laws that partitions obey, and what is refused, with its text. What CuTe gives is in
 * tests/golden/layout (mma_atom, tiled_mma, copy_atom, tiled_copy, gmma). */
#define SETT_SHORT
#include "tests/rig/recording.h"
#include "lib/atom/atom.h"
#include <stdlib.h>
#include <string.h>

/* ---- laws --------------------------------------------------------------------------------------- */
/* Of a partition: how often each element of a whole of `size` is named, by all threads. */
static void count_places(const sett_tensor *part, uint8_t *seen, int64_t size)
{
    sett_layout *l = sett_tensor_layout(part);
    for (int64_t i = 0, n = sett_size(l).u.i; i < n; i++) {
        int64_t at = part->offset.u.i + sett_crd2idx(i, l).u.i;
        ck_assert(at >= 0 && at < size);
        seen[at]++;
    }
}

static const struct {
    sett_mma_kind kind;
    sett_mma_args args;
    int atoms[3];
    const char *perm; /* "": ALL */
    int times[3];     /* tiles in M, N, K of the matrices */
} products[] = {
    {SETT_MMA_SYNC, {.a = SETT_F16, .b = SETT_F16, .acc = SETT_F32}, {2, 2, 1}, "(32,32,16)", {2, 1, 3}},
    {SETT_MMA_SYNC, {.a = SETT_BF16, .b = SETT_BF16, .acc = SETT_F32, .k = 8}, {4, 1, 1}, "", {1, 3, 2}},
    {SETT_MMA_SYNC, {.a = SETT_TF32, .b = SETT_TF32, .acc = SETT_F32}, {1, 2, 2}, "", {2, 2, 2}},
    {SETT_MMA_SYNC, {.a = SETT_I8, .b = SETT_U8, .acc = SETT_I32}, {1, 4, 1}, "", {1, 1, 1}},
    {SETT_MMA_SYNC, {.a = SETT_F64, .b = SETT_F64, .acc = SETT_F64, .m = 8}, {2, 2, 1}, "", {1, 2, 1}},
    {SETT_MMA_WGMMA, {.a = SETT_F16, .b = SETT_F16, .acc = SETT_F32, .m = 64, .n = 64, .a_from = SETT_RMEM}, {2, 1, 1}, "", {1, 2, 2}},
    {SETT_MMA_UNIVERSAL, {.acc = SETT_F32}, {8, 8, 1}, "<(8,2):(2,1),(8,2):(2,1),1>", {1, 2, 3}},
    {SETT_MMA_DP4A, {.a = SETT_I8, .b = SETT_U8}, {8, 4, 2}, "<16,8,16>", {2, 1, 3}},
};

/* C is partitioned among all threads: each element to one. A and B likewise, each element to as many as there are atoms in the
 * mode that the matrix has not. */
static const uint8_t modes[3][3] = {{0, 2, 1}, {1, 2, 0}, {0, 1, 2}};
static void covers(sett_build *b, const sett_tiled_mma *mma, const sett_tiled_mma_traits *t, int w, const int *n, const int *times)
{
    static uint8_t seen[1 << 16];
    int64_t tile[2], size[2], threads = sett_size(t->thr_layout_vmnk).u.i;
    for (int i = 0; i < 2; i++) {
        tile[i] = t->tile_mnk.u.kid[modes[w][i]].u.i;
        size[i] = tile[i] * times[modes[w][i]];
    }
    sett_tensor *x = sett_make_smem_tensor(b, SETT_U8, sett_row_major(b, size[0], size[1]), 16);
    memset(seen, 0, sizeof seen);
    for (int64_t i = 0; i < threads; i++)
        count_places(sett_partition_at(SETT_HERE, sett_get_slice(mma, i), (sett_operand)w, x), seen, size[0] * size[1]);
    for (int64_t i = 0; i < size[0] * size[1]; i++)
        ck_assert_int_eq(seen[i], n[modes[w][2]]);
    sett_arg shape = sett_partition_shape_at(SETT_HERE, mma, (sett_operand)w, T(size[0], size[1]));
    sett_arg got = sett_shape(sett_partition_at(SETT_HERE, sett_get_slice(mma, 0), (sett_operand)w, x));
    ck_assert(sett__same_shape(shape, got));
    if (w == 2 && n[2] > 1) /* CuTe's layout of C has no place for them */
        return;
    const sett_layout *tv = w == 0 ? t->A : w == 1 ? t->B : t->C; /* the same of one tile */
    int64_t all = sett_size_layout(tv).u.i;
    memset(seen, 0, sizeof seen);
    for (int64_t i = 0; i < all; i++)
        seen[sett_crd2idx(i, tv).u.i]++;
    for (int64_t i = 0; i < tile[0] * tile[1]; i++)
        ck_assert_int_eq(seen[i], n[modes[w][2]]);
}

START_TEST(partitions_cover)
{
    sett_build *b = kernel();
    sett_mma_args a = products[_i].args;
    a.size = sizeof a;
    const int *n = products[_i].atoms;
    sett_mma_atom *atom = sett_mma_atom_at(SETT_HERE, b, products[_i].kind, &a);
    sett_tiled_mma *mma = sett_make_tiled_mma(atom, T(n[0], n[1], n[2]), *products[_i].perm ? sett_arg_parse(b, products[_i].perm) : ALL);
    sett_tiled_mma_traits t = sett_tiled_mma_traits(mma);
    for (int w = 0; w < 3; w++)
        if (w == 2 || !atom->shared[w])
            covers(b, mma, &t, w, n, products[_i].times);
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
}
END_TEST

/* A slice at an index that is known when the kernel runs is, at each index, the slice there: by the offset's text with the
 * numbers put in. */
START_TEST(dynamic_threads)
{
    sett_build *b = kernel();
    sett_grid(b, 1), sett_block(b, 128);
    sett_tiled_mma *mma = sett_make_tiled_mma(sett_mma_sync(b, .a = SETT_F16, .b = SETT_F16, .acc = SETT_F32), T(2, 2, 1), T(32, 32, 16));
    sett_tensor *x = sett_make_smem_tensor(b, SETT_F16, sett_row_major(b, 64, 64), 16);
    sett_tensor *part = sett_partition_A(sett_get_slice(mma, sett_thread_idx(b, 0)), x);
    char text[128];
    sett_layout_str(sett_tensor_layout(part), text, sizeof text);
    ck_assert_str_eq(text, "((2,2,2),2,4):((1,512,8),2048,16)");
    ck_assert_int_eq(part->offset.kind, SETT_VALUE);
    ck_assert_int_eq(part->offset.u.v->div, 2);
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
}
END_TEST

/* Threads by memory: what thread t moves is at the offsets that its layout names, in a tensor of any order. */
START_TEST(cotiled_copies)
{
    static const struct {
        const char *tv, *data;
    } cases[] = {{"(32,4):(4,1)", "(16,8):(8,1)"}, {"(32,4):(4,1)", "(16,8):(1,16)"}, {"(8,4):(4,1)", "(4,8):(8,1)"}, {"(16,2):(2,1)", "(8,2,2):(1,16,8)"}};
    for (size_t k = 0; k < SETT__COUNT(cases); k++) {
        sett_build *b = kernel();
        sett_layout *tv = sett_layout_parse(b, cases[k].tv), *data = sett_layout_parse(b, cases[k].data);
        sett_tiled_copy *copy = sett_make_cotiled_copy(sett_copy_universal(b, SETT_F32, 32), tv, data);
        sett_tensor *x = sett_make_smem_tensor(b, SETT_F32, data, 16);
        for (int64_t t = 0; t < sett_size(sett_get(tv, 0)).u.i; t++) {
            sett_tensor *part = sett_partition_S(sett_get_slice(copy, t), x);
            ck_assert_msg(!b->error.status, "%s", b->error.text);
            for (int64_t v = 0; v < sett_size(sett_get(tv, 1)).u.i; v++)
                ck_assert_int_eq(part->offset.u.i + sett_crd2idx(v, sett_tensor_layout(part)).u.i, sett_crd2idx(T(t, v), tv).u.i);
        }
        ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
    }
}
END_TEST

/* Of C's values the first that one atom moves; and copies of what another one reads and writes. */
START_TEST(copies_of_copies)
{
    sett_build *b = kernel();
    sett_tiled_mma *mma = sett_make_tiled_mma(sett_mma_sync(b, .a = SETT_F16, .b = SETT_F16, .acc = SETT_F32), T(2, 1, 1), T(ALL, 16, ALL));
    sett_copy_atom *two = sett_copy_universal(b, SETT_F32, 64);
    sett_tiled_copy *first = sett_make_tiled_copy_C_atom(two, mma);
    sett_tensor *c = sett_make_smem_tensor(b, SETT_F32, sett_row_major(b, 64, 32), 16);
    sett_tiled_copy_traits t = sett_tiled_copy_traits(first);
    ck_assert_int_eq(sett_size(sett_get(t.tv, 1)).u.i, 2);
    uint8_t seen[64 * 32] = {0};
    for (int i = 0; i < 64; i++) { /* the values of a thread are its own in the product, each once */
        sett_tensor *mine = sett_partition_C(sett_get_slice(mma, i), c), *moved = sett_partition_D(sett_get_slice(first, i), c);
        ck_assert_msg(!b->error.status, "%s", b->error.text);
        ck_assert_int_eq(mine->offset.u.i, moved->offset.u.i);
        ck_assert_int_eq(sett_size(sett_tensor_layout(mine)).u.i, sett_size(sett_tensor_layout(moved)).u.i);
        count_places(moved, seen, sizeof seen);
    }
    for (size_t i = 0; i < sizeof seen; i++)
        ck_assert_int_eq(seen[i], 1);
    sett_tiled_copy *load = sett_make_tiled_copy_A(sett_ldmatrix(b, SETT_F16, 4, false), mma), *one = sett_make_tiled_copy_S(sett_copy_universal(b, SETT_F16, 16), load);
    sett_tiled_copy *other = sett_make_tiled_copy_D(sett_copy_universal(b, SETT_F16, 32), load);
    ck_assert(sett_layout_equal(sett_tiled_copy_traits(one).tv, sett_tiled_copy_traits(load).S));
    ck_assert(sett_layout_equal(sett_tiled_copy_traits(other).tv, sett_tiled_copy_traits(load).D));
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
}
END_TEST

/* The widest swizzle that a row allows, each element in a place of its own, and readable by wgmma. */
/* Of a copy of one atom's values, a fragment is parts of as many, one behind the other (CuTe's ((R2S,R2S_V),MMA_M,MMA_N)). */
START_TEST(parts_of_a_fragment)
{
    sett_build *b = sett__build_new(NULL, true);
    sett_tiled_mma *mma = sett_make_tiled_mma(sett_wgmma(b, .a = SETT_F16, .b = SETT_F16, .acc = SETT_F32, .n = 128), T(2, 1, 1), ALL);
    sett_tensor *acc = sett_make_fragment_C(mma, sett_partition_shape_C(mma, T(256, 128)));
    sett_tiled_copy *copy = sett_make_tiled_copy_C_atom(sett_stmatrix(b, SETT_F16, 4, false), mma);
    sett_layout *l = sett_tensor_layout(sett_retile(sett_get_slice(copy, 5), acc)), *was = sett_tensor_layout(acc);
    ck_assert_msg(!b->error.status, "%s", b->error.text);
    sett_layout *values = sett_get(l, 0), *part = sett_get(values, 0);
    ck_assert_int_eq(sett_size(values).u.i, 64);
    ck_assert_int_eq(sett_size(part).u.i, 8);
    for (int i = 0; i < 128; i++)
        ck_assert_int_eq(sett_crd2idx(i, l).u.i, sett_crd2idx(i, was).u.i);
    sett_build_end(b, NULL);
}
END_TEST

START_TEST(smem_layouts)
{
    static const struct {
        sett_dtype dtype;
        sett_major major;
        int tile[3];
        const char *text;
    } cases[] = {{SETT_F16, SETT_K_MAJOR, {128, 64, 3}, "S<3,3,3> o 0 o ((8,16),(64,1),(1,3)):((64,512),(1,0),(0,8192))"},
        {SETT_F16, SETT_K_MAJOR, {16, 32, 2}, "S<2,3,3> o 0 o ((8,2),(32,1),(1,2)):((32,256),(1,0),(0,512))"},
        {SETT_F16, SETT_K_MAJOR, {64, 16, 1}, "S<1,3,3> o 0 o ((8,8),(16,1),(1,1)):((16,128),(1,0),(0,0))"},
        {SETT_F16, SETT_K_MAJOR, {64, 8, 1}, "((8,8),(8,1),(1,1)):((8,64),(1,0),(0,0))"},
        {SETT_F16, SETT_MN_MAJOR, {128, 64, 2}, "S<3,3,3> o 0 o ((64,2),(8,8),(1,2)):((1,4096),(64,512),(0,8192))"},
        {SETT_I8, SETT_K_MAJOR, {64, 256, 1}, "S<3,4,3> o 0 o ((8,8),(128,2),(1,1)):((128,1024),(1,8192),(0,0))"},
        {SETT_F32, SETT_K_MAJOR, {64, 24, 1}, "S<1,2,3> o 0 o ((8,8),(8,3),(1,1)):((8,64),(1,512),(0,0))"}};
    for (size_t i = 0; i < SETT__COUNT(cases); i++) {
        sett_build *b = kernel();
        char text[200];
        const int *n = cases[i].tile;
        sett_layout *l = sett_smem_layout(b, cases[i].dtype, cases[i].major, n[0], n[1], n[2]);
        ck_assert_msg(!b->error.status, "%s", b->error.text);
        sett_layout_str(l, text, sizeof text);
        ck_assert_str_eq(text, cases[i].text);
        int64_t all = (int64_t)n[0] * n[1] * n[2];
        uint8_t *seen = calloc(1, (size_t)all);
        for (int64_t k = 0; k < all; k++) {
            int64_t at = sett_crd2idx(k, l).u.i;
            ck_assert(at >= 0 && at < all && !seen[at]++);
        }
        free(seen);
        ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
    }
}
END_TEST

/* ---- what is refused ------------------------------------------------------------------------------- */
typedef struct bench {
    sett_build *b;
    sett_mma_atom *warp, *group;
    sett_tiled_mma *mma, *wg, *four, *turned; /* four: warps below each other; turned: as mma, its rows in another order */
    sett_thr_mma *mine, *wg_mine;
    sett_tiled_copy *copy, *deep; /* deep: of two atoms of K */
    sett_tensor *s, *g; /* (64,64) of f16, in smem and gmem */
    sett_tensor *ra, *rb, *acc;      /* fragments of mma, of (64,64) each */
    sett_tensor *wa, *wb, *wacc;     /* of wg */
    sett_thr_copy *from;             /* a slice of copy */
} bench;

static bench set_up(void)
{
    bench w = {.b = kernel()};
    sett_grid(w.b, 1), sett_block(w.b, 128);
    w.warp = sett_mma_sync(w.b, .a = SETT_F16, .b = SETT_F16, .acc = SETT_F32);
    w.group = sett_wgmma(w.b, .a = SETT_F16, .b = SETT_F16, .acc = SETT_F32, .m = 64, .n = 64);
    w.mma = sett_make_tiled_mma(w.warp, T(2, 2, 1), T(32, 32, 16));
    w.four = sett_make_tiled_mma(w.warp, T(4, 1, 1), T(ALL, 16, ALL));
    w.turned = sett_make_tiled_mma(w.warp, T(2, 2, 1), T(sett_make_layout(w.b, T(2, 16), T(16, 1)), 32, 16));
    w.wg = sett_make_tiled_mma(w.group, T(1, 1, 1), ALL);
    w.mine = sett_get_slice(w.mma, sett_thread_idx(w.b, 0));
    w.wg_mine = sett_get_slice(w.wg, sett_thread_idx(w.b, 0));
    w.copy = sett_make_tiled_copy_A(sett_ldmatrix(w.b, SETT_F16, 4, false), w.mma);
    w.deep = sett_make_tiled_copy_A(sett_ldmatrix(w.b, SETT_F16, 4, false), sett_make_tiled_mma(w.warp, T(2, 2, 1), T(32, 32, 32)));
    w.s = sett_make_smem_tensor(w.b, SETT_F16, sett_smem_layout(w.b, SETT_F16, SETT_K_MAJOR, 64, 64), 128, .name = "S");
    w.g = sett_param(w.b, "G", SETT_F16, sett_row_major(w.b, 64, 64), .align = 16);
    w.ra = sett_make_fragment_A(w.mma, sett_partition_A(w.mine, w.s));
    w.rb = sett_make_fragment_B(w.mma, sett_partition_B(w.mine, w.s));
    w.acc = sett_make_fragment_C(w.mma, sett_partition_shape_C(w.mma, T(64, 64)));
    w.wa = sett_make_fragment_A(w.wg, sett_partition_A(w.wg_mine, w.s));
    w.wb = sett_make_fragment_B(w.wg, sett_partition_B(w.wg_mine, w.s));
    w.wacc = sett_make_fragment_C(w.wg, sett_partition_shape_C(w.wg, T(64, 64)));
    w.from = sett_get_slice(w.copy, sett_thread_idx(w.b, 0));
    ck_assert_msg(!w.b->error.status, "%s", w.b->error.text);
    return w;
}

typedef struct mistake {
    sett_status status;
    const char *text, *file; /* text: `~` stands for a place in this file */
    int line;
} mistake;
#define MISTAKE(name, status, text, ...) \
    static mistake name(const bench *w) \
    { \
        (void)(__VA_ARGS__); \
        return (mistake){status, text, __FILE__, __LINE__}; \
    }
#include "tests/rig/mistakes_atom.h"
#undef MISTAKE
#define MISTAKE(name, status, text, ...) name,
static mistake (*const mistakes[])(const bench *) = {
#include "tests/rig/mistakes_atom.h"
};

/* The text with each `~` as the next place in what was said. */
static const char *with_places(const char *text, const char *said, char want[500])
{
    size_t n = 0;
    for (; *text && n < 499; text++) {
        const char *at = *text == '~' ? strstr(said, "made at ") : NULL;
        if (!at) {
            want[n++] = *text;
            continue;
        }
        said = at + strlen("made at ");
        n += (size_t)snprintf(want + n, 500 - n, "%.*s", (int)strcspn(said, ","), said);
    }
    want[n < 499 ? n : 499] = 0;
    return want;
}

START_TEST(refused)
{
    bench w = set_up();
    mistake m = mistakes[_i](&w);
    char want[500];
    expect_in(m.file, w.b, m.status, m.line, with_places(m.text, w.b->error.text, want));
}
END_TEST

/* Partitions of other tiled products that give a thread the same, and views sliced by hand, are operands as CuTe takes them. */
START_TEST(other_sources)
{
    bench w = set_up();
    sett_mma_atom *half = sett_mma_sync(w.b, .a = SETT_F16, .b = SETT_F16, .acc = SETT_F32, .k = 8);
    sett_tiled_mma *again = sett_make_tiled_mma(w.warp, T(2, 2, 1), T(32, 32, 16)), *flat = sett_make_tiled_mma(half, T(2, 2, 1), T(32, 32, 16));
    sett_tensor *same = sett_make_fragment_A(w.mma, sett_partition_A(sett_get_slice(again, 0), w.s));
    sett_tensor *acc = sett_make_fragment_C(w.mma, sett_partition_C(sett_get_slice(flat, 0), w.g)); /* m16n8k8 has C as m16n8k16 */
    sett_tensor *hand = sett_make_fragment_B(w.mma, sett_composition(w.g, sett_make_layout(w.b, T(4, 4, 4))));
    (void)hand;
    sett_tiled_mma *four = sett_make_tiled_mma(w.warp, T(4, 1, 1), T(64, 32, 16)), *nested = sett_make_tiled_mma(w.warp, sett_make_layout(w.b, T(T(2, 2), 1, 1), T(T(1, 2), 0, 0)), T(64, 32, 16));
    sett_make_fragment_A(four, sett_partition_A(sett_get_slice(nested, 0), w.s)); /* the same threads, written otherwise */
    /* the sum of a product in f16, laid out as A of the next one by hand */
    sett_tiled_mma *f16 = sett_make_tiled_mma(sett_mma_sync(w.b, .a = SETT_F16, .b = SETT_F16, .acc = SETT_F16), T(2, 2, 1), T(32, 32, 16));
    sett_tensor *p = sett_make_fragment_C(f16, sett_partition_shape_C(f16, T(64, 64)));
    sett_gemm(w.mma, acc, sett_composition(p, sett_layout_parse(w.b, "((2,2,2),2,2):((1,2,8),4,16)")), sett_make_fragment_B(w.mma, sett_partition_shape_B(w.mma, T(64, 32))), acc);
    sett_copy_atom *bits = sett_copy_universal(w.b, SETT_U16, 64);
    sett_copy(bits, sett_slice(w.g, ALL, 0), sett_make_rmem_tensor(w.b, SETT_F16, 64)); /* of as many bits */
    sett_copy(bits, sett_slice(w.g, ALL, 0), sett_make_rmem_tensor(w.b, SETT_F32, 64)); /* converted */
    sett_gemm(w.mma, acc, same, w.rb, acc);
    ck_assert_msg(!w.b->error.status, "%s", w.b->error.text);
    sett_build_end(w.b, NULL);
}
END_TEST

/* A run-time index of another warp group goes round; one that a branch may leave out, or that counts from a later thread on, is
 * nobody's mistake. */
START_TEST(indices_past_the_last)
{
    bench w = set_up();
    sett_val *t = sett_thread_idx(w.b, 0);
    sett_tiled_copy *warp = sett_make_tiled_copy_tv(sett_copy_universal(w.b, SETT_F16, 128), sett_make_layout(w.b, T(8, 4)), sett_make_layout(w.b, T(8, 1)));
    sett_get_slice(w.mma, sett_add(t, 128));
    sett_get_slice(w.wg, sett_add(t, 256));
    sett_get_slice(warp, t);
    sett_get_slice(warp, sett_sub(t, 96));
    sett_get_slice(warp, 31), sett_get_slice(w.mma, 127);
    ck_assert_msg(!w.b->error.status, "%s", w.b->error.text);
    sett_build_end(w.b, NULL);
}
END_TEST

Suite *atom_suite(void)
{
    Suite *s = suite_create("atom");
    TCase *t = tcase_create("all");
    tcase_add_loop_test(t, partitions_cover, 0, (int)SETT__COUNT(products));
    tcase_add_test(t, dynamic_threads);
    tcase_add_test(t, cotiled_copies);
    tcase_add_test(t, copies_of_copies);
    tcase_add_test(t, parts_of_a_fragment);
    tcase_add_test(t, smem_layouts);
    tcase_add_test(t, other_sources);
    tcase_add_test(t, indices_past_the_last);
    tcase_add_loop_test(t, refused, 0, (int)SETT__COUNT(mistakes));
    suite_add_tcase(s, t);
    return s;
}
