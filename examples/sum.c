/* SPDX-License-Identifier: Apache-2.0 */
/* The sum of a vector, in one launch and the same bits each time: every block leaves its part, and the block that
 * finishes last, which an atomic counter tells, adds the parts up. */
#define SETT_SHORT
#include "common.h"

struct sum {
    int threads, blocks, each; /* a thread takes `each` x 16 bytes a round; blocks: a multiple of threads */
};

static void sum(sett_build *b, const void *user)
{
    const struct sum *p = user;
    const int vec = 4, tile = p->threads * vec * p->each;
    sett_val *N = sett_sym(b, "N", .div = vec), *t = sett_thread_idx(b, 0), *block = sett_block_idx(b, 0);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T1(N)), .align = 16);
    sett_tensor *part = sett_param(b, "part", SETT_F32, sett_make_layout(b, T1(p->blocks)), .align = 16);
    sett_tensor *done = sett_param(b, "done", SETT_U32, sett_make_layout(b, T1(1))); /* 0 before and after */
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, T1(1)));
    sett_grid(b, p->blocks);
    sett_block(b, p->threads);
    sett_griddepcontrol_launch_dependents(b); /* begins while the kernel before it ends, and waits for it: that hides what a launch takes */
    sett_griddepcontrol_wait(b);

    sett_layout *tv = sett_make_layout(b, T(p->threads, T(vec, p->each)), T(vec, T(1, vec * p->threads)));
    sett_tensor *acc = sett_make_rmem_tensor(b, SETT_F32, sett_make_layout(b, T1(T(vec, p->each))));
    sett_fill(acc, 0.0);
    sett_arg tiles = sett_ceil_div(N, tile), run_of = sett_ceil_div(tiles, p->blocks); /* a block's tiles lie together */
    sett_val *from = sett_mul(block, run_of), *to = sett_min(sett_add(from, run_of), tiles);
    sett_for (b, i, from, to, 1, .unroll = 2) { /* twice as much under way before the first sum waits */
        sett_tensor *of[2] = {X, sett_identity_tensor(b, T1(N))};
        for (int k = 0; k < 2; k++)
            of[k] = sett_slice(sett_composition(sett_local_tile(of[k], T1(tile), T1(i)), tv), t, ALL);
        sett_val *x = sett_load(of[0], .pred = sett_elem_less(of[1], T1(N)));
        sett_store(acc, sett_add(sett_load(acc), x));
    }
    sett_val *mine = sett_block_reduce(sett_reduce(sett_load(acc), SETT_ADD, 0.0), SETT_ADD);

    sett_tensor *last = sett_make_smem_tensor(b, SETT_U32, sett_make_layout(b, T1(1)), 4);
    sett_if (b, sett_eq(t, 0)) {
        sett_set(part, mine, block);
        sett_fence_acq_rel_gpu(b); /* the part, before it is counted */
        sett_set(last, sett_atomic(done, SETT_ADD, 1, 0), 0);
        sett_fence_acq_rel_gpu(b);
    }
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_at(last, 0), p->blocks - 1)) {
        sett_layout *share = sett_make_layout(b, T(p->threads, p->blocks / p->threads), T(p->blocks / p->threads, 1));
        sett_val *all = sett_load(sett_slice(sett_composition(part, share), t, ALL)); /* neighbours: wide, all at once */
        sett_val *total = sett_block_reduce(sett_reduce(all, SETT_ADD, 0.0), SETT_ADD);
        sett_if (b, sett_eq(t, 0)) {
            sett_set(Y, total, 0);
            sett_set(done, 0, 0);
        }
    }
}

int main(void)
{
    run r = run_open();
    struct sum p = {512, 2048, 4};
    sett_kernel *k;
    sett_compile_options opt = {.size = sizeof opt, .name = "sum", .user = &p, .user_size = sizeof p};
    check(&r, sett_compile(r.e, sum, &opt, &k, &r.err));
    const uint32_t zero = 0;
    sett_buf part = sett_buf_1d(sett_alloc(r.e, r.stream.device, (size_t)p.blocks * 4), SETT_F32, p.blocks);
    sett_buf done = sett_buf_1d(sett_alloc(r.e, r.stream.device, 4), SETT_U32, 1);
    if (!part.data || !done.data)
        return 1;
    check(&r, sett_memcpy(r.e, r.stream, done.data, &zero, 4));
    const int64_t sizes[] = {4, 1000, 131072, 1000004};
    for (int s = 0; s < 4; s++) {
        matrix X = matrix_random(&r, SETT_F32, 1, sizes[s]), Y = matrix_random(&r, SETT_F32, 1, 1);
        X.buf = sett_buf_1d(X.buf.data, SETT_F32, sizes[s]), Y.buf = sett_buf_1d(Y.buf.data, SETT_F32, 1);
        check(&r, sett_launch(k, r.stream, &r.err, &X.buf, &part, &done, &Y.buf));
        matrix_fetch(&r, &Y);
        double want = 0, size = 0;
        for (int64_t i = 0; i < sizes[s]; i++)
            want += get(SETT_F32, X.host, (size_t)i), size += fabs(get(SETT_F32, X.host, (size_t)i));
        expect("sum", 0, get(SETT_F32, Y.host, 0), want, 1e-6 * size);
        printf("sum: %d elements, ok\n", (int)sizes[s]);
        matrix_free(&r, &X), matrix_free(&r, &Y);
    }
    sett_free(r.e, r.stream.device, part.data), sett_free(r.e, r.stream.device, done.data);
    sett_kernel_release(k);
    run_close(&r);
    return 0;
}
