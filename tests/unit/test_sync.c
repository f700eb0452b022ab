/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of class FORM, mbarriers and clusters: what they compile to, and what is refused. */
#include "tests/rig/rig.h"
#include "tests/rig/tapes.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>

#define HEAD \
    "sett tape 2\nparam X u8 (4096):(1) align 16 read\nparam D u8 (4096):(1) align 16 write\nblock 128\nlaunch min_blocks 1\nsmem 1024 align 128\n\n" \
    "%0 = tid.x i32\n%1 = param u8 X\n%2 = param u8 D\n%3 = smem u64x4 at 0 mbarrier\n%4 = smem f32x32 at 64\n%5 = const i32 1\n" \
    "%6 = lt i1 %0, %5\n%7 = rmem f32x4\n%8 = const i64 1\n"

/* ---- forms ------------------------------------------------------------------------------- */
/* What the strings of ops.def promise to printer, parser and verifier. */
START_TEST(forms_are_well_formed)
{
    uint32_t places = 0;
    if (sett__ops[_i].cls != SETT__C_FORM)
        return;
    for (sett__form f = sett__form_of(_i); sett__form_next(&f); places = f.place + (f.words == 2)) {
        ck_assert_msg(f.kinds, "%s: a kind is none", sett__ops[_i].text);
        ck_assert_msg(!f.optional || *f.name || f.repeated, "%s: what may be left out has a name, or is the list at the end", sett__ops[_i].text);
        ck_assert_msg(!f.repeated || !sett__form_next(&(sett__form){.at = f.at}), "%s: only the last is repeated", sett__ops[_i].text);
        ck_assert_msg(!(f.kinds & SETT__F_PLACE) || !(f.kinds & ~SETT__F_PLACE), "%s: a place, or none", sett__ops[_i].text);
    }
    for (const sett__attr_info *a = SETT__ATTR_ROW(_i, 0); a->text; a++)
        places -= !*a->text;
    ck_assert_msg(places <= 1, "%s: a place has no offset, or an offset no place", sett__ops[_i].text);
    ck_assert(!strstr(sett__ops[_i].types, "->") || sett__form_result(_i));
}
END_TEST

/* ---- what they give ------------------------------------------------------------------------ */
static const struct {
    const char *lines, *target, *checks;
} given[] = {
    {"mbarrier.init %3[1] %5", "sm_80", "CHECK: mbarrier.init.shared.b64 [smem+8], %r"},
    {"mbarrier.init %3[%0 + 1] %5", "sm_90a", "CHECK: mbarrier.init.shared.b64 [%rd{{*}}+8], %r"},
    {"%20 = smem u8x16 at 32\nmbarrier.init %3[3] %5", "sm_80", "CHECK: mbarrier.init.shared.b64 [smem+24]"}, /* whose bytes end where those of %20 begin */
    {"mbarrier.arrive %3[0]", "sm_80", "CHECK: mbarrier.arrive.shared.b64 %rd1, [smem];"},
    {"mbarrier.arrive %3[0]", "sm_90", "CHECK: mbarrier.arrive.shared.b64 %rd1, [smem], %r"},
    {"mbarrier.arrive %3[2] count %0 pred %6 scope=cluster", "sm_90a", "CHECK: @%p{{*}} bra\nCHECK: mbarrier.arrive.release.cluster.shared.b64 %rd1, [smem+16], %r"},
    {"mbarrier.expect_tx %3[0] %5", "sm_90a", "CHECK: mbarrier.expect_tx.relaxed.cta.shared.b64 [smem], %r"},
    {"mbarrier.expect_tx %3[0] %0 pred %6 arrive", "sm_90a", "CHECK: mbarrier.arrive.expect_tx.shared.b64 %rd1, [smem], %r"},
    {"loop {\n%20 = mbarrier.try_wait i1 %3[0] %5\n%21 = not i1 %20\nwhile %21\n}", "sm_90a",
        "CHECK: mbarrier.try_wait.parity.shared.b64 %p1, [smem], %r\nCHECK: bra"},
    /* nothing moves past a wait or an arrival, of whatever memory */
    {"%20 = load u8 %1[0] align 1\n%21 = load f32 %4[0] align 4\n%22 = mbarrier.try_wait i1 %3[0] %5\n%23 = load u8 %1[0] align 1\n%24 = load f32 %4[0] align 4\n"
     "%25 = add u8 %20, %23\n%26 = add f32 %21, %24\nstore %2[0] u8 %25 align 1\nstore %4[1] f32 %26 align 4\nmbarrier.arrive %3[1]\nstore %4[1] f32 %21 align 4", "sm_90a",
        "CHECK: ld.shared.b32\nCHECK: mbarrier.try_wait\nCHECK: ld.shared.b32\nCHECK: st.global\nCHECK: st.shared\nCHECK: mbarrier.arrive\nCHECK: st.shared"},
    {"%20 = mbarrier.try_wait i1 %3[1] %0\nif %20 {\nbarrier\n}", "sm_80", "CHECK: mbarrier.test_wait.parity.shared.b64 p, [%r{{*}}], %r"},
    {"%20 = mbarrier.test_wait i1 %3[1] %0\nif %20 {\nbarrier\n}", "sm_80", "CHECK: mbarrier.test_wait.parity.shared.b64 p, [%r{{*}}], %r"},
    {"%20 = mbarrier.test_wait i1 %3[1] %0 scope=cluster\nif %20 {\nbarrier\n}", "sm_90a", "CHECK: mbarrier.test_wait.parity.acquire.cluster.shared.b64 %p1, [smem+8], %r"},
    {"mbarrier.inval %3[0]", "sm_80", "CHECK: mbarrier.inval.shared.b64 [smem]"},
    {"cp.async.mbarrier.arrive %3[0]", "sm_80", "CHECK: cp.async.mbarrier.arrive.shared.b64 [smem]"},
    {"cp.async.mbarrier.arrive %3[0] noinc", "sm_90", "CHECK: cp.async.mbarrier.arrive.noinc.shared.b64 [smem]"},
    /* peers */
    {"%20 = peer u64x4 %3, %5\nmbarrier.arrive %20[1] scope=cluster", "sm_90a",
        "CHECK: mapa.shared::cluster.u64 %rd{{*}}, %rd{{*}}, 1\nCHECK: mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%rd{{*}}], %r"},
    {"%20 = peer u64x4 %3, %5\nmbarrier.expect_tx %20[1] %0 pred %6 scope=cluster arrive", "sm_90a", "CHECK: mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%rd{{*}}], %r"},
    {"%20 = peer f32x32 %4, %0\n%21 = load f32x4 %20[4] align 16\nstore %2[%0] f32x4 %21 align 4", "sm_90a", "CHECK: mapa.shared::cluster\nCHECK: ld.shared::cluster.v4.b32"},
    {"%20 = peer f32x32 %4, %0\n%21 = const f32 1\nstore %20[%0] f32 %21 align 4 pred %6", "sm_90a", "CHECK: st.shared::cluster.b32"},
    {"%20 = peer f32x32 %4, %0\n%21 = const f32 1\n%22 = atom.add f32 %20[%0] %21", "sm_90a", "CHECK: red.relaxed.cluster.shared::cluster.add.f32"},
    /* global memory at an address */
    {"%20 = addr u64 D\n%21 = gmem f32x16 %20 align=16\n%22 = load f32x4 %21[4] align 16\nstore %21[%0 - 1] f32x4 %22 align 4", "sm_75",
        "CHECK: ld.global.v4.b32 {%r{{*}}}, [%rd{{*}}+16]\nCHECK: st.global"},
    {"%20 = addr u64 D\n%21 = gmem i32x0 %20 align=4\n%22 = atom.add i32 %21[%0] %0 scope=sys", "sm_75", "CHECK: red.relaxed.sys.global.add.u32"},
    {"%20 = addr u64 X\n%21 = gmem f32x0 %20 align=64 access=read\n%22 = load f32 %21[1000000] align 4 cache=streaming\nstore %2[%0] f32 %22 align 1", "sm_75", "CHECK: ld.global.cs"},
    {"%20 = addr u64 X\n%21 = gmem f32x0 %20 align=16\ncp.async %4[0] %21[%0] bytes=4 of=4", "sm_80", "CHECK: cp.async.ca.shared.global [%r{{*}}], [%rd{{*}}], 4"},
    /* clusters */
    {"%20 = cluster_ctaid i32 dim=y\n%21 = cluster_nctaid i32\n%22 = clusterid i32 dim=z\n%23 = nclusterid i32\n%24 = cluster_ctarank i32\n%25 = cluster_nctarank i32\n"
     "%26 = pack i32x6 %20, %21, %22, %23, %24, %25\nstore %2[%0] i32x6 %26 align 4", "sm_90",
        "CHECK: %cluster_ctaid.y\nCHECK: %cluster_nctaid.x\nCHECK: %clusterid.z\nCHECK: %nclusterid.x\nCHECK: %cluster_ctarank\nCHECK: %cluster_nctarank"},
    {"cluster.arrive\ncluster.wait\ncluster.arrive order=relaxed\ncluster.wait", "sm_90a",
        "CHECK: barrier.cluster.arrive;\nCHECK: barrier.cluster.wait;\nCHECK: barrier.cluster.arrive.relaxed;\nCHECK: barrier.cluster.wait;"},
    {"fence scope=cluster\nfence.mbarrier_init", "sm_90", "CHECK: fence.acq_rel.cluster;\nCHECK: fence.mbarrier_init.release.cluster"},
    {"fence.proxy kind=async\nfence.proxy kind=async.shared\nfence.proxy kind=async.global", "sm_90",
        "CHECK: fence.proxy.async;\nCHECK: fence.proxy.async.shared::cta;\nCHECK: fence.proxy.async.global;"},
    {"%20 = addr u64 D\n%21 = gmem u64x16 %20 align=64\nfence.proxy kind=tensormap.release\nfence.proxy map %21[0] kind=tensormap.acquire scope=sys", "sm_90a",
        "CHECK: fence.proxy.tensormap::generic.release.gpu;\nCHECK: fence.proxy.tensormap::generic.acquire.sys [%rd{{*}}], 128"},
    {"%20 = peer u64x4 %3, %5\nmbarrier.arrive %20[0] pred %6 scope=cluster order=relaxed\nmbarrier.arrive %3[0] order=relaxed", "sm_90a",
        "CHECK: .version 8.6\nCHECK: mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [\nCHECK: mbarrier.arrive.relaxed.cta.shared.b64 %rd{{*}}, [smem]"},
    {"setmaxnreg way=dec count=40\nsetmaxnreg way=inc count=232", "sm_90a", "CHECK: setmaxnreg.dec.sync.aligned.u32 40\nCHECK: setmaxnreg.inc.sync.aligned.u32 232"},
};

START_TEST(lowered)
{
    char text[2048];
    snprintf(text, sizeof text, "%s%s\n", HEAD, given[_i].lines);
    tape_comes_back(text);
    if (!have_compiler())
        return;
    sett_engine *e = tapes_engine();
    tape_gives(e, text, given[_i].target, given[_i].checks);
    sett_engine_close(e);
}
END_TEST

/* ---- refusals -------------------------------------------------------------------------------- */
static const wrong_lines wrong[] = {
    {"mbarrier.init %4[0] %5", SETT_E_SPACE, "operand 0 is not an mbarrier"},
    {"mbarrier.init %0[0] %5", SETT_E_SPACE, "operand 0 is not an mbarrier"},
    {"mbarrier.init %3[4] %5", SETT_E_RANGE, "elements 4 to 4 are not in %3"},
    {"mbarrier.init %3[%6] %5", SETT_E_DTYPE, "the offset must be one i32 or i64"},
    {"mbarrier.init %3[0]", SETT_E_PARSE, "expected %"},
    {"mbarrier.init %3[0] %8", SETT_E_DTYPE, "operand 2 is 1 of i64: it must be one i32"},
    {"mbarrier.init %3[0] %4", SETT_E_SPACE, "operand 2 is not one i32"},
    {"mbarrier.init %3[0] %5 pred %6", SETT_E_PARSE, "the line should end here"},
    {"%20 = const i32 0\nmbarrier.init %3[0] %20", SETT_E_RANGE, "a count is 1 to 1048575"},
    {"%20 = const i32 1048576\nmbarrier.arrive %3[0] count %20", SETT_E_RANGE, "a count is 1 to 1048575"},
    {"%20 = const i32 1048576\nmbarrier.expect_tx %3[0] %20", SETT_E_RANGE, "at most 1048575 bytes are expected"},
    {"mbarrier.arrive %3[0] pred %0", SETT_E_DTYPE, "operand 3 is 1 of i32: it must be one i1"},
    {"mbarrier.arrive %3[0] scope=gpu", SETT_E_PARSE, "there is no such scope"},
    {"%20 = mbarrier.try_wait i32 %3[0] %5", SETT_E_VERIFY, "the result must be i1"},
    {"mbarrier.try_wait %3[0] %5", SETT_E_PARSE, "mbarrier.try_wait has a result"},
    {"%20 = load u64 %3[0] align 8", SETT_E_SPACE, "operand 0 is mbarriers, which only mbarrier operations touch"},
    {"%20 = load u64 %1[0] align 8\nstore %3[0] u64 %20 align 8", SETT_E_SPACE, "operand 0 is mbarriers"},
    {"%20 = load u64 %1[0] align 8\n%21 = atom.add u64 %3[0] %20", SETT_E_SPACE, "operand 0 is mbarriers"},
    {"cp.async %3[0] %1[0] bytes=8 of=8", SETT_E_SPACE, "it copies global memory to shared memory"},
    {"%20 = ldmatrix f16x2 %3[0]", SETT_E_SPACE, "operand 0 is not shared memory"},
    {"%20 = smem u64x4 at 4 mbarrier", SETT_E_ALIGN, "mbarriers are u64 at multiples of 8"},
    {"%20 = smem f32x4 at 28", SETT_E_VERIFY, "it has bytes of %3, which are mbarriers"},
    {"%20 = smem u8x1 at 0", SETT_E_VERIFY, "it has bytes of %3, which are mbarriers"},
    {"%20 = smem u64x1 at 48 mbarrier\n%21 = smem u8x17 at 32", SETT_E_VERIFY, "are mbarriers"},
    {"%20 = peer f32x32 %4, %5\n%21 = load f32 %20[32] align 4", SETT_E_RANGE, "elements 32 to 32 are not in %9"},
    {"%20 = peer f32x32 %4, %5\n%21 = load f32 %20[1] align 8", SETT_E_ALIGN, "offset 1 is not aligned to 8 bytes"},
    {"%20 = const i32 2\n%21 = mbarrier.try_wait i1 %3[0] %20", SETT_E_RANGE, "a parity is 0 or 1"},
    {"%20 = const i32 -1\n%21 = mbarrier.test_wait i1 %3[0] %20", SETT_E_RANGE, "a parity is 0 or 1"},
    {"%20 = const i32 -1\n%21 = peer f32x32 %4, %20", SETT_E_RANGE, "a rank in the cluster is 0 to "},
    {"%20 = const i32 16\n%21 = peer f32x32 %4, %20", SETT_E_RANGE, "a rank in the cluster is 0 to "},
    {"%20 = peer f32x16 %4, %5", SETT_E_VERIFY, "the result must be f32x32"},
    {"%20 = peer u8x4096 %1, %5", SETT_E_SPACE, "operand 0 is not shared memory"},
    {"%20 = peer f32x32 %4, %8", SETT_E_DTYPE, "operand 1 is i64, not i32"},
    {"%20 = peer f32x32 %4", SETT_E_VERIFY, "it takes 2 operands, not 1"},
    {"%20 = peer f32x32 %4, %5\nmbarrier.arrive %20[0] scope=cluster", SETT_E_SPACE, "operand 0 is not an mbarrier or an mbarrier of a peer"},
    {"%20 = peer u64x4 %3, %5\nmbarrier.arrive %20[0]", SETT_E_VERIFY, "what is done at a peer has scope=cluster"},
    {"%20 = peer u64x4 %3, %5\nmbarrier.init %20[0] %5", SETT_E_SPACE, "operand 0 is not an mbarrier"},
    {"%20 = peer u64x4 %3, %5\n%21 = mbarrier.try_wait i1 %20[0] %5", SETT_E_SPACE, "operand 0 is not an mbarrier"},
    {"%20 = peer u64x4 %3, %5\n%21 = load u64 %20[0] align 8", SETT_E_SPACE, "operand 0 is mbarriers"},
    {"%20 = peer f32x32 %4, %5\ncp.async %20[0] %1[0] bytes=4 of=4", SETT_E_SPACE, "it copies global memory to shared memory"},
    {"%20 = gmem f32x4 %8 align=4", SETT_E_DTYPE, "operand 0 is i64, not u64"},
    {"%20 = addr u64 X\n%21 = gmem f32x4 %20", SETT_E_VERIFY, "it needs the attribute align="},
    {"%20 = addr u64 X\n%21 = gmem f32x4 %20 align=12", SETT_E_RANGE, "align 12 is not a power of two"},
    {"%20 = addr u64 X\n%21 = gmem f32x4 %20 align=4\n%22 = load f32x4 %21[0] align 16", SETT_E_ALIGN, "%10 is aligned to 4 bytes"},
    {"%20 = addr u64 X\n%21 = gmem f32x4 %20 align=4\n%22 = load f32x4 %21[1] align 4", SETT_E_RANGE, "elements 1 to 4 are not in %10"},
    {"%20 = addr u64 X\n%21 = gmem i32x4 %20 align=4 access=read\nstore %21[0] i32 %5 align 4", SETT_E_VERIFY, "the root is not declared as written"},
    {"%20 = addr u64 X\n%21 = gmem i32x4 %20 align=4 access=write\n%22 = atom.add i32 %21[0] %5", SETT_E_VERIFY, "the root is not declared as read and written"},
    {"if %6 {\n%20 = cluster_ctarank i32\n}", SETT_E_REGION, "it belongs outside of all regions"},
    {"%20 = cluster_ctaid i32 dim=w", SETT_E_PARSE, "there is no such dim"},
    {"%20 = cluster_ctaid u32", SETT_E_VERIFY, "the result must be i32"},
    {"fence.proxy", SETT_E_VERIFY, "it needs the attribute kind="},
    {"fence.proxy kind=async scope=sys", SETT_E_VERIFY, "only a tensor map's fence has a scope"},
    {"fence.proxy kind=tensormap.acquire", SETT_E_VERIFY, "it needs the map that it acquires"},
    {"fence.proxy map %1[0] kind=tensormap.release", SETT_E_VERIFY, "only tensormap.acquire names a map"},
    {"fence.proxy map %1[0] kind=tensormap.acquire", SETT_E_ALIGN, "%1 is aligned to 16 bytes"},
    {"setmaxnreg count=40", SETT_E_VERIFY, "it needs the attribute way="},
    {"setmaxnreg way=inc count=41", SETT_E_RANGE, "count 41 is not a multiple of 8"},
    {"setmaxnreg way=inc count=264", SETT_E_RANGE, "count 264 is not 24 to 256"},
    {"setmaxnreg way=dec count=16", SETT_E_RANGE, "count 16 is not 24 to 256"},
    {"%20 = smem i64x4 at 8 mbarrier", SETT_E_ALIGN, "mbarriers are u64 at multiples of 8"},
};

START_TEST(wrong_tapes)
{
    char text[2048];
    snprintf(text, sizeof text, "%s%s\n", HEAD, wrong[_i].lines);
    lines_refused(text, &wrong[_i]);
}
END_TEST

/* What a target has not is refused by name. */
static const struct {
    const char *line, *target, *text;
} missing[] = {
    {"mbarrier.init %3[0] %5", "sm_75", "mbarrier.init needs sm_80"},
    {"mbarrier.arrive %3[0] count %5", "sm_86", "mbarrier.arrive needs sm_90"},
    {"mbarrier.arrive %3[0] scope=cluster", "sm_80", "mbarrier.arrive needs sm_90"},
    {"mbarrier.expect_tx %3[0] %5", "sm_89", "mbarrier.expect_tx needs sm_90"},
    {"%20 = mbarrier.try_wait i1 %3[0] %5", "sm_75", "mbarrier.try_wait needs sm_80"},
    {"%20 = mbarrier.try_wait i1 %3[0] %5 scope=cluster", "sm_80", "mbarrier.try_wait needs sm_90"},
    {"%20 = mbarrier.test_wait i1 %3[0] %5 scope=cluster", "sm_80", "mbarrier.test_wait needs sm_90"},
    {"%20 = peer f32x32 %4, %5", "sm_89", "peer needs sm_90"},
    {"%20 = cluster_ctarank i32", "sm_86", "cluster_ctarank needs sm_90"},
    {"cluster.arrive", "sm_80", "cluster.arrive needs sm_90"},
    {"fence scope=cluster", "sm_80", "fence needs sm_90"},
    {"%20 = addr u64 D\n%21 = gmem i32x4 %20 align=4\n%22 = atom.add i32 %21[0] %5 scope=cluster", "sm_80", "atom needs sm_90"},
    {"fence.proxy kind=async", "sm_80", "fence.proxy needs sm_90"},
    {"setmaxnreg way=dec count=24", "sm_80", "setmaxnreg needs sm_90"},
    {"setmaxnreg way=dec count=24", "sm_90", "only a target with a suffix has it, as sm_90a, not sm_90"},
};

START_TEST(missing_on_a_target)
{
    char text[2048];
    sett_error err = {0};
    sett__tape t;
    snprintf(text, sizeof text, "%s%s\n", HEAD, missing[_i].line);
    ck_assert_msg(!sett__tape_parse(&t, text, &err), "%s", err.text);
    ck_assert_int_eq(sett__tape_verify(&t, missing[_i].target, &err), SETT_E_TARGET);
    ck_assert_msg(strstr(err.text, missing[_i].text), "%s", err.text);
    sett__tape_free(&t);
}
END_TEST

/* ---- the signature ---------------------------------------------------------------------------- */
static const wrong_lines signatures[] = {
    {"grid 4\ncluster 3", SETT_E_DIVIDE, "grid: extent 0 is 4, which is not a multiple of the cluster's, 3"},
    {"grid 4\ncluster 2, 2", SETT_E_DIVIDE, "grid: extent 1 is 1, which is not a multiple of the cluster's, 2"},
    {"grid 32\ncluster 16", SETT_E_LIMIT, "a cluster of 16 blocks: more than 8 need `launch big_cluster`"},
    {"grid 34\ncluster 17\nlaunch big_cluster", SETT_E_LIMIT, "cluster: extent 0 is 17, not 1 to 16"},
    {"grid 8, 4\ncluster 8, 4\nlaunch big_cluster", SETT_E_LIMIT, "cluster: more than 16 in all"},
    {"launch max_registers 256", SETT_E_LIMIT, "max_registers 256, min_blocks 0: at most 255 and 32"},
    {"launch min_blocks 33", SETT_E_LIMIT, "max_registers 0, min_blocks 33: at most 255 and 32"},
    {"sym N\nblock N\nlaunch min_blocks 2", SETT_E_VERIFY, "min_blocks needs a block of constant extents"},
    {"block 128\n\nsetmaxnreg way=dec count=24", SETT_E_VERIFY, "it needs `launch max_registers` or `launch min_blocks`"},
    {"launch cooperative\nlaunch cooperative", SETT_E_PARSE, "it is given twice"},
    {"launch soon", SETT_E_PARSE, "the line should end here"},
};

START_TEST(wrong_signatures)
{
    char text[512];
    snprintf(text, sizeof text, "sett tape 2\n%s\n", signatures[_i].lines);
    tape_refused(text, signatures[_i].status, signatures[_i].why);
}
END_TEST

START_TEST(launch_hints)
{
    static const char text[] = "sett tape 2\ngrid 32\nblock 128\ncluster 16\nlaunch cooperative big_cluster max_registers 168 min_blocks 2\n\n";
    sett_error err = {0};
    sett__arena arena = {.mem = NULL};
    sett__tape t;
    sett__sig s;
    void *bytes;
    size_t n;
    tape_comes_back(text);
    ck_assert_msg(!sett__tape_parse(&t, text, &err), "%s", err.text);
    ck_assert(!sett__sig_write(&t.sig, NULL, &bytes, &n, NULL) && !sett__sig_read(&s, &arena, bytes, n, NULL));
    ck_assert(s.cooperative && s.big_cluster && s.max_registers == 168 && s.min_blocks == 2);
    free(bytes);
    sett__arena_free(&arena);
    sett__tape_free(&t);
    if (!have_compiler())
        return;
    sett_engine *e = tapes_engine();
    tape_gives(e, text, "sm_90a", "CHECK: .reqntid 128\nCHECK: .minnctapersm 2\nCHECK: .maxnreg 168\nCHECK: .reqnctapercluster 16");
    sett_engine_close(e);
}
END_TEST

Suite *sync_suite(void)
{
    Suite *s = suite_create("sync");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, forms_are_well_formed, 0, SETT__N_CODES);
    tcase_add_loop_test(t, lowered, 0, (int)SETT__COUNT(given));
    tcase_add_loop_test(t, wrong_tapes, 0, (int)SETT__COUNT(wrong));
    tcase_add_loop_test(t, missing_on_a_target, 0, (int)SETT__COUNT(missing));
    tcase_add_loop_test(t, wrong_signatures, 0, (int)SETT__COUNT(signatures));
    tcase_add_test(t, launch_hints);
    suite_add_tcase(s, t);
    return s;
}
