/* SPDX-License-Identifier: Apache-2.0 */
/* The laws of law.h: a sample in `make check`; `make properties` runs more. CASES, SEED and LAW say how many cases of each
 * law, from which seed on, and which law alone; a failure prints what to set to have it again. */
#include "conform.h"
#include "law.h"
#include <stdlib.h>
#include <string.h>

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

START_TEST(holds)
{
    const char *only = getenv("SETT_TEST_LAW");
    uint64_t seed = setting("SETT_TEST_SEED", 20261121);
    if (!only || !*only || !strcmp(only, laws[_i].name))
        ck_assert(law_check(&laws[_i], seed, (int)setting("SETT_TEST_CASES", 200)));
}
END_TEST

/* ---- on the device -------------------------------------------------------------------------------- */

/* What the host evaluates for known symbols, kernels compute for the same ones as arguments: many cases a kernel. */
enum { ON_DEVICE = 1000, BATCH = 50, SYMBOLS = 256, LANES = 64, STRIDE = 7 };
typedef struct batch {
    uint64_t seed[BATCH];
    int64_t want[BATCH][LANES], symbol[SYMBOLS];
    int n, n_symbol;
} batch;

/* Draws a case in its build; false: refused, or nothing is left to the launch. */
static bool draw(trial *t, sett_build *b, uint64_t seed, int first_symbol, sett_layout **got, flat *want)
{
    law_pair p = {.fixed = sett__build_new(NULL, true)};
    law_from_seed(t, seed);
    t->b = b;
    t->first_symbol = first_symbol;
    bool ok = law_both(t, &p) && t->n_symbol;
    ck_assert_msg(!t->failed, "%s", t->text);
    if (ok)
        *want = flat_of(t, p.want);
    *got = p.got;
    sett_build_end(p.fixed, NULL);
    return ok && flat_size(want) <= INT32_MAX;
}

static void body(sett_build *b, const void *user)
{
    static trial t;
    const batch *k = user;
    sett_tensor *Y = sett_param(b, "Y", SETT_I64, sett_make_layout(b, T(LANES, BATCH)));
    sett_layout *got;
    flat want;
    sett_grid(b, 1);
    sett_block(b, LANES);
    sett_val *lane = sett_thread_idx(b, 0);
    for (int i = 0, first = 0; i < k->n; i++, first += t.n_symbol) {
        bool drawn = draw(&t, b, k->seed[i], first, &got, &want);
        ck_assert_msg(drawn, "%s", t.text);
        sett_val *c = sett_mod(sett_add(sett_mul(lane, STRIDE), i), (int)flat_size(&want));
        sett_set(Y, sett_crd2idx(c, got), lane, i);
    }
}

/* The next seeds whose cases a launch takes, and what they give. */
static uint64_t fill(batch *k, uint64_t seed)
{
    static trial t;
    flat want;
    k->n = k->n_symbol = 0;
    for (; k->n < BATCH && k->n_symbol + LAW_SYMBOLS <= SYMBOLS; seed++) {
        sett_build *b = sett__build_new(NULL, true);
        sett_layout *got;
        if (draw(&t, b, seed, 0, &got, &want) && law_launches(&t)) {
            k->seed[k->n] = seed;
            for (int lane = 0; lane < LANES; lane++)
                k->want[k->n][lane] = (int64_t)flat_at(&want, (lane * STRIDE + k->n) % flat_size(&want));
            memcpy(k->symbol + k->n_symbol, t.value, sizeof *t.value * (size_t)t.n_symbol);
            k->n_symbol += t.n_symbol;
            k->n++;
        }
        sett_build_end(b, NULL);
    }
    return seed;
}

START_TEST(on_the_device)
{
    static batch k;
    static int64_t y[BATCH][LANES];
    static sett_bind bind[1 + SYMBOLS];
    const sett_buf Y = {y, SETT_I64, 2, {LANES, BATCH}, {1, LANES}};
    uint64_t seed = setting("SETT_TEST_SEED", 20261121);
    for (int done = 0; done < ON_DEVICE; done += k.n) {
        seed = fill(&k, seed);
        bind[0] = sett_bind_t(&Y);
        for (int i = 0; i < k.n_symbol; i++)
            bind[1 + i] = sett_bind_i(k.symbol[i]);
        sett_kernel *kernel = conform_compile(body, &k, (conform_how){.cpu = false});
        conform_launch(kernel, false, 1 + k.n_symbol, bind);
        sett_kernel_release(kernel);
        for (int i = 0; i < k.n; i++)
            for (int lane = 0; lane < LANES; lane++)
                ck_assert_msg(y[i][lane] == k.want[i][lane],
                    "seed %" PRIu64 ", thread %d: %" PRId64 ", want %" PRId64 " (make properties LAW=dynamic CASES=1 SEED=%" PRIu64 ")",
                    k.seed[i], lane, y[i][lane], k.want[i][lane], k.seed[i]);
    }
}
END_TEST

Suite *properties_suite(void)
{
    Suite *s = suite_create("properties");
    TCase *t = tcase_create("laws"), *device = tcase_create("device");
    tcase_set_timeout(t, 300);
    tcase_set_timeout(device, 120);
    if (!getenv("SETT_TEST_GPU")) /* on the host they are the same everywhere */
        tcase_add_loop_test(t, holds, 0, n_laws);
    tcase_add_test(device, on_the_device);
    suite_add_tcase(s, t);
    suite_add_tcase(s, device);
    return s;
}
