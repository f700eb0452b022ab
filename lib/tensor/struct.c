/* SPDX-License-Identifier: Apache-2.0 */
/* Structs: where C puts their fields, and a field as a view of a tensor of bytes. */
#include "tensor.h"
#include <string.h>

enum { MAX_FIELDS = 1024, MAX_ALIGN = SETT__MAX_SMEM_ALIGN };
#define MAX_BYTES ((int64_t)1 << 30)

static sett_struct *none(sett_build *b)
{
    sett_struct *s = sett__new_object(b, SETT__K_STRUCT, sizeof *s);
    s->head.poison = true;
    return s;
}

static const char *kept(sett_build *b, const char *name)
{
    const char *copy = sett__arena_str(&b->arena, name);
    if (!copy)
        sett__fail(b, (sett_site){0}, NULL, SETT_E_MEMORY, "out of memory");
    return copy ? copy : "?";
}

static bool use_struct(sett_build *b, sett_site site, const char *func, const sett_struct *s)
{
    return sett__use_object(b, site, func, (const sett__head *)s, SETT__K_STRUCT);
}

static bool poison(const sett_struct *s)
{
    return !s || s->head.poison;
}

static int alignment(const sett_field *f)
{
    int natural = f->of ? f->of->align : sett__dtype_bytes(f->dtype);
    return f->align > natural ? f->align : natural;
}

static const char *field_name(const sett_field *f)
{
    return f->name ? f->name : "?";
}

static bool check_field(const sett__ctx *c, const sett_struct *s, int i, const sett_field *f)
{
    const char *name = field_name(f);
    SETT__FAIL_IF(c->b, c->site, c->func, !f->name || !*f->name || strchr(f->name, '.'), false, SETT_E_ARGUMENT,
        "field %d of %s has no name, or one with a dot in it", i, s->name);
    for (int j = 0; j < i; j++)
        SETT__FAIL_IF(c->b, c->site, c->func, !strcmp(s->field[j].name, f->name), false, SETT_E_ARGUMENT,
            "%s has two fields %s", s->name, f->name);
    SETT__FAIL_IF(c->b, c->site, c->func, f->of && f->dtype, false, SETT_E_ARGUMENT,
        "%s.%s has an element type and a struct", s->name, name);
    SETT__FAIL_IF(c->b, c->site, c->func, f->count < 0, false, SETT_E_RANGE, "%s.%s has %lld elements", s->name, name,
        (long long)f->count);
    SETT__FAIL_IF(c->b, c->site, c->func, f->align < 0 || (f->align & (f->align - 1)) || f->align > MAX_ALIGN, false,
        SETT_E_ALIGN, "%s.%s: an alignment of %d is no power of two up to %d", s->name, name, f->align, MAX_ALIGN);
    if (f->of || !sett__check_element(c, f->dtype))
        return f->of && use_struct(c->b, c->site, c->func, f->of);
    SETT__FAIL_IF(c->b, c->site, c->func, f->dtype != SETT_BOOL && sett_dtype_bits(f->dtype) < 8, false, SETT_E_DTYPE,
        "%s.%s: elements of %s have no whole bytes: a field of SETT_U8, and sett_recast_tensor of it", s->name, name,
        sett_dtype_name(f->dtype));
    return true;
}

/* The field at the next place that is aligned for it. */
static bool add_field(const sett__ctx *c, sett_struct *s, const sett_field *f)
{
    int i = s->n, align = alignment(f);
    int64_t at = s->is_union ? 0 : (s->size + align - 1) & -(int64_t)align, bytes, end;
    bool large = __builtin_mul_overflow(f->count ? f->count : 1, sett__field_size(f), &bytes) || bytes > MAX_BYTES;
    end = large ? 0 : at + bytes;
    SETT__FAIL_IF(c->b, c->site, c->func, large || end > MAX_BYTES, false, SETT_E_LIMIT, "%s.%s ends past 2^30 bytes",
        s->name, f->name);
    s->field[i] = *f;
    s->field[i].name = kept(c->b, f->name);
    s->offset[i] = at;
    s->size = end > s->size ? end : s->size;
    s->align = align > s->align ? align : s->align;
    s->n++;
    return true;
}

sett_struct *sett_make_struct_at(sett_site site, sett_build *b, const char *name, bool is_union, int n, const sett_field *f)
{
    b = sett__given(b, site, is_union ? "sett_make_union" : "sett_make_struct");
    const sett__ctx c = {b, site, is_union ? "sett_make_union" : "sett_make_struct"};
    if (!b)
        return NULL;
    sett_struct *s = none(b);
    if (b->error.status)
        return s;
    SETT__FAIL_IF(b, site, c.func, !name || n < 1 || n > MAX_FIELDS || !f, s, SETT_E_ARGUMENT,
        "a name and 1 to %d fields are needed", MAX_FIELDS);
    s->name = kept(b, name);
    s->is_union = is_union;
    s->align = 1;
    s->field = sett__new(b, (size_t)n * sizeof *s->field);
    s->offset = sett__new(b, (size_t)n * sizeof *s->offset);
    for (int i = 0; i < n; i++)
        if (b->error.status || !check_field(&c, s, i, &f[i]) || !add_field(&c, s, &f[i]))
            return s;
    s->size = (s->size + s->align - 1) & -(int64_t)s->align;
    s->head.poison = b->error.status != SETT_OK;
    return s;
}

/* ---- asking ------------------------------------------------------------------------------ */
int64_t sett_struct_size(const sett_struct *s)
{
    return !sett__lives("sett_struct_size", s, SETT__K_STRUCT) || poison(s) ? 0 : s->size;
}

int sett_struct_align(const sett_struct *s)
{
    return !sett__lives("sett_struct_align", s, SETT__K_STRUCT) || poison(s) ? 0 : s->align;
}

/* The field that the path begins with; *path moves behind it, and its dot. */
static int find(const sett_struct *s, const char **path)
{
    size_t n = strcspn(*path, ".");
    for (int i = 0; i < s->n; i++)
        if (strlen(s->field[i].name) == n && !memcmp(s->field[i].name, *path, n)) {
            *path += n + ((*path)[n] == '.');
            return i;
        }
    return -1;
}

int64_t sett_struct_offset(const sett_struct *s, const char *path)
{
    int64_t at = 0;
    if (!sett__lives("sett_struct_offset", s, SETT__K_STRUCT) || poison(s) || !path || !*path)
        return -1;
    do {
        int i = s ? find(s, &path) : -1;
        if (i < 0)
            return -1;
        at += s->offset[i];
        s = s->field[i].of;
    } while (*path);
    return at;
}

static void put_struct(sett__sink *out, const sett_struct *s)
{
    sett__putf(out, "%.100s {", s->name);
    for (int i = 0; i < s->n; i++) {
        const sett_field *f = &s->field[i];
        sett__putf(out, "%s%.100s: %.100s", i ? ", " : "", f->name, f->of ? f->of->name : sett_dtype_name(f->dtype));
        if (f->count)
            sett__putf(out, "[%lld]", (long long)f->count);
        sett__putf(out, " at %lld", (long long)s->offset[i]);
    }
    sett__putf(out, "} %lld bytes, align %d", (long long)s->size, s->align);
}

int sett_struct_str(const sett_struct *s, char *buf, size_t size)
{
    sett__sink out = {.buf = buf, .cap = size};
    if (!sett__lives("sett_struct_str", s, SETT__K_STRUCT) || poison(s))
        sett__put(&out, "struct<?>");
    else
        put_struct(&out, s);
    return (int)out.len;
}

/* ---- in memory ------------------------------------------------------------------------------- */
sett_tensor *sett_param_struct_at(sett_site site, sett_build *b, const char *name, const sett_struct *s, sett_arg n)
{
    b = sett__given(b, site, "sett_param_struct");
    const sett__ctx c = {b, site, "sett_param_struct"};
    if (!b)
        return NULL;
    if (!use_struct(b, site, c.func, s) || !sett__use_arg(b, site, c.func, n))
        return &b->poison->tensor;
    const sett_arg shape[] = {n, sett_arg_i(s->size)}, stride[] = {sett_arg_i(s->size), sett_arg_i(1)};
    return sett__declare_param(&c, name, SETT_U8,
        &(sett_param_args){.align = s->align, .layout = sett__make(&c, sett_arg_n(2, shape), sett_arg_n(2, stride))}, false);
}

sett_tensor *sett_scalar_struct_at(sett_site site, sett_build *b, const char *name, const sett_struct *s)
{
    b = sett__given(b, site, "sett_scalar_struct");
    const sett__ctx c = {b, site, "sett_scalar_struct"};
    if (!b)
        return NULL;
    if (!use_struct(b, site, c.func, s))
        return &b->poison->tensor;
    sett_tensor *t = sett__declare_struct(&c, name, s->size, s->align);
    sett__by_value *p = sett__new(b, sizeof *p);
    if (p && !t->head.poison) {
        *p = (sett__by_value){(uint32_t)t->param, s, b->by_value};
        b->by_value = p;
    }
    return t;
}

sett_tensor *sett_make_smem_struct_at(sett_site site, sett_build *b, const sett_struct *s)
{
    b = sett__given(b, site, "sett_make_smem_struct");
    if (!b)
        return NULL;
    if (!use_struct(b, site, "sett_make_smem_struct", s))
        return &b->poison->tensor;
    const sett_arg size = sett_arg_i(s->size);
    return sett_make_smem_tensor_at(site, b, SETT_U8, sett_arg_n(1, &size), &(sett_smem_options){.size = sizeof(sett_smem_options), .align = s->align});
}

/* ---- fields ------------------------------------------------------------------------------------ */
/* A view on its way: modes of t but the last, those of arrays, and where the bytes begin. */
typedef struct walk {
    const sett__ctx *c;
    sett_arg shape[SETT__MAX_NEST + 8], stride[SETT__MAX_NEST + 8];
    int n;
    int64_t at;
} walk;

static bool mode(walk *w, sett_arg shape, sett_arg stride)
{
    const sett__ctx *c = w->c;
    SETT__FAIL_IF(c->b, c->site, c->func, w->n == SETT__MAX_NEST, false, SETT_E_LIMIT, "more than %d modes", SETT__MAX_NEST);
    w->shape[w->n] = shape;
    w->stride[w->n++] = stride;
    return true;
}

/* Along the path; the field that it ends with, NULL: the build has failed. */
static const sett_field *follow(walk *w, const sett_struct *s, const char *path)
{
    const sett__ctx *c = w->c;
    const sett_field *f = NULL;
    for (const char *at = path; !f || *at; s = f->of) {
        char text[200];
        int i = s ? find(s, &at) : -1;
        if (s)
            sett_struct_str(s, text, sizeof text);
        SETT__FAIL_IF(c->b, c->site, c->func, i < 0, NULL, SETT_E_ARGUMENT, "%s is no field of %s", path,
            s ? text : sett_dtype_name(f->dtype));
        f = &s->field[i];
        w->at += s->offset[i];
        if (f->count && !mode(w, sett_arg_i(f->count), sett_arg_i(sett__field_size(f))))
            return NULL;
    }
    return f;
}

/* The bytes of the field as they are; an element's bytes are the last mode. */
static sett_tensor *bytes_of(const walk *w, const sett_tensor *t)
{
    sett_build *b = w->c->b;
    sett_tensor *r = sett__new_object(b, SETT__K_TENSOR, sizeof *r);
    sett__head head = r->head;
    *r = *t;
    r->head = head;
    r->offset = sett__add_offset(w->c, t->offset, sett_arg_i(w->at));
    r->layout = w->n ? sett__layout(b, sett_arg_n(w->n, w->shape), sett_arg_n(w->n, w->stride))
                     : sett__layout(b, sett_arg_i(1), sett_arg_i(0));
    return b->error.status ? &b->poison->tensor : r;
}

static bool holds(const sett__ctx *c, const sett_tensor *t, const sett_struct *s)
{
    int last = sett__arity(t->layout->shape) - 1;
    bool is = t->dtype == SETT_U8 && !t->layout->has_inner && last >= 0 &&
              sett__is_int(sett__kid(t->layout->shape, last), s->size) &&
              (s->size == 1 || sett__is_int(sett__kid(t->layout->stride, last), 1));
    SETT__FAIL_IF(c->b, c->site, c->func, !is, false, SETT_E_SHAPE,
        "%s of %s holds no %s: its last mode must be the struct's %lld bytes", sett__tensor_text(c->b, t),
        sett_dtype_name((sett_dtype)t->dtype), s->name, (long long)s->size);
    return true;
}

/* is_struct: does the path end with one? */
static sett_tensor *field_of(const sett__ctx *c, const sett_tensor *t, const sett_struct *s, const char *path, bool *is_struct)
{
    walk w = {.c = c};
    sett_tensor *no = &c->b->poison->tensor;
    if (!sett__use_tensor(c->b, c->site, c->func, t) || !use_struct(c->b, c->site, c->func, s) || !holds(c, t, s))
        return no;
    SETT__FAIL_IF(c->b, c->site, c->func, !path || !*path, no, SETT_E_ARGUMENT, "the path is %s", path ? "empty" : "NULL");
    for (int i = 0; i < sett__arity(t->layout->shape) - 1; i++)
        if (!mode(&w, sett__kid(t->layout->shape, i), sett__kid(t->layout->stride, i)))
            return no;
    const sett_field *f = follow(&w, s, path);
    *is_struct = f && f->of;
    if (!f || (f->of && !mode(&w, sett_arg_i(f->of->size), sett_arg_i(1))))
        return no;
    sett_tensor *bytes = bytes_of(&w, t);
    return bytes->head.poison || f->of ? bytes : sett_recast_tensor_at(c->site, bytes, f->dtype);
}

sett_tensor *sett_field_tensor_at(sett_site site, const sett_tensor *t, const sett_struct *s, const char *path)
{
    const sett__ctx c = {SETT__HOME_OR(t, sett__home(s)), site, "sett_field_tensor"};
    bool is_struct;
    return c.b ? field_of(&c, t, s, path, &is_struct) : NULL;
}

sett_val *sett_field_at(sett_site site, const sett_tensor *t, const sett_struct *s, const char *path)
{
    const sett__ctx c = {SETT__HOME_OR(t, sett__home(s)), site, "sett_field"};
    bool is_struct = false;
    if (!c.b)
        return NULL;
    const sett_tensor *f = field_of(&c, t, s, path, &is_struct);
    SETT__FAIL_IF(c.b, site, c.func, is_struct && !f->head.poison, &c.b->poison->val, SETT_E_DTYPE,
        "%s is a struct, not a number or an array: a path goes on to one of its fields", path);
    if (f->head.poison)
        return &c.b->poison->val;
    bool number = sett__is_int(f->layout->shape, 1) && sett__is_int(f->layout->stride, 0);
    return number ? sett_at_at(site, f, sett_arg_i(0)) : sett_load_at(site, &(sett_load_args){.size = sizeof(sett_load_args), .src = f});
}
