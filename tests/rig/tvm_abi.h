/* SPDX-License-Identifier: Apache-2.0 */
/* The C ABI 0.1 of apache-tvm-ffi as far as tests speak it, written down apart from jit/launch/tvm.c: a value, and the object of a
 * tensor. Include a DLTensor first. */
#ifndef SETT_TESTS_TVM_ABI_H
#define SETT_TESTS_TVM_ABI_H
#include <stdint.h>

typedef struct any {
    int32_t type;
    uint32_t zero;
    union {
        int64_t i;
        double f;
        void *p;
    } u;
} any;
typedef struct object { /* of a tensor */
    uint64_t references;
    int32_t type;
    uint32_t padding;
    void (*deleter)(void *, int);
    DLTensor tensor;
} object;
#endif
