/* SPDX-License-Identifier: Apache-2.0 */
/* Every kernel feature on the CPU engine and, with SETT_TEST_GPU=1, on GPU 0, by the same tests: see conform.h. */
#include "tests/conform/conform.h"

Suite *conform_suite(void)
{
    static const struct { const char *name; void (*add)(TCase *); } parts[] = {
        {"values", conform_add_values}, {"program", conform_add_program},
        {"ops", conform_add_ops}, {"control", conform_add_control}, {"memory", conform_add_memory}, {"lanes", conform_add_lanes},
        {"random", conform_add_random}, {"narrow", conform_add_narrow}, {"mark", conform_add_mark},
        {"async", conform_add_async}, {"arch", conform_add_arch}, {"atoms", conform_add_atoms}, {"bits", conform_add_bits}, {"assert", conform_add_assert},
        {"print", conform_add_print}, {"wide", conform_add_wide}, {"struct", conform_add_struct}, {"packed", conform_add_packed},
        {"divmod", conform_add_divmod}, {"inline", conform_add_inline}, {"atomic", conform_add_atomic},
    };
    Suite *s = suite_create("conform");
    for (size_t i = 0; i < SETT__COUNT(parts); i++) {
        TCase *t = tcase_create(parts[i].name);
        tcase_set_timeout(t, 300);
        parts[i].add(t);
        suite_add_tcase(s, t);
    }
    return s;
}
