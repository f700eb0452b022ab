/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices by programs that are independent of the library's tables: PTX as text, whose threads take their operands
 * from plain matrices by addresses computed by hand, from the PTX manual's figures of fragments. */
#ifndef SETT_TESTS_HAND_H
#define SETT_TESTS_HAND_H
#include "tests/rig/faces.h"

enum { HAND_TEXT = 1 << 17 };
/* What a name says: "m16n8k16.f32.bf16.bf16.f32" of mma.sync; "m64nNk16.f32.bf16.bf16", and n, of wgmma. */
typedef struct hand {
    int m, n, k, threads;
    int a_bytes, c_bytes; /* of an element; B has that of A, D that of C */
    char ptx[64];         /* the name as PTX has it */
} hand;
hand hand_of(const char *row, int n);
/* The program. A is m x k row by row, B n x k (each column's k together), C and D m x n row by row; block i has the i-th of each. */
void hand_write(const hand *, char ptx[HAND_TEXT]);
/* From its text: the byte of matrix `which`, 'a' to 'c', where register r of a thread comes from; -1: there is no such register. */
int hand_byte(const char *ptx, char which, int thread, int r);
/* Assembles it for sm_90a. False: there is no assembler here. */
bool hand_assembles(const char *ptx);
/* Runs it on GPU 0 with so many problems of each matrix. */
void hand_run(const hand *, int problems, const void *a, const void *b, const void *c, void *d);

#endif
