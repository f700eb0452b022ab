/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers of DLPack tensors (PyTorch, JAX, NumPy, TVM...). sett.h does not include this header. To use a bare
 * DLTensor, include <dlpack/dlpack.h> of version 1.x before it.
 *
 *     #include <dlpack/dlpack.h>
 *     #include <sett/dlpack.h>
 *     sett_buf x;
 *     int device;
 *     if (!sett_buf_dltensor(&managed->dl_tensor, &x, &device, &err))
 *         sett_launch(kernel, sett_stream_of(device, stream), &err, &x);
 *
 * The buffer is a view and moves no data. The tensor stays the caller's, who keeps it alive while launches
 * use it, calls its deleter, and orders launches after the producer's stream. */
#ifndef SETT_DLPACK_H
#define SETT_DLPACK_H
#include <sett/launch.h>
#include <sett/mark.h>

#ifdef __cplusplus
extern "C" {
#endif

struct DLManagedTensorVersioned;
/* Fills *buf from a tensor, and *device: SETT_CPU (memory of the host, also pinned) or the ordinal of a GPU.
 * Strides of NULL are compact, row-major. *read_only: the producer forbids writing; no launch checks that.
 * device and read_only may be NULL. SETT_E_ARGUMENT: a major version other than 1, or a null pointer.
 * SETT_E_NO_DEVICE. SETT_E_DTYPE: complex numbers, vector lanes, padded elements below a byte. SETT_E_RANK:
 * above 8. SETT_E_SHAPE. */
SETT_API sett_status sett_buf_dlpack(
    const struct DLManagedTensorVersioned *, sett_buf *buf, int *device, bool *read_only,
        sett_error *or_null);
#ifdef DLPACK_DLPACK_H_
/* The same of a bare tensor, whose strides, type and shape follow DLPack 1.x. */
SETT_API sett_status sett_buf_dltensor(const DLTensor *, sett_buf *buf, int *device, sett_error *or_null);
/* A bare tensor as an argument of a launch: fills *buf, and *bind, which points to it. The tensors of one
 * launch lie on one device: *device is SETT_DEFAULT_DEVICE for the first of them, which sets it, and the
 * others must be there too. Texts name the kernel and its argument. Errors: of sett_buf_dltensor, and
 * SETT_E_NO_DEVICE. */
SETT_API sett_status sett_launch_arg_dltensor(const sett_kernel *, int argument, const DLTensor *,
    sett_buf *buf, sett_launch_arg *bind,
    int *device, sett_error *or_null);
/* sett_from_buf (mark.h) of a bare tensor: the start of a parameter's layout, to be marked dynamic. The
 * address is not used, so the tensor may have no memory, and be of any device. */
SETT_API sett_status sett_from_dlpack(
    const DLTensor *, int assumed_align, bool use_32bit_stride, sett_marked *, sett_error *or_null);
#endif

#ifdef __cplusplus
}
#endif
#endif
