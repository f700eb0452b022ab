/* SPDX-License-Identifier: Apache-2.0 */
/* The C half of `make demo`:
 *     demo make FILE.npy ROWS COLS SEED      random halves
 *     demo check OP A.npy B.npy C.npy        every element against plain C
 *     demo api A.npy B.npy                   the TV-layout add through the C API: times, bandwidth */
#include "tools/tools.h"
#include "examples/common.h"
#include <sett/kernels.h>
#include <stdarg.h>
#include <time.h>

int fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("demo: ", stderr), vfprintf(stderr, format, args), fputc('\n', stderr);
    va_end(args);
    return EXIT_FAILED;
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int make(const char *path, int64_t rows, int64_t cols, uint64_t seed)
{
    npy a = {.dtype = SETT_F16, .rank = 2, .shape = {rows, cols}, .bytes = (size_t)(rows * cols) * 2};
    if (!(a.data = malloc(a.bytes)))
        return fail("out of memory");
    for (size_t i = 0; i < (size_t)(rows * cols); i++)
        put(SETT_F16, a.data, i, uniform(&seed));
    int code = npy_write(path, &a);
    free(a.data);
    return code;
}

static double plain(const char *op, double x, double y)
{
    return !strcmp(op, "add") ? x + y : !strcmp(op, "mul") ? x * y : fmax(x * y, 0);
}

static int compare(const char *op, char **path)
{
    npy m[3] = {0};
    int code = EXIT_OK;
    for (int i = 0; i < 3 && !code; i++)
        code = npy_read(path[i], &m[i]);
    for (int i = 1; i < 3 && !code; i++)
        if (m[i].rank != m[0].rank || m[i].bytes != m[0].bytes || m[i].dtype != SETT_F16)
            code = fail("%s: not of the shape and type of %s", path[i], path[0]);
    size_t n = m[0].bytes / 2;
    for (size_t i = 0; i < n && !code; i++) {
        uint16_t want;
        put(SETT_F16, &want, 0, plain(op, get(SETT_F16, m[0].data, i), get(SETT_F16, m[1].data, i)));
        if (get(SETT_F16, m[2].data, i) != get(SETT_F16, &want, 0))
            code = fail("%s: element %zu is %g, should be %g", op, i, get(SETT_F16, m[2].data, i), get(SETT_F16, &want, 0));
    }
    if (!code)
        printf("%s: all %zu elements equal plain C\n", op, n);
    for (int i = 0; i < 3; i++)
        free(m[i].data);
    return code;
}

static matrix upload(run *r, const char *path)
{
    npy a;
    if (npy_read(path, &a))
        exit(EXIT_FAILED);
    void *data = sett_alloc(r->e, r->stream.device, a.bytes);
    if (!data || a.rank != 2)
        exit(fail("%s: not a matrix, or no memory for it", path));
    check(r, sett_memcpy(r->e, r->stream, data, a.data, a.bytes));
    return (matrix){.buf = sett_buf_2d(data, a.dtype, a.shape[0], a.shape[1]), .host = a.data, .bytes = a.bytes};
}

static void compile_line(run *r, const char *target, sett_kernel **k)
{
    static const char *const origins[] = {"compiled", "from memory", "from the disk cache"};
    sett_elementwise_options p = {.size = sizeof p, .dtype = SETT_F16, .exact = 1};
    sett_compile_options opt = {.size = sizeof opt, .name = "add_tv", .target = target, .user = &p, .user_size = sizeof p};
    double t = now_ms();
    sett_status s = sett_compile(r->e, sett_elementwise, &opt, k, &r->err);
    t = now_ms() - t;
    if (s == SETT_E_NO_ASSEMBLER) {
        printf("add_tv for %s: no assembler here, so no cubin to cache (%s)\n", target, r->err.text);
        return;
    }
    check(r, s);
    sett_kernel_info info = {.size = sizeof info};
    sett_stats stats = {.size = sizeof stats};
    sett_kernel_query(*k, &info);
    sett_engine_stats(r->e, &stats);
    printf("add_tv for %s: %s in %.2f ms; compiler plug-in %s\n", info.target, origins[info.origin], t,
        stats.compiler_loaded ? "loaded" : "not loaded");
}

static int api(char **path)
{
    run r = run_open();
    sett_kernel *k = NULL, *other = NULL;
    sett_prepared *c;
    char target[16];
    sett_device_target(r.e, r.stream.device, target, sizeof target);
    compile_line(&r, target, &k);
    if (r.stream.device == SETT_CPU) /* the cache holds GPU code: show it too */
        compile_line(&r, "sm_90a", &other);
    matrix A = upload(&r, path[0]), B = upload(&r, path[1]), C = upload(&r, path[0]);
    check(&r, sett_prepared_make(k, r.stream.device, &c, &r.err, &A.buf, &B.buf, &C.buf));
    check(&r, sett_prepared_run(c, r.stream));
    check(&r, sett_sync_error(r.e, r.stream, &r.err));
    double t = now_ms(), issued = 0;
    int n = 0;
    for (; n < 1000 && now_ms() - t < 1000; n++) {
        double before = now_ms();
        check(&r, sett_prepared_run(c, r.stream));
        issued += now_ms() - before;
    }
    check(&r, sett_sync_error(r.e, r.stream, &r.err));
    t = (now_ms() - t) / n;
    printf("prepared launch on %s: %.2f us each to issue, %.1f us each to run, %.1f GB/s\n", r.stream.device < 0 ? "the CPU" : "the GPU",
        issued / n * 1e3, t * 1e3, 3 * (double)A.bytes / t * 1e-6);
    matrix_fetch(&r, &C);
    for (size_t i = 0; i < C.bytes / 2; i++) {
        uint16_t want;
        put(SETT_F16, &want, 0, get(SETT_F16, A.host, i) + get(SETT_F16, B.host, i));
        expect("add_tv", i, get(SETT_F16, C.host, i), get(SETT_F16, &want, 0), 0);
    }
    printf("add_tv through the C API: all %zu elements equal plain C\n", C.bytes / 2);
    sett_prepared_free(c);
    matrix_free(&r, &A), matrix_free(&r, &B), matrix_free(&r, &C);
    sett_kernel_release(k), sett_kernel_release(other);
    run_close(&r);
    return EXIT_OK;
}

int main(int argc, char **argv)
{
    if (argc == 6 && !strcmp(argv[1], "make"))
        return make(argv[2], atoll(argv[3]), atoll(argv[4]), (uint64_t)atoll(argv[5]) * 2654435761u + 1);
    if (argc == 6 && !strcmp(argv[1], "check"))
        return compare(argv[2], argv + 3);
    if (argc == 4 && !strcmp(argv[1], "api"))
        return api(argv + 2);
    return fail("make FILE ROWS COLS SEED | check OP A B C | api A B");
}
