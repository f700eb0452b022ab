/* SPDX-License-Identifier: Apache-2.0 */
/* The C functions that a program gave for inline PTX, by name. A launch takes what it needs when it begins. */
#include "inside.h"
#include <stdlib.h>
#include <string.h>

struct sett__named {
    struct sett__named *next;
    void (*function)(void);
    char *types, name[]; /* types: without blanks, behind the name */
};

void sett__stand_ins_clear(sett__stand_ins *s)
{
    for (struct sett__named *n = s->first, *next; n; n = next) {
        next = n->next;
        free(n);
    }
    pthread_mutex_destroy(&s->lock);
}

/* ---- what is given ------------------------------------------------------------------------------- */
static struct sett__named *make_named(const char *name, const char *types, void (*function)(void))
{
    size_t n = strlen(name) + 1;
    struct sett__named *x = malloc(sizeof *x + n + strlen(types) + 1);
    if (!x)
        return NULL;
    x->function = function;
    x->types = x->name + n;
    memcpy(x->name, name, n);
    char *to = x->types;
    for (; *types; types++)
        if (*types != ' ')
            *to++ = *types;
    *to = 0;
    return x;
}

static struct sett__named **find_named(sett__stand_ins *s, const char *name, size_t len)
{
    struct sett__named **at = &s->first;
    while (*at && (strlen((*at)->name) != len || memcmp((*at)->name, name, len) != 0))
        at = &(*at)->next;
    return at;
}

static void replace_named(sett__stand_ins *s, const char *name, struct sett__named *x)
{
    pthread_mutex_lock(&s->lock);
    struct sett__named **at = find_named(s, name, strlen(name)), *old = *at;
    if (old)
        *at = old->next;
    if (x)
        x->next = s->first, s->first = x;
    pthread_mutex_unlock(&s->lock);
    free(old);
}

/* "u32,f32" up to `end`, which *at is then behind; void stands for nothing. */
static bool read_types(const char **at, char end)
{
    for (const char *s = *at;;) {
        s += strspn(s, " ");
        size_t n = strcspn(s, " ,()");
        bool known = sett__dtype_parse(s, n) || (n == 4 && !memcmp(s, "void", 4)) || (!n && end == ')' && *s == end);
        s += n;
        s += strspn(s, " ");
        if (!known || (*s != ',' && *s != end))
            return false;
        if (*s++ == end)
            return *at = s, true;
    }
}

static bool are_types(const char *types)
{
    return read_types(&types, '(') && read_types(&types, ')') && !types[strspn(types, " ")];
}

sett_status sett__stand_in_set(sett__stand_ins *s, const char *name, const char *types, void (*function)(void), sett_error *err)
{
    struct sett__named *x = NULL;
    size_t n = name ? strspn(name, SETT__LETTERS SETT__DIGITS "_.") : 0;
    if (!name || (function && !types))
        return sett__error(err, SETT_E_ARGUMENT, "sett_engine_stand_in: the %s NULL", !name ? "name is" : "types are");
    if (!n || n > 100 || name[n])
        return sett__error(err, SETT_E_ARGUMENT, "sett_engine_stand_in: \"%.100s\": " SETT__INLINE_NAME, name);
    if (function && (!are_types(types) || !strcmp(name, SETT_NOTHING)))
        return sett__error(err, SETT_E_ARGUMENT, "sett_engine_stand_in: %.100s as %.200s: %s", name, types,
            are_types(types) ? "that name is of a stand-in that does nothing" : "types are as in u32(u32,f32), by the names of sett_dtype_name");
    if (function && !(x = make_named(name, types, function)))
        return sett__error(err, SETT_E_MEMORY, "sett_engine_stand_in: out of memory");
    replace_named(s, name, x);
    return SETT_OK;
}

/* ---- what a launch takes ---------------------------------------------------------------------------- */
sett_status sett__stand_ins_of(sett__stand_ins *s, const sett__program *p, const char *kernel, void (***to)(void), sett_error *err)
{
    const sett__call *k;
    uint32_t n = 0;
    sett_status status = SETT_OK;
    *to = NULL;
    while (sett__program_call(p, n))
        n++;
    if (!n)
        return SETT_OK;
    void (**function)(void) = malloc(n * sizeof *function);
    if (!function)
        return sett__error(err, SETT_E_MEMORY, "%s: no memory for a launch", kernel);
    pthread_mutex_lock(&s->lock);
    for (uint32_t i = 0; !status && (k = sett__program_call(p, i)); i++) {
        size_t len;
        const char *name = sett__call_name(k, &len);
        const struct sett__named *x = *find_named(s, name, len);
        status = sett__call_check(p, k, kernel, x ? x->types : NULL, err);
        function[i] = x ? x->function : NULL;
    }
    pthread_mutex_unlock(&s->lock);
    if (status)
        free(function);
    else
        *to = function;
    return status;
}
