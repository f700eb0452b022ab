/* SPDX-License-Identifier: Apache-2.0 */
/* L: the unmodified command on a cache, its calls to the C library failing under it (tests/fake/preload.c). */
#include "tests/fault/fault.h"
#include "tests/rig/folder.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KERNELS = 3, LIMIT_S = 60, WORDS = 12 };
static const char *const names[] = {"openat", "close", "fstat", "fstatat", "pread", "pwrite", "fdatasync", "fchmod", "fchmodat", "mkdirat", "unlinkat",
    "renameat2", "linkat", "fdopendir", "readdir", "mmap", "fcntl"};
static const int errors[] = {EIO, ENOSPC, EDQUOT, EROFS, EINTR, ESTALE, ENOMEM, 0 /* short */};

static char command[4096], shim[4096], cache[300], out[300];
/* $C: the cache, $O: a file beside it. */
static const struct {
    const char *words[WORDS];
    bool damaged, cold;
} runs[] = {{{"cache", "verify", "--cache-dir", "$C"}, false, false}, {{"cache", "ls", "--cache-dir", "$C"}, true, false},
    {{"cache", "trim", "1K", "--cache-dir", "$C"}, false, false}, {{"cache", "pack", "-o", "$O", "--cache-dir", "$C"}, false, false},
    {{"compile", "saxpy", "--target", "sm_90a", "--cache-dir", "$C"}, false, false},
    {{"compile", "saxpy", "--target", "sm_90a", "--cache-dir", "$C"}, true, false},
    {{"compile", "saxpy", "--target", "sm_90a", "--cache-dir", "$C"}, false, true}};

/* Its exit status as waitpid has it; *seen: how many such calls there were. */
static int run(size_t which, const char *plan_text, long *seen)
{
    const char *words[WORDS + 2] = {command};
    int status = -1, counted[2];
    char text[32] = "";
    for (int i = 0; i < WORDS && runs[which].words[i]; i++) {
        const char *w = runs[which].words[i];
        words[i + 1] = !strcmp(w, "$C") ? cache : !strcmp(w, "$O") ? out : w;
    }
    fflush(NULL);
    if (pipe(counted))
        return -1;
    pid_t id = fork();
    if (!id) {
        dup2(counted[1], 3);
        if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
            _exit(98);
        if (plan_text)
            setenv("LD_PRELOAD", shim, 1), setenv("SETT_SHIM", plan_text, 1);
        limit_cpu(LIMIT_S); /* it outlives exec; what waits for ever, the watcher kills */
        execv(command, (char *const *)(uintptr_t)words);
        _exit(98);
    }
    close(counted[1]);
    waitpid(id, &status, 0);
    if (seen)
        *seen = read(counted[0], text, sizeof text - 1) > 0 ? strtol(text, NULL, 10) : 0;
    close(counted[0]);
    return status;
}

static void copy_tree(const char *from, const char *to)
{
    char line[700];
    folder_remove(to);
    snprintf(line, sizeof line, "cp -a %s %s", from, to);
    if (system(line))
        complain("%s", line);
}

static void damage(const char *folder)
{
    char line[700];
    snprintf(line, sizeof line, "find %s/v1 -name '*.sett' -exec truncate -s 600 {} +", folder);
    if (system(line))
        complain("%s", line);
}

static void set(size_t which)
{
    unlink(out);
    if (runs[which].cold)
        folder_remove(cache);
    else
        copy_tree(in_root("template"), cache);
    if (runs[which].damaged)
        damage(cache);
}

/* 0 to 3, or 5: what docs/sett.1 promises; afterwards the folder can be looked through by the command as it is. */
static long one(size_t which, const char *name, long at, int error, bool for_ever)
{
    char text[80];
    snprintf(text, sizeof text, "%s %ld %d %d", name, at, error, for_ever);
    set(which);
    int status = run(which, text, NULL), code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code < 0 || code > 5 || code == 4)
        return complain("run %zu, %s: status %#x", which, text, status);
    int after = run(1, NULL, NULL);
    return WIFEXITED(after) && WEXITSTATUS(after) <= 1 ? 0 : complain("run %zu, %s: the cache cannot be listed: %#x", which, text, after);
}

static bool beside(const char *name, char *path, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", path, size - 40);
    path[n > 0 ? n : 0] = 0;
    char *slash = strrchr(path, '/');
    if (slash)
        strcpy(slash + 1, name);
    return slash && !access(path, R_OK);
}

long l_command(bool full, char *figures, size_t size)
{
    long bad = 0, tried = 0, turn = 0, total = 0, there = 0;
    size_t n_runs = SETT__COUNT(runs);
    snprintf(cache, sizeof cache, "%s", in_root("cache"));
    snprintf(out, sizeof out, "%s", in_root("out.settpack"));
    if (!beside("sett", command, sizeof command) || !beside("preload.so", shim, sizeof shim)) {
        snprintf(figures, size, "skipped: the command or its shim is not beside this program");
        return 0;
    }
    if (run(n_runs - 1, NULL, NULL)) /* without an assembler no compile is tried, and the kernels are made up */
        n_runs = 4;
    sett_engine *e = engine_with(NULL, 50);
    sett_kernel *k;
    for (int i = 0; i < KERNELS; i++)
        bad += !e || engine_kernel(e, i, &k, NULL) || !kernel_right(k);
    sett_engine_close(e);
    copy_tree(cache, in_root("template"));
    for (size_t which = 0; which < n_runs; which++)
        for (size_t c = 0; c < SETT__COUNT(names); c++) {
            char text[80];
            snprintf(text, sizeof text, "%s 0 0 0", names[c]);
            set(which);
            if (run(which, text, &there) < 0)
                return complain("the command cannot be run");
            total += there;
            for (long at = 1; at <= there; at++)
                for (size_t i = 0; i < 2 * SETT__COUNT(errors) && bad < 20; i++) {
                    if (turn++ % (full ? 7 : 499))
                        continue;
                    bad += one(which, names[c], at, errors[i / 2], i % 2);
                    tried++;
                }
        }
    if (!total)
        bad += complain("the shim saw no call");
    snprintf(figures, size, "%ld errors over %ld calls of %zu kinds in %zu runs of the command", tried, total, SETT__COUNT(names), n_runs);
    return bad;
}
