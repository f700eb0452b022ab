/* SPDX-License-Identifier: Apache-2.0 */
/* Shared memory: other elements in the same bytes, and what the accesses of a tile cost in bank conflicts. */
#define SETT_SHORT
#include "tests/rig/rig.h"
#include <check.h>
#include <sett/cost.h>
#include <sett/mma.h>
#include <sett/picture.h>
#include <stdlib.h>
#include <string.h>

/* Its report, malloc'ed. */
static char *run_buffer(sett_body body, const void *user, sett_buf X)
{
    const sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true};
    const sett_compile_options o = {.size = sizeof o, .target = "cpu", .user = user};
    sett_error err = {0};
    sett_engine *e;
    sett_kernel *k;
    ck_assert_msg(!sett_engine_open(&e, &eo, &err) && !sett_compile(e, body, &o, &k, &err), "%s", err.text);
    ck_assert_msg(!sett_launch(k, sett_stream_of(SETT_CPU, NULL), &err, &X, 1), "%s", err.text);
    sett_kernel_info info = {.size = sizeof info};
    sett_kernel_query(k, &info);
    char *report = strdup(info.report);
    sett_kernel_release(k);
    sett_engine_close(e);
    return report;
}

static void run(sett_body body, const void *user, void *out, sett_dtype dtype, int64_t n)
{
    free(run_buffer(body, user, sett_buf_1d(out, dtype, n)));
}

/* ---- aliases ------------------------------------------------------------------------------------- */
/* Of 3 stages of 64 x 64 halves: stage 1 (64 x 64, swizzled by 128 bytes) as 32 x 32 words, swizzled so too, then as bytes. */
static void alias(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_U8, sett_make_layout(b, 4096));
    sett_val *one = sett_sym(b, "stage");
    sett_block(b, 32);
    sett_val *t = sett_thread_idx(b, 0), *stage = sett_max(one, 1);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F16, sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, 64, 64, 3), 1024);
    sett_fill(sett_slice(ring, sett_add(t, 32), ALL, 0), 1);
    sett_fill(sett_slice(ring, t, ALL, 2), 1);
    sett_tensor *words = sett_smem_alias(sett_slice(ring, ALL, ALL, stage), SETT_U32, sett_smem_layout(b, SETT_U32, SETT_K_MAJOR, 32, 32));
    for (int i = 0; i < 32; i++)
        sett_set(words, sett_to(sett_add(sett_mul(t, 1000003), i), SETT_U32), t, i);
    sett_sync_threads(b);
    sett_tensor *bytes = sett_smem_alias(sett_slice(ring, ALL, ALL, 1), SETT_U8, 128, 32);
    sett_copy(sett_slice(bytes, ALL, t), sett_local_tile(X, 128, t));
}

START_TEST(same_bytes)
{
    uint8_t x[4096];
    run(alias, NULL, x, SETT_U8, sizeof x);
    for (uint32_t row = 0; row < 32; row++)
        for (uint32_t i = 0; i < 32; i++) {
            uint32_t at = 128 * row + ((i / 4) ^ row % 8) * 16 + i % 4 * 4, got; /* pieces of 16 bytes are exchanged */
            memcpy(&got, x + at, 4);
            ck_assert_uint_eq(got, row * 1000003 + i);
        }
}
END_TEST

/* ---- pieces of a swizzle's unit -------------------------------------------------------------------- */
/* Each thread stores n elements, `start` behind a multiple of 32, at once, and the next one's are read one by one; the other way
 * about. A start is a multiple of start that no build knows. */
typedef struct swizzled {
    int bits, base, shift, start, n;
    sett_dtype dtype;
} swizzled;

static void pieces(sett_build *b, const void *user)
{
    const swizzled *s = user;
    sett_tensor *X = sett_param(b, "X", s->dtype, sett_row_major(b, 64, 16), .align = 16);
    sett_arg first = SETT_A(sett_mul(sett_sym(b, "one"), s->start));
    sett_val *t = sett_thread_idx(b, 0), *next = sett_mod(sett_add(t, 1), 32);
    sett_tensor *whole = sett_make_smem_tensor(b, s->dtype, sett_make_swizzled(s->bits, s->base, s->shift, sett_make_layout(b, T(32, 32))), 1024, .name = "s");
    sett_block(b, 32);
    for (int way = 0; way < 2; way++) {
        sett_tensor *mine = sett_composition(sett_domain_offset(sett_slice(whole, ALL, way ? next : t), first), sett_make_layout(b, T1(s->n)));
        sett_tensor *x = sett_slice(X, sett_add(t, 32 * way), ALL);
        if (!way)
            sett_store(mine, sett_load(sett_composition(x, sett_make_layout(b, T1(s->n)))));
        for (int i = 0; i < s->n && way; i++)
            sett_set(whole, sett_at(x, i), sett_add(first, i), t);
        sett_sync_threads(b);
        if (way)
            sett_store(sett_composition(x, sett_make_layout(b, T1(s->n))), sett_load(mine));
        for (int i = 0; i < s->n && !way; i++)
            sett_set(x, sett_at(whole, sett_add(first, i), next), i);
        sett_sync_threads(b);
    }
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* An access is as wide as the smallest of three: the power of two that divides the start, the unit that the swizzle moves, 16 bytes.
 * The CPU engine checks each alignment. */
START_TEST(starts_decide_widths)
{
    static const int swizzles[][3] = {{3, 3, 3}, {3, 4, 3}, {2, 3, 3}, {1, 2, 4}, {3, 0, 5}, {2, 1, 3}, {2, 3, -2}, {3, 2, 3}, {0, 4, 3}};
    static const sett_dtype types[] = {SETT_U8, SETT_I16, SETT_F32, SETT_I64};
    const swizzled s = {swizzles[_i][0], swizzles[_i][1], swizzles[_i][2], 0, 0, SETT_U8};
    for (size_t k = 0; k < SETT__COUNT(types); k++)
        for (int start = 1; start <= 8; start += start < 4 ? 1 : 4) {
            swizzled at = {s.bits, s.base, s.shift, start, start == 3 ? 12 : 16, types[k]};
            const int bytes = sett_dtype_bits(types[k]) / 8, width = least(least(start & -start, 1 << s.base), 16 / bytes);
            char x[64 * 16 * 8], was[sizeof x], want[40], *report;
            for (size_t i = 0; i < sizeof x; i++)
                x[i] = was[i] = (char)(i * 37 + i / 251);
            report = run_buffer(pieces, &at, sett_buf_2d(x, types[k], 64, 16));
            for (int row = 0; row < 64; row++) {
                int from = row < 32 ? (row + 1) % 32 : 32 + (row - 31) % 32, size = 16 * bytes;
                ck_assert_msg(!memcmp(x + row * size, was + from * size, (size_t)(at.n * bytes)), "S<%d,%d,%d>, from %d, %s, row %d", s.bits, s.base,
                    s.shift, start, sett_dtype_name(types[k]), row);
            }
            snprintf(want, sizeof want, ": %d x %d byte", at.n / width, width * bytes);
            const char *line = strstr(report, "sett_store: s ");
            ck_assert_msg(line && strstr(line, want) && strstr(line, want) < strchr(line, '\n'), "S<%d,%d,%d>, from %d: no%s in\n%.2000s", s.bits, s.base,
                s.shift, start, want, line);
            free(report);
        }
}
END_TEST

/* A warp group's sums, as a type, into the swizzled tile that TMA reads: pairs lie together, and no promise makes them more. */
static void sums(sett_build *b, const void *user)
{
    const sett_dtype dtype = *(const sett_dtype *)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 64, 64), .align = 16);
    sett_tensor *s = sett_make_smem_tensor(b, dtype, sett_smem_layout(b, dtype, SETT_K_MAJOR, 64, 64), 1024, .name = "s");
    sett_block(b, 128);
    sett_tiled_mma *mma = sett_make_tiled_mma(sett_wgmma(b, .a = SETT_BF16, .b = SETT_BF16, .acc = SETT_F32, .n = 64), T(1, 1, 1), ALL);
    sett_thr_mma *mine = sett_get_slice(mma, sett_thread_idx(b, 0));
    sett_tensor *to = sett_partition_C(mine, s), *x = sett_partition_C(mine, X);
    sett_store(to, sett_reshape(sett_to(sett_load(x), dtype), sett_shape(to)));
    sett_sync_threads(b);
    sett_store(x, sett_mul(sett_to(sett_reshape(sett_load(to), sett_shape(x)), SETT_F32), sett_sym(b, "one")));
}

START_TEST(sums_go_in_pairs)
{
    static const struct { sett_dtype dtype; int bytes; } cases[] = {{SETT_F8E4M3FN, 2}, {SETT_I8, 2}, {SETT_F16, 4}, {SETT_F32, 8}};
    static float x[64 * 64];
    for (size_t i = 0; i < SETT__COUNT(cases); i++) {
        char want[90];
        for (int k = 0; k < 64 * 64; k++)
            x[k] = (float)(k % 15 - 7);
        char *report = run_buffer(sums, &cases[i].dtype, sett_buf_2d(x, SETT_F32, 64, 64)), *at = strstr(report, "sett_store: s ");
        snprintf(want, sizeof want, ": 16 x %d bytes; have %d bytes of 16: at most so many are adjacent\n", cases[i].bytes, cases[i].bytes);
        ck_assert_msg(at && strstr(at, want) && strstr(at, want) < strchr(at, '\n'), "%.2000s", report);
        for (int k = 0; k < 64 * 64; k++)
            ck_assert_msg(x[k] == (float)(k % 15 - 7), "%zu: element %d is %g", i, k, x[k]);
        free(report);
    }
}
END_TEST

/* What lies together but for a start that is not known well enough is told. */
START_TEST(starts_are_told)
{
    static const struct { swizzled s; const char *why; } cases[] = {
        {{3, 3, 3, 2, 8, SETT_I16}, ": 4 x 4 bytes; have 4 bytes, need 16: offset "}, {{3, 3, 3, 2, 8, SETT_I16}, " x 2 bytes: needs .div = 8 on one\n"},
        {{3, 3, 3, 1, 2, SETT_I16}, ": 2 x 2 bytes; have 2 bytes, need 4: offset "}, {{3, 3, 3, 1, 2, SETT_I16}, " x 2 bytes: needs .div = 2 on one\n"},
        {{3, 2, 3, 1, 8, SETT_F32}, ": 8 x 4 bytes; have 4 bytes, need 16: offset "}, {{2, 1, 3, 2, 8, SETT_I16}, ": 4 x 4 bytes; have 4 bytes of 16: at most so many"}};
    for (size_t i = 0; i < SETT__COUNT(cases); i++) {
        char x[64 * 16 * 8] = {0}, *report = run_buffer(pieces, &cases[i].s, sett_buf_2d(x, cases[i].s.dtype, 64, 16)), *at = strstr(report, "sett_store: s ");
        ck_assert_msg(at && strstr(at, cases[i].why) && strstr(at, cases[i].why) < strchr(at, '\n') + 1, "%zu: no%s in\n%.2000s", i, cases[i].why, report);
        free(report);
    }
}
END_TEST

/* Ways to reach the first element of memory that is aligned to more than an access may claim. */
static void well_aligned(sett_build *b, const void *user)
{
    const int *align = user;
    sett_tensor *A = sett_param(b, "A", SETT_F32, sett_row_major(b, 4, 32), .align = *align);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, sett_row_major(b, 4, 32), *align);
    sett_block(b, 1);
    sett_set(s, sett_at(A, 0, 0), 0, 0);
    sett_fill(s, 1);
    sett_copy(A, s);
    sett_cp_async(sett_slice(A, 0, ALL), sett_slice(s, 0, ALL));
    sett_cp_async_wait_all(b);
    sett_atomic(s, SETT_ADD, 1, 0, 0);
    sett_store(sett_slice(A, 0, ALL), sett_load(sett_slice(s, 0, ALL)), .pred = sett_lt(sett_thread_idx(b, 0), sett_sym(b, "one")));
}

START_TEST(any_alignment)
{
    static _Alignas(1024) float x[4 * 32];
    for (int align = 16; align <= 1024; align *= 2)
        free(run_buffer(well_aligned, &align, sett_buf_2d(x, SETT_F32, 4, 32)));
}
END_TEST

enum { LARGER, LARGER_TYPE, UNALIGNED, INSIDE_PATTERN, OTHER_SPACE, DYNAMIC, BAD_TYPE, ODD_BYTES, UNALIGNED_WHOLE, N_WRONG };
static void wrong(sett_build *b, int which)
{
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F16, sett_make_layout(b, 2048), 1024);
    sett_tensor *w = sett_make_smem_tensor(b, SETT_F16, sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, 64, 64), 1024);
    sett_layout *l = sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, 8, 64);
    switch (which) {
    case LARGER: sett_smem_alias(s, SETT_F32, 1025); break;
    case LARGER_TYPE: sett_smem_alias(sett_slice(w, 3, ALL), SETT_F16, 128); break;
    case UNALIGNED: sett_smem_alias(sett_domain_offset(s, 64), SETT_F16, l); break;
    case INSIDE_PATTERN: sett_smem_alias(sett_domain_offset(w, 1, 0), SETT_F16, 8); break;
    case OTHER_SPACE: sett_smem_alias(sett_make_rmem_tensor(b, SETT_F32, 4), SETT_U32, 4); break;
    case DYNAMIC: sett_smem_alias(sett_make_smem_tensor(b, SETT_F32, sett_sym(b, "n"), 16), SETT_F32, 4); break;
    case UNALIGNED_WHOLE: sett_smem_alias(sett_make_smem_tensor(b, SETT_F16, 2048, 128, .name = "q"), SETT_F16, l); break;
    case BAD_TYPE: sett_smem_alias(s, (sett_dtype)99, 4); break;
    default: sett_smem_alias(sett_domain_offset(s, 1), SETT_F32, 4);
    }
}

START_TEST(wrong_aliases)
{
    static const struct { sett_status status; const char *text; } want[N_WRONG] = {
        [LARGER] = {SETT_E_LIMIT, "1025:1 of f32 is 4100 bytes, and smem@test_smem.c:"},
        [LARGER_TYPE] = {SETT_E_ALIGN, " does not begin where its swizzle does"},
        [UNALIGNED] = {SETT_E_ALIGN, " is known to begin at a multiple of 128 bytes, and S<3,3,3> o 0 o ((8,1),(64,1)):((64,0),(1,0)) of f16 begins at one of 1024"},
        [INSIDE_PATTERN] = {SETT_E_ALIGN, " does not begin where its swizzle does"},
        [OTHER_SPACE] = {SETT_E_SPACE, "rmem 4:1 is in rmem: only shared memory of the block has aliases"},
        [DYNAMIC] = {SETT_E_STATIC, "the layout n:1 is not static"},
        [BAD_TYPE] = {SETT_E_DTYPE, "99 is no element type"},
        [ODD_BYTES] = {SETT_E_ALIGN, " is known to begin at a multiple of 2 bytes, and 4:1 of f32 begins at one of 4"},
        [UNALIGNED_WHOLE] = {SETT_E_ALIGN, "q 2048:1 begins at a multiple of 128 bytes, and S<3,3,3> o 0 o ((8,1),(64,1)):((64,0),(1,0)) of f16 needs 1024: sett_make_smem_tensor takes the alignment behind the layout"},
    };
    for (int i = 0; i < N_WRONG; i++) {
        sett_build *b = sett__build_new(NULL, true);
        const char *text;
        wrong(b, i);
        ck_assert_msg(sett_build_status(b, &text) == want[i].status && strstr(text, "sett_smem_alias: ") && strstr(text, want[i].text) && strstr(text, "test_smem.c:"), "%d: %s", i, text);
        sett_build_end(b, NULL);
    }
}
END_TEST

/* ---- bank conflicts ------------------------------------------------------------------------------- */
/* The lanes of a pass, by hand: how many of 8 pieces of 16 bytes go to the same 16 bytes of the 128 that banks serve at once. */
static int ways_by_hand(const sett_layout *l, int bytes, bool k, bool down, int rows, int columns)
{
    const int each = 16 / bytes, run = (k ? columns : rows) / each, other = k ? rows : columns, all = run * other;
    int most = 0;
    for (int first = 0; first < all; first += 8) {
        int count[8] = {0};
        for (int i = first; i < first + 8 && i < all; i++) {
            int piece = down ? i / other : i % run, far = down ? i % other : i / run;
            sett_arg at = sett_crd2idx(k ? T(far, piece * each) : T(piece * each, far), l);
            int *c = &count[at.u.i * bytes / 16 % 8];
            most = ++*c > most ? *c : most;
        }
    }
    return most;
}

/* Of every type's size, major and tile: readers of what was chosen have no conflicts; writers neither, where a row is 128 bytes or several, or 64, 32, 16. */
START_TEST(chosen_is_free)
{
    static const sett_dtype types[] = {SETT_I8, SETT_F16, SETT_F32, SETT_F64};
    const sett_dtype d = types[_i / 2];
    const sett_major major = _i % 2 ? SETT_MN_MAJOR : SETT_K_MAJOR;
    const int bytes = sett_dtype_bits(d) / 8, each = 16 / bytes;
    for (int pieces = 1; pieces <= 24; pieces++)
        for (int rows = 8; rows <= 64; rows *= 2) {
            sett_build *b = sett_build_begin();
            const int m = major ? pieces * each : rows, k = major ? rows : pieces * each;
            sett_layout *l = sett_smem_layout(b, d, major, m, k, 2);
            sett_smem_cost f = sett_smem_access_cost(l, d, major);
            const bool free_of_all = pieces % 8 == 0 || 8 % pieces == 0;
            const char *text;
            ck_assert_msg(!sett_build_status(b, &text), "%s", text);
            ck_assert_int_eq(f.swizzle, pieces % 8 == 0 ? 128 : pieces % 4 == 0 ? 64 : pieces % 2 == 0 ? 32 : 0);
            ck_assert_int_eq(f.readers->bank_ways, 1);
            ck_assert_int_eq(f.writers->bank_ways == 1, free_of_all);
            ck_assert_int_eq(f.readers->width_bytes, 16);
            sett_layout *tile = sett_slice(l, ALL, ALL, 0);
            ck_assert_int_eq(f.writers->bank_ways, ways_by_hand(tile, bytes, !major, false, m, k));
            sett_build_end(b, NULL);
        }
}
END_TEST

/* What is not swizzled: rows of 128 bytes send 8 pieces below each other to one place; rows of 144 do not. */
START_TEST(others_conflict)
{
    static const struct { const char *layout; int writers, readers, swizzle; } cases[] = {
        {"(64,64):(64,1)", 1, 8, 0}, {"(64,64):(72,1)", 1, 1, 0}, {"(64,32):(32,1)", 1, 4, 0}, {"S<2,3,3> o 0 o (64,64):(64,1)", 1, 2, 64}};
    for (size_t i = 0; i < SETT__COUNT(cases); i++) {
        sett_build *b = sett_build_begin();
        sett_layout *l = sett_layout_parse(b, cases[i].layout);
        sett_smem_cost f = sett_smem_access_cost(l, SETT_F16, SETT_K_MAJOR);
        ck_assert_int_eq(f.writers->bank_ways, cases[i].writers);
        ck_assert_int_eq(f.readers->bank_ways, cases[i].readers);
        ck_assert_int_eq(f.swizzle, cases[i].swizzle);
        ck_assert_int_eq(f.readers->bank_ways, ways_by_hand(l, 2, true, true, 64, i == 2 ? 32 : 64));
        ck_assert(*sett_layout_text(f.readers_tv, .tiler = T(64, i == 2 ? 32 : 64), .tensor = l, .dtype = SETT_F16, .by = SETT_BY_BANK));
        sett_build_end(b, NULL);
    }
}
END_TEST

/* The facts of a tiled copy: ldmatrix of a product's A, and cp.async's writers. */
START_TEST(copies_have_facts)
{
    sett_build *b = sett_build_begin();
    sett_mma_atom *atom = sett_mma_sync(b, .a = SETT_F16, .b = SETT_F16, .acc = SETT_F32, .m = 16, .n = 8, .k = 16);
    sett_tiled_mma *mma = sett_make_tiled_mma(atom, T(2, 2, 1), T(32, 32, 16));
    sett_tiled_copy *matrices = sett_make_tiled_copy_A(sett_ldmatrix(b, SETT_F16, 4, false), mma);
    sett_tiled_copy *movers = sett_make_tiled_copy_tv(sett_copy_async(b, SETT_F16, 128), sett_make_layout(b, T(16, 8), T(8, 1)), sett_make_layout(b, T(1, 8)));
    sett_layout *l[2] = {sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, 128, 64), sett_row_major(b, 128, 64)};
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(sett_access_cost(sett_tidfrg_S(matrices, l[i]), .dtype = SETT_F16)->bank_ways, i ? 8 : 1);
        ck_assert_int_eq(sett_access_cost(sett_tidfrg_D(movers, l[i]), .dtype = SETT_F16)->bank_ways, 1);
    }
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
}
END_TEST

START_TEST(wrong_tiles)
{
    static const struct { const char *layout; sett_dtype dtype; sett_status status; const char *text; } cases[] = {
        {"(8,12):(12,1)", SETT_F16, SETT_E_DIVIDE, "a row of (8,12):(12,1) in f16 is no multiple of 16 bytes"},
        {"64:1", SETT_F16, SETT_E_STATIC, "64:1 is no static layout of a tile"},
        {"(8,64):(64,1)", SETT_I4, SETT_E_DTYPE, "a matrix there has elements of 8, 16, 32 or 64 bits"},
    };
    for (size_t i = 0; i < SETT__COUNT(cases); i++) {
        sett_build *b = sett_build_begin();
        const char *text;
        sett_smem_cost f = sett_smem_access_cost(sett_layout_parse(b, cases[i].layout), cases[i].dtype, SETT_K_MAJOR);
        ck_assert_msg(sett_build_status(b, &text) == cases[i].status && strstr(text, "sett_smem_access_cost: ") && strstr(text, cases[i].text), "%s", text);
        ck_assert_int_eq(f.writers->bank_ways, 0);
        sett_build_end(b, NULL);
    }
}
END_TEST

Suite *smem_suite(void)
{
    Suite *s = suite_create("smem");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, same_bytes);
    tcase_add_loop_test(t, starts_decide_widths, 0, 9);
    tcase_add_test(t, sums_go_in_pairs);
    tcase_add_test(t, starts_are_told);
    tcase_add_test(t, any_alignment);
    tcase_add_test(t, wrong_aliases);
    tcase_add_loop_test(t, chosen_is_free, 0, 8);
    tcase_add_test(t, others_conflict);
    tcase_add_test(t, copies_have_facts);
    tcase_add_test(t, wrong_tiles);
    suite_add_tcase(s, t);
    return s;
}
