/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of tensor cores, bit for bit. A unit says how one machine computes one row of mma.def; what multiplies by it is
 * a member of sett__wide, since it is vector code.
 *
 * A product is of m rows of A by eight columns of B. A is unpacked once, and serves as many columns as there are. */
#ifndef SETT_JIT_SIM_TENSOR_CORE_H
#define SETT_JIT_SIM_TENSOR_CORE_H
#include "jit/sim/sim.h"

enum { SETT__COLUMNS = 8, SETT__MOST_M = 64, SETT__MOST_K = 32 };
/* Sums of floats go by groups of products, in the order of k; the sum so far is one more term of the next group. Terms of a group
 * are cut toward zero to multiples of 2^(E - keep), where E is the largest exponent among them and `floor`; their sum is exact. It
 * is cut to `fraction` bits behind the first, or, as f16, rounded to nearest even. */
typedef struct sett__unit {
    uint8_t model;    /* SETT__MMA_DOT, INT or FMA */
    uint8_t a, b, c;  /* a sett_dtype; the result has that of c */
    uint16_t k, group;
    uint8_t keep, fraction;
    int16_t floor;
    bool split;       /* there is no such unit: products of f16 over k % 4 < 2, then over the others; c is added at the end, by IEEE */
    bool clamp;       /* integers that do not fit end at the limits; else they wrap */
    bool negate_a, negate_b;
    bool fast;        /* one fma after another, in f32: not what the machine computes */
} sett__unit;
/* sm: of the machine, 75 to 120. False: it has no such row. */
bool sett__unit_of(sett__unit *, const sett__mma *row, int sm);

/* A as the sums read it: significands, of a scale that makes a product a multiple of 2^-keep, and exponents that are not normalised. */
typedef struct sett__left {
    uint32_t m;
    union {
        struct { int32_t sig[SETT__MOST_M * SETT__MOST_K], exp[SETT__MOST_M * SETT__MOST_K]; };
        float f32[SETT__MOST_M * SETT__MOST_K];
        double f64[SETT__MOST_M * SETT__MOST_K / 4];
    };
} sett__left;
/* a: m rows of k elements; 32 elements or a multiple. */
typedef void sett__left_fn(const sett__unit *, uint32_t m, const void *a, sett__left *);
/* b: k rows of eight. c: m rows of eight, which become the result. */
typedef void sett__columns_fn(const sett__unit *, const sett__left *, const void *b, void *c);

/* ---- what vector code leaves to one function ------------------------------------------------------- */
/* Exponents that stand for what has none; a sum of two of them tells which they were. From SPECIAL on there was an Inf or a NaN. */
enum { SETT__EXP_ZERO = -1024, SETT__EXP_INF = 4096, SETT__EXP_NAN = 16384, SETT__EXP_SPECIAL = 2048 };
/* A sum with Inf or NaN among n products, or as c: its bits. b's elements lie SETT__COLUMNS apart. */
uint32_t sett__special_sum(const sett__unit *, uint32_t n, const int32_t *sig_a, const int32_t *exp_a, const int32_t *sig_b, const int32_t *exp_b, int32_t sig_c, int32_t exp_c);

#endif
