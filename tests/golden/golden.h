/* SPDX-License-Identifier: Apache-2.0 */
/* The golden runner: results of other systems, a folder a format. golden.c walks folders and
 * counts; golden_layout.c holds the operations; golden_dynamic.c reads run-time results. */
#ifndef SETT_TESTS_GOLDEN_H
#define SETT_TESTS_GOLDEN_H
#include "lib/print/print.h"
#include <sett/engine.h>

enum { MOST_FIELDS = 12, TEXT = 1 << 18 };

typedef struct tally {
    int passed, failed, skipped;
    bool quiet, print_answers;
    struct aside {
        const char *why;
        int n, here; /* in all, and in this file */
    } aside[64]; /* lines that say nothing of us, by rule */
    int mutations;     /* of each line; then none is judged */
    uint64_t seed;
} tally;
void golden_aside(tally *, const char *why); /* a string that stays */

/* One case while it runs: a build whose symbols have known values. */
typedef struct run {
    sett_build *b;
    int n, n_out, n_sym;
    sett_arg in[MOST_FIELDS], out[2];
    const char *text[MOST_FIELDS]; /* the inputs as written */
    int64_t value[256];            /* of each symbol */
    bool unknown[256];
    const char *supply;            /* values for the `?` of a text come from here, in order; NULL: behind each `?` */
    char *spoken;                  /* a result that is a text: tables */
} run;

bool golden_begin(run *r);
void golden_end(run *r);
sett__dynamic_fn golden_dynamic; /* user: the run */
/* Runs op on r->in; false: no such operation. */
bool golden_op(run *r, const char *op);
/* The value that a dynamic leaf has in this run; false: made of an unknown symbol. */
bool golden_eval(run *r, sett_arg leaf, int64_t *out);
/* The same of operations on atoms, whose inputs are names too. */
bool golden_is_atom_op(const char *op);
bool golden_atom_op(run *r, const char *op, char **in, int n);
/* Text of a result without blanks, a dynamic leaf as ?value (marks: ? {..} as traced; plain: the value). */
enum { SHOW_VALUES, SHOW_PLAIN };
void golden_show(run *r, sett_arg a, int how, char *buf, size_t size);
/* Same size and the same value everywhere, both texts static. */
bool golden_same_function(const char *ours, const char *theirs);
/* Ours is static wherever theirs is, and every value agrees. */
bool golden_same_text(const char *ours, const char *theirs);
/* Is `expected` another function than A o B, all of it static? Then to refuse is right as well. */
bool golden_not_composition(const char *a, const char *b, const char *expected);
void golden_layout_line(tally *, const char *file, int line, char **field, int n);
void golden_dynamic_line(tally *, const char *file, int line, char **field, int n);
void golden_value_line(tally *, const char *file, int line, char **field, int n);
void golden_print_line(tally *, const char *file, int line, char **field, int n);
void golden_print_divergent_line(tally *, const char *file, int line, char **field, int n);
void golden_mma_line(tally *, const char *file, int line, char **field, int n); /* golden_mma.c: tensor cores */
void golden_dlpack_line(tally *, const char *file, int line, char **field, int n);
void golden_dlpack_divergent_line(tally *, const char *file, int line, char **field, int n);
/* Two formats have a file of this name: numbers name their type first, layouts their operation. */
void golden_argument_line(tally *, const char *file, int line, char **field, int n);
void golden_ssa_line(tally *, const char *file, int line, char **field, int n);
void golden_right_line(tally *, const char *file, int line, char **field, int n); /* golden_right.c: judged by plain C */
bool golden_is_right_line(char **field, int n);
void golden_ssa_flush(tally *);
sett_engine *golden_engine(void); /* golden_value.c: of the CPU, or where SETT_TEST_GPU is set of GPUs too */
void golden_flush(tally *); /* at the end of each file: runs what waits */
void golden_construct_line(tally *, const char *file, int line, char **field, int n);
/* Information: our answer to field[0..n) and who agrees, against what is written beside the file. */
void golden_answer(tally *, const char *file, int line, char **field, int n, const char *got, const char *who);
void golden_refusal(const char *what, const char *text, char *got, size_t size);
void golden_dynamic_divergent_line(tally *, const char *file, int line, char **field, int n);
void golden_divergent_line(tally *, const char *file, int line, char **field, int n);
void golden_verdict(tally *, bool ok, const char *file, int line, char **field, int n, const char *got);
#endif
