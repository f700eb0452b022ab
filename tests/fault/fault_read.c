/* SPDX-License-Identifier: Apache-2.0 */
/* R: reading, at the level of one layer: whatever stands in an entry's place, whichever call fails and how. */
#include "tests/fault/fault.h"
#include "tests/rig/folder.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { CUBIN_SIZE = 900, SLOTS = SETT__QUARANTINE_SLOTS, DEEP = 12 };
static const int errors[] = {EIO, ENOSPC, EDQUOT, EACCES, EPERM, EROFS, EMFILE, ENFILE, ENOMEM, EINTR, ESTALE, EBUSY,
    ENOLCK, ENAMETOOLONG, ENOENT, ENOTEMPTY};

/* ---- what stands there ------------------------------------------------------------------------------- */
typedef struct place {
    made m;
    char entry[300], dir[300]; /* paths: v1/ab/cdef....sett, v1/ab */
} place;

static void sound(const place *p)
{
    (void)p;
}
static void cut(const place *p)
{
    if (truncate(p->entry, 600))
        complain("%s cannot be cut", p->entry);
}
static void empty(const place *p)
{
    write_file(p->entry, "", 0, 0600);
}
static void huge(const place *p) /* of holes */
{
    if (truncate(p->entry, (off_t)SETT__ENTRY_MAX + 1))
        complain("%s cannot grow", p->entry);
}
static void gone(const place *p)
{
    unlink(p->entry);
}
static void old(const place *p) /* its stamp is to be brought up to date */
{
    utimensat(AT_FDCWD, p->entry, (const struct timespec[2]){{.tv_sec = 1}, {.tv_sec = 1}}, 0);
}
static void folder_with_file(const place *p)
{
    char path[600];
    unlink(p->entry);
    mkdir(p->entry, 0700);
    snprintf(path, sizeof path, "%s/file", p->entry);
    write_file(path, "x", 1, 0600);
}
static void deep_folder(const place *p)
{
    char path[600];
    int n = snprintf(path, sizeof path, "%s", p->entry);
    unlink(p->entry);
    mkdir(path, 0700);
    for (int i = 0; i < DEEP; i++) {
        n += snprintf(path + n, sizeof path - (size_t)n, "/d");
        mkdir(path, 0700);
    }
}
static void link_to_it(const place *p)
{
    char path[600];
    snprintf(path, sizeof path, "%s.moved", p->entry);
    if (rename(p->entry, path) || symlink(path, p->entry))
        complain("no link");
}
static void pipe_there(const place *p)
{
    unlink(p->entry);
    mkfifo(p->entry, 0600);
}
static void socket_there(const place *p)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(a.sun_path, sizeof a.sun_path, "%s", in_root("socket"));
    if (bind(fd, (const struct sockaddr *)&a, sizeof a) || rename(a.sun_path, p->entry))
        complain("no socket");
    close(fd);
}
static void dir_is_file(const place *p)
{
    folder_remove(p->dir);
    write_file(p->dir, "x", 1, 0600);
}
static void dir_is_link(const place *p)
{
    char path[600];
    snprintf(path, sizeof path, "%s-moved", p->dir);
    if (rename(p->dir, path) || symlink(path, p->dir))
        complain("no link");
}
/* Full, the oldest slot a folder with something in it. */
static void quarantine_full(const place *p)
{
    char path[300];
    cut(p);
    for (int i = 0; i < SLOTS; i++) {
        snprintf(path, sizeof path, "%s/quarantine/%02d.bad", in_root("cache"), i);
        if (i)
            write_file(path, "x", 1, 0600);
        else
            mkdir(path, 0700), mkdir(strcat(path, "/d"), 0700);
    }
}
static const struct scene {
    const char *name;
    void (*set)(const place *);
    sett_status get; /* with nothing planned */
} scenes[] = {{"sound", sound, SETT_OK}, {"old", old, SETT_OK}, {"gone", gone, SETT_E_NOT_CACHED},
    {"cut", cut, SETT_E_PARSE}, {"empty", empty, SETT_E_PARSE}, {"huge", huge, SETT_E_PARSE},
    {"a folder", folder_with_file, SETT_E_PARSE}, {"a deep folder", deep_folder, SETT_E_PARSE},
    {"a link", link_to_it, SETT_E_PARSE}, {"a pipe", pipe_there, SETT_E_PARSE},
    {"a socket", socket_there, SETT_E_PARSE}, {"its folder a file", dir_is_file, SETT_E_PARSE},
    {"its folder a link", dir_is_link, SETT_E_PARSE}, {"the quarantine full", quarantine_full, SETT_E_PARSE}};

static int at_once(int fd) /* thousands of folders are made: none has to outlive a power failure */
{
    (void)fd;
    return 0;
}
static sett__os quick;

static bool set_scene(place *p, const struct scene *sc)
{
    folder_remove(in_root("cache"));
    sett__disk *d = disk_open(in_root("cache"), &quick, 0);
    bool ok = d && !sett__disk_put(d, &p->m.key, &p->m.entry, false, NULL);
    sett__disk_close(d);
    sc->set(p);
    return ok;
}

/* ---- one folder, read once --------------------------------------------------------------------------- */
static sett_status count_right(void *user, const sett__layer_item *it)
{
    const place *p = ((void **)user)[0];
    long *wrong = ((void **)user)[1];
    *wrong += it->entry && !made_is(&p->m, it->entry);
    return SETT_OK;
}

enum { WALKED = 12 }; /* of the calls of a walk, which are 256 alike */
static long calls_made;
/* Got, walked through and refused, as an engine would; -1: something wrong was given, or a status that says nothing. */
static int read_folder(const place *p, const plan *how, bool layer_only)
{
    sett__disk *d = NULL;
    long wrong = 0;
    sett_status seen = SETT_OK;
    void *user[] = {(void *)(uintptr_t)p, &wrong};
    int files = open_files(), out = -1;
    plan_set(how);
    sett_status s = sett__disk_open(
        &d, &(sett__disk_options){.path = in_root("cache"), .os = &os_faulty, .layer_only = layer_only}, NULL);
    if (!s)
        s = made_get(d, &p->m);
    if (d && s == SETT_OK && how && how->at % 2)
        d->layer.ops->refuse(&d->layer, &p->m.key);
    if (!how)
        calls_made = calls_in_all + WALKED;
    if (d && (!how || how->at > calls_in_all))
        seen = d->layer.ops->walk(&d->layer, count_right, user);
    sett__disk_close(d);
    plan_set(NULL);
    bool fair = !s || s == SETT_E_NOT_CACHED || s == SETT_E_PARSE || (how && (s == SETT_E_IO || s == SETT_E_MEMORY));
    if (fair && !wrong && (!seen || how) && open_files() == files)
        out = (int)s;
    return out;
}

/* A put and a get work afterwards, whatever was left. */
static bool heals(const place *p)
{
    sett__disk *d = disk_open(in_root("cache"), &quick, 0);
    sett_status s = d ? made_get(d, &p->m) : SETT_E_IO;
    bool ok = d && (!s || (!sett__disk_put(d, &p->m.key, &p->m.entry, false, NULL) && !made_get(d, &p->m)));
    sett__disk_close(d);
    return ok;
}

static long fail_each(place *p, const struct scene *sc, long step, long *tried)
{
    long bad = 0, total, turn = 0;
    for (int layer_only = 0; layer_only < 2; layer_only++) {
        bad += !set_scene(p, sc);
        int s = read_folder(p, NULL, layer_only);
        total = calls_made;
        if (s != (int)sc->get || (!layer_only && !heals(p)))
            bad += complain("%s%s: status %d, not %d, or it does not heal", sc->name, layer_only ? ", a layer" : "", s, sc->get);
        for (long at = 1; at <= total; at++)
            for (size_t i = 0; i < 2 * SETT__COUNT(errors) && bad < 20; i++) {
                const plan how = {MISHAP_ERROR, -1, at, i % 2, errors[i / 2], 0, 0};
                if (turn++ % step || !my_turn())
                    continue;
                bad += !set_scene(p, sc);
                if (read_folder(p, &how, layer_only) < 0 || !heals(p))
                    bad += complain("%s: call %ld%s gave %s: not right afterwards", sc->name, at, how.for_ever ? " and all after" : "", strerror(how.error));
                ++*tried;
            }
    }
    return bad;
}

/* ---- two things at once --------------------------------------------------------------------------------- */
typedef struct trouble {
    int call;
    const char *name; /* of a file or folder; NULL: any */
    int skip, error;  /* so many go well; 0: no trouble */
} trouble;
static trouble troubles[2];
static bool troubled(int call, const char *name)
{
    for (size_t i = 0; i < SETT__COUNT(troubles); i++) {
        trouble *t = &troubles[i];
        if (t->error && t->call == call && (!t->name || strstr(name, t->name)) && t->skip-- <= 0) {
            errno = t->error;
            return true;
        }
    }
    return false;
}
static int troubled_openat(int at, const char *path, int flags, mode_t mode)
{
    return troubled(CALL_openat, path) ? -1 : sett__os_libc.openat(at, path, flags, mode);
}
static int troubled_unlinkat(int at, const char *path, int flags)
{
    return troubled(CALL_unlinkat, path) ? -1 : sett__os_libc.unlinkat(at, path, flags);
}
static int troubled_renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags)
{
    return troubled(CALL_renameat2, from) ? -1 : sett__os_libc.renameat2(from_at, from, to_at, to, flags);
}
static DIR *troubled_fdopendir(int fd)
{
    return troubled(CALL_fdopendir, "") ? NULL : sett__os_libc.fdopendir(fd);
}
static struct dirent *troubled_readdir(DIR *dir)
{
    return troubled(CALL_readdir, "") ? NULL : sett__os_libc.readdir(dir);
}
static int troubled_clock_gettime(clockid_t clock, struct timespec *to)
{
    return troubled(CALL_clock_gettime, "") ? -1 : sett__os_libc.clock_gettime(clock, to);
}
static sett__os os_troubled(void)
{
    sett__os os = sett__os_libc;
    os.openat = troubled_openat, os.unlinkat = troubled_unlinkat, os.renameat2 = troubled_renameat2;
    os.fdopendir = troubled_fdopendir, os.readdir = troubled_readdir, os.clock_gettime = troubled_clock_gettime;
    return os;
}

/* With the quarantine out of reach what is damaged is removed, also where a file system says EPERM of a folder. */
static long in_trouble(place *p)
{
    const trouble closed = {CALL_openat, "quarantine", 0, EIO};
    const struct {
        void (*set)(const place *);
        sett_status get;
        trouble t[2];
    } cases[] = {{cut, SETT_E_PARSE, {closed}}, {cut, SETT_E_PARSE, {closed, {CALL_unlinkat, NULL, 0, ENOENT}}},
        {cut, SETT_E_PARSE, {closed, {CALL_unlinkat, NULL, 0, EACCES}}},
        {folder_with_file, SETT_E_PARSE, {closed}}, {deep_folder, SETT_E_PARSE, {closed}},
        {folder_with_file, SETT_E_PARSE, {closed, {CALL_unlinkat, ".sett", 0, EPERM}}},
        {folder_with_file, SETT_E_PARSE, {closed, {CALL_unlinkat, "file", 0, EPERM}}},
        {folder_with_file, SETT_E_PARSE, {closed, {CALL_unlinkat, "file", 0, EACCES}}},
        {folder_with_file, SETT_E_PARSE, {closed, {CALL_fdopendir, NULL, 0, ENOMEM}}},
        {quarantine_full, SETT_E_PARSE, {{CALL_renameat2, NULL, 0, EEXIST}}},
        {quarantine_full, SETT_E_PARSE, {{CALL_renameat2, NULL, 1, EIO}}},
        {quarantine_full, SETT_E_PARSE, {{CALL_renameat2, NULL, 0, ENOTDIR}, {CALL_unlinkat, NULL, 0, EBUSY}}},
        {dir_is_link, SETT_E_PARSE, {{CALL_openat, p->dir + strlen(p->dir) - 2, 0, ELOOP}}},
        {cut, SETT_E_PARSE, {{CALL_openat, p->dir + strlen(p->dir) - 2, 1, EACCES}}},
        {old, SETT_OK, {{CALL_clock_gettime, NULL, 0, EIO}}}};
    long bad = 0;
    sett__os os = os_troubled();
    for (size_t i = 0; i < SETT__COUNT(cases); i++) {
        int files = open_files();
        bad += !set_scene(p, &(struct scene){"", cases[i].set, SETT_OK});
        sett__disk *d = disk_open(in_root("cache"), &os, 0);
        memcpy(troubles, cases[i].t, sizeof troubles);
        sett_status s = d ? made_get(d, &p->m) : SETT_E_IO;
        memset(troubles, 0, sizeof troubles);
        sett__disk_close(d);
        if (s != cases[i].get || open_files() != files || !heals(p))
            bad += complain("in trouble %zu: status %d", i, s);
    }
    return bad;
}

static sett_status stop_with(void *user, const sett__layer_item *it)
{
    int *turn = user;
    (void)it;
    return ++*turn == 1 ? SETT_E_CLOSED : SETT_OK;
}

/* A walk that its visitor ends, whose entries go meanwhile, or whose folder cannot be listed. */
static long walks(place *p)
{
    const struct {
        trouble t;
        bool stop;
        sett_status walk;
    } cases[] = {{{0}, true, SETT_E_CLOSED}, {{CALL_openat, ".sett", 0, ENOENT}, false, SETT_OK},
        {{CALL_readdir, NULL, 0, EIO}, true, SETT_E_IO}, {{CALL_readdir, NULL, 3, EIO}, true, SETT_E_CLOSED},
        {{CALL_fdopendir, NULL, 0, ENOMEM}, false, SETT_E_MEMORY}, {{CALL_fdopendir, NULL, 0, EIO}, false, SETT_E_IO}};
    long bad = 0;
    sett__os os = os_troubled();
    made other;
    made_new(&other, 2, CUBIN_SIZE);
    bad += !set_scene(p, &scenes[0]);
    sett__disk *d = disk_open(in_root("cache"), &os, 0);
    bad += !d || sett__disk_put(d, &other.key, &other.entry, false, NULL);
    for (size_t i = 0; d && i < SETT__COUNT(cases); i++) {
        int turn = cases[i].stop ? 0 : 1;
        troubles[0] = cases[i].t;
        sett_status s = d->layer.ops->walk(&d->layer, stop_with, &turn);
        memset(troubles, 0, sizeof troubles);
        if (s != cases[i].walk)
            bad += complain("walk %zu: status %d, not %d", i, s, cases[i].walk);
    }
    /* Other material of the same length, under this key. */
    char swapped[sizeof p->m.material];
    memcpy(swapped, p->m.material, sizeof swapped);
    swapped[0] ^= 1;
    sett__entry e;
    bad += sett__disk_get(d, &p->m.key, &(sett__blob){swapped, p->m.entry.key_material.len}, &e, NULL) != SETT_E_PARSE;
    sett__disk_close(d);
    made_free(&other);
    return bad;
}

/* ---- another process was quicker ------------------------------------------------------------------------- */
static int field; /* of the second look at a file that is refused: which one differs */
static int other_fstatat(int at, const char *path, struct stat *st, int flags)
{
    int r = sett__os_libc.fstatat(at, path, st, flags);
    switch (strstr(path, ".sett") ? field : -1) {
    case 0: st->st_dev++; break;
    case 1: st->st_ino++; break;
    case 2: st->st_size++; break;
    case 3: st->st_mtim.tv_sec++; break;
    case 4: st->st_mtim.tv_nsec ^= 1; break;
    case 5: errno = ENOENT; return -1;
    default: break;
    }
    return r;
}

/* What was damaged when it was read, and is another file by now, stays. */
static long replaced_meanwhile(place *p)
{
    long bad = 0;
    sett__os os = sett__os_libc;
    os.fstatat = other_fstatat;
    for (field = 0; field <= 6; field++) {
        bad += !set_scene(p, &scenes[3]);
        sett__disk *d = disk_open(in_root("cache"), &os, 0);
        bad += !d || made_get(d, &p->m) != SETT_E_PARSE;
        if ((access(p->entry, F_OK) == 0) != (field < 6))
            bad += complain("field %d of what was refused: it %s", field, field < 6 ? "went" : "stays");
        sett__disk_close(d);
    }
    return bad;
}

static void place_new(place *p)
{
    sett__entry_name n;
    quick = sett__os_libc;
    quick.fdatasync = at_once;
    made_new(&p->m, 1, CUBIN_SIZE);
    sett__entry_name_of(&p->m.key, &n);
    snprintf(p->dir, sizeof p->dir, "%s/v1/%s", in_root("cache"), n.dir);
    snprintf(p->entry, sizeof p->entry, "%s/v1/%s/%s", in_root("cache"), n.dir, n.file);
}

static long each_fails(bool full, long *tried)
{
    place p;
    long bad = 0;
    place_new(&p);
    for (size_t i = 0; i < SETT__COUNT(scenes); i++)
        bad += fail_each(&p, &scenes[i], full ? 1 : 97, tried);
    made_free(&p.m);
    return bad;
}

long r1_folder(bool full, char *figures, size_t size)
{
    place p;
    long tried, bad = by_turns(each_fails, full, &tried);
    place_new(&p);
    bad += !set_scene(&p, &scenes[0]) || read_folder(&p, &(plan){.what = MISHAP_SHORT, .call = -1, .at = -1}, false) != SETT_OK;
    bad += replaced_meanwhile(&p) + in_trouble(&p) + walks(&p);
    snprintf(figures, size, "%zu things in an entry's place, %ld errors of 16 kinds, 7 changes meanwhile", SETT__COUNT(scenes), tried);
    made_free(&p.m);
    return bad;
}
