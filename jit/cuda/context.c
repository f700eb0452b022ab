/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts are never created and never changed for good. */
#include "inside.h"
#include <unistd.h>

/* The caller's own, if it is one of this device. */
static bool use_current(sett__cuda *c, int device, sett__entered *in)
{
    sett__cu id;
    if (c->ctx_get(&in->context) || !in->context)
        return false;
    return sett__cuda_owns(c, device, in->context) || (!c->ctx_device(&id) && id == c->gpu[device].id);
}

static sett__cu primary(sett__cuda *c, int device, sett__cu_handle *context)
{
    sett__gpu *gpu = &c->gpu[device];
    sett__cu r = 0;
    pthread_mutex_lock(&c->lock);
    *context = atomic_load(&gpu->primary);
    if (!*context && (r = c->retain(context, gpu->id)))
        *context = NULL;
    atomic_store(&gpu->primary, *context);
    pthread_mutex_unlock(&c->lock);
    return r;
}

/* Asking the kernel who we are is as dear as a launch may be. */
static bool forked(const sett__cuda *c)
{
    unsigned gate = c->gate ? atomic_load_explicit(c->gate, memory_order_relaxed) : SETT__GATE_ASK;
    return gate == SETT__GATE_FORKED || (gate == SETT__GATE_ASK && c->pid != getpid());
}

sett_status sett__cuda_unforked(const sett__cuda *c, sett_error *e)
{
    return forked(c) ? sett__error(e, SETT_E_FORKED, "the CUDA driver was started before a fork and cannot be used after it") : SETT_OK;
}

sett_status sett__cuda_enter(sett__cuda *c, int device, sett__entered *in, sett_error *e)
{
    in->pushed = false;
    if (device < 0 || device >= c->count)
        return sett__error(e, SETT_E_NO_DEVICE, "there is no GPU %d; the driver has %d", device, c->count);
    if (forked(c))
        return sett__cuda_unforked(c, e);
    int fault = atomic_load_explicit(&c->fault, memory_order_relaxed);
    if (fault)
        return sett__cuda_error(c, fault, "an earlier fault", e);
    if (use_current(c, device, in))
        return SETT_OK;
    sett__cu r = primary(c, device, &in->context);
    if (r)
        return sett__cuda_error(c, r, "cuDevicePrimaryCtxRetain", e);
    r = c->ctx_push(in->context);
    in->pushed = !r;
    return sett__cuda_error(c, r, "cuCtxPushCurrent", e);
}

void sett__cuda_leave(sett__cuda *c, const sett__entered *in)
{
    sett__cu_handle popped;
    if (in->pushed)
        c->ctx_pop(&popped);
}

/* ---- captures -------------------------------------------------------------------- */
sett__relaxed sett__cuda_relax(sett__cuda *c)
{
    sett__relaxed r = {.mode = SETT__CU_CAPTURE_RELAXED};
    r.changed = c->capture_mode && !c->capture_mode(&r.mode);
    return r;
}

void sett__cuda_restore(sett__cuda *c, const sett__relaxed *r)
{
    sett__cu mode = r->mode;
    if (r->changed)
        c->capture_mode(&mode);
}

sett_status sett__cuda_uncaptured(sett__cuda *c, sett__cu_handle stream, const char *why, sett_error *e)
{
    sett__cu capturing = 0;
    sett__cu r = c->capturing(stream, &capturing);
    if (capturing || (r >= SETT__CU_CAPTURE_FIRST && r <= SETT__CU_CAPTURE_LAST))
        return sett__error(e, SETT_E_CAPTURING, "%s", why);
    return sett__cuda_error(c, r, "cuStreamIsCapturing", e);
}
