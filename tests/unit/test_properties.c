/* SPDX-License-Identifier: Apache-2.0 */
/* The laws of law.h: a sample in `make check`; `make properties` runs more. CASES, SEED and LAW say how many cases of each
 * law, from which seed on, and which law alone; a failure prints what to set to have it again. */
#include "tests/conform/conform.h"
#include "tests/law/law.h"
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
    static sett_launch_arg bind[1 + SYMBOLS];
    const sett_buf Y = {y, SETT_I64, 2, {LANES, BATCH}, {1, LANES}};
    uint64_t seed = setting("SETT_TEST_SEED", 20261121);
    for (int done = 0; done < ON_DEVICE; done += k.n) {
        seed = fill(&k, seed);
        bind[0] = sett_launch_arg_buf(&Y);
        for (int i = 0; i < k.n_symbol; i++)
            bind[1 + i] = sett_launch_arg_int(k.symbol[i]);
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

/* ---- at launch ---------------------------------------------------------------------------------------- */

static void launched(sett_build *b, const void *wide)
{
    sett_sym_args a[5] = {{.name = "G"}, {.name = "M"}, {.name = "N"}, {.name = "p"}, {.name = "q"}};
    sett_val *v[5];
    for (int i = 0; i < 5; i++) {
        a[i].size = sizeof a[i];
        a[i].wide = i && wide;
        v[i] = sett_sym_at(SETT_HERE, b, &a[i]);
    }
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T(v[1], v[2]), T(v[3], v[4])));
    sett_grid(b, v[0]);
    sett_block(b, 1);
    sett_set(X, 0.0f, 0, 0);
}

/* Extents and strides of any size: a launch takes them (here on no blocks) only where no offset wraps. */
START_TEST(launches_without_wrapping)
{
    static float data[4];
    static trial t;
    int taken = 0;
    sett_kernel *k = conform_compile(launched, _i ? "wide" : NULL, (conform_how){.cpu = true});
    law_from_seed(&t, setting("SETT_TEST_SEED", 20261121));
    for (int i = 0; i < 4000; i++, t.n_drawn = 0) {
        sett_buf x = {data, SETT_F32, 2, {law_huge(&t), law_huge(&t)}, {law_huge(&t), law_huge(&t)}};
        if (law_pick(&t, 3) == 0)
            x.shape[1] = x.stride[0] = 1 + law_pick(&t, 3);
        sett_launch_arg bind[] = {sett_launch_arg_buf(&x), sett_launch_arg_int(0)};
        law_wide last = ((law_wide)x.shape[0] - 1) * x.stride[0] + ((law_wide)x.shape[1] - 1) * x.stride[1];
        sett_status s = sett_launch_n(k, (sett_stream){SETT_CPU, NULL}, 2, bind, NULL);
        taken += !s;
        ck_assert_msg(s || last < (_i ? INT64_MAX / 32 : (law_wide)1 << 31),
            "(%" PRId64 ",%" PRId64 "):(%" PRId64 ",%" PRId64 ") is taken", x.shape[0], x.shape[1], x.stride[0], x.stride[1]);
    }
    ck_assert_int_gt(taken, 40);
    sett_kernel_release(k);
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
    tcase_add_loop_test(device, launches_without_wrapping, 0, 2);
    suite_add_tcase(s, t);
    suite_add_tcase(s, device);
    return s;
}
