/* SPDX-License-Identifier: Apache-2.0 */
/* Views: the memory of a tensor as elements of another type, and as a DLPack tensor of its own. */
#include "lend.h"
#include <stdbool.h>

static int bits_of(sett_dtype d)
{
    return d == SETT_BOOL ? 8 : sett_dtype_bits(d); /* as it is stored */
}

/* Counts n elements of `was` bits in elements of `is` bits. False: the bits are no whole number of these. */
static bool rescale(int64_t *n, int was, int is)
{
    int64_t bits;
    if (__builtin_mul_overflow(*n, was, &bits) || bits % is)
        return false;
    *n = bits / is;
    return true;
}

const char *view_as(sett_buf *b, sett_dtype dtype)
{
    const int was = bits_of(b->dtype), is = bits_of(dtype);
    int run = b->rank - 1; /* the contiguous mode */
    while (run >= 0 && b->stride[run] != 1)
        run--;
    if (was != is && (run < 0 || !rescale(&b->shape[run], was, is)))
        return "a view as elements of another size needs a contiguous mode of whole elements";
    for (int m = 0; m < b->rank && was != is; m++)
        if (m != run && b->shape[m] > 1 && !rescale(&b->stride[m], was, is))
            return "a view as larger elements needs strides of whole elements";
    b->dtype = dtype;
    return NULL;
}

/* A view that another library holds as a DLPack tensor, versioned if the producer's is. It keeps the producer's capsule alive. */
typedef struct lent {
    union {
        DLManagedTensor old;
        DLManagedTensorVersioned now;
    } tensor;
    PyObject *capsule;
    sett_buf buf;
} lent;
static const char *const lent_names[] = {"dltensor", "dltensor_versioned"};

static void lent_end(lent *l)
{
    PyGILState_STATE lock = PyGILState_Ensure();
    Py_DECREF(l->capsule);
    PyMem_Free(l);
    PyGILState_Release(lock);
}

static void lent_old(DLManagedTensor *m) { lent_end(m->manager_ctx); }
static void lent_now(DLManagedTensorVersioned *m) { lent_end(m->manager_ctx); }

/* Of a capsule that nobody took the tensor of. */
static void lent_left(PyObject *capsule)
{
    for (int i = 0; i < 2; i++)
        if (PyCapsule_IsValid(capsule, lent_names[i])) {
            void *m = PyCapsule_GetPointer(capsule, lent_names[i]);
            lent_end(i ? ((DLManagedTensorVersioned *)m)->manager_ctx : ((DLManagedTensor *)m)->manager_ctx);
        }
}

/* The type of DLPack that sett reads as this one. */
static DLDataType dlpack_type(sett_dtype dtype)
{
    sett_buf buf;
    DLTensor probe = {.data = &buf, .device = {kDLCPU, 0}, .dtype = {.bits = (uint8_t)bits_of(dtype), .lanes = 1}};
    while (probe.dtype.code < UINT8_MAX && (sett_buf_dltensor(&probe, &buf, NULL, NULL) || buf.dtype != dtype))
        probe.dtype.code++;
    return probe.dtype;
}

static DLTensor lent_tensor(lent *l, DLTensor from)
{
    from.data = l->buf.data, from.byte_offset = 0, from.ndim = l->buf.rank;
    from.shape = l->buf.shape, from.strides = l->buf.stride, from.dtype = dlpack_type(l->buf.dtype);
    return from;
}

static void lent_fill(lent *l, const void *m, bool now)
{
    if (!now) {
        l->tensor.old = (DLManagedTensor){lent_tensor(l, ((const DLManagedTensor *)m)->dl_tensor), l, lent_old};
        return;
    }
    l->tensor.now = *(const DLManagedTensorVersioned *)m;
    l->tensor.now.flags &= ~(uint64_t)DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED; /* sett packs them */
    l->tensor.now.manager_ctx = l, l->tensor.now.deleter = lent_now;
    l->tensor.now.dl_tensor = lent_tensor(l, l->tensor.now.dl_tensor);
}

PyObject *view_lend(PyObject *capsule, sett_dtype dtype, sett_error *err)
{
    const bool now = PyCapsule_IsValid(capsule, lent_names[1]);
    void *m = now || PyCapsule_IsValid(capsule, lent_names[0]) ? PyCapsule_GetPointer(capsule, lent_names[now]) : NULL;
    lent *l = m ? PyMem_Calloc(1, sizeof *l) : NULL;
    *err = (sett_error){.status = m ? SETT_E_MEMORY : SETT_E_BIND, .text = "its __dlpack__ gave no DLPack tensor"};
    if (m && !l)
        PyOS_snprintf(err->text, sizeof err->text, "no memory for a view");
    sett_status s = !l ? err->status : now ? sett_buf_dlpack(m, &l->buf, NULL, NULL, err) : sett_buf_dltensor(&((DLManagedTensor *)m)->dl_tensor, &l->buf, NULL, err);
    const char *why = s ? NULL : view_as(&l->buf, dtype);
    if (why) {
        err->status = s = SETT_E_DTYPE;
        PyOS_snprintf(err->text, sizeof err->text, "%s", why);
    }
    if (s) {
        PyMem_Free(l);
        Py_DECREF(capsule);
        return NULL;
    }
    lent_fill(l, m, now);
    l->capsule = capsule;
    err->status = SETT_OK;
    PyObject *made = PyCapsule_New(&l->tensor, lent_names[now], lent_left);
    if (!made)
        lent_end(l);
    return made;
}

PyObject *call_dlpack(PyObject *tensor, PyObject *name, PyObject *version, PyObject *args, PyObject *named)
{
    PyObject *method = PyObject_GetAttr(tensor, name), *capsule = method ? PyObject_Call(method, args, named) : NULL, *older = NULL;
    if (method && !capsule && named && PyErr_ExceptionMatches(PyExc_TypeError) && PyDict_Contains(named, version) == 1) {
        PyErr_Clear();
        if ((older = PyDict_Copy(named)) && !PyDict_DelItem(older, version))
            capsule = PyObject_Call(method, args, older);
    }
    Py_XDECREF(method), Py_XDECREF(older);
    return capsule;
}
