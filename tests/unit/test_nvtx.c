/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges, as a profiler's library sees them: begun and ended on one thread in order, named after what is done to which
 * kernel. Each test is a process of its own, which looks for a profiler once. */
#include "tests/rig/rig.h"
#include <check.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS = 1000 };
typedef struct event { /* of fake_nvtx.c */
    pthread_t thread;
    char domain[16], text[200];
} event;
typedef struct profiler {
    void *lib;
    event *event;
    int *n, *starts, *bad;
} profiler;

static bool path_of(char path[4096])
{
    const char *fork = getenv("CK_FORK");
    bool there = sett__beside("fake-nvtx.so", path, 4096), alone = !fork || strcmp(fork, "no");
    if (!there || !alone)
        fprintf(stderr, "skipped: %s\n", there ? "tests share a process" : "there is no fake-nvtx.so");
    return there && alone;
}

static profiler look(void *lib)
{
    ck_assert_ptr_nonnull(lib);
    return (profiler){lib, dlsym(lib, "fake_nvtx_event"), dlsym(lib, "fake_nvtx_events"), dlsym(lib, "fake_nvtx_starts"),
        dlsym(lib, "fake_nvtx_bad")};
}

/* How often the range was begun; every one of a thread ends, the last first. */
static int begun(const profiler *p, const char *text)
{
    int n = 0;
    ck_assert_int_le(*p->n, EVENTS);
    ck_assert_int_eq(*p->bad, 0);
    for (int i = 0; i < *p->n; i++) {
        const event *e = &p->event[i];
        ck_assert_str_eq(e->domain, "sett");
        n += !strcmp(e->text, text);
        int depth = 0;
        for (int j = i; j < *p->n; j++) /* what begins here ends here, and nothing ends that was not begun */
            if (pthread_equal(p->event[j].thread, e->thread)) {
                depth += p->event[j].text[0] ? 1 : -1;
                if (!depth || !e->text[0])
                    break;
            }
        ck_assert_msg(!e->text[0] || !depth, "%s does not end", e->text);
    }
    return n;
}

static int total(const profiler *p)
{
    int n = 0;
    for (int i = 0; i < *p->n; i++)
        n += p->event[i].text[0] ? 1 : -1;
    ck_assert_int_eq(n, 0);
    return *p->n / 2;
}

static const sett_compile_options cpu = {.size = sizeof cpu, .name = "scale", .target = "cpu"};

static const event *find(const profiler *p, const char *text)
{
    for (int i = 0; i < *p->n; i++)
        if (!strcmp(p->event[i].text, text))
            return &p->event[i];
    ck_abort_msg("there is no range %s", text);
    return NULL;
}

static void get(sett_engine *e, const sett_compile_options *o)
{
    sett_kernel_release(compile(e, o));
}

/* Each phase where it is done; a second engine does not start the profiler again. */
START_TEST(injected)
{
    char path[4096];
    sett__digest key;
    sett__ticket t = {0};
    if (!path_of(path))
        return;
    setenv("NVTX_INJECTION64_PATH", path, 1);
    bool compiler = have_compiler();
    profiler p = look(dlopen(path, RTLD_NOW | RTLD_NOLOAD));
    ck_assert_int_eq(*p.starts, 1);
    int *driver = compiler ? fake_driver() : NULL;
    sett_engine_options o = options();
    o.no_gpu = !driver;
    o.compile_wait_ms = 10;
    sett_engine *e = open_with(&o), *other = open_engine();
    ck_assert_int_eq(*p.starts, 1);
    ck_assert_int_eq(*p.n, 0);
    get(e, &cpu);
    get(e, &cpu);
    ck_assert_int_eq(begun(&p, "record scale"), 2);
    ck_assert_int_eq(total(&p), 2);
    if (compiler) {
        ck_assert_int_eq(sett_key(e, scale, &sm90, key.b, NULL), SETT_OK);
        ck_assert_int_eq(sett__disk_lock(sett__cache_folder(other->cache), &key, 0, false, &t), SETT__TURN_AT_ONCE);
        sett_kernel *k = compile(e, &sm90);
        sett__disk_unlock(&t);
        ck_assert_int_eq(begun(&p, "record scale"), 3);
        ck_assert_int_eq(begun(&p, "wait scale"), 1);
        ck_assert_int_eq(begun(&p, "codegen scale"), 1);
        ck_assert_int_eq(begun(&p, "assemble scale"), 1);
        ck_assert_int_eq(total(&p), 6);
        ck_assert(pthread_equal(find(&p, "record scale")->thread, pthread_self()));
        ck_assert(pthread_equal(find(&p, "wait scale")->thread, pthread_self()));
        ck_assert(!pthread_equal(find(&p, "codegen scale")->thread, pthread_self()));
        ck_assert(pthread_equal(find(&p, "codegen scale")->thread, find(&p, "assemble scale")->thread));
        if (driver) {
            ck_assert_int_eq(sett_prepare(k, 0, NULL), SETT_OK);
            ck_assert_int_eq(begun(&p, "load scale"), 1);
        }
        sett_kernel_release(k);
    }
    sett_engine_close(e);
    sett_engine_close(other);
}
END_TEST

static void *ask(void *user)
{
    get(user, &sm90);
    return NULL;
}

/* Many who ask for one kernel: one compiles, the others wait, each on its thread. */
START_TEST(joined)
{
    enum { CREW = 6 };
    char path[4096];
    pthread_t t[CREW];
    if (!path_of(path))
        return;
    setenv("NVTX_INJECTION64_PATH", path, 1);
    if (!have_compiler())
        return;
    profiler p = look(dlopen(path, RTLD_NOW | RTLD_NOLOAD));
    sett_engine *e = open_engine();
    for (int i = 0; i < CREW; i++)
        ck_assert_int_eq(pthread_create(&t[i], NULL, ask, e), 0);
    for (int i = 0; i < CREW; i++)
        pthread_join(t[i], NULL);
    ck_assert_int_eq(begun(&p, "record scale"), CREW);
    ck_assert_int_eq(begun(&p, "codegen scale"), 1);
    ck_assert_int_eq(begun(&p, "join scale"), (int)stats(e).joined);
    sett_engine_close(e);
}
END_TEST

/* A compiler that fails for good leaves its thread behind, and no range open. */
START_TEST(failed)
{
    char path[4096];
    sett_kernel *k;
    if (!path_of(path))
        return;
    setenv("NVTX_INJECTION64_PATH", path, 1);
    if (!have_compiler())
        return;
    profiler p = look(dlopen(path, RTLD_NOW | RTLD_NOLOAD));
    sett_engine *e = open_engine();
    e->provoke = "fatal";
    ck_assert_int_eq(sett_compile(e, scale, &sm90, &k, NULL), SETT_E_COMPILE);
    ck_assert_int_eq(begun(&p, "codegen scale"), 1);
    ck_assert_int_eq(total(&p), 2);
    sett_engine_close(e);
}
END_TEST

/* A process that has the older library, which nobody names. */
START_TEST(linked)
{
    char path[4096];
    if (!path_of(path))
        return;
    unsetenv("NVTX_INJECTION64_PATH");
    profiler p = look(dlopen(path, RTLD_NOW | RTLD_LOCAL));
    sett_engine *e = open_engine();
    get(e, &cpu);
    ck_assert_int_eq(*p.starts, 0);
    ck_assert_int_eq(begun(&p, "record scale"), 1);
    ck_assert_int_eq(total(&p), 1);
    sett_engine_close(e);
}
END_TEST

/* Nobody, a path to nothing, a library of something else, a profiler that cannot work here: kernels are made all the same. */
START_TEST(absent)
{
    static const char *const named[] = {"", "/nowhere/profiler.so", "libm.so.6", NULL};
    char path[4096];
    if (!path_of(path))
        return;
    setenv("FAKE_NVTX_REFUSES", "1", 1);
    profiler p = {.lib = NULL};
    setenv("NVTX_INJECTION64_PATH", named[_i] ? named[_i] : path, 1);
    if (!named[_i])
        p = look(dlopen(path, RTLD_NOW | RTLD_LOCAL)); /* kept open, to be looked at */
    sett_engine *e = open_engine();
    get(e, &cpu);
    sett_engine_close(e);
    if (!named[_i]) {
        ck_assert_int_eq(*p.starts, 1);
        ck_assert_int_eq(*p.n, 0);
    }
}
END_TEST

Suite *nvtx_suite(void);
Suite *nvtx_suite(void)
{
    Suite *s = suite_create("nvtx");
    TCase *t = tcase_create("all");
    const TTest *const tests[] = {injected, joined, failed, linked};
    tcase_add_checked_fixture(t, make_root, drop_root);
    for (size_t i = 0; i < SETT__COUNT(tests); i++)
        tcase_add_test(t, tests[i]);
    tcase_add_loop_test(t, absent, 0, 4);
    suite_add_tcase(s, t);
    return s;
}
