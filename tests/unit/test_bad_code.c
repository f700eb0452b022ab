/* SPDX-License-Identifier: Apache-2.0 */
/* An entry of the cache whose code the driver will not load, over a driver made here. */
#include "tests/rig/faces.h"
#include "jit/cuda/inside.h"
#include "tests/rig/rig.h"
#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- a driver that loads, or says why not ------------------------------------------------- */
static sett__cuda cuda;
static int load_result;
static char context;
static sett_error err;
/* What a load waits for, where `held`. Relaxed, so that nothing but the library itself orders the threads. */
static atomic_bool held, loading, going;

static sett__cu ctx_get(void **c)
{
    *c = &context;
    return 0;
}
static sett__cu ctx_device(sett__cu *d)
{
    return *d = 0;
}
static sett__cu capture_mode(sett__cu *mode)
{
    (void)mode;
    return 0;
}
static sett__cu library_load(
    void **library, const void *code, sett__cu *a, void **b, unsigned n, sett__cu *c, void **d, unsigned m)
{
    (void)code, (void)a, (void)b, (void)n, (void)c, (void)d, (void)m;
    *library = &context;
    atomic_store_explicit(&loading, true, memory_order_relaxed);
    while (atomic_load_explicit(&held, memory_order_relaxed) && !atomic_load_explicit(&going, memory_order_relaxed))
        sched_yield();
    return load_result;
}
static sett__cu module_load(void **module, const void *code)
{
    return library_load(module, code, NULL, NULL, 0, NULL, NULL, 0);
}
static sett__cu named(void **to, void *from, const char *name)
{
    (void)name;
    *to = from;
    return 0;
}
static sett__cu kernel_function(void **to, void *from)
{
    *to = from;
    return 0;
}
static sett__cu text_of(sett__cu r, const char **text)
{
    (void)r;
    *text = "SOME";
    return 0;
}

static void start(bool modules)
{
    load_result = 0;
    cuda = (sett__cuda){.count = 1,
        .version = 13000,
        .pid = getpid(),
        .error_name = text_of,
        .error_string = text_of,
        .ctx_get = ctx_get,
        .ctx_device = ctx_device,
        .capture_mode = capture_mode,
        .module_load = module_load,
        .module_function = named,
        .library_load = modules ? NULL : library_load,
        .library_kernel = named,
        .kernel_function = kernel_function,
        .gpu = {{.id = 0, .target = "sm_90a", .smem_optin = 232448}}};
    ck_assert_int_eq(pthread_mutex_init(&cuda.lock, NULL), 0);
}

/* ---- an engine over it --------------------------------------------------------------------- */
static sett_engine *engine_over_it(const char *layers, const char *folder)
{
    sett_engine_options o = options();
    o.cache_layers = layers;
    o.cache_dir = folder;
    sett_engine *e = open_with(&o);
    e->runtime->cuda = &cuda;
    return e;
}
static void shut(sett_engine *e)
{
    e->runtime->cuda = NULL;
    sett_engine_close(e);
}
static const sett_compile_options for_it = {.size = sizeof for_it, .target = "sm_90a"};
static sett_kernel *compiled(sett_engine *e, sett_origin from)
{
    sett_kernel *k = compile(e, &for_it);
    sett_kernel_info info = {.size = sizeof info};
    ck_assert(!sett_kernel_query(k, &info));
    ck_assert_int_eq(info.origin, from);
    return k;
}

/* Each result that tells of the code, by either interface: the entry is dropped, the next compile makes it anew, once;
 * what that one is told is reported, and deletes nothing. */
static const int of_the_code[] = {1, 200, 209, 218, 222, 300, 302, 500};
START_TEST(a_bad_entry_is_made_anew)
{
    if (!have_compiler())
        return;
    start(_i % 2);
    sett_engine *e = engine_over_it("", in_root("cache"));
    sett_kernel_release(compiled(e, SETT_FROM_COMPILER));
    shut(e);
    e = engine_over_it("", in_root("cache"));
    sett_kernel *k = compiled(e, SETT_FROM_DISK);
    load_result = of_the_code[_i / 2];
    for (int turn = 0; turn < 2; turn++) {
        ck_assert_int_ne(sett_prepare(k, 0, &err), SETT_OK);
        ck_assert_int_eq(strstr(err.text, "; its entry of the cache is not used any more: compile kernel again") != NULL, !turn);
        ck_assert_uint_eq(stats(e).refusals, 1);
        ck_assert_uint_eq(stats(e).heals, 1);
    }
    sett_kernel_release(k);
    k = compiled(e, SETT_FROM_COMPILER);
    ck_assert_int_ne(sett_prepare(k, 0, &err), SETT_OK);
    ck_assert_ptr_null(strstr(err.text, "entry"));
    ck_assert_uint_eq(stats(e).refusals, 1);
    load_result = 0;
    ck_assert(!sett_prepare(k, 0, &err));
    sett_kernel_release(k);
    shut(e);
    e = engine_over_it("", in_root("cache")); /* and the entry that replaced it serves */
    k = compiled(e, SETT_FROM_DISK);
    ck_assert(!sett_prepare(k, 0, &err));
    sett_kernel_release(k);
    shut(e);
    pthread_mutex_destroy(&cuda.lock);
}
END_TEST

/* Not of the code: out of memory, a launch that failed, a fault that stays, whatever is said after it. */
START_TEST(other_errors_delete_nothing)
{
    static const struct {
        int fault, load;
    } cases[] = {{0, 2}, {0, 700}, {0, 999}, {700, 200}, {719, 1}};
    if (!have_compiler())
        return;
    for (size_t i = 0; i < SETT__COUNT(cases); i++) {
        start(false);
        sett_engine *e = engine_over_it("", in_root("cache"));
        sett_kernel_release(compile(e, &for_it));
        shut(e);
        e = engine_over_it("", in_root("cache"));
        sett_kernel *k = compiled(e, SETT_FROM_DISK);
        load_result = cases[i].load;
        cuda.fault = cases[i].fault;
        ck_assert_int_ne(sett_prepare(k, 0, &err), SETT_OK);
        ck_assert_uint_eq(stats(e).refusals, 0);
        sett_kernel_release(k);
        k = compile(e, &for_it);
        ck_assert_uint_eq(stats(e).compiles, 0);
        sett_kernel_release(k);
        shut(e);
        pthread_mutex_destroy(&cuda.lock);
    }
}
END_TEST

/* In a layer that is only read it cannot be moved: it is passed over, by its key too, and the folder is written. */
START_TEST(a_bad_entry_of_a_layer)
{
    if (!have_compiler())
        return;
    uint8_t key[32];
    start(false);
    sett_engine *e = engine_over_it("", in_root("layer"));
    sett_kernel_release(compiled(e, SETT_FROM_COMPILER));
    ck_assert(!sett_key(e, scale, &for_it, key, &err));
    shut(e);
    e = engine_over_it(in_root("layer"), in_root("cache"));
    sett_kernel *k;
    ck_assert(!sett_kernel_get(e, key, &k, &err));
    load_result = 200;
    ck_assert_int_ne(sett_prepare(k, 0, NULL), SETT_OK);
    sett_kernel_release(k);
    ck_assert_int_eq(sett_kernel_get(e, key, &k, &err), SETT_E_NOT_CACHED);
    ck_assert_uint_eq(stats(e).refusals, 1);
    ck_assert_uint_eq(stats(e).heals, 0);
    load_result = 0;
    k = compiled(e, SETT_FROM_COMPILER);
    ck_assert(!sett_prepare(k, 0, &err));
    sett_kernel_release(k);
    k = NULL;
    ck_assert(!sett_kernel_get(e, key, &k, &err)); /* from memory */
    sett_kernel_release(k);
    shut(e);
    ck_assert(!access(in_root("cache/v1"), F_OK));
    pthread_mutex_destroy(&cuda.lock);
}
END_TEST

static void *prepares(void *kernel)
{
    const sett_status s = sett_prepare(kernel, 0, NULL);
    sett__say(&((sett_kernel *)kernel)->rest->runtime->log, SETT_LOG_WARNING, "test", "a launch logs when it likes");
    return s ? kernel : NULL;
}

static atomic_int lines;
static void counts(void *user, sett_log_level level, const char *component, const char *text)
{
    (void)user, (void)level, (void)component;
    atomic_fetch_add_explicit(&lines, text[0] != 0, memory_order_relaxed);
}

/* A launch has been told that the code is bad, and takes its entry out of the cache and logs that, while another thread closes the
 * engine. Which of both is first is left to chance; the sanitizer of threads sees what nothing orders. */
START_TEST(an_engine_closes_meanwhile)
{
    if (!have_compiler())
        return;
    start(false);
    sett_engine *e = engine_over_it("", in_root("layer"));
    sett_kernel_release(compiled(e, SETT_FROM_COMPILER));
    shut(e);
    atomic_store(&held, true);
    for (int round = 0; round < 40; round++) {
        sett_engine_options o = options();
        pthread_t thread;
        void *refused;
        o.cache_layers = in_root("layer"), o.cache_dir = in_root("cache");
        o.log = counts;
        e = open_with(&o);
        e->runtime->cuda = &cuda;
        sett_kernel *k = compiled(e, SETT_FROM_DISK);
        load_result = 200;
        atomic_store(&loading, false), atomic_store(&going, false);
        ck_assert_int_eq(pthread_create(&thread, NULL, prepares, k), 0);
        while (!atomic_load_explicit(&loading, memory_order_relaxed))
            sched_yield();
        atomic_store_explicit(&going, true, memory_order_relaxed);
        usleep((unsigned)round * 20);
        sett_engine_close(e);
        ck_assert_int_eq(pthread_join(thread, &refused), 0);
        ck_assert_ptr_eq(refused, k);
        k->rest->runtime->cuda = NULL;
        sett_kernel_release(k);
    }
    atomic_store(&held, false);
    ck_assert_int_gt(atomic_load(&lines), 0);
    pthread_mutex_destroy(&cuda.lock);
}
END_TEST

Suite *bad_code_suite(void)
{
    Suite *s = suite_create("bad_code");
    TCase *t = tcase_create("entries");
    tcase_add_checked_fixture(t, make_root, drop_root);
    tcase_add_loop_test(t, a_bad_entry_is_made_anew, 0, 2 * (int)SETT__COUNT(of_the_code));
    tcase_add_test(t, other_errors_delete_nothing);
    tcase_add_test(t, a_bad_entry_of_a_layer);
    tcase_add_test(t, an_engine_closes_meanwhile);
    suite_add_tcase(s, t);
    return s;
}
