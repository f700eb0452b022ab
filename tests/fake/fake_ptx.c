/* SPDX-License-Identifier: Apache-2.0 */
/* A compiler plug-in that takes a stated time and knows no LLVM, for tests of what lies around compiling. */
#include "lib/print/print.h"
#include "plug/compiler.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

static sett_status compile(const sett__ptx_job *job, sett__ptx_out *out, sett_error *err)
{
    const char *ms = getenv("FAKE_PTX_MS");
    char text[300];
    int n = snprintf(text, sizeof text, ".version 8.0\n.target %s\n.entry %s\n", job->target, job->name);
    long wait = ms ? atol(ms) : 0;
    if (wait)
        nanosleep(&(struct timespec){wait / 1000, wait % 1000 * 1000000}, NULL);
    *out = (sett__ptx_out){.ptx = strdup(text), .ptx_len = (size_t)n, .codegen_level = 2};
    return out->ptx ? SETT_OK : sett__error(err, SETT_E_MEMORY, "no memory for PTX");
}

static void release(sett__ptx_out *out)
{
    free(out->ptx);
}

static const char *failed(void)
{
    return NULL;
}

__attribute__((visibility("default"))) const sett__ptx_plugin *sett_ptx_plugin(void);
const sett__ptx_plugin *sett_ptx_plugin(void)
{
    static const sett__ptx_plugin plugin = {.size = sizeof plugin,
        .abi = SETT__PLUGIN_ABI,
        .codegen_id = SETT__CODEGEN_ID,
        .llvm_version = "0.0",
        .compile = compile,
        .release = release,
        .failed = failed};
    return &plugin;
}
