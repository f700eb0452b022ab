/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold of a tape before anything runs or compiles it. Engines rely on it: they
 * index by what is checked here and never look back. */
#include "verify.h"
#include <string.h>

bool sett__refuse(sett__verifier *c, sett_status status, const char *format, ...)
{
    char site[160], what[200], title[200];
    const bool known = c->op->site < c->t->n_site || c->t->line; /* else the title has all that is known */
    sett__op_where(c->t, c->i, site, sizeof site);
    const char *call = sett__is_recorded(c) ? sett__op_call(c->t, c->i) : NULL;
    if (call)
        snprintf(title, sizeof title, "%s", call);
    else
        sett__op_title(c->t, c->i, title, sizeof title);
    va_list ap;
    va_start(ap, format);
    vsnprintf(what, sizeof what, format, ap);
    va_end(ap);
    c->status = sett__error(c->err, status, "%s%s%s: %s", known ? site : "", known ? ": " : "", title, what);
    return false;
}

/* ---- operands ------------------------------------------------------------------ */
/* A value lives in the region where it was made and in those inside it. All between the opener of an
 * open region and here that has the region's depth is of that region; so its position decides. */
static bool visible(const sett__verifier *c, uint32_t id)
{
    const sett__op *v = &c->t->op[id];
    int d = v->depth;
    if (v->code == SETT__FOR) /* the variable belongs to the body */
        return d < c->depth && c->open[d] == id;
    return d <= c->depth && (d == 0 || c->open[d - 1] < id);
}

const sett__op *sett__any_arg(sett__verifier *c, uint32_t k)
{
    uint32_t id = sett__verified_arg(c, k);
    if (id == SETT__NONE)
        return sett__refuse(c, SETT_E_VERIFY, "operand %u is missing", k), NULL;
    if (id >= c->i || !c->t->op[id].dtype)
        return sett__refuse(c, SETT_E_VERIFY, "operand %u is not the result of an earlier op", k), NULL;
    if (!visible(c, id))
        return sett__refuse(c, SETT_E_REGION, "operand %u, %%%u, was made in a region that has ended", k, id), NULL;
    return &c->t->op[id];
}

/* Operand k, which may not be memory. NULL: it is refused. */
static const sett__op *value_arg(sett__verifier *c, uint32_t k)
{
    const sett__op *v = sett__any_arg(c, k);
    if (v && sett__ops[v->code].cls == SETT__C_ROOT)
        return sett__refuse(c, SETT_E_VERIFY, "operand %u is memory: only load, store and atom take it", k), NULL;
    return v;
}

/* A value of a type with n elements, or one; n 0: any. */
static bool typed_arg(sett__verifier *c, uint32_t k, int dtype, uint32_t n)
{
    const sett__op *v = value_arg(c, k);
    if (!v)
        return false;
    if (v->dtype != dtype)
        return sett__refuse(c, SETT_E_DTYPE, "operand %u is %s, not %s", k, sett_dtype_name((sett_dtype)v->dtype),
            sett_dtype_name((sett_dtype)dtype));
    if (n && v->n != 1 && v->n != n)
        return sett__refuse(c, SETT_E_SHAPE, "operand %u has %u elements, not %u", k, v->n, n);
    return true;
}

static bool scalar(sett__verifier *c, uint32_t k, int dtype)
{
    return typed_arg(c, k, dtype, 1);
}

static bool takes(sett__code code, int dtype)
{
    const char *types = sett__ops[code].types;
    char cls = sett__dtype_class((sett_dtype)dtype);
    if (*types == '*')
        return true;
    while (*types && *types != cls)
        types++;
    return *types == cls;
}

static bool refuse_type(sett__verifier *c, sett__code code, int dtype)
{
    char types[SETT__TYPES_TEXT];
    return sett__refuse(c, SETT_E_DTYPE, "%s takes %s, not %s", sett__ops[code].text, sett__types_text(sett__ops[code].types, types),
        sett_dtype_name((sett_dtype)dtype));
}

static bool takes_type(sett__verifier *c, int dtype)
{
    if (takes((sett__code)c->op->code, dtype))
        return true;
    return refuse_type(c, (sett__code)c->op->code, dtype);
}

bool sett__result_is(sett__verifier *c, int dtype, uint32_t n)
{
    if (c->op->dtype == dtype && c->op->n == n)
        return true;
    if (n < 2) /* as the text has it: a root of any number of elements has none */
        return sett__refuse(c, SETT_E_VERIFY, "the result must be %s", sett_dtype_name((sett_dtype)dtype));
    return sett__refuse(c, SETT_E_VERIFY, "the result must be %sx%u", sett_dtype_name((sett_dtype)dtype), n);
}

/* ---- one function a class ------------------------------------------------------------ */
static bool check_const(sett__verifier *c)
{
    int width = sett_dtype_bits((sett_dtype)c->op->dtype);
    if (!takes_type(c, c->op->dtype))
        return false;
    if (width < 64 && (uint64_t)c->op->imm >> width)
        return sett__refuse(c, SETT_E_VERIFY, "the bits do not fit the type");
    return sett__result_is(c, c->op->dtype, 1);
}

static bool check_sreg(sett__verifier *c)
{
    if (c->op->sub > (c->op->code == SETT__LANE ? 0 : 2))
        return sett__refuse(c, SETT_E_VERIFY, "there is no dimension %u", c->op->sub);
    return sett__result_is(c, SETT_I32, 1);
}

static bool check_sym(sett__verifier *c)
{
    if (c->op->imm < 0 || c->op->imm >= c->t->sig.n_sym)
        return sett__refuse(c, SETT_E_VERIFY, "there is no such symbol");
    return sett__result_is(c, c->t->sig.sym[c->op->imm].wide ? SETT_I64 : SETT_I32, 1);
}

static const sett__param *param_of(const sett__verifier *c, const sett__op *op)
{
    return op->imm >= 0 && op->imm < c->t->sig.n_param ? &c->t->sig.param[op->imm] : NULL;
}

static bool check_scalar(sett__verifier *c)
{
    const sett__param *p = param_of(c, c->op);
    bool address = c->op->code == SETT__ADDR;
    if (!p || p->scalar != (address ? 0 : SETT__BY_NUMBER))
        return sett__refuse(c, SETT_E_VERIFY, "there is no such %s parameter", address ? "tensor" : "scalar");
    return sett__result_is(c, address ? SETT_U64 : (sett_dtype)p->dtype, 1);
}

static bool check_peer(sett__verifier *c)
{
    const sett__op *root = sett__any_arg(c, 0);
    char what[80];
    const int most = sett__most_blocks(&c->t->sig) - 1;
    snprintf(what, sizeof what, "a rank in the cluster is 0 to %d", most);
    if (!root || !sett__bounded_arg(c, 1, 0, most, 1, what))
        return false;
    if (root->code != SETT__SMEM)
        return sett__refuse(c, SETT_E_SPACE, "operand 0 is not shared memory");
    return sett__result_is(c, root->dtype, root->n);
}

static bool check_root(sett__verifier *c)
{
    const sett__op *op = c->op;
    uint32_t args = op->code == SETT__PEER ? 2 : op->code == SETT__GMEM;
    if (op->n_args != args || (op->imm && args))
        return sett__refuse(c, SETT_E_VERIFY, "it takes %u operands, not %u", args, op->n_args);
    if (args)
        return op->code == SETT__PEER ? check_peer(c) : scalar(c, 0, SETT_U64);
    if (op->code == SETT__PARAM) {
        const sett__param *p = param_of(c, op);
        if (!p || p->scalar == SETT__BY_NUMBER)
            return sett__refuse(c, SETT_E_VERIFY, "there is no such tensor parameter");
        return sett__result_is(c, p->dtype, 0);
    }
    if (op->code == SETT__TMAP) {
        const sett__map *m = op->imm >= 0 && op->imm < c->t->sig.n_map ? &c->t->sig.map[op->imm] : NULL;
        return m ? sett__result_is(c, m->dtype, 0) : sett__refuse(c, SETT_E_VERIFY, "there is no such map");
    }
    if (op->code == SETT__SMEM && !op->n && !op->imm && c->t->sig.smem_more.count)
        return !op->n_attrs || sett__refuse(c, SETT_E_VERIFY, "mbarriers need a size");
    if (!op->n)
        return sett__refuse(c, SETT_E_VERIFY, "it has no elements");
    if (op->code == SETT__RMEM)
        return (!op->imm && op->n <= SETT__MAX_WIDTH) ||
               sett__refuse(c, SETT_E_LIMIT, "%u elements: registers hold at most %d", op->n, SETT__MAX_WIDTH);
    if (sett__verified_attr(c, SETT__AT_SMEM_MBARRIER) && (op->dtype != SETT_U64 || op->imm % 8 || c->t->sig.smem_align < 8))
        return sett__refuse(c, SETT_E_ALIGN, "mbarriers are u64 at multiples of 8, in shared memory that is aligned to 8");
    uint64_t bytes = sett__bytes_of(op->dtype, op->n);
    if (op->imm < 0 || op->imm > c->t->sig.smem || bytes > c->t->sig.smem - (uint64_t)op->imm)
        return sett__refuse(c, SETT_E_VERIFY, "it leaves the block's %u bytes of shared memory", c->t->sig.smem);
    if (sett__verified_attr(c, SETT__AT_SMEM_MBARRIER)) {
        if (c->n_mbar == SETT__MAX_MBARRIERS)
            return sett__refuse(c, SETT_E_LIMIT, "a kernel has at most %d roots of mbarriers", SETT__MAX_MBARRIERS);
        c->mbar[c->n_mbar++] = c->i;
    }
    return true;
}

/* Every operand of the result's type; one element stands for all. Integers alone have the attribute. */
static bool check_elementwise(sett__verifier *c)
{
    if (c->op->n_attrs && sett__dtype_is_float((sett_dtype)c->op->dtype))
        return sett__refuse(c, SETT_E_VERIFY, "it has an attribute that it does not take");
    for (uint32_t k = 0; k < c->op->n_args; k++)
        if (!typed_arg(c, k, c->op->dtype, c->op->n))
            return false;
    return takes_type(c, c->op->dtype);
}

static bool check_compare(sett__verifier *c)
{
    const sett__op *x = value_arg(c, 0);
    if (!x || !typed_arg(c, 0, x->dtype, c->op->n) || !typed_arg(c, 1, x->dtype, c->op->n))
        return false;
    return takes_type(c, x->dtype) && sett__result_is(c, SETT_BOOL, c->op->n);
}

static bool check_select(sett__verifier *c)
{
    return typed_arg(c, 0, SETT_BOOL, c->op->n) && typed_arg(c, 1, c->op->dtype, c->op->n) &&
           typed_arg(c, 2, c->op->dtype, c->op->n) && takes_type(c, c->op->dtype);
}

static bool check_convert(sett__verifier *c)
{
    const sett__op *x = value_arg(c, 0), *op = c->op;
    if (!x || !takes_type(c, x->dtype) || !takes_type(c, op->dtype))
        return false;
    if (op->code == SETT__CONVERT && !sett__dtype_converts((sett_dtype)x->dtype, (sett_dtype)op->dtype))
        return sett__refuse(c, SETT_E_DTYPE, "there is no step from %s to %s", sett_dtype_name((sett_dtype)x->dtype),
            sett_dtype_name((sett_dtype)op->dtype));
    if (op->code == SETT__CONVERT)
        return x->n == op->n || sett__refuse(c, SETT_E_SHAPE, "operand 0 has %u elements, not %u", x->n, op->n);
    uint64_t from = 8 * (uint64_t)x->n * (uint64_t)sett__dtype_bytes((sett_dtype)x->dtype);
    uint64_t to = 8 * (uint64_t)op->n * (uint64_t)sett__dtype_bytes((sett_dtype)op->dtype);
    return from == to ||
           sett__refuse(c, SETT_E_SHAPE, "%llu bits become %llu", (unsigned long long)from, (unsigned long long)to);
}

static bool check_pick(sett__verifier *c)
{
    const sett__op *x = value_arg(c, 0), *op = c->op;
    if (!x || !typed_arg(c, 0, op->dtype, 0) || !takes_type(c, op->dtype))
        return false;
    if (op->imm < 0 || op->n > c->t->n_index || op->imm > c->t->n_index - op->n)
        return sett__refuse(c, SETT_E_VERIFY, "its indices are not there");
    const uint32_t *index = op->n ? c->t->index + op->imm : NULL;
    for (uint32_t k = 0; k < op->n; k++)
        if (index[k] >= x->n)
            return sett__refuse(c, SETT_E_VERIFY, "index %u of %u elements", index[k], x->n);
    return true;
}

static bool check_pack(sett__verifier *c)
{
    uint64_t n = 0;
    for (uint32_t k = 0; k < c->op->n_args; k++) {
        if (!typed_arg(c, k, c->op->dtype, 0))
            return false;
        n += c->t->op[sett__verified_arg(c, k)].n;
    }
    if (n != c->op->n)
        return sett__refuse(c, SETT_E_SHAPE, "the operands have %llu elements, not %u", (unsigned long long)n, c->op->n);
    return takes_type(c, c->op->dtype);
}

static bool folds(int sub)
{
    return (sub >= SETT__ADD && sub <= SETT__XOR) && sub != SETT__SUB && sub != SETT__DIV && sub != SETT__REM;
}

static bool check_reduce(sett__verifier *c)
{
    int sub = c->op->sub;
    if (!folds(sub))
        return sett__refuse(c, SETT_E_VERIFY, "it folds by an op that it does not know");
    if (!takes((sett__code)sub, c->op->dtype))
        return refuse_type(c, (sett__code)sub, c->op->dtype);
    return typed_arg(c, 0, c->op->dtype, 0) && scalar(c, 1, c->op->dtype) && takes_type(c, c->op->dtype) &&
           sett__result_is(c, c->op->dtype, 1);
}

/* ---- memory ------------------------------------------------------------------------- */
enum { FAR_OFFSET = 48 }; /* bits of a static offset */

uint64_t sett__root_align(const sett__verifier *c, const sett__op *root)
{
    const sett__sig *s = &c->t->sig;
    if (root->code == SETT__PARAM)
        return s->param[root->imm].align;
    if (root->code == SETT__RMEM)
        return UINT64_C(1) << 63;
    if (root->code == SETT__GMEM)
        return (uint64_t)sett__attr(c->t->arg, root, SETT__AT_GMEM_ALIGN);
    if (root->code == SETT__PEER)
        return sett__root_align(c, &c->t->op[c->t->arg[root->args]]);
    uint64_t at = root->n ? (uint64_t)root->imm : s->smem, low = at & (0 - at);
    return low && low < s->smem_align ? low : s->smem_align;
}

bool sett__check_align(sett__verifier *c, const sett__verified_place *at)
{
    uint64_t claim = at->align, have = sett__root_align(c, at->root);
    if (claim > SETT__MAX_ALIGN)
        return sett__refuse(c, SETT_E_ALIGN, "an alignment is at most %d bytes", SETT__MAX_ALIGN);
    if (claim > have)
        return sett__refuse(c, SETT_E_ALIGN, "%%%u is aligned to %llu bytes, and the access needs %llu", sett__verified_arg(c, at->k),
            (unsigned long long)have, (unsigned long long)claim);
    if (sett__verified_arg(c, at->k + 1) == SETT__NONE && (uint64_t)at->imm * at->element % claim)
        return sett__refuse(c, SETT_E_ALIGN, "offset %lld is not aligned to %llu bytes", (long long)at->imm, (unsigned long long)claim);
    return true;
}

bool sett__check_offset(sett__verifier *c, const sett__verified_place *at, uint32_t n)
{
    int64_t imm = at->imm;
    const sett__op *root = at->root;
    if (imm >> FAR_OFFSET != 0 && imm >> FAR_OFFSET != -1)
        return sett__refuse(c, SETT_E_RANGE, "the offset is too large");
    if (sett__verified_arg(c, at->k + 1) == SETT__NONE) {
        uint32_t by_value = root->code == SETT__PARAM ? c->t->sig.param[root->imm].bytes : 0;
        uint64_t room = by_value ? by_value : root->n ? sett__bytes_of(root->dtype, root->n) : UINT64_MAX;
        bool inside = ((uint64_t)imm + n) * at->element <= room;
        return (imm >= 0 && inside) || sett__refuse(c, SETT_E_RANGE, "elements %lld to %lld are not in %%%u", (long long)imm,
                                           (long long)imm + (n - INT64_C(1)), sett__verified_arg(c, at->k));
    }
    const sett__op *base = value_arg(c, at->k + 1);
    if (!base)
        return false;
    if (base->n != 1 || (base->dtype != SETT_I32 && base->dtype != SETT_I64))
        return sett__refuse(c, SETT_E_DTYPE, "the offset must be one i32 or i64");
    return true;
}

static bool check_param_access(sett__verifier *c, const sett__op *root)
{
    bool reads = c->op->code == SETT__LOAD || c->op->code == SETT__CPASYNC, both = c->op->code == SETT__ATOM;
    return sett__may_access(c, root, both ? SETT__ACCESS_READ | SETT__ACCESS_WRITE : reads ? SETT__ACCESS_READ : SETT__ACCESS_WRITE);
}

/* n elements of a type at the place that operands 0 and 1 and imm name, under operand 2. */
static bool check_place(sett__verifier *c, sett__verified_place *at, int dtype, uint32_t n)
{
    int bits = sett_dtype_bits((sett_dtype)dtype);
    const sett__op *root = sett__any_arg(c, 0);
    if (!root)
        return false;
    if (sett__ops[root->code].cls != SETT__C_ROOT)
        return sett__refuse(c, SETT_E_SPACE, "operand 0 is not memory");
    if (root->code == SETT__TMAP)
        return sett__refuse(c, SETT_E_SPACE, "operand 0 is a tensor map: copies alone take it");
    if (sett__root_kind(c, root) & (SETT__F_MBAR | SETT__F_PEER_MBAR))
        return sett__refuse(c, SETT_E_SPACE, "operand 0 is mbarriers, which only mbarrier operations touch");
    if (dtype != SETT_BOOL && bits != 8 && bits != 16 && bits != 32 && bits != 64 && bits != 128)
        return sett__refuse(c, SETT_E_DTYPE, "memory is not accessed as %s", sett_dtype_name((sett_dtype)dtype));
    *at = (sett__verified_place){root, 0, c->op->imm, (uint64_t)sett__dtype_bytes((sett_dtype)dtype), c->op->sub < 64 ? UINT64_C(1) << c->op->sub : UINT64_MAX};
    return (sett__verified_arg(c, 2) == SETT__NONE || scalar(c, 2, SETT_BOOL)) && sett__check_offset(c, at, n) && check_param_access(c, root);
}

/* Of a load or a store. */
static bool check_cache(sett__verifier *c, const sett__verified_place *at)
{
    int cache = sett__verified_attr(c, SETT__AT_ACCESS_CACHE);
    bool load = c->op->code == SETT__LOAD;
    if (cache == (load ? SETT_CACHE_WRITE_THROUGH : SETT_CACHE_LAST_USE) ||
        (!load && (cache == SETT_CACHE_NONE || cache >= SETT_CACHE_L2_64B)))
        return sett__refuse(c, SETT_E_VERIFY, "there is no such cache mode");
    if (cache && !(sett__root_kind(c, at->root) & SETT__F_GMEM))
        return sett__refuse(c, SETT_E_SPACE, "a cache mode is for global memory");
    return !cache || !sett__verified_attr(c, SETT__AT_ACCESS_VOLATILE) || sett__refuse(c, SETT_E_VERIFY, "a volatile access has no cache mode");
}

static bool check_load(sett__verifier *c)
{
    const sett__op *op = c->op;
    sett__verified_place at;
    if (!check_place(c, &at, op->dtype, op->n) || !sett__check_align(c, &at) || !check_cache(c, &at))
        return false;
    if (sett__verified_arg(c, 3) == SETT__NONE)
        return true;
    if (sett__verified_arg(c, 2) == SETT__NONE)
        return sett__refuse(c, SETT_E_VERIFY, "a fill needs a predicate");
    return typed_arg(c, 3, op->dtype, op->n);
}

static bool check_store(sett__verifier *c)
{
    const sett__op *x = value_arg(c, 3);
    sett__verified_place at;
    return x && check_place(c, &at, x->dtype, x->n) && sett__check_align(c, &at) && check_cache(c, &at);
}

static bool check_atom(sett__verifier *c)
{
    const sett__op *op = c->op;
    sett__verified_place at;
    bool cas = op->sub == SETT__CAS, exchange = cas || op->sub == SETT__XCHG;
    if (op->n_args != (cas ? 5 : 4))
        return sett__refuse(c, SETT_E_VERIFY, "it takes %d operands, not %u", cas ? 5 : 4, op->n_args);
    if (!exchange && (!folds(op->sub) || op->sub == SETT__MUL))
        return sett__refuse(c, SETT_E_VERIFY, "there is no such atomic");
    if (!takes_type(c, op->dtype) || !sett__result_is(c, op->dtype, op->n) || !typed_arg(c, 3, op->dtype, op->n))
        return false;
    if ((!exchange && sett__dtype_is_wide((sett_dtype)op->dtype)) || (!exchange && !takes((sett__code)op->sub, op->dtype)))
        return sett__refuse(c, SETT_E_DTYPE, "there is no such atomic of %s", sett_dtype_name((sett_dtype)op->dtype));
    if (op->n & (op->n - 1) || (op->n > 1 && sett__bytes_of(op->dtype, op->n) > SETT__ATOM_WIDEST))
        return sett__refuse(c, SETT_E_VERIFY, "%u elements: an atomic has one, or 2, 4, 8 or 16 in up to %d bytes", op->n, SETT__ATOM_WIDEST);
    if (!check_place(c, &at, op->dtype, op->n) || (cas && !typed_arg(c, 4, op->dtype, op->n)))
        return false;
    at.align = op->n > 1 ? sett__bytes_of(op->dtype, op->n) : 1; /* sub names the op */
    return sett__check_align(c, &at) && (at.root->code != SETT__RMEM || sett__refuse(c, SETT_E_SPACE, "registers have no atomics"));
}

/* One of the two ends of a copy: operands k and k + 1. */
static bool check_end(sett__verifier *c, uint32_t k, uint32_t space, int64_t imm)
{
    uint64_t element = (uint64_t)sett__verified_attr(c, SETT__AT_CPASYNC_OF), bytes = (uint64_t)sett__verified_attr(c, SETT__AT_CPASYNC_BYTES);
    sett__verified_place at = {sett__any_arg(c, k), k, imm, element, bytes};
    if (!at.root)
        return false;
    if (!(sett__root_kind(c, at.root) & space))
        return sett__refuse(c, SETT_E_SPACE, "it copies global memory to shared memory");
    return sett__check_offset(c, &at, (uint32_t)(bytes / element)) && sett__check_align(c, &at) && check_param_access(c, at.root);
}

static bool check_cp_async(sett__verifier *c)
{
    int32_t bytes = sett__verified_attr(c, SETT__AT_CPASYNC_BYTES);
    if (sett__verified_attr(c, SETT__AT_CPASYNC_OF) > bytes || (sett__verified_attr(c, SETT__AT_CPASYNC_CG) && bytes != 16))
        return sett__refuse(c, SETT_E_VERIFY, "there is no such copy");
    return check_end(c, 0, SETT__F_SMEM, sett__verified_attr(c, SETT__AT_CPASYNC_TO)) && check_end(c, 3, SETT__F_GMEM, c->op->imm) &&
           (sett__verified_arg(c, 2) == SETT__NONE || scalar(c, 2, SETT_BOOL)) && (sett__verified_arg(c, 5) == SETT__NONE || scalar(c, 5, SETT_BOOL));
}

/* ---- threads, regions, talk ------------------------------------------------------------ */
bool sett__bounded_arg(sett__verifier *c, uint32_t k, int64_t lo, int64_t hi, int64_t step, const char *what)
{
    if (!scalar(c, k, SETT_I32))
        return false;
    const sett__op *x = &c->t->op[sett__verified_arg(c, k)];
    int64_t v = sett__int_of_bits(SETT_I32, (uint64_t)x->imm);
    return x->code != SETT__CONST || (v >= lo && v <= hi && v % step == 0) || sett__refuse(c, SETT_E_RANGE, "%s", what);
}

static bool check_barrier(sett__verifier *c)
{
    const sett__op *op = c->op;
    bool named = op->code == SETT__BARSYNC || op->code == SETT__BARARRIVE;
    if (op->n_args != (named ? 2 : 0))
        return sett__refuse(c, SETT_E_VERIFY, "it takes %d operands, not %u", named ? 2 : 0, op->n_args);
    return !named || (sett__bounded_arg(c, 0, 1, 15, 1, "a named barrier is 1 to 15") &&
                         sett__bounded_arg(c, 1, 32, 1024, 32, "a barrier is for a multiple of 32 threads, up to 1024"));
}

static bool check_warp(sett__verifier *c)
{
    const sett__op *op = c->op, *x;
    bool none = op->code == SETT__ELECT || op->code == SETT__SPECIAL;
    if (op->n_args != !none)
        return sett__refuse(c, SETT_E_VERIFY, "it takes %d operands, not %u", !none, op->n_args);
    if (op->code == SETT__SPECIAL)
        return op->sub < SETT__N_SREGS ? sett__result_is(c, sett__sreg_type(op->sub), 1) : sett__refuse(c, SETT_E_VERIFY, "there is no such register");
    if (op->code == SETT__ELECT)
        return op->sub ? sett__refuse(c, SETT_E_VERIFY, "it has an attribute that it does not take") : sett__result_is(c, SETT_BOOL, 1);
    if (!(x = value_arg(c, 0)) || !takes_type(c, x->dtype) || !scalar(c, 0, x->dtype))
        return false;
    int bits = sett_dtype_bits((sett_dtype)x->dtype);
    if (op->code == SETT__VOTE)
        return op->sub > SETT__VOTE_BALLOT ? sett__refuse(c, SETT_E_VERIFY, "there is no such vote")
                                           : sett__result_is(c, op->sub == SETT__VOTE_BALLOT ? SETT_U32 : SETT_BOOL, 1);
    if (op->code == SETT__MATCH)
        return op->sub > SETT__VOTE_ANY       ? sett__refuse(c, SETT_E_VERIFY, "there is no such match")
               : bits != 32 && bits != 64 ? sett__refuse(c, SETT_E_DTYPE, "lanes are compared by 32 or 64 bits")
                                          : sett__result_is(c, SETT_U32, 1);
    if (!folds(op->sub) || op->sub == SETT__MUL)
        return sett__refuse(c, SETT_E_VERIFY, "it folds by an op that it does not know");
    return bits == 32 ? sett__result_is(c, x->dtype, 1) : sett__refuse(c, SETT_E_DTYPE, "lanes are folded by 32 bits");
}

static bool check_shfl(sett__verifier *c)
{
    const sett__op *op = c->op;
    int bits = sett_dtype_bits((sett_dtype)op->dtype);
    if (op->sub > SETT__SHFL_BFLY)
        return sett__refuse(c, SETT_E_VERIFY, "there is no such shuffle");
    if (!takes_type(c, op->dtype))
        return false;
    if (bits != 16 && bits != 32)
        return sett__refuse(c, SETT_E_DTYPE, "lanes exchange elements of 16 or 32 bits");
    const sett__op *x = value_arg(c, 0), *lane = value_arg(c, 1);
    if (!x || !lane || !typed_arg(c, 0, op->dtype, 0))
        return false;
    if (x->n != op->n)
        return sett__refuse(c, SETT_E_SHAPE, "operand 0 has %u elements, not %u", x->n, op->n);
    return (lane->n == 1 && (lane->dtype == SETT_I32 || lane->dtype == SETT_U32)) ||
           sett__refuse(c, SETT_E_DTYPE, "the lane must be one i32");
}

static bool check_if(sett__verifier *c)
{
    return scalar(c, 0, SETT_BOOL);
}

static bool check_while(sett__verifier *c)
{
    int at = c->depth - 1;
    if (at < 0 || c->op->other != c->open[at] || c->t->op[c->open[at]].code != SETT__LOOP || c->tested >> at & 1)
        return sett__refuse(c, SETT_E_REGION, "it stands once in each loop, directly in it");
    c->tested |= UINT64_C(1) << at;
    return scalar(c, 0, SETT_BOOL);
}

static bool check_for(sett__verifier *c)
{
    int dtype = c->op->dtype;
    if (!takes_type(c, dtype) || !sett__result_is(c, dtype, 1))
        return false;
    if (sett_dtype_bits((sett_dtype)dtype) < 32)
        return sett__refuse(c, SETT_E_DTYPE, "a loop counts in 32 or 64 bits");
    if (!scalar(c, 0, dtype) || !scalar(c, 1, dtype) || !scalar(c, 2, dtype))
        return false;
    const sett__op *step = &c->t->op[sett__verified_arg(c, 2)];
    if (step->code == SETT__CONST &&
        (step->imm == 0 || (sett__dtype_kind((sett_dtype)dtype) == 'i' &&
                               sett__int_of_bits((sett_dtype)dtype, (uint64_t)step->imm) < 0)))
        return sett__refuse(c, SETT_E_RANGE, "the step must be positive");
    return true;
}

static bool check_conversion(sett__verifier *c, uint32_t k, char letter, int longs)
{
    const sett__op *x = value_arg(c, k);
    if (!x)
        return false;
    sett_dtype d = (sett_dtype)x->dtype;
    if (!takes_type(c, d))
        return false;
    if (x->n != 1)
        return sett__refuse(c, SETT_E_SHAPE, "operand %u has %u elements, not 1", k, x->n);
    bool real = strchr("fFeEgGaA", letter) != NULL, wide = !real && sett_dtype_bits(d) == 64;
    if (real != sett__dtype_is_float(d) || (!real && wide != (longs > 0)))
        return sett__refuse(c, SETT_E_DTYPE, "%%%s%c does not print %s", longs > 1 ? "ll" : longs ? "l" : "", letter,
            sett_dtype_name(d));
    return true;
}

static bool check_printf(sett__verifier *c)
{
    const sett__op *op = c->op;
    if (op->imm < 0 || op->imm >= c->t->n_string)
        return sett__refuse(c, SETT_E_VERIFY, "its text is not there");
    uint32_t first = op->code == SETT__ASSERT, n = first; /* the condition is not printed */
    if (op->n_args < first)
        return sett__refuse(c, SETT_E_VERIFY, "it has no condition");
    if (first && !scalar(c, 0, SETT_BOOL))
        return false;
    if (op->n_args > first + SETT__MAX_PRINT)
        return sett__refuse(c, SETT_E_LIMIT, "it prints at most %d operands", SETT__MAX_PRINT);
    const char *p = c->t->string[op->imm];
    int longs;
    for (char letter; (letter = sett__next_conversion(&p, &longs)); n++) {
        if (letter == '?')
            return sett__refuse(c, SETT_E_VERIFY, "conversion %u is none that a kernel can print", n - first);
        if (n < op->n_args && !check_conversion(c, n, letter, longs))
            return false;
    }
    return n == op->n_args || sett__refuse(c, SETT_E_VERIFY, "%u conversions for %u operands", n - first, op->n_args - first);
}

static bool check_inline(sett__verifier *c)
{
    const sett__op *op = c->op;
    char what[SETT__INLINE_WHAT];
    sett__inline x;
    if (op->imm < 0 || op->imm >= c->t->n_string)
        return sett__refuse(c, SETT_E_VERIFY, "its text is not there");
    if (!sett__inline_read(c->t->string[op->imm], op->n_args, &x, what))
        return sett__refuse(c, SETT_E_VERIFY, "%s", what);
    for (uint32_t k = 0; k < op->n_args; k++) {
        const sett__op *v = value_arg(c, k);
        if (!v || !scalar(c, k, v->dtype))
            return false;
        if (!sett__inline_takes(v->dtype))
            return sett__refuse(c, SETT_E_DTYPE, "no register of PTX holds %s", sett_dtype_name((sett_dtype)v->dtype));
    }
    if (op->code == SETT__PTX && (!x.n_result || sett__verified_attr(c, SETT__AT_INLINE_MEMORY)))
        return sett__refuse(c, SETT_E_VERIFY, "what has no result, or an effect on memory, is volatile");
    int isa = sett__verified_attr(c, SETT__AT_INLINE_ISA);
    if (!sett__ptx_isa_known(isa))
        return sett__refuse(c, SETT_E_VERIFY, "there is no PTX %d.%d", isa / 10, isa % 10);
    return x.n_result ? sett__result_is(c, x.n_result > 1 ? SETT_U64 : x.result[0], x.n_result)
                      : !op->dtype || sett__refuse(c, SETT_E_VERIFY, "it has no result");
}

/* ---- what all ops share ---------------------------------------------------------------- */
enum { SUB = 1, IMM = 2, RESULT = 4, ANY = -1 };
static const struct rule {
    int args; /* ANY: checked by the function */
    int uses;
    bool (*check)(sett__verifier *); /* NULL: nothing more */
} rules[] = {
    [SETT__C_CONST] = {0, IMM | RESULT, check_const},
    [SETT__C_SREG] = {0, SUB | RESULT, check_sreg},
    [SETT__C_SYM] = {0, IMM | RESULT, check_sym},
    [SETT__C_SCALAR] = {0, IMM | RESULT, check_scalar},
    [SETT__C_ROOT] = {ANY, IMM | RESULT, check_root},
    [SETT__C_BINARY] = {2, RESULT, check_elementwise},
    [SETT__C_COMPARE] = {2, RESULT, check_compare},
    [SETT__C_TERNARY] = {3, RESULT, check_elementwise},
    [SETT__C_SELECT] = {3, RESULT, check_select},
    [SETT__C_UNARY] = {1, RESULT, check_elementwise},
    [SETT__C_CONVERT] = {1, RESULT, check_convert},
    [SETT__C_PICK] = {1, IMM | RESULT, check_pick},
    [SETT__C_PACK] = {ANY, RESULT, check_pack},
    [SETT__C_REDUCE] = {2, SUB | RESULT, check_reduce},
    [SETT__C_LOAD] = {4, SUB | IMM | RESULT, check_load},
    [SETT__C_STORE] = {4, SUB | IMM, check_store},
    [SETT__C_ATOM] = {ANY, SUB | IMM | RESULT, check_atom},
    [SETT__C_BARRIER] = {ANY, 0, check_barrier},
    [SETT__C_CPASYNC] = {6, IMM, check_cp_async},
    [SETT__C_WARP] = {ANY, SUB | RESULT, check_warp},
    [SETT__C_SHFL] = {2, SUB | RESULT, check_shfl},
    [SETT__C_IF] = {1, 0, check_if},
    [SETT__C_ELSE] = {0, 0, NULL},
    [SETT__C_FOR] = {3, RESULT, check_for},
    [SETT__C_END] = {0, 0, NULL},
    [SETT__C_PRINTF] = {ANY, IMM, check_printf},
    [SETT__C_LOOP] = {0, 0, NULL},
    [SETT__C_WHILE] = {1, 0, check_while},
    [SETT__C_INLINE] = {ANY, IMM | RESULT, check_inline},
    [SETT__C_FORM] = {ANY, IMM | RESULT, sett__check_form},
};

/* Each within its bounds, and none at the end that could be left out. */
static bool check_attrs(sett__verifier *c)
{
    const sett__op *op = c->op;
    const sett__attr_info *a = SETT__ATTR_ROW(op->code, 0);
    uint32_t k = 0;
    for (; a->text; k++, a++) {
        int32_t x = k < op->n_attrs ? (int32_t)sett__verified_arg(c, op->n_args + k) : a->usual;
        bool power = a->kind == SETT__A_POWER, fits = x >= a->least && x <= a->most && !(power && x & (x - 1));
        if (fits)
            continue;
        if (x == a->usual)
            return sett__refuse(c, SETT_E_VERIFY, "it needs the attribute %s=", a->text);
        return sett__refuse(c, SETT_E_RANGE, "%s %d is not %s%d to %d", a->text, x, power ? "a power of two from " : "", a->least, a->most);
    }
    if (op->n_attrs > k || (op->n_attrs && (int32_t)sett__verified_arg(c, op->n_args + op->n_attrs - 1u) == SETT__ATTR_ROW(op->code, op->n_attrs - 1)->usual))
        return sett__refuse(c, SETT_E_VERIFY, "it has an attribute that it does not take");
    return true;
}

static bool check_result(sett__verifier *c, int uses)
{
    const sett__op *op = c->op;
    bool form = sett__ops[op->code].cls == SETT__C_FORM;
    if (!(uses & RESULT) || (op->code == SETT__PTXV && !op->dtype) || (form && !sett__form_result(op->code)))
        return (!op->dtype && !op->n) || sett__refuse(c, SETT_E_VERIFY, "it has no result");
    if (!sett__dtype_valid(op->dtype))
        return sett__refuse(c, SETT_E_VERIFY, "its result has no type");
    bool root = sett__ops[op->code].cls == SETT__C_ROOT;
    if (!root && (!op->n || op->n > SETT__MAX_WIDTH))
        return sett__refuse(c, SETT_E_LIMIT, "%u elements: a value has 1 to %d", op->n, SETT__MAX_WIDTH);
    return true;
}

/* Regions, as the engines will walk them; must agree with what sett__tape_link filled in. */
static bool check_region(sett__verifier *c)
{
    const sett__op *op = c->op;
    if (sett__closes(op->code)) {
        uint32_t opener = c->depth ? c->open[c->depth - 1] : SETT__NONE;
        if (opener == SETT__NONE || c->t->op[opener].other != c->i || (op->code == SETT__END && op->other != opener) ||
            (op->code == SETT__ELSE && c->t->op[opener].code != SETT__IF))
            return sett__refuse(c, SETT_E_REGION, "it closes no region of its kind");
        c->depth--;
        if (c->t->op[opener].code == SETT__LOOP && !(c->tested >> c->depth & 1))
            return sett__refuse(c, SETT_E_REGION, "its loop has no while");
    }
    if (op->depth != c->depth)
        return sett__refuse(c, SETT_E_REGION, "its region is not the one that is open");
    return true;
}

static bool open_region(sett__verifier *c)
{
    if (!sett__opens(c->op->code))
        return true;
    if (c->depth == SETT__MAX_DEPTH)
        return sett__refuse(c, SETT_E_LIMIT, "regions nest at most %d deep", SETT__MAX_DEPTH);
    c->tested &= ~(UINT64_C(1) << c->depth);
    c->open[c->depth++] = c->i;
    return true;
}

static bool check_op(sett__verifier *c)
{
    const sett__op *op = c->op;
    if (op->code >= SETT__N_CODES)
        return sett__refuse(c, SETT_E_VERIFY, "there is no such op");
    const sett__op_info *info = &sett__ops[op->code];
    const struct rule *rule = &rules[info->cls];
    if (!sett__words_there(c->t, op))
        return sett__refuse(c, SETT_E_VERIFY, "its operands are not there");
    if (!check_region(c))
        return false;
    if (rule->args != ANY && op->n_args != rule->args)
        return sett__refuse(c, SETT_E_VERIFY, "it takes %d operands, not %u", rule->args, op->n_args);
    if ((op->sub && !(rule->uses & SUB)) || (op->imm && !(rule->uses & IMM)))
        return sett__refuse(c, SETT_E_VERIFY, "it has an attribute that it does not take");
    if (info->flags & SETT__E && c->depth)
        return sett__refuse(c, SETT_E_REGION, "it belongs outside of all regions");
    return check_result(c, rule->uses) && check_attrs(c) && (!rule->check || rule->check(c)) && open_region(c);
}

/* What most ops are, in few comparisons. What it does not know or does not like, check_op looks at. */
static bool is_plain(const sett__verifier *c)
{
    const sett__tape *t = c->t;
    const sett__op *op = c->op;
    if (op->code >= SETT__N_CODES || sett__ops[op->code].cls != SETT__C_BINARY || op->sub | op->n_attrs || op->imm ||
        op->n_args != 2 || t->n_arg < 2 || op->args > t->n_arg - 2 || op->depth != c->depth || op->n - 1 >= SETT__MAX_WIDTH ||
        !sett__dtype_valid(op->dtype) || !takes((sett__code)op->code, op->dtype))
        return false;
    for (uint32_t k = 0; k < 2; k++) {
        uint32_t id = t->arg[op->args + k];
        const sett__op *v = &t->op[id];
        if (id >= c->i || v->dtype != op->dtype || (v->n != 1 && v->n != op->n) || sett__ops[v->code].cls == SETT__C_ROOT || !visible(c, id))
            return false;
    }
    return true;
}

/* The same of a load or a store at a base in a parameter's memory, without predicate, fill and cache mode. */
static bool is_plain_access(const sett__verifier *c)
{
    const sett__tape *t = c->t;
    const sett__op *op = c->op;
    bool load = op->code == SETT__LOAD;
    if ((!load && op->code != SETT__STORE) || op->n_attrs || op->sub > 7 || op->n_args != 4 || t->n_arg < 4 || op->args > t->n_arg - 4 ||
        op->depth != c->depth || op->imm >> FAR_OFFSET)
        return false;
    const uint32_t *arg = t->arg + op->args, value = load ? c->i : arg[3];
    if (arg[0] >= c->i || arg[1] >= c->i || arg[2] != SETT__NONE || (load ? arg[3] != SETT__NONE : value >= c->i))
        return false;
    const sett__op *root = &t->op[arg[0]], *base = &t->op[arg[1]], *v = &t->op[value];
    const int bits = sett_dtype_bits((sett_dtype)v->dtype);
    if (root->code != SETT__PARAM || base->n != 1 || (base->dtype != SETT_I32 && base->dtype != SETT_I64) ||
        sett__ops[base->code].cls == SETT__C_ROOT || bits < 8 || bits & (bits - 1) || !visible(c, arg[0]) || !visible(c, arg[1]))
        return false;
    const sett__param *p = &t->sig.param[root->imm];
    if (p->scalar || 1u << op->sub > p->align || !(p->access & (load ? SETT__ACCESS_READ : SETT__ACCESS_WRITE)))
        return false;
    return load ? op->n - 1 < SETT__MAX_WIDTH : !op->dtype && !op->n && sett__ops[v->code].cls != SETT__C_ROOT && visible(c, value);
}

sett_status sett__tape_verify(const sett__tape *t, const char *target, sett_error *err)
{
    sett__verifier c = {.t = t, .err = err, .target = target};
    sett_status status = sett__sig_verify(&t->sig, err);
    if (!status && t->n_op > SETT__MAX_OPS)
        status = sett__error(err, SETT_E_LIMIT, "%u ops: a tape holds at most %u", t->n_op, SETT__MAX_OPS);
    if (!status && !sett__strings_fit(t))
        status = sett__error(err, SETT_E_LIMIT, "a text of the tape has more than %d characters", SETT__MAX_STRING);
    if (!status && target)
        status = sett__target_read(target, &c.sm, err);
    if (status)
        return status;
    for (c.i = 0, c.op = t->op; c.i < t->n_op; c.i++, c.op++)
        if ((!is_plain(&c) && !is_plain_access(&c) && !check_op(&c)) || !sett__check_target(&c))
            return c.status;
    if (c.depth)
        return sett__error(err, SETT_E_REGION, "op %u opens a region that does not end", c.open[c.depth - 1]);
    if (sett__check_apart(&c) && c.flies)
        sett__check_flights(&c);
    return c.status || !target ? c.status : sett__target_gives(t, target, c.sm, err);
}
