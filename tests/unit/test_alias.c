/* SPDX-License-Identifier: Apache-2.0 */
/* Aliases: what another engine or process recorded is found without recording it, and nothing else is. */
#include "tests/rig/faces.h"
#include "jit/cache/inside.h"
#include "jit/compile/inside.h"
#include "tests/rig/rig.h"
#include "tests/rig/suite.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sett/kernels.h>
#include <sett/warm.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BUCKET = 512, ROW = 72, ROWS = 7 };
static char said[4096];
static void listen_to(void *user, sett_log_level level, const char *component, const char *message)
{
    (void)user, (void)level, (void)component;
    snprintf(said + strlen(said), sizeof said - strlen(said), "%s\n", message);
}

static sett_engine_options asking(const char *layers, const char *folder, bool sealed)
{
    sett_engine_options o = options();
    o.cache_layers = layers, o.cache_dir = folder, o.sealed = sealed, o.log = listen_to, o.log_level = SETT_LOG_WARNING;
    said[0] = 0;
    return o;
}

static sett_engine *with(const char *layers, const char *folder, bool sealed)
{
    sett_engine_options o = asking(layers, folder, sealed);
    return open_with(&o);
}

static sett_kernel *scaled(sett_engine *e, int columns)
{
    const variant v = {columns, 64, 2.0};
    const sett_compile_options o = {.size = sizeof o, .name = "scale", .target = "sm_90a", .user = &v, .user_size = sizeof v, .pure = true};
    return compile(e, &o);
}

/* Asks, closes the engine. How often it recorded, and found without recording. */
static void expect(sett_engine *e, int columns, uint64_t records, uint64_t aliases)
{
    sett_kernel *k = scaled(e, columns);
    ck_assert_uint_eq(stats(e).records, records);
    ck_assert_uint_eq(stats(e).alias_hits, aliases);
    sett_kernel_release(k);
    sett_engine_close(e);
}

static void warm(const char *folder, int columns)
{
    expect(with("", folder, false), columns, 1, 0);
}

static void pack_of(const char *layers, const char *folder, const char *path)
{
    sett_engine *e = with(layers, folder, false);
    sett_error err = {0};
    ck_assert_msg(!sett_pack_write(e, path, NULL, NULL, &err), "%s", err.text);
    sett_engine_close(e);
}

/* ---- found ------------------------------------------------------------------------------------- */
START_TEST(a_folder)
{
    sett_kernel_info one = {.size = sizeof one}, two = one;
    sett_engine *e = with("", in_root("f"), false), *other;
    sett_kernel *k = scaled(e, 40), *same, *more;
    ck_assert_uint_eq(stats(e).records, 1);
    sett__workers_flush(e->workers);
    other = with("", in_root("f"), true);
    same = scaled(other, 40), more = scaled(other, 40);
    ck_assert_uint_eq(stats(other).records, 0);
    ck_assert_uint_eq(stats(other).alias_hits, 1);
    ck_assert_uint_eq(stats(other).disk_hits, 1);
    ck_assert_uint_eq(stats(other).memo_hits, 1);
    ck_assert_ptr_eq(same, more);
    sett_kernel_query(k, &one), sett_kernel_query(same, &two);
    ck_assert(!memcmp(one.key, two.key, sizeof one.key) && one.cubin_size == two.cubin_size && !memcmp(one.cubin, two.cubin, one.cubin_size));
    ck_assert_str_eq(two.target, "sm_90a");
    ck_assert_str_eq(two.name, "scale");
    ck_assert_int_eq(sett_kernel_params(same), 2);
    ck_assert_str_eq(said, "");
    sett_kernel_release(k), sett_kernel_release(same), sett_kernel_release(more);
    sett_engine_close(e), sett_engine_close(other);
    expect(with("", in_root("f"), false), 41, 1, 0); /* other bytes */
    expect(with(in_root("f"), "", true), 41, 0, 1);  /* only read */
}
END_TEST

START_TEST(a_pack)
{
    warm(in_root("f"), 40), warm(in_root("f"), 41);
    pack_of("", in_root("f"), in_root("p"));
    sett_engine *e = with(in_root("p"), "", true);
    ck_assert_uint_eq(layer(e, 0).entries, 2);
    ck_assert_uint_eq(layer(e, 0).aliases, 2);
    expect(e, 41, 0, 1);
    /* through a folder, and one pack made of two */
    sett_error err = {0};
    e = with(in_root("p"), in_root("g"), false);
    ck_assert_msg(!sett_pack_unpack(e, NULL, &err), "%s", err.text);
    sett_engine_close(e);
    expect(with("", in_root("g"), true), 40, 0, 1);
    warm(in_root("h"), 42);
    pack_of("", in_root("h"), in_root("q"));
    char both[600];
    snprintf(both, sizeof both, "%s:%s", in_root("p"), in_root("q"));
    pack_of(both, "", in_root("r"));
    e = with(in_root("r"), "", true);
    ck_assert_uint_eq(layer(e, 0).aliases, 3);
    expect(e, 42, 0, 1);
    /* of one of its kernels */
    sett__digest key;
    const variant v = {40, 64, 2.0};
    const sett_compile_options o = {.size = sizeof o, .target = "sm_90a", .user = &v, .user_size = sizeof v, .pure = true};
    e = with(in_root("r"), "", false);
    ck_assert_int_eq(sett_key(e, scale, &o, key.b, NULL), SETT_OK);
    const sett_pack_options some = {.size = sizeof some, .keys = (const uint8_t(*)[32])key.b, .n_keys = 1};
    ck_assert_int_eq(sett_pack_write(e, in_root("s"), &some, NULL, &err), SETT_OK);
    sett_engine_close(e);
    e = with(in_root("s"), "", true);
    ck_assert_uint_eq(layer(e, 0).aliases, 1);
    expect(e, 40, 0, 1);
}
END_TEST

/* A process that ends, and one that begins after it. */
START_TEST(two_processes)
{
    int status;
    pid_t child = fork();
    if (!child) {
        sett_engine *e = with("", in_root("f"), false);
        sett_kernel *k = scaled(e, 40);
        sett_kernel_release(k);
        sett_engine_close(e);
        _exit(!k);
    }
    ck_assert(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
    expect(with("", in_root("f"), true), 40, 0, 1);
}
END_TEST

static void *ask_many(void *user)
{
    for (int i = 0; i < 8; i++)
        sett_kernel_release(scaled(user, 40 + i));
    return NULL;
}

START_TEST(threads)
{
    pthread_t id[4];
    sett_engine *e = with("", in_root("f"), false);
    ask_many(e);
    sett_engine_close(e);
    e = with("", in_root("f"), true);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&id[i], NULL, ask_many, e), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(id[i], NULL);
    ck_assert_uint_eq(stats(e).records, 0);
    ck_assert_uint_eq(stats(e).disk_hits, 8);
    sett_engine_close(e);
}
END_TEST

/* ---- not found, and recorded -------------------------------------------------------------------- */
/* As an engine of another build would ask. */
START_TEST(another_build)
{
    warm(in_root("f"), 40);
    sett_engine *e = with("", in_root("f"), true);
    const variant v = {1, 1, 1};
    const sett_compile_options o = {.size = sizeof o, .target = "sm_90a", .user = &v, .user_size = sizeof v, .pure = true};
    sett__digest alias;
    ck_assert(sett__alias_of_body(e, scale, &o, &alias));
    e->identity.build.b[3] ^= 1;
    expect(e, 40, 1, 0);
    e = with("", in_root("f"), true);
    ck_assert(sett__alias_of_body(e, scale, &o, &alias));
    e->identity.known = false;
    expect(e, 40, 1, 0);
    expect(with("", in_root("f"), true), 40, 0, 1);
}
END_TEST

static void *body_of_family(const char *file, const char *family)
{
    char path[4096];
    ck_assert(sett__beside(file, path, sizeof path));
    void *lib = dlopen(path, RTLD_LAZY | RTLD_LOCAL); /* some would want libsett-kernels */
    ck_assert_msg(lib != NULL, "%s", dlerror());
    const sett_family *f = dlsym(lib, family);
    ck_assert_ptr_nonnull(f);
    union {
        sett_body body;
        void *address;
    } body = {f->body};
    return body.address;
}

static void *family_body(const char *file)
{
    return body_of_family(file, "defaults_family");
}

/* The same object file, linked three times: with the linker's build id, with another, with none. */
START_TEST(identities)
{
    sett__identity last = {0}, fresh = {0};
    sett__digest here, again, a, b;
    uint64_t at, at_again, at_a, at_b;
    union {
        sett_body body;
        void *address;
    } own = {scale};
    void *family = family_body("test-family.so"), *other = family_body("test-family-other.so"), *nameless = family_body("test-family-nameless.so");
    ck_assert(sett__identity_of(&last, own.address, &here, &at));
    ck_assert(sett__identity_of(&last, (char *)own.address + 1, &again, &at_again));
    ck_assert(!memcmp(&here, &again, sizeof here) && at_again == at + 1);
    ck_assert(sett__identity_of(&last, family, &a, &at_a));
    ck_assert(sett__identity_of(&fresh, family, &again, &at_again));
    ck_assert(!memcmp(&a, &again, sizeof a) && at_a == at_again);
    ck_assert(sett__identity_of(&last, other, &b, &at_b));
    ck_assert(memcmp(&a, &b, sizeof a) && memcmp(&a, &here, sizeof a));
    ck_assert_uint_eq(at_a, at_b);
    ck_assert(!sett__identity_of(&last, nameless, &b, &at_b));
    void *heap = malloc(100);
    ck_assert(!sett__identity_of(&last, heap, &b, &at_b));
    free(heap);
    ck_assert(sett__identity_of(&last, own.address, &again, &at_again));
    ck_assert(!memcmp(&here, &again, sizeof here) && at_again == at);
}
END_TEST

/* An object needs another one by its name, which a second one has too: nobody here knows which is meant. */
START_TEST(needs_with_two_answers)
{
    sett__identity last = {0};
    sett__digest build;
    uint64_t at;
    char from[4096], command[9000];
    void *needing = family_body("test-family-needing.so");
    ck_assert(sett__identity_of(&last, needing, &build, &at));
    ck_assert(sett__beside("test-family.so", from, sizeof from));
    snprintf(command, sizeof command, "cp %s %s", from, in_root("test-family.so"));
    ck_assert_int_eq(system(command), 0);
    void *second = dlopen(in_root("test-family.so"), RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(second != NULL, "%s", dlerror());
    last = (sett__identity){0};
    ck_assert(!sett__identity_of(&last, needing, &build, &at));
    ck_assert_int_eq(dlclose(second), 0);
    ck_assert(sett__identity_of(&last, needing, &build, &at));
}
END_TEST

/* Each member that is in the key, and each that is not. */
/* A body may call functions of libsett-kernels, which its object does not name: then that one's build counts, and not for others. */
START_TEST(kernels_that_are_not_named)
{
    static const char *const object[] = {"test-family.so", "test-family-calling.so"}, *const family[] = {"defaults_family", "squared_family"};
    char name[64], from[4096];
    sett__digest build[2][2];
    void *kernels = NULL;
    snprintf(name, sizeof name, "libsett-kernels.so.%d", SETT_VERSION_MAJOR);
    for (int loaded = 0; loaded < 2; loaded++) {
        for (int i = 0; i < 2; i++) {
            sett__identity last = {0};
            uint64_t at;
            ck_assert(sett__identity_of(&last, body_of_family(object[i], family[i]), &build[loaded][i], &at));
        }
        ck_assert(sett__beside(name, from, sizeof from));
        kernels = kernels ? kernels : dlopen(from, RTLD_NOW | RTLD_GLOBAL);
        ck_assert_msg(kernels != NULL, "%s", dlerror());
    }
    ck_assert(!memcmp(&build[0][0], &build[1][0], sizeof(sett__digest)));
    ck_assert(memcmp(&build[0][1], &build[1][1], sizeof(sett__digest)));
    ck_assert_int_eq(dlclose(kernels), 0);
}
END_TEST

START_TEST(options_of_an_alias)
{
    const variant v = {40, 64, 2.0}, w = {40, 64, 3.0};
    const sett_compile_options base = {.size = sizeof base, .target = "sm_90a", .user = &v, .user_size = sizeof v, .pure = true};
    sett_compile_options other[9], same[3], none[4];
    sett__digest alias[10], got;
    sett_engine *e = with("", "", false);
    for (int i = 0; i < 9; i++)
        other[i] = base;
    other[1].target = "sm_90", other[2].user = &w, other[3].user_size--, other[4].opt_level = 2, other[5].line_info = true,
    other[6].no_fold = true, other[7].asserts = SETT_ASSERTS_ON, other[8].opt_level = 4;
    for (int i = 0; i < 9; i++) {
        ck_assert(sett__alias_of_body(e, scale, &other[i], &alias[i]));
        for (int k = 0; k < i; k++)
            ck_assert_msg(memcmp(&alias[i], &alias[k], sizeof *alias), "%d %d", i, k);
    }
    ck_assert(sett__alias_of_body(e, sett_rms_norm, &base, &alias[9]) && memcmp(&alias[0], &alias[9], sizeof *alias));
    for (int i = 0; i < 3; i++)
        same[i] = base;
    for (int i = 0; i < 4; i++)
        none[i] = base;
    same[0].name = "other", same[1].opt_level = 3, same[2].asserts = SETT_ASSERTS_OFF;
    for (int i = 0; i < 3; i++)
        ck_assert_msg(sett__alias_of_body(e, scale, &same[i], &got) && !memcmp(&got, &alias[0], sizeof got), "%d", i);
    none[0].target = "cpu", none[1].ptx_only = true, none[2].user_size = 0, none[3].pure = false;
    for (int i = 0; i < 4; i++)
        ck_assert_msg(!sett__alias_of_body(e, scale, &none[i], &got), "%d", i);
    sett_engine_close(e);
}
END_TEST

/* Who verifies records; a sealed engine writes nothing. */
START_TEST(who_records)
{
    warm(in_root("f"), 40);
    sett_engine_options o = asking("", in_root("f"), false);
    o.verify_user = true;
    expect(open_with(&o), 40, 1, 0);
    o = asking("", in_root("f"), false);
    o.cache_verify = true;
    expect(open_with(&o), 40, 1, 0);
    ck_assert_int_eq(unlink(in_root("f/aliases")), 0);
    expect(with("", in_root("f"), true), 40, 1, 0);
    ck_assert_int_eq(access(in_root("f/aliases"), F_OK), -1);
    expect(with("", in_root("f"), false), 40, 1, 0);
    expect(with("", in_root("f"), false), 40, 0, 1);
}
END_TEST

/* The entry is gone, or damaged: as if there were no alias. */
START_TEST(without_its_entry)
{
    warm(in_root("f"), 40);
    char command[400];
    snprintf(command, sizeof command, "rm -r %s", in_root("f/v1"));
    ck_assert_int_eq(system(command), 0);
    sett_engine *e = with("", in_root("f"), false);
    sett_kernel_release(scaled(e, 40));
    ck_assert_uint_eq(stats(e).records, 1);
    ck_assert_uint_eq(stats(e).compiles, 1);
    ck_assert_uint_eq(stats(e).alias_hits, 0);
    sett_engine_close(e);
    expect(with("", in_root("f"), false), 40, 0, 1);
}
END_TEST

/* An alias that names another target's kernel, which no sett writes. */
START_TEST(another_target)
{
    const variant v = {40, 64, 2.0};
    sett_compile_options o = {.size = sizeof o, .target = "sm_80", .user = &v, .user_size = sizeof v, .pure = true};
    sett__digest alias, key;
    sett_engine *e = with("", in_root("f"), false);
    sett_kernel_release(compile(e, &o));
    ck_assert_int_eq(sett_key(e, scale, &o, key.b, NULL), SETT_OK);
    o.target = "sm_90a";
    ck_assert(sett__alias_of_body(e, scale, &o, &alias));
    sett__disk_alias(sett__cache_folder(e->cache), &alias, &key);
    sett_engine_close(e);
    e = with("", in_root("f"), false);
    sett_kernel *k = compile(e, &o);
    sett_kernel_info info = {.size = sizeof info};
    sett_kernel_query(k, &info);
    ck_assert_str_eq(info.target, "sm_90a");
    ck_assert_uint_eq(stats(e).alias_hits, 0);
    ck_assert_ptr_nonnull(strstr(said, "names a kernel for sm_80, and is ignored"));
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

/* ---- the folder's file ---------------------------------------------------------------------------- */
static sett__disk *open_disk(const char *folder)
{
    sett__disk *d;
    sett_error err = {0};
    ck_assert_msg(!sett__disk_open(&d, &(sett__disk_options){.path = folder}, &err), "%s", err.text);
    return d;
}

START_TEST(rows)
{
    sett__digest alias = {{5, 3}}, key = {{1}}, other = {{2}}, got = {{0}};
    sett__disk *d = open_disk(in_root("f"));
    ck_assert(!sett__disk_ask(d, &alias, &got));
    sett__disk_alias(d, &alias, &key);
    sett__disk_alias(d, &alias, &key);
    ck_assert(sett__disk_ask(d, &alias, &got) && !memcmp(&got, &key, sizeof got));
    ck_assert_uint_eq(file_size(in_root("f/aliases")), SETT__ALIASES_BYTES);
    alias.b[31] = 9;
    ck_assert(!sett__disk_ask(d, &alias, &got)); /* of the same bucket */
    /* Two keys of one alias: neither, ever again. */
    sett__disk_alias(d, &alias, &key);
    sett__disk_alias(d, &alias, &other);
    ck_assert(!sett__disk_ask(d, &alias, &got));
    sett__disk_alias(d, &alias, &other);
    ck_assert(!sett__disk_ask(d, &alias, &got));
    /* More than a bucket holds: the last is there, and all that are there are right. */
    int found = 0;
    for (int i = 0; i < 20; i++) {
        alias.b[31] = (uint8_t)(50 + i), key.b[1] = alias.b[31];
        sett__disk_alias(d, &alias, &key);
        ck_assert(sett__disk_ask(d, &alias, &got) && !memcmp(&got, &key, sizeof got));
    }
    for (int i = 0; i < 20; i++) {
        alias.b[31] = (uint8_t)(50 + i), key.b[1] = alias.b[31];
        const bool there = sett__disk_ask(d, &alias, &got);
        ck_assert(!there || !memcmp(&got, &key, sizeof got));
        found += there;
    }
    ck_assert(found > 0 && found <= ROWS);
    sett__disk_close(d);
}
END_TEST

/* Every bit of a row. */
START_TEST(damaged_rows)
{
    sett__digest alias = {{0}}, key = {{1}}, got;
    sett__disk *d = open_disk(in_root("f"));
    uint8_t row[ROW];
    alias.b[20] = 1;
    sett__disk_alias(d, &alias, &key);
    int fd = open(in_root("f/aliases"), O_RDWR);
    ck_assert_int_eq(pread(fd, row, ROW, 0), ROW);
    for (int bit = 0; bit < 8 * ROW; bit++) {
        row[bit / 8] ^= (uint8_t)(1 << bit % 8);
        ck_assert_int_eq(pwrite(fd, row, ROW, 0), ROW);
        ck_assert_msg(!sett__disk_ask(d, &alias, &got), "%d", bit);
        row[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    row[40] ^= 1;
    ck_assert_int_eq(pwrite(fd, row, ROW, 0), ROW);
    close(fd);
    sett__disk_alias(d, &alias, &key); /* in its place */
    ck_assert(sett__disk_ask(d, &alias, &got) && !memcmp(&got, &key, sizeof got));
    sett__disk_close(d);
}
END_TEST

START_TEST(damage_is_logged)
{
    uint8_t noise[BUCKET];
    warm(in_root("f"), 40);
    memset(noise, 0xA5, sizeof noise);
    int fd = open(in_root("f/aliases"), O_RDWR);
    for (off_t at = 0; at < SETT__ALIASES_BYTES; at += BUCKET)
        ck_assert_int_eq(pwrite(fd, noise, BUCKET, at), BUCKET);
    close(fd);
    expect(with("", in_root("f"), false), 40, 1, 0);
    ck_assert_ptr_nonnull(strstr(said, "aliases is not used as it is: a row of it is damaged"));
    ck_assert_ptr_null(strstr(strstr(said, "is damaged") + 1, "is damaged")); /* once */
    expect(with("", in_root("f"), true), 40, 0, 1);
}
END_TEST

/* Processes that write and ask in few buckets: what is found is right. */
START_TEST(writers_at_once)
{
    enum { WRITERS = 4, ALIASES = 60, TURNS = 40 };
    pid_t child[WRITERS];
    for (int w = 0; w < WRITERS; w++) {
        child[w] = fork();
        if (child[w])
            continue;
        sett__disk *d = open_disk(in_root("f"));
        bool right = true;
        for (int i = 0; i < ALIASES * TURNS; i++) {
            const sett__digest alias = {{(uint8_t)(i % 4), 0, (uint8_t)(i % ALIASES)}}, key = {{9, (uint8_t)(i % ALIASES)}};
            sett__digest got;
            right &= !sett__disk_ask(d, &alias, &got) || !memcmp(&got, &key, sizeof got);
            sett__disk_alias(d, &alias, &key);
        }
        sett__disk_close(d);
        _exit(!right);
    }
    for (int w = 0; w < WRITERS; w++) {
        int status;
        ck_assert(waitpid(child[w], &status, 0) == child[w] && WIFEXITED(status) && !WEXITSTATUS(status));
    }
}
END_TEST

/* The nth call to the file system fails. */
static int calls, failing;
static bool fails(void)
{
    errno = EIO;
    return ++calls == failing;
}
static int failing_openat(int at, const char *path, int flags, mode_t mode)
{
    return fails() ? -1 : sett__os_libc.openat(at, path, flags, mode);
}
static int failing_fstat(int fd, struct stat *st)
{
    return fails() ? -1 : sett__os_libc.fstat(fd, st);
}
static int failing_fchmod(int fd, mode_t mode)
{
    return fails() ? -1 : sett__os_libc.fchmod(fd, mode);
}
static ssize_t failing_pread(int fd, void *to, size_t len, off_t at)
{
    return fails() ? -1 : sett__os_libc.pread(fd, to, calls % 2 ? len : len / 2, at);
}
static ssize_t failing_pwrite(int fd, const void *from, size_t len, off_t at)
{
    return fails() ? -1 : sett__os_libc.pwrite(fd, from, len, at);
}
static sett_status count_alias(void *user, const sett__alias *a)
{
    (void)a;
    ++*(int *)user;
    return SETT_OK;
}

START_TEST(failing_calls)
{
    static sett__os os;
    os = sett__os_libc;
    os.openat = failing_openat, os.fstat = failing_fstat, os.fchmod = failing_fchmod, os.pread = failing_pread, os.pwrite = failing_pwrite;
    for (failing = 1; failing < 24; failing++) {
        const sett__digest alias = {{1, 2, (uint8_t)failing}}, key = {{7}};
        sett__digest got;
        char name[40];
        int n = 0;
        snprintf(name, sizeof name, "f%d", failing);
        sett__disk *d = open_disk(in_root(name));
        d->os = &os, calls = 0;
        for (int i = 0; i < 3; i++) {
            sett__disk_alias(d, &alias, &key);
            ck_assert(!sett__disk_ask(d, &alias, &got) || !memcmp(&got, &key, sizeof got));
            ck_assert_int_eq(sett__disk_aliases(d, count_alias, &n), SETT_OK);
        }
        d->os = &sett__os_libc;
        sett__disk_alias(d, &alias, &key);
        ck_assert(sett__disk_ask(d, &alias, &got) && !memcmp(&got, &key, sizeof got));
        sett__disk_close(d);
    }
}
END_TEST

/* What is not a file of ours is left alone. */
START_TEST(foreign_files)
{
    char file[300];
    struct stat st;
    snprintf(file, sizeof file, "%s", in_root("f/aliases"));
    for (int i = 0; i < 5; i++) {
        warm(in_root("f"), 40 + i);
        ck_assert_int_eq(unlink(file), 0);
        write_file(in_root("else"), "something", 9, 0600);
        ck_assert_int_eq(i == 0 ? mkdir(file, 0700) : i == 1 ? symlink(in_root("else"), file) : i == 2 ? mkfifo(file, 0600) : 0, 0);
        if (i >= 3) /* which others may write; which is too long */
            write_file(file, "x", 1, 0600);
        ck_assert_int_eq(i == 3 ? chmod(file, 0666) : i == 4 ? truncate(file, SETT__ALIASES_BYTES + 1) : 0, 0);
        expect(with("", in_root("f"), false), 40 + i, 1, 0);
        ck_assert_msg(strstr(said, "aliases is not used as it is: ") != NULL, "%d", i);
        ck_assert(!lstat(file, &st) && file_size(in_root("else")) == 9);
        ck_assert_int_eq(i ? unlink(file) : rmdir(file), 0);
    }
    write_file(file, "", 0, 0600); /* one that was cut */
    expect(with("", in_root("f"), false), 40, 1, 0);
    expect(with("", in_root("f"), false), 40, 0, 1);
    ck_assert_int_eq(truncate(file, 100), 0);
    expect(with("", in_root("f"), false), 40, 1, 0);
    expect(with("", in_root("f"), false), 40, 0, 1);
}
END_TEST

/* A folder with its own files and no marker is still ours; among several who write nobody's rows count. */
START_TEST(folders)
{
    warm(in_root("f"), 40);
    ck_assert_int_eq(unlink(in_root("f/SETT1")), 0);
    expect(with("", in_root("f"), false), 40, 0, 1);
    write_file(in_root("secret"), "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60\n", 65, 0600);
    sett_engine_options o = asking("", in_root("m"), false);
    o.cache_trust = SETT_TRUST_MAC, o.cache_secret = in_root("secret");
    expect(open_with(&o), 40, 1, 0);
    o = asking("", in_root("m"), false);
    o.cache_trust = SETT_TRUST_MAC, o.cache_secret = in_root("secret");
    expect(open_with(&o), 40, 1, 0);
    ck_assert_int_eq(access(in_root("m/aliases"), F_OK), -1);
}
END_TEST

/* ---- a pack's table --------------------------------------------------------------------------------- */
static uint8_t *slurp(const char *path, size_t *len)
{
    *len = file_size(path);
    uint8_t *p = malloc(*len + 1);
    FILE *f = fopen(path, "rb");
    ck_assert(f && fread(p, 1, *len, f) == *len);
    fclose(f);
    return p;
}

static void reseal(uint8_t *p, const uint8_t *table, uint64_t aliases)
{
    sett__digest sum;
    sett__sha256(table, aliases * SETT__PACK_ALIAS, &sum);
    memcpy(p + 168, sum.b, 32);
    sett__sha256(p, 224, &sum);
    memcpy(p + 224, sum.b, 32);
}

/* What is wrong with the table costs the table; what is wrong with the header costs the pack. */
START_TEST(damaged_tables)
{
    size_t len;
    warm(in_root("f"), 40), warm(in_root("f"), 41);
    pack_of("", in_root("f"), in_root("p"));
    uint8_t *p = slurp(in_root("p"), &len), *copy = malloc(len), *table = copy + len - sett__pack_aliases_bytes(2);
    static const char *const why[] = {"the digest of its aliases does not match their bytes", "alias 1 names no entry or does not ascend",
        "alias 0 names no entry or does not ascend", "there are bytes behind its aliases"};
    for (int i = 0; i < 4; i++) {
        memcpy(copy, p, len);
        if (i == 0)
            table[3] ^= 1;
        if (i == 1)
            memcpy(table + SETT__PACK_ALIAS, table, SETT__PACK_ALIAS);
        if (i == 2)
            table[32] = 2;
        if (i == 3)
            table[2 * SETT__PACK_ALIAS] = 1;
        if (i)
            reseal(copy, table, 2);
        write_file(in_root("q"), copy, len, 0600);
        sett_engine *e = with(in_root("q"), "", true);
        ck_assert(!layer(e, 0).why_not && layer(e, 0).entries == 2 && !layer(e, 0).aliases);
        ck_assert_msg(strstr(said, "its aliases are ignored: ") && strstr(said, why[i]), "%d: %s", i, said);
        expect(e, 40, 1, 0);
    }
    static const struct {
        int at, bytes;
        uint64_t v;
        const char *why;
    } heads[] = {{12, 4, 0, "its header has fields that this version does not know"}, {160, 8, 0, "its header has fields that this version does not know"},
        {160, 8, UINT64_MAX, "aliases do not fit into it"}, {160, 8, 1 << 20, "aliases do not fit into it"}, {160, 8, 4, "entry 1 of its index lies outside it"},
        {200, 1, 1, "its header has fields that this version does not know"}};
    for (size_t i = 0; i < SETT__COUNT(heads); i++) {
        sett__digest sum;
        memcpy(copy, p, len);
        sett__put_le(copy + heads[i].at, heads[i].v, heads[i].bytes);
        sett__sha256(copy, 224, &sum);
        memcpy(copy + 224, sum.b, 32);
        write_file(in_root("q"), copy, len, 0600);
        sett_engine *e = with(in_root("q"), "", false);
        ck_assert_msg(layer(e, 0).why_not && strstr(layer(e, 0).why_not, heads[i].why), "%zu: %s", i, layer(e, 0).why_not);
        sett_engine_close(e);
    }
    free(p), free(copy);
}
END_TEST

/* A signature covers them. */
START_TEST(signed_tables)
{
    size_t len;
    uint8_t key[32];
    char text[65];
    sett_error err = {0};
    warm(in_root("f"), 40);
    write_file(in_root("secret"), "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60\n", 65, 0600);
    sett_engine *e = with("", in_root("f"), false);
    const sett_pack_options o = {.size = sizeof o, .secret_key = in_root("secret")};
    ck_assert_msg(!sett_pack_write(e, in_root("p"), &o, NULL, &err), "%s", err.text);
    sett_engine_close(e);
    ck_assert_int_eq(sett_pack_public_key(in_root("secret"), key, &err), SETT_OK);
    sett__hex_write(key, text);
    sett_engine_options asked = asking(in_root("p"), "", true);
    asked.cache_trust = SETT_TRUST_SIGNED, asked.cache_signers = text;
    expect(open_with(&asked), 40, 0, 1);
    uint8_t *p = slurp(in_root("p"), &len), *table = p + len - sett__pack_aliases_bytes(1);
    table[0] ^= 1;
    reseal(p, table, 1);
    write_file(in_root("p"), p, len, 0600);
    asked.sealed = false;
    e = open_with(&asked);
    ck_assert_ptr_nonnull(strstr(layer(e, 0).why_not, "its signature does not match its bytes"));
    sett_engine_close(e);
    free(p);
}
END_TEST

/* Packs that give one alias two keys, and packs of before there were any. */
START_TEST(merged_tables)
{
    const sett__digest alias = {{7}};
    sett__digest key[2];
    sett__cache *c;
    sett_error err = {0};
    uint64_t n;
    warm(in_root("f"), 40), warm(in_root("f"), 41);
    sett_engine *e = with("", in_root("f"), false);
    for (int i = 0; i < 2; i++) {
        const variant v = {40 + i, 64, 2.0};
        const sett_compile_options o = {.size = sizeof o, .target = "sm_90a", .user = &v};
        ck_assert_int_eq(sett_key(e, scale, &o, key[i].b, NULL), SETT_OK);
    }
    sett_engine_close(e);
    const sett_pack_options all = {.size = sizeof all};
    const sett__alias given[] = {{alias, key[0]}, {alias, key[0]}, {{{8}}, key[1]}, {alias, key[1]}, {{{9}}, {{1}}}};
    for (int i = 0; i < 3; i++) { /* no row; one that stands twice; all */
        ck_assert_int_eq(sett__cache_open(&c, &(sett__cache_options){.layers = in_root("f")}, &err), SETT_OK);
        ck_assert_int_eq(sett__pack_write_with(c, in_root("p"), &all, given, (size_t[]){0, 2, 5}[i], &n, &err), SETT_OK);
        sett__cache_close(c);
        e = with(in_root("p"), "", true);
        ck_assert_uint_eq(layer(e, 0).aliases, i > 0);
        sett__digest got;
        ck_assert_int_eq(sett__cache_ask(e->cache, &alias, &got), i == 1);
        ck_assert_int_eq(sett__cache_ask(e->cache, &given[2].alias, &got), i == 2);
        expect(e, 40, 1, 0);
    }
}
END_TEST

SUITE_IN_ROOT(alias, a_folder, a_pack, two_processes, threads, another_build, identities, needs_with_two_answers, kernels_that_are_not_named, options_of_an_alias, who_records, without_its_entry, another_target, rows,
    damaged_rows, damage_is_logged, writers_at_once, failing_calls, foreign_files, folders, damaged_tables, signed_tables, merged_tables)
