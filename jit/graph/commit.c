/* SPDX-License-Identifier: Apache-2.0 */
/* From staged arguments to what runs launch. Each step has what it launches now and what it will: a commit fills in the latter of those
 * steps that have other arguments, and turns to it when all are right and the graph has them. */
#include "inside.h"
#include <ctype.h>
#include <errno.h>
#include <string.h>

/* ---- staging ------------------------------------------------------------------------------------------ */
sett_status sett_graph_set_at(sett_graph *p, int arg, sett_launch_arg value)
{
    if (!p)
        return SETT_E_ARGUMENT;
    if (arg < 0 || arg >= p->n_slot) {
        p->wrong = p->wrong < 0 ? (arg < 0 ? INT32_MAX : arg) : p->wrong;
        return SETT_E_BIND;
    }
    sett__slot *s = p->slot[arg];
    if (value.kind == SETT_LAUNCH_ARG_BUF && value.u.t) {
        s->buf = *value.u.t;
        value.u.t = &s->buf;
    } else if (value.kind == SETT_LAUNCH_ARG_STRUCT && value.u.p) {
        if (s->bytes && value.bytes == s->size)
            memcpy(s->bytes, value.u.p, value.bytes);
        value.u.p = s; /* what is of a wrong size is refused unread */
        if (s->bytes)
            value.u.p = s->bytes;
    }
    s->value = value;
    s->changed = true;
    return SETT_OK;
}

sett_status sett_graph_set_named(sett_graph *p, const char *name, sett_launch_arg value)
{
    const int arg = sett_graph_argument(p, name);
    if (!p || arg >= 0)
        return sett_graph_set_at(p, arg, value);
    if (!*p->wrong_name)
        snprintf(p->wrong_name, sizeof p->wrong_name, "%s", name && *name ? name : "(none)");
    return SETT_E_BIND;
}

static sett_status check_staged(sett_graph *p, sett_error *err)
{
    const int wrong = p->wrong;
    p->wrong = -1;
    if (wrong == INT32_MAX)
        return sett__error(err, SETT_E_BIND, "sett_graph_set: a value was staged for a negative index (no such name?)");
    if (wrong >= 0)
        return sett__error(err, SETT_E_BIND, "sett_graph_set: a value was staged for argument %d; the graph has %d", wrong, p->n_slot);
    if (!*p->wrong_name)
        return SETT_OK;
    sett__error(err, SETT_E_BIND, "sett_graph_set: a value was staged for \"%s\", which no call of the graph has", p->wrong_name);
    *p->wrong_name = 0;
    return SETT_E_BIND;
}

static void hand_out(sett_graph *p)
{
    for (int i = 0; i < p->n_slot; i++) {
        sett__slot *s = p->slot[i];
        for (const sett__use *u = s->changed ? s->uses : NULL; u; u = u->next) {
            u->step->bind[u->arg] = s->value;
            u->step->changed = true;
        }
        s->changed = false;
    }
}

/* ---- errors --------------------------------------------------------------------------------------------- */
static bool has_word(const char *text, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += n) {
        const bool begins = at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
        if (n && begins && !isalnum((unsigned char)at[n]) && at[n] != '_')
            return true;
    }
    return false;
}

sett_status sett__graph_blame(const sett_graph *p, int i, sett_status status, sett_error *err)
{
    if (!err)
        return status;
    const sett__step *s = p->step[i];
    const sett__plan *k = s->kernel->plan;
    const sett_error was = *err;
    const bool own = s->label[0] && strcmp(s->label, k->name); /* the text begins with the kernel's name */
    char names[300] = "";
    size_t at = 0;
    for (int a = 0; a < s->n && at < sizeof names - 130; a++) {
        const char *name = a < k->n_arg ? k->sig->param[a].name : k->sig->sym[a - k->n_arg].name;
        if (s->slot[a] && strcmp(name, s->slot[a]->name) && has_word(was.text, name))
            at += (size_t)snprintf(names + at, sizeof names - at, "%s%.60s is \"%.60s\"", at ? ", " : " (", name, s->slot[a]->name);
    }
    snprintf(names + at, sizeof names - at, "%s", at ? ")" : "");
    return sett__error(err, status, "call %d%s%.80s%s: %.*s%s", i, own ? " (" : "", own ? s->label : "", own ? ")" : "",
        (int)(sizeof was.text - 100 - strlen(names)), was.text, names);
}

/* ---- binding ---------------------------------------------------------------------------------------------- */
static sett_status check_given(const sett__step *s, sett_error *err)
{
    const sett__plan *k = s->kernel->plan;
    for (int i = 0; i < s->n; i++)
        if (s->slot[i] && !s->bind[i].kind)
            return sett__error(err, SETT_E_BIND, "%s: %s was never given", k->name,
                i < k->n_arg ? k->sig->param[i].name : k->sig->sym[i - k->n_arg].name);
    return SETT_OK;
}

static sett_status bind_step(const sett_graph *p, sett__step *s, sett_error *err)
{
    sett__bound b;
    const sett__step_launch *was = sett__step_now(s);
    sett__step_launch *to = sett__step_next(s);
    sett_status status = check_given(s, err);
    if (!status)
        status = sett__launch_aim(s->kernel, (sett_stream){p->device, NULL}, s->function, s->n, s->bind, &b, to->extent, was->map, was->params,
            &to->shot, err);
    if (status)
        return status;
    const size_t maps = s->kernel->plan->n_map * sizeof *to->map;
    to->empty = b.empty;
    to->dims = b.dims;
    to->params_len = b.params_len;
    memcpy(to->params, b.params, b.params_len);
    if (maps && b.empty) /* none was encoded */
        memset(to->map, 0, maps);
    else if (maps)
        memcpy(to->map, b.map, maps);
    return SETT_OK;
}

static sett_status bind_steps(const sett_graph *p, sett_error *err)
{
    for (int i = 0; i < p->n_step; i++) {
        sett_status s = p->step[i]->changed ? bind_step(p, p->step[i], err) : SETT_OK;
        if (s)
            return sett__graph_blame(p, i, s, err);
    }
    return SETT_OK;
}

/* ---- the graph -------------------------------------------------------------------------------------------- */
/* What the step launches from this commit on. */
static sett__step_launch *coming(sett__step *s)
{
    return s->changed ? sett__step_next(s) : sett__step_now(s);
}

static const sett__shot *shot_of(const sett__step_launch *m)
{
    return m->empty ? NULL : &m->shot;
}

static bool same_launch(const sett__step_launch *a, const sett__step_launch *b)
{
    return a->empty == b->empty && (a->empty || (!memcmp(a->shot.dims, b->shot.dims, sizeof a->shot.dims) && a->params_len == b->params_len &&
                                                    !memcmp(a->params, b->params, a->params_len)));
}

static bool graph_takes_all(const sett_graph *p)
{
    bool takes = p->cuda_graph && p->n_running == p->n_step;
    for (int i = 0; i < p->n_step && takes; i++)
        takes = !p->step[i]->changed || sett__cuda_graph_takes(p->cuda_graph, i, shot_of(sett__step_next(p->step[i])));
    return takes;
}

/* What the graph's nodes launch from this commit on; how many launch something. */
static int fill_nodes(sett_graph *p)
{
    int launches = 0;
    for (int i = 0; i < p->n_step; i++) {
        sett__step *s = p->step[i];
        sett__step_launch *m = coming(s);
        p->node[i] = (sett__cuda_graph_node){shot_of(m), m->params, !s->changed || same_launch(sett__step_now(s), m)};
        launches += !m->empty;
    }
    return launches;
}

static sett_status make_graph(sett_graph *p, sett_error *err)
{
    sett__cuda_graph *graph = NULL;
    int failed = -1;
    sett_status s = fill_nodes(p) ? sett__cuda_graph_make(p->runtime->cuda, p->device, p->n_step, p->node, &graph, &failed, err) : SETT_OK;
    if (s)
        return failed < 0 ? s : sett__graph_blame(p, failed, s, err);
    sett__cuda_graph_free(p->cuda_graph);
    p->cuda_graph = graph;
    p->cuda_graphs += graph != NULL;
    return SETT_OK;
}

/* Where the driver refuses, the graph has some of either: it goes, and runs launch what they launched before. */
static sett_status update_graph(sett_graph *p, sett_error *err)
{
    int set, failed;
    fill_nodes(p);
    sett_status s = sett__cuda_graph_set(p->cuda_graph, p->node, &set, &failed, err);
    p->updates += (uint64_t)set;
    if (!s)
        return SETT_OK;
    sett__cuda_graph_free(p->cuda_graph);
    p->cuda_graph = NULL;
    return failed < 0 ? s : sett__graph_blame(p, failed, s, err);
}

static sett_status renew_graph(sett_graph *p, sett_error *err)
{
    if (p->device == SETT_CPU || p->launches || !p->n_step || !sett__cuda_graphs(p->runtime->cuda))
        return SETT_OK;
    return graph_takes_all(p) ? update_graph(p, err) : make_graph(p, err);
}

/* ---- commit ------------------------------------------------------------------------------------------------- */
static void take_over(sett_graph *p)
{
    for (int i = 0; i < p->n_step; i++) {
        p->step[i]->now ^= p->step[i]->changed;
        p->step[i]->changed = false;
    }
    p->n_running = p->n_step;
    p->committed = true;
}

sett_status sett_graph_commit(sett_graph *p, sett_error *err)
{
    int saved = errno;
    if (!p)
        return sett__error(err, SETT_E_ARGUMENT, "sett_graph_commit: the graph is NULL");
    sett_status s = p->runtime ? sett__runtime_check(p->runtime, "sett_graph_commit", err) : SETT_OK;
    if (!s)
        s = check_staged(p, err);
    if (!s) {
        hand_out(p);
        s = bind_steps(p, err);
    }
    if (!s)
        s = renew_graph(p, err);
    if (!s)
        take_over(p);
    errno = saved;
    return s;
}
