/* SPDX-License-Identifier: Apache-2.0 */
/* kind: uninit | bounds
 * missing: memory that is there: the table has an address that was freed
 * fix: free the row behind the launch
 * Rows are found by a table of addresses, and one of them was given back. The table still has it. */
#include "bug.h"

enum { N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *R = sett_param(b, "R", SETT_U64, sett_row_major(b, 2)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2, N));
    sett_grid(b, 2), sett_block(b, N);
    sett_val *t = sett_thread_idx(b, 0), *m = sett_block_idx(b, 0);
    sett_tensor *row = sett_make_gmem_tensor(b, SETT_F32, sett_at(R, m), N, 0);
    sett_set(Y, sett_at(row, t), m, t); /* @1 read */
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), r = bug_full(0, SETT_U64, 2), y = bug_out(SETT_F32, 2, N);
    void *gone = sett_alloc(bug_now.e, bug_now.stream.device, N * 4);
    const uint64_t rows[2] = {(uintptr_t)x.data, (uintptr_t)gone};
    if (!bug_now.code && (sett_memcpy(bug_now.e, bug_now.stream, gone, bug_now.buffer[0].host, N * 4) || sett_memcpy(bug_now.e, bug_now.stream, r.data, rows, sizeof rows)))
        bug_fail(BUG_MACHINE, "a copy to the device failed");
    if (!bug_twin)
        sett_free(bug_now.e, bug_now.stream.device, gone);
    bug_launch(kernel, &r, &y);
    for (int i = 0; i < 2 * N; i++)
        bug_expect(&y, i, bug_get(&x, i % N));
    if (bug_twin)
        sett_free(bug_now.e, bug_now.stream.device, gone);
    return bug_close();
}
