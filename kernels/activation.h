/* SPDX-License-Identifier: Apache-2.0 */
/* Activations, of Float32, and what a soft cap is made of. They are steps that are exact or correctly rounded, as fma: a GPU and the CPU engine give the same bits. */
#ifndef ACTIVATION_H
#define ACTIVATION_H
#include "kernels.h"

/* x / (1 + exp(-x)); of -inf 0. Within (5 + |x| / 2) 2^-24 of itself, and where it is below 2^-119 of that. */
sett_val *sett__silu(sett_val *);
/* x / 2 (1 + erf(x / sqrt 2)), which is to be rounded to d. Of f32 it is within 5 2^-24 |x|; by fewer steps within 2^-16 |x| of f16, and within 2^-13 |x| of other
 * types, a 32nd of what their rounding leaves. Of -inf it is 0. */
sett_val *sett__gelu(sett_val *, sett_dtype d);
/* x / 2 (1 + tanh(0.79788456 (x + 0.044715 x^3))), as well; of f32 within 2^-22 |x|. */
sett_val *sett__gelu_tanh(sett_val *, sett_dtype d);
/* exp(-x) of x from 0 on: within 2^-23 of itself, and 0 from 88 on; of NaN 0. */
sett_val *sett__exp_below(sett_val *x);
/* Within 2^-20 of itself; sett_tanh is within 2^-24, by more than twice as many steps. */
sett_val *sett__quick_tanh(sett_val *);
#endif
