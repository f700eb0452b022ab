/* SPDX-License-Identifier: Apache-2.0 */
/* Inline PTX beside what it computes (conform_inline.c): its text, its keys, what is refused and in which words, whose line an
 * assembler's error names, and which threads a stand-in is called for. */
#define SETT_SHORT
#include "tests/rig/match.h"
#include "tests/rig/rig.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>

static const char xor3[] = "lop3.b32 $0, $1, $2, $3, 0x96;";
static sett_engine *engine;

static void open_bare(void)
{
    const sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true, .cpu_threads = 1};
    sett_error err = {0};
    ck_assert_msg(!sett_engine_open(&engine, &eo, &err), "%s", err.text);
}

static void close_bare(void)
{
    sett_engine_close(engine);
}

/* ---- PTX ------------------------------------------------------------------------------------- */
static void mixed(sett_build *b, const void *user)
{
    (void)user;
    sett_block(b, 32);
    sett_tensor *X = sett_param(b, "X", SETT_U32, sett_make_layout(b, T(32, 3))), *B = sett_param(b, "B", SETT_I8, sett_make_layout(b, T1(32)));
    sett_val *t = sett_thread_idx(b, 0), *x = sett_at(X, t, 0), *r[3];
    sett_set(X, sett_inline_ptx(b, xor3, .result = {SETT_U32}, .in = SETT_IN(x, sett_at(X, t, 1), 7)), t, 0);
    sett_inline_ptx(b, "{ .reg .pred p; setp.eq.u32 p, $3, 0; // a $$ and 100 %\n\t@!p mov.u32 $0, %laneid; selp.f32 $1, $4, 0f00000000, p; mov.pred $2, p; }",
        .result = {SETT_U32, SETT_F32, SETT_BOOL}, .to = r, .in = SETT_IN(x, 1.5), .memory = true);
    sett_set(X, sett_where(r[2], r[0], sett_bitcast(r[1], SETT_U32)), t, 1);
    sett_set(B, sett_inline_ptx(b, "abs.s16 $0, $1;", .result = {SETT_I8}, .in = SETT_IN(sett_at(B, t))), t);
    sett_inline_ptx(b, "nanosleep.u32 $0;", .in = SETT_IN(100), .least_sm = 70, .least_ptx = 63);
    sett_inline_ptx(b, "mov.u32 $0, 1;", .result = {SETT_U32}); /* nobody wants it */
}

static sett_kernel *compiled(sett_body body, const char *target, bool ptx_only, sett_status want, sett_error *err)
{
    const sett_compile_options o = {.size = sizeof o, .target = target, .name = "k", .ptx_only = ptx_only};
    sett_kernel *k = NULL;
    sett_status s = sett_compile(engine, body, &o, &k, err);
    ck_assert_msg(s == want, "%d: %s", s, s ? err->text : "");
    return k;
}

START_TEST(generated)
{
    sett_error err = {0};
    sett_kernel_info info = {.size = sizeof info};
    if (!have_compiler())
        return;
    sett_kernel *k = compiled(mixed, "sm_90a", true, SETT_OK, &err);
    ck_assert_int_eq(sett_kernel_query(k, &info), SETT_OK);
    char *bad = match(info.ptx, "CHECK: // begin inline asm\nCHECK: // of op\nCHECK: lop3.b32 %r{{*}}, %r{{*}}, %r{{*}}, %r{{*}}, 0x96;\n"
                                "CHECK: { .reg .pred p; setp.eq.u32 p, %r{{*}}, 0; // a $ and 100 %\n"
                                "CHECK: @!p mov.u32 %r{{*}}, %laneid; selp.f32 %r{{*}}, %r{{*}}, 0f00000000, p; mov.pred %p{{*}}, p; }\n"
                                "CHECK: abs.s16 %rs{{*}}, %rs{{*}};\nCHECK: nanosleep.u32 %r{{*}};\nNOT: mov.u32 %r{{*}}, 1;\n");
    ck_assert_msg(!bad, "%s\n%s", bad, info.ptx);
    sett_kernel_release(k);
    sett_compile_options o = {.size = sizeof o, .target = "sm_90a"};
    sett_status s = sett_compile(engine, mixed, &o, &k, &err);
    ck_assert_msg(!s || s == SETT_E_NO_ASSEMBLER, "%s", err.text);
    sett_kernel_release(k);
}
END_TEST

START_TEST(text_reads_back)
{
    void *text, *bytes, *again;
    size_t n, m;
    sett_error err = {0};
    sett__tape t;
    ck_assert_msg(!sett_record(mixed, NULL, true, &text, &n, &err), "%s", err.text);
    ck_assert_msg(!sett_record(mixed, NULL, false, &bytes, &m, &err), "%s", err.text);
    char *bad = match(text, "CHECK: = ptx u32 \"- u32:lop3.b32 $0, $1, $2, $3, 0x96;\", %{{*}}, %{{*}}, %{{*}}\n"
                            "CHECK: = ptx.volatile u64x3 \"- u32,f32,i1:{ .reg .pred p; setp.eq.u32 p, $3, 0; // a $$ and 100 %\\n\n"
                            "CHECK: }\", %{{*}}, %{{*}} memory\nCHECK: ptx.volatile \"- :nanosleep.u32 $0;\", %{{*}} sm=70 isa=63\n");
    ck_assert_msg(!bad, "%s\n%s", bad, (char *)text);
    ck_assert_msg(!sett__tape_parse(&t, text, &err), "%s", err.text);
    ck_assert_int_eq(t.min_sm, 70);
    ck_assert_int_eq(t.min_ptx, 63);
    ck_assert_msg(!sett__tape_write(&t, false, NULL, &again, &n, &err), "%s", err.text);
    sett__tape_free(&t);
    ck_assert_msg(!sett__tape_read(&t, bytes, m, &err), "%s", err.text);
    sett_text_free(bytes);
    ck_assert_msg(!sett__tape_write(&t, false, NULL, &bytes, &m, &err), "%s", err.text);
    sett__tape_free(&t);
    ck_assert_int_eq((int)n, (int)m);
    ck_assert(!memcmp(bytes, again, n));
    free(again);
    free(bytes);
    sett_text_free(text);
}
END_TEST

/* Square brackets are an address: not merged over a store in between; a prefetch is a hint. */
static void addressed(sett_build *b, const void *user)
{
    (void)user;
    sett_block(b, 32);
    sett_tensor *X = sett_param(b, "X", SETT_U32, sett_row_major(b, 32, 2));
    sett_val *t = sett_thread_idx(b, 0), *at = sett_address(X, t, 0);
    sett_val *was = sett_inline_ptx(b, "ld.global.u32 $0, [$1];", .result = {SETT_U32}, .in = SETT_IN(at), .stand_in = "load");
    sett_set(X, 7, t, 0);
    sett_prefetch(X, SETT_PREFETCH_L2, t, 0);
    sett_set(X, sett_sub(sett_inline_ptx(b, "ld.global.u32 $0, [$1];", .result = {SETT_U32}, .in = SETT_IN(at), .stand_in = "load"), was), t, 1);
}

static uint32_t load(uint64_t at)
{
    return *(const uint32_t *)(uintptr_t)at;
}

START_TEST(addresses_are_memory)
{
    void *text;
    size_t n;
    sett_error err = {0};
    ck_assert_msg(!sett_record(addressed, NULL, true, &text, &n, &err), "%s", err.text);
    char *bad = match(text, "CHECK: = ptx.volatile u32 \"load u32:ld.global.u32 $0, [$1];\", %{{*}} memory\nCHECK: prefetch.global.L2 [$0];\", %{{*}}\n"
                            "CHECK: = ptx.volatile u32 \"load u32:ld.global.u32 $0, [$1];\", %{{*}} memory\n");
    ck_assert_msg(!bad, "%s\n%s", bad, (char *)text);
    sett_text_free(text);
    uint32_t x[64] = {0};
    const sett_stream cpu = {SETT_CPU, NULL};
    sett_buf X = sett_buf_2d(x, SETT_U32, 32, 2);
    const sett_compile_options o = {.size = sizeof o, .target = "cpu"};
    sett_kernel *k;
    ck_assert_msg(!sett_compile(engine, addressed, &o, &k, &err), "%s", err.text);
    ck_assert_int_eq(sett_engine_stand_in(engine, "load", "u32(u64)", (void (*)(void))load, &err), SETT_OK);
    ck_assert_msg(!sett_launch(k, cpu, &err, &X), "%s", err.text);
    for (int i = 0; i < 32; i++)
        ck_assert_msg(x[2 * i] == 7 && x[2 * i + 1] == 7, "%d: %u %u", i, x[2 * i], x[2 * i + 1]);
    sett_kernel_release(k);
}
END_TEST

/* ---- keys ---------------------------------------------------------------------------------------------- */
static const sett_inline_ptx_args keyed[] = {
    {.text = "add.s32 $0, $1, 1;"}, {.text = "add.s32 $0, $1, 2;"}, {.text = "add.s32 $0, $1, 1; "}, {.text = "add.s32 $0, $1, 1;", .stand_in = "a"},
    {.text = "add.s32 $0, $1, 1;", .stand_in = "b"}, {.text = "add.s32 $0, $1, 1;", .is_volatile = true}, {.text = "add.s32 $0, $1, 1;", .memory = true},
    {.text = "add.s32 $0, $1, 1;", .least_sm = 80}, {.text = "add.s32 $0, $1, 1;", .least_ptx = 80}, {.text = "add.s32 $0, $1, 1;", .result = {SETT_U32}},
};

static void one_of(sett_build *b, const void *user)
{
    sett_inline_ptx_args a = *(const sett_inline_ptx_args *)user;
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_make_layout(b, T1(32)));
    sett_block(b, 32);
    sett_val *t = sett_thread_idx(b, 0);
    a.size = sizeof a;
    a.in = SETT_IN(t);
    a.result[0] = a.result[0] ? a.result[0] : SETT_I32;
    sett_set(X, sett_to(sett_inline_ptx_at(SETT_HERE, b, &a), SETT_I32), t);
}

START_TEST(keys_differ)
{
    enum { KEYS = sizeof keyed / sizeof *keyed };
    uint8_t key[KEYS][32], again[32];
    sett_error err = {0};
    for (int i = 0; i < KEYS; i++) {
        const sett_compile_options o = {.size = sizeof o, .target = "sm_90", .user = &keyed[i]};
        ck_assert_msg(!sett_key(engine, one_of, &o, key[i], &err), "%s", err.text);
        ck_assert_msg(!sett_key(engine, one_of, &o, again, &err), "%s", err.text);
        ck_assert(!memcmp(key[i], again, 32));
        for (int k = 0; k < i; k++)
            ck_assert_msg(memcmp(key[i], key[k], 32) != 0, "%d and %d", i, k);
    }
}
END_TEST

/* ---- misuse ---------------------------------------------------------------------------------------------- */
#define CASE(name, ...) \
    static void name(sett_build *b, sett_val *t, sett_val *v) \
    { \
        (void)t, (void)v; \
        sett_inline_ptx(b, __VA_ARGS__); \
    }
CASE(no_text, "", .result = {SETT_I32})
CASE(one_more, "add.s32 $0, $1, $2;", .result = {SETT_I32}, .in = SETT_IN(t))
CASE(not_named, "add.s32 $0, $1, 1;", .result = {SETT_I32}, .in = SETT_IN(t, 3))
CASE(no_result, "mov.u32 $1, 1;", .result = {SETT_I32, SETT_I32}, .to = (sett_val *[2]){0})
CASE(dollar, "mov.u32 $0, $x;", .result = {SETT_I32})
CASE(no_end, "mov.u32 $0, 1 ", .result = {SETT_I32})
CASE(at_end, "mov.u32 $0, 1; $", .result = {SETT_I32})
CASE(long_number, "mov.u32 $0, $123456;", .result = {SETT_I32})
CASE(control, "mov.u32 $0, 1;\r", .result = {SETT_I32})
CASE(beyond_ascii, "mov.u32 $0, 1; // \xc3\xa9", .result = {SETT_I32})
CASE(wide_result, "mov.b128 $0, 1;", .result = {SETT_I128})
CASE(packed_operand, "mov.b32 $0, $1;", .result = {SETT_I32}, .in = SETT_IN(sett_const(b, SETT_F4E2M1FN, 1)))
CASE(nowhere, "mov.u32 $0, $1;", .result = {SETT_I32, SETT_I32})
CASE(bad_name, "mov.u32 $0, 1;", .result = {SETT_I32}, .stand_in = "two words")
CASE(other_shape, "add.s32 $0, $1, $2;", .result = {SETT_I32}, .in = SETT_IN(v, sett_full(b, SETT_I32, T1(3), 1)))
CASE(no_such_isa, "mov.u32 $0, 1;", .result = {SETT_I32}, .least_ptx = 79)
CASE(no_such_sm, "mov.u32 $0, 1;", .result = {SETT_I32}, .least_sm = -1)
CASE(a_tuple, "mov.u32 $0, $1;", .result = {SETT_I32}, .in = SETT_IN(T(1, 2)))
#undef CASE

static const struct wrong { void (*f)(sett_build *, sett_val *, sett_val *); sett_status status; const char *text; } wrong[] = {
    {no_text, SETT_E_ARGUMENT, "sett_inline_ptx: there is no PTX"},
    {one_more, SETT_E_ARGUMENT, "sett_inline_ptx: the PTX names $2: it has 1 result and 1 operand"},
    {not_named, SETT_E_ARGUMENT, "sett_inline_ptx: the PTX does not name $2, its operand 1"},
    {no_result, SETT_E_ARGUMENT, "sett_inline_ptx: the PTX does not name $0, its result 0"},
    {dollar, SETT_E_ARGUMENT, "sett_inline_ptx: in the PTX a $ is followed by an operand's number, or by another $"},
    {no_end, SETT_E_ARGUMENT, "sett_inline_ptx: the PTX ends in neither ; nor }"},
    {at_end, SETT_E_ARGUMENT, "sett_inline_ptx: in the PTX a $ is followed by an operand's number, or by another $"},
    {long_number, SETT_E_ARGUMENT, "sett_inline_ptx: the PTX names $123456: it has 1 result and 0 operands"},
    {control, SETT_E_ARGUMENT, "sett_inline_ptx: the PTX holds the byte 0x0d"},
    {beyond_ascii, SETT_E_ARGUMENT, "sett_inline_ptx: the PTX holds the byte 0xc3"},
    {wide_result, SETT_E_ARGUMENT, "sett_inline_ptx: there is no result 0 of type i128"},
    {packed_operand, SETT_E_DTYPE, "sett_inline_ptx: operand 0 is f4E2M1FN, which no register of PTX holds"},
    {nowhere, SETT_E_ARGUMENT, "sett_inline_ptx: of 2 results .to is needed, an array for them"},
    {bad_name, SETT_E_ARGUMENT, "sett_inline_ptx: a stand-in's name is 1 to 100 letters, digits, _ and dots"},
    {other_shape, SETT_E_SHAPE, "sett_inline_ptx: operand 1 has shape (3), another (4)"},
    {no_such_isa, SETT_E_ARGUMENT, "sett_inline_ptx: .least_ptx = 79, .least_sm = 0: as in 78 for PTX 7.8 and 90 for sm_90"},
    {no_such_sm, SETT_E_ARGUMENT, "sett_inline_ptx: .least_ptx = 0, .least_sm = -1: as in 78 for PTX 7.8 and 90 for sm_90"},
    {a_tuple, SETT_E_ARGUMENT, "sett_inline_ptx: an integer or a scalar value is needed here"},
};

START_TEST(misuse)
{
    const char *text;
    sett_build *b = sett__build_new(NULL, true);
    sett_val *t = sett_thread_idx(b, 0), *v = sett_full(b, SETT_I32, T1(4), 1);
    wrong[_i].f(b, t, v);
    ck_assert_msg(sett_build_status(b, &text) == wrong[_i].status && strstr(text, wrong[_i].text) && strstr(text, "test_inline.c:"), "\"%s\"", text);
    sett_build_end(b, NULL);
}
END_TEST

/* What a tape from elsewhere may hold. */
START_TEST(tapes_refused)
{
    static const struct { const char *line, *text; } t[] = {
        {"%1 = ptx i32 \"- i32:mov.b32 $0, $2;\", %0", "the PTX names $2: it has 1 result and 1 operand"},
        {"%1 = ptx u32 \"- i32:mov.b32 $0, $1;\", %0", "the result must be i32"},
        {"%1 = ptx i32x2 \"- i32,i32:mov.b32 $0, $2; mov.b32 $1, $2;\", %0", "the result must be u64x2"},
        {"%1 = ptx i32 \"i32:mov.b32 $0, $1;\", %0", "a stand-in's name is 1 to 100 letters, digits, _ and dots"},
        {"%1 = ptx i32 \"- i32 mov.b32 $0, $1;\", %0", "there is no result 0 of type i32 mov.b32 $0"},
        {"%1 = ptx i32 \"- i32:\", %0", "there is no PTX"},
        {"%1 = ptx i32 \"- i33:mov.b32 $0, $1;\", %0", "there is no result 0 of type i33"},
        {"%1 = ptx i32 \"- i32:mov.b32 $0, $1;\", %0 memory", "what has no result, or an effect on memory, is volatile"},
        {"%1 = ptx i32 \"- i32:mov.b32 $0, $1;\", %0 isa=79", "there is no PTX 7.9"},
        {"ptx.volatile \"- i32:mov.b32 $0, $1;\", %0", "the result must be i32"},
        {"ptx \"- :bar.sync $0;\", %0", "ptx has a result"},
    };
    char text[400];
    sett_error err = {0};
    sett__tape tape;
    for (size_t i = 0; i < SETT__COUNT(t); i++) {
        snprintf(text, sizeof text, "sett tape 2\nblock 32\n%%0 = tid.x i32\n%s\n", t[i].line);
        ck_assert_msg(sett__tape_parse(&tape, text, &err) && strstr(err.text, t[i].text), "%s: %s", t[i].line, err.text);
    }
}
END_TEST

/* ---- the assembler's words, and the target's --------------------------------------------------------------------- */
static void add_one(sett_build *b, const char *text, int line_of[1])
{
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_make_layout(b, T1(32)));
    sett_block(b, 32);
    sett_val *t = sett_thread_idx(b, 0), *x = sett_inline_ptx(b, "add.s32 $0, $1, 1;", .result = {SETT_I32}, .in = SETT_IN(sett_at(X, t)));
    line_of[0] = __LINE__ + 1;
    sett_set(X, sett_inline_ptx(b, text, .result = {SETT_I32}, .in = SETT_IN(x), .least_sm = 80), t);
    sett_atomic_add(X, x, t);
}
static int line;
static void misspelt(sett_build *b, const void *user)
{
    (void)user;
    add_one(b, "\n\n  ad.s32 $0, $1, 1;", &line);
}
static void wrong_type(sett_build *b, const void *user)
{
    (void)user;
    add_one(b, "add.s64 $0, $1, 1;", &line);
}
static void open_brace(sett_build *b, const void *user)
{
    (void)user;
    add_one(b, "{ add.s32 $0, $1, 1;", &line);
}

START_TEST(assemblers_error)
{
    static const sett_body bodies[] = {misspelt, wrong_type, open_brace};
    static const sett_assembler by[] = {SETT_ASM_NVJITLINK, SETT_ASM_PTXAS};
    sett_error err = {0};
    char want[128];
    if (!have_compiler())
        return;
    const sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true, .assembler = by[_i % 2]};
    sett_engine *e;
    sett_kernel *k;
    ck_assert_msg(!sett_engine_open(&e, &eo, &err), "%s", err.text);
    const sett_compile_options o = {.size = sizeof o, .target = "sm_90"};
    sett_status s = sett_compile(e, bodies[_i / 2], &o, &k, &err);
    static const char *const ptx[] = {"ad.s32 $0, $1, 1;", "add.s64 $0, $1, 1;", "{ add.s32 $0, $1, 1;"};
    snprintf(want, sizeof want, "test_inline.c:%d: sett_inline_ptx `%s`: ", line, ptx[_i / 2]);
    ck_assert_msg(s == SETT_E_NO_ASSEMBLER || (s == SETT_E_ASSEMBLE && strstr(err.text, "refuses the PTX for sm_90: ")), "%d: %s", s, err.text);
    if (s == SETT_E_ASSEMBLE)
        ck_assert_msg(strstr(err.text, want) != NULL, "%s", err.text);
    if (s == SETT_E_ASSEMBLE && bodies[_i / 2] == misspelt)
        ck_assert_msg(strstr(err.text, "'ad'") != NULL, "%s", err.text); /* the assembler's own words */
    sett_engine_close(e);
}
END_TEST

static void wide_swap(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_U128, sett_make_layout(b, T1(2)), .align = 16);
    sett_block(b, 32);
    sett_atomic_cas(X, sett_at(X, 1), sett_const(b, SETT_U128, 7), 0);
}

START_TEST(old_target)
{
    sett_error err = {0};
    compiled(wide_swap, "sm_80", true, SETT_E_TARGET, &err);
    ck_assert_msg(strstr(err.text, "atom needs sm_90, the target is sm_80") && strstr(err.text, "test_inline.c:"), "%s", err.text);
    compiled(misspelt, "sm_75", true, SETT_E_TARGET, &err);
    ck_assert_msg(strstr(err.text, ": sett_inline_ptx `ad.s32 $0, $1, 1;`: ptx needs sm_80, the target is sm_75") && strstr(err.text, "test_inline.c:"), "%s", err.text);
}
END_TEST

/* ---- stand-ins ------------------------------------------------------------------------------------------------------ */
typedef void (*function)(void);
static int called[64], n_called;

static uint32_t seen(int32_t t, uint32_t y, uint32_t z)
{
    called[n_called++ % 64] = t;
    return (uint32_t)t ^ y ^ z;
}

static void some_threads(sett_build *b, const void *user)
{
    sett_tensor *X = sett_param(b, "X", SETT_U32, sett_make_layout(b, T1(40)));
    sett_block(b, 40);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(sett_mod(t, 7), 2))
        sett_set(X, sett_inline_ptx(b, xor3, .result = {SETT_U32}, .in = SETT_IN(t, sett_const(b, SETT_U32, 3), sett_const(b, SETT_U32, 5)), .stand_in = user), t);
}

static sett_status launched(const char *name, uint32_t x[40], sett_error *err)
{
    const sett_compile_options o = {.size = sizeof o, .target = "cpu", .name = "k", .user = name};
    sett_kernel *k = NULL;
    sett_buf X = sett_buf_1d(x, SETT_U32, 40);
    ck_assert_msg(!sett_compile(engine, some_threads, &o, &k, err), "%s", err->text);
    sett_status s = sett_launch_n(k, (sett_stream){SETT_CPU, NULL}, SETT_LAUNCH_ARGS(&X, 0), err);
    sett_kernel_release(k);
    return s;
}

START_TEST(stand_ins)
{
    uint32_t x[40] = {0};
    sett_error err = {0};
    ck_assert_int_eq(launched(NULL, x, &err), SETT_E_TARGET);
    ck_assert_msg(strstr(err.text, "test_inline.c:") && strstr(err.text, "sett_inline_ptx: on the CPU k needs a C function for this PTX, which has no .stand_in, one as "
                                                                           "u32(i32,u32,u32), from sett_engine_stand_in"), "%s", err.text);
    ck_assert_int_eq(launched("seen", x, &err), SETT_E_TARGET);
    ck_assert_msg(strstr(err.text, "sett_inline_ptx: on the CPU k needs a C function for this PTX, the .stand_in seen as u32(i32,u32,u32), from sett_engine_stand_in"),
        "%s", err.text);
    static const char *const types[] = {"u32(i32,u32)", "u32(u32,u32,u32)", "u32,u32(i32,u32,u32)", "void(i32,u32,u32)"};
    for (size_t i = 0; i < SETT__COUNT(types); i++) {
        ck_assert_int_eq(sett_engine_stand_in(engine, "seen", types[i], (function)seen, &err), SETT_OK);
        ck_assert_int_eq(launched("seen", x, &err), SETT_E_DTYPE);
        ck_assert_msg(strstr(err.text, "the .stand_in seen as u32(i32,u32,u32), and sett_engine_stand_in was given ") && strstr(err.text, types[i]), "%s", err.text);
    }
    ck_assert_int_eq(n_called, 0);
    ck_assert_int_eq(sett_engine_stand_in(engine, "other", "u32(i32,u32,u32)", (function)abort, &err), SETT_OK);
    ck_assert_int_eq(sett_engine_stand_in(engine, "seen", " u32 (i32, u32, u32) ", (function)seen, &err), SETT_OK);
    ck_assert_msg(!launched("seen", x, &err), "%s", err.text);
    ck_assert_int_eq(n_called, 6); /* 2, 9, 16, 23, 30 and 37: nobody else's */
    for (int i = 0; i < 40; i++)
        ck_assert_uint_eq(x[i], i % 7 == 2 ? (uint32_t)i ^ 6 : 0);
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(called[i], 2 + 7 * i);
    ck_assert_int_eq(sett_engine_stand_in(engine, "seen", NULL, NULL, &err), SETT_OK);
    ck_assert_int_eq(launched("seen", x, &err), SETT_E_TARGET);
}
END_TEST

START_TEST(stand_ins_misused)
{
    static const struct { const char *name, *types, *text; } t[] = {{NULL, "void()", "sett_engine_stand_in: the name is NULL"},
        {"x", NULL, "sett_engine_stand_in: the types are NULL"}, {"", "void()", "sett_engine_stand_in: \"\": a stand-in's name is 1 to 100 letters, digits, _ and dots"},
        {"a b", "void()", "sett_engine_stand_in: \"a b\": a stand-in's name is 1 to 100 letters, digits, _ and dots"},
        {"x", "f32(f32", "sett_engine_stand_in: x as f32(f32: types are as in u32(u32,f32), by the names of sett_dtype_name"},
        {"x", "float(float)", "sett_engine_stand_in: x as float(float): types are as in u32(u32,f32), by the names of sett_dtype_name"},
        {"x", "u32,(u32)", "sett_engine_stand_in: x as u32,(u32): types are as in u32(u32,f32), by the names of sett_dtype_name"},
        {"x", "(u32)", "sett_engine_stand_in: x as (u32): types are as in u32(u32,f32), by the names of sett_dtype_name"},
        {"x", "void()x", "sett_engine_stand_in: x as void()x: types are as in u32(u32,f32), by the names of sett_dtype_name"},
        {SETT_NOTHING, "void()", "sett_engine_stand_in: sett.nothing as void(): that name is of a stand-in that does nothing"}};
    sett_error err = {0};
    for (size_t i = 0; i < SETT__COUNT(t); i++) {
        ck_assert_int_eq(sett_engine_stand_in(engine, t[i].name, t[i].types, (function)seen, &err), SETT_E_ARGUMENT);
        ck_assert_str_eq(err.text, t[i].text);
    }
    ck_assert_int_eq(sett_engine_stand_in(NULL, "x", "void()", (function)seen, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_engine_stand_in: the engine is NULL");
}
END_TEST

/* ---- what is for kernels alone ----------------------------------------------------------------------------------------- */
#define CASE(name, call) \
    static void name(sett_build *b, sett_val *x) \
    { \
        (void)b, (void)x; \
        call; \
    }
CASE(k_tid, sett_thread_idx(b, 0))
CASE(k_bid, sett_block_idx(b, 1))
CASE(k_bdim, sett_block_dim(b, 0))
CASE(k_gdim, sett_grid_dim(b, 0))
CASE(k_lane, sett_lane_idx(b))
CASE(k_warp, sett_warp_idx(b))
CASE(k_sync, sett_sync_threads(b))
CASE(k_syncwarp, sett_sync_warp(b))
CASE(k_vote, sett_vote_any_sync(sett_gt(x, 1)))
CASE(k_match, sett_match_all_sync(x))
CASE(k_redux, sett_warp_redux_sync(x, SETT_ADD))
CASE(k_reduce, sett_warp_reduce(x, SETT_ADD, 32))
CASE(k_block, sett_block_reduce(x, SETT_ADD))
CASE(k_shfl, sett_shuffle_sync_up(x, 1, 32))
CASE(k_elect, sett_elect_one(b))
CASE(k_special, sett_clock(b))
CASE(k_barrier, sett_barrier(b, 1, 32))
CASE(k_fence, sett_fence_acq_rel_gpu(b))
CASE(k_uniform, sett_make_warp_uniform(x))
CASE(k_ptx, sett_inline_ptx(b, "membar.gl;"))
CASE(k_if, sett_if (b, sett_gt(x, 1)) {})
CASE(k_for, sett_for (b, i, 0, x, 1) {})
CASE(k_while, sett_while (b, sett_gt(x, 1)) {})
CASE(k_printf, sett_printf(b, "x"))
CASE(k_assert, sett_assert(b, sett_gt(x, 1)))
#undef CASE

static const struct { void (*f)(sett_build *, sett_val *); const char *name; } inside[] = {{k_tid, "sett_thread_idx"}, {k_bid, "sett_block_idx"}, {k_bdim, "sett_block_dim"},
    {k_gdim, "sett_grid_dim"}, {k_lane, "sett_lane_idx"}, {k_warp, "sett_warp_idx"}, {k_sync, "sett_sync_threads"}, {k_syncwarp, "sett_sync_warp"},
    {k_vote, "sett_vote_any_sync"}, {k_match, "sett_match_all_sync"}, {k_redux, "sett_warp_redux_sync"}, {k_reduce, "sett_warp_reduce"}, {k_block, "sett_block_reduce"},
    {k_shfl, "sett_shuffle_sync_up"}, {k_elect, "sett_elect_one"}, {k_special, "sett_special"}, {k_barrier, "sett_barrier"}, {k_fence, "sett_fence_acq_rel"},
    {k_uniform, "sett_make_warp_uniform"}, {k_ptx, "sett_inline_ptx"}, {k_if, "sett_if"}, {k_for, "sett_for"}, {k_while, "sett_while"}, {k_printf, "sett_printf"},
    {k_assert, "sett_assert"}};

START_TEST(kernels_alone)
{
    char want[120];
    const char *text;
    sett_build *b = sett_build_begin();
    b->asserts = true;
    sett_val *x = sett_sym(b, "N");
    inside[_i].f(b, x);
    snprintf(want, sizeof want, ": %s: is possible only in a kernel's body, which sett_compile calls", inside[_i].name);
    ck_assert_msg(sett_build_status(b, &text) == SETT_E_ARGUMENT && strstr(text, want) && strstr(text, "test_inline.c:"), "%s: \"%s\"", inside[_i].name, text);
    sett_build_end(b, NULL);
}
END_TEST

START_TEST(floats_are_no_coordinates)
{
    const char *text;
    for (int i = 0; i < 4; i++) {
        sett_build *b = sett_build_begin();
        sett_val *n = sett_sym(b, "N"), *f = sett_to(n, SETT_F32);
        if (i == 0)
            sett_elem_less(T(n, 2.5), T(3, 3));
        else if (i == 1)
            sett_elem_less(T(n, 2), T(f, 3));
        else if (i == 2)
            sett_elem_less(f, n);
        else
            sett_elem_less(sett_identity_tensor(b, 4), T1(f));
        ck_assert_msg(sett_build_status(b, &text) == SETT_E_DTYPE && strstr(text, "sett_elem_less: "), "%d: \"%s\"", i, text);
        sett_build_end(b, NULL);
    }
}
END_TEST

Suite *inline_suite(void);
Suite *inline_suite(void)
{
    Suite *s = suite_create("inline");
    TCase *c = tcase_create("inline");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, make_root, drop_root);
    tcase_add_checked_fixture(c, open_bare, close_bare);
    tcase_add_test(c, generated);
    tcase_add_test(c, text_reads_back);
    tcase_add_test(c, addresses_are_memory);
    tcase_add_test(c, keys_differ);
    tcase_add_loop_test(c, misuse, 0, (int)SETT__COUNT(wrong));
    tcase_add_test(c, tapes_refused);
    tcase_add_loop_test(c, assemblers_error, 0, 6);
    tcase_add_test(c, old_target);
    tcase_add_test(c, stand_ins);
    tcase_add_test(c, stand_ins_misused);
    tcase_add_loop_test(c, kernels_alone, 0, (int)SETT__COUNT(inside));
    tcase_add_test(c, floats_are_no_coordinates);
    suite_add_tcase(s, c);
    return s;
}
