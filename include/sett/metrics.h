/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine counts, as text for monitoring (Prometheus), and what it loaded onto each GPU.
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

/* Takes a piece of the text. Returns false to stop. */
typedef bool (*sett_write_fn)(void *user, const char *text, size_t len);
typedef struct sett_metrics_source {
    const sett_engine *engine;
    const char *label; /* value of the label "engine" of its samples, any text; NULL: its samples have no such
                        * label */
} sett_metrics_source;
/* Writes all counters of these engines in Prometheus' text format, version 0.0.4 (Content-Type: "text/plain;
 * version=0.0.4"), in pieces of at most 512 bytes, which may end inside of a line. A process with several
 * engines gives them all to one call, because the format wants the samples of one metric together.
 * Any thread may call it while others compile and launch. No launch waits for it, it holds no lock while
 * `write` runs, and it allocates no memory. No engine may be closed meanwhile.
 * SETT_E_ARGUMENT: an engine or `write` is NULL, n is below 1, or two labels are equal. SETT_E_CLOSED,
 * SETT_E_FORKED: nothing was written. */
SETT_API sett_status sett_metrics_write(
    const sett_metrics_source *, int n, sett_write_fn write, void *user, sett_error *or_null);

/* Loads of code onto one GPU since the engine was opened: how many, their nanoseconds, and the bytes of their
 * cubins. A kernel is loaded once for each device (with .module_api once for each context), and again after
 * sett_unload. The CPU has zeros. SETT_E_NO_DEVICE, SETT_E_CLOSED, SETT_E_FORKED. SETT_E_ARGUMENT: .size is
 * not set. */
typedef struct sett_device_counts {
    size_t size;
    uint64_t loads, load_ns, loaded_bytes;
} sett_device_counts;
SETT_API sett_status sett_device_stats(const sett_engine *, int device, sett_device_counts *);

#ifdef __cplusplus
}
#endif
#endif
