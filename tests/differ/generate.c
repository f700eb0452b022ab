/* SPDX-License-Identifier: Apache-2.0 */
/* Random cases: see differ.h. What is drawn first is what was made last: values that follow from each other find defects. */
#include "tests/differ/generate.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int gen_below(gen *g, int n)
{
    return draw_below(g->d, n);
}

bool gen_chance(gen *g, int in)
{
    return !draw_below(g->d, in);
}

/* ---- statements --------------------------------------------------------------------------------------- */
static bool is_value(const stmt *s)
{
    return s->dtype && sett__ops[s->code].cls != SETT__C_ROOT;
}

/* How alike it is among threads: 2, the same in a block; 1, in a warp; 0. */
static int alike_by(const gen *g, const stmt *s)
{
    int least = 2;
    if (s->code == SETT__TID || s->code == SETT__LANE || s->code == SETT__ATOM)
        return 0;
    if (s->code == SETT__LOAD && (g->c->s[s->arg[0]].code != SETT__PARAM || g->c->b[g->c->s[s->arg[0]].imm].kind != BUFFER_READ))
        return 0;
    for (int k = 0; k < s->n_arg; k++)
        if (s->arg[k] != NO_ARG && is_value(&g->c->s[s->arg[k]]) && g->alike[s->arg[k]] < least)
            least = g->alike[s->arg[k]];
    if (s->code == SETT__VOTE || s->code == SETT__REDUX || s->code == SETT__SHFL || s->code == SETT__MATCH)
        least = s->code == SETT__VOTE || s->code == SETT__REDUX ? 1 : 0;
    return s->code == SETT__FOR && g->level < least ? g->level : least;
}

/* May its NaN have other bits than the engine's? */
static bool loose_by(const gen *g, const stmt *s)
{
    const int cls = sett__ops[s->code].cls;
    if (!sett__dtype_is_float((sett_dtype)s->dtype))
        return false;
    if (cls == SETT__C_BINARY || cls == SETT__C_UNARY || cls == SETT__C_TERNARY || cls == SETT__C_REDUCE || s->code == SETT__CONVERT)
        return true;
    if (s->code == SETT__LOAD && g->loose[s->arg[0]])
        return true;
    for (int k = s->code == SETT__LOAD ? 3 : 0; k < s->n_arg; k++)
        if (s->arg[k] != NO_ARG && g->loose[s->arg[k]])
            return true;
    return false;
}

int gen_add(gen *g, stmt s)
{
    const int i = g->c->n_stmt++;
    if (i >= STMTS)
        abort();
    g->c->s[i] = s;
    if (s.dtype) {
        g->alike[i] = (int8_t)(is_value(&s) ? alike_by(g, &s) : 0);
        g->loose[i] = is_value(&s) && loose_by(g, &s);
        if (is_value(&s))
            g->pool[g->n_pool++] = (int16_t)i;
    }
    return i;
}

int gen_op(gen *g, int code, int dtype, int n, int n_arg, ...)
{
    stmt s = {.code = (uint8_t)code, .dtype = (uint8_t)dtype, .n = (uint16_t)n, .n_arg = (uint8_t)n_arg};
    va_list args;
    va_start(args, n_arg);
    for (int k = 0; k < n_arg; k++)
        s.arg[k] = (int16_t)va_arg(args, int);
    va_end(args);
    return gen_add(g, s);
}

static uint64_t random_constant(gen *g, int d)
{
    static const double number[] = {0, 1, -1, 2, 0.5, 3, -2.5, 7, 100};
    const uint64_t mask = UINT64_MAX >> (64 - sett_dtype_bits((sett_dtype)d));
    if (d == SETT_BOOL)
        return (uint64_t)gen_below(g, 2);
    if (sett__dtype_is_float((sett_dtype)d) && gen_below(g, 4))
        return sett__bits_of_float((sett_dtype)d, number[gen_below(g, SETT__COUNT(number))]);
    if (sett__dtype_is_float((sett_dtype)d) || !gen_below(g, 6))
        return draw_bits(g->d) & mask;
    return (uint64_t)(gen_below(g, 40) - 8) & mask;
}

int gen_const(gen *g, int d, uint64_t bits)
{
    return gen_add(g, (stmt){.code = SETT__CONST, .dtype = (uint8_t)d, .n = 1, .imm = (int64_t)bits});
}

/* ---- types and values ------------------------------------------------------------------------------------ */
static const uint8_t arithmetic[] = {SETT_I32, SETT_F32, SETT_I64, SETT_F64, SETT_I8, SETT_I16, SETT_U8, SETT_U16, SETT_U32, SETT_U64, SETT_F16, SETT_BF16};

int gen_arithmetic(gen *g)
{
    if (gen_chance(g, 2))
        return g->liked[gen_below(g, SETT__COUNT(g->liked))];
    return arithmetic[gen_below(g, SETT__COUNT(arithmetic))];
}

int gen_type(gen *g)
{
    static const uint8_t moved[] = {SETT_BOOL, SETT_F8E4M3FN, SETT_F8E5M2};
    return gen_chance(g, 8) ? moved[gen_below(g, SETT__COUNT(moved))] : gen_arithmetic(g);
}

int gen_width(gen *g)
{
    static const uint8_t of[] = {1, 2, 4, 1, 2, 3, 4, 8, 5, 6, 7, 1, 2, 16, 9, 10, 12, 15, 17, 13};
    return of[gen_below(g, gen_chance(g, 3) ? (int)SETT__COUNT(of) : 7)];
}

/* A visible value, late ones more often; NO_ARG: none of these was found. */
static int seek(gen *g, int d, int n, int flags)
{
    for (int tries = 0; tries < 3 && g->n_pool; tries++) {
        int x = gen_below(g, g->n_pool), y = gen_below(g, g->n_pool);
        for (int at = x > y ? x : y, seen = 0; at >= 0 && seen < 12; at--, seen++) {
            const int i = g->pool[at];
            const stmt *s = &g->c->s[i];
            if ((!d || s->dtype == d) && (!n || s->n == n || (flags & GEN_SPLAT && s->n == 1)) && !(flags & GEN_STRICT && g->loose[i]))
                return i;
        }
    }
    return NO_ARG;
}

static int converted(gen *g, int d, int n)
{
    const int from = seek(g, 0, n, 0);
    if (from == NO_ARG || sett__dtype_kind((sett_dtype)d) == 's' || sett__dtype_kind(g->c->s[from].dtype) == 's')
        return NO_ARG;
    return gen_op(g, SETT__CONVERT, d, g->c->s[from].n, 1, from);
}

/* Its NaN, if it has one, become a number. */
int gen_strict(gen *g, int v)
{
    const int d = g->c->s[v].dtype, n = g->c->s[v].n;
    if (!g->loose[v])
        return v;
    const int nan = gen_op(g, SETT__NE, SETT_BOOL, n, 2, v, v);
    const int zero = gen_const(g, d, random_constant(g, SETT_BOOL));
    const int to = gen_op(g, SETT__SELECT, d, n, 3, nan, zero, v);
    g->loose[to] = false;
    return to;
}

static int made(gen *g, int d, int n, int flags)
{
    int v = NO_ARG;
    const int how = gen_below(g, 6);
    if (how == 0)
        v = converted(g, d, n);
    else if (how == 1 && n == 1)
        v = gen_const(g, d, random_constant(g, d));
    else if (how < 5)
        v = gen_load(g, d, n);
    if (v == NO_ARG && n == 1)
        return gen_const(g, d, random_constant(g, d));
    if (v == NO_ARG && flags & GEN_SPLAT && gen_chance(g, 2))
        return gen_const(g, d, random_constant(g, d));
    if (v == NO_ARG) {
        const int which = gen_const(g, SETT_BOOL, (uint64_t)gen_below(g, 2)), x = gen_const(g, d, random_constant(g, d));
        v = gen_op(g, SETT__SELECT, d, n, 3, which, x, gen_const(g, d, random_constant(g, d)));
    }
    return v;
}

int gen_value(gen *g, int d, int n, int flags)
{
    int v = gen_below(g, 6) ? seek(g, d, n, flags) : NO_ARG;
    if (v == NO_ARG)
        v = made(g, d, n, flags);
    return flags & GEN_STRICT ? gen_strict(g, v) : v;
}

/* ---- indices -------------------------------------------------------------------------------------------------- */
static int i32(gen *g, int64_t x)
{
    return gen_const(g, SETT_I32, (uint32_t)x);
}

static int low_bits(gen *g, int v, int limit)
{
    int mask = 1;
    while (2 * mask <= limit)
        mask *= 2;
    return gen_op(g, SETT__AND, SETT_I32, 1, 2, v, i32(g, mask - 1));
}

/* One i32 of [0, limit). */
int gen_index(gen *g, int limit)
{
    const int v = gen_value(g, SETT_I32, 1, 0);
    if (limit <= 1)
        return gen_chance(g, 2) ? i32(g, 0) : gen_op(g, SETT__AND, SETT_I32, 1, 2, v, i32(g, 0));
    switch (gen_below(g, 4)) {
    case 0: {
        const int u = gen_op(g, SETT__CONVERT, SETT_U32, 1, 1, v), m = gen_const(g, SETT_U32, (uint64_t)limit);
        return gen_op(g, SETT__CONVERT, SETT_I32, 1, 1, gen_op(g, SETT__REM, SETT_U32, 1, 2, u, m));
    }
    case 1: {
        const int most = gen_op(g, SETT__MIN, SETT_I32, 1, 2, v, i32(g, limit - 1));
        return gen_op(g, SETT__MAX, SETT_I32, 1, 2, most, i32(g, 0));
    }
    default: return low_bits(g, v, limit);
    }
}

/* A base below limit that is a multiple of `step`, a power of two. */
static int scaled_index(gen *g, int limit, int step)
{
    const int v = gen_index(g, (limit + step - 1) / step);
    return step == 1 ? v : gen_op(g, SETT__MUL, SETT_I32, 1, 2, v, i32(g, step));
}

static int widened(gen *g, int base)
{
    return gen_chance(g, 5) ? gen_op(g, SETT__CONVERT, SETT_I64, 1, 1, base) : base;
}

/* ---- places ------------------------------------------------------------------------------------------------------ */
/* Bytes that base * size and imm * size are multiples of. */
static int alignment(gen *g, int64_t imm, int step, int size, int most)
{
    int align = most;
    while (align > size && ((imm * size) % align || (step && (step * size) % align)))
        align /= 2;
    while (align > size && gen_chance(g, 4))
        align /= 2;
    return align < size ? size : align;
}

static void guard(gen *g, stmt *s)
{
    if (gen_chance(g, 4))
        s->arg[2] = (int16_t)gen_value(g, SETT_BOOL, 1, 0);
}

/* Where n elements of a type lie in a root of `room` of them, of which the first lies at its element 0. */
static void aim(gen *g, stmt *s, int n, int size, int room, int most_align)
{
    int step = 1, slack = room - n;
    while (step * 2 <= n && n % (step * 2) == 0)
        step *= 2;
    if (gen_below(g, 3) == 0)
        step = 1;
    s->arg[1] = NO_ARG;
    if (gen_below(g, 4) == 0 && slack >= 0) {
        s->imm = gen_chance(g, 2) ? 0 : gen_below(g, slack + 1) / step * step;
        s->arg[1] = (int16_t)widened(g, scaled_index(g, slack - (int)s->imm + 1, step));
        s->align = (uint8_t)alignment(g, s->imm, step, size, most_align);
        return;
    }
    s->imm = gen_below(g, slack / step + 1) * step;
    s->align = (uint8_t)alignment(g, s->imm, 0, size, most_align);
}

static int size_of(int d)
{
    return sett__dtype_bytes((sett_dtype)d);
}

/* Registers are accessed as their own type, or, unless their NaN are loose, as any. */
static int type_for(gen *g, int root)
{
    const int own = g->c->s[root].dtype;
    if (g->loose[root] || gen_below(g, 8))
        return own;
    for (int tries = 0; tries < 4; tries++) {
        const int d = gen_type(g);
        if (size_of(d) <= size_of(own) * g->c->s[root].n)
            return d;
    }
    return own;
}

static int width_within(gen *g, int room)
{
    static const uint8_t parts[] = {1, 2, 4, 1, 2, 4, 3, 8};
    const int n = gen_chance(g, 3) ? room : gen_chance(g, 4) ? 1 + gen_below(g, room) : parts[gen_below(g, SETT__COUNT(parts))];
    return n > room ? room : n > WIDEST ? WIDEST : n;
}

/* Past the end, where a predicate says so. */
static void perhaps_outside(gen *g, stmt *s, int n, int room)
{
    if (room < n || gen_below(g, 10))
        return;
    const int base = gen_index(g, 2 * room + 2), in = gen_op(g, SETT__LE, SETT_BOOL, 1, 2, base, i32(g, room - n));
    s->arg[1] = (int16_t)base;
    s->arg[2] = (int16_t)in;
    s->imm = 0;
    s->align = 1;
}

static void fill(gen *g, stmt *s)
{
    if (s->arg[2] != NO_ARG && gen_chance(g, 2))
        s->arg[3] = (int16_t)gen_value(g, s->dtype, s->n, GEN_SPLAT | (s->code == SETT__LOAD && g->loose[s->arg[0]] ? 0 : GEN_STRICT));
}

int gen_load_registers(gen *g, int root)
{
    const int d = type_for(g, root), room = size_of(g->c->s[root].dtype) * g->c->s[root].n / size_of(d), n = width_within(g, room);
    stmt s = {.code = SETT__LOAD, .dtype = (uint8_t)d, .n = (uint16_t)n, .n_arg = 4, .arg = {(int16_t)root, NO_ARG, NO_ARG, NO_ARG}};
    aim(g, &s, n, size_of(d), room, 64);
    guard(g, &s);
    perhaps_outside(g, &s, n, room);
    s.align = s.align < size_of(d) ? (uint8_t)size_of(d) : s.align;
    fill(g, &s);
    return gen_add(g, s);
}

void gen_store_registers(gen *g, int root)
{
    const int d = type_for(g, root), room = size_of(g->c->s[root].dtype) * g->c->s[root].n / size_of(d), n = width_within(g, room);
    stmt s = {.code = SETT__STORE, .n_arg = 4, .arg = {(int16_t)root, NO_ARG, NO_ARG, NO_ARG}};
    aim(g, &s, n, size_of(d), room, 64);
    guard(g, &s);
    perhaps_outside(g, &s, n, room);
    s.align = s.align < size_of(d) ? (uint8_t)size_of(d) : s.align;
    s.arg[3] = (int16_t)gen_value(g, d, n, g->loose[root] ? 0 : GEN_STRICT);
    gen_add(g, s);
}

/* Of a buffer that is only read. */
int gen_load(gen *g, int d, int n)
{
    int at = gen_below(g, g->n_input), root = NO_ARG;
    for (int k = 0; k < g->n_input && root == NO_ARG; k++)
        if (g->c->s[g->input[(at + k) % g->n_input]].dtype == d)
            root = g->input[(at + k) % g->n_input];
    if (root == NO_ARG && (g->wide < n || gen_below(g, 3)))
        return NO_ARG;
    root = root == NO_ARG ? g->input[at] : root;
    const buffer *b = &g->c->b[g->c->s[root].imm];
    const int room = b->elements * size_of(b->dtype) / size_of(d), per = g->threads * g->c->blocks;
    stmt s = {.code = SETT__LOAD, .dtype = (uint8_t)d, .n = (uint16_t)n, .n_arg = 4, .arg = {(int16_t)root, NO_ARG, NO_ARG, NO_ARG}};
    int step = 1;
    if (room < n)
        return NO_ARG;
    while (step < n && step < 8)
        step *= 2;
    if (gen_below(g, 3) && per * step + n + 4 <= room) { /* what follows each other, by thread */
        s.imm = gen_chance(g, 2) ? 0 : gen_below(g, 5);
        s.arg[1] = (int16_t)widened(g, step == 1 ? g->thread : gen_op(g, SETT__MUL, SETT_I32, 1, 2, g->thread, i32(g, step)));
        s.align = (uint8_t)alignment(g, s.imm, step, size_of(d), 16);
    } else {
        aim(g, &s, n, size_of(d), room, 16);
    }
    guard(g, &s);
    perhaps_outside(g, &s, n, room);
    s.align = s.align < size_of(d) ? (uint8_t)size_of(d) : s.align;
    fill(g, &s);
    return gen_add(g, s);
}

/* Where the thread's own elements begin. */
static int own_base(gen *g, const buffer *b)
{
    return widened(g, b->by_slot || b->each == 1 ? g->thread : gen_op(g, SETT__MUL, SETT_I32, 1, 2, g->thread, i32(g, b->each)));
}

/* n elements of the thread's own, at elements [at, at + n), or at a random place for at < 0. */
static void aim_own(gen *g, stmt *s, const buffer *b, int n, int at)
{
    const int size = size_of(b->dtype), chosen = gen_below(g, b->each - n + 1);
    at = at < 0 ? chosen : at;
    s->imm = b->by_slot ? (int64_t)at * g->threads * g->c->blocks : at;
    s->arg[1] = (int16_t)own_base(g, b);
    s->align = (uint8_t)alignment(g, s->imm, b->by_slot ? 1 : b->each, size, 16);
}

void gen_output(gen *g, int v)
{
    const int root = g->output[g->loose[v] && sett__dtype_is_float(g->c->s[v].dtype) && g->c->s[v].dtype == g->c->s[g->output[1]].dtype];
    const buffer *b = &g->c->b[g->c->s[root].imm];
    int x = b->loose ? v : gen_strict(g, v);
    if (g->c->s[x].dtype != b->dtype && sett__dtype_kind(g->c->s[x].dtype) != 's' && size_of(g->c->s[x].dtype) <= size_of(b->dtype) && !sett__dtype_is_float(g->c->s[x].dtype))
        x = gen_op(g, SETT__CONVERT, b->dtype, g->c->s[x].n, 1, x);
    if (g->c->s[x].dtype != b->dtype) {
        gen_output_bytes(g, x);
        return;
    }
    if (g->c->s[x].n > 1 && (b->by_slot || g->c->s[x].n > b->each)) {
        for (int e = 0; e < g->c->s[x].n; e++)
            if (e < 3 || gen_chance(g, 3)) {
                stmt p = {.code = SETT__PICK, .dtype = b->dtype, .n = 1, .n_arg = 1, .arg = {(int16_t)x}, .index = {(uint8_t)e}};
                stmt s = {.code = SETT__STORE, .n_arg = 4, .arg = {(int16_t)root, NO_ARG, NO_ARG, (int16_t)gen_add(g, p)}};
                aim_own(g, &s, b, 1, -1);
                gen_add(g, s);
            }
        return;
    }
    stmt s = {.code = SETT__STORE, .n_arg = 4, .arg = {(int16_t)root, NO_ARG, NO_ARG, (int16_t)x}};
    aim_own(g, &s, b, g->c->s[x].n, -1);
    guard(g, &s);
    gen_add(g, s);
}

/* As it is, to bytes of the thread's own. */
void gen_output_bytes(gen *g, int v)
{
    const int root = g->output[2], x = gen_strict(g, v), size = size_of(g->c->s[x].dtype), n = g->c->s[x].n;
    const int step = OWN_BYTES / size, at = gen_below(g, step - n + 1);
    stmt s = {.code = SETT__STORE, .n_arg = 4, .arg = {(int16_t)root, NO_ARG, NO_ARG, (int16_t)x}, .imm = at};
    s.arg[1] = (int16_t)widened(g, gen_op(g, SETT__MUL, SETT_I32, 1, 2, g->thread, i32(g, step)));
    s.align = (uint8_t)alignment(g, at, step, size, 16);
    guard(g, &s);
    gen_add(g, s);
}

/* What it stored there, or what there was. */
int gen_load_own(gen *g)
{
    const int root = g->output[gen_below(g, 2)];
    const buffer *b = &g->c->b[g->c->s[root].imm];
    const int widths = b->by_slot ? 1 : b->each < WIDEST ? b->each : WIDEST, n = b->by_slot ? 1 : width_within(g, widths);
    stmt s = {.code = SETT__LOAD, .dtype = b->dtype, .n = (uint16_t)n, .n_arg = 4, .arg = {(int16_t)root, NO_ARG, NO_ARG, NO_ARG}};
    aim_own(g, &s, b, n, -1);
    guard(g, &s);
    fill(g, &s);
    return gen_add(g, s);
}
