/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels written out as C, and what such a file does when it runs. */
#ifndef SETT_JIT_EXPORT_FACE_H
#define SETT_JIT_EXPORT_FACE_H
#include "jit/launch/launch.h"

/* ---- run.c: in the file that was written -------------------------------------------------------------------- */
typedef struct sett__exported_code { /* a kernel for one target; all of it is constant */
    sett__made made;
    const sett__plan *plan;
    const void *cubin;
    size_t len;
} sett__exported_code;
typedef struct sett__exported { /* a kernel */
    const char *name;
    const sett__exported_code *code;
    _Atomic(sett__gpu_kernel *) *loaded; /* one a code: its handle, from its first use on */
    atomic_uchar *best;                  /* one a device: 1 + which code is for it; 0: not known yet */
    int n;                               /* of codes */
} sett__exported;
typedef struct sett__exporter { /* one a file */
    atomic_int holder;           /* the process (pid) that holds the lock; 0: none does. The lock guards the fields below and the kernels' handles */
    _Atomic(sett__cuda *) cuda;  /* from the first use on */
    atomic_uint *gate;           /* tells it of a fork; NULL: none */
} sett__exporter;
/* A mutex would be held for ever in a child that was forked while another thread held it. SETT_E_FORKED: this is such a child. */
sett_status sett__exporter_lock(sett__exporter *, sett_error *);
static inline void sett__exporter_unlock(sett__exporter *x)
{
    atomic_store(&x->holder, 0);
}
/* Checks and launches as sett_launch_n does, by the code that fits the device best. */
sett_status sett__exported_launch(sett__exporter *, const sett__exported *, sett_stream, int n, const sett_launch_arg *, sett_error *);
/* Loads the code for a device. */
sett_status sett__exported_prepare(sett__exporter *, const sett__exported *, int device, sett_error *);
/* The report of an assertion that failed; see sett__cuda_failed. */
sett_status sett__exported_failed(sett__exporter *, int device, sett_error *);

/* ---- run_tvm.c: the same by the calling convention of apache-tvm-ffi ------------------------------------------- */
typedef struct sett__exported_tvm { /* one a file: what it uses of libtvm_ffi.so, from the first use on */
    sett__tvm tvm;
    atomic_bool found;
} sett__exported_tvm;
/* Returns 0, or -1 with an error raised; where no libtvm_ffi.so is in the process, that one is in *err alone. */
int sett__exported_call(sett__exporter *, const sett__exported *, sett__exported_tvm *, const void *args, int32_t n, void *result, sett_error *err);

#endif
