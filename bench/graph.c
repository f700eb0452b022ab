/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs beside the driver's own graph: 100 launches of an empty kernel of three buffers each. Replays of a graph and of a graph that was captured
 * of raw launches, in turn in one run: wall time a launch of 20 replays that are waited for, and host time to issue one. Then 300 buffers rebound: staged
 * and committed, beside cuGraphExecKernelNodeSetParams alone with blocks that are packed already; and one buffer of 300. Medians (p10, p90).
 * FAKE_CUDA_GPUS=1 LD_LIBRARY_PATH=build/release/fake gives it a driver that returns at once: what is left is our own. */
#define SETT_SHORT
#include "common.h"

enum { CALLS = 100, BUFS = 3, REPLAYS = 20, ROUNDS = 201 };
typedef struct node_params { /* CUDA_KERNEL_NODE_PARAMS_v2 */
    void *function;
    unsigned dims[7];
    void **params, **extra;
    void *kernel, *context;
} node_params;
typedef struct state {
    driver drv;
    int (*stream)(void **, unsigned), (*begin)(void *, int), (*end)(void *, void **), (*instantiate)(void **, void *, unsigned long long);
    int (*replay)(void *, void *), (*nodes)(void *, void **, size_t *), (*get)(void *, node_params *), (*set)(void *, void *, const node_params *);
    int (*wait)(void *);
    sett_graph *graph, *launches;
    sett_stream on;
    void *kernel, *exec, *node[CALLS];
    node_params params[CALLS];
    sett_buf buf[2][CALLS * BUFS];
    int arg[CALLS * BUFS];
    unsigned char packed[2][CALLS][BUFS * 8];
    size_t len;
    void *extra[2][CALLS][5];
} state;

static void empty(sett_build *b, const void *unused)
{
    static const char *const names[BUFS] = {"X", "Y", "Z"};
    (void)unused;
    for (int i = 0; i < BUFS; i++)
        sett_param(b, names[i], SETT_F32, sett_make_layout(b, T1(64)));
    sett_block(b, 32);
}

static void check(int bad)
{
    if (bad) {
        fprintf(stderr, "a call of the driver failed\n");
        exit(1);
    }
}

static void find(state *s)
{
    void *so = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    const struct {
        void *to;
        const char *name;
    } names[] = {{&s->stream, "cuStreamCreate"}, {&s->begin, "cuStreamBeginCapture_v2"}, {&s->end, "cuStreamEndCapture"},
        {&s->instantiate, "cuGraphInstantiateWithFlags"}, {&s->replay, "cuGraphLaunch"}, {&s->nodes, "cuGraphGetNodes"},
        {&s->get, "cuGraphKernelNodeGetParams_v2"}, {&s->set, "cuGraphExecKernelNodeSetParams_v2"}, {&s->wait, "cuStreamSynchronize"}};
    check(!so);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *p = dlsym(so, names[i].name);
        check(!p);
        memcpy(names[i].to, &p, sizeof p);
    }
}

/* The same launches by the driver alone. */
static void make_raw(state *s)
{
    void *graph;
    size_t n = CALLS;
    raw_config config = {.grid = {1, 1, 1}, .block = {32, 1, 1}, .stream = s->on.handle};
    s->len = sizeof s->packed[0][0];
    for (int set = 0; set < 2; set++)
        for (int i = 0; i < CALLS; i++) {
            for (int j = 0; j < BUFS; j++)
                memcpy(s->packed[set][i] + 8 * j, &s->buf[set][BUFS * i + j].data, 8);
            memcpy(s->extra[set][i], (void *[]){(void *)1, s->packed[set][i], (void *)2, &s->len, NULL}, sizeof s->extra[set][i]);
        }
    check(s->begin(s->on.handle, 2));
    for (int i = 0; i < CALLS; i++)
        check(s->drv.launch(&config, s->kernel, NULL, s->extra[0][i]));
    check(s->end(s->on.handle, &graph) || s->instantiate(&s->exec, graph, 0) || s->nodes(graph, s->node, &n) || n != CALLS);
    for (int i = 0; i < CALLS; i++)
        check(s->get(s->node[i], &s->params[i]));
}

static void make_graph(state *s, sett_kernel *k, bool launches, sett_graph **p)
{
    sett_error err;
    char name[BUFS][12];
    const sett_graph_options o = {.size = sizeof o, .launches = launches};
    must(sett_graph_make(0, &o, p, &err), &err);
    for (int i = 0; i < CALLS; i++) {
        for (int j = 0; j < BUFS; j++)
            snprintf(name[j], sizeof name[j], "b%d.%d", i, j);
        must(sett_graph_add(*p, k, NULL, &err, name[0], name[1], name[2]), &err);
        for (int j = 0; j < BUFS; j++)
            s->arg[BUFS * i + j] = sett_graph_argument(*p, name[j]), sett_graph_set(*p, name[j], &s->buf[0][BUFS * i + j]);
    }
    must(sett_graph_commit(*p, &err), &err);
}

/* ---- what is timed, in us ---------------------------------------------------------------------- */
static void replay(state *s, int way)
{
    sett_error err;
    if (way == 0)
        check(s->replay(s->exec, s->on.handle));
    else
        must(sett_graph_run(way == 1 ? s->graph : s->launches, s->on, &err), &err);
}
static double wall(state *s, int way, int round)
{
    (void)round;
    double t = now_us();
    for (int i = 0; i < REPLAYS; i++)
        replay(s, way);
    check(s->wait(s->on.handle));
    return (now_us() - t) / REPLAYS / CALLS;
}
static double issue(state *s, int way, int round)
{
    (void)round;
    check(s->wait(s->on.handle));
    double t = now_us();
    replay(s, way);
    return now_us() - t;
}
static double rebind(state *s, int way, int round)
{
    sett_error err;
    const int set = round & 1, n = way == 2 ? 1 : CALLS * BUFS;
    check(s->wait(s->on.handle));
    double t = now_us();
    if (way == 0) {
        for (int i = 0; i < CALLS; i++) {
            s->params[i].params = NULL, s->params[i].extra = s->extra[set][i];
            check(s->set(s->exec, s->node[i], &s->params[i]));
        }
        return now_us() - t;
    }
    sett_graph *p = way == 3 ? s->launches : s->graph;
    for (int i = 0; i < n; i++)
        sett_graph_set_at(p, s->arg[i], sett_launch_arg_buf(&s->buf[set][i]));
    must(sett_graph_commit(p, &err), &err);
    return now_us() - t;
}

static void print(state *s, const char *what, int ways, const char *const *names, double (*time)(state *, int way, int round))
{
    static double us[4][ROUNDS];
    for (int r = -4; r < ROUNDS; r++)
        for (int w = 0; w < ways; w++) {
            const double t = time(s, (w + r + 4) % ways, r + 4);
            us[(w + r + 4) % ways][r < 0 ? 0 : r] = t;
        }
    for (int w = 0; w < ways; w++) {
        const double lo = quantile(us[w], ROUNDS, 0.1), mid = quantile(us[w], ROUNDS, 0.5), hi = quantile(us[w], ROUNDS, 0.9);
        printf("| %s: %s | %.3f (%.3f, %.3f) |\n", what, names[w], mid, lo, hi);
    }
}

int main(void)
{
    static state s = {.on = {0, NULL}};
    sett_engine *e;
    sett_kernel *k;
    sett_error err = {0};
    sett_compile_options o = {.size = sizeof o, .name = "empty"};
    sett_kernel_info info = {.size = sizeof info};
    must(sett_engine_open(&e, NULL, &err), &err);
    if (sett_default_device(e) < 0)
        return puts("graph: skipped: no GPU"), 0;
    must(sett_compile(e, empty, &o, &k, &err), &err);
    must(sett_kernel_query(k, &info), NULL);
    check(!driver_start(&s.drv) || !(s.kernel = driver_kernel(&s.drv, info.cubin)));
    find(&s);
    check(s.stream(&s.on.handle, 1));
    for (int i = 0; i < 2 * CALLS * BUFS; i++)
        s.buf[i % 2][i / 2] = sett_buf_1d(sett_alloc(e, 0, 256), SETT_F32, 64);
    make_graph(&s, k, false, &s.graph), make_graph(&s, k, true, &s.launches);
    make_raw(&s);
    printf("| %d launches of an empty kernel, us | median (p10, p90) |\n| --- | --- |\n", CALLS);
    print(&s, "a launch, of replays that are waited for", 3, (const char *const[]){"raw cuGraphLaunch", "sett_graph_run", "sett_graph_run, .launches"}, wall);
    print(&s, "issue of one replay", 3, (const char *const[]){"raw cuGraphLaunch", "sett_graph_run", "sett_graph_run, .launches"}, issue);
    print(&s, "rebinding", 4, (const char *const[]){"100 x cuGraphExecKernelNodeSetParams, packed before", "300 buffers of a graph", "1 buffer of a graph", "300 buffers, .launches"}, rebind);
    sett_graph_free(s.graph), sett_graph_free(s.launches);
    sett_kernel_release(k);
    sett_engine_close(e);
    return 0;
}
