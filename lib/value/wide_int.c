/* SPDX-License-Identifier: Apache-2.0 */
/* i128 and u128 to floats and back, as expansions: neither engine nor GPU has these steps. Each rounds once. */
#include "expand.h"

static sett_val *wide_const(const sett__expand_at *a, sett_dtype d, uint64_t bits)
{
    return sett__const_bits(a->b, a->site, d, bits);
}

/* The upper 64 bits as an integer of its own. */
static sett_val *upper_half(const sett__expand_at *a, sett_val *x)
{
    return X_TO(X_SHR(x, wide_const(a, (sett_dtype)x->dtype, 64)), SETT_U64);
}

/* Of m >= 2^64, of which hi is the upper half: its 64 leading bits, the last one set where what follows them is not 0.
 * They round as all of m does; then a power of two puts them in their place. */
static sett_val *large_to_float(const sett__expand_at *a, sett_val *m, sett_val *hi, sett_dtype to, bool odd)
{
    /* Without the bits next to a higher one, hi rounds to no higher power of two. */
    sett_val *top = X_AND(hi, X_1(SETT__NOT, SETT_U64, X_SHR(hi, wide_const(a, SETT_U64, 1))));
    sett_val *e = X_SHR(X_1(SETT__BITCAST, SETT_U64, X_TO(top, SETT_F64)), wide_const(a, SETT_U64, 52));
    sett_val *moved = X_SHL(m, X_TO(X_SUB(wide_const(a, SETT_U64, 1023 + 63), e), SETT_U128));
    sett_val *rest = X_TEST(SETT__NE, X_TO(moved, SETT_U64), wide_const(a, SETT_U64, 0));
    sett_val *lead = X_OR(upper_half(a, moved), X_TO(rest, SETT_U64));
    sett_val *scale = X_SHL(X_ADD(e, wide_const(a, SETT_U64, 1)), wide_const(a, SETT_U64, 52));
    scale = sett__to(a->b, a->site, X_1(SETT__BITCAST, SETT_F64, scale), to);
    return X_MUL(X_TO(odd ? sett__odd_integer(a, lead) : lead, to), scale);
}

/* odd: of what the float does not hold a bit stays set that a later rounding sees. */
static sett_val *to_float(const sett__expand_at *a, sett_val *x, sett_dtype to, bool odd)
{
    bool sign = x->dtype == SETT_I128;
    sett_val *m = sign ? X_TO(X_1(SETT__ABS, SETT_I128, x), SETT_U128) : x, *hi = upper_half(a, m);
    sett_val *low = X_TO(m, SETT_U64), *small = X_TO(odd ? sett__odd_integer(a, low) : low, to);
    sett_val *r = X_IF(X_TEST(SETT__EQ, hi, wide_const(a, SETT_U64, 0)), small, large_to_float(a, m, hi, to, odd));
    return sign ? X_IF(X_TEST(SETT__LT, x, wide_const(a, SETT_I128, 0)), X_1(SETT__NEG, to, r), r) : r;
}

/* Truncates and saturates, NaN 0: as to the narrower integers. */
static sett_val *of_float(const sett__expand_at *a, sett_val *x, sett_dtype to)
{
    x = sett__to(a->b, a->site, x, SETT_F64);
    sett_val *m = X_ABS(x), *zero = X_REAL(0);
    sett_val *hi = X_1(SETT__TRUNC, SETT_F64, X_MUL(m, X_REAL(0x1p-64)));
    sett_val *lo = X_TO(X_FMA(hi, X_REAL(-0x1p64), m), SETT_U64); /* what is left: exact */
    sett_val *bits = X_SHL(X_TO(X_TO(hi, SETT_U64), SETT_U128), wide_const(a, SETT_U128, 64));
    bits = X_OR(bits, X_TO(lo, SETT_U128));
    if (to == SETT_U128) {
        bits = X_IF(X_TEST(SETT__GE, m, X_REAL(0x1p128)), X_1(SETT__NOT, to, wide_const(a, to, 0)), bits);
        return X_IF(X_TEST(SETT__GT, x, zero), bits, wide_const(a, to, 0));
    }
    sett_val *over = X_TEST(SETT__GE, m, X_REAL(0x1p127)), *least = X_SHL(wide_const(a, to, 1), wide_const(a, to, 127));
    bits = X_TO(bits, to);
    sett_val *below = X_IF(over, least, X_1(SETT__NEG, to, bits));
    return X_IF(X_TEST(SETT__LT, x, zero), below, X_IF(over, X_1(SETT__NOT, to, least), bits));
}

sett_val *sett__odd_wide(const sett__expand_at *a, sett_val *x)
{
    return to_float(a, x, SETT_F64, true);
}

sett_val *sett__to_wide(sett_build *b, sett_site site, sett_val *x, sett_dtype to)
{
    const sett__expand_at a = sett__at_of(b, site, SETT_F64);
    return sett__dtype_is_float(to) ? to_float(&a, x, to, false) : of_float(&a, x, to);
}
