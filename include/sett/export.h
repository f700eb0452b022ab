/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels as C: a header and a source file with a typed function for each kernel, which a program compiles in
 * and calls without sett. `sett export` is this call as a command; docs/embedding.md has a program. */
#ifndef SETT_EXPORT_H
#define SETT_EXPORT_H
#include <sett/compile.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sett_export_options {
    size_t size;
    /* What every name begins with that the files declare: "mine" gives mine_saxpy(), mine_buf, MINE_F32. A C
     * identifier that begins with a letter, of at most 64 characters. */
    const char *name;
    /* Adds, for each function, the symbol __tvm_ffi_NAME_FUNCTION: the same by the calling convention of
     * apache-tvm-ffi (its C ABI 0.1), which finds it in a shared object by the name NAME_FUNCTION. Arguments,
     * stream and errors are those of sett_tvm_ffi_function (tvm_ffi.h). Nothing of tvm-ffi is needed to
     * compile; its library is that of the process. */
    bool tvm_ffi;
} sett_export_options;
/* One kernel for one target. function: what NAME_ is put before; NULL: the kernel's own name. */
typedef struct sett_export_kernel {
    const char *function;
    sett_kernel *kernel;
} sett_export_kernel;
/* Writes kernels as a header, to be saved as NAME.h, and a C11 source, NAME.c. Kernels of one function are
 * one kernel for several targets: the function takes the code that fits its device, as an engine would. All
 * of them must have the same parameters, and a cubin. Equal kernels give equal bytes.
 *
 * The source needs gcc or clang with C11, libc and pthreads. It opens libcuda.so.1 when a function is first
 * called, checks arguments as a launch does, with the same texts, and defines no symbol that does not begin
 * with NAME_, so that a program may have several exports, and sett too.
 *
 * The caller frees both texts with sett_text_free. On failure they are NULL. SETT_E_ARGUMENT: a kernel
 * without a cubin, a name that is none or taken, a target twice. SETT_E_SHAPE: other parameters.
 * SETT_E_DTYPE: a scalar of a type that C lacks. SETT_E_MEMORY. */
SETT_API sett_status sett_export(const sett_export_kernel *kernels, int n, const sett_export_options *,
    char **header,
    char **source, sett_error *or_null);

#ifdef __cplusplus
}
#endif
#endif
