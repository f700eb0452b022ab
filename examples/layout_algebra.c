/* SPDX-License-Identifier: Apache-2.0 */
/* The layout algebra, as the notebook cute_layout_algebra of CuTe DSL goes through it. A layout shape:stride is a
 * function from coordinates to integers, and each operation makes a new one. Static layouts need no kernel: they are C
 * objects of a build. Leaves that a launch supplies print as `?`, and the kernel computes with what they turn out to
 * be. */
#define SETT_SHORT
#include "lesson.h"

#define L(text) sett_layout_parse(b, text) /* a layout as it is written; sett_make_layout takes tuples, and values */

static void static_layouts(sett_build *b)
{
    TITLE("coalesce: the same function with the fewest modes; by a profile, mode by mode");
    sett_layout *X = sett_make_layout(b, T(2, T(1, 6)), T(1, T(6, 2)));
    KNOWN(b, X, "(2,(1,6)):(1,(6,2))");
    KNOWN(b, sett_coalesce(X), "12:1");
    KNOWN(b, sett_coalesce_by(X, T(1, 1)), "(2,6):(1,2)");

    TITLE("composition: R(c) = A(B(c)); a tuple of layouts, or of numbers n for n:1, goes mode by mode");
    KNOWN(b, sett_composition(L("(6,2):(8,2)"), L("(4,3):(3,1)")), "((2,2),3):((24,2),8)");
    KNOWN(b, sett_composition(L("(10,2):(16,4)"), L("(5,4):(1,5)")), "(5,(2,2)):(16,(80,4))");
    KNOWN(b, sett_composition(L("(12,(4,8)):(59,(13,1))"), T(3, 8)), "(3,(4,2)):(59,(13,1))");

    TITLE("divide: what the tiler points at, and the rest; 4:2 is every other element");
    KNOWN(b, sett_logical_divide(L("(4,2,3):(2,1,8)"), L("4:2")), "((2,2),(2,3)):((4,1),(2,8))");
    TITLE("of a matrix, rows by 3:3 and columns by (2,4):(1,8); the four forms differ in how the modes are grouped");
    sett_layout *M = sett_make_layout(b, T(9, T(4, 8)), T(59, T(13, 1)));
    sett_arg tiler = sett_tuple(b, L("3:3"), L("(2,4):(1,8)"));
    KNOWN(b, tiler, "[3:3;(2,4):(1,8)]");
    KNOWN(b, sett_logical_divide(M, tiler), "((3,3),((2,4),(2,2))):((177,59),((13,2),(26,1)))");
    KNOWN(b, sett_zipped_divide(M, tiler), "((3,(2,4)),(3,(2,2))):((177,(13,2)),(59,(26,1)))");
    KNOWN(b, sett_tiled_divide(M, tiler), "((3,(2,4)),3,(2,2)):((177,(13,2)),59,(26,1))");
    KNOWN(b, sett_flat_divide(M, tiler), "(3,(2,4),3,(2,2)):(177,(13,2),59,(26,1))");

    TITLE("product: the layout, and copies of it");
    KNOWN(b, sett_logical_product(L("(2,2):(4,1)"), L("6:1")), "((2,2),(2,3)):((4,1),(2,8))");
    sett_layout *A = L("(2,5):(5,1)"), *C = L("(3,4):(1,3)");
    KNOWN(b, sett_blocked_product(A, C), "((2,3),(5,4)):((5,10),(1,30))"); /* copies side by side */
    KNOWN(b, sett_raked_product(A, C), "((3,2),(4,5)):((10,5),(30,1))");   /* copies interleaved */
    KNOWN(b, sett_zipped_product(A, C), "((2,5),(3,4)):((5,1),(10,30))");
    KNOWN(b, sett_tiled_product(A, C), "((2,5),3,4):((5,1),10,30)");
    KNOWN(b, sett_flat_product(A, C), "(2,5,3,4):(5,1,10,30)");

    TITLE("what divide and product are made of: the complement, and inverses");
    KNOWN(b, sett_complement(L("4:2"), 24), "(2,3):(1,8)");
    KNOWN(b, sett_right_inverse(L("(4,8):(8,1)")), "(8,4):(4,1)");
    KNOWN(b, sett_left_inverse(L("4:2")), "(2,4):(0,1)");
}

static void body(sett_build *b, const void *user)
{
    (void)user;
    lesson_begin(b);
    TITLE("with a stride that only the launch knows");
    sett_val *n = sett_scalar(b, "n", SETT_I32); /* 8 in the launch below */
    sett_layout *A = sett_make_layout(b, T(6, 2), T(n, 2)), *B = sett_make_layout(b, T(4, 3), T(3, 1));
    sett_layout *R = sett_composition(A, B);
    KNOWN(b, A, "(6,2):(?,2)");
    KNOWN(b, R, "((2,2),3):((?{div=3},2),?)");
    sett_layout *S = sett_make_layout(b, T(2, T(1, 6)), T(1, T(n, 2)));
    KNOWN(b, S, "(2,(1,6)):(1,(?,2))");
    KNOWN(b, sett_coalesce(S), "12:1"); /* the stride of an extent of 1 does not matter */
    /* The kernel evaluates R: for each coordinate A(B(c)), with ((2,2),3):((24,2),8). */
    sett_tensor *t = sett_make_rmem_tensor(b, SETT_I32, T(4, 3));
    for (int c = 0; c < 12; c++)
        sett_set(t, sett_crd2idx(c, R), c);
    KEEP(b, sett_load(t), 0, 24, 2, 26, 8, 32, 10, 34, 16, 40, 18, 42);
    sett_printf(b, "in the kernel: A = {}, R = {}", A, R);
}

int main(void)
{
    run r = run_open();
    sett_build *b = sett_build_begin();
    static_layouts(b);
    check(&r, sett_build_end(b, &r.err));
    matrix out;
    sett_kernel *k = lesson_compile(&r, "layout_algebra", body, &out);
    fflush(stdout);
    check(&r, sett_launch(k, r.stream, &r.err, &out.buf, 8));
    lesson_end(&r, k, &out);
    return 0;
}
