/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of quantised weights as the host's struct (ggml's Q8_0: a scale and 32 numbers): dequantised, with the largest
 * magnitude of each group of blocks by way of a struct in shared memory, and assertions on what is read. */
#define SETT_SHORT
#include "common.h"

enum { EACH = 32, GROUP = 8 }; /* numbers of a block; blocks of a thread block, a warp each */
struct q8 {
    uint16_t d; /* the bits of a Float16 */
    int8_t q[EACH];
};

static void dequantise(sett_build *b, const void *user)
{
    (void)user;
    sett_struct *Q8 = sett_make_struct(b, "q8", SETT_FIELD("d", SETT_F16), SETT_FIELD("q", SETT_I8, .count = EACH));
    sett_struct *Shared = sett_make_struct(b, "shared", SETT_FIELD("scale", SETT_F32, .count = GROUP),
        SETT_FIELD("most", SETT_F32, .count = GROUP, .align = 32));
    sett_val *N = sett_sym(b, "N", .div = GROUP);
    sett_tensor *W = sett_param_struct(b, "W", Q8, N);
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N, EACH));
    sett_tensor *Most = sett_param(b, "Most", SETT_F32, sett_make_layout(b, T1(sett_floordiv(N, GROUP))));
    sett_grid(b, sett_floordiv(N, GROUP));
    sett_block(b, EACH * GROUP);
    sett_val *g = sett_block_idx(b, 0), *w = sett_warp_idx(b), *lane = sett_lane_idx(b), *i = sett_add(sett_mul(g, GROUP), w);
    sett_tensor *s = sett_make_smem_struct(b, Shared);
    sett_tensor *scale = sett_field_tensor(s, Shared, "scale"), *most = sett_field_tensor(s, Shared, "most");
    sett_val *d = sett_to(sett_at(sett_field_tensor(W, Q8, "d"), i), SETT_F32);
    sett_assert(b, sett_ge(d, 0.0), "block {} has the scale {}", i, d);
    sett_if (b, sett_eq(lane, 0))
        sett_set(scale, d, w);
    sett_sync_threads(b);
    sett_val *y = sett_mul(sett_at(scale, w), sett_to(sett_at(sett_field_tensor(W, Q8, "q"), i, lane), SETT_F32));
    sett_set(Y, y, i, lane);
    sett_set(most, sett_warp_reduce(sett_abs(y), SETT_MAX, 32), w);
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0))
        sett_set(Most, sett_reduce(sett_load(most), SETT_MAX, 0.0), g);
}

int main(void)
{
    enum { N = 64 };
    static struct q8 host[N];
    run r = run_open();
    matrix Y = matrix_random(&r, SETT_F32, N, EACH), Most = matrix_random(&r, SETT_F32, N / GROUP, 1);
    Most.buf = sett_buf_1d(Most.buf.data, SETT_F32, N / GROUP);
    for (int i = 0; i < N; i++) {
        host[i].d = (uint16_t)(0x2c00 + 64 * (i % 16)); /* 0.0625 and up */
        for (int j = 0; j < EACH; j++)
            host[i].q[j] = (int8_t)(i * 37 + j * 11);
    }
    sett_buf w = sett_buf_2d(sett_alloc(r.e, r.stream.device, sizeof host), SETT_U8, N, sizeof *host);
    sett_kernel *k;
    sett_compile_options opt = {.size = sizeof opt, .name = "dequantise", .asserts = SETT_ASSERTS_ON};
    check(&r, sett_compile(r.e, dequantise, &opt, &k, &r.err));
    check(&r, sett_memcpy(r.e, r.stream, w.data, host, sizeof host));
    check(&r, sett_launch(k, r.stream, &r.err, &w, &Y.buf, &Most.buf));
    matrix_fetch(&r, &Y), matrix_fetch(&r, &Most);
    for (int i = 0, at = 0; i < N; i++) {
        static double most[N / GROUP];
        for (int j = 0; j < EACH; j++, at++) {
            double y = (0.0625 + (i % 16) / 256.0) * host[i].q[j];
            expect("Y", (size_t)at, get(SETT_F32, Y.host, (size_t)at), y, 0);
            most[i / GROUP] = fmax(most[i / GROUP], fabs(y));
        }
        if (i % GROUP == GROUP - 1)
            expect("Most", (size_t)(i / GROUP), get(SETT_F32, Most.host, (size_t)(i / GROUP)), most[i / GROUP], 0);
    }
    host[42].d = 0xbc00; /* -1 */
    check(&r, sett_memcpy(r.e, r.stream, w.data, host, sizeof host));
    sett_status status = sett_launch(k, r.stream, &r.err, &w, &Y.buf, &Most.buf);
    status = status ? status : sett_sync_error(r.e, r.stream, &r.err); /* where a GPU says it */
    printf("blocks: %d of %d bytes, ok; then %s: %s\n", N, (int)sizeof *host, sett_status_name(status), r.err.text);
    sett_kernel_release(k), sett_free(r.e, r.stream.device, w.data);
    matrix_free(&r, &Y), matrix_free(&r, &Most);
    run_close(&r);
    return status != SETT_E_FAULT || !strstr(r.err.text, "block 42 has the scale -1.000000");
}
