/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of libsett-kernels that are for sm_90a: products and attention against plain C, on the CPU engine or, with SETT_TEST_GPU=1,
 * on GPU 0; and the main loop of a product beside the hand-written one. */
#include "tests/rig/product_rig.h"

static const product products[] = {{.ab = SETT_F16}, {.ab = SETT_BF16, .c = SETT_F32}, {.ab = SETT_BF16, .scaled = 1, .bn = 64}, {.ab = SETT_F8E4M3FN, .c = SETT_BF16, .scaled = 1, .bn = 128},
    {.ab = SETT_F8E5M2, .c = SETT_F16, .bn = 256}, {.ab = SETT_I8, .scaled = 1, .bn = 256}, {.ab = SETT_I8, .c = SETT_F32, .scaled = 1},
    {.ab = SETT_BF16, .c = SETT_F8E4M3FN, .scaled = 1, .bn = 128},
    {.ab = SETT_BF16, .swiglu = 1}, {.ab = SETT_F16, .c = SETT_F32, .bn = 128, .swiglu = 1, .residual = 1}, {.ab = SETT_BF16, .residual = 1},
    {.ab = SETT_F8E4M3FN, .c = SETT_F16, .scaled = 1, .bn = 128, .residual = 1}, {.ab = SETT_F16, .bn = 128, .swiglu = 1, .residual = 1},
    {.ab = SETT_BF16, .bm = 8}, {.ab = SETT_F16, .c = SETT_F32, .bn = 128, .swiglu = 1, .residual = 1, .bm = 16}, {.ab = SETT_BF16, .scaled = 1, .residual = 1, .bm = 64},
    {.ab = SETT_F8E4M3FN, .scaled = 1, .bn = 256, .bm = 40}, {.ab = SETT_I8, .scaled = 1, .bn = 64, .bm = 16}, {.ab = SETT_BF16, .swiglu = 1, .bm = 64},
    {.ab = SETT_BF16, .bn = 256, .bm = 120}, {.ab = SETT_BF16, .c = SETT_F32, .bn = 64, .bm = 200},
    {.ab = SETT_BF16, .bn = 128, .bm = 128, .ping_pong = 1}, {.ab = SETT_F8E4M3FN, .c = SETT_F16, .scaled = 1, .bn = 64, .bm = 96, .residual = 1, .ping_pong = 1},
    {.ab = SETT_F16, .bn = 128, .swiglu = 1, .bm = 64, .ping_pong = 1},
    {.ab = SETT_BF16, .c = SETT_F32, .bn = 64, .bm = 8}, {.ab = SETT_F8E4M3FN, .c = SETT_F8E4M3FN, .scaled = 1, .bn = 128, .bm = 8},
    {.ab = SETT_BF16, .c = SETT_F8E4M3FN, .bn = 64, .bm = 8},
    {.ab = SETT_F32}, {.ab = SETT_F32, .c = SETT_BF16, .bn = 256, .residual = 1}, {.ab = SETT_F32, .bm = 64, .bn = 256, .swiglu = 1}, {.ab = SETT_F32, .c = SETT_F16, .scaled = 1, .bn = 64, .bm = 24},
    {.ab = SETT_F32, .bn = 128, .bm = 128, .ping_pong = 1}};

static void check_wgmma(const product *p, size_t m, size_t n, size_t k, size_t more)
{
    const sett_gemm_wgmma_options o = {.size = sizeof o, .dtype = p->ab, .c = p->c, .scaled = p->scaled, .tuning.bn = p->bn, .tuning.clusters = 2, .swiglu = p->swiglu, .residual = p->residual, .tuning.bm = p->bm, .tuning.ping_pong = p->ping_pong,
        .tf32 = p->ab == SETT_F32};
    check_product(p, sett_gemm_wgmma, &o, m, n, k, more);
}

#ifdef __SANITIZE_ADDRESS__ /* several times as slow */
enum { EACH = 3 };
#else
enum { EACH = 1 };
#endif
START_TEST(gemm_wgmma)
{
    if (_i % EACH)
        return;
    if (!has_wgmma())
        return;
    check_wgmma(&products[_i], 256, 256, 128, 0);
    check_wgmma(&products[_i], 131, 336, 208, 0); /* ends within tiles */
    check_wgmma(&products[_i], 520, 272, 16, 0);
    check_wgmma(&products[_i], 131, 336, 203, 1); /* rows apart: K is any then */
    check_wgmma(&products[_i], 1, 80, 7, 2);
}
END_TEST

/* Tiles that several workers compute, by shares of any length: the sums are exact, so all give the bits of one worker. Three launches on one
 * workspace, as each leaves it as it found it. */
static const struct streamed { int bm, bn, cluster, workers, streamed; sett_dtype ab, c; } streamed[] = {{64, 64, 1, 7, 4, SETT_BF16, 0}, {64, 128, 1, 40, 6, SETT_F16, SETT_F32},
    {128, 128, 1, 5, 6, SETT_BF16, SETT_BF16}, {112, 64, 2, 3, 2, SETT_F8E4M3FN, SETT_BF16}, {64, 128, 2, 9, 2, SETT_I8, SETT_F32}, {64, 64, 1, 3, 0, SETT_BF16, 0},
    {64, 64, 1, 200, 12, SETT_BF16, 0} /* more than there are K tiles */, {16, 256, 1, 4, 1, SETT_BF16, 0}, {136, 64, 1, 13, 2, SETT_F16, 0}, {24, 128, 1, 20, 9, SETT_BF16, SETT_F32},
    {64, 128, 2, 9, 3, SETT_F32, SETT_F32}};

START_TEST(gemm_wgmma_streamed)
{
    const struct streamed *x = &streamed[_i];
    enum { M = 140, N = 144, K = 336, LEFT = 1 << 12, PARTIAL = 1 << 21 };
    if (!has_wgmma())
        return;
    sett_gemm_wgmma_options o = {.size = sizeof o, .dtype = x->ab, .c = x->c, .tuning = {.bm = x->bm, .bn = x->bn, .cluster = x->cluster}, .tf32 = x->ab == SETT_F32};
    void *a = factors(x->ab, M, K, K, 0), *b = factors(x->ab, N, K, K, 3), *want = sett_alloc(r.e, r.stream.device, M * N * 4), *got = sett_alloc(r.e, r.stream.device, M * N * 4);
    void *partial = sett_alloc(r.e, r.stream.device, PARTIAL * 4), *left = sett_alloc(r.e, r.stream.device, LEFT * 4);
    const sett_dtype c = x->c ? x->c : x->ab;
    static uint32_t zero[LEFT], bits[2][M * N];
    ck_assert(want && got && partial && left && !sett_memcpy(r.e, r.stream, left, zero, sizeof zero));
    sett_buf A = sett_buf_2d(a, x->ab, M, K), B = sett_buf_2d(b, x->ab, N, K), C = sett_buf_2d(want, c, M, N), D = sett_buf_2d(got, c, M, N);
    sett_buf P = sett_buf_1d(partial, x->ab == SETT_I8 ? SETT_I32 : SETT_F32, PARTIAL), L = sett_buf_1d(left, SETT_U32, LEFT);
    RUN(sett_gemm_wgmma, &o, &A, &B, &C);
    o.stream_k = 1;
    const size_t bytes = M * N * (size_t)sett_dtype_bits(c) / 8;
    for (int i = 0; i < 3; i++) {
        memset(bits[1], 0xff, sizeof bits[1]);
        ck_assert(!sett_memcpy(r.e, r.stream, got, bits[1], M * N * 4));
        RUN(sett_gemm_wgmma, &o, &A, &B, &D, &P, &L, x->workers, x->streamed);
        ck_assert(!sett_memcpy(r.e, r.stream, bits[0], want, bytes) && !sett_memcpy(r.e, r.stream, bits[1], got, bytes) && !sett_sync(r.e, r.stream));
        ck_assert_int_eq(memcmp(bits[0], bits[1], bytes), 0);
    }
    void *all[] = {a, b, want, got, partial, left};
    for (int i = 0; i < 6; i++)
        sett_free(r.e, r.stream.device, all[i]);
}
END_TEST

/* Of random f32 what the upper 19 bits give, and bit by bit what sett_gemm_mma has by the same steps of 8 of K. */
START_TEST(upper_19_bits)
{
    enum { M = 40, N = 72, K = 332 };
    const sett_gemm_wgmma_options w = {.size = sizeof w, .dtype = SETT_F32, .tf32 = 1, .tuning = {.bm = 32, .bn = 64}};
    const sett_gemm_mma_options o = {.size = sizeof o, .dtype = SETT_F32, .tf32 = 1};
    if (!has_wgmma())
        return;
    array a[4] = {MAKE(SETT_F32, M, K), MAKE(SETT_F32, N, K), MAKE(SETT_F32, M, N), MAKE(SETT_F32, M, N)};
    RUN(sett_gemm_wgmma, &w, &a[0].m.buf, &a[1].m.buf, &a[2].m.buf);
    RUN(sett_gemm_mma, &o, &a[0].m.buf, &a[1].m.buf, &a[3].m.buf);
    matrix_fetch(&r, &a[2].m), matrix_fetch(&r, &a[3].m);
    ck_assert_int_eq(memcmp(a[2].m.host, a[3].m.host, a[2].m.bytes), 0);
    for (size_t i = 0; i < M * N; i++) {
        const float *x = (const float *)a[0].m.host + i / N * K, *y = (const float *)a[1].m.host + i % N * K;
        double cut = 0;
        for (int k = 0; k < K; k++)
            cut += (double)bits_float(float_bits(x[k]) & ~0x1fffu) * (double)bits_float(float_bits(y[k]) & ~0x1fffu);
        near("gemm_wgmma", &a[2], i, cut, 1e-4);
    }
    drop(4, a);
}
END_TEST

/* The tile that is chosen by M and N, by the model of sett_product (test_product.c has its laws), or by what is given. */
START_TEST(tile_of_a_product)
{
    static const struct { int m, n, swiglu, given_bm, given_bn, bm, bn; } of[] = {{0, 0, 0, 0, 0, 128, 128}, {0, 0, 1, 0, 0, 128, 256}, {0, 0, 0, 256, 0, 256, 128}, {0, 0, 0, 0, 256, 128, 256},
        {1, 14336, 1, 0, 0, 32, 128}, {1, 4096, 0, 0, 0, 16, 64}, {30, 4096, 0, 0, 0, 16, 64}, {64, 4096, 0, 0, 128, 64, 128}, {1, 4096, 0, 64, 0, 64, 64}, {257, 7168, 0, 0, 0, 144, 128},
        {8192, 8192, 0, 0, 0, 128, 128}, {2147483647, 2147483647, 0, 0, 0, 128, 128}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        sett_gemm_wgmma_options o = {.size = sizeof o, .dtype = SETT_BF16, .swiglu = of[i].swiglu, .tuning = {.m = of[i].m, .n = of[i].n, .bm = of[i].given_bm, .bn = of[i].given_bn}};
        ck_assert_msg(!sett_kernels_choose(sett_gemm_wgmma, &o, "sm_90a", &err), "%s", err.text);
        ck_assert_msg(o.tuning.bm == of[i].bm && o.tuning.bn == of[i].bn, "M %d N %d: bm %d bn %d", of[i].m, of[i].n, o.tuning.bm, o.tuning.bn);
        ck_assert(!o.tuning.m && !o.tuning.n);
    }
}
END_TEST

/* An epilogue is given each element of C once, whatever the tile. */
typedef struct counted { sett_build *b; sett_tensor *count; sett_val *m, *n; } counted;
static sett_val *count_them(const sett_epilogue_tile *at, sett_val *sums, void *user)
{
    const counted *c = user;
    sett_build *b = c->b;
    sett_val *in = sett_elem_less(sett_epilogue_partition(at, sett_identity_tensor(b, c->m, c->n)), sett_tuple(b, c->m, c->n));
    sett_atomic_add(c->count, sett_reduce(sett_to(in, SETT_F32), SETT_ADD, 0.0), 0);
    return sums;
}

static void counting(sett_build *b, const void *o)
{
    counted c = {b, sett_param(b, "count", SETT_F32, sett_make_layout(b, 1)), sett_sym(b, "M"), sett_sym(b, "N")};
    sett_gemm_wgmma_with(b, o, count_them, &c);
}

START_TEST(an_epilogue_sees_each_element_once)
{
    enum { M = 100, N = 80, K = 64 };
    static const int high[] = {128, 64, 32, 16};
    const sett_gemm_wgmma_options o = {.size = sizeof o, .dtype = SETT_BF16, .tuning.bm = high[_i], .tuning.bn = 64};
    const sett_compile_options co = {.size = sizeof co, .user = &o, .user_size = sizeof o};
    sett_kernel *k = NULL;
    if (!has_wgmma())
        return;
    array a[4] = {MAKE(SETT_F32, 1), MAKE(SETT_BF16, M, K), MAKE(SETT_BF16, N, K), MAKE(SETT_BF16, M, N)};
    *(float *)a[0].m.host = 0;
    ck_assert(!sett_memcpy(r.e, r.stream, a[0].m.buf.data, a[0].m.host, a[0].m.bytes));
    ck_assert_msg(!sett_compile(r.e, counting, &co, &k, &err), "%s", err.text);
    ck_assert_msg(!sett_launch(k, r.stream, &err, &a[0].m.buf, &a[1].m.buf, &a[2].m.buf, &a[3].m.buf), "%s", err.text);
    matrix_fetch(&r, &a[0].m);
    ck_assert_msg(at(&a[0], 0) == M * N, "%g elements of %d", at(&a[0], 0), M * N);
    sett_kernel_release(k);
    drop(4, a);
}
END_TEST

/* What an epilogue must not give is told at the caller's line. */
static int with_line;
static sett_val *nothing(const sett_epilogue_tile *at, sett_val *sums, void *user)
{
    (void)at, (void)sums, (void)user;
    return NULL;
}
static sett_val *first_of_them(const sett_epilogue_tile *at, sett_val *sums, void *user)
{
    (void)at, (void)user;
    return sett_element(sums, 0);
}
static sett_val *flat(const sett_epilogue_tile *at, sett_val *sums, void *user)
{
    (void)at, (void)user;
    return sett_reshape(sums, 8);
}
static int part_line;
static sett_tensor *of_columns;
static sett_val *vector(const sett_epilogue_tile *at, sett_val *sums, void *user)
{
    (void)user;
    part_line = __LINE__ + 1;
    return sett_add(sums, sett_load(sett_epilogue_partition(at, of_columns)));
}
static const struct { sett_gemm_epilogue then; const char *text; } odd_epilogue[] = {
    {nothing, "sett_gemm_wgmma_with: the epilogue gives NULL, and its sums have the shape ((2,2,2)): it returns one number for each of them"},
    {first_of_them, "sett_gemm_wgmma_with: the epilogue gives the shape (), and its sums have the shape ((2,2,2)): it returns one number for each of them"},
    {vector, "sett_epilogue_partition: it takes an (M,N) tensor, and this one has 1 mode, (?{div=8}):(1): a vector by columns is "
             "sett_composition(t, sett_make_layout(b, T(M, N), T(0, 1))), by rows with T(1, 0)"},
    {flat, "sett_gemm_wgmma_with: the epilogue gives the shape 8, and its sums have the shape ((2,2,2)): it returns one number for each of them"},
};
static void with_odd(sett_build *b, const void *which)
{
    const sett_gemm_wgmma_options o = {.size = sizeof o, .dtype = SETT_BF16};
    of_columns = sett_param(b, "bias", SETT_F32, sett_make_layout(b, SETT_T1(sett_sym(b, "N"))));
    with_line = __LINE__ + 1;
    sett_gemm_wgmma_with(b, &o, odd_epilogue[*(const int *)which].then, NULL);
}

START_TEST(an_epilogue_gives_what_it_was_given)
{
    const sett_compile_options co = {.size = sizeof co, .user = &_i, .user_size = sizeof _i};
    char want[400];
    void *tape = NULL;
    size_t len;
    const sett_status s = sett_record(with_odd, &co, true, &tape, &len, &err);
    ck_assert_int_eq(s, odd_epilogue[_i].then == vector ? SETT_E_RANK : SETT_E_ARGUMENT);
    snprintf(want, sizeof want, "%s:%d: %s", __FILE__, odd_epilogue[_i].then == vector ? part_line : with_line, odd_epilogue[_i].text);
    ck_assert_str_eq(err.text, want);
}
END_TEST

/* (batch, heads, rows, d), of which the rows of all heads lie beside each other, and 16 bytes apart from the next; or each head's rows. */
typedef struct heads {
    array a;
    int64_t n; /* heads of a batch */
} heads;

static heads make_heads(sett_dtype t, const int64_t shape[4], bool by_rows)
{
    const int64_t d = shape[3], row = by_rows ? shape[1] * d + 8 : d, all = by_rows ? shape[2] * row : shape[1] * shape[2] * d;
    heads x = {MAKE(t, shape[0], all), shape[1]};
    x.a.m.buf = sett_buf_nd(x.a.m.buf.data, t, 4, shape);
    x.a.m.buf.stride[0] = all, x.a.m.buf.stride[1] = by_rows ? d : shape[2] * d, x.a.m.buf.stride[2] = row;
    return x;
}
#define HEADS(t, by_rows, ...) make_heads(t, (const int64_t[]){__VA_ARGS__}, by_rows)

static size_t place_of(const heads *x, int64_t batch, int64_t head, int64_t row)
{
    const int64_t *s = x->a.m.buf.stride;
    return (size_t)(batch * s[0] + head * s[1] + row * s[2]);
}

/* A row of O is that of Q's head, by plain C in double. */
static void check_row(const heads a[4], int64_t batch, int64_t head, int64_t row, int64_t n, double tolerance)
{
    const int64_t d = a[0].a.m.buf.shape[3], shared = head / (a[0].n / a[1].n);
    const double *q = a[0].a.was + place_of(&a[0], batch, head, row);
    double *w = malloc((size_t)n * sizeof *w), sum = 0, most = -INFINITY;
    ck_assert_ptr_nonnull(w);
    for (int64_t j = 0; j < n; j++) {
        w[j] = 0;
        for (int64_t x = 0; x < d; x++)
            w[j] += q[x] * a[1].a.was[place_of(&a[1], batch, shared, j) + (size_t)x];
        most = fmax(most, w[j] /= sqrt((double)d));
    }
    for (int64_t j = 0; j < n; j++)
        sum += w[j] = exp(w[j] - most);
    for (int64_t x = 0; x < d; x++) {
        double want = 0;
        for (int64_t j = 0; j < n; j++)
            want += w[j] / sum * a[2].a.was[place_of(&a[2], batch, shared, j) + (size_t)x];
        near("attention", &a[3].a, place_of(&a[3], batch, head, row) + (size_t)x, want, tolerance);
    }
    free(w);
}

/* All of O, whose first n keys have weight. What lies between its rows is as it was. */
static void check_attention(heads a[4], int64_t n, double tolerance)
{
    array *o = &a[3].a;
    const int64_t *shape = o->m.buf.shape;
    bool *seen = calloc(o->n, sizeof *seen);
    matrix_fetch(&r, &o->m);
    ck_assert_ptr_nonnull(seen);
    for (int64_t i = 0; i < shape[0] * shape[1] * shape[2]; i++) {
        const int64_t row = i % shape[2], head = i / shape[2] % shape[1], batch = i / shape[2] / shape[1];
        check_row(a, batch, head, row, n, tolerance);
        memset(seen + place_of(&a[3], batch, head, row), 1, (size_t)shape[3]);
    }
    for (size_t i = 0; i < o->n; i++)
        ck_assert_msg(seen[i] || at(o, i) == o->was[i], "element %zu, between the rows of O, was written", i);
    free(seen);
    for (int i = 0; i < 4; i++)
        drop(1, &a[i].a);
}

START_TEST(attention)
{
    static const int64_t shapes[][5] = {{1, 1, 1, 128, 128}, {1, 2, 2, 64, 300}, {3, 1, 1, 77, 1}, {1, 1, 1, 200, 257}, {2, 6, 2, 33, 131}, {2, 3, 1, 130, 70}};
    const sett_dtype t = floats[_i / 2];
    const int64_t d = _i % 2 ? 64 : 128;
    const sett_attention_options o = {.size = sizeof o, .dtype = t, .d = _i % 2 ? 64 : 0};
    for (int s = 0; has_wgmma() && s < 6; s++) {
        const int64_t b = shapes[s][0], h = shapes[s][1], hk = shapes[s][2], m = shapes[s][3], n = shapes[s][4];
        heads a[4] = {HEADS(t, s % 2, b, h, m, d), HEADS(t, s > 3, b, hk, n, d), HEADS(t, s % 2, b, hk, n, d), HEADS(t, s > 3, b, h, m, d)};
        RUN(sett_attention, &o, &a[0].a.m.buf, &a[1].a.m.buf, &a[2].a.m.buf, &a[3].a.m.buf);
        check_attention(a, n, 2 * ulp[_i / 2]); /* weights are rounded, and the result */
    }
}
END_TEST

/* Without approximations a GPU and the CPU engine give the same bits. */
START_TEST(exact_attention)
{
    static const int64_t shapes[][4] = {{1, 1, 128, 128}, {2, 1, 256, 384}, {3, 3, 77, 301}};
    enum { D = 128 };
    const sett_attention_options o = {.size = sizeof o, .dtype = SETT_BF16, .d = D, .exact = 1};
    const int h = (int)shapes[_i][0], hk = (int)shapes[_i][1], m = (int)shapes[_i][2], n = (int)shapes[_i][3], device = r.stream.device;
    const size_t bytes = (size_t)h * (size_t)m * D * 2;
    void *first = malloc(bytes);
    ck_assert_ptr_nonnull(first);
    for (int on_cpu = 0; has_wgmma() && on_cpu < 2; on_cpu++) {
        r.seed = 7, r.stream.device = on_cpu ? SETT_CPU : device;
        heads a[4] = {HEADS(SETT_BF16, false, 1, h, m, D), HEADS(SETT_BF16, false, 1, hk, n, D), HEADS(SETT_BF16, false, 1, hk, n, D), HEADS(SETT_BF16, false, 1, h, m, D)};
        sett_kernel *k = NULL;
        ck_assert_msg(!sett_kernels_compile(r.e, sett_attention, &o, r.stream.device == SETT_CPU ? "cpu" : NULL, &k, &err), "%s", err.text);
        ck_assert_msg(!sett_launch(k, r.stream, &err, &a[0].a.m.buf, &a[1].a.m.buf, &a[2].a.m.buf, &a[3].a.m.buf), "%s", err.text);
        sett_kernel_release(k);
        matrix_fetch(&r, &a[3].a.m);
        if (on_cpu)
            ck_assert_mem_eq(a[3].a.m.host, first, bytes);
        memcpy(first, a[3].a.m.host, bytes);
        check_attention(a, n, 2 * ulp[1]);
    }
    free(first);
}
END_TEST

/* Column 0 of rows [first, n) of the one head, of f16, becomes x. */
static void put_first(heads *h, int64_t first, uint16_t bits, double x)
{
    array *a = &h->a;
    for (int64_t i = first; i < a->m.buf.shape[2]; i++)
        ((uint16_t *)a->m.host)[place_of(h, 0, 0, i)] = bits, a->was[place_of(h, 0, 0, i)] = x;
    ck_assert(!sett_memcpy(r.e, r.stream, a->m.buf.data, a->m.host, a->m.bytes) && !sett_sync(r.e, r.stream));
}

/* Keys whose products with all queries are -infinity weigh nothing, also where they fill the tile that comes first. */
START_TEST(keys_without_weight)
{
    enum { M = 70, N = 300, D = 64, FIRST = 256 };
    const sett_attention_options o = {.size = sizeof o, .dtype = SETT_F16, .d = D};
    if (!has_wgmma())
        return;
    heads a[4] = {HEADS(SETT_F16, false, 1, 1, M, D), HEADS(SETT_F16, false, 1, 1, N, D), HEADS(SETT_F16, false, 1, 1, N, D), HEADS(SETT_F16, false, 1, 1, M, D)};
    put_first(&a[0], 0, 0x3c00, 1), put_first(&a[1], FIRST, 0xfc00, -INFINITY);
    RUN(sett_attention, &o, &a[0].a.m.buf, &a[1].a.m.buf, &a[2].a.m.buf, &a[3].a.m.buf);
    check_attention(a, FIRST, 2 * ulp[0]);
}
END_TEST

/* What a launch says of operands that cannot be: strides, heads. */
static void check_refused(sett_kernel *k, int n, const sett_buf *of, const char *text)
{
    sett_launch_arg arg[4];
    sett_error why = {0};
    for (int i = 0; i < n; i++)
        arg[i] = (sett_launch_arg){.kind = SETT_LAUNCH_ARG_BUF, .u = {.t = &of[i]}};
    const sett_status s = sett_launch_n(k, r.stream, n, arg, &why);
    ck_assert_msg(s && !strcmp(why.text, text), "%s\nis not\n%s", why.text, text);
}

START_TEST(refused_at_the_launch)
{
    enum { M = 64, N = 64, K = 16, D = 64 };
    static const struct { int operand, mode; int64_t stride; const char *text; } products_of[] = {
        {0, 0, 20, "gemm_wgmma: LA = 20 (A stride 0) is not a multiple of 8"},
        {1, 0, 17, "gemm_wgmma: LB = 17 (B stride 0) is not a multiple of 8"},
        {2, 0, 68, "gemm_wgmma: LR = 68 (R stride 0) is not a multiple of 8"},
        {3, 0, 66, "gemm_wgmma: LC = 66 (C stride 0) is not a multiple of 8"},
        {0, 1, 2, "gemm_wgmma: A's mode 1 must be contiguous: its stride is 2; A is (M,K)"},
    };
    /* What lies the other way round: (K,N) in memory, given as (N,K), has a stride of 1 where rows are told apart. */
    static const struct { int operand; int64_t apart; const char *text; } transposed[] = {
        {0, 72, "gemm_wgmma: A's mode 1 must be contiguous: its stride is 72; A is (M,K)"},
        {1, 136, "gemm_wgmma: B's mode 1 must be contiguous: its stride is 136; B is (N,K)"},
        {3, 80, "gemm_wgmma: C's mode 1 must be contiguous: its stride is 80; C is (M,N)"},
    };
    static const struct { int64_t heads, shared, rank, stride; const char *text; } heads_of[] = {
        {6, 4, 4, D, "attention: O mode 1 is 6, HK*(H/HK) is 4"},
        {2, 4, 4, D, "attention: O mode 1 is 2, HK*(H/HK) is 0"},
        {4, 2, 4, 60, "attention: LK2 = 60 (K stride 2) is not a multiple of 8"},
        {4, 2, 3, D, "attention: Q has 4 modes, the buffer given 3"},
    };
    const sett_gemm_wgmma_options go = {.size = sizeof go, .dtype = SETT_BF16, .residual = 1};
    const sett_attention_options ao = {.size = sizeof ao, .dtype = SETT_BF16, .d = D};
    void *any = (void *)(uintptr_t)4096; /* nothing is read */
    sett_kernel *k = compiled(sett_gemm_wgmma, &go);
    for (size_t i = 0; i < sizeof products_of / sizeof *products_of; i++) {
        sett_buf x[4] = {sett_buf_2d(any, SETT_BF16, M, K), sett_buf_2d(any, SETT_BF16, N, K), sett_buf_2d(any, SETT_BF16, M, N), sett_buf_2d(any, SETT_BF16, M, N)};
        x[products_of[i].operand].stride[products_of[i].mode] = products_of[i].stride;
        check_refused(k, 4, x, products_of[i].text);
    }
    for (size_t i = 0; i < sizeof transposed / sizeof *transposed; i++) {
        sett_buf x[4] = {sett_buf_2d(any, SETT_BF16, M, K), sett_buf_2d(any, SETT_BF16, N, K), sett_buf_2d(any, SETT_BF16, M, N), sett_buf_2d(any, SETT_BF16, M, N)};
        x[transposed[i].operand].stride[0] = 1, x[transposed[i].operand].stride[1] = transposed[i].apart;
        check_refused(k, 4, x, transposed[i].text);
    }
    sett_buf edge[4] = {sett_buf_2d(any, SETT_BF16, M, K), sett_buf_2d(any, SETT_BF16, N - 4, K), sett_buf_2d(any, SETT_BF16, M, N), sett_buf_2d(any, SETT_BF16, M, N)};
    edge[2].shape[1] = edge[3].shape[1] = N - 4; /* rows of C would end within 16 bytes, wherever the next one begins */
    check_refused(k, 4, edge, "gemm_wgmma: N = 60 (B mode 0) is not a multiple of 8");
    sett_kernel_release(k);
    k = compiled(sett_attention, &ao);
    for (size_t i = 0; i < sizeof heads_of / sizeof *heads_of; i++) {
        const int64_t q[] = {1, heads_of[i].heads, 10, D}, kv[] = {1, heads_of[i].shared, 20, D};
        const int rank = (int)heads_of[i].rank, skip = 4 - rank;
        sett_buf x[4] = {sett_buf_nd(any, SETT_BF16, rank, q + skip), sett_buf_nd(any, SETT_BF16, 4, kv), sett_buf_nd(any, SETT_BF16, 4, kv), sett_buf_nd(any, SETT_BF16, 4, q)};
        x[1].stride[2] = heads_of[i].stride;
        check_refused(k, 4, x, heads_of[i].text);
    }
    const int64_t all[] = {1, 4, 10, D};
    sett_buf turned[4] = {sett_buf_nd(any, SETT_BF16, 4, all), sett_buf_nd(any, SETT_BF16, 4, all), sett_buf_nd(any, SETT_BF16, 4, all), sett_buf_nd(any, SETT_BF16, 4, all)};
    turned[1].stride[2] = 1, turned[1].stride[3] = 10;
    check_refused(k, 4, turned, "attention: K's mode 3 must be contiguous: its stride is 10; K is (B,HK,N,64)");
    sett_kernel_release(k);
}
END_TEST

START_TEST(other_targets)
{
    static const char *const targets[] = {"sm_75", "sm_80", "sm_89", "sm_90", "sm_100a", "sm_120a"};
    const sett_gemm_wgmma_options g = {.size = sizeof g, .dtype = SETT_BF16};
    sett_error why = {0};
    sett_kernel *k;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        ck_assert_int_eq(sett_kernels_compile(r.e, sett_gemm_wgmma, &g, targets[i], &k, &why), SETT_E_TARGET);
        ck_assert_msg(!k && strstr(why.text, "sett_kernels_compile: gemm_wgmma: it needs sm_90a, the target is ") == why.text, "%s", why.text);
    }
}
END_TEST

/* What boxes alone reach may span more than 2^31 elements; what threads load by offsets of 32 bits may not. */
START_TEST(far_elements)
{
    enum { M = 65536, N = 40000, K = 8 };
    sett_gemm_wgmma_options o = {.size = sizeof o, .dtype = SETT_BF16, .residual = 1};
    sett_error why = {0};
    sett_kernel *k;
    sett_prepared *c;
    for (o.terms.aux = 0; r.stream.device == SETT_CPU && o.terms.aux < 2; o.terms.aux++) {
        ck_assert_msg(!sett_kernels_compile(r.e, sett_gemm_wgmma, &o, "cpu", &k, &why), "%s", why.text);
        void *any = (void *)(uintptr_t)4096; /* a call reads nothing there before it runs */
        sett_buf A = sett_buf_2d(any, SETT_BF16, M, K), B = sett_buf_2d(any, SETT_BF16, N, K), C = sett_buf_2d(any, SETT_BF16, M, N);
        const sett_status s = o.terms.aux ? sett_prepared_make(k, SETT_CPU, &c, &why, &A, &B, &C, &C, &C) : sett_prepared_make(k, SETT_CPU, &c, &why, &A, &B, &C, &C);
        ck_assert_msg(o.terms.aux ? s == SETT_E_RANGE && strstr(why.text, "AUX spans 2621440000 elements") : !s, "%s", why.text);
        if (!s)
            sett_prepared_free(c);
        sett_kernel_release(k);
    }
}
END_TEST

/* ---- the main loop of gemm_wgmma, and the hand-written one ------------------------------------------------------- */
enum { MOST_OPCODES = 64 };
typedef struct opcodes {
    char name[MOST_OPCODES][40];
    int count[MOST_OPCODES], n, all;
} opcodes;

static int *count_of(opcodes *x, const char *name)
{
    for (int i = 0; i < x->n; i++)
        if (!strcmp(x->name[i], name))
            return &x->count[i];
    ck_assert_int_lt(x->n, MOST_OPCODES);
    snprintf(x->name[x->n], sizeof *x->name, "%s", name);
    return &x->count[x->n++];
}

/* A round: from the label to which the loop goes back behind its arrival, the first one after the second fence. */
static opcodes loop_of(const char *ptx)
{
    opcodes x = {0};
    char label[40], name[40];
    const char *fence = strstr(ptx, "wgmma.fence"), *second = fence ? strstr(fence + 1, "wgmma.fence") : NULL, *arrive = second ? strstr(second, "mbarrier.arrive.relaxed") : NULL;
    const char *back = arrive ? strstr(arrive, "bra.uni") : NULL;
    ck_assert(back && sscanf(back, "bra.uni %38[^;]", label) == 1);
    strcat(label, ":");
    const char *line = strstr(ptx, label);
    ck_assert_ptr_nonnull(line);
    for (; line < back; line = strchr(line, '\n') + 1) {
        const char *at = line + strspn(line, " \t");
        if (*at == '@')
            at += strcspn(at, " "), at += strspn(at, " \t");
        if (sscanf(at, "%38[a-z0-9_.:]", name) == 1 && *at != '.')
            ++*count_of(&x, name), x.all++;
    }
    return x;
}

/* Arithmetic on the loop's counter, and on a stage's number. */
static bool is_counting(const char *name)
{
    static const char *const names[] = {"mul.lo.s32", "shl.b32", "cvt.s64.s32", "add.s32", "sub.s32", "mov.b32", "mov.u32"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], name))
            return true;
    return !strncmp(name, "setp.", 5);
}

START_TEST(main_loop)
{
    const sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true};
    const sett_compile_options co = {.size = sizeof co, .target = "sm_90a", .ptx_only = true};
    const sett_gemm_wgmma_options o = {.size = sizeof o, .dtype = SETT_BF16, .tuning = {.bm = 256, .bn = 128, .cluster = 2}};
    sett_compile_options with = co;
    sett_kernel_info info = {.size = sizeof info};
    sett_engine *e;
    sett_kernel *k[2];
    opcodes x[2];
    static char text[1 << 16];
    FILE *f = fopen("tests/tape/gemm_wgmma.tape", "rb");
    with.user = &o;
    ck_assert(f && fread(text, 1, sizeof text - 1, f) && !fclose(f) && !sett_engine_open(&e, &eo, &err));
    sett_status s = sett_compile(e, sett_gemm_wgmma, &with, &k[0], &err);
    if (s == SETT_E_NO_COMPILER) { /* the plug-in was not built */
        sett_engine_close(e);
        return;
    }
    ck_assert_msg(!s && !sett_compile_tape(e, text, strlen(text), &co, &k[1], &err), "%s", err.text);
    for (int i = 0; i < 2; i++) {
        ck_assert(!sett_kernel_query(k[i], &info));
        x[i] = loop_of(info.ptx);
        sett_kernel_release(k[i]);
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < x[i].n; j++)
            ck_assert_msg(is_counting(x[i].name[j]) || *count_of(&x[0], x[i].name[j]) == *count_of(&x[1], x[i].name[j]), "%s: %d in the kernel, %d in the tape", x[i].name[j],
                *count_of(&x[0], x[i].name[j]), *count_of(&x[1], x[i].name[j]));
    ck_assert_msg(x[0].all <= x[1].all + 2, "%d instructions, %d in the tape", x[0].all, x[1].all);
    sett_engine_close(e);
}
END_TEST

Suite *hopper_suite(void)
{
    Suite *s = suite_create("hopper");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, upper_19_bits);
    tcase_add_test(t, tile_of_a_product);
    tcase_add_loop_test(t, an_epilogue_sees_each_element_once, 0, 4);
    tcase_add_loop_test(t, an_epilogue_gives_what_it_was_given, 0, sizeof odd_epilogue / sizeof *odd_epilogue);
    tcase_add_loop_test(t, gemm_wgmma_streamed, 0, sizeof streamed / sizeof *streamed);
    tcase_add_loop_test(t, gemm_wgmma, 0, (int)(sizeof products / sizeof *products));
    tcase_add_loop_test(t, attention, 0, 4);
    tcase_add_loop_test(t, exact_attention, 0, 3);
    tcase_add_test(t, keys_without_weight);
    tcase_add_test(t, refused_at_the_launch);
    tcase_add_test(t, other_targets);
    tcase_add_test(t, far_elements);
    tcase_add_test(t, main_loop);
    suite_add_tcase(s, t);
    return s;
}
