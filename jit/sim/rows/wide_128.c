/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on rows of i128 and u128: as wide.h, but compiled once and for size, since no vector unit has it. */
#include "rows.h"

__extension__ typedef __int128 I128_t;
__extension__ typedef unsigned __int128 U128_t;
typedef uint8_t BOOL_t;

#define AT(T, v, i) (((const T *)(v))[splat >> (i) & 1 ? k % WARP : k])
#define ROW(name, TD, operands, expr) \
    static void name(void *restrict dv, const void *av, const void *bv, const void *cv, uint32_t rows, uint32_t splat) \
    { \
        (void)bv, (void)cv; \
        for (uint32_t k = 0; k < rows * WARP; k++) { \
            operands; \
            ((TD *)dv)[k] = (TD)(expr); \
        } \
    }
#define ONE(T) T##_t x = AT(T##_t, av, 0)
#define TWO(T) T##_t x = AT(T##_t, av, 0), y = AT(T##_t, bv, 1)
#define MAP1(name, T, expr) ROW(name, T##_t, ONE(T), expr)
#define MAP2(name, T, expr) ROW(name, T##_t, TWO(T), expr)
#define TEST(name, T, expr) ROW(name, BOOL_t, TWO(T), expr)

/* ---- of the bits alone ------------------------------------------------------------- */
MAP2(ADD, U128, x + y)
MAP2(SUB, U128, x - y)
MAP2(MUL, U128, x * y)
MAP2(AND, U128, x & y)
MAP2(OR, U128, x | y)
MAP2(XOR, U128, x ^ y)
MAP1(NOT, U128, ~x)
MAP1(NEG, U128, 0 - x)
MAP2(SHL, U128, y < 128 ? x << (y & 127) : 0)
TEST(EQ, U128, x == y)
TEST(NE, U128, x != y)
ROW(SELECT, U128_t, BOOL_t x = AT(BOOL_t, av, 0); U128_t y = AT(U128_t, bv, 1); U128_t z = AT(U128_t, cv, 2), x ? y : z)

/* ---- with a sign and without ----------------------------------------------------------- */
#define ORDERED(T) MAP2(MIN_##T, T, x < y ? x : y) MAP2(MAX_##T, T, x < y ? y : x) TEST(LT_##T, T, x < y) TEST(LE_##T, T, x <= y)
ORDERED(I128)
ORDERED(U128)
static I128_t divide(I128_t x, I128_t y)
{
    return y == 0 ? -1 : y == -1 ? (I128_t)(0 - (U128_t)x) : x / y; /* MIN / -1 wraps */
}
static I128_t rest(I128_t x, I128_t y)
{
    return y == 0 ? x : y == -1 ? 0 : x % y;
}
MAP2(DIV_I128, I128, divide(x, y))
MAP2(DIV_U128, U128, y ? x / y : ~(U128_t)0)
MAP2(REM_I128, I128, rest(x, y))
MAP2(REM_U128, U128, y ? x % y : x)
MAP2(SHR_I128, I128, x >> ((U128_t)y < 128 ? (int)y : 127))
MAP2(SHR_U128, U128, y < 128 ? x >> (y & 127) : 0)
MAP1(ABS, I128, x < 0 ? 0 - (U128_t)x : (U128_t)x)

/* ---- conversions ------------------------------------------------------------------------- */
#define FROM(T, type) ROW(FROM_##T, U128_t, type x = AT(type, av, 0), x) ROW(TO_##T, type, ONE(U128), x)
#define EXTEND(T, type) ROW(FROM_##T, U128_t, type x = AT(type, av, 0), (I128_t)x)
FROM(U8, uint8_t)
FROM(U16, uint16_t)
FROM(U32, uint32_t)
FROM(U64, uint64_t)
EXTEND(I8, int8_t)
EXTEND(I16, int16_t)
EXTEND(I32, int32_t)
EXTEND(I64, int64_t)
MAP1(KEEP, U128, x)
ROW(ANY, BOOL_t, ONE(U128), x != 0)

static const sett__row_fn bits[SETT__ROW_CODES] = {
    [SETT__ADD] = ADD, [SETT__SUB] = SUB, [SETT__MUL] = MUL, [SETT__AND] = AND, [SETT__OR] = OR, [SETT__XOR] = XOR,
    [SETT__NOT] = NOT, [SETT__NEG] = NEG, [SETT__SHL] = SHL, [SETT__EQ] = EQ, [SETT__NE] = NE, [SETT__SELECT] = SELECT};
static const sett__row_fn with_sign[][2] = { /* u128, i128 */
    [SETT__DIV] = {DIV_U128, DIV_I128}, [SETT__REM] = {REM_U128, REM_I128}, [SETT__MIN] = {MIN_U128, MIN_I128},
    [SETT__MAX] = {MAX_U128, MAX_I128}, [SETT__SHR] = {SHR_U128, SHR_I128}, [SETT__LT] = {LT_U128, LT_I128},
    [SETT__LE] = {LE_U128, LE_I128}, [SETT__ABS] = {NULL, ABS}};
static const sett__row_fn convert[SETT__N_DTYPES][2] = { /* from, to */
    [SETT_BOOL] = {FROM_U8, ANY}, [SETT_I8] = {FROM_I8, TO_U8}, [SETT_I16] = {FROM_I16, TO_U16},
    [SETT_I32] = {FROM_I32, TO_U32}, [SETT_I64] = {FROM_I64, TO_U64}, [SETT_U8] = {FROM_U8, TO_U8},
    [SETT_U16] = {FROM_U16, TO_U16}, [SETT_U32] = {FROM_U32, TO_U32}, [SETT_U64] = {FROM_U64, TO_U64},
    [SETT_I128] = {KEEP, KEEP}, [SETT_U128] = {KEEP, KEEP}};

sett__row_fn sett__row_128(sett__code code, sett_dtype operands, sett_dtype to)
{
    if (code == SETT__CONVERT)
        return sett__dtype_is_wide(operands) ? convert[to][1] : convert[operands][0];
    if (code < SETT__COUNT(with_sign) && with_sign[code][0])
        return with_sign[code][operands == SETT_I128];
    return code == SETT__ABS ? ABS : bits[code];
}
