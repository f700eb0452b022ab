/* SPDX-License-Identifier: Apache-2.0 */
/* How many clusters of a kernel run at once: what a persistent kernel's grid is made of. */
#include "launch.h"
#include <errno.h>

/* Block, cluster and shared memory, which no argument of a launch may change. */
static sett_status dims_of(const sett_kernel *k, sett__launch_dims *d, sett_error *err)
{
    enum { GRID = 3 };
    const sett__plan *p = k->plan;
    const sett__dim_plan *dim = sett__plan_dims(p);
    bool fixed = !p->sig->smem_more.count;
    for (uint32_t i = 0; i < p->n_dim; i++)
        fixed = fixed && dim[i].slot < GRID;
    *d = p->dims;
    return fixed ? SETT_OK : sett__error(err, SETT_E_ARGUMENT, "sett_max_active_clusters: %s has a block or shared memory that each launch makes, and no one number of clusters", p->name);
}

static sett_status on_cpu(const sett_kernel *k, const sett__launch_dims *d, int *n)
{
    const sett__sim_launch l = {.block = {d->block[0], d->block[1], d->block[2]}};
    *n = (int)(sett__model_blocks(k->rest->cpu->program, &l) / (d->cluster[0] * d->cluster[1] * d->cluster[2]));
    return SETT_OK;
}

sett_status sett_max_active_clusters(sett_kernel *k, int device, int *clusters, sett_error *err)
{
    const int saved = errno;
    sett__launch_dims d;
    int n = 0;
    if (!k || !clusters)
        return sett__error(err, SETT_E_ARGUMENT, "sett_max_active_clusters: the %s is NULL", k ? "result" : "kernel");
    *clusters = 0;
    sett_status s = sett__launch_check(k, &device, err);
    if (!s)
        s = dims_of(k, &d, err);
    if (!s && !k->cpu)
        s = sett_prepare(k, device, err);
    if (!s)
        s = k->cpu ? on_cpu(k, &d, &n) : sett__cuda_active(k->rest->runtime->cuda, device, sett__gpu_function(sett__kernel_gpu(k), device), &d, &n, err);
    *clusters = s ? 0 : n;
    errno = saved;
    return s;
}
