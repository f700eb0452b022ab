/* SPDX-License-Identifier: Apache-2.0 */
/* Models in manifests: a line gives the kernels that the file's blocks would give, written out; and what is wrong is told by file and line. */
#include "tests/rig/rig.h"
#include "tests/rig/suite.h"
#include <sett/warm.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *write_text(const char *name, const char *text)
{
    char out[8192], object[PATH_MAX];
    size_t at = 0;
    const ssize_t n = readlink("/proc/self/exe", object, sizeof object - 1);
    object[n > 0 ? n : 0] = 0;
    strcpy(strrchr(object, '/'), "/test-family.so");
    for (const char *p = text; *p;) { /* FAMILY stands for the object */
        const bool here = !strncmp(p, "FAMILY", 6);
        at += (size_t)snprintf(out + at, sizeof out - at, "%.*s", here ? 4000 : 1, here ? object : p);
        p += here ? 6 : 1;
    }
    write_file(in_root(name), out, at, 0600);
    return in_root(name);
}

enum { MOST = 32 };
typedef struct heard {
    int n;
    char params[MOST][96], target[MOST][16];
} heard;

static bool hear(void *user, const sett_warm_event *e)
{
    heard *h = user;
    ck_assert_int_lt(h->n, MOST);
    snprintf(h->params[h->n], sizeof *h->params, "%s", e->params);
    snprintf(h->target[h->n], sizeof *h->target, "%s", e->target);
    h->n++;
    return true;
}

static sett_status keys(const char *manifest, heard *h, sett_error *err)
{
    const sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true};
    const sett_warm_options o = {.size = sizeof o, .targets = "sm_80"};
    sett_engine *e = open_with(&eo);
    *h = (heard){0};
    const sett_status s = sett_family_keys(e, write_text("k.warm", manifest), &o, hear, h, err);
    sett_engine_close(e);
    return s;
}

static void check_same(const char *manifest, const char *written_out)
{
    heard got, want;
    sett_error err = {0};
    ck_assert_msg(!keys(written_out, &want, &err), "%s", err.text);
    ck_assert_msg(!keys(manifest, &got, &err), "%s", err.text);
    ck_assert_int_eq(got.n, want.n);
    for (int i = 0; i < got.n; i++) {
        ck_assert_str_eq(got.params[i], want.params[i]);
        ck_assert_str_eq(got.target[i], want.target[i]);
    }
}

START_TEST(a_line_is_its_blocks)
{
    write_text("m.model", "wide = 24   # of a row\nwords = 2, 3\nparts = 1\ntypes = f32\n"
                          "twice = $(2 * wide)\ninclude rest.model\n");
    write_text("rest.model", "parts = 7 # the model says it already\nmore = 5\n"
                             "family FAMILY defaults_family\n    columns = $(wide / parts + (3 - 1) * 2)\n    more = $words\n    dtype = $types\n"
                             "family FAMILY defaults_family # a row has two parts\n    when parts - 1\n    columns = $twice\n"
                             "family FAMILY defaults_family\n    when types has f16\n    factor = $more\n    dtype = f16\n");
    check_same("model m\n", "family FAMILY defaults_family\ncolumns = 28\nmore = 2, 3\ndtype = f32\n");
    check_same("model m.model wide=48 parts=2 types=f16,f32 targets=sm_90a,sm_80\n",
        "family FAMILY defaults_family\n.targets = sm_90a,sm_80\ncolumns = 28\nmore = 2, 3\ndtype = f16, f32\n"
        "family FAMILY defaults_family\n.targets = sm_90a,sm_80\ncolumns = 96\n"
        "family FAMILY defaults_family\n.targets = sm_90a,sm_80\nfactor = 5\ndtype = f16\n");
    check_same("family FAMILY defaults_family\ncolumns = 9\nmodel ./m words=4\nfamily FAMILY defaults_family\ncolumns = 8\n",
        "family FAMILY defaults_family\ncolumns = 9\nfamily FAMILY defaults_family\ncolumns = 28\nmore = 4\ndtype = f32\nfamily FAMILY defaults_family\ncolumns = 8\n");
}
END_TEST

START_TEST(what_is_wrong)
{
    static const struct {
        const char *line, *model, *why;
    } cases[] = {
        {"model", "", "k.warm:1: model NAME NAME=VALUE,...: the model's name is missing"},
        {"model wide=3", "", "k.warm:1: model NAME NAME=VALUE,...: the model's name is missing"},
        {"model gone", "", "k.warm:1: gone is not there: looked for "},
        {"model m wide", "wide = 3", "k.warm:1: wide: behind a model's name come NAME=VALUE,... without blanks"},
        {"model m wide=", "wide = 3", "k.warm:1: wide has no value"},
        {"model m wide=1 wide=2", "wide = 3", "k.warm:1: wide is given twice"},
        {"model m wide=1,2", "wide = 3\nfamily FAMILY defaults_family\ncolumns = $(wide)", "/m.model:3: 1,2 is no integer (model m, "},
        {"model m wid=1", "wide = 3\nfamily FAMILY defaults_family\ncolumns = $wide", "k.warm:1: model m: the model has no wid; did you mean wide? It has wide"},
        {"model m w-d=1", "wide = 3", "k.warm:1: w-d is no name: letters, digits and _, at most 31 of them"},
        {"model m targets=sm_1", "wide = 3", "k.warm:1: \"sm_1\" is no target that is cached"},
        {"model m", "wide", "/m.model:1: wide is unknown: a model begins with NAME = VALUE, or include FILE (model m, "},
        {"model m", "wide = 3\nwide = 4", "/m.model:2: wide is given twice"},
        {"model m", "wide = $tall", "/m.model:1: the model has no tall"},
        {"model m", "wide = $3", "/m.model:1: $3: a $ comes before a name, or ("},
        {"model m", "wide = $(7 / 2)", "/m.model:1: 7 / 2 is no integer"},
        {"model m", "wide = $(7 / (3 - 3))", "/m.model:1: 7 / 0 is no integer"},
        {"model m", "wide = $(7 + )", "/m.model:1: a name, a number or ( is missing before \")\""},
        {"model m", "wide = $(7", "/m.model:1: a ) is missing before \"\""},
        {"model m", "wide = $(4000000000 * 4000000000)", "/m.model:1: * 4000000000 is too large"},
        {"model m", "when 1\nwide = 3", "/m.model:1: when follows the line that begins a block"},
        {"model m", "family FAMILY defaults_family\ncolumns = 3\nwhen 1", "/m.model:3: when follows the line that begins a block"},
        {"model m", "family FAMILY defaults_family\nwhen 1 2", "/m.model:2: \"2\" is left over"},
        {"model m", "family FAMILY defaults_family\nwhen wide has 2", "/m.model:2: the model has no wide"},
        {"model m", "include", "/m.model:1: include is followed by a file"},
        {"model m", "include gone.model", "gone.model: No such file or directory (model m, "},
        {"model m", "include m.model", "m.model: files that include each other are at most 8"},
        {"model m", "model m", "/m.model:1: model is unknown"},
        {"model m", "wide = 3", "k.warm names no family and no tape"},
        {"model m\ncolumns = 3", "family FAMILY defaults_family\nheight = 3", "/m.model:2: defaults_family of "},
    };
    for (size_t i = 0; i < SETT__COUNT(cases); i++) {
        heard h;
        sett_error err = {0};
        write_text("m.model", cases[i].model);
        const sett_status s = keys(cases[i].line, &h, &err);
        ck_assert_msg(s && strstr(err.text, cases[i].why), "case %zu: %s", i, err.text);
    }
}
END_TEST

/* What stands behind a model's line is not of the model's last block. */
START_TEST(a_line_ends_its_blocks)
{
    heard h;
    sett_error err = {0};
    write_text("m.model", "family FAMILY defaults_family\ncolumns = 3\n");
    ck_assert_int_eq(keys("model m\nblock = 3\n", &h, &err), SETT_E_PARSE);
    ck_assert_msg(strstr(err.text, "k.warm:2: block: a model's line says all of it, and no family or tape is named behind it"), "%s", err.text);
}
END_TEST

typedef struct counted {
    int n, failed;
    char why[300];
} counted;

static bool count(void *user, const sett_warm_event *e)
{
    counted *k = user;
    k->n++;
    if (e->status && !k->failed++)
        snprintf(k->why, sizeof k->why, "%s for %s (%s): %s", e->name, e->target, e->params, e->error);
    return true;
}

/* Those of this library: each kernel can be, and there are not too many of them. */
START_TEST(models_of_this_library)
{
    enum { MANY = 150 };
    static const char *const lines[] = {"model llama-3.1-8b dtypes=bf16,f8E4M3FN kv=bf16,f8E4M3FN", "model llama-3.1-8b dtypes=f16 activations=f16 batch_invariant=1",
        "model llama-3.1-70b dtypes=bf16,f8E4M3FN", "model qwen3-30b-a3b dtypes=bf16", "model deepseek-v3"};
    const sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true};
    const sett_warm_options o = {.size = sizeof o, .targets = "sm_90a"};
    sett_engine *e = open_with(&eo);
    for (size_t i = 0; i < SETT__COUNT(lines); i++) {
        counted k = {0};
        sett_error err = {0};
        ck_assert_msg(!sett_family_keys(e, write_text("k.warm", lines[i]), &o, count, &k, &err), "%s: %s", lines[i], err.text);
        ck_assert_msg(k.n > 20 && k.n <= MANY && !k.failed, "%s: %d kernels, %d not; %s", lines[i], k.n, k.failed, k.why);
    }
    sett_engine_close(e);
}
END_TEST

SUITE_IN_ROOT(warm_model, a_line_is_its_blocks, what_is_wrong, a_line_ends_its_blocks, models_of_this_library)
