/* SPDX-License-Identifier: Apache-2.0 */
/* What the rules of verify.c, verify_form.c and their neighbours stand on. */
#ifndef SETT_TAPE_VERIFY_H
#define SETT_TAPE_VERIFY_H
#include "ops.h"

enum { SETT__MAX_MBARRIERS = 256 }; /* roots of them */
typedef struct sett__verifier {
    const sett__tape *t;
    const sett__op *op; /* the one under check, and its index */
    uint32_t i;
    int depth;                       /* open regions, and their openers */
    uint32_t open[SETT__MAX_DEPTH];
    uint64_t tested;                 /* bit k: open[k] is a LOOP that has its WHILE */
    const char *target;              /* and its machine; NULL, 0: any */
    int sm;
    bool flies;                      /* an op of the class WGMMA was met */
    uint32_t n_mbar, mbar[SETT__MAX_MBARRIERS]; /* roots of mbarriers */
    sett_error *err;
    sett_status status;
} sett__verifier;
/* False. The text begins with the site and the op, "add.c:31: op 7 `%7 = add i32 %1, %2`: ...", or the call that recorded it. */
SETT_PRINTF(3, 4) bool sett__refuse(sett__verifier *, sett_status, const char *format, ...);

/* Is the op under check one that a call recorded, which has a site and no line of a text? */
static inline bool sett__is_recorded(const sett__verifier *c)
{
    return !c->t->line && c->op->site < c->t->n_site;
}
static inline uint32_t sett__verified_arg(const sett__verifier *c, uint32_t k)
{
    return c->t->arg[c->op->args + k];
}
static inline int32_t sett__verified_attr(const sett__verifier *c, int row)
{
    return sett__attr(c->t->arg, c->op, row);
}
/* Operand k, which may be memory. NULL: it is refused. */
const sett__op *sett__any_arg(sett__verifier *, uint32_t k);
bool sett__result_is(sett__verifier *, int dtype, uint32_t n);
/* One i32, and a constant is from lo to hi, and a multiple of step; `what` says so. Others are checked as they run. */
bool sett__bounded_arg(sett__verifier *, uint32_t k, int64_t lo, int64_t hi, int64_t step, const char *what);

/* Operands k and k + 1, a root and a base, and what is said of the address. */
typedef struct sett__verified_place {
    const sett__op *root;
    uint32_t k;
    int64_t imm;
    uint64_t element, align; /* bytes */
} sett__verified_place;
bool sett__check_target(sett__verifier *); /* verify_target.c: has the verifier's target, if any, the operation? */
uint64_t sett__root_align(const sett__verifier *, const sett__op *root); /* what is known to divide its address */
bool sett__check_align(sett__verifier *, const sett__verified_place *);
bool sett__check_offset(sett__verifier *, const sett__verified_place *, uint32_t n); /* of n elements there */

/* ---- verify_form.c: what the operations of class FORM share ---- */
bool sett__check_form(sett__verifier *);
/* need: SETT__ACCESS_*. Of roots that say what is done with them; of a map, of its tensor. */
bool sett__may_access(sett__verifier *, const sett__op *root, int need);
uint32_t sett__root_kind(const sett__verifier *, const sett__op *root); /* SETT__F_*; 0: of no form */

/* ---- verify_sync.c ---------------------------------------------------------------------- */
bool sett__check_parity(sett__verifier *);
int sett__most_blocks(const sett__sig *); /* of a cluster, as far as the signature says */
bool sett__check_apart(sett__verifier *); /* when all ops were seen: bytes of mbarriers are of no other root */

/* ---- verify_mma.c --------------------------------------------------------------------- */
bool sett__check_mma(sett__verifier *);
bool sett__check_matrix(sett__verifier *);
bool sett__check_dp4a(sett__verifier *);
bool sett__check_movmatrix(sett__verifier *);
bool sett__check_desc(sett__verifier *);
bool sett__check_wgmma(sett__verifier *);
bool sett__check_held(sett__verifier *); /* its fence, commit and wait */
/* ---- verify_async.c ------------------------------------------------------------------- */
static inline bool sett__of_wgmma(int code)
{
    return code == SETT__WGMMA || code == SETT__WGFENCE || code == SETT__WGCOMMIT || code == SETT__WGWAIT;
}
enum { SETT__MAX_FLIGHTS = 128 }; /* such roots: a thread has 255 registers, and an accumulator two */
/* Roots of registers that wgmma reads and writes in the background, of a tape of which each op was checked. */
bool sett__check_flights(sett__verifier *);

/* ---- verify_tma.c: copies of the bulk engine ---------------------------------------------- */
bool sett__check_tma(sett__verifier *);
bool sett__check_bulk(sett__verifier *), sett__check_store_async(sett__verifier *);
bool sett__check_map(sett__verifier *);

/* ---- verify_sync.c -------------------------------------------------------------------- */
bool sett__check_mbarrier(sett__verifier *);
bool sett__check_proxy(sett__verifier *);
bool sett__check_maxnreg(sett__verifier *);

#endif
