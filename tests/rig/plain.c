/* SPDX-License-Identifier: Apache-2.0 */
/* TensorSSA in plain C: see plain.h. */
#include "tests/rig/plain.h"
#include "tests/conform/conform.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- shapes ------------------------------------------------------------------------------------------ */
static sett_arg room[1 << 14];
static int used;

void plain_reset(void)
{
    used = 0;
}

static sett_arg node(int n, const sett_arg *kid)
{
    if (used + n > (int)SETT__COUNT(room))
        used = 0; /* never: programs are small */
    sett_arg *keep = room + used;
    used += n;
    if (n)
        memcpy(keep, kid, (size_t)n * sizeof *keep);
    return sett_arg_n(n, keep);
}

sett_arg plain_tuple(const char **s)
{
    sett_arg kid[16];
    int n = 0;
    if (**s == '_' || !strncmp(*s, "None", 4)) {
        *s += **s == '_' ? 1 : 4;
        return SETT_ALL;
    }
    if (**s != '(') {
        char *end;
        long long i = strtoll(*s, &end, 10);
        *s = end;
        return sett_arg_i(i);
    }
    for (++*s; **s && **s != ')' && n < 16; n++) {
        kid[n] = plain_tuple(s);
        *s += **s == ',';
    }
    *s += **s == ')';
    return node(n, kid);
}

int plain_size(sett_arg shape)
{
    int n = 1;
    if (shape.kind == SETT_INT)
        return (int)shape.u.i;
    for (int i = 0; i < shape.rank; i++)
        n *= plain_size(shape.u.kid[i]);
    return n;
}

static int modes(sett_arg a)
{
    return a.kind == SETT_NODE ? a.rank : 1;
}

static sett_arg mode(sett_arg a, int i)
{
    return a.kind != SETT_NODE ? (i ? sett_arg_i(1) : a) : i < a.rank ? a.u.kid[i] : sett_arg_i(1);
}

/* One mode beside another; *grown: the left one had to be repeated. */
static bool fit(sett_arg x, sett_arg y, sett_arg *r, bool *grown)
{
    sett_arg kid[16];
    if (x.kind == SETT_INT && y.kind == SETT_INT) {
        *r = x.u.i == 1 ? y : x;
        *grown |= r->u.i != x.u.i;
        return x.u.i == y.u.i || x.u.i == 1 || y.u.i == 1;
    }
    if (x.kind != y.kind || x.rank != y.rank || x.rank > 16)
        return false;
    for (int i = 0; i < x.rank; i++)
        if (!fit(x.u.kid[i], y.u.kid[i], &kid[i], grown))
            return false;
    *r = node(x.rank, kid);
    return true;
}

/* Padded with 1 on the right; the left operand's own way to write it if nothing but modes of 1 would be added. */
static bool join(sett_arg x, sett_arg y, sett_arg *r)
{
    sett_arg kid[16];
    int n = modes(x) > modes(y) ? modes(x) : modes(y);
    bool grown = false;
    for (int i = 0; i < n && n <= 16; i++)
        if (!fit(mode(x, i), mode(y, i), &kid[i], &grown))
            return false;
    *r = grown ? node(n, kid) : x;
    return n <= 16 && plain_size(*r) <= PLAIN_MOST;
}

/* Where each element of `to` comes from in a value of shape `from`: at[k] for the coordinates below this mode. */
static int repeat(sett_arg to, sett_arg from, int stride, int filled, int *at)
{
    if (to.kind == SETT_INT) {
        int step = from.u.i == 1 ? 0 : stride;
        for (int j = 1; j < (int)to.u.i; j++)
            for (int i = 0; i < filled; i++)
                at[j * filled + i] = at[i] + j * step;
        return filled * (int)to.u.i;
    }
    for (int i = 0; i < to.rank; i++) {
        filled = repeat(to.u.kid[i], mode(from, i), stride, filled, at);
        stride *= plain_size(mode(from, i));
    }
    return filled;
}

static void spread(const plain *x, sett_arg shape, plain *r)
{
    int at[PLAIN_MOST] = {0};
    plain from = *x;
    *r = (plain){.d = from.d, .shape = shape, .n = plain_size(shape)};
    if (!from.scalar && shape.kind == SETT_INT)
        repeat(shape, mode(from.shape, 0), 1, 1, at);
    else if (!from.scalar)
        repeat(shape, from.shape, 1, 1, at);
    for (int i = 0; i < r->n; i++)
        r->v[i] = from.v[at[i]];
}

/* The common shape of up to three operands, which all get it; scalars stay where all are. */
static bool together(plain *x, int n)
{
    const plain *first = NULL;
    sett_arg shape = {0};
    for (int i = 0; i < n; i++) {
        if (x[i].scalar)
            continue;
        if (first && !join(shape, x[i].shape, &shape))
            return false;
        shape = first ? shape : x[i].shape;
        first = &x[i];
    }
    for (int i = 0; first && i < n; i++)
        spread(&x[i], shape, &x[i]);
    return true;
}

bool plain_broadcast_to(const plain *x, sett_arg shape, plain *r)
{
    sett_arg joined;
    bool grown = false;
    if (x->scalar || modes(shape) < modes(x->shape) || (shape.kind == SETT_INT && x->shape.kind == SETT_NODE))
        return false;
    for (int i = 0; i < modes(shape); i++)
        if (!fit(mode(shape, i), mode(x->shape, i), &joined, &grown) || grown)
            return false;
    if (!join(x->shape, shape, &joined))
        return false;
    spread(x, joined, r);
    return true;
}

bool plain_reshape(const plain *x, sett_arg shape, plain *r)
{
    if (x->scalar || plain_size(shape) != x->n)
        return false;
    *r = *x;
    r->shape = shape;
    return true;
}

/* ---- types ----------------------------------------------------------------------------------------------- */
static bool is_float(sett_dtype d)
{
    return sett__dtype_kind(d) == 'f';
}

/* CuTe's table, as the goldens show it. */
sett_dtype plain_promote(sett_dtype x, sett_dtype y)
{
    int bx = sett_dtype_bits(x), by = sett_dtype_bits(y);
    if (x == y || y == SETT_BOOL)
        return x;
    if (x == SETT_BOOL)
        return y;
    if (!is_float(x) && is_float(y))
        return plain_promote(y, x);
    if (is_float(x) && !is_float(y)) /* a float as wide as the wider one; bf16 is not asked */
        return by == 64 ? SETT_F64 : by == 32 ? (bx == 64 ? x : SETT_F32) : by == 16 && x == SETT_BF16 ? SETT_F16 : x;
    if (is_float(x))
        return bx == by ? SETT_F16 : bx > by ? x : y;
    bool sx = sett__dtype_kind(x) == 'i', sy = sett__dtype_kind(y) == 'i';
    if (sx == sy)
        return bx > by ? x : y;
    return sx ? (by >= bx ? y : x) : (bx >= by ? x : y);
}

static uint64_t one(sett__code code, sett_dtype d, sett_dtype to, uint64_t a, uint64_t b, uint64_t c, bool *ok)
{
    const uint64_t in[3] = {a, b, c};
    uint64_t out = 0;
    *ok = conform_reference(code, d, to, in, &out) && *ok;
    return out;
}

bool plain_to(const plain *x, sett_dtype d, plain *r)
{
    bool ok = true;
    sett_dtype from = x->d;
    *r = *x;
    r->d = d;
    r->weak = false;
    for (int i = 0; i < x->n; i++)
        r->v[i] = one(SETT__CONVERT, from, d, x->v[i], 0, 0, &ok);
    return ok;
}

/* The type of operands beside each other: numbers bend to values, one with a fraction makes integers Float32. */
static bool common(plain *x, int n, sett_dtype *out)
{
    sett_dtype d = (sett_dtype)0;
    bool fraction = false;
    for (int i = 0; i < n; i++)
        if (x[i].weak)
            fraction |= x[i].d == SETT_F64;
        else
            d = d ? plain_promote(d, x[i].d) : x[i].d;
    *out = fraction && !is_float(d) ? SETT_F32 : d;
    return d;
}

static bool all_to(plain *x, int n, sett_dtype d)
{
    for (int i = 0; i < n; i++)
        if (!plain_to(&x[i], d, &x[i]))
            return false;
    return true;
}

/* ---- operations --------------------------------------------------------------------------------------------- */
static const sett__code codes[] = {[SETT_ADD] = SETT__ADD, [SETT_SUB] = SETT__SUB, [SETT_MUL] = SETT__MUL, [SETT_DIV] = SETT__DIV,
    [SETT_FLOORDIV] = SETT__DIV, [SETT_MOD] = SETT__REM, [SETT_MIN] = SETT__MIN, [SETT_MAX] = SETT__MAX, [SETT_AND] = SETT__AND,
    [SETT_OR] = SETT__OR, [SETT_XOR] = SETT__XOR, [SETT_SHL] = SETT__SHL, [SETT_SHR] = SETT__SHR, [SETT_LT] = SETT__LT,
    [SETT_LE] = SETT__LE, [SETT_GT] = SETT__GT, [SETT_GE] = SETT__GE, [SETT_EQ] = SETT__EQ, [SETT_NE] = SETT__NE};

/* Toward minus infinity: of integers the quotient less one where there is a rest of another sign than the divisor's. */
static uint64_t floor_div(sett_dtype d, uint64_t x, uint64_t y, bool *ok)
{
    uint64_t q = one(SETT__DIV, d, d, x, y, 0, ok), rest, below, odd;
    if (is_float(d))
        return one(SETT__FLOOR, d, d, q, 0, 0, ok);
    rest = one(SETT__REM, d, d, x, y, 0, ok);
    below = one(SETT__LT, d, d, rest, 0, 0, ok) != one(SETT__LT, d, d, y, 0, 0, ok);
    odd = one(SETT__NE, d, d, rest, 0, 0, ok);
    return below && odd ? one(SETT__SUB, d, d, q, 1, 0, ok) : q;
}

bool plain_binary(sett_binary_op op, const plain *x, const plain *y, plain *r)
{
    plain o[2] = {*x, *y}, *a = &o[0], *b = &o[1];
    sett_dtype d, in;
    bool ok = common(o, 2, &d) && all_to(o, 2, d) && together(o, 2), compare = op >= SETT_LT && op <= SETT_NE;
    bool bits = op >= SETT_AND && op <= SETT_SHR, logic = op >= SETT_AND && op <= SETT_XOR;
    if (!ok || op > SETT_NE || (bits && is_float(d)))
        return false;
    in = d == SETT_BOOL && !compare && !logic ? SETT_I32 : d;
    if (op == SETT_DIV && !is_float(d))
        in = SETT_F32;
    if (op == SETT_DIV && d == SETT_BOOL)
        ok = all_to(o, 2, SETT_I32);
    ok = ok && all_to(o, 2, in);
    *r = *a;
    r->d = compare ? SETT_BOOL : in;
    for (int i = 0; i < r->n; i++)
        r->v[i] = op == SETT_FLOORDIV ? floor_div(in, a->v[i], b->v[i], &ok) : one(codes[op], in, in, a->v[i], b->v[i], 0, &ok);
    bool back = d == SETT_BOOL && in == SETT_I32 && op != SETT_MIN && op != SETT_MAX;
    return ok && (!back || plain_to(r, SETT_BOOL, r));
}

bool plain_unary(sett_unary_op op, const plain *x, plain *r)
{
    static const struct { sett_unary_op op; sett__code code; } simple[] = {{SETT_NEG, SETT__NEG}, {SETT_ABS, SETT__ABS},
        {SETT_NOT, SETT__NOT}, {SETT_SQRT, SETT__SQRT}, {SETT_FLOOR, SETT__FLOOR}, {SETT_CEIL, SETT__CEIL}, {SETT_TRUNC, SETT__TRUNC},
        {SETT_ROUNDEVEN, SETT__RINT}};
    bool ok = !x->weak, asks = op >= SETT_ISNAN && op <= SETT_ISFINITE;
    size_t k = 0;
    while (k < SETT__COUNT(simple) && simple[k].op != op)
        k++;
    sett_dtype d = x->d;
    if (asks ? !is_float(d) : k == SETT__COUNT(simple))
        return false;
    *r = *x;
    r->d = asks ? SETT_BOOL : d;
    for (int i = 0; i < x->n; i++) {
        double v = asks ? conform_number(d, x->v[i]) : 0;
        r->v[i] = op == SETT_ISNAN ? v != v : op == SETT_ISINF ? isinf(v) != 0 : asks ? isfinite(v) != 0 : one(simple[k].code, d, d, x->v[i], 0, 0, &ok);
    }
    return ok;
}

bool plain_fma(const plain *x, const plain *y, const plain *z, plain *r)
{
    plain o[3] = {*x, *y, *z};
    sett_dtype d;
    bool ok = common(o, 3, &d) && d != SETT_BOOL && all_to(o, 3, d) && together(o, 3);
    *r = o[0];
    for (int i = 0; ok && i < r->n; i++)
        r->v[i] = is_float(d) ? one(SETT__FMA, d, d, o[0].v[i], o[1].v[i], o[2].v[i], &ok)
                              : one(SETT__ADD, d, d, one(SETT__MUL, d, d, o[0].v[i], o[1].v[i], 0, &ok), o[2].v[i], 0, &ok);
    return ok;
}

/* Two arms of one type, or a number that takes the other's. */
bool plain_where(const plain *cond, const plain *x, const plain *y, plain *r)
{
    plain o[3] = {*x, *y, *cond};
    sett_dtype d;
    bool ok = cond->d == SETT_BOOL && (x->weak || y->weak || x->d == y->d) && common(o, 2, &d) && all_to(o, 2, d) && together(o, 3);
    *r = o[0];
    for (int i = 0; ok && i < r->n; i++)
        r->v[i] = o[2].v[i] ? o[0].v[i] : o[1].v[i];
    return ok;
}

/* ---- choosing modes ------------------------------------------------------------------------------------------ */
typedef struct choice {
    bool index, bad;
    sett_arg kept[32]; /* modes of the result */
    int n_kept;
    int key[PLAIN_MOST];  /* of each element: which result it belongs to; -1: none */
} choice;

/* Walks coordinate and shape together. digit: of each element within this mode, rest: what lies above it. */
static void choose(choice *ch, sett_arg at, sett_arg shape, int n, int stride, int *result_stride)
{
    if (at.kind == SETT_NODE) {
        ch->bad |= shape.kind != SETT_NODE || shape.rank != at.rank;
        for (int i = 0; !ch->bad && i < at.rank; i++) {
            choose(ch, at.u.kid[i], shape.u.kid[i], n, stride, result_stride);
            stride *= plain_size(shape.u.kid[i]);
        }
        return;
    }
    int size = plain_size(shape);
    for (int e = 0; e < n; e++) {
        int digit = e / stride % size;
        if (ch->key[e] < 0)
            continue;
        if (at.kind == SETT_SLICE)
            ch->key[e] += digit * *result_stride;
        else if (ch->index && digit != at.u.i)
            ch->key[e] = -1;
    }
    if (at.kind == SETT_SLICE) {
        *result_stride *= size;
        ch->kept[ch->n_kept++] = shape;
    } else {
        ch->bad |= ch->index && (at.u.i < 0 || at.u.i >= size);
    }
}

static bool chosen(choice *ch, const plain *x, sett_arg at, plain *r)
{
    int result_stride = 1;
    sett_arg shape = x->shape;
    if (!ch->index && at.kind == SETT_NODE && shape.kind == SETT_INT)
        shape = node(1, &x->shape);
    choose(ch, at, shape, x->n, 1, &result_stride);
    *r = (plain){.d = x->d, .scalar = !ch->n_kept, .n = result_stride};
    r->shape = at.kind == SETT_SLICE ? x->shape : node(ch->n_kept, ch->kept); /* all of it is itself */
    return !x->scalar && !ch->bad;
}

static bool reduces(sett_arg profile)
{
    bool any = profile.kind == SETT_INT;
    for (int i = 0; profile.kind == SETT_NODE && i < profile.rank; i++)
        any |= reduces(profile.u.kid[i]);
    return any;
}

/* Of Booleans the sum is one of bits, as there. */
bool plain_reduce(sett_binary_op op, const plain *x, uint64_t init, sett_arg profile, plain *r)
{
    plain in = *x;
    choice ch = {.index = false};
    bool ok = chosen(&ch, &in, profile, r), boolean = in.d == SETT_BOOL;
    sett__code code = !boolean ? codes[op] : op == SETT_ADD ? SETT__XOR : op == SETT_MUL || op == SETT_MIN ? SETT__AND : op == SETT_MAX ? SETT__OR : codes[op];
    if (!reduces(profile)) {
        for (int i = 0; i < in.n; i++)
            r->v[i] = in.v[i];
        return ok;
    }
    for (int i = 0; ok && i < r->n; i++)
        r->v[i] = init;
    for (int e = 0; ok && e < in.n; e++)
        r->v[ch.key[e]] = one(code, in.d, in.d, r->v[ch.key[e]], in.v[e], 0, &ok);
    return ok;
}

bool plain_element(const plain *x, sett_arg coord, plain *r)
{
    plain in = *x;
    choice ch = {.index = true};
    bool ok = chosen(&ch, &in, coord, r);
    for (int e = 0; ok && e < in.n; e++)
        if (ch.key[e] >= 0)
            r->v[ch.key[e]] = in.v[e];
    return ok;
}

bool plain_test(bool all, const plain *x, plain *r)
{
    plain in;
    bool ok = plain_to(x, SETT_BOOL, &in);
    *r = (plain){.d = SETT_BOOL, .scalar = true, .n = 1, .v = {all}};
    for (int i = 0; i < in.n; i++)
        r->v[0] = all ? r->v[0] && in.v[i] : r->v[0] || in.v[i];
    return ok;
}
