/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold of a signature: a launch and every engine evaluate it without looking back. */
#include "tape.h"
#include <stddef.h>
#include <string.h>

static bool power_of_two(uint64_t x)
{
    return x && !(x & (x - 1));
}

static bool scalar_type(int dtype)
{
    char cls = sett__dtype_class((sett_dtype)dtype);
    return cls && strchr("biuhfd", cls);
}

static const char *name_of(const sett__sig *s, uint32_t i)
{
    const uint32_t maps = s->n_sym + s->n_param;
    return i < s->n_sym ? s->sym[i].name : i < maps ? s->param[i - s->n_sym].name : s->map[i - maps].name;
}

/* One name, one thing: a launch finds arguments and symbols by name alone. */
static sett_status verify_names(const sett__sig *s, sett_error *err)
{
    uint32_t n = s->n_sym + s->n_param + s->n_map;
    for (uint32_t i = 0; i < n; i++) {
        const char *name = name_of(s, i);
        if (!name || !*name || strlen(name) > SETT__MAX_STRING)
            return sett__error(err, SETT_E_VERIFY, "%s %u has no name, or too long a one",
                i < s->n_sym ? "symbol" : i < s->n_sym + s->n_param ? "parameter" : "map",
                i < s->n_sym ? i : i < s->n_sym + s->n_param ? i - s->n_sym : i - s->n_sym - s->n_param);
        for (uint32_t j = 0; j < i; j++)
            if (!strcmp(name, name_of(s, j)))
                return sett__error(err, SETT_E_VERIFY, "two symbols or parameters are called %.100s", name);
    }
    return SETT_OK;
}

/* What a layout names was there before it: the text form declares in this order. */
static sett_status verify_order(const sett__sig *s, const sett__param *p, sett__expr e, sett_error *err)
{
    for (uint32_t i = 0; i < e.count; i++) {
        const sett__xop *x = &s->code[e.first + i];
        if (x->code == SETT__X_SCALAR && x->imm >= p - s->param)
            return sett__error(err, SETT_E_VERIFY, "parameter %.100s: its layout names %.100s, which comes after it", p->name, s->param[x->imm].name);
    }
    return SETT_OK;
}

static sett_status verify_leaf(const sett__sig *s, const sett__param *p, const sett__leaf *l, sett_error *err)
{
    int64_t extent;
    if (!sett__expr_valid(s, l->extent) || !sett__expr_valid(s, l->stride))
        return sett__error(
            err, SETT_E_VERIFY, "parameter %.100s: an extent or stride is not a valid expression", p->name);
    bool fixed = true;
    for (uint32_t i = 0; i < l->extent.count; i++)
        fixed &=
            s->code[l->extent.first + i].code != SETT__X_SYM && s->code[l->extent.first + i].code != SETT__X_SCALAR;
    if (fixed && (!sett__expr_const(s, l->extent, &extent) || extent < 0))
        return sett__error(err, SETT_E_VERIFY, "parameter %.100s: an extent is negative or has no value", p->name);
    sett_status status = verify_order(s, p, l->extent, err);
    return status ? status : verify_order(s, p, l->stride, err);
}

static sett_status verify_layout(const sett__sig *s, const sett__param *p, sett_error *err)
{
    if (p->rank > SETT__MAX_RANK || p->n_leaf > SETT__MAX_LEAVES || p->n_leaf > s->n_leaf ||
        p->leaf > s->n_leaf - p->n_leaf)
        return sett__error(err, SETT_E_VERIFY, "parameter %.100s: too many modes or leaves", p->name);
    int modes = 0;
    for (uint32_t i = 0; i < p->n_leaf; i++) {
        const sett__leaf *l = &s->leaf[p->leaf + i];
        if (l->mode != modes && l->mode + 1 != modes)
            return sett__error(
                err, SETT_E_VERIFY, "parameter %.100s: leaves are not in the order of their modes", p->name);
        modes = l->mode + 1;
        sett_status status = verify_leaf(s, p, l, err);
        if (status)
            return status;
    }
    if (modes != p->rank)
        return sett__error(err, SETT_E_VERIFY, "parameter %.100s: rank %u with %d modes", p->name, p->rank, modes);
    return SETT_OK;
}

const sett__member sett__param_options[] = {
#define PARAM_OPTION(name, bit, first, second) {#name, offsetof(sett__param, name), 1, 1},
#include "sig.def"
    {NULL, 0, 0, 0},
};

static sett_status verify_param(const sett__sig *s, const sett__param *p, sett_error *err)
{
    if (!sett__dtype_valid(p->dtype) || (p->scalar && !scalar_type(p->dtype)))
        return sett__error(err, SETT_E_VERIFY, "parameter %.100s: it has no type that can be passed", p->name);
    bool number = p->scalar == SETT__BY_NUMBER ? !p->bytes : p->bytes && p->dtype == SETT_U8 && p->align <= SETT__VALUE_ALIGN;
    bool given = false, known = true;
#define PARAM_OPTION(name, bit, first, second) given = given || p->name, known = known && p->name <= (sizeof(second) > 1 ? 3 : 1);
#include "sig.def"
    if (p->scalar)
        return p->scalar <= SETT__BY_STRUCT && number && power_of_two(p->align) && !p->n_leaf && !p->rank && !given
                   ? SETT_OK
                   : sett__error(err, SETT_E_VERIFY, "parameter %.100s: a scalar with a tensor's attributes", p->name);
    if (!power_of_two(p->align) || p->align > SETT__MAX_PARAM_ALIGN)
        return sett__error(err, SETT_E_VERIFY, "parameter %.100s: alignment %u is not a power of two up to %d", p->name,
            p->align, SETT__MAX_PARAM_ALIGN);
    if (!known)
        return sett__error(err, SETT_E_VERIFY, "parameter %.100s: unknown attributes", p->name);
    return verify_layout(s, p, err);
}

/* Where parameter i begins, if all before it end at *end, which is then its own end. */
static uint64_t place_of(const sett__sig *s, uint32_t i, uint64_t *end)
{
    const uint32_t maps = s->n_param + s->n_sym;
    const sett__param *p = i < s->n_param ? &s->param[i] : NULL;
    uint64_t align = i >= maps            ? SETT__MAP_ALIGN
                     : !p                 ? (s->sym[i - s->n_param].wide ? 8 : 4)
                     : p->bytes           ? p->align
                     : p->scalar          ? (uint64_t)sett__dtype_bytes((sett_dtype)p->dtype)
                                          : 8;
    uint64_t at = (*end + align - 1) & (0 - align);
    *end = at + (i >= maps ? SETT__MAP_BYTES : p && p->bytes ? p->bytes : align);
    return at;
}

uint64_t sett__packed_at(const sett__sig *s, uint32_t index)
{
    uint64_t end = 0;
    const uint32_t n = s->n_param + s->n_sym + s->n_map;
    for (uint32_t i = 0; i < n && i < index; i++)
        place_of(s, i, &end);
    return index < n ? place_of(s, index, &end) : end;
}

uint32_t sett__packed_places(const sett__sig *s, uint16_t *at)
{
    uint64_t end = 0;
    const uint32_t n = s->n_param + s->n_sym + s->n_map;
    for (uint32_t i = 0; i < n; i++)
        at[i] = (uint16_t)place_of(s, i, &end);
    return n;
}

static sett_status verify_block(const sett__sig *s, sett_error *err)
{
    uint64_t at = sett__packed_at(s, SETT__NONE);
    return at <= SETT__PARAM_BYTES ? SETT_OK
                                   : sett__error(err, SETT_E_LIMIT, "the parameters take %llu bytes, of at most %d",
                                         (unsigned long long)at, SETT__PARAM_BYTES);
}

/* What is constant of three extents is checked now, the rest at launch. */
static sett_status verify_dims(const sett__sig *s, const char *what, const sett__expr dim[3], int64_t least,
    const int64_t most[3], int64_t most_product, sett_error *err)
{
    int64_t product = 1, x;
    for (int d = 0; d < 3; d++) {
        if (!dim[d].count)
            continue;
        if (!sett__expr_valid(s, dim[d]))
            return sett__error(err, SETT_E_VERIFY, "%s: extent %d is not a valid expression", what, d);
        if (!sett__expr_const(s, dim[d], &x))
            continue;
        if (x < least || x > most[d])
            return sett__error(err, SETT_E_LIMIT, "%s: extent %d is %lld, not %lld to %lld", what, d, (long long)x,
                (long long)least, (long long)most[d]);
        product *= x;
        if (most_product && product > most_product)
            return sett__error(err, SETT_E_LIMIT, "%s: more than %lld in all", what, (long long)most_product);
    }
    return SETT_OK;
}

/* What is constant; a launch checks the rest. */
static sett_status verify_clusters(const sett__sig *s, sett_error *err)
{
    int64_t all = 1, grid, cluster;
    for (int d = 0; d < 3; d++) {
        if (!s->cluster[d].count || !sett__expr_const(s, s->cluster[d], &cluster))
            continue;
        all *= cluster;
        if (s->grid[d].count ? sett__expr_const(s, s->grid[d], &grid) && grid % cluster : cluster > 1)
            return sett__error(err, SETT_E_DIVIDE, "grid: extent %d is %lld, which is not a multiple of the cluster's, %lld", d,
                s->grid[d].count ? (long long)grid : 1LL, (long long)cluster);
    }
    return all <= sett__cluster_most(s) ? SETT_OK
                                        : sett__error(err, SETT_E_LIMIT, "a cluster of %lld blocks: more than %d need `launch big_cluster`",
                                              (long long)all, SETT__CLUSTER_MOST);
}

static sett_status verify_hints(const sett__sig *s, sett_error *err)
{
    enum { REGISTERS = 255, BLOCKS = 32 };
    int64_t x;
    bool fixed = true;
    for (int d = 0; d < 3; d++)
        fixed &= !s->block[d].count || sett__expr_const(s, s->block[d], &x);
    if (s->cooperative > 1 || s->big_cluster > 1 || s->max_registers > REGISTERS || s->min_blocks > BLOCKS)
        return sett__error(err, SETT_E_LIMIT, "max_registers %u, min_blocks %u: at most %d and %d", s->max_registers, s->min_blocks, REGISTERS, BLOCKS);
    return fixed || !s->min_blocks ? SETT_OK : sett__error(err, SETT_E_VERIFY, "min_blocks needs a block of constant extents");
}

static sett_status verify_check(const sett__sig *s, const sett__check *k, sett_error *err)
{
    if (!sett__expr_valid(s, k->expr))
        return sett__error(err, SETT_E_VERIFY, "a launch check is not a valid expression");
    if (!k->text || strlen(k->text) > SETT__MAX_STRING || (k->file && (!*k->file || strlen(k->file) > SETT__MAX_STRING)))
        return sett__error(err, SETT_E_VERIFY, "a launch check has no text, or too long a one");
    return SETT_OK;
}

static sett_status verify_symbol(const sett__sig *s, uint32_t i, sett_error *err)
{
    const sett__symbol *sym = &s->sym[i];
    if (sym->div < 1 || sym->wide > 1)
        return sett__error(err, SETT_E_VERIFY, "symbol %.100s: its divisor must be positive", sym->name);
    if ((sym->value.count > 0) != (i >= s->n_sym - s->n_derived))
        return sett__error(err, SETT_E_VERIFY, "symbol %.100s: those that have a value follow the others", sym->name);
    if (sym->value.count && (sym->wide || sym->div != 1 || !sett__expr_valid(s, sym->value)))
        return sett__error(err, SETT_E_VERIFY, "symbol %.100s: its value is not a valid expression of 32 bits", sym->name);
    return SETT_OK;
}

sett_status sett__sig_verify(const sett__sig *s, sett_error *err)
{
    static const int64_t grid[] = {INT32_MAX, 65535, 65535}, block[] = {1024, 1024, 64}, cluster[] = {16, 16, 16};
    if (s->n_sym > SETT__MAX_PARAMS || s->n_derived > s->n_sym || s->n_param > SETT__MAX_PARAMS)
        return sett__error(err, SETT_E_LIMIT, "a kernel has at most %d parameters and symbols", SETT__MAX_PARAMS);
    if (s->n_map > SETT__MAX_MAPS)
        return sett__error(err, SETT_E_LIMIT, "a kernel has at most %d tensor maps", SETT__MAX_MAPS);
    sett_status status = verify_names(s, err);
    for (uint32_t i = 0; !status && i < s->n_sym; i++)
        status = verify_symbol(s, i, err);
    for (uint32_t i = 0; !status && i < s->n_param; i++)
        status = verify_param(s, &s->param[i], err);
    for (uint32_t i = 0; !status && i < s->n_map; i++)
        status = sett__map_verify(s, &s->map[i], err);
    if (!status)
        status = verify_block(s, err);
    if (!status)
        status = verify_dims(s, "grid", s->grid, 0, grid, 0, err);
    if (!status)
        status = verify_dims(s, "block", s->block, 1, block, 1024, err);
    if (!status)
        status = verify_dims(s, "cluster", s->cluster, 1, cluster, SETT__BIG_CLUSTER_MOST, err);
    if (!status)
        status = verify_clusters(s, err);
    if (!status)
        status = verify_hints(s, err);
    if (!status && s->n_check > SETT__MAX_CHECKS)
        status = sett__error(err, SETT_E_LIMIT, "a kernel has at most %d launch checks", SETT__MAX_CHECKS);
    for (uint32_t i = 0; !status && i < s->n_check; i++)
        status = verify_check(s, &s->check[i], err);
    if (!status && (s->smem > SETT__MAX_SMEM || s->smem_align > SETT__MAX_SMEM_ALIGN ||
                    (s->smem_align ? !power_of_two(s->smem_align) : s->smem != 0 || s->smem_more.count) ||
                    (s->smem_more.count && !sett__expr_valid(s, s->smem_more))))
        status = sett__error(err, SETT_E_LIMIT, "%u bytes of shared memory aligned to %u: not possible on any device",
            s->smem, s->smem_align);
    return status;
}
