/* SPDX-License-Identifier: Apache-2.0 */
/* How far functions are from the truth, in units of the result's last place:
 *
 *     accuracy [-s STRIDE] [-n SAMPLES] [-t f32|f64|f16|bf16] [-c] [-b] [-g] [-q] [NAME...]
 *
 * Float32: every STRIDE-th of the 2^32 inputs (1: all), against the C library's double functions; 16-bit types: all of
 * them. Float64, and functions of two arguments: SAMPLES random ones, against long double. On a GPU where there is one;
 * -c on the CPU engine, -b on both, whose bits must be equal; -g compares on the GPU too, with the double functions of CUDA
 * (at most 2 of their last places off, 2^-28 of ours) compiled by NVRTC: all 2^32 inputs of Float32 in a second. One line a function: name, type, inputs, worst error, where,
 * what the result and the truth are, a checksum of all results that does not depend on the device, operations recorded.
 * -q: only what is over its bound. Exits 1 if anything is, or if bits differ;
 * 2 where it cannot measure as asked. */
#define SETT_SHORT
#include "common.h"
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <unistd.h>

enum { EACH = 8, BLOCK = 128, CHUNK = 1 << 21, MOST_THREADS = 256 };

/* ---- what is measured -------------------------------------------------------------------------- */
typedef long double ld;
typedef struct function {
    const char *name;
    int op;
    double (*d)(double);
    ld (*l)(ld);
    ld (*two)(ld, ld);   /* a binary operation, if not NULL */
    double f32, f64;     /* promised */
} function;

static double rcp_d(double x) { return 1 / x; }
static ld rcp_l(ld x) { return 1 / x; }
static double rsqrt_d(double x) { return x == 0 ? copysign((double)INFINITY, x) : 1 / sqrt(x); }
static ld rsqrt_l(ld x) { return x == 0 ? copysignl((ld)INFINITY, x) : 1 / sqrtl(x); }

static const function functions[] = {
#define ONE(name, NAME, f32, f64) {#name, SETT_##NAME, name, name##l, NULL, f32, f64},
    ONE(exp, EXP, 1, 2) ONE(exp2, EXP2, 1, 2) ONE(expm1, EXPM1, 1, 2) ONE(log, LOG, 1, 2) ONE(log2, LOG2, 1, 2)
    ONE(log10, LOG10, 1, 2) ONE(log1p, LOG1P, 1, 2) ONE(sin, SIN, 1, 2) ONE(cos, COS, 1, 2) ONE(tan, TAN, 2, 2)
    ONE(asin, ASIN, 2, 2) ONE(acos, ACOS, 2, 2) ONE(atan, ATAN, 2, 2) ONE(sinh, SINH, 2, 2) ONE(cosh, COSH, 2, 2)
    ONE(tanh, TANH, 1, 2) ONE(asinh, ASINH, 2, 2) ONE(acosh, ACOSH, 2, 2) ONE(atanh, ATANH, 2, 2) ONE(erf, ERF, 1, 2)
    ONE(erfc, ERFC, 2, 2) ONE(cbrt, CBRT, 2, 2) ONE(sqrt, SQRT, 0.5, 0.5) ONE(round, ROUND, 0, 0)
    {"rcp", SETT_RCP, rcp_d, rcp_l, NULL, 0.5, 0.5}, {"rsqrt", SETT_RSQRT, rsqrt_d, rsqrt_l, NULL, 1, 2},
    {"pow", SETT_POW, NULL, NULL, powl, 2, 2}, {"atan2", SETT_ATAN2, NULL, NULL, atan2l, 2, 2},
};

static const struct format { const char *name; sett_dtype d; int bytes, mantissa, least, most; } formats[] = {
    {"f32", SETT_F32, 4, 23, -126, 127}, {"f64", SETT_F64, 8, 52, -1022, 1023}, {"f16", SETT_F16, 2, 10, -14, 15},
    {"bf16", SETT_BF16, 2, 7, -126, 127}};

typedef struct job { const function *f; const struct format *t; } job;

static void kernel(sett_build *b, const void *user)
{
    const job *j = user;
    sett_val *n = sett_sym(b, "n", .div = EACH), *pieces = sett_floordiv(n, EACH);
    sett_tensor *X = sett_param(b, "X", j->t->d, sett_make_layout(b, T1(n)), .align = 16);
    sett_tensor *Y = j->f && j->f->two ? sett_param(b, "Y", j->t->d, sett_make_layout(b, T1(n)), .align = 16) : NULL;
    sett_tensor *D = sett_param(b, "D", j->t->d, sett_make_layout(b, T1(n)), .align = 16);
    sett_grid(b, sett_ceil_div(pieces, BLOCK));
    sett_block(b, BLOCK);
    sett_val *i = sett_add(sett_mul(sett_block_idx(b, 0), BLOCK), sett_thread_idx(b, 0));
    sett_if (b, sett_lt(i, pieces)) {
        sett_val *x = sett_load(sett_local_tile(X, T1(EACH), T1(i)));
        if (Y)
            x = sett_binary_at(SETT_HERE, j->f->name, (sett_binary_op)j->f->op, sett_arg_v(x),
                sett_arg_v(sett_load(sett_local_tile(Y, T1(EACH), T1(i)))));
        else if (j->f)
            x = sett_unary_at(SETT_HERE, j->f->name, (sett_unary_op)j->f->op, x);
        sett_store(sett_local_tile(D, T1(EACH), T1(i)), x);
    }
}

/* ---- numbers ---------------------------------------------------------------------------------------- */
static ld number(const struct format *t, uint64_t bits)
{
    int width = t->bytes * 8;
    uint64_t fraction = bits & ((UINT64_C(1) << t->mantissa) - 1), e = bits >> t->mantissa & ((UINT64_C(1) << (width - 1 - t->mantissa)) - 1);
    double d;
    float f;
    ld x;
    if (t->d == SETT_F32) {
        uint32_t u = (uint32_t)bits;
        memcpy(&f, &u, 4);
        return f;
    }
    if (t->d == SETT_F64) {
        memcpy(&d, &bits, 8);
        return d;
    }
    if ((int)e == t->most - t->least + 2)
        x = fraction ? (ld)NAN : (ld)INFINITY;
    else
        x = ldexpl((ld)(fraction | (uint64_t)(e != 0) << t->mantissa), (int)(e ? e : 1) - 1 + t->least - t->mantissa);
    return bits >> (width - 1) ? -x : x;
}

static uint64_t get(const struct format *t, const void *p, size_t i)
{
    uint64_t v = 0;
    memcpy(&v, (const char *)p + i * (size_t)t->bytes, (size_t)t->bytes);
    return v;
}

/* In units of the last place of the type at the truth. An infinity counts as the next power of two. */
static double error(const struct format *t, ld got, ld want)
{
    ld end = ldexpl(1, t->most + 1);
    int e;
    if (want != want || got != got)
        return (want != want) == (got != got) ? 0 : (double)INFINITY;
    if (want == 0 && got == 0)
        return !signbit(want) == !signbit(got) ? 0 : (double)INFINITY;
    want = want > end ? end : want < -end ? -end : want;
    got = got > end ? end : got < -end ? -end : got;
    if (got == want)
        return 0;
    frexpl(want, &e);
    e = e - 1 < t->least ? t->least : e - 1 > t->most ? t->most : e - 1;
    return (double)ldexpl(fabsl(got - want), t->mantissa - e);
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Random bits; three quarters of them with an exponent near that of 1, where functions live. */
static uint64_t sample(const struct format *t, uint64_t i)
{
    uint64_t r = mix(i * UINT64_C(0x9e3779b97f4a7c15) + 1), e;
    int width = t->bytes * 8, near = r & 1 ? 3 : t->d == SETT_F64 ? 12 : 8;
    if ((r & 3) == 3)
        return mix(r) >> (64 - width);
    e = (uint64_t)(1 - t->least - near) + (r >> 8) % (2 * (uint64_t)near);
    r = mix(r);
    return (r & ((UINT64_C(1) << t->mantissa) - 1)) | e << t->mantissa | (r >> 63) << (width - 1);
}

/* ---- comparing --------------------------------------------------------------------------------------- */
typedef struct verdict {
    double worst;
    uint64_t x, y, got, sum;
    ld want;
} verdict;
typedef struct part {
    pthread_t thread;
    const job *j;
    const char *x, *y, *got;
    size_t from, to;
    verdict v;
} part;

static ld truth(const job *j, ld x, ld y)
{
    if (j->f->two)
        return j->f->two(x, y);
    return j->t->d == SETT_F64 ? j->f->l(x) : (ld)j->f->d((double)x);
}

static void *compare(void *p)
{
    part *c = p;
    for (size_t i = c->from; i < c->to; i++) {
        uint64_t x = get(c->j->t, c->x, i), y = c->j->f->two ? get(c->j->t, c->y, i) : 0, got = get(c->j->t, c->got, i);
        ld g = number(c->j->t, got), want = truth(c->j, number(c->j->t, x), number(c->j->t, y));
        double off = error(c->j->t, g, want);
        c->v.sum += mix((g != g ? UINT64_C(0x7fffffff) : got) ^ mix(x ^ mix(y)));
        if (off > c->v.worst) {
            uint64_t sum = c->v.sum;
            c->v = (verdict){off, x, y, got, sum, want};
        }
    }
    return NULL;
}

static void judge(const job *j, const void *x, const void *y, const void *got, size_t n, verdict *v)
{
    static part p[MOST_THREADS];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t threads = cores < 1 ? 1 : cores > MOST_THREADS ? MOST_THREADS : (size_t)cores;
    for (size_t i = 0; i < threads; i++) {
        p[i] = (part){.j = j, .x = x, .y = y, .got = got, .from = n * i / threads, .to = n * (i + 1) / threads};
        if (pthread_create(&p[i].thread, NULL, compare, &p[i]))
            exit(1);
    }
    for (size_t i = 0; i < threads; i++) {
        pthread_join(p[i].thread, NULL);
        uint64_t sum = v->sum + p[i].v.sum;
        if (p[i].v.worst > v->worst)
            *v = p[i].v;
        v->sum = sum;
    }
}

/* ---- running ------------------------------------------------------------------------------------------- */
typedef struct options {
    uint64_t stride, samples;
    int device[2], devices;
    bool quiet, gpu;
} options;
typedef struct place {
    sett_kernel *k;
    void *x, *y, *d; /* there */
    void *host;
} place;
static sett_engine *engine;
static sett_error err;

static void need(sett_status s)
{
    if (s) {
        fprintf(stderr, "accuracy: %s\n", err.text[0] ? err.text : sett_status_text(s));
        exit(1);
    }
}

static place prepare(const job *j, int device)
{
    char target[32] = "cpu";
    size_t bytes = (size_t)CHUNK * (size_t)j->t->bytes;
    place p = {.host = malloc(bytes), .x = sett_alloc(engine, device, bytes), .y = sett_alloc(engine, device, bytes),
               .d = sett_alloc(engine, device, bytes)};
    if (device != SETT_CPU)
        sett_device_target(engine, device, target, sizeof target);
    sett_compile_options o = {.size = sizeof o, .name = "accuracy", .user = j, .target = target};
    need(p.host && p.x && p.y && p.d ? SETT_OK : SETT_E_MEMORY);
    need(sett_compile(engine, kernel, &o, &p.k, &err));
    return p;
}

static void run(const job *j, const place *p, int device, const void *x, const void *y, size_t n)
{
    const sett_stream s = {.device = device};
    size_t bytes = n * (size_t)j->t->bytes;
    sett_buf X = sett_buf_1d(p->x, j->t->d, (int64_t)n), Y = sett_buf_1d(p->y, j->t->d, (int64_t)n), D = sett_buf_1d(p->d, j->t->d, (int64_t)n);
    need(sett_memcpy(engine, s, p->x, x, bytes));
    if (j->f->two)
        need(sett_memcpy(engine, s, p->y, y, bytes));
    need(j->f->two ? sett_launch(p->k, s, &err, &X, &Y, &D) : sett_launch(p->k, s, &err, &X, &D));
    need(sett_memcpy(engine, s, p->host, p->d, bytes));
    need(sett_sync_error(engine, s, &err));
}

/* Operations of a kernel's tape, but constants and those that only name bits anew. */
static int operations(const job *j)
{
    const sett_compile_options o = {.size = sizeof o, .name = "accuracy", .user = j};
    void *text;
    size_t len;
    int n = 0;
    need(sett_record(kernel, &o, true, &text, &len, &err));
    for (const char *at = text; (at = strstr(at, " = ")); at++)
        n += strncmp(at + 3, "const ", 6) && strncmp(at + 3, "bitcast ", 8);
    sett_text_free(text);
    return n;
}

static void drop(const place *p, int device)
{
    sett_kernel_release(p->k);
    free(p->host);
    sett_free(engine, device, p->x);
    sett_free(engine, device, p->y);
    sett_free(engine, device, p->d);
}

static int steps(const job *j)
{
    static const function one = {.name = "neg", .op = SETT_NEG}, two = {.name = "copysign", .op = SETT_FMIN, .two = powl};
    return operations(j) - operations(&(job){j->f->two ? &two : &one, j->t}) + (j->f->two ? 5 : 1);
}

/* The i-th input: in order if all of the type are asked for, else random. */
static uint64_t input(const job *j, const options *o, uint64_t i, bool second)
{
    if (j->f->two || j->t->d == SETT_F64)
        return sample(j->t, 2 * i + second);
    return j->t->d == SETT_F32 ? i * o->stride : i;
}

static bool say(const job *j, const options *o, uint64_t total, const verdict *v, uint64_t differ)
{
    double bound = (j->t->d == SETT_F64 ? j->f->f64 : j->t->d == SETT_F32 ? j->f->f32 : 1);
    bool ok = v->worst <= bound && !differ;
    char at[64];
    if (o->quiet && ok)
        return ok;
    snprintf(at, sizeof at, j->f->two ? "%" PRIx64 ",%" PRIx64 : "%" PRIx64, v->x, v->y);
    printf("%-6s %-4s %10" PRIu64 " worst %.4f at %s (%.9Lg) got %.9Lg want %.9Lg sum %016" PRIx64 " ops %d%s", j->f->name, j->t->name, total,
        v->worst, at, number(j->t, v->x), number(j->t, v->got), v->want, v->sum, steps(j), v->worst <= bound ? "" : " OVER");
    if (differ)
        printf(", %" PRIu64 " DIFFER between the devices", differ);
    printf("\n");
    fflush(stdout);
    return ok;
}

static bool measure(const job *j, const options *o)
{
    uint64_t total = j->f->two || j->t->d == SETT_F64 ? o->samples : j->t->d == SETT_F32 ? ((UINT64_C(1) << 32) - 1) / o->stride + 1 : 1 << 16;
    size_t bytes = (size_t)j->t->bytes, most = total < CHUNK ? (size_t)total : CHUNK;
    char *x = malloc(CHUNK * bytes), *y = malloc(CHUNK * bytes);
    verdict v = {0};
    place p[2];
    uint64_t differ = 0;
    need(x && y ? SETT_OK : SETT_E_MEMORY);
    for (int k = 0; k < o->devices; k++)
        p[k] = prepare(j, o->device[k]);
    for (uint64_t first = 0; first < total; first += most) {
        size_t n = (size_t)(total - first < most ? total - first : most), whole = (n + EACH - 1) / EACH * EACH;
        for (size_t i = 0; i < whole; i++) {
            uint64_t a = input(j, o, first + i, false), b = j->f->two ? input(j, o, first + i, true) : 0;
            memcpy(x + i * bytes, &a, bytes);
            memcpy(y + i * bytes, &b, bytes);
        }
        for (int k = 0; k < o->devices; k++)
            run(j, &p[k], o->device[k], x, y, whole);
        judge(j, x, y, p[0].host, n, &v);
        for (size_t i = 0; o->devices > 1 && i < n; i++) {
            uint64_t g = get(j->t, p[0].host, i), c = get(j->t, p[1].host, i);
            differ += g != c && !(isnan((double)number(j->t, g)) && isnan((double)number(j->t, c)));
        }
    }
    for (int k = 0; k < o->devices; k++)
        drop(&p[k], o->device[k]);
    free(x);
    free(y);
    return say(j, o, total, &v, differ);
}

/* ---- all of it on a GPU ----------------------------------------------------------------------------- */
/* Each thread's worst, and its share of the sum: as error() and compare() above have them. */
static const char judge_source[] =
    "typedef unsigned long long u64;\n"
    "struct worst { double off, want; u64 sum; unsigned x, got; };\n"
    "__device__ u64 mix(u64 x) { x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull; x = (x ^ x >> 27) * 0x94d049bb133111ebull;\n"
    "  return x ^ x >> 31; }\n"
    "__device__ double error(double got, double want) {\n"
    "  const double end = ldexp(1.0, 128);\n"
    "  if (want != want || got != got) return (want != want) == (got != got) ? 0 : CUDART_INF;\n"
    "  if (want == 0 && got == 0) return signbit(want) == signbit(got) ? 0 : CUDART_INF;\n"
    "  want = want > end ? end : want < -end ? -end : want; got = got > end ? end : got < -end ? -end : got;\n"
    "  if (got == want) return 0;\n"
    "  int e = ilogb(want); e = e < -126 ? -126 : e > 127 ? 127 : e;\n"
    "  return ldexp(fabs(got - want), 23 - e); }\n"
    "extern \"C\" __global__ void judge(unsigned *X, const unsigned *D, worst *W, u64 first, u64 stride, int n, int fill) {\n"
    "  worst w = {};\n"
    "  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {\n"
    "    unsigned bits = (unsigned)((first + i) * stride);\n"
    "    if (fill) { X[i] = bits; continue; }\n"
    "    double x = __uint_as_float(bits), got = __uint_as_float(D[i]), want = TRUTH, off = error(got, want);\n"
    "    w.sum += mix((got != got ? 0x7fffffffull : D[i]) ^ mix(bits ^ mix(0)));\n"
    "    if (off > w.off) { w.off = off; w.want = want; w.x = bits; w.got = D[i]; }\n"
    "  }\n"
    "  if (!fill) W[blockIdx.x * blockDim.x + threadIdx.x] = w;\n"
    "}\n";
typedef struct worst {
    double off, want;
    uint64_t sum;
    uint32_t x, got;
} worst;
enum { JUDGE_BLOCKS = 1056, JUDGE_THREADS = 256, JUDGE_CHUNK = 1 << 28 };

static void *judge_kernel(driver *d, const job *j, const char *target)
{
    static nvrtc rtc;
    char text[sizeof judge_source + 256], truth[64], arch[64];
    void *program;
    size_t n = 0;
    bool rcp = !strcmp(j->f->name, "rcp"), rsqrt = !strcmp(j->f->name, "rsqrt");
    if (!rtc.create && !nvrtc_open(&rtc))
        return NULL;
    snprintf(truth, sizeof truth, rcp ? "1 / x" : rsqrt ? "(x == 0 ? copysign(CUDART_INF, x) : 1 / sqrt(x))" : "%s(x)", j->f->name);
    snprintf(text, sizeof text, "#define CUDART_INF __longlong_as_double(0x7ff0000000000000ll)\n#define TRUTH %s\n%s", truth, judge_source);
    snprintf(arch, sizeof arch, "-arch=%s", target);
    const char *flags[] = {arch, "-no-cache"};
    if (rtc.create(&program, text, "judge.cu", 0, NULL, NULL) || rtc.compile(program, 2, flags) || rtc.size(program, &n) || !n)
        return NULL;
    char *cubin = malloc(n);
    void *kernel = cubin && !rtc.get(program, cubin) ? driver_kernel(d, cubin) : NULL;
    rtc.destroy(&program);
    free(cubin);
    return kernel;
}

static void judge_launch(driver *d, void *kernel, void *x, void *got, void *w, uint64_t first, uint64_t stride, int n, int fill)
{
    raw_config c = {.grid = {JUDGE_BLOCKS, 1, 1}, .block = {JUDGE_THREADS, 1, 1}};
    void *args[] = {&x, &got, &w, &first, &stride, &n, &fill};
    if (d->launch(&c, kernel, args, NULL) || d->sync()) {
        fprintf(stderr, "accuracy: the reference did not run\n");
        exit(1);
    }
}

static bool measure_there(const job *j, const options *o)
{
    static driver d;
    static worst w[JUDGE_BLOCKS * JUDGE_THREADS];
    const uint64_t total = ((UINT64_C(1) << 32) - 1) / o->stride + 1;
    const sett_stream s = {.device = o->device[0]};
    char target[32];
    verdict v = {0};
    sett_kernel *k;
    sett_device_target(engine, s.device, target, sizeof target);
    sett_compile_options opt = {.size = sizeof opt, .name = "accuracy", .user = j, .target = target};
    void *x = sett_alloc(engine, s.device, (size_t)JUDGE_CHUNK * 4), *y = sett_alloc(engine, s.device, (size_t)JUDGE_CHUNK * 4);
    void *r = sett_alloc(engine, s.device, sizeof w), *judge = NULL;
    need(x && y && r ? SETT_OK : SETT_E_MEMORY);
    need(sett_compile(engine, kernel, &opt, &k, &err));
    if ((!d.launch && !driver_start(&d)) || !(judge = judge_kernel(&d, j, target))) {
        fprintf(stderr, "accuracy: -g needs a GPU and NVRTC\n");
        exit(2);
    }
    for (uint64_t first = 0; first < total; first += JUDGE_CHUNK) {
        int n = total - first < JUDGE_CHUNK ? (int)(total - first) : JUDGE_CHUNK, whole = (n + EACH - 1) / EACH * EACH;
        sett_buf X = sett_buf_1d(x, SETT_F32, whole), D = sett_buf_1d(y, SETT_F32, whole);
        judge_launch(&d, judge, x, y, r, first, o->stride, whole, 1);
        need(sett_launch(k, s, &err, &X, &D));
        need(sett_sync_error(engine, s, &err));
        judge_launch(&d, judge, x, y, r, first, o->stride, n, 0);
        need(sett_memcpy(engine, s, w, r, sizeof w));
        need(sett_sync_error(engine, s, &err));
        for (size_t i = 0; i < sizeof w / sizeof *w; i++) {
            uint64_t sum = v.sum + w[i].sum;
            if (w[i].off > v.worst)
                v = (verdict){.worst = w[i].off, .x = w[i].x, .got = w[i].got, .want = w[i].want};
            v.sum = sum;
        }
    }
    sett_kernel_release(k);
    sett_free(engine, s.device, x);
    sett_free(engine, s.device, y);
    sett_free(engine, s.device, r);
    return say(j, o, total, &v, 0);
}

static bool asked(const char *name, int n, char **names)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(names[i], name))
            return true;
    return !n;
}

int main(int argc, char **argv)
{
    options o = {.stride = 1 << 12, .samples = 1 << 20, .devices = 1};
    const struct format *t = &formats[0];
    bool cpu = false, both = false, ok = true;
    for (int c; (c = getopt(argc, argv, "s:n:t:cbgq")) != -1;) {
        if (c == 's')
            o.stride = strtoull(optarg, NULL, 0);
        else if (c == 'n')
            o.samples = strtoull(optarg, NULL, 0);
        else if (c == 't') {
            for (t = formats; t < formats + 4 && strcmp(t->name, optarg); t++)
                continue;
        } else if (c == '?')
            return 2;
        cpu |= c == 'c', both |= c == 'b', o.gpu |= c == 'g', o.quiet |= c == 'q';
    }
    if (t == formats + 4 || !o.stride || !o.samples) {
        fprintf(stderr, "accuracy: there is no such type, stride or number of samples\n");
        return 2;
    }
    need(sett_engine_open(&engine, NULL, &err));
    o.device[0] = cpu ? SETT_CPU : sett_default_device(engine);
    o.device[1] = SETT_CPU;
    if (o.gpu && (t->d != SETT_F32 || o.device[0] == SETT_CPU)) {
        fprintf(stderr, "accuracy: -g is for f32, on a GPU\n");
        return 2;
    }
    o.devices = both && o.device[0] != SETT_CPU ? 2 : 1;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (asked(functions[i].name, argc - optind, argv + optind))
            ok &= (o.gpu && !functions[i].two ? measure_there : measure)(&(job){&functions[i], t}, &o);
    sett_engine_close(engine);
    return !ok;
}
