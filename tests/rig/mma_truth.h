/* SPDX-License-Identifier: Apache-2.0 */
/* What a tensor core gives, one element at a time and as simply as it can be said: the measured rules, and nothing of the library but
 * the names of types. What the CPU engine computes is compared with it. */
#ifndef SETT_TESTS_MMA_TRUTH_H
#define SETT_TESTS_MMA_TRUTH_H
#include <sett/base.h>

typedef struct truth {
    sett_dtype a, b, c;
    int k, group, keep, fraction, floor; /* of floats; keep: F of the rules */
    bool split, clamp;
} truth;
/* The rules of a machine for operands and a result of these types; group: wgmma. */
truth truth_of(int sm, bool group, sett_dtype a, sett_dtype b, sett_dtype c, int k);
/* Bits in, bits out. */
uint64_t truth_element(const truth *, const uint64_t *a, const uint64_t *b, uint64_t c);

#endif
