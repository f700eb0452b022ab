/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a device, and waiting for it: the same calls for the CPU and for GPUs.
 *
 *     float *x = sett_alloc(e, device, n * sizeof *x);
 *     sett_memcpy(e, stream, x, host, n * sizeof *x);
 *     ...
 *     sett_sync(e, stream);
 *     sett_free(e, device, x); */
#ifndef SETT_MEMORY_H
#define SETT_MEMORY_H
#include <sett/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- memory: the same program on every device ------------------------------- */
/* NULL when out of memory or no such device. 256-byte aligned. A GPU's memory is the driver's, in the
 * caller's current context, else the primary one. */
SETT_API void *sett_alloc(sett_engine *, int device, size_t bytes);
/* With the engine and device that gave it. NULL is ignored; so is, with a line to the log, what the CPU's sett_alloc did
 * not give or what was freed before. The CPU's addresses stay out of use until 256 blocks or 256 MiB were freed after them, or memory
 * is short: a launch that is given them meanwhile is told so, SETT_E_RANGE. */
SETT_API void sett_free(sett_engine *, int device, void *);
/* Between host and the stream's device, or within either; in order on the stream. Pageable host
 * memory may be reused when the call returns. SETT_E_RANGE: past the end of what sett_alloc gave on the CPU. */
SETT_API sett_status sett_memcpy(sett_engine *, sett_stream, void *dst, const void *src, size_t bytes);
/* Waits for all work on the stream; reports a fault of an earlier launch. While the stream is captured:
 * SETT_E_CAPTURING, and the capture goes on. A fault that only the end of the process mends (SETT_E_FAULT; cuda.h says it
 * of 12 results) is remembered: what needs the driver after it, launches apart, is told it at once. */
SETT_API sett_status sett_sync(sett_engine *, sett_stream);
SETT_API sett_status sett_sync_error(sett_engine *, sett_stream, sett_error *);
/* For who waits by other means: has a sett_assert failed in a kernel on this device? SETT_E_FAULT with its report, once:
 * sett_sync gives the same, and whichever is called first. It waits for nothing. SETT_OK on the CPU, whose launches tell
 * it themselves. */
SETT_API sett_status sett_poll(sett_engine *, int device, sett_error *);

/* Ends the launches that run on this stream of the CPU engine, from any thread: each returns SETT_E_CANCELLED to its caller, with
 * the line that it was at, some milliseconds later, and what it had written stays written. It waits for none of them, and what
 * begins later runs. Also .print and a stand-in may call it; while one of those runs, its launch goes on until it
 * returns. On the CPU a stream's handle is any pointer that tells launches apart: those of sett_stream_of(SETT_CPU, request) are
 * one request's, NULL those of all who gave none.
 * SETT_OK also where nothing runs. SETT_E_TARGET for a GPU's stream, also where no such GPU is: a driver ends no launch from
 * outside. SETT_E_NO_DEVICE for a number that is no device's. Not for signal handlers. */
SETT_API sett_status sett_cancel(sett_engine *, sett_stream, sett_error *or_null);

#ifdef __cplusplus
}
#endif
#endif
