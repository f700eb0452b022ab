/* SPDX-License-Identifier: Apache-2.0 */
/* Poison (machine/shadow.h) through products of matrices: an element of D has it where its row of A, its column of B or its own sum has. */
#include "mma.h"

/* The shadow of a value in a warp's frame: words of lanes, a byte of an element each, and who read. */
typedef struct shade {
    uint32_t *mask, *read;
    uint32_t size, skip; /* bytes of an element; skip: words from an element to the next, 0: one for all */
} shade;

static shade shade_at(sett__core *c, const sett__warp *w, uint32_t offset, uint32_t size, bool splat)
{
    sett__shadow *s = c->cta->shadow;
    const size_t at = sett__shadow_word(s, w, offset);
    return (shade){s->mask + at, s->read + at, size, splat ? 0 : size};
}

static shade shade_of(sett__core *c, const sett__warp *w, sett__ref r, uint32_t size)
{
    static uint32_t none[16];
    if (r & SETT__REF_UNIFORM)
        return (shade){none, none, size, 0};
    return shade_at(c, w, r & ~(sett__ref)SETT__REF_FLAGS, size, r & SETT__REF_SPLAT);
}

static uint32_t element_lanes(const shade *x, uint32_t e, uint32_t *read)
{
    uint32_t lanes = 0;
    for (uint32_t k = e * x->skip, end = k + x->size; k < end; k++)
        if (x->mask[k])
            lanes |= x->mask[k], *read = x->read[k];
    return lanes;
}

/* Which rows (columns: which of eight columns) of a matrix that lanes hold have poison: bits. */
static uint32_t lines_of(const shade *x, const sett__fragment *f, uint32_t width, bool columns, uint32_t *read)
{
    uint32_t lines = 0;
    for (uint32_t e = 0; e < f->n; e++)
        for (uint32_t lanes = element_lanes(x, e, read); lanes; lanes &= lanes - 1) {
            const uint32_t at = f->lane[__builtin_ctz(lanes)] + f->element[e];
            lines |= 1u << (columns ? at % width : at / width);
        }
    return lines;
}

/* Eight columns of D. sum: NULL: nothing is added to. */
static void give_columns(const sett__fragment *f, uint32_t rows, uint32_t columns, uint32_t read, const shade *sum, const shade *d)
{
    for (uint32_t e = 0; e < f->n; e++) {
        uint32_t from = read, lanes = sum ? element_lanes(sum, e, &from) : 0;
        for (uint32_t l = 0; l < WARP && rows | columns; l++) {
            const uint32_t at = f->lane[l] + f->element[e];
            lanes |= ((rows >> at / SETT__COLUMNS | columns >> at % SETT__COLUMNS) & 1) << l;
        }
        for (uint32_t k = e * d->size; k < (e + 1) * d->size; k++) {
            d->mask[k] = lanes;
            if (lanes)
                d->read[k] = from;
        }
    }
}

void sett__mma_shadow(sett__core *c, sett__warp *w, const sett__insn *i)
{
    const sett__matmul *p = &c->program->matmul[i->form.matmul];
    const sett__unit u = sett__matmul_unit(c, p);
    const shade a = shade_of(c, w, sett__form_ref(c, i, 0), (uint32_t)sett__dtype_bytes((sett_dtype)u.a)), b = shade_of(c, w, sett__form_ref(c, i, 1), (uint32_t)sett__dtype_bytes((sett_dtype)u.b)),
                sum = shade_of(c, w, sett__form_ref(c, i, 2), (uint32_t)sett__dtype_bytes((sett_dtype)u.c)), d = shade_of(c, w, i->d, sum.size);
    uint32_t read = SETT__NONE;
    const uint32_t rows = lines_of(&a, &p->a, p->row->k, false, &read), columns = lines_of(&b, &p->b, SETT__COLUMNS, true, &read);
    give_columns(&p->c, rows, columns, read, &sum, &d);
}

void sett__movmatrix_shadow(sett__core *c, sett__warp *w, const sett__insn *i)
{
    enum { OWN = 4, UNIT = 2 };
    const uint32_t size = (uint32_t)sett__dtype_bytes((sett_dtype)sett__form_op(c, i)->dtype);
    const shade x = shade_of(c, w, sett__form_ref(c, i, 0), size), d = shade_of(c, w, i->d, size);
    for (uint32_t k = 0; k < OWN; k++) {
        uint32_t lanes = 0, read = SETT__NONE;
        for (uint32_t l = 0; l < WARP; l++) {
            const uint32_t row = 2 * (l % 4) + k / UNIT, column = l / 4, byte = column % 2 * UNIT + k % UNIT, at = x.skip ? byte : byte % size;
            if (x.mask[at] >> (4 * row + column / 2) & 1)
                lanes |= 1u << l, read = x.read[at];
        }
        d.mask[k] = lanes;
        if (lanes)
            d.read[k] = read;
    }
}

/* ---- products of a warp group -------------------------------------------------------------------------------- */
uint32_t sett__wgmma_poison(sett__core *c, const sett__warp *w, const sett__matmul *p, uint32_t offset, uint32_t size, uint32_t *read)
{
    const shade a = shade_at(c, w, offset, size, false);
    return lines_of(&a, &p->a, p->row->k, false, read);
}

void sett__wgmma_shadow(sett__core *c, sett__warp *w, const sett__matmul *p, uint32_t root, uint32_t offset, uint32_t op, bool adds, uint32_t rows, uint32_t columns, uint32_t read)
{
    const shade d = shade_at(c, w, offset, (uint32_t)sett__dtype_bytes((sett_dtype)p->row->c), false);
    uint32_t any = 0;
    for (uint32_t k = 0; k < p->c.n * d.size; k++)
        any |= d.mask[k];
    if (!any && !rows && !columns)
        return;
    for (uint32_t k = 0; adds && k < p->c.n * d.size; k++)
        if (d.mask[k] && d.read[k] == SETT__NONE) /* nobody had read what it adds to */
            d.read[k] = sett__poison_read_at(c, op, root, k);
    w->follows |= rows || columns || adds;
    give_columns(&p->c, rows, columns, read, adds ? &d : NULL, &d);
}
