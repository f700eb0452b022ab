/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/rig/planned.h"
#include <check.h>
#include <string.h>

sett_status bind_beside(const sett__sig *sig, const char *name, int n, const sett_launch_arg *arg, bool gpu, sett__bound *out,
    sett__extent *extents, sett_error *err)
{
    static sett__bound want;
    static sett__extent got_extent[SETT__MAX_ARGS], want_extent[SETT__MAX_ARGS];
    sett_error why = {0}, text = {0};
    sett__arena a = {0};
    const sett__plan *p = sett__plan_make(&a, sig, name, gpu);
    ck_assert_ptr_nonnull(p);
    memset(out, 0xAA, sizeof *out);
    sett_status s = sett__bind(p, n, arg, out, extents ? extents : NULL, &text);
    const sett_status should = reference_bind(sig, name, n, arg, gpu, &want, want_extent, &why);
    ck_assert_msg(s == should && !strcmp(text.text, why.text), "%d \"%s\", and the reference %d \"%s\"", s, text.text, should, why.text);
    if (!s) {
        ck_assert(out->empty == want.empty && out->params_len == want.params_len);
        ck_assert_mem_eq(out->params, want.params, want.params_len);
        ck_assert_mem_eq(&out->dims, &want.dims, sizeof want.dims);
        ck_assert(!sett__bind(p, n, arg, &want, got_extent, &text));
        for (uint32_t i = 0; i < sig->n_param; i++)
            ck_assert(got_extent[i].data == want_extent[i].data && got_extent[i].bytes == want_extent[i].bytes);
    }
    if (err)
        *err = text;
    sett__arena_free(&a);
    return s;
}
