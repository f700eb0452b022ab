/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine changes in a tape before it is decoded.
 *
 * Tests: nearly all blocks of a large launch lie inside all bounds, and get a tape without the tests.
 * Arrays of the thread's own: what straight-line code reads back from one is used directly, and the copies vanish.
 * Accesses: a GPU has none of more than 16 bytes, so a thread that takes more of a row has several, and each of them
 * leaves gaps between the lanes. Together they have none, and are one copy. */
#include "holds.h"
#include <stdlib.h>
#include <string.h>

enum { BY_THREAD = 1, BY_BLOCK = 2, BY_LAUNCH = 4, BY_DATA = 8 }; /* what a value depends on */

enum { MOST_CELLS = 1 << 20 }; /* elements of arrays, and of loads from them, that are followed */
enum { MOST_PARTS = 8, UNEVEN = INT32_MIN };

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
    int32_t *step; /* from lane to lane, as far as it is easily seen; UNEVEN: it is not. A guess, on which no result
                      depends */
    bool *dropped, *live, changed;
    cell *cell;
    uint32_t *cells;   /* by array: the first of its cells; SETT__NONE: not followed */
    uint32_t *cleared; /* by array: cells that were set before do not count */
    sett__parts *joined;
    uint32_t now, n_arg, n_index, room;
    sett__rewritten *out;
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

/* ---- tests ------------------------------------------------------------------- */
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

static void drop_tests(draft *d)
{
    sett__rewritten *out = d->out;
    for (uint32_t v = 0; v < d->from->n_op; v++) {
        const sett__op *o = &d->op[v];
        uint32_t *a = args(d, o);
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
static bool is_placed(const draft *d, const sett__op *o, const sett__op *value)
{
    const uint32_t *a = args(d, o);
    const sett__op *root = &d->op[a[0]];
    uint64_t size = (uint64_t)sett__dtype_bytes(value->dtype);
    return d->cells[a[0]] != SETT__NONE && root->dtype == value->dtype && a[1] == SETT__NONE && a[2] == SETT__NONE &&
           !sett__attr(d->arg, o, SETT__AT_ACCESS_VOLATILE) && o->imm >= 0 && (uint64_t)o->imm + value->n <= root->n &&
           !((uint64_t)o->imm * size & ((1ull << (o->sub & 63)) - 1));
}

static void follow_store(draft *d, const sett__op *o)
{
    const uint32_t *a = args(d, o);
    const sett__op *value = &d->op[a[3]];
    if (!is_placed(d, o, value)) {
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
static bool forward_load(draft *d, uint32_t v)
{
    sett__op *o = &d->op[v];
    const cell *c = is_placed(d, o, o) && o->n <= d->room ? cells_of(d, o) : NULL;
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
        return d->changed = d->dropped[v] = true;
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
    return d->changed = true;
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
        if (o->code == SETT__FOR || o->code == SETT__LOOP || o->code == SETT__ELSE || o->code == SETT__END)
            afresh = d->now++;
        for (int i = 0; i < o->n_args && sett__ops[o->code].cls == SETT__C_FORM; i++)
            if (args(d, o)[i] != SETT__NONE && d->op[args(d, o)[i]].code == SETT__RMEM) /* it may do anything to it */
                d->live[args(d, o)[i]] = true, d->cleared[args(d, o)[i]] = d->now++;
        if (!is_access(o) || d->op[args(d, o)[0]].code != SETT__RMEM)
            continue;
        uint32_t root = args(d, o)[0];
        d->cleared[root] = d->cleared[root] < afresh ? afresh : d->cleared[root];
        if (o->code == SETT__STORE)
            follow_store(d, o);
        else if (o->code == SETT__ATOM || !forward_load(d, v))
            d->live[root] = true, d->cleared[root] = o->code == SETT__ATOM ? d->now++ : d->cleared[root];
    }
}

/* ---- accesses --------------------------------------------------------------------------------------- */
static int32_t step_of(const draft *d, const sett__op *o)
{
    if (o->n != 1 || o->n_args != 2)
        return o->code == SETT__CONVERT && o->n == 1 ? d->step[args(d, o)[0]] : UNEVEN;
    const sett__op *by = &d->op[args(d, o)[1]];
    int32_t x = d->step[args(d, o)[0]], y = d->step[args(d, o)[1]], r = UNEVEN;
    int64_t k = by->code == SETT__CONST ? sett__int_of_bits(by->dtype, (uint64_t)by->imm) : -1;
    if (x == UNEVEN || y == UNEVEN)
        return UNEVEN;
    if (x == 0 && y == 0)
        return 0;
    switch ((sett__code)o->code) {
    case SETT__ADD:
        return __builtin_add_overflow(x, y, &r) ? UNEVEN : r;
    case SETT__SUB:
        return __builtin_sub_overflow(x, y, &r) ? UNEVEN : r;
    case SETT__MUL:
        return k >= 0 && k <= INT32_MAX && !__builtin_mul_overflow(x, (int32_t)k, &r) ? r : UNEVEN;
    case SETT__SHL:
        return k >= 0 && k < 31 && !__builtin_mul_overflow(x, (int32_t)1 << k, &r) ? r : UNEVEN;
    case SETT__AND: /* the lane in the warp, the warp in the block */
        return k >= WARP - 1 && !(k & (k + 1)) ? x : UNEVEN;
    case SETT__REM:
        return k >= WARP ? x : UNEVEN;
    case SETT__DIV:
        return k >= WARP && x == 1 ? 0 : UNEVEN;
    case SETT__SHR:
        return k >= 5 && x == 1 ? 0 : UNEVEN;
    default:
        return UNEVEN;
    }
}

static void look_at(draft *d)
{
    for (uint32_t v = 0; v < d->from->n_op; v++) {
        const sett__op *o = &d->op[v];
        d->depends[v] = depends_on(d, o);
        if (o->code == SETT__LANE || o->code == SETT__TID)
            d->step[v] = o->sub == 0 ? 1 : UNEVEN;
        else if (!(d->depends[v] & (BY_THREAD | BY_DATA)))
            d->step[v] = 0;
        else
            d->step[v] = sett__ops[o->code].flags & SETT__P && sett__ops[o->code].cls != SETT__C_FORM ? step_of(d, o) : UNEVEN;
    }
}

/* Accesses that follow each other in the code and in memory, with nothing between them that could tell. */
typedef struct run {
    uint32_t op[MOST_PARTS], n, elements;
} run;

static uint32_t elements_of(const draft *d, uint32_t v)
{
    const sett__op *o = &d->op[v];
    return o->code == SETT__LOAD ? o->n : d->op[args(d, o)[3]].n;
}

static bool may_join(const draft *d, uint32_t v)
{
    const sett__op *o = &d->op[v];
    const uint32_t *a = args(d, o);
    return (o->code == SETT__LOAD || o->code == SETT__STORE) && d->op[a[0]].code != SETT__RMEM && a[1] != SETT__NONE &&
           a[2] == SETT__NONE && !sett__attr(d->arg, o, SETT__AT_ACCESS_VOLATILE) && d->step[a[1]] > (int32_t)elements_of(d, v);
}

static uint8_t type_of(const draft *d, const sett__op *o)
{
    return o->code == SETT__LOAD ? o->dtype : d->op[args(d, o)[3]].dtype;
}

static bool goes_on(const draft *d, const run *r, uint32_t v)
{
    const sett__op *o = &d->op[v], *first = &d->op[r->op[0]];
    const uint32_t *a = args(d, o), *b = args(d, first);
    if (o->code != first->code || a[0] != b[0] || a[1] != b[1] || type_of(d, o) != type_of(d, first))
        return false;
    int64_t at = (int64_t)r->elements * sett__dtype_bytes(type_of(d, o));
    return o->imm == first->imm + r->elements && o->sub <= first->sub && !(at & ((INT64_C(1) << (o->sub & 31)) - 1));
}

/* The pack that takes the loads in their order, and nothing else does; SETT__NONE: there is none. */
static uint32_t pack_of(const draft *d, const run *r, const uint32_t *user, uint32_t *where)
{
    uint32_t p = user[r->op[0]];
    if (p >= d->from->n_op || d->op[p].code != SETT__PACK)
        return SETT__NONE;
    const uint32_t *a = args(d, &d->op[p]);
    for (*where = 0; a[*where] != r->op[0];)
        ++*where;
    for (uint32_t k = 0; k < r->n; k++)
        if (user[r->op[k]] != p || *where + k >= d->op[p].n_args || a[*where + k] != r->op[k])
            return SETT__NONE;
    return p;
}

static void keep_parts(draft *d, const run *r, uint32_t as)
{
    sett__rewritten *out = d->out;
    d->joined[as] = (sett__parts){out->n_part, r->n};
    d->changed = true;
    for (uint32_t k = 0; k < r->n; k++)
        out->part[out->n_part++] = (sett__part){r->op[k], elements_of(d, r->op[k]), d->op[r->op[k]].sub};
}

/* The first load becomes all of them. */
static void join_loads(draft *d, const run *r, const uint32_t *user)
{
    uint32_t where, p = pack_of(d, r, user, &where);
    if (p == SETT__NONE)
        return;
    keep_parts(d, r, r->op[0]);
    d->op[r->op[0]].n = r->elements;
    for (uint32_t k = 1; k < r->n; k++)
        d->dropped[r->op[k]] = true;
    uint32_t *a = args(d, &d->op[p]), left = d->op[p].n_args - where - r->n;
    memmove(a + where + 1, a + where + r->n, left * sizeof *a);
    d->op[p].n_args = (uint16_t)(d->op[p].n_args - r->n + 1);
}

/* The last store becomes all of them; the place of the first makes their value, a run of elements of one. */
static void join_stores(draft *d, const run *r)
{
    const sett__op *first = &d->op[args(d, &d->op[r->op[0]])[3]];
    uint32_t last = r->op[r->n - 1], from = first->code == SETT__PICK ? d->index[first->imm] : 0, at = from;
    for (uint32_t k = 0; k < r->n; k++) {
        const sett__op *value = &d->op[args(d, &d->op[r->op[k]])[3]];
        if (value->code != SETT__PICK || args(d, value)[0] != args(d, first)[0])
            return;
        for (uint32_t e = 0; e < value->n; e++)
            if (d->index[value->imm + e] != at++)
                return;
    }
    if (r->elements > d->room)
        return;
    d->room -= r->elements;
    keep_parts(d, r, last);
    for (uint32_t k = 0; k + 1 < r->n; k++)
        d->dropped[r->op[k]] = true;
    sett__op pick = {.code = SETT__PICK,
        .dtype = first->dtype,
        .n = r->elements,
        .args = d->n_arg,
        .n_args = 1,
        .imm = d->n_index,
        .site = d->op[last].site};
    d->arg[d->n_arg++] = args(d, first)[0];
    for (uint32_t e = 0; e < r->elements; e++)
        d->index[d->n_index++] = from + e;
    d->op[last].imm = d->op[r->op[0]].imm;
    d->op[last].sub = d->op[r->op[0]].sub;
    d->op[r->op[0]] = pick;
    d->dropped[r->op[0]] = false;
    args(d, &d->op[last])[3] = r->op[0];
}

static void join_accesses(draft *d)
{
    run r = {.n = 0};
    uint32_t n = d->from->n_op, *user = d->same; /* by op: the one that takes it; n_op: several do */
    for (uint32_t v = 0; v < n; v++)
        user[v] = SETT__NONE;
    for (uint32_t v = 0; v < n; v++)
        for (int i = 0; i < d->op[v].n_args && !d->dropped[v]; i++) {
            uint32_t a = args(d, &d->op[v])[i];
            if (a != SETT__NONE)
                user[a] = user[a] == SETT__NONE ? v : n;
        }
    for (uint32_t v = 0; v < n; v++) {
        const sett__op *o = &d->op[v];
        if (d->dropped[v] || sett__ops[o->code].flags & SETT__P || sett__ops[o->code].cls == SETT__C_ROOT)
            continue;
        bool joins = may_join(d, v);
        if (!joins || !r.n || r.n == MOST_PARTS || !goes_on(d, &r, v))
            r = (run){.n = 0};
        if (!joins)
            continue;
        r.elements += elements_of(d, v);
        r.op[r.n++] = v;
        if (r.n > 1 && (int32_t)r.elements == d->step[args(d, o)[1]]) {
            if (o->code == SETT__LOAD)
                join_loads(d, &r, user);
            else
                join_stores(d, &r);
            r.n = 0;
        }
    }
}

/* ---- what is left ---------------------------------------------------------------------------------- */
/* A store at a place that the launch decides may be a fault, whoever reads the array. */
static bool is_unread(const draft *d, const sett__op *o)
{
    const uint32_t *a = args(d, o);
    return o->code == SETT__STORE && d->op[a[0]].code == SETT__RMEM && !d->live[a[0]] && a[1] == SETT__NONE;
}

static void find_live(draft *d)
{
    for (uint32_t v = d->from->n_op; v-- > 0;) {
        const sett__op *o = &d->op[v];
        bool pure = sett__ops[o->code].flags & SETT__P || sett__ops[o->code].cls == SETT__C_ROOT, unread = is_unread(d, o);
        d->live[v] = !d->dropped[v] && !unread && (d->live[v] || !pure);
        for (int i = 0; i < o->n_args && d->live[v]; i++)
            if (args(d, o)[i] != SETT__NONE)
                d->live[args(d, o)[i]] = true;
    }
}

static void write_out(draft *d)
{
    sett__rewritten *out = d->out;
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
        for (int i = 0; i < o.n_attrs; i++)
            t->arg[t->n_arg++] = a[o.n_args + i];
        t->op[k] = o;
        out->parts[k] = d->joined[out->origin[k]];
    }
    sett__tape_link(t); /* regions that nested still do */
}

/* ---- memory -------------------------------------------------------------------------------------------- */
static bool make_draft(draft *d)
{
    const sett__tape *from = d->from;
    size_t n = (size_t)from->n_op + 1, cells = 0, moved = 0, accesses = 1;
    sett__arena *s = &d->scratch, *own = &d->out->tape.arena;
    d->cells = sett__arena_alloc(s, n * sizeof *d->cells);
    for (uint32_t v = 0; v < from->n_op && d->cells; v++) {
        const sett__op *o = &from->op[v];
        bool follow = o->code == SETT__RMEM && cells + o->n <= MOST_CELLS;
        d->cells[v] = follow ? (uint32_t)cells : SETT__NONE;
        cells += follow ? o->n : 0;
        accesses += is_access(o) || o->code == SETT__IF;
        moved += o->code == SETT__LOAD ? o->n : o->code == SETT__STORE ? from->op[from->arg[o->args + 3]].n : 0;
    }
    d->room = moved < MOST_CELLS ? (uint32_t)moved : MOST_CELLS;
    d->op = sett__arena_alloc(s, n * sizeof *d->op);
    d->arg = sett__arena_alloc(s, ((size_t)from->n_arg + d->room) * sizeof *d->arg);
    d->index = sett__arena_alloc(s, ((size_t)from->n_index + d->room) * sizeof *d->index);
    d->same = sett__arena_alloc(s, n * sizeof *d->same);
    d->step = sett__arena_alloc(s, n * sizeof *d->step);
    d->joined = sett__arena_alloc(s, n * sizeof *d->joined);
    d->depends = sett__arena_alloc(s, n);
    d->dropped = sett__arena_alloc(s, n * sizeof *d->dropped);
    d->live = sett__arena_alloc(s, n * sizeof *d->live);
    d->cell = sett__arena_alloc(s, cells * sizeof *d->cell);
    d->cleared = sett__arena_alloc(s, n * sizeof *d->cleared);
    d->out->test = sett__arena_alloc(own, accesses * sizeof *d->out->test);
    d->out->part = sett__arena_alloc(own, accesses * sizeof *d->out->part);
    return d->cells && d->op && d->arg && d->index && d->same && d->step && d->joined && d->depends && d->dropped &&
           d->live && d->cell && d->cleared && d->out->test && d->out->part;
}

static void copy_tape(draft *d)
{
    const sett__tape *from = d->from;
    for (uint32_t v = 0; v < from->n_op; v++)
        d->op[v] = from->op[v], d->same[v] = v;
    for (d->n_arg = 0; d->n_arg < from->n_arg; d->n_arg++)
        d->arg[d->n_arg] = from->arg[d->n_arg];
    for (d->n_index = 0; d->n_index < from->n_index; d->n_index++)
        d->index[d->n_index] = from->index[d->n_index];
}

/* What a first tape has and the second borrows. */
static bool room_for(const draft *d)
{
    sett__rewritten *out = d->out;
    sett__tape *t = &out->tape;
    sett__arena own = t->arena;
    size_t n_arg = 1, n_op = 1;
    for (uint32_t v = 0; v < d->from->n_op; v++) {
        n_op += d->live[v];
        n_arg += d->live[v] ? d->op[v].n_args + d->op[v].n_attrs : 0;
    }
    *t = *d->from;
    t->arena = own;
    t->n_op = t->n_arg = 0;
    t->n_index = d->n_index;
    t->op = sett__arena_alloc(&t->arena, n_op * sizeof *t->op);
    t->arg = sett__arena_alloc(&t->arena, n_arg * sizeof *t->arg);
    t->index = sett__arena_alloc(&t->arena, ((size_t)d->n_index + 1) * sizeof *t->index);
    out->origin = sett__arena_alloc(&t->arena, n_op * sizeof *out->origin);
    out->parts = sett__arena_alloc(&t->arena, n_op * sizeof *out->parts);
    if (!t->op || !t->arg || !t->index || !out->origin || !out->parts)
        return false;
    memcpy(t->index, d->index, d->n_index * sizeof *t->index);
    return true;
}

static bool rewrite_tape(draft *d, bool tests_hold)
{
    if (!make_draft(d))
        return false;
    copy_tape(d);
    look_at(d);
    if (tests_hold)
        drop_tests(d);
    if (tests_hold && !d->out->n_test)
        return true;
    follow_arrays(d);
    join_accesses(d);
    d->out->changed = d->changed || d->out->n_test;
    if (!d->out->changed)
        return true;
    find_live(d);
    if (!room_for(d))
        return false;
    write_out(d);
    return true;
}

bool sett__rewrite(const sett__tape *from, bool tests_hold, sett__rewritten *out)
{
    draft d = {.from = from, .now = 1, .out = out};
    *out = (sett__rewritten){.changed = false};
    bool ok = rewrite_tape(&d, tests_hold);
    sett__arena_free(&d.scratch);
    if (!ok || !out->changed)
        sett__arena_free(&out->tape.arena);
    out->changed &= ok;
    if (ok)
        SETT__HOLDS(sett__holds_rewritten(from, out));
    return ok;
}
