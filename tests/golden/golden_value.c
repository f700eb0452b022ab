/* SPDX-License-Identifier: Apache-2.0 */
/* Scalars: each line with folding and without, then in a kernel, many in one, their operands loaded from memory: on the CPU
 * engine, or on GPU 0 where SETT_TEST_GPU is set. golden_ssa.c does it with shaped values. */
#include "tests/golden/golden_value.h"
#include "tests/golden/golden.h"
#include <sett/compile.h>
#include <sett/engine.h>
#include <sett/launch.h>
#include <sett/memory.h>

enum { BATCH = 40 };
typedef struct number_case {
    char text[512], *field[MOST_FIELDS], file[64];
    int n_field, line;
    sett_dtype x, y, r; /* y 0: one operand; 0 too for a Python literal, which is a constant */
    uint64_t a, b, want;
} number_case;
static number_case batch[BATCH];
static int n_batch;
static sett_engine *engine;

sett_engine *golden_engine(void)
{
    sett_error err;
    const sett_engine_options o = {.size = sizeof o, .cache_dir = "", .no_gpu = !getenv("SETT_TEST_GPU")};
    if (!engine && sett_engine_open(&engine, &o, &err)) {
        printf("golden: %s\n", err.text);
        exit(1);
    }
    return engine;
}

/* ---- one case in a kernel ------------------------------------------------------------------------------ */
static sett_val *result_of(sett_build *b, const number_case *c, sett_val *first, sett_val *second)
{
    char **f = (char **)(uintptr_t)c->field;
    sett_val *x = c->x ? value_of_word(first, c->x) : numeric_operand(b, f[1], f[2]);
    if (strstr(c->file, "convert"))
        return sett_to(x, c->r);
    if (strstr(c->file, "unary"))
        return numeric_make_unary(f[0], x);
    return numeric_make_binary(f, x, c->y ? value_of_word(second, c->y) : numeric_operand(b, f[3], f[4]));
}

static void body(sett_build *b, const void *user)
{
    int n = *(const int *)user;
    sett_tensor *in = sett_param(b, "in", SETT_U64, sett_make_layout(b, sett_tuple(b, 2, n)));
    sett_tensor *out = sett_param(b, "out", SETT_U64, sett_make_layout(b, sett_tuple(b, n)));
    sett_grid(b, 1);
    sett_block(b, 1);
    for (int i = 0; i < n; i++)
        sett_set(out, value_to_word(result_of(b, &batch[i], sett_at(in, 0, i), sett_at(in, 1, i))), i);
}

/* ---- the batch -------------------------------------------------------------------------------------------- */
static bool run_batch(uint64_t *out, sett_error *err)
{
    uint64_t in[2 * BATCH];
    const sett_stream s = {.device = sett_default_device(golden_engine())};
    const sett_compile_options o = {.size = sizeof o, .name = "golden", .user = &n_batch};
    sett_kernel *k = NULL;
    char *there = sett_alloc(engine, s.device, 3 * sizeof(uint64_t) * BATCH);
    for (int i = 0; i < n_batch; i++) {
        in[2 * i] = batch[i].a;
        in[2 * i + 1] = batch[i].b;
    }
    sett_buf I = {there, SETT_U64, 2, {2, n_batch}, {1, 2}}, O = sett_buf_1d(there + sizeof in, SETT_U64, n_batch);
    bool ok = there && !sett_compile(engine, body, &o, &k, err) && !sett_memcpy(engine, s, there, in, sizeof in) &&
        !sett_launch(k, s, err, &I, &O) && !sett_memcpy(engine, s, out, there + sizeof in, sizeof *out * (size_t)n_batch) &&
        !sett_sync_error(engine, s, err);
    sett_kernel_release(k);
    sett_free(engine, s.device, there);
    return ok;
}

/* CuTe's `**` of floats is the target's own function: within one unit of the last place. */
static bool agrees(const number_case *c, uint64_t got)
{
    bool near = strstr(c->file, "binary") && !strcmp(c->field[0], "pow") && sett__dtype_is_float(c->r);
    return value_same(c->r, got, c->want) || (near && (got - c->want == 1 || c->want - got == 1));
}

void golden_flush(tally *t)
{
    uint64_t out[BATCH];
    char text[600];
    sett_error err = {.text = ""};
    bool ran = n_batch && run_batch(out, &err);
    for (int i = 0; i < n_batch; i++) {
        snprintf(text, sizeof text, ran ? "0x%llx when it ran" : "%.0llu%s", ran ? (unsigned long long)out[i] : 0ull, err.text);
        golden_verdict(t, ran && agrees(&batch[i], out[i]), batch[i].file, batch[i].line, batch[i].field, batch[i].n_field, text);
    }
    n_batch = 0;
    golden_ssa_flush(t);
}

static sett_dtype dtype_at(char *const *f, int i)
{
    return value_dtype(f[i], strlen(f[i])); /* of a literal: 0 */
}

/* The line has been accepted: it runs with the next ones. */
static void keep(tally *t, const char *file, int line, char *const *f, int n)
{
    number_case *c = &batch[n_batch];
    bool two = strstr(file, "binary"), convert = strstr(file, "convert");
    int result = two ? 5 : convert ? 2 : 3;
    *c = (number_case){.line = line, .n_field = n, .x = dtype_at(f, !convert), .y = two ? dtype_at(f, 3) : (sett_dtype)0,
        .r = dtype_at(f, result)};
    const char *slash = strrchr(file, '/');
    snprintf(c->file, sizeof c->file, "%s", slash ? slash + 1 : file);
    size_t at = 0;
    for (int i = 0; i < n; i++) {
        c->field[i] = c->text + at;
        at += (size_t)snprintf(c->text + at, sizeof c->text - at, "%s", f[i]) + 1;
        if (at >= sizeof c->text)
            return;
    }
    c->a = c->x ? value_bits(c->x, f[convert ? 1 : 2]) : 0;
    c->b = c->y ? value_bits(c->y, f[4]) : 0;
    c->want = value_bits(c->r, f[result + 1]);
    if (++n_batch == BATCH)
        golden_flush(t);
}

/* Is it ours on purpose to give another number than they? */
static bool has_right_answer(const char *file, char **f)
{
    return strstr(file, "binary.tsv") && !strstr(file, ":right:") && strstr(value_rule, "there") && f[5][0] != '!';
}

/* As a line of divergent.tsv: the file's name before it, a reason after it. */
static void judge_by_right(tally *t, const char *file, int line, char **f, int n)
{
    char *again[MOST_FIELDS + 2] = {"binary"};
    memcpy(again + 1, f, (size_t)n * sizeof *f);
    golden_right_line(t, file, line, again, n + 2);
}

void golden_value_line(tally *t, const char *file, int line, char **field, int n)
{
    char got[1024];
    int verdict = value_case(file, field, n, false, got, sizeof got);
    bool runs = (strstr(file, "binary.tsv") && n == 8) || (strstr(file, "unary.tsv") && n == 6) || (strstr(file, "convert.tsv") && n == 5);
    if (verdict == CASE_OK)
        verdict = value_case(file, field, n, true, got, sizeof got);
    if (verdict == CASE_SKIPPED && runs && has_right_answer(file, field))
        judge_by_right(t, file, line, field, n);
    else if (verdict == CASE_SKIPPED)
        golden_aside(t, value_rule);
    else if (verdict == CASE_OK && runs && field[n - 2][0] != '!')
        keep(t, file, line, field, n);
    else
        golden_verdict(t, verdict == CASE_OK, file, line, field, n, got);
}

void golden_construct_line(tally *t, const char *file, int line, char **field, int n)
{
    (isupper((unsigned char)field[0][0]) ? golden_value_line : golden_layout_line)(t, file, line, field, n);
}

/* ---- numbers given to a launch -------------------------------------------------------------------------------- */
static void take_scalar(sett_build *b, const void *user)
{
    sett_tensor *out = sett_param(b, "out", SETT_U64, sett_make_layout(b, sett_tuple(b, 1)));
    sett_val *v = sett_scalar(b, "v", *(const sett_dtype *)user);
    sett_grid(b, 1);
    sett_block(b, 1);
    sett_set(out, value_to_word(v), 0);
}

/* Skipped: a number that the type does not hold, which a launch refuses and CuTe wraps; types that scalars do not have. */
void golden_argument_line(tally *t, const char *file, int line, char **f, int n)
{
    sett_dtype d = n < 4 ? (sett_dtype)0 : value_dtype(f[0], strlen(f[0]));
    if (n < 4) {
        golden_aside(t, "a line that is not in this format");
        return;
    }
    const sett_stream s = {.device = sett_default_device(golden_engine())};
    const sett_compile_options o = {.size = sizeof o, .name = "argument", .user = &d};
    sett_kernel *k = NULL;
    sett_error err = {.text = "accepted"};
    uint64_t got = 0;
    bool fraction = strpbrk(f[1], ".enia") != NULL;
    errno = 0;
    long long i = strtoll(f[1], NULL, 10);
    if (!d || !is_literal(f[1]) || sett_compile(engine, take_scalar, &o, &k, &err)) {
        if (f[2][0] == '!')
            golden_verdict(t, true, file, line, f, n, err.text);
        else
            golden_aside(t, "an object of the host language");
        return;
    }
    fraction = fraction || errno == ERANGE || sett__dtype_is_float(d);
    char *there = sett_alloc(engine, s.device, sizeof got);
    sett_buf O = sett_buf_1d(there, SETT_U64, 1);
    const sett_launch_arg bind[] = {sett_launch_arg_buf(&O), fraction ? sett_launch_arg_float(strtod(f[1], NULL)) : sett_launch_arg_int(i)};
    sett_status status = sett_launch_n(k, s, 2, bind, &err);
    if (!status)
        sett_memcpy(engine, s, &got, there, sizeof got), sett_sync(engine, s);
    bool refuses = status == SETT_E_RANGE || status == SETT_E_DTYPE || (d == SETT_BF16 && sett__bits_of_float(d, strtod(f[1], NULL)) != value_bits(d, f[2]));
    if (refuses && f[2][0] != '!')
        golden_aside(t, "an argument that is refused here: too large for its type, or rounded there by cutting it off");
    else
        golden_verdict(t, f[2][0] == '!' ? status != SETT_OK : !status && value_same(d, got, value_bits(d, f[2])), file, line, f, n, err.text);
    sett_free(engine, s.device, there);
    sett_kernel_release(k);
}
