/* SPDX-License-Identifier: Apache-2.0 */
/* A run of a product: what it is given is checked, a kernel chosen, and its arguments gathered. */
#include "epilogue.h"
#include "product.h"
#include "weights.h"
#include <limits.h>
#include <math.h>
#include <string.h>

enum { ARGUMENTS = 32, SCALES = 4 /* of 16 bytes */, WORKSPACE_ALIGN = 256 };

static const char run_name[] = "sett_product_run";

/* Arguments of a launch, as they are gathered. */
typedef struct launch {
    int n;
    bool pointers; /* what has kinds is an array of the addresses of them */
    sett_buf buf[ARGUMENTS];
    sett_launch_arg arg[ARGUMENTS];
} launch;

/* Of a matrix, and of a vector: kinds of them, 0: one without a mode of kinds. */
static void add_vector(launch *l, int kinds, const void *data, sett_dtype t, int64_t n)
{
    const bool pointers = kinds && l->pointers;
    sett_buf *b = &l->buf[l->n];
    *b = (sett_buf){.data = (void *)(uintptr_t)data, .dtype = pointers ? SETT_U64 : t, .rank = kinds && !pointers ? 2 : 1, .shape = {pointers ? kinds : n, kinds}, .stride = {1, n}};
    l->arg[l->n++] = sett_launch_arg_buf(b);
}

static void add_matrix(launch *l, int kinds, const void *data, sett_dtype t, int64_t rows, int64_t cols, int64_t apart, int64_t batch, int major)
{
    if (kinds && l->pointers) {
        add_vector(l, kinds, data, t, 0);
        return;
    }
    sett_buf *b = &l->buf[l->n];
    *b = (sett_buf){.data = (void *)(uintptr_t)data, .dtype = t, .rank = kinds ? 3 : 2, .shape = {rows, cols, kinds}, .stride = {major ? 1 : apart, major ? apart : 1, batch}};
    l->arg[l->n++] = sett_launch_arg_buf(b);
}

/* Weights and scales as sett_product_pack_weights packs them. */
static void add_packed(launch *l, const sett_product_problem *p, const sett_product_operands *o)
{
    const sett_weights w = {.size = sizeof w, .dtype = p->dtype, .b = p->b, .sw = p->sw, .group = p->group, .zeros = p->zeros, .n = p->n, .k = p->k, .swiglu = p->swiglu};
    sett_buf *b = &l->buf[l->n], *sw = &l->buf[l->n + 1];
    sett__packed_bufs(&w, product_kinds_b(p), o->b, o->sw, b, sw);
    l->arg[l->n++] = sett_launch_arg_buf(b);
    l->arg[l->n++] = sett_launch_arg_buf(sw);
}

static void add_number(launch *l, int has, float x)
{
    if (has)
        l->arg[l->n++] = sett_launch_arg_float(x);
}

/* Of rows and 128 columns of a matrix (m,cols): contiguous along m. */
static int64_t columns_apart(int m, int64_t given)
{
    return given ? given : (m + SCALES - 1) / SCALES * SCALES;
}

static void add_scales(launch *l, const sett_product_problem *p, int m, const float *at, int cols, int64_t given)
{
    const int64_t apart = columns_apart(m, given), blocks = product_blocks(cols);
    add_matrix(l, product_kinds_a(p), at, SETT_F32, m, blocks, apart, apart * blocks, 1);
}

static void add_block_scales(launch *l, const sett_product_problem *p, int m, const sett_product_operands *o)
{
    const int64_t rows_b = product_blocks(p->n) << p->swiglu, k = product_blocks(p->k);
    add_scales(l, p, m, o->sa, p->k, o->ldsa);
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
    if (t->quantise == 1)
        add_vector(l, 0, o->qs, SETT_F32, 1);
    if (in_blocks(t))
        add_scales(l, p, m, o->sd, p->n, o->ldsd);
    if (t->row_sum)
        add_vector(l, kinds, o->row_sum, SETT_F32, m);
    if (t->column_sum)
        add_vector(l, product_kinds_b(p), o->column_sum, SETT_F32, p->n);
    if (t->row_max)
        add_vector(l, kinds, o->row_max, SETT_F32, m);
    if (t->column_max)
        add_vector(l, product_kinds_b(p), o->column_max, SETT_F32, p->n);
}

/* What arrays of pointers do not say of the operands, and how many they are, in the order of gemm_mma.h. */
static void add_extents(launch *l, const sett_product_problem *p, int m, int64_t ldsd)
{
    const struct {
        bool has;
        int64_t x;
    } of[] = {{true, m}, {true, p->n}, {true, p->k}, {true, p->batch}, {true, p->lda}, {true, p->ldb}, {p->residual, p->ldr}, {true, p->ldd}, {p->terms.aux, p->ldaux}, {in_blocks(&p->terms), columns_apart(m, ldsd)}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (of[i].has)
            l->arg[l->n++] = sett_launch_arg_int(of[i].x);
}

static void add_stream(launch *l, const sett_product *x, void *workspace, const product_way *w)
{
    const size_t sums = (x->workspace - PRODUCT_LEFT_BYTES) / sizeof(float);
    add_vector(l, 0, (char *)workspace + PRODUCT_LEFT_BYTES, x->p.dtype == SETT_I8 ? SETT_I32 : SETT_F32, (int64_t)sums);
    add_vector(l, 0, workspace, SETT_U32, PRODUCT_LEFT_BYTES / 4);
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
product_way sett__product_way(const sett_product *x, int m, int expected)
{
    const bool contiguous = x->p.grouped == SETT_GROUPED_CONTIGUOUS;
    const int usual = contiguous ? m / x->p.groups + (m % x->p.groups > 0) : m, rows = x->p.grouped && expected && expected < m ? expected : usual;
    product_facts f = x->facts;
    if (!x->by_tma)
        return (product_way){.kernel = by_height(x, m)};
    f.uneven = x->p.grouped && rows < m, f.rows = m;
    return sett__product_choose(&f, rows);
}

/* Of a soft cap: x / cap and cap times a fraction are numbers. */
static const float CAP_LEAST = 0x1p-100f;

/* Numbers of terms: those that the problem has, and no others. A 0 of alpha, beta, low and high is a number as others. */
static sett_status check_numbers(const sett_gemm_terms *t, const sett_product_operands *o, sett_error *err)
{
    const struct {
        const char *name;
        float x;
        int has;
        const char *of;
    } number[] = {{"alpha", o->alpha, t->alpha, "alpha"}, {"cap", o->cap, t->softcap, "softcap"}, {"beta", o->beta, t->beta, "beta"}, {"low", o->low, t->clamp, "clamp"}, {"high", o->high, t->clamp, "clamp"}};
    if (t->softcap && !(o->cap >= CAP_LEAST && o->cap <= 1 / CAP_LEAST))
        return sett__product_fail(err, SETT_E_ARGUMENT, run_name, ".cap is %g, and .terms.softcap is 1: from %g to %g", (double)o->cap, (double)CAP_LEAST, (double)(1 / CAP_LEAST));
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        if (!number[i].has && number[i].x != 0)
            return sett__product_fail(err, SETT_E_ARGUMENT, run_name, ".%s is %g, and .terms.%s is 0", number[i].name, (double)number[i].x, number[i].of);
    if (t->clamp && !(o->low <= o->high))
        return sett__product_fail(err, SETT_E_ARGUMENT, run_name, ".low is %g, and .high is %g: .low is not above .high", (double)o->low, (double)o->high);
    return SETT_OK;
}

/* An extent of 0 is one that may have been forgotten: then operands are given that have no elements. */
static sett_status check_extents(const sett_product_problem *p, const sett_product_operands *o, sett_error *err)
{
    const bool no_k = !p->k && !p->pointer_array && (o->a || o->b);
    if (!p->n && (o->b || o->d))
        return sett__product_fail(err, SETT_E_ARGUMENT, run_name, ".%s is given, and .n of the problem is 0: then B and D have no elements, and are NULL", o->d ? "d" : "b");
    if (p->n && no_k)
        return sett__product_fail(err, SETT_E_ARGUMENT, run_name, ".%s is given, and .k of the problem is 0: then A and B have no elements, and are NULL", o->a ? "a" : "b");
    return SETT_OK;
}

/* Of an array of pointers, where the host can read it. */
static sett_status check_pointers(const sett_product_problem *p, const char *name, const uint64_t *at, sett_error *err)
{
    for (int i = 0; i < p->batch; i++) {
        uint64_t x;
        memcpy(&x, at + i, sizeof x);
        if (!x)
            return sett__product_fail(err, SETT_E_ARGUMENT, run_name, ".%s[%d] is NULL: .pointer_array is 1, and it is the address of what product %d has", name, i, i);
    }
    return SETT_OK;
}

/* What the problem has is given, and no more: an operand of a member that is 0 would be ignored. `has`: the member; `needed`: where it has no elements
 * it is not read; `each`: it is an array of pointers, of .pointer_array, and its addresses are used. */
static sett_status check_operands(const sett_product_problem *p, const sett_product_operands *o, bool host, sett_error *err)
{
    static const char *const grouped[] = {".grouped is 0", ".grouped is contiguous", ".grouped is masked"};
    const sett_grouped g = p->grouped;
    const sett_gemm_terms *t = &p->terms;
    const int scales = p->scaled || p->block_scales, deep = p->k > 0 || p->pointer_array, packed = sett__product_packed_bits(p) > 0;
    const char *no_scales = ".scaled and .block_scales are 0";
    const struct {
        const char *name;
        const void *at;
        int has, needed, each;
        const char *without;
    } of[] = {{"a", o->a, 1, deep, p->k > 0, ""}, {"b", o->b, 1, deep, p->k > 0, ""}, {"d", o->d, 1, 1, 1, ""}, {"r", o->r, p->residual, 1, 1, ".residual is 0"}, {"sa", o->sa, scales, p->scaled || deep, 1, no_scales},
        {"sb", o->sb, scales, p->scaled || deep, 1, no_scales}, {"sw", o->sw, packed, 1, 0, ".b is not of packed weights"}, {"s", o->s, t->scale, 1, 0, ".terms.scale is 0"},
        {"qs", o->qs, t->quantise == 1, 1, 0, ".terms.quantise is not 1"}, {"sd", o->sd, in_blocks(t), 1, 1, ".terms.quantise is not 2"}, {"bias", o->bias, t->bias, 1, 1, ".terms.bias is 0"}, {"aux", o->aux, t->aux, 1, 1, ".terms.aux is 0"}, {"amax", o->amax, t->amax, 1, t->amax == 2, ".terms.amax is 0"},
        {"row_sum", o->row_sum, t->row_sum, 1, 1, ".terms.row_sum is 0"}, {"column_sum", o->column_sum, t->column_sum, 1, 1, ".terms.column_sum is 0"}, {"row_max", o->row_max, t->row_max, 1, 1, ".terms.row_max is 0"},
        {"column_max", o->column_max, t->column_max, 1, 1, ".terms.column_max is 0"}, {"offsets", o->offsets, g == SETT_GROUPED_CONTIGUOUS, 1, 0, grouped[g]}, {"counts", o->counts, g == SETT_GROUPED_MASKED, 1, 0, grouped[g]}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        if (of[i].has && of[i].needed && !of[i].at)
            return sett__product_fail(err, SETT_E_ARGUMENT, run_name, ".%s is NULL", of[i].name);
        if (!of[i].has && of[i].at)
            return sett__product_fail(err, SETT_E_ARGUMENT, run_name, ".%s is given, and %s", of[i].name, of[i].without);
        const sett_status s = of[i].has && of[i].each && host && p->pointer_array ? check_pointers(p, of[i].name, of[i].at, err) : SETT_OK;
        if (s)
            return s;
    }
    return check_numbers(t, o, err);
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
            return sett__product_fail(err, SETT_E_ARGUMENT, run_name, ".offsets[%d] is %d: from .offsets[%d], %d, to m, %d", i, x, i - 1, last, m);
        if (x < 0 || x > m)
            return sett__product_fail(err, SETT_E_ARGUMENT, run_name, ".%s[%d] is %d: from 0 to m, %d", flat ? "offsets" : "counts", i, x, m);
        last = x;
    }
    return SETT_OK;
}

/* The words that tell which sums came are 0 between runs. On a GPU nobody looks. */
static sett_status check_workspace(const void *workspace, sett_error *err)
{
    for (int i = 0; i < PRODUCT_LEFT_BYTES / (int)sizeof(uint32_t); i++) {
        uint32_t x;
        memcpy(&x, (const char *)workspace + i * (int)sizeof x, sizeof x);
        if (x)
            return sett__product_fail(err, SETT_E_ARGUMENT, run_name, "word %d of the workspace is 0x%x: it is 0 before the first run and after one that was ended, and runs that go on at the same time have one each", i, x);
    }
    return SETT_OK;
}

static sett_status check_run(const sett_product *x, int m, const sett_product_operands *o, const void *workspace, size_t bytes, sett_error *err)
{
    const char *function = run_name;
    if (!x || !o)
        return sett__product_fail(err, SETT_E_ARGUMENT, function, !x ? "there is no plan" : "there are no operands");
    if (!o->size)
        return sett__product_fail(err, SETT_E_ARGUMENT, function, "the operands have no .size: it is sizeof(sett_product_operands)");
    if (o->size != sizeof *o)
        return sett__product_fail(err, SETT_E_ARGUMENT, function, ".size is %zu: sizeof(sett_product_operands), %zu", o->size, sizeof *o);
    if (m < 0 || m > x->max_m)
        return sett__product_fail(err, SETT_E_ARGUMENT, function, "m is %d: from 0 to %d, the max_m that the plan was prepared for", m, x->max_m);
    if (!m)
        return SETT_OK;
    const bool blocks = x->p.block_scales && x->p.k;
    sett_status s = check_extents(&x->p, o, err);
    if (s || !x->p.n)
        return s;
    s = check_operands(&x->p, o, x->device == SETT_CPU, err);
    if (s)
        return s;
    if (o->expected_m && !x->p.grouped)
        return sett__product_fail(err, SETT_E_ARGUMENT, function, ".expected_m is %d, and .grouped is 0", o->expected_m);
    if (o->expected_m < 0)
        return sett__product_fail(err, SETT_E_ARGUMENT, function, ".expected_m is %d: 0 or more", o->expected_m);
    const struct {
        const char *name;
        bool has;
        int64_t x;
    } apart[] = {{"ldsa", blocks, o->ldsa}, {"ldsd", in_blocks(&x->p.terms), o->ldsd}};
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++)
        if (apart[i].has && apart[i].x && (apart[i].x < m || apart[i].x % SCALES || apart[i].x > INT32_MAX))
            return sett__product_fail(err, SETT_E_ARGUMENT, function, ".%s is %lld: a multiple of %d, at least m, %d, or 0 for that", apart[i].name, (long long)apart[i].x, SCALES, m);
    s = x->device == SETT_CPU ? check_table(&x->p, m, o, err) : SETT_OK;
    if (s)
        return s;
    if (x->workspace && !workspace)
        return sett__product_fail(err, SETT_E_ARGUMENT, function, "the workspace is NULL: the plan needs %zu bytes", x->workspace);
    if (bytes < x->workspace)
        return sett__product_fail(err, SETT_E_ARGUMENT, function, "the workspace has %zu bytes: the plan needs %zu", bytes, x->workspace);
    if ((uintptr_t)workspace % WORKSPACE_ALIGN && x->workspace)
        return sett__product_fail(err, SETT_E_ARGUMENT, function, "the workspace does not begin at a multiple of %d bytes", WORKSPACE_ALIGN);
    return x->device == SETT_CPU && x->workspace ? check_workspace(workspace, err) : SETT_OK;
}

/* The text of a launch that failed names a kernel's parameter, and here the operand that it is. `waits`: the kernel waits for others' sums. */
static sett_status tell(sett_status s, bool waits, sett_error *err)
{
    enum { MATRICES = 5 };
    static const char *const names[][2] = {{"A", "a"}, {"B", "b"}, {"C", "d"}, {"R", "r"}, {"AUX", "aux"}, {"SA", "sa"}, {"SB", "sb"}, {"SW", "sw"}, {"S", "s"}, {"QS", "qs"}, {"SD", "sd"}, {"BIAS", "bias"}, {"AMAX", "amax"},
        {"ROWSUM", "row_sum"}, {"COLSUM", "column_sum"}, {"ROWMAX", "row_max"}, {"COLMAX", "column_max"}, {"OFFSETS", "offsets"}, {"COUNTS", "counts"}};
    if (!s || !err)
        return s;
    const sett_error was = *err;
    const char *at = strstr(was.text, ": ");
    const size_t n = at ? strcspn(at + 2, " :") : 0;
    if (waits && s == SETT_E_FAULT && strstr(err->text, "stream_k.c"))
        return sett__product_fail(err, s, run_name, "another run has the workspace at the same time, or it was changed: sums of its words did not come: %s", was.text);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (n == strlen(names[i][0]) && !strncmp(at + 2, names[i][0], n))
            return sett__product_fail(err, s, run_name, ".%s: %s%s", names[i][1], was.text, s == SETT_E_ALIGN && i < MATRICES ? ": .align of the problem is less then" : "");
    return s;
}

sett_status sett_product_run(const sett_product *x, int m, const sett_product_operands *o, void *workspace, size_t bytes, sett_stream stream, sett_error *err)
{
    sett_status s = check_run(x, m, o, workspace, bytes, err);
    if (s || !m || !x->p.n)
        return s;
    const sett_product_problem *p = &x->p;
    const int of_a = product_kinds_a(p), of_b = product_kinds_b(p);
    const product_way w = sett__product_way(x, m, o->expected_m);
    launch l = {.pointers = p->pointer_array};
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
    const bool deals = x->by_tma && w.kernel < x->n_tiles && wgmma_of(x, w.kernel)->stream_k;
    if (deals)
        add_stream(&l, x, workspace, &w);
    if (p->pointer_array)
        add_extents(&l, p, m, o->ldsd);
    return tell(sett_launch_n(x->kernel[w.kernel], stream, l.n, l.arg, err), deals && w.streamed, err);
}
