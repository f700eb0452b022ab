/* SPDX-License-Identifier: Apache-2.0 */
/* Every block leaves its part, and the block that finishes last, which an atomic counter tells, takes the parts together. */
#include "kernels.h"

static void settle(void *options, choice *c)
{
    sett_vector_reduce_options *o = options;
    sett_vector_reduce_tuning *tune = &o->tuning;
    sett__is_float(c, o->dtype);
    sett__is_reduction(c, o->op);
    sett__either(&tune->threads, 512);
    sett__whole_warps(c, tune->threads);
    sett__either(&tune->blocks, *c->why ? 1 : 2048 / tune->threads * tune->threads);
    sett__in_range(c, "blocks", tune->blocks, 1, 1 << 16);
    if (!*c->why && tune->blocks % tune->threads)
        REFUSE(c, ".blocks is %d: a multiple of the %d threads", tune->blocks, tune->threads);
    sett__either(&tune->vectors_per_thread, 16 / sett__vec(o->dtype)); /* 16 elements a round */
    sett__in_range(c, "vectors_per_thread", tune->vectors_per_thread, 1, 16);
}

/* Of the parts. */
static size_t workspace(const void *settled)
{
    const sett_vector_reduce_options *o = settled;
    return sizeof(float) * (size_t)o->tuning.blocks;
}

/* What this thread has of this block's tiles, which lie together. */
static sett_val *part_of(sett_build *b, const sett_vector_reduce_options *o, sett_tensor *X, sett_val *N)
{
    const int vec = sett__vec(o->dtype), tile = o->tuning.threads * vec * o->tuning.vectors_per_thread;
    const double initial = sett__initial(o->op);
    sett_layout *wide = sett__wide(b, o->tuning.threads, vec, o->tuning.vectors_per_thread);
    sett_tensor *acc = sett_make_rmem_tensor(b, SETT_F32, sett_make_layout(b, T1(T(vec, o->tuning.vectors_per_thread))));
    sett_fill(acc, initial);
    sett_arg tiles = sett_ceil_div(N, tile), run_of = sett_ceil_div(tiles, o->tuning.blocks);
    sett_val *from = sett_mul(sett_block_idx(b, 0), run_of), *to = sett_min(sett_add(from, run_of), tiles);
    sett_for (b, i, from, to, 1, .unroll = 2) { /* twice as much under way before the first sum waits */
        sett_val *t = sett_thread_idx(b, 0);
        sett_val *in = sett_elem_less(sett__part(sett_identity_tensor(b, T1(N)), SETT_A(i), tile, wide, t), T1(N));
        sett_val *x = sett_to(sett_load(sett__part(X, SETT_A(i), tile, wide, t), .pred = in, .fill = initial), SETT_F32);
        sett_store(acc, sett_binary_at(SETT_HERE, "sett_vector_reduce", o->op, SETT_A(sett_load(acc)), SETT_A(x)));
    }
    return sett_block_reduce(sett_reduce(sett_load(acc), o->op, initial), o->op);
}

void sett_vector_reduce(sett_build *b, const void *user)
{
    sett_vector_reduce_options o;
    if (!sett__kernel_options(b, &sett__vector_reduce, user, &o))
        return;
    sett_val *N = sett_sym(b, "N"), *t = sett_thread_idx(b, 0);
    sett_tensor *X = sett_param(b, "X", o.dtype, sett_make_layout(b, T1(N)), .align = 16);
    sett_tensor *part = sett_param(b, "part", SETT_F32, sett_make_layout(b, T1(o.tuning.blocks)), .align = 16);
    sett_tensor *done = sett_param(b, "done", SETT_U32, sett_make_layout(b, T1(1))); /* 0 before and after */
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, T1(1)));
    sett_grid(b, o.tuning.blocks);
    sett_block(b, o.tuning.threads);
    sett__begin(b, o.no_pdl);
    sett_val *mine = part_of(b, &o, X, N);
    sett_tensor *last = sett_make_smem_tensor(b, SETT_U32, sett_make_layout(b, T1(1)), 4);
    sett_if (b, sett_eq(t, 0)) {
        sett_set(part, mine, sett_block_idx(b, 0));
        sett_fence_acq_rel_gpu(b); /* the part, before it is counted */
        sett_set(last, sett_atomic(done, SETT_ADD, 1, 0), 0);
        sett_fence_acq_rel_gpu(b);
    }
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_at(last, 0), o.tuning.blocks - 1)) {
        sett_layout *share = sett_make_layout(b, T(o.tuning.threads, o.tuning.blocks / o.tuning.threads), T(o.tuning.blocks / o.tuning.threads, 1));
        sett_val *all = sett_load(sett_slice(sett_composition(part, share), t, ALL)); /* neighbours: wide, all at once */
        sett_val *total = sett_block_reduce(sett_reduce(all, o.op, sett__initial(o.op)), o.op);
        sett_if (b, sett_eq(t, 0)) {
            sett_set(Y, total, 0);
            sett_set(done, 0, 0);
        }
    }
}

#define P(member_) SETT_FAMILY_PARAM(sett_vector_reduce_options, member_)
#define TUNED(member_) TUNING_PARAM(sett_vector_reduce_options, member_)
static const sett_family_param params[] = {P(dtype), P(no_pdl), P(op), TUNED(threads), TUNED(blocks), TUNED(vectors_per_thread)};
FAMILY_OF(vector_reduce, params, .workspace = workspace);
