/* SPDX-License-Identifier: Apache-2.0 */
/* Launches of the CPU engine that are under way: who ends them from another thread finds them here, and who closes the
 * engine waits for them. Each is a node on the launching thread's stack. */
#include "jit/sim/sim.h"

bool sett__running_enter(sett__runnings *all, sett__running *r, void *handle)
{
    r->handle = handle;
    atomic_init(&r->halt, SETT__GO_ON);
    pthread_mutex_lock(&all->lock);
    bool open = !all->closed;
    if (open) {
        r->next = all->first;
        r->link = &all->first;
        if (r->next)
            r->next->link = &r->next;
        all->first = r;
    }
    pthread_mutex_unlock(&all->lock);
    return open;
}

bool sett__running_alone(sett__runnings *all)
{
    pthread_mutex_lock(&all->lock);
    bool alone = all->first && !all->first->next;
    pthread_mutex_unlock(&all->lock);
    return alone;
}

void sett__running_leave(sett__runnings *all, sett__running *r)
{
    pthread_mutex_lock(&all->lock);
    *r->link = r->next;
    if (r->next)
        r->next->link = r->link;
    if (all->closed && !all->first)
        pthread_cond_broadcast(&all->none);
    pthread_mutex_unlock(&all->lock);
}

void sett__running_close(sett__runnings *all)
{
    pthread_mutex_lock(&all->lock);
    all->closed = true;
    for (sett__running *r = all->first; r; r = r->next)
        atomic_store(&r->halt, SETT__HALT_CLOSED);
    while (all->first)
        pthread_cond_wait(&all->none, &all->lock);
    pthread_mutex_unlock(&all->lock);
}

void sett__running_cancel(sett__runnings *all, const void *handle)
{
    pthread_mutex_lock(&all->lock);
    for (sett__running *r = all->first; r; r = r->next) {
        unsigned none = SETT__GO_ON;
        if (r->handle == handle)
            atomic_compare_exchange_strong(&r->halt, &none, SETT__HALT_CANCELLED);
    }
    pthread_mutex_unlock(&all->lock);
}
