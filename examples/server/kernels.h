/* SPDX-License-Identifier: Apache-2.0 */
/* The model, in C: the bodies of its kernels, what they are made with, and the same in plain C.
 *
 *     h = max(x w1 + b1, 0)    z = h w2 + b2    y = x + scale z     x, h, z, y: rows of WIDTH floats */
#ifndef SERVER_KERNELS_H
#define SERVER_KERNELS_H
#include <sett/sett.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { WIDTH = 64, MAX_ROWS = 16 };
typedef struct weights {
    uint32_t version;
    float w1[WIDTH * WIDTH], b1[WIDTH], w2[WIDTH * WIDTH], b2[WIDTH], scale;
} weights;
void weights_of(uint32_t version, weights *);

typedef struct dense_options {
    int32_t width, relu;
} dense_options;
/* Bodies are opaque to C++: a sett_body is a C function. */
void dense(sett_build *, const void *dense_options);
void residual(sett_build *, const void *dense_options);

/* y of `rows` rows, every operation rounded as the kernels round it: the answers are equal bit by bit. */
void reference(const weights *, const float *x, float *y, int rows);

#ifdef __cplusplus
}
#endif
#endif
