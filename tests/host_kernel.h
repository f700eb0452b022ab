/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of tests/host.cc: kernels are written in C, hosts may be C++. */
#ifndef HOST_KERNEL_H
#define HOST_KERNEL_H
#include <sett/build.h>
#ifdef __cplusplus
extern "C"
#endif
void host_kernel(sett_build *, const void *user);
#endif
