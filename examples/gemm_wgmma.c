/* SPDX-License-Identifier: Apache-2.0 */
/* C = epilogue(A B^T) on Hopper, bf16 in and out, fp32 inside, any M, N and K that are multiples of 8 where rows are: two warp groups
 * multiply by wgmma what a third loads by multicast TMA through a pipeline; clusters of two blocks share B; blocks stay and take tile
 * after tile; the epilogue is a C function; the result goes through shared memory and TMA while the next tile is loaded. */
#define SETT_SHORT
#include "common.h"

typedef sett_val *epilogue(sett_val *acc, sett_tensor *crd);
typedef struct gemm {
    sett_dtype ab, c;
    int bm, bn, bk, stages; /* of a block's tile */
    int clusters;           /* that run at once */
    epilogue *then;
} gemm;
enum { CLUSTER = 2, GROUP = 128, PANEL = 64, RASTER = 8 };

static sett_val *tiles(sett_val *extent, int tile)
{
    return sett_floordiv(sett_add(extent, tile - 1), tile);
}

typedef struct parts {
    const gemm *p;
    sett_tensor *a, *b, *c; /* shared memory: (bm,bk,stages), (bn,bk,stages), (bm,bn) */
    sett_tma *ta, *tb, *tc;
    sett_pipeline *pipe;
    sett_val *M, *N, *rows, *columns, *ktiles; /* the latter in tiles of a cluster */
} parts;

/* Tile i, in rows and columns of tiles: RASTER rows at a time, column by column, so that blocks that run at once read the same rows of
 * A and B. The row is this block's, of the cluster's two. */
static void tile_at(sett_build *b, const parts *t, sett_val *i, sett_val **m, sett_val **n)
{
    sett_val *band = sett_mul(t->columns, RASTER), *first = sett_mul(sett_floordiv(i, band), RASTER), *rest = sett_mod(i, band);
    sett_val *high = sett_min(sett_sub(t->rows, first), RASTER);
    *n = sett_floordiv(rest, high);
    *m = sett_add(sett_mul(sett_add(first, sett_mod(rest, high)), CLUSTER), sett_block_idx_in_cluster(b));
}

static void produce(sett_build *b, const parts *t)
{
    const gemm *p = t->p;
    sett_pipeline_state *put = sett_pipeline_producer_state(t->pipe);
    sett_val *m, *n, *both = sett_const(b, SETT_I32, (1 << CLUSTER) - 1);
    sett_for (b, i, sett_cluster_idx(b, 0), sett_mul(t->rows, t->columns), sett_cluster_dim(b, 0)) {
        tile_at(b, t, i, &m, &n);
        sett_tensor *gA = sett_local_tile(sett_tma_tensor(t->ta), T(p->bm, p->bk), T(m, ALL)), *sB, *gB;
        sett_tma_partition(t->tb, sett_block_idx_in_cluster(b), sett_make_layout(b, CLUSTER), t->b, /* this block's half */
            sett_local_tile(sett_tma_tensor(t->tb), T(p->bn, p->bk), T(n, ALL)), &sB, &gB);
        sett_for (b, k, 0, t->ktiles, 1) {
            sett_producer_acquire(put);
            sett_val *s = sett_stage(put);
            sett_tma_load(t->ta, sett_slice(gA, ALL, ALL, k), sett_slice(t->a, ALL, ALL, s), sett_pipeline_barrier(put));
            sett_tma_load(t->tb, sett_slice(gB, ALL, k), sett_slice(sB, ALL, s), sett_pipeline_barrier(put), .mask = both);
            sett_advance(put);
        }
    }
}

/* acc = or += the stage's product, in the background. */
static void k_block(sett_build *b, const parts *t, sett_tiled_mma *mma, sett_thr_mma *mine, sett_tensor *acc, sett_pipeline_state *get, bool first)
{
    sett_consumer_wait(get);
    sett_val *s = sett_stage(get);
    sett_tensor *fA = sett_make_fragment_A(mma, sett_partition_A(mine, sett_slice(t->a, ALL, ALL, s))); /* descriptors */
    sett_tensor *fB = sett_make_fragment_B(mma, sett_partition_B(mine, sett_slice(t->b, ALL, ALL, s)));
    sett_gemm(mma, acc, fA, fB, acc, .fresh = first);
    sett_mma_commit(b);
}

/* A warp group's 64 rows, a panel of 64 columns at a time: threads write it, and one begins its copy when the one of the last tile has
 * read the panel. What lies past the edges is left out. */
static void store(sett_build *b, const parts *t, sett_tiled_mma *mma, sett_tensor *acc, sett_val *group, sett_val *m, sett_val *n)
{
    const gemm *p = t->p;
    sett_tiled_copy *r2s = sett_make_tiled_copy_C(sett_stmatrix(b, p->c, 4, false), mma);
    sett_thr_copy *to = sett_get_slice(r2s, sett_thread_idx(b, 0));
    sett_tensor *from = sett_retile(to, acc), *sC = sett_partition_D(to, t->c), *held = sett_make_rmem_tensor(b, p->c, 8);
    sett_tensor *crd = sett_partition_S(to, sett_local_tile(sett_identity_tensor(b, t->M, t->N), T(p->bm, p->bn), T(m, n)));
    sett_tensor *gC = sett_local_tile(sett_tma_tensor(t->tc), T(p->bm, p->bn), T(m, n));
    const int panels = p->bn / PANEL;
    for (int i = 0; i < panels; i++) {
        sett_tma_store_wait_read(b, panels - 1);
        sett_barrier(b, sett_add(group, 1), GROUP);
        for (int j = 4 * i; j < 4 * i + 4; j++) {
            sett_store(held, sett_to(p->then(sett_load(sett_slice(from, T(ALL, j), 0, 0)), sett_slice(crd, T(ALL, j), 0, 0)), p->c));
            sett_copy_by(r2s, held, sett_slice(sC, T(ALL, j), 0, 0));
        }
        sett_fence_view_async_shared(b);
        sett_barrier(b, sett_add(group, 1), GROUP);
        sett_if (b, sett_eq(sett_mod(sett_make_warp_uniform(sett_warp_idx(b)), 4), 0))
            sett_tma_store(t->tc, sett_local_tile(t->c, T(64, PANEL), T(group, i)), sett_local_tile(gC, T(64, PANEL), T(group, i)));
        sett_tma_store_commit(b);
    }
}

static void consume(sett_build *b, const parts *t, sett_val *group)
{
    const gemm *p = t->p;
    sett_tiled_mma *mma = sett_make_tiled_mma(sett_wgmma(b, .a = p->ab, .b = p->ab, .acc = SETT_F32, .n = p->bn), T(p->bm / 64, 1, 1), ALL);
    sett_thr_mma *mine = sett_get_slice(mma, sett_mul(group, GROUP)); /* of A and B all threads of a group have the same */
    sett_tensor *acc = sett_make_fragment_C(mma, sett_partition_shape_C(mma, T(p->bm, p->bn))), *stages = sett_var(b, SETT_I32, 0);
    sett_pipeline_state *get = sett_pipeline_consumer_state(t->pipe), *done = sett_pipeline_consumer_state(t->pipe);
    sett_val *m, *n;
    sett_for (b, i, sett_cluster_idx(b, 0), sett_mul(t->rows, t->columns), sett_cluster_dim(b, 0)) {
        tile_at(b, t, i, &m, &n);
        sett_state_set(get, sett_at(stages, 0));
        sett_set(stages, sett_add(sett_at(stages, 0), t->ktiles), 0);
        k_block(b, t, mma, mine, acc, get, true);
        sett_state_copy(get, done), sett_advance(get);
        sett_for (b, k, 1, t->ktiles, 1) {
            k_block(b, t, mma, mine, acc, get, false);
            sett_mma_wait(b, 1); /* all but the newest: the stage before it has been read */
            sett_consumer_release(done);
            sett_state_copy(get, done), sett_advance(get);
        }
        sett_mma_wait(b, 0);
        sett_consumer_release(done);
        store(b, t, mma, acc, group, m, n);
    }
    sett_tma_store_wait_read(b, 0);
}

static void gemm_wgmma(sett_build *b, const void *user)
{
    const gemm *p = user;
    sett_val *M = sett_sym(b, "M"), *N = sett_sym(b, "N", .div = 8), *K = sett_sym(b, "K", .div = 8);
    sett_tensor *A = sett_param(b, "A", p->ab, sett_row_major(b, M, K), .align = 16);
    sett_tensor *B = sett_param(b, "B", p->ab, sett_row_major(b, N, K), .align = 16);
    sett_tensor *C = sett_param(b, "C", p->c, sett_row_major(b, M, N), .align = 16);
    parts t = {.p = p, .M = M, .N = N, .rows = tiles(M, CLUSTER * p->bm), .columns = tiles(N, p->bn), .ktiles = tiles(K, p->bk)};
    sett_grid(b, sett_mul(sett_min(sett_mul(t.rows, t.columns), p->clusters), CLUSTER));
    sett_block(b, 2 * p->bm + GROUP);
    sett_cluster(b, CLUSTER);
    t.a = sett_make_smem_tensor(b, p->ab, sett_smem_layout(b, p->ab, SETT_K_MAJOR, p->bm, p->bk, p->stages), 1024);
    t.b = sett_make_smem_tensor(b, p->ab, sett_smem_layout(b, p->ab, SETT_K_MAJOR, p->bn, p->bk, p->stages), 1024);
    t.c = sett_make_smem_tensor(b, p->c, sett_smem_layout(b, p->c, SETT_K_MAJOR, p->bm, p->bn), 1024);
    t.ta = sett_make_tma(A, .smem = t.a, .tile = T(p->bm, p->bk));
    t.tb = sett_make_tma(B, .smem = t.b, .tile = T(p->bn, p->bk), .multicast = CLUSTER);
    t.tc = sett_make_tma(C, .layout = sett_smem_layout(b, p->c, SETT_K_MAJOR, 64, PANEL), .tile = T(64, PANEL));
    t.pipe = sett_pipeline_tma_async(b, .stages = p->stages, .tx_bytes = sett_tma_bytes(t.ta) + sett_tma_bytes(t.tb), .consumers = SETT_WARP_GROUPS(p->bm / 64),
        .multicast = 1, .relaxed = true);

    sett_val *warp = sett_make_warp_uniform(sett_warp_idx(b)), *group = sett_floordiv(warp, 4);
    sett_if (b, sett_ge(group, p->bm / 64)) {
        sett_setmaxregister_decrease(b, 24);
        sett_if (b, sett_eq(warp, p->bm / 16))
            sett_if (b, sett_elect_one(b))
                produce(b, &t);
    }
    sett_else (b) {
        sett_setmaxregister_increase(b, 240);
        consume(b, &t, group);
    }
    sett_cluster_sync(b); /* no block ends while its peer may arrive at its barriers */
}

/* max(acc, 0). Another may scale by rows or columns: crd has the row and the column of each element. */
static sett_val *relu(sett_val *acc, sett_tensor *crd)
{
    (void)crd;
    return sett_max(acc, 0.0);
}

static void try(run *r, sett_kernel *k, int64_t m, int64_t n, int64_t depth)
{
    matrix A = matrix_random(r, SETT_BF16, m, depth), B = matrix_random(r, SETT_BF16, n, depth), C = matrix_random(r, SETT_BF16, m, n);
    check(r, sett_launch(k, r->stream, &r->err, &A.buf, &B.buf, &C.buf));
    matrix_fetch(r, &C);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t x = 0; x < depth; x++)
                sum += get(SETT_BF16, A.host, (size_t)(i * depth + x)) * get(SETT_BF16, B.host, (size_t)(j * depth + x));
            expect("gemm_wgmma", (size_t)(i * n + j), get(SETT_BF16, C.host, (size_t)(i * n + j)), fmax(sum, 0), 1.0 / 256);
        }
    printf("gemm_wgmma: %d x %d x %d, ok\n", (int)m, (int)n, (int)depth);
    matrix_free(r, &A), matrix_free(r, &B), matrix_free(r, &C);
}

int main(void)
{
    const gemm p = {SETT_BF16, SETT_BF16, 128, 256, 64, 3, 64, relu};
    run r = run_open();
    sett_kernel *k;
    sett_compile_options opt = {.size = sizeof opt, .name = "gemm_wgmma", .user = &p, .user_size = sizeof p};
    sett_status s = sett_compile(r.e, gemm_wgmma, &opt, &k, &r.err);
    if (s == SETT_E_TARGET) { /* no wgmma */
        printf("gemm_wgmma: %s\n", r.err.text);
        run_close(&r);
        return 0;
    }
    check(&r, s);
    try(&r, k, 256, 256, 64);
    try(&r, k, 512, 512, 256);
    try(&r, k, 131, 328, 200);
    sett_kernel_release(k);
    run_close(&r);
    return 0;
}
