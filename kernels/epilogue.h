/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of a product's sums, whichever kernel makes them: the named terms of its options, and the caller's function. */
#ifndef EPILOGUE_H
#define EPILOGUE_H
#include "kernels.h"

/* The sums of one thread that an epilogue is called with. A kernel has a struct of its own that begins with this one. */
struct sett_epilogue_tile {
    sett_build *b;
    sett_val *batch; /* of a product of batches: which of them; else NULL */
    /* The part of an (M,N) tensor whose elements the sums are, in their shape. */
    sett_tensor *(*partition)(sett_site, const sett_epilogue_tile *, sett_tensor *whole);
    sett_tensor *(*partition_tile)(const sett_epilogue_tile *, sett_tensor *tile); /* the same of the tile alone, for .quantise 2: of a block of 64 columns where they are told by these */
    bool same_columns; /* as the call before, in the same block of C, had */
    int column_lanes;  /* as same_rows, of columns */
    int same_rows;     /* bits of a lane's number: lanes that differ in these alone have the same rows, and all of them are there; 0 is right always */
};

/* ---- options --------------------------------------------------------------------------------------- */
/* The members of .terms as parameters of a family of such options. */
#define TERM_PARAM(type_, member_) SETT_FAMILY_PARAM_NAMED(#member_, type_, terms.member_)
#define TERM_PARAMS(type_) \
    TERM_PARAM(type_, alpha), TERM_PARAM(type_, scale), TERM_PARAM(type_, bias), TERM_PARAM(type_, softcap), TERM_PARAM(type_, aux), TERM_PARAM(type_, activation), \
        TERM_PARAM(type_, beta), TERM_PARAM(type_, clamp), TERM_PARAM(type_, quantise), TERM_PARAM(type_, amax), \
        TERM_PARAM(type_, row_sum), TERM_PARAM(type_, column_sum), TERM_PARAM(type_, row_max), TERM_PARAM(type_, column_max)

/* What an epilogue depends on. */
typedef struct epilogue_options {
    const sett_gemm_terms *named;
    int scaled, residual, swiglu; /* options */
    int block_scales;             /* SA and SB are of blocks, and the main loop's */
    sett_dtype sums, c;           /* sums: of A and B, so f32 or i32 */
    const char *c_name;           /* what the options call c; NULL: "c" */
    const char *narrow;           /* a kernel whose blocks have fewer than 128 columns, by name; NULL: another */
} epilogue_options;
/* Refuses what cannot be. */
void sett__check_epilogue(const epilogue_options *, choice *);
/* Does it compute in Float32 whatever the sums are? */
bool sett__has_terms(const sett_gemm_terms *);
/* Are the columns of a tile whole blocks of 128, each scaled by its own largest? */
static inline bool in_blocks(const sett_gemm_terms *t)
{
    return t->quantise == 2;
}

/* ---- parameters ------------------------------------------------------------------------------------ */
/* A product, as its parameters are declared. */
typedef struct product {
    sett_build *b;
    sett_val *M, *N, *L; /* L: how many batches; NULL: one, of two modes */
    sett_val *G;         /* how many groups of rows, each with vectors by columns of its own; NULL: the rows are one */
    sett_val *one_of;    /* of arrays of pointers: this block's batch, and what is declared is then of it alone; NULL: batches are a mode */
    int align_c;         /* bytes that rows of R, C and AUX begin at, or one element */
    bool wide;           /* strides have 64 bits in the kernel, so that operands may span more than 2^31 elements */
    epilogue_options of;
} product;

/* Declares a parameter (rows,cols), or (rows,cols,L) in a batch, of which one mode is contiguous, and gives its tensor. The stride of rows is a symbol, "L" and
 * the name; that of batches has a "2" behind: A is (M,K,L):(LA,1,LA2). For an array of pointers it declares the parameter (L) of addresses, loads the
 * address of this block's batch, and gives the (rows,cols) there: the call then stands behind sett__begin(). */
sett_tensor *sett__operand(const product *, const char *name, sett_dtype, int align, sett_val *rows, sett_val *cols, sett_major);

/* The type of BIAS and AUX, by that of C. */
sett_dtype sett__type_beside(sett_dtype c);

/* What is told of all values of a row, or of a column, in the order of the arguments: each to a vector of these. */
enum { ALONG = 4 };
typedef struct along {
    const char *name;
    bool by_row;
    sett_binary_op op;
} along;
extern const along sett__alongs[ALONG];
/* What stands behind A and B, in this order; NULL: the options have none. */
typedef struct outputs {
    sett_tensor *R, *C, *SA, *SB;
    sett_val *alpha;
    sett_tensor *S, *BIAS;
    sett_val *cap;
    sett_tensor *AUX;
    sett_val *beta, *low, *high;
    sett_tensor *AMAX, *QS, *SD, *along[ALONG];
} outputs;
outputs sett__outputs(const product *);

/* ---- what becomes of sums -------------------------------------------------------------------------- */
enum { EPILOGUE_BLOCK = 128 /* columns of C with a scale of their own, of .quantise 2 */ };
/* Of .quantise 2: shared memory of a tile, a row of C beside the next one, block behind block, and parts of warp groups with rows of their own behind each other. */
typedef struct block_scaling {
    int rows, blocks;       /* of a part */
    sett_tensor *most, *by; /* bits of the greatest |x|, 0 before a tile; what x is multiplied by */
} block_scaling;

/* A coordinate past the edges has none of what is read, and is not stored. */
typedef struct terms {
    epilogue_options of;
    outputs to; /* as parameters */
    sett_tensor *by_row, *by_column, *bias, *residual, *aux, *amax, *along[ALONG], *crd; /* (M,N) each, of the batch; amax: NULL but of rows, in Int32 */
    sett_tensor *residual_part; /* R of the next call's sums, where the kernel has brought it; NULL: it is loaded from `residual` */
    sett_arg extent;
    sett_val *factor, *per_cap, *quantum; /* of all elements: sett__epilogue_begin() */
    sett_tensor *most;                    /* of this thread so far, in Int32 */
    sett_val *column_scale, *column_bias; /* of the columns of the last call */
    block_scaling blocks;
    sett_tensor *block_most, *block_by;   /* of the next call's sums, over the tile: sett__block_scaling_at() */
    sett_gemm_epilogue then;              /* the caller's */
    void *user;
    sett_build *b;
    sett_site site; /* of the caller's line */
    const char *function;
} terms;
/* Those of the outputs, of batch or group l; NULL: there is one. Who makes them adds the caller's function. */
terms sett__terms(const product *, const outputs *, sett_val *l);
/* The same terms of another batch or group; what sett__epilogue_begin() made stays. */
void sett__terms_of(terms *, const product *, sett_val *l);

/* Before the first of the sums and behind the last, of all threads that have any, whole warps: what is the same for all elements is read once,
 * and what is said of all of them is told once. */
void sett__epilogue_begin(terms *);
void sett__epilogue_end(const terms *);
/* Of .swiglu the factors of what sett__epilogue() is given: silu of a gate's sums, and those of up. */
sett_val *sett__gate(const terms *, sett_val *sums);
sett_val *sett__up(const terms *, sett_val *sums);
/* What is stored of the sums, before it is rounded. */
sett_val *sett__epilogue(const sett_epilogue_tile *, sett_val *sums, terms *);
/* What is told of them: .amax, and sums and maxima. in: whether they are within the edges. */
void sett__epilogue_tell(const terms *, const sett_epilogue_tile *, sett_val *, sett_val *in);
/* Floats that are not negative are in the order of their bits, and NaN is above them. */
sett_tensor *sett__as_bits(sett_tensor *);
/* Of a thread's part of a vector that is spread over (M,N), a coordinate: ALL where a mode leads from element to element, else 0. */
sett_arg sett__distinct(sett_build *, sett_arg stride);
/* Elements that a thread has of a vector which is spread over a tile, each loaded once, in the shape of its part. in: those that are read; NULL: all. */
sett_val *sett__load_spread(sett_build *, sett_tensor *part, sett_val *in);
/* Converted to C's type; an integer of 8 bits is the nearest. */
sett_val *sett__rounded(sett_val *, sett_dtype c);

/* ---- .quantise 2: epilogue_blocks.c ---- */
/* rows, columns: of a tile, or of a warp group that has rows alone; so many parts of these. */
int sett__block_scaling_bytes(int rows, int columns, int parts);
block_scaling sett__block_scaling(sett_build *, int rows, int columns, int parts);
/* All threads of the block do, and meet before the first tile. */
void sett__block_scaling_begin(sett_build *, const block_scaling *, int threads);
/* The next sums are of this block of 128 columns. part: NULL: there is one; columns: of the tile that partition_tile() takes. */
void sett__block_scaling_at(terms *, sett_val *part, int block, int columns);
/* Where the part lies: its first row of SD, and of how many; its first block of columns. */
typedef struct block_place {
    sett_tensor *SD;
    sett_val *part, *row, *rows, *block;
} block_place;
/* Between two meetings of the threads that share it: the first behind the last sett__epilogue() of the part, the second before sett__block_scaled(). */
void sett__settle_blocks(const terms *, const block_place *, sett_val *thread, int threads);
/* To the registers of sums, and from them. */
void sett__hold(sett_tensor *registers, sett_val *x);
sett_val *sett__held(sett_tensor *registers);
/* What sett__epilogue() gave, by its block's factor. */
sett_val *sett__block_scaled(const terms *, const sett_epilogue_tile *, sett_val *x);
#endif
