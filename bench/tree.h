/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel that two benchmarks of the CPU engine time. SETT_SHORT is defined before. */
#ifndef BENCH_TREE_H
#define BENCH_TREE_H
#include <sett/sett.h>

/* The reduction of every CUDA course: a tree in shared memory, a barrier a level. */
static inline void tree_sum(sett_build *b, const void *user)
{
    (void)user;
    sett_val *M = sett_sym(b, "M");
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, M, 256));
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, T1(M)));
    sett_grid(b, M);
    sett_block(b, 256);
    sett_val *t = sett_thread_idx(b, 0), *row = sett_block_idx(b, 0);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, 256), 16);
    sett_set(s, sett_at(X, row, t), t);
    sett_sync_threads(b);
    for (int half = 128; half; half /= 2) {
        sett_if (b, sett_lt(t, half))
            sett_set(s, sett_add(sett_at(s, t), sett_at(s, sett_add(t, half))), t);
        sett_sync_threads(b);
    }
    sett_if (b, sett_eq(t, 0))
        sett_set(Y, sett_at(s, 0), row);
}

#endif
