/* SPDX-License-Identifier: Apache-2.0 */
#include "golden.h"
void golden_dynamic_line(tally *t, const char *file, int line, char **field, int n)
{
    (void)file; (void)line; (void)field; (void)n;
    t->skipped++;
}
