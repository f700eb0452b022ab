/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors, as the notebook tensor of CuTe DSL goes through them: memory and a layout, T(c) = *(pointer + L(c)). A whole
 * coordinate gives an element, one with ALL in it (None in Python) a view, and no view moves data. A coordinate tensor
 * has no memory: its elements are the coordinates themselves. */
#define SETT_SHORT
#include "lesson.h"

/* The first 8 x 5 matrix of the notebook: 0, 1, 2, ... by rows. */
static void access(sett_build *b, sett_tensor *A)
{
    KNOWN(b, A, "tensor<ptr<f32, gmem> o (8,5):(5,1)>");
    sett_tensor *where = sett_identity_tensor(b, sett_shape(A));
    KNOWN(b, where, "tensor<(0,0) o (8,5):(1@0,1@1)>");
    TITLE("an integer goes down the first mode, as everywhere in CuTe");
    KNOWN(b, sett_coord_at(where, 2), "(2,0)");
    KNOWN(b, sett_coord_at(where, 9), "(1,1)");
    KEEP(b, sett_at(A, 2), 10);
    KEEP(b, sett_at(A, 9), 6);
    KEEP(b, sett_at(A, 2, 0), 10);
    KEEP(b, sett_at(A, 2, 4), 14);
    KEEP(b, sett_at(A, T(2, 4)), 14);
    sett_set(A, 100.0, 2, 3);
    sett_set(A, 101.0, 2, 4);
    KEEP(b, sett_at(A, 2, 3), 100);
    KEEP(b, sett_at(A, 2, 4), 101);
    sett_printf(b, "in the kernel: A[2,3] = {}, A[2,4] = {}", sett_at(A, 2, 3), sett_at(A, 2, 4));
    sett_print_tensor(A);
}

static void views(sett_build *b, sett_tensor *A)
{
    TITLE("a slice keeps the modes that are ALL, and moves the start by the others");
    sett_tensor *column = sett_slice(A, ALL, 1), *row = sett_slice(A, 2, ALL);
    KNOWN(b, column, "tensor<ptr<f32, gmem> o (8):(5)>");
    KNOWN(b, row, "tensor<ptr<f32, gmem> o (5):(1)>");
    KEEP(b, sett_load(column), 1, 6, 11, 16, 21, 26, 31, 36);
    KEEP(b, sett_load(row), 10, 11, 12, 100, 101);
    TITLE("a tile is a view too, and one of coordinates says where it lies; so does a launch's index");
    sett_val *i = sett_scalar(b, "i", SETT_I32); /* 1 in the launch below */
    sett_tensor *tile = sett_local_tile(A, T(4, 1), T(i, 3)), *at = sett_identity_tensor(b, 8, 5);
    KNOWN(b, tile, "tensor<ptr<f32, gmem> o (4,1):(5,0)>");
    KNOWN(b, sett_local_tile(at, T(4, 1), T(1, 3)), "tensor<(4,3) o (4,1):(1@0,0)>");
    KNOWN(b, sett_local_tile(at, T(4, 1), T(i, 3)), "tensor<(?{div=4},3) o (4,1):(1@0,0)>");
    KEEP(b, sett_load(tile), 23, 28, 33, 38);
    TITLE("any layout may be laid over it: element c of the result is element layout(c) of the tensor");
    KEEP(b, sett_load(sett_composition(A, sett_make_layout(b, T(2, 2), T(4, 1)))), 0, 20, 5, 25);
}

static void memories(sett_build *b, sett_tensor *A)
{
    TITLE("registers belong to a thread, shared memory to a block; both take a static shape or layout");
    sett_tensor *regs = sett_make_rmem_tensor(b, SETT_F32, T(4, 3));
    sett_tensor *shared = sett_make_smem_tensor(b, SETT_F32, sett_row_major(b, 4, 3), 16);
    KNOWN(b, regs, "tensor<ptr<f32, rmem, align<32>> o (4,3):(1,4)>");
    KNOWN(b, shared, "tensor<ptr<f32, smem, align<16>> o (4,3):(3,1)>");
    KNOWN(b, sett_make_fragment_like(shared, 0), "tensor<ptr<f32, rmem, align<32>> o (4,3):(3,1)>");
    sett_fill(regs, 1);
    sett_copy(regs, shared);
    sett_set(shared, 7, 3, 2);
    KEEP(b, sett_load(shared), 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 7);
    TITLE("a copy goes element by element, whatever the two layouts");
    sett_copy(sett_local_tile(A, T(4, 3), T(0, 0)), shared);
    KEEP(b, sett_load(shared), 0, 5, 10, 15, 1, 6, 11, 16, 2, 7, 12, 17);
}

static void body(sett_build *b, const void *user)
{
    (void)user;
    lesson_begin(b);
    sett_tensor *A = sett_param(b, "A", SETT_F32, sett_make_layout(b, T(8, 5), T(5, 1)));
    access(b, A);
    views(b, A);
    memories(b, A);
}

int main(void)
{
    run r = run_open();
    matrix out, A = arange(&r, 2, (const int64_t[]){8, 5});
    sett_kernel *k = lesson_compile(&r, "tensors", body, &out);
    fflush(stdout);
    check(&r, sett_launch(k, r.stream, &r.err, &out.buf, &A.buf, 1));
    matrix_fetch(&r, &A);
    expect("A[2,3] in memory", 13, get(SETT_F32, A.host, 13), 100, 0);
    matrix_free(&r, &A);
    lesson_end(&r, k, &out);
    return 0;
}
