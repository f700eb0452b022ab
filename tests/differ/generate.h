/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the generator share. */
#ifndef SETT_TESTS_DIFFER_GENERATE_H
#define SETT_TESTS_DIFFER_GENERATE_H
#include "tests/differ/differ.h"

enum { OWN_BYTES = 256 };             /* of a thread, in the buffer of bytes */
enum { GEN_SPLAT = 1, GEN_STRICT = 2 }; /* one element will do; no NaN of arithmetic */
typedef struct gen {
    tape_case *c;
    draw *d;
    int threads, thread, local, warp; /* of a block; values: the thread in the launch and in its block, the warp */
    int level, depth, left;  /* how alike the flow is, as `alike`; open regions; statements to go */
    int16_t pool[STMTS];     /* visible values, by their age */
    int n_pool;
    int8_t alike[STMTS];     /* 2: the same in all threads of a block; 1: of a warp */
    bool loose[STMTS];       /* a value, or a root: its NaN may have any bits */
    int16_t root[ROOTS], counter[3], input[3], output[3], shared[2], sums[2]; /* output: two of elements, and one of bytes */
    int n_root, n_counter, n_input, n_shared, n_sums, wide; /* wide: the widest that any type is loaded of any buffer */
    uint8_t liked[2];        /* types that come often */
} gen;

int gen_below(gen *, int n);
bool gen_chance(gen *, int in); /* one in so many */
int gen_add(gen *, stmt);
int gen_op(gen *, int code, int dtype, int n, int n_arg, ...);
int gen_const(gen *, int dtype, uint64_t bits);
int gen_arithmetic(gen *);
int gen_type(gen *);
int gen_width(gen *);
int gen_value(gen *, int dtype, int n, int flags);
int gen_strict(gen *, int value);
int gen_index(gen *, int limit);
int gen_load(gen *, int dtype, int n); /* NO_ARG: no buffer is of the type */
int gen_load_own(gen *);
int gen_load_registers(gen *, int root);
void gen_store_registers(gen *, int root);
void gen_output(gen *, int value);
void gen_output_bytes(gen *, int value);

/* steps.c */
void gen_steps(gen *, int n);
#endif
