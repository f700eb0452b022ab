/* SPDX-License-Identifier: Apache-2.0 */
/* A process of the sett command that records or compiles for this one: started, heard, ended. */
#include "inside.h"
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

sett_status sett__warm_command_make(const sett_engine *e, const sett_warm_options *o, const char *folder, const char *manifest,
    sett__warm_command **out, sett_error *err)
{
    sett__warm_command *c = *out = malloc(sizeof *c);
    if (!c)
        return sett__error(err, SETT_E_MEMORY, "no memory for a message");
    bool found = o->command ? (size_t)snprintf(c->path, sizeof c->path, "%s", o->command) < sizeof c->path
                            : sett__beside("sett", c->path, sizeof c->path) ||
                                  sett__beside("../bin/sett", c->path, sizeof c->path);
    c->len = found ? sett__warm_hello(e, folder, manifest, c->hello) : 0;
    if (c->len)
        return SETT_OK;
    free(c);
    *out = NULL;
    return found ? sett__error(err, SETT_E_LIMIT, "the engine's options are too long")
                 : sett__error(err, SETT_E_IO, "the sett command is not beside libsett.so, nor in ../bin from there: set .command");
}

/* No blocked and no ignored signals, whatever the program did. Its output, which a body may write, goes to our errors.
 */
static int spawn(const char *command, int fd, pid_t *pid)
{
    char *const argv[] = {(char *)(uintptr_t)command, (char[]){"warm"}, (char[]){"--worker"}, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int err = posix_spawn_file_actions_init(&files);
    if (err)
        return err;
    err = posix_spawnattr_init(&attr);
    if (!err) {
        err = posix_spawn_file_actions_adddup2(&files, fd, 0);
        if (!err)
            err = posix_spawn_file_actions_adddup2(&files, 2, 1);
        posix_spawnattr_setsigmask(&attr, &none);
        posix_spawnattr_setsigdefault(&attr, &all);
        posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        if (!err)
            err = posix_spawn(pid, command, &files, &attr, argv, environ);
        posix_spawnattr_destroy(&attr);
    }
    posix_spawn_file_actions_destroy(&files);
    return err;
}

sett_status sett__warm_start(const sett__warm_command *c, sett__warm_process *p, sett_error *err)
{
    int fd[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd))
        return sett__error(err, SETT_E_IO, "no socket: %s", strerror(errno));
    int bad = spawn(c->path, fd[1], &p->pid);
    close(fd[1]);
    if (bad) {
        close(fd[0]);
        p->pid = 0;
        return sett__error(err, SETT_E_IO, "%s cannot be run: %s", c->path, strerror(bad));
    }
    p->fd = fd[0];
    send(p->fd, c->hello, c->len, MSG_NOSIGNAL); /* where it fails, so does reading the answer */
    return SETT_OK;
}

int sett__warm_hear(const sett_engine *e, const sett__warm_process *p, sett__warm_reply *reply, char text[SETT__WARM_REPLY_TEXT])
{
    char in[sizeof *reply + SETT__WARM_REPLY_TEXT];
    ssize_t n = recv(p->fd, in, sizeof in - 2, 0);
    if (n < (ssize_t)sizeof *reply)
        return n < 0 && errno == EINTR ? 0 : -1;
    in[n] = in[n + 1] = 0;
    memcpy(reply, in, sizeof *reply);
    memcpy(text, in + sizeof *reply, (size_t)n - sizeof *reply + 2);
    if (reply->what != SETT__WARM_LOG)
        return 1;
    if (e->opt.log)
        e->opt.log(e->opt.user, (sett_log_level)reply->status, text, text + strlen(text) + 1);
    return 0;
}

bool sett__warm_send(const sett__warm_process *p, const sett__warm_item *it, bool keyed)
{
    sett__warm_job j = {.block = it->block, .point = it->point, .index = it->index, .keyed = keyed};
    memcpy(j.target, it->target, sizeof j.target);
    return send(p->fd, &j, sizeof j, MSG_NOSIGNAL) == (ssize_t)sizeof j;
}

/* Where the program reaps every child itself, the status is not known. */
void sett__warm_end(sett__warm_process *p, char why[64])
{
    int status, got;
    close(p->fd);
    while ((got = waitpid(p->pid, &status, 0)) < 0 && errno == EINTR)
        ;
    if (got == p->pid && WIFSIGNALED(status))
        snprintf(why, 64, "signal %d (%s)", WTERMSIG(status),
            sigdescr_np(WTERMSIG(status)) ? sigdescr_np(WTERMSIG(status)) : "?");
    else if (got == p->pid)
        snprintf(why, 64, "exit code %d", WEXITSTATUS(status));
    else
        snprintf(why, 64, "status not known");
    p->pid = 0;
}
