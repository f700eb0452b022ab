/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU engine: blocks of a cluster together, mbarriers, and waits that never end. */
#include "async_rig.h"

enum { POLICIES = 102 }; /* eager, lazy, and 100 seeds */

/* ---- whole programs ---------------------------------------------------------------------------- */
START_TEST(peer_sum)
{
    enum { N = 256 * 6 };
    static float x[N], d[N / 256], want[N / 256];
    _Atomic uint64_t order;
    uint64_t seen[POLICIES];
    int n_seen = 0;
    task t = {.grid = {N / 128}, .block = {128}, .cluster = {2}, .data = {x, d}, .bytes = {sizeof x, sizeof d}, .sym = {N}, .threads = 2, .order = &order};
    char *text = read_text("tests/tape/peer_sum.tape");
    sett_error e;
    t.text = text;
    for (int i = 0; i < N; i++) {
        x[i] = (float)((7 * i + 3) % 9 - 4);
        want[i / 256] += x[i];
    }
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
    free(text);
}
END_TEST

Suite *together_suite(void);
Suite *together_suite(void)
{
    Suite *s = suite_create("together");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, peer_sum);
    suite_add_tcase(s, t);
    return s;
}
