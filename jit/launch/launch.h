/* SPDX-License-Identifier: Apache-2.0 */
/* Running a kernel: checks, packs, launches. */
#ifndef SETT_JIT_LAUNCH_FACE_H
#define SETT_JIT_LAUNCH_FACE_H
#include "jit/kernel/kernel.h"

/* ---- launch.c, call.c: running ----------------------------------------------------------------------------- */
/* One launch of a CPU kernel that was bound; returns when it has run. handle: of its stream. */
sett_status sett__launch_cpu(const sett_kernel *, void *handle, const sett__launch_dims *, const void *params, size_t params_len,
    const sett__extent *, sett_error *);
/* sett__bind of a kernel: by its plan, if it has one. */
sett_status sett__bind_kernel(const sett_kernel *, int n, const sett_bind *, sett__bound *, sett__extent *, sett_error *);
/* What every launch asks first, in a few loads when all is well: the engine lives, the kernel can run there.
 * Resolves SETT_DEFAULT_DEVICE. */
sett_status sett__launch_check(const sett_kernel *, int *device, sett_error *);

#endif
