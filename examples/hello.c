/* SPDX-License-Identifier: Apache-2.0 */
/* Hello from a kernel: no arguments, one block of one warp, one thread speaks. */
#include "common.h"

static void hello(sett_build *b, const void *user)
{
    (void)user;
    printf("hello from the host, while the kernel is built\n");
    sett_grid(b, 1);
    sett_block(b, 32);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0))
        sett_printf(b, "hello from thread {} of block {}", sett_thread_idx(b, 0), sett_block_idx(b, 0));
}

int main(void)
{
    run r = run_open();
    sett_kernel *k;
    sett_compile_options opt = {.size = sizeof opt, .name = "hello"};
    check(&r, sett_compile(r.e, hello, &opt, &k, &r.err));
    fflush(stdout);
    check(&r, sett_launch(k, r.stream, &r.err));
    sett_kernel_release(k);
    run_close(&r);
    return 0;
}
