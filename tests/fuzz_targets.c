/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that fuzzers call: see fuzz.h. */
#include "fuzz.h"
#include "law.h"
#include <stdlib.h>
#include <string.h>

static void broken(const char *promise, const char *text)
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
        broken(t.text, text);
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
        broken(l->name, t.text);
}

/* ---- tapes ------------------------------------------------------------------------------------- */

typedef struct bytes {
    void *p;
    size_t len;
} bytes;

static bytes written(const sett__tape *t)
{
    bytes b = {0};
    sett_error e;
    if (sett__tape_write(t, true, NULL, &b.p, &b.len, &e))
        broken("a tape that was read cannot be written", e.text);
    return b;
}

static void same_bytes(const char *promise, bytes a, bytes b, const char *text)
{
    if (a.len != b.len || memcmp(a.p, b.p, a.len))
        broken(promise, text);
}

/* Print, then parse, then write: the bytes are those of the tape itself. */
static void prints_back(const sett__tape *t)
{
    char *text;
    sett_error e;
    sett__tape again;
    if (sett__tape_print(t, true, NULL, &text, &e))
        broken("a tape that was read cannot be printed", e.text);
    if (sett__tape_parse(&again, text, &e))
        broken(e.text, text);
    bytes a = written(t), b = written(&again);
    same_bytes("its text is read as another tape", a, b, text);
    sett__tape_free(&again);
    free(a.p);
    free(b.p);
    free(text);
}

void fuzz_tape_bytes(const uint8_t *data, size_t len)
{
    sett__tape t;
    sett_error e;
    if (!sett__tape_read(&t, data, len, &e)) {
        sett__tape_verify(&t, "sm_90a", &e);
        prints_back(&t);
    }
    sett__tape_free(&t);
}

void fuzz_tape_text(const uint8_t *data, size_t len)
{
    sett__tape t, again;
    sett_error e;
    char *text = malloc(len + 1);
    if (!text)
        abort();
    memcpy(text, data, len);
    text[len] = 0;
    if (!sett__tape_parse(&t, text, &e)) {
        prints_back(&t);
        bytes a = written(&t), b;
        if (sett__tape_read(&again, a.p, a.len, &e))
            broken(e.text, text);
        b = written(&again);
        same_bytes("its bytes are read as another tape", a, b, text);
        sett__tape_free(&again);
        free(a.p);
        free(b.p);
    }
    sett__tape_free(&t);
    free(text);
}
