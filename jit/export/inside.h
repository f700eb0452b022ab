/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that write an export share. */
#ifndef SETT_JIT_EXPORT_H
#define SETT_JIT_EXPORT_H
#include "export.h"
#include <sett/export.h>

enum { SETT__EXPORT_NAME = 64 };
typedef struct sett__export_item { /* one kernel for one target */
    const char *function;
    const sett_kernel *kernel;
    int first;                     /* the first item of this function */
} sett__export_item;
typedef struct sett__export {
    char name[SETT__EXPORT_NAME + 1], upper[SETT__EXPORT_NAME + 1]; /* what names begin with: of functions and types; of constants */
    int n;
    bool tvm_ffi;
    sett__export_item *item;
    sett__sink header, source;
} sett__export;
static inline const sett__sig *sett__export_sig(const sett__export *x, int i)
{
    return x->item[i].kernel->plan->sig;
}

/* ---- text.c ------------------------------------------------------------------------------------------------------ */
/* Puts C that calls what it names sett_x and SETT_X, under the names of the export. In strings only sett_prepare changes. */
void sett__export_put(const sett__export *, sett__sink *, const char *c, size_t len);
void sett__export_putf(const sett__export *, sett__sink *, const char *format, ...) SETT_PRINTF(3, 4);
enum { SETT__EXPORT_WORD = 80 };
/* A name of the kernel's as one of C and C++, for a parameter in the header. */
const char *sett__export_word(const sett__export *, const char *name, char word[SETT__EXPORT_WORD]);
bool sett__export_keyword(const char *);

/* ---- data.c: what a launch must know of item i, as C: codes of the function f and this target ---------------------- */
void sett__export_data(sett__export *, int i);

/* ---- function.c: a function for all items whose first is i ------------------------------------------------------------ */
sett_status sett__export_check(const sett__export *, int i, sett_error *);
void sett__export_function(sett__export *, int i);

#endif
