/* SPDX-License-Identifier: Apache-2.0 */
/* Values with a shape, as the notebook tensorssa of CuTe DSL goes through them. A tensor says where data lies;
 * sett_load makes a value of it, which is in registers, never changes and has a type and a static shape. Its elements
 * count with the first mode fastest, whatever the layout that they came from. */
#define SETT_SHORT
#include "lesson.h"

static void slices(sett_build *b, sett_val *v) /* 0, 1, 2, ... as (4,2,3), the last mode fastest in memory */
{
    TITLE("slices: an element, or with ALL the modes that it stands for");
    KNOWN(b, v, "tensor_value<vector<24xf32> o (4, 2, 3)>");
    KNOWN(b, sett_element(v, ALL, 1, ALL), "tensor_value<vector<12xf32> o (4, 3)>");
    KEEP(b, sett_element(v, ALL, 1, ALL), 3, 9, 15, 21, 4, 10, 16, 22, 5, 11, 17, 23);
    KEEP(b, sett_element(v, 10), 13); /* element 10 is at (2,0,1), and that is 2*6 + 0*3 + 1 in memory */
}

static void arithmetic(sett_build *b, sett_val *one)
{
    TITLE("arithmetic goes by element");
    sett_val *x = sett_broadcast_to(one, T1(3)), *y = sett_add(x, x), *z = sett_add(y, y);
    KNOWN(b, x, "tensor_value<vector<3xf32> o (3,)>");
    KEEP(b, sett_add(x, y), 3, 3, 3);
    KEEP(b, sett_sub(x, y), -1, -1, -1);
    KEEP(b, sett_mul(x, 2.0), 2, 2, 2); /* a number counts for every element */
    KEEP(b, sett_div(x, 2.0), 0.5, 0.5, 0.5);
    KEEP(b, sett_floordiv(x, y), 0, 0, 0);
    KEEP(b, sett_mod(x, y), 1, 1, 1);
    KEEP(b, sett_sqrt(z), 2, 2, 2);
    KEEP(b, sett_sin(z), -0.756802F, -0.756802F, -0.756802F);
    KEEP(b, sett_exp2(z), 16, 16, 16);
    /* Types meet as those of numbers do (data_types.c); the shape stays. */
    KNOWN(b, sett_add(sett_to(x, SETT_F16), y), "tensor_value<vector<3xf32> o (3,)>");
    KNOWN(b, sett_to(x, SETT_BF16), "tensor_value<vector<3xbf16> o (3,)>");
}

static void choices(sett_build *b, sett_val *one)
{
    TITLE("comparisons are Boolean, and choose");
    sett_tensor *s = sett_make_rmem_tensor(b, SETT_F32, T1(3)), *t = sett_make_rmem_tensor(b, SETT_F32, T1(3));
    for (int i = 0; i < 3; i++)
        sett_set(s, sett_mul(one, i + 1), i), sett_set(t, sett_mul(one, i == 1 ? 1 : 2 + i), i);
    sett_val *x = sett_load(s), *y = sett_load(t); /* 1 2 3 and 2 1 4 */
    KNOWN(b, sett_gt(x, y), "tensor_value<vector<3xi1> o (3,)>");
    KEEP(b, sett_gt(x, y), 0, 1, 0);
    KEEP(b, sett_ge(x, y), 0, 1, 0);
    KEEP(b, sett_lt(x, y), 1, 0, 1);
    KEEP(b, sett_le(x, y), 1, 0, 1);
    KEEP(b, sett_eq(x, y), 0, 0, 0);
    KEEP(b, sett_where(sett_gt(x, y), x, y), 2, 2, 4);
    KEEP(b, sett_where(sett_gt(x, y), x, 0.0), 0, 2, 0);
    KEEP(b, sett_any(sett_gt(x, y)), 1);
    KEEP(b, sett_all(sett_gt(x, y)), 0);
}

static void reductions(sett_build *b, sett_val *m) /* [[1 2 3] [4 5 6]] */
{
    TITLE("reductions, from the left, starting from the number given");
    KNOWN(b, m, "tensor_value<vector<6xf32> o (2, 3)>");
    KEEP(b, sett_reduce(m, SETT_ADD, 0.0), 21);
    KEEP(b, sett_reduce(m, SETT_MAX, 0.0), 6);
    /* The modes that are ALL stay. Every output starts from the number. */
    KEEP(b, sett_reduce_by(m, SETT_ADD, 0.0, T(ALL, 1)), 6, 15);
    KEEP(b, sett_reduce_by(m, SETT_ADD, 0.0, T(1, ALL)), 5, 7, 9);
    KEEP(b, sett_reduce_by(m, SETT_ADD, 1.0, T(1, ALL)), 6, 8, 10);
}

static void shapes(sett_build *b, sett_val *one)
{
    TITLE("broadcast and reshape");
    sett_tensor *s = sett_make_rmem_tensor(b, SETT_F32, T(1, 3)), *t = sett_make_rmem_tensor(b, SETT_F32, T(4, 1));
    for (int i = 0; i < 4; i++) {
        sett_set(t, sett_mul(one, i), i);
        if (i < 3)
            sett_set(s, sett_mul(one, i), i);
    }
    sett_val *row = sett_load(s), *column = sett_load(t);
    KEEP(b, sett_broadcast_to(row, T(4, 3)), 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2);
    KNOWN(b, sett_add(row, column), "tensor_value<vector<12xf32> o (4, 3)>");
    KEEP(b, sett_add(row, column), 0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5);
    /* A shape that is too short gets ones behind it, not in front as in NumPy: (4) beside (4,3) is a column. */
    KEEP(b, sett_add(sett_reshape(column, T1(4)), sett_full(b, SETT_F32, T(4, 2), 0)), 0, 1, 2, 3, 0, 1, 2, 3);
    /* Another shape of the same elements in the same order. */
    KNOWN(b, sett_reshape(sett_add(row, column), T(2, T(2, 3))), "tensor_value<vector<12xf32> o (2, (2, 3))>");
    KEEP(b, sett_element(sett_reshape(sett_add(row, column), T(2, 6)), 1, ALL), 1, 3, 2, 4, 3, 5);
}

static void body(sett_build *b, const void *user)
{
    (void)user;
    lesson_begin(b);
    sett_tensor *A = sett_param(b, "A", SETT_F32, sett_row_major(b, 4, 2, 3));
    sett_val *one = sett_scalar(b, "one", SETT_F32); /* from the launch, so that the kernel has something to do */
    slices(b, sett_load(A));
    arithmetic(b, one);
    choices(b, one);
    reductions(b, sett_add(sett_load(sett_slice(A, 0, ALL, ALL)), 1.0));
    shapes(b, one);
    TITLE("back to memory; a value itself cannot be assigned to");
    sett_store(A, sett_mul(sett_load(A), 2.0));
    KEEP(b, sett_load(sett_slice(A, 3, 1, ALL)), 42, 44, 46);
    sett_print_tensor(sett_load(sett_slice(A, ALL, 1, ALL)));
}

int main(void)
{
    run r = run_open();
    matrix out, A = arange(&r, 3, (const int64_t[]){4, 2, 3});
    sett_kernel *k = lesson_compile(&r, "tensorssa", body, &out);
    fflush(stdout);
    check(&r, sett_launch(k, r.stream, &r.err, &out.buf, &A.buf, 1.0));
    check(&r, sett_sync_error(r.e, r.stream, &r.err));
    matrix_free(&r, &A);
    lesson_end(&r, k, &out);
    return 0;
}
