/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA graphs of launches. A graph is captured on a stream of its own by the same calls that launch, so that clusters, tensor maps and
 * kernels that begin early are in it as they are in a launch. The graph that was captured stays, as its nodes name those of the executable
 * one. */
#include "inside.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct node {
    sett__cu_node as; /* what the driver said of it: the function, and its context; and the last arguments */
    sett__cu_handle handle; /* NULL: it launches nothing */
    uint8_t cluster[3], state;
    bool off;
} node;
struct sett__cuda_graph {
    sett__cuda *cuda;
    int device, n;
    bool entered; /* as SETT__SHOT_ENTERED */
    sett__cu_handle graph, exec;
    node node[];
};

bool sett__cuda_graphs(const sett__cuda *c)
{
    return c->stream_create && c->stream_destroy && c->capture_begin && c->capture_end && c->graph_make && c->graph_launch &&
           c->graph_exec_free && c->graph_free && (c->capture_edges || c->capture_nodes) && c->node_get && c->node_set && c->node_enable;
}

/* ---- making ------------------------------------------------------------------------------------- */
/* The node that the next one on the stream would wait for: the last. */
static sett__cu last_node(const sett__cuda *c, sett__cu_handle stream, sett__cu_handle *to)
{
    sett__cu status;
    uint64_t id;
    sett__cu_handle graph;
    const sett__cu_handle *before = NULL;
    const void *edges;
    size_t n = 0;
    sett__cu r = c->capture_edges ? c->capture_edges(stream, &status, &id, &graph, &before, &edges, &n)
                                  : c->capture_nodes(stream, &status, &id, &graph, &before, &n);
    *to = !r && n == 1 ? before[0] : NULL;
    return r;
}

static sett_status add(sett__cuda_graph *g, node *to, sett__cu_handle stream, const sett__cuda_graph_node *from, sett_error *e)
{
    const sett__cuda *c = g->cuda;
    if (!from->shot)
        return SETT_OK;
    g->entered |= from->shot->state & SETT__SHOT_ENTERED;
    to->state = from->shot->state;
    memcpy(to->cluster, from->shot->cluster, sizeof to->cluster);
    sett_status s = sett__gpu_shoot(from->shot, stream, from->params, e);
    if (!s)
        s = sett__cuda_error(g->cuda, last_node(c, stream, &to->handle), "cuStreamGetCaptureInfo", e);
    if (!s && !to->handle)
        return sett__error(e, SETT_E_DRIVER, "cuStreamGetCaptureInfo names no node for a launch that was captured");
    return s ? s : sett__cuda_error(g->cuda, c->node_get(to->handle, &to->as), "cuGraphKernelNodeGetParams", e);
}

/* A capture that was begun is ended, whatever the launches said. */
static sett_status capture(sett__cuda_graph *g, sett__cu_handle stream, const sett__cuda_graph_node *from, int *failed, sett_error *e)
{
    sett__cuda *c = g->cuda;
    sett_status s = sett__cuda_error(c, c->capture_begin(stream, SETT__CU_CAPTURE_RELAXED), "cuStreamBeginCapture", e);
    if (s)
        return s;
    for (int i = 0; i < g->n && !s; i++) {
        s = add(g, &g->node[i], stream, &from[i], e);
        *failed = s ? i : -1;
    }
    sett__cu r = c->capture_end(stream, &g->graph);
    return s ? s : sett__cuda_error(c, r, "cuStreamEndCapture", e);
}

static sett_status make(sett__cuda_graph *g, const sett__cuda_graph_node *from, int *failed, sett_error *e)
{
    sett__cuda *c = g->cuda;
    sett__cu_handle stream;
    sett_status s = sett__cuda_error(c, c->stream_create(&stream, SETT__CU_STREAM_NON_BLOCKING), "cuStreamCreate", e);
    if (s)
        return s;
    s = capture(g, stream, from, failed, e);
    c->stream_destroy(stream);
    return s ? s : sett__cuda_error(c, c->graph_make(&g->exec, g->graph, 0), "cuGraphInstantiate", e);
}

sett_status sett__cuda_graph_make(sett__cuda *c, int device, int n, const sett__cuda_graph_node *from, sett__cuda_graph **to, int *failed, sett_error *e)
{
    sett__entered in;
    *to = NULL;
    *failed = -1;
    sett__cuda_graph *g = calloc(1, sizeof *g + (size_t)n * sizeof g->node[0]);
    if (!g)
        return sett__error(e, SETT_E_MEMORY, "no memory for a graph of %d launches", n);
    g->cuda = c, g->device = device, g->n = n;
    sett_status s = sett__cuda_enter(c, device, &in, e);
    if (!s) {
        sett__relaxed mode = sett__cuda_relax(c);
        s = make(g, from, failed, e);
        sett__cuda_restore(c, &mode);
    }
    sett__cuda_leave(c, &in);
    if (s)
        sett__cuda_graph_free(g);
    else
        *to = g;
    return s;
}

void sett__cuda_graph_free(sett__cuda_graph *g)
{
    if (g && g->exec)
        g->cuda->graph_exec_free(g->exec);
    if (g && g->graph)
        g->cuda->graph_free(g->graph);
    free(g);
}

/* ---- other arguments -------------------------------------------------------------------------------- */
bool sett__cuda_graph_takes(const sett__cuda_graph *g, int i, const sett__shot *shot)
{
    const node *n = &g->node[i];
    if (!shot || !n->handle)
        return !shot;
    return n->state == shot->state && (!(n->state & SETT__SHOT_CLUSTERED) || !memcmp(n->cluster, shot->cluster, sizeof n->cluster));
}

static sett_status enable(sett__cuda_graph *g, node *n, bool on, sett_error *e)
{
    sett_status s = n->off == !on ? SETT_OK : sett__cuda_error(g->cuda, g->cuda->node_enable(g->exec, n->handle, on), "cuGraphNodeSetEnabled", e);
    n->off = s ? n->off : !on;
    return s;
}

static sett__cu put(sett__cuda_graph *g, node *n, const sett__shot *shot, void *params)
{
    sett__handed h;
    void *each[SETT__EACH];
    sett__hand(&h, shot, params);
    if (shot->state & SETT__SHOT_APART)
        sett__hand_each(&h, shot, params, each);
    memcpy(n->as.dims, shot->dims, sizeof n->as.dims);
    n->as.params = h.each, n->as.extra = h.extra;
    return g->cuda->node_set(g->exec, n->handle, &n->as);
}

static sett_status set(sett__cuda_graph *g, node *n, const sett__cuda_graph_node *from, sett_error *e)
{
    if (!n->handle)
        return SETT_OK;
    sett_status s = from->shot ? sett__cuda_error(g->cuda, put(g, n, from->shot, from->params), "cuGraphExecKernelNodeSetParams", e) : SETT_OK;
    return s ? s : enable(g, n, from->shot != NULL, e);
}

/* In a context: without one the driver reads through a null pointer (580.159). */
sett_status sett__cuda_graph_set(sett__cuda_graph *g, const sett__cuda_graph_node *from, int *done, int *failed, sett_error *e)
{
    sett__entered in;
    int saved = errno;
    *done = 0;
    *failed = -1;
    sett_status s = sett__cuda_enter(g->cuda, g->device, &in, e);
    for (int i = 0; i < g->n && !s; i++) {
        if (from[i].same)
            continue;
        s = set(g, &g->node[i], &from[i], e);
        *done += !s;
        *failed = s ? i : -1;
    }
    sett__cuda_leave(g->cuda, &in);
    errno = saved;
    return s;
}

/* ---- launching ----------------------------------------------------------------------------------------- */
sett_status sett__cuda_graph_launch(const sett__cuda_graph *g, void *stream, sett_error *e)
{
    sett__entered in = {0};
    const bool named = (uintptr_t)stream > 2 && !g->entered; /* a default stream is the current context's */
    int saved = errno;
    sett_status s = named ? SETT_OK : sett__cuda_enter(g->cuda, g->device, &in, e);
    if (!s)
        s = sett__cuda_error(g->cuda, g->cuda->graph_launch(g->exec, stream), "cuGraphLaunch", e);
    sett__cuda_leave(g->cuda, &in);
    errno = saved;
    return s;
}

sett_status sett__cuda_capturing(sett__cuda *c, sett_stream stream, bool *is, sett_error *e)
{
    sett__cu status = 0;
    sett__entered in = {0};
    sett_status s = (uintptr_t)stream.handle > 2 ? SETT_OK : sett__cuda_enter(c, stream.device, &in, e);
    if (!s)
        s = sett__cuda_error(c, c->capturing(stream.handle, &status), "cuStreamIsCapturing", e);
    sett__cuda_leave(c, &in);
    *is = status != 0;
    return s;
}
