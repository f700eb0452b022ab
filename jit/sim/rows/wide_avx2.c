/* SPDX-License-Identifier: Apache-2.0 */
/* The warp's arithmetic for x86-64 with AVX2, FMA and F16C, chosen at run time. The standard
 * headers come first, so that their functions keep the target of the rest of the program. */
#include "rows.h"
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#include <math.h>
#include <string.h>
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c,bmi2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,bmi2")
#endif
#ifndef __F16C__
#define __F16C__ 1
#endif
#define SETT__WIDE sett__wide_avx2
#include "wide.h"
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

const sett__wide *sett__wide_best(void)
{
    unsigned a, b, c, d;
    bool f16c = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return f16c && avx2 ? &sett__wide_avx2 : &sett__wide_base;
}
#else
const sett__wide *sett__wide_best(void)
{
    return &sett__wide_base;
}
#endif
