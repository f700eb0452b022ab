/* SPDX-License-Identifier: Apache-2.0 */
/* Atomics on elements of memory, of threads and of copies that reduce. */
#include "machine.h"
#include <string.h>

static bool is_nan_half(uint8_t dtype, uint64_t bits)
{
    return (bits & 0x7fff) > (dtype == SETT_F16 ? 0x7c00 : 0x7f80);
}

static bool is_nan_f64(uint64_t bits)
{
    return bits << 1 > UINT64_C(0x7ff0000000000000) << 1;
}

/* Reductions by copies differ from atomics of threads in two cases, as an H200 showed: min and max of a number and a NaN are the number;
 * and a sum of f64 with a NaN has the bits of that NaN, of two those of the one that is added, while Inf + -Inf is the NaN with a sign. */
static bool combine_copied(const sett__insn *i, uint64_t old, uint64_t value, uint64_t *to)
{
    const uint64_t inf = UINT64_C(0x7ff0000000000000), sign = UINT64_C(1) << 63;
    if (i->atom.code == SETT__ADD) {
        *to = is_nan_f64(value) ? value : is_nan_f64(old) ? old : inf | sign | sign >> 12;
        return i->dtype == SETT_F64 && (is_nan_f64(old) || is_nan_f64(value) || ((old & ~sign) == inf && (old ^ value) == sign));
    }
    if (i->dtype != SETT_F16 && i->dtype != SETT_BF16)
        return false;
    *to = is_nan_half(i->dtype, old) ? value : old;
    return is_nan_half(i->dtype, old) != is_nan_half(i->dtype, value);
}

static uint64_t flushed(uint64_t f32)
{
    return f32 & 0x7f800000 ? f32 : f32 & 0x80000000;
}

/* What the memory holds afterwards: the one definition of arithmetic, on a row of which one lane counts. */
static uint64_t combine(const sett__insn *i, uint64_t old, uint64_t value, uint64_t was)
{
    if (i->atom.flushes)
        old = flushed(old), value = flushed(value);
    _Alignas(64) uint64_t x[WARP] = {old}, y[WARP] = {value}, z[WARP] = {0};
    if (i->atom.code == SETT__XCHG || i->atom.code == SETT__CAS)
        return i->atom.code == SETT__XCHG || old == was ? value : old;
    if (i->atom.code == SETT__ADD && !sett__dtype_is_float(i->dtype))
        return old + value;
    if (i->atom.copied && combine_copied(i, old, value, &z[0]))
        return z[0];
    i->atom.fn(z, x, y, NULL, 1, 0);
    const uint64_t all = z[0] & (i->lg == 3 ? ~(uint64_t)0 : ((uint64_t)1 << (8 << i->lg)) - 1);
    return i->atom.flushes ? flushed(all) : all;
}

#define EXCHANGE(T) \
    static uint64_t exchange_##T(const sett__insn *i, void *p, uint64_t value, uint64_t was) \
    { \
        T *at = p, old = __atomic_load_n(at, __ATOMIC_RELAXED); \
        while (!__atomic_compare_exchange_n( \
            at, &old, (T)combine(i, old, value, was), true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) \
            ; \
        return old; \
    }
EXCHANGE(uint8_t)
EXCHANGE(uint16_t)
EXCHANGE(uint32_t)
EXCHANGE(uint64_t)
/* Acquire and release whatever the kernel asks for: it costs nothing beside the rest. */
static uint64_t (*const exchange[])(const sett__insn *, void *, uint64_t, uint64_t) = {
    exchange_uint8_t, exchange_uint16_t, exchange_uint32_t, exchange_uint64_t};

/* Not every machine has an instruction of 16 bytes: these exclude each other. */
static void exchange_128(sett__core *c, void *at, const void *was, const void *value, void *old)
{
    pthread_mutex_lock(c->lock);
    memcpy(old, at, 16);
    if (!was || !memcmp(old, was, 16))
        memcpy(at, value, 16);
    pthread_mutex_unlock(c->lock);
}

void sett__exchange(sett__core *c, const sett__insn *i, void *at, const unsigned char *was, const unsigned char *value, unsigned char *old)
{
    size_t size = (size_t)1 << i->lg;
    uint64_t v = 0, w = 0, before;
    unsigned char whole[16];
    if (i->lg == 4) {
        exchange_128(c, at, was, value, whole);
    } else {
        memcpy(&v, value, size);
        if (was)
            memcpy(&w, was, size);
        before = exchange[i->lg](i, at, v, w);
        memcpy(whole, &before, sizeof before);
    }
    if (old)
        memcpy(old, whole, size);
}

void sett__reduce_into(sett__core *c, uint8_t code, uint8_t dtype, void *to, const void *from)
{
    uint8_t lg = (uint8_t)__builtin_ctz((unsigned)sett__dtype_bytes((sett_dtype)dtype));
    sett__insn i = {.lg = lg, .dtype = dtype, .atom = {.code = code, .copied = true, .fn = c->program->wide->op[code][dtype]}};
    uint64_t value = 0;
    memcpy(&value, from, (size_t)1 << lg);
    exchange[lg](&i, to, value, 0);
}
