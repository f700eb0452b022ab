/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room share. */
#ifndef SETT_JIT_ENGINE_INSIDE_H
#define SETT_JIT_ENGINE_INSIDE_H
#include "jit/compile/compile.h"
#include "jit/launch/launch.h"
#include <sett/memory.h>

/* ---- memory.c: as sett_alloc and its like ------------------------------------------------------------------- */
void *sett__alloc(sett__runtime *, int device, size_t);
void sett__free(sett__runtime *, int device, void *);
sett_status sett__memcpy(sett__runtime *, sett_stream, void *dst, const void *src, size_t);
sett_status sett__sync(sett__runtime *, sett_stream, sett_error *);

#endif
