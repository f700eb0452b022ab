/* SPDX-License-Identifier: Apache-2.0 */
/* A launch: workers take blocks in order and run each to its end, its warps in turn until each waits.
 * The lowest block that faults is reported whatever the number of workers: blocks are handed out in order,
 * and those below a faulting one are finished. */
#include "inside.h"
#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_WORKERS 256
#define AHEAD_LEAST (512u << 10)
#define STREAM_LEAST (32u << 20) /* a tensor that no cache would keep until it is read */
#define POISON 0xff /* of memory that a kernel has not written: NaN, -1, true */

struct sett__run {
    const sett__program *program;
    const sett__sim_launch *launch;
    uint64_t blocks, chunk;
    _Atomic uint64_t next, stop; /* stop: blocks from here on need not run */
    atomic_uint *halt, own_halt;
    double deadline; /* of cores */
    pthread_mutex_t lock;        /* for the fault and for printing */
    sett_error *error;
    sett_status status; /* of the lowest fault so far */
};

/* ---- a worker's memory ------------------------------------------------------------------- */
static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* Frames of neighbouring warps start in other cache sets. */
static bool core_make(sett__core *c, struct sett__run *run, const sett__program *p)
{
    const uint32_t *b = run->launch->block;
    size_t frame = round_up(p->warp_bytes + 64, 128) + 64, shared = round_up((size_t)p->tape->sig.smem + run->launch->smem_more + 64, 64);
    *c = (sett__core){.program = p, .launch = run->launch, .run = run, .threads = b[0] * b[1] * b[2], .halt = run->halt,
        .deadline = run->deadline, .looks = run->deadline > 0};
    c->n_warps = (c->threads + WARP - 1) / WARP;
    size_t align = p->tape->sig.smem_align > 256 ? p->tape->sig.smem_align : 256;
    size_t uniform = round_up(p->uniform_bytes + 64, 64);
    if (frame > SIZE_MAX / 2 / c->n_warps)
        return false;
    c->memory = malloc(align + shared + uniform + frame * c->n_warps);
    c->warp = calloc(c->n_warps, sizeof *c->warp);
    c->window = calloc((size_t)p->n_root + 1, sizeof *c->window);
    c->lazy = calloc((size_t)p->n_lazy + 1, sizeof *c->lazy);
    if (!c->memory || !c->warp || !c->window || !c->lazy)
        return false;
    c->shared = (unsigned char *)round_up((uintptr_t)c->memory, align);
    c->uniform = c->shared + shared;
    for (uint32_t i = 0; i < c->n_warps; i++) {
        uint32_t left = c->threads - i * WARP;
        c->warp[i].index = i;
        c->warp[i].live = left >= WARP ? UINT32_MAX : (1u << left) - 1;
        c->warp[i].frame = c->uniform + uniform + frame * i;
        if (left < WARP) /* lanes past the block compute too: on zeros, not on whatever lay there */
            memset(c->warp[i].frame, 0, frame);
    }
    return true;
}

static void core_free(sett__core *c)
{
    for (uint32_t i = 0; c->warp && i < c->n_warps; i++)
        free(c->warp[i].pending);
    free(c->memory);
    free(c->warp);
    free(c->window);
    free(c->lazy);
    free(c->strip);
}

static void windows(sett__core *c)
{
    const sett__program *p = c->program;
    for (uint32_t i = 0; i < p->n_root; i++) {
        const sett__root *r = &p->root[i];
        sett__window *w = &c->window[i];
        *w = (sett__window){c->shared + r->offset, 0, (int64_t)r->bytes, false, false};
        if (r->space == SETT__SHARED && !r->bytes) /* what the launch adds */
            w->hi = c->launch->smem_more;
        if (r->space == SETT__GLOBAL && r->bytes) { /* passed by value */
            w->p = (unsigned char *)(uintptr_t)c->launch->params + r->offset;
        } else if (r->space == SETT__GLOBAL) {
            const sett__extent *e = &c->launch->extent[r->param];
            memcpy(&w->p, (const char *)c->launch->params + r->offset, sizeof w->p);
            w->lo = (int64_t)((uintptr_t)e->data - (uintptr_t)w->p);
            w->hi = w->lo + (int64_t)e->bytes;
            w->ahead = e->bytes >= AHEAD_LEAST;
            w->stream = e->bytes >= STREAM_LEAST && !p->atomics;
        }
    }
}

/* ---- blocks -------------------------------------------------------------------------------------- */
/* All of it, unless the launch is to end: arrays of all warps may take long to fill. */
static void start_block(sett__core *c)
{
    const sett__program *p = c->program;
    memset(c->shared, POISON, (size_t)p->tape->sig.smem + c->launch->smem_more);
    memset(c->barrier, 0, sizeof c->barrier);
    sett__exec_section(c, &c->warp[0], SETT__PER_BLOCK);
    for (uint32_t i = 0; i < c->n_warps && !sett__ended(c); i++) {
        sett__warp *w = &c->warp[i];
        w->active = w->live;
        w->pc = p->section[SETT__BODY];
        w->depth = 0;
        w->rounds = 0;
        w->state = SETT__RUNNING;
        sett__forget(w);
        if (p->local_bytes)
            memset(w->frame + p->local_at, POISON, p->local_bytes);
    }
}

/* No warp goes on by itself: all ended, or all at the block's barrier, else they never go on. */
static bool release(sett__core *c, bool *ended)
{
    uint32_t waiting = 0, first = 0;
    bool together = true;
    for (uint32_t i = c->n_warps; i-- > 0;)
        if (c->warp[i].state == SETT__PAUSED || c->warp[i].state == SETT__RUNNING) { /* a named barrier let it go */
            return true;
        } else if (c->warp[i].state == SETT__WAITING) {
            together &= !c->warp[i].barrier && (!waiting || c->warp[i].pc == c->warp[first].pc);
            first = i;
            waiting++;
        }
    *ended = !waiting;
    if (waiting && (!together || waiting < c->n_warps))
        sett__deadlock(c, first);
    for (uint32_t i = 0; i < c->n_warps; i++)
        if (c->warp[i].state == SETT__WAITING)
            c->warp[i].state = SETT__RUNNING;
    return !c->fault.status;
}

/* Every warp once, all of which may run: how the most of them get from one barrier to the next, or to the end. */
static bool run_all_warps(sett__core *c, bool *together, bool *ended)
{
    const sett__warp *w = c->warp;
    *together = *ended = true;
    for (uint32_t i = 0; i < c->n_warps; i++) {
        sett__state s = sett__exec(c, &c->warp[i]);
        if (s == SETT__FAULTED)
            return false;
        *ended &= s == SETT__DONE;
        *together &= s == SETT__WAITING && !w[i].barrier && w[i].pc == w->pc;
    }
    return true;
}

static bool run_block(sett__core *c)
{
    bool together = true, ended = false;
    start_block(c);
    if (sett__ended(c))
        return sett__halt(c, NULL, NULL);
    while (together)
        if (!run_all_warps(c, &together, &ended))
            return false;
    while (!ended) {
        if (!release(c, &ended))
            return false;
        for (uint32_t i = 0; i < c->n_warps && !ended; i++)
            if ((c->warp[i].state == SETT__RUNNING || c->warp[i].state == SETT__PAUSED) && sett__exec(c, &c->warp[i]) == SETT__FAULTED)
                return false;
    }
    return true;
}

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

static void run_blocks(sett__core *c, uint64_t from, uint64_t to)
{
    const uint32_t *g = c->launch->grid;
    uint32_t n = 0;
    for (uint64_t b = from; b < to && b < atomic_load_explicit(&c->run->stop, memory_order_relaxed); b += n) {
        c->block[0] = (uint32_t)(b % g[0]);
        c->block[1] = (uint32_t)(b / g[0] % g[1]);
        c->block[2] = (uint32_t)(b / g[0] / g[1]);
        n = c->strip ? sett__strip_run(c, to - b) : 0;
        if (n)
            continue;
        n = 1;
        if (!run_block(c)) {
            record_fault(c->run, b, &c->fault, c->halted);
            c->fault.status = SETT_OK;
        }
    }
}

static void start_warp(sett__core *c, sett__warp *w)
{
    const sett__program *p = c->program;
    sett__exec_section(c, w, SETT__PER_THREAD);
    for (uint32_t k = 0; k < p->n_order; k++) {
        const sett__order *o = &p->order[k];
        w->in_order |= (uint64_t)p->wide->affine[o->base64](sett__at(c, w, o->at), o->n) << k;
    }
}

/* ---- a worker --------------------------------------------------------------------------------- */
enum { GUARDED, UNGUARDED, N_KINDS };
typedef struct worker {
    struct sett__run *run;
    sett__core core[N_KINDS]; /* made when a block first asks for it */
    sett__range *known;       /* by fact; NULL: nothing is to be proven */
} worker;

static void out_of_memory(struct sett__run *run, uint64_t block)
{
    sett_error e = {.status = SETT_OK};
    sett__error(
        &e, SETT_E_MEMORY, "out of memory for the warps of %s", run->launch->name ? run->launch->name : "?");
    record_fault(run, block, &e, false);
}

static void run_as(worker *w, int kind, uint64_t from, uint64_t to)
{
    sett__core *c = &w->core[kind];
    const sett__program *p = kind == GUARDED ? w->run->program : w->run->program->unguarded;
    if (!c->memory) {
        if (!core_make(c, w->run, p)) {
            core_free(c);
            *c = (sett__core){.memory = NULL};
            out_of_memory(w->run, from);
            return;
        }
        windows(c);
        sett__exec_section(c, &c->warp[0], SETT__ONCE);
        for (uint32_t i = 0; i < c->n_warps; i++)
            start_warp(c, &c->warp[i]);
        sett__strip_make(c);
    }
    run_blocks(c, from, to);
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
    run_as(w, proof == SETT__EVERYWHERE ? UNGUARDED : GUARDED, from, to);
}

static void work(struct sett__run *run)
{
    const sett__program *p = run->program;
    worker w = {.run = run, .known = p->n_fact ? malloc(p->n_fact * sizeof *w.known) : NULL};
    fenv_t env;
    fegetenv(&env);
    fesetenv(FE_DFL_ENV); /* the caller may round otherwise, or flush subnormals */
    for (uint64_t b; (b = atomic_fetch_add(&run->next, run->chunk)) < atomic_load(&run->stop);)
        run_range(&w, b, run->blocks - b < run->chunk ? run->blocks : b + run->chunk);
    p->wide->drain();
    for (int kind = 0; kind < N_KINDS; kind++)
        core_free(&w.core[kind]);
    free(w.known);
    fesetenv(&env);
}

static void *thread_main(void *run)
{
    work(run);
    return NULL;
}

/* ---- the launch ------------------------------------------------------------------------------------ */
static uint32_t worker_count(const sett__sim_launch *l, uint64_t blocks)
{
    long cores = l->threads > 0 ? l->threads : sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t n = cores < 1 ? 1 : (uint64_t)cores;
    n = n < blocks ? n : blocks;
    return (uint32_t)(n < MAX_WORKERS ? n : MAX_WORKERS);
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
    work(run);
    for (uint32_t i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
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
    if (l->params_len < p->params_len || (p->params_len && !l->params) || (p->tape->sig.n_param && !l->extent))
        return sett__error(
            e, SETT_E_BIND, "%s: %zu bytes of parameters; it takes %u", name, l->params_len, p->params_len);
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
    struct sett__run run = {.program = p, .launch = l, .blocks = blocks, .error = e};
    uint32_t workers = worker_count(l, blocks);
    run.chunk = blocks / workers / 16 < 1 ? 1 : blocks / workers / 16 > 64 ? 64 : blocks / workers / 16;
    atomic_init(&run.next, 0);
    atomic_init(&run.stop, blocks);
    atomic_init(&run.own_halt, SETT__GO_ON);
    run.halt = l->halt ? l->halt : &run.own_halt;
    run.deadline = l->timeout_ms ? sett__now_ms() + l->timeout_ms : 0;
    if (pthread_mutex_init(&run.lock, NULL))
        return sett__error(e, SETT_E_MEMORY, "out of memory for a launch");
    run_all(&run, workers);
    pthread_mutex_destroy(&run.lock);
    errno = saved;
    return run.status;
}

/* Not every machine has an instruction of 16 bytes: these exclude each other. */
void sett__exchange_128(sett__core *c, void *at, const void *was, const void *value, void *old)
{
    pthread_mutex_lock(&c->run->lock);
    memcpy(old, at, 16);
    if (!was || !memcmp(old, was, 16))
        memcpy(at, value, 16);
    pthread_mutex_unlock(&c->run->lock);
}

void sett__emit_text(sett__core *c, const char *s, size_t len)
{
    pthread_mutex_lock(&c->run->lock);
    if (sett__ended_now(c))
        ; /* while another printed */
    else if (c->launch->print)
        c->launch->print(c->launch->user, s, len);
    else
        fwrite(s, 1, len, stdout);
    pthread_mutex_unlock(&c->run->lock);
}
