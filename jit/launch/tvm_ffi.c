/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel as a function object of apache-tvm-ffi, whose library is found in the process. */
#include "launch.h"
#include <sett/tvm_ffi.h>
#include <stdlib.h>
#include <string.h>

typedef struct callable {
    sett_kernel *kernel; /* counted */
    sett__tvm tvm;
} callable;

static sett_status launch(const callable *f, const sett__tvm_any *args, int n, sett_error *err)
{
    sett__tvm_bound b;
    sett_status s = sett__tvm_arguments(f->kernel->plan, args, n, &b, err);
    if (s)
        return s;
    if (f->kernel->cpu && b.device == SETT_DEFAULT_DEVICE)
        b.device = SETT_CPU;
    if (!sett__device(f->kernel->rest->runtime, &b.device, err))
        return SETT_E_NO_DEVICE;
    return sett_launch_n(f->kernel, (sett_stream){b.device, sett__tvm_stream(&f->tvm, b.device)}, n, b.bind, err);
}

static int call(void *self, const sett__tvm_any *args, int32_t n, sett__tvm_any *result)
{
    const callable *f = self;
    sett_error err;
    sett_status s = launch(f, args, n, &err);
    *result = (sett__tvm_any){0}; /* None */
    if (s)
        sett__tvm_raise(&f->tvm, s, err.text);
    return s ? -1 : 0;
}

static void drop(void *self)
{
    callable *f = self;
    sett_kernel_release(f->kernel);
    free(f);
}

sett_status sett_tvm_ffi_function(sett_kernel *k, void *library, void **function, sett_error *err)
{
    int (*create)(void *self, int (*)(void *, const sett__tvm_any *, int32_t, sett__tvm_any *), void (*deleter)(void *), void **function);
    sett__tvm t;
    if (function)
        *function = NULL;
    if (!k || !function)
        return sett__error(err, SETT_E_ARGUMENT, "sett_tvm_ffi_function: the %s is NULL", k ? "place for the function" : "kernel");
    sett_status s = sett__tvm_find(library, &t, err);
    if (s)
        return s;
    callable *f = malloc(sizeof *f);
    if (!f)
        return sett__error(err, SETT_E_MEMORY, "sett_tvm_ffi_function: out of memory");
    *f = (callable){sett_kernel_retain(k), t};
    memcpy(&create, &t.create, sizeof create);
    if (!create(f, call, drop, function))
        return SETT_OK;
    drop(f);
    return sett__error(err, SETT_E_MEMORY, "sett_tvm_ffi_function: tvm-ffi made no function object");
}
