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

/* Allocates memory of a device, aligned to 256 bytes. NULL: out of memory, or no such device. A GPU's memory
 * comes from the driver, in the caller's current context, else in the device's primary context. */
SETT_API void *sett_alloc(sett_engine *, int device, size_t bytes);
/* Frees memory of sett_alloc, by the engine and device that gave it. NULL is ignored. On the CPU an address
 * that sett_alloc did not give, or that was freed before, is ignored too, with a line in the log. The
 * addresses of freed memory of the CPU stay out of use until 256 blocks or 256 MiB were freed after it, or
 * memory is short: a launch that is given them meanwhile is SETT_E_RANGE. */
SETT_API void sett_free(sett_engine *, int device, void *);
/* Copies between the host and the stream's device, or within either, in order on the stream. The caller may
 * reuse pageable host memory when the call returns. SETT_E_RANGE: past the end of what sett_alloc gave on the
 * CPU. */
SETT_API sett_status sett_memcpy(sett_engine *, sett_stream, void *dst, const void *src, size_t bytes);
/* Waits for all work on the stream, and reports a fault of an earlier launch. While the stream is captured it
 * is SETT_E_CAPTURING, and the capture goes on. After a fault that only the end of the process mends
 * (SETT_E_FAULT; 12 results of the CUDA driver API are such) the engine remembers it: every later call that
 * needs the driver, launches apart, returns it at once. */
SETT_API sett_status sett_sync(sett_engine *, sett_stream);
SETT_API sett_status sett_sync_error(sett_engine *, sett_stream, sett_error *);
/* For programs that wait by other means than sett_sync: has a sett_assert failed in a kernel on this device?
 * SETT_E_FAULT with its report, once: sett_sync returns the same report, and the first of the two to be
 * called gets it. The call waits for nothing. SETT_OK on the CPU, where the launch itself reports the
 * failure. */
SETT_API sett_status sett_poll(sett_engine *, int device, sett_error *);

/* Ends the launches that run on this stream of the CPU engine, from any thread. Each such launch returns
 * SETT_E_CANCELLED to its caller some milliseconds later, with the line that it was at; what it has written
 * stays. The call does not wait for them, and does not concern later launches. .print and a stand-in may call
 * it too; a launch ends only when the one that it is in has returned. On the CPU a stream's handle is any
 * pointer that tells launches apart: give all launches of one request the stream sett_stream_of(SETT_CPU,
 * request). NULL is the handle of all launches that were given none.
 * SETT_OK also if nothing runs. SETT_E_TARGET: a GPU's stream, whether or not there is such a GPU; a driver
 * cannot end a launch from outside. SETT_E_NO_DEVICE: not a device's number. Not for signal handlers. */
SETT_API sett_status sett_cancel(sett_engine *, sett_stream, sett_error *or_null);

#ifdef __cplusplus
}
#endif
#endif
