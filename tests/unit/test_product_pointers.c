/* SPDX-License-Identifier: Apache-2.0 */
/* sett_product of arrays of pointers against plain C, on the CPU engine or, with SETT_TEST_GPU=1, on GPU 0: operands in pieces of memory of
 * their own, several products with the same B, every number of rows by one plan, every operand that a product may have; the bits of a row;
 * what is refused. */
#include "tests/rig/placed_rig.h"

enum { MOST = 8 /* products */ };

/* ---- memory ------------------------------------------------------------------------------------------------ */
static void *copied(const void *host, size_t bytes)
{
    void *data = sett_alloc(r.e, r.stream.device, bytes);
    ck_assert(data && !sett_memcpy(r.e, r.stream, data, host, bytes) && !sett_sync(r.e, r.stream));
    return data;
}

static void fetch(void *host, const void *data, size_t bytes)
{
    ck_assert(!sett_memcpy(r.e, r.stream, host, data, bytes) && !sett_sync(r.e, r.stream));
}

static void give_back(void *data)
{
    sett_free(r.e, r.stream.device, data);
}

/* An array of the addresses of n matrices of the rig. */
static void *addresses(const placed x[], const int which[], int n)
{
    uint64_t at[MOST];
    for (int i = 0; i < n; i++)
        at[i] = (uintptr_t)x[which ? which[i] : i].buf.data;
    return copied(at, sizeof *at * (size_t)n);
}

/* n vectors of Float32, each in memory of its own, and the array of them. */
typedef struct vectors {
    void *of[MOST], *array;
    int n;
} vectors;

static vectors vectors_of(int n, size_t length, float (*value)(size_t i, size_t product))
{
    vectors v = {.n = n};
    uint64_t at[MOST];
    float *host = malloc(length * sizeof *host);
    for (int l = 0; l < n; l++) {
        for (size_t i = 0; i < length; i++)
            host[i] = value(i, (size_t)l);
        v.of[l] = copied(host, length * sizeof *host), at[l] = (uintptr_t)v.of[l];
    }
    free(host);
    v.array = copied(at, sizeof *at * (size_t)n);
    return v;
}

static void drop_vectors(vectors *v)
{
    for (int l = 0; l < v->n; l++)
        give_back(v->of[l]);
    give_back(v->array);
}

/* ---- one product of each --------------------------------------------------------------------------------------- */
static float row_scale(size_t i, size_t l) { return (float)scale_of(i, l); }
static float column_scale(size_t i, size_t l) { return (float)scale_of(i + 1, l); }
static float addend(size_t i, size_t l) { return (float)((int)((i + 5 * l) % 7) - 3); }
static float nothing(size_t i, size_t l) { (void)i, (void)l; return 0; }

/* Matrices of `p`, of which B number which[l] is that of product l. A and R of product l are those of seed l. */
typedef struct operands {
    placed a[MOST], b[MOST], res[MOST], d[MOST];
    int which[MOST], n, n_b;
} operands;

static int b_seed(int number) { return 3 + 2 * number; }

static void make_operands(operands *x, const problem *p, const int which[], int n)
{
    const sett_gemm_mma_options *o = &p->o;
    const size_t align = (size_t)o->align, align_c = (size_t)o->align_c, rows_b = p->n << o->swiglu;
    x->n = n, x->n_b = 0;
    for (int l = 0; l < n; l++) {
        x->which[l] = which[l], x->n_b = which[l] >= x->n_b ? which[l] + 1 : x->n_b;
        x->a[l] = place(o->dtype, (size_t[]){p->m, p->k, 1}, false, o->a_major, align, p->more), x->res[l] = place(o->c, (size_t[]){p->m, p->n, 1}, false, 0, align_c, p->more);
        x->d[l] = place(o->c, (size_t[]){p->m, p->n, 1}, false, 0, align_c, p->more);
        fill_factors(&x->a[l], l), fill_factors(&x->res[l], l + 1);
        send(&x->d[l]);
    }
    for (int i = 0; i < x->n_b; i++) {
        x->b[i] = place(o->b, (size_t[]){rows_b, p->k, 1}, false, o->b_major, align, p->more);
        fill_factors(&x->b[i], b_seed(i));
    }
}

static void drop_operands(operands *x)
{
    drop_placed(x->n, x->a), drop_placed(x->n, x->res), drop_placed(x->n, x->d), drop_placed(x->n_b, x->b);
}

static double dot(const operands *x, const problem *p, size_t row, size_t col, int l)
{
    double sum = 0;
    for (size_t k = 0; k < p->k; k++)
        sum += factor(row, k, 0, l) * factor(col, k, 0, b_seed(x->which[l]));
    return sum;
}

static double wanted(const operands *x, const problem *p, size_t row, size_t col, int l)
{
    double v = dot(x, p, row, col, l);
    if (p->o.swiglu)
        v = v / (1 + exp(-v)) * dot(x, p, row, col + p->n, l);
    if (p->o.scaled)
        v *= (double)row_scale(row, (size_t)l) * (double)column_scale(col, (size_t)l);
    return v + (p->o.residual ? factor(row, col, 0, l + 1) + large_of(p->o.c) : 0);
}

/* Of the first m rows of each product all elements, and nothing else. */
static void check_results(operands *x, const problem *p, size_t m)
{
    for (int l = 0; l < x->n; l++) {
        placed *d = &x->d[l];
        unsigned char *seen = calloc(1, d->bytes);
        fetch(d->host, d->data, d->bytes);
        for (size_t row = 0; row < m; row++)
            for (size_t col = 0; col < p->n; col++) {
                unsigned char *at_it = at_of(d, row, col, 0);
                check_element(p, d->t, element(d->t, at_it), wanted(x, p, row, col, l), row, col);
                memset(seen + (at_it - d->host), 1, bytes_of(d->t));
            }
        for (size_t i = 0; i < d->bytes; i++)
            ck_assert_msg(seen[i] || d->host[i] == NOBODYS, "product %d: byte %zu of D, which is no element, was written", l, i);
        free(seen);
    }
}

static sett_product_problem asked(const problem *p, const operands *x)
{
    const sett_gemm_mma_options *o = &p->o;
    return (sett_product_problem){.size = sizeof(sett_product_problem), .dtype = o->dtype, .b = o->b, .d = o->c, .n = (int)p->n, .k = (int)p->k, .a_major = o->a_major, .b_major = o->b_major, .scaled = o->scaled,
        .swiglu = o->swiglu, .residual = o->residual, .tf32 = o->tf32, .batch = x->n, .align = o->align < o->align_c ? o->align : o->align_c, .lda = (int64_t)x->a[0].stride[!!o->a_major],
        .ldb = (int64_t)x->b[0].stride[!!o->b_major], .ldr = (int64_t)x->res[0].stride[0], .ldd = (int64_t)x->d[0].stride[0], .pointer_array = 1};
}

static void run_plan(const sett_product *plan, int m, const sett_product_operands *o)
{
    ck_assert_msg(!sett_product_run(plan, m, o, NULL, 0, r.stream, &err), "%s", err.text);
    ck_assert_msg(!sett_sync_error(r.e, r.stream, &err), "%s", err.text);
}

static sett_product *prepare(const sett_product_problem *p, int max_m)
{
    sett_product *plan;
    size_t bytes;
    ck_assert_msg(!sett_product_prepare(r.e, r.stream.device, p, max_m, &plan, &bytes, &err), "%s", err.text);
    ck_assert_uint_eq(bytes, 0);
    return plan;
}

/* Runs of fewer rows and of more, of the same plan: of a run the elements behind its rows are as they were. */
static void check_problem(const problem *p, const int which[], int n, const int rows[], int n_rows)
{
    operands x;
    make_operands(&x, p, which, n);
    const sett_product_problem of = asked(p, &x);
    sett_product *plan = prepare(&of, (int)p->m);
    vectors sa = vectors_of(n, p->m, row_scale), sb = vectors_of(n, p->n, column_scale);
    void *a = addresses(x.a, NULL, n), *b = addresses(x.b, which, n), *res = addresses(x.res, NULL, n), *d = addresses(x.d, NULL, n);
    const sett_product_operands o = {.size = sizeof o, .a = a, .b = b, .d = d, .r = p->o.residual ? res : NULL, .sa = p->o.scaled ? sa.array : NULL, .sb = p->o.scaled ? sb.array : NULL};
    for (int i = 0; i < n_rows; i++) {
        run_plan(plan, rows[i], &o);
        check_results(&x, p, (size_t)rows[i]);
        for (int l = 0; l < n; l++) {
            memset(x.d[l].host, NOBODYS, x.d[l].bytes);
            send(&x.d[l]);
        }
    }
    sett_product_free(plan);
    drop_vectors(&sa), drop_vectors(&sb), drop_operands(&x);
    void *of_all[] = {a, b, res, d};
    for (int i = 0; i < 4; i++)
        give_back(of_all[i]);
}

static const int shared[] = {0, 1, 0, 2, 0};

START_TEST(every_number_of_rows)
{
    static const int rows[] = {1, 130, 8, 9, 16, 17, 64, 65, 129, 2};
    const problem p = {.o = {.dtype = SETT_BF16, .b = SETT_BF16, .c = SETT_BF16, .align = 16, .align_c = 16}, .m = 130, .n = 72, .k = 136};
    check_problem(&p, shared, 5, rows, 10);
}
END_TEST

START_TEST(one_product)
{
    const problem p = {.o = {.dtype = SETT_F16, .b = SETT_F16, .c = SETT_F32, .residual = 1, .align = 16, .align_c = 16}, .m = 20, .n = 40, .k = 24};
    check_problem(&p, (const int[]){0}, 1, (const int[]){20, 3}, 2);
}
END_TEST

static unsigned draw(unsigned n)
{
    r.seed = r.seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(r.seed >> 40) % n;
}

static problem random_problem(void)
{
    static const sett_dtype inputs[] = {SETT_F16, SETT_BF16, SETT_F8E4M3FN, SETT_F8E5M2, SETT_I8, SETT_F32}, outputs[] = {SETT_F32, SETT_F16, SETT_BF16, SETT_F8E4M3FN, SETT_F8E5M2};
    problem p = {.m = 1 + draw(150), .n = 1 + draw(120), .k = 1 + draw(150), .more = draw(3)};
    p.o.dtype = p.o.b = inputs[draw(6)], p.o.c = outputs[draw(5)];
    p.o.residual = (int)draw(2), p.o.scaled = draw(3) == 0, p.o.swiglu = !p.o.scaled && p.o.dtype != SETT_I8 && draw(4) == 0, p.o.tf32 = p.o.dtype == SETT_F32 && draw(2);
    if (p.o.dtype == SETT_I8 && !p.o.scaled && draw(2))
        p.o.c = SETT_I32;
    p.o.a_major = draw(4) == 0, p.o.b_major = draw(4) == 0;
    const int align = draw(3) ? 16 : 1 << draw(5), least_in = (int)bytes_of(p.o.dtype), least_out = (int)bytes_of(p.o.c);
    p.o.align = align > least_in ? align : least_in, p.o.align_c = align > least_out ? align : least_out;
    return p;
}

START_TEST(random_products)
{
    r.seed = (uint64_t)_i + 77;
    for (int i = 0; i < (r.stream.device == SETT_CPU ? 8 : 1); i++) {
        const problem p = random_problem();
        int which[MOST], n = 1 + (int)draw(4);
        for (int l = 0; l < n; l++)
            which[l] = (int)draw((unsigned)l + 1);
        which[0] = 0;
        for (int l = 1, most = 0; l < n; l++) /* numbers without a gap */
            which[l] = which[l] > most ? ++most : which[l];
        check_problem(&p, which, n, (const int[]){(int)p.m, 1 + (int)draw((unsigned)p.m)}, 2);
    }
}
END_TEST

/* R is D: of arrays, the same array. */
START_TEST(in_place)
{
    const problem p = {.o = {.dtype = SETT_BF16, .b = SETT_BF16, .c = SETT_F32, .residual = 1, .align = 16, .align_c = 16}, .m = 33, .n = 40, .k = 56};
    operands x;
    make_operands(&x, &p, shared, 3);
    const sett_product_problem of = asked(&p, &x);
    sett_product *plan = prepare(&of, 33);
    void *a = addresses(x.a, NULL, 3), *b = addresses(x.b, shared, 3), *d = addresses(x.d, NULL, 3);
    const sett_product_operands o = {.size = sizeof o, .a = a, .b = b, .d = d, .r = d};
    for (int l = 0; l < 3; l++)
        fill_factors(&x.d[l], l + 1);
    run_plan(plan, 33, &o);
    check_results(&x, &p, 33);
    sett_product_free(plan);
    drop_operands(&x), give_back(a), give_back(b), give_back(d);
}
END_TEST

/* ---- terms -------------------------------------------------------------------------------------------------------- */
/* D = relu(AUX), AUX = A B^T + bias; sums of its rows and columns, and the greatest size of each row: each product's in memory of its own. */
START_TEST(terms_of_each)
{
    enum { M = 37, N = 24, L = 3 };
    const problem p = {.o = {.dtype = SETT_F16, .b = SETT_F16, .c = SETT_F32, .align = 16, .align_c = 16}, .m = M, .n = N, .k = 40};
    operands x;
    make_operands(&x, &p, shared, L);
    sett_product_problem of = asked(&p, &x);
    of.ldaux = N, of.terms = (sett_gemm_terms){.bias = 1, .aux = 1, .activation = SETT_ACTIVATION_RELU, .amax = 2, .row_sum = 1, .column_sum = 1, .row_max = 1};
    sett_product *plan = prepare(&of, M);
    vectors bias = vectors_of(L, N, addend), aux = vectors_of(L, M * N, nothing), amax = vectors_of(L, M, nothing), rows = vectors_of(L, M, nothing), most = vectors_of(L, M, nothing), columns = vectors_of(L, N, nothing);
    void *a = addresses(x.a, NULL, L), *b = addresses(x.b, shared, L), *d = addresses(x.d, NULL, L);
    const sett_product_operands o = {.size = sizeof o, .a = a, .b = b, .d = d, .bias = bias.array, .aux = aux.array, .amax = amax.array, .row_sum = rows.array, .column_sum = columns.array, .row_max = most.array};
    run_plan(plan, M, &o);
    for (int l = 0; l < L; l++) {
        float got[M * N], row_sum[M], row_max[M], row_amax[M], column_sum[N], sums[N] = {0};
        fetch(got, aux.of[l], sizeof got), fetch(row_sum, rows.of[l], sizeof row_sum), fetch(row_max, most.of[l], sizeof row_max), fetch(row_amax, amax.of[l], sizeof row_amax), fetch(column_sum, columns.of[l], sizeof column_sum);
        fetch(x.d[l].host, x.d[l].data, x.d[l].bytes);
        for (size_t row = 0; row < M; row++) {
            float sum = 0, greatest = 0;
            for (size_t col = 0; col < N; col++) {
                const float before = (float)dot(&x, &p, row, col, l) + addend(col, (size_t)l), after = before > 0 ? before : 0;
                ck_assert_msg(got[row * N + col] == before, "product %d, (%zu,%zu): AUX is %g, not %g", l, row, col, (double)got[row * N + col], (double)before);
                ck_assert_float_eq((float)element(SETT_F32, at_of(&x.d[l], row, col, 0)), after);
                sum += after, sums[col] += after, greatest = after > greatest ? after : greatest;
            }
            ck_assert_msg(row_sum[row] == sum && row_max[row] == greatest && row_amax[row] == greatest, "product %d, row %zu: %g, %g, %g, not %g and %g", l, row, (double)row_sum[row], (double)row_max[row],
                (double)row_amax[row], (double)sum, (double)greatest);
        }
        for (int col = 0; col < N; col++)
            ck_assert_float_eq(column_sum[col], sums[col]);
    }
    sett_product_free(plan);
    vectors *all[] = {&bias, &aux, &amax, &rows, &most, &columns};
    for (int i = 0; i < 6; i++)
        drop_vectors(all[i]);
    drop_operands(&x), give_back(a), give_back(b), give_back(d);
}
END_TEST

/* ---- bits, and kernels ---------------------------------------------------------------------------------------------- */
/* A row has the bits that it has alone, whatever is beside it and wherever it lies. */
START_TEST(batch_invariant)
{
    enum { N = 88, K = 200, ROWS = 140, L = 3 };
    static uint16_t a[L][ROWS * K], b[N * K];
    static float d[ROWS * N], alone[N];
    r.seed = 5;
    for (int i = 0; i < L * ROWS * K; i++)
        a[i / (ROWS * K)][i % (ROWS * K)] = (uint16_t)(0x3e00 + draw(0x180) + (draw(2) << 15));
    for (int i = 0; i < N * K; i++)
        b[i] = (uint16_t)(0x3e00 + draw(0x180) + (draw(2) << 15));
    const sett_product_problem many = {.size = sizeof many, .dtype = SETT_BF16, .d = SETT_F32, .n = N, .k = K, .batch = L, .batch_invariant = 1, .pointer_array = 1};
    sett_product_problem single = many;
    single.batch = 1;
    sett_product *x = prepare(&many, ROWS), *y = prepare(&single, 1);
    void *of_a[L], *of_d[L], *of_b = copied(b, sizeof b), *to = copied(alone, sizeof alone);
    uint64_t at_a[L], at_b[L], at_d[L], at_to = (uintptr_t)to;
    for (int l = 0; l < L; l++) {
        of_a[l] = copied(a[l], sizeof a[l]), of_d[l] = copied(d, sizeof d);
        at_a[l] = (uintptr_t)of_a[l], at_b[l] = (uintptr_t)of_b, at_d[l] = (uintptr_t)of_d[l];
    }
    void *pa = copied(at_a, sizeof at_a), *pb = copied(at_b, sizeof at_b), *pd = copied(at_d, sizeof at_d), *pto = copied(&at_to, sizeof at_to);
    const sett_product_operands o = {.size = sizeof o, .a = pa, .b = pb, .d = pd};
    for (int m = ROWS; m > 0; m -= 67) {
        run_plan(x, m, &o);
        for (int l = 0; l < L; l++) {
            fetch(d, of_d[l], sizeof d);
            for (int row = l; row < m; row += 23) {
                const uint64_t at = at_a[l] + (uint64_t)row * K * 2;
                void *one = copied(&at, sizeof at);
                const sett_product_operands of_row = {.size = sizeof o, .a = one, .b = pb, .d = pto};
                run_plan(y, 1, &of_row);
                fetch(alone, to, sizeof alone);
                ck_assert_msg(!memcmp(alone, d + row * N, sizeof alone), "row %d of product %d has other bits alone than among %d", row, l, m);
                give_back(one);
            }
        }
    }
    sett_product_free(x), sett_product_free(y);
    for (int l = 0; l < L; l++)
        give_back(of_a[l]), give_back(of_d[l]);
    void *all[] = {of_b, to, pa, pb, pd, pto};
    for (int i = 0; i < 6; i++)
        give_back(all[i]);
}
END_TEST

/* Neither the number of products nor an extent changes them, on any target they are sett_gemm_mma's, and what is 0 stays so. */
START_TEST(its_kernels)
{
    static const char *const target[] = {"sm_80", "sm_89", "sm_90a", "sm_120a", "cpu"};
    for (int i = 0; i < 5; i++) {
        sett_product_problem p = {.size = sizeof p, .dtype = SETT_BF16, .n = 256, .k = 512, .batch = 1, .pointer_array = 1};
        sett_product_kernel k[SETT_PRODUCT_KERNELS], other[SETT_PRODUCT_KERNELS];
        const int n = sett_product_kernels(&p, target[i], k, &err);
        ck_assert_msg(n > 0, "%s", err.text);
        p.batch = 900, p.n = 4096, p.k = 128;
        ck_assert_int_eq(sett_product_kernels(&p, target[i], other, &err), n);
        for (int j = 0; j < n; j++) {
            ck_assert(k[j].family == &sett_gemm_mma_family && k[j].options.mma.pointer_array && k[j].options.mma.batched);
            ck_assert_mem_eq(&k[j].options.mma, &other[j].options.mma, sizeof k[j].options.mma);
        }
    }
    const sett_product_problem p = {.size = sizeof p, .dtype = SETT_BF16, .n = 16, .k = 16, .batch = 2, .pointer_array = 1};
    sett_product_problem settled = {.size = sizeof settled};
    char text[100];
    sett_product *plan = prepare(&p, 40);
    sett_product_query(plan, &settled);
    ck_assert(settled.pointer_array && settled.lda == 16 && !settled.batch_a && !settled.batch_b && !settled.batch_d);
    sett_product_explain(plan, 40, text, sizeof text);
    ck_assert_msg(!strncmp(text, "gemm_mma bm=64", 14), "%s", text);
    sett_product_free(plan);
}
END_TEST

/* ---- nothing to do, and what is refused -------------------------------------------------------------------------------- */
/* Sums of nothing are R; the arrays of A and B are there, and their addresses are not used. */
START_TEST(extents_of_0)
{
    const problem p = {.o = {.dtype = SETT_BF16, .b = SETT_BF16, .c = SETT_F32, .residual = 1, .align = 16, .align_c = 16}, .m = 9, .n = 16, .k = 0};
    check_problem(&p, shared, 2, (const int[]){9, 0}, 2);
}
END_TEST

static const struct { sett_product_problem p; const char *text; } bad[] = {
    {{.dtype = SETT_BF16, .n = 16, .k = 16}, ".pointer_array is 1: then .batch, how many addresses there are, is 1 or more"},
    {{.dtype = SETT_BF16, .n = 16, .k = 16, .batch = 2, .batch_a = 64}, ".pointer_array is 1: then .batch_a is 0"},
    {{.dtype = SETT_BF16, .n = 16, .k = 16, .batch = 2, .batch_b = 256}, ".pointer_array is 1: then .batch_b is 0"},
    {{.dtype = SETT_BF16, .n = 16, .k = 16, .batch = 2, .batch_r = 64}, ".pointer_array is 1: then .batch_r is 0"},
    {{.dtype = SETT_BF16, .n = 16, .k = 16, .batch = 2, .batch_d = 64}, ".pointer_array is 1: then .batch_d is 0"},
    {{.dtype = SETT_BF16, .n = 16, .k = 16, .batch = 1, .grouped = SETT_GROUPED_MASKED, .groups = 2}, ".pointer_array is 1: then .grouped is 0"},
    {{.dtype = SETT_F8E4M3FN, .n = 16, .k = 128, .batch = 1, .block_scales = 1}, ".pointer_array is 1: then .block_scales is 0"},
    {{.dtype = SETT_BF16, .b = SETT_I4, .n = 64, .k = 128, .batch = 1}, ".b is i4 of .dtype bf16, packed weights: then .pointer_array is 0"},
    {{.dtype = SETT_BF16, .n = 16, .k = 16, .batch = 2, .pointer_array = 2}, ".pointer_array is 2: from 0 to 1"},
};

START_TEST(refused)
{
    sett_product_problem p = bad[_i].p;
    char want[200];
    p.size = sizeof p, p.pointer_array = p.pointer_array ? p.pointer_array : 1;
    ck_assert_int_eq(sett_product_kernels(&p, NULL, NULL, &err), -1);
    snprintf(want, sizeof want, "sett_product_kernels: %s", bad[_i].text);
    ck_assert_str_eq(err.text, want);
    ck_assert_int_eq(err.status, SETT_E_ARGUMENT);
}
END_TEST

/* What the CPU engine finds: addresses that are none, and one that is less of a multiple than .align promises. */
START_TEST(wrong_addresses)
{
    enum { N = 8, K = 8 };
    uint16_t some[4 * N * K] __attribute__((aligned(16))) = {0};
    const sett_product_problem p = {.size = sizeof p, .dtype = SETT_BF16, .n = N, .k = K, .batch = 2, .pointer_array = 1};
    if (r.stream.device != SETT_CPU)
        return;
    sett_product *plan = prepare(&p, 4);
    const uint64_t right[] = {(uintptr_t)some, (uintptr_t)some}, out[] = {(uintptr_t)(some + 2 * N * K), (uintptr_t)(some + 3 * N * K)}, null[] = {(uintptr_t)some, 0}, low[] = {(uintptr_t)some, 64}, odd[] = {(uintptr_t)some, (uintptr_t)(some + 1)};
    const sett_product_operands good = {.size = sizeof good, .a = right, .b = right, .d = (void *)(uintptr_t)out}, no_a = {.size = sizeof good, .b = right, .d = (void *)(uintptr_t)out},
                                null_b = {.size = sizeof good, .a = right, .b = null, .d = (void *)(uintptr_t)out}, low_b = {.size = sizeof good, .a = right, .b = low, .d = (void *)(uintptr_t)out}, odd_a = {.size = sizeof good, .a = odd, .b = right, .d = (void *)(uintptr_t)out};
    run_plan(plan, 4, &good);
    ck_assert_int_eq(sett_product_run(plan, 4, &no_a, NULL, 0, r.stream, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_product_run: .a is NULL");
    ck_assert_int_eq(sett_product_run(plan, 4, &null_b, NULL, 0, r.stream, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_product_run: .b[1] is NULL: .pointer_array is 1, and it is the address of what product 1 has");
    ck_assert_int_eq(sett_product_run(plan, 4, &low_b, NULL, 0, r.stream, &err), SETT_E_FAULT);
    ck_assert_msg(strstr(err.text, "global memory that B points to: 0x40 is no address of it") != NULL, "%s", err.text);
    ck_assert_int_eq(sett_product_run(plan, 4, &odd_a, NULL, 0, r.stream, &err), SETT_E_FAULT);
    ck_assert_msg(strstr(err.text, "global memory that A points to: it begins ") && strstr(err.text, "bytes behind a multiple of 16, and gmem promises such a multiple"), "%s", err.text);
    sett_product_free(plan);
}
END_TEST

Suite *product_pointers_suite(void)
{
    Suite *s = suite_create("product_pointers");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, every_number_of_rows);
    tcase_add_test(t, one_product);
    tcase_add_loop_test(t, random_products, 0, 8);
    tcase_add_test(t, in_place);
    tcase_add_test(t, terms_of_each);
    tcase_add_test(t, batch_invariant);
    tcase_add_test(t, its_kernels);
    tcase_add_test(t, extents_of_0);
    tcase_add_loop_test(t, refused, 0, sizeof bad / sizeof *bad);
    tcase_add_test(t, wrong_addresses);
    suite_add_tcase(s, t);
    return s;
}
