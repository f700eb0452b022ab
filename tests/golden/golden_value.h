/* SPDX-License-Identifier: Apache-2.0 */
/* Scalar and TensorSSA results of another system against ours: records a case, then runs the
 * recorded ops one by one. Functions in a header, because the unit tests and the golden program
 * link different objects. */
#ifndef SETT_TESTS_GOLDEN_VALUE_H
#define SETT_TESTS_GOLDEN_VALUE_H
#include "lib/print/print.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CASE_OK, CASE_WRONG, CASE_SKIPPED };
static const char *value_rule; /* why the last line was left aside */
static inline int value_aside(const char *rule)
{
    value_rule = rule;
    return CASE_SKIPPED;
}

/* Where operands come from, which the goldens give at run time: constants (the default, and the bits are kept for the
 * engine), or a tensor of words that holds the kept bits. */
typedef struct value_source {
    uint64_t bits[4096];
    uint32_t n;
    sett_tensor *from;
} value_source;
static value_source value_words;

/* ---- a plain interpreter of pure ops: the elements of op `id` ------------------------- */
/* Has each operand an element for each of the op's? A changed line may record what is not computed element by element. */
static bool value_by_elements(const sett_build *b, const sett__op *op)
{
    bool fits = op->n_args <= 3;
    for (int i = 0; i < op->n_args && fits; i++) {
        const uint32_t arg = b->arg[op->args + (uint32_t)i];
        fits = arg < b->n_op && (b->op[arg].n == 1 || b->op[arg].n >= op->n);
    }
    return fits;
}

static void value_elements(sett_build *b, const sett__op *op, uint64_t **v, uint64_t *out)
{
    const uint32_t *arg = b->arg + op->args;
    sett__class cls = (sett__class)sett__ops[op->code].cls;
    uint32_t k = 0;
    sett_dtype d = op->n_args ? (sett_dtype)b->op[arg[cls == SETT__C_SELECT]].dtype : (sett_dtype)op->dtype;
    switch (cls) {
    case SETT__C_CONST:
        for (; k < op->n; k++)
            out[k] = (uint64_t)op->imm;
        return;
    case SETT__C_PICK:
        for (; k < op->n; k++)
            out[k] = v[arg[0]][b->index[op->imm + k]];
        return;
    case SETT__C_PACK:
        for (int i = 0; i < op->n_args; i++)
            for (uint32_t j = 0; j < b->op[arg[i]].n; j++)
                out[k++] = v[arg[i]][j];
        return;
    case SETT__C_REDUCE:
        out[0] = v[arg[1]][0];
        for (; k < b->op[arg[0]].n; k++)
            sett__eval((sett__code)op->sub, d, d, (const uint64_t[]){out[0], v[arg[0]][k]}, 2, &out[0]);
        return;
    default:
        for (bool fits = value_by_elements(b, op); k < op->n; k++) {
            uint64_t in[3] = {0};
            for (int i = 0; i < op->n_args && fits; i++)
                in[i] = v[arg[i]][b->op[arg[i]].n == 1 ? 0 : k];
            if (cls == SETT__C_SELECT)
                out[k] = in[0] ? in[1] : in[2];
            else if (!fits || !sett__eval((sett__code)op->code, d, (sett_dtype)op->dtype, in, op->n_args, &out[k]))
                out[k] = 0xbad;
        }
    }
}

/* What is in v already (of parameters) stays. */
static const uint64_t *value_run(sett_build *b, uint32_t id, uint64_t **v)
{
    for (uint32_t i = 0; i <= id; i++) {
        if (v[i])
            continue;
        v[i] = malloc((b->op[i].n + 1) * sizeof **v);
        value_elements(b, &b->op[i], v, v[i]);
    }
    return v[id];
}

/* ---- texts ---------------------------------------------------------------------------- */
static sett_dtype value_dtype(const char *s, size_t n)
{
    static const struct { const char *name; sett_dtype d; } names[] = {{"Boolean", SETT_BOOL}, {"Int8", SETT_I8},
        {"Int16", SETT_I16}, {"Int32", SETT_I32}, {"Int64", SETT_I64}, {"Uint8", SETT_U8}, {"Uint16", SETT_U16},
        {"Uint32", SETT_U32}, {"Uint64", SETT_U64}, {"Float16", SETT_F16}, {"BFloat16", SETT_BF16},
        {"Float32", SETT_F32}, {"Float64", SETT_F64}, {"TFloat32", SETT_TF32}, {"Float8E4M3FN", SETT_F8E4M3FN},
        {"Float8E5M2", SETT_F8E5M2}, {"Float8E8M0FNU", SETT_F8E8M0FNU}, {"Float8E4M3", SETT_F8E4M3},
        {"Float8E4M3B11FNUZ", SETT_F8E4M3B11FNUZ}, {"Float6E3M2FN", SETT_F6E3M2FN}, {"Float6E2M3FN", SETT_F6E2M3FN},
        {"Float4E2M1FN", SETT_F4E2M1FN}, {"Int4", SETT_I4}, {"Int128", SETT_I128}, {"Uint128", SETT_U128}};
    for (size_t i = 0; i < SETT__COUNT(names); i++)
        if (strlen(names[i].name) == n && !strncmp(names[i].name, s, n))
            return names[i].d;
    return (sett_dtype)0;
}

static uint64_t value_bits(sett_dtype d, const char *s)
{
    if (!strncmp(s, "nan", 3))
        return sett__bits_of_float(d, strtod("nan", NULL));
    if (!strncmp(s, "0x", 2))
        return strtoull(s, NULL, 16);
    if (d == SETT_BOOL)
        return s[0] != '0' && s[0] != 'F';
    if (!strncmp(s, "True", 4))
        s = "1";
    if (sett__dtype_is_float(d))
        return sett__bits_of_float(d, strtod(s, NULL));
    return sett__bits_of_int(d, s[0] == '-' ? strtoll(s, NULL, 10) : (int64_t)strtoull(s, NULL, 10));
}

static bool value_same(sett_dtype d, uint64_t a, uint64_t b)
{
    if (a == b || (!sett__dtype_is_float(d) && sett__dtype_kind(d) != 's'))
        return a == b;
    double x = sett__float_of_bits(d, a), y = sett__float_of_bits(d, b);
    return x != x && y != y;
}

/* A tuple with None, into the build. */
static sett_arg value_tuple(sett_build *b, const char **s)
{
    sett_arg kid[32], *keep;
    int n = 0;
    if (!strncmp(*s, "None", 4)) {
        *s += 4;
        return SETT_ALL;
    }
    if (!strncmp(*s, "True", 4)) {
        *s += 4;
        return sett_arg_i(1);
    }
    if (**s != '(') {
        const char *from = *s;
        long long i = strtoll(from, (char **)(uintptr_t)s, 10);
        return **s == '.' ? sett_arg_f(strtod(from, (char **)(uintptr_t)s)) : sett_arg_i(i);
    }
    for (++*s; **s && **s != ')' && n < 32; n++) {
        const char *before = *s;
        kid[n] = value_tuple(b, s);
        if (*s == before || (**s != ',' && **s != ')'))
            return (sett_arg){.kind = SETT_POISON};
        *s += **s == ',';
    }
    if (**s != ')')
        return (sett_arg){.kind = SETT_POISON};
    ++*s;
    keep = sett__new(b, (n + 1u) * sizeof *keep);
    memcpy(keep, kid, n * sizeof *keep);
    return sett_arg_n(n, keep);
}

/* The whole text is one. */
static sett_arg value_whole_tuple(sett_build *b, const char *s)
{
    sett_arg a = value_tuple(b, &s);
    return *s ? (sett_arg){.kind = SETT_POISON} : a;
}

static sett_val *value_const(sett_build *b, sett_dtype d, uint64_t bits)
{
    return sett__const_bits(b, (sett_site){0}, d, bits);
}

static inline sett_dtype value_word(sett_dtype d)
{
    switch (sett__dtype_bytes(d)) {
    case 1: return SETT_U8;
    case 2: return SETT_U16;
    case 4: return SETT_U32;
    default: return SETT_U64;
    }
}

static inline sett_val *value_of_word(sett_val *bits, sett_dtype d)
{
    return d == SETT_BOOL ? sett_ne(bits, 0) : sett_bitcast(sett_to(bits, value_word(d)), d);
}

static inline sett_val *value_to_word(sett_val *v)
{
    sett_dtype d = sett_val_dtype(v);
    return sett_to(d == SETT_BOOL ? v : sett_bitcast(v, value_word(d)), SETT_U64);
}

static inline sett_val *value_loaded(sett_build *b, sett_dtype d, uint32_t first, uint32_t n, bool scalar, sett_arg shape)
{
    if (scalar)
        return value_of_word(sett_at(value_words.from, first), d);
    sett_tensor *part = sett_composition(sett_domain_offset(value_words.from, first), sett_make_layout(b, SETT_T1(n)));
    return sett_reshape(value_of_word(sett_load(part), d), shape);
}

/* "shape:dtype=v,v", "Int8(-3)", "py:2": a typed value. */
static const char *value_unread; /* why an operand of the line has no reading; NULL: all have one */

/* The elements of a shape, 0 where it is none that a line's values could fill. */
static int64_t value_count(sett_arg shape)
{
    enum { MOST = 256 };
    int64_t n = 1;
    if (shape.kind != SETT_NODE)
        return shape.kind == SETT_INT && shape.u.i > 0 && shape.u.i <= MOST ? shape.u.i : 0;
    for (int i = 0; i < shape.rank && n && n <= MOST; i++)
        n *= value_count(shape.u.kid[i]);
    return n <= MOST ? n : 0;
}

static sett_val *value_operand(sett_build *b, const char *s)
{
    const char *colon = strchr(s, ':'), *eq = strchr(s, '='), *open = strchr(s, '(');
    if (!strncmp(s, "py:", 3)) {
        bool flag = s[3] == 'T' || s[3] == 'F', fraction = strpbrk(s + 3, ".en") && !flag;
        sett_dtype d = flag ? SETT_BOOL : fraction ? SETT_F32 : SETT_I32;
        return value_const(b, d, flag ? s[3] == 'T' : fraction ? sett__bits_of_float(d, strtod(s + 3, NULL)) : value_bits(d, s + 3));
    }
    if (!eq && open && open != s) {
        sett_dtype d = value_dtype(s, (size_t)(open - s));
        return d ? value_const(b, d, value_bits(d, open + 1)) : NULL;
    }
    if (!colon || !eq)
        return NULL;
    sett_dtype d = value_dtype(colon + 1, (size_t)(eq - colon - 1));
    if (!d)
        return NULL;
    uint32_t id[256], n = 0, first = value_words.n;
    for (const char *p = eq; p && n < 256; p = strchr(p + 1, ',')) {
        uint64_t bits = value_bits(d, p + 1);
        if (!value_words.from) {
            id[n] = value_const(b, d, bits)->id;
            value_words.bits[value_words.n % SETT__COUNT(value_words.bits)] = bits;
        }
        n++, value_words.n++;
    }
    bool scalar = !strncmp(s, "scalar", 6);
    sett_arg shape = scalar ? sett_arg_i(1) : value_tuple(b, &s);
    if (value_count(shape) != n) {
        value_unread = "an operand whose values do not fill its shape";
        return NULL;
    }
    if (value_words.from)
        return value_loaded(b, d, first, n, scalar, shape);
    if (scalar)
        return sett__val(b, id[0], (sett_arg){.kind = SETT_NODE}, true);
    uint32_t pack = n == 1 ? id[0] : sett__record(b, (sett_site){0},
        &(sett__emit){.code = SETT__PACK, .dtype = d, .n = n, .n_args = (int)n, .args = id});
    return sett__val(b, pack, shape, false);
}

/* ---- verdict ----------------------------------------------------------------------------- */
static int value_compare(sett_build *b, const sett_val *v, sett_arg shape, bool scalar, sett_dtype d, const char *want, char *got, size_t size)
{
    size_t at = 0;
    int verdict = CASE_OK;
    if (b->error.status) {
        snprintf(got, size, "%s", b->error.text);
        return CASE_WRONG;
    }
    if (v->scalar != scalar || (!scalar && !sett__same_shape(v->shape, shape)) || (sett_dtype)v->dtype != d)
        verdict = CASE_WRONG;
    at += (size_t)snprintf(got, size, "%s:%s ", sett__arg_text(b, v->shape), sett_dtype_name((sett_dtype)v->dtype));
    uint64_t **all = calloc(b->n_op, sizeof *all);
    const uint64_t *bits = value_run(b, v->id, all);
    for (uint32_t i = 0; i < v->n; i++) {
        if (!want || !value_same((sett_dtype)v->dtype, bits[b->op[v->id].n == 1 ? 0 : i], value_bits((sett_dtype)v->dtype, want)))
            verdict = CASE_WRONG;
        want = want ? strchr(want, ',') : NULL;
        want = want ? want + 1 : NULL;
        if (at < size)
            at += (size_t)snprintf(got + at, size - at, "%s0x%llx", i ? "," : "", (unsigned long long)bits[b->op[v->id].n == 1 ? 0 : i]);
    }
    for (uint32_t i = 0; i <= v->id; i++)
        free(all[i]);
    free(all);
    return verdict;
}

static int value_rejected(sett_build *b, char *got, size_t size)
{
    snprintf(got, size, b->error.status ? "%s" : "accepted%s", b->error.text);
    return b->error.status ? CASE_OK : CASE_WRONG;
}

static int value_op(const char *name)
{
    static const char *const names[] = {"add", "sub", "mul", "div", "floordiv", "mod", "min", "max", "and", "or", "xor", "shl",
        "shr", "lt", "le", "gt", "ge", "eq", "ne", "pow", "", "", "math_min", "math_max"};
    static const char *const signs[] = {"+", "-", "*", "/", "//", "%", "", "", "&", "|", "^", "<<", ">>", "<", "<=", ">", ">=", "==", "!=",
        "**", "", "", "", ""};
    for (int i = 0; i < (int)SETT__COUNT(names); i++)
        if (!strcmp(name, names[i]) || (*signs[i] && !strcmp(name, signs[i])))
            return i;
    return -1;
}

/* ---- numeric: op dtypeA valueA dtypeB valueB result_dtype result provenance ------------------ */
static sett_val *numeric_operand(sett_build *b, const char *dtype, const char *text)
{
    sett_dtype d = value_dtype(dtype, strlen(dtype));
    if (!strcmp(dtype, "pybool"))
        return value_const(b, SETT_BOOL, text[0] == '1');
    if (!strcmp(dtype, "pyfloat"))
        return value_const(b, SETT_F32, sett__bits_of_float(SETT_F32, sett__float_of_bits(SETT_F64, strtoull(text, NULL, 16))));
    if (!strcmp(dtype, "pyint")) {
        int64_t i = strtoll(text, NULL, 10);
        d = i >= INT32_MIN && i <= INT32_MAX ? SETT_I32 : SETT_I64;
    }
    return d ? value_const(b, d, value_bits(d, text)) : NULL;
}

/* Where ours is another rule on purpose, or the case has no counterpart: why; NULL: it is the same here. */
static const char *numeric_differs(const char *file, char **f, const sett_val *x, const sett_val *y)
{
    int op = value_op(f[0]);
    bool literal = !strncmp(f[1], "py", 2) || !strncmp(f[3], "py", 2);
    if ((!strcmp(f[1], "pybool") && y->dtype == SETT_BOOL) || (!strcmp(f[3], "pybool") && x->dtype == SETT_BOOL))
        return "a Python bool beside a Boolean: Int32 there, Boolean here";
    if (op < 0)
        return "no such operation in C";
    if (strstr(file, ":right:"))
        return NULL; /* the answer is not theirs */
    if (literal && !strcmp(f[5], "Float64"))
        return "a literal keeps double precision there";
    if (op == SETT_POW && !strncmp(f[1], "py", 2) && f[5][0] == '!')
        return "a number of the host language has no such operator there";
    if (op > SETT_POW && x->dtype == SETT_BOOL)
        return "a true is -1 there";
    if (op != SETT_MIN && op != SETT_MAX && op != SETT_FMIN && op != SETT_FMAX)
        return NULL;
    double a = sett__float_of_bits((sett_dtype)x->dtype, (uint64_t)x->head.b->op[x->id].imm);
    double c = sett__float_of_bits((sett_dtype)y->dtype, (uint64_t)y->head.b->op[y->id].imm);
    return a == 0 && c == 0 ? "the second of two zeros there; IEEE 754 orders them" : NULL;
}

static sett_val *numeric_make_binary(char **f, sett_val *x, sett_val *y)
{
    return sett_binary_at((sett_site){0}, f[0], (sett_binary_op)value_op(f[0]), sett_arg_v(x), sett_arg_v(y));
}

/* NULL: there is no such operation. */
static sett_val *numeric_make_unary(const char *op, sett_val *x)
{
    bool math = !strncmp(op, "math_", 5);
    op += math ? 5 : 0;
    if (!strcmp(op, "neg"))
        return math && sett__dtype_kind((sett_dtype)x->dtype) != 'f' ? NULL : sett_neg(x); /* integers: invalid IR there */
    if (!strcmp(op, "abs"))
        return sett_abs(x);
    if (!strcmp(op, "invert"))
        return sett_not(x);
    if (!strcmp(op, "not_"))
        return x->dtype == SETT_BOOL ? sett_not(x) : sett_eq(x, 0);
    return NULL; /* there is no unary plus */
}

static int numeric_binary(sett_build *b, const char *file, char **f, char *got, size_t size)
{
    sett_val *x = numeric_operand(b, f[1], f[2]), *y = numeric_operand(b, f[3], f[4]);
    const char *differs = x && y ? numeric_differs(file, f, x, y) : "there are no values of the type";
    if (differs)
        return value_aside(differs);
    sett_val *r = numeric_make_binary(f, x, y);
    if (f[5][0] == '!')
        return value_rejected(b, got, size);
    return value_compare(b, r, (sett_arg){.kind = SETT_NODE}, true, value_dtype(f[5], strlen(f[5])), f[6], got, size);
}

static int numeric_unary(sett_build *b, char **f, char *got, size_t size)
{
    sett_val *x = numeric_operand(b, f[1], f[2]), *r = x ? numeric_make_unary(f[0], x) : NULL;
    if (!r)
        return value_aside(x ? "no such operation in C" : "there are no values of the type");
    if (f[3][0] == '!')
        return value_rejected(b, got, size);
    return value_compare(b, r, (sett_arg){.kind = SETT_NODE}, true, value_dtype(f[3], strlen(f[3])), f[4], got, size);
}

/* Conversions that are here and not there: to types of 6 and 4 bits, and between types of 8. */
static bool numeric_opens(sett_dtype to, sett_dtype from)
{
    bool eight = sett_dtype_bits(to) == 8 && to != SETT_F8E4M3 && to != SETT_F8E4M3B11FNUZ;
    return sett_dtype_bits(to) < 8 || (eight && sett__dtype_kind(from) == 's');
}

static int numeric_convert(sett_build *b, char **f, char *got, size_t size)
{
    sett_dtype to = value_dtype(f[2], strlen(f[2]));
    sett_val *x = numeric_operand(b, f[0], f[1]);
    if (!x || !to || (f[3][0] == '!' && numeric_opens(to, (sett_dtype)x->dtype)))
        return value_aside(x && to ? "a conversion that is refused there and not here" : "there are no values of the type");
    sett_val *r = sett_to(x, to);
    if (f[3][0] == '!')
        return value_rejected(b, got, size);
    return value_compare(b, r, (sett_arg){.kind = SETT_NODE}, true, to, f[3], got, size);
}

static bool is_literal(const char *s)
{
    char *end;
    strtod(s, &end);
    return end != s && !*end;
}

static int numeric_construct(sett_build *b, char **f, char *got, size_t size)
{
    sett_dtype d = value_dtype(f[0], strlen(f[0]));
    bool flag = !strcmp(f[1], "True") || !strcmp(f[1], "False");
    if (!d || (!flag && !is_literal(f[1])))
        return value_aside("an object of the host language");
    if ((d == SETT_I4 || sett__dtype_is_wide(d)) && !strncmp(f[2], "!", 1) && strstr(f[3], "AssertionError"))
        return value_aside("theirs has no constants of 4 and 128 bits");
    errno = 0;
    long long i = flag ? f[1][0] == 'T' : strtoll(f[1], NULL, 10);
    bool far = errno == ERANGE, whole = sett__dtype_is_int(d);
    if (far && whole)
        return value_aside("a C number has 64 bits");
    bool fraction = !flag && (strpbrk(f[1], ".enia") || far);
    sett_val *v = sett_const(b, d, fraction ? sett_arg_f(strtod(f[1], NULL)) : sett_arg_i(i));
    if (f[2][0] == '!')
        return value_rejected(b, got, size);
    return value_compare(b, v, (sett_arg){.kind = SETT_NODE}, true, d, f[2], got, size);
}

/* ---- tensorssa: op operand... argument... shape:dtype values provenance ----------------------- */
static sett_arg number_arg(const char *s)
{
    if (!strncmp(s, "py:", 3))
        s += 3;
    else if (strchr(s, '('))
        s = strchr(s, '(') + 1; /* Int8(1) */
    if (*s == 'T' || *s == 'F')
        return sett_arg_i(*s == 'T');
    return strpbrk(s, ".en") ? sett_arg_f(strtod(s, NULL)) : sett_arg_i(strtoll(s, NULL, 10));
}

static sett_val *ssa_full(sett_build *b, char **f, int args)
{
    sett_val *like = strncmp(f[0], "full", 5) ? value_operand(b, f[1]) : NULL;
    bool filled = f[0][0] == 'f';
    const char *type = args > 1 + filled ? f[2 + filled] : NULL;
    sett_arg number = sett_arg_i(f[0][0] == 'o');
    if (filled && strchr(f[2], '=')) {
        sett_val *v = value_operand(b, f[2]);
        if (!v)
            return NULL;
        number = sett_arg_v(v);
    } else if (filled) {
        number = number_arg(f[2]);
    }
    sett_dtype d = type ? value_dtype(type, strlen(type)) : like ? (sett_dtype)like->dtype : (sett_dtype)0;
    if (!d || (!like && !strcmp(f[0], "full_like")))
        return NULL;
    sett_arg shape = like ? like->shape : value_whole_tuple(b, f[1]);
    return sett_full(b, d, shape, number);
}

static sett_val *ssa_reduce(sett_val *x, char **f)
{
    static const char *const names[] = {"reduce_ADD", "reduce_MUL", "reduce_MIN", "reduce_MAX"};
    static const sett_binary_op ops[] = {SETT_ADD, SETT_MUL, SETT_MIN, SETT_MAX};
    for (int i = 0; i < 4; i++)
        if (!strcmp(f[0], names[i]) && strlen(f[2]) > strlen("init="))
            return sett_reduce_by(x, ops[i], number_arg(f[2] + 5), value_whole_tuple(x->head.b, f[3]));
    return NULL;
}

/* "slice" at a run-time index, "slice_dyn(i,1)", "slice_dyn(None,i)". It goes through memory, so that only
 * engines run it. */
static sett_val *ssa_dynamic(sett_build *b, sett_val *x, const char *op, const char *index)
{
    sett_val *i = value_operand(b, index);
    const char *open = strchr(op, '('), *comma = open ? strchr(open, ',') : NULL;
    if (!i)
        return NULL;
    if (!open)
        return sett_element(x, i);
    sett_arg other = strstr(op, "None") ? SETT_ALL : sett_arg_i(atoi(comma + 1));
    return open[1] == 'i' ? sett_element(x, i, other) : sett_element(x, other, i);
}

static sett_val *ssa_other(sett_build *b, sett_val *x, char **f, int args)
{
    const char *op = f[0], *s = args > 1 ? f[2] : "";
    if (!strcmp(op, "broadcast_to"))
        return sett_broadcast_to(x, value_whole_tuple(b, s));
    if (!strcmp(op, "reshape"))
        return sett_reshape(x, value_whole_tuple(b, s));
    if (!strcmp(op, "slice") && !strchr(s, ':'))
        return sett_element_at((sett_site){0}, x, value_whole_tuple(b, s));
    if (!strncmp(op, "slice", 5))
        return ssa_dynamic(b, x, op, s);
    if (!strcmp(op, "any_"))
        return sett_any(x);
    if (!strcmp(op, "all_"))
        return sett_all(x);
    if (!strcmp(op, "to"))
        return value_dtype(s, strlen(s)) ? sett_to(x, value_dtype(s, strlen(s))) : NULL;
    if (!strcmp(op, "neg"))
        return sett_neg(x);
    if (!strcmp(op, "abs"))
        return sett_abs(x);
    if (!strcmp(op, "~"))
        return sett_not(x);
    if (!strncmp(op, "reduce_", 7))
        return ssa_reduce(x, f);
    return NULL;
}

static sett_val *ssa_result(sett_build *b, char **f, int args)
{
    bool reversed = f[0][0] == 'r' && ispunct((unsigned char)f[0][1]);
    int op = value_op(f[0] + reversed);
    if (strstr(f[0], "full") || strstr(f[0], "_like"))
        return ssa_full(b, f, args);
    sett_val *x = value_operand(b, f[1]);
    if (!x)
        return NULL;
    if (op >= 0) {
        sett_val *y = value_operand(b, f[2]);
        if (!y)
            return NULL;
        return sett_binary_at((sett_site){0}, "op", (sett_binary_op)op, sett_arg_v(reversed ? y : x), sett_arg_v(reversed ? x : y));
    }
    if (!strncmp(f[0], "where", 5)) {
        sett_val *y = value_operand(b, f[2]), *z = value_operand(b, f[3]);
        if (y && z && y->scalar && z->scalar) /* refused there; here a shaped condition is enough */
            return NULL;
        bool swap = !strcmp(f[0], "where_rev");
        return y && z ? sett_where(x, swap ? z : y, swap ? y : z) : NULL;
    }
    return ssa_other(b, x, f, args);
}

/* A negative number becomes a wider unsigned one: zero-extended there, sign-extended here, as in C. */
static bool ssa_zero_extends(char **f, int n, sett_dtype to)
{
    for (int i = 1; i < n - 3 && sett__dtype_kind(to) == 'u'; i++) {
        const char *type = strstr(f[i], "Int");
        if (type && strchr(f[i], '-') && atoi(type + 3) < sett_dtype_bits(to))
            return true;
    }
    return false;
}

/* What the line gives, on whatever its operands come from; NULL: it is left aside, or must be refused. */
static sett_val *ssa_line(sett_build *b, char **f, int n)
{
    value_words.n = 0;
    return ssa_result(b, f, n - 4);
}

static bool ssa_needs_memory(char **f)
{
    return !strncmp(f[0], "slice_dyn", 9) || (!strcmp(f[0], "slice") && !strncmp(f[2], "scalar:", 7));
}

static int value_ssa(sett_build *b, const char *file, char **f, int n, char *got, size_t size)
{
    value_unread = NULL;
    sett_val *r = ssa_line(b, f, n);
    if (!r && value_unread)
        return value_aside(value_unread);
    const char *want = f[n - 3], *colon = strchr(want, ':');
    if (!r && !b->error.status)
        return value_aside(!strcmp(f[0], "pos") ? "there is no unary plus" : "where with two scalars, which is taken here");
    if (want[0] == '!' && ssa_needs_memory(f))
        return value_aside("a run-time index beside _ is taken here");
    if (want[0] == '!')
        return value_rejected(b, got, size);
    sett_dtype d = colon ? value_dtype(colon + 1, strlen(colon + 1)) : (sett_dtype)0;
    if (!strncmp(f[0], "reduce_", 7) && strstr(f[1], ":Uint") && sett__dtype_kind(d) == 'i')
        d = value_dtype(strstr(f[1], "Uint"), strcspn(strstr(f[1], "Uint"), "=")); /* the sign is lost there */
    if (d && !strstr(file, ":right:") && ssa_zero_extends(f, n, d))
        return value_aside("a negative number to a wider unsigned type: zero-extended there, sign-extended here");
    if (!d)
        return value_aside("the result has a type that is not known");
    bool scalar = !strncmp(want, "scalar", 6);
    sett_arg shape = scalar ? (sett_arg){.kind = SETT_NODE} : value_tuple(b, &want);
    if (ssa_needs_memory(f)) {
        snprintf(got, size, "%s", b->error.status ? b->error.text : sett__arg_text(b, r->shape));
        return !b->error.status && r->scalar == scalar && (sett_dtype)r->dtype == d ? CASE_OK : CASE_WRONG;
    }
    return value_compare(b, r, shape, scalar, d, f[n - 2], got, size);
}

/* One line of a file of either folder, told apart by the file's name and the number of fields. */
static inline int value_case(const char *file, char **f, int n, bool no_fold, char *got, size_t size)
{
    sett_build *b = sett__build_new(NULL, strstr(file, "tensorssa.tsv"));
    int verdict = value_aside("no such line");
    got[0] = 0;
    if (!b)
        return CASE_WRONG;
    b->no_fold = no_fold;
    if (strstr(file, "tensorssa.tsv") && n >= 5)
        verdict = value_ssa(b, file, f, n, got, size);
    else if (strstr(file, "binary.tsv") && n == 8)
        verdict = numeric_binary(b, file, f, got, size);
    else if (strstr(file, "unary.tsv") && n == 6)
        verdict = numeric_unary(b, f, got, size);
    else if (strstr(file, "convert.tsv") && n == 5)
        verdict = numeric_convert(b, f, got, size);
    else if (strstr(file, "construct.tsv") && n == 4)
        verdict = numeric_construct(b, f, got, size);
    sett_build_end(b, NULL);
    return verdict;
}
#endif
