/* SPDX-License-Identifier: Apache-2.0 */
/* The threads that compile. LLVM runs on stacks that we sized (8 MiB), with every signal blocked, and never on a caller's thread:
 * should it fail in a way that it cannot return from, its thread is parked (codegen.c), and another takes its place. */
#include "threads.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { STACK = 8 << 20, KEEP_SECONDS = 2 };

static void run_task(sett__workers *w, sett__task *t, sett__spare *spare)
{
    w->first = t->next;
    w->queued--;
    if (!w->first)
        w->last = &w->first;
    pthread_mutex_unlock(&w->lock);
    sett__task_compile(w, t, spare);
    sett__write_back *wb = sett__write_plan(w, t);
    pthread_mutex_lock(&w->lock);
    t->done = true;
    if (wb)
        sett__write_push(w, wb);
    pthread_cond_broadcast(&w->done);
}

static void rest(sett__workers *w, sett__spare *spare)
{
    struct timespec until;
    if (!spare->lid) {
        pthread_cond_wait(&w->work, &w->lock);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += KEEP_SECONDS;
    if (pthread_cond_timedwait(&w->work, &w->lock, &until) == ETIMEDOUT)
        sett__spare_drop(spare);
}

static void *worker(void *user)
{
    sett__workers *w = user;
    sett__spare spare = {0};
    pthread_mutex_lock(&w->lock);
    for (;;) {
        if (w->first)
            run_task(w, w->first, &spare); /* whoever waits comes before the disk */
        else if (w->writes)
            sett__write_run(w);
        else if (w->sends && !w->sending)
            sett__send_run(w);
        else if (w->quit)
            break;
        else {
            w->idle++;
            rest(w, &spare);
            w->idle--;
        }
    }
    pthread_mutex_unlock(&w->lock);
    sett__spare_drop(&spare);
    return NULL;
}

/* A library's thread takes no signal that the program meant for itself. */
bool sett__thread_spawn(pthread_t *thread, void *(*run)(void *), void *user)
{
    pthread_attr_t attr;
    sigset_t all, old;
    if (pthread_attr_init(&attr))
        return false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    bool ok = !pthread_attr_setstacksize(&attr, STACK) && !pthread_create(thread, &attr, run, user);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    return ok;
}

bool sett__worker_start(sett__workers *w)
{
    bool ok = sett__thread_spawn(&w->thread[w->n_thread], worker, w);
    w->n_thread += ok;
    return ok;
}

void sett__worker_forget(sett__workers *w)
{
    pthread_t self = pthread_self();
    for (int i = 0; i < w->n_thread; i++)
        if (pthread_equal(w->thread[i], self)) {
            w->thread[i] = w->thread[--w->n_thread];
            break;
        }
    pthread_detach(self);
    if (w->n_thread || sett__worker_start(w))
        return;
    for (sett__task *t = w->first; t; t = t->next) {
        t->status = sett__error(&t->error, SETT_E_NO_COMPILER, "%s", w->why.text);
        t->done = true;
    }
    w->first = NULL;
    w->last = &w->first;
    w->queued = 0;
}

sett_status sett__workers_compile(sett__workers *w, const sett__compile_job *job, sett__compiled *out, sett_error *err)
{
    sett__task t = {.job = job, .out = out};
    *out = (sett__compiled){0};
    pthread_mutex_lock(&w->lock);
    if (w->queued >= w->idle && w->n_thread - w->sending < w->max_thread)
        sett__worker_start(w);
    if (!w->n_thread) {
        pthread_mutex_unlock(&w->lock);
        return sett__error(err, SETT_E_MEMORY, "no thread to compile on");
    }
    *w->last = &t;
    w->last = &t.next;
    w->queued++;
    pthread_cond_signal(&w->work);
    while (!t.done)
        pthread_cond_wait(&w->done, &w->lock);
    pthread_mutex_unlock(&w->lock);
    if (t.status && err)
        *err = t.error;
    return t.status;
}

sett_status sett__workers_open(sett__workers **out, sett_engine *e, sett_error *err)
{
    sett__workers *w = calloc(1, sizeof *w);
    pthread_condattr_t monotonic;
    *out = NULL;
    if (!w)
        return sett__error(err, SETT_E_MEMORY, "no memory for an engine");
    pthread_mutex_init(&w->lock, NULL); /* these fail for want of nothing on Linux: no memory is taken */
    pthread_mutex_init(&w->open_lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&w->work, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_cond_init(&w->done, NULL);
    w->engine = e;
    w->last = &w->first;
    w->last_write = &w->writes;
    w->last_send = &w->sends;
    w->max_thread = e->opt.cpu_threads < SETT__MAX_WORKERS ? e->opt.cpu_threads : SETT__MAX_WORKERS;
    *out = w;
    return SETT_OK;
}

void sett__workers_close(sett__workers *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->quit = true;
    pthread_cond_broadcast(&w->work);
    while (w->n_thread) {
        pthread_t t = w->thread[--w->n_thread];
        pthread_mutex_unlock(&w->lock);
        pthread_join(t, NULL);
        pthread_mutex_lock(&w->lock);
    }
    pthread_mutex_unlock(&w->lock);
    sett__workers_flush(w);
    pthread_mutex_destroy(&w->lock);
    pthread_mutex_destroy(&w->open_lock);
    pthread_cond_destroy(&w->work);
    pthread_cond_destroy(&w->done);
    free(w);
}
