/* SPDX-License-Identifier: Apache-2.0 */
/* What a server's start reads of a warm cache: each entry once, from a folder, a pack, or both, also when threads ask for the
 * same kernels at once. Every file call goes through a table that counts. */
#include "tests/rig/faces.h"
#include "jit/cache/inside.h"
#include "tests/rig/rig.h"
#include "tests/rig/suite.h"
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { KERNELS = 24, THREADS = 4, FDS = 1024 };
static atomic_int entries, entry_reads, pack_reads; /* files of entries that were opened; reads of them, and of packs */
static atomic_char kind[FDS];                       /* of what is open: 'e', 'p', or 0 */

static bool ends_in(const char *path, const char *end)
{
    size_t n = strlen(path), m = strlen(end);
    return n >= m && !strcmp(path + n - m, end);
}

/* The next call that does not find what it opens returns when it may. */
enum { FREELY, ARMED, STALLED };
static atomic_int stall;

static int counting_openat(int at, const char *path, int flags, mode_t mode)
{
    int fd = sett__os_libc.openat(at, path, flags, mode), armed = ARMED;
    if (fd < 0 && atomic_compare_exchange_strong(&stall, &armed, STALLED))
        while (stall != FREELY)
            usleep(1000);
    if (fd < 0 || fd >= FDS)
        return fd;
    kind[fd] = ends_in(path, ".sett") ? 'e' : ends_in(path, ".settpack") ? 'p' : 0;
    entries += kind[fd] == 'e';
    return fd;
}

static atomic_bool slowly; /* entries are read so that whoever wants one meanwhile comes in time */

static ssize_t counting_pread(int fd, void *to, size_t len, off_t from)
{
    char what = fd >= 0 && fd < FDS ? kind[fd] : 0;
    if (slowly && what == 'e')
        usleep(20000);
    entry_reads += what == 'e';
    pack_reads += what == 'p';
    return sett__os_libc.pread(fd, to, len, from);
}

static sett_kernel *numbered(sett_engine *e, int i)
{
    const variant v = {40 + i, 64, 2.0};
    const sett_compile_options o = {.size = sizeof o, .name = "scale", .target = "sm_90a", .user = &v};
    sett_kernel *k = NULL;
    sett_error err = {0};
    ck_assert_msg(!sett_compile(e, scale, &o, &k, &err), "%s", err.text);
    return k;
}

/* Compiles kernels into a folder. */
static void warm(const char *folder, int from, int to)
{
    sett_engine_options o = options();
    o.cache_dir = folder;
    sett_engine *e = open_with(&o);
    for (int i = from; i < to; i++)
        sett_kernel_release(numbered(e, i));
    sett_engine_close(e);
}

static void pack(const char *folder, const char *path)
{
    sett_engine_options o = options();
    sett_error err = {0};
    uint64_t n;
    o.cache_dir = folder;
    sett_engine *e = open_with(&o);
    ck_assert_msg(!sett_pack_write(e, path, NULL, &n, &err), "%s", err.text);
    sett_engine_close(e);
}

/* An engine whose cache is read through the counting table. */
static sett_engine *start(const char *layers, const char *folder)
{
    static sett__os os;
    os = sett__os_libc;
    os.openat = counting_openat;
    os.pread = counting_pread;
    sett_engine_options o = options();
    sett_error err = {0};
    sett__cache *cache;
    o.cache_dir = "";
    sett_engine *e = open_with(&o);
    ck_assert_msg(!sett__cache_open(&cache, &(sett__cache_options){.layers = layers, .folder = folder, .os = &os}, &err), "%s", err.text);
    sett__cache_close(e->cache);
    e->cache = cache;
    entries = entry_reads = pack_reads = 0;
    return e;
}

typedef struct server {
    sett_engine *e;
    int first;
    sett_kernel *kernel[KERNELS];
} server;

static void *serve(void *user)
{
    server *s = user;
    for (int i = 0; i < KERNELS; i++)
        s->kernel[i] = numbered(s->e, (s->first + i) % KERNELS);
    return NULL;
}

/* By one thread, or by some that begin at the same kernel or at others; then all of it once more. */
static void start_reads(const char *layers, const char *folder, int threads, bool together, int files, int in_pack)
{
    server s[THREADS];
    pthread_t id[THREADS];
    sett_engine *e = start(layers, folder);
    for (int i = 0; i < threads; i++) {
        s[i] = (server){.e = e, .first = together ? 0 : i * KERNELS / threads};
        ck_assert_int_eq(pthread_create(&id[i], NULL, serve, &s[i]), 0);
    }
    for (int i = 0; i < threads; i++)
        ck_assert_int_eq(pthread_join(id[i], NULL), 0);
    for (int i = 0; i < threads; i++)
        for (int j = 0; j < KERNELS; j++) {
            sett_kernel_info info = {.size = sizeof info};
            sett_kernel *found;
            ck_assert_int_eq(sett_kernel_query(s[i].kernel[j], &info), SETT_OK);
            ck_assert_int_eq(info.origin, SETT_FROM_DISK);
            ck_assert_int_eq(sett_kernel_get(e, info.key, &found, NULL), SETT_OK);
            ck_assert_ptr_eq(found, s[i].kernel[j]);
            sett_kernel_release(found);
            sett_kernel_release(s[i].kernel[j]);
        }
    ck_assert_msg(entries == files && entry_reads == files && pack_reads == in_pack,
        "%d threads: %d files of %d were opened, %d reads of them; %d reads of a pack for %d", threads, entries, files, entry_reads,
        pack_reads, in_pack);
    sett_engine_close(e);
}

static void each_once(const char *layers, const char *folder, int files, int in_pack)
{
    start_reads(layers, folder, 1, true, files, in_pack);
    start_reads(layers, folder, THREADS, true, files, in_pack);
    start_reads(layers, folder, THREADS, false, files, in_pack);
}

START_TEST(each_entry_once)
{
    char all[256], some[256];
    if (!have_compiler())
        return;
    warm(in_root("all"), 0, KERNELS);
    warm(in_root("half"), 0, KERNELS / 2);
    warm(in_root("rest"), KERNELS / 2, KERNELS);
    snprintf(all, sizeof all, "%s", in_root("all.settpack"));
    snprintf(some, sizeof some, "%s", in_root("half.settpack"));
    pack(in_root("all"), all);
    pack(in_root("half"), some);
    each_once("", in_root("all"), KERNELS, 0);
    each_once(in_root("all"), "", KERNELS, 0); /* a folder that is only read */
    each_once(all, "", 0, KERNELS);
    each_once(some, in_root("rest"), KERNELS / 2, KERNELS / 2);
    each_once(some, in_root("all"), KERNELS / 2, KERNELS / 2); /* what both have is read where it is asked for first */
}
END_TEST

/* ---- by key ---------------------------------------------------------------------------------------- */
enum { ASKERS = 16 };
typedef struct asker {
    sett_engine *e;
    const uint8_t *key;
    pthread_barrier_t *together;
    sett_status status;
    sett_kernel *kernel;
    sett_error err;
} asker;

static void *ask(void *user)
{
    asker *a = user;
    pthread_barrier_wait(a->together);
    a->status = sett_kernel_get(a->e, a->key, &a->kernel, &a->err);
    return NULL;
}

/* Sixteen threads ask for a key at once: all get the same kernel, or all the same miss. */
static void asked_at_once(sett_engine *e, const uint8_t key[32], bool there)
{
    pthread_barrier_t together;
    asker a[ASKERS];
    pthread_t id[ASKERS];
    ck_assert_int_eq(pthread_barrier_init(&together, NULL, ASKERS), 0);
    for (int i = 0; i < ASKERS; i++) {
        a[i] = (asker){.e = e, .key = key, .together = &together};
        ck_assert_int_eq(pthread_create(&id[i], NULL, ask, &a[i]), 0);
    }
    for (int i = 0; i < ASKERS; i++)
        ck_assert_int_eq(pthread_join(id[i], NULL), 0);
    for (int i = 0; i < ASKERS; i++) {
        ck_assert_int_eq(a[i].status, there ? SETT_OK : SETT_E_NOT_CACHED);
        ck_assert_ptr_eq(a[i].kernel, a[0].kernel);
        ck_assert_str_eq(a[i].err.text, a[0].err.text);
        ck_assert(there ? a[i].kernel && !a[i].err.status : !a[i].kernel && a[i].err.text[0]);
        sett_kernel_release(a[i].kernel);
    }
    pthread_barrier_destroy(&together);
}

START_TEST(each_key_once)
{
    uint8_t key[KERNELS][32], other[32] = {0};
    if (!have_compiler())
        return;
    warm(in_root("all"), 0, KERNELS);
    sett_engine *e = start("", in_root("all"));
    for (int i = 0; i < KERNELS; i++) {
        const variant v = {40 + i, 64, 2.0};
        const sett_compile_options o = {.size = sizeof o, .target = "sm_90a", .user = &v};
        ck_assert_int_eq(sett_key(e, scale, &o, key[i], NULL), SETT_OK);
        asked_at_once(e, key[i], true);
    }
    const sett_stats st = stats(e);
    ck_assert_int_eq(entries, KERNELS);
    ck_assert_int_eq(entry_reads, KERNELS);
    ck_assert_uint_eq(st.disk_hits, KERNELS);
    ck_assert_uint_eq(st.memory_hits + st.joined, KERNELS * (ASKERS - 1));
    asked_at_once(e, other, false);
    for (int i = 0; i < 32; i++)
        other[i] = (uint8_t)~key[0][i];
    asked_at_once(e, other, false);
    sett_engine_close(e);
}
END_TEST

/* Half of those who come at once ask for the key, half compile it. What is there is read once for all of them; what is not, is
 * compiled by these once, and those miss it or get it, without a wait for the compiler. */
typedef struct either {
    asker a;
    const variant *v;
} either;

static void *ask_either(void *user)
{
    either *m = user;
    const sett_compile_options o = {.size = sizeof o, .name = "scale", .target = "sm_90a", .user = m->v};
    if (!m->v)
        return ask(&m->a);
    pthread_barrier_wait(m->a.together);
    m->a.status = sett_compile(m->a.e, scale, &o, &m->a.kernel, &m->a.err);
    return NULL;
}

static void wanted_at_once(sett_engine *e, int number, bool there)
{
    const variant v = {40 + number, 64, 2.0};
    const sett_compile_options o = {.size = sizeof o, .target = "sm_90a", .user = &v};
    uint8_t key[32];
    pthread_barrier_t together;
    either m[ASKERS];
    pthread_t id[ASKERS];
    sett_kernel *k;
    ck_assert_int_eq(sett_key(e, scale, &o, key, NULL), SETT_OK);
    ck_assert_int_eq(pthread_barrier_init(&together, NULL, ASKERS), 0);
    for (int i = 0; i < ASKERS; i++) {
        m[i] = (either){{.e = e, .key = key, .together = &together}, i % 2 ? &v : NULL};
        ck_assert_int_eq(pthread_create(&id[i], NULL, ask_either, &m[i]), 0);
    }
    for (int i = 0; i < ASKERS; i++)
        ck_assert_int_eq(pthread_join(id[i], NULL), 0);
    ck_assert_int_eq(sett_kernel_get(e, key, &k, NULL), SETT_OK);
    for (int i = 0; i < ASKERS; i++) {
        if (there || m[i].v || !m[i].a.status)
            ck_assert_ptr_eq(m[i].a.kernel, k);
        else
            ck_assert(m[i].a.status == SETT_E_NOT_CACHED && !m[i].a.kernel && strstr(m[i].a.err.text, "no kernel of key"));
        sett_kernel_release(m[i].a.kernel);
    }
    sett_kernel_release(k);
    pthread_barrier_destroy(&together);
}

START_TEST(each_once_by_either_way)
{
    enum { NEW = 3 };
    if (!have_compiler())
        return;
    warm(in_root("all"), 0, KERNELS);
    sett_engine *e = start("", in_root("all"));
    slowly = true;
    for (int i = 0; i < KERNELS; i++)
        wanted_at_once(e, i, true);
    slowly = false;
    ck_assert_msg(entries == KERNELS && entry_reads == KERNELS, "%d files were opened, %d reads of them", entries, entry_reads);
    ck_assert_uint_eq(stats(e).disk_hits, KERNELS);
    ck_assert_uint_eq(stats(e).compiles, 0);
    for (int i = 0; i < NEW; i++)
        wanted_at_once(e, KERNELS + i, false);
    ck_assert_uint_eq(stats(e).compiles, NEW);
    sett_engine_close(e);
}
END_TEST

/* A read by key that began before an entry came does not say for a compile that began afterwards that there is none. */
START_TEST(a_miss_of_before)
{
    if (!have_compiler())
        return;
    const variant v = {40, 64, 2.0};
    const sett_compile_options o = {.size = sizeof o, .target = "sm_90a", .user = &v};
    uint8_t key[32];
    pthread_barrier_t together;
    pthread_t id[2];
    warm(in_root("late"), 1, 2);
    sett_engine *e = start("", in_root("late"));
    ck_assert_int_eq(sett_key(e, scale, &o, key, NULL), SETT_OK);
    sett_engine_seal(e, true);
    ck_assert_int_eq(pthread_barrier_init(&together, NULL, 1), 0);
    either by_key = {{.e = e, .key = key, .together = &together}, NULL}, compile = {{.e = e, .together = &together}, &v};
    stall = ARMED;
    ck_assert_int_eq(pthread_create(&id[0], NULL, ask_either, &by_key), 0);
    while (stall != STALLED)
        usleep(1000);
    warm(in_root("late"), 0, 1);
    ck_assert_int_eq(pthread_create(&id[1], NULL, ask_either, &compile), 0);
    usleep(50000); /* it waits for that read, or has its own */
    stall = FREELY;
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_join(id[i], NULL), 0);
    ck_assert_msg(!compile.a.status, "%s", compile.a.err.text);
    ck_assert_uint_le(stats(e).sealed_misses, 1); /* of the read, which may have got what the compile landed all the same */
    ck_assert(!by_key.a.status || stats(e).sealed_misses == 1);
    sett_kernel_release(by_key.a.kernel), sett_kernel_release(compile.a.kernel);
    pthread_barrier_destroy(&together);
    sett_engine_close(e);
}
END_TEST

SUITE_IN_ROOT(warm_start, each_entry_once, each_key_once, each_once_by_either_way, a_miss_of_before)
