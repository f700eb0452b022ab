/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the room share. A step is a call that was added, a slot an argument of the graph. */
#ifndef SETT_JIT_PLAN_H
#define SETT_JIT_PLAN_H
#include "jit/launch/launch.h"
#include <sett/graph.h>

typedef struct sett__step sett__step;
typedef struct sett__use { /* a step's argument that a slot gives */
    struct sett__use *next;
    sett__step *step;
    int arg;
} sett__use;
typedef struct sett__slot {
    const char *name;
    sett_launch_arg value; /* as it was staged; kind 0: never */
    sett_buf buf;    /* what the value points to, of a buffer; */
    void *bytes;     /* of a struct */
    /* What its calls want: one of SETT_LAUNCH_ARG_BUF, SETT_LAUNCH_ARG_STRUCT, and SETT_LAUNCH_ARG_INT for any number. */
    uint8_t kind, dtype, rank;
    uint32_t size;
    int step, arg;   /* its first use */
    sett__use *uses;
    bool changed;    /* since its value was last handed to its uses */
} sett__slot;

/* What a step launches with some arguments. */
typedef struct sett__step_launch {
    sett__shot shot;      /* of a GPU, where there is something to launch */
    sett__launch_dims dims;
    sett__map_facts *map; /* what its tensor maps were encoded of; zeros: nothing yet */
    sett__extent *extent; /* of a CPU kernel */
    unsigned char *params;
    uint32_t params_len;
    bool empty;
} sett__step_launch;
struct sett__step {
    sett_kernel *kernel; /* counted, and held */
    void *function;      /* of a GPU kernel */
    const char *label;   /* the kernel's name, if none was given */
    int n;
    sett_launch_arg *bind;     /* n: constants, and what slots gave last */
    sett__slot **slot;   /* n; NULL: a constant */
    bool changed;        /* since the last commit; its next arguments are then bound anew */
    int now;             /* of the two below: what runs launch; the other is for the next commit */
    sett__step_launch made[2];
};
static inline sett__step_launch *sett__step_now(sett__step *s)
{
    return &s->made[s->now];
}
static inline sett__step_launch *sett__step_next(sett__step *s)
{
    return &s->made[!s->now];
}

struct sett_graph {
    int device;             /* SETT_DEFAULT_DEVICE before the first step */
    bool launches, committed;
    sett__runtime *runtime; /* of its kernels; NULL: no step yet */
    sett__arena arena;      /* holds steps, slots and what they point to */
    sett__step **step;
    sett__slot **slot;
    uint32_t *table;        /* n_table, a power of two: an index of a slot + 1, by its name; 0: none */
    sett__cuda_graph_node *node; /* room for one a step */
    int n_step, n_slot, n_running; /* n_running: the first steps, of the last commit */
    uint32_t most_step, most_node, most_slot, n_table;
    int wrong;              /* an index that a setter was given and that is none; -1: all were right */
    char wrong_name[80];    /* likewise a name; "" */
    sett__cuda_graph *cuda_graph; /* of the last commit; NULL: launches one by one */
    uint64_t cuda_graphs, updates;
};

/* ---- commit.c -------------------------------------------------------------------------------------- */
/* "call 2 (label): what the error says", and which arguments of the graph its names are. Returns the status. */
sett_status sett__graph_blame(const sett_graph *, int step, sett_status, sett_error *);

#endif
