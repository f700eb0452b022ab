/* SPDX-License-Identifier: Apache-2.0 */
/* F3, F4, F11: calls that fail or never return, and clocks that are wrong. */
#include "tests/fault/fault.h"
#include "tests/rig/folder.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    ENTRIES = 6,
    CUBIN_SIZE = 20000,
};

/* ---- F3: a process is killed at a call ------------------------------------------------------------ */
/* A little of everything: open, put, put over damage, get, heal, trim. */
static bool life(const sett__os *os, uint64_t seed)
{
    bool ok = true;
    sett__disk *d = disk_open(in_root("cache"), os, 1 << 20);
    for (unsigned i = 0; d && i < ENTRIES; i++) {
        made m;
        char path[300];
        sett__entry_name n;
        made_new(&m, (unsigned)((seed + i) % 8), CUBIN_SIZE);
        sett__entry_name_of(&m.key, &n);
        snprintf(path, sizeof path, "%s/v1/%s/%s", in_root("cache"), n.dir, n.file);
        if (i == 3 && !access(path, F_OK))
            ok &= !truncate(path, 777); /* damage, to be found and mended */
        ok &= made_get(d, &m) != SETT_E_INTERNAL;
        ok &= !sett__disk_put(d, &m.key, &m.entry, false, NULL);
        made_free(&m);
    }
    uint64_t left;
    ok &= d && !sett__disk_trim(d, seed % 2 ? 60000 : 1 << 20, &left, NULL);
    sett__disk_close(d);
    return ok;
}

/* Whatever was left: only right entries are given, and one trim two hours later leaves no temporary file. */
static long inspect(const char *when, long k)
{
    long bad = 0;
    const plan later = {.clock = 7200};
    uint64_t left;
    plan_set(&later);
    sett__disk *d = disk_open(in_root("cache"), &os_faulty, 1 << 20);
    if (!d)
        return complain("%s %ld: the folder cannot be opened", when, k);
    for (unsigned i = 0; i < 8; i++) {
        made m;
        made_new(&m, i, CUBIN_SIZE);
        bad += made_get(d, &m) == SETT_E_INTERNAL ? complain("%s %ld: a wrong entry", when, k) : 0;
        made_free(&m);
    }
    bad += sett__disk_trim(d, UINT64_MAX, &left, NULL) ? complain("%s %ld: no trim", when, k) : 0;
    sett__disk_close(d);
    if (rmdir(in_root("cache/tmp")))
        bad += complain("%s %ld: leftovers in tmp", when, k);
    plan_set(NULL);
    return bad;
}

static long one_kill(mishap what, long at, uint64_t seed)
{
    int status;
    pid_t id = fork();
    if (!id) {
        const plan p = {.what = what, .call = -1, .at = at};
        plan_set(&p);
        _exit(life(&os_faulty, seed) ? 0 : 3);
    }
    waitpid(id, &status, 0);
    if (WIFSIGNALED(status) ? WTERMSIG(status) != SIGKILL : WEXITSTATUS(status) != 0)
        return complain("call %ld: status %#x", at, status);
    return inspect(what == MISHAP_KILL_BEFORE ? "killed before call" : "killed after call", at);
}

static long lives(bool full, long *kills)
{
    long bad = 0, n = 0;
    for (uint64_t seed = 0; seed < (full ? 20 : 2); seed++) {
        plan_set(NULL);
        if (!life(&os_faulty, seed)) /* how many calls there are */
            return complain("it fails with nothing planned");
        long total = calls_in_all;
        for (long k = 1 + (long)seed % 7; k <= total && bad < 20; k += full ? 3 : 29, n++)
            if (my_turn()) {
                bad += one_kill(n % 2 ? MISHAP_KILL_BEFORE : MISHAP_KILL_AFTER, k, seed);
                ++*kills;
            }
    }
    return bad;
}

long f3_kills(bool full, char *figures, size_t size)
{
    long kills, bad = by_turns(lives, full, &kills);
    snprintf(figures, size, "%ld kills of %d lives", kills, full ? 20 : 2);
    return bad;
}

/* ---- F4: a call fails ---------------------------------------------------------------------------------- */
static const int errors[] = {EIO, ENOSPC, EDQUOT, EACCES, EPERM, EROFS, EMFILE, ENFILE, ENOMEM, EINTR, ESTALE, EBUSY,
    ENOLCK, ENAMETOOLONG};

typedef struct scene {
    const char *name;
    bool warm, damaged; /* the folder holds the entry; it is damaged */
} scene;
static const scene scenes[] = {{"cold", false, false}, {"warm", true, false}, {"damaged", true, true}};

static bool entry_path(sett_engine *e, char path[300])
{
    const variant v = {40, 64, 2.0};
    const sett_compile_options o = {.size = sizeof o, .target = "sm_90a", .user = &v};
    sett__digest key;
    sett__entry_name n;
    if (sett_key(e, scale, &o, key.b, NULL))
        return false;
    sett__entry_name_of(&key, &n);
    snprintf(path, 300, "%s/v1/%s/%s", in_root("cache"), n.dir, n.file);
    return true;
}

/* One engine from opening to closing. SETT_E_MEMORY is an answer to a lack of memory and to nothing else. */
static long play(const scene *sc, const plan *p)
{
    sett_kernel *k;
    sett_error err = {0};
    int files = open_files();
    plan_set(p);
    sett_engine *e = engine_with(&os_faulty, 50); /* one that hangs, the watcher kills */
    sett_status s = e ? engine_kernel(e, 0, &k, &err) : SETT_E_MEMORY;
    bool right = !s && kernel_right(k);
    sett_engine_close(e);
    plan_set(NULL);
    if (!right && !(p && p->error == ENOMEM && s == SETT_E_MEMORY))
        return complain("%s: status %d: %s", sc->name, s, err.text);
    if (open_files() != files)
        return complain("%s: %d files were left open", sc->name, open_files() - files);
    return 0;
}

static bool set_scene(const scene *sc)
{
    char path[300];
    sett_kernel *k;
    folder_remove(in_root("cache"));
    if (!sc->warm)
        return true;
    sett_engine *e = engine_with(NULL, 50);
    bool ok = e && !engine_kernel(e, 0, &k, NULL) && kernel_right(k) && entry_path(e, path);
    sett_engine_close(e);
    return ok && (!sc->damaged || !truncate(path, 600));
}

/* Afterwards: what lies there is right, or nothing does. */
static long look_after(const scene *sc)
{
    sett_kernel *k;
    sett_engine *e = engine_with(NULL, 50);
    bool ok = e && !engine_kernel(e, 0, &k, NULL) && kernel_right(k) && (sc->damaged || !stats(e).refusals);
    sett_engine_close(e);
    return ok ? 0 : complain("%s: the folder was left unsound", sc->name);
}

static long fail_each(const scene *sc, const long *count, int step, long *tried)
{
    long bad = 0, turn = 0;
    for (int call = 0; call < N_CALLS; call++)
        for (long at = 1; at <= count[call]; at++)
            for (size_t i = 0; i < 2 * SETT__COUNT(errors) && bad < 20; i++) {
                const plan p = {MISHAP_ERROR, call, at, i % 2, errors[i / 2], 0, 0};
                if (turn++ % step)
                    continue;
                long worse = !set_scene(sc) ? complain("the scene cannot be set") : play(sc, &p) + look_after(sc);
                if (worse)
                    complain("    %s call %ld%s: %s", call_names[call], at, i % 2 ? " and all after" : "", strerror(p.error));
                bad += worse;
                ++*tried;
            }
    return bad;
}

long f4_errors(bool full, char *figures, size_t size)
{
    long bad = 0, tried = 0, total = 0;
    for (size_t i = 0; i < SETT__COUNT(scenes); i++) {
        const plan halves = {.what = MISHAP_SHORT, .at = -1, .call = -1};
        long count[N_CALLS];
        set_scene(&scenes[i]);
        bad += play(&scenes[i], NULL);
        set_scene(&scenes[i]);
        plan_set(NULL);
        sett_kernel *k;
        sett_engine *e = engine_with(&os_faulty, 50);
        bad += !e || engine_kernel(e, 0, &k, NULL) || !kernel_right(k);
        sett_engine_close(e);
        for (int c = 0; c < N_CALLS; c++)
            total += count[c] = calls[c];
        set_scene(&scenes[i]);
        bad += play(&scenes[i], &halves) + look_after(&scenes[i]);
        bad += fail_each(&scenes[i], count, full ? 1 : 151, &tried);
    }
    snprintf(figures, size, "%ld errors over %ld calls of %d kinds", tried, total, N_CALLS);
    return bad;
}

/* ---- F11: clocks ---------------------------------------------------------------------------------------- */
static void age(const made *m, int64_t seconds)
{
    sett__entry_name n;
    char path[300];
    struct timespec now[2];
    clock_gettime(CLOCK_REALTIME, &now[0]);
    sett__entry_name_of(&m->key, &n);
    snprintf(path, sizeof path, "%s/v1/%s/%s", in_root("cache"), n.dir, n.file);
    now[0].tv_sec = seconds == INT64_MIN ? 0 : now[0].tv_sec + seconds;
    now[1] = now[0];
    utimensat(AT_FDCWD, path, now, 0);
}

/* 20 entries, the first 10 stamped as said; trimmed to about half by a process whose clock is wrong by so much. */
static long one_clock(int64_t stamp, int64_t clock, unsigned keep, unsigned lose, const char *what)
{
    enum { N = 20 };
    const plan p = {.clock = clock};
    made m[N];
    uint64_t left;
    long bad = 0, kept[2] = {0};
    folder_remove(in_root("cache"));
    plan_set(&p);
    sett__disk *d = disk_open(in_root("cache"), &os_faulty, 0);
    for (unsigned i = 0; i < N; i++) {
        made_new(&m[i], i, CUBIN_SIZE);
        bad += sett__disk_put(d, &m[i].key, &m[i].entry, false, NULL) != SETT_OK;
        if (i < N / 2)
            age(&m[i], stamp);
    }
    for (int round = 0; round < 2; round++) { /* stamps of the future count as now, and are older the next time */
        for (unsigned i = N / 2; i < N && round; i++)
            age(&m[i], clock + 10);
        bad += sett__disk_trim(d, round ? 24576 * 5 : UINT64_MAX, &left, NULL) != SETT_OK;
    }
    for (unsigned i = 0; i < N; i++) {
        kept[i >= N / 2] += made_get(d, &m[i]) == SETT_OK;
        made_free(&m[i]);
    }
    sett__disk_close(d);
    plan_set(NULL);
    if (kept[0] > (long)keep || kept[1] < (long)lose || left > 24576 * 5)
        bad += complain("%s: %ld with the odd stamp and %ld fresh ones are left", what, kept[0], kept[1]);
    return bad;
}

long f11_clocks(bool full, char *figures, size_t size)
{
    const int64_t year = 365 * 86400, day = 86400;
    (void)full;
    long bad = one_clock(10 * year, 0, 0, 5, "stamps ten years ahead") + one_clock(INT64_MIN, 0, 0, 5, "stamps of 1970") +
               one_clock(-day, 0, 0, 5, "stamps of yesterday") + one_clock(0, day, 5, 0, "a clock a day ahead") +
               one_clock(0, -day, 5, 0, "a clock a day behind") + one_clock(10 * year, day, 0, 5, "both ahead");
    snprintf(figures, size, "6 wrong clocks and stamps");
    return bad;
}
