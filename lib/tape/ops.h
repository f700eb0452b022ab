/* SPDX-License-Identifier: Apache-2.0 */
/* A part of tape.h, which alone includes it: the codes of ops.def, and the meaning of their flags and attributes. */
#ifndef SETT_OPS_H
#define SETT_OPS_H

enum { /* op flags in ops.def */
    SETT__P = 1,  /* pure: may be merged, moved out of regions and dropped */
    SETT__R = 2,  /* reads memory */
    SETT__W = 4,  /* writes memory or has another effect: never dropped */
    SETT__C = 8,  /* convergent */
    SETT__A = 16, /* aligned: all lanes of the warp reach it together */
    SETT__E = 32, /* belongs to the entry block */
};
typedef enum sett__class {
    SETT__C_CONST, SETT__C_SREG, SETT__C_SYM, SETT__C_SCALAR, SETT__C_ROOT, SETT__C_BINARY, SETT__C_COMPARE,
    SETT__C_TERNARY, SETT__C_SELECT, SETT__C_UNARY, SETT__C_CONVERT, SETT__C_PICK, SETT__C_PACK, SETT__C_REDUCE,
    SETT__C_LOAD, SETT__C_STORE, SETT__C_ATOM, SETT__C_BARRIER, SETT__C_SHFL, SETT__C_IF, SETT__C_ELSE,
    SETT__C_FOR, SETT__C_END, SETT__C_PRINTF, SETT__C_LOOP, SETT__C_WHILE, SETT__C_CPASYNC, SETT__C_WARP,
    SETT__C_INLINE,
} sett__class;
typedef enum sett__code {
#define OP(name, text, cls, types, flags, sm, ptx) SETT__##name,
#include "ops.def"
    SETT__N_CODES
} sett__code;
enum { SETT__SHFL_IDX, SETT__SHFL_UP, SETT__SHFL_DOWN, SETT__SHFL_BFLY }; /* sub of SHFL */
enum { SETT__XCHG = 255, SETT__CAS = 254 };                                /* sub of ATOM, beside op codes */
enum { SETT__ATOM_WIDEST = 16 };                                           /* bytes of an ATOM of several elements */
enum { SETT__VOTE_ALL, SETT__VOTE_ANY, SETT__VOTE_UNI, SETT__VOTE_BALLOT };  /* sub of VOTE; of MATCH the first two */
enum { SETT__SCOPE_CTA, SETT__SCOPE_GPU, SETT__SCOPE_SYS };                  /* sub of FENCE */
/* sub of SPECIAL: name in PTX without the %, and bits */
#define SETT__SREGS(X) \
    X(SMID, "smid", 32) X(NSMID, "nsmid", 32) X(WARPID, "warpid", 32) X(NWARPID, "nwarpid", 32) X(GRIDID, "gridid", 64) \
    X(CLOCK, "clock", 32) X(CLOCK64, "clock64", 64) X(GLOBALTIMER, "globaltimer", 64) X(ACTIVEMASK, "activemask", 32) \
    X(DYNAMIC_SMEM, "dynamic_smem_size", 32) X(TOTAL_SMEM, "total_smem_size", 32)
#define SETT__SREG_ENUM(name, text, bits) SETT__SREG_##name,
enum { SETT__SREGS(SETT__SREG_ENUM) SETT__N_SREGS };
sett_dtype sett__sreg_type(int sub);              /* print.c: U32 or U64 */
const char *sett__sub_word(sett__code, int sub);  /* print.c: the word for sub; NULL: it has none */
#define SETT__MAX_GROUPS 255 /* groups that a wait may leave in flight */
/* sub of CPASYNC: log2(bytes) - 2; log2 of an element's bytes; past L1. imm: two offsets. */
enum { SETT__CP_LG = 3, SETT__CP_ELEMENT_AT = 2, SETT__CP_ELEMENT = 3 << 2, SETT__CP_CG = 16 };
#define SETT__CP_BYTES(sub) (4u << ((sub) & SETT__CP_LG))
#define SETT__CP_SIZE(sub) (1u << (((sub) & SETT__CP_ELEMENT) >> SETT__CP_ELEMENT_AT)) /* bytes of an element */
#define SETT__CP_TO(imm) ((int64_t)((uint64_t)(imm) << 40) >> 40)
#define SETT__CP_FROM(imm) ((imm) >> 24)
#define SETT__CP_IMM(to, from) ((int64_t)((uint64_t)(from) << 24 | ((uint64_t)(to) & 0xffffff)))
#define SETT__CP_FITS(to, from) (SETT__CP_TO(to) == (to) && SETT__CP_FROM(SETT__CP_IMM(to, from)) == (from))
enum { /* per-op flags */
    SETT__F_NONNEG = 1,   /* DIV REM SHR: both operands are known to be >= 0 */
    SETT__F_VOLATILE = 2, /* LOAD STORE */
    SETT__F_CACHE = 60,   /* LOAD STORE: a sett_cache, at SETT__F_CACHE_AT */
    SETT__F_CACHE_AT = 2,
    SETT__F_SEM = 12,     /* ATOM: a sett_sem, at SETT__F_SEM_AT */
    SETT__F_SEM_AT = 2,
    SETT__F_SCOPE = 48,   /* ATOM: a sett_scope, at SETT__F_SCOPE_AT; DEFAULT: the device, of shared memory the block */
    SETT__F_SCOPE_AT = 4,
    SETT__F_PTX = 127,    /* PTX PTXV: the least PTX ISA, 78 for 7.8; 0: any */
    SETT__F_MEMORY = 128, /* PTXV: it reads or writes memory */
};
extern const char *const sett__sem_word[4], *const sett__scope_word[4], *const sett__cache_word[14]; /* print.c */
#define SETT__HAS_TEXT(op) (sett__ops[(op)->code].cls == SETT__C_PRINTF || sett__ops[(op)->code].cls == SETT__C_INLINE) /* imm: its place in tape->string */
typedef struct sett__op_info {
    const char *text, *types;
    uint8_t cls, flags, min_sm, min_ptx;
} sett__op_info;
extern const sett__op_info sett__ops[SETT__N_CODES]; /* write.c */
#endif
