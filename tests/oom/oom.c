/* SPDX-License-Identifier: Apache-2.0 */
/* Out of memory at every allocation, once and from there on, on every public way: recording of each example,
 * compiling for both engines, disk, tapes, launches, calls, functions. The Makefile links sett's own objects, the
 * plug-in's among them, with the functions that allocate renamed to those below, so that what LLVM and libc take for
 * themselves does not count. Each try must end in success or SETT_E_MEMORY, give back all memory, and leave the cache
 * sound. What LLVM takes fails by itself, each time in a process of its own, which must live. */
#define SETT_SHORT
#include "jit/support/finding_store.h"
#include "tests/rig/folder.h"
#include "tests/rig/limits.h"
#include "tests/oom/oom_alloc.h"
#include "tests/oom/oom_bodies.h"
#include <errno.h>
#include <pthread.h>
#include <sett/kernels.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- a folder: cache/, and an assembler that is a script ------------------------------------------ */
static char root[64], cache[100], ptxas[100];

static bool write_file(const char *path, const void *data, size_t len)
{
    FILE *f = fopen(path, "wb");
    bool ok = f && fwrite(data, 1, len, f) == len;
    return f && !fclose(f) && ok && !chmod(path, 0700);
}

static bool make_root(void)
{
    char script[600], cubin[100];
    unsigned char elf[64] = {0x7F, 'E', 'L', 'F', 2, 1, 1, [18] = 190, [20] = 1, [52] = 64};
    if (!folder_make(root))
        return false;
    snprintf(cache, sizeof cache, "%s/cache", root);
    snprintf(ptxas, sizeof ptxas, "%s/ptxas", root);
    snprintf(cubin, sizeof cubin, "%s/cubin", root);
    int n = snprintf(script, sizeof script,
        "#!/bin/sh\n[ \"$1\" = --version ] && echo 'release 13.0, V13.0.99' && exit\n"
        "echo 'ptxas info    : Used 24 registers'\nexec /bin/cp %s sett.cubin\n",
        cubin);
    return write_file(ptxas, script, (size_t)n) && write_file(cubin, elf, sizeof elf);
}

/* ---- what is tried -------------------------------------------------------------------------------- */
typedef struct example {
    const char *name;
    sett_body body; /* NULL: user is a given_tape */
    const void *user;
} example;

typedef struct given_tape {
    const char *text;
    sett_dtype dtype; /* of A's 1024 elements */
    float first; /* of D, where A's bytes are those of 1.0f */
} given_tape;

static const sett_elementwise_options relu = {.size = sizeof relu, .dtype = SETT_F16, .op = SETT_MUL, .relu = 1};
static const sett_elementwise_options exact = {.size = sizeof exact, .dtype = SETT_F16, .exact = 1};
static const sett_softmax_options rows = {.size = sizeof rows, .dtype = SETT_BF16, .cols = 511, .tuning = {.threads = 64}};
static const sett_rms_norm_options rms = {.size = sizeof rms, .dtype = SETT_F16, .cols = 100, .residual = 1};
static const sett_rms_norm_options shared = {.size = sizeof shared, .dtype = SETT_F32, .cols = 512};
static const sett_layer_norm_options layer = {.size = sizeof layer, .dtype = SETT_F32, .cols = 100, .residual = 1};
static const sett_vector_reduce_options vector = {.size = sizeof vector, .dtype = SETT_F32, .tuning = {.threads = 32, .blocks = 32, .vectors_per_thread = 1}};
static const sett_row_reduce_options row = {.size = sizeof row, .dtype = SETT_F32, .op = SETT_MAX, .tuning = {.threads = 32, .vectors_per_thread = 1}};
static const sett_transpose_options tiles = {.size = sizeof tiles, .dtype = SETT_F32, .tuning = {.tile = 16}};
static const sett_dequantise_options nibbles = {.size = sizeof nibbles, .dtype = SETT_BF16};
static const sett_axpy_options axpy = {.size = sizeof axpy, .dtype = SETT_F32};
static const given_tape boxes = {oom_boxes, SETT_F32, 1}, products = {oom_products, SETT_F16, 56.25f};
static const example kernels[] = {{"hello", oom_hello, NULL}, {"elementwise", sett_elementwise, &relu}, {"exact", sett_elementwise, &exact},
    {"transpose", sett_transpose, &tiles}, {"row_reduce", sett_row_reduce, &row}, {"softmax", sett_softmax, &rows}, {"saxpy", sett_axpy, &axpy},
    {"rms_norm", sett_rms_norm, &rms}, {"shared", sett_rms_norm, &shared}, {"layer_norm", sett_layer_norm, &layer}, {"reduce", sett_vector_reduce, &vector},
    {"dequantise", sett_dequantise, &nibbles}, {"structs", oom_structs, NULL}, {"atoms", oom_atoms, NULL}, {"rings", oom_rings, NULL}, {"dividing", oom_dividing, NULL}, {"relying", oom_relying, NULL},
    {"looping", oom_looping, NULL}, {"packing", oom_packing, NULL}, {"inlining", oom_inlining, NULL}, {"maps", oom_maps, NULL},
    {"boxes", NULL, &boxes}, {"products", NULL, &products}};

/* The first failure of a try; later steps are left out. */
#define STEP(call) \
    do { \
        if (!s) \
            s = (call); \
    } while (0)

static sett_compile_options options_of(const example *k, const char *target)
{
    return (sett_compile_options){.size = sizeof(sett_compile_options), .name = k->name, .user = k->body ? k->user : NULL, .target = target,
                                  .asserts = SETT_ASSERTS_ON};
}

static sett_status open_engine(sett_engine **e, bool disk, bool sealed, sett_error *err)
{
    sett_engine_options o = {.size = sizeof o, .cache_dir = disk ? cache : "", .sealed = sealed, .no_gpu = true,
        .cpu_threads = 2, .assembler = SETT_ASM_PTXAS, .ptxas = ptxas};
    return sett_engine_open(e, &o, err);
}

static sett_status compile(sett_engine *e, const example *k, const sett_compile_options *o, sett_kernel **out, sett_error *err)
{
    if (k->body)
        return sett_compile(e, k->body, o, out, err);
    const given_tape *t = k->user;
    return sett_compile_tape(e, t->text, strlen(t->text), o, out, err);
}

static sett_status try_record(const example *k, sett_error *err)
{
    sett_compile_options o = options_of(k, NULL);
    void *tape;
    size_t len;
    sett_status s = sett_record(k->body, &o, true, &tape, &len, err);
    sett_text_free(tape);
    STEP(sett_record(k->body, &o, false, &tape, &len, err));
    if (!s)
        sett_text_free(tape);
    return s;
}

static sett_status compile_only(const example *k, const char *target, bool disk, bool line_info, sett_error *err)
{
    static size_t whole; /* length of the report when nothing is short: it comes in full or not at all */
    sett_compile_options o = options_of(k, target);
    sett_engine *e;
    sett_kernel *kernel = NULL, *again = NULL;
    o.line_info = line_info;
    sett_status s = open_engine(&e, disk, false, err);
    STEP(compile(e, k, &o, &kernel, err));
    STEP(compile(e, k, &o, &again, err));
    if (!s) {
        sett_kernel_info info = {.size = sizeof info};
        sett_param_info first = {.size = sizeof first}; /* of a GPU's kernel it is made now */
        s = sett_kernel_params(kernel) ? sett_kernel_param(kernel, 0, &first) : sett_kernel_query(kernel, &info);
        STEP(sett_kernel_query(kernel, &info));
        whole = s || oom_fail_at ? whole : strlen(info.report);
        s = s || strlen(info.report) == whole ? s : SETT_E_INTERNAL;
    }
    sett_kernel_release(kernel), sett_kernel_release(again);
    sett_engine_close(e);
    return s;
}

static sett_status try_cpu(const example *k, sett_error *err)
{
    return compile_only(k, "cpu", false, false, err);
}

static sett_status try_gpu(const example *k, sett_error *err)
{
    return compile_only(k, "sm_90a", true, true, err);
}

/* Pictures and facts, of more cells than a build's reserve holds; a text comes in full or not at all. */
static sett_status try_picture(const example *k, sett_error *err)
{
    static size_t whole;
    (void)k;
    sett_build *b = sett_build_begin();
    if (!b)
        return SETT_E_MEMORY;
    sett_layout *a = sett_row_major(b, 64, 64), *r = sett_zipped_divide(a, T(8, 16));
    size_t len = strlen(sett_layout_svg(r, .draw = SETT_DRAW_DIVIDE, .a = a, .b = T(8, 16)));
    len += strlen(sett_layout_html(sett_make_swizzled(3, 0, 3, a), .draw = SETT_DRAW_SWIZZLE));
    len += strlen(sett_layout_text(sett_make_layout(b, T(32, 128)), .tiler = T(64, 64), .tensor = a));
    len += strlen(sett_access_cost(r, .dtype = SETT_F32)->alignment);
    sett_status s = sett_build_end(b, err);
    whole = oom_fail_at ? whole : len;
    return s || len == whole ? s : SETT_E_INTERNAL;
}

/* The tape's bytes and text as they come from another process. */
static sett_status try_tape(const example *k, sett_error *err)
{
    sett_engine *e;
    sett_kernel *kernel = NULL;
    void *tape = NULL, *again = NULL;
    size_t len = 0;
    sett_compile_options o = options_of(k, "cpu");
    sett_status s = open_engine(&e, false, false, err);
    for (int text = 0; text < 2; text++) {
        STEP(sett_record(k->body, &o, text, &tape, &len, err));
        STEP(sett_compile_tape(e, tape, len, &o, &kernel, err));
        STEP(sett_kernel_tape(kernel, text, &again, &len, err));
        sett_kernel_release(kernel);
        sett_text_free(tape);
        sett_text_free(again);
        kernel = NULL, tape = again = NULL;
    }
    sett_engine_close(e);
    return s;
}

/* From a cache that is warm: the compiler is not asked, and a lack of memory is not taken for a miss. */
static sett_status try_warm(const example *k, sett_error *err)
{
    sett_compile_options o = options_of(k, "sm_90a");
    sett_engine *e;
    sett_kernel *kernel = NULL, *same = NULL;
    uint8_t key[32];
    o.line_info = true;
    sett_status s = open_engine(&e, true, true, err);
    STEP(sett_key(e, k->body, &o, key, err));
    STEP(sett_kernel_get(e, key, &kernel, err));
    sett_kernel_release(kernel);
    sett_engine_close(e);
    e = NULL;
    STEP(open_engine(&e, true, true, err));
    STEP(sett_compile(e, k->body, &o, &same, err));
    sett_kernel_release(same);
    sett_engine_close(e);
    return s;
}

static bool see(void *user, const sett_cache_entry *entry)
{
    *(int *)user += !entry->damage;
    return true;
}

/* The warm cache to a pack, and the pack into a folder. */
static sett_status try_pack(sett_error *err)
{
    char pack[120], own[120];
    uint64_t in = 0, out = 0;
    sett_engine *e = NULL;
    snprintf(pack, sizeof pack, "%s/p.settpack", root);
    snprintf(own, sizeof own, "%s/unpacked", root);
    sett_engine_options eo = {.size = sizeof eo, .cache_layers = cache, .cache_dir = "", .no_gpu = true};
    sett_status s = sett_engine_open(&e, &eo, err);
    STEP(sett_pack_write(e, pack, NULL, &in, err));
    sett_engine_close(e);
    e = NULL;
    eo.cache_layers = pack, eo.cache_dir = own;
    STEP(sett_engine_open(&e, &eo, err));
    STEP(sett_pack_unpack(e, &out, err));
    STEP(in && in == out ? SETT_OK : SETT_E_INTERNAL);
    sett_engine_close(e);
    return s;
}

static bool count_sound(void *user, const sett_warm_event *event)
{
    *(int *)user += !event->status;
    return true;
}

/* The keys of a manifest: of the kernel's tape, for two targets, and once more. */
static sett_status try_manifest(const example *k, sett_error *err)
{
    char path[120], text[400];
    const sett_warm_options o = {.size = sizeof o, .targets = "sm_120a,sm_90a", .shards = 1};
    sett_compile_options co = options_of(k, "sm_90a");
    sett_engine *e = NULL;
    void *tape = NULL;
    size_t len = 0;
    int sound = 0;
    sett_status s = sett_record(k->body, &co, false, &tape, &len, err);
    if (s)
        return s;
    snprintf(path, sizeof path, "%s/k.tape", root);
    FILE *f = fopen(path, "wb");
    fwrite(tape, 1, len, f), fclose(f);
    sett_text_free(tape);
    int n = snprintf(text, sizeof text, "tape k.tape\n .name = k\ntape %s\n .targets = sm_90a, sm_100a\n", path);
    snprintf(path, sizeof path, "%s/k.warm", root);
    f = fopen(path, "wb");
    fwrite(text, 1, (size_t)n, f), fclose(f);
    STEP(open_engine(&e, false, false, err));
    STEP(sett_family_keys(e, path, &o, count_sound, &sound, err));
    STEP(sound == 3 ? SETT_OK : SETT_E_INTERNAL);
    sett_engine_close(e);
    return s;
}

/* The warm cache as a layer under an empty folder: found, looked through, compared with itself, trimmed. */
static sett_status try_cache(const example *k, sett_error *err)
{
    char own[120], text[256];
    sett_compile_options o = options_of(k, "sm_90a");
    sett_engine *e = NULL;
    uint8_t key[32];
    int seen = 0;
    o.line_info = true;
    snprintf(own, sizeof own, "%s/own", root);
    sett_engine_options eo = {.size = sizeof eo, .cache_layers = cache, .cache_dir = own, .sealed = true, .no_gpu = true};
    sett_status s = sett_engine_open(&e, &eo, err);
    STEP(sett_key(e, k->body, &o, key, err));
    STEP(sett_cache_walk(e, see, &seen, err));
    STEP(seen ? SETT_OK : SETT_E_INTERNAL);
    STEP(sett_cache_explain(e, key, key, text, sizeof text, err) ? err->status : SETT_OK);
    STEP((sett_engine_seal(e, false), sett_cache_trim(e, 0, NULL, err))); /* a sealed one trims nothing */
    sett_engine_close(e);
    return s ? s : try_pack(err);
}

static sett_status export_one(sett_kernel *kernel, size_t *len, sett_error *err)
{
    const sett_export_options o = {.size = sizeof o, .name = "x", .tvm_ffi = true};
    const sett_export_kernel one = {"f", kernel};
    char *header = NULL, *source = NULL;
    sett_status s = sett_export(&one, 1, &o, &header, &source, err);
    if (!s)
        *len = strlen(header) + strlen(source);
    else if (header || source)
        s = SETT_E_INTERNAL;
    sett_text_free(header), sett_text_free(source);
    return s;
}

/* Both files in full, or none. */
static sett_status try_export(const example *k, sett_error *err)
{
    sett_compile_options o = options_of(k, "sm_90a");
    sett_engine *e;
    sett_kernel *kernel = NULL;
    size_t len = 0, whole = 0;
    o.line_info = true;
    sett_status s = open_engine(&e, true, true, err);
    STEP(compile(e, k, &o, &kernel, err));
    STEP(export_one(kernel, &len, err));
    const long at = oom_fail_at, counted = oom_count;
    oom_fail_at = 0;
    STEP(export_one(kernel, &whole, err));
    oom_count = counted;
    oom_fail_at = at;
    sett_kernel_release(kernel);
    sett_engine_close(e);
    return s || (len == whole && len) ? s : SETT_E_INTERNAL;
}

/* A remote where nobody answers: told so, and that is all. */
static sett_status ask_nobody(const example *k, const char *url, sett_error *err)
{
    char text[8192];
    sett_compile_options o = options_of(k, "sm_90a");
    sett_engine *e = NULL;
    sett_kernel *kernel = NULL;
    uint8_t key[32];
    sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .cache_remote = url, .no_gpu = true};
    sett_status s = sett_engine_open(&e, &eo, err);
    STEP(sett_key(e, k->body, &o, key, err));
    for (int i = 0; i < 2 && !s; i++) { /* the second finds it left alone */
        s = sett_kernel_get(e, key, &kernel, err);
        s = s == SETT_E_NOT_CACHED ? SETT_OK : s ? s : SETT_E_INTERNAL;
    }
    if (!s)
        sett_engine_describe(e, text, sizeof text);
    sett_engine_close(e);
    return s;
}

static sett_status try_remote(const example *k, sett_error *err)
{
    sett_status s = ask_nobody(k, "http://user:pw@127.0.0.1:1/x|trusted|failures=1", err);
    return s ? s : ask_nobody(k, "redis://:pw@127.0.0.1:1/2|trusted|failures=1|prefix=k:", err);
}

/* Enough names that the tables grow. */
static sett_status plan(sett_kernel *k, const sett_buf *X, const sett_buf *Y, sett_error *err)
{
    sett_graph *p = NULL;
    char name[8];
    sett_buf own = *Y;
    if (!(own.data = calloc((size_t)Y->shape[0], sizeof(float))))
        return SETT_E_INTERNAL;
    sett_status s = sett_graph_make(SETT_CPU, NULL, &p, err);
    for (int i = 0; i < 40 && !s; i++) {
        snprintf(name, sizeof name, "a%d", i);
        s = sett_graph_add(p, k, i ? NULL : "first", err, X, "Y", name);
        if (!s)
            sett_graph_set(p, name, 0.25);
    }
    if (!s)
        sett_graph_set(p, "Y", &own);
    STEP(sett_graph_commit(p, err));
    STEP(sett_graph_run(p, (sett_stream){SETT_CPU, NULL}, err));
    sett_graph_free(p);
    free(own.data);
    return s;
}

static sett_status launch_all_ways(sett_engine *e, sett_kernel *k, const sett_buf *X, const sett_buf *Y, sett_error *err)
{
    const sett_stream cpu = {SETT_CPU, NULL};
    sett_prepared *call = NULL;
    sett_function *f = NULL;
    void (*enter)(void) = NULL;
    char text[4096];
    sett_status s = sett_launch(k, cpu, err, X, Y, 2.0);
    STEP(sett_prepared_make(k, SETT_CPU, &call, err, X, Y, 2.0));
    if (!s)
        sett_prepared_float(call, 2, 3.0);
    STEP(sett_prepared_commit(call, err));
    STEP(sett_prepared_run(call, cpu));
    STEP(sett_kernel_function(k, cpu, &f, &enter, err));
    STEP(((sett_status(*)(const sett_buf *, const sett_buf *, float))enter)(X, Y, 4.0f));
    const sett_benchmark_options few = {.size = sizeof few, .warmup = 1, .iterations = 2, .workspaces = 2};
    sett_benchmark_result times = {.size = sizeof times};
    STEP(sett_benchmark(k, cpu, &few, &times, err, X, Y, 5.0)); /* on copies */
    STEP(plan(k, X, Y, err));
    sett_prepared_free(call);
    sett_function_free(f);
    sett_engine_describe(e, text, sizeof text);
    return s;
}

/* What the CPU engine runs of tapes. */
static sett_status launch_tape(const example *k, const sett_check_options *how, sett_error *err)
{
    const given_tape *t = k->user;
    float a[1024], d[1024] = {0};
    sett_compile_options o = options_of(k, "cpu");
    sett_engine *e;
    sett_kernel *kernel = NULL;
    for (int i = 0; i < 1024; i++)
        a[i] = 1;
    sett_status s = open_engine(&e, false, false, err);
    const sett_buf A = sett_buf_1d(a, t->dtype, 1024), D = sett_buf_1d(d, SETT_F32, 1024);
    STEP(compile(e, k, &o, &kernel, err));
    STEP(how ? sett_check(kernel, how, err, &A, &D) : sett_launch(kernel, sett_stream_of(SETT_CPU, NULL), err, &A, &D));
    if (!s && d[0] != t->first)
        s = SETT_E_INTERNAL;
    sett_kernel_release(kernel);
    sett_engine_close(e);
    return s;
}

static sett_status try_together(const example *k, sett_error *err)
{
    return launch_tape(k, NULL, err);
}

static void count_finding(void *user, const sett_finding *f)
{
    (void)f;
    ++*(int *)user;
}

/* A checked launch that ends well has told all that it tells when nothing is short, whether there was memory to keep it or not. */
static sett_status try_checked(const example *k, sett_error *err)
{
    static int all;
    (void)k;
    int found = 0;
    int32_t y[256] = {0};
    sett_engine *e;
    sett_kernel *kernel = NULL;
    const sett_compile_options o = {.size = sizeof o, .target = "cpu"};
    const sett_check_options how = {.size = sizeof how, .checks = SETT_CHECKS_ALL, .finding = count_finding, .user = &found};
    const sett_buf Y = sett_buf_1d(y, SETT_I32, 256);
    sett_status s = open_engine(&e, false, false, err);
    STEP(sett_compile(e, oom_wrong, &o, &kernel, err));
    STEP(sett_check(kernel, &how, err, &Y));
    all = all ? all : found;
    if (!s && (found < all || found < 5))
        s = SETT_E_INTERNAL;
    sett_kernel_release(kernel);
    sett_engine_close(e);
    sett__findings_forget();
    return s;
}

/* Nothing is found because something is not remembered. */
static sett_status try_right(const example *k, sett_error *err)
{
    int found = 0;
    const sett_status s = launch_tape(k, &(sett_check_options){.size = sizeof(sett_check_options), .checks = SETT_CHECKS_ERRORS, .finding = count_finding, .user = &found}, err);
    sett__findings_forget();
    return !s && found ? SETT_E_INTERNAL : s;
}

static sett_status try_launch(const example *k, sett_error *err)
{
    enum { N = 3000 };
    sett_compile_options o = options_of(k, "cpu");
    sett_engine *e;
    sett_kernel *first = NULL, *second = NULL;
    float *x = NULL, *y = NULL;
    o.user_size = sizeof axpy; /* to remember it by */
    sett_status s = open_engine(&e, false, false, err);
    STEP(sett_compile(e, k->body, &o, &first, err));
    STEP(sett_compile(e, k->body, &o, &second, err));
    STEP((x = sett_alloc(e, SETT_CPU, N * sizeof *x)) ? SETT_OK : SETT_E_MEMORY);
    STEP((y = sett_alloc(e, SETT_CPU, N * sizeof *y)) ? SETT_OK : SETT_E_MEMORY);
    for (int i = 0; i < N && y; i++)
        x[i] = (float)i, y[i] = 1;
    if (!s) {
        const sett_buf X = sett_buf_1d(x, SETT_F32, N), Y = sett_buf_1d(y, SETT_F32, N);
        s = launch_all_ways(e, second, &X, &Y, err);
        for (int i = 0; i < N && !s; i++)
            if (y[i] != 9.0f * (float)i + 1)
                s = SETT_E_INTERNAL;
    }
    if (x)
        sett_free(e, SETT_CPU, x);
    if (y)
        sett_free(e, SETT_CPU, y);
    sett_kernel_release(first);
    sett_kernel_release(second);
    sett_engine_close(e);
    return s;
}

/* A body that reads more than its user bytes, of which it is given the first. */
static sett_status try_verify(const example *k, sett_error *err)
{
    const sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true, .verify_user = true};
    sett_compile_options o = options_of(k, "cpu");
    sett_axpy_options read = axpy;
    sett_engine *e = NULL;
    sett_kernel *made[3] = {NULL, NULL, NULL};
    o.user = &read;
    o.user_size = 1;
    sett_status s = sett_engine_open(&e, &eo, err);
    for (int i = 0; i < 2; i++)
        STEP(sett_compile(e, k->body, &o, &made[i], err));
    read.tuning.threads = 64;
    if (!s) {
        s = sett_compile(e, k->body, &o, &made[2], err);
        s = s == SETT_E_ARGUMENT ? SETT_OK : s ? s : SETT_E_INTERNAL;
    }
    for (int i = 0; i < 3; i++)
        sett_kernel_release(made[i]);
    sett_engine_close(e);
    return s;
}

/* ---- every allocation in turn ----------------------------------------------------------------------- */
/* What a try left on disk is sound or not there. */
static bool cache_intact(const example *k)
{
    sett_compile_options o = options_of(k, "sm_90a");
    sett_engine *e;
    sett_kernel *kernel = NULL;
    sett_stats st = {.size = sizeof st};
    o.line_info = true;
    if (open_engine(&e, true, true, NULL))
        return false;
    sett_status s = compile(e, k, &o, &kernel, NULL);
    sett_engine_stats(e, &st);
    sett_kernel_release(kernel);
    sett_engine_close(e);
    return (s == SETT_OK || s == SETT_E_NOT_CACHED) && !st.refusals;
}

typedef sett_status try_fn(const example *, sett_error *);
typedef struct scenario {
    const char *name;
    try_fn *fn, *warms;  /* what is done once before; NULL: the same */
    bool compiles, cold; /* needs the plug-in; starts with an empty cache */
    enum { ANY_BODY, TWO_BODIES, SAXPY, TAPES, TWO_AND_TAPES } of; /* what differs by kernel another scenario has tried */
} scenario;

static bool tries(const scenario *sc, const example *k)
{
    bool two = !strcmp(k->name, "hello") || !strcmp(k->name, "row_reduce");
    switch (sc->of) {
    case ANY_BODY: return k->body;
    case TWO_BODIES: return two;
    case SAXPY: return !strcmp(k->name, "saxpy");
    case TAPES: return !k->body;
    default: return two || !k->body;
    }
}

static int complain(const scenario *sc, const example *k, long n, const char *what, const sett_error *err)
{
    fprintf(stderr, "oom: %s %s: allocation %ld%s: %s%s%s\n", sc->name, k->name, n, oom_for_ever ? " and all after" : "",
        what, err->status ? ": " : "", err->status ? err->text : "");
    return 1;
}

/* True: allocation n was made, so that there may be one more. */
static bool one_try(const scenario *sc, const example *k, long n, int *failures)
{
    sett_error err = {0};
    if (sc->cold)
        folder_remove(cache);
    long before = oom_live;
    oom_count = 0;
    oom_fail_at = n;
    sett_status s = sc->fn(k, &err);
    oom_fail_at = 0;
    bool reached = n && oom_count >= n;
    if (s != SETT_OK && (s != SETT_E_MEMORY || !reached))
        *failures += complain(sc, k, n, sett_status_name(s), &err);
    if (s && err.status && err.status != s)
        *failures += complain(sc, k, n, "another status in the error", &err);
    if (oom_live != before)
        *failures += complain(sc, k, n, "memory was not given back", &err);
    if (sc->compiles && !cache_intact(k))
        *failures += complain(sc, k, n, "the cache is damaged", &err);
    return reached;
}

static int campaign(const scenario *sc, const example *k)
{
    int failures = 0;
    long n = 0;
    oom_for_ever = false;
    one_try(sc->warms ? &(scenario){"fill", sc->warms, NULL, true, true, ANY_BODY} : sc, k, 0, &failures);
    for (int both = 0; both < 2 && failures < 10; both++) {
        oom_for_ever = both;
        for (n = 1; one_try(sc, k, n, &failures) && failures < 10; n++)
            ;
    }
    oom_for_ever = false;
    one_try(sc, k, 0, &failures);
    printf("oom: %-7s %-14s %4ld allocations%s\n", sc->name, k->name, n - 1, failures ? ": FAILED" : "");
    return failures != 0;
}

/* ---- what LLVM takes ---------------------------------------------------------------------------------- */
typedef struct llvm_seen {
    long opened, all; /* its allocations until it is open, and until it has compiled */
    char wrong[600];  /* "" : nothing */
} llvm_seen;

static sett_status compile_ptx(sett_engine *e, const char *target, sett_error *err)
{
    sett_compile_options o = {.size = sizeof o, .name = "saxpy", .user = &axpy, .target = target, .ptx_only = true};
    sett_kernel *k = NULL;
    sett_status s = sett_compile(e, sett_axpy, &o, &k, err);
    sett_kernel_release(k);
    return s;
}

static bool beside; /* another thread compiles at the same time */
static void *compile_beside(void *e)
{
    compile_ptx(e, "sm_100a", NULL);
    return NULL;
}

/* In a process of its own: LLVM is opened and compiles; its allocation n is denied. */
static void without(long n, llvm_seen *seen)
{
    sett_engine *e;
    sett_error err = {0}, then = {0};
    char text[8192];
    limit_cpu(60);
    if (open_engine(&e, false, false, &err))
        _exit(1);
    oom_llvm_count = 0;
    oom_llvm_fail_at = n;
    sett_engine_describe(e, text, sizeof text);
    seen->opened = oom_llvm_count;
    pthread_t other;
    if (beside && pthread_create(&other, NULL, compile_beside, e))
        _exit(1);
    sett_status s = compile_ptx(e, "sm_90a", &err), again;
    if (beside) { /* either may be the one that fails; both end */
        pthread_join(other, NULL);
        _exit(s != SETT_OK && s != SETT_E_MEMORY && s != SETT_E_NO_COMPILER);
    }
    seen->all = oom_llvm_count;
    oom_llvm_fail_at = 0;
    again = compile_ptx(e, "sm_80", &then);
    bool fine = s == SETT_OK && again == SETT_OK && !(oom_for_ever && n);
    bool failed = s == SETT_E_MEMORY && n && !strcmp(err.text, "saxpy: the compiler failed: out of memory") &&
                  again == SETT_E_NO_COMPILER && strstr(then.text, "is not used again: out of memory");
    bool spared = (s == SETT_E_NO_COMPILER ? strstr(err.text, "or there is no memory for it") != NULL
                                           : s == SETT_E_MEMORY && !strcmp(err.text, "out of memory")) && n && again == SETT_OK;
    if (!fine && !failed && !spared)
        snprintf(seen->wrong, sizeof seen->wrong, "%s, then %s: %.200s, then %.200s", sett_status_name(s),
            sett_status_name(again), err.text, then.text);
    sett_engine_close(e);
    _exit(0);
}

static bool one_without(long n, llvm_seen *seen)
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (!child)
        without(n, seen);
    if (child < 0 || waitpid(child, &status, 0) != child)
        return false;
    if (!status && !seen->wrong[0])
        return true;
    fprintf(stderr, "oom: LLVM's allocation %ld%s: status %x %s\n", n, oom_for_ever ? " and all after" : "", status, seen->wrong);
    return false;
}

/* Every allocation of some, spread over opening and compiling, and each of the last, which the PTX is written to: once, from
 * there on, and once with a second compile beside. */
static bool llvm_campaign(void)
{
    enum { SPREAD = 40, LAST = 8 };
    llvm_seen *seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bool ok = seen != MAP_FAILED && one_without(0, seen) && seen->opened && seen->all > seen->opened;
    if (!ok)
        return false;
    const long opened = seen->opened, all = seen->all;
    for (int mode = 0; mode < 3; mode++)
        for (int i = mode < 2 ? 0 : SPREAD; i < 2 * SPREAD + LAST && ok; i++) {
            oom_for_ever = mode == 1;
            beside = mode == 2;
            ok = one_without(i < SPREAD ? 1 + i * opened / SPREAD
                    : i < 2 * SPREAD ? 1 + opened + (i - SPREAD) * (all - opened) / SPREAD
                                     : all - (i - 2 * SPREAD), seen);
        }
    oom_for_ever = beside = false;
    munmap(seen, sizeof *seen);
    printf("oom: llvm    saxpy          %4d of %ld and %ld allocations%s\n", 5 * SPREAD + 3 * LAST, opened, all - opened, ok ? "" : ": FAILED");
    return ok;
}

static bool have_compiler(void)
{
    sett_engine *e;
    char text[8192];
    if (open_engine(&e, false, false, NULL))
        return false;
    sett_engine_describe(e, text, sizeof text);
    sett_engine_close(e);
    const char *none = strstr(text, "compiler: none");
    if (none)
        fprintf(stderr, "oom: compiling is left out: %s", none);
    return !none;
}

/* oom [scenario]: all of them, or one */
int main(int argc, char **argv)
{
    static const scenario all[] = {{"record", try_record, NULL, false, false, ANY_BODY}, {"cpu", try_cpu, NULL, false, false, ANY_BODY},
        {"tape", try_tape, NULL, false, false, TWO_BODIES}, {"launch", try_launch, NULL, false, false, SAXPY}, {"verify", try_verify, NULL, false, false, SAXPY},
        {"checked", try_checked, NULL, false, false, SAXPY}, {"right", try_right, NULL, false, false, TAPES},
        {"together", try_together, NULL, false, false, TAPES}, {"picture", try_picture, NULL, false, false, SAXPY},
        {"keys", try_manifest, NULL, false, false, ANY_BODY}, {"gpu", try_gpu, NULL, true, true, TWO_AND_TAPES},
        {"warm", try_warm, try_gpu, true, false, TWO_BODIES}, {"cache", try_cache, try_gpu, true, false, TWO_BODIES},
        {"remote", try_remote, NULL, false, false, SAXPY}, {"export", try_export, try_gpu, true, false, TWO_AND_TAPES}};
    int failed = 0, passed = 0;
    if (!make_root())
        return 1;
    watch_begin();
    pid_t child = fork(); /* it opens LLVM, which must not be open in the children of llvm_campaign() */
    if (!child)
        _exit(!have_compiler());
    int none = 1;
    bool compiler = waitpid(child, &none, 0) == child && !none;
    if (compiler && (argc == 1 || !strcmp(argv[1], "llvm"))) {
        bool ok = llvm_campaign();
        failed += !ok;
        passed += ok;
    }
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
            if ((argc > 1 && strcmp(argv[1], all[i].name)) || (all[i].compiles && !compiler) || !tries(&all[i], &kernels[k]))
                continue;
            int bad = campaign(&all[i], &kernels[k]);
            failed += bad;
            passed += !bad;
        }
    watch_end();
    folder_remove(root);
    printf("oom: %d passed, %d failed\n", passed, failed);
    return failed || !passed;
}
