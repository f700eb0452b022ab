/* SPDX-License-Identifier: Apache-2.0 */
/* Atoms that are no product of a warp: dp4a of each thread, and matrices that movmatrix transposes in registers. */
#include "tests/conform/conform.h"
#include <sett/mma.h>
#include <string.h>

/* ---- dp4a ------------------------------------------------------------------------------------------ */
/* Threads of which no whole warps are; those past the product's leave it out by a branch. */
enum { M = 32, N = 24, K = 32, THREADS = 24, BLOCK = 40 };

static void products(sett_build *b, const void *user)
{
    const sett_dtype *type = user;
    sett_tensor *A = sett_param(b, "A", type[0], sett_row_major(b, M, K)), *B = sett_param(b, "B", type[1], sett_row_major(b, N, K));
    sett_tensor *C = sett_param(b, "C", SETT_I32, sett_row_major(b, M, N)), *D = sett_param(b, "D", SETT_I32, sett_row_major(b, M, N));
    sett_block(b, BLOCK);
    sett_val *t = sett_thread_idx(b, 0);
    sett_tiled_mma *mma = sett_make_tiled_mma(sett_dp4a(b, .a = type[0], .b = type[1]), T(4, 6, 1), T(16, 12, 8));
    sett_if (b, sett_lt(t, THREADS)) {
        sett_thr_mma *mine = sett_get_slice(mma, t);
        sett_tensor *part[2] = {sett_partition_A(mine, A), sett_partition_B(mine, B)}, *sum = sett_make_fragment_C(mma, sett_partition_C(mine, C));
        sett_tensor *x = sett_make_fragment_A(mma, part[0]), *y = sett_make_fragment_B(mma, part[1]);
        sett_copy(part[0], x), sett_copy(part[1], y), sett_copy(sett_partition_C(mine, C), sum);
        sett_gemm(mma, sum, x, y, sum);
        sett_copy(sum, sett_partition_C(mine, D));
    }
}

static int32_t factor(sett_dtype type, uint8_t x)
{
    return type == SETT_I8 ? (int8_t)x : x;
}

START_TEST(dp4a)
{
    const sett_dtype type[2] = {_i & 1 ? SETT_U8 : SETT_I8, _i & 2 ? SETT_U8 : SETT_I8};
    static uint8_t a[M][K], w[N][K];
    static int32_t c[M][N], d[M][N];
    uint64_t state = 3;
    for (int i = 0; i < M * K; i++)
        a[i / K][i % K] = (uint8_t)conform_value(type[0], (size_t)i, &state);
    for (int i = 0; i < N * K; i++)
        w[i / K][i % K] = (uint8_t)conform_random(&state);
    for (int i = 0; i < M * N; i++)
        c[i / N][i % N] = (int32_t)conform_value(SETT_I32, (size_t)i, &state); /* such that sums wrap */
    sett_buf A = sett_buf_2d(a, type[0], M, K), B = sett_buf_2d(w, type[1], N, K), C = sett_buf_2d(c, SETT_I32, M, N), D = sett_buf_2d(d, SETT_I32, M, N);
    conform_body(products, type, &A, &B, &C, &D);
    for (int i = 0; i < M * N; i++) {
        uint32_t sum = (uint32_t)c[i / N][i % N];
        for (int k = 0; k < K; k++)
            sum += (uint32_t)(factor(type[0], a[i / N][k]) * factor(type[1], w[i % N][k]));
        ck_assert_msg(d[i / N][i % N] == (int32_t)sum, "row %d, column %d: %d, should be %d", i / N, i % N, d[i / N][i % N], (int32_t)sum);
    }
}
END_TEST

/* ---- movmatrix --------------------------------------------------------------------------------------- */
/* X and D: of each of two warps MATRICES matrices, 8 x 8 units of 16 bits by rows. A thread holds two neighbours of a row of each. */
enum { MATRICES = 3, WARPS = 2 };
typedef struct turn {
    sett_dtype dtype;
    bool in_place, twice;
} turn;

static void turned(sett_build *b, const void *user)
{
    const turn *x = user;
    const int each = 32 / sett_dtype_bits(x->dtype);
    sett_layout *l = sett_make_layout(b, T(each, 32, MATRICES, WARPS));
    sett_tensor *X = sett_param(b, "X", x->dtype, l), *D = sett_param(b, "D", x->dtype, l);
    sett_block(b, 32 * WARPS);
    sett_val *t = sett_thread_idx(b, 0), *lane = sett_mod(t, 32), *warp = sett_floordiv(t, 32);
    sett_tensor *from = sett_slice(X, ALL, lane, ALL, warp), *held = sett_make_fragment_like(from, x->dtype), *to = x->in_place ? held : sett_make_fragment_like(from, x->dtype);
    sett_copy_atom *atom = sett_movmatrix(b, x->dtype);
    sett_copy(from, held);
    sett_copy(atom, held, to);
    if (x->twice)
        sett_copy(atom, to, to);
    sett_copy(to, sett_slice(D, ALL, lane, ALL, warp));
}

static const turn turns[] = {{SETT_F16, false, false}, {SETT_BF16, true, false}, {SETT_U8, false, false}, {SETT_F8E5M2, true, false}, {SETT_U32, false, false}, {SETT_F32, true, false},
    {SETT_I16, false, true}};

START_TEST(movmatrix)
{
    const turn *x = &turns[_i];
    static uint16_t from[WARPS * MATRICES][8][8], to[WARPS * MATRICES][8][8];
    uint64_t state = 5;
    for (int i = 0; i < WARPS * MATRICES * 64; i++)
        from[i / 64][i / 8 % 8][i % 8] = (uint16_t)conform_random(&state);
    const int each = 32 / sett_dtype_bits(x->dtype);
    sett_buf X = {from, x->dtype, 4, {each, 32, MATRICES, WARPS}, {1, each, 32 * each, 32 * each * MATRICES}}, D = X;
    D.data = to;
    memset(to, 0xee, sizeof to);
    conform_body(turned, x, &X, &D);
    for (int i = 0; i < WARPS * MATRICES * 64; i++) {
        const int m = i / 64, r = i / 8 % 8, c = i % 8;
        const uint16_t want = x->twice ? from[m][r][c] : from[m][c][r];
        ck_assert_msg(to[m][r][c] == want, "%s, matrix %d, row %d, column %d: %x, should be %x", sett_dtype_name(x->dtype), m, r, c, to[m][r][c], want);
    }
}
END_TEST

void conform_add_atoms(TCase *t)
{
    tcase_add_loop_test(t, dp4a, 0, 4);
    tcase_add_loop_test(t, movmatrix, 0, (int)SETT__COUNT(turns));
}
