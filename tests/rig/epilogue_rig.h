/* SPDX-License-Identifier: Apache-2.0 */
/* For suites of epilogues by name: a problem, its operands, what should be in double precision, and each kernel that has the terms. Extents end within tiles. */
#ifndef EPILOGUE_RIG_H
#define EPILOGUE_RIG_H
#include "tests/rig/kernels_rig.h"

/* ---- elements --------------------------------------------------------------------------------------------- */
static inline size_t bytes_of(sett_dtype t)
{
    return (size_t)sett_dtype_bits(t) / 8;
}

static inline bool is_integer(sett_dtype t)
{
    return t == SETT_I8 || t == SETT_I32;
}

static inline double element(sett_dtype t, const unsigned char *p)
{
    const uint16_t half = (uint16_t)(*p << 8);
    int32_t word;
    memcpy(&word, p, bytes_of(t) == 4 ? 4 : 1);
    return t == SETT_I32 ? word : t == SETT_I8 ? (int8_t)*p : t == SETT_F8E5M2 ? get(SETT_F16, &half, 0) : get(t, p, 0);
}

/* A number that the type has. */
static inline void set_element(sett_dtype t, unsigned char *p, double x)
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
static inline rounding rounding_of(sett_dtype t)
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

static inline unsigned char *at_of(const tensor *x, size_t row, size_t col, size_t batch)
{
    return x->host + ((batch * x->rows + row) * x->apart + col) * bytes_of(x->t);
}

static inline double value_at(const tensor *x, size_t row, size_t col, size_t batch)
{
    return element(x->t, at_of(x, row, col, x->batches > 1 ? batch : 0));
}

static inline size_t size_of(const tensor *x)
{
    return x->rows * x->batches * x->apart * bytes_of(x->t);
}

static inline void send(const tensor *x)
{
    ck_assert(!sett_memcpy(r.e, r.stream, x->data, x->host, size_of(x)) && !sett_sync(r.e, r.stream));
}

static inline void receive(tensor *x)
{
    ck_assert(!sett_memcpy(r.e, r.stream, x->host, x->data, size_of(x)) && !sett_sync_error(r.e, r.stream, &err));
}

/* vector: (rows) or (rows,batches), beside each other. A matrix of unknown numbers is NOBODYS. */
static inline tensor make_tensor(sett_dtype t, size_t rows, size_t cols, size_t batches, bool vector)
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

static inline void drop_tensors(int n, tensor *x)
{
    for (int i = 0; i < n; i++)
        sett_free(r.e, r.stream.device, x[i].data), free(x[i].host);
}

/* Quarters from -most/4 to most/4, of integers -most to most. */
static inline void fill(tensor *x, int most, size_t seed)
{
    for (size_t i = 0; i < x->rows * x->cols * x->batches; i++) {
        const size_t row = i % x->rows, col = i / x->rows % x->cols, batch = i / x->rows / x->cols;
        const int v = (int)((row * 7 + col * 3 + row * col + batch * 11 + seed) % (size_t)(2 * most + 1)) - most;
        set_element(x->t, at_of(x, row, col, batch), is_integer(x->t) ? v : v / 4.0);
    }
    send(x);
}

/* What lies between rows was not written. */
static inline void check_between(const tensor *x, const char *name)
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

static inline double quantum_of(const problem *p)
{
    return p->c == SETT_I8 ? 19.0 : 52.0;
}

/* Of .quantise 2: columns with a scale of their own. */
enum { BLOCK = 128 };
static inline size_t blocks_of(const problem *p)
{
    return (p->n + BLOCK - 1) / BLOCK;
}

static inline sett_dtype beside(sett_dtype c)
{
    return c == SETT_F32 || c == SETT_F16 || c == SETT_BF16 ? c : SETT_F32;
}

static inline void make_operands(const problem *p, tensor x[OPERANDS])
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
static inline void make_blocks(const problem *p, tensor x[OPERANDS])
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
static inline bounded step(double x, bounded was, double slope, double share)
{
    return (bounded){x, was.off * slope + fabs(x) * share};
}

enum { EXACT = 0 };
static const double f32 = 0x1p-23;

static inline double activation_of(sett_activation a, double x)
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

static inline double sum_of(const tensor x[OPERANDS], size_t k, size_t row, size_t col, size_t batch)
{
    double sum = 0;
    for (size_t i = 0; i < k; i++)
        sum += value_at(&x[A], row, i, batch) * value_at(&x[B], col, i, batch);
    return sum;
}

static inline bounded factored(const problem *p, bounded x)
{
    const double by = (p->t.alpha ? alpha : 1) * (p->t.scale ? scale : 1);
    return p->t.alpha || p->t.scale ? step(x.x * by, x, by, 2 * f32) : x;
}

/* Up to the activation. */
static inline bounded inner_of(const problem *p, const tensor x[OPERANDS], size_t row, size_t col, size_t batch)
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

static inline bounded outer_of(const problem *p, const tensor x[OPERANDS], bounded v, size_t row, size_t col, size_t batch)
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

static inline void check_near(const problem *p, const char *what, sett_dtype t, double got, bounded want, size_t row, size_t col)
{
    const rounding n = rounding_of(t);
    const double is = fmin(fmax(want.x, n.low), n.high), off = want.off + (fabs(is) + want.off) * n.share + n.least;
    ck_assert_msg(fabs(got - is) <= off, "%s to %s, %s (%zu,%zu): %.9g, not %.9g (within %g)", sett_dtype_name(p->dtype), sett_dtype_name(t), what, row, col, got, is, off);
}

static inline bool is_told(const problem *p, int i)
{
    const int of[] = {p->t.row_sum, p->t.column_sum, p->t.row_max, p->t.column_max};
    return of[i - ROWSUM] != 0;
}

/* Sums of all values of a row or column, within n 2^-24 of those of their sizes besides what each is off; and the greatest of them. */
static inline void check_along(const problem *p, tensor x[OPERANDS], int i)
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
static inline void check_block(const problem *p, const tensor x[OPERANDS], size_t row, size_t block, size_t batch)
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

static inline void check_results(const problem *p, tensor x[OPERANDS])
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
static inline sett_val *halve(const sett_epilogue_tile *at, sett_val *x, void *user)
{
    (void)at, (void)user;
    return sett_mul(x, 0.5);
}
static inline void halved_mma(sett_build *b, const void *o)
{
    sett_gemm_mma_with(b, o, halve, NULL);
}
static inline void halved_wgmma(sett_build *b, const void *o)
{
    sett_gemm_wgmma_with(b, o, halve, NULL);
}
static inline void halved_few(sett_build *b, const void *o)
{
    sett_gemm_few_rows_with(b, o, halve, NULL);
}
static const struct {
    const char *name;
    sett_body body, halved;
} kernels[KERNELS] = {{"gemm_mma", sett_gemm_mma, halved_mma}, {"gemm_wgmma", sett_gemm_wgmma, halved_wgmma}, {"gemm_few_rows", sett_gemm_few_rows, halved_few}};

/* ---- launches ------------------------------------------------------------------------------------------------- */
static inline sett_gemm_mma_options mma_options(const problem *p)
{
    return (sett_gemm_mma_options){.size = sizeof(sett_gemm_mma_options), .dtype = p->dtype, .c = p->c, .scaled = p->scaled, .residual = p->residual, .swiglu = p->swiglu, .batched = p->l > 1,
        .terms = p->t, .align_c = 16, .tuning = {.bm = p->tile.bm ? p->tile.bm : p->fma ? 64 : 32, .bn = p->tile.bn ? p->tile.bn : p->swiglu || p->fma ? 128 : 64, .warps = p->tile.warps}};
}

static inline sett_gemm_wgmma_options wgmma_options(const problem *p)
{
    return (sett_gemm_wgmma_options){.size = sizeof(sett_gemm_wgmma_options), .dtype = p->dtype, .c = p->c, .scaled = p->scaled, .residual = p->residual, .swiglu = p->swiglu, .terms = p->t,
        .block_scales = p->blocks, .tuning = {.bm = p->tile.bm ? p->tile.bm : p->blocks ? 128 : 48, .bn = p->tile.bn ? p->tile.bn : p->swiglu || p->blocks ? 128 : 64, .clusters = 3, .ping_pong = p->tile.ping_pong, .cluster = p->tile.cluster}};
}

static inline sett_gemm_few_rows_options few_options(const problem *p)
{
    return (sett_gemm_few_rows_options){.size = sizeof(sett_gemm_few_rows_options), .dtype = p->dtype, .c = p->c, .scaled = p->scaled, .residual = p->residual, .swiglu = p->swiglu,
        .terms = p->t, .rows = 5};
}

/* The product, or a body that takes its options; NULL: the device has no such instruction. */
static inline sett_kernel *kernel_by(const problem *p, int which, sett_body body)
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

static inline sett_kernel *kernel_of(const problem *p, int which)
{
    return kernel_by(p, which, NULL);
}

typedef struct args {
    sett_launch_arg at[2 * OPERANDS];
    int n;
} args;
static inline void add(args *a, const tensor *x, int given)
{
    if (given)
        a->at[a->n++] = (sett_launch_arg){.kind = SETT_LAUNCH_ARG_BUF, .u = {.t = &x->buf}};
}
static inline void add_number(args *a, double x, int given)
{
    if (given)
        a->at[a->n++] = (sett_launch_arg){.kind = SETT_LAUNCH_ARG_FLOAT, .u = {.f = x}};
}

/* The order that gemm.h says. */
static inline args args_of(const problem *p, const tensor x[OPERANDS])
{
    args a = {.n = 0};
    add(&a, &x[A], 1), add(&a, &x[B], 1), add(&a, &x[R], p->residual), add(&a, &x[C], 1), add(&a, &x[SA], p->scaled || p->blocks), add(&a, &x[SB], p->scaled || p->blocks);
    add_number(&a, alpha, p->t.alpha), add(&a, &x[S], p->t.scale), add(&a, &x[BIAS], p->t.bias), add_number(&a, cap, p->t.softcap), add(&a, &x[AUX], p->t.aux);
    add_number(&a, beta, p->t.beta), add_number(&a, low, p->t.clamp), add_number(&a, high, p->t.clamp), add(&a, &x[AMAX], p->t.amax), add(&a, &x[QS], p->t.quantise == 1), add(&a, &x[SD], p->t.quantise == 2);
    for (int i = ROWSUM; i <= COLMAX; i++)
        add(&a, &x[i], is_told(p, i));
    return a;
}

static inline void launch(sett_kernel *k, const args *a)
{
    ck_assert_msg(!sett_launch_n(k, r.stream, a->n, a->at, &err), "%s", err.text);
    ck_assert_msg(!sett_sync_error(r.e, r.stream, &err), "%s", err.text);
    sett_kernel_release(k);
}

static inline void check_problem(const problem *p, int which)
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

/* ---- what is refused ---- */
static inline void check_wrong(sett_body body, void *options, const char *want)
{
    ck_assert_int_eq(sett_kernels_choose(body, options, NULL, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, want);
}
#endif
