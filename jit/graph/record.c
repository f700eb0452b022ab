/* SPDX-License-Identifier: Apache-2.0 */
/* Recording: a graph, its calls, and the names of its arguments. */
#include "inside.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

sett_status sett_graph_make(int device, const sett_graph_options *options, sett_graph **to, sett_error *err)
{
    sett_graph_options o;
    int saved = errno;
    if (to)
        *to = NULL;
    if (!to)
        return sett__error(err, SETT_E_ARGUMENT, "sett_graph_make: the place for the graph is NULL");
    sett_status s = sett__options(&o, sizeof o, options, "sett_graph_options", err);
    if (s)
        return s;
    sett_graph *p = calloc(1, sizeof *p);
    errno = saved;
    if (!p)
        return sett__error(err, SETT_E_MEMORY, "sett_graph_make: out of memory");
    p->device = device;
    p->launches = o.launches;
    p->wrong = -1;
    *to = p;
    return SETT_OK;
}

/* A forked child must not call the driver. */
void sett_graph_free(sett_graph *p)
{
    if (!p)
        return;
    int saved = errno;
    if (p->runtime && sett__same_process(p->runtime))
        sett__cuda_graph_free(p->cuda_graph);
    for (int i = 0; i < p->n_step; i++) {
        sett__kernel_let(p->step[i]->kernel);
        sett_kernel_release(p->step[i]->kernel);
    }
    sett__arena_free(&p->arena);
    free(p->step);
    free(p->node);
    free(p->slot);
    free(p->table);
    free(p);
    errno = saved;
}

sett_status sett_graph_query(const sett_graph *p, sett_graph_info *out)
{
    if (!p || !out || !sett__known_size(out->size))
        return SETT_E_ARGUMENT;
    const sett_graph_info info = {.size = out->size, .device = p->device, .calls = p->n_step, .arguments = p->n_slot, .cuda_graph = p->cuda_graph != NULL,
        .cuda_graphs = p->cuda_graphs, .updates = p->updates};
    memcpy(out, &info, out->size < sizeof info ? out->size : sizeof info);
    return SETT_OK;
}

/* ---- names ------------------------------------------------------------------------------------------ */
static uint32_t hash(const char *name)
{
    uint32_t h = 2166136261u;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return h;
}

/* Where the name is in the table, or would be. */
static uint32_t *entry(const sett_graph *p, const char *name)
{
    uint32_t i = hash(name) & (p->n_table - 1);
    while (p->table[i] && strcmp(p->slot[p->table[i] - 1]->name, name))
        i = (i + 1) & (p->n_table - 1);
    return &p->table[i];
}

int sett_graph_argument(const sett_graph *p, const char *name)
{
    return p && name && p->n_table ? (int)*entry(p, name) - 1 : -1;
}

static void fill_table(sett_graph *p)
{
    memset(p->table, 0, p->n_table * sizeof *p->table);
    for (int i = 0; i < p->n_slot; i++)
        *entry(p, p->slot[i]->name) = (uint32_t)i + 1;
}

/* Room for one more of an array's items: its new address, NULL if there is no memory. */
static void *grow(void *array, uint32_t *most, int n, size_t item)
{
    if ((uint32_t)n < *most)
        return array;
    const uint32_t more = *most ? 2 * *most : 16;
    void *now = realloc(array, more * item);
    *most = now ? more : *most;
    return now;
}

/* At most half full. */
static bool grow_table(sett_graph *p)
{
    if (2 * (uint32_t)(p->n_slot + 1) <= p->n_table)
        return true;
    const uint32_t n = p->n_table ? 2 * p->n_table : 64;
    uint32_t *table = malloc(n * sizeof *table);
    if (!table)
        return false;
    free(p->table);
    p->table = table;
    p->n_table = n;
    fill_table(p);
    return true;
}

static sett__slot *new_slot(sett_graph *p, const char *name, const sett__slot *as)
{
    sett__slot **room = grow(p->slot, &p->most_slot, p->n_slot, sizeof *room);
    p->slot = room ? room : p->slot;
    if (!room || !grow_table(p))
        return NULL;
    sett__slot *s = sett__arena_alloc(&p->arena, sizeof *s);
    if (!s)
        return NULL;
    *s = *as;
    s->name = sett__arena_str(&p->arena, name);
    s->bytes = s->size ? sett__arena_alloc(&p->arena, s->size) : NULL;
    if (!s->name || (s->size && !s->bytes))
        return NULL;
    *entry(p, name) = (uint32_t)p->n_slot + 1;
    return p->slot[p->n_slot++] = s;
}

/* ---- a call ------------------------------------------------------------------------------------------- */
/* What a kernel wants of an argument; symbols follow its parameters. */
static sett__slot wanted(const sett_kernel *k, int step, int arg)
{
    const sett__param *q = arg < k->plan->n_arg ? &k->plan->sig->param[arg] : NULL;
    sett__slot s = {.step = step, .arg = arg, .kind = SETT_LAUNCH_ARG_INT};
    if (q && !q->scalar)
        s.kind = SETT_LAUNCH_ARG_BUF, s.dtype = q->dtype, s.rank = q->rank;
    else if (q && q->scalar == SETT__BY_STRUCT)
        s.kind = SETT_LAUNCH_ARG_STRUCT, s.size = q->bytes;
    return s;
}

static const char *argument_name(const sett_kernel *k, int arg)
{
    return arg < k->plan->n_arg ? k->plan->sig->param[arg].name : k->plan->sig->sym[arg - k->plan->n_arg].name;
}

static void say(const sett__slot *s, char to[80])
{
    if (s->kind == SETT_LAUNCH_ARG_BUF)
        snprintf(to, 80, "a tensor of %s with %d mode%s", sett_dtype_name((sett_dtype)s->dtype), s->rank, s->rank == 1 ? "" : "s");
    else if (s->kind == SETT_LAUNCH_ARG_STRUCT)
        snprintf(to, 80, "a struct of %u bytes", (unsigned)s->size);
    else
        snprintf(to, 80, "a number");
}

/* k, label: of the call that is added. */
static sett_status check_alike(const sett_graph *p, const sett_kernel *k, const char *label, const sett__slot *s, const sett__slot *want,
    sett_error *err)
{
    char is[80], was[80];
    sett_status status = s->kind != want->kind     ? SETT_E_BIND
                         : s->dtype != want->dtype ? SETT_E_DTYPE
                         : s->rank != want->rank   ? SETT_E_RANK
                         : s->size != want->size   ? SETT_E_SHAPE : SETT_OK;
    if (!status)
        return SETT_OK;
    const bool same = s->step == p->n_step; /* twice in one call */
    say(want, is), say(s, was);
    return sett__error(err, status, "call %d (%.80s): %.60s = \"%.60s\" is %s, and %.60s of call %d (%.80s) is %s", p->n_step, label,
        argument_name(k, want->arg), s->name, is, argument_name(same ? k : p->step[s->step]->kernel, s->arg), s->step,
        same ? label : p->step[s->step]->label, was);
}

static sett_status take_name(sett_graph *p, const sett_kernel *k, const char *label, const char *name, int arg, sett__slot **to, sett_error *err)
{
    const sett__slot want = wanted(k, p->n_step, arg);
    if (!name || !*name)
        return sett__error(err, SETT_E_BIND, "call %d (%.80s): %.60s: its name is %s", p->n_step, label, argument_name(k, arg), name ? "empty" : "NULL");
    const int at = sett_graph_argument(p, name);
    if (at >= 0) {
        *to = p->slot[at];
        return check_alike(p, k, label, *to, &want, err);
    }
    *to = new_slot(p, name, &want);
    return *to ? SETT_OK : sett__error(err, SETT_E_MEMORY, "sett_graph_add: out of memory");
}

/* A constant, with a copy of what it points to. */
static bool take_constant(sett_graph *p, const sett_launch_arg *from, sett_launch_arg *to)
{
    const size_t size = from->kind == SETT_LAUNCH_ARG_BUF ? sizeof *from->u.t : from->kind == SETT_LAUNCH_ARG_STRUCT ? from->bytes : 0;
    *to = *from;
    if (!size)
        return true;
    void *copy = sett__arena_alloc(&p->arena, size);
    if (copy)
        to->u.p = memcpy(copy, from->u.p, size);
    return copy != NULL;
}

static sett_status take_arguments(sett_graph *p, sett__step *s, const sett_launch_arg *args, sett_error *err)
{
    sett_status status = SETT_OK;
    for (int i = 0; i < s->n && !status; i++) {
        if (args[i].kind == SETT_LAUNCH_ARG_NAME)
            status = take_name(p, s->kernel, s->label, args[i].u.p, i, &s->slot[i], err);
        else if (!take_constant(p, &args[i], &s->bind[i]))
            status = sett__error(err, SETT_E_MEMORY, "sett_graph_add: out of memory");
    }
    return status;
}

/* Aligned as the block of a prepared call is. */
static bool make_room(sett_graph *p, const sett_kernel *k, sett__step_launch *m)
{
    enum { LINE = 64 };
    char *params = sett__arena_alloc(&p->arena, k->plan->params_len + (size_t)LINE);
    m->params = params ? (unsigned char *)params + (LINE - (uintptr_t)params % LINE) % LINE : NULL;
    m->map = sett__arena_alloc(&p->arena, k->plan->n_map * sizeof *m->map);
    m->extent = k->cpu ? sett__arena_alloc(&p->arena, k->plan->n_arg * sizeof *m->extent) : NULL;
    m->empty = true;
    m->shot.gate = k->gate;
    return m->params && m->map && (m->extent || !k->cpu);
}

static sett__step *new_step(sett_graph *p, sett_kernel *k, const char *label, int n)
{
    sett__step **room = grow(p->step, &p->most_step, p->n_step, sizeof *room);
    sett__cuda_graph_node *node = grow(p->node, &p->most_node, p->n_step, sizeof *node);
    p->step = room ? room : p->step;
    p->node = node ? node : p->node;
    sett__step *s = room && node ? sett__arena_alloc(&p->arena, sizeof *s) : NULL;
    if (!s)
        return NULL;
    s->kernel = k;
    s->label = sett__arena_str(&p->arena, label ? label : k->plan->name);
    s->n = n;
    s->bind = sett__arena_alloc(&p->arena, (size_t)n * sizeof *s->bind);
    s->slot = sett__arena_alloc(&p->arena, (size_t)n * sizeof(sett__slot *));
    s->changed = true;
    return s->label && s->bind && s->slot && make_room(p, k, &s->made[0]) && make_room(p, k, &s->made[1]) ? s : NULL;
}

/* The uses of a step's names; of a slot that has a value each takes it. All or none are entered. */
static bool enter_uses(sett_graph *p, sett__step *s)
{
    sett__use *uses = sett__arena_alloc(&p->arena, (size_t)s->n * sizeof *uses);
    for (int i = 0; i < s->n && uses; i++) {
        if (!s->slot[i])
            continue;
        uses[i] = (sett__use){s->slot[i]->uses, s, i};
        s->slot[i]->uses = &uses[i];
        s->slot[i]->changed = true;
    }
    return uses != NULL;
}

static sett_status add(sett_graph *p, sett_kernel *k, const char *label, int n, const sett_launch_arg *args, sett_error *err)
{
    const int slots = p->n_slot;
    sett__step *s = new_step(p, k, label, n);
    if (!s)
        return sett__error(err, SETT_E_MEMORY, "sett_graph_add: out of memory");
    p->step[p->n_step] = s; /* for the error; it counts once all is right */
    sett_status status = sett__bind_constants(k->plan, n, args, err);
    status = status ? sett__graph_blame(p, p->n_step, status, err) : take_arguments(p, s, args, err);
    if (!status)
        status = sett__kernel_hold(k, p->device, &s->function, err);
    if (!status && !enter_uses(p, s)) {
        sett__kernel_let(k);
        status = sett__error(err, SETT_E_MEMORY, "sett_graph_add: out of memory");
    }
    if (status) {
        p->n_slot = slots;
        if (p->n_table)
            fill_table(p);
        return status;
    }
    sett_kernel_retain(k);
    p->runtime = k->rest->runtime;
    p->n_step++;
    return SETT_OK;
}

static sett_status check_added(const sett_graph *p, const sett_kernel *k, int *device, int n, const sett_launch_arg *args, sett_error *err)
{
    if (!p || !k)
        return sett__error(err, SETT_E_ARGUMENT, "sett_graph_add: the %s is NULL", p ? "kernel" : "graph");
    if (p->runtime && p->runtime != k->rest->runtime)
        return sett__error(err, SETT_E_ARGUMENT, "sett_graph_add: %s is another engine's kernel than those of the calls before", k->plan->name);
    char takes[SETT__TAKES];
    *device = p->device;
    sett_status s = sett__launch_check(k, device, err);
    if (s)
        return s;
    if (n < k->plan->n_arg || n > k->plan->n_arg + k->plan->n_sym || (n && !args))
        return sett__error(err, SETT_E_BIND, "call %d: %s, %d %s given%s", p->n_step, sett__takes_text(k->plan, takes), n, n == 1 ? "was" : "were", n && !args ? " in an array that is NULL" : "");
    return SETT_OK;
}

sett_status sett_graph_add_n(sett_graph *p, sett_kernel *k, const char *label, int n, const sett_launch_arg *args, sett_error *err)
{
    int saved = errno, device = SETT_CPU;
    sett_status s = check_added(p, k, &device, n, args, err);
    if (!s) {
        const int was = p->device;
        p->device = device;
        s = add(p, k, label, n, args, err);
        p->device = s ? was : device;
    }
    errno = saved;
    return s;
}
