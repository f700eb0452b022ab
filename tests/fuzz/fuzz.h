/* SPDX-License-Identifier: Apache-2.0 */
/* What is fuzzed: each takes any bytes, and aborts where a promise is broken. `make fuzz` gives them to libFuzzer;
 * fuzz_replay runs the corpus and mutations of it with any compiler. */
#ifndef SETT_TESTS_FUZZ_H
#define SETT_TESTS_FUZZ_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The text of a layout, tuple or tiler. The choices that one law makes. A tape's bytes, and its text. An
 * entry of the disk cache, the META in it, the cubin in it; a pack of entries. A manifest; the environment and options. The choices
 * that make a random tape, which runs. A tape's bytes again, launched under the checker. */
#define FUZZ_LIST(X) X(layout_text) X(laws) X(tape_bytes) X(tape_text) X(cache_entry) X(meta) X(cubin) X(pack) \
    X(manifest) X(environment) X(tape_runs) X(tape_checked)
#define FUZZ_DECLARE(name) void fuzz_##name(const uint8_t *, size_t);
FUZZ_LIST(FUZZ_DECLARE)
void fuzz_broken(const char *promise, const char *text); /* says so, and aborts */
/* One field of a tape changed in place so that it still verifies, and its laws hold; the bytes that it has then, 0: none of a few
 * tries, or no tape. Mutations of bytes alone seldom verify. */
extern bool fuzz_tapes_run; /* they are for being run: their laws are not asked for */
extern unsigned long fuzz_tapes_changed, fuzz_tapes_sound; /* how often, and what verified of it */
size_t fuzz_mutate_tape(uint8_t *data, size_t len, size_t most, uint64_t seed);
#endif
