/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of an embedding: dW[id[i]] += dY[i] for every token i, in Float32 and BFloat16. Tokens repeat, so rows are
 * added to by several blocks at once: atomics on a view of 16 bytes, which sm_90 does in one instruction
 * (red.global.add.v4.f32 and .v4.bf16x2), and other targets element by element with the same result in each. */
#define SETT_SHORT
#include "common.h"

struct embedding_grad {
    sett_dtype dtype;
    int dim; /* of a row: a multiple of 16 bytes for each of a warp's threads */
};

static void embedding_grad(sett_build *b, const void *user)
{
    const struct embedding_grad *p = user;
    const int vec = 128 / sett_dtype_bits(p->dtype);
    sett_val *N = sett_sym(b, "N"), *V = sett_sym(b, "V");
    sett_tensor *id = sett_param(b, "id", SETT_I32, sett_make_layout(b, T1(N)));
    sett_tensor *dY = sett_param(b, "dY", p->dtype, sett_row_major(b, N, p->dim), .align = 16);
    sett_tensor *dW = sett_param(b, "dW", p->dtype, sett_row_major(b, V, p->dim), .align = 16);
    sett_grid(b, N);
    sett_block(b, p->dim / vec);
    sett_val *token = sett_block_idx(b, 0), *t = sett_thread_idx(b, 0), *row = sett_at(id, token);
    sett_arg tile = sett_tuple(b, 1, vec);
    sett_val *g = sett_load(sett_local_tile(dY, tile, T(token, t)));
    sett_atomic_add(sett_local_tile(dW, tile, T(row, t)), g, ALL); /* nobody asks what was there: a reduction, no round trip */
}

/* Small whole numbers: sums are exact in both types, in whichever order the blocks come. */
static void whole_numbers(run *r, matrix *m, sett_dtype d, size_t n, int most)
{
    for (size_t i = 0; i < n; i++)
        put(d, m->host, i, most ? floor(uniform(&r->seed) * most + 0.5) : 0);
    check(r, sett_memcpy(r->e, r->stream, m->buf.data, m->host, m->bytes));
}

static void one_type(run *r, sett_dtype d)
{
    enum { TOKENS = 500, VOCABULARY = 64, DIM = 256 };
    const struct embedding_grad p = {d, DIM};
    sett_compile_options opt = {.size = sizeof opt, .name = "embedding_grad", .user = &p, .user_size = sizeof p};
    sett_kernel *k;
    check(r, sett_compile(r->e, embedding_grad, &opt, &k, &r->err));
    matrix dY = matrix_random(r, d, TOKENS, DIM), dW = matrix_random(r, d, VOCABULARY, DIM);
    whole_numbers(r, &dY, d, TOKENS * DIM, 2);
    whole_numbers(r, &dW, d, VOCABULARY * DIM, 0);
    static int32_t id[TOKENS];
    static double want[VOCABULARY][DIM];
    memset(want, 0, sizeof want);
    for (int i = 0; i < TOKENS; i++) {
        double u = uniform(&r->seed); /* some tokens come often */
        id[i] = (int32_t)(u * u * VOCABULARY);
        for (int c = 0; c < DIM; c++)
            want[id[i]][c] += get(d, dY.host, (size_t)(i * DIM + c));
    }
    sett_buf ids = sett_buf_1d(sett_alloc(r->e, r->stream.device, sizeof id), SETT_I32, TOKENS);
    if (!ids.data)
        exit(1);
    check(r, sett_memcpy(r->e, r->stream, ids.data, id, sizeof id));
    check(r, sett_launch(k, r->stream, &r->err, &ids, &dY.buf, &dW.buf));
    matrix_fetch(r, &dW);
    for (int v = 0; v < VOCABULARY; v++)
        for (int c = 0; c < DIM; c++)
            expect("embedding_grad", (size_t)(v * DIM + c), get(d, dW.host, (size_t)(v * DIM + c)), want[v][c], 0);
    printf("embedding_grad: %d tokens of %d %s into %d rows, ok\n", TOKENS, DIM, sett_dtype_name(d), VOCABULARY);
    sett_free(r->e, r->stream.device, ids.data);
    sett_kernel_release(k);
    matrix_free(r, &dY), matrix_free(r, &dW);
}

int main(void)
{
    run r = run_open();
    one_type(&r, SETT_F32);
    one_type(&r, SETT_BF16);
    run_close(&r);
    return 0;
}
