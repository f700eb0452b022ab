/* SPDX-License-Identifier: Apache-2.0 */
/* sett_printf: a CuTe format becomes a C format with one conversion an operand. What is static is written into the text
 * here; what is dynamic travels as I32, U32, I64, U64 or F64, so that the engines need no types. A tensor ends the text
 * so far: its elements are printed by a loop. */
#include "print.h"
#include <string.h>

enum { MAX_TEXT = 4096, MAX_OPERANDS = SETT__MAX_PRINT };

typedef struct writer {
    const sett__ctx *c;
    char text[MAX_TEXT];
    size_t len;
    uint32_t id[MAX_OPERANDS];
    int n;
} writer;

static bool put_bytes(writer *w, const char *s, size_t n)
{
    const sett__ctx *c = w->c;
    SETT__FAIL_IF(c->b, c->site, c->func, n >= MAX_TEXT - w->len, false, SETT_E_LIMIT, "the text is longer than %d bytes", MAX_TEXT - 1);
    memcpy(w->text + w->len, s, n);
    w->len += n;
    w->text[w->len] = 0;
    return true;
}

static bool puts_to(writer *w, const char *s)
{
    return put_bytes(w, s, strlen(s));
}

/* Text that the kernel will read as a format. */
static bool put_literal(writer *w, const char *s)
{
    for (; *s; s++)
        if (!(*s == '%' ? put_bytes(w, "%%", 2) : put_bytes(w, s, 1)))
            return false;
    return true;
}

/* ---- operands ------------------------------------------------------------------- */
static sett_dtype travels_as(sett_dtype d, bool wide)
{
    if (sett__dtype_is_float(d))
        return SETT_F64;
    bool is_unsigned = sett__dtype_kind(d) == 'u';
    if (wide || sett_dtype_bits(d) == 64)
        return is_unsigned ? SETT_U64 : SETT_I64;
    return is_unsigned ? SETT_U32 : SETT_I32;
}

static const sett_val *scalar(writer *w, sett_arg a)
{
    const sett__ctx *c = w->c;
    const sett_val *v = sett__materialise(c->site, a.u.v);
    SETT__FAIL_IF(c->b, c->site, c->func, !v->scalar && !v->head.poison, NULL, SETT_E_RANK,
        "a value of shape %s has no one number: sett_print_tensor prints it", sett__arg_text(c->b, v->shape));
    if (sett__dtype_kind((sett_dtype)v->dtype) == 's') /* only stored: as the number that it is */
        v = sett__to(c->b, c->site, (sett_val *)(uintptr_t)v, v->dtype == SETT_I4 ? SETT_I32 : SETT_F32);
    return c->b->error.status ? NULL : v;
}

static bool add_operand(writer *w, const sett_val *v, bool wide)
{
    const sett__ctx *c = w->c;
    SETT__FAIL_IF(c->b, c->site, c->func, w->n >= MAX_OPERANDS, false, SETT_E_LIMIT, "more than %d dynamic numbers are to be printed",
        MAX_OPERANDS);
    v = sett__to(c->b, c->site, (sett_val *)(uintptr_t)v, travels_as((sett_dtype)v->dtype, wide));
    w->id[w->n++] = v->id;
    return !c->b->error.status;
}

/* Integers of 128 bits show their bits. */
static bool put_wide(writer *w, const sett_val *v)
{
    const sett__ctx *c = w->c;
    sett_val *x = (sett_val *)(uintptr_t)v, *half = sett__const_bits(c->b, c->site, (sett_dtype)v->dtype, 64);
    sett_val *hi = sett__to(c->b, c->site, sett__op2(c->b, c->site, SETT__SHR, 0, x, half), SETT_U64);
    return puts_to(w, "0x%016llx%016llx") && add_operand(w, hi, false) && add_operand(w, sett__to(c->b, c->site, x, SETT_U64), false);
}

/* ---- `{}` --------------------------------------------------------------------------- */
static bool put_value(writer *w, sett_arg a)
{
    const sett_val *v = scalar(w, a);
    if (!v)
        return false;
    if (sett__dtype_is_wide((sett_dtype)v->dtype))
        return put_wide(w, v);
    sett_dtype as = travels_as((sett_dtype)v->dtype, false);
    const char *spec = as == SETT_F64 ? "%f" : as == SETT_I64 ? "%lld" : as == SETT_U64 ? "%llu" : as == SETT_U32 ? "%u" : "%d";
    return puts_to(w, spec) && add_operand(w, v, false);
}

static bool put_arg(writer *w, sett_arg a, bool inside);

static bool put_layout(writer *w, const sett_layout *l)
{
    char text[64];
    if (l->has_inner == 1 && l->bits) { /* S<0,..> moves nothing and is not shown */
        snprintf(text, sizeof text, "S<%d,%d,%d> o ", l->bits, l->base, l->shift);
        if (!puts_to(w, text) || !put_arg(w, l->offset, true) || !puts_to(w, " o "))
            return false;
    } else if (l->has_inner == 2) {
        if (!put_layout(w, l->inner) || !puts_to(w, " o ") || !put_arg(w, l->offset, true) || !puts_to(w, " o "))
            return false;
    }
    return put_arg(w, l->shape, true) && puts_to(w, ":") && put_arg(w, l->stride, true);
}

/* 1@0@1: the innermost mode first, which is the highest nibble. */
static bool put_path(writer *w, uint32_t path)
{
    char text[16];
    for (int shift = 28; shift >= 0; shift -= 4)
        if (path >> shift & 15) {
            snprintf(text, sizeof text, "@%u", (path >> shift & 15) - 1);
            if (!puts_to(w, text))
                return false;
        }
    return true;
}

static bool put_tuple(writer *w, sett_arg a)
{
    bool ok = puts_to(w, "(");
    for (int i = 0; ok && i < a.rank; i++)
        ok = (!i || puts_to(w, ",")) && put_arg(w, a.u.kid[i], true);
    return ok && puts_to(w, ")");
}

/* A tuple with a layout in it: [(2,3):(1,2);4:1], a number being the layout of so many in a row. */
static bool put_tiler(writer *w, sett_arg a)
{
    if (a.kind != SETT_NODE)
        return put_arg(w, a, true) && (a.kind == SETT_LAYOUT || a.kind == SETT_SLICE || puts_to(w, ":1"));
    bool ok = puts_to(w, "[");
    for (int i = 0; ok && i < a.rank; i++)
        ok = (!i || puts_to(w, ";")) && put_tiler(w, a.u.kid[i]);
    return ok && puts_to(w, "]");
}

/* Records what was written so far. */
static bool flush_text(writer *w)
{
    const sett__ctx *c = w->c;
    if (w->len)
        sett__record(c->b, c->site, &(sett__emit){.code = SETT__PRINTF, .imm = sett__intern(c->b, w->text), .n_args = w->n, .args = w->id});
    w->len = 0;
    w->n = 0;
    return !c->b->error.status;
}

static bool put_arg(writer *w, sett_arg a, bool inside)
{
    const sett__ctx *c = w->c;
    char text[512];
    bool fraction = a.kind == SETT_FLOAT || (a.kind == SETT_VALUE && (sett__dtype_is_float((sett_dtype)a.u.v->dtype) || sett__dtype_kind((sett_dtype)a.u.v->dtype) == 's'));
    SETT__FAIL_IF(c->b, c->site, c->func, inside && fraction, false, SETT_E_DTYPE, "a tuple holds integers, not floats");
    switch (a.kind) {
    case SETT_INT:
        snprintf(text, sizeof text, "%lld", (long long)a.u.i);
        return puts_to(w, text) && put_path(w, a.path);
    case SETT_FLOAT:
        snprintf(text, sizeof text, "%f", a.u.f);
        return puts_to(w, text);
    case SETT_VALUE:
        return put_value(w, a) && put_path(w, a.path);
    case SETT_LAYOUT:
        return put_layout(w, a.u.l);
    case SETT_SLICE:
        return puts_to(w, "_");
    case SETT_TENSOR:
        return flush_text(w) && sett__print_memory(c, a.u.t);
    default:
        return sett__has_layout(a) ? put_tiler(w, a) : put_tuple(w, a);
    }
}

/* ---- C conversions ---------------------------------------------------------------------- */
typedef struct spec {
    size_t head, len; /* flags, width and precision; all of it */
    int longs, shorts; /* of l ll z j t, and of h */
    char conv;
} spec;

/* A conversion at s[0] == '%'; false: the sign stands for itself, as in CuTe. */
static bool parse_spec(const char *s, spec *out)
{
    size_t i = 1;
    *out = (spec){0};
    i += strspn(s + i, "-+ #0");
    i += strspn(s + i, "0123456789");
    if (s[i] == '.')
        i += 1 + strspn(s + i + 1, "0123456789");
    out->head = i;
    for (; s[i] && strchr("lzjt", s[i]); i++)
        out->longs++;
    for (; s[i] == 'h'; i++)
        out->shorts++;
    out->conv = s[i];
    out->len = i + 1;
    return s[i] && strchr("diuxXocfFeEgGaAps", s[i]) && out->longs < 3 && out->shorts < 3 && i < 32;
}

static bool check_spec(writer *w, const char *s, const spec *p, int at, sett_dtype d)
{
    const sett__ctx *c = w->c;
    int len = (int)p->len;
    SETT__FAIL_IF(c->b, c->site, c->func, p->conv == 's', false, SETT_E_ARGUMENT, "%.*s: a kernel has no strings", len, s);
    bool wants = strchr("fFeEgGaA", p->conv) != NULL, fraction = sett__dtype_is_float(d);
    SETT__FAIL_IF(c->b, c->site, c->func, wants != fraction, false, SETT_E_DTYPE, "%.*s takes %s; operand %d is %s", len, s,
        wants ? "a float" : "an integer", at, sett_dtype_name(d));
    SETT__FAIL_IF(c->b, c->site, c->func, sett__dtype_is_wide(d), false, SETT_E_DTYPE, "%.*s takes up to 64 bits and operand %d is %s: use {}",
        len, s, at, sett_dtype_name(d));
    bool narrow = sett_dtype_bits(d) == 64 && !fraction && !p->longs && p->conv != 'p';
    SETT__FAIL_IF(c->b, c->site, c->func, narrow, false, SETT_E_DTYPE, "%.*s takes 32 bits and the operand has 64: use %%ll%c", len, s, p->conv);
    return true;
}

/* The conversion as the kernel gets it: 64-bit integers are always long long. */
static void c_spec(char out[64], const char *s, const spec *p, bool wide)
{
    if (p->conv == 'p')
        snprintf(out, 64, "0x%%llx");
    else
        snprintf(out, 64, "%.*s%s%c", (int)p->head, s, wide ? "ll" : p->shorts == 2 ? "hh" : p->shorts ? "h" : "", p->conv);
}

static bool put_converted(writer *w, const char *s, const spec *p, int at, sett_arg a)
{
    const sett__ctx *c = w->c;
    char form[64], text[512];
    SETT__FAIL_IF(c->b, c->site, c->func, a.kind != SETT_INT && a.kind != SETT_FLOAT && a.kind != SETT_VALUE, false, SETT_E_ARGUMENT,
        "%.*s takes a number, not %s: use {}", (int)p->len, s, sett__arg_text(c->b, a));
    if (a.kind == SETT_VALUE) {
        const sett_val *v = scalar(w, a);
        if (!v)
            return false;
        sett_dtype d = (sett_dtype)v->dtype;
        if (!check_spec(w, s, p, at, d))
            return false;
        bool wide = !sett__dtype_is_float(d) && (p->longs || p->conv == 'p');
        c_spec(form, s, p, wide);
        return puts_to(w, form) && add_operand(w, v, wide);
    }
    bool fits = a.kind != SETT_INT || (a.u.i >= INT32_MIN && a.u.i <= UINT32_MAX);
    if (!check_spec(w, s, p, at, a.kind == SETT_FLOAT ? SETT_F32 : fits ? SETT_I32 : SETT_I64))
        return false;
    bool wide = a.kind == SETT_INT && (p->longs || p->conv == 'p');
    c_spec(form, s, p, wide);
    if (a.kind == SETT_FLOAT)
        snprintf(text, sizeof text, form, a.u.f);
    else if (wide)
        snprintf(text, sizeof text, form, (long long)a.u.i);
    else
        snprintf(text, sizeof text, form, (int)a.u.i);
    return put_literal(w, text);
}

/* ---- the format ----------------------------------------------------------------------------- */
static bool put_percent(writer *w, const char **s, const sett_arg *arg, int *used)
{
    spec p;
    if ((*s)[1] == '%') {
        *s += 2;
        return put_bytes(w, "%%", 2);
    }
    if (!parse_spec(*s, &p)) {
        *s += 1;
        return put_bytes(w, "%%", 2);
    }
    int at = (*used)++;
    bool ok = put_converted(w, *s, &p, at, arg[at]);
    *s += p.len;
    return ok;
}

/* Marks for operands in a format: `{}` and C conversions. */
static int count_marks(const char *s)
{
    int n = 0;
    spec p;
    while (*s) {
        bool braces = s[0] == '{' && s[1] == '}', conversion = s[0] == '%' && s[1] != '%' && parse_spec(s, &p);
        n += braces || conversion;
        s += braces ? 2 : conversion ? (int)p.len : s[0] == '%' && s[1] == '%' ? 2 : 1;
    }
    return n;
}

/* CuTe keeps surplus `{}` as text and drops surplus operands: there is no use for either. */
static bool check_marks(const sett__ctx *c, const char *s, int n)
{
    int want = count_marks(s);
    SETT__FAIL_IF(c->b, c->site, c->func, want != n, false, SETT_E_ARGUMENT,
        "%d operand%s for %d mark%s: {} and C conversions are marks, {0} and {:d} are text", n, n == 1 ? "" : "s", want,
        want == 1 ? "" : "s");
    return true;
}

static bool put_format(writer *w, const char *s, int n, const sett_arg *arg)
{
    int used = 0;
    bool ok = check_marks(w->c, s, n);
    while (ok && *s) {
        if (s[0] == '{' && s[1] == '}') {
            ok = put_arg(w, arg[used++], false);
            s += 2;
        } else if (*s == '%') {
            ok = put_percent(w, &s, arg, &used);
        } else {
            ok = put_bytes(w, s++, 1);
        }
    }
    return ok;
}

const char *sett__format(
    const sett__ctx *c, const char *format, int n, const sett_arg *arg, uint32_t id[SETT__MAX_PRINT], int *n_id)
{
    writer w = {.c = c};
    for (int i = 0; i < n; i++) {
        SETT__FAIL_IF(c->b, c->site, c->func, arg[i].kind == SETT_TENSOR, NULL, SETT_E_ARGUMENT,
            "operand %d is a tensor, which only sett_printf prints", i);
        if (!sett__use_arg(c->b, c->site, c->func, arg[i]))
            return NULL;
    }
    if (!(n < 0 ? put_literal(&w, format) : put_format(&w, format, n, arg)))
        return NULL;
    char *text = sett__new(c->b, w.len + 1);
    memcpy(text, w.text, w.len + 1);
    memcpy(id, w.id, (size_t)w.n * sizeof *id);
    *n_id = w.n;
    return text;
}

bool sett__printf(const sett__ctx *c, const char *format, int n, const sett_arg *arg)
{
    writer w = {.c = c};
    return !c->b->error.status && put_format(&w, format, n, arg) && flush_text(&w);
}

static bool use_operand(const sett__ctx *c, sett_arg a)
{
    if (a.kind == SETT_TENSOR)
        return sett__use_tensor(c->b, c->site, c->func, a.u.t);
    return sett__use_arg(c->b, c->site, c->func, a);
}

void sett_printf_n(sett_site site, sett_build *b, const char *format, int n, const sett_arg *arg)
{
    b = sett__given(b, site, "sett_printf");
    sett__ctx c = {b, site, "sett_printf"};
    writer w = {.c = &c};
    if (!b || b->error.status)
        return;
    if (n < 0 || n > MAX_OPERANDS || (!format && !n) || (n && !arg)) {
        sett__fail(b, site, c.func, SETT_E_ARGUMENT, "a format and up to %d operands are needed, not %d", MAX_OPERANDS, n);
        return;
    }
    for (int i = 0; i < n; i++)
        if (!use_operand(&c, arg[i]))
            return;
    bool ok = true;
    if (format)
        ok = put_format(&w, format, n, arg);
    for (int i = 0; ok && !format && i < n; i++) /* as CuTe without a format */
        ok = (!i || puts_to(&w, ", ")) && put_arg(&w, arg[i], false);
    if (ok && ((w.len && w.text[w.len - 1] == '\n') || put_bytes(&w, "\n", 1)))
        flush_text(&w);
}
