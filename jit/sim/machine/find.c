/* SPDX-License-Identifier: Apache-2.0 */
/* Findings of a launch that is checked, at the kernel's C lines. */
#include "machine.h"
#include <stdlib.h>

sett_check_role sett__role_of(const sett__op *o)
{
    static const uint8_t role[SETT__N_CODES] = { /* 1 more; 0: none of these */
#define IS(code, what) [SETT__##code] = 1 + SETT_CHECK_ROLE_##what
        IS(LOAD, READ), IS(LDMATRIX, READ), IS(WGMMA, READ), IS(STORE, WRITE), IS(STMATRIX, WRITE), IS(MAPREPLACE, WRITE), IS(ATOM, ATOMIC),
        IS(CPASYNC, COPY), IS(TMALOAD, COPY), IS(TMASTORE, COPY), IS(TMAREDUCE, COPY), IS(BULKLOAD, COPY), IS(BULKSTORE, COPY), IS(BULKREDUCE, COPY),
        IS(BULKPEER, COPY), IS(STASYNC, COPY), IS(MAPCOPY, COPY), IS(TMAFETCH, COPY),
        IS(MBTRY, WAIT), IS(MBTEST, WAIT), IS(CLWAIT, WAIT), IS(WGWAIT, WAIT), IS(CPWAIT, WAIT), IS(BULKWAIT, WAIT), IS(DEPWAIT, WAIT), IS(MAXNREG, WAIT),
        IS(MBARRIVE, ARRIVE), IS(MBEXPECT, ARRIVE), IS(CPARRIVE, ARRIVE), IS(CLARRIVE, ARRIVE), IS(BARARRIVE, ARRIVE), IS(BULKCOMMIT, ARRIVE),
        IS(CPCOMMIT, ARRIVE), IS(WGCOMMIT, ARRIVE), IS(DEPLAUNCH, ARRIVE),
        IS(MBINIT, INIT), IS(MBINVAL, INIT), IS(BARRIER, BARRIER), IS(SYNCWARP, BARRIER), IS(BARSYNC, BARRIER),
        IS(FENCE, FENCE), IS(PROXY, FENCE), IS(MBFENCE, FENCE), IS(WGFENCE, FENCE),
        IS(SMEM, ALLOC), IS(RMEM, ALLOC), IS(PARAM, ALLOC), IS(GMEM, ALLOC), IS(PEER, ALLOC), IS(TMAP, ALLOC),
#undef IS
    };
    return role[o->code] ? (sett_check_role)(role[o->code] - 1) : SETT_CHECK_ROLE_USE;
}

const char *sett__where_noted(const sett__core *c, uint32_t op, char *buf, size_t size)
{
    sett__notes *n = c->notes;
    bool there = !c->launch->check;
    for (uint32_t k = 0; k < n->n && !there; k++)
        there = n->op[k] == op;
    if (!there && n->n < SETT__COUNT(n->op))
        n->op[n->n++] = op;
    return sett__where(c->program, op, buf, size);
}

/* The lines that the text names, which are not among the sites yet. */
static void add_noted(sett__core *c, sett_finding *is)
{
    const sett__tape *t = c->program->given;
    for (uint32_t k = 0; k < c->notes->n && is->n_site < SETT_CHECK_SITES; k++) {
        const sett_check_site at = sett__site_at(t, c->notes->op[k], sett__role_of(&t->op[c->notes->op[k]]));
        bool there = false;
        for (int i = 0; i < is->n_site; i++)
            there |= is->site[i].line == at.line && !strcmp(is->site[i].file, at.file);
        if (!there)
            is->site[is->n_site++] = at;
    }
    c->notes->n = 0;
}

void sett__report(sett__core *c, const sett__finding *f, const char *format, ...)
{
    char text[4096], where[160];
    sett__sink to = {.buf = text, .cap = sizeof text};
    sett__checked *check = c->launch->check;
    sett_finding is = {.kind = (sett_check_kind)f->kind, .level = (sett_check_level)f->level, .text = text, .kernel = c->launch->name ? c->launch->name : "", .count = 1, .n_site = f->n_site};
    for (int i = 0; i < f->n_site; i++)
        is.site[i] = sett__site_at(f->site[i].of ? f->site[i].of : c->program->given, f->site[i].op, (sett_check_role)f->site[i].role);
    add_noted(c, &is);
    if (f->n_site) {
        const sett__tape *t = f->site->of ? f->site->of : c->program->given;
        sett__putf(&to, "%s%s: ", sett__op_where(t, f->site->op, where, sizeof where), sett__op_where_tape(t, f->site->op));
    }
    sett__putf(&to, "%s: ", sett_check_kind_name(is.kind));
    va_list ap;
    va_start(ap, format);
    if (to.len < sizeof text)
        vsnprintf(text + to.len, sizeof text - to.len, format, ap);
    va_end(ap);
    const bool told = sett__finding_tell(&check->to, &is) && is.level != SETT_CHECK_COST;
    check->found += told;
    check->any |= told || is.level == SETT_CHECK_ERROR;
}
