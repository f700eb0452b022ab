/* SPDX-License-Identifier: Apache-2.0 */
/* When events happen, as options and environment name it. */
#include "jit/sim/sim.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool sett__async_parse(sett__async *to, const char *text)
{
    static const char random[] = "random:";
    const char *digits = text + sizeof random - 1;
    char *end;
    *to = (sett__async){.policy = SETT__ASYNC_LAZY};
    if (!strcmp(text, "lazy"))
        return true;
    to->policy = SETT__ASYNC_EAGER;
    if (!strcmp(text, "eager"))
        return true;
    to->policy = SETT__ASYNC_SYSTEMATIC;
    if (!strcmp(text, "systematic"))
        return true;
    to->policy = SETT__ASYNC_RANDOM;
    if (strncmp(text, random, sizeof random - 1) || *digits < '0' || *digits > '9')
        return false;
    errno = 0;
    to->seed = strtoull(digits, &end, 10);
    return !*end && !errno;
}
