/* SPDX-License-Identifier: Apache-2.0 */
/* How a recorded kernel is found in memory without its bytes: tapes of one identity have the same bytes, one body recorded twice
 * has one identity, and whatever makes another kernel makes another identity. */
#define SETT_SHORT
#include "faces.h"
#include "jit/compile/identity.h"
#include "conform.h"
#include "rig.h"
#include <stdlib.h>

/* Any words will do here. */
static const uint64_t *any_key(void)
{
    static uint64_t key[SETT__IDENTITY_KEY];
    uint64_t seed = 4711;
    for (int i = 0; i < SETT__IDENTITY_KEY && !key[i]; i++)
        key[i] = conform_random(&seed);
    return key;
}

typedef struct name { unsigned char b[SETT__IDENTITY_BYTES]; } name;
static name name_of(const sett__tape *t, bool sites)
{
    name n;
    ck_assert(sett__tape_identity(any_key(), t, sites, n.b));
    return n;
}

static bool same(const name *a, const name *b)
{
    return !memcmp(a, b, sizeof *a);
}

static sett__tape recorded(sett_body body, const void *user, bool asserts)
{
    sett__tape t;
    sett_error err = {0};
    sett_build *b = sett__build_new(NULL, true);
    ck_assert_ptr_nonnull(b);
    b->asserts = asserts;
    body(b, user);
    ck_assert_msg(!sett__build_finish(b, &t, &err), "%s", err.text);
    sett_build_end(b, NULL);
    return t;
}

/* ---- identities and bytes ------------------------------------------------------------------------- */
/* All of N programs, each recorded twice, with call sites and without: one identity where the bytes are one. */
START_TEST(as_bytes)
{
    enum { N = 60 };
    static struct { name id; sett__digest bytes; } of[2 * N];
    const bool sites = _i;
    sett_error err = {0};
    for (int i = 0; i < 2 * N; i++) {
        const uint64_t seed = (uint64_t)(i % N) * 977 + 5;
        sett__tape t = recorded(conform_program, &seed, false);
        void *bytes;
        size_t len;
        ck_assert_msg(!sett__tape_write(&t, sites, NULL, &bytes, &len, &err), "%s", err.text);
        sett__sha256(bytes, len, &of[i].bytes);
        of[i].id = name_of(&t, sites);
        free(bytes);
        sett__tape_free(&t);
    }
    for (int i = 0; i < 2 * N; i++)
        for (int j = 0; j < i; j++) {
            const bool one = !memcmp(&of[i].bytes, &of[j].bytes, sizeof of[i].bytes);
            ck_assert_msg(same(&of[i].id, &of[j].id) == one, "programs %d and %d", i % N, j % N);
            ck_assert(one || i % N != j % N);
        }
}
END_TEST

typedef struct arrays {
    sett__tape t;
    name was;
    bool sites;
} arrays;

/* Each bit of an item is part of the identity, or none is. */
static void flip(arrays *a, void *item, size_t from, size_t bytes, bool counts)
{
    for (size_t i = 8 * from; i < 8 * (from + bytes); i++) {
        unsigned char *at = (unsigned char *)item + i / 8;
        *at ^= (unsigned char)(1u << i % 8);
        name now = name_of(&a->t, a->sites);
        ck_assert_msg(same(&now, &a->was) != counts, "bit %zu", i);
        *at ^= (unsigned char)(1u << i % 8);
    }
}

/* Of tapes of n ops and as many operands: the first, the last, and those at the ends of blocks. */
START_TEST(each_bit)
{
    static const uint32_t sizes[] = {0, 1, 2, 3, 127, 128, 129, 169, 170, 171, 172, 341, 1000, 1024, 1025, 20000};
    static sett__op op[20000];
    static uint32_t arg[20000];
    static sett__site_ref site[3] = {{1, 2, 30}, {1, 2, 31}, {1, 2, 32}};
    char text[3][20] = {"%d of %d", "a.c", "body"};
    const char *const string[3] = {text[0], text[1], text[2]};
    uint64_t seed = 99;
    for (int i = 0; i < 20000; i++) {
        for (size_t k = 0; k < sizeof *op; k++)
            ((unsigned char *)&op[i])[k] = (unsigned char)conform_random(&seed);
        arg[i] = (uint32_t)conform_random(&seed);
    }
    for (size_t s = 0; s < SETT__COUNT(sizes); s++)
        for (int sites = 0; sites < 2; sites++) {
            const uint32_t n = sizes[s];
            arrays a = {.sites = sites, .t = {.n_op = n, .n_arg = n, .n_index = n, .n_string = 3, .n_path = 2, .n_site = 3,
                .op = op, .arg = arg, .index = arg + 20000 - n, .string = (const char **)(uintptr_t)string, .site = site}};
            a.was = name_of(&a.t, sites);
            for (uint32_t i = 0; i < n; i += i + 4 < n && i > 2 ? n / 7 + 1 : 1) {
                flip(&a, &op[i], 0, 16, true);
                flip(&a, &op[i], 16, 8, sites);
                flip(&a, &op[i], 24, 8, true);
                flip(&a, &arg[i], 0, 4, true);
            }
            flip(&a, &text[0][1], 0, 1, true);
            flip(&a, &text[1][1], 0, 1, sites);
            flip(&a, &site[2], 0, sizeof *site, sites);
            for (uint32_t *of[] = {&a.t.n_op, &a.t.n_arg, &a.t.n_index}, i = 0; i < 3 && n; i++) { /* also where it was a zero */
                (*of[i])--;
                name now = name_of(&a.t, sites);
                ck_assert(!same(&now, &a.was));
                (*of[i])++;
            }
        }
}
END_TEST

/* Zeros at the end of what is hashed, in whole blocks and parts of them, are no padding. */
START_TEST(zeros_count)
{
    enum { MOST = 700 };
    static name seen[2][MOST];
    static sett__op op[MOST];
    static uint32_t arg[MOST];
    for (uint32_t n = 0; n < MOST; n++)
        for (int ops = 0; ops < 2; ops++) {
            const sett__tape t = {.n_op = ops ? n : 1, .n_arg = ops ? 1 : n, .op = op, .arg = arg};
            seen[ops][n] = name_of(&t, false);
            for (uint32_t i = 0; i < n; i++)
                ck_assert(!same(&seen[ops][i], &seen[ops][n]));
        }
}
END_TEST

/* A signature is told by its bytes; one that is too large has no identity, and its kernels are found by their keys. */
static void many(sett_build *b, const void *user)
{
    char text[80];
    const int n = *(const int *)user;
    for (int i = 0; i < n; i++) {
        snprintf(text, sizeof text, "a_parameter_of_a_long_name_that_takes_the_room_of_many_others_%04d", i);
        sett_scalar(b, text, SETT_I32);
    }
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_make_layout(b, 32));
    sett_block(b, 32);
    sett_set(X, 1, sett_thread_idx(b, 0));
}

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

START_TEST(large_signatures)
{
    sett_engine *e = open_engine();
    for (int n = 60; n <= 200; n += 10) {
        sett__tape t = recorded(many, &n, true);
        unsigned char id[SETT__IDENTITY_BYTES];
        ck_assert_int_eq(sett__tape_identity(any_key(), &t, false, id), n <= 110);
        sett__tape_free(&t);
        sett_kernel *k = made(e, many, &n, &of_cpu), *again = made(e, many, &n, &of_cpu);
        ck_assert_ptr_eq(k, again);
        sett_kernel_release(k);
        sett_kernel_release(again);
    }
    ck_assert_uint_eq(stats(e).memory_hits, stats(e).misses);
    sett_engine_close(e);
}
END_TEST

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

/* Each is found again by its identity, and nothing is made then. */
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

/* ---- what a hit asks ------------------------------------------------------------------------------------- */
static sett__identity identity_of(sett_engine *e, const void *user)
{
    const sett__request r = {.e = e, .target = "cpu", .cpu = true, .opt_level = 3};
    sett__tape t = recorded(body, user, true);
    sett__identity id;
    ck_assert(sett__identify(&r, &t, &id));
    sett__tape_free(&t);
    return id;
}

static sett_kernel *known(sett_engine *e, const void *user)
{
    sett__identity id = identity_of(e, user);
    id.memo.user = id.user;
    return sett__memo_get(e->kernels, &id.memo);
}

/* The identity alone: what is said of it is believed, so no byte was written to look. Other engines have other words, and another
 * name for it. */
START_TEST(nothing_is_written)
{
    sett_engine *e = open_engine(), *other = open_engine();
    const knobs *base = &variants[0].k, *number = &variants[1].k;
    ck_assert_ptr_null(known(e, base));
    sett_kernel *k = made(e, body, base, &of_cpu), *again = known(e, base);
    ck_assert_ptr_eq(again, k);
    ck_assert_ptr_null(known(e, number));
    sett__identity id = identity_of(e, number), elsewhere = identity_of(other, number);
    ck_assert_mem_ne(id.user, elsewhere.user, sizeof id.user);
    id.memo.user = id.user;
    sett__memo_put(e->kernels, &id.memo, k);
    sett_kernel *wrong = made(e, body, number, &of_cpu);
    ck_assert_ptr_eq(wrong, k);
    ck_assert_uint_eq(stats(e).memory_hits, 1);
    sett_kernel_release(k);
    sett_kernel_release(again);
    sett_kernel_release(wrong);
    sett_engine_close(e);
    sett_engine_close(other);
}
END_TEST

/* What a caller's memo finds has no other, until it is recorded all the same. */
START_TEST(beside_memos)
{
    sett_engine *e = open_engine();
    const knobs *base = &variants[0].k;
    sett_compile_options o = of_cpu;
    o.user_size = sizeof *base;
    sett_kernel *k = made(e, body, base, &o), *again = known(e, base);
    ck_assert_ptr_null(again);
    sett_kernel_release(made(e, body, base, &o));
    ck_assert_uint_eq(stats(e).memo_hits, 1);
    again = made(e, body, base, &of_cpu);
    ck_assert_ptr_eq(again, k);
    sett_kernel_release(again);
    again = known(e, base);
    ck_assert_ptr_eq(again, k);
    sett_kernel_release(again);
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

/* Whichever way a tape came: as a body, as bytes, as text. Without call sites the last two are one, and sealing changes nothing. */
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
            ck_assert_ptr_eq(k[again][text], k[0][0]);
            sett_engine_seal(e, true);
        }
    ck_assert_uint_eq(stats(e).misses, 1);
    ck_assert_uint_eq(stats(e).memory_hits, 3);
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

/* The engine's words are drawn by one of those who record first; a body has one kernel, whoever compiled it. */
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

Suite *identity_suite(void);
Suite *identity_suite(void)
{
    Suite *s = suite_create("identity");
    TCase *t = tcase_create("identity");
    tcase_add_checked_fixture(t, make_root, drop_root);
    tcase_add_loop_test(t, as_bytes, 0, 2);
    tcase_add_test(t, each_bit);
    tcase_add_test(t, zeros_count);
    tcase_add_test(t, large_signatures);
    tcase_add_loop_test(t, one_thing, 0, 2);
    tcase_add_test(t, nothing_is_written);
    tcase_add_test(t, beside_memos);
    tcase_add_test(t, tapes_too);
    tcase_add_test(t, many_at_once);
    tcase_set_timeout(t, 60);
    suite_add_tcase(s, t);
    return s;
}
