/* SPDX-License-Identifier: Apache-2.0 */
/* Packed weights, decoded in registers: two at a time, as the instructions of the tensor cores have them. */
#include "weights.h"
#include <math.h>

enum { TWO = 2, STEP = WEIGHTS_PIECE / WEIGHTS_STEPS };

/* What an integer of 4 or 8 bits in the lower bits of a 16-bit float's fraction adds to: 128, or 1024, whose unit is 1. */
static int magic_of(sett_dtype t)
{
    return t == SETT_F16 ? 1024 : 128;
}

static uint32_t magic_bits(sett_dtype t)
{
    return t == SETT_F16 ? 0x64006400 : 0x43004300;
}

/* Values without their scale, (2) of type t, of register j. words: those of its 16 of K. */
typedef sett_val *(*decode)(sett_build *, sett_dtype t, sett_val *const *words, int j, const weights_scale *);

/* x - the zero point, exactly: x is `more` too large. */
static sett_val *centred(sett_val *x, const weights_scale *s, sett_dtype b, int more)
{
    return s->zero ? sett_sub(x, sett_add(s->zero, more)) : sett_sub(x, weights_middle(b) + more);
}

/* A word, or 16 bits, as two values. */
static sett_val *as_two(sett_val *word, sett_dtype t)
{
    return sett_bitcast(sett_reshape(word, T1(1)), t);
}

static sett_val *of_i4(sett_build *b, sett_dtype t, sett_val *const *words, int j, const weights_scale *s)
{
    (void)b;
    sett_val *bits = sett_or(sett_and(sett_shr(words[0], 4 * j), 0x000f000f), magic_bits(t));
    return centred(as_two(bits, t), s, SETT_I4, magic_of(t));
}

/* bf16 has 8 bits of fraction, which are those of the difference alone: it is made in Float32. */
static sett_val *of_i8(sett_build *b, sett_dtype t, sett_val *const *words, int j, const weights_scale *s)
{
    sett_val *word = words[j / 2];
    const int first = j % 2 * 2;
    if (t == SETT_F16)
        return centred(as_two(sett_prmt(word, sett_const(b, SETT_U32, magic_bits(t)), 0x5150 + 0x101 * first), t), s, SETT_I8, magic_of(t));
    const weights_scale of = {.zero = s->zero ? sett_to(s->zero, SETT_F32) : NULL};
    sett_tensor *both = sett_make_rmem_tensor(b, SETT_F32, TWO);
    for (int i = 0; i < TWO; i++) {
        sett_val *x = sett_bitcast(sett_prmt(word, sett_const(b, SETT_U32, 0x4b000000), 0x7440 + first + i), SETT_F32); /* 2^23 + the byte */
        sett_set(both, centred(x, &of, SETT_I8, 1 << 23), i);
    }
    return sett_to(sett_load(both), t);
}

static sett_val *pair_of_bytes(sett_val *const *words, int j, sett_dtype as)
{
    return as_two(sett_to(sett_shr(words[j / 2], j % 2 * 16), SETT_U16), as);
}

static sett_val *of_e4m3(sett_build *b, sett_dtype t, sett_val *const *words, int j, const weights_scale *s)
{
    (void)b, (void)s;
    return sett_to(pair_of_bytes(words, j, SETT_F8E4M3FN), t);
}

static sett_val *of_e5m2(sett_build *b, sett_dtype t, sett_val *const *words, int j, const weights_scale *s)
{
    (void)b, (void)s;
    return sett_to(pair_of_bytes(words, j, SETT_F8E5M2), t);
}

static sett_val *shifted(sett_val *x, int left)
{
    return left >= 0 ? sett_shl(x, left) : sett_shr(x, -left);
}

/* Sign, exponent and fraction go where t has them; the difference of the biases is a factor, so that 0.5, which is subnormal, is one there. */
static sett_val *of_e2m1(sett_build *b, sett_dtype t, sett_val *const *words, int j, const weights_scale *s)
{
    (void)b, (void)s;
    const int fraction = t == SETT_F16 ? 10 : 7, bias = t == SETT_F16 ? 15 : 127;
    const uint32_t number = 7u << (fraction - 1);
    sett_val *sign = sett_and(shifted(words[0], 12 - 4 * j), 0x80008000u), *rest = sett_and(shifted(words[0], fraction - 1 - 4 * j), number | number << 16);
    return sett_mul(as_two(sett_or(sign, rest), t), ldexp(1, bias - 1));
}

static const struct kind {
    sett_dtype b;
    decode two;
} kinds[] = {{SETT_I4, of_i4}, {SETT_I8, of_i8}, {SETT_F8E4M3FN, of_e4m3}, {SETT_F8E5M2, of_e5m2}, {SETT_F4E2M1FN, of_e2m1}};

sett_val *sett__decode_weights(sett_build *b, sett_dtype t, sett_dtype from, sett_val *const *words, int j, const weights_scale *s)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].b == from)
            return sett_mul(kinds[i].two(b, t, words, j, s), s->by);
    return NULL;
}

void sett__clear_weights(sett_tensor *of, int rows, int k, sett_val *thread, sett_val *left)
{
    for (int l = 0; l < 2; l++) {
        sett_val *more = sett_sub(left, sett_add(sett_mul(sett_mod(thread, 4), TWO), k * STEP + l * STEP / 2));
        sett_val *mask = sett_where(sett_ge(more, TWO), -1, sett_where(sett_eq(more, 1), 0xffff, 0));
        for (int i = 0; i < 2 * rows; i++) {
            sett_tensor *pair = sett_slice(of, T(ALL, i % 2, l), i / 2, k);
            sett_store(pair, sett_bitcast(sett_and(sett_bitcast(sett_load(pair), SETT_I32), mask), sett_tensor_dtype(of)));
        }
    }
}

void sett__weights_scales(sett_tensor *scales, sett_val *pair, int zeros, sett_dtype t, weights_scale of[2])
{
    for (int z = 0; z <= zeros; z++) {
        sett_val *two = sett_to(sett_load(sett_local_tile(scales, T1(TWO), T1(sett_add(pair, z * WEIGHTS_PIECE / TWO)))), t);
        for (int i = 0; i < 2; i++)
            *(z ? &of[i].zero : &of[i].by) = sett_element(two, i);
    }
}

void sett__weights_words(sett_tensor *piece, int boxes, sett_val *thread, sett_val *words[])
{
    for (int i = 0; i < boxes; i++) {
        sett_val *four = sett_load(sett_local_tile(sett_recast_tensor(sett_slice(piece, ALL, i), SETT_U32), T1(WEIGHTS_QUAD), T1(thread)));
        for (int j = 0; j < WEIGHTS_QUAD; j++)
            words[i * WEIGHTS_QUAD + j] = sett_element(four, j);
    }
}

/* All of it lies beside each other. */
static sett_layout *packed_layout(sett_build *b, int first, sett_val *second, sett_val *blocks, sett_val *matrices)
{
    sett_val *block = sett_mul(second, first);
    return matrices ? sett_make_layout(b, T(first, second, blocks, matrices), T(1, first, block, sett_mul(blocks, block))) : sett_make_layout(b, T(first, second, blocks), T(1, first, block));
}

void sett__weights_params(sett_build *b, const weights_options *o, int swiglu, sett_val *N, sett_val *K, sett_val *matrices, sett_tensor *to[2])
{
    const int rows = WEIGHTS_PIECE * (1 + o->zeros), group = *o->group, each = group < WEIGHTS_PIECE ? 1 : group / WEIGHTS_PIECE;
    sett_val *pieces = sett_floordiv(sett_add(K, WEIGHTS_PIECE - 1), WEIGHTS_PIECE), *blocks = sett_mul(sett_floordiv(sett_add(N, WEIGHTS_PIECE - 1), WEIGHTS_PIECE), 1 + swiglu);
    sett_val *groups = group < 0 ? sett_const(b, SETT_I32, 1) : group < WEIGHTS_PIECE ? sett_mul(pieces, WEIGHTS_PIECE / group) : sett_floordiv(sett_add(pieces, each - 1), each);
    sett_val *boxes = sett_mul(pieces, sett_dtype_bits(o->b) / WEIGHTS_BOX_BITS);
    to[0] = sett_param(b, "B", SETT_U64, packed_layout(b, WEIGHTS_WORDS, boxes, blocks, matrices), .align = 16);
    to[1] = sett_param(b, "SW", *o->sw, packed_layout(b, rows, groups, blocks, matrices), .align = 16);
}
