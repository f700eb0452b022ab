/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler plug-in, through its one function: tapes made op by op, PTX checked by ordered
 * CHECK lines (tests/rig/match.h) and, where ptxas is there, by the assembler. */
#include "tests/rig/faces.h"
#include "tests/rig/match.h"
#include <check.h>
#include <dlfcn.h>
#include <pthread.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* ---- the plug-in: beside the runner ----------------------------------------------------- */
static const sett__ptx_plugin *plugin(void)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 32);
    ck_assert_int_gt(n, 0);
    path[n] = 0;
    strcpy(strrchr(path, '/'), "/libsett-ptx.so");
    const char *env = getenv("SETT_PTX_PLUGIN");
    void *lib = dlopen(env ? env : path, RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(lib != NULL, "%s (build it first: make)", dlerror());
    union {
        void *address;
        sett__ptx_plugin_fn fn;
    } entry = {dlsym(lib, SETT__PLUGIN_SYMBOL)};
    ck_assert_ptr_nonnull(entry.address);
    return entry.fn();
}

/* ---- tapes, op by op --------------------------------------------------------------------- */
enum { MAX = 120000, NO = -1 };
typedef struct maker {
    sett__tape t;
    sett__symbol sym[4];
    sett__param param[8];
    sett__leaf leaf[16];
    sett__xop code[32];
    const char *string[8];
    sett__site_ref site[8];
} maker;

static sett__expr number(maker *m, int64_t x)
{
    m->code[m->t.sig.n_code] = (sett__xop){SETT__X_CONST, x};
    return (sett__expr){m->t.sig.n_code++, 1};
}

static maker *start(int64_t block)
{
    maker *m = calloc(1, sizeof *m);
    m->t.op = calloc(MAX, sizeof *m->t.op);
    m->t.arg = calloc(4 * MAX, sizeof *m->t.arg);
    m->t.index = calloc(MAX, sizeof *m->t.index);
    m->t.string = m->string;
    m->t.site = m->site;
    m->t.sig.sym = m->sym;
    m->t.sig.param = m->param;
    m->t.sig.leaf = m->leaf;
    m->t.sig.code = m->code;
    if (block)
        m->t.sig.block[0] = number(m, block);
    return m;
}

static void finish(maker *m)
{
    free(m->t.op);
    free(m->t.arg);
    free(m->t.index);
    free(m);
}

/* The opposite of what a reader would like, but the shortest: every field by position. */
static int op(maker *m, int code, int dtype, uint32_t n, int sub, int64_t imm, int n_args, const int *args)
{
    sett__op *o = &m->t.op[m->t.n_op];
    *o = (sett__op){.code = (uint8_t)code,
        .dtype = (uint8_t)dtype,
        .sub = (uint8_t)sub,
        .n = n,
        .imm = imm,
        .args = m->t.n_arg,
        .n_args = (uint16_t)n_args,
        .site = m->t.n_site ? 0 : SETT__NONE};
    for (int i = 0; i < n_args; i++)
        m->t.arg[m->t.n_arg++] = args[i] == NO ? SETT__NONE : (uint32_t)args[i];
    ck_assert_uint_lt(m->t.n_op, MAX);
    return (int)m->t.n_op++;
}
#define A(...) \
    (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), (int[]) \
    { \
        __VA_ARGS__ \
    }
#define NONE 0, NULL

static int param(maker *m, const char *name, int dtype, int access)
{
    sett__sig *s = &m->t.sig;
    sett__param *p = &s->param[s->n_param];
    *p = (sett__param){.name = name,
        .dtype = (uint8_t)dtype,
        .access = (uint8_t)access,
        .wide = 1,
        .align = 16,
        .rank = 1,
        .leaf = s->n_leaf,
        .n_leaf = 1};
    s->leaf[s->n_leaf++] = (sett__leaf){0, number(m, 1 << 20), number(m, 1)};
    return op(m, SETT__PARAM, dtype, 0, 0, s->n_param++, NONE);
}

static int number_param(maker *m, const char *name, int dtype)
{
    sett__sig *s = &m->t.sig;
    s->param[s->n_param] =
        (sett__param){.name = name, .scalar = 1, .dtype = (uint8_t)dtype, .align = 1, .leaf = s->n_leaf};
    return op(m, SETT__SCALAR, dtype, 1, 0, s->n_param++, NONE);
}

static int constant(maker *m, int dtype, int64_t x)
{
    return op(m, SETT__CONST, dtype, 1, 0, (int64_t)sett__bits_of_int((sett_dtype)dtype, x), NONE);
}

static int log2_bytes(int dtype)
{
    return __builtin_ctz((unsigned)sett__dtype_bytes((sett_dtype)dtype));
}

static int load(maker *m, int root, int base, int64_t at, int dtype, uint32_t n)
{
    return op(m, SETT__LOAD, dtype, n, log2_bytes(dtype), at, A(root, base, NO, NO));
}

static void store(maker *m, int root, int base, int64_t at, int value)
{
    op(m, SETT__STORE, 0, 0, log2_bytes(m->t.op[value].dtype), at, A(root, base, NO, value));
}

typedef struct result {
    sett_status status;
    sett__ptx_out out;
    sett_error error;
} result;

static result compile_as(maker *m, const char *target, const char *name, bool lines)
{
    result r = {.status = SETT_OK};
    void *bytes = NULL;
    size_t len = 0;
    ck_assert(sett__tape_link(&m->t));
    sett_status s = sett__tape_write(&m->t, lines, NULL, &bytes, &len, &r.error);
    ck_assert_msg(!s, "%s", r.error.text);
    sett__ptx_job job = {
        .tape = bytes, .tape_len = len, .target = target, .name = name, .line_info = lines, .keep_ir = true};
    r.status = plugin()->compile(&job, &r.out, &r.error);
    free(bytes);
    return r;
}

static result compile(maker *m, const char *target)
{
    result r = compile_as(m, target, "kernel", false);
    ck_assert_msg(!r.status, "%s: %s", sett_status_name(r.status), r.error.text);
    return r;
}

static void drop(result *r)
{
    plugin()->release(&r->out);
}

/* ---- ptxas ------------------------------------------------------------------------------------ */
static const char ptxas[] = "/usr/local/cuda/bin/ptxas";

static void assemble(const char *ptx, const char *target)
{
    char in[] = "/tmp/sett-ptx-XXXXXX", arch[32], command[256];
    if (access(ptxas, X_OK))
        return; /* test_ptxas says so, once */
    int fd = mkstemp(in), status;
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, ptx, strlen(ptx)), (ssize_t)strlen(ptx));
    close(fd);
    snprintf(arch, sizeof arch, "-arch=%s", target);
    snprintf(command, sizeof command, "%s", ptxas);
    char *argv[] = {command, arch, "-O1", in, "-o", "/dev/null", NULL};
    pid_t pid;
    ck_assert_int_eq(posix_spawn(&pid, ptxas, NULL, NULL, argv, environ), 0);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    unlink(in);
    ck_assert_msg(status == 0, "ptxas %s refuses:\n%s", arch, ptx);
}

static void expect(maker *m, const char *target, const char *checks)
{
    result r = compile(m, target);
    char *bad = match(r.out.ptx, checks);
    ck_assert_msg(!bad, "%s\n%s", bad, r.out.ptx);
    assemble(r.out.ptx, target);
    drop(&r);
    finish(m);
}

/* ---- tests ------------------------------------------------------------------------------------- */
/* n elements of a type, none of them known: sums with lane-dependent loads would hide nothing. */
static int many(maker *m, int root, int tid, int dtype, uint32_t n)
{
    int args[64];
    for (uint32_t i = 0; i < n; i++)
        args[i] = load(m, root, tid, i, dtype, 1);
    return n == 1 ? args[0] : op(m, SETT__PACK, dtype, n, 0, 0, (int)n, args);
}

static void keep(maker *m, int root, int tid, int value)
{
    static const int64_t spread = 64;
    uint32_t n = m->t.op[value].n;
    for (uint32_t i = 0; i < n; i++) {
        m->t.index[m->t.n_index] = i;
        int e = op(m, SETT__PICK, m->t.op[value].dtype, 1, 0, m->t.n_index++, A(value));
        store(m, root, tid, spread * value % 4096 + i, e);
    }
}

static const int types[] = {SETT_BOOL, SETT_I8, SETT_I16, SETT_I32, SETT_I64, SETT_U8, SETT_U16, SETT_U32, SETT_U64,
    SETT_F16, SETT_BF16, SETT_F32, SETT_F64};

/* Every elementwise op of the table on one type, at one width. */
static void every_op(maker *m, int in, int out, int tid, int dtype, uint32_t n, int sm)
{
    int x = many(m, in, tid, dtype, n), y = many(m, in, tid, dtype, 1), z = many(m, in, tid, dtype, n);
    char letter = sett__dtype_class((sett_dtype)dtype);
    for (int code = 0; code < SETT__N_CODES; code++) {
        const sett__op_info *info = &sett__ops[code];
        int v = NO;
        if (!strchr(info->types, letter) || (dtype == SETT_BF16 && code == SETT__FMA && sm < 80) || info->min_sm > sm)
            continue;
        switch (info->cls) {
        case SETT__C_BINARY:
            v = op(m, code, dtype, n, 0, 0, A(x, y));
            break;
        case SETT__C_COMPARE: {
            int c = op(m, code, SETT_BOOL, n, 0, 0, A(x, z));
            v = op(m, SETT__SELECT, dtype, n, 0, 0, A(c, y, z));
            break;
        }
        case SETT__C_TERNARY:
            v = op(m, code, dtype, n, 0, 0, A(x, y, z));
            break;
        case SETT__C_UNARY:
            v = op(m, code, dtype, n, 0, 0, A(x));
            break;
        default:
            break;
        }
        if (v != NO)
            keep(m, out, tid, v);
    }
}

static void all_ops_on(int dtype, const char *target, int sm)
{
    static const uint32_t width[] = {1, 3, 18};
    maker *m = start(128);
    int in = param(m, "in", dtype, SETT__ACCESS_READ), out = param(m, "out", dtype, SETT__ACCESS_WRITE);
    int tid = op(m, SETT__TID, SETT_I32, 1, 0, 0, NONE);
    for (size_t i = 0; i < SETT__COUNT(width); i++)
        every_op(m, in, out, tid, dtype, width[i], sm);
    expect(m, target, sett_dtype_bits(dtype) == 16 ? "CHECK: .entry kernel\nNOT: abs.s16\nNOT: neg.s16\nCHECK: ret;" : "CHECK: ret;\nNOT: .extern");
}

START_TEST(test_every_op)
{
    all_ops_on(types[_i], "sm_90a", 90);
}
END_TEST

START_TEST(test_every_op_old)
{
    all_ops_on(types[_i], "sm_75", 75);
}
END_TEST

START_TEST(test_convert)
{
    static const char *const target[] = {"sm_90a", "sm_80"};
    maker *m = start(128);
    int from = types[_i / 2];
    int in = param(m, "in", from, SETT__ACCESS_READ), tid = op(m, SETT__TID, SETT_I32, 1, 0, 0, NONE);
    int x = many(m, in, tid, from, 5);
    for (size_t k = 0; k < SETT__COUNT(types); k++) {
        keep(m, in, tid, op(m, SETT__CONVERT, types[k], 5, 0, 0, A(x)));
    }
    m->param[0].access |= SETT__ACCESS_WRITE;
    expect(m, target[_i % 2], "CHECK: .entry kernel\nCHECK: ret;");
}
END_TEST

START_TEST(test_bitcast)
{
    static const struct {
        int from, n, to, m;
    } rows[] = {{SETT_F16, 2, SETT_I32, 1}, {SETT_I32, 1, SETT_F16, 2}, {SETT_I8, 40, SETT_U64, 5},
        {SETT_U64, 5, SETT_I8, 40}, {SETT_F32, 3, SETT_I32, 3}, {SETT_F64, 3, SETT_F32, 6},
        {SETT_BF16, 18, SETT_F16, 18}, {SETT_BF16, 36, SETT_F32, 18}};
    maker *m = start(128);
    int tid = op(m, SETT__TID, SETT_I32, 1, 0, 0, NONE);
    int bytes = param(m, "bytes", SETT_U8, SETT__ACCESS_READ | SETT__ACCESS_WRITE);
    for (size_t i = 0; i < SETT__COUNT(rows); i++) {
        int x = many(m, bytes, tid, rows[i].from, (uint32_t)rows[i].n);
        keep(m, bytes, tid, op(m, SETT__BITCAST, rows[i].to, (uint32_t)rows[i].m, 0, 0, A(x)));
    }
    expect(m, "sm_90a", "CHECK: .entry kernel\nCHECK: ret;");
}
END_TEST

static maker *add_kernel(int restricted)
{
    maker *m = start(256);
    m->sym[0] = (sett__symbol){.name = "N", .div = 1};
    m->t.sig.n_sym = 1;
    int a = param(m, "A", SETT_F16, SETT__ACCESS_READ), b = param(m, "B", SETT_F16, SETT__ACCESS_READ);
    int c = param(m, "C", SETT_F16, SETT__ACCESS_WRITE);
    for (int i = 0; i < 3; i++)
        m->param[i].restricted = (uint8_t)restricted;
    int n = op(m, SETT__SYM, SETT_I32, 1, 0, 0, NONE), tid = op(m, SETT__TID, SETT_I32, 1, 0, 0, NONE);
    int bid = op(m, SETT__BID, SETT_I32, 1, 0, 0, NONE), k = constant(m, SETT_I32, 2048),
        eight = constant(m, SETT_I32, 8);
    int base = op(m, SETT__ADD, SETT_I32, 1, 0, 0,
        A(op(m, SETT__MUL, SETT_I32, 1, 0, 0, A(bid, k)), op(m, SETT__MUL, SETT_I32, 1, 0, 0, A(tid, eight))));
    int inside = op(m, SETT__LT, SETT_BOOL, 1, 0, 0, A(base, n));
    int x = op(m, SETT__LOAD, SETT_F16, 8, 4, 0, A(a, base, inside, NO));
    int y = op(m, SETT__LOAD, SETT_F16, 8, 4, 0, A(b, base, inside, NO));
    int sum = op(m, SETT__ADD, SETT_F16, 8, 0, 0, A(x, y));
    op(m, SETT__STORE, 0, 0, 4, 0, A(c, base, inside, sum));
    return m;
}

START_TEST(test_add)
{
    expect(add_kernel(1), "sm_90a",
        "CHECK: .version 8.0\n"
        "CHECK: .target sm_90a\n"
        "CHECK: .entry kernel(\n"
        "CHECK: .param .u64 .ptr .global .align 1 kernel_param_0\n"
        "CHECK: .param .u32 kernel_param_3\n"
        "CHECK: .reqntid 256\n"
        "CHECK: ld.global.nc.v4.b32\n"
        "CHECK: ld.global.nc.v4.b32\n"
        "CHECK: add.rn.f16x2\nCHECK: add.rn.f16x2\nCHECK: add.rn.f16x2\nCHECK: add.rn.f16x2\n"
        "CHECK: st.global.v4.b32\n"
        "NOT: ld.global.b16");
    expect(
        add_kernel(0), "sm_90a", "CHECK: ld.global.v4.b32\nNOT: .nc\nCHECK: ld.global.v4.b32\nCHECK: st.global.v4.b32");
}
END_TEST

START_TEST(test_loop_in_registers)
{
    maker *m = start(0);
    m->sym[0] = (sett__symbol){.name = "K", .div = 1};
    m->t.sig.n_sym = 1;
    m->t.sig.block[0] = number(m, 0);
    m->code[0] = (sett__xop){SETT__X_SYM, 0}; /* a block that is not static */
    int a = param(m, "A", SETT_F32, SETT__ACCESS_READ | SETT__ACCESS_WRITE),
        k = op(m, SETT__SYM, SETT_I32, 1, 0, 0, NONE);
    int acc = op(m, SETT__RMEM, SETT_F32, 4, 0, 0, NONE), zero = constant(m, SETT_I32, 0),
        one = constant(m, SETT_I32, 1);
    int f0 = op(m, SETT__CONST, SETT_F32, 1, 0, 0, NONE), i4 = constant(m, SETT_I32, 4);
    for (int i = 0; i < 4; i++)
        store(m, acc, NO, i, f0);
    int loop = op(m, SETT__FOR, SETT_I32, 1, 0, 0, A(zero, k, one));
    int base = op(m, SETT__MUL, SETT_I32, 1, 0, 0, A(loop, i4));
    int x = op(m, SETT__LOAD, SETT_F32, 4, 4, 0, A(a, base, NO, NO));
    int old = op(m, SETT__LOAD, SETT_F32, 4, 4, 0, A(acc, NO, NO, NO));
    op(m, SETT__STORE, 0, 0, 4, 0, A(acc, NO, NO, op(m, SETT__ADD, SETT_F32, 4, 0, 0, A(x, old))));
    op(m, SETT__END, 0, 0, 0, 0, NONE);
    op(m, SETT__STORE, 0, 0, 4, 0, A(a, NO, NO, op(m, SETT__LOAD, SETT_F32, 4, 4, 0, A(acc, NO, NO, NO))));
    expect(m, "sm_80",
        "CHECK: .version 7.0\nNOT: .local\nNOT: reqntid\nCHECK: .pragma \"nounroll\"\nCHECK: ld.global.v4.b32\n"
        "CHECK: add.rn.f32\nNOT: .local\nCHECK: bra\nCHECK: st.global.v4.b32");
}
END_TEST

static const struct { sett_dtype type; int64_t hi, step; const char *want; } edge[] = { /* hi of 0: a symbol */
    {SETT_I32, 0, 1, "CHECK: nounroll\nNOT: sub.s32\nCHECK: bra"},
    {SETT_I32, INT32_MAX - 2, 3, "CHECK: nounroll\nNOT: setp.gt.u32\nCHECK: bra"},
    {SETT_I32, 0, 3, "CHECK: nounroll\nCHECK: setp.gt.u32\nCHECK: bra"},
    {SETT_U32, UINT32_MAX, 2, "CHECK: nounroll\nCHECK: setp.gt.u32\nCHECK: bra"}, /* step of 0: a symbol, which may be 0 */
    {SETT_I32, INT32_MAX, 0, "CHECK: , -1;\nCHECK: setp.gt.u32\nCHECK: bra"}};
START_TEST(test_loop_at_the_edge)
{
    maker *m = start(32);
    m->sym[m->t.sig.n_sym++] = (sett__symbol){.name = "K", .div = 1};
    int a = param(m, "A", edge[_i].type, 3), k = op(m, SETT__SYM, SETT_I32, 1, 0, 0, NONE);
    int lo = load(m, a, NO, 0, edge[_i].type, 1), hi = edge[_i].hi ? constant(m, edge[_i].type, edge[_i].hi) : k;
    op(m, SETT__FOR, edge[_i].type, 1, 0, 0, A(lo, hi, edge[_i].step ? constant(m, edge[_i].type, edge[_i].step) : k));
    op(m, SETT__ATOM, edge[_i].type, 1, SETT__ADD, 0, A(a, NO, NO, lo));
    op(m, SETT__END, 0, 0, 0, 0, NONE);
    expect(m, "sm_80", edge[_i].want);
}
END_TEST
START_TEST(test_regions_and_barriers)
{
    maker *m = start(64);
    int a = param(m, "A", SETT_I32, SETT__ACCESS_READ | SETT__ACCESS_WRITE);
    m->t.sig.smem = _i ? 64 * 1024 : 256;
    m->t.sig.smem_align = 16;
    int s = op(m, SETT__SMEM, SETT_I32, 64, 0, 0, NONE), tid = op(m, SETT__TID, SETT_I32, 1, 0, 0, NONE);
    int lane = op(m, SETT__LANE, SETT_I32, 1, 0, 0, NONE), three = constant(m, SETT_I32, 3);
    store(m, s, tid, 0, load(m, a, tid, 0, SETT_I32, 1));
    op(m, SETT__BARRIER, 0, 0, 0, 0, NONE);
    int cond = op(m, SETT__LT, SETT_BOOL, 1, 0, 0, A(lane, three));
    op(m, SETT__IF, 0, 0, 0, 0, A(cond));
    store(m, a, tid, 0, load(m, s, tid, 1, SETT_I32, 1));
    op(m, SETT__ELSE, 0, 0, 0, 0, NONE);
    store(m, a, tid, 7, load(m, s, tid, -1, SETT_I32, 1));
    op(m, SETT__END, 0, 0, 0, 0, NONE);
    op(m, SETT__SYNCWARP, 0, 0, 0, 0, NONE);
    expect(m, "sm_90a",
        _i ? "CHECK: .extern .shared .align 16 .b8 smem[]\nCHECK: st.shared.b32\nCHECK: bar.sync\n"
             "CHECK: bar.warp.sync"
           : "CHECK: .shared .align 16 .b8 smem[256]\nCHECK: st.shared.b32\nCHECK: bar.sync\n"
             "CHECK: st.global.b32\nCHECK: st.global.b32\nCHECK: bar.warp.sync");
}
END_TEST

START_TEST(test_atomics)
{
    static const int kinds[] = {SETT__ADD, SETT__MIN, SETT__MAX, SETT__AND, SETT__OR, SETT__XOR, SETT__XCHG};
    static const int wide[] = {SETT_I32, SETT_U32, SETT_I64, SETT_U64, SETT_F16, SETT_BF16, SETT_F32, SETT_F64};
    static const char *const targets[] = {"sm_90a", "sm_75"};
    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; i < SETT__COUNT(wide); i++) {
            int dtype = wide[i];
            maker *m = start(32);
            int a = param(m, "A", dtype, SETT__ACCESS_READ | SETT__ACCESS_WRITE),
                tid = op(m, SETT__TID, SETT_I32, 1, 0, 0, NONE);
            m->t.sig.smem = 1024;
            m->t.sig.smem_align = 16;
            int s = op(m, SETT__SMEM, dtype, 64, 0, 0, NONE), x = load(m, a, tid, 0, dtype, 1),
                one = constant(m, SETT_I32, 1);
            int yes = op(m, SETT__EQ, SETT_BOOL, 1, 0, 0, A(tid, one));
            for (size_t k = 0; k < SETT__COUNT(kinds); k++) {
                if (kinds[k] != SETT__XCHG && !strchr(sett__ops[kinds[k]].types, sett__dtype_class((sett_dtype)dtype)))
                    continue;
                store(m, a, tid, 64 + (int)k, op(m, SETT__ATOM, dtype, 1, kinds[k], 3, A(a, tid, NO, x)));
                store(m, a, tid, 96 + (int)k, op(m, SETT__ATOM, dtype, 1, kinds[k], 3, A(s, NO, yes, x)));
            }
            expect(m, targets[t], "CHECK: .relaxed.gpu.global.\nCHECK: .relaxed.cta.shared.\nCHECK: ret");
        }
}
END_TEST

START_TEST(test_shuffles)
{
    static const int wide[] = {SETT_I32, SETT_F32, SETT_U32, SETT_F16, SETT_BF16, SETT_I16};
    maker *m = start(32);
    int a = param(m, "A", SETT_U8, SETT__ACCESS_READ | SETT__ACCESS_WRITE),
        tid = op(m, SETT__TID, SETT_I32, 1, 0, 0, NONE), five = constant(m, SETT_I32, 5);
    for (size_t i = 0; i < SETT__COUNT(wide); i++)
        for (int sub = SETT__SHFL_IDX; sub <= SETT__SHFL_BFLY; sub++)
            for (uint32_t n = 1; n <= 3; n++) {
                int x = many(m, a, tid, wide[i], n),
                    y = op(m, SETT__SHFL, wide[i], n, sub, 0, A(x, sub & 2 ? tid : five, 8));
                m->t.op[y].n_args = 2, m->t.op[y].n_attrs = !(sub & 1);
                keep(m, a, tid, y);
            }
    expect(m, "sm_90a",
        "CHECK: shfl.sync.idx.b32 {{*}}, 5, 6175, -1;\nCHECK: shfl.sync.up.b32 {{*}}, 5, 0, -1;\n"
        "CHECK: shfl.sync.down.b32 {{*}}, 6175, -1;\nCHECK: shfl.sync.bfly.b32 {{*}}, 31, -1;");
}
END_TEST

START_TEST(test_printf)
{
    maker *m = start(32);
    m->string[0] = "x %d %5.2f %lld %u 100%%\n";
    m->string[1] = "the number is positive";
    m->t.n_string = 2;
    int h = number_param(m, "h", SETT_F16), i = number_param(m, "i", SETT_I8), w = number_param(m, "w", SETT_I64);
    int b = number_param(m, "b", SETT_BOOL), zero = constant(m, SETT_I64, 0);
    op(m, SETT__PRINTF, 0, 0, 0, 0, A(i, h, w, b));
    op(m, SETT__ASSERT, 0, 0, 0, 1, A(op(m, SETT__GT, SETT_BOOL, 1, 0, 0, A(w, zero))));
    expect(m, "sm_90a",
        "CHECK: .extern .func {{*}} vprintf\nCHECK: .entry kernel\nCHECK: .param .align 2 .b8 "
        "kernel_param_0[2]\n"
        "CHECK: .local .align 8 .b8 __local_depot{{*}}[32]\nCHECK: cvt.f64.f16\nCHECK: st.local.b32\n"
        "CHECK: call.uni {{*}}vprintf\nCHECK: cas.b32\nCHECK: st.release.sys\nCHECK: exit;");
}
END_TEST

START_TEST(test_reduce_and_wide)
{
    maker *m = start(32);
    int a = param(m, "A", SETT_F32, SETT__ACCESS_READ | SETT__ACCESS_WRITE),
        tid = op(m, SETT__TID, SETT_I32, 1, 0, 0, NONE);
    int r = op(m, SETT__RMEM, SETT_F32, 37, 0, 0, NONE), zero = op(m, SETT__CONST, SETT_F32, 1, 0, 0, NONE);
    op(m, SETT__STORE, 0, 0, 7, 0, A(r, NO, NO, many(m, a, tid, SETT_F32, 37)));
    int x = op(m, SETT__LOAD, SETT_F32, 37, 7, 0, A(r, NO, NO, NO));
    store(m, a, tid, 100, op(m, SETT__REDUCE, SETT_F32, 1, SETT__MAX, 0, A(x, zero)));
    expect(m, "sm_90a", "NOT: .local\nCHECK: max.NaN.f32\nCHECK: max.NaN.f32\nCHECK: st.global");
}
END_TEST

START_TEST(test_line_info)
{
    maker *m = add_kernel(1);
    m->string[0] = "/src/kernels/add.c";
    m->string[1] = "body";
    m->string[2] = "helper.h";
    m->t.n_string = 3;
    m->site[0] = (sett__site_ref){0, 1, 31};
    m->site[1] = (sett__site_ref){2, 1, 7};
    m->t.n_site = 2;
    for (uint32_t i = 0; i < m->t.n_op; i++)
        m->t.op[i].site = m->t.op[i].code == SETT__STORE ? 1 : m->t.op[i].code == SETT__ADD ? 0 : SETT__NONE;
    result r = compile_as(m, "sm_90a", "kernel", true);
    ck_assert_msg(!r.status, "%s", r.error.text);
    char *bad = match(r.out.ptx, "NOT: , debug\nCHECK: .loc 1 31\nCHECK: .loc {{*}} 7 0\nCHECK: .file {{*}}add.c");
    ck_assert_msg(!bad, "%s\n%s", bad, r.out.ptx);
    ck_assert_ptr_nonnull(strstr(r.out.ptx, "helper.h"));
    assemble(r.out.ptx, "sm_90a");
    drop(&r);
    r = compile_as(m, "sm_90a", "kernel", false);
    ck_assert_ptr_null(strstr(r.out.ptx, ".loc"));
    drop(&r);
    finish(m);
}
END_TEST

START_TEST(test_targets)
{
    static const char *const target[] = {"sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_90a",
        "sm_100", "sm_100a", "sm_100f", "sm_103", "sm_103a", "sm_110", "sm_110a", "sm_120", "sm_120a", "sm_121",
        "sm_121a"};
    maker *m = add_kernel(1);
    for (size_t i = 0; i < SETT__COUNT(target); i++) {
        result r = compile(m, target[i]);
        assemble(r.out.ptx, target[i]);
        drop(&r);
    }
    finish(m);
}
END_TEST

START_TEST(test_refusals)
{
    maker *m = add_kernel(1);
    static const struct {
        const char *target, *name, *text;
        sett_status status;
    } rows[] = {{"sm_1", "kernel", "sm_1", SETT_E_TARGET}, {"sm_90a", "", "cannot name", SETT_E_ARGUMENT},
        {"sm_90a", "9lives", "cannot name", SETT_E_ARGUMENT}, {"sm_90a", "a b", "cannot name", SETT_E_ARGUMENT},
        {"sm_90a", "vprintf", "cannot name", SETT_E_ARGUMENT}};
    for (size_t i = 0; i < SETT__COUNT(rows); i++) {
        result r = compile_as(m, rows[i].target, rows[i].name, false);
        ck_assert_int_eq(r.status, rows[i].status);
        ck_assert_int_eq(r.error.status, rows[i].status);
        ck_assert_msg(strstr(r.error.text, rows[i].text) != NULL, "%s", r.error.text);
        ck_assert_ptr_null(r.out.ptx);
    }
    sett__ptx_out out;
    sett_error error;
    sett__ptx_job job = {.tape = "nonsense", .tape_len = 8, .target = "sm_90a", .name = "kernel"};
    ck_assert_int_eq(plugin()->compile(&job, &out, &error), SETT_E_PARSE);
    job.tape = NULL;
    ck_assert_int_eq(plugin()->compile(&job, &out, &error), SETT_E_ARGUMENT);
    finish(m);
}
END_TEST

/* What goes into LLVM, as whole text: a golden that moves means that SETT__CODEGEN_ID must, too. */
START_TEST(test_ir)
{
    static char want[16384];
    FILE *f = fopen("tests/golden/ptx/add.ll", "r");
    ck_assert_msg(f != NULL, "run from the repository's root");
    want[fread(want, 1, sizeof want - 1, f)] = 0;
    fclose(f);
    maker *m = add_kernel(1);
    result r = compile(m, "sm_90a");
    ck_assert_str_eq(r.out.ir, want);
    drop(&r);
    finish(m);
}
END_TEST

START_TEST(test_deterministic)
{
    maker *m = add_kernel(1);
    result a = compile(m, "sm_90a"), b = compile(m, "sm_90a");
    ck_assert_str_eq(a.out.ptx, b.out.ptx);
    ck_assert_str_eq(a.out.ir, b.out.ir);
    ck_assert_uint_eq(a.out.ptx_len, strlen(a.out.ptx));
    drop(&a);
    drop(&b);
    finish(m);
}
END_TEST

/* The library has no name that another library could meet. */
START_TEST(test_plugin)
{
    const sett__ptx_plugin *p = plugin();
    ck_assert_uint_eq(p->size, sizeof *p);
    ck_assert_int_eq(p->abi, SETT__PLUGIN_ABI);
    ck_assert_str_eq(p->codegen_id, SETT__CODEGEN_ID);
    ck_assert_int_eq(strncmp(p->llvm_version, "22.", 3), 0);
    ck_assert_ptr_null(dlsym(RTLD_DEFAULT, "LLVMContextCreate"));
}
END_TEST

/* ---- a fatal error of LLVM --------------------------------------------------------------------- */
typedef struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t told;
    char text[512];
    int returned, status;
    sett__ptx_job job;
} waiter;

static void on_fatal(void *user, sett_status status, const char *text)
{
    waiter *w = user;
    pthread_mutex_lock(&w->lock);
    w->status = status;
    snprintf(w->text, sizeof w->text, "%s", text);
    pthread_cond_signal(&w->told);
    pthread_mutex_unlock(&w->lock);
}

static void *doomed(void *user)
{
    waiter *w = user;
    sett__ptx_out out;
    plugin()->compile(&w->job, &out, &(sett_error){0});
    w->returned = 1;
    return NULL;
}

START_TEST(test_fatal)
{
    maker *m = add_kernel(1);
    waiter w = {.lock = PTHREAD_MUTEX_INITIALIZER, .told = PTHREAD_COND_INITIALIZER};
    static void *bytes; /* the parked thread may look at them for ever: no leak */
    size_t len;
    sett_error error;
    ck_assert(sett__tape_link(&m->t));
    ck_assert_int_eq(sett__tape_write(&m->t, false, NULL, &bytes, &len, &error), SETT_OK);
    w.job = (sett__ptx_job){.tape = bytes,
        .tape_len = len,
        .target = "sm_90a",
        .name = "kernel",
        .fatal = on_fatal,
        .user = &w,
        .provoke = "fatal"};
    pthread_t thread;
    pthread_mutex_lock(&w.lock);
    ck_assert_int_eq(pthread_create(&thread, NULL, doomed, &w), 0);
    while (!w.text[0])
        ck_assert_int_eq(pthread_cond_wait(&w.told, &w.lock), 0);
    pthread_mutex_unlock(&w.lock);
    ck_assert_msg(strstr(w.text, "Cannot select") != NULL, "%s", w.text);
    ck_assert(w.status == SETT_E_COMPILE && !w.returned);
    ck_assert_int_eq(compile_as(m, "sm_90a", "kernel", false).status, SETT_E_NO_COMPILER); /* it is dead, and says so */
    ck_assert_str_eq(plugin()->failed(), w.text);
    finish(m); /* thread and bytes stay until the process ends */
}
END_TEST

/* ---- how LLVM's time grows ------------------------------------------------------------------------ */
static maker *family(int which, int n)
{
    maker *m = start(128);
    int a = param(m, "A", SETT_F32, SETT__ACCESS_READ | SETT__ACCESS_WRITE),
        tid = op(m, SETT__TID, SETT_I32, 1, 0, 0, NONE);
    int ld = number_param(m, "ld", SETT_I32), x = load(m, a, tid, 0, SETT_F32, 1);
    for (int i = 0; i < n; i++) {
        if (which == 0) { /* arithmetic */
            x = op(m, i & 1 ? SETT__ADD : SETT__MUL, SETT_F32, 1, 0, 0, A(x, i & 2 ? x : x - (i > 4)));
        } else if (which == 1) { /* static offsets */
            store(m, a, tid, 4 + i, x);
        } else { /* run-time offsets */
            int row = op(m, SETT__MUL, SETT_I32, 1, 0, 0, A(ld, constant(m, SETT_I32, i)));
            store(m, a, op(m, SETT__ADD, SETT_I32, 1, 0, 0, A(row, tid)), 0, x);
        }
    }
    store(m, a, tid, 1, x);
    return m;
}

/* A loop whose body is cut into several blocks: it still jumps back to its start, and all of it is there. */
START_TEST(test_long_loop)
{
    maker *m = start(128);
    int a = param(m, "A", SETT_F32, SETT__ACCESS_READ | SETT__ACCESS_WRITE),
        tid = op(m, SETT__TID, SETT_I32, 1, 0, 0, NONE), k = number_param(m, "k", SETT_I32);
    int zero = constant(m, SETT_I32, 0), one = constant(m, SETT_I32, 1);
    int loop = op(m, SETT__FOR, SETT_I32, 1, 0, 0, A(zero, k, one));
    int at = op(m, SETT__ADD, SETT_I32, 1, 0, 0, A(loop, tid));
    for (int i = 0; i < 3000; i++)
        store(m, a, at, 5000 + i, load(m, a, at, i, SETT_F32, 1));
    op(m, SETT__END, 0, 0, 0, 0, NONE);
    store(m, a, tid, 0, load(m, a, tid, 7, SETT_F32, 1));
    result r = compile(m, "sm_90a");
    ck_assert_int_eq(r.out.codegen_level, 0);
    size_t loads = 0, jumps = 0;
    for (const char *s = r.out.ptx; (s = strstr(s, "ld.global")); s++)
        loads++;
    for (const char *s = r.out.ptx; (s = strstr(s, "bra")); s++)
        jumps++;
    ck_assert_uint_ge(loads, 3000);
    ck_assert_uint_ge(jumps, 6000 / 1024 + 1);
    drop(&r);
    finish(m);
}
END_TEST

START_TEST(test_long_code)
{
    static const int n = 3000;
    maker *m = family(_i, n);
    result r = compile(m, "sm_90a");
    ck_assert_int_eq(r.out.codegen_level, _i ? 0 : 2);
    size_t count = 0;
    for (const char *s = r.out.ptx; (s = strstr(s, _i ? "st.global" : ".rn.f32")); s++)
        count++;
    ck_assert_uint_ge(count, (size_t)n);
    drop(&r);
    finish(m);
    m = family(_i, 9000);
    r = compile(m, "sm_90a");
    ck_assert_int_eq(r.out.codegen_level, 0);
    drop(&r);
    finish(m);
    m = family(_i, 60);
    r = compile(m, "sm_90a");
    ck_assert_int_eq(r.out.codegen_level, 2);
    drop(&r);
    finish(m);
}
END_TEST

START_TEST(test_ptxas)
{
    if (access(ptxas, X_OK))
        printf("ptx: %s is not there: the PTX was not assembled\n", ptxas);
    char *bad = match("a\nb c\nd", "CHECK: a\nNOT: x\nCHECK: b  c\nCHECK: {{*}}d");
    ck_assert_ptr_null(bad);
    bad = match("a b", "CHECK: b\nCHECK: a");
    ck_assert_ptr_nonnull(bad);
    free(bad);
    bad = match("a x b", "CHECK: a\nNOT: x\nCHECK: b");
    ck_assert_ptr_nonnull(bad);
    free(bad);
}
END_TEST

Suite *ptx_suite(void);
Suite *ptx_suite(void)
{
    Suite *s = suite_create("ptx");
    TCase *c = tcase_create("ptx");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, test_ptxas);
    tcase_add_test(c, test_plugin);
    tcase_add_test(c, test_add);
    tcase_add_loop_test(c, test_every_op, 0, (int)SETT__COUNT(types));
    tcase_add_loop_test(c, test_every_op_old, 0, (int)SETT__COUNT(types));
    tcase_add_loop_test(c, test_convert, 0, 2 * (int)SETT__COUNT(types));
    tcase_add_test(c, test_bitcast);
    tcase_add_test(c, test_loop_in_registers);
    tcase_add_loop_test(c, test_loop_at_the_edge, 0, SETT__COUNT(edge));
    tcase_add_loop_test(c, test_regions_and_barriers, 0, 2);
    tcase_add_test(c, test_atomics);
    tcase_add_test(c, test_shuffles);
    tcase_add_test(c, test_printf);
    tcase_add_test(c, test_reduce_and_wide);
    tcase_add_test(c, test_line_info);
    tcase_add_test(c, test_targets);
    tcase_add_test(c, test_refusals);
    tcase_add_test(c, test_ir);
    tcase_add_test(c, test_deterministic);
    tcase_add_loop_test(c, test_long_code, 0, 3);
    tcase_add_test(c, test_long_loop);
    tcase_add_test(c, test_fatal);
    suite_add_tcase(s, c);
    return s;
}
