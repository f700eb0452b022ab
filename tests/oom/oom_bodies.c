/* SPDX-License-Identifier: Apache-2.0 */
#define SETT_SHORT
#include "tests/oom/oom_bodies.h"

void oom_hello(sett_build *b, const void *user)
{
    (void)user;
    sett_grid(b, 1);
    sett_block(b, 32);
    sett_printf(b, "thread {}\n", sett_thread_idx(b, 0));
}

/* A struct of the host's in memory and in shared memory, and assertions on what is read. */
void oom_structs(sett_build *b, const void *user)
{
    (void)user;
    sett_struct *q8 = sett_make_struct(b, "q8", SETT_FIELD("d", SETT_F16), SETT_FIELD("q", SETT_I8, .count = 32));
    sett_struct *shared = sett_make_struct(b, "shared", SETT_FIELD("scale", SETT_F32, .count = 8));
    sett_tensor *W = sett_param_struct(b, "W", q8, sett_sym(b, "N", .div = 8));
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, sett_sym(b, "N", .div = 8), 32));
    sett_block(b, 256);
    sett_val *w = sett_warp_idx(b), *lane = sett_lane_idx(b);
    sett_tensor *scale = sett_field_tensor(sett_make_smem_struct(b, shared), shared, "scale");
    sett_val *d = sett_to(sett_at(sett_field_tensor(W, q8, "d"), w), SETT_F32);
    sett_assert(b, sett_ge(d, 0.0), "block {} has the scale {}", w, d);
    sett_set(scale, d, w);
    sett_sync_threads(b);
    sett_set(Y, sett_mul(sett_at(scale, w), sett_to(sett_at(sett_field_tensor(W, q8, "q"), w, lane), SETT_F32)), w, lane);
}

/* Races in shared and in global memory, a relaxed flag, memory that nobody has written, and banks. */
void oom_wrong(sett_build *b, const void *user)
{
    (void)user;
    sett_grid(b, 2), sett_block(b, 64);
    sett_tensor *Y = sett_param(b, "Y", SETT_I32, sett_make_layout(b, T1(256)));
    sett_tensor *S = sett_make_smem_tensor(b, SETT_I32, 64, 16), *U = sett_make_smem_tensor(b, SETT_I32, 64 * 32, 16);
    sett_val *t = sett_thread_idx(b, 0), *block = sett_block_idx(b, 0), *at = sett_add(sett_mul(block, 64), t);
    sett_set(S, t, t);
    sett_set(Y, sett_add(sett_at(S, sett_sub(63, t)), sett_at(U, sett_mul(t, 32))), at);
    sett_set(Y, block, 200);
    sett_if (b, sett_eq(t, 0)) {
        sett_set(Y, 1, sett_add(block, 210));
        sett_val *seen = sett_atomic_ordered(Y, SETT_ATOMIC_ADD, SETT_SEM_RELAXED, SETT_SCOPE_GPU, 1, 220);
        sett_if (b, sett_eq(seen, 1))
            sett_set(Y, sett_at(Y, sett_sub(211, block)), 221);
    }
}

/* By what a launch gives, and by what follows from that. */
void oom_dividing(sett_build *b, const void *user)
{
    (void)user;
    sett_val *H = sett_sym(b, "H"), *HS = sett_sym(b, "HS");
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T1(HS)));
    sett_fast_divmod by_head = sett_make_fast_divmod(b, H), by_position = sett_make_fast_divmod(b, sett_floordiv(HS, H));
    sett_block(b, 32);
    sett_quot_rem at = sett_divmod(sett_thread_idx(b, 0), by_head);
    sett_set(X, sett_at(X, sett_add(sett_mul(at.remainder, by_position.divisor), at.quotient)), at.quotient);
}

static sett_arg doubled(sett_arg leaf, void *user)
{
    (void)user;
    return sett_mul(leaf, 2);
}

/* Launch checks, tuples by function, composed layouts: what the examples do without. */
void oom_relying(sett_build *b, const void *user)
{
    (void)user;
    sett_val *n = sett_sym(b, "N");
    sett_layout *l = sett_make_layout(b, T(n, 4)), *swizzled = sett_make_swizzled(2, 1, 3, sett_make_layout(b, T(8, 8)));
    sett_tensor *x = sett_param(b, "X", SETT_F32, l);
    sett_composition(l, sett_make_layout(b, 4, 4));
    sett_composition(sett_make_layout(b, T(8, 8), T(8, 1)), swizzled);
    sett_right_inverse(sett_make_identity_layout(b, 4, T(2, 3)));
    sett_block(b, 32);
    sett_arg tile = sett_transform_leaf(b, sett_unflatten(b, sett_repeat(b, 2, 2), T(0, 0)), doubled, NULL);
    sett_set(sett_local_tile(x, tile, T(0, 0)), sett_to(sett_assume(n, 2), SETT_F32), 0);
}

/* Loops that end by themselves or are unrolled, elements by values. */
void oom_looping(sett_build *b, const void *user)
{
    (void)user;
    sett_val *n = sett_sym(b, "N"), *s, *c;
    sett_tensor *x = sett_param(b, "X", SETT_F32, sett_make_layout(b, T1(n))), *sum = sett_var(b, SETT_F32, 0);
    sett_block(b, 32);
    sett_for (b, i, 0, n, 3, .unroll = 2)
        sett_set(sum, sett_add(sett_at(sum, 0), sett_at(x, i)), 0);
    sett_for (b, k, 0, 2, 1, .unroll_full = true)
        sett_set(sum, sett_mul(sett_at(sum, 0), sett_to(k, SETT_F32)), 0);
    sett_while (b, sett_gt(sett_at(sum, 0), 1))
        sett_set(sum, sett_mul(sett_at(sum, 0), 0.5), 0);
    sett_val *idx = sett_reshape(sett_full(b, SETT_I32, T(2, 3), n), T(3, 2)), *v = sett_gather(x, idx, .pred = sett_lt(idx, n));
    sett_sincos_approx(sett_element(v, n), &s, &c);
    sett_scatter(x, idx, sett_add(sett_mul(v, s), c), .pred = sett_any(v));
}

/* Packed elements, at places known and not, under predicates; integers of 128 bits. */
void oom_packing(sett_build *b, const void *user)
{
    (void)user;
    sett_val *n = sett_sym(b, "n"), *i = sett_thread_idx(b, 0);
    sett_tensor *X = sett_param(b, "X", SETT_F6E3M2FN, sett_make_layout(b, T1(n))), *D = sett_param(b, "D", SETT_I128, sett_make_layout(b, T1(n)));
    sett_grid(b, 1);
    sett_block(b, 32);
    sett_tensor *r = sett_make_rmem_tensor(b, SETT_I4, 5), *c = sett_local_tile(sett_identity_tensor(b, T1(n)), T1(7), T1(i));
    sett_val *x = sett_load(sett_local_tile(X, T1(7), T1(i)), .pred = sett_elem_less(c, T1(n)), .fill = 2);
    sett_fill(r, 1);
    sett_store(r, sett_full(b, SETT_I4, 5, 3), .pred = sett_gt(sett_to(sett_element(x, 1), SETT_F32), 0.0));
    sett_set(r, sett_at(r, 4), sett_mod(i, 5));
    sett_set(D, sett_to(sett_add(sett_to(sett_at(r, 0), SETT_F32), sett_to(sett_at(D, i), SETT_F32)), SETT_I128), i);
}

/* PTX of the user's, element by element, and addresses. */
void oom_inlining(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_U32, sett_make_layout(b, T1(64)));
    sett_block(b, 32);
    sett_val *i = sett_thread_idx(b, 0), *sum[2], *x = sett_load(sett_local_tile(X, T1(2), T1(i)));
    sett_prefetch(X, SETT_PREFETCH_L2, i);
    sett_inline_ptx(b, "add.cc.u32 $0, $2, $3; addc.u32 $1, $2, 0;", .result = {SETT_U32, SETT_U32}, .to = sum, .in = SETT_IN(x, 7), .stand_in = "add");
    sett_store(sett_local_tile(X, T1(2), T1(i)), sett_add(sum[0], sum[1]));
    sett_inline_ptx(b, "red.global.add.u32 [$0], $1;", .in = SETT_IN(sett_address(X, i), i), .memory = true, .stand_in = SETT_NOTHING);
}

/* A cluster of the CPU engine, with copies that go on by themselves; and cp.async. */
const char oom_boxes[] =
    "sett tape 2\nparam A f32 (1024):(1) align 16 read\nparam D f32 (1024):(1) align 16 write\n"
    "map m A f32 (32,32) bytes (128) box (32,8)\ngrid 2\nblock 32\ncluster 2\nsmem 4096 align 1024\n"
    "%0 = tid.x i32\n%1 = param f32 A\n%2 = param f32 D\n%3 = tmap f32 m\n%4 = smem f32x512 at 0\n%5 = smem u64x1 at 2048 mbarrier\n%6 = const i32 0\n%7 = const i32 1\n"
    "%8 = const i32 1024\n%9 = eq i1 %0, %6\n%10 = const i32 32\n%11 = const i32 33\n%12 = const i32 256\nif %9 {\n  mbarrier.init %5[0] %11\n  fence.mbarrier_init\n  mbarrier.expect_tx %5[0] %8 arrive\n"
    "  tma.load %4[0] from %3 done %5[0] at %6, %6\n}\ncp.async %4[%0 + 256] %1[%0] bytes=4 of=4\ncp.async.mbarrier.arrive %5[0] noinc\n"
    "loop {\n  %50 = mbarrier.try_wait i1 %5[0] %6\n  %51 = not i1 %50\n  while %51\n}\n"
    "%60 = bid.x i32\n%61 = mul i32 %60, %12\nbulk.store %2[%61] from %4[0] bytes %8 pred %9\nbulk.commit\nbulk.wait\n";

/* Products of matrices by a warp and by a warp group, of which each element of D is the sum. */
const char oom_products[] =
    "sett tape 2\nparam A f16 (1024):(1) align 16 read\nparam D f32 (1024):(1) align 16 write\ngrid 1\nblock 128\n"
    "smem 4096 align 1024\n%0 = tid.x i32\n%1 = param f16 A\n%2 = param f32 D\n%3 = smem f16x2048 at 0\n%4 = rmem f32x4\n"
    "%5 = const i32 8\n%6 = mul i32 %0, %5\n%7 = load f16x8 %1[%6] align 16\nstore %3[%6] f16x8 %7 align 16\n"
    "store %3[%6 + 1024] f16x8 %7 align 16\nfence.proxy kind=async\nbarrier\n%10 = const i32 31\n%11 = and i32 %0, %10\n"
    "%12 = mul i32 %11, %5\n%13 = ldmatrix f16x8 %3[%12]\n%14 = ldmatrix f16x4 %3[%12 + 1024]\n%15 = const f32 0.0\n"
    "%17 = pack f32x4 %15, %15, %15, %15\n%16 = mma f32x4 %13, %14, %17 row=m16n8k16.f32.f16.f16.f32\n%20 = desc u64 %3[0] lead=128 stride=256\n"
    "%21 = desc u64 %3[1024] lead=128 stride=256\n%22 = const i1 false\nwgmma.fence %4\n"
    "wgmma %4, %20, %21, %22 row=m64nNk16.f32.f16.f16 n=8\nwgmma.commit\nwgmma.wait %4 pending=0\n"
    "%23 = load f32x4 %4[0] align 4\n%24 = add f32x4 %16, %23\n%25 = const i32 4\n%26 = mul i32 %0, %25\n"
    "store %2[%26] f32x4 %24 align 16\n";

/* Every kind of atom and tiled operation, and a product that the CPU computes. */
void oom_atoms(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *A = sett_param(b, "A", SETT_F32, sett_row_major(b, 32, 16)), *C = sett_param(b, "C", SETT_F32, sett_row_major(b, 32, 32));
    sett_block(b, 128);
    sett_val *t = sett_thread_idx(b, 0), *lane = sett_mod(t, 32); /* the warps do the same, but for the warpgroup's product */
    sett_tiled_mma *warp = sett_make_tiled_mma(sett_mma_sync(b, .a = SETT_F16, .b = SETT_F16, .acc = SETT_F32), T(1, 1, 1), T(ALL, 16, ALL));
    sett_tiled_mma *group = sett_make_tiled_mma(sett_wgmma(b, .a = SETT_F16, .b = SETT_F16, .acc = SETT_F32, .n = 32), T(1, 1, 1), ALL);
    sett_tensor *x = sett_make_smem_tensor(b, SETT_F16, sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, 64, 32), 512);
    sett_thr_copy *from = sett_get_slice(sett_make_tiled_copy_A(sett_ldmatrix(b, SETT_F16, 4, false), warp), lane);
    sett_retile(from, sett_make_fragment_A(warp, sett_partition_A(sett_get_slice(warp, lane), x)));
    sett_partition_S(from, x);
    sett_make_fragment_A(group, sett_partition_A(sett_get_slice(group, t), x));
    sett_make_tiled_copy_C_atom(sett_stmatrix(b, SETT_F16, 1, false), warp);
    sett_make_cotiled_copy(sett_copy_universal(b, SETT_F32, 32), sett_make_layout(b, T(32, 2)), sett_make_layout(b, T(8, 8), T(8, 1)));

    sett_tiled_mma *mma = sett_make_tiled_mma(sett_mma_universal(b, .acc = SETT_F32), T(8, 4, 1), ALL);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(32, 16)), 16);
    sett_tiled_copy *copy = sett_make_tiled_copy_tv(sett_copy_async(b, SETT_F32, 32), sett_make_layout(b, T(8, 4), T(4, 1)), sett_make_layout(b, T(1, 1)));
    sett_thr_copy *mover = sett_get_slice(copy, lane);
    sett_thr_mma *mine = sett_get_slice(mma, lane);
    sett_copy(copy, sett_partition_S(mover, A), sett_partition_D(mover, s));
    sett_cp_async_wait_all(b);
    sett_sync_threads(b);
    sett_tensor *acc = sett_make_fragment_C(mma, sett_partition_shape_C(mma, T(32, 32)));
    sett_gemm(mma, acc, sett_partition_A(mine, s), sett_partition_B(mine, s), acc, .overwrite = true);
    sett_copy(acc, sett_partition_C(mine, C));
}

/* Tensor maps as arguments and in memory, copies by them, in bulk and to a peer. */
void oom_maps(sett_build *b, const void *user)
{
    (void)user;
    sett_cluster(b, 2);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, sett_sym(b, "M"), 64), .align = 16), *maps = sett_param(b, "maps", SETT_U64, sett_make_layout(b, 16), .align = 64);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, sett_smem_layout(b, SETT_F32, SETT_K_MAJOR, 16, 64), 1024), *bars = sett_make_mbarriers(b, 2), *to, *from;
    sett_tensor *line = sett_make_smem_tensor(b, SETT_F32, 64, 16);
    sett_grid(b, 2), sett_block(b, 32);
    sett_tma *map = sett_make_tma(X, .smem = s, .tile = T(16, 64)), *both = sett_make_tma(X, .layout = sett_tensor_layout(s), .tile = T(16, 64), .multicast = 2, .nan = true);
    sett_val *me = sett_block_idx_in_cluster(b), *other = sett_sub(1, me);
    sett_arg first = sett_tuple(b, sett_block_idx(b, 0), 0);
    sett_tma_load(map, sett_local_tile(sett_tma_tensor(map), T(16, 64), first), s, sett_slice(bars, 0), .policy = sett_cache_policy(b, SETT_EVICT_LAST, 50));
    sett_tma_partition(both, me, sett_make_layout(b, 2, 1), s, sett_local_tile(sett_tma_tensor(both), T(16, 64), first), &to, &from);
    sett_tma_load(both, from, to, sett_slice(bars, 1), .mask = sett_create_tma_multicast_mask(b, sett_make_layout(b, T(2, 1)), T(0, 0), 0));
    sett_copy_tensormap(map, maps);
    sett_update_tma_descriptor(map, maps, .address = sett_address(X, 0), .shape = sett_tuple(b, me, 64), .stride = T(64, 1));
    sett_fence_tma_desc_release(b);
    sett_fence_tma_desc_acquire(maps);
    sett_prefetch_descriptor_of(map, maps);
    sett_tma_reduce(map, SETT_ADD, s, sett_local_tile(sett_tma_tensor(map), T(16, 64), first), .map = maps);
    sett_bulk_load(sett_slice(X, 0, ALL), line, sett_slice(bars, 0));
    sett_bulk_peer(line, sett_map_dsmem(line, other), sett_map_dsmem(sett_slice(bars, 1), other));
    sett_store_async(sett_map_dsmem(sett_local_tile(line, T1(2), T1(sett_thread_idx(b, 0))), other), 1.0, sett_map_dsmem(sett_slice(bars, 1), other));
    sett_tma_store_commit(b);
    sett_tma_store_wait(b, 0);
}

/* Every kind of pipeline, from block to block of a cluster, tile after tile; one warp adds up what another one writes. */
void oom_rings(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *A = sett_param(b, "A", SETT_F32, sett_row_major(b, 32, 16)), *C = sett_param(b, "C", SETT_F32, sett_row_major(b, 32, 32));
    sett_block(b, 64);
    sett_cluster(b, 2);
    sett_scheduler *s = sett_tile_scheduler(b, .tiles = T(5, 3), .clusters = SETT_A(1), .swizzle = 2);
    sett_grid(b, sett_scheduler_grid(s));
    sett_tile_rows(sett_initial_work_tile(sett_tile_scheduler(b, .tiles = T(5, 3, 2), .clusters = SETT_A(1), .counts = sett_param(b, "counts", SETT_I32, sett_make_layout(b, T1(2))), .rows = 8)));
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(32, 2)), 16);
    sett_pipeline *pipe = sett_pipeline_async(b, .stages = 2, .producers = SETT_WARPS(1), .consumers = SETT_WARPS(1), .defer_sync = true);
    sett_pipeline *order = sett_pipeline_order(b, .stages = 1, .turns = 2, .producers = SETT_WARPS(1), .defer_sync = true);
    sett_pipeline_tma_async(b, .stages = 2, .tx_bytes = 16, .multicast = 1, .consumers = SETT_WARPS(1), .defer_sync = true);
    sett_pipeline_tma_store(b, .stages = 2);
    sett_pipeline_init_arrive(b);
    sett_pipeline_init_wait(b);
    sett_val *lane = sett_lane_idx(b), *warp = sett_warp_idx(b);
    sett_pipeline_state *turn = sett_order_state(order, warp);
    sett_work_tile *w = sett_initial_work_tile(s);
    sett_while (b, sett_is_valid_tile(w)) {
        sett_tile_coord(w);
        sett_order_wait(turn);
        sett_order_arrive(turn);
        sett_advance_to_next_work(w);
    }
    sett_if (b, sett_eq(warp, 0)) {
        sett_pipeline_state *put = sett_pipeline_producer_state(pipe);
        sett_for (b, k, 0, 16, 1) {
            sett_producer_acquire(put, sett_producer_try_acquire(put));
            sett_set(sett_slice(ring, ALL, sett_pipeline_stage(put)), sett_at(A, lane, k), lane);
            sett_producer_commit(put);
            sett_pipeline_advance(put);
        }
        sett_producer_tail(put);
    }
    sett_else (b) {
        sett_pipeline_state *get = sett_pipeline_consumer_state(pipe);
        sett_for (b, k, 0, 16, 1) {
            sett_consumer_wait(get);
            sett_set(C, sett_at(sett_slice(ring, ALL, sett_pipeline_stage(get)), lane), lane, k);
            sett_consumer_release(get);
            sett_pipeline_advance(get);
        }
    }
    sett_set(sett_map_dsmem(ring, 1), 1, lane, 0);
    sett_cluster_sync(b);
}
