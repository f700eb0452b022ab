/* SPDX-License-Identifier: Apache-2.0 */
/* A graph: three steps of a small network, h = relu(x W + b) twice over and a residual, recorded once. Each request rebinds its input, its
 * output and its length in place, and replays: on a GPU as one CUDA graph, on the CPU call by call. Stand-alone: it needs no other file. */
#define SETT_SHORT
#include <math.h>
#include <sett/sett.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 64, ROWS = 48, REQUESTS = 20 };

/* H = max(X W + B, 0), a thread an element. */
static void layer(sett_build *b, const void *user)
{
    (void)user;
    sett_val *M = sett_sym(b, "M");
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T(M, WIDTH), T(WIDTH, 1)));
    sett_tensor *W = sett_param(b, "W", SETT_F32, sett_make_layout(b, T(WIDTH, WIDTH), T(WIDTH, 1)));
    sett_tensor *B = sett_param(b, "B", SETT_F32, sett_make_layout(b, T1(WIDTH)));
    sett_tensor *H = sett_param(b, "H", SETT_F32, sett_make_layout(b, T(M, WIDTH), T(WIDTH, 1)));
    sett_grid(b, M);
    sett_block(b, WIDTH);
    sett_griddepcontrol_launch_dependents(b); /* the next kernel may start, and waits itself for what it reads: in the graph too */
    sett_griddepcontrol_wait(b);
    sett_val *row = sett_block_idx(b, 0), *col = sett_thread_idx(b, 0);
    sett_tensor *sum = sett_var(b, SETT_F32, sett_at(B, col));
    sett_for (b, k, 0, WIDTH, 1)
        sett_set(sum, sett_fma(sett_at(X, row, k), sett_at(W, k, col), sett_at(sum, 0)), 0);
    sett_set(H, sett_max(sett_at(sum, 0), 0.0), row, col);
}

/* Y = X + scale H */
static void residual(sett_build *b, const void *user)
{
    (void)user;
    sett_val *M = sett_sym(b, "M");
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T(M, WIDTH), T(WIDTH, 1)));
    sett_tensor *H = sett_param(b, "H", SETT_F32, sett_make_layout(b, T(M, WIDTH), T(WIDTH, 1)));
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, T(M, WIDTH), T(WIDTH, 1)));
    sett_val *scale = sett_scalar(b, "scale", SETT_F32);
    sett_grid(b, M);
    sett_block(b, WIDTH);
    sett_griddepcontrol_wait(b);
    sett_val *row = sett_block_idx(b, 0), *col = sett_thread_idx(b, 0);
    sett_set(Y, sett_fma(scale, sett_at(H, row, col), sett_at(X, row, col)), row, col);
}

static sett_error err;

static void must(sett_status s)
{
    if (s) {
        fprintf(stderr, "%s\n", err.text[0] ? err.text : sett_status_text(s));
        exit(1);
    }
}

static void fill(float *x, int n, unsigned seed)
{
    for (int i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = ((float)(seed >> 8) / 8388608.0f - 1) / 8;
    }
}

/* A copy of it on the device. */
static sett_buf upload(sett_engine *e, sett_stream s, const float *x, int rows, int cols)
{
    const size_t bytes = sizeof *x * (size_t)rows * (size_t)cols;
    sett_buf t = sett_buf_2d(sett_alloc(e, s.device, bytes), SETT_F32, rows, cols);
    must(t.data ? sett_memcpy(e, s, t.data, x, bytes) : SETT_E_MEMORY);
    return t;
}

/* The same in plain C. */
static void layer_in_c(const float *x, const float *w, const float *b, float *h, int rows)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < WIDTH; j++) {
            float sum = b[j];
            for (int k = 0; k < WIDTH; k++)
                sum = fmaf(x[i * WIDTH + k], w[k * WIDTH + j], sum);
            h[i * WIDTH + j] = sum > 0 ? sum : 0;
        }
}

int main(void)
{
    static float x[ROWS * WIDTH], w[2][WIDTH * WIDTH], b[2][WIDTH], y[ROWS * WIDTH], h[2][ROWS * WIDTH];
    sett_engine *e;
    sett_kernel *dense, *add;
    sett_graph *p;
    must(sett_engine_open(&e, NULL, &err));
    const sett_stream s = {sett_default_device(e), NULL};
    must(sett_compile(e, layer, &(sett_compile_options){.size = sizeof(sett_compile_options), .name = "layer"}, &dense, &err));
    must(sett_compile(e, residual, &(sett_compile_options){.size = sizeof(sett_compile_options), .name = "residual"}, &add, &err));

    /* Recorded once. A string is the name of an argument of the graph; a value is part of the call. */
    must(sett_graph_make(s.device, NULL, &p, &err));
    must(sett_graph_add(p, dense, "up", &err, "x", "w0", "b0", "h0"));
    must(sett_graph_add(p, dense, "down", &err, "h0", "w1", "b1", "h1"));
    must(sett_graph_add(p, add, "residual", &err, "x", "h1", "y", "scale"));

    sett_buf W[2], B[2];
    for (int i = 0; i < 2; i++) {
        char name[4];
        fill(w[i], WIDTH * WIDTH, 7u + (unsigned)i), fill(b[i], WIDTH, 9u + (unsigned)i);
        W[i] = upload(e, s, w[i], WIDTH, WIDTH), B[i] = upload(e, s, b[i], 1, WIDTH);
        B[i] = sett_buf_1d(B[i].data, SETT_F32, WIDTH);
        snprintf(name, sizeof name, "w%d", i), sett_graph_set(p, name, &W[i]);
        snprintf(name, sizeof name, "b%d", i), sett_graph_set(p, name, &B[i]);
    }
    sett_buf H0 = upload(e, s, y, ROWS, WIDTH), H1 = upload(e, s, y, ROWS, WIDTH);
    double worst = 0;
    int rows = 0;
    for (int r = 0; r < REQUESTS; r++) { /* each of another length, in memory of its own */
        rows = 1 + (r * 17) % ROWS;
        const float scale = 1 + (float)r / 4;
        fill(x, rows * WIDTH, (unsigned)r);
        sett_buf X = upload(e, s, x, rows, WIDTH), Y = upload(e, s, y, rows, WIDTH), h0 = sett_buf_2d(H0.data, SETT_F32, rows, WIDTH),
                 h1 = sett_buf_2d(H1.data, SETT_F32, rows, WIDTH);
        sett_graph_set(p, "x", &X), sett_graph_set(p, "y", &Y), sett_graph_set(p, "h0", &h0), sett_graph_set(p, "h1", &h1);
        sett_graph_set(p, "scale", scale);
        must(sett_graph_commit(p, &err));
        must(sett_graph_run(p, s, &err));
        must(sett_memcpy(e, s, y, Y.data, sizeof *y * (size_t)rows * WIDTH));
        must(sett_sync(e, s));
        layer_in_c(x, w[0], b[0], h[0], rows), layer_in_c(h[0], w[1], b[1], h[1], rows);
        for (int i = 0; i < rows * WIDTH; i++)
            worst = fmax(worst, fabs((double)y[i] - (double)fmaf(scale, h[1][i], x[i])));
        sett_free(e, s.device, X.data), sett_free(e, s.device, Y.data);
    }

    /* What is wrong is refused before anything runs, and the graph stays as it was. */
    sett_buf narrow = sett_buf_2d(H0.data, SETT_F32, rows, WIDTH / 2);
    sett_graph_set(p, "h0", &narrow);
    if (sett_graph_commit(p, &err))
        printf("refused: %s\n", err.text);
    sett_graph_info info = {.size = sizeof info};
    sett_graph_query(p, &info);
    printf("graph: %d requests of %d calls, %s, worst error %g\n", REQUESTS, info.calls, info.cuda_graph ? "by one CUDA graph" : "call by call", worst);
    if (info.cuda_graph)
        printf("CUDA graphs made: %d, nodes updated: %d\n", (int)info.cuda_graphs, (int)info.updates);
    for (int i = 0; i < 2; i++)
        sett_free(e, s.device, W[i].data), sett_free(e, s.device, B[i].data);
    sett_free(e, s.device, H0.data), sett_free(e, s.device, H1.data);
    sett_graph_free(p);
    sett_kernel_release(dense), sett_kernel_release(add);
    sett_engine_close(e);
    return worst > 1e-5;
}
