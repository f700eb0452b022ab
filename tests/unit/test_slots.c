/* SPDX-License-Identifier: Apache-2.0 */
/* How a recorded kernel is found in memory: one body recorded twice is one kernel, and whatever makes another kernel makes
 * another slot. */
#define SETT_SHORT
#include "tests/rig/faces.h"
#include "tests/rig/rig.h"
#include <check.h>
#include <stdlib.h>

static const sett_compile_options of_cpu = {.size = sizeof of_cpu, .target = "cpu"};

static sett_kernel *made(sett_engine *e, sett_body body, const void *user, const sett_compile_options *options)
{
    sett_compile_options o = *options;
    sett_kernel *k = NULL;
    sett_error err = {0};
    o.user = user;
    ck_assert_msg(!sett_compile(e, body, &o, &k, &err), "%s", err.text);
    return k;
}

/* ---- kernels that differ in one thing ------------------------------------------------------------------ */
typedef struct knobs {
    int64_t number, div, per_block, columns;
    const char *text, *symbol;
    bool swapped, below;
} knobs;

static void body(sett_build *b, const void *user)
{
    const knobs *k = user;
    sett_val *N = sett_sym(b, k->symbol, .div = k->div);
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_make_layout(b, N));
    sett_composition(sett_make_layout(b, T(N, k->columns)), sett_make_layout(b, 4, 4)); /* a check of N, whose text names the columns */
    sett_grid(b, sett_ceil_div(N, k->per_block));
    sett_block(b, 32);
    sett_val *i = sett_thread_idx(b, 0), *x = sett_mul(sett_at(X, i), k->number);
    x = sett_sub(k->swapped ? i : x, k->swapped ? x : i);
    sett_printf(b, k->text, x);
    if (k->below)
        sett_set(X, x, i);
    else
        sett_set(X, x, i);
}

#define OPTIONS .size = sizeof(sett_compile_options)
static const struct {
    const char *what;
    knobs k;
    sett_compile_options o;
    const char *cpu, *gpu; /* whose kernel it has; NULL: its own */
} variants[] = {
    {"nothing", {5, 2, 64, 4, "x %d\n", "N", false, false}, {OPTIONS}, NULL, NULL},
    {"number", {6, 2, 64, 4, "x %d\n", "N", false, false}, {OPTIONS}, NULL, NULL},
    {"operands", {5, 2, 64, 4, "x %d\n", "N", true, false}, {OPTIONS}, NULL, NULL},
    {"text", {5, 2, 64, 4, "y %d\n", "N", false, false}, {OPTIONS}, NULL, NULL},
    {"symbol", {5, 2, 64, 4, "x %d\n", "M", false, false}, {OPTIONS}, NULL, NULL},
    {"div", {5, 1, 64, 4, "x %d\n", "N", false, false}, {OPTIONS}, NULL, NULL},
    {"grid", {5, 2, 32, 4, "x %d\n", "N", false, false}, {OPTIONS}, NULL, NULL},
    {"check", {5, 2, 64, 8, "x %d\n", "N", false, false}, {OPTIONS}, NULL, NULL},
    {"line", {5, 2, 64, 4, "x %d\n", "N", false, true}, {OPTIONS}, NULL, "nothing"},
    {"level 3", {5, 2, 64, 4, "x %d\n", "N", false, false}, {OPTIONS, .opt_level = 3}, "nothing", "nothing"}, /* which is the default */
    {"level 1", {5, 2, 64, 4, "x %d\n", "N", false, false}, {OPTIONS, .opt_level = 1}, "nothing", NULL},
    {"line info", {5, 2, 64, 4, "x %d\n", "N", false, false}, {OPTIONS, .line_info = true}, "nothing", NULL},
    {"line and info", {5, 2, 64, 4, "x %d\n", "N", false, true}, {OPTIONS, .line_info = true}, "line", NULL},
    {"PTX", {5, 2, 64, 4, "x %d\n", "N", false, false}, {OPTIONS, .ptx_only = true}, "nothing", NULL},
    {"target", {5, 2, 64, 4, "x %d\n", "N", false, false}, {OPTIONS, .target = "sm_90"}, "nothing", NULL},
    {"asserts", {5, 2, 64, 4, "x %d\n", "N", false, false}, {OPTIONS, .asserts = SETT_ASSERTS_OFF}, "nothing", "nothing"}, /* it has none */
    {"memo", {5, 2, 64, 4, "x %d\n", "N", false, false}, {OPTIONS, .user_size = sizeof(knobs)}, "nothing", "nothing"},
    {"name", {5, 2, 64, 4, "x %d\n", "N", false, false}, {OPTIONS, .name = "another"}, "nothing", "nothing"},
};

static int index_of(const char *what)
{
    int i = 0;
    while (strcmp(variants[i].what, what))
        i++;
    return i;
}

/* Each is found again, and nothing is made then. */
START_TEST(one_thing)
{
    enum { N = SETT__COUNT(variants) };
    const bool cpu = !_i;
    sett_kernel *k[N];
    if (!cpu && !have_compiler())
        return;
    sett_engine *e = open_engine();
    for (int i = 0; i < N; i++) {
        const char *what = variants[i].what, *as = cpu ? variants[i].cpu : variants[i].gpu;
        sett_compile_options o = variants[i].o;
        o.ptx_only &= !cpu;
        o.target = cpu ? "cpu" : o.target ? o.target : "sm_90a";
        const sett_stats before = stats(e);
        k[i] = made(e, body, &variants[i].k, &o);
        const sett_stats after = stats(e);
        ck_assert_msg(after.memory_hits - before.memory_hits == !!as && after.misses - before.misses == !as, "%s", what);
        for (int j = 0; j < i; j++)
            ck_assert_msg((k[j] == k[i]) == (as && k[j] == k[index_of(as)]), "%s and %s", what, variants[j].what);
        o.user_size = 0;
        sett_kernel *again = made(e, body, &variants[i].k, &o);
        ck_assert_ptr_eq(again, k[i]);
        ck_assert(stats(e).memory_hits == after.memory_hits + 1 && stats(e).misses == after.misses);
        sett_kernel_release(again);
    }
    for (int i = 0; i < N; i++)
        sett_kernel_release(k[i]);
    sett_engine_close(e);
}
END_TEST

/* Whichever way a tape came: as a body, as bytes, as text, of which each op has a line that reports name: those of other lines are other
 * kernels, of one key. Sealing changes nothing. */
START_TEST(tapes_too)
{
    sett_engine *e = open_engine();
    sett_error err = {0};
    sett_compile_options o = of_cpu;
    void *tape[2];
    size_t len[2];
    sett_kernel *k[2][2];
    o.user = &variants[0].k;
    for (int text = 0; text < 2; text++)
        ck_assert_int_eq(sett_record(body, &o, text, &tape[text], &len[text], &err), SETT_OK);
    for (int again = 0; again < 2; again++)
        for (int text = 0; text < 2; text++) {
            ck_assert_msg(!sett_compile_tape(e, tape[text], len[text], &o, &k[again][text], &err), "%s", err.text);
            ck_assert_ptr_eq(k[again][text], k[0][text]);
            sett_engine_seal(e, true);
        }
    ck_assert(k[0][0] != k[0][1]);
    ck_assert_uint_eq(stats(e).misses, 2);
    ck_assert_uint_eq(stats(e).memory_hits, 2);
    sett_kernel_info x = {.size = sizeof x}, y = x;
    ck_assert(!sett_kernel_query(k[0][0], &x) && !sett_kernel_query(k[0][1], &y));
    ck_assert_mem_eq(x.key, y.key, sizeof x.key);
    for (int i = 0; i < 4; i++)
        sett_kernel_release(k[i / 2][i % 2]);
    for (int text = 0; text < 2; text++)
        sett_text_free(tape[text]);
    sett_engine_close(e);
}
END_TEST

/* ---- threads ------------------------------------------------------------------------------------------------ */
enum { THREADS = 4, ROUNDS = 12 };
typedef struct worker {
    sett_engine *e;
    sett_kernel *got[8];
    bool failed;
} worker;

static void *compile_all(void *user)
{
    worker *w = user;
    for (int again = 0; again < 3; again++)
        for (int i = 0; i < 8; i++) {
            sett_compile_options o = of_cpu;
            sett_kernel *k = NULL;
            o.user = &variants[i].k;
            w->failed |= sett_compile(w->e, body, &o, &k, NULL) != SETT_OK || (again && k != w->got[i]);
            w->got[i] = k;
            sett_kernel_release(k);
        }
    return NULL;
}

/* A body has one kernel, whoever compiled it. */
START_TEST(many_at_once)
{
    for (int round = 0; round < ROUNDS; round++) {
        worker w[THREADS] = {{0}};
        pthread_t id[THREADS];
        sett_engine *e = open_engine();
        for (int i = 0; i < THREADS; i++) {
            w[i].e = e;
            ck_assert_int_eq(pthread_create(&id[i], NULL, compile_all, &w[i]), 0);
        }
        for (int i = 0; i < THREADS; i++)
            pthread_join(id[i], NULL);
        for (int i = 0; i < THREADS; i++)
            ck_assert(!w[i].failed && !memcmp(w[i].got, w[0].got, sizeof w[0].got));
        ck_assert_uint_eq(stats(e).misses, 8);
        sett_engine_close(e);
    }
}
END_TEST

Suite *slots_suite(void);
Suite *slots_suite(void)
{
    Suite *s = suite_create("slots");
    TCase *t = tcase_create("slots");
    tcase_add_checked_fixture(t, make_root, drop_root);
    tcase_add_loop_test(t, one_thing, 0, 2);
    tcase_add_test(t, tapes_too);
    tcase_add_test(t, many_at_once);
    tcase_set_timeout(t, 60);
    suite_add_tcase(s, t);
    return s;
}
