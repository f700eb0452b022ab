/* SPDX-License-Identifier: Apache-2.0 */
/* Bits of integers, as value.h has them: popc, clz and brev are operations, the others are made of those there are. Shifts
 * by the width or more give 0 or the sign, which is what PTX says of a field that leaves the word. */
#include "value.h"

/* Are all n operands integers of at most `most` bits and at least `least`, and of one type? */
static bool integers(sett_site site, const char *func, int least, int most, int n, sett_val *const *x)
{
    for (int i = 0; i < n; i++) {
        if (!sett__use_val(sett__home(x[0]), site, func, x[i]))
            return false;
        sett_build *b = x[i]->head.b;
        sett_dtype d = (sett_dtype)x[i]->dtype;
        int bits = sett_dtype_bits(d);
        SETT__FAIL_IF(b, site, func, !sett__dtype_is_int(d) || bits < least || bits > most, false, SETT_E_DTYPE,
            "it takes integers of %d to %d bits, not %s", least, most, sett_dtype_name(d));
        SETT__FAIL_IF(b, site, func, d != (sett_dtype)x[0]->dtype, false, SETT_E_DTYPE, "%s beside %s: it takes one type",
            sett_dtype_name(d), sett_dtype_name((sett_dtype)x[0]->dtype));
    }
    return true;
}

typedef struct at { sett_site site; const char *func; } at; /* of the call at hand: handed on, not copied each time */

static sett_val *record_binary(const at *a, sett_binary_op code, sett_val *x, sett_val *y)
{
    return sett_binary_at(a->site, a->func, code, sett_arg_v(x), sett_arg_v(y));
}
static sett_val *op_number(const at *a, sett_binary_op code, sett_val *x, int64_t y)
{
    return sett_binary_at(a->site, a->func, code, sett_arg_v(x), sett_arg_i(y));
}
static sett_val *from_number(const at *a, int64_t x, sett_val *y) /* x - y */
{
    return sett_binary_at(a->site, a->func, SETT_SUB, sett_arg_i(x), sett_arg_v(y));
}
static sett_val *not_bits(const at *a, sett_val *x)
{
    return sett_unary_at(a->site, a->func, SETT_NOT, x);
}
static sett_val *to(const at *a, sett_val *x, sett_dtype d)
{
    return sett_to_at(a->site, x, d);
}
static sett_val *bits_as(const at *a, sett_val *x, sett_dtype d)
{
    return sett_bitcast_at(a->site, x, d);
}
static sett_val *select_or_zero(const at *a, sett_val *cond, sett_val *x, sett_val *y) /* x NULL: 0 */
{
    return sett_where_at(a->site, cond, x ? sett_arg_v(x) : sett_arg_i(0), sett_arg_v(y));
}
static sett_val *one_like(const at *a, sett_val *x) /* 1 as x's type */
{
    return sett__const_bits(x->head.b, a->site, (sett_dtype)x->dtype, 1);
}
#define OP(code, x, y) record_binary(&a, SETT_##code, x, y)
#define OPI(code, x, n) op_number(&a, SETT_##code, x, n)

/* The count as Int32, whatever was counted in. */
sett_val *sett_count_bits_at(sett_site site, const char *func, sett_unary_op code, sett_val *x)
{
    sett_val *const in[] = {x};
    if (!integers(site, func, 8, 64, 1, in))
        return sett__poison_val_of(x);
    return sett_to_at(site, sett_unary_at(site, func, code, x), SETT_I32);
}

sett_val *sett_bfind_at(sett_site site, sett_val *x)
{
    const char *func = "sett_bfind";
    const at a = {site, func};
    sett_val *const in[] = {x};
    if (!integers(site, func, 8, 64, 1, in))
        return sett__poison_val_of(x);
    int bits = sett_dtype_bits((sett_dtype)x->dtype);
    if (sett__dtype_kind((sett_dtype)x->dtype) == 'i') /* below the sign */
        x = OP(XOR, x, OPI(SHR, x, bits - 1));
    sett_val *zeros = sett_count_bits_at(site, func, SETT_CLZ, x);
    return zeros->head.poison ? zeros : from_number(&a, bits - 1, zeros);
}

/* pos and len as the type of x; false: they are none that bits have. */
static bool field_operand(sett_site site, const char *func, const sett_val *x, sett_arg a, const char *what, sett_val **out)
{
    sett_build *b = x->head.b;
    SETT__FAIL_IF(b, site, func, a.kind == SETT_INT && (a.u.i < 0 || a.u.i > 255), false, SETT_E_RANGE, "the %s is %lld, it may be 0 to 255", what,
        (long long)a.u.i);
    if (!sett__use_arg(b, site, func, a))
        return false;
    SETT__FAIL_IF(b, site, func, a.kind != SETT_INT && a.kind != SETT_VALUE && a.kind != SETT_POISON, false, SETT_E_ARGUMENT,
        "the %s must be an integer, not %s%s", what, sett__arg_text(b, a), sett__of_tuple(a));
    sett_val *v = sett__arg_val(b, site, a);
    *out = sett_to_at(site, v, (sett_dtype)x->dtype);
    return !b->error.status;
}

sett_val *sett_bfe_at(sett_site site, sett_val *x, sett_arg pos, sett_arg len)
{
    const char *func = "sett_bfe";
    const at a = {site, func};
    sett_val *const in[] = {x}, *p, *n;
    if (!integers(site, func, 32, 64, 1, in) || !field_operand(site, func, x, pos, "position", &p) || !field_operand(site, func, x, len, "length", &n))
        return sett__poison_val_of(x);
    int bits = sett_dtype_bits((sett_dtype)x->dtype);
    if (sett__dtype_kind((sett_dtype)x->dtype) == 'u') {
        sett_val *one = one_like(&a, x);
        return OP(AND, OP(SHR, x, p), OPI(SUB, OP(SHL, one, n), 1));
    }
    sett_val *end = OPI(MIN, OP(ADD, p, n), bits), *left = from_number(&a, bits, end);
    sett_val *r = OP(SHR, OP(SHL, x, left), OP(ADD, left, p));
    return select_or_zero(&a, OPI(EQ, n, 0), NULL, r);
}

sett_val *sett_bfi_at(sett_site site, sett_val *bits, sett_val *x, sett_arg pos, sett_arg len)
{
    const char *func = "sett_bfi";
    const at a = {site, func};
    sett_val *const in[] = {x, bits}, *p, *n;
    if (!integers(site, func, 32, 64, 2, in) || !field_operand(site, func, x, pos, "position", &p) || !field_operand(site, func, x, len, "length", &n))
        return sett__poison_val_of(x ? x : bits);
    sett_val *one = one_like(&a, x);
    sett_val *mask = OP(SHL, OPI(SUB, OP(SHL, one, n), 1), p);
    return OP(OR, OP(AND, x, not_bits(&a, mask)), OP(AND, OP(SHL, bits, p), mask));
}

/* Integers twice as wide. */
static sett_dtype twice_as_wide(sett_dtype d)
{
    static const sett_dtype wide[] = {[SETT_I8] = SETT_I16, [SETT_I16] = SETT_I32, [SETT_I32] = SETT_I64, [SETT_I64] = SETT_I128,
        [SETT_U8] = SETT_U16, [SETT_U16] = SETT_U32, [SETT_U32] = SETT_U64, [SETT_U64] = SETT_U128};
    return wide[d];
}

sett_val *sett_mul_wide_at(sett_site site, const char *func, sett_val *x, sett_val *y)
{
    const at a = {site, func};
    sett_val *const in[] = {x, y};
    if (!integers(site, func, 8, 64, 2, in))
        return sett__poison_val_of(x ? x : y);
    sett_dtype twice_as = twice_as_wide((sett_dtype)x->dtype);
    sett_val *wide = to(&a, x, twice_as);
    return OP(MUL, wide, to(&a, y, twice_as));
}

sett_val *sett_mul_hi_at(sett_site site, sett_val *x, sett_val *y)
{
    const char *func = "sett_mul_hi";
    const at a = {site, func};
    sett_val *p = sett_mul_wide_at(site, func, x, y);
    if (!p || p->head.poison)
        return p;
    sett_dtype d = (sett_dtype)x->dtype;
    return to(&a, OPI(SHR, p, sett_dtype_bits(d)), d);
}

sett_val *sett_mul24_at(sett_site site, const char *func, sett_val *x, sett_val *y)
{
    const at a = {site, func};
    sett_val *const in[] = {x, y};
    if (!integers(site, func, 32, 32, 2, in))
        return sett__poison_val_of(x ? x : y);
    sett_val *low = OPI(SHR, OPI(SHL, x, 8), 8);
    return OP(MUL, low, OPI(SHR, OPI(SHL, y, 8), 8));
}

/* The sum wraps to the other side if both have the sign that it has not; a difference if they differ. */
sett_val *sett_saturate_at(sett_site site, const char *func, sett_val *x, sett_val *y, bool sub)
{
    const at a = {site, func};
    sett_val *const in[] = {x, y};
    if (!integers(site, func, 8, 64, 2, in))
        return sett__poison_val_of(x ? x : y);
    sett_dtype d = (sett_dtype)x->dtype;
    int bits = sett_dtype_bits(d);
    sett_val *r = sub ? OP(SUB, x, y) : OP(ADD, x, y);
    if (sett__dtype_kind(d) == 'u')
        return sub ? select_or_zero(&a, OP(LT, x, y), NULL, r) : select_or_zero(&a, OP(LT, r, x), not_bits(&a, OP(XOR, r, r)), r);
    sett_val *over = OP(AND, OP(XOR, r, x), sub ? OP(XOR, x, y) : OP(XOR, r, y));
    sett_val *most = sett__const_bits(x->head.b, site, d, (UINT64_C(1) << (bits - 1)) - 1);
    return select_or_zero(&a, OPI(LT, over, 0), OP(XOR, OPI(SHR, x, bits - 1), most), r);
}

/* Of two operands by a table of four bits: bit 2y + z of the table. */
static sett_val *of_two(sett_site site, sett_val *y, sett_val *z, unsigned table)
{
    const char *func = "sett_lop3";
    const at a = {site, func};
    sett_val *zero = OP(XOR, y, y), *r;
    bool odd = table & 1; /* then it is the complement of one that is not */
    switch (odd ? ~table & 15 : table & 15) {
    case 0: r = zero; break;
    case 2: r = OP(AND, not_bits(&a, y), z); break;
    case 4: r = OP(AND, y, not_bits(&a, z)); break;
    case 6: r = OP(XOR, y, z); break;
    case 8: r = OP(AND, y, z); break;
    case 10: r = z; break;
    case 12: r = y; break;
    default: r = OP(OR, y, z); break;
    }
    return odd ? not_bits(&a, r) : r;
}

/* With x 0: table's low half; where x is 1, what differs is turned. The assembler makes one lop3 of it. */
sett_val *sett_lop3_at(sett_site site, sett_val *x, sett_val *y, sett_val *z, int lut)
{
    const char *func = "sett_lop3";
    const at a = {site, func};
    sett_val *const in[] = {x, y, z};
    if (!integers(site, func, 8, 64, 3, in))
        return sett__poison_val_of(x ? x : y ? y : z);
    SETT__FAIL_IF(x->head.b, site, func, lut < 0 || lut > 255, sett__poison_val_of(x), SETT_E_RANGE, "the table is %d, it may be 0 to 255", lut);
    unsigned low = (unsigned)lut & 15, turn = low ^ (unsigned)lut >> 4;
    sett_val *r = of_two(site, y, z, low);
    return turn ? OP(XOR, OP(AND, x, of_two(site, y, z, turn)), r) : r;
}

sett_val *sett_shf_at(sett_site site, const char *func, sett_val *lo, sett_val *hi, sett_arg by, bool left)
{
    const at a = {site, func};
    sett_val *const in[] = {lo, hi}, *n;
    if (!integers(site, func, 32, 32, 2, in) || !field_operand(site, func, lo, by, "amount", &n))
        return sett__poison_val_of(lo ? lo : hi);
    sett_dtype d = (sett_dtype)lo->dtype;
    sett_val *x = bits_as(&a, lo, SETT_U32), *y = bits_as(&a, hi, SETT_U32);
    n = OPI(AND, bits_as(&a, n, SETT_U32), 31);
    sett_val *rest = from_number(&a, 32, n);
    sett_val *r = left ? OP(OR, OP(SHL, y, n), OP(SHR, x, rest)) : OP(OR, OP(SHR, x, n), OP(SHL, y, rest));
    return bits_as(&a, r, d);
}

sett_val *sett_prmt_at(sett_site site, sett_val *x, sett_val *y, sett_arg selector)
{
    const char *func = "sett_prmt";
    const at a = {site, func};
    sett_val *const in[] = {x, y}, *s, *r = NULL;
    if (!integers(site, func, 32, 32, 2, in))
        return sett__poison_val_of(x ? x : y);
    SETT__FAIL_IF(x->head.b, site, func, selector.kind == SETT_INT && (selector.u.i < 0 || selector.u.i > 0xffff), sett__poison_val_of(x), SETT_E_RANGE,
        "the selector is %lld, it has four digits of 4 bits", (long long)selector.u.i);
    if (selector.kind == SETT_INT)
        s = sett__const_bits(x->head.b, site, SETT_U32, (uint64_t)selector.u.i);
    else if (field_operand(site, func, x, selector, "selector", &s))
        s = bits_as(&a, s, SETT_U32);
    else
        return sett__poison_val_of(x);
    sett_val *low = to(&a, bits_as(&a, x, SETT_U32), SETT_U64), *high = to(&a, bits_as(&a, y, SETT_U32), SETT_U64);
    sett_val *bytes = OP(OR, low, OPI(SHL, high, 32));
    for (int i = 0; i < 4; i++) {
        sett_val *digit = OPI(SHR, s, 4 * i), *place = to(&a, OPI(SHL, OPI(AND, digit, 7), 3), SETT_U64);
        sett_val *byte = OPI(AND, to(&a, OP(SHR, bytes, place), SETT_U32), 255);
        sett_val *sign = OPI(MUL, OPI(SHR, byte, 7), 255);
        byte = select_or_zero(&a, OPI(NE, OPI(AND, digit, 8), 0), sign, byte);
        r = r ? OP(OR, r, OPI(SHL, byte, 8 * i)) : byte;
    }
    return bits_as(&a, r, (sett_dtype)x->dtype);
}
