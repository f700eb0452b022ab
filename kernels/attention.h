/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of attention share. A block stays, and takes tile after tile: some queries of one head, or of two. Its last warp
 * group loads (attention_keys.c), the others multiply (attention_loop.c); what is seen is attention_mask.c's, what comes of it
 * attention_store.c's. With .arch 80 its last warp loads, by cp.async, and the others have 16 rows each (attention_warp.c, attention_mma.c). */
#ifndef ATTENTION_H
#define ATTENTION_H
#include "kernels.h"
#include <stddef.h>

enum { NEXT_INTS = 2 /* of .dynamic: tiles that were asked for, of each list */ };
enum { MOST_BOXES = 256 / 16 /* of a tile of keys, of a page each */ };
enum { GROUP = 128 /* threads of a warp group */, GROUP_ROWS = 64, WARP = 32, WARP_ROWS = 16, WORK_STAGES = 2 };
/* Named barriers: 1 to 3 are those of each warp group. */
enum { BARRIER_GROUP = 1, BARRIER_TURN = 4 /* and 5 */, BARRIER_ALL = 6 };

/* Where a block works. Tiles of keys are [from, to), of which no query needs a mask in [whole_from, whole_to); tile to - 1, which comes
 * first, counts as an edge in any case. */
typedef struct attention_work {
    sett_val *row;                  /* the first of the tile: a query, of .group one of its heads: query * group + head */
    sett_val *head, *request;       /* the first head of Q */
    sett_val *rows, *keys;          /* of the request: M and N */
    sett_val *first_row;            /* of the request, among those of Q */
    sett_val *from, *whole_from, *whole_to, *to;
    sett_val *shared, *first_key;   /* of the warp that loads: the head of K and V; the request's first key among those of K */
    sett_val *box[MOST_BOXES];      /* likewise, of the tile at hand: which boxes of the pool it has */
} attention_work;
enum { ATTENTION_WORK_INTS = offsetof(attention_work, shared) / sizeof(sett_val *) }; /* that are told */

typedef struct attention_parts attention_parts;

/* K, or V: its map, its stages in shared memory, and which of its modes are keys. */
typedef struct attention_operand {
    sett_tma *map;
    sett_tensor *all; /* of the map, or as memory has it: (keys,columns,heads ...), or (columns,keys, ...) */
    sett_tensor *ring;
    sett_pipeline *pipe;
    int columns;
    int first;   /* of its columns, by as many at once; 0 but of a part of K */
    bool across; /* V: (dv,keys) */
} attention_operand;

/* Where keys come from. */
typedef struct attention_source {
    /* Parameters behind O. */
    void (*params)(sett_build *, attention_parts *);
    /* N of a request. */
    sett_val *(*keys)(const attention_parts *, sett_val *request);
    /* The first of them, among all of K; NULL: it is asked for none. */
    sett_val *(*first_key)(const attention_parts *, sett_val *request);
    /* What has to be read before a tile of keys is copied, in the work; NULL: nothing. It is read once, before one waits for a stage. */
    void (*look)(const attention_parts *, attention_work *, sett_val *tile);
    /* (keys,columns), or (columns,keys), from the first of a request, or of a page of it. */
    sett_tensor *(*of)(const attention_operand *, const attention_work *, sett_val *page);
} attention_source;
extern const attention_source sett__attention_in_order, sett__attention_with_lengths, sett__attention_ragged, sett__attention_paged;

struct attention_parts {
    const sett_attention_options *o;
    const sett_attention_functions *own; /* never NULL */
    const attention_source *source;
    sett_site site;                      /* of the caller's line, and what it called */
    const char *call;
    bool packs;                          /* heads of a query are rows of one tile: bounds are of all of them */
    sett_tensor *q, *out;                /* shared memory: (rows,d), (rows,dv); out may lie where q does */
    bool own_out;                        /* it does not */
    sett_tma *tq, *to;
    attention_operand k, v;
    attention_operand vt;                /* V as products take it: v, or of fp8 what the warps beside the one that loads make of it, (dv,keys) with the keys of a row beside each other */
    sett_pipeline *query, *work;
    sett_tensor *slots;                  /* (ATTENTION_WORK_INTS + 1, WORK_STAGES) of shared memory, the last one: is there work? */
    sett_tensor *in;                     /* Q as cp.async reads it */
    sett_val *lane;                      /* of the warp that loads by cp.async; NULL: one thread loads, by TMA */
    sett_tensor *O, *offsets, *key_offsets, *table, *lengths, *prefix, *slopes, *sinks, *lse, *next, *scales[3];
    sett_val *columns;                   /* heads, of which each is a column of tiles: those of Q, or with .group of K */
    sett_val *B, *H, *HK, *M, *N, *pool, *pages, *window, *cap, *scale;
    sett_arg group;                      /* heads of Q that share one of K and V */
    sett_fast_divmod packed;             /* of .group: as many heads of a query are rows of one tile */
};

enum { TURNING_WARPS = 3 /* of fp8, that turn V */ };

static inline bool is_f8(const sett_attention_options *o)
{
    return o->dtype == SETT_F8E4M3FN;
}

/* Do copies come by TMA? */
static inline bool by_tma(const sett_attention_options *o)
{
    return o->tuning.arch != 80;
}

/* Weights are 2 to this power times as large, so that fewer of them are subnormal numbers. */
static inline int weight_exponent(const sett_attention_options *o)
{
    return is_f8(o) ? 8 : 0;
}

/* Heads of a query that are rows of one tile, side by side. */
static inline int heads_of(const sett_attention_options *o)
{
    return o->group ? o->group : 1;
}

static inline int groups_of(const sett_attention_options *o)
{
    return o->tuning.rows / GROUP_ROWS;
}

/* Does a thread that loads divide by .page? That takes registers. */
static inline bool divides(const sett_attention_options *o)
{
    return o->page & (o->page - 1);
}

/* Has V a warp of its own that loads it? Where a tile has some boxes one thread is too slow for those of K and V. Such threads take registers that
 * others do not need: not beside three groups, nor beside those that have many sums or an exact tanh. */
static inline bool loads_apart(const sett_attention_options *o)
{
    return by_tma(o) && !is_f8(o) && o->page % o->tuning.keys && !divides(o) && groups_of(o) < 3 && o->dv < 256 && !(o->exact && o->softcap);
}

/* Are there pairs? A tile of at most 64 rows is of one warp group, which then waits for its own product, softmax and product. Of a request that has no
 * more, groups take a head of K and V each, and stages are in turn of the first head and of the second. */
static inline bool has_pairs(const sett_attention_options *o)
{
    return loads_apart(o) && o->group && groups_of(o) == 2;
}

/* Rows of Q that a box loads. */
static inline int query_box(const sett_attention_options *o)
{
    return has_pairs(o) ? GROUP_ROWS : o->tuning.rows;
}

/* ---- attention.c ---- */
/* (rows,d,heads,batch) of an argument (batch,heads,rows,d); without batch (NULL) (rows,d,heads) of (heads,rows,d). wide: threads reach what lies
 * 2^31 elements away. */
sett_tensor *sett__attention_operand(sett_build *, const char *name, sett_dtype, sett_val *batch, sett_arg heads, sett_arg rows, int d, bool wide);
/* Stages of shared memory and the map of K or V; .pipe is the caller's to make. */
attention_operand sett__attention_ring(sett_build *, const sett_attention_options *, sett_tensor *from, int columns, bool across);
/* Of as many bytes a stage where they come by TMA. */
sett_pipeline *sett__attention_pipe(sett_build *, const sett_attention_options *, int stages, int64_t bytes, sett_group readers);
/* (rows,columns) of Q or O, or coordinates in them, as a work's tiles have them: from row `row` of its request on. */
sett_tensor *sett__attention_rows(const attention_parts *, const attention_work *, sett_tensor *of, sett_val *row);
/* The head of K and V of one of Q. */
sett_val *sett__attention_shared(sett_build *, const attention_parts *, sett_val *head);
/* Is a request of so many rows taken by pairs of heads? NULL: none is. */
sett_val *sett__attention_pair(const attention_parts *, sett_val *rows);
/* What a warp group has of a work: of a pair its own head, with rows as if it were the first group. */
void sett__attention_own_work(const attention_parts *, attention_work *, sett_val *group);
/* How many rows the request has from that one on. */
sett_val *sett__attention_left(const attention_parts *, const attention_work *, sett_val *row);

/* ---- attention_mask.c ---- */
/* What both kinds of attention refuse: a page of another size, .prefix with .window, .softcap with .alibi. */
void sett__attention_check(choice *, int page, bool two_masks, bool two_scores);
/* .tuning.arch, by the target. option: the name of one of type t. */
void sett__attention_arch(choice *, int *arch, const char *option, sett_dtype t);
/* What the table of devices says of a target, or of sm_80 where that is older. */
const device *sett__attention_device(int sm);
int sett__attention_blocks(const device *); /* that stay */
/* And of functions of the caller's, or NULL, beside options that they are in place of: what there is of them. NULL: the build has failed. */
const sett_attention_functions *sett__attention_own(sett_site, sett_build *, const char *call, const sett_attention_functions *, const sett_attention_options *);
/* The parameters of masks and scores, in their order. */
void sett__attention_mask_params(sett_build *, attention_parts *);
/* The keys that a query sees, within 0 and N; first NULL: 0 for every query. */
typedef struct attention_seen {
    sett_val *first, *last;
} attention_seen;
attention_seen sett__attention_seen(sett_build *, const attention_parts *, const attention_work *, sett_val *query);
/* Asserts what numbers of a launch may be. */
void sett__attention_check_numbers(sett_build *, const attention_parts *);
/* Fills in the tiles of keys of a work. */
void sett__attention_bounds(sett_build *, const attention_parts *, attention_work *);
/* Might tiles other than the first to come be masked: those with the last keys, with the first ones? */
bool sett__attention_masks_last(const attention_parts *);
bool sett__attention_masks_first(const attention_parts *);

/* What becomes of the scores of a thread. */
typedef struct attention_scores {
    sett_build *b;
    const attention_parts *t;
    const attention_work *w;
    sett_tensor *crd;                /* (query,key) of its elements, within the tile */
    sett_tensor *columns;            /* the same of the first thread: numbers */
    sett_tensor *first, *last, *own; /* registers, by rows: the keys that are seen, the one beside the query, each less the thread's first column; NULL: not asked for */
    const sett_fast_divmod *heads;   /* rows are queries, each with so many heads from .head on beside each other; NULL: with one */
    sett_tensor *slope, *unit;       /* of .alibi; what a product of a query and a key is multiplied by, where it is the head's own: by rows, or one */
} attention_scores;
/* Of a thread's rows: once a tile of queries. */
void sett__attention_scores_begin(sett_build *, attention_scores *);
/* The head of row r of the two that a thread has. */
sett_val *sett__attention_head(sett_build *, const attention_scores *, int r);
/* S of a tile of keys in that unit, -infinity where nothing is seen. edge: keys may lie outside the bounds. */
sett_val *sett__attention_score(sett_build *, const attention_scores *, sett_val *s, sett_val *tile, bool edge);
/* The unit, times a factor. */
sett_arg sett__attention_unit(const attention_scores *, double factor);

/* ---- attention_keys.c ---- */
/* Keys of a box of K or V. */
int sett__attention_box(const sett_attention_options *);
/* A tile of keys of n operands to the next stage. */
void sett__attention_load(sett_build *, const attention_parts *, const attention_operand *const *, int n, const attention_work *, sett_val *tile, sett_pipeline_state *put);
/* Does this thread of the warp that loads take part: all of cp.async, one of TMA? And is it the one of these that does what is done once? */
static inline sett_val *attention_loads(sett_build *b, const attention_parts *t)
{
    return t->lane ? sett_const(b, SETT_BOOL, 1) : sett_elect_one(b);
}
static inline sett_val *attention_once(sett_build *b, const attention_parts *t)
{
    return t->lane ? sett_eq(t->lane, 0) : sett_const(b, SETT_BOOL, 1);
}
/* What a counter was before 1 is added, to a variable of all that load. */
void sett__attention_ticket(sett_build *, const attention_parts *, sett_tensor *counters, sett_val *which, sett_tensor *to);
/* What the thread does that loads, or the warp. */
void sett__attention_produce(sett_build *, const attention_parts *);
/* What the warp does that loads V, where there is one. */
void sett__attention_produce_values(sett_build *, const attention_parts *);
/* The next work as n values, to the warps that wait for it; NULL: there is none. */
void sett__attention_tell(sett_build *, const attention_parts *, sett_pipeline_state *, sett_val *const *work, int n);
/* Where a warp stands among the works of its block. */
typedef struct attention_units {
    sett_tensor *more; /* are there any? At first 1 */
    sett_pipeline_state *get;
} attention_units;
/* A warp takes the works of its block one after another: records a loop that reads n values of each and does what `one` records. early: the stage is
 * released before that; otherwise behind it, and sett__attention_told reads the values again, so that they take no registers meanwhile. */
void sett__attention_each(sett_build *, const attention_parts *, const attention_units *, sett_val **work, int n, bool early, void (*one)(sett_build *, void *user), void *user);
void sett__attention_told(const attention_parts *, const sett_pipeline_state *, sett_val **work, int n);
/* Zeros for keys of V, (columns,keys), behind the request's last, of which `left` are left, as what lies there may be NaN; by so many threads
 * that meet at a barrier then, NULL: of a warp. */
void sett__attention_clear(sett_build *, const attention_parts *, sett_tensor *v, int columns, sett_val *left, sett_val *thread, int threads, sett_val *barrier);

/* ---- attention_turn.c ---- */
/* Of fp8: what each of TURNING_WARPS does, from number 0 on. */
void sett__attention_turn(sett_build *, const attention_parts *, sett_val *number);

/* ---- attention_loop.c ---- */
void sett__attention_consume(sett_build *, const attention_parts *, sett_val *group);

/* ---- attention_warp.c ---- */
/* A warp that multiplies by mma.sync: 16 rows, and a tile of keys that is its own. */
typedef struct attention_warp {
    const attention_parts *t;
    attention_work of;          /* .row is the warp's first one */
    attention_scores scores;
    sett_val *lane, *row;       /* row: the first one, within the tile of the block */
    sett_val *k_scale;          /* NULL, or what scores are multiplied by */
    bool keeps_query;           /* in registers, or reads it again for each tile */
    sett_tiled_mma *mma;
    sett_tiled_copy *read_q, *read_k, *read_v;
    sett_tensor *q, *s, *p, *o, *max, *sum; /* registers; max in the unit of scores */
} attention_warp;
void sett__warp_make(sett_build *, attention_warp *);
/* Q, (rows,d) of shared memory, in the order in which it is multiplied; and so columns of O. */
sett_tensor *sett__warp_query(sett_build *, const attention_parts *, sett_tensor *q);
sett_tensor *sett__warp_columns(sett_build *, const attention_warp *, sett_tensor *);
/* Before the first tile, of Q that has come. */
void sett__warp_begin(const attention_warp *, sett_tensor *q);
/* The weights of a tile of K, (keys,d), the number of its keys by the tile; and O += P V, (dv,keys). */
void sett__warp_weights(sett_build *, const attention_warp *, sett_tensor *q, sett_tensor *k, sett_val *tile, bool edge);
void sett__warp_sums(sett_build *, const attention_warp *, sett_tensor *v);

/* ---- attention_mma.c ---- */
/* The warps that multiply, with .arch 80. */
void sett__attention_consume_warps(sett_build *, const attention_parts *, sett_val *warp);

/* ---- attention_store.c ---- */
/* The sums of rows before the first key, or of their sinks. */
void sett__attention_begin(sett_build *, const attention_scores *, sett_tensor *o, sett_tensor *max, sett_tensor *sum);
/* P = 2^(scale (S - max)), by rows. *fade: by what the sums so far, and O, are to be multiplied. Of a row that has seen no key max is -infinity,
 * and all of P is 0. */
sett_val *sett__attention_softmax(const attention_scores *, sett_tensor *max, sett_tensor *sum, sett_val *s, int exponent, sett_val **fade);
/* 1 / sum, 0 of 0. */
sett_val *sett__attention_per_sum(const attention_parts *, sett_val *sum);
/* ln(sum) of each row of a work, by the thread that has its first column. */
void sett__attention_store_logarithm(sett_build *, const attention_scores *, const attention_work *, sett_tensor *max, sett_val *sum);
/* Columns of O that a box stores. */
int sett__attention_panel(const sett_attention_options *);
/* What a warp group has of a tile: sums of V, of weights and the largest scores, by rows; in the unit. */
typedef struct attention_result {
    sett_tiled_mma *pv;
    sett_tensor *o, *sum, *max;
    const attention_scores *scores;
} attention_result;
void sett__attention_store(sett_build *, const attention_parts *, const attention_work *, const attention_result *, sett_val *group);
#endif
