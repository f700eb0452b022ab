/* SPDX-License-Identifier: Apache-2.0 */
/* What is said in apache-tvm-ffi's C ABI 0.1: its values as arguments of a launch, its library's functions, its errors. */
#include "third_party/dlpack/dlpack.h"
#include "launch.h"
#include <dlfcn.h>

/* Of tvm/ffi/c_api.h. An object begins with OBJECT bytes of its own, behind which a tensor has its DLTensor. */
enum { INT = 1, BOOL = 2, FLOAT = 3, TENSOR_POINTER = 7, TENSOR = 70, OBJECT = 24 };
static_assert(sizeof(sett__tvm_any) == 16, "TVMFFIAny is ABI");

static const char *kind_of(sett_status s)
{
    if (s == SETT_E_DTYPE || s == SETT_E_BIND)
        return "TypeError";
    if (s == SETT_E_MEMORY)
        return "MemoryError";
    return s < SETT_E_NO_DEVICE ? "ValueError" : "RuntimeError";
}

static sett_status take_any(const sett__plan *p, int i, const sett__tvm_any *from, sett_buf *buf, sett_launch_arg *to, int *device, sett_error *err)
{
    switch (from->type) {
    case INT:
    case BOOL:
        *to = (sett_launch_arg){SETT_LAUNCH_ARG_INT, 0, {.i = from->u.i}};
        return SETT_OK;
    case FLOAT:
        *to = (sett_launch_arg){SETT_LAUNCH_ARG_FLOAT, 0, {.f = from->u.f}};
        return SETT_OK;
    case TENSOR:
    case TENSOR_POINTER:
        return sett__bind_dltensor(p, i, from->u.p + (from->type == TENSOR ? OBJECT : 0), buf, to, device, err);
    default:
        return sett__error(err, SETT_E_BIND, i < p->n_arg ? "%s: %s (argument %d) is neither a tensor nor a number (tvm-ffi's type %d)" :
            "%s: %sargument %d is neither a tensor nor a number (tvm-ffi's type %d)", p->name, i < p->n_arg ? p->sig->param[i].name : "", i, (int)from->type);
    }
}

sett_status sett__tvm_arguments(const sett__plan *p, const sett__tvm_any *args, int n, sett__tvm_bound *to, sett_error *err)
{
    sett_status s = SETT_OK;
    to->device = SETT_DEFAULT_DEVICE;
    if (n > SETT__MAX_ARGS)
        return sett__error(err, SETT_E_BIND, "%s: %d arguments were given; no kernel has more than %d", p->name, n, SETT__MAX_ARGS);
    for (int i = 0; i < n && !s; i++)
        s = take_any(p, i, &args[i], &to->buf[i], &to->bind[i], &to->device, err);
    return s;
}

/* C has no cast from an object's address to a function's. */
void *sett__tvm_stream(const sett__tvm *t, int device)
{
    void *(*stream_of)(int32_t device_type, int32_t device);
    memcpy(&stream_of, &t->stream_of, sizeof stream_of);
    return device == SETT_CPU ? NULL : stream_of(kDLCUDA, device);
}

void sett__tvm_raise(const sett__tvm *t, sett_status s, const char *text)
{
    void (*raise)(const char *kind, const char *text);
    memcpy(&raise, &t->raise, sizeof raise);
    raise(kind_of(s), text);
}

sett_status sett__tvm_find(void *library, sett__tvm *t, sett_error *err)
{
    const struct {
        const char *name;
        void **to;
    } used[] = {{"TVMFFIFunctionCreate", &t->create}, {"TVMFFIEnvGetStream", &t->stream_of}, {"TVMFFIErrorSetRaisedFromCStr", &t->raise}};
    void *loaded = library ? NULL : dlopen("libtvm_ffi.so", RTLD_NOLOAD | RTLD_NOW | RTLD_LOCAL);
    sett_status s = SETT_OK;
    for (size_t i = 0; i < SETT__COUNT(used) && !s; i++) {
        *used[i].to = dlsym(library ? library : loaded ? loaded : RTLD_DEFAULT, used[i].name);
        if (!*used[i].to)
            s = sett__error(err, SETT_E_IO, library || loaded ? "libtvm_ffi.so has no %s" :
                "libtvm_ffi.so is not loaded in this process (no %s): load it first, or give its handle", used[i].name);
    }
    if (loaded) /* whoever loaded it keeps it */
        dlclose(loaded);
    return s;
}
