/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer's entry; FUZZ names the target. */
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    FUZZ(data, len);
    return 0;
}

#ifdef FUZZ_TAPE
size_t LLVMFuzzerMutate(uint8_t *, size_t len, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *, size_t len, size_t most, unsigned seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t most, unsigned seed)
{
    size_t n = seed % 4 ? fuzz_mutate_tape(data, len, most, seed) : 0;
    return n ? n : LLVMFuzzerMutate(data, len, most);
}
#endif
