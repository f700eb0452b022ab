/* SPDX-License-Identifier: Apache-2.0 */
/* A tape that somebody made up, launched under the checker, over buffers that are as long as it says: whatever it does, it is told of, or
 * refused, and the process goes on. The seeds are wrong kernels of tests/bugs. */
#include "jit/compile/inside.h"
#include "jit/support/finding_store.h"
#include "lib/tape/ops.h"
#include "tests/fuzz/fuzz.h"
#include <sett/sett.h>
#include <stdlib.h>
#include <string.h>

enum { EXTENT = 8, MOST_BYTES = 1 << 20, MOST_ARGS = 16, EACH = 256 /* an engine keeps the kernels of so many */, TIMEOUT = 100 /* ms */ };

static void ignore(void *user, const sett_finding *f)
{
    (void)user;
    if (!strstr(f->text, sett_check_kind_name(f->kind)))
        fuzz_broken("a finding names its kind", f->text);
}

static void no_print(void *user, const char *text, size_t len)
{
    (void)user, (void)text, (void)len;
}

static sett_engine *engine(void)
{
    static sett_engine *e;
    static int uses;
    const sett_engine_options o = {.size = sizeof o, .cache_dir = "", .no_gpu = true, .cpu_threads = 1, .cpu_timeout_ms = TIMEOUT, .checks = SETT_CHECKS_STRICT, .finding = ignore, .print = no_print};
    if (uses++ % EACH == 0) {
        sett_engine_close(e);
        sett__findings_forget();
        if (sett_engine_open(&e, &o, NULL))
            abort();
    }
    return e;
}

/* A buffer as the tape has it; false: too long. */
static bool make_buffer(const sett_param_info *p, sett_buf *to)
{
    int64_t n = 1, shape[8];
    for (int i = 0; i < p->rank; i++) {
        shape[i] = p->extent[i] < 0 ? EXTENT : p->extent[i];
        if (shape[i] > MOST_BYTES || (n *= shape[i]) > MOST_BYTES)
            return false;
    }
    *to = sett_buf_nd(NULL, p->dtype, p->rank, shape);
    const int bits = p->dtype == SETT_BOOL ? 8 : sett_dtype_bits(p->dtype);
    const size_t bytes = ((size_t)n * (size_t)bits + 7) / 8;
    if (posix_memalign(&to->data, 128, bytes ? bytes : 1)) /* no longer, so that a sanitizer sees one byte too many */
        return false;
    memset(to->data, 1, bytes);
    return true;
}

static void launch(sett_kernel *k, const char *order)
{
    sett_launch_arg arg[MOST_ARGS];
    sett_buf buf[MOST_ARGS];
    memset(buf, 0, sizeof buf);
    const int n = sett_kernel_params(k);
    bool fine = n <= MOST_ARGS;
    for (int i = 0; i < n && fine; i++) {
        sett_param_info p = {.size = sizeof p};
        fine = !sett_kernel_param(k, i, &p) && !p.bytes && (p.scalar || make_buffer(&p, &buf[i]));
        arg[i] = !p.scalar ? sett_launch_arg_buf(&buf[i]) : strchr("fb", *sett_dtype_name(p.dtype)) ? sett_launch_arg_float(3) : sett_launch_arg_int(3);
    }
    const sett_check_options how = {.size = sizeof how, .order = order};
    if (fine)
        sett_check_n(k, &how, n, arg, NULL);
    for (int i = 0; i < n && i < MOST_ARGS; i++)
        free(buf[i].data);
}

/* What lies at an address that the tape makes up is the process's own, as of any pointer that a program passes. */
static bool has_addresses(const uint8_t *data, size_t len)
{
    sett__tape t;
    bool any = true;
    if (!sett__read_any_tape(data, len, &t, NULL)) {
        any = false;
        for (uint32_t i = 0; i < t.n_op; i++)
            any |= t.op[i].code == SETT__GMEM || t.op[i].code == SETT__TMAPAT;
    }
    sett__tape_free(&t);
    return any;
}

void fuzz_tape_checked(const uint8_t *data, size_t len)
{
    static const char *const order[] = {"lazy", "eager", "random:3"};
    const sett_compile_options o = {.size = sizeof o, .target = "cpu"};
    sett_kernel *k;
    if (has_addresses(data, len) || sett_compile_tape(engine(), data, len, &o, &k, NULL))
        return;
    launch(k, order[len % 3]);
    sett_kernel_release(k);
}
