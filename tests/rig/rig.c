/* SPDX-License-Identifier: Apache-2.0 */
#define SETT_SHORT
#include "tests/rig/rig.h"
#include "tests/rig/folder.h"
#include <check.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void scale(sett_build *b, const void *user)
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

static char root[64];

const char *in_root(const char *name)
{
    static _Thread_local char path[8][200];
    static _Thread_local int next;
    next = (next + 1) % 8;
    snprintf(path[next], sizeof path[next], "%s/%s", root, name);
    return path[next];
}

void write_file(const char *path, const void *data, size_t len, mode_t mode)
{
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(data, 1, len, f), len);
    fclose(f);
    ck_assert_int_eq(chmod(path, mode), 0);
}

size_t file_size(const char *path)
{
    struct stat st;
    return stat(path, &st) ? 0 : (size_t)st.st_size;
}

void make_root(void)
{
    char script[1000];
    unsigned char elf[64] = {0x7F, 'E', 'L', 'F', 2, 1, 1, [18] = 190, [20] = 1, [52] = 64};
    ck_assert(folder_make(root));
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

void drop_root(void)
{
    folder_remove(root);
}

int assembled(void)
{
    return (int)(file_size(in_root("runs")) / strlen("run\n"));
}

sett_engine_options options(void)
{
    return (sett_engine_options){.size = sizeof(sett_engine_options),
        .cache_dir = in_root("cache"),
        .no_gpu = true,
        .cpu_threads = 4,
        .assembler = SETT_ASM_PTXAS,
        .ptxas = in_root("ptxas")};
}

sett_engine *open_with(const sett_engine_options *o)
{
    sett_engine *e;
    sett_error err = {0};
    ck_assert_msg(!sett_engine_open(&e, o, &err), "%s", err.text);
    return e;
}

sett_engine *open_engine(void)
{
    sett_engine_options o = options();
    return open_with(&o);
}

int *fake_driver(void)
{
    char path[4096] = "libcuda.so.1";
    void *real = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    void *fake = !real && sett__beside("fake-cuda.so", path, sizeof path) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!fake)
        fprintf(stderr, "skipped, no driver to stand in: %s\n", real ? "there is a real one" : dlerror());
    return fake ? dlsym(fake, "fake_cuda_result") : NULL;
}

const sett_compile_options sm90 = {.size = sizeof sm90, .name = "scale", .target = "sm_90a"};

sett_kernel *compile(sett_engine *e, const sett_compile_options *o)
{
    sett_kernel *k = NULL;
    sett_error err = {0};
    ck_assert_msg(!sett_compile(e, scale, o, &k, &err), "%s", err.text);
    return k;
}

sett_stats stats(const sett_engine *e)
{
    sett_stats s = {.size = sizeof s};
    sett_engine_stats(e, &s);
    return s;
}

sett_cache_layer_info layer(const sett_engine *e, int i)
{
    sett_cache_layer_info l = {.size = sizeof l};
    ck_assert_int_eq(sett_cache_layer(e, i, &l), SETT_OK);
    return l;
}

char *tape_of(sett_body body, const sett_compile_options *o)
{
    sett_error err;
    char *text;
    size_t len;
    ck_assert_msg(!sett_record(body, o, true, (void **)&text, &len, &err), "%s", err.text);
    return text;
}

/* The line of the text, or of the source where the tape names one, and what is wrong there. */
static bool says_where(const wrong_lines *w, const char *text)
{
    return (!strncmp(text, "line ", 5) || strstr(w->lines, "@ g.c")) && (w->status == SETT_E_PARSE || strstr(text, "`: "));
}

static void refused(const char *text, const wrong_lines *w, bool where)
{
    sett__tape tape;
    sett_error err = {0};
    const sett_status s = sett__tape_parse(&tape, text, &err);
    ck_assert_msg(s == w->status && strstr(err.text, w->why), "`%s` gives: %s", w->lines, err.text);
    ck_assert_msg(!s || !where || says_where(w, err.text), "`%s` gives, and does not say where: %s", w->lines, err.text);
    sett__tape_free(&tape);
}

void lines_refused(const char *text, const wrong_lines *w)
{
    refused(text, w, true);
}

void tape_refused(const char *text, sett_status status, const char *why)
{
    refused(text, &(wrong_lines){text, status, why}, false);
}

bool under_valgrind(void)
{
    const char *preload = getenv("LD_PRELOAD");
    return preload && strstr(preload, "vgpreload");
}

bool have_compiler(void)
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
