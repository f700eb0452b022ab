/* SPDX-License-Identifier: Apache-2.0 */
/* An engine in a folder of its own, for the suites that compile: cache/, an assembler that is a script, what it
 * gives out. So nothing there depends on a toolkit; the compiler is the plug-in that was built beside. */
#ifndef RIG_H
#define RIG_H
#include "tests/rig/faces.h"

void make_root(void); /* a fixture: before and after each test */
void drop_root(void);
const char *in_root(const char *name); /* one of 8 buffers in turn */
void write_file(const char *path, const void *data, size_t len, mode_t);
size_t file_size(const char *path);
int assembled(void); /* runs of the assembler so far */

sett_engine_options options(void);
sett_engine *open_with(const sett_engine_options *);
sett_engine *open_engine(void);
sett_stats stats(const sett_engine *);
sett_cache_layer_info layer(const sett_engine *, int);
/* The text that a body records, for sett_text_free. */
char *tape_of(sett_body, const sett_compile_options *or_null);
void tape_refused(const char *text, sett_status, const char *why); /* why: a part of the message */
/* Lines that a suite puts behind its head of a tape, and how the whole is refused. */
typedef struct wrong_lines { const char *lines; sett_status status; const char *why; } wrong_lines;
void lines_refused(const char *text, const wrong_lines *); /* `text` has the lines; the error says where, too */
bool under_valgrind(void); /* which ends a process that it has no memory for */
bool have_compiler(void); /* tests of what needs the plug-in end early, and say so, where it was not built */

/* A driver that runs nothing (fake_cuda.c) stands in for the real one, in this test's process: engines have two GPUs. What
 * it gives is the result of the next calls that load or wait. NULL: it cannot, and the reason was printed. */
int *fake_driver(void);

typedef struct variant {
    int64_t columns, block; /* columns 0: dynamic. No padding: the memo compares bytes */
    double factor;
} variant;
void scale(sett_build *, const void *variant_or_null); /* Y = factor * X, row by row */
extern const sett_compile_options sm90;                /* of scale */
sett_kernel *compile(sett_engine *, const sett_compile_options *); /* scale */
#endif
