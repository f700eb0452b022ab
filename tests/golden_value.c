/* SPDX-License-Identifier: Apache-2.0 */
/* Scalars and TensorSSA: each line with folding and without. */
#include "golden_value.h"
#include "golden.h"

void golden_value_line(tally *t, const char *file, int line, char **field, int n)
{
    char got[1024];
    int verdict = value_case(file, field, n, false, got, sizeof got);
    if (verdict == CASE_OK)
        verdict = value_case(file, field, n, true, got, sizeof got);
    if (verdict == CASE_SKIPPED)
        t->skipped++;
    else
        golden_verdict(t, verdict == CASE_OK, file, line, field, n, got);
}

void golden_construct_line(tally *t, const char *file, int line, char **field, int n)
{
    (isupper((unsigned char)field[0][0]) ? golden_value_line : golden_layout_line)(t, file, line, field, n);
}
