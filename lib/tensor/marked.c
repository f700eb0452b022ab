/* SPDX-License-Identifier: Apache-2.0 */
/* A parameter's layout from a buffer, and what of it is marked dynamic. */
#include "tensor.h"
#include <inttypes.h>
#include <sett/mark.h>
#include <string.h>

enum { STATIC, BY_LAYOUT, COMPACT };

static_assert(sizeof(sett_marked) == 3 * 4 + 4 + 8 + 3 * 64, "sett_marked has no padding: its bytes are compared");

typedef struct marking {
    const sett_marked *m;
    const char *func;
    sett_error *err;
} marking;
#define REFUSE(k, status, ...) sett__error((k)->err, status, __VA_ARGS__)

sett_status sett_from_buf(const sett_buf *t, int align, bool narrow, sett_marked *to, sett_error *err)
{
    static const char *const func = "sett_from_buf";
    sett_marked m = {.narrow = narrow};
    if (!t || !to)
        return sett__error(err, SETT_E_ARGUMENT, "%s: the %s is NULL", func, t ? "place for the result" : "buffer");
    if (!sett__dtype_valid((int)t->dtype))
        return sett__error(err, SETT_E_DTYPE, "%s: %d is not an element type", func, (int)t->dtype);
    if (t->rank < 0 || t->rank > SETT__MAX_RANK)
        return sett__error(err, SETT_E_RANK, "%s: a buffer has 0 to %d modes, not %d", func, SETT__MAX_RANK, t->rank);
    if (align < 0 || align > SETT__MAX_PARAM_ALIGN || (align & (align - 1)))
        return sett__error(err, SETT_E_ALIGN, "%s: assumed_align is %d, it must be a power of two up to %d", func,
            align, SETT__MAX_PARAM_ALIGN);
    for (int i = 0; i < t->rank; i++) {
        if (t->shape[i] < 0)
            return sett__error(err, SETT_E_SHAPE, "%s: mode %d is %" PRId64, func, i, t->shape[i]);
        m.shape[i] = t->shape[i], m.stride[i] = t->stride[i], m.div[i] = 1;
    }
    int bytes = sett__dtype_bytes(t->dtype);
    m.dtype = (int32_t)t->dtype, m.rank = t->rank, m.align = align > bytes ? align : bytes;
    *to = m;
    return SETT_OK;
}

/* ---- words -------------------------------------------------------------------------- */
#define ROOM 400
static void put_tuple(sett__sink *s, const int64_t *x, int n)
{
    sett__put(s, "(");
    for (int i = 0; i < n; i++) {
        sett__put(s, i ? "," : "");
        sett__put_int(s, x[i]);
    }
    sett__put(s, ")");
}

/* "(4,6):(8,1)", as the buffer was. */
static const char *tensor_text(const sett_marked *m, char buf[ROOM])
{
    sett__sink s = {.buf = buf, .cap = ROOM};
    put_tuple(&s, m->shape, m->rank);
    sett__put(&s, ":");
    put_tuple(&s, m->stride, m->rank);
    return buf;
}

static const char *order_text(const int8_t *order, int n, char buf[ROOM])
{
    int64_t wide[SETT__MAX_RANK];
    sett__sink s = {.buf = buf, .cap = ROOM};
    for (int i = 0; i < n; i++)
        wide[i] = order[i];
    put_tuple(&s, wide, n);
    return buf;
}

/* ---- checks that both marks share ---------------------------------------------------- */
/* The greatest offset and 1; false: past 64 bits. */
static bool cosize(const sett_marked *m, int64_t *out)
{
    *out = 1;
    for (int i = 0; i < m->rank; i++) {
        int64_t far, steps = m->shape[i] > 1 ? m->shape[i] - 1 : 0;
        if (__builtin_mul_overflow(steps, m->stride[i] < 0 ? 0 : m->stride[i], &far) ||
            __builtin_add_overflow(*out, far, out))
            return false;
    }
    return true;
}

static sett_status check(const marking *k)
{
    const sett_marked *m = k->m;
    int64_t n;
    char text[ROOM];
    if (!m)
        return REFUSE(k, SETT_E_ARGUMENT, "%s: the tensor is NULL", k->func);
    if (m->rank < 0 || m->rank > SETT__MAX_RANK || !sett__dtype_valid(m->dtype))
        return REFUSE(k, SETT_E_ARGUMENT, "%s: this is no tensor that sett_from_buf filled", k->func);
    if (m->forgotten)
        return REFUSE(k, SETT_E_ARGUMENT, "%s: sett_forget_sizes was the last call on this tensor", k->func);
    if (m->narrow && (!cosize(m, &n) || n > INT32_MAX))
        return REFUSE(
            k, SETT_E_RANGE, "%s: %s spans more elements than 32-bit strides reach", k->func, tensor_text(m, text));
    return SETT_OK;
}

static sett_status check_extent(const marking *k, int i)
{
    if (k->m->shape[i] > INT32_MAX)
        return REFUSE(
            k, SETT_E_RANGE, "%s: mode %d is %" PRId64 ", a dynamic extent has 32 bits", k->func, i, k->m->shape[i]);
    return SETT_OK;
}

/* ---- mark_layout_dynamic ------------------------------------------------------------- */
/* The mode of stride 1, -1 for none. */
static sett_status deduce_leading(const marking *k, int *leading)
{
    const sett_marked *m = k->m;
    int first = -1, ones = 0, large = -1, larges = 0;
    for (int i = m->rank; i-- > 0;)
        if (m->stride[i] == 1) {
            first = i, ones++;
            if (m->shape[i] > 1)
                large = i, larges++;
        }
    *leading = ones > 1 ? large : first;
    char text[ROOM];
    if (ones > 1 && larges != 1)
        return REFUSE(k, SETT_E_ARGUMENT, "%s: %d modes of %s have stride 1: say which one leads", k->func, ones,
            tensor_text(m, text));
    return SETT_OK;
}

static sett_status find_leading(const marking *k, int asked, int *leading)
{
    const sett_marked *m = k->m;
    char text[ROOM];
    if (!m->rank)
        return REFUSE(k, SETT_E_RANGE, "%s: a tensor without modes has nothing to mark", k->func);
    if (asked == SETT_DEDUCE)
        return deduce_leading(k, leading);
    if (asked < -m->rank || asked >= m->rank)
        return REFUSE(k, SETT_E_RANGE, "%s: leading_dim is %d, %s has modes %d to %d", k->func, asked,
            tensor_text(m, text), -m->rank, m->rank - 1);
    *leading = asked < 0 ? asked + m->rank : asked;
    if (m->stride[*leading] != 1)
        return REFUSE(k, SETT_E_SHAPE, "%s: the leading mode %d of %s has stride %" PRId64 ", not 1", k->func, *leading,
            tensor_text(m, text), m->stride[*leading]);
    return SETT_OK;
}

sett_status sett_mark_layout_dynamic(sett_marked *m, int leading_dim, sett_error *err)
{
    marking k = {m, "sett_mark_layout_dynamic", err};
    int leading = -1;
    char text[ROOM];
    sett_status s = check(&k);
    if (!s)
        s = find_leading(&k, leading_dim, &leading);
    for (int i = 0; !s && i < m->rank; i++) {
        s = check_extent(&k, i);
        if (!s && m->stride[i] < 0)
            s = REFUSE(&k, SETT_E_SHAPE, "%s: mode %d of %s runs backwards; a dynamic stride is not negative", k.func,
                i, tensor_text(m, text));
    }
    if (s)
        return s;
    m->kind = BY_LAYOUT;
    memset(m->order, 0, sizeof m->order);
    m->order[0] = (int8_t)leading;
    for (int i = 0; i < m->rank; i++)
        m->dynamic |= (uint8_t)(1u << i), m->div[i] = 1;
    return SETT_OK;
}

/* ---- mark_compact_shape_dynamic -------------------------------------------------------- */
/* May mode i come next, after faster modes of `size` elements in all? The stride of one element says nothing where it
 * is 1, which is what exporters write for it. */
static bool fits(const sett_marked *m, int i, int64_t size)
{
    return m->stride[i] == size || (m->shape[i] == 1 && m->stride[i] == 1);
}

static bool grow_size(const sett_marked *m, int i, int64_t *size)
{
    return !__builtin_mul_overflow(*size, m->shape[i] ? m->shape[i] : 1, size);
}

/* Orders in which the tensor is compact, up to 2; the first of them in `found`, from its end: the slowest comes first.
 */
static int compact_orders(const sett_marked *m, int left, unsigned used, int64_t size, int8_t *trial, int8_t *found)
{
    int n = 0;
    if (!left) {
        memcpy(found, trial, (size_t)m->rank);
        return 1;
    }
    for (int i = 0; i < m->rank && n < 2; i++) {
        int64_t next = size;
        int8_t other[SETT__MAX_RANK];
        if (used >> i & 1 || !fits(m, i, size) || !grow_size(m, i, &next))
            continue;
        trial[left - 1] = (int8_t)i;
        n += compact_orders(m, left - 1, used | 1u << i, next, trial, n ? other : found);
    }
    return n > 2 ? 2 : n;
}

static sett_status not_compact(const marking *k, const int8_t *order)
{
    char text[ROOM], in[ROOM];
    if (!order)
        return REFUSE(
            k, SETT_E_SHAPE, "%s: %s is not compact in any order of its modes", k->func, tensor_text(k->m, text));
    return REFUSE(k, SETT_E_SHAPE, "%s: %s is not compact in the order %s", k->func, tensor_text(k->m, text),
        order_text(order, k->m->rank, in));
}

static sett_status take_order(const marking *k, const int *asked, int8_t *order)
{
    const sett_marked *m = k->m;
    char text[ROOM];
    unsigned seen = 0;
    for (int i = 0; i < m->rank; i++) {
        bool is_mode = asked[i] >= 0 && asked[i] < m->rank;
        if (!is_mode || seen >> asked[i] & 1)
            return REFUSE(k, SETT_E_ARGUMENT,
                "%s: stride_order names mode %d%s; it is each mode of %s once, the slowest first", k->func, asked[i],
                is_mode ? " twice" : "", tensor_text(m, text));
        seen |= 1u << asked[i];
        order[i] = (int8_t)asked[i];
    }
    if (m->kind == COMPACT && memcmp(order, m->order, sizeof m->order))
        return REFUSE(k, SETT_E_ARGUMENT, "%s: stride_order is %s, an earlier mark had another", k->func,
            order_text(order, m->rank, text));
    int64_t size = 1;
    for (int i = m->rank; i-- > 0;)
        if (!fits(m, order[i], size) || !grow_size(m, order[i], &size))
            return not_compact(k, order);
    return SETT_OK;
}

static sett_status deduce_order(const marking *k, int8_t *order)
{
    const sett_marked *m = k->m;
    int8_t trial[SETT__MAX_RANK];
    char text[ROOM];
    if (m->kind == COMPACT) {
        memcpy(order, m->order, sizeof m->order);
        return SETT_OK;
    }
    int n = compact_orders(m, m->rank, 0, 1, trial, order);
    if (!n)
        return not_compact(k, NULL);
    if (n > 1)
        return REFUSE(k, SETT_E_ARGUMENT, "%s: %s is compact in several orders of its modes: give stride_order",
            k->func, tensor_text(m, text));
    return SETT_OK;
}

sett_status sett_mark_compact_shape_dynamic(
    sett_marked *m, int mode, const int *stride_order, int64_t div, sett_error *err)
{
    marking k = {m, "sett_mark_compact_shape_dynamic", err};
    int8_t order[SETT__MAX_RANK] = {0};
    char text[ROOM];
    sett_status s = check(&k);
    if (s)
        return s;
    if (mode < 0 || mode >= m->rank)
        return REFUSE(&k, SETT_E_RANGE, "%s: mode is %d, %s has %d modes", k.func, mode, tensor_text(m, text), m->rank);
    if (div < 1)
        return REFUSE(&k, SETT_E_ARGUMENT, "%s: divisibility is %" PRId64 ", it must be positive", k.func, div);
    if (m->shape[mode] % div)
        return REFUSE(&k, SETT_E_DIVIDE, "%s: mode %d of %s is not a multiple of %" PRId64, k.func, mode,
            tensor_text(m, text), div);
    s = check_extent(&k, mode);
    if (!s)
        s = stride_order ? take_order(&k, stride_order, order) : deduce_order(&k, order);
    if (s)
        return s;
    m->kind = COMPACT;
    memcpy(m->order, order, sizeof order);
    m->dynamic |= (uint8_t)(1u << mode);
    m->div[mode] = div;
    return SETT_OK;
}

static bool is_dynamic(const sett_marked *m, int i)
{
    return m->dynamic >> i & 1;
}

/* Of BY_LAYOUT: those that stay as they are. */
static bool keeps_stride(const sett_marked *m, int i)
{
    return m->kind == STATIC ||
           (m->kind == BY_LAYOUT && (m->stride[i] == 0 || (m->order[0] == i && m->stride[i] == 1)));
}

void sett_forget_sizes(sett_marked *m)
{
    for (int i = 0; m && i < SETT__MAX_RANK; i++) {
        if (is_dynamic(m, i))
            m->shape[i] = 0;
        if (!keeps_stride(m, i))
            m->stride[i] = -1;
    }
    if (m)
        m->forgotten = 1;
}

/* ---- the parameter ------------------------------------------------------------------------ */
static sett_arg new_symbol(const sett__ctx *c, const char *name, const char *what, int i, int64_t div, bool wide)
{
    char text[300];
    snprintf(text, sizeof text, "%.270s_%s%d", name, what, i);
    return sett_arg_v(sett_sym_at(
        c->site, c->b, &(sett_sym_args){.size = sizeof(sett_sym_args), .name = text, .div = div, .wide = wide}));
}

/* Products of extents from the fastest mode on. */
static void compact_strides(const sett__ctx *c, const sett_marked *m, const sett_arg *shape, sett_arg *stride)
{
    sett_arg size = sett_arg_i(1);
    for (int at = m->rank; at-- > 0;) {
        int i = m->order[at];
        bool one = !is_dynamic(m, i) && m->shape[i] == 1;
        sett_arg extent = shape[i];
        stride[i] = one ? sett_arg_i(0) : size;
        if (extent.kind == SETT_VALUE && !m->narrow)
            extent = sett__widen(c, extent);
        size = one || !at ? size : sett__mul(c, size, extent);
    }
}

/* Could an offset pass 32 bits, whatever the launch binds? Dynamic strides of 64 bits say so themselves. */
static bool reaches_far(const sett_marked *m)
{
    sett_marked most = *m;
    int64_t n;
    for (int i = 0; i < m->rank; i++)
        if (is_dynamic(m, i))
            most.shape[i] = INT32_MAX;
    return !cosize(&most, &n) || n > INT64_C(1) << 31;
}

static bool sound(const sett_marked *m)
{
    unsigned seen = 0;
    bool ok = m && m->rank >= 0 && m->rank <= SETT__MAX_RANK && sett__dtype_valid(m->dtype) && m->kind <= COMPACT &&
              m->align > 0;
    for (int i = 0; ok && i < m->rank; i++) {
        bool is_mode = m->order[i] >= 0 && m->order[i] < m->rank;
        ok = m->div[i] > 0 && m->shape[i] >= 0;
        seen |= is_mode ? 1u << m->order[i] : 0;
    }
    return ok && (m->kind != COMPACT || seen == (1u << m->rank) - 1);
}

static sett_layout *marked_layout(const sett__ctx *c, const char *name, const sett_marked *m)
{
    sett_arg shape[SETT__MAX_RANK], stride[SETT__MAX_RANK];
    for (int i = 0; i < m->rank; i++) {
        SETT__FAIL_IF(c->b, c->site, c->func, !is_dynamic(m, i) && !m->shape[i], sett__poison_layout(c->b),
            SETT_E_SHAPE, "%s: mode %d has no elements: mark it dynamic", name, i);
        shape[i] = is_dynamic(m, i) ? new_symbol(c, name, "shape", i, m->div[i], false) : sett_arg_i(m->shape[i]);
    }
    for (int i = 0; i < m->rank && m->kind != COMPACT; i++)
        stride[i] = keeps_stride(m, i) ? sett_arg_i(m->stride[i]) : new_symbol(c, name, "stride", i, 1, !m->narrow);
    if (m->kind == COMPACT)
        compact_strides(c, m, shape, stride);
    return sett__make(c, sett__node(c, m->rank, shape), sett__node(c, m->rank, stride));
}

sett_tensor *sett_param_marked_at(sett_site site, sett_build *b, const char *name, const sett_param_marked_args *args)
{
    b = sett__given(b, site, "sett_param_marked");
    sett__ctx c = {b, site, "sett_param_marked"};
    sett_param_marked_args a;
    if (!b)
        return NULL;
    if (b->error.status || b->ended || !sett__take_args(&c, &a, sizeof a, args))
        return &b->poison->tensor;
    SETT__FAIL_IF(b, site, c.func, !sound(a.marked), &b->poison->tensor, SETT_E_ARGUMENT, "%s: %s",
        name ? name : "(null)", a.marked ? "this is no tensor that sett_from_buf filled" : "the tensor is NULL");
    sett_layout *l = marked_layout(&c, name ? name : "(null)", a.marked);
    const sett_param_args p = {.layout = l, .align = a.marked->align, .restricted = a.restricted};
    return sett__declare_param(&c, name, (sett_dtype)a.marked->dtype, &p, !a.marked->narrow && reaches_far(a.marked));
}
