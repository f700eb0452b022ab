/* SPDX-License-Identifier: Apache-2.0 */
/* What a body relies on and the build cannot prove: recorded, kept with the kernel, and refused at launch. */
#define SETT_SHORT
#include "tests/rig/rig.h"
#include "tests/rig/suite.h"
#include <stdlib.h>
#include <string.h>

/* ---- bodies ------------------------------------------------------------------------------------ */
enum { A_LINE = 100 };

/* X as N x 4, N fastest, composed with what `which` says. */
static void promising(sett_build *b, const void *user)
{
    const char *which = user;
    sett_val *N = sett_sym(b, "N"), *D = sett_sym(b, "D", .div = 4);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T(N, 4)));
    sett_scalar(b, "k", SETT_I32);
    sett_param(b, "Y", SETT_F32, sett_make_layout(b, T1(D)));
    sett_layout *l = sett_tensor_layout(X), *m = sett_make_layout(b, T(D, 8), T(1, sett_mul(D, 2)));
#line 100
    if (*which == 's') sett_composition(l, sett_make_layout(b, 4, 4));
    if (*which == 'f') sett_composition(l, 12);
    if (*which == 'b') sett_composition(sett_make_layout(b, T(N, 8), T(1, sett_mul(N, 2))), sett_make_layout(b, T(2, 3), T(2, 2)));
    if (*which == 'n') sett_composition(m, sett_make_layout(b, 2, 2)), sett_logical_divide(m, T(4, 2));
    if (*which == 'a') sett_assume(N, 8), sett_assume(D, 2);
    if (*which == 'r') sett_recast_layout(32, 16, sett_make_layout(b, T(8, 4), T(1, N)));
    if (*which == 'c') sett_complement(sett_make_layout(b, T(N, 2), T(1, 16)), 64);
    if (*which == 'i') sett_if (b, sett_gt(N, 8)) sett_composition(l, sett_make_layout(b, 6, 4));
    if (*which == 't') sett_composition(sett_make_layout(b, T(sett_thread_idx(b, 0), 4)), sett_make_layout(b, 6, 4));
#line 32
    sett_grid(b, 1);
    sett_block(b, 8);
}

static char *promised(const char *which)
{
    return tape_of(promising, &(sett_compile_options){.size = sizeof(sett_compile_options), .user = which, .line_info = true});
}

START_TEST(recorded)
{
    static const struct {
        const char *which, *line; /* of the printed tape; NULL: none */
    } t[] = {
        {"s", "check select(4<N,min(N%max(4,1),max(4-"},
        {"f", "check min(12%max(N,1),max(12-N,0)) \"sett_composition: shape-divisibility: 12 coordinates must be a "
              "multiple of the N that fit mode 0 of coalesced (N,4):(1,N)\" @ "},
        {"b", "check select(2<N,min(N%max(2,1),max(2-(N%2+N/2),0)),2%max(N,1)) \"sett_composition: stride-divisibility: mode 0 of coalesced "
              "(N,8):(1,N*2{div=2}): extent N must divide or be divided by the stride 2 that reaches it\" @ "},
        {"n", NULL},
        {"a", "check N%max(8,1) \"sett_assume: a multiple of 8 is promised\" @ "},
        {"r", "check N%max(2,1) \"sett_recast_layout: divisibility: stride N must be whole units of 2 elements\" @ "},
        {"c", "check select(N-1<16,0,1) \"sett_complement: non-injective: stride 16 of (N,2):(1,16) must be at least N, "
              "which the smaller strides cover\" @ "},
        {"i", NULL},
        {"t", NULL},
    };
    for (size_t i = 0; i < SETT__COUNT(t); i++) {
        char *text = promised(t[i].which);
        const char *check = strstr(text, "check ");
        if (t[i].line)
            ck_assert_msg(check && !strncmp(check, t[i].line, strlen(t[i].line)), "%s: %s", t[i].which, text);
        else
            ck_assert_msg(!check, "%s: %s", t[i].which, text);
        sett_text_free(text);
    }
}
END_TEST

/* Text, bytes with and without places, and META's signature keep a check. */
START_TEST(kept)
{
    char *text = promised("a"), *again;
    sett__tape t, u;
    sett_error err;
    void *bytes[2];
    size_t len[2];
    ck_assert_msg(!sett__tape_parse(&t, text, &err), "%s", err.text);
    ck_assert_uint_eq(t.sig.n_check, 1);
    ck_assert_uint_eq(t.sig.check[0].line, A_LINE + 4);
    for (int sites = 0; sites < 2; sites++) {
        ck_assert(!sett__tape_write(&t, sites, NULL, &bytes[sites], &len[sites], &err));
        ck_assert_msg(!sett__tape_read(&u, bytes[sites], len[sites], &err), "%s", err.text);
        ck_assert(!sett__tape_print(&u, sites, NULL, &again, &err));
        if (sites)
            ck_assert_str_eq(again, text);
        else
            ck_assert(strstr(again, "is promised\"\n") && !u.sig.check[0].file);
        free(again);
        sett__tape_free(&u);
        free(bytes[sites]);
    }
    sett__sig sig;
    sett__arena arena = {0};
    ck_assert(!sett__sig_write(&t.sig, NULL, bytes, len, &err));
    ck_assert_msg(!sett__sig_read(&sig, &arena, bytes[0], len[0], &err), "%s", err.text);
    ck_assert(sig.n_check == 1 && sig.check[0].file && sig.check[0].line == A_LINE + 4);
    ck_assert_str_eq(sig.check[0].text, t.sig.check[0].text);
    sett__arena_free(&arena);
    for (size_t n = 0; n < len[0]; n++) { /* cut short, it is refused */
        sett__arena part = {0};
        ck_assert(sett__sig_read(&sig, &part, bytes[0], n, &err) || !sig.n_check); /* or before it begins */
        sett__arena_free(&part);
    }
    free(bytes[0]);
    sett__tape_free(&t);
    sett_text_free(text);
}
END_TEST

START_TEST(refused_by_the_verifier)
{
    static const struct {
        const char *text, *error;
    } t[] = {
        {"sett tape 2\ncheck x \"y\"\n", "line 2, column 7: there is no symbol or scalar x"},
        {"sett tape 2\ncheck 1\n", "line 2, column 8: expected \""},
        {"sett tape 2\ncheck 1 \"x\" @ f\n", "line 2, column 16: expected :"},
        {"sett tape 2\ncheck 1 \"\033\" @ f\n", "line 2, column 16: expected :\n  check 1 \"\\x1b\" @ f\n                    ^"},
    };
    for (size_t i = 0; i < SETT__COUNT(t); i++)
        tape_refused(t[i].text, SETT_E_PARSE, t[i].error);
}
END_TEST

/* ---- launches ------------------------------------------------------------------------------------ */
START_TEST(checked_at_launch)
{
    static const struct {
        const char *which;
        int64_t n;
        const char *error; /* NULL: it runs */
    } t[] = {
        {"s", 16, NULL}, {"s", 8, NULL}, {"s", 2, NULL}, {"s", 0, NULL},
        {"s", 6, "k: F:100: sett_composition: stride-divisibility: mode 0 of coalesced (N,4):(1,N): extent N must divide or be "
                 "divided by the stride 4 that reaches it, and N = 6"},
        {"f", 6, NULL}, {"f", 12, NULL}, {"f", 13, NULL},
        {"f", 5, "k: F:101: sett_composition: shape-divisibility: 12 coordinates must be a multiple of the N that fit mode 0 of "
                 "coalesced (N,4):(1,N), and N = 5"},
        {"b", 8, NULL},
        {"b", 6, "k: F:102: sett_composition: stride-divisibility: the modes of (2,3):(2,2) together must stay in mode 0 of "
                 "coalesced (N,8):(1,N*2{div=2}), and N = 6"},
        {"a", 16, NULL}, {"a", 0, NULL},
        {"a", 12, "k: F:104: sett_assume: a multiple of 8 is promised, and N = 12"},
        {"r", 6, NULL},
        {"r", 7, "k: F:105: sett_recast_layout: divisibility: stride N must be whole units of 2 elements, and N = 7"},
    };
    sett_engine *e = open_engine();
    static float x[4 * 64], y[4];
    for (size_t i = 0; i < SETT__COUNT(t); i++) {
        sett_compile_options co = {.size = sizeof co, .user = t[i].which, .target = "cpu", .name = "k"};
        sett_kernel *k;
        sett_error err = {0};
        ck_assert_msg(!sett_compile(e, promising, &co, &k, &err), "%s", err.text);
        sett_buf X = {.data = x, .dtype = SETT_F32, .rank = 2, .shape = {t[i].n, 4}, .stride = {1, t[i].n}};
        sett_buf Y = sett_buf_1d(y, SETT_F32, 4);
        sett_status s = sett_launch(k, ((sett_stream){SETT_CPU, NULL}), &err, &X, 1, &Y);
        ck_assert_msg(s == (t[i].error ? SETT_E_DIVIDE : SETT_OK), "%s %d: %s", t[i].which, (int)t[i].n, err.text);
        if (t[i].error) {
            char want[600];
            const char *F = strstr(t[i].error, "F:");
            snprintf(want, sizeof want, "%.*s%s%s", (int)(F - t[i].error), t[i].error, __FILE__, F + 1);
            ck_assert_str_eq(err.text, want);
        }
        sett_kernel_release(k);
    }
    sett_engine_close(e);
}
END_TEST

SUITE_IN_ROOT(rely, recorded, kept, refused_by_the_verifier, checked_at_launch)
