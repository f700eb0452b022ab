/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor maps, which the driver encodes, in a context of the device. */
#include "inside.h"

sett_status sett__cuda_map(sett__cuda *c, int device, const char *kernel, const char *tensor, const sett__map *m, const sett__map_facts *f, void *to, sett_error *err)
{
    enum { INTERLEAVE_NONE };
    uint32_t box[SETT__MAP_RANK], step[SETT__MAP_RANK];
    char call[400];
    if (!c->tensor_map)
        return sett__error(err, SETT_E_DRIVER, "%s: %s: map %s: the driver has no cuTensorMapEncodeTiled; that of CUDA 12.0 and later has", kernel, tensor, m->name);
    for (int k = 0; k < m->rank; k++)
        box[k] = m->box[k], step[k] = m->step[k];
    sett__entered in;
    sett_status s = sett__cuda_enter(c, device, &in, err);
    if (s)
        return s;
    sett__cu r = c->tensor_map(to, sett__map_type(m->dtype), m->rank, (void *)(uintptr_t)f->address, f->extent, f->stride, box, step,
        INTERLEAVE_NONE, m->swizzle, m->promotion, m->nan);
    sett__cuda_leave(c, &in);
    if (!r)
        return SETT_OK;
    snprintf(call, sizeof call, "%.100s: %.80s: map %.80s: cuTensorMapEncodeTiled", kernel, tensor, m->name);
    return sett__cuda_error(c, r, call, err);
}
