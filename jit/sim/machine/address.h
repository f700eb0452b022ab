/* SPDX-License-Identifier: Apache-2.0 */
/* A part of machine.h, which includes it: operands of operations of class FORM, and where a lane's places lie. */
#ifndef SETT_JIT_SIM_ADDRESS_H
#define SETT_JIT_SIM_ADDRESS_H
#include "block.h"

/* ---- address.c -------------------------------------------------------------------------------------------- */
uint8_t sett__space_of(const sett__op *);                          /* of a root: a sett__space */
void sett__note_mbarriers(sett__program *, const sett__root *);  /* it is one of mbarriers */
bool sett__is_async(const sett__tape *);                         /* is it to be an async program? */
/* Bytes of a lane's root: is it there, inside and aligned? */
typedef struct sett__aim {
    int lane;
    uint32_t op, root; /* root: in program->root */
    const char *verb;  /* "load of" */
    int64_t at;        /* from the root's beginning, in bytes */
    uint64_t bytes, align;
    unsigned char *p;  /* found: where it lies; of shared memory: in which block, and where in its window */
    sett__cta *of;
    uint32_t offset;
} sett__aim;
bool sett__reach(sett__core *, const sett__warp *, sett__aim *); /* false: it has faulted */
/* Place number `place` of an operation of class FORM. */
bool sett__form_place(sett__core *, const sett__warp *, const sett__insn *, uint32_t place, int lane, uint64_t bytes, uint64_t align, sett__aim *);
/* A warp of c->cta touches memory of block `of` of its cluster. False: faulted. */
bool sett__peer_touched(sett__core *, const sett__warp *, int lane, uint32_t op, sett__cta *of);
/* Are so many bytes at an address of global memory in the allocation that `base` lies in? The tensor there, for a fault's text, may be NULL. */
bool sett__check_address(sett__core *, const sett__warp *, int lane, uint32_t op, const char *verb, const sett__root *, uint64_t base, uint64_t address,
    uint64_t bytes);
static inline sett__ref sett__form_ref(const sett__core *c, const sett__insn *i, uint32_t k)
{
    return c->program->place[i->form.operands + k];
}
/* Operand k in a lane: an integer or a Boolean; `absent` where there is none. */
int64_t sett__form_value(const sett__core *, const sett__warp *, const sett__insn *, uint32_t k, int lane, int64_t absent);
uint32_t sett__form_lanes(const sett__core *, const sett__warp *, const sett__insn *, uint32_t predicate); /* active ones where it is true */
static inline const sett__op *sett__form_op(const sett__core *c, const sett__insn *i)
{
    return &c->program->given->op[i->op];
}
static inline int32_t sett__form_attr(const sett__core *c, const sett__insn *i, int row)
{
    return sett__attr(c->program->given->arg, sett__form_op(c, i), row);
}
static inline const char *sett__form_text(const sett__core *c, const sett__insn *i)
{
    return sett__ops[sett__form_op(c, i)->code].text;
}
/* Where a lane's place is: elements from its root. */
static inline int64_t sett__place_index(const sett__warp *w, const sett__place *at, int lane)
{
    const void *base = at->base == SETT__NONE ? NULL : sett__at(w, at->base);
    uint64_t index = 0;
    if (base)
        index = at->base64 ? ((const uint64_t *)base)[lane] : at->base_unsigned ? ((const uint32_t *)base)[lane] : (uint64_t)((const int32_t *)base)[lane];
    return (int64_t)(index + (uint64_t)at->offset);
}

#endif
