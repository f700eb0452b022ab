/* SPDX-License-Identifier: Apache-2.0 */
/* Families of which a combination stands for several kernels: those of family.c, and sett_product_family, of which a pack has all that the
 * products of a model need. */
#include "tests/rig/rig.h"
#include "tests/rig/suite.h"
#include <limits.h>
#include <sett/kernels.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 64 };
typedef struct heard {
    int n, failed;
    char name[MOST][32], params[MOST][256], target[MOST][16], error[MOST][160];
    uint8_t key[MOST][32];
} heard;

static bool hear(void *user, const sett_warm_event *e)
{
    heard *h = user;
    ck_assert_int_lt(h->n, MOST);
    snprintf(h->name[h->n], sizeof *h->name, "%s", e->name);
    snprintf(h->params[h->n], sizeof *h->params, "%s", e->params);
    snprintf(h->target[h->n], sizeof *h->target, "%s", e->target);
    snprintf(h->error[h->n], sizeof *h->error, "%s", e->error);
    memcpy(h->key[h->n], e->key, sizeof *h->key);
    h->failed += e->status != SETT_OK;
    h->n++;
    return true;
}

/* Its path; OBJECT stands for a file beside this one. */
static const char *manifest(const char *object, const char *text)
{
    char out[16384], path[PATH_MAX];
    size_t at = 0;
    ck_assert(sett__beside(object, path, sizeof path));
    for (const char *p = text; *p; p += *p == '@' ? 1 : strcspn(p, "@"))
        at += *p == '@' ? (size_t)snprintf(out + at, sizeof out - at, "%s", path) : (size_t)snprintf(out + at, sizeof out - at, "%.*s", (int)strcspn(p, "@"), p);
    write_file(in_root("k.warm"), out, at, 0600);
    return in_root("k.warm");
}

static heard keys_of(sett_engine *e, const char *object, const char *text, const char *targets, bool apart)
{
    static heard h;
    char command[PATH_MAX];
    sett_error err = {0};
    ck_assert(sett__beside("sett", command, sizeof command));
    const sett_warm_options o = {.size = sizeof o, .targets = targets, .command = apart ? command : NULL};
    h = (heard){0};
    ck_assert_msg(!sett_family_keys(e, manifest(object, text), &o, hear, &h, &err), "%s", err.text);
    return h;
}

/* ---- where an object is ---------------------------------------------------------------------------------- */
static sett_status keys_of_text(sett_engine *e, const char *text, heard *h, sett_error *why)
{
    const sett_warm_options o = {.size = sizeof o, .targets = "sm_80"};
    *h = (heard){0};
    write_file(in_root("k.warm"), text, strlen(text), 0600);
    return sett_family_keys(e, in_root("k.warm"), &o, hear, h, why);
}

/* As in a wheel, or a package without what only linkers need: the library has no name but that of its version. */
START_TEST(a_library_by_the_name_of_its_version)
{
    char from[PATH_MAX], to[PATH_MAX];
    static heard h;
    sett_error why = {0};
    sett_engine *e = open_engine();
    ck_assert(sett__beside("test-family.so", from, sizeof from));
    snprintf(to, sizeof to, "%s", in_root("only.so.0"));
    ck_assert(!symlink(from, to));
    static const char *const texts[] = {"family only.so several_family\n columns = 8\n", "family ./only.so several_family\n columns = 8\n"};
    for (int i = 0; i < 2; i++)
        ck_assert_msg(!keys_of_text(e, texts[i], &h, &why) && h.n > 0 && !h.failed, "%s", why.text);
    sett_engine_close(e);
}
END_TEST

START_TEST(every_place_where_a_library_was_looked_for)
{
    char beside[PATH_MAX];
    static heard h;
    sett_error why = {0};
    sett_engine *e = open_engine();
    sett__beside("none.so", beside, sizeof beside);
    ck_assert_int_eq(keys_of_text(e, "family none.so some_family\n", &h, &why), SETT_E_IO);
    ck_assert_msg(strstr(why.text, "k.warm:1: none.so is not there: looked for ") && strstr(why.text, "/none.so, ") && strstr(why.text, "/none.so.0, ") && strstr(why.text, beside), "%s", why.text);
    ck_assert_int_eq(keys_of_text(e, "family x/none.so some_family\n", &h, &why), SETT_E_IO);
    ck_assert_msg(strstr(why.text, "x/none.so is not there: looked for ") && strstr(why.text, "/x/none.so.0") && !strstr(why.text, beside), "%s", why.text);
    sett_engine_close(e);
}
END_TEST

/* ---- families ------------------------------------------------------------------------------------------ */
START_TEST(each_kernel_of_a_combination)
{
    sett_engine *e = open_engine();
    for (int apart = 0; apart < 2; apart++) {
        heard h = keys_of(e, "test-family.so", "family @ several_family\n columns = 8, 16\n", "sm_90a,sm_80", apart);
        ck_assert_int_eq(h.n, 3 + 2 + 2 + 1); /* kernel 1 is one for both; sm_80 has no third */
        ck_assert_int_eq(h.failed, 0);
        ck_assert_str_eq(h.name[0], "scaled");
        ck_assert_str_eq(h.target[0], "sm_90a");
        ck_assert_str_eq(h.params[0], "block=64 columns=8 factor=2 dtype=f32");
        ck_assert_str_eq(h.params[1], "block=64 columns=7 factor=2 more=1 dtype=f32");
        ck_assert_str_eq(h.params[2], "block=64 columns=8 factor=2 more=2 dtype=f32");
        ck_assert_str_eq(h.target[3], "sm_80");
        ck_assert_str_eq(h.params[3], h.params[0]);
        ck_assert_str_eq(h.params[5], "block=64 columns=16 factor=2 dtype=f32");
        ck_assert_int_eq(keys_of(e, "test-family.so", "family @ several_family\n block = 0\n", "sm_90a", apart).n, 0);
        h = keys_of(e, "test-family.so", "family @ several_family\n block = 1\n .name = mine\n", "sm_90a", apart);
        ck_assert_int_eq(h.n, 1);
        ck_assert_str_eq(h.name[0], "mine");
    }
    sett_engine_close(e);
}
END_TEST

START_TEST(combinations_that_fail)
{
    static const struct {
        const char *text, *targets, *why;
        int n, failed;
        bool apart;
    } cases[] = {
        {"family @ several_family\n columns = 100, 8\n", "sm_90a,sm_80", "columns is 100: another", 2 + 3 + 2, 2, false},
        {"family @ several_family\n columns = 100, 8\n", "sm_90a,sm_80", "columns is 100: another", 2 + 3 + 2, 2, true},
        {"family @ cramped_family\n", "sm_90a", "the family's kernel 0 is of a sett_family without a body, or with more than .kernel_size bytes", 1, 1, false},
        {"family @ several_family\n deadly = true\n", "sm_90a,sm_80", "the process that recorded it died: signal 9 (Killed)", 3, 2, true},
    };
    sett_engine *e = open_engine();
    for (size_t i = 0; i < SETT__COUNT(cases); i++) {
        const heard h = keys_of(e, "test-family.so", cases[i].text, cases[i].targets, cases[i].apart);
        ck_assert_msg(h.n == cases[i].n && h.failed == cases[i].failed, "%zu: %d, of which fail %d", i, h.n, h.failed);
        for (int k = 0, told = 0; k < h.n && !told; k++)
            if (*h.error[k]) {
                told = 1;
                ck_assert_str_eq(h.error[k], cases[i].why);
                ck_assert_str_eq(h.name[k], i == 2 ? "cramped" : "several");
            }
    }
    sett_engine_close(e);
}
END_TEST

static bool hear_last(void *user, const sett_warm_event *e)
{
    heard *h = user;
    h->n++, h->failed += e->status != SETT_OK;
    snprintf(h->error[0], sizeof *h->error, "%s", e->error);
    return true;
}

START_TEST(endless)
{
    sett_error err = {0};
    static heard h;
    sett_engine *e = open_engine();
    const sett_warm_options o = {.size = sizeof o, .targets = "sm_90a"};
    ck_assert_msg(!sett_family_keys(e, manifest("test-family.so", "family @ several_family\n block = -1\n"), &o, hear_last, &h, &err), "%s", err.text);
    ck_assert_int_eq(h.n, 1024);
    ck_assert_int_eq(h.failed, 1);
    ck_assert_str_eq(h.error[0], "the family gives more than 1023 kernels for one combination");
    sett_engine_close(e);
}
END_TEST

/* ---- products -------------------------------------------------------------------------------------------- */
/* The dense products of LLaMA-3.1-8B. */
static const char *const llama = "family @ sett_product_family\n dtype = bf16, f8E4M3FN\n n = 6144, 4096\n k = 4096\n"
                                 "family @ sett_product_family\n dtype = bf16, f8E4M3FN\n n = 14336\n k = 4096\n swiglu = 1\n"
                                 "family @ sett_product_family\n dtype = bf16, f8E4M3FN\n n = 4096\n k = 14336\n";
static const struct {
    int n, k, swiglu;
} layer_of[] = {{6144, 4096, 0}, {4096, 4096, 0}, {14336, 4096, 1}, {4096, 14336, 0}};

/* Every kernel of each product, as a plan of it takes them; how many that is, each as often as a product has it. */
static int take_all(sett_engine *e)
{
    int all = 0;
    sett_error err = {0};
    for (size_t i = 0; i < 2 * SETT__COUNT(layer_of); i++) {
        sett_product_kernel list[SETT_PRODUCT_KERNELS];
        const sett_product_problem p = {.size = sizeof p, .dtype = i % 2 ? SETT_F8E4M3FN : SETT_BF16, .n = layer_of[i / 2].n, .k = layer_of[i / 2].k, .swiglu = layer_of[i / 2].swiglu};
        const int n = sett_product_kernels(&p, "sm_90a", list, &err);
        for (int k = 0; k < n; k++, all++) {
            sett_kernel *made = NULL;
            ck_assert_msg(!sett_kernels_compile(e, list[k].family->body, &list[k].options, "sm_90a", &made, &err), "%s", err.text);
            sett_kernel_release(made);
        }
    }
    return all;
}

START_TEST(products_of_a_model)
{
    char pack[300];
    sett_error err = {0};
    sett_warm_result r = {.size = sizeof r};
    heard h = {0};
    sett_kernel *k;
    if (!have_compiler())
        return;
    snprintf(pack, sizeof pack, "%s", in_root("llama.settpack"));
    sett_engine *e = open_engine();
    const sett_warm_options o = {.size = sizeof o, .targets = "sm_90a", .pack = pack, .progress = hear, .user = &h};
    ck_assert_msg(!sett_warm(e, manifest("libsett-kernels.so", llama), &o, &r, &err), "%s", err.text);
    ck_assert_msg(r.total <= 40 && r.compiled == r.total && r.total == (uint64_t)h.n, "%d of %d", (int)r.compiled, (int)r.total);
    ck_assert_str_eq(h.name[0], "gemm_wgmma");
    ck_assert_msg(strstr(h.params[0], "dtype=") && strstr(h.params[0], " stream_k=1") && !strstr(h.params[0], "=0"), "%s", h.params[0]);
    sett_engine_close(e);
    sett_engine_options eo = options();
    eo.cache_dir = "", eo.cache_layers = pack, eo.sealed = true;
    e = open_with(&eo);
    ck_assert_int_gt(take_all(e), (int)r.total);
    ck_assert(!stats(e).compiles && !stats(e).codegens && !stats(e).compiler_loaded && !stats(e).sealed_misses);
    const sett_gemm_wgmma_options other = {.size = sizeof other, .dtype = SETT_F16, .tuning = {.bm = 64, .bn = 128, .cluster = 1}};
    ck_assert_int_eq(sett_kernels_compile(e, sett_gemm_wgmma, &other, "sm_90a", &k, &err), SETT_E_NOT_CACHED);
    ck_assert_msg(strstr(err.text, "gemm_wgmma") && strstr(err.text, "(dtype=f16 "), "%s", err.text);
    sett_engine_close(e);
}
END_TEST

static void hear_warning(void *user, sett_log_level level, const char *component, const char *message)
{
    (void)component, (void)message;
    *(int *)user += level <= SETT_LOG_WARNING;
}

/* The bodies of ready kernels are none of the caller's: no advice about registers comes of them, although this one's values spill where nvJitLink
 * assembles it. */
START_TEST(ready_kernels_are_silent)
{
    sett_error err = {0};
    sett_warm_result r = {.size = sizeof r};
    int warnings = 0;
    if (!have_compiler())
        return;
    sett_engine_options eo = options();
    eo.log = hear_warning, eo.log_level = SETT_LOG_WARNING, eo.user = &warnings;
    sett_engine *e = open_with(&eo);
    const sett_warm_options o = {.size = sizeof o, .targets = "sm_80"};
    ck_assert_msg(!sett_warm(e, manifest("libsett-kernels.so", "family @ sett_attention_family\n dtype = bf16\n d = 128\n causal = 1\n"), &o, &r, &err), "%s", err.text);
    ck_assert_int_eq((int)r.total, 1);
    ck_assert_int_eq(warnings, 0);
    sett_engine_close(e);
}
END_TEST

START_TEST(products_that_cannot_be)
{
    static const struct {
        const char *text, *why;
    } cases[] = {{"n = 8\n k = 8\n", ".dtype is not given"}, {"dtype = bf16\n n = -1\n k = 8\n", ".n is -1"}, {"dtype = bf16\n n = 64\n", ".k is 0: "},
        {"dtype = bf16\n n = 64\n k = 64\n ldb = 8\n", ".ldb is 8: at least 64"}};
    sett_engine *e = open_engine();
    for (size_t i = 0; i < SETT__COUNT(cases); i++) {
        char text[200];
        snprintf(text, sizeof text, "family @ sett_product_family\n %s", cases[i].text);
        const heard h = keys_of(e, "libsett-kernels.so", text, "sm_90a", i % 2);
        ck_assert_int_eq(h.n, 1);
        ck_assert_int_eq(h.failed, 1);
        ck_assert_str_eq(h.name[0], "product");
        ck_assert_msg(strstr(h.error[0], cases[i].why) != NULL, "%s", h.error[0]);
    }
    const heard h = keys_of(e, "libsett-kernels.so", "family @ sett_product_family\n dtype = bf16\n n = 8\n k = 8\n", "sm_80,sm_90a", false);
    ck_assert_int_eq(h.failed, 0);
    ck_assert_str_eq(h.name[0], "gemm_mma");
    ck_assert_str_eq(h.name[h.n - 2], "gemm_wgmma"); /* the last may be of few rows */
    sett_engine_close(e);
}
END_TEST

SUITE_IN_ROOT(warm_several, a_library_by_the_name_of_its_version, every_place_where_a_library_was_looked_for, each_kernel_of_a_combination, combinations_that_fail, endless, products_of_a_model, ready_kernels_are_silent, products_that_cannot_be)
