/* SPDX-License-Identifier: Apache-2.0 */
/* Division by a number that the launch supplies, without a division in the kernel (CuTe's FastDivmodDivisor).
 * The launch computes a multiplier and a shift from the divisor; the kernel uses a multiply-high, an add and
 * a shift.
 *
 *     sett_fast_divmod heads = sett_make_fast_divmod(b, H);
 *     sett_quot_rem at = sett_divmod(i, heads);    (at.quotient, at.remainder) = (i / H, i % H)
 *
 * Exact for dividends from 0 to 2^31 - 1 and divisors from 1 to 2^31 - 1. */
#ifndef SETT_DIVMOD_H
#define SETT_DIVMOD_H
#include <sett/arg.h>
#ifndef __cplusplus

/* A divisor; lives as long as the build. multiplier and shift are NULL if the divisor's value is known while
 * building. */
typedef struct sett_fast_divmod {
    sett_build *build;
    sett_arg divisor;
    sett_val *multiplier, *shift;
} sett_fast_divmod;
typedef struct sett_quot_rem {
    sett_arg quotient, remainder;
} sett_quot_rem;

/* divisor: a C number, or made of symbols, integer scalars and constants, such as sett_ceil_div(N, 128).
 * SETT_E_STATIC: only the kernel knows it. SETT_E_RANGE: a launch gives it a value below 1 or above 2^31 - 1,
 * unless the grid is empty. A divisor that equals an earlier one costs nothing. */
SETT_API sett_fast_divmod sett_fast_divmod_at(sett_site, sett_build *, sett_arg divisor);
#define sett_make_fast_divmod(b, divisor) sett_fast_divmod_at(SETT_HERE, b, SETT_A(divisor))

/* x: a C number, or an Int32 value of any shape, which is divided element by element. x must not be negative:
 * SETT_E_RANGE if it is known to be, else the result is not specified. */
SETT_API sett_quot_rem sett_divmod_at(sett_site, sett_arg x, sett_fast_divmod);
#define sett_divmod(x, d) sett_divmod_at(SETT_HERE, SETT_A(x), d)

#endif /* __cplusplus */
#endif
