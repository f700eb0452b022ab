/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about a static layout, by looking at every coordinate; the width of a dynamic one, by divisibility. */
#include "cost.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 20, WARP = 32, SECTOR = 32, BANKS = 32, WORD = 4, WIDEST = 16, WHY = 192 };

typedef struct study {
    sett__ctx c;
    sett_access_cost_args a;
    sett_cost *f;
    int64_t n, size;  /* coordinates; elements of the tensor, 0: there is none */
    int64_t *at;      /* offset in memory of (thread t, value v): at[t + v * threads] */
    int64_t *sorted;  /* room for as many numbers */
    int64_t *value;   /* the values that differ, in order of thread 0's offsets */
    int64_t n_value;
    int64_t bits;     /* of an element */
    sett_arg *far;    /* strides that are dynamic, or a thread's of a layout with such */
    int n_far;
} study;

static int compare_numbers(const void *x, const void *y)
{
    const int64_t *a = x, *b = y;
    return (*a > *b) - (*a < *b);
}

/* Sorts, and gives how many numbers differ. */
static int64_t distinct(int64_t *x, int64_t n)
{
    int64_t count = n > 0;
    qsort(x, (size_t)n, sizeof *x, compare_numbers);
    for (int64_t i = 1; i < n; i++)
        count += x[i] != x[i - 1];
    return count;
}

/* ---- coordinates to offsets --------------------------------------------------------------------- */
static bool extents(study *s)
{
    const sett__ctx *c = &s->c;
    const sett_layout *l = s->a.layout, *both[2] = {l, s->a.tensor};
    for (int i = 0; i < 2; i++)
        SETT__FAIL_IF(c->b, c->site, c->func, both[i] && !sett__is_static(both[i]->shape), false, SETT_E_STATIC,
            "%s: facts need static extents; of a kernel's accesses its report says them", sett__layout_text(c->b, both[i]));
    sett_arg n = sett_size_arg(l->shape), t = sett_size_arg(sett__kid(l->shape, 0)),
             size = s->a.tensor ? sett_size_arg(s->a.tensor->shape) : sett_arg_i(0);
    if (l->shape.kind == SETT_NODE && !l->shape.rank)
        t = sett_arg_i(1);
    bool fits = n.kind == SETT_INT && n.u.i >= 1 && n.u.i <= MOST && size.kind == SETT_INT && size.u.i <= MOST;
    SETT__FAIL_IF(c->b, c->site, c->func, !fits, false, SETT_E_LIMIT, "%s%s%s: more than %d coordinates, or none",
        sett__layout_text(c->b, l), s->a.tensor ? " over " : "", s->a.tensor ? sett__layout_text(c->b, s->a.tensor) : "",
        MOST);
    s->n = n.u.i;
    s->size = size.u.i;
    s->f->threads = t.u.i;
    s->f->values = s->n / t.u.i;
    return true;
}

/* Elements of the tensor to their offsets in it. */
static bool through_tensor(study *s)
{
    const sett__ctx *c = &s->c;
    int64_t *offset = sett__new(c->b, (size_t)s->size * sizeof *offset + 1);
    for (int64_t i = 0; i < s->n; i++)
        SETT__FAIL_IF(c->b, c->site, c->func, s->at[i] < 0 || s->at[i] >= s->size, false, SETT_E_SHAPE,
            "%s: thread %" PRId64 ", value %" PRId64 " is element %" PRId64 " of %s, which has %" PRId64,
            sett__layout_text(c->b, s->a.layout), i % s->f->threads, i / s->f->threads, s->at[i],
            sett__layout_text(c->b, s->a.tensor), s->size);
    if (!offset || !sett__offsets(c, s->a.tensor, s->size, offset))
        return false;
    for (int64_t i = 0; i < s->n; i++)
        s->at[i] = offset[s->at[i]];
    return true;
}

static bool study_coverage(study *s)
{
    const sett__ctx *c = &s->c;
    if (!sett__offsets(c, s->a.layout, s->n, s->at))
        return false;
    memcpy(s->sorted, s->at, (size_t)s->n * sizeof *s->at);
    s->f->reached = distinct(s->sorted, s->n);
    if (s->size) {
        if (!through_tensor(s))
            return false;
        memcpy(s->sorted, s->at, (size_t)s->n * sizeof *s->at);
    }
    s->f->injective = distinct(s->sorted, s->n) == s->n;
    s->f->low = s->sorted[0];
    s->f->high = s->sorted[s->n - 1];
    /* Differences of offsets that far apart have no meaning either. */
    bool near = s->f->low > -(INT64_MAX / 512) && s->f->high < INT64_MAX / 512;
    SETT__FAIL_IF(c->b, c->site, c->func, !near, false, SETT_E_RANGE, "%s: an offset is out of range",
        sett__layout_text(c->b, s->a.layout));
    s->f->elements = s->size ? s->size : s->f->high - (s->f->low < 0 ? s->f->low : 0) + 1;
    s->f->surjective = s->f->reached == s->f->elements;
    return true;
}

/* ---- width ----------------------------------------------------------------------------------------- */
static int64_t offset_at(const study *s, int64_t thread, int64_t value)
{
    return s->at[thread + value * s->f->threads];
}

static bool same_everywhere(const study *s, int64_t v, int64_t w)
{
    for (int64_t t = 0; t < s->f->threads; t++)
        if (offset_at(s, t, v) != offset_at(s, t, w))
            return false;
    return true;
}

/* Values in order of thread 0's offsets; those that are one place in every thread are accessed once. */
static bool order_values(study *s)
{
    int64_t *key = sett__new(s->c.b, (size_t)s->f->values * 2 * sizeof *key);
    s->value = sett__new(s->c.b, (size_t)s->f->values * sizeof *s->value);
    if (!key || !s->value)
        return false;
    for (int64_t v = 0; v < s->f->values; v++)
        key[2 * v] = offset_at(s, 0, v), key[2 * v + 1] = v;
    qsort(key, (size_t)s->f->values, 2 * sizeof *key, compare_numbers);
    for (int64_t i = 0; i < s->f->values; i++)
        if (!s->n_value || !same_everywhere(s, s->value[s->n_value - 1], key[2 * i + 1]))
            s->value[s->n_value++] = key[2 * i + 1];
    return true;
}

/* May every thread move its values w at a time? If not, why. */
static bool width_fits(const study *s, int64_t w, char *why)
{
    why[0] = 0;
    if (w * s->bits > 8 * s->a.align)
        snprintf(why, WHY, "offset 0 is aligned to %d bytes only", s->a.align);
    else if (s->n_value % w)
        snprintf(why, WHY, "a thread has %" PRId64 " value%s", s->n_value, s->n_value > 1 ? "s" : "");
    for (int64_t t = 0; !why[0] && t < s->f->threads; t++)
        for (int64_t i = 0; !why[0] && i < s->n_value; i++) {
            int64_t first = offset_at(s, t, s->value[i - i % w]), here = offset_at(s, t, s->value[i]);
            if (here != first + i % w)
                snprintf(why, WHY, "values %" PRId64 " and %" PRId64 " of thread %" PRId64 " are at offsets %" PRId64 " and %" PRId64
                    ", not adjacent", s->value[i - 1], s->value[i], t, offset_at(s, t, s->value[i - 1]), here);
            else if (i % w == 0 && first % w)
                snprintf(why, WHY, "thread %" PRId64 " has an access at offset %" PRId64 ", no multiple of %" PRId64, t, first, w);
        }
    return !why[0];
}

/* The widest access that `fits` allows, and why none is wider. */
static bool widest_access(study *s, bool (*fits)(const study *, int64_t, char *))
{
    char why[WHY] = "", text[2 * WHY];
    int64_t w = 1;
    while (2 * w * s->bits <= 8 * WIDEST && fits(s, 2 * w, why))
        w *= 2;
    s->f->width = (int)w;
    s->f->width_bytes = (int)((w * s->bits + 7) / 8);
    int n = w > 1 ? snprintf(text, sizeof text, "every access starts at a multiple of %" PRId64 " elements", w)
                  : snprintf(text, sizeof text, "one element at a time");
    if (2 * w * s->bits <= 8 * WIDEST)
        snprintf(text + n, sizeof text - (size_t)n, "; not %" PRId64 " at once: %s", 2 * w, why);
    const char *kept = sett__arena_str(&s->c.b->arena, text);
    s->f->alignment = kept ? kept : "";
    return kept != NULL;
}

static bool width(study *s)
{
    if (!order_values(s) || !widest_access(s, width_fits))
        return false;
    s->f->accesses = s->n_value / s->f->width;
    return true;
}

/* ---- dynamic strides ---------------------------------------------------------------------------------- */
/* Every stride that a thread or a dynamic mode adds is a multiple of w. */
static bool strides_fit(const study *s, int64_t w, char *why)
{
    for (int i = 0; i < s->n_far; i++)
        if (sett__leaf_div(s->far[i]) % w) {
            snprintf(why, WHY, "stride %.64s is not known to be a multiple of %" PRId64, sett__arg_text(s->c.b, s->far[i]), w);
            return false;
        }
    return width_fits(s, w, why);
}

/* What threads and dynamic modes add to an offset need only divide; static values are looked at, as one thread's. */
static bool split_modes(study *s, const sett_layout *l, int64_t *copies)
{
    const sett__ctx *c = &s->c;
    int n_near = 0, n = sett__leaves(l->shape), threads = l->shape.kind == SETT_NODE ? sett__leaves(l->shape.u.kid[0]) : n;
    sett_arg *extent = sett__kids(c, n), *stride = sett__kids(c, n);
    s->far = sett__kids(c, n);
    if (!extent || !stride || !s->far)
        return false;
    sett__flat(l->shape, extent);
    sett__flat(l->stride, stride);
    for (int i = 0; i < n; i++)
        if (extent[i].u.i > 1 && (i < threads || stride[i].kind != SETT_INT)) {
            s->far[s->n_far++] = stride[i];
            *copies *= i < threads ? 1 : extent[i].u.i;
        } else if (i >= threads) {
            extent[n_near] = extent[i];
            stride[n_near++] = stride[i];
        }
    const sett_layout *own = sett__own(c, sett__node(c, n_near, extent), sett__node(c, n_near, stride));
    s->f->threads = 1;
    s->f->values = s->n = sett_size_arg(own->shape).u.i;
    s->at = sett__new(c->b, (size_t)s->n * sizeof *s->at);
    return s->at && sett__offsets(c, own, s->n, s->at);
}

static bool study_dynamic(study *s)
{
    const sett__ctx *c = &s->c;
    const sett_layout *l = s->a.tensor ? sett__compose(c, s->a.tensor, sett_arg_l(s->a.layout)) : s->a.layout;
    int64_t threads = s->f->threads, values = s->f->values, copies = 1;
    if (sett__layout_poison(l))
        return false;
    SETT__FAIL_IF(c->b, c->site, c->func, l->has_inner, false, SETT_E_STATIC,
        "%s: what a swizzle of dynamic strides costs is known at run time only", sett__layout_text(c->b, l));
    if (!split_modes(s, l, &copies) || !order_values(s) || (s->a.dtype && !widest_access(s, strides_fit)))
        return false;
    s->f->threads = threads;
    s->f->values = values;
    s->f->accesses = s->a.dtype ? s->n_value / s->f->width * copies : 0;
    return true;
}

/* ---- memory ------------------------------------------------------------------------------------------- */
static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Different units of `bytes` bytes that lanes [first,last) of an access touch, sorted into unit; a lane touches few. */
static int touched_units(const study *s, int64_t access, int64_t first, int64_t last, int bytes, int64_t unit[WARP * 16])
{
    int64_t n = 0, different = 0;
    for (int64_t t = first; t < last; t++) {
        int64_t byte = floor_div(offset_at(s, t, s->value[access * s->f->width]) * s->bits, 8);
        int64_t to = floor_div(byte + s->f->width_bytes - 1, bytes);
        for (int64_t u = floor_div(byte, bytes); u <= to; u++)
            unit[n++] = u;
    }
    qsort(unit, (size_t)n, sizeof *unit, compare_numbers);
    for (int64_t i = 0; i < n; i++)
        if (!i || unit[i] != unit[i - 1])
            unit[different++] = unit[i];
    return (int)different;
}

static void count_sectors(study *s, int64_t access, int64_t first, int64_t last)
{
    int64_t unit[WARP * 16];
    int sectors = touched_units(s, access, first, last, SECTOR, unit);
    s->f->sectors_all += sectors;
    if (sectors <= s->f->sectors)
        return;
    s->f->sectors = sectors;
    s->f->sectors_least = (touched_units(s, access, first, last, 1, unit) + SECTOR - 1) / SECTOR;
}

static void count_banks(study *s, int64_t access, int64_t first, int64_t last)
{
    int64_t lanes = WARP * WORD / (s->f->width_bytes > WORD ? s->f->width_bytes : WORD), unit[WARP * 16];
    for (int64_t t = first; t < last; t += lanes) {
        int ways[BANKS] = {0}, words = touched_units(s, access, t, t + lanes < last ? t + lanes : last, WORD, unit);
        for (int i = 0; i < words; i++) {
            int *bank = &ways[unit[i] - floor_div(unit[i], BANKS) * BANKS];
            if (++*bank > s->f->bank_ways)
                s->f->bank_ways = *bank;
        }
    }
}

static void study_memory(study *s)
{
    for (int64_t first = 0; first < s->f->threads; first += WARP) {
        int64_t last = first + WARP < s->f->threads ? first + WARP : s->f->threads;
        for (int64_t k = 0; k < s->f->accesses; k++) {
            count_sectors(s, k, first, last);
            count_banks(s, k, first, last);
        }
        s->f->requests += s->f->accesses;
        if ((last - first) * s->f->width_bytes > s->f->request_bytes)
            s->f->request_bytes = (int)(last - first) * s->f->width_bytes;
    }
}

/* ---- the public call ------------------------------------------------------------------------------------ */
static bool take_args(study *s, const sett_access_cost_args *args)
{
    const sett__ctx *c = &s->c;
    if (!sett__take_args(c, &s->a, sizeof s->a, args))
        return false;
    if (s->a.tensor && !sett__use_layout(c->b, c->site, c->func, s->a.tensor))
        return false;
    if (!s->a.align)
        s->a.align = 16;
    s->bits = s->a.dtype == SETT_BOOL ? 8 : sett_dtype_bits(s->a.dtype);
    SETT__FAIL_IF(c->b, c->site, c->func, s->a.dtype && (!s->bits || s->bits & (s->bits - 1)), false, SETT_E_DTYPE,
        "%s: an element of a power of two bits is needed", sett_dtype_name(s->a.dtype));
    SETT__FAIL_IF(c->b, c->site, c->func, s->a.align < 1 || s->a.align & (s->a.align - 1), false, SETT_E_ARGUMENT,
        "align %d is no power of two", s->a.align);
    return true;
}

static void study_layout(study *s, const sett_access_cost_args *args)
{
    sett_build *b = s->c.b;
    if (!take_args(s, args) || !extents(s))
        return;
    s->f->exact = sett__all_static(s->a.layout) && (!s->a.tensor || sett__all_static(s->a.tensor));
    if (!s->f->exact) {
        study_dynamic(s);
        return;
    }
    s->at = sett__new(b, (size_t)s->n * sizeof *s->at);
    s->sorted = sett__new(b, (size_t)s->n * sizeof *s->sorted);
    if (!s->at || !s->sorted || !study_coverage(s) || !s->a.dtype || !width(s))
        return;
    study_memory(s);
}

const sett_cost *sett_access_cost_at(sett_site site, const sett_access_cost_args *a)
{
    static const sett_cost none = {.alignment = ""};
    if (!a || !sett__use_layout(NULL, site, "sett_access_cost", a->layout))
        return &none;
    sett_build *b = a->layout->head.b;
    study s = {.c = {b, site, "sett_access_cost"}, .f = sett__new(b, sizeof *s.f)};
    s.f->alignment = "";
    study_layout(&s, a);
    return b->error.status ? &none : s.f;
}
