/* SPDX-License-Identifier: Apache-2.0 */
/* Prepared calls. Setters write into a staging area; a commit binds all of it and, if every check passes, lays out what
 * the next runs hand over: a run sees the old arguments or the new ones. */
#include "launch.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64 };
struct sett_prepared {
    /* All that a run reads is its first line and the block that is handed over. */
    alignas(LINE) sett__shot shot; /* of a GPU, where there is something to launch */
    sett_kernel *kernel;           /* counted */
    void *function;                /* of a GPU kernel */
    int device;
    uint16_t n_param, n_sym, params_len;
    bool committed, empty;
    int wrong;               /* an index that a setter was given and that is none; -1: all were right */
    sett_launch_arg *bind;         /* n_param + n_sym; kind 0: not given */
    sett_buf *buf;           /* n_param: what the binds of buffers point to */
    sett__extent *extent[2]; /* n_param each, of a CPU kernel: in use, and for the next commit */
    sett__map_facts *map;    /* what its tensor maps were encoded of; zeros: nothing yet. Staged structs follow, one after another */
    sett__launch_dims dims;  /* of a CPU kernel */
    alignas(LINE) unsigned char params[];
};
static_assert(sizeof(struct sett_prepared) == 3 * LINE, "the packed block begins behind three lines");

int sett_kernel_argument(const sett_kernel *k, const char *name)
{
    if (!k || !name)
        return -1;
    const sett__sig *sig = k->plan->sig;
    for (int i = 0; i < k->plan->n_arg; i++)
        if (!strcmp(sig->param[i].name, name))
            return i;
    for (int i = 0; i < k->plan->n_sym; i++)
        if (!strcmp(sig->sym[i].name, name))
            return k->plan->n_arg + i;
    return -1;
}

/* Bytes of an argument that is a struct, else 0. */
static size_t struct_bytes(const sett_kernel *k, int i)
{
    return k->plan->sig->param[i].bytes;
}

/* ---- staging --------------------------------------------------------------------- */
/* The place of an argument: of a parameter, or with symbols. */
static sett_status find_place(sett_prepared *c, int arg, bool symbols, sett_launch_arg **place)
{
    if (!c)
        return SETT_E_ARGUMENT;
    if (arg >= 0 && arg < c->n_param + (symbols ? c->n_sym : 0)) {
        *place = &c->bind[arg];
        return SETT_OK;
    }
    if (c->wrong < 0)
        c->wrong = arg < 0 ? INT32_MAX : arg;
    return SETT_E_BIND;
}

sett_status sett_prepared_buf(sett_prepared *c, int arg, const sett_buf *t)
{
    sett_launch_arg *b;
    sett_status s = find_place(c, arg, false, &b);
    if (s)
        return s;
    if (t)
        c->buf[arg] = *t;
    *b = (sett_launch_arg){SETT_LAUNCH_ARG_BUF, .u = {.t = t ? &c->buf[arg] : NULL}};
    return SETT_OK;
}

sett_status sett_prepared_int(sett_prepared *c, int arg, int64_t i)
{
    sett_launch_arg *b;
    sett_status s = find_place(c, arg, true, &b);
    if (!s)
        *b = (sett_launch_arg){SETT_LAUNCH_ARG_INT, .u = {.i = i}};
    return s;
}

sett_status sett_prepared_float(sett_prepared *c, int arg, double f)
{
    sett_launch_arg *b;
    sett_status s = find_place(c, arg, true, &b);
    if (!s)
        *b = (sett_launch_arg){SETT_LAUNCH_ARG_FLOAT, .u = {.f = f}};
    return s;
}

sett_status sett_prepared_struct(sett_prepared *c, int arg, const void *p, size_t bytes)
{
    sett_launch_arg *b;
    sett_status s = find_place(c, arg, false, &b);
    if (s)
        return s;
    unsigned char *copy = (unsigned char *)(c->map + c->kernel->plan->n_map);
    for (int i = 0; i < arg; i++)
        copy += struct_bytes(c->kernel, i);
    if (p && bytes == struct_bytes(c->kernel, arg))
        memcpy(copy, p, bytes);
    *b = sett_launch_arg_struct(p ? copy : NULL, bytes);
    return SETT_OK;
}

static sett_status stage_all(sett_prepared *c, int n, const sett_launch_arg *args, sett_error *err)
{
    char takes[SETT__TAKES];
    if (n < 0 || n > c->n_param + c->n_sym || (n && !args))
        return sett__error(err, SETT_E_BIND, "%s, %d %s given%s", sett__takes_text(c->kernel->plan, takes), n, n == 1 ? "was" : "were", n && !args ? " in an array that is NULL" : "");
    for (int i = 0; i < n; i++) {
        if (args[i].kind == SETT_LAUNCH_ARG_BUF && i < c->n_param)
            sett_prepared_buf(c, i, args[i].u.t);
        else if (args[i].kind == SETT_LAUNCH_ARG_STRUCT && i < c->n_param)
            sett_prepared_struct(c, i, args[i].u.p, args[i].bytes);
        else
            c->bind[i] = args[i];
    }
    return SETT_OK;
}

/* ---- commit ------------------------------------------------------------------------ */
static sett_status check_staged(sett_prepared *c, sett_error *err)
{
    const sett__plan *p = c->kernel->plan;
    int wrong = c->wrong;
    c->wrong = -1;
    if (wrong == INT32_MAX)
        return sett__error(
            err, SETT_E_BIND, "%s: a value was staged for a negative argument index (no such name?)", p->name);
    if (wrong >= 0)
        return sett__error(err, SETT_E_BIND,
            "%s: a value was staged for argument %d; there are %d arguments and %d symbols, "
            "and a symbol takes no buffer",
            p->name, wrong, c->n_param, c->n_sym);
    for (int i = 0; i < c->n_param; i++)
        if (!c->bind[i].kind)
            return sett__error(err, SETT_E_BIND, "%s: %s (argument %d) was never given", p->name, p->sig->param[i].name, i);
    return SETT_OK;
}

/* Of an empty grid none was encoded. */
static void keep_maps(sett_prepared *c, const sett__bound *b)
{
    const size_t bytes = c->kernel->plan->n_map * sizeof *c->map;
    if (b->empty)
        memset(c->map, 0, bytes);
    else
        memcpy(c->map, b->map, bytes);
}

/* What was bound becomes what runs. */
static inline void take_over(sett_prepared *c, const sett__bound *b)
{
    memcpy(c->params, b->params, b->params_len);
    if (c->kernel->plan->n_map)
        keep_maps(c, b);
    c->params_len = (uint16_t)b->params_len;
    c->empty = b->empty;
    c->committed = true;
    if (b->empty)
        c->shot.state = 0;
    if (c->kernel->cpu) {
        sett__extent *was = c->extent[0];
        c->extent[0] = c->extent[1], c->extent[1] = was;
        c->dims = b->dims;
    }
}

sett_status sett_prepared_commit(sett_prepared *c, sett_error *err)
{
    int saved = errno;
    if (!c)
        return sett__error(err, SETT_E_ARGUMENT, "sett_prepared_commit: the call is NULL");
    sett__bound b;
    sett_kernel *k = c->kernel;
    sett_status s = sett__gate_open(c->shot.gate) ? SETT_OK : sett__runtime_check(k->rest->runtime, sett__meta_of(k)->name, err);
    if (!s)
        s = check_staged(c, err);
    if (!s)
        s = sett__launch_aim(k, (sett_stream){c->device, NULL}, c->function, c->n_param + c->n_sym, c->bind, &b, c->extent[1], c->map, c->params,
            &c->shot, err);
    if (!s)
        take_over(c, &b);
    errno = saved;
    return s;
}

/* ---- make, run, free ----------------------------------------------------------------- */
/* One block, with the arrays behind: binds, buffers, extents, all of 8-byte members. */
static sett_prepared *new_call(sett_kernel *k)
{
    size_t n_param = k->plan->n_arg, n_sym = k->plan->n_sym;
    size_t binds = (n_param + n_sym) * sizeof(sett_launch_arg), bufs = n_param * sizeof(sett_buf);
    size_t maps = k->plan->n_map * sizeof(sett__map_facts);
    size_t extents = k->cpu ? n_param * sizeof(sett__extent) : 0, structs = 0;
    for (size_t i = 0; i < n_param; i++)
        structs += struct_bytes(k, (int)i);
    size_t params = (k->plan->params_len + (size_t)LINE - 1) / LINE * LINE;
    size_t size = (sizeof(sett_prepared) + params + binds + bufs + 2 * extents + maps + structs + LINE - 1) / LINE * LINE;
    sett_prepared *c = aligned_alloc(LINE, size);
    if (!c)
        return NULL;
    memset(c, 0, size);
    char *at = (char *)c->params + params;
    c->bind = (sett_launch_arg *)(void *)at;
    c->buf = (sett_buf *)(void *)(at + binds);
    if (k->cpu) {
        c->extent[0] = (sett__extent *)(void *)(at + binds + bufs);
        c->extent[1] = (sett__extent *)(void *)(at + binds + bufs + extents);
    }
    c->map = (sett__map_facts *)(void *)(at + binds + bufs + 2 * extents);
    c->n_param = (uint16_t)n_param;
    c->n_sym = (uint16_t)n_sym;
    c->wrong = -1;
    c->shot.gate = k->gate;
    c->kernel = sett_kernel_retain(k);
    return c;
}

/* Of a kernel that is held. */
static sett_status make_held(sett_kernel *k, int device, void *function, int n, const sett_launch_arg *args, sett_prepared **to, sett_error *err)
{
    sett_prepared *c = new_call(k);
    if (!c) {
        sett__kernel_let(k);
        return sett__error(err, SETT_E_MEMORY, "sett_prepared_make: out of memory");
    }
    c->device = device;
    c->function = function;
    sett_status s = stage_all(c, n, args, err);
    if (!s && (n > 0 || c->n_param == 0))
        s = sett_prepared_commit(c, err);
    if (s)
        sett_prepared_free(c);
    else
        *to = c;
    return s;
}

sett_status sett_prepared_make_n(sett_kernel *k, int device, int n, const sett_launch_arg *args, sett_prepared **to, sett_error *err)
{
    int saved = errno;
    if (to)
        *to = NULL;
    if (!k || !to)
        return sett__error(err, SETT_E_ARGUMENT, "sett_prepared_make: the %s is NULL", k ? "place for the call" : "kernel");
    void *function;
    sett_status s = sett__launch_check(k, &device, err);
    if (!s)
        s = sett__kernel_hold(k, device, &function, err);
    if (!s)
        s = make_held(k, device, function, n, args, to, err);
    errno = saved;
    return s;
}

static sett_status run_checked(sett_prepared *c, sett_stream stream)
{
    const sett_kernel *k = c->kernel;
    sett_status s = sett__runtime_check(k->rest->runtime, NULL, NULL);
    if (s)
        return s;
    if (stream.device != c->device && !(sett__device(k->rest->runtime, &stream.device, NULL) && stream.device == c->device))
        return SETT_E_NO_DEVICE;
    if (!c->committed)
        return SETT_E_BIND;
    if (c->empty)
        return SETT_OK;
    if (k->cpu)
        return sett__launch_again(k, stream.handle, &c->dims, c->params, c->params_len, c->extent[0], NULL);
    return sett__gpu_shoot(&c->shot, stream.handle, c->params, NULL);
}

sett_status sett_prepared_check(sett_prepared *c, const sett_check_options *options, sett_error *err)
{
    int saved = errno;
    if (!c)
        return sett__error(err, SETT_E_ARGUMENT, "sett_prepared_check: the call is NULL");
    const sett_kernel *k = c->kernel;
    sett_status s = sett__launch_check_options(k, "sett_prepared_check", options, NULL, NULL, 0, NULL, err);
    if (!s)
        s = sett__runtime_check(k->rest->runtime, k->plan->name, err);
    if (!s && !c->committed)
        s = sett__error(err, SETT_E_BIND, "sett_prepared_check: %s: no commit yet", k->plan->name);
    if (!s && !c->empty)
        s = sett__allocations_alive(&k->rest->runtime->blocks, k->plan->sig, k->plan->name, c->extent[0], err);
    if (!s && !c->empty)
        s = sett__launch_check_options(k, "sett_prepared_check", options, &c->dims, c->params, c->params_len, c->extent[0], err);
    errno = saved;
    return s;
}

/* The rare answers, away from the path of a launch. */
static __attribute__((noinline)) sett_status run_otherwise(sett_prepared *c, sett_stream stream)
{
    int saved = errno;
    sett_status s = c ? run_checked(c, stream) : SETT_E_ARGUMENT;
    errno = saved;
    return s;
}

sett_status sett_prepared_run(sett_prepared *c, sett_stream stream)
{
    if (c && c->shot.state && stream.device == c->shot.device && sett__gate_open(c->shot.gate))
        return sett__gpu_shoot(&c->shot, stream.handle, c->params, NULL);
    return run_otherwise(c, stream);
}

void sett_prepared_free(sett_prepared *c)
{
    if (!c)
        return;
    sett__kernel_let(c->kernel);
    sett_kernel_release(c->kernel);
    free(c);
}
