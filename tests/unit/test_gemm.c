/* SPDX-License-Identifier: Apache-2.0 */
/* Products by atoms: every row of mma.def and universal ones, operands from registers, through ldmatrix, and as descriptors of
 * every layout that wgmma reads. The factors are small integers, so that every type gives the same sums, which C computes too.
 * Each kernel is run by the CPU engine, and assembled for the machine that has it. */
#define SETT_SHORT
#include "tests/rig/rig.h"
#include <check.h>
#include <sett/mma.h>
#include <stdlib.h>
#include <string.h>

typedef struct problem {
    sett_mma_kind kind;
    sett_dtype a, b, acc;
    int m, n, k;
    int atoms[3], times[3]; /* atoms over threads; tiles of them in the block's M, N, K */
    int steps;              /* tiles in K, one after another */
    int matrices[2];        /* of ldmatrix, for A and B; 0: from global memory to registers */
    int bytes[2];           /* rows of the smem layout; 0: it is chosen */
    sett_major major[2]; /* of A and B; where C is stored by stmatrix, it lies as B */
    int stored;          /* matrices of stmatrix; 0: C goes from registers to global memory */
    sett_space a_from;
    const char *perm, *holds; /* "": ALL; an instruction in the PTX */
    bool counted;             /* steps in a loop of the kernel, whose first one does not accumulate, as a Boolean of the kernel says */
} problem;

/* ---- the kernel --------------------------------------------------------------------------------- */
static int extent(const problem *p, int i)
{
    const int size[3] = {p->m, p->n, p->k};
    return size[i] * p->atoms[i] * p->times[i];
}

static int threads(const problem *p)
{
    return p->atoms[0] * p->atoms[1] * p->atoms[2] * (p->kind == SETT_MMA_SYNC ? 32 : p->kind == SETT_MMA_WGMMA ? 128 : 1);
}

/* Into memory of another type, element by element. */
static void convert(const sett_tensor *from, const sett_tensor *to)
{
    sett_tensor *held = sett_make_fragment_like(from, sett_tensor_dtype(to));
    sett_store(held, sett_to(sett_load(from), sett_tensor_dtype(to)));
    sett_copy(held, to);
}

static sett_tensor *shared(sett_build *b, const problem *p, int w)
{
    const sett_dtype dtype = w ? p->b : p->a;
    const int rows = extent(p, w), k = extent(p, 2);
    sett_layout *l = p->bytes[w] ? sett_tile_to_shape(sett_smem_layout_atom(b, dtype, p->major[w], p->bytes[w]), T(rows, k), p->major[w] ? T(1, 0) : T(0, 1))
                                 : sett_smem_layout(b, dtype, p->major[w], rows, k);
    return sett_make_smem_tensor(b, dtype, l, 1024);
}

typedef struct side {
    sett_tensor *gmem, *smem, *fragment;
    sett_tiled_copy *load;
} side;

static void bring(sett_build *b, const problem *p, side *x, sett_tiled_mma *mma, sett_operand which, sett_val *t, sett_arg step)
{
    sett_tensor *tile = sett_local_tile(x->gmem, T(extent(p, (int)which), extent(p, 2)), T(0, step));
    sett_thr_mma *mine = sett_get_slice(mma, t);
    if (!x->smem) {
        sett_tensor *part = sett_partition_at(SETT_HERE, mine, which, tile);
        x->fragment = sett_make_fragment_at(SETT_HERE, mma, which, part);
        convert(part, x->fragment);
        return;
    }
    const int columns = threads(p) / 8 < extent(p, 2) ? threads(p) / 8 : extent(p, 2);
    sett_layout *movers = sett_make_layout(b, T(threads(p) / columns, columns));
    convert(sett_local_partition(tile, movers, t), sett_local_partition(x->smem, movers, t));
}

/* After all have brought their part. */
static void take(const problem *p, side *x, sett_tiled_mma *mma, sett_operand which, sett_val *t)
{
    if (!x->smem)
        return;
    sett_tensor *part = sett_partition_at(SETT_HERE, sett_get_slice(mma, t), which, x->smem);
    x->fragment = p->kind == SETT_MMA_UNIVERSAL ? part : sett_make_fragment_at(SETT_HERE, mma, which, part);
    if (x->load) {
        sett_thr_copy *mine = sett_get_slice(x->load, t);
        sett_copy(x->load, sett_partition_S(mine, x->smem), sett_retile(mine, x->fragment));
    }
}

/* To shared memory by stmatrix, and what the thread has of it read back element by element. */
static sett_tensor *through_smem(sett_build *b, const problem *p, sett_tiled_mma *mma, const sett_tensor *acc, sett_val *t)
{
    const bool turned = p->major[1] == SETT_MN_MAJOR;
    sett_tensor *c = sett_make_smem_tensor(b, p->acc, sett_smem_layout(b, p->acc, turned ? SETT_MN_MAJOR : SETT_K_MAJOR, extent(p, 0), extent(p, 1)), 1024);
    sett_tiled_copy *copy = sett_make_tiled_copy_C(sett_stmatrix(b, p->acc, p->stored, turned), mma);
    sett_thr_copy *mine = sett_get_slice(copy, t);
    sett_copy(copy, sett_retile(mine, acc), sett_partition_D(mine, c));
    sett_sync_threads(b);
    return sett_partition_C(sett_get_slice(mma, t), c);
}

/* A tile in K: accumulate or NULL. */
static void step(sett_build *b, const problem *p, side x[2], sett_tiled_mma *mma, sett_tensor *acc, sett_val *t, sett_arg at, bool first, sett_val *accumulate)
{
    for (int w = 0; w < 2; w++)
        bring(b, p, &x[w], mma, (sett_operand)w, t, at);
    if (p->kind == SETT_MMA_WGMMA)
        sett_fence_view_async_shared(b);
    sett_sync_threads(b);
    for (int w = 0; w < 2; w++)
        take(p, &x[w], mma, (sett_operand)w, t);
    sett_gemm(mma, acc, x[0].fragment, x[1].fragment, acc, .overwrite = first, .accumulate = accumulate);
    if (p->kind == SETT_MMA_WGMMA)
        sett_mma_commit(b), sett_mma_wait(b, 0);
    sett_sync_threads(b);
}

static void body(sett_build *b, const void *user)
{
    const problem *p = user;
    const int m = extent(p, 0), n = extent(p, 1), k = extent(p, 2) * p->steps;
    const sett_mma_args args = {.size = sizeof args, .a = p->a, .b = p->b, .acc = p->acc, .m = p->m, .n = p->n, .k = p->k, .a_from = p->a_from,
        .a_major = p->kind == SETT_MMA_WGMMA ? p->major[0] : SETT_K_MAJOR, .b_major = p->kind == SETT_MMA_WGMMA ? p->major[1] : SETT_K_MAJOR};
    side x[2] = {{.gmem = sett_param(b, "A", SETT_F32, sett_row_major(b, m, k))}, {.gmem = sett_param(b, "B", SETT_F32, sett_row_major(b, n, k))}};
    sett_tensor *out = sett_param(b, "C", SETT_F32, sett_row_major(b, m, n));
    sett_block(b, threads(p));
    sett_val *t = sett_thread_idx(b, 0);
    sett_tiled_mma *mma = sett_make_tiled_mma(sett_mma_atom_at(SETT_HERE, b, p->kind, &args), T(p->atoms[0], p->atoms[1], p->atoms[2]),
        p->perm ? sett_arg_parse(b, p->perm) : ALL);
    for (int w = 0; w < 2; w++) {
        bool group = p->kind == SETT_MMA_WGMMA && !(w == 0 && p->a_from == SETT_RMEM);
        if (group || p->matrices[w] || p->kind == SETT_MMA_UNIVERSAL)
            x[w].smem = shared(b, p, w);
        if (p->matrices[w])
            x[w].load = sett_make_tiled_copy_mma_at(SETT_HERE, sett_ldmatrix(b, w ? p->b : p->a, p->matrices[w], p->major[w] == SETT_MN_MAJOR), mma, (sett_operand)w);
    }
    sett_tensor *acc = sett_make_fragment_C(mma, sett_partition_shape_C(mma, T(m, n)));
    for (int i = 0; i < p->steps && !p->counted; i++)
        step(b, p, x, mma, acc, t, sett_arg_i(i), i == 0, NULL);
    if (p->counted)
        sett_for (b, i, 0, p->steps, 1)
            step(b, p, x, mma, acc, t, SETT_A(i), false, sett_gt(i, 0));
    if (p->stored)
        acc = through_smem(b, p, mma, acc, t);
    convert(acc, sett_partition_C(sett_get_slice(mma, t), out));
}

/* Two stages: a tile is stored while the product of the one before is under way. */
static void ring(sett_build *b, const void *user)
{
    const problem *p = user;
    const int rows[2] = {extent(p, 0), extent(p, 1)}, k = extent(p, 2);
    sett_tensor *gmem[2], *smem[2];
    for (int w = 0; w < 2; w++) {
        gmem[w] = sett_param(b, w ? "B" : "A", SETT_F32, sett_row_major(b, rows[w], k * p->steps));
        smem[w] = sett_make_smem_tensor(b, p->a, sett_smem_layout(b, p->a, SETT_K_MAJOR, rows[w], k, 2), 1024);
    }
    sett_tensor *out = sett_param(b, "C", SETT_F32, sett_row_major(b, rows[0], rows[1]));
    sett_block(b, threads(p));
    sett_val *t = sett_thread_idx(b, 0);
    sett_layout *movers = sett_make_layout(b, T(8, threads(p) / 8));
    sett_tiled_mma *mma = sett_make_tiled_mma(sett_wgmma(b, .a = p->a, .b = p->b, .acc = p->acc, .n = p->n), T(p->atoms[0], p->atoms[1], 1), ALL);
    sett_thr_mma *mine = sett_get_slice(mma, t);
    sett_tensor *acc = sett_make_fragment_C(mma, sett_partition_shape_C(mma, T(rows[0], rows[1])));
    sett_fill(acc, 0);
    sett_for (b, step, 0, p->steps, 1) {
        sett_val *stage = sett_mod(step, 2);
        sett_sync_threads(b); /* all have waited for the product that read this stage */
        for (int w = 0; w < 2; w++)
            convert(sett_local_partition(sett_local_tile(gmem[w], T(rows[w], k), T(0, step)), movers, t),
                sett_local_partition(sett_slice(smem[w], ALL, ALL, stage), movers, t));
        sett_fence_view_async_shared(b);
        sett_sync_threads(b);
        sett_gemm(mma, acc, sett_make_fragment_A(mma, sett_partition_A(mine, sett_slice(smem[0], ALL, ALL, stage))),
            sett_make_fragment_B(mma, sett_partition_B(mine, sett_slice(smem[1], ALL, ALL, stage))), acc);
        sett_mma_commit(b);
        sett_mma_wait(b, 1);
    }
    sett_mma_wait(b, 0);
    convert(acc, sett_partition_C(mine, out));
}

/* ---- running it ----------------------------------------------------------------------------------- */
static float factor(bool is_signed, int i, int k)
{
    int x = (i * 7 + k * 3 + i * k) % 5;
    return (float)(is_signed ? x - 2 : x);
}

static void run_on_cpu(sett_kernel *k, const problem *p)
{
    const int m = extent(p, 0), n = extent(p, 1), depth = extent(p, 2) * p->steps;
    float *a = calloc((size_t)(m * depth), 4), *w = calloc((size_t)(n * depth), 4), *c = calloc((size_t)(m * n), 4);
    sett_error err = {0};
    for (int i = 0; i < m * depth; i++)
        a[i] = factor(p->a != SETT_U8, i / depth, i % depth);
    for (int i = 0; i < n * depth; i++)
        w[i] = factor(p->b != SETT_U8, i / depth + 3, i % depth);
    sett_buf A = sett_buf_2d(a, SETT_F32, m, depth), B = sett_buf_2d(w, SETT_F32, n, depth), C = sett_buf_2d(c, SETT_F32, m, n);
    ck_assert_msg(!sett_launch(k, sett_stream_of(SETT_CPU, NULL), &err, &A, &B, &C), "%s", err.text);
    for (int i = 0; i < m * n; i++) {
        float sum = 0;
        for (int j = 0; j < depth; j++)
            sum += a[i / n * depth + j] * w[i % n * depth + j];
        ck_assert_msg(c[i] == sum, "row %d, column %d: %g, should be %g", i / n, i % n, (double)c[i], (double)sum);
    }
    free(a), free(w), free(c);
}

static void check_body(sett_body kernel, const problem *p, const char *target)
{
    const sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true};
    sett_compile_options o = {.size = sizeof o, .target = "cpu", .user = p};
    sett_kernel_info info = {.size = sizeof info};
    sett_error err = {0};
    sett_engine *e;
    sett_kernel *k;
    ck_assert_msg(!sett_engine_open(&e, &eo, &err), "%s", err.text);
    sett_status s = sett_compile(e, kernel, &o, &k, &err);
    ck_assert_msg(!s, "%s", err.text);
    run_on_cpu(k, p);
    sett_kernel_release(k);
    o.target = target;
    if (have_compiler()) {
        s = sett_compile(e, kernel, &o, &k, &err);
        o.ptx_only = s == SETT_E_NO_ASSEMBLER;
        s = o.ptx_only ? sett_compile(e, kernel, &o, &k, &err) : s;
        ck_assert_msg(!s, "%s", err.text);
        ck_assert_int_eq(sett_kernel_query(k, &info), SETT_OK);
        ck_assert_msg(!p->holds || strstr(info.ptx, p->holds), "no %s in\n%s", p->holds, info.ptx);
        ck_assert_msg(!strstr(info.ptx, ".local"), "local memory in\n%s", info.ptx);
        sett_kernel_release(k);
    }
    sett_engine_close(e);
}

static void check_problem(const problem *p, const char *target)
{
    check_body(body, p, target);
}

/* ---- what is multiplied ------------------------------------------------------------------------------ */
/* Every row, of two atoms in M and steps in K, from registers; the accumulator of a group in several shapes. */
START_TEST(every_row)
{
    const sett__mma *x = &sett__mmas[_i];
    bool group = x->kind == SETT__MMA_GROUP;
    char target[16], name[64];
    snprintf(target, sizeof target, group ? "sm_90a" : "sm_%d", atoi(x->targets) < 80 ? 80 : atoi(x->targets));
    snprintf(name, sizeof name, "%s", group ? "wgmma.mma_async.sync.aligned.m64n" : "mma.sync.aligned.");
    problem p = {.kind = group ? SETT_MMA_WGMMA : SETT_MMA_SYNC, .a = (sett_dtype)x->a, .b = (sett_dtype)x->b, .acc = (sett_dtype)x->c, .m = x->m, .n = group ? 48 : x->n,
        .k = x->k, .atoms = {2, 1, 1}, .times = {1, group ? 1 : 3, 2}, .steps = 2, .a_from = group && _i % 2 ? SETT_RMEM : (sett_space)0, .holds = name};
    check_problem(&p, target);
}
END_TEST

#define WARP(ta, tb, tc) .kind = SETT_MMA_SYNC, .a = SETT_##ta, .b = SETT_##tb, .acc = SETT_##tc, .steps = 2
#define GROUP(ta, tc, N) .kind = SETT_MMA_WGMMA, .a = SETT_##ta, .b = SETT_##ta, .acc = SETT_##tc, .m = 64, .n = N, .holds = "wgmma.mma_async"
static const problem problems[] = {
    /* ldmatrix: as it is and transposed, of 4, 2 and 1 matrices, in every swizzle, of elements of 8, 16 and 32 bits */
    {WARP(F16, F16, F32), .m = 16, .n = 8, .k = 16, .atoms = {2, 2, 1}, .times = {2, 2, 4}, .matrices = {4, 4}, .perm = "(32,32,16)", .holds = "ldmatrix.sync.aligned.m8n8.x4.shared"},
    {WARP(F16, F16, F16), .m = 16, .n = 8, .k = 16, .atoms = {1, 2, 1}, .times = {2, 2, 2}, .matrices = {4, 2}, .holds = "ldmatrix.sync.aligned.m8n8.x2.shared"},
    {WARP(BF16, BF16, F32), .m = 16, .n = 8, .k = 8, .atoms = {2, 1, 1}, .times = {1, 2, 2}, .matrices = {2, 1}, .holds = "ldmatrix.sync.aligned.m8n8.x1.shared"},
    {WARP(F16, F16, F32), .m = 16, .n = 8, .k = 16, .atoms = {2, 2, 1}, .times = {1, 2, 1}, .matrices = {4, 4}, .perm = "(32,32,16)", .major = {SETT_MN_MAJOR, SETT_MN_MAJOR},
        .holds = "ldmatrix.sync.aligned.m8n8.x4.trans.shared"},
    {WARP(F16, F16, F32), .m = 16, .n = 8, .k = 16, .atoms = {4, 1, 1}, .times = {1, 4, 2}, .matrices = {4, 2}, .major = {SETT_K_MAJOR, SETT_MN_MAJOR}},
    {WARP(I8, I8, I32), .m = 16, .n = 8, .k = 32, .atoms = {2, 2, 1}, .times = {1, 2, 2}, .matrices = {4, 2}},
    {WARP(F8E4M3FN, F8E5M2, F32), .m = 16, .n = 8, .k = 32, .atoms = {2, 1, 1}, .times = {1, 2, 4}, .matrices = {4, 2}},
    {WARP(TF32, TF32, F32), .m = 16, .n = 8, .k = 8, .atoms = {2, 1, 1}, .times = {1, 2, 4}, .matrices = {4, 2}},
    /* stmatrix of what has been added up, as it is and transposed */
    {WARP(F16, F16, F16), .m = 16, .n = 8, .k = 16, .atoms = {2, 2, 1}, .times = {2, 4, 2}, .matrices = {4, 2}, .perm = "(32,32,16)", .stored = 4, .holds = "stmatrix.sync.aligned.m8n8.x4.shared"},
    {WARP(F16, F16, F16), .m = 16, .n = 8, .k = 16, .atoms = {2, 1, 1}, .times = {2, 8, 1}, .matrices = {4, 2}, .stored = 2, .major = {SETT_K_MAJOR, SETT_MN_MAJOR},
        .holds = "stmatrix.sync.aligned.m8n8.x2.trans.shared"},
    {GROUP(F16, F16, 64), .steps = 2, .k = 16, .atoms = {2, 1, 1}, .times = {1, 1, 4}, .stored = 4},
    /* wgmma: majors, swizzles, A in registers */
    {GROUP(F16, F32, 64), .steps = 2, .k = 16, .atoms = {1, 1, 1}, .times = {2, 2, 4}},
    {GROUP(BF16, F32, 128), .steps = 2, .k = 16, .atoms = {2, 1, 1}, .times = {1, 1, 4}, .major = {SETT_MN_MAJOR, SETT_MN_MAJOR}},
    {GROUP(F16, F16, 96), .steps = 2, .k = 16, .atoms = {1, 1, 1}, .times = {1, 1, 2}, .major = {SETT_K_MAJOR, SETT_MN_MAJOR}},
    {GROUP(F16, F32, 32), .steps = 2, .k = 16, .atoms = {1, 1, 1}, .times = {2, 1, 8}, .major = {SETT_MN_MAJOR, SETT_K_MAJOR}},
    {GROUP(F16, F32, 64), .steps = 2, .k = 16, .atoms = {1, 1, 1}, .times = {1, 1, 4}, .bytes = {64, 32}},
    {GROUP(F16, F32, 64), .steps = 2, .k = 16, .atoms = {1, 1, 1}, .times = {1, 1, 4}, .bytes = {16, 128}},
    {GROUP(F16, F32, 64), .steps = 2, .k = 16, .atoms = {1, 1, 1}, .times = {1, 1, 4}, .bytes = {16, 16}, .major = {SETT_MN_MAJOR, SETT_MN_MAJOR}},
    {GROUP(F16, F32, 64), .steps = 2, .k = 16, .atoms = {1, 1, 1}, .times = {2, 2, 4}, .bytes = {32, 64}, .major = {SETT_MN_MAJOR, SETT_MN_MAJOR}},
    {GROUP(F16, F32, 256), .steps = 2, .k = 16, .atoms = {1, 1, 1}, .times = {1, 1, 4}, .a_from = SETT_RMEM},
    {GROUP(I8, I32, 64), .steps = 2, .k = 32, .atoms = {2, 1, 1}, .times = {1, 2, 4}},
    {GROUP(TF32, F32, 64), .steps = 2, .k = 8, .atoms = {1, 1, 1}, .times = {1, 1, 8}},
    {GROUP(F8E4M3FN, F32, 64), .steps = 2, .k = 32, .atoms = {1, 1, 1}, .times = {1, 1, 4}, .bytes = {64, 64}},
    /* the first step of a loop in the kernel does not accumulate */
    {WARP(F16, F16, F32), .m = 16, .n = 8, .k = 16, .atoms = {2, 2, 1}, .times = {2, 2, 2}, .matrices = {4, 4}, .perm = "(32,32,16)", .counted = true},
    {GROUP(F16, F32, 64), .steps = 3, .k = 16, .atoms = {2, 1, 1}, .times = {2, 1, 2}, .counted = true},
    {GROUP(I8, I32, 32), .steps = 3, .k = 32, .atoms = {1, 1, 1}, .times = {1, 2, 1}, .a_from = SETT_RMEM, .counted = true},
    {.kind = SETT_MMA_UNIVERSAL, .a = SETT_F32, .b = SETT_F32, .acc = SETT_F32, .m = 1, .n = 1, .k = 1, .atoms = {8, 8, 1}, .times = {2, 2, 4}, .steps = 3, .counted = true},
    /* one multiply-add a thread, of every type of arithmetic, and of operands that are converted */
    {.kind = SETT_MMA_UNIVERSAL, .a = SETT_F32, .b = SETT_F32, .acc = SETT_F32, .m = 1, .n = 1, .k = 1, .atoms = {8, 8, 1}, .times = {4, 2, 16}, .steps = 2,
        .perm = "<(8,4):(4,1),(8,2):(2,1),_>", .holds = "fma.rn.f32"},
    {.kind = SETT_MMA_UNIVERSAL, .a = SETT_F64, .b = SETT_F64, .acc = SETT_F64, .m = 1, .n = 1, .k = 1, .atoms = {8, 8, 1}, .times = {1, 1, 16}, .steps = 1},
    {.kind = SETT_MMA_UNIVERSAL, .a = SETT_F16, .b = SETT_F16, .acc = SETT_F16, .m = 1, .n = 1, .k = 1, .atoms = {16, 4, 1}, .times = {2, 4, 16}, .steps = 2},
    {.kind = SETT_MMA_UNIVERSAL, .a = SETT_BF16, .b = SETT_F16, .acc = SETT_F32, .m = 1, .n = 1, .k = 1, .atoms = {8, 8, 1}, .times = {2, 1, 16}, .steps = 2},
    {.kind = SETT_MMA_UNIVERSAL, .a = SETT_F8E4M3FN, .b = SETT_F32, .acc = SETT_F32, .m = 1, .n = 1, .k = 1, .atoms = {8, 8, 1}, .times = {1, 3, 16}, .steps = 2},
    {.kind = SETT_MMA_UNIVERSAL, .a = SETT_I8, .b = SETT_I8, .acc = SETT_I32, .m = 1, .n = 1, .k = 1, .atoms = {8, 8, 1}, .times = {2, 2, 16}, .steps = 2},
    /* four products of bytes a thread */
    {.kind = SETT_MMA_DP4A, .a = SETT_I8, .b = SETT_I8, .acc = SETT_I32, .m = 1, .n = 1, .k = 4, .atoms = {8, 8, 1}, .times = {2, 2, 4}, .steps = 2, .holds = "dp4a.s32.s32"},
    {.kind = SETT_MMA_DP4A, .a = SETT_U8, .b = SETT_I8, .acc = SETT_I32, .m = 1, .n = 1, .k = 4, .atoms = {4, 16, 1}, .times = {4, 1, 2}, .steps = 3,
        .perm = "<(4,4):(4,1),_,_>", .holds = "dp4a.u32.s32", .counted = true},
    {.kind = SETT_MMA_UNIVERSAL, .a = SETT_I64, .b = SETT_I64, .acc = SETT_I64, .m = 1, .n = 1, .k = 1, .atoms = {8, 8, 1}, .times = {1, 2, 16}, .steps = 2},
};

START_TEST(every_way)
{
    const problem *p = &problems[_i];
    check_problem(p, p->kind == SETT_MMA_WGMMA || p->stored ? "sm_90a" : p->a == SETT_F8E4M3FN ? "sm_89" : "sm_80");
}
END_TEST

START_TEST(two_stages)
{
    static const problem rings[] = {{GROUP(F16, F32, 64), .k = 16, .atoms = {1, 1, 1}, .times = {2, 1, 4}, .steps = 5},
        {GROUP(I8, I32, 128), .k = 32, .atoms = {2, 1, 1}, .times = {1, 1, 4}, .steps = 4}};
    problem p = rings[_i];
    check_body(ring, &p, "sm_90a");
}
END_TEST

/* ---- ranks ------------------------------------------------------------------------------------------- */
/* One thread, an atom of one value: A is a[i + 10 k], B is b[j + 10 k], from 1 on, and C is 100 everywhere. */
typedef struct form {
    int m, n, k;        /* of the sums */
    bool values, modes; /* with V before; with a K behind, even of 1 */
} form;
static const form forms[] = {{1, 1, 1, true, false}, {3, 2, 1, false, false}, {3, 2, 4, false, true}, {3, 2, 1, true, false}, {3, 2, 4, true, true}};

static void by_rank(sett_build *b, const void *user)
{
    const form *f = user;
    sett_tensor *out = sett_param(b, "C", SETT_F32, sett_make_layout(b, T(f->m, f->n)));
    sett_mma_atom *atom = sett_mma_universal(b, .acc = SETT_F32);
    const bool one = f->m == 1;
    sett_tensor *x[2], *c;
    for (int w = 0; w < 2; w++) {
        const int rows = w ? f->n : f->m;
        sett_layout *l = one ? sett_make_layout(b, T1(1), T1(0)) : sett_make_layout(b, T1(rows), T1(1));
        l = f->values && !one ? sett_prepend(l, sett_make_layout(b, 1)) : l;
        l = f->modes ? sett_append(l, sett_make_layout(b, f->k, 10)) : l;
        x[w] = sett_make_rmem_tensor(b, SETT_F32, l);
        for (int i = 0; i < rows * f->k; i++)
            sett_set(x[w], (float)(1 + i % rows + 10 * (i / rows)), i);
    }
    c = sett_make_rmem_tensor(b, SETT_F32, one ? sett_make_layout(b, T1(1)) : f->values ? sett_make_layout(b, T(1, f->m, f->n)) : sett_make_layout(b, T(f->m, f->n)));
    sett_fill(c, 100.0);
    sett_gemm(atom, c, x[0], x[1], c);
    for (int i = 0; i < f->m * f->n; i++)
        sett_set(out, sett_at(c, i), i);
}

START_TEST(every_rank)
{
    const form *f = &forms[_i];
    const sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true};
    const sett_compile_options o = {.size = sizeof o, .target = "cpu", .user = f};
    sett_error err = {0};
    sett_engine *e;
    sett_kernel *k;
    float c[6] = {0};
    ck_assert_msg(!sett_engine_open(&e, &eo, &err) && !sett_compile(e, by_rank, &o, &k, &err), "%s", err.text);
    const int64_t shape[2] = {f->m, f->n};
    sett_buf C = sett_buf_nd(c, SETT_F32, 2, shape);
    C.stride[0] = 1, C.stride[1] = f->m;
    ck_assert_msg(!sett_launch(k, sett_stream_of(SETT_CPU, NULL), &err, &C), "%s", err.text);
    for (int i = 0; i < f->m * f->n; i++) {
        float sum = 100;
        for (int x = 0; x < f->k; x++)
            sum += (float)((1 + i % f->m + 10 * x) * (1 + i / f->m + 10 * x));
        ck_assert_msg(c[i] == sum, "%d: %g, should be %g", i, (double)c[i], (double)sum);
    }
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

/* ---- products in flight -------------------------------------------------------------------------------- */
typedef enum slip { TOUCHED, LEFT, NOT_COMMITTED, PENDING, DONE } slip;
static int product_line, touch_line, made_line;

static void flight(sett_build *b, const void *user)
{
    const slip s = *(const slip *)user;
    sett_tensor *out = sett_param(b, "C", SETT_F32, sett_row_major(b, 64, 64));
    sett_tensor *x = sett_make_smem_tensor(b, SETT_F16, sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, 64, 64), 1024);
    sett_block(b, 128);
    sett_val *t = sett_thread_idx(b, 0);
    sett_tiled_mma *mma = sett_make_tiled_mma(sett_wgmma(b, .a = SETT_F16, .b = SETT_F16, .acc = SETT_F32, .n = 64), T(1, 1, 1), ALL);
    sett_thr_mma *mine = sett_get_slice(mma, t);
    sett_tensor *gC = sett_partition_C(mine, out), *acc = sett_make_fragment_C(mma, gC);
    made_line = __LINE__ - 1;
    sett_tensor *fa = sett_make_fragment_A(mma, sett_partition_A(mine, x)), *fb = sett_make_fragment_B(mma, sett_partition_B(mine, x));
    sett_gemm(mma, acc, fa, fb, acc, .overwrite = true), product_line = __LINE__;
    if (s != NOT_COMMITTED)
        sett_mma_commit(b);
    if (s == PENDING || s == DONE || s == NOT_COMMITTED)
        sett_mma_wait(b, s == PENDING);
    if (s != LEFT)
        sett_copy(acc, gC), touch_line = __LINE__;
}

/* A wait in each branch, or in one of them, or in a loop: behind `if` a product may be in flight that an `else` ends, and the other way round. */
typedef enum waits { BOTH, FIRST, SECOND, IN_SECOND_ONLY_BEGUN, IN_A_LOOP, N_WAITS } waits;

static void branches(sett_build *b, const void *user)
{
    const waits w = *(const waits *)user;
    sett_tensor *out = sett_param(b, "C", SETT_F32, sett_row_major(b, 64, 64));
    sett_val *n = sett_scalar(b, "n", SETT_I32);
    sett_tensor *x = sett_make_smem_tensor(b, SETT_F16, sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, 64, 64), 1024);
    sett_block(b, 128);
    sett_tiled_mma *mma = sett_make_tiled_mma(sett_wgmma(b, .a = SETT_F16, .b = SETT_F16, .acc = SETT_F32, .n = 64), T(1, 1, 1), ALL);
    sett_thr_mma *mine = sett_get_slice(mma, sett_thread_idx(b, 0));
    sett_tensor *gC = sett_partition_C(mine, out), *acc = sett_make_fragment_C(mma, gC);
    sett_tensor *fa = sett_make_fragment_A(mma, sett_partition_A(mine, x)), *fb = sett_make_fragment_B(mma, sett_partition_B(mine, x));
    sett_fill(acc, 0);
    if (w != IN_SECOND_ONLY_BEGUN)
        sett_gemm(mma, acc, fa, fb, acc), sett_mma_commit(b);
    if (w == IN_A_LOOP) { /* of no round, it may be */
        sett_for (b, i, 0, n, 1)
            sett_mma_wait(b, 0);
    } else {
        sett_if (b, sett_gt(n, 0)) {
            if (w == BOTH || w == FIRST)
                sett_mma_wait(b, 0);
        }
        sett_else (b) {
            if (w == IN_SECOND_ONLY_BEGUN)
                sett_gemm(mma, acc, fa, fb, acc), sett_mma_commit(b);
            if (w == BOTH || w == SECOND)
                sett_mma_wait(b, 0);
        }
    }
    if (w != BOTH)
        sett_mma_wait(b, 0);
    sett_copy(acc, gC);
}

START_TEST(waits_in_branches)
{
    const waits w = (waits)_i;
    const sett_compile_options o = {.size = sizeof o, .user = &w};
    char *text = tape_of(branches, &o);
    int n = 0;
    for (const char *at = text; (at = strstr(at, "wgmma.wait %")); at++)
        n++;
    ck_assert_msg(n == (w == IN_SECOND_ONLY_BEGUN ? 1 : 2), "%d: %d waits name it in\n%.3000s", (int)w, n, text);
    sett_text_free(text);
}
END_TEST

START_TEST(touched_in_flight)
{
    const slip s = (slip)_i;
    const sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true};
    const sett_compile_options o = {.size = sizeof o, .target = "sm_90a", .user = &s, .ptx_only = true};
    sett_error err = {0};
    sett_engine *e;
    sett_kernel *k = NULL;
    char line[64], since[120], named[120];
    if (!have_compiler())
        return;
    ck_assert_msg(!sett_engine_open(&e, &eo, &err), "%s", err.text);
    sett_status got = sett_compile(e, flight, &o, &k, &err);
    snprintf(line, sizeof line, "test_gemm.c:%d: ", s == LEFT ? product_line : touch_line);
    snprintf(since, sizeof since, "in flight since %s:%d", __FILE__, product_line);
    snprintf(named, sizeof named, " is fragment C of %s:%d", __FILE__, made_line);
    if (s == DONE)
        ck_assert_msg(!got, "%s", err.text);
    else
        ck_assert_msg(got == SETT_E_VERIFY && strstr(err.text, line) && strstr(err.text, s == LEFT ? "the kernel ends while" : since) && strstr(err.text, named), "%s", err.text);
    static const char *const call[DONE] = {[TOUCHED] = "sett_mma_wait must come before it is read or written", [LEFT] = "a sett_mma_wait must come behind it",
        [NOT_COMMITTED] = ", which no sett_mma_commit follows: sett_mma_wait must come before it", [PENDING] = "sett_mma_wait must come before it is read or written"};
    if (s != DONE) /* the author's calls, and no operation of the tape */
        ck_assert_msg(strstr(err.text, call[s]) && !strstr(err.text, "wgmma.") && !strchr(err.text, '`'), "%s", err.text);
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

/* Of a target without it the operation is told, with the line, though the kernel asks for more shared memory than there is, too. */
static void large(sett_build *b, const void *user)
{
    const slip done = DONE;
    (void)user;
    sett_fill(sett_make_smem_tensor(b, SETT_F32, 45 * 1024, 16), 0);
    flight(b, &done);
}

START_TEST(no_such_operation)
{
    static const char *const target[] = {"sm_75", "sm_80", "sm_90", "sm_120"};
    const sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true};
    const sett_compile_options o = {.size = sizeof o, .target = target[_i], .ptx_only = true};
    sett_error err = {0};
    sett_engine *e;
    sett_kernel *k = NULL;
    char want[160];
    ck_assert_msg(!sett_engine_open(&e, &eo, &err), "%s", err.text);
    sett_status s = sett_compile(e, large, &o, &k, &err);
    ck_assert_msg(s == SETT_E_TARGET, "%s: %d, %s", target[_i], (int)s, err.text);
    snprintf(want, sizeof want, "%s:%d: ", __FILE__, product_line);
    ck_assert_msg(strstr(err.text, want) == err.text && strstr(err.text, "sett_gemm needs sm_90a, the target is "), "%s", err.text);
    sett_engine_close(e);
}
END_TEST

/* ---- fences, and fields that cannot be ------------------------------------------------------------------- */
typedef enum asked { AUTOMATIC, ONE_FOR_BOTH, TOUCHED_SINCE, WAITED_SINCE, N_ASKED } asked;

/* Two products of two accumulators. */
static void fences(sett_build *b, const void *user)
{
    const asked a = *(const asked *)user;
    sett_tensor *out = sett_param(b, "C", SETT_F32, sett_row_major(b, 64, 64));
    sett_tensor *x = sett_make_smem_tensor(b, SETT_F16, sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, 64, 64), 1024);
    sett_block(b, 128);
    sett_tiled_mma *mma = sett_make_tiled_mma(sett_wgmma(b, .a = SETT_F16, .b = SETT_F16, .acc = SETT_F32, .n = 64), T(1, 1, 1), ALL);
    sett_thr_mma *mine = sett_get_slice(mma, sett_thread_idx(b, 0));
    sett_tensor *gC = sett_partition_C(mine, out), *s = sett_make_fragment_C(mma, gC), *o = sett_make_fragment_C(mma, gC);
    sett_tensor *fa = sett_make_fragment_A(mma, sett_partition_A(mine, x)), *fb = sett_make_fragment_B(mma, sett_partition_B(mine, x));
    sett_fill(s, 0), sett_fill(o, 0);
    if (a != AUTOMATIC)
        sett_mma_fence(s, o);
    if (a == TOUCHED_SINCE)
        sett_fill(o, 1);
    sett_gemm(mma, s, fa, fb, s);
    sett_gemm(mma, s, fa, fb, s); /* what is under way needs no fence between */
    sett_mma_commit(b);
    if (a == WAITED_SINCE)
        sett_mma_wait(b, 0);
    sett_gemm(mma, o, fa, fb, o);
    sett_mma_commit(b);
    sett_mma_wait(b, 0);
    sett_store(gC, sett_add(sett_load(s), sett_load(o)));
}

START_TEST(fences_are_few)
{
    static const int want[N_ASKED] = {[AUTOMATIC] = 2, [ONE_FOR_BOTH] = 1, [TOUCHED_SINCE] = 2, [WAITED_SINCE] = 2};
    for (asked a = AUTOMATIC; a < N_ASKED; a++) {
        sett_compile_options o = {.size = sizeof o, .user = &a};
        char *text = tape_of(fences, &o);
        int n = 0;
        for (const char *at = text; (at = strstr(at, "wgmma.fence ")); at++)
            n++;
        ck_assert_msg(n == want[a], "%d: %d fences in\n%.2000s", (int)a, n, text);
        sett_text_free(text);
    }
}
END_TEST

/* A factor that is a view of a view, and so on, whose place is known in the loop alone. */
static void far_views(sett_build *b, const void *user)
{
    sett_tensor *out = sett_param(b, "C", SETT_F32, sett_row_major(b, 64, 64));
    sett_tensor *x = sett_make_smem_tensor(b, SETT_F16, sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, 64, 64), 1024);
    sett_block(b, 128);
    sett_tiled_mma *mma = sett_make_tiled_mma(sett_wgmma(b, .a = SETT_F16, .b = SETT_F16, .acc = SETT_F32, .n = 64), T(1, 1, 1), ALL);
    sett_thr_mma *mine = sett_get_slice(mma, sett_thread_idx(b, 0));
    sett_tensor *gC = sett_partition_C(mine, out), *acc = sett_make_fragment_C(mma, gC);
    sett_tensor *fa = sett_make_fragment_A(mma, sett_partition_A(mine, x)), *fb = sett_make_fragment_B(mma, sett_partition_B(mine, x));
    sett_fill(acc, 0);
    sett_for (b, i, 0, 2, 1) {
        sett_tensor *y = fb;
        for (int n = 0; n < *(const int *)user; n++)
            y = sett_domain_offset(y, T(sett_mul(i, 8 * n + 8), 0), 0, 0);
        sett_gemm(mma, acc, fa, y, acc);
        sett_mma_commit(b);
        sett_mma_wait(b, 0);
    }
    sett_copy(acc, gC);
}

START_TEST(views_of_views)
{
    int n = 300000;
    const sett_compile_options o = {.size = sizeof o, .user = &n};
    sett_text_free(tape_of(far_views, &o));
}
END_TEST

static void wrong_field(sett_build *b, int which)
{
    sett_mma_atom *atom = sett_mma_universal(b, .acc = SETT_F32);
    sett_tensor *x = sett_make_rmem_tensor(b, SETT_F32, 1);
    sett_block(b, 32);
    sett_val *t = sett_thread_idx(b, 0);
    switch (which) {
    case 0: sett_gemm(atom, x, x, x, x, .overwrite = true, .accumulate = sett_gt(t, 0)); break;
    case 1: sett_gemm(atom, x, x, x, x, .accumulate = t); break;
    case 2: sett_gemm(atom, x, x, x, x, .accumulate = sett_gt(sett_load(sett_make_rmem_tensor(b, SETT_F32, 2)), 0.0)); break;
    default: sett_mma_fence(x, sett_make_smem_tensor(b, SETT_F32, 4, 16));
    }
}

START_TEST(wrong_fields)
{
    static const struct { sett_status status; const char *text; } want[] = {
        {SETT_E_ARGUMENT, "sett_gemm: both .overwrite and .accumulate: give one"},
        {SETT_E_SHAPE, "sett_gemm: .accumulate is a value of shape () of i32: it is one Boolean"},
        {SETT_E_SHAPE, "sett_gemm: .accumulate is a value of shape 2 of i1: it is one Boolean"},
        {SETT_E_SPACE, "4:1 is in smem: it fences registers; of shared memory sett_fence_view_async_shared is the fence"},
    };
    for (int i = 0; i < (int)SETT__COUNT(want); i++) {
        sett_build *b = sett__build_new(NULL, true);
        const char *text;
        wrong_field(b, i);
        ck_assert_msg(sett_build_status(b, &text) == want[i].status && strstr(text, want[i].text) && strstr(text, "test_gemm.c:"), "%d: %s", i, text);
        sett_build_end(b, NULL);
    }
}
END_TEST

Suite *gemm_suite(void)
{
    Suite *s = suite_create("gemm");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, every_row, 0, SETT__N_MMAS);
    tcase_add_loop_test(t, every_way, 0, (int)SETT__COUNT(problems));
    tcase_add_loop_test(t, two_stages, 0, 2);
    tcase_add_loop_test(t, every_rank, 0, (int)SETT__COUNT(forms));
    tcase_add_loop_test(t, touched_in_flight, TOUCHED, DONE + 1);
    tcase_add_loop_test(t, waits_in_branches, 0, N_WAITS);
    tcase_add_loop_test(t, no_such_operation, 0, 4);
    tcase_add_test(t, fences_are_few);
    tcase_add_test(t, views_of_views);
    tcase_add_test(t, wrong_fields);
    suite_add_tcase(s, t);
    return s;
}
