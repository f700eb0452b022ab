/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of fields, and the name of the field at a byte of a parameter that is a struct. */
#include "build.h"

/* ---- where C puts them ----------------------------------------------------------------- */
int64_t sett__field_size(const sett_field *f)
{
    return f->of ? f->of->size : sett__dtype_bytes(f->dtype);
}

/* The field of which the byte is a part; *byte is then counted from it. -1: it is between them. Of a union the first. */
static int covers(const sett_struct *s, int64_t *byte)
{
    for (int i = 0; i < s->n; i++) {
        const sett_field *f = &s->field[i];
        int64_t from = *byte - s->offset[i];
        if (from >= 0 && from < sett__field_size(f) * (f->count ? f->count : 1))
            return *byte = f->of ? from % sett__field_size(f) : from, i;
    }
    return -1;
}

void sett__field_at(const sett_build *b, uint32_t param, int64_t byte, char *buf, size_t size)
{
    sett__sink out = {.buf = buf, .cap = size};
    const sett__by_value *p = b->by_value;
    while (p && p->param != param)
        p = p->next;
    sett__putf(&out, "%.60s", b->sig.param[param].name);
    for (const sett_struct *s = p ? p->of : NULL; s;) {
        int i = covers(s, &byte);
        if (i < 0)
            return;
        sett__putf(&out, ".%.60s", s->field[i].name);
        s = s->field[i].of;
    }
}
