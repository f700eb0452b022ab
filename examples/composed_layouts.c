/* SPDX-License-Identifier: Apache-2.0 */
/* Composed layouts, as the notebook composed_layout of CuTe DSL goes through them: R(c) = inner(offset + outer(c)). The
 * outer one gives the shape; the inner one is a swizzle, another layout, or what a C function makes of a coordinate. */
#define SETT_SHORT
#include "lesson.h"
#include <sett/cost.h>

#define L(text) sett_layout_parse(b, text)

static void swizzles(sett_build *b)
{
    TITLE("S<bits,base,shift>: of the offset, `bits` bits from base + shift on are xored onto those from base on");
    sett_layout *S = sett_make_swizzled(3, 0, 3, sett_row_major(b, 8, 8));
    KNOWN(b, S, "S<3,0,3> o 0 o (8,8):(8,1)");
    KNOWN(b, sett_crd2idx(T(3, 6), S), "29");
    KNOWN(b, sett_get_nonswizzle_portion(S), "(8,8):(8,1)");
    TITLE("what stays of a slice's coordinate is the offset: it must go in before the swizzle");
    KNOWN(b, sett_slice(S, 2, ALL), "S<3,0,3> o 16 o (8):(1)");
    KNOWN(b, sett_crd2idx(5, sett_slice(S, 2, ALL)), "23");
    KNOWN(b, sett_crd2idx(T(2, 5), S), "23");
    TITLE("the algebra works on the outer layout");
    sett_layout *X = L("S<3,3,3> o 0 o (32,8):(1,32)");
    KNOWN(b, sett_composition(X, L("(32):(2)")), "S<3,3,3> o 0 o (32):(2)");
    KNOWN(b, sett_tile_to_shape(X, T(128, 8), ALL), "S<3,3,3> o 0 o ((32,4),(8,1)):((1,256),(32,0))");
    TITLE("the inner one may be a layout: this one numbers the places of (4,5) from the third on");
    sett_layout *C = sett_make_composed_layout(L("(4,5):(5,1)"), 2, L("(2,3):(1,2)"));
    KNOWN(b, C, "(4,5):(5,1) o 2 o (2,3):(1,2)");
    KNOWN(b, sett_crd2idx(T(1, 1), C), "6"); /* 2 + 1 + 2 = 5, which is the place (1,1) */
}

static int bank_ways(const sett_layout *threads, const sett_layout *tile)
{
    return sett_access_cost(threads, .tensor = tile, .dtype = SETT_F32)->bank_ways;
}

static void shared_memory(sett_build *b)
{
    TITLE("a warp reads a column of a row-major tile: 32 words of one bank; swizzled each is in a bank of its own");
    sett_layout *plain = sett_row_major(b, 32, 32), *S = sett_make_swizzled(5, 0, 5, plain);
    KNOWN(b, bank_ways(L("32:1"), plain), "32"); /* thread t at element t, which goes down the first mode */
    KNOWN(b, bank_ways(L("32:1"), S), "1");
    KNOWN(b, bank_ways(L("32:32"), S), "1"); /* a row, as before */
    TITLE("nothing else in the kernel changes: tensors take coordinates, static ones or a launch's");
    sett_tensor *tile = sett_make_smem_tensor(b, SETT_F32, S, 16);
    sett_val *i = sett_scalar(b, "i", SETT_I32); /* 3 in the launch below */
    for (int r = 0; r < 4; r++)
        for (int c = 0; c < 8; c++)
            sett_set(tile, sett_to(sett_add(i, 10 * r + c), SETT_F32), r, c);
    sett_tensor *corner = sett_local_tile(tile, T(4, 8), T(0, 0));
    KEEP(b, sett_load(sett_slice(corner, ALL, 2)), 5, 15, 25, 35);
    KEEP(b, sett_at(tile, i, sett_add(i, 1)), 37);         /* (3,4) */
    KEEP(b, sett_value(b, sett_crd2idx(T(i, 4), S)), 103); /* where that is: 3*32 + 4, of which 3 is xored onto the 4 */
}

/* A transformation that is no layout is a C function of a coordinate, as `inner` is a Python function there. */
static sett_arg inner(sett_build *b, sett_arg c)
{
    return sett_tuple(b, sett_get(c, 0), sett_add(sett_get(c, 1), 1));
}

static void custom(sett_build *b)
{
    TITLE("a function of its own: (x,y) to (x,y+1), after an offset of (1,0), over the identity of (8,4)");
    sett_tensor *moved = sett_domain_offset(sett_identity_tensor(b, 8, 4), 1, 0);
    KNOWN(b, inner(b, sett_coord_at(moved, 0)), "(1,1)");
    KNOWN(b, inner(b, sett_coord_at(moved, 2, 3)), "(3,4)");
    TITLE("a table as the function: gather reads data[index[i]], scatter writes there");
    sett_tensor *data = sett_param(b, "data", SETT_F32, sett_make_layout(b, T1(256)));
    sett_tensor *index = sett_make_rmem_tensor(b, SETT_I32, T(2, 2));
    sett_val *i = sett_scalar(b, "j", SETT_I32); /* 7 in the launch below */
    for (int k = 0; k < 4; k++)
        sett_set(index, sett_mul(i, k * k), k);
    KEEP(b, sett_load(index), 0, 7, 28, 63);
    KEEP(b, sett_gather(data, sett_load(index)), 0, 7, 28, 63);
    sett_scatter(data, sett_load(index), sett_full(b, SETT_F32, T(2, 2), -1));
    KEEP(b, sett_load(sett_slice(sett_zipped_divide(data, T1(4)), ALL, 7)), -1, 29, 30, 31);
}

static void body(sett_build *b, const void *user)
{
    (void)user;
    lesson_begin(b);
    swizzles(b);
    shared_memory(b);
    custom(b);
}

int main(void)
{
    run r = run_open();
    matrix out, data = arange(&r, 1, (const int64_t[]){256});
    sett_kernel *k = lesson_compile(&r, "composed_layouts", body, &out);
    check(&r, sett_launch(k, r.stream, &r.err, &out.buf, 3, &data.buf, 7));
    check(&r, sett_sync_error(r.e, r.stream, &r.err));
    matrix_free(&r, &data);
    lesson_end(&r, k, &out);
    return 0;
}
