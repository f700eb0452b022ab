/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies for oom.c, which record what the library of kernels does without. */
#ifndef OOM_BODIES_H
#define OOM_BODIES_H
#include <sett/sett.h>

void oom_hello(sett_build *, const void *unused);
void oom_structs(sett_build *, const void *unused);
void oom_atoms(sett_build *, const void *unused);
void oom_rings(sett_build *, const void *unused);
void oom_dividing(sett_build *, const void *unused);
void oom_relying(sett_build *, const void *unused);
void oom_looping(sett_build *, const void *unused);
void oom_packing(sett_build *, const void *unused);
void oom_inlining(sett_build *, const void *unused);
void oom_maps(sett_build *, const void *unused);
void oom_wrong(sett_build *, const void *unused); /* of what the checker finds, some of each kind: Y, 256 elements of Int32 */
/* Tapes: D of A, 1024 elements. */
extern const char oom_boxes[], oom_products[];
#endif
