/* SPDX-License-Identifier: Apache-2.0 */
/* A product in one call: which kernels a problem has, a plan that holds them, and a run of it. */
#include "epilogue.h"
#include "product.h"
#include "weights.h"
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARGUMENTS = 32, LINE = 128 /* bytes of a K tile */, LEFT_BYTES = 4096, SCALES = 4 /* of 16 bytes */, PAIR = 4 /* bytes, of A's elements */, WORKSPACE_ALIGN = 256, MOST_M = INT_MAX - 1024 };

struct sett_product {
    sett_product_problem p;
    bool by_tma;
    int device, max_m, n_kernels, n_tiles; /* n_tiles: of sett_gemm_wgmma, or of sett_gemm_mma; one more is of few rows */
    size_t workspace;
    product_facts facts;
    sett_product_kernel list[SETT_PRODUCT_KERNELS];
    sett_kernel *kernel[SETT_PRODUCT_KERNELS];
};

static SETT_PRINTF(4, 5) sett_status fail(sett_error *err, sett_status s, const char *function, const char *format, ...)
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

/* What the model knows of a problem that TMA takes. */
static product_facts facts_of(const sett_product_problem *p)
{
    const int kinds = product_kinds_b(p);
    product_facts f = {.device = sett__device_of(90), .n = p->n, .batches = kinds ? kinds : 1, .streams = sett__product_streams(p), .few = few_of(p)};
    f.multiprocessors = f.device->multiprocessors;
    f.ping_pong = !p->promote && p->terms.amax != 2 && !(sett__bytes_of(p->d) == 4 && (p->residual || p->terms.softcap));
    f.k_tiles = ((int64_t)p->k * sett__bytes_of(p->dtype) + LINE - 1) / LINE;
    f.bytes_a = f.batches * p->k * sett__bytes_of(p->dtype);
    f.bytes_b = f.batches * ((int64_t)p->n << p->swiglu) * p->k * sett_dtype_bits(p->b) / CHAR_BIT;
    f.packed_bits = sett__product_packed_bits(p);
    f.bytes_d = f.batches * p->n * sett__bytes_of(p->d) * (1 + p->residual);
    sett__product_tiles(&f, p->swiglu, f.packed_bits ? PRODUCT_PACKED : p->block_scales ? PRODUCT_BLOCKS : p->promote ? PRODUCT_PROMOTED : PRODUCT_SUMS, SETT_PRODUCT_KERNELS - (f.few > 0));
    return f;
}

static sett_status list_tma(const sett_product_problem *p, const char *target, sett_product_kernel *to, int *n, sett_error *err)
{
    const product_facts f = facts_of(p);
    *n = f.n_tiles;
    for (int i = 0; i < *n; i++) {
        to[i] = (sett_product_kernel){.family = &sett_gemm_wgmma_family,
            .options.wgmma = {.size = sizeof to->options.wgmma, .dtype = p->dtype, .no_pdl = p->no_pdl, .b = p->b, .c = p->d, .scaled = p->scaled, .swiglu = p->swiglu,
                .residual = p->residual, .stream_k = sett__product_streams(p) && !f.tile[i].ping_pong, .batched = p->batch > 1, .grouped = p->grouped,
                .tuning = {.bm = f.tile[i].bm, .bn = f.tile[i].bn, .cluster = 1, .ping_pong = f.tile[i].ping_pong}, .terms = p->terms, .promote = p->promote, .block_scales = p->block_scales, .tf32 = p->tf32, .group = p->group, .zeros = p->zeros, .sw = p->sw}};
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
                .align = sett__product_align_in(p), .align_c = sett__product_align_out(p), .scaled = p->scaled, .swiglu = p->swiglu, .residual = p->residual, .batched = p->batch > 1, .tf32 = p->tf32,
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
        return fail(err, SETT_E_ARGUMENT, function, given ? "the problem has no .size: it is sizeof(sett_product_problem)" : "there is no problem");
    if (given->size < offsetof(sett_product_problem, a_major) || given->size % sizeof(int))
        return fail(err, SETT_E_ARGUMENT, function, ".size is %zu: sizeof(sett_product_problem), %zu", given->size, sizeof *p);
    if (given->size > sizeof *p)
        return fail(err, SETT_E_ARGUMENT, function, "the problem is of %zu bytes, and this library knows %zu: it is older than the header", given->size, sizeof *p);
    memcpy(p, given, given->size);
    sett__product_settle(p, max_m, &c);
    if (*c.why)
        return fail(err, SETT_E_ARGUMENT, function, "%s", c.why);
    const bool gpu = !strncmp(target, "sm_", 3), fp8 = sett__is_f8(p->dtype);
    const int sm = gpu ? atoi(target + 3) : 0, least = fp8 ? 89 : 80;
    if (gpu && sm < least)
        return fail(err, SETT_E_TARGET, function, "products of %s need sm_%d, the target is %s", sett_dtype_name(p->dtype), least, target);
    const bool by_tma = sett__product_takes_tma(p, target), empty = !p->k || !p->n;
    const bool packed = sett__product_packed_bits(p) > 0;
    if (packed && sett__product_align_in(p) < PAIR)
        return fail(err, SETT_E_ARGUMENT, function, ".b is %s of .dtype %s, packed weights: then .align is 4 or more, and rows of A lie at multiples of 4 bytes", sett_dtype_name(p->b), sett_dtype_name(p->dtype));
    const char *needs = sett__product_needs_tma(p);
    if (needs && gpu && strcmp(target, "sm_90a"))
        return fail(err, SETT_E_TARGET, function, "%s: products with %s need sm_90a, the target is %s", needs, p->block_scales ? "them" : "groups", target);
    if (needs && !by_tma && !empty) {
        sett__product_why_no_tma(p, &c);
        return fail(err, SETT_E_ARGUMENT, function, "%s", c.why);
    }
    sett_status s = (by_tma ? list_tma : packed ? list_mixed : list_mma)(p, target, list, n, err);
    if (!s && has_few(p, by_tma))
        s = add_few(p, target, &list[(*n)++], err);
    return s;
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
static const sett_gemm_wgmma_options *wgmma_of(const sett_product *x, int i)
{
    return &x->list[i].options.wgmma;
}

/* Slots that a worker has, and bytes of the sums of all workers of the largest tile. */
static void take_workspace(sett_product *x)
{
    for (int i = 0; x->by_tma && sett__product_streams(&x->p) && i < x->n_tiles; i++) {
        const size_t sums = sizeof(float) * (size_t)wgmma_of(x, i)->tuning.bm * (size_t)wgmma_of(x, i)->tuning.bn * (size_t)x->facts.multiprocessors;
        x->workspace = sums > x->workspace ? sums : x->workspace;
    }
    x->workspace += x->workspace ? LEFT_BYTES : 0;
}

/* All of a plan but its kernels. */
static sett_status plan_for(const char *function, const sett_product_problem *given, int max_m, const char *target, sett_product *x, sett_error *err)
{
    sett_status s = take(function, given, max_m, target, &x->p, x->list, &x->n_kernels, err);
    x->max_m = max_m;
    x->by_tma = !s && sett__product_takes_tma(&x->p, target);
    x->n_tiles = x->n_kernels - (!s && has_few(&x->p, x->by_tma));
    if (x->by_tma)
        x->facts = facts_of(&x->p);
    return s;
}

static sett_status load(sett_engine *e, sett_product *x, const char *target, sett_error *err)
{
    for (int i = 0; i < x->n_kernels; i++) {
        sett_status s = sett_kernels_compile(e, x->list[i].family->body, &x->list[i].options, target, &x->kernel[i], err);
        if (!s)
            s = sett_prepare(x->kernel[i], x->device, err);
        int at_once = 0;
        if (!s && x->by_tma && i == x->n_tiles - 1) /* the largest: one a multiprocessor */
            s = sett_max_active_clusters(x->kernel[i], x->device, &at_once, err);
        if (s)
            return s;
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
        return fail(err, SETT_E_ARGUMENT, function, "there is no place for the plan, or for the bytes of its workspace");
    *plan = NULL, *bytes = 0;
    if (max_m < 0 || max_m > MOST_M)
        return fail(err, SETT_E_ARGUMENT, function, "max_m is %d: from 0 to %d", max_m, MOST_M);
    on = on == SETT_DEFAULT_DEVICE ? sett_default_device(e) : on;
    if (sett_device_target(e, on, target, sizeof target) < 0)
        return fail(err, SETT_E_NO_DEVICE, function, "the engine has no device %d", on);
    sett_product *x = calloc(1, sizeof *x);
    if (!x)
        return fail(err, SETT_E_MEMORY, function, "no memory");
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

/* ---- a run ----------------------------------------------------------------------------------------------- */
static const char run_name[] = "sett_product_run";

/* Arguments of a launch, as they are gathered. */
typedef struct launch {
    int n;
    sett_buf buf[ARGUMENTS];
    sett_launch_arg arg[ARGUMENTS];
} launch;

/* Of a matrix, and of a vector: kinds of them, 0: one without a mode of kinds. */
static void add_matrix(launch *l, int kinds, const void *data, sett_dtype t, int64_t rows, int64_t cols, int64_t apart, int64_t batch, int major)
{
    sett_buf *b = &l->buf[l->n];
    *b = (sett_buf){.data = (void *)(uintptr_t)data, .dtype = t, .rank = kinds ? 3 : 2, .shape = {rows, cols, kinds}, .stride = {major ? 1 : apart, major ? apart : 1, batch}};
    l->arg[l->n++] = sett_launch_arg_buf(b);
}

/* Weights and scales as sett_product_pack_weights packs them. */
static void add_packed(launch *l, const sett_product_problem *p, const sett_product_operands *o)
{
    const sett_weights w = {.size = sizeof w, .dtype = p->dtype, .b = p->b, .sw = p->sw, .group = p->group, .zeros = p->zeros, .n = p->n, .k = p->k, .swiglu = p->swiglu};
    sett_buf *b = &l->buf[l->n], *sw = &l->buf[l->n + 1];
    sett__packed_bufs(&w, o->b, o->sw, b, sw);
    l->arg[l->n++] = sett_launch_arg_buf(b);
    l->arg[l->n++] = sett_launch_arg_buf(sw);
}

static void add_vector(launch *l, int kinds, const void *data, sett_dtype t, int64_t n)
{
    sett_buf *b = &l->buf[l->n];
    *b = (sett_buf){.data = (void *)(uintptr_t)data, .dtype = t, .rank = kinds ? 2 : 1, .shape = {n, kinds}, .stride = {1, n}};
    l->arg[l->n++] = sett_launch_arg_buf(b);
}

static void add_number(launch *l, int has, float x)
{
    if (has)
        l->arg[l->n++] = sett_launch_arg_float(x);
}

static void add_block_scales(launch *l, const sett_product_problem *p, int m, const sett_product_operands *o)
{
    const int64_t ldsa = o->ldsa ? o->ldsa : (m + SCALES - 1) / SCALES * SCALES, k = product_blocks(p->k), rows_b = product_blocks(p->n) << p->swiglu;
    add_matrix(l, product_kinds_a(p), o->sa, SETT_F32, m, k, ldsa, ldsa * k, 1);
    add_matrix(l, product_kinds_b(p), o->sb, SETT_F32, rows_b, k, p->ldsb, p->ldsb * rows_b, 0);
}

/* In the order of gemm.h. AUX lies as D does where nothing is said: max_m rows from one product, or group, to the next. */
static void add_terms(launch *l, const sett_product_problem *p, int m, int max_m, const sett_product_operands *o)
{
    const sett_gemm_terms *t = &p->terms;
    const int kinds = product_kinds_a(p);
    add_number(l, t->alpha, o->alpha);
    if (t->scale)
        add_vector(l, 0, o->s, SETT_F32, 1);
    if (t->bias)
        add_vector(l, product_kinds_b(p), o->bias, sett__type_beside(p->d), p->n);
    add_number(l, t->softcap, o->cap);
    if (t->aux)
        add_matrix(l, kinds, o->aux, sett__type_beside(p->d), m, p->n, p->ldaux, p->ldaux * max_m, 0);
    add_number(l, t->beta, o->beta);
    add_number(l, t->clamp, o->low), add_number(l, t->clamp, o->high);
    if (t->amax)
        add_vector(l, t->amax == 2 ? kinds : 0, o->amax, SETT_F32, t->amax == 2 ? m : 1);
    if (t->quantise)
        add_vector(l, 0, o->qs, SETT_F32, 1);
    if (t->row_sum)
        add_vector(l, kinds, o->row_sum, SETT_F32, m);
    if (t->column_sum)
        add_vector(l, product_kinds_b(p), o->column_sum, SETT_F32, p->n);
    if (t->row_max)
        add_vector(l, kinds, o->row_max, SETT_F32, m);
    if (t->column_max)
        add_vector(l, product_kinds_b(p), o->column_max, SETT_F32, p->n);
}

static void add_stream(launch *l, const sett_product *x, void *workspace, const product_way *w)
{
    const size_t sums = (x->workspace - LEFT_BYTES) / sizeof(float);
    add_vector(l, 0, (char *)workspace + LEFT_BYTES, x->p.dtype == SETT_I8 ? SETT_I32 : SETT_F32, (int64_t)sums);
    add_vector(l, 0, workspace, SETT_U32, LEFT_BYTES / 4);
    l->arg[l->n++] = sett_launch_arg_int(w->workers);
    l->arg[l->n++] = sett_launch_arg_int(w->streamed);
}

/* Rows of a block of sett_gemm_mma or sett_gemm_mixed. */
static int height_of(const sett_product_kernel *k)
{
    return k->family == &sett_gemm_mixed_family ? k->options.mixed.rows : k->options.mma.tuning.bm;
}

/* Of these the lowest that has room for m rows, else the highest. */
static int by_height(const sett_product *x, int m)
{
    int i = 0;
    if (m <= PRODUCT_FEW && x->n_tiles < x->n_kernels)
        return x->n_tiles;
    while (i < x->n_tiles - 1 && height_of(&x->list[i]) < m)
        i++;
    return i;
}

/* The rows that the model is told of: those of a group, where there are groups. A group has no more than m, and where they are said to have as
 * many all of them are full. */
static product_way way_of(const sett_product *x, int m, int expected)
{
    const bool contiguous = x->p.grouped == SETT_GROUPED_CONTIGUOUS;
    const int usual = contiguous ? m / x->p.groups + (m % x->p.groups > 0) : m, rows = x->p.grouped && expected && expected < m ? expected : usual;
    product_facts f = x->facts;
    if (!x->by_tma)
        return (product_way){.kernel = by_height(x, m)};
    f.uneven = x->p.grouped && rows < m;
    return sett__product_choose(&f, rows);
}

/* What the problem has is given, and no more: an operand of a member that is 0 would be ignored. `has`: the member; `needed`: where it has no elements
 * it is not read. */
static sett_status check_operands(const sett_product_problem *p, const sett_product_operands *o, sett_error *err)
{
    static const char *const grouped[] = {".grouped is 0", ".grouped is contiguous", ".grouped is masked"};
    const sett_grouped g = p->grouped;
    const sett_gemm_terms *t = &p->terms;
    const int scales = p->scaled || p->block_scales, deep = p->k > 0, packed = sett__product_packed_bits(p) > 0;
    const char *no_scales = ".scaled and .block_scales are 0";
    const struct {
        const char *name;
        const void *at;
        int has, needed;
        const char *without;
    } of[] = {{"a", o->a, 1, deep, ""}, {"b", o->b, 1, deep, ""}, {"d", o->d, 1, 1, ""}, {"r", o->r, p->residual, 1, ".residual is 0"}, {"sa", o->sa, scales, p->scaled || deep, no_scales},
        {"sb", o->sb, scales, p->scaled || deep, no_scales}, {"sw", o->sw, packed, 1, ".b is not of packed weights"}, {"s", o->s, t->scale, 1, ".terms.scale is 0"},
        {"qs", o->qs, t->quantise, 1, ".terms.quantise is 0"}, {"bias", o->bias, t->bias, 1, ".terms.bias is 0"}, {"aux", o->aux, t->aux, 1, ".terms.aux is 0"}, {"amax", o->amax, t->amax, 1, ".terms.amax is 0"},
        {"row_sum", o->row_sum, t->row_sum, 1, ".terms.row_sum is 0"}, {"column_sum", o->column_sum, t->column_sum, 1, ".terms.column_sum is 0"}, {"row_max", o->row_max, t->row_max, 1, ".terms.row_max is 0"},
        {"column_max", o->column_max, t->column_max, 1, ".terms.column_max is 0"}, {"offsets", o->offsets, g == SETT_GROUPED_CONTIGUOUS, 1, grouped[g]}, {"counts", o->counts, g == SETT_GROUPED_MASKED, 1, grouped[g]}};
    const struct {
        const char *name;
        float x;
        int has;
        const char *without;
    } number[] = {{"alpha", o->alpha, t->alpha, "alpha"}, {"cap", o->cap, t->softcap, "softcap"}, {"beta", o->beta, t->beta, "beta"}, {"low", o->low, t->clamp, "clamp"}, {"high", o->high, t->clamp, "clamp"}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        if (of[i].has && of[i].needed && !of[i].at)
            return fail(err, SETT_E_ARGUMENT, run_name, ".%s is NULL", of[i].name);
        if (!of[i].has && of[i].at)
            return fail(err, SETT_E_ARGUMENT, run_name, ".%s is given, and %s", of[i].name, of[i].without);
    }
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        if (!number[i].has && number[i].x != 0)
            return fail(err, SETT_E_ARGUMENT, run_name, ".%s is %g, and .terms.%s is 0", number[i].name, (double)number[i].x, number[i].without);
    if (t->clamp && !(o->low <= o->high))
        return fail(err, SETT_E_ARGUMENT, run_name, ".low is %g, and .high is %g: .low is not above .high", (double)o->low, (double)o->high);
    return SETT_OK;
}

/* The rows of groups, where the host can read them: a wrong one is rows outside A and D. On a GPU they are the caller's word. */
static sett_status check_table(const sett_product_problem *p, int m, const sett_product_operands *o, sett_error *err)
{
    const bool flat = p->grouped == SETT_GROUPED_CONTIGUOUS;
    const int n = !p->grouped ? 0 : p->groups + flat;
    int32_t last = 0;
    for (int i = 0; i < n; i++) {
        int32_t x;
        memcpy(&x, (flat ? o->offsets : o->counts) + i, sizeof x);
        if (flat && i && (x < last || x > m))
            return fail(err, SETT_E_ARGUMENT, run_name, ".offsets[%d] is %d: from .offsets[%d], %d, to m, %d", i, x, i - 1, last, m);
        if (x < 0 || x > m)
            return fail(err, SETT_E_ARGUMENT, run_name, ".%s[%d] is %d: from 0 to m, %d", flat ? "offsets" : "counts", i, x, m);
        last = x;
    }
    return SETT_OK;
}

static sett_status check_run(const sett_product *x, int m, const sett_product_operands *o, const void *workspace, size_t bytes, sett_error *err)
{
    const char *function = run_name;
    if (!x || !o)
        return fail(err, SETT_E_ARGUMENT, function, !x ? "there is no plan" : "there are no operands");
    if (!o->size)
        return fail(err, SETT_E_ARGUMENT, function, "the operands have no .size: it is sizeof(sett_product_operands)");
    if (o->size != sizeof *o)
        return fail(err, SETT_E_ARGUMENT, function, ".size is %zu: sizeof(sett_product_operands), %zu", o->size, sizeof *o);
    if (m < 0 || m > x->max_m)
        return fail(err, SETT_E_ARGUMENT, function, "m is %d: from 0 to %d, the max_m that the plan was prepared for", m, x->max_m);
    if (!m || !x->p.n)
        return SETT_OK;
    const bool blocks = x->p.block_scales && x->p.k;
    sett_status s = check_operands(&x->p, o, err);
    if (s)
        return s;
    if (o->expected_m < 0)
        return fail(err, SETT_E_ARGUMENT, function, ".expected_m is %d: 0 or more", o->expected_m);
    if (blocks && o->ldsa && (o->ldsa < m || o->ldsa % SCALES || o->ldsa > INT32_MAX))
        return fail(err, SETT_E_ARGUMENT, function, ".ldsa is %lld: a multiple of %d, at least m, %d, or 0 for that", (long long)o->ldsa, SCALES, m);
    s = x->device == SETT_CPU ? check_table(&x->p, m, o, err) : SETT_OK;
    if (s)
        return s;
    if (bytes < x->workspace || (x->workspace && !workspace))
        return fail(err, SETT_E_ARGUMENT, function, "the workspace has %zu bytes: the plan needs %zu", workspace ? bytes : (size_t)0, x->workspace);
    if ((uintptr_t)workspace % WORKSPACE_ALIGN && x->workspace)
        return fail(err, SETT_E_ARGUMENT, function, "the workspace does not begin at a multiple of %d bytes", WORKSPACE_ALIGN);
    return SETT_OK;
}

sett_status sett_product_run(const sett_product *x, int m, const sett_product_operands *o, void *workspace, size_t bytes, sett_stream stream, sett_error *err)
{
    sett_status s = check_run(x, m, o, workspace, bytes, err);
    if (s || !m || !x->p.n)
        return s;
    const sett_product_problem *p = &x->p;
    const int of_a = product_kinds_a(p), of_b = product_kinds_b(p);
    const product_way w = way_of(x, m, o->expected_m);
    launch l = {.n = 0};
    add_matrix(&l, of_a, o->a, p->dtype, m, p->k, p->lda, p->batch_a, p->a_major);
    if (sett__product_packed_bits(p))
        add_packed(&l, p, o);
    else
        add_matrix(&l, of_b, o->b, p->b, (int64_t)p->n << p->swiglu, p->k, p->ldb, p->batch_b, p->b_major);
    if (p->grouped == SETT_GROUPED_CONTIGUOUS)
        add_vector(&l, 0, o->offsets, SETT_I32, (int64_t)p->groups + 1);
    if (p->grouped == SETT_GROUPED_MASKED)
        add_vector(&l, 0, o->counts, SETT_I32, p->groups);
    if (p->residual)
        add_matrix(&l, of_a, o->r, p->d, m, p->n, p->ldr, p->batch_r, 0);
    add_matrix(&l, of_a, o->d, p->d, m, p->n, p->ldd, p->batch_d, 0);
    if (p->scaled)
        add_vector(&l, of_a, o->sa, SETT_F32, m), add_vector(&l, of_b, o->sb, SETT_F32, p->n);
    if (p->block_scales && p->k)
        add_block_scales(&l, p, m, o);
    add_terms(&l, p, m, x->max_m, o);
    if (x->by_tma && w.kernel < x->n_tiles && wgmma_of(x, w.kernel)->stream_k)
        add_stream(&l, x, workspace, &w);
    return sett_launch_n(x->kernel[w.kernel], stream, l.n, l.arg, err);
}

int sett_product_explain(const sett_product *x, int m, char *text, size_t size)
{
    const product_way w = way_of(x, m > 0 ? m : 1, 0);
    const char *name = x->list[w.kernel].family->name;
    if (w.kernel == x->n_tiles)
        return x->by_tma ? snprintf(text, size, "%s: %.1f us by the model", name, w.us) : snprintf(text, size, "%s", name);
    if (!x->by_tma && x->list[w.kernel].family == &sett_gemm_mixed_family)
        return snprintf(text, size, "%s rows=%d", name, x->list[w.kernel].options.mixed.rows);
    if (!x->by_tma)
        return snprintf(text, size, "gemm_mma bm=%d bn=%d", x->list[w.kernel].options.mma.tuning.bm, x->list[w.kernel].options.mma.tuning.bn);
    return snprintf(text, size, "gemm_wgmma bm=%d bn=%d%s: %d workers, %d of %lld tiles streamed, %.1f us by the model", wgmma_of(x, w.kernel)->tuning.bm,
        wgmma_of(x, w.kernel)->tuning.bn, wgmma_of(x, w.kernel)->tuning.ping_pong ? " ping_pong=1" : "", w.workers, w.streamed, (long long)w.tiles, w.us);
}

int sett_product_explain_for(const sett_product_problem *given, const char *target, int m, char *text, size_t size, sett_error *err)
{
    static const char function[] = "sett_product_explain_for";
    sett_product x = {.n_kernels = 0};
    if (m < 0 || m > MOST_M)
        return fail(err, SETT_E_ARGUMENT, function, "m is %d: from 0 to %d", m, MOST_M), -1;
    return plan_for(function, given, m, target ? target : "sm_90a", &x, err) ? -1 : sett_product_explain(&x, m, text, size);
}
