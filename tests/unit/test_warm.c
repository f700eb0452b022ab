/* SPDX-License-Identifier: Apache-2.0 */
/* Manifests, keys of families, warming by processes: shards, crashes, resuming, cancelling. The processes run the sett
 * command that was built beside; the families are those of family.c. */
#include "tests/rig/rig.h"
#include "tests/rig/suite.h"
#include <libgen.h>
#include <limits.h>
#include <sett/kernels.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *family_object(void)
{
    static char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    strcpy(strrchr(path, '/'), "/test-family.so");
    return path;
}

/* Its path; FAMILY stands for the object. */
static const char *manifest(const char *text)
{
    char out[8192];
    size_t at = 0;
    for (const char *p = text; *p;) {
        bool here = !strncmp(p, "FAMILY", 6);
        at += (size_t)snprintf(out + at, sizeof out - at, "%.*s", here ? 4000 : 1, here ? family_object() : p);
        p += here ? 6 : 1;
    }
    write_file(in_root("k.warm"), out, at, 0600);
    return in_root("k.warm");
}

typedef struct heard {
    int n, failed, cached, stop_after;
    char params[64][64], error[400], name[64];
    uint8_t key[64][32];
    char target[64][16], errors[64][96];
    uint64_t total;
} heard;

static bool hear(void *user, const sett_warm_event *e)
{
    heard *h = user;
    ck_assert_uint_eq(e->size, sizeof *e);
    ck_assert_uint_eq(e->done, (uint64_t)h->n + 1);
    snprintf(h->params[h->n], 64, "%s", e->params);
    snprintf(h->target[h->n], 16, "%s", e->target);
    memcpy(h->key[h->n], e->key, 32);
    snprintf(h->name, sizeof h->name, "%s", e->name);
    h->failed += e->status != SETT_OK;
    h->cached += e->cached;
    snprintf(h->errors[h->n], 96, "%s", e->error);
    if (e->status)
        snprintf(h->error, sizeof h->error, "%s", e->error);
    h->total = e->total;
    ck_assert_uint_eq(e->failed, (uint64_t)h->failed);
    return ++h->n != h->stop_after;
}

static const sett_warm_options two = {.size = sizeof two, .targets = "sm_80,sm_90a"};
#define SIX "family FAMILY defaults_family\n columns = 8, 16..48+16 # and\n factor=1.5,2\n block = 48\n"

/* ---- keys ------------------------------------------------------------------------------------- */
START_TEST(keys_of_a_family)
{
    heard h = {0};
    sett_error err = {0};
    sett_engine *e = open_engine();
    const char *path = manifest(SIX);
    ck_assert_msg(!sett_family_keys(e, path, &two, hear, &h, &err), "%s", err.text);
    ck_assert_int_eq(h.n, 16);
    ck_assert_str_eq(h.params[0], "columns=8 factor=1.5 block=48");
    ck_assert_str_eq(h.target[0], "sm_80");
    ck_assert_str_eq(h.target[1], "sm_90a");
    ck_assert_str_eq(h.params[2], "columns=8 factor=2 block=48");
    ck_assert_str_eq(h.params[15], "columns=48 factor=2 block=48");
    ck_assert_str_eq(h.name, "scaled");
    ck_assert_int_eq(h.failed, 0);
    for (int i = 0; i < h.n; i++)
        for (int k = 0; k < i; k++)
            ck_assert(memcmp(h.key[i], h.key[k], 32));
    ck_assert_uint_eq(stats(e).compiles, 0);
    ck_assert(!stats(e).compiler_loaded);
    /* Twice is once; what the family does not want is none; a shard is a part, and all parts are all. */
    path = manifest(SIX SIX "family FAMILY defaults_family\n columns = 100\n");
    heard again = {0};
    ck_assert_int_eq(sett_family_keys(e, path, &two, hear, &again, &err), SETT_OK);
    ck_assert_int_eq(again.n, 16);
    int all = 0;
    for (int shard = 0; shard < 5; shard++) {
        heard part = {0};
        sett_warm_options o = two;
        o.shard = shard, o.shards = 5;
        ck_assert_int_eq(sett_family_keys(e, path, &o, hear, &part, &err), SETT_OK);
        ck_assert(part.n == 3 || part.n == 4);
        for (int i = 0; i < part.n; i++, all++) {
            bool found = false;
            for (int k = 0; k < h.n && !found; k++)
                if ((found = !memcmp(part.key[i], h.key[k], 32)))
                    memset(h.key[k], 0, 32);
            ck_assert(found);
        }
    }
    ck_assert_int_eq(all, 16);
    heard few = {.stop_after = 3};
    ck_assert_int_eq(sett_family_keys(e, path, &two, hear, &few, &err), SETT_OK);
    ck_assert_int_eq(few.n, 3);
    sett_engine_close(e);
}
END_TEST

/* A family that chooses by target: its kernels exist for every target, under the keys that sett_kernels_compile asks for. */
START_TEST(shapes_by_target)
{
    static const char *const targets[] = {"sm_75", "sm_80", "sm_89", "sm_90a", "sm_120"};
    static const int columns[] = {4096, 8191, 131072};
    const sett_warm_options o = {.size = sizeof o, .targets = "sm_75,sm_80,sm_89,sm_90a,sm_120"};
    heard h = {0};
    sett_error err = {0};
    sett_engine *e = open_engine();
    const char *path = manifest("family FAMILY chosen_family\n dtype = bf16\n cols = 4096, 8191, 131072\n");
    ck_assert_msg(!sett_family_keys(e, path, &o, hear, &h, &err), "%s", err.text);
    ck_assert_msg(h.n == 15 && h.failed == 0, "%d, of which fail %d: %s", h.n, h.failed, h.error);
    for (int i = 0; i < h.n; i++) {
        uint8_t key[32];
        sett_rms_norm_options r = {.size = sizeof r, .dtype = SETT_BF16, .cols = columns[i / 5]};
        ck_assert(!sett_kernels_choose(sett_rms_norm, &r, targets[i % 5], &err));
        const sett_compile_options c = {.size = sizeof c, .name = "rms_norm", .user = &r, .target = targets[i % 5]};
        ck_assert_str_eq(h.target[i], targets[i % 5]);
        ck_assert_msg(!sett_key(e, sett_rms_norm, &c, key, &err) && !memcmp(h.key[i], key, 32), "%s %s: %s", h.target[i], h.params[i], err.text);
    }
    h = (heard){0};
    path = manifest("family FAMILY chosen_family\n dtype = i32\n cols = 8\nfamily FAMILY mute_family\n");
    ck_assert_msg(!sett_family_keys(e, path, &two, hear, &h, &err), "%s", err.text);
    ck_assert_int_eq(h.failed, 4);
    ck_assert_str_eq(h.errors[0], "sett_kernels_choose: rms_norm: .dtype is i32: f16, bf16 or f32");
    ck_assert_str_eq(h.errors[2], "the family's choose refuses it without a text");
    sett_engine_close(e);
}
END_TEST

/* The key is the one that a launch will ask for. */
START_TEST(keys_are_those_of_compiling)
{
    void *tape;
    size_t len;
    uint8_t key[32];
    sett_error err = {0};
    heard h = {0};
    sett_engine *e = open_engine();
    const variant v = {40, 64, 2.0};
    const sett_compile_options o = {.size = sizeof o, .user = &v, .target = "sm_90a"};
    ck_assert_int_eq(sett_record(scale, &o, true, &tape, &len, &err), SETT_OK);
    write_file(in_root("scale.tape"), tape, len, 0600);
    sett_text_free(tape);
    ck_assert_int_eq(sett_key(e, scale, &o, key, &err), SETT_OK);
    const char *path = manifest("tape scale.tape\n .targets = sm_90a , sm_80\n .name = first\n"
                                "tape scale.tape\n .targets = sm_90a\n .opt_level = 1\n");
    ck_assert_msg(!sett_family_keys(e, path, NULL, hear, &h, &err), "%s", err.text);
    ck_assert_int_eq(h.n, 3);
    ck_assert(!memcmp(h.key[0], key, 32) && memcmp(h.key[2], key, 32));
    ck_assert_ptr_nonnull(strstr(h.params[0], "scale.tape"));
    ck_assert_str_eq(h.target[1], "sm_80");
    sett_engine_close(e);
}
END_TEST

START_TEST(errors_of_a_manifest)
{
    static const struct {
        const char *text, *why;
        sett_status status;
    } cases[] = {
        {"", "k.warm names no family and no tape", SETT_E_PARSE},
        {"# nothing\n\n", "k.warm names no family and no tape", SETT_E_PARSE},
        {"columns = 3\n", "k.warm:1: columns = 3: no family or tape is named before it", SETT_E_PARSE},
        {"family FAMILY\n", "k.warm:1: a block begins with family OBJECT SYMBOL", SETT_E_PARSE},
        {"tape\n", "k.warm:1: a block begins with tape FILE", SETT_E_PARSE},
        {"tape a b\n", "k.warm:1: a block begins with tape FILE", SETT_E_PARSE},
        {"tape gone.tape\n", "gone.tape: No such file", SETT_E_IO},
        {"family ./gone.so f\n", "k.warm:1: ", SETT_E_IO},
        {"family FAMILY nothing\n", "has no symbol nothing", SETT_E_IO},
        {"family FAMILY wrong_size\n", "is no sett_family of this version", SETT_E_ARGUMENT},
        {"family FAMILY wrong_param\n", "outside its user data", SETT_E_ARGUMENT},
        {"family FAMILY bare_family\n columns = 3\n", "k.warm:1: parameter deadly has no value", SETT_E_PARSE},
        {"family FAMILY defaults_family\ncolumns 3\n", "k.warm:2: columns is unknown: family OBJECT SYMBOL or tape FILE begins a block, NAME = VALUES follow", SETT_E_PARSE},
        {"famly ./x.so y\n", "k.warm:1: famly is unknown: family OBJECT SYMBOL or tape FILE begins a block", SETT_E_PARSE},
        {"family FAMILY defaults_family\nheight = 3\n", "has no parameter height: it has deadly, odd, block, columns, factor, more, dtype", SETT_E_PARSE},
        {"family FAMILY renamed_family\nheight = 3\n", ": parameter height is named block now", SETT_E_PARSE},
        {"family FAMILY defaults_family\ncolumn = 3\n", "has no parameter column; did you mean columns? It has deadly, odd, block, columns, factor, more, dtype", SETT_E_PARSE},
        {"family FAMILY renamed_family\nwidth = 3\n", "has no parameter width", SETT_E_PARSE},
        {"family FAMILY defaults_family\nheight = 3\n", "k.warm:2: defaults_family of ", SETT_E_PARSE},
        {"family FAMILY defaults_family\nblock = 3\nblock = 4\n", "k.warm:3: block is given twice", SETT_E_PARSE},
        {"family FAMILY defaults_family\nblock = \n", "k.warm:2: block has no value", SETT_E_PARSE},
        {"family FAMILY defaults_family\nblock = 1,,2\n", "k.warm:2: block: a value is missing beside a comma", SETT_E_PARSE},
        {"family FAMILY defaults_family\nblock = 1, 2,\n", "k.warm:2: block: a value is missing beside a comma", SETT_E_PARSE},
        {"family FAMILY defaults_family\nblock = 1, 2\n", "", SETT_OK},
        {"family FAMILY defaults_family\ndtype = bfloat16, half, f16\n", "", SETT_OK},
        {"family FAMILY defaults_family\nblock = bf16\n", "k.warm:2: block: bf16 is an element type, and block is a number", SETT_E_PARSE},
        {"family FAMILY defaults_family\nblock = wide\n", "block: wide is no integer, element type, true or false",
            SETT_E_PARSE},
        {"family FAMILY worded_family\nblock = small, 64, large\n", "", SETT_OK},
        {"family FAMILY worded_family\nblock = wide\n", "k.warm:2: block: wide is no integer, and none of small, large", SETT_E_PARSE},
        {"family FAMILY worded_family\nblock = bf16\n", "k.warm:2: block: bf16 is no integer, and none of small, large", SETT_E_PARSE},
        {"family FAMILY worded_family\ncolumns = small\n", "k.warm:2: columns: small is no integer, element type, true or false", SETT_E_PARSE},
        {"family FAMILY defaults_family\nblock = 1.5\n", "block: 1.5 is no integer", SETT_E_PARSE},
        {"family FAMILY defaults_family\nblock = 65536\n", "block: 65536 does not fit into 2 bytes", SETT_E_PARSE},
        {"family FAMILY defaults_family\nblock = 32768\n", "block: 32768 does not fit into 2 bytes", SETT_E_PARSE},
        {"family FAMILY defaults_family\nblock = 32767, -32768\n", "", SETT_OK},
        {"family FAMILY defaults_family\ndtype = 4294967296\n", "dtype: 4294967296 does not fit into 4 bytes", SETT_E_PARSE},
        {"family FAMILY defaults_family\nblock = -32769\n", "block: -32769 does not fit into 2 bytes", SETT_E_PARSE},
        {"family FAMILY defaults_family\ndeadly = 300\n", "deadly: 300 does not fit into 1 bytes", SETT_E_PARSE},
        {"family FAMILY defaults_family\nfactor = x\n", "factor: x is no number", SETT_E_PARSE},
        {"family FAMILY defaults_family\nblock = 8..4\n", "block: 8..4 is no range", SETT_E_PARSE},
        {"family FAMILY defaults_family\nblock = 0..8*2\n", "block: 0..8*2 is no range", SETT_E_PARSE},
        {"family FAMILY defaults_family\nblock = 1..8*1\n", "block: 1..8*1 is no range", SETT_E_PARSE},
        {"family FAMILY defaults_family\nblock = 1..8+0\n", "block: 1..8+0 is no range", SETT_E_PARSE},
        {"family FAMILY defaults_family\nblock = 1..8+1x\n", "block: 1..8+1x is no range", SETT_E_PARSE},
        {"family FAMILY defaults_family\ncolumns = 0..9000000\n", "columns has more than 1048576 values", SETT_E_LIMIT},
        {"family FAMILY defaults_family\ncolumns = 1..2000\nblock = 1..2000\n", "more than 1048576 combinations",
            SETT_E_LIMIT},
        {"family FAMILY defaults_family\n.opt_level = 5\n", ".opt_level = 5: the options are .name", SETT_E_PARSE},
        {"family FAMILY defaults_family\n.line_info = 1\n", ".line_info = 1: the options are .name", SETT_E_PARSE},
        {"family FAMILY defaults_family\n.targets = sm_90a, sm_x\n", "k.warm:2: \"sm_x\" is no target that is cached",
            SETT_E_ARGUMENT},
        {"family FAMILY defaults_family\nblock = 8\n.targets = cpu\n", "k.warm:3: \"cpu\" is no target that is cached: they are sm_70, ", SETT_E_ARGUMENT},
        {"family FAMILY defaults_family\nblock = 8\n.targets = sm_101\n", "k.warm:3: \"sm_101\" is no target that is cached", SETT_E_ARGUMENT},
        {"family FAMILY defaults_family\n.targets = sm_80 sm_90\n", "k.warm:2: \"sm_80 sm_90\": a comma is missing between sm_80 and sm_90",
            SETT_E_ARGUMENT},
        {"family FAMILY defaults_family\nblock = 8, 768 1024, 3\n", "k.warm:2: block: a comma is missing between 768 and 1024", SETT_E_PARSE},
        {"family FAMILY defaults_family\nblock = 1..4 8..9\n", "k.warm:2: block: a comma is missing between 1..4 and 8..9", SETT_E_PARSE},
        {"family FAMILY defaults_family\nblock = -1 -2\n", "k.warm:2: block: a comma is missing between -1 and -2", SETT_E_PARSE},
        {"family FAMILY defaults_family\nblock = 1 ..4\n", "k.warm:2: block: 1 ..4 is no integer", SETT_E_PARSE},
        {"family FAMILY defaults_family\n", "k.warm:1: no targets are given, by .targets of this block or for all (--targets sm_90a)",
            SETT_E_ARGUMENT},
    };
    sett_engine *e = open_engine();
    for (size_t i = 0; i < SETT__COUNT(cases); i++) {
        heard h = {0};
        sett_error err = {0};
        bool plain = i + 1 == SETT__COUNT(cases);
        sett_warm_options o = {.size = sizeof o, .targets = plain ? NULL : "sm_80"};
        sett_status s = sett_family_keys(e, manifest(cases[i].text), &o, hear, &h, &err);
        ck_assert_msg(
            s == cases[i].status && (!s || strstr(err.text, cases[i].why)), "case %zu: %d %s", i, s, err.text);
        ck_assert(!s || !strncmp(err.text, "sett_family_keys: ", 18));
    }
    sett_engine_close(e);
}
END_TEST

START_TEST(misuse)
{
    heard h = {0};
    sett_error err = {0};
    sett_engine *e = open_engine();
    const char *path = manifest(SIX);
    sett_warm_options o = two;
    ck_assert_int_eq(sett_family_keys(NULL, path, &o, hear, &h, &err), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_family_keys(e, NULL, &o, hear, &h, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_family_keys: the manifest's path is empty");
    ck_assert_int_eq(sett_family_keys(e, path, &o, NULL, &h, &err), SETT_E_ARGUMENT);
    o.shard = 2, o.shards = 2;
    ck_assert_int_eq(sett_warm(e, path, &o, NULL, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_warm: shard 2 of 2: they are numbered from 0");
    o = two, o.workers = -1;
    ck_assert_int_eq(sett_warm(e, path, &o, NULL, &err), SETT_E_ARGUMENT);
    o = two, o.command = "/nowhere/sett";
    ck_assert_int_eq(sett_warm(e, path, &o, NULL, &err), SETT_E_IO);
    ck_assert_msg(!strcmp(err.text, "sett_warm: /nowhere/sett cannot be run: No such file or directory") || /* under valgrind */
        !strcmp(err.text, "sett_warm: /nowhere/sett ended before it began: exit code 127"), "%s", err.text);
    o.command = "/bin/false";
    ck_assert_int_eq(sett_warm(e, path, &o, NULL, &err), SETT_E_IO);
    ck_assert_str_eq(err.text, "sett_warm: /bin/false ended before it began: exit code 1");
    sett_warm_result r = {.size = 1};
    ck_assert_int_eq(sett_warm(e, path, &two, &r, &err), SETT_E_ARGUMENT);
    sett_engine_close(e);
    sett_engine_options none = options();
    none.cache_dir = "";
    e = open_with(&none);
    ck_assert_int_eq(sett_warm(e, path, &two, NULL, &err), SETT_E_IO);
    ck_assert_str_eq(err.text, "sett_warm: the engine has no cache folder to write to");
    sett_engine_close(e);
}
END_TEST

/* ---- warming ------------------------------------------------------------------------------------- */
static sett_status warm(const char *folder, const sett_warm_options *o, heard *h, sett_warm_result *r, sett_error *err)
{
    sett_engine_options eo = options();
    sett_warm_options w = *o;
    eo.cache_dir = folder;
    sett_engine *e = open_with(&eo);
    *r = (sett_warm_result){.size = sizeof *r};
    w.progress = h ? hear : NULL, w.user = h;
    sett_status s = sett_warm(e, in_root("k.warm"), &w, r, err);
    ck_assert_uint_eq(stats(e).compiles, 0); /* not in this process */
    sett_engine_close(e);
    return s;
}

static bool same_files(const char *a, const char *b)
{
    size_t n = file_size(a);
    char *p = malloc(n + 1), *q = malloc(n + 1);
    FILE *f = fopen(a, "rb"), *g = fopen(b, "rb");
    bool same = f && g && n == file_size(b) && fread(p, 1, n, f) == n && fread(q, 1, n, g) == n && !memcmp(p, q, n);
    if (f)
        fclose(f);
    if (g)
        fclose(g);
    free(p), free(q);
    return same;
}

START_TEST(makes_what_is_missing)
{
    heard h = {0}, again = {0}, part = {.stop_after = 2};
    sett_warm_result r;
    sett_error err = {0};
    sett_kernel *k;
    char pack[300];
    if (!have_compiler())
        return;
    manifest(SIX);
    snprintf(pack, sizeof pack, "%s", in_root("all.settpack"));
    sett_warm_options o = two;
    o.workers = 2, o.pack = pack;
    ck_assert_int_eq(warm(in_root("cache"), &o, &part, &r, &err), SETT_E_CANCELLED);
    ck_assert_str_eq(err.text, "sett_warm: cancelled with 2 of 16 kernels done");
    ck_assert(r.compiled == 2 && r.total == 16 && access(pack, F_OK));
    ck_assert_msg(!warm(in_root("cache"), &o, &h, &r, &err), "%s", err.text);
    ck_assert(h.n == 16 && !r.failed && r.total == 16 && r.cached + r.compiled == 16);
    ck_assert(r.cached >= 2 && r.cached <= 4); /* what was cancelled goes on: at most a compile a process is lost */
    ck_assert_int_eq(warm(in_root("cache"), &o, &again, &r, &err), SETT_OK);
    ck_assert(r.cached == 16 && again.cached == 16);
    /* It serves where there is no compiler. */
    sett_engine_options eo = options();
    eo.cache_layers = pack, eo.cache_dir = "", eo.sealed = true;
    sett_engine *e = open_with(&eo);
    for (int i = 0; i < 16; i++) {
        ck_assert_int_eq(sett_kernel_get(e, h.key[i], &k, &err), SETT_OK);
        sett_kernel_release(k);
    }
    sett_engine_close(e);
}
END_TEST

typedef struct part {
    int shard;
    sett_status status;
    char folder[200], pack[200];
    sett_engine_options eo;
    sett_error err;
} part;

static void *run_part(void *user)
{
    part *p = user;
    sett_engine *e;
    sett_warm_options o = two;
    o.shard = p->shard, o.shards = 8, o.workers = 1, o.pack = p->pack;
    p->eo.cache_dir = p->folder;
    p->status = sett_engine_open(&e, &p->eo, &p->err);
    if (!p->status)
        p->status = sett_warm(e, in_root("k.warm"), &o, NULL, &p->err);
    sett_engine_close(e);
    return NULL;
}

/* Eight parts side by side, each in a folder of its own, merge to the bytes of one run. */
START_TEST(shards_merge_to_one_run)
{
    part p[8];
    pthread_t t[8];
    char layers[2000] = "";
    sett_error err = {0};
    sett_warm_result r;
    uint64_t n;
    if (!have_compiler())
        return;
    manifest(SIX);
    sett_warm_options o = two;
    char pack[300];
    snprintf(pack, sizeof pack, "%s", in_root("one.settpack"));
    o.pack = pack, o.workers = 2;
    ck_assert_msg(!warm(in_root("cache"), &o, NULL, &r, &err), "%s", err.text);
    for (int i = 0; i < 8; i++) {
        p[i] = (part){.shard = i, .eo = options()};
        snprintf(p[i].folder, sizeof p[i].folder, "%s.%d", in_root("part"), i);
        snprintf(p[i].pack, sizeof p[i].pack, "%s.%d.settpack", in_root("part"), i);
        p[i].eo.ptxas = strdup(p[i].eo.ptxas);
        ck_assert(!pthread_create(&t[i], NULL, run_part, &p[i]));
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(t[i], NULL);
        ck_assert_msg(!p[i].status, "%s", p[i].err.text);
        snprintf(layers + strlen(layers), sizeof layers - strlen(layers), "%s%s", i ? ":" : "", p[i].pack);
        free((void *)(uintptr_t)p[i].eo.ptxas);
    }
    sett_engine_options eo = options();
    eo.cache_layers = layers, eo.cache_dir = "";
    sett_engine *e = open_with(&eo);
    ck_assert_msg(!sett_pack_write(e, in_root("merged.settpack"), NULL, &n, &err), "%s", err.text);
    ck_assert_uint_eq(n, 16);
    sett_engine_close(e);
    ck_assert(same_files(pack, in_root("merged.settpack")));
}
END_TEST

START_TEST(a_crash_costs_one_kernel)
{
    heard h = {0};
    sett_warm_result r;
    sett_error err = {0};
    char pack[300];
    if (!have_compiler())
        return;
    manifest("family FAMILY defaults_family\n deadly = false, true\n columns = 8, 16\n block = 48\n.targets = sm_90a\n"
             "family FAMILY defaults_family\n odd = true\n.targets = sm_90a\n"
             "family FAMILY defaults_family\n block = 32\n columns = 0\n.targets = sm_90a\n");
    snprintf(pack, sizeof pack, "%s", in_root("some.settpack"));
    const sett_warm_options o = {.size = sizeof o, .workers = 1, .pack = pack};
    sett_status s = warm(in_root("cache"), &o, &h, &r, &err);
    ck_assert_msg(s == SETT_E_COMPILE, "%d %s", s, err.text);
    ck_assert_uint_eq(r.total, h.total);
    ck_assert_uint_eq(r.compiled, 2);
    ck_assert_uint_eq(r.failed, r.total - 2);
    sett_engine_options eo = options();
    eo.cache_layers = pack, eo.cache_dir = "";
    sett_engine *e = open_with(&eo);
    sett_cache_layer_info l = {.size = sizeof l};
    sett_cache_layer(e, 0, &l);
    ck_assert_uint_eq(l.entries, 2);
    sett_engine_close(e);
}
END_TEST

/* Who is exact takes what this machine would make, and makes the rest anew. */
START_TEST(exact_toolchain)
{
    static const struct {
        const char *version;
        uint64_t cached;
    } runs[] = {{"V13.0.99", 0}, {"V13.0.99", 2}, {"V13.0.98", 0}, {"V13.0.98", 2}};
    char script[600];
    sett_error err = {0};
    if (!have_compiler())
        return;
    char path[300];
    snprintf(path, sizeof path, "%s", manifest("family FAMILY defaults_family\n columns = 8, 16\n.targets = sm_90a\n"));
    for (size_t i = 0; i < SETT__COUNT(runs); i++) {
        sett_engine_options o = options();
        sett_warm_result r = {.size = sizeof r};
        int n = snprintf(script, sizeof script,
            "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'release 13.0, %s'; exit 0; fi\n"
            "while [ $# -gt 0 ]; do [ \"$1\" = -o ] && /bin/cat %s >\"$2\"; shift; done\n",
            runs[i].version, in_root("cubin"));
        write_file(in_root("ptxas"), script, (size_t)n, 0700);
        o.toolchain = SETT_TOOLCHAIN_EXACT;
        sett_engine *e = open_with(&o);
        ck_assert_msg(!sett_warm(e, path, NULL, &r, &err), "%s", err.text);
        ck_assert_uint_eq(r.cached, runs[i].cached);
        ck_assert_uint_eq(r.compiled, 2 - runs[i].cached);
        sett_engine_close(e);
    }
}
END_TEST

START_TEST(why_kernels_fail)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"deadly = true", "the process that recorded it died: signal 9 (Killed)"},
        {"deadly = true\nodd = true", "the process that compiled it died: signal 9 (Killed)"},
        {"odd = true", "it was compiled, and is not in the cache: "},
        {"block = 5000", "5000"},
    };
    if (!have_compiler())
        return;
    setenv("SETT_TEST_ONCE", in_root("once"), 1);
    for (size_t i = 0; i < SETT__COUNT(cases); i++) {
        char text[300];
        heard h = {0};
        sett_warm_result r;
        sett_error err = {0};
        snprintf(text, sizeof text, "family FAMILY defaults_family\n.targets = sm_90a\n%s\n", cases[i].text);
        manifest(text);
        ck_assert_int_eq(warm(in_root("cache"), &two, &h, &r, &err), SETT_E_COMPILE);
        ck_assert_msg(strstr(err.text, "sett_warm: 1 of 1 kernels were not made; the first: ") == err.text, "%s", err.text);
        ck_assert_msg(strstr(err.text, " for sm_90a (") && strstr(err.text, h.error), "%s\n%s", err.text, h.error);
        ck_assert_msg(strstr(h.error, cases[i].why) != NULL, "%s", h.error);
    }
    unsetenv("SETT_TEST_ONCE");
}
END_TEST

SUITE_IN_ROOT(warm, keys_of_a_family, shapes_by_target, keys_are_those_of_compiling, errors_of_a_manifest, misuse, makes_what_is_missing,
    shards_merge_to_one_run, a_crash_costs_one_kernel, exact_toolchain, why_kernels_fail)
