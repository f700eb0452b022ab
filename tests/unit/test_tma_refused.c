/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor maps, copies by them and in bulk: what is refused while recording, with its text, and what the CPU engine reports. */
#define SETT_SHORT
#include "tests/rig/recording.h"
#include <sett/cluster.h>
#include <sett/compile.h>
#include <sett/engine.h>
#include <sett/launch.h>
#include <sett/mma.h>
#include <sett/pipeline.h>
#include <sett/tma.h>
#include <string.h>

#define BEGINS "sett_make_smem_tensor takes the alignment behind the layout"
/* What most of them use. */
typedef struct parts {
    sett_build *b;
    sett_tensor *X, *Y, *s, *bar;
    sett_tma *t;
    sett_tensor *at; /* the first tile's coordinates */
    sett_val *M, *K;
} parts;

static parts ready(void)
{
    parts x = {.b = kernel()};
    sett_build *b = x.b;
    x.M = sett_sym(b, "M"), x.K = sett_sym(b, "K", .div = 8);
    sett_grid(b, 2), sett_block(b, 64), sett_cluster(b, 2);
    x.X = sett_param(b, "X", SETT_F16, sett_row_major(b, x.M, x.K), .align = 16);
    x.Y = sett_param(b, "Y", SETT_F16, sett_row_major(b, x.M, x.K), .align = 16);
    x.s = sett_make_smem_tensor(b, SETT_F16, sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, 64, 64, 2), 1024, .name = "s");
    x.bar = sett_make_mbarriers(b, 2);
    x.t = sett_make_tma(x.X, .smem = x.s, .tile = T(64, 64));
    x.at = sett_local_tile(sett_tma_tensor(x.t), T(64, 64), T(0, 0));
    ck_assert_int_eq(sett_build_status(b, NULL), SETT_OK);
    return x;
}
#define STAGE(x) sett_slice((x)->s, ALL, ALL, 0)
#define BAR(x) sett_slice((x)->bar, 0)
/* Shared memory for one tile of the map. It lies behind the arrays of ready(), so its alignment gives its byte: 16 gives 16400, 128 gives 16512,
 * 1024 gives 17408. */
#define TILE_AT(x, align) sett_make_smem_tensor((x)->b, SETT_F16, sett_smem_layout((x)->b, SETT_F16, SETT_K_MAJOR, 64, 64), align, .name = "q")
#define PLAIN(b, dtype, ...) sett_make_smem_tensor(b, dtype, sett_make_layout(b, __VA_ARGS__), 1024, .name = "p")

static int wrong;
static void says(sett_build *b, sett_status status, const char *want)
{
    const char *text = b->error.status ? strstr(b->error.text, ": sett_") : NULL;
    if (b->error.status != status || (want && (!text || strcmp(text + 2, want)))) {
        wrong++;
        fprintf(stderr, "%s\n  %s, should be %s\n", sett_status_name(b->error.status), b->error.text, want);
    }
    sett_build_end(b, NULL);
}
#define TRY(status, text, ...) \
    { \
        parts one = ready(), *x = &one; \
        __VA_ARGS__; \
        says(x->b, status, text); \
    }

/* Of tensors and shared memory. */
START_TEST(maps_of_what_there_is)
{
    wrong = 0;
    TRY(SETT_E_SPACE, "sett_make_tma: s S<3,3,3> o 0 o ((8,8),(64,1),(1,2)):((64,512),(1,0),(0,4096)) is no tensor argument: a map is made of one, when the kernel is launched",
        sett_make_tma(x->s, .smem = x->s, .tile = T(64, 64)))
    TRY(SETT_E_ARGUMENT, "sett_make_tma: X (64,64):(K{div=8},1) does not begin where the argument does: the map is of all of it, and sett_tma_tensor is tiled in its place",
        sett_make_tma(sett_local_tile(x->X, T(64, 64), T(1, 0)), .smem = x->s, .tile = T(64, 64)))
    TRY(SETT_E_ARGUMENT, "sett_make_tma: how a tile lies in shared memory is said by .smem, a tensor, or by .layout: give one of them", sett_make_tma(x->X, .tile = T(64, 64)))
    TRY(SETT_E_ARGUMENT, "sett_make_tma: .tile is missing: T(128, 64), or T1(256) of a vector", sett_make_tma(x->X, .smem = x->s))
    TRY(SETT_E_SPACE, "sett_make_tma: .smem is X (M,K{div=8}):(K{div=8},1), which is not in shared memory", sett_make_tma(x->X, .smem = x->X, .tile = T(64, 64)))
    TRY(SETT_E_DTYPE, "sett_make_tma: .smem is p (64,64):(64,1) of f32, and X (M,K{div=8}):(K{div=8},1) has f16: copies convert nothing",
        sett_make_tma(x->X, .smem = PLAIN(x->b, SETT_F32, T(64, 64), T(64, 1)), .tile = T(64, 64)))
    TRY(SETT_E_SHAPE, "sett_make_tma: mode 0 of the tile (32,64) has 32 elements, and of the shared memory S<3,3,3> o 0 o ((8,8),(64,1),(1,2)):((64,512),(1,0),(0,4096)) 64",
        sett_make_tma(x->X, .smem = x->s, .tile = T(32, 64)))
    TRY(SETT_E_RANK, "sett_make_tma: (64):(1) has fewer modes than the tile (64,64)", sett_make_tma(x->X, .smem = PLAIN(x->b, SETT_F16, T1(64), T1(1)), .tile = T(64, 64)))
    TRY(SETT_E_STATIC, "sett_make_tma: the tile (block_idx.x,64) and its layout (64,64):(64,1) are C numbers",
        sett_make_tma(x->X, .smem = PLAIN(x->b, SETT_F16, T(64, 64), T(64, 1)), .tile = sett_tuple(x->b, sett_block_idx(x->b, 0), 64)))
    TRY(SETT_E_ARGUMENT, "sett_make_tma: S<3,4,3> o 0 o (64,64):(64,1) is swizzled as no map of f16 is: S<0..3,3,3> exchanges pieces of 16 bytes",
        sett_make_tma(x->X, .layout = sett_layout_parse(x->b, "S<3,4,3> o 0 o (64,64):(64,1)"), .tile = T(64, 64)))
    TRY(SETT_E_ARGUMENT, "sett_make_tma: what lies together in the shared memory (64,64):(1,64) does not in X (M,K{div=8}):(K{div=8},1): the mode of stride 1 must be the same",
        sett_make_tma(x->X, .layout = sett_make_layout(x->b, T(64, 64)), .tile = T(64, 64)))
    ck_assert_int_eq(wrong, 0);
}
END_TEST

/* And rules of the hardware. */
START_TEST(maps_that_hardware_has)
{
    wrong = 0;
    TRY(SETT_E_LIMIT, "sett_make_tma: a box of 512 elements of mode 0 of X (M,K{div=8}):(K{div=8},1): it has at most 256",
        sett_make_tma(x->X, .layout = sett_row_major(x->b, 512, 64), .tile = T(512, 64)))
    TRY(SETT_E_ALIGN, "sett_make_tma: X (M,K{div=8}):(K{div=8},1) by tiles (64,4) of (64,4):(4,1): map tma_X_2: a row of its box has 8 bytes, which is not a multiple of 16",
        sett_make_tma(x->X, .layout = sett_row_major(x->b, 64, 4), .tile = T(64, 4)))
    TRY(SETT_E_ALIGN, "sett_make_tma: q S<3,3,3> o 0 o ((8,8),(64,1)):((64,512),(1,0)) begins at a multiple of 16 bytes, and a swizzle of 128 bytes needs 1024: " BEGINS,
        sett_make_tma(x->X, .smem = TILE_AT(x, 16), .tile = T(64, 64)))
    TRY(SETT_E_ALIGN, "sett_make_tma: q (8,64):(64,1) begins at a multiple of 16 bytes, and a box needs 128: " BEGINS,
        sett_make_tma(x->X, .smem = sett_make_smem_tensor(x->b, SETT_F16, sett_row_major(x->b, 8, 64), 16, .name = "q"), .tile = T(8, 64)))
    TRY(SETT_OK, NULL, sett_make_tma(x->X, .smem = TILE_AT(x, 1024), .tile = T(64, 64)))
    TRY(SETT_E_SHAPE, "sett_make_tma: X (M,K{div=8}):(K{div=8},1) by tiles (8,64) of S<1,3,3> o 0 o (8,64):(64,1): map tma_X_2: a row of its box has 128 bytes, and the swizzle takes at most 32",
        sett_make_tma(x->X, .layout = sett_layout_parse(x->b, "S<1,3,3> o 0 o (8,64):(64,1)"), .tile = T(8, 64)))
    TRY(SETT_E_ALIGN, "sett_make_tma: Z (8,60):(60,1) by tiles (8,8) of (8,8):(8,1): map tma_Z: stride 1 is 120 bytes, which is not a multiple of 16",
        sett_make_tma(sett_param(x->b, "Z", SETT_F16, sett_row_major(x->b, 8, 60)), .layout = sett_row_major(x->b, 8, 8), .tile = T(8, 8)))
    TRY(SETT_E_RANK, "sett_make_tma: Z (8,2,2,2,2,2):(1,8,16,32,64,128): a map has at most 5 modes of more than one element, and this needs more: sett_group_modes and sett_coalesce make one of "
        "those that lie behind each other",
        sett_make_tma(sett_param(x->b, "Z", SETT_F16, sett_make_layout(x->b, T(8, 2, 2, 2, 2, 2))), .layout = sett_make_layout(x->b, T(8, 2)), .tile = T(8, 2)))
    TRY(SETT_E_DTYPE, "sett_make_tma: there are no tensor maps of f4E2M1FN: recast it to u8 (sett_recast_tensor)",
        sett_make_tma(sett_param(x->b, "Z", SETT_F4E2M1FN, sett_row_major(x->b, 64, 64)), .layout = sett_row_major(x->b, 64, 64), .tile = T(64, 64)))
    TRY(SETT_E_DTYPE, "sett_make_tma: Z (64,64):(64,1) by tiles (64,64) of (64,64):(64,1): map tma_Z: what is outside cannot be NaN in i32",
        sett_make_tma(sett_param(x->b, "Z", SETT_I32, sett_row_major(x->b, 64, 64)), .layout = sett_row_major(x->b, 64, 64), .tile = T(64, 64), .nan = true))
    TRY(SETT_E_ARGUMENT, "sett_make_tma: .l2 is 32: a miss fetches 64, 128 or 256 bytes, or -1 as few as needed", sett_make_tma(x->X, .smem = x->s, .tile = T(64, 64), .l2 = 32))
    TRY(SETT_E_DIVIDE, "sett_make_tma: 3 blocks do not share a box of 64 elements", sett_make_tma(x->X, .smem = x->s, .tile = T(64, 64), .multicast = 3))
    TRY(SETT_E_DIVIDE, "sett_make_tma: 16 blocks share the tile (64,64): a part of 512 bytes is no multiple of 1024, where its swizzle begins again",
        sett_make_tma(x->X, .smem = x->s, .tile = T(64, 64), .multicast = 16))
    TRY(SETT_E_ARGUMENT, "sett_make_tma: the name X is taken", sett_make_tma(x->X, .smem = x->s, .tile = T(64, 64), .name = "X"))
    ck_assert_int_eq(wrong, 0);
}
END_TEST

/* By maps. */
START_TEST(copies)
{
    wrong = 0;
    TRY(SETT_E_SPACE, "sett_tma_load: X (64,64):(K{div=8},1): a copy by a map takes coordinates: tiles of what sett_tma_tensor gives for map tma_X are its own",
        sett_tma_load(x->t, sett_local_tile(x->X, T(64, 64), T(0, 0)), STAGE(x), BAR(x)))
    TRY(SETT_E_SPACE, "sett_tma_load: coordinates (64,64):(1@0,1@1): these are coordinates of no map: tiles of what sett_tma_tensor gives for map tma_X are its own",
        sett_tma_load(x->t, sett_local_tile(sett_identity_tensor(x->b, x->M, x->K), T(64, 64), T(0, 0)), STAGE(x), BAR(x)))
    TRY(SETT_E_SPACE, "sett_tma_load: coordinates (64,64):(1@1,1@0): these are coordinates of another map: tiles of what sett_tma_tensor gives for map tma_Y are its own",
        sett_tma_load(sett_make_tma(x->Y, .smem = x->s, .tile = T(64, 64)), x->at, STAGE(x), BAR(x)))
    TRY(SETT_E_SPACE, "sett_tma_load: X (M,K{div=8}):(K{div=8},1) is not shared memory, which map tma_X copies", sett_tma_load(x->t, x->at, x->X, BAR(x)))
    TRY(SETT_E_ALIGN, "sett_tma_load: q S<3,3,3> o 0 o ((8,8),(64,1)):((64,512),(1,0)) begins at a multiple of 128 bytes, and a swizzle of 128 bytes needs 1024: " BEGINS,
        sett_tma_load(x->t, x->at, TILE_AT(x, 128), BAR(x)))
    TRY(SETT_E_SHAPE, "sett_tma_load: p (64,64):(64,1) has another swizzle than map tma_X, which has that of its .smem",
        sett_tma_load(x->t, x->at, PLAIN(x->b, SETT_F16, T(64, 64), T(64, 1)), BAR(x)))
    TRY(SETT_E_SHAPE, "sett_tma_load: coordinates (64,64):(1@1,1@0) have 4096 elements, and shared memory ((8,8),(64,1),(1,2)):((64,512),(1,0),(0,4096)) has 8192",
        sett_tma_load(x->t, x->at, x->s, BAR(x)))
    TRY(SETT_E_SHAPE, "sett_tma_load: coordinates (32,128):(1@1,1@0) are no tile (64,64) of map tma_X, and no parts of one",
        sett_tma_load(x->t, sett_local_tile(sett_tma_tensor(x->t), T(32, 128), T(0, 0)), STAGE(x), BAR(x)))
    TRY(SETT_E_SHAPE, "sett_tma_load: shared memory (64,64):(1,64) does not lie as the .smem of map tma_X: the 4096 elements of one copy lie together",
        sett_tma_load(x->t, x->at, sett_make_smem_tensor(x->b, SETT_F16, sett_layout_parse(x->b, "S<3,3,3> o 0 o (64,64):(1,64)"), 1024), BAR(x)))
    TRY(SETT_E_STATIC, "sett_tma_load: (M,K{div=8}):(1@1,1@0) has no static extents: take a tile with sett_local_tile, or one of several with sett_slice",
        sett_tma_load(x->t, sett_tma_tensor(x->t), STAGE(x), BAR(x)))
    TRY(SETT_E_ARGUMENT, "sett_tma_load: where its bytes complete is missing: .barrier, an mbarrier", sett_tma_load(x->t, x->at, STAGE(x)))
    TRY(SETT_E_SHAPE, "sett_tma_load: mbarriers (2):(1) has not one mbarrier: sett_slice(bars, i) gives one", sett_tma_load(x->t, x->at, STAGE(x), x->bar))
    TRY(SETT_E_SPACE, "sett_tma_load: the mbarrier is a peer's, at which threads only arrive", sett_tma_load(x->t, x->at, STAGE(x), sett_map_dsmem(BAR(x), 1)))
    TRY(SETT_E_ARGUMENT, "sett_tma_load: 2 blocks share the tile of map tma_X_2: .mask says which blocks get it (sett_create_tma_multicast_mask)",
        x->t = sett_make_tma(x->X, .smem = x->s, .tile = T(64, 64), .multicast = 2);
        sett_tma_load(x->t, sett_local_tile(sett_tma_tensor(x->t), T(64, 64), T(0, 0)), STAGE(x), BAR(x)))
    TRY(SETT_E_ARGUMENT, "sett_tma_load: 2 blocks share the tile of map tma_X_2: each copies its part, which sett_tma_partition gives",
        x->t = sett_make_tma(x->X, .smem = x->s, .tile = T(64, 64), .multicast = 2);
        sett_tma_load(x->t, sett_local_tile(sett_tma_tensor(x->t), T(64, 64), T(0, 0)), STAGE(x), BAR(x), .mask = sett_const(x->b, SETT_I32, 3)))
    TRY(SETT_E_SHAPE, "sett_tma_partition: the blocks that share a tile, 4:1, are not the 1 of .multicast",
        sett_tma_partition(x->t, 0, sett_make_layout(x->b, 4, 1), STAGE(x), x->at, &x->s, &x->at))
    TRY(SETT_E_DTYPE, "sett_tma_load: .policy is one i32: sett_cache_policy gives a Uint64", sett_tma_load(x->t, x->at, STAGE(x), BAR(x), .policy = sett_const(x->b, SETT_I32, 1)))
    TRY(SETT_E_DTYPE, "sett_tma_load: .pred must be a Boolean scalar, not i32 of shape ()", sett_tma_load(x->t, x->at, STAGE(x), BAR(x), .pred = sett_const(x->b, SETT_I32, 1)))
    TRY(SETT_E_ARGUMENT, "sett_tma_store: .barrier is for loads: this completes with its group (sett_tma_store_commit)", sett_tma_store(x->t, STAGE(x), x->at, BAR(x)))
    TRY(SETT_E_ARGUMENT, "sett_tma_reduce: the hardware adds, or takes the least or the greatest: SETT_ADD, SETT_MIN or SETT_MAX", sett_tma_reduce(x->t, SETT_MUL, STAGE(x), x->at))
    TRY(SETT_E_SHAPE, "sett_tma_load: the map X (M,K{div=8}):(K{div=8},1) is not 16 Uint64 beside each other, 128 bytes", sett_tma_load(x->t, x->at, STAGE(x), BAR(x), .map = x->X))
    ck_assert_int_eq(wrong, 0);
}
END_TEST

/* In bulk; groups, policies, maps in memory. */
START_TEST(bytes)
{
    wrong = 0;
    TRY(SETT_E_RANGE, "sett_tma_store_wait_read: 256 groups, 0 to 255 may stay under way", sett_tma_store_wait_read(x->b, 256))
    TRY(SETT_E_RANGE, "sett_cache_policy: 0 of a hundred accesses: 1 to 100", sett_cache_policy(x->b, SETT_EVICT_LAST, 0))
    TRY(SETT_E_RANK, "sett_update_tma_descriptor: .shape (M) has not the profile of X (M,K{div=8}):(K{div=8},1), of which the map is",
        sett_update_tma_descriptor(x->t, sett_param(x->b, "m", SETT_U64, sett_make_layout(x->b, 16), .align = 64), .shape = T1(x->M)))
    TRY(SETT_E_SPACE, "sett_bulk_load: s S<3,3,3> o 0 o ((8,8),(64,1)):((64,512),(1,0)) is not in gmem", sett_bulk_load(STAGE(x), STAGE(x), BAR(x)))
    TRY(SETT_E_ARGUMENT, "sett_bulk_load: X (64,64):(K{div=8},1) and s S<3,3,3> o 0 o ((8,8),(64,1)):((64,512),(1,0)) are not swizzled alike, and bytes are copied in their order",
        sett_bulk_load(sett_local_tile(x->X, T(64, 64), T(0, 0)), STAGE(x), BAR(x)))
    TRY(SETT_E_SHAPE, "sett_bulk_load: the elements of X (8,8):(K{div=8},1) and p (8,8):(8,1) do not lie beside each other in one order: a copy by a map takes such (sett_make_tma)",
        sett_bulk_load(sett_local_tile(x->X, T(8, 8), T(0, 0)), PLAIN(x->b, SETT_F16, T(8, 8), T(8, 1)), BAR(x)))
    TRY(SETT_E_ALIGN, "sett_bulk_store: X (8):(1) is known to begin at a multiple of 2 bytes, and copies in bulk begin at 16: .align and .div say so",
        sett_bulk_store(PLAIN(x->b, SETT_F16, T1(8)), sett_domain_offset(sett_slice(sett_local_tile(x->X, T(1, 8), T(0, 0)), 0, ALL), 1)))
    TRY(SETT_E_ALIGN, "sett_bulk_load: q 8:1 begins at a multiple of 8 bytes, and a copy in bulk needs 16: " BEGINS,
        sett_bulk_load(sett_slice(sett_local_tile(x->X, T(1, 8), T(0, 0)), 0, ALL), sett_make_smem_tensor(x->b, SETT_F16, 8, 8, .name = "q"), BAR(x)))
    TRY(SETT_E_SHAPE, "sett_bulk_load: X (4):(1) has 8 bytes: a copy in bulk takes a multiple of 16, less than 2^20",
        sett_bulk_load(sett_slice(sett_local_tile(x->X, T(1, 4), T(0, 0)), 0, ALL), PLAIN(x->b, SETT_F16, T1(4)), BAR(x)))
    TRY(SETT_E_SPACE, "sett_bulk_peer: the mbarrier is this block's: the bytes complete at the peer's, sett_map_dsmem of it", sett_bulk_peer(STAGE(x), sett_map_dsmem(STAGE(x), 1), BAR(x)))
    TRY(SETT_E_SPACE, "sett_store_async: p (4):(1) is no shared memory of a peer: sett_map_dsmem gives it", sett_store_async(PLAIN(x->b, SETT_F32, T1(4)), 1.0, sett_map_dsmem(BAR(x), 1)))
    TRY(SETT_E_DTYPE, "sett_store_async: p (4):(1) of f16: it stores elements of 4 or 8 bytes",
        sett_store_async(sett_map_dsmem(PLAIN(x->b, SETT_F16, T1(4)), 1), 1.0, sett_map_dsmem(BAR(x), 1)))
    TRY(SETT_E_ARGUMENT, "sett_store_async: p (4):(1) and the mbarrier are of different peers: both are sett_map_dsmem of one rank",
        sett_store_async(sett_map_dsmem(PLAIN(x->b, SETT_F32, T1(4)), 0), 1.0, sett_map_dsmem(BAR(x), 1)))
    ck_assert_int_eq(wrong, 0);
}
END_TEST

/* ---- what the CPU engine reports ---------------------------------------------------------------------- */
enum { ONE_THREAD, NO_EXPECT, TOO_FEW, NO_FENCE, BELOW, NOT_ALIGNED, NO_COMMIT, NO_INIT_FENCE, N_FAULTS };
static const char *const faults[N_FAULTS] = {
    [ONE_THREAD] = "only 1 of the warp's 32 threads are here", [NO_EXPECT] = ": the block ended before this had written its shared memory: nothing waited for it, and its mbarrier expects no more bytes",
    [TOO_FEW] = "4080 bytes more than were announced",
    [NO_FENCE] = "tma.store reads byte 0 of shared memory, which `store` at ", [BELOW] = "coordinate 1 is -32, and what is written begins at none below 0",
    [NOT_ALIGNED] = "shared memory: byte 512 is not aligned to 1024 bytes", [NO_COMMIT] = ": the block ended before this had read its shared memory: nothing waited for it",
    [NO_INIT_FENCE] = "no fence.mbarrier_init came since the mbarrier at byte"};

static void faulty(sett_build *b, const void *user)
{
    const int how = *(const int *)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 32, 32), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 32, 32), .align = 16);
    sett_grid(b, 1), sett_block(b, 32);
    sett_layout *l = sett_smem_layout(b, SETT_F32, SETT_K_MAJOR, 32, 32);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, sett_make_swizzled(3, 2, 3, sett_make_layout(b, T(64, 32), T(32, 1))), 1024, .name = "s"), *bar = sett_make_mbarriers(b, 1);
    sett_tma *from = sett_make_tma(X, .layout = l, .tile = T(32, 32)), *to = sett_make_tma(Y, .layout = l, .tile = T(32, 32));
    sett_tensor *part = sett_local_tile(s, T(32, 32), T(0, 0)), *tile = sett_local_tile(sett_tma_tensor(from), T(32, 32), T(0, 0)), *out = sett_local_tile(sett_tma_tensor(to), T(32, 32), T(0, 0));
    sett_val *t = sett_thread_idx(b, 0), *announced = sett_const(b, SETT_I32, how == NO_EXPECT ? 0 : how == TOO_FEW ? 16 : 4096);
    if (how == NOT_ALIGNED) /* rows 4 to 35: the swizzle begins again each 8 */
        part = sett_domain_offset(part, sett_mul(sett_add(sett_block_idx(b, 0), 1), 4), 0);
    sett_if (b, sett_elect_one(b)) {
        sett_mbarrier_init(bar, 1);
        if (how != NO_INIT_FENCE)
            sett_fence_mbarrier_init(b);
        sett_mbarrier_arrive_and_expect_tx(bar, announced);
    }
    sett_sync_threads(b);
    if (how == ONE_THREAD)
        sett_if (b, sett_eq(t, 0))
            sett_tma_load(from, tile, part, bar);
    else
        sett_tma_load(from, tile, part, bar);
    sett_mbarrier_wait(bar, 0);
    if (how == NO_FENCE) {
        sett_set(part, 1.0, t, 0);
        sett_sync_threads(b);
    }
    sett_tma_store(to, part, how == BELOW ? sett_domain_offset(out, sett_sub(sett_block_idx(b, 0), 32), 0) : out);
    sett_tma_store_commit(b);
    if (how != NO_COMMIT)
        sett_tma_store_wait(b, 0);
}

START_TEST(reported)
{
    static _Alignas(16) float x[2][32 * 32];
    const sett_engine_options o = {.size = sizeof o, .cache_dir = "", .no_gpu = true};
    const sett_compile_options c = {.size = sizeof c, .target = "cpu", .user = &_i};
    sett_error err = {0};
    sett_engine *e;
    sett_kernel *k;
    ck_assert(!sett_engine_open(&e, &o, &err));
    ck_assert_msg(!sett_compile(e, faulty, &c, &k, &err), "%s", err.text);
    sett_buf X = sett_buf_2d(x[0], SETT_F32, 32, 32), Y = sett_buf_2d(x[1], SETT_F32, 32, 32);
    const sett_status s = sett_launch(k, sett_stream_of(SETT_CPU, NULL), &err, &X, &Y);
    ck_assert_msg(s == SETT_E_FAULT && strstr(err.text, faults[_i]) && strstr(err.text, "test_tma_refused.c:"), "%s", err.text);
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

Suite *tma_refused_suite(void)
{
    Suite *s = suite_create("tma_refused");
    TCase *t = tcase_create("tma_refused");
    tcase_add_test(t, maps_of_what_there_is);
    tcase_add_test(t, maps_that_hardware_has);
    tcase_add_test(t, copies);
    tcase_add_test(t, bytes);
    tcase_add_loop_test(t, reported, 0, N_FAULTS);
    suite_add_tcase(s, t);
    return s;
}
