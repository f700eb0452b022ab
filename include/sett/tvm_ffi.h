/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel as a function object of apache-tvm-ffi (https://github.com/apache/tvm-ffi), which programs that
 * take its functions call like any other. Nothing of tvm-ffi is needed to build; its library is that of the
 * process.
 *
 *     void *function;
 *     if (sett_tvm_ffi_function(kernel, NULL, &function, &err))
 *         puts(err.text);
 *     // TVMFFIFunctionSetGlobal(&name, function, 0), TVMFFIFunctionCall(function, ...),
 *         TVMFFIObjectDecRef(function) */
#ifndef SETT_TVM_FFI_H
#define SETT_TVM_FFI_H
#include <sett/compile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes a TVMFFIObjectHandle with one reference, the caller's. The function keeps the kernel alive. It takes
 * the kernel's arguments: tensors (ffi.Tensor or DLTensor *), integers, Booleans and floats, symbols behind
 * them, as sett_launch_n does. It checks them and launches, on tvm-ffi's stream of the tensors' device
 * (TVMFFIEnvGetStream), and returns None. Without a tensor the device is the engine's default. Any thread may
 * call it. A call that fails raises an error of tvm-ffi with the text of the launch; its kind is "TypeError"
 * (SETT_E_DTYPE, SETT_E_BIND), "ValueError" (other mistakes of the caller), "MemoryError" or "RuntimeError".
 * library: what dlopen gave for libtvm_ffi.so, to stay open while the function lives; NULL: the one that the
 * process has loaded.
 * SETT_E_IO: there is none, or it lacks a function of the C ABI 0.1. SETT_E_ARGUMENT, SETT_E_MEMORY. */
SETT_API sett_status sett_tvm_ffi_function(sett_kernel *, void *library_or_null, void **function,
    sett_error *or_null);

#ifdef __cplusplus
}
#endif
#endif
