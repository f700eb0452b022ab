/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of a cache of keys and values (docs/attention.md): copies of them, and their rows beside each other.
 * <sett/kernels.h> says what all ready kernels have in common. */
#ifndef SETT_KERNELS_CACHE_H
#define SETT_KERNELS_CACHE_H
#include <sett/warm.h>

#ifdef __cplusplus
extern "C" {
#endif

/* POOL[PAIRS[i][1]] = POOL[PAIRS[i][0]] for each i, as where requests that share pages part. A pair with a
 * number that is no page does nothing. A page that one pair writes is in no other pair, else which one counts
 * is not specified. Arguments: PAIRS (N,2) of Int32, POOL (P,cols): P pages of cols elements each, which are
 * HK x page x d. K and V are two launches.
 * dtype: any of 8, 16 or 32 bits. */
typedef struct sett_copy_pages_tuning {
    int threads;            /* of a block, which has a piece of a page */
    int vectors_per_thread; /* accesses of 16 bytes */
} sett_copy_pages_tuning;
typedef struct sett_copy_pages_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    int cols; /* a multiple of 16 bytes */
    int reserved; /* 0 */
    sett_copy_pages_tuning tuning;
} sett_copy_pages_options;
SETT_API void sett_copy_pages(sett_build *, const void *options);
SETT_API extern const sett_family sett_copy_pages_family;

/* Y[OFFSETS[b] + i][h] = POOL[TABLE[b][i / page]][h][i % page] for each request b and its keys i: from pages
 * to keys beside each other, as sett_attention with .ragged takes them. Arguments: POOL (P,HK,page,d), TABLE
 * (B,pages) of Int32, OFFSETS (B+1) of Int32, which do not fall, Y (N,HK,d). Rows of Y from OFFSETS[B] on are
 * not written; those of a page that is not 0 to P - 1 become zeros.
 * dtype: any of 8, 16 or 32 bits. */
typedef struct sett_gather_pages_tuning {
    int threads; /* of a block, which has a row of Y */
} sett_gather_pages_tuning;
typedef struct sett_gather_pages_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    int d;    /* a multiple of 16 bytes */
    int page; /* keys of a page, 1 to 1024 */
    int reserved; /* 0 */
    sett_gather_pages_tuning tuning;
} sett_gather_pages_options;
SETT_API void sett_gather_pages(sett_build *, const void *options);
SETT_API extern const sett_family sett_gather_pages_family;

#ifdef __cplusplus
}
#endif
#endif
