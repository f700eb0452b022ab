/* SPDX-License-Identifier: Apache-2.0 */
/* Tapes of clusters and asynchronous copies on the CPU engine, with tensor maps in the packed block, under a policy. */
#ifndef TESTS_ASYNC_RIG_H
#define TESTS_ASYNC_RIG_H
#include "tests/rig/sim_rig.h"

typedef struct task {
    const char *text;
    uint32_t grid[3], block[3], cluster[3];
    void *data[6]; /* tensors, in order */
    size_t bytes[6];
    int64_t sym[8];
    sett__async async;
    int threads, timeout_ms;
    struct sett__allocations *blocks;
    _Atomic uint64_t *order;
} task;

static inline void pack_maps(const sett__sig *sig, const task *t, unsigned char *params)
{
    for (uint32_t i = 0; i < sig->n_map; i++) {
        const sett__map *m = &sig->map[i];
        uint64_t extent[SETT__MAP_RANK] = {0}, stride[SETT__MAP_RANK] = {0};
        for (int k = 0; k < m->rank; k++) {
            int64_t x = 0;
            ck_assert(sett__expr_eval(sig, m->extent[k], t->sym, NULL, &x));
            extent[k] = (uint64_t)x;
            ck_assert(!k || sett__expr_eval(sig, m->stride[k], t->sym, NULL, &x));
            stride[k ? k - 1 : 4] = (uint64_t)x;
        }
        sett__sim_map(m, t->data[m->param], extent, stride, params + sett__packed_at(sig, sig->n_param + sig->n_sym + i));
    }
}

static inline sett_status run_task_program(const sett__program *p, const sett__sig *sig, const task *t, sett_error *e)
{
    _Alignas(64) unsigned char params[4096] = {0};
    sett__extent extent[6] = {{0}};
    for (uint32_t i = 0; i < sig->n_param; i++) {
        memcpy(params + sett__packed_at(sig, i), &t->data[i], 8);
        extent[i] = (sett__extent){t->data[i], t->bytes[i]};
    }
    for (uint32_t i = 0; i < sig->n_sym; i++)
        memcpy(params + sett__packed_at(sig, sig->n_param + i), &t->sym[i], 4);
    pack_maps(sig, t, params);
    sett__sim_launch l = {.params = params, .params_len = sett__packed_at(sig, SETT__NONE), .extent = extent, .threads = t->threads, .name = "k",
        .async = t->async, .order = t->order, .blocks = t->blocks, .timeout_ms = t->timeout_ms};
    for (int i = 0; i < 3; i++) {
        l.grid[i] = t->grid[i] ? t->grid[i] : 1;
        l.block[i] = t->block[i] ? t->block[i] : 1;
        l.cluster[i] = t->cluster[i];
    }
    return sett__sim_run(p, &l, e);
}

static inline sett_status run_task(const task *t, sett_error *e)
{
    sett__tape tape = {0};
    sett__program *p;
    *e = (sett_error){.status = SETT_OK};
    parse(&tape, t->text);
    sett_status s = sett__program_make(&tape, false, &p, e);
    ck_assert_msg(!s, "%s", e->text);
    s = run_task_program(p, &tape.sig, t, e);
    sett__program_free(p);
    sett__tape_free(&tape);
    return s;
}

/* A policy by its number: eager, lazy, then seeds. */
static inline sett__async policy(int n)
{
    return (sett__async){n == 0 ? SETT__ASYNC_EAGER : n == 1 ? SETT__ASYNC_LAZY : SETT__ASYNC_RANDOM, (uint64_t)n};
}

/* By every policy the same in data[at]; returns how many orders were seen. */
static inline int orders_of(task t, int at, const void *want)
{
    enum { SEEDS = 100 };
    _Atomic uint64_t order;
    uint64_t seen[SEEDS + 2];
    int n = 0, k;
    sett_error e;
    t.order = &order;
    for (int p = 0; p < SEEDS + 2; p++) {
        memset(t.data[at], 0xff, t.bytes[at]);
        atomic_init(&order, 0);
        t.async = policy(p);
        ck_assert_msg(!run_task(&t, &e), "policy %d: %s", p, e.text);
        ck_assert_msg(!memcmp(t.data[at], want, t.bytes[at]), "policy %d gives other bytes", p);
        for (seen[n] = order, k = 0; seen[k] != order;)
            k++;
        n += k == n;
    }
    return n;
}

static inline char *read_text(const char *file)
{
    FILE *f = fopen(file, "rb");
    char *text = calloc(1, 65536);
    ck_assert_msg(f && text, "%s", file);
    ck_assert_uint_lt(fread(text, 1, 65535, f), 65535);
    fclose(f);
    return text;
}

#endif
