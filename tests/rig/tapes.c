/* SPDX-License-Identifier: Apache-2.0 */
/* See tapes.h. */
#include "tests/rig/tapes.h"
#include "tests/rig/match.h"
#include "tests/rig/rig.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>

int tape_targets(char to[TAPE_TARGETS][16])
{
    char list[512], suffixes[8];
    int n = 0, sm, used;
    sett__target_list(list, sizeof list); /* "sm_89, sm_90[a], sm_100[a|f]" */
    for (const char *at = list; sscanf(at, "sm_%d%n", &sm, &used) == 1; at += strspn(at, ", ")) {
        snprintf(to[n++], 16, "sm_%d", sm);
        at += used;
        used = 0;
        if (sscanf(at, "[%7[^]]]%n", suffixes, &used) == 1)
            for (const char *s = suffixes; *s; s++)
                if (*s != '|')
                    snprintf(to[n++], 16, "sm_%d%c", sm, *s);
        at += used;
    }
    ck_assert(n > 20 && n <= TAPE_TARGETS);
    return n;
}

sett_engine *tapes_engine(void)
{
    const sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true};
    sett_error err = {0};
    sett_engine *e;
    ck_assert_msg(!sett_engine_open(&e, &eo, &err), "%s", err.text);
    return e;
}

sett_status tape_compiled(sett_engine *e, const char *text, const char *target, sett_kernel **k, sett_error *err)
{
    sett_compile_options o = {.size = sizeof o, .target = target};
    sett_status s = sett_compile_tape(e, text, strlen(text), &o, k, err);
    o.ptx_only = s == SETT_E_NO_ASSEMBLER;
    return o.ptx_only ? sett_compile_tape(e, text, strlen(text), &o, k, err) : s;
}

void tape_gives(sett_engine *e, const char *text, const char *target, const char *checks)
{
    sett_kernel_info info = {.size = sizeof info};
    sett_error err = {0};
    sett_kernel *k;
    ck_assert_msg(!tape_compiled(e, text, target, &k, &err), "%s: %s\n%.2000s", target, err.text, text);
    ck_assert_int_eq(sett_kernel_query(k, &info), SETT_OK);
    char *bad = match(info.ptx, checks);
    ck_assert_msg(!bad, "%s: %s\n%.2000s", target, bad, info.ptx);
    sett_kernel_release(k);
}

void tape_comes_back(const char *text)
{
    sett__tape t, u;
    sett_error err = {0};
    char *a, *b;
    void *bytes;
    size_t len;
    ck_assert_msg(!sett__tape_parse(&t, text, &err), "%s", err.text);
    ck_assert(!sett__tape_print(&t, false, NULL, &a, &err) && !sett__tape_write(&t, false, NULL, &bytes, &len, &err));
    ck_assert_msg(!sett__tape_read(&u, bytes, len, &err), "%s", err.text);
    ck_assert(!sett__tape_print(&u, false, NULL, &b, &err));
    ck_assert_str_eq(a, b);
    sett__tape_free(&u);
    ck_assert_msg(!sett__tape_parse(&u, a, &err), "%s\n%.2000s", err.text, a);
    free(a), free(b), free(bytes);
    sett__tape_free(&t), sett__tape_free(&u);
}

char *tape_file(const char *name)
{
    FILE *f = fopen(name, "rb");
    ck_assert_msg(f != NULL && !fseek(f, 0, SEEK_END), "%s", name);
    const long size = ftell(f);
    char *text = malloc((size_t)size + 1);
    ck_assert_ptr_nonnull(text);
    rewind(f);
    text[fread(text, 1, (size_t)size, f)] = 0;
    fclose(f);
    return text;
}
