/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of one access, whose wavefronts of shared memory or sectors of global memory are known by hand: for the checker's suite, and for
 * bench/costs.c, which runs the same beside a GPU's profiler or clock. A warp makes COST_ROUNDS requests, each of which has the pattern of
 * the case, at another place that is a multiple of 128 bytes further. */
#ifndef COST_CASES_H
#define COST_CASES_H
#include <sett/sett.h>

enum { COST_ROUNDS = 64, COST_STEP = 128, COST_SHARED = 16384, COST_GLOBAL = 1 << 20 }; /* bytes: of a step, of the tensors */
enum cost_how { COST_LOAD, COST_STORE, COST_ATOMIC, COST_MATRICES };
typedef struct cost_case {
    const char *name;
    bool global;
    enum cost_how how;
    sett_dtype dtype;
    int n;           /* elements of an access */
    int step, first; /* elements from a lane's to the next lane's, and of lane 0 */
    int lanes;       /* how many take part */
    int taken, ideal; /* of a request */
} cost_case;

/* Banks are 4 bytes; a phase is 32 lanes of up to 4 bytes, 16 of 8, 8 of 16. */
static const cost_case cost_cases[] = {
    {"f32, side by side", false, COST_LOAD, SETT_F32, 1, 1, 0, 32, 1, 1},
    {"f32, every second: banks of two lanes are one", false, COST_LOAD, SETT_F32, 1, 2, 0, 32, 2, 1},
    {"f32, a column of 32 words", false, COST_LOAD, SETT_F32, 1, 32, 0, 32, 32, 1},
    {"f32, a column of 33 words", false, COST_STORE, SETT_F32, 1, 33, 0, 32, 1, 1},
    {"f16, side by side: two lanes share a word", false, COST_LOAD, SETT_F16, 1, 1, 0, 32, 1, 1},
    {"2 x f32, side by side: 2 phases", false, COST_LOAD, SETT_F32, 2, 2, 0, 32, 2, 2},
    {"4 x f32, 32 bytes apart: 4 phases of two words a bank", false, COST_LOAD, SETT_F32, 4, 8, 0, 32, 8, 4},
    {"f32, a column stored, of 8 lanes", false, COST_STORE, SETT_F32, 1, 32, 0, 8, 8, 1},
    {"f32, side by side", true, COST_LOAD, SETT_F32, 1, 1, 0, 32, 4, 4},
    {"f32, every second", true, COST_LOAD, SETT_F32, 1, 2, 0, 32, 8, 4},
    {"f32, a sector each", true, COST_STORE, SETT_F32, 1, 8, 0, 32, 32, 4},
    {"f16, one element past a sector's start", true, COST_LOAD, SETT_F16, 1, 1, 1, 32, 3, 2},
};
enum { COST_CASES = sizeof cost_cases / sizeof *cost_cases };

/* Which case, how many warps of one block, and how often; the line of the access is kept. */
typedef struct cost_run {
    const cost_case *x;
    int warps, rounds;
    int *line;
} cost_run;

/* A lane's elements in a round, whose place is a multiple of 128 bytes. */
static inline sett_tensor *cost_place(sett_build *b, const cost_case *x, sett_tensor *t, sett_val *round)
{
    const int bytes = sett_dtype_bits(x->dtype) / 8, room = (x->global ? COST_GLOBAL : COST_SHARED) / bytes, span = x->step * 32 + x->first + x->n;
    sett_val *at = sett_mul(sett_mod(round, (room - span) / (COST_STEP / bytes)), COST_STEP / bytes);
    return sett_composition(sett_domain_offset(t, sett_add(sett_add(at, sett_mul(sett_lane_idx(b), x->step)), x->first)), sett_make_layout(b, x->n));
}

static inline void cost_access(sett_build *b, const cost_run *r, sett_tensor *t, sett_tensor *sum, sett_val *round)
{
    const cost_case *x = r->x;
    if (x->how == COST_LOAD) {
        *r->line = __LINE__ + 1;
        sett_val *got = sett_load(cost_place(b, x, t, round), .cache = x->global ? SETT_CACHE_GLOBAL : SETT_CACHE_DEFAULT);
        sett_set(sum, sett_add(sett_at(sum, 0), sett_to(sett_reduce(got, SETT_ADD, 0.0), SETT_F32)), 0);
    } else {
        *r->line = __LINE__ + 1;
        sett_store(cost_place(b, x, t, round), 1.0);
    }
}

/* X: COST_GLOBAL bytes; Y: a float for each thread; T: cycles of the loop. */
static inline void cost_body(sett_build *b, const void *user)
{
    const cost_run *r = user;
    const cost_case *x = r->x;
    const int bytes = sett_dtype_bits(x->dtype) / 8, threads = 32 * r->warps;
    sett_tensor *X = sett_param(b, "X", x->dtype, sett_make_layout(b, T1(COST_GLOBAL / bytes)), .align = 128);
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, T1(threads)), .align = 128);
    sett_tensor *C = sett_param(b, "T", SETT_U32, sett_make_layout(b, T1(1)));
    sett_grid(b, 1), sett_block(b, threads);
    sett_tensor *S = sett_make_smem_tensor(b, x->dtype, sett_make_layout(b, COST_SHARED / bytes), 128, .name = "S");
    sett_val *t = sett_thread_idx(b, 0);
    sett_for (b, i, t, COST_SHARED / bytes, threads)
        sett_set(S, 0.0, i);
    sett_tensor *sum = sett_var(b, SETT_F32, 0.0);
    sett_sync_threads(b);
    sett_val *begin = sett_clock(b);
    sett_for (b, i, 0, r->rounds, 1, .unroll = 8) {
        sett_val *round = sett_add(sett_mul(i, r->warps), sett_warp_idx(b));
        if (x->lanes == 32)
            cost_access(b, r, x->global ? X : S, sum, round);
        else
            sett_if (b, sett_lt(sett_lane_idx(b), x->lanes))
                cost_access(b, r, x->global ? X : S, sum, round);
    }
    sett_sync_threads(b);
    sett_val *end = sett_clock(b);
    sett_set(Y, sett_at(sum, 0), t);
    sett_if (b, sett_eq(t, 0))
        sett_set(C, sett_sub(end, begin), 0);
}
#endif
