/* SPDX-License-Identifier: Apache-2.0 */
/* Epilogues of products by name: each term alone and random compositions, on every kernel, against double precision; on the CPU engine or,
 * with SETT_TEST_GPU=1, on GPU 0. Extents end within tiles. */
#include "tests/rig/kernels_rig.h"

/* ---- elements --------------------------------------------------------------------------------------------- */
static size_t bytes_of(sett_dtype t)
{
    return (size_t)sett_dtype_bits(t) / 8;
}

static bool is_integer(sett_dtype t)
{
    return t == SETT_I8 || t == SETT_I32;
}

static double element(sett_dtype t, const unsigned char *p)
{
    const uint16_t half = (uint16_t)(*p << 8);
    int32_t word;
    memcpy(&word, p, bytes_of(t) == 4 ? 4 : 1);
    return t == SETT_I32 ? word : t == SETT_I8 ? (int8_t)*p : t == SETT_F8E5M2 ? get(SETT_F16, &half, 0) : get(t, p, 0);
}

/* A number that the type has. */
static void set_element(sett_dtype t, unsigned char *p, double x)
{
    uint16_t half;
    const int32_t word = is_integer(t) ? (int32_t)x : 0;
    if (is_integer(t))
        memcpy(p, &word, bytes_of(t));
    else if (t == SETT_F8E5M2)
        put(SETT_F16, &half, 0, x), *p = (unsigned char)(half >> 8);
    else
        put(t, p, 0, x);
}

/* Of a type: how far the nearest is, as a share of a number, and least; its greatest, least. */
typedef struct rounding {
    double share, least, high, low;
} rounding;
static rounding rounding_of(sett_dtype t)
{
    return t == SETT_F32     ? (rounding){0x1p-24, 0, FLT_MAX, -FLT_MAX}
           : t == SETT_F16   ? (rounding){0x1p-11, 0x1p-25, 65504, -65504}
           : t == SETT_BF16  ? (rounding){0x1p-8, 0, FLT_MAX, -FLT_MAX}
           : is_integer(t)   ? (rounding){0, 0.5, t == SETT_I8 ? 127 : INT32_MAX, t == SETT_I8 ? -128 : INT32_MIN}
           : t == SETT_F8E5M2 ? (rounding){0x1p-3, 0x1p-17, 57344, -57344}
                              : (rounding){0x1p-4, 0x1p-10, 448, -448};
}

/* ---- tensors ------------------------------------------------------------------------------------------------ */
/* (rows,cols,batches) whose rows lie further apart than they are long; of one column (rows,batches). */
typedef struct tensor {
    sett_dtype t;
    size_t rows, cols, batches, apart;
    unsigned char *host;
    void *data;
    sett_buf buf;
} tensor;
enum { NOBODYS = 0x77, SPARE = 16 };

static unsigned char *at_of(const tensor *x, size_t row, size_t col, size_t batch)
{
    return x->host + ((batch * x->rows + row) * x->apart + col) * bytes_of(x->t);
}

static double value_at(const tensor *x, size_t row, size_t col, size_t batch)
{
    return element(x->t, at_of(x, row, col, x->batches > 1 ? batch : 0));
}

static size_t size_of(const tensor *x)
{
    return x->rows * x->batches * x->apart * bytes_of(x->t);
}

static void send(const tensor *x)
{
    ck_assert(!sett_memcpy(r.e, r.stream, x->data, x->host, size_of(x)) && !sett_sync(r.e, r.stream));
}

static void receive(tensor *x)
{
    ck_assert(!sett_memcpy(r.e, r.stream, x->host, x->data, size_of(x)) && !sett_sync_error(r.e, r.stream, &err));
}

/* vector: (rows) or (rows,batches), beside each other. A matrix of unknown numbers is NOBODYS. */
static tensor make_tensor(sett_dtype t, size_t rows, size_t cols, size_t batches, bool vector)
{
    tensor x = {.t = t, .rows = rows, .cols = cols, .batches = batches, .apart = vector ? 1 : (cols + SPARE - 1) / SPARE * SPARE + SPARE};
    x.host = malloc(size_of(&x));
    x.data = sett_alloc(r.e, r.stream.device, size_of(&x));
    ck_assert(x.host && x.data);
    memset(x.host, NOBODYS, size_of(&x));
    const int64_t shape[] = {(int64_t)rows, (int64_t)(vector ? batches : cols), (int64_t)batches};
    x.buf = sett_buf_nd(x.data, t, (vector ? 1 : 2) + (batches > 1), shape);
    x.buf.stride[0] = (int64_t)x.apart;
    x.buf.stride[1] = vector ? (int64_t)rows : 1;
    x.buf.stride[2] = (int64_t)(rows * x.apart);
    return x;
}

static void drop_tensors(int n, tensor *x)
{
    for (int i = 0; i < n; i++)
        sett_free(r.e, r.stream.device, x[i].data), free(x[i].host);
}

/* Quarters from -most/4 to most/4, of integers -most to most. */
static void fill(tensor *x, int most, size_t seed)
{
    for (size_t i = 0; i < x->rows * x->cols * x->batches; i++) {
        const size_t row = i % x->rows, col = i / x->rows % x->cols, batch = i / x->rows / x->cols;
        const int v = (int)((row * 7 + col * 3 + row * col + batch * 11 + seed) % (size_t)(2 * most + 1)) - most;
        set_element(x->t, at_of(x, row, col, batch), is_integer(x->t) ? v : v / 4.0);
    }
    send(x);
}

/* What lies between rows was not written. */
static void check_between(const tensor *x, const char *name)
{
    for (size_t i = 0; i < size_of(x) && x->apart > 1; i++)
        ck_assert_msg(i / bytes_of(x->t) % x->apart < x->cols || x->host[i] == NOBODYS, "byte %zu of %s, between rows, was written", i, name);
}

/* ---- problems ------------------------------------------------------------------------------------------------- */
typedef struct problem {
    sett_dtype dtype, c;
    int scaled, residual, swiglu;
    sett_gemm_terms t;
    size_t m, n, k, l;
    int fma; /* sett_gemm_mma of f32 */
    int blocks; /* sett_gemm_wgmma of fp8 with scales of blocks, of ones; K is at most 128 */
    struct {
        int bm, bn, warps, ping_pong, cluster;
    } tile; /* 0: a usual one */
} problem;
enum { A, B, R, C, SA, SB, S, BIAS, AUX, AMAX, QS, SD, ROWSUM, COLSUM, ROWMAX, COLMAX, OPERANDS };
enum { MMA, WGMMA, FEW, KERNELS };
static const double alpha = 0.625, scale = 1.5, cap = 2.75, beta = -0.375, low = -0.6875, high = 1.3125;

static double quantum_of(const problem *p)
{
    return p->c == SETT_I8 ? 19.0 : 52.0;
}

/* Of .quantise 2: columns with a scale of their own. */
enum { BLOCK = 128 };
static size_t blocks_of(const problem *p)
{
    return (p->n + BLOCK - 1) / BLOCK;
}

static sett_dtype beside(sett_dtype c)
{
    return c == SETT_F32 || c == SETT_F16 || c == SETT_BF16 ? c : SETT_F32;
}

static void make_operands(const problem *p, tensor x[OPERANDS])
{
    x[A] = make_tensor(p->dtype, p->m, p->k, p->l, false), fill(&x[A], 2, 0);
    x[B] = make_tensor(p->dtype, p->n << p->swiglu, p->k, p->l, false), fill(&x[B], 2, 3);
    x[R] = make_tensor(p->c, p->m, p->n, p->l, false), fill(&x[R], 8, 1);
    x[C] = make_tensor(p->c, p->m, p->n, p->l, false), send(&x[C]);
    x[SA] = make_tensor(SETT_F32, p->m, 1, p->l, true), fill(&x[SA], 4, 2);
    x[SB] = make_tensor(SETT_F32, p->n, 1, p->l, true), fill(&x[SB], 4, 4);
    x[S] = make_tensor(SETT_F32, 1, 1, 1, true), set_element(SETT_F32, x[S].host, scale), send(&x[S]);
    x[BIAS] = make_tensor(beside(p->c), p->n, 1, p->l, true), fill(&x[BIAS], 5, 5);
    x[AUX] = make_tensor(beside(p->c), p->m, p->n, p->l, false), send(&x[AUX]);
    const bool by_rows = p->t.amax == 2;
    x[AMAX] = make_tensor(SETT_F32, by_rows ? p->m : 1, 1, by_rows ? p->l : 1, true), memset(x[AMAX].host, 0, size_of(&x[AMAX])), send(&x[AMAX]);
    x[QS] = make_tensor(SETT_F32, 1, 1, 1, true), set_element(SETT_F32, x[QS].host, quantum_of(p)), send(&x[QS]);
    x[SD] = make_tensor(SETT_F32, blocks_of(p), p->m, p->l, false), send(&x[SD]); /* a row for each block of columns */
    x[SD].buf.shape[0] = (int64_t)p->m, x[SD].buf.shape[1] = (int64_t)blocks_of(p), x[SD].buf.stride[0] = 1, x[SD].buf.stride[1] = (int64_t)x[SD].apart;
    for (int i = ROWSUM; i <= COLMAX; i++) {
        x[i] = make_tensor(SETT_F32, i == ROWSUM || i == ROWMAX ? p->m : p->n, 1, p->l, true);
        for (size_t k = 0; k < x[i].rows * x[i].batches; k++)
            set_element(SETT_F32, x[i].host + 4 * k, i >= ROWMAX ? -INFINITY : 0);
        send(&x[i]);
    }
}

/* Vectors of ones, as matrices of one column: of rows, and of blocks of 128 of them. */
static void make_blocks(const problem *p, tensor x[OPERANDS])
{
    const int64_t rows[] = {(int64_t)p->m, (int64_t)(p->n + 127) / 128 << p->swiglu};
    for (int i = SA; i <= SB; i++) {
        drop_tensors(1, &x[i]);
        x[i] = make_tensor(SETT_F32, ((size_t)rows[i - SA] + 3) / 4 * 4, 1, 1, true);
        for (size_t k = 0; k < x[i].rows; k++)
            set_element(SETT_F32, x[i].host + 4 * k, 1);
        send(&x[i]);
        x[i].buf.rank = 2, x[i].buf.shape[0] = rows[i - SA], x[i].buf.shape[1] = 1, x[i].buf.stride[0] = 1, x[i].buf.stride[1] = i == SA ? (int64_t)x[i].rows : 1;
    }
}

/* ---- what should be ----------------------------------------------------------------------------------------- */
/* A number, and how far from it what is computed may be. */
typedef struct bounded {
    double x, off;
} bounded;

/* After one more operation in Float32, that changes a difference by no more than `slope`, with an error of its own of this share. */
static bounded step(double x, bounded was, double slope, double share)
{
    return (bounded){x, was.off * slope + fabs(x) * share};
}

enum { EXACT = 0 };
static const double f32 = 0x1p-23;

static double activation_of(sett_activation a, double x)
{
    switch (a) {
    case SETT_ACTIVATION_RELU:
        return fmax(x, 0);
    case SETT_ACTIVATION_GELU:
        return x / 2 * (1 + erf(x / sqrt(2)));
    case SETT_ACTIVATION_GELU_TANH:
        return x / 2 * (1 + tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)));
    case SETT_ACTIVATION_SILU:
        return x / (1 + exp(-x));
    default:
        return x;
    }
}

static double sum_of(const tensor x[OPERANDS], size_t k, size_t row, size_t col, size_t batch)
{
    double sum = 0;
    for (size_t i = 0; i < k; i++)
        sum += value_at(&x[A], row, i, batch) * value_at(&x[B], col, i, batch);
    return sum;
}

static bounded factored(const problem *p, bounded x)
{
    const double by = (p->t.alpha ? alpha : 1) * (p->t.scale ? scale : 1);
    return p->t.alpha || p->t.scale ? step(x.x * by, x, by, 2 * f32) : x;
}

/* Up to the activation. */
static bounded inner_of(const problem *p, const tensor x[OPERANDS], size_t row, size_t col, size_t batch)
{
    bounded v = {sum_of(x, p->k, row, col, batch), EXACT};
    if (p->scaled)
        v = step(v.x * value_at(&x[SA], row, 0, batch) * value_at(&x[SB], col, 0, batch), v, 1, 2 * f32);
    v = factored(p, v);
    if (p->swiglu) {
        const bounded up = factored(p, (bounded){sum_of(x, p->k, row, col + p->n, batch), EXACT});
        v = (bounded){activation_of(SETT_ACTIVATION_SILU, v.x) * up.x, (fabs(v.x) + 1) * (fabs(up.x) + 1) * 0x1p-19};
    }
    if (p->t.bias)
        v = step(v.x + value_at(&x[BIAS], col, 0, batch), v, 1, f32);
    if (p->t.softcap)
        v = step(cap * tanh(v.x / cap), v, 1, 6 * f32);
    return v;
}

static bounded outer_of(const problem *p, const tensor x[OPERANDS], bounded v, size_t row, size_t col, size_t batch)
{
    if (p->t.activation)
        v = (bounded){activation_of(p->t.activation, v.x), v.off * 1.13 + fabs(v.x) * (p->c == SETT_F32 || p->t.activation == SETT_ACTIVATION_SILU ? 0x1p-20 : p->c == SETT_F16 ? 0x1p-16 : 0x1p-13)};
    if (p->residual) {
        const double r_of = value_at(&x[R], row, col, batch) * (p->t.beta ? beta : 1);
        v = (bounded){v.x + r_of, v.off + (fabs(v.x) + fabs(r_of)) * f32};
    }
    if (p->t.clamp)
        v.x = fmin(fmax(v.x, low), high);
    return v;
}

static void check_near(const problem *p, const char *what, sett_dtype t, double got, bounded want, size_t row, size_t col)
{
    const rounding n = rounding_of(t);
    const double is = fmin(fmax(want.x, n.low), n.high), off = want.off + (fabs(is) + want.off) * n.share + n.least;
    ck_assert_msg(fabs(got - is) <= off, "%s to %s, %s (%zu,%zu): %.9g, not %.9g (within %g)", sett_dtype_name(p->dtype), sett_dtype_name(t), what, row, col, got, is, off);
}

static bool is_told(const problem *p, int i)
{
    const int of[] = {p->t.row_sum, p->t.column_sum, p->t.row_max, p->t.column_max};
    return of[i - ROWSUM] != 0;
}

/* Sums of all values of a row or column, within n 2^-24 of those of their sizes besides what each is off; and the greatest of them. */
static void check_along(const problem *p, tensor x[OPERANDS], int i)
{
    static const char *const name[] = {"ROWSUM", "COLSUM", "ROWMAX", "COLMAX"};
    const bool by_row = i == ROWSUM || i == ROWMAX;
    const size_t others = by_row ? p->n : p->m;
    receive(&x[i]);
    for (size_t k = 0; k < x[i].rows * x[i].batches; k++) {
        const size_t at = k % x[i].rows, batch = k / x[i].rows;
        double sum = 0, sizes = 0, off = 0, most = -INFINITY, most_off = 0;
        for (size_t j = 0; j < others; j++) {
            const size_t row = by_row ? at : j, col = by_row ? j : at;
            const bounded v = outer_of(p, x, inner_of(p, x, row, col, batch), row, col, batch);
            sum += v.x, sizes += fabs(v.x), off += v.off, most = fmax(most, v.x), most_off = fmax(most_off, v.off);
        }
        const bounded want = i >= ROWMAX ? (bounded){most, most_off} : (bounded){sum, off + (double)others * 0x1p-24 * (sizes + off)};
        check_near(p, name[i - ROWSUM], SETT_F32, value_at(&x[i], at, 0, batch), want, at, 0);
    }
}

/* .quantise 2: of a row's block the greatest, G, over the type's is its scale, and C is x G's inverse times that. */
static void check_block(const problem *p, const tensor x[OPERANDS], size_t row, size_t block, size_t batch)
{
    const double greatest = rounding_of(p->c).high;
    bounded v[BLOCK], most = {1e-12, 0};
    const size_t first = block * BLOCK, n = first + BLOCK < p->n ? BLOCK : p->n - first;
    for (size_t i = 0; i < n; i++) {
        v[i] = outer_of(p, x, inner_of(p, x, row, first + i, batch), row, first + i, batch);
        most.x = fmax(most.x, fabs(v[i].x)), most.off = fmax(most.off, v[i].off);
    }
    check_near(p, "SD", SETT_F32, value_at(&x[SD], block, row, batch), step(most.x / greatest, most, 1 / greatest, f32), row, block);
    const double by = greatest / most.x;
    for (size_t i = 0; i < n && most.off < most.x / 8; i++) {
        const bounded want = {v[i].x * by, v[i].off * by + fabs(v[i].x) * by * (most.off / most.x * 2 + 2 * f32)};
        check_near(p, "C", p->c, value_at(&x[C], row, first + i, batch), want, row, first + i);
    }
}

static void check_results(const problem *p, tensor x[OPERANDS])
{
    double most[256] = {0}, off = 0;
    receive(&x[C]), receive(&x[AUX]), receive(&x[AMAX]), receive(&x[SD]);
    for (size_t i = 0; i < p->m * blocks_of(p) * p->l && p->t.quantise == 2; i++)
        check_block(p, x, i % p->m, i / p->m % blocks_of(p), i / p->m / blocks_of(p));
    for (size_t i = 0; i < p->m * p->n * p->l; i++) {
        const size_t row = i % p->m, col = i / p->m % p->n, batch = i / p->m / p->n, slot = p->t.amax == 2 ? row + batch * p->m : 0;
        const bounded in = inner_of(p, x, row, col, batch), v = outer_of(p, x, in, row, col, batch);
        if (p->t.aux)
            check_near(p, "AUX", x[AUX].t, value_at(&x[AUX], row, col, batch), in, row, col);
        if (p->t.quantise < 2)
            check_near(p, "C", p->c, value_at(&x[C], row, col, batch), p->t.quantise ? step(v.x * quantum_of(p), v, quantum_of(p), f32) : v, row, col);
        most[slot] = fmax(most[slot], fabs(v.x)), off = fmax(off, v.off);
    }
    for (size_t i = 0; i < x[AMAX].rows * x[AMAX].batches && p->t.amax; i++)
        check_near(p, "AMAX", SETT_F32, value_at(&x[AMAX], i % x[AMAX].rows, 0, i / x[AMAX].rows), (bounded){most[i], off}, i, 0);
    for (int i = ROWSUM; i <= COLMAX; i++)
        if (is_told(p, i))
            check_along(p, x, i);
    check_between(&x[C], "C"), check_between(&x[AUX], "AUX"), check_between(&x[SD], "SD");
}

/* ---- kernels -------------------------------------------------------------------------------------------------- */
static sett_val *halve(const sett_epilogue_tile *at, sett_val *x, void *user)
{
    (void)at, (void)user;
    return sett_mul(x, 0.5);
}
static void halved_mma(sett_build *b, const void *o)
{
    sett_gemm_mma_with(b, o, halve, NULL);
}
static void halved_wgmma(sett_build *b, const void *o)
{
    sett_gemm_wgmma_with(b, o, halve, NULL);
}
static void halved_few(sett_build *b, const void *o)
{
    sett_gemm_few_rows_with(b, o, halve, NULL);
}
static const struct {
    const char *name;
    sett_body body, halved;
} kernels[KERNELS] = {{"gemm_mma", sett_gemm_mma, halved_mma}, {"gemm_wgmma", sett_gemm_wgmma, halved_wgmma}, {"gemm_few_rows", sett_gemm_few_rows, halved_few}};

/* ---- launches ------------------------------------------------------------------------------------------------- */
static sett_gemm_mma_options mma_options(const problem *p)
{
    return (sett_gemm_mma_options){.size = sizeof(sett_gemm_mma_options), .dtype = p->dtype, .c = p->c, .scaled = p->scaled, .residual = p->residual, .swiglu = p->swiglu, .batched = p->l > 1,
        .terms = p->t, .align_c = 16, .tuning = {.bm = p->tile.bm ? p->tile.bm : p->fma ? 64 : 32, .bn = p->tile.bn ? p->tile.bn : p->swiglu || p->fma ? 128 : 64, .warps = p->tile.warps}};
}

static sett_gemm_wgmma_options wgmma_options(const problem *p)
{
    return (sett_gemm_wgmma_options){.size = sizeof(sett_gemm_wgmma_options), .dtype = p->dtype, .c = p->c, .scaled = p->scaled, .residual = p->residual, .swiglu = p->swiglu, .terms = p->t,
        .block_scales = p->blocks, .tuning = {.bm = p->tile.bm ? p->tile.bm : p->blocks ? 128 : 48, .bn = p->tile.bn ? p->tile.bn : p->swiglu || p->blocks ? 128 : 64, .clusters = 3, .ping_pong = p->tile.ping_pong, .cluster = p->tile.cluster}};
}

static sett_gemm_few_rows_options few_options(const problem *p)
{
    return (sett_gemm_few_rows_options){.size = sizeof(sett_gemm_few_rows_options), .dtype = p->dtype, .c = p->c, .scaled = p->scaled, .residual = p->residual, .swiglu = p->swiglu,
        .terms = p->t, .rows = 5};
}

/* The product, or a body that takes its options; NULL: the device has no such instruction. */
static sett_kernel *kernel_by(const problem *p, int which, sett_body body)
{
    const sett_gemm_mma_options m = mma_options(p);
    const sett_gemm_wgmma_options w = wgmma_options(p);
    const sett_gemm_few_rows_options f = few_options(p);
    const void *const all[] = {&m, &w, &f};
    const sett_compile_options co = {.size = sizeof co, .user = all[which]};
    sett_kernel *k = NULL;
    sett_status s = sett_kernels_compile(r.e, kernels[which].body, all[which], NULL, &k, &err);
    if (!s && body) {
        sett_kernel_release(k);
        s = sett_compile(r.e, body, &co, &k, &err);
    }
    ck_assert_msg(!s || s == SETT_E_TARGET, "%s", err.text);
    if (s)
        printf("skipped: %s\n", err.text);
    return k;
}

static sett_kernel *kernel_of(const problem *p, int which)
{
    return kernel_by(p, which, NULL);
}

typedef struct args {
    sett_launch_arg at[2 * OPERANDS];
    int n;
} args;
static void add(args *a, const tensor *x, int given)
{
    if (given)
        a->at[a->n++] = (sett_launch_arg){.kind = SETT_LAUNCH_ARG_BUF, .u = {.t = &x->buf}};
}
static void add_number(args *a, double x, int given)
{
    if (given)
        a->at[a->n++] = (sett_launch_arg){.kind = SETT_LAUNCH_ARG_FLOAT, .u = {.f = x}};
}

/* The order that gemm.h says. */
static args args_of(const problem *p, const tensor x[OPERANDS])
{
    args a = {.n = 0};
    add(&a, &x[A], 1), add(&a, &x[B], 1), add(&a, &x[R], p->residual), add(&a, &x[C], 1), add(&a, &x[SA], p->scaled || p->blocks), add(&a, &x[SB], p->scaled || p->blocks);
    add_number(&a, alpha, p->t.alpha), add(&a, &x[S], p->t.scale), add(&a, &x[BIAS], p->t.bias), add_number(&a, cap, p->t.softcap), add(&a, &x[AUX], p->t.aux);
    add_number(&a, beta, p->t.beta), add_number(&a, low, p->t.clamp), add_number(&a, high, p->t.clamp), add(&a, &x[AMAX], p->t.amax), add(&a, &x[QS], p->t.quantise == 1), add(&a, &x[SD], p->t.quantise == 2);
    for (int i = ROWSUM; i <= COLMAX; i++)
        add(&a, &x[i], is_told(p, i));
    return a;
}

static void launch(sett_kernel *k, const args *a)
{
    ck_assert_msg(!sett_launch_n(k, r.stream, a->n, a->at, &err), "%s", err.text);
    ck_assert_msg(!sett_sync_error(r.e, r.stream, &err), "%s", err.text);
    sett_kernel_release(k);
}

static void check_problem(const problem *p, int which)
{
    tensor x[OPERANDS];
    sett_kernel *k = kernel_of(p, which);
    if (!k)
        return;
    make_operands(p, x);
    if (p->blocks)
        make_blocks(p, x);
    const args a = args_of(p, x);
    launch(k, &a);
    check_results(p, x);
    drop_tensors(OPERANDS, x);
}

/* ---- each alone ------------------------------------------------------------------------------------------------- */
#define IN(...) .dtype = SETT_BF16, .c = SETT_BF16, .t = {__VA_ARGS__}
static const problem alone[] = {{IN(.alpha = 1)}, {IN(.scale = 1)}, {IN(.bias = 1)}, {IN(.softcap = 1)}, {IN(.aux = 1)}, {IN(.activation = SETT_ACTIVATION_RELU)},
    {IN(.activation = SETT_ACTIVATION_GELU)}, {IN(.activation = SETT_ACTIVATION_GELU_TANH)}, {IN(.activation = SETT_ACTIVATION_SILU)}, {IN(.beta = 1), .residual = 1}, {IN(.clamp = 1)},
    {IN(.amax = 1)}, {IN(.amax = 2)}, {IN(.row_sum = 1)}, {IN(.column_sum = 1)}, {IN(.row_max = 1)}, {IN(.column_max = 1)}, {IN(.row_max = 1, .column_max = 1, .clamp = 1), .residual = 1},
    {.dtype = SETT_BF16, .c = SETT_F8E4M3FN, .t = {.quantise = 1, .column_sum = 1, .row_max = 1}}, {IN(.row_sum = 1, .column_max = 1), .swiglu = 1}, {.dtype = SETT_BF16, .c = SETT_F8E4M3FN, .t = {.quantise = 1}}, {.dtype = SETT_F16, .c = SETT_F8E5M2, .t = {.quantise = 1, .aux = 1}},
    {.dtype = SETT_I8, .c = SETT_I8, .t = {.quantise = 1, .scale = 1, .bias = 1}}, {.dtype = SETT_F16, .c = SETT_F32, .t = {.activation = SETT_ACTIVATION_GELU}},
    {.dtype = SETT_F16, .c = SETT_F16, .t = {.softcap = 1}}, {.dtype = SETT_F16, .c = SETT_F16, .t = {.activation = SETT_ACTIVATION_GELU}},
    {.dtype = SETT_F16, .c = SETT_F32, .t = {.activation = SETT_ACTIVATION_GELU_TANH}}, {IN(.alpha = 1, .scale = 1, .amax = 2), .swiglu = 1}, {.dtype = SETT_F8E4M3FN, .c = SETT_BF16, .scaled = 1, .t = {.scale = 1, .bias = 1}}};

START_TEST(each_alone)
{
    problem p = alone[_i / KERNELS];
    p.m = 73, p.n = 96, p.k = 40, p.l = 1; /* of other than multiples of 5 rows or columns the sums are not 0 */
    check_problem(&p, _i % KERNELS);
}
END_TEST

/* Of sett_gemm_mma alone: multiply-adds, and batches, which have vectors of their own. */
START_TEST(only_mma)
{
    static const problem of_mma[] = {{.dtype = SETT_F32, .c = SETT_F32, .fma = 1, .t = {.bias = 1, .softcap = 1, .aux = 1, .activation = SETT_ACTIVATION_GELU, .amax = 2}},
        {.dtype = SETT_F32, .c = SETT_F32, .fma = 1, .t = {.alpha = 1, .clamp = 1, .amax = 1}},
        {.dtype = SETT_F32, .c = SETT_F32, .fma = 1, .t = {.row_sum = 1, .column_sum = 1, .row_max = 1, .column_max = 1}},
        {.dtype = SETT_F16, .c = SETT_F32, .l = 3, .t = {.bias = 1, .row_sum = 1, .column_sum = 1, .row_max = 1, .column_max = 1}},
        {.dtype = SETT_F16, .c = SETT_F16, .l = 3, .scaled = 1, .residual = 1, .t = {.bias = 1, .aux = 1, .beta = 1, .amax = 2}},
        {.dtype = SETT_BF16, .c = SETT_F8E4M3FN, .l = 2, .t = {.scale = 1, .bias = 1, .quantise = 1, .amax = 1, .aux = 1}}};
    problem p = of_mma[_i];
    p.m = 47, p.n = 96, p.k = 40, p.l = p.l ? p.l : 1;
    check_problem(&p, MMA);
}
END_TEST

/* Tiles of sett_gemm_wgmma that are not turned, whose lanes have other rows and columns. */
START_TEST(upright)
{
    static const problem of[] = {{.t = {.amax = 2, .bias = 1, .aux = 1}}, {.t = {.row_sum = 1, .column_sum = 1}}, {.t = {.row_max = 1, .column_max = 1, .alpha = 1}},
        {.swiglu = 1, .t = {.row_sum = 1, .column_sum = 1, .row_max = 1, .column_max = 1, .amax = 1}}};
    problem p = of[_i / 2];
    p.dtype = SETT_F8E4M3FN, p.c = _i % 2 ? SETT_BF16 : SETT_F32, p.blocks = 1, p.m = 151, p.n = 144, p.k = 48, p.l = 1;
    check_problem(&p, WGMMA);
}
END_TEST

/* ---- .quantise 2 ------------------------------------------------------------------------------------------------- */
#define TILE(...) .tile = {__VA_ARGS__}
#define ALL_TERMS .t = {.quantise = 2, .alpha = 1, .bias = 1, .aux = 1, .activation = SETT_ACTIVATION_RELU, .clamp = 1, .amax = 2, .row_sum = 1, .column_sum = 1, .row_max = 1, .column_max = 1}
/* By each way in which the threads of a tile share its rows. */
static const struct {
    problem p;
    int which;
} blocks[] = {{{TILE(64, 128)}, WGMMA}, {{TILE(48, 256), .residual = 1}, WGMMA}, {{TILE(128, 128, .ping_pong = 1), ALL_TERMS}, WGMMA}, {{TILE(64, 128, .ping_pong = 1), .residual = 1}, WGMMA}, {{TILE(32, 128, .cluster = 2)}, WGMMA},
    {{TILE(8, 128), .dtype = SETT_F16, .c = SETT_F8E5M2}, WGMMA}, {{TILE(144, 128), ALL_TERMS}, WGMMA}, {{TILE(128, 256), .swiglu = 1}, WGMMA}, {{TILE(56, 256), .swiglu = 1, .dtype = SETT_F8E4M3FN, .blocks = 1}, WGMMA},
    {{TILE(128, 128), .dtype = SETT_F8E4M3FN, .blocks = 1, ALL_TERMS}, WGMMA}, {{TILE(64, 128), .dtype = SETT_F8E4M3FN, .blocks = 1, .residual = 1}, WGMMA}, {{TILE(96, 128), .dtype = SETT_I8, .scaled = 1, .t = {.quantise = 2, .bias = 1}}, WGMMA},
    {{TILE(128, 256), .t = {.quantise = 2, .amax = 1}}, WGMMA}, {{TILE(40, 256, .ping_pong = 1)}, WGMMA},
    {{TILE(32, 128)}, MMA}, {{TILE(16, 256), .dtype = SETT_F8E4M3FN, .c = SETT_F8E5M2, ALL_TERMS}, MMA}, {{TILE(64, 256, 8), .residual = 1}, MMA}, {{TILE(128, 128, 8), ALL_TERMS}, MMA}, {{TILE(64, 256), .swiglu = 1}, MMA},
    {{TILE(16, 128), .dtype = SETT_F32, .fma = 1, ALL_TERMS}, MMA}, {{TILE(128, 128, 8), .dtype = SETT_F32, .fma = 1}, MMA}, {{TILE(64, 256, 8), .dtype = SETT_F32, .fma = 1, .residual = 1}, MMA}, {{TILE(32, 128, 1), .dtype = SETT_F32, .fma = 1}, MMA},
    {{TILE(32, 256), .l = 3, .scaled = 1, .t = {.quantise = 2, .bias = 1}}, MMA}, {{TILE(64, 128), .dtype = SETT_I8, .t = {.quantise = 2, .scale = 1}}, MMA}, {{TILE(256, 128, 8)}, MMA}};

START_TEST(of_blocks)
{
    static const size_t extents[][2] = {{73, 288}, {150, 144}}; /* the last block has 32 or 16 columns */
    problem p = blocks[_i / 2].p;
    p.dtype = p.dtype ? p.dtype : SETT_BF16, p.c = p.c ? p.c : SETT_F8E4M3FN, p.t.quantise = 2, p.l = p.l ? p.l : 1;
    p.m = extents[_i % 2][0], p.n = extents[_i % 2][1], p.k = 40;
    check_problem(&p, blocks[_i / 2].which);
}
END_TEST

/* Zeros stay zeros, with the least scale; a NaN makes its block NaN, an infinity the others of its block 0; the blocks beside it have none of that. */
START_TEST(blocks_of_no_numbers)
{
    problem p = {.dtype = SETT_BF16, .c = SETT_F8E5M2, .m = 40, .n = 256, .k = 16, .l = 1, .residual = 1, .t = {.quantise = 2}, TILE(32, 128)};
    const unsigned char no_number = 0x7e, infinite = 0x7c;
    tensor x[OPERANDS];
    sett_kernel *k = kernel_of(&p, _i);
    if (!k)
        return;
    make_operands(&p, x);
    memset(x[A].host, 0, size_of(&x[A])), send(&x[A]);
    memset(at_of(&x[R], 3, 128, 0), 0, 128), *at_of(&x[R], 5, 7, 0) = no_number, *at_of(&x[R], 33, 130, 0) = infinite, send(&x[R]);
    const args a = args_of(&p, x);
    launch(k, &a);
    receive(&x[C]), receive(&x[SD]);
    for (size_t col = 0; col < 256; col++) {
        const double was = value_at(&x[R], 33, col, 0), in_nan = value_at(&x[C], 5, col, 0), in_infinite = value_at(&x[C], 33, col, 0);
        ck_assert(isnan(in_nan) == (col < 128));
        ck_assert(col < 128 ? fabs(in_infinite) > 0 || was == 0 : col == 130 ? isnan(in_infinite) : in_infinite == 0);
        ck_assert(col < 128 || value_at(&x[C], 3, col, 0) == 0);
    }
    ck_assert_double_eq(value_at(&x[SD], 1, 3, 0), (double)(1e-12f / 57344));
    ck_assert(isnan(value_at(&x[SD], 0, 5, 0)) && isinf(value_at(&x[SD], 1, 33, 0)) && isfinite(value_at(&x[SD], 1, 5, 0)) && isfinite(value_at(&x[SD], 0, 33, 0)));
    drop_tensors(OPERANDS, x);
}
END_TEST

/* ---- compositions ------------------------------------------------------------------------------------------------ */
static uint64_t random_state;
static int below(int n)
{
    return (int)((uniform(&random_state) + 1) / 2 * n);
}

static problem random_problem(void)
{
    static const sett_dtype types[] = {SETT_F16, SETT_BF16, SETT_F8E4M3FN, SETT_F8E5M2, SETT_I8}, results[] = {SETT_F32, SETT_F16, SETT_BF16, SETT_F8E4M3FN, SETT_F8E5M2, SETT_I8};
    problem p = {.dtype = types[below(5)], .c = results[below(6)], .residual = below(2), .m = 1 + (size_t)below(120), .n = 16 * (size_t)(1 + below(8)), .k = 1 + (size_t)below(60), .l = 1};
    p.swiglu = p.dtype != SETT_I8 && !below(5), p.scaled = !p.swiglu && below(2);
    p.t = (sett_gemm_terms){.alpha = below(2), .scale = below(2), .beta = p.residual && below(2), .clamp = below(2), .amax = below(3),
        .row_sum = below(3) == 0, .column_sum = below(3) == 0, .row_max = below(3) == 0, .column_max = below(3) == 0};
    if (!p.swiglu)
        p.t.bias = below(2), p.t.softcap = below(2), p.t.aux = below(2), p.t.activation = (sett_activation)below(5);
    p.t.quantise = p.c == SETT_I8 || bytes_of(p.c) > 1 ? p.c == SETT_I8 : below(3);
    if (p.t.quantise == 2)
        p.n += 128, p.tile.bn = p.swiglu ? 256 : 128;
    return p;
}

START_TEST(compositions)
{
    random_state = 0x9e3779b97f4a7c15u * (uint64_t)(_i + 1);
    const problem p = random_problem();
    for (int k = 0; k < KERNELS; k++)
        if ((r.stream.device == SETT_CPU || k == _i % KERNELS) && (k != FEW || p.t.quantise < 2)) /* a GPU's kernels are assembled */
            check_problem(&p, k);
}
END_TEST

/* Where all are below 0; what was there and is above them stays, and sums are added to. */
START_TEST(all_negative)
{
    problem p = {.dtype = SETT_BF16, .c = SETT_F32, .residual = 1, .m = 70, .n = 80, .k = 16, .l = 1, .t = {.row_sum = 1, .column_sum = 1, .row_max = 1, .column_max = 1}};
    tensor x[OPERANDS];
    sett_kernel *k = kernel_of(&p, _i);
    if (!k)
        return;
    make_operands(&p, x);
    for (size_t i = 0; i < p.m * p.n; i++)
        set_element(SETT_F32, at_of(&x[R], i / p.n, i % p.n, 0), -40.0 - (double)(i * 7 % 33));
    set_element(SETT_F32, at_of(&x[ROWMAX], 7, 0, 0), -1), set_element(SETT_F32, at_of(&x[COLMAX], 9, 0, 0), 2), set_element(SETT_F32, at_of(&x[ROWSUM], 0, 0, 0), 1e6);
    for (int i = 0; i < OPERANDS; i++)
        send(&x[i]);
    const args a = args_of(&p, x);
    launch(k, &a);
    receive(&x[ROWMAX]), receive(&x[COLMAX]), receive(&x[ROWSUM]);
    ck_assert(value_at(&x[ROWMAX], 7, 0, 0) == -1 && value_at(&x[COLMAX], 9, 0, 0) == 2 && value_at(&x[ROWMAX], 8, 0, 0) < -30);
    ck_assert(value_at(&x[ROWSUM], 0, 0, 0) > 1e6 - 80 * 73 && value_at(&x[ROWSUM], 0, 0, 0) < 1e6 - 80 * 39);
    for (int i = 0; i < 2; i++)
        set_element(SETT_F32, at_of(&x[i ? COLMAX : ROWMAX], 7 + 2 * (size_t)i, 0, 0), -1e9), send(&x[i ? COLMAX : ROWMAX]);
    k = kernel_of(&p, _i);
    launch(k, &a); /* the same once more */
    check_along(&p, x, ROWMAX), check_along(&p, x, COLMAX);
    drop_tensors(OPERANDS, x);
}
END_TEST

/* ---- numbers that are none --------------------------------------------------------------------------------------- */
/* A NaN of R comes out, and into the greatest, where it is above what was there; infinities are what they are. */
START_TEST(no_numbers)
{
    const problem p = {.dtype = SETT_BF16, .c = SETT_F32, .residual = 1, .m = 70, .n = 80, .k = 16, .l = 1, .t = {.activation = SETT_ACTIVATION_RELU, .clamp = _i / KERNELS, .amax = 2, .row_sum = 1, .column_sum = 1, .row_max = 1, .column_max = 1}};
    const float nan_of = NAN, infinite = -INFINITY, before = 1e6f;
    tensor x[OPERANDS];
    sett_kernel *k = kernel_of(&p, _i % KERNELS);
    if (!k)
        return;
    make_operands(&p, x);
    memcpy(at_of(&x[R], 69, 79, 0), &nan_of, 4), memcpy(at_of(&x[R], 3, 5, 0), &infinite, 4), memcpy(at_of(&x[AMAX], 7, 0, 0), &before, 4);
    send(&x[R]), send(&x[AMAX]);
    const args a = args_of(&p, x);
    launch(k, &a);
    receive(&x[C]), receive(&x[AMAX]);
    ck_assert(isnan(value_at(&x[C], 69, 79, 0)) && isnan(value_at(&x[AMAX], 69, 0, 0)));
    ck_assert_double_eq(value_at(&x[C], 3, 5, 0), p.t.clamp ? low : -INFINITY);
    ck_assert(p.t.clamp ? value_at(&x[AMAX], 3, 0, 0) <= high : isinf(value_at(&x[AMAX], 3, 0, 0)));
    ck_assert_double_eq(value_at(&x[AMAX], 7, 0, 0), 1e6);
    ck_assert(isfinite(value_at(&x[AMAX], 68, 0, 0)));
    for (int i = ROWSUM; i <= COLMAX; i++) {
        const bool by_row = i == ROWSUM || i == ROWMAX;
        receive(&x[i]);
        ck_assert(isnan(value_at(&x[i], by_row ? 69 : 79, 0, 0)) && isfinite(value_at(&x[i], 68, 0, 0)));
        ck_assert(isfinite(value_at(&x[i], by_row ? 3 : 5, 0, 0)) == (i >= ROWMAX || p.t.clamp));
    }
    drop_tensors(OPERANDS, x);
}
END_TEST

/* Activations of great numbers: nothing overflows on the way. */
START_TEST(great_numbers)
{
    const problem p = {.dtype = SETT_BF16, .c = _i / KERNELS / 4 ? SETT_F32 : SETT_BF16, .m = 9, .n = 16, .k = 8, .l = 1, .t = {.bias = 1, .activation = (sett_activation)(1 + _i / KERNELS % 4)}};
    static const double great[] = {1e30, -1e30, 3e38, -3e38, -INFINITY, -30, 20000, -20000, INFINITY};
    tensor x[OPERANDS];
    sett_kernel *k = kernel_of(&p, _i % KERNELS);
    if (!k)
        return;
    make_operands(&p, x);
    for (size_t i = 0; i < 9; i++) {
        const float f = (float)great[i];
        memcpy(at_of(&x[BIAS], i, 0, 0), (const char *)&f + 4 - bytes_of(p.c), bytes_of(p.c)); /* bf16 is the upper half */
    }
    send(&x[BIAS]);
    const args a = args_of(&p, x);
    launch(k, &a);
    receive(&x[C]);
    for (size_t i = 0; i < 9; i++) {
        const double got = value_at(&x[C], 4, i, 0), is = value_at(&x[BIAS], i, 0, 0) + sum_of(x, p.k, 4, i, 0), want = is < 0 ? 0 : is;
        ck_assert_msg(got == want || fabs(got - want) <= fabs(want) * 0x1p-8 + 1e-9, "%g gives %g", is, got);
    }
    drop_tensors(OPERANDS, x);
}
END_TEST

/* ---- with a function of the caller's ------------------------------------------------------------------------------ */
/* It stands behind the activation, and before R. */
START_TEST(a_function)
{
    const problem p = {.dtype = SETT_BF16, .c = SETT_F32, .residual = 1, .m = 50, .n = 80, .k = 24, .l = 1, .t = {.bias = 1, .aux = 1, .activation = SETT_ACTIVATION_RELU, .beta = 1}};
    tensor x[OPERANDS];
    sett_kernel *k = kernel_by(&p, _i, kernels[_i].halved);
    if (!k)
        return;
    make_operands(&p, x);
    const args a = args_of(&p, x);
    launch(k, &a);
    receive(&x[C]);
    for (size_t i = 0; i < p.m * p.n; i++) {
        const size_t row = i % p.m, col = i / p.m;
        const double in = sum_of(x, p.k, row, col, 0) + value_at(&x[BIAS], col, 0, 0);
        ck_assert_double_eq(value_at(&x[C], row, col, 0), fmax(in, 0) / 2 + beta * value_at(&x[R], row, col, 0)); /* all are exact */
    }
    drop_tensors(OPERANDS, x);
}
END_TEST

/* ---- shared tiles --------------------------------------------------------------------------------------------------- */
/* With .stream_k each element is told once, by who stores it; the workspace stands behind the terms. */
START_TEST(streamed)
{
    enum { LEFT = 256, PARTIAL = 1 << 16, WORKERS = 5, STREAMED = 3 };
    problem p = {.dtype = SETT_BF16, .c = SETT_BF16, .m = 70, .n = 96, .k = 300, .l = 1, .t = {.alpha = 1, .bias = 1, .aux = 1, .activation = SETT_ACTIVATION_SILU, .amax = 1 + _i}};
    sett_gemm_wgmma_options o = wgmma_options(&p);
    o.stream_k = 1, o.tuning.clusters = 0;
    sett_kernel *k = kernel_of(&p, WGMMA);
    if (!k)
        return;
    sett_kernel_release(k);
    k = compiled(sett_gemm_wgmma, &o);
    tensor x[OPERANDS], partial = make_tensor(SETT_F32, PARTIAL, 1, 1, true), left = make_tensor(SETT_I32, LEFT, 1, 1, true);
    make_operands(&p, x);
    memset(left.host, 0, size_of(&left)), send(&left);
    left.buf.dtype = SETT_U32;
    args a = args_of(&p, x);
    add(&a, &partial, 1), add(&a, &left, 1);
    a.at[a.n++] = (sett_launch_arg){.kind = SETT_LAUNCH_ARG_INT, .u = {.i = WORKERS}};
    a.at[a.n++] = (sett_launch_arg){.kind = SETT_LAUNCH_ARG_INT, .u = {.i = STREAMED}};
    launch(k, &a);
    check_results(&p, x);
    drop_tensors(OPERANDS, x), drop_tensors(1, &partial), drop_tensors(1, &left);
}
END_TEST

/* ---- what is refused ---------------------------------------------------------------------------------------------------- */
static const struct {
    sett_gemm_mma_options o;
    const char *why;
} bad[] = {
    {{.dtype = SETT_F16, .terms.alpha = 2}, ".alpha is 2: from 0 to 1"},
    {{.dtype = SETT_F16, .terms.scale = -1}, ".scale is -1: from 0 to 1"},
    {{.dtype = SETT_F16, .terms.bias = 2}, ".bias is 2: from 0 to 1"},
    {{.dtype = SETT_F16, .terms.softcap = 2}, ".softcap is 2: from 0 to 1"},
    {{.dtype = SETT_F16, .terms.aux = 2}, ".aux is 2: from 0 to 1"},
    {{.dtype = SETT_F16, .terms.activation = (sett_activation)5}, ".activation is 5: none, relu, gelu, gelu_tanh or silu (sett_activation)"},
    {{.dtype = SETT_F16, .residual = 1, .terms.beta = 2}, ".beta is 2: from 0 to 1"},
    {{.dtype = SETT_F16, .terms.clamp = 2}, ".clamp is 2: from 0 to 1"},
    {{.dtype = SETT_F16, .terms.quantise = 3}, ".quantise is 3: from 0 to 2"},
    {{.dtype = SETT_F16, .terms.quantise = 2}, ".quantise is 2: .c is f8E4M3FN or f8E5M2 then, and not f16"},
    {{.dtype = SETT_F16, .c = SETT_I8, .terms.quantise = 2}, ".quantise is 2: .c is f8E4M3FN or f8E5M2 then, and not i8"},
    {{.dtype = SETT_F16, .terms.amax = 3}, ".amax is 3: from 0 to 2"},
    {{.dtype = SETT_F16, .terms.row_sum = 2}, ".row_sum is 2: from 0 to 1"},
    {{.dtype = SETT_F16, .terms.column_sum = -1}, ".column_sum is -1: from 0 to 1"},
    {{.dtype = SETT_F16, .terms.row_max = 2}, ".row_max is 2: from 0 to 1"},
    {{.dtype = SETT_F16, .terms.column_max = 2}, ".column_max is 2: from 0 to 1"},
    {{.dtype = SETT_F16, .terms.beta = 1}, ".beta is 1: .residual is 1 then, which is what it multiplies"},
    {{.dtype = SETT_F16, .terms.quantise = 1}, ".quantise is 1: .c is f8E4M3FN, f8E5M2 or i8 then, and not f16"},
    {{.dtype = SETT_F16, .swiglu = 1, .terms.bias = 1}, ".swiglu is 1: then .bias is 0"},
    {{.dtype = SETT_F16, .swiglu = 1, .terms.softcap = 1}, ".swiglu is 1: then .softcap is 0"},
    {{.dtype = SETT_F16, .swiglu = 1, .terms.aux = 1}, ".swiglu is 1: then .aux is 0"},
    {{.dtype = SETT_F16, .swiglu = 1, .terms.activation = SETT_ACTIVATION_GELU}, ".swiglu is 1: then .activation is 0"},
};

static void check_wrong(sett_body body, void *options, const char *want)
{
    ck_assert_int_eq(sett_kernels_choose(body, options, NULL, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, want);
}

START_TEST(refused)
{
    sett_gemm_mma_options m = bad[_i].o;
    sett_gemm_wgmma_options w = {.size = sizeof w, .dtype = m.dtype, .c = m.c, .swiglu = m.swiglu, .residual = m.residual, .terms = m.terms};
    sett_gemm_few_rows_options f = {.size = sizeof f, .dtype = m.dtype, .c = m.c, .swiglu = m.swiglu, .residual = m.residual, .terms = m.terms};
    void *const all[] = {&m, &w, &f};
    char want[200];
    m.size = sizeof m;
    for (int i = 0; i < KERNELS; i++) {
        snprintf(want, sizeof want, "sett_kernels_choose: %s: %s", kernels[i].name, bad[_i].why);
        check_wrong(kernels[i].body, all[i], want);
    }
}
END_TEST

/* Tiles without whole blocks of columns. */
START_TEST(no_blocks)
{
    sett_gemm_mma_options m = {.size = sizeof m, .dtype = SETT_F16, .c = SETT_F8E4M3FN, .terms.quantise = 2, .tuning = {.bm = 32, .bn = 64}};
    sett_gemm_wgmma_options w = {.size = sizeof w, .dtype = SETT_F16, .c = SETT_F8E4M3FN, .terms.quantise = 2, .tuning.bn = 64};
    sett_gemm_few_rows_options f = {.size = sizeof f, .dtype = SETT_F16, .c = SETT_F8E4M3FN, .terms.quantise = 2};
    check_wrong(sett_gemm_mma, &m, "sett_kernels_choose: gemm_mma: .bn is 64: of .quantise 2 256 or 128, as a tile has whole blocks of 128 columns of C");
    m.tuning.bn = 128, m.swiglu = 1;
    check_wrong(sett_gemm_mma, &m, "sett_kernels_choose: gemm_mma: .bn is 128: of .quantise 2 and .swiglu 256, as a tile has whole blocks of 128 columns of C");
    m.swiglu = 0, m.tuning.bm = 16, m.tuning.bn = 256, m.tuning.warps = 8, m.dtype = SETT_F32;
    check_wrong(sett_gemm_mma, &m, "sett_kernels_choose: gemm_mma: .warps is 8: of .quantise 2 they compute at most 128 columns at once, and with .bm 16 these compute 256");
    check_wrong(sett_gemm_wgmma, &w, "sett_kernels_choose: gemm_wgmma: .bn is 64: of .quantise 2 256 or 128, as a tile has whole blocks of 128 columns of C");
    w.tuning.bn = 128, w.swiglu = 1;
    check_wrong(sett_gemm_wgmma, &w, "sett_kernels_choose: gemm_wgmma: .bn is 128: of .quantise 2 and .swiglu 256, as a tile has whole blocks of 128 columns of C");
    check_wrong(sett_gemm_few_rows, &f, "sett_kernels_choose: gemm_few_rows: .quantise is 2: 0 or 1, as a block of sett_gemm_few_rows has fewer than 128 columns");
}
END_TEST

/* What is chosen has them. */
START_TEST(chosen_blocks)
{
    static const sett_dtype types[] = {SETT_F16, SETT_F8E4M3FN, SETT_I8, SETT_F32};
    for (int i = 0; i < 4 * 2 * 7; i++) {
        const int swiglu = i / 4 % 2 && types[i % 4] != SETT_I8;
        sett_gemm_mma_options m = {.size = sizeof m, .dtype = types[i % 4], .c = SETT_F8E4M3FN, .swiglu = swiglu, .terms.quantise = 2, .tuning = {.m = 1 << i / 8 * 2, .n = 4096}};
        sett_gemm_wgmma_options w = {.size = sizeof w, .dtype = types[i % 4], .tf32 = types[i % 4] == SETT_F32, .c = SETT_F8E4M3FN, .swiglu = swiglu, .terms.quantise = 2, .tuning = {.m = i / 8 ? 1 << i / 8 * 2 : 0, .n = 4096}};
        ck_assert_msg(!sett_kernels_choose(sett_gemm_mma, &m, "sm_89", &err) && !sett_kernels_choose(sett_gemm_wgmma, &w, "sm_90a", &err), "%s", err.text);
        ck_assert_int_eq((m.tuning.bn >> swiglu) % 128, 0);
        ck_assert_int_eq((w.tuning.bn >> swiglu) % 128, 0);
    }
}
END_TEST

/* Sums of integers that stay integers have none of these; i8 comes of floats by .quantise alone; with terms i8 gives a float. */
START_TEST(integers)
{
    sett_gemm_mma_options o = {.size = sizeof o, .dtype = SETT_I8, .c = SETT_I32, .terms.bias = 1}, small = {.size = sizeof small, .dtype = SETT_F16, .c = SETT_I8, .terms.bias = 1};
    sett_gemm_wgmma_options w = {.size = sizeof w, .dtype = SETT_F16, .c = SETT_I8};
    sett_gemm_few_rows_options f = {.size = sizeof f, .dtype = SETT_F16, .c = SETT_I8};
    check_wrong(sett_gemm_mma, &o, "sett_kernels_choose: gemm_mma: .c is i32: with .bias it is a float, or i8");
    o.terms.bias = 0, o.terms.column_sum = 1;
    check_wrong(sett_gemm_mma, &o, "sett_kernels_choose: gemm_mma: .c is i32: with .column_sum it is a float, or i8");
    o.terms.column_sum = 0, o.terms.amax = 1;
    check_wrong(sett_gemm_mma, &o, "sett_kernels_choose: gemm_mma: .c is i32: with .amax it is a float, or i8");
    check_wrong(sett_gemm_mma, &small, "sett_kernels_choose: gemm_mma: .c is i8: f32, f16, bf16, f8E4M3FN or f8E5M2; i8 with .quantise");
    check_wrong(sett_gemm_wgmma, &w, "sett_kernels_choose: gemm_wgmma: .c is i8: f32, f16, bf16, f8E4M3FN or f8E5M2; i8 with .quantise");
    check_wrong(sett_gemm_few_rows, &f, "sett_kernels_choose: gemm_few_rows: .c is i8: f32, f16, bf16, f8E4M3FN or f8E5M2; i8 with .quantise");
    o.c = 0;
    ck_assert_msg(!sett_kernels_choose(sett_gemm_mma, &o, NULL, &err), "%s", err.text);
    ck_assert_int_eq(o.c, SETT_BF16);
}
END_TEST

Suite *epilogues_suite(void)
{
    Suite *s = suite_create("epilogues");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, each_alone, 0, KERNELS * (int)(sizeof alone / sizeof *alone));
    tcase_add_loop_test(t, only_mma, 0, 6);
    tcase_add_loop_test(t, upright, 0, 8);
    tcase_add_loop_test(t, all_negative, 0, KERNELS);
    tcase_add_loop_test(t, compositions, 0, 30);
    tcase_add_loop_test(t, no_numbers, 0, 2 * KERNELS);
    tcase_add_loop_test(t, great_numbers, 0, 8 * KERNELS);
    tcase_add_loop_test(t, a_function, 0, KERNELS);
    tcase_add_loop_test(t, streamed, 0, 2);
    tcase_add_loop_test(t, refused, 0, sizeof bad / sizeof *bad);
    tcase_add_test(t, integers);
    tcase_add_loop_test(t, of_blocks, 0, 2 * sizeof blocks / sizeof *blocks);
    tcase_add_loop_test(t, blocks_of_no_numbers, 0, FEW);
    tcase_add_test(t, no_blocks);
    tcase_add_test(t, chosen_blocks);
    suite_add_tcase(s, t);
    return s;
}
