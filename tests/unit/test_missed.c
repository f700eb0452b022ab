/* SPDX-License-Identifier: Apache-2.0 */
/* A cache that cannot be used: what a miss of a sealed engine says of each layer, and .cache_required, by which opening fails. */
#include "tests/rig/faces.h"
#include "jit/cache/inside.h"
#include "tests/rig/rig.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static sett__digest key; /* of scale */

static void key_of_scale(sett_engine *e, sett__digest *to)
{
    sett_error err = {0};
    ck_assert_msg(!sett_key(e, scale, &sm90, to->b, &err), "%s", err.text);
}

/* ---- what may be wrong ----------------------------------------------------------------------------- */
static char layers_of[4600], folder_of[300]; /* as the case names them */

static void name_layer(const char *path)
{
    snprintf(layers_of, sizeof layers_of, "%s", path);
}
static void empty_cache(const char *name)
{
    sett_engine_options o = options();
    o.cache_dir = in_root(name);
    sett_engine_close(open_with(&o));
}

static void typo(void)
{
    name_layer(in_root("kernels.settpak"));
}
static void open_to_all(void)
{
    name_layer(in_root("pack"));
    ck_assert_int_eq(chmod(layers_of, 0666), 0);
}
static void cut(void)
{
    name_layer(in_root("pack"));
    ck_assert_int_eq(truncate(layers_of, 400), 0);
}
static void cut_short(void)
{
    name_layer(in_root("pack"));
    ck_assert_int_eq(truncate(layers_of, 100), 0);
}
static void not_for_us(void)
{
    name_layer(in_root("pack"));
    ck_assert_int_eq(chmod(layers_of, 0), 0);
}
static void folder_not_for_us(void)
{
    name_layer(in_root("made"));
    ck_assert_int_eq(chmod(layers_of, 0), 0);
}
static void entries_not_for_us(void)
{
    name_layer(in_root("made"));
    ck_assert_int_eq(chmod(in_root("made/v1"), 0), 0);
}
static void entry_path(char path[300], bool file)
{
    sett__entry_name n;
    sett__entry_name_of(&key, &n);
    snprintf(path, 300, "%s/v1/%s%s%s", in_root("made"), n.dir, file ? "/" : "", file ? n.file : "");
    name_layer(in_root("made"));
}
static void shard_not_for_us(void)
{
    char path[300];
    entry_path(path, false);
    ck_assert_int_eq(chmod(path, 0), 0);
}
static void entry_not_for_us(void)
{
    char path[300];
    entry_path(path, true);
    ck_assert_int_eq(chmod(path, 0), 0);
}
static void entry_damaged(void)
{
    char path[300];
    entry_path(path, true);
    ck_assert_int_eq(truncate(path, 700), 0);
}
static void no_cache_folder(void)
{
    name_layer(in_root("mine"));
    ck_assert_int_eq(mkdir(layers_of, 0700), 0);
}
static void relative(void)
{
    name_layer("kernels.settpack");
}
static void homeless(void)
{
    unsetenv("HOME"), unsetenv("XDG_CACHE_HOME"), unsetenv("SETT_CACHE_DIR");
    folder_of[0] = 0;
}
static void relative_folder(void)
{
    homeless();
    setenv("SETT_CACHE_DIR", "cache", 1);
}
static void none_asked(void)
{
    homeless();
    setenv("SETT_CACHE_DIR", "", 1);
}
static void folder_typo(void)
{
    snprintf(folder_of, sizeof folder_of, "%s", in_root("cahce"));
}
static void two_of_three(void)
{
    snprintf(layers_of, sizeof layers_of, "%s:%s", in_root("kernels.settpak"), in_root("empty"));
    empty_cache("empty");
    folder_typo();
}

/* %s: the test's folder. named: .cache_required refuses. */
static const struct cause {
    void (*make)(void);
    const char *says;
    bool opens; /* with .cache_required */
} causes[] = {{typo, "%s/kernels.settpak is not used: there is no such file or folder", false},
    {open_to_all, "%s/pack is not used: the pack cannot be used: it is not trusted: it may be written by others", false},
    {cut, "%s/pack is not used: the pack cannot be used: ", false},
    {cut_short, "%s/pack is not used: the pack cannot be used: a pack of 100 bytes", false},
    {not_for_us, "%s/pack is not used: Permission denied", false},
    {folder_not_for_us, "%s/made is not used: the cache folder cannot be opened: Permission denied; chmod u+rwx %s/made, whose mode is 0000", false},
    {entries_not_for_us, "%s/made is not used: the cache folder cannot be used: %s/made/v1: Permission denied", false},
    {shard_not_for_us, "%s/made: its entry cannot be read: Permission denied (v1/", true},
    {entry_not_for_us, "%s/made: its entry cannot be read: Permission denied (v1/", true},
    {entry_damaged, "%s/made: its entry was refused: ", true},
    {no_cache_folder, "%s/mine is not used: not a cache folder: it holds no SETT1", false},
    {relative, "kernels.settpack is not used: not an absolute path of at most 4095 bytes", false},
    {homeless, "there is no cache: none of SETT_CACHE_DIR, XDG_CACHE_HOME and HOME names an absolute path", false},
    {relative_folder, "cache is not used: SETT_CACHE_DIR is not an absolute path without \"..\"", false},
    {none_asked, "there is no cache: SETT_CACHE_DIR is \"\", and no layer is named", false},
    {folder_typo, "%s/cahce is not used: the cache folder cannot be opened: No such file or directory", false},
    {two_of_three, "%s/kernels.settpak is not used: there is no such file or folder; "
                   "%s/cahce is not used: the cache folder cannot be opened: No such file or directory; "
                   "%s/empty: it is not in the folder", false}};

/* Each text is what a miss says, opening with .cache_required, and a layer's why_not with sett_engine_describe. */
static void told_of(const struct cause *c)
{
    char want[1200], prefix[300], hex[65], text[8192], root[200];
    sett_engine_options o = options();
    sett_error err = {0};
    sett_kernel *k;
    sett_engine *e;
    snprintf(root, sizeof root, "%s", in_root(""));
    root[strlen(root) - 1] = 0;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(want, sizeof want, c->says, root, root, root);
#pragma GCC diagnostic pop
    o.sealed = true;
    o.cache_layers = layers_of;
    o.cache_dir = folder_of[0] ? folder_of : c->make == homeless || c->make == relative_folder || c->make == none_asked ? NULL : "";
    e = open_with(&o);
    sett__hex_write(key.b, hex);
    snprintf(prefix, sizeof prefix, "scale for sm_90a, key %s, is not in the cache, and the engine is sealed: ", hex);
    ck_assert_int_eq(sett_compile(e, scale, &sm90, &k, &err), SETT_E_NOT_CACHED);
    ck_assert_msg(!strncmp(err.text, prefix, strlen(prefix)) && !strncmp(err.text + strlen(prefix), want, strlen(want)), "%s\n%s", err.text, want);
    snprintf(prefix, sizeof prefix, "no kernel of key %s: ", hex);
    ck_assert_int_eq(sett_kernel_get(e, key.b, &k, &err), SETT_E_NOT_CACHED);
    ck_assert_msg(!strncmp(err.text, prefix, strlen(prefix)) && !strncmp(err.text + strlen(prefix), want, strlen(want)), "%s\n%s", err.text, want);
    sett_engine_describe(e, text, sizeof text);
    if (strstr(want, "is not used: ")) {
        char *end = strstr(want, "; /");
        if (end)
            *end = 0;
        ck_assert_msg(strstr(text, want) != NULL, "%s\n%s", text, want);
    }
    sett_engine_close(e);
    for (int by_environment = 0; by_environment < 2; by_environment++) {
        if (by_environment)
            setenv("SETT_CACHE_REQUIRED", "1", 1);
        o.cache_required = !by_environment;
        sett_status s = sett_engine_open(&e, &o, &err);
        unsetenv("SETT_CACHE_REQUIRED");
        ck_assert_msg(s == (c->opens ? SETT_OK : SETT_E_IO), "%s: %s", want, err.text);
        ck_assert_msg(!s || (!strncmp(err.text, "cache_required: ", 16) && !strncmp(err.text + 16, want, strlen(want))), "%s\n%s", err.text, want);
        sett_engine_close(e);
    }
}

/* As a user whom modes bind: nobody, in this test's process. */
START_TEST(a_miss_says_why)
{
    sett_error err = {0};
    if (!have_compiler())
        return;
    const char *const given[] = {"", "cubin", "ptxas"};
    for (size_t i = 0; !geteuid() && i < SETT__COUNT(given); i++)
        ck_assert_int_eq(chown(in_root(given[i]), 65534, 65534), 0);
    ck_assert(geteuid() || !setresuid(65534, 65534, 0));
    if (!have_compiler()) { /* for nobody: the tree may lie where only root looks, below /root */
        setresuid(0, 0, 0);
        return;
    }
    sett_engine_options o = options();
    o.cache_dir = in_root("made");
    sett_engine *e = open_with(&o);
    sett_kernel_release(compile(e, &sm90));
    key_of_scale(e, &key);
    sett_engine_close(e);
    e = open_with(&o);
    ck_assert_msg(!sett_pack_write(e, in_root("pack"), NULL, NULL, &err), "%s", err.text);
    sett_engine_close(e);
    causes[_i].make();
    told_of(&causes[_i]);
    chmod(in_root("made"), 0700), chmod(in_root("made/v1"), 0700);
    setresuid(0, 0, 0); /* who was root is again */
}
END_TEST

/* Of n layers some, each with its reason, and how many the others are. */
static void tells_why(const sett_error *err, int n, int least)
{
    static const char unused[] = " is not used: ", why[] = "there is no such file or folder";
    int told = 0;
    for (const char *at = err->text; (at = strstr(at, unused)); told++)
        ck_assert_msg(!strncmp(at += strlen(unused), why, strlen(why)), "%s", err->text);
    char rest[60];
    snprintf(rest, sizeof rest, "; and %d other%s", n - told, n - told > 1 ? "s" : "");
    ck_assert_msg(told >= least && (told == n ? !strstr(err->text, "; and ") : !strcmp(strstr(err->text, "; and "), rest)), "%s", err->text);
}

/* However many layers there are, and however long their names: a text that ends, the first of them named, and how many are not. */
START_TEST(a_miss_of_many_layers)
{
    char paths[4600] = "", longer[3000];
    sett_engine_options o = options();
    sett_error err = {0};
    sett_kernel *k;
    memset(longer, 'x', sizeof longer - 1);
    for (size_t i = 100; i < sizeof longer; i += 100)
        longer[i] = '/';
    longer[sizeof longer - 1] = 0;
    o.cache_dir = "";
    o.sealed = true;
    o.cache_layers = paths;
    for (int n = 1; n <= 40; n++) {
        snprintf(paths + strlen(paths), sizeof paths - strlen(paths), "/nowhere/layer-%d:", n);
        sett_engine *e = open_with(&o);
        ck_assert_int_eq(sett_compile(e, scale, &sm90, &k, &err), SETT_E_NOT_CACHED);
        ck_assert_msg(strstr(err.text, "/nowhere/layer-1 is") || strstr(err.text, "layer-1"), "%s", err.text);
        tells_why(&err, n, 1);
        ck_assert_uint_lt(strlen(err.text), sizeof err.text - 1);
        sett_engine_close(e);
    }
    for (int n = 1; n <= 12; n++) { /* of long names */
        paths[0] = 0;
        for (int i = 0; i < n; i++)
            snprintf(paths + strlen(paths), sizeof paths - strlen(paths), "/%.200s%d/kernels.settpack:", longer, i);
        sett_engine *e = open_with(&o);
        ck_assert_int_eq(sett_compile(e, scale, &sm90, &k, &err), SETT_E_NOT_CACHED);
        tells_why(&err, n, n < 3 ? n : 3);
        sett_engine_close(e);
    }
    snprintf(paths, sizeof paths, "/nowhere/%s/kernels.settpak:/else/kernels.settpack", longer);
    sett_engine *e = open_with(&o);
    ck_assert_int_eq(sett_compile(e, scale, &sm90, &k, &err), SETT_E_NOT_CACHED);
    ck_assert_msg(strstr(err.text, "/kernels.settpak is not used: ") && strstr(err.text, "/else/kernels.settpack is not used: "), "%s", err.text);
    sett_engine_close(e);
}
END_TEST

/* The folder below $HOME is nobody's word: it may be missing where another layer is named and works. */
START_TEST(required_layers)
{
    sett_engine_options o = options();
    sett_engine *e;
    sett_error err = {0};
    char *kept = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
    unsetenv("SETT_CACHE_DIR"), unsetenv("XDG_CACHE_HOME");
    setenv("HOME", in_root("no-home"), 1);
    empty_cache("good");
    o.cache_layers = in_root("good");
    o.cache_dir = NULL;
    o.cache_required = true;
    o.sealed = true;
    e = open_with(&o);
    ck_assert_ptr_nonnull(layer(e, 1).why_not);
    sett_engine_close(e);
    o.cache_layers = "";
    ck_assert_int_eq(sett_engine_open(&e, &o, &err), SETT_E_IO); /* with no other it is missed */
    ck_assert_ptr_nonnull(strstr(err.text, "no-home/.cache/sett is not used: "));
    o.sealed = false; /* it is made */
    sett_engine_close(open_with(&o));
    o.cache_dir = "";
    ck_assert_int_eq(sett_engine_open(&e, &o, &err), SETT_E_IO);
    ck_assert_str_eq(err.text, "cache_required: there is no cache: cache_dir is \"\", and no layer is named");
    o.cache_dir = in_root("good");
    o.cache_remote = "http://127.0.0.1:9/";
    ck_assert_int_eq(sett_engine_open(&e, &o, &err), SETT_E_IO);
    ck_assert_msg(strstr(err.text, "cache_required: http://127.0.0.1:9") == err.text, "%s", err.text); /* without a secret */
    kept ? setenv("HOME", kept, 1) : unsetenv("HOME");
    free(kept);
}
END_TEST

/* Of a folder that was named only the last component is made; without .cache_required, all of them. */
START_TEST(required_parent)
{
    char path[300], want[600];
    struct stat st;
    sett_engine_options o = options();
    sett_error err = {0};
    sett_engine *e;
    o.cache_required = true;
    for (int by_environment = 0; by_environment < 2; by_environment++) {
        snprintf(path, sizeof path, "%s", in_root("typo/deeper/cache//"));
        o.cache_dir = by_environment ? NULL : path;
        by_environment ? setenv("SETT_CACHE_DIR", path, 1) : unsetenv("SETT_CACHE_DIR");
        ck_assert_int_eq(sett_engine_open(&e, &o, &err), SETT_E_IO);
        snprintf(want, sizeof want, "cache_required: %s is not used: its parent %s does not exist: the path is mistyped, or its volume is "
            "not mounted", path, in_root("typo/deeper"));
        ck_assert_str_eq(err.text, want);
        ck_assert(stat(in_root("typo"), &st));
        snprintf(path, sizeof path, "%s", in_root(by_environment ? "one" : "two/"));
        setenv("SETT_CACHE_DIR", path, 1);
        sett_engine_close(open_with(&o));
        ck_assert(!stat(path, &st) && S_ISDIR(st.st_mode));
    }
    unsetenv("SETT_CACHE_DIR");
    o.cache_required = false;
    o.cache_dir = in_root("typo/deeper/cache");
    sett_engine_close(open_with(&o));
    ck_assert(!stat(o.cache_dir, &st));
}
END_TEST

Suite *missed_suite(void);
Suite *missed_suite(void)
{
    Suite *s = suite_create("missed");
    TCase *t = tcase_create("missed");
    tcase_add_checked_fixture(t, make_root, drop_root);
    tcase_add_loop_test(t, a_miss_says_why, 0, (int)SETT__COUNT(causes));
    tcase_add_test(t, a_miss_of_many_layers);
    tcase_add_test(t, required_layers);
    tcase_add_test(t, required_parent);
    tcase_set_timeout(t, 60);
    suite_add_tcase(s, t);
    return s;
}
