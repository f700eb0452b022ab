/* SPDX-License-Identifier: Apache-2.0 */
/* Running a kernel: checks the arguments, packs them, launches. */
#ifndef SETT_JIT_LAUNCH_FACE_H
#define SETT_JIT_LAUNCH_FACE_H
#include "jit/kernel/kernel.h"

/* ---- launch.c: running ----------------------------------------------------------------------------- */
/* Runs one launch of a CPU kernel whose arguments are bound, and returns when it has ended. handle: its stream's. */
sett_status sett__launch_cpu(const sett_kernel *, void *handle, const sett__launch_dims *, const void *params, size_t params_len,
    const sett__extent *, sett_error *);
/* The same otherwise than the engine and the kernel say. */
typedef struct sett__how {
    const sett__program *program;
    sett__listener to; /* .checks OFF: it is not checked; else the program was made for that */
    sett__async async;
    sett_check_result *result; /* NULL: nobody asks */
} sett__how;
sett_status sett__launch_how(const sett_kernel *, const sett__how *, void *handle, const sett__launch_dims *, const void *params, size_t params_len,
    const sett__extent *, sett_error *);
/* check.c: the same by sett_check_options, which are the caller's. */
sett_status sett__launch_check_options(const sett_kernel *, const char *func, const sett_check_options *, const sett__launch_dims *, const void *params,
    size_t params_len, const sett__extent *, sett_error *);
/* Binds, checks and launches, of a kernel of a GPU. */
sett_status sett__launch_gpu(const sett__plan *, sett__cuda *, sett__gpu_kernel *, sett_stream, int n, const sett_launch_arg *, sett_error *);
/* Of either engine; of the CPU's also whether what it reaches is in memory that is there. */
sett_status sett__bind_kernel(const sett_kernel *, int n, const sett_launch_arg *, sett__bound *, sett__extent *, sett_error *);
/* Binds, and makes what a launch hands over: tensor maps, and on a GPU the shot, all but its gate. function: as sett__gpu_aim takes it. was,
 * was_params: what maps were encoded of before, and the block that has them, or NULL. Of an empty grid the shot is what it was. */
sett_status sett__launch_aim(sett_kernel *, sett_stream, void *function, int n, const sett_launch_arg *, sett__bound *, sett__extent *,
    const sett__map_facts *was, const void *was_params, sett__shot *, sett_error *);
/* Runs a CPU kernel that was bound before, if its memory is still there. */
sett_status sett__launch_again(const sett_kernel *, void *handle, const sett__launch_dims *, const void *params, size_t params_len,
    const sett__extent *, sett_error *);
/* Loads a kernel's code on a device, and keeps it there until sett__kernel_let. *function: of a GPU's. */
sett_status sett__kernel_hold(sett_kernel *, int device, void **function, sett_error *);
void sett__kernel_let(sett_kernel *);
/* The first check of every launch: is the engine open, and can the kernel run on the device? A few loads if all is well.
 * Resolves SETT_DEFAULT_DEVICE. */
sett_status sett__launch_check(const sett_kernel *, int *device, sett_error *);

/* ---- dlpack.c, tvm.c: arguments that others describe ------------------------------------------------------- */
/* sett_launch_arg_dltensor of a kernel's plan. */
sett_status sett__bind_dltensor(const sett__plan *, int argument, const void *dltensor, sett_buf *, sett_launch_arg *, int *device, sett_error *);
typedef struct sett__tvm_any { /* TVMFFIAny; type 0: None */
    int32_t type;
    uint32_t zero;
    union {
        int64_t i;
        double f;
        char *p;
    } u;
} sett__tvm_any;
/* Functions of libtvm_ffi.so, as dlsym gives them: TVMFFIFunctionCreate, TVMFFIEnvGetStream, TVMFFIErrorSetRaisedFromCStr. */
typedef struct sett__tvm { void *create, *stream_of, *raise; } sett__tvm;
/* library: what dlopen gave; NULL: the one that the process has loaded. SETT_E_IO. */
sett_status sett__tvm_find(void *library, sett__tvm *, sett_error *);
typedef struct sett__tvm_bound {
    int device; /* of the tensors; SETT_DEFAULT_DEVICE: there is none */
    sett_launch_arg bind[SETT__MAX_ARGS];
    sett_buf buf[SETT__MAX_ARGS];
} sett__tvm_bound;
sett_status sett__tvm_arguments(const sett__plan *, const sett__tvm_any *, int n, sett__tvm_bound *, sett_error *);
void *sett__tvm_stream(const sett__tvm *, int device); /* of its environment; NULL for the CPU */
void sett__tvm_raise(const sett__tvm *, sett_status, const char *text); /* as "TypeError" ..., by the status */

#endif
