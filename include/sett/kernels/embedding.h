/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels on the rows of a table that indices choose. <sett/kernels.h> says what all ready kernels have in
 * common. */
#ifndef SETT_KERNELS_EMBEDDING_H
#define SETT_KERNELS_EMBEDDING_H
#include <sett/warm.h>

#ifdef __cplusplus
extern "C" {
#endif

/* dW[id[i]] += dY[i] for each i: the gradient of an embedding. Arguments: id (N) of Int32, dY (N,cols), dW
 * (V,cols). Atomics add the rows whose id comes twice, in no order; each addition is rounded to dtype. The
 * caller fills dW first. Ids are not checked: one outside 0 to V - 1 writes outside dW.
 * dtype: f32, f16, bf16. */
typedef struct sett_embedding_grad_tuning {
    int tokens; /* of a block */
} sett_embedding_grad_tuning;
typedef struct sett_embedding_grad_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    int cols; /* a row has a multiple of 16 bytes, 16384 at most */
    sett_embedding_grad_tuning tuning;
} sett_embedding_grad_options;
SETT_API void sett_embedding_grad(sett_build *, const void *options);
SETT_API extern const sett_family sett_embedding_grad_family;

/* Y[i] = W[id[i]]; zeros where id[i] is not 0 to V - 1. Arguments: id (N) of Int32, W (V,cols), Y (N,cols).
 * It gathers rows of any kind: of a mixture of experts, by TOKEN of sett_moe_permute, too.
 * dtype: any of 8, 16 or 32 bits, which are copied. */
typedef struct sett_embedding_tuning {
    int threads; /* of a block, which has a row: a multiple of 32 */
} sett_embedding_tuning;
typedef struct sett_embedding_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    int cols; /* at most 256 KiB; of 8 bits a multiple of 16 */
    sett_embedding_tuning tuning;
} sett_embedding_options;
SETT_API void sett_embedding(sett_build *, const void *options);
SETT_API extern const sett_family sett_embedding_family;

#ifdef __cplusplus
}
#endif
#endif
