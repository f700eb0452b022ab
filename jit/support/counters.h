/* SPDX-License-Identifier: Apache-2.0 */
/* All counters; a part of support.h, which alone includes it.
 *
 * Each counter stands in one of these lists. They give the counters themselves, sett_stats, sett_cache_layer_info and
 * sett_device_counts, and Prometheus' text (metrics.c), with which docs/runtime.md is compared. A public struct with one
 * counter more or less does not compile. C(field, help): how often, or how many bytes. T(count, nanoseconds, name, help): how
 * often, and how long in all. */
#ifndef SETT_JIT_COUNTERS_H
#define SETT_JIT_COUNTERS_H
#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

#define SETT__HITS(C) /* of hits in memory: by stripes, below */ \
    C(memo_hits, "Kernels found by user data, not recorded") \
    C(memory_hits, "Kernels found in memory by key")
#define SETT__COUNTERS(C, T) \
    C(disk_hits, "Kernels found on disk") \
    C(remote_hits, "Kernels found on the remote, after a miss") \
    C(alias_hits, "Kernels found in memory or on disk by an alias, not recorded") \
    C(misses, "Kernels found nowhere at the first look") \
    C(verified, "Kernels found on disk and, to verify them, compiled again") \
    C(differences, "Kernels found on disk whose bytes this machine does not make") \
    C(memo_checks, "Bodies recorded again for the same user data, to verify these") \
    C(memo_differences, "Bodies that then recorded another kernel") \
    C(sealed_misses, "Misses refused by a sealed engine") \
    C(compiles, "Compiles begun") \
    C(failures, "Compiles that failed") \
    C(late, "Compiles begun after a wait in vain for another process") \
    C(write_failures, "Kernels that could not be written to disk") \
    C(log_drops, "Warnings and errors not logged, after many like them") \
    T(records, record_ns, "record", "Recording bodies") \
    T(codegens, codegen_ns, "codegen", "Generating PTX, by LLVM") \
    T(assembles, assemble_ns, "assemble", "Assembling PTX to cubins") \
    T(waits, wait_ns, "wait", "Waiting for another process that compiles the kernel") \
    T(joined, join_ns, "join", "Waiting for another thread that compiles or reads the kernel")
/* Of one layer of the disk cache. */
#define SETT__LAYER_COUNTERS(C) \
    C(hits, "Entries found and sound") \
    C(misses, "Entries not found, or not usable") \
    C(refusals, "Entries that were damaged, foreign or not trusted") \
    C(heals, "Refused entries that were moved out of the way") \
    C(writes, "Entries written") \
    C(duplicates, "Entries compiled here that another process had written") \
    C(evictions, "Entries removed to keep under the cap") \
    C(read_bytes, "Bytes of the entries found") \
    C(written_bytes, "Bytes of the entries written") \
    C(errors, "Requests of a remote that failed") \
    C(skipped, "Requests of a remote not made, as it had failed too often")
/* Of one GPU. */
#define SETT__DEVICE_COUNTERS(C, T) \
    C(loaded_bytes, "Bytes of the cubins loaded") \
    T(loads, load_ns, "load", "Loading cubins")
#define SETT__COUNT_FIELD(field, ...) atomic_uint_fast64_t field;
#define SETT__TIME_FIELD(count, ns, ...) atomic_uint_fast64_t count, ns;
static inline void sett__count(atomic_uint_fast64_t *c, uint64_t n)
{
    atomic_fetch_add_explicit(c, n, memory_order_relaxed);
}
void sett__count_ms(atomic_uint_fast64_t *times, atomic_uint_fast64_t *ns, double ms);

typedef struct sett__counters {
    SETT__COUNTERS(SETT__COUNT_FIELD, SETT__TIME_FIELD)
    atomic_uint_fast64_t longest_us; /* longest compile so far */
} sett__counters;
/* Each thread counts its hits in memory in a stripe, a cache line that is mostly its own. In one line for all, threads that
 * found different kernels would wait for each other. */
enum { SETT__STRIPE_BITS = 5 };
typedef struct sett__stripe {
    alignas(64) SETT__HITS(SETT__COUNT_FIELD)
} sett__stripe;

#endif
