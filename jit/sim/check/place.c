/* SPDX-License-Identifier: Apache-2.0 */
/* Words for a byte of global memory: the element of an argument that it is in. */
#include "global.h"
#include <string.h>

enum { LEAVES = 16 };
typedef struct leaves {
    uint32_t n;
    int64_t extent[LEAVES], stride[LEAVES], at[LEAVES];
} leaves;

static int64_t symbol(const sett__core *c, uint32_t i)
{
    const sett__sig *s = &c->program->given->sig;
    const unsigned char *p = (const unsigned char *)c->launch->params + sett__packed_at(s, s->n_param + i);
    int64_t wide;
    int32_t narrow;
    memcpy(&wide, p, s->sym[i].wide ? sizeof wide : 0);
    memcpy(&narrow, p, s->sym[i].wide ? 0 : sizeof narrow);
    return s->sym[i].wide ? wide : narrow;
}

/* Extents and strides of an argument at this launch; false: they are not known. */
static bool layout_of(const sett__core *c, const sett__param *p, leaves *to)
{
    enum { SYMBOLS = 64 };
    const sett__sig *s = &c->program->given->sig;
    int64_t sym[SYMBOLS];
    if (p->n_leaf > LEAVES || s->n_sym > SYMBOLS)
        return false;
    for (uint32_t i = 0; i < s->n_sym; i++)
        sym[i] = symbol(c, i);
    bool known = true;
    to->n = p->n_leaf;
    for (uint32_t k = 0; k < p->n_leaf && known; k++) {
        const sett__leaf *l = &s->leaf[p->leaf + k];
        known = sett__expr_eval(s, l->extent, sym, NULL, &to->extent[k]) && sett__expr_eval(s, l->stride, sym, NULL, &to->stride[k]);
    }
    return known;
}

/* The coordinate of an element, the greatest strides first; false: none has it. */
static bool coordinate(leaves *x, int64_t element)
{
    bool done[LEAVES] = {false};
    for (uint32_t k = 0; k < x->n; k++) {
        uint32_t best = LEAVES;
        for (uint32_t i = 0; i < x->n; i++)
            if (!done[i] && (best == LEAVES || x->stride[i] > x->stride[best]))
                best = i;
        const int64_t stride = x->stride[best], at = stride > 0 ? element / stride : 0;
        done[best] = true;
        x->at[best] = at < x->extent[best] ? at : x->extent[best] - 1;
        element -= x->at[best] * stride;
    }
    return !element;
}

static void put_coordinate(const sett__sig *s, const sett__param *p, const leaves *x, sett__sink *to)
{
    for (uint32_t k = 0; k < x->n; k++) {
        const uint8_t mode = s->leaf[p->leaf + k].mode;
        const bool first = !k || s->leaf[p->leaf + k - 1].mode != mode, last = k + 1 == x->n || s->leaf[p->leaf + k + 1].mode != mode;
        sett__putf(to, "%s%s%lld%s", k ? "," : "(", first && !last ? "(" : "", (long long)x->at[k], last && !first ? ")" : "");
    }
    sett__put(to, ")");
}

/* The argument that a byte is in; NULL: none is known. */
static const sett__param *param_at(const sett__core *c, uintptr_t p, uint32_t *index)
{
    const sett__sig *s = &c->program->given->sig;
    for (uint32_t i = 0; i < s->n_param; i++)
        if (!s->param[i].scalar && p - (uintptr_t)c->launch->extent[i].data < c->launch->extent[i].bytes) {
            *index = i;
            return &s->param[i];
        }
    return NULL;
}

void sett__put_global(const sett__core *c, uintptr_t p, sett__sink *to)
{
    uint32_t index;
    const sett__sig *s = &c->program->given->sig;
    const sett__param *x = param_at(c, p, &index);
    leaves l;
    sett__extent around;
    bool freed;
    if (!x) {
        const bool known = c->launch->blocks && sett__allocations_around(c->launch->blocks, (const void *)p, &around, &freed);
        sett__put(to, "global memory");
        if (known)
            sett__putf(to, ", byte %zu of an allocation of %zu,", (size_t)(p - (uintptr_t)around.data), around.bytes);
        return;
    }
    uint64_t base;
    memcpy(&base, (const unsigned char *)c->launch->params + sett__packed_at(s, index), sizeof base);
    const int64_t byte = (int64_t)(p - base), size = sett__dtype_bytes((sett_dtype)x->dtype);
    sett__put(to, x->name ? x->name : "an argument");
    if (byte >= 0 && size && layout_of(c, x, &l) && coordinate(&l, byte / size))
        put_coordinate(s, x, &l, to);
    else
        sett__putf(to, ", byte %lld,", (long long)byte);
}
