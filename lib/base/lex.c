/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of a text: what the tape's parser reads with. A failure is reported once, with the line and
 * a caret below what is wrong; after it everything else fails too. */
#include "base.h"
#include <string.h>

/* ---- errors: line, column, the line and a caret ---------------------------------- */
enum { SHOWN = 100 };

bool sett__lex_fail(sett__lex *p, const char *at, const char *format, ...)
{
    char what[160], line_text[4 * SHOWN + 1] = "", told[2 * sizeof what] = "";
    sett__sink shown = {.buf = line_text, .cap = sizeof line_text}, message = {.buf = told, .cap = sizeof told};
    if (p->status)
        return false;
    va_list ap;
    va_start(ap, format);
    vsnprintf(what, sizeof what, format, ap);
    va_end(ap);
    int line = 1;
    for (const char *s = p->text; s < p->line; s++)
        line += *s == '\n';
    size_t column = (size_t)(at - p->line), from = column > SHOWN - 20 ? column - (SHOWN - 20) : 0;
    size_t n = strcspn(p->line + from, "\n");
    int caret = (int)sett__put_shown(&shown, p->line + from, n < SHOWN ? n : SHOWN, column - from);
    sett__put_shown(&message, what, strlen(what), 0);
    p->status = sett__error(p->err, SETT_E_PARSE, "line %d, column %zu: %s\n  %s\n  %*s^", line, column + 1, told,
        line_text, caret, "");
    return false;
}

bool sett__lex_no_memory(sett__lex *p)
{
    if (!p->status)
        p->status = sett__error(p->err, SETT_E_MEMORY, "out of memory while parsing a tape");
    return false;
}

/* ---- tokens -------------------------------------------------------------------------- */
void sett__lex_space(sett__lex *p)
{
    p->at += strspn(p->at, " \t\r");
    if (*p->at == ';')
        p->at += strcspn(p->at, "\n");
}

bool sett__sees(sett__lex *p, const char *token)
{
    sett__lex_space(p);
    return !strncmp(p->at, token, strlen(token));
}

bool sett__accept(sett__lex *p, const char *token)
{
    if (p->status || !sett__sees(p, token))
        return false;
    p->at += strlen(token);
    return true;
}

/* A word that does not go on. */
bool sett__accept_word(sett__lex *p, const char *word)
{
    size_t n = strlen(word);
    if (p->status || !sett__sees(p, word) || strspn(p->at + n, SETT__LETTERS SETT__DIGITS "_"))
        return false;
    p->at += n;
    return true;
}

/* A token of letters is a word. */
bool sett__expect(sett__lex *p, const char *token)
{
    const bool word = strspn(token, SETT__LETTERS) > 0;
    return (word ? sett__accept_word(p, token) : sett__accept(p, token)) || SETT__LEX_FAIL(p, "expected %s", token);
}

bool sett__lex_digits(sett__lex *p, uint64_t *x, uint64_t most)
{
    sett__lex_space(p);
    const char *start = p->at;
    for (*x = 0; *p->at >= '0' && *p->at <= '9'; p->at++) {
        uint64_t digit = (uint64_t)(*p->at - '0');
        if (*x > (most - digit) / 10)
            return sett__lex_fail(p, start, "a number above %llu", (unsigned long long)most);
        *x = 10 * *x + digit;
    }
    if (p->at > start && strspn(p->at, SETT__LETTERS "_"))
        return sett__lex_fail(p, start, "a number ends before a letter: a blank is missing");
    return p->at > start || SETT__LEX_FAIL(p, "expected a number");
}

bool sett__lex_u32(sett__lex *p, uint32_t *x, uint32_t most)
{
    uint64_t wide = 0;
    bool ok = sett__lex_digits(p, &wide, most);
    *x = (uint32_t)wide;
    return ok;
}

bool sett__lex_int(sett__lex *p, int64_t *x)
{
    bool negative = sett__accept(p, "-");
    uint64_t u = 0;
    if (!sett__lex_digits(p, &u, (uint64_t)INT64_MAX + negative))
        return false;
    *x = (int64_t)(negative ? 0 - u : u);
    return true;
}

static int hex_digit(char c)
{
    const char *all = "0123456789abcdef0123456789ABCDEF", *s = c ? strchr(all, c) : NULL;
    return s ? (int)((s - all) & 15) : -1;
}

bool sett__lex_hex(sett__lex *p, uint64_t *x)
{
    const char *start = p->at;
    for (*x = 0; hex_digit(*p->at) >= 0; p->at++) {
        if (*x >> 60)
            return sett__lex_fail(p, start, "more than 64 bits");
        *x = *x << 4 | (uint64_t)hex_digit(*p->at);
    }
    return p->at > start || SETT__LEX_FAIL(p, "expected hexadecimal digits");
}

/* One character after a backslash; -1: there is no such escape. */
static int escaped(sett__lex *p)
{
    static const char letter[] = "nt\"\\", plain[] = "\n\t\"\\";
    const char *s = *p->at ? strchr(letter, *p->at) : NULL;
    if (s) {
        p->at++;
        return plain[s - letter];
    }
    int high, low;
    if (*p->at != 'x' || (high = hex_digit(p->at[1])) < 0 || (low = hex_digit(p->at[2])) < 0 || !(high | low))
        return -1;
    p->at += 3;
    return high << 4 | low;
}

/* Room for a text that is n bytes long; NULL: there is none, or it is too long. */
static char *new_text(sett__lex *p, size_t n)
{
    char *s = n <= SETT__MAX_STRING ? sett__arena_alloc(p->arena, n + 1) : NULL;
    if (!s && n > SETT__MAX_STRING)
        SETT__LEX_FAIL(p, "more than %d characters", SETT__MAX_STRING);
    else if (!s)
        sett__lex_no_memory(p);
    return s;
}

/* Bytes of the character here, as it is written: a, \n, \x7f. */
static size_t width_of(const char *s)
{
    if (*s != '\\' || !s[1] || s[1] == '\n')
        return 1;
    return s[1] == 'x' && hex_digit(s[2]) >= 0 && hex_digit(s[3]) >= 0 ? 4 : 2;
}

bool sett__lex_string(sett__lex *p, const char **out)
{
    if (!sett__expect(p, "\""))
        return false;
    const char *start = p->at;
    size_t n = 0, len = 0; /* as it is written, and as it is meant */
    for (; start[n] && start[n] != '\n' && start[n] != '"'; len++)
        n += width_of(start + n);
    if (start[n] != '"')
        return sett__lex_fail(p, start - 1, "the string does not end on its line");
    char *s = new_text(p, len), *to = s;
    if (!s)
        return false;
    while (p->at < start + n) {
        int c = *p->at++;
        if (c == '\\' && (c = escaped(p)) < 0)
            return SETT__LEX_FAIL(p, "there is no such escape");
        *to++ = (char)c;
    }
    *to = 0;
    p->at++;
    *out = s;
    return true;
}

/* Characters of a set, or a quoted string. */
bool sett__lex_chars(sett__lex *p, const char *set, const char *what, const char **out)
{
    if (sett__sees(p, "\""))
        return sett__lex_string(p, out);
    size_t n = strspn(p->at, set);
    if (!n)
        return SETT__LEX_FAIL(p, "expected %s", what);
    char *s = new_text(p, n);
    if (s)
        memcpy(s, p->at, n);
    *out = s;
    p->at += n;
    return s != NULL;
}

bool sett__lex_name(sett__lex *p, const char *what, const char **out)
{
    sett__lex_space(p);
    if (strchr(SETT__DIGITS, *p->at) && *p->at)
        return SETT__LEX_FAIL(p, "expected %s", what);
    return sett__lex_chars(p, SETT__LETTERS SETT__DIGITS "_", what, out);
}

/* f16, f16x8 */
bool sett__lex_type(sett__lex *p, uint8_t *dtype, uint32_t *n)
{
    sett__lex_space(p);
    const char *start = p->at;
    size_t len = strspn(start, SETT__LETTERS SETT__DIGITS), base = len;
    while (base && strchr(SETT__DIGITS, start[base - 1]))
        base--;
    bool wide = base > 1 && base < len && start[base - 1] == 'x';
    *dtype = (uint8_t)sett__dtype_parse(start, wide ? base - 1 : len);
    *n = 1;
    if (!*dtype)
        return SETT__LEX_FAIL(p, "expected a type, such as f16 or f16x8");
    p->at = start + (wide ? base : len);
    return !wide || sett__lex_u32(p, n, SETT__MAX_SMEM * 2); /* elements of 4 bits */
}
