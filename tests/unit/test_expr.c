/* SPDX-License-Identifier: Apache-2.0 */
/* Host expressions: values against 128-bit arithmetic on the same tree, and text that parses back to the
 * same postfix. */
#include "lib/print/print.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>

Suite *expr_suite(void);

__extension__ typedef __int128 wide;

static uint64_t state = 4711; /* the seed */

static uint32_t next(uint32_t below)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(state >> 33) % below;
}

/* N, M and "a b" are symbols; k is a scalar, x a scalar that no expression may use. */
static sett__symbol syms[] = {{.name = "N", .div = 1}, {.name = "M", .div = 1}, {.name = "a b", .div = 1}};
static sett__param params[] = {{.name = "k", .scalar = 1, .dtype = SETT_I32, .align = 4},
    {.name = "x", .scalar = 1, .dtype = SETT_F32, .align = 4}};
static const int64_t sym_values[] = {1000, 7, -3}, scalar_values[] = {11, 0};

static sett__sig sig_of(sett__xop *code, uint32_t n)
{
    sett__sig s = {.n_sym = 3, .n_param = 2, .n_code = n, .sym = syms, .param = params, .code = code};
    s.grid[0] = (sett__expr){0, n};
    return s;
}

/* ---- a random tree, its postfix, and its value in 128 bits ------------------------------- */
struct tree {
    sett__xop code[SETT__MAX_EXPR];
    uint32_t n;
    bool ok; /* no step overflowed or divided by zero */
};

static wide keep(struct tree *t, wide x)
{
    t->ok &= x >= INT64_MIN && x <= INT64_MAX;
    return t->ok ? x : 0;
}

static wide apply(struct tree *t, int code, wide a, wide b)
{
    switch (code) {
    case SETT__X_ADD: return keep(t, a + b);
    case SETT__X_SUB: return keep(t, a - b);
    case SETT__X_MUL: return keep(t, a * b);
    case SETT__X_DIV: return t->ok &= b != 0, keep(t, b ? a / b : 0);
    case SETT__X_REM: return t->ok &= b != 0, b ? a % b : 0;
    case SETT__X_MIN: return a < b ? a : b;
    case SETT__X_MAX: return a > b ? a : b;
    case SETT__X_SHL:
        t->ok &= b >= 0 && (b < 63 || a == 0);
        return t->ok && a ? keep(t, a * ((wide)1 << b)) : 0;
    case SETT__X_SHR: return t->ok &= b >= 0, t->ok ? a >> (b < 100 ? b : 100) : 0;
    case SETT__X_AND: return a & b;
    default: return a < b;
    }
}

static wide leaf(struct tree *t)
{
    static const int64_t edges[] = {0, 1, -1, 2, 255, -256, INT64_MAX, INT64_MIN, 1 << 20};
    sett__xop *x = &t->code[t->n++];
    switch (next(4)) {
    case 0: *x = (sett__xop){SETT__X_SYM, next(3)}; return sym_values[x->imm];
    case 1: *x = (sett__xop){SETT__X_SCALAR, 0}; return scalar_values[0];
    case 2: *x = (sett__xop){SETT__X_CONST, edges[next(SETT__COUNT(edges))]}; return x->imm;
    default: *x = (sett__xop){SETT__X_CONST, next(20)}; return x->imm;
    }
}

static wide grow(struct tree *t, int depth)
{
    static const uint8_t codes[] = {SETT__X_ADD, SETT__X_SUB, SETT__X_MUL, SETT__X_DIV, SETT__X_REM, SETT__X_MIN,
        SETT__X_MAX, SETT__X_SHL, SETT__X_SHR, SETT__X_AND, SETT__X_SELECT, SETT__X_LT, SETT__X_LOG2};
    if (!depth || !next(4))
        return leaf(t);
    int code = codes[next(SETT__COUNT(codes))];
    wide a = grow(t, depth - 1), b, r;
    if (code == SETT__X_LOG2) {
        t->ok &= a > 0;
        for (r = 0; t->ok && (wide)1 << r < a;)
            r++;
        t->code[t->n++] = (sett__xop){(uint8_t)code, 0};
        return r;
    }
    b = grow(t, depth - 1);
    if (code == SETT__X_SELECT) {
        wide c = grow(t, depth - 1);
        r = a ? b : c;
    } else {
        r = apply(t, code, a, b);
    }
    t->code[t->n++] = (sett__xop){(uint8_t)code, 0};
    return r;
}

START_TEST(values_are_exact)
{
    struct tree t;
    int evaluated = 0;
    for (int i = 0; i < 20000; i++) {
        t.n = 0, t.ok = true;
        wide want = grow(&t, 1 + i % 5);
        sett__sig s = sig_of(t.code, t.n);
        int64_t got = 0;
        if (!sett__expr_valid(&s, s.grid[0]))
            ck_abort_msg("a tree of %u codes is not valid", t.n);
        bool ok = sett__expr_eval(&s, s.grid[0], sym_values, scalar_values, &got);
        if (ok != t.ok || (ok && got != (int64_t)want)) {
            char text[2000];
            sett__expr_str(&s, s.grid[0], text, sizeof text);
            ck_abort_msg("%s: %d %lld, not %d %lld", text, ok, (long long)got, t.ok, (long long)want);
        }
        evaluated += ok;
    }
    ck_assert_int_gt(evaluated, 10000);
}
END_TEST

/* As the grid of a tape, through text. */
START_TEST(text_parses_back)
{
    struct tree t;
    for (int i = 0; i < 3000; i++) {
        t.n = 0, t.ok = true;
        grow(&t, 1 + i % 6);
        sett__sig s = sig_of(t.code, t.n);
        size_t size = 32 * (size_t)t.n + 64;
        char *text = malloc(size + 200);
        int at = sprintf(text, "sett tape 2\nsym N\nsym M\nsym \"a b\"\nscalar k i32\nscalar x f32\ngrid _, ");
        int n = sett__expr_str(&s, s.grid[0], text + at, size);
        sett__tape tape;
        sett_error err = {SETT_OK, ""};
        strcpy(text + at + n, "\n");
        sett_status status = sett__tape_parse(&tape, text, &err);
        if (status == SETT_E_LIMIT) { /* a constant that no grid can be */
            free(text);
            continue;
        }
        if (status)
            ck_abort_msg("%s\n%s", text, err.text);
        if (tape.sig.grid[1].count != t.n || tape.sig.grid[0].count)
            ck_abort_msg("%u codes, not %u: %s", tape.sig.grid[1].count, t.n, text);
        for (uint32_t k = 0; k < t.n; k++) {
            sett__xop x = tape.sig.code[tape.sig.grid[1].first + k];
            if (x.code != t.code[k].code || x.imm != t.code[k].imm)
                ck_abort_msg("code %u differs: %s", k, text);
        }
        sett__tape_free(&tape);
        free(text);
    }
}
END_TEST

/* ---- known texts ---------------------------------------------------------------------------- */
#define N {SETT__X_SYM, 0}
#define M {SETT__X_SYM, 1}
#define C(n) {SETT__X_CONST, n}
#define OP(code) {SETT__X_##code, 0}
static const struct {
    sett__xop code[12];
    uint32_t n;
    const char *text;
    bool ok;
    int64_t value;
} rows[] = {
    {{N, C(255), OP(ADD), C(256), OP(DIV)}, 5, "(N+255)/256", true, 4},
    {{N, M, C(2), OP(MUL), OP(ADD)}, 5, "N+M*2", true, 1014},
    {{N, M, OP(SUB), C(1), OP(SUB)}, 5, "N-M-1", true, 992},
    {{N, M, C(1), OP(SUB), OP(SUB)}, 5, "N-(M-1)", true, 994},
    {{N, C(-5), OP(SUB)}, 3, "N--5", true, 1005},
    {{N, M, OP(MIN), C(3), OP(MAX)}, 5, "max(min(N,M),3)", true, 7},
    {{N, M, OP(LT), C(1), C(2), OP(SELECT)}, 6, "select(N<M,1,2)", true, 2},
    {{C(1), N, C(3), OP(AND), OP(SHL)}, 5, "1<<(N&3)", true, 1},
    {{{SETT__X_SYM, 2}, {SETT__X_SCALAR, 0}, OP(REM)}, 3, "\"a b\"%k", true, -3},
    {{C(-7), C(2), OP(DIV)}, 3, "-7/2", true, -3},
    {{C(-7), C(2), OP(REM)}, 3, "-7%2", true, -1},
    {{C(-7), C(1), OP(SHR)}, 3, "-7>>1", true, -4},
    {{C(-7), C(99), OP(SHR)}, 3, "-7>>99", true, -1},
    {{C(0), C(99), OP(SHL)}, 3, "0<<99", true, 0},
    {{C(1), C(62), OP(SHL)}, 3, "1<<62", true, INT64_C(1) << 62},
    {{C(1), C(63), OP(SHL)}, 3, "1<<63", false, 0},
    {{C(1), C(-1), OP(SHL)}, 3, "1<<-1", false, 0},
    {{C(1), C(-1), OP(SHR)}, 3, "1>>-1", false, 0},
    {{C(INT64_MAX), C(1), OP(ADD)}, 3, "9223372036854775807+1", false, 0},
    {{C(INT64_MIN), C(1), OP(SUB)}, 3, "-9223372036854775808-1", false, 0},
    {{C(INT64_MIN), C(-1), OP(MUL)}, 3, "-9223372036854775808*-1", false, 0},
    {{C(INT64_MIN), C(-1), OP(DIV)}, 3, "-9223372036854775808/-1", false, 0},
    {{C(INT64_MIN), C(-1), OP(REM)}, 3, "-9223372036854775808%-1", true, 0},
    {{N, C(0), OP(DIV)}, 3, "N/0", false, 0},
    {{N, C(0), OP(REM)}, 3, "N%0", false, 0},
    {{N, OP(LOG2)}, 2, "ceil_log2(N)", true, 10},
    {{C(1024), OP(LOG2), C(2), OP(MUL)}, 4, "ceil_log2(1024)*2", true, 20},
    {{C(1025), C(2), OP(ADD), OP(LOG2)}, 4, "ceil_log2(1025+2)", true, 11},
    {{C(1), OP(LOG2)}, 2, "ceil_log2(1)", true, 0},
    {{C(2), OP(LOG2)}, 2, "ceil_log2(2)", true, 1},
    {{C(INT64_MAX), OP(LOG2)}, 2, "ceil_log2(9223372036854775807)", true, 63},
    {{C(0), OP(LOG2)}, 2, "ceil_log2(0)", false, 0},
    {{C(-1), OP(LOG2)}, 2, "ceil_log2(-1)", false, 0},
};

/* For people: what sett_ceil_div and sett_round_up record, by name, and nothing that only looks like it. */
static const struct {
    sett__xop code[20];
    uint32_t n;
    const char *text;
} named[] = {
    {{N, C(16), OP(DIV), N, C(16), OP(REM), C(1), OP(MIN), C(0), OP(MAX), OP(ADD)}, 11, "ceil_div(N,16)"},
    {{N, C(16), OP(REM), C(1), OP(MIN), N, C(16), OP(DIV), OP(ADD), C(16), OP(MUL)}, 11, "round_up(N,16)"},
    {{N, C(4), OP(MUL), N, C(4), OP(MUL), C(16), OP(REM), C(1), OP(MIN), C(0), OP(MAX), N, C(4), OP(MUL), C(16), OP(DIV), OP(ADD),
         OP(ADD)}, 19, "N*4+ceil_div(N*4,16)"},
    {{N, C(15), OP(ADD), C(16), OP(DIV), C(16), OP(MUL)}, 7, "round_up(N,16)"},
    {{C(16), N, C(15), OP(ADD), C(16), OP(DIV), OP(MUL), N, OP(ADD)}, 9, "round_up(N,16)+N"},
    {{N, C(15), OP(ADD), C(16), OP(DIV)}, 5, "(N+15)/16"},
    {{N, C(14), OP(ADD), C(16), OP(DIV), C(16), OP(MUL)}, 7, "(N+14)/16*16"},
    {{N, C(15), OP(ADD), C(16), OP(DIV), C(8), OP(MUL)}, 7, "(N+15)/16*8"},
    {{N, C(16), OP(DIV), N, C(8), OP(REM), C(1), OP(MIN), OP(ADD)}, 9, "N/16+min(N%8,1)"},
    {{N, C(16), OP(DIV), C(3), C(16), OP(REM), C(1), OP(MIN), OP(ADD)}, 9, "N/16+min(3%16,1)"},
    {{N, C(16), OP(DIV), N, C(16), OP(REM), C(2), OP(MIN), OP(ADD)}, 9, "N/16+min(N%16,2)"},
};

START_TEST(named_texts)
{
    sett__xop code[20];
    char text[100];
    memcpy(code, named[_i].code, sizeof code);
    sett__sig s = sig_of(code, named[_i].n);
    const int n = sett__expr_words(&s, s.grid[0], text, sizeof text);
    ck_assert_str_eq(text, named[_i].text);
    ck_assert_int_eq(n, (int)strlen(text));
}
END_TEST

START_TEST(known_texts)
{
    sett__xop code[12];
    char text[64], cut[8];
    int64_t got = 0;
    memcpy(code, rows[_i].code, sizeof code);
    sett__sig s = sig_of(code, rows[_i].n);
    ck_assert_int_eq(sett__expr_str(&s, s.grid[0], text, sizeof text), (int)strlen(rows[_i].text));
    ck_assert_str_eq(text, rows[_i].text);
    ck_assert_int_eq(sett__expr_str(&s, s.grid[0], cut, sizeof cut), (int)strlen(rows[_i].text));
    ck_assert(!strncmp(cut, text, sizeof cut - 1) && strlen(cut) < sizeof cut);
    ck_assert_int_eq(sett__expr_str(&s, s.grid[0], NULL, 0), (int)strlen(rows[_i].text));
    ck_assert_int_eq(sett__expr_eval(&s, s.grid[0], sym_values, scalar_values, &got), rows[_i].ok);
    ck_assert(!rows[_i].ok || got == rows[_i].value);
}
END_TEST

static const struct {
    sett__xop code[4];
    uint32_t n;
} wrong[] = {
    {{OP(ADD)}, 1},                    /* nothing to add */
    {{OP(LOG2)}, 1},                   /* of nothing */
    {{N, OP(ADD)}, 2},                 /* one operand */
    {{N, M}, 2},                       /* two results */
    {{N, M, OP(SELECT)}, 3},           /* two of three operands */
    {{{SETT__X_SYM, 3}}, 1},           /* no such symbol */
    {{{SETT__X_SYM, -1}}, 1},          /* nor this */
    {{{SETT__X_SCALAR, 1}}, 1},        /* a float */
    {{{SETT__X_SCALAR, 2}}, 1},        /* no such parameter */
    {{{SETT__N_XCODES, 0}}, 1},        /* no such code */
};

START_TEST(wrong_code_is_refused)
{
    sett__xop code[4];
    sett_error err;
    char text[8];
    memcpy(code, wrong[_i].code, sizeof code);
    sett__sig s = sig_of(code, wrong[_i].n);
    ck_assert(!sett__expr_valid(&s, s.grid[0]));
    sett__expr_str(&s, s.grid[0], text, sizeof text);
    ck_assert_str_eq(text, "?");
    ck_assert_int_eq(sett__sig_verify(&s, &err), SETT_E_VERIFY);
    ck_assert_str_eq(err.text, "grid: extent 0 is not a valid expression");
}
END_TEST

START_TEST(limits)
{
    sett__xop code[SETT__MAX_EXPR + 2];
    uint32_t n = 0;
    int64_t out;
    for (int i = 0; i < SETT__EXPR_DEPTH; i++)
        code[n++] = (sett__xop){SETT__X_CONST, i};
    for (int i = 1; i < SETT__EXPR_DEPTH; i++)
        code[n++] = (sett__xop){SETT__X_ADD, 0};
    sett__sig s = sig_of(code, n);
    ck_assert(sett__expr_valid(&s, s.grid[0]) && sett__expr_const(&s, s.grid[0], &out) && out == 64 * 63 / 2);
    memmove(code + 1, code, n * sizeof *code);
    code[n + 1] = (sett__xop){SETT__X_ADD, 0};
    s = sig_of(code, n + 2);
    ck_assert(!sett__expr_valid(&s, s.grid[0])); /* one deeper */
    n = 0;
    code[n++] = (sett__xop){SETT__X_CONST, 1};
    while (n < SETT__MAX_EXPR + 1) {
        code[n++] = (sett__xop){SETT__X_CONST, 1};
        code[n++] = (sett__xop){SETT__X_ADD, 0};
    }
    s = sig_of(code, n);
    ck_assert(!sett__expr_valid(&s, s.grid[0])); /* longer */
    s = sig_of(code, n - 2);
    ck_assert(sett__expr_valid(&s, s.grid[0]) && sett__expr_const(&s, s.grid[0], &out) && out == n / 2);
    ck_assert(!sett__expr_valid(&s, (sett__expr){1, UINT32_MAX}) && !sett__expr_valid(&s, (sett__expr){UINT32_MAX, 1}));
    ck_assert(sett__expr_eval(&s, (sett__expr){0, 0}, NULL, NULL, &out) && out == 1); /* absent */
    code[0] = (sett__xop)N;
    ck_assert(!sett__expr_const(&s, s.grid[0], &out));
}
END_TEST

Suite *expr_suite(void)
{
    Suite *s = suite_create("expr");
    TCase *t = tcase_create("expr");
    tcase_add_test(t, values_are_exact);
    tcase_add_test(t, text_parses_back);
    tcase_add_loop_test(t, known_texts, 0, (int)SETT__COUNT(rows));
    tcase_add_loop_test(t, named_texts, 0, (int)SETT__COUNT(named));
    tcase_add_loop_test(t, wrong_code_is_refused, 0, (int)SETT__COUNT(wrong));
    tcase_add_test(t, limits);
    suite_add_tcase(s, t);
    return s;
}
