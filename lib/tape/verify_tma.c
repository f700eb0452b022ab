/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold of copies of the bulk engine, and of maps in memory. */
#include "verify.h"

enum { BULK = 16, BOX_ALIGN = 128 };

static const sett__op *arg_at(const sett__verifier *c, uint32_t k)
{
    return &c->t->op[sett__verified_arg(c, k)];
}

static bool given(const sett__verifier *c, uint32_t k)
{
    return sett__verified_arg(c, k) != SETT__NONE;
}

/* The address of a place, whatever its base, is a multiple; `why` says of what. SETT__MAX_ALIGN is for accesses of threads. */
static bool aligned(sett__verifier *c, uint32_t k, int64_t imm, uint64_t need, const char *why)
{
    const sett__op *root = arg_at(c, k);
    const uint64_t have = sett__root_align(c, root);
    if (have < need)
        return sett__refuse(c, SETT_E_ALIGN, "%%%u is aligned to %llu bytes, and %s needs %llu", sett__verified_arg(c, k),
            (unsigned long long)have, why, (unsigned long long)need);
    if (!given(c, k + 1) && (uint64_t)imm * (uint64_t)sett__dtype_bytes((sett_dtype)root->dtype) % need)
        return sett__refuse(c, SETT_E_ALIGN, "offset %lld is not aligned to the %llu bytes that %s needs", (long long)imm, (unsigned long long)need, why);
    return true;
}

/* So many bytes are there. With a base only the root's size is known. */
static bool inside(sett__verifier *c, uint32_t k, int64_t imm, uint64_t bytes, const char *what)
{
    const sett__op *root = arg_at(c, k);
    if (!root->n)
        return true;
    const uint64_t room = sett__bytes_of(root->dtype, root->n);
    const uint64_t at = given(c, k + 1) ? 0 : (uint64_t)imm * (uint64_t)sett__dtype_bytes((sett_dtype)root->dtype);
    return bytes <= room - at || sett__refuse(c, SETT_E_RANGE, "%s of %llu bytes is not in %%%u", what, (unsigned long long)bytes, sett__verified_arg(c, k));
}

static bool check_mask(sett__verifier *c, uint32_t k)
{
    const sett__expr *x = c->t->sig.cluster;
    if (!given(c, k))
        return true;
    if (!x[0].count && !x[1].count && !x[2].count)
        return sett__refuse(c, SETT_E_VERIFY, "a mask names blocks of a cluster, and the kernel has none");
    char what[80];
    const int blocks = sett__most_blocks(&c->t->sig), most = (1 << blocks) - 1;
    snprintf(what, sizeof what, "a mask has a bit for each of %d blocks: 1 to %d", blocks, most);
    return sett__bounded_arg(c, k, 1, most, 1, what);
}

/* What the engine can do to elements in memory. */
static bool check_reduction(sett__verifier *c, int op, int dtype)
{
    enum { ADD, MIN, MAX };
    bool has;
    switch (dtype) {
    case SETT_U32: case SETT_I32: case SETT_U64: case SETT_F16: case SETT_BF16: has = true; break;
    case SETT_I64: has = op != ADD; break;
    case SETT_F32: has = op == ADD; break;
    case SETT_F64: has = op == ADD && c->op->code == SETT__BULKREDUCE; break;
    default: has = false;
    }
    return has || sett__refuse(c, SETT_E_DTYPE, "%s has no %s of %s", sett__ops[c->op->code].text, sett__reduce_word[op], sett_dtype_name((sett_dtype)dtype));
}

static bool check_box(sett__verifier *c, const sett__map *m)
{
    char why[60];
    if (m->swizzle)
        snprintf(why, sizeof why, "a swizzle of %u bytes", 16u << m->swizzle);
    else
        snprintf(why, sizeof why, "a box");
    return aligned(c, 0, c->op->imm, (uint64_t)BOX_ALIGN << m->swizzle, why) && inside(c, 0, c->op->imm, sett__map_bytes(m), "a box");
}

/* The greatest power of two up to BULK that divides an expression whatever its symbols are. */
static int divisor(const sett__sig *s, sett__expr e)
{
    int stack[SETT__MAX_EXPR], n = 0;
    for (uint32_t i = 0; i < e.count; i++) {
        const sett__xop *x = &s->code[e.first + i];
        const uint64_t k = x->code == SETT__X_CONST ? (uint64_t)x->imm : x->code == SETT__X_SYM ? (uint64_t)s->sym[x->imm].div : 1;
        const int operands = sett__xops[x->code].operands;
        n -= operands;
        if (x->code == SETT__X_MUL)
            stack[n] = stack[n] * stack[n + 1] < BULK ? stack[n] * stack[n + 1] : BULK;
        else if (x->code == SETT__X_ADD || x->code == SETT__X_SUB || x->code == SETT__X_MIN || x->code == SETT__X_MAX)
            stack[n] = stack[n] < stack[n + 1] ? stack[n] : stack[n + 1];
        else
            stack[n] = operands ? 1 : (int)((k | BULK) & (0 - (k | BULK)));
        n++;
    }
    return n == 1 ? stack[0] : 1;
}

/* The engine writes a row in pieces of 16 bytes, the last of them past the extent too. */
static bool check_pieces(sett__verifier *c, const sett__map *m)
{
    char text[80];
    const sett__sig *s = &c->t->sig;
    if (divisor(s, m->extent[0]) * sett__dtype_bytes((sett_dtype)m->dtype) % BULK == 0)
        return true;
    sett__expr_str(s, m->extent[0], text, sizeof text);
    return sett__refuse(c, SETT_E_ALIGN, "a row is written in pieces of 16 bytes, and extent 0 of map %.60s, %.60s of %s, may end within one: "
        "it needs to be a multiple of %d, by .div = %d of its symbols", m->name, text, sett_dtype_name((sett_dtype)m->dtype),
        BULK / sett__dtype_bytes((sett_dtype)m->dtype), BULK / sett__dtype_bytes((sett_dtype)m->dtype));
}

bool sett__check_tma(sett__verifier *c)
{
    const int code = c->op->code;
    const uint32_t map = code == SETT__TMAFETCH ? 0 : 2, first = code == SETT__TMAFETCH ? 3 : code == SETT__TMALOAD ? 8 : 5;
    const uint32_t n = c->op->n_args - first;
    const sett__op *root = arg_at(c, map);
    const sett__map *m = root->code == SETT__TMAP ? &c->t->sig.map[root->imm] : NULL;
    if (n > SETT__MAP_RANK || (m && n != m->rank))
        return sett__refuse(c, SETT_E_RANK, m ? "%u coordinates, and map %.60s has %u modes" : "%u coordinates: a map has at most %.0s5", n, m ? m->name : "", m ? m->rank : 0u);
    if (code == SETT__TMAREDUCE && m && !check_reduction(c, sett__verified_attr(c, SETT__AT_TMAREDUCE_OP), m->dtype))
        return false;
    if (code == SETT__TMALOAD && !check_mask(c, 6))
        return false;
    if (code == SETT__TMAFETCH)
        return sett__may_access(c, root, SETT__ACCESS_READ);
    if (!sett__may_access(c, root, code == SETT__TMALOAD ? SETT__ACCESS_READ : SETT__ACCESS_WRITE))
        return false;
    if (m && code != SETT__TMALOAD && !check_pieces(c, m))
        return false;
    for (uint32_t k = first; code != SETT__TMALOAD && k < first + n; k++)
        if (!sett__bounded_arg(c, k, 0, INT32_MAX, 1, "what is written begins at no coordinate below 0"))
            return false;
    return m ? check_box(c, m) : aligned(c, 0, c->op->imm, BOX_ALIGN, "a box");
}

static bool check_side(sett__verifier *c, uint32_t k, int64_t imm, uint32_t bytes)
{
    const sett__op *x = arg_at(c, bytes);
    uint64_t n = x->code == SETT__CONST ? (uint64_t)x->imm & UINT32_MAX : 0;
    return aligned(c, k, imm, BULK, "a copy in bulk") && inside(c, k, imm, n, "a copy");
}

bool sett__check_bulk(sett__verifier *c)
{
    const bool load = c->op->code == SETT__BULKLOAD, reduce = c->op->code == SETT__BULKREDUCE, peer = c->op->code == SETT__BULKPEER;
    const uint32_t global = load ? 2 : 0, bytes = load || peer ? 6 : 4;
    const sett__op *root = arg_at(c, global);
    if (!sett__bounded_arg(c, bytes, 0, (1 << 20) - BULK, BULK, "a copy in bulk has a multiple of 16 bytes, less than 2^20"))
        return false;
    if (reduce && root->dtype != arg_at(c, 2)->dtype)
        return sett__refuse(c, SETT_E_DTYPE, "it has one type, not %s in shared memory and %s in global memory", sett_dtype_name((sett_dtype)arg_at(c, 2)->dtype),
            sett_dtype_name((sett_dtype)root->dtype));
    if (reduce && !check_reduction(c, sett__verified_attr(c, SETT__AT_BULKREDUCE_OP), root->dtype))
        return false;
    return sett__may_access(c, root, load ? SETT__ACCESS_READ : SETT__ACCESS_WRITE) && check_side(c, 0, c->op->imm, bytes) &&
           check_side(c, 2, sett__form_offset(c->t->arg, c->op, 1), bytes) && (!load || check_mask(c, 8));
}

/* A vector of words, whose address is a multiple of its size. */
bool sett__check_store_async(sett__verifier *c)
{
    const sett__op *x = arg_at(c, 4);
    const int bytes = sett__dtype_bytes((sett_dtype)x->dtype);
    if (x->dtype == SETT_BOOL || (bytes != 4 && bytes != 8) || sett_dtype_bits((sett_dtype)x->dtype) != 8 * bytes)
        return sett__refuse(c, SETT_E_DTYPE, "it stores elements of 4 or 8 bytes, not %s", sett_dtype_name((sett_dtype)x->dtype));
    const uint64_t all = sett__bytes_of(x->dtype, x->n);
    if (all != 4 && all != 8 && all != BULK)
        return sett__refuse(c, SETT_E_SHAPE, "it stores 4, 8 or 16 bytes, not %llu", (unsigned long long)all);
    return aligned(c, 0, c->op->imm, all, "such a store") && inside(c, 0, c->op->imm, all, "a store");
}

/* What a constant may be, as for a map of the signature. */
static bool check_value(sett__verifier *c, int field)
{
    switch (field) {
    case SETT__FIELD_RANK: return sett__bounded_arg(c, 2, 1, SETT__MAP_RANK, 1, "field rank takes 1 to 5");
    case SETT__FIELD_BOX: return sett__bounded_arg(c, 2, 1, 256, 1, "field box takes 1 to 256");
    case SETT__FIELD_STEP: return sett__bounded_arg(c, 2, 1, 8, 1, "field step takes 1 to 8");
    default: return true;
    }
}

static bool check_field(sett__verifier *c)
{
    const int field = sett__verified_attr(c, SETT__AT_REPLACE_FIELD), mode = sett__verified_attr(c, SETT__AT_REPLACE_ORDINAL);
    static const uint8_t codes[SETT__N_MAP_FIELDS] = {[SETT__FIELD_TYPE] = 13, [SETT__FIELD_SWIZZLE] = 4, [SETT__FIELD_FILL] = 2};
    const bool whole = field == SETT__FIELD_ADDRESS || field == SETT__FIELD_RANK || codes[field], wide = field == SETT__FIELD_ADDRESS || field == SETT__FIELD_STRIDE;
    if (mode > (whole ? 0 : field == SETT__FIELD_STRIDE ? 3 : 4))
        return sett__refuse(c, SETT_E_RANGE, "field %s has no ordinal %d", sett__field_word[field], mode);
    if (arg_at(c, 2)->dtype != (wide ? SETT_U64 : SETT_I32))
        return sett__refuse(c, SETT_E_DTYPE, "field %s takes one %s", sett__field_word[field], wide ? "u64" : "i32");
    const sett__op *x = arg_at(c, 2);
    if (codes[field] && (x->code != SETT__CONST || (uint64_t)x->imm >= codes[field]))
        return sett__refuse(c, SETT_E_RANGE, "field %s is a constant, 0 to %d", sett__field_word[field], codes[field] - 1);
    return check_value(c, field);
}

/* 128 bytes that are a map. */
bool sett__check_map(sett__verifier *c)
{
    const bool write = c->op->code != SETT__TMAPAT;
    if (c->op->code == SETT__MAPREPLACE && !check_field(c))
        return false;
    return sett__may_access(c, arg_at(c, 0), write ? SETT__ACCESS_WRITE : SETT__ACCESS_READ) &&
           aligned(c, 0, c->op->imm, SETT__MAP_ALIGN, "a map") && inside(c, 0, c->op->imm, SETT__MAP_BYTES, "a map");
}
