/* SPDX-License-Identifier: Apache-2.0 */
/* The engine from opening to closing: keys, memory, disk and compiler in their order, one compile for many who
 * ask, damage healed, failures kept from the process. The assembler is a script, so that nothing here
 * depends on a toolkit; the compiler is the plug-in that was built beside. */
#define SETT_SHORT
#include "../jit/jit.h"
#include <check.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct variant {
    int64_t columns, block; /* columns 0: dynamic. No padding: the memo compares bytes */
    double factor;
} variant;

/* Y = factor * X, row by row. */
static void scale(sett_build *b, const void *user)
{
    static const variant plain = {0, 64, 2.0};
    const variant *v = user ? user : &plain;
    sett_val *M = sett_sym(b, "M"), *N = sett_sym(b, "N");
    sett_layout *l = v->columns ? sett_row_major(b, M, v->columns) : sett_row_major(b, M, N);
    sett_tensor *X = sett_param(b, "X", SETT_F32, l), *Y = sett_param(b, "Y", SETT_F32, l);
    sett_grid(b, M);
    sett_block(b, v->block);
    sett_val *row = sett_block_idx(b, 0), *j = sett_thread_idx(b, 0);
    sett_if (b, v->columns ? sett_lt(j, v->columns) : sett_lt(j, N))
        sett_set(Y, sett_mul(sett_at(X, row, j), v->factor), row, j);
}

static void broken(sett_build *b, const void *user)
{
    (void)user;
    sett_param(b, "X", SETT_F32, sett_row_major(b, 4, 0));
    sett_sym(b, "");
}

/* ---- a folder for each test: cache/, the assembler, what it gives out ------------------------- */
static char root[64];

static void remove_tree(const char *path)
{
    DIR *dir = opendir(path);
    for (struct dirent *d; dir && (d = readdir(dir));) {
        char below[600];
        struct stat st;
        if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
            continue;
        snprintf(below, sizeof below, "%s/%s", path, d->d_name);
        if (!lstat(below, &st) && S_ISDIR(st.st_mode))
            remove_tree(below);
        else
            unlink(below);
    }
    if (dir)
        closedir(dir);
    rmdir(path);
}

static const char *in_root(const char *name)
{
    static char path[8][200];
    static int next;
    next = (next + 1) % 8;
    snprintf(path[next], sizeof path[next], "%s/%s", root, name);
    return path[next];
}

static void write_file(const char *path, const void *data, size_t len, mode_t mode)
{
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(data, 1, len, f), len);
    fclose(f);
    ck_assert_int_eq(chmod(path, mode), 0);
}

static size_t file_size(const char *path)
{
    struct stat st;
    return stat(path, &st) ? 0 : (size_t)st.st_size;
}

static void make_root(void)
{
    char script[1000];
    unsigned char elf[64] = {0x7F, 'E', 'L', 'F', 2, 1, [18] = 190};
    strcpy(root, "/tmp/sett-engine-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
    int n = snprintf(script, sizeof script,
        "#!/bin/sh\n"
        "if [ \"$1\" = --version ]; then echo 'release 13.0, V13.0.99'; exit 0; fi\n"
        "echo run >>%s/runs\n"
        "echo 'ptxas info    : Used 24 registers'\n"
        "while [ $# -gt 0 ]; do [ \"$1\" = -o ] && /bin/cat %s/cubin >\"$2\"; shift; done\n",
        root, root);
    write_file(in_root("ptxas"), script, (size_t)n, 0700);
    write_file(in_root("cubin"), elf, sizeof elf, 0600);
}

static void drop_root(void)
{
    remove_tree(root);
}

static int assembled(void)
{
    return (int)(file_size(in_root("runs")) / strlen("run\n"));
}

static sett_engine_options options(void)
{
    return (sett_engine_options){.size = sizeof(sett_engine_options),
        .cache_dir = in_root("cache"),
        .no_gpu = true,
        .cpu_threads = 4,
        .assembler = SETT_ASM_PTXAS,
        .ptxas = in_root("ptxas")};
}

static sett_engine *open_with(const sett_engine_options *o)
{
    sett_engine *e;
    sett_error err = {0};
    ck_assert_msg(!sett_engine_open(&e, o, &err), "%s", err.text);
    return e;
}

static sett_engine *open_engine(void)
{
    sett_engine_options o = options();
    return open_with(&o);
}

static const sett_compile_options sm90 = {.size = sizeof sm90, .name = "scale", .target = "sm_90a"};

static sett_kernel *compile(sett_engine *e, const sett_compile_options *o)
{
    sett_kernel *k = NULL;
    sett_error err = {0};
    ck_assert_msg(!sett_compile(e, scale, o, &k, &err), "%s", err.text);
    return k;
}

static sett_stats stats(const sett_engine *e)
{
    sett_stats s = {.size = sizeof s};
    sett_engine_stats(e, &s);
    return s;
}

/* Tests of what needs the plug-in end early, and say so, where it was not built. */
static bool have_compiler(void)
{
    sett_engine_options o = options();
    sett_engine *e = open_with(&o);
    char text[8192];
    sett_engine_describe(e, text, sizeof text);
    sett_engine_close(e);
    bool none = strstr(text, "compiler: none") != NULL;
    if (none)
        fprintf(stderr, "skipped, no compiler plug-in: %s", strstr(text, "compiler: none"));
    return !none;
}

/* ---- opening ------------------------------------------------------------------------------- */
START_TEST(open_refuses)
{
    struct {
        sett_engine_options o;
        int64_t more;
    } newer = {options(), 1};
    static const struct {
        const char *text;
        int which;
    } t[] = {{"sett_engine_options.size is 0; set it to sizeof(sett_engine_options)", 0},
        {"sett_engine_options has a field set that this version of sett (" SETT_VERSION ") does not know", 1},
        {"cache_dir is not an absolute path: some/where", 2}, {"cpu_threads -1 or check_level 0 is out of range", 3},
        {"assembler 9 is none of SETT_ASM_*", 4}};
    for (size_t i = 0; i < SETT__COUNT(t); i++) {
        sett_engine *e = (sett_engine *)&newer;
        sett_error err = {0};
        sett_engine_options o = options();
        if (t[i].which == 0)
            o.size = 0;
        if (t[i].which == 2)
            o.cache_dir = "some/where";
        if (t[i].which == 3)
            o.cpu_threads = -1;
        if (t[i].which == 4)
            o.assembler = (sett_assembler)9;
        newer.o.size = sizeof newer;
        ck_assert_int_eq(sett_engine_open(&e, t[i].which == 1 ? &newer.o : &o, &err), SETT_E_ARGUMENT);
        ck_assert_str_eq(err.text, t[i].text);
        ck_assert_ptr_null(e);
    }
    ck_assert_int_eq(sett_engine_open(NULL, NULL, NULL), SETT_E_ARGUMENT);
    sett_engine_close(NULL);
    newer.more = 0; /* a newer header whose new field is at its default */
    sett_engine_close(open_with(&newer.o));
}
END_TEST

static void keep_log(void *user, sett_log_level level, const char *component, const char *message)
{
    char *text = user;
    if (level <= SETT_LOG_WARNING)
        snprintf(text + strlen(text), 900 - strlen(text), "%s: %s\n", component, message);
}

/* A cache that cannot be had costs one line in the log and nothing else. */
START_TEST(memory_only)
{
    char log[1000] = "", text[8192];
    sett_engine_options o = options();
    o.cache_dir = in_root("cubin/below-a-file");
    o.log = keep_log;
    o.user = log;
    sett_engine *e = open_with(&o);
    ck_assert_ptr_eq(strstr(log, "cache: memory only: cannot make the cache folder"), log);
    ck_assert_ptr_eq(strchr(log, '\n'), log + strlen(log) - 1);
    sett_kernel *k = compile(e, NULL), *again = compile(e, NULL);
    ck_assert_ptr_eq(k, again);
    int n = sett_engine_describe(e, text, sizeof text);
    ck_assert_int_eq(n, (int)strlen(text));
    ck_assert_ptr_nonnull(strstr(text, "cache: memory only: cannot make"));
    ck_assert_ptr_nonnull(strstr(text, "driver: none: the engine was opened with .no_gpu"));
    ck_assert_int_eq(sett_engine_describe(e, text, 10), n);
    ck_assert_uint_eq(strlen(text), 9);
    sett_kernel_release(k);
    sett_kernel_release(again);
    sett_engine_close(e);
    o.cache_dir = "";
    log[0] = 0;
    sett_engine_close(open_with(&o));
    ck_assert_str_eq(log, "");
}
END_TEST

START_TEST(devices_and_memory)
{
    sett_engine *e = open_engine();
    char target[16] = "";
    const sett_stream cpu = {SETT_CPU, NULL}, gpu = {0, NULL};
    ck_assert_int_eq(sett_default_device(e), SETT_CPU);
    ck_assert_int_eq(sett_gpu_count(e), 0);
    ck_assert_int_eq(sett_device_target(e, SETT_DEFAULT_DEVICE, target, sizeof target), 3);
    ck_assert_str_eq(target, "cpu");
    ck_assert_int_lt(sett_device_target(e, 0, target, sizeof target), 0);
    ck_assert_int_lt(sett_device_target(e, -3, target, sizeof target), 0);
    unsigned char *p = sett_alloc(e, SETT_CPU, 1000), *q = sett_alloc(e, SETT_DEFAULT_DEVICE, 0);
    ck_assert_uint_eq((uintptr_t)p % 256, 0);
    ck_assert_ptr_nonnull(q);
    ck_assert_ptr_null(sett_alloc(e, SETT_CPU, SIZE_MAX));
    ck_assert_ptr_null(sett_alloc(e, SETT_CPU, SIZE_MAX / 2));
    ck_assert_ptr_null(sett_alloc(e, 0, 16));
    for (int i = 0; i < 1000; i++)
        p[i] = (unsigned char)i;
    ck_assert_int_eq(sett_memcpy(e, cpu, p + 1, p, 100), SETT_OK);
    ck_assert_uint_eq(p[100], 99);
    ck_assert_int_eq(sett_memcpy(e, cpu, NULL, p, 1), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_memcpy(e, cpu, NULL, NULL, 0), SETT_OK);
    ck_assert_int_eq(sett_memcpy(e, gpu, p, q, 1), SETT_E_NO_DEVICE);
    sett_error err = {0};
    ck_assert_int_eq(sett_sync_error(e, gpu, &err), SETT_E_NO_DEVICE);
    ck_assert_str_eq(err.text, "device 0: the engine was opened with .no_gpu");
    ck_assert_int_eq(sett_sync(e, cpu), SETT_OK);
    sett_free(e, SETT_CPU, p);
    sett_free(e, SETT_CPU, q);
    sett_free(e, SETT_CPU, NULL);
    sett_engine_close(e);
}
END_TEST

/* ---- keys -------------------------------------------------------------------------------------- */
static void key_of(sett_engine *e, const sett_compile_options *o, uint8_t key[32])
{
    sett_error err = {0};
    ck_assert_msg(!sett_key(e, scale, o, key, &err), "%s", err.text);
}

START_TEST(keys)
{
    static const variant narrow = {48, 64, 2.0}, block = {0, 128, 2.0}, factor = {0, 64, 3.0};
    const sett_compile_options same = {.size = sizeof same, .name = "other", .target = "sm_90a"};
    sett_compile_options other[] = {sm90, sm90, sm90, sm90, sm90, sm90, sm90};
    uint8_t base[32], key[SETT__COUNT(other)][32];
    sett_engine *e = open_engine();
    other[0].target = "sm_90";
    other[1].opt_level = 1;
    other[2].line_info = true;
    other[3].user = &narrow;
    other[4].user = &block;
    other[5].user = &factor;
    other[6].target = "cpu";
    key_of(e, &sm90, base);
    key_of(e, &same, key[0]); /* the name is not in it, and two builds agree */
    ck_assert_mem_eq(base, key[0], 32);
    other[1].opt_level = 3; /* the default, spelt out */
    key_of(e, &other[1], key[0]);
    ck_assert_mem_eq(base, key[0], 32);
    other[1].opt_level = 1;
    for (size_t i = 0; i < SETT__COUNT(other); i++) {
        key_of(e, &other[i], key[i]);
        ck_assert_msg(memcmp(key[i], base, 32) != 0, "change %zu leaves the key", i);
        for (size_t j = 0; j < i; j++)
            ck_assert_msg(memcmp(key[i], key[j], 32) != 0, "changes %zu and %zu give one key", i, j);
    }
    sett_engine_close(e);
}
END_TEST

/* A second process, started afresh (other addresses), forms the same key; so does the tape's text and bytes. */
START_TEST(keys_of_tapes)
{
    sett_engine *e = open_engine();
    uint8_t key[32];
    sett_compile_options o = {.size = sizeof o, .target = "cpu"};
    key_of(e, &o, key);
    for (int text = 0; text < 2; text++) {
        void *tape;
        size_t len;
        sett_error err = {0};
        sett_kernel *k;
        sett_kernel_info info = {.size = sizeof info};
        ck_assert_msg(!sett_record(scale, NULL, text, &tape, &len, &err), "%s", err.text);
        ck_assert_msg(!sett_compile_tape(e, tape, len, &o, &k, &err), "%s", err.text);
        ck_assert_int_eq(sett_kernel_query(k, &info), SETT_OK);
        ck_assert_mem_eq(info.key, key, 32);
        sett_kernel_release(k);
        sett_text_free(tape);
    }
    sett_engine_close(e);
}
END_TEST

/* ---- what compiling refuses -------------------------------------------------------------------------- */
START_TEST(compile_refuses)
{
    static const struct {
        sett_compile_options o;
        sett_status status;
        const char *text;
    } t[] = {
        {{.size = 0}, SETT_E_ARGUMENT, "sett_compile_options.size is 0; set it to sizeof(sett_compile_options)"},
        {{.size = sizeof(sett_compile_options), .name = ""}, SETT_E_ARGUMENT,
            "\"\" is no kernel name: letters, digits and _, at most 128, no digit first"},
        {{.size = sizeof(sett_compile_options), .name = "9a"}, SETT_E_ARGUMENT,
            "\"9a\" is no kernel name: letters, digits and _, at most 128, no digit first"},
        {{.size = sizeof(sett_compile_options), .name = "a-b"}, SETT_E_ARGUMENT,
            "\"a-b\" is no kernel name: letters, digits and _, at most 128, no digit first"},
        {{.size = sizeof(sett_compile_options), .target = "sm90"}, SETT_E_ARGUMENT,
            "\"sm90\" is no target: \"cpu\", or one as \"sm_80\", \"sm_90a\""},
        {{.size = sizeof(sett_compile_options), .target = ""}, SETT_E_ARGUMENT,
            "\"\" is no target: \"cpu\", or one as \"sm_80\", \"sm_90a\""},
        {{.size = sizeof(sett_compile_options), .opt_level = 5}, SETT_E_ARGUMENT, "opt_level 5 is not 0 to 4"},
        {{.size = sizeof(sett_compile_options), .user_size = 8}, SETT_E_ARGUMENT, "user_size is 8 and user is NULL"},
        {{.size = sizeof(sett_compile_options), .target = "cpu", .ptx_only = true}, SETT_E_ARGUMENT,
            "ptx_only needs a GPU's target, such as \"sm_90a\""},
    };
    sett_engine *e = open_engine();
    sett_kernel *k;
    sett_error err;
    for (size_t i = 0; i < SETT__COUNT(t); i++) {
        memset(&err, 0, sizeof err);
        ck_assert_int_eq(sett_compile(e, scale, &t[i].o, &k, &err), t[i].status);
        ck_assert_str_eq(err.text, t[i].text);
        ck_assert_ptr_null(k);
    }
    ck_assert_int_eq(sett_compile(NULL, scale, NULL, &k, &err), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_compile(e, NULL, NULL, &k, &err), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_compile(e, scale, NULL, NULL, &err), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_compile_tape(e, NULL, 0, NULL, &k, &err), SETT_E_ARGUMENT);
    ck_assert_int_ne(sett_compile_tape(e, "no tape", 7, NULL, &k, &err), SETT_OK);
    ck_assert_int_ne(sett_compile_tape(e, "sett\1\0\0\0", 8, NULL, &k, &err), SETT_OK);
    ck_assert_int_eq(sett_compile_tape(e, "a\0b", 3, NULL, &k, &err), SETT_E_PARSE);
    ck_assert_str_eq(err.text, "the tape's text holds a NUL");
    ck_assert_ptr_null(k);
    ck_assert_int_ne(sett_compile(e, broken, NULL, &k, &err), SETT_OK);
    ck_assert_msg(strstr(err.text, "test_engine.c:") != NULL, "no line of the caller in \"%s\"", err.text);
    ck_assert_ptr_null(k);
    sett_engine_close(e);
}
END_TEST

START_TEST(sealed)
{
    sett_engine_options o = options();
    sett_kernel *k;
    sett_error err = {0};
    o.sealed = true;
    sett_engine *e = open_with(&o);
    ck_assert_int_eq(sett_compile(e, scale, &sm90, &k, &err), SETT_E_NOT_CACHED);
    ck_assert_str_eq(err.text, "scale for sm_90a is not in the cache, and the engine is sealed");
    ck_assert_int_eq(stats(e).compiles, 0);
    sett_kernel_release(compile(e, NULL)); /* the CPU engine compiles nothing */
    sett_engine_close(e);
}
END_TEST

/* ---- memory and the memo --------------------------------------------------------------------------------- */
START_TEST(memo)
{
    sett_engine *e = open_engine();
    variant v = {48, 64, 2.0};
    sett_compile_options o = {.size = sizeof o, .user = &v, .user_size = sizeof v};
    sett_kernel *k[4];
    k[0] = compile(e, &o);
    k[1] = compile(e, &o);
    ck_assert_ptr_eq(k[0], k[1]);
    ck_assert_uint_eq(stats(e).records, 1);
    ck_assert_uint_eq(stats(e).memo_hits, 1);
    v.factor = 5;
    k[2] = compile(e, &o);
    ck_assert_ptr_ne(k[0], k[2]);
    ck_assert_uint_eq(stats(e).records, 2);
    o.user_size = 0; /* recorded again, and found by its key */
    k[3] = compile(e, &o);
    ck_assert_ptr_eq(k[3], k[2]);
    ck_assert_uint_eq(stats(e).records, 3);
    ck_assert_uint_eq(stats(e).memory_hits, 1);
    ck_assert_uint_eq(stats(e).misses, 2);
    for (int i = 0; i < 4; i++)
        sett_kernel_release(k[i]);
    sett_engine_close(e);
}
END_TEST

START_TEST(many_kernels)
{
    enum { N = 300 };
    sett_engine *e = open_engine();
    static sett_kernel *k[N];
    for (int i = 0; i < N; i++) {
        variant v = {32 + i, 64, 2.0};
        sett_compile_options o = {.size = sizeof o, .user = &v, .user_size = sizeof v};
        k[i] = compile(e, &o);
    }
    for (int i = 0; i < N; i++) {
        variant v = {32 + i, 64, 2.0};
        sett_compile_options o = {.size = sizeof o, .user = &v, .user_size = sizeof v};
        sett_kernel *again = compile(e, &o), *by_key;
        sett_kernel_info info = {.size = sizeof info};
        ck_assert_ptr_eq(again, k[i]);
        ck_assert_int_eq(sett_kernel_query(again, &info), SETT_OK);
        ck_assert_int_eq(sett_kernel_get(e, info.key, &by_key, NULL), SETT_OK);
        ck_assert_ptr_eq(by_key, k[i]);
        sett_kernel_release(by_key);
        sett_kernel_release(again);
        sett_kernel_release(k[i]);
    }
    ck_assert_uint_eq(stats(e).records, N);
    sett_engine_close(e);
}
END_TEST

START_TEST(runs_on_the_cpu)
{
    sett_engine *e = open_engine();
    sett_kernel *k = compile(e, NULL);
    float x[6] = {1, 2, 3, 4, 5, 6}, y[6] = {0};
    sett_buf X = sett_buf_2d(x, SETT_F32, 2, 3), Y = sett_buf_2d(y, SETT_F32, 2, 3);
    const sett_stream cpu = {SETT_CPU, NULL};
    sett_error err = {0};
    sett_kernel_info info = {.size = sizeof info};
    ck_assert_msg(!sett_launch(k, cpu, &err, &X, &Y), "%s", err.text);
    for (int i = 0; i < 6; i++)
        ck_assert_float_eq(y[i], 2 * x[i]);
    ck_assert_int_eq(sett_kernel_query(k, &info), SETT_OK);
    ck_assert_str_eq(info.target, "cpu");
    ck_assert_str_eq(info.name, "kernel");
    ck_assert_int_eq(info.block[0], 64);
    ck_assert_int_eq(info.block[1], 1);
    ck_assert_ptr_null(info.cubin);
    ck_assert_int_eq(sett_prepare(k, SETT_CPU, &err), SETT_OK);
    ck_assert_int_eq(sett_prepare(k, 0, &err), SETT_E_NO_DEVICE);
    sett_kernel_info part = {.size = offsetof(sett_kernel_info, key)}; /* an older caller's */
    part.smem = 77;
    ck_assert_int_eq(sett_kernel_query(k, &part), SETT_OK);
    ck_assert_str_eq(part.target, "cpu");
    ck_assert_int_eq(part.smem, 77);
    ck_assert_int_eq(sett_kernel_query(NULL, &part), SETT_E_ARGUMENT);
    sett_kernel_release(k);
    sett_kernel_release(NULL);
    sett_engine_close(e);
}
END_TEST

/* ---- life and death -------------------------------------------------------------------------------------- */
START_TEST(kernel_outlives_engine)
{
    sett_engine *e = open_engine();
    sett_kernel *k = compile(e, NULL);
    float x[6] = {0};
    sett_buf X = sett_buf_2d(x, SETT_F32, 2, 3);
    sett_error err = {0};
    sett_kernel_info info = {.size = sizeof info};
    sett_engine_close(e);
    ck_assert_int_eq(sett_launch(k, ((sett_stream){SETT_CPU, NULL}), &err, &X, &X), SETT_E_CLOSED);
    ck_assert_str_eq(err.text, "the engine was closed");
    ck_assert_int_eq(sett_prepare(k, SETT_CPU, &err), SETT_E_CLOSED);
    ck_assert_int_eq(sett_kernel_query(k, &info), SETT_OK);
    ck_assert_str_eq(info.name, "kernel");
    sett_kernel_release(k);
}
END_TEST

START_TEST(forked_child)
{
    sett_engine *e = open_engine();
    sett_kernel *k = compile(e, NULL);
    float x[6] = {0};
    sett_buf X = sett_buf_2d(x, SETT_F32, 2, 3);
    const sett_stream cpu = {SETT_CPU, NULL};
    pid_t child = fork();
    if (!child) {
        sett_kernel *other;
        int wrong = sett_compile(e, scale, NULL, &other, NULL) != SETT_E_FORKED;
        wrong |= (sett_launch(k, cpu, NULL, &X, &X) != SETT_E_FORKED) << 1;
        wrong |= (sett_alloc(e, SETT_CPU, 1) != NULL) << 2;
        sett_kernel_release(k);
        sett_engine_close(e);
        _exit(wrong);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    ck_assert_int_eq(sett_launch(k, cpu, NULL, &X, &X), SETT_OK); /* the parent is as it was */
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

/* ---- the compiler ------------------------------------------------------------------------------------------ */
START_TEST(bad_plugins)
{
    static const struct {
        const char *path, *text;
    } t[] = {{"/nowhere/libsett-ptx.so", "the compiler plug-in cannot be opened: /nowhere/libsett-ptx.so: "},
        {"libm.so.6", "libm.so.6 is no compiler plug-in: it lacks sett_ptx_plugin"}};
    for (size_t i = 0; i < SETT__COUNT(t); i++) {
        sett_engine_options o = options();
        sett_kernel *k;
        sett_error err = {0};
        o.plugin = t[i].path;
        sett_engine *e = open_with(&o);
        for (int again = 0; again < 2; again++) {
            ck_assert_int_eq(sett_compile(e, scale, &sm90, &k, &err), SETT_E_NO_COMPILER);
            ck_assert_msg(!strncmp(err.text, t[i].text, strlen(t[i].text)), "%s", err.text);
        }
        ck_assert(!stats(e).compiler_loaded);
        sett_engine_close(e);
    }
}
END_TEST

static bool mapped(const char *name)
{
    char line[4096];
    bool found = false;
    FILE *f = fopen("/proc/self/maps", "r");
    while (f && fgets(line, sizeof line, f))
        found |= strstr(line, name) != NULL;
    if (f)
        fclose(f);
    return found;
}

/* Compiles and fills the cache in a process of its own, so that this one stays without the compiler. */
static bool warm(uint8_t key[32])
{
    int pipes[2];
    ck_assert_int_eq(pipe(pipes), 0);
    pid_t child = fork();
    if (!child) {
        bool ok = have_compiler();
        sett_engine *e = ok ? open_engine() : NULL;
        sett_kernel *k = ok ? compile(e, &sm90) : NULL;
        sett_kernel_info info = {.size = sizeof info};
        if (ok && !sett_kernel_query(k, &info))
            ok = write(pipes[1], info.key, 32) == 32;
        sett_kernel_release(k);
        sett_engine_close(e);
        _exit(ok ? 0 : 1);
    }
    close(pipes[1]);
    bool got = read(pipes[0], key, 32) == 32;
    close(pipes[0]);
    int status;
    waitpid(child, &status, 0);
    ck_assert(WIFEXITED(status));
    return got;
}

START_TEST(disk_hit_without_compiler)
{
    uint8_t key[32];
    sett_kernel_info info = {.size = sizeof info};
    sett_kernel *k;
    sett_error err = {0};
    if (!warm(key))
        return;
    ck_assert_int_eq(assembled(), 1);
    sett_engine_options o = options();
    o.sealed = true;
    sett_engine *e = open_with(&o);
    k = compile(e, &sm90);
    ck_assert_int_eq(sett_kernel_query(k, &info), SETT_OK);
    ck_assert_mem_eq(info.key, key, 32);
    ck_assert_int_eq(info.origin, SETT_FROM_DISK);
    ck_assert_str_eq(info.name, "scale");
    ck_assert_str_eq(info.target, "sm_90a");
    ck_assert_str_eq(info.assembler, "ptxas 13.0.99");
    ck_assert_int_eq(info.registers, 24);
    ck_assert_int_eq(info.block[0], 64);
    ck_assert_uint_eq(info.cubin_size, 64);
    ck_assert_mem_eq(info.cubin, "\177ELF\2\1", 6);
    ck_assert_ptr_null(info.ptx);
    ck_assert_ptr_nonnull(strstr(info.report, "assembler: ptxas 13.0.99: 24 registers"));
    ck_assert_uint_eq(stats(e).disk_hits, 1);
    ck_assert_uint_eq(stats(e).compiles, 0);
    ck_assert(!stats(e).compiler_loaded);
    ck_assert(!mapped("libsett-ptx.so"));
    ck_assert_int_eq(sett_launch(k, ((sett_stream){0, NULL}), &err), SETT_E_NO_DEVICE);
    sett_kernel_release(k);
    sett_engine_close(e);
    e = open_with(&o); /* by key, with no body at hand */
    ck_assert_int_eq(sett_kernel_get(e, key, &k, &err), SETT_OK);
    sett_kernel_release(k);
    ck_assert_int_eq(sett_kernel_get(e, key, &k, &err), SETT_OK);
    ck_assert_uint_eq(stats(e).disk_hits, 1);
    ck_assert_uint_eq(stats(e).memory_hits, 1);
    sett_kernel_release(k);
    key[31] ^= 1;
    ck_assert_int_eq(sett_kernel_get(e, key, &k, &err), SETT_E_NOT_CACHED);
    ck_assert_ptr_null(k);
    sett_engine_close(e);
}
END_TEST

/* The one entry of the cache, wherever it lies. */
static void entry_of(const uint8_t key[32], char path[300])
{
    int n = snprintf(path, 300, "%s/%02x/", in_root("cache/v1"), key[0]);
    for (int i = 1; i < 32; i++)
        n += snprintf(path + n, 300 - (size_t)n, "%02x", key[i]);
    snprintf(path + n, 300 - (size_t)n, ".sett");
}

START_TEST(damage_is_healed)
{
    uint8_t key[32];
    char path[300];
    if (!have_compiler() || !warm(key))
        return;
    entry_of(key, path);
    size_t len = file_size(path);
    ck_assert_uint_gt(len, 512);
    for (int round = 0; round < 3; round++) {
        FILE *f = fopen(path, "r+b");
        ck_assert_ptr_nonnull(f);
        fseek(f, (long)(len * (size_t)round / 3), SEEK_SET);
        int c = fgetc(f);
        fseek(f, -1, SEEK_CUR);
        fputc(c ^ 4, f);
        fclose(f);
        sett_engine *e = open_engine();
        sett_kernel *k = compile(e, &sm90);
        sett_kernel_info info = {.size = sizeof info};
        ck_assert_int_eq(sett_kernel_query(k, &info), SETT_OK);
        ck_assert_int_eq(info.origin, SETT_FROM_COMPILER);
        sett__workers_flush(e->workers);
        ck_assert_uint_eq(stats(e).heals, 1);
        ck_assert_uint_eq(stats(e).refusals, 1);
        ck_assert_uint_eq(stats(e).disk_writes, 1);
        sett_kernel_release(k);
        sett_engine_close(e);
        e = open_engine();
        k = compile(e, &sm90);
        ck_assert_uint_eq(stats(e).disk_hits, 1);
        sett_kernel_release(k);
        sett_engine_close(e);
    }
}
END_TEST

START_TEST(ptx_only)
{
    if (!have_compiler())
        return;
    sett_engine *e = open_engine();
    sett_compile_options o = sm90;
    o.ptx_only = true;
    sett_kernel *k = compile(e, &o), *whole;
    sett_kernel_info info = {.size = sizeof info};
    sett_error err = {0};
    ck_assert_int_eq(sett_kernel_query(k, &info), SETT_OK);
    ck_assert_ptr_nonnull(strstr(info.ptx, ".target sm_90a"));
    ck_assert_ptr_nonnull(strstr(info.ptx, ".visible .entry scale("));
    ck_assert_ptr_null(info.cubin);
    ck_assert_int_eq(assembled(), 0);
    whole = compile(e, &sm90); /* of the same key, and another kernel */
    ck_assert_ptr_ne(k, whole);
    ck_assert_int_eq(assembled(), 1);
    ck_assert_int_eq(sett_kernel_query(whole, &info), SETT_OK);
    ck_assert_ptr_nonnull(info.ptx);
    ck_assert_ptr_nonnull(info.cubin);
    ck_assert_int_eq(info.origin, SETT_FROM_COMPILER);
    ck_assert_int_ne(sett_launch(k, ((sett_stream){SETT_CPU, NULL}), &err), SETT_OK);
    sett_kernel_release(k);
    sett_kernel_release(whole);
    sett_engine_close(e);
}
END_TEST

START_TEST(assembler_fails)
{
    if (!have_compiler())
        return;
    write_file(in_root("cubin"), "no ELF at all, but long enough to be one; the gate has to see it first", 70, 0600);
    sett_engine *e = open_engine();
    sett_kernel *k;
    sett_error err = {0};
    ck_assert_int_eq(sett_compile(e, scale, &sm90, &k, &err), SETT_E_PARSE);
    ck_assert_str_eq(err.text, "not a sound cubin: no ELF64 header");
    sett__workers_flush(e->workers);
    ck_assert_uint_eq(stats(e).disk_writes, 0);
    drop_root();
    ck_assert_int_ne(
        sett_compile(e, scale, &sm90, &k, &err), SETT_OK); /* the assembler is gone: nothing was remembered */
    sett_engine_close(e);
}
END_TEST

enum { CREW = 8 };
typedef struct crew {
    sett_engine *e;
    variant v;
    const char *target;
    sett_kernel *k;
    sett_status status;
} crew;

static void *compile_one(void *user)
{
    crew *c = user;
    sett_compile_options o = {.size = sizeof o, .name = "scale", .target = c->target, .user = &c->v};
    c->status = sett_compile(c->e, scale, &o, &c->k, NULL);
    return NULL;
}

static void run_crew(crew *c, int n)
{
    pthread_t t[CREW];
    for (int i = 0; i < n; i++)
        ck_assert_int_eq(pthread_create(&t[i], NULL, compile_one, &c[i]), 0);
    for (int i = 0; i < n; i++) {
        pthread_join(t[i], NULL);
        ck_assert_int_eq(c[i].status, SETT_OK);
    }
}

/* One compile for all who ask for one key. */
START_TEST(joined)
{
    if (!have_compiler())
        return;
    sett_engine *e = open_engine();
    crew c[CREW];
    for (int i = 0; i < CREW; i++)
        c[i] = (crew){.e = e, .v = {0, 64, 2.0}, .target = "sm_90a"};
    run_crew(c, CREW);
    for (int i = 0; i < CREW; i++)
        ck_assert_ptr_eq(c[i].k, c[0].k);
    sett_stats s = stats(e);
    ck_assert_uint_eq(s.compiles, 1);
    ck_assert_int_eq(assembled(), 1);
    ck_assert_uint_eq(s.joined + s.memory_hits, CREW - 1);
    for (int i = 0; i < CREW; i++)
        sett_kernel_release(c[i].k);
    sett_engine_close(e);
}
END_TEST

START_TEST(different_keys_at_once)
{
    bool gpu = have_compiler();
    sett_engine *e = open_engine();
    crew c[CREW];
    for (int i = 0; i < CREW; i++)
        c[i] = (crew){.e = e, .v = {40 + i, 64, 2.0}, .target = gpu && i % 2 ? "sm_90a" : "cpu"};
    run_crew(c, CREW);
    ck_assert_uint_eq(stats(e).misses, CREW);
    for (int i = 0; i < CREW; i++)
        sett_kernel_release(c[i].k);
    sett_engine_close(e);
}
END_TEST

/* LLVM gives up: the waiter gets the text, later compiles the reason, the process lives, and the CPU engine too. */
START_TEST(fatal)
{
    if (!have_compiler())
        return;
    sett_engine *e = open_engine();
    sett_kernel *k;
    sett_error err = {0};
    static const variant other = {48, 64, 2.0};
    sett_compile_options o = sm90;
    e->provoke = "fatal";
    ck_assert_int_eq(sett_compile(e, scale, &o, &k, &err), SETT_E_COMPILE);
    ck_assert_msg(!strncmp(err.text, "scale: the compiler failed: ", 28) && strlen(err.text) > 28, "%s", err.text);
    e->provoke = NULL;
    o.user = &other;
    ck_assert_int_eq(sett_compile(e, scale, &o, &k, &err), SETT_E_NO_COMPILER);
    ck_assert_msg(!strncmp(err.text, "the compiler failed earlier in this process", 43), "%s", err.text);
    sett_kernel_release(compile(e, NULL));
    sett_engine *second = open_engine();
    ck_assert_int_eq(sett_compile(second, scale, &o, &k, &err), SETT_E_NO_COMPILER);
    sett_engine_close(second);
    sett_engine_close(e);
}
END_TEST

Suite *engine_suite(void);
Suite *engine_suite(void)
{
    const TTest *const tests[] = {open_refuses, memory_only, devices_and_memory, keys, keys_of_tapes, compile_refuses,
        sealed, memo, many_kernels, runs_on_the_cpu, kernel_outlives_engine, forked_child, bad_plugins,
        disk_hit_without_compiler, damage_is_healed, ptx_only, assembler_fails, joined, different_keys_at_once, fatal};
    Suite *s = suite_create("engine");
    TCase *t = tcase_create("engine");
    tcase_add_checked_fixture(t, make_root, drop_root);
    for (size_t i = 0; i < SETT__COUNT(tests); i++)
        tcase_add_test(t, tests[i]);
    tcase_set_timeout(t, 60);
    suite_add_tcase(s, t);
    return s;
}
