/* SPDX-License-Identifier: Apache-2.0 */
/* DLPack tensors as buffers. */
#include "third_party/dlpack/dlpack.h"
#include "launch.h"
#include <inttypes.h>
#include <sett/dlpack.h>
#include <stdio.h>

static const struct {
    uint8_t code, bits, dtype;
} types[] = {
    {kDLBool, 8, SETT_BOOL},
    {kDLInt, 4, SETT_I4},
    {kDLInt, 8, SETT_I8},
    {kDLInt, 16, SETT_I16},
    {kDLInt, 32, SETT_I32},
    {kDLInt, 64, SETT_I64},
    {kDLInt, 128, SETT_I128},
    {kDLUInt, 8, SETT_U8},
    {kDLUInt, 16, SETT_U16},
    {kDLUInt, 32, SETT_U32},
    {kDLUInt, 64, SETT_U64},
    {kDLUInt, 128, SETT_U128},
    {kDLFloat, 16, SETT_F16},
    {kDLFloat, 32, SETT_F32},
    {kDLFloat, 64, SETT_F64},
    {kDLBfloat, 16, SETT_BF16},
    {kDLFloat8_e4m3, 8, SETT_F8E4M3},
    {kDLFloat8_e4m3b11fnuz, 8, SETT_F8E4M3B11FNUZ},
    {kDLFloat8_e4m3fn, 8, SETT_F8E4M3FN},
    {kDLFloat8_e5m2, 8, SETT_F8E5M2},
    {kDLFloat8_e8m0fnu, 8, SETT_F8E8M0FNU},
    {kDLFloat6_e2m3fn, 6, SETT_F6E2M3FN},
    {kDLFloat6_e3m2fn, 6, SETT_F6E3M2FN},
    {kDLFloat4_e2m1fn, 4, SETT_F4E2M1FN},
};

static sett_dtype find_type(DLDataType t)
{
    for (size_t i = 0; i < SETT__COUNT(types) && t.lanes == 1; i++)
        if (types[i].code == t.code && types[i].bits == t.bits)
            return (sett_dtype)types[i].dtype;
    return (sett_dtype)0;
}

static sett_status find_device(DLDevice d, int *device, sett_error *err)
{
    bool host = d.device_type == kDLCPU || d.device_type == kDLCUDAHost;
    bool gpu = d.device_type == kDLCUDA || d.device_type == kDLCUDAManaged;
    if ((!host && !gpu) || (gpu && d.device_id < 0))
        return sett__error(err, SETT_E_NO_DEVICE,
            "the DLPack tensor is on device (%d, %d), which is neither host memory nor a "
            "CUDA GPU",
            (int)d.device_type, (int)d.device_id);
    if (device)
        *device = host ? SETT_CPU : d.device_id;
    return SETT_OK;
}

/* Shape and strides; *empty: no elements. */
static sett_status copy_modes(const DLTensor *t, sett_buf *buf, bool *empty, sett_error *err)
{
    if (t->ndim && !t->shape)
        return sett__error(err, SETT_E_ARGUMENT, "the DLPack tensor has %d modes and no shape", (int)t->ndim);
    for (int i = 0; i < t->ndim; i++) {
        if (t->shape[i] < 0)
            return sett__error(err, SETT_E_SHAPE, "mode %d of the DLPack tensor is %" PRId64, i, t->shape[i]);
        *empty |= t->shape[i] == 0;
    }
    *buf = sett_buf_nd(NULL, buf->dtype, t->ndim, t->shape);
    for (int i = 0; i < t->ndim && t->strides; i++)
        buf->stride[i] = t->strides[i];
    return SETT_OK;
}

/* All but where it lies. */
static sett_status read_kind(const DLTensor *t, sett_buf *buf, bool *empty, sett_error *err)
{
    if (t->ndim < 0 || t->ndim > SETT__MAX_RANK)
        return sett__error(
            err, SETT_E_RANK, "the DLPack tensor has %d modes; a buffer has 0 to %d", (int)t->ndim, SETT__MAX_RANK);
    buf->dtype = find_type(t->dtype);
    if (!buf->dtype)
        return sett__error(err, SETT_E_DTYPE, "no element type for DLPack's (code %d, %d bits, %d lanes)",
            t->dtype.code, t->dtype.bits, t->dtype.lanes);
    return copy_modes(t, buf, empty, err);
}

sett_status sett_from_dlpack(const DLTensor *t, int align, bool narrow, sett_marked *to, sett_error *err)
{
    sett_buf buf = {0};
    bool empty = false;
    if (!t)
        return sett__error(err, SETT_E_ARGUMENT, "the DLPack tensor is NULL");
    sett_status s = read_kind(t, &buf, &empty, err);
    return s ? s : sett_from_buf(&buf, align, narrow, to, err);
}

sett_status sett_buf_dltensor(const DLTensor *t, sett_buf *to, int *device, sett_error *err)
{
    sett_buf buf = {0};
    bool empty = false;
    if (!t || !to)
        return sett__error(err, SETT_E_ARGUMENT, "the DLPack tensor or the place for the buffer is NULL");
    sett_status s = read_kind(t, &buf, &empty, err);
    if (s)
        return s;
    if (!t->data && !empty)
        return sett__error(err, SETT_E_ARGUMENT, "the DLPack tensor has no data");
    if ((uintptr_t)t->data > UINTPTR_MAX - t->byte_offset)
        return sett__error(
            err, SETT_E_RANGE, "the DLPack tensor's byte_offset %" PRIu64 " leaves the address space", t->byte_offset);
    s = find_device(t->device, device, err);
    if (s)
        return s;
    buf.data = (void *)((uintptr_t)t->data + t->byte_offset);
    *to = buf;
    return SETT_OK;
}

static const char *device_text(int device, char text[24])
{
    if (device == SETT_CPU)
        return "the host";
    snprintf(text, 24, "GPU %d", device);
    return text;
}

/* The same error, with the kernel and its argument before it. */
static sett_status of_argument(const sett__plan *p, int argument, const sett_error *why, sett_error *err)
{
    if (argument >= 0 && argument < p->n_arg)
        return sett__error(err, why->status, "%s: %s (argument %d): %s", p->name, p->sig->param[argument].name, argument, why->text);
    return sett__error(err, why->status, "%s: argument %d: %s", p->name, argument, why->text);
}

sett_status sett__bind_dltensor(const sett__plan *p, int argument, const void *t, sett_buf *buf, sett_launch_arg *bind, int *device,
    sett_error *err)
{
    sett_error why;
    char here[24], there[24];
    int found = SETT_CPU;
    sett_status s = sett_buf_dltensor(t, buf, &found, &why);
    if (!s && *device != SETT_DEFAULT_DEVICE && *device != found)
        s = sett__error(&why, SETT_E_NO_DEVICE, "the tensor is in memory of %s, and the tensors before it of %s", device_text(found, here),
            device_text(*device, there));
    if (s)
        return of_argument(p, argument, &why, err);
    *device = found;
    *bind = sett_launch_arg_buf(buf);
    return SETT_OK;
}

sett_status sett_launch_arg_dltensor(const sett_kernel *k, int argument, const DLTensor *t, sett_buf *buf, sett_launch_arg *bind, int *device,
    sett_error *err)
{
    if (!k || !buf || !bind || !device)
        return sett__error(err, SETT_E_ARGUMENT, "sett_launch_arg_dltensor: the %s is NULL",
            !k ? "kernel" : !buf ? "place for the buffer" : !bind ? "place for the argument" : "place for the device");
    return sett__bind_dltensor(k->plan, argument, t, buf, bind, device, err);
}

sett_status sett_buf_dlpack(
    const struct DLManagedTensorVersioned *m, sett_buf *to, int *device, bool *read_only, sett_error *err)
{
    if (!m)
        return sett__error(err, SETT_E_ARGUMENT, "the DLPack tensor is NULL");
    if (m->version.major != DLPACK_MAJOR_VERSION) /* nothing behind the version may be read */
        return sett__error(err, SETT_E_ARGUMENT, "the DLPack tensor is of version %u.%u, and 1.x is known",
            (unsigned)m->version.major, (unsigned)m->version.minor);
    if (m->flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED && m->dl_tensor.dtype.bits < 8)
        return sett__error(err, SETT_E_DTYPE, "the DLPack tensor pads its %d-bit elements to bytes; sett packs them",
            m->dl_tensor.dtype.bits);
    sett_status s = sett_buf_dltensor(&m->dl_tensor, to, device, err);
    if (!s && read_only)
        *read_only = m->flags & DLPACK_FLAG_BITMASK_READ_ONLY;
    return s;
}
