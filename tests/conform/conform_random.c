/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs of exact ops: values of all types, conversions, reductions, shuffles, branches and loops. What the
 * device computes is bit for bit what the CPU engine computes when the builder folds nothing. */
#include "tests/conform/conform.h"
#include <stdlib.h>

enum { LANES = 64, WIDTH = 4, POOL = 96, STEPS = 14, RESULTS = 12, PROGRAMS = 100, GROUPS = 10 };

typedef struct program {
    sett_build *b;
    uint64_t seed;
    sett_val *pool[POOL];
    int n, depth;
} program;

static int pick(program *p, int n)
{
    return (int)(conform_random(&p->seed) % (uint64_t)n);
}

static void keep(program *p, sett_val *v)
{
    if (p->n < POOL)
        p->pool[p->n++] = v;
}

/* Late values more often than early ones. */
static sett_val *any(program *p)
{
    int i = pick(p, p->n), j = pick(p, p->n);
    return p->pool[i > j ? i : j];
}

static sett_val *of_type(program *p, sett_dtype d)
{
    return sett_to(any(p), d);
}

static sett_dtype type(program *p)
{
    return conform_types[pick(p, CONFORM_TYPES)];
}

static bool is_float(sett_dtype d)
{
    return sett__dtype_is_float(d);
}

/* ---- steps -------------------------------------------------------------------------------------------- */
static void binary(program *p)
{
    static const sett_binary_op numbers[] = {SETT_ADD, SETT_SUB, SETT_MUL, SETT_MIN, SETT_MAX, SETT_DIV, SETT_MOD};
    static const sett_binary_op bits[] = {SETT_AND, SETT_OR, SETT_XOR, SETT_SHL, SETT_SHR};
    sett_dtype d = type(p);
    sett_val *x = of_type(p, d), *y = of_type(p, d);
    bool by_bits = d == SETT_BOOL || (!is_float(d) && pick(p, 2));
    sett_binary_op op = by_bits ? bits[pick(p, d == SETT_BOOL ? 3 : 5)] : numbers[pick(p, 7)];
    if (!by_bits && pick(p, 3) == 0)
        y = of_type(p, conform_types[1 + pick(p, CONFORM_TYPES - 1)]); /* promotion */
    keep(p, sett_binary_at(SETT_HERE, "binary", op, sett_arg_v(x), sett_arg_v(y)));
}

static void compare(program *p)
{
    sett_dtype d = type(p);
    sett_binary_op op = (sett_binary_op)(SETT_LT + pick(p, 6));
    sett_val *x = of_type(p, d), *y = of_type(p, d); /* one after the other: the order of arguments is the compiler's */
    keep(p, sett_binary_at(SETT_HERE, "compare", op, sett_arg_v(x), sett_arg_v(y)));
}

static void unary(program *p)
{
    static const sett_unary_op reals[] = {SETT_NEG, SETT_ABS, SETT_SQRT, SETT_FLOOR, SETT_CEIL, SETT_TRUNC, SETT_ROUNDEVEN, SETT_EXP2,
        SETT_RCP, SETT_RSQRT}, others[] = {SETT_NOT, SETT_ABS, SETT_NEG};
    sett_dtype d = type(p);
    sett_unary_op op = is_float(d) ? reals[pick(p, 10)] : others[pick(p, d == SETT_BOOL ? 1 : 3)];
    keep(p, sett_unary_at(SETT_HERE, "unary", op, of_type(p, d)));
}

static void choose(program *p)
{
    sett_dtype d = type(p);
    sett_val *x = of_type(p, d), *y = of_type(p, d);
    if (is_float(d) && pick(p, 2))
        keep(p, sett_fma(x, y, of_type(p, d)));
    else
        keep(p, sett_where(of_type(p, SETT_BOOL), x, y));
}

/* Constants, so that there is something to fold. */
static void constant(program *p)
{
    sett_dtype d = type(p);
    keep(p, sett_full(p->b, d, T1(WIDTH), d == SETT_BOOL ? pick(p, 2) : pick(p, 9)));
}

static void gather(program *p)
{
    static const sett_binary_op folds[] = {SETT_ADD, SETT_MIN, SETT_MAX, SETT_MUL};
    sett_dtype d = type(p);
    sett_val *x = of_type(p, d);
    if (pick(p, 2) && !p->depth)
        x = sett_shuffle_at(SETT_HERE, "shuffle", x, (sett_shuffle_op)pick(p, 4), sett_arg_i(pick(p, 8)), 8);
    else if (d != SETT_BOOL)
        x = sett_add(x, sett_to(sett_reduce(x, folds[pick(p, 4)], 1), d));
    keep(p, x);
}

static void steps(program *, int n);

/* State in registers goes through an if/else or a loop of up to three rounds. */
static void region(program *p)
{
    sett_dtype d = type(p);
    sett_tensor *state = sett_make_rmem_tensor(p->b, d, T1(WIDTH));
    sett_store(state, of_type(p, d));
    sett_val *x = of_type(p, SETT_I32), *number = sett_and(sett_element(x, pick(p, WIDTH)), 3);
    int mark = p->n;
    bool loops = pick(p, 2);
    p->depth++;
    for (int arm = 0; arm < (loops ? 1 : 2); arm++) {
        sett_region r = loops ? sett_for_begin(SETT_HERE, p->b, sett_arg_i(0), sett_arg_v(number), sett_arg_i(1), NULL)
                        : arm ? sett_else_begin(SETT_HERE, p->b)
                              : sett_if_begin(SETT_HERE, p->b, sett_gt(number, 1));
        keep(p, sett_load(state));
        if (loops)
            keep(p, sett_broadcast_to(sett_reshape(r.iv, T1(1)), T1(WIDTH)));
        steps(p, 4);
        sett_store(state, of_type(p, d));
        r.done = true;
        sett_region_end(&r);
        p->n = mark; /* what was made in it is not visible outside */
    }
    p->depth--;
    keep(p, sett_load(state));
}

static void steps(program *p, int n)
{
    static void (*const step[])(program *) = {binary, binary, binary, compare, unary, unary, choose, constant, gather, region};
    for (int i = 0; i < n; i++)
        step[pick(p, p->depth < 3 ? 10 : 9)](p);
}

void conform_program(sett_build *b, const void *user)
{
    program p = {.b = b, .seed = *(const uint64_t *)user};
    char name[4];
    sett_block(b, LANES);
    sett_val *lane = sett_thread_idx(b, 0);
    for (int t = 0; t < CONFORM_TYPES; t++) {
        snprintf(name, sizeof name, "X%d", t);
        sett_tensor *X = sett_param(b, name, conform_types[t], sett_row_major(b, LANES, WIDTH), .align = 16);
        keep(&p, sett_load(sett_slice(X, lane, ALL)));
    }
    sett_tensor *I = sett_param(b, "I", SETT_I64, sett_make_layout(b, T(LANES, WIDTH, RESULTS)));
    sett_tensor *F = sett_param(b, "F", SETT_F64, sett_make_layout(b, T(LANES, WIDTH, RESULTS)));
    steps(&p, STEPS);
    for (int k = 0; k < RESULTS; k++) {
        sett_val *v = p.pool[p.n - 1 - k];
        bool real = is_float(sett_val_dtype(v));
        sett_store(sett_slice(real ? F : I, lane, ALL, k), sett_to(v, real ? SETT_F64 : SETT_I64));
    }
}

typedef struct results { uint64_t i[RESULTS * WIDTH * LANES], f[RESULTS * WIDTH * LANES]; } results;

static void compute(uint64_t seed, bool cpu, void *const *x, results *r)
{
    sett_buf buf[CONFORM_TYPES + 2];
    sett_launch_arg bind[CONFORM_TYPES + 2];
    *r = (results){{0}, {0}};
    for (int t = 0; t < CONFORM_TYPES; t++)
        buf[t] = sett_buf_2d(x[t], conform_types[t], LANES, WIDTH);
    buf[CONFORM_TYPES] = (sett_buf){r->i, SETT_I64, 3, {LANES, WIDTH, RESULTS}, {1, LANES, LANES * WIDTH}};
    buf[CONFORM_TYPES + 1] = (sett_buf){r->f, SETT_F64, 3, {LANES, WIDTH, RESULTS}, {1, LANES, LANES * WIDTH}};
    for (int t = 0; t < CONFORM_TYPES + 2; t++)
        bind[t] = sett_launch_arg_buf(&buf[t]);
    sett_kernel *k = conform_compile(conform_program, &seed, (conform_how){.cpu = cpu, .no_fold = cpu});
    conform_launch(k, cpu, CONFORM_TYPES + 2, bind);
    sett_kernel_release(k);
}

START_TEST(random_programs)
{
    static results got, want;
    void *x[CONFORM_TYPES];
    for (int t = 0; t < CONFORM_TYPES; t++)
        x[t] = conform_array(conform_types[t], LANES * WIDTH, (uint64_t)(_i * 100 + t));
    for (int k = 0; k < PROGRAMS / GROUPS; k++) {
        uint64_t seed = (uint64_t)(_i * PROGRAMS / GROUPS + k);
        compute(seed, false, x, &got);
        compute(seed, true, x, &want);
        for (int i = 0; i < RESULTS * WIDTH * LANES; i++)
            ck_assert_msg(got.i[i] == want.i[i] && conform_same(SETT_F64, got.f[i], want.f[i]),
                "program %" PRIu64 ", result %d, thread %d: got %" PRIx64 " or %" PRIx64 ", unfolded on the CPU %" PRIx64 " or %" PRIx64,
                seed, i / (WIDTH * LANES), i % LANES, got.i[i], got.f[i], want.i[i], want.f[i]);
    }
    for (int t = 0; t < CONFORM_TYPES; t++)
        free(x[t]);
}
END_TEST

void conform_add_random(TCase *t)
{
    tcase_add_loop_test(t, random_programs, 0, GROUPS);
}
