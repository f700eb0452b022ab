/* SPDX-License-Identifier: Apache-2.0 */
/* A launch: workers take blocks in order and run each to its end, or until it waits for other blocks.
 * The lowest block that faults is reported whatever the number of workers: blocks are handed out in order,
 * and those below a faulting one are finished. */
#include "inside.h"
#include "jit/sim/async/async.h"
#include "jit/sim/check/check.h"
#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_WORKERS 256
/* Bytes of the blocks of a launch that are resident. Blocks that wait for each other are as many as a large GPU has room for: without
 * them the others would wait for ever. */
enum { RESIDENT_BYTES = 256 << 20 };
enum { IDLE = 256 };
enum { PATIENCE = 50, SHORT = 16 }; /* turns that a block waits once another has faulted; LONG turns for one of the others */

struct sett__run {
    const sett__program *program;
    const sett__sim_launch *launch;
    uint64_t blocks, chunk;
    uint32_t most_resident; /* of a worker */
    _Atomic uint64_t next, stop; /* stop: blocks from here on need not run */
    atomic_uint *halt, own_halt;
    double deadline; /* of cores */
    pthread_mutex_t lock;        /* for the fault and for printing */
    sett_error *error;
    sett_status status; /* of the lowest fault so far */
};

/* ---- blocks -------------------------------------------------------------------------------------- */
/* halted: the launch is to end, and a fault that was found before tells more. */
static void record_fault(struct sett__run *run, uint64_t block, const sett_error *fault, bool halted)
{
    pthread_mutex_lock(&run->lock);
    bool first = block < atomic_load(&run->stop) && !(halted && run->status);
    if (halted || first)
        atomic_store(&run->stop, halted ? 0 : block);
    if (first) {
        run->status = fault->status;
        sett__error(run->error, fault->status, "%s", fault->text);
    }
    pthread_mutex_unlock(&run->lock);
}

/* ---- a worker --------------------------------------------------------------------------------- */
enum { GUARDED, UNGUARDED, N_KINDS };
typedef struct worker {
    struct sett__run *run;
    sett__core core;
    sett__notes notes;
    struct kind {
        sett__cta *spare; /* blocks that have ended */
        struct sett__strip *strip;
        bool started;
    } kind[N_KINDS];
    sett__cta *resident, **last; /* blocks that others may have to go on for, the longest first */
    uint32_t n_resident;
    uint32_t want;      /* so many of them before any goes on */
    uint32_t fruitless; /* by turns since a block ended, in SHORT */
    uint32_t idle;      /* times in a row that each resident block only waited for memory */
    bool went_on;       /* one of them did something else since */
    sett__range *known; /* by fact; NULL: nothing is to be proven */
} worker;

static void out_of_memory(struct sett__run *run, uint64_t block)
{
    sett_error e = {.status = SETT_OK};
    sett__error(
        &e, SETT_E_MEMORY, "out of memory for the warps of %s", run->launch->name ? run->launch->name : "?");
    record_fault(run, block, &e, false);
}

static void put_away(worker *w, sett__cta *b)
{
    struct kind *k = &w->kind[b->program != w->run->program];
    b->next = k->spare;
    k->spare = b;
}

/* To the end of the queue. Where each resident block had its turn, LONG ones several, and none ended, they wait for other workers'
 * blocks, or for some that have not begun: for twice as many, and so on. */
static void queue_up(worker *w, sett__cta *b, sett__turn_end how)
{
    b->next = NULL;
    *w->last = b;
    w->last = &b->next;
    w->n_resident++;
    w->fruitless += how == SETT__LONG ? 1 : SHORT;
    w->went_on |= how != SETT__AWAITS;
    if (w->fruitless < SHORT * w->n_resident)
        return;
    w->fruitless = 0;
    w->idle = w->went_on ? 0 : w->idle + 1;
    w->went_on = false;
    w->want = w->want < w->run->most_resident / 2 ? 2 * w->want : w->run->most_resident;
    sched_yield();
}

/* Need it not go on? One that waits for a block that has faulted would wait for ever. */
static bool is_given_up(const worker *w, const sett__cta *b)
{
    uint64_t stop = atomic_load_explicit(&w->run->stop, memory_order_relaxed);
    return b->number >= stop || (stop < w->run->blocks && b->awaited > PATIENCE);
}

/* What the core has turned to, as far as it goes; fresh: from its beginning. */
static void run_turn(worker *w, bool fresh)
{
    sett__core *c = &w->core;
    sett__cta *b = c->cta;
    sett__turn_end how = fresh && !sett__cta_begin(c) ? SETT__FAULT : sett__cta_go_on(c);
    b->awaited = how == SETT__AWAITS ? b->awaited + 1 : 0;
    if (how == SETT__FAULT) {
        record_fault(w->run, b->number, &c->fault, c->halted);
        c->fault.status = SETT_OK;
    }
    if (how == SETT__ENDED || is_given_up(w, b)) {
        w->fruitless = w->idle = 0;
        w->want = w->n_resident ? w->n_resident : 1;
        put_away(w, b);
    } else {
        queue_up(w, b, how);
    }
}

/* Does the launch wait for itself? Of one that is checked: it has one worker. Then the first block of those that wait faults. */
static void check_idle(worker *w)
{
    struct sett__run *r = w->run;
    const uint64_t begun = atomic_load(&r->next), left = begun < r->blocks ? r->blocks - begun : 0;
    if (!r->launch->check || w->idle < IDLE || (left && w->n_resident < r->most_resident) || (r->launch->runnings && !sett__running_alone(r->launch->runnings)))
        return;
    w->idle = 0;
    sett__cta *b = w->resident;
    sett__cta_turn_to(&w->core, b);
    if (sett__spins_for_ever(&w->core, left * sett__cluster_blocks(r->launch))) {
        record_fault(r, b->number, &w->core.fault, false);
        atomic_store(&r->stop, 0);
        w->core.fault.status = SETT_OK;
    }
}

static void resume(worker *w)
{
    check_idle(w);
    sett__cta *b = w->resident;
    w->resident = b->next;
    w->last = b->next ? w->last : &w->resident;
    w->n_resident--;
    sett__cta_turn_to(&w->core, b);
    if (is_given_up(w, b))
        put_away(w, b);
    else
        run_turn(w, false);
}

/* Turns the core to a block of the program that has not begun. Without memory for one more it waits until one is left. */
static bool turn_to_spare(worker *w, struct kind *k)
{
    const sett__program *p = w->run->program;
    sett__cta *b = k->spare ? NULL : sett__cta_make(&w->core, k == w->kind ? p : p->unguarded);
    while (!b && !k->spare && w->n_resident)
        resume(w);
    if (!b && k->spare) {
        b = k->spare;
        k->spare = b->next;
        sett__cta_turn_to(&w->core, b);
    }
    return b != NULL;
}

static void run_as(worker *w, struct kind *k, uint64_t from, uint64_t to)
{
    sett__core *c = &w->core;
    uint32_t n;
    for (uint64_t b = from; b < to && b < atomic_load_explicit(&w->run->stop, memory_order_relaxed); b += n) {
        if (!turn_to_spare(w, k)) {
            out_of_memory(w->run, b);
            return;
        }
        c->strip = k->strip;
        if (!k->started) {
            sett__strip_make(c);
            k->strip = c->strip;
            k->started = true;
        }
        sett__cta_place(c, b);
        n = c->strip ? sett__strip_run(c, to - b) : 0;
        if (n)
            put_away(w, c->cta);
        else
            run_turn(w, true);
        n += !n;
    }
}

/* What is true of no block as a whole may be true of most of its halves. */
static void run_range(worker *w, uint64_t from, uint64_t to)
{
    const struct sett__run *r = w->run;
    if (from >= atomic_load(&r->stop))
        return;
    sett__proof proof = w->known ? sett__prove(r->program, r->launch, w->known, from, to) : SETT__NOWHERE;
    uint64_t middle = from + (to - from) / 2;
    if (proof == SETT__OPEN && middle > from) {
        run_range(w, from, middle);
        run_range(w, middle, to);
        return;
    }
    run_as(w, &w->kind[proof == SETT__EVERYWHERE ? UNGUARDED : GUARDED], from, to);
}

static void run_blocks(worker *w)
{
    struct sett__run *r = w->run;
    for (;;) {
        bool more = atomic_load(&r->next) < atomic_load(&r->stop);
        uint64_t b = more && w->n_resident < w->want ? atomic_fetch_add(&r->next, r->chunk) : r->blocks;
        if (b < atomic_load(&r->stop))
            run_range(w, b, r->blocks - b < r->chunk ? r->blocks : b + r->chunk);
        else if (w->n_resident)
            resume(w);
        else if (!more)
            return;
    }
}

static void free_all(sett__cta *b)
{
    for (sett__cta *next; b; b = next) {
        next = b->next;
        sett__cta_free(b);
    }
}

/* polls: the launch's .poll, as the calling thread does. */
static void work(struct sett__run *run, bool polls)
{
    const sett__program *p = run->program;
    uint32_t n_lazy = p->unguarded && p->unguarded->n_lazy > p->n_lazy ? p->unguarded->n_lazy : p->n_lazy;
    worker w = {.run = run, .want = 1, .last = &w.resident, .known = p->n_fact ? malloc(p->n_fact * sizeof *w.known) : NULL};
    w.core = (sett__core){.launch = run->launch, .lock = &run->lock, .halt = run->halt, .deadline = run->deadline, .looks = polls || run->deadline > 0, .notes = &w.notes};
    w.core.poll_at = polls ? sett__now_ms() + SETT__POLL_MS : 0;
    w.core.lazy = calloc((size_t)n_lazy + 1, sizeof *w.core.lazy);
    fenv_t env;
    fegetenv(&env);
    fesetenv(FE_DFL_ENV); /* the caller may round otherwise, or flush subnormals */
    if (w.core.lazy)
        run_blocks(&w);
    else
        out_of_memory(run, atomic_load(&run->next));
    p->wide->drain();
    for (int kind = 0; kind < N_KINDS; kind++) {
        free_all(w.kind[kind].spare);
        free(w.kind[kind].strip);
    }
    free(w.core.lazy);
    free(w.known);
    fesetenv(&env);
}

static void *thread_main(void *run)
{
    work(run, false);
    return NULL;
}

/* ---- the launch ------------------------------------------------------------------------------------ */
static uint32_t worker_count(const sett__sim_launch *l, uint64_t blocks)
{
    if (l->check) /* one seed, one report */
        return 1;
    long cores = l->threads > 0 ? l->threads : sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t n = cores < 1 ? 1 : (uint64_t)cores;
    n = n < blocks ? n : blocks;
    return (uint32_t)(n < MAX_WORKERS ? n : MAX_WORKERS);
}

static uint32_t most_resident(const sett__program *p, const sett__sim_launch *l, uint32_t workers)
{
    size_t blocks = p->async ? sett__cluster_blocks(l) : 1, fits = sett__model_blocks(p, l) / blocks, most = fits ? (fits + workers - 1) / workers : 1;
    if (l->check && !p->tape->sig.cooperative) /* a launch promises no more, and who waits for a block that has not begun is told so */
        return 1;
    size_t room = p->tape->sig.cooperative || p->awaits ? most : RESIDENT_BYTES / workers / sett__block_bytes(p, l) / blocks;
    return (uint32_t)(room < 1 ? 1 : room < most ? room : most);
}

/* The calling thread, whose own work is done. */
static void join(struct sett__run *run, pthread_t thread)
{
    struct timespec until;
    bool ended = !run->launch->poll;
    while (!ended) {
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += SETT__POLL_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (pthread_timedjoin_np(thread, NULL, &until) != ETIMEDOUT)
            return;
        ended = sett__polled(run->launch, run->halt);
    }
    pthread_join(thread, NULL);
}

/* The calling thread works too; what cannot be started is done without. Signals stay with the caller's threads. */
static void run_all(struct sett__run *run, uint32_t workers)
{
    pthread_t thread[MAX_WORKERS];
    uint32_t started = 0;
    sigset_t all, old;
    pthread_attr_t attr;
    bool masked = workers > 1 && !sigfillset(&all) && !pthread_sigmask(SIG_SETMASK, &all, &old);
    if (masked && !pthread_attr_init(&attr)) {
        pthread_attr_setstacksize(&attr, 256 << 10);
        while (started + 1 < workers && !pthread_create(&thread[started], &attr, thread_main, run))
            started++;
        pthread_attr_destroy(&attr);
    }
    if (masked)
        pthread_sigmask(SIG_SETMASK, &old, NULL);
    work(run, run->launch->poll);
    for (uint32_t i = 0; i < started; i++)
        join(run, thread[i]);
}

static sett_status check_launch(const sett__program *p, const sett__sim_launch *l, sett_error *e)
{
    const char *name = l->name ? l->name : "?";
    uint64_t threads = (uint64_t)l->block[0] * l->block[1];
    if (!l->block[0] || !l->block[1] || !l->block[2] || threads > 1024 || threads * l->block[2] > 1024)
        return sett__error(e, SETT_E_LIMIT, "%s: a block of (%u,%u,%u) threads; 1 to 1024 are possible", name,
            l->block[0], l->block[1], l->block[2]);
    if (l->grid[0] > INT32_MAX || l->grid[1] > 65535 || l->grid[2] > 65535)
        return sett__error(e, SETT_E_LIMIT, "%s: a grid of (%u,%u,%u) blocks is past (2^31-1,65535,65535)", name,
            l->grid[0], l->grid[1], l->grid[2]);
    for (int d = 0; d < 3; d++)
        if (l->cluster[d] > 1 && l->grid[d] % l->cluster[d])
            return sett__error(e, SETT_E_LIMIT, "%s: a grid of (%u,%u,%u) blocks is none of clusters of (%u,%u,%u)", name, l->grid[0], l->grid[1], l->grid[2],
                l->cluster[0], l->cluster[1], l->cluster[2]);
    if (sett__cluster_blocks(l) > SETT__CLUSTER_BLOCKS)
        return sett__error(e, SETT_E_LIMIT, "%s: a cluster of %u blocks; %d is the limit", name, sett__cluster_blocks(l), SETT__CLUSTER_BLOCKS);
    uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2], fit = sett__model_blocks(p, l);
    if (p->tape->sig.cooperative && blocks > fit)
        return sett__error(e, SETT_E_LIMIT, "%s: all of its %llu blocks run at once, and the modelled device has room for %llu", name,
            (unsigned long long)blocks, (unsigned long long)fit);
    if (l->params_len < p->params_len || (p->params_len && !l->params) || (p->tape->sig.n_param && !l->extent))
        return sett__error(
            e, SETT_E_BIND, "%s: %zu bytes of parameters; it takes %u", name, l->params_len, p->params_len);
    if (p->checked != !!l->check)
        return sett__error(e, SETT_E_ARGUMENT, "%s: a launch that is %schecked, and its program was made for %s", name, l->check ? "" : "not ", l->check ? "plain ones" : "checked ones");
    if (!sett__matmuls_check(p, l, e))
        return SETT_E_TARGET;
    if (p->n_call && !l->stand_in)
        return sett__call_check(p, p->call, name, NULL, e);
    return SETT_OK;
}

sett_status sett__sim_run(const sett__program *p, const sett__sim_launch *l, sett_error *e)
{
    int saved = errno;
    sett_status status = check_launch(p, l, e);
    uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    if (status || !blocks)
        return status;
    blocks /= p->async ? sett__cluster_blocks(l) : 1;
    struct sett__run run = {.program = p, .launch = l, .blocks = blocks, .error = e};
    uint32_t workers = worker_count(l, blocks);
    run.chunk = p->awaits || blocks / workers / 16 < 1 ? 1 : blocks / workers / 16 > 64 ? 64 : blocks / workers / 16;
    run.most_resident = most_resident(p, l, workers);
    atomic_init(&run.next, 0);
    atomic_init(&run.stop, blocks);
    atomic_init(&run.own_halt, SETT__GO_ON);
    run.halt = l->halt ? l->halt : &run.own_halt;
    run.deadline = l->timeout_ms ? sett__now_ms() + l->timeout_ms : 0;
    if (pthread_mutex_init(&run.lock, NULL))
        return sett__error(e, SETT_E_MEMORY, "out of memory for a launch");
    run_all(&run, workers);
    if (l->check)
        sett__costs_end(p, l);
    pthread_mutex_destroy(&run.lock);
    if (l->check) {
        if (!run.status)
            sett__proof_end(p, l->check);
        sett__checker_end(p, l);
    }
    errno = saved;
    return run.status;
}
