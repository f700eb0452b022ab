/* SPDX-License-Identifier: Apache-2.0 */
/* What a checked compile says of a tape without running it, for any target. A rule looks for the absence of an operation anywhere between
 * two others, so what it tells is wrong in every order; it tells no more than that. The findings are warnings: the checker's run of the
 * kernel, which knows which threads do what, has the error. */
#include "inside.h"
#include "lib/tape/ops.h"
#include <string.h>

typedef struct look {
    const sett__tape *t;
    const char *kernel;
    sett__listener to;
} look;
typedef struct role { uint32_t op; sett_check_role role; } role;

static void tell(const look *k, sett_check_kind kind, role first, role second, const char *what)
{
    char text[600], one[160], other[160];
    const sett__op *o = k->t->op;
    snprintf(text, sizeof text, "%s: %s: %s at %s, and %s at %s: %s", sett__op_where(k->t, first.op, one, sizeof one), sett_check_kind_name(kind),
        sett__ops[o[first.op].code].text, one, sett__ops[o[second.op].code].text, sett__op_where(k->t, second.op, other, sizeof other), what);
    sett__finding_tell(&k->to, &(sett_finding){.kind = kind, .level = SETT_CHECK_WARNING, .text = text, .kernel = k->kernel, .count = 1, .n_site = 2,
        .site = {sett__site_at(k->t, first.op, first.role), sett__site_at(k->t, second.op, second.role)}});
}

/* ---- which operations do what -------------------------------------------------------------------------------- */
static uint32_t arg(const sett__tape *t, uint32_t op, uint32_t k)
{
    return k < t->op[op].n_args ? t->arg[t->op[op].args + k] : SETT__NONE;
}

/* The root of an item of class FORM by its name, or "" for the first; SETT__NONE: it has none. */
static uint32_t item(const sett__tape *t, uint32_t op, const char *name)
{
    for (sett__form f = sett__form_of(t->op[op].code); sett__form_next(&f);)
        if (!strcmp(f.name, name))
            return arg(t, op, f.k);
    return SETT__NONE;
}

/* Of a root of shared memory: the byte behind it. What a launch adds has no end. */
static int64_t end_of(const sett__op *root)
{
    return root->n ? root->imm + ((int64_t)root->n * sett_dtype_bits((sett_dtype)root->dtype) + 7) / 8 : INT64_MAX;
}

/* Do two roots of shared memory share a byte? */
static bool meet(const sett__tape *t, uint32_t a, uint32_t b)
{
    const sett__op *x = &t->op[a], *y = &t->op[b];
    if (x->code != SETT__SMEM || y->code != SETT__SMEM)
        return a == b;
    return x->imm < end_of(y) && y->imm < end_of(x);
}

static bool fences_async(const sett__tape *t, uint32_t op)
{
    return t->op[op].code == SETT__MBFENCE || (t->op[op].code == SETT__PROXY && sett__attr(t->arg, &t->op[op], SETT__AT_PROXY_KIND) <= 1);
}

static bool any_between(const sett__tape *t, uint32_t from, uint32_t to, bool (*is)(const sett__tape *, uint32_t))
{
    for (uint32_t i = from; i < to; i++)
        if (is(t, i))
            return true;
    return false;
}

/* The shared memory that a thread's access writes; SETT__NONE: none. */
static uint32_t written(const sett__tape *t, uint32_t op)
{
    const int code = t->op[op].code;
    const uint32_t root = code == SETT__STORE || code == SETT__ATOM || code == SETT__STMATRIX ? arg(t, op, 0) : SETT__NONE;
    return root != SETT__NONE && t->op[root].code == SETT__SMEM ? root : SETT__NONE;
}

/* The shared memory that it reads through the async proxy. */
static uint32_t read_async(const sett__tape *t, uint32_t op)
{
    switch (t->op[op].code) {
    case SETT__DESC:
    case SETT__TMASTORE:
    case SETT__TMAREDUCE: return arg(t, op, 0);
    case SETT__BULKSTORE:
    case SETT__BULKREDUCE:
    case SETT__BULKPEER: return item(t, op, "from");
    default: return SETT__NONE;
    }
}

/* ---- the rules ----------------------------------------------------------------------------------------------------- */
/* PTX, mbarrier.init: the async proxy sees an init behind fence.mbarrier_init or fence.proxy.async. */
static void find_inits(const look *k)
{
    const sett__tape *t = k->t;
    for (uint32_t i = 0; i < t->n_op; i++)
        for (uint32_t c = i + 1; t->op[i].code == SETT__MBINIT && c < t->n_op; c++) {
            const bool copies = t->op[c].code == SETT__TMALOAD || t->op[c].code == SETT__BULKLOAD;
            if (copies && meet(t, arg(t, i, 0), item(t, c, "done")) && !any_between(t, i, c, fences_async))
                tell(k, SETT_CHECK_INIT, (role){i, SETT_CHECK_ROLE_INIT}, (role){c, SETT_CHECK_ROLE_COPY}, "no sett_fence_mbarrier_init is between them, so the copy may not see the mbarrier");
        }
}

/* PTX, proxies: what threads wrote is read through the async proxy behind fence.proxy.async. */
static void find_proxies(const look *k)
{
    const sett__tape *t = k->t;
    if (any_between(t, 0, t->n_op, fences_async))
        return;
    for (uint32_t r = 0; r < t->n_op; r++)
        for (uint32_t i = 0; read_async(t, r) != SETT__NONE && i < t->n_op; i++)
            if (written(t, i) != SETT__NONE && meet(t, written(t, i), read_async(t, r))) {
                tell(k, SETT_CHECK_PROXY_FENCE, (role){i, SETT_CHECK_ROLE_WRITE}, (role){r, SETT_CHECK_ROLE_READ},
                    "the kernel has no sett_fence_view_async_shared, which each thread calls behind its stores");
                break;
            }
}

static bool waits_for_grids(const sett__tape *t, uint32_t op)
{
    return t->op[op].code == SETT__DEPWAIT;
}

/* The parameter that an access names; SETT__NONE: none. */
static uint32_t parameter(const sett__tape *t, uint32_t op, bool *writes)
{
    const int code = t->op[op].code;
    *writes = code == SETT__STORE || code == SETT__ATOM || code == SETT__BULKSTORE || code == SETT__BULKREDUCE;
    const uint32_t root = *writes || code == SETT__LOAD ? arg(t, op, 0) : code == SETT__CPASYNC ? arg(t, op, 3) : code == SETT__BULKLOAD ? item(t, op, "from") : SETT__NONE;
    return root != SETT__NONE && t->op[root].code == SETT__PARAM && !t->sig.param[t->op[root].imm].scalar ? root : SETT__NONE;
}

/* PTX, griddepcontrol.wait: before it, nothing of the grids in front is seen. A kernel that also writes what it reads there meets its own
 * launch before. */
static void find_early(const look *k)
{
    const sett__tape *t = k->t;
    bool writes;
    for (uint32_t i = 0; t->sig.early && i < t->n_op && !waits_for_grids(t, i); i++) {
        const uint32_t root = parameter(t, i, &writes);
        for (uint32_t w = 0; root != SETT__NONE && w < t->n_op; w++)
            if (parameter(t, w, &writes) == root && writes && any_between(t, 0, t->n_op, waits_for_grids)) {
                tell(k, SETT_CHECK_PDL, (role){i, t->op[i].code == SETT__LOAD ? SETT_CHECK_ROLE_READ : SETT_CHECK_ROLE_WRITE}, (role){w, SETT_CHECK_ROLE_WRITE},
                    "it comes before sett_griddepcontrol_wait, and a launch before this one may still write there");
                break;
            }
    }
}

void sett__suspect(const sett__tape *t, const sett__listener *to, sett_checks checks, const char *kernel)
{
    look k = {t, kernel, *to};
    k.to.checks = checks;
    k.to.later = true;
    find_inits(&k);
    find_proxies(&k);
    find_early(&k);
}
