/* SPDX-License-Identifier: Apache-2.0 */
/* Lines where the systems disagree, or that only one of them accepts, are no test of what is right; but what we give is
 * written down beside them, with who agrees, so that it is known and stays known:
 *
 *     X.tsv, X.answers: op, inputs..., our answer, who gives the same
 *
 * golden -a X.tsv prints the second file. */
#include "tests/golden/golden.h"
#include <stdlib.h>
#include <string.h>

/* The line of the answers that begins with the key; behind it what is written there. NULL: none. */
static const char *written(const char *file, const char *key, char *buf, size_t size)
{
    char path[4096];
    const char *found = NULL;
    snprintf(path, sizeof path, "%.*s.answers", (int)(strlen(file) - strlen(".tsv")), file);
    FILE *f = fopen(path, "r");
    while (f && !found && fgets(buf, (int)size, f)) {
        buf[strcspn(buf, "\r\n")] = 0;
        found = strncmp(buf, key, strlen(key)) ? NULL : buf + strlen(key);
    }
    if (f)
        fclose(f);
    return found;
}

static bool has_answers(const char *file)
{
    char path[4096];
    snprintf(path, sizeof path, "%.*s.answers", (int)(strlen(file) - strlen(".tsv")), file);
    FILE *f = fopen(path, "r");
    if (f)
        fclose(f);
    return f != NULL;
}

void golden_answer(tally *t, const char *file, int line, char **field, int n, const char *got, const char *who)
{
    static char buf[TEXT], want[TEXT], key[TEXT];
    size_t at = 0;
    key[0] = 0;
    for (int i = 0; i < n; i++)
        at += (size_t)snprintf(key + at, sizeof key - at, "%s\t", field[i]);
    snprintf(want, sizeof want, "%s\t%s", got, who);
    if (t->print_answers) {
        printf("%s%s\n", key, want);
        return;
    }
    if (!has_answers(file)) { /* a folder from elsewhere: told, not judged */
        golden_aside(t, "the systems disagree, and no answers are written beside the file");
        if (!t->quiet)
            printf("%s%s\n", key, want);
        return;
    }
    const char *is = written(file, key, buf, sizeof buf);
    golden_verdict(t, is && !strcmp(is, want), file, line, field, n, is ? want : "no line in the answers");
}

/* The function and the reason's word of a text; what stands behind may be said better one day. */
void golden_refusal(const char *what, const char *text, char *got, size_t size)
{
    const char *place = "golden:1: ", *from = strncmp(text, place, strlen(place)) ? text : text + strlen(place);
    const char *end = strchr(from, ':');
    end = end ? strchr(end + 1, ':') : NULL;
    snprintf(got, size, "%s %.*s", what, end ? (int)(end - from) : (int)strlen(from), from);
}
