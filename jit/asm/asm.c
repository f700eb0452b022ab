/* SPDX-License-Identifier: Apache-2.0 */
/* One interface over three assemblers. Looked for at the first use, once; then read without a lock. */
#include "inside.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --target asks no Python for its own folder, which Debian's refuses. */
#define GET "pip install --target ~/.sett nvidia-nvjitlink && export SETT_NVJITLINK=$(echo ~/.sett/nvidia/*/lib/libnvJitLink.so.*) (Debian has pip in python3-pip)"

struct sett__asm {
    sett_assembler choice;
    char *want_ptxas, *want_nvjitlink;
    sett__cuda *cuda;
    pthread_mutex_t lock; /* over looking */
    bool looked[SETT_ASM_DRIVER + 1];
    sett__nvjitlink nvjitlink;
    sett__ptxas ptxas;
};

enum { USUAL_LIMIT_MS = 120000 };

/* NULL stays NULL. False: out of memory. */
static bool copy_string(char **to, const char *from)
{
    *to = from ? strdup(from) : NULL;
    return !from || *to;
}

sett_status sett__asm_open(sett__asm **to, const sett__asm_config *config, sett_error *e)
{
    *to = NULL;
    if (config->choice < SETT_ASM_AUTO || config->choice > SETT_ASM_DRIVER)
        return sett__error(e, SETT_E_ARGUMENT, "assembler %d is none of SETT_ASM_*", (int)config->choice);
    sett__asm *a = calloc(1, sizeof *a);
    if (!a || pthread_mutex_init(&a->lock, NULL)) {
        free(a);
        return sett__error(e, SETT_E_MEMORY, "out of memory");
    }
    a->choice = config->choice;
    a->cuda = config->cuda;
    a->ptxas.limit_ms = config->timeout_ms;
    sett_status s = config->timeout_ms ? SETT_OK : sett__environment_number("SETT_JIT_TIMEOUT_MS", &a->ptxas.limit_ms, e);
    if (s) {
        sett__asm_close(a);
        return s;
    }
    if (!a->ptxas.limit_ms)
        a->ptxas.limit_ms = USUAL_LIMIT_MS;
    if (!copy_string(&a->want_ptxas, config->ptxas) || !copy_string(&a->want_nvjitlink, config->nvjitlink)) {
        sett__asm_close(a);
        return sett__error(e, SETT_E_MEMORY, "out of memory");
    }
    *to = a;
    return SETT_OK;
}

void sett__asm_close(sett__asm *a)
{
    if (!a)
        return;
    pthread_mutex_destroy(&a->lock);
    free(a->want_ptxas);
    free(a->want_nvjitlink);
    free(a);
}

/* Looks for one of them if nobody has yet. SETT_OK: it is there; SETT_E_MEMORY: that could not be told. */
static sett_status look(sett__asm *a, sett_assembler which)
{
    sett_status s = SETT_OK;
    pthread_mutex_lock(&a->lock);
    if (!a->looked[which]) {
        if (which == SETT_ASM_NVJITLINK)
            sett__nvjitlink_find(&a->nvjitlink, a->want_nvjitlink);
        if (which == SETT_ASM_PTXAS)
            s = sett__ptxas_find(&a->ptxas, a->want_ptxas);
        a->looked[which] = !s;
    }
    pthread_mutex_unlock(&a->lock);
    bool there = which == SETT_ASM_NVJITLINK ? a->nvjitlink.lib != NULL
                 : which == SETT_ASM_PTXAS   ? a->ptxas.path[0] != 0
                                             : a->cuda != NULL;
    return s || there ? s : SETT_E_NO_ASSEMBLER;
}

static bool have(sett__asm *a, sett_assembler which)
{
    return !look(a, which);
}

static bool chosen(const sett__asm *a, sett_assembler which)
{
    return a->choice == SETT_ASM_AUTO || a->choice == which;
}

/* As META keeps it. */
static void name_one(const sett__asm *a, sett_assembler which, char *to, size_t size)
{
    if (which == SETT_ASM_NVJITLINK)
        snprintf(to, size, "nvJitLink %u.%u", a->nvjitlink.major, a->nvjitlink.minor);
    else if (which == SETT_ASM_PTXAS)
        snprintf(to, size, "ptxas %s", a->ptxas.version);
    else
        snprintf(to, size, "driver-jit %d", sett__cuda_driver_version(a->cuda));
}

static sett_status run_driver(sett__asm *a, const sett__asm_job *job, sett__asm_out *out, sett_error *e)
{
    sett_status s = sett__cuda_link(a->cuda, job, &out->cubin, &out->cubin_len, &out->log, e);
    return s;
}

/* A copy of PTX without its statements setmaxnreg. Who compiles for linking ignores them, and says so of each (C7504). */
static char *without_setmaxnreg(const char *ptx, size_t len)
{
    static const char word[] = "setmaxnreg.";
    char *text = malloc(len + 1);
    if (!text)
        return NULL;
    memcpy(text, ptx, len);
    text[len] = 0;
    for (char *at = text; (at = strstr(at, word)); at += strspn(at, " ")) {
        const char *before = at;
        while (before > text && (before[-1] == ' ' || before[-1] == '\t'))
            before--;
        if (before == text || strchr("\n;{}", before[-1])) /* and not in a comment */
            memset(at, ' ', strcspn(at, ";\n") + (at[strcspn(at, ";\n")] == ';'));
        else
            at += sizeof word - 1;
    }
    return text;
}

static sett_status run_one(
    sett__asm *a, sett_assembler which, const sett__asm_job *job, sett__asm_out *out, sett_error *e)
{
    name_one(a, which, out->identity, sizeof out->identity);
    if (which == SETT_ASM_PTXAS)
        return sett__ptxas_run(&a->ptxas, job, out, e);
    sett__asm_job plain = *job;
    char *text = job->sets_registers ? without_setmaxnreg(job->ptx, job->ptx_len) : NULL;
    if (job->sets_registers && !text)
        return sett__error(e, SETT_E_MEMORY, "%s: out of memory", out->identity);
    plain.ptx = text ? text : job->ptx;
    sett_status s = which == SETT_ASM_NVJITLINK ? sett__nvjitlink_run(&a->nvjitlink, &plain, out, e) : run_driver(a, &plain, out, e);
    free(text);
    return s;
}

static sett_status none_found(const sett__asm *a, sett_error *e)
{
    return sett__error(e, SETT_E_NO_ASSEMBLER,
        "no assembler for PTX. nvJitLink: %.90s; ptxas: %.70s; driver: %s. Get one: " GET ", or the CUDA toolkit (package cuda-nvcc)",
        chosen(a, SETT_ASM_NVJITLINK) ? a->nvjitlink.why : "not chosen", chosen(a, SETT_ASM_PTXAS) ? a->ptxas.why : "not chosen",
        chosen(a, SETT_ASM_DRIVER) ? "no GPU driver here" : "not chosen");
}

static sett_status check_job(const sett__asm_job *job, sett_error *e)
{
    int sm;
    char suffix, why[SETT__TARGET_FAULT];
    const char *given = job->target ? job->target : "";
    if (!job->ptx || !job->ptx_len)
        return sett__error(e, SETT_E_ARGUMENT, "no PTX to assemble");
    if (!job->target || strlen(job->target) > 15 || !sett__target_parse(job->target, &sm, &suffix))
        return sett__error(e, SETT_E_TARGET, "%s", sett__target_fault(given, strlen(given), true, why, sizeof why));
    if (job->opt_level < 0 || job->opt_level > 3)
        return sett__error(e, SETT_E_ARGUMENT, "opt level %d is not in 0 to 3", job->opt_level);
    return SETT_OK;
}

/* The next one is tried after a refusal too: an older library may not know a target that a newer ptxas does. The first
 * refusal is the one told. */
static sett_status run_any(sett__asm *a, const sett__asm_job *job, sett__asm_out *out, sett_error *e)
{
    static const sett_assembler orders[2][3] = {
        {SETT_ASM_NVJITLINK, SETT_ASM_PTXAS, SETT_ASM_DRIVER}, {SETT_ASM_PTXAS, SETT_ASM_NVJITLINK, SETT_ASM_DRIVER}};
    const sett_assembler *order = orders[job->sets_registers];
    sett_status first = SETT_OK;
    for (size_t i = 0; i < SETT__COUNT(orders[0]) && first != SETT_E_MEMORY; i++) {
        sett_status s = chosen(a, order[i]) ? look(a, order[i]) : SETT_E_NO_ASSEMBLER;
        if (s == SETT_E_NO_ASSEMBLER)
            continue;
        s = s ? sett__error(first ? NULL : e, s, "no memory to look for an assembler")
              : run_one(a, order[i], job, out, first ? NULL : e);
        if (!s)
            return SETT_OK;
        sett__asm_out_free(out);
        if (!first)
            first = s;
    }
    return first ? first : none_found(a, e);
}

sett_status sett__assemble(sett__asm *a, const sett__asm_job *job, sett__asm_out *out, sett_error *e)
{
    int saved = errno;
    memset(out, 0, sizeof *out);
    double begin = sett__now_ms();
    sett_status s = check_job(job, e);
    if (!s)
        s = run_any(a, job, out, e);
    if (!s) {
        out->ms = sett__now_ms() - begin;
        sett__asm_trim_log(out->log);
        sett__asm_parse_log(out->log, out);
    }
    errno = saved;
    return s;
}

void sett__asm_out_free(sett__asm_out *out)
{
    free(out->cubin);
    free(out->log);
    memset(out, 0, sizeof *out);
}

void sett__asm_warm(sett__asm *a)
{
    if (a->choice == SETT_ASM_PTXAS || (a->choice == SETT_ASM_AUTO && !have(a, SETT_ASM_NVJITLINK)))
        have(a, SETT_ASM_PTXAS);
    else if (a->choice == SETT_ASM_NVJITLINK)
        have(a, SETT_ASM_NVJITLINK);
}

bool sett__asm_would_use(sett__asm *a, const char *identity)
{
    char own[64];
    for (sett_assembler which = SETT_ASM_NVJITLINK; which <= SETT_ASM_DRIVER; which++) {
        if (!chosen(a, which) || !have(a, which))
            continue;
        name_one(a, which, own, sizeof own);
        if (!strcmp(own, identity))
            return true;
    }
    return false;
}

void sett__asm_describe(sett__asm *a, sett__sink *out)
{
    if (have(a, SETT_ASM_NVJITLINK))
        sett__putf(out, "nvJitLink: %u.%u, %s\n", a->nvjitlink.major, a->nvjitlink.minor, a->nvjitlink.name);
    else
        sett__putf(out, "nvJitLink: none: %s\n", a->nvjitlink.why);
    if (have(a, SETT_ASM_PTXAS))
        sett__putf(out, "ptxas: %s, %s\n", a->ptxas.version, a->ptxas.path);
    else
        sett__putf(out, "ptxas: none: %s\n", a->ptxas.why);
    if (a->cuda)
        sett__putf(out, "driver-jit: %d\n", sett__cuda_driver_version(a->cuda));
    else
        sett__put(out, "driver-jit: none: no GPU driver here\n");
    if (!a->nvjitlink.lib && !a->ptxas.path[0] && !a->cuda)
        sett__put(out, "to get an assembler: " GET "\n");
}
