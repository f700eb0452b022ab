/* SPDX-License-Identifier: Apache-2.0 */
/* A layer of a mixture of experts: each token goes to the two experts that its router likes best. The host lists tokens by expert; one launch
 * then has the gates and the ups of all experts, a second one their way down, whatever number of tokens each of them got. */
#include "common.h"
#include <sett/kernels.h>

enum { TOKENS = 45, EXPERTS = 8, EACH = 2, HIDDEN = 128, INNER = 96, ROWS = TOKENS * EACH };
static const sett_dtype type = SETT_BF16;

typedef struct routes {
    int token[ROWS];              /* of each row, by expert */
    int32_t offset[EXPERTS + 1];  /* where an expert's rows begin */
    double weight[ROWS];
} routes;

/* The best of a token's logits that is not `taken`. */
static int best_of(const float *logit, int taken)
{
    int best = taken == 0;
    for (int e = 0; e < EXPERTS; e++)
        if (e != taken && logit[e] > logit[best])
            best = e;
    return best;
}

static routes route(const float *logit)
{
    routes r = {.offset = {0}};
    int n = 0;
    for (int e = 0; e < EXPERTS; e++) {
        r.offset[e] = n;
        for (int t = 0; t < TOKENS; t++) {
            const float *of = logit + t * EXPERTS;
            const int first = best_of(of, -1), second = best_of(of, first);
            if (e == first || e == second) {
                const double other = exp((double)of[e == first ? second : first]), mine = exp((double)of[e]);
                r.token[n] = t, r.weight[n++] = mine / (mine + other);
            }
        }
    }
    r.offset[EXPERTS] = n;
    return r;
}

static double dot(const matrix *a, int64_t row, const matrix *b, int64_t column, int64_t depth)
{
    double sum = 0;
    for (int64_t k = 0; k < depth; k++)
        sum += get(type, a->host, (size_t)(row * depth + k)) * get(type, b->host, (size_t)(column * depth + k));
    return sum;
}

/* Weights (N,K,EXPERTS) of experts that lie behind each other, rows by rows. */
static matrix weights(run *r, int64_t n, int64_t depth)
{
    matrix w = matrix_random(r, type, EXPERTS * n, depth);
    w.buf = sett_buf_nd(w.buf.data, type, 3, (const int64_t[]){n, depth, EXPERTS});
    w.buf.stride[0] = depth, w.buf.stride[1] = 1, w.buf.stride[2] = n * depth;
    return w;
}

/* The rows of X as their experts want them. */
static void gather(run *r, const routes *by, const matrix *X, matrix *A)
{
    const size_t bytes = HIDDEN * (size_t)sett_dtype_bits(type) / 8;
    for (size_t i = 0; i < ROWS; i++)
        memcpy((char *)A->host + i * bytes, (const char *)X->host + (size_t)by->token[i] * bytes, bytes);
    check(r, sett_memcpy(r->e, r->stream, A->buf.data, A->host, A->bytes));
}

static void compare(const routes *by, const matrix *A, const matrix *up, const matrix *H, const matrix *down, const matrix *Y)
{
    for (int64_t e = 0; e < EXPERTS; e++)
        for (int64_t i = by->offset[e]; i < by->offset[e + 1]; i++) {
            for (int64_t j = 0; j < INNER; j++) {
                const double gate = dot(A, i, up, e * 2 * INNER + j, HIDDEN);
                expect("moe, inner", (size_t)(i * INNER + j), get(type, H->host, (size_t)(i * INNER + j)), gate / (1 + exp(-gate)) * dot(A, i, up, (e * 2 + 1) * INNER + j, HIDDEN), 1.0 / 256);
            }
            for (int64_t j = 0; j < HIDDEN; j++)
                expect("moe", (size_t)(i * HIDDEN + j), get(type, Y->host, (size_t)(i * HIDDEN + j)), dot(H, i, down, e * HIDDEN + j, INNER), 1.0 / 256);
        }
}

int main(void)
{
    run r = run_open();
    sett_kernel *widen, *narrow;
    /* A tile as high as an expert has rows wastes least: here about a dozen. */
    const sett_gemm_wgmma_options first = {.size = sizeof first, .dtype = type, .swiglu = 1, .grouped = SETT_GROUPED_CONTIGUOUS, .tuning = {.m = ROWS / EXPERTS}};
    const sett_gemm_wgmma_options second = {.size = sizeof second, .dtype = type, .grouped = SETT_GROUPED_CONTIGUOUS, .tuning = {.m = ROWS / EXPERTS}};
    if (sett_kernels_compile(r.e, sett_gemm_wgmma, &first, NULL, &widen, &r.err) == SETT_E_TARGET) { /* no wgmma */
        printf("moe: %s\n", r.err.text);
        run_close(&r);
        return 0;
    }
    check(&r, r.err.status);
    check(&r, sett_kernels_compile(r.e, sett_gemm_wgmma, &second, NULL, &narrow, &r.err));
    matrix X = matrix_random(&r, type, TOKENS, HIDDEN), logits = matrix_random(&r, SETT_F32, TOKENS, EXPERTS);
    matrix A = matrix_random(&r, type, ROWS, HIDDEN), H = matrix_random(&r, type, ROWS, INNER), Y = matrix_random(&r, type, ROWS, HIDDEN);
    matrix up = weights(&r, 2 * INNER, HIDDEN), down = weights(&r, HIDDEN, INNER);
    const routes by = route(logits.host);
    gather(&r, &by, &X, &A);
    void *offsets = sett_alloc(r.e, r.stream.device, sizeof by.offset);
    check(&r, offsets ? SETT_OK : SETT_E_MEMORY);
    check(&r, sett_memcpy(r.e, r.stream, offsets, by.offset, sizeof by.offset));
    sett_buf table = sett_buf_1d(offsets, SETT_I32, EXPERTS + 1);
    check(&r, sett_launch(widen, r.stream, &r.err, &A.buf, &up.buf, &table, &H.buf));
    check(&r, sett_launch(narrow, r.stream, &r.err, &H.buf, &down.buf, &table, &Y.buf));
    matrix_fetch(&r, &H), matrix_fetch(&r, &Y);
    compare(&by, &A, &up, &H, &down, &Y);

    double first_token = 0; /* what it gets of its experts, by its weights */
    for (int i = 0; i < ROWS; i++)
        first_token += by.token[i] ? 0 : by.weight[i] * get(type, Y.host, (size_t)i * HIDDEN);
    printf("moe: %d tokens, %d of %d experts each, two launches, ok; the first element of all is %.3f\n", TOKENS, EACH, EXPERTS, first_token);
    matrix *all[] = {&X, &logits, &A, &H, &Y, &up, &down};
    for (int i = 0; i < 7; i++)
        matrix_free(&r, all[i]);
    sett_free(r.e, r.stream.device, offsets);
    sett_kernel_release(widen), sett_kernel_release(narrow);
    run_close(&r);
    return 0;
}
