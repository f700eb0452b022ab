/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel as a typed function: its prototype, what the header says of it, its body. */
#include "inside.h"
#include <inttypes.h>
#include <string.h>

#define H(...) sett__export_putf(x, &x->header, __VA_ARGS__)
#define P(...) sett__export_putf(x, &x->source, __VA_ARGS__)

/* ---- arguments: the parameters, then the symbols that no buffer gives ------------------------------------------------------ */
typedef struct argument {
    const char *type, *name;
    const sett__param *param; /* NULL: a symbol */
    uint32_t bind;            /* its entry of a launch */
} argument;

static const char *scalar_type(int dtype)
{
    static const char *const types[64] = {[SETT_BOOL] = "bool ", [SETT_I8] = "int8_t ", [SETT_I16] = "int16_t ", [SETT_I32] = "int32_t ",
        [SETT_I64] = "int64_t ", [SETT_U8] = "uint8_t ", [SETT_U16] = "uint16_t ", [SETT_U32] = "uint32_t ", [SETT_U64] = "uint64_t ",
        [SETT_F16] = "float ", [SETT_BF16] = "float ", [SETT_F32] = "float ", [SETT_F64] = "double "};
    return types[dtype];
}

/* The next argument from entry *at on. False: there is none. */
static bool next_argument(const sett_kernel *k, uint32_t *at, argument *a)
{
    const sett__plan *p = k->plan;
    for (; *at < p->n_arg + (uint32_t)p->n_sym; ++*at) {
        const uint32_t s = *at - p->n_arg;
        if (*at < p->n_arg) {
            const sett__param *q = &p->sig->param[*at];
            const char *type = q->scalar == SETT__BY_NUMBER ? scalar_type(q->dtype) : q->scalar ? "const void *" : "const sett_buf *";
            *a = (argument){type, q->name, q, (*at)++};
            return true;
        }
        if (sett__plan_syms(p)[s].from == SETT__GIVEN) {
            *a = (argument){"int64_t ", p->sig->sym[s].name, NULL, (*at)++};
            return true;
        }
    }
    return false;
}

/* Is this the word of an argument before entry `before`? */
static bool is_word_of(const sett__export *x, const sett_kernel *k, const char *word, uint32_t before)
{
    char other[SETT__EXPORT_WORD];
    argument b;
    bool is = false;
    for (uint32_t at = 0; !is && next_argument(k, &at, &b) && b.bind < before;)
        is = !strcmp(sett__export_word(x, b.name, other), word);
    return is;
}

/* Names that become one word are told apart by their entries; what that makes may be a name too, of any argument. */
static const char *word_of(const sett__export *x, const sett_kernel *k, const argument *a, char word[SETT__EXPORT_WORD])
{
    bool taken = is_word_of(x, k, sett__export_word(x, a->name, word), a->bind);
    for (size_t n = strlen(word); taken && n + 8 < SETT__EXPORT_WORD; n = strlen(word)) {
        snprintf(word + n, SETT__EXPORT_WORD - n, "_%u", (unsigned)a->bind);
        taken = is_word_of(x, k, word, UINT32_MAX);
    }
    return word;
}

static bool same_parameter(const argument *a, const argument *b)
{
    const sett__param *p = a->param, *q = b->param;
    return a->bind == b->bind && !strcmp(a->name, b->name) && a->type == b->type && !p == !q &&
           (!p || (p->dtype == q->dtype && p->bytes == q->bytes && p->rank == q->rank));
}

static bool alike(const sett_kernel *k, const sett_kernel *l)
{
    argument a, b;
    uint32_t i = 0, j = 0;
    bool more, same = true;
    do {
        more = next_argument(k, &i, &a);
        same = more == next_argument(l, &j, &b) && (!more || same_parameter(&a, &b));
    } while (more && same);
    return same;
}

/* ---- may it be a function ---------------------------------------------------------------------------------------------- */
/* What the files declare beside the kernels; tests/export.sh looks for what is missing here. */
static bool taken(const char *function)
{
    static const char *const own[] = {"buf", "buf_1d", "buf_2d", "buf_nd", "stream", "status", "status_name", "dtype", "prepare", "assertions", "last_error", "launch_arg",
        "launch_arg_kind", "dtype_bits", "dtype_name", "error", "log_fn", "log_level"};
    for (size_t i = 0; i < SETT__COUNT(own); i++)
        if (!strcmp(function, own[i]))
            return true;
    return false;
}

static bool has_small(const char *name)
{
    return strpbrk(name, "abcdefghijklmnopqrstuvwxyz") != NULL;
}

sett_status sett__export_check(const sett__export *x, int i, sett_error *err)
{
    const sett__export_item *t = &x->item[i];
    const sett_kernel *k = t->kernel, *first = x->item[t->first].kernel;
    if (!sett__is_name(t->function, 128) || *t->function == '_')
        return sett__error(err, SETT_E_ARGUMENT, "sett_export: \"%s\" is no name for a function: letters, digits and _, a letter first", t->function);
    if (taken(t->function))
        return sett__error(err, SETT_E_ARGUMENT, "sett_export: %s_%s is what every export declares: give the kernel another name", x->name, t->function);
    if (!has_small(x->name) && !has_small(t->function))
        return sett__error(err, SETT_E_ARGUMENT, "sett_export: %s_%s is written as constants are: one of both parts needs a small letter", x->name, t->function);
    if (!sett__kernel_cubin(k))
        return sett__error(err, SETT_E_ARGUMENT, "sett_export: %s, for %s, has no cubin: compile it for a GPU's target, such as sm_90a",
            t->function, sett__meta_of(k)->target);
    for (uint32_t p = 0; p < k->plan->n_arg; p++) {
        const sett__param *q = &k->plan->sig->param[p];
        if (q->scalar == SETT__BY_NUMBER && !scalar_type(q->dtype))
            return sett__error(err, SETT_E_DTYPE, "sett_export: %s: %s is %s, which has no type in C", t->function, q->name,
                sett_dtype_name((sett_dtype)q->dtype));
    }
    for (int j = t->first; j < i; j++)
        if (x->item[j].first == t->first && !strcmp(sett__meta_of(x->item[j].kernel)->target, sett__meta_of(k)->target))
            return sett__error(err, SETT_E_ARGUMENT, "sett_export: %s is there twice for %s: give one of them another name; for the command FUNCTION=KERNEL", t->function, sett__meta_of(k)->target);
    return alike(first, k) ? SETT_OK
                           : sett__error(err, SETT_E_SHAPE, "sett_export: %s has other parameters for %s than for %s", t->function,
                                 sett__meta_of(k)->target, sett__meta_of(first)->target);
}

/* ---- the header ---------------------------------------------------------------------------------------------------------- */
static void describe(sett__export *x, const sett_kernel *k, const argument *a)
{
    const sett__param *p = a->param;
    char word[SETT__EXPORT_WORD];
    H(" *     ");
    sett__put(&x->header, word_of(x, k, a, word));
    if (!p)
        H(": what no buffer gives\n");
    else if (p->scalar == SETT__BY_STRUCT)
        H(": a struct of %u bytes\n", (unsigned)p->bytes);
    else if (p->scalar)
        H(": %s\n", sett_dtype_name((sett_dtype)p->dtype));
    if (!p || p->scalar)
        return;
    H(": %s ", sett_dtype_name((sett_dtype)p->dtype));
    sett__put_modes(&x->header, k->plan->sig, p, false, true);
    H(":");
    sett__put_modes(&x->header, k->plan->sig, p, true, true);
    if (p->align > 1)
        H(", at a multiple of %u bytes", (unsigned)p->align);
    H("%s\n", p->access == SETT__ACCESS_READ ? ", read" : p->access == SETT__ACCESS_WRITE ? ", written" : p->access ? ", read and written" : "");
}

/* In the source, where many headers define and this file declares what a word might be. */
static const char *own_word(const sett__export *x, const argument *a, char word[SETT__EXPORT_WORD])
{
    snprintf(word, SETT__EXPORT_WORD, "%s__arg_%u", x->name, (unsigned)a->bind);
    return word;
}

static void put_prototype(sett__export *x, sett__sink *to, int i, bool header)
{
    const sett_kernel *k = x->item[i].kernel;
    char word[SETT__EXPORT_WORD];
    argument a;
    sett__export_putf(x, to, "sett_status %s_%s(sett_stream%s", x->name, x->item[i].function, header ? "" : " sett__stream");
    for (uint32_t at = 0; next_argument(k, &at, &a);) {
        sett__export_putf(x, to, ", %s", a.type);
        sett__put(to, header ? word_of(x, k, &a, word) : own_word(x, &a, word));
    }
    sett__export_putf(x, to, header ? ");\n" : ")\n");
}

/* ---- the source ------------------------------------------------------------------------------------------------------------ */
/* "{SETT_LAUNCH_ARG_FLOAT, 0, {.f = (double)a}}" */
static void put_launch_arg(sett__export *x, const argument *a, const char *word)
{
    const bool floating = *a->type == 'f' || *a->type == 'd', number = !a->param || a->param->scalar == SETT__BY_NUMBER;
    const unsigned bytes = a->param && a->param->scalar == SETT__BY_STRUCT ? a->param->bytes : 0;
    if (number)
        P(floating ? "{SETT_LAUNCH_ARG_FLOAT, 0, {.f = (double)" : "{SETT_LAUNCH_ARG_INT, 0, {.i = (int64_t)");
    else
        P(bytes ? "{SETT_LAUNCH_ARG_STRUCT, %u, {.p = " : "{SETT_LAUNCH_ARG_BUF, %u, {.t = ", bytes);
    sett__put(&x->source, word);
    P("}}");
}

/* {0} stands for a symbol that a buffer gives. Returns how many entries there are. */
static uint32_t put_launch_args(sett__export *x, const sett_kernel *k)
{
    char word[SETT__EXPORT_WORD];
    argument a;
    uint32_t n = 0;
    for (uint32_t at = 0; next_argument(k, &at, &a); n++) {
        for (; n < a.bind; n++)
            P("%s{0}", n ? ", " : "");
        P("%s", n ? ", " : "");
        put_launch_arg(x, &a, own_word(x, &a, word));
    }
    return n;
}

static void put_body(sett__export *x, int i)
{
    const sett_kernel *k = x->item[i].kernel;
    uint32_t n = 0, at = 0;
    argument a;
    if (next_argument(k, &at, &a)) {
        P("    const sett_launch_arg sett__args[] = {");
        n = put_launch_args(x, k);
        P("};\n");
    }
    P("    return sett__exported_launch(&exporter, &kernel_%d, sett__stream, %u, %s, &last);\n", i, (unsigned)n, n ? "sett__args" : "NULL");
}

/* Its name is one that others look for: the only one here that does not begin as the export's do. */
static void put_tvm(sett__export *x, int i)
{
    P("\n__attribute__((visibility(\"default\"))) int __tvm_ffi_%s_%s(void *self, const void *args, int32_t n, void *result);\n", x->name, x->item[i].function);
    P("int __tvm_ffi_%s_%s(void *self, const void *args, int32_t n, void *result)\n{\n    (void)self;\n", x->name, x->item[i].function);
    P("    return sett__exported_call(&exporter, &kernel_%d, &tvm, args, n, result, &last);\n}\n", i);
}

/* The codes of all targets. */
static int put_codes(sett__export *x, int i)
{
    int n = 0;
    P("\n/* ---- %s ---- */\nstatic const sett__exported_code codes_%d[] = {\n", x->item[i].function, i);
    for (int j = i; j < x->n; j++) {
        const sett__meta *m = sett__meta_of(x->item[j].kernel);
        if (x->item[j].first != i)
            continue;
        P("    {{\"%s\", \"%s\", ", m->name, m->target);
        sett__put_quoted(&x->source, m->assembler);
        P(", %d}, (const sett__plan *)(const void *)&plan_%d, cubin_%d, sizeof cubin_%d},\n", m->min_driver, j, j, j);
        n++;
    }
    P("};\n");
    return n;
}

/* "For sm_80, sm_90a; a driver for CUDA 13.0 or later." */
static void put_targets(sett__export *x, int i)
{
    int driver = 0;
    H("\n/* For");
    for (int j = i, m = 0; j < x->n; j++) {
        const sett__meta *k = sett__meta_of(x->item[j].kernel);
        if (x->item[j].first != i)
            continue;
        H("%s %s", m++ ? "," : "", k->target);
        driver = k->min_driver > driver ? k->min_driver : driver;
    }
    if (driver)
        H("; a driver for CUDA %d.%d or later", driver / 1000, driver % 1000 / 10);
    H(".\n");
}

void sett__export_function(sett__export *x, int i)
{
    const sett_kernel *k = x->item[i].kernel;
    argument a;
    int n = put_codes(x, i);
    P("static _Atomic(sett__gpu_kernel *) loaded_%d[%d];\nstatic atomic_uchar best_%d[SETT__GPUS_MAX];\n", i, n, i);
    P("static const sett__exported kernel_%d = {\"%s\", codes_%d, loaded_%d, best_%d, %d};\n\n", i, x->item[i].function, i, i, i, n);
    put_prototype(x, &x->source, i, false);
    P("{\n");
    put_body(x, i);
    P("}\n");
    if (x->tvm_ffi)
        put_tvm(x, i);
    put_targets(x, i);
    for (uint32_t at = 0; next_argument(k, &at, &a);)
        describe(x, k, &a);
    H(" */\n");
    put_prototype(x, &x->header, i, true);
}
