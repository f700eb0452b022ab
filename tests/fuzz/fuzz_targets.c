/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that fuzzers call: see fuzz.h. */
#include "tests/differ/differ.h"
#include "tests/fuzz/fuzz.h"
#include "tests/law/law.h"
#include <stdlib.h>
#include <string.h>

void fuzz_broken(const char *promise, const char *text)
{
    fprintf(stderr, "%s\n%s\n", promise, text);
    abort();
}

/* ---- layouts ---------------------------------------------------------------------------------- */

/* What is read prints as a text that reads as the same. */
void fuzz_layout_text(const uint8_t *data, size_t len)
{
    static trial t;
    char *text = malloc(len + 1);
    law_from_seed(&t, 0);
    t.b = sett__build_new(NULL, false);
    if (!text || !t.b)
        abort();
    memcpy(text, data, len);
    text[len] = 0;
    sett_arg a = sett_arg_parse(t.b, text);
    if (!sett_build_status(t.b, NULL))
        law_reads_back(&t, a);
    if (t.failed)
        fuzz_broken(t.text, text);
    sett_build_end(t.b, NULL);
    free(text);
}

/* Which law, then its choices: a byte each, or above 239 four more. */
void fuzz_laws(const uint8_t *data, size_t len)
{
    static trial t;
    uint32_t given[LAW_DRAWS];
    int n = 0;
    if (!len)
        return;
    for (size_t i = 1; i < len && n < LAW_DRAWS; n++) {
        given[n] = data[i++];
        if (given[n] >= 240 && i + 4 <= len) {
            memcpy(&given[n], data + i, 4);
            i += 4;
        }
    }
    t = (trial){.given = given, .n_given = n};
    const law *l = &laws[data[0] % n_laws];
    law_run(l, &t);
    if (t.failed)
        fuzz_broken(l->name, t.text);
}

/* ---- tapes that run --------------------------------------------------------------------------- */

void fuzz_tape_runs(const uint8_t *data, size_t len)
{
    static tape_case c;
    static char text[CASE_TEXT];
    char why[1024];
    draw d = {.data = data, .len = len};
    c.seed = len;
    case_generate(&c, &d);
    if (case_check(&c, why, sizeof why) == VERDICT_SAME || !strcmp(why, "too long"))
        return;
    case_text(&c, text, sizeof text);
    fuzz_broken(why, text);
}
