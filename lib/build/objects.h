/* SPDX-License-Identifier: Apache-2.0 */
/* The objects that live in a build, and the build itself. */
#ifndef SETT_LIB_BUILD_OBJECTS_H
#define SETT_LIB_BUILD_OBJECTS_H
#include "lib/tape/ops.h"
#include <sett/struct.h>

/* Who called: the build, the line, the public function. */
typedef struct sett__ctx { sett_build *b; sett_site site; const char *func; } sett__ctx;
/* ---- recording: the data -------------------------------------------------------------------------- */
typedef struct sett__region {
    uint32_t op;       /* IF, ELSE, FOR or LOOP that opened it */
    uint32_t last;     /* a hoisted op goes after this op: the last one before the open child region */
    uint32_t serial;   /* unique; values carry that of the region that they live in */
    sett_site site;
} sett__region;
/* A kind of objects: a number, and its name in messages. Each room counts in a range of its own, so that it adds a kind in its own
 * header; kind 0 is poison of any. */
typedef struct sett__kind { uint8_t id; const char *name; } sett__kind;
enum { SETT__KINDS_BUILD = 1, SETT__KINDS_ASYNC = 32, SETT__KINDS_ATOM = 64 };
#define SETT__KIND(room, n, name) ((sett__kind){SETT__KINDS_##room + (n), name})
#define SETT__K_VAL SETT__KIND(BUILD, 0, "value")
#define SETT__K_LAYOUT SETT__KIND(BUILD, 1, "layout")
#define SETT__K_TENSOR SETT__KIND(BUILD, 2, "tensor")
#define SETT__K_STRUCT SETT__KIND(BUILD, 3, "struct")
#define SETT__K_REGION SETT__KIND(BUILD, 4, "region")
/* Head of every object: sett__use() checks it before anything else is read. */
typedef struct sett__head {
    sett_build *b;
    uint64_t stamp; /* b->stamp while the build lives; 0 in a poison object */
    uint8_t kind; /* id of a sett__kind */
    bool poison;
} sett__head;
struct sett_val {
    sett__head head;
    uint32_t id;        /* op index while recording; SETT__NONE: a lazy predicate that is not recorded yet */
    uint32_t n;         /* elements: the product of shape */
    uint8_t dtype;
    bool scalar;        /* rank 0 */
    bool weak;          /* made from a C number: takes the type of the operand beside it */
    bool uniform;       /* the same in every thread of the block */
    bool used;          /* a call took it */
    uint16_t depth;     /* of the region that it was made in, with serial; its op may have been hoisted */
    uint32_t serial;
    int64_t div;        /* of an integer scalar: a known divisor, >= 1 (0: it is zero) */
    int64_t lo, hi;     /* of an integer scalar: its known range */
    sett_arg shape;     /* static; of a scalar a node of rank 0 */
    struct sett__pred *pred; /* coordinates and bound of a sett_elem_less; NULL: another value (predicate.c) */
};
/* R(c) = inner(offset + outer(c)); inner absent: plain shape:stride. */
struct sett_layout {
    sett__head head;
    sett_arg shape, stride;      /* the outer layout; both have one profile */
    uint8_t bits, base, has_inner; /* the swizzle S<bits,base,shift>, if has_inner is 1 */
    int8_t shift;
    sett_arg offset;             /* INT, VALUE or an arithmetic tuple; of a composed layout */
    sett_layout *inner;          /* any layout, if has_inner is 2 */
    uint32_t seen, seen_in;      /* cache of sett__use_layout: its values were visible at depth seen - 1, in the region of
                                  * serial seen_in */
};
struct sett_tensor {
    sett__head head;
    uint8_t space, dtype; /* sett_space; dtype 0 for a coordinate tensor */
    uint32_t root;        /* op index of the root; SETT__NONE for a coordinate tensor */
    int32_t param;        /* index in the signature, or -1 */
    uint32_t align;       /* of the root's address, in bytes */
    bool mbarrier;        /* its elements are mbarriers (lib/async) */
    bool wide;            /* offsets have 64 bits, though the parameter's have not: it was recast to narrower elements */
    sett_layout *layout;
    sett_arg offset;      /* elements from the root (INT or VALUE); the origin of a coordinate tensor */
    bool logical;         /* the parameter as it was declared, or a slice of it */
    const struct sett__fixed *fixed; /* coordinates by which slices made it, to be tested (lib/tensor/inside.c) */
    const char *name;     /* for messages and reports */
    const struct sett__fragment *fragment; /* what it is of a matrix product (lib/atom); NULL: nothing */
    struct sett__share *share; /* a tiled operation's, whose part of a tensor it is (share.c); NULL: none */
    const struct sett_tma *tma; /* coordinates of that map, or a part of shared memory that its copies take (lib/async); NULL: neither */
};
struct sett_struct {
    sett__head head;
    const char *name;
    int64_t size;
    int align, n;
    bool is_union;
    sett_field *field;
    int64_t *offset; /* one a field */
};
typedef struct sett__poison { sett_val val; sett_layout layout; sett_tensor tensor; sett_arg arg; sett__head atom; /* of any kind of lib/atom and lib/async */ } sett__poison;
typedef struct sett__by_value { /* sett_scalar_struct */
    uint32_t param;
    const sett_struct *of;
    struct sett__by_value *next;
} sett__by_value;
typedef struct sett__root_name { /* a root that has a name, for what the verifier says */
    struct sett__root_name *older;
    uint32_t root;
    const char *name;
} sett__root_name;
struct sett_build {
    /* Memory that sett__build_again keeps. */
    const sett__allocator *mem;
    /* the growing tape: ops in order of recording, linked in order of execution */
    sett__op *op;
    uint32_t *next, *arg, *index;
    sett__site_ref *site;
    const char **string;
    sett_val **val_of;       /* op index to value object, so that merged ops share one */
    uint64_t *cse;           /* pure ops: hash << 32 | index + 1, open addressing */
    uint32_t *site_tab;      /* the same for sites */
    uint32_t *string_tab;    /* and for strings */
    uint32_t cap_op, cap_next, cap_arg, cap_index, cap_site, cap_string, cap_val_of, cap_cse, cap_site_tab, cap_string_tab;
    /* The rest starts as zeros. */
    sett__arena arena; /* holds the build itself, first */
    char *reserve;     /* memory for sett__new after memory ran out */
    uint64_t stamp;
    bool open;         /* between sett__space_open and sett__space_shut */
    pthread_t thread;
    sett_build *older, *newer;
    sett_error error; /* the first one; OK until then */
    bool in_kernel;   /* false: for algebra on the host; nothing with an effect may be recorded */
    bool lent;        /* given to a body, which must not end it */
    char *race_ok;    /* what sites get behind their functions: SETT__RACE_OK; NULL: nothing */
    sett_site race_ok_at;
    bool asserts;     /* sett_assert records */
    bool tests;       /* accesses test coordinates: the launch is checked */
    bool no_fold;     /* for tests: record what would fold */
    bool ended;
    sett__poison *poison;
    size_t reserve_at;
    uint32_t n_op, n_arg, n_index, n_site, n_string, n_cse, last_site;
    uint32_t entry_last;     /* last op of the entry block */
    uint32_t tail;           /* last op in order of execution */
    sett__region region[SETT__MAX_DEPTH];
    int depth;               /* open regions */
    uint32_t serials;
    uint32_t ended_if, ended_last; /* END of the if that a sett_else may follow, and the op after which its region's hoisted ops
                                    * go */
    sett__sig sig;           /* arrays grow as parameters are declared */
    uint32_t cap_sym, cap_param, cap_leaf, cap_code, cap_check, cap_map;
    sett_val **sym_val;      /* one a symbol */
    uint32_t cap_sym_val;
    sett_val *grid[3], *block[3], *cluster[3]; /* as given; NULL: not given. Constants are const values */
    uint32_t said[3];        /* 1 + site of the call that gave grid, block, cluster; 0: none yet */
    const char *asked[5];    /* the first call that asked for an index, for each of TID to LANE */
    int64_t block_size[3];   /* static extents of the block; 0: dynamic, or not given yet */
    uint32_t smem_used, smem_align, more_align;
    sett__by_value *by_value;
    struct sett__note *notes; /* what the layouts decided, for the report (report.c) */
    sett__root_name *root_names;
    struct sett__share *shares;
    struct sett__slot_room *slots; /* what rooms above keep (slot.c) */
    const void *user;
};

#endif
