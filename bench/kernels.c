/* SPDX-License-Identifier: Apache-2.0 */
/* libbench.so: what bench/peers.py calls by ctypes. The kernels are those of sett/kernels.h; bodies are C functions, so Python
 * gets finished kernels and prepared calls. A number of a shape that is 0 is chosen. */
#include <sett/kernels.h>
#include <sett/sett.h>
#include <stdio.h>
#include <stdlib.h>

SETT_API sett_engine *bench_open(char *why, size_t n);
SETT_API sett_call *bench_add(sett_engine *, int64_t m, int64_t n, const int *tv, void *a, void *b, void *c, char *report, size_t len);
SETT_API sett_call *bench_softmax(sett_engine *, int64_t m, int64_t n, int threads, int early, void *x, void *y, char *report, size_t len);
SETT_API sett_call *bench_rms_norm(sett_engine *, int64_t m, int64_t n, int threads, int rows, int early, void *x, void *w, void *y, double eps, char *report, size_t len);
SETT_API sett_call *bench_layer_norm(sett_engine *, int64_t m, int64_t n, int warps, int rows, int early, void *const *data, double eps, char *report, size_t len);
SETT_API sett_call *bench_saxpy(sett_engine *, int64_t n, int threads, int each, int early, double a, void *x, void *y, char *report, size_t len);
SETT_API sett_call *bench_transpose(sett_engine *, int64_t m, int64_t n, int tile, int rows, int early, void *x, void *y, char *report, size_t len);
SETT_API sett_call *bench_silu_mul(sett_engine *, int64_t m, int64_t n, int threads, int each, int early, void *x, void *y, char *report, size_t len);
SETT_API sett_call *bench_sum(sett_engine *, int64_t n, int threads, int blocks, int each, int early, void *x, void *part, void *done, void *y, char *report, size_t len);

sett_engine *bench_open(char *why, size_t n)
{
    sett_engine *e;
    sett_error err = {0};
    if (!sett_engine_open(&e, NULL, &err))
        return e;
    snprintf(why, n, "%s", err.text);
    return NULL;
}

static sett_call *prepared(sett_engine *e, sett_body body, const sett_compile_options *opt, int n, const sett_bind *bind, char *report, size_t len)
{
    sett_kernel *k;
    sett_call *c = NULL;
    sett_error err = {0};
    sett_kernel_info info = {.size = sizeof info};
    if (sett_compile(e, body, opt, &k, &err)) {
        snprintf(report, len, "%s", err.text);
        return NULL;
    }
    sett_kernel_query(k, &info);
    snprintf(report, len, "%d registers, spills %d/%d\n%s\n%s", info.registers, info.spill_stores, info.spill_loads, info.report ? info.report : "", info.ptx ? info.ptx : "");
    if (sett_call_make_n(k, 0, n, bind, &c, &err))
        snprintf(report, len, "%s", err.text);
    sett_kernel_release(k);
    return c;
}

sett_call *bench_add(sett_engine *e, int64_t m, int64_t n, const int *tv, void *a, void *b, void *c, char *report, size_t len)
{
    sett_elementwise_options user = {.size = sizeof user, .dtype = SETT_F16, .exact = tv[0], .thr_m = tv[1], .thr_n = tv[2], .val_m = tv[3], .plain = !tv[4]};
    sett_compile_options opt = {.size = sizeof opt, .name = "add", .user = &user};
    sett_buf A = sett_buf_2d(a, SETT_F16, m, n), B = sett_buf_2d(b, SETT_F16, m, n), C = sett_buf_2d(c, SETT_F16, m, n);
    sett_bind bind[] = {{SETT_BIND_BUF, .u = {.t = &A}}, {SETT_BIND_BUF, .u = {.t = &B}}, {SETT_BIND_BUF, .u = {.t = &C}}};
    return prepared(e, sett_elementwise, &opt, 3, bind, report, len);
}

sett_call *bench_softmax(sett_engine *e, int64_t m, int64_t n, int threads, int early, void *x, void *y, char *report, size_t len)
{
    sett_softmax_options user = {.size = sizeof user, .dtype = SETT_BF16, .cols = (int)n, .threads = threads, .plain = !early};
    sett_compile_options opt = {.size = sizeof opt, .name = "softmax", .user = &user};
    sett_buf X = sett_buf_2d(x, SETT_BF16, m, n), Y = sett_buf_2d(y, SETT_BF16, m, n);
    sett_bind bind[] = {{SETT_BIND_BUF, .u = {.t = &X}}, {SETT_BIND_BUF, .u = {.t = &Y}}};
    return prepared(e, sett_softmax, &opt, 2, bind, report, len);
}

sett_call *bench_rms_norm(sett_engine *e, int64_t m, int64_t n, int threads, int rows, int early, void *x, void *w, void *y, double eps, char *report, size_t len)
{
    sett_rms_norm_options user = {.size = sizeof user, .dtype = SETT_BF16, .cols = (int)n, .threads = threads, .rows = rows, .plain = !early};
    sett_compile_options opt = {.size = sizeof opt, .name = "rms_norm", .user = &user};
    sett_buf X = sett_buf_2d(x, SETT_BF16, m, n), W = sett_buf_1d(w, SETT_BF16, n), Y = sett_buf_2d(y, SETT_BF16, m, n);
    sett_bind bind[] = {{SETT_BIND_BUF, .u = {.t = &X}}, {SETT_BIND_BUF, .u = {.t = &W}}, {SETT_BIND_BUF, .u = {.t = &Y}}, {SETT_BIND_FLOAT, .u = {.f = eps}}};
    return prepared(e, sett_rms_norm, &opt, 4, bind, report, len);
}

sett_call *bench_layer_norm(sett_engine *e, int64_t m, int64_t n, int warps, int rows, int early, void *const *data, double eps, char *report, size_t len)
{
    sett_layer_norm_options user = {.size = sizeof user, .dtype = SETT_BF16, .cols = (int)n, .residual = 1, .threads = 32, .warps = warps, .rows = rows, .plain = !early};
    sett_compile_options opt = {.size = sizeof opt, .name = "layer_norm", .user = &user};
    sett_buf buf[6];
    sett_bind bind[7] = {[6] = {SETT_BIND_FLOAT, .u = {.f = eps}}};
    for (int i = 0; i < 6; i++) { /* X, R, W, B, H, Y */
        buf[i] = i == 2 || i == 3 ? sett_buf_1d(data[i], SETT_BF16, n) : sett_buf_2d(data[i], SETT_BF16, m, n);
        bind[i] = (sett_bind){SETT_BIND_BUF, .u = {.t = &buf[i]}};
    }
    return prepared(e, sett_layer_norm, &opt, 7, bind, report, len);
}

sett_call *bench_saxpy(sett_engine *e, int64_t n, int threads, int each, int early, double a, void *x, void *y, char *report, size_t len)
{
    sett_axpy_options user = {.size = sizeof user, .dtype = SETT_F32, .threads = threads, .each = each, .plain = !early};
    sett_compile_options opt = {.size = sizeof opt, .name = "saxpy", .user = &user};
    sett_buf X = sett_buf_1d(x, SETT_F32, n), Y = sett_buf_1d(y, SETT_F32, n);
    sett_bind bind[] = {{SETT_BIND_BUF, .u = {.t = &X}}, {SETT_BIND_BUF, .u = {.t = &Y}}, {SETT_BIND_FLOAT, .u = {.f = a}}};
    return prepared(e, sett_axpy, &opt, 3, bind, report, len);
}

sett_call *bench_transpose(sett_engine *e, int64_t m, int64_t n, int tile, int rows, int early, void *x, void *y, char *report, size_t len)
{
    sett_transpose_options user = {.size = sizeof user, .dtype = SETT_F32, .tile = tile, .rows = rows, .plain = !early};
    sett_compile_options opt = {.size = sizeof opt, .name = "transpose", .user = &user};
    sett_buf X = sett_buf_2d(x, SETT_F32, m, n), Y = sett_buf_2d(y, SETT_F32, n, m);
    sett_bind bind[] = {{SETT_BIND_BUF, .u = {.t = &X}}, {SETT_BIND_BUF, .u = {.t = &Y}}};
    return prepared(e, sett_transpose, &opt, 2, bind, report, len);
}

sett_call *bench_silu_mul(sett_engine *e, int64_t m, int64_t n, int threads, int each, int early, void *x, void *y, char *report, size_t len)
{
    sett_silu_mul_options user = {.size = sizeof user, .dtype = SETT_BF16, .cols = (int)n, .threads = threads, .each = each, .plain = !early};
    sett_compile_options opt = {.size = sizeof opt, .name = "silu_mul", .user = &user};
    sett_buf X = sett_buf_nd(x, SETT_BF16, 3, (const int64_t[]){m, 2, n}), Y = sett_buf_2d(y, SETT_BF16, m, n);
    sett_bind bind[] = {{SETT_BIND_BUF, .u = {.t = &X}}, {SETT_BIND_BUF, .u = {.t = &Y}}};
    return prepared(e, sett_silu_mul, &opt, 2, bind, report, len);
}

sett_call *bench_sum(sett_engine *e, int64_t n, int threads, int blocks, int each, int early, void *x, void *part, void *done, void *y, char *report, size_t len)
{
    sett_vector_reduce_options user = {.size = sizeof user, .dtype = SETT_F32, .threads = threads, .blocks = blocks, .each = each, .plain = !early};
    sett_compile_options opt = {.size = sizeof opt, .name = "sum", .user = &user};
    sett_buf X = sett_buf_1d(x, SETT_F32, n), P = sett_buf_1d(part, SETT_F32, blocks), D = sett_buf_1d(done, SETT_U32, 1), Y = sett_buf_1d(y, SETT_F32, 1);
    sett_bind bind[] = {{SETT_BIND_BUF, .u = {.t = &X}}, {SETT_BIND_BUF, .u = {.t = &P}}, {SETT_BIND_BUF, .u = {.t = &D}}, {SETT_BIND_BUF, .u = {.t = &Y}}};
    return prepared(e, sett_vector_reduce, &opt, 4, bind, report, len);
}
