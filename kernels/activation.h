/* SPDX-License-Identifier: Apache-2.0 */
/* Activations, of Float32, and what a soft cap is made of. They are steps that are exact or correctly rounded, as fma: a GPU and the CPU engine give the same bits. */
#ifndef ACTIVATION_H
#define ACTIVATION_H
#include "kernels.h"

/* x / (1 + exp(-x)); of -inf 0. Within (5 + |x| / 2) 2^-24 of itself, and where it is below 2^-119 of that. */
sett_val *sett__silu(sett_val *);
/* x / 2 (1 + erf(x / sqrt 2)); of -inf 0. Within 2^-23 |x|; precise: within 5 2^-24 of |x|, by more than twice as many steps. */
sett_val *sett__gelu(sett_val *, bool precise);
/* x / 2 (1 + tanh(0.79788456 (x + 0.044715 x^3))); of -inf 0. Within 2^-22 |x|. */
sett_val *sett__gelu_tanh(sett_val *);
/* Within 2^-20 of itself; sett_tanh is within 2^-24, by more than twice as many steps. */
sett_val *sett__quick_tanh(sett_val *);
#endif
