/* SPDX-License-Identifier: Apache-2.0 */
/* Call sites of the ops as `.loc` directives, which profilers and sanitizers map back to the
 * C line that recorded an op. Only with line_info, and only if the tape carries sites. */
#include "ptx.h"
#include <stdlib.h>
#include <string.h>

/* The folder and the name of a path, as DIFile wants them. */
static LLVMMetadataRef file_of(sett__lower *l, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t dir = slash ? (size_t)(slash - path) : 0;
    return LLVMDIBuilderCreateFile(l->di, name, strlen(name), dir ? path : ".", dir ? dir : 1);
}

static void module_flag(sett__lower *l, const char *name, uint64_t value)
{
    LLVMMetadataRef v = LLVMValueAsMetadata(sett__ir_int(l->i32, value));
    LLVMAddModuleFlag(l->module, LLVMModuleFlagBehaviorWarning, name, strlen(name), v);
}

void sett__debug_begin(sett__lower *l)
{
    const sett__tape *t = l->tape;
    if (!l->lines || !t->n_site)
        return;
    l->scope = (LLVMMetadataRef *)calloc(t->n_string + 1u, sizeof(*l->scope));
    if (!l->scope) {
        sett__lower_fail(l, SETT_E_MEMORY, "out of memory");
        return;
    }
    l->di = LLVMCreateDIBuilder(l->module);
    module_flag(l, "Debug Info Version", LLVMDebugMetadataVersion());
    LLVMMetadataRef file = file_of(l, t->string[t->site[0].file]);
    LLVMDIBuilderCreateCompileUnit(l->di, LLVMDWARFSourceLanguageC11, file, "sett", 4, 1, "", 0, 0, "", 0,
        SETT__DEBUG_DIRECTIVES, 0, 0, 0, "", 0, "", 0);
    LLVMMetadataRef type = LLVMDIBuilderCreateSubroutineType(l->di, file, NULL, 0, LLVMDIFlagZero);
    l->sub = LLVMDIBuilderCreateFunction(l->di, file, l->name, strlen(l->name), "", 0, file, t->site[0].line, type, 0,
        1, t->site[0].line, LLVMDIFlagZero, 1);
    LLVMSetSubprogram(l->fn, l->sub);
    l->scope[t->site[0].file] = l->sub;
}

void sett__debug_at(sett__lower *l, uint32_t site)
{
    if (!l->di)
        return;
    if (site >= l->tape->n_site) { /* calls in a function with a subprogram must have a place */
        LLVMSetCurrentDebugLocation2(l->b, LLVMDIBuilderCreateDebugLocation(l->ctx, 0, 0, l->sub, NULL));
        return;
    }
    const sett__site_ref *s = &l->tape->site[site];
    LLVMMetadataRef *scope = &l->scope[s->file];
    if (!*scope)
        *scope = LLVMDIBuilderCreateLexicalBlockFile(l->di, l->sub, file_of(l, l->tape->string[s->file]), 0);
    LLVMSetCurrentDebugLocation2(l->b, LLVMDIBuilderCreateDebugLocation(l->ctx, s->line, 0, *scope, NULL));
}

void sett__debug_end(sett__lower *l)
{
    if (l->di) {
        LLVMDIBuilderFinalize(l->di);
        LLVMDisposeDIBuilder(l->di);
    }
    free(l->scope);
    l->di = NULL;
    l->scope = NULL;
}
