/* SPDX-License-Identifier: Apache-2.0 */
/* sett_gemm_mma against plain C, on the CPU engine or, with SETT_TEST_GPU=1, on GPU 0: factors of -2 to 2, so that sums are exact, of
 * every type, major, alignment and term, at extents that nothing divides. */
#include "tests/rig/placed_rig.h"
#include <sett/arg.h>
#include <sys/mman.h>

/* The addresses of batches that lie as x has them, on the device. */
static sett_buf array_of(const placed *x)
{
    const size_t l = x->extent[2];
    uint64_t *host = malloc(l * sizeof *host);
    void *data = sett_alloc(r.e, r.stream.device, l * sizeof *host);
    ck_assert(host && data);
    for (size_t i = 0; i < l; i++)
        host[i] = (uintptr_t)x->buf.data + i * x->stride[2] * bytes_of(x->t);
    ck_assert(!sett_memcpy(r.e, r.stream, data, host, l * sizeof *host) && !sett_sync(r.e, r.stream));
    free(host);
    return sett_buf_1d(data, SETT_U64, (int64_t)l);
}

static void launch(sett_kernel *k, const problem *p, placed x[OPERANDS])
{
    const bool has[OPERANDS] = {true, true, p->o.residual, true, p->o.scaled, p->o.scaled};
    const size_t la = x[A].stride[!!p->o.a_major], lb = x[B].stride[!!p->o.b_major], extents[] = {p->m, p->n, p->k, p->l, la, lb, x[R].stride[0], x[C].stride[0]};
    sett_buf of_l[OPERANDS];
    sett_launch_arg arg[OPERANDS + sizeof extents / sizeof *extents];
    int n = 0, arrays = 0;
    for (int i = 0; i < OPERANDS; i++)
        if (has[i]) {
            if (p->o.pointer_array)
                of_l[arrays++] = array_of(&x[i]);
            arg[n++] = sett_launch_arg_buf(p->o.pointer_array ? &of_l[arrays - 1] : &x[i].buf);
        }
    for (size_t i = 0; p->o.pointer_array && i < sizeof extents / sizeof *extents; i++)
        if (i != 6 || p->o.residual)
            arg[n++] = sett_launch_arg_int((int64_t)extents[i]);
    ck_assert_msg(!sett_launch_n(k, r.stream, n, arg, &err), "%s", err.text);
    ck_assert_msg(!sett_sync_error(r.e, r.stream, &err), "%s", err.text);
    for (int i = 0; i < arrays; i++)
        sett_free(r.e, r.stream.device, of_l[i].data);
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
    const placed own = x[C];
    if (o->residual && !p.more)
        x[C] = x[R]; /* R may be C */
    launch(k, &p, x);
    check_result(&p, &x[C]);
    x[C] = own;
    sett_kernel_release(k);
    drop_placed(OPERANDS, x);
}

/* ---- each type and major, each term, each alignment -------------------------------------------------------------- */
static const problem problems[] = {
    {.o = {.dtype = SETT_F16}}, {.o = {.dtype = SETT_BF16}}, {.o = {.dtype = SETT_BF16, .c = SETT_F32, .a_major = 1, .b_major = 1}}, {.o = {.dtype = SETT_F16, .b_major = 1, .align = 2}},
    {.o = {.dtype = SETT_F8E4M3FN}}, {.o = {.dtype = SETT_F8E5M2, .b = SETT_F8E4M3FN, .c = SETT_F16}}, {.o = {.dtype = SETT_F8E4M3FN, .b = SETT_F8E5M2, .c = SETT_F8E4M3FN, .scaled = 1}},
    {.o = {.dtype = SETT_F8E5M2, .c = SETT_F8E5M2, .b_major = 1, .residual = 1}}, {.o = {.dtype = SETT_I8}}, {.o = {.dtype = SETT_I8, .residual = 1}}, {.o = {.dtype = SETT_I8, .c = SETT_I8, .a_major = 1, .b_major = 1, .residual = 1}},
    {.o = {.dtype = SETT_I8, .scaled = 1, .residual = 1}}, {.o = {.dtype = SETT_I8, .c = SETT_I8, .scaled = 1, .align = 1}}, {.o = {.dtype = SETT_F32}}, {.o = {.dtype = SETT_F32, .tf32 = 1}},
    {.o = {.dtype = SETT_F32, .tf32 = 1, .a_major = 1, .b_major = 1}}, {.o = {.dtype = SETT_F32, .a_major = 1, .b_major = 1, .residual = 1}},
    {.o = {.dtype = SETT_F32, .swiglu = 1, .align = 4}}, {.o = {.dtype = SETT_BF16, .swiglu = 1, .residual = 1}}, {.o = {.dtype = SETT_F16, .batched = 1, .a_major = 1, .align = 8}},
    {.o = {.dtype = SETT_BF16, .batched = 1, .pointer_array = 1}}, {.o = {.dtype = SETT_BF16, .batched = 1, .pointer_array = 1, .residual = 1, .scaled = 1, .align = 2}},
    {.o = {.dtype = SETT_F32, .batched = 1, .pointer_array = 1, .b_major = 1, .align = 4}}, {.o = {.dtype = SETT_F8E5M2, .b = SETT_F8E4M3FN, .batched = 1, .pointer_array = 1, .a_major = 1}},
};

/* Every shape by a tile for any, and by those for some. A GPU's kernels are assembled one by one, which takes longer than all else: there each
 * problem has one of the tiles, in turn, for all shapes, and any tile with any options is what `anything` has. */
START_TEST(products)
{
    static const size_t shapes[][3] = {{131, 137, 83}, {16, 256, 64}, {1, 1, 1}, {257, 40, 7}, {5, 3, 0}, {3, 0, 5}, {0, 3, 5}};
    static const int tiles[][2] = {{0, 0}, {16, 256}, {257, 40}, {3, 0}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        problem p = problems[_i];
        const int *tile = tiles[r.stream.device != SETT_CPU ? _i % 4 : i % 2 ? ((int)i + 1) / 2 : 0];
        p.m = shapes[i][0], p.n = shapes[i][1], p.k = shapes[i][2], p.l = 1 + p.o.batched * 2, p.more = i % 3;
        p.o.tuning.m = tile[0], p.o.tuning.n = tile[1];
        check_product(&p);
    }
}
END_TEST

/* Bands of RASTER tiles, of which the last has fewer, and each tile once. */
START_TEST(many_tiles)
{
    static const size_t shapes[][3] = {{16 * 19 + 3, 64 * 3, 1}, {5, 64 * 33, 1}, {16 * 8, 64 * 8, 3}, {16 * 17, 1, 2}};
    problem p = {.o = {.dtype = SETT_F16, .batched = 1, .tuning = {.bm = 16, .bn = 64, .warps = 2}}, .m = shapes[_i][0], .n = shapes[_i][1], .k = 9, .l = shapes[_i][2]};
    check_product(&p);
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
        p->l = 1 + (size_t)below(3), o->pointer_array = below(2);
    if (o->swiglu && o->b_major) /* N is a multiple of the alignment */
        p->n = (p->n + 15) / 16 * 16;
}

START_TEST(anything)
{
    enum { ON_A_GPU = 12 };
    problem p;
    random_state = 0x9e3779b97f4a7c15u * (uint64_t)(_i + 1);
    for (int i = 0; i < (r.stream.device == SETT_CPU ? 10 : _i < ON_A_GPU); i++) {
        random_problem(&p);
        check_product(&p);
    }
}
END_TEST

/* ---- sums ------------------------------------------------------------------------------------------------------------ */
/* Of f32 one fma an element, in order of K; with .tf32 what the upper 19 bits give. */
START_TEST(order_of_sums)
{
    enum { M = 40, N = 70, K = 333 };
    const sett_gemm_mma_options o = {.size = sizeof o, .dtype = SETT_F32, .tf32 = _i, .align = 4};
    array a[3] = {MAKE(SETT_F32, M, K), MAKE(SETT_F32, N, K), MAKE(SETT_F32, M, N)};
    RUN(sett_gemm_mma, &o, &a[0].m.buf, &a[1].m.buf, &a[2].m.buf);
    matrix_fetch(&r, &a[2].m);
    for (size_t i = 0; i < M * N; i++) {
        const float *x = (const float *)a[0].m.host + i / N * K, *y = (const float *)a[1].m.host + i % N * K;
        float sum = 0;
        double cut = 0;
        for (int k = 0; k < K; k++) {
            sum = fmaf(x[k], y[k], sum);
            cut += (double)bits_float(float_bits(x[k]) & ~0x1fffu) * (double)bits_float(float_bits(y[k]) & ~0x1fffu);
        }
        near("gemm_mma", &a[2], i, _i ? cut : (double)sum, _i ? 1e-4 : 0);
    }
    drop(3, a);
}
END_TEST

/* ---- strides ----------------------------------------------------------------------------------------------------------- */
/* A stride of 0 gives all batches the same. */
START_TEST(shared_by_batches)
{
    enum { M = 20, N = 30, K = 24, L = 3 };
    const sett_gemm_mma_options o = {.size = sizeof o, .dtype = SETT_BF16, .c = SETT_F32, .batched = 1, .align_c = 4};
    array a[3] = {MAKE(SETT_BF16, M, K, 1), MAKE(SETT_BF16, N, K, L), MAKE(SETT_F32, M, N, L)};
    const int64_t depth[] = {K, K, N}, apart[] = {0, N * K, M * N};
    for (int i = 0; i < 3; i++) {
        a[i].m.buf = sett_buf_nd(a[i].m.buf.data, a[i].m.buf.dtype, 3, (int64_t[]){i == 1 ? N : M, depth[i], L});
        a[i].m.buf.stride[0] = depth[i], a[i].m.buf.stride[1] = 1, a[i].m.buf.stride[2] = apart[i];
    }
    RUN(sett_gemm_mma, &o, &a[0].m.buf, &a[1].m.buf, &a[2].m.buf);
    matrix_fetch(&r, &a[2].m);
    for (size_t i = 0; i < M * N * L; i++) {
        double want = 0;
        for (size_t k = 0; k < K; k++)
            want += a[0].was[i / N % M * K + k] * a[1].was[(i / (M * N) * N + i % N) * K + k];
        near("gemm_mma", &a[2], i, want, 1e-5);
    }
    drop(3, a);
}
END_TEST

/* Rows, or columns, that lie more than 2^31 elements apart, in memory of which few pages are touched. */
START_TEST(far_elements)
{
    enum { M = 3, N = 2, K = 5 };
    const int64_t apart = (1ll << 31) + 48;
    const size_t bytes = (size_t)apart * K;
    const sett_gemm_mma_options o = {.size = sizeof o, .dtype = SETT_I8, .c = SETT_I8, .a_major = _i, .b_major = _i};
    if (r.stream.device != SETT_CPU)
        return;
    int8_t *x[3];
    for (int i = 0; i < 3; i++) {
        x[i] = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        ck_assert_ptr_ne(x[i], MAP_FAILED);
    }
    sett_buf a = sett_buf_2d(x[0], SETT_I8, M, K), b = sett_buf_2d(x[1], SETT_I8, N, K), c = sett_buf_2d(x[2], SETT_I8, M, N);
    a.stride[_i] = b.stride[_i] = c.stride[0] = apart, a.stride[!_i] = b.stride[!_i] = 1;
    for (int k = 0; k < K; k++) {
        for (int i = 0; i < M; i++)
            x[0][i * a.stride[0] + k * a.stride[1]] = (int8_t)factor((size_t)i, (size_t)k, 0, 0);
        for (int i = 0; i < N; i++)
            x[1][i * b.stride[0] + k * b.stride[1]] = (int8_t)factor((size_t)i, (size_t)k, 0, 3);
    }
    RUN(sett_gemm_mma, &o, &a, &b, &c);
    const problem p = {.k = K};
    for (int i = 0; i < M * N; i++)
        ck_assert_int_eq(x[2][i / N * apart + i % N], (int)sum_of(&p, (size_t)(i / N), (size_t)(i % N), 0));
    for (int i = 0; i < 3; i++)
        munmap(x[i], bytes);
}
END_TEST

/* ---- epilogues ----------------------------------------------------------------------------------------------------------- */
/* (A B^T + bias[n]) and what it adds of its own batch: each element is seen once, with its own bias. */
typedef struct biased {
    sett_tensor *bias, *each;
} biased;
static sett_val *add_bias(const sett_epilogue_tile *at, sett_val *sums, void *user)
{
    const biased *u = user;
    return sett_add(sett_add(sums, sett_load(sett_epilogue_partition(at, u->bias))), sett_load(sett_epilogue_partition(at, u->each)));
}

static void with_bias(sett_build *b, const void *o)
{
    sett_val *M = sett_sym(b, "M"), *N = sett_sym(b, "N"), *L = sett_sym(b, "L");
    biased u = {.bias = sett_param(b, "bias", SETT_F32, sett_make_layout(b, N))};
    u.bias = sett_composition(u.bias, sett_make_layout(b, SETT_T(M, N), SETT_T(0, 1)));
    u.each = sett_param(b, "each", SETT_F32, sett_make_layout(b, SETT_T(M, N, L), SETT_T(0, 0, 1)));
    sett_gemm_mma_with(b, o, add_bias, &u);
}

static const sett_gemm_mma_options biased_options[] = {{.dtype = SETT_F16, .tuning = {.bm = 16, .bn = 64}}, {.dtype = SETT_F32, .tuning = {.bm = 64, .bn = 64}}, {.dtype = SETT_F32, .swiglu = 0, .tf32 = 1}};
START_TEST(an_epilogue)
{
    enum { M = 64, N = 128, K = 8, L = 2 };
    sett_gemm_mma_options o = biased_options[_i];
    o.size = sizeof o, o.c = SETT_F32, o.batched = 1;
    const sett_compile_options co = {.size = sizeof co, .user = &o, .user_size = sizeof o};
    placed x[] = {place(o.dtype, (size_t[]){M, K, L}, true, 0, 16, 0), place(o.dtype, (size_t[]){N, K, L}, true, 0, 16, 0), place(SETT_F32, (size_t[]){M, N, L}, true, 0, 16, 0),
        vector_of(N, 1, false, 0), vector_of(L, 1, false, 0)};
    sett_kernel *k;
    fill_factors(&x[0], 0), fill_factors(&x[1], 3);
    sett_buf each = x[4].buf;
    each.rank = 3, each.shape[0] = M, each.shape[1] = N, each.shape[2] = L, each.stride[0] = each.stride[1] = 0, each.stride[2] = 1;
    ck_assert_msg(!sett_compile(r.e, with_bias, &co, &k, &err), "%s", err.text);
    ck_assert_msg(!sett_launch(k, r.stream, &err, &x[3].buf, &each, &x[0].buf, &x[1].buf, &x[2].buf), "%s", err.text);
    ck_assert(!sett_memcpy(r.e, r.stream, x[2].host, x[2].data, x[2].bytes) && !sett_sync_error(r.e, r.stream, &err));
    const problem p = {.k = K};
    for (size_t i = 0; i < M * N * L; i++) {
        const size_t row = i % M, col = i / M % N, batch = i / M / N;
        ck_assert_double_eq(element(SETT_F32, at_of(&x[2], row, col, batch)), sum_of(&p, row, col, batch) + scale_of(col, 0) + scale_of(batch, 0));
    }
    sett_kernel_release(k);
    drop_placed(5, x);
}
END_TEST

static sett_val *nothing(const sett_epilogue_tile *at, sett_val *sums, void *user)
{
    (void)at, (void)sums, (void)user;
    return NULL;
}
static int with_line;
static void with_nothing(sett_build *b, const void *o)
{
    with_line = __LINE__ + 1;
    sett_gemm_mma_with(b, o, nothing, NULL);
}

START_TEST(an_epilogue_gives_nothing)
{
    const sett_gemm_mma_options o = {.size = sizeof o, .dtype = SETT_F32};
    const sett_compile_options co = {.size = sizeof co, .user = &o, .user_size = sizeof o};
    char want[200];
    void *tape = NULL;
    size_t len;
    ck_assert_int_eq(sett_record(with_nothing, &co, true, &tape, &len, &err), SETT_E_ARGUMENT);
    snprintf(want, sizeof want, "%s:%d: sett_gemm_mma_with: the epilogue gives NULL, and its sums have the shape (4): it returns one number for each of them", __FILE__, with_line);
    ck_assert_str_eq(err.text, want);
}
END_TEST

/* ---- what is refused --------------------------------------------------------------------------------------------------- */
static const struct {
    sett_gemm_mma_options o;
    const char *why;
} bad[] = {
    {{.dtype = 0}, ".dtype is not given: f16, bf16, f8E4M3FN, f8E5M2, i8 or f32"},
    {{.dtype = SETT_F64}, ".dtype is f64: f16, bf16, f8E4M3FN, f8E5M2, i8 or f32"},
    {{.dtype = SETT_F16, .b = SETT_BF16}, ".b is bf16: it differs from .dtype among f8E4M3FN and f8E5M2 alone"},
    {{.dtype = SETT_F8E5M2, .b = SETT_I8}, ".b is i8: f8E4M3FN or f8E5M2"},
    {{.dtype = SETT_F16, .c = SETT_I32}, ".c is i32: f32, f16, bf16, f8E4M3FN or f8E5M2; i8 with .quantise"},
    {{.dtype = SETT_I8, .c = SETT_I16}, ".c is i16: f32, f16, bf16, f8E4M3FN or f8E5M2, i32 or i8"},
    {{.dtype = SETT_I8, .c = SETT_I32, .scaled = 1}, ".c is i32: with .scaled it is a float, or i8"},
    {{.dtype = SETT_F16, .tf32 = 1}, ".tf32 is 1: .dtype is f32 then, and not f16"},
    {{.dtype = SETT_F16, .a_major = 2}, ".a_major is 2: from 0 to 1"},
    {{.dtype = SETT_F16, .b_major = -1}, ".b_major is -1: from 0 to 1"},
    {{.dtype = SETT_F16, .scaled = 2}, ".scaled is 2: from 0 to 1"},
    {{.dtype = SETT_F16, .swiglu = 3}, ".swiglu is 3: from 0 to 1"},
    {{.dtype = SETT_F16, .residual = 2}, ".residual is 2: from 0 to 1"},
    {{.dtype = SETT_F16, .batched = 2}, ".batched is 2: from 0 to 1"},
    {{.dtype = SETT_F16, .batched = 1, .pointer_array = 2}, ".pointer_array is 2: from 0 to 1"},
    {{.dtype = SETT_F16, .pointer_array = 1}, ".pointer_array is 1: .batched is 1 then, whose operands the addresses are of"},
    {{.dtype = SETT_F16, .reserved = 5}, ".reserved is 5: it must be 0"},
    {{.dtype = SETT_F32, .tf32 = 2}, ".tf32 is 2: from 0 to 1"},
    {{.dtype = SETT_F16, .swiglu = 1, .scaled = 1}, ".swiglu is 1: then .scaled is 0"},
    {{.dtype = SETT_I8, .swiglu = 1}, ".swiglu is 1: .dtype is a float then"},
    {{.dtype = SETT_F16, .align = 3}, ".align is 3: 16, 8, 4, 2 or 1"},
    {{.dtype = SETT_F16, .align = 1}, ".align is 1: an element has 2 bytes"},
    {{.dtype = SETT_F16, .align_c = 32}, ".align_c is 32: 16, 8, 4, 2 or 1"},
    {{.dtype = SETT_F16, .c = SETT_F32, .align_c = 2}, ".align_c is 2: an element has 4 bytes"},
    {{.dtype = SETT_F16, .tuning.m = -1}, ".m is -1: from 0 to 2147483647"},
    {{.dtype = SETT_F16, .tuning.n = -1}, ".n is -1: from 0 to 2147483647"},
    {{.dtype = SETT_F16, .tuning.bm = 48}, ".bm is 48: a power of two from 16 to 256"},
    {{.dtype = SETT_F16, .tuning.bn = 512}, ".bn is 512: a power of two from 16 to 256"},
    {{.dtype = SETT_F16, .tuning.bk = 16}, ".bk is 16: a power of two from 32 to 128"},
    {{.dtype = SETT_F16, .tuning.warps = 3}, ".warps is 3: a power of two from 1 to 8"},
    {{.dtype = SETT_F16, .tuning.bn = 16}, ".bn is 16: 4 warps compute 32 columns at once"},
    {{.dtype = SETT_F16, .swiglu = 1, .tuning.bn = 32}, ".bn is 32: 4 warps compute 32 columns at once, of each half"},
    {{.dtype = SETT_F32, .tuning.bm = 16, .tuning.bn = 64}, ".bn is 64: 4 warps compute 128 columns at once"},
    {{.dtype = SETT_F16, .tuning.bm = 256, .tuning.bn = 128}, ".bn is 128: with .bm 256 and 4 warps a thread has 256 sums, at most 128"},
    {{.dtype = SETT_F16, .tuning.stages = 1}, ".stages is 1: from 2 to 8"},
    {{.dtype = SETT_F16, .tuning.bk = 128, .tuning.stages = 9}, ".stages is 9: from 2 to 7"},
};

START_TEST(refused)
{
    sett_gemm_mma_options o = bad[_i].o;
    char want[200];
    o.size = sizeof o;
    snprintf(want, sizeof want, "sett_kernels_choose: gemm_mma: %s", bad[_i].why);
    ck_assert_int_eq(sett_kernels_choose(sett_gemm_mma, &o, NULL, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, want);
}
END_TEST

static void check_refused(sett_kernel *k, const sett_buf of[3], const char *text)
{
    ck_assert_int_ne(sett_launch(k, r.stream, &err, &of[0], &of[1], &of[2]), SETT_OK);
    ck_assert_str_eq(err.text, text);
}

/* What a launch says of operands that are no such matrices. */
START_TEST(refused_at_the_launch)
{
    enum { M = 64, N = 64, K = 16 };
    const sett_gemm_mma_options o = {.size = sizeof o, .dtype = SETT_BF16, .b_major = 1, .align = 8}, gated = {.size = sizeof gated, .dtype = SETT_BF16, .b_major = 1, .swiglu = 1};
    void *any = (void *)(uintptr_t)4096; /* nothing is read */
    sett_buf x[3] = {sett_buf_2d(any, SETT_BF16, M, K), sett_buf_2d(any, SETT_BF16, N, K), sett_buf_2d(any, SETT_BF16, M, N)};
    sett_kernel *k = compiled(sett_gemm_mma, &o);
    x[0].stride[0] = 18;
    check_refused(k, x, "gemm_mma: LA = 18 (A stride 0) is not a multiple of 4");
    x[0].stride[0] = K;
    check_refused(k, x, "gemm_mma: B's mode 0 must be contiguous: its stride is 16; B is (N,K)");
    x[1].stride[0] = 1, x[1].stride[1] = N, x[0].data = (void *)(uintptr_t)4100;
    check_refused(k, x, "gemm_mma: A is at 0x1004, which is not a multiple of 8 bytes");
    sett_kernel_release(k);
    k = compiled(sett_gemm_mma, &gated);
    x[0].data = any, x[1].shape[0] = 2 * 60, x[2].shape[1] = 60, x[1].stride[1] = 128;
    check_refused(k, x, "gemm_mma: N = 60 (C mode 1) is not a multiple of 8");
    sett_kernel_release(k);
}
END_TEST

/* Launched by hand, arrays of pointers give L alone: the rest is numbers, all of which are named at once. */
START_TEST(pointers_at_the_launch)
{
    const sett_gemm_mma_options o = {.size = sizeof o, .dtype = SETT_BF16, .batched = 1, .pointer_array = 1};
    uint64_t at[2] = {4096, 4096};
    sett_kernel *k = compiled(sett_gemm_mma, &o);
    sett_buf P[3] = {sett_buf_1d(at, SETT_U64, 2), sett_buf_1d(at, SETT_U64, 2), sett_buf_1d(at, SETT_U64, 2)};
    const struct {
        int n;
        int64_t l;
        const char *text;
    } of[] = {{3, 2, "gemm_mma: no argument gives M a value: append M, N, K, L, LA, LB, LC to the launch as integers"},
        {7, 2, "gemm_mma: no argument gives LA a value: append M, N, K, L, LA, LB, LC to the launch as integers, and 4 came"},
        {2, 2, "gemm_mma takes 3 arguments (A, B, C) and 7 numbers behind them (M, N, K, L, LA, LB, LC), 2 were given"},
        {11, 2, "gemm_mma takes 3 arguments (A, B, C) and 7 numbers behind them (M, N, K, L, LA, LB, LC), 11 were given"},
        {10, 3, "gemm_mma: L = 3 was given, A mode 0 gives 2"}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        sett_launch_arg arg[11];
        for (int j = 0; j < 11; j++)
            arg[j] = j < 3 ? sett_launch_arg_buf(&P[j]) : sett_launch_arg_int(j == 6 ? of[i].l : 8);
        ck_assert_int_eq(sett_launch_n(k, r.stream, of[i].n, arg, &err), SETT_E_BIND);
        ck_assert_str_eq(err.text, of[i].text);
    }
    sett_kernel_release(k);
}
END_TEST

/* ---- targets ------------------------------------------------------------------------------------------------------------- */
static const struct {
    sett_gemm_mma_options o;
    const char *holds;
    bool from_89;
} lowered[] = {
#define SMALL .bm = 64, .bn = 64 /* it compiles sooner */
    {{.dtype = SETT_F16}, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", false}, {{.dtype = SETT_BF16, .a_major = 1, .b_major = 1, .tuning = {SMALL}}, "ldmatrix.sync.aligned.m8n8.x4.trans", false},
    {{.dtype = SETT_F8E4M3FN, .b = SETT_F8E5M2, .tuning = {SMALL}}, "m16n8k32.row.col.f32.e4m3.e5m2.f32", true}, {{.dtype = SETT_I8, .scaled = 1, .tuning = {SMALL}}, "m16n8k32.row.col.", false},
    {{.dtype = SETT_F32}, "fma.rn.f32", false}, {{.dtype = SETT_F32, .tf32 = 1, .b_major = 1, .tuning = {SMALL}}, "m16n8k8.row.col.f32.tf32.tf32.f32", false},
    {{.dtype = SETT_BF16, .align = 2, .swiglu = 1, .tuning = {SMALL}}, "m16n8k16.row.col.f32.bf16.bf16.f32", false},
    {{.dtype = SETT_I8, .a_major = 1, .batched = 1, .tuning = {SMALL}}, "m16n8k32.row.col.", false},
    {{.dtype = SETT_BF16, .batched = 1, .pointer_array = 1, .residual = 1}, "cp.async.cg.shared.global", false}, {{.dtype = SETT_F32, .batched = 1, .pointer_array = 1}, "cp.async.ca.shared.global", false},
#undef SMALL
};

START_TEST(targets)
{
    static const char *const all[] = {"sm_75", "sm_80", "sm_89", "sm_90a", "sm_120a"};
    const sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true};
    sett_engine *e;
    if (r.stream.device != SETT_CPU) /* it needs none, and assembles some 30 kernels */
        return;
    ck_assert_msg(!sett_engine_open(&e, &eo, &err), "%s", err.text);
    sett_gemm_mma_options o = lowered[_i].o;
    o.size = sizeof o;
    for (int i = 0; i < 5; i++)
        check_target(e, sett_gemm_mma, &o, all[i], i < 1 + lowered[_i].from_89 ? NULL : lowered[_i].holds);
    sett_engine_close(e);
}
END_TEST

/* Tiles by what most launches have, and stages by the target's shared memory. */
START_TEST(a_choice)
{
    static const struct {
        sett_gemm_mma_options o;
        const char *target;
        int bm, bn, bk, stages, warps;
    } best[] = {
        {{.dtype = SETT_BF16}, "sm_80", 128, 128, 64, 4, 4}, {{.dtype = SETT_BF16}, "sm_89", 128, 128, 64, 3, 4}, {{.dtype = SETT_BF16}, "cpu", 128, 128, 64, 4, 4},
        {{.dtype = SETT_BF16, .tuning = {.m = 1, .n = 4096}}, "sm_80", 16, 64, 128, 4, 4}, {{.dtype = SETT_BF16, .tuning = {.m = 20, .n = 100000}}, "sm_89", 32, 128, 128, 2, 4},
        {{.dtype = SETT_BF16, .tuning = {.m = 64, .n = 4096}}, "sm_80", 64, 32, 64, 4, 4}, {{.dtype = SETT_BF16, .tuning = {.m = 4096, .n = 8}}, "sm_80", 128, 32, 64, 4, 4},
        {{.dtype = SETT_F32, .swiglu = 1, .tuning = {.m = 1, .n = 4096}}, "sm_80", 16, 256, 64, 4, 4}, {{.dtype = SETT_F32}, "sm_80", 128, 128, 64, 4, 4},
        {{.dtype = SETT_F32, .tuning = {.m = 1, .n = 4096}}, "sm_80", 16, 128, 64, 4, 4}, {{.dtype = SETT_BF16, .swiglu = 1, .tuning = {.m = 1, .n = 4096}}, "sm_80", 16, 128, 128, 4, 4},
        {{.dtype = SETT_BF16, .tuning = {.m = 2147483647, .n = 2147483647}}, "sm_80", 128, 128, 64, 4, 4},
    };
    for (size_t i = 0; i < sizeof best / sizeof *best; i++) {
        sett_gemm_mma_options o = best[i].o, again;
        o.size = sizeof o;
        ck_assert_msg(!sett_kernels_choose(sett_gemm_mma, &o, best[i].target, &err), "%s", err.text);
        const sett_gemm_mma_tuning *t = &o.tuning;
        ck_assert_msg(t->bm == best[i].bm && t->bn == best[i].bn && t->bk == best[i].bk && t->stages == best[i].stages && t->warps == best[i].warps && !t->m && !t->n,
            "%zu: bm %d bn %d bk %d stages %d warps %d", i, t->bm, t->bn, t->bk, t->stages, t->warps);
        again = o;
        ck_assert(!sett_kernels_choose(sett_gemm_mma, &again, best[i].target, &err) && !memcmp(&o, &again, sizeof o));
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
    tcase_add_loop_test(t, many_tiles, 0, 4);
    tcase_add_loop_test(t, anything, 0, 20);
    tcase_add_loop_test(t, order_of_sums, 0, 2);
    tcase_add_test(t, shared_by_batches);
    tcase_add_loop_test(t, far_elements, 0, 2);
    tcase_add_loop_test(t, an_epilogue, 0, sizeof biased_options / sizeof *biased_options);
    tcase_add_test(t, an_epilogue_gives_nothing);
    tcase_add_loop_test(t, refused, 0, sizeof bad / sizeof *bad);
    tcase_add_test(t, refused_at_the_launch);
    tcase_add_test(t, pointers_at_the_launch);
    tcase_add_loop_test(t, targets, 0, sizeof lowered / sizeof *lowered);
    tcase_add_test(t, a_choice);
    suite_add_tcase(s, t);
    return s;
}
