/* SPDX-License-Identifier: Apache-2.0 */
/* Branches, thread and block indices, barriers, shuffles; what all regions share.
 *
 * The end of an if is recorded when its region ends; a sett_else turns that end into the
 * else, so nothing may have been recorded in between. */
#include "control.h"

static const char *opener_name(const sett_build *b, const sett__region *r)
{
    return sett__opener(b->op[r->op].code);
}

/* ---- opening and ending --------------------------------------------------------- */
/* last: the op before the opener, where what moves out of the region goes. */
static void region_push(sett_build *b, sett_site site, uint32_t op, uint32_t last)
{
    if (b->error.status)
        return;
    if (b->depth >= SETT__MAX_DEPTH) {
        sett__fail(b, site, opener_name(b, &(sett__region){.op = op}), SETT_E_LIMIT, "regions nest up to %d deep", SETT__MAX_DEPTH);
        return;
    }
    b->region[b->depth++] = (sett__region){.op = op, .last = last, .serial = ++b->serials, .site = site};
    b->op[op].imm = b->serials; /* for messages; cleared when the tape is made */
}

/* A build that has failed runs the body once more or less: nothing is recorded. */
sett_region sett__poisoned_region(sett_build *b)
{
    return (sett_region){.b = b, .iv = b ? &b->poison->val : NULL, .open = b != NULL};
}

static sett_region opened(sett_build *b)
{
    if (b->error.status)
        return sett__poisoned_region(b);
    return (sett_region){.b = b, .iv = &b->poison->val, .serial = b->serials, .open = true};
}

sett_region sett__open_region(sett_build *b, sett_site site, const sett__emit *opener)
{
    uint32_t last = b->tail, op = sett__record(b, site, opener);
    region_push(b, site, op, last);
    return opened(b);
}

const sett_val *sett__need_scalar(const sett__ctx *c, const sett_val *v, const char *what, bool boolean)
{
    if (!sett__use_val(c->b, c->site, c->func, v))
        return NULL;
    v = sett__materialise(c->site, v);
    sett_dtype dtype = (sett_dtype)v->dtype;
    if (c->b->error.status)
        return NULL;
    bool ok = v->scalar && (boolean ? dtype == SETT_BOOL : sett__dtype_is_int(dtype));
    SETT__FAIL_IF(c->b, c->site, c->func, !ok, NULL, SETT_E_DTYPE, "%s must be %s scalar, not %s of shape %s", what,
        boolean ? "a Boolean" : "an integer", sett_dtype_name(dtype), sett__arg_text(c->b, v->shape));
    return v;
}

sett_region sett_if_begin(sett_site site, sett_build *b, sett_val *cond)
{
    b = sett__given(b, site, "sett_if");
    sett__ctx c = {b, site, "sett_if"};
    if (!b)
        return sett__poisoned_region(NULL);
    const sett_val *v = sett__need_scalar(&c, cond, "the condition", true);
    if (!v)
        return sett__poisoned_region(b);
    return sett__open_region(b, site, &(sett__emit){.code = SETT__IF, .n_args = 1, .args = &v->id});
}

/* Of the ops from `loop` on up to `test`, those that `test` needs are marked. Does one of them read what may change: memory
 * that others see, or registers that the loop writes? */
static bool changes_test(const sett_build *b, uint32_t loop, uint32_t test, uint8_t *needed)
{
    needed[test - loop] = 1;
    for (uint32_t i = test; i > loop; i--) {
        const sett__op *op = &b->op[i];
        if (!needed[i - loop])
            continue;
        uint32_t root = op->code == SETT__LOAD && !sett__attr(b->arg, op, SETT__AT_ACCESS_VOLATILE) ? b->arg[op->args] : SETT__NONE;
        bool own = root != SETT__NONE && b->op[root].code == SETT__RMEM;
        if (!own && i != test && !(sett__ops[op->code].flags & (SETT__P | SETT__E)))
            return true;
        for (uint32_t w = loop; own && w < b->n_op; w++)
            for (int k = 0; k < b->op[w].n_args && b->op[w].code != SETT__LOAD; k++) /* a store, or another op that names it */
                if (b->arg[b->op[w].args + (uint32_t)k] == root)
                    return true;
        for (int k = 0; k < op->n_args; k++)
            if (b->arg[op->args + k] != SETT__NONE && b->arg[op->args + k] > loop)
                needed[b->arg[op->args + k] - loop] = 1;
    }
    return false;
}

/* A while loop of which nothing changes the condition would never end; one that is known to be false is none. */
static void check_while(sett_build *b, const sett__region *r)
{
    uint32_t test = r->op + 1;
    while (test < b->n_op && (b->op[test].code != SETT__WHILE || b->op[test].other != r->serial))
        test++;
    const sett__op *cond = test < b->n_op ? &b->op[b->arg[b->op[test].args]] : NULL;
    if (!cond || (cond->code == SETT__CONST && !cond->imm))
        return;
    uint8_t *needed = sett__mem_zeroed(b->mem, test - r->op + 1);
    if (!needed)
        sett__fail(b, r->site, "sett_while", SETT_E_MEMORY, "out of memory");
    else if (!changes_test(b, r->op, test, needed))
        sett__fail(b, r->site, "sett_while", SETT_E_REGION,
            "nothing in the loop changes its condition: let it read, in the loop, a sett_var that the body sets, or memory");
    sett__mem_free(b->mem, needed);
}

static const char empty_branch[] = "this branch records nothing; a C `continue` does not leave a loop of the kernel";

static void end_region(sett_build *b, sett_site site)
{
    sett__region r = b->region[b->depth - 1];
    if (b->op[r.op].code == SETT__LOOP)
        check_while(b, &r);
    uint32_t end = sett__record(b, site, &(sett__emit){.code = SETT__END});
    if (b->error.status)
        return;
    sett__note nothing = {.text = empty_branch};
    if (end == r.op + 1 && b->op[r.op].code != SETT__FOR && b->op[r.op].code != SETT__LOOP)
        sett__note_add(&(sett__ctx){b, site, opener_name(b, &r)}, &nothing);
    b->depth--;
    /* The end itself belongs to the block outside. */
    b->op[end].depth = (uint16_t)b->depth;
    b->op[end].other = b->depth ? b->region[b->depth - 1].serial : 0;
    b->op[end].imm = r.op;
    b->ended_if = b->op[r.op].code == SETT__IF ? end : SETT__NONE;
    b->ended_last = r.last;
}

void sett_region_end(sett_region *r)
{
    sett_build *b = r ? r->b : NULL;
    if (!r)
        return;
    r->open = false;
    if (!sett__lives("sett_region_end", b, SETT__K_REGION) || b->error.status || sett__copies_end(r) || !b->depth)
        return;
    sett__region *top = &b->region[b->depth - 1];
    const char *name = opener_name(b, top);
    if (top->serial != r->serial)
        sett__fail(b, top->site, name, SETT_E_REGION, "this region was left by break, return or goto");
    else if (!r->done)
        sett__fail(b, top->site, name, SETT_E_REGION, "this region was left by break");
    else {
        end_region(b, top->site);
        sett__rest_begin(r);
    }
}

/* The op recorded after the if that ended, if any: it stands where only the else may. */
static uint32_t op_after_if(const sett_build *b)
{
    return b->ended_if == SETT__NONE ? SETT__NONE : b->next[b->ended_if];
}

sett_region sett_else_begin(sett_site site, sett_build *b)
{
    b = sett__given(b, site, "sett_else");
    if (!b || b->error.status)
        return sett__poisoned_region(b);
    uint32_t end = b->ended_if, op = op_after_if(b);
    uint32_t home = b->depth ? b->region[b->depth - 1].serial : 0;
    if (end == SETT__NONE || !end || b->op[end].other != home || b->op[end].code != SETT__END) {
        sett__fail(b, site, "sett_else", SETT_E_REGION, "there is no sett_if that ended just before");
        return sett__poisoned_region(b);
    }
    if (op != SETT__NONE) {
        const sett__site_ref *at = b->op[op].site == SETT__NONE ? NULL : &b->site[b->op[op].site];
        sett_site where = at ? (sett_site){b->string[at->file], NULL, (int)at->line, 0} : site;
        sett__fail(b, where, "sett_else", SETT_E_REGION, "this was recorded between sett_if and its sett_else");
        return sett__poisoned_region(b);
    }
    b->op[end].code = SETT__ELSE;
    if (b->notes && b->notes->text == empty_branch && b->op[end].imm + 1 == end)
        b->notes = b->notes->older; /* an if of which only the else does anything is one */
    b->op[end].site = sett__site(b, site);
    b->ended_if = SETT__NONE;
    region_push(b, site, end, b->ended_last);
    return opened(b);
}

/* ---- indices ----------------------------------------------------------------------- */
static_assert(SETT__LANE - SETT__TID + 1 == SETT__COUNT(((sett_build *)0)->asked), "one name each");
static sett_val *special_index(sett_site site, sett_build *b, const char *func, sett__code code, int dim)
{
    b = sett__given(b, site, func);
    if (!sett__in_kernel(b, site, func))
        return b ? &b->poison->val : NULL;
    SETT__FAIL_IF(b, site, func, dim < 0 || dim > 2, &b->poison->val, SETT_E_RANGE, "dim is %d, it may be 0, 1 or 2", dim);
    uint32_t id = sett__record(b, site, &(sett__emit){.code = code, .dtype = SETT_I32, .sub = (uint8_t)dim, .n = 1});
    sett_val *v = sett__scalar_val(b, id);
    const char **asked = &b->asked[code - SETT__TID];
    *asked = *asked ? *asked : func;
    /* Known by the block's extents. */
    if (!b->error.status && v->lo == v->hi && !b->no_fold)
        return sett__const_bits(b, site, SETT_I32, (uint64_t)v->lo);
    return v;
}

sett_val *sett_thread_idx_at(sett_site site, sett_build *b, int dim)
{
    return special_index(site, b, "sett_thread_idx", SETT__TID, dim);
}

sett_val *sett_block_idx_at(sett_site site, sett_build *b, int dim)
{
    return special_index(site, b, "sett_block_idx", SETT__BID, dim);
}

sett_val *sett_block_dim_at(sett_site site, sett_build *b, int dim)
{
    return special_index(site, b, "sett_block_dim", SETT__BDIM, dim);
}

sett_val *sett_grid_dim_at(sett_site site, sett_build *b, int dim)
{
    return special_index(site, b, "sett_grid_dim", SETT__GDIM, dim);
}

sett_val *sett__lane_idx(sett_site site, sett_build *b, const char *func)
{
    return special_index(site, b, func, SETT__LANE, 0);
}

sett_val *sett_lane_idx_at(sett_site site, sett_build *b)
{
    return sett__lane_idx(site, b, "sett_lane_idx");
}

sett_val *sett__thread_number(sett_site site, sett_build *b, const char *func)
{
    sett_val *at = special_index(site, b, func, SETT__TID, 2);
    for (int dim = 1; dim >= 0; dim--) {
        sett_val *extent = special_index(site, b, func, SETT__BDIM, dim);
        sett_val *idx = special_index(site, b, func, SETT__TID, dim);
        if (b->error.status)
            return &b->poison->val;
        at = sett__op2(b, site, SETT__ADD, 0, sett__op2(b, site, SETT__MUL, 0, at, extent), idx);
    }
    return at;
}

sett_val *sett_warp_idx_at(sett_site site, sett_build *b)
{
    b = sett__given(b, site, "sett_warp_idx");
    if (!b)
        return NULL;
    sett_val *at = sett__thread_number(site, b, "sett_warp_idx");
    if (b->error.status)
        return &b->poison->val;
    return sett__op2(b, site, SETT__DIV, true, at, sett__const_bits(b, site, SETT_I32, 32));
}

/* ---- threads together ------------------------------------------------------------------ */
static void record_barrier(sett_site site, sett_build *b, const char *func, sett__code code)
{
    b = sett__given(b, site, func);
    if (sett__in_kernel(b, site, func))
        sett__record(b, site, &(sett__emit){.code = code});
}

void sett_sync_threads_at(sett_site site, sett_build *b)
{
    record_barrier(site, b, "sett_sync_threads", SETT__BARRIER);
}

void sett_sync_warp_at(sett_site site, sett_build *b)
{
    record_barrier(site, b, "sett_sync_warp", SETT__SYNCWARP);
}

void sett_griddepcontrol_at(sett_site site, sett_build *b, bool wait)
{
    record_barrier(site, b, wait ? "sett_griddepcontrol_wait" : "sett_griddepcontrol_launch_dependents", wait ? SETT__DEPWAIT : SETT__DEPLAUNCH);
}

/* Lanes exchange registers of 16 or 32 bits; others travel as those. */
static sett_dtype carrier(sett_dtype dtype)
{
    int bits = sett_dtype_bits(dtype);
    return bits == 64 ? SETT_U32 : bits < 16 ? SETT_I32 : dtype;
}

static uint32_t convert_op(sett_build *b, sett_site site, uint32_t id, sett_dtype to, uint32_t n, bool bits)
{
    if ((sett_dtype)b->op[id].dtype == to)
        return id;
    return sett__record(b, site,
        &(sett__emit){.code = bits ? SETT__BITCAST : SETT__CONVERT, .dtype = to, .n = n, .n_args = 1, .args = &id});
}

static uint32_t shuffle_op(sett_build *b, sett_site site, const sett_val *v, int how, const sett_val *lane, int32_t width)
{
    sett_dtype dtype = (sett_dtype)v->dtype, as = carrier(dtype);
    bool bits = sett_dtype_bits(dtype) == 64;
    uint32_t n = v->n * (bits ? 2 : 1);
    uint32_t id = convert_op(b, site, v->id, as, n, bits);
    id = sett__record(b, site,
        &(sett__emit){.code = SETT__SHFL, .dtype = as, .sub = (uint8_t)how, .n = n, .n_attrs = 1, .attrs = &width, .n_args = 2,
            .args = (const uint32_t[]){id, lane->id}});
    return b->error.status ? 0 : convert_op(b, site, id, dtype, v->n, bits);
}

sett_val *sett_shuffle_at(sett_site site, const char *func, sett_val *x, sett_shuffle_op op, sett_arg lane, int width)
{
    if (!sett__use_val(SETT__HOME_OR(x, sett__build_of(lane)), site, func, x))
        return sett__poison_val_of(x);
    sett_build *b = x->head.b;
    sett__ctx c = {b, site, func};
    sett_val *poison = &b->poison->val;
    if (!sett__in_kernel(b, site, func))
        return poison;
    if (!sett__use_arg(b, site, func, lane))
        return poison;
    const sett_val *v = sett__materialise(site, x);
    SETT__FAIL_IF(b, site, func, width < 2 || width > 32 || (width & (width - 1)), poison, SETT_E_ARGUMENT,
        "the width is %d, it must be 2, 4, 8, 16 or 32", width);
    SETT__FAIL_IF(b, site, func, op < SETT_SHUFFLE_IDX || op > SETT_SHUFFLE_BFLY, poison, SETT_E_ARGUMENT,
        "%d is not a shuffle", (int)op);
    SETT__FAIL_IF(b, site, func, lane.kind != SETT_INT && lane.kind != SETT_VALUE && lane.kind != SETT_POISON, poison,
        SETT_E_ARGUMENT, "the lane must be an integer, not %s%s", sett__arg_text(b, lane), sett__of_tuple(lane));
    SETT__FAIL_IF(b, site, func, lane.kind == SETT_INT && (lane.u.i < 0 || lane.u.i > 31), poison, SETT_E_RANGE,
        "the lane is %lld, it may be 0 to 31", (long long)lane.u.i);
    const sett_val *at = lane.kind == SETT_INT ? sett__arg_val(b, site, lane) : sett__need_scalar(&c, lane.u.v, "the lane", false);
    if (!at || b->error.status)
        return poison;
    at = sett__to(b, site, (sett_val *)(uintptr_t)at, SETT_I32);
    uint32_t id = shuffle_op(b, site, v, (int)op, at, width);
    return sett__val(b, id, v->shape, v->scalar);
}

sett_val *sett__warp_reduce(sett_site site, const char *func, sett_val *x, sett_binary_op op, int width)
{
    if (!sett__use_val(NULL, site, func, x))
        return sett__poison_val_of(x);
    sett_build *b = x->head.b;
    bool folds = op == SETT_ADD || op == SETT_MUL || (op >= SETT_MIN && op <= SETT_XOR);
    SETT__FAIL_IF(b, site, func, !folds, &b->poison->val, SETT_E_ARGUMENT, "the operation must be ADD, MUL, MIN, MAX, AND, OR or XOR");
    SETT__FAIL_IF(b, site, func, width < 2 || width > 32 || (width & (width - 1)), &b->poison->val, SETT_E_ARGUMENT,
        "the width is %d, it must be 2, 4, 8, 16 or 32", width);
    sett_dtype dtype = (sett_dtype)x->dtype;
    for (int mask = width / 2; mask; mask /= 2) {
        sett_val *y = sett_shuffle_at(site, func, x, SETT_SHUFFLE_BFLY, sett_arg_i(mask), width);
        x = sett_to_at(site, sett_binary_at(site, func, op, sett_arg_v(x), sett_arg_v(y)), dtype);
    }
    return x;
}

sett_val *sett_warp_reduce_at(sett_site site, sett_val *x, sett_binary_op op, int width)
{
    return sett__warp_reduce(site, "sett_warp_reduce", x, op, width);
}
