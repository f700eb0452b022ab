/* SPDX-License-Identifier: Apache-2.0 */
/* What the suites of the CPU engine share: running a tape's text, and a pair of tensors for it. */
#ifndef TESTS_SIM_RIG_H
#define TESTS_SIM_RIG_H
#include "tests/rig/faces.h"
#include "jit/sim/program/program.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>

/* ---- running a text ---------------------------------------------------------------- */
typedef struct job {
    const char *text;
    uint32_t grid[3], block[3];
    void *data[6]; /* tensors, in order */
    size_t bytes[6];
    int n_data, n_sym;
    int32_t sym[4];
    int threads;
    int sm; /* 0: as usual */
    bool plain;
    uint64_t most_rounds;
    sett_print_fn print;
    void *user;
} job;

static inline void parse(sett__tape *t, const char *text)
{
    sett_error e = {.status = SETT_OK};
    sett_status s = sett__tape_parse(t, text, &e);
    ck_assert_msg(!s, "%s\nin\n%s", e.text, text);
}

static inline sett_status run_program(const sett__program *p, const job *j, sett_error *e)
{
    unsigned char params[256];
    sett__extent extent[6];
    size_t len = 0;
    for (int i = 0; i < j->n_data; i++, len += 8) {
        memcpy(params + len, &j->data[i], 8);
        extent[i] = (sett__extent){j->data[i], j->bytes[i]};
    }
    for (int i = 0; i < j->n_sym; i++, len += 4)
        memcpy(params + len, &j->sym[i], 4);
    sett__sim_launch l = {.params = params, .params_len = len, .extent = extent, .threads = j->threads, .name = "k", .sm = j->sm, .print = j->print, .most_rounds = j->most_rounds,
                          .user = j->user};
    for (int i = 0; i < 3; i++) {
        l.grid[i] = j->grid[i] ? j->grid[i] : 1;
        l.block[i] = j->block[i] ? j->block[i] : 1;
    }
    return sett__sim_run(p, &l, e);
}

static inline sett_status run(const job *j, sett_error *e)
{
    sett__tape t = {0};
    sett__program *p;
    *e = (sett_error){.status = SETT_OK};
    parse(&t, j->text);
    sett_status s = sett__program_make(&t, j->plain, &p, e);
    ck_assert_msg(!s, "%s", e->text);
    s = run_program(p, j, e);
    sett__program_free(p);
    sett__tape_free(&t);
    return s;
}

static inline void runs(const job *j)
{
    sett_error e;
    sett_status s = run(j, &e);
    ck_assert_msg(!s, "%s", e.text);
}

static inline void faults(const job *j, const char *want)
{
    sett_error e;
    ck_assert_int_eq(run(j, &e), SETT_E_FAULT);
    ck_assert_str_eq(e.text, want);
}

#define HEAD(params) "sett tape 2\n" params
#define A_D HEAD("param A i32 (1000):(1) align 4 read\nparam D i32 (1000):(1) align 4 write\n")
#define IDS "%0 = tid.x i32\n%1 = bid.x i32\n%2 = param i32 A\n%3 = param i32 D\n"

typedef struct pair { int32_t a[1000], d[1000]; } pair;

/* a[i] = i, d[i] = -1 */
static inline job pair_job(pair *p, const char *text, uint32_t grid, uint32_t block)
{
    for (int i = 0; i < 1000; i++) {
        p->a[i] = i;
        p->d[i] = -1;
    }
    return (job){.text = text, .grid = {grid}, .block = {block}, .data = {p->a, p->d}, .bytes = {sizeof p->a, sizeof p->d}, .n_data = 2, .threads = 1};
}

#endif
