/* SPDX-License-Identifier: Apache-2.0 */
/* A body or a tape that is refused when it is compiled, for a reason that the checker would find in a run: it is a finding too. Kind and
 * lines are read from the message, as who refuses knows no launch. */
#include "inside.h"
#include <stdlib.h>

/* The first word that the message has decides. */
static const struct {
    const char *word;
    sett_check_kind kind;
} words[] = {
    {"in flight", SETT_CHECK_RACE}, {"used since the last", SETT_CHECK_RACE}, {"block could end while", SETT_CHECK_LIFETIME}, {"swizzle", SETT_CHECK_SWIZZLE},
    {"setmaxnreg", SETT_CHECK_REGISTERS}, {"registers of a thread", SETT_CHECK_REGISTERS}, {"fence.proxy", SETT_CHECK_PROXY_FENCE},
    {"fence_proxy", SETT_CHECK_PROXY_FENCE}, {"parity", SETT_CHECK_BARRIER_COUNT}, {"barrier", SETT_CHECK_BARRIER_COUNT},
    {"not all threads", SETT_CHECK_DIVERGENCE}, {"all threads of", SETT_CHECK_DIVERGENCE},
};

/* False: it is no mistake that a run would show. */
static bool kind_of(sett_status s, const char *text, sett_check_kind *kind)
{
    for (size_t i = 0; i < SETT__COUNT(words); i++)
        if (strstr(text, words[i].word)) {
            *kind = words[i].kind;
            return true;
        }
    *kind = s == SETT_E_ALIGN ? SETT_CHECK_ALIGN : SETT_CHECK_BOUNDS;
    return s == SETT_E_ALIGN || s == SETT_E_RANGE;
}

/* "gemm.c:91" among the words of a message, from `at` on; its file is copied to `file`. NULL: there is no more. */
static const char *next_site(const char *at, char *file, size_t size, int *line)
{
    while (*(at += strspn(at, " \n"))) {
        const size_t len = strcspn(at, " \n");
        const char *colon = memchr(at, ':', len), *word = at;
        at += len;
        const char *name = colon ? memchr(word, '@', (size_t)(colon - word)) : NULL;
        if (name)
            word = name + 1; /* smem@gemm.c:12 */
        const long n = colon && colon > word && colon[1] >= '1' && colon[1] <= '9' ? strtol(colon + 1, NULL, 10) : 0;
        if (n < 1 || n > INT32_MAX || !memchr(word, '.', (size_t)(colon - word)) || (size_t)(colon - word) >= size)
            continue;
        memcpy(file, word, (size_t)(colon - word));
        file[colon - word] = 0;
        *line = (int)n;
        return at;
    }
    return NULL;
}

/* Memory is named by the last part of its file's path: mostly the file of the first site. */
static bool is_end_of(const char *path, const char *file)
{
    const size_t n = strlen(path), m = strlen(file);
    return n > m && path[n - m - 1] == '/' && !strcmp(path + n - m, file);
}

void sett__refusal_told(sett_engine *e, const char *name, bool cpu, sett_status s, const sett_error *err)
{
    char file[SETT_CHECK_SITES][200], text[sizeof err->text + 200];
    sett_finding f = {.level = SETT_CHECK_ERROR, .text = text, .kernel = name, .count = 1};
    const char *at = err->text;
    int line;
    if (!cpu || e->opt.checks <= SETT_CHECKS_OFF || (s != SETT_E_VERIFY && s >= SETT_E_NO_DEVICE) || !kind_of(s, err->text, &f.kind))
        return;
    while (f.n_site < SETT_CHECK_SITES && (at = next_site(at, file[f.n_site], sizeof *file, &line))) {
        bool there = false;
        if (f.n_site && is_end_of(f.site[0].file, file[f.n_site]))
            memcpy(file[f.n_site], file[0], sizeof *file);
        for (int i = 0; i < f.n_site; i++)
            there |= f.site[i].line == line && !strcmp(f.site[i].file, file[f.n_site]);
        if (!there)
            f.site[f.n_site] = (sett_check_site){file[f.n_site], "", line, SETT_CHECK_ROLE_USE}, f.n_site++;
    }
    if (!f.n_site)
        return;
    const size_t head = strlen(f.site[0].file) + 1 + strcspn(err->text + strlen(f.site[0].file) + 1, ":") + 1;
    const bool leads = !strncmp(err->text, f.site[0].file, strlen(f.site[0].file)) && head < strlen(err->text);
    snprintf(text, sizeof text, "%s:%d: %s: refused when compiled:%s%s", f.site[0].file, f.site[0].line, sett_check_kind_name(f.kind), leads ? "" : " ",
        leads ? err->text + head : err->text);
    sett__finding_tell(&e->runtime->finding, &f);
    sett__findings_told(&e->runtime->finding);
}
