/* SPDX-License-Identifier: Apache-2.0 */
/* DLPack tensors of a C host: y = max(x, 0), compiled once for all matrices with contiguous rows (x) and compact ones
 * (y), run on two of each; a matrix of another kind is refused. */
#define SETT_SHORT
#include "../third_party/dlpack/dlpack.h" /* yours: <dlpack/dlpack.h> */
#include "common.h"
#include <sett/dlpack.h>

struct kinds { /* what the body depends on: plain bytes, so that the engine remembers them */
    sett_marked x, y;
};

static void relu(sett_build *b, const void *user)
{
    const struct kinds *k = user;
    sett_tensor *X = sett_param_marked(b, "X", &k->x), *Y = sett_param_marked(b, "Y", &k->y);
    sett_grid(b, sett_get(sett_shape(X), 0));
    sett_block(b, 128);
    sett_for (b, j, sett_thread_idx(b, 0), sett_get(sett_shape(X), 1), 128)
        sett_set(Y, sett_max(sett_at(X, sett_block_idx(b, 0), j), 0), sett_block_idx(b, 0), j);
}

/* As a framework would hand it over: its memory stays whose it is. */
static DLTensor tensor_of(const run *r, const matrix *m, int64_t shape[2], int64_t strides[2])
{
    int gpu = r->stream.device;
    DLDevice where = {gpu < 0 ? kDLCPU : kDLCUDA, gpu < 0 ? 0 : gpu};
    return (DLTensor){.data = m->buf.data,
        .device = where,
        .ndim = 2,
        .dtype = {kDLFloat, 32, 1},
        .shape = shape,
        .strides = strides};
}

static void relu_of(run *r, const DLTensor *x, const DLTensor *y)
{
    struct kinds kinds;
    sett_kernel *k;
    sett_compile_options opt = {.size = sizeof opt, .name = "relu", .user = &kinds, .user_size = sizeof kinds};
    sett_buf X, Y;
    check(r, sett_from_dlpack(x, 16, false, &kinds.x, &r->err));
    check(r, sett_mark_layout_dynamic(&kinds.x, SETT_DEDUCE, &r->err)); /* (?,?):(?{i64},1) */
    check(r, sett_from_dlpack(y, 16, true, &kinds.y, &r->err));
    for (int mode = 0; mode < 2; mode++)
        check(r, sett_mark_compact_shape_dynamic(&kinds.y, mode, NULL, 1, &r->err)); /* (?,?):(?,1) */
    sett_forget_sizes(&kinds.x), sett_forget_sizes(&kinds.y);
    check(r, sett_compile(r->e, relu, &opt, &k, &r->err));
    check(r, sett_buf_dltensor(x, &X, NULL, &r->err) || sett_buf_dltensor(y, &Y, NULL, &r->err));
    check(r, sett_launch(k, r->stream, &r->err, &X, &Y));
    X.stride[0] = 1, X.stride[1] = X.shape[0]; /* as if it were column-major */
    if (sett_launch(k, r->stream, &r->err, &X, &Y))
        printf("refused: %s\n", r->err.text);
    sett_kernel_release(k);
}

int main(void)
{
    run r = run_open();
    int64_t size[][2] = {{64, 200}, {7, 1000}}, apart[][2] = {{256, 1}, {1000, 1}},
            compact[][2] = {{200, 1}, {1000, 1}};
    for (int n = 0; n < 2; n++) {
        int64_t rows = size[n][0], cols = size[n][1];
        matrix X = matrix_random(&r, SETT_F32, rows, apart[n][0]), Y = matrix_random(&r, SETT_F32, rows, cols);
        DLTensor x = tensor_of(&r, &X, size[n], apart[n]), y = tensor_of(&r, &Y, size[n], compact[n]);
        relu_of(&r, &x, &y);
        matrix_fetch(&r, &Y);
        for (int64_t i = 0; i < rows * cols; i++)
            expect("relu", (size_t)i, ((float *)Y.host)[i],
                fmaxf(((float *)X.host)[i / cols * apart[n][0] + i % cols], 0), 0);
        printf("relu: %d x %d, rows %d apart, ok\n", (int)rows, (int)cols, (int)apart[n][0]);
        matrix_free(&r, &X), matrix_free(&r, &Y);
    }
    sett_stats st = {.size = sizeof st};
    sett_engine_stats(r.e, &st);
    printf("recorded %d time, remembered %d\n", (int)st.records, (int)st.memo_hits);
    run_close(&r);
    return st.records != 1;
}
