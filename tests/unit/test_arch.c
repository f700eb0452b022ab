/* SPDX-License-Identifier: Apache-2.0 */
/* What the calls of warp.h, async.h and inline_ptx.h become: its PTX on three generations, which the assembler takes where there is one; targets that lack it;
 * misuse and its words; early readers on the CPU engine. What it computes: conform_arch.c, conform_async.c. */
#define SETT_SHORT
#include "tests/rig/match.h"
#include "tests/rig/rig.h"
#include <check.h>
#include <sett/cluster.h>
#include <sett/memory.h>
#include <sett/pipeline.h>
#include <stdlib.h>
#include <string.h>

static sett_tensor *param(sett_build *b, const char *name, sett_dtype d, int n)
{
    return sett_param(b, name, d, sett_make_layout(b, T1(n)), .align = 16);
}

/* ---- PTX ------------------------------------------------------------------------------------- */
static void copies(sett_build *b, const void *user)
{
    (void)user;
    sett_val *N = sett_sym(b, "N");
    sett_block(b, 32);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T1(N)), .align = 16), *Y = param(b, "Y", SETT_F32, 128);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T1(256)), 16);
    sett_val *t = sett_thread_idx(b, 0), *in = sett_lt(t, N);
    sett_tensor *from = sett_local_tile(X, T1(4), T1(t)), *to = sett_local_tile(S, T1(4), T1(t));
    sett_cp_async(from, to);
    sett_cp_async(from, sett_domain_offset(to, 128), .cache = SETT_CACHE_ALWAYS);
    sett_cp_async_commit_group(b);
    sett_cp_async(from, to, .pred = in);
    sett_cp_async(from, to, .pred = in, .zfill = true);
    sett_cp_async(sett_domain_offset(from, 2), to);
    sett_cp_async(sett_domain_offset(from, 1), to);
    sett_cp_async_wait_group(b, 1);
    sett_cp_async_wait_all(b);
    sett_sync_threads(b);
    sett_copy(to, sett_local_tile(Y, T1(4), T1(t)));
}

static void asks(sett_build *b, const void *user)
{
    (void)user;
    sett_block(b, 96);
    sett_tensor *X = param(b, "X", SETT_I32, 96), *Y = param(b, "Y", SETT_U64, 96 * 20);
    sett_val *t = sett_thread_idx(b, 0), *x = sett_at(X, t), *p = sett_gt(x, 3);
    sett_val *r[] = {sett_vote_all_sync(p), sett_vote_any_sync(p), sett_vote_uni_sync(p), sett_vote_ballot_sync(p), sett_match_any_sync(x),
        sett_match_all_sync(sett_to(x, SETT_F64)), sett_make_warp_uniform(x), sett_elect_one(b), sett_smid(b), sett_gridid(b), sett_activemask(b), sett_clock(b),
        sett_clock64(b), sett_globaltimer(b), sett_globaltimer_lo(b), sett_total_smem_size(b)};
    for (int i = 0; i < (int)SETT__COUNT(r); i++)
        sett_set(Y, sett_to(r[i], SETT_U64), sett_add(t, 96 * i));
    sett_barrier(b, 3, 96);
    sett_barrier_arrive(b, sett_add(sett_mod(sett_warp_idx(b), 2), 4), 64);
    sett_fence_acq_rel_cta(b);
    sett_fence_acq_rel_gpu(b);
    sett_fence_acq_rel_sys(b);
}

static void folds(sett_build *b, const void *user)
{
    (void)user;
    sett_block(b, 64);
    sett_tensor *X = param(b, "X", SETT_I32, 64), *Y = param(b, "Y", SETT_I32, 64 * 8);
    sett_val *t = sett_thread_idx(b, 0), *x = sett_at(X, t);
    static const sett_binary_op op[] = {SETT_ADD, SETT_MIN, SETT_MAX, SETT_AND, SETT_OR, SETT_XOR};
    for (int i = 0; i < 6; i++)
        sett_set(Y, sett_warp_redux_sync(x, op[i]), sett_add(t, 64 * i));
    sett_set(Y, sett_to(sett_warp_redux_sync(sett_to(x, SETT_U32), SETT_MAX), SETT_I32), sett_add(t, 64 * 6));
    sett_set(Y, sett_block_reduce(x, SETT_ADD), sett_add(t, 64 * 7));
}

static void orders(sett_build *b, const void *user)
{
    (void)user;
    sett_block(b, 32);
    sett_tensor *I = param(b, "I", SETT_I32, 32), *F = param(b, "F", SETT_F32, 32), *L = param(b, "L", SETT_U64, 32), *H = param(b, "H", SETT_F16, 32);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_I32, sett_make_layout(b, T1(32)), 16), *C = param(b, "C", SETT_I16, 32);
    sett_val *t = sett_thread_idx(b, 0);
    sett_atomic_add(I, 1, t);
    sett_atomic_ordered(I, SETT_ATOMIC_OR, SETT_SEM_ACQUIRE, SETT_SCOPE_CTA, 1, t);
    sett_atomic_ordered(L, SETT_ATOMIC_MAX, SETT_SEM_RELEASE, SETT_SCOPE_SYS, 1, t);
    sett_atomic_exch(F, 1.5, t);
    sett_atomic_cas_ordered(I, SETT_SEM_ACQ_REL, SETT_SCOPE_GPU, 3, 4, t);
    sett_atomic_cas(H, 1, 2, t);
    sett_atomic_cas(S, 1, 2, t);
    sett_atomic_cas(C, 1, 2, t);
    sett_atomic_max(F, 2.0, t);
    sett_atomic_exch(C, 7, t);
}

static void caches(sett_build *b, const void *user)
{
    (void)user;
    sett_block(b, 32);
    sett_tensor *X = param(b, "X", SETT_F32, 256), *Y = param(b, "Y", SETT_F32, 256), *B = param(b, "B", SETT_U8, 64), *H = param(b, "H", SETT_F16, 64);
    sett_val *t = sett_thread_idx(b, 0);
    sett_tensor *x = sett_local_tile(X, T1(4), T1(t)), *y = sett_local_tile(Y, T1(4), T1(t)), *x8 = sett_local_tile(X, T1(8), T1(t));
    static const sett_cache loads[] = {SETT_CACHE_ALWAYS, SETT_CACHE_GLOBAL, SETT_CACHE_STREAMING, SETT_CACHE_LAST_USE, SETT_CACHE_NONE,
                                       SETT_CACHE_EVICT_FIRST, SETT_CACHE_EVICT_LAST},
                            stores[] = {SETT_CACHE_ALWAYS, SETT_CACHE_GLOBAL, SETT_CACHE_STREAMING, SETT_CACHE_WRITE_THROUGH,
                                       SETT_CACHE_EVICT_FIRST, SETT_CACHE_EVICT_LAST};
    for (int i = 0; i < 7; i++)
        sett_store(y, sett_load(x, .cache = loads[i]), .cache = stores[i % 6]);
    sett_store(sett_local_tile(Y, T1(8), T1(t)), sett_load(x8, .cache = SETT_CACHE_STREAMING), .cache = SETT_CACHE_STREAMING);
    sett_store(sett_local_tile(H, T1(2), T1(t)), sett_load(sett_local_tile(H, T1(2), T1(t)), .cache = SETT_CACHE_GLOBAL), .cache = SETT_CACHE_GLOBAL);
    sett_store(sett_local_tile(H, T1(1), T1(t)), sett_load(sett_local_tile(H, T1(1), T1(t)), .cache = SETT_CACHE_GLOBAL), .cache = SETT_CACHE_GLOBAL);
    sett_store(sett_local_tile(B, T1(1), T1(t)), sett_load(sett_local_tile(B, T1(1), T1(t)), .cache = SETT_CACHE_GLOBAL), .cache = SETT_CACHE_GLOBAL);
}

static void counts(sett_build *b, const void *user)
{
    (void)user;
    sett_block(b, 32);
    sett_tensor *X = param(b, "X", SETT_U32, 64), *Y = param(b, "Y", SETT_U32, 512), *L = param(b, "L", SETT_U64, 64);
    sett_val *t = sett_thread_idx(b, 0), *x = sett_at(X, t), *y = sett_at(X, sett_add(t, 32)), *l = sett_at(L, t);
    sett_set(Y, sett_to(sett_popc(x), SETT_U32), t);
    sett_set(Y, sett_to(sett_clz(x), SETT_U32), sett_add(t, 32));
    sett_set(Y, sett_brev(x), sett_add(t, 64));
    sett_set(Y, sett_mul_hi(x, y), sett_add(t, 96));
    sett_set(L, sett_mul_hi(l, sett_at(L, sett_add(t, 32))), t);
    sett_set(Y, sett_to(sett_popc(l), SETT_U32), sett_add(t, 128));
    sett_set(L, sett_mul_wide(x, y), sett_add(t, 32));
}

/* A dot product of 16-bit numbers: two a register, two an instruction. */
static void packed(sett_build *b, const void *user)
{
    (void)user;
    sett_block(b, 32);
    static const sett_dtype types[] = {SETT_F16, SETT_BF16};
    for (int i = 0; i < 2; i++) {
        sett_tensor *X = param(b, i ? "P" : "X", types[i], 256), *Y = param(b, i ? "Q" : "Y", types[i], 256);
        sett_val *t = sett_thread_idx(b, 0), *x = sett_load(sett_local_tile(X, T1(8), T1(t)));
        sett_store(sett_local_tile(Y, T1(8), T1(t)), sett_fma(x, sett_add(x, x), sett_mul(x, x)));
    }
}

static void hints(sett_build *b, const void *user)
{
    (void)user;
    sett_block(b, 32);
    sett_tensor *X = param(b, "X", SETT_F32, 256), *Y = param(b, "Y", SETT_F32, 256), *B = param(b, "B", SETT_I8, 64);
    sett_val *t = sett_thread_idx(b, 0);
    sett_tensor *x = sett_local_tile(X, T1(4), T1(t)), *y = sett_local_tile(Y, T1(4), T1(t)), *y1 = sett_local_tile(Y, T1(1), T1(t));
    sett_prefetch(X, SETT_PREFETCH_L2, sett_add(t, 128));
    sett_prefetch(X, SETT_PREFETCH_L1, 0);
    sett_store(y, sett_load(x, .cache = SETT_CACHE_L2_EVICT_FIRST), .cache = SETT_CACHE_L2_EVICT_LAST);
    sett_store(y1, sett_load(y1, .cache = SETT_CACHE_L2_EVICT_LAST), .cache = SETT_CACHE_L2_EVICT_FIRST);
    sett_store(y, sett_load(x, .cache = SETT_CACHE_L2_64B));
    sett_store(y, sett_load(x, .cache = SETT_CACHE_L2_128B));
    sett_store(y, sett_load(x, .cache = SETT_CACHE_L2_256B));
    sett_inline_ptx(b, "red.global.add.f32 [$0], $1;", .in = SETT_IN(sett_address(Y, t), 1.0), .memory = true);
    sett_atomic_add(B, 1, t);
    sett_atomic_cas(B, 1, 2, t);
}

static void follows(sett_build *b, const void *user)
{
    (void)user;
    sett_block(b, 32);
    sett_tensor *X = param(b, "X", SETT_F32, 32), *Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, T1(32)), .restricted = true);
    sett_val *t = sett_thread_idx(b, 0);
    sett_griddepcontrol_launch_dependents(b);
    sett_val *x = sett_at(X, t); /* from before the wait: again after it */
    sett_griddepcontrol_wait(b);
    sett_set(Y, sett_add(x, sett_at(X, t)), t);
}

static const struct { sett_body body; const char *want; } made[] = {
    {follows, "CHECK: ld.global.b32\nCHECK: st.global.b32"},
    {hints, "CHECK: createpolicy.fractional.L2::evict_first.b64 %rd{{*}}, 1.0;\nCHECK: createpolicy.fractional.L2::evict_last.b64 %rd{{*}}, 1.0;\n"
            "NOT: createpolicy\nCHECK: prefetch.global.L2 [%rd{{*}}];\nCHECK: prefetch.global.L1 [%rd{{*}}];\n"
            "CHECK: ld.global.L2::cache_hint.v4.b32 {%r{{*}},%r{{*}},%r{{*}},%r{{*}}}, [%rd{{*}}], %rd{{*}};\n"
            "CHECK: st.global.L2::cache_hint.v4.b32 [%rd{{*}}], {%r{{*}},%r{{*}},%r{{*}},%r{{*}}}, %rd{{*}};\n"
            "CHECK: ld.global.L2::cache_hint.b32 %r{{*}}, [%rd{{*}}], %rd{{*}};\nCHECK: st.global.L2::cache_hint.b32 [%rd{{*}}], %r{{*}}, %rd{{*}};\n"
            "CHECK: ld.global.L2::64B.v4.b32\nCHECK: ld.global.L2::128B.v4.b32\nCHECK: ld.global.L2::256B.v4.b32\nCHECK: red.global.add.f32 [%rd{{*}}], %r{{*}};\n"
            "CHECK: ld.relaxed.gpu.global.b32\nCHECK: atom.relaxed.gpu.global.cas.b32\nCHECK: atom.relaxed.gpu.global.cas.b32"},
    {copies, "CHECK: cp.async.cg.shared.global [{{*}}], [{{*}}], 16;\nCHECK: cp.async.ca.shared.global [{{*}}], [{{*}}], 16;\n"
             "CHECK: cp.async.commit_group;\nCHECK: setp.ne.b32 p, {{*}}, 0; @p cp.async.cg.shared.global [{{*}}], [{{*}}], 16; }\n"
             "CHECK: cp.async.cg.shared.global [{{*}}], [{{*}}], 16, %r\nCHECK: cp.async.ca.shared.global [{{*}}], [{{*}}], 8;\n"
             "CHECK: cp.async.ca.shared.global [{{*}}], [{{*}}], 8;\nCHECK: cp.async.ca.shared.global [{{*}}], [{{*}}], 4;\n"
             "CHECK: cp.async.ca.shared.global [{{*}}], [{{*}}], 4;\nCHECK: cp.async.wait_group 1;\nCHECK: cp.async.wait_all;\nCHECK: bar.sync"},
    {asks, "CHECK: vote.sync.all.pred\nCHECK: vote.sync.any.pred\nCHECK: vote.sync.uni.pred\nCHECK: vote.sync.ballot.b32\nCHECK: match.any.sync.b32\n"
           "CHECK: match.all.sync.b64\nCHECK: shfl.sync.idx.b32\nCHECK: %smid\nCHECK: %gridid\nCHECK: activemask.b32\nCHECK: %clock;\nCHECK: %clock64;\n"
           "CHECK: %globaltimer;\nCHECK: %total_smem_size\nCHECK: bar{{*}}sync{{*}}3, 96;\nCHECK: arrive\nCHECK: fence.acq_rel.cta;\nCHECK: fence.acq_rel.gpu;\n"
           "CHECK: fence.acq_rel.sys;"},
    {folds, "CHECK: redux.sync.add.s32\nCHECK: redux.sync.min.s32\nCHECK: redux.sync.max.s32\nCHECK: redux.sync.and.b32\nCHECK: redux.sync.or.b32\n"
            "CHECK: redux.sync.xor.b32\nCHECK: redux.sync.max.u32\nCHECK: shfl.sync.bfly\nCHECK: bar.sync\nCHECK: bar.sync"},
    {orders, "CHECK: red.relaxed.gpu.global.add.u32\nCHECK: atom.acquire.cta.global.or.b32\nCHECK: red.release.sys.global.max.u64\n"
             "CHECK: atom.relaxed.gpu.global.exch.b32\nCHECK: atom.acq_rel.gpu.global.cas.b32\nCHECK: atom.relaxed.gpu.global.cas.b16\n"
             "CHECK: atom.relaxed.cta.shared.cas.b32\nCHECK: atom.relaxed.gpu.global.cas.b16\nCHECK: atom.relaxed.gpu.global.cas.b32\nCHECK: atom.relaxed.gpu.global.cas.b16"},
    {caches, "CHECK: ld.global.ca.v4.b32\nCHECK: st.global.wb.v4.b32\nCHECK: ld.global.cg.v4.b32\nCHECK: st.global.cg.v4.b32\nCHECK: ld.global.cs.v4.b32\n"
             "CHECK: st.global.cs.v4.b32\nCHECK: ld.global.lu.v4.b32\nCHECK: st.global.wt.v4.b32\nCHECK: ld.global.cv.v4.b32\nCHECK: st.global.L1::evict_first.v4.b32\n"
             "CHECK: ld.global.L1::evict_first.v4.b32\nCHECK: st.global.L1::evict_last.v4.b32\nCHECK: ld.global.L1::evict_last.v4.b32\nCHECK: ld.global.cs.v4.b32\n"
             "CHECK: ld.global.cs.v4.b32\nCHECK: st.global.cs.v4.b32\nCHECK: st.global.cs.v4.b32\nCHECK: ld.global.cg.b32\nCHECK: st.global.cg.b32\n"
             "CHECK: ld.global.cg.b16\nCHECK: st.global.cg.b16\nCHECK: ld.global.cg.b8\nCHECK: st.global.cg.b8"},
    {counts, "CHECK: popc.b32\nCHECK: clz.b32\nCHECK: brev.b32\nCHECK: mul.wide.u32\nCHECK: mul.hi.u64\nCHECK: popc.b64"},
    {packed, "CHECK: fma.rn.f16x2\nCHECK: fma.rn.f16x2\nCHECK: fma.rn.f16x2\nCHECK: fma.rn.f16x2\nNOT: fma.rn.f16 \nCHECK: fma.rn.bf16x2\nCHECK: fma.rn.bf16x2\n"
             "CHECK: fma.rn.bf16x2\nCHECK: fma.rn.bf16x2\nNOT: fma.rn.bf16 \nCHECK: st.global.v4"},
};

enum { TARGETS = 4 };
START_TEST(generated)
{
    static const char *const target[] = {"sm_80", "sm_90", "sm_90a", "sm_100a"};
    if (!have_compiler())
        return;
    const sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true};
    sett_compile_options o = {.size = sizeof o, .target = target[_i % TARGETS]};
    sett_kernel_info info = {.size = sizeof info};
    sett_error err = {0};
    sett_engine *e;
    sett_kernel *k;
    ck_assert_msg(!sett_engine_open(&e, &eo, &err), "%s", err.text);
    sett_status s = sett_compile(e, made[_i / TARGETS].body, &o, &k, &err);
    o.ptx_only = s == SETT_E_NO_ASSEMBLER;
    if (o.ptx_only)
        s = sett_compile(e, made[_i / TARGETS].body, &o, &k, &err);
    ck_assert_msg(!s, "%s", err.text);
    ck_assert_int_eq(sett_kernel_query(k, &info), SETT_OK);
    char *bad = match(info.ptx, made[_i / TARGETS].want);
    ck_assert_msg(!bad, "%s: %s\n%s", o.target, bad, info.ptx);
    ck_assert(o.ptx_only || info.cubin_size > 0);
    if (made[_i / TARGETS].body == follows) {
        const char *go = strstr(info.ptx, "griddepcontrol.launch_dependents;"), *wait = strstr(info.ptx, "griddepcontrol.wait;");
        const char *first = strstr(info.ptx, "ld.global.b32"), *second = strstr(first + 1, "ld.global.b32");
        ck_assert(_i % TARGETS ? go && go < first && first < wait && wait < second : !go && !wait && !second); /* not before sm_90 */
    }
    if (made[_i / TARGETS].body == asks)
        ck_assert_int_eq(strstr(info.ptx, "elect.sync") != NULL, _i % TARGETS > 0); /* lane 0 on sm_80 */
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

/* ---- errors ------------------------------------------------------------------------------------ */
typedef struct world {
    sett_build *b;
    sett_tensor *g, *g8, *s, *s8, *r, *far;
    sett_val *t, *p, *f, *wide;
} world;
#define CASE(name, call) \
    static void name(world *w) \
    { \
        (void)w; \
        call; \
    }
CASE(copy_back, sett_cp_async(w->s, w->g))
CASE(copy_rmem, sett_cp_async(w->g, w->r))
CASE(copy_sizes, sett_cp_async(w->g, sett_local_tile(w->s, T1(2), T1(0))))
CASE(copy_types, sett_cp_async(w->g, sett_recast_tensor(w->s, SETT_I32)))
CASE(copy_bytes, sett_cp_async(w->g8, w->s8))
CASE(copy_apart, sett_cp_async(sett_composition(w->g8, sett_make_layout(w->b, T1(2), T1(2))), sett_local_tile(w->s8, T1(2), T1(0))))
CASE(copy_pred, sett_cp_async(w->g, w->s, .pred = w->t))
CASE(copy_pred_shape, sett_cp_async(w->g, w->s, .pred = sett_full(w->b, SETT_BOOL, T1(3), 1)))
CASE(copy_zfill, sett_cp_async(w->g, w->s, .zfill = true))
CASE(copy_cache, sett_cp_async(w->g, w->s, .cache = (sett_cache)9))
CASE(copy_nothing, sett_cp_async(w->g, NULL))
CASE(copy_args, sett_cp_async_at(SETT_HERE, NULL))
CASE(copy_past, sett_cp_async(w->g, sett_domain_offset(w->s, 62)))
CASE(copy_far, sett_cp_async(w->far, w->s))
CASE(wait_many, sett_cp_async_wait_group(w->b, 256))
CASE(wait_less, sett_cp_async_wait_group(w->b, -1))
CASE(barrier_0, sett_barrier(w->b, 0, 64))
CASE(barrier_odd, sett_barrier_arrive(w->b, 1, 40))
CASE(barrier_half, sett_barrier(w->b, sett_arg_f(1.5), 64))
CASE(barrier_float, sett_barrier(w->b, 1, w->f))
CASE(mask_what, sett_lanemask_at(SETT_HERE, w->b, "sett_lanemask_lt", (sett_lanemask)5))
CASE(fence_what, sett_fence_acq_rel_at(SETT_HERE, w->b, (sett_scope)9))
CASE(vote_int, sett_vote_any_sync(w->t))
CASE(vote_wide, sett_vote_any_sync(sett_full(w->b, SETT_BOOL, T1(3), 1)))
CASE(vote_what, sett_vote_at(SETT_HERE, "vote", w->p, (sett_vote_op)7))
CASE(vote_null, sett_vote_any_sync(NULL))
CASE(match_what, sett_match_at(SETT_HERE, "match", w->t, SETT_VOTE_UNI))
CASE(match_wide, sett_match_any_sync(w->wide))
CASE(redux_float, sett_warp_redux_sync(w->f, SETT_ADD))
CASE(redux_mul, sett_warp_redux_sync(w->t, SETT_MUL))
CASE(special_what, sett_special_at(SETT_HERE, w->b, (sett_sreg)99))
CASE(atomic_wide, sett_atomic_add(sett_make_smem_tensor(w->b, SETT_I128, T1(4), 16), 1, 0))
CASE(atomic_char8, sett_atomic_exch(sett_recast_tensor(w->s8, SETT_F8E4M3FN), 1, 0))
CASE(address_smem, sett_address(w->s, 0))
CASE(address_rmem, sett_prefetch(w->r, SETT_PREFETCH_L2, 0))
CASE(prefetch_level, sett_prefetch(w->g, (sett_prefetch_level)2, 0))
CASE(nothing_gives, sett_inline_ptx(w->b, "mov.u32 $0, 1;", .result = {SETT_U32}, .stand_in = SETT_NOTHING))
CASE(store_ahead, sett_store(w->g, sett_full(w->b, SETT_F32, T1(4), 1), .cache = SETT_CACHE_L2_128B))
CASE(atomic_bits, sett_atomic_xor(w->g, 1, 0))
CASE(atomic_coord, sett_atomic_add(sett_identity_tensor(w->b, T(4, 4)), 1, 0, 0))
CASE(atomic_65536, sett_atomic_add(sett_param(w->b, "big", SETT_I32, sett_make_layout(w->b, T1(65536))), 1, ALL))
CASE(load_65536, sett_load(sett_param(w->b, "big", SETT_I32, sett_make_layout(w->b, T1(65536), T1(2)))))
CASE(atomic_rmem, sett_atomic_exch(w->r, 1, 0))
CASE(atomic_sem, sett_atomic_ordered(w->g, SETT_ATOMIC_ADD, (sett_sem)4, SETT_SCOPE_GPU, 1, 0))
CASE(atomic_scope, sett_atomic_ordered(w->g, SETT_ATOMIC_ADD, SETT_SEM_RELAXED, (sett_scope)5, 1, 0))
CASE(atomic_exch, sett_atomic(w->g, (sett_binary_op)SETT_ATOMIC_EXCH, 1, 0))
CASE(atomic_op, sett_atomic_ordered(w->g, (sett_atomic_op)9999, SETT_SEM_RELAXED, SETT_SCOPE_GPU, 1, 0))
CASE(atomic_cas, sett_atomic_ordered(w->g, SETT_ATOMIC_CAS, SETT_SEM_RELAXED, SETT_SCOPE_GPU, 1, 0))
CASE(atomic_was, sett_atomic_cas(w->g, w->wide, 1, 0))
CASE(atomic_shape, sett_atomic_add(w->g, w->wide, ALL))
CASE(atomic_was_shape, sett_atomic_cas(w->g, w->wide, 1, ALL))
CASE(atomic_if_pred, sett_atomic_if(w->t, w->g, SETT_ATOMIC_ADD, 1, ALL))
CASE(atomic_if_one, sett_atomic_if(w->t, w->g, SETT_ATOMIC_ADD, 1, 0))
CASE(atomic_if_wide, sett_atomic_if(sett_full(w->b, SETT_BOOL, T1(3), 1), w->g, SETT_ATOMIC_ADD, 1, ALL))
CASE(atomic_rank, sett_atomic_add(w->g, 1, ALL, 0))
CASE(atomic_many, sett_atomic_add(sett_param(w->b, "dynamic", SETT_F32, sett_make_layout(w->b, T1(sett_sym(w->b, "N")))), 1, ALL))
CASE(atomic_past, sett_atomic_cas(w->s, 1, 2, 99))
CASE(cache_load, sett_load(w->g, .cache = SETT_CACHE_WRITE_THROUGH))
CASE(cache_store, sett_store(w->g, sett_load(w->g), .cache = SETT_CACHE_LAST_USE))
CASE(cache_none, sett_store(w->g, sett_load(w->g), .cache = SETT_CACHE_NONE))
CASE(cache_what, sett_load(w->g, .cache = (sett_cache)77))
CASE(cache_smem, sett_load(w->s, .cache = SETT_CACHE_GLOBAL))
CASE(popc_float, sett_popc(w->f))
CASE(popc_null, sett_popc(NULL))
CASE(bfe_narrow, sett_bfe(sett_to(w->t, SETT_I16), 1, 2))
CASE(bfe_pos, sett_bfe(w->t, 256, 1))
CASE(bfe_len, sett_bfe(w->t, 0, -1))
CASE(bfe_tuple, sett_bfe(w->t, T(1, 2), 1))
CASE(bfi_types, sett_bfi(sett_to(w->t, SETT_I64), w->t, 0, 1))
CASE(mul_types, sett_mul_hi(w->t, sett_to(w->t, SETT_U32)))
CASE(mul_null, sett_mul_wide(w->t, NULL))
CASE(mul24_wide, sett_mul24(sett_to(w->t, SETT_I64), sett_to(w->t, SETT_I64)))
CASE(sat_float, sett_add_sat(w->f, w->f))
CASE(lop3_lut, sett_lop3(w->t, w->t, w->t, 256))
CASE(shf_wide, sett_shf_l(sett_to(w->t, SETT_I64), sett_to(w->t, SETT_I64), 1))
CASE(prmt_sel, sett_prmt(w->t, w->t, 0x10000))
CASE(block_odd, (sett_block(w->b, 40), sett_block_reduce(w->f, SETT_ADD)))
CASE(block_plane, (sett_block(w->b, 24, 2), sett_block_reduce(w->f, SETT_ADD)))
CASE(block_op, (sett_block(w->b, 64), sett_block_reduce(w->f, SETT_DIV)))
CASE(block_later, sett_block_reduce(w->f, SETT_ADD))
#define ROW(name, status, text) {#name, name, status, text}
static const struct { const char *name; void (*f)(world *); sett_status status; const char *text; } wrong[] = {
    ROW(copy_back, SETT_E_SPACE, "sett_cp_async: smem (4):(1) to g (4):(1): it copies gmem to smem"),
    ROW(copy_rmem, SETT_E_SPACE, "it copies gmem to smem"),
    ROW(copy_sizes, SETT_E_SHAPE, "4 elements of g (4):(1) to 2 of"),
    ROW(copy_types, SETT_E_DTYPE, "of i32: bits are copied, none converted"),
    ROW(copy_bytes, SETT_E_ALIGN, "g8 (4):(1) to smem (4):(1): 1 bytes are proven to lie together, for the alignment; it copies 4 at least: sett_copy copies these"),
    ROW(copy_apart, SETT_E_ALIGN, "for the layouts"),
    ROW(copy_pred, SETT_E_DTYPE, "a predicate is Boolean, not i32"),
    ROW(copy_pred_shape, SETT_E_SHAPE, "a predicate of shape (3) does not broadcast to (4)"),
    ROW(copy_zfill, SETT_E_ARGUMENT, ".zfill is for what a .pred leaves out"),
    ROW(copy_cache, SETT_E_ARGUMENT, ".cache is 9, it is no cache mode of a copy"),
    ROW(copy_nothing, SETT_E_ARGUMENT, "sett_cp_async:"),
    ROW(copy_past, SETT_E_RANGE, "of its memory, which has 64"),
    ROW(copy_far, SETT_E_RANGE, "is too large"),
    ROW(wait_many, SETT_E_RANGE, "sett_cp_async_wait_group: 256 groups, 0 to 255 may stay pending"),
    ROW(wait_less, SETT_E_RANGE, "sett_cp_async_wait_group: -1 groups"),
    ROW(barrier_0, SETT_E_RANGE, "sett_barrier: the barrier is 0, it may be 1 to 15"),
    ROW(barrier_odd, SETT_E_RANGE, "sett_barrier_arrive: 40 threads: a multiple of 32 up to 1024 can meet"),
    ROW(barrier_half, SETT_E_ARGUMENT, "the barrier must be an integer"),
    ROW(barrier_float, SETT_E_DTYPE, "sett_barrier: the number of threads must be an integer scalar, not f32"),
    ROW(mask_what, SETT_E_ARGUMENT, "sett_lanemask_lt: 5 is not a mask"),
    ROW(fence_what, SETT_E_ARGUMENT, "sett_fence_acq_rel: 9 is not a scope"),
    ROW(vote_int, SETT_E_DTYPE, "sett_vote_any_sync: lanes vote by a Boolean, not by i32"),
    ROW(vote_wide, SETT_E_SHAPE, "the operand must be a scalar, not i1 of shape (3)"),
    ROW(vote_what, SETT_E_ARGUMENT, "7 is not a vote"),
    ROW(match_what, SETT_E_ARGUMENT, "2 is not a match"),
    ROW(match_wide, SETT_E_SHAPE, "the operand must be a scalar"),
    ROW(redux_float, SETT_E_DTYPE, "sett_warp_redux_sync: the instruction folds 32-bit integers: sett_warp_reduce folds f32"),
    ROW(redux_mul, SETT_E_ARGUMENT, "the operation must be ADD, MIN, MAX, AND, OR or XOR"),
    ROW(block_op, SETT_E_ARGUMENT, "sett_block_reduce: the operation must be ADD, MUL, MIN, MAX, AND, OR or XOR"),
    ROW(special_what, SETT_E_ARGUMENT, "99 is not a register"),
    ROW(atomic_wide, SETT_E_DTYPE, "sett_atomic_add: no atomic ADD of i128"),
    ROW(atomic_char8, SETT_E_DTYPE, "sett_atomic_exch: no atomic EXCH of f8E4M3FN"),
    ROW(address_smem, SETT_E_SPACE, "sett_address: smem (4):(1): it is for gmem, and elements of whole bytes"),
    ROW(address_rmem, SETT_E_SPACE, "sett_prefetch: rmem (4):(1): it is for gmem, and elements of whole bytes"),
    ROW(prefetch_level, SETT_E_ARGUMENT, "sett_prefetch: 2 is not a level"),
    ROW(nothing_gives, SETT_E_ARGUMENT, "sett_inline_ptx: sett.nothing stands in for what has no result"),
    ROW(store_ahead, SETT_E_ARGUMENT, ".cache is 12, which is no cache mode of a store"),
    ROW(atomic_bits, SETT_E_DTYPE, "sett_atomic_xor: no atomic XOR of f32"),
    ROW(atomic_coord, SETT_E_SPACE, "sett_atomic_add: the tensor of coordinates (4,4):(1@0,1@1) has no elements in memory"),
    ROW(atomic_65536, SETT_E_LIMIT, "sett_atomic_add: big (65536):(1) takes 65536 accesses: 65535 at most give one value"),
    ROW(load_65536, SETT_E_LIMIT, "sett_load: big (65536):(2) takes 65536 accesses: 65535 at most give one value"),
    ROW(atomic_rmem, SETT_E_SPACE, "sett_atomic_exch: an atomic on rmem"),
    ROW(atomic_sem, SETT_E_ARGUMENT, "sett_atomic_ordered: 4 is not an order"),
    ROW(atomic_scope, SETT_E_ARGUMENT, "sett_atomic_ordered: 5 is not a scope"),
    ROW(atomic_exch, SETT_E_ARGUMENT, "sett_atomic: an atomic is ADD, MIN, MAX, AND, OR or XOR; to exchange there are sett_atomic_exch"),
    ROW(atomic_op, SETT_E_ARGUMENT, "sett_atomic_ordered: an atomic is ADD, MIN, MAX, AND, OR, XOR or EXCH"),
    ROW(atomic_cas, SETT_E_ARGUMENT, "sett_atomic_ordered: sett_atomic_cas takes what is compared"),
    ROW(atomic_was, SETT_E_SHAPE, "sett_atomic_cas: a value of shape (2) is no scalar"),
    ROW(atomic_past, SETT_E_RANGE, "sett_atomic_cas: "),
    ROW(atomic_shape, SETT_E_SHAPE, "sett_atomic_add: a value of shape (2) for g (4):(1)"),
    ROW(atomic_was_shape, SETT_E_SHAPE, "sett_atomic_cas: a value of shape (2) for g (4):(1)"),
    ROW(atomic_if_pred, SETT_E_DTYPE, "sett_atomic_if: a predicate is Boolean, not i32"),
    ROW(atomic_if_one, SETT_E_SHAPE, "sett_atomic_if: a predicate of shape () of i32 for one element"),
    ROW(atomic_if_wide, SETT_E_SHAPE, "sett_atomic_if: a predicate of shape (3) does not broadcast to (4)"),
    ROW(atomic_rank, SETT_E_RANK, "sett_atomic_add: "),
    ROW(atomic_many, SETT_E_STATIC, "sett_atomic_add: the extent N of mode 0 is not static"),
    ROW(cache_load, SETT_E_ARGUMENT, "sett_load: .cache is 6, which is no cache mode of a load"),
    ROW(cache_store, SETT_E_ARGUMENT, "sett_store: .cache is 4, which is no cache mode of a store"),
    ROW(cache_none, SETT_E_ARGUMENT, "sett_store: .cache is 5, which is no cache mode of a store"),
    ROW(cache_what, SETT_E_ARGUMENT, "sett_load: .cache is 77"),
    ROW(cache_smem, SETT_E_SPACE, "sett_load: a cache mode for smem (4):(1): it is for gmem"),
    ROW(popc_float, SETT_E_DTYPE, "sett_popc: it takes integers of 8 to 64 bits, not f32"),
    ROW(bfe_narrow, SETT_E_DTYPE, "sett_bfe: it takes integers of 32 to 64 bits, not i16"),
    ROW(bfe_pos, SETT_E_RANGE, "sett_bfe: the position is 256, it may be 0 to 255"),
    ROW(bfe_len, SETT_E_RANGE, "sett_bfe: the length is -1, it may be 0 to 255"),
    ROW(bfe_tuple, SETT_E_ARGUMENT, "sett_bfe: the position must be an integer, not (1,2): an element of a tuple is sett_get(x, 0)"),
    ROW(bfi_types, SETT_E_DTYPE, "sett_bfi: i64 beside i32: it takes one type"),
    ROW(mul_types, SETT_E_DTYPE, "sett_mul_hi: u32 beside i32: it takes one type"),
    ROW(mul_null, SETT_E_ARGUMENT, "sett_mul_wide:"),
    ROW(mul24_wide, SETT_E_DTYPE, "sett_mul24: it takes integers of 32 to 32 bits, not i64"),
    ROW(sat_float, SETT_E_DTYPE, "sett_add_sat: it takes integers"),
    ROW(lop3_lut, SETT_E_RANGE, "sett_lop3: the table is 256, it may be 0 to 255"),
    ROW(shf_wide, SETT_E_DTYPE, "sett_shf_l: it takes integers of 32 to 32 bits, not i64"),
    ROW(prmt_sel, SETT_E_RANGE, "sett_prmt: the selector is 65536, it has four digits of 4 bits"),
    ROW(block_odd, SETT_E_DIVIDE, "sett_block_reduce: the block (40,1,1) has 40 threads, which are no whole warps: it takes a multiple of 32"),
    ROW(block_plane, SETT_E_DIVIDE, "sett_block_reduce: the block (24,2,1) has 48 threads, which are no whole warps: it takes a multiple of 32"),
    ROW(block_later, SETT_E_STATIC, "sett_block_reduce: the block must be static, and given before: sett_block"),
};

START_TEST(misuse)
{
    const char *text;
    world w = {.b = sett__build_new(NULL, true)};
    sett_build *b = w.b;
    w.g = sett_local_tile(param(b, "g", SETT_F32, 64), T1(4), T1(0));
    w.g8 = sett_slice(sett_local_tile(sett_param(b, "g8", SETT_U8, sett_make_layout(b, T1(64))), T1(4), T1(ALL)), ALL, 0);
    w.s = sett_local_tile(sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T1(64)), 16, .name = "smem"), T1(4), T1(0));
    w.s8 = sett_local_tile(sett_make_smem_tensor(b, SETT_U8, sett_make_layout(b, T1(64)), 16, .name = "smem"), T1(4), T1(0));
    w.r = sett_make_rmem_tensor(b, SETT_F32, T1(4));
    w.far = sett_domain_offset(w.g, (int64_t)1 << 48);
    w.t = sett_thread_idx(b, 0);
    w.p = sett_lt(w.t, 3);
    w.f = sett_to(w.t, SETT_F32);
    w.wide = sett_full(b, SETT_I32, T1(2), 1);
    ck_assert_msg(!sett_build_status(b, &text), "%s", text);
    wrong[_i].f(&w);
    ck_assert_msg(sett_build_status(b, &text) == wrong[_i].status && strstr(text, wrong[_i].text) && strstr(text, "test_arch.c:"), "%s: \"%s\"",
        wrong[_i].name, text);
    sett_build_end(b, NULL);
}
END_TEST

/* Without a build there is nothing to fail. */
START_TEST(no_build)
{
    world w = {.b = NULL};
    copy_args(&w);
    vote_null(&w);
    sett_cp_async(NULL, NULL);
    sett_cp_async_commit_group(NULL);
    sett_cp_async_wait_all(NULL);
    sett_barrier(NULL, 1, 32);
    sett_fence_acq_rel_gpu(NULL);
    sett_griddepcontrol_wait(NULL);
    ck_assert_ptr_null(sett_lanemask_lt(NULL));
    ck_assert_ptr_null(sett_elect_one(NULL));
    ck_assert_ptr_null(sett_smid(NULL));
    ck_assert_ptr_null(sett_match_any_sync(NULL));
    ck_assert_ptr_null(sett_warp_redux_sync(NULL, SETT_ADD));
    ck_assert_ptr_null(sett_block_reduce(NULL, SETT_ADD));
    popc_null(&w);
    ck_assert_ptr_null(sett_prmt(NULL, NULL, 0));
}
END_TEST

/* Every form that warp.h, async.h, inline_ptx.h and the cache modes add to a tape's text reads back to the same bytes. */
START_TEST(text_reads_back)
{
    sett__tape t, again;
    sett_error err = {0};
    void *bytes[2];
    size_t len[2];
    char *text;
    sett_build *b = sett__build_new(NULL, true);
    made[_i].body(b, NULL);
    ck_assert_msg(!sett__build_finish(b, &t, &err), "%s", err.text);
    sett_build_end(b, NULL);
    ck_assert_msg(!sett__tape_print(&t, true, NULL, &text, &err), "%s", err.text);
    ck_assert_msg(!sett__tape_parse(&again, text, &err), "%s\n%s", err.text, text);
    ck_assert_int_eq(sett__tape_write(&t, true, NULL, &bytes[0], &len[0], &err), SETT_OK);
    ck_assert_int_eq(sett__tape_write(&again, true, NULL, &bytes[1], &len[1], &err), SETT_OK);
    char *second;
    ck_assert_int_eq(sett__tape_print(&again, true, NULL, &second, &err), SETT_OK);
    ck_assert_str_eq(text, second);
    free(second);
    ck_assert_msg(len[0] == len[1] && !memcmp(bytes[0], bytes[1], len[0]), "%s", text);
    free(bytes[0]), free(bytes[1]), free(text);
    sett__tape_free(&t), sett__tape_free(&again);
}
END_TEST

static void fewer_registers(sett_build *b, const void *user)
{
    (void)user;
    sett_block(b, 128);
    sett_setmaxregister_decrease(b, 24);
}
static void more_registers(sett_build *b, const void *user)
{
    (void)user;
    sett_block(b, 128);
    sett_setmaxregister_increase(b, 240);
}
static void tests_a_wait(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *bar = sett_make_mbarriers(b, 1), *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, 1));
    sett_mbarrier_init(bar, 1);
    sett_set(X, sett_to(sett_mbarrier_test_wait(bar, 0, .cluster = true), SETT_F32), 0);
}
START_TEST(old_targets)
{
    static const struct { sett_body body; const char *target, *text; } t[] = {
        {copies, "sm_75", ": sett_cp_async needs sm_80, the target is sm_75"}, {folds, "sm_75", ": sett_warp_redux_sync needs sm_80, the target is sm_75"},
        {fewer_registers, "sm_80", ": sett_setmaxregister_decrease needs sm_90, the target is sm_80"}, {more_registers, "sm_80", ": sett_setmaxregister_increase needs sm_90, the target is sm_80"},
        {tests_a_wait, "sm_80", ": sett_mbarrier_test_wait needs sm_90, the target is sm_80"}};
    const sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true};
    sett_error err = {0};
    sett_engine *e;
    ck_assert_msg(!sett_engine_open(&e, &eo, &err), "%s", err.text);
    for (size_t i = 0; i < SETT__COUNT(t); i++) {
        const sett_compile_options o = {.size = sizeof o, .target = t[i].target, .ptx_only = true};
        sett_kernel *k;
        ck_assert_int_eq(sett_compile(e, t[i].body, &o, &k, &err), SETT_E_TARGET);
        ck_assert_msg(strstr(err.text, t[i].text) && strstr(err.text, "test_arch.c:") && !strstr(err.text, "op "), "%s", err.text);
    }
    sett_engine_close(e);
}
END_TEST

/* ---- the CPU engine's view -------------------------------------------------------------------------- */
/* Who reads before the wait sees what was there before; a group that may be pending has not come. */
static void early(sett_build *b, const void *user)
{
    (void)user;
    sett_block(b, 32);
    sett_tensor *X = param(b, "X", SETT_I32, 64), *D = param(b, "D", SETT_I32, 32 * 6);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_I32, sett_make_layout(b, T1(64)), 16);
    sett_val *t = sett_thread_idx(b, 0);
    sett_tensor *one[4];
    for (int i = 0; i < 2; i++) {
        one[i] = sett_local_tile(X, T1(1), T1(sett_add(t, 32 * i)));
        one[2 + i] = sett_local_tile(S, T1(1), T1(sett_add(t, 32 * i)));
        sett_fill(one[2 + i], -1);
        sett_cp_async(one[i], one[2 + i]);
        sett_cp_async_commit_group(b);
    }
    for (int wait = 2; wait >= 0; wait--) {
        sett_cp_async_wait_group(b, wait);
        sett_race_ok (b, "who reads before the wait sees what was there before")
            for (int i = 0; i < 2; i++)
                sett_set(D, sett_at(one[2 + i], 0), sett_add(t, 32 * (2 * wait + i)));
    }
}

static const sett_compile_options cpu = {.size = sizeof cpu, .target = "cpu", .name = "k"};

static sett_status on_cpu_of(sett_body body, const void *user, sett_error *err, int n, const sett_launch_arg *bind)
{
    const sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true, .cpu_threads = 1};
    sett_engine *e;
    sett_kernel *k;
    ck_assert_msg(!sett_engine_open(&e, &eo, err), "%s", err->text);
    sett_compile_options o = cpu;
    o.user = user;
    ck_assert_msg(!sett_compile(e, body, &o, &k, err), "%s", err->text);
    sett_status s = sett_launch_n(k, (sett_stream){SETT_CPU, NULL}, n, bind, err);
    if (!s)
        s = sett_sync_error(e, (sett_stream){SETT_CPU, NULL}, err);
    sett_kernel_release(k);
    sett_engine_close(e);
    return s;
}

static sett_status on_cpu(sett_body body, sett_error *err, int n, const sett_launch_arg *bind)
{
    return on_cpu_of(body, NULL, err, n, bind);
}

START_TEST(early_reads)
{
    int32_t x[64], d[6][32];
    sett_error err = {0};
    for (int i = 0; i < 64; i++)
        x[i] = i + 100;
    sett_buf X = sett_buf_1d(x, SETT_I32, 64), D = sett_buf_1d(d, SETT_I32, 192);
    ck_assert_msg(!on_cpu(early, &err, SETT_LAUNCH_ARGS(&X, &D, 0)), "%s", err.text);
    for (int t = 0; t < 32; t++) {
        const int32_t want[6] = {t + 100, t + 132, t + 100, -1, -1, -1};
        for (int k = 0; k < 6; k++)
            ck_assert_int_eq(d[k][t], want[k]);
    }
}
END_TEST

static void outside(sett_build *b, const void *user)
{
    (void)user;
    sett_block(b, 32);
    sett_val *N = sett_sym(b, "N");
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_make_layout(b, T1(N)));
    sett_tensor *S = sett_make_smem_tensor(b, SETT_I32, sett_make_layout(b, T1(32)), 16);
    sett_val *t = sett_thread_idx(b, 0);
    sett_cp_async(sett_local_tile(X, T1(1), T1(t)), sett_local_tile(S, T1(1), T1(t)));
}
static void outside_smem(sett_build *b, const void *user)
{
    (void)user;
    sett_block(b, 32);
    sett_tensor *X = param(b, "X", SETT_I32, 20);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_I32, sett_make_layout(b, T1(32)), 16);
    sett_cp_async(sett_local_tile(X, T1(1), T1(0)), sett_local_tile(S, T1(1), T1(sett_mul(sett_thread_idx(b, 0), 2))));
}
static void two_counts(sett_build *b, const void *user)
{
    (void)user;
    sett_block(b, 96);
    param(b, "X", SETT_I32, 20);
    sett_barrier(b, 2, sett_mul(sett_add(sett_min(sett_warp_idx(b), 1), 2), 32));
}
static void nobody_comes(sett_build *b, const void *user)
{
    (void)user;
    sett_block(b, 64);
    param(b, "X", SETT_I32, 20);
    sett_if (b, sett_lt(sett_thread_idx(b, 0), 32))
        sett_barrier(b, 2, 64);
}
static void no_such(sett_build *b, const void *user)
{
    (void)user;
    sett_block(b, 64);
    param(b, "X", SETT_I32, 20);
    sett_grid(b, 1);
    sett_barrier(b, sett_sub(sett_warp_idx(b), 1), 64);
}
static void too_many(sett_build *b, const void *user)
{
    (void)user;
    sett_block(b, 64);
    param(b, "X", SETT_I32, 20);
    sett_barrier(b, 1, 96);
}
static void apart(sett_build *b, const void *user)
{
    (void)user;
    sett_block(b, 64);
    param(b, "X", SETT_I32, 20);
    sett_barrier(b, sett_add(sett_mod(sett_thread_idx(b, 0), 2), 1), 64);
}
static void half_a_warp(sett_build *b, const void *user)
{
    const int *which = user;
    sett_block(b, 32);
    sett_tensor *X = param(b, "X", SETT_I32, 20);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_lt(t, 7)) {
        sett_val *few = sett_lt(t, 3), *x = *which == 0   ? sett_vote_all_sync(few)
                                            : *which == 1 ? sett_vote_any_sync(few)
                                            : *which == 2 ? sett_vote_uni_sync(few)
                                            : *which == 3 ? sett_vote_ballot_sync(few)
                                            : *which == 4 ? sett_match_any_sync(t)
                                            : *which == 5 ? sett_match_all_sync(t)
                                            : *which == 6 ? sett_warp_redux_sync(t, SETT_ADD)
                                                          : sett_elect_one(b);
        sett_set(X, sett_to(x, SETT_I32), 0);
    }
}

/* Each question names the function that asked it. */
START_TEST(missing_lanes)
{
    static const char *const names[] = {"sett_vote_all_sync", "sett_vote_any_sync", "sett_vote_uni_sync", "sett_vote_ballot_sync",
        "sett_match_any_sync", "sett_match_all_sync", "sett_warp_redux_sync", "sett_elect_one"};
    for (int i = 0; i < (int)SETT__COUNT(names); i++) {
        int32_t x[20] = {0};
        char want[128];
        sett_error err = {0};
        sett_buf X = sett_buf_1d(x, SETT_I32, 20);
        snprintf(want, sizeof want, ": %s: only 7 of the warp's 32 threads are here; lanes 7-31 did not take the branch at ", names[i]);
        ck_assert_int_eq(on_cpu_of(half_a_warp, &i, &err, SETT_LAUNCH_ARGS(&X, 0)), SETT_E_FAULT);
        ck_assert_msg(strstr(err.text, want) && strstr(err.text, "test_arch.c:") && strstr(err.text, ", block (0,0,0) thread (7,0,0)"), "%s", err.text);
    }
}
END_TEST

START_TEST(faults)
{
    static const struct { sett_body body; const char *text, *more; /* NULL: no more than that */ } t[] = {
        {outside, "cp.async of X: element 20 of 20 (byte 80) is outside, block (0,0,0) thread (20,0,0), kernel k", NULL},
        {outside_smem, "cp.async of shared memory made at ", ": element 32 of 32 (byte 128) is outside, block (0,0,0) thread (16,0,0)"},
        {two_counts, "barrier.sync: barrier 2 is for 96 threads here, and for 64 where others wait, at ", ", block (0,0,0) thread (32,0,0)"},
        {nobody_comes, "barrier that not all threads reach: warp 0 waits at ", NULL},
        {no_such, "barrier.sync: there is no named barrier -1", NULL},
        {too_many, "barrier.sync: barrier 1 is for 96 threads: a multiple of 32, up to the block's 64", NULL},
        {apart, "barrier.sync: lanes of one warp name barrier 1 for 64 threads, and 2 for 64, block (0,0,0) thread (1,0,0)", NULL},
    };
    int32_t x[20] = {0};
    sett_error err = {0};
    sett_buf X = sett_buf_1d(x, SETT_I32, 20);
    ck_assert_int_eq(on_cpu(t[_i].body, &err, SETT_LAUNCH_ARGS(&X, 0)), SETT_E_FAULT);
    ck_assert_msg(strstr(err.text, t[_i].text) && strstr(err.text, t[_i].more ? t[_i].more : "test_arch.c:"), "%s", err.text);
}
END_TEST

Suite *arch_suite(void);
Suite *arch_suite(void)
{
    Suite *s = suite_create("arch");
    TCase *c = tcase_create("arch");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, make_root, drop_root);
    tcase_add_loop_test(c, generated, 0, TARGETS * (int)SETT__COUNT(made));
    tcase_add_loop_test(c, misuse, 0, (int)SETT__COUNT(wrong));
    tcase_add_test(c, no_build);
    tcase_add_loop_test(c, text_reads_back, 0, (int)SETT__COUNT(made));
    tcase_add_test(c, old_targets);
    tcase_add_test(c, early_reads);
    tcase_add_loop_test(c, faults, 0, 7);
    tcase_add_test(c, missing_lanes);
    suite_add_tcase(s, c);
    return s;
}
