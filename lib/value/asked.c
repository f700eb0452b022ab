/* SPDX-License-Identifier: Apache-2.0 */
/* Booleans that a body asks for and does not use. C takes a pointer as a condition: `if (sett_lt(i, 3))` is compiled without a
 * warning, and its branch is always recorded. Nobody asks for a Boolean and leaves it, so the report and the log tell. */
#include "value.h"
#include <stdio.h>

typedef struct asked {
    struct asked *older;
    sett_val *v;
    sett_site site;
    const char *func;
    sett_arg x, y;
} asked;
static const sett__build_slot booleans = {.size = sizeof(asked *)};

sett_val *sett__asked(const sett__ctx *c, sett_val *v, sett_arg x, sett_arg y)
{
    if (!v || v->head.poison || v->dtype != SETT_BOOL || !c->b->in_kernel || c->b->error.status)
        return v;
    asked *a = sett__new(c->b, sizeof *a), **newest = sett__in_slot(c->b, &booleans);
    *a = (asked){*newest, v, c->site, c->func, x, y};
    if (!c->b->error.status)
        *newest = a;
    return v;
}

/* Those that calls took as parts of others, or folded away, are marked already: here are the arguments of what was recorded. */
static void mark_arguments(sett_build *b)
{
    for (uint32_t i = 0; i < b->n_op; i++)
        for (uint32_t k = 0; k < b->op[i].n_args; k++) {
            const uint32_t id = b->arg[b->op[i].args + k];
            if (id < b->n_op && b->val_of[id])
                b->val_of[id]->used = true;
        }
}

static bool told(const asked *first, const asked *a)
{
    for (const asked *x = first; x != a; x = x->older)
        if (!x->v->used && x->site.file == a->site.file && x->site.line == a->site.line && x->func == a->func)
            return true;
    return false;
}

static const asked *reversed(asked *a)
{
    asked *first = NULL;
    while (a) {
        asked *older = a->older;
        a->older = first;
        first = a, a = older;
    }
    return first;
}

void sett__check_asked(sett_build *b)
{
    bool unused = false;
    asked **newest = sett__in_slot(b, &booleans);
    for (const asked *a = *newest; a && !unused; a = a->older)
        unused = !a->v->used;
    if (!unused || b->error.status)
        return;
    mark_arguments(b);
    const asked *first = reversed(*newest);
    *newest = NULL;
    for (const asked *a = first; a; a = a->older) {
        if (a->v->used || told(first, a))
            continue;
        char text[500];
        const bool two = a->y.kind != SETT_SLICE;
        snprintf(text, sizeof text, "nothing uses this Boolean, of %.150s%s%.150s: a C if, ?: or && asks whether there is a value, and there is always one; "
            "sett_if and sett_where branch by it", sett__arg_text(b, a->x), two ? " and " : "", two ? sett__arg_text(b, a->y) : "");
        sett__note_add(&(sett__ctx){b, a->site, a->func}, &(sett__note){.text = sett__arena_str(&b->arena, text), .warns = true});
    }
}
