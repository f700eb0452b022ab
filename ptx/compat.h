/* SPDX-License-Identifier: Apache-2.0 */
/* What depends on the version of LLVM, or on names that its C headers lack. */
#ifndef SETT_PTX_COMPAT_H
#define SETT_PTX_COMPAT_H
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>

#if LLVM_VERSION_MAJOR != 22
#error "libsett-ptx is written for LLVM 22"
#endif

/* The calling convention of a kernel. */
enum { SETT__CC_PTX_KERNEL = 71 };
/* Lines as `.loc` directives only: no DWARF sections, and ptxas still optimises (any other
 * emission kind marks the module `debug`, which means -O0). The C enum ends before it, and
 * the C call passes the number through. */
#define SETT__DEBUG_DIRECTIVES ((LLVMDWARFEmissionKind)3)
/* An LLVM that runs out of memory aborts unless this C++ function was given a handler.
 * The C API wraps only the handler of other fatal errors. */
void sett__llvm_on_bad_alloc(void (*)(void *, const char *, bool), void *) __asm__(
    "_ZN4llvm31install_bad_alloc_error_handlerEPFvPvPKcbES0_");
/* std::set_new_handler of the libstdc++ in here. LLVM is built without exceptions: what `new` throws ends the process. */
void (*sett__on_new(void (*)(void)))(void) __asm__("_ZSt15set_new_handlerPFvvE");
#endif
