/* SPDX-License-Identifier: Apache-2.0 */
/* Y[b][s][h] = X[b][h][s], a thread an element, by its flat index alone: how many heads and positions there are the launch
 * says, and sett_fast_divmod lets it divide, so that no thread does; also for S, which is a quotient itself. */
#define SETT_SHORT
#include "common.h"

enum { EACH_BLOCK = 256 };

static void swap_heads(sett_build *b, const void *user)
{
    (void)user;
    sett_val *H = sett_sym(b, "H"), *B = sett_sym(b, "B"), *HS = sett_sym(b, "HS"), *S = sett_floordiv(HS, H);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, B, HS)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, B, HS));
    sett_fast_divmod by_row = sett_make_fast_divmod(b, HS), by_head = sett_make_fast_divmod(b, H), by_position = sett_make_fast_divmod(b, S);
    sett_grid(b, sett_ceil_div(sett_mul(B, HS), EACH_BLOCK));
    sett_block(b, EACH_BLOCK);
    sett_val *i = sett_add(sett_mul(sett_block_idx(b, 0), EACH_BLOCK), sett_thread_idx(b, 0));
    sett_quot_rem row = sett_divmod(i, by_row), at = sett_divmod(row.remainder, by_head);
    sett_if (b, sett_lt(row.quotient, B)) {
        sett_arg from = sett_add(sett_mul(at.remainder, by_position.divisor), at.quotient); /* h S + s */
        sett_set(Y, sett_at(X, row.quotient, from), row.quotient, row.remainder);
    }
}

int main(void)
{
    enum { B = 3, H = 12, S = 35 };
    run r = run_open();
    matrix X = matrix_random(&r, SETT_F32, B, H * S), Y = matrix_random(&r, SETT_F32, B, H * S);
    sett_kernel *k;
    sett_compile_options opt = {.size = sizeof opt, .name = "swap_heads"};
    check(&r, sett_compile(r.e, swap_heads, &opt, &k, &r.err));
    check(&r, sett_launch(k, r.stream, &r.err, &X.buf, &Y.buf, H));
    matrix_fetch(&r, &Y);
    for (int b = 0; b < B; b++)
        for (int h = 0; h < H; h++)
            for (int s = 0; s < S; s++)
                expect("Y", (size_t)((b * S + s) * H + h), get(SETT_F32, Y.host, (size_t)((b * S + s) * H + h)),
                    get(SETT_F32, X.host, (size_t)((b * H + h) * S + s)), 0);
    printf("heads: %d x %d x %d elements, ok\n", B, H, S);
    sett_kernel_release(k);
    matrix_free(&r, &X), matrix_free(&r, &Y);
    run_close(&r);
    return 0;
}
