/* SPDX-License-Identifier: Apache-2.0 */
/* Whose PTX an assembler refuses: it names a line of the PTX, the code generator has marked what a user wrote there, and the
 * tape knows the line of C. */
#include "jit.h"
#include <stdlib.h>
#include <string.h>

/* The op whose text the line (from 1) is in; SETT__NONE: none. */
static uint32_t op_at(const char *ptx, unsigned long line)
{
    uint32_t op = SETT__NONE;
    for (unsigned long n = 1; *ptx && n <= line; n++) {
        size_t len = strcspn(ptx, "\n");
        const char *text = ptx + strspn(ptx, " \t");
        if (!strncmp(text, SETT__INLINE_MARK, strlen(SETT__INLINE_MARK)))
            op = (uint32_t)strtoul(text + strlen(SETT__INLINE_MARK), NULL, 10);
        else if (n < line && !strncmp(text, "// end inline asm", 17))
            op = SETT__NONE;
        ptx += len + (ptx[len] == '\n');
    }
    return op;
}

void sett__blame(const sett__tape *t, const char *ptx, sett_error *err)
{
    const char *at = strstr(err->text, " line ");
    uint32_t op = at ? op_at(ptx, strtoul(at + 6, NULL, 10)) : SETT__NONE;
    const sett__site_ref *s = op < t->n_op && t->op[op].site < t->n_site ? &t->site[t->op[op].site] : NULL;
    if (!s || sett__ops[t->op[op].code].cls != SETT__C_INLINE)
        return;
    sett_error why = *err;
    sett__error(err, why.status, "%.200s:%u: sett_inline_ptx: %s", t->string[s->file], s->line, why.text);
}
