/* SPDX-License-Identifier: Apache-2.0 */
/* Lines on values where the other system is known to be wrong, or says nothing: the right answer comes from plain C
 * (plain.h: IEEE 754, C's conversions, CuTe's own rules for shapes and types), takes the place of theirs, and the line is
 * judged as any other is: folded, unfolded and run. */
#include "tests/golden/golden_value.h"
#include "tests/golden/golden.h"
#include "tests/rig/plain.h"
#include "tests/conform/conform.h"
#include <math.h>

typedef enum answer { REFUSED, GIVEN, UNKNOWN } answer;
static const char *no_answer; /* why it is UNKNOWN */

static answer unknown(const char *why)
{
    no_answer = why;
    return UNKNOWN;
}

static bool computes(sett_dtype d)
{
    return d && sett__dtype_kind(d) != 's' && sett_dtype_bits(d) <= 64 && d != SETT_I4;
}

static plain of_number(sett_dtype d, uint64_t bits)
{
    return (plain){.d = d, .scalar = true, .n = 1, .v = {bits}};
}

static plain of_double(sett_dtype d, double x)
{
    plain r = of_number(SETT_F64, 0);
    memcpy(&r.v[0], &x, sizeof x);
    plain_to(&r, d, &r);
    return r;
}

/* Has the shape n elements? */
static bool has_size(sett_arg shape, int64_t n, int64_t *size)
{
    if (shape.kind != SETT_NODE) {
        *size *= shape.kind == SETT_INT && shape.u.i > 0 && shape.u.i <= PLAIN_MOST ? shape.u.i : PLAIN_MOST + 1;
        return *size <= n;
    }
    for (int i = 0; i < shape.rank; i++)
        if (!has_size(shape.u.kid[i], n, size))
            return false;
    return true;
}

/* "shape:dtype=v,v", "scalar:dtype=v", "Int8(-3)", "py:2"; false: there is no such value here. */
static bool operand(const char *s, plain *r)
{
    const char *colon = strchr(s, ':'), *eq = strchr(s, '='), *open = strchr(s, '(');
    if (!strncmp(s, "py:", 3)) {
        bool flag = s[3] == 'T' || s[3] == 'F', fraction = !flag && strpbrk(s + 3, ".en");
        *r = fraction ? of_double(SETT_F32, strtod(s + 3, NULL)) : of_number(flag ? SETT_BOOL : SETT_I32, value_bits(flag ? SETT_BOOL : SETT_I32, s + 3));
        return true;
    }
    if (!eq) {
        sett_dtype d = open ? value_dtype(s, (size_t)(open - s)) : (sett_dtype)0;
        *r = of_number(d, computes(d) ? value_bits(d, open + 1) : 0);
        return computes(d);
    }
    sett_dtype d = colon ? value_dtype(colon + 1, (size_t)(eq - colon - 1)) : (sett_dtype)0;
    if (!computes(d))
        return false;
    *r = (plain){.d = d, .scalar = !strncmp(s, "scalar", 6)};
    for (const char *p = eq; p && r->n < PLAIN_MOST; p = strchr(p + 1, ','))
        r->v[r->n++] = value_bits(d, p + 1);
    int64_t size = 1;
    if (!r->scalar)
        r->shape = plain_tuple(&s);
    return r->scalar ? r->n == 1 : has_size(r->shape, r->n, &size) && size == r->n;
}

/* ---- shaped values ------------------------------------------------------------------------------------- */
static answer right_ssa(char **f, plain *r)
{
    static const struct { const char *name; sett_binary_op op; } folds[] = {{"reduce_ADD", SETT_ADD}, {"reduce_MUL", SETT_MUL},
        {"reduce_MIN", SETT_MIN}, {"reduce_MAX", SETT_MAX}};
    plain x, y;
    bool reversed = f[0][0] == 'r' && ispunct((unsigned char)f[0][1]);
    int op = value_op(f[0] + reversed);
    const char *s = f[2];
    if (!operand(f[1], &x))
        return unknown("a type whose conversions suite conform judges");
    if (op >= 0)
        return !operand(f[2], &y) ? unknown("no operand of C") : plain_binary((sett_binary_op)op, reversed ? &y : &x, reversed ? &x : &y, r) ? GIVEN : REFUSED;
    if (!strcmp(f[0], "~"))
        return plain_unary(SETT_NOT, &x, r) ? GIVEN : REFUSED;
    if (!strcmp(f[0], "slice"))
        return plain_element(&x, plain_tuple(&s), r) ? GIVEN : REFUSED;
    if (!strcmp(f[0], "to"))
        return !computes(value_dtype(s, strlen(s))) ? unknown("a type whose conversions suite conform judges") : plain_to(&x, value_dtype(s, strlen(s)), r) ? GIVEN : REFUSED;
    for (size_t i = 0; i < SETT__COUNT(folds); i++) {
        if (strcmp(f[0], folds[i].name))
            continue;
        if (strlen(f[2]) <= strlen("init="))
            return unknown("no such call in C");
        const char *init = f[2] + strlen("init="), *profile = f[3], *typed = strchr(init, '(');
        init = typed ? typed + 1 : strncmp(init, "py:", 3) ? init : init + 3; /* Int8(1), py:1 */
        if (*profile == '[')
            return unknown("a list is no tuple of C");
        y = of_double(x.d, *init == 'T' ? 1 : strtod(init, NULL));
        return plain_reduce(folds[i].op, &x, y.v[0], plain_tuple(&profile), r) ? GIVEN : REFUSED;
    }
    return unknown("no such call in C");
}

/* ---- numbers ----------------------------------------------------------------------------------------------- */
static bool literal(const char *type, const char *text, plain *r)
{
    if (!strcmp(type, "pybool"))
        *r = of_number(SETT_BOOL, *text == '1');
    else if (!strcmp(type, "pyint"))
        *r = of_number(strtoll(text, NULL, 10) == (int32_t)strtoll(text, NULL, 10) ? SETT_I32 : SETT_I64, 0),
        r->v[0] = value_bits(r->d, text);
    else if (!strcmp(type, "pyfloat"))
        *r = of_double(SETT_F32, conform_number(SETT_F64, strtoull(text, NULL, 16)));
    else
        *r = of_number(value_dtype(type, strlen(type)), 0), r->v[0] = computes(r->d) ? value_bits(r->d, text) : 0;
    return computes(r->d);
}

/* x^y modulo 2^width; a negative power truncates 1/x^-y toward zero. */
static uint64_t whole_power(sett_dtype d, uint64_t x, int64_t y)
{
    bool minus = sett__dtype_kind(d) == 'i' && x == conform_mask(d);
    uint64_t r = 1;
    if (y < 0)
        return (x == 1 || minus ? (y & 1 ? x : 1) : 0) & conform_mask(d);
    for (; y; y >>= 1, x *= x)
        r *= y & 1 ? x : 1;
    return r & conform_mask(d);
}

static answer power(const plain *x, const plain *y, plain *r)
{
    plain o[2] = {*x, *y};
    sett_dtype d = plain_promote(x->d, y->d), in = d == SETT_BOOL ? SETT_I32 : d;
    plain_to(&o[0], in, &o[0]);
    plain_to(&o[1], in, &o[1]);
    if (sett__dtype_kind(d) == 'f')
        *r = of_double(d, pow(conform_number(d, o[0].v[0]), conform_number(d, o[1].v[0])));
    else
        *r = of_number(in, whole_power(in, o[0].v[0], sett__int_of_bits(in, o[1].v[0])));
    return d != SETT_BOOL || plain_to(r, d, r) ? GIVEN : REFUSED;
}

static bool is_nan(const plain *x)
{
    return sett__dtype_kind(x->d) == 'f' && isnan(conform_number(x->d, x->v[0]));
}

static answer right_binary(char **f, plain *r)
{
    plain x, y;
    int op = value_op(f[0]);
    if (op < 0 || !literal(f[1], f[2], &x) || !literal(f[3], f[4], &y))
        return unknown("no such operation in C");
    if (op == SETT_POW)
        return power(&x, &y, r);
    if (op != SETT_FMIN && op != SETT_FMAX)
        return plain_binary((sett_binary_op)op, &x, &y, r) ? GIVEN : REFUSED;
    if (x.d == SETT_BOOL)
        return unknown("there is no fmin or fmax of Booleans");
    bool nan = is_nan(&x), other = is_nan(&y);
    *r = nan ? y : x; /* the operand that is no NaN */
    return nan || other || plain_binary(op == SETT_FMIN ? SETT_MIN : SETT_MAX, &x, &y, r) ? GIVEN : REFUSED;
}

static answer right_unary(char **f, plain *r)
{
    plain x;
    if (!literal(f[1], f[2], &x) || strcmp(f[0] + (strncmp(f[0], "math_", 5) ? 0 : 5), "abs"))
        return unknown("no such operation in C");
    *r = x;
    return sett__dtype_kind(x.d) == 'u' || plain_unary(SETT_ABS, &x, r) ? GIVEN : REFUSED;
}

/* An integer of a number wraps once it is one, which past 2^63 C has none of. */
static answer right_construct(char **f, plain *r)
{
    sett_dtype d = value_dtype(f[0], strlen(f[0]));
    double x = strtod(f[1], NULL);
    if (d == SETT_F8E8M0FNU) { /* it has neither sign nor zero */
        *r = of_number(d, 0xff);
        return x < 0 ? GIVEN : unknown("0 and less than the least number are that one, as in the hardware's conversion");
    }
    if (!computes(d) || sett__dtype_kind(d) == 'f' || d == SETT_BOOL)
        return unknown("a type whose conversions suite conform judges");
    *r = of_number(d, (uint64_t)(x > -0x1p63 && x < 0x1p63 ? (int64_t)x : 0) & conform_mask(d));
    return x > -0x1p63 && x < 0x1p63 ? GIVEN : REFUSED;
}

static answer right_convert(char **f, plain *r)
{
    plain x;
    sett_dtype to = value_dtype(f[2], strlen(f[2]));
    if (!literal(f[0], f[1], &x) || !computes(to))
        return unknown("a type whose conversions suite conform judges");
    return plain_to(&x, to, r) ? GIVEN : REFUSED;
}

static answer right_argument(char **f, plain *r)
{
    *r = of_double(SETT_BF16, strtod(f[1], NULL));
    return strcmp(f[0], "BFloat16") ? unknown("no such argument") : GIVEN;
}

/* ---- the line again ---------------------------------------------------------------------------------------- */
static const struct { const char *name; answer (*right)(char **, plain *); int dtype, value; } numbers[] = { /* fields of the result; -1: none */
    {"binary", right_binary, 5, 6}, {"unary", right_unary, 3, 4}, {"convert", right_convert, -1, 3}, {"construct", right_construct, -1, 2},
    {"argument", right_argument, -1, 2}};

/* The answer's type and values as the files have them. */
static void write_answer(const plain *r, char *type, size_t type_size, char *values, size_t size)
{
    static const char *const names[] = {"Boolean", "Int8", "Int16", "Int32", "Int64", "Uint8", "Uint16", "Uint32", "Uint64", "Float16", "BFloat16",
        "Float32", "Float64", "Float8E8M0FNU"};
    char shape[128] = "scalar";
    size_t at = 0, i = 0;
    while (i < SETT__COUNT(names) && value_dtype(names[i], strlen(names[i])) != r->d)
        i++;
    if (!r->scalar)
        sett_arg_str(r->shape, shape, sizeof shape);
    snprintf(type, type_size, "%s:%s", shape, i < SETT__COUNT(names) ? names[i] : "?");
    for (int k = 0; k < r->n && at < size; k++)
        at += (size_t)snprintf(values + at, size - at, "%s0x%llx", k ? "," : "", (unsigned long long)r->v[k]);
}

static bool is_number_line(char **f, size_t *kind)
{
    for (*kind = 0; *kind < SETT__COUNT(numbers); ++*kind)
        if (!strcmp(f[0], numbers[*kind].name))
            return true;
    return false;
}

bool golden_is_right_line(char **field, int n)
{
    size_t kind;
    const char *colon = n > 4 ? strchr(field[1], ':') : NULL;
    return n > 4 && (is_number_line(field, &kind) || (colon && isupper((unsigned char)colon[1]) && strchr(colon, '=')));
}

void golden_right_line(tally *t, const char *file, int line, char **field, int n)
{
    static char type[256], values[TEXT], refused[] = "!", as[4200];
    plain r = {0};
    size_t kind;
    plain_reset();
    bool number = is_number_line(field, &kind);
    char **f = field + number;
    if (number && n < 6) {
        golden_aside(t, "a line that is not in this format");
        return;
    }
    answer a = number ? numbers[kind].right(f, &r) : right_ssa(f, &r);
    if (a == UNKNOWN) {
        golden_aside(t, no_answer);
        return;
    }
    int count = n - 2 * number, dtype = number ? numbers[kind].dtype : n - 3, value = number ? numbers[kind].value : n - 2;
    write_answer(&r, type, sizeof type, values, sizeof values);
    if (dtype >= 0)
        f[dtype] = a == REFUSED ? refused : number ? strchr(type, ':') + 1 : type;
    f[value] = a == REFUSED ? refused : values;
    snprintf(as, sizeof as, "%s:right:%s.tsv", file, number ? numbers[kind].name : "tensorssa");
    if (!number)
        golden_ssa_line(t, as, line, f, count);
    else
        (kind == 4 ? golden_argument_line : golden_value_line)(t, as, line, f, count);
}
