/* SPDX-License-Identifier: Apache-2.0 */
/* Whose PTX an assembler refuses: it names a line of the PTX, the code generator has marked what a user wrote there, and the
 * tape knows the line of C. */
#include "compile.h"
#include "lib/tape/ops.h"
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

/* A brace that is never closed is missed at the end of the function only: the first text that lacks one. */
static uint32_t op_unclosed(const sett__tape *t)
{
    for (uint32_t i = 0; i < t->n_op; i++) {
        int open = 0;
        if (sett__ops[t->op[i].code].cls != SETT__C_INLINE)
            continue;
        for (const char *s = t->string[t->op[i].imm]; *s; s++)
            open += (*s == '{') - (*s == '}');
        if (open)
            return i;
    }
    return SETT__NONE;
}

void sett__blame(const sett__tape *t, const char *ptx, sett_error *err)
{
    const char *at = strstr(err->text, " line ");
    char title[200];
    uint32_t op = at ? op_at(ptx, strtoul(at + 6, NULL, 10)) : SETT__NONE;
    op = op == SETT__NONE ? op_unclosed(t) : op;
    const sett__site_ref *s = op < t->n_op && t->op[op].site < t->n_site ? &t->site[t->op[op].site] : NULL;
    if (!s || sett__ops[t->op[op].code].cls != SETT__C_INLINE)
        return;
    sett__op_title(t, op, title, sizeof title);
    sett_error why = *err;
    sett__error(err, why.status, "%.120s:%u: %s: %s", t->string[s->file], s->line, title, why.text);
}
