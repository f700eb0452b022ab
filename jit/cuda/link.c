/* SPDX-License-Identifier: Apache-2.0 */
/* PTX to cubin by the driver's own assembler: the last resort on a machine with a GPU and no toolkit. */
#include "inside.h"
#include <stdlib.h>
#include <string.h>

enum { LOG_SIZE = 1 << 16 };

typedef struct job {
    sett__cu option[10];
    void *value[10];
    unsigned n;
    char *info, *error; /* LOG_SIZE each */
} job;

/* Numbers travel in the pointer itself. */
static void add(job *j, sett__cu option, uintptr_t value)
{
    j->option[j->n] = option;
    j->value[j->n++] = (void *)value;
}

/* CUjit_target: 90, with a base for the suffix. */
static uintptr_t target_number(const char *target)
{
    int sm = 0;
    char suffix = 0;
    sett__target_parse(target, &sm, &suffix);
    return (uintptr_t)sm + (suffix == 'a' ? 0x10000u : suffix == 'f' ? 0x20000u : 0u);
}

static void set_options(job *j, const sett__asm_job *a)
{
    add(j, SETT__CU_JIT_INFO, (uintptr_t)j->info);
    add(j, SETT__CU_JIT_INFO_SIZE, LOG_SIZE - 1);
    add(j, SETT__CU_JIT_ERROR, (uintptr_t)j->error);
    add(j, SETT__CU_JIT_ERROR_SIZE, LOG_SIZE - 1);
    add(j, SETT__CU_JIT_LEVEL, (uintptr_t)a->opt_level);
    add(j, SETT__CU_JIT_TARGET, target_number(a->target));
    add(j, SETT__CU_JIT_VERBOSE, 1);
    if (a->line_info)
        add(j, SETT__CU_JIT_LINES, 1);
}

/* The driver owns what complete gives, until the link is destroyed. */
static sett_status copy_out(const void *from, size_t len, void **cubin, size_t *cubin_len, sett_error *e)
{
    *cubin = malloc(len ? len : 1);
    if (!*cubin)
        return sett__error(e, SETT_E_MEMORY, "the driver's assembler: out of memory");
    memcpy(*cubin, from, len);
    *cubin_len = len;
    return SETT_OK;
}

static sett_status link_text(
    sett__cuda *c, job *j, const sett__asm_job *a, char *text, void **cubin, size_t *cubin_len, sett_error *e)
{
    sett__cu_handle state = NULL;
    void *made = NULL;
    size_t len = 0;
    sett__cu r = c->link_create(j->n, j->option, j->value, &state);
    if (r)
        return sett__cuda_error(c, r, "cuLinkCreate", e);
    r = c->link_add(state, SETT__CU_INPUT_PTX, text, a->ptx_len + 1, "sett", 0, NULL, NULL);
    if (!r)
        r = c->link_complete(state, &made, &len);
    sett_status s;
    if (!r)
        s = copy_out(made, len, cubin, cubin_len, e);
    else if (j->error[0])
        s = sett__error(e, SETT_E_ASSEMBLE, "the driver refuses the PTX for %s: %.400s", a->target, j->error);
    else
        s = sett__cuda_error(c, r, "cuLinkComplete", e);
    c->link_destroy(state);
    return s;
}

/* A link needs a context, though not one of the target's device. */
static sett_status with_context(
    sett__cuda *c, job *j, const sett__asm_job *a, char *text, void **cubin, size_t *len, sett_error *e)
{
    sett__entered in;
    sett_status s = sett__cuda_enter(c, 0, &in, e);
    if (!s)
        s = link_text(c, j, a, text, cubin, len, e);
    sett__cuda_leave(c, &in);
    return s;
}

sett_status sett__cuda_link(
    sett__cuda *c, const sett__asm_job *a, void **cubin, size_t *cubin_len, char **log, sett_error *e)
{
    *cubin = NULL;
    *log = NULL;
    *cubin_len = 0;
    if (!c->link_create)
        return sett__error(e, SETT_E_NO_ASSEMBLER, "the CUDA driver has no cuLinkCreate");
    job j = {.info = calloc(1, LOG_SIZE), .error = calloc(1, LOG_SIZE)};
    char *text = malloc(a->ptx_len + 1);
    sett_status s;
    if (j.info && j.error && text) {
        memcpy(text, a->ptx, a->ptx_len);
        text[a->ptx_len] = 0;
        set_options(&j, a);
        s = with_context(c, &j, a, text, cubin, cubin_len, e);
    } else {
        s = sett__error(e, SETT_E_MEMORY, "the driver's assembler: out of memory");
    }
    if (!s) {
        *log = j.info;
        j.info = NULL;
    }
    free(text);
    free(j.info);
    free(j.error);
    return s;
}
