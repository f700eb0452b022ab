/* SPDX-License-Identifier: Apache-2.0 */
/* The disk cache's folder: entries put, found, healed; hostile files and folders; many threads. */
#include "tests/rig/folder.h"
#include "tests/rig/sample.h"
#include "tests/rig/faces.h"
#include "jit/cache/inside.h"
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char root[64];

static void make_root(void)
{
    ck_assert(folder_make(root));
}

static void drop_root(void)
{
    folder_remove(root);
}

static sett__disk *open_with(const sett__disk_options *o)
{
    sett__disk *d;
    sett_error err = {0};
    ck_assert_msg(!sett__disk_open(&d, o, &err), "%s", err.text);
    return d;
}

static sett__disk *open_root(void)
{
    return open_with(&(sett__disk_options){.path = root});
}

static void entry_path(const sett__digest *key, char path[200])
{
    int n = snprintf(path, 200, "%s/v1/%02x/", root, key->b[0]);
    for (int i = 1; i < 32; i++)
        n += snprintf(path + n, 200 - (size_t)n, "%02x", key->b[i]);
    snprintf(path + n, 200 - (size_t)n, ".sett");
}

static void write_file(const char *path, const void *data, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, data, len), (ssize_t)len);
    close(fd);
}

static sett_status get(sett__disk *d, const sample *s)
{
    const sett__blob m = {sample_material, sizeof sample_material};
    sett__entry e;
    sett_status st = sett__disk_get(d, &s->key, &m, &e, NULL);
    if (!st) {
        ck_assert_mem_eq(e.cubin.data, s->cubin, CUBIN);
        sett__entry_free(&e);
    }
    return st;
}

static unsigned mode_of(const char *path)
{
    struct stat st;
    ck_assert_int_eq(stat(path, &st), 0);
    return st.st_mode & 0777;
}

static uint64_t file_length(const char *path)
{
    struct stat st;
    ck_assert_int_eq(stat(path, &st), 0);
    return (uint64_t)st.st_size;
}

START_TEST(disk_put_get)
{
    sample s;
    char path[200], marker[100];
    fill_sample(&s);
    umask(0);
    sett__disk *d = open_root();
    ck_assert_int_eq(get(d, &s), SETT_E_NOT_CACHED);
    ck_assert_int_eq(sett__disk_put(d, &s.key, &s.entry, false, NULL), SETT_OK);
    ck_assert_int_eq(get(d, &s), SETT_OK);
    ck_assert_uint_eq(d->layer.writes, 1);
    ck_assert_uint_eq(d->layer.refusals, 0);
    entry_path(&s.key, path);
    ck_assert_uint_eq(d->layer.written_bytes, file_length(path));
    ck_assert_uint_eq(d->layer.read_bytes, file_length(path));
    ck_assert_uint_eq(mode_of(path), 0600);
    *strrchr(path, '/') = 0;
    ck_assert_uint_eq(mode_of(path), 0700);
    snprintf(marker, sizeof marker, "%s/SETT1", root);
    ck_assert_uint_eq(mode_of(marker), 0600);
    sett__disk_close(d);
    d = open_root(); /* as another process would */
    ck_assert_int_eq(get(d, &s), SETT_OK);
    sett__disk_close(d);
}
END_TEST

/* ---- modes ------------------------------------------------------------------------------------- */
/* Runs fn in a process of a user without rights, to whom the test's folder belongs. */
static void as_nobody(void (*fn)(void *), void *user)
{
    enum { NOBODY = 65534 };
    int status;
    ck_assert(geteuid() != 0 || !chown(root, NOBODY, NOBODY));
    pid_t child = fork();
    if (!child) {
        if (geteuid() == 0 && (setgid(NOBODY) || setuid(NOBODY)))
            _exit(2);
        fn(user);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && !WEXITSTATUS(status), "status %x", (unsigned)status);
}

/* _exit(), as a failed assertion would run this process's part of the suite. */
static void must(bool ok, const char *what, unsigned mask)
{
    if (ok)
        return;
    fprintf(stderr, "umask %04o: %s\n", mask, what);
    _exit(1);
}

static int wrong_mode(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)at;
    unsigned mode = st->st_mode & 07777;
    if (mode == (kind == FTW_D || kind == FTW_DP ? 0700 : 0600) || !strcmp(path, root))
        return 0;
    fprintf(stderr, "%s: mode %04o\n", path, mode);
    return 1;
}

typedef struct masked {
    unsigned mask;
    const char *folder;
} masked;

/* Everything that a folder is used for, by a user who has no rights but those that the modes give. */
static void use_under(void *user)
{
    const masked *m = user;
    sample s;
    uint64_t left;
    sett__ticket ticket = {0};
    sett__disk *d;
    sett_error err = {0};
    fill_sample(&s);
    umask(m->mask);
    for (int round = 0; round < 2; round++) {
        const sett__disk_options o = {.path = m->folder, .cap = 1 << 20};
        must(!sett__disk_open(&d, &o, &err), err.text, m->mask);
        must(!sett__disk_read_only(d), "read only", m->mask);
        must(sett__disk_lock(d, &s.key, 0, false, &ticket) == SETT__TURN_AT_ONCE, "no lock", m->mask);
        sett__disk_unlock(&ticket);
        must(!sett__disk_put(d, &s.key, &s.entry, round, &err), err.text, m->mask);
        sett__entry e;
        must(!sett__disk_get(d, &s.key, NULL, &e, &err), err.text, m->mask);
        sett__entry_free(&e);
        must(sett__disk_ops.refuse(&d->layer, &s.key) && !sett__disk_put(d, &s.key, &s.entry, false, &err), "not healed", m->mask);
        must(!sett__disk_trim(d, 1 << 20, &left, &err) && left, err.text, m->mask);
        sett__disk_close(d);
    }
    umask(022);
    must(!nftw(m->folder, wrong_mode, 8, FTW_PHYS), "a mode", m->mask);
}

/* A folder that is made under any umask, its own parents too, is of use to who made it. */
START_TEST(disk_umask)
{
    for (unsigned i = 0; i < 16; i++) {
        char folder[100];
        snprintf(folder, sizeof folder, "%s/u%u/.cache/sett", root, i);
        masked m = {i / 2 * 0100 + (i % 2 ? 077 : 0), folder};
        as_nobody(use_under, &m);
    }
}
END_TEST

static const char *const parts[] = {"v1", "tmp", "quarantine", "locks", "trim", "v1/shard"};

static const char *part_path(size_t i)
{
    static char path[200];
    sample s;
    fill_sample(&s);
    if (i + 1 < sizeof parts / sizeof *parts)
        snprintf(path, sizeof path, "%s/sett/%s", root, parts[i]);
    else
        snprintf(path, sizeof path, "%s/sett/v1/%02x", root, s.key.b[0]);
    return path;
}

/* What an older version left under a umask, or a crash between making and giving the mode, is mended. */
START_TEST(disk_modes_are_mended)
{
    static const mode_t left[] = {0, 0100, 0400, 0500, 0200};
    char folder[100];
    snprintf(folder, sizeof folder, "%s/sett", root);
    masked m = {022, folder};
    as_nobody(use_under, &m);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (size_t j = 0; j < sizeof left / sizeof *left; j++) {
            ck_assert_int_eq(chmod(part_path(i), left[j]), 0);
            as_nobody(use_under, &m);
        }
}
END_TEST

static void refused_of(void *user)
{
    const char *const *want = user;
    sett_error err = {0};
    sett__disk *d;
    bool refused = sett__disk_open(&d, &(sett__disk_options){.path = want[0]}, &err) == SETT_E_IO;
    if (refused && !strcmp(err.text, want[1]))
        _exit(0);
    fprintf(stderr, "%s\n%s\n", want[1], err.text);
    _exit(1);
}

/* The root's mode is its owner's word: it is not changed, and what to do is said. */
START_TEST(disk_root_mode_is_reported)
{
    char folder[100], below[110], want[400];
    const char *both[2] = {folder, want};
    snprintf(folder, sizeof folder, "%s/left", root);
    snprintf(below, sizeof below, "%s/sett", folder);
    for (unsigned mode = 0; mode < 0700; mode += 0100) {
        ck_assert(!mkdir(folder, 0700) && !chmod(folder, mode) && (geteuid() || !chown(folder, 65534, 65534)));
        both[0] = folder;
        snprintf(want, sizeof want, "the cache folder cannot be %s: %s: Permission denied; chmod u+rwx %s, whose mode is %04o",
            mode == 0500 ? "written" : "opened", folder, folder, mode);
        as_nobody(refused_of, both);
        both[0] = below;
        snprintf(want, sizeof want, "cannot make the cache folder: %s: Permission denied; chmod u+rwx %s, whose mode is %04o",
            below, folder, mode);
        if (mode != 0300) /* one may be made there */
            as_nobody(refused_of, both);
        ck_assert_uint_eq(mode_of(folder), mode);
        ck_assert_int_eq(rmdir(folder), 0);
    }
}
END_TEST

START_TEST(disk_every_byte)
{
    sample s;
    size_t len;
    char path[200], bad[100];
    uint8_t *file = encode_sample(&s, &len);
    struct stat st;
    sett__disk *d = open_root();
    ck_assert_int_eq(sett__disk_put(d, &s.key, &s.entry, false, NULL), SETT_OK);
    entry_path(&s.key, path);
    for (size_t i = 0; i < 2 * len; i++) { /* each byte flipped, then each length */
        if (i < len)
            file[i] ^= 0x10;
        write_file(path, file, i < len ? len : i - len);
        if (i < len)
            file[i] ^= 0x10;
        ck_assert_msg(get(d, &s) == SETT_E_PARSE, "damage %zu was not seen", i);
        ck_assert_msg(access(path, F_OK) != 0, "damage %zu was left in place", i);
    }
    ck_assert_uint_eq(d->layer.refusals, 2 * len);
    ck_assert_uint_eq(d->layer.heals, 2 * len);
    for (int i = 0; i <= 16; i++) { /* the last 16 are kept */
        snprintf(bad, sizeof bad, "%s/quarantine/%02d.bad", root, i);
        ck_assert_int_eq(stat(bad, &st) == 0, i < 16);
    }
    ck_assert_int_eq(sett__disk_put(d, &s.key, &s.entry, false, NULL), SETT_OK);
    ck_assert_int_eq(get(d, &s), SETT_OK);
    sett__disk_close(d);
    free(file);
}
END_TEST

/* Folders with something in them in an entry's place: the oldest of what is kept makes room, whatever it is. */
START_TEST(quarantine_of_folders)
{
    sample s;
    size_t len;
    char path[200], inside[300];
    uint8_t *file = encode_sample(&s, &len);
    sett__disk *d = open_root();
    ck_assert_int_eq(sett__disk_put(d, &s.key, &s.entry, false, NULL), SETT_OK);
    entry_path(&s.key, path);
    for (int i = 0; i < 60; i++) { /* folders for long enough to fill all 16 slots, then files among them */
        remove(path);
        if (i < 20 || i % 3 == 0) {
            ck_assert_int_eq(mkdir(path, 0700), 0);
            snprintf(inside, sizeof inside, "%s/below", path);
            ck_assert_int_eq(mkdir(inside, 0700), 0);
            snprintf(inside, sizeof inside, "%s/below/file", path);
            write_file(inside, file, 3);
        } else {
            write_file(path, file, len - 1);
        }
        ck_assert_int_eq(get(d, &s), SETT_E_PARSE);
        ck_assert_msg(access(path, F_OK) != 0, "%d was left in place", i);
    }
    ck_assert_uint_eq(d->layer.heals, 60);
    ck_assert_int_eq(sett__disk_put(d, &s.key, &s.entry, false, NULL), SETT_OK);
    ck_assert_int_eq(get(d, &s), SETT_OK);
    sett__disk_close(d);
    free(file);
}
END_TEST

/* put also replaces what is there and unsound, and leaves what is sound. */
START_TEST(disk_put_heals)
{
    sample s;
    size_t len;
    char path[200];
    struct stat before, after;
    uint8_t *file = encode_sample(&s, &len);
    sett__disk *d = open_root();
    ck_assert_int_eq(sett__disk_put(d, &s.key, &s.entry, false, NULL), SETT_OK);
    entry_path(&s.key, path);
    ck_assert_int_eq(stat(path, &before), 0);
    ck_assert_int_eq(sett__disk_put(d, &s.key, &s.entry, false, NULL), SETT_OK);
    ck_assert_int_eq(stat(path, &after), 0);
    ck_assert_uint_eq(before.st_ino, after.st_ino);
    write_file(path, file, len - 1);
    ck_assert_int_eq(sett__disk_put(d, &s.key, &s.entry, false, NULL), SETT_OK);
    ck_assert_int_eq(get(d, &s), SETT_OK);
    sett__disk_close(d);
    free(file);
}
END_TEST

enum trick { SYMLINK, HARDLINK, FIFO, FOLDER, GROUP_WRITE, OTHER_KEY, N_TRICKS };

static void play(int trick, const char *path, const uint8_t *file, size_t len)
{
    char aside[100];
    snprintf(aside, sizeof aside, "%s/tmp/aside", root);
    unlink(path);
    rmdir(path);
    write_file(trick == GROUP_WRITE || trick == OTHER_KEY ? path : aside, file, len);
    switch (trick) {
    case SYMLINK:
        ck_assert_int_eq(symlink(aside, path), 0);
        break;
    case HARDLINK:
        ck_assert_int_eq(link(aside, path), 0);
        break;
    case FIFO:
        ck_assert_int_eq(mkfifo(path, 0600), 0);
        break;
    case FOLDER:
        ck_assert_int_eq(mkdir(path, 0700), 0);
        break;
    case GROUP_WRITE:
        ck_assert_int_eq(chmod(path, 0620), 0);
        break;
    default:
        break;
    }
}

/* Sound bytes behind the wrong kind of name: refused, never followed, and never waited on. */
START_TEST(disk_hostile)
{
    sample s, other;
    size_t len;
    char path[200];
    uint8_t *file = encode_sample(&s, &len);
    static const char foreign[] = "another key material";
    fill_sample(&other);
    sett__sha256(foreign, sizeof foreign, &other.key);
    other.entry.key_material = (sett__blob){foreign, sizeof foreign};
    void *other_file;
    size_t other_len;
    ck_assert_int_eq(sett__entry_encode(&other.key, &other.entry, NULL, &other_file, &other_len, NULL), SETT_OK);
    sett__disk *d = open_root();
    ck_assert_int_eq(sett__disk_put(d, &s.key, &s.entry, false, NULL), SETT_OK);
    entry_path(&s.key, path);
    play(_i, path, _i == OTHER_KEY ? other_file : file, _i == OTHER_KEY ? other_len : len);
    ck_assert_int_eq(get(d, &s), SETT_E_PARSE);
    ck_assert_uint_eq(d->layer.refusals, 1);
    ck_assert_uint_eq(d->layer.read_bytes, 0);
    ck_assert_int_eq(sett__disk_put(d, &s.key, &s.entry, false, NULL), SETT_OK);
    ck_assert_int_eq(get(d, &s), SETT_OK);
    sett__disk_close(d);
    free(other_file);
    free(file);
}
END_TEST

static void expect_no(const sett__disk_options *o, const char *text)
{
    sett__disk *d = NULL;
    sett_error err = {0};
    ck_assert_int_eq(sett__disk_open(&d, o, &err), SETT_E_IO);
    ck_assert_ptr_null(d);
    ck_assert_msg(strstr(err.text, text) != NULL, "\"%s\" is not in \"%s\"", text, err.text);
}

static void expect_no_open(const char *path, const char *text)
{
    expect_no(&(sett__disk_options){.path = path}, text);
}

START_TEST(disk_bad_roots)
{
    char path[200], sub[200];
    snprintf(path, sizeof path, "%s/file", root);
    write_file(path, "x", 1);
    snprintf(sub, sizeof sub, "%s/file/cache", root);
    expect_no_open(sub, "cannot make the cache folder");
    expect_no_open(root, "holds other files and no SETT1");
    expect_no_open("relative/path", "absolute");
    snprintf(path, sizeof path, "%s/open", root);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(chmod(path, 0777), 0);
    expect_no_open(path, "may be written by others");
    snprintf(sub, sizeof sub, "%s/open/cache", root);
    ck_assert_int_eq(mkdir(sub, 0700), 0);
    expect_no_open(sub, "may be written by others");
    snprintf(path, sizeof path, "%s/made/on/the/way", root);
    sett__disk *d = open_with(&(sett__disk_options){.path = path});
    ck_assert_uint_eq(mode_of(path), 0700);
    sett__disk_close(d);
}
END_TEST

static void open_up(const char *path)
{
    DIR *dir = opendir(path);
    ck_assert_ptr_nonnull(dir);
    ck_assert_int_eq(chmod(path, 0755), 0);
    for (struct dirent *e; (e = readdir(dir));) {
        char below[600];
        struct stat st;
        snprintf(below, sizeof below, "%s/%s", path, e->d_name);
        if (e->d_name[0] == '.' || lstat(below, &st))
            continue;
        if (S_ISDIR(st.st_mode))
            open_up(below);
        else
            ck_assert_int_eq(chmod(below, 0644), 0);
    }
    closedir(dir);
}

/* Root's folder, warmed and readable, serves a user who may not write it. */
/* Another process that marks the folder, and puts its entries there, after we saw no marker and before we list it. */
static DIR *marked_meanwhile(int fd)
{
    sett__disk_close(open_root());
    return fdopendir(fd);
}

START_TEST(disk_marked_meanwhile)
{
    sett__os os = sett__os_libc;
    os.fdopendir = marked_meanwhile;
    sett__disk *d = open_with(&(sett__disk_options){.path = root, .os = &os});
    sett__disk_close(d);
}
END_TEST

/* A removal that was cut short, or that met one who made the folder anew: what is left of ours is ours. */
START_TEST(disk_marker_lost)
{
    char marker[200], other[200];
    snprintf(marker, sizeof marker, "%s/SETT1", root);
    snprintf(other, sizeof other, "%s/v1.old", root);
    sett__disk_close(open_root());
    ck_assert_int_eq(unlink(marker), 0);
    expect_no(&(sett__disk_options){.path = root, .layer_only = true}, "holds no SETT1"); /* who only reads makes none */
    write_file(other, "x", 1);
    expect_no_open(root, "holds other files and no SETT1");
    ck_assert_int_eq(access(marker, F_OK), -1);
    ck_assert_int_eq(unlink(other), 0);
    sett__disk_close(open_root());
    ck_assert_int_eq(access(marker, F_OK), 0);
}
END_TEST

/* Names of ours that are not what we make: the user's. Nothing is made beside them, and they stay. */
START_TEST(disk_others_of_our_names)
{
    static const struct { const char *name, *text; } t[] = {{"trim", "cardio, 3 sets\n"}, {"trim", "0123456789abcdefg"}, {"locks", "of doors"}, {"tmp", "a file"},
        {"v1", "a file"}, {"v1/notes", "x"}, {"tmp/mine", "x"}, {"quarantine/mine", "x"}, {"v1/abc", NULL}, {"v1", "->"}, {"tmp", "->"}};
    char folder[160], at[200], marker[200];
    for (size_t i = 0; i < SETT__COUNT(t); i++) {
        snprintf(folder, sizeof folder, "%s/of%zu", root, i);
        snprintf(at, sizeof at, "%s/%s", folder, t[i].name);
        snprintf(marker, sizeof marker, "%s/SETT1", folder);
        ck_assert(!mkdir(folder, 0700));
        char *slash = strrchr(at, '/');
        if (strchr(t[i].name, '/')) {
            *slash = 0;
            ck_assert(!mkdir(at, 0700));
            *slash = '/';
        }
        if (!t[i].text)
            ck_assert(!mkdir(at, 0700));
        else if (!strcmp(t[i].text, "->"))
            ck_assert(!symlink(root, at));
        else
            write_file(at, t[i].text, strlen(t[i].text));
        expect_no_open(folder, "holds other files and no SETT1");
        ck_assert_msg(access(marker, F_OK), "%s: marked", t[i].name);
        struct stat st;
        ck_assert_msg(!lstat(at, &st) && (!S_ISREG(st.st_mode) || (size_t)st.st_size == strlen(t[i].text)), "%s: changed", t[i].name);
    }
}
END_TEST

START_TEST(disk_read_only)
{
    sample s;
    fill_sample(&s);
    sett__disk *d = open_root();
    ck_assert_int_eq(sett__disk_put(d, &s.key, &s.entry, false, NULL), SETT_OK);
    sett__disk_close(d);
    if (geteuid() == 0) {
        open_up(root);
        ck_assert_int_eq(seteuid(65534), 0);
    } else {
        ck_assert_int_eq(chmod(root, 0500), 0);
    }
    d = open_root();
    ck_assert(sett__disk_read_only(d));
    ck_assert_int_eq(get(d, &s), SETT_OK);
    ck_assert_int_eq(sett__disk_put(d, &s.key, &s.entry, false, NULL), SETT_E_IO);
    sett__disk_close(d);
    if (getuid() == 0)
        ck_assert_int_eq(seteuid(0), 0);
    else
        chmod(root, 0700);
}
END_TEST

enum { THREADS = 4, ROUNDS = 25 };
typedef struct crew {
    sett__disk *d;
    sample *s;
    int wrong;
} crew;

static void *hammer(void *user)
{
    crew *c = user;
    for (int i = 0; i < ROUNDS; i++) {
        const sett__blob m = {sample_material, sizeof sample_material};
        sett__entry e;
        c->wrong += sett__disk_put(c->d, &c->s->key, &c->s->entry, false, NULL) != SETT_OK;
        if (sett__disk_get(c->d, &c->s->key, &m, &e, NULL))
            c->wrong++;
        else
            sett__entry_free(&e);
    }
    return NULL;
}

START_TEST(disk_threads)
{
    sample s;
    pthread_t t[THREADS];
    crew c[THREADS];
    fill_sample(&s);
    sett__disk *d = open_root();
    for (int i = 0; i < THREADS; i++) {
        c[i] = (crew){d, &s, 0};
        ck_assert_int_eq(pthread_create(&t[i], NULL, hammer, &c[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(t[i], NULL);
        ck_assert_int_eq(c[i].wrong, 0);
    }
    char tmp[100];
    snprintf(tmp, sizeof tmp, "%s/tmp", root);
    ck_assert_int_eq(rmdir(tmp), 0); /* nothing was left in it */
    sett__disk_close(d);
}
END_TEST

Suite *disk_suite(void);
Suite *disk_suite(void)
{
    Suite *s = suite_create("disk");
    TCase *disk = tcase_create("folder");
    tcase_add_checked_fixture(disk, make_root, drop_root);
    tcase_add_test(disk, disk_put_get);
    tcase_add_test(disk, disk_umask);
    tcase_add_test(disk, disk_modes_are_mended);
    tcase_add_test(disk, disk_root_mode_is_reported);
    tcase_add_test(disk, disk_every_byte);
    tcase_add_test(disk, disk_put_heals);
    tcase_add_test(disk, quarantine_of_folders);
    tcase_add_loop_test(disk, disk_hostile, 0, N_TRICKS);
    tcase_add_test(disk, disk_bad_roots);
    tcase_add_test(disk, disk_marked_meanwhile);
    tcase_add_test(disk, disk_marker_lost);
    tcase_add_test(disk, disk_others_of_our_names);
    tcase_add_test(disk, disk_read_only);
    tcase_add_test(disk, disk_threads);
    tcase_set_timeout(disk, 60);
    suite_add_tcase(s, disk);
    return s;
}
