/* SPDX-License-Identifier: Apache-2.0 */
/* The operands of operations of class FORM: what the strings of ops.def say. */
#include "ops.h"
#include <string.h>

#define FORM_ROW(name, text, words) {text, words},
static const struct {
    const char *text, *words;
} kinds[] = {SETT__FORM_KINDS(FORM_ROW)};

/* "smem|gmem"; 0: it is none. */
static uint16_t kinds_of(const char *s, size_t n)
{
    uint16_t all = 0;
    for (size_t part; n; s += part, n -= part) {
        uint16_t one = 0;
        part = strcspn(s, "|? .");
        for (int i = 0; i < SETT__N_FORM_KINDS; i++)
            if (strlen(kinds[i].text) == part && !memcmp(kinds[i].text, s, part))
                one = (uint16_t)(1 << i);
        if (!one)
            return 0;
        all |= one;
        part += s[part] == '|';
    }
    return all;
}

sett__form sett__form_of(int code)
{
    return (sett__form){.at = sett__ops[code].types};
}

bool sett__form_next(sett__form *f)
{
    const char *s = f->at + strspn(f->at, " "), *colon;
    size_t n = strcspn(s, " ");
    if (!n || *s == '-')
        return false;
    bool listed = f->kinds && !*f->name && !(f->kinds & SETT__F_PLACE);
    f->at = s + n;
    f->k += f->words;
    f->place += (f->kinds & SETT__F_PLACE) != 0;
    f->name[0] = 0;
    if ((colon = memchr(s, ':', n))) {
        snprintf(f->name, sizeof f->name, "%.*s", (int)(colon - s), s);
        n -= (size_t)(colon + 1 - s);
        s = colon + 1;
    }
    f->repeated = n > 3 && !memcmp(s + n - 3, "...", 3);
    n -= f->repeated ? 3 : 0;
    f->optional = s[n - 1] == '?';
    f->kinds = kinds_of(s, n - f->optional);
    f->comma = listed && !*f->name;
    f->words = f->kinds & SETT__F_PLACE ? 2 : 1;
    return true;
}

uint32_t sett__form_result(int code)
{
    const char *s = strstr(sett__ops[code].types, "-> ");
    return s ? kinds_of(s + 3, strlen(s + 3)) : 0;
}

const char *sett__form_words(uint32_t which, char *buf, size_t size)
{
    sett__sink out = {.buf = buf, .cap = size};
    for (int i = 0; i < SETT__N_FORM_KINDS; i++)
        if (which & 1u << i) {
            sett__put(&out, out.len ? " or " : "");
            sett__put(&out, kinds[i].words);
        }
    return buf;
}

int64_t sett__form_offset(const uint32_t *arg, const sett__op *op, uint32_t place)
{
    const sett__attr_info *a = SETT__ATTR_ROW(op->code, 0);
    if (!place)
        return op->imm;
    for (; a->text; a++)
        if (!*a->text && !--place)
            return sett__attr(arg, op, (int)(a - sett__attrs));
    return 0;
}
