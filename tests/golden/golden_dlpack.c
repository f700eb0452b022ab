/* SPDX-License-Identifier: Apache-2.0 */
/* The dlpack format: shape, strides, element type, byte offset, calls, layout while tracing, layout at run time, the
 * traced tensor, provenance. Each line makes a DLPack tensor, marks it, declares the parameter and binds the tensor to
 * it as a launch does; what any of these refuses is refused. The memory is not there, nor looked at. */
#include "third_party/dlpack/dlpack.h"
#include "tests/golden/golden.h"
#include "tests/rig/faces.h"
#include <sett/dlpack.h>
#include <stdlib.h>
#include <string.h>

enum { SHAPE, STRIDES, DTYPE, OFFSET, CALL, LAYOUT, RUN_LAYOUT, TENSOR, LAST };

static const struct {
    const char *name;
    uint8_t code, bits;
} types[] = {
    {"f16", kDLFloat, 16},
    {"f32", kDLFloat, 32},
    {"f64", kDLFloat, 64},
    {"i8", kDLInt, 8},
    {"i16", kDLInt, 16},
    {"i32", kDLInt, 32},
    {"i64", kDLInt, 64},
    {"u8", kDLUInt, 8},
    {"u16", kDLUInt, 16},
    {"u32", kDLUInt, 32},
    {"u64", kDLUInt, 64},
    {"bool", kDLBool, 8},
    {"c64", kDLComplex, 64},
    {"c128", kDLComplex, 128},
};

/* What a line came to. */
typedef struct outcome {
    sett_error err;
    bool foreign; /* an argument that no C program could give */
    bool empty;   /* refused for a static extent of 0 */
    char layout[400], ran[400];
    uint32_t align, bits;
} outcome;

/* ---- reading ------------------------------------------------------------------------------ */
/* "(8,4,)"; -1: it is no such text. */
static int tuple(const char *text, int64_t *to, int most)
{
    int n = 0;
    const char *p = text + 1;
    while (*text == '(' && *p && *p != ')') {
        char *end;
        if (n == most || *p == ' ' || (to[n++] = strtoll(p, &end, 10), end == p) || (*end != ',' && *end != ')'))
            return -1;
        p = end + (*end == ',');
    }
    return *text == '(' && *p == ')' && !p[1] ? n : -1;
}

/* The value of an argument in "a=1,b=(2,3)"; NULL: not given. */
static const char *argument(const char *args, const char *name, char buf[64])
{
    size_t n = strlen(name);
    for (const char *p = args; *p;) {
        size_t len = 0;
        for (int depth = 0; p[len] && (depth || p[len] != ','); len++)
            depth += (p[len] == '(' || p[len] == '[') - (p[len] == ')' || p[len] == ']');
        if (!strncmp(p, name, n) && p[n] == '=') {
            snprintf(buf, 64, "%.*s", (int)(len - n - 1), p + n + 1);
            return buf;
        }
        p += len + (p[len] == ',');
    }
    return NULL;
}

/* An integer, or a truth value, which Python takes for one; `absent` where it is not given. */
static bool number(outcome *o, const char *args, const char *name, int64_t absent, int64_t *to)
{
    char text[64], *end;
    *to = absent;
    if (!argument(args, name, text))
        return true;
    if (!strcmp(text, "True") || !strcmp(text, "False"))
        return *to = text[0] == 'T', true;
    *to = strtoll(text, &end, 10);
    o->foreign |= end == text || *end;
    return !o->foreign;
}

/* An order of another length than the rank cannot be told from C, where it is an array: it is one that repeats or lacks
 * a mode. NULL: none is given. */
static const int *order_of(outcome *o, const char *args, int rank, int buf[SETT__MAX_RANK])
{
    char text[64];
    int64_t wide[SETT__MAX_RANK];
    if (!argument(args, "stride_order", text) || !strcmp(text, "None"))
        return NULL;
    o->foreign |= text[0] != '(';
    int n = o->foreign ? 0 : tuple(text, wide, SETT__MAX_RANK);
    for (int i = 0; i < SETT__MAX_RANK; i++)
        buf[i] = n < rank ? 0 : n > rank ? rank : (int)wide[i];
    if (n == rank && rank == 0)
        return NULL;
    return buf;
}

/* ---- the calls -------------------------------------------------------------------------------- */
static sett_status call(outcome *o, const DLTensor *t, const char *name, const char *args, sett_marked *m)
{
    int64_t a = 0, b = 0;
    int order[SETT__MAX_RANK];
    if (!strcmp(name, "from_dlpack"))
        return number(o, args, "assumed_align", 0, &a) && number(o, args, "use_32bit_stride", 0, &b)
                   ? sett_from_dlpack(t, (int)a, b, m, &o->err)
                   : SETT_E_ARGUMENT;
    if (!strcmp(name, "mark_layout_dynamic"))
        return number(o, args, "leading_dim", SETT_DEDUCE, &a) ? sett_mark_layout_dynamic(m, (int)a, &o->err)
                                                               : SETT_E_ARGUMENT;
    if (!strcmp(name, "mark_compact_shape_dynamic")) {
        const int *given = order_of(o, args, t->ndim, order);
        bool ok = number(o, args, "mode", -1, &a) && number(o, args, "divisibility", 1, &b) && !o->foreign;
        return ok ? sett_mark_compact_shape_dynamic(m, (int)a, given, b, &o->err) : SETT_E_ARGUMENT;
    }
    return sett__error(&o->err, SETT_E_PARSE, "golden: %s is no call", name);
}

/* "from_dlpack(...).mark...(...)"; `last`: the name of the last one. */
static sett_status calls(outcome *o, const DLTensor *t, const char *text, sett_marked *m, char last[64])
{
    sett_status s = SETT_OK;
    while (*text && !s) {
        char args[256];
        size_t n = strcspn(text, "("), len = 0;
        int depth = 1;
        while (text[n + 1 + len] && (depth += (text[n + 1 + len] == '(') - (text[n + 1 + len] == ')')) > 0)
            len++;
        snprintf(last, 64, "%.*s", (int)n, text);
        snprintf(args, sizeof args, "%.*s", (int)len, text + n + 1);
        text += n + len + 2;
        text += *text == '.';
        s = call(o, t, last, args, m);
    }
    return s;
}

/* ---- the parameter and the launch ----------------------------------------------------------------- */
/* Each leaf's value with the symbols as they were packed. */
static void run_layout(const sett__sig *sig, const sett__bound *bound, char *to, size_t size)
{
    int64_t sym[2 * SETT__MAX_RANK], v;
    size_t at = 8;
    for (uint32_t s = 0; s < sig->n_sym; s++) {
        size_t n = sig->sym[s].wide ? 8 : 4;
        int32_t narrow;
        at = (at + n - 1) / n * n;
        memcpy(n == 8 ? (void *)&sym[s] : (void *)&narrow, bound->params + at, n);
        sym[s] = n == 8 ? sym[s] : narrow;
        at += n;
    }
    sett__sink out = {.buf = to, .cap = size};
    for (int strides = 0; strides < 2; strides++) {
        sett__put(&out, strides ? ":(" : "(");
        for (uint32_t i = 0; i < sig->n_leaf; i++) {
            bool ok = sett__expr_eval(sig, strides ? sig->leaf[i].stride : sig->leaf[i].extent, sym, NULL, &v);
            sett__putf(&out, ok ? "%s%lld" : "%s!", i ? "," : "", ok ? (long long)v : 0ll);
        }
        sett__put(&out, ")");
    }
}

static sett_status bind(outcome *o, sett_build *b, const DLTensor *t)
{
    static sett__bound bound;
    sett_buf buf;
    sett__tape tape = {0};
    sett_status s = sett_buf_dltensor(t, &buf, NULL, &o->err);
    if (!s)
        s = sett__build_finish(b, &tape, &o->err);
    const sett_launch_arg arg = {SETT_LAUNCH_ARG_BUF, .u = {.t = &buf}};
    if (!s)
        s = sett__bind(sett__plan_make(&tape.arena, &tape.sig, "golden", false), 1, &arg, &bound, NULL, &o->err);
    if (!s)
        run_layout(&tape.sig, &bound, o->ran, sizeof o->ran);
    sett__tape_free(&tape);
    return s;
}

static sett_status declare(outcome *o, const sett_marked *m, const DLTensor *t)
{
    const sett_site here = {"golden", "golden", 1, 0};
    sett_build *b = sett__build_new(NULL, true);
    const sett_param_marked_args a = {.size = sizeof a, .marked = m};
    sett_tensor *x = sett_param_marked_at(here, b, "X", &a);
    sett_status s = b->error.status;
    if (!s) {
        sett_layout_str(x->layout, o->layout, sizeof o->layout);
        o->align = x->align;
        o->bits = (uint32_t)sett_dtype_bits((sett_dtype)x->dtype);
        s = bind(o, b, t);
    } else {
        o->empty = s == SETT_E_SHAPE && strstr(b->error.text, "has no elements");
        o->err = b->error;
    }
    sett_build_end(b, NULL);
    return s;
}

static sett_status run_case(outcome *o, char **field, char last[64])
{
    int64_t shape[SETT__MAX_RANK], stride[SETT__MAX_RANK];
    sett_marked m;
    DLTensor t = {.data = (void *)(uintptr_t)4096,
        .shape = shape,
        .strides = stride,
        .ndim = tuple(field[SHAPE], shape, SETT__MAX_RANK),
        .byte_offset = strtoull(field[OFFSET], NULL, 10)};
    t.device.device_type = kDLCPU;
    for (size_t i = 0; i < SETT__COUNT(types); i++)
        if (!strcmp(types[i].name, field[DTYPE]))
            t.dtype = (DLDataType){types[i].code, types[i].bits, 1};
    if (t.ndim < 0 || tuple(field[STRIDES], stride, SETT__MAX_RANK) != t.ndim || !t.dtype.bits)
        return sett__error(&o->err, SETT_E_PARSE, "golden: the line does not parse");
    bool implicit = !strcmp(field[CALL], "implicit()"); /* as the guide says of it */
    sett_status s = calls(o, &t, implicit ? "from_dlpack().mark_layout_dynamic()" : field[CALL], &m, last);
    return s ? s : declare(o, &m, &t);
}

/* ---- verdicts -------------------------------------------------------------------------------------- */
static const char c_types[] = "an argument of a type that C does not take there (None, a letter, a fraction, a list)";
static const char no_elements[] = "a static extent of 0, which sett_param_marked refuses: mark it dynamic";

/* "tensor<ptr<f32, generic, align<16>> o ...": the type's width, and the alignment that it knows. An access of ours is
 * never narrower than an element, so that less than that is the element's. */
static bool same_tensor(const outcome *o, const char *text)
{
    const char *align = strstr(text, "align<"), *type = strstr(text, "ptr<");
    uint32_t bits = type ? (uint32_t)strtoul(type + 5, NULL, 10) : 0, bytes = bits / 8;
    uint32_t want = align ? (uint32_t)strtoul(align + 6, NULL, 10) : bytes;
    return o->bits == bits && o->align == (want > bytes ? want : bytes);
}

void golden_dlpack_line(tally *t, const char *file, int line, char **field, int n)
{
    outcome o = {0};
    char got[1600], last[64] = "";
    bool refused = n == LAST + 1 && !strcmp(field[LAYOUT], "!");
    sett_status s = n == LAST + 1 ? run_case(&o, field, last) : SETT_E_PARSE;
    if (o.foreign) {
        golden_aside(t, c_types);
        return;
    }
    if (o.empty && !refused) {
        golden_aside(t, no_elements);
        return;
    }
    bool ok = refused ? s && s != SETT_E_PARSE
                      : !s && !strcmp(o.layout, field[LAYOUT]) && !strcmp(o.ran, field[RUN_LAYOUT]) &&
                            same_tensor(&o, field[TENSOR]);
    snprintf(got, sizeof got, s ? "%s%s" : "%s %s, %u-byte addresses", s ? "error: " : o.layout, s ? o.err.text : o.ran,
        (unsigned)o.align);
    golden_verdict(t, ok, file, line, field, n, got);
}

/* Ours is refused, or describes the array as it is. */
void golden_dlpack_divergent_line(tally *t, const char *file, int line, char **field, int n)
{
    outcome o = {0};
    char got[1600], last[64] = "", array[400];
    sett_status s = run_case(&o, field, last);
    if (o.foreign) {
        golden_aside(t, c_types);
        return;
    }
    snprintf(array, sizeof array, "%s:%s", field[SHAPE], field[STRIDES]);
    snprintf(got, sizeof got, s ? "refused: %s" : "%s", s ? o.err.text : o.layout);
    if (s == SETT_E_PARSE || (!s && strcmp(o.ran, array))) {
        golden_verdict(t, false, file, line, field, n, "neither a refusal nor what the array is");
        return;
    }
    char *key[MOST_FIELDS] = {last};
    for (int i = SHAPE; i <= CALL; i++)
        key[i + 1] = field[i];
    golden_answer(t, file, line, key, CALL + 2, got, s ? "own" : "as the array is");
}
