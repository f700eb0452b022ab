/* SPDX-License-Identifier: Apache-2.0 */
/* sett_rope against plain C: both orders, parts of heads, norms, pages, fp8; the bits where nothing but fma is between; and tables beside the
 * formulas of transformers, in numbers that were computed apart. */
#include "tests/rig/kernels_rig.h"

enum { TOKENS = 5, HEADS = 6, SHARED = 2, POSITIONS = 50, PAGES = 4, ALL_HEADS = HEADS + 2 * SHARED };
static const int32_t position[TOKENS] = {7, 0, 49, 7, 31};
static int64_t slot_of(int token, int page)
{
    return (const int64_t[]){3, -1, page, 2 * page + 5, 4 * page - 1}[token];
}

/* Columns of a head: all, the first ones, some in the middle, the last ones. */
static const struct {
    int d, first, rotary;
} columns[] = {{128, 0, 128}, {64, 0, 64}, {80, 0, 32}, {96, 0, 96}, {128, 32, 64}, {256, 192, 64}, {576, 512, 64}};
enum { COLUMNS = sizeof columns / sizeof *columns };

typedef struct problem {
    sett_rope_options o;
    int type; /* of `floats` */
    array qkv, table, weight[2], out[3], scales[3];
    sett_buf from[3], to[3], positions, slots;
    void *device[2]; /* of positions and slots */
} problem;

static sett_buf on_device(const void *data, sett_dtype t, size_t bytes, void **where)
{
    *where = sett_alloc(r.e, r.stream.device, bytes);
    ck_assert(*where && !sett_memcpy(r.e, r.stream, *where, data, bytes));
    return sett_buf_1d(*where, t, TOKENS);
}

/* Elements behind the first of the row of a token that has Q, K and V side by side. */
static size_t in_row(const problem *p, int which)
{
    return (size_t)p->o.d * (which == 0 ? 0 : which == 1 ? HEADS : HEADS + SHARED);
}

static problem problem_of(sett_rope_options o, int type)
{
    problem p = {.o = o, .type = type};
    const int d = o.d, keys = o.page ? o.page : 1;
    int64_t slots[TOKENS];
    p.qkv = MAKE(o.dtype, TOKENS, ALL_HEADS * d), p.table = MAKE(SETT_F32, POSITIONS, o.rotary);
    for (int i = 0; i < 3; i++) {
        p.from[i] = sett_buf_nd((char *)p.qkv.m.buf.data + in_row(&p, i) * (size_t)sett_dtype_bits(o.dtype) / 8, o.dtype, 3, (const int64_t[]){TOKENS, i ? SHARED : HEADS, d});
        p.from[i].stride[0] = ALL_HEADS * d;
        const sett_dtype t = i == 0 ? (o.out ? o.out : o.dtype) : o.kv ? o.kv : o.dtype;
        p.out[i] = i && o.page ? MAKE(t, PAGES, keys, SHARED, d) : MAKE(t, TOKENS, i ? SHARED : HEADS, d);
        memset(p.out[i].m.host, 0, p.out[i].m.bytes);
        ck_assert(!sett_memcpy(r.e, r.stream, p.out[i].m.buf.data, p.out[i].m.host, p.out[i].m.bytes));
        p.to[i] = p.out[i].m.buf;
        if (i && o.page) { /* (P,HK,page,d) of memory (P,page,HK,d) */
            p.to[i] = sett_buf_nd(p.out[i].m.buf.data, t, 4, (const int64_t[]){PAGES, SHARED, keys, d});
            p.to[i].stride[0] = keys * SHARED * d, p.to[i].stride[1] = d, p.to[i].stride[2] = SHARED * d;
        }
        p.scales[i] = MAKE(SETT_F32, i ? SHARED : HEADS);
        for (size_t h = 0; h < p.scales[i].n; h++)
            put(SETT_F32, p.scales[i].m.host, h, p.scales[i].was[h] = (double)(float)(0.5 + 0.125 * (double)h));
        ck_assert(!sett_memcpy(r.e, r.stream, p.scales[i].m.buf.data, p.scales[i].m.host, p.scales[i].m.bytes));
    }
    for (int i = 0; i < 2; i++)
        p.weight[i] = MAKE(o.dtype, d);
    for (int i = 0; i < TOKENS; i++)
        slots[i] = slot_of(i, keys);
    p.positions = on_device(position, SETT_I32, sizeof position, &p.device[0]);
    p.slots = on_device(slots, SETT_I64, sizeof slots, &p.device[1]);
    return p;
}

static void launch(problem *p)
{
    const sett_rope_options *o = &p->o;
    sett_launch_arg args[16];
    int n = 0;
    args[n++] = sett_launch_arg_buf(&p->positions), args[n++] = sett_launch_arg_buf(&p->table.m.buf), args[n++] = sett_launch_arg_buf(&p->from[0]), args[n++] = sett_launch_arg_buf(&p->from[1]);
    if (o->page && !o->latent)
        args[n++] = sett_launch_arg_buf(&p->from[2]);
    for (int i = 0; o->norm && i < 2; i++)
        args[n++] = sett_launch_arg_buf(&p->weight[i].m.buf);
    args[n++] = sett_launch_arg_buf(&p->to[0]), args[n++] = sett_launch_arg_buf(&p->to[1]);
    if (o->page && !o->latent)
        args[n++] = sett_launch_arg_buf(&p->to[2]);
    if (o->page)
        args[n++] = sett_launch_arg_buf(&p->slots);
    for (int i = 0; i < (o->page && !o->latent ? 3 : 2) && o->scaled; i++)
        if (i ? o->kv : o->out)
            args[n++] = sett_launch_arg_buf(&p->scales[i].m.buf);
    if (o->norm)
        args[n++] = sett_launch_arg_float(1e-5);
    sett_kernel *k = compiled(sett_rope, o);
    ck_assert_msg(!sett_launch_n(k, r.stream, n, args, &err), "%s", err.text);
    ck_assert_msg(!sett_sync_error(r.e, r.stream, &err), "%s", err.text);
    sett_kernel_release(k);
    for (int i = 0; i < 3; i++)
        matrix_fetch(&r, &p->out[i].m);
}

static double given(const problem *p, int which, int token, int head, int column)
{
    return p->qkv.was[(size_t)token * ALL_HEADS * (size_t)p->o.d + in_row(p, which) + (size_t)(head * p->o.d + column)];
}

/* What a column becomes, in double; *exact: in float, by one product and one fma, where nothing else is between. */
static double want(const problem *p, int which, int token, int head, int column, float *exact)
{
    const sett_rope_options *o = &p->o;
    const int half = o->rotary / 2, at = column - o->first, odd = o->pairs ? at % 2 : at >= half, angle = o->pairs ? at / 2 : at % half, other = o->first + (o->pairs ? at ^ 1 : odd ? at - half : at + half);
    double square = 0, x[2] = {given(p, which, token, head, column), 0};
    for (int i = 0; i < o->d; i++)
        square += given(p, which, token, head, i) * given(p, which, token, head, i) / o->d;
    const double by = which < 2 && o->norm ? 1 / sqrt(square + 1e-5) : 1;
    x[0] *= which < 2 && o->norm ? by * p->weight[which].was[column] : 1;
    const double scale = o->scaled && (which ? o->kv : o->out) ? p->scales[which].was[head] : 1;
    *exact = (float)x[0];
    if (which == 2 || at < 0 || at >= o->rotary)
        return x[0] / scale;
    x[1] = given(p, which, token, head, other) * (o->norm ? by * p->weight[which].was[other] : 1);
    const float c = (float)p->table.was[position[token] * o->rotary + angle], s = (float)p->table.was[position[token] * o->rotary + half + angle];
    const float product = (float)x[1] * s;
    *exact = fmaf((float)x[0], c, odd ? product : -product);
    return (x[0] * c + (odd ? 1 : -1) * x[1] * s) / scale;
}

static void check_head(const problem *p, int which, int token, int head, size_t first)
{
    const sett_dtype t = p->out[which].m.buf.dtype;
    const bool f8 = t == SETT_F8E4M3FN, same_bits = !f8 && !p->o.norm;
    for (int j = 0; j < p->o.d; j++) {
        float exact;
        const double w = want(p, which, token, head, j, &exact), got = at(&p->out[which], first + (size_t)j), off = f8 ? 1.0 / 16 : ulp[p->type];
        unsigned char rounded[8] = {0};
        ck_assert_msg(fabs(got - w) <= off * fabs(w) + (f8 ? 1.0 / 1024 : 1e-5), "%c of token %d, head %d, column %d is %.9g, should be %.9g", "QKV"[which], token, head, j, got, w);
        put(t, rounded, 0, same_bits ? (double)exact : 0);
        ck_assert_msg(!same_bits || !memcmp(rounded, (const char *)p->out[which].m.host + (first + (size_t)j) * (size_t)sett_dtype_bits(t) / 8, (size_t)sett_dtype_bits(t) / 8),
            "%c of token %d, head %d, column %d has other bits: %.9g, %.9g", "QKV"[which], token, head, j, got, (double)exact);
    }
}

/* Everything that was to be written, and nothing else. */
static void check_all(const problem *p)
{
    const int d = p->o.d, page = p->o.page;
    size_t written[3] = {0}, seen[3] = {0};
    for (int which = 0; which < 3; which++) {
        const int heads = which ? SHARED : HEADS;
        if (which == 2 && (!page || p->o.latent))
            continue;
        for (int token = 0; token < TOKENS; token++) {
            const int64_t slot = slot_of(token, page);
            if (which && page && slot < 0)
                continue;
            for (int head = 0; head < heads; head++, written[which] += (size_t)d)
                check_head(p, which, token, head, (size_t)((which && page ? slot : token) * heads + head) * (size_t)d);
        }
    }
    for (int which = 0; which < 3; which++) {
        const size_t size = (size_t)sett_dtype_bits(p->out[which].m.buf.dtype) / 8;
        for (size_t i = 0; i < p->out[which].n; i++)
            seen[which] += memcmp((const char *)p->out[which].m.host + i * size, (const char[4]){0}, size) != 0;
        ck_assert_msg(seen[which] <= written[which], "%c: %zu elements are not 0, and %zu were written", "QKV"[which], seen[which], written[which]);
    }
}

static void drop_problem(problem *p)
{
    drop(1, &p->qkv), drop(1, &p->table), drop(2, p->weight), drop(3, p->out), drop(3, p->scales);
    for (int i = 0; i < 2; i++)
        sett_free(r.e, r.stream.device, p->device[i]);
}

START_TEST(rope)
{
    const int type = _i / COLUMNS, c = _i % COLUMNS;
    for (int k = _i % 3; k < 32; k += 3) { /* each combination with some columns and types */
        const int small = k / 8 % 2, page = k / 4 % 2;
        sett_rope_options o = {.size = sizeof o, .dtype = floats[type], .d = columns[c].d, .first = columns[c].first, .rotary = columns[c].rotary, .pairs = k % 2, .norm = k / 2 % 2 && columns[c].d <= 256,
            .page = page ? 16 : 0, .out = small ? SETT_F8E4M3FN : 0, .kv = small ? SETT_F8E4M3FN : 0, .scaled = small && k % 2, .latent = page && k / 16, .tuning.threads = k / 16 ? 32 : 0, .no_pdl = k % 2};
        problem p = problem_of(o, type);
        launch(&p);
        check_all(&p);
        drop_problem(&p);
    }
}
END_TEST

/* QO is Q, and KO is K. */
START_TEST(rope_in_place)
{
    const sett_rope_options o = {.size = sizeof o, .dtype = SETT_BF16, .d = 64, .rotary = 64, .pairs = _i};
    problem p = problem_of(o, 1);
    sett_buf own[2] = {p.to[0], p.to[1]};
    p.to[0] = p.from[0], p.to[1] = p.from[1];
    launch(&p);
    matrix_fetch(&r, &p.qkv.m);
    for (int which = 0; which < 2; which++)
        for (int token = 0; token < TOKENS; token++)
            for (int i = 0; i < (which ? SHARED : HEADS) * o.d; i++)
                put(SETT_BF16, p.out[which].m.host, (size_t)(token * (which ? SHARED : HEADS) * o.d + i), at(&p.qkv, (size_t)(token * ALL_HEADS * o.d + i) + in_row(&p, which)));
    p.to[0] = own[0], p.to[1] = own[1];
    check_all(&p);
    drop_problem(&p);
}
END_TEST

/* Attention of the last token over what was appended, K and V of fp8 by scales: sett_attention_decode reads them where they lie. */
START_TEST(attention_reads_it)
{
    enum { PAGE = 16, D = 64, TABLE_PAGE = 2, ROWS_AT_ONCE = 16 };
    sett_rope_options o = {.size = sizeof o, .dtype = SETT_BF16, .d = D, .rotary = D, .page = PAGE, .kv = SETT_F8E4M3FN, .scaled = 1};
    sett_attention_decode_options ao = {.size = sizeof ao, .dtype = SETT_BF16, .d = D, .rows = ROWS_AT_ONCE, .kv = SETT_F8E4M3FN, .scaled = 1, .page = PAGE};
    const int64_t slots[TOKENS] = {TABLE_PAGE * PAGE, TABLE_PAGE * PAGE + 1, TABLE_PAGE * PAGE + 2, TABLE_PAGE * PAGE + 3, TABLE_PAGE * PAGE + 4};
    const int32_t lengths[2] = {TABLE_PAGE, TOKENS}; /* TABLE (1,1), KEYS (1) */
    size_t floats_, counters;
    if (!has_wgmma()) /* .kv of fp8 is of sm_90a */
        return;
    problem p = problem_of(o, 1);
    ck_assert(!sett_memcpy(r.e, r.stream, p.device[1], slots, sizeof slots));
    launch(&p);
    ck_assert_msg(!sett_kernels_choose(sett_attention_decode, &ao, r.stream.device == SETT_CPU ? "cpu" : "sm_90a", &err), "%s", err.text);
    ck_assert_msg(!sett_attention_decode_workspace(&ao, 1, HEADS, SHARED, 1, PAGE, &floats_, &counters, &err), "%s", err.text);
    array out = MAKE(SETT_BF16, HEADS, D), partial = MAKE(SETT_F32, (int64_t)floats_), left = MAKE(SETT_F32, (int64_t)counters), table = MAKE(SETT_F32, 2);
    memset(left.m.host, 0, left.m.bytes), memcpy(table.m.host, lengths, sizeof lengths);
    ck_assert(!sett_memcpy(r.e, r.stream, left.m.buf.data, left.m.host, left.m.bytes) && !sett_memcpy(r.e, r.stream, table.m.buf.data, table.m.host, table.m.bytes));
    left.m.buf.dtype = SETT_U32;
    sett_buf Q = sett_buf_nd((char *)p.out[0].m.buf.data + (size_t)(TOKENS - 1) * HEADS * D * 2, SETT_BF16, 4, (const int64_t[]){1, HEADS, 1, D}), O = Q, T = sett_buf_2d(table.m.buf.data, SETT_I32, 1, 1),
             KEYS = sett_buf_1d((int32_t *)table.m.buf.data + 1, SETT_I32, 1);
    O.data = out.m.buf.data;
    RUN(sett_attention_decode, &ao, &Q, &p.to[1], &p.to[2], &O, &p.scales[1].m.buf, &p.scales[2].m.buf, &T, &KEYS, &partial.m.buf, &left.m.buf);
    matrix_fetch(&r, &out.m);
    for (int head = 0; head < HEADS; head++) {
        double weight[TOKENS], sum = 0, most = 0;
        float exact;
        const int shared = head / (HEADS / SHARED);
        for (int key = 0; key < TOKENS; key++) {
            double score = 0;
            for (int j = 0; j < D; j++)
                score += want(&p, 0, TOKENS - 1, head, j, &exact) * want(&p, 1, key, shared, j, &exact) * p.scales[1].was[shared] / 8; /* sqrt(D) */
            sum += weight[key] = exp(score);
        }
        for (int j = 0; j < D; j++) {
            double o_at = 0;
            for (int key = 0; key < TOKENS; key++)
                o_at += weight[key] / sum * given(&p, 2, key, shared, j), most = fmax(most, fabs(given(&p, 2, key, shared, j)));
            near("attention", &out, (size_t)(head * D + j), o_at, most / 12);
        }
    }
    drop(1, &out), drop(1, &partial), drop(1, &left), drop(1, &table);
    drop_problem(&p);
}
END_TEST

/* The CPU engine refuses what a GPU does not check. */
START_TEST(rope_outside)
{
    const sett_rope_options o = {.size = sizeof o, .dtype = SETT_BF16, .d = 64, .rotary = 64, .page = 16};
    const int64_t slots[TOKENS] = {0, 1, PAGES * 16, 2, 3};
    const int32_t positions[TOKENS] = {0, 1, POSITIONS, 2, 3};
    problem p = problem_of(o, 1);
    if (r.stream.device != SETT_CPU)
        return;
    ck_assert(!sett_memcpy(r.e, r.stream, p.device[_i], _i ? (const void *)slots : positions, _i ? sizeof slots : sizeof positions));
    sett_kernel *k = compiled(sett_rope, &o);
    const sett_status s = sett_launch(k, r.stream, &err, &p.positions, &p.table.m.buf, &p.from[0], &p.from[1], &p.from[2], &p.to[0], &p.to[1], &p.to[2], &p.slots);
    ck_assert_int_eq(s, SETT_E_FAULT);
    sett_kernel_release(k);
    drop_problem(&p);
}
END_TEST

/* ---- tables ---------------------------------------------------------------------------------------------------- */
/* inv_freq as transformers computes it, at some angles, and what multiplies cosines and sines. */
static const struct {
    sett_rope_table_options o;
    int angle[3];
    double frequency[3], amplitude;
} tables[] = {
    {{.rotary = 128, .base = 500000}, {0, 1, 63}, {1, 0.8146172338565447, 2.455140791131609e-06}, 1},
    {{.rotary = 64}, {0, 16, 31}, {1, 0.01, 1.333521432163324e-4}, 1},
    {{.rotary = 128, .scaling = SETT_ROPE_LINEAR, .factor = 4}, {0, 32, 63}, {0.25, 0.0025, 2.8869549617236455e-05}, 1},
    /* LLaMA-3.1: angle 10 is kept, 32 lies between, 63 is divided by 8 */
    {{.rotary = 128, .base = 500000, .scaling = SETT_ROPE_LLAMA3, .factor = 8}, {10, 32, 63}, {0.12868737343265052, 0.0005248461609929547, 3.068925988914511e-07}, 1},
    /* DeepSeek-V3 */
    {{.rotary = 64, .scaling = SETT_ROPE_YARN, .factor = 40, .original = 4096, .mscale = 1, .mscale_all = 1}, {10, 15, 31}, {0.056234132519034905, 0.008334508951020777, 3.33380358040831e-06}, 1},
    {{.rotary = 128, .base = 1000000, .scaling = SETT_ROPE_YARN, .factor = 4, .original = 32768}, {1, 30, 63}, {0.8058421877614819, 0.0010643609812470017, 3.102344401879299e-07}, 1.138629436111989},
};

START_TEST(table)
{
    enum { N = 4000 };
    sett_rope_table_options o = tables[_i].o;
    o.size = sizeof o, o.positions = N;
    float *t = malloc(sizeof *t * N * (size_t)o.rotary);
    ck_assert_msg(!sett_rope_table(&o, t, &err), "%s", err.text);
    for (int k = 0; k < 3; k++)
        for (int p = 0; p < o.positions; p++) {
            const double a = tables[_i].frequency[k], c = t[p * o.rotary + tables[_i].angle[k]], s = t[p * o.rotary + o.rotary / 2 + tables[_i].angle[k]];
            ck_assert_msg(fabs(c - tables[_i].amplitude * cos(p * a)) <= 1.2e-7 && fabs(s - tables[_i].amplitude * sin(p * a)) <= 1.2e-7, "angle %d of position %d: %.9g, %.9g", tables[_i].angle[k], p, c, s);
        }
    free(t);
}
END_TEST

static const struct {
    sett_rope_table_options o;
    const char *why;
} bad_tables[] = {
    {{.rotary = 64}, ".positions is 0: from 1 to 268435456"},
    {{.rotary = 63, .positions = 1}, ".rotary is 63: an even number, two columns to an angle"},
    {{.rotary = 64, .positions = 1, .scaling = (sett_rope_scaling)4}, ".scaling is 4: from 0 to 3"},
    {{.rotary = 64, .positions = 1, .base = -1}, ".base is -1: a number above 1"},
    {{.rotary = 64, .positions = 1, .scaling = SETT_ROPE_LINEAR}, ".factor is 0: with .scaling 1 or more"},
    {{.rotary = 64, .positions = 1, .scaling = SETT_ROPE_YARN, .factor = 4}, ".original is 0: from 1 to 268435456"},
    {{.rotary = 64, .positions = 1, .high = 1}, ".low is 1 and .high 1: .low is above 0, and .high above it"},
    {{.rotary = 64, .positions = 1, .beta_slow = 40}, ".beta_slow is 40 and .beta_fast 32: .beta_slow is above 0, and .beta_fast above it"},
};

START_TEST(bad_table)
{
    float t[64];
    char want_text[200];
    sett_rope_table_options o = bad_tables[_i].o;
    ck_assert_int_eq(sett_rope_table(&o, t, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_rope_table: the options' .size is not sizeof(sett_rope_table_options)");
    o.size = sizeof o;
    snprintf(want_text, sizeof want_text, "sett_rope_table: %s", bad_tables[_i].why);
    ck_assert_int_eq(sett_rope_table(&o, t, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, want_text);
    ck_assert_int_eq(sett_rope_table(&o, NULL, NULL), SETT_E_ARGUMENT);
}
END_TEST

#define BAD(text_, ...) {{.size = sizeof(sett_rope_options), __VA_ARGS__}, text_}
static struct {
    sett_rope_options o;
    const char *why;
} bad[] = {
    BAD(".dtype is i8: f16, bf16 or f32", .dtype = SETT_I8),
    BAD(".d is 72: a multiple of 16, 32 bytes", .d = 72),
    BAD(".d is 2048: from 16 to 1024", .d = 2048),
    BAD(".rotary is 24: a multiple of 16, 32 bytes", .rotary = 24),
    BAD(".rotary is 96: from 16 to 64", .first = 64, .rotary = 96),
    BAD(".first is 128: from 0 to 112", .first = 128, .rotary = 16),
    BAD(".pairs is 2: from 0 to 1", .pairs = 2),
    BAD(".norm is 1: .d is at most 512 then, and not 576", .d = 576, .norm = 1),
    BAD(".page is -1: from 0 to 16777216", .page = -1),
    BAD(".latent is 1: from 0 to 0", .latent = 1),
    BAD(".out is f16: as .dtype, f8E4M3FN or f8E5M2", .out = SETT_F16),
    BAD(".kv is i8: as .dtype, f8E4M3FN or f8E5M2", .kv = SETT_I8),
    BAD(".scaled is 1: .out or .kv is f8E4M3FN or f8E5M2 then", .scaled = 1),
    BAD(".threads: 48 threads are no multiple of 32, the threads of a warp", .tuning.threads = 48),
    BAD(".reserved is 1: it must be 0", .tuning.reserved = 1),
};

START_TEST(refused)
{
    if (!bad[_i].o.dtype)
        bad[_i].o.dtype = SETT_BF16;
    check_not_chosen(sett_rope, "rope", &bad[_i].o, NULL, bad[_i].why);
}
END_TEST

Suite *rope_suite(void)
{
    Suite *s = suite_create("rope");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, rope, 0, FLOATS * COLUMNS);
    tcase_add_loop_test(t, rope_in_place, 0, 2);
    tcase_add_test(t, attention_reads_it);
    tcase_add_loop_test(t, rope_outside, 0, 2);
    tcase_add_loop_test(t, table, 0, (int)(sizeof tables / sizeof *tables));
    tcase_add_loop_test(t, bad_table, 0, (int)(sizeof bad_tables / sizeof *bad_tables));
    tcase_add_loop_test(t, refused, 0, (int)(sizeof bad / sizeof *bad));
    suite_add_tcase(s, t);
    return s;
}
