/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of holds.h. They are written apart from the rewrites on purpose: a mistake in a rewrite is not repeated here. */
#include "holds.h"
#ifdef SETT_HOLDS
#include <stdio.h>
#include <stdlib.h>

void sett__holds(bool is_so, const char *what, uint32_t op)
{
    if (is_so)
        return;
    fprintf(stderr, "jit/sim/fast: op %u: %s\n", op, what);
    abort();
}

/* ---- rewrite.c --------------------------------------------------------------------------------------- */
/* Checks an access that replaces several: these were neighbours in memory, in the order of the given tape. */
static void joined(const sett__tape *from, const sett__rewritten *out, uint32_t v)
{
    const sett__op *o = &out->tape.op[v];
    const sett__parts *parts = &out->parts[v];
    const sett__part *part = out->part + parts->first;
    uint32_t n = 0;
    if (!parts->n)
        return;
    for (uint32_t k = 0; k < parts->n; k++) {
        const sett__op *p = &from->op[part[k].op], *first = &from->op[part[0].op];
        sett__holds(p->code == o->code && p->imm == first->imm + n, "a joined access does not follow the one before", v);
        sett__holds(sett__arg(from, p, 0) == sett__arg(from, first, 0) && sett__arg(from, p, 1) == sett__arg(from, first, 1),
            "joined accesses of several roots or indices", v);
        sett__holds(from->op[sett__arg(from, p, 0)].code != SETT__RMEM && !sett__attr(from->arg, p, SETT__AT_ACCESS_VOLATILE),
            "a joined access that is volatile, or of an array of the thread's own", v);
        sett__holds(sett__arg(&out->tape, o, 2) == SETT__NONE, "a joined access that has a predicate", v);
        n += part[k].n;
    }
    sett__holds(n == (o->code == SETT__LOAD ? o->n : out->tape.op[sett__arg(&out->tape, o, 3)].n), "a joined access has other elements", v);
}

/* Checks the tests that were dropped, and the new tape. A test is one Boolean, computed from indices, extents and scalars: it reads no memory. */
void sett__holds_rewritten(const sett__tape *from, const sett__rewritten *out)
{
    sett_error e;
    for (uint32_t k = 0; k < out->n_test; k++) {
        const sett__op *o = &from->op[out->test[k]];
        sett__holds(o->dtype == SETT_BOOL && o->n == 1 && sett__has_range(o), "no test of bounds", out->test[k]);
    }
    if (!out->changed)
        return;
    for (uint32_t v = 0; v < out->tape.n_op; v++) {
        const sett__op *o = &out->tape.op[v];
        for (int i = 0; i < o->n_args; i++)
            sett__holds(sett__arg(&out->tape, o, i) == SETT__NONE || sett__arg(&out->tape, o, i) < v, "a value that was dropped, or comes later", v);
        joined(from, out, v);
    }
    if (sett__tape_verify(&out->tape, NULL, &e)) {
        fprintf(stderr, "%s\n", e.text);
        sett__holds(false, "the rewritten tape is invalid", 0);
    }
}

/* ---- range.c ------------------------------------------------------------------------------------------ */
static void contains(const sett__range *all, const sett__range *one, uint32_t fact)
{
    uint8_t bits = all->bits < one->bits ? all->bits : one->bits;
    uint64_t low = bits >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;
    sett__holds(all->lo <= one->lo && one->hi <= all->hi && !((all->rest ^ one->rest) & low), "an interval that a thread is outside of", fact);
}

/* Checks each thread of the first and of the last block. To check every block would take as long as to run it. */
void sett__holds_proof(const sett__program *p, const sett__sim_launch *l, const sett__range *known, uint64_t from, uint64_t to)
{
    sett__range *one = malloc((p->n_fact + 1) * sizeof *one);
    uint32_t threads = sett__threads(l);
    for (int last = 0; last < 2 && one; last++)
        for (uint32_t thread = 0; thread < threads; thread++) {
            sett__look_at_thread(p, l, known, one, last ? to - 1 : from, thread);
            for (uint32_t k = 0; k < p->n_fact; k++)
                contains(&known[k], &one[k], k);
        }
    free(one);
}

/* ---- flat.c -------------------------------------------------------------------------------------------- */
static bool is_wide(const sett__tape *t, const sett__slot *slot, uint32_t v)
{
    return v != SETT__NONE && t->op[v].n > 1 && slot[v].rows > 1;
}

/* Checks that v and w are stored in the same order: both in rows, or both in memory's order with one width. */
static void alike(const sett__tape *t, const sett__slot *slot, uint32_t v, uint32_t w)
{
    if (is_wide(t, slot, v) && is_wide(t, slot, w))
        sett__holds(slot[v].flat == slot[w].flat && slot[v].width == slot[w].width, "an operand in another order", v);
    else
        sett__holds(!slot[w].flat && (!slot[v].flat || slot[w].uniform), "an operand of one row that differs from lane to lane", v);
}

static void in_step(const sett__slot *slot, uint32_t v, uint64_t at, uint32_t n)
{
    sett__holds(!slot[v].flat || (at % slot[v].width == 0 && n % slot[v].width == 0), "an access, a pick or a pack across a width", v);
}

static void flat_access(const sett__tape *t, const sett__slot *slot, const sett__op *o, uint32_t v)
{
    uint32_t root = sett__arg(t, o, 0);
    if (t->op[root].code != SETT__RMEM) {
        sett__holds(!slot[v].flat || (slot[v].width == t->op[v].n && slot[v].lg <= 3), "an access of a part", v);
        return;
    }
    bool known = sett__arg(t, o, 1) == SETT__NONE && slot[v].lg == slot[root].lg;
    sett__holds(known || (!slot[v].flat && !slot[root].flat), "an array in memory's order at an unknown place", v);
    if (is_wide(t, slot, v) && known)
        alike(t, slot, v, root);
    if (t->op[v].n > 1)
        in_step(slot, root, (uint64_t)o->imm, t->op[v].n);
}

static void flat_parts(const sett__tape *t, const sett__slot *slot, const sett__op *o, uint32_t v)
{
    uint32_t at = 0;
    for (int i = 0; i < o->n_args; at += t->op[sett__arg(t, o, i++)].n) {
        uint32_t a = sett__arg(t, o, i);
        sett__holds(slot[v].flat == slot[a].flat && slot[v].width == slot[a].width, "a part in another order", v);
        in_step(slot, v, at, t->op[a].n);
    }
}

static void flat_op(const sett__tape *t, const sett__slot *slot, uint32_t v)
{
    const sett__op *o = &t->op[v];
    uint32_t a = sett__arg(t, o, 0);
    switch ((sett__class)sett__ops[o->code].cls) {
    case SETT__C_ROOT:
        return;
    case SETT__C_LOAD:
        flat_access(t, slot, o, v);
        if (sett__arg(t, o, 3) != SETT__NONE)
            alike(t, slot, v, sett__arg(t, o, 3));
        return;
    case SETT__C_STORE:
        flat_access(t, slot, o, sett__arg(t, o, 3));
        return;
    case SETT__C_PICK:
        if (o->n == 1 && slot[a].flat && slot[v].section == SETT__BODY)
            return; /* a copy takes it out */
        sett__holds(slot[v].flat == slot[a].flat && slot[v].width == slot[a].width, "a pick in another order", v);
        in_step(slot, v, t->index[o->imm], o->n);
        return;
    case SETT__C_PACK:
        flat_parts(t, slot, o, v);
        return;
    case SETT__C_CONVERT:
    case SETT__C_BINARY:
    case SETT__C_COMPARE:
    case SETT__C_TERNARY:
    case SETT__C_SELECT:
    case SETT__C_UNARY:
        for (int i = 0; i < o->n_args; i++)
            alike(t, slot, v, sett__arg(t, o, i));
        return;
    default:
        for (int i = 0; i < o->n_args; i++)
            sett__holds(sett__arg(t, o, i) == SETT__NONE || !slot[sett__arg(t, o, i)].flat, "memory's order where rows are seen", v);
        sett__holds(!slot[v].flat, "memory's order where rows are made", v);
    }
}

void sett__holds_flat(const sett__tape *t, const sett__slot *slot)
{
    for (uint32_t v = 0; v < t->n_op; v++)
        flat_op(t, slot, v);
}

/* Checks that only pure operations and loads stand between the first load of a lazy value and each of its other loads and uses. */
void sett__holds_lazy(const sett__tape *t, const sett__slot *slot)
{
    uint32_t *made = calloc((size_t)t->n_op + 1, sizeof *made), *writes = calloc((size_t)t->n_op + 1, sizeof *writes);
    for (uint32_t v = 0; v < t->n_op && made && writes; v++) {
        const sett__op *o = &t->op[v];
        bool load = sett__ops[o->code].cls == SETT__C_LOAD;
        writes[v + 1] = writes[v] + (!load && !(sett__ops[o->code].flags & SETT__P));
        if (load && slot[slot[v].home].lazy != SETT__NONE) {
            uint32_t *first = &made[slot[v].home]; /* op 0 is no load: its root comes before it */
            *first = *first ? *first : v;
            sett__holds(writes[v] == writes[*first], "a write between two loads of one value", v);
        }
        for (int i = 0; i < o->n_args && o->code != SETT__PACK; i++) {
            uint32_t a = sett__arg(t, o, i), home = a == SETT__NONE ? 0 : slot[a].home;
            if (a != SETT__NONE && slot[home].lazy != SETT__NONE)
                sett__holds(writes[v] == writes[made[home]], "a write between a load and a use where it lies", v);
        }
    }
    free(made), free(writes);
}
#else
typedef int sett__holds_nothing; /* C has no empty file */
#endif
