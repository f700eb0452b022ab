/* SPDX-License-Identifier: Apache-2.0 */
/* Division by a number that the launch supplies, without a division in the kernel (CuTe's FastDivmodDivisor): the
 * launch computes a multiplier and a shift of the divisor, and the kernel a multiply-high, an add and a shift.
 *
 *     sett_fast_divmod heads = sett_make_fast_divmod(b, H);
 *     sett_quot_rem at = sett_divmod(i, heads);    (at.quotient, at.remainder) = (i / H, i % H)
 *
 * Exact for dividends of 0 to 2^31 - 1 and divisors of 1 to 2^31 - 1. */
#ifndef SETT_DIVMOD_H
#define SETT_DIVMOD_H
#include <sett/arg.h>
#ifndef __cplusplus

/* Made by sett_make_fast_divmod; lives as long as the build. The values are NULL for a divisor that is a C number, or
 * whose value is known while building. */
typedef struct sett_fast_divmod {
    sett_build *build;
    sett_arg divisor;
    sett_val *multiplier, *shift;
} sett_fast_divmod;
typedef struct sett_quot_rem {
    sett_arg quotient, remainder;
} sett_quot_rem;

/* divisor: a C number, or an integer made of symbols, integer scalars and constants, such as sett_ceil_div(N, 128); of
 * what only the kernel knows: SETT_E_STATIC. A launch that gives less than 1 or more than 2^31 - 1 for it is refused
 * (SETT_E_RANGE), unless its grid is empty. One that is equal to an earlier one costs nothing. */
SETT_API sett_fast_divmod sett_fast_divmod_at(sett_site, sett_build *, sett_arg divisor);
#define sett_make_fast_divmod(b, divisor) sett_fast_divmod_at(SETT_HERE, b, SETT_A(divisor))

/* x: a C number, or a value of Int32 of any shape, which divides by element. It is not negative: of one that is, at run
 * time, the results are no use; one that must be is refused (SETT_E_RANGE). */
SETT_API sett_quot_rem sett_divmod_at(sett_site, sett_arg x, sett_fast_divmod);
#define sett_divmod(x, d) sett_divmod_at(SETT_HERE, SETT_A(x), d)

#endif /* __cplusplus */
#endif
