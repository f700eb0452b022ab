/* SPDX-License-Identifier: Apache-2.0 */
/* Assertions for tests that use Check, the unit test framework for C: include its <check.h> first.
 *
 *     START_TEST(reverses)
 *     {
 *         sett_ck_assert_clean(kernel, &x, &y);
 *     }
 *
 * Kernels are for "cpu" (check.h), and are launched as by sett_check: 1 to 32 arguments. What fails says what
 * was found, with both lines. */
#ifndef SETT_CHECK_UNIT_H
#define SETT_CHECK_UNIT_H
#include <sett/check.h>
#include <sett/launch.h>
#include <stdio.h>
#include <string.h>

/* What is told of one launch: how often the kind that is wanted, and the errors, as far as there is room. */
enum { SETT_CK_TEXT = 4000 };
typedef struct sett_ck_told {
    int wanted, errors, found; /* wanted: a sett_check_kind; -1: none */
    char text[SETT_CK_TEXT];
} sett_ck_told;
static inline void sett_ck_finding(void *user, const sett_finding *f)
{
    sett_ck_told *told = (sett_ck_told *)user;
    const size_t n = strlen(told->text);
    told->found += told->wanted == (int)f->kind;
    if (f->level != SETT_CHECK_ERROR)
        return;
    told->errors++;
    snprintf(told->text + n, sizeof told->text - n, "%s%s", n ? "\n" : "", f->text);
}
static inline sett_check_options sett_ck_options(sett_ck_told *told, int wanted)
{
    sett_check_options o;
    memset(told, 0, sizeof *told);
    memset(&o, 0, sizeof o);
    told->wanted = wanted;
    o.size = sizeof o;
    o.finding = sett_ck_finding;
    o.user = told;
    return o;
}

/* sett_ck_assert_clean(kernel, arguments...): the launch ends well, and no error is found in it. */
#define sett_ck_assert_clean(kernel, ...) \
    do { \
        sett_ck_told sett_ck_t; \
        sett_error sett_ck_e; \
        const sett_check_options sett_ck_o = sett_ck_options(&sett_ck_t, -1); \
        const sett_status sett_ck_s = sett_check(kernel, &sett_ck_o, &sett_ck_e, __VA_ARGS__); \
        ck_assert_msg(!sett_ck_t.errors, "%s", sett_ck_t.text); \
        ck_assert_msg(!sett_ck_s, "%s", sett_ck_e.text); \
    } while (0)
/* sett_ck_assert_finds(kernel, SETT_CHECK_RACE, arguments...): a finding of this kind is told. */
#define sett_ck_assert_finds(kernel, kind, ...) \
    do { \
        sett_ck_told sett_ck_t; \
        sett_error sett_ck_e; \
        const sett_check_options sett_ck_o = sett_ck_options(&sett_ck_t, kind); \
        const sett_status sett_ck_s = sett_check(kernel, &sett_ck_o, &sett_ck_e, __VA_ARGS__); \
        ck_assert_msg(sett_ck_t.found, "no %s was found, but %s", sett_check_kind_name(kind), \
            sett_ck_t.errors ? sett_ck_t.text : sett_ck_s ? sett_ck_e.text : "no error"); \
    } while (0)

#endif
