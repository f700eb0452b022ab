/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's results as ours. */
#include "inside.h"
#include <string.h>

static const struct {
    short from, to; /* CUresults, inclusive */
    sett_status status;
    const char *advice;
} table[] = {
    {2, 2, SETT_E_MEMORY, ""},
    {4, 4, SETT_E_DRIVER, "; the process is ending"},
    {100, 101, SETT_E_NO_DEVICE, ""},
    {209, 209, SETT_E_TARGET, "; the code is for another device"},
    {222, 223, SETT_E_TARGET, "; the driver is older than the code"},
    {226, 226, SETT_E_FAULT, "; the process must be restarted"},
    {700, 700, SETT_E_FAULT, "; a kernel touched memory that is not its own; the process must be restarted"},
    {701, 701, SETT_E_LIMIT, "; the block needs more registers or shared memory than the device has"},
    {702, 702, SETT_E_FAULT, "; the process must be restarted"},
    {710, 710, SETT_E_FAULT, "; an assert in a kernel failed"},
    {714, 719, SETT_E_FAULT, "; the process must be restarted"},
    {721, 721, SETT_E_FAULT, "; the process must be restarted"},
    {810, 810, SETT_E_FAULT, "; the process must be restarted"},
    {900, 908, SETT_E_CAPTURING, ""},
    {911, 911, SETT_E_FAULT, "; the process must be restarted"},
};

/* Nothing helps but to end the process (cuda.h says so of each): what comes later is told the first of them. Cache
 * entries have no part in it. */
static bool latch(sett__cuda *c, sett__cu r, const char *advice)
{
    int none = 0;
    return strstr(advice, "restarted") && atomic_compare_exchange_strong(&c->fault, &none, r);
}

sett_status sett__cuda_error(sett__cuda *c, sett__cu r, const char *what, sett_error *e)
{
    if (!r)
        return SETT_OK;
    const char *name = NULL, *text = NULL, *advice = "";
    sett_status status = SETT_E_DRIVER;
    c->error_name(r, &name);
    c->error_string(r, &text);
    for (size_t i = 0; i < SETT__COUNT(table); i++)
        if (r >= table[i].from && r <= table[i].to) {
            status = table[i].status;
            advice = table[i].advice;
        }
    sett_error own;
    e = e ? e : &own;
    sett__error(e, status, "%s: %s (%d): %s%s", what, name ? name : "CUDA error", r, text ? text : "unknown", advice);
    if (latch(c, r, advice))
        sett__say(c->log, SETT_LOG_ERROR, "cuda", "%s", e->text);
    return status;
}
