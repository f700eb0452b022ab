/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of the bulk engine: what they compile to, what is refused, and the programs that use them. Maps as parameters: test_maps. */
#include "tests/rig/rig.h"
#include "tests/rig/tapes.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>

#define HEAD \
    "sett tape 2\nparam X f32 (4096):(1) align 128 read\nparam D f32 (4096):(1) align 128 read write\nparam Y f32 (4096):(1) align 8 read\n" \
    "map m2 X f32 (64,64) bytes (256) box (32,8) swizzle 128\nmap m1 D f32 (4096) box (64)\nmap m3 D u32 (16,16,16) bytes (64,1024) box (16,4,2)\n" \
    "map m4 X f32 (16,16,16,1) bytes (64,1024,0) box (16,1,1,1)\nmap m5 X f32 (16,4,4,16,1) bytes (64,256,1024,0) box (8,1,1,1,1)\n" \
    "map i8 D i8 (4096) box (64)\nmap f64 D f64 (2048) box (64)\nmap i64 D i64 (2048) box (64)\n" \
    "%s\nblock 128\nsmem 32768 align %d\n\n" \
    "%%0 = tid.x i32\n%%1 = param f32 X\n%%2 = param f32 D\n%%3 = smem f32x4096 at 0\n%%4 = smem u64x4 at 16384 mbarrier\n%%5 = tmap f32 m2\n" \
    "%%6 = tmap f32 m1\n%%7 = tmap u32 m3\n%%8 = const i32 0\n%%9 = const i32 256\n%%10 = lt i1 %%0, %%9\n%%11 = const i32 3\n" \
    "%%12 = policy u64 kind=evict_first\n%%13 = tmap f32 m4\n%%14 = tmap f32 m5\n%%15 = tmap.at u64 %%1[64]\n%%16 = param f32 Y\n" \
    "%%17 = tmap i8 i8\n%%18 = tmap f64 f64\n%%19 = tmap i64 i64\n%%20 = smem f16x128 at 17408\n%%21 = smem u8x256 at 17664\n"

#define PEERS "%30 = peer f32x4096 %3, %8\n%31 = peer u64x4 %4, %8\n"

static const char *tape_text(char *buf, size_t size, const char *cluster, int align, const char *lines)
{
    int n = snprintf(buf, size, HEAD, cluster, align);
    snprintf(buf + n, size - (size_t)n, "%s\n", lines);
    return buf;
}

/* ---- what they give ------------------------------------------------------------------------- */
#define TENSOR "cp.async.bulk.tensor"
#define G2S ".shared::cluster.global.mbarrier::complete_tx::bytes"
static const struct {
    const char *lines, *checks;
} given[] = {
    {"tma.load %3[0] from %5 done %4[1] at %8, %9", "CHECK: " TENSOR ".2d" G2S " [%r{{*}}], [%rd{{*}}, {%r{{*}}, %r{{*}}}], [%r{{*}}];"},
    {"tma.load %3[%0 + 64] from %6 done %4[0] at %8", "CHECK: " TENSOR ".1d" G2S " [%r{{*}}], [%rd{{*}}, {%r{{*}}}], [%r{{*}}];"},
    {"tma.load %3[0] from %7 done %4[0] pred %10 mask %11 policy %12 at %8, %9, %0",
        "CHECK: createpolicy.fractional.L2::evict_first.b64 %rd{{*}}, 1.00;\nCHECK: bra\nCHECK: " TENSOR ".3d" G2S
        ".multicast::cluster.L2::cache_hint [%r{{*}}], [%rd{{*}}, {%r{{*}}, %r{{*}}, %r{{*}}}], [%r{{*}}], %rs{{*}}, %rd{{*}};"},
    {"tma.load %3[0] from %13 done %4[0] policy %12 at %8, %9, %0, %0", "CHECK: " TENSOR ".4d" G2S ".L2::cache_hint [%r{{*}}], [%rd{{*}}, {%r{{*}}}], [%r{{*}}], %rd{{*}};"},
    {"tma.load %3[0] from %14 done %4[0] mask %11 at %8, %9, %0, %0, %8", "CHECK: " TENSOR ".5d" G2S ".multicast::cluster ["},
    {"tma.load %3[0] from %15 done %4[0] at %8, %9", "CHECK: cvta.global.u64\nCHECK: " TENSOR ".2d" G2S " ["},
    {"tma.store %3[0] to %6 at %0", "CHECK: " TENSOR ".1d.global.shared::cta.tile.bulk_group [%rd{{*}}, {%r{{*}}}], ["},
    {"tma.store %3[0] to %7 pred %10 policy %12 at %0, %8, %9", "CHECK: bra\nCHECK: " TENSOR ".3d.global.shared::cta.tile.bulk_group.L2::cache_hint [%rd"},
    {"tma.reduce %3[0] to %6 at %0 op=add", "CHECK: cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group ["},
    {"tma.reduce %3[0] to %7 policy %12 at %0, %8, %9 op=min", "CHECK: cp.reduce.async.bulk.tensor.3d.global.shared::cta.min.tile.bulk_group.L2::cache_hint ["},
    {"tma.reduce %3[0] to %19 at %0 op=max", "CHECK: cp.reduce.async.bulk.tensor.1d.global.shared::cta.max.tile.bulk_group ["},
    {"tma.prefetch %5 at %8, %9", "CHECK: cp.async.bulk.prefetch.tensor.2d.L2.global.tile ["},
    {"tma.prefetch %6 pred %10 policy %12 at %8", "CHECK: bra\nCHECK: cp.async.bulk.prefetch.tensor.1d.L2.global.tile.L2::cache_hint ["},
    {"tma.prefetch_map %5\ntma.prefetch_map %15 pred %10", "NOT: prefetch.param\nCHECK: prefetch.tensormap [%rd\nNOT: prefetch\nCHECK: bra\nCHECK: prefetch.tensormap [%rd\nNOT: prefetch\nCHECK: ret"},
    {"bulk.load %3[4] from %1[%0 + 4] done %4[2] bytes %9", "CHECK: cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r{{*}}], [%rd{{*}}], %r{{*}}, [%r{{*}}];"},
    {"bulk.load %3[0] from %1[0] done %4[0] bytes %9 pred %10 mask %11 policy %12",
        "CHECK: cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [%r{{*}}], [%rd{{*}}], %r{{*}}, [%r{{*}}], %rs{{*}}, %rd{{*}};"},
    {"bulk.store %2[%0] from %3[4] bytes %9 policy %12", "CHECK: cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint ["},
    {"bulk.reduce %2[0] from %3[0] bytes %9 pred %10 op=add", "CHECK: cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd{{*}}], [%r{{*}}], %r{{*}};"},
    {"bulk.reduce %2[0] from %3[0] bytes %9 policy %12 op=add", "CHECK: cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.add.f32 [%rd{{*}}], [%r{{*}}], %r{{*}}, %rd{{*}};"},
    {"bulk.commit\nbulk.wait\nbulk.wait pending=2 read", "CHECK: cp.async.bulk.commit_group;\nCHECK: cp.async.bulk.wait_group 0;\nCHECK: cp.async.bulk.wait_group.read 2;"},
    {"%30 = policy u64 kind=evict_last percent=50\ntma.store %3[0] to %6 policy %30 at %0", "CHECK: createpolicy.fractional.L2::evict_last.b64 %rd{{*}}, 0.50;"},
    {"%30 = const u64 64\ntensormap.replace %21[0] with %30 field=address", "CHECK: tensormap.replace.tile.global_address.shared::cta.b1024.b64 ["},
    {"tensormap.replace %21[64] with %0 field=rank", "CHECK: tensormap.replace.tile.rank.shared::cta.b1024.b32 ["},
    {"%30 = const i32 5\ntensormap.replace %21[0] with %30 field=rank\ntensormap.replace %21[64] with %11 field=rank",
        "CHECK: mov.b32 %r{{*}}, 4;\nCHECK: tensormap.replace.tile.rank.shared::cta.b1024.b32 [\nCHECK: mov.b32 %r{{*}}, 2;\nCHECK: tensormap.replace.tile.rank.shared::cta.b1024.b32 ["},
    {"tensormap.replace %2[%0 + 32] with %0 field=extent ordinal=4", "CHECK: tensormap.replace.tile.global_dim.global.b1024.b32 [%rd{{*}}], 4, %r"},
    {"%30 = const u64 64\ntensormap.replace %21[0] with %30 field=stride ordinal=3", "CHECK: tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [{{*}}], 3, "},
    {"tensormap.replace %21[0] with %9 field=box\ntensormap.replace %21[0] with %11 field=step ordinal=1",
        "CHECK: tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [\nCHECK: tensormap.replace.tile.element_stride.shared::cta.b1024.b32 ["},
    {"tensormap.replace %21[0] with %8 field=type\ntensormap.replace %21[0] with %11 field=swizzle\ntensormap.replace %21[0] with %8 field=fill",
        "CHECK: tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [{{*}}], 0;\nCHECK: tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [{{*}}], 3;\n"
        "CHECK: tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [{{*}}], 0;"},
    {"tmap.copy %21[0] from %5", "CHECK: ld.param.v2.b64{{*}}, [kernel_param_3+112];\nCHECK: st.shared.v2.b64 [smem+17776], {"},
    {"tmap.copy %2[%0] from %15", "CHECK: ld.global.v2.b64{{*}}, [%rd{{*}}+368];\nCHECK: st.global.v2.b64 [%rd{{*}}+112], {"},
    {"%30 = peer f32x4096 %3, %8\n%31 = peer u64x4 %4, %8\nbulk.peer %30[4] from %3[0] done %31[1] bytes %9 pred %10", "CHECK: bra\nCHECK: cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes ["},
    {"%30 = addr u64 X\n%31 = gmem f32x64 %30 align=16\nbulk.load %3[0] from %31[0] done %4[0] bytes %9", "CHECK: cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes ["},
    {PEERS "st.async %30[%0] done %31[1] i32 %0", "CHECK: st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r{{*}}], %r{{*}}, [%r{{*}}];"},
    {PEERS "%32 = load f32x4 %1[0] align 16\nst.async %30[4] done %31[0] f32x4 %32 pred %10", "CHECK: bra\nCHECK: st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r{{*}}], {%r"},
    {PEERS "%32 = load f64x2 %1[0] align 16\nst.async %30[4] done %31[0] f64x2 %32", "CHECK: st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b64 [%r{{*}}], {%rd"},
    {PEERS "st.async %30[2] done %31[0] u64 %12", "CHECK: st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [%r{{*}}], %rd"},
};

START_TEST(lowered)
{
    char text[4096];
    tape_comes_back(tape_text(text, sizeof text, "grid 2\ncluster 2", 1024, given[_i].lines));
    if (!have_compiler())
        return;
    sett_engine *e = tapes_engine();
    tape_gives(e, text, "sm_90a", given[_i].checks);
    sett_engine_close(e);
}
END_TEST

/* ---- reductions: each type of bytes assembles ----------------------------------------------------- */
static const struct {
    sett_dtype dtype;
    const char *ops; /* that it has: a of add, m of min and max */
    const char *add;
} reductions[] = {{SETT_U32, "am", "add.u32"}, {SETT_I32, "am", "add.s32"}, {SETT_U64, "am", "add.u64"}, {SETT_I64, "m", ""}, {SETT_F16, "am", "add.noftz.f16"},
    {SETT_BF16, "am", "add.noftz.bf16"}, {SETT_F32, "a", "add.f32"}, {SETT_F64, "a", "add.f64"}, {SETT_I8, "", ""}, {SETT_U16, "", ""}, {SETT_TF32, "", ""}};

START_TEST(reductions_of_bytes)
{
    char text[1024], check[100], want[60];
    const char *type = sett_dtype_name(reductions[_i].dtype);
    sett_engine *e = have_compiler() ? tapes_engine() : NULL;
    for (int op = 0; op < 3; op++) {
        sett_error err = {0};
        sett__tape t;
        bool has = strchr(reductions[_i].ops, op ? 'm' : 'a');
        snprintf(text, sizeof text, "sett tape 2\nparam D %s (64):(1) align 16 write\nblock 32\nsmem 512 align 16\n\n%%0 = param %s D\n%%1 = smem %sx64 at 0\n"
            "%%2 = const i32 64\nbulk.reduce %%0[0] from %%1[0] bytes %%2 op=%s\n", type, type, type, sett__reduce_word[op]);
        snprintf(check, sizeof check, "CHECK: bulk_group.%s", op ? sett__reduce_word[op] : reductions[_i].add);
        snprintf(want, sizeof want, "bulk.reduce has no %s of %s", sett__reduce_word[op], type);
        sett_status s = sett__tape_parse(&t, text, &err);
        ck_assert_msg(s == (has ? SETT_OK : SETT_E_DTYPE) && (has || strstr(err.text, want)), "%s: %s", text, err.text);
        sett__tape_free(&t);
        if (has && e)
            tape_gives(e, text, "sm_90a", check);
    }
    if (e)
        sett_engine_close(e);
}
END_TEST

/* ---- refusals --------------------------------------------------------------------------------- */
static const wrong_lines wrong[] = {
    {"tma.load %3[0] from %5 done %4[0] at %8", SETT_E_RANK, "1 coordinates, and map m2 has 2 modes"},
    {"tma.load %3[0] from %6 done %4[0] at %8, %8", SETT_E_RANK, "2 coordinates, and map m1 has 1 modes"},
    {"tma.load %3[0] from %15 done %4[0] at %8, %8, %8, %8, %8, %8", SETT_E_RANK, "6 coordinates: a map has at most 5"},
    {"tma.load %3[0] from %5 done %4[0]", SETT_E_PARSE, "expected at"},
    {"tma.load %3[0] from %1 done %4[0] at %8", SETT_E_SPACE, "operand 2 is not a tensor map or one u64"},
    {"tma.load %3[0] from %8 done %4[0] at %8", SETT_E_SPACE, "operand 2 is not a tensor map or one u64"},
    {"tma.load %1[0] from %5 done %4[0] at %8, %8", SETT_E_SPACE, "operand 0 is not shared memory"},
    {"tma.load %4[0] from %6 done %4[0] at %8", SETT_E_SPACE, "operand 0 is not shared memory"},
    {"tma.load %3[0] from %5 done %3[0] at %8, %8", SETT_E_SPACE, "operand 3 is not an mbarrier"},
    {"tma.load %3[0] from %5 done %4[0] at %8, %12", SETT_E_DTYPE, "operand 9 is 1 of u64: it must be one i32"},
    {"tma.load %3[0] from %5 done %4[0] pred %8 at %8, %8", SETT_E_DTYPE, "operand 5 is 1 of i32: it must be one i1"},
    {"%30 = const i32 65536\ntma.load %3[0] from %5 done %4[0] mask %30 at %8, %8", SETT_E_RANGE, "a mask has a bit for each of 2 blocks: 1 to 3"},
    {"tma.load %3[0] from %5 done %4[0] mask %8 at %8, %8", SETT_E_RANGE, "a mask has a bit for each of 2 blocks: 1 to 3"},
    {"%30 = const i32 4\ntma.load %3[0] from %5 done %4[0] mask %30 at %8, %8", SETT_E_RANGE, "a mask has a bit for each of 2 blocks: 1 to 3"},
    {"%30 = const i32 2\n%31 = peer u64x4 %4, %30", SETT_E_RANGE, "a rank in the cluster is 0 to 1"},
    {"tma.load %3[0] from %5 done %4[0] policy %8 at %8, %8", SETT_E_DTYPE, "operand 7 is 1 of i32: it must be one u64"},
    {"tma.load %3[8] from %5 done %4[0] at %8, %8", SETT_E_ALIGN, "offset 8 is not aligned to the 1024 bytes that a swizzle of 128 bytes needs"},
    {"tma.load %20[0] from %6 done %4[0] at %8", SETT_OK, ""},
    {"%30 = smem f32x64 at 17472\ntma.load %30[0] from %6 done %4[0] at %8", SETT_E_ALIGN, "%22 is aligned to 64 bytes, and a box needs 128"},
    {"%30 = smem f32x1024 at 17920\ntma.load %30[0] from %5 done %4[0] at %8, %8", SETT_E_ALIGN, "%22 is aligned to 512 bytes, and a swizzle of 128 bytes needs 1024"},
    {"%30 = smem f32x32 at 18432\ntma.load %30[%0] from %6 done %4[0] at %8", SETT_E_RANGE, "a box of 256 bytes is not in %22"},
    {"tma.load %3[4064] from %6 done %4[0] at %8", SETT_E_RANGE, "a box of 256 bytes is not in %3"},
    {"%30 = const i32 -1\ntma.store %3[0] to %6 at %30", SETT_E_RANGE, "what is written begins at no coordinate below 0"},
    {"%30 = const i32 -16\ntma.reduce %3[0] to %7 at %8, %8, %30 op=add", SETT_E_RANGE, "what is written begins at no coordinate below 0"},
    {"%30 = const i32 -16\ntma.load %3[0] from %6 done %4[0] at %30", SETT_OK, ""},
    {"tma.store %3[0] to %5 at %8, %8", SETT_E_VERIFY, "parameter X is not declared as written"},
    {"tma.reduce %3[0] to %5 at %8, %8 op=add", SETT_E_VERIFY, "parameter X is not declared as written"},
    {"tma.reduce %3[0] to %6 at %8", SETT_E_VERIFY, "it needs the attribute op="},
    {"tma.reduce %3[0] to %6 at %8 op=xor", SETT_E_PARSE, "there is no such op"},
    {"tma.reduce %3[0] to %6 at %8 op=min", SETT_E_DTYPE, "tma.reduce has no min of f32"},
    {"tma.reduce %3[0] to %17 at %8 op=add", SETT_E_DTYPE, "tma.reduce has no add of i8"},
    {"tma.reduce %3[0] to %18 at %8 op=add", SETT_E_DTYPE, "tma.reduce has no add of f64"},
    {"tma.reduce %3[0] to %19 at %8 op=add", SETT_E_DTYPE, "tma.reduce has no add of i64"},
    {"tma.prefetch %5 at %8", SETT_E_RANK, "1 coordinates, and map m2 has 2 modes"},
    {"%30 = tmap f32 m9", SETT_E_PARSE, "there is no map m9"},
    {"%30 = tmap u32 m2", SETT_E_VERIFY, "the result must be f32"},
    {"%30 = load f32 %5[0] align 4", SETT_E_SPACE, "operand 0 is a tensor map: copies alone take it"},
    {"store %5[0] i32 %8 align 4", SETT_E_SPACE, "operand 0 is a tensor map"},
    {"%30 = add i32 %5, %8", SETT_E_VERIFY, "operand 0 is memory"},
    {"%30 = tmap.at u64 %1[8]", SETT_E_ALIGN, "offset 8 is not aligned to the 64 bytes that a map needs"},
    {"%30 = tmap.at u64 %16[0]", SETT_E_ALIGN, "%16 is aligned to 8 bytes, and a map needs 64"},
    {"%30 = tmap.at u64 %3[0]", SETT_E_SPACE, "operand 0 is not global memory"},
    {"bulk.load %3[0] from %16[0] done %4[0] bytes %9", SETT_E_ALIGN, "%16 is aligned to 8 bytes, and a copy in bulk needs 16"},
    {"bulk.load %3[1] from %1[0] done %4[0] bytes %9", SETT_E_ALIGN, "offset 1 is not aligned to the 16 bytes"},
    {"bulk.load %3[0] from %1[2] done %4[0] bytes %9", SETT_E_ALIGN, "offset 2 is not aligned to the 16 bytes"},
    {"bulk.load %3[0] from %1[0] done %4[0] bytes %11", SETT_E_RANGE, "a copy in bulk has a multiple of 16 bytes, less than 2^20"},
    {"%30 = const i32 1048576\nbulk.load %3[0] from %1[0] done %4[0] bytes %30", SETT_E_RANGE, "a multiple of 16 bytes, less than 2^20"},
    {"bulk.load %3[4080] from %1[0] done %4[0] bytes %9", SETT_E_RANGE, "a copy of 256 bytes is not in %3"},
    {"bulk.load %3[0] from %3[0] done %4[0] bytes %9", SETT_E_SPACE, "operand 2 is not global memory"},
    {"bulk.store %1[0] from %3[0] bytes %9", SETT_E_VERIFY, "parameter X is not declared as written"},
    {"bulk.reduce %2[0] from %20[0] bytes %9 op=add", SETT_E_DTYPE, "it has one type, not f16 in shared memory and f32 in global memory"},
    {"bulk.wait pending=256", SETT_E_RANGE, "pending 256 is not 0 to 255"},
    {"%30 = policy u64", SETT_E_VERIFY, "it needs the attribute kind="},
    {"%30 = policy u64 kind=evict_first percent=101", SETT_E_RANGE, "percent 101 is not 1 to 100"},
    {"%30 = policy i32 kind=evict_first", SETT_E_VERIFY, "the result must be u64"},
    {"tensormap.replace %21[0] with %8 field=address", SETT_E_DTYPE, "field address takes one u64"},
    {"tensormap.replace %21[0] with %12 field=extent", SETT_E_DTYPE, "field extent takes one i32"},
    {"tensormap.replace %21[0] with %12 field=stride ordinal=4", SETT_E_RANGE, "field stride has no ordinal 4"},
    {"tensormap.replace %21[0] with %11 field=rank ordinal=1", SETT_E_RANGE, "field rank has no ordinal 1"},
    {"tensormap.replace %21[0] with %8 field=rank", SETT_E_RANGE, "field rank takes 1 to 5"},
    {"%30 = const i32 6\ntensormap.replace %21[0] with %30 field=rank", SETT_E_RANGE, "field rank takes 1 to 5"},
    {"tensormap.replace %21[0] with %8 field=box", SETT_E_RANGE, "field box takes 1 to 256"},
    {"%30 = const i32 9\ntensormap.replace %21[0] with %30 field=step ordinal=1", SETT_E_RANGE, "field step takes 1 to 8"},
    {"tensormap.replace %21[192] with %11 field=rank", SETT_E_RANGE, "a map of 128 bytes is not in %21"},
    {"tensormap.replace %21[32] with %11 field=rank", SETT_E_ALIGN, "offset 32 is not aligned to the 64 bytes that a map needs"},
    {"tensormap.replace %21[0] with %0 field=swizzle", SETT_E_RANGE, "field swizzle is a constant, 0 to 3"},
    {"%30 = const i32 4\ntensormap.replace %21[0] with %30 field=swizzle", SETT_E_RANGE, "field swizzle is a constant, 0 to 3"},
    {"%30 = const i32 2\ntensormap.replace %21[0] with %30 field=fill", SETT_E_RANGE, "field fill is a constant, 0 to 1"},
    {"%30 = const i32 13\ntensormap.replace %21[0] with %30 field=type", SETT_E_RANGE, "field type is a constant, 0 to 12"},
    {"tensormap.replace %21[0] with %12 field=type", SETT_E_DTYPE, "field type takes one i32"},
    {"tensormap.replace %21[0] with %8 field=fill ordinal=1", SETT_E_RANGE, "field fill has no ordinal 1"},
    {"tmap.copy %21[32] from %5", SETT_E_ALIGN, "offset 32 is not aligned to the 64 bytes that a map needs"},
    {"tmap.copy %21[192] from %5", SETT_E_RANGE, "a map of 128 bytes is not in %21"},
    {"tmap.copy %1[0] from %5", SETT_E_VERIFY, "parameter X is not declared as written"},
    {"tmap.copy %21[0] from %8", SETT_E_SPACE, "operand 2 is not a tensor map or one u64"},
    {"tensormap.replace %1[0] with %11 field=rank", SETT_E_VERIFY, "parameter X is not declared as written"},
    {"%30 = peer f32x4096 %3, %8\n%31 = peer u64x4 %4, %8\nbulk.peer %30[1] from %3[0] done %31[1] bytes %9", SETT_E_ALIGN, "offset 1 is not aligned to the 16 bytes"},
    {"%30 = peer f32x4096 %3, %8\nbulk.peer %30[0] from %3[0] done %4[1] bytes %9", SETT_E_SPACE, "operand 4 is not an mbarrier of a peer"},
    {"%30 = peer f32x4096 %3, %8\n%31 = peer u64x4 %4, %8\nbulk.peer %30[4092] from %3[0] done %31[1] bytes %9", SETT_E_RANGE, "a copy of 256 bytes is not in %22"},
    {PEERS "st.async %30[0] done %4[0] i32 %0", SETT_E_SPACE, "operand 2 is not an mbarrier of a peer"},
    {PEERS "st.async %3[0] done %31[0] i32 %0", SETT_E_SPACE, "operand 0 is not shared memory of a peer"},
    {PEERS "st.async %30[0] done %31[0] i1 %10", SETT_E_DTYPE, "it stores elements of 4 or 8 bytes, not i1"},
    {PEERS "%32 = load f16x2 %1[0] align 4\nst.async %30[0] done %31[0] f16x2 %32", SETT_E_DTYPE, "it stores elements of 4 or 8 bytes, not f16"},
    {PEERS "%32 = load f32x8 %1[0] align 32\nst.async %30[0] done %31[0] f32x8 %32", SETT_E_SHAPE, "it stores 4, 8 or 16 bytes, not 32"},
    {PEERS "%32 = load f32x2 %1[0] align 8\nst.async %30[1] done %31[0] f32x2 %32", SETT_E_ALIGN, "offset 1 is not aligned to the 8 bytes that such a store needs"},
    {PEERS "st.async %30[4096] done %31[0] i32 %0", SETT_E_RANGE, ""},
    {"%30 = addr u64 X\n%31 = gmem f32x64 %30 align=8\nbulk.load %3[0] from %31[0] done %4[0] bytes %9", SETT_E_ALIGN, "aligned to 8 bytes, and a copy in bulk needs 16"},
    {"%30 = addr u64 X\n%31 = gmem f32x32 %30 align=16\nbulk.load %3[0] from %31[0] done %4[0] bytes %9", SETT_E_RANGE, "a copy of 256 bytes is not in"},
    {"%30 = addr u64 X\n%31 = gmem f32x64 %30 align=16 access=read\nbulk.store %31[0] from %3[0] bytes %9", SETT_E_VERIFY, "the root is not declared as written"},
};

START_TEST(wrong_tapes)
{
    char text[4096];
    lines_refused(tape_text(text, sizeof text, "grid 2\ncluster 2", 1024, wrong[_i].lines), &wrong[_i]);
}
END_TEST

START_TEST(wrong_for_the_kernel)
{
    char text[4096];
    sett_error err = {0};
    sett__tape t;
    ck_assert_int_eq(sett__tape_parse(&t, tape_text(text, sizeof text, "", 512, "tma.load %3[0] from %5 done %4[0] at %8, %8"), &err), SETT_E_ALIGN);
    ck_assert_msg(strstr(err.text, "%3 is aligned to 512 bytes, and a swizzle of 128 bytes needs 1024"), "%s", err.text);
    ck_assert_int_eq(sett__tape_parse(&t, tape_text(text, sizeof text, "", 1024, "tma.load %3[0] from %5 done %4[0] mask %11 at %8, %8"), &err), SETT_E_VERIFY);
    ck_assert_msg(strstr(err.text, "a mask names blocks of a cluster, and the kernel has none"), "%s", err.text);
}
END_TEST

/* A row is stored in pieces of 16 bytes: what it has of elements must be known to be whole pieces. */
static const struct {
    const char *extent, *type;
    bool whole;
} rows[] = {{"64", "f32", true}, {"62", "f32", false}, {"62", "u64", true}, {"N", "f32", false}, {"E", "f32", true}, {"E", "f16", false}, {"E*2", "f16", true},
    {"E*2+4", "f32", true}, {"E*2+4", "f16", false}, {"N*4", "f32", true}, {"E+N", "f32", false}, {"N/4*4", "f32", true}, {"N*4/3", "f32", false}, {"E-4", "f32", true}};

START_TEST(rows_are_whole_pieces)
{
    static const char *const ops[] = {"tma.store %3[0] to %1 at %2, %2", "tma.reduce %3[0] to %1 at %2, %2 op=add", "tma.load %3[0] from %1 done %4[0] at %2, %2"};
    const char *type = rows[_i].type;
    for (int i = 0; i < 3; i++) {
        char text[1024], want[100];
        const int whole = strcmp(type, "f16") ? 4 : 8;
        sett_error err = {0};
        sett__tape t;
        snprintf(want, sizeof want, "may end within one: it needs to be a multiple of %d, by .div = %d of its symbols", whole, whole);
        snprintf(text, sizeof text, "sett tape 2\nsym N\nsym E div 4\nparam D %s (4096):(1) align 128 read write\nparam X %s (N,E):(E,1) align 16 read\n"
            "map m D %s (%s,4) bytes (1024) box (16,4)\nblock 32\nsmem 2048 align 128\n\n%%1 = tmap %s m\n%%2 = const i32 0\n%%3 = smem %sx128 at 0\n"
            "%%4 = smem u64x1 at 1024 mbarrier\n%s\n", type, type, type, rows[_i].extent, type, type, ops[i]);
        sett_status s = sett__tape_parse(&t, text, &err);
        bool fine = rows[_i].whole || i == 2;
        ck_assert_msg(s == (fine ? SETT_OK : SETT_E_ALIGN) && (fine || (strstr(err.text, "extent 0 of map m, ") && strstr(err.text, want))), "%s: %s", ops[i], err.text);
        sett__tape_free(&t);
    }
}
END_TEST

/* What a target has not is refused by name. */
static const struct {
    const char *line, *target, *text;
} missing[] = {
    {"tma.load %3[0] from %5 done %4[0] at %8, %8", "sm_80", "needs sm_90"},
    {"bulk.commit", "sm_89", "needs sm_90"},
    {"tensormap.replace %21[0] with %11 field=rank", "sm_90", "only a target with a suffix has it, as sm_90a, not sm_90"},
};

START_TEST(missing_on_a_target)
{
    char text[4096];
    sett_error err = {0};
    sett__tape t;
    ck_assert_msg(!sett__tape_parse(&t, tape_text(text, sizeof text, "", 1024, missing[_i].line), &err), "%s", err.text);
    ck_assert_int_eq(sett__tape_verify(&t, missing[_i].target, &err), SETT_E_TARGET);
    ck_assert_msg(strstr(err.text, missing[_i].text), "%s", err.text);
    sett__tape_free(&t);
}
END_TEST

Suite *tma_suite(void)
{
    Suite *s = suite_create("tma");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, lowered, 0, (int)SETT__COUNT(given));
    tcase_add_loop_test(t, reductions_of_bytes, 0, (int)SETT__COUNT(reductions));
    tcase_add_loop_test(t, wrong_tapes, 0, (int)SETT__COUNT(wrong));
    tcase_add_loop_test(t, rows_are_whole_pieces, 0, (int)SETT__COUNT(rows));
    tcase_add_test(t, wrong_for_the_kernel);
    tcase_add_loop_test(t, missing_on_a_target, 0, (int)SETT__COUNT(missing));
    suite_add_tcase(s, t);
    return s;
}
