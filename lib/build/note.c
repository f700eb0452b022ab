/* SPDX-License-Identifier: Apache-2.0 */
/* Notes of what the layouts decided about each access; the report prints them. */
#include "build.h"
#include <string.h>

#define REMEMBERED 8 /* an unrolled loop gives the same note again and again */

static bool same_note(const sett__note *x, const sett__note *y)
{
    return x->site == y->site && x->call == y->call && x->t && y->t && x->t->root == y->t->root && x->lost == y->lost && x->have == y->have &&
           x->need == y->need && x->split == y->split && x->places == y->places && x->elements == y->elements && !memcmp(x->count, y->count, sizeof x->count);
}

void sett__note_add(const sett__ctx *c, sett__note *given)
{
    int i = 0;
    given->func = c->func;
    given->site = sett__site(c->b, c->site);
    given->call = c->site.call;
    for (const sett__note *x = c->b->notes; x && i < REMEMBERED; x = x->older, i++)
        if (same_note(x, given))
            return;
    sett__note *note = sett__new(c->b, sizeof *note);
    if (!note || c->b->error.status)
        return;
    *note = *given;
    note->older = c->b->notes;
    c->b->notes = note;
}

/* As the last one, most often: then there is none to be made. */
uint32_t sett__note_element(const sett__ctx *c, const sett_tensor *t, uint32_t bytes)
{
    uint32_t site = sett__site(c->b, c->site);
    int i = 0;
    for (const sett__note *x = c->b->notes; x && i < REMEMBERED; x = x->older, i++)
        if (x->element && x->site == site && x->call == c->site.call && x->t->root == t->root && x->bytes == bytes)
            return site;
    sett__note note = {.t = t, .bytes = (uint8_t)bytes, .element = true};
    note.count[__builtin_ctz(bytes)] = 1;
    sett__note_add(c, &note);
    return note.site;
}
