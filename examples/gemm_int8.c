/* SPDX-License-Identifier: Apache-2.0 */
/* C = (A B^T) SA SB: int8 matrices, products added up in int32 by the tensor cores of sm_80 and later, then scaled by rows and by columns
 * to bf16, as quantised layers are. Any M, N and K: rows that begin at multiples of 16 bytes are read 16 bytes at a time, others where a
 * test at run time finds them so, else byte by byte. (On Hopper sett_gemm_wgmma of sett/kernels.h does the same by TMA and wgmma.) */
#define SETT_SHORT
#include "common.h"

enum { TILE = 128, DEPTH = 64, STAGES = 2, THREADS = 128, VEC = 16 };

typedef struct operand {
    sett_tensor *gmem, *crd; /* this thread's part of each k-tile: (values, rows, columns, k) */
    sett_tensor *to, *held;  /* of shared memory, and registers in between */
    sett_tensor *smem;       /* (TILE, DEPTH, STAGES) */
    sett_arg extent;
} operand;

static operand tiles(sett_build *b, sett_thr_copy *mine, sett_tensor *x, sett_val *rows, sett_val *K, sett_val *block)
{
    operand o = {.smem = sett_make_smem_tensor(b, SETT_I8, sett_smem_layout(b, SETT_I8, SETT_K_MAJOR, TILE, DEPTH, STAGES), 1024), .extent = sett_tuple(b, rows, K)};
    o.gmem = sett_partition_S(mine, sett_local_tile(x, T(TILE, DEPTH), T(block, ALL)));
    o.crd = sett_partition_S(mine, sett_local_tile(sett_identity_tensor(b, rows, K), T(TILE, DEPTH), T(block, ALL)));
    o.to = sett_partition_D(mine, o.smem);
    o.held = sett_make_fragment_like(sett_slice(o.to, ALL, ALL, ALL, 0), SETT_I8);
    return o;
}

/* Reads k-tile k to registers: past the edges, and past K, zeros. */
static void fetch(const operand x[2], sett_arg k)
{
    for (int i = 0; i < 2; i++)
        sett_store(x[i].held, sett_load(sett_slice(x[i].gmem, ALL, ALL, ALL, k), .pred = sett_elem_less(sett_slice(x[i].crd, ALL, ALL, ALL, k), x[i].extent)));
}

static void keep(sett_tiled_copy *copy, const operand x[2], sett_arg stage)
{
    for (int i = 0; i < 2; i++)
        sett_copy(copy, x[i].held, sett_slice(x[i].to, ALL, ALL, ALL, stage));
}

static void gemm_int8(sett_build *b, const void *user)
{
    (void)user;
    sett_val *M = sett_sym(b, "M"), *N = sett_sym(b, "N"), *K = sett_sym(b, "K");
    sett_tensor *A = sett_param(b, "A", SETT_I8, sett_row_major(b, M, K), .align = VEC), *B = sett_param(b, "B", SETT_I8, sett_row_major(b, N, K), .align = VEC);
    sett_tensor *SA = sett_param(b, "SA", SETT_F32, sett_make_layout(b, M)), *SB = sett_param(b, "SB", SETT_F32, sett_make_layout(b, N));
    sett_tensor *C = sett_param(b, "C", SETT_BF16, sett_row_major(b, M, N));
    sett_grid(b, sett_ceil_div(M, TILE), sett_ceil_div(N, TILE));
    sett_block(b, THREADS);
    sett_val *t = sett_thread_idx(b, 0), *m = sett_block_idx(b, 0), *n = sett_block_idx(b, 1);
    sett_tiled_copy *copy = sett_make_tiled_copy_tv(
        sett_copy_universal(b, SETT_I8, 8 * VEC), sett_make_layout(b, T(THREADS * VEC / DEPTH, DEPTH / VEC), T(DEPTH / VEC, 1)), sett_make_layout(b, T(1, VEC)));
    sett_thr_copy *mover = sett_get_slice(copy, t);
    operand x[2] = {tiles(b, mover, A, M, K, m), tiles(b, mover, B, N, K, n)};

    /* 2 x 2 warps; permuted so that one ldmatrix x4 fills the B of two atoms. */
    sett_tiled_mma *mma = sett_make_tiled_mma(sett_mma_sync(b, .a = SETT_I8, .b = SETT_I8, .acc = SETT_I32, .m = 16, .n = 8, .k = 32), T(2, 2, 1), T(32, 32, 32));
    sett_thr_mma *mine = sett_get_slice(mma, t);
    sett_copy_atom *matrices = sett_ldmatrix(b, SETT_I8, 4, false);
    sett_tiled_copy *loadA = sett_make_tiled_copy_A(matrices, mma), *loadB = sett_make_tiled_copy_B(matrices, mma);
    sett_thr_copy *fromA = sett_get_slice(loadA, t), *fromB = sett_get_slice(loadB, t);
    sett_tensor *rA = sett_make_fragment_A(mma, sett_partition_A(mine, sett_slice(x[0].smem, ALL, ALL, 0)));
    sett_tensor *rB = sett_make_fragment_B(mma, sett_partition_B(mine, sett_slice(x[1].smem, ALL, ALL, 0)));
    sett_tensor *acc = sett_make_fragment_C(mma, sett_partition_shape_C(mma, T(TILE, TILE)));
    sett_fill(acc, 0);

    fetch(x, sett_arg_i(0));
    keep(copy, x, sett_arg_i(0));
    sett_sync_threads(b);
    sett_for (b, k, 0, sett_ceil_div(K, DEPTH), 1) {
        sett_val *s = sett_mod(k, STAGES), *next = sett_add(k, 1);
        fetch(x, SETT_A(next)); /* comes while this tile is multiplied */
        sett_copy(loadA, sett_partition_S(fromA, sett_slice(x[0].smem, ALL, ALL, s)), sett_retile(fromA, rA));
        sett_copy(loadB, sett_partition_S(fromB, sett_slice(x[1].smem, ALL, ALL, s)), sett_retile(fromB, rB));
        sett_gemm(mma, acc, rA, rB, acc);
        keep(copy, x, SETT_A(sett_mod(next, STAGES))); /* all have read it: they met since */
        sett_sync_threads(b);
    }
    sett_tensor *whole[] = {C, sett_composition(SA, sett_make_layout(b, T(M, N), T(1, 0))), sett_composition(SB, sett_make_layout(b, T(M, N), T(0, 1))), sett_identity_tensor(b, M, N)};
    for (int i = 0; i < 4; i++)
        whole[i] = sett_partition_C(mine, sett_local_tile(whole[i], T(TILE, TILE), T(m, n)));
    const int columns = (int)sett_static(b, sett_size(sett_get(sett_tensor_layout(acc), 2)));
    for (int j = 0; j < columns; j++) { /* a column of atoms at a time: fewer registers */
        sett_tensor *part[4];
        for (int i = 0; i < 4; i++)
            part[i] = sett_slice(whole[i], ALL, ALL, j);
        sett_val *in = sett_elem_less(part[3], T(M, N)), *sum = sett_to(sett_load(sett_slice(acc, ALL, ALL, j)), SETT_F32);
        sum = sett_mul(sett_mul(sum, sett_load(part[1], .pred = in)), sett_load(part[2], .pred = in));
        sett_store(part[0], sett_to(sum, SETT_BF16), .pred = in);
    }
}

/* ---- trying it ------------------------------------------------------------------------------------------ */
typedef struct bytes {
    int8_t *host;
    sett_buf buf;
} bytes;

static bytes bytes_random(run *r, int64_t rows, int64_t cols)
{
    bytes x = {.host = malloc((size_t)(rows * cols))};
    void *data = sett_alloc(r->e, r->stream.device, (size_t)(rows * cols));
    if (!x.host || !data)
        exit(1);
    for (int64_t i = 0; i < rows * cols; i++)
        x.host[i] = (int8_t)(127 * uniform(&r->seed));
    check(r, sett_memcpy(r->e, r->stream, data, x.host, (size_t)(rows * cols)));
    x.buf = sett_buf_2d(data, SETT_I8, rows, cols);
    return x;
}

static void bytes_free(run *r, bytes *x)
{
    sett_free(r->e, r->stream.device, x->buf.data);
    free(x->host);
}

static void try(run *r, sett_kernel *k, int64_t m, int64_t n, int64_t depth)
{
    bytes A = bytes_random(r, m, depth), B = bytes_random(r, n, depth);
    matrix SA = matrix_random(r, SETT_F32, 1, m), SB = matrix_random(r, SETT_F32, 1, n), C = matrix_random(r, SETT_BF16, m, n);
    sett_buf sa = sett_buf_1d(SA.buf.data, SETT_F32, m), sb = sett_buf_1d(SB.buf.data, SETT_F32, n);
    check(r, sett_launch(k, r->stream, &r->err, &A.buf, &B.buf, &sa, &sb, &C.buf));
    matrix_fetch(r, &C);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            int64_t sum = 0; /* exact */
            for (int64_t x = 0; x < depth; x++)
                sum += A.host[i * depth + x] * B.host[j * depth + x];
            expect("gemm_int8", (size_t)(i * n + j), get(SETT_BF16, C.host, (size_t)(i * n + j)), (double)sum * get(SETT_F32, SA.host, (size_t)i) * get(SETT_F32, SB.host, (size_t)j), 1.0 / 256);
        }
    printf("gemm_int8: %d x %d x %d, ok\n", (int)m, (int)n, (int)depth);
    bytes_free(r, &A), bytes_free(r, &B);
    matrix_free(r, &SA), matrix_free(r, &SB), matrix_free(r, &C);
}

int main(void)
{
    run r = run_open();
    sett_kernel *k;
    sett_compile_options opt = {.size = sizeof opt, .name = "gemm_int8"};
    sett_status s = sett_compile(r.e, gemm_int8, &opt, &k, &r.err);
    if (s == SETT_E_TARGET) { /* no tensor cores of that kind */
        printf("gemm_int8: %s\n", r.err.text);
        run_close(&r);
        return 0;
    }
    check(&r, s);
    try(&r, k, 256, 128, 256);
    try(&r, k, 128, 320, 80);
    try(&r, k, 67, 131, 57);
    sett_kernel_release(k);
    run_close(&r);
    return 0;
}
