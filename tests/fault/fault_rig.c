/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fault/fault.h"
#include "tests/rig/sample.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- entries ----------------------------------------------------------------------------------- */
void made_new(made *m, unsigned number, size_t cubin_len)
{
    *m = (made){.cubin_len = cubin_len, .cubin = malloc(cubin_len)};
    uint8_t head[CUBIN];
    uint64_t seed = number + 1;
    snprintf(m->material, sizeof m->material, "kernel number %u", number);
    fill_cubin(head);
    memcpy(m->cubin, head, 64);
    for (size_t i = 64; i < cubin_len; i++)
        m->cubin[i] = (uint8_t)(i % 8 ? seed >> i % 8 * 8 : dice(&seed));
    m->entry = (sett__entry){
        .key_material = {m->material, strlen(m->material)}, .meta = {"meta", 4}, .cubin = {m->cubin, cubin_len}};
    sett__sha256(m->material, strlen(m->material), &m->key);
}

void made_free(made *m)
{
    free(m->cubin);
}

bool made_is(const made *m, const sett__entry *e)
{
    return e->cubin.len == m->cubin_len && !memcmp(e->cubin.data, m->cubin, m->cubin_len);
}

sett_status made_get(sett__disk *d, const made *m)
{
    sett__entry e;
    sett_status s = sett__disk_get(d, &m->key, &m->entry.key_material, &e, NULL);
    if (s)
        return s;
    s = made_is(m, &e) ? SETT_OK : SETT_E_INTERNAL;
    sett__entry_free(&e);
    return s;
}

sett__disk *disk_open(const char *path, const sett__os *os, uint64_t cap)
{
    sett__disk *d = NULL;
    sett_error err = {0};
    if (sett__disk_open(&d, &(sett__disk_options){.path = path, .os = os, .cap = cap}, &err))
        complain("%s", err.text);
    return d;
}

int open_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;
    while (dir && readdir(dir))
        n++;
    closedir(dir);
    return n;
}

/* ---- processes ------------------------------------------------------------------------------------ */
/* What a process of a coverage build has counted would be lost with _exit(). */
extern void __gcov_dump(void) __attribute__((weak));

int crew_run(int n, crew_fn *prepare, crew_fn *fn, void *user, double *ms)
{
    enum { MOST = 64 };
    int ready[2], go[2], bad = 0;
    pid_t id[MOST];
    char c;
    double *shared = mmap(NULL, sizeof(double) * (size_t)n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || pipe(ready) || pipe(go))
        return n;
    fflush(NULL);
    for (int i = 0; i < n; i++)
        if (!(id[i] = fork())) {
            close(go[1]);
            bool ok = !prepare || prepare(i, user);
            ok &= write(ready[1], "", 1) == 1 && read(go[0], &c, 1) == 0;
            double start = sett__now_ms();
            ok = ok && fn(i, user);
            shared[i] = sett__now_ms() - start;
            if (__gcov_dump)
                __gcov_dump();
            _exit(!ok);
        }
    for (int i = 0; i < n; i++)
        bad += read(ready[0], &c, 1) != 1;
    close(go[1]);
    for (int i = 0, status; i < n; i++)
        bad += waitpid(id[i], &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status);
    if (ms)
        memcpy(ms, shared, sizeof(double) * (size_t)n);
    close(ready[0]), close(ready[1]), close(go[0]);
    munmap(shared, sizeof(double) * (size_t)n);
    return bad;
}

static struct turns {
    tries_fn *fn;
    bool full;
    int crew, index;
    long asked;
    atomic_long *sums; /* failures, tries */
} turns = {.crew = 1};

bool my_turn(void)
{
    return turns.asked++ % turns.crew == turns.index;
}

static bool take_turns(int index, void *user)
{
    long tried = 0;
    turns.index = index;
    make_root();
    atomic_fetch_add(&turns.sums[0], turns.fn(turns.full, &tried));
    drop_root();
    atomic_fetch_add(&turns.sums[1], tried);
    (void)user;
    return true;
}

long by_turns(tries_fn *fn, bool full, long *tried)
{
    enum { MOST = 64 };
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    atomic_long *sums = mmap(NULL, 2 * sizeof *sums, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (sums == MAP_FAILED)
        return complain("no memory");
    turns = (struct turns){fn, full, (int)(cores < 1 ? 1 : cores > MOST ? MOST : cores), 0, 0, sums};
    long bad = crew_run(turns.crew, NULL, take_turns, NULL, NULL) + sums[0];
    *tried = sums[1];
    munmap(sums, 2 * sizeof *sums);
    return bad;
}

/* ---- engines ------------------------------------------------------------------------------------------ */
sett_engine *engine_with(const sett__os *os, int wait_ms)
{
    char plugin[4096];
    ssize_t n = readlink("/proc/self/exe", plugin, sizeof plugin - 20);
    sett_engine_options o = options();
    sett_engine *e;
    sett__cache *cache;
    sett_error err = {0};
    plugin[n > 0 ? n : 0] = 0;
    strcpy(strrchr(plugin, '/'), "/fake-ptx.so");
    o.plugin = plugin;
    o.compile_wait_ms = wait_ms;
    o.cache_dir = "";
    if (sett_engine_open(&e, &o, &err)) {
        complain("%s", err.text);
        return NULL;
    }
    if (sett__cache_open(&cache, &(sett__cache_options){.folder = in_root("cache"), .os = os}, &err)) {
        sett_engine_close(e); /* no memory, as was planned */
        return NULL;
    }
    sett__cache_close(e->cache);
    e->cache = cache;
    return e;
}

static variant variant_of(int number)
{
    return (variant){40 + number, 64, 2.0};
}

static sett_compile_options asked(const variant *v)
{
    return (sett_compile_options){.size = sizeof(sett_compile_options), .name = "scale", .target = "sm_90a", .user = v};
}

sett_status engine_kernel(sett_engine *e, int number, sett_kernel **k, sett_error *err)
{
    const variant v = variant_of(number);
    const sett_compile_options o = asked(&v);
    return sett_compile(e, scale, &o, k, err);
}

sett_status engine_key(sett_engine *e, int number, sett__digest *key)
{
    const variant v = variant_of(number);
    const sett_compile_options o = asked(&v);
    return sett_key(e, scale, &o, key->b, NULL);
}

bool kernel_right(sett_kernel *k)
{
    sett_kernel_info info = {.size = sizeof info};
    bool ok = !sett_kernel_query(k, &info) && info.cubin_size == 64 && !memcmp(info.cubin, "\177ELF\2\1", 6);
    sett_kernel_release(k);
    return ok;
}
