/* SPDX-License-Identifier: Apache-2.0 */
/* The map of ptx/: a tape to LLVM IR to PTX.
 *
 * plugin.c is what the engine calls; lower.c makes the kernel function and walks the tape,
 * one case a class of ops; the other files hold the cases by family. Layouts are gone from
 * the tape, so nothing here knows what a tensor is.
 *
 * A value of n elements is held as pieces: as many of 16 elements as fit, then descending
 * powers of two (n = 37: 16, 16, 4, 1). A piece of one element is a scalar, others are LLVM
 * vectors. All values of one n are cut alike, whatever their type, so elementwise ops go
 * piece by piece, no vector is ever wider than LLVM handles in linear time, and a 16-byte
 * access is always one piece. */
#ifndef SETT_PTX_H
#define SETT_PTX_H
#include "lib/tape/ops.h"
#include "plug/compiler.h"
#include "compat.h"

typedef struct sett__frame { /* an open region */
    sett__code code;         /* IF, ELSE or FOR */
    LLVMBasicBlockRef head;  /* FOR: the body's first block; IF: the block of the other arm */
    LLVMBasicBlockRef after;
    LLVMValueRef phi, hi, step; /* FOR */
    bool sign;                  /* FOR: of the induction variable */
} sett__frame;

/* Of a wgmma or its fence: which others are in its piece of assembly (wgmma.c). */
typedef struct sett__piece {
    uint32_t products; /* from the op on; 0: it is no product */
    bool fenced;       /* the fence before them is in it too */
    bool elsewhere;    /* the op is in the piece of another */
} sett__piece;
typedef struct sett__lower {
    const sett__tape *tape;
    const char *name;
    int sm, level; /* of the target; of the code generator */
    bool lines;
    LLVMContextRef ctx;
    LLVMModuleRef module;
    LLVMBuilderRef b;
    LLVMValueRef fn;
    LLVMBasicBlockRef allocas; /* the entry block: holds nothing else */
    LLVMTypeRef i1, i8, i16, i32, i64, ptr;
    LLVMValueRef smem;
    LLVMValueRef policy[2]; /* of L2: evict first, evict last; NULL: not made yet */
    uint32_t claims; /* assertions so far */
    LLVMValueRef **val;    /* op to its pieces; roots: the pointer */
    uint8_t *used;         /* is an op's result read? */
    sett__piece *piece;    /* one an op */
    LLVMValueRef *scratch; /* as many as the widest value has elements */
    sett__frame frame[SETT__MAX_DEPTH];
    int depth;
    /* line info: one builder, one scope a file */
    LLVMDIBuilderRef di;
    LLVMMetadataRef *scope; /* by string index; NULL: not made yet */
    LLVMMetadataRef sub;
    uint32_t site;      /* of the op at hand */
    sett_status status; /* first failure; OK until then */
    sett_error *error;
} sett__lower;

/* ---- lower.c -------------------------------------------------------------------------- */
/* The whole tape into l->module. On failure l->error is filled. */
sett_status sett__lower_tape(sett__lower *);
/* Keeps the first error; lowering goes on with poison until the walk stops. */
void sett__lower_fail(sett__lower *, sett_status, const char *format, ...) SETT_PRINTF(3, 4);
uint32_t sett__arg_op(const sett__lower *, const sett__op *, int k);        /* SETT__NONE: absent */
const sett__op *sett__arg_of(const sett__lower *, const sett__op *, int k); /* NULL: absent */

LLVMValueRef sett__ir_sreg(sett__lower *, const char *reg, uint32_t dim); /* "tid" */

/* ---- lanes.c: types, pieces, elements --------------------------------------------------- */
enum { SETT__PIECE = 16 };
uint32_t sett__ir_pieces(uint32_t n);
uint32_t sett__ir_piece_width(uint32_t n, uint32_t first);     /* of the piece that starts at element first */
LLVMTypeRef sett__ir_reg_type(const sett__lower *, int dtype); /* BOOL: i1; storage-only types: integers */
LLVMTypeRef sett__ir_mem_type(const sett__lower *, int dtype); /* BOOL: i8 */
LLVMTypeRef sett__ir_vec_type(LLVMTypeRef element, uint32_t width);
LLVMTypeRef sett__ir_like(LLVMTypeRef element, LLVMValueRef v); /* element, as wide as v */
LLVMValueRef sett__ir_splat(sett__lower *, LLVMValueRef scalar, uint32_t width);
LLVMValueRef sett__ir_int(LLVMTypeRef, uint64_t); /* of an integer type or a vector of one */
LLVMValueRef sett__ir_bits_const(sett__lower *, int dtype, uint64_t bits);
LLVMValueRef sett__ir_piece(
    sett__lower *, uint32_t op, uint32_t piece, uint32_t width);      /* splats a one-element operand */
LLVMValueRef sett__ir_scalar(sett__lower *, const sett__op *, int k); /* operand k, which has one element */
LLVMValueRef sett__ir_element(sett__lower *, uint32_t op, uint32_t i);
/* Pieces of `out` (of n elements) from n scalars. */
void sett__ir_collect(sett__lower *, LLVMValueRef *out, uint32_t n, LLVMTypeRef element, LLVMValueRef *from);
/* Applies f to each lane of up to three operands of equal width. */
typedef LLVMValueRef (*sett__ir_lane_fn)(sett__lower *, const void *user, LLVMValueRef *operands);
LLVMValueRef sett__ir_by_lane(
    sett__lower *, sett__ir_lane_fn, const void *user, LLVMTypeRef result, LLVMValueRef *operands, int n);
LLVMValueRef sett__ir_intrinsic(sett__lower *, const char *name, LLVMTypeRef overload, LLVMValueRef *args, unsigned n);
LLVMValueRef sett__ir_asm(sett__lower *, LLVMTypeRef result, const char *text, const char *constraints, bool effect,
    LLVMValueRef *args, unsigned n);
/* The same of a function's type, with as many operands as that has. */
LLVMValueRef sett__ir_asm_of(sett__lower *, LLVMTypeRef, const char *text, const char *constraints, bool effect, LLVMValueRef *args, unsigned n);
LLVMValueRef sett__ir_convergent(sett__lower *, LLVMValueRef call); /* it waits for other lanes: gives it */
LLVMBasicBlockRef sett__ir_block(sett__lower *, const char *name); /* appended, not entered */
void sett__ir_enter(sett__lower *, LLVMBasicBlockRef);

/* ---- math.c: elementwise -------------------------------------------------------------------- */
LLVMValueRef sett__ir_binary(sett__lower *, sett__code, sett_dtype, bool nonneg, LLVMValueRef x, LLVMValueRef y);
void sett__lower_elementwise(sett__lower *, const sett__op *, LLVMValueRef *out);
void sett__lower_reduce(sett__lower *, const sett__op *, LLVMValueRef *out);
/* ---- fmod.c: exact remainder, a function of the module ---------------------------------------- */
LLVMValueRef sett__ir_fmod(sett__lower *, LLVMValueRef x, LLVMValueRef y); /* f32 or f64 scalars */
/* ---- convert.c ---------------------------------------------------------------------------------- */
LLVMValueRef sett__ir_convert(sett__lower *, sett_dtype from, sett_dtype to, LLVMValueRef);
void sett__lower_bitcast(sett__lower *, const sett__op *, LLVMValueRef *out);
/* ---- memory.c ------------------------------------------------------------------------------------- */
void sett__lower_root(sett__lower *, const sett__op *, LLVMValueRef *out);
LLVMValueRef sett__ir_address(sett__lower *, const sett__op *, int dtype);
LLVMValueRef sett__ir_place(sett__lower *, const sett__op *, int k, LLVMTypeRef element, int64_t imm); /* operands k, k + 1 */
void sett__lower_load(sett__lower *, const sett__op *, LLVMValueRef *out);
void sett__lower_store(sett__lower *, const sett__op *);
/* ---- cached.c: of `bytes` as a type, at an address of global memory ----------------------------------- */
LLVMValueRef sett__ir_cached_load(sett__lower *, const sett__op *, LLVMTypeRef, unsigned bytes, unsigned align, LLVMValueRef p);
void sett__ir_cached_store(sett__lower *, const sett__op *, LLVMValueRef, unsigned bytes, unsigned align, LLVMValueRef p);
/* ---- atomic.c --------------------------------------------------------------------------------------- */
void sett__lower_atom(sett__lower *, const sett__op *, LLVMValueRef *out);
/* ---- warp.c: votes, matches; barriers, fences, copies in the background --------------------------------- */
void sett__lower_warp(sett__lower *, const sett__op *, LLVMValueRef *out);
void sett__lower_barrier(sett__lower *, const sett__op *);
void sett__lower_cp_async(sett__lower *, const sett__op *);
/* ---- form.c: operations of class FORM, one function each --------------------------------------------------- */
typedef void sett__lower_fn(sett__lower *, const sett__op *, LLVMValueRef *out);
sett__lower_fn sett__lower_form;
LLVMValueRef sett__ir_form_place(sett__lower *, const sett__op *, int k); /* operands k, k + 1: the address */
/* ---- mma.c: products of matrices, and matrices from and to shared memory ----------------------------------- */
sett__lower_fn sett__lower_mma, sett__lower_ldmatrix, sett__lower_stmatrix, sett__lower_movmatrix, sett__lower_dp4a;
/* ---- sync.c: mbarriers, clusters, fences between proxies ------------------------------------------------------- */
sett__lower_fn sett__lower_mbarrier, sett__lower_mbarrier_wait, sett__lower_mbarrier_alone, sett__lower_mbarrier_fence;
sett__lower_fn sett__lower_cluster_sreg, sett__lower_cluster_barrier, sett__lower_proxy, sett__lower_maxnreg;
/* ---- wgmma.c: products of a warp group, in the background ------------------------------------------------- */
sett__lower_fn sett__lower_wgmma, sett__lower_desc; /* wgmma: its fence, commit and wait too */
void sett__join_wgmma(sett__lower *); /* before the walk: decides which of them share a piece of assembly */
/* ---- tma.c: copies of the bulk engine, and maps ----------------------------------------------------------------- */
sett__lower_fn sett__lower_map_at, sett__lower_tma_load, sett__lower_tma_store, sett__lower_tma_prefetch, sett__lower_map_prefetch;
sett__lower_fn sett__lower_bulk_load, sett__lower_bulk_peer, sett__lower_store_async, sett__lower_bulk_store, sett__lower_bulk_group, sett__lower_policy, sett__lower_map_replace, sett__lower_map_copy;
/* ---- inline.c: the user's own ------------------------------------------------------------------------- */
void sett__lower_inline(sett__lower *, const sett__op *, LLVMValueRef *out);
/* ---- control.c: regions, shuffles ---------------------------------------------------------------------- */
void sett__lower_if(sett__lower *, const sett__op *);
void sett__lower_else(sett__lower *);
void sett__lower_loop(sett__lower *);
void sett__lower_while(sett__lower *, const sett__op *);
void sett__lower_for(sett__lower *, const sett__op *, LLVMValueRef *out);
void sett__lower_end(sett__lower *);
void sett__lower_shfl(sett__lower *, const sett__op *, LLVMValueRef *out);
/* What follows is done where the predicate k is true, or absent; up to sett__ir_done, of what this gave. */
LLVMBasicBlockRef sett__ir_when(sett__lower *, const sett__op *, int k, const char *then_name, const char *done_name);
void sett__ir_done(sett__lower *, LLVMBasicBlockRef);
/* ---- print.c ----------------------------------------------------------------------------------------------- */
void sett__lower_printf(sett__lower *, const sett__op *);
void sett__lower_assert(sett__lower *, const sett__op *);
/* ---- debug.c: call sites as .loc ----------------------------------------------------------------------------- */
void sett__debug_begin(sett__lower *);
void sett__debug_at(sett__lower *, uint32_t site);
void sett__debug_end(sett__lower *);
/* ---- level.c ----------------------------------------------------------------------------------------------------- */
/* 2; 0 for a kernel with so many accesses or run-time offsets that LLVM's passes over
 * them, whose cost is quadratic or worse, would dominate; negative without memory. */
int sett__codegen_level(const sett__tape *);

/* ---- heap.c -------------------------------------------------------------------------------------------------------- */
void sett__heap_opened(void); /* from here on a lack of memory parks the thread */
/* A thread's first touch of thread-local variables has the loader ask the heap for its block of them, and end the process
 * where it gets none: so this thread gives one of each size back just before. False: it had none. */
bool sett__thread_locals(void);
/* ---- plugin.c ------------------------------------------------------------------------------------------------------ */
_Noreturn void sett__out_of_memory(void);
const sett__ptx_plugin *sett_ptx_plugin(void);
#endif
