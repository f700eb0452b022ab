/* SPDX-License-Identifier: Apache-2.0 */
/* The operations: the codes of ops.def, and what their flags, attributes, operands and matrices are. It has what expands the tables, so that
 * a new row recompiles who looks into operations, and no one else: tape.h does not include it. */
#ifndef SETT_OPS_H
#define SETT_OPS_H
#include "tape.h"

enum { /* op flags in ops.def */
    SETT__P = 1,  /* pure: may be merged, moved out of regions and dropped */
    SETT__R = 2,  /* reads memory */
    SETT__W = 4,  /* writes memory or has another effect: never dropped */
    SETT__C = 8,  /* convergent */
    SETT__A = 16, /* aligned: all lanes of the warp reach it together */
    SETT__E = 32, /* belongs to the entry block */
    SETT__O = 64, /* of the least machine's own target alone: sm_90a, and no later one */
    SETT__T = 128, /* a target has it under a name with a suffix alone: sm_90a */
};
typedef enum sett__class {
    SETT__C_CONST, SETT__C_SREG, SETT__C_SYM, SETT__C_SCALAR, SETT__C_ROOT, SETT__C_BINARY, SETT__C_COMPARE,
    SETT__C_TERNARY, SETT__C_SELECT, SETT__C_UNARY, SETT__C_CONVERT, SETT__C_PICK, SETT__C_PACK, SETT__C_REDUCE,
    SETT__C_LOAD, SETT__C_STORE, SETT__C_ATOM, SETT__C_BARRIER, SETT__C_SHFL, SETT__C_IF, SETT__C_ELSE,
    SETT__C_FOR, SETT__C_END, SETT__C_PRINTF, SETT__C_LOOP, SETT__C_WHILE, SETT__C_CPASYNC, SETT__C_WARP,
    SETT__C_INLINE, SETT__C_FORM,
} sett__class;
typedef enum sett__code {
#define OP(name, text, cls, attributes, types, flags, sm, ptx) SETT__##name,
#include "ops.def"
    SETT__N_CODES
} sett__code;
enum { SETT__SHFL_IDX, SETT__SHFL_UP, SETT__SHFL_DOWN, SETT__SHFL_BFLY }; /* sub of SHFL */
enum { SETT__XCHG = 255, SETT__CAS = 254 };                                /* sub of ATOM, beside op codes */
enum { SETT__ATOM_WIDEST = 16 };                                           /* bytes of an ATOM of several elements */
enum { SETT__VOTE_ALL, SETT__VOTE_ANY, SETT__VOTE_UNI, SETT__VOTE_BALLOT };  /* sub of VOTE; of MATCH the first two */
/* sub of SPECIAL: name in PTX (less the %), and bits. */
#define SETT__SREGS(X) \
    X(SMID, "smid", 32) X(NSMID, "nsmid", 32) X(WARPID, "warpid", 32) X(NWARPID, "nwarpid", 32) X(GRIDID, "gridid", 64) \
    X(CLOCK, "clock", 32) X(CLOCK64, "clock64", 64) X(GLOBALTIMER, "globaltimer", 64) X(ACTIVEMASK, "activemask", 32) \
    X(DYNAMIC_SMEM, "dynamic_smem_size", 32) X(TOTAL_SMEM, "total_smem_size", 32)
#define SETT__SREG_ENUM(name, text, bits) SETT__SREG_##name,
enum { SETT__SREGS(SETT__SREG_ENUM) SETT__N_SREGS };
sett_dtype sett__sreg_type(int sub);              /* print.c: U32 or U64 */
const char *sett__sub_word(sett__code, int sub);  /* print.c: the word for sub; NULL: it has none */
#define SETT__DESC_BYTES 262128 /* the most that a descriptor holds */
#define SETT__MAX_GROUPS 255 /* groups that a wait may leave in flight */

/* ---- matrix products: mma.def -------------------------------------------------------- */
enum { SETT__WARP = 32, SETT__WARP_GROUP = 128 };
enum { SETT__MMA_WARP, SETT__MMA_GROUP };                                          /* a row's kind */
enum { SETT__MMA_DOT, SETT__MMA_DOT8, SETT__MMA_INT, SETT__MMA_FMA };              /* its model */
enum { SETT__MMA_DONE_NOW, SETT__MMA_DONE_GROUP, SETT__MMA_DONE_MBARRIER };        /* its completion */
enum {
    SETT__N_MMAS = 0
#define MMA(text, kind, m, n, k, a, b, c, scales, targets, ptx, lowered, model, completion, la, lb, lc) +1
#include "mma.def"
};
typedef struct sett__mma {
    uint16_t m, n, k;
    uint8_t kind, a, b, c;              /* a, b, c: a sett_dtype; D has that of C */
    uint8_t sf, vs;                     /* the type of scale factors, 0: none; elements along k that share one */
    uint8_t min_ptx, model, completion;
    const char *targets, *lowered, *layout[3]; /* of A, B, C */
} sett__mma;
/* Has wgmma a shape of so many columns? */
static inline bool sett__wgmma_has(const sett__mma *x, uint32_t n)
{
    return n >= 8 && n <= 256 && n % 8 == 0 && (x->model != SETT__MMA_INT || n <= 32 || n % 16 == 0);
}
extern const sett__mma sett__mmas[SETT__N_MMAS];           /* ops.c */
extern const char *const sett__mma_word[SETT__N_MMAS];     /* ops.c */
/* ---- attributes: attrs.def ---------------------------------------------------------- */
typedef enum sett__attr_kind { SETT__A_INT, SETT__A_POWER, SETT__A_WORD, SETT__A_FLAG } sett__attr_kind;
typedef struct sett__attr_info {
    const char *text; /* NULL: no attribute; a list begins */
    uint8_t kind;
    int32_t least, most, usual;
    const char *const *word;
} sett__attr_info;
enum { /* per-op flags */
#define LIST(list) SETT__LIST_##list,
#define ATTR(list, name, text, kind, least, most, usual, words) SETT__AT_##list##_##name,
#include "attrs.def"
    SETT__N_ATTRS
};
extern const sett__attr_info sett__attrs[SETT__N_ATTRS + 1];                                     /* ops.c */
extern const char *const sett__sem_word[], *const sett__scope_word[], *const sett__cache_word[], *const sett__near_word[], *const sett__dim_word[],
    *const sett__access_word[], *const sett__cluster_word[], *const sett__proxy_word[], *const sett__way_word[], *const sett__swizzle_word[]; /* ops.c */
extern const char *const sett__reduce_word[], *const sett__evict_word[], *const sett__field_word[]; /* ops.c: add min max; of policies; of maps */
enum { SETT__FIELD_ADDRESS, SETT__FIELD_RANK, SETT__FIELD_BOX, SETT__FIELD_EXTENT, SETT__FIELD_STRIDE, SETT__FIELD_STEP, SETT__FIELD_TYPE, SETT__FIELD_SWIZZLE, SETT__FIELD_FILL, SETT__N_MAP_FIELDS };
/* ---- operands of class FORM: the types of ops.def ------------------------------------- */
/* Items in the order of the operands, a space between: `name:kind|kind?`. A name is printed before the operand, and an item with
 * `?` is left out where it has none (SETT__NONE). The last may end in `...`: one operand or more, `?...`: or none. `-> kind` is the result. */
#define SETT__FORM_KINDS(X) \
    X(SMEM, "smem", "shared memory") X(GMEM, "gmem", "global memory") X(PEER, "peer", "shared memory of a peer") \
    X(MBAR, "mbar", "an mbarrier") X(PEER_MBAR, "peer_mbar", "an mbarrier of a peer") X(MATRIX, "matrix", "shared memory") \
    X(RMEM, "rmem", "registers") X(MAP, "map", "a tensor map") X(I32, "i32", "one i32") X(U64, "u64", "one u64") \
    X(BOOL, "bool", "one i1") X(ANY, "any", "a value") X(TYPED, "typed", "a value")
#define SETT__FORM_INDEX(name, text, words) SETT__FI_##name,
#define SETT__FORM_BIT(name, text, words) SETT__F_##name = 1 << SETT__FI_##name,
enum { SETT__FORM_KINDS(SETT__FORM_INDEX) SETT__N_FORM_KINDS };
enum {
    SETT__FORM_KINDS(SETT__FORM_BIT)
    /* Places: a root and a base, in brackets. They count elements of the root's type; MATRIX, as the op's own rule says. */
    SETT__F_PLACE = SETT__F_SMEM | SETT__F_GMEM | SETT__F_PEER | SETT__F_MBAR | SETT__F_PEER_MBAR | SETT__F_MATRIX,
    SETT__F_ROOT = SETT__F_PLACE | SETT__F_RMEM | SETT__F_MAP,
};
enum { SETT__FORM_NAME = 16, SETT__FORM_PLACES = 4 };
typedef struct sett__form { /* a walk over the items; the one at hand */
    const char *at;             /* what is left */
    char name[SETT__FORM_NAME]; /* "": none */
    bool optional, repeated, comma; /* comma: one stands before it */
    uint16_t kinds;             /* SETT__F_*: any of these */
    uint32_t k, words, place;   /* its first operand; how many it takes; places before it */
} sett__form;
sett__form sett__form_of(int code);                                               /* form.c: before the first */
bool sett__form_next(sett__form *);                                               /* false: there is none */
uint32_t sett__form_result(int code);                                             /* SETT__F_*; 0: it has none */
const char *sett__form_words(uint32_t kinds, char *buf, size_t size);             /* for people */
#define SETT__HAS_TEXT(op) (sett__ops[(op)->code].cls == SETT__C_PRINTF || sett__ops[(op)->code].cls == SETT__C_INLINE) /* imm: its place in tape->string */
typedef struct sett__op_info {
    const char *text, *colon, *types; /* colon: the text with one behind it, which a fault begins with */
    uint8_t cls, list; /* list: in sett__attrs, behind which its attributes stand */
    uint16_t flags;
    uint8_t min_sm, min_ptx;
} sett__op_info;
extern const sett__op_info sett__ops[SETT__N_CODES]; /* ops.c */
/* Attribute k of such an op; text NULL: there is none. */
#define SETT__ATTR_ROW(code, k) (&sett__attrs[sett__ops[code].list + 1 + (k)])
/* Where the word of an attribute stands in its list. */
#define SETT__AT(list, name) (SETT__AT_##list##_##name - SETT__LIST_##list - 1)
/* The value of an attribute, SETT__AT_<list>_<name>, of an op that has it. arg: where the op's words are. */
static inline int32_t sett__attr(const uint32_t *arg, const sett__op *op, int row)
{
    uint32_t at = (uint32_t)row - sett__ops[op->code].list - 1;
    return at < op->n_attrs ? (int32_t)arg[op->args + op->n_args + at] : sett__attrs[row].usual;
}
/* The constant of a place of a FORM: of the first imm, of the others the attributes that have no text, in order. */
int64_t sett__form_offset(const uint32_t *arg, const sett__op *op, uint32_t place);
/* ---- eval.c: one op on constants ------------------------------------------------------------------------- */
/* Bits in, bits out, bit for bit as the engines compute. dtype: the operands' type
 * (CONVERT: source type; sub carries nothing, to is the result's type). False: this op is
 * not folded (approximations). */
bool sett__eval(sett__code, sett_dtype dtype, sett_dtype to, const uint64_t *in, int n_in, uint64_t *out);
#endif
