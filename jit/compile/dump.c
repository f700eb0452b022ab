/* SPDX-License-Identifier: Apache-2.0 */
/* $SETT_DUMP: what kernels pass through, as files that can be read, compared and compiled again. */
#include "compile.h"
#include <errno.h>
#include <fcntl.h>
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

/* A folder that cannot be made is a warning, as a file that cannot be written. */
sett_status sett__dump_open(sett_engine *e, sett_error *err)
{
    const char *text = sett__environment_text("SETT_DUMP"), *at = text;
    if (!text)
        return SETT_OK;
    size_t words = strcspn(at, ":");
    const char *folder = at[words] ? at + words + 1 : ".";
    for (size_t n; (n = strcspn(at, ",:")), true; at += n + 1) {
        unsigned kind = kind_of(at, n);
        if (!kind)
            return sett__environment_bad(err, "SETT_DUMP", text, "tape, llvm, ptx, cubin or all, with commas between, and :FOLDER behind them");
        e->dump |= kind;
        if (at[n] != ',')
            break;
    }
    if (snprintf(e->dump_to, sizeof e->dump_to, "%s", folder) >= (int)sizeof e->dump_to)
        return sett__error(err, SETT_E_ARGUMENT, "SETT_DUMP in the environment: its folder's name is longer than %zu bytes", sizeof e->dump_to - 1);
    if (mkdir(e->dump_to, 0777) && errno != EEXIST)
        sett__log(e, SETT_LOG_WARNING, "dump", "SETT_DUMP: %s cannot be made: %s", e->dump_to, strerror(errno));
    return SETT_OK;
}

/* A dump's name can be told ahead, so a link that lies there is not followed and a FIFO not waited on. What could not be written
 * whole is removed. */
static void write_file(const sett_engine *e, const char *path, const void *data, size_t len)
{
    struct stat st = {0};
    int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
    const char *why = fd < 0 && errno == ELOOP     ? "it is a symbolic link"
                      : fd < 0 || fstat(fd, &st) ? strerror(errno)
                      : !S_ISREG(st.st_mode)     ? "it is no regular file"
                                                 : NULL;
    if (!why) {
        bool ok = !ftruncate(fd, 0);
        for (size_t at = 0; ok && at < len;) {
            ssize_t n = write(fd, (const char *)data + at, len - at);
            ok = n > 0 || (n < 0 && errno == EINTR);
            at += n > 0 ? (size_t)n : 0;
        }
        why = ok ? NULL : strerror(errno);
    }
    if (fd >= 0 && close(fd) && !why)
        why = strerror(errno);
    if (why && S_ISREG(st.st_mode))
        unlink(path);
    if (why)
        sett__log(e, SETT_LOG_WARNING, "dump", "%s: %s", path, why);
}

/* No failure of a dump is one of the compile. */
void sett__dump_write(const sett_engine *e, sett__dump_kind kind, const char *name, const sett__digest *key, const void *data,
    size_t len)
{
    char path[sizeof e->dump_to + 200], digits[65];
    const char *suffix = "";
    if (!(e->dump & kind) || !data || !len)
        return;
    sett__hex_write(key->b, digits);
    for (size_t i = 0; i < SETT__COUNT(kinds); i++)
        suffix = kinds[i].kind == kind ? kinds[i].suffix : suffix;
    snprintf(path, sizeof path, "%s/%.128s-%.16s.%s", e->dump_to, name, digits, suffix);
    write_file(e, path, data, len);
}

void sett__dump_tape(const sett_engine *e, const char *name, const sett__digest *key, const sett__tape *tape)
{
    char *text;
    if (!(e->dump & SETT__DUMP_TAPE) || sett__tape_print(tape, true, NULL, &text, NULL))
        return;
    sett__dump_write(e, SETT__DUMP_TAPE, name, key, text, strlen(text));
    free(text);
}
