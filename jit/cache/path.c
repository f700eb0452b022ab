/* SPDX-License-Identifier: Apache-2.0 */
/* A folder by its path, step by step: each step is opened below the one before, looked at, and only then gone through,
 * so that what was checked is what is used. Whoever can rename a folder above the cache can put another in its place;
 * a sticky one (/tmp) protects what is ours below it. A link is followed if it is ours. */
#include "inside.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { LINKS_MAX = 40, STEP_MAX = 256 /* one more than a name may have: the kernel refuses it */ };

typedef struct walk {
    const sett__os *os;
    int at;
    bool make, trusted;
    int links;
    char rest[2 * PATH_MAX]; /* from `next`, still to go */
    size_t next;
    char seen[2 * PATH_MAX]; /* gone through, for messages */
    bool entered;            /* `at` is what was seen last, not the folder above it */
} walk;

const char *sett__chmod_hint(const sett__os *os, int folder, const char *path, int len, char hint[SETT__CHMOD_HINT])
{
    struct stat st;
    int why = errno;
    hint[0] = 0;
    if (why == EACCES && folder >= 0 && !os->fstat(folder, &st) && st.st_uid == geteuid() && (st.st_mode & S_IRWXU) != S_IRWXU)
        snprintf(hint, SETT__CHMOD_HINT, "; chmod u+rwx %.*s, whose mode is %04o", len, path, (unsigned)st.st_mode & 07777);
    errno = why;
    return hint;
}

static sett_status failed(const walk *w, const char *what, sett_error *err)
{
    char hint[SETT__CHMOD_HINT];
    const char *slash = strrchr(w->seen, '/');
    size_t len = slash && !w->entered ? (size_t)(slash - w->seen) : strlen(w->seen);
    return sett__error(err, errno == ENOMEM ? SETT_E_MEMORY : SETT_E_IO, "%s: %s: %s%s", what, w->seen[0] ? w->seen : "/",
        strerror(errno), sett__chmod_hint(w->os, w->at, w->seen, (int)len, hint));
}

static sett_status check(const walk *w, const struct stat *st, sett_error *err)
{
    bool shared = !S_ISLNK(st->st_mode) && (st->st_mode & (S_IWGRP | S_IWOTH)) && !(st->st_mode & S_ISVTX);
    if (!w->trusted || (sett__disk_owner(st) && !shared))
        return SETT_OK;
    return sett__error(err, SETT_E_IO, "the cache folder is not trusted: %s %s", w->seen[0] ? w->seen : "/",
        shared ? "may be written by others" : "belongs to another user");
}

static void enter(walk *w, int fd)
{
    if (w->at >= 0)
        w->os->close(w->at);
    w->at = fd;
}

static sett_status enter_top(walk *w, sett_error *err)
{
    struct stat st;
    w->seen[0] = 0;
    enter(w, w->os->openat(AT_FDCWD, "/", O_PATH | O_DIRECTORY | O_CLOEXEC, 0));
    if (w->at < 0 || w->os->fstat(w->at, &st))
        return failed(w, "the cache folder cannot be opened", err);
    return check(w, &st, err);
}

/* What the link says comes before what is left. */
static sett_status follow(walk *w, int fd, sett_error *err)
{
    char to[2 * PATH_MAX];
    const char *rest = w->rest + w->next;
    ssize_t n = w->os->readlinkat(fd, "", to, PATH_MAX);
    if (n < 0)
        return failed(w, "the cache folder cannot be opened", err);
    errno = ELOOP;
    if (!n || n >= PATH_MAX || ++w->links > LINKS_MAX || (size_t)n + strlen(rest) + 2 > sizeof to)
        return failed(w, "the cache folder cannot be opened", err);
    to[n] = '/';
    strcpy(to + n + 1, rest);
    strcpy(w->rest, to);
    w->next = 0;
    if (to[0] == '/')
        return enter_top(w, err);
    char *slash = strrchr(w->seen, '/');
    *(slash ? slash : w->seen) = 0;
    return SETT_OK;
}

static int open_step(const walk *w, const char *name)
{
    int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC, fd = w->os->openat(w->at, name, flags, 0);
    if (fd >= 0 || errno != ENOENT || !w->make)
        return fd;
    if (!w->os->mkdirat(w->at, name, 0700))
        w->os->fchmodat(w->at, name, 0700, AT_SYMLINK_NOFOLLOW);
    else if (errno != EEXIST)
        return -1;
    return w->os->openat(w->at, name, flags, 0);
}

static sett_status step(walk *w, const char *name, sett_error *err)
{
    struct stat st;
    size_t used = strlen(w->seen);
    snprintf(w->seen + used, sizeof w->seen - used, "/%s", name);
    w->entered = false;
    int fd = open_step(w, name);
    if (fd < 0)
        return failed(w, w->make ? "cannot make the cache folder" : "the cache folder cannot be opened", err);
    sett_status s = w->os->fstat(fd, &st) ? failed(w, "the cache folder cannot be opened", err) : check(w, &st, err);
    if (!s && S_ISDIR(st.st_mode)) {
        enter(w, fd);
        w->entered = true;
        return SETT_OK;
    }
    errno = ENOTDIR;
    if (!s)
        s = S_ISLNK(st.st_mode)
                ? follow(w, fd, err)
                : failed(w, w->make ? "cannot make the cache folder" : "the cache folder cannot be opened", err);
    w->os->close(fd);
    return s;
}

/* The next name of what is left, which is gone past; false: none. */
static bool next_name(walk *w, char name[STEP_MAX + 1])
{
    const char *p = w->rest + w->next + strspn(w->rest + w->next, "/");
    size_t n = strcspn(p, "/");
    snprintf(name, STEP_MAX + 1, "%.*s", (int)(n > STEP_MAX ? STEP_MAX : n), p);
    w->next = (size_t)(p + n - w->rest);
    return n > 0;
}

sett_status sett__path_open(const sett__os *os, const char *path, bool make, bool trusted, int *fd, sett_error *err)
{
    walk w = {.os = os, .at = -1, .make = make, .trusted = trusted};
    char name[STEP_MAX + 1];
    *fd = -1;
    if (path[0] != '/' || strlen(path) >= PATH_MAX)
        return sett__error(err, SETT_E_IO, "the cache folder needs an absolute path of at most %d bytes", PATH_MAX - 1);
    strcpy(w.rest, path);
    sett_status s = enter_top(&w, err);
    while (!s && next_name(&w, name))
        if (strcmp(name, "."))
            s = step(&w, name, err);
    if (!s) {
        *fd = os->openat(w.at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
        if (*fd < 0)
            s = failed(&w, "the cache folder cannot be opened", err);
    }
    if (w.at >= 0)
        os->close(w.at);
    return s;
}

sett_status sett__path_open_file(const sett__os *os, const char *path, bool trusted, int *fd, sett_error *err)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int dir;
    *fd = -1;
    if (path[0] != '/' || (size_t)(slash - path) >= sizeof folder)
        return sett__error(err, SETT_E_IO, "%s: not an absolute path of at most %d bytes", path, PATH_MAX - 1);
    snprintf(folder, sizeof folder, "%.*s", (int)(slash == path ? 1 : slash - path), path);
    sett_status s = sett__path_open(os, folder, false, trusted, &dir, err);
    if (s)
        return s;
    *fd = os->openat(dir, slash + 1, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0);
    int why = errno;
    os->close(dir);
    errno = why;
    return *fd < 0 ? sett__error(err, SETT_E_IO, "%s: %s", path, strerror(why)) : SETT_OK;
}
