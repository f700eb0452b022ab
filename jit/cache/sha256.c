/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 by nettle, which picks the processor's instructions for it at run time. */
#include "../jit.h"
#include <nettle/sha2.h>

void sett__sha256(const void *data, size_t len, sett__digest *out)
{
    struct sha256_ctx ctx;
    sha256_init(&ctx);
    sha256_update(&ctx, len, data);
    sha256_digest(&ctx, sizeof out->b, out->b);
}
