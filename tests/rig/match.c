/* SPDX-License-Identifier: Apache-2.0 */
/* Ordered matching of generated text, for tests: see match.h. */
#include "tests/rig/match.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Does the pattern stand at `at`? Blanks match any run of blanks, `{{*}}` anything up to the
 * line's end, the shortest first. */
static int here(const char *pattern, size_t n, const char *at)
{
    for (; n; pattern++, n--) {
        if (n >= 5 && !strncmp(pattern, "{{*}}", 5)) {
            for (;; at++) {
                if (here(pattern + 5, n - 5, at))
                    return 1;
                if (!*at || *at == '\n')
                    return 0;
            }
        }
        if (*pattern == ' ' || *pattern == '\t') {
            if (*at != ' ' && *at != '\t')
                return 0;
            at += strspn(at, " \t");
            while (n > 1 && (pattern[1] == ' ' || pattern[1] == '\t'))
                pattern++, n--;
        } else if (*pattern != *at++) {
            return 0;
        }
    }
    return 1;
}

/* The first place in [text, end) where the pattern stands; end NULL: to the text's end. */
static const char *find(const char *text, const char *end, const char *pattern, size_t n)
{
    for (; *text && text != end; text++)
        if (here(pattern, n, text))
            return text;
    return NULL;
}

static char *complaint(const char *what, const char *line, size_t n, const char *from)
{
    size_t rest = strlen(from);
    rest = rest > 400 ? 400 : rest;
    char *text = malloc(n + rest + 200);
    if (text)
        sprintf(text, "%s: %.*s\nlooking from here:\n%.*s", what, (int)n, line, (int)rest, from);
    return text;
}

typedef struct forbidden {
    const char *pattern;
    size_t n;
} forbidden;

static char *check_forbidden(const forbidden *no, int count, const char *from, const char *end)
{
    for (int i = 0; i < count; i++) {
        const char *at = find(from, end, no[i].pattern, no[i].n);
        if (at)
            return complaint("found, but must not be there", no[i].pattern, no[i].n, at);
    }
    return NULL;
}

char *match(const char *text, const char *checks)
{
    forbidden no[16];
    int count = 0, lines = 0;
    const char *from = text;
    for (const char *line = checks; *line;) {
        size_t n = strcspn(line, "\n");
        const char *end = line + n, *pattern = line + strspn(line, " \t");
        int is_check = !strncmp(pattern, "CHECK:", 6), is_not = !strncmp(pattern, "NOT:", 4);
        if (is_check || is_not) {
            pattern += is_check ? 6 : 4;
            pattern += strspn(pattern, " \t");
            lines++;
        }
        if (is_not && count == 16)
            return complaint("more than 16 NOT lines together", pattern, (size_t)(end - pattern), from);
        if (is_not)
            no[count++] = (forbidden){pattern, (size_t)(end - pattern)};
        if (is_check) {
            const char *at = find(from, NULL, pattern, (size_t)(end - pattern));
            if (!at)
                return complaint("not found", pattern, (size_t)(end - pattern), from);
            char *bad = check_forbidden(no, count, from, at);
            if (bad)
                return bad;
            count = 0;
            from = at + 1;
        }
        line = *end ? end + 1 : end;
    }
    if (!lines)
        return complaint("no CHECK: line", "", 0, checks);
    return check_forbidden(no, count, from, NULL);
}

int count_in(const char *text, const char *what)
{
    int n = 0;
    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
        n++;
    return n;
}
