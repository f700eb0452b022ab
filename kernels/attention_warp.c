/* SPDX-License-Identifier: Apache-2.0 */
/* A warp that multiplies by mma.sync: S = Q K^T of 16 rows of Q, in registers, and 16 keys or more; their weights; O += P V. */
#include "attention.h"

static int keys_of(const attention_warp *f)
{
    return f->t->o->tuning.keys;
}

/* As attention_mask.c has them: elements ((2,2,keys/8),1,1) of a thread. */
static sett_tensor *as_scores(sett_build *b, const attention_warp *f, sett_tensor *crd)
{
    return sett_composition(crd, sett_make_layout(b, T(T(2, 2, keys_of(f) / 8), 1, 1), T(T(1, 2, 4), 0, 0)));
}

void sett__warp_make(sett_build *b, attention_warp *f)
{
    const sett_attention_options *o = f->t->o;
    const int keys = keys_of(f);
    const sett_dtype t = sett_tensor_dtype(f->t->q);
    f->mma = sett_make_tiled_mma(sett_mma_sync(b, .a = t, .b = t, .acc = SETT_F32, .m = 16, .n = 8, .k = 16), T(1, 1, 1), T(16, 16, 16)); /* one ldmatrix x4 fills B of two */
    f->read_q = sett_make_tiled_copy_A(sett_ldmatrix(b, t, 4, false), f->mma);
    f->read_k = sett_make_tiled_copy_B(sett_ldmatrix(b, t, 4, false), f->mma);
    f->read_v = sett_make_tiled_copy_B(sett_ldmatrix(b, t, 4, true), f->mma);
    f->q = sett_make_fragment_A(f->mma, sett_partition_shape_A(f->mma, T(WARP_ROWS, o->d)));
    f->s = sett_make_fragment_C(f->mma, sett_partition_shape_C(f->mma, T(WARP_ROWS, keys)));
    f->p = sett_make_fragment_A(f->mma, sett_partition_shape_A(f->mma, T(WARP_ROWS, keys)));
    f->o = sett_make_fragment_C(f->mma, sett_partition_shape_C(f->mma, T(WARP_ROWS, o->dv)));
    f->max = sett_make_rmem_tensor(b, SETT_F32, T(1, 2, 1), 1, 1);
    f->sum = sett_make_rmem_tensor(b, SETT_F32, T(1, 2, 1), 1, 1);
    sett_tensor *tile = sett_identity_tensor(b, WARP_ROWS, keys);
    f->scores.b = b, f->scores.t = f->t, f->scores.w = &f->of;
    f->scores.crd = as_scores(b, f, sett_partition_C(sett_get_slice(f->mma, f->lane), tile));
    f->scores.columns = as_scores(b, f, sett_partition_C(sett_get_slice(f->mma, 0), tile));
}

/* ---- operands of 8 bits -------------------------------------------------------------------------------------- */
/* They are read as units of 16 bits, two elements beside each other, and become f16 in registers. A product does not mind the order of k, nor
 * O that of its columns, as long as both sides have one: of K, whose pairs are along k, a lane has 4 elements beside each other, those of two
 * pairs of the instruction, and Q lies so in shared memory; of V, whose pairs are columns, a unit is of two products, of even columns and of
 * odd ones. */
static sett_tensor *as_pairs(const attention_warp *f, sett_tensor *t)
{
    return is_f8(f->t->o) ? sett_recast_tensor(t, SETT_F16) : t;
}

sett_tensor *sett__warp_query(sett_build *b, const attention_parts *t, sett_tensor *q)
{
    return is_f8(t->o) ? sett_composition(q, T(t->o->tuning.rows, sett_make_layout(b, T(2, 2, 4, t->o->d / 16), T(1, 8, 2, 16)))) : q;
}

sett_tensor *sett__warp_columns(sett_build *b, const attention_warp *f, sett_tensor *t)
{
    return is_f8(f->t->o) ? sett_composition(t, T(WARP_ROWS, sett_make_layout(b, T(8, 2, f->t->o->dv / 16), T(2, 1, 16)))) : t;
}

/* B of n columns and `steps` of k, of units in registers. */
static sett_tensor *from_pairs(sett_build *b, const attention_warp *f, sett_tensor *units, int n, int steps, bool of_v)
{
    if (!is_f8(f->t->o))
        return units;
    sett_tensor *narrow = sett_recast_tensor(units, f->t->o->dtype), *wide = sett_make_fragment_like(narrow, SETT_F16);
    sett_store(wide, sett_to(sett_load(narrow), SETT_F16));
    return sett_composition(wide, of_v ? sett_make_layout(b, T(T(2, 2), T(2, n / 16), steps), T(T(2, 4), T(1, 8), n / 2)) : sett_make_layout(b, T(T(2, 2), n / 8, T(2, steps / 2)), T(T(1, 2), 8, T(4, n))));
}

/* ---- a tile ---------------------------------------------------------------------------------------------------- */
static void read_query(const attention_warp *f, sett_tensor *q)
{
    sett_thr_copy *copy = sett_get_slice(f->read_q, f->lane);
    sett_tensor *mine = sett_local_tile(q, T(WARP_ROWS, f->t->o->d), T(sett_floordiv(f->row, WARP_ROWS), 0));
    sett_copy(f->read_q, sett_partition_S(copy, mine), sett_retile(copy, f->q));
}

/* acc += A B^T, of B (keys,d) or (dv,keys) in shared memory. */
static void multiply(sett_build *b, const attention_warp *f, sett_tensor *acc, sett_tensor *a, sett_tensor *from, bool of_v)
{
    sett_tiled_copy *read = of_v ? f->read_v : f->read_k;
    sett_thr_copy *copy = sett_get_slice(read, f->lane);
    sett_tensor *pairs = as_pairs(f, from), *frag = sett_make_fragment_B(f->mma, sett_partition_B(sett_get_slice(f->mma, f->lane), pairs));
    sett_copy(read, sett_partition_S(copy, pairs), sett_retile(copy, frag));
    const sett_attention_options *o = f->t->o;
    sett_gemm(f->mma, acc, a, from_pairs(b, f, frag, of_v ? o->dv : keys_of(f), (of_v ? keys_of(f) : o->d) / 16, of_v), acc, .overwrite = !of_v);
}

void sett__warp_begin(const attention_warp *f, sett_tensor *q)
{
    if (f->keeps_query)
        read_query(f, q);
}

/* And sums and O so far, times what the new maximum makes of them. */
void sett__warp_weights(sett_build *b, const attention_warp *f, sett_tensor *q, sett_tensor *k, sett_val *tile, bool edge)
{
    sett_val *fade;
    if (!f->keeps_query)
        read_query(f, q);
    multiply(b, f, f->s, f->q, k, false);
    sett_val *s = sett_reshape(sett_load(f->s), T(T(2, 2, keys_of(f) / 8), 1, 1));
    if (f->k_scale)
        s = sett_mul(s, f->k_scale);
    sett_val *p = sett__attention_softmax(&f->scores, f->max, f->sum, sett__attention_score(b, &f->scores, s, tile, edge), 0, &fade);
    sett_store(f->o, sett_mul(sett_load(f->o), sett_reshape(fade, T(T(1, 2), 1, 1))));
    sett_store(f->p, sett_to(sett_reshape(p, sett_shape(sett_tensor_layout(f->p))), sett_tensor_dtype(f->p)));
}

void sett__warp_sums(sett_build *b, const attention_warp *f, sett_tensor *v)
{
    multiply(b, f, f->o, f->p, v, true);
}
