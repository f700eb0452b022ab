/* SPDX-License-Identifier: Apache-2.0 */
/* What an assembler says. nvJitLink, ptxas and the driver share one format:
 *
 *     ptxas info    : Function properties for add
 *         0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
 *     ptxas info    : Used 24 registers, used 1 barriers, 4096 bytes smem, 400 bytes cmem[0]
 *     ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized ... */
#include "inside.h"
#include <ctype.h>
#include <string.h>

/* The decimal number that ends just before `at`, or -1. */
static long number_before(const char *line, const char *at)
{
    while (at > line && at[-1] == ' ')
        at--;
    const char *end = at;
    while (at > line && isdigit((unsigned char)at[-1]))
        at--;
    if (at == end || end - at > 9)
        return -1;
    long n = 0;
    for (; at < end; at++)
        n = n * 10 + (*at - '0');
    return n;
}

/* Several functions (a kernel and what it calls) share a log: a register count is the largest of them. */
static void largest(const char *line, const char *word, int *to)
{
    const char *at = strstr(line, word);
    long n = at ? number_before(line, at) : -1;
    if (n > *to)
        *to = (int)n;
}

static void total(const char *line, const char *word, int *to)
{
    const char *at = strstr(line, word);
    long n = at ? number_before(line, at) : -1;
    if (n >= 0 && n < INT_MAX / 2 && *to < INT_MAX / 2)
        *to = (*to < 0 ? 0 : *to) + (int)n;
}

static void parse_line(const char *line, sett__asm_out *out)
{
    const char *code = strstr(line, "(C75");
    if ((code && isdigit((unsigned char)code[4]) && isdigit((unsigned char)code[5])) ||
        (strstr(line, "wgmma") && strstr(line, "serialized")))
        out->serialized = true;
    if (strstr(line, "Used ")) {
        largest(line, " registers", &out->registers);
        largest(line, " bytes smem", &out->smem);
        if (out->smem < 0)
            out->smem = 0; /* it is named only when there is some */
    }
    largest(line, " bytes stack frame", &out->stack);
    total(line, " bytes spill stores", &out->spill_stores);
    total(line, " bytes spill loads", &out->spill_loads);
}

void sett__asm_parse_log(const char *log, sett__asm_out *out)
{
    char line[512];
    out->registers = out->spill_stores = out->spill_loads = out->stack = out->smem = -1;
    out->serialized = false;
    while (log && *log) {
        size_t len = strcspn(log, "\n");
        snprintf(line, sizeof line, "%.*s", (int)(len < sizeof line ? len : sizeof line - 1), log);
        parse_line(line, out);
        log += len + (log[len] == '\n');
    }
}

/* The compile time differs from run to run, and the log goes into the cache: equal code, equal entries. */
void sett__asm_trim_log(char *log)
{
    char *at = strstr(log, "Compile time");
    while (at) {
        char *end = at + strcspn(at, "\n");
        while (at > log && at[-1] != '\n')
            at--;
        memmove(at, end + (*end == '\n'), strlen(end + (*end == '\n')) + 1);
        at = strstr(at, "Compile time");
    }
}

/* The first line that names an error, else the log's beginning. */
static const char *first_error(const char *log)
{
    const char *at = strstr(log, "error"), *fatal = strstr(log, "fatal");
    if (!at || (fatal && fatal < at))
        at = fatal;
    if (!at)
        return log;
    while (at > log && at[-1] != '\n')
        at--;
    return at;
}

sett_status sett__asm_refused(sett_error *e, const char *who, const sett__asm_job *job, const char *log)
{
    const char *at = first_error(log);
    size_t len = strlen(at);
    while (len && isspace((unsigned char)at[len - 1]))
        len--;
    return sett__error(
        e, SETT_E_ASSEMBLE, "%s refuses the PTX for %s: %.*s", who, job->target, (int)(len < 400 ? len : 400), at);
}
