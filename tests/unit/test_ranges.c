/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of loop variables: quotients and remainders of those that cannot be negative are shifts and masks. */
#define SETT_SHORT
#include "lib/print/print.h"
#include <check.h>
#include <sett/compile.h>
#include <stdlib.h>
#include <string.h>

/* ---- the operations of a loop's body -------------------------------------------------------------- */
typedef struct loop {
    sett_dtype dtype;
    int64_t lo;   /* the first bound, or, where it is not 0, added to a thread's index */
    int unroll;
    bool thread;  /* from the thread's index */
    bool given;   /* from an argument, of which nothing is known */
    bool step;    /* a step that a launch gives */
} loop;

static void body(sett_build *b, const void *user)
{
    const loop *l = user;
    sett_val *hi = sett_scalar(b, "hi", l->dtype), *from = sett_scalar(b, "from", l->dtype), *step = sett_scalar(b, "step", l->dtype);
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_make_layout(b, T(1 << 20)));
    sett_block(b, 128);
    sett_arg lo = l->given ? SETT_A(from) : l->thread ? SETT_A(sett_add(sett_thread_idx(b, 0), l->lo)) : SETT_A(l->lo);
    sett_for (b, i, lo, hi, l->step ? SETT_A(step) : SETT_A(8), .unroll = l->unroll)
        sett_set(X, sett_to(sett_floordiv(i, 16), SETT_I32), sett_add(sett_to(sett_mod(i, 16), SETT_I32), 16));
}

static int count(const char *text, const char *what)
{
    int n = 0;
    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

static const struct {
    loop l;
    int natural; /* in how many copies the variable is known not to be negative */
} loops[] = {
    {{SETT_I32, 0, 0, false, false, false}, 1}, {{SETT_I32, 0, 0, true, false, false}, 1},
    {{SETT_I64, 0, 0, true, false, false}, 1},  {{SETT_I32, 5, 0, true, false, false}, 1},
    {{SETT_I32, 0, 4, true, false, false}, 5},  {{SETT_I64, 3, 2, false, false, false}, 3},
    {{SETT_I32, 0, 0, true, false, true}, 1},   {{SETT_I32, -1, 0, true, false, false}, 0},
    {{SETT_I32, -1, 2, false, false, false}, 1 /* from 7 on */}, {{SETT_I32, 0, 0, false, true, false}, 0},
    {{SETT_I64, 0, 3, false, true, false}, 0}};

START_TEST(rising_variables)
{
    void *text = NULL;
    size_t len;
    sett_error err;
    sett_compile_options opt = {.size = sizeof opt, .user = &loops[_i].l};
    ck_assert_msg(!sett_record(body, &opt, true, &text, &len, &err), "%s", err.text);
    char *in = strstr(text, "for ");
    ck_assert_ptr_nonnull(in);
    ck_assert_msg(count(in, " nonneg\n") == loops[_i].natural, "not %d in\n%s", loops[_i].natural, (char *)text);
    ck_assert_int_eq(count(in, " and i"), loops[_i].natural);
    sett_text_free(text);
}
END_TEST

Suite *ranges_suite(void);
Suite *ranges_suite(void)
{
    Suite *s = suite_create("ranges");
    TCase *t = tcase_create("ranges");
    tcase_add_loop_test(t, rising_variables, 0, SETT__COUNT(loops));
    suite_add_tcase(s, t);
    return s;
}
