/* SPDX-License-Identifier: Apache-2.0 */
/* $SETT_DUMP: what kernels pass through, as files that can be read, compared and compiled again. */
#include "jit.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *name, *suffix;
    sett__dump_kind kind;
} kinds[] = {{"tape", "tape", SETT__DUMP_TAPE}, {"llvm", "ll", SETT__DUMP_LLVM}, {"ptx", "ptx", SETT__DUMP_PTX},
    {"cubin", "cubin", SETT__DUMP_CUBIN}};

static unsigned kind_of(const char *word, size_t len)
{
    for (size_t i = 0; i < SETT__COUNT(kinds); i++)
        if (strlen(kinds[i].name) == len && !memcmp(kinds[i].name, word, len))
            return kinds[i].kind;
    return len == 3 && !memcmp(word, "all", 3) ? SETT__DUMP_TAPE | SETT__DUMP_LLVM | SETT__DUMP_PTX | SETT__DUMP_CUBIN : 0;
}

void sett__dump_open(sett_engine *e)
{
    const char *at = secure_getenv("SETT_DUMP");
    if (!at || !*at)
        return;
    size_t words = strcspn(at, ":");
    const char *folder = at[words] ? at + words + 1 : ".";
    if (snprintf(e->dump_to, sizeof e->dump_to, "%s", folder) >= (int)sizeof e->dump_to) {
        sett__log(e, SETT_LOG_WARNING, "dump", "SETT_DUMP: the folder's name is too long");
        return;
    }
    for (size_t n; (n = strcspn(at, ",:")), true; at += n + 1) {
        unsigned kind = kind_of(at, n);
        if (!kind)
            sett__log(e, SETT_LOG_WARNING, "dump", "SETT_DUMP: \"%.*s\" is none of tape, llvm, ptx, cubin, all", (int)n, at);
        e->dump |= kind;
        if (at[n] != ',')
            break;
    }
    if (e->dump && mkdir(e->dump_to, 0777) && errno != EEXIST)
        sett__log(e, SETT_LOG_WARNING, "dump", "SETT_DUMP: %s cannot be made: %s", e->dump_to, strerror(errno));
}

/* No failure of a dump is one of the compile. */
void sett__dump_write(const sett_engine *e, sett__dump_kind kind, const char *name, const sett__digest *key, const void *data,
    size_t len)
{
    char path[sizeof e->dump_to + 200], digits[17];
    const char *suffix = "";
    if (!(e->dump & kind) || !data || !len)
        return;
    for (int i = 0; i < 8; i++)
        snprintf(digits + 2 * i, 3, "%02x", key->b[i]);
    for (size_t i = 0; i < SETT__COUNT(kinds); i++)
        suffix = kinds[i].kind == kind ? kinds[i].suffix : suffix;
    snprintf(path, sizeof path, "%s/%.128s-%s.%s", e->dump_to, name, digits, suffix);
    FILE *f = fopen(path, "wbe");
    bool ok = f && fwrite(data, 1, len, f) == len;
    if (f)
        ok = !fclose(f) && ok;
    if (!ok)
        sett__log(e, SETT_LOG_WARNING, "dump", "%s: %s", path, strerror(errno));
}

void sett__dump_tape(const sett_engine *e, const char *name, const sett__digest *key, const sett__tape *tape)
{
    char *text;
    if (!(e->dump & SETT__DUMP_TAPE) || sett__tape_print(tape, true, NULL, &text, NULL))
        return;
    sett__dump_write(e, SETT__DUMP_TAPE, name, key, text, strlen(text));
    free(text);
}
