/* SPDX-License-Identifier: Apache-2.0 */
/* A tensor in CuTe's notation: where it begins, and its layout. */
#include "layout.h"
#include <string.h>

/* ---- text ---------------------------------------------------------------------------------------- */
static const char *const space_name[] = {"?", "gmem", "smem", "rmem", "dsmem", "tmem", "generic", "coord"};

const char *sett__space_name(sett_space s)
{
    return space_name[s];
}

uint32_t sett__start_align(const sett_tensor *t)
{
    uint64_t bits = (uint64_t)(t->dtype == SETT_BOOL ? 8 : sett_dtype_bits((sett_dtype)t->dtype));
    uint64_t by = (uint64_t)sett__leaf_div(t->offset) * bits / 8 | t->align;
    return (uint32_t)(by & (0 - by));
}

typedef struct text {
    char *buf;
    size_t size;
    int n;
} text;

static char *text_room(const text *s, size_t *size)
{
    bool room = (size_t)s->n < s->size;
    *size = room ? s->size - (size_t)s->n : 0;
    return room ? s->buf + s->n : NULL;
}

SETT_PRINTF(2, 3) static void put(text *s, const char *format, ...)
{
    size_t size;
    char *at = text_room(s, &size);
    va_list list;
    va_start(list, format);
    s->n += vsnprintf(at, size, format, list);
    va_end(list);
}

int sett_tensor_str(const sett_tensor *t, char *buf, size_t size)
{
    if (!sett__lives("sett_tensor_str", t, SETT__K_TENSOR) || t->head.poison)
        return snprintf(buf, size, "tensor<?>");
    text s = {buf, size, 0};
    size_t left;
    if (t->space == SETT_COORD) {
        put(&s, "tensor<");
        char *at = text_room(&s, &left);
        s.n += sett__arg_str(t->offset, at, left);
    } else {
        put(&s, "tensor<ptr<%s, %s", sett__memory_type((sett_dtype)t->dtype),
            space_name[t->space]);
        if (sett__start_align(t) > (uint32_t)sett__dtype_bytes((sett_dtype)t->dtype))
            put(&s, ", align<%u>", sett__start_align(t));
        put(&s, ">");
    }
    put(&s, " o ");
    char *at = text_room(&s, &left);
    s.n += sett__layout_str(t->layout, at, left);
    put(&s, ">");
    return s.n;
}

const char *sett__tensor_text(sett_build *b, const sett_tensor *t)
{
    const char *layout = sett__layout_text(b, t->layout);
    size_t size = strlen(t->name) + strlen(layout) + 2;
    char *line = sett__new(b, size);
    if (!line)
        return t->name;
    snprintf(line, size, "%s %s", t->name, layout);
    return line;
}
