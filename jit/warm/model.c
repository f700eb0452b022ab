/* SPDX-License-Identifier: Apache-2.0 */
/* Models: the names of a model's file with their values, and lines in which they stand. <sett/warm.h> has the form. */
#include "inside.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- names -------------------------------------------------------------------------------- */
static sett__model_name *find(sett__model *m, const char *name, size_t len)
{
    for (int i = 0; i < m->n; i++)
        if (strlen(m->at[i].name) == len && !memcmp(m->at[i].name, name, len))
            return &m->at[i];
    return NULL;
}

static size_t name_length(const char *text)
{
    size_t n = 0;
    while (isalpha((unsigned char)text[n]) || text[n] == '_' || (n && isdigit((unsigned char)text[n])))
        n++;
    return n;
}

bool sett__model_set(sett__model *m, const char *name, const char *value, int file, char why[SETT__MODEL_WHY])
{
    const size_t len = name_length(name);
    sett__model_name *x = find(m, name, strlen(name));
    if (!len || name[len] || len >= sizeof x->name)
        return snprintf(why, SETT__MODEL_WHY, "%.40s is no name: letters, digits and _, at most %zu of them", name, sizeof x->name - 1), false;
    if (!*value || strlen(value) >= sizeof x->value)
        return snprintf(why, SETT__MODEL_WHY, "%s has %s", name, *value ? "too long a value" : "no value"), false;
    if (x && (!file || x->offered == file))
        return snprintf(why, SETT__MODEL_WHY, "%s is given twice", name), false;
    if (!x && m->n == SETT__MODEL_NAMES)
        return snprintf(why, SETT__MODEL_WHY, "a model has at most %d names", SETT__MODEL_NAMES), false;
    if (!x) {
        x = &m->at[m->n++];
        *x = (sett__model_name){.given = !file};
        snprintf(x->name, sizeof x->name, "%s", name);
        snprintf(x->value, sizeof x->value, "%s", value);
    }
    x->offered = file ? file : x->offered;
    return true;
}

bool sett__model_offers(const sett__model *m, char why[SETT__MODEL_WHY])
{
    for (int i = 0; i < m->n; i++) {
        if (m->at[i].offered)
            continue;
        sett__guess near = sett__guess_of(m->at[i].name, strlen(m->at[i].name));
        size_t at = (size_t)snprintf(why, SETT__MODEL_WHY, "the model has no %s", m->at[i].name);
        for (int k = 0; k < m->n; k++)
            sett__guess_add(&near, m->at[k].offered ? m->at[k].name : NULL);
        const char *guess = sett__guess_text(&near);
        at += (size_t)snprintf(why + at, SETT__MODEL_WHY - at, "%s%s", guess, *guess ? " It has" : ": it has");
        for (int k = 0, first = 1; k < m->n && at < SETT__MODEL_WHY; k++)
            if (m->at[k].offered) {
                at += (size_t)snprintf(why + at, SETT__MODEL_WHY - at, "%s %s", first ? "" : ",", m->at[k].name);
                first = 0;
            }
        return false;
    }
    return true;
}

/* ---- numbers ------------------------------------------------------------------------------ */
typedef struct expr {
    sett__model *m;
    const char *at;
    int depth;
    char *why; /* NULL behind the first fault */
} expr;

static int64_t wrong(expr *x, const char *format, const char *what, size_t len)
{
    if (x->why)
        snprintf(x->why, SETT__MODEL_WHY, format, (int)len, what);
    x->why = NULL;
    return 0;
}

static int64_t sum(expr *);

static void blanks(expr *x)
{
    x->at += strspn(x->at, " \t");
}

static int64_t number_of(expr *x, const char *text, size_t len)
{
    char *end;
    errno = 0;
    const int64_t v = strtoll(text, &end, 10);
    return errno || end == text || *end ? wrong(x, "%.*s is no integer", text, len) : v;
}

static int64_t operand(expr *x)
{
    enum { DEEPEST = 32 };
    blanks(x);
    const size_t len = name_length(x->at), digits = strspn(x->at, "0123456789");
    if (len) {
        const sett__model_name *n = find(x->m, x->at, len);
        const char *name = x->at;
        x->at += len;
        return n ? number_of(x, n->value, strlen(n->value)) : wrong(x, "the model has no %.*s", name, len);
    }
    if (digits) {
        char text[24];
        snprintf(text, sizeof text, "%.*s", digits < 20 ? (int)digits : 20, x->at);
        x->at += digits;
        return number_of(x, text, strlen(text));
    }
    if (*x->at != '(' || x->depth == DEEPEST)
        return wrong(x, "a name, a number or ( is missing before \"%.*s\"", x->at, strlen(x->at));
    x->at++;
    x->depth++;
    const int64_t v = sum(x);
    x->depth--;
    if (*x->at != ')')
        return wrong(x, "a ) is missing before \"%.*s\"", x->at, strlen(x->at));
    x->at++;
    return v;
}

static int64_t rest(expr *x, int64_t v, int64_t by)
{
    char text[64];
    const int n = snprintf(text, sizeof text, "%lld / %lld", (long long)v, (long long)by);
    return wrong(x, "%.*s is no integer", text, (size_t)n);
}

static int64_t product(expr *x)
{
    int64_t v = operand(x);
    for (blanks(x); x->why && (*x->at == '*' || *x->at == '/'); blanks(x)) {
        const char *from = x->at;
        const bool divides = *x->at++ == '/';
        const int64_t y = operand(x);
        if (divides && (!y || v % y))
            return rest(x, v, y);
        if (divides)
            v /= y;
        else if (__builtin_mul_overflow(v, y, &v))
            return wrong(x, "%.*s is too large", from, (size_t)(x->at - from));
    }
    return v;
}

static int64_t sum(expr *x)
{
    int64_t v = product(x);
    for (blanks(x); x->why && (*x->at == '+' || *x->at == '-'); blanks(x)) {
        const char *from = x->at;
        const bool less = *x->at++ == '-';
        const int64_t y = product(x);
        if (less ? __builtin_sub_overflow(v, y, &v) : __builtin_add_overflow(v, y, &v))
            return wrong(x, "%.*s is too large", from, (size_t)(x->at - from));
    }
    return v;
}

/* ---- lines -------------------------------------------------------------------------------- */
static bool put(char *out, size_t size, size_t *n, const char *text, size_t len, char why[SETT__MODEL_WHY])
{
    if (*n + len >= size)
        return snprintf(why, SETT__MODEL_WHY, "the line has more than %zu characters with its values", size - 1), false;
    memcpy(out + *n, text, len);
    out[*n += len] = 0;
    return true;
}

bool sett__model_fill(sett__model *m, const char *line, char *out, size_t size, char why[SETT__MODEL_WHY])
{
    size_t n = 0;
    *out = 0;
    for (const char *at = line; *at;) {
        const size_t plain = strcspn(at, "$");
        if (!put(out, size, &n, at, plain, why))
            return false;
        at += plain;
        if (!*at)
            break;
        char number[24];
        const char *value = number;
        const size_t len = name_length(at + 1);
        const sett__model_name *x = find(m, at + 1, len);
        if (len) {
            if (!x)
                return snprintf(why, SETT__MODEL_WHY, "the model has no %.*s", (int)len, at + 1), false;
            value = x->value;
            at += 1 + len;
        } else {
            expr e = {.m = m, .at = at + 1, .why = why};
            const int64_t v = at[1] == '(' ? operand(&e) : wrong(&e, "%.*s: a $ comes before a name, or (", at, strlen(at));
            if (!e.why)
                return false;
            snprintf(number, sizeof number, "%lld", (long long)v);
            at = e.at;
        }
        if (!put(out, size, &n, value, strlen(value), why))
            return false;
    }
    return true;
}

/* "NAME has WORD", or a number that is not 0. */
bool sett__model_when(sett__model *m, const char *text, bool *yes, char why[SETT__MODEL_WHY])
{
    const size_t len = name_length(text);
    const char *rest = text + len + strspn(text + len, " \t");
    if (len && !strncmp(rest, "has", 3) && (rest[3] == ' ' || rest[3] == '\t')) {
        const sett__model_name *x = find(m, text, len);
        const char *word = rest + 3 + strspn(rest + 3, " \t");
        if (!x)
            return snprintf(why, SETT__MODEL_WHY, "the model has no %.*s", (int)len, text), false;
        *yes = false;
        for (const char *at = x->value; at; at = strchr(at, ',')) {
            at += strspn(at, ", \t");
            const size_t n = strcspn(at, ", \t");
            *yes |= n && n == strlen(word) && !memcmp(at, word, n);
        }
        return true;
    }
    expr e = {.m = m, .at = text, .why = why};
    *yes = sum(&e) != 0;
    if (e.why && *e.at)
        wrong(&e, "\"%.*s\" is left over", e.at, strlen(e.at));
    return e.why;
}
