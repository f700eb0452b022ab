/* SPDX-License-Identifier: Apache-2.0 */
/* A product in one call: which kernels a problem has, and a plan that holds them. */
#include "epilogue.h"
#include "product.h"
#include "weights.h"
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 128 /* bytes of a K tile */, PAIR = 4 /* bytes, of A's elements */, MOST_M = INT_MAX - 1024 };

sett_status sett__product_fail(sett_error *err, sett_status s, const char *function, const char *format, ...)
{
    if (err) {
        va_list args;
        const int at = snprintf(err->text, sizeof err->text, "%s: ", function);
        va_start(args, format);
        vsnprintf(err->text + at, sizeof err->text - (size_t)at, format, args);
        va_end(args);
        err->status = s;
    }
    return s;
}

/* ---- its kernels --------------------------------------------------------------------------------------- */
/* Rows of most launches, of sett_gemm_mma, which has a tile for each. */
static const int heights[] = {16, 64, 256, 0};

/* Rows that the kernel of few rows takes; 0: there is none. */
static int few_of(const sett_product_problem *p)
{
    return !sett__product_takes_few(p) ? 0 : sett__product_packed_bits(p) ? PRODUCT_FEW_PACKED : PRODUCT_FEW;
}

/* Does the problem have one on this target? Of packed weights sett_gemm_mixed is all that there is where no tile is. */
static bool has_few(const sett_product_problem *p, bool by_tma)
{
    return few_of(p) > 0 && (by_tma || !sett__product_packed_bits(p));
}

/* Of a tile; NULL: of none. */
static sett_gemm_wgmma_options wgmma_options_of(const sett_product_problem *p, const struct product_tile *t)
{
    sett_gemm_wgmma_options o = {.size = sizeof o, .dtype = p->dtype, .no_pdl = p->no_pdl, .b = p->b, .c = p->d, .scaled = p->scaled, .swiglu = p->swiglu, .residual = p->residual,
        .stream_k = sett__product_streams(p) && !(t && t->ping_pong), .batched = p->batch > 1, .grouped = p->grouped, .terms = p->terms, .promote = p->promote, .block_scales = p->block_scales, .tf32 = p->tf32,
        .group = p->group, .zeros = p->zeros, .sw = p->sw};
    if (t)
        o.tuning = (sett_gemm_wgmma_tuning){.bm = t->bm, .bn = t->bn, .cluster = t->cluster, .ping_pong = t->ping_pong};
    return o;
}

/* What the model knows of a problem that TMA takes. */
static product_facts facts_of(const sett_product_problem *p)
{
    const int kinds = product_kinds_b(p);
    product_facts f = {.device = sett__device_of(90), .n = p->n, .n_b = (int64_t)p->n << p->swiglu, .batches = kinds ? kinds : 1, .streams = sett__product_streams(p), .few = few_of(p)};
    f.multiprocessors = f.device->multiprocessors;
    f.k_tiles = ((int64_t)p->k * sett__bytes_of(p->dtype) + LINE - 1) / LINE;
    f.lda = p->lda * sett__bytes_of(p->dtype), f.ldb = p->ldb * sett__bytes_of(p->dtype);
    f.bytes_a = f.batches * p->k * sett__bytes_of(p->dtype);
    f.bytes_b = f.batches * ((int64_t)p->n << p->swiglu) * p->k * sett_dtype_bits(p->b) / CHAR_BIT;
    f.packed_bits = sett__product_packed_bits(p);
    f.bytes_d = f.batches * p->n * sett__bytes_of(p->d) * (1 + p->residual);
    const sett_gemm_wgmma_options o = wgmma_options_of(p, NULL);
    sett__product_tiles(&f, &o);
    return f;
}

static sett_status list_tma(const sett_product_problem *p, const char *target, sett_product_kernel *to, int *n, sett_error *err)
{
    const product_facts f = facts_of(p);
    *n = f.n_tiles;
    for (int i = 0; i < *n; i++) {
        to[i] = (sett_product_kernel){.family = &sett_gemm_wgmma_family, .options.wgmma = wgmma_options_of(p, &f.tile[i])};
        sett_status s = sett_kernels_choose(sett_gemm_wgmma, &to[i].options.wgmma, target, err);
        if (s)
            return s;
    }
    return SETT_OK;
}

static sett_status list_mma(const sett_product_problem *p, const char *target, sett_product_kernel *to, int *n, sett_error *err)
{
    *n = 0;
    for (size_t i = 0; i < sizeof heights / sizeof *heights; i++) {
        sett_product_kernel *k = &to[*n];
        *k = (sett_product_kernel){.family = &sett_gemm_mma_family,
            .options.mma = {.size = sizeof k->options.mma, .dtype = p->dtype, .no_pdl = p->no_pdl, .b = p->b, .c = p->d, .a_major = p->a_major, .b_major = p->b_major,
                .align = sett__product_align_in(p), .align_c = sett__product_align_out(p), .scaled = p->scaled, .swiglu = p->swiglu, .residual = p->residual, .batched = product_batch(p) > 0, .tf32 = p->tf32, .pointer_array = p->pointer_array,
                .tuning.m = heights[i], .terms = p->terms}};
        sett_status s = sett_kernels_choose(sett_gemm_mma, &k->options.mma, target, err);
        if (s)
            return s;
        *n += !*n || k->options.mma.tuning.bm != k[-1].options.mma.tuning.bm;
    }
    return SETT_OK;
}

/* One of sett_gemm_mixed, of so many rows. */
static sett_status add_mixed(const sett_product_problem *p, int rows, const char *target, sett_product_kernel *to, sett_error *err)
{
    *to = (sett_product_kernel){.family = &sett_gemm_mixed_family,
        .options.mixed = {.size = sizeof to->options.mixed, .dtype = p->dtype, .no_pdl = p->no_pdl, .b = p->b, .c = p->d, .sw = p->sw, .group = p->group, .zeros = p->zeros, .rows = rows, .scaled = p->scaled,
            .swiglu = p->swiglu, .residual = p->residual, .tuning.k = p->k, .terms = p->terms}};
    return sett_kernels_choose(sett_gemm_mixed, &to->options.mixed, target, err);
}

static sett_status list_mixed(const sett_product_problem *p, const char *target, sett_product_kernel *to, int *n, sett_error *err)
{
    static const int rows[] = {8, 16, 32};
    sett_status s = SETT_OK;
    for (*n = 0; !s && *n < (int)(sizeof rows / sizeof *rows); *n += !s)
        s = add_mixed(p, rows[*n], target, &to[*n], err);
    return s;
}

/* Behind the others. */
static sett_status add_few(const sett_product_problem *p, const char *target, sett_product_kernel *to, sett_error *err)
{
    if (sett__product_packed_bits(p))
        return add_mixed(p, PRODUCT_FEW, target, to, err);
    *to = (sett_product_kernel){.family = &sett_gemm_few_rows_family,
        .options.few_rows = {.size = sizeof to->options.few_rows, .dtype = p->dtype, .no_pdl = p->no_pdl, .c = p->d, .rows = PRODUCT_FEW, .scaled = p->scaled, .swiglu = p->swiglu, .residual = p->residual,
            .tuning.k = p->k, .terms = p->terms}};
    return sett_kernels_choose(sett_gemm_few_rows, &to->options.few_rows, target, err);
}

/* A copy of the caller's problem, settled, and its kernels. */
static sett_status take(const char *function, const sett_product_problem *given, int max_m, const char *target, sett_product_problem *p, sett_product_kernel *list, int *n, sett_error *err)
{
    choice c = {0};
    *p = (sett_product_problem){0};
    if (!given || !given->size)
        return sett__product_fail(err, SETT_E_ARGUMENT, function, given ? "the problem has no .size: it is sizeof(sett_product_problem)" : "there is no problem");
    if (given->size < offsetof(sett_product_problem, a_major) || given->size % sizeof(int))
        return sett__product_fail(err, SETT_E_ARGUMENT, function, ".size is %zu: sizeof(sett_product_problem), %zu", given->size, sizeof *p);
    if (given->size > sizeof *p)
        return sett__product_fail(err, SETT_E_ARGUMENT, function, "the problem is of %zu bytes, and this library knows %zu: it is older than the header", given->size, sizeof *p);
    memcpy(p, given, given->size);
    sett__product_settle(p, max_m, &c);
    if (*c.why)
        return sett__product_fail(err, SETT_E_ARGUMENT, function, "%s", c.why);
    const bool gpu = !strncmp(target, "sm_", 3), fp8 = sett__is_f8(p->dtype);
    const int sm = gpu ? atoi(target + 3) : 0, least = fp8 ? 89 : 80;
    if (gpu && sm < least)
        return sett__product_fail(err, SETT_E_TARGET, function, "products of %s need sm_%d, the target is %s", sett_dtype_name(p->dtype), least, target);
    const bool by_tma = sett__product_takes_tma(p, target), empty = !p->k || !p->n;
    const bool packed = sett__product_packed_bits(p) > 0;
    if (packed && sett__product_align_in(p) < PAIR)
        return sett__product_fail(err, SETT_E_ARGUMENT, function, ".b is %s of .dtype %s, packed weights: then .align is 4 or more, and rows of A lie at multiples of 4 bytes", sett_dtype_name(p->b), sett_dtype_name(p->dtype));
    const char *needs = sett__product_needs_tma(p);
    if (needs && gpu && strcmp(target, "sm_90a"))
        return sett__product_fail(err, SETT_E_TARGET, function, "%s: products with %s need sm_90a, the target is %s", needs, p->grouped && !p->block_scales ? "groups" : "them", target);
    if (needs && !by_tma && !empty) {
        sett__product_why_no_tma(p, &c);
        return sett__product_fail(err, SETT_E_ARGUMENT, function, "%s", c.why);
    }
    sett_status s = (by_tma ? list_tma : packed ? list_mixed : list_mma)(p, target, list, n, err);
    if (!s && has_few(p, by_tma))
        s = add_few(p, target, &list[(*n)++], err);
    return sett__said_by(function, s, err);
}

int sett_product_kernels(const sett_product_problem *given, const char *target, sett_product_kernel *to, sett_error *err)
{
    sett_product_problem p;
    sett_product_kernel list[SETT_PRODUCT_KERNELS];
    int n = 0;
    if (take("sett_product_kernels", given, 0, target ? target : "sm_90a", &p, list, &n, err))
        return -1;
    if (to)
        memcpy(to, list, sizeof *list * (size_t)n);
    return n;
}

/* ---- a plan ---------------------------------------------------------------------------------------------- */
/* Slots that a worker has, and bytes of the sums of all workers of the largest tile. */
static void take_workspace(sett_product *x)
{
    for (int i = 0; x->by_tma && sett__product_streams(&x->p) && i < x->n_tiles; i++) {
        const size_t sums = sizeof(float) * (size_t)wgmma_of(x, i)->tuning.bm * (size_t)wgmma_of(x, i)->tuning.bn * (size_t)x->facts.multiprocessors;
        x->workspace = sums > x->workspace ? sums : x->workspace;
    }
    x->workspace += x->workspace ? PRODUCT_LEFT_BYTES : 0;
}

static sett_status many_tiles(const char *function, const sett_product_problem *p, int max_m, sett_error *err)
{
    const int kinds = product_kinds_b(p);
    char also[60] = "";
    if (kinds)
        snprintf(also, sizeof also, " and .%s %d", p->grouped ? "groups" : "batch", kinds);
    return sett__product_fail(err, SETT_E_ARGUMENT, function, ".n is %d%s: with max_m %d %s more than %d tiles", p->n, also, max_m, kinds ? "they are" : "it is", PRODUCT_COUNTED);
}

/* All of a plan but its kernels. */
static sett_status plan_for(const char *function, const sett_product_problem *given, int max_m, const char *target, sett_product *x, sett_error *err)
{
    sett_status s = take(function, given, max_m, target, &x->p, x->list, &x->n_kernels, err);
    x->max_m = max_m;
    x->by_tma = !s && sett__product_takes_tma(&x->p, target);
    x->n_tiles = x->n_kernels - (!s && has_few(&x->p, x->by_tma));
    if (!x->by_tma)
        return s;
    x->facts = facts_of(&x->p), x->facts.rows = max_m;
    return sett__product_countable(&x->facts) ? SETT_OK : many_tiles(function, &x->p, max_m, err);
}

static sett_status load(sett_engine *e, sett_product *x, const char *target, sett_error *err)
{
    for (int i = 0; i < x->n_kernels; i++) {
        sett_status s = sett_kernels_compile(e, x->list[i].family->body, &x->list[i].options, target, &x->kernel[i], err);
        if (!s)
            s = sett_prepare(x->kernel[i], x->device, err);
        int at_once = 0;
        if (!s && x->by_tma && i < x->n_tiles)
            s = sett_max_active_clusters(x->kernel[i], x->device, &at_once, err);
        if (s)
            return s;
        at_once *= i < x->n_tiles && x->by_tma ? wgmma_of(x, i)->tuning.cluster : 1; /* in blocks */
        if (at_once && at_once < x->facts.multiprocessors)
            x->facts.multiprocessors = at_once;
    }
    return SETT_OK;
}

sett_status sett_product_prepare(sett_engine *e, int on, const sett_product_problem *given, int max_m, sett_product **plan, size_t *bytes, sett_error *err)
{
    static const char function[] = "sett_product_prepare";
    char target[32];
    if (!plan || !bytes)
        return sett__product_fail(err, SETT_E_ARGUMENT, function, "there is no place for the plan, or for the bytes of its workspace");
    *plan = NULL, *bytes = 0;
    if (max_m < 0 || max_m > MOST_M)
        return sett__product_fail(err, SETT_E_ARGUMENT, function, "max_m is %d: from 0 to %d", max_m, MOST_M);
    if (!e)
        return sett__product_fail(err, SETT_E_ARGUMENT, function, "there is no engine");
    on = on == SETT_DEFAULT_DEVICE ? sett_default_device(e) : on;
    if (sett_device_target(e, on, target, sizeof target) < 0)
        return sett__product_fail(err, SETT_E_NO_DEVICE, function, "the engine has no device %d", on);
    sett_product *x = calloc(1, sizeof *x);
    if (!x)
        return sett__product_fail(err, SETT_E_MEMORY, function, "no memory");
    x->device = on;
    sett_status s = plan_for(function, given, max_m, target, x, err);
    if (!s)
        s = load(e, x, target, err);
    if (s) {
        sett_product_free(x);
        return s;
    }
    take_workspace(x);
    *plan = x, *bytes = x->workspace;
    return SETT_OK;
}

void sett_product_query(const sett_product *x, sett_product_problem *to)
{
    const size_t given = to->size;
    memcpy(to, &x->p, given < sizeof x->p ? given : sizeof x->p);
    to->size = given;
}

void sett_product_free(sett_product *x)
{
    if (!x)
        return;
    for (int i = 0; i < x->n_kernels; i++)
        sett_kernel_release(x->kernel[i]);
    free(x);
}

/* ---- what a run takes ------------------------------------------------------------------------------------- */
int sett_product_explain(const sett_product *x, int m, char *text, size_t size)
{
    const product_way w = sett__product_way(x, m > 0 ? m : 1, 0);
    const char *name = x->list[w.kernel].family->name;
    if (w.kernel == x->n_tiles)
        return x->by_tma ? snprintf(text, size, "%s: %.1f us by the model", name, w.us) : snprintf(text, size, "%s", name);
    if (!x->by_tma && x->list[w.kernel].family == &sett_gemm_mixed_family)
        return snprintf(text, size, "%s rows=%d", name, x->list[w.kernel].options.mixed.rows);
    if (!x->by_tma)
        return snprintf(text, size, "gemm_mma bm=%d bn=%d", x->list[w.kernel].options.mma.tuning.bm, x->list[w.kernel].options.mma.tuning.bn);
    return snprintf(text, size, "gemm_wgmma bm=%d bn=%d%s%s: %d workers, %d of %lld tiles streamed, %.1f us by the model", wgmma_of(x, w.kernel)->tuning.bm,
        wgmma_of(x, w.kernel)->tuning.bn, wgmma_of(x, w.kernel)->tuning.cluster > 1 ? " cluster=2" : "", wgmma_of(x, w.kernel)->tuning.ping_pong ? " ping_pong=1" : "", w.workers, w.streamed, (long long)w.tiles, w.us);
}

int sett_product_explain_for(const sett_product_problem *given, const char *target, int m, char *text, size_t size, sett_error *err)
{
    static const char function[] = "sett_product_explain_for";
    sett_product x = {.n_kernels = 0};
    if (m < 0 || m > MOST_M)
        return sett__product_fail(err, SETT_E_ARGUMENT, function, "m is %d: from 0 to %d", m, MOST_M), -1;
    return plan_for(function, given, m, target ? target : "sm_90a", &x, err) ? -1 : sett_product_explain(&x, m, text, size);
}
