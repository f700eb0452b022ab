/* SPDX-License-Identifier: Apache-2.0 */
/* C structs in global and shared memory and by value, and windows of shared memory past 48 KiB or sized by launches, against plain C. */
#include "tests/conform/conform.h"
#include <stdlib.h>
#include <string.h>

struct stage {
    uint8_t phase;
    _Alignas(16) int32_t a[12];
    uint16_t lo[3];
};
struct item {
    bool on;
    double sum;
    int8_t id;
    float v[3];
    struct stage stage[2];
    int64_t key;
};

static sett_struct *stage_of(sett_build *b)
{
    return sett_make_struct(b, "stage", SETT_FIELD("phase", SETT_U8), SETT_FIELD("a", SETT_I32, .count = 12, .align = 16), SETT_FIELD("lo", SETT_U16, .count = 3));
}

static sett_struct *item_of(sett_build *b)
{
    return sett_make_struct(b, "item", SETT_FIELD("on", SETT_BOOL), SETT_FIELD("sum", SETT_F64), SETT_FIELD("id", SETT_I8), SETT_FIELD("v", SETT_F32, .count = 3),
        SETT_FIELD_OF("stage", stage_of(b), .count = 2), SETT_FIELD("key", SETT_I64));
}

/* A thread an item: reads every kind of field, writes some. */
static void update(sett_build *b, const void *user)
{
    (void)user;
    sett_struct *Item = item_of(b), *Stage = stage_of(b);
    sett_val *N = sett_sym(b, "N");
    sett_tensor *P = sett_param_struct(b, "P", Item, N);
    sett_grid(b, sett_ceil_div(N, 32));
    sett_block(b, 32);
    sett_val *i = sett_add(sett_mul(sett_block_idx(b, 0), 32), sett_thread_idx(b, 0));
    sett_if (b, sett_lt(i, N)) {
        sett_tensor *mine = sett_slice(P, i, ALL), *sum = sett_field_tensor(P, Item, "sum");
        sett_val *total = sett_to(sett_reduce(sett_load(sett_field_tensor(mine, Item, "v")), SETT_ADD, 0), SETT_F64);
        sett_if (b, sett_at(sett_field_tensor(P, Item, "on"), i))
            sett_set(sum, sett_add(sett_at(sum, i), total), i);
        sett_set(sett_field_tensor(P, Item, "on"), sett_lt(sett_at(sum, i), 0.0), i);
        for (int s = 0; s < 2; s++) {
            sett_tensor *st = sett_slice(sett_field_tensor(mine, Item, "stage"), s, ALL);
            sett_tensor *a = sett_field_tensor(st, Stage, "a");
            sett_store(a, sett_mul(sett_load(a), s + 2));
            sett_set(sett_field_tensor(P, Item, "stage.lo"), sett_at(sett_field_tensor(st, Stage, "phase"), 0), i, s, 1);
        }
        sett_tensor *key = sett_field_tensor(mine, Item, "key");
        sett_set(key, sett_sub(sett_at(key, 0), sett_at(sett_field_tensor(mine, Item, "id"), 0)), 0);
    }
}

START_TEST(in_global_memory)
{
    enum { N = 50 };
    static struct item p[N], want[N];
    uint64_t state = 7;
    for (size_t j = 0; j < sizeof p; j++)
        ((unsigned char *)p)[j] = (unsigned char)conform_random(&state); /* padding too: it must stay */
    for (int i = 0; i < N; i++) {
        unsigned char on = i % 3 == 0;
        memcpy(&p[i].on, &on, 1);
        p[i].sum = i - 20.5, p[i].id = (int8_t)(i * 5), p[i].key = (int64_t)i << 40;
        for (int j = 0; j < 3; j++)
            p[i].v[j] = (float)(i * j);
        for (int s = 0; s < 2; s++)
            for (int j = 0; j < 12; j++)
                p[i].stage[s].a[j] = i + j;
    }
    memcpy(want, p, sizeof p);
    for (int i = 0; i < N; i++) {
        struct item *w = &want[i];
        if (w->on)
            w->sum += (double)(w->v[0] + w->v[1] + w->v[2]);
        w->on = w->sum < 0;
        for (int s = 0; s < 2; s++) {
            for (int j = 0; j < 12; j++)
                w->stage[s].a[j] *= s + 2;
            w->stage[s].lo[1] = w->stage[s].phase;
        }
        w->key -= w->id;
    }
    sett_buf P = sett_buf_2d(p, SETT_U8, N, sizeof *p);
    conform_body(update, NULL, &P);
    ck_assert_mem_eq(p, want, sizeof p);
}
END_TEST

/* A pipeline's storage, of which two parts share bytes: swizzled tiles, then sums over them. */
enum { ROWS = 32, COLS = 64, FLOATS = 16 * 1024 };
static void staged(sett_build *b, const void *user)
{
    const int *extra = user;
    sett_struct *Tile = sett_make_union(b, "tile", SETT_FIELD("x", SETT_F32, .count = ROWS * COLS, .align = 128), SETT_FIELD("sum", SETT_F32, .count = COLS));
    sett_struct *S = sett_make_struct(b, "storage", SETT_FIELD("count", SETT_I32, .count = 2), SETT_FIELD_OF("tile", Tile), SETT_FIELD("last", SETT_F16));
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROWS, COLS)), *Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, T1(COLS)));
    sett_block(b, COLS);
    sett_val *t = sett_thread_idx(b, 0);
    if (*extra) { /* past 48 KiB: a window that is given at launch */
        sett_tensor *big = sett_make_smem_tensor(b, SETT_F32, T1(*extra), 0);
        sett_set(big, sett_to(t, SETT_F32), sett_sub(*extra - 1, t));
    }
    sett_tensor *s = sett_make_smem_struct(b, S), *count = sett_field_tensor(s, S, "count");
    sett_tensor *x = sett_composition(sett_field_tensor(s, S, "tile.x"), sett_make_swizzled(3, 2, 3, sett_row_major(b, ROWS, COLS)));
    sett_if (b, sett_lt(t, 2))
        sett_set(count, t, t);
    sett_store(sett_slice(x, ALL, t), sett_load(sett_slice(X, ALL, t)));
    sett_sync_threads(b);
    sett_val *turned = sett_reduce(sett_load(sett_slice(x, ALL, sett_sub(COLS - 1, t))), SETT_ADD, 0);
    sett_sync_threads(b);
    sett_tensor *sum = sett_field_tensor(s, S, "tile.sum");
    sett_set(sum, turned, t);
    sett_set(sett_field_tensor(s, S, "last"), 0.5, 0);
    sett_sync_threads(b);
    sett_val *y = sett_add(sett_at(sum, sett_xor(t, 1)), sett_to(sett_at(count, 1), SETT_F32));
    sett_set(Y, sett_add(y, sett_to(sett_at(sett_field_tensor(s, S, "last"), 0), SETT_F32)), t);
}

START_TEST(in_shared_memory)
{
    static const int extra[] = {0, 11 * 1024, FLOATS}; /* the last with the rest is 73 KiB */
    static float x[ROWS][COLS], y[COLS];
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLS; j++)
            x[i][j] = (float)(i * j % 50);
    sett_buf X = sett_buf_2d(x, SETT_F32, ROWS, COLS), Y = sett_buf_1d(y, SETT_F32, COLS);
    sett_kernel *k = conform_compile(staged, &extra[_i], (conform_how){0});
    sett_kernel_info info = {.size = sizeof info};
    sett_kernel_query(k, &info);
    ck_assert_int_eq(info.smem, (extra[_i] * 4 + 127) / 128 * 128 + 128 + ROWS * COLS * 4 + 128);
    conform_run(k, &X, &Y);
    for (int t = 0; t < COLS; t++) {
        float want = 1.5f;
        for (int i = 0; i < ROWS; i++)
            want += x[i][COLS - 1 - (t ^ 1)];
        ck_assert_float_eq(y[t], want);
    }
    sett_kernel_release(k);
}
END_TEST

/* ---- passed by value ----------------------------------------------------------------------- */
struct knobs {
    uint8_t mode;
    _Alignas(32) float scale;
    int16_t q[6];
    struct stage stage[2];
    double sum;
    bool on;
    int64_t base;
};

static sett_struct *knobs_of(sett_build *b)
{
    return sett_make_struct(b, "knobs", SETT_FIELD("mode", SETT_U8), SETT_FIELD("scale", SETT_F32, .align = 32), SETT_FIELD("q", SETT_I16, .count = 6),
        SETT_FIELD_OF("stage", stage_of(b), .count = 2), SETT_FIELD("sum", SETT_F64), SETT_FIELD("on", SETT_BOOL), SETT_FIELD("base", SETT_I64));
}

/* Numbers, arrays as values, and arrays at an index that threads compute. */
static void turn(sett_build *b, const void *user)
{
    (void)user;
    sett_struct *Knobs = knobs_of(b), *Stage = stage_of(b);
    sett_val *odd = sett_scalar(b, "odd", SETT_I8);
    sett_tensor *K = sett_scalar_struct(b, "K", Knobs), *Y = sett_param(b, "Y", SETT_F64, sett_make_layout(b, T1(64)));
    sett_val *last = sett_scalar(b, "last", SETT_F32);
    sett_block(b, 64);
    sett_val *t = sett_thread_idx(b, 0);
    sett_tensor *stage = sett_slice(sett_field_tensor(K, Knobs, "stage"), sett_mod(t, 2), ALL);
    sett_val *a = sett_at(sett_field_tensor(stage, Stage, "a"), sett_mod(t, 12));
    sett_val *v = sett_add(sett_to(a, SETT_F64), sett_to(sett_at(sett_field_tensor(K, Knobs, "q"), sett_mod(t, 6)), SETT_F64));
    v = sett_add(v, sett_field(K, Knobs, "sum"));
    v = sett_add(v, sett_to(sett_reduce(sett_field(K, Knobs, "q"), SETT_ADD, 0), SETT_F64));
    v = sett_add(sett_mul(v, sett_to(sett_field(K, Knobs, "scale"), SETT_F64)), sett_to(sett_field(K, Knobs, "base"), SETT_F64));
    v = sett_where(sett_field(K, Knobs, "on"), v, sett_to(sett_field(stage, Stage, "phase"), SETT_F64));
    v = sett_add(v, sett_to(sett_add(sett_field(K, Knobs, "mode"), odd), SETT_F64));
    sett_set(Y, sett_add(v, sett_to(last, SETT_F64)), t);
}

START_TEST(by_value)
{
    struct knobs k = {.mode = 200, .scale = 0.5f, .q = {1, -2, 3, -4, 5, 600}, .sum = 7.25, .on = _i != 0, .base = INT64_C(1) << 40};
    for (int s = 0; s < 2; s++) {
        k.stage[s].phase = (uint8_t)(30 + s);
        for (int j = 0; j < 12; j++)
            k.stage[s].a[j] = 100 * s + j;
    }
    double y[64];
    sett_buf Y = sett_buf_1d(y, SETT_F64, 64);
    conform_body(turn, NULL, 3, SETT_STRUCT(k), &Y, 0.25);
    for (int t = 0; t < 64; t++) {
        double want = k.stage[t % 2].a[t % 12] + k.q[t % 6] + k.sum + 603;
        want = k.on ? want * (double)k.scale + (double)k.base : k.stage[t % 2].phase;
        ck_assert_double_eq(y[t], want + (uint8_t)(200 + 3) + 0.25);
    }
}
END_TEST

/* ---- shared memory that launches size ------------------------------------------------------- */
/* Rows turned round through it, between a static tensor and a second one of another type. */
static void turn_rows(sett_build *b, const void *user)
{
    (void)user;
    sett_val *N = sett_sym(b, "N"), *rows = sett_sym(b, "rows");
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T1(N))), *Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, T1(N)));
    sett_block(b, 64);
    sett_val *t = sett_thread_idx(b, 0);
    sett_tensor *fixed = sett_make_smem_tensor(b, SETT_U8, 3, 0);
    sett_tensor *back = sett_make_smem_tensor(b, SETT_I16, T(rows, 3), 0);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 32);
    sett_if (b, sett_eq(t, 0))
        sett_store(fixed, 1);
    sett_for (b, i, 0, sett_floordiv(sett_add(N, 63), 64), 1) {
        sett_val *at = sett_add(sett_mul(i, 64), t);
        sett_if (b, sett_lt(at, N))
            sett_set(s, sett_at(X, at), at);
    }
    sett_if (b, sett_lt(t, rows))
        sett_set(back, sett_to(t, SETT_I16), t, 2);
    sett_sync_threads(b);
    sett_for (b, i, 0, sett_floordiv(sett_add(N, 63), 64), 1) {
        sett_val *at = sett_add(sett_mul(i, 64), t), *row = sett_mod(at, rows);
        sett_if (b, sett_lt(at, N)) {
            sett_val *add = sett_to(sett_add(sett_at(back, row, 2), sett_at(fixed, 1)), SETT_F32);
            sett_set(Y, sett_add(sett_at(s, sett_sub(sett_sub(N, 1), at)), add), at);
        }
    }
}

START_TEST(sized_by_launches)
{
    static const int sizes[][2] = {{5, 1}, {1000, 7}, {30000, 64}}; /* the last is 120 KiB */
    static float x[30000], y[30000];
    sett_kernel *k = conform_compile(turn_rows, NULL, (conform_how){0});
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        int n = sizes[i][0], rows = sizes[i][1];
        for (int j = 0; j < n; j++)
            x[j] = (float)(j % 4096), y[j] = -1;
        sett_buf X = sett_buf_1d(x, SETT_F32, n), Y = sett_buf_1d(y, SETT_F32, n);
        conform_launch(k, false, 4, (const sett_launch_arg[]){sett_launch_arg_buf(&X), sett_launch_arg_buf(&Y), {0}, sett_launch_arg_int(rows)});
        for (int j = 0; j < n; j++)
            ck_assert_float_eq(y[j], x[n - 1 - j] + (float)(j % rows) + 1);
    }
    sett_kernel_release(k);
}
END_TEST

void conform_add_struct(TCase *t)
{
    tcase_add_loop_test(t, by_value, 0, 2);
    tcase_add_test(t, sized_by_launches);
    tcase_add_test(t, in_global_memory);
    tcase_add_loop_test(t, in_shared_memory, 0, 3);
}
