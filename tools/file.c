/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the command line. What is read is bounded; pipes may be read. What is written goes through to devices, pipes and the
 * ends of links, and never replaces one of them. Lost output is a failure. */
#include "tools.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 65536 };

/* ---- reading ----------------------------------------------------------------------------------- */
char *stream_read(FILE *f, size_t most, size_t *len, const char **why)
{
    char *data = NULL, *more;
    size_t used = 0, cap = 0, n = 1;
    while (n && used <= most) {
        if (used == cap) {
            cap = cap > most / 2 ? most + 1 : cap ? 2 * cap : most < CHUNK ? most + 1 : CHUNK;
            if (!(more = realloc(data, cap + 1)))
                break;
            data = more;
        }
        n = fread(data + used, 1, cap - used, f);
        used += n;
    }
    if (data && !n && !ferror(f)) {
        data[used] = 0;
        *len = used;
        return data;
    }
    *why = ferror(f) ? strerror(errno) : used > most ? NULL : "out of memory";
    free(data);
    return NULL;
}

FILE *input_open(const char *path)
{
    FILE *f = strcmp(path, "-") ? fopen(path, "rbe") : stdin;
    if (!f)
        fail("%s: %s", path, strerror(errno));
    return f;
}

void input_close(FILE *f)
{
    if (f != stdin)
        fclose(f);
}

/* A FIFO would make this wait for who writes it. */
static FILE *regular_open(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    bool there = fd >= 0 && !fstat(fd, &st), regular = there && S_ISREG(st.st_mode);
    FILE *f = regular ? fdopen(fd, "rb") : NULL;
    if (!f)
        fail("%s%s%s", path, there && !regular ? "" : ": ", there && !regular ? " is no regular file" : strerror(errno));
    if (!f && fd >= 0)
        close(fd);
    return f;
}

static char *read_all(FILE *f, const char *name, size_t most, size_t *len)
{
    const char *why;
    char *data = f ? stream_read(f, most, len, &why) : NULL;
    if (f)
        input_close(f);
    if (f && !data && why)
        fail("%s: %s", name, why);
    else if (f && !data)
        fail("%s is larger than the %zu bytes that are read of it", name, most);
    return data;
}

char *file_read(const char *path, size_t most, size_t *len)
{
    return read_all(input_open(path), strcmp(path, "-") ? path : "standard input", most, len);
}

char *regular_read(const char *path, size_t most, size_t *len)
{
    return read_all(regular_open(path), path, most, len);
}

/* ---- writing ------------------------------------------------------------------------------------- */
typedef struct target {
    const char *path;
    int fd;
    bool made; /* nothing was there: what is not written whole is removed */
} target;

/* In place: owner, mode and other names of a file that is there stay. */
static bool target_open(const char *path, target *t)
{
    const int flags = O_WRONLY | O_NOCTTY | O_CLOEXEC;
    *t = (target){.path = path, .fd = open(path, flags | O_CREAT | O_EXCL, 0666)};
    t->made = t->fd >= 0;
    if (t->fd < 0 && errno == EEXIST) /* or the name of a link, whose end may be missing */
        t->fd = open(path, flags | O_CREAT | O_TRUNC, 0666);
    if (t->fd < 0)
        fail("%s: %s", path, strerror(errno));
    return t->fd >= 0;
}

/* Its name, unless another file has that by now. */
static void target_drop(const target *t)
{
    struct stat ours, now;
    if (t->made && !fstat(t->fd, &ours) && !lstat(t->path, &now) && ours.st_dev == now.st_dev && ours.st_ino == now.st_ino)
        unlink(t->path);
}

static bool write_whole(int fd, const char *data, size_t len)
{
    for (size_t at = 0; at < len;) {
        ssize_t n = write(fd, data + at, len - at);
        if (n < 0 && errno != EINTR)
            return false;
        at += n > 0 ? (size_t)n : 0;
    }
    return true;
}

int file_write(const char *path, const void *data, size_t len)
{
    target t;
    if (!strcmp(path, "-")) {
        fwrite(data, 1, len, stdout); /* output_end() tells whether it arrived */
        return EXIT_OK;
    }
    if (!target_open(path, &t))
        return EXIT_FAILED;
    bool ok = write_whole(t.fd, data, len);
    int why = errno;
    if (!ok)
        target_drop(&t);
    if (close(t.fd) && ok)
        ok = false, why = errno;
    return ok ? EXIT_OK : fail("%s: %s", path, strerror(why));
}

/* ---- standard output ------------------------------------------------------------------------------- */
static target redirected; /* -o's file, while standard output is it */

int output_open(const options *o)
{
    target t;
    if (!o->output || !strcmp(o->output, "-"))
        return EXIT_OK;
    if (!target_open(o->output, &t))
        return EXIT_FAILED;
    if (dup2(t.fd, STDOUT_FILENO) < 0)
        return fail("%s: %s", o->output, strerror(errno));
    close(t.fd);
    t.fd = STDOUT_FILENO;
    redirected = t;
    return EXIT_OK;
}

void output_begin(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            return;
}

int output_end(int code)
{
    bool lost = ferror(stdout), now = fflush(stdout) != 0;
    int why = errno;
    if (lost || now)
        target_drop(&redirected);
    if (close(STDOUT_FILENO) && !lost && !now)
        now = true, why = errno;
    if (!lost && !now)
        return code;
    fail("%s: %s", redirected.path ? redirected.path : "standard output", now ? strerror(why) : "some of it could not be written");
    return code == EXIT_USAGE ? code : EXIT_FAILED;
}
