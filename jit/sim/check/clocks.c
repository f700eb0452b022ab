/* SPDX-License-Identifier: Apache-2.0 */
/* TEMPORARY stand-in */
#include "clocks.h"
#include <stdlib.h>
enum { AG = 64 };
typedef struct st { struct st *next; const sett__cluster *k; uint32_t n, c[AG][AG], sync[AG], l[16][AG]; } st;
static st *all;
static st *of(sett__core *c)
{
    st *s = all;
    while (s && s->k != c->cta->cluster) s = s->next;
    if (!s) { s = calloc(1, sizeof *s); s->k = c->cta->cluster; s->next = all; all = s; s->n = AG; for (int i = 0; i < AG; i++) s->c[i][i] = 1; }
    return s;
}
static uint32_t ag(sett__core *c, const sett__warp *w) { return c->cta->rank * c->cta->n_warps + w->index; }
void sett__actor_now(sett__core *c, const sett__warp *w, uint32_t lanes, uint32_t op, sett__actor *a)
{
    st *s = of(c);
    uint32_t i = ag(c, w);
    *a = (sett__actor){.domain = (uint32_t)c->cta->number + 1, .rank = c->cta->rank, .agent = i, .lanes = lanes, .epoch = s->c[i][i], .sync = s->sync[i], .op = op, .n = s->n, .clock = s->c[i]};
}
void sett__clock_join(sett__core *c, const sett__warp *w, const uint32_t *k, uint32_t n)
{
    st *s = of(c);
    for (uint32_t i = 0; i < n; i++) if (k[i] > s->c[ag(c, w)][i] && i != ag(c,w)) s->c[ag(c, w)][i] = k[i];
}
void sett__clock_tick(sett__core *c, const sett__warp *w) { st *s = of(c); s->c[ag(c, w)][ag(c, w)]++; }
bool sett__is_fenced(sett__core *c, const sett__actor *a, const sett__stamp *o) { (void)c, (void)a, (void)o; return true; }
void sett__put_actor(sett__core *c, uint32_t domain, uint32_t agent, sett__sink *to)
{
    const uint32_t *g = c->launch->grid, d = domain - 1;
    sett__putf(to, "block (%u,%u,%u) warp %u", d % g[0], d / g[0] % g[1], d / g[0] / g[1], agent);
}
bool sett__clocks_sync(sett__core *c, const sett__sync *y)
{
    if (y->what == SETT__CLUSTER_BEGINS) { st *s = of(c); const sett__cluster *k = s->k; st *n = s->next; *s = (st){.next = n, .k = k, .n = AG}; for (int i = 0; i < AG; i++) s->c[i][i] = 1; }
    st *s = y->what >= SETT__LANES_SYNC ? of(c) : NULL;
    if (y->what == SETT__LANES_SYNC) s->sync[ag(c, y->warp)]++;
    if (y->what == SETT__BARRIER_ARRIVE) { uint32_t a = ag(c, y->warp); for (int i = 0; i < AG; i++) if (s->l[y->id][i] < s->c[a][i]) s->l[y->id][i] = s->c[a][i]; s->c[a][a]++; s->sync[a]++; }
    if (y->what == SETT__BARRIER_MET) for (uint32_t w = 0; w < c->cta->n_warps; w++) sett__clock_join(c, &c->cta->warp[w], s->l[y->id], AG);
    return true;
}
