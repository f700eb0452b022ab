/* SPDX-License-Identifier: Apache-2.0 */
/* What the threads that compile share: threads.c runs them, codegen.c makes an entry, write_back.c writes it. */
#ifndef SETT_JIT_COMPILE_THREADS_H
#define SETT_JIT_COMPILE_THREADS_H
#include "compile.h"

enum { SETT__MAX_WORKERS = 16 };
typedef struct sett__task {
    struct sett__task *next;
    const sett__compile_job *job;
    sett__compiled *out;
    sett_status status;
    sett_error error;
    bool done;
} sett__task;

typedef struct sett__write_back {
    struct sett__write_back *next;
    sett__digest key;
    sett__entry entry;
    sett__ticket ticket; /* other processes wait until the entry is there */
    bool keep, send;     /* in the folder; to the remote */
} sett__write_back;

struct sett__workers {
    sett_engine *engine;
    pthread_mutex_t lock; /* over all below */
    pthread_cond_t work, done;
    sett__task *first, **last;
    sett__write_back *writes, **last_write, *sends, **last_send;
    int writing; /* being written now */
    bool sending; /* by one thread */
    pthread_t thread[SETT__MAX_WORKERS + 1];
    int n_thread, max_thread, idle, queued;
    bool quit, warmed; /* the first compile to a cubin has begun */
    /* the plug-in */
    pthread_mutex_t open_lock; /* held while it is opened */
    sett__plugin plugin;
    bool dead;
    sett_error why; /* it cannot be used */
};

/* ---- threads.c ---- */
bool sett__thread_spawn(pthread_t *, void *(*)(void *), void *user); /* on a stack that LLVM fits; it takes no signal */
/* Both are called with the lock. */
bool sett__worker_start(sett__workers *);
void sett__worker_forget(sett__workers *); /* by a thread that will never work again; what waits for it is handed on */

/* ---- codegen.c ---- */
void sett__task_compile(sett__workers *, sett__task *, sett__spare *); /* sets status, error and out of the task */

/* ---- write_back.c ---- */
/* The entry as it goes to disk: without PTX, which only who compiled is shown. NULL: nothing to write. */
sett__write_back *sett__write_plan(const sett__workers *, const sett__task *);
/* These are called with the lock, and the last two give it up while they write or send the first of what waits. */
void sett__write_push(sett__workers *, sett__write_back *);
void sett__write_run(sett__workers *);
void sett__send_run(sett__workers *);
#endif
