/* SPDX-License-Identifier: Apache-2.0 */
/* kind: narrow
 * missing: the promise that the view begins at a multiple of 8 halves
 * fix: sett_sym(b, "first", .div = 8), which the launch checks
 * A window of a row begins at an offset that the caller gives, and that is always a multiple of 8. The kernel does not know, so that
 * loads of 16 bytes become loads of 2. */
#include "bug.h"

enum { N = 128, WINDOW = 64 };

static void window(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F16, sett_row_major(b, N), .align = 16), *Y = sett_param(b, "Y", SETT_F16, sett_row_major(b, WINDOW), .align = 16);
    sett_val *first = sett_sym(b, "first", .div = bug_twin ? 8 : 1); /* @alloc */
    sett_block(b, WINDOW / 8);
    sett_val *t = sett_thread_idx(b, 0);
    sett_val *x = sett_load(sett_local_tile(sett_domain_offset(X, first), T1(8), T1(t))); /* @1 read */
    sett_store(sett_local_tile(Y, T1(8), T1(t)), sett_neg(x));
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F16, N), y = bug_out(SETT_F16, WINDOW);
    bug_launch(window, &x, &y, 40);
    for (int i = 0; i < WINDOW; i++)
        bug_expect(&y, i, -bug_get(&x, 40 + i));
    return bug_close();
}
