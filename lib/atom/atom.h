/* SPDX-License-Identifier: Apache-2.0 */
/* Atoms of matrix products and copies, tiled operations, and what is recorded for them. */
#ifndef SETT_LIB_ATOM_H
#define SETT_LIB_ATOM_H
#include "lib/tensor/tensor.h"
#include <sett/mma.h>

/* ---- objects ---------------------------------------------------------------------------------- */
#define SETT__K_MMA_ATOM SETT__KIND(ATOM, 0, "mma atom")
#define SETT__K_TILED_MMA SETT__KIND(ATOM, 1, "tiled mma")
#define SETT__K_THR_MMA SETT__KIND(ATOM, 2, "slice of a tiled mma")
#define SETT__K_COPY_ATOM SETT__KIND(ATOM, 3, "copy atom")
#define SETT__K_TILED_COPY SETT__KIND(ATOM, 4, "tiled copy")
#define SETT__K_THR_COPY SETT__KIND(ATOM, 5, "slice of a tiled copy")
struct sett_mma_atom {
    sett__head head;
    const char *name;                /* "mma m16n8k16.f32.f16.f16.f32" */
    uint8_t kind;                    /* a sett_mma_kind */
    int row;                         /* of mma.def, of an instruction that it has */
    uint8_t dtype[3], major[2];      /* of A, B, C */
    bool negate[2], shared[2];       /* of A, B; shared: it comes from shared memory */
    int mnk[3];
    sett_layout *thr_id, *tv[3];
};
struct sett_tiled_mma {
    sett__head head;
    const sett_mma_atom *atom;
    sett_layout *thr;   /* vmnk */
    int thrs[3];        /* atoms in M, N, K */
    sett_arg perm[3];   /* extents or layouts; ALL: what the atoms cover */
};
struct sett_thr_mma {
    sett__head head;
    const sett_tiled_mma *mma;
    sett__share *share;
    sett_arg at[4];     /* v, m, n, k */
};
enum { SETT__SRC, SETT__DST, SETT__REF };
struct sett_copy_atom {
    sett__head head;
    const char *name;
    uint8_t kind, dtype;
    int n;              /* bits of one thread, or matrices */
    bool transpose;
    sett_layout *thr_id, *bit[3], *val[3];
};
struct sett_tiled_copy {
    sett__head head;
    const sett_copy_atom *atom;
    sett_layout *tv;
    sett_arg tiler;     /* of layouts or extents */
};
struct sett_thr_copy {
    sett__head head;
    const sett_tiled_copy *copy;
    sett__share *share;
    sett_arg thread;
};

/* A tensor that is an operand of a product, or a thread's partition of one: of which, and the call that made it. */
typedef struct sett__fragment {
    const sett_tiled_mma *mma;
    uint8_t which;     /* a sett_operand */
    bool is_partition; /* not yet a fragment */
    uint32_t site;     /* in the build's list */
} sett__fragment;

/* ---- atoms -------------------------------------------------------------------------------------- */
/* A product's atom, or a copy's, with these layouts, in the build; NULL: the build has failed. val is made of bit. */
sett_mma_atom *sett__keep_mma_atom(const sett__ctx *, const sett_mma_atom *);
sett_copy_atom *sett__keep_copy_atom(const sett__ctx *, const sett_copy_atom *);
sett_layout *sett__layout_of(const sett__ctx *, const char *text); /* in CuTe's notation; poison: the build has failed */

/* ---- what the files share ----------------------------------------------------------------------- */
sett_arg sett__tuple_of(const sett__ctx *, int n, const sett_arg *); /* copies them */
static inline sett_arg sett__pair(const sett__ctx *c, sett_arg x, sett_arg y)
{
    return sett__tuple_of(c, 2, (sett_arg[]){x, y});
}
/* (_, _, ...) of n modes, or `first` and then so many. */
sett_arg sett__all_but(const sett__ctx *, const sett_arg *first, int n);
/* CuTe's zipped_divide. */
sett_layout *sett__divided(const sett__ctx *, const sett_layout *, sett_arg tiler);
/* l[coord], of a layout alone. */
sett_layout *sett__sliced(const sett__ctx *, const sett_layout *, sett_arg coord);
int64_t sett__static_size(const sett_layout *); /* 0: not static */
/* The call's build and checks of its objects; they give false, and poison is to be given. */
bool sett__use_atom(sett__ctx *, const sett__head *, sett__kind);
static inline void *sett__poison_atom(const sett_build *b)
{
    return b ? &b->poison->atom : NULL;
}
sett_layout *sett__tv_layout(const sett__ctx *, const sett_tiled_mma *, sett_operand); /* (thread, value) -> element */
sett_arg sett__tile_of(const sett__ctx *, const sett_tiled_mma *, sett_operand);       /* its two extents */
/* Of A, B and C: which of M, N and K their modes are. */
extern const uint8_t sett__modes_of[3][2];
/* Is it an index of a thread from 0 on, below `threads` as far as is known? wraps: a run-time index may be any. of: a layout's text. */
bool sett__check_thread(const sett__ctx *, sett_arg thread, int64_t threads, bool wraps, const char *of);
/* Do both give each thread the same of M, N or K, mode 0, 1 or 2? */
bool sett__same_split(const sett__ctx *, const sett_tiled_mma *, const sett_tiled_mma *, int mode);
/* "(32,2,2,1):(1,32,64,0) permuted by (2,16):(16,1)" */
const char *sett__split_text(sett_build *, const sett_tiled_mma *, int mode);
/* fragment.c: notes what a new tensor is, unless it is poison. */
sett_tensor *sett__mark_operand(const sett__ctx *, sett_tensor *, const sett__fragment *);
/* Is what a tensor was made as operand `which` of this atom? Else the build fails; name: what the tensor is to the call. */
bool sett__check_mark(const sett__ctx *, const sett_tensor *, const sett_mma_atom *, sett_operand which, const char *name);
const char *sett__marked_at(sett_build *, const sett__fragment *); /* "gemm.c:41" */
/* As sett_make_smem_descriptor; type -1: the build has failed. */
sett_smem_descriptor sett__descriptor(const sett__ctx *, const sett_layout *, sett_dtype, sett_major);

#endif
