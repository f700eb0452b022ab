/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers, and one-off launches on both engines: check, bind, go. */
#include "launch.h"
#include <errno.h>
#include <stdlib.h>

/* ---- buffers ------------------------------------------------------------------- */
/* A shape that overflows gets strides that no launch takes; a rank that is none, rank -1, likewise. */
sett_buf sett_buf_nd(const void *data, sett_dtype dtype, int rank, const int64_t *shape)
{
    sett_buf t = {.data = (void *)(uintptr_t)data, .dtype = dtype, .rank = rank};
    if (rank < 0 || rank > SETT__MAX_RANK || (rank && !shape)) {
        t.rank = -1;
        return t;
    }
    int64_t stride = 1;
    for (int i = rank - 1; i >= 0; i--) {
        t.shape[i] = shape[i];
        t.stride[i] = stride;
        if (shape[i] > 1 && __builtin_mul_overflow(stride, shape[i], &stride))
            stride = INT64_MAX;
    }
    return t;
}

sett_buf sett_buf_1d(const void *data, sett_dtype dtype, int64_t n)
{
    return sett_buf_nd(data, dtype, 1, &n);
}

sett_buf sett_buf_2d(const void *data, sett_dtype dtype, int64_t rows, int64_t cols)
{
    return sett_buf_nd(data, dtype, 2, (const int64_t[]){rows, cols});
}

/* ---- launches -------------------------------------------------------------------- */
sett_status sett__launch_check(const sett_kernel *k, int *device, sett_error *err)
{
    if (!sett__gate_open(k->gate) && !sett__runtime_live(k->rest->runtime))
        return sett__runtime_check(k->rest->runtime, sett__meta_of(k)->name, err);
    /* What was prepared on a device has passed the slow questions before. */
    if (k->cpu ? *device == SETT_CPU : k->on_gpu && sett__gpu_prepared(sett__kernel_gpu(k), *device))
        return SETT_OK;
    return sett__device(k->rest->runtime, device, err) ? sett__kernel_device(k, *device, err) : SETT_E_NO_DEVICE;
}

/* What came out of a launch that was checked. */
static void told(const sett__how *how, const char *kernel, sett_status s, const sett__checked *k)
{
    if (!s && !k->any)
        sett__proof_tell(kernel, k->proof, k->because.line ? &k->because : NULL);
    if (k->orders)
        sett__orders_tell(kernel, k->orders, k->all, k->others);
    if (!s && how->result)
        *how->result = (sett_check_result){k->found, k->proof, k->because, k->orders, k->others, k->all};
    sett__findings_told(&k->to);
}

sett_status sett__launch_how(const sett_kernel *k, const sett__how *how, void *handle, const sett__launch_dims *d, const void *params, size_t params_len,
    const sett__extent *extent, sett_error *err)
{
    sett__running running;
    sett__runtime *r = k->rest->runtime;
    const sett__meta *m = sett__meta_of(k);
    void (**stand_in)(void) = NULL;
    sett_status s = sett__stand_ins_of(&r->stand_ins, how->program, m->name, &stand_in, err);
    if (s)
        return s;
    sett__checked check = {.to = how->to, .because = {.file = "", .function = ""}};
    check.before = sett__befores_take(&r->befores, handle);
    check.maps = sett__befores_maps(&r->befores);
    const sett__sim_launch launch = {
        .grid = {d->grid[0], d->grid[1], d->grid[2]},
        .block = {d->block[0], d->block[1], d->block[2]},
        .cluster = {d->cluster[0], d->cluster[1], d->cluster[2]},
        .async = how->async,
        .blocks = &r->blocks,
        .runnings = &r->runnings,
        .smem_more = m->sig.smem_more.count ? d->smem - m->sig.smem : 0,
        .params = params,
        .params_len = params_len,
        .extent = extent,
        .threads = r->cpu_threads,
        .sm = r->cpu_sm,
        .fast_mma = r->cpu_fast_mma,
        .name = m->name,
        .print = r->print,
        .poll = r->cpu_poll,
        .user = r->user,
        .stand_in = stand_in,
        .timeout_ms = r->cpu_timeout_ms,
        .halt = &running.halt,
        .check = check.to.checks > SETT_CHECKS_OFF ? &check : NULL,
    };
    if (sett__running_enter(&r->runnings, &running, handle)) {
        s = sett__sim_orders(how->program, &launch, err);
        sett__running_leave(&r->runnings, &running);
    } else {
        s = sett__runtime_check(r, m->name, err);
    }
    free(stand_in);
    for (uint32_t i = 0; launch.check && i < k->rest->cpu->tape->n_site; i++) {
        const sett__tape *t = k->rest->cpu->tape;
        sett__suppress_seen(t->string[t->site[i].file], t->string[t->site[i].func]);
    }
    if (launch.check)
        told(how, m->name, s, &check);
    sett__before_free(check.before);
    sett__before_free(check.maps);
    sett__befores_put(&r->befores, check.after, handle);
    return s;
}

sett_status sett__launch_cpu(const sett_kernel *k, void *handle, const sett__launch_dims *d, const void *params, size_t params_len,
    const sett__extent *extent, sett_error *err)
{
    const sett__runtime *r = k->rest->runtime;
    sett__how how = {.program = k->rest->cpu->program, .to = r->finding, .async = r->cpu_async};
    how.to.checks = k->rest->cpu->checks;
    return sett__launch_how(k, &how, handle, d, params, params_len, extent, err);
}

sett_status sett__bind_kernel(
    const sett_kernel *k, int n, const sett_launch_arg *args, sett__bound *bound, sett__extent *extent, sett_error *err)
{
    sett_status s = sett__bind(k->plan, n, args, bound, extent, err);
    return s || !k->cpu ? s : sett__allocations_check(&k->rest->runtime->blocks, k->plan->sig, k->plan->name, args, extent, err);
}

/* What a bound launch hands over: tensor maps, and on a GPU the shot. gpu NULL: the CPU engine. In line, as a launch is a few tens of
 * nanoseconds of ours. */
static inline __attribute__((always_inline)) sett_status aim(const sett__plan *p, sett__cuda *cuda, sett__gpu_kernel *gpu, sett_stream stream, void *function, sett__bound *b,
    const sett__map_facts *was, const void *was_params, sett__shot *shot, sett_error *err)
{
    sett_status s = p->n_map ? sett__maps_encode(p, cuda, stream.device, b, was, was_params, err) : SETT_OK;
    if (s || !gpu || b->empty)
        return s;
    s = sett__gpu_aim(shot, gpu, function, stream, &b->dims, b->params, b->params_len, err);
    if (!s && p->n_map)
        sett__gpu_apart(shot, sett__plan_places(p), p->n_place);
    return s;
}

sett_status sett__launch_aim(sett_kernel *k, sett_stream stream, void *function, int n, const sett_launch_arg *args, sett__bound *b,
    sett__extent *extent, const sett__map_facts *was, const void *was_params, sett__shot *shot, sett_error *err)
{
    sett_status s = sett__bind_kernel(k, n, args, b, extent, err);
    if (s)
        return s;
    if (k->cpu)
        return aim(k->plan, NULL, NULL, stream, NULL, b, was, was_params, NULL, err);
    s = aim(k->plan, k->rest->runtime->cuda, sett__kernel_gpu(k), stream, function, b, was, was_params, shot, err);
    return s ? sett__kernel_not_loaded(k, s, err) : SETT_OK;
}

sett_status sett__launch_again(const sett_kernel *k, void *handle, const sett__launch_dims *d, const void *params, size_t params_len,
    const sett__extent *extent, sett_error *err)
{
    sett_status s = sett__allocations_alive(&k->rest->runtime->blocks, k->plan->sig, k->plan->name, extent, err);
    return s ? s : sett__launch_cpu(k, handle, d, params, params_len, extent, err);
}

sett_status sett__kernel_hold(sett_kernel *k, int device, void **function, sett_error *err)
{
    *function = NULL;
    if (k->cpu)
        return SETT_OK;
    atomic_fetch_add(&k->rest->calls, 1);
    sett_status s = sett_prepare(k, device, err);
    *function = s ? NULL : sett__gpu_function(sett__kernel_gpu(k), device);
    if (!s && !*function)
        s = sett__error(err, SETT_E_DRIVER, "%s: not loaded in this context", k->plan->name);
    if (s)
        sett__kernel_let(k);
    return s;
}

void sett__kernel_let(sett_kernel *k)
{
    if (!k->cpu)
        atomic_fetch_sub(&k->rest->calls, 1);
}

static sett_status on_cpu(sett_kernel *k, void *handle, int n, const sett_launch_arg *args, sett_error *err)
{
    sett__bound b;
    sett__extent extent[SETT__MAX_ARGS];
    sett_status s = sett__launch_aim(k, (sett_stream){SETT_CPU, handle}, NULL, n, args, &b, extent, NULL, NULL, NULL, err);
    return s || b.empty ? s : sett__launch_cpu(k, handle, &b.dims, b.params, b.params_len, extent, err);
}

sett_status sett__launch_gpu(const sett__plan *p, sett__cuda *cuda, sett__gpu_kernel *gpu, sett_stream stream, int n, const sett_launch_arg *args,
    sett_error *err)
{
    sett__bound b;
    sett__shot shot;
    sett_status s = sett__bind(p, n, args, &b, NULL, err);
    if (!s)
        s = aim(p, cuda, gpu, stream, NULL, &b, NULL, NULL, &shot, err);
    return s || b.empty ? s : sett__gpu_shoot(&shot, stream.handle, b.params, err);
}

static sett_status on_gpu(sett_kernel *k, sett_stream stream, int n, const sett_launch_arg *args, sett_error *err)
{
    sett_status s = sett__launch_gpu(k->plan, k->rest->runtime->cuda, sett__kernel_gpu(k), stream, n, args, err);
    return s ? sett__kernel_not_loaded(k, s, err) : SETT_OK;
}

sett_status sett_launch_n(sett_kernel *k, sett_stream stream, int n, const sett_launch_arg *args, sett_error *err)
{
    int saved = errno;
    if (!k)
        return sett__error(err, SETT_E_ARGUMENT, "sett_launch: the kernel is NULL");
    sett_status s = sett__launch_check(k, &stream.device, err);
    if (!s)
        s = k->cpu ? on_cpu(k, stream.handle, n, args, err) : on_gpu(k, stream, n, args, err);
    errno = saved;
    return s;
}
