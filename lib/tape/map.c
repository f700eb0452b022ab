/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor maps: what must hold of a recipe, whatever the launch gives. */
#include "tape.h"
#include <stddef.h>

const sett__member sett__map_members[] = {
#define MAP_NUMBER(type, name, most) {#name, offsetof(sett__map, name), sizeof(type), 1},
#define MAP_OPTION(name, word, bit, most, first) {#name, offsetof(sett__map, name), 1, 1},
#define MAP_MODE(type, name, least, most_of_0, most, usual) {#name, offsetof(sett__map, name), sizeof(type), SETT__MAP_RANK},
#define MAP_MODE_EXPR(name, word, from) {#name, offsetof(sett__map, name), 0, SETT__MAP_RANK},
#include "map.def"
    {NULL, 0, 0, 0},
};

/* The driver's numbers. Types that it lacks are copied as unsigned ones of their size. */
int sett__map_type(int dtype)
{
    enum { U8, U16, U32, I32, U64, I64, F16, F32, F64, BF16, TF32 = 11 };
    switch (dtype) {
    case SETT_BOOL: case SETT_U8: case SETT_I8: return U8;
    case SETT_U16: case SETT_I16: return U16;
    case SETT_U32: return U32;
    case SETT_I32: return I32;
    case SETT_U64: return U64;
    case SETT_I64: return I64;
    case SETT_F16: return F16;
    case SETT_F32: return F32;
    case SETT_F64: return F64;
    case SETT_BF16: return BF16;
    case SETT_TF32: return TF32;
    default: return sett__dtype_valid(dtype) && sett_dtype_bits((sett_dtype)dtype) == 8 ? U8 : -1;
    }
}

uint32_t sett__map_bytes(const sett__map *m)
{
    const uint64_t row = m->box[0] * (uint64_t)sett__dtype_bytes((sett_dtype)m->dtype);
    uint64_t n = m->swizzle ? 16u << m->swizzle : row;
    for (int k = 1; k < m->rank; k++)
        n *= ((uint32_t)m->box[k] + m->step[k] - 1) / m->step[k];
    return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

#define REFUSE(status, ...) sett__error(err, status, "map %.100s: " __VA_ARGS__)

/* What is constant of an extent or a stride is checked now, the rest at launch. */
static sett_status verify_number(const sett__sig *s, const sett__map *m, int k, bool stride, sett_error *err)
{
    const sett__expr e = stride ? m->stride[k] : m->extent[k];
    const char *what = stride ? "stride" : "extent";
    int64_t x;
    if (!sett__expr_valid(s, e))
        return REFUSE(SETT_E_VERIFY, "%s %d is not a valid expression", m->name, what, k);
    if (!sett__expr_const(s, e, &x))
        return SETT_OK;
    if (!stride && (x < 1 || x > UINT32_MAX))
        return REFUSE(SETT_E_LIMIT, "extent %d is %lld, not 1 to 2^32 - 1", m->name, k, (long long)x);
    if (stride && (x < 0 || x >> 40))
        return REFUSE(SETT_E_LIMIT, "stride %d is %lld bytes, not 0 to 2^40 - 1", m->name, k, (long long)x);
    if (stride && x % 16)
        return REFUSE(SETT_E_ALIGN, "stride %d is %lld bytes, which is not a multiple of 16", m->name, k, (long long)x);
    return SETT_OK;
}

static sett_status verify_mode(const sett__map *m, const char *what, int k, uint32_t x, uint32_t least, uint32_t most, sett_error *err)
{
    if (x >= least && x <= most)
        return SETT_OK;
    if (least == most)
        return REFUSE(SETT_E_LIMIT, "%s %d is %u, not %u, as the first mode's is", m->name, what, k, x, most);
    return REFUSE(SETT_E_LIMIT, "%s %d is %u, not %u to %u", m->name, what, k, x, least, most);
}

static sett_status verify_modes(const sett__map *m, sett_error *err)
{
    sett_status status = SETT_OK;
    for (int k = 0; k < m->rank && !status; k++) {
#define MAP_MODE(type, name, least, most_of_0, most, usual) \
    if (!status) \
        status = verify_mode(m, #name, k, m->name[k], least, k ? most : most_of_0, err);
#include "map.def"
    }
    return status;
}

static sett_status verify_box(const sett__map *m, sett_error *err)
{
    const uint32_t inner = (uint32_t)m->box[0] * (uint32_t)sett__dtype_bytes((sett_dtype)m->dtype);
    if (inner % 16)
        return REFUSE(SETT_E_ALIGN, "a row of its box has %u bytes, which is not a multiple of 16", m->name, inner);
    if (m->swizzle && inner > 16u << m->swizzle)
        return REFUSE(SETT_E_SHAPE, "a row of its box has %u bytes, and the swizzle takes at most %u", m->name, inner, 16u << m->swizzle);
    return SETT_OK;
}

sett_status sett__map_verify(const sett__sig *s, const sett__map *m, sett_error *err)
{
    if (m->param >= s->n_param || s->param[m->param].scalar)
        return REFUSE(SETT_E_VERIFY, "it is of no tensor", m->name);
    if (m->rank < 1 || m->rank > SETT__MAP_RANK)
        return REFUSE(SETT_E_RANK, "it has %u modes, not 1 to %d", m->name, m->rank, SETT__MAP_RANK);
    if (sett__map_type(m->dtype) < 0)
        return REFUSE(SETT_E_DTYPE, "there are no maps of %s", m->name, sett__dtype_valid(m->dtype) ? sett_dtype_name((sett_dtype)m->dtype) : "?");
    bool known = true;
#define MAP_OPTION(name, word, bit, most, first) known = known && m->name <= most;
#include "map.def"
    if (!known)
        return REFUSE(SETT_E_VERIFY, "unknown attributes", m->name);
    if (m->nan && (!sett__dtype_is_float((sett_dtype)m->dtype) || sett_dtype_bits((sett_dtype)m->dtype) == 8))
        return REFUSE(SETT_E_DTYPE, "what is outside cannot be NaN in %s", m->name, sett_dtype_name((sett_dtype)m->dtype));
    sett_status status = verify_modes(m, err);
    status = status ? status : verify_box(m, err);
    for (int k = 0; k < m->rank && !status; k++)
        status = verify_number(s, m, k, false, err);
    for (int k = 1; k < m->rank && !status; k++)
        status = verify_number(s, m, k, true, err);
    return status;
}
