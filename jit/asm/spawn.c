/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program the careful way: no shell, a fixed environment, its output through one pipe. */
#include "asm.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT_LIMIT ((size_t)4 << 20)

void sett__text_add(sett__text *t, const char *bytes, size_t len)
{
    if (t->failed || t->len + len >= TEXT_LIMIT)
        return;
    if (t->len + len + 1 > t->cap) {
        size_t cap = (t->len + len + 1) * 2;
        char *at = realloc(t->at, cap);
        if (!at) {
            t->failed = true;
            return;
        }
        t->at = at;
        t->cap = cap;
    }
    memcpy(t->at + t->len, bytes, len);
    t->len += len;
    t->at[t->len] = 0;
}

/* The child starts with no blocked and no ignored signals, whatever the host program did. */
static int set_attributes(posix_spawnattr_t *attr)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    sigdelset(&all, SIGKILL);
    sigdelset(&all, SIGSTOP);
    int err = posix_spawnattr_setsigmask(attr, &none);
    if (!err)
        err = posix_spawnattr_setsigdefault(attr, &all);
    return err ? err : posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

static int set_files(posix_spawn_file_actions_t *files, const char *folder, int out)
{
    int err = posix_spawn_file_actions_addopen(files, 0, "/dev/null", O_RDONLY, 0);
    if (!err)
        err = posix_spawn_file_actions_adddup2(files, out, 1);
    if (!err)
        err = posix_spawn_file_actions_adddup2(files, out, 2);
    return err ? err : posix_spawn_file_actions_addchdir_np(files, folder);
}

static int start(const char *folder, char *const argv[], int out, pid_t *pid)
{
    char temp[PATH_MAX + 8];
    snprintf(temp, sizeof temp, "TMPDIR=%s", folder);
    char *environment[] = {(char[]){"PATH=/usr/bin:/bin"}, (char[]){"LC_ALL=C"}, temp, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    int err = posix_spawn_file_actions_init(&files);
    if (err)
        return err;
    err = posix_spawnattr_init(&attr);
    if (!err) {
        err = set_files(&files, folder, out);
        if (!err)
            err = set_attributes(&attr);
        if (!err)
            err = posix_spawn(pid, argv[0], &files, &attr, argv, environment);
        posix_spawnattr_destroy(&attr);
    }
    posix_spawn_file_actions_destroy(&files);
    return err;
}

static void collect(int fd, sett__text *out)
{
    char buf[4096];
    ssize_t n;
    while ((n = read(fd, buf, sizeof buf)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0)
            sett__text_add(out, buf, (size_t)n);
}

static int wait_for(pid_t pid)
{
    int status;
    pid_t got;
    do
        got = waitpid(pid, &status, 0);
    while (got < 0 && errno == EINTR);
    if (got != pid)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

sett_status sett__spawn(const char *folder, char *const argv[], sett__text *out, int *status, sett_error *e)
{
    int fd[2];
    if (pipe2(fd, O_CLOEXEC))
        return sett__error(e, SETT_E_IO, "%s: no pipe: %s", argv[0], strerrordesc_np(errno));
    pid_t pid;
    int err = start(folder, argv, fd[1], &pid);
    close(fd[1]);
    if (err) {
        close(fd[0]);
        return sett__error(
            e, err == ENOMEM || err == EAGAIN ? SETT_E_MEMORY : SETT_E_IO, "%s cannot be run: %s", argv[0], strerrordesc_np(err));
    }
    collect(fd[0], out);
    close(fd[0]);
    *status = wait_for(pid);
    return out->failed ? sett__error(e, SETT_E_MEMORY, "%s: out of memory", argv[0]) : SETT_OK;
}
