/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products and the copies around them, under CuTe's names.
 *
 * An ATOM is one instruction: how large its matrices are, and which thread holds which element of them. A
 * TILED operation lays atoms side by side over the threads of a block. A SLICE is one thread's part of a
 * tiled operation; it partitions tensors. A FRAGMENT is a partition's counterpart in registers, or, of a
 * matrix that wgmma reads from shared memory, a view that stands for descriptors.
 *
 *     sett_mma_atom *atom = sett_mma_sync(b, .a = SETT_F16, .b = SETT_F16, .acc = SETT_F32, .m = 16, .n = 8,
 *         .k = 16);
 *     sett_tiled_mma *mma = sett_make_tiled_mma(atom, T(2, 2, 1), ALL);     4 warps, a tile of 32 x 16 x 16
 *     sett_thr_mma *mine = sett_get_slice(mma, sett_thread_idx(b, 0));
 *     sett_tensor *tA = sett_partition_A(mine, sA);          ((2,2,2),M,K): an atom's values, then which atom
 *     sett_tensor *rA = sett_make_fragment_A(mma, tA);
 *     sett_gemm(mma, acc, rA, rB, acc);                                     acc += A B, over all M, N and K
 *
 * A matrix A has modes (M,K), B has (N,K), C and D have (M,N); further modes follow. Elements of a fragment
 * are in the order of the instruction's registers. All of this is layout algebra while the kernel is
 * recorded; only the thread's index is known when it runs. Results are CuTe's, and print as CuTe's do. */
#ifndef SETT_MMA_H
#define SETT_MMA_H
#include <sett/tensor.h>

#ifndef __cplusplus

typedef struct sett_mma_atom sett_mma_atom;
typedef struct sett_tiled_mma sett_tiled_mma;
typedef struct sett_thr_mma sett_thr_mma;
typedef struct sett_thr_copy sett_thr_copy;
typedef enum sett_operand { SETT_OPERAND_A, SETT_OPERAND_B, SETT_OPERAND_C } sett_operand;

/* ---- atoms of products ------------------------------------------------------------------------ */
/* mma_sync: the product of a warp, mma.sync. wgmma: that of a warp group of 128 threads, which reads B, and A
 * unless .a_from is SETT_RMEM, from shared memory. mma_universal: one multiply-add of one thread, for any
 * target; .acc alone gives the type of all three, and A and B of other types are converted. dp4a: four
 * products of one thread, 1 x 1 x 4; A and B are i8 or u8, .acc is i32 and may be left out.
 * .m, .n, .k: the instruction's shape. 0: the largest that there is of these types; of wgmma .n is needed.
 * .a_major, .b_major: of wgmma, which mode of a matrix is contiguous in shared memory; MN_MAJOR of 16-bit
 * types alone.
 * .negate_a, .negate_b: of wgmma on floats.
 * SETT_E_DTYPE, SETT_E_SHAPE: there is no such instruction; the text says which ones there are. Whether the
 * target has the instruction is known when the kernel is compiled: SETT_E_TARGET. */
typedef enum sett_major { SETT_K_MAJOR, SETT_MN_MAJOR } sett_major;
typedef enum sett_mma_kind { SETT_MMA_SYNC, SETT_MMA_WGMMA, SETT_MMA_UNIVERSAL, SETT_MMA_DP4A } sett_mma_kind;
typedef struct sett_mma_args {
    size_t size;
    sett_dtype a, b, acc;
    int m, n, k;
    sett_space a_from; /* 0: SETT_SMEM */
    sett_major a_major, b_major;
    bool negate_a, negate_b;
} sett_mma_args;
SETT_API sett_mma_atom *sett_mma_atom_at(sett_site, sett_build *, sett_mma_kind, const sett_mma_args *);
#define sett_mma_sync(b, ...) SETT_MMA_ATOM(b, SETT_MMA_SYNC, __VA_ARGS__)
#define sett_wgmma(b, ...) SETT_MMA_ATOM(b, SETT_MMA_WGMMA, __VA_ARGS__)
#define sett_mma_universal(b, ...) SETT_MMA_ATOM(b, SETT_MMA_UNIVERSAL, __VA_ARGS__)
#define sett_dp4a(b, ...) SETT_MMA_ATOM(b, SETT_MMA_DP4A, __VA_ARGS__)
#define SETT_MMA_ATOM(build, kind, ...) \
    sett_mma_atom_at(SETT_HERE, build, kind, &(sett_mma_args){.size = sizeof(sett_mma_args), __VA_ARGS__})
/* Its threads, thr_id: thread of the atom -> thread; its (M,N,K); and for each operand the layout (thread,
 * value) -> element, A as m + k M, B as n + k N, C as m + n M. An operand that comes from shared memory is
 * the whole matrix for every thread. */
typedef struct sett_mma_traits {
    sett_arg shape_mnk;
    sett_layout *thr_id, *A, *B, *C;
} sett_mma_traits;
SETT_API sett_mma_traits sett_mma_atom_traits_at(sett_site, const sett_mma_atom *);
#define sett_mma_atom_traits(atom) sett_mma_atom_traits_at(SETT_HERE, atom)

/* ---- tiled products ----------------------------------------------------------------------------- */
/* The atom repeated over (M,N,K) as `atoms` says: a shape, or a layout of atoms, static. Atoms side by side
 * in K have a sum each: the kernel adds them up. `permutation` is ALL, or a tiler of three: for each of M, N
 * and K an extent, a layout, or ALL. It says of which rows and columns the tile is made: T(32, 32, 16) gives
 * each of 2 x 2 warps two atoms beside each other in N, so that one ldmatrix x4 fills the B of both. An
 * extent, or a layout's size, is a multiple of what the atoms cover or divides it, and a layout takes each
 * number below its size once (SETT_E_DIVIDE, SETT_E_ARGUMENT); so do atoms, each of threads of its own. */
SETT_API sett_tiled_mma *sett_make_tiled_mma_at(sett_site, const sett_mma_atom *, sett_arg atoms,
    sett_arg permutation);
#define sett_make_tiled_mma(atom, atoms, permutation) \
    sett_make_tiled_mma_at(SETT_HERE, atom, SETT_A(atoms), SETT_A(permutation))
/* thr_layout_vmnk: (thread of the atom, m, n, k) -> thread. tile_mnk: the rows, columns and depth that it
 * covers at once. A, B, C: (thread, value) -> element of that tile. */
typedef struct sett_tiled_mma_traits {
    sett_layout *thr_layout_vmnk, *A, *B, *C;
    sett_arg tile_mnk;
} sett_tiled_mma_traits;
SETT_API sett_tiled_mma_traits sett_tiled_mma_traits_at(sett_site, const sett_tiled_mma *);
#define sett_tiled_mma_traits(mma) sett_tiled_mma_traits_at(SETT_HERE, mma)
/* A layout of a matrix as ((ThrV,(ThrM,ThrK)),(FrgV,(RestM,RestK,...))): which thread, then which of its
 * values. */
SETT_API sett_layout *sett_thrfrg_at(sett_site, const sett_tiled_mma *, sett_operand, const sett_layout *);
#define sett_thrfrg_A(mma, l) sett_thrfrg_at(SETT_HERE, mma, SETT_OPERAND_A, l)
#define sett_thrfrg_B(mma, l) sett_thrfrg_at(SETT_HERE, mma, SETT_OPERAND_B, l)
#define sett_thrfrg_C(mma, l) sett_thrfrg_at(SETT_HERE, mma, SETT_OPERAND_C, l)
/* The part of one thread, an index from 0 on: of a tiled product, or a tiled copy. As in CuTe, a run-time
 * index past the last thread of a tiled product goes round to the first, so that each warp group of a block
 * may give its thread's index to a product of 128 threads; of a tiled copy it names what lies behind the
 * tile: where a block has more threads than a copy, those past its last leave the copy out, by a branch or a
 * predicate. SETT_E_RANGE: a C number past the last thread, or an index of which it is known that no thread
 * of the copy has it.
 * Where the body ends: SETT_E_RANGE if the block is static and has fewer threads than the product, or than a
 * copy whose threads share its tile out, and no index of such slices reaches the last thread. An index such
 * as t + 128 i, for each i of a loop, does. If the block has more threads, all of which access a slice by
 * their own index, the report says so. */
SETT_API sett_thr_mma *sett_get_slice_mma_at(sett_site, const sett_tiled_mma *, sett_arg thread);
SETT_API sett_thr_copy *sett_get_slice_copy_at(sett_site, const sett_tiled_copy *, sett_arg thread);
#define sett_get_slice(tiled, thread) \
    _Generic((tiled), sett_tiled_mma *: sett_get_slice_mma_at, \
        const sett_tiled_mma *: sett_get_slice_mma_at, \
        sett_tiled_copy *: sett_get_slice_copy_at, \
            const sett_tiled_copy *: sett_get_slice_copy_at)(SETT_HERE, tiled, SETT_A(thread))
/* What the thread holds of a matrix, or of its coordinates: (V,M,K,...), an atom's values and then which
 * atom. SETT_E_DIVIDE: the extents are no multiples of the tile. */
SETT_API sett_tensor *sett_partition_at(sett_site, const sett_thr_mma *, sett_operand, const sett_tensor *);
#define sett_partition_A(slice, t) sett_partition_at(SETT_HERE, slice, SETT_OPERAND_A, t)
#define sett_partition_B(slice, t) sett_partition_at(SETT_HERE, slice, SETT_OPERAND_B, t)
#define sett_partition_C(slice, t) sett_partition_at(SETT_HERE, slice, SETT_OPERAND_C, t)
/* The shape of a partition of a matrix of such a shape. */
SETT_API sett_arg sett_partition_shape_at(sett_site, const sett_tiled_mma *, sett_operand, sett_arg shape);
#define sett_partition_shape_A(mma, shape) \
    sett_partition_shape_at(SETT_HERE, mma, SETT_OPERAND_A, SETT_A(shape))
#define sett_partition_shape_B(mma, shape) \
    sett_partition_shape_at(SETT_HERE, mma, SETT_OPERAND_B, SETT_A(shape))
#define sett_partition_shape_C(mma, shape) \
    sett_partition_shape_at(SETT_HERE, mma, SETT_OPERAND_C, SETT_A(shape))

/* ---- fragments --------------------------------------------------------------------------------- */
/* The registers that hold a partition, of the types of the atom; undefined at first. A partition's values lie
 * in the order of the instruction's registers. Where the atom reads the operand from shared memory, the
 * partition of a tensor there is given back as what sett_gemm takes: descriptors, made when they are used.
 * SETT_E_SPACE, SETT_E_DTYPE, SETT_E_ARGUMENT: it is not there, of another type, or no layout that wgmma
 * reads; or it is a partition of another operand, of another atom's values, or of a tiled product whose
 * threads share the matrix otherwise. A slice
 * or a tile of a partition (sett_slice, sett_local_tile) counts as the partition. A view by sett_composition,
 * sett_select or a divide does not: it may be any operand.
 * In place of a partition, its shape: sett_make_fragment_C(mma, sett_partition_shape_C(mma, T(128, 256))). */
SETT_API sett_tensor *sett_make_fragment_at(sett_site, const sett_tiled_mma *, sett_operand,
    const sett_tensor *partition);
SETT_API sett_tensor *sett_make_fragment_shape_at(sett_site, const sett_tiled_mma *, sett_operand,
    sett_arg shape);
#define sett_make_fragment_A(mma, x) SETT_MAKE_FRAGMENT(mma, SETT_OPERAND_A, x)
#define sett_make_fragment_B(mma, x) SETT_MAKE_FRAGMENT(mma, SETT_OPERAND_B, x)
#define sett_make_fragment_C(mma, x) SETT_MAKE_FRAGMENT(mma, SETT_OPERAND_C, x)
#define SETT_MAKE_FRAGMENT(mma, which, x) \
    _Generic((x), sett_tensor *: sett_make_fragment_at, const sett_tensor *: sett_make_fragment_at, \
        default: sett_make_fragment_shape_at)(SETT_HERE, mma, which, x)

/* ---- products ------------------------------------------------------------------------------------- */
/* D = A B + C, of fragments (V,M,K), (V,N,K) and (V,M,N): every atom of M and N, over K. In place of C may
 * stand D itself. By rank as CuTe's gemm: (V) and (V); (V,M) and (V,N); without V, of an atom of one value,
 * (M) and (N), or (M,K) and (N,K).
 * .overwrite: D = A B; C is not read, so that no register needs a zero first. .accumulate: a Boolean of the
 * kernel (CuTe's field ACCUMULATE), the same in all threads of an atom; where it is false D = A B. In a loop
 * it stands for a first round beside the loop: sett_gemm(mma, acc, rA, rB, acc, .accumulate = sett_gt(k, 0)).
 * mma: a tiled product, or an atom. mma_sync, mma_universal and dp4a give D at once. A universal one also
 * takes A, B, C and D in memory.
 *
 *     sett_gemm(mma, acc, rA, rB, acc);       sett_gemm(mma, acc, rA, rB, acc, .overwrite = true);
 *
 * wgmma begins the product, in the background: D is C, and neither it nor A in registers may be touched until
 * a wait names their group. sett_mma_commit makes a group of all products since the last; sett_mma_wait(b, n)
 * waits until at most the n newest groups, 0 to 7, are not complete. wgmma needs a fence between what else
 * touches its registers and itself. sett_gemm records one, unless a sett_mma_fence just before names all of
 * them: one fence then serves several products. Products that are in flight when their registers are touched
 * are SETT_E_VERIFY when the body has ended, with both lines.
 * SETT_E_SPACE, SETT_E_DTYPE, SETT_E_SHAPE, SETT_E_ARGUMENT: an operand is in another memory, of another type
 * or extent, a fragment or partition of another product or operand, or of a tiled product whose threads share
 * M, N or K otherwise than those of the others; or two elements of D lie in one place. */
typedef struct sett_gemm_args {
    size_t size;
    const sett_tensor *C;
    int overwrite; /* a C truth value, known while the kernel is recorded */
    const sett_val *accumulate;
} sett_gemm_args;
SETT_API void sett_gemm_at(sett_site, const sett_mma_atom *, const sett_tensor *d, const sett_tensor *a,
    const sett_tensor *b, const sett_gemm_args *);
#define sett_gemm(mma, d, a, b, ...) \
    sett_gemm_at(SETT_HERE, SETT_MMA_ATOM_OF(mma), d, a, b, \
        &(sett_gemm_args){.size = sizeof(sett_gemm_args), .C = __VA_ARGS__})
/* sett_mma_fence(s, o, p): accumulators, and A in registers. */
SETT_API void sett_mma_fence_at(sett_site, const sett_tensor *const *, int n);
#define sett_mma_fence(...) \
    sett_mma_fence_at(SETT_HERE, (const sett_tensor *const[]){__VA_ARGS__}, \
        (int)(sizeof((const sett_tensor *const[]){__VA_ARGS__}) / sizeof(sett_tensor *)))
SETT_API void sett_mma_commit_at(sett_site, sett_build *);
SETT_API void sett_mma_wait_at(sett_site, sett_build *, int pending);
#define sett_mma_commit(b) sett_mma_commit_at(SETT_HERE, b)
#define sett_mma_wait(b, pending) sett_mma_wait_at(SETT_HERE, b, pending)
/* Orders what this thread did to shared memory before it and what wgmma, TMA and copies in bulk do behind a
 * barrier that follows: they see what the thread stored, and overwrite only what it has loaded. */
SETT_API void sett_fence_view_async_shared_at(sett_site, sett_build *);
#define sett_fence_view_async_shared(b) sett_fence_view_async_shared_at(SETT_HERE, b)
/* The atom of a tiled product. */
SETT_API sett_mma_atom *sett_tiled_mma_atom(const sett_tiled_mma *);
static inline const sett_mma_atom *sett_mma_atom_self(const sett_mma_atom *atom)
{
    return atom;
}
#define SETT_MMA_ATOM_OF(x) \
    _Generic((x), sett_tiled_mma *: sett_tiled_mma_atom, const sett_tiled_mma *: sett_tiled_mma_atom, \
        default: sett_mma_atom_self)(x)

/* ---- atoms of copies ------------------------------------------------------------------------------ */
/* A copy of values of a type. universal: a thread moves `bits` bits (a multiple of the type's, up to 128; 0:
 * one element), by loads and stores as wide as is proven. async: cp.async of 32, 64 or 128 bits, gmem to
 * smem. ldmatrix, stmatrix: a warp moves 1, 2 or 4 matrices of 8 rows of 16 bytes between smem and registers;
 * transpose moves units of 16 bits, so types have no more.
 * movmatrix: a warp transposes a matrix of 8 x 8 units of 16 bits, from registers to registers (CuTe's
 * SM75_U32x1_MOVM_T). Lane l holds units 2 (l % 4) and 2 (l % 4) + 1 of row l / 4 before, and of column l / 4
 * after; its layouts count registers, as CuTe's do. Types have 8, 16 or 32 bits. */
typedef enum sett_copy_kind { SETT_COPY_UNIVERSAL, SETT_COPY_ASYNC, SETT_COPY_LDMATRIX, SETT_COPY_STMATRIX,
    SETT_COPY_MOVMATRIX } sett_copy_kind;
SETT_API sett_copy_atom *sett_copy_atom_at(sett_site, sett_build *, sett_copy_kind, sett_dtype, int n,
    bool transpose);
#define sett_copy_universal(b, dtype, bits) \
    sett_copy_atom_at(SETT_HERE, b, SETT_COPY_UNIVERSAL, dtype, bits, false)
#define sett_copy_async(b, dtype, bits) sett_copy_atom_at(SETT_HERE, b, SETT_COPY_ASYNC, dtype, bits, false)
#define sett_ldmatrix(b, dtype, matrices, transpose) \
    sett_copy_atom_at(SETT_HERE, b, SETT_COPY_LDMATRIX, dtype, matrices, transpose)
#define sett_stmatrix(b, dtype, matrices, transpose) \
    sett_copy_atom_at(SETT_HERE, b, SETT_COPY_STMATRIX, dtype, matrices, transpose)
#define sett_movmatrix(b, dtype) sett_copy_atom_at(SETT_HERE, b, SETT_COPY_MOVMATRIX, dtype, 1, true)
/* Its threads; and the layouts (thread, value) -> place of what it reads, what it writes, and the one of the
 * two that a tiled copy speaks of. bits: places and values are bits, as CuTe's traits have them; else
 * elements of the atom's type. */
typedef struct sett_copy_traits {
    sett_layout *thr_id, *src, *dst, *ref;
} sett_copy_traits;
SETT_API sett_copy_traits sett_copy_atom_traits_at(sett_site, const sett_copy_atom *, bool bits);
#define sett_copy_atom_traits(atom, bits) sett_copy_atom_traits_at(SETT_HERE, atom, bits)

/* ---- tiled copies ----------------------------------------------------------------------------------- */
/* From a layout (thread, value) -> element of a tile, and the tile: a shape, or a tiler that picks the
 * elements from a tensor. SETT_E_DIVIDE, too-few-threads or too-few-values: the layout has no multiple of the
 * atom's. SETT_E_RANGE: it reaches past the tile. */
SETT_API sett_tiled_copy *sett_make_tiled_copy_at(sett_site, const sett_copy_atom *, const sett_layout *tv,
    sett_arg tiler);
#define sett_make_tiled_copy(atom, tv, tiler) sett_make_tiled_copy_at(SETT_HERE, atom, tv, SETT_A(tiler))
/* From a layout of threads and one of each thread's values, as sett_make_layout_tv: (32,8):(8,1) and (1,8)
 * move tiles of (32,64), 8 elements a thread, along the rows. */
SETT_API sett_tiled_copy *sett_make_tiled_copy_tv_at(sett_site, const sett_copy_atom *,
    const sett_layout *thr, const sett_layout *val);
#define sett_make_tiled_copy_tv(atom, thr, val) sett_make_tiled_copy_tv_at(SETT_HERE, atom, thr, val)
/* One that fills what a product's threads hold of A or B, or stores what they hold of C. C_atom: of as many
 * of C's values as one atom moves. */
SETT_API sett_tiled_copy *sett_make_tiled_copy_mma_at(sett_site, const sett_copy_atom *,
    const sett_tiled_mma *, sett_operand);
SETT_API sett_tiled_copy *sett_make_tiled_copy_c_atom_at(sett_site, const sett_copy_atom *,
    const sett_tiled_mma *);
#define sett_make_tiled_copy_A(atom, mma) sett_make_tiled_copy_mma_at(SETT_HERE, atom, mma, SETT_OPERAND_A)
#define sett_make_tiled_copy_B(atom, mma) sett_make_tiled_copy_mma_at(SETT_HERE, atom, mma, SETT_OPERAND_B)
#define sett_make_tiled_copy_C(atom, mma) sett_make_tiled_copy_mma_at(SETT_HERE, atom, mma, SETT_OPERAND_C)
#define sett_make_tiled_copy_C_atom(atom, mma) sett_make_tiled_copy_c_atom_at(SETT_HERE, atom, mma)
/* One with the elements that another tiled copy's threads read (S), or write (D). */
SETT_API sett_tiled_copy *sett_make_tiled_copy_like_at(sett_site, const sett_copy_atom *,
    const sett_tiled_copy *, bool written);
#define sett_make_tiled_copy_S(atom, copy) sett_make_tiled_copy_like_at(SETT_HERE, atom, copy, false)
#define sett_make_tiled_copy_D(atom, copy) sett_make_tiled_copy_like_at(SETT_HERE, atom, copy, true)
/* From a layout (thread, value) -> offset in memory, and the layout of the data there: the threads follow
 * memory, whatever its coordinates. Both are static. SETT_E_RANGE: an offset is none of the data's. */
SETT_API sett_tiled_copy *sett_make_cotiled_copy_at(sett_site, const sett_copy_atom *, const sett_layout *tv,
    const sett_layout *data);
#define sett_make_cotiled_copy(atom, tv, data) sett_make_cotiled_copy_at(SETT_HERE, atom, tv, data)
/* tv: (thread, value) -> element of the tile; S and D: the same in the order in which the atom reads and
 * writes. */
typedef struct sett_tiled_copy_traits {
    sett_arg tiler;
    sett_layout *tv, *S, *D;
} sett_tiled_copy_traits;
SETT_API sett_tiled_copy_traits sett_tiled_copy_traits_at(sett_site, const sett_tiled_copy *);
#define sett_tiled_copy_traits(copy) sett_tiled_copy_traits_at(SETT_HERE, copy)
/* A layout as (thread,(atom's values,rest of the tile's),(RestM,RestN,...)). */
SETT_API sett_layout *sett_tidfrg_at(sett_site, const sett_tiled_copy *, bool written, const sett_layout *);
#define sett_tidfrg_S(copy, l) sett_tidfrg_at(SETT_HERE, copy, false, l)
#define sett_tidfrg_D(copy, l) sett_tidfrg_at(SETT_HERE, copy, true, l)
/* What the thread reads (S) of a tensor, or writes (D): ((atom's values,rest),M,N,...). A tile that does not
 * divide the tensor reaches past its end, as sett_zipped_divide does: predicate such a copy. */
SETT_API sett_tensor *sett_partition_copy_at(sett_site, const sett_thr_copy *, bool written,
    const sett_tensor *);
#define sett_partition_S(slice, t) sett_partition_copy_at(SETT_HERE, slice, false, t)
#define sett_partition_D(slice, t) sett_partition_copy_at(SETT_HERE, slice, true, t)
/* The same registers as a copy of them has its modes: a fragment (V,M,K) of a product as (atom's values,
 * rest),M,K). */
SETT_API sett_tensor *sett_retile_at(sett_site, const sett_thr_copy *, const sett_tensor *);
#define sett_retile(slice, t) sett_retile_at(SETT_HERE, slice, t)

/* sett_copy(copy, src, dst, .pred, .zfill), of tensor.h, copies by a tiled copy or by an atom: partitions of
 * one thread, element by element in colexicographic order.
 * universal: as sett_copy of two tensors; the loads and stores are as wide as is proven, and the kernel's
 * report says what made one narrower. async: as sett_cp_async; commit_group and wait_group are yours.
 * ldmatrix: from shared memory to registers, stmatrix the other way; all lanes of a warp reach the call, and
 * each row is 16 bytes at a multiple of 16 (SETT_E_ALIGN).
 * movmatrix: from registers to registers, 4 bytes of a thread after the other; they may be the same.
 * Values are of the atom's type, or of another of as many bits; a universal copy converts them as sett_copy
 * of two tensors does (SETT_E_DTYPE).
 * .pred: as of sett_copy_if, of universal and async copies. .zfill: async alone; zeros where the predicate is
 * false. Matrices of a destination in registers are those of sett_retile. SETT_E_SHAPE: a product's fragment
 * has other modes than the partition beside it, and was not retiled. */
/* The atom of a tiled copy. */
SETT_API sett_copy_atom *sett_tiled_copy_atom(const sett_tiled_copy *);

/* ---- shared memory for them ------------------------------------------------------------------------ */
/* The layout that wgmma, TMA and ldmatrix read without bank conflicts: rows of `bytes` contiguous bytes,
 * exchanged in pieces of 16. bytes: 128, 64, 32, or 16 (no swizzle). K_MAJOR, of f16, 128: S<3,3,3> o 0 o
 * (8,64):(64,1); modes are (M or N, K). */
SETT_API sett_layout *sett_smem_layout_atom_at(sett_site, sett_build *, sett_dtype, sett_major, int bytes);
#define sett_smem_layout_atom(b, dtype, major, bytes) \
    sett_smem_layout_atom_at(SETT_HERE, b, dtype, major, bytes)
/* The layout of a tile (M or N, K, stages...): the atom of the most bytes that divides a contiguous row,
 * repeated over the tile, which is the one that its readers have no bank conflicts in; sett_smem_access_cost,
 * below, counts them.
 * SETT_E_DIVIDE: a row is no multiple of 16 bytes, or the other extent none of 8. */
SETT_API sett_layout *sett_smem_layout_at(sett_site, sett_build *, sett_dtype, sett_major, sett_arg tile);
#define sett_smem_layout(b, dtype, major, ...) \
    sett_smem_layout_at(SETT_HERE_OF(#__VA_ARGS__), b, dtype, major, SETT_TUPLE(__VA_ARGS__))
/* What the accesses of a tile cost, as sett_access_cost counts them: .bank_ways is 1 where no two of them
 * wait for one bank.
 * writers: threads that store 16 bytes each, along rows and then down them: cp.async, wide stores; TMA writes
 * so too. readers: ldmatrix, stmatrix and wgmma, which take 8 pieces of 16 bytes, one below the other. Each
 * by its (thread, value) -> element of the tile, of which a picture shows the banks:
 *
 *     sett_layout *l = sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, 64, 64, 4);
 *     sett_smem_cost f = sett_smem_access_cost(l, SETT_F16, SETT_K_MAJOR);  f.writers->bank_ways 1,
 *         f.readers->bank_ways 1
 *     puts(sett_layout_text(f.readers_tv, .tiler = T(64, 64), .tensor = stage, .dtype = SETT_F16,
 *         .by = SETT_BY_BANK));
 *
 * What sett_smem_layout gives has none for readers, and none for writers of rows of 64, 32 or 16 bytes, or a
 * multiple of 128. Other rows lie in panels of the swizzle's bytes: threads that go down a panel before they
 * go to the next have none, as TMA has none. Of the threads of a tiled copy, ask
 * sett_access_cost(sett_tidfrg_D(copy, l), .dtype = d).
 * Modes behind the first two are left out. SETT_E_DIVIDE: a row is no multiple of 16 bytes. */
typedef struct sett_smem_cost {
    int swizzle; /* bytes of the rows that it exchanges pieces of; 0: none */
    const struct sett_cost *writers, *readers; /* cost.h; never NULL */
    sett_layout *writers_tv, *readers_tv;
} sett_smem_cost;
SETT_API sett_smem_cost sett_smem_access_cost_at(sett_site, const sett_layout *, sett_dtype, sett_major);
#define sett_smem_access_cost(l, dtype, major) sett_smem_access_cost_at(SETT_HERE, l, dtype, major)
/* How wgmma's descriptor says that a matrix (M or N, K) lies in shared memory. type: 0 no swizzle, 1 128
 * bytes, 2 64, 3 32, as the hardware has it. lead, stride: in units of 16 bytes. SETT_E_ARGUMENT: wgmma
 * cannot read it; the text says why. */
typedef struct sett_smem_descriptor {
    int type, lead, stride;
} sett_smem_descriptor;
SETT_API sett_smem_descriptor sett_smem_descriptor_at(sett_site, const sett_layout *, sett_dtype, sett_major);
#define sett_make_smem_descriptor(l, dtype, major) sett_smem_descriptor_at(SETT_HERE, l, dtype, major)

#endif /* __cplusplus */
#endif
