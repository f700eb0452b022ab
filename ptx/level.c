/* SPDX-License-Identifier: Apache-2.0 */
/* How hard LLVM works on a kernel. */
#include "ptx.h"
#include <string.h>

/* Measured on one core, codegen level 2: n accesses at n run-time offsets 39 ms for n = 50, 209 ms
 * for 125, 1.7 s for 800 (straight-line strength reduction, by dominance, so across regions too); n
 * at one 25 ms for 400, 48 ms for 600, 162 ms for 1000 (load and store vectorizer); arithmetic 24 ms
 * for 4500 ops, 121 ms for 15000. At level 0, in blocks of BLOCK_OPS, all are linear: 10^4 accesses
 * 75 to 120 ms. */
enum { MANY_OFFSETS = 64, MANY_ACCESSES = 512, MANY_OPS = 8192 };

int sett__codegen_level(const sett__tape *t)
{
    uint32_t offsets = 0, accesses = 0;
    bool products = false; /* at level 0 an assembler runs them one after another */
    bool *seen = (bool *)sett__mem_alloc(NULL, t->n_op + 1u);
    if (!seen)
        return -1; /* no guess: the code is kept under its key for good */
    memset(seen, 0, t->n_op + 1u);
    for (uint32_t i = 0; i < t->n_op; i++) {
        const sett__op *op = &t->op[i];
        int cls = sett__ops[op->code].cls;
        products |= op->code == SETT__MMA || op->code == SETT__WGMMA;
        if (cls != SETT__C_LOAD && cls != SETT__C_STORE && cls != SETT__C_ATOM && cls != SETT__C_CPASYNC)
            continue;
        uint32_t base = t->arg[op->args + 1];
        accesses++;
        if (base == SETT__NONE || seen[base])
            continue;
        offsets++;
        seen[base] = true;
    }
    sett__mem_free(NULL, seen);
    return !products && (offsets > MANY_OFFSETS || accesses > MANY_ACCESSES || t->n_op > MANY_OPS) ? 0 : 2;
}
