/* SPDX-License-Identifier: Apache-2.0 */
/* How a move of many elements is cut into accesses: what guard.c says of their predicates, width.c plans, and access.c and cp_async.c
 * record. */
#ifndef SETT_LIB_TENSOR_INSIDE_H
#define SETT_LIB_TENSOR_INSIDE_H
#include "tensor.h"

/* ---- guard.c: predicates ---------------------------------------------------------------------------------------- */
/* kind: an element of the predicate. Ops are Boolean, SETT__TRUE or SETT__FALSE. */
typedef struct sett__guard {
    const struct sett__pred *less; /* a lazy one, which decides for several elements together; or NULL */
    uint32_t op;                   /* of another; SETT__TRUE: there is none */
    uint32_t *map, kinds;          /* element to kind, NULL: there is no predicate; how many kinds */
} sett__guard;
/* Of n elements of a shape; lazily: a lazy one stays so. pred may be NULL. False: the build has failed. */
bool sett__guard_take(const sett__ctx *, sett__guard *, const sett_val *pred, uint32_t n, sett_arg shape, bool lazily);
bool sett__guard_alike(const sett__ctx *, const sett__guard *, const uint32_t *kind, uint32_t n); /* all hold or none does */
/* stay: where it is recorded it is computed, on its arm. */
uint32_t sett__guard_all(const sett__ctx *, const sett__guard *, const uint32_t *kind, uint32_t n, bool stay);
uint32_t sett__guard_any(const sett__ctx *, const sett__guard *, const uint32_t *kind, uint32_t n, bool stay);

/* ---- width.c: accesses as wide as is proven --------------------------------------------------------------------- */
typedef struct sett__piece {
    uint32_t first, n, narrow; /* spots */
    bool test;                 /* all of them at once, under no predicate, if a test allows; else `narrow` at a time */
} sett__piece;
typedef struct sett__side {
    const sett_tensor *t;
    sett__places p;
} sett__side;
typedef struct sett__cut {
    sett__ctx c;
    uint32_t bytes, widest; /* of an element; of one access */
    sett__side side[2];     /* spots are of the first; t NULL: there is one side */
    sett__guard guard;
    sett__spot *spot;
    uint32_t n;             /* spots */
    uint32_t *first, *kind; /* kinds of spot i: from first[i] to below first[i + 1] */
    sett__piece *piece;
    uint32_t n_piece;
    sett__note note;
} sett__cut;
bool sett__cut_plan(sett__cut *); /* makes the pieces and most of the note; false: the build has failed */
uint32_t sett__cut_run(const sett__cut *, uint32_t first); /* spots from the first that are adjacent on all sides, and may go together */
bool sett__cut_alike(const sett__cut *, uint32_t first, uint32_t n); /* does one predicate decide for all kinds of n spots? */
static inline uint32_t sett__cut_kinds(const sett__cut *x, uint32_t first, uint32_t n) /* of n spots */
{
    return x->first[first + n] - x->first[first];
}
static inline sett_arg sett__cut_base(const sett__cut *x, int side, uint32_t spot)
{
    const sett__places *p = &x->side[side].p;
    return p->base[p->group[x->spot[spot].elem]];
}
static inline int64_t sett__cut_imm(const sett__cut *x, int side, uint32_t spot)
{
    return x->side[side].p.imm[x->spot[spot].elem];
}
static inline uint32_t sett__cut_align(const sett__cut *x, int side, uint32_t spot)
{
    return sett__align_at(x->side[side].t, x->bytes, sett__cut_base(x, side, spot), sett__cut_imm(x, side, spot));
}
/* Records what is done where cond holds and where it does not; where that is known, one of them alone. */
void sett__cut_branch(const sett__cut *, uint32_t cond, void (*arm)(void *, bool holds), void *);

#endif
