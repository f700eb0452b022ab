/* SPDX-License-Identifier: Apache-2.0 */
/* Compiling: the plug-in, disk hits without it, damage healed, one compile for many who ask, failures kept from
 * the process. */
#include "tests/rig/rig.h"
#include <check.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

START_TEST(bad_plugins)
{
    static const struct {
        const char *path, *text;
    } t[] = {{"/nowhere/libsett-ptx.so", "the compiler plug-in cannot be opened: /nowhere/libsett-ptx.so: "},
        {"libm.so.6", "libm.so.6 is no compiler plug-in: it lacks sett_ptx_plugin"}};
    for (size_t i = 0; i < SETT__COUNT(t); i++) {
        sett_engine_options o = options();
        sett_kernel *k;
        sett_error err = {0};
        o.plugin = t[i].path;
        sett_engine *e = open_with(&o);
        for (int again = 0; again < 2; again++) {
            ck_assert_int_eq(sett_compile(e, scale, &sm90, &k, &err), SETT_E_NO_COMPILER);
            ck_assert_msg(!strncmp(err.text, t[i].text, strlen(t[i].text)), "%s", err.text);
        }
        ck_assert(!stats(e).compiler_loaded);
        sett_engine_close(e);
    }
}
END_TEST

/* What could not be opened is tried again: the file was not there, or the memory to map it. */
START_TEST(opened_later)
{
    char here[4096];
    if (!have_compiler())
        return;
    ck_assert(sett__beside("libsett-ptx.so", here, sizeof here));
    sett_engine_options o = options();
    sett_kernel *k;
    o.plugin = in_root("later.so");
    sett_engine *e = open_with(&o);
    ck_assert_int_eq(sett_compile(e, scale, &sm90, &k, NULL), SETT_E_NO_COMPILER);
    ck_assert_int_eq(symlink(here, o.plugin), 0);
    sett_kernel_release(compile(e, &sm90));
    ck_assert(stats(e).compiler_loaded);
    sett_engine_close(e);
}
END_TEST

#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ /* which take all addresses for themselves */
static sett_status under_limit(size_t more)
{
    unsigned long pages = 0;
    struct rlimit all, few;
    FILE *f = fopen("/proc/self/statm", "r");
    ck_assert(f && fscanf(f, "%lu", &pages) == 1 && !fclose(f) && !getrlimit(RLIMIT_AS, &all));
    few = (struct rlimit){pages * (size_t)sysconf(_SC_PAGESIZE) + more, all.rlim_max};
    sett_compile_options o = sm90;
    sett_kernel *k = NULL;
    sett_error err = {0};
    o.ptx_only = true;
    sett_engine *e = open_engine();
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &few), 0);
    sett_status s = sett_compile(e, scale, &o, &k, &err);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &all), 0);
    ck_assert_msg(s != SETT_E_NO_COMPILER || strstr(err.text, "the compiler plug-in cannot be opened: "), "%s", err.text);
    sett_status again = s ? sett_compile(e, scale, &o, &k, &err) : s;
    ck_assert_msg(again == (s == SETT_E_MEMORY && strstr(err.text, "not used again") ? SETT_E_NO_COMPILER : SETT_OK), "%s", err.text);
    sett_kernel_release(k);
    sett_engine_close(e);
    return s;
}

/* In a process that may take so many KiB more: each ends in a status, and what did not break LLVM passes later. Fine steps
 * where the plug-in can just be mapped. */
START_TEST(short_of_memory)
{
    int seen[SETT_E_INTERNAL + 1] = {0};
    char here[4096];
    if (under_valgrind() || !sett__beside("libsett-ptx.so", here, sizeof here)) /* not opened in this process: have_compiler() would */
        return;
    for (size_t kib = 1 << 10; kib < 80 << 10; kib += kib > 42 << 10 && kib < 45 << 10 ? 64 : 4 << 10) {
        int status;
        pid_t child = fork();
        if (!child)
            _exit((int)under_limit(kib << 10));
        ck_assert(waitpid(child, &status, 0) == child && WIFEXITED(status));
        seen[WEXITSTATUS(status)]++;
    }
    ck_assert(seen[SETT_OK] && seen[SETT_E_NO_COMPILER] && seen[SETT_E_MEMORY]);
}
END_TEST
#endif

/* An empty path is none: dlopen() would take it for the program itself. */
START_TEST(empty_plugin)
{
    if (!have_compiler())
        return;
    sett_engine_options o = options();
    o.plugin = "";
    sett_engine *e = open_with(&o);
    sett_kernel_release(compile(e, &sm90));
    ck_assert(stats(e).compiler_loaded);
    sett_engine_close(e);
}
END_TEST

static bool mapped(const char *name)
{
    char line[4096];
    bool found = false;
    FILE *f = fopen("/proc/self/maps", "r");
    while (f && fgets(line, sizeof line, f))
        found |= strstr(line, name) != NULL;
    if (f)
        fclose(f);
    return found;
}

/* Compiles and fills the cache in a process of its own, so that this one stays without the compiler. */
static bool warm(uint8_t key[32])
{
    int pipes[2];
    ck_assert_int_eq(pipe(pipes), 0);
    pid_t child = fork();
    if (!child) {
        bool ok = have_compiler();
        sett_engine *e = ok ? open_engine() : NULL;
        sett_kernel *k = ok ? compile(e, &sm90) : NULL;
        sett_kernel_info info = {.size = sizeof info};
        if (ok && !sett_kernel_query(k, &info))
            ok = write(pipes[1], info.key, 32) == 32;
        sett_kernel_release(k);
        sett_engine_close(e);
        _exit(ok ? 0 : 1);
    }
    close(pipes[1]);
    bool got = read(pipes[0], key, 32) == 32;
    close(pipes[0]);
    int status;
    waitpid(child, &status, 0);
    ck_assert(WIFEXITED(status));
    return got;
}

START_TEST(disk_hit_without_compiler)
{
    uint8_t key[32];
    sett_kernel_info info = {.size = sizeof info};
    sett_kernel *k;
    sett_error err = {0};
    if (!warm(key))
        return;
    ck_assert_int_eq(assembled(), 1);
    sett_engine_options o = options();
    o.sealed = true;
    sett_engine *e = open_with(&o);
    k = compile(e, &sm90);
    ck_assert_int_eq(sett_kernel_query(k, &info), SETT_OK);
    ck_assert_mem_eq(info.key, key, 32);
    ck_assert_int_eq(info.origin, SETT_FROM_DISK);
    ck_assert_str_eq(info.name, "scale");
    ck_assert_str_eq(info.target, "sm_90a");
    ck_assert_str_eq(info.assembler, "ptxas 13.0.99");
    ck_assert_int_eq(info.registers, 24);
    ck_assert_int_eq(info.block[0], 64);
    ck_assert_uint_eq(info.cubin_size, 64);
    ck_assert_mem_eq(info.cubin, "\177ELF\2\1", 6);
    ck_assert_ptr_null(info.ptx);
    ck_assert_ptr_nonnull(strstr(info.report, "assembler: ptxas 13.0.99: 24 registers"));
    ck_assert_uint_eq(stats(e).disk_hits, 1);
    ck_assert_uint_eq(stats(e).compiles, 0);
    ck_assert(!stats(e).compiler_loaded);
    ck_assert(!mapped("libsett-ptx.so"));
    ck_assert_int_eq(sett_launch(k, ((sett_stream){0, NULL}), &err), SETT_E_NO_DEVICE);
    sett_kernel_release(k);
    sett_engine_close(e);
    e = open_with(&o); /* by key, with no body at hand */
    ck_assert_int_eq(sett_kernel_get(e, key, &k, &err), SETT_OK);
    sett_kernel_release(k);
    ck_assert_int_eq(sett_kernel_get(e, key, &k, &err), SETT_OK);
    ck_assert_uint_eq(stats(e).disk_hits, 1);
    ck_assert_uint_eq(stats(e).memory_hits, 1);
    sett_kernel_release(k);
    key[31] ^= 1;
    ck_assert_int_eq(sett_kernel_get(e, key, &k, &err), SETT_E_NOT_CACHED);
    ck_assert_ptr_null(k);
    sett_engine_close(e);
}
END_TEST

/* The one entry of the cache, wherever it lies. */
static void entry_of(const uint8_t key[32], char path[300])
{
    int n = snprintf(path, 300, "%s/%02x/", in_root("cache/v1"), key[0]);
    for (int i = 1; i < 32; i++)
        n += snprintf(path + n, 300 - (size_t)n, "%02x", key[i]);
    snprintf(path + n, 300 - (size_t)n, ".sett");
}

START_TEST(damage_is_healed)
{
    uint8_t key[32];
    char path[300];
    if (!have_compiler() || !warm(key))
        return;
    entry_of(key, path);
    size_t len = file_size(path);
    ck_assert_uint_gt(len, 512);
    for (int round = 0; round < 3; round++) {
        FILE *f = fopen(path, "r+b");
        ck_assert_ptr_nonnull(f);
        fseek(f, (long)(len * (size_t)round / 3), SEEK_SET);
        int c = fgetc(f);
        fseek(f, -1, SEEK_CUR);
        fputc(c ^ 4, f);
        fclose(f);
        sett_engine *e = open_engine();
        sett_kernel *k = compile(e, &sm90);
        sett_kernel_info info = {.size = sizeof info};
        ck_assert_int_eq(sett_kernel_query(k, &info), SETT_OK);
        ck_assert_int_eq(info.origin, SETT_FROM_COMPILER);
        sett__workers_flush(e->workers);
        ck_assert_uint_eq(stats(e).heals, 1);
        ck_assert_uint_eq(stats(e).refusals, 1);
        ck_assert_uint_eq(stats(e).disk_writes, 1);
        sett_kernel_release(k);
        sett_engine_close(e);
        e = open_engine();
        k = compile(e, &sm90);
        ck_assert_uint_eq(stats(e).disk_hits, 1);
        sett_kernel_release(k);
        sett_engine_close(e);
    }
}
END_TEST

START_TEST(ptx_only)
{
    if (!have_compiler())
        return;
    sett_engine *e = open_engine();
    sett_compile_options o = sm90;
    o.ptx_only = true;
    sett_kernel *k = compile(e, &o), *whole;
    sett_kernel_info info = {.size = sizeof info};
    sett_error err = {0};
    ck_assert_int_eq(sett_kernel_query(k, &info), SETT_OK);
    ck_assert_ptr_nonnull(strstr(info.ptx, ".target sm_90a"));
    ck_assert_ptr_nonnull(strstr(info.ptx, ".visible .entry scale("));
    ck_assert_ptr_null(info.cubin);
    ck_assert_int_eq(assembled(), 0);
    whole = compile(e, &sm90); /* of the same key, and another kernel */
    ck_assert_ptr_ne(k, whole);
    ck_assert_int_eq(assembled(), 1);
    ck_assert_int_eq(sett_kernel_query(whole, &info), SETT_OK);
    ck_assert_ptr_nonnull(info.ptx);
    ck_assert_ptr_nonnull(info.cubin);
    ck_assert_int_eq(info.origin, SETT_FROM_COMPILER);
    ck_assert_int_ne(sett_launch(k, ((sett_stream){SETT_CPU, NULL}), &err), SETT_OK);
    sett_kernel_release(k);
    sett_kernel_release(whole);
    sett_engine_close(e);
}
END_TEST

START_TEST(assembler_fails)
{
    if (!have_compiler())
        return;
    write_file(in_root("cubin"), "no ELF at all, but long enough to be one; the gate has to see it first", 70, 0600);
    sett_engine *e = open_engine();
    sett_kernel *k;
    sett_error err = {0};
    ck_assert_int_eq(sett_compile(e, scale, &sm90, &k, &err), SETT_E_PARSE);
    ck_assert_str_eq(err.text, "not a sound cubin: no ELF64 header");
    sett__workers_flush(e->workers);
    ck_assert_uint_eq(stats(e).disk_writes, 0);
    drop_root();
    ck_assert_int_ne(
        sett_compile(e, scale, &sm90, &k, &err), SETT_OK); /* the assembler is gone: nothing was remembered */
    sett_engine_close(e);
}
END_TEST

enum { CREW = 8 };
typedef struct crew {
    sett_engine *e;
    variant v;
    const char *target;
    sett_kernel *k;
    sett_status status;
} crew;

static void *compile_one(void *user)
{
    crew *c = user;
    sett_compile_options o = {.size = sizeof o, .name = "scale", .target = c->target, .user = &c->v};
    c->status = sett_compile(c->e, scale, &o, &c->k, NULL);
    return NULL;
}

static void run_crew(crew *c, int n)
{
    pthread_t t[CREW];
    for (int i = 0; i < n; i++)
        ck_assert_int_eq(pthread_create(&t[i], NULL, compile_one, &c[i]), 0);
    for (int i = 0; i < n; i++) {
        pthread_join(t[i], NULL);
        ck_assert_int_eq(c[i].status, SETT_OK);
    }
}

/* One compile for all who ask for one key. */
START_TEST(joined)
{
    if (!have_compiler())
        return;
    sett_engine *e = open_engine();
    crew c[CREW];
    for (int i = 0; i < CREW; i++)
        c[i] = (crew){.e = e, .v = {0, 64, 2.0}, .target = "sm_90a"};
    run_crew(c, CREW);
    for (int i = 0; i < CREW; i++)
        ck_assert_ptr_eq(c[i].k, c[0].k);
    sett_stats s = stats(e);
    ck_assert_uint_eq(s.compiles, 1);
    ck_assert_int_eq(assembled(), 1);
    ck_assert_uint_eq(s.joined + s.memory_hits, CREW - 1);
    for (int i = 0; i < CREW; i++)
        sett_kernel_release(c[i].k);
    sett_engine_close(e);
}
END_TEST

START_TEST(different_keys_at_once)
{
    bool gpu = have_compiler();
    sett_engine *e = open_engine();
    crew c[CREW];
    for (int i = 0; i < CREW; i++)
        c[i] = (crew){.e = e, .v = {40 + i, 64, 2.0}, .target = gpu && i % 2 ? "sm_90a" : "cpu"};
    run_crew(c, CREW);
    ck_assert_uint_eq(stats(e).misses, CREW);
    for (int i = 0; i < CREW; i++)
        sett_kernel_release(c[i].k);
    sett_engine_close(e);
}
END_TEST

/* LLVM gives up: the waiter gets the text, later compiles the reason, the process lives, and the CPU engine too. */
START_TEST(fatal)
{
    if (!have_compiler())
        return;
    sett_engine *e = open_engine();
    sett_kernel *k;
    sett_error err = {0};
    static const variant other = {48, 64, 2.0};
    sett_compile_options o = sm90;
    e->provoke = "fatal";
    ck_assert_int_eq(sett_compile(e, scale, &o, &k, &err), SETT_E_COMPILE);
    ck_assert_msg(!strncmp(err.text, "scale: the compiler failed: ", 28) && strlen(err.text) > 28, "%s", err.text);
    e->provoke = NULL;
    o.user = &other;
    ck_assert_int_eq(sett_compile(e, scale, &o, &k, &err), SETT_E_NO_COMPILER);
    ck_assert_msg(!strncmp(err.text, "the compiler failed earlier in this process", 43), "%s", err.text);
    sett_kernel_release(compile(e, NULL));
    char why[sizeof err.text], found[8192];
    strcpy(why, err.text);
    sett_engine *second = open_engine(); /* as dead there, for the same reason */
    sett_engine_describe(second, found, sizeof found);
    ck_assert_msg(strstr(found, "compiler: none: the compiler failed earlier in this process") != NULL, "%s", found);
    memset(&err, 0, sizeof err);
    ck_assert_int_eq(sett_compile(second, scale, &o, &k, &err), SETT_E_NO_COMPILER);
    ck_assert_str_eq(err.text, why);
    sett_engine_close(second);
    sett_engine_close(e);
}
END_TEST

/* Every target that a name can be for compiles or is refused, and LLVM prints nothing of its own. */
static int targets(sett_engine *e, int *refused)
{
    int made = 0;
    for (int sm = 0; sm < 200; sm++)
        for (const char *suffix = "\0af!"; *suffix != '!'; suffix++) {
            char target[16];
            sett_kernel *k;
            sett_error err = {0};
            snprintf(target, sizeof target, "sm_%02d%.1s", sm, suffix);
            sett_compile_options o = sm90;
            o.target = target;
            o.ptx_only = true;
            sett_status s = sett_compile(e, scale, &o, &k, &err);
            ck_assert_msg(!s || s == SETT_E_ARGUMENT || s == SETT_E_TARGET, "%s: %s", target, err.text);
            made += !s;
            *refused += s != SETT_OK;
            if (!s)
                sett_kernel_release(k);
        }
    return made;
}

START_TEST(silent_for_every_target)
{
    if (!have_compiler())
        return;
    sett_engine *e = open_engine();
    const char *path = in_root("printed");
    int refused = 0, fds[2];
    for (int i = 0; i < 2; i++) { /* stdout too */
        fds[i] = dup(i + 1);
        FILE *f = fopen(path, "a");
        dup2(fileno(f), i + 1);
        fclose(f);
    }
    int made = targets(e, &refused);
    for (int i = 0; i < 2; i++) {
        dup2(fds[i], i + 1);
        close(fds[i]);
    }
    ck_assert_int_eq(made, 25);
    ck_assert_int_eq(refused, 600 - 25);
    ck_assert_uint_eq(file_size(path), 0);
    sett_engine_close(e);
}
END_TEST

Suite *compile_suite(void);
Suite *compile_suite(void)
{
    const TTest *const tests[] = {bad_plugins, disk_hit_without_compiler, damage_is_healed, ptx_only, assembler_fails, joined,
        different_keys_at_once, silent_for_every_target, fatal};
    Suite *s = suite_create("compile");
    TCase *t = tcase_create("compile");
    tcase_add_checked_fixture(t, make_root, drop_root);
    for (size_t i = 0; i < SETT__COUNT(tests); i++)
        tcase_add_test(t, tests[i]);
    tcase_add_test(t, empty_plugin);
    tcase_add_test(t, opened_later);
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
    tcase_add_test(t, short_of_memory);
#endif
    tcase_set_timeout(t, 60);
    suite_add_tcase(s, t);
    return s;
}
