/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors as views: starts, layouts, fragments, texts, misuse. */
#define SETT_SHORT
#include "lib/print/print.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>

static sett_build *b;

static void open_build(void)
{
    b = sett__build_new(NULL, true);
    ck_assert_ptr_nonnull(b);
}

static void close_build(void)
{
    sett_build_end(b, NULL);
}

static void fine(void)
{
    const char *text;
    sett_status status = sett_build_status(b, &text);
    ck_assert_msg(status == SETT_OK, "%s", text);
}

static void shows(const sett_tensor *t, const char *want)
{
    char text[300];
    sett_tensor_str(t, text, sizeof text);
    ck_assert_str_eq(text, want);
}

static void starts(const sett_tensor *t, const char *want)
{
    char text[300];
    sett_arg_str(t->offset, text, sizeof text);
    ck_assert_str_eq(text, want);
}

static sett_tensor *memory(const char *layout)
{
    char name[16] = "A";
    if (b->sig.n_param)
        snprintf(name, sizeof name, "A%u", b->sig.n_param);
    return sett_param(b, name, SETT_F32, sett_layout_parse(b, layout), .align = 16);
}

static sett_tensor *coordinates(const char *shape)
{
    return sett_identity_tensor(b, sett_arg_parse(b, shape));
}

/* ---- texts (the goldens' print format) ---------------------------------------------------- */
START_TEST(texts)
{
    sett_layout *l = sett_make_layout(b, T(8, 5), T(5, 1));
    shows(sett_param(b, "A", SETT_F32, l, .align = 16), "tensor<ptr<f32, gmem, align<16>> o (8,5):(5,1)>");
    shows(sett_param(b, "B", SETT_F32, sett_make_layout(b, T(4, 6))), "tensor<ptr<f32, gmem> o (4,6):(1,4)>");
    shows(sett_make_rmem_tensor(b, SETT_F16, 2, 3), "tensor<ptr<f16, rmem, align<32>> o (2,3):(1,2)>");
    shows(sett_make_rmem_tensor(b, SETT_BOOL, 2, 3), "tensor<ptr<i8, rmem, align<32>> o (2,3):(1,2)>");
    shows(sett_make_rmem_tensor(b, SETT_F32, sett_make_layout(b, T(2, 3), T(4, 1))),
        "tensor<ptr<f32, rmem, align<32>> o (2,3):(4,1)>");
    shows(coordinates("(4,8)"), "tensor<(0,0) o (4,8):(1@0,1@1)>");
    shows(coordinates("(2,(3,4))"), "tensor<(0,(0,0)) o (2,(3,4)):(1@0,(1@0@1,1@1@1))>");
    shows(sett_slice(coordinates("(4,8)"), ALL, 3), "tensor<(0,3) o (4):(1@0)>");
    sett_tensor *tiles = sett_zipped_divide(coordinates("(4,8)"), T(2, 4));
    shows(sett_slice(tiles, T(ALL, ALL), T(1, 1)), "tensor<(2,4) o (2,4):(1@0,1@1)>"); /* the coordinates of tile (1,1) */
    shows(sett_slice(tiles, T(1, ALL), T(1, ALL)), "tensor<(3,0) o (4,2):(1@1,4@1)>");
    shows(sett_zipped_divide(coordinates("(4,8)"), T(2, 4)), "tensor<(0,0) o ((2,4),(2,2)):((1@0,1@1),(2@0,4@1))>");
    fine();
    char small[10];
    ck_assert_int_eq(sett_tensor_str(coordinates("(4,8)"), small, sizeof small), 31);
    ck_assert_str_eq(small, "tensor<(0");
    ck_assert_int_eq(sett_tensor_str(coordinates("(4,8)"), NULL, 0), 31);
}
END_TEST

/* ---- slices: layout and start --------------------------------------------------------------- */
START_TEST(coordinate_slices)
{
    /* From the goldens: shape, coordinate, layout, start. */
    static const char *const cases[][4] = {
        {"(8,3,2)", "(6,_,_)", "(3,2):(1@1,1@2)", "(6,0,0)"},
        {"((2,(8,2),5),8)", "((_,(_,_),1),_)", "(2,8,2,8):(1@0@0,1@0@1@0,1@1@1@0,1@1)", "((0,(0,0),1),0)"},
        {"(6,5,4,4,4)", "(2,3,1,_,_)", "(4,4):(1@3,1@4)", "(2,3,1,0,0)"},
        {"(3,2)", "(1,_)", "(2):(1@1)", "(1,0)"},
        {"(6,4,((3,2),3))", "(5,2,_)", "(((3,2),3)):(((1@0@0@2,1@1@0@2),1@1@2))", "(5,2,((0,0),0))"},
    };
    for (size_t i = 0; i < SETT__COUNT(cases); i++) {
        char text[200];
        sett_tensor *t = sett_slice(coordinates(cases[i][0]), sett_arg_parse(b, cases[i][1]));
        fine();
        sett_layout_str(t->layout, text, sizeof text);
        ck_assert_str_eq(text, cases[i][2]);
        starts(t, cases[i][3]);
    }
}
END_TEST

START_TEST(slices_of_memory)
{
    sett_tensor *A = memory("((4,2),8):((2,100),8)");
    starts(sett_slice(A, T(ALL, 1), 3), "124");
    starts(sett_slice(A, 5, ALL), "102"); /* an integer is colexicographic */
    starts(sett_slice(sett_slice(A, ALL, 3), T1(5)), "126");
    shows(sett_slice(A, ALL, 3), "tensor<ptr<f32, gmem, align<16>> o ((4,2)):((2,100))>");
    shows(sett_slice(A, 1, ALL), "tensor<ptr<f32, gmem, align<8>> o (8):(8)>");
    fine();
}
END_TEST

/* Alignment of a dynamic start: the gcd of the root's and of what is known to divide the offset. */
START_TEST(dynamic_starts)
{
    sett_val *t = sett_thread_idx(b, 0), *N = sett_sym(b, "N", .div = 2);
    sett_tensor *A = sett_param(b, "A", SETT_F32, sett_make_layout(b, T(64, 8, 16), T(N, 1, 8)), .align = 16);
    shows(sett_slice(A, t, ALL, 0), "tensor<ptr<f32, gmem, align<8>> o (8):(1)>");
    shows(sett_slice(A, 0, ALL, t), "tensor<ptr<f32, gmem, align<16>> o (8):(1)>");
    shows(sett_slice(A, 0, 1, t), "tensor<ptr<f32, gmem> o ():()>");
    sett_arg base = sett_slice(A, 0, 1, t)->offset, once = sett_slice(A, 0, 0, t)->offset;
    int64_t constant;
    ck_assert_ptr_eq(sett__peel(b, base, &constant).u.v, once.u.v);
    ck_assert_int_eq(constant, 1);
    fine();
}
END_TEST

/* ---- tiles and partitions ----------------------------------------------------------------------- */
START_TEST(tiles)
{
    sett_tensor *c = sett_local_tile(coordinates("(256,96)"), T(32, 8), T(6, 2));
    shows(c, "tensor<(192,16) o (32,8):(1@0,1@1)>");
    c = sett_local_tile(coordinates("(256,96)"), T(32, 8), T(6, ALL));
    shows(c, "tensor<(192,0) o (32,8,12):(1@0,1@1,8@1)>");
    c = sett_local_tile(coordinates("(256,96)"), T(32, 8), T1(6)); /* the rest is _ */
    shows(c, "tensor<(192,0) o (32,8,12):(1@0,1@1,8@1)>");
    sett_tensor *A = memory("(256,128):(128,1)");
    starts(sett_local_tile(A, T(64, 32), T(1, 2)), "8256");
    sett_val *m = sett_block_idx(b, 0);
    sett_tensor *t = sett_local_tile(A, T(64, 32), T(m, ALL));
    shows(t, "tensor<ptr<f32, gmem, align<16>> o (64,32,4):(128,1,32)>");
    starts(t, "?{div=8192}");
    fine();
}
END_TEST

/* One tiler and coordinate of M, N and K for three operands; one thread layout for two. */
START_TEST(projections)
{
    sett_arg tiler = sett_tuple(b, 32, 64, 8), at = sett_tuple(b, 6, 5, SETT_ALL);
    shows(sett_local_tile(coordinates("(256,96)"), tiler, at, T(1, ALL, 1)), "tensor<(192,0) o (32,8,12):(1@0,1@1,8@1)>");
    shows(sett_local_tile(coordinates("(512,96)"), tiler, at, T(ALL, 1, 1)), "tensor<(320,0) o (64,8,12):(1@0,1@1,8@1)>");
    shows(sett_local_tile(coordinates("(256,512)"), tiler, at, T(1, 1, ALL)), "tensor<(192,320) o (32,64):(1@0,1@1)>");
    sett_layout *threads = sett_row_major(b, 4, 8); /* thread 13 is (1,5) */
    shows(sett_local_partition(coordinates("(16,3)"), threads, 13, T(1, ALL)), "tensor<(1,0) o (4,3):(4@0,1@1)>");
    shows(sett_local_partition(coordinates("(16,3)"), threads, 13, T(ALL, 1)), "tensor<(5,0) o (2,3):(8@0,1@1)>");
    fine();
}
END_TEST

/* Every element goes to exactly one thread, at the thread's own coordinate. */
START_TEST(partition_covers)
{
    static const struct {
        const char *threads, *shape;
        int n;
    } cases[] = {
        {"(4,8):(8,1)", "(16,24)", 32},
        {"(4,8):(1,4)", "(16,24)", 32},
        {"((2,2),3):((1,6),2)", "(8,9)", 12},
        {"6:1", "(18)", 6},
        {"(4,2):(2,1)", "(8,4,3)", 8},
    };
    for (size_t i = 0; i < SETT__COUNT(cases); i++) {
        bool seen[512] = {false};
        sett_layout *threads = sett_layout_parse(b, cases[i].threads);
        sett_arg shape = sett_arg_parse(b, cases[i].shape);
        sett_tensor *all = sett_identity_tensor(b, shape);
        all = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, sett_shape(all)), 0);
        int64_t total = 0, size = sett_static(b, sett_size(all));
        for (int t = 0; t < cases[i].n; t++) {
            sett_tensor *mine = sett_local_partition(all, threads, t);
            int64_t n = sett_static(b, sett_size(mine));
            fine();
            total += n;
            for (int64_t k = 0; k < n; k++) {
                sett_arg at = sett_crd2idx(k, mine->layout);
                int64_t where = at.u.i + mine->offset.u.i;
                ck_assert(where >= 0 && where < size && !seen[where]);
                seen[where] = true;
            }
        }
        ck_assert_int_eq(total, size);
    }
    /* By a dynamic index: no remainder where the range makes it needless. */
    sett_block(b, 32);
    sett_tensor *t = sett_local_partition(memory("(16,24):(24,1)"), sett_row_major(b, 4, 8), sett_thread_idx(b, 0));
    shows(t, "tensor<ptr<f32, gmem> o (4,3):(96,8)>");
    for (uint32_t i = 0; i < b->n_op; i++)
        ck_assert(b->op[i].code != SETT__REM);
    fine();
}
END_TEST

START_TEST(other_views)
{
    sett_tensor *A = memory("(8,16):(16,1)");
    starts(sett_domain_offset(A, 2, 3), "35");
    starts(sett_domain_offset(sett_domain_offset(A, 2, 3), -1, 0), "19");
    shows(sett_domain_offset(A, 2, 3), "tensor<ptr<f32, gmem> o (8,16):(16,1)>");
    shows(sett_recast_tensor(A, SETT_F16), "tensor<ptr<f16, gmem, align<16>> o (8,32):(32,1)>");
    shows(sett_recast_tensor(A, SETT_I32), "tensor<ptr<i32, gmem, align<16>> o (8,16):(16,1)>");
    sett_tensor *half = sett_recast_tensor(sett_slice(A, 3, ALL), SETT_F64);
    shows(half, "tensor<ptr<f64, gmem, align<16>> o (8):(1)>");
    starts(half, "24");
    starts(sett_recast_tensor(sett_slice(A, 3, ALL), SETT_U8), "192");
    shows(
        sett_composition(A, sett_make_layout(b, T(4, 2), T(2, 8))), "tensor<ptr<f32, gmem, align<16>> o (4,2):(32,1)>");
    shows(sett_select(A, 1), "tensor<ptr<f32, gmem, align<16>> o (16):(1)>");
    shows(sett_coalesce(memory("(2,(1,6)):(1,(6,2))")), "tensor<ptr<f32, gmem, align<16>> o 12:1>");
    fine();
}
END_TEST

/* A swizzled view keeps its start inside the swizzle. */
START_TEST(swizzled_slices)
{
    sett_layout *l = sett_make_swizzled(2, 2, 3, sett_row_major(b, 16, 32));
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, l, 0);
    sett_tensor *row = sett_slice(s, 5, ALL), *block = sett_domain_offset(s, 3, 8);
    fine();
    ck_assert_int_eq(b->op[s->root].n, 512);
    starts(row, "0");
    const sett__ctx c = {b, {0}, "test"};
    for (int j = 0; j < 32; j++) {
        sett_arg x, y, z;
        ck_assert(sett__element_offset(&c, s, T(5, j), &x) && sett__element_offset(&c, row, sett_arg_i(j), &y));
        ck_assert_int_eq(x.u.i, y.u.i);
        if (j < 24 && sett__element_offset(&c, s, T(3, 8 + j), &x) && sett__element_offset(&c, block, T(0, j), &z))
            ck_assert_int_eq(x.u.i, z.u.i);
    }
    fine();
}
END_TEST

/* ---- making ----------------------------------------------------------------------------------------- */
START_TEST(fragments)
{
    /* The goldens of make_layout_like; dynamic strides sort last. */
    static const char *const cases[][2] = {
        {"(2,2,2,2):(0,2,4,1)", "(2,2,2,2):(0,2,4,1)"},
        {"8:2", "8:1"},
        {"(4,2):(4,1)", "(4,2):(2,1)"},
        {"(2,(3,4)):(1,(2,8))", "(2,(3,4)):(1,(2,6))"},
        {"((1,2),1):((7,1),0)", "((1,2),1):((0,1),0)"},
        {"((2,16,(4,4),4)):((6144,4,(768,1),64))", "((2,16,(4,4),4)):((1024,4,(256,1),64))"},
        {"(2,6,5,8,4):(5,0,1,10,80)", "(2,6,5,8,4):(5,0,1,10,80)"},
        {"(2,2,4):(20,6,1)", "(2,2,4):(8,4,1)"},
        {"(1,4,1,1):(0,1,4,1)", "(1,4,1,1):(0,1,0,0)"},
        {"(4,6,2):(6,1,24)", "(4,6,2):(6,1,24)"},
        {"((6,1)):((1,1))", "((6,1)):((1,0))"},
    };
    for (size_t i = 0; i < SETT__COUNT(cases); i++) {
        char text[200];
        sett_tensor *t = sett_make_fragment_like(memory(cases[i][0]), SETT_F16);
        fine();
        sett_layout_str(t->layout, text, sizeof text);
        ck_assert_str_eq(text, cases[i][1]);
        ck_assert_int_eq(t->dtype, SETT_F16);
    }
    sett_val *N = sett_sym(b, "N");
    sett_tensor *rows = sett_param(b, "R", SETT_I8, sett_make_layout(b, T(4, 2, 3), T(N, 3, 1)));
    shows(sett_make_fragment_like(rows, 0), "tensor<ptr<i8, rmem, align<32>> o (4,2,3):(6,3,1)>");
    shows(sett_make_fragment_like(coordinates("(4,2)"), SETT_BOOL), "tensor<ptr<i8, rmem, align<32>> o (4,2):(1,4)>");
    fine();
}
END_TEST

START_TEST(shared_memory)
{
    sett_tensor *x = sett_make_smem_tensor(b, SETT_U8, sett_row_major(b, 5), 0);
    sett_tensor *y = sett_make_smem_tensor(b, SETT_F64, sett_make_layout(b, T(4, 4), T(5, 1)), 128);
    sett_tensor *z = sett_make_smem_tensor(b, SETT_F16, sett_row_major(b, 3), 2);
    fine();
    ck_assert_int_eq(b->op[x->root].imm, 0);
    ck_assert_int_eq(b->op[y->root].imm, 128);
    ck_assert_int_eq(b->op[y->root].n, 19);
    ck_assert_int_eq(b->op[z->root].imm, 128 + 19 * 8);
    ck_assert_uint_eq(b->smem_used, 128 + 19 * 8 + 6);
    ck_assert_uint_eq(b->smem_align, 128);
}
END_TEST

START_TEST(asking)
{
    sett_tensor *t = memory("((4,2),8):((2,100),8)");
    ck_assert_int_eq(sett_rank(t), 2);
    ck_assert_int_eq(sett_depth(t), 2);
    ck_assert_int_eq(sett_static(b, sett_size(t)), 64);
    ck_assert_int_eq(sett_static(b, sett_cosize(t)), 163);
    ck_assert_int_eq(sett_tensor_dtype(t), SETT_F32);
    ck_assert_int_eq(sett_tensor_space(t), SETT_GMEM);
    sett_arg c = sett_coord_at(sett_slice(coordinates("(8,9)"), ALL, 4), 3);
    ck_assert(c.kind == SETT_NODE && c.rank == 2 && c.u.kid[0].u.i == 3 && c.u.kid[1].u.i == 4);
    fine();
}
END_TEST

/* ---- misuse ------------------------------------------------------------------------------------------- */
/* clang-format off */
static void e_range(void) { sett_slice(memory("(4,8):(8,1)"), 4, ALL); }
static void e_negative(void) { sett_slice(memory("(4,8):(8,1)"), -1, ALL); }
static void e_rank(void) { sett_slice(memory("(4,8):(8,1)"), 1, ALL, 0); }
static void e_profile(void) { sett_slice(memory("(4,8):(8,1)"), T(1, 1), ALL); }
static void e_float(void) { sett_slice(memory("(4,8):(8,1)"), sett_const(b, SETT_F32, 1.0), ALL); }
static void e_tile(void) { sett_local_tile(memory("(4,8):(8,1)"), T(2, 2), T(0, 0, 0)); }
static void e_projection(void) { sett_local_tile(memory("(4,8):(8,1)"), T(2, 2), T(0, 0), T(1, ALL, 1)); }
static void e_projection_number(void) { sett_local_tile(coordinates("(8,4)"), T(4, 2), 0, 1); }
static void e_projection_value(void) { sett_local_tile(coordinates("(8,4)"), T(4, 2), sett_sym(b, "M"), sett_sym(b, "N")); }
static void e_projection_all(void) { sett_local_tile(coordinates("(8,4)"), T(4, 2), 0, ALL); }
static void e_projection_leaf(void) { sett_local_tile(coordinates("(8,4)"), T(4, 2), T(0, 1), T(1, sett_sym(b, "N"))); }
static void e_projection_coord(void) { sett_local_tile(coordinates("(8,4)"), T(4, 2), 0, T(1, ALL)); }
static void e_projection_deep(void) { sett_local_tile(coordinates("(8,4)"), T(4, 2), T(0, 1), T(1, T(1, ALL))); }
static void e_partition_number(void) { sett_local_partition(coordinates("(8,4)"), sett_row_major(b, 4, 2), 0, 1); }
static void e_partition_rank(void) { sett_local_partition(coordinates("(8,4)"), sett_row_major(b, 4, 2), 0, T(1, ALL, 1)); }
static void e_tile_range(void) { sett_local_tile(memory("(4,8):(8,1)"), T(2, 2), T(2, 0)); }
static void e_threads(void) { sett_local_partition(memory("(4,8):(8,1)"), sett_row_major(b, sett_sym(b, "N")), 0); }
static void e_thread(void) { sett_local_partition(memory("(4,8):(8,1)"), sett_row_major(b, 4), -1); }
static void e_recast(void) { sett_recast_tensor(sett_domain_offset(memory("(4,8):(8,1)"), 0, 1), SETT_F64); }
static void e_recast_crd(void) { sett_recast_tensor(coordinates("(4,8)"), SETT_F64); }
static void e_narrow(void)
{
    sett_tensor *t = sett_make_rmem_tensor(b, SETT_I4, 8);
    sett_recast_tensor(sett_domain_offset(t, 1), SETT_U8);
}
static void e_dtype(void) { sett_make_rmem_tensor(b, (sett_dtype)99, 8); }
static void e_rmem_dynamic(void) { sett_make_rmem_tensor(b, SETT_F32, sett_sym(b, "N")); }
static void e_rmem_many(void) { sett_make_rmem_tensor(b, SETT_F32, 70000); }
static void e_smem_dynamic(void)
{
    sett_layout *l = sett_make_layout(b, T(8, sett_sym(b, "N")));
    sett_make_smem_tensor(b, SETT_F32, sett_make_composed_layout(sett_make_layout(b, T(8, 8), T(8, 1)), 0, l), 0);
}
static void e_smem_thread(void)
{
    sett_block(b, 32);
    sett_make_smem_tensor(b, SETT_F32, sett_thread_idx(b, 0), 0);
}
static void e_smem_align(void) { sett_make_smem_tensor(b, SETT_F32, sett_row_major(b, 4), 24); }
static void e_tile_zero(void) { sett_local_tile(memory("(4,8):(8,1)"), T1(0), T1(0)); }
static void e_threads_rank(void)
{
    sett_local_partition(memory("32:1"), sett_row_major(b, 4, 8), sett_thread_idx(b, 0));
}
static void e_smem_large(void)
{
    sett_make_smem_tensor(b, SETT_F32, sett_row_major(b, 1024), 0);
    sett_make_smem_tensor(b, SETT_F32, sett_row_major(b, 1 << 18), 0);
}
static void e_smem_below(void) { sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T1(4), T1(-1)), 0); }
static void e_fragment(void) { sett_make_fragment_like(coordinates("(4,8)"), 0); }
static void e_fragment_dynamic(void) { sett_make_fragment_like(sett_identity_tensor(b, 4, sett_sym(b, "N")), SETT_BOOL); }
static void e_load_crd(void)
{
    sett_load(sett_identity_tensor(b, 4, 8));
}
static void e_coord_value(void)
{
    sett_coord_value(memory("(4,8):(8,1)"), 0);
}
static void e_coord_mode(void)
{
    sett_coord_value(sett_identity_tensor(b, 4, T(2, 3)), 2);
}
static void e_coord_path(void)
{
    sett_coord_value(sett_identity_tensor(b, 4, T(2, 3)), 0, 1);
}
static void e_coord_tuple(void)
{
    sett_coord_value(sett_identity_tensor(b, 4, T(2, 3)), 1);
}
static void e_coord(void) { sett_coord_at(memory("(4,8):(8,1)"), 0); }
/* clang-format on */

START_TEST(misuse_is_named)
{
    static const struct {
        void (*f)(void);
        sett_status status;
        const char *text;
    } cases[] = {
        {e_range, SETT_E_RANGE, "sett_slice: coordinate 4 is outside extent 4 of A (4,8):(8,1)"},
        {e_negative, SETT_E_RANGE, "sett_slice: coordinate -1 is outside extent 4 of A (4,8):(8,1)"},
        {e_rank, SETT_E_RANK, "sett_slice: coordinate (1,_,0) does not fit mode (4,8) of A (4,8):(8,1)"},
        {e_profile, SETT_E_RANK, "sett_slice: coordinate (1,1) does not fit mode 4 of A (4,8):(8,1)"},
        {e_float, SETT_E_DTYPE, "sett_slice: a coordinate of A (4,8):(8,1) is no integer: it is f32, as sett_div gives it; sett_floordiv divides integers"},
        {e_tile, SETT_E_RANK, "sett_local_tile: coordinate (0,0,0) has more modes than the tiles (2,4)"},
        {e_projection, SETT_E_RANK, "sett_local_tile: the projection (1,_,1) has not the profile of the tiler (2,2)"},
        {e_projection_number, SETT_E_RANK, "sett_local_tile: the projection 1 has not the profile of the tiler (4,2): the coordinate is T(0, 1)"},
        {e_projection_value, SETT_E_RANK, "sett_local_tile: the projection N has not the profile of the tiler (4,2): the coordinate is T(M, N)"},
        {e_projection_all, SETT_E_RANK, "sett_local_tile: the projection _ has not the profile of the tiler (4,2): the coordinate is T(0, _)"},
        {e_projection_leaf, SETT_E_ARGUMENT, "sett_local_tile: N in the projection (1,N): each mode is 1, which keeps it, or ALL"},
        {e_projection_coord, SETT_E_RANK, "sett_local_tile: the projection (1,_) has not the profile of the coordinate 0"},
        {e_projection_deep, SETT_E_RANK, "sett_local_tile: the projection (1,(1,_)) has not the profile of the tiler (4,2)"},
        {e_partition_number, SETT_E_RANK, "sett_local_partition: the projection 1 has not the profile of the thread layout's shape (4,2)"},
        {e_partition_rank, SETT_E_RANK, "sett_local_partition: the projection (1,_,1) has not the profile of the thread layout's shape (4,2)"},
        {e_tile_range, SETT_E_RANGE, "sett_local_tile: coordinate 2 is outside extent 2"},
        {e_threads, SETT_E_STATIC, "sett_local_partition: the thread layout N:1 is not static: it says how many threads take part, in C integers"},
        {e_thread, SETT_E_ARGUMENT, "sett_local_partition: the thread's index is no integer of at least 0"},
        {e_recast, SETT_E_DIVIDE, "sett_recast_"},
        {e_recast_crd, SETT_E_SPACE, "sett_recast_tensor: coordinates (4,8):(1@0,1@1) has no memory to recast"},
        {e_narrow, SETT_E_DIVIDE, "sett_recast_tensor: the offset 1 of rmem 8:1 is not known to be a multiple of 2 elements"},
        {e_dtype, SETT_E_DTYPE, "sett_make_rmem_tensor: 99 is no element type"},
        {e_rmem_dynamic, SETT_E_STATIC, "sett_make_rmem_tensor: the shape N is not static: registers are allocated while building, so it must be of C integers"},
        {e_rmem_many, SETT_E_LIMIT, "sett_make_rmem_tensor: the layout 70000:1 needs 70000 elements, of at most 65536"},
        {e_smem_dynamic, SETT_E_STATIC, " is not static: one within another must be of C integers to be shared memory"},
        {e_smem_thread, SETT_E_STATIC, "sett_make_smem_tensor: the layout's size must be made of symbols, integer scalars and constants, not of tid at "},
        {e_smem_align, SETT_E_ALIGN, "sett_make_smem_tensor: an alignment of 24 is no power of two up to 1024"},
        {e_tile_zero, SETT_E_ARGUMENT, "sett_local_tile: invalid: 0 is no tiler"},
        {e_threads_rank, SETT_E_RANK, "sett_local_partition: invalid: tiler (4,8) has more modes than 32:1"},
        {e_smem_large, SETT_E_LIMIT, "sett_make_smem_tensor: 1048576 bytes of shared memory and 4096 before them; no device gives a block as much as 1048576"},
        {e_smem_below, SETT_E_RANGE, "sett_make_smem_tensor: the layout (4):(-1) reaches below 0"},
        {e_fragment, SETT_E_DTYPE,
            "sett_make_fragment_like: a fragment like a coordinate tensor needs an element type"},
        {e_fragment_dynamic, SETT_E_STATIC, "sett_make_fragment_like: the extent N of mode 1 is not static"},
        {e_load_crd, SETT_E_SPACE, "sett_load: the tensor of coordinates (4,8):(1@0,1@1) has no elements in memory: sett_coord_value gives a mode of its coordinates as a value"},
        {e_coord_value, SETT_E_SPACE, "sett_coord_value: A (4,8):(8,1) is no tensor of coordinates"},
        {e_coord_mode, SETT_E_RANK, "sett_coord_value: coordinates like (0,(0,0)) have no mode 2"},
        {e_coord_path, SETT_E_RANK, "sett_coord_value: coordinates like (0,(0,0)) have no mode (0,1)"},
        {e_coord_tuple, SETT_E_RANK, "sett_coord_value: mode 1 of coordinates like (0,(0,0)) is the tuple (0,0): name one of its numbers"},
        {e_coord, SETT_E_SPACE, "sett_coord_at: A (4,8):(8,1) is no tensor of coordinates"},
    };
    for (size_t i = 0; i < SETT__COUNT(cases); i++) {
        const char *text;
        close_build();
        open_build();
        cases[i].f();
        ck_assert_msg(sett_build_status(b, &text) == cases[i].status, "%zu: %s", i, text);
        ck_assert_msg(strstr(text, cases[i].text) && strstr(text, "test_tensor.c:"), "%s", text);
    }
}
END_TEST

/* Poison in, poison out; NULL is refused without a crash. */
START_TEST(poison_passes)
{
    sett_tensor *bad = sett_slice(memory("(4,8):(8,1)"), 9, ALL);
    ck_assert(bad->head.poison);
    sett_val *v = sett_load(sett_local_tile(sett_domain_offset(bad, 0, 0), T(2, 2), T(0, 0)));
    ck_assert(v->head.poison);
    sett_store(bad, v);
    sett_copy(bad, sett_make_fragment_like(bad, 0));
    sett_fill(sett_recast_tensor(bad, SETT_I8), 1);
    const sett_val *one = sett_at(bad, 0), *less = sett_elem_less(bad, T(1, 1));
    ck_assert(one->head.poison && less->head.poison);
    ck_assert_int_eq(sett_coord_at(bad, 0).kind, SETT_POISON);
    ck_assert_int_eq(sett_rank(bad), 1);
    shows(bad, "tensor<?>");
    ck_assert_ptr_null(sett_slice_tensor_at(SETT_HERE, NULL, SETT_ALL));
    sett_tensor *none = NULL;
    ck_assert_ptr_null(sett_load(none));
    ck_assert_int_eq(sett_build_status(b, NULL), SETT_E_RANGE);
}
END_TEST

/* A build for the algebra alone has no memory. */
START_TEST(host_build)
{
    sett_build *h = sett_build_begin();
    const char *text;
    ck_assert_int_eq(sett_rank(sett_identity_tensor(h, 4, 8)), 2);
    ck_assert_int_eq(sett_build_status(h, &text), SETT_OK);
    sett_make_rmem_tensor(h, SETT_F32, 4);
    ck_assert_int_eq(sett_build_status(h, &text), SETT_E_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(text, "possible only in a kernel's body"));
    sett_build_end(h, NULL);
}
END_TEST

Suite *tensor_suite(void)
{
    const TTest *const tests[] = {texts, coordinate_slices, slices_of_memory, dynamic_starts, tiles, projections, partition_covers,
        other_views, swizzled_slices, fragments, shared_memory, asking, misuse_is_named, poison_passes, host_build};
    Suite *s = suite_create("tensor");
    TCase *c = tcase_create("views");
    tcase_add_checked_fixture(c, open_build, close_build);
    for (size_t i = 0; i < SETT__COUNT(tests); i++)
        tcase_add_test(c, tests[i]);
    suite_add_tcase(s, c);
    return s;
}
