/* SPDX-License-Identifier: Apache-2.0 */
/* What accesses cost, as a profiler counts it: wavefronts of shared memory, sectors of global memory, of each line what it needs and what
 * it would need if its lanes' bytes lay side by side. Told from 1.5 times that, and never an error.
 *
 * Shared memory has 32 banks of 4 bytes. A request goes in phases of 32 lanes of up to 4 bytes, 16 of 8, 8 of 16 (ldmatrix and stmatrix:
 * the 8 rows of a matrix); a phase takes as many wavefronts as a bank has different words in it, of atomics as it has lanes. A request to
 * global memory moves each sector of 32 bytes that its lanes touch. */
#include "check.h"
#include <stdlib.h>
#include <string.h>

enum { BANKS = 32, WORD = 4, SECTOR = 32, LINE = BANKS * WORD, WIDEST = 16 };
typedef struct count {
    uint64_t requests, taken, ideal;
    uint32_t worst, least; /* of one request: taken and ideal, where that was worst */
    int64_t apart;         /* bytes from its first lane's to its second's; 0: it has one lane */
} count;
typedef struct cost { count shared, global; } cost;
struct sett__costs { uint32_t n; cost of[]; }; /* by operation of the given tape */

/* ---- shared memory ------------------------------------------------------------------------------------------------ */
/* The words of some lanes' accesses, by banks. */
typedef struct banks {
    uint32_t n[BANKS], most, word[BANKS][BANKS];
} banks;

static void add_word(banks *b, uint32_t word, bool alone)
{
    const uint32_t k = word % BANKS;
    for (uint32_t i = 0; i < b->n[k] && !alone; i++)
        if (b->word[k][i] == word)
            return;
    if (b->n[k] < BANKS)
        b->word[k][b->n[k]] = word;
    b->n[k]++;
    b->most = b->n[k] > b->most ? b->n[k] : b->most;
}

/* Wavefronts of the lanes [first, first + n); 0: none of them takes part. */
static uint32_t phase(const sett__accesses *a, int first, int n)
{
    banks b = {.most = 0};
    for (int l = first; l < first + n && l < WARP; l++) /* of 12 bytes the last phase has fewer */
        for (uint64_t at = a->at[l] / WORD; a->lanes >> l & 1 && at <= (a->at[l] + a->bytes - 1) / WORD; at++)
            add_word(&b, (uint32_t)at, a->how == SETT__UPDATE && a->insn->step == SETT__S_ATOM);
    return b.most;
}

static uint32_t wavefronts(const sett__accesses *a, uint32_t *ideal)
{
    const uint32_t bytes = a->bytes < WORD ? WORD : a->bytes > WIDEST ? WIDEST : a->bytes;
    const int n = LINE / (int)bytes;
    uint32_t all = 0;
    *ideal = 0;
    for (int first = 0; first < WARP; first += n) {
        const uint32_t here = a->lanes >> first & (n == WARP ? UINT32_MAX : (1u << n) - 1) ? a->row ? 1 : phase(a, first, n) : 0;
        all += here;
        *ideal += here != 0;
    }
    return all;
}

/* ---- global memory --------------------------------------------------------------------------------------------------- */
static int compare(const void *x, const void *y)
{
    const uint64_t *a = x, *b = y;
    return (*a > *b) - (*a < *b);
}

static uint32_t sectors(const sett__accesses *a, uint32_t *ideal)
{
    uint64_t unit[2 * WARP];
    uint32_t n = 0, different = 0;
    const uint32_t lanes = (uint32_t)__builtin_popcount(a->lanes);
    *ideal = (lanes * a->bytes + SECTOR - 1) / SECTOR;
    if (a->row) {
        const uint64_t first = a->at[__builtin_ctz(a->lanes)];
        return (uint32_t)((first + (uint64_t)lanes * a->bytes - 1) / SECTOR - first / SECTOR + 1);
    }
    for (uint32_t m = a->lanes; m; m &= m - 1) {
        const uint64_t at = a->at[__builtin_ctz(m)], last = (at + a->bytes - 1) / SECTOR;
        unit[n++] = at / SECTOR;
        if (last != at / SECTOR)
            unit[n++] = last;
    }
    qsort(unit, n, sizeof *unit, compare);
    for (uint32_t k = 0; k < n; k++)
        different += !k || unit[k] != unit[k - 1];
    return different;
}

/* ---- counting --------------------------------------------------------------------------------------------------------- */
static void add(count *x, const sett__accesses *a, uint32_t taken, uint32_t ideal)
{
    const uint32_t rest = a->lanes & (a->lanes - 1);
    x->requests++;
    x->taken += taken;
    x->ideal += ideal;
    if ((uint64_t)taken * x->least <= (uint64_t)x->worst * ideal && x->worst)
        return;
    x->worst = taken, x->least = ideal;
    x->apart = rest ? (int64_t)(a->at[__builtin_ctz(rest)] - a->at[__builtin_ctz(a->lanes)]) : 0;
}

bool sett__count_cost(sett__core *c, const sett__accesses *a)
{
    sett__checked *check = c->launch->check;
    const uint32_t n = c->program->given->n_op;
    uint32_t ideal;
    if (check->to.checks < SETT_CHECKS_ALL)
        return true;
    if (!check->costs) {
        check->costs = calloc(1, sizeof *check->costs + (n + 1) * sizeof *check->costs->of);
        if (!check->costs)
            return false;
        check->costs->n = n;
    }
    cost *x = &check->costs->of[a->op];
    const uint32_t taken = a->of ? wavefronts(a, &ideal) : sectors(a, &ideal);
    add(a->of ? &x->shared : &x->global, a, taken, ideal);
    return true;
}

/* ---- telling -------------------------------------------------------------------------------------------------------------- */
static bool same_line(const sett__tape *t, uint32_t x, uint32_t y)
{
    const sett__site_ref *a = sett__op_site(t, x), *b = sett__op_site(t, y);
    return a && b ? a->file == b->file && a->line == b->line : x == y;
}

/* What a line needs beside its ideal, and what would mend it. */
static void tell(sett__core *c, uint32_t op, const count *x, bool shared)
{
    const sett__tape *t = c->program->given;
    const uint32_t root = sett__arg(t, &t->op[op], !shared && t->op[op].code == SETT__CPASYNC ? 3 : 0);
    sett__finding f = {.kind = shared ? SETT_CHECK_BANK_CONFLICT : SETT_CHECK_SECTORS, .level = SETT_CHECK_COST};
    char apart[80] = "", where[128];
    if (x->taken * 2 < x->ideal * 3)
        return;
    sett__finding_site(&f, op, sett__role_of(&t->op[op]));
    if (root != SETT__NONE)
        sett__finding_site(&f, root, SETT_CHECK_ROLE_ALLOC);
    if (x->apart)
        snprintf(apart, sizeof apart, ", its first two lanes %lld bytes apart", (long long)x->apart);
    const sett_check_site line = sett__site_at(t, op, sett__role_of(&t->op[op]));
    const bool narrow = !shared && sett__finding_at(SETT_CHECK_NARROW, &line);
    const uint64_t tenths = (x->taken * 10 + x->ideal / 2) / x->ideal;
    sett__report(c, &f, "%s takes %llu.%llu times the %s that its bytes need: %llu, ideal %llu, in %llu requests\n  worst  a request takes %u where %u would do%s\n  memory made at %s\n  fix    %s",
        sett__ops[t->op[op].code].text, (unsigned long long)(tenths / 10), (unsigned long long)(tenths % 10), shared ? "wavefronts of shared memory" : "sectors of 32 bytes",
        (unsigned long long)x->taken, (unsigned long long)x->ideal, (unsigned long long)x->requests, x->worst, x->least, apart, root != SETT__NONE ? sett__where(c->program, root, where, sizeof where) : "?",
        shared ? "a swizzled layout, or rows that are a few elements longer, so that lanes of one phase use other banks" :
        narrow ? "the wider access that narrow asks for at this line" :
                 "a layout of threads in which neighbouring lanes access neighbouring elements, or a tile that goes through shared memory");
}

static void sum(count *to, const count *x)
{
    if (!to->worst || (uint64_t)x->worst * to->least > (uint64_t)to->worst * x->least)
        to->worst = x->worst, to->least = x->least, to->apart = x->apart;
    to->requests += x->requests;
    to->taken += x->taken;
    to->ideal += x->ideal;
}

/* All operations of a line together. */
static void tell_line(sett__core *c, struct sett__costs *x, uint32_t op, bool shared)
{
    count all = {.worst = 0};
    for (uint32_t k = op; k < x->n; k++) {
        count *at = shared ? &x->of[k].shared : &x->of[k].global;
        if (!at->requests || !same_line(c->program->given, op, k))
            continue;
        sum(&all, at);
        at->requests = 0;
    }
    tell(c, op, &all, shared);
}

void sett__costs_end(const sett__program *p, const sett__sim_launch *l)
{
    struct sett__costs *x = l->check->costs;
    sett__notes none = {.n = 0};
    sett__core c = {.program = p, .launch = l, .notes = &none};
    for (uint32_t op = 0; x && op < x->n; op++) {
        if (x->of[op].shared.requests)
            tell_line(&c, x, op, true);
        if (x->of[op].global.requests)
            tell_line(&c, x, op, false);
    }
    free(x);
    l->check->costs = NULL;
}
