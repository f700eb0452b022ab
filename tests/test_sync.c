/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of class FORM, mbarriers and clusters: what they compile to, and what is refused. */
#include "rig.h"
#include "tapes.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>

#define HEAD \
    "sett tape 2\nparam X u8 (4096):(1) align 16 read\nparam D u8 (4096):(1) align 16 write\nblock 128\nsmem 1024 align 128\n\n" \
    "%0 = tid.x i32\n%1 = param u8 X\n%2 = param u8 D\n%3 = smem u64x4 at 0 mbarrier\n%4 = smem f32x32 at 64\n%5 = const i32 1\n" \
    "%6 = lt i1 %0, %5\n%7 = rmem f32x4\n%8 = const i64 1\n"

/* ---- forms ------------------------------------------------------------------------------- */
/* What the strings of ops.def promise to printer, parser and verifier. */
START_TEST(forms_are_well_formed)
{
    uint32_t places = 0;
    if (sett__ops[_i].cls != SETT__C_FORM)
        return;
    for (sett__form f = sett__form_of(_i); sett__form_next(&f); places = f.place + (f.words == 2)) {
        ck_assert_msg(f.kinds, "%s: a kind is none", sett__ops[_i].text);
        ck_assert_msg(!f.optional || *f.name, "%s: what may be left out has a name", sett__ops[_i].text);
        ck_assert_msg(!f.repeated || !sett__form_next(&(sett__form){.at = f.at}), "%s: only the last is repeated", sett__ops[_i].text);
        ck_assert_msg(!(f.kinds & SETT__F_PLACE) || !(f.kinds & ~SETT__F_PLACE), "%s: a place, or none", sett__ops[_i].text);
    }
    for (const sett__attr_info *a = SETT__ATTR_ROW(_i, 0); a->text; a++)
        places -= !*a->text;
    ck_assert_msg(places <= 1, "%s: a place has no offset, or an offset no place", sett__ops[_i].text);
    ck_assert(!strstr(sett__ops[_i].types, "->") || sett__form_result(_i));
}
END_TEST

/* ---- what they give ------------------------------------------------------------------------ */
static const struct {
    const char *lines, *target, *checks;
} given[] = {
    {"mbarrier.init %3[1] %5", "sm_80", "CHECK: mbarrier.init.shared.b64 [smem+8], %r"},
    {"mbarrier.init %3[%0 + 1] %5", "sm_90a", "CHECK: mbarrier.init.shared.b64 [%rd{{*}}+8], %r"},
    {"mbarrier.arrive %3[0]", "sm_80", "CHECK: mbarrier.arrive.shared.b64 %rd1, [smem];"},
    {"mbarrier.arrive %3[0]", "sm_90", "CHECK: mbarrier.arrive.shared.b64 %rd1, [smem], %r"},
    {"mbarrier.arrive %3[2] count %0 pred %6 scope=cluster", "sm_90a", "CHECK: @%p{{*}} bra\nCHECK: mbarrier.arrive.release.cluster.shared.b64 %rd1, [smem+16], %r"},
    {"mbarrier.expect_tx %3[0] %5", "sm_90a", "CHECK: mbarrier.expect_tx.relaxed.cta.shared.b64 [smem], %r"},
    {"mbarrier.expect_tx %3[0] %0 pred %6 arrive", "sm_90a", "CHECK: mbarrier.arrive.expect_tx.shared.b64 %rd1, [smem], %r"},
    {"loop {\n%20 = mbarrier.try_wait i1 %3[0] %5\n%21 = not i1 %20\nwhile %21\n}", "sm_90a",
        "CHECK: mbarrier.try_wait.parity.shared.b64 %p1, [smem], %r\nCHECK: bra"},
};

START_TEST(lowered)
{
    char text[2048];
    snprintf(text, sizeof text, "%s%s\n", HEAD, given[_i].lines);
    tape_comes_back(text);
    if (!have_compiler())
        return;
    sett_engine *e = tapes_engine();
    tape_gives(e, text, given[_i].target, given[_i].checks);
    sett_engine_close(e);
}
END_TEST

/* ---- refusals -------------------------------------------------------------------------------- */
static const struct {
    const char *lines;
    sett_status status;
    const char *text;
} wrong[] = {
    {"mbarrier.init %4[0] %5", SETT_E_SPACE, "operand 0 is not an mbarrier"},
    {"mbarrier.init %0[0] %5", SETT_E_SPACE, "operand 0 is not an mbarrier"},
    {"mbarrier.init %3[4] %5", SETT_E_RANGE, "elements 4 to 4 are not in %3"},
    {"mbarrier.init %3[%6] %5", SETT_E_DTYPE, "the offset must be one i32 or i64"},
    {"mbarrier.init %3[0]", SETT_E_PARSE, "expected %"},
    {"mbarrier.init %3[0] %8", SETT_E_DTYPE, "operand 2 is 1 of i64: it must be one i32"},
    {"mbarrier.init %3[0] %4", SETT_E_SPACE, "operand 2 is not one i32"},
    {"mbarrier.init %3[0] %5 pred %6", SETT_E_PARSE, "the line should end here"},
    {"%20 = const i32 0\nmbarrier.init %3[0] %20", SETT_E_RANGE, "a count is 1 to 1048575"},
    {"%20 = const i32 1048576\nmbarrier.arrive %3[0] count %20", SETT_E_RANGE, "a count is 1 to 1048575"},
    {"%20 = const i32 1048576\nmbarrier.expect_tx %3[0] %20", SETT_E_RANGE, "at most 1048575 bytes are expected"},
    {"mbarrier.arrive %3[0] pred %0", SETT_E_DTYPE, "operand 3 is 1 of i32: it must be one i1"},
    {"mbarrier.arrive %3[0] scope=gpu", SETT_E_PARSE, "there is no such scope"},
    {"%20 = mbarrier.try_wait i32 %3[0] %5", SETT_E_VERIFY, "the result must be 1 of i1"},
    {"mbarrier.try_wait %3[0] %5", SETT_E_PARSE, "mbarrier.try_wait has a result"},
    {"%20 = load u64 %3[0] align 8", SETT_E_SPACE, "operand 0 is mbarriers, which only mbarrier operations touch"},
    {"%20 = load u64 %1[0] align 8\nstore %3[0] u64 %20 align 8", SETT_E_SPACE, "operand 0 is mbarriers"},
    {"%20 = load u64 %1[0] align 8\n%21 = atom.add u64 %3[0] %20", SETT_E_SPACE, "operand 0 is mbarriers"},
    {"cp.async %3[0] %1[0] bytes=8 of=8", SETT_E_SPACE, "it copies global memory to shared memory"},
    {"%20 = ldmatrix f16x2 %3[0]", SETT_E_SPACE, "operand 0 is not shared memory"},
    {"%20 = smem u64x4 at 4 mbarrier", SETT_E_ALIGN, "mbarriers are u64 at multiples of 8"},
    {"%20 = smem i64x4 at 8 mbarrier", SETT_E_ALIGN, "mbarriers are u64 at multiples of 8"},
};

START_TEST(wrong_tapes)
{
    char text[2048];
    sett_error err = {0};
    sett__tape t;
    snprintf(text, sizeof text, "%s%s\n", HEAD, wrong[_i].lines);
    sett_status s = sett__tape_parse(&t, text, &err);
    ck_assert_msg(s == wrong[_i].status && strstr(err.text, wrong[_i].text), "`%s` gives: %s", wrong[_i].lines, err.text);
}
END_TEST

/* What a target has not is refused by name. */
static const struct {
    const char *line, *target, *text;
} missing[] = {
    {"mbarrier.init %3[0] %5", "sm_75", "mbarrier.init needs sm_80"},
    {"mbarrier.arrive %3[0] count %5", "sm_86", "mbarrier.arrive needs sm_90"},
    {"mbarrier.arrive %3[0] scope=cluster", "sm_80", "mbarrier.arrive needs sm_90"},
    {"mbarrier.expect_tx %3[0] %5", "sm_89", "mbarrier.expect_tx needs sm_90"},
    {"%20 = mbarrier.try_wait i1 %3[0] %5", "sm_80", "mbarrier.try_wait needs sm_90"},
};

START_TEST(missing_on_a_target)
{
    char text[2048];
    sett_error err = {0};
    sett__tape t;
    snprintf(text, sizeof text, "%s%s\n", HEAD, missing[_i].line);
    ck_assert_msg(!sett__tape_parse(&t, text, &err), "%s", err.text);
    ck_assert_int_eq(sett__tape_verify(&t, missing[_i].target, &err), SETT_E_TARGET);
    ck_assert_msg(strstr(err.text, missing[_i].text), "%s", err.text);
    sett__tape_free(&t);
}
END_TEST

START_TEST(not_on_the_cpu)
{
    sett_error err = {0};
    sett_kernel *k;
    sett_engine *e = tapes_engine();
    ck_assert_int_eq(tape_compiled(e, HEAD "mbarrier.init %3[0] %5\n", "cpu", &k, &err), SETT_E_TARGET);
    ck_assert_msg(strstr(err.text, "mbarrier.init: the CPU engine cannot run it"), "%s", err.text);
    sett_engine_close(e);
}
END_TEST

Suite *sync_suite(void)
{
    Suite *s = suite_create("sync");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, forms_are_well_formed, 0, SETT__N_CODES);
    tcase_add_loop_test(t, lowered, 0, (int)SETT__COUNT(given));
    tcase_add_loop_test(t, wrong_tapes, 0, (int)SETT__COUNT(wrong));
    tcase_add_loop_test(t, missing_on_a_target, 0, (int)SETT__COUNT(missing));
    tcase_add_test(t, not_on_the_cpu);
    suite_add_tcase(s, t);
    return s;
}
