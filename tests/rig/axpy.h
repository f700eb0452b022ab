/* SPDX-License-Identifier: Apache-2.0 */
/* Y = a X + Y, and its reference: what the suites launch that are about launching. */
#ifndef AXPY_H
#define AXPY_H
#include <sett/launch.h>

void axpy(sett_build *, const void *unused); /* X and Y of N floats, the scalar a; blocks of 64 */
void axpy_fill(float *x, float *y, float *was, int size);
/* The first n of y took that many steps from `was`, the rest none; was follows. */
void axpy_expect(const float *x, const float *y, float *was, int size, int n, int steps, float a);
#endif
