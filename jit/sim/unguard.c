/* SPDX-License-Identifier: Apache-2.0 */
/* The tape of the blocks in which every test of bounds is true. Nearly all blocks of a large launch are such, and
 * without the tests what they guarded is straight-line code: the fragments that predicated copies fill, an array
 * of the thread's own, become values, and the copies vanish. */
#include "sim.h"
#include <stdlib.h>
#include <string.h>

enum { BY_THREAD = 1, BY_BLOCK = 2, BY_LAUNCH = 4, BY_DATA = 8 }; /* what a value depends on */

enum { MOST_CELLS = 1 << 20 }; /* elements of arrays, and of loads from them, that are followed */

/* What an element of a thread's array was last set to, in the code since `when`. */
typedef struct cell {
    uint32_t value, element, when;
} cell;
typedef struct draft {
    const sett__tape *from;
    sett__arena scratch;
    sett__op *op;                 /* as in `from`, then changed */
    uint32_t *arg, *index, *same; /* same: what stands for a value */
    uint8_t *depends;
    bool *dropped, *live;
    cell *cell;
    uint32_t *cells;   /* by array: the first of its cells; SETT__NONE: not followed */
    uint32_t *cleared; /* by array: cells that were set before do not count */
    uint32_t now, n_arg, n_index, room;
} draft;

static uint32_t *args(const draft *d, const sett__op *o)
{
    return d->arg + o->args;
}

static bool is_access(const sett__op *o)
{
    uint8_t cls = sett__ops[o->code].cls;
    return cls == SETT__C_LOAD || cls == SETT__C_STORE || cls == SETT__C_ATOM;
}

/* ---- what is assumed ------------------------------------------------------------------- */
static uint8_t depends_on(const draft *d, const sett__op *o)
{
    uint8_t all = 0;
    switch ((sett__class)sett__ops[o->code].cls) {
    case SETT__C_SREG:
        return o->code == SETT__TID || o->code == SETT__LANE ? BY_THREAD : o->code == SETT__BID ? BY_BLOCK : BY_LAUNCH;
    case SETT__C_SYM:
    case SETT__C_SCALAR:
        all = BY_LAUNCH;
        break;
    default:
        for (int i = 0; i < o->n_args; i++)
            all |= args(d, o)[i] == SETT__NONE ? 0 : d->depends[args(d, o)[i]];
    }
    return sett__has_range(o) ? all : BY_DATA;
}

/* A test of this thread's place against what the launch or the block decides. Tests of the thread alone ("the first
 * half") are false somewhere in every block. */
static bool is_bound(const draft *d, uint32_t v)
{
    return v != SETT__NONE && !(d->depends[v] & BY_DATA) && d->depends[v] & BY_THREAD &&
           d->depends[v] & (BY_BLOCK | BY_LAUNCH);
}

static void drop_arm(draft *d, uint32_t from, uint32_t to)
{
    for (uint32_t v = from; v <= to; v++)
        d->dropped[v] = true;
}

static void find_tests(draft *d, sett__unguarded *out)
{
    for (uint32_t v = 0; v < d->from->n_op; v++) {
        const sett__op *o = &d->op[v];
        uint32_t *a = args(d, o);
        d->depends[v] = depends_on(d, o);
        if (d->dropped[v])
            continue;
        if (o->code == SETT__IF && is_bound(d, a[0])) {
            const sett__op *next = &d->op[o->other];
            out->test[out->n_test++] = a[0];
            d->dropped[v] = true;
            drop_arm(d, o->other, next->code == SETT__ELSE ? next->other : o->other);
        } else if (is_access(o) && o->n_args > 2 && is_bound(d, a[2])) {
            out->test[out->n_test++] = a[2];
            a[2] = SETT__NONE;
            if (o->code == SETT__LOAD && o->n_args > 3)
                a[3] = SETT__NONE;
        }
    }
}

/* ---- arrays of the thread's own -------------------------------------------------------------- */
static cell *cells_of(const draft *d, const sett__op *o)
{
    return d->cell + d->cells[args(d, o)[0]] + o->imm;
}

/* Every lane's access is at one known place of an array, by its own type. */
static bool placed(const draft *d, const sett__op *o, const sett__op *value)
{
    const uint32_t *a = args(d, o);
    const sett__op *root = &d->op[a[0]];
    uint64_t size = (uint64_t)sett__dtype_bytes(value->dtype);
    return d->cells[a[0]] != SETT__NONE && root->dtype == value->dtype && a[1] == SETT__NONE && a[2] == SETT__NONE &&
           !(o->flags & SETT__F_VOLATILE) && o->imm >= 0 && (uint64_t)o->imm + value->n <= root->n &&
           !((uint64_t)o->imm * size & ((1ull << (o->sub & 63)) - 1));
}

static void set(draft *d, const sett__op *o)
{
    const uint32_t *a = args(d, o);
    const sett__op *value = &d->op[a[3]];
    if (!placed(d, o, value)) {
        d->cleared[a[0]] = d->now++;
        return;
    }
    cell *c = cells_of(d, o);
    for (uint32_t e = 0; e < value->n; e++)
        c[e] = (cell){a[3], e, d->now};
}

/* The values that follow each other in n cells, each whole; 0: some are not. */
static uint32_t whole_values(const draft *d, const cell *c, uint32_t n, uint32_t *value)
{
    uint32_t parts = 0;
    for (uint32_t e = 0; e < n; parts++) {
        uint32_t v = c[e].value, width = d->op[v].n;
        if (width > n - e || parts == UINT16_MAX)
            return 0;
        for (uint32_t k = 0; k < width; k++, e++)
            if (c[e].value != v || c[e].element != k)
                return 0;
        value[parts] = v;
    }
    return parts;
}

/* Turns a load into the values that were stored, if they are whole: one, or several packed; or into a pick of one. */
static bool forward(draft *d, uint32_t v)
{
    sett__op *o = &d->op[v];
    const cell *c = placed(d, o, o) && o->n <= d->room ? cells_of(d, o) : NULL;
    bool one = true;
    for (uint32_t e = 0; e < o->n; e++) {
        if (!c || c[e].when <= d->cleared[args(d, o)[0]])
            return false;
        one &= c[e].value == c[0].value;
    }
    uint32_t parts = whole_values(d, c, o->n, d->arg + d->n_arg);
    sett__op move = {
        .code = SETT__PACK, .dtype = o->dtype, .n = o->n, .args = d->n_arg, .n_args = (uint16_t)parts, .site = o->site};
    if (!parts && !one)
        return false;
    if (parts == 1) {
        d->same[v] = c[0].value;
        d->dropped[v] = true;
        return true;
    }
    if (!parts) {
        move.code = SETT__PICK, move.n_args = 1, move.imm = d->n_index;
        d->arg[d->n_arg] = c[0].value;
        for (uint32_t e = 0; e < o->n; e++)
            d->index[d->n_index++] = c[e].element;
    }
    d->n_arg += move.n_args;
    d->room -= o->n;
    *o = move;
    return true;
}

/* Values made inside a region are not seen outside it, and an arm or a round need not have run: there, arrays start
 * afresh. `live` of an array: something still reads it. */
static void follow_arrays(draft *d)
{
    uint32_t afresh = 0;
    for (uint32_t v = 0; v < d->from->n_op; v++) {
        sett__op *o = &d->op[v];
        for (int i = 0; i < o->n_args && !d->dropped[v]; i++)
            if (args(d, o)[i] != SETT__NONE)
                args(d, o)[i] = d->same[args(d, o)[i]];
        if (d->dropped[v])
            continue;
        if (o->code == SETT__FOR || o->code == SETT__ELSE || o->code == SETT__END)
            afresh = d->now++;
        if (!is_access(o) || d->op[args(d, o)[0]].code != SETT__RMEM)
            continue;
        uint32_t root = args(d, o)[0];
        d->cleared[root] = d->cleared[root] < afresh ? afresh : d->cleared[root];
        if (o->code == SETT__STORE)
            set(d, o);
        else if (o->code == SETT__ATOM || !forward(d, v))
            d->live[root] = true, d->cleared[root] = o->code == SETT__ATOM ? d->now++ : d->cleared[root];
    }
}

/* ---- what is left ---------------------------------------------------------------------------------- */
static void find_live(draft *d)
{
    for (uint32_t v = d->from->n_op; v-- > 0;) {
        const sett__op *o = &d->op[v];
        bool pure = sett__ops[o->code].flags & SETT__P || sett__ops[o->code].cls == SETT__C_ROOT;
        bool unread = o->code == SETT__STORE && d->op[args(d, o)[0]].code == SETT__RMEM && !d->live[args(d, o)[0]];
        d->live[v] = !d->dropped[v] && !unread && (d->live[v] || !pure);
        for (int i = 0; i < o->n_args && d->live[v]; i++)
            if (args(d, o)[i] != SETT__NONE)
                d->live[args(d, o)[i]] = true;
    }
}

static void write_out(draft *d, sett__unguarded *out)
{
    sett__tape *t = &out->tape;
    uint32_t *to = d->same; /* not needed any more */
    for (uint32_t v = 0; v < d->from->n_op; v++)
        if (d->live[v])
            to[v] = t->n_op, out->origin[t->n_op++] = v;
    for (uint32_t k = 0; k < t->n_op; k++) {
        sett__op o = d->op[out->origin[k]];
        const uint32_t *a = args(d, &o);
        o.args = t->n_arg;
        for (int i = 0; i < o.n_args; i++)
            t->arg[t->n_arg++] = a[i] == SETT__NONE ? SETT__NONE : to[a[i]];
        t->op[k] = o;
    }
    sett__tape_link(t); /* regions that nested still do */
}

/* ---- memory -------------------------------------------------------------------------------------------- */
static uint32_t count_guards(const sett__tape *t)
{
    uint32_t n = 0;
    for (uint32_t v = 0; v < t->n_op; v++) {
        const sett__op *o = &t->op[v];
        n += o->code == SETT__IF || (is_access(o) && o->n_args > 2 && t->arg[o->args + 2] != SETT__NONE);
    }
    return n;
}

static bool begin(draft *d, const sett__tape *from)
{
    size_t n = (size_t)from->n_op + 1, cells = 0, loaded = 0;
    sett__arena *s = &d->scratch;
    d->cells = sett__arena_alloc(s, n * sizeof *d->cells);
    for (uint32_t v = 0; v < from->n_op && d->cells; v++) {
        const sett__op *o = &from->op[v];
        bool follow = o->code == SETT__RMEM && cells + o->n <= MOST_CELLS;
        d->cells[v] = follow ? (uint32_t)cells : SETT__NONE;
        cells += follow ? o->n : 0;
        loaded += o->code == SETT__LOAD && from->op[from->arg[o->args]].code == SETT__RMEM ? o->n : 0;
    }
    d->room = loaded < MOST_CELLS ? (uint32_t)loaded : MOST_CELLS;
    d->op = sett__arena_alloc(s, n * sizeof *d->op);
    d->arg = sett__arena_alloc(s, ((size_t)from->n_arg + d->room) * sizeof *d->arg);
    d->index = sett__arena_alloc(s, ((size_t)from->n_index + d->room) * sizeof *d->index);
    d->same = sett__arena_alloc(s, n * sizeof *d->same);
    d->depends = sett__arena_alloc(s, n);
    d->dropped = sett__arena_alloc(s, n * sizeof *d->dropped);
    d->live = sett__arena_alloc(s, n * sizeof *d->live);
    d->cell = sett__arena_alloc(s, cells * sizeof *d->cell);
    d->cleared = sett__arena_alloc(s, n * sizeof *d->cleared);
    if (!d->cells || !d->op || !d->arg || !d->index || !d->same || !d->depends || !d->dropped || !d->live || !d->cell ||
        !d->cleared)
        return false;
    memcpy(d->op, from->op, from->n_op * sizeof *d->op);
    for (d->n_arg = 0; d->n_arg < from->n_arg; d->n_arg++)
        d->arg[d->n_arg] = from->arg[d->n_arg];
    for (d->n_index = 0; d->n_index < from->n_index; d->n_index++)
        d->index[d->n_index] = from->index[d->n_index];
    for (uint32_t v = 0; v < from->n_op; v++)
        d->same[v] = v;
    return true;
}

/* What a first tape has and the second borrows. */
static bool room_for(const draft *d, sett__unguarded *out)
{
    sett__tape *t = &out->tape;
    sett__arena own = t->arena;
    size_t n_arg = 0;
    for (uint32_t v = 0; v < d->from->n_op; v++)
        n_arg += d->live[v] ? d->op[v].n_args : 0;
    *t = *d->from;
    t->arena = own;
    t->n_op = t->n_arg = 0;
    t->n_index = d->n_index;
    t->op = sett__arena_alloc(&t->arena, ((size_t)d->from->n_op + 1) * sizeof *t->op);
    t->arg = sett__arena_alloc(&t->arena, (n_arg + 1) * sizeof *t->arg);
    t->index = sett__arena_alloc(&t->arena, ((size_t)d->n_index + 1) * sizeof *t->index);
    out->origin = sett__arena_alloc(&t->arena, ((size_t)d->from->n_op + 1) * sizeof *out->origin);
    if (!t->op || !t->arg || !t->index || !out->origin)
        return false;
    memcpy(t->index, d->index, d->n_index * sizeof *t->index);
    return true;
}

bool sett__unguard(const sett__tape *from, sett__unguarded *out)
{
    uint32_t guards = count_guards(from);
    draft d = {.from = from, .now = 1};
    *out = (sett__unguarded){.n_test = 0};
    if (!guards)
        return true;
    out->test = sett__arena_alloc(&out->tape.arena, guards * sizeof *out->test);
    bool ok = out->test && begin(&d, from);
    if (ok)
        find_tests(&d, out);
    if (ok && out->n_test) {
        follow_arrays(&d);
        find_live(&d);
        ok = room_for(&d, out);
        if (ok)
            write_out(&d, out);
    }
    sett__arena_free(&d.scratch);
    if (!ok || !out->n_test)
        sett__arena_free(&out->tape.arena);
    return ok;
}
