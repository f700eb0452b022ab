/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer's entry; FUZZ names the target. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    FUZZ(data, len);
    return 0;
}
