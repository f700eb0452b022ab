/* SPDX-License-Identifier: Apache-2.0 */
/* F6, F12: file systems that are full, read-only or not there, and people who put something in the cache's way. */
#include "tests/fault/fault.h"
#include "tests/rig/folder.h"
#include <errno.h>
#include <ftw.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- in a child, within a time of the CPU ------------------------------------------------------------------- */
enum { OK, FAILED, SKIPPED, LIMIT_S = 20 };
typedef int child_fn(void *user);

static int in_child(child_fn *fn, void *user)
{
    int status;
    fflush(NULL);
    pid_t id = fork();
    if (!id) {
        limit_cpu(LIMIT_S);
        _exit(fn(user));
    }
    waitpid(id, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : FAILED;
}

static long told(int code, const char *what, char *figures, size_t size)
{
    snprintf(figures, size, "%s", code == SKIPPED ? "skipped: no right to mount or to change the user" : what);
    return code == FAILED ? complain("%s", what) : 0;
}

/* ---- F6 ------------------------------------------------------------------------------------------------ */
static bool mount_small(void)
{
    return !mkdir(in_root("disk"), 0700) && !unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
           !mount("none", in_root("disk"), "tmpfs", 0, "size=1m,mode=0700");
}

static int fill_disk(void *user)
{
    char path[300];
    bool ok = true, refused = false;
    (void)user;
    if (!mount_small())
        return SKIPPED;
    snprintf(path, sizeof path, "%s/cache", in_root("disk"));
    sett__disk *d = disk_open(path, NULL, 64 << 20);
    for (unsigned i = 0; d && i < 100; i++) { /* 3 MB into 1 MiB */
        made m;
        made_new(&m, i, 30000);
        sett_status s = sett__disk_put(d, &m.key, &m.entry, false, NULL);
        refused |= s != SETT_OK;
        ok &= (s == SETT_OK || s == SETT_E_IO) && made_get(d, &m) == (s ? SETT_E_NOT_CACHED : SETT_OK);
        made_free(&m);
    }
    ok &= d && !d->layer.refusals && refused;
    sett__disk_close(d);
    snprintf(path, sizeof path, "%s/cache/tmp", in_root("disk"));
    return ok && !rmdir(path) ? OK : FAILED; /* nothing half-written is left */
}

long f6_full(bool full, char *figures, size_t size)
{
    (void)full;
    return told(in_child(fill_disk, NULL), "100 entries of 30 KB into 1 MiB", figures, size);
}

/* A folder that was warmed and then mounted read-only. That it turns so while it is open is F4's EROFS. */
static int read_only(void *user)
{
    char path[300];
    made m[2];
    (void)user;
    if (!mount_small())
        return SKIPPED;
    snprintf(path, sizeof path, "%s/cache", in_root("disk"));
    sett__disk *d = disk_open(path, NULL, 1 << 20);
    made_new(&m[0], 1, 1000), made_new(&m[1], 2, 1000);
    bool ok = d && !sett__disk_put(d, &m[0].key, &m[0].entry, false, NULL);
    sett__disk_close(d);
    if (mount(NULL, in_root("disk"), NULL, MS_REMOUNT | MS_RDONLY, NULL))
        return SKIPPED;
    d = disk_open(path, &os_faulty, 1 << 20);
    plan_set(NULL); /* counts from here on */
    for (int i = 0; d && i < 10; i++)
        ok &= made_get(d, &m[0]) == SETT_OK && made_get(d, &m[1]) == SETT_E_NOT_CACHED &&
              sett__disk_put(d, &m[1].key, &m[1].entry, false, NULL) == SETT_E_IO;
    ok &= d && !calls[CALL_pwrite] && !calls[CALL_mkdirat] && !calls[CALL_renameat2] && !calls[CALL_setlk] && !calls[CALL_futimens];
    sett__disk_close(d);
    made_free(&m[0]), made_free(&m[1]);
    return ok ? OK : FAILED;
}

long f6_read_only(bool full, char *figures, size_t size)
{
    (void)full;
    return told(in_child(read_only, NULL), "hits go on, no write is tried", figures, size);
}

/* ---- F16: an image's layers ----------------------------------------------------------------------------- */
enum { SHIPPED = 20 };
/* Everybody may read it: its folders and files, as an image's are. */
static int open_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)type, (void)at;
    return chmod(path, S_ISDIR(st->st_mode) ? 0755 : 0644);
}
static bool open_to_all(const char *folder)
{
    return !nftw(folder, open_one, 16, FTW_PHYS);
}

static bool ship(const char *folder, const char *pack, made *m)
{
    const sett_pack_options o = {.size = sizeof o};
    sett__cache *c = NULL;
    uint64_t n = 0;
    sett__disk *d = disk_open(folder, NULL, 1 << 20);
    bool ok = d != NULL;
    for (unsigned i = 0; i < SHIPPED; i++) {
        made_new(&m[i], i, 500);
        ok = ok && !sett__disk_put(d, &m[i].key, &m[i].entry, false, NULL);
    }
    sett__disk_close(d);
    ok = ok && !sett__cache_open(&c, &(sett__cache_options){.layers = folder}, NULL) && !sett__pack_write(c, pack, &o, &n, NULL);
    sett__cache_close(c);
    return ok && n == SHIPPED && open_to_all(folder);
}

static sett_status keep(void *user, sett__entry *e, int layer, sett_error *err)
{
    (void)layer, (void)err;
    *(sett__entry *)user = *e;
    return SETT_OK;
}

/* The pack, then the folder, each alone, as a user who owns neither and may write nothing. */
static int other_user(void *user)
{
    char folder[300], pack[300];
    made m[SHIPPED];
    bool ok = true;
    (void)user;
    if (!mount_small())
        return SKIPPED;
    snprintf(folder, sizeof folder, "%s/cache", in_root("disk"));
    snprintf(pack, sizeof pack, "%s/p.settpack", in_root("disk"));
    if (!ship(folder, pack, m) || chmod(in_root("disk"), 0755) || chmod(in_root("."), 0711))
        return FAILED;
    if (mount(NULL, in_root("disk"), NULL, MS_REMOUNT | MS_RDONLY, NULL) || setuid(65534))
        return SKIPPED;
    for (int which = 0; which < 2; which++) {
        sett__cache *c;
        plan_set(NULL);
        if (sett__cache_open(&c, &(sett__cache_options){.layers = which ? folder : pack, .os = &os_faulty}, NULL))
            return FAILED;
        for (int i = 0; i < SHIPPED; i++) {
            sett__entry e = {0};
            ok &= !sett__cache_find(c, &m[i].key, &m[i].entry.key_material, keep, &e, NULL) && made_is(&m[i], &e);
            sett__entry_free(&e);
        }
        sett__cache_close(c);
        ok &= calls_in_all > SHIPPED && !calls_that_write();
    }
    for (int i = 0; i < SHIPPED; i++)
        made_free(&m[i]);
    return ok ? OK : FAILED;
}

long f16_other_user(bool full, char *figures, size_t size)
{
    (void)full;
    return told(in_child(other_user, NULL), "20 of a pack and 20 of a folder, all hits, no call that writes", figures, size);
}

static void count_warnings(void *user, sett_log_level level, const char *component, const char *message)
{
    (void)component, (void)message;
    *(int *)user += level <= SETT_LOG_WARNING;
}

static int homeless(void *user)
{
    const char *home = user;
    int warnings = 0;
    sett_kernel *k;
    sett_engine *e;
    unsetenv("SETT_CACHE_DIR"), unsetenv("XDG_CACHE_HOME"), unsetenv("HOME");
    if (home)
        setenv("HOME", home, 1);
    if (setuid(65534))
        return SKIPPED;
    const sett_engine_options o = {
        .size = sizeof o, .no_gpu = true, .cpu_threads = 1, .log = count_warnings, .user = &warnings};
    bool ok = !sett_engine_open(&e, &o, NULL) && !sett_compile(e, scale, NULL, &k, NULL);
    if (ok)
        sett_kernel_release(k), sett_engine_close(e);
    return ok && warnings == 1 ? OK : FAILED;
}

long f6_homeless(bool full, char *figures, size_t size)
{
    static const char *const homes[] = {NULL, "/", "/root", "/nonexistent", "", "relative"};
    int code = OK;
    (void)full;
    for (size_t i = 0; i < SETT__COUNT(homes) && code == OK; i++)
        code = in_child(homeless, (void *)(uintptr_t)homes[i]);
    return told(code, "6 homes of a user without rights, one warning each", figures, size);
}

/* ---- F12 --------------------------------------------------------------------------------------------------- */
/* What is put where. The cache lies in above/cache; outside/ is what must stay untouched, and holds an entry that is
 * sound and not ours. */
enum { LINK_OUT, LINK_NOWHERE, LINK_ROUND, HARD_LINK, PIPE, SOCKET, DEVICE, FOLDER, EMPTY, STRANGER, EVERYBODY, GROUP, N_TRICKS };
static const char *const tricks[N_TRICKS] = {"a link out", "a link to nowhere", "a link to itself", "a hard link", "a pipe", "a socket",
    "a device", "a folder", "an empty file", "a stranger's", "everybody's", "a group's"};
static const char *const places[] = {"above", "above/cache", "above/cache/SETT1", "above/cache/v1", "above/cache/v1/%s",
    "above/cache/v1/%s/%s", "above/cache/tmp", "above/cache/quarantine", "above/cache/locks", "above/cache/trim"};
enum { ABOVE, ROOT, MARKER, V1, SHELF, ENTRY, TMP, QUARANTINE, LOCKS, TRIM, N_PLACES };

typedef struct attack {
    int place, trick;
    made ours, theirs; /* of one key */
    char path[300], outside[300];
    int logged;
} attack;

static bool is_folder(int place)
{
    return place == ABOVE || place == ROOT || place == V1 || place == SHELF || place == TMP || place == QUARANTINE;
}

static void remove_any(const char *path)
{
    struct stat st;
    if (!lstat(path, &st) && S_ISDIR(st.st_mode))
        folder_remove(path);
    else
        unlink(path);
}

static bool bind_socket(const char *path)
{
    char here[4096];
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    char *slash = strrchr(path, '/');
    snprintf(a.sun_path, sizeof a.sun_path, "%s", slash + 1); /* a whole path may be too long for it */
    bool ok = fd >= 0 && getcwd(here, sizeof here);
    *slash = 0;
    ok = ok && !chdir(path) && !bind(fd, (struct sockaddr *)&a, sizeof a);
    *slash = '/';
    ok = ok && !chdir(here);
    close(fd);
    return ok;
}

/* Above the cache a stranger may have made a link; in it, where only we write, it is ours. */
static bool plant_link(const char *to, const attack *a)
{
    return !symlink(to, a->path) && (a->place > ROOT || !lchown(a->path, 12345, 12345));
}

/* The thing itself: with our rights kept or a stranger's given; what was there goes. */
static bool plant(attack *a)
{
    const char *p = a->path;
    if (a->trick == STRANGER)
        return !lchown(p, 12345, 12345);
    if (a->trick == EVERYBODY || a->trick == GROUP)
        return !chmod(p, (is_folder(a->place) ? 0700 : 0600) | (a->trick == GROUP ? 0020 : 0002));
    remove_any(p);
    switch (a->trick) {
    case LINK_OUT:
        return plant_link(a->outside, a);
    case LINK_NOWHERE:
        return plant_link("/nonexistent/file", a);
    case LINK_ROUND:
        return plant_link(strrchr(p, '/') + 1, a);
    case HARD_LINK:
        return !is_folder(a->place) && !link(a->outside, p);
    case PIPE:
        return !mkfifo(p, 0600);
    case SOCKET:
        return bind_socket(a->path);
    case DEVICE:
        return !mknod(p, S_IFCHR | 0600, 1 << 8 | 5); /* /dev/zero: reads do not end */
    case FOLDER:
        return !is_folder(a->place) && !mkdir(p, 0700);
    default:
        return !fclose(fopen(p, "w"));
    }
}

static void keep_count(void *user, sett_log_level level, const char *component, const char *message)
{
    (void)component, (void)message;
    *(int *)user += level <= SETT_LOG_WARNING;
}

static sett_status is_it(void *user, sett__entry *e, int layer, sett_error *err)
{
    const attack *a = user;
    (void)layer, (void)err;
    sett_status s = made_is(&a->ours, e) ? SETT_OK : SETT_E_INTERNAL;
    sett__entry_free(e);
    return s;
}

/* As an engine does: look, and on a miss make and write. What stands in the way may cost the entry, never more. */
static bool use_cache(attack *a)
{
    sett__cache *c;
    char root[300];
    sett__ticket t = {0};
    snprintf(root, sizeof root, "%s/above/cache", in_root("f12"));
    atomic_uint_fast64_t drops = 0;
    sett__logger log = {0};
    const sett_engine_options to = {.log = keep_count, .user = &a->logged};
    sett__logger_open(&log, &to, &drops, NULL);
    const sett__cache_options o = {.folder = root, .log = &log, .cap = 1 << 20};
    if (sett__cache_open(&c, &o, NULL))
        return false;
    sett_status s = sett__cache_find(c, &a->ours.key, &a->ours.entry.key_material, is_it, a, NULL);
    sett__disk *d = sett__cache_folder(c);
    if (s && d) {
        sett__disk_lock(d, &a->ours.key, 100, false, &t);
        sett__disk_put(d, &a->ours.key, &a->ours.entry, false, NULL);
        sett__disk_unlock(&t);
    }
    sett__cache_close(c);
    return s == SETT_OK || s == SETT_E_NOT_CACHED;
}

static bool lay_out(attack *a)
{
    sett__entry_name n;
    char root[300], shelf[3];
    void *file;
    size_t len;
    folder_remove(in_root("f12"));
    mkdir(in_root("f12"), 0700);
    made_new(&a->ours, 1, 500), made_new(&a->theirs, 2, 500);
    memcpy(a->theirs.material, a->ours.material, sizeof a->ours.material);
    a->theirs.key = a->ours.key;
    a->theirs.entry.key_material = (sett__blob){a->theirs.material, strlen(a->theirs.material)};
    snprintf(root, sizeof root, "%s/above/cache", in_root("f12"));
    sett__disk *d = disk_open(root, NULL, 1 << 20);
    sett__ticket t = {0};
    bool ok = d && !sett__disk_put(d, &a->ours.key, &a->ours.entry, false, NULL);
    sett__disk_lock(d, &a->ours.key, 0, false, &t); /* so that there is a lock file to attack */
    sett__disk_unlock(&t);
    sett__disk_close(d);
    sett__entry_name_of(&a->ours.key, &n);
    memcpy(shelf, n.dir, sizeof shelf);
    char form[300];
    snprintf(form, sizeof form, "%s/%s", in_root("f12"), places[a->place]);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(a->path, sizeof a->path, form, shelf, n.file);
#pragma GCC diagnostic pop
    /* What a link leads to: a whole cache of theirs, or a file of theirs. */
    ok = ok && !sett__entry_encode(&a->theirs.key, &a->theirs.entry, NULL, &file, &len, NULL);
    snprintf(a->outside, sizeof a->outside, "%s", in_root("outside"));
    remove_any(a->outside);
    if (is_folder(a->place)) {
        ok = ok && !mkdir(a->outside, 0700);
        strcat(a->outside, "/entry");
        write_file(a->outside, file, len, 0600);
        *strrchr(a->outside, '/') = 0;
    } else {
        write_file(a->outside, file, len, 0600);
        ok = ok && (a->trick != HARD_LINK || !chmod(a->outside, 0600));
    }
    free(file);
    return ok && !lchown(a->outside, 12345, 12345);
}

static void fingerprint(const attack *a, struct stat *st)
{
    memset(st, 0, sizeof *st);
    stat(a->outside, st);
    st->st_atim = st->st_ctim = (struct timespec){0}; /* a hard link and a look change these */
    st->st_nlink = 0;
}

static int one_attack(void *user)
{
    attack *a = user;
    struct stat before, after;
    if (!lay_out(a) || !plant(a))
        return SKIPPED;
    fingerprint(a, &before);
    bool ok = use_cache(a);
    fingerprint(a, &after);
    bool touched = memcmp(&before, &after, sizeof before) != 0;
    bool rights = a->trick >= STRANGER;
    bool harmless = a->place >= LOCKS || (a->place == MARKER && (rights || a->trick == HARD_LINK || a->trick == EMPTY) && a->trick != STRANGER) ||
                    (a->place == SHELF && rights); /* the lock and the sum hold nothing; ours is found all the same */
    bool must_log = !harmless;
    if (!ok || touched || (must_log && !a->logged))
        return FAILED;
    return OK;
}

/* One swaps what is right for a link to what is not while others look. */
static void *swap_round(void *user)
{
    attack *a = user;
    char right[320], wrong[320];
    snprintf(right, sizeof right, "%s.right", a->outside);
    snprintf(wrong, sizeof wrong, "%s.wrong", a->outside);
    for (int i = 0; !a->logged; i++) {
        unlink(wrong);
        if (symlink(a->outside, wrong) || link(a->path, right))
            break;
        rename(wrong, a->path);
        rename(right, a->path);
    }
    return NULL;
}

static int swapped(void *user)
{
    attack *a = user;
    pthread_t t;
    char root[300];
    long seen = 0;
    bool ok = true;
    if (!lay_out(a))
        return SKIPPED;
    snprintf(root, sizeof root, "%s/above/cache", in_root("f12"));
    sett__disk *d = disk_open(root, NULL, 0);
    atomic_store(&d->read_only, true); /* it may not mend what is to go on */
    pthread_create(&t, NULL, swap_round, a);
    double end = sett__now_ms() + 300;
    while (sett__now_ms() < end) {
        sett_status s = made_get(d, &a->ours);
        ok &= s != SETT_E_INTERNAL;
        seen += s == SETT_OK;
    }
    a->logged = 1;
    pthread_join(t, NULL);
    sett__disk_close(d);
    return ok && seen ? OK : FAILED;
}

long f12_attacks(bool full, char *figures, size_t size)
{
    long bad = 0, tried = 0;
    if (geteuid()) {
        snprintf(figures, size, "skipped: only root can play a stranger");
        return 0;
    }
    for (int place = 0; place < N_PLACES; place++)
        for (int trick = full ? 0 : place % 2; trick < N_TRICKS; trick += full ? 1 : 2) {
            attack a = {.place = place, .trick = trick};
            int code = in_child(one_attack, &a);
            tried += code != SKIPPED;
            if (code == FAILED)
                bad += complain("%s as %s", tricks[trick], places[place]);
        }
    attack a = {.place = ENTRY};
    bad += in_child(swapped, &a) == FAILED ? complain("swapped while it is read") : 0;
    snprintf(figures, size, "%ld attacks, and an entry swapped while it is read", tried);
    return bad;
}
