/* SPDX-License-Identifier: Apache-2.0 */
/* Included ahead of every suite (Makefile). Check writes to a file where each assertion that holds lies, for the report of a crash:
 * a fifth of the time that the suites take. Here an assertion that holds does nothing. */
#ifndef ASSERT_H
#define ASSERT_H
#include <check.h>
#include "tests/rig/limits.h"
/* The limit of a case is CPU time: no load of the machine reaches it. */
#define tcase_create(name) limited_case(name)
#define tcase_set_timeout(t, seconds) limit_case(t, seconds)
#undef ck_assert_msg
#define ck_assert_msg(expr, ...) ((expr) ? (void)0 : _ck_assert_failed(__FILE__, __LINE__, "Assertion '" #expr "' failed", ##__VA_ARGS__))
#endif
