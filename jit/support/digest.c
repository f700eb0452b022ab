/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 and HMAC-SHA-256 by nettle, which picks the processor's instructions for it at run time. */
#include "support.h"
#include <nettle/hmac.h>

void sett__sha256(const void *data, size_t len, sett__digest *out)
{
    struct sha256_ctx ctx;
    sha256_init(&ctx);
    sha256_update(&ctx, len, data);
    sha256_digest(&ctx, sizeof out->b, out->b);
}

void sett__hmac_sha256(const uint8_t key[32], const void *data, size_t len, uint8_t mac[32])
{
    struct hmac_sha256_ctx ctx;
    hmac_sha256_set_key(&ctx, 32, key);
    hmac_sha256_update(&ctx, len, data);
    hmac_sha256_digest(&ctx, 32, mac);
}
