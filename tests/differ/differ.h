/* SPDX-License-Identifier: Apache-2.0 */
/* Random tapes, held against a model of their own. A case is a list of statements; it prints as a tape, which the CPU engine
 * runs in each of its ways, and the model carries it out thread by thread and element by element. They share no code: the model
 * knows neither rows nor slots nor masks of lanes, and its arithmetic is that of the conformance tests.
 *
 * A case is drawn from a seed, or from a fuzzer's bytes. It never races, stays inside of its memory and reads nothing
 * undefined; the model holds it to that, so that a case which breaks this is a defect of the generator. */
#ifndef SETT_TESTS_DIFFER_H
#define SETT_TESTS_DIFFER_H
#include "lib/tape/ops.h"
#include <inttypes.h>

enum { STMTS = 768, ARGS = 8, WIDEST = 17, THREADS = 130, BLOCKS = 40, BUFFERS = 8, ROOTS = 12, NO_ARG = -1 };

/* One operation, or a bracket of a region. Operands are numbers of statements. arg: of LOAD, STORE and ATOM root, base,
 * predicate, and fill or value; of CPASYNC root, base and predicate of shared memory, root and base of global memory, keep. */
typedef struct stmt {
    uint8_t code, dtype, sub, n_arg, align; /* align: bytes, of a load or a store */
    uint16_t n;
    bool nonneg, gone;                         /* gone: the shrinker dropped it */
    int16_t arg[ARGS];
    uint8_t index[WIDEST]; /* of PICK */
    int64_t imm;           /* bits of a constant; offset; of a parameter its buffer; of shared memory its first byte */
    int32_t to;            /* offset in shared memory of a copy */
    uint8_t bytes, of;     /* of a copy */
} stmt;

/* Global memory: a parameter each. READ: any thread reads anywhere. OWN: a thread reads and writes `each` elements of its own.
 * SUMS: atomics of one operation alone. */
enum { BUFFER_READ, BUFFER_OWN, BUFFER_SUMS };
typedef struct buffer {
    uint8_t dtype, kind;
    bool loose;   /* its type's NaN may have any bits: they come of arithmetic */
    bool by_slot; /* element i of thread t is i * threads + t, not t * each + i */
    int elements, each;
    uint8_t op; /* of SUMS */
} buffer;

typedef struct tape_case {
    uint64_t seed;
    int blocks, block[2], smem; /* threads along x and y; bytes */
    int n_stmt, n_buffer;
    stmt s[STMTS];
    buffer b[BUFFERS];
} tape_case;

/* ---- draw.c: choices ------------------------------------------------------------------------------ */
typedef struct draw {
    const uint8_t *data; /* bytes to choose by; NULL: the state */
    size_t len;
    uint64_t state;
} draw;
uint64_t draw_bits(draw *);
int draw_below(draw *, int n); /* 0 to n - 1; 0 at the end of the bytes */

/* ---- generate.c --------------------------------------------------------------------------------------- */
void case_generate(tape_case *, draw *);

/* ---- text.c --------------------------------------------------------------------------------------------- */
enum { CASE_TEXT = 1 << 17 };
size_t case_text(const tape_case *, char *to, size_t size);

/* ---- model.c ----------------------------------------------------------------------------------------------- */
/* Bytes of buffer i, as every run begins. */
size_t case_bytes(const tape_case *, int i);
void case_fill(const tape_case *, int i, void *to);
/* NULL: `memory` is as after the launch. Else why this is no case that must give one result. */
const char *model_run(const tape_case *, void *const *memory);

/* ---- arithmetic.c: an element of the result, in plain C --------------------------------------------------- */
uint64_t element_op(const stmt *, int from, const uint64_t *in); /* from: the type of the operands */

/* ---- run.c --------------------------------------------------------------------------------------------------- */
enum { VERDICT_SAME, VERDICT_DIFFERS, VERDICT_NO_CASE };
/* why: what differs, or why it is no case; at least 1024 bytes. */
int case_check(const tape_case *, char *why, size_t size);
/* Drops what is not needed for a verdict of VERDICT_DIFFERS. */
void case_shrink(tape_case *);
#endif
