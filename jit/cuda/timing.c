/* SPDX-License-Identifier: Apache-2.0 */
/* Times of work on a GPU: pairs of events around it, or around a graph that it was captured into. */
#include "inside.h"
#include <stdlib.h>

typedef struct watch {
    sett__cuda *cuda;
    const sett__timing *t;
    sett_stream stream;
    sett__cu_handle own, exec; /* of .graph: its stream, and the captured work */
    int n_events;
    sett__cu_handle *event; /* before and after each iteration */
    sett_error *err;
} watch;

static sett_status ok(const watch *w, sett__cu r, const char *what)
{
    return sett__cuda_error(w->cuda, r, what, w->err);
}

/* ---- the graph ------------------------------------------------------------------------- */
/* A capture that was begun is ended, whatever the work said. */
static sett_status capture(watch *w)
{
    sett__cuda *c = w->cuda;
    sett__cu_handle graph = NULL;
    sett_status s = ok(w, c->capture_begin(w->own, SETT__CU_CAPTURE_THREAD), "cuStreamBeginCapture");
    if (s)
        return s;
    s = w->t->once(w->t->user, w->stream, w->err);
    sett__cu r = c->capture_end(w->own, &graph);
    if (!s)
        s = ok(w, r, "cuStreamEndCapture");
    if (!s)
        s = ok(w, c->graph_make(&w->exec, graph, 0), "cuGraphInstantiateWithFlags");
    if (graph)
        c->graph_free(graph);
    return s;
}

static sett_status open_graph(watch *w)
{
    sett_status s = ok(w, w->cuda->stream_create(&w->own, SETT__CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    if (s)
        w->own = NULL;
    w->stream.handle = w->own;
    return s ? s : capture(w);
}

/* ---- iterations --------------------------------------------------------------------------- */
static sett_status iterate(const watch *w)
{
    if (w->exec)
        return ok(w, w->cuda->graph_launch(w->exec, w->stream.handle), "cuGraphLaunch");
    return w->t->once(w->t->user, w->stream, w->err);
}

static sett_status make_events(watch *w)
{
    sett_status s = SETT_OK;
    w->event = calloc((size_t)w->t->iterations * 2, sizeof(sett__cu_handle));
    if (!w->event)
        return sett__error(w->err, SETT_E_MEMORY, "out of memory");
    for (; w->n_events < 2 * w->t->iterations && !s; w->n_events += !s)
        s = ok(w, w->cuda->event_create(&w->event[w->n_events], 0), "cuEventCreate");
    return s;
}

/* All of it is queued before it is waited for: a wait between would leave the GPU idle at the next start. */
static sett_status run(watch *w, double *us)
{
    sett__cuda *c = w->cuda;
    sett_status s = SETT_OK;
    for (int i = 0; i < w->t->warmup && !s; i++)
        s = iterate(w);
    for (int i = 0; i < w->t->iterations && !s; i++) {
        s = ok(w, c->event_record(w->event[2 * i], w->stream.handle), "cuEventRecord");
        if (!s)
            s = iterate(w);
        if (!s)
            s = ok(w, c->event_record(w->event[2 * i + 1], w->stream.handle), "cuEventRecord");
    }
    sett_status waited = ok(w, c->stream_sync(w->stream.handle), "cuStreamSynchronize");
    s = s ? s : waited;
    for (int i = 0; i < w->t->iterations && !s; i++) {
        float ms = 0;
        s = ok(w, c->event_elapsed(&ms, w->event[2 * i], w->event[2 * i + 1]), "cuEventElapsedTime");
        us[i] = (double)ms * 1e3;
    }
    return s;
}

static void close_watch(watch *w)
{
    sett__cuda *c = w->cuda;
    while (w->n_events > 0)
        c->event_destroy(w->event[--w->n_events]);
    free(w->event);
    if (w->exec)
        c->graph_exec_free(w->exec);
    if (w->own)
        c->stream_destroy(w->own);
}

static sett_status complete(const sett__cuda *c, bool graph, sett_error *err)
{
    bool events = c->event_create && c->event_record && c->event_elapsed && c->event_destroy;
    bool graphs = c->stream_create && c->stream_destroy && c->capture_begin && c->capture_end && c->graph_make &&
                  c->graph_launch && c->graph_exec_free && c->graph_free;
    if (events && (graphs || !graph))
        return SETT_OK;
    return sett__error(err, SETT_E_DRIVER, "the CUDA driver has no %s", events ? "graphs" : "events");
}

sett_status sett__cuda_time(sett__cuda *c, sett_stream stream, const sett__timing *t, double *us, sett_error *err)
{
    watch w = {.cuda = c, .t = t, .stream = stream, .err = err};
    sett__entered in;
    sett_status s = complete(c, t->graph, err);
    if (s)
        return s;
    s = sett__cuda_enter(c, stream.device, &in, err);
    if (!s)
        s = t->graph ? open_graph(&w) : SETT_OK;
    if (!s)
        s = make_events(&w);
    if (!s)
        s = run(&w, us);
    close_watch(&w);
    sett__cuda_leave(c, &in);
    return s;
}

uint64_t sett__cuda_cache(const sett__cuda *c, int device)
{
    int bytes = 0;
    bool known = device >= 0 && device < c->count && !c->device_attr(&bytes, SETT__CU_L2_BYTES, c->gpu[device].id);
    return known && bytes > 0 ? (uint64_t)bytes : 0;
}

const char *sett__cuda_name(const sett__cuda *c, int device)
{
    return c->gpu[device].name;
}
