/* SPDX-License-Identifier: Apache-2.0 */
/* sett_gemm_mma against plain C, on the CPU engine or, with SETT_TEST_GPU=1, on GPU 0: factors of -2 to 2, so that sums are exact, of
 * every type, major, alignment and term, at extents that nothing divides. */
#include "tests/rig/kernels_rig.h"

/* ---- elements --------------------------------------------------------------------------------------------- */
static size_t bytes_of(sett_dtype t)
{
    return (size_t)sett_dtype_bits(t) / 8;
}

static uint32_t bits_of(sett_dtype t, int x)
{
    static const uint32_t f32[] = {0xc0000000, 0xbf800000, 0, 0x3f800000, 0x40000000}, f16[] = {0xc000, 0xbc00, 0, 0x3c00, 0x4000}, e4m3[] = {0xc0, 0xb8, 0, 0x38, 0x40};
    return t == SETT_F32 ? f32[x + 2] : t == SETT_BF16 ? f32[x + 2] >> 16 : t == SETT_F16 ? f16[x + 2] : t == SETT_F8E5M2 ? f16[x + 2] >> 8 : t == SETT_F8E4M3FN ? e4m3[x + 2] : (uint32_t)x;
}

static double element(sett_dtype t, const unsigned char *p)
{
    uint16_t half = (uint16_t)(*p << 8);
    int32_t word;
    memcpy(&word, p, bytes_of(t) == 4 ? 4 : 1);
    return t == SETT_I32 ? word : t == SETT_I8 ? (int8_t)*p : t == SETT_F8E5M2 ? get(SETT_F16, &half, 0) : get(t, p, 0);
}

static int factor(size_t row, size_t k, size_t batch, int seed)
{
    return (int)((row * 7 + k * 3 + row * k + batch * 11 + (size_t)seed) % 5) - 2;
}

/* ---- operands ------------------------------------------------------------------------------------------------ */
/* Matrices of batches in one piece of memory: an element of (row,col,batch) is at row * stride[0] + ... elements behind `base`. */
typedef struct placed {
    sett_dtype t;
    size_t extent[3], stride[3], bytes;
    unsigned char *host, *base; /* base: within host */
    void *data;
    sett_buf buf;
} placed;

enum { NOBODYS = 0xff };

static unsigned char *at_of(const placed *x, size_t row, size_t col, size_t batch)
{
    return x->base + (row * x->stride[0] + col * x->stride[1] + batch * x->stride[2]) * bytes_of(x->t);
}

/* Rows, or columns, lie `more` times `align` bytes further apart than they are long, and memory begins at `align` bytes. */
static placed place(sett_dtype t, const size_t extent[3], bool batched, int major, size_t align, size_t more)
{
    placed x = {.t = t, .extent = {extent[0], extent[1], batched ? extent[2] : 1}};
    const size_t unit = align / bytes_of(t), along = extent[!major], apart = (along + unit - 1) / unit * unit + more * unit, each = apart * extent[major] + more * unit;
    x.stride[major] = apart, x.stride[!major] = 1, x.stride[2] = each;
    x.bytes = (each * x.extent[2]) * bytes_of(t) + align;
    x.host = malloc(x.bytes), x.base = x.host + (align < 16 ? align : 0);
    x.data = sett_alloc(r.e, r.stream.device, x.bytes);
    ck_assert(x.host && x.data);
    memset(x.host, NOBODYS, x.bytes);
    const int64_t shape[] = {(int64_t)extent[0], (int64_t)extent[1], (int64_t)x.extent[2]};
    x.buf = sett_buf_nd((unsigned char *)x.data + (x.base - x.host), t, batched ? 3 : 2, shape);
    for (int i = 0; i < 2 + batched; i++)
        x.buf.stride[i] = (int64_t)x.stride[i];
    return x;
}

static void send(placed *x)
{
    ck_assert(!sett_memcpy(r.e, r.stream, x->data, x->host, x->bytes) && !sett_sync(r.e, r.stream));
}

static void fill_factors(placed *x, int seed)
{
    for (size_t i = 0; i < x->extent[0] * x->extent[1] * x->extent[2]; i++) {
        const size_t row = i % x->extent[0], col = i / x->extent[0] % x->extent[1], batch = i / x->extent[0] / x->extent[1];
        const uint32_t bits = bits_of(x->t, factor(row, col, batch, seed));
        memcpy(at_of(x, row, col, batch), &bits, bytes_of(x->t));
    }
    send(x);
}

static void drop_placed(int n, placed *x)
{
    for (int i = 0; i < n; i++)
        sett_free(r.e, r.stream.device, x[i].data), free(x[i].host);
}

/* ---- a product, and what it should be -------------------------------------------------------------------------- */
typedef struct problem {
    sett_gemm_mma_options o;
    size_t m, n, k, l, more;
    bool r_is_c;
} problem;
enum { A, B, R, C, SA, SB, OPERANDS };

static double scale_of(size_t i, size_t batch)
{
    return ldexp(1, (int)((i + 3 * batch) % 4) - 2);
}

/* What precedes the terms. */
static double sum_of(const problem *p, size_t row, size_t col, size_t batch)
{
    double sum = 0;
    for (size_t x = 0; x < p->k; x++)
        sum += factor(row, x, batch, 0) * factor(col, x, batch, 3);
    return sum;
}

static double value_of(const problem *p, size_t row, size_t col, size_t batch)
{
    double x = sum_of(p, row, col, batch);
    if (p->o.swiglu)
        x = x / (1 + exp(-x)) * sum_of(p, row, col + p->n, batch);
    if (p->o.scaled)
        x *= scale_of(row, batch) * scale_of(col + 1, batch);
    return x + (p->o.residual ? factor(row, col, batch, 1) : 0);
}

static void check_element(const problem *p, sett_dtype c, double got, double sum, size_t row, size_t col)
{
    const bool ints = c == SETT_I32 || c == SETT_I8;
    const double ulp_of = c == SETT_F32 || ints ? 0 : c == SETT_F16 ? 0x1p-11 : c == SETT_BF16 ? 0x1p-8 : c == SETT_F8E4M3FN ? 0x1p-4 : 0x1p-3;
    const double half = ulp_of + (p->o.swiglu ? 0x1p-20 : 0);
    double want = c == SETT_F8E4M3FN ? fmax(-448, fmin(448, sum)) : c == SETT_I8 ? fmax(-128, fmin(127, nearbyint(sum))) : sum;
    ck_assert_msg(fabs(got - want) <= fabs(want) * half + (half > 0 ? 0x1p-10 : 0), "%s to %s, %zu x %zu x %zu, (%zu,%zu): %g, not %g", sett_dtype_name(p->o.dtype), sett_dtype_name(c),
        p->m, p->n, p->k, row, col, got, want);
}

/* Each element of C, and what lies between its rows. */
static void check_result(const problem *p, placed *c, const placed *before)
{
    unsigned char *seen = calloc(1, c->bytes);
    ck_assert(seen && !sett_memcpy(r.e, r.stream, c->host, c->data, c->bytes) && !sett_sync(r.e, r.stream));
    for (size_t i = 0; i < p->m * p->n * c->extent[2]; i++) {
        const size_t row = i % p->m, col = i / p->m % p->n, batch = i / p->m / p->n;
        unsigned char *at_it = at_of(c, row, col, batch);
        check_element(p, c->t, element(c->t, at_it), value_of(p, row, col, batch), row, col);
        memset(seen + (at_it - c->host), 1, bytes_of(c->t));
    }
    for (size_t i = 0; i < c->bytes; i++)
        ck_assert_msg(seen[i] || c->host[i] == NOBODYS, "byte %zu of C, between rows, was written", i);
    (void)before;
    free(seen);
}

static placed vector_of(size_t n, size_t l, bool batched, size_t from)
{
    const size_t extent[] = {n, 1, l};
    placed x = place(SETT_F32, extent, batched, 1, 4, 1);
    for (size_t i = 0; i < n * x.extent[2]; i++) {
        const float f = (float)scale_of(i % n + from, i / n);
        memcpy(at_of(&x, i % n, 0, i / n), &f, 4);
    }
    send(&x);
    x.buf.rank = 1 + batched, x.buf.stride[1] = x.buf.stride[2], x.buf.shape[1] = x.buf.shape[2];
    return x;
}

static void launch(sett_kernel *k, const problem *p, placed x[OPERANDS])
{
    const bool has[OPERANDS] = {true, true, p->o.residual, true, p->o.scaled, p->o.scaled};
    sett_launch_arg arg[OPERANDS];
    int n = 0;
    for (int i = 0; i < OPERANDS; i++)
        if (has[i])
            arg[n++] = (sett_launch_arg){.kind = SETT_LAUNCH_ARG_BUF, .u = {.t = &x[i].buf}};
    ck_assert_msg(!sett_launch_n(k, r.stream, n, arg, &err), "%s", err.text);
    ck_assert_msg(!sett_sync_error(r.e, r.stream, &err), "%s", err.text);
}

/* Compiled for the device, with what was chosen in *o; NULL: it has no such instruction. */
static sett_kernel *compiled_for(sett_gemm_mma_options *o)
{
    char target[16] = "cpu";
    sett_kernel *k = NULL;
    if (r.stream.device != SETT_CPU)
        ck_assert_int_gt(sett_device_target(r.e, r.stream.device, target, sizeof target), 0);
    ck_assert_msg(!sett_kernels_choose(sett_gemm_mma, o, target, &err), "%s", err.text);
    const sett_status s = sett_kernels_compile(r.e, sett_gemm_mma, o, target, &k, &err);
    ck_assert_msg(!s || s == SETT_E_TARGET, "%s", err.text);
    if (s)
        printf("skipped: %s\n", err.text);
    return k;
}

static void check_product(const problem *given)
{
    problem p = *given;
    sett_gemm_mma_options *o = &p.o;
    o->size = sizeof *o;
    sett_kernel *k = compiled_for(o);
    if (!k)
        return;
    const size_t rows_b = p.n << o->swiglu, align = (size_t)o->align, align_c = (size_t)o->align_c;
    placed x[OPERANDS] = {place(o->dtype, (size_t[]){p.m, p.k, p.l}, o->batched, o->a_major, align, p.more), place(o->b, (size_t[]){rows_b, p.k, p.l}, o->batched, o->b_major, align, p.more),
        place(o->c, (size_t[]){p.m, p.n, p.l}, o->batched, 0, align_c, p.more), place(o->c, (size_t[]){p.m, p.n, p.l}, o->batched, 0, align_c, p.more ? p.more + 1 : 0),
        vector_of(p.m, p.l, o->batched, 0), vector_of(p.n, p.l, o->batched, 1)};
    fill_factors(&x[A], 0), fill_factors(&x[B], 3), fill_factors(&x[R], 1);
    send(&x[C]);
    launch(k, &p, x);
    check_result(&p, &x[C], NULL);
    sett_kernel_release(k);
    drop_placed(OPERANDS, x);
}

/* ---- each type and major, each term, each alignment -------------------------------------------------------------- */
static const problem problems[] = {
    {.o = {.dtype = SETT_F16}}, {.o = {.dtype = SETT_BF16}}, {.o = {.dtype = SETT_F8E4M3FN}}, {.o = {.dtype = SETT_F8E5M2, .b = SETT_F8E4M3FN, .c = SETT_F16}}, {.o = {.dtype = SETT_I8}},
    {.o = {.dtype = SETT_F32}}, {.o = {.dtype = SETT_F32, .tf32 = 1}},
    {.o = {.dtype = SETT_F32, .tf32 = 1, .a_major = 1, .b_major = 1}}, {.o = {.dtype = SETT_F32, .a_major = 1, .b_major = 1}}, {.o = {.dtype = SETT_I8, .a_major = 1, .b_major = 1}},
};

START_TEST(products)
{
    static const size_t shapes[][3] = {{131, 137, 83}, {16, 256, 64}, {1, 1, 1}, {257, 40, 7}};
    problem p = problems[_i];
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        p.m = shapes[i][0], p.n = shapes[i][1], p.k = shapes[i][2], p.l = 1, p.more = i % 3;
        check_product(&p);
    }
}
END_TEST

/* ---- anything ------------------------------------------------------------------------------------------------------ */
static uint64_t random_state;
static int below(int n)
{
    return (int)((uniform(&random_state) + 1) / 2 * n);
}

static void random_problem(problem *p)
{
    static const sett_dtype types[] = {SETT_F16, SETT_BF16, SETT_F8E4M3FN, SETT_F8E5M2, SETT_I8, SETT_F32, SETT_F32}, results[] = {0, SETT_F32, SETT_F16, SETT_BF16, SETT_F8E4M3FN, SETT_F8E5M2, SETT_I8};
    sett_gemm_mma_options *o = &p->o;
    *p = (problem){.m = 1 + (size_t)below(90), .n = 1 + (size_t)below(90), .k = 1 + (size_t)below(below(4) ? 70 : 300), .l = 1, .more = (size_t)below(3)};
    o->dtype = types[below(7)], o->tf32 = o->dtype == SETT_F32 && below(2);
    if (bytes_of(o->dtype) == 1 && o->dtype != SETT_I8)
        o->b = types[2 + below(2)];
    o->c = results[below(o->dtype == SETT_I8 ? 7 : 6)];
    o->a_major = below(2), o->b_major = below(2), o->batched = !below(3), o->residual = below(2), o->no_pdl = below(2);
    o->scaled = !below(4) && o->c != SETT_I32, o->swiglu = !o->scaled && o->dtype != SETT_I8 && !below(4);
    for (o->align = 16 >> below(5); o->align < (int)bytes_of(o->dtype);)
        o->align *= 2;
    o->align_c = below(2) ? 4 << below(3) : 0;
    const bool fma = o->dtype == SETT_F32 && !o->tf32;
    o->tuning.warps = 1 << below(3), o->tuning.bm = 16 << below(3), o->tuning.bn = fma || o->swiglu ? 128 : 64, o->tuning.bk = 32 << below(3), o->tuning.stages = 2 + below(3);
    if (fma)
        o->tuning.warps = 2, o->tuning.bm = 32 << below(2);
    while (o->tuning.bm * o->tuning.bn > 128 * 32 * o->tuning.warps)
        o->tuning.warps *= 2;
    if (o->batched)
        p->l = 1 + (size_t)below(3);
    if (o->swiglu && o->b_major) /* N is a multiple of the alignment */
        p->n = (p->n + 15) / 16 * 16;
}

START_TEST(anything)
{
    problem p;
    random_state = 0x9e3779b97f4a7c15u * (uint64_t)(_i + 1);
    for (int i = 0; i < 10; i++) {
        random_problem(&p);
        check_product(&p);
    }
}
END_TEST

Suite *gemm_mma_suite(void)
{
    Suite *s = suite_create("gemm_mma");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, products, 0, sizeof problems / sizeof *problems);
    tcase_add_loop_test(t, anything, 0, 20);
    suite_add_tcase(s, t);
    return s;
}
