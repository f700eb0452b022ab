/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels that the command knows by name (they are those of sett/kernels.h), and tapes from files. */
#include "tools.h"
#include <sett/kernels.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAPE_MOST = 1 << 28 }; /* bytes */

static bool fill_apply(const options *o, sett_dtype t, void *user)
{
    static const struct {
        const char *name;
        sett_binary_op op;
        int relu;
    } ops[] = {{"add", SETT_ADD, 0}, {"mul", SETT_MUL, 0}, {"mul_relu", SETT_MUL, 1}};
    const char *name = o->kernel_op ? o->kernel_op : "add";
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (!strcmp(name, ops[i].name)) {
            *(sett_elementwise_options *)user = (sett_elementwise_options){.size = sizeof(sett_elementwise_options), .dtype = t, .op = ops[i].op, .relu = ops[i].relu};
            return true;
        }
    usage("--op %s: the kernel apply knows add, mul and mul_relu", name);
    return false;
}

static bool fill_add_tv(const options *o, sett_dtype t, void *user)
{
    (void)o;
    *(sett_elementwise_options *)user = (sett_elementwise_options){.size = sizeof(sett_elementwise_options), .dtype = t, .exact = 1};
    if (t != SETT_F16)
        usage("the kernel add_tv is for f16, not %s", sett_dtype_name(t));
    return t == SETT_F16;
}

static bool fill_saxpy(const options *o, sett_dtype t, void *user)
{
    *(sett_axpy_options *)user = (sett_axpy_options){.size = sizeof(sett_axpy_options), .dtype = SETT_F32};
    if (o->dtype && t != SETT_F32)
        usage("the kernel saxpy is for f32, not %s", sett_dtype_name(t));
    return !o->dtype || t == SETT_F32;
}

/* What the options of sett/kernels.h have of --dtype, --cols and --threads, by the family's names for them. */
static bool fill_family(const options *o, sett_dtype t, const sett_family *f, void *user)
{
    const struct {
        const char *name;
        int value;
    } given[] = {{"dtype", (int)t}, {"cols", o->cols ? o->cols : 4096}, {"threads", o->threads}};
    memcpy(user, f->defaults, f->user_size);
    for (int i = 0; i < f->n_params; i++)
        for (size_t k = 0; k < sizeof given / sizeof *given; k++)
            if (!strcmp(f->params[i].name, given[k].name))
                memcpy((char *)user + f->params[i].offset, &given[k].value, sizeof given[k].value);
    if (o->threads % 32)
        usage("--threads %d: not a multiple of 32, the threads of a warp", o->threads);
    return o->threads % 32 == 0;
}

static const named_kernel kernels[] = {
    {"apply", "C = op(A, B) for --op, any size and type", &sett_elementwise_family, fill_apply, NULL},
    {"add_tv", "C = A + B in f16, M a multiple of 8, N of 256", &sett_elementwise_family, fill_add_tv, NULL},
    {"softmax", "Y = softmax of X by rows, --cols and --threads", &sett_softmax_family, NULL, "--cols"},
    {"rms_norm", "Y = X / sqrt(mean(X X) + eps) W by rows, --cols and --threads", &sett_rms_norm_family, NULL, "--cols"},
    {"layer_norm", "Y = (X - mean) / sqrt(variance + eps) W + B by rows, --cols", &sett_layer_norm_family, NULL, "--cols"},
    {"silu_mul", "Y = silu(gate) up, X of (M,2,N) by rows, --cols and --threads", &sett_silu_mul_family, NULL, "--cols"},
    {"quantise", "Y = X as f8E4M3FN, by the largest of a row, --cols", &sett_quantise_family, NULL, "--cols"},
    {"rope", "Q and K rotated by positions, K and V appended to pages", &sett_rope_family, NULL, NULL},
    {"argmax", "the column of the largest of each row, --cols", &sett_argmax_family, NULL, "--cols"},
    {"sampling", "a token of each row of logits, at random, --cols", &sett_sampling_family, NULL, "--cols"},
    {"cumsum", "cumulative sums of rows, any size", &sett_cumsum_family, NULL, NULL},
    {"embedding", "rows of a table by ids, --cols", &sett_embedding_family, NULL, "--cols"},
    {"copy_pages", "pages of a cache to others, by a list of pairs, --cols", &sett_copy_pages_family, NULL, "--cols"},
    {"gather_pages", "keys from pages of a cache to rows beside each other", &sett_gather_pages_family, NULL, NULL},
    {"moe_topk", "the experts of each token, and their weights", &sett_moe_topk_family, NULL, NULL},
    {"moe_permute", "where rows go in the order of experts", &sett_moe_permute_family, NULL, NULL},
    {"moe_unpermute", "sums of the rows of a token's experts", &sett_moe_unpermute_family, NULL, NULL},
    {"transpose", "Y = X transposed, any size and type", &sett_transpose_family, NULL, NULL},
    {"saxpy", "Y = a X + Y in f32", &sett_axpy_family, fill_saxpy, NULL},
    {"gemm_wgmma", "C = A B^T by the tensor cores of sm_90a, A (M,K), B (N,K)", &sett_gemm_wgmma_family, NULL, NULL},
    {"gemm_mma", "C = A B^T by those of sm_80 and later", &sett_gemm_mma_family, NULL, NULL},
    {"gemm_few_rows", "C = A B^T of 1 to 8 rows of A, at the speed of reading B", &sett_gemm_few_rows_family, NULL, NULL},
    {"gemm_mixed", "C = A W^T of few rows of A, W packed weights of few bits", &sett_gemm_mixed_family, NULL, NULL},
    {"attention", "O = softmax(Q K^T) V by tensor cores, sm_80 and later", &sett_attention_family, NULL, NULL},
    {"attention_decode", "the same of few queries over many keys, split", &sett_attention_decode_family, NULL, NULL},
    {"attention_mla", "the same of a latent cache, 512 columns and 64, on sm_90a", &sett_attention_mla_family, NULL, NULL},
};

const named_kernel *kernel_find(const char *name)
{
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (!strcmp(name, kernels[i].name))
            return &kernels[i];
    return NULL;
}

void kernel_list(FILE *f)
{
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        fprintf(f, "  %-10s %s\n", kernels[i].name, kernels[i].help);
    fputs("  FILE       a tape, as text or bytes (sett compile --emit tape)\n", f);
}

void kernel_names(FILE *f, const char *between)
{
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        fprintf(f, "%s%s", i ? between : "", kernels[i].name);
}

/* A report is worth having where only the assembler's part of it cannot be had. */
static bool without_assembler(const options *o, sett_status s, sett_compile_options *co)
{
    bool again = s == SETT_E_NO_ASSEMBLER && o->emit && !strcmp(o->emit, "report");
    if (again)
        co->ptx_only = true;
    return again;
}

/* "" unless the file's name says that it is no tape. */
static const char *hint_of(const char *name)
{
    static const char *const ends[] = {".c", ".h", ".cc", ".cpp", ".cu", ".py", ".so", ".o"};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof ends / sizeof *ends; i++)
        if (!strcmp(dot, ends[i]))
            return "\nA tape is what a body records: sett_record() writes one, and sett warm compiles the bodies of a shared object";
    return "";
}

int kernel_unknown(const char *name)
{
    sett__guess g = sett__guess_of(name, strlen(name));
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        sett__guess_add(&g, kernels[i].name);
    fail("%s is neither a kernel nor a file%s\nthe kernels are", name, sett__guess_text(&g));
    kernel_list(stderr);
    return EXIT_FAILED;
}

/* Options that are 0 are chosen for the target, as sett_kernels_compile does; NULL: for that of the default device. */
static sett_status choose(sett_engine *e, const named_kernel *named, const char *target, void *user, sett_error *err)
{
    char own[32] = "cpu";
    if (!target && sett_device_target(e, sett_default_device(e), own, sizeof own) < 0)
        strcpy(own, "cpu");
    return named->family->choose(named->family->body, user, target ? target : own, err);
}

int kernel_compile(sett_engine *e, const options *o, const char *name, sett_dtype t, bool ptx_only, sett_kernel **k)
{
    union {
        sett_elementwise_options elementwise;
        sett_rms_norm_options rms_norm;
        sett_gemm_mma_options gemm_mma; /* the largest */
    } user = {0};
    sett_error err = {0};
    sett_compile_options co = {.size = sizeof co, .name = o->function ? o->function : name, .target = o->target, .user = &user, .ptx_only = ptx_only};
    const named_kernel *named = kernel_find(name);
    if (o->device && !strcmp(o->device, "cpu") && !o->target)
        co.target = "cpu";
    if (named) {
        co.ready_made = true;
        if (!(named->fill ? named->fill(o, t, &user) : fill_family(o, t, named->family, &user)))
            return EXIT_USAGE;
        sett_status s = choose(e, named, o->recorded_for ? o->recorded_for : co.target, &user, &err);
        if (!s)
            s = sett_compile(e, named->family->body, &co, k, &err);
        if (without_assembler(o, s, &co))
            s = sett_compile(e, named->family->body, &co, k, &err);
        return s ? fail("%s", err.text) : EXIT_OK;
    }
    if (strcmp(name, "-") && access(name, F_OK))
        return kernel_unknown(name);
    size_t len;
    char *tape = file_read(name, TAPE_MOST, &len);
    if (!tape)
        return EXIT_FAILED;
    co.name = o->function;
    sett_status s = sett_compile_tape(e, tape, len, &co, k, &err);
    if (without_assembler(o, s, &co))
        s = sett_compile_tape(e, tape, len, &co, k, &err);
    free(tape);
    return s ? fail("%s: %s%s", name, err.text, s == SETT_E_PARSE ? hint_of(name) : "") : EXIT_OK;
}
