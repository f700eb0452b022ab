/* SPDX-License-Identifier: Apache-2.0 */
/* sett_fast_divmod: what a kernel computes and what its launch does; conform_divmod.c has the results. */
#define SETT_SHORT
#include "tests/rig/rig.h"
#include "tests/rig/suite.h"
#include <stdlib.h>
#include <string.h>

/* Twice by N, once by a number made of N and M, through a division; N and M are declared around them. */
static void dividing(sett_build *b, const void *user)
{
    (void)user;
    sett_val *N = sett_sym(b, "N");
    sett_fast_divmod d = sett_make_fast_divmod(b, N);
    sett_val *M = sett_sym(b, "M");
    sett_tensor *Y = sett_param(b, "Y", SETT_I32, sett_row_major(b, N, M));
    sett_grid(b, N, M);
    sett_block(b, 1);
    sett_val *i = sett_block_idx(b, 0), *j = sett_block_idx(b, 1);
    sett_quot_rem a = sett_divmod(j, d), again = sett_divmod(j, sett_make_fast_divmod(b, N));
    sett_quot_rem e = sett_divmod(j, sett_make_fast_divmod(b, sett_ceil_div(M, N)));
    sett_set(Y, sett_add(sett_add(a.quotient, again.remainder), sett_add(e.quotient, e.remainder)), i, j);
}

START_TEST(launches_divide_and_kernels_multiply)
{
    static const char signature[] = "sym N\nsym M\nparam Y i32 (N,M):(M,1) align 4 write\n"
                                    "sym \"multiplier 0\" = ((2147483648<<ceil_log2(N))+N-1)/N-2147483648\n"
                                    "sym \"shift 0\" = ceil_log2(N)\n";
    char *text = tape_of(dividing, NULL);
    const char *ops = strstr(text, "\n\n");
    ck_assert_msg(strstr(text, signature) != NULL, "%s", text);
    ck_assert_msg(strstr(text, "sym \"divisor 2\" = min(M%N,1)+M/N\ngrid N, M\n") != NULL, "%s", text);
    ck_assert_ptr_nonnull(ops);
    ck_assert_msg(!strstr(ops, " div ") && !strstr(ops, " rem ") && !strstr(ops, " select "), "%s", ops);
    int muls = 0;
    for (const char *s = ops; (s = strstr(s, " mul ")); s++)
        muls++;
    ck_assert_msg(muls == 5, "%s", ops); /* a high one and one for the remainder, of each divisor; and the offset's */
    sett_text_free(text);
}
END_TEST

START_TEST(kept)
{
    char *text = tape_of(dividing, NULL), *again;
    sett__tape t, u;
    sett_error err;
    void *bytes;
    size_t len;
    ck_assert_msg(!sett__tape_parse(&t, text, &err), "%s", err.text);
    ck_assert_uint_eq(t.sig.n_derived, 5);
    ck_assert(!sett__tape_write(&t, true, NULL, &bytes, &len, &err));
    ck_assert_msg(!sett__tape_read(&u, bytes, len, &err), "%s", err.text);
    ck_assert(!sett__tape_print(&u, false, NULL, &again, &err));
    ck_assert_str_eq(again, text);
    free(again);
    free(bytes);
    sett__tape_free(&u);
    sett__tape_free(&t);
    sett_text_free(text);
}
END_TEST

START_TEST(refused_by_the_verifier)
{
    static const struct {
        const char *text, *error;
        sett_status status;
    } t[] = {
        {"sett tape 2\nsym N\nsym m = N+1\nsym K\n", "symbol m: those that have a value follow the others", SETT_E_VERIFY},
        {"sett tape 2\nsym N\nsym m = N\nsym k = m\n", "line 4, column 8: the expression is too long", SETT_E_PARSE},
        {"sett tape 2\nsym N\nsym m = m\n", "line 3, column 9: there is no symbol or scalar m", SETT_E_PARSE},
        {"sett tape 2\nsym N\nsym m = \t\"\\x1b[2J\" \033\n", "line 3, column 10: there is no symbol or scalar \\x1b[2J\n  "
            "sym m =  \"\\x1b[2J\" \\x1b\n           ^", SETT_E_PARSE},
        {"sett tape 2\nsym N\nsym m wide = N\n", "symbol m: its value is not a valid expression of 32 bits", SETT_E_VERIFY},
        {"sett tape 2\nsym N\nsym m div 2 = N\n", "symbol m: its value is not a valid expression of 32 bits", SETT_E_VERIFY},
    };
    for (size_t i = 0; i < SETT__COUNT(t); i++)
        tape_refused(t[i].text, t[i].status, t[i].error);
}
END_TEST

/* Y = i / d, where d is no argument's but behind them, or K - 1 of an extent. */
static void of_launch(sett_build *b, const void *user)
{
    sett_val *d = sett_sym(b, "d", .wide = user != NULL), *n = sett_sym(b, "n");
    sett_fast_divmod by = sett_make_fast_divmod(b, user ? sett_sub(d, 1) : d);
    sett_tensor *Y = sett_param(b, "Y", SETT_I32, sett_row_major(b, n));
    sett_grid(b, n);
    sett_block(b, 1);
    sett_val *i = sett_block_idx(b, 0);
    sett_set(Y, sett_divmod(i, by).quotient, i);
}

START_TEST(checked_at_launch)
{
    static const struct {
        bool wide;
        int64_t d, n;
        const char *error; /* NULL: it runs */
    } t[] = {
        {false, 3, 8, NULL}, {false, 1, 8, NULL}, {false, INT32_MAX, 8, NULL}, {false, 0, 0, NULL}, {true, 3, 8, NULL},
        {true, INT64_C(1) << 31, 8, NULL},
        {false, 0, 8, "k: multiplier 0, ((2147483648<<ceil_log2(d))+d-1)/d-2147483648, has no value where d = 0: a divisor is "
                      "1 to 2^31 - 1"},
        {true, 1, 8, "has no value where d = 1: a divisor is 1 to 2^31 - 1"},
        {true, (INT64_C(1) << 31) + 1, 8, "k: divisor 0, d-1, is 2147483648, not 0 to 2^31 - 1, where d = 2147483649"},
        {true, INT64_C(1) << 40, 8, "has no value where d = 1099511627776"},
    };
    static int32_t y[8];
    sett_engine *e = open_engine();
    for (size_t i = 0; i < SETT__COUNT(t); i++) {
        sett_compile_options co = {.size = sizeof co, .user = t[i].wide ? "" : NULL, .target = "cpu", .name = "k"};
        sett_kernel *k;
        sett_error err = {0};
        ck_assert_msg(!sett_compile(e, of_launch, &co, &k, &err), "%s", err.text);
        ck_assert_int_eq(sett_kernel_argument(k, "multiplier 0"), -1);
        sett_buf Y = sett_buf_1d(y, SETT_I32, t[i].n);
        sett_status s = sett_launch(k, ((sett_stream){SETT_CPU, NULL}), &err, &Y, t[i].d);
        ck_assert_msg(s == (t[i].error ? SETT_E_RANGE : SETT_OK), "%d: %d %s", (int)i, (int)s, err.text);
        ck_assert_msg(!t[i].error || strstr(err.text, t[i].error), "%s", err.text);
        for (int j = 0; !s && j < t[i].n; j++)
            ck_assert_int_eq(y[j], (int)(j / (t[i].d - t[i].wide)));
        s = sett_launch(k, ((sett_stream){SETT_CPU, NULL}), &err, &Y, 3, 8, 5); /* one more than there are */
        ck_assert_int_eq(s, SETT_E_BIND);
        sett_kernel_release(k);
    }
    sett_engine_close(e);
}
END_TEST

/* ---- the build's errors ------------------------------------------------------------------------ */
static void wrong_body(sett_build *b, const void *user)
{
    const int which = *(const int *)user;
    sett_val *N = sett_sym(b, "N");
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_row_major(b, N));
    sett_grid(b, N);
    sett_fast_divmod d = sett_make_fast_divmod(b, 4);
    if (which == 0) sett_make_fast_divmod(b, 0);
    if (which == 1) sett_make_fast_divmod(b, INT64_C(1) << 31);
    if (which == 2) sett_make_fast_divmod(b, sett_at(X, 0));
    if (which == 3) sett_make_fast_divmod(b, T(2, 3));
    if (which == 4) sett_divmod(-1, d);
    if (which == 5) sett_divmod(sett_to(sett_at(X, 0), SETT_I64), d);
    if (which == 6) sett_divmod(sett_at(X, 0), ((sett_fast_divmod){.divisor = 0}));
    if (which == 7) sett_divmod(sett_sub(-1, sett_block_idx(b, 0)), d);
    if (which == 8) sett_divmod(sett_at(X, 0), ((sett_fast_divmod){.divisor = SETT_A(N)}));
    if (which == 9) sett_make_fast_divmod(b, sett_sub(sett_const(b, SETT_I32, 3), 3));
}

START_TEST(wrong_operands)
{
    static const char *const error[] = {
        "sett_make_fast_divmod: the divisor is 0, it must be 1 to 2^31 - 1",
        "sett_make_fast_divmod: the divisor is 2147483648, it must be 1 to 2^31 - 1",
        "sett_make_fast_divmod: a divisor must be made of symbols, integer scalars and constants, not of load at ",
        "sett_make_fast_divmod: a divisor is an integer, not (2,3)",
        "sett_divmod: the dividend is 0 to 2^31 - 1, not -1",
        "sett_divmod: the dividend is an Int32, not ?{i64}",
        "sett_divmod: the divisor was not made by sett_make_fast_divmod",
        "sett_divmod: the dividend is 0 to 2^31 - 1, not -1-block_idx.x",
        "sett_divmod: the value is NULL",
        "sett_make_fast_divmod: the divisor is 0, it must be 1 to 2^31 - 1",
    };
    for (int i = 0; i < (int)SETT__COUNT(error); i++) {
        sett_compile_options co = {.size = sizeof co, .user = &i};
        sett_error err;
        void *text;
        size_t len;
        ck_assert_msg(sett_record(wrong_body, &co, true, &text, &len, &err), "%d was taken", i);
        ck_assert_msg(strstr(err.text, error[i]) && strstr(err.text, "test_divmod.c:"), "%d: %s", i, err.text);
    }
    sett_quot_rem r = sett_divmod(29, sett_make_fast_divmod(NULL, 4));
    ck_assert_int_eq(r.quotient.kind, SETT_POISON);
}
END_TEST

/* Without a kernel, and of numbers: nothing is recorded. */
START_TEST(numbers_fold)
{
    sett_build *b = sett_build_begin();
    uint32_t ops = b->n_op;
    sett_quot_rem r = sett_divmod(29, sett_make_fast_divmod(b, 4));
    ck_assert(r.quotient.kind == SETT_INT && r.quotient.u.i == 7 && r.remainder.kind == SETT_INT && r.remainder.u.i == 1);
    ck_assert(b->n_op == ops && b->sig.n_sym == 0 && b->sig.n_code == 0);
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
}
END_TEST

SUITE_IN_ROOT(divmod, launches_divide_and_kernels_multiply, kept, refused_by_the_verifier, checked_at_launch, wrong_operands,
    numbers_fold)
