/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel as a function object of apache-tvm-ffi: its C ABI 0.1, found in the process. */
#include "third_party/dlpack/dlpack.h"
#include "launch.h"
#include <dlfcn.h>
#include <sett/dlpack.h>
#include <sett/tvm_ffi.h>
#include <stdlib.h>

/* Of tvm/ffi/c_api.h. A value; an object begins with OBJECT bytes of its own, behind which a tensor has its DLTensor. */
typedef struct any {
    int32_t type;
    uint32_t zero;
    union {
        int64_t i;
        double f;
        char *p;
    } u;
} any;
enum { NONE = 0, INT = 1, BOOL = 2, FLOAT = 3, TENSOR_POINTER = 7, TENSOR = 70, OBJECT = 24 };
static_assert(sizeof(any) == 16, "TVMFFIAny is ABI");
typedef int safe_call(void *self, const any *, int32_t n, any *result);

typedef struct callable {
    sett_kernel *kernel; /* counted */
    void *(*stream_of)(int32_t device_type, int32_t device);
    void (*raise)(const char *kind, const char *text);
} callable;

static const char *kind_of(sett_status s)
{
    if (s == SETT_E_DTYPE || s == SETT_E_BIND)
        return "TypeError";
    if (s == SETT_E_MEMORY)
        return "MemoryError";
    return s < SETT_E_NO_DEVICE ? "ValueError" : "RuntimeError";
}

/* One argument; *device: of the tensors so far. */
static sett_status take(const sett_kernel *k, int i, const any *from, sett_buf *buf, sett_bind *to, int *device, sett_error *err)
{
    switch (from->type) {
    case INT:
    case BOOL:
        *to = sett_bind_i(from->u.i);
        return SETT_OK;
    case FLOAT:
        *to = sett_bind_f(from->u.f);
        return SETT_OK;
    case TENSOR:
    case TENSOR_POINTER:
        return sett_bind_dltensor(k, i, (const DLTensor *)(void *)(from->u.p + (from->type == TENSOR ? OBJECT : 0)), buf, to, device, err);
    default:
        return sett__error(err, SETT_E_BIND, "%s: argument %d is neither a tensor nor a number (tvm-ffi's type %d)", k->plan->name, i,
            (int)from->type);
    }
}

static sett_status launch(const callable *f, const any *args, int n, sett_error *err)
{
    sett_bind bind[SETT__MAX_ARGS];
    sett_buf buf[SETT__MAX_ARGS];
    int device = SETT_DEFAULT_DEVICE;
    if (n > SETT__MAX_ARGS)
        return sett__error(err, SETT_E_BIND, "%s: %d arguments were given; no kernel has more than %d", f->kernel->plan->name, n, SETT__MAX_ARGS);
    for (int i = 0; i < n; i++) {
        sett_status s = take(f->kernel, i, &args[i], &buf[i], &bind[i], &device, err);
        if (s)
            return s;
    }
    if (f->kernel->cpu && device == SETT_DEFAULT_DEVICE)
        device = SETT_CPU;
    if (!sett__device(f->kernel->rest->runtime, &device, err))
        return SETT_E_NO_DEVICE;
    void *stream = device == SETT_CPU ? NULL : f->stream_of(kDLCUDA, device);
    return sett_launch_n(f->kernel, (sett_stream){device, stream}, n, bind, err);
}

static int call(void *self, const any *args, int32_t n, any *result)
{
    const callable *f = self;
    sett_error err;
    sett_status s = launch(f, args, n, &err);
    *result = (any){.type = NONE};
    if (s)
        f->raise(kind_of(s), err.text);
    return s ? -1 : 0;
}

static void drop(void *self)
{
    callable *f = self;
    sett_kernel_release(f->kernel);
    free(f);
}

/* The three functions that are used of libtvm_ffi.so. A union, as C has no cast from an object's address to a function's. */
typedef union tvm {
    void *address[3];
    struct {
        int (*create)(void *self, safe_call *, void (*deleter)(void *), void **function);
        void *(*stream_of)(int32_t, int32_t);
        void (*raise)(const char *, const char *);
    } fn;
} tvm;

static sett_status find(void *library, tvm *t, sett_error *err)
{
    static const char *const names[] = {"TVMFFIFunctionCreate", "TVMFFIEnvGetStream", "TVMFFIErrorSetRaisedFromCStr"};
    void *loaded = library ? NULL : dlopen("libtvm_ffi.so", RTLD_NOLOAD | RTLD_NOW | RTLD_LOCAL);
    sett_status s = SETT_OK;
    for (size_t i = 0; i < SETT__COUNT(names) && !s; i++) {
        t->address[i] = dlsym(library ? library : loaded ? loaded : RTLD_DEFAULT, names[i]);
        if (!t->address[i])
            s = sett__error(err, SETT_E_IO, library || loaded ? "libtvm_ffi.so has no %s" :
                "libtvm_ffi.so is not loaded in this process (no %s): load it first, or give its handle", names[i]);
    }
    if (loaded) /* whoever loaded it keeps it */
        dlclose(loaded);
    return s;
}

sett_status sett_tvm_ffi_function(sett_kernel *k, void *library, void **function, sett_error *err)
{
    tvm t;
    if (function)
        *function = NULL;
    if (!k || !function)
        return sett__error(err, SETT_E_ARGUMENT, "sett_tvm_ffi_function: the %s is NULL", k ? "place for the function" : "kernel");
    sett_status s = find(library, &t, err);
    if (s)
        return s;
    callable *f = malloc(sizeof *f);
    if (!f)
        return sett__error(err, SETT_E_MEMORY, "sett_tvm_ffi_function: out of memory");
    *f = (callable){sett_kernel_retain(k), t.fn.stream_of, t.fn.raise};
    if (!t.fn.create(f, call, drop, function))
        return SETT_OK;
    drop(f);
    return sett__error(err, SETT_E_MEMORY, "sett_tvm_ffi_function: tvm-ffi made no function object");
}
