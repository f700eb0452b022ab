/* SPDX-License-Identifier: Apache-2.0 */
/* A plan of sett_product with its workspace, and its runs. */
#ifndef PLAN_RIG_H
#define PLAN_RIG_H
#include "tests/rig/placed_rig.h"

typedef struct planned {
    sett_product *plan;
    void *workspace;
    size_t bytes;
} planned;

static inline planned prepare(const sett_product_problem *p, int max_m)
{
    planned x = {0};
    ck_assert_msg(!sett_product_prepare(r.e, r.stream.device, p, max_m, &x.plan, &x.bytes, &err), "%s", err.text);
    if (x.bytes) {
        void *zeros = calloc(1, x.bytes);
        x.workspace = sett_alloc(r.e, r.stream.device, x.bytes);
        ck_assert(zeros && x.workspace && !sett_memcpy(r.e, r.stream, x.workspace, zeros, x.bytes) && !sett_sync(r.e, r.stream));
        free(zeros);
    }
    return x;
}

static inline void drop_plan(planned *x)
{
    sett_product_free(x->plan);
    sett_free(r.e, r.stream.device, x->workspace);
}

static inline void run_plan(const planned *x, int m, const sett_product_operands *o)
{
    ck_assert_msg(!sett_product_run(x->plan, m, o, x->workspace, x->bytes, r.stream, &err), "%s", err.text);
    ck_assert_msg(!sett_sync_error(r.e, r.stream, &err), "%s", err.text);
}
#endif
