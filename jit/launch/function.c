/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel as a C function: a libffi closure that packs its arguments for sett_launch_n. */
#include "launch.h"
#include <errno.h>
#include <ffi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the last call of a thread that failed said. Each belongs to the thread of its number, which alone touches it: no lock, so
 * none that a fork leaves held. One whose thread has ended is the next thread's. */
typedef struct failure {
    struct failure *next;
    atomic_int thread;
    sett_error error;
} failure;

struct sett_function {
    _Atomic(failure *) failures;
    ffi_closure *closure;
    ffi_cif cif;
    sett_kernel *kernel; /* counted */
    sett_stream stream;
    ffi_type *type[]; /* of the arguments */
};

/* The C type of a scalar; NULL: it has none. The 16-bit floats have none in C11 and come as float. */
static ffi_type *scalar_type(int dtype)
{
    switch (dtype) {
    case SETT_BOOL:
    case SETT_U8:
        return &ffi_type_uint8;
    case SETT_I8:
        return &ffi_type_sint8;
    case SETT_I16:
        return &ffi_type_sint16;
    case SETT_U16:
        return &ffi_type_uint16;
    case SETT_I32:
        return &ffi_type_sint32;
    case SETT_U32:
        return &ffi_type_uint32;
    case SETT_I64:
        return &ffi_type_sint64;
    case SETT_U64:
        return &ffi_type_uint64;
    case SETT_F16:
    case SETT_BF16:
    case SETT_F32:
        return &ffi_type_float;
    case SETT_F64:
        return &ffi_type_double;
    default:
        return NULL;
    }
}

/* p: where libffi has put an argument of this type. */
static sett_launch_arg scalar_of(const ffi_type *type, const void *p)
{
    union {
        uint8_t u8;
        int8_t i8;
        uint16_t u16;
        int16_t i16;
        uint32_t u32;
        int32_t i32;
        int64_t i64;
        float f;
        double d;
    } v;
    memcpy(&v, p, type->size);
    switch (type->type) {
    case FFI_TYPE_FLOAT:
        return (sett_launch_arg){SETT_LAUNCH_ARG_FLOAT, .u = {.f = (double)v.f}};
    case FFI_TYPE_DOUBLE:
        return (sett_launch_arg){SETT_LAUNCH_ARG_FLOAT, .u = {.f = v.d}};
    case FFI_TYPE_UINT8:
        return (sett_launch_arg){SETT_LAUNCH_ARG_INT, .u = {.i = v.u8}};
    case FFI_TYPE_SINT8:
        return (sett_launch_arg){SETT_LAUNCH_ARG_INT, .u = {.i = v.i8}};
    case FFI_TYPE_UINT16:
        return (sett_launch_arg){SETT_LAUNCH_ARG_INT, .u = {.i = v.u16}};
    case FFI_TYPE_SINT16:
        return (sett_launch_arg){SETT_LAUNCH_ARG_INT, .u = {.i = v.i16}};
    case FFI_TYPE_UINT32:
        return (sett_launch_arg){SETT_LAUNCH_ARG_INT, .u = {.i = v.u32}};
    case FFI_TYPE_SINT32:
        return (sett_launch_arg){SETT_LAUNCH_ARG_INT, .u = {.i = v.i32}};
    default:
        return (sett_launch_arg){SETT_LAUNCH_ARG_INT, .u = {.i = v.i64}};
    }
}

static failure *failure_of(const sett_function *f, pid_t thread)
{
    failure *at = atomic_load(&f->failures);
    while (at && atomic_load(&at->thread) != thread)
        at = at->next;
    return at;
}

/* NULL: no memory, and the status must do. */
static failure *take_failure(sett_function *f, pid_t thread)
{
    failure *at = failure_of(f, thread);
    if (at)
        return at;
    for (at = atomic_load(&f->failures); at; at = at->next) {
        int other = atomic_load(&at->thread);
        if (tgkill(getpid(), other, 0) && errno == ESRCH && atomic_compare_exchange_strong(&at->thread, &other, thread))
            return at;
    }
    if (!(at = malloc(sizeof *at)))
        return NULL;
    atomic_init(&at->thread, thread);
    at->next = atomic_load(&f->failures);
    while (!atomic_compare_exchange_weak(&f->failures, &at->next, at))
        ;
    return at;
}

sett_status sett_function_error(const sett_function *f, sett_error *err)
{
    const failure *at = f ? failure_of(f, gettid()) : NULL;
    return !f ? sett__error(err, SETT_E_ARGUMENT, "sett_function_error: the function is NULL")
              : at ? sett__error(err, at->error.status, "%s", at->error.text) : SETT_OK;
}

/* Called by libffi for a call of the function. */
static void enter(ffi_cif *cif, void *result, void **args, void *user)
{
    sett_function *f = user;
    sett_error err;
    sett_launch_arg bind[SETT__MAX_ARGS];
    for (unsigned i = 0; i < cif->nargs; i++) {
        const sett__param *p = &f->kernel->plan->sig->param[i];
        if (p->scalar == SETT__BY_STRUCT)
            bind[i] = sett_launch_arg_struct(*(const void *const *)args[i], p->bytes);
        else if (f->type[i]->type == FFI_TYPE_POINTER)
            bind[i] = sett_launch_arg_buf(*(const sett_buf *const *)args[i]);
        else
            bind[i] = scalar_of(f->type[i], args[i]);
    }
    err.status = SETT_OK;
    sett_status s = sett_launch_n(f->kernel, f->stream, (int)cif->nargs, bind, &err);
    *(ffi_arg *)result = (ffi_arg)s;
    if (!s)
        return;
    int saved = errno;
    failure *at = take_failure(f, gettid());
    if (at && err.status == s)
        at->error = err;
    else if (at)
        sett__error(&at->error, s, "%s", sett_status_text(s));
    errno = saved;
}

static sett_status find_types(sett_function *f, sett_error *err)
{
    const sett__sig *sig = f->kernel->plan->sig;
    for (uint32_t i = 0; i < sig->n_param; i++) {
        const sett__param *p = &sig->param[i];
        f->type[i] = p->scalar == SETT__BY_NUMBER ? scalar_type(p->dtype) : &ffi_type_pointer;
        if (!f->type[i])
            return sett__error(err, SETT_E_DTYPE, "sett_kernel_function: %s: %s is %s, which has no type in C",
                f->kernel->plan->name, p->name, sett_dtype_name((sett_dtype)p->dtype));
    }
    return SETT_OK;
}

static sett_status make_closure(sett_function *f, void (**function)(void), sett_error *err)
{
    unsigned n = f->kernel->plan->n_arg;
    void *code = NULL;
    sett_status s = find_types(f, err);
    if (s)
        return s;
    f->closure = ffi_closure_alloc(sizeof(ffi_closure), &code);
    if (!f->closure)
        return sett__error(err, SETT_E_MEMORY, "sett_kernel_function: no executable memory for a closure");
    if (ffi_prep_cif(&f->cif, FFI_DEFAULT_ABI, n, &ffi_type_uint32, f->type) != FFI_OK ||
        ffi_prep_closure_loc(f->closure, &f->cif, enter, f, code) != FFI_OK)
        return sett__error(err, SETT_E_INTERNAL, "sett_kernel_function: libffi refuses the signature");
    memcpy(function, &code, sizeof code); /* ISO C has no cast from an object's to a function's pointer */
    return SETT_OK;
}

sett_status sett_kernel_function(
    sett_kernel *k, sett_stream stream, sett_function **to, void (**function)(void), sett_error *err)
{
    int saved = errno;
    if (to)
        *to = NULL;
    if (!k || !to || !function)
        return sett__error(err, SETT_E_ARGUMENT, "sett_kernel_function: an argument is NULL");
    *function = NULL;
    sett_status s = sett__launch_check(k, &stream.device, err);
    if (s)
        return s;
    sett_function *f = calloc(1, sizeof *f + k->plan->n_arg * sizeof f->type[0]);
    if (!f)
        return sett__error(err, SETT_E_MEMORY, "sett_kernel_function: out of memory");
    f->kernel = sett_kernel_retain(k);
    f->stream = stream;
    s = make_closure(f, function, err);
    if (s)
        sett_function_free(f);
    else
        *to = f;
    errno = saved;
    return s;
}

void sett_function_free(sett_function *f)
{
    if (!f)
        return;
    if (f->closure)
        ffi_closure_free(f->closure);
    sett_kernel_release(f->kernel);
    for (failure *at = atomic_load(&f->failures), *next; at; at = next) {
        next = at->next;
        free(at);
    }
    free(f);
}
