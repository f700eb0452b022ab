/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program the careful way: no shell, a fixed environment, its output through one pipe, a limit on its time. */
#include "inside.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT_LIMIT ((size_t)4 << 20)
enum { TICK_MS = 20, KILLED_MS = 2000, PIPE_BYTES = 1 << 16 };

/* The child starts with no blocked and no ignored signals, whatever the host program did, and leads a process group, so
 * that what it starts can be ended with it. */
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
    return err ? err : posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
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

typedef struct child {
    pid_t pid;
    int fd; /* its output; -1: at an end */
    bool ended;
    int status; /* once ended */
} child;

/* Where the host program ignores SIGCHLD, or reaps every child, ours is gone without a status. */
static bool ended(child *c)
{
    int status;
    pid_t got = c->ended ? 0 : waitpid(c->pid, &status, WNOHANG);
    if (got == 0 || (got < 0 && errno == EINTR))
        return c->ended;
    c->status = got != c->pid ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return c->ended = true;
}

/* Waits so long for output and takes some of it: its bytes. With the output at an end it only waits. */
static size_t take(child *c, int wait_ms, sett__sink *out)
{
    char buf[4096];
    struct pollfd p = {.fd = c->fd, .events = POLLIN};
    if (poll(&p, 1, wait_ms) <= 0)
        return 0;
    ssize_t n = read(c->fd, buf, sizeof buf);
    if (n > 0) {
        if (out->len + (size_t)n < TEXT_LIMIT)
            sett__put_n(out, buf, (size_t)n);
    } else if (!n || errno != EINTR) {
        close(c->fd);
        c->fd = -1;
    }
    return n > 0 ? (size_t)n : 0;
}

/* Until it has ended: not until its output has, which a process that it left behind may hold for ever, or go on
 * filling; so of that only what can still be in the pipe. false: the time is over and it runs. */
static bool follow(child *c, int limit_ms, sett__sink *out)
{
    double until = sett__now_ms() + limit_ms;
    while (!ended(c)) {
        if (sett__now_ms() >= until)
            return false;
        take(c, c->fd < 0 ? 1 : TICK_MS, out);
    }
    for (size_t n = 1, all = 0; n && c->fd >= 0 && all < PIPE_BYTES; all += n)
        n = take(c, 0, out);
    return true;
}

/* It ran just now, so its number is still its own. One that cannot even be killed (a dead file server) is left. */
static void end_group(child *c)
{
    kill(-c->pid, SIGKILL);
    for (int i = 0; i < KILLED_MS && !ended(c); i++)
        poll(NULL, 0, 1);
}

sett_status sett__spawn(
    const char *folder, char *const argv[], int limit_ms, sett__sink *out, int *status, sett_error *e)
{
    int fd[2];
    if (pipe2(fd, O_CLOEXEC))
        return sett__error(e, SETT_E_IO, "%s: no pipe: %s", argv[0], strerrordesc_np(errno));
    child c = {.fd = fd[0], .status = -1};
    int err = start(folder, argv, fd[1], &c.pid);
    close(fd[1]);
    if (err) {
        close(fd[0]);
        return sett__error(
            e, err == ENOMEM || err == EAGAIN ? SETT_E_MEMORY : SETT_E_IO, "%s cannot be run: %s", argv[0], strerrordesc_np(err));
    }
    bool in_time = follow(&c, limit_ms, out);
    if (!in_time)
        end_group(&c);
    if (c.fd >= 0)
        close(c.fd);
    *status = c.status;
    if (!in_time)
        return sett__error(e, SETT_E_ASSEMBLE,
            "%s had not ended after %d ms and was killed (.compile_timeout_ms and $SETT_JIT_TIMEOUT_MS set the limit)",
            argv[0], limit_ms);
    return out->failed ? sett__error(e, SETT_E_MEMORY, "%s: out of memory", argv[0]) : SETT_OK;
}
