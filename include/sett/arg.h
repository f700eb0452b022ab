/* SPDX-License-Identifier: Apache-2.0 */
/* sett_arg: what calls take as a shape, stride, coordinate, tiler or scalar. It is CuTe's IntTuple: a leaf,
 * or a node of leaves and nodes. It has 16 bytes, is passed by value and is made on the stack.
 *
 *     a C integer            static, known while the kernel is built
 *     a sett_val *           dynamic, known when the kernel runs
 *     T(a, b, ...)           a tuple, which may nest; T1(a) has rank 1
 *     ALL                    CuTe's `_`
 *     a sett_layout *        a tiler's leaf
 *
 * T, T1 and ALL exist if SETT_SHORT is defined before an include of this header or of sett.h, the first
 * include or a later one. SETT_T, SETT_T1 and SETT_ALL always exist. A tuple literal ends with the C block
 * that it stands in. To return or store a tuple make it by sett_tuple(b, ...), which lives as long as the
 * build. */
#ifndef SETT_ARG_H
#define SETT_ARG_H
#include <sett/base.h>
#include <sett/detail.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sett_build sett_build;   /* one kernel while it is recorded; owns the three below */
typedef struct sett_val sett_val;       /* a scalar, or a value with a shape (TensorSSA) */
typedef struct sett_layout sett_layout; /* shape:stride, swizzled, composed */
typedef struct sett_tensor sett_tensor; /* memory seen through a layout */

/* The kinds of a sett_arg. POISON is the result of a failed call, and hands its error on. Only sett_printf
 * takes a TENSOR. */
enum { SETT_INT, SETT_FLOAT, SETT_VALUE, SETT_LAYOUT, SETT_SLICE, SETT_NODE, SETT_POISON, SETT_TENSOR };

typedef struct sett_arg {
    uint8_t kind, rank; /* rank: children of a NODE */
    uint16_t reserved;  /* 0; of POISON without a build, what made it: 1 SETT_A, UINT16_MAX sett_arg_n, else
                         * the library */
    uint32_t path;      /* 0: a plain number; else a scaled basis v@m: index + 1 of each level in 4 bits, the
                         * outermost level lowest */
    union {
        int64_t i;
        double f;
        sett_val *v;
        sett_layout *l;
        sett_tensor *t;
        const struct sett_arg *kid;
        sett_build *poisoned;
    } u;
} sett_arg;
static_assert(sizeof(sett_arg) == 16, "sett_arg is ABI");

/* Copies a tuple and all below it into the build. SETT_E_LIMIT: the tuple nests more than 64 deep. */
SETT_API sett_arg sett_arg_keep(sett_build *, sett_arg);

#ifdef __cplusplus
}
#else

static inline sett_arg sett_arg_i(long long i)
{
    return (sett_arg){.kind = SETT_INT, .u = {.i = i}};
}
/* A number above INT64_MAX gives POISON. */
static inline sett_arg sett_arg_u(unsigned long long u)
{
    return u <= INT64_MAX ? sett_arg_i((long long)u) : (sett_arg){.kind = SETT_POISON, .reserved = 1,
        .u = {.i = 0}};
}
static inline sett_arg sett_arg_f(double f)
{
    return (sett_arg){.kind = SETT_FLOAT, .u = {.f = f}};
}
static inline sett_arg sett_arg_v(const sett_val *v)
{
    return (sett_arg){.kind = SETT_VALUE, .u = {.v = (sett_val *)(uintptr_t)v}};
}
static inline sett_arg sett_arg_l(const sett_layout *l)
{
    return (sett_arg){.kind = SETT_LAYOUT, .u = {.l = (sett_layout *)(uintptr_t)l}};
}
static inline sett_arg sett_arg_self(sett_arg a)
{
    return a;
}
/* A node of n children, which stay the caller's memory; see sett_arg_keep. POISON: n is not 0 to 255, or kid
 * is NULL and n not 0. */
static inline sett_arg sett_arg_n(int n, const sett_arg *kid)
{
    if (n < 0 || n > UINT8_MAX || (n && !kid))
        return (sett_arg){.kind = SETT_POISON, .reserved = UINT16_MAX, .u = {.i = 0}};
    return (sett_arg){.kind = SETT_NODE, .rank = (uint8_t)n, .u = {.kid = kid}};
}

/* A C expression of any accepted type, as a sett_arg. The macro uses x twice, once unevaluated. */
#define SETT_A(x) _Generic((x), SETT_A_KINDS SETT_A_TENSORS)(x)
#if defined(__has_attribute)
#if __has_attribute(error)
/* No such function exists: the compiler says what to write instead. */
sett_arg sett_arg_of_tensor(const sett_tensor *) __attribute__((error(SETT_NO_VALUE_)));
#define SETT_A_TENSORS , sett_tensor *: sett_arg_of_tensor, const sett_tensor *: sett_arg_of_tensor
#endif
#endif
#ifndef SETT_A_TENSORS
#define SETT_A_TENSORS
#endif
#define SETT_A_KINDS \
    bool: sett_arg_i, char: sett_arg_i, signed char: sett_arg_i, unsigned char: sett_arg_i, \
        short: sett_arg_i, unsigned short: sett_arg_i, int: sett_arg_i, unsigned: sett_arg_i, \
            long: sett_arg_i, \
        unsigned long: sett_arg_u, long long: sett_arg_i, unsigned long long: sett_arg_u, float: sett_arg_f, \
        double: sett_arg_f, sett_val *: sett_arg_v, const sett_val *: sett_arg_v, sett_layout *: sett_arg_l, \
        const sett_layout *: sett_arg_l, sett_arg: sett_arg_self

/* The tuple (a,b,...), and (a). */
#define SETT_T(...) sett_arg_n(SETT_NARG(__VA_ARGS__), (const sett_arg[]){SETT_EACH(SETT_A, __VA_ARGS__)})
#define SETT_T1(x) sett_arg_n(1, (const sett_arg[]){SETT_A(x)})
/* CuTe's `_` in a coordinate. */
#define SETT_ALL ((sett_arg){.kind = SETT_SLICE})
/* One argument as it is, several as a tuple: sett_slice(t, coord), sett_slice(t, ALL, 0). */
#define SETT_TUPLE(...) SETT_CAT(SETT_TUPLE, SETT_NARG(__VA_ARGS__))(__VA_ARGS__)
/* A tuple that lives as long as the build. */
#define sett_tuple(b, ...) sett_arg_keep(b, SETT_T(__VA_ARGS__))
#endif /* __cplusplus */
#endif

/* Outside of the include guard, because another header may include this one before SETT_SHORT is defined. */
#if defined(SETT_SHORT) && !defined(SETT_SHORT_DONE) && !defined(__cplusplus)
#define SETT_SHORT_DONE
#define T SETT_T
#define T1 SETT_T1
#define ALL SETT_ALL
#endif
