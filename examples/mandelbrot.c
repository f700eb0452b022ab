/* SPDX-License-Identifier: Apache-2.0 */
/* The Mandelbrot set, four points a thread: a loop that ends when none of the four has anything left to do. Values and
 * state sit in structs of C's; the kernel sees only their members. */
#define SETT_SHORT
#include "common.h"

enum { WIDTH = 256, HEIGHT = 128, THREADS = 64, MOST = 200 };

typedef struct cplx { sett_val *re, *im; } cplx;          /* values: shape 4 */
typedef struct state { sett_tensor *re, *im, *n; } state; /* registers, which outlive a round */

static cplx times(cplx x, cplx y)
{
    return (cplx){sett_sub(sett_mul(x.re, y.re), sett_mul(x.im, y.im)), sett_add(sett_mul(x.re, y.im), sett_mul(x.im, y.re))};
}

/* Which of the four are still inside, and have rounds left. */
static sett_val *going(state s)
{
    sett_val *re = sett_load(s.re), *im = sett_load(s.im);
    return sett_and(sett_lt(sett_add(sett_mul(re, re), sett_mul(im, im)), 4), sett_lt(sett_load(s.n), MOST));
}

static void mandelbrot(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *N = sett_param(b, "N", SETT_I32, sett_make_layout(b, T(4, THREADS, WIDTH * HEIGHT / 4 / THREADS)), .align = 16);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T(4, WIDTH / 4)), .align = 16); /* of a row, in fours */
    sett_grid(b, WIDTH * HEIGHT / 4 / THREADS);
    sett_block(b, THREADS);
    sett_val *four = sett_add(sett_mul(sett_block_idx(b, 0), THREADS), sett_thread_idx(b, 0));
    sett_val *y = sett_sub(sett_mul(sett_to(sett_floordiv(four, WIDTH / 4), SETT_F32), 2.0 / HEIGHT), 1);
    cplx c = {sett_load(sett_slice(X, ALL, sett_mod(four, WIDTH / 4))), sett_full(b, SETT_F32, 4, y)};

    state s = {sett_make_rmem_tensor(b, SETT_F32, 4), sett_make_rmem_tensor(b, SETT_F32, 4), sett_make_rmem_tensor(b, SETT_I32, 4)};
    sett_fill(s.re, 0), sett_fill(s.im, 0), sett_fill(s.n, 0);
    sett_while (b, sett_any(going(s))) {
        cplx z = {sett_load(s.re), sett_load(s.im)}, next = times(z, z);
        sett_val *on = going(s);
        sett_store(s.re, sett_where(on, sett_add(next.re, c.re), z.re));
        sett_store(s.im, sett_where(on, sett_add(next.im, c.im), z.im));
        sett_store(s.n, sett_add(sett_load(s.n), sett_to(on, SETT_I32)));
    }
    sett_store(sett_slice(N, ALL, sett_thread_idx(b, 0), sett_block_idx(b, 0)), sett_load(s.n));
}

int main(void)
{
    static int32_t n[HEIGHT][WIDTH];
    static float x[WIDTH];
    run r = run_open();
    sett_kernel *k;
    check(&r, sett_compile(r.e, mandelbrot, NULL, &k, &r.err));
    for (int i = 0; i < WIDTH; i++)
        x[i] = (float)i * (3.0f / WIDTH) - 2.25f;
    sett_buf N = {sett_alloc(r.e, r.stream.device, sizeof n), SETT_I32, 3, {4, THREADS, WIDTH * HEIGHT / 4 / THREADS}, {1, 4, 4 * THREADS}};
    sett_buf X = {sett_alloc(r.e, r.stream.device, sizeof x), SETT_F32, 2, {4, WIDTH / 4}, {1, 4}};
    check(&r, sett_memcpy(r.e, r.stream, X.data, x, sizeof x));
    check(&r, sett_launch(k, r.stream, &r.err, &N, &X));
    check(&r, sett_memcpy(r.e, r.stream, n, N.data, sizeof n));
    check(&r, sett_sync_error(r.e, r.stream, &r.err));
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        float re = 0, im = 0, a = x[i % WIDTH], b = (float)(i / WIDTH) * (2.0f / HEIGHT) - 1;
        int want = 0;
        for (; re * re + im * im < 4 && want < MOST; want++) {
            float t = re * re - im * im + a;
            im = re * im + im * re + b;
            re = t;
        }
        expect("mandelbrot", (size_t)i, n[i / WIDTH][i % WIDTH], want, 0);
    }
    for (int row = 0; row < HEIGHT; row += 16)
        for (int col = 0; col < WIDTH; col += 4)
            putchar(col + 4 < WIDTH ? " .:-=+*#%@"[n[row][col] * 9 / MOST] : '\n');
    sett_free(r.e, r.stream.device, N.data), sett_free(r.e, r.stream.device, X.data);
    sett_kernel_release(k);
    run_close(&r);
    return 0;
}
