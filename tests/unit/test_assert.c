/* SPDX-License-Identifier: Apache-2.0 */
/* sett_assert: when it is recorded, what it refuses, its tape, its PTX, and what the cache keeps of it. What it reports when
 * it fails is in conform_assert.c, for both engines; how the host hears of a GPU's failures in test_cuda.c. */
#define SETT_SHORT
#include "tests/rig/rig.h"
#include "tests/rig/suite.h"
#include <sett/memory.h>
#include <stdlib.h>
#include <string.h>

static void claims(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T1(64)));
    sett_block(b, 64);
    sett_val *t = sett_thread_idx(b, 0);
    sett_assert(b, 3 < 4, "known");
    sett_assert(b, sett_lt(t, 64), "known by its range");
    sett_assert(b, sett_le(t, 62));
#line 70 "claims.c"
    sett_assert(b, sett_ge(sett_at(X, t), 0.0), "{} {}: 100%\n", t, sett_at(X, t));
    sett_set(X, 1.0, t);
}
#line 24 "tests/unit/test_assert.c"

static char *asserting(sett_body body, const char *target, sett_asserts asserts)
{
    return tape_of(body, &(sett_compile_options){.size = sizeof(sett_compile_options), .target = target, .asserts = asserts});
}

static bool asserts_in(const char *target, sett_asserts asserts)
{
    char *text = asserting(claims, target, asserts);
    bool has = strstr(text, "\nassert ") != NULL;
    sett_text_free(text);
    return has;
}

START_TEST(when)
{
    unsetenv("SETT_ASSERTS");
    ck_assert(asserts_in("cpu", 0) && !asserts_in("sm_90a", 0) && !asserts_in(NULL, 0));
    ck_assert(!asserts_in("cpu", SETT_ASSERTS_OFF) && asserts_in("sm_90a", SETT_ASSERTS_ON));
    setenv("SETT_ASSERTS", "1", 1);
    ck_assert(asserts_in("sm_90a", 0) && !asserts_in("sm_90a", SETT_ASSERTS_OFF));
    setenv("SETT_ASSERTS", "0", 1);
    ck_assert(!asserts_in("cpu", 0) && asserts_in("cpu", SETT_ASSERTS_ON));
    sett_compile_options co = {.size = sizeof co};
    sett_error err;
    void *tape;
    size_t len;
    setenv("SETT_ASSERTS", "perhaps", 1);
    ck_assert_int_eq(sett_record(claims, &co, true, &tape, &len, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "SETT_ASSERTS is \"perhaps\" in the environment: it is 1, 0, true, false, yes, no, on or off");
    unsetenv("SETT_ASSERTS");
    co.asserts = 3;
    ck_assert_int_eq(sett_record(claims, &co, true, &tape, &len, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_record: asserts 3 is none");
}
END_TEST

/* Each way of asking has a key, and so has each a place in the memo. */
START_TEST(keys)
{
    static const int user = 1;
    sett_engine *e = open_engine();
    sett_kernel *k[3];
    sett_error err;
    for (int i = 0; i < 3; i++) {
        sett_compile_options co = {.size = sizeof co, .user = &user, .user_size = sizeof user, .target = "cpu",
                                   .asserts = i == 1 ? SETT_ASSERTS_OFF : SETT_ASSERTS_ON};
        ck_assert_msg(!sett_compile(e, claims, &co, &k[i], &err), "%s", err.text);
    }
    ck_assert(k[0] == k[2] && k[0] != k[1]);
    ck_assert_uint_eq(stats(e).memo_hits, 1);
    for (int i = 0; i < 3; i++)
        sett_kernel_release(k[i]);
    sett_engine_close(e);
}
END_TEST

/* An engine reads the environment once, when it opens. */
START_TEST(once_an_engine)
{
    sett_compile_options co = {.size = sizeof co, .target = "sm_90a"}, on = co;
    uint8_t key[3][32];
    sett_error err;
    on.asserts = SETT_ASSERTS_ON;
    setenv("SETT_ASSERTS", "1", 1);
    sett_engine *with = open_engine();
    unsetenv("SETT_ASSERTS");
    sett_engine *without_it = open_engine();
    ck_assert(!sett_key(with, claims, &on, key[0], &err) && !sett_key(with, claims, &co, key[1], &err) &&
              !sett_key(without_it, claims, &co, key[2], &err));
    ck_assert(!memcmp(key[0], key[1], 32) && memcmp(key[0], key[2], 32));
    sett_engine_close(with);
    sett_engine_close(without_it);
}
END_TEST

/* Dead without assertions, and not a bit of it left. */
static void without(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T1(64)));
    sett_block(b, 64);
    sett_set(X, 1.0, sett_thread_idx(b, 0));
}

START_TEST(as_a_tape)
{
    char *on = asserting(claims, "cpu", 0), *off = asserting(claims, "cpu", SETT_ASSERTS_OFF), *no = asserting(without, NULL, 0);
    ck_assert_str_eq(off, no);
    ck_assert_ptr_null(strstr(on, "known"));
    ck_assert_ptr_nonnull(strstr(on, ", \"sett_le(t, 62)\"\n"));
    ck_assert_ptr_nonnull(strstr(on, ", \"%d %f: 100%%\\n\", %"));
    sett__tape t;
    sett_error err;
    char *again;
    ck_assert_msg(!sett__tape_parse(&t, on, &err), "%s", err.text);
    ck_assert(!sett__tape_print(&t, false, NULL, &again, &err));
    ck_assert_str_eq(again, on);
    ck_assert_uint_eq(t.sig.n_claim, 2);
    ck_assert_str_eq(t.sig.claim[1].text, "%d %f: 100%%\n");
    ck_assert_str_eq(t.sig.claim[1].types, "\4\16"); /* i32, f64 */
    sett__tape_free(&t);
    free(again), free(on), free(off), free(no);
}
END_TEST

START_TEST(damaged)
{
    static const struct { const char *line, *error; } t[] = {
        {"assert %0, \"x\"", "i1"},
        {"assert \"x\"", "%"},
        {"assert %1, \"%d\"", "1 conversions for 0 operands"},
        {"assert %1, \"x\", %0", "0 conversions for 1 operands"},
        {"assert %1, \"%f\", %0", "%f does not print i32"},
    };
    for (size_t i = 0; i < SETT__COUNT(t); i++) {
        char text[300];
        sett__tape tape;
        sett_error err = {0};
        snprintf(text, sizeof text, "sett tape 2\nblock 8\nsmem 0 align 1\n\n%%0 = tid.x i32\n%%1 = eq i1 %%0, %%0\n%s\n", t[i].line);
        ck_assert_int_ne(sett__tape_parse(&tape, text, &err), SETT_OK);
        ck_assert_msg(strstr(err.text, t[i].error) != NULL, "%s: %s", t[i].line, err.text);
    }
}
END_TEST

static void wrong(sett_build *b, const void *user)
{
    sett_block(b, 8);
    sett_val *t = sett_thread_idx(b, 0), *is = sett_eq(t, 3);
    switch (*(const char *)user) {
#line 300 "wrong.c"
    case 'n': sett_assert(b, t); break;
    case 's': sett_assert(b, 4 < 3, "{} is {}", 4, 3); break;
    case 'S': sett_assert(b, 4 % 2 != 0); break;
    case 't': sett_assert(b, T(1, 2)); break;
    case 'f': sett_assert(b, is, "{} {}", t); break;
    case 'c': sett_assert(b, is, "%s", t); break;
    case 'm': sett_assert(b, (sett_val *)NULL); break;
    case 'a': sett_assert_n(SETT_HERE, b, SETT_A(is), "x", "x", 40, NULL); break;
    case 'v': sett_assert(b, is, "{}", sett_full(b, SETT_F32, 2, 1)); break;
    case 'd': sett_assert(b, 0, "never {} of {}: 100%", t, 8); break;
    case 'D': sett_assert(b, 0, "%%%+5.2f|%llu|{}|%d", sett_to(t, SETT_F64), sett_to(t, SETT_U64), T(t, 2), t); break;
    }
}
#line 147 "tests/unit/test_assert.c"

START_TEST(refused)
{
    static const struct { const char *which, *error; } t[] = {
        {"n", "wrong.c:300: sett_assert: the condition is i32, not Boolean: compare it, as in sett_ne(x, 0)"},
        {"s", "wrong.c:301: sett_assert: assertion failed while recording: 4 is 3"},
        {"S", "wrong.c:302: sett_assert: assertion failed while recording: 4 % 2 != 0"},
        {"t", "wrong.c:303: sett_assert: the condition is (1,2), not a Boolean"},
        {"f", "wrong.c:304: sett_assert: 1 operand for 2 marks"},
        {"c", "wrong.c:305: sett_assert: %s: a kernel has no strings"},
        {"m", "sett_assert"},
        {"a", "wrong.c:307: sett_assert: up to 32 operands are needed, not 40"},
        {"v", "wrong.c:308: sett_assert: a value of shape"},
        {"d", "wrong.c:309: sett_assert: assertion failed while recording: never ? of 8: 100%"},
        {"D", "wrong.c:310: sett_assert: assertion failed while recording: %?|?|(?,2)|?"},
    };
    for (size_t i = 0; i < SETT__COUNT(t); i++)
        for (int on = 0; on < 2; on++) { /* dropped ones are checked too */
            sett_compile_options co = {.size = sizeof co, .user = t[i].which, .asserts = on ? SETT_ASSERTS_ON : SETT_ASSERTS_OFF};
            sett_error err = {0};
            void *tape;
            size_t len;
            ck_assert_int_ne(sett_record(wrong, &co, true, &tape, &len, &err), SETT_OK);
            ck_assert_msg(strstr(err.text, t[i].error) != NULL, "%s: %s", t[i].which, err.text);
        }
    sett_assert((sett_build *)NULL, 1);
    ck_assert_int_eq(sett_poll(NULL, 0, NULL), SETT_E_ARGUMENT);
}
END_TEST

/* A thread that fails takes the report, writes it and leaves by `exit`, not by the return that the others reach. */
/* A sett_error has 507 characters: a longer text ends in three dots, and what names block, thread and kernel stays. */
static void long_claim(sett_build *b, const void *user)
{
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_make_layout(b, T1(1)));
    sett_assert(b, sett_lt(sett_at(X, 0), 0), user, sett_at(X, 0));
}

START_TEST(long_texts)
{
    char said[700], want[600];
    int32_t x[1] = {5};
    sett_buf X = sett_buf_1d(x, SETT_I32, 1);
    sett_engine *e = open_engine();
    for (int n = 200; n <= 600; n += 400) {
        snprintf(said, sizeof said, "%0*d {}", n, 0);
        sett_compile_options co = {.size = sizeof co, .user = said, .target = "cpu", .name = "k"};
        sett_kernel *k;
        sett_error err;
        ck_assert_msg(!sett_compile(e, long_claim, &co, &k, &err), "%s", err.text);
        ck_assert_int_eq(sett_launch(k, sett_stream_of(SETT_CPU, NULL), &err, &X), SETT_E_FAULT);
        ck_assert_ptr_nonnull(strstr(err.text, "assertion failed: 000"));
        snprintf(want, sizeof want, "%s, block (0,0,0) thread (0,0,0), kernel k", n == 200 ? " 5" : "...");
        ck_assert_msg(strlen(err.text) > strlen(want) && !strcmp(err.text + strlen(err.text) - strlen(want), want), "%s", err.text);
        ck_assert_uint_eq(strlen(err.text), n == 200 ? (size_t)(strstr(err.text, "000") - err.text) + 200 + strlen(want) : sizeof err.text - 1);
        sett_kernel_release(k);
    }
    sett_engine_close(e);
}
END_TEST

START_TEST(ptx)
{
    if (!have_compiler())
        return;
    sett_engine *e = open_engine();
    sett_compile_options co = {.size = sizeof co, .target = "sm_80", .asserts = SETT_ASSERTS_ON, .ptx_only = true};
    sett_kernel_info info = {.size = sizeof info};
    sett_kernel *k;
    sett_error err;
    ck_assert_msg(!sett_compile(e, claims, &co, &k, &err), "%s", err.text);
    sett_kernel_query(k, &info);
    static const char *const want[] = {"kernel_param_1\n", "atom.relaxed.gpu.global.cas.b32", "st.volatile.global.b32 \t[%rd",
        "+32]", "st.release.sys.global.b32", "exit;"};
    const char *at = info.ptx;
    for (size_t i = 0; i < SETT__COUNT(want); i++)
        ck_assert_msg((at = strstr(at, want[i])) != NULL, "%s is not in, or not in its place:\n%s", want[i], info.ptx);
    ck_assert_ptr_null(strstr(info.ptx, "trap"));
    ck_assert_uint_eq(sett__meta_of(k)->params_len, 16); /* X, and where to write */
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

/* What fails in a kernel that came from disk is told as well: its signature has the texts and lines. */
START_TEST(from_disk)
{
    if (!have_compiler())
        return;
    for (int i = 0; i < 2; i++) {
        sett_engine *e = open_engine();
        sett_compile_options co = {.size = sizeof co, .target = "sm_80", .asserts = SETT_ASSERTS_ON};
        sett_kernel *k;
        sett_error err;
        ck_assert_msg(!sett_compile(e, claims, &co, &k, &err), "%s", err.text);
        ck_assert_int_eq(k->rest->origin, i ? SETT_FROM_DISK : SETT_FROM_COMPILER);
        const sett__sig *s = &sett__meta_of(k)->sig;
        ck_assert_uint_eq(s->n_claim, 2);
        ck_assert_str_eq(s->claim[1].file, "claims.c");
        ck_assert_uint_eq(s->claim[1].line, 70);
        ck_assert_str_eq(s->claim[1].types, "\4\16");
        ck_assert_str_eq(s->claim[0].text, "sett_le(t, 62)");
        sett_kernel_release(k);
        sett_engine_close(e);
    }
}
END_TEST

SUITE_IN_ROOT(assert, when, keys, once_an_engine, as_a_tape, damaged, refused, long_texts, ptx, from_disk)
