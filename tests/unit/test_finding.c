/* SPDX-License-Identifier: Apache-2.0 */
/* Findings of launches that are checked: what they say and where, what ends a launch and what does not, the files that they are written
 * to, and who is told. Kernels note their lines while they are recorded. */
#define SETT_SHORT
#include "tests/rig/rig.h"
#include <sett/cluster.h>
#include <sett/pipeline.h>
#include <sett/warp.h>
#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 64, MOST = 16 };
static int line[8];
#define AT(n) line[n] = __LINE__; /* of the call behind it */

/* ---- what was found ------------------------------------------------------------------------------------------------- */
typedef struct seen {
    int n;
    struct { sett_check_kind kind; sett_check_level level; int n_site, line[SETT_CHECK_SITES]; sett_check_role role[SETT_CHECK_SITES]; char text[2000], file[80]; } at[MOST];
} seen;

static void note(void *user, const sett_finding *f)
{
    seen *s = user;
    ck_assert_int_lt(s->n, MOST);
    s->at[s->n].kind = f->kind;
    s->at[s->n].level = f->level;
    s->at[s->n].n_site = f->n_site;
    snprintf(s->at[s->n].text, sizeof s->at->text, "%s", f->text);
    snprintf(s->at[s->n].file, sizeof s->at->file, "%s", f->n_site ? f->site[0].file : "");
    for (int i = 0; i < f->n_site; i++)
        s->at[s->n].line[i] = f->site[i].line, s->at[s->n].role[i] = f->site[i].role;
    s->n++;
}

/* One launch of a body over X (N) and Y (N), of the seed that the case has. */
static sett_status checked_as(sett_body body, sett_checks checks, seen *s, sett_error *err)
{
    static float x[N], y[N];
    sett_engine *e;
    sett_kernel *k;
    sett_engine_options o = {.size = sizeof o, .no_gpu = true, .cache_dir = "", .checks = checks, .finding = note, .user = s, .cpu_async = "lazy"};
    sett_compile_options c = {.size = sizeof c, .name = "k"};
    for (int i = 0; i < N; i++)
        x[i] = (float)i;
    *s = (seen){.n = 0};
    *err = (sett_error){.status = SETT_OK};
    ck_assert_msg(!sett_engine_open(&e, &o, err), "%s", err->text);
    ck_assert_msg(!sett_compile(e, body, &c, &k, err), "%s", err->text);
    sett_buf X = sett_buf_1d(x, SETT_F32, N), Y = sett_buf_1d(y, SETT_F32, N);
    sett_status status = sett_launch(k, sett_stream_of(SETT_CPU, NULL), err, &X, &Y);
    sett_kernel_release(k);
    sett_engine_close(e);
    return status;
}

static sett_status checked(sett_body body, seen *s, sett_error *err)
{
    return checked_as(body, SETT_CHECKS_ERRORS, s, err);
}

static sett_tensor *x, *y;
static void begin(sett_build *b, int threads)
{
    x = sett_param(b, "X", SETT_F32, sett_row_major(b, N));
    y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_grid(b, 1), sett_block(b, threads);
}

/* ---- wrong kernels: what is found, at which of the noted lines; a launch that ends early ----------------------------------- */
static void out_of_bounds(sett_build *b, const void *user)
{
    (void)user;
    begin(b, N);
    AT(0) sett_set(y, 1.0, sett_add(sett_thread_idx(b, 0), 1));
}
static void barrier_in_a_branch(sett_build *b, const void *user)
{
    (void)user;
    begin(b, 32);
    AT(1) sett_if (b, sett_lt(sett_thread_idx(b, 0), 16)) {
        AT(0) sett_sync_threads(b);
    }
    sett_set(y, 1.0, sett_thread_idx(b, 0));
}
static void two_counts(sett_build *b, const void *user)
{
    (void)user;
    begin(b, 64);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        AT(1) sett_barrier(b, 1, 64);
    }
    sett_else (b) {
        AT(0) sett_barrier(b, 1, 32);
    }
    sett_set(y, 1.0, sett_thread_idx(b, 0));
}
static void too_many_arrivals(sett_build *b, const void *user)
{
    (void)user;
    begin(b, 64);
    sett_tensor *bar = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0)) {
        AT(1) sett_mbarrier_init(bar, 1);
    }
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0)) {
        AT(0) sett_mbarrier_arrive(bar, .count = 2);
    }
    sett_set(y, 1.0, sett_thread_idx(b, 0));
}
static void nobody_arrives(sett_build *b, const void *user)
{
    (void)user;
    begin(b, 64);
    sett_tensor *bar = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0)) {
        AT(1) sett_mbarrier_init(bar, 2);
    }
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0)) {
        AT(2) sett_mbarrier_arrive(bar);
    }
    AT(0) sett_mbarrier_wait(bar, 0);
    sett_set(y, 1.0, sett_thread_idx(b, 0));
}
static void each_waits_for_the_other(sett_build *b, const void *user)
{
    (void)user;
    begin(b, 64);
    sett_tensor *bars = sett_make_mbarriers(b, 2);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0)) {
        AT(2) sett_mbarrier_init(sett_slice(bars, 0), 1);
        AT(1) sett_mbarrier_init(sett_slice(bars, 1), 1);
    }
    sett_sync_threads(b);
    sett_val *first = sett_eq(sett_thread_idx(b, 0), 0), *second = sett_eq(sett_thread_idx(b, 0), 32);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        AT(0) sett_mbarrier_wait(sett_slice(bars, 1), 0);
        AT(4) sett_mbarrier_arrive(sett_slice(bars, 0), .pred = first);
    }
    sett_else (b) {
        AT(3) sett_mbarrier_wait(sett_slice(bars, 0), 0);
        AT(5) sett_mbarrier_arrive(sett_slice(bars, 1), .pred = second);
    }
    sett_set(y, 1.0, sett_thread_idx(b, 0));
}
/* Block 0 waits for block 1, which need not run before it has ended. */
static void waits_for_a_later_block(sett_build *b, const void *user)
{
    (void)user;
    y = sett_param(b, "X", SETT_F32, sett_row_major(b, N));
    x = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_grid(b, 2), sett_block(b, 32);
    sett_if (b, sett_eq(sett_block_idx(b, 0), 1)) {
        AT(1) sett_atomic_add(y, 1.0, 0);
    }
    sett_else (b) {
        AT(0) sett_while (b, sett_eq(sett_atomic_add(y, 0.0, 0), 0.0))
            ;
    }
}
static void no_such_barrier(sett_build *b, const void *user)
{
    (void)user;
    begin(b, 64);
    AT(0) sett_barrier(b, sett_add(sett_thread_idx(b, 0), 0), 64);
    sett_set(y, 1.0, sett_thread_idx(b, 0));
}
static void right(sett_build *b, const void *user)
{
    (void)user;
    begin(b, 64);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, N, 16);
    sett_set(s, sett_at(x, sett_thread_idx(b, 0)), sett_thread_idx(b, 0));
    sett_sync_threads(b);
    sett_set(y, sett_at(s, sett_sub(N - 1, sett_thread_idx(b, 0))), sett_thread_idx(b, 0));
}

static char *slurp(const char *path)
{
    static char text[65536];
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f, "%s", path);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    return text;
}

static bool python_reads(const char *path, const char *what)
{
    char command[1000];
    snprintf(command, sizeof command, "python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); sys.exit(0 if %s else 1)' '%s'", what, path);
    return !system(command);
}

/* ---- suppressed -------------------------------------------------------------------------------------------------------- */
static bool known;
static void two_warps_write(sett_build *b, const void *user)
{
    (void)user;
    begin(b, 64);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, 1, 16);
    if (known) {
        sett_race_ok (b, "either will do") {
            AT(1) sett_set(s, sett_at(x, sett_thread_idx(b, 0)), 0);
        }
    } else {
        AT(1) sett_set(s, sett_at(x, sett_thread_idx(b, 0)), 0);
    }
    sett_sync_threads(b);
    sett_set(y, sett_at(s, 0), sett_thread_idx(b, 0));
}
static void nothing_to_know(sett_build *b, const void *user)
{
    (void)user;
    begin(b, 64);
    AT(0) sett_race_ok (b, "there is no race")
        sett_set(y, sett_at(x, sett_thread_idx(b, 0)), sett_thread_idx(b, 0));
}
static void no_reason(sett_build *b, const void *user)
{
    (void)user;
    begin(b, 64);
    sett_race_ok (b, "")
        sett_set(y, 1.0, sett_thread_idx(b, 0));
}
static void left_by_break(sett_build *b, const void *user)
{
    (void)user;
    begin(b, 64);
    AT(0) sett_race_ok (b, "x") {
        sett_set(y, 1.0, sett_thread_idx(b, 0));
        break;
    }
}
static void nested(sett_build *b, const void *user)
{
    (void)user;
    begin(b, 64);
    sett_race_ok (b, "x")
        sett_race_ok (b, "y")
            sett_set(y, 1.0, sett_thread_idx(b, 0));
}

static const struct {
    sett_body body;
    sett_status status;
    sett_check_kind kind;
    sett_check_role role;
    const char *text;
    int n_site, also[4]; /* sites in front; other lines among the rest, -1: no more */
} wrong[] = {
    {out_of_bounds, SETT_E_FAULT, SETT_CHECK_BOUNDS, SETT_CHECK_ROLE_USE, "bounds: outside of the tensor: its extent does not include coordinate 64", 1, {-1}},
    {barrier_in_a_branch, SETT_OK, SETT_CHECK_DIVERGENCE, SETT_CHECK_ROLE_BARRIER, "divergence: barrier in a branch: only 16 of the warp's 32 threads are here; lanes 16-31 did not take the branch", 2, {-1}},
    {two_counts, SETT_OK, SETT_CHECK_BARRIER_COUNT, SETT_CHECK_ROLE_BARRIER, "barrier-count: barrier.sync: barrier 1 is for 32 threads here, and for 64 where others wait", 2, {-1}},
    {too_many_arrivals, SETT_OK, SETT_CHECK_BARRIER_COUNT, SETT_CHECK_ROLE_ARRIVE, "barrier-count: 2 arrivals at an mbarrier whose phase 0 waits for 1 of 1, its count from ", 2, {-1}},
    {nobody_arrives, SETT_E_FAULT, SETT_CHECK_DEADLOCK, SETT_CHECK_ROLE_WAIT, "phase 0: 1 of 2 arrivals missing", 2, {2, -1}},
    {each_waits_for_the_other, SETT_E_FAULT, SETT_CHECK_DEADLOCK, SETT_CHECK_ROLE_WAIT, "warp 1 could, by mbarrier.arrive at ", 2, {2, 3, 4, 5}},
    {waits_for_a_later_block, SETT_E_FAULT, SETT_CHECK_DEADLOCK, SETT_CHECK_ROLE_ATOMIC, ": 1 blocks have not begun, and need not begin before this one ends", 2, {-1}},
    {no_such_barrier, SETT_OK, SETT_CHECK_BARRIER_COUNT, SETT_CHECK_ROLE_BARRIER, "lanes of one warp name barrier 0 for 64 threads, and 1 for 64", 1, {-1}},
};

static bool has_line(const seen *s, int at, int from, int want)
{
    for (int i = from; i < s->at[at].n_site; i++)
        if (s->at[at].line[i] == want)
            return true;
    return false;
}

START_TEST(found)
{
    seen s;
    sett_error err;
    char begins[200];
    sett_status status = checked(wrong[_i].body, &s, &err);
    ck_assert_int_ge(s.n, 1);
    ck_assert_msg(status == wrong[_i].status, "%s: %s", s.at[0].text, err.text);
    ck_assert_msg(s.at[0].kind == wrong[_i].kind && s.at[0].level == SETT_CHECK_ERROR, "%s", s.at[0].text);
    snprintf(begins, sizeof begins, "%s:%d: %s: ", __FILE__, line[0], sett_check_kind_name(s.at[0].kind));
    ck_assert_msg(!strncmp(s.at[0].text, begins, strlen(begins)), "%s", s.at[0].text);
    ck_assert_msg(strstr(s.at[0].text, wrong[_i].text), "%s", s.at[0].text);
    ck_assert_str_eq(s.at[0].file, __FILE__);
    ck_assert_int_eq(s.at[0].role[0], wrong[_i].role);
    for (int i = 0; i < wrong[_i].n_site; i++)
        ck_assert_msg(s.at[0].line[i] == line[i], "site %d is line %d, not %d: %s", i, s.at[0].line[i], line[i], s.at[0].text);
    for (int i = 0; i < 4 && wrong[_i].also[i] > 0; i++)
        ck_assert_msg(has_line(&s, 0, 2, line[wrong[_i].also[i]]), "line %d is missing: %s", line[wrong[_i].also[i]], s.at[0].text);
    if (status)
        ck_assert_msg(!strncmp(err.text, __FILE__, strlen(__FILE__)), "%s", err.text);
}
END_TEST

START_TEST(nothing_found)
{
    seen s;
    sett_error err;
    ck_assert_msg(!checked(right, &s, &err), "%s", err.text);
    ck_assert_int_eq(s.n, 0);
}
END_TEST

/* The same kernel again in a process finds nothing new: the callback of an engine is not called, that of sett_check is. */
START_TEST(once_a_process)
{
    seen s;
    sett_error err;
    ck_assert_int_eq(checked(too_many_arrivals, &s, &err), SETT_OK);
    ck_assert_int_eq(s.n, 1);
    ck_assert_int_eq(checked(too_many_arrivals, &s, &err), SETT_OK);
    ck_assert_int_eq(s.n, 0);
}
END_TEST

START_TEST(suppressed_in_source)
{
    seen s;
    sett_error err;
    char want[300];
    ck_assert_msg(!checked(two_warps_write, &s, &err), "%s", err.text);
    ck_assert_int_ge(s.n, 1);
    ck_assert_int_eq(s.at[0].kind, SETT_CHECK_RACE);
    known = true;
    ck_assert_msg(!checked(two_warps_write, &s, &err), "%s", err.text);
    ck_assert_msg(!s.n, "%s", s.at[0].text);
    ck_assert_msg(!checked_as(nothing_to_know, SETT_CHECKS_ALL, &s, &err), "%s", err.text);
    ck_assert_int_eq(s.n, 1);
    snprintf(want, sizeof want, "%s:%d: suppression: no finding needed this sett_race_ok, \"there is no race\"", __FILE__, line[0]);
    ck_assert_str_eq(s.at[0].text, want);
    ck_assert_int_eq(s.at[0].level, SETT_CHECK_WARNING);
}
END_TEST

/* The text of a tape has the reason, and gives the same tape again. Code has nothing of it. */
START_TEST(reason_on_the_tape)
{
    sett_compile_options o = {.size = sizeof o, .target = "cpu", .line_info = true};
    void *with, *without, *again;
    size_t n, m;
    sett_error err;
    sett__tape t;
    known = true;
    ck_assert(!sett_record(two_warps_write, &o, true, &with, &n, &err));
    ck_assert_msg(strstr(with, "\"two_warps_write race_ok:"), "%s", (char *)with);
    ck_assert_msg(!sett__tape_parse(&t, with, &err), "%s", err.text);
    ck_assert(!sett__tape_print(&t, true, NULL, (char **)&again, &err));
    ck_assert_str_eq(with, again);
    sett__tape_free(&t);
    free(again), sett_text_free(with);
    o.line_info = false;
    ck_assert(!sett_record(two_warps_write, &o, true, &with, &n, &err));
    known = false;
    ck_assert(!sett_record(two_warps_write, &o, true, &without, &m, &err));
    ck_assert_str_eq(with, without);
    sett_text_free(with), sett_text_free(without);
}
END_TEST

START_TEST(race_ok_refused)
{
    static const struct { sett_body body; sett_status status; const char *why; } bad[] = {
        {no_reason, SETT_E_ARGUMENT, ": sett_race_ok: the reason is one line of 1 to 300 characters"},
        {left_by_break, SETT_E_REGION, ": sett_race_ok: this region was left by break, return or goto"},
        {nested, SETT_E_REGION, ": sett_race_ok: it is inside another one, of line "}};
    void *tape;
    size_t n;
    sett_error err;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_int_eq(sett_record(bad[i].body, NULL, true, &tape, &n, &err), bad[i].status);
        ck_assert_msg(strstr(err.text, bad[i].why), "%s", err.text);
    }
}
END_TEST

static void suppressions(const char *text)
{
    const char *path = in_root("suppress");
    write_file(path, text, strlen(text), 0600);
    setenv("SETT_CHECK_SUPPRESS", path, 1);
}

START_TEST(suppressed_by_file)
{
    seen s;
    sett_error err;
    setenv("SETT_CHECK_JSON", in_root("s.json"), 1);
    suppressions("# known\n\n  unit/test_finding.c:two_warps_write race either will do\nother.c:* * nobody needs it\n");
    ck_assert_msg(!checked_as(two_warps_write, SETT_CHECKS_ALL, &s, &err), "%s", err.text);
    int at = 0;
    while (at < s.n && s.at[at].kind != SETT_CHECK_SUPPRESSION)
        ck_assert_int_ne(s.at[at++].kind, SETT_CHECK_RACE);
    ck_assert_int_lt(at, s.n);
    ck_assert_msg(strstr(s.at[at].text, "suppress:4: suppression: no finding needed this line, \"nobody needs it\""), "%s", s.at[at].text);
    if (!system("python3 -c pass"))
        ck_assert(python_reads(getenv("SETT_CHECK_JSON"), "[(f[\"kind\"], f[\"reason\"]) for f in d[\"suppressed\"]] == [(\"race\", \"either will do\")]"));
}
END_TEST

START_TEST(suppressions_of_no_use)
{
    static const char *const bad[][2] = {{"a.c race x\n", ":1: a line is FILE:FUNCTION KIND REASON, and a.c is no FILE:FUNCTION"},
        {"#\na.c:f rice x\n", ":2: \"rice\" is no kind of a finding, such as race or *"}, {"a.c:f race\n", ":1: a suppression needs a reason"}};
    sett_engine *e;
    sett_error err;
    sett_engine_options o = {.size = sizeof o, .no_gpu = true, .cache_dir = ""};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        suppressions(bad[i][0]);
        ck_assert_int_eq(sett_engine_open(&e, &o, &err), SETT_E_PARSE);
        ck_assert_msg(strstr(err.text, bad[i][1]), "%s", err.text);
    }
    setenv("SETT_CHECK_SUPPRESS", "/no/such/file", 1);
    ck_assert_int_eq(sett_engine_open(&e, &o, &err), SETT_E_IO);
    ck_assert_str_eq(err.text, "SETT_CHECK_SUPPRESS: /no/such/file: No such file or directory");
}
END_TEST

/* What is refused when it is compiled is found there. */
static void one_element_too_far(sett_build *b, const void *user)
{
    (void)user;
    begin(b, 32);
    AT(1) sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, 4, 16);
    AT(0) sett_set(s, 1.0, 5);
}
START_TEST(refused_when_compiled)
{
    seen s = {.n = 0};
    sett_engine *e;
    sett_kernel *k;
    sett_error err;
    sett_engine_options o = {.size = sizeof o, .no_gpu = true, .cache_dir = "", .checks = SETT_CHECKS_ERRORS, .finding = note, .user = &s};
    ck_assert(!sett_engine_open(&e, &o, &err));
    ck_assert_int_eq(sett_compile(e, one_element_too_far, NULL, &k, &err), SETT_E_RANGE);
    ck_assert_int_eq(s.n, 1);
    ck_assert_int_eq(s.at[0].kind, SETT_CHECK_BOUNDS);
    ck_assert_int_eq(s.at[0].line[0], line[0]);
    ck_assert_int_eq(s.at[0].line[1], line[1]); /* of smem@test_finding.c:LINE */
    ck_assert_msg(strstr(s.at[0].text, ": bounds: refused when compiled: sett_set: "), "%s", s.at[0].text);
    sett_engine_close(e);
}
END_TEST

/* ---- sett_check, sett_prepared_check ------------------------------------------------------------------------------------- */
START_TEST(one_call)
{
    static float a[N], c[N];
    seen s = {.n = 0};
    sett_error err;
    sett_engine *e;
    sett_kernel *k;
    sett_prepared *call;
    sett_engine_options o = {.size = sizeof o, .no_gpu = true, .cache_dir = ""};
    sett_check_options how = {.size = sizeof how, .finding = note, .user = &s, .order = "random:3"};
    sett_buf X = sett_buf_1d(a, SETT_F32, N), Y = sett_buf_1d(c, SETT_F32, N);
    ck_assert(!sett_engine_open(&e, &o, &err) && !sett_compile(e, out_of_bounds, NULL, &k, &err));
    ck_assert(!sett_prepared_make(k, SETT_CPU, &call, &err, &X, &Y));
    for (int times = 1; times < 4; times++) {
        ck_assert_int_eq(times == 2 ? sett_prepared_check(call, &how, &err) : sett_check(k, &how, &err, &X, &Y), SETT_E_FAULT);
        ck_assert_int_eq(s.n, times);
        ck_assert_int_eq(s.at[times - 1].kind, SETT_CHECK_BOUNDS);
    }
    how.order = "sometimes";
    ck_assert_int_eq(sett_check(k, &how, &err, &X, &Y), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_check: order is sometimes: it is eager, lazy, systematic or random:SEED");
    how.order = NULL, how.checks = SETT_CHECKS_OFF;
    ck_assert_int_eq(sett_prepared_check(call, &how, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_prepared_check: checks 1 is none of ERRORS, ALL and STRICT");
    ck_assert_int_eq(sett_check(NULL, &how, &err, &X, &Y), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_prepared_check(NULL, &how, &err), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_check(k, NULL, &err, &X), SETT_E_BIND);
    sett_prepared_free(call);
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

/* ---- files ------------------------------------------------------------------------------------------------------------------ */
START_TEST(files)
{
    seen s;
    sett_error err;
    const char *json = in_root("f.json"), *sarif = in_root("f.sarif"), *none = in_root("none.json");
    setenv("SETT_CHECK_JSON", none, 1);
    ck_assert_int_eq(checked(right, &s, &err), SETT_OK);
    ck_assert_str_eq(slurp(none), "{\"findings\":[]}\n");
    setenv("SETT_CHECK_JSON", json, 1);
    setenv("SETT_CHECK_SARIF", sarif, 1);
    ck_assert_int_eq(checked(nobody_arrives, &s, &err), SETT_E_FAULT);
    ck_assert(strstr(slurp(json), "\"kind\":\"deadlock\""));
    ck_assert_int_eq(checked(too_many_arrivals, &s, &err), SETT_OK);
    if (system("python3 -c pass"))
        return;
    ck_assert(python_reads(json, "[f[\"kind\"] for f in d[\"findings\"]] == [\"deadlock\", \"barrier-count\"]"));
    ck_assert(python_reads(json, "all(f[\"level\"] == \"error\" and f[\"sites\"][0][\"line\"] > 0 and f[\"kernel\"] == \"k\" for f in d[\"findings\"])"));
    ck_assert(python_reads(json, "[s[\"role\"] for s in d[\"findings\"][0][\"sites\"]][:2] == [\"wait\", \"init\"]"));
    ck_assert(python_reads(sarif, "d[\"version\"] == \"2.1.0\" and [r[\"ruleId\"] for r in d[\"runs\"][0][\"results\"]] == [\"deadlock\", \"barrier-count\"]"));
    ck_assert(python_reads(sarif, "d[\"runs\"][0][\"results\"][0][\"relatedLocations\"][0][\"message\"][\"text\"] == \"init\""));
}
END_TEST

START_TEST(files_of_no_use)
{
    sett_engine *e;
    sett_error err;
    sett_engine_options o = {.size = sizeof o, .no_gpu = true, .cache_dir = ""};
    setenv("SETT_CHECK_JSON", "/no/such/folder/f.json", 1);
    ck_assert_int_eq(sett_engine_open(&e, &o, &err), SETT_E_IO);
    ck_assert_str_eq(err.text, "SETT_CHECK_JSON: /no/such/folder/f.json cannot be written: No such file or directory");
    unsetenv("SETT_CHECK_JSON");
    setenv("SETT_CHECK", "all", 1);
    ck_assert_int_eq(sett_engine_open(&e, &o, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "SETT_CHECK is \"all\" in the environment: it is 0, 1, errors or strict");
    unsetenv("SETT_CHECK");
    o.checks = 9;
    ck_assert_int_eq(sett_engine_open(&e, &o, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "checks 9 is none");
}
END_TEST

/* ---- the store ---------------------------------------------------------------------------------------------------------------- */
static sett_finding pair_of(int one, int other)
{
    return (sett_finding){.kind = SETT_CHECK_RACE, .text = "race \"\\ \t\001", .kernel = "k", .count = 1, .n_site = 2,
        .site = {{"a.c", "f", one, SETT_CHECK_ROLE_WRITE}, {"a.c", "f", other, SETT_CHECK_ROLE_READ}}};
}

typedef struct listed {
    int n;
    struct { int line; sett_check_level level; uint64_t count; } at[MOST];
} listed;
static void list(void *user, const sett_finding *f)
{
    listed *l = user;
    ck_assert_int_lt(l->n, MOST);
    l->at[l->n].line = f->site[0].line, l->at[l->n].level = f->level, l->at[l->n].count = f->count;
    l->n++;
}

START_TEST(all_of_the_process)
{
    sett_finding f = pair_of(1, 2), meant = pair_of(3, 4), maybe = pair_of(5, 6), happened = maybe;
    maybe.level = SETT_CHECK_WARNING;
    ck_assert_int_eq(sett_findings(NULL, NULL), 0);
    ck_assert(sett__finding_add(&f, NULL, NULL));
    ck_assert(sett__finding_add(&meant, "it is meant", NULL));
    ck_assert(sett__finding_add(&maybe, NULL, NULL));
    for (int i = 0; i < 3; i++)
        ck_assert(!sett__finding_add(&f, NULL, NULL));
    ck_assert(sett__finding_add(&happened, NULL, NULL));
    listed l = {.n = 0};
    ck_assert_int_eq(sett_findings(list, &l), 2);
    ck_assert_int_eq(l.n, 2);
    ck_assert(l.at[0].line == 1 && l.at[0].count == 4);
    ck_assert(l.at[1].line == 5 && l.at[1].count == 2 && l.at[1].level == SETT_CHECK_ERROR);
    ck_assert_int_eq(sett_findings(NULL, NULL), 2);
}
END_TEST

START_TEST(pairs_of_lines)
{
    sett_finding f = pair_of(1, 2), turned = pair_of(2, 1), alone = pair_of(1, 1), kind = pair_of(1, 2);
    kind.kind = SETT_CHECK_ORDER;
    ck_assert(sett__finding_add(&f, NULL, NULL));
    ck_assert(!sett__finding_add(&f, NULL, NULL));
    ck_assert(!sett__finding_add(&turned, NULL, NULL));
    ck_assert(sett__finding_add(&alone, NULL, NULL));
    alone.n_site = 1;
    ck_assert(!sett__finding_add(&alone, NULL, NULL));
    ck_assert(sett__finding_add(&kind, NULL, NULL));
    sett__told told = {.n = 0};
    ck_assert(sett__finding_add(&f, NULL, &told));
    ck_assert(!sett__finding_add(&turned, NULL, &told));
    free(told.kept);
    sett_finding maybe = pair_of(8, 9), happened = maybe; /* a warning of the compile is an error of the run */
    maybe.level = SETT_CHECK_WARNING;
    ck_assert(sett__finding_add(&maybe, NULL, NULL));
    ck_assert(sett__finding_add(&happened, NULL, NULL));
    ck_assert(!sett__finding_add(&maybe, NULL, NULL));
    const char *json = in_root("pairs.json");
    setenv("SETT_CHECK_JSON", json, 1);
    ck_assert(!sett__findings_write(false, NULL));
    if (!system("python3 -c pass"))
        ck_assert(python_reads(json, "[f[\"count\"] for f in d[\"findings\"]] == [5, 2, 1, 3] and [f[\"level\"] for f in d[\"findings\"]] == [\"error\"] * 4 and d[\"findings\"][0][\"text\"] == \"race \\\"\\\\ \\t\\x01\""));
}
END_TEST

static void *add_many(void *p)
{
    int *fresh = p;
    for (int i = 0; i < 4000; i++) {
        sett_finding f = pair_of(i % 500, 7);
        *fresh += sett__finding_add(&f, NULL, NULL);
        if (i % 1000 == 0)
            ck_assert(!sett__findings_write(false, NULL));
    }
    return NULL;
}

START_TEST(eight_threads)
{
    enum { THREADS = 8 };
    pthread_t t[THREADS];
    int fresh[THREADS] = {0}, all = 0;
    setenv("SETT_CHECK_JSON", in_root("eight.json"), 1);
    for (int i = 0; i < THREADS; i++)
        ck_assert(!pthread_create(&t[i], NULL, add_many, &fresh[i]));
    for (int i = 0; i < THREADS; i++) {
        pthread_join(t[i], NULL);
        all += fresh[i];
    }
    ck_assert_int_eq(all, 500);
    ck_assert(!sett__findings_write(true, NULL));
    if (!system("python3 -c pass"))
        ck_assert(python_reads(getenv("SETT_CHECK_JSON"), "len(d[\"findings\"]) == 500 and sum(f[\"count\"] for f in d[\"findings\"]) == 32000"));
}
END_TEST

typedef struct launching { sett_kernel *k; int status[25]; } launching;
static void *launch_many(void *p)
{
    launching *l = p;
    float a[N] = {0}, c[N];
    sett_error err;
    sett_buf X = sett_buf_1d(a, SETT_F32, N), Y = sett_buf_1d(c, SETT_F32, N);
    for (int i = 0; i < 25; i++)
        l->status[i] = sett_launch(l->k, sett_stream_of(SETT_CPU, NULL), &err, &X, &Y);
    return NULL;
}

START_TEST(launches_of_eight_threads)
{
    enum { THREADS = 8 };
    pthread_t t[THREADS];
    launching l[THREADS];
    sett_engine *e;
    sett_error err;
    sett_engine_options o = {.size = sizeof o, .no_gpu = true, .cache_dir = "", .checks = SETT_CHECKS_ALL};
    setenv("SETT_CHECK_JSON", in_root("launches.json"), 1);
    ck_assert(!sett_engine_open(&e, &o, &err) && !sett_compile(e, too_many_arrivals, NULL, &l[0].k, &err));
    for (int i = 0; i < THREADS; i++) {
        l[i].k = l[0].k;
        ck_assert(!pthread_create(&t[i], NULL, launch_many, &l[i]));
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(t[i], NULL);
        for (int k = 0; k < 25; k++)
            ck_assert_int_eq(l[i].status[k], SETT_OK);
    }
    sett_kernel_release(l[0].k);
    sett_engine_close(e);
    if (!system("python3 -c pass"))
        ck_assert(python_reads(getenv("SETT_CHECK_JSON"), "[f[\"count\"] for f in d[\"findings\"] if f[\"kind\"] == \"barrier-count\"] == [200]"));
}
END_TEST

Suite *finding_suite(void)
{
    Suite *s = suite_create("finding");
    TCase *kernels = tcase_create("kernels"), *files_of = tcase_create("files");
    tcase_add_loop_test(kernels, found, 0, (int)(sizeof wrong / sizeof *wrong));
    tcase_add_test(kernels, nothing_found);
    tcase_add_test(kernels, once_a_process);
    tcase_add_test(kernels, one_call);
    tcase_add_test(kernels, suppressed_in_source);
    tcase_add_test(kernels, reason_on_the_tape);
    tcase_add_test(kernels, race_ok_refused);
    tcase_add_test(kernels, refused_when_compiled);
    tcase_add_test(files_of, suppressed_by_file);
    tcase_add_test(files_of, suppressions_of_no_use);
    suite_add_tcase(s, kernels);
    tcase_add_checked_fixture(files_of, make_root, drop_root);
    tcase_add_test(files_of, files);
    tcase_add_test(files_of, files_of_no_use);
    tcase_add_test(files_of, all_of_the_process);
    tcase_add_test(files_of, pairs_of_lines);
    tcase_add_test(files_of, eight_threads);
    tcase_add_test(files_of, launches_of_eight_threads);
    suite_add_tcase(s, files_of);
    return s;
}
