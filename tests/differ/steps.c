/* SPDX-License-Identifier: Apache-2.0 */
/* What a random case does, step by step: see differ.h. */
#include "tests/differ/generate.h"
#include <string.h>

/* ---- arithmetic ---------------------------------------------------------------------------------------- */
static void binary(gen *g)
{
    static const uint8_t any[] = {SETT__ADD, SETT__SUB, SETT__MUL, SETT__MIN, SETT__MAX, SETT__ADD, SETT__DIV, SETT__REM},
                         bits[] = {SETT__AND, SETT__OR, SETT__XOR, SETT__SHL, SETT__SHR};
    const int d = gen_arithmetic(g), n = gen_width(g), by_bits = !sett__dtype_is_float((sett_dtype)d) && gen_chance(g, 3);
    const int code = by_bits ? bits[gen_below(g, 5)] : any[gen_below(g, 8)];
    const int x = gen_value(g, d, n, GEN_SPLAT), y = gen_value(g, d, n, GEN_SPLAT);
    gen_op(g, code, d, n, 2, x, y);
}

static void ternary(gen *g)
{
    static const uint8_t real[] = {SETT_F32, SETT_F64, SETT_F16, SETT_BF16};
    const int d = real[gen_below(g, 4)], n = gen_width(g);
    const int x = gen_value(g, d, n, GEN_SPLAT), y = gen_value(g, d, n, GEN_SPLAT), z = gen_value(g, d, n, GEN_SPLAT);
    gen_op(g, SETT__FMA, d, n, 3, x, y, z);
}

static void unary(gen *g)
{
    static const uint8_t real[] = {SETT__NEG, SETT__ABS, SETT__SQRT, SETT__FLOOR, SETT__CEIL, SETT__TRUNC, SETT__RINT},
                         whole[] = {SETT__NEG, SETT__NOT, SETT__POPC, SETT__CLZ, SETT__BREV, SETT__ABS};
    const int d = gen_arithmetic(g), n = gen_width(g), is_float = sett__dtype_is_float((sett_dtype)d);
    const int code = is_float ? real[gen_below(g, 7)] : whole[gen_below(g, sett__dtype_kind((sett_dtype)d) == 'i' ? 6 : 5)];
    gen_op(g, code, d, n, 1, gen_value(g, d, n, GEN_SPLAT));
}

static void compare(gen *g)
{
    static const uint8_t code[] = {SETT__LT, SETT__LE, SETT__GT, SETT__GE, SETT__EQ, SETT__NE};
    const int d = gen_arithmetic(g), n = gen_chance(g, 2) ? 1 : gen_width(g);
    const int x = gen_value(g, d, n, GEN_SPLAT), y = gen_value(g, d, n, GEN_SPLAT);
    gen_op(g, code[gen_below(g, 6)], SETT_BOOL, n, 2, x, y);
}

static void choose(gen *g)
{
    const int d = gen_type(g), n = gen_width(g);
    const int which = gen_value(g, SETT_BOOL, n, GEN_SPLAT), x = gen_value(g, d, n, GEN_SPLAT), y = gen_value(g, d, n, GEN_SPLAT);
    gen_op(g, SETT__SELECT, d, n, 3, which, x, y);
}

static void convert(gen *g)
{
    const int n = gen_width(g), from = gen_value(g, gen_chance(g, 8) ? SETT_BOOL : gen_arithmetic(g), n, 0);
    gen_op(g, SETT__CONVERT, gen_chance(g, 8) ? SETT_BOOL : gen_arithmetic(g), g->c->s[from].n, 1, from);
}

static void bitcast(gen *g)
{
    const int from = gen_value(g, gen_arithmetic(g), gen_width(g), GEN_STRICT), d = gen_arithmetic(g);
    const int bytes = g->c->s[from].n * sett__dtype_bytes((sett_dtype)g->c->s[from].dtype), size = sett__dtype_bytes((sett_dtype)d);
    if (bytes % size == 0 && bytes / size <= WIDEST)
        gen_op(g, SETT__BITCAST, d, bytes / size, 1, from);
}

static void pick(gen *g)
{
    const int from = gen_value(g, gen_type(g), gen_width(g), 0), most = g->c->s[from].n;
    const int n = gen_chance(g, 2) ? 1 + gen_below(g, most) : gen_width(g), at = n < most ? gen_below(g, most - n + 1) : 0;
    stmt s = {.code = SETT__PICK, .dtype = g->c->s[from].dtype, .n = (uint16_t)n, .n_arg = 1, .arg = {(int16_t)from}};
    const bool run = gen_below(g, 3);
    for (int e = 0; e < n; e++)
        s.index[e] = (uint8_t)(run && at + e < most ? at + e : gen_below(g, most));
    gen_add(g, s);
}

static void pack(gen *g)
{
    const int d = gen_type(g), parts = 1 + gen_below(g, 5), each = gen_below(g, 3) ? gen_width(g) : 0;
    stmt s = {.code = SETT__PACK, .dtype = (uint8_t)d};
    for (int k = 0; k < parts; k++) {
        const int n = each ? each : gen_width(g);
        if (s.n + n > WIDEST)
            break;
        s.arg[s.n_arg] = (int16_t)gen_value(g, d, n, 0);
        s.n = (uint16_t)(s.n + g->c->s[s.arg[s.n_arg++]].n);
    }
    if (s.n_arg)
        gen_add(g, s);
}

static void reduce(gen *g)
{
    static const uint8_t any[] = {SETT__ADD, SETT__MIN, SETT__MAX, SETT__MUL, SETT__AND, SETT__OR, SETT__XOR};
    const int d = gen_arithmetic(g), x = gen_value(g, d, gen_width(g), 0), init = gen_value(g, d, 1, 0);
    stmt s = {.code = SETT__REDUCE, .dtype = (uint8_t)d, .n = 1, .n_arg = 2, .arg = {(int16_t)x, (int16_t)init}};
    s.sub = any[gen_below(g, sett__dtype_is_float((sett_dtype)d) ? 4 : 7)];
    gen_add(g, s);
}

/* ---- memory ------------------------------------------------------------------------------------------------ */
static void load(gen *g)
{
    gen_load(g, g->c->s[g->input[gen_below(g, g->n_input)]].dtype, gen_width(g));
}

static void load_registers(gen *g)
{
    if (g->n_root)
        gen_load_registers(g, g->root[gen_below(g, g->n_root)]);
}

static void store_registers(gen *g)
{
    if (g->n_root)
        gen_store_registers(g, g->root[gen_below(g, g->n_root)]);
}

static void output(gen *g)
{
    const int v = gen_chance(g, 3) && g->n_pool ? g->pool[g->n_pool - 1] : gen_value(g, gen_type(g), gen_width(g), 0);
    if (gen_below(g, 3))
        gen_output(g, v);
    else
        gen_output_bytes(g, v);
}

static void load_own(gen *g)
{
    gen_load_own(g);
}

static void add_up(gen *g)
{
    if (!g->n_sums)
        return;
    const int root = g->sums[gen_below(g, g->n_sums)], d = g->c->s[root].dtype, n = gen_chance(g, 3) && sett__dtype_bytes((sett_dtype)d) <= 8 ? 2 : 1;
    const buffer *b = &g->c->b[g->c->s[root].imm];
    stmt s = {.code = SETT__ATOM, .dtype = (uint8_t)d, .n = (uint16_t)n, .sub = b->op, .n_arg = 4, .arg = {(int16_t)root, NO_ARG, NO_ARG, NO_ARG}};
    s.arg[3] = (int16_t)gen_value(g, d, n, GEN_SPLAT);
    if (gen_chance(g, 3))
        s.arg[2] = (int16_t)gen_value(g, SETT_BOOL, 1, 0);
    int at = gen_index(g, b->elements / n);
    if (n == 2)
        at = gen_op(g, SETT__SHL, SETT_I32, 1, 2, at, gen_const(g, SETT_I32, 1));
    s.arg[1] = (int16_t)at;
    gen_add(g, s);
    g->n_pool--; /* the old value depends on the order */
}

/* ---- shared memory, in flow that is the same for all threads ------------------------------------------------- */
static void barrier(gen *g)
{
    gen_add(g, (stmt){.code = SETT__BARRIER});
}

static int scaled(gen *g, int v, int by)
{
    return by == 1 ? v : gen_op(g, SETT__MUL, SETT_I32, 1, 2, v, gen_const(g, SETT_I32, (uint64_t)by));
}

/* Elements that a thread has in it. */
static int share_of(const gen *g, int root)
{
    return g->c->s[root].n / g->threads;
}

static void read_shared(gen *g, int root, int times)
{
    const int d = g->c->s[root].dtype, each = share_of(g, root);
    for (int k = 0; k < times; k++) {
        const int n = gen_chance(g, 2) ? 1 : 1 + gen_below(g, each);
        stmt s = {.code = SETT__LOAD, .dtype = (uint8_t)d, .n = (uint16_t)n, .n_arg = 4, .arg = {(int16_t)root, NO_ARG, NO_ARG, NO_ARG}};
        s.align = (uint8_t)sett__dtype_bytes((sett_dtype)d);
        s.arg[1] = (int16_t)gen_index(g, g->c->s[root].n - n + 1);
        if (gen_chance(g, 4))
            s.arg[2] = (int16_t)gen_value(g, SETT_BOOL, 1, 0);
        gen_add(g, s);
    }
}

static void write_shared(gen *g, int root, bool predicated)
{
    const int d = g->c->s[root].dtype, each = share_of(g, root);
    stmt s = {.code = SETT__STORE, .n_arg = 4, .arg = {(int16_t)root, NO_ARG, NO_ARG, NO_ARG}};
    s.arg[3] = (int16_t)gen_value(g, d, each, GEN_STRICT);
    s.arg[1] = (int16_t)scaled(g, g->local, each);
    s.align = (uint8_t)sett__dtype_bytes((sett_dtype)d);
    if (predicated)
        s.arg[2] = (int16_t)gen_value(g, SETT_BOOL, 1, 0);
    gen_add(g, s);
}

static void copy_shared(gen *g, int root)
{
    const int d = g->c->s[root].dtype, size = sett__dtype_bytes((sett_dtype)d), bytes = size * share_of(g, root), in = g->input[gen_below(g, g->n_input)];
    const buffer *b = &g->c->b[g->c->s[in].imm];
    const int n = bytes / size, room = b->elements * sett__dtype_bytes((sett_dtype)b->dtype) / bytes;
    if ((bytes != 4 && bytes != 8 && bytes != 16) || !room) {
        write_shared(g, root, false);
        return;
    }
    stmt s = {.code = SETT__CPASYNC, .n_arg = 6, .bytes = (uint8_t)bytes, .of = (uint8_t)size, .arg = {(int16_t)root, NO_ARG, NO_ARG, (int16_t)in, NO_ARG, NO_ARG}};
    s.arg[1] = (int16_t)scaled(g, g->local, n);
    s.arg[4] = (int16_t)scaled(g, gen_index(g, room), n);
    if (gen_chance(g, 3))
        s.arg[2] = (int16_t)gen_value(g, SETT_BOOL, 1, 0);
    if (gen_chance(g, 3))
        s.arg[5] = (int16_t)gen_value(g, SETT_BOOL, 1, 0);
    gen_add(g, s);
    if (gen_chance(g, 2))
        gen_steps(g, 2);
    gen_add(g, (stmt){.code = SETT__CPCOMMIT});
    if (gen_chance(g, 2))
        gen_steps(g, 2);
    gen_add(g, (stmt){.code = SETT__CPWAIT});
}

static void share(gen *g)
{
    if (!g->n_shared || g->level < 2)
        return;
    const int root = g->shared[--g->n_shared]; /* steps in between leave it alone */
    barrier(g);
    if (gen_chance(g, 2))
        copy_shared(g, root);
    else
        write_shared(g, root, gen_chance(g, 3));
    barrier(g);
    read_shared(g, root, 1 + gen_below(g, 3));
    g->shared[g->n_shared++] = (int16_t)root;
}

/* ---- lanes together ---------------------------------------------------------------------------------------------- */
static void lanes(gen *g)
{
    static const uint8_t shuffled[] = {SETT_I32, SETT_F32, SETT_U32, SETT_I16, SETT_F16, SETT_U16, SETT_BF16},
                         folded[] = {SETT__ADD, SETT__MIN, SETT__MAX, SETT__AND, SETT__OR, SETT__XOR};
    if (!g->level)
        return;
    stmt s = {.code = SETT__SHFL, .n = 1, .n_arg = 1};
    switch (gen_below(g, 5)) {
    case 0:
        s.code = SETT__VOTE, s.sub = (uint8_t)gen_below(g, 4);
        s.dtype = s.sub == SETT__VOTE_BALLOT ? SETT_U32 : SETT_BOOL;
        s.arg[0] = (int16_t)gen_value(g, SETT_BOOL, 1, 0);
        break;
    case 1:
        s.code = SETT__REDUX, s.sub = folded[gen_below(g, 6)], s.dtype = gen_chance(g, 2) ? SETT_U32 : SETT_I32;
        s.arg[0] = (int16_t)gen_value(g, s.dtype, 1, 0);
        break;
    case 2:
        s.code = SETT__MATCH, s.sub = (uint8_t)gen_below(g, 2), s.dtype = SETT_U32;
        s.arg[0] = (int16_t)gen_value(g, gen_chance(g, 2) ? SETT_I32 : SETT_U64, 1, 0);
        break;
    default:
        if (g->threads % SETT__WARP)
            return;
        s.dtype = shuffled[gen_below(g, SETT__COUNT(shuffled))], s.sub = (uint8_t)gen_below(g, 4), s.n_arg = 2;
        s.of = (uint8_t)(2 << gen_below(g, 5));
        s.arg[0] = (int16_t)gen_value(g, s.dtype, gen_width(g), 0);
        s.n = g->c->s[s.arg[0]].n;
        s.arg[1] = (int16_t)gen_value(g, SETT_I32, 1, 0);
    }
    gen_add(g, s);
}

/* ---- regions --------------------------------------------------------------------------------------------------------- */
/* What is made in a region is not seen after it. */
static void inside(gen *g, int alike, int n)
{
    const int level = g->level, pool = g->n_pool;
    g->level = alike < level ? alike : level;
    g->depth++;
    gen_steps(g, n);
    g->depth--;
    g->level = level;
    g->n_pool = pool;
}

static void branch(gen *g)
{
    int on = gen_value(g, SETT_BOOL, 1, 0);
    if (gen_chance(g, 5)) { /* of the block, or of the warp */
        const int of = gen_chance(g, 2) ? g->warp : gen_op(g, SETT__BID, SETT_I32, 1, 0);
        on = gen_op(g, gen_chance(g, 2) ? SETT__EQ : SETT__LT, SETT_BOOL, 1, 2, of, gen_const(g, SETT_I32, (uint64_t)gen_below(g, 4)));
    }
    gen_op(g, SETT__IF, 0, 0, 1, on);
    inside(g, g->alike[on], gen_below(g, 6));
    if (gen_chance(g, 2)) {
        gen_op(g, SETT__ELSE, 0, 0, 0);
        inside(g, g->alike[on], gen_below(g, 5));
    }
    gen_op(g, SETT__END, 0, 0, 0);
}

static int few(gen *g, int d, int most)
{
    if (gen_chance(g, 2))
        return gen_const(g, d, (uint64_t)gen_below(g, most + 1));
    return gen_op(g, SETT__AND, d, 1, 2, gen_value(g, d, 1, 0), gen_const(g, d, (uint64_t)(most >= 3 ? 3 : 1)));
}

static void count(gen *g)
{
    static const uint8_t type[] = {SETT_I32, SETT_I32, SETT_I64, SETT_U32, SETT_U64};
    const int d = type[gen_below(g, 5)], lo = few(g, d, 1), hi = few(g, d, 4);
    const int step = gen_chance(g, 3) ? gen_op(g, SETT__OR, d, 1, 2, few(g, d, 3), gen_const(g, d, 1)) : gen_const(g, d, (uint64_t)(1 + gen_below(g, 3)));
    const int pool = g->n_pool, v = gen_op(g, SETT__FOR, d, 1, 3, lo, hi, step);
    inside(g, g->alike[v], 1 + gen_below(g, 5));
    g->n_pool = pool;
    gen_op(g, SETT__END, 0, 0, 0);
}

static void loop(gen *g)
{
    if (!g->n_counter)
        return;
    const int root = g->counter[--g->n_counter], zero = gen_const(g, SETT_I32, 0), one = gen_const(g, SETT_I32, 1);
    const stmt at = {.n_arg = 4, .align = 4, .arg = {(int16_t)root, NO_ARG, NO_ARG, NO_ARG}};
    stmt first = at, last = at, load = at;
    first.code = last.code = SETT__STORE, load.code = SETT__LOAD, load.dtype = SETT_I32, load.n = 1;
    first.arg[3] = (int16_t)few(g, SETT_I32, 4);
    gen_add(g, first);
    const int pool = g->n_pool, level = g->level;
    gen_op(g, SETT__LOOP, 0, 0, 0);
    g->level = 0, g->depth++;
    const int now = gen_add(g, load);
    int on = gen_op(g, SETT__GT, SETT_BOOL, 1, 2, now, zero);
    if (gen_chance(g, 3))
        on = gen_op(g, SETT__AND, SETT_BOOL, 1, 2, on, gen_value(g, SETT_BOOL, 1, 0));
    if (gen_chance(g, 2))
        gen_steps(g, 2);
    gen_op(g, SETT__WHILE, 0, 0, 1, on);
    gen_steps(g, 1 + gen_below(g, 4));
    last.arg[3] = (int16_t)gen_op(g, SETT__SUB, SETT_I32, 1, 2, gen_add(g, load), one);
    gen_add(g, last);
    gen_op(g, SETT__END, 0, 0, 0);
    g->level = level, g->depth--;
    g->n_pool = pool;
    g->n_counter++;
}

static void region(gen *g)
{
    if (g->depth >= 3)
        return;
    switch (gen_below(g, 5)) {
    case 0: count(g); return;
    case 1: loop(g); return;
    default: branch(g);
    }
}

/* ---- a case ------------------------------------------------------------------------------------------------------------ */
void gen_steps(gen *g, int n)
{
    static void (*const step[])(gen *) = {load_registers, load_registers, load_registers, load_registers, store_registers, store_registers, store_registers,
        store_registers, binary, binary, binary, region, region, region, load, load, output, output, output, pick, pick, pack, pack, choose, convert, unary,
        compare, bitcast, reduce, load_own, add_up, share, lanes, ternary};
    for (; n > 0 && g->left > 0 && g->c->n_stmt < STMTS / 2; n--, g->left--)
        step[gen_below(g, SETT__COUNT(step))](g);
}

static int add_buffer(gen *g, buffer b)
{
    g->c->b[g->c->n_buffer] = b;
    stmt s = {.code = SETT__PARAM, .dtype = b.dtype, .imm = g->c->n_buffer++};
    const int root = gen_add(g, s);
    g->loose[root] = b.loose;
    return root;
}

static void add_buffers(gen *g)
{
    static const uint8_t real[] = {SETT_F32, SETT_F64, SETT_F16, SETT_BF16}, whole[] = {SETT_I32, SETT_U64, SETT_I64, SETT_U32, SETT_I16, SETT_U8, SETT_I8},
                         sums[] = {SETT_U32, SETT_I32, SETT_U64, SETT_I64}, folds[] = {SETT__ADD, SETT__ADD, SETT__MIN, SETT__MAX, SETT__AND, SETT__OR, SETT__XOR},
                         each[] = {4, 4, 8, 2, 1, 3, 16, 5, 6};
    const int all = g->threads * g->c->blocks;
    g->n_input = 1 + gen_below(g, 3);
    for (int k = 0; k < g->n_input; k++)
        g->input[k] = (int16_t)add_buffer(g, (buffer){.dtype = (uint8_t)gen_type(g), .kind = BUFFER_READ, .elements = all * (1 << gen_below(g, 4)) + 4 + gen_below(g, 40)});
    for (int k = 0; k < 2; k++) {
        const int d = k ? real[gen_below(g, 4)] : whole[gen_below(g, SETT__COUNT(whole))], n = each[gen_below(g, SETT__COUNT(each))];
        g->output[k] = (int16_t)add_buffer(g, (buffer){.dtype = (uint8_t)d, .kind = BUFFER_OWN, .loose = k, .by_slot = gen_chance(g, 3), .elements = all * n, .each = n});
    }
    g->output[2] = (int16_t)add_buffer(g, (buffer){.dtype = SETT_U8, .kind = BUFFER_OWN, .elements = all * OWN_BYTES, .each = OWN_BYTES});
    if (gen_chance(g, 3))
        g->sums[g->n_sums++] = (int16_t)add_buffer(g, (buffer){.dtype = sums[gen_below(g, 4)], .kind = BUFFER_SUMS, .elements = 2 + gen_below(g, 40), .op = folds[gen_below(g, 7)]});
    g->wide = WIDEST;
    for (int k = 0; k < g->n_input; k++) {
        const buffer *b = &g->c->b[g->c->s[g->input[k]].imm];
        const int most = b->elements * sett__dtype_bytes((sett_dtype)b->dtype) / 8;
        g->wide = most < g->wide ? most : g->wide;
    }
}

/* Elements side by side for each thread, which are zero until one stores there. */
static void add_shared(gen *g)
{
    static const uint8_t each[] = {1, 1, 2, 4};
    int n = gen_chance(g, 3) ? 1 + gen_below(g, 2) : 0;
    for (int k = 0; k < n; k++) {
        const int d = gen_arithmetic(g), own = each[gen_below(g, 4)];
        stmt s = {.code = SETT__SMEM, .dtype = (uint8_t)d, .n = (uint16_t)(own * g->threads), .imm = g->c->smem};
        g->shared[g->n_shared++] = (int16_t)gen_add(g, s);
        g->c->smem += (own * g->threads * sett__dtype_bytes((sett_dtype)d) + 15) / 16 * 16;
    }
    for (int k = 0; k < n; k++)
        write_shared(g, g->shared[k], false);
}

/* All of it stored: by elements, whole, or by pieces. */
static void start_registers(gen *g, int root)
{
    const int d = g->c->s[root].dtype, n = g->c->s[root].n, flags = g->loose[root] ? 0 : GEN_STRICT, how = gen_below(g, 3), size = sett__dtype_bytes((sett_dtype)d);
    const int same = how ? 0 : gen_value(g, d, 1, flags);
    for (int at = 0, part; at < n; at += part) {
        part = how == 0 ? 1 : how == 1 ? n : 1 << gen_below(g, 4);
        part = part > n - at ? n - at : part;
        stmt s = {.code = SETT__STORE, .n_arg = 4, .arg = {(int16_t)root, NO_ARG, NO_ARG, NO_ARG}, .imm = at, .align = (uint8_t)size};
        s.arg[3] = (int16_t)(how == 0 ? same : gen_value(g, d, part, flags));
        gen_add(g, s);
    }
}

static void add_registers(gen *g)
{
    static const uint8_t of[] = {4, 3, 8, 2, 5, 6, 7, 4, 1, 16, 3, 9, 12, 13, 17, 10};
    const int n = gen_below(g, 5);
    for (int k = 0; k < n; k++) {
        const int d = gen_type(g), i = gen_op(g, SETT__RMEM, d, of[gen_below(g, gen_chance(g, 2) ? 16 : 8)], 0);
        g->loose[i] = sett__dtype_is_float((sett_dtype)d) && gen_chance(g, 2);
        g->root[g->n_root++] = (int16_t)i;
    }
    const int counters = gen_below(g, 3);
    for (int k = 0; k < counters; k++)
        g->counter[g->n_counter++] = (int16_t)gen_op(g, SETT__RMEM, SETT_I32, 1, 0);
    for (int k = 0; k < n; k++)
        start_registers(g, g->root[k]);
}

/* What the registers hold in the end, and the last values. */
static void give(gen *g)
{
    for (int k = 0; k < g->n_root; k++) {
        stmt s = {.code = SETT__LOAD, .dtype = g->c->s[g->root[k]].dtype, .n_arg = 4, .arg = {g->root[k], NO_ARG, NO_ARG, NO_ARG}};
        const int n = g->c->s[g->root[k]].n, size = sett__dtype_bytes((sett_dtype)s.dtype), part = gen_chance(g, 2) ? n : 1 << gen_below(g, 4);
        s.align = (uint8_t)size;
        for (int at = 0; at < n; at += part) {
            s.imm = at;
            s.n = (uint16_t)(n - at < part ? n - at : part);
            gen_output_bytes(g, gen_add(g, s));
        }
    }
    for (int k = 0; k < 3 && g->n_pool > k; k++)
        gen_output(g, g->pool[g->n_pool - 1 - gen_below(g, k + 2) % g->n_pool]);
}

static void size_up(tape_case *c, draw *d)
{
    static const uint8_t threads[] = {32, 34, 4, 33, 64, 1, 7, 31, 96, 50, 127, 128, 130, 65};
    c->block[0] = threads[draw_below(d, draw_below(d, 3) ? 6 : (int)SETT__COUNT(threads))];
    c->block[1] = 1;
    c->blocks = 1 + draw_below(d, 3);
    if (!draw_below(d, 8))
        c->block[1] = 1 + draw_below(d, THREADS / c->block[0]);
    if (!draw_below(d, 10) && c->block[0] * c->block[1] <= 64)
        c->blocks = 1 + draw_below(d, BLOCKS);
}

void case_generate(tape_case *c, draw *d)
{
    gen g = {.c = c, .d = d, .level = 2};
    const uint64_t seed = c->seed;
    memset(c, 0, sizeof *c);
    c->seed = seed;
    size_up(c, d);
    g.threads = c->block[0] * c->block[1];
    g.left = 4 + draw_below(d, c->blocks > 6 ? 12 : 50);
    g.liked[0] = (uint8_t)SETT_F32, g.liked[1] = (uint8_t)SETT_I32;
    g.liked[0] = (uint8_t)gen_arithmetic(&g), g.liked[1] = (uint8_t)gen_arithmetic(&g);
    add_buffers(&g);
    const int x = gen_op(&g, SETT__TID, SETT_I32, 1, 0), bid = gen_op(&g, SETT__BID, SETT_I32, 1, 0);
    g.local = x;
    if (c->block[1] > 1) {
        const int y = gen_add(&g, (stmt){.code = SETT__TID, .dtype = SETT_I32, .n = 1, .sub = 1});
        g.local = gen_op(&g, SETT__ADD, SETT_I32, 1, 2, x, gen_op(&g, SETT__MUL, SETT_I32, 1, 2, y, gen_op(&g, SETT__BDIM, SETT_I32, 1, 0)));
    }
    g.thread = gen_op(&g, SETT__ADD, SETT_I32, 1, 2, g.local, gen_op(&g, SETT__MUL, SETT_I32, 1, 2, bid, gen_const(&g, SETT_I32, (uint64_t)g.threads)));
    g.warp = gen_op(&g, SETT__SHR, SETT_I32, 1, 2, g.local, gen_const(&g, SETT_I32, 5));
    g.alike[g.warp] = 1;
    add_shared(&g);
    add_registers(&g);
    gen_steps(&g, g.left);
    give(&g);
}
