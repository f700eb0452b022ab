/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers of DLPack tensors (PyTorch, JAX, NumPy, TVM...). Not part of sett.h: include it by name, after
 * a <dlpack/dlpack.h> of version 1.x if a bare DLTensor is to be used.
 *
 *     #include <dlpack/dlpack.h>
 *     #include <sett/dlpack.h>
 *     sett_buf x;
 *     int device;
 *     if (!sett_buf_dltensor(&managed->dl_tensor, &x, &device, &err))
 *         sett_launch(kernel, sett_stream_of(device, stream), &err, &x);
 *
 * The buffer is a view: no data moves, and the tensor stays the caller's, who keeps it alive while launches use it
 * and calls its deleter. Ordering against the producer's stream is the caller's too. */
#ifndef SETT_DLPACK_H
#define SETT_DLPACK_H
#include <sett/launch.h>
#include <sett/mark.h>

#ifdef __cplusplus
extern "C" {
#endif

struct DLManagedTensorVersioned;
/* Fills *buf, and *device by the tensor's: SETT_CPU (host and pinned memory) or a GPU's ordinal. strides NULL: compact
 * row-major. *read_only: the producer forbids writing, which no launch checks. Fails with SETT_E_ARGUMENT (a major
 * version other than 1, a null pointer), SETT_E_NO_DEVICE, SETT_E_DTYPE (complex, vector lanes, padded sub-byte
 * elements), SETT_E_RANK (above 8), SETT_E_SHAPE. device and read_only may be NULL. */
SETT_API sett_status sett_buf_dlpack(
    const struct DLManagedTensorVersioned *, sett_buf *buf, int *device, bool *read_only, sett_error *or_null);
#ifdef DLPACK_DLPACK_H_
/* The same of a bare tensor, whose strides, dtype and shape are as in DLPack 1.x. */
SETT_API sett_status sett_buf_dltensor(const DLTensor *, sett_buf *buf, int *device, sett_error *or_null);
/* sett_from_buf (mark.h) of a bare tensor: what a kernel's parameter is to be like, to be marked dynamic. The address is
 * looked at by launches alone, so a tensor of no memory, and on any device, will do. */
SETT_API sett_status sett_from_dlpack(
    const DLTensor *, int assumed_align, bool use_32bit_stride, sett_marked *, sett_error *or_null);
#endif

#ifdef __cplusplus
}
#endif
#endif
