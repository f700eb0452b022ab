/* SPDX-License-Identifier: Apache-2.0 */
/* sett_buf_print: what lies in a buffer, in the format of sett_print_tensor. What is read is copied to the host by the
 * engine: all of a small buffer at once, of a large one what is shown, an element at a time. */
#include "lib/print/print.h"
#include "inside.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { AT_ONCE = 64 << 20, MOST_LEAVES = 64, PAGE = 4096 };

typedef struct view {
    sett_engine *e;
    sett_stream stream;
    const sett_buf *buf;
    sett_build *b;
    sett_arg shape;
    sett_layout *layout;      /* NULL: an extent is 0 */
    int n;                    /* leaves */
    sett_arg extent[MOST_LEAVES], stride[MOST_LEAVES];
    int bytes;                /* of an element */
    char *copy;               /* of elements low to high - 1; NULL: they are read one by one */
    int64_t low, high;
    int probe[2];             /* a pipe: its writing end tells what may be read */
    sett__sink out;
    sett_status status;
    sett_error *err;
} view;

static sett_status refuse(view *v, sett_status s)
{
    const char *text = NULL;
    sett_build_status(v->b, &text);
    return sett__error(v->err, s, "sett_buf_print: %s", text ? text : "out of memory");
}

/* ---- reading -------------------------------------------------------------------------------------- */
/* A GPU's memory is mapped in no way that the host may read; who asks the kernel to read it is told so, and lives. */
static bool readable(const view *v, const char *p, size_t n)
{
    char c;
    for (const char *at = p; at < p + n; at += PAGE - (uintptr_t)at % PAGE) {
        ssize_t put;
        while ((put = write(v->probe[1], at, 1)) < 0 && errno == EINTR)
            ;
        if (put != 1 || read(v->probe[0], &c, 1) != 1)
            return false;
    }
    return true;
}

static sett_status too_far(const view *v)
{
    return sett__error(v->err, SETT_E_RANGE, "sett_buf_print: the extents and strides overflow 64 bits");
}

static bool fetch(view *v, void *to, int64_t first, size_t n)
{
    int64_t by;
    if (__builtin_mul_overflow(first, v->bytes, &by)) {
        v->status = too_far(v);
        return false;
    }
    const char *from = (const char *)v->buf->data + by;
    if (v->stream.device == SETT_CPU && !readable(v, from, n)) {
        v->status = sett__error(v->err, SETT_E_RANGE, "sett_buf_print: the host cannot read %zu bytes at 0x%016" PRIxPTR
            ": of a GPU's memory the stream must be the GPU's", n, (uintptr_t)from);
        return false;
    }
    sett_status s = sett_memcpy(v->e, v->stream, to, from, n);
    if (!s)
        s = sett_sync_error(v->e, v->stream, v->err);
    else
        sett__error(v->err, s, "sett_buf_print: %zu bytes at 0x%016" PRIxPTR " were not copied: %s", n, (uintptr_t)from, sett_status_text(s));
    v->status = s;
    return !s;
}

static bool offset_of(view *v, int64_t index, int64_t *at)
{
    *at = 0;
    if (v->layout->has_inner) {
        sett_arg a = sett__layout_at(&(sett__ctx){.b = v->b, .func = "an offset"}, v->layout, sett_arg_i(index));
        if (a.kind != SETT_INT)
            v->status = refuse(v, SETT_E_RANGE);
        *at = a.u.i;
        return a.kind == SETT_INT;
    }
    for (int i = 0; i < v->n; i++) {
        *at += index % v->extent[i].u.i * v->stride[i].u.i;
        index /= v->extent[i].u.i;
    }
    return true;
}

/* ---- one element ------------------------------------------------------------------------------------ */
static void put_float(sett__sink *out, double x)
{
    char text[400]; /* of 10^308 */
    snprintf(text, sizeof text, x != x ? "nan" : x >= 0 ? " %f" : "%f", x);
    sett__put(out, text);
}

static void put_number(sett__sink *out, sett_dtype d, const uint64_t w[2])
{
    char kind = sett__dtype_kind(d);
    if (sett__dtype_is_float(d))
        put_float(out, sett__float_of_bits(d, w[0]));
    else if (kind == 's')
        put_float(out, sett__float_of_bits(SETT_F32, d == SETT_TF32 ? w[0] : sett__f32_of_narrow(d, w[0])));
    else if (sett_dtype_bits(d) == 128)
        sett__putf(out, " 0x%016" PRIx64 "%016" PRIx64, w[1], w[0]);
    else if (kind == 'i')
        sett__putf(out, "% " PRId64, sett__int_of_bits(d, w[0]));
    else
        sett__putf(out, " %" PRIu64, w[0]);
}

static bool put_element(view *v, int64_t index, const char *after)
{
    uint64_t w[2] = {0};
    int64_t at;
    if (!offset_of(v, index, &at))
        return false;
    if (v->copy)
        memcpy(w, v->copy + (at - v->low) * v->bytes, (size_t)v->bytes);
    else if (!fetch(v, w, at, (size_t)v->bytes))
        return false;
    put_number(&v->out, v->buf->dtype, w);
    sett__put(&v->out, after);
    return true;
}

/* ---- rows and columns ---------------------------------------------------------------------------------- */
typedef struct side { int64_t size, shown; } side;

static side side_of(sett_arg shape)
{
    side s = {.size = sett__product(&(sett__ctx){0}, shape).u.i};
    s.shown = s.size < 2 * SETT__SHOWN ? s.size : 2 * SETT__SHOWN;
    return s;
}

static int64_t at_of(const side *s, int64_t k)
{
    return k < SETT__SHOWN ? k : k + (s->size - s->shown);
}

static void put_mark(view *v, const side *s, int64_t k, const char *mark)
{
    if (s->size > s->shown && k == SETT__SHOWN - 1)
        sett__put(&v->out, mark);
}

static bool put_block(view *v, const sett__print_frame *f, side row, side col, int64_t block, bool first, bool last)
{
    for (int64_t i = 0; i < row.shown; i++) {
        sett__put(&v->out, i ? f->row : first ? f->first : f->block);
        for (int64_t j = 0; j < col.shown; j++) {
            if (!put_element(v, at_of(&row, i) + row.size * (at_of(&col, j) + col.size * block), ", "))
                return false;
            put_mark(v, &col, j, "..., ");
        }
        sett__put(&v->out, i < row.shown - 1 ? f->row_end : last ? f->end : f->block_end);
        put_mark(v, &row, i, f->mark);
    }
    return true;
}

static bool put_grid(view *v)
{
    int modes = v->shape.kind == SETT_NODE && v->shape.rank > 1 ? v->shape.rank : 1;
    side row = side_of(modes > 1 ? v->shape.u.kid[0] : v->shape), col = {1, 1};
    int64_t blocks = 1;
    if (modes > 1)
        col = side_of(v->shape.u.kid[1]);
    for (int i = 2; i < modes; i++)
        blocks *= side_of(v->shape.u.kid[i]).size;
    const sett__print_frame *f = &sett__print_frames[modes > 3 ? 2 : modes - 1];
    for (int64_t k = 0; k < blocks; k++)
        if (!put_block(v, f, row, col, k, k == 0, k == blocks - 1))
            return false;
    return true;
}

static void put_coord(sett__sink *out, sett_arg shape, int64_t *index)
{
    if (shape.kind != SETT_NODE) {
        sett__put_int(out, *index % shape.u.i);
        *index /= shape.u.i;
        return;
    }
    for (int i = 0; i < shape.rank; i++) {
        sett__put(out, i ? "," : "(");
        put_coord(out, shape.u.kid[i], index);
    }
    sett__put(out, shape.rank ? ")" : "()");
}

static bool put_all(view *v, int64_t size)
{
    for (int64_t i = 0; i < size; i++) {
        int64_t rest = i;
        sett__put(&v->out, "\t");
        put_coord(&v->out, v->shape, &rest);
        sett__put(&v->out, "=");
        if (!put_element(v, i, "\n"))
            return false;
    }
    sett__put(&v->out, ")\n");
    return true;
}

/* ---- the layout ------------------------------------------------------------------------------------------ */
/* The least and the greatest offset of extents and strides, without a swizzle; false: their distance in bytes has no 64 bits. */
static bool span_of(const view *v, int64_t *low, int64_t *high)
{
    int64_t bytes;
    *low = *high = 0;
    for (int i = 0; i < v->n; i++) {
        int64_t far;
        if (__builtin_mul_overflow(v->extent[i].u.i - 1, v->stride[i].u.i, &far) ||
            __builtin_add_overflow(far < 0 ? *low : *high, far, far < 0 ? low : high))
            return false;
    }
    return !__builtin_sub_overflow(*high, *low, &bytes) && !__builtin_mul_overflow(bytes, v->bytes, &bytes);
}

static void flatten_buffer(view *v)
{
    v->n = v->buf->rank;
    for (int i = 0; i < v->n; i++) {
        v->extent[i] = sett_arg_i(v->buf->shape[i]);
        v->stride[i] = sett_arg_i(v->buf->stride[i]);
    }
}

/* Does another layout of the memory reach no further than the buffer's own? Of a swizzle what it permutes is looked at;
 * not what a layout makes of another's offsets. */
static sett_status stays_inside(const view *v, const char *text)
{
    view own = *v;
    int64_t low, high, least, most;
    flatten_buffer(&own);
    if (v->layout->has_inner == 2)
        return SETT_OK;
    if (span_of(v, &low, &high) && span_of(&own, &least, &most) && low >= least && high <= most)
        return SETT_OK;
    return sett__error(v->err, SETT_E_RANGE, "sett_buf_print: the layout %s reaches past the buffer's own extents and strides", text);
}

static sett_status take_text(view *v, const char *text)
{
    v->layout = sett_layout_parse_at((sett_site){0}, v->b, text);
    sett_status s = sett_build_status(v->b, NULL);
    if (s)
        return refuse(v, s);
    v->shape = v->layout->shape;
    bool known = sett__is_static(v->shape) && sett__is_static(v->layout->stride) && !sett__has_basis(v->layout->stride);
    if (!known || (v->layout->has_inner && !sett__is_static(v->layout->offset)) || sett__leaves(v->shape) > MOST_LEAVES)
        return sett__error(v->err, SETT_E_STATIC, "sett_buf_print: the layout %s is not one of numbers, %d at most", text, MOST_LEAVES);
    v->n = sett__flat(v->shape, v->extent);
    sett__flat(v->layout->stride, v->stride);
    return stays_inside(v, text);
}

static sett_status take_buffer(view *v)
{
    const sett_buf *t = v->buf;
    bool none = false;
    flatten_buffer(v);
    for (int i = 0; i < t->rank; i++) {
        if (t->shape[i] < 0)
            return sett__error(v->err, SETT_E_SHAPE, "sett_buf_print: extent %d is %" PRId64, i, t->shape[i]);
        none = none || !t->shape[i];
    }
    v->shape = sett_arg_n(v->n, v->extent);
    if (none)
        return SETT_OK;
    v->layout = sett_make_layout_at((sett_site){0}, v->b, v->shape, sett_arg_n(v->n, v->stride));
    sett_status s = sett_build_status(v->b, NULL);
    return s ? refuse(v, s) : SETT_OK;
}

/* Copies all that the layout reaches, if that is little: one call instead of many. */
static bool copy_span(view *v)
{
    int64_t low, high;
    if (!span_of(v, &low, &high)) {
        v->status = too_far(v);
        return false;
    }
    if (v->layout->has_inner || high - low >= AT_ONCE / v->bytes)
        return true;
    v->low = low;
    v->high = high + 1;
    v->copy = malloc((size_t)(v->high - low) * (size_t)v->bytes);
    return !v->copy || fetch(v, v->copy, low, (size_t)(v->high - low) * (size_t)v->bytes);
}

/* ---- the call ------------------------------------------------------------------------------------------------ */
static void put_header(view *v, bool verbose)
{
    char text[1024];
    int n = v->layout ? sett__layout_str(v->layout, text, sizeof text) : sett__arg_str(v->shape, text, sizeof text);
    if (!v->layout && n < (int)sizeof text - 1) {
        text[n] = ':';
        sett__arg_str(sett_arg_n(v->n, v->stride), text + n + 1, sizeof text - (size_t)n - 1);
    }
    sett__putf(&v->out, "tensor(raw_ptr(0x%016" PRIxPTR ": %s, gmem, align<%d>) o ", (uintptr_t)v->buf->data,
        sett__memory_type(v->buf->dtype), v->bytes);
    sett__put(&v->out, text);
    sett__put(&v->out, verbose ? ", data= (\n" : ", data=\n");
}

static void print(view *v, const sett_buf_print_options *o)
{
    v->status = o->layout ? take_text(v, o->layout) : take_buffer(v);
    if (v->status)
        return;
    sett_arg all = v->layout ? sett__product(&(sett__ctx){.b = v->b, .func = "sett_buf_print"}, v->shape) : sett_arg_i(0);
    int64_t size = all.kind == SETT_INT ? all.u.i : 0;
    if (all.kind != SETT_INT) {
        v->status = refuse(v, SETT_E_RANGE);
        return;
    }
    put_header(v, o->verbose);
    if (!size)
        sett__put(&v->out, o->verbose ? ")\n" : SETT__PRINT_NONE);
    else if (!copy_span(v) || !(o->verbose ? put_all(v, size) : put_grid(v)))
        return;
    if (v->out.failed)
        v->status = sett__error(v->err, SETT_E_MEMORY, "sett_buf_print: out of memory for %zu bytes of text", v->out.len);
    else if (o->print || v->e->opt.print)
        (o->print ? o->print : v->e->opt.print)(o->print ? o->user : v->e->opt.user, v->out.buf, v->out.len);
    else
        fwrite(v->out.buf, 1, v->out.len, stdout);
}

static sett_status check(const sett_engine *e, sett_stream *stream, const sett_buf *t, sett_error *err)
{
    if (!e || !t)
        return sett__error(err, SETT_E_ARGUMENT, "sett_buf_print: no %s", e ? "buffer" : "engine");
    sett_status s = sett__engine_check(e, "sett_buf_print", err);
    if (s || !sett__device(e->runtime, &stream->device, err))
        return s ? s : SETT_E_NO_DEVICE;
    if (t->rank < 0 || t->rank > SETT__MAX_RANK)
        return sett__error(err, SETT_E_RANK, "sett_buf_print: the buffer's rank is %d, of 0 to %d", t->rank, SETT__MAX_RANK);
    if (!sett__dtype_valid(t->dtype) || (t->dtype != SETT_BOOL && sett_dtype_bits(t->dtype) < 8))
        return sett__error(err, SETT_E_DTYPE, "sett_buf_print: elements of %s have no whole bytes", sett_dtype_name(t->dtype));
    return t->data ? SETT_OK : sett__error(err, SETT_E_ARGUMENT, "sett_buf_print: the buffer's data is NULL");
}

sett_status sett_buf_print(
    sett_engine *e, sett_stream stream, const sett_buf *t, const sett_buf_print_options *options, sett_error *err)
{
    sett_buf_print_options o = {.size = sizeof o};
    sett_status s = check(e, &stream, t, err);
    if (!s && options)
        s = sett__options(&o, sizeof o, options, "sett_buf_print_options", err);
    if (s)
        return s;
    view v = {.e = e, .stream = stream, .buf = t, .b = sett_build_begin(), .bytes = sett__dtype_bytes(t->dtype), .out = {.grow = true}, .err = err};
    int errno_was = errno;
    if (!v.b || pipe(v.probe)) {
        sett_build_end(v.b, NULL);
        return sett__error(err, v.b ? SETT_E_IO : SETT_E_MEMORY, "sett_buf_print: %s", v.b ? "no pipe can be opened" : "out of memory");
    }
    print(&v, &o);
    close(v.probe[0]), close(v.probe[1]);
    free(v.copy);
    sett__mem_free(NULL, v.out.buf);
    sett_build_end(v.b, NULL);
    errno = errno_was;
    return v.status;
}
