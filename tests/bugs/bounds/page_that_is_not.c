/* SPDX-License-Identifier: Apache-2.0 */
/* kind: bounds
 * missing: a test of the page number, which is -1 where a request has no page
 * fix: .pred = sett_ge(page, 0) at the load
 * A table says which page a request's keys lie in; unused entries are -1. The loop goes over all entries of the table. An H200 reads
 * the memory before the first page, which mostly is there. */
#include "bug.h"

enum { PAGES = 4, EACH = 32, ENTRIES = 3 };

static void sums(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *K = sett_param(b, "K", SETT_F32, sett_row_major(b, PAGES, EACH)), *P = sett_param(b, "P", SETT_I32, sett_row_major(b, ENTRIES));
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, EACH));
    sett_block(b, EACH);
    sett_val *t = sett_thread_idx(b, 0);
    sett_tensor *sum = sett_var(b, SETT_F32, 0.0);
    sett_for (b, i, 0, ENTRIES, 1) {
        sett_val *page = sett_at(P, i);
        sett_val *key = sett_load(sett_slice(K, page, t), .pred = bug_twin ? sett_ge(page, 0) : NULL); /* @1 read */
        sett_set(sum, sett_add(sett_at(sum, 0), key), 0);
    }
    sett_set(Y, sett_at(sum, 0), t);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf k = bug_in(SETT_F32, PAGES, EACH), p = bug_list(SETT_I32, 2, 1, -1), y = bug_out(SETT_F32, EACH);
    bug_launch(sums, &k, &p, &y);
    for (int i = 0; i < EACH; i++)
        bug_expect(&y, i, bug_get(&k, 2 * EACH + i) + bug_get(&k, EACH + i));
    return bug_close();
}
