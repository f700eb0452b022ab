/* SPDX-License-Identifier: Apache-2.0 */
/* What an exported file runs: it opens the driver at the first launch, finds the code for the device, and launches as the engine
 * does. This file and what it needs are the text that an export begins with (slice.awk). Nothing here is ever freed: like the
 * engine's, the driver and loaded code stay until the process ends. */
#include "export.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

sett_status sett__exporter_lock(sett__exporter *x, sett_error *err)
{
    const int me = (int)getpid();
    for (int holder = 0; !atomic_compare_exchange_weak(&x->holder, &holder, me); holder = 0) {
        if (holder && holder != me)
            return sett__error(err, SETT_E_FORKED, "the process was forked while another thread was in a first call, which started the CUDA driver or loaded code");
        if (holder) /* first calls are few, and take milliseconds */
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return SETT_OK;
}

static sett_status find_driver(sett__exporter *x, sett__cuda **to, sett_error *err)
{
    sett_status s = SETT_OK;
    *to = atomic_load_explicit(&x->cuda, memory_order_acquire);
    if (*to)
        return sett__cuda_unforked(*to, err);
    if ((s = sett__exporter_lock(x, err)))
        return s;
    *to = atomic_load(&x->cuda);
    if (!*to && !x->gate)
        x->gate = sett__gate_page();
    if (!*to)
        s = sett__cuda_open(to, x->gate, NULL, err);
    if (!s)
        atomic_store_explicit(&x->cuda, *to, memory_order_release);
    sett__exporter_unlock(x);
    return s;
}

/* "sm_80, sm_90a" */
static const char *targets_text(const sett__exported *k, char *buf, size_t size)
{
    size_t at = 0;
    buf[0] = 0;
    for (int i = 0; i < k->n && at < size; i++)
        at += (size_t)snprintf(buf + at, size - at, "%s%s", i ? ", " : "", k->code[i].made.target);
    return buf;
}

static sett_status not_for(const sett__exported *k, sett_error *err)
{
    char all[200];
    return sett__error(err, SETT_E_TARGET, "%s was made for %s and cannot run on the CPU", k->name, targets_text(k, all, sizeof all));
}

/* The device's own target, else the latest that it runs. */
static sett_status find_code(const sett__exported *k, sett__cuda *cuda, int device, int *best, sett_error *err)
{
    char target[16], all[200];
    int sm, best_sm = 0;
    char suffix;
    sett_status s = device == SETT_CPU ? not_for(k, err) : sett__cuda_target(cuda, device, target, err);
    *best = -1;
    for (int i = 0; i < k->n && !s; i++) {
        const char *made_for = k->code[i].made.target;
        if (!sett__target_runs(made_for, target) || !sett__target_parse(made_for, &sm, &suffix))
            continue;
        if (!strcmp(made_for, target))
            sm = INT32_MAX;
        if (sm > best_sm)
            best_sm = sm, *best = i;
    }
    sett__made made = k->code[*best < 0 ? 0 : *best].made;
    if (*best < 0)
        made.target = targets_text(k, all, sizeof all);
    if (!s)
        s = sett__cuda_takes(cuda, device, &made, err);
    if (!s)
        atomic_store_explicit(&k->best[device], (unsigned char)(*best + 1), memory_order_relaxed);
    return s;
}

static sett_status make_handle(sett__exporter *x, const sett__exported *k, int i, sett__cuda *cuda, sett_error *err)
{
    const sett__exported_code *c = &k->code[i];
    sett_status s = sett__exporter_lock(x, err);
    if (s)
        return s;
    if (!atomic_load(&k->loaded[i])) {
        sett__gpu_kernel *gpu = malloc(SETT__GPU_KERNEL_BYTES);
        s = gpu ? sett__gpu_kernel_of(cuda, c->cubin, c->len, &c->made, c->plan->sig, false, gpu, err)
                : sett__error(err, SETT_E_MEMORY, "no memory for a kernel");
        if (s)
            free(gpu);
        else
            atomic_store_explicit(&k->loaded[i], gpu, memory_order_release);
    }
    sett__exporter_unlock(x);
    return s;
}

typedef struct exported_on {
    sett__cuda *cuda;
    sett__gpu_kernel *gpu;
    const sett__plan *plan;
} exported_on;
static sett_status find_kernel(sett__exporter *x, const sett__exported *k, int device, exported_on *to, sett_error *err)
{
    sett_status s = find_driver(x, &to->cuda, err);
    const bool known = !s && device >= 0 && device < sett__cuda_count(to->cuda);
    int i = (known ? atomic_load_explicit(&k->best[device], memory_order_relaxed) : 0) - 1;
    if (!s && i < 0)
        s = find_code(k, to->cuda, device, &i, err);
    if (!s && !atomic_load_explicit(&k->loaded[i], memory_order_acquire))
        s = make_handle(x, k, i, to->cuda, err);
    if (s)
        return s;
    to->gpu = atomic_load_explicit(&k->loaded[i], memory_order_acquire);
    to->plan = k->code[i].plan;
    return SETT_OK;
}

/* Where there is no driver, and so no target: what no code takes is told, so that a machine without a GPU tests its calls. */
__attribute__((cold)) static sett_status without_driver(const sett__exported *k, int n, const sett_launch_arg *args, sett_status s, sett_error *err)
{
    sett__bound b;
    sett_error first, other;
    for (int i = 0; i < k->n; i++)
        if (!sett__bind(k->code[i].plan, n, args, &b, NULL, i ? &other : &first))
            return s;
    *err = first;
    return first.status;
}

sett_status sett__exported_launch(sett__exporter *x, const sett__exported *k, sett_stream stream, int n, const sett_launch_arg *args, sett_error *err)
{
    int saved = errno;
    exported_on on;
    sett_status s = find_kernel(x, k, stream.device, &on, err);
    if (s && !on.cuda)
        s = without_driver(k, n, args, s, err);
    if (!s)
        s = sett__launch_gpu(on.plan, on.cuda, on.gpu, stream, n, args, err);
    errno = saved;
    return s;
}

sett_status sett__exported_prepare(sett__exporter *x, const sett__exported *k, int device, sett_error *err)
{
    int saved = errno;
    exported_on on;
    sett_status s = find_kernel(x, k, device, &on, err);
    if (!s)
        s = sett__gpu_prepare(on.gpu, device, err);
    errno = saved;
    return s;
}

sett_status sett__exported_failed(sett__exporter *x, int device, sett_error *err)
{
    int saved = errno;
    sett__cuda *cuda = atomic_load_explicit(&x->cuda, memory_order_acquire);
    sett_status s = cuda ? sett__cuda_failed(cuda, device, err) : SETT_OK;
    errno = saved;
    return s;
}
