/* SPDX-License-Identifier: Apache-2.0 */
/* A number of bytes as people write it. */
#include "tools.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool size_parse(const char *text, uint64_t *bytes)
{
    const char *units = "KMGT", *unit;
    char *end;
    if (!isdigit((unsigned char)*text))
        return false;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    int shift = *end && (unit = strchr(units, toupper((unsigned char)*end))) ? 10 * (int)(unit - units + 1) : 0;
    if (errno || end[shift != 0] || (shift && n >> (64 - shift)))
        return false;
    *bytes = (uint64_t)n << shift;
    return true;
}
