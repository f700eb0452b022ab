/* SPDX-License-Identifier: Apache-2.0 */
/* What arithmetic makes of poison: a result has it where an operand has. A choice has that of its condition and of what was chosen; bits
 * that an operand decides alone (x and 0, x or ones), that are moved or cut off, have only what they are made of. */
#include "follow.h"

/* Of one lane, the bytes of an operand's row: a bit a byte. */
static uint32_t lane_bytes(const follow *f, uint32_t k, uint32_t row, int lane, uint32_t *read)
{
    const sett__arithmetic *m = &f->i->math;
    uint32_t bytes = 0;
    for (uint32_t b = 0; b < 1u << m->lg[k]; b++)
        bytes |= (sett__poison_byte(f, m->arg[k], (row << m->lg[k]) + b, m->lg[k], read) >> lane & 1) << b;
    return bytes;
}

static uint32_t row_lanes(const follow *f, uint32_t k, uint32_t row, uint32_t *read)
{
    const sett__arithmetic *m = &f->i->math;
    return sett__poison_of(f, m->arg[k], m->arg[k] & SETT__REF_SPLAT ? 0 : row << m->lg[k], 1u << m->lg[k], read);
}

static uint64_t bits_of(const follow *f, uint32_t k, uint32_t row, int lane)
{
    const sett__arithmetic *m = &f->i->math;
    const unsigned char *at = sett__at(f->w, m->arg[k]);
    return sett__bits_at(at + ((size_t)(m->arg[k] & SETT__REF_SPLAT ? 0 : row) * WARP << m->lg[k]), lane, m->lg[k]);
}

/* Every bit of the bytes of a mask. */
static uint64_t spread(uint32_t bytes)
{
    uint64_t x = 0;
    for (uint32_t b = 0; b < 8; b++)
        x |= bytes >> b & 1 ? UINT64_C(0xff) << 8 * b : 0;
    return x;
}

static uint32_t gather(uint64_t bits)
{
    uint32_t x = 0;
    for (uint32_t b = 0; b < 8; b++)
        x |= (uint32_t)(bits >> 8 * b & 0xff ? 1 : 0) << b;
    return x;
}

/* ---- by code --------------------------------------------------------------------------------------------------- */
/* Bits of a result that are poison, by one lane's operands and which of their bits are. */
static uint64_t poison_bits(uint8_t code, bool sign, uint64_t x, uint64_t y, uint64_t px, uint64_t py, uint32_t width)
{
    switch (code) {
    case SETT__AND: return (px & py) | (px & y) | (py & x);
    case SETT__OR: return (px & py) | (px & ~y) | (py & ~x);
    case SETT__XOR: return px | py;
    case SETT__SHL: return py ? UINT64_MAX : y >= width ? 0 : px << y;
    default: { /* SHR: a sign that is poison comes in from above */
        const uint64_t above = sign && px >> (width - 1) & 1 ? UINT64_MAX << (y < width ? width - 1 - y : 0) : 0;
        return py ? UINT64_MAX : y >= width ? above : px >> y | above;
    }
    }
}

/* Operations whose bits are looked at one by one; a Boolean's one. */
static void by_bits(const follow *f, uint8_t code, uint32_t row)
{
    const sett__insn *i = f->i;
    uint32_t read = SETT__NONE, some = row_lanes(f, 0, row, &read) | row_lanes(f, 1, row, &read), to[8] = {0};
    const uint32_t width = i->dtype == SETT_BOOL ? 1 : 8u << i->lg;
    const uint64_t in = width < 64 ? (UINT64_C(1) << width) - 1 : UINT64_MAX;
    for (; some; some &= some - 1) {
        const int l = __builtin_ctz(some);
        const uint64_t bits = poison_bits(code, sett__dtype_kind((sett_dtype)i->dtype) == 'i', bits_of(f, 0, row, l) & in, bits_of(f, 1, row, l) & in, spread(lane_bytes(f, 0, row, l, &read)) & in,
            spread(lane_bytes(f, 1, row, l, &read)) & in, width) & in;
        const uint32_t bytes = gather(bits);
        for (uint32_t b = 0; b < 1u << i->lg; b++)
            to[b] |= (bytes >> b & 1) << l;
    }
    for (uint32_t b = 0; b < 1u << i->lg; b++)
        sett__poison_give(f, i->d, (row << i->lg) + b, 1, to[b], read);
}

static void by_choice(const follow *f, uint32_t row)
{
    const sett__insn *i = f->i;
    const sett__arithmetic *m = &i->math;
    uint32_t read = SETT__NONE;
    const uint32_t condition = row_lanes(f, 0, row, &read);
    const uint8_t *which = (const uint8_t *)sett__at(f->w, m->arg[0]) + (m->arg[0] & SETT__REF_SPLAT ? 0 : row * WARP);
    const uint32_t yes = sett__mask_of(which);
    for (uint32_t b = row << i->lg; b < (row + 1) << i->lg; b++) {
        uint32_t rx = read, ry = read;
        const uint32_t x = sett__poison_byte(f, m->arg[1], b, i->lg, &rx) & yes, y = sett__poison_byte(f, m->arg[2], b, i->lg, &ry) & ~yes;
        sett__poison_give(f, i->d, b, 1, condition | x | y, x ? rx : y ? ry : read);
    }
}

/* Between integers: low bytes stay, and those above are the sign's. */
static void by_width(const follow *f, uint32_t row, bool sign)
{
    const sett__insn *i = f->i;
    const sett__arithmetic *m = &i->math;
    const uint32_t from = 1u << m->lg[0];
    for (uint32_t b = 0; b < 1u << i->lg; b++) {
        uint32_t read = SETT__NONE, lanes = 0;
        if (b < from || sign)
            lanes = sett__poison_byte(f, m->arg[0], (row << m->lg[0]) + (b < from ? b : from - 1), m->lg[0], &read);
        sett__poison_give(f, i->d, (row << i->lg) + b, 1, lanes, read);
    }
}

static void by_joining(const follow *f, uint32_t row)
{
    const sett__insn *i = f->i;
    uint32_t read = SETT__NONE, lanes = 0;
    for (uint32_t k = 0; k < i->math.n_args; k++)
        lanes |= row_lanes(f, k, row, &read);
    sett__poison_give(f, i->d, row << i->lg, 1u << i->lg, lanes, read);
}

/* ---- rows ------------------------------------------------------------------------------------------------------- */
static void fold(const follow *f)
{
    const sett__insn *i = f->i;
    uint32_t read = SETT__NONE, lanes = row_lanes(f, 1, 0, &read);
    for (uint32_t row = 0; row < i->n; row++)
        lanes |= row_lanes(f, 0, row, &read);
    sett__poison_give(f, i->d, 0, 1u << i->lg, lanes, read);
}

static bool is_integer(uint8_t dtype)
{
    return sett__dtype_is_int((sett_dtype)dtype);
}

void sett__follow_row(const follow *f)
{
    const sett__insn *i = f->i;
    const sett__tape *t = f->c->program->given;
    const sett__op *o = &t->op[i->op], *x = &t->op[sett__arg(t, o, 0)];
    const bool bits = (o->code == SETT__AND || o->code == SETT__OR || o->code == SETT__XOR || o->code == SETT__SHL || o->code == SETT__SHR) && i->lg <= 3 &&
        i->math.lg[1] == i->lg;
    const bool width = o->code == SETT__CONVERT && is_integer(o->dtype) && is_integer(x->dtype);
    if (i->step == SETT__S_REDUCE) {
        fold(f);
        return;
    }
    for (uint32_t row = 0; row < i->n; row++)
        if (o->code == SETT__SELECT)
            by_choice(f, row);
        else if (bits)
            by_bits(f, o->code, row);
        else if (width)
            by_width(f, row, sett__dtype_kind((sett_dtype)x->dtype) == 'i');
        else
            by_joining(f, row);
}
