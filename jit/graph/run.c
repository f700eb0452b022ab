/* SPDX-License-Identifier: Apache-2.0 */
/* Running what was committed last. */
#include "inside.h"
#include <errno.h>

static const char *device_text(int device, char text[24])
{
    snprintf(text, 24, "GPU %d", device);
    return device == SETT_CPU ? "the CPU" : device == SETT_DEFAULT_DEVICE ? "the default device" : text;
}

static sett_status check(const sett_graph *p, sett_stream stream, sett_error *err)
{
    sett_status s = p->runtime && !sett__gate_open(p->runtime->gate) ? sett__runtime_check(p->runtime, "sett_graph_run", err) : SETT_OK;
    if (s)
        return s;
    char theirs[24], ours[24];
    if (!p->committed)
        return sett__error(err, SETT_E_BIND, "sett_graph_run: nothing was committed yet");
    if (p->runtime && stream.device != p->device && !(sett__device(p->runtime, &stream.device, NULL) && stream.device == p->device))
        return sett__error(err, SETT_E_NO_DEVICE, "sett_graph_run: the stream is of %s, the graph of %s", device_text(stream.device, theirs),
            device_text(p->device, ours));
    return SETT_OK;
}

static sett_status run_each(const sett_graph *p, void *handle, sett_error *err)
{
    sett_status s = SETT_OK;
    for (int i = 0; i < p->n_running && !s; i++) {
        const sett__step *step = p->step[i];
        const sett__step_launch *m = &step->made[step->now];
        if (m->empty)
            continue;
        s = p->device == SETT_CPU ? sett__launch_again(step->kernel, handle, &m->dims, m->params, m->params_len, m->extent, err)
                                  : sett__gpu_shoot(&m->shot, handle, m->params, err);
        if (s)
            sett__graph_blame(p, i, s, err);
    }
    return s;
}

sett_status sett_graph_run(sett_graph *p, sett_stream stream, sett_error *err)
{
    int saved = errno;
    bool captured = false;
    if (!p)
        return sett__error(err, SETT_E_ARGUMENT, "sett_graph_run: the graph is NULL");
    sett_status s = check(p, stream, err);
    if (!s && p->cuda_graph)
        s = sett__cuda_capturing(p->runtime->cuda, (sett_stream){p->device, stream.handle}, &captured, err);
    if (!s)
        s = p->cuda_graph && !captured ? sett__cuda_graph_launch(p->cuda_graph, stream.handle, err) : run_each(p, stream.handle, err);
    errno = saved;
    return s;
}
