/* SPDX-License-Identifier: Apache-2.0 */
/* Printing: what is known while the kernel is built, what it finds when it runs, and a buffer from the host. What CuTe DSL
 * prints of the same objects is beside each line, and compared on the CPU engine, whose text comes back to us. */
#define SETT_SHORT
#include "common.h"

static char said[4096];

static void hear(void *user, const char *text, size_t len)
{
    (void)user;
    strncat(said, text, len < sizeof said - strlen(said) ? len : 0);
    fwrite(text, 1, len, stdout);
}

static void known(const char *ours, const char *cute)
{
    printf("%s\n", ours);
    if (strcmp(ours, cute)) {
        fprintf(stderr, "printing: CuTe prints %s\n", cute);
        exit(1);
    }
}

static void show(sett_build *b, const void *user)
{
    (void)user;
    sett_val *n = sett_sym(b, "n"), *k = sett_sym(b, "k", .div = 8);
    sett_tensor *A = sett_param(b, "A", SETT_F32, sett_make_layout(b, T(8, n), T(n, 1)), .align = 16);
    sett_block(b, 32);
    /* While it is built: what a launch will give is `?`. */
    known(sett_text(b, k), "?{div=8}");
    known(sett_text(b, sett_make_layout(b, T(k, 4, 2))), "(?{div=8},4,2):(1,?{div=8},?{div=32})");
    known(sett_text(b, sett_make_swizzled(2, 3, 3, sett_row_major(b, 8, 64))), "S<2,3,3> o 0 o (8,64):(64,1)");
    known(sett_text(b, sett_identity_tensor(b, 4, 8)), "tensor<(0,0) o (4,8):(1@0,1@1)>");
    known(sett_text(b, sett_full(b, SETT_F32, T(3, 4), 0)), "tensor_value<vector<12xf32> o (3, 4)>");
    known(sett_text(b, sett_make_rmem_tensor(b, SETT_F16, T(2, 3))), "tensor<ptr<f16, rmem, align<32>> o (2,3):(1,2)>");
    /* When it runs: one thread speaks. */
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0)) {
        sett_printf(b, "{} is {}; {} %5.2f", T(k, ALL), sett_make_layout(b, T(n, 8)), sett_lt(n, 9), sett_at(A, 7, 0));
        sett_print_tensor(sett_load(sett_local_tile(A, T(8, 2), T(0, 1))));
        sett_print_tensor(sett_local_tile(sett_identity_tensor(b, 8, n), T(2, 2), T(1, 1)), .verbose = true);
    }
}

static const char *const run_time = "(16,_) is (5,8):(1,5); 1 35.00\n"
    "tensor(raw_ptr(0x0000000000000000: f32, rmem, align<32>) o (8,2):(1,8), data=\n"
    "       [[ 2.000000,  3.000000, ],\n        [ 7.000000,  8.000000, ],\n        [ 12.000000,  13.000000, ],\n        ...\n"
    "        [ 27.000000,  28.000000, ],\n        [ 32.000000,  33.000000, ],\n        [ 37.000000,  38.000000, ]])\n"
    "tensor((2,2) o (2,2):(1@0,1@1), data= (\n\t(0,0)= (2,2)\n\t(1,0)= (3,2)\n\t(0,1)= (2,3)\n\t(1,1)= (3,3)\n)\n";

int main(void)
{
    run r = {.seed = 1};
    sett_kernel *k;
    sett_engine_options o = {.size = sizeof o, .print = hear};
    check(&r, sett_engine_open(&r.e, &o, &r.err));
    r.stream.device = sett_default_device(r.e);
    matrix A = matrix_random(&r, SETT_F32, 8, 5);
    for (size_t i = 0; i < 40; i++)
        put(SETT_F32, A.host, i, (double)i);
    check(&r, sett_memcpy(r.e, r.stream, A.buf.data, A.host, A.bytes));
    check(&r, sett_compile(r.e, show, NULL, &k, &r.err));
    check(&r, sett_launch(k, r.stream, &r.err, &A.buf, 5, 16));
    check(&r, sett_sync_error(r.e, r.stream, &r.err));
    if (r.stream.device == SETT_CPU && strcmp(said, run_time)) {
        fprintf(stderr, "printing: the kernel was to print\n%s", run_time);
        return 1;
    }
    /* The same of memory, from the host: for a look at a tensor without a kernel. */
    check(&r, sett_buf_print(r.e, r.stream, &A.buf, NULL, &r.err));
    sett_kernel_release(k);
    matrix_free(&r, &A);
    run_close(&r);
    return 0;
}
