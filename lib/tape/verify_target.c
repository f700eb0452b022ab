/* SPDX-License-Identifier: Apache-2.0 */
/* Does the target have an operation? */
#include "verify.h"
#include <string.h>

static bool listed(const char *list, const char *target)
{
    size_t n = strlen(target);
    for (const char *at = list; at; at = (at = strchr(at, ',')) ? at + 1 : NULL)
        if (!strncmp(at, target, n) && (!at[n] || at[n] == ','))
            return true;
    return false;
}

/* Bodies of sett/kernels.h take what their options say; recorded by themselves, they have those of sm_90a. */
static const char *hint_of(const char *file)
{
    return strncmp(file, "kernels/", 8) ? "" : ": sett_kernels_choose gives a ready kernel options for a target (.tuning)";
}

bool sett__check_target(sett__verifier *c)
{
    char need[16];
    if (!c->sm || (sett__least_sm(c->t, c->op) <= c->sm && !c->t->name_decides))
        return true;
    const char *only = sett__op_targets(c->t, c->op), *call = sett__op_call(c->t, c->i);
    if (only ? listed(only, c->target) : sett__least_sm(c->t, c->op) <= c->sm)
        return !(sett__ops[c->op->code].flags & SETT__T) || strchr("af", c->target[strlen(c->target) - 1]) ||
               sett__refuse(c, SETT_E_TARGET, "only a target with a suffix has it, as sm_%da, not %s", c->sm, c->target);
    snprintf(need, sizeof need, "sm_%d", sett__least_sm(c->t, c->op));
    call = call || sett__ops[c->op->code].cls == SETT__C_INLINE ? call : sett__ops[c->op->code].text;
    const sett__site_ref *s = call && c->op->site < c->t->n_site ? &c->t->site[c->op->site] : NULL;
    if (!s || s->file >= c->t->n_string)
        return sett__refuse(c, SETT_E_TARGET, "%s needs %s, the target is %s", sett__ops[c->op->code].text, only ? only : need, c->target);
    c->status = sett__error(c->err, SETT_E_TARGET, "%s:%u: %s needs %s, the target is %s%s", c->t->string[s->file], s->line, call,
        only ? only : need, c->target, hint_of(c->t->string[s->file]));
    return false;
}

sett_status sett__tape_fits(const sett__tape *t, const char *target, sett_error *err)
{
    sett__verifier c = {.t = t, .err = err, .target = target};
    c.status = sett__target_read(target, &c.sm, err);
    const bool all_have = t->min_sm <= c.sm && !t->name_decides;
    for (c.i = 0, c.op = t->op; !c.status && !all_have && c.i < t->n_op; c.i++, c.op++)
        sett__check_target(&c);
    return c.status ? c.status : sett__target_gives(t, target, c.sm, err);
}
