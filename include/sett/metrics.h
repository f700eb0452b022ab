/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine counts, for monitoring: the text that Prometheus scrapes, and what was loaded onto each GPU.
 * docs/runtime.md lists every metric, and says which to alert on.
 *
 *     static bool to_file(void *user, const char *text, size_t len)
 *     {
 *         return fwrite(text, 1, len, user) == len;
 *     }
 *     const sett_metrics_source one = {e, "decode"};
 *     sett_metrics_write(&one, 1, to_file, stdout, NULL);
 *     // sett_disk_hits_total{engine="decode"} 12 */
#ifndef SETT_METRICS_H
#define SETT_METRICS_H
#include <sett/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* false: enough, nothing more is written. */
typedef bool (*sett_write_fn)(void *user, const char *text, size_t len);
typedef struct sett_metrics_source {
    const sett_engine *engine;
    const char *label; /* any text: the value of each of its samples' label "engine". NULL: they have none */
} sett_metrics_source;
/* All counters of these engines in Prometheus' text format (version 0.0.4, which is what to answer as Content-Type:
 * "text/plain; version=0.0.4"), handed out in pieces of at most 512 bytes, pieces of lines. A process with several engines
 * names them all in one call, as the format wants the samples of one metric side by side.
 * From any thread, while others compile and launch: no launch ever waits for it, and while `write` runs no lock is held.
 * No engine may be closed meanwhile. No memory is allocated.
 * SETT_E_ARGUMENT: an engine or `write` is NULL, n is below 1, or two labels are the same; SETT_E_CLOSED, SETT_E_FORKED:
 * before anything was written. */
SETT_API sett_status sett_metrics_write(
    const sett_metrics_source *, int n, sett_write_fn write, void *user, sett_error *or_null);

/* What was loaded onto one GPU since the engine was opened: how often, how long that took, the bytes of the cubins. Each
 * kernel once a device (with .module_api once a context), and again after sett_unload. Zeros for the CPU, which loads
 * nothing. SETT_E_NO_DEVICE, SETT_E_CLOSED, SETT_E_FORKED; SETT_E_ARGUMENT: the size is none. */
typedef struct sett_device_counts {
    size_t size;
    uint64_t loads, load_ns, loaded_bytes;
} sett_device_counts;
SETT_API sett_status sett_device_stats(const sett_engine *, int device, sett_device_counts *);

#ifdef __cplusplus
}
#endif
#endif
