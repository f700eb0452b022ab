/* SPDX-License-Identifier: Apache-2.0 */
/* What each program of this folder needs and none is about: an engine, buffers of small whole numbers, a launch, a look at what came
 * out, and one line that says what happened.
 *
 *     static void reverse(sett_build *b, const void *user) { ... if (bug_twin) sett_sync_threads(b); ... }
 *
 *     int main(int argc, char **argv)
 *     {
 *         bug_open(argc, argv);
 *         sett_buf x = bug_in(SETT_F32, 256), y = bug_out(SETT_F32, 256);
 *         bug_launch(reverse, &x, &y);
 *         for (int i = 0; i < 256; i++)
 *             bug_expect(&y, i, bug_get(&x, 255 - i));
 *         return bug_close();
 *     }
 *
 * `NAME` runs the bug, `NAME --twin` the right program. A kernel is recorded by C, so the difference is a C `if`. The exit code is 0:
 * it ran and the numbers are right; 1: they are wrong; 2: it was refused when it was compiled; 3: a launch failed; 4: the machine
 * lacks something. What failed first counts, and what follows it does nothing.
 * $BUG_DEVICE is "cpu", the default, or a GPU's number; the order of the CPU engine comes from $SETT_CPU_ASYNC. $BUG_THREADS: of its workers. */
#ifndef BUG_H
#define BUG_H
#define SETT_SHORT
#include <math.h>
#include <sett/sett.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUG_RIGHT, BUG_WRONG, BUG_REFUSED, BUG_FAULT, BUG_MACHINE };
enum { BUG_BUFFERS = 16 };

static bool bug_twin; /* record the right program */

/* A buffer and its copy on the host. */
typedef struct bug_copy {
    void *device, *host;
    size_t bytes;
    bool fetched; /* since the last launch */
} bug_copy;
static struct bug {
    const char *name;
    sett_engine *e;
    sett_stream stream;
    sett_error err;
    int code, buffers;
    bug_copy buffer[BUG_BUFFERS];
} bug_now;

static inline void bug_fail(int code, const char *text)
{
    if (bug_now.code)
        return;
    bug_now.code = code;
    if (text != bug_now.err.text)
        snprintf(bug_now.err.text, sizeof bug_now.err.text, "%s", text);
}

static inline void bug_open(int argc, char **argv)
{
    const char *device = getenv("BUG_DEVICE"), *name = strrchr(argv[0], '/');
    const bool gpu = device && strcmp(device, "cpu");
    const char *threads = getenv("BUG_THREADS");
    const sett_engine_options o = {.size = sizeof o, .no_gpu = !gpu, .cpu_timeout_ms = 3000, .cpu_threads = threads ? atoi(threads) : 0};
    bug_now = (struct bug){.name = name ? name + 1 : argv[0], .stream = {gpu ? atoi(device) : SETT_CPU, NULL}};
    bug_twin = argc > 1 && !strcmp(argv[1], "--twin");
    if (sett_engine_open(&bug_now.e, &o, &bug_now.err))
        bug_fail(BUG_MACHINE, bug_now.err.text);
}

/* ---- elements, as doubles ------------------------------------------------------------------------------------------- */
/* Float32, Float16, BFloat16 and integers of 8 to 64 bits; all that is in these programs is a small number, which each has exactly. */
static inline double bug_read(sett_dtype t, const void *p, int64_t i)
{
    const char *at = (const char *)p + i * sett_dtype_bits(t) / 8;
    uint64_t u = 0;
    memcpy(&u, at, (size_t)sett_dtype_bits(t) / 8);
    if (t == SETT_F32 || t == SETT_BF16) {
        const uint32_t bits = (uint32_t)(t == SETT_F32 ? u : u << 16);
        float f;
        memcpy(&f, &bits, 4);
        return (double)f;
    }
    if (t == SETT_F16) {
        const int exp = (int)(u >> 10 & 31), man = (int)(u & 1023);
        const double v = exp == 31 ? (double)NAN : exp ? ldexp(1024 + man, exp - 25) : ldexp(man, -24);
        return u >> 15 ? -v : v;
    }
    return t == SETT_I8 ? (int8_t)u : t == SETT_I16 ? (int16_t)u : t == SETT_I32 ? (int32_t)u : t == SETT_I64 ? (double)(int64_t)u : (double)u;
}

static inline void bug_write(sett_dtype t, void *p, int64_t i, double v)
{
    char *at = (char *)p + i * sett_dtype_bits(t) / 8;
    uint64_t u = (uint64_t)(int64_t)v;
    if (t == SETT_F32 || t == SETT_BF16) {
        const float f = (float)v;
        uint32_t bits;
        memcpy(&bits, &f, 4);
        u = t == SETT_F32 ? bits : bits >> 16;
    } else if (t == SETT_F16) {
        int exp;
        const double m = frexp(fabs(v), &exp);
        u = v ? (uint64_t)(exp + 14) << 10 | ((uint64_t)(m * 2048) & 1023) : 0;
        u |= v < 0 ? 0x8000 : 0;
    }
    memcpy(at, &u, (size_t)sett_dtype_bits(t) / 8);
}

/* ---- buffers ----------------------------------------------------------------------------------------------------------- */
/* bug_in(SETT_F32, rows, columns): of -4 to 4, in no order. bug_full(v, SETT_F32, n): of v everywhere. bug_out(SETT_F32, n): nobody has
 * written it. One to four extents, row-major. bug_list(SETT_I32, 2, 0, -1): of these numbers. */
enum bug_fill { BUG_NUMBERS, BUG_SAME, BUG_NOTHING };
static inline sett_buf bug_buf(enum bug_fill fill, double same, sett_dtype t, int rank, const int64_t *shape)
{
    sett_buf buf = sett_buf_nd(NULL, t, rank, shape);
    int64_t n = 1;
    for (int i = 0; i < rank; i++)
        n *= shape[i];
    bug_copy c = {.bytes = (size_t)(n * sett_dtype_bits(t) / 8)};
    if (bug_now.code)
        return buf;
    c.device = sett_alloc(bug_now.e, bug_now.stream.device, c.bytes), c.host = calloc(1, c.bytes);
    if (!c.device || !c.host || bug_now.buffers == BUG_BUFFERS)
        return bug_fail(BUG_MACHINE, "out of memory, or more buffers than BUG_BUFFERS"), buf;
    for (int64_t i = 0; i < n && fill != BUG_NOTHING; i++)
        bug_write(t, c.host, i, fill == BUG_SAME ? same : (double)((i * 7 + i / 8 * 5 + i / 64 * 3 + bug_now.buffers) % 9 - 4));
    if (fill != BUG_NOTHING && sett_memcpy(bug_now.e, bug_now.stream, c.device, c.host, c.bytes))
        bug_fail(BUG_MACHINE, "a copy to the device failed");
    buf.data = c.device;
    bug_now.buffer[bug_now.buffers++] = c;
    return buf;
}
static inline sett_buf bug_listed(sett_dtype t, int n, const double *x)
{
    const sett_buf buf = bug_buf(BUG_NOTHING, 0, t, 1, &(int64_t){n});
    if (bug_now.code)
        return buf;
    const bug_copy *c = &bug_now.buffer[bug_now.buffers - 1];
    for (int i = 0; i < n; i++)
        bug_write(t, c->host, i, x[i]);
    if (sett_memcpy(bug_now.e, bug_now.stream, c->device, c->host, c->bytes))
        bug_fail(BUG_MACHINE, "a copy to the device failed");
    return buf;
}
#define BUG_BUF(fill, same, t, ...) \
    bug_buf(fill, same, t, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]){__VA_ARGS__})
#define bug_list(t, ...) bug_listed(t, (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), (const double[]){__VA_ARGS__})
#define bug_in(t, ...) BUG_BUF(BUG_NUMBERS, 0, t, __VA_ARGS__)
#define bug_full(v, t, ...) BUG_BUF(BUG_SAME, v, t, __VA_ARGS__)
#define bug_out(t, ...) BUG_BUF(BUG_NOTHING, 0, t, __VA_ARGS__)

/* Element i of a buffer, in the order of memory: 0 where a launch has failed. */
static inline double bug_get(const sett_buf *buf, int64_t i)
{
    for (bug_copy *c = bug_now.buffer; c < bug_now.buffer + bug_now.buffers; c++) {
        if (c->device != buf->data)
            continue;
        if (!c->fetched && sett_memcpy(bug_now.e, bug_now.stream, c->host, c->device, c->bytes))
            bug_fail(BUG_FAULT, "a copy from the device failed");
        c->fetched = true;
        return bug_read(buf->dtype, c->host, i);
    }
    return 0;
}

/* Element i should be `want`. */
static inline void bug_expect(const sett_buf *buf, int64_t i, double want)
{
    char text[120];
    const double got = bug_get(buf, i);
    if (bug_now.code || got == want)
        return;
    snprintf(text, sizeof text, "element %lld is %.9g, should be %.9g", (long long)i, got, want);
    bug_fail(BUG_WRONG, text);
}

/* ---- launches ------------------------------------------------------------------------------------------------------------- */
/* The kernel that a body records; its address stays NULL where that fails. */
static inline sett_kernel *bug_compile(sett_body body, const void *user)
{
    sett_kernel *k = NULL;
    const sett_compile_options o = {.size = sizeof o, .name = bug_now.name, .user = user, .target = bug_now.stream.device < 0 ? "cpu" : NULL};
    if (!bug_now.code && sett_compile(bug_now.e, body, &o, &k, &bug_now.err))
        bug_fail(BUG_REFUSED, bug_now.err.text);
    return bug_now.code ? NULL : k;
}
static inline void bug_ended(sett_kernel *k, sett_status s)
{
    for (int i = 0; i < bug_now.buffers; i++)
        bug_now.buffer[i].fetched = false;
    if (s || sett_sync_error(bug_now.e, bug_now.stream, &bug_now.err))
        bug_fail(BUG_FAULT, bug_now.err.text);
    sett_kernel_release(k);
}
/* Compiles a body, launches it and waits. bug_launch_of has user data of the body: what is behind it is as of sett_launch. */
#define bug_launch(body, ...) bug_launch_of(body, NULL, __VA_ARGS__)
#define bug_launch_of(body, user, ...) \
    do { \
        sett_kernel *bug_k = bug_compile(body, user); \
        if (bug_k) \
            bug_ended(bug_k, sett_launch(bug_k, bug_now.stream, &bug_now.err, __VA_ARGS__)); \
    } while (0)

/* For kernels that overlap: compile all of them, queue one behind the other, and wait once.
 *     sett_kernel *k[] = {bug_compile(first, NULL), bug_compile(second, NULL)};
 *     bug_queue(k[0], &x, &m), bug_queue(k[1], &m, &y), bug_wait(); */
#define bug_queue(k, ...) \
    ((void)(!bug_now.code && sett_launch(k, bug_now.stream, &bug_now.err, __VA_ARGS__) && (bug_fail(BUG_FAULT, bug_now.err.text), 0)), \
        sett_kernel_release(k))
static inline void bug_wait(void)
{
    bug_ended(NULL, SETT_OK);
}

/* Says what happened, and gives the exit code. */
static inline int bug_close(void)
{
    static const char *const word[] = {"right", "wrong: ", "refused: ", "fault: ", "no machine: "};
    printf("%s%s: %s%s\n", bug_now.name, bug_twin ? " --twin" : "", word[bug_now.code], bug_now.code ? bug_now.err.text : "");
    for (int k = 0; k < bug_now.buffers; k++) {
        sett_free(bug_now.e, bug_now.stream.device, bug_now.buffer[k].device);
        free(bug_now.buffer[k].host);
    }
    sett_engine_close(bug_now.e);
    return bug_now.code;
}
#endif
