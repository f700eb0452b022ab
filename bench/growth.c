/* SPDX-License-Identifier: Apache-2.0 */
/* How costs grow with the length of a kernel: recording + verifying + hashing (sett_key) from 10^2 to 10^5 ops, and the code
 * generator's and the assembler's share on three families up to 10^4. No GPU is needed. */
#define SETT_SHORT
#include "common.h"

typedef struct family {
    const char *name;
    int kind, n;
} family;

/* About n ops of straight-line code, nothing of it foldable or mergeable. */
static void body(sett_build *b, const void *user)
{
    const family *f = user;
    sett_val *N = sett_sym(b, "N");
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T1(N)), .align = 16);
    sett_block(b, 32);
    sett_val *t = sett_thread_idx(b, 0), *x = sett_at(X, t);
    if (f->kind == 0) {
        sett_val *y = x;
        for (int i = 0; i < f->n; i++)
            y = i & 1 ? sett_add(sett_mul(y, x), x) : sett_sub(y, x);
        sett_set(X, y, t);
    } else if (f->kind == 1) {
        for (int i = 0; i < f->n / 2; i++)
            sett_set(X, sett_at(X, sett_add(t, 32 * i)), sett_add(t, 32 * (i + f->n)));
    } else {
        sett_val *at = t;
        for (int i = 0; i < f->n / 4; i++) {
            at = sett_add(sett_mul(at, N), t);
            sett_set(X, sett_at(X, at), sett_add(at, N));
        }
    }
}

static double best_key(sett_engine *e, family *f, int repeat)
{
    double best = 1e30;
    uint8_t key[32];
    sett_error err = {0};
    sett_compile_options opt = {.size = sizeof opt, .target = "sm_90a", .user = f};
    for (int i = 0; i < repeat; i++) {
        double t = now_us();
        must(sett_key(e, body, &opt, key, &err), &err);
        t = now_us() - t;
        best = t < best ? t : best;
    }
    return best;
}

static long ops_of(family *f)
{
    void *text;
    size_t len;
    long n = 0;
    sett_error err = {0};
    sett_compile_options opt = {.size = sizeof opt, .user = f};
    must(sett_record(body, &opt, true, &text, &len, &err), &err);
    for (char *p = text; (p = strchr(p, '\n')); p++)
        n++;
    sett_text_free(text);
    return n;
}

/* Calls of sett in the body: what it records before folding and dropping, as the sums that addresses absorb. */
static long calls_of(const family *f)
{
    return f->kind == 0 ? f->n + f->n / 2 : f->kind == 1 ? f->n / 2 * 4 : f->n / 4 * 5;
}

/* One compile in an engine that has none of it yet; false: there is no assembler. */
static bool compile_once(family *f, bool ptx_only, double *codegen_ms, double *assemble_ms)
{
    sett_engine *e = bench_engine();
    sett_kernel *k;
    sett_error err = {0};
    sett_kernel_info info = {.size = sizeof info};
    sett_compile_options opt = {.size = sizeof opt, .target = "sm_90a", .user = f, .ptx_only = ptx_only};
    sett_status s = sett_compile(e, body, &opt, &k, &err);
    if (s != SETT_E_NO_ASSEMBLER) {
        must(s, &err);
        must(sett_kernel_query(k, &info), NULL);
        *codegen_ms = info.codegen_ms < *codegen_ms ? info.codegen_ms : *codegen_ms;
        *assemble_ms = info.assemble_ms;
        sett_kernel_release(k);
    }
    sett_engine_close(e);
    return !s;
}

/* One family from 10^2 to 10^5 ops; the last column says how far it is from linear. */
static void recording(const char *name, int kind)
{
    enum { SIZES = 4 };
    double us[SIZES], best = 1e30;
    long ops[SIZES], calls[SIZES];
    sett_engine *e = bench_engine();
    for (int i = 0, n = 100; i < SIZES; i++, n *= 10) {
        family f = {name, kind, n};
        us[i] = best_key(e, &f, n < 10000 ? 50 : 9);
        ops[i] = ops_of(&f), calls[i] = calls_of(&f);
        best = us[i] / (double)calls[i] < best ? us[i] / (double)calls[i] : best;
    }
    for (int i = 0; i < SIZES; i++)
        printf("| %s | %ld | %ld | %.0f | %.2f | %.2f | %.2f |\n", name, calls[i], ops[i], us[i], (double)calls[i] / us[i],
            (double)ops[i] / us[i], us[i] / (double)calls[i] / best);
    sett_engine_close(e);
}

/* LLVM's best of four, the assembler's one. */
static double code_generation(family *f, double before)
{
    double codegen = 1e30, assemble = 0, ignored;
    for (int i = 0; i < 3; i++)
        compile_once(f, true, &codegen, &ignored);
    bool assembled = compile_once(f, false, &codegen, &assemble);
    printf("| %s | %d | %.1f | ", f->name, f->n, codegen);
    printf(before > 0 ? "%.1f | " : "| ", codegen / before);
    printf(assembled ? "%.1f |\n" : "none here |\n", assemble);
    return codegen;
}

int main(void)
{
    static const char *const names[] = {"arithmetic", "static offsets", "run-time offsets"};
    puts("| record + verify + hash | calls | ops kept | us | million calls a second | million ops kept a second | time a call, to the "
         "best |");
    puts("| --- | --- | --- | --- | --- | --- | --- |");
    for (int kind = 0; kind < 3; kind++)
        recording(names[kind], kind);
    puts("\n| code generation, sm_90a | n | LLVM ms | ratio to n/10 | assembler ms |\n| --- | --- | --- | --- | --- |");
    for (int kind = 0; kind < 3; kind++) {
        double before = 0;
        for (int n = 100; n <= 10000; n *= 10)
            before = code_generation(&(family){names[kind], kind, n}, before);
    }
    return 0;
}
