/* SPDX-License-Identifier: Apache-2.0 */
/* Growing text, and names and numbers in it. */
#include "base.h"
#include <string.h>

static bool make_room(sett__sink *s, size_t n)
{
    if (!s->grow || s->cap - s->len > n)
        return true;
    if (s->failed)
        return false;
    size_t cap = 2 * s->len + n + 128;
    char *p = sett__mem_alloc(s->mem, cap);
    if (!p) {
        s->failed = true;
        return false;
    }
    if (s->len)
        memcpy(p, s->buf, s->len);
    sett__mem_free(s->mem, s->buf);
    s->buf = p, s->cap = cap;
    return true;
}

void sett__put_n(sett__sink *s, const char *text, size_t n)
{
    if (!make_room(s, n))
        return;
    if (s->len < s->cap) {
        size_t space = s->cap - s->len - 1, fits = n < space ? n : space;
        memcpy(s->buf + s->len, text, fits);
        s->buf[s->len + fits] = 0;
    }
    s->len += n;
}

void sett__put(sett__sink *s, const char *text)
{
    sett__put_n(s, text, strlen(text));
}

void sett__putf(sett__sink *s, const char *format, ...)
{
    char buf[256];
    va_list ap, again;
    va_start(ap, format);
    va_copy(again, ap);
    int n = vsnprintf(buf, sizeof buf, format, ap);
    if (n > 0 && (size_t)n < sizeof buf) {
        sett__put_n(s, buf, (size_t)n);
    } else if (n > 0 && make_room(s, (size_t)n)) {
        if (s->len < s->cap)
            vsnprintf(s->buf + s->len, s->cap - s->len, format, again);
        s->len += (size_t)n;
    }
    va_end(again);
    va_end(ap);
}

void sett__put_int(sett__sink *s, int64_t x)
{
    char buf[24], *p = buf + sizeof buf;
    uint64_t u = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
    do
        *--p = (char)('0' + u % 10);
    while (u /= 10);
    if (x < 0)
        *--p = '-';
    sett__put_n(s, p, (size_t)(buf + sizeof buf - p));
}

static void put_char(sett__sink *s, char c)
{
    if ((unsigned char)c < 32 || c == 127)
        sett__putf(s, c == '\n' ? "\\n" : "\\x%02x", (unsigned)(unsigned char)c);
    else
        sett__put_n(s, &c, 1);
}

size_t sett__put_shown(sett__sink *s, const char *text, size_t n, size_t at)
{
    size_t start = s->len, column = at > n ? at - n : 0; /* past the end */
    for (size_t i = 0; i < n; i++) {
        put_char(s, text[i] == '\t' ? ' ' : text[i]);
        column = i < at ? s->len - start + (at > n ? at - n : 0) : column;
    }
    return column;
}

void sett__put_quoted(sett__sink *s, const char *text)
{
    sett__put(s, "\"");
    for (; *text; text++)
        if (*text == '\t' || *text == '"' || *text == '\\')
            sett__put_n(s, (char[]){'\\', *text == '\t' ? 't' : *text}, 2);
        else
            put_char(s, *text);
    sett__put(s, "\"");
}

bool sett__is_name(const char *name, size_t most)
{
    static const uint64_t in_names[4] = {UINT64_C(0x3FF) << '0', UINT64_C(0x3FFFFFF) << 1 | UINT64_C(0x3FFFFFF) << 33 | UINT64_C(1) << 31};
    const unsigned char *c = (const unsigned char *)name;
    size_t n = 0;
    while (c && n <= most && in_names[c[n] >> 6] >> (c[n] & 63) & 1)
        n++;
    return n && n <= most && !c[n] && (*c < '0' || *c > '9');
}

void sett__put_name(sett__sink *s, const char *name)
{
    if (sett__is_name(name, SIZE_MAX - 1) && strcmp(name, "_"))
        sett__put(s, name);
    else
        sett__put_quoted(s, name);
}
