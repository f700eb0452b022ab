/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations that fail: which, and how many there were. */
#ifndef OOM_ALLOC_H
#define OOM_ALLOC_H
#include <stdatomic.h>

extern atomic_long oom_count, oom_live, oom_fail_at;       /* fail_at: the first that fails; 0: none */
extern atomic_long oom_llvm_count, oom_llvm_fail_at;       /* of those that LLVM makes */
extern atomic_bool oom_for_ever;                           /* all from there on fail too */
#endif
