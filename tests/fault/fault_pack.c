/* SPDX-License-Identifier: Apache-2.0 */
/* P: packs, damaged and half written; Z3: under random damage. */
#include "tests/fault/fault.h"
#include "tests/fuzz/fuzz.h"
#include "tests/rig/sample.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ENTRIES = 3, CUBIN_SIZE = 200 };

typedef struct patient {
    made m[ENTRIES];
    uint8_t *file;
    size_t len;
    char path[300];
} patient;

static sett_status write_pack(const sett__os *os, const char *path)
{
    sett__cache *c;
    uint64_t n;
    const sett_pack_options o = {.size = sizeof o};
    sett_status s = sett__cache_open(&c, &(sett__cache_options){.layers = in_root("source"), .os = os}, NULL);
    if (s)
        return s;
    s = sett__pack_write(c, path, &o, &n, NULL);
    sett__cache_close(c);
    return s;
}

static uint8_t *whole_file(const char *path, size_t *len)
{
    *len = file_size(path);
    uint8_t *p = malloc(*len + 1);
    FILE *f = fopen(path, "rb");
    if (f && fread(p, 1, *len, f) != *len)
        *len = 0;
    if (f)
        fclose(f);
    return p;
}

/* The entries lie in source/ and, for healing, in cache/. */
static bool admit(patient *p)
{
    bool ok = true;
    for (int place = 0; place < 2; place++) {
        sett__disk *d = disk_open(in_root(place ? "cache" : "source"), NULL, 0);
        for (unsigned i = 0; i < ENTRIES && d; i++) {
            if (!place)
                made_new(&p->m[i], i, CUBIN_SIZE);
            ok &= !sett__disk_put(d, &p->m[i].key, &p->m[i].entry, false, NULL);
        }
        ok &= d != NULL;
        sett__disk_close(d);
    }
    snprintf(p->path, sizeof p->path, "%s", in_root("p.settpack"));
    ok = ok && !write_pack(NULL, p->path);
    p->file = whole_file(p->path, &p->len);
    return ok && p->len;
}

static void discharge(patient *p)
{
    for (int i = 0; i < ENTRIES; i++)
        made_free(&p->m[i]);
    free(p->file);
}

/* Entries that a layer gives right; -1: a wrong one. */
static int right(const patient *p, sett__layer *l)
{
    int n = 0;
    for (int i = 0; i < ENTRIES; i++) {
        sett__entry e;
        if (l->ops->get(l, &p->m[i].key, &p->m[i].entry.key_material, &e, NULL))
            continue;
        n += made_is(&p->m[i], &e) ? 1 : -100;
        sett__entry_free(&e);
    }
    return n < 0 ? -1 : n;
}

/* How many entries the bytes give; -2: they are refused as a whole. */
static int serves(const patient *p, const uint8_t *bytes, size_t len)
{
    sett__layer *l;
    write_file(p->path, bytes, len, 0600);
    if (sett__pack_open(&l, &(sett__pack_options){.path = p->path}, NULL))
        return -2;
    int n = right(p, l);
    l->ops->close(l);
    return n;
}

static sett_status keep(void *user, sett__entry *e, int layer, sett_error *err)
{
    (void)layer, (void)err;
    *(sett__entry *)user = *e;
    return SETT_OK;
}

/* With a folder behind it every kernel is found, and right. */
static long heals(const patient *p)
{
    sett__cache *c;
    long bad = 0;
    if (sett__cache_open(&c, &(sett__cache_options){.layers = p->path, .folder = in_root("cache")}, NULL))
        return 1;
    for (int i = 0; i < ENTRIES; i++) {
        sett__entry e = {0};
        bad += sett__cache_find(c, &p->m[i].key, NULL, keep, &e, NULL) || !made_is(&p->m[i], &e);
        sett__entry_free(&e);
    }
    sett__cache_close(c);
    return bad;
}

long p1_bits(bool full, char *figures, size_t size)
{
    patient p = {0};
    long bad = 0;
    size_t flips = 0, whole = 0;
    if (!admit(&p))
        return complain("no pack to damage");
    if (serves(&p, p.file, p.len) != ENTRIES)
        return complain("the pack does not serve");
    for (size_t bit = 0; bit < 8 * p.len; bit += full ? 1 : 41, flips++) {
        p.file[bit / 8] ^= (uint8_t)(1 << bit % 8);
        int n = serves(&p, p.file, p.len);
        whole += n == -2;
        if (n != -2 && n != ENTRIES - 1)
            bad += complain("bit %zu: %d entries are given", bit, n);
        bad += flips % 16 == 0 && heals(&p) ? complain("bit %zu: not healed", bit) : 0;
        p.file[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    snprintf(figures, size, "%zu bits of %zu bytes, %zu times the whole pack", flips, p.len, whole);
    discharge(&p);
    return bad;
}

long p2_lengths(bool full, char *figures, size_t size)
{
    patient p = {0};
    long bad = 0;
    size_t cuts = 0;
    sett__layer *l;
    if (!admit(&p))
        return complain("no pack to damage");
    for (size_t n = 0; n < p.len; n += full ? 1 : 41, cuts++)
        bad += serves(&p, p.file, n) != -2 ? complain("cut to %zu it is used", n) : 0;
    uint8_t *longer = calloc(1, p.len + 64);
    memcpy(longer, p.file, p.len);
    for (size_t n = 1; n <= 64; n++)
        bad += serves(&p, longer, p.len + n) != -2 ? complain("longer by %zu it is used", n) : 0;
    free(longer);
    /* Cut, or written over, or replaced, while it is open. */
    for (int how = 0; how < 3; how++) {
        write_file(p.path, p.file, p.len, 0600);
        if (sett__pack_open(&l, &(sett__pack_options){.path = p.path}, NULL))
            return bad + complain("it does not open");
        if (how == 0)
            bad += truncate(p.path, (off_t)p.len / 2) != 0;
        else if (how == 1)
            memset(p.file + p.len - 64, 7, 64), write_file(p.path, p.file, p.len, 0600);
        else
            write_file(in_root("new"), "new", 3, 0600), bad += rename(in_root("new"), p.path) != 0;
        int n = right(&p, l), want = how == 2 ? ENTRIES - 1
                                     : how    ? ENTRIES - 1
                                              : 0; /* the file of how 2 is that of how 1 */
        bad += n < want || n == ENTRIES ? complain("changed in way %d while open: %d entries are given", how, n) : 0;
        l->ops->close(l);
    }
    snprintf(figures, size, "%zu lengths, 64 longer, 3 changes of an open one", cuts);
    discharge(&p);
    return bad;
}

static int by_bytes(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(sett__digest));
}

/* ---- many, and nothing is written -------------------------------------------------------------------- */
/* A pack of n entries without the folder that it would come from, which takes n disk writes to make. */
static bool write_many(const char *path, unsigned n)
{
    uint64_t at = sett__pack_align(SETT__PACK_HEAD + n * (uint64_t)SETT__PACK_ROW), room = at + n * (uint64_t)2048;
    uint8_t *p = calloc(1, room), *index = p + SETT__PACK_HEAD;
    sett__digest *keys = calloc(n, sizeof *keys), sum;
    made *m = calloc(n, sizeof *m);
    for (unsigned i = 0; i < n; i++) {
        made_new(&m[i], i, CUBIN);
        keys[i] = m[i].key;
    }
    qsort(keys, n, sizeof *keys, by_bytes);
    for (unsigned i = 0; i < n; i++) {
        const sett__digest *to = bsearch(&m[i].key, keys, n, sizeof *keys, by_bytes);
        memcpy(index + (size_t)(to - keys) * SETT__PACK_ROW, &i, sizeof i); /* who stands there, for the next loop */
    }
    bool ok = true;
    for (unsigned k = 0, i; k < n && ok; k++) {
        void *file;
        size_t len;
        uint8_t *slot = index + (size_t)k * SETT__PACK_ROW;
        memcpy(&i, slot, sizeof i);
        ok = !sett__entry_encode(&m[i].key, &m[i].entry, NULL, &file, &len, NULL) && len <= 2048;
        if (!ok)
            break;
        memcpy(slot, m[i].key.b, 32);
        le(slot + 32, at, 8), le(slot + 40, len, 8);
        memcpy(slot + 48, (uint8_t *)file + len - 32, 32);
        memcpy(p + at, file, len);
        at = sett__pack_align(at + len);
        free(file);
    }
    sett__pack_head h = {.file_len = at, .count = n};
    sett__sha256(index, n * (size_t)SETT__PACK_ROW, &sum);
    memcpy(h.index_sum, sum.b, 32);
    ok = ok && !sett__pack_head_write(p, &h, NULL, NULL);
    write_file(path, p, at, 0600);
    for (unsigned i = 0; i < n; i++)
        made_free(&m[i]);
    free(m), free(keys), free(p);
    return ok;
}

long p4_many(bool full, char *figures, size_t size)
{
    enum { MOST = 10000, OPENS = 21 };
    const char *path = in_root("many");
    double best = 1e9, get_us = 0;
    long bad = 0;
    sett__layer *l;
    (void)full;
    if (!write_many(path, MOST))
        return complain("no pack of %d entries", MOST);
    plan_set(NULL);
    for (int i = 0; i < OPENS; i++) {
        double start = sett__now_ms();
        if (sett__pack_open(&l, &(sett__pack_options){.path = path, .os = &os_faulty}, NULL))
            return complain("it does not open");
        double ms = sett__now_ms() - start;
        best = ms < best ? ms : best;
        if (i + 1 < OPENS)
            l->ops->close(l);
    }
    for (unsigned i = 0; i < MOST; i++) {
        made m;
        sett__entry e;
        made_new(&m, i, CUBIN);
        double start = sett__now_ms();
        sett_status s = l->ops->get(l, &m.key, &m.entry.key_material, &e, NULL);
        get_us += (sett__now_ms() - start) * 1e3 / MOST;
        bad += s || !made_is(&m, &e);
        if (!s)
            sett__entry_free(&e);
        made_free(&m);
    }
    l->ops->close(l);
    bad += calls_that_write() ? complain("%ld calls that write", calls_that_write()) : 0;
    snprintf(figures, size, "%d keys, opened in %.1f ms at best of %d, %.1f us an entry, no call that writes", MOST, best, OPENS, get_us);
    return bad;
}

static sett_status count_wrong(void *user, const sett__layer_item *it)
{
    const patient *p = ((void **)user)[0];
    long *wrong = ((void **)user)[1];
    bool any = !it->entry;
    for (int i = 0; i < ENTRIES && !any; i++)
        any = !memcmp(&p->m[i].key, it->key, sizeof *it->key) && made_is(&p->m[i], it->entry);
    *wrong += !any;
    return *wrong > 0 ? SETT_E_CLOSED : SETT_OK;
}

static sett_status enough(void *user, const sett__layer_item *it)
{
    (void)user, (void)it;
    return SETT_E_CLOSED;
}

static long calls_made;
static long read_pack(const patient *p, const plan *how)
{
    sett__layer *l;
    long wrong = 0;
    void *user[] = {(void *)(uintptr_t)p, &wrong};
    int files = open_files();
    plan_set(how);
    sett_status s = sett__pack_open(&l, &(sett__pack_options){.path = p->path, .os = &os_faulty}, NULL);
    if (!s) {
        wrong += right(p, l) < 0;
        sett_status seen = l->ops->walk(l, count_wrong, user);
        wrong += seen && seen != SETT_E_MEMORY;
        wrong += !how && l->ops->walk(l, enough, NULL) != SETT_E_CLOSED;
        wrong += l->ops->refuse(l, &p->m[0].key); /* it cannot be moved out of a pack */
        l->ops->close(l);
    }
    calls_made = calls_in_all;
    plan_set(NULL);
    wrong += open_files() != files || (s && s != SETT_E_IO && s != SETT_E_MEMORY) || (s && !how);
    return wrong;
}

/* Who may write it, or it belongs to: refused, whatever it holds. */
static long strangers(const patient *p)
{
    sett__layer *l;
    sett_error err = {0};
    const sett__pack_options o = {.path = p->path};
    long bad = chmod(p->path, 0666) || sett__pack_open(&l, &o, &err) != SETT_E_IO || !strstr(err.text, "written by others");
    bad += chmod(p->path, 0620) || sett__pack_open(&l, &o, &err) != SETT_E_IO || !strstr(err.text, "written by others");
    bad += chmod(p->path, 0600) != 0;
    if (!geteuid())
        bad += chown(p->path, 1, 1) || sett__pack_open(&l, &o, &err) != SETT_E_IO || !strstr(err.text, "another user") || chown(p->path, 0, 0);
    return bad ? complain("a stranger's pack: %s", err.text) : 0;
}

long p5_reads(bool full, char *figures, size_t size)
{
    static const int errors[] = {EIO, ENOSPC, EACCES, EPERM, EROFS, EMFILE, ENFILE, ENOMEM, EINTR, ESTALE, EBUSY, ENOENT};
    patient p = {0};
    long bad = 0, tried = 0, turn = 0;
    if (!admit(&p))
        return complain("no pack to read");
    bad += read_pack(&p, NULL) + strangers(&p);
    for (long at = 1, total = calls_made; at <= total; at++)
        for (size_t i = 0; i < 2 * SETT__COUNT(errors); i++) {
            if (turn++ % (full ? 1 : 5))
                continue;
            long wrong = read_pack(&p, &(plan){MISHAP_ERROR, -1, at, i % 2, errors[i / 2], 0, 0});
            bad += wrong ? complain("call %ld gave %s: something wrong", at, strerror(errors[i / 2])) : 0;
            tried++;
        }
    bad += read_pack(&p, &(plan){.what = MISHAP_SHORT, .call = -1, .at = -1}) != 0;
    snprintf(figures, size, "%ld errors over %ld calls", tried, turn / 24);
    discharge(&p);
    return bad;
}

/* ---- writing -------------------------------------------------------------------------------------- */
static bool is_whole(const char *path, const patient *p)
{
    size_t len;
    uint8_t *now = whole_file(path, &len);
    bool same = len == p->len && !memcmp(now, p->file, len);
    free(now);
    return same;
}

/* Written over the word "old", or where nothing stood. A process of its own; its exit status, or that it was killed. */
static int write_in_child(const char *path, bool over, const plan *how)
{
    int status = 0;
    unlink(path);
    if (over)
        write_file(path, "old", 3, 0644);
    pid_t id = fork();
    if (!id) {
        plan_set(how);
        _exit(write_pack(&os_faulty, path) != SETT_OK);
    }
    waitpid(id, &status, 0);
    return status;
}

static int names_beside(const char *path)
{
    int n = 0;
    const char *name = strrchr(path, '/') + 1;
    DIR *dir = opendir(in_root("."));
    for (struct dirent *e; dir && (e = readdir(dir));)
        n += !strncmp(e->d_name, name, strlen(name)) && e->d_name[strlen(name)];
    if (dir)
        closedir(dir);
    return n;
}

/* What stands there is whole or what stood there; what lies beside it goes with the next pack, two hours later. */
static long after_kill(const char *path, const patient *p, bool over, long at, long *left)
{
    long bad = 0;
    bool stood = over ? file_size(path) == 3 : access(path, F_OK) != 0;
    if (!stood && !is_whole(path, p))
        bad += complain("killed at call %ld: a part of a pack stands there", at);
    *left += names_beside(path);
    plan_set(&(plan){.clock = 7200});
    if (write_pack(&os_faulty, path) || !is_whole(path, p) || names_beside(path))
        bad += complain("killed at call %ld: the next pack leaves %d names", at, names_beside(path));
    plan_set(NULL);
    return bad;
}

long p3_writes(bool full, char *figures, size_t size)
{
    static const int errors[] = {EIO, ENOSPC, EACCES, EINTR, EROFS, EMFILE};
    patient p = {0};
    long bad = 0, kills = 0, failures = 0, left = 0, total;
    if (!admit(&p))
        return complain("no pack to write");
    char path[300];
    snprintf(path, sizeof path, "%s", in_root("out")); /* in_root gives one of 8 buffers */
    plan_set(NULL);
    bad += write_pack(&os_faulty, path) || !is_whole(path, &p);
    total = calls_in_all;
    for (long at = 1; at <= total; at += full ? 1 : 12) {
        for (int how = 0; how < 4; how++, kills++) {
            bool over = how / 2;
            write_in_child(path, over, &(plan){.what = how % 2 ? MISHAP_KILL_AFTER : MISHAP_KILL_BEFORE, .call = -1, .at = at});
            bad += after_kill(path, &p, over, at, &left);
        }
        for (size_t i = 0; i < SETT__COUNT(errors); i++, failures++) {
            int status = write_in_child(path, true, &(plan){.what = MISHAP_ERROR, .call = -1, .at = at, .error = errors[i]});
            bool done = WIFEXITED(status) && !WEXITSTATUS(status), whole = is_whole(path, &p);
            if (!WIFEXITED(status) || (done ? !whole : !whole && file_size(path) != 3))
                bad += complain(
                    "call %ld gave %s: status %d, %s", at, strerror(errors[i]), status, whole ? "whole" : "not whole");
        }
    }
    bad += write_in_child(path, true, &(plan){.what = MISHAP_SHORT, .call = -1, .at = -1}) || !is_whole(path, &p);
    plan_set(NULL);
    snprintf(figures, size, "%ld kills, %ld of them left a file for the next to remove, %ld errors over %ld calls", kills, left, failures, total);
    discharge(&p);
    return bad;
}

/* ---- random damage ---------------------------------------------------------------------------------- */
static void damage_rounds(const patient *p, long rounds)
{
    uint64_t seed = 20261122;
    uint8_t *copy = malloc(p->len);
    for (long i = 0; i < rounds; i++) {
        memcpy(copy, p->file, p->len);
        for (uint64_t k = dice(&seed) % 4 + 1; k; k--) {
            const uint64_t edges[] = {
                0, 1, 2, 3, 63, 64, p->len - 64, p->len, p->len + 64, UINT32_MAX, INT64_MAX, UINT64_MAX};
            uint64_t r = dice(&seed), v = r % 2 ? edges[r / 2 % SETT__COUNT(edges)] : r;
            size_t width = (size_t)1 << dice(&seed) % 4, span = SETT__PACK_HEAD + ENTRIES * SETT__PACK_ROW;
            memcpy(copy + dice(&seed) % (span / width) * width, &v, width);
        }
        fuzz_pack(copy, p->len);
    }
    free(copy);
}

/* The digests made good, so that each rule has to hold by itself; the target aborts where one does not. */
long fuzz_packs(bool full, char *figures, size_t size)
{
    patient p = {0};
    if (!admit(&p))
        return complain("no pack to damage");
    long rounds = full ? 1000000 : 20000;
    damage_rounds(&p, rounds);
    snprintf(figures, size, "%ld rounds", rounds);
    discharge(&p);
    return 0;
}
