/* SPDX-License-Identifier: Apache-2.0 */
/* For suites of the library of kernels: an engine, on the CPU or, with SETT_TEST_GPU=1, on GPU 0, and arrays there. */
#ifndef KERNELS_RIG_H
#define KERNELS_RIG_H
#include "examples/common.h"
#include <check.h>
#include <float.h>
#include <limits.h>
#include <stddef.h>
#include <sett/kernels.h>

static run r;
static sett_error err;
static const sett_dtype floats[] = {SETT_F16, SETT_BF16, SETT_F32};
static const double ulp[] = {1.0 / 1024, 1.0 / 128, 1.0 / (1 << 22)};
enum { FLOATS = 3 };

static inline void set_up(void)
{
    const sett_engine_options o = {.size = sizeof o, .cache_dir = "", .no_gpu = !getenv("SETT_TEST_GPU"), .cpu_threads = 2};
    r = (run){.seed = 1};
    ck_assert_msg(!sett_engine_open(&r.e, &o, &err), "%s", err.text);
    r.stream.device = sett_default_device(r.e);
}

/* Does the machine of the tests have wgmma? The CPU engine has. */
static inline bool has_wgmma(void)
{
    char target[16] = "cpu";
    return r.stream.device == SETT_CPU || (sett_device_target(r.e, r.stream.device, target, sizeof target) > 0 && !strcmp(target, "sm_90a"));
}
static inline void tear_down(void)
{
    sett_engine_close(r.e);
}

/* On the CPU engine, from here on: what goes on in the background is done late, at once, or in one of the random orders, in turn by number. more: NULL,
 * or a number that gives others of these. */
static inline void in_order(int number, const char *more)
{
    char random[32];
    const char *const orders[] = {"lazy", "eager", random, random};
    const sett_engine_options o = {.size = sizeof o, .cache_dir = "", .no_gpu = true, .cpu_threads = 2, .cpu_async = orders[number % 4]};
    snprintf(random, sizeof random, "random:%d", 1 + number + (more ? 100 * atoi(more) : 0));
    if (r.stream.device != SETT_CPU)
        return;
    sett_engine_close(r.e);
    ck_assert_msg(!sett_engine_open(&r.e, &o, &err), "%s", err.text);
}

/* Options of which sett_kernels_choose says why they cannot be. */
static inline void check_not_chosen(sett_body body, const char *name, void *options, const char *target, const char *text)
{
    char want[300];
    ck_assert_int_eq(sett_kernels_choose(body, options, target, &err), SETT_E_ARGUMENT);
    snprintf(want, sizeof want, "sett_kernels_choose: %s: %s", name, text);
    ck_assert_str_eq(err.text, want);
}

/* A tensor on the device, filled at random; its elements as they were then. */
typedef struct array {
    matrix m;
    size_t n;
    double *was;
} array;

static inline array make(sett_dtype t, int rank, const int64_t *shape)
{
    int64_t n = 1;
    for (int i = 0; i < rank; i++)
        n *= shape[i];
    array a = {.m = matrix_random(&r, t, 1, n), .n = (size_t)n, .was = malloc((size_t)n * sizeof(double))};
    for (size_t i = 0; i < a.n; i++)
        a.was[i] = get(t, a.m.host, i);
    a.m.buf = sett_buf_nd(a.m.buf.data, t, rank, shape);
    return a;
}
#define MAKE(t, ...) make(t, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[]){__VA_ARGS__})

static inline void drop(int n, array *a)
{
    for (int i = 0; i < n; i++)
        matrix_free(&r, &a[i].m), free(a[i].was);
}

/* What the kernel wrote. */
static inline double at(const array *a, size_t i)
{
    return get(a->m.buf.dtype, a->m.host, i);
}

static inline void near(const char *what, const array *a, size_t i, double want, double tolerance)
{
    double got = at(a, i);
    ck_assert_msg(fabs(got - want) <= tolerance, "%s, %s: element %zu of %zu is %.9g, should be %.9g", what, sett_dtype_name(a->m.buf.dtype), i, a->n, got, want);
}

static inline sett_kernel *compiled(sett_body body, const void *options)
{
    sett_kernel *k = NULL;
    ck_assert_msg(!sett_kernels_compile(r.e, body, options, NULL, &k, &err), "%s", err.text);
    return k;
}
/* Of a test of attention that runs so often for the device's own target, and then again for others, whose kernels every GPU of ours has: its
 * target, or NULL. */
static inline const char *target_of(int i, int own)
{
    static const char *const others[] = {"sm_80", "sm_89", "sm_120a"};
    return i < own ? NULL : others[i % (int)(sizeof others / sizeof *others)];
}
static inline bool runs(const char *target)
{
    return target || has_wgmma();
}

/* Options, of which .size says how many bytes, as they are chosen for a target. */
typedef struct chosen_options {
    _Alignas(max_align_t) unsigned char bytes[512];
} chosen_options;
static inline chosen_options chosen_for(sett_body body, const void *options, const char *target)
{
    chosen_options x;
    memcpy(x.bytes, options, *(const size_t *)options);
    ck_assert_msg(!sett_kernels_choose(body, x.bytes, target, &err), "%s: %s", target, err.text);
    return x;
}

/* What is chosen for another target, on this device; NULL: for its own. */
static inline sett_kernel *compiled_as(sett_body body, const void *options, const char *target)
{
    if (!target)
        return compiled(body, options);
    const chosen_options x = chosen_for(body, options, target);
    return compiled(body, x.bytes);
}

#ifdef __SANITIZE_ADDRESS__ /* which sees nothing of an assembler's memory */
enum { ASSEMBLED = 0 };
#else
enum { ASSEMBLED = 1 };
#endif
/* For a target it assembles, has no local memory, and its PTX holds a text; NULL: what has no such instruction is told by name. Gives the bytes
 * that the assembler spills, -1 where that is not known. */
static inline int check_target(sett_engine *e, sett_body body, const void *options, const char *target, const char *holds)
{
    const chosen_options x = chosen_for(body, options, target);
    sett_compile_options co = {.size = sizeof co, .target = target, .user = &x, .ptx_only = !ASSEMBLED};
    sett_kernel_info info = {.size = sizeof info};
    sett_kernel *k;
    sett_status s = sett_compile(e, body, &co, &k, &err);
    if (s == SETT_E_NO_COMPILER) /* the plug-in was not built */
        return -1;
    if (!holds) {
        ck_assert_int_eq(s, SETT_E_TARGET);
        ck_assert_msg(strstr(err.text, target) != NULL, "%s", err.text);
        return -1;
    }
    if (s == SETT_E_NO_ASSEMBLER) {
        co.ptx_only = true;
        s = sett_compile(e, body, &co, &k, &err);
    }
    ck_assert_msg(!s, "%s: %s", target, err.text);
    ck_assert(!sett_kernel_query(k, &info));
    ck_assert_msg(strstr(info.ptx, holds) && !strstr(info.ptx, ".local"), "no %s, or local memory, for %s", holds, target);
    sett_kernel_release(k);
    return info.spill_stores;
}

#define RUN(body, options, ...) \
    do { \
        sett_kernel *k_ = compiled(body, options); \
        ck_assert_msg(!sett_launch(k_, r.stream, &err, __VA_ARGS__), "%s", err.text); \
        ck_assert_msg(!sett_sync_error(r.e, r.stream, &err), "%s", err.text); \
        sett_kernel_release(k_); \
    } while (0)
#endif
