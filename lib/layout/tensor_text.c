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

void sett__put_tensor(sett__sink *s, const sett_tensor *t)
{
    if (!sett__lives("sett_tensor_str", t, SETT__K_TENSOR) || t->head.poison) {
        sett__put(s, "tensor<?>");
        return;
    }
    if (t->space == SETT_COORD) {
        sett__put(s, "tensor<");
        sett__put_arg(s, t->offset);
    } else {
        sett__putf(s, "tensor<ptr<%s, %s", sett__memory_type((sett_dtype)t->dtype), space_name[t->space]);
        if (sett__start_align(t) > (uint32_t)sett__dtype_bytes((sett_dtype)t->dtype))
            sett__putf(s, ", align<%u>", sett__start_align(t));
        sett__put(s, ">");
    }
    sett__put(s, " o ");
    sett__put_layout(s, t->layout);
    sett__put(s, ">");
}

int sett_tensor_str(const sett_tensor *t, char *buf, size_t size)
{
    sett__sink s = {.buf = buf, .cap = size};
    sett__put_tensor(&s, t);
    return (int)s.len;
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
