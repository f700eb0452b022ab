/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols, and what a launch computes: recorded integers as expressions over symbols and scalars, while the caller's line
 * is known. */
#include "build.h"
#include <string.h>

bool sett__grow_in(sett_build *b, void **data, uint32_t *cap, uint32_t need, size_t item)
{
    if (sett__grow(b->mem, data, cap, need, item))
        return true;
    sett__fail(b, (sett_site){0}, NULL, SETT_E_MEMORY, "out of memory");
    return false;
}

typedef struct walk {
    sett_build *b;
    uint32_t first, culprit;
    int depth;
} walk;

static bool emit_code(walk *w, sett__xcode code, int64_t imm)
{
    sett__sig *s = &w->b->sig;
    if (s->n_code - w->first >= SETT__MAX_EXPR ||
        !sett__grow_in(w->b, (void **)&s->code, &w->b->cap_code, s->n_code + 1, sizeof *s->code))
        return false;
    s->code[s->n_code++] = (sett__xop){.code = (uint8_t)code, .imm = imm};
    return true;
}

static bool visit_id(walk *w, uint32_t id);

static bool visit_args(walk *w, const sett__op *op, int a, int c)
{
    uint32_t args = op->args;
    return visit_id(w, w->b->arg[args + a]) && visit_id(w, w->b->arg[args + c]);
}

/* Shifts and masks that folding made of divisions read as divisions again. */
static bool visit_power(walk *w, const sett__op *op)
{
    sett_build *b = w->b;
    uint32_t id = b->arg[op->args];
    sett__known x = sett__know(b, id), c = sett__know(b, b->arg[op->args + 1]);
    if (c.lo != c.hi || (x.lo < 0 && !op->n_attrs))
        return false;
    if (op->code == SETT__SHR && c.lo >= 0 && c.lo < 62)
        return visit_id(w, id) && emit_code(w, SETT__X_CONST, INT64_C(1) << c.lo) && emit_code(w, SETT__X_DIV, 0);
    if (op->code == SETT__AND && c.lo > 0 && !(c.lo & (c.lo + 1)))
        return visit_id(w, id) && emit_code(w, SETT__X_CONST, c.lo + 1) && emit_code(w, SETT__X_REM, 0);
    return false;
}

/* Only < exists: a <= b is !(b < a), and a == b is neither a < b nor b < a. */
static bool visit_compare(walk *w, const sett__op *op)
{
    bool mirrored = op->code == SETT__GT || op->code == SETT__LE, is_not = op->code == SETT__LE || op->code == SETT__GE;
    bool equal = op->code == SETT__EQ || op->code == SETT__NE;
    int64_t yes = op->code == SETT__EQ;
    sett__op copy = *op;
    if (!visit_args(w, &copy, mirrored, !mirrored) || !emit_code(w, SETT__X_LT, 0))
        return false;
    if (is_not)
        return emit_code(w, SETT__X_CONST, 0) && emit_code(w, SETT__X_CONST, 1) && emit_code(w, SETT__X_SELECT, 0);
    if (!equal)
        return true;
    return emit_code(w, SETT__X_CONST, !yes) && visit_args(w, &copy, 1, 0) && emit_code(w, SETT__X_LT, 0) &&
           emit_code(w, SETT__X_CONST, !yes) && emit_code(w, SETT__X_CONST, yes) && emit_code(w, SETT__X_SELECT, 0) &&
           emit_code(w, SETT__X_SELECT, 0);
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
        return visit_id(w, x[0]) && emit_code(w, SETT__X_CONST, k[0] - 1) && emit_code(w, SETT__X_ADD, 0) &&
               emit_code(w, SETT__X_CONST, k[0]) && emit_code(w, SETT__X_DIV, 0);
    return visit_id(w, x[0]) && visit_id(w, y[0]) && emit_code(w, SETT__X_CONST, 1) && emit_code(w, SETT__X_SUB, 0) &&
           emit_code(w, SETT__X_ADD, 0) && visit_id(w, y[0]) && emit_code(w, SETT__X_DIV, 0);
}

static const uint8_t xcode_of[SETT__N_CODES] = {
    [SETT__ADD] = SETT__X_ADD, [SETT__SUB] = SETT__X_SUB, [SETT__MUL] = SETT__X_MUL, [SETT__DIV] = SETT__X_DIV,
    [SETT__REM] = SETT__X_REM, [SETT__MIN] = SETT__X_MIN, [SETT__MAX] = SETT__X_MAX, [SETT__SHL] = SETT__X_SHL,
    [SETT__SHR] = SETT__X_SHR, [SETT__AND] = SETT__X_AND,
};

static bool refuse_op(walk *w, uint32_t id)
{
    w->culprit = id;
    return false;
}

/* Or the value of one that the launch computes, which no expression names. */
static bool emit_symbol(walk *w, const sett__expr *value, int64_t imm)
{
    sett__expr e = *value;
    if (!e.count)
        return emit_code(w, SETT__X_SYM, imm);
    for (uint32_t i = 0; i < e.count; i++) {
        const sett__xop x = w->b->sig.code[e.first + i];
        if (!emit_code(w, (sett__xcode)x.code, x.imm))
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
        return refuse_op(w, id);
    switch (sett__ops[op.code].cls) {
    case SETT__C_CONST:
        return emit_code(w, SETT__X_CONST, sett__int_of_bits((sett_dtype)op.dtype, (uint64_t)op.imm));
    case SETT__C_SYM:
        return emit_symbol(w, &b->sig.sym[op.imm].value, op.imm);
    case SETT__C_SCALAR:
        return boolean || op.code == SETT__ADDR ? refuse_op(w, id) : emit_code(w, SETT__X_SCALAR, op.imm);
    case SETT__C_BINARY:
        if ((op.code == SETT__SHR || op.code == SETT__AND) && visit_power(w, &op))
            return true;
        if (visit_ceil(w, &op))
            return true;
        if (!xcode_of[op.code])
            return refuse_op(w, id);
        return visit_args(w, &op, 0, 1) && emit_code(w, (sett__xcode)xcode_of[op.code], 0);
    case SETT__C_COMPARE:
        return visit_compare(w, &op);
    case SETT__C_SELECT:
        return visit_id(w, b->arg[op.args]) && visit_args(w, &op, 1, 2) && emit_code(w, SETT__X_SELECT, 0);
    case SETT__C_CONVERT: { /* host arithmetic has 64 bits: what widens is there already */
        uint32_t from = b->arg[op.args];
        int to_bits = sett_dtype_bits((sett_dtype)op.dtype), bits = sett_dtype_bits((sett_dtype)b->op[from].dtype);
        return op.code == SETT__CONVERT && to_bits >= bits ? visit_id(w, from) : refuse_op(w, id);
    }
    default:
        return refuse_op(w, id);
    }
}

static bool visit_id(walk *w, uint32_t id)
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
        ok = emit_code(w, SETT__X_CONST, leaf.u.i);
    else if (leaf.kind == SETT_VALUE && leaf.u.v->scalar && leaf.u.v->id != SETT__NONE)
        ok = visit_id(w, leaf.u.v->id);
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

static int find_sym(const sett_build *b, const char *name)
{
    for (uint32_t i = 0; i < b->sig.n_sym; i++)
        if (!strcmp(b->sig.sym[i].name, name))
            return (int)i;
    return -1;
}

const char *sett__keep_name(sett_build *b, const char *name)
{
    uint32_t i = sett__intern(b, name); /* may move the array */
    return b->error.status ? "" : b->string[i];
}

bool sett__name_taken(const sett_build *b, const char *name)
{
    bool taken = find_sym(b, name) >= 0;
    for (uint32_t i = 0; i < b->sig.n_param && !taken; i++)
        taken = !strcmp(b->sig.param[i].name, name);
    for (uint32_t i = 0; i < b->sig.n_map && !taken; i++)
        taken = !strcmp(b->sig.map[i].name, name);
    return taken;
}

bool sett__new_name(const sett__ctx *c, const char *name)
{
    sett_build *b = c->b;
    SETT__FAIL_IF(b, c->site, c->func, !sett__is_name(name, 255), false, SETT_E_ARGUMENT,
        "a name is 1 to 255 letters, digits and _, not starting with a digit: \"%.260s\"", name ? name : "(null)");
    SETT__FAIL_IF(b, c->site, c->func, sett__name_taken(b, name), false, SETT_E_ARGUMENT, "the name %s is taken", name);
    return true;
}

/* n of them there are already, parameters or symbols. */
bool sett__has_room(const sett__ctx *c, uint32_t n)
{
    SETT__FAIL_IF(c->b, c->site, c->func, n >= SETT__MAX_PARAMS, false, SETT_E_LIMIT,
        "a kernel has at most %d parameters, and as many symbols", SETT__MAX_PARAMS);
    return true;
}

bool sett__recording(const sett__ctx *c)
{
    return c->b && !c->b->error.status && !c->b->ended;
}

static sett_val *add_sym(const sett__ctx *c, const sett__symbol *sym)
{
    sett_build *b = c->b;
    uint32_t i = b->sig.n_sym;
    if (!sett__has_room(c, i) || !sett__grow_in(b, (void **)&b->sig.sym, &b->cap_sym, i + 1, sizeof *b->sig.sym) ||
        !sett__grow_in(b, (void **)&b->sym_val, &b->cap_sym_val, i + 1, sizeof *b->sym_val))
        return &b->poison->val;
    const char *name = sett__keep_name(b, sym->name);
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
    if (!sett__new_name(c, a->name))
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

/* A symbol that was declared before. What was recorded of it stays right where it is known to be a multiple of more. */
static sett_val *same_sym(const sett__ctx *c, uint32_t i, const sett_sym_args *a)
{
    sett_build *b = c->b;
    sett__symbol *s = &b->sig.sym[i];
    sett_val *v = b->sym_val[i];
    const uint32_t line = b->op[v->id].site;
    const sett__site_ref *at = line == SETT__NONE ? NULL : &b->site[line];
    int64_t both = s->div;
    SETT__FAIL_IF(b, c->site, c->func, a->wide && !s->wide, v, SETT_E_ARGUMENT, "%s is needed with .wide = true, which its first declaration lacks, at %s:%u", s->name,
        at ? b->string[at->file] : "?", at ? at->line : 0);
    SETT__FAIL_IF(b, c->site, c->func, a->div && __builtin_mul_overflow(s->div / sett__gcd(s->div, a->div), a->div, &both), v, SETT_E_RANGE,
        "%s is a multiple of %lld and of %lld: no number of 64 bits is", s->name, (long long)s->div, (long long)a->div);
    s->div = both;
    v->div = v->lo == v->hi ? v->div : both;
    return sett__scalar_val(b, v->id);
}

sett_val *sett_sym_at(sett_site site, sett_build *b, const sett_sym_args *args)
{
    b = sett__given(b, site, "sett_sym");
    sett__ctx c = {b, site, "sett_sym"};
    if (!sett__recording(&c))
        return b ? &b->poison->val : NULL;
    sett_sym_args a;
    if (!sett__take_args(&c, &a, sizeof a, args))
        return &b->poison->val;
    SETT__FAIL_IF(b, site, c.func, a.div < 0, &b->poison->val, SETT_E_ARGUMENT, "%s: .div is %lld, it must be positive",
        a.name ? a.name : "(null)", (long long)a.div);
    int old = a.name ? find_sym(b, a.name) : -1;
    return old < 0 ? new_sym(&c, &a) : same_sym(&c, (uint32_t)old, &a);
}
