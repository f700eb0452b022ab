/* SPDX-License-Identifier: Apache-2.0 */
/* The findings of this process: one for each kind and pair of lines, with a count. */
#include "finding_store.h"
#include "support.h"
#include <stdlib.h>
#include <string.h>

#define SETT__TEXT(name, text) text,
static const char *const kinds[] = {SETT_CHECK_KINDS(SETT__TEXT)}, *const roles[] = {SETT_CHECK_ROLES(SETT__TEXT)};
static const char *const levels[] = {"error", "warning", "cost"};

static const char *name_of(const char *const *names, size_t n, int at)
{
    return at >= 0 && (size_t)at < n ? names[at] : NULL;
}

const char *sett_check_kind_name(sett_check_kind k)
{
    return name_of(kinds, SETT__COUNT(kinds), (int)k);
}

const char *sett_check_level_name(sett_check_level l)
{
    return name_of(levels, SETT__COUNT(levels), (int)l);
}

const char *sett_check_role_name(sett_check_role r)
{
    return name_of(roles, SETT__COUNT(roles), (int)r);
}

/* ---- where an operation is from ------------------------------------------------------------------------------------- */
/* A tape without sites has lines of its text, or numbers of operations. */
sett_check_site sett__site_at(const sett__tape *t, uint32_t op, sett_check_role role)
{
    sett_check_site to = {.file = "", .function = "", .line = (int)op, .role = role};
    const sett__site_ref *s = sett__op_site(t, op);
    if (s) {
        to.file = t->string[s->file];
        to.function = s->func < t->n_string ? t->string[s->func] : "";
        to.line = (int)s->line;
    } else if (t->line && op < t->n_op && t->line[op]) {
        to.line = (int)t->line[op];
    }
    return to;
}

/* ---- the store --------------------------------------------------------------------------------------------------- */
enum { SLOTS = 256 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sett__kept *slot[SLOTS], *first, **last = &first;
static uint64_t lost, changes;

static bool same_site(const sett_check_site *a, const sett_check_site *b)
{
    return a->line == b->line && !strcmp(a->file, b->file);
}

static uint32_t hash_site(const sett_check_site *s)
{
    uint32_t h = (uint32_t)s->line * 0x9e3779b9u;
    for (const char *p = s->file; *p; p++)
        h = (h ^ (unsigned char)*p) * 16777619u;
    return h;
}

/* A pair has no order: who came first is chance. One line alone is a pair with itself: where its memory was made does not matter to what
 * outlives it. */
static const sett_check_site *other_site(const sett_finding *f)
{
    return &f->site[f->n_site > 1 && !(f->kind == SETT_CHECK_LIFETIME && f->site[1].role == SETT_CHECK_ROLE_ALLOC)];
}

static uint32_t hash_of(const sett_finding *f)
{
    return f->n_site ? ((uint32_t)f->kind * 31 + hash_site(f->site) + hash_site(other_site(f))) % SLOTS : 0;
}

/* A tape without sites is known by its kernel. */
static bool same(const sett_finding *a, const sett_finding *b)
{
    if (a->kind != b->kind || !a->n_site != !b->n_site)
        return false;
    if (!a->n_site || !*a->site[0].file)
        if (strcmp(a->kernel, b->kernel))
            return false;
    if (!a->n_site)
        return !strcmp(a->text, b->text);
    const sett_check_site *p = other_site(a), *q = other_site(b);
    return (same_site(a->site, b->site) && same_site(p, q)) || (same_site(a->site, q) && same_site(p, b->site));
}

static const char *put_string(char **at, const char *text)
{
    size_t n = strlen(text) + 1;
    char *to = memcpy(*at, text, n);
    *at += n;
    return to;
}

/* With its strings, in one block. NULL: no memory. */
static sett__kept *copy_of(const sett_finding *f)
{
    size_t bytes = strlen(f->text) + strlen(f->kernel) + 2;
    for (int i = 0; i < f->n_site; i++)
        bytes += strlen(f->site[i].file) + strlen(f->site[i].function) + 2;
    sett__kept *k = malloc(sizeof *k + bytes);
    if (!k)
        return NULL;
    *k = (sett__kept){.is = *f};
    char *at = k->strings;
    k->is.text = put_string(&at, f->text);
    k->is.kernel = put_string(&at, f->kernel);
    for (int i = 0; i < f->n_site; i++) {
        k->is.site[i].file = put_string(&at, f->site[i].file);
        k->is.site[i].function = put_string(&at, f->site[i].function);
    }
    return k;
}

/* Is it new to them? Without memory it is, each time. */
static bool is_new_to(sett__told *t, const sett__kept *k)
{
    for (uint32_t i = 0; i < t->n; i++)
        if (t->kept[i] == k)
            return false;
    if (sett__grow(NULL, (void **)&t->kept, &t->cap, t->n + 1, sizeof *t->kept))
        t->kept[t->n++] = k;
    return true;
}

static bool add(const sett_finding *f, const char *reason, uint32_t h, sett__told *told, bool later)
{
    sett__kept *was = slot[h];
    while (was && (was->stale || !was->reason != !reason || !same(&was->is, f)))
        was = was->beside;
    if (was && was->is.level <= f->level) {
        was->is.count += f->count;
        return told && is_new_to(told, was);
    }
    sett__kept *k = copy_of(f);
    changes++;
    lost += !k;
    if (!k)
        return true;
    if (was) /* a warning of the compile, which the run has seen happen */
        k->is.count += was->is.count, was->stale = true;
    k->reason = reason;
    k->unsaid = later;
    k->beside = slot[h];
    slot[h] = *last = k;
    last = &k->next;
    return !told || is_new_to(told, k);
}

static bool keep(const sett_finding *f, const char *reason, sett__told *told, bool later)
{
    pthread_mutex_lock(&lock);
    bool fresh = add(f, reason, hash_of(f), told, later);
    pthread_mutex_unlock(&lock);
    return fresh;
}

bool sett__finding_add(const sett_finding *f, const char *reason, sett__told *told)
{
    return keep(f, reason, told, false);
}

uint64_t sett__findings_lost(void)
{
    pthread_mutex_lock(&lock);
    uint64_t n = lost;
    pthread_mutex_unlock(&lock);
    return n;
}

bool sett__finding_at(sett_check_kind kind, const sett_check_site *at)
{
    pthread_mutex_lock(&lock);
    const sett__kept *k = first;
    while (k && !(k->is.kind == kind && k->is.n_site && same_site(k->is.site, at)))
        k = k->next;
    pthread_mutex_unlock(&lock);
    return k;
}

const sett__kept *sett__findings_lock(uint64_t *n_lost, uint64_t *n_changes)
{
    pthread_mutex_lock(&lock);
    *n_lost = lost;
    *n_changes = changes;
    return first;
}

void sett__findings_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

int sett_findings(sett_finding_fn fn, void *user)
{
    int n = 0;
    pthread_mutex_lock(&lock);
    for (const sett__kept *k = first; k; k = k->next)
        if (!k->reason && !k->stale) {
            n++;
            if (fn)
                fn(user, &k->is);
        }
    pthread_mutex_unlock(&lock);
    return n;
}

void sett__findings_forget(void)
{
    sett__proofs_forget();
    pthread_mutex_lock(&lock);
    for (sett__kept *k = first, *next; k; k = next) {
        next = k->next;
        free(k);
    }
    memset(slot, 0, sizeof slot);
    first = NULL, last = &first;
    lost = 0, changes++;
    pthread_mutex_unlock(&lock);
}

/* ---- telling ------------------------------------------------------------------------------------------------------- */
/* As compilers do, so that editors know it: "k.c:12: error: race: ...". */
static void say(const sett__listener *to, const sett_finding *f)
{
    static const sett_log_level level[] = {[SETT_CHECK_ERROR] = SETT_LOG_ERROR, [SETT_CHECK_WARNING] = SETT_LOG_WARNING, [SETT_CHECK_COST] = SETT_LOG_INFO};
    char text[4200], kind[40];
    if (to->fn) {
        to->fn(to->user, f);
        return;
    }
    snprintf(kind, sizeof kind, "%s: ", kinds[f->kind]);
    const char *at = strstr(f->text, kind);
    snprintf(text, sizeof text, "%.*s%s: %s", at ? (int)(at - f->text) : 0, f->text, levels[f->level], at ? at : f->text);
    sett__say_whole(to->log, level[f->level], "check", text);
}

/* One at a time: who listens may call sett. What a launch has seen happen since is not said again. */
void sett__findings_say_rest(const sett__listener *to)
{
    sett__kept *k;
    do {
        pthread_mutex_lock(&lock);
        for (k = first; k && !(k->unsaid && !k->stale);)
            k = k->next;
        if (k)
            k->unsaid = false;
        pthread_mutex_unlock(&lock);
        if (k)
            say(to, &k->is);
    } while (k);
}

void sett__findings_sum(const sett__listener *to)
{
    static uint64_t said; /* findings that the last line counted */
    static const sett_check_level order[] = {SETT_CHECK_ERROR, SETT_CHECK_WARNING, SETT_CHECK_COST};
    char text[160];
    sett__sink line = {.buf = text, .cap = sizeof text};
    uint64_t n[SETT__COUNT(levels)] = {0}, all = 0;
    pthread_mutex_lock(&lock);
    for (const sett__kept *k = first; k; k = k->next)
        if (!k->stale && !k->reason)
            n[k->is.level]++, all++;
    const bool fresh = all != said && all;
    said = all;
    pthread_mutex_unlock(&lock);
    if (!fresh || to->fn)
        return;
    for (size_t i = 0; i < SETT__COUNT(order); i++)
        if (n[order[i]])
            sett__putf(&line, "%s%llu %s%s", line.len ? ", " : "sett: ", (unsigned long long)n[order[i]], levels[order[i]], n[order[i]] > 1 ? "s" : "");
    sett__put(&line, " (docs/checking.md#KIND has a section for each kind)");
    sett__say_whole(to->log, SETT_LOG_INFO, "check", text);
}

bool sett__finding_tell(const sett__listener *to, const sett_finding *f)
{
    char function[SETT_CHECK_SITES][200];
    sett_finding plain = *f;
    if (f->level != SETT_CHECK_ERROR && to->checks == SETT_CHECKS_ERRORS)
        return false;
    for (int i = 0; i < f->n_site; i++) {
        const char *name = f->site[i].function, *end = strstr(name, SETT__RACE_OK);
        snprintf(function[i], sizeof *function, "%.*s", end ? (int)(end - name) : (int)sizeof *function - 1, name);
        plain.site[i].function = function[i];
    }
    const char *reason = sett__suppressed(f);
    const bool later = to->later && !to->fn && !reason && f->level != SETT_CHECK_ERROR;
    if (keep(&plain, reason, to->told, later) && !reason && !later)
        say(to, &plain);
    return !reason;
}
