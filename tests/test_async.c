/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU engine: copies that go on by themselves, and boxes of tensors. */
#include "async_rig.h"

enum { POLICIES = 102 };

START_TEST(transpose)
{
    enum { M = 77, N = 100, LA = 104, LD = 80 };
    static float a[M * LA], d[N * LD], want[N * LD];
    _Atomic uint64_t order;
    uint64_t seen[POLICIES];
    int n_seen = 0;
    task t = {.grid = {(N + 31) / 32, (M + 31) / 32}, .block = {256}, .data = {a, d}, .bytes = {sizeof a, sizeof d}, .sym = {M, N, LA, LD}, .threads = 2, .order = &order};
    char *text = read_text("tests/tape/transpose_tma.tape");
    sett_error e;
    t.text = text;
    memset(want, 0xff, sizeof want);
    for (int i = 0; i < M * LA; i++)
        a[i] = (float)i;
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++)
            want[n * LD + m] = a[m * LA + n];
    for (int n = 0; n < POLICIES; n++) {
        memset(d, 0xff, sizeof d);
        atomic_init(&order, 0);
        t.async = policy(n);
        ck_assert_msg(!run_task(&t, &e), "policy %d: %s", n, e.text);
        ck_assert_mem_eq(d, want, sizeof d);
        int k = 0;
        while (k < n_seen && seen[k] != order)
            k++;
        seen[n_seen] = order;
        n_seen += k == n_seen;
    }
    ck_assert_int_ge(n_seen, 10);
    free(text);
}
END_TEST

Suite *async_suite(void);
Suite *async_suite(void)
{
    Suite *s = suite_create("async");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, transpose);
    suite_add_tcase(s, t);
    return s;
}
