/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs as data: values of all types and several shapes, promotion and broadcasting, state in registers, nested
 * branches and loops. One walk records a program through the library, another runs it for one thread after the other in
 * plain C (plain.h). All of it is exact, so the bits agree. SETT_TEST_SEED=n tries others. */
#include "tests/conform/conform.h"
#include "tests/rig/plain.h"
#include <stdlib.h>
#include <string.h>

enum { LANES = 32, VALUES = 512, STEPS = 400, STATES = 64, RESULTS = 16, MOST = 24, INPUT = 6, TYPES = CONFORM_TYPES, PER_TEST = 20 };
typedef enum kind {
    BINARY, NUMBER, UNARY, TO, WHERE, FMA, FULL, RESHAPE, BROADCAST, ELEMENT, DYNAMIC, REDUCE, ASK, BITCAST, KEEP, GET, SET, IF, FOR, WHILE
} kind;
/* Operands and result are values by number; NUMBER is BINARY with a C number on a side. */
typedef struct step {
    kind kind;
    int op, a, b, c, out, state, unroll;
    bool left, full;
    sett_dtype d;
    sett_arg shape;
    double number;
    int body, other, next; /* steps; -1: none */
} step;
typedef struct program {
    uint64_t seed;
    step step[STEPS];
    int n_step, n_value, n_state, depth;
    plain meta[VALUES]; /* types and shapes, of zeros */
    int state_of[STATES];
    int open[VALUES], n_open; /* values that may be used here */
} program;

/* ---- making one ------------------------------------------------------------------------------------- */
static int pick(program *p, int n)
{
    return (int)(conform_random(&p->seed) % (uint64_t)n);
}

static bool is_float(sett_dtype d)
{
    return sett__dtype_kind(d) == 'f';
}

static sett_arg shape_of(program *p, int n)
{
    static const char *const texts[] = {"1", "(1)", "(1,1)", "2", "(2)", "(1,2)", "(2,1)", "3", "(1,3)", "(3,1)", "4", "(2,2)", "(4,1)",
        "((2,2),1)", "6", "(6)", "(2,3)", "(3,2)", "(1,6)", "((3,2))", "(3,(1,2))", "12", "(4,3)", "(3,2,2)", "((2,2),3)", "(2,(2,3))", "(1,12)"};
    for (;;) {
        const char *s = texts[pick(p, (int)SETT__COUNT(texts))];
        sett_arg shape = plain_tuple(&s);
        if (plain_size(shape) == n)
            return shape;
    }
}

/* The operation, on values of zeros, says type and shape of the result; false: it does not exist. */
static bool evaluate(const step *s, const plain *v, plain *r);

static int add(program *p, step s, const plain *meta)
{
    if (p->n_step == STEPS || p->n_value == VALUES)
        return -1;
    s.next = -1;
    s.out = p->n_value;
    p->meta[p->n_value] = *meta;
    p->open[p->n_open++] = p->n_value++;
    p->step[p->n_step] = s;
    return p->n_step++;
}

/* A step that gives a value, if it can; the number of its result, else -1. */
static int try(program *p, step s)
{
    plain r;
    if (!evaluate(&s, p->meta, &r) || r.n > MOST)
        return -1;
    int at = add(p, s, &r);
    return at < 0 ? -1 : p->step[at].out;
}

static int any(program *p)
{
    int i = pick(p, p->n_open), j = pick(p, p->n_open); /* late ones more often */
    return p->open[i > j ? i : j];
}

static int typed(program *p, sett_dtype d)
{
    int x = any(p);
    return p->meta[x].d == d ? x : try(p, (step){.kind = TO, .a = x, .d = d});
}

static int scalar(program *p, sett_dtype d)
{
    int x = typed(p, d);
    if (x < 0 || p->meta[x].scalar)
        return x;
    return try(p, (step){.kind = ELEMENT, .a = x, .shape = sett_arg_i(pick(p, p->meta[x].n))});
}

/* 0 to most, from data. */
static int count(program *p, int most)
{
    int x = scalar(p, SETT_I32);
    x = x < 0 ? x : try(p, (step){.kind = NUMBER, .op = SETT_AND, .a = x, .number = 7});
    return x < 0 ? x : try(p, (step){.kind = NUMBER, .op = SETT_MOD, .a = x, .number = most + 1});
}

/* y beside x: broadcast, or a scalar of it. */
static int beside(program *p, int x, int y)
{
    plain r;
    const step s = {.kind = BINARY, .op = SETT_EQ, .a = x, .b = y};
    if (x < 0 || y < 0 || (evaluate(&s, p->meta, &r) && r.n <= MOST))
        return y;
    return try(p, (step){.kind = ELEMENT, .a = y, .shape = sett_arg_i(pick(p, p->meta[y].n))});
}

static sett_dtype type(program *p)
{
    return conform_types[pick(p, TYPES)];
}

static void binary(program *p)
{
    static const sett_binary_op numbers[] = {SETT_ADD, SETT_SUB, SETT_MUL, SETT_MIN, SETT_MAX, SETT_DIV, SETT_MOD, SETT_FLOORDIV},
        bits[] = {SETT_AND, SETT_OR, SETT_XOR, SETT_SHL, SETT_SHR};
    sett_dtype d = type(p);
    int x = pick(p, 3) ? typed(p, d) : any(p);
    if (x < 0)
        return;
    bool by_bits = !is_float(p->meta[x].d) && pick(p, 2);
    sett_binary_op op = by_bits ? bits[pick(p, p->meta[x].d == SETT_BOOL ? 3 : 5)] : pick(p, 3) ? numbers[pick(p, 8)] : (sett_binary_op)(SETT_LT + pick(p, 6));
    if (!pick(p, 4)) {
        bool whole = pick(p, 2) || p->meta[x].d == SETT_BOOL || by_bits;
        double number = p->meta[x].d == SETT_BOOL ? 1 : whole ? 1 + pick(p, 9) : 0.25 + 0.5 * pick(p, 9);
        try(p, (step){.kind = NUMBER, .op = op, .a = x, .number = number, .left = pick(p, 3) == 0 && op != SETT_FLOORDIV && op != SETT_MOD});
        return;
    }
    int y = beside(p, x, by_bits ? typed(p, p->meta[x].d) : any(p));
    if (y >= 0 && op == SETT_FLOORDIV) /* a quotient by 0 is no use */
        y = is_float(p->meta[y].d) ? y : p->meta[y].d == SETT_BOOL ? -1 : try(p, (step){.kind = NUMBER, .op = SETT_OR, .a = y, .number = 1});
    if (y >= 0 && (op != SETT_FLOORDIV || !is_float(p->meta[y].d) || is_float(p->meta[x].d)))
        try(p, (step){.kind = BINARY, .op = op, .a = x, .b = y});
}

static void unary(program *p)
{
    static const sett_unary_op reals[] = {SETT_NEG, SETT_ABS, SETT_SQRT, SETT_FLOOR, SETT_CEIL, SETT_TRUNC, SETT_ROUNDEVEN, SETT_ISNAN, SETT_ISINF,
        SETT_ISFINITE}, others[] = {SETT_NOT, SETT_NEG, SETT_ABS};
    int x = any(p);
    sett_dtype d = p->meta[x].d;
    int op = is_float(d) ? (int)reals[pick(p, 10)] : (int)others[pick(p, d == SETT_BOOL ? 1 : sett__dtype_kind(d) == 'u' ? 2 : 3)];
    try(p, (step){.kind = UNARY, .a = x, .op = op});
}

static void choose(program *p)
{
    sett_dtype d = type(p);
    int x = typed(p, d), y = beside(p, x, typed(p, d));
    if (x < 0 || y < 0)
        return;
    if (pick(p, 2) && d != SETT_BOOL && d != SETT_F16 && d != SETT_BF16) {
        int z = beside(p, x, typed(p, d));
        if (z >= 0)
            try(p, (step){.kind = FMA, .a = x, .b = y, .c = z});
        return;
    }
    int c = beside(p, x, typed(p, SETT_BOOL));
    if (c >= 0)
        try(p, (step){.kind = WHERE, .a = c, .b = x, .c = y});
}

/* A coordinate of a shape: integers, or ALL. */
static sett_arg coordinate(program *p, sett_arg shape, int all)
{
    char text[64] = "(";
    size_t at = 1;
    if (shape.kind == SETT_INT || !pick(p, 3))
        return pick(p, 10) < all ? SETT_ALL : sett_arg_i(pick(p, plain_size(shape)));
    for (int i = 0; i < shape.rank; i++) {
        sett_arg k = shape.u.kid[i];
        bool keep = pick(p, 10) < all;
        at += (size_t)snprintf(text + at, sizeof text - at, keep ? "_," : "%d,", pick(p, plain_size(k)));
    }
    const char *s = text;
    text[at - 1] = ')';
    return plain_tuple(&s);
}

static void shapes(program *p)
{
    int x = any(p), how = pick(p, 6);
    const plain *m = &p->meta[x];
    if (m->scalar) {
        try(p, (step){.kind = FULL, .a = x, .d = type(p), .shape = shape_of(p, 1 + pick(p, 4)), .number = pick(p, 2)});
    } else if (how < 2) {
        try(p, (step){.kind = RESHAPE, .a = x, .shape = shape_of(p, m->n)});
    } else if (how == 2) {
        try(p, (step){.kind = BROADCAST, .a = x, .shape = shape_of(p, 6 * (1 + pick(p, 2)))});
    } else if (how < 5) {
        try(p, (step){.kind = ELEMENT, .a = x, .shape = coordinate(p, m->shape, 5)});
    } else {
        int at = count(p, m->n - 1 < 7 ? m->n - 1 : 7);
        if (at >= 0)
            try(p, (step){.kind = DYNAMIC, .a = x, .b = at});
    }
}

static void reduce(program *p)
{
    static const sett_binary_op folds[] = {SETT_ADD, SETT_MUL, SETT_MIN, SETT_MAX, SETT_AND, SETT_OR, SETT_XOR};
    int x = any(p);
    if (p->meta[x].scalar)
        return;
    if (!pick(p, 4)) {
        try(p, (step){.kind = ASK, .a = x, .op = pick(p, 2)});
        return;
    }
    try(p, (step){.kind = REDUCE, .a = x, .op = (int)folds[pick(p, is_float(p->meta[x].d) ? 4 : 7)], .number = pick(p, 2),
        .shape = coordinate(p, p->meta[x].shape, 4)});
}

/* To another type of the same width; not of floats, for a NaN's bits are the engine's. */
static void bitcast(program *p)
{
    int x = any(p);
    sett_dtype from = p->meta[x].d, to = type(p);
    if (!is_float(from) && from != SETT_BOOL && to != SETT_BOOL && sett_dtype_bits(from) == sett_dtype_bits(to))
        try(p, (step){.kind = BITCAST, .a = x, .d = to});
}

/* ---- regions ---------------------------------------------------------------------------------------------- */
static void block(program *p, int n);

/* State in registers: kept from a value, read, and set from another one converted and broadcast. */
static int keep(program *p, int x)
{
    if (x < 0 || p->n_state == STATES)
        return -1;
    int at = add(p, (step){.kind = KEEP, .a = x, .state = p->n_state}, &p->meta[x]); /* its result is the value that was kept */
    if (at < 0)
        return -1;
    p->state_of[p->n_state] = x;
    return p->n_state++;
}

static int get(program *p, int state)
{
    int at = add(p, (step){.kind = GET, .state = state}, &p->meta[p->state_of[state]]);
    return at < 0 ? -1 : p->step[at].out;
}

static void set(program *p, int state)
{
    const plain *m = &p->meta[p->state_of[state]];
    int x = typed(p, m->d);
    if (x >= 0 && !p->meta[x].scalar && (m->scalar || p->meta[x].n != m->n))
        x = try(p, (step){.kind = ELEMENT, .a = x, .shape = sett_arg_i(0)});
    else if (x >= 0 && !p->meta[x].scalar)
        x = try(p, (step){.kind = RESHAPE, .a = x, .shape = m->shape});
    if (x >= 0)
        add(p, (step){.kind = SET, .a = x, .state = state}, &p->meta[x]);
}

static int region_body(program *p, int state, int counter, int iv)
{
    int open = p->n_open, first = p->n_step;
    p->depth++;
    int start = get(p, state);
    if (iv >= 0)
        p->open[p->n_open++] = iv;
    block(p, 4);
    set(p, state);
    if (counter >= 0) { /* a while loop counts itself */
        int c = get(p, counter);
        c = c < 0 ? c : try(p, (step){.kind = NUMBER, .op = SETT_ADD, .a = c, .number = 1});
        if (c >= 0)
            add(p, (step){.kind = SET, .a = c, .state = counter}, &p->meta[c]);
    }
    p->depth--;
    p->n_open = open; /* what was made in it is not visible outside */
    return start < 0 ? -1 : first;
}

/* Steps lie in order of making: a region's steps follow it, and `next` jumps over them. */
static void region(program *p)
{
    int state = keep(p, any(p)), how = pick(p, 3), n = how == 0 ? scalar(p, SETT_BOOL) : count(p, 3);
    if (state < 0 || n < 0 || p->n_step + 90 > STEPS || p->n_value + 90 > VALUES || p->n_state + 4 > STATES)
        return;
    int counter = -1, zero = -1;
    if (how == 2) {
        zero = try(p, (step){.kind = FULL, .a = n, .d = SETT_I32, .shape = (sett_arg){.kind = SETT_NODE}, .number = 0});
        counter = keep(p, zero);
    }
    static const int copies[] = {0, 0, 2, 3};
    plain iv = {.d = SETT_I32, .scalar = true, .n = 1};
    step s = {.kind = how == 0 ? IF : how == 1 ? FOR : WHILE, .a = n, .b = counter, .state = state, .unroll = copies[pick(p, 4)], .full = !pick(p, 5)};
    int at = add(p, s, how == 1 ? &iv : &p->meta[n]), out = at < 0 ? -1 : p->step[at].out;
    if (at < 0)
        return;
    p->n_open--; /* the loop's variable is its body's */
    p->step[at].body = region_body(p, state, counter, how == 1 ? out : -1);
    p->step[at].other = p->n_step;
    if (how == 0)
        region_body(p, state, -1, -1);
    p->step[at].next = p->n_step;
    get(p, state);
}

static void block(program *p, int n)
{
    static void (*const make[])(program *) = {binary, binary, binary, binary, unary, unary, choose, shapes, shapes, reduce, bitcast, region, region};
    for (int i = 0; i < n && p->n_step + 100 < STEPS && p->n_value + 100 < VALUES; i++)
        make[pick(p, p->depth < 3 ? 13 : 11)](p);
}

static void make(program *p, uint64_t seed)
{
    plain_reset();
    memset(p, 0, sizeof *p);
    p->seed = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (int t = 0; t < TYPES; t++) {
        p->meta[t] = (plain){.d = conform_types[t], .shape = sett_arg_i(INPUT), .n = INPUT};
        p->open[p->n_open++] = p->n_value++;
    }
    for (int t = 0; t < TYPES; t++)
        if (pick(p, 2))
            try(p, (step){.kind = RESHAPE, .a = t, .shape = shape_of(p, INPUT)});
    block(p, 22);
}

/* ---- plain C ----------------------------------------------------------------------------------------------- */
static plain number(double x)
{
    bool whole = x == (double)(int64_t)x;
    plain r = {.d = whole ? SETT_I64 : SETT_F64, .scalar = true, .weak = true, .n = 1};
    memcpy(&r.v[0], &x, sizeof x);
    if (whole)
        r.v[0] = (uint64_t)(int64_t)x;
    return r;
}

static bool full(const step *s, plain *r)
{
    plain x = number(s->number);
    if (!plain_to(&x, s->d, &x))
        return false;
    bool one = s->shape.kind == SETT_NODE && !s->shape.rank;
    *r = (plain){.d = s->d, .scalar = one, .shape = s->shape, .n = one ? 1 : plain_size(s->shape)};
    for (int i = 0; i < r->n; i++)
        r->v[i] = x.v[0];
    return true;
}

static bool evaluate(const step *s, const plain *v, plain *r)
{
    plain n = number(s->number);
    const plain *x = &v[s->a];
    switch (s->kind) {
    case BINARY: return plain_binary((sett_binary_op)s->op, x, &v[s->b], r);
    case NUMBER: return plain_binary((sett_binary_op)s->op, s->left ? &n : x, s->left ? x : &n, r);
    case UNARY: return plain_unary((sett_unary_op)s->op, x, r);
    case TO: return plain_to(x, s->d, r);
    case WHERE: return plain_where(x, &v[s->b], &v[s->c], r);
    case FMA: return plain_fma(x, &v[s->b], &v[s->c], r);
    case FULL: return full(s, r);
    case RESHAPE: return plain_reshape(x, s->shape, r);
    case BROADCAST: return plain_broadcast_to(x, s->shape, r);
    case ELEMENT: return plain_element(x, s->shape, r);
    case DYNAMIC: return plain_element(x, sett_arg_i((int64_t)v[s->b].v[0]), r);
    case REDUCE:
        plain_to(&n, x->d, &n);
        return plain_reduce((sett_binary_op)s->op, x, n.v[0], s->shape, r);
    case ASK: return plain_test(s->op, x, r);
    case BITCAST:
        *r = *x;
        r->d = s->d;
        return true;
    default: return false;
    }
}

typedef struct thread {
    plain v[VALUES], state[STATES];
} thread;

/* Steps from `at` up to `end`. */
static void execute(const program *p, int at, int end, thread *t)
{
    while (at < end) {
        const step *s = &p->step[at];
        plain *out = &t->v[s->out];
        at++;
        switch (s->kind) {
        case KEEP:
            *out = t->state[s->state] = t->v[s->a];
            break;
        case GET:
            *out = t->state[s->state];
            break;
        case SET:
            for (int i = 0; i < t->state[s->state].n; i++)
                t->state[s->state].v[i] = t->v[s->a].v[t->v[s->a].scalar ? 0 : i];
            *out = t->v[s->a];
            break;
        case IF:
            execute(p, t->v[s->a].v[0] ? s->body : s->other, t->v[s->a].v[0] ? s->other : s->next, t);
            break;
        case FOR: {
            int n = s->full ? 3 : (int)t->v[s->a].v[0];
            for (int i = 0; i < n; i++) {
                *out = (plain){.d = SETT_I32, .scalar = true, .n = 1, .v = {(uint64_t)i}};
                execute(p, s->body, s->other, t);
            }
            break;
        }
        case WHILE:
            while (t->state[s->b].v[0] < t->v[s->a].v[0])
                execute(p, s->body, s->other, t);
            break;
        default:
            ck_assert(evaluate(s, t->v, out));
        }
        if (s->kind >= IF)
            at = s->next;
    }
}

/* ---- the library -------------------------------------------------------------------------------------------- */
typedef struct recorder {
    sett_build *b;
    const program *p;
    sett_val *v[VALUES];
    sett_tensor *state[STATES];
} recorder;

static void record(recorder *r, int at, int end);

static sett_arg number_arg(double x)
{
    return x == (double)(int64_t)x ? sett_arg_i((int64_t)x) : sett_arg_f(x);
}

static sett_val *apply(recorder *r, const step *s)
{
    sett_val *x = r->v[s->a], *y = r->v[s->b];
    sett_arg n = number_arg(s->number), a = sett_arg_v(x);
    switch (s->kind) {
    case BINARY: return sett_binary_at(SETT_HERE, "binary", (sett_binary_op)s->op, a, sett_arg_v(y));
    case NUMBER: return sett_binary_at(SETT_HERE, "number", (sett_binary_op)s->op, s->left ? n : a, s->left ? a : n);
    case UNARY: return sett_unary_at(SETT_HERE, "unary", (sett_unary_op)s->op, x);
    case TO: return sett_to(x, s->d);
    case WHERE: return sett_where(x, y, r->v[s->c]);
    case FMA: return sett_fma(x, y, r->v[s->c]);
    case FULL: return s->shape.kind == SETT_NODE && !s->shape.rank ? sett_const(r->b, s->d, n) : sett_full(r->b, s->d, s->shape, n);
    case RESHAPE: return sett_reshape(x, s->shape);
    case BROADCAST: return sett_broadcast_to(x, s->shape);
    case ELEMENT: return sett_element(x, s->shape);
    case DYNAMIC: return sett_element(x, y);
    case REDUCE: return sett_reduce_by(x, (sett_binary_op)s->op, n, s->shape);
    case ASK: return s->op ? sett_all(x) : sett_any(x);
    default: return sett_bitcast(x, s->d);
    }
}

static sett_val *read_state(recorder *r, int state)
{
    const plain *m = &r->p->meta[r->p->state_of[state]];
    return m->scalar ? sett_at(r->state[state], 0) : sett_load(r->state[state]);
}

static void write_state(recorder *r, int state, sett_val *x)
{
    if (r->p->meta[r->p->state_of[state]].scalar)
        sett_set(r->state[state], x, 0);
    else
        sett_store(r->state[state], x);
}

static void record_region(recorder *r, const step *s)
{
    sett_val *x = r->v[s->a];
    if (s->kind == IF) {
        sett_if (r->b, x)
            record(r, s->body, s->other);
        sett_else (r->b)
            record(r, s->other, s->next);
    } else if (s->kind == WHILE) {
        sett_while (r->b, sett_lt(sett_at(r->state[s->b], 0), x))
            record(r, s->body, s->other);
    } else if (s->full) {
        sett_for (r->b, i, 0, 3, 1, .unroll_full = true) {
            r->v[s->out] = i;
            record(r, s->body, s->other);
        }
    } else {
        sett_for (r->b, i, 0, x, 1, .unroll = s->unroll) {
            r->v[s->out] = i;
            record(r, s->body, s->other);
        }
    }
}

/* The library's type and shape of a result are those that were foreseen. */
static void check_result(const recorder *r, const step *s)
{
    char got[64] = "()", want[64] = "()";
    const plain *m = &r->p->meta[s->out];
    if (sett_build_status(r->b, NULL))
        return;
    sett_arg_str(sett_val_shape(r->v[s->out]), got, sizeof got);
    if (!m->scalar)
        sett_arg_str(m->shape, want, sizeof want);
    ck_assert_msg(!strcmp(got, want) && sett_val_dtype(r->v[s->out]) == m->d, "kind %d, op %d, value %d: got %s of %s, want %s of %s", (int)s->kind,
        s->op, s->out, sett_dtype_name(sett_val_dtype(r->v[s->out])), got, sett_dtype_name(m->d), want);
}

static void record(recorder *r, int at, int end)
{
    while (at < end) {
        const step *s = &r->p->step[at++];
        const plain *m = s->kind == KEEP ? &r->p->meta[s->a] : NULL;
        if (s->kind == KEEP) {
            r->state[s->state] = sett_make_rmem_tensor(r->b, m->d, m->scalar ? sett_arg_i(1) : m->shape);
            write_state(r, s->state, r->v[s->a]);
        }
        if (s->kind == SET)
            write_state(r, s->state, r->v[s->a]);
        if (s->kind >= IF) {
            record_region(r, s);
            at = s->next;
        } else {
            r->v[s->out] = s->kind == KEEP || s->kind == SET ? r->v[s->a] : s->kind == GET ? read_state(r, s->state) : apply(r, s);
            check_result(r, s);
        }
    }
}

static sett_val *to_word(sett_val *x)
{
    static const sett_dtype word[] = {[1] = SETT_U8, [2] = SETT_U16, [4] = SETT_U32, [8] = SETT_U64};
    sett_dtype d = sett_val_dtype(x);
    return sett_to(d == SETT_BOOL ? x : sett_bitcast(x, word[sett__dtype_bytes(d)]), SETT_U64);
}

static int result(const program *p, int k)
{
    return p->open[p->n_open - 1 - k]; /* made outside of all regions */
}

static void body(sett_build *b, const void *user)
{
    const program *p = user;
    recorder *r = calloc(1, sizeof *r);
    char name[8];
    ck_assert_ptr_nonnull(r);
    *r = (recorder){.b = b, .p = p};
    sett_block(b, LANES);
    sett_val *lane = sett_thread_idx(b, 0);
    for (int t = 0; t < TYPES; t++) {
        snprintf(name, sizeof name, "X%d", t);
        sett_tensor *X = sett_param(b, name, conform_types[t], sett_make_layout(b, T(INPUT, LANES)));
        r->v[t] = sett_reshape(sett_load(sett_slice(X, ALL, lane)), INPUT);
    }
    sett_tensor *Y = sett_param(b, "Y", SETT_U64, sett_make_layout(b, T(MOST, RESULTS, LANES)));
    record(r, 0, p->n_step);
    for (int k = 0; k < RESULTS; k++) {
        int id = result(p, k);
        sett_val *w = to_word(r->v[id]);
        sett_tensor *to = sett_slice(Y, ALL, k, lane);
        if (p->meta[id].scalar)
            sett_set(to, w, 0);
        else
            sett_store(sett_composition(to, sett_make_layout(b, T1(p->meta[id].n))), sett_reshape(w, T1(p->meta[id].n)));
    }
    free(r);
}

/* ---- both ---------------------------------------------------------------------------------------------------- */
static uint64_t y[MOST * RESULTS * LANES];

static void run(const program *p, void *const *x, bool cpu, bool no_fold)
{
    sett_buf buf[TYPES + 1];
    sett_launch_arg bind[TYPES + 1];
    for (int t = 0; t < TYPES; t++)
        buf[t] = (sett_buf){x[t], conform_types[t], 2, {INPUT, LANES}, {1, INPUT}};
    buf[TYPES] = (sett_buf){y, SETT_U64, 3, {MOST, RESULTS, LANES}, {1, MOST, MOST * RESULTS}};
    for (int t = 0; t <= TYPES; t++)
        bind[t] = sett_launch_arg_buf(&buf[t]);
    sett_kernel *k = conform_compile(body, p, (conform_how){.cpu = cpu, .no_fold = no_fold});
    conform_launch(k, cpu, TYPES + 1, bind);
    sett_kernel_release(k);
}

static void judge(const program *p, uint64_t seed, void *const *x, thread *t)
{
    for (int lane = 0; lane < LANES; lane++) {
        for (int k = 0; k < TYPES; k++) {
            t->v[k] = p->meta[k];
            for (int i = 0; i < INPUT; i++)
                t->v[k].v[i] = conform_get(x[k], conform_types[k], (size_t)(lane * INPUT + i));
        }
        execute(p, 0, p->n_step, t);
        for (int k = 0; k < RESULTS; k++) {
            const plain *want = &t->v[result(p, k)];
            for (int i = 0; i < want->n; i++) {
                uint64_t got = y[(lane * RESULTS + k) * MOST + i];
                ck_assert_msg(conform_same(want->d, got, want->v[i]), "program %" PRIu64 ", value %d, thread %d, element %d of %s: got %" PRIx64 ", want %" PRIx64,
                    seed, result(p, k), lane, i, sett_dtype_name(want->d), got, want->v[i]);
            }
        }
    }
}

/* 300 programs on the CPU engine, each fifth of them unfolded; on a GPU 100. */
START_TEST(programs_agree)
{
    if (conform_on_gpu() && _i * PER_TEST >= 100)
        return;
    program *p = malloc(sizeof *p);
    thread *t = calloc(1, sizeof *t);
    void *x[TYPES];
    const char *base = getenv("SETT_TEST_SEED");
    uint64_t first = (base ? strtoull(base, NULL, 0) : 0) + (uint64_t)_i * PER_TEST;
    ck_assert(p && t);
    for (int k = 0; k < TYPES; k++)
        x[k] = conform_array(conform_types[k], LANES * INPUT, first * 100 + (uint64_t)k);
    for (uint64_t seed = first; seed < first + PER_TEST; seed++) {
        make(p, seed);
        ck_assert_int_ge(p->n_open, RESULTS);
        run(p, x, false, seed % 5 == 4);
        judge(p, seed, x, t);
    }
    for (int k = 0; k < TYPES; k++)
        free(x[k]);
    free(p), free(t);
}
END_TEST

void conform_add_program(TCase *t)
{
    tcase_add_loop_test(t, programs_agree, 0, 300 / PER_TEST);
}
