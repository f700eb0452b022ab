/* SPDX-License-Identifier: Apache-2.0 */
/* The list of kernels, how options become a shape, and what bodies share. */
#include "kernels.h"
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const kernel *const all[] = {&sett__softmax, &sett__rms_norm, &sett__layer_norm, &sett__silu_mul, &sett__elementwise, &sett__axpy,
    &sett__vector_reduce, &sett__row_reduce, &sett__transpose, &sett__quantise, &sett__rope, &sett__dequantise, &sett__embedding_grad, &sett__gemm_wgmma, &sett__gemm_mma,
    &sett__gemm_few_rows, &sett__gemm_mixed,
    &sett__attention, &sett__attention_decode, &sett__attention_mla,
    &sett__argmax, &sett__sampling, &sett__cumsum, &sett__embedding, &sett__copy_pages, &sett__gather_pages, &sett__moe_topk, &sett__moe_permute, &sett__moe_unpermute};
enum { ALL_KERNELS = sizeof all / sizeof *all, OPTIONS_MOST = 256 /* bytes */ };

const sett_family *sett_kernels_family(int index)
{
    return index >= 0 && index < ALL_KERNELS ? all[index]->family : NULL;
}

/* ---- rules ------------------------------------------------------------------------------------------- */
void sett__kernel_refuse(choice *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!*c->why)
        vsnprintf(c->why, sizeof c->why, format, args);
    va_end(args);
}

void sett__either(int *option, int chosen)
{
    if (!*option)
        *option = chosen;
}

void sett__in_range(choice *c, const char *name, int value, int from, int to)
{
    if (value < from || value > to)
        REFUSE(c, ".%s is %d: from %d to %d", name, value, from, to);
}

void sett__is_zero(choice *c, const char *name, int value)
{
    if (value)
        REFUSE(c, ".%s is %d: it must be 0", name, value);
}

bool sett__is_small_float(sett_dtype t)
{
    return t == SETT_F16 || t == SETT_BF16 || t == SETT_F32;
}

void sett__is_copied(choice *c, sett_dtype t)
{
    const int bits = sett_dtype_bits(t);
    if (bits != 8 && bits != 16 && bits != 32)
        REFUSE(c, ".dtype is %s: one of 8, 16 or 32 bits", t ? sett_dtype_name(t) : "not given");
}

bool sett__is_f8(sett_dtype t)
{
    return t == SETT_F8E4M3FN || t == SETT_F8E5M2;
}

void sett__is_float(choice *c, sett_dtype t)
{
    if (!sett__is_small_float(t))
        REFUSE(c, ".dtype is %s: f16, bf16 or f32", t ? sett_dtype_name(t) : "not given");
}

bool sett__norm_options(choice *c, sett_dtype dtype, int cols, int most_cols, int residual, int reserved)
{
    sett__is_float(c, dtype);
    sett__in_range(c, "cols", cols, 1, most_cols);
    sett__in_range(c, "residual", residual, 0, 1);
    sett__is_zero(c, "reserved", reserved);
    return !*c->why;
}

void sett__whole_warps(choice *c, int threads)
{
    sett__in_range(c, "threads", threads, 32, 1024);
    if (threads % 32)
        REFUSE(c, ".threads: %d threads are no multiple of 32, the threads of a warp", threads);
}

void sett__is_reduction(choice *c, sett_binary_op op)
{
    if (op != SETT_ADD && op != SETT_MIN && op != SETT_MAX)
        REFUSE(c, ".op is %d: SETT_ADD, SETT_MIN or SETT_MAX", (int)op);
}

int sett__vec(sett_dtype t)
{
    int bits = sett_dtype_bits(t);
    return bits > 0 && bits <= 128 ? 128 / bits : 1;
}

int sett__round_up(int n, int to)
{
    return (n + to - 1) / to * to;
}

int sett__row_threads(sett_dtype t, int cols)
{
    const int accesses = (cols + sett__vec(t) - 1) / sett__vec(t), eighth = (accesses + 7) / 8;
    const int threads = eighth > 128 ? eighth : accesses < 128 ? accesses : 128;
    return threads > 1024 ? 1024 : sett__round_up(threads, 32);
}

/* ---- options ----------------------------------------------------------------------------------------- */
const sett_family_renamed sett__renamed[SETT__N_RENAMED] = {
    {"plain", "no_pdl"}, {"each", "vectors_per_thread"}, {"each", "values_per_thread"}, {"gated", "swiglu"}};

const sett_family_word sett__words[SETT__N_WORDS] = {{"op", "add", SETT_ADD}, {"op", "sub", SETT_SUB}, {"op", "mul", SETT_MUL}, {"op", "div", SETT_DIV},
    {"op", "floordiv", SETT_FLOORDIV}, {"op", "mod", SETT_MOD}, {"op", "min", SETT_MIN}, {"op", "max", SETT_MAX}, {"op", "and", SETT_AND}, {"op", "or", SETT_OR},
    {"op", "xor", SETT_XOR}, {"op", "shl", SETT_SHL}, {"op", "shr", SETT_SHR}, {"op", "pow", SETT_POW}, {"op", "atan2", SETT_ATAN2}, {"op", "copysign", SETT_COPYSIGN},
    {"op", "fmin", SETT_FMIN}, {"op", "fmax", SETT_FMAX}, {"activation", "none", SETT_ACTIVATION_NONE}, {"activation", "relu", SETT_ACTIVATION_RELU},
    {"activation", "gelu", SETT_ACTIVATION_GELU}, {"activation", "gelu_tanh", SETT_ACTIVATION_GELU_TANH}, {"activation", "silu", SETT_ACTIVATION_SILU},
    {"quantise", "none", SETT_QUANTISED_NONE}, {"quantise", "tensor", SETT_QUANTISED_TENSOR}, {"quantise", "blocks", SETT_QUANTISED_BLOCKS}, {"quantise", "rows", SETT_QUANTISED_ROWS},
    {"grouped", "none", SETT_GROUPED_NONE}, {"grouped", "contiguous", SETT_GROUPED_CONTIGUOUS}, {"grouped", "masked", SETT_GROUPED_MASKED}};

/* 90 of "sm_90a", 0 of "cpu". */
static int sm_of(const char *target)
{
    return !target ? 90 : strncmp(target, "sm_", 3) ? 0 : atoi(target + 3);
}

/* By its form alone: "cpu", or "sm_" and two or three digits, with a or f after them. Which exist sett_compile knows. */
static bool is_target(const char *target)
{
    const bool gpu = !strncmp(target, "sm_", 3);
    const size_t digits = gpu ? strspn(target + 3, "0123456789") : 0;
    const char *rest = gpu ? target + 3 + digits : "";
    return !strcmp(target, "cpu") || ((digits == 2 || digits == 3) && (!*rest || ((*rest == 'a' || *rest == 'f') && !rest[1])));
}

/* What every struct of options begins with. */
typedef struct common {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
} common;

/* A copy of what the caller's header knows, the rest 0, settled. */
static void settle(const kernel *k, const void *user, const char *target, void *options, choice *c)
{
    const size_t known = k->family->user_size, given = user ? *(const size_t *)user : 0;
    *c = (choice){.sm = sm_of(target), .wgmma = !target || !strcmp(target, "cpu") || !strcmp(target, "sm_90a")};
    memset(options, 0, known);
    if (!given)
        REFUSE(c, user ? "the options have no .size: it is sizeof(sett_%s_options)" : "there are no options: the user data is the address of a sett_%s_options",
            k->family->name);
    else if (given > known)
        REFUSE(c, "the options are of %zu bytes, and this library knows %zu: it is older than the header", given, known);
    if (*c->why)
        return;
    memcpy(options, user, given);
    memcpy(options, &known, sizeof known);
    common first;
    memcpy(&first, options, sizeof first);
    sett__in_range(c, "no_pdl", first.no_pdl, 0, 1);
    k->settle(options, c);
}

bool sett__kernel_options(sett_build *b, const kernel *k, const void *user, void *options)
{
    choice c;
    char function[40];
    settle(k, user, NULL, options, &c);
    snprintf(function, sizeof function, "sett_%s", k->family->name);
    if (*c.why)
        sett_fail_at((sett_site){0}, b, SETT_E_ARGUMENT, function, c.why);
    return !*c.why;
}

static sett_status refused(sett_error *err, const char *function, const char *kernel_name, const char *why)
{
    if (err) {
        err->status = SETT_E_ARGUMENT;
        snprintf(err->text, sizeof err->text, "%s: %s%s%s", function, kernel_name, *kernel_name ? ": " : "", why);
    }
    return SETT_E_ARGUMENT;
}

static const kernel *find(sett_body body)
{
    for (int i = 0; i < ALL_KERNELS; i++)
        if (all[i]->family->body == body)
            return all[i];
    return NULL;
}

/* Refuses a kernel that exists for one target alone when it is asked for another one, so that the error names the target and not an instruction that
 * it lacks. A name that is no target passes: sett_compile refuses it. */
static sett_status check_target(const char *function, const kernel *k, const char *target, sett_error *err)
{
    if (!k->only || !target || !is_target(target) || !strcmp(target, k->only) || !strcmp(target, "cpu"))
        return SETT_OK;
    if (err) {
        err->status = SETT_E_TARGET;
        snprintf(err->text, sizeof err->text, "%s: %s: it needs %s, the target is %s", function, k->family->name, k->only, target);
    }
    return SETT_E_TARGET;
}

static sett_status choose(const char *function, sett_body body, const void *user, const char *target, void *options, const kernel **found, sett_error *err)
{
    choice c;
    *found = find(body);
    if (!*found)
        return refused(err, function, "", "the body is none of sett/kernels.h");
    settle(*found, user, target, options, &c);
    return *c.why ? refused(err, function, (*found)->family->name, c.why) : check_target(function, *found, target, err);
}

/* The same where no sett_compile follows, which knows what is no target. */
static sett_status choose_alone(const char *function, sett_body body, const void *user, const char *target, void *options, const kernel **found, sett_error *err)
{
    char why[120];
    if (!target || is_target(target))
        return choose(function, body, user, target, options, found, err);
    snprintf(why, sizeof why, "\"%.60s\" is no target: \"cpu\", \"sm_90a\" ...", target);
    return refused(err, function, "", why);
}

const char *sett_kernels_least_target(sett_body body)
{
    const kernel *k = find(body);
    return !k ? NULL : k->only ? k->only : k->least;
}

sett_status sett_kernels_workspace(sett_body body, const void *options, const char *target, size_t *bytes, sett_error *err)
{
    _Alignas(max_align_t) unsigned char settled[OPTIONS_MOST];
    const kernel *k;
    sett_status s = choose_alone("sett_kernels_workspace", body, options, target, settled, &k, err);
    *bytes = !s && k->workspace ? k->workspace(settled) : 0;
    return s;
}

sett_status sett_kernels_choose(sett_body body, void *options, const char *target, sett_error *err)
{
    _Alignas(max_align_t) unsigned char settled[OPTIONS_MOST];
    const kernel *k;
    const size_t given = options ? *(const size_t *)options : 0;
    sett_status s = choose_alone("sett_kernels_choose", body, options, target, settled, &k, err);
    if (s)
        return s;
    memcpy(settled, &given, sizeof given); /* the caller's */
    memcpy(options, settled, given);
    return SETT_OK;
}

sett_status sett__said_by(const char *function, sett_status s, sett_error *err)
{
    static const char chooser[] = "sett_kernels_choose: ";
    const sett_error was = s && err ? *err : (sett_error){0};
    if (!strncmp(was.text, chooser, sizeof chooser - 1))
        snprintf(err->text, sizeof err->text, "%s: %s", function, was.text + sizeof chooser - 1);
    return s;
}

static bool is_type(const char *param)
{
    return !strcmp(param, "dtype") || !strcmp(param, "from") || !strcmp(param, "b") || !strcmp(param, "c") || !strcmp(param, "out") || !strcmp(param, "kv");
}

static const char *word_of(const char *param, int value)
{
    for (int i = 0; i < SETT__N_WORDS; i++)
        if (!strcmp(sett__words[i].param, param) && sett__words[i].value == value)
            return sett__words[i].word;
    return NULL;
}

/* "TEXT (dtype=bf16 cols=5120)": which kernel of the family was missed. Those that are 0 are left out. */
static void add_options(const sett_family *f, const unsigned char *options, sett_error *err)
{
    char words[160] = "", was[sizeof err->text];
    size_t at = 0;
    for (int i = 0; i < f->n_params && at < sizeof words - 40; i++) {
        const sett_family_param *p = &f->params[i];
        int value; /* as every member here is */
        memcpy(&value, options + p->offset, sizeof value);
        const char *word = is_type(p->name) ? sett_dtype_name((sett_dtype)value) : word_of(p->name, value);
        if (value && word)
            at += (size_t)snprintf(words + at, sizeof words - at, "%s%s=%s", at ? " " : "", p->name, word);
        else if (value)
            at += (size_t)snprintf(words + at, sizeof words - at, "%s%s=%d", at ? " " : "", p->name, value);
    }
    strcpy(was, err->text);
    snprintf(err->text, sizeof err->text, "%.*s (%s)", (int)(sizeof was - sizeof words), was, words);
}

sett_status sett_kernels_compile(sett_engine *e, sett_body body, const void *options, const char *target, sett_kernel **to, sett_error *err)
{
    _Alignas(max_align_t) unsigned char settled[OPTIONS_MOST];
    char own[32];
    const kernel *k;
    if (to)
        *to = NULL;
    if (!target) {
        if (sett_device_target(e, sett_default_device(e), own, sizeof own) < 0)
            strcpy(own, "cpu"); /* no engine, which sett_compile refuses */
        target = own;
    }
    sett_status s = choose("sett_kernels_compile", body, options, target, settled, &k, err);
    if (s)
        return s;
    sett_compile_options o = {.size = sizeof o, .name = k->family->name, .user = settled, .user_size = k->family->user_size, .target = target, .ready_made = true, .pure = true};
    s = sett_compile(e, body, &o, to, err);
    if (s == SETT_E_NOT_CACHED && err)
        add_options(k->family, settled, err);
    return s;
}

/* ---- parts of kernels ------------------------------------------------------------------------------------ */
void sett__begin(sett_build *b, int no_pdl)
{
    if (no_pdl)
        return;
    sett_griddepcontrol_launch_dependents(b);
    sett_griddepcontrol_wait(b);
}

void sett__begin_by_tma(sett_build *b, int no_pdl)
{
    sett__begin(b, no_pdl);
    if (!no_pdl)
        sett_fence_proxy(b, SETT_PROXY_ASYNC_GLOBAL);
}

int sett__row_parts(sett_dtype t, int cols, int threads)
{
    const int accesses = cols / sett__vec(t);
    return accesses > threads ? (accesses + threads - 1) / threads : 1;
}

sett_layout *sett__wide(sett_build *b, int threads, int vec, int rest)
{
    return sett_make_layout(b, T(threads, T(vec, rest)), T(vec, T(1, vec * threads)));
}

sett_tensor *sett__part(sett_tensor *t, sett_arg at, int all_of, sett_layout *wide, sett_val *thread)
{
    return sett_slice(sett_composition(sett_local_tile(t, T1(all_of), T1(at)), wide), thread, ALL);
}

double sett__initial(sett_binary_op op)
{
    return op == SETT_ADD ? 0.0 : op == SETT_MIN ? INFINITY : -INFINITY;
}
