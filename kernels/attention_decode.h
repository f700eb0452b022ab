/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of sett_attention_decode and sett_attention_mla share. A warp loads tiles of K and V, and says what they are of
 * (attention_decode.c); others multiply: each by its own keys of a tile (attention_decode_loop.c), or warp groups that have all keys
 * (attention_mla.c). What they have then is combined, of a split by its warps, of some splits by the block that comes last, and of all of a
 * request likewise (attention_decode_sums.c). In sett_attention_decode those that multiply do neither wait for queries nor combine: a warp
 * loads the queries of the split to come, and a crew of warps combines the split before. */
#ifndef ATTENTION_DECODE_H
#define ATTENTION_DECODE_H
#include "attention.h"

enum { DECODE_BARRIER = 1 /* of the threads that combine */ };
enum { MOST_WARPS = 8, DECODE_FOLD = 4 /* splits whose parts are folded first */, DECODE_TOGETHER = 32 /* splits that a block combines at once */ };

/* What a unit is of, the splits that a block takes in one: one, or up to DECODE_FOLD that stand behind each other. Their parts are combined in
 * the same way, whoever has them: DECODE_FOLD are folded one by one, then those of DECODE_TOGETHER at once, then all. Units of one head and
 * tile of rows stand beside each other in PARTIAL. */
typedef struct decode_work {
    sett_val *request, *head; /* of K and V */
    sett_val *row, *keys;     /* the first row of the tile, of queries times heads; keys of the request */
    sett_val *from, *to;      /* tiles of keys */
    sett_val *slot;           /* of the unit */
    sett_val *unit, *units;   /* which one of how many */
    sett_val *folded;         /* how many splits units of the request have, but for the last */
} decode_work;
enum { DECODE_WORK_INTS = sizeof(decode_work) / sizeof(sett_val *) };

typedef struct decode_parts decode_parts;

/* What the two kernels do each in its own way. */
typedef struct decode_kind {
    int latent;  /* columns of Q and K behind those that V has too, which then is no argument; 0: V is one */
    int threads; /* of a block */
    void (*places)(sett_build *, decode_parts *, sett_tensor *const operand[3]); /* shared memory, maps, pipelines */
    void (*load)(sett_build *, const decode_parts *, const attention_work *, sett_val *tile, sett_pipeline_state *keys, sett_pipeline_state *more);
    void (*run)(sett_build *, const decode_parts *);
} decode_kind;

struct decode_parts {
    const sett_attention_decode_options *o;
    const decode_kind *kind;
    sett_attention_options all, mine; /* as attention_keys.c and attention_mask.c ask: of a tile of keys, and of the keys of a warp */
    attention_parts t, scores;        /* with these options */
    attention_scores unit;            /* to ask for the unit of scores */
    sett_pipeline *keys, *work;       /* a stage is a tile of K and one of V, or half of its columns that are both */
    sett_pipeline *queries, *left_sums; /* tiles of Q; .sums, NULL of sett_attention_mla */
    sett_pipeline *more;              /* NULL, or of columns of K alone */
    attention_operand part[3];        /* of K: these halves, and those */
    sett_tensor *q;                   /* (M,d,H,B); .t.q are tiles of it in shared memory, (rows,d,stages) */
    sett_tensor *sums;                /* of shared memory, (columns and what is beside them, rows, warps that share rows) */
    sett_tensor *k_scale, *v_scale;   /* (HK); NULL: none */
    sett_tensor *partial, *left;
    sett_val *floats;                 /* of .partial */
    sett_val *counters;               /* of .left: of units that are combined at once, by their first slot; behind as many, of all of them; two of the walk */
    sett_tensor *last;                /* of shared memory: is this block the last one to come? */
    sett_fast_divmod group;           /* heads of Q that share one of K and V */
    sett_val *rows;                   /* M times these */
    sett_arg high;                    /* tiles of rows */
    sett_arg splits;                  /* of a head and tile of rows, at most */
    sett_arg scale;                   /* the unit of scores times log2(e) */
    sett_pipeline *weighed;           /* of sett_attention_mla: P of a tile, and what it does to the sums so far */
    sett_tensor *p, *told;            /* P, (rows,keys,1), and two numbers of each row */
};

/* The first split with keys of a unit, and how many it has: at least one. */
static inline sett_val *decode_first_split(const decode_parts *x, const decode_work *w)
{
    return sett_floordiv(w->from, x->o->tuning.split / x->o->tuning.keys);
}
static inline sett_val *decode_n_splits(const decode_parts *x, const decode_work *w)
{
    const int tiles = x->o->tuning.split / x->o->tuning.keys;
    return sett_max(sett_sub(sett_floordiv(sett_add(w->to, tiles - 1), tiles), decode_first_split(x, w)), 1);
}

/* The more combine, the sooner the last split is stored; registers for them there are beside few that multiply, and where no warp loads by cp.async. */
static inline int decode_crew_warps(const sett_attention_decode_options *o)
{
    return o->tuning.warps <= 4 && o->d <= 128 && o->tuning.arch != 80 ? 4 : 2;
}

/* Warps that have the same rows, and each its own keys. */
static inline int decode_parts_of(const sett_attention_decode_options *o)
{
    return o->tuning.warps / (o->rows / WARP_ROWS);
}

static inline bool decode_is_f8(const sett_attention_decode_options *o)
{
    return sett__is_f8(o->kv);
}
static inline sett_dtype decode_multiplied(const sett_attention_decode_options *o)
{
    return decode_is_f8(o) ? SETT_F16 /* has all their values */ : o->dtype;
}

/* ---- attention_decode.c ---- */
void sett__decode_body(sett_site, sett_build *, const sett_attention_decode_options *settled, const decode_kind *, const sett_attention_functions *or_null);
/* What the thread does that loads. */
void sett__decode_produce(sett_build *, const decode_parts *);
/* Where a warp stands among the units of its block. */
typedef struct decode_units {
    sett_tensor *more; /* are there any? */
    sett_pipeline_state *get;
} decode_units;
decode_units sett__decode_units(sett_build *, const decode_parts *);
/* A warp takes the units of its block one after another: records a loop that reads each into *w and does what `one` records. */
void sett__decode_each(sett_build *, const decode_parts *, const decode_units *, decode_work *w, void (*one)(sett_build *, void *user), void *user);
/* The rules of .split and .blocks. */
void sett__decode_check_split(choice *, const sett_attention_decode_tuning *);
/* Elements of PARTIAL and LEFT; name: of the call that is asked. */
sett_status sett__decode_workspace(const sett_attention_decode_options *settled, const char *name, const int counts[5], size_t *partial, size_t *left, sett_error *);

/* ---- attention_decode_loop.c ---- */
/* What the warps do that multiply, and the one that loads queries. */
void sett__decode_consume(sett_build *, const decode_parts *);
void sett__decode_fetch(sett_build *, const decode_parts *);

/* ---- attention_decode_sums.c ---- */
/* Floats of a row of PARTIAL, and of shared memory: its sums of V, the largest score, the sum of weights; in PARTIAL both again, in shared memory
 * some that keep lanes in banks of their own. */
static inline int decode_partial_columns(const sett_attention_decode_options *o)
{
    return o->d + 4;
}
static inline int decode_sums_columns(const sett_attention_decode_options *o)
{
    return o->d + 8;
}
/* 2^x. */
sett_val *sett__decode_power(const decode_parts *, sett_val *x);
/* A thread's row of a tile, and its columns: those of a layout, from one on. Behind the columns a row has its largest score and its sum of
 * weights, in PARTIAL twice. */
typedef struct decode_place {
    sett_val *row, *column;
    sett_layout *columns;
    sett_val *second; /* 1: these numbers are the second ones; NULL: 0 */
} decode_place;
/* What a thread has of a row: sums of V, as many as it has columns, the largest score and the sum of weights. */
typedef struct decode_part {
    sett_val *o, *max, *sum;
} decode_part;
/* A unit's part of a row to PARTIAL; direct: to the result, where it is all of the request, and there is nothing to combine. */
void sett__decode_store(sett_build *, const decode_parts *, const decode_work *, const decode_place *, const decode_part *, bool direct);
/* Threads that combine. */
typedef struct decode_crew {
    sett_val *thread; /* its number among them */
    int threads;
} decode_crew;
/* Behind that, by a crew: whoever comes last combines the units of a request. */
void sett__decode_combine(sett_build *, const decode_parts *, const decode_work *, const decode_crew *);
/* What the crew does: both, of what the warps leave in .sums. */
void sett__decode_finish(sett_build *, const decode_parts *, sett_val *thread);
#endif
