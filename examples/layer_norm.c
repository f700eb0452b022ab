/* SPDX-License-Identifier: Apache-2.0 */
/* H = X + R, Y = (H - mean) / sqrt(variance + eps) W + B by rows: the residual and the LayerNorm behind it in one pass. A warp takes
 * a row and holds it in registers, so that its two sums are shuffles alone, and no warp waits for another. What is
 * normalised is H as it is stored: rounded. */
#define SETT_SHORT
#include "common.h"

struct layer_norm {
    sett_dtype dtype;
    int cols, warps, rows; /* of a block; of a warp, one after another */
};

enum { X, R, W, B, H, Y, PARAMS };

static sett_val *row_sum(sett_val *v)
{
    return sett_warp_reduce(sett_reduce(v, SETT_ADD, 0.0), SETT_ADD, 32);
}

static void layer_norm(sett_build *b, const void *user)
{
    const struct layer_norm *p = user;
    const int vec = 128 / sett_dtype_bits(p->dtype), rest = (p->cols + 32 * vec - 1) / (32 * vec), all = 32 * vec * rest;
    static const char *const names[PARAMS] = {"X", "R", "W", "B", "H", "Y"};
    sett_val *M = sett_sym(b, "M"), *lane = sett_lane_idx(b);
    sett_layout *rows = sett_row_major(b, M, p->cols), *one = sett_make_layout(b, T1(p->cols));
    sett_tensor *t[PARAMS];
    for (int i = 0; i < PARAMS; i++)
        t[i] = sett_param(b, names[i], p->dtype, i == W || i == B ? one : rows, .align = 16);
    sett_val *eps = sett_scalar(b, "eps", SETT_F32);
    sett_grid(b, sett_ceil_div(M, p->warps * p->rows));
    sett_block(b, 32 * p->warps);
    sett_griddepcontrol_launch_dependents(b); /* begins while the kernel before it ends, and waits for it: that hides what a launch takes */
    sett_griddepcontrol_wait(b);

    /* (lanes, (vec, rest)) over one row: each access 16 bytes, neighbours adjacent */
    sett_layout *tv = sett_make_layout(b, T(32, T(vec, rest)), T(vec, T(1, vec * 32)));
#define MINE(t_) sett_slice(sett_composition(sett_local_tile(t_, T1(all), T1(0)), tv), lane, ALL)
    sett_val *in = sett_elem_less(MINE(sett_identity_tensor(b, T1(p->cols))), T1(p->cols));
    sett_val *from = sett_add(sett_mul(sett_block_idx(b, 0), p->warps * p->rows), sett_warp_idx(b));
    sett_val *w = sett_load(MINE(t[W]), .pred = in), *bias = sett_load(MINE(t[B]), .pred = in);
    sett_for (b, row, from, sett_min(M, sett_add(from, p->warps * p->rows)), p->warps) {
        sett_val *x = sett_to(sett_load(MINE(sett_slice(t[X], row, ALL)), .pred = in), SETT_F32);
        sett_val *r = sett_to(sett_load(MINE(sett_slice(t[R], row, ALL)), .pred = in), SETT_F32);
        sett_val *h = sett_to(sett_add(x, r), p->dtype);
        sett_store(MINE(sett_slice(t[H], row, ALL)), h, .pred = in);
        sett_val *v = sett_to(h, SETT_F32), *off = sett_sub(v, sett_mul(row_sum(v), 1.0 / p->cols));
        if (p->cols < all) /* what is not of the row is 0, and would not stay so */
            off = sett_where(in, off, 0.0);
        sett_val *scale = sett_rsqrt(sett_fma(row_sum(sett_mul(off, off)), 1.0 / p->cols, eps));
        v = sett_fma(sett_mul(off, scale), sett_to(w, SETT_F32), sett_to(bias, SETT_F32));
        sett_store(MINE(sett_slice(t[Y], row, ALL)), sett_to(v, p->dtype), .pred = in);
    }
#undef MINE
}

/* The mean of (h - from)^power over row i. */
static double moment(const struct layer_norm *p, const void *h, int64_t i, double from, int power)
{
    double sum = 0;
    for (int64_t j = 0; j < p->cols; j++)
        sum += pow(get(p->dtype, h, (size_t)(i * p->cols + j)) - from, power);
    return sum / p->cols;
}

static void test(struct layer_norm p, int64_t m)
{
    run r = run_open();
    const double eps = 1e-5;
    matrix t[PARAMS];
    for (int i = 0; i < PARAMS; i++)
        t[i] = matrix_random(&r, p.dtype, i == W || i == B ? 1 : m, p.cols);
    sett_buf w = sett_buf_1d(t[W].buf.data, p.dtype, p.cols), bias = sett_buf_1d(t[B].buf.data, p.dtype, p.cols);
    sett_kernel *k;
    sett_compile_options opt = {.size = sizeof opt, .name = "layer_norm", .user = &p, .user_size = sizeof p};
    check(&r, sett_compile(r.e, layer_norm, &opt, &k, &r.err));
    check(&r, sett_launch(k, r.stream, &r.err, &t[X].buf, &t[R].buf, &w, &bias, &t[H].buf, &t[Y].buf, eps));
    matrix_fetch(&r, &t[H]), matrix_fetch(&r, &t[Y]);
    for (int64_t i = 0; i < m; i++) {
        double mean = moment(&p, t[H].host, i, 0, 1), scale = 1 / sqrt(moment(&p, t[H].host, i, mean, 2) + eps);
        for (int64_t j = 0; j < p.cols; j++) {
            size_t at = (size_t)(i * p.cols + j);
            double h = get(p.dtype, t[H].host, at);
            expect("H", at, h, get(p.dtype, t[X].host, at) + get(p.dtype, t[R].host, at), 0.005);
            expect("Y", at, get(p.dtype, t[Y].host, at), (h - mean) * scale * get(p.dtype, t[W].host, (size_t)j) + get(p.dtype, t[B].host, (size_t)j), 0.01);
        }
    }
    printf("layer_norm: %d rows of %d, ok\n", (int)m, p.cols);
    sett_kernel_release(k);
    for (int i = 0; i < PARAMS; i++)
        matrix_free(&r, &t[i]);
    run_close(&r);
}

int main(void)
{
    test((struct layer_norm){SETT_BF16, 768, 4, 1}, 67);
    test((struct layer_norm){SETT_BF16, 1000, 2, 3}, 20); /* the last lanes have nothing in the last access */
    return 0;
}
