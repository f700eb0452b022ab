/* SPDX-License-Identifier: Apache-2.0 */
/* Running a kernel: checks the arguments, packs them, launches. */
#ifndef SETT_JIT_LAUNCH_FACE_H
#define SETT_JIT_LAUNCH_FACE_H
#include "jit/kernel/kernel.h"

/* ---- launch.c, call.c: running ----------------------------------------------------------------------------- */
/* Runs one launch of a CPU kernel whose arguments are bound, and returns when it has ended. handle: its stream's. */
sett_status sett__launch_cpu(const sett_kernel *, void *handle, const sett__launch_dims *, const void *params, size_t params_len,
    const sett__extent *, sett_error *);
/* Binds, checks and launches, of a kernel of a GPU. */
sett_status sett__launch_gpu(const sett__plan *, sett__cuda *, sett__gpu_kernel *, sett_stream, int n, const sett_bind *, sett_error *);
/* Of either engine; of the CPU's also whether what it reaches is in memory that is there. */
sett_status sett__bind_kernel(const sett_kernel *, int n, const sett_bind *, sett__bound *, sett__extent *, sett_error *);
/* The first check of every launch: is the engine open, and can the kernel run on the device? A few loads if all is well.
 * Resolves SETT_DEFAULT_DEVICE. */
sett_status sett__launch_check(const sett_kernel *, int *device, sett_error *);

#endif
