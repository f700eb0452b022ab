/* SPDX-License-Identifier: Apache-2.0 */
/* Entries on their way: to the folder, after the waiter has its kernel, and then to the remote, by one thread at a time, which is
 * none of those that may compile while it waits for the server. */
#include "threads.h"
#include <stdlib.h>

sett__write_back *sett__write_plan(const sett__workers *w, const sett__task *t)
{
    const sett__cache *cache = w->engine->cache;
    const sett__disk *disk = sett__cache_folder(cache);
    bool keep = disk && !sett__disk_read_only(disk), send = sett__cache_sends(cache);
    if (t->status || t->job->ptx_only || t->job->compare || (!keep && !send))
        return NULL;
    sett__entry e = t->out->entry;
    e.ptx = (sett__blob){NULL, 0};
    sett__write_back *wb = calloc(1, sizeof *wb);
    if (!wb || sett__entry_copy(&e, &wb->entry, NULL)) {
        sett__count(&w->engine->runtime->count.write_failures, 1);
        sett__log(w->engine, SETT_LOG_WARNING, "cache", "%s is not written: no memory", t->job->name);
        free(wb);
        return NULL;
    }
    wb->key = *t->job->key;
    wb->keep = keep;
    wb->send = send;
    if (t->job->ticket) {
        wb->ticket = *t->job->ticket;
        *t->job->ticket = (sett__ticket){0};
    }
    return wb;
}

void sett__write_push(sett__workers *w, sett__write_back *wb)
{
    wb->next = NULL;
    *w->last_write = wb;
    w->last_write = &wb->next;
}

static void drop_write(sett__write_back *wb)
{
    sett__entry_free(&wb->entry);
    free(wb);
}

void sett__write_run(sett__workers *w)
{
    sett__write_back *wb = w->writes;
    sett_error err = {0};
    w->writes = wb->next;
    if (!w->writes)
        w->last_write = &w->writes;
    w->writing++;
    pthread_mutex_unlock(&w->lock);
    if (wb->keep && sett__disk_put(sett__cache_folder(w->engine->cache), &wb->key, &wb->entry,
                        w->engine->opt.toolchain == SETT_TOOLCHAIN_EXACT, &err)) {
        sett__count(&w->engine->runtime->count.write_failures, 1);
        sett__log(w->engine, SETT_LOG_WARNING, "cache", "an entry was not written: %s", err.text);
    }
    sett__disk_unlock(&wb->ticket);
    bool send = wb->send;
    if (!send)
        drop_write(wb);
    pthread_mutex_lock(&w->lock);
    if (send) {
        wb->next = NULL;
        *w->last_send = wb;
        w->last_send = &wb->next;
    }
    w->writing--;
    pthread_cond_broadcast(&w->done);
}

void sett__send_run(sett__workers *w)
{
    sett__write_back *wb = w->sends;
    w->sends = wb->next;
    if (!w->sends)
        w->last_send = &w->sends;
    w->sending = true;
    pthread_mutex_unlock(&w->lock);
    sett__cache_send(w->engine->cache, &wb->key, &wb->entry);
    drop_write(wb);
    pthread_mutex_lock(&w->lock);
    w->sending = false;
    pthread_cond_broadcast(&w->done);
}

void sett__workers_keep(sett__workers *w, const sett__digest *key, sett__entry *entry, sett__ticket *ticket)
{
    sett__write_back *wb = calloc(1, sizeof *wb);
    if (!wb) {
        sett__entry_free(entry);
        return;
    }
    *wb = (sett__write_back){.key = *key, .entry = *entry, .keep = true};
    if (ticket) {
        wb->ticket = *ticket;
        *ticket = (sett__ticket){0};
    }
    pthread_mutex_lock(&w->lock);
    sett__write_push(w, wb);
    if (!w->n_thread)
        sett__worker_start(w); /* if it cannot be, the entry is written when the engine is closed */
    pthread_cond_signal(&w->work);
    pthread_mutex_unlock(&w->lock);
}

void sett__workers_flush(sett__workers *w)
{
    pthread_mutex_lock(&w->lock);
    pthread_cond_broadcast(&w->work); /* who left something to do may have been parked since */
    while (w->writes || w->writing || w->sends || w->sending)
        if (w->writes && !w->n_thread) /* its last thread is parked */
            sett__write_run(w);
        else if (w->sends && !w->n_thread && !w->sending)
            sett__send_run(w);
        else
            pthread_cond_wait(&w->done, &w->lock);
    pthread_mutex_unlock(&w->lock);
}
