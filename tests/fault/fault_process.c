/* SPDX-License-Identifier: Apache-2.0 */
/* F7, F8, F9, F10, F13: many processes on one folder. */
#include "tests/fault/fault.h"
#include "tests/rig/folder.h"
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- F7: one compile a key ---------------------------------------------------------------------- */
enum { COMPILE_MS = 100, THREADS = 8 };

typedef struct want {
    int keys, threads, first;
} want;

typedef struct seeker {
    sett_engine *e;
    const want *w;
    int start;
    bool ok;
} seeker;

static void *seek(void *user)
{
    seeker *s = user;
    s->ok = true;
    for (int i = 0; i < s->w->keys; i++) { /* each starts elsewhere */
        sett_kernel *k;
        s->ok &= !engine_kernel(s->e, s->w->first + (s->start + i) % s->w->keys, &k, NULL) && kernel_right(k);
    }
    return NULL;
}

static sett_engine *engine; /* of a crew's process */

static bool open_one(int index, void *user)
{
    (void)index, (void)user;
    engine = engine_with(NULL, 60000);
    return engine != NULL;
}

static bool seekers(int index, void *user)
{
    const want *w = user;
    seeker s[THREADS];
    pthread_t t[THREADS];
    bool ok = true;
    for (int i = 0; i < w->threads && ok; i++) {
        s[i] = (seeker){engine, w, index * 7 + i * 3, false};
        if (i)
            ok = !pthread_create(&t[i], NULL, seek, &s[i]);
    }
    if (ok)
        seek(&s[0]);
    for (int i = 0; i < w->threads && ok; i++)
        ok = (!i || !pthread_join(t[i], NULL)) && s[i].ok;
    sett_engine_close(engine);
    return ok;
}

static double longest(const double *ms, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++)
        most = ms[i] > most ? ms[i] : most;
    return most;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* One process alone tells what one compile takes here; what many take longer than that is the overhead. */
static long herd(int processes, int threads, int keys, int first, int rounds, char *figures, size_t size)
{
    enum { MOST = 100 };
    double ms[64], over[MOST];
    long bad = 0;
    int compiles = 0;
    setenv("FAKE_PTX_MS", keys > 1 ? "5" : "100", 1);
    for (int r = 0; r < rounds; r++) {
        want alone = {1, 1, 100000 + first + r}, many = {keys, threads, first + r * keys};
        bad += crew_run(1, open_one, seekers, &alone, ms) != 0;
        double one = ms[0];
        int before = assembled();
        int wrong = crew_run(processes, open_one, seekers, &many, ms);
        if (wrong || assembled() - before != keys)
            bad += complain("round %d: %d of %d processes failed, %d compiles", r, wrong, processes, assembled() - before);
        over[r] = longest(ms, processes) - one;
        compiles += assembled() - before;
    }
    unsetenv("FAKE_PTX_MS");
    qsort(over, (size_t)rounds, sizeof *over, by_value);
    int n = snprintf(figures, size, "%d rounds of %d processes x %d threads x %d keys: %d compiles", rounds, processes, threads,
        keys, compiles);
    if (keys == 1)
        snprintf(figures + n, size - (size_t)n, ", the last of them done %.1f ms (median; best %.1f, worst %.1f) after one alone would be",
            over[rounds / 2], over[0], over[rounds - 1]);
    return bad;
}

long f7_one_key(bool full, char *figures, size_t size)
{
    return herd(full ? 64 : 24, 1, 1, 0, full ? 100 : 2, figures, size);
}

long f7_many_keys(bool full, char *figures, size_t size)
{
    return herd(full ? 64 : 12, 1, full ? 64 : 16, 0, full ? 100 : 1, figures, size);
}

long f7_threads(bool full, char *figures, size_t size)
{
    char one[200], eight[200];
    long bad = herd(full ? 16 : 6, THREADS, 1, 0, full ? 100 : 2, one, sizeof one) +
               herd(full ? 16 : 4, THREADS, 8, 1000, full ? 100 : 1, eight, sizeof eight);
    snprintf(figures, size, "%s; %s", one, eight);
    return bad;
}

/* ---- F8: who holds the turn does not give it back -------------------------------------------------- */
enum { WAITERS = 16 };
typedef struct vigil {
    made m;
    double wait_ms;
    sett__turn expect;
    _Atomic double *struck; /* shared: when; 0: not yet */
} vigil;

static bool wait_for_turn(int index, void *user)
{
    const vigil *v = user;
    sett__ticket t = {0};
    sett__disk *d = disk_open(in_root("cache"), NULL, 0);
    (void)index;
    if (!d)
        return false;
    bool late = *v->struck != 0; /* on a busy machine: then there may be nobody to wait for */
    sett__turn turn = sett__disk_lock(d, &v->m.key, v->wait_ms, false, &t);
    sett__disk_unlock(&t);
    sett__disk_close(d);
    return turn == v->expect || (late && turn == SETT__TURN_AT_ONCE);
}

/* A process that takes the turn, after `late` others, and keeps it; grandchild: and has a child that has its open files. */
static pid_t keeper(const sett__digest *key, int late, bool grandchild, pid_t *child)
{
    int told[2];
    pid_t ids[2] = {0};
    if (pipe(told))
        return -1;
    pid_t id = fork();
    if (!id) {
        sett__ticket t = {0};
        sett__disk *d = disk_open(in_root("cache"), NULL, 0);
        bool ok = d && sett__disk_lock(d, key, late ? 20 : 1000, false, &t) == (late ? SETT__TURN_LATE : SETT__TURN_AT_ONCE) && t.late == late;
        ids[0] = grandchild ? fork() : 0;
        if (grandchild && !ids[0])
            for (;;)
                pause();
        ids[1] = ok;
        if (write(told[1], ids, sizeof ids) == sizeof ids)
            for (;;)
                pause();
        _exit(1);
    }
    bool ok = read(told[0], ids, sizeof ids) == sizeof ids && ids[1];
    close(told[0]), close(told[1]);
    *child = ids[0];
    return ok ? id : -1;
}

typedef struct striker {
    pid_t id;
    int signal;
    _Atomic double *at;
} striker;

static void *strike_later(void *user)
{
    striker *s = user;
    nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
    *s->at = sett__now_ms();
    kill(s->id, s->signal);
    return NULL;
}

/* How long after the strike all who waited had had their turn, at worst. */
static long vigils(int rounds, int signal, bool grandchild, vigil *v, char *figures, size_t size)
{
    long bad = 0;
    double worst = 0;
    v->struck = mmap(NULL, sizeof *v->struck, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int r = 0; r < rounds && v->struck != MAP_FAILED; r++) {
        double ms[WAITERS];
        pthread_t t;
        *v->struck = 0;
        made_new(&v->m, (unsigned)r, 100);
        pid_t child = 0;
        striker s = {keeper(&v->m.key, 0, grandchild, &child), signal, v->struck};
        if (s.id < 0 || pthread_create(&t, NULL, strike_later, &s))
            return complain("nobody keeps the turn");
        bad += crew_run(WAITERS, NULL, wait_for_turn, v, ms);
        double ended = sett__now_ms();
        pthread_join(t, NULL);
        worst = ended - *v->struck > worst ? ended - *v->struck : worst;
        kill(s.id, SIGKILL);
        if (child)
            kill(child, SIGKILL);
        waitpid(s.id, NULL, 0);
        made_free(&v->m);
    }
    munmap((void *)(uintptr_t)v->struck, sizeof *v->struck);
    snprintf(figures, size, "%d rounds of %d who wait, the last done %.1f ms after it at worst", rounds, WAITERS, worst);
    return bad;
}

/* The goal is 50 ms to the first who takes over; here all have had it one after another, on a machine that may be busy. That none
 * waited to its deadline, .expect says. */
long f8_killed(bool full, char *figures, size_t size)
{
    vigil v = {.wait_ms = 600000, .expect = SETT__TURN_WAITED};
    return vigils(full ? 100 : 4, SIGKILL, false, &v, figures, size);
}

long f8_forked(bool full, char *figures, size_t size)
{
    vigil v = {.wait_ms = 600000, .expect = SETT__TURN_WAITED};
    return vigils(full ? 100 : 4, SIGKILL, true, &v, figures, size);
}

long f8_stopped(bool full, char *figures, size_t size)
{
    vigil v = {.wait_ms = 200, .expect = SETT__TURN_LATE};
    return vigils(full ? 100 : 2, SIGSTOP, false, &v, figures, size);
}

/* Engines that want a kernel whose turns are held by processes that do not run: how many compile it. */
enum { HERD = 32, HERD_WAIT_MS = 400 };

static bool open_patient(int index, void *user)
{
    (void)index, (void)user;
    engine = engine_with(NULL, HERD_WAIT_MS);
    return engine != NULL;
}

static int herd_behind(int stopped, int number, double *last)
{
    want w = {1, 1, number};
    sett__digest key;
    pid_t id[SETT__TURNS], child;
    double ms[HERD];
    bool ok = open_patient(0, NULL) && !engine_key(engine, number, &key);
    sett_engine_close(engine);
    for (int i = 0; i < stopped; i++) {
        id[i] = ok ? keeper(&key, i, false, &child) : -1;
        ok = id[i] > 0 && !kill(id[i], SIGSTOP);
    }
    int before = assembled();
    ok = ok && !crew_run(HERD, open_patient, seekers, &w, ms);
    for (int i = 0; i < stopped; i++)
        if (id[i] > 0)
            kill(id[i], SIGKILL), waitpid(id[i], NULL, 0);
    *last = longest(ms, HERD);
    return ok ? assembled() - before : -1;
}

/* One of those who wait compiles, whether one or two are stopped; behind as many as there are turns each does. */
long f8_herd(bool full, char *figures, size_t size)
{
    int rounds = full ? 20 : 1, most[SETT__TURNS] = {0};
    double last, worst[SETT__TURNS] = {0};
    long bad = 0;
    setenv("FAKE_PTX_MS", "50", 1);
    for (int i = 0; i < rounds * SETT__TURNS; i++) {
        int stopped = i % SETT__TURNS + 1, n = herd_behind(stopped, i, &last);
        bool all = stopped == SETT__TURNS;
        if (n < 1 || n > (all ? HERD : 1) || last > 20000)
            bad += complain("%d compiles behind %d who are stopped, the last done after %.0f ms", n, stopped, last);
        most[stopped - 1] = n > most[stopped - 1] ? n : most[stopped - 1];
        worst[stopped - 1] = last > worst[stopped - 1] ? last : worst[stopped - 1];
    }
    unsetenv("FAKE_PTX_MS");
    snprintf(figures, size, "%d rounds of %d processes that wait %d ms a turn, behind 1, 2, 3 who are stopped: %d, %d, %d compiles at most, the last done after %.0f, %.0f, %.0f ms at worst",
        rounds, HERD, HERD_WAIT_MS, most[0], most[1], most[2], worst[0], worst[1], worst[2]);
    return bad;
}

/* ---- F9: a file system that does not keep its promises ------------------------------------------------- */
typedef struct lies {
    int keys;
} lies;

/* What an engine does, with an entry in place of a compile. At most one of each key. */
static bool use_dishonest(int index, void *user)
{
    const lies *l = user;
    bool ok = true;
    planned.chance = 200;
    sett__disk *d = disk_open(in_root("cache"), &os_dishonest, 0);
    for (int i = 0; d && i < l->keys; i++) {
        made m;
        sett__ticket t = {0};
        made_new(&m, (unsigned)((i + index * 11) % l->keys), 500);
        sett_status s = made_get(d, &m);
        if (s == SETT_E_NOT_CACHED) {
            sett__disk_lock(d, &m.key, 1000, false, &t);
            s = made_get(d, &m);
            if (s == SETT_E_NOT_CACHED)
                sett__disk_put(d, &m.key, &m.entry, false, NULL); /* may fail: the kernel is in memory */
            sett__disk_unlock(&t);
        }
        ok &= s == SETT_OK || s == SETT_E_NOT_CACHED;
        made_free(&m);
    }
    ok &= d && !d->layer.refusals;
    sett__disk_close(d);
    return ok;
}

long f9_lies(bool full, char *figures, size_t size)
{
    lies l = {full ? 1000 : 60};
    long bad = crew_run(8, NULL, use_dishonest, &l, NULL), there = 0;
    sett__disk *d = disk_open(in_root("cache"), NULL, 0);
    for (int i = 0; i < l.keys; i++) {
        made m;
        made_new(&m, (unsigned)i, 500);
        sett_status s = made_get(d, &m);
        bad += s && s != SETT_E_NOT_CACHED;
        there += !s;
        made_free(&m);
    }
    sett__disk_close(d);
    snprintf(figures, size, "8 processes x %d keys, one call in five a lie; %ld entries stand, all right", l.keys, there);
    return bad;
}

/* ---- F10: the cap -------------------------------------------------------------------------------------- */
enum { WRITERS = 8, READERS = 8, TRIMMERS = 2 };
typedef struct traffic {
    uint64_t cap;
    unsigned keys;
    double seconds;
    atomic_long *hits, *gets, *puts, *trims; /* shared */
} traffic;

static size_t cubin_of(unsigned number)
{
    return 8192 + number * 7919 % (56 << 10);
}

static int no_sync(int fd)
{
    (void)fd;
    return 0;
}

static bool drive(int index, void *user)
{
    traffic *t = user;
    uint64_t seed = (uint64_t)index * 977 + 12345;
    bool ok = true;
    sett__os os = sett__os_libc;
    os.fdatasync = no_sync; /* of a memory file system nothing is lost, and there are more operations a second */
    sett__disk *d = disk_open(in_root("shm/cache"), &os, t->cap);
    double end = sett__now_ms() + t->seconds * 1e3;
    for (long i = 0; d && ok && (sett__now_ms() < end || !atomic_load(t->hits) || !atomic_load(t->trims)); i++) {
        unsigned number = (unsigned)(dice(&seed) % t->keys);
        made m;
        if (index >= WRITERS + READERS) {
            uint64_t left;
            sett_status s = sett__disk_trim(d, t->cap / 10 * (5 + dice(&seed) % 5), &left, NULL);
            ok = !s || s == SETT_E_IO; /* the others keep their turn */
            atomic_fetch_add(t->trims, !s);
            nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
            continue;
        }
        made_new(&m, number, cubin_of(number));
        sett_status s = index < WRITERS ? sett__disk_put(d, &m.key, &m.entry, false, NULL) : made_get(d, &m);
        if (index < WRITERS)
            ok = !s, atomic_fetch_add(t->puts, 1);
        else
            ok = !s || s == SETT_E_NOT_CACHED, atomic_fetch_add(t->hits, !s), atomic_fetch_add(t->gets, 1);
        made_free(&m);
    }
    ok &= d && !d->layer.refusals;
    sett__disk_close(d);
    return ok;
}

static uint64_t folder_bytes(const char *path)
{
    uint64_t sum = 0;
    DIR *dir = opendir(path);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char below[700];
        struct stat st;
        snprintf(below, sizeof below, "%s/%s", path, e->d_name);
        if (e->d_name[0] != '.' && !lstat(below, &st))
            sum += S_ISDIR(st.st_mode) ? folder_bytes(below) : (uint64_t)st.st_blocks * 512;
    }
    if (dir)
        closedir(dir);
    return sum;
}

typedef struct gauge {
    atomic_bool stop;
    uint64_t most;
    char path[300];
} gauge;

static void *watch(void *user)
{
    gauge *g = user;
    while (!g->stop) {
        uint64_t now = folder_bytes(g->path);
        g->most = now > g->most ? now : g->most;
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
    return NULL;
}

long f10_lru(bool full, char *figures, size_t size)
{
    char shm[64] = "/dev/shm/sett-fault-XXXXXX";
    gauge g = {0};
    pthread_t t;
    atomic_long *n = mmap(NULL, 4 * sizeof *n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    traffic tr = {(full ? 64u : 8u) << 20, full ? 10000 : 1000, full ? 60 : 1.5, n, n + 1, n + 2, n + 3};
    if (n == MAP_FAILED || !mkdtemp(shm) || symlink(shm, in_root("shm")))
        return complain("no folder in memory");
    snprintf(g.path, sizeof g.path, "%s/cache/v1", shm);
    pthread_create(&t, NULL, watch, &g);
    long bad = crew_run(WRITERS + READERS + TRIMMERS, NULL, drive, &tr, NULL);
    g.stop = true;
    pthread_join(t, NULL);
    uint64_t limit = tr.cap + WRITERS * (tr.cap / 5 + (uint64_t)(66 << 10)); /* a trimmer may hold the lock for over 0.1 s: docs/cache.md */
    if (g.most > limit || !g.most || !*tr.hits || !*tr.trims)
        bad += complain("%llu bytes of %llu allowed, %ld hits", (unsigned long long)g.most, (unsigned long long)limit, (long)*tr.hits);
    snprintf(figures, size, "%ld puts, %ld gets, %ld of them hits, %ld trims of %u keys; at most %.1f MiB under a cap of %.0f",
        (long)*tr.puts, (long)*tr.gets, (long)*tr.hits, (long)*tr.trims, tr.keys, (double)g.most / 1048576, (double)tr.cap / 1048576);
    folder_remove(shm);
    unlink(in_root("shm"));
    munmap(n, 4 * sizeof *n);
    return bad;
}

/* ---- F13: rm -rf under a running server ------------------------------------------------------------------ */
typedef struct removal {
    double seconds;
    volatile bool *over; /* shared by the processes: nobody removes any more */
} removal;

static bool keep_on(int index, void *user)
{
    const removal *r = user;
    uint64_t seed = (uint64_t)index + 99;
    double end = sett__now_ms() + r->seconds * 1e3;
    bool ok = true;
    sett__disk *d = disk_open(in_root("cache"), NULL, 0);
    while (d && (sett__now_ms() < end || !*r->over)) {
        made m;
        made_new(&m, (unsigned)(dice(&seed) % 50), 500);
        sett_status s = made_get(d, &m);
        if (s && s != SETT_E_NOT_CACHED)
            ok = !complain("process %d got status %d", index, s);
        if (s)
            sett__disk_put(d, &m.key, &m.entry, false, NULL);
        made_free(&m);
    }
    made m;
    sett_error err = {0};
    made_new(&m, 1000 + (unsigned)index, 500); /* it is written and found */
    if (!d || sett__disk_put(d, &m.key, &m.entry, false, &err) || made_get(d, &m))
        ok = !complain("process %d has lost its folder: %s", index, d && err.text[0] ? err.text : d ? "not found" : "not opened");
    made_free(&m);
    sett__disk_close(d);
    return ok;
}

static void *remove_all(void *user)
{
    const removal *r = user;
    double end = sett__now_ms() + r->seconds * 0.8e3;
    for (int i = 0; sett__now_ms() < end; i++) {
        char path[300], aside[300];
        snprintf(path, sizeof path, "%s%s", in_root("cache"), i % 3 == 1 ? "/tmp" : i % 3 == 2 ? "/v1" : "");
        snprintf(aside, sizeof aside, "%s-%d", in_root("moved"), i);
        if (i % 6 != 3 || rename(path, aside))
            folder_remove(path);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    *r->over = true;
    return NULL;
}

/* What a removal leaves: nothing; what was made after it had passed, in any of two orders; all but the marker. */
static void leave_nothing(void)
{
    folder_remove(in_root("cache"));
}
static void leave_tmp(void)
{
    folder_remove(in_root("cache/v1"));
    unlink(in_root("cache/SETT1"));
}
static void leave_v1(void)
{
    folder_remove(in_root("cache/tmp"));
    folder_remove(in_root("cache/quarantine"));
    unlink(in_root("cache/SETT1"));
}
static void leave_all_but_marker(void)
{
    unlink(in_root("cache/SETT1"));
}
static void (*const removals[])(void) = {leave_nothing, leave_tmp, leave_v1, leave_all_but_marker};

/* Opened, written and read, with one removal before call k: the entry is written, at the latest the next one is, and who
 * comes later finds that. *total: how many calls there are. */
static long removed_once(long k, bool there, long *total)
{
    const plan p = {.what = MISHAP_REMOVAL, .call = -1, .at = k};
    made m, next;
    long bad = 0;
    made_new(&m, 1, 500), made_new(&next, 2, 500);
    folder_remove(in_root("cache"));
    if (there)
        sett__disk_close(disk_open(in_root("cache"), NULL, 0));
    plan_set(&p);
    sett__disk *d = disk_open(in_root("cache"), &os_faulty, 0);
    sett_status put = d ? sett__disk_put(d, &m.key, &m.entry, false, NULL) : SETT_E_IO, got = d ? made_get(d, &m) : SETT_E_IO;
    *total = calls_in_all;
    plan_set(NULL);
    if (put || (got && got != SETT_E_NOT_CACHED))
        bad += complain("removed before call %ld: put %d, got %d", k, put, got);
    if (d && (sett__disk_put(d, &next.key, &next.entry, false, NULL) || made_get(d, &next)))
        bad += complain("removed before call %ld: never made again", k);
    sett__disk_close(d);
    d = disk_open(in_root("cache"), NULL, 0);
    if (!d || made_get(d, &next))
        bad += complain("removed before call %ld: who comes later finds nothing", k);
    sett__disk_close(d);
    made_free(&m), made_free(&next);
    return bad;
}

static long removed_anywhere(bool full, long *tried)
{
    long bad = 0, total = 1;
    for (size_t i = 0; i < 2 * SETT__COUNT(removals); i++) {
        removal_planned = removals[i / 2];
        for (long k = 1; k <= total && bad < 20; k += full ? 1 : 1 + k / 8, ++*tried)
            bad += removed_once(k, i % 2, &total);
    }
    folder_remove(in_root("cache"));
    return bad;
}

long f13_removed(bool full, char *figures, size_t size)
{
    long tried = 0, wrong = removed_anywhere(full, &tried);
    removal r = {full ? 30 : 1, mmap(NULL, sizeof *r.over, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)};
    pthread_t t;
    pthread_create(&t, NULL, remove_all, &r);
    long bad = crew_run(8, NULL, keep_on, &r, NULL);
    pthread_join(t, NULL);
    munmap((void *)(uintptr_t)r.over, sizeof *r.over);
    snprintf(figures, size, "%ld removals before a call; 8 processes for %.0f s, folders removed or moved each 10 ms", tried, r.seconds);
    return bad + wrong;
}

/* ---- T: threads of one process ------------------------------------------------------------------------------ */
enum { SWARM = 32, SWARM_KERNELS = 16 };
typedef struct swarm {
    sett_engine *e;
    uint8_t key[SWARM_KERNELS][32];
    sett__disk *d;
    long gets;
} swarm;
typedef struct bee {
    swarm *s;
    uint64_t seed;
    bool ok;
} bee;

/* Mostly kernels by key from memory; now and then the folder under it, read, written, damaged by nobody, trimmed. */
static void *fly(void *user)
{
    bee *b = user;
    for (long i = 0; i < b->s->gets; i++) {
        uint64_t r = dice(&b->seed);
        sett_kernel *k = NULL;
        b->ok &= !sett_kernel_get(b->s->e, b->s->key[r % SWARM_KERNELS], &k, NULL);
        sett_kernel_release(k);
        if (i % (b->s->gets / 100))
            continue;
        made m;
        sett__ticket t = {0};
        uint64_t left;
        made_new(&m, (unsigned)(r >> 8) % 64, 4000);
        sett_status s = made_get(b->s->d, &m);
        b->ok &= !s || s == SETT_E_NOT_CACHED;
        if (s && sett__disk_lock(b->s->d, &m.key, 5, false, &t) != SETT__TURN_TIMEOUT)
            b->ok &= !sett__disk_put(b->s->d, &m.key, &m.entry, false, NULL);
        if (s)
            sett__disk_unlock(&t);
        if (r % 61 == 0)
            sett__disk_trim(b->s->d, 100000, &left, NULL);
        made_free(&m);
    }
    return NULL;
}

long t_threads(bool full, char *figures, size_t size)
{
    swarm s = {.e = engine_with(NULL, 0), .d = disk_open(in_root("other"), NULL, 200000), .gets = full ? 1000000 : 4000};
    bee b[SWARM];
    pthread_t t[SWARM];
    long bad = 0;
    for (int i = 0; s.e && i < SWARM_KERNELS; i++) {
        sett_kernel_info info = {.size = sizeof info};
        sett_kernel *k;
        if (engine_kernel(s.e, i, &k, NULL) || sett_kernel_query(k, &info))
            return complain("no kernels to get");
        memcpy(s.key[i], info.key, 32);
        sett_kernel_release(k);
    }
    for (int i = 0; i < SWARM; i++) {
        b[i] = (bee){&s, (uint64_t)i * 7919 + 1, true};
        pthread_create(&t[i], NULL, fly, &b[i]);
    }
    for (int i = 0; i < SWARM; i++)
        bad += pthread_join(t[i], NULL) || !b[i].ok;
    bad += s.d->layer.refusals != 0;
    snprintf(figures, size, "%d threads x %ld kernels by key; %ld bytes read, %ld writes, %ld evictions on disk", SWARM, s.gets,
        (long)s.d->layer.read_bytes, (long)s.d->layer.writes, (long)s.d->layer.evictions);
    sett__disk_close(s.d);
    sett_engine_close(s.e);
    return bad;
}
