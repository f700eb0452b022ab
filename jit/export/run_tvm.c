/* SPDX-License-Identifier: Apache-2.0 */
/* An exported kernel as a function of apache-tvm-ffi: what a symbol __tvm_ffi_NAME of a shared object is. */
#include "export.h"
#include <errno.h>

static sett_status find_tvm(sett__exporter *x, sett__exported_tvm *t, sett_error *err)
{
    sett_status s = SETT_OK;
    if (atomic_load_explicit(&t->found, memory_order_acquire))
        return s;
    if ((s = sett__exporter_lock(x, err)))
        return s;
    if (!atomic_load(&t->found) && !(s = sett__tvm_find(NULL, &t->tvm, err)))
        atomic_store_explicit(&t->found, true, memory_order_release);
    sett__exporter_unlock(x);
    return s;
}

static sett_status call_kernel(sett__exporter *x, const sett__exported *k, const sett__tvm *t, const sett__tvm_any *args, int n, sett_error *err)
{
    sett__tvm_bound b;
    sett_status s = sett__tvm_arguments(k->code[0].plan, args, n, &b, err); /* all codes take the same parameters */
    if (s)
        return s;
    const int device = b.device == SETT_DEFAULT_DEVICE ? 0 : b.device;
    return sett__exported_launch(x, k, (sett_stream){device, sett__tvm_stream(t, device)}, n, b.bind, err);
}

int sett__exported_call(sett__exporter *x, const sett__exported *k, sett__exported_tvm *t, const void *args, int32_t n, void *result,
    sett_error *err)
{
    int saved = errno;
    sett_status s = find_tvm(x, t, err);
    if (s)
        return -1;
    s = call_kernel(x, k, &t->tvm, args, n, err);
    *(sett__tvm_any *)result = (sett__tvm_any){0}; /* None */
    if (s)
        sett__tvm_raise(&t->tvm, s, err->text);
    errno = saved;
    return s ? -1 : 0;
}
