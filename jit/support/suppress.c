/* SPDX-License-Identifier: Apache-2.0 */
/* Findings that are known: by sett_race_ok around an access, which is in the function of its site, and by a file for code that nobody
 * wants to change. A line of it is "FILE:FUNCTION KIND REASON"; * stands for any function, or any kind; # begins a comment. */
#include "support.h"
#include <errno.h>
#include <stdlib.h>

typedef struct known {
    struct known *next;
    bool by_file, needed, told;
    const char *file, *function, *kind, *reason; /* of a sett_race_ok no function and kind */
    int line; /* of the sett_race_ok, or of the file */
    char text[];
} known;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static known *first, **last = &first;
static bool was_read;

/* ---- sett_race_ok ------------------------------------------------------------------------------------------------- */
/* What is behind the function: its line and reason. False: the site is in none. */
static bool race_ok_of(const char *function, int *line, const char **reason)
{
    const char *at = strstr(function, SETT__RACE_OK);
    char *end;
    if (!at)
        return false;
    *line = (int)strtol(at + strlen(SETT__RACE_OK), &end, 10);
    *reason = end + strspn(end, ": ");
    return true;
}

static known *find_race_ok(const char *file, int line)
{
    known *k = first;
    while (k && (k->by_file || k->line != line || strcmp(k->file, file)))
        k = k->next;
    return k;
}

/* NULL: no memory. */
static known *add(const char *file, int line, const char *reason)
{
    const size_t bytes = strlen(file) + 1, more = strlen(reason) + 1;
    known *k = malloc(sizeof *k + bytes + more);
    if (!k)
        return NULL;
    *k = (known){.line = line};
    k->file = memcpy(k->text, file, bytes);
    k->reason = memcpy(k->text + bytes, reason, more);
    *last = k;
    last = &k->next;
    return k;
}

void sett__suppress_seen(const char *file, const char *function)
{
    int line;
    const char *reason;
    if (!race_ok_of(function, &line, &reason))
        return;
    pthread_mutex_lock(&lock);
    if (!find_race_ok(file, line))
        add(file, line, reason);
    pthread_mutex_unlock(&lock);
}

static bool is_race(sett_check_kind k)
{
    return k == SETT_CHECK_RACE || k == SETT_CHECK_ORDER || k == SETT_CHECK_PROXY_FENCE || k == SETT_CHECK_PROXY_FENCE_SIDE || k == SETT_CHECK_PDL;
}

static known *by_source(const sett_finding *f)
{
    int line;
    const char *reason;
    for (int i = 0; i < f->n_site && i < 2 && is_race(f->kind); i++)
        if (race_ok_of(f->site[i].function, &line, &reason)) {
            known *k = find_race_ok(f->site[i].file, line);
            return k ? k : add(f->site[i].file, line, reason);
        }
    return NULL;
}

/* ---- the file --------------------------------------------------------------------------------------------------------- */
/* Is it the end of a path, from a folder on? */
static bool ends_path(const char *path, const char *end)
{
    const size_t n = strlen(path), m = strlen(end);
    return m <= n && !strcmp(path + n - m, end) && (m == n || path[n - m - 1] == '/');
}

static bool is_function(const char *site, const char *function)
{
    const char *end = strstr(site, SETT__RACE_OK);
    const size_t n = end ? (size_t)(end - site) : strlen(site);
    return !strcmp(function, "*") || (strlen(function) == n && !strncmp(site, function, n));
}

static known *by_file(const sett_finding *f)
{
    for (known *k = first; k; k = k->next)
        for (int i = 0; i < f->n_site && i < 2 && k->by_file; i++)
            if ((!strcmp(k->kind, "*") || !strcmp(k->kind, sett_check_kind_name(f->kind))) && ends_path(f->site[i].file, k->file) &&
                is_function(f->site[i].function, k->function))
                return k;
    return NULL;
}

const char *sett__suppressed(const sett_finding *f)
{
    pthread_mutex_lock(&lock);
    known *k = by_source(f);
    k = k ? k : by_file(f);
    if (k)
        k->needed = true;
    pthread_mutex_unlock(&lock);
    return k ? k->reason : NULL;
}

static bool is_kind(const char *name)
{
    bool is = !strcmp(name, "*");
    for (int k = 0; !is && sett_check_kind_name((sett_check_kind)k); k++)
        is = !strcmp(name, sett_check_kind_name((sett_check_kind)k));
    return is;
}

/* The next word of a line, which is cut off. "": there is none. */
static char *word(char **at)
{
    char *from = *at + strspn(*at, " \t");
    *at = from + strcspn(from, " \t");
    if (**at)
        *(*at)++ = 0;
    return from;
}

/* kept: a suppression points into the text. */
static sett_status read_line(const char *path, char *text, int line, bool *kept, sett_error *err)
{
    char *at = text, *file = word(&at), *kind, *function;
    *kept = false;
    if (!*file || *file == '#')
        return SETT_OK;
    function = strrchr(file, ':');
    kind = word(&at);
    at += strspn(at, " \t");
    if (!function || function == file || !function[1])
        return sett__error(err, SETT_E_PARSE, "%.200s:%d: a line is FILE:FUNCTION KIND REASON, and %.60s is no FILE:FUNCTION", path, line, file);
    if (!is_kind(kind))
        return sett__error(err, SETT_E_PARSE, "%.200s:%d: \"%.40s\" is no kind of a finding, such as race or *", path, line, kind);
    if (!*at)
        return sett__error(err, SETT_E_PARSE, "%.200s:%d: a suppression needs a reason", path, line);
    *function++ = 0;
    known *k = add(file, line, at);
    if (!k)
        return sett__error(err, SETT_E_MEMORY, "no memory for the suppressions of %.200s", path);
    k->by_file = true;
    k->function = function;
    k->kind = kind;
    *kept = true;
    return SETT_OK;
}

static sett_status read_file(const char *path, sett_error *err)
{
    char *text = NULL;
    size_t room = 0;
    int line = 0;
    bool kept;
    FILE *f = fopen(path, "re");
    sett_status s = f ? SETT_OK : sett__error(err, SETT_E_IO, "SETT_CHECK_SUPPRESS: %.300s: %s", path, strerror(errno));
    while (!s && getline(&text, &room, f) > 0) {
        text[strcspn(text, "\r\n")] = 0;
        s = read_line(path, text, ++line, &kept, err);
        if (kept)
            text = NULL, room = 0;
    }
    free(text);
    if (f)
        fclose(f);
    return s;
}

sett_status sett__suppress_open(sett_error *err)
{
    const char *path = sett__environment_text("SETT_CHECK_SUPPRESS");
    pthread_mutex_lock(&lock);
    sett_status s = path && !was_read ? read_file(path, err) : SETT_OK;
    was_read |= path && !s;
    pthread_mutex_unlock(&lock);
    return s;
}

/* ---- what nothing needs --------------------------------------------------------------------------------------------------- */
static known *next_unneeded(void)
{
    pthread_mutex_lock(&lock);
    known *k = first;
    while (k && (k->needed || k->told))
        k = k->next;
    if (k)
        k->told = true;
    pthread_mutex_unlock(&lock);
    return k;
}

void sett__suppress_unneeded(const sett__listener *to)
{
    char text[1000];
    for (const known *k = next_unneeded(); k; k = next_unneeded()) {
        const char *path = k->by_file ? sett__environment_text("SETT_CHECK_SUPPRESS") : k->file;
        sett_finding f = {.kind = SETT_CHECK_SUPPRESSION, .level = SETT_CHECK_WARNING, .text = text, .kernel = "", .count = 1, .n_site = 1,
            .site = {{path ? path : k->file, "", k->line, SETT_CHECK_ROLE_USE}}};
        snprintf(text, sizeof text, "%.400s:%d: suppression: no finding needed %s \"%.300s\"", f.site[0].file, k->line,
            k->by_file ? "this line," : "this sett_race_ok,", k->reason);
        sett__finding_tell(to, &f);
    }
}
