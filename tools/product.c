/* SPDX-License-Identifier: Apache-2.0 */
/* sett product: what a product of matrices takes, by the library's model. sett bench product: how long it takes. */
#include "tools.h"
#include <limits.h>
#include <sett/bench.h>
#include <sett/kernels.h>
#include <sett/memory.h>
#include <stdlib.h>
#include <string.h>

enum { SETS_MOST = 1024, USUAL_SETS = 64, PARAMS_MOST = 64 };
static const double COLD_BYTES = 256e6; /* of all sets of operands, on a GPU: four times the cache and more */

/* ---- a problem from the command line -------------------------------------------------------------------- */
static int set_values(const char *command, int argc, char **argv, const char **given, sett_product_problem *p)
{
    int code = EXIT_OK;
    char copy[200];
    for (int i = 0; i < argc && !code; i++) {
        if ((size_t)snprintf(copy, sizeof copy, "%s", argv[i]) >= sizeof copy)
            return usage("%s: %.40s...: it is too long", command, argv[i]);
        code = family_set(command, &sett_product_family, "a product", (char *)p, given, copy);
    }
    return code;
}

/* M N K, then NAME=VALUE. */
static int take_problem(const options *o, const char *command, int argc, char **argv, int *m, sett_product_problem *p)
{
    const char *given[PARAMS_MOST] = {NULL};
    *p = (sett_product_problem){.size = sizeof *p};
    if (argc < 3)
        return usage("%s takes M N K, as in %s 64 4096 14336", command, command);
    int code = count_parse(command, argv[0], 0, INT_MAX, m);
    for (int i = 0; i < sett_product_family.n_params; i++) /* given already */
        given[i] = !strcmp(sett_product_family.params[i].name, "n") ? argv[1] : !strcmp(sett_product_family.params[i].name, "k") ? argv[2] : NULL;
    if (!code)
        code = count_parse(command, argv[1], 0, INT_MAX, &p->n);
    if (!code)
        code = count_parse(command, argv[2], 0, INT_MAX, &p->k);
    if (!code)
        code = set_values(command, argc - 3, argv + 3, given, p);
    if (code)
        return code;
    if (o->dtype && p->dtype)
        return usage("%s: --dtype %s and dtype=%s: it is given twice", command, o->dtype, sett_dtype_name(p->dtype));
    p->dtype = o->dtype ? dtype_of_name(o->dtype) : p->dtype ? p->dtype : SETT_BF16;
    p->batch_invariant |= o->batch_invariant;
    return p->dtype ? EXIT_OK : dtype_refused(o->dtype);
}

static void print_problem_json(const sett_product_problem *p, int m)
{
    printf("\"m\": %d, \"n\": %d, \"k\": %d, \"dtype\": \"%s\"", m, p->n, p->k, sett_dtype_name(p->dtype));
}

/* ---- sett product ------------------------------------------------------------------------------------------ */
/* --target, else that of the device. */
static int find_target(const options *o, char target[32])
{
    sett_stream s;
    if (o->target) {
        snprintf(target, 32, "%s", o->target);
        return EXIT_OK;
    }
    sett_engine *e = engine_open(o);
    int code = e ? device_find(o, e, &s) : EXIT_FAILED;
    if (!code && sett_device_target(e, s.device, target, 32) < 0)
        code = fail("no target is known of device %d", s.device);
    sett_engine_close(e);
    return code;
}

void product_members(FILE *f)
{
    enum { WIDE = 100 };
    int at = 0;
    for (int i = 0; i < sett_product_family.n_params; i++) {
        const char *name = sett_product_family.params[i].name;
        const int len = (int)strlen(name) + 1;
        at = at + len > WIDE ? 0 : at;
        fprintf(f, "%s%s", at ? " " : i ? "\n  " : "  ", name);
        at += len;
    }
    fputs("\n", f);
}

/* The library's table has times of one device for the kernels that it models. */
static void print_whose_time(const options *o, const char *target, const char *text)
{
    if (strstr(text, "by the model") && (o->target || !strcmp(target, "cpu")))
        puts("the time is that of an H200, by the model: no device was asked");
}

int product_command(const options *o)
{
    sett_product_problem p;
    sett_error err = {0};
    char target[32], text[300];
    int m, code = take_problem(o, "product", o->argc, o->argv, &m, &p);
    if (!code)
        code = find_target(o, target);
    if (code)
        return code;
    if (sett_product_explain_for(&p, target, m, text, sizeof text, &err) < 0)
        return fail("%s", err.text);
    if (!o->json) {
        printf("%d x %d x %d of %s for %s\n%s\n", m, p.n, p.k, sett_dtype_name(p.dtype), target, text);
        print_whose_time(o, target, text);
        return EXIT_OK;
    }
    fputs("{\"schema_version\": 1, ", stdout);
    print_problem_json(&p, m);
    fputs(", \"target\": ", stdout), json_string(stdout, target);
    fputs(", \"takes\": ", stdout), json_string(stdout, text);
    puts("}");
    return EXIT_OK;
}

/* ---- sett bench product ------------------------------------------------------------------------------------ */
enum { A, B, R, D, SA, SB, BIAS, AUX, S, QS, AMAX, SW, ROW_SUM, COLUMN_SUM, ROW_MAX, COLUMN_MAX, SD, TABLE, OPERANDS };
typedef struct benched {
    sett_engine *engine;
    sett_stream stream;
    sett_product *plan;
    sett_product_problem p; /* settled */
    int m, sets;
    size_t workspace_bytes, set_bytes;
    void *workspace, *at[SETS_MOST][OPERANDS], *array[SETS_MOST][OPERANDS]; /* array: of .pointer_array, the addresses of what is at `at` */
    sett_error err;
} benched;

/* Elements that a matrix of each product spans; of .pointer_array equal parts, which begin at multiples of 16 bytes. */
static size_t span(const sett_product_problem *p, int kinds, int64_t rows, int64_t cols, int64_t apart, int64_t batch, int major)
{
    const int64_t last = major ? (cols - 1) * apart + rows : (rows - 1) * apart + cols, more = (kinds - 1) * batch, all = p->pointer_array ? (last + 15) / 16 * 16 * kinds : last + more;
    return rows > 0 && cols > 0 ? (size_t)all : 0;
}

/* Of operands that lie by rows of A, and of B: how many there are. */
static int kinds_of_a(const sett_product_problem *p)
{
    return p->grouped == SETT_GROUPED_MASKED ? p->groups : p->batch > 1 ? p->batch : 1;
}

static int kinds_of_b(const sett_product_problem *p)
{
    return p->grouped ? p->groups : p->batch > 1 ? p->batch : 1;
}

/* What each operand is of: its type, and how many elements; none where the problem has it not. */
static void sizes_of(const benched *x, sett_dtype type[OPERANDS], size_t n[OPERANDS])
{
    const sett_product_problem *p = &x->p;
    const int of_a = kinds_of_a(p), of_b = kinds_of_b(p);
    const size_t many_a = (size_t)of_a, many_b = (size_t)of_b, d = span(p, of_a, x->m, p->n, p->ldd, p->batch_d, 0), table = p->grouped ? (size_t)p->groups + (p->grouped == SETT_GROUPED_CONTIGUOUS) : 0;
    const sett_dtype beside = p->d == SETT_F16 || p->d == SETT_BF16 ? p->d : SETT_F32;
    const sett_gemm_terms *t = &p->terms;
    const size_t rows = many_a * (size_t)x->m, columns = many_b * (size_t)p->n;
    const size_t blocks_n = ((size_t)p->n + 127) / 128 << p->swiglu, blocks_k = ((size_t)p->k + 127) / 128, quads = ((size_t)x->m + 3) / 4 * 4;
    const size_t sa = p->block_scales ? many_a * quads * blocks_k : p->scaled ? rows : 0, sb = p->block_scales ? many_b * blocks_n * (size_t)p->ldsb : p->scaled ? columns : 0;
    const sett_weights w = {.size = sizeof w, .dtype = p->dtype, .b = p->b, .sw = p->sw, .group = p->group, .zeros = p->zeros, .n = p->n, .k = p->k, .swiglu = p->swiglu};
    size_t packed = 0, scales = 0;
    if (p->sw)
        sett_product_weights_bytes(&w, &packed, &scales, NULL);
    const sett_dtype scale = sett_dtype_bits(p->sw) == 16 ? p->sw : SETT_U8;
    const sett_dtype types[] = {p->dtype, packed ? SETT_U8 : p->b, p->d, p->d, SETT_F32, SETT_F32, beside, beside, SETT_F32, SETT_F32, SETT_F32, scale, SETT_F32, SETT_F32, SETT_F32, SETT_F32, SETT_F32, SETT_I32};
    const size_t count[] = {span(p, of_a, x->m, p->k, p->lda, p->batch_a, p->a_major), packed ? packed * many_b : span(p, of_b, (int64_t)p->n << p->swiglu, p->k, p->ldb, p->batch_b, p->b_major),
        p->residual ? span(p, of_a, x->m, p->n, p->ldr, p->batch_r, 0) : 0, d, sa, sb,
        t->bias ? columns : 0, t->aux ? span(p, of_a, x->m, p->n, p->ldaux, p->ldaux * x->m, 0) : 0, t->scale != 0, t->quantise == 1, t->amax == 2 ? rows : t->amax != 0, scales * many_b * 8 / (size_t)sett_dtype_bits(scale),
        t->row_sum ? rows : 0, t->column_sum ? columns : 0, t->row_max ? rows : 0, t->column_max ? columns : 0, t->quantise == 2 ? many_a * quads * (((size_t)p->n + 127) / 128) : 0, table};
    memcpy(type, types, sizeof types), memcpy(n, count, sizeof count);
}

/* Memory of the device with what the host has; NULL, and a message: there is none. */
static void *put(const benched *x, const void *host, size_t bytes)
{
    sett_error err = {0};
    void *at = sett_alloc(x->engine, x->stream.device, bytes ? bytes : 1);
    if (at && !sett_memcpy(x->engine, x->stream, at, host, bytes) && !sett_sync_error(x->engine, x->stream, &err))
        return at;
    sett_free(x->engine, x->stream.device, at);
    fail(at ? "%s" : "%s%zu bytes cannot be had on device %d", at ? err.text : "", bytes, x->stream.device);
    return NULL;
}

/* Has each product one of its own? */
static bool of_each(const sett_product_problem *p, int i)
{
    return i != S && i != QS && i != SW && i != TABLE && (i != AMAX || p->terms.amax == 2);
}

/* The addresses of equal parts of memory of the device, on the device. */
static void *put_array(const benched *x, const void *at, size_t bytes)
{
    const size_t n = (size_t)x->p.batch;
    uint64_t *host = calloc(n, sizeof *host);
    void *array = NULL;
    for (size_t l = 0; host && l < n; l++)
        host[l] = (uintptr_t)at + l * (bytes / n);
    if (host)
        array = put(x, host, n * sizeof *host);
    else
        fail("out of memory");
    free(host);
    return array;
}

/* Rows of groups: all m of them in equal parts, or m of each. */
static void fill_table(const benched *x, int32_t *to)
{
    const sett_product_problem *p = &x->p;
    for (int i = 0; i < p->groups; i++)
        to[i] = p->grouped == SETT_GROUPED_MASKED ? x->m : (int32_t)((int64_t)x->m * i / p->groups);
    if (p->grouped == SETT_GROUPED_CONTIGUOUS)
        to[p->groups] = x->m;
}

/* Random numbers, the same for each set. */
static int fill_sets(benched *x)
{
    sett_dtype type[OPERANDS];
    size_t n[OPERANDS];
    int code = EXIT_OK;
    sizes_of(x, type, n);
    for (int i = 0; i < OPERANDS && !code; i++) {
        npy host = {.dtype = type[i], .bytes = n[i] * (size_t)sett_dtype_bits(type[i]) / 8};
        host.data = calloc(1, host.bytes + 1);
        if (!host.data)
            return fail("out of memory");
        random_fill(&host, 88172645463325252u + (uint64_t)i);
        if (i == TABLE)
            fill_table(x, host.data);
        for (int s = 0; s < x->sets && n[i] && !code; s++)
            code = (x->at[s][i] = put(x, host.data, host.bytes)) && (!x->p.pointer_array || !of_each(&x->p, i) || (x->array[s][i] = put_array(x, x->at[s][i], host.bytes))) ? EXIT_OK : EXIT_FAILED;
        free(host.data);
    }
    return code;
}

static int make_workspace(benched *x)
{
    void *zeros = calloc(1, x->workspace_bytes + 1);
    if (!zeros)
        return fail("out of memory");
    x->workspace = put(x, zeros, x->workspace_bytes);
    free(zeros);
    return x->workspace ? EXIT_OK : EXIT_FAILED;
}

static void choose_sets(benched *x, const options *o)
{
    sett_dtype type[OPERANDS];
    size_t n[OPERANDS];
    sizes_of(x, type, n);
    for (int i = 0; i < OPERANDS; i++)
        x->set_bytes += n[i] * (size_t)sett_dtype_bits(type[i]) / 8;
    const double cold = x->stream.device < 0 ? 2 : COLD_BYTES / (double)(x->set_bytes + 1) + 1;
    x->sets = o->hot ? 1 : o->workspaces ? o->workspaces : cold > USUAL_SETS ? USUAL_SETS : (int)cold;
}

static sett_status once(void *user, sett_stream stream, int set)
{
    benched *x = user;
    void *at[OPERANDS];
    const sett_gemm_terms *t = &x->p.terms;
    for (int i = 0; i < OPERANDS; i++)
        at[i] = x->array[set][i] ? x->array[set][i] : x->at[set][i];
    const sett_product_operands o = {.size = sizeof o, .a = at[A], .b = at[B], .r = at[R], .d = at[D], .sa = at[SA], .sb = at[SB], .s = at[S], .qs = at[QS],
        .bias = at[BIAS], .aux = at[AUX], .amax = at[AMAX], .sw = at[SW], .row_sum = at[ROW_SUM], .column_sum = at[COLUMN_SUM], .row_max = at[ROW_MAX], .column_max = at[COLUMN_MAX], .sd = at[SD],
        .offsets = x->p.grouped == SETT_GROUPED_CONTIGUOUS ? at[TABLE] : NULL, .counts = x->p.grouped == SETT_GROUPED_MASKED ? at[TABLE] : NULL, .alpha = t->alpha ? 0.5f : 0, .cap = t->softcap ? 30 : 0,
        .beta = t->beta ? 1 : 0, .low = t->clamp ? -8 : 0, .high = t->clamp ? 8 : 0};
    return sett_product_run(x->plan, x->m, &o, x->workspace, x->workspace_bytes, stream, &x->err);
}

static void print_result(const options *o, const benched *x, const sett_benchmark_result *r)
{
    char takes[300], json[2048];
    sett_product_explain(x->plan, x->m, takes, sizeof takes);
    if (o->json) {
        fputs("{\"product\": {", stdout), print_problem_json(&x->p, x->m);
        fputs(", \"takes\": ", stdout), json_string(stdout, takes);
        sett_benchmark_json(NULL, r, json, sizeof json);
        printf("}, \"benchmark\": %s}\n", json);
        return;
    }
    printf("%d x %d x %d of %s on %s: median %.2f us (p10 %.2f, p90 %.2f, spread %.1f %%)\n", x->m, x->p.n, x->p.k, sett_dtype_name(x->p.dtype), r->device, r->median_us,
        r->p10_us, r->p90_us, r->spread * 100);
    printf("%d iterations of %d launch%s%s, by %s: %d set%s of operands of %.4g MB\n%.4g GB/s, %.4g TFLOP/s\n%s\n", r->iterations, r->launches, r->launches == 1 ? "" : "es",
        r->graph ? " in a graph" : "", r->gpu ? "events" : "the wall clock", x->sets, x->sets == 1 ? "" : "s", (double)x->set_bytes * 1e-6, r->gbps, r->tflops, takes);
}

static int measure(const options *o, benched *x)
{
    sett_error err = {0};
    sett_benchmark_result r = {.size = sizeof r};
    const double products = kinds_of_a(&x->p);
    const sett_benchmark_options bo = {.size = sizeof bo, .warmup = o->warmup, .iterations = o->iterations, .launches = o->launches, .workspaces = x->sets, .graph = o->graph,
        .bytes = o->bytes > 0 ? o->bytes : (double)x->set_bytes, .flops = o->flops > 0 ? o->flops : 2.0 * x->m * x->p.n * x->p.k * (1 + x->p.swiglu) * products};
    if (sett_benchmark_function(x->engine, x->stream, once, x, &bo, &r, &err))
        return fail("%s", *x->err.text ? x->err.text : err.text);
    print_result(o, x, &r);
    return EXIT_OK;
}

static int bench(const options *o, benched *x, const sett_product_problem *p)
{
    sett_error err = {0};
    int code = device_find(o, x->engine, &x->stream);
    if (code)
        return code;
    if (sett_product_prepare(x->engine, x->stream.device, p, x->m, &x->plan, &x->workspace_bytes, &err))
        return fail("%s", err.text);
    x->p.size = sizeof x->p;
    sett_product_query(x->plan, &x->p);
    choose_sets(x, o);
    code = make_workspace(x);
    if (!code)
        code = fill_sets(x);
    return code ? code : measure(o, x);
}

int product_bench(const options *o)
{
    static benched x;
    sett_product_problem p;
    int code = take_problem(o, "bench product", o->argc - 1, o->argv + 1, &x.m, &p);
    if (code)
        return code;
    if (!x.m || !p.n)
        return usage("bench product: there is nothing to measure of %d x %d", x.m, p.n);
    if (o->target || o->kernel_op || o->cols || o->threads || o->zeros)
        return usage("bench product: %s is of kernels; a product has NAME=VALUE, as swiglu=1",
            o->target ? "--target" : o->kernel_op ? "--op" : o->cols ? "--cols" : o->threads ? "--threads" : "--zeros");
    x.engine = engine_open(o);
    if (!x.engine)
        return EXIT_FAILED;
    code = bench(o, &x, &p);
    for (int s = 0; s < x.sets; s++)
        for (int i = 0; i < OPERANDS; i++)
            sett_free(x.engine, x.stream.device, x.at[s][i]), sett_free(x.engine, x.stream.device, x.array[s][i]);
    sett_free(x.engine, x.stream.device, x.workspace);
    sett_product_free(x.plan);
    sett_engine_close(x.engine);
    return code;
}
