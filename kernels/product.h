/* SPDX-License-Identifier: Apache-2.0 */
/* A product whose kernel is chosen at each run: what product.c and product_choice.c share. */
#ifndef PRODUCT_H
#define PRODUCT_H
#include "kernels.h"
#include <sett/kernels/product.h>

enum { PRODUCT_LEFT_BYTES = 4096 /* of a workspace, before its sums */, PRODUCT_FEW = 8 /* rows, of sett_gemm_few_rows */, PRODUCT_FEW_PACKED = 2 /* of sett_gemm_mixed, beside tiles of sett_gemm_wgmma */,
    PRODUCT_COUNTED = INT32_MAX - 65535 /* tiles of a launch: sett/scheduler.h */ };

/* Tiles of 128, which scales of blocks are of. */
static inline int64_t product_blocks(int64_t n)
{
    return (n + 127) / 128;
}

/* Of operands (rows,cols): how many of them lie behind each other, by a mode of their own; 0: there is one, without that mode. What lies by rows of
 * A, and what lies by rows of B, differ where the rows of groups are in one matrix. */
static inline int product_batch(const sett_product_problem *p)
{
    return p->batch > 1 || p->pointer_array ? p->batch : 0;
}

static inline int product_kinds_a(const sett_product_problem *p)
{
    return p->grouped == SETT_GROUPED_MASKED ? p->groups : product_batch(p);
}

static inline int product_kinds_b(const sett_product_problem *p)
{
    return p->grouped ? p->groups : product_batch(p);
}

/* ---- the problem: product_problem.c ---- */
/* Fills in what is 0, and says in the choice what cannot be. max_m: strides of what lies along M are at least that; 0: not known. */
void sett__product_settle(sett_product_problem *, int max_m, choice *);
/* Bits of a packed weight, 0: B is as A is. */
int sett__product_packed_bits(const sett_product_problem *);
/* Of a settled problem: what all its operands, and what it writes and reads beside that, lie at multiples of, in bytes. */
int sett__product_align_in(const sett_product_problem *);
int sett__product_align_out(const sett_product_problem *);
/* The member for which the problem has kernels of sett_gemm_wgmma alone, as ".block_scales is 1"; NULL: there is none. */
const char *sett__product_needs_tma(const sett_product_problem *);
/* Refuses a problem that has such kernels alone and that sett__product_takes_tma does not take, by the member for which it does not. */
void sett__product_why_no_tma(const sett_product_problem *, choice *);
/* Is it one of sett_gemm_wgmma's, on the target that has that; the CPU engine has it too? Of sett_gemm_few_rows, on any target, or,
 * of packed weights, of sett_gemm_mixed beside sett_gemm_wgmma? May K be dealt to
 * several workers? */
bool sett__product_takes_tma(const sett_product_problem *, const char *target);
bool sett__product_takes_few(const sett_product_problem *);
bool sett__product_streams(const sett_product_problem *);

/* ---- the choice: product_choice.c ---- */
/* What the model knows of a problem and its kernels. */
typedef struct product_facts {
    const device *device;
    int multiprocessors;
    int64_t n, k_tiles;     /* K tiles of 128 bytes */
    int64_t batches;        /* 1 or more; or groups, whose rows m counts then */
    bool uneven;            /* they have m rows in the mean, some more and some less */
    int64_t rows;           /* of a launch, of which it counts tiles; 0: of fewer than matter */
    int64_t bytes_a, bytes_b, bytes_d; /* of a row of A; of all of B; of a row of D; of all batches together */
    int64_t lda, ldb;       /* bytes from a row of A, of B, to the next: what of a row a tile loads lies in one line of L2 or in two */
    int packed_bits;        /* of a weight that is decoded; 0: B is as A is */
    bool streams;           /* K may be dealt to several workers */
    int64_t n_b;            /* rows of B: of .swiglu twice n */
    int few;                /* up to so many rows a kernel behind those of the tiles is taken; 0: there is none */
    int n_tiles;
    struct product_tile {
        int bm, bn, columns; /* rows of A, of B; columns of D, of a block */
        int cluster;         /* blocks beside each other, which share A */
        bool ping_pong;      /* its stores take no time, and K is not dealt */
    } tile[SETT_PRODUCT_KERNELS];
} product_facts;

/* What a run takes: a kernel by its number; its tiles, counted in clusters; how many clusters run, and how many of the tiles are streamed to them. */
typedef struct product_way {
    int kernel;
    int64_t tiles;
    int workers, streamed;
    double us; /* by the model */
} product_way;

/* Sets the tiles of the facts: those that a product with such options chooses among, whatever their own tile and cluster are, and that have room for
 * its sums. */
void sett__product_tiles(product_facts *, const sett_gemm_wgmma_options *);
product_way sett__product_choose(const product_facts *, int64_t m);
/* Is there a tile of which a launch of .rows has no more than it can count? Others are not chosen. */
bool sett__product_countable(const product_facts *);
/* By the model, of one way; for the choice, and for who asks how good it is. */
double sett__product_us(const product_facts *, const product_way *, int64_t m);

/* ---- a plan: product.c; its runs: product_run.c ---- */
struct sett_product {
    sett_product_problem p;
    bool by_tma;
    int device, max_m, n_kernels, n_tiles; /* n_tiles: of sett_gemm_wgmma, or of sett_gemm_mma; one more is of few rows */
    size_t workspace;
    product_facts facts;
    sett_product_kernel list[SETT_PRODUCT_KERNELS];
    sett_kernel *kernel[SETT_PRODUCT_KERNELS];
};

static inline const sett_gemm_wgmma_options *wgmma_of(const sett_product *x, int i)
{
    return &x->list[i].options.wgmma;
}

/* What a run of m rows takes; expected: of groups, .expected_m of its operands. */
product_way sett__product_way(const struct sett_product *, int m, int expected);
/* The status; the text of the error is "function: " and what is formatted. */
SETT_PRINTF(4, 5) sett_status sett__product_fail(sett_error *or_null, sett_status, const char *function, const char *format, ...);
#endif
