/* SPDX-License-Identifier: Apache-2.0 */
/* What bind.c, which binds, and refused.c, which says why a launch is refused, share. */
#ifndef SETT_JIT_KERNEL_BINDER_H
#define SETT_JIT_KERNEL_BINDER_H
#include "kernel.h"

typedef struct sett__binder {
    const sett__plan *plan;
    const sett__sig *sig;
    const char *name; /* the kernel's */
    const sett_launch_arg *arg;
    int n;
    sett_error *err;
    sett__bound *out;
    int64_t sym[SETT__MAX_ARGS], scalar[SETT__MAX_ARGS];
    uint16_t from[SETT__MAX_ARGS]; /* the place that gave a symbol */
} sett__binder;

/* One top-level mode of a parameter, and its leaves. */
typedef struct sett__mode_ref {
    uint32_t param;
    int mode;
    const sett__leaf *leaf, *end;
    int64_t extent, stride; /* the buffer's */
} sett__mode_ref;

#define REFUSE(bd, status, ...) sett__error((bd)->err, status, __VA_ARGS__)

static inline bool sett__is_sym_expr(const sett__binder *bd, sett__expr e)
{
    return e.count == 1 && bd->sig->code[e.first].code == SETT__X_SYM;
}

static inline bool sett__is_const_expr(const sett__binder *bd, sett__expr e)
{
    return e.count == 1 && bd->sig->code[e.first].code == SETT__X_CONST;
}

static inline bool sett__bind_eval(const sett__binder *bd, sett__expr e, int64_t *out)
{
    if (e.count == 1) {
        const sett__xop *x = &bd->sig->code[e.first];
        if (x->code == SETT__X_CONST)
            return *out = x->imm, true;
        if (x->code == SETT__X_SYM)
            return *out = bd->sym[x->imm], true;
    }
    return sett__expr_eval(bd->sig, e, bd->sym, bd->scalar, out);
}

static inline sett__mode_ref sett__bound_mode(const sett__binder *bd, uint32_t param, int mode)
{
    const sett__param *p = &bd->sig->param[param];
    const sett_buf *t = bd->arg[param].u.t;
    const sett__leaf *l = bd->sig->leaf + p->leaf, *end = l + p->n_leaf;
    while (l < end && l->mode < mode)
        l++;
    sett__mode_ref m = {param, mode, l, l, t->shape[mode], t->stride[mode]};
    while (m.end < end && m.end->mode == mode)
        m.end++;
    return m;
}

/* ---- refused.c: each is an error, and returns its status ---- */
const char *sett__place_text(const sett__binder *, uint16_t from, char buf[160]); /* "A stride 0" */
sett_status sett__bind_divides(const sett__binder *, uint32_t sym); /* it is no multiple of what it promises */
/* An extent or stride of a buffer, got, is not what the kernel has there. */
sett_status sett__bind_differs(const sett__binder *, const sett__mode_ref *, sett__expr, bool stride, int64_t got, int64_t want);
sett_status sett__bind_no_value(const sett__binder *, const sett__mode_ref *, sett__expr, bool stride);
sett_status sett__bind_no_dim(const sett__binder *, unsigned slot, int64_t v, bool known);
sett_status sett__bind_no_smem(const sett__binder *, bool known, int64_t more);
sett_status sett__bind_broken(const sett__binder *, const sett__check *);
sett_status sett__bind_no_derived(const sett__binder *, const sett__symbol *, int64_t v, bool known);

#endif
