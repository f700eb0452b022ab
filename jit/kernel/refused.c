/* SPDX-License-Identifier: Apache-2.0 */
/* What a launch says of buffers, dimensions and promises that do not fit its kernel. */
#include "binder.h"
#include <inttypes.h>
#include <string.h>

/* ---- buffers ---------------------------------------------------------------------------- */
const char *sett__place_text(const sett__binder *bd, uint16_t from, char buf[160])
{
    if (from == SETT__GIVEN)
        snprintf(buf, 160, "the caller");
    else
        snprintf(buf, 160, "%.100s %s %d", bd->sig->param[SETT__PLACE_PARAM(from)].name, from & 1 ? "stride" : "mode", SETT__PLACE_MODE(from));
    return buf;
}

static const char *leaf_text(const sett__mode_ref *m, const sett__binder *bd, bool stride, char buf[160])
{
    snprintf(buf, 160, "%.100s %s %d", bd->sig->param[m->param].name, stride ? "stride" : "mode", m->mode);
    return buf;
}

/* A mode of one leaf whose stride the kernel has as 1, and the buffer not. False: there is none. */
static bool find_apart(const sett__binder *bd, uint32_t param, sett__mode_ref *m)
{
    const int rank = bd->sig->param[param].rank;
    int64_t stride;
    for (int j = 0; j < rank; j++) {
        *m = sett__bound_mode(bd, param, j);
        const bool unit = m->end - m->leaf == 1 && sett__is_const_expr(bd, m->leaf->stride) && sett__bind_eval(bd, m->leaf->stride, &stride) && stride == 1;
        if (unit && m->extent > 1 && m->stride != 1)
            return true;
    }
    return false;
}

/* "; B is (N,K)": which mode is which is easily exchanged. Of a vector nothing. */
static const char *shape_words(const sett__binder *bd, const sett__mode_ref *m, char buf[200])
{
    const sett__param *p = &bd->sig->param[m->param];
    sett__sink out = {.buf = buf, .cap = 200};
    if (p->rank < 2)
        return "";
    sett__putf(&out, "; %.60s is ", p->name);
    sett__put_modes(&out, bd->sig, p, false, true);
    return buf;
}

static sett_status not_contiguous(const sett__binder *bd, const sett__mode_ref *m)
{
    const sett__param *p = &bd->sig->param[m->param];
    char shape[200];
    sett__sink out = {.buf = shape, .cap = sizeof shape};
    sett__put_modes(&out, bd->sig, p, false, true);
    return REFUSE(bd, SETT_E_SHAPE, "%s: %.100s's mode %d must be contiguous: its stride is %" PRId64 "; %.100s is %s", bd->name, p->name, m->mode, m->stride, p->name, shape);
}

/* A stride of a transposed operand breaks a promise by chance: then the transposition is what is wrong. */
sett_status sett__bind_divides(const sett__binder *bd, uint32_t sym)
{
    const uint16_t from = bd->from[sym];
    const sett__symbol *s = &bd->sig->sym[sym];
    char place[160];
    sett__mode_ref m;
    if (from < SETT__GIVEN && from & 1 && find_apart(bd, SETT__PLACE_PARAM(from), &m))
        return not_contiguous(bd, &m);
    return REFUSE(bd, SETT_E_DIVIDE, "%s: %s = %" PRId64 " (%s) is not a multiple of %" PRId64, bd->name, s->name, bd->sym[sym], sett__place_text(bd, from, place), s->div);
}

sett_status sett__bind_differs(const sett__binder *bd, const sett__mode_ref *m, sett__expr e, bool stride, int64_t got, int64_t want)
{
    char leaf[160], place[160], expr[200], shape[200];
    const sett__xop *x = &bd->sig->code[e.first];
    leaf_text(m, bd, stride, leaf);
    if (sett__is_const_expr(bd, e) && stride && want == 1)
        return not_contiguous(bd, m);
    if (sett__is_const_expr(bd, e) && stride)
        return REFUSE(bd, SETT_E_SHAPE, "%s: the stride of %.100s's mode %d is %" PRId64 ", the kernel was made for %" PRId64
            ": make the tensor contiguous, or that stride of the kernel's a symbol", bd->name, bd->sig->param[m->param].name, m->mode, got, want);
    if (sett__is_const_expr(bd, e))
        return REFUSE(
            bd, SETT_E_SHAPE, "%s: %s is %" PRId64 ", the kernel was made for %" PRId64, bd->name, leaf, got, want);
    if (e.count == 1 && x->code == SETT__X_SYM)
        return REFUSE(bd, SETT_E_SHAPE, "%s: %s is %" PRId64 ", %s gives %s = %" PRId64 "%s", bd->name, leaf, got,
            sett__place_text(bd, bd->from[x->imm], place), bd->sig->sym[x->imm].name, want, stride ? "" : shape_words(bd, m, shape));
    sett__expr_words(bd->sig, e, expr, sizeof expr);
    return REFUSE(bd, SETT_E_SHAPE, "%s: %s is %" PRId64 ", %s is %" PRId64, bd->name, leaf, got, expr, want);
}

sett_status sett__bind_no_value(const sett__binder *bd, const sett__mode_ref *m, sett__expr e, bool stride)
{
    char leaf[160], expr[200];
    sett__expr_words(bd->sig, e, expr, sizeof expr);
    return REFUSE(
        bd, SETT_E_RANGE, "%s: %s, %s, overflows or divides by zero", bd->name, leaf_text(m, bd, stride, leaf), expr);
}

/* ---- dimensions, and what the body relies on ------------------------------------------------------ */
/* "the grid's x, ceil_div(N, 4)," */
static const char *dim_text(const sett__binder *bd, sett__expr e, const sett__launch_rule *rule, int i, char buf[300])
{
    char expr[200];
    const bool constant = sett__is_const_expr(bd, e);
    sett__expr_words(bd->sig, e, expr, sizeof expr);
    snprintf(buf, 300, "the %s's %c%s%s%s", rule->what, "xyz"[i], constant ? "" : ", ", constant ? "" : expr,
        constant ? "" : ",");
    return buf;
}

sett_status sett__bind_no_dim(const sett__binder *bd, unsigned slot, int64_t v, bool known)
{
    const sett__launch_rule *rule = &sett__launch_rules[slot / 3];
    char text[300];
    dim_text(bd, sett__dim_of(bd->sig, slot), rule, (int)slot % 3, text);
    if (!known)
        return REFUSE(bd, SETT_E_RANGE, "%s: %s overflows or divides by zero", bd->name, text);
    return REFUSE(bd, SETT_E_LIMIT, "%s: %s is %" PRId64 "; its limits are %" PRId64 " and %" PRId64, bd->name, text, v,
        rule->least, rule->most[slot % 3]);
}

sett_status sett__bind_no_smem(const sett__binder *bd, bool known, int64_t more)
{
    const sett__sig *sig = bd->sig;
    char expr[200];
    if (!sig->smem_more.count)
        return REFUSE(bd, SETT_E_LIMIT, "%s: %u bytes of shared memory; %d is the limit", bd->name,
            (unsigned)sig->smem, SETT__SMEM_MAX);
    sett__expr_words(sig, sig->smem_more, expr, sizeof expr);
    if (!known)
        return REFUSE(bd, SETT_E_RANGE, "%s: the bytes of shared memory, %s, overflow or divide by zero", bd->name, expr);
    return REFUSE(bd, SETT_E_LIMIT, "%s: %u bytes of shared memory and %s = %" PRId64 " that the launch adds; the limit is %d",
        bd->name, (unsigned)sig->smem, expr, more, SETT__SMEM_MAX);
}

/* "N = 8, M = 3": what an expression is made of. */
static const char *values_text(const sett__binder *bd, sett__expr e, char buf[200])
{
    size_t at = 0;
    buf[0] = 0;
    for (uint32_t i = 0; i < e.count && at < 200; i++) {
        const sett__xop *x = &bd->sig->code[e.first + i];
        bool seen = x->code != SETT__X_SYM && x->code != SETT__X_SCALAR;
        for (uint32_t j = 0; j < i && !seen; j++) {
            const sett__xop *y = &bd->sig->code[e.first + j];
            seen = y->code == x->code && y->imm == x->imm;
        }
        if (seen)
            continue;
        bool sym = x->code == SETT__X_SYM;
        at += (size_t)snprintf(buf + at, 200 - at, "%s%.60s = %" PRId64, at ? ", " : "",
            sym ? bd->sig->sym[x->imm].name : bd->sig->param[x->imm].name, sym ? bd->sym[x->imm] : bd->scalar[x->imm]);
    }
    return buf;
}

sett_status sett__bind_broken(const sett__binder *bd, const sett__check *k)
{
    char values[200], place[200] = "";
    if (k->file)
        snprintf(place, sizeof place, "%.180s:%u: ", k->file, (unsigned)k->line);
    return REFUSE(bd, SETT_E_DIVIDE, "%s: %s%s, and %s", bd->name, place, k->text,
        values_text(bd, k->expr, values));
}

sett_status sett__bind_no_derived(const sett__binder *bd, const sett__symbol *s, int64_t v, bool known)
{
    char expr[200], values[200];
    sett__expr_words(bd->sig, s->value, expr, sizeof expr);
    values_text(bd, s->value, values);
    if (known)
        return REFUSE(bd, SETT_E_RANGE, "%s: %s, %s, is %" PRId64 ", not 0 to 2^31 - 1, where %s", bd->name, s->name, expr,
            v, values);
    return REFUSE(bd, SETT_E_RANGE, "%s: %s, %s, has no value where %s: a divisor is 1 to 2^31 - 1", bd->name, s->name,
        expr, values);
}
