/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of logits against plain C in double: each draw must lie where its random number does, by a Philox and sums of its own; then frequencies. With
 * SETT_SAMPLING_DRAWS=1000000 as many draws an option. */
#include "tests/rig/model_rig.h"

/* ---- a reference ------------------------------------------------------------------------------------------- */
static void philox(const uint32_t key_of[2], const uint32_t counter[4], uint32_t out[4])
{
    uint32_t k[2] = {key_of[0], key_of[1]}, c[4];
    memcpy(c, counter, sizeof c);
    for (int i = 0; i < 10; i++) {
        const uint64_t p = (uint64_t)0xD2511F53u * c[0], q = (uint64_t)0xCD9E8D57u * c[2];
        const uint32_t next[4] = {(uint32_t)(q >> 32) ^ c[1] ^ k[0], (uint32_t)q, (uint32_t)(p >> 32) ^ c[3] ^ k[1], (uint32_t)p};
        memcpy(c, next, sizeof c);
        k[0] += 0x9E3779B9u, k[1] += 0xBB67AE85u;
    }
    memcpy(out, c, sizeof c);
}

/* The published answers of Random123. */
START_TEST(philox_is_that_of_the_paper)
{
    static const struct {
        uint32_t key[2], counter[4], out[4];
    } known[] = {
        {{0, 0}, {0, 0, 0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{~0u, ~0u}, {~0u, ~0u, ~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0xa4093822, 0x299f31d0}, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    uint32_t out[4];
    philox(known[_i].key, known[_i].counter, out);
    ck_assert(!memcmp(out, known[_i].out, sizeof out));
}
END_TEST

enum { X, COUNTS, PROMPT, REPETITION, PRESENCE, FREQUENCY, ALLOWED, TEMPERATURE, SEED, OFFSET, TOP_K, TOP_P, MIN_P, TOKEN, ARGS };
typedef struct problem {
    sett_sampling_options o;
    int rows;
    cells a[ARGS];
} problem;

static bool is_there(const sett_sampling_options *o, int i)
{
    return i == COUNTS || i == REPETITION || i == PRESENCE || i == FREQUENCY ? o->penalties > 0 : i == PROMPT ? o->penalties > 1 : i == ALLOWED ? o->allowed : i == TOP_K ? o->top_k : i == TOP_P ? o->top_p : i == MIN_P ? o->min_p : true;
}

static double random_number(void) /* [0, 1) */
{
    return (uniform(&r.seed) + 1) / 2;
}

static problem problem_make(const sett_sampling_options *o, int rows)
{
    problem p = {.o = *o, .rows = rows};
    const int64_t cols = o->cols, words = (cols + 31) / 32;
    const sett_dtype type[ARGS] = {o->dtype, SETT_I32, SETT_U32, SETT_F32, SETT_F32, SETT_F32, SETT_U32, SETT_F32, SETT_U64, SETT_U64, SETT_I32, SETT_F32, SETT_F32, SETT_I32};
    for (int i = 0; i < ARGS; i++)
        p.a[i] = i == X || i == COUNTS ? CELLS(type[i], rows, cols) : i == PROMPT || i == ALLOWED ? CELLS(type[i], rows, words) : CELLS(type[i], rows);
    for (size_t i = 0; i < p.a[X].n; i++) {
        const double wide = 1 + (double)(i / (size_t)cols % 5); /* from flat to steep */
        put(o->dtype, p.a[X].host, i, wide * (uniform(&r.seed) + uniform(&r.seed) + uniform(&r.seed)));
        ints(&p.a[COUNTS])[i] = random_number() < 0.1 ? (int)(1 + 3 * random_number()) : 0;
    }
    for (size_t i = 0; i < p.a[PROMPT].n; i++)
        ((uint32_t *)p.a[PROMPT].host)[i] = (uint32_t)(random_number() * 4294967296.0) & (uint32_t)(random_number() * 4294967296.0),
        ((uint32_t *)p.a[ALLOWED].host)[i] = (uint32_t)(random_number() * 4294967296.0) | 1u;
    for (int m = 0; m < rows; m++) {
        reals(&p.a[REPETITION])[m] = (float)(0.8 + 0.6 * random_number()), reals(&p.a[PRESENCE])[m] = (float)(0.5 * random_number()), reals(&p.a[FREQUENCY])[m] = (float)(0.3 * random_number());
        reals(&p.a[TEMPERATURE])[m] = m % 16 == 15 ? 0 : (float)(0.2 + 1.5 * random_number());
        ((uint64_t *)p.a[SEED].host)[m] = (uint64_t)(random_number() * 1e19), ((uint64_t *)p.a[OFFSET].host)[m] = m % 3 ? (uint64_t)m : (uint64_t)(random_number() * 1e19);
        ints(&p.a[TOP_K])[m] = m % 7 == 6 ? 0 : m % 7 == 5 ? 1 : 1 + (int)(random_number() * (m % 2 ? 64 : (double)cols));
        reals(&p.a[TOP_P])[m] = m % 5 == 4 ? 1.0f : m % 9 == 8 ? 0.0f : (float)random_number();
        reals(&p.a[MIN_P])[m] = m % 4 == 3 ? 0.0f : (float)(0.3 * random_number());
    }
    for (int i = 0; i < ARGS; i++)
        cells_send(&p.a[i]);
    return p;
}

static void problem_run(problem *p)
{
    sett_launch_arg at[ARGS];
    int n = 0;
    for (int i = 0; i < ARGS; i++)
        if (is_there(&p->o, i))
            at[n++] = sett_launch_arg_buf(&p->a[i].buf);
    memset(p->a[TOKEN].host, 0xff, p->a[TOKEN].bytes);
    cells_send(&p->a[TOKEN]);
    sett_kernel *k = compiled(sett_sampling, &p->o);
    ck_assert_msg(!sett_launch_n(k, r.stream, n, at, &err), "%s", err.text);
    cells_fetch(&p->a[TOKEN]);
    sett_kernel_release(k);
}

static bool bit(const cells *c, int m, int col, int cols)
{
    return ((const uint32_t *)c->host)[(size_t)m * (size_t)((cols + 31) / 32) + (size_t)col / 32] >> col % 32 & 1;
}

static float logit_of(const problem *p, int m, int col)
{
    const size_t i = (size_t)m * (size_t)p->o.cols + (size_t)col;
    float x = (float)cell(&p->a[X], i);
    if (p->o.penalties) {
        const int count = ints(&p->a[COUNTS])[i];
        const float by = reals(&p->a[REPETITION])[m];
        if (count > 0 || (p->o.penalties > 1 && bit(&p->a[PROMPT], m, col, p->o.cols)))
            x = x > 0 ? x * (1 / by) : x * by;
        x = fmaf((float)count, -reals(&p->a[FREQUENCY])[m], x);
        x -= count > 0 ? reals(&p->a[PRESENCE])[m] : 0;
    }
    return p->o.allowed && !bit(&p->a[ALLOWED], m, col, p->o.cols) ? -INFINITY : x;
}

static int falling(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return a < b ? 1 : a > b ? -1 : 0;
}

/* Weights of row m, 0 where an option leaves a token out; *first: the greedy token. Gives their sum. */
static double weigh(const problem *p, int m, double *weight, double *sorted, int *first)
{
    const int n = p->o.cols;
    double most = -INFINITY, sum = 0, least = 0;
    for (int c = 0; c < n; c++)
        if (logit_of(p, m, c) > most)
            most = logit_of(p, m, c), *first = c;
    for (int c = 0; c < n; c++)
        weight[c] = exp((logit_of(p, m, c) - most) / reals(&p->a[TEMPERATURE])[m]);
    if (p->o.min_p)
        least = reals(&p->a[MIN_P])[m];
    const int k = p->o.top_k ? ints(&p->a[TOP_K])[m] : 0;
    for (int c = 0; c < n; c++)
        sorted[c] = weight[c] >= least ? weight[c] : 0;
    qsort(sorted, (size_t)n, sizeof *sorted, falling);
    if (k > 0 && k < n)
        least = fmax(least, sorted[k - 1]);
    for (int c = 0; c < n; c++)
        sum += sorted[c] >= least ? sorted[c] : 0;
    if (p->o.top_p && reals(&p->a[TOP_P])[m] < 1) {
        double part = 0;
        int c = 0;
        do
            part += sorted[c];
        while (part < reals(&p->a[TOP_P])[m] * sum * (1 - 1e-9) && ++c < n);
        least = fmax(least, sorted[c < n ? c : n - 1]);
    }
    sum = 0;
    for (int c = 0; c < n; c++)
        sum += weight[c] = weight[c] >= least ? weight[c] : 0;
    return sum;
}

static void problem_check(const problem *p)
{
    const int n = p->o.cols;
    double *weight = malloc(sizeof *weight * (size_t)n), *sorted = malloc(sizeof *sorted * (size_t)n);
    for (int m = 0; m < p->rows; m++) {
        int first = 0;
        const double sum = weigh(p, m, weight, sorted, &first);
        const int token = ints(&p->a[TOKEN])[m];
        ck_assert_msg(token >= 0 && token < n, "row %d: token %d of %d", m, token, n);
        if (reals(&p->a[TEMPERATURE])[m] < 1e-5f) {
            ck_assert_msg(token == first, "row %d: token %d, the largest is %d", m, token, first);
            continue;
        }
        uint64_t seed = ((uint64_t *)p->a[SEED].host)[m], offset = ((uint64_t *)p->a[OFFSET].host)[m];
        uint32_t out[4];
        philox((uint32_t[]){(uint32_t)seed, (uint32_t)(seed >> 32)}, (uint32_t[]){(uint32_t)offset, (uint32_t)(offset >> 32), 0, 0}, out);
        const double part = ldexp((double)out[1], -32) + ldexp((double)out[0], -64);
        double before = 0;
        for (int c = 0; c < token; c++)
            before += weight[c] / sum;
        ck_assert_msg(weight[token] > 0 && part > before - 2e-6 && part < before + weight[token] / sum + 2e-6, "row %d: token %d lies from %.9f to %.9f, the random number is %.9f",
            m, token, before, before + weight[token] / sum, part);
    }
    free(weight), free(sorted);
}

static void problem_drop(problem *p)
{
    cells_drop(ARGS, p->a);
}

/* ---- draws ------------------------------------------------------------------------------------------------- */
static const struct {
    int top_k, top_p, min_p, penalties, allowed;
} options[] = {{0}, {.top_k = 1}, {.top_p = 1}, {.min_p = 1}, {.penalties = 1}, {.penalties = 2}, {.allowed = 1}, {1, 1, 0, 0, 0}, {1, 1, 1, 2, 1}};
enum { OPTIONS = sizeof options / sizeof *options };
static const int columns[] = {1, 7, 96, 1000, 1023, 4099, 33000};
enum { COLUMNS = sizeof columns / sizeof *columns };

static sett_sampling_options options_of(int i, sett_dtype t, int cols)
{
    return (sett_sampling_options){.size = sizeof(sett_sampling_options), .dtype = t, .cols = cols, .top_k = options[i].top_k, .top_p = options[i].top_p, .min_p = options[i].min_p,
        .penalties = options[i].penalties, .allowed = options[i].allowed};
}

/* A row in registers of one block and of a cluster, and one that is read step by step: all give the same token, the one where the random number lies. */
START_TEST(draws)
{
    static const sett_logits_tuning tunings[] = {{0}, {.threads = 64, .blocks = 4}, {.threads = 96, .blocks = 1, .values = 16}, {.threads = 1024, .blocks = 1, .values = 8}};
    const sett_dtype t = floats[_i % FLOATS];
    const int cols = columns[_i / FLOATS % COLUMNS], i = _i / FLOATS / COLUMNS;
    const sett_sampling_options o = options_of(i, t, cols);
    problem p = problem_make(&o, cols > 10000 ? 5 : cols > 2000 ? 12 : 32);
    problem_run(&p);
    problem_check(&p);
    int32_t *was = malloc(p.a[TOKEN].bytes);
    memcpy(was, p.a[TOKEN].host, p.a[TOKEN].bytes);
    for (size_t j = 1; j < sizeof tunings / sizeof *tunings; j++) {
        p.o.tuning = tunings[j], p.o.no_pdl = j == 1;
        if (cols > 1000 && j != (size_t)i % 3 + 1)
            continue;
        problem_run(&p);
        for (int m = 0; m < p.rows; m++)
            ck_assert_msg(was[m] == ints(&p.a[TOKEN])[m], "row %d: %d, and %d by tuning %zu", m, was[m], ints(&p.a[TOKEN])[m], j);
    }
    free(was);
    problem_drop(&p);
}
END_TEST

/* One row again and again: how often each token comes is within 4 sigma, and what an option leaves out never comes. */
START_TEST(frequencies)
{
    enum { COLS = 50, BATCH = 4096 };
    const char *wanted = getenv("SETT_SAMPLING_DRAWS");
    const int least = wanted ? atoi(wanted) : 2 * BATCH;
    const sett_sampling_options o = options_of(_i, SETT_F32, COLS);
    problem p = problem_make(&o, BATCH);
    double weight[COLS], sorted[COLS];
    int first, came[COLS] = {0}, all = 0;
    ints(&p.a[TOP_K])[0] = 12, reals(&p.a[TOP_P])[0] = 0.8f, reals(&p.a[MIN_P])[0] = 0.05f, reals(&p.a[TEMPERATURE])[0] = 1.3f;
    for (int i = 0; i < ARGS; i++)
        for (size_t m = 1, row = p.a[i].bytes / BATCH; m < BATCH; m++)
            memcpy((char *)p.a[i].host + m * row, p.a[i].host, row);
    for (int turn = 0; all < least; turn++, all += BATCH) {
        for (int m = 0; m < BATCH; m++)
            ((uint64_t *)p.a[SEED].host)[m] = 12345, ((uint64_t *)p.a[OFFSET].host)[m] = (uint64_t)turn * BATCH + (uint64_t)m;
        for (int i = 0; i < ARGS; i++)
            cells_send(&p.a[i]);
        problem_run(&p);
        for (int m = 0; m < BATCH; m++)
            came[ints(&p.a[TOKEN])[m]]++;
    }
    const double sum = weigh(&p, 0, weight, sorted, &first);
    for (int c = 0; c < COLS; c++) {
        const double part = weight[c] / sum, want = part * all, sigma = sqrt(want * (1 - part));
        ck_assert_msg(fabs(came[c] - want) <= 4 * sigma + (part > 0 ? 1 : 0), "token %d came %d times of %d, should %.1f +- %.1f", c, came[c], all, want, sigma);
    }
    problem_drop(&p);
}
END_TEST

/* ---- the largest --------------------------------------------------------------------------------------------- */
START_TEST(argmax)
{
    static const sett_logits_tuning tunings[] = {{0}, {.threads = 32, .blocks = 2}, {.threads = 96, .blocks = 1, .values = 16}};
    const sett_dtype t = floats[_i % FLOATS];
    const int cols = columns[_i / FLOATS], rows = 9;
    for (size_t j = 0; j < sizeof tunings / sizeof *tunings; j++) {
        cells a[2] = {CELLS(t, rows, cols), CELLS(SETT_I32, rows)};
        const sett_argmax_options o = {.size = sizeof o, .dtype = t, .cols = cols, .tuning = tunings[j]};
        for (size_t i = 0; i < a[0].n; i++)
            put(t, a[0].host, i, i / (size_t)cols == 3 ? -1 - random_number() : floor(20 * uniform(&r.seed))); /* many are equal */
        for (int c = 0; c < cols; c++)
            put(t, a[0].host, (size_t)cols * 4 + (size_t)c, -INFINITY), put(t, a[0].host, (size_t)cols * 5 + (size_t)c, c == cols / 2 ? 0 : c > cols / 3 ? -0.0 : -1);
        if (t == SETT_F32)
            for (int c = 0; c < cols; c++)
                reals(&a[0])[(size_t)cols * 6 + (size_t)c] = c % 3 ? NAN : c == cols - 1 ? INFINITY : (float)-c;
        cells_send(&a[0]);
        LAUNCH_CELLS(sett_argmax, &o, &a[0], &a[1]);
        cells_fetch(&a[1]);
        for (int m = 0; m < rows; m++) {
            int want = 0;
            for (int c = 1; c < cols; c++)
                if (cell(&a[0], (size_t)m * (size_t)cols + (size_t)c) > cell(&a[0], (size_t)m * (size_t)cols + (size_t)want))
                    want = c;
            ck_assert_msg(ints(&a[1])[m] == want, "%s, %d columns, row %d, tuning %zu: %d, should be %d", sett_dtype_name(t), cols, m, j, ints(&a[1])[m], want);
        }
        cells_drop(2, a);
    }
}
END_TEST

/* ---- what has no number ---------------------------------------------------------------------------------------- */
START_TEST(rows_of_none)
{
    enum { COLS = 40, ROWS = 6 };
    static const float temperature[ROWS] = {1, 1, NAN, -1, INFINITY, 1e-30f};
    const sett_sampling_options o = options_of(OPTIONS - 1, SETT_F32, COLS);
    problem p = problem_make(&o, ROWS);
    for (int m = 0; m < ROWS; m++) {
        reals(&p.a[TEMPERATURE])[m] = temperature[m], reals(&p.a[MIN_P])[m] = NAN, reals(&p.a[TOP_P])[m] = NAN, ints(&p.a[TOP_K])[m] = -5;
        for (int c = 0; c < COLS; c++)
            reals(&p.a[X])[m * COLS + c] = m == 0 ? -INFINITY : m == 1 ? (c == 7 ? 5 : NAN) : (float)c;
    }
    memset(p.a[ALLOWED].host, 0xff, p.a[ALLOWED].bytes), memset(p.a[COUNTS].host, 0, p.a[COUNTS].bytes), memset(p.a[PROMPT].host, 0, p.a[PROMPT].bytes);
    for (int i = 0; i < ARGS; i++)
        cells_send(&p.a[i]);
    problem_run(&p);
    const int want[ROWS] = {0, 7, COLS - 1, COLS - 1, -1, COLS - 1};
    for (int m = 0; m < ROWS; m++)
        ck_assert_msg(want[m] < 0 ? ints(&p.a[TOKEN])[m] >= 0 && ints(&p.a[TOKEN])[m] < COLS : ints(&p.a[TOKEN])[m] == want[m], "row %d: %d", m, ints(&p.a[TOKEN])[m]);
    problem_drop(&p);
}
END_TEST

/* The CPU engine and every GPU draw the same tokens: the hash (FNV-1a) is what the CPU engine drew. Temperatures are high, so that many tokens may come. */
START_TEST(same_tokens_everywhere)
{
    static const uint64_t drawn[OPTIONS] = {0x679cdef39a024d84, 0x0958a87a33bac110, 0xf68c912296c27850, 0x431e03a79d978400, 0x2ef0659e1b4be6dd,
        0x5badde983ef16d58, 0x740199fd97daba9d, 0x1216a630611ec7d1, 0x22c6adc650ef2baf};
    enum { ROWS = 64 };
    const sett_sampling_options o = options_of(_i, SETT_F32, 4099);
    problem p = problem_make(&o, ROWS);
    for (int m = 0; m < ROWS; m++)
        reals(&p.a[TEMPERATURE])[m] = 2 + (float)m / 16;
    cells_send(&p.a[TEMPERATURE]);
    problem_run(&p);
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < p.a[TOKEN].bytes; i++)
        hash = (hash ^ ((const uint8_t *)p.a[TOKEN].host)[i]) * 1099511628211u;
    ck_assert_msg(hash == drawn[_i], "0x%016llx, should be 0x%016llx", (unsigned long long)hash, (unsigned long long)drawn[_i]);
    problem_drop(&p);
}
END_TEST

#define NOT(body, text, target, ...) \
    do { \
        sett_##body##_options o_ = {.size = sizeof o_, __VA_ARGS__}; \
        check_not_chosen(sett_##body, #body, &o_, target, text); \
    } while (0)
START_TEST(refused)
{
    NOT(argmax, ".dtype is f64: f16, bf16 or f32", NULL, .dtype = SETT_F64, .cols = 8);
    NOT(argmax, ".cols is 0: from 1 to 1048576", NULL, .dtype = SETT_F32);
    NOT(argmax, ".values is 12: a multiple of 8, 16 bytes", NULL, .dtype = SETT_F16, .cols = 8, .tuning.values = 12);
    NOT(argmax, ".values is 2: from 8 to 128", NULL, .dtype = SETT_F16, .cols = 8, .tuning.values = 2);
    NOT(argmax, ".blocks is 3: 1, 2, 4 or 8", NULL, .dtype = SETT_F16, .cols = 8, .tuning.blocks = 3);
    NOT(argmax, ".blocks is 2: several blocks of a row are a cluster, which needs sm_90", "sm_89", .dtype = SETT_F16, .cols = 8, .tuning.blocks = 2);
    NOT(argmax, ".threads: 40 threads are no multiple of 32, the threads of a warp", NULL, .dtype = SETT_F16, .cols = 8, .tuning.threads = 40);
    NOT(sampling, ".cols is 1048577: from 1 to 1048576", NULL, .dtype = SETT_F32, .cols = (1 << 20) + 1);
    NOT(sampling, ".reserved is 1: it must be 0", NULL, .dtype = SETT_F32, .cols = 8, .reserved = 1);
    NOT(sampling, ".top_k is 50: from 0 to 1", NULL, .dtype = SETT_F32, .cols = 8, .top_k = 50);
    NOT(sampling, ".top_p is -1: from 0 to 1", NULL, .dtype = SETT_F32, .cols = 8, .top_p = -1);
    NOT(sampling, ".min_p is 2: from 0 to 1", NULL, .dtype = SETT_F32, .cols = 8, .min_p = 2);
    NOT(sampling, ".penalties is 3: from 0 to 2", NULL, .dtype = SETT_F32, .cols = 8, .penalties = 3);
    NOT(sampling, ".allowed is 2: from 0 to 1", NULL, .dtype = SETT_F32, .cols = 8, .allowed = 2);
}
END_TEST

/* A vocabulary of today is in registers on Hopper; what has no clusters reads it again. Neither spills much. */
START_TEST(targets)
{
    static const char *const target[] = {"sm_80", "sm_89", "sm_90a", "sm_120a"};
    sett_sampling_options o = options_of(_i % 2 ? OPTIONS - 2 : 0, SETT_BF16, 128256);
    const int spills = check_target(r.e, sett_sampling, &o, target[_i / 2], "mul.hi.u64");
    ck_assert_msg(spills <= 32, "%d bytes are spilled", spills);
    const sett_argmax_options a = {.size = sizeof a, .dtype = SETT_F32, .cols = 151936};
    ck_assert_int_le(check_target(r.e, sett_argmax, &a, target[_i / 2], "shfl.sync"), 0);
}
END_TEST

Suite *sampling_suite(void)
{
    Suite *s = suite_create("sampling");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 600);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, philox_is_that_of_the_paper, 0, 3);
    tcase_add_loop_test(t, draws, 0, FLOATS * COLUMNS * OPTIONS);
    tcase_add_loop_test(t, frequencies, 0, OPTIONS);
    tcase_add_loop_test(t, same_tokens_everywhere, 0, OPTIONS);
    tcase_add_loop_test(t, argmax, 0, FLOATS * COLUMNS);
    tcase_add_test(t, rows_of_none);
    tcase_add_test(t, refused);
    suite_add_tcase(s, t);
    t = tcase_create("targets");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, targets, 0, 8);
    suite_add_tcase(s, t);
    return s;
}
