/* SPDX-License-Identifier: Apache-2.0 */
/* The signature: symbols, parameters, scalars, the launch's shape, shared memory. All that a
 * launch must know is turned into host expressions here, where the caller's line is known. */
#include "lib.h"
#include <string.h>

static bool grow(sett_build *b, void **data, uint32_t *cap, uint32_t need, size_t item)
{
    if (sett__grow(b->mem, data, cap, need, item))
        return true;
    sett__fail(b, (sett_site){0}, NULL, SETT_E_MEMORY, "out of memory");
    return false;
}

/* ---- host expressions of recorded values ------------------------------------------- */
typedef struct walk {
    sett_build *b;
    uint32_t first, culprit;
    int depth;
} walk;

static bool emit(walk *w, sett__xcode code, int64_t imm)
{
    sett__sig *s = &w->b->sig;
    if (s->n_code - w->first >= SETT__MAX_EXPR ||
        !grow(w->b, (void **)&s->code, &w->b->cap_code, s->n_code + 1, sizeof *s->code))
        return false;
    s->code[s->n_code++] = (sett__xop){.code = (uint8_t)code, .imm = imm};
    return true;
}

static bool visit(walk *w, uint32_t id);

static bool visit_args(walk *w, const sett__op *op, int a, int c)
{
    uint32_t args = op->args;
    return visit(w, w->b->arg[args + a]) && visit(w, w->b->arg[args + c]);
}

/* Shifts and masks that folding made of divisions read as divisions again. */
static bool visit_power(walk *w, const sett__op *op)
{
    sett_build *b = w->b;
    uint32_t id = b->arg[op->args];
    sett__known x = sett__know(b, id), c = sett__know(b, b->arg[op->args + 1]);
    if (c.lo != c.hi || (x.lo < 0 && !(op->flags & SETT__F_NONNEG)))
        return false;
    if (op->code == SETT__SHR && c.lo >= 0 && c.lo < 62)
        return visit(w, id) && emit(w, SETT__X_CONST, INT64_C(1) << c.lo) && emit(w, SETT__X_DIV, 0);
    if (op->code == SETT__AND && c.lo > 0 && !(c.lo & (c.lo + 1)))
        return visit(w, id) && emit(w, SETT__X_CONST, c.lo + 1) && emit(w, SETT__X_REM, 0);
    return false;
}

/* Only < exists: a <= b is !(b < a), and a == b is neither a < b nor b < a. */
static bool visit_compare(walk *w, const sett__op *op)
{
    bool mirrored = op->code == SETT__GT || op->code == SETT__LE, is_not = op->code == SETT__LE || op->code == SETT__GE;
    bool equal = op->code == SETT__EQ || op->code == SETT__NE;
    int64_t yes = op->code == SETT__EQ;
    sett__op copy = *op;
    if (!visit_args(w, &copy, mirrored, !mirrored) || !emit(w, SETT__X_LT, 0))
        return false;
    if (is_not)
        return emit(w, SETT__X_CONST, 0) && emit(w, SETT__X_CONST, 1) && emit(w, SETT__X_SELECT, 0);
    if (!equal)
        return true;
    return emit(w, SETT__X_CONST, !yes) && visit_args(w, &copy, 1, 0) && emit(w, SETT__X_LT, 0) &&
           emit(w, SETT__X_CONST, !yes) && emit(w, SETT__X_CONST, yes) && emit(w, SETT__X_SELECT, 0) &&
           emit(w, SETT__X_SELECT, 0);
}

/* x and y of x / y (or x % y), if an op is that, also as the shift (or mask) that folding made of it. */
static bool ratio_of(const sett_build *b, uint32_t id, sett__code code, uint32_t *x, int64_t *k, uint32_t *y)
{
    const sett__op *op = &b->op[id];
    if (op->n_args != 2)
        return false;
    *x = b->arg[op->args];
    *y = b->arg[op->args + 1];
    const sett__op *c = &b->op[*y];
    *k = c->code == SETT__CONST ? sett__int_of_bits((sett_dtype)c->dtype, (uint64_t)c->imm) : 0;
    if (op->code == code)
        return true;
    bool shift = code == SETT__DIV && op->code == SETT__SHR, mask = code == SETT__REM && op->code == SETT__AND;
    if (c->code != SETT__CONST || !(shift || mask) || *k < 1 || *k > (shift ? 61 : INT64_MAX - 1))
        return false;
    *k = shift ? INT64_C(1) << *k : *k + 1;
    return !(*k & (*k - 1));
}

/* a/b + min(a%b, 1) is what sett_ceil_div records where a + b - 1 might wrap, which it cannot in 64 bits. */
static bool visit_ceil(walk *w, const sett__op *op)
{
    sett_build *b = w->b;
    uint32_t x[2], y[2], args = op->args;
    int64_t k[2], one;
    const sett__op *least = &b->op[b->arg[args + 1]];
    if (op->code != SETT__ADD || least->code != SETT__MIN || b->op[b->arg[least->args + 1]].code != SETT__CONST)
        return false;
    one = b->op[b->arg[least->args + 1]].imm;
    if (one != 1 || !ratio_of(b, b->arg[args], SETT__DIV, &x[0], &k[0], &y[0]) ||
        !ratio_of(b, b->arg[least->args], SETT__REM, &x[1], &k[1], &y[1]) || x[0] != x[1] || k[0] != k[1] ||
        (!k[0] && y[0] != y[1]))
        return false;
    if (k[0])
        return visit(w, x[0]) && emit(w, SETT__X_CONST, k[0] - 1) && emit(w, SETT__X_ADD, 0) &&
               emit(w, SETT__X_CONST, k[0]) && emit(w, SETT__X_DIV, 0);
    return visit(w, x[0]) && visit(w, y[0]) && emit(w, SETT__X_CONST, 1) && emit(w, SETT__X_SUB, 0) &&
           emit(w, SETT__X_ADD, 0) && visit(w, y[0]) && emit(w, SETT__X_DIV, 0);
}

static const uint8_t xcode_of[SETT__N_CODES] = {
    [SETT__ADD] = SETT__X_ADD, [SETT__SUB] = SETT__X_SUB, [SETT__MUL] = SETT__X_MUL, [SETT__DIV] = SETT__X_DIV,
    [SETT__REM] = SETT__X_REM, [SETT__MIN] = SETT__X_MIN, [SETT__MAX] = SETT__X_MAX, [SETT__SHL] = SETT__X_SHL,
    [SETT__SHR] = SETT__X_SHR, [SETT__AND] = SETT__X_AND,
};

static bool refuse(walk *w, uint32_t id)
{
    w->culprit = id;
    return false;
}

/* Or the value of one that the launch computes, which no expression names. */
static bool emit_symbol(walk *w, const sett__expr *value, int64_t imm)
{
    sett__expr e = *value;
    if (!e.count)
        return emit(w, SETT__X_SYM, imm);
    for (uint32_t i = 0; i < e.count; i++) {
        const sett__xop x = w->b->sig.code[e.first + i];
        if (!emit(w, (sett__xcode)x.code, x.imm))
            return false;
    }
    return true;
}

static bool visit_op(walk *w, uint32_t id)
{
    sett_build *b = w->b;
    const sett__op op = b->op[id];
    bool boolean = op.dtype == SETT_BOOL;
    if ((!boolean && !sett__dtype_is_int((sett_dtype)op.dtype)) || op.n != 1)
        return refuse(w, id);
    switch (sett__ops[op.code].cls) {
    case SETT__C_CONST:
        return emit(w, SETT__X_CONST, sett__int_of_bits((sett_dtype)op.dtype, (uint64_t)op.imm));
    case SETT__C_SYM:
        return emit_symbol(w, &b->sig.sym[op.imm].value, op.imm);
    case SETT__C_SCALAR:
        return boolean || op.code == SETT__ADDR ? refuse(w, id) : emit(w, SETT__X_SCALAR, op.imm);
    case SETT__C_BINARY:
        if ((op.code == SETT__SHR || op.code == SETT__AND) && visit_power(w, &op))
            return true;
        if (visit_ceil(w, &op))
            return true;
        if (!xcode_of[op.code])
            return refuse(w, id);
        return visit_args(w, &op, 0, 1) && emit(w, (sett__xcode)xcode_of[op.code], 0);
    case SETT__C_COMPARE:
        return visit_compare(w, &op);
    case SETT__C_SELECT:
        return visit(w, b->arg[op.args]) && visit_args(w, &op, 1, 2) && emit(w, SETT__X_SELECT, 0);
    case SETT__C_CONVERT: { /* host arithmetic has 64 bits: what widens is there already */
        uint32_t from = b->arg[op.args];
        int to_bits = sett_dtype_bits((sett_dtype)op.dtype), bits = sett_dtype_bits((sett_dtype)b->op[from].dtype);
        return op.code == SETT__CONVERT && to_bits >= bits ? visit(w, from) : refuse(w, id);
    }
    default:
        return refuse(w, id);
    }
}

static bool visit(walk *w, uint32_t id)
{
    if (w->depth >= SETT__MAX_EXPR)
        return false;
    w->depth++;
    bool ok = visit_op(w, id);
    w->depth--;
    return ok;
}

static bool to_expr(walk *w, sett_arg leaf, sett__expr *out)
{
    sett__sig *s = &w->b->sig;
    w->first = s->n_code;
    w->culprit = SETT__NONE;
    bool ok = false;
    if (leaf.kind == SETT_INT)
        ok = emit(w, SETT__X_CONST, leaf.u.i);
    else if (leaf.kind == SETT_VALUE && leaf.u.v->scalar && leaf.u.v->id != SETT__NONE)
        ok = visit(w, leaf.u.v->id);
    *out = (sett__expr){w->first, s->n_code - w->first};
    if (ok && sett__expr_valid(s, *out))
        return true;
    s->n_code = w->first;
    return false;
}

bool sett__to_expr(sett_build *b, sett_arg leaf, sett__expr *out)
{
    walk w = {.b = b};
    return to_expr(&w, leaf, out);
}

bool sett__need_expr(const sett__ctx *c, const char *what, int i, sett_arg leaf, sett__expr *out)
{
    walk w = {.b = c->b};
    char numbered[80];
    if (to_expr(&w, leaf, out))
        return true;
    if (i >= 0)
        snprintf(numbered, sizeof numbered, "%s %d", what, i), what = numbered;
    if (w.culprit == SETT__NONE) {
        sett__fail(c->b, c->site, c->func, SETT_E_LIMIT, "%s is too long an expression", what);
        return false;
    }
    const sett__op *op = &c->b->op[w.culprit];
    const sett__site_ref *at = op->site == SETT__NONE ? NULL : &c->b->site[op->site];
    const sett__op *root = op->code == SETT__LOAD ? &c->b->op[c->b->arg[op->args]] : NULL;
    if (root && root->code == SETT__PARAM && c->b->sig.param[root->imm].bytes && at) {
        char field[160];
        sett__field_at(c->b, (uint32_t)root->imm, op->imm * sett__dtype_bytes((sett_dtype)op->dtype), field, sizeof field);
        sett__fail(c->b, c->site, c->func, SETT_E_STATIC,
            "%s must be made of symbols, integer scalars and constants; %s, read at %s:%u, is a field of a struct, which the launch "
            "hands on unread: give this number as a sett_scalar too", what, field, c->b->string[at->file], at->line);
        return false;
    }
    sett__fail(c->b, c->site, c->func, SETT_E_STATIC,
        "%s must be made of symbols, integer scalars and constants, not of %s%s%s:%u", what,
        sett__ops[op->code].text, at ? " at " : "", at ? c->b->string[at->file] : "", at ? at->line : 0);
    return false;
}

/* ---- names ---------------------------------------------------------------------------- */
static bool is_name(const char *s)
{
    size_t n = 0;
    for (; s && s[n]; n++) {
        bool letter = (s[n] >= 'a' && s[n] <= 'z') || (s[n] >= 'A' && s[n] <= 'Z') || s[n] == '_';
        if (!letter && !(n && s[n] >= '0' && s[n] <= '9'))
            return false;
    }
    return n > 0 && n < 256;
}

static int find_sym(const sett_build *b, const char *name)
{
    for (uint32_t i = 0; i < b->sig.n_sym; i++)
        if (!strcmp(b->sig.sym[i].name, name))
            return (int)i;
    return -1;
}

static const char *keep_name(sett_build *b, const char *name)
{
    uint32_t i = sett__intern(b, name); /* may move the array */
    return b->error.status ? "" : b->string[i];
}

static bool new_name(const sett__ctx *c, const char *name)
{
    sett_build *b = c->b;
    SETT__FAIL_IF(b, c->site, c->func, !is_name(name), false, SETT_E_ARGUMENT,
        "a name is 1 to 255 letters, digits and _, not starting with a digit: \"%.260s\"", name ? name : "(null)");
    bool taken = find_sym(b, name) >= 0;
    for (uint32_t i = 0; i < b->sig.n_param && !taken; i++)
        taken = !strcmp(b->sig.param[i].name, name);
    SETT__FAIL_IF(b, c->site, c->func, taken, false, SETT_E_ARGUMENT, "the name %s is taken", name);
    return true;
}

/* n of them there are already, parameters or symbols. */
static bool has_room(const sett__ctx *c, uint32_t n)
{
    SETT__FAIL_IF(c->b, c->site, c->func, n >= SETT__MAX_PARAMS, false, SETT_E_LIMIT,
        "a kernel has at most %d parameters, and as many symbols", SETT__MAX_PARAMS);
    return true;
}

static bool ready(const sett__ctx *c)
{
    return c->b && !c->b->error.status && !c->b->ended;
}

/* ---- symbols ---------------------------------------------------------------------------- */
static sett_val *add_sym(const sett__ctx *c, const sett__symbol *sym)
{
    sett_build *b = c->b;
    uint32_t i = b->sig.n_sym;
    if (!has_room(c, i) || !grow(b, (void **)&b->sig.sym, &b->cap_sym, i + 1, sizeof *b->sig.sym) ||
        !grow(b, (void **)&b->sym_val, &b->cap_sym_val, i + 1, sizeof *b->sym_val))
        return &b->poison->val;
    const char *name = keep_name(b, sym->name);
    b->sig.sym[i] = *sym;
    b->sig.sym[i].name = name;
    b->sym_val[i] = &b->poison->val;
    b->sig.n_sym++;
    b->sig.n_derived += sym->value.count > 0;
    uint32_t id = sett__record(b, c->site,
        &(sett__emit){.code = SETT__SYM, .dtype = sym->wide ? SETT_I64 : SETT_I32, .n = 1, .imm = i});
    return b->sym_val[i] = sett__scalar_val(b, id);
}

static sett_val *new_sym(const sett__ctx *c, const sett_sym_args *a)
{
    if (!new_name(c, a->name))
        return &c->b->poison->val;
    return add_sym(c, &(sett__symbol){.name = a->name, .div = a->div ? a->div : 1, .wide = a->wide});
}

sett_val *sett__derived(const sett__ctx *c, sett__expr value, const char *name, unsigned number)
{
    sett_build *b = c->b;
    char text[80];
    for (uint32_t i = 0; i < b->sig.n_sym; i++)
        if (b->sig.sym[i].value.count && sett__expr_same(&b->sig, b->sig.sym[i].value, value)) {
            b->sig.n_code = value.first;
            return sett__scalar_val(b, b->sym_val[i]->id);
        }
    snprintf(text, sizeof text, "%s %u", name, number); /* a blank: no symbol or parameter of the caller's is called so */
    return add_sym(c, &(sett__symbol){.name = text, .div = 1, .value = value});
}

sett_val *sett_sym_at(sett_site site, sett_build *b, const sett_sym_args *args)
{
    sett__ctx c = {b, site, "sett_sym"};
    if (!ready(&c))
        return b ? &b->poison->val : NULL;
    sett_sym_args a;
    if (!sett__take_args(&c, &a, sizeof a, args))
        return &b->poison->val;
    SETT__FAIL_IF(b, site, c.func, a.div < 0, &b->poison->val, SETT_E_ARGUMENT, "%s: .div is %lld, it must be positive",
        a.name ? a.name : "(null)", (long long)a.div);
    int old = a.name ? find_sym(b, a.name) : -1;
    if (old < 0)
        return new_sym(&c, &a);
    const sett__symbol *s = &b->sig.sym[old];
    bool same = (!a.div || a.div == s->div) && (!a.wide || s->wide);
    SETT__FAIL_IF(b, site, c.func, !same, &b->poison->val, SETT_E_ARGUMENT,
        "%s was declared with .div = %lld, .wide = %d, and is asked for with .div = %lld, .wide = %d", s->name,
        (long long)s->div, s->wide, (long long)(a.div ? a.div : s->div), a.wide || s->wide);
    return sett__scalar_val(b, b->sym_val[old]->id);
}

/* ---- parameters ---------------------------------------------------------------------------- */
static bool wide_leaf(sett_arg a)
{
    return a.kind == SETT_VALUE ? sett_dtype_bits((sett_dtype)a.u.v->dtype) == 64 : a.u.i > INT32_MAX || a.u.i < INT32_MIN;
}

typedef struct declare {
    const sett__ctx *c;
    sett__param *param; /* being made; not in the signature yet */
    int64_t reach;      /* static (extent-1)*|stride| summed, saturated */
} declare;

static bool declare_leaf(declare *d, int mode, sett_arg extent, sett_arg stride)
{
    sett_build *b = d->c->b;
    sett__leaf leaf = {.mode = (uint8_t)mode};
    SETT__FAIL_IF(b, d->c->site, d->c->func, extent.path || stride.path, false, SETT_E_ARGUMENT,
        "%s: a parameter's strides are integers, not basis vectors", d->param->name);
    if (!sett__need_expr(d->c, "the extent of mode", mode, extent, &leaf.extent) ||
        !sett__need_expr(d->c, "the stride of mode", mode, stride, &leaf.stride) ||
        !grow(b, (void **)&b->sig.leaf, &b->cap_leaf, b->sig.n_leaf + 1, sizeof leaf))
        return false;
    b->sig.leaf[b->sig.n_leaf++] = leaf;
    int64_t span;
    d->param->wide |= wide_leaf(extent) || wide_leaf(stride);
    if (extent.kind != SETT_INT || stride.kind != SETT_INT || extent.u.i < 1)
        return true;
    if (__builtin_mul_overflow(extent.u.i - 1, stride.u.i < 0 ? -stride.u.i : stride.u.i, &span) ||
        __builtin_add_overflow(d->reach, span, &d->reach))
        d->reach = INT64_MAX;
    return true;
}

/* Leaves in colexicographic order: mode 0 first, depth first. */
static bool declare_mode(declare *d, int mode, sett_arg shape, sett_arg stride)
{
    if (shape.kind != SETT_NODE)
        return declare_leaf(d, mode, shape, stride);
    for (int i = 0; i < shape.rank; i++)
        if (!declare_mode(d, mode, shape.u.kid[i], stride.u.kid[i]))
            return false;
    return true;
}

static bool declare_layout(declare *d, const sett_layout *l)
{
    sett_build *b = d->c->b;
    int rank = l->shape.kind == SETT_NODE ? l->shape.rank : 1;
    SETT__FAIL_IF(b, d->c->site, d->c->func, l->has_inner, false, SETT_E_ARGUMENT,
        "%s: a parameter's layout is shape:stride, not %s", d->param->name, sett__layout_text(b, l));
    SETT__FAIL_IF(b, d->c->site, d->c->func, rank > SETT__MAX_RANK, false, SETT_E_RANK,
        "%s: a parameter has 0 to %d modes, not %d", d->param->name, SETT__MAX_RANK, rank);
    d->param->rank = (uint8_t)rank;
    d->param->leaf = b->sig.n_leaf;
    for (int i = 0; i < rank; i++) {
        bool tuple = l->shape.kind == SETT_NODE;
        if (!declare_mode(d, i, tuple ? l->shape.u.kid[i] : l->shape, tuple ? l->stride.u.kid[i] : l->stride))
            return false;
    }
    d->param->n_leaf = b->sig.n_leaf - d->param->leaf;
    d->param->wide |= d->reach >= INT64_C(1) << 31;
    return true;
}

static bool add_param(const sett__ctx *c, const sett__param *p)
{
    sett_build *b = c->b;
    if (!has_room(c, b->sig.n_param) || !grow(b, (void **)&b->sig.param, &b->cap_param, b->sig.n_param + 1, sizeof *p))
        return false;
    b->sig.param[b->sig.n_param++] = *p;
    return true;
}

sett_tensor *sett__declare_param(
    const sett__ctx *c, const char *name, sett_dtype dtype, const sett_param_args *a, bool wide)
{
    sett_build *b = c->b;
    sett_tensor *poison = &b->poison->tensor;
    if (!ready(c))
        return poison;
    SETT__FAIL_IF(b, c->site, c->func, !sett__dtype_valid((int)dtype), poison, SETT_E_DTYPE, "%d is not an element type",
        (int)dtype);
    SETT__FAIL_IF(b, c->site, c->func, a->align < 0 || (a->align & (a->align - 1)) || a->align > SETT__MAX_PARAM_ALIGN, poison, SETT_E_ALIGN,
        "%s: .align is %d, it must be a power of two up to %d", name ? name : "(null)", a->align, SETT__MAX_PARAM_ALIGN);
    if (!sett__use_layout(b, c->site, c->func, a->layout) || !new_name(c, name))
        return poison;
    int bytes = sett__dtype_bytes(dtype);
    uint32_t align = (uint32_t)(a->align > bytes ? a->align : bytes);
    sett__param p = {.name = keep_name(b, name), .dtype = (uint8_t)dtype, .align = align,
        .restricted = a->restricted, .wide = wide};
    declare d = {.c = c, .param = &p};
    if (b->error.status || !declare_layout(&d, a->layout) || !add_param(c, &p))
        return poison;
    return sett__param_tensor(c, p.name, dtype, (int)b->sig.n_param - 1, a->layout, align);
}

sett_tensor *sett_param_at(sett_site site, sett_build *b, const char *name, sett_dtype dtype, const sett_param_args *args)
{
    sett__ctx c = {b, site, "sett_param"};
    sett_param_args a;
    if (!ready(&c))
        return b ? &b->poison->tensor : NULL;
    return sett__take_args(&c, &a, sizeof a, args) ? sett__declare_param(&c, name, dtype, &a, false) : &b->poison->tensor;
}

sett_tensor *sett__declare_struct(const sett__ctx *c, const char *name, int64_t bytes, int align)
{
    sett_build *b = c->b;
    sett_tensor *poison = &b->poison->tensor;
    if (!ready(c) || !new_name(c, name))
        return poison;
    SETT__FAIL_IF(b, c->site, c->func, bytes > SETT__PARAM_BYTES, poison, SETT_E_LIMIT,
        "%s has %lld bytes: what a kernel is passed by value has at most %d in all; sett_param_struct reads it from memory",
        name, (long long)bytes, SETT__PARAM_BYTES);
    uint32_t to = (uint32_t)(align > SETT__VALUE_ALIGN ? SETT__VALUE_ALIGN : align);
    sett__param p = {.name = keep_name(b, name), .scalar = SETT__BY_STRUCT, .dtype = SETT_U8, .align = to,
        .bytes = (uint32_t)bytes};
    if (b->error.status || !add_param(c, &p))
        return poison;
    const sett_arg size = sett_arg_i(bytes), one = sett_arg_i(1);
    sett_layout *l = sett__layout(b, sett_arg_n(1, &size), sett_arg_n(1, &one));
    return sett__param_tensor(c, p.name, SETT_U8, (int)b->sig.n_param - 1, l, to);
}

sett_val *sett_scalar_at(sett_site site, sett_build *b, const char *name, sett_dtype dtype)
{
    sett__ctx c = {b, site, "sett_scalar"};
    if (!ready(&c))
        return b ? &b->poison->val : NULL;
    bool valid = sett__dtype_valid((int)dtype) && sett__dtype_kind(dtype) != 's' && !sett__dtype_is_wide(dtype);
    SETT__FAIL_IF(b, site, c.func, !valid, &b->poison->val, SETT_E_DTYPE, "%s: a scalar cannot be %s",
        name ? name : "(null)", sett_dtype_name(dtype));
    if (!new_name(&c, name))
        return &b->poison->val;
    uint32_t align = (uint32_t)sett__dtype_bytes(dtype);
    sett__param p = {.name = keep_name(b, name), .scalar = SETT__BY_NUMBER, .dtype = (uint8_t)dtype, .align = align};
    if (b->error.status || !add_param(&c, &p))
        return &b->poison->val;
    uint32_t id = sett__record(b, site,
        &(sett__emit){.code = SETT__SCALAR, .dtype = dtype, .n = 1, .imm = (int64_t)b->sig.n_param - 1});
    return sett__scalar_val(b, id);
}

/* ---- the launch's shape ------------------------------------------------------------------- */
static bool launch_extent(const sett__ctx *c, int i, sett_arg a, int64_t most, sett__expr *expr, sett_val **val)
{
    sett_build *b = c->b;
    bool integer = a.kind == SETT_INT || (a.kind == SETT_VALUE && a.u.v->scalar && sett__dtype_is_int((sett_dtype)a.u.v->dtype));
    SETT__FAIL_IF(b, c->site, c->func, !integer || a.path, false, SETT_E_ARGUMENT, "extent %d must be an integer, not %s", i,
        sett__arg_text(b, a));
    SETT__FAIL_IF(b, c->site, c->func, a.kind == SETT_INT && (a.u.i < 0 || a.u.i > most), false, SETT_E_LIMIT,
        "extent %d is %lld, it may be up to %lld", i, (long long)a.u.i, (long long)most);
    *val = sett__arg_val(b, c->site, a);
    return sett__need_expr(c, "extent", i, a, expr);
}

static bool said_before(const sett__ctx *c, uint32_t where)
{
    const sett__site_ref *s = where ? &c->b->site[where - 1] : NULL;
    if (s)
        sett__fail(c->b, c->site, c->func, SETT_E_ARGUMENT, "this was said before, at %s:%u", c->b->string[s->file], s->line);
    else
        sett__fail(c->b, c->site, c->func, SETT_E_ARGUMENT, "this was said before");
    return false;
}

static bool launch_shape(const sett__ctx *c, sett_arg a, const int64_t most[3], sett__expr expr[3], sett_val *val[3], uint32_t *where)
{
    if (!ready(c) || !sett__use_arg(c->b, c->site, c->func, a))
        return false;
    int rank = a.kind == SETT_NODE ? a.rank : 1;
    if (val[0])
        return said_before(c, *where);
    *where = sett__site(c->b, c->site) + 1; /* of none: 0 */
    SETT__FAIL_IF(c->b, c->site, c->func, rank < 1 || rank > 3, false, SETT_E_RANK, "1 to 3 extents are needed, not %s",
        sett__arg_text(c->b, a));
    for (int i = 0; i < rank; i++)
        if (!launch_extent(c, i, a.kind == SETT_NODE ? a.u.kid[i] : a, most[i], &expr[i], &val[i]))
            return false;
    return true;
}

void sett_grid_at(sett_site site, sett_build *b, sett_arg a)
{
    sett__ctx c = {b, site, "sett_grid"};
    if (b)
        launch_shape(&c, a, (const int64_t[]){INT32_MAX, 65535, 65535}, b->sig.grid, b->grid, &b->said[0]);
}

/* Indices that were asked for before the block was given have its bounds from here on. */
static void bound_indices(sett_build *b)
{
    for (uint32_t i = 0; i < b->n_op; i++)
        if ((b->op[i].code == SETT__TID || b->op[i].code == SETT__BDIM) && b->val_of[i])
            sett__facts(b, b->val_of[i], NULL);
}

void sett_block_at(sett_site site, sett_build *b, sett_arg a)
{
    sett__ctx c = {b, site, "sett_block"};
    if (!b || !launch_shape(&c, a, (const int64_t[]){1024, 1024, 64}, b->sig.block, b->block, &b->said[1]))
        return;
    int64_t threads = 1;
    for (int i = 0; i < 3; i++) {
        int64_t n = 0;
        if (!b->block[i])
            n = 1;
        else if (b->block[i]->lo == b->block[i]->hi)
            n = b->block[i]->lo;
        if (n > 0) {
            b->block_size[i] = n;
            threads *= n;
        }
        if (b->block[i] && b->block[i]->lo == b->block[i]->hi && n < 1)
            threads = 0;
    }
    if (threads < 1 || threads > 1024)
        sett__fail(b, site, c.func, SETT_E_LIMIT, "a block has 1 to 1024 threads; %s are %lld", sett__arg_text(b, a),
            (long long)threads);
    bound_indices(b);
}

bool sett__smem_more(const sett__ctx *c, sett_arg bytes, uint32_t align, uint32_t step, sett_arg *at)
{
    sett_build *b = c->b;
    const sett_arg to = sett_arg_i(step);
    bool first = !b->more_align;
    *at = first ? sett_arg_i(0) : sett__mul(c, sett__ceil_div(c, b->more, to), to);
    b->more = sett__add(c, *at, bytes);
    if (b->error.status || !sett__need_expr(c, "the layout's size", -1, b->more, &b->sig.smem_more))
        return false;
    b->more_align = align > b->more_align ? align : b->more_align;
    b->smem_align = align > b->smem_align ? align : b->smem_align;
    if (first)
        b->more_root = sett__record(b, c->site, &(sett__emit){.code = SETT__SMEM, .dtype = SETT_U8});
    return !b->error.status;
}

uint32_t sett__smem_alloc(sett_build *b, sett_site site, const char *func, uint64_t bytes, uint32_t align)
{
    uint64_t at = ((uint64_t)b->smem_used + align - 1) & ~(uint64_t)(align - 1);
    SETT__FAIL_IF(b, site, func, bytes > SETT__MAX_SMEM || at + bytes > SETT__MAX_SMEM, 0, SETT_E_LIMIT,
        "%llu bytes of shared memory and %u before them; no device gives a block as much as %d", (unsigned long long)bytes,
        b->smem_used, SETT__MAX_SMEM);
    b->smem_used = (uint32_t)(at + bytes);
    if (align > b->smem_align)
        b->smem_align = align;
    return (uint32_t)at;
}
