/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of a target's name that is none, and whose code a device runs: apart from target.c, whose bytes decide what is compiled. */
#include "tape.h"
#include <stdio.h>
#include <string.h>

static int at_most(size_t n, int most)
{
    return n < (size_t)most ? (int)n : most;
}

const char *sett__target_fault(const char *text, size_t len, bool compiled, char *buf, size_t size)
{
    char known[240];
    size_t left = strcspn(text, " \t"), right = left + strspn(text + left, " \t");
    if (left && right < len)
        snprintf(buf, size, "\"%.*s\": a comma is missing between %.*s and %.*s", at_most(len, 60), text, at_most(left, 20), text,
            at_most(len - right, 20), text + right);
    else
        snprintf(buf, size, "\"%.*s\" is no target%s: they are %s%s", at_most(len, 60), text, compiled ? "" : " that is cached",
            compiled ? "cpu, " : "", sett__target_list(known, sizeof known));
    return buf;
}

bool sett__target_runs(const char *made_for, const char *device)
{
    int sm, dev;
    char suffix, dev_suffix;
    if (!strcmp(made_for, device))
        return true;
    if (!sett__target_parse(made_for, &sm, &suffix) || !sett__target_parse(device, &dev, &dev_suffix))
        return false;
    if (suffix == 'a')
        return sm == dev;
    return sm / 10 == dev / 10 && sm <= dev;
}
