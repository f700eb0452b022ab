/* SPDX-License-Identifier: Apache-2.0 */
/* What an operation gives for one element: the conformance tests' reference, and what is frequent of it, faster. */
#include "tests/conform/conform.h"
#include "tests/differ/differ.h"
#include <stdlib.h>
#include <string.h>

static float single_of(uint64_t bits)
{
    uint32_t u = (uint32_t)bits;
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static bool single(int code, const uint64_t *in, uint64_t *out)
{
    float x = single_of(in[0]), y = single_of(in[1]), r;
    uint32_t u;
    switch (code) {
    case SETT__ADD: r = x + y; break;
    case SETT__SUB: r = x - y; break;
    case SETT__MUL: r = x * y; break;
    case SETT__DIV: r = x / y; break;
    default: return false;
    }
    memcpy(&u, &r, sizeof u);
    *out = u;
    return true;
}

static bool integer(int code, int dtype, const uint64_t *in, uint64_t *out)
{
    uint64_t x = in[0], y = in[1], r;
    switch (code) {
    case SETT__ADD: r = x + y; break;
    case SETT__SUB: r = x - y; break;
    case SETT__MUL: r = x * y; break;
    case SETT__AND: r = x & y; break;
    case SETT__OR: r = x | y; break;
    case SETT__XOR: r = x ^ y; break;
    case SETT__EQ: *out = x == y; return true;
    case SETT__NE: *out = x != y; return true;
    default: return false;
    }
    *out = r & conform_mask((sett_dtype)dtype);
    return true;
}

uint64_t element_op(const stmt *s, int from, const uint64_t *in)
{
    uint64_t out = 0;
    const sett_dtype d = (sett_dtype)from;
    if (s->code == SETT__SELECT)
        return in[0] ? in[1] : in[2];
    if (s->code != SETT__CONVERT && !sett__dtype_is_float(d) && integer(s->code, from, in, &out))
        return out;
    if (d == SETT_F32 && single(s->code, in, &out))
        return out;
    if (!conform_reference((sett__code)s->code, d, (sett_dtype)s->dtype, in, &out)) {
        fprintf(stderr, "no reference for %s of %s\n", sett__ops[s->code].text, sett_dtype_name(d));
        abort();
    }
    return out;
}
