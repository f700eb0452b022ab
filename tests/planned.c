/* SPDX-License-Identifier: Apache-2.0 */
#include "planned.h"
#include <check.h>
#include <stdlib.h>

static void same_bound(const sett__bound *a, const sett__bound *b)
{
    ck_assert(a->empty == b->empty && a->params_len == b->params_len);
    ck_assert_mem_eq(a->params, b->params, b->params_len);
    ck_assert_mem_eq(&a->dims, &b->dims, sizeof b->dims);
}

static void same_answers(const sett__sig *sig, const sett__sig *back, const char *name, int n, const sett_bind *arg)
{
    static sett__bound bound[2];
    static sett__extent extent[2][SETT__MAX_ARGS];
    for (int gpu = 0; gpu < 2; gpu++) {
        sett_error why[2] = {{0}, {0}};
        sett_status s = sett__bind(sig, name, n, arg, gpu, &bound[0], extent[0], &why[0]);
        ck_assert_int_eq(sett__bind(back, name, n, arg, gpu, &bound[1], extent[1], &why[1]), s);
        ck_assert_str_eq(why[1].text, why[0].text);
        if (s)
            continue;
        same_bound(&bound[1], &bound[0]);
        for (uint32_t i = 0; i < sig->n_param; i++)
            ck_assert(extent[1][i].data == extent[0][i].data && extent[1][i].bytes == extent[0][i].bytes);
    }
}

/* What binding does not ask for. */
static void same_facts(const sett__sig *a, const sett__sig *b)
{
    ck_assert(a->n_param == b->n_param && a->n_sym == b->n_sym && a->n_leaf == b->n_leaf && a->n_derived == b->n_derived);
    ck_assert(a->smem == b->smem && a->smem_align == b->smem_align && a->early == b->early && a->n_claim == b->n_claim);
    for (uint32_t i = 0; i < a->n_param; i++) {
        const sett__param *p = &a->param[i], *q = &b->param[i];
        ck_assert(p->access == q->access && p->restricted == q->restricted && (p->align == q->align || p->align + q->align == 1));
        ck_assert(p->dtype == q->dtype || p->scalar == SETT__BY_STRUCT);
    }
    for (uint32_t i = 0; i < a->n_claim && a->claim; i++)
        ck_assert(!memcmp(&a->claim[i], &b->claim[i], sizeof *a->claim));
}

bool planned(const sett__sig *sig, const char *name, int n, const sett_bind *arg)
{
    static sett__bound by_plan, want;
    sett__arena a = {0};
    sett_error why = {0};
    const sett__plan *p = sett__plan_make(&a, sig);
    if (!p) {
        sett__arena_free(&a); /* what it was tried in */
        return false;
    }
    memset(&by_plan, 0xAA, sizeof by_plan);
    bool yes = sett__plan_follow(p, n, arg, &by_plan);
    if (yes) {
        ck_assert_msg(!sett__bind(sig, name, n, arg, true, &want, NULL, &why), "a plan says yes, and: %s", why.text);
        ck_assert(!want.empty);
        same_bound(&by_plan, &want);
    }
    sett__sig *back = sett__plan_sig(p);
    ck_assert_ptr_nonnull(back);
    for (uint32_t i = 0; i < sig->n_param; i++)
        back->param[i].name = sig->param[i].name;
    for (uint32_t i = 0; i < sig->n_sym; i++)
        back->sym[i].name = sig->sym[i].name;
    same_facts(sig, back);
    same_answers(sig, back, name, n, arg);
    free(back);
    sett__arena_free(&a);
    return yes;
}
