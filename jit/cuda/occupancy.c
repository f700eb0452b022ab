/* SPDX-License-Identifier: Apache-2.0 */
/* How many clusters of a kernel a GPU runs at once, as the driver counts them. */
#include "inside.h"

static bool is_clustered(const sett__launch_dims *d)
{
    return d->cluster[0] * d->cluster[1] * d->cluster[2] > 1;
}

static sett__cu ask(const sett__cuda *c, int device, void *function, const sett__launch_dims *d, int *n)
{
    const uint32_t *k = d->cluster, *t = d->block;
    if (is_clustered(d)) {
        sett__cu_attr cluster = {.id = SETT__CU_ATTR_CLUSTER, .value.cluster = {k[0], k[1], k[2]}};
        const sett__cu_config config = {.grid = {k[0], k[1], k[2]}, .block = {t[0], t[1], t[2]}, .smem = d->smem, .attrs = &cluster, .n_attrs = 1};
        return c->max_clusters(n, function, &config);
    }
    sett__cu r = c->max_blocks(n, function, (int)(t[0] * t[1] * t[2]), d->smem);
    *n *= c->gpu[device].sms;
    return r;
}

sett_status sett__cuda_active(sett__cuda *c, int device, void *function, const sett__launch_dims *d, int *n, sett_error *e)
{
    const char *call = is_clustered(d) ? "cuOccupancyMaxActiveClusters" : "cuOccupancyMaxActiveBlocksPerMultiprocessor";
    sett__entered in;
    *n = 0;
    if (is_clustered(d) ? !c->max_clusters : !c->max_blocks)
        return sett__error(e, SETT_E_DRIVER, "sett_max_active_clusters: the driver has no %s; that of CUDA 11.8 and later has", call);
    sett_status s = sett__cuda_enter(c, device, &in, e);
    if (s)
        return s;
    sett__cu r = ask(c, device, function, d, n);
    sett__cuda_leave(c, &in);
    return sett__cuda_error(c, r, call, e);
}
