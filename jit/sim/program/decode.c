/* SPDX-License-Identifier: Apache-2.0 */
/* Tape to program: one instruction a tape op at most, in four sections by how often they run. */
#include "program.h"
#include <stdlib.h>

#define UNKNOWN "the CPU engine does not know this operation"

typedef struct seen {
    uint32_t reads, effects; /* of memory that other blocks write; what others may see or wait for */
    uint32_t stores;         /* to registers */
    uint32_t tries;          /* of mbarriers, in no while loop further inside */
    uint32_t moved;          /* the last load on which the address of one of the reads depends, as 1 + its op */
} seen;
typedef struct decoder {
    sett__program *p;
    const sett__tape *tape;
    sett__slot *slot;
    uint32_t *root_of; /* by op: index in program->root */
    uint32_t *insn_of; /* by op: IF, ELSE, FOR and LOOP, for their targets */
    uint32_t *loaded;  /* by op: the last load on which its value depends, as 1 + its op; 0: none */
    uint8_t *kind;     /* by op: of sett__find_strips */
    uint32_t cap_code, cap_root, cap_place, cap_spot, cap_matmul;
    uint32_t at;                /* op being decoded */
    uint32_t rows;              /* of instructions since the last POLL */
    uint32_t depth;             /* open regions */
    seen seen, before[SETT__MAX_DEPTH]; /* before: where each open region began */
    int section;                /* being written */
    uint32_t last_base, last_n; /* of the access before in straight-line code */
    sett_error *error;
} decoder;

/* The op being decoded, in the tape that was given. */
static uint32_t given_op(const decoder *d)
{
    return d->p->rewritten.changed ? d->p->rewritten.origin[d->at] : d->at;
}

static sett_status fail(decoder *d, sett_status status, const char *what)
{
    char where[128];
    return sett__error(d->error, status, "%s: %s: %s", sett__where(d->p, given_op(d), where, sizeof where),
        sett__ops[d->tape->op[d->at].code].text, what);
}

static sett__ref ref_of(const decoder *d, uint32_t v)
{
    if (v == SETT__NONE)
        return SETT__NONE;
    const sett__slot *s = &d->slot[v], *home = &d->slot[s->home];
    bool uniform_frame = s->section == SETT__ONCE || s->section == SETT__PER_BLOCK;
    return (home->at + s->off) | (uniform_frame ? SETT__REF_UNIFORM : 0) | (s->rows == 1 ? SETT__REF_SPLAT : 0);
}

static sett__ref operand(const decoder *d, const sett__op *o, int i)
{
    return ref_of(d, sett__arg(d->tape, o, i));
}

/* In core->lazy. */
static uint32_t lazy_of(const decoder *d, uint32_t v)
{
    if (v == SETT__NONE || d->slot[d->slot[v].home].lazy == SETT__NONE)
        return SETT__NONE;
    const sett__slot *s = &d->slot[v], *home = &d->slot[s->home];
    return home->lazy + s->off / (home->width * (WARP << s->lg));
}

static sett_status push(decoder *d, sett__insn i)
{
    if (!sett__grow(NULL, (void **)&d->p->code, &d->cap_code, d->p->n_code + 1, sizeof i))
        return fail(d, SETT_E_MEMORY, "out of memory while decoding");
    i.op = given_op(d);
    i.run = sett__run_of(d->p, &i);
    d->rows += 1 + i.n;
    d->p->code[d->p->n_code++] = i;
    return SETT_OK;
}

/* An instruction with the op's result. */
static sett__insn start(const decoder *d, const sett__op *o, sett__step step)
{
    const sett__slot *s = &d->slot[d->at];
    sett__insn i = {.step = (uint8_t)step, .lg = s->lg, .n = s->rows, .dtype = o->dtype};
    i.d = o->dtype && o->n ? ref_of(d, d->at) & ~(sett__ref)SETT__REF_SPLAT : SETT__NONE;
    return i;
}

/* Operands that lie where they were loaded from come piece by piece. */
static void in_pieces(const decoder *d, sett__insn *i, const uint32_t *arg_of)
{
    for (int k = 0; k < i->math.n_args; k++) {
        const sett__slot *s = &d->slot[arg_of[k]];
        i->math.lazy[k] = lazy_of(d, arg_of[k]);
        if (i->math.lazy[k] == SETT__NONE)
            continue;
        i->step = SETT__S_PIECES;
        if (s->rows > 1)
            i->math.pieces = i->n / d->slot[s->home].width;
    }
    i->math.piece = i->n / i->math.pieces;
    if (i->n > SETT__LONG_ROWS)
        i->step = SETT__S_LONG;
}

static sett_status row_op(decoder *d, sett__insn i, sett__row_fn fn, const uint32_t *arg_of, int n)
{
    if (!fn)
        return fail(d, SETT_E_VERIFY, "the CPU engine has no such operation on this element type");
    i.math = (sett__arithmetic){.fn = fn, .n_args = (uint8_t)n, .pieces = 1, .data = d->kind[d->at] == 2};
    for (int k = 0; k < n; k++) {
        i.math.arg[k] = ref_of(d, arg_of[k]);
        i.math.lg[k] = d->slot[arg_of[k]].lg;
        i.math.splat |= (uint8_t)((i.math.arg[k] & SETT__REF_SPLAT ? 1 : 0) << k);
    }
    if (i.step == SETT__S_ROW)
        in_pieces(d, &i, arg_of);
    return push(d, i);
}

/* to: of a CONVERT. */
static sett__row_fn row_fn(const decoder *d, sett__code code, sett_dtype type, sett_dtype to)
{
    if (sett__dtype_is_wide(type) || sett__dtype_is_wide(to))
        return sett__row_128(code, type, to);
    if (type >= SETT__ROW_TYPES || to >= SETT__ROW_TYPES)
        return NULL;
    if (code == SETT__EX2F)
        return type == SETT_F32 ? d->p->wide->exp2_flushed : NULL;
    if (code >= SETT__ROW_CODES)
        return code == SETT__CONVERT ? d->p->wide->convert[type][to] : sett__row_bits(code, d->slot[d->at].lg);
    return d->p->wide->op[code][type];
}

static sett_status elementwise(decoder *d, const sett__op *o)
{
    uint32_t a[3] = {sett__arg(d->tape, o, 0), sett__arg(d->tape, o, 1), sett__arg(d->tape, o, 2)};
    uint8_t type = d->tape->op[a[0]].dtype;
    sett__code code = o->code;
    sett__insn i = start(d, o, SETT__S_ROW);
    if (code == SETT__SELECT)
        return row_op(d, i, i.lg < 4 ? d->p->wide->select[i.lg] : sett__row_128(code, o->dtype, o->dtype), a, 3);
    if (code == SETT__GT || code == SETT__GE) {
        uint32_t swapped[2] = {a[1], a[0]};
        return row_op(d, i, row_fn(d, code == SETT__GT ? SETT__LT : SETT__LE, type, type), swapped, 2);
    }
    return row_op(d, i, row_fn(d, code, type, type), a, o->n_args);
}

/* rows of v to a place in the op's own storage */
static sett_status copy(decoder *d, sett__insn i, uint32_t v, uint32_t n, uint32_t off)
{
    i.copy = ref_of(d, v);
    i.d += off;
    i.n = n;
    return push(d, i);
}

static sett_status pack(decoder *d, const sett__op *o)
{
    const sett__slot *self = &d->slot[d->at];
    uint32_t off = 0;
    sett_status status = SETT_OK;
    for (int k = 0; k < o->n_args && !status; k++) {
        uint32_t v = sett__arg(d->tape, o, k), n = d->tape->op[v].n;
        const sett__slot *s = &d->slot[v];
        bool in_place = s->home == self->home && s->off == self->off + off && s->rows == n;
        if (!in_place)
            status = copy(d, start(d, o, SETT__S_COPY), v, n, off);
        off += n * (WARP << self->lg);
    }
    return status;
}

static sett_status move_rows(decoder *d, const sett__op *o)
{
    if (d->slot[d->at].view)
        return SETT_OK;
    if (o->code == SETT__PACK)
        return pack(d, o);
    uint32_t a = sett__arg(d->tape, o, 0);
    sett__insn i = start(d, o, SETT__S_PICK);
    if (o->code == SETT__BITCAST) {
        i.step = SETT__S_REGROUP;
        i.regroup.a = ref_of(d, a);
        i.regroup.lg = d->slot[a].lg;
    } else {
        i.pick.a = ref_of(d, a);
        i.pick.wide = d->slot[a].width;
        i.pick.index = d->tape->index + o->imm;
    }
    return push(d, i);
}

static sett_status convert(decoder *d, const sett__op *o)
{
    uint32_t a = sett__arg(d->tape, o, 0);
    if (o->code == SETT__BITCAST)
        return move_rows(d, o);
    return row_op(d, start(d, o, SETT__S_ROW), row_fn(d, o->code, d->tape->op[a].dtype, o->dtype), &a, 1);
}

static sett_status reduce(decoder *d, const sett__op *o)
{
    uint32_t a[2] = {sett__arg(d->tape, o, 0), sett__arg(d->tape, o, 1)};
    sett__insn i = start(d, o, SETT__S_REDUCE);
    i.n = d->tape->op[a[0]].n;
    return o->sub < SETT__ROW_CODES ? row_op(d, i, row_fn(d, o->sub, o->dtype, o->dtype), a, 2)
                                  : fail(d, SETT_E_VERIFY, "not an operation to fold by");
}

static sett_status constant(decoder *d, const sett__op *o)
{
    sett__insn i = start(d, o, SETT__S_CONST);
    i.bits = o->imm;
    return push(d, i);
}

static sett_status thread_index(decoder *d, const sett__op *o)
{
    sett__insn i = start(d, o, SETT__S_INDEX);
    i.index.code = o->code;
    i.index.axis = o->sub;
    return push(d, i);
}

static sett_status parameter(decoder *d, const sett__op *o)
{
    sett__insn i = start(d, o, SETT__S_VALUE);
    i.param = sett__packed_at(&d->tape->sig, (uint32_t)o->imm + (o->code == SETT__SYM ? d->tape->sig.n_param : 0));
    return push(d, i);
}

/* What each lane has somewhere else. */
static void elsewhere(const decoder *d, const sett__op *o, sett__root *r)
{
    const sett__sig *sig = &d->tape->sig;
    if (o->code == SETT__TMAP) {
        r->offset = (uint32_t)sett__packed_at(sig, sig->n_param + sig->n_sym + (uint32_t)o->imm);
    } else if (o->code == SETT__PEER) {
        const sett__root *own = &d->p->root[d->root_of[sett__arg(d->tape, o, 0)]];
        r->offset = own->offset, r->bytes = own->bytes;
        r->from = operand(d, o, 1);
    } else {
        r->from = operand(d, o, 0);
        r->align = (uint32_t)sett__attr(d->tape->arg, o, SETT__AT_GMEM_ALIGN);
    }
}

static sett_status root(decoder *d, const sett__op *o)
{
    sett__program *p = d->p;
    if (!sett__grow(NULL, (void **)&p->root, &d->cap_root, p->n_root + 1, sizeof *p->root))
        return fail(d, SETT_E_MEMORY, "out of memory while decoding");
    sett__root r = {.space = sett__space_of(o), .lg = d->slot[d->at].lg, .width = d->slot[d->at].width, .op = given_op(d)};
    int bits = o->dtype == SETT_BOOL ? 8 : sett_dtype_bits(o->dtype);
    r.bytes = ((uint64_t)o->n * (uint64_t)bits + 7) / 8;
    r.param = o->code == SETT__PARAM ? (uint32_t)o->imm : 0;
    if (o->code == SETT__PARAM)
        r.bytes = d->tape->sig.param[r.param].bytes;
    r.offset = o->code == SETT__PARAM  ? (uint32_t)sett__packed_at(&d->tape->sig, r.param)
               : o->code == SETT__SMEM ? (o->n ? (uint32_t)o->imm : d->tape->sig.smem)
                                       : d->slot[d->at].at;
    if (r.space > SETT__LOCAL)
        elsewhere(d, o, &r);
    if (o->code == SETT__SMEM && sett__attr(d->tape->arg, o, SETT__AT_SMEM_MBARRIER))
        sett__note_mbarriers(p, &r);
    if (o->code == SETT__SMEM && (uint64_t)o->imm + r.bytes > d->tape->sig.smem)
        return fail(d, SETT_E_VERIFY, "outside the block's shared memory");
    d->root_of[d->at] = p->n_root;
    p->root[p->n_root++] = r;
    return SETT_OK;
}

/* What makes a base's lanes lie one after another, when only values that are the same in all lanes are added. */
static uint8_t order_of(decoder *d, uint32_t v, uint32_t n)
{
    sett__program *p = d->p;
    for (;;) {
        const sett__op *o = &d->tape->op[v];
        uint32_t x = sett__arg(d->tape, o, 0), y = sett__arg(d->tape, o, 1);
        if (d->slot[v].section == SETT__PER_THREAD || (o->code != SETT__ADD && o->code != SETT__SUB))
            break;
        if (d->slot[y].uniform)
            v = x;
        else if (d->slot[x].uniform && o->code == SETT__ADD)
            v = y;
        else
            break;
    }
    if (d->slot[v].section != SETT__PER_THREAD)
        return SETT__MAX_ORDER;
    sett__order want = {ref_of(d, v), n, d->slot[v].lg == 3};
    for (uint32_t k = 0; k < p->n_order; k++)
        if (p->order[k].at == want.at && p->order[k].n == n)
            return (uint8_t)k;
    if (p->n_order == SETT__MAX_ORDER)
        return SETT__MAX_ORDER;
    p->order[p->n_order] = want;
    return (uint8_t)p->n_order++;
}

/* Without a predicate, and in order where the launch finds it so; or whole rows of a thread's array. */
static bool is_straight(const decoder *d, const sett__insn *i)
{
    const sett__place *at = &i->access.at;
    const sett__root *r = &d->p->root[at->root];
    uint64_t align = (1ull << (at->align & 63)) - 1;
    if (i->access.predicate != SETT__NONE || i->lg > 3)
        return false;
    if (r->space > SETT__LOCAL)
        return false;
    if (r->space != SETT__LOCAL)
        return at->order < SETT__MAX_ORDER && !(((uint64_t)i->n << i->lg) & align);
    return at->base == SETT__NONE && i->lg == r->lg && at->offset >= 0 && i->n % r->width == 0 && (uint64_t)at->offset % r->width == 0 &&
           !(((uint64_t)at->offset << i->lg) & align) && ((uint64_t)at->offset + i->n) << i->lg <= r->bytes;
}

static sett__place place_of(const decoder *d, uint32_t root, uint32_t base, int64_t offset, uint8_t align)
{
    sett__place at = {.root = d->root_of[root], .base = ref_of(d, base), .offset = offset, .align = align, .order = SETT__MAX_ORDER};
    if (base != SETT__NONE) {
        at.uniform = d->slot[base].uniform;
        at.base64 = d->slot[base].lg == 3;
        at.base_unsigned = sett__dtype_kind(d->tape->op[base].dtype) == 'u';
    }
    return at;
}

/* Of accesses of n elements, whose root and base are the first operands. */
static sett_status find_place(decoder *d, const sett__op *o, uint32_t n, uint8_t align, sett__place *at)
{
    uint32_t base = sett__arg(d->tape, o, 1);
    if (base != SETT__NONE && (!sett__dtype_is_int(d->tape->op[base].dtype) || d->slot[base].lg < 2))
        return fail(d, SETT_E_VERIFY, "an offset is not an integer of 32 or 64 bits");
    if (o->imm > (int64_t)1 << 48 || o->imm < -((int64_t)1 << 48))
        return fail(d, SETT_E_VERIFY, "an offset is past 2^48");
    *at = place_of(d, sett__arg(d->tape, o, 0), base, o->imm, align);
    if (base != SETT__NONE && !at->uniform)
        at->order = order_of(d, base, n);
    at->same = base != SETT__NONE && base == d->last_base && n == d->last_n;
    d->last_base = base;
    d->last_n = n;
    return SETT_OK;
}

/* Operands: root, base, predicate, then fill or value. */
static sett_status access(decoder *d, const sett__op *o)
{
    bool store = o->code == SETT__STORE;
    uint32_t v = store ? sett__arg(d->tape, o, 3) : d->at;
    const sett__slot *s = &d->slot[v];
    sett__insn i = start(d, o, store ? SETT__S_STORE : SETT__S_LOAD);
    sett__transfer *x = &i.access;
    i.n = store ? d->tape->op[v].n : i.n;
    i.lg = s->lg;
    i.dtype = d->tape->op[v].dtype;
    *x = (sett__transfer){.predicate = operand(d, o, 2), .value = operand(d, o, 3), .lazy = lazy_of(d, v), .width = s->width};
    sett_status status = find_place(d, o, i.n, o->sub, &x->at);
    if (status)
        return status;
    if (d->p->rewritten.changed)
        x->parts = d->p->rewritten.parts[d->at];
    x->pieces = x->lazy == SETT__NONE ? 0 : i.n / d->slot[s->home].width;
    x->bytes = (i.n * WARP) << i.lg;
    x->piece = x->pieces ? x->bytes / x->pieces : 0;
    x->straight = is_straight(d, &i);
    return push(d, i);
}

/* Operands: root, base, predicate, value, what memory must have held. */
static sett_status atomic(decoder *d, const sett__op *o)
{
    sett__insn i = start(d, o, SETT__S_ATOM);
    sett__row_fn fn = o->sub < SETT__ROW_CODES ? d->p->wide->op[o->sub][o->dtype] : NULL;
    if (!fn && o->sub != SETT__XCHG && o->sub != SETT__CAS)
        return fail(d, SETT_E_VERIFY, "the CPU engine has no such atomic on this element type");
    d->p->atomics = true;
    const bool global = sett__space_of(&d->tape->op[sett__arg(d->tape, o, 0)]) % SETT__ADDRESS == SETT__GLOBAL;
    i.atom = (sett__atomic){.fn = fn, .code = o->sub, .flushes = o->sub == SETT__ADD && o->dtype == SETT_F32 && global, .predicate = operand(d, o, 2), .value = operand(d, o, 3), .was = operand(d, o, 4)};
    sett_status status = find_place(d, o, i.n, (uint8_t)(i.lg + (i.n > 1 ? 31 - __builtin_clz(i.n) : 0)), &i.atom.at);
    return status ? status : push(d, i);
}

/* A copy in the background, from global to shared memory. The types of both offsets need no check here: the verifier has refused a tape in
 * which one is neither i32 nor i64. */
static sett_status cp_async(decoder *d, const sett__op *o)
{
    sett__insn i = start(d, o, SETT__S_CP_ASYNC);
    uint32_t bytes = (uint32_t)sett__attr(d->tape->arg, o, SETT__AT_CPASYNC_BYTES);
    uint8_t align = (uint8_t)__builtin_ctz(bytes);
    i.lg = (uint8_t)__builtin_ctz((uint32_t)sett__attr(d->tape->arg, o, SETT__AT_CPASYNC_OF));
    i.n = bytes >> i.lg;
    i.cp_async = (sett__copy){.predicate = operand(d, o, 2), .keep = operand(d, o, 5),
        .to = place_of(d, sett__arg(d->tape, o, 0), sett__arg(d->tape, o, 1), (int32_t)sett__attr(d->tape->arg, o, SETT__AT_CPASYNC_TO), align),
        .from = place_of(d, sett__arg(d->tape, o, 3), sett__arg(d->tape, o, 4), o->imm, align)};
    return push(d, i);
}

static sett_status shuffle(decoder *d, const sett__op *o)
{
    sett__insn i = start(d, o, SETT__S_SHFL);
    uint32_t lane = sett__arg(d->tape, o, 1);
    if (!sett__dtype_is_int(d->tape->op[lane].dtype) || d->slot[lane].lg != 2)
        return fail(d, SETT_E_VERIFY, "the lane is not an integer of 32 bits");
    i.shfl.value = operand(d, o, 0);
    i.shfl.lane = ref_of(d, lane);
    i.shfl.how = o->sub;
    i.shfl.width = (uint8_t)sett__attr(d->tape->arg, o, SETT__AT_SHFL_WIDTH);
    return push(d, i);
}

static sett_status ask_warp(decoder *d, const sett__op *o)
{
    uint32_t value = sett__arg(d->tape, o, 0);
    sett__insn i = start(d, o, SETT__S_ELECT);
    if (o->code == SETT__VOTE) {
        i.step = SETT__S_VOTE;
        i.vote.value = ref_of(d, value);
        i.vote.how = o->sub;
    } else if (o->code == SETT__MATCH) {
        i.step = SETT__S_MATCH;
        i.match.value = ref_of(d, value);
        i.match.lg = d->slot[value].lg;
        i.match.any = o->sub == SETT__VOTE_ANY;
    } else if (o->code == SETT__REDUX) {
        i.step = SETT__S_REDUX;
        i.redux.value = ref_of(d, value);
        i.redux.fn = o->sub < SETT__ROW_CODES ? d->p->wide->op[o->sub][o->dtype] : NULL;
    } else if (o->code == SETT__SPECIAL) {
        i.step = SETT__S_SPECIAL;
        i.special = o->sub;
    } else if (o->code != SETT__ELECT) {
        return fail(d, SETT_E_VERIFY, UNKNOWN);
    }
    return push(d, i);
}

/* ---- regions ------------------------------------------------------------------------------------------ */
static sett__branch branch_on(const decoder *d, uint32_t condition)
{
    return (sett__branch){.condition = ref_of(d, condition), .uniform = d->slot[condition].uniform};
}

static sett_status open_if(decoder *d, const sett__op *o)
{
    sett__insn i = start(d, o, SETT__S_IF);
    i.branch = branch_on(d, sett__arg(d->tape, o, 0));
    d->insn_of[d->at] = d->insn_of[o->other] = d->p->n_code;
    return push(d, i);
}

/* insn_of an ELSE is its IF until here, since `other` of both leads forward. */
static sett_status turn_to_else(decoder *d, const sett__op *o)
{
    d->p->code[d->insn_of[d->at]].branch.target = d->p->n_code;
    d->insn_of[d->at] = d->p->n_code;
    return push(d, start(d, o, SETT__S_ELSE));
}

static sett_status open_for(decoder *d, const sett__op *o)
{
    sett__insn i = start(d, o, SETT__S_FOR);
    i.count = (sett__counted){.lo = operand(d, o, 0), .hi = operand(d, o, 1), .step = operand(d, o, 2),
        .less = d->p->wide->op[SETT__LT][o->dtype], .add = d->p->wide->op[SETT__ADD][o->dtype], .uniform = d->slot[d->at].uniform};
    if (!i.count.less || !i.count.add)
        return fail(d, SETT_E_VERIFY, "the variable is not an integer");
    d->insn_of[d->at] = d->p->n_code;
    return push(d, i);
}

static sett_status open_loop(decoder *d, const sett__op *o)
{
    d->insn_of[d->at] = d->p->n_code;
    return push(d, start(d, o, SETT__S_LOOP));
}

static sett_status test_loop(decoder *d, const sett__op *o)
{
    sett__insn i = start(d, o, SETT__S_WHILE);
    i.branch = branch_on(d, sett__arg(d->tape, o, 0));
    d->p->code[d->insn_of[o->other]].test = d->p->n_code;
    return push(d, i);
}

/* Behind the END goes on who leaves its opener: FOR, the WHILE of a LOOP, IF, or the IF's ELSE. */
static sett_status close_region(decoder *d, const sett__op *o)
{
    uint32_t end = d->p->n_code, opener = d->insn_of[o->other];
    sett__insn *code = d->p->code, i = start(d, o, SETT__S_ENDIF);
    if (code[opener].step == SETT__S_LOOP) {
        const seen *before = &d->before[d->depth - 1];
        bool reads = d->seen.reads > before->reads;
        bool walks = d->seen.stores > before->stores && d->seen.moved > o->other;
        i.step = SETT__S_ENDLOOP;
        i.round.target = opener + 1;
        i.round.awaits = reads && !walks && d->seen.effects == before->effects;
        d->p->awaits |= reads;
        d->p->polls |= reads && d->seen.tries > before->tries;
        d->p->counts |= d->seen.stores > before->stores && d->seen.tries > before->tries;
        d->seen.tries = before->tries;
        code[code[opener].test].branch.target = end + 1;
    } else if (code[opener].step == SETT__S_FOR) {
        i = code[opener];
        i.step = SETT__S_ENDFOR;
        i.count.target = opener + 1;
        code[opener].count.target = end + 1;
    } else {
        code[opener].branch.target = end;
    }
    return push(d, i);
}

/* What is printed, and what a stand-in is called with. */
static sett_status with_places(decoder *d, const sett__op *o)
{
    sett__program *p = d->p;
    bool call = sett__ops[o->code].cls == SETT__C_INLINE;
    sett__insn i = start(d, o, call ? SETT__S_INLINE : o->code == SETT__ASSERT ? SETT__S_ASSERT : SETT__S_PRINTF);
    sett_status status = call ? SETT_OK : sett__print_check(d->tape, o, d->error);
    if (status)
        return status;
    i.talk.call = call ? sett__call_of(p, given_op(d)) : 0;
    i.talk.place = p->n_place;
    if (!sett__grow(NULL, (void **)&p->place, &d->cap_place, p->n_place + o->n_args, sizeof *p->place))
        return fail(d, SETT_E_MEMORY, "out of memory while decoding");
    for (int k = 0; k < o->n_args; k++)
        p->place[p->n_place++] = operand(d, o, k);
    return push(d, i);
}

static sett_status call(decoder *d, const sett__op *o)
{
    return sett__is_call(d->tape, o) ? with_places(d, o) : SETT_OK;
}

/* ---- what waits, or orders -------------------------------------------------------------------------------- */
static sett_status barrier(decoder *d, const sett__op *o)
{
    sett__insn i = start(d, o, SETT__S_BARRIER);
    const bool told = d->p->watch && d->p->watch->sync;
    switch (o->code) {
    case SETT__BARRIER:
        return push(d, i);
    case SETT__SYNCWARP:
        i.step = SETT__S_SYNC_WARP;
        return d->depth || told ? push(d, i) : SETT_OK;
    case SETT__DEPWAIT:  /* a kernel begins when those before it have ended */
    case SETT__DEPLAUNCH:
        i.step = SETT__S_GRID;
        return told ? push(d, i) : SETT_OK;
    case SETT__FENCE:
        i.step = SETT__S_FENCE;
        return push(d, i);
    case SETT__CPCOMMIT:
        i.step = SETT__S_CP_COMMIT;
        return push(d, i);
    case SETT__CPWAIT:
        i.step = SETT__S_CP_WAIT;
        i.pending = sett__attr(d->tape->arg, o, SETT__AT_CPWAIT_PENDING);
        return push(d, i);
    case SETT__BARSYNC:
    case SETT__BARARRIVE:
        i.step = SETT__S_NAMED;
        i.named.id = operand(d, o, 0);
        i.named.threads = operand(d, o, 1);
        i.named.code = o->code;
        return push(d, i);
    default:
        return fail(d, SETT_E_VERIFY, UNKNOWN);
    }
}

/* ---- what the tables say --------------------------------------------------------------------------------------- */
/* Its operands and its places, in the order of ops.def. */
static sett_status form(decoder *d, const sett__op *o)
{
    sett__program *p = d->p;
    sett__insn i = start(d, o, SETT__S_FORM);
    if (!sett__runs(o->code))
        return fail(d, SETT_E_VERIFY, UNKNOWN);
    i.form.operands = p->n_place, i.form.places = p->n_spot;
    if (!sett__grow(NULL, (void **)&p->place, &d->cap_place, p->n_place + o->n_args, sizeof *p->place) ||
        !sett__grow(NULL, (void **)&p->spot, &d->cap_spot, p->n_spot + SETT__FORM_PLACES, sizeof *p->spot))
        return fail(d, SETT_E_MEMORY, "out of memory while decoding");
    for (int k = 0; k < o->n_args; k++) {
        uint32_t v = sett__arg(d->tape, o, k);
        bool is_root = v != SETT__NONE && sett__ops[d->tape->op[v].code].cls == SETT__C_ROOT;
        p->place[p->n_place++] = is_root ? d->root_of[v] : ref_of(d, v);
    }
    for (sett__form f = sett__form_of(o->code); sett__form_next(&f);)
        if (f.kinds & SETT__F_PLACE) {
            uint32_t v = sett__arg(d->tape, o, (int)f.k);
            p->spot[p->n_spot++] = v == SETT__NONE ? (sett__place){.root = SETT__NONE}
                                                   : place_of(d, v, sett__arg(d->tape, o, (int)f.k + 1), sett__form_offset(d->tape->arg, o, f.place), 0);
        }
    if (!sett__matmul_find(p, &d->cap_matmul, d->tape->arg, o, given_op(d), &i.form.matmul))
        return fail(d, SETT_E_MEMORY, "out of memory while decoding");
    return push(d, i);
}

/* ---- by classes ---------------------------------------------------------------------------------------------- */
static sett_status (*const of_class[])(decoder *, const sett__op *) = {
    [SETT__C_CONST] = constant,
    [SETT__C_SREG] = thread_index,
    [SETT__C_SYM] = parameter,
    [SETT__C_SCALAR] = parameter,
    [SETT__C_ROOT] = root,
    [SETT__C_BINARY] = elementwise,
    [SETT__C_COMPARE] = elementwise,
    [SETT__C_TERNARY] = elementwise,
    [SETT__C_SELECT] = elementwise,
    [SETT__C_UNARY] = elementwise,
    [SETT__C_CONVERT] = convert,
    [SETT__C_PICK] = move_rows,
    [SETT__C_PACK] = move_rows,
    [SETT__C_REDUCE] = reduce,
    [SETT__C_LOAD] = access,
    [SETT__C_STORE] = access,
    [SETT__C_ATOM] = atomic,
    [SETT__C_CPASYNC] = cp_async,
    [SETT__C_BARRIER] = barrier,
    [SETT__C_WARP] = ask_warp,
    [SETT__C_SHFL] = shuffle,
    [SETT__C_IF] = open_if,
    [SETT__C_ELSE] = turn_to_else,
    [SETT__C_FOR] = open_for,
    [SETT__C_LOOP] = open_loop,
    [SETT__C_WHILE] = test_loop,
    [SETT__C_END] = close_region,
    [SETT__C_INLINE] = call,
    [SETT__C_PRINTF] = with_places,
    [SETT__C_FORM] = form,
};

/* Where control parts or joins, or threads wait for each other. */
static bool is_control(const sett__op *o)
{
    uint8_t cls = sett__ops[o->code].cls;
    return sett__opens(o->code) || sett__closes(o->code) || cls == SETT__C_WHILE || cls == SETT__C_BARRIER;
}

static sett_status decode(decoder *d, const sett__op *o)
{
    uint8_t cls = sett__ops[o->code].cls;
    bool access = cls == SETT__C_LOAD || cls == SETT__C_STORE || cls == SETT__C_ATOM;
    if (!access && !(sett__ops[o->code].flags & SETT__P))
        d->last_base = SETT__NONE; /* control may part there, or another warp go on */
    if (cls >= SETT__COUNT(of_class) || !of_class[cls])
        return fail(d, SETT_E_VERIFY, UNKNOWN);
    return of_class[cls](d, o);
}

static sett_status poll(decoder *d)
{
    d->rows = 0;
    return push(d, (sett__insn){.step = SETT__S_POLL});
}

/* The last load on which a value depends. */
static uint32_t last_load(const decoder *d, const sett__op *o)
{
    uint8_t cls = sett__ops[o->code].cls;
    uint32_t last = cls == SETT__C_LOAD || cls == SETT__C_ATOM ? d->at + 1 : 0;
    for (int i = 0; i < o->n_args; i++) {
        uint32_t a = sett__arg(d->tape, o, i);
        last = a < d->at && d->loaded[a] > last ? d->loaded[a] : last;
    }
    return last;
}

/* What loops are asked for: do they read what other blocks may write, and do anything else? A loop that waits keeps what it has
 * read, and counts, in registers. One whose registers say where it reads next walks over the memory. */
static void count_effects(decoder *d, const sett__op *o)
{
    uint8_t cls = sett__ops[o->code].cls;
    bool access = cls == SETT__C_LOAD || cls == SETT__C_ATOM;
    bool keeps = cls == SETT__C_STORE && d->tape->op[sett__arg(d->tape, o, 0)].code == SETT__RMEM;
    d->depth -= sett__closes(o->code);
    if (sett__opens(o->code))
        d->before[d->depth++] = d->seen;
    bool reads = access && sett__space_of(&d->tape->op[sett__arg(d->tape, o, 0)]) % SETT__ADDRESS == SETT__GLOBAL;
    uint32_t base = reads ? sett__arg(d->tape, o, 1) : SETT__NONE;
    d->loaded[d->at] = last_load(d, o);
    if (base < d->at && d->loaded[base] > d->seen.moved)
        d->seen.moved = d->loaded[base];
    d->seen.reads += reads || o->code == SETT__PTXV;
    d->seen.stores += keeps;
    d->seen.tries += o->code == SETT__MBTRY || o->code == SETT__MBTEST;
    d->seen.effects += !access && !keeps && !is_control(o) && o->code != SETT__ASSERT && sett__ops[o->code].flags & SETT__W;
}

/* Roots are no instructions; they are met with the first section. */
static sett_status decode_section(decoder *d)
{
    d->p->section[d->section] = d->p->n_code;
    for (d->at = 0; d->at < d->tape->n_op; d->at++) {
        const sett__op *o = &d->tape->op[d->at];
        int section = sett__ops[o->code].cls == SETT__C_ROOT ? SETT__ONCE : d->slot[d->at].section;
        sett_status status = section == d->section ? decode(d, o) : SETT_OK;
        if (section == d->section)
            count_effects(d, o);
        if (!status && d->section == SETT__BODY && d->rows > SETT__LONG_ROWS)
            status = poll(d);
        if (status)
            return status;
    }
    d->at = d->tape->n_op ? d->tape->n_op - 1 : 0;
    return push(d, (sett__insn){.step = SETT__S_STOP});
}

static sett_status decode_all(decoder *d)
{
    sett_status status = sett__slots(d->p, d->slot, d->error);
    bool strips = !status && !d->p->plain && sett__find_strips(d->tape, d->slot, d->kind);
    for (d->section = 0; d->section < SETT__N_SECTIONS && !status; d->section++)
        status = decode_section(d);
    d->p->params_len = (uint32_t)sett__packed_at(&d->tape->sig, SETT__NONE);
    d->p->n_access = strips && !status ? sett__strip_accesses(d->p) : 0;
    return status;
}

/* Of what p->rewritten holds already. */
sett_status sett__decode(sett__program *p, const sett__tape *given, sett_error *e)
{
    p->given = given;
    p->tape = p->rewritten.changed ? &p->rewritten.tape : given;
    p->wide = sett__wide_best();
    size_t n = (size_t)p->tape->n_op + 1;
    decoder d = {.p = p, .tape = p->tape, .last_base = SETT__NONE, .error = e};
    d.slot = calloc(n, sizeof *d.slot);
    d.root_of = calloc(n, sizeof *d.root_of);
    d.insn_of = calloc(n, sizeof *d.insn_of);
    d.loaded = calloc(n, sizeof *d.loaded);
    d.kind = calloc(n, sizeof *d.kind);
    sett_status status = d.slot && d.root_of && d.insn_of && d.loaded && d.kind ? decode_all(&d) : sett__no_room(e);
    free(d.slot);
    free(d.root_of);
    free(d.insn_of);
    free(d.loaded);
    free(d.kind);
    return status;
}
