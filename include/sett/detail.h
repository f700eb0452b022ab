/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the macros in the other headers. Programs do not use these names, which may change. They stand
 * here so that the other headers are easy to read. */
#ifndef SETT_DETAIL_H
#define SETT_DETAIL_H
#include <sett/base.h>

/* x, if cond holds; else a compile error with this text, before the errors that follow from it. */
#if defined(__GNUC__) && !defined(__cplusplus)
#define SETT_SAYS(cond, text, x) ((void)__extension__({ _Static_assert(cond, text); 0; }), x)
#define SETT_BEGINS_(spelled, with) (__builtin_strncmp(spelled, with, sizeof(with) - 1) == 0)
#else
#define SETT_SAYS(cond, text, x) (x)
#define SETT_BEGINS_(spelled, with) 0
#endif
/* The site of a call whose tuple argument is spelled like that; a list in braces is an error with a text. */
#define SETT_HERE_OF(spelled) SETT_SAYS(!SETT_BEGINS_(spelled, "{"), SETT_A_TUPLE_IS_, SETT_HERE)
#define SETT_A_TUPLE_IS_ "a tuple is SETT_T(4, 8), in short T(4, 8), and no list in braces"

/* The site of a call whose value is spelled like that. */
#define SETT_HERE_VALUE(spelled) \
    SETT_SAYS(!SETT_BEGINS_(spelled, "{"), "a value is a sett_val *, or one number, and no list in braces", \
        SETT_HERE)

/* The number of arguments, 1 to 33; two tokens joined to one; and M(a), M(b), ... of all arguments. */
#define SETT_NARG(...) SETT_NARG_(__VA_ARGS__, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, \
    18, \
    17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define SETT_NARG_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, \
    a20, \
    a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, n, ...) n
#define SETT_CAT(a, b) SETT_CAT_(a, b)
#define SETT_CAT_(a, b) a##b
#define SETT_EACH(M, ...) SETT_CAT(SETT_EACH, SETT_NARG(__VA_ARGS__))(M, __VA_ARGS__)
#define SETT_EACH1(M, a) M(a)
#define SETT_EACH2(M, a, ...) M(a), SETT_EACH1(M, __VA_ARGS__)
#define SETT_EACH3(M, a, ...) M(a), SETT_EACH2(M, __VA_ARGS__)
#define SETT_EACH4(M, a, ...) M(a), SETT_EACH3(M, __VA_ARGS__)
#define SETT_EACH5(M, a, ...) M(a), SETT_EACH4(M, __VA_ARGS__)
#define SETT_EACH6(M, a, ...) M(a), SETT_EACH5(M, __VA_ARGS__)
#define SETT_EACH7(M, a, ...) M(a), SETT_EACH6(M, __VA_ARGS__)
#define SETT_EACH8(M, a, ...) M(a), SETT_EACH7(M, __VA_ARGS__)
#define SETT_EACH9(M, a, ...) M(a), SETT_EACH8(M, __VA_ARGS__)
#define SETT_EACH10(M, a, ...) M(a), SETT_EACH9(M, __VA_ARGS__)
#define SETT_EACH11(M, a, ...) M(a), SETT_EACH10(M, __VA_ARGS__)
#define SETT_EACH12(M, a, ...) M(a), SETT_EACH11(M, __VA_ARGS__)
#define SETT_EACH13(M, a, ...) M(a), SETT_EACH12(M, __VA_ARGS__)
#define SETT_EACH14(M, a, ...) M(a), SETT_EACH13(M, __VA_ARGS__)
#define SETT_EACH15(M, a, ...) M(a), SETT_EACH14(M, __VA_ARGS__)
#define SETT_EACH16(M, a, ...) M(a), SETT_EACH15(M, __VA_ARGS__)
#define SETT_EACH17(M, a, ...) M(a), SETT_EACH16(M, __VA_ARGS__)
#define SETT_EACH18(M, a, ...) M(a), SETT_EACH17(M, __VA_ARGS__)
#define SETT_EACH19(M, a, ...) M(a), SETT_EACH18(M, __VA_ARGS__)
#define SETT_EACH20(M, a, ...) M(a), SETT_EACH19(M, __VA_ARGS__)
#define SETT_EACH21(M, a, ...) M(a), SETT_EACH20(M, __VA_ARGS__)
#define SETT_EACH22(M, a, ...) M(a), SETT_EACH21(M, __VA_ARGS__)
#define SETT_EACH23(M, a, ...) M(a), SETT_EACH22(M, __VA_ARGS__)
#define SETT_EACH24(M, a, ...) M(a), SETT_EACH23(M, __VA_ARGS__)
#define SETT_EACH25(M, a, ...) M(a), SETT_EACH24(M, __VA_ARGS__)
#define SETT_EACH26(M, a, ...) M(a), SETT_EACH25(M, __VA_ARGS__)
#define SETT_EACH27(M, a, ...) M(a), SETT_EACH26(M, __VA_ARGS__)
#define SETT_EACH28(M, a, ...) M(a), SETT_EACH27(M, __VA_ARGS__)
#define SETT_EACH29(M, a, ...) M(a), SETT_EACH28(M, __VA_ARGS__)
#define SETT_EACH30(M, a, ...) M(a), SETT_EACH29(M, __VA_ARGS__)
#define SETT_EACH31(M, a, ...) M(a), SETT_EACH30(M, __VA_ARGS__)
#define SETT_EACH32(M, a, ...) M(a), SETT_EACH31(M, __VA_ARGS__)
#define SETT_EACH33(M, a, ...) M(a), SETT_EACH32(M, __VA_ARGS__)

/* SETT_TUPLE of one argument is the argument; of several it is a tuple of them. */
#define SETT_TUPLE1(x) SETT_A(x)
#define SETT_TUPLE2 SETT_T
#define SETT_TUPLE3 SETT_T
#define SETT_TUPLE4 SETT_T
#define SETT_TUPLE5 SETT_T
#define SETT_TUPLE6 SETT_T
#define SETT_TUPLE7 SETT_T
#define SETT_TUPLE8 SETT_T
#define SETT_TUPLE9 SETT_T
#define SETT_TUPLE10 SETT_T
#define SETT_TUPLE11 SETT_T
#define SETT_TUPLE12 SETT_T
#define SETT_TUPLE13 SETT_T
#define SETT_TUPLE14 SETT_T
#define SETT_TUPLE15 SETT_T
#define SETT_TUPLE16 SETT_T
#define SETT_TUPLE17 SETT_T
#define SETT_TUPLE18 SETT_T
#define SETT_TUPLE19 SETT_T
#define SETT_TUPLE20 SETT_T
#define SETT_TUPLE21 SETT_T
#define SETT_TUPLE22 SETT_T
#define SETT_TUPLE23 SETT_T
#define SETT_TUPLE24 SETT_T
#define SETT_TUPLE25 SETT_T
#define SETT_TUPLE26 SETT_T
#define SETT_TUPLE27 SETT_T
#define SETT_TUPLE28 SETT_T
#define SETT_TUPLE29 SETT_T
#define SETT_TUPLE30 SETT_T
#define SETT_TUPLE31 SETT_T
#define SETT_TUPLE32 SETT_T
#define SETT_TUPLE33 SETT_T

/* A token that differs between two calls on one line, or in one macro, if the compiler counts. */
#ifdef __COUNTER__
#define SETT_UNIQUE __COUNTER__
#else
#define SETT_UNIQUE __LINE__
#endif
/* The site of a call whose last operand, or last two, may be tuples. */
#define SETT_HERE_LAST(...) SETT_HERE_COUNT(1, #__VA_ARGS__, __VA_ARGS__)
#define SETT_HERE_PAIR(...) SETT_HERE_COUNT(2, #__VA_ARGS__, __VA_ARGS__)
#define SETT_HERE_COUNT(n, spelled, ...) \
    SETT_SAYS(!SETT_BEGINS_(spelled, "{"), SETT_A_TUPLE_IS_, SETT_SAYS(SETT_NARG(__VA_ARGS__) == n, \
        "this call has another number of operands; a tuple is SETT_T(4, 8)", SETT_HERE))
#define SETT_1ST(...) SETT_1ST_(__VA_ARGS__, 0)
#define SETT_1ST_(x, ...) x
#define SETT_2ND(...) SETT_2ND_(__VA_ARGS__, 0, 0)
#define SETT_2ND_(x, y, ...) y

/* The operand of a call that takes a value, and a condition; each is named once. */
#define SETT_NO_VALUE_ "a tensor is no value: sett_load(t) is that of all of it, sett_at(t, i) of one element"
#define SETT_NO_TENSOR(x) _Generic((x), sett_tensor *: 0, const sett_tensor *: 0, default: 1)
#define SETT_NO_NUMBER(x) \
    _Generic((x), bool: 0, char: 0, signed char: 0, unsigned char: 0, short: 0, unsigned short: 0, int: 0, \
        unsigned: 0, long: 0, \
        unsigned long: 0, long long: 0, unsigned long long: 0, float: 0, double: 0, default: 1)
#ifdef __GNUC__
#define SETT_V(x) SETT_V_(x, SETT_NO_TENSOR, SETT_NO_VALUE_, SETT_CAT(sett_v, __COUNTER__))
#define SETT_COND(x) \
    SETT_V_(x, SETT_NO_NUMBER, \
        "this condition is C's, known while the kernel is recorded: a C if, or sett_lt(i, n) of values", \
        SETT_CAT(sett_v, __COUNTER__))
#define SETT_V_(x, test, text, v) \
    __extension__({ \
        __auto_type v = (x); \
        _Static_assert(test(v), text); \
        v; \
    })
#else
#define SETT_V(x) (x)
#define SETT_COND(x) (x)
#endif

#endif
