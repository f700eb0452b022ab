/* SPDX-License-Identifier: Apache-2.0 */
/* See operands.h. */
#include "tests/rig/operands.h"
#include "tests/conform/conform.h"
#include <stdlib.h>
#include <string.h>

static int bytes_of(sett_dtype t)
{
    return sett_dtype_bits(t) / 8;
}

static bool is_integer(sett_dtype t)
{
    return t == SETT_I8 || t == SETT_U8 || t == SETT_I32;
}

/* Bits of the fraction, and of sign and exponent. tf32 is as f32 in memory. */
static int fraction(sett_dtype t)
{
    switch (t) {
    case SETT_F64: return 52;
    case SETT_F32: case SETT_TF32: return 23;
    case SETT_F16: return 10;
    case SETT_BF16: return 7;
    case SETT_F8E4M3FN: return 3;
    default: return 2;
    }
}

static uint64_t ones(int n)
{
    return n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
}

static uint64_t whole(sett_dtype t, int x)
{
    const uint64_t magnitude = (uint64_t)abs(x);
    if (is_integer(t))
        return (uint64_t)x & ones(8 * bytes_of(t));
    return sett__float_of_integer(t == SETT_TF32 ? SETT_F32 : t, x < 0, magnitude);
}

/* A sign, an exponent of the type's field within so many of its own, any fraction. */
static uint64_t of_exponent(sett_dtype t, uint64_t random, int least, int most)
{
    const int f = fraction(t), bits = 8 * bytes_of(t);
    const uint64_t exponent = (uint64_t)(least + (int)(random >> 56) % (most - least + 1));
    return (random & ones(f)) | exponent << f | (random >> 55 & 1) << (bits - 1);
}

static uint64_t special(sett_dtype t, uint64_t random)
{
    const int f = fraction(t), bits = 8 * bytes_of(t);
    const uint64_t sign = (random >> 32 & 1) << (bits - 1), top = ones(bits - 1) & ~ones(f), most = t == SETT_F8E4M3FN ? ones(bits - 1) - 1 : top - 1;
    if (is_integer(t))
        return (const uint64_t[]){0, 1, ones(bits), ones(bits - 1), UINT64_C(1) << (bits - 1)}[random % 5];
    switch (random % 12) {
    case 0: case 1: return sign;
    case 2: return sign | (t == SETT_F8E4M3FN ? most : top); /* Inf, where there is one */
    case 3: return sign | ones(bits - 1);                    /* NaN */
    case 4: return sign | top | 1;
    case 5: return sign | most;
    case 6: return sign | 1;
    default: return of_exponent(t, random, 1 << (bits - f - 3), (1 << (bits - f - 2)) - 1);
    }
}

static uint64_t element(sett_dtype t, operands_kind kind, bool sum, uint64_t random)
{
    const int bits = 8 * bytes_of(t), exponents = bits - 1 - fraction(t), bias = (1 << (exponents - 1)) - 1;
    if (kind == OPERANDS_INTS)
        return whole(t, sum ? (int)(random % 64) - (t == SETT_U8 ? 0 : 32) : (int)(random % 5) - (t == SETT_U8 ? 0 : 2));
    if (kind == OPERANDS_SPECIAL)
        return special(t, random);
    if (kind == OPERANDS_BITS || is_integer(t))
        return random & ones(bits);
    if (kind == OPERANDS_SUBNORMAL)
        return of_exponent(t, random, 0, 2);
    return of_exponent(t, random, bias - 3, bias + 3);
}

/* Of a row of k, where products cancel: each second element is that before it, with the other sign of A. */
static void fill(uint8_t *to, sett_dtype t, size_t n, operands_kind kind, char matrix, uint64_t *state)
{
    const size_t bytes = (size_t)bytes_of(t);
    for (size_t i = 0; i < n; i++) {
        uint64_t x = element(t, kind, matrix == 'c', conform_random(state));
        if (kind == OPERANDS_CANCEL && matrix != 'c' && i % 2) {
            memcpy(&x, to + (i - 1) * bytes, bytes);
            x = matrix == 'b' ? x : is_integer(t) ? 0 - x : x ^ UINT64_C(1) << (8 * bytes - 1);
        }
        memcpy(to + i * bytes, &x, bytes);
    }
}

operands_kind operands_kind_of(int problem)
{
    return (operands_kind)(problem % OPERANDS_KINDS);
}

operands operands_make(const sett__mma *x, int n, int problems, uint64_t seed)
{
    operands o = {.m = x->m, .n = n, .k = x->k, .problems = problems, .a_type = (sett_dtype)x->a, .b_type = (sett_dtype)x->b, .c_type = (sett_dtype)x->c};
    const size_t a = (size_t)(o.m * o.k), b = (size_t)(o.n * o.k), c = (size_t)(o.m * o.n), p = (size_t)problems;
    uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    o.a = malloc(o.a_bytes = p * a * (size_t)bytes_of(o.a_type));
    o.b = malloc(o.b_bytes = p * b * (size_t)bytes_of(o.b_type));
    o.c = malloc(o.c_bytes = p * c * (size_t)bytes_of(o.c_type));
    ck_assert(o.a && o.b && o.c);
    for (size_t i = 0; i < p; i++) {
        const operands_kind kind = operands_kind_of((int)i);
        fill(o.a + o.a_bytes / p * i, o.a_type, a, kind, 'a', &state);
        fill(o.b + o.b_bytes / p * i, o.b_type, b, kind, 'b', &state);
        fill(o.c + o.c_bytes / p * i, o.c_type, c, kind, 'c', &state);
    }
    return o;
}

void operands_free(operands *o)
{
    free(o->a), free(o->b), free(o->c);
    *o = (operands){0};
}

/* A whole number, which INTS and integers are. */
static int64_t number(const uint8_t *from, sett_dtype t, int i)
{
    uint64_t bits = 0;
    memcpy(&bits, from + i * bytes_of(t), (size_t)bytes_of(t));
    switch (t) {
    case SETT_I8: return (int8_t)bits;
    case SETT_U8: return (uint8_t)bits;
    case SETT_I32: return (int32_t)bits;
    default: return (int64_t)sett__float_of_bits(t == SETT_TF32 ? SETT_F32 : t, bits);
    }
}

void operands_product(const operands *o, int problem, void *d)
{
    const size_t i = (size_t)problem, p = (size_t)o->problems, bytes = (size_t)bytes_of(o->c_type);
    const uint8_t *a = o->a + o->a_bytes / p * i, *b = o->b + o->b_bytes / p * i, *c = o->c + o->c_bytes / p * i;
    for (int row = 0; row < o->m; row++)
        for (int column = 0; column < o->n; column++) {
            int64_t sum = number(c, o->c_type, row * o->n + column);
            for (int k = 0; k < o->k; k++)
                sum += number(a, o->a_type, row * o->k + k) * number(b, o->b_type, column * o->k + k);
            uint64_t bits = is_integer(o->c_type) ? (uint64_t)sum : whole(o->c_type, (int)sum);
            memcpy((uint8_t *)d + (size_t)(row * o->n + column) * bytes, &bits, bytes);
        }
}
