/* SPDX-License-Identifier: Apache-2.0 */
/* Lines on shaped values, in kernels: many in one, their operands loaded from memory as words of 64 bits, one after the
 * other, and their results stored so. On the CPU engine, or on GPU 0 where SETT_TEST_GPU is set. */
#include "tests/golden/golden_value.h"
#include "tests/golden/golden.h"
#include <sett/compile.h>
#include <sett/engine.h>
#include <sett/launch.h>
#include <sett/memory.h>

enum { SSA_BATCH = 40, SSA_WORDS = 1 << 14 };
typedef struct ssa_case {
    char *field[MOST_FIELDS], *text, file[64];
    int n, line;
    uint32_t in, n_in, out, n_out; /* words */
    sett_dtype d;
} ssa_case;
static ssa_case kept[SSA_BATCH];
static int n_kept;
static uint64_t words[SSA_WORDS];
static uint32_t n_words, n_results;

static void ssa_body(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *in = sett_param(b, "in", SETT_U64, sett_make_layout(b, SETT_T1(n_words + 1)));
    sett_tensor *out = sett_param(b, "out", SETT_U64, sett_make_layout(b, SETT_T1(n_results)));
    sett_grid(b, 1);
    sett_block(b, 1);
    for (int i = 0; i < n_kept; i++) {
        ssa_case *c = &kept[i];
        value_words.from = sett_domain_offset(in, c->in);
        sett_val *r = ssa_line(b, c->field, c->n);
        if (!r || b->error.status)
            break;
        c->d = sett_val_dtype(r);
        sett_val *bits = value_to_word(r);
        if (r->scalar)
            sett_set(out, bits, c->out);
        else
            sett_store(sett_composition(sett_domain_offset(out, c->out), sett_make_layout(b, SETT_T1(c->n_out))),
                sett_reshape(bits, SETT_T1(c->n_out)));
    }
    value_words.from = NULL;
}

static bool run_kept(uint64_t *got, sett_error *err)
{
    const sett_stream s = {.device = sett_default_device(golden_engine())};
    const sett_compile_options o = {.size = sizeof o, .name = "golden"};
    sett_kernel *k = NULL;
    size_t in = (n_words + 1) * sizeof *words, out = n_results * sizeof *got;
    char *there = sett_alloc(golden_engine(), s.device, in + out);
    sett_buf I = sett_buf_1d(there, SETT_U64, n_words + 1), O = sett_buf_1d(there + in, SETT_U64, n_results);
    bool ok = there && !sett_compile(golden_engine(), ssa_body, &o, &k, err) && !sett_memcpy(golden_engine(), s, there, words, in) &&
        !sett_launch(k, s, err, &I, &O) && !sett_memcpy(golden_engine(), s, got, there + in, out) &&
        !sett_sync_error(golden_engine(), s, err);
    sett_kernel_release(k);
    sett_free(golden_engine(), s.device, there);
    return ok;
}

/* `**` of floats is the target's own function there: within one unit of the last place. */
static bool near(const ssa_case *c, uint64_t got, uint64_t want)
{
    bool power = strstr(c->field[0], "**") && sett__dtype_is_float(c->d);
    return value_same(c->d, got, want) || (power && (got - want == 1 || want - got == 1));
}

static bool ssa_agrees(const ssa_case *c, const uint64_t *got, char *text, size_t size)
{
    const char *want = c->field[c->n - 2];
    for (uint32_t i = 0; i < c->n_out; i++) {
        uint64_t bits = want ? value_bits(c->d, want) : 0;
        if (!want || !near(c, got[c->out + i], bits)) {
            snprintf(text, size, "element %u: 0x%llx when it ran", i, (unsigned long long)got[c->out + i]);
            return false;
        }
        want = strchr(want, ',');
        want = want ? want + 1 : NULL;
    }
    return !want;
}

void golden_ssa_flush(tally *t)
{
    static uint64_t got[SSA_WORDS];
    char text[600] = "";
    sett_error err = {.text = ""};
    bool ran = n_kept && run_kept(got, &err);
    for (int i = 0; i < n_kept; i++) {
        ssa_case *c = &kept[i];
        bool ok = ran && ssa_agrees(c, got, text, sizeof text);
        golden_verdict(t, ok, c->file, c->line, c->field, c->n, ran ? text : err.text);
        free(c->text);
    }
    n_kept = 0;
    n_words = n_results = 0;
}

/* The operands' words are those that reading the line kept. */
static void keep(tally *t, const char *file, int line, char **field, int n)
{
    ssa_case *c = &kept[n_kept];
    size_t size = 0, at = 0;
    const char *slash = strrchr(file, '/');
    *c = (ssa_case){.n = n, .line = line, .in = n_words, .n_in = value_words.n, .out = n_results, .n_out = 1};
    snprintf(c->file, sizeof c->file, "%s", slash ? slash + 1 : file);
    for (int i = 0; i < n; i++)
        size += strlen(field[i]) + 1;
    c->text = malloc(size);
    if (!c->text)
        exit(1);
    for (int i = 0; i < n; at += strlen(field[i]) + 1, i++)
        c->field[i] = strcpy(c->text + at, field[i]);
    for (const char *s = field[n - 2]; (s = strchr(s, ',')); s++)
        c->n_out++;
    memcpy(words + n_words, value_words.bits, c->n_in * sizeof *words);
    n_words += c->n_in;
    n_results += c->n_out;
    if (++n_kept == SSA_BATCH || n_words + 1024 > SSA_WORDS || n_results + 1024 > SSA_WORDS)
        golden_ssa_flush(t);
}

void golden_ssa_line(tally *t, const char *file, int line, char **field, int n)
{
    char got[1024];
    int verdict = value_case(file, field, n, true, got, sizeof got);
    if (verdict == CASE_OK)
        verdict = value_case(file, field, n, false, got, sizeof got);
    if (verdict == CASE_SKIPPED && strstr(value_rule, "sign-extended here"))
        golden_right_line(t, file, line, field, n);
    else if (verdict == CASE_SKIPPED)
        golden_aside(t, value_rule);
    else if (verdict == CASE_OK && field[n - 3][0] != '!')
        keep(t, file, line, field, n);
    else
        golden_verdict(t, verdict == CASE_OK, file, line, field, n, got);
}
