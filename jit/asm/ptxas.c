/* SPDX-License-Identifier: Apache-2.0 */
/* PTX to cubin by the toolkit's ptxas, in a private folder that is gone afterwards. The files have
 * fixed names there and ptxas runs in it, so that no path gets into the cubin. */
#include "inside.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INPUT "sett.ptx"
#define OUTPUT "sett.cubin"
#define CUBIN_LIMIT ((off_t)1 << 30)

/* After PATH. */
static const char *const usual[] = {
    "/usr/local/cuda/bin/ptxas", "/opt/cuda/bin/ptxas", "/usr/bin/ptxas", "/usr/lib/nvidia-cuda-toolkit/bin/ptxas"};

static bool runnable(sett__ptxas *p, const char *path)
{
    struct stat st;
    if (path[0] != '/' || strlen(path) >= sizeof p->path || stat(path, &st) || !S_ISREG(st.st_mode) ||
        access(path, X_OK))
        return false;
    memcpy(p->path, path, strlen(path) + 1);
    return true;
}

/* Of a path that was asked for. */
static void why_not(sett__ptxas *p, const char *path)
{
    struct stat st;
    const char *what = path[0] != '/'                     ? " is not an absolute path"
                       : strlen(path) >= sizeof p->path ? " is too long"
                                                        : NULL;
    if (what)
        snprintf(p->why, sizeof p->why, "%.180s%s", path, what);
    else if (stat(path, &st) || (S_ISREG(st.st_mode) && access(path, X_OK)))
        snprintf(p->why, sizeof p->why, "%.180s cannot be run: %s", path, strerror(errno));
    else
        snprintf(p->why, sizeof p->why, "%.180s is %s, no program", path, sett__file_kind(st.st_mode));
}

/* Absolute folders only: an empty or relative entry of PATH means the current folder. */
static bool in_path(sett__ptxas *p)
{
    const char *at = secure_getenv("PATH");
    char path[PATH_MAX];
    while (at && *at) {
        size_t len = strcspn(at, ":");
        if (at[0] == '/' && (size_t)snprintf(path, sizeof path, "%.*s/ptxas", (int)len, at) < sizeof path &&
            runnable(p, path))
            return true;
        at += len + (at[len] == ':');
    }
    return false;
}

/* "Cuda compilation tools, release 13.0, V13.0.88" */
static sett_status ask_version(sett__ptxas *p)
{
    sett__sink out = {.grow = true};
    int status;
    char flag[] = "--version";
    char *argv[] = {p->path, flag, NULL};
    sett_status s = sett__spawn("/", argv, p->limit_ms, &out, &status, NULL);
    if (s || status > 0 || !out.buf)
        snprintf(p->why, sizeof p->why, "%.200s does not answer --version", p->path);
    const char *v = !p->why[0] && out.buf ? strstr(out.buf, ", V") : NULL;
    if (v)
        snprintf(p->version, sizeof p->version, "%.*s", (int)strcspn(v + 3, " \n"), v + 3);
    else if (!p->why[0])
        snprintf(p->why, sizeof p->why, "%.200s is not a ptxas: it tells no version", p->path);
    if (p->why[0])
        p->path[0] = 0;
    free(out.buf);
    return s == SETT_E_MEMORY ? s : SETT_OK;
}

sett_status sett__ptxas_find(sett__ptxas *p, const char *wanted)
{
    int saved = errno;
    if (!wanted || !*wanted)
        wanted = secure_getenv("SETT_PTXAS");
    bool found = false;
    if (wanted && *wanted) {
        found = runnable(p, wanted);
        if (!found)
            why_not(p, wanted);
    } else {
        found = in_path(p);
        for (size_t i = 0; i < SETT__COUNT(usual) && !found; i++)
            found = runnable(p, usual[i]);
        if (!found)
            snprintf(p->why, sizeof p->why, "no ptxas in $SETT_PTXAS, $PATH, /usr/local/cuda/bin");
    }
    sett_status s = found ? ask_version(p) : SETT_OK;
    if (s)
        p->why[0] = 0;
    errno = saved;
    return s;
}

/* ---- files of the private folder -------------------------------------------------- */
static sett_status write_input(int folder, const sett__asm_job *job, sett_error *e)
{
    int fd = openat(folder, INPUT, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    size_t done = 0;
    bool ok = fd >= 0 && !fchmod(fd, 0600);
    while (ok && done < job->ptx_len) {
        ssize_t n = write(fd, job->ptx + done, job->ptx_len - done);
        if (n > 0)
            done += (size_t)n;
        else
            ok = n < 0 && errno == EINTR;
    }
    int err = errno;
    if (fd >= 0 && close(fd) && ok) {
        ok = false;
        err = errno;
    }
    return ok ? SETT_OK : sett__error(e, SETT_E_IO, "ptxas: its input cannot be written: %s", strerrordesc_np(err));
}

static sett_status read_all(int fd, void *to, size_t len, sett_error *e)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = read(fd, (char *)to + done, len - done);
        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || errno != EINTR)
            return sett__error(e, SETT_E_IO, "ptxas: its cubin cannot be read");
    }
    return SETT_OK;
}

static sett_status read_output(int folder, sett__asm_out *out, sett_error *e)
{
    struct stat st;
    const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    int fd = openat(folder, OUTPUT, flags);
    if (fd < 0 && errno == EACCES && !fchmodat(folder, OUTPUT, 0600, AT_SYMLINK_NOFOLLOW)) /* the umask was ptxas's too */
        fd = openat(folder, OUTPUT, flags);
    if (fd < 0)
        return sett__error(e, SETT_E_ASSEMBLE, "ptxas: no cubin came out");
    sett_status s = SETT_OK;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size <= 0 || st.st_size > CUBIN_LIMIT)
        s = sett__error(e, SETT_E_ASSEMBLE, "ptxas: its cubin is empty or too large");
    if (!s && !(out->cubin = malloc((size_t)st.st_size)))
        s = sett__error(e, SETT_E_MEMORY, "ptxas: out of memory for the cubin");
    if (!s)
        s = read_all(fd, out->cubin, (size_t)st.st_size, e);
    if (!s)
        out->cubin_len = (size_t)st.st_size;
    close(fd);
    return s;
}

static sett_status run_in(
    const sett__ptxas *p, const char *path, int folder, const sett__asm_job *job, sett__asm_out *out, sett_error *e)
{
    char arch[32], level[8], program[PATH_MAX];
    char verbose[] = "-v", to[] = "-o", output[] = OUTPUT, input[] = INPUT, lines[] = "-lineinfo";
    snprintf(program, sizeof program, "%s", p->path);
    snprintf(arch, sizeof arch, "-arch=%s", job->target);
    snprintf(level, sizeof level, "-O%d", job->opt_level);
    char *argv[] = {program, arch, level, verbose, to, output, input, job->line_info ? lines : NULL, NULL};
    sett_status s = write_input(folder, job, e);
    if (s)
        return s;
    sett__sink log = {.grow = true};
    int status = 0;
    s = sett__spawn(path, argv, p->limit_ms, &log, &status, e);
    if (!s && status > 0)
        s = sett__asm_refused(e, "ptxas", job,
            log.buf         ? log.buf
            : status > 128 ? "killed by a signal"
                           : "it says nothing");
    if (!s)
        s = read_output(folder, out, e);
    if (!s)
        sett__put(&log, "");
    out->log = log.buf;
    if (!s && !log.buf)
        s = sett__error(e, SETT_E_MEMORY, "ptxas: out of memory");
    return s;
}

/* The folder is ours alone (mkdtemp: 0700, a fresh name). $TMPDIR only where it is absolute. */
static int make_folder(char path[PATH_MAX])
{
    const char *base = secure_getenv("TMPDIR");
    if (!base || base[0] != '/' || strlen(base) > PATH_MAX - 32)
        base = "/tmp";
    snprintf(path, PATH_MAX, "%s/sett-XXXXXX", base);
    if (!mkdtemp(path))
        return -1;
    int bad = fchmodat(AT_FDCWD, path, 0700, AT_SYMLINK_NOFOLLOW); /* whatever the umask */
    int fd = bad ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        rmdir(path);
    return fd;
}

sett_status sett__ptxas_run(const sett__ptxas *p, const sett__asm_job *job, sett__asm_out *out, sett_error *e)
{
    char path[PATH_MAX];
    int folder = make_folder(path);
    if (folder < 0)
        return sett__error(e, SETT_E_IO, "ptxas: no temporary folder %s: %s", path, strerrordesc_np(errno));
    sett_status s = run_in(p, path, folder, job, out, e);
    unlinkat(folder, INPUT, 0);
    unlinkat(folder, OUTPUT, 0);
    close(folder);
    rmdir(path);
    return s;
}
