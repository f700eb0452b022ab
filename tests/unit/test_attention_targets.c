/* SPDX-License-Identifier: Apache-2.0 */
/* sett_attention and sett_attention_decode for sm_80, sm_89 and sm_120a: their PTX assembles, and what these targets lack is refused by name. The
 * suites of both run the same kernels on the CPU engine. */
#include "tests/rig/kernels_rig.h"

static const struct { sett_attention_options o; const char *holds; } lowered[] = {
    {{.dtype = SETT_BF16, .d = 64, .causal = 1}, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"},
    {{.dtype = SETT_F16, .d = 128, .causal = 1, .window = 1, .ragged = 1, .page = 16, .lse = 1, .sinks = 1}, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"},
    {{.dtype = SETT_BF16, .d = 256, .prefix = 1, .alibi = 1, .scale = 1, .ragged = 1, .dynamic = 1, .group = 8}, "cp.async.cg.shared.global"},
    {{.dtype = SETT_BF16, .d = 192, .dv = 128, .softcap = 1, .exact = 1}, "cp.async.cg.shared.global"},
};
static const sett_attention_decode_options decoding[] = {{.dtype = SETT_BF16, .d = 64, .rows = 64, .lengths = 1}, {.dtype = SETT_F16, .causal = 1, .window = 1, .page = 16, .lse = 1, .sinks = 1},
    {.dtype = SETT_BF16, .d = 256, .rows = 32, .prefix = 1, .alibi = 1, .scale = 1}, {.dtype = SETT_BF16, .rows = 64, .softcap = 1, .exact = 1}};
static const char *const all[] = {"sm_75" /* which has no cp.async */, "sm_80", "sm_89", "sm_120a"};
enum { ALL_TARGETS = sizeof all / sizeof *all, LOWERED = sizeof lowered / sizeof *lowered, DECODING = sizeof decoding / sizeof *decoding };

/* What is compiled for linking, as in process, has more registers there: shuffles are calls. */
static void check_targets(sett_body body, const void *options, const char *holds)
{
    const sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true, .assembler = SETT_ASM_PTXAS};
    sett_engine *e;
    ck_assert_msg(!sett_engine_open(&e, &eo, &err), "%s", err.text);
    for (int i = 0; i < ALL_TARGETS; i++) {
        const int spilled = check_target(e, body, options, all[i], i ? holds : NULL);
        ck_assert_msg(spilled <= 0, "%s: %d bytes are spilled", all[i], spilled);
    }
    sett_engine_close(e);
}

START_TEST(prefill)
{
    sett_attention_options o = lowered[_i].o;
    o.size = sizeof o;
    if (r.stream.device == SETT_CPU) /* it needs none */
        check_targets(sett_attention, &o, lowered[_i].holds);
}
END_TEST

/* Three warp groups have few registers each: none of these spills. */
static const sett_attention_options narrow[] = {{.window = 1, .softcap = 1, .sinks = 1, .page = 16, .lse = 1}, {.window = 1, .softcap = 1, .page = 16, .ragged = 1}, {.window = 1, .page = 16, .sinks = 1, .lse = 1, .ragged = 1, .group = 4, .scale = 1},
    {.exact = 1, .page = 16, .ragged = 1, .lse = 1}, {.causal = 1, .window = 1, .alibi = 1, .page = 16, .ragged = 1, .lse = 1}, {.prefix = 1, .softcap = 1, .sinks = 1, .page = 16, .ragged = 1, .lse = 1}};
enum { NARROW = sizeof narrow / sizeof *narrow };
START_TEST(of_64_columns)
{
    sett_attention_options o = narrow[_i];
    o.size = sizeof o, o.dtype = SETT_F16, o.d = 64;
    if (r.stream.device != SETT_CPU)
        return;
    const sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true, .assembler = SETT_ASM_PTXAS};
    sett_engine *e;
    ck_assert_msg(!sett_engine_open(&e, &eo, &err), "%s", err.text);
    const int spilled = check_target(e, sett_attention, &o, "sm_90a", "wgmma");
    ck_assert_msg(spilled <= 0, "%d bytes are spilled", spilled);
    sett_engine_close(e);
}
END_TEST

/* The workspace that the options say is that of the kernel, of whatever target. */
START_TEST(decode)
{
    sett_attention_decode_options o = decoding[_i];
    size_t partial, left, same, as_many;
    o.size = sizeof o;
    if (r.stream.device != SETT_CPU)
        return;
    check_targets(sett_attention_decode, &o, "cp.async.cg.shared.global");
    ck_assert(!sett_attention_decode_workspace(&o, 3, 8, 2, 5, 4096, &partial, &left, &err));
    for (int i = 0; i < ALL_TARGETS; i++) {
        sett_attention_decode_options chosen = o;
        ck_assert(!sett_kernels_choose(sett_attention_decode, &chosen, all[i], &err) && chosen.tuning.arch == 80);
        ck_assert(!sett_attention_decode_workspace(&chosen, 3, 8, 2, 5, 4096, &same, &as_many, &err) && same == partial && as_many == left);
    }
}
END_TEST

/* ---- what is said ------------------------------------------------------------------------------------------------------------- */
static void hear(void *user, sett_log_level level, const char *component, const char *message)
{
    (void)component, (void)message;
    *(int *)user += level <= SETT_LOG_WARNING;
}

/* Who uses ready kernels can do nothing about their bodies: no warning is of them. */
static void check_silence(sett_body body, const void *options)
{
    const sett_compile_options co = {.size = sizeof co, .user = options, .target = "cpu", .ready_made = true};
    int warnings = 0;
    const sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true, .log = hear, .user = &warnings};
    sett_engine *e;
    sett_kernel *k;
    ck_assert_msg(!sett_engine_open(&e, &eo, &err) && !sett_compile(e, body, &co, &k, &err), "%s", err.text);
    ck_assert_int_eq(warnings, 0);
    sett_kernel_release(k);
    sett_engine_close(e);
}

START_TEST(no_warnings)
{
    sett_attention_options o = lowered[_i].o;
    sett_attention_decode_options d = decoding[_i];
    const sett_attention_mla_options mla = {.size = sizeof mla, .dtype = SETT_BF16, .causal = _i & 1, .lse = _i >> 1};
    o.size = sizeof o, d.size = sizeof d;
    if (r.stream.device != SETT_CPU)
        return;
    check_silence(sett_attention, &o);
    check_silence(sett_attention_decode, &d);
    check_silence(sett_attention_mla, &mla);
}
END_TEST

/* ---- what is refused ---------------------------------------------------------------------------------------------------------- */
static const struct { sett_attention_options o; const char *target, *text; } refused[] = {
    {{.dtype = SETT_F8E4M3FN}, "sm_89", ".dtype is f8E4M3FN: on sm_90a alone, and not with .arch 80"},
    {{.dtype = SETT_F8E4M3FN, .tuning = {.arch = 80}}, "sm_90a", ".dtype is f8E4M3FN: on sm_90a alone, and not with .arch 80"},
    {{.dtype = SETT_BF16, .tuning = {.arch = 90}}, "sm_80", ".arch is 90: on sm_90a and the CPU engine; on other targets 80"},
    {{.dtype = SETT_BF16, .tuning = {.arch = 89}}, "sm_89", ".arch is 89: 80 or 90"},
    {{.dtype = SETT_BF16, .group = 32, .tuning = {.rows = 48}}, "sm_80", ".rows is 48: a multiple of .group 32"},
    {{.dtype = SETT_BF16, .tuning = {.rows = 72}}, "sm_80", ".rows is 72: a multiple of 16, up to 128"},
    {{.dtype = SETT_BF16, .tuning = {.rows = 192}}, "sm_120a", ".rows is 192: a multiple of 16, up to 128"},
    {{.dtype = SETT_BF16, .d = 256, .tuning = {.stages = 3}}, "sm_89", ".keys is 32: with .d 256, .rows 64 and .stages 3 more shared memory than a block has"},
};
static const struct { sett_attention_decode_options o; const char *text; } refused_decoding[] = { /* of sm_89 */
    {{.dtype = SETT_BF16, .kv = SETT_F8E4M3FN}, ".kv is f8E4M3FN: on sm_90a alone, and not with .arch 80"},
    {{.dtype = SETT_BF16, .tuning = {.arch = 90}}, ".arch is 90: on sm_90a and the CPU engine; on other targets 80"},
    {{.dtype = SETT_BF16, .tuning = {.reserved = 1}}, ".reserved is 1: it must be 0"},
    {{.dtype = SETT_BF16, .d = 256, .rows = 64}, ".stages is 2: with .d 256, .rows 64 and .keys 16 more shared memory than a block has"},
};
enum { REFUSED = sizeof refused / sizeof *refused, REFUSED_DECODING = sizeof refused_decoding / sizeof *refused_decoding };

START_TEST(options_that_cannot_be)
{
    const bool few = _i >= REFUSED;
    sett_attention_options o = refused[few ? 0 : _i].o;
    sett_attention_decode_options d = refused_decoding[few ? _i - REFUSED : 0].o;
    o.size = sizeof o, d.size = sizeof d;
    if (few)
        check_not_chosen(sett_attention_decode, "attention_decode", &d, "sm_89", refused_decoding[_i - REFUSED].text);
    else
        check_not_chosen(sett_attention, "attention", &o, refused[_i].target, refused[_i].text);
}
END_TEST

/* A kernel of one target, by each call that takes a target. */
START_TEST(mla_of_other_targets)
{
    static const char *const others[] = {"sm_80", "sm_90", "sm_100a"};
    sett_attention_mla_options o = {.size = sizeof o, .dtype = SETT_BF16};
    sett_kernel *k;
    char want[200];
    size_t bytes;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        snprintf(want, sizeof want, "sett_kernels_choose: attention_mla: it needs sm_90a, the target is %s", others[i]);
        ck_assert_int_eq(sett_kernels_choose(sett_attention_mla, &o, others[i], &err), SETT_E_TARGET);
        ck_assert_str_eq(err.text, want);
        ck_assert(o.rows == 0 && err.status == SETT_E_TARGET); /* nothing was filled in */
        ck_assert_int_eq(sett_kernels_workspace(sett_attention_mla, &o, others[i], &bytes, &err), SETT_E_TARGET);
        ck_assert_int_eq(sett_kernels_compile(r.e, sett_attention_mla, &o, others[i], &k, &err), SETT_E_TARGET);
        ck_assert_str_eq(err.text + strlen("sett_kernels_compile"), want + strlen("sett_kernels_choose"));
    }
    ck_assert_msg(!sett_kernels_choose(sett_attention_mla, &o, "cpu", &err) && !sett_kernels_choose(sett_attention_mla, &o, "sm_90a", &err), "%s", err.text);
}
END_TEST

static void with_none(sett_build *b, const void *user)
{
    sett_attention_with(b, user, NULL);
}

/* A body of the caller's with options that nobody chose for the target: told what does. */
START_TEST(options_that_were_not_chosen)
{
    sett_attention_options o = {.size = sizeof o, .dtype = SETT_BF16};
    sett_compile_options co = {.size = sizeof co, .target = "sm_80", .user = &o, .ptx_only = true};
    sett_kernel *k;
    ck_assert_int_eq(sett_compile(r.e, with_none, &co, &k, &err), SETT_E_TARGET);
    ck_assert_msg(strstr(err.text, "needs sm_90, the target is sm_80: sett_kernels_choose gives a ready kernel options for a target (.tuning)"), "%s", err.text);
    ck_assert_msg(!sett_kernels_choose(sett_attention, &o, "sm_80", &err) && !sett_compile(r.e, with_none, &co, &k, &err), "%s", err.text);
    sett_kernel_release(k);
}
END_TEST

Suite *attention_targets_suite(void)
{
    Suite *s = suite_create("attention_targets");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, prefill, 0, LOWERED);
    tcase_add_loop_test(t, of_64_columns, 0, NARROW);
    tcase_add_loop_test(t, decode, 0, DECODING);
    tcase_add_loop_test(t, no_warnings, 0, DECODING);
    tcase_add_loop_test(t, options_that_cannot_be, 0, REFUSED + REFUSED_DECODING);
    tcase_add_test(t, mla_of_other_targets);
    tcase_add_test(t, options_that_were_not_chosen);
    suite_add_tcase(s, t);
    return s;
}
