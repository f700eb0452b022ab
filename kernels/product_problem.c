/* SPDX-License-Identifier: Apache-2.0 */
/* A product's problem: what it may be, what members that are 0 become, and which kernels take it. */
#include "epilogue.h"
#include "product.h"
#include "weights.h"
#include <limits.h>
#include <string.h>

enum { ALIGN = 16 /* bytes, of TMA */, MOST_KINDS = 65535 /* products, or groups */ };

#define MOST_STRIDE (INT64_C(1) << 31) /* elements; times an extent it has 62 bits */

/* ---- the problem ------------------------------------------------------------------------------------- */
int sett__product_packed_bits(const sett_product_problem *p)
{
    return weights_bits(p->dtype, p->b);
}

static void check_packed(sett_product_problem *p, choice *c)
{
    sett__check_weights(&(weights_options){p->dtype, p->b, &p->sw, &p->group, p->zeros}, c);
    const struct {
        const char *name;
        bool given;
    } none[] = {{"a_major", p->a_major}, {"b_major", p->b_major}, {"ldb", p->ldb != 0}, {"batch_b", p->batch_b != 0}, {"pointer_array", p->pointer_array}};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (none[i].given)
            REFUSE(c, ".b is %s of .dtype %s, packed weights: then .%s is 0", sett_dtype_name(p->b), sett_dtype_name(p->dtype), none[i].name);
    sett__in_range(c, "n", p->n, 1, INT_MAX);
    sett__in_range(c, "k", p->k, 1, INT_MAX);
}

static void check_types(sett_product_problem *p, choice *c)
{
    const sett_dtype t = p->dtype;
    const struct {
        const char *name;
        sett_dtype type;
    } of[] = {{"dtype", t}, {"b", p->b}, {"d", p->d}, {"sw", p->sw}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (of[i].type && !sett_dtype_bits(of[i].type))
            REFUSE(c, ".%s is %d, which is no element type", of[i].name, (int)of[i].type);
    if (t != SETT_F16 && t != SETT_BF16 && t != SETT_I8 && t != SETT_F32 && !sett__is_f8(t))
        REFUSE(c, ".dtype is %s: f16, bf16, f8E4M3FN, f8E5M2, i8 or f32", t ? sett_dtype_name(t) : "not given");
    if (sett__product_packed_bits(p))
        check_packed(p, c);
    else
        sett__no_weights(p->sw, p->group, p->zeros, c);
    if (p->b != t && !sett__product_packed_bits(p) && !(sett__is_f8(p->b) && sett__is_f8(t)))
        REFUSE(c, ".b is %s: with .dtype %s it is the same, or both are f8E4M3FN or f8E5M2", sett_dtype_name(p->b), sett_dtype_name(t));
    const bool ints = (t == SETT_I8 && p->d == SETT_I32) || (p->d == SETT_I8 && (t == SETT_I8 || p->terms.quantise));
    if (!sett__is_small_float(p->d) && !sett__is_f8(p->d) && !ints)
        REFUSE(c, ".d is %s: f32, f16, bf16, f8E4M3FN or f8E5M2%s", sett_dtype_name(p->d), t == SETT_I8 ? ", i32 or i8" : "");
    if (p->d == SETT_I32 && p->scaled)
        REFUSE(c, ".d is i32: with .scaled it is a float, or i8");
    if (p->tf32 && t != SETT_F32)
        REFUSE(c, ".tf32 is 1: .dtype is f32 then, and not %s", sett_dtype_name(t));
    if ((p->promote || p->block_scales) && !sett__is_f8(t))
        REFUSE(c, ".%s is 1: .dtype is f8E4M3FN or f8E5M2 then, and not %s", p->block_scales ? "block_scales" : "promote", sett_dtype_name(t));
    if (p->block_scales && (p->scaled || p->batch > 1))
        REFUSE(c, ".block_scales is 1: then .%s is 0", p->scaled ? "scaled" : "batch");
    if (p->swiglu && (p->scaled || t == SETT_I8))
        REFUSE(c, ".swiglu is 1: %s", p->scaled ? "then .scaled is 0" : ".dtype is a float then");
}

const char *sett__product_needs_tma(const sett_product_problem *p)
{
    static const char *const grouped[] = {NULL, ".grouped is contiguous", ".grouped is masked"};
    if (p->block_scales || p->grouped)
        return p->block_scales ? ".block_scales is 1" : grouped[p->grouped];
    if (!sett__product_packed_bits(p))
        return NULL;
    return product_batch(p) ? ".batch is more than 1, of packed weights" : in_blocks(&p->terms) ? ".quantise is 2, of packed weights" : NULL; /* sett_gemm_mixed has neither */
}

static void check_groups(const sett_product_problem *p, choice *c)
{
    const sett_dtype t = p->dtype;
    sett__in_range(c, "grouped", (int)p->grouped, 0, SETT_GROUPED_MASKED);
    if (*c->why)
        return;
    if (!p->grouped && p->groups)
        REFUSE(c, ".groups is %d: then .grouped is contiguous or masked", p->groups);
    if (!p->grouped)
        return;
    const char *is = sett__product_needs_tma(p);
    sett__in_range(c, "groups", p->groups, 1, MOST_KINDS);
    if (t == SETT_F32)
        REFUSE(c, "%s: .dtype is f16, bf16, f8E4M3FN, f8E5M2 or i8 then, and not f32", is);
    if (p->d == SETT_I32 || (p->d == SETT_I8 && !p->terms.quantise))
        REFUSE(c, "%s: .d is a float then, or i8 with .quantise, and not %s", is, sett_dtype_name(p->d));
    if (p->batch > 1 || !p->k)
        REFUSE(c, "%s: then %s", is, p->k ? ".batch is 0" : ".k is 1 or more");
}

/* Operands that lie anywhere: what they would lie beside each other by is not said, and kernels that TMA feeds have none. */
static void check_pointers(const sett_product_problem *p, choice *c)
{
    const struct {
        const char *name;
        bool given;
    } none[] = {{"batch_a", p->batch_a != 0}, {"batch_b", p->batch_b != 0}, {"batch_r", p->batch_r != 0}, {"batch_d", p->batch_d != 0}, {"grouped", p->grouped != SETT_GROUPED_NONE},
        {"block_scales", p->block_scales != 0}};
    for (size_t i = 0; p->pointer_array && i < sizeof none / sizeof *none; i++)
        if (none[i].given)
            REFUSE(c, ".pointer_array is 1: then .%s is 0", none[i].name);
    if (p->pointer_array && !p->batch)
        REFUSE(c, ".pointer_array is 1: then .batch, how many addresses there are, is 1 or more");
}

/* A stride that is given is at least `length`, so that rows do not overlap; 0 becomes that. */
static void settle_stride(choice *c, const char *name, int64_t *stride, int64_t length)
{
    if (*stride < 0 || (*stride && *stride < length))
        REFUSE(c, ".%s is %lld: at least %lld, or 0 for that", name, (long long)*stride, (long long)length);
    if (*stride > MOST_STRIDE)
        REFUSE(c, ".%s is %lld: at most %lld", name, (long long)*stride, (long long)MOST_STRIDE);
    *stride = *stride ? *stride : length > 1 ? length : 1;
}

/* From one of `kinds` to the next: 0 becomes `length`, behind each other. */
static void settle_batch(choice *c, const char *name, int64_t *stride, int kinds, int64_t length)
{
    if (kinds && *stride < 0)
        REFUSE(c, ".%s is %lld: at least 0, or 0 for %lld", name, (long long)*stride, (long long)length);
    if (*stride > MOST_STRIDE)
        REFUSE(c, ".%s is %lld: at most %lld", name, (long long)*stride, (long long)MOST_STRIDE);
    *stride = *stride ? *stride : length;
}

/* Do matrices of m rows of D lie apart? Those of different products may lie between each other. Two rows of n elements overlap where they begin less than n
 * apart, and a row of the first matrix begins nearest to one of another at the multiples of .ldd below and above. */
static bool lie_apart(const sett_product_problem *p, int kinds, int m)
{
    for (int64_t of = 1; of < kinds; of++) {
        const int64_t at = of * p->batch_d, last = m - 1, row = at / p->ldd < last ? at / p->ldd : last;
        if (at - row * p->ldd < p->n || (row < last && (row + 1) * p->ldd - at < p->n))
            return false;
        if (at - last * p->ldd >= p->n) /* and so do all that follow */
            return true;
    }
    return true;
}

/* What is written does not overlap. */
static void check_apart(const sett_product_problem *p, choice *c, int max_m)
{
    const int kinds = product_kinds_a(p);
    const int64_t least = p->ldd * (max_m - 1) + p->n;
    if (kinds && max_m && !lie_apart(p, kinds, max_m))
        REFUSE(c, ".batch_d is %lld: %s of D overlap, whose rows lie %lld apart: at least %lld, or 0 for %lld; or less, with an .ldd that leaves room between rows", (long long)p->batch_d,
            p->grouped ? "groups" : "products", (long long)p->ldd, (long long)least, (long long)p->ldd * max_m);
}

/* What kernels read or write by offsets of 32 bits. */
static void check_span(choice *c, const char *name, bool has, int64_t stride, int max_m)
{
    if (has && max_m && stride > INT32_MAX / max_m)
        REFUSE(c, ".%s is %lld: with max_m %d it spans 2^31 elements or more", name, (long long)stride, max_m);
}

/* More elements no memory has, and their number, times bytes, stays in 64 bits. */
static void check_elements(const sett_product_problem *p, choice *c, int max_m)
{
    const double most = 0x1p56, of_a = product_kinds_a(p) ? product_kinds_a(p) : 1, of_b = product_kinds_b(p) ? product_kinds_b(p) : 1;
    const double n = (double)((int64_t)p->n << p->swiglu), k = p->k, m = max_m;
    if (of_b * n * k > most)
        REFUSE(c, ".n is %d and .k %d: B has more than 2^56 elements", p->n, p->k);
    if ((of_a > of_b ? of_a : of_b) * m * (n > k ? n : k) > most)
        REFUSE(c, ".n is %d and .k %d: with max_m %d A or D has more than 2^56 elements", p->n, p->k, max_m);
}

void sett__product_settle(sett_product_problem *p, int max_m, choice *c)
{
    const struct {
        const char *name;
        int value;
    } flags[] = {{"no_pdl", p->no_pdl}, {"a_major", p->a_major}, {"b_major", p->b_major}, {"scaled", p->scaled}, {"swiglu", p->swiglu}, {"residual", p->residual},
        {"tf32", p->tf32}, {"promote", p->promote}, {"block_scales", p->block_scales}, {"batch_invariant", p->batch_invariant}, {"pointer_array", p->pointer_array}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        sett__in_range(c, flags[i].name, flags[i].value, 0, 1);
    p->b = p->b ? p->b : p->dtype;
    const bool as_they_are = p->dtype == SETT_I8 && !p->scaled && !sett__has_terms(&p->terms);
    p->d = p->d ? p->d : p->dtype == SETT_F16 || p->dtype == SETT_F32 ? p->dtype : as_they_are ? SETT_I32 : SETT_BF16;
    check_types(p, c);
    const epilogue_options e = {.named = &p->terms, .scaled = p->scaled, .residual = p->residual, .swiglu = p->swiglu, .sums = p->dtype == SETT_I8 ? SETT_I32 : SETT_F32, .c = p->d, .c_name = "d"};
    sett__check_epilogue(&e, c);
    sett__in_range(c, "n", p->n, 0, p->swiglu ? INT_MAX / 2 - 1024 : INT_MAX - 1024);
    sett__in_range(c, "k", p->k, 0, INT_MAX - 1024);
    sett__in_range(c, "batch", p->batch, 0, MOST_KINDS);
    check_pointers(p, c);
    check_groups(p, c);
    p->promote |= p->block_scales;
    sett__either(&p->align, ALIGN);
    if (p->align < 1 || p->align > ALIGN || p->align & (p->align - 1))
        REFUSE(c, ".align is %d: 16, 8, 4, 2 or 1", p->align);
    if (*c->why)
        return;
    const int64_t rows_b = (int64_t)p->n << p->swiglu, m = max_m;
    if (p->a_major && !p->lda && !m)
        REFUSE(c, ".a_major is 1 and .lda 0, and no max_m above 0 says it: .lda is given then");
    if (p->a_major && p->lda > 0 && p->lda < m)
        REFUSE(c, ".lda is %lld: with .a_major at least max_m, %d, or 0 for that", (long long)p->lda, max_m);
    settle_stride(c, "lda", &p->lda, p->a_major ? m : p->k);
    if (!sett__product_packed_bits(p))
        settle_stride(c, "ldb", &p->ldb, p->b_major ? rows_b : p->k);
    settle_stride(c, "ldr", &p->ldr, p->n);
    settle_stride(c, "ldd", &p->ldd, p->n);
    settle_stride(c, "ldaux", &p->ldaux, p->n);
    if (p->block_scales)
        settle_stride(c, "ldsb", &p->ldsb, product_blocks(p->k));
    if (*c->why)
        return;
    check_elements(p, c, max_m);
    const bool mixed = sett__product_packed_bits(p) > 0 && !product_kinds_b(p); /* sett_gemm_mixed's offsets have 32 bits */
    check_span(c, "lda", mixed, p->lda, max_m);
    check_span(c, "ldd", mixed, p->ldd, max_m);
    check_span(c, "ldr", p->residual, p->ldr, max_m);
    check_span(c, "ldaux", p->terms.aux, p->ldaux, max_m);
    if (p->pointer_array)
        return;
    const int of_a = product_kinds_a(p), of_b = product_kinds_b(p);
    settle_batch(c, "batch_a", &p->batch_a, of_a, p->lda * (p->a_major ? p->k : m));
    settle_batch(c, "batch_b", &p->batch_b, of_b, p->ldb * (p->b_major ? p->k : rows_b));
    settle_batch(c, "batch_r", &p->batch_r, of_a, p->ldr * m);
    settle_batch(c, "batch_d", &p->batch_d, of_a, p->ldd * m);
    if (!*c->why)
        check_apart(p, c, max_m);
}

/* Bytes, up to 16, that the elements of so many strides and the operands are multiples of. */
static int aligned(const sett_product_problem *p, sett_dtype t, int64_t row, int kinds, int64_t batch)
{
    int align = p->align;
    while (align > sett__bytes_of(t) && (row % align * sett__bytes_of(t) % align || (kinds && batch % align * sett__bytes_of(t) % align)))
        align /= 2;
    return align > sett__bytes_of(t) ? align : sett__bytes_of(t);
}

int sett__product_align_in(const sett_product_problem *p)
{
    const int64_t up = p->swiglu && p->b_major ? p->n : 0; /* where the rows of up begin */
    const int a = aligned(p, p->dtype, p->lda, product_kinds_a(p), p->batch_a), of_b = aligned(p, p->b, p->ldb, product_kinds_b(p), p->batch_b);
    int b = of_b;
    while (b > sett__bytes_of(p->b) && up * sett__bytes_of(p->b) % b)
        b /= 2;
    return a < b ? a : b;
}

int sett__product_align_out(const sett_product_problem *p)
{
    const int kinds = product_kinds_a(p), d = aligned(p, p->d, p->ldd, kinds, p->batch_d), r = p->residual ? aligned(p, p->d, p->ldr, kinds, p->batch_r) : d;
    const int aux = p->terms.aux ? aligned(p, sett__type_beside(p->d), p->ldaux, kinds, p->ldaux) : d, least = r < d ? r : d;
    return aux < least ? aux : least;
}

/* Of a problem that no other kernel takes: the member because of which no tensor map does. */
void sett__product_why_no_tma(const sett_product_problem *p, choice *c)
{
    const char *is = sett__product_needs_tma(p);
    const sett_dtype beside = sett__type_beside(p->d);
    const int of_a = product_kinds_a(p), of_b = product_kinds_b(p);
    enum { STRIDES = 6 /* of rows, and N */ };
    const struct {
        const char *name;
        bool has;
        int64_t elements;
        sett_dtype type;
    } of[] = {{"n", true, p->n, p->d}, {"lda", true, p->lda, p->dtype}, {"ldb", true, p->ldb, p->b}, {"ldr", p->residual, p->ldr, p->d}, {"ldd", true, p->ldd, p->d}, {"ldaux", p->terms.aux, p->ldaux, beside},
        {"batch_a", of_a, p->batch_a, p->dtype}, {"batch_b", of_b, p->batch_b, p->b}, {"batch_r", of_a && p->residual, p->batch_r, p->d}, {"batch_d", of_a, p->batch_d, p->d}};
    if (p->a_major || p->b_major)
        REFUSE(c, "%s: then .%s is 0", is, p->a_major ? "a_major" : "b_major");
    if (p->align != ALIGN)
        REFUSE(c, "%s: .align is %d: %d then, or 0", is, p->align, ALIGN);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const int64_t bytes = of[i].elements * sett__bytes_of(of[i].type);
        if (of[i].has && bytes % ALIGN)
            REFUSE(c, "%s: .%s is %lld, %lld bytes: a multiple of %d then", is, of[i].name, (long long)of[i].elements, (long long)bytes, ALIGN);
        if (of[i].has && of[i].elements > INT32_MAX && i < STRIDES)
            REFUSE(c, "%s: .%s is %lld: at most %d then", is, of[i].name, (long long)of[i].elements, INT32_MAX);
    }
    REFUSE(c, "%s: no tensor map takes it", is);
}

/* What sett_gemm_wgmma takes, on the target that has it; the CPU engine takes it too. */
bool sett__product_takes_tma(const sett_product_problem *p, const char *target)
{
    const bool types = (p->dtype != SETT_F32 || p->tf32) && p->d != SETT_I32 && (p->d != SETT_I8 || p->terms.quantise), majors = !p->a_major && !p->b_major;
    const bool lies = sett__product_align_in(p) == ALIGN && sett__product_align_out(p) == ALIGN && (int64_t)p->n * sett__bytes_of(p->d) % ALIGN == 0;
    const int64_t limit = INT32_MAX;
    const bool near = p->lda <= limit && p->ldb <= limit && p->ldd <= limit && p->ldr <= limit;
    return (!strcmp(target, "sm_90a") || !strcmp(target, "cpu")) && types && majors && lies && near && p->k && p->n && !p->pointer_array;
}

/* May K be dealt to several workers? Batches have many tiles, and of groups a launch does not know them. */
bool sett__product_streams(const sett_product_problem *p)
{
    return !p->batch_invariant && !product_kinds_b(p);
}

/* What sett_gemm_few_rows takes, on any target. */
bool sett__product_takes_few(const sett_product_problem *p)
{
    if (in_blocks(&p->terms))
        return false;
    if (sett__product_packed_bits(p)) /* only beside tiles, which take less */
        return sett__product_takes_tma(p, "sm_90a") && !p->batch_invariant && !product_kinds_b(p);
    const bool types = p->b == p->dtype && p->d != SETT_I32 && (p->d != SETT_I8 || p->terms.quantise) && !p->tf32 && !p->block_scales, lies = sett__product_align_in(p) == ALIGN && !p->a_major && !p->b_major;
    const int64_t limit = INT32_MAX / PRODUCT_FEW;
    return types && lies && p->lda <= limit && p->ldd <= limit && p->ldr <= limit && p->ldaux <= limit && p->k && p->n && !product_kinds_b(p) && !p->batch_invariant;
}
