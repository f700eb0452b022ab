/* SPDX-License-Identifier: Apache-2.0 */
/* The static texts of objects: what CuTe's print shows while a kernel is traced. */
#include "print.h"

/* As CuTe shows the shape of a value: (3, 4), (4,), 4. */
static void put_shape(sett__sink *s, sett_arg shape)
{
    if (shape.kind != SETT_NODE) {
        sett__put_int(s, shape.u.i);
        return;
    }
    sett__put(s, "(");
    for (int i = 0; i < shape.rank; i++) {
        sett__put(s, i ? ", " : "");
        put_shape(s, shape.u.kid[i]);
    }
    sett__put(s, shape.rank == 1 ? ",)" : ")");
}

/* Of a number alone the width is told beside its divisibility only. */
static void put_number(sett__sink *s, const sett_val *v)
{
    sett__put(s, "?");
    if (v->div > 1 && sett__dtype_is_int((sett_dtype)v->dtype))
        sett__putf(s, sett_dtype_bits((sett_dtype)v->dtype) == 64 ? "{i64 div=%lld}" : "{div=%lld}", (long long)v->div);
}

int sett_val_str(const sett_val *v, char *buf, size_t size)
{
    sett__sink s = {.buf = buf, .cap = size};
    if (size)
        *buf = 0;
    if (!sett__lives("sett_val_str", v, SETT__K_VAL) || v->head.poison) {
        sett__put(&s, "?");
    } else if (v->scalar) {
        put_number(&s, v);
    } else {
        sett_dtype d = (sett_dtype)v->dtype;
        sett__putf(&s, "tensor_value<vector<%ux%s> o ", (unsigned)v->n, d == SETT_BOOL ? "i1" : sett__memory_type(d));
        put_shape(&s, v->shape);
        sett__put(&s, ">");
    }
    return (int)s.len;
}

static int text_into(sett_arg a, char *buf, size_t size)
{
    switch (a.kind) {
    case SETT_VALUE:
        return a.path ? sett__arg_str(a, buf, size) : sett_val_str(a.u.v, buf, size);
    case SETT_TENSOR:
        return sett_tensor_str(a.u.t, buf, size);
    default:
        return sett__arg_str(a, buf, size);
    }
}

const char *sett_text_at(sett_site site, sett_build *b, sett_arg a)
{
    b = sett__given(b, site, "sett_text");
    const sett__ctx c = {b, site, "sett_text"};
    if (!b)
        return "";
    bool ok = a.kind == SETT_TENSOR ? sett__use_tensor(b, site, c.func, a.u.t) : sett__use_arg(b, site, c.func, a);
    if (!ok)
        return "";
    int n = text_into(a, NULL, 0);
    SETT__FAIL_IF(b, site, c.func, n < 0 || n >= SETT__RESERVE, "", SETT_E_LIMIT, "the text has %d bytes", n);
    char *text = sett__new(b, (size_t)n + 1);
    text_into(a, text, (size_t)n + 1);
    return text;
}
