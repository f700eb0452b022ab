/* SPDX-License-Identifier: Apache-2.0 */
/* .quantise 2: 128 columns of a row are scaled by their own largest. That is known when all threads that have some of them have told theirs, so
 * a kernel goes through its sums twice, and keeps what became of them in registers between. */
#include "epilogue.h"

enum { GREATEST_E4M3 = 448, GREATEST_E5M2 = 57344, LEAST = 0x2b8cbccc /* bits of 1e-12, torchao's: a largest below it counts as this, so that zeros stay zeros */ };

int sett__block_scaling_bytes(int rows, int columns, int parts)
{
    return rows * (columns / EPILOGUE_BLOCK) * parts * (sett__bytes_of(SETT_I32) + sett__bytes_of(SETT_F32));
}

block_scaling sett__block_scaling(sett_build *b, int rows, int columns, int parts)
{
    enum { ALIGN = 16 };
    const int blocks = columns / EPILOGUE_BLOCK, all = rows * blocks * parts;
    return (block_scaling){.rows = rows, .blocks = blocks, .most = sett_make_smem_tensor(b, SETT_I32, all, ALIGN, .name = "largest of blocks"), .by = sett_make_smem_tensor(b, SETT_F32, all, ALIGN, .name = "factors of blocks")};
}

void sett__block_scaling_begin(sett_build *b, const block_scaling *x, int threads)
{
    sett_for (b, i, sett_thread_idx(b, 0), sett_size(sett_shape(x->most)), threads)
        sett_set(x->most, 0, i);
}

void sett__block_scaling_at(terms *s, sett_val *part, int block, int columns)
{
    const block_scaling *x = &s->blocks;
    const sett_arg at = sett_add(part ? SETT_A(sett_mul(part, x->blocks)) : sett_arg_i(0), block);
    sett_layout *spread = sett_make_layout(s->b, T(x->rows, columns), T(1, 0));
    s->block_most = sett_composition(sett_local_tile(x->most, T1(x->rows), T1(at)), spread);
    s->block_by = sett_composition(sett_local_tile(x->by, T1(x->rows), T1(at)), spread);
}

/* Scales of a row's block: they are D's, beside it, and what D is multiplied by. The place is ready for the next tile. */
static void settle(const terms *s, const block_place *p, sett_val *i)
{
    const block_scaling *x = &s->blocks;
    const double greatest = s->of.c == SETT_F8E4M3FN ? GREATEST_E4M3 : GREATEST_E5M2;
    sett_val *at = p->part ? sett_add(sett_mul(p->part, x->rows * x->blocks), i) : i;
    sett_val *row = sett_add(sett_mod(i, x->rows), p->row), *block = sett_add(sett_floordiv(i, x->rows), p->block);
    sett_val *most = sett_bitcast(sett_max(sett_at(x->most, at), LEAST), SETT_F32), *blocks = sett_floordiv(sett_add(sett_value(s->b, sett_get(s->extent, 1)), EPILOGUE_BLOCK - 1), EPILOGUE_BLOCK);
    sett_set(x->most, 0, at);
    sett_set(x->by, sett_div(greatest, most), at);
    sett_if (s->b, sett_and(sett_lt(row, p->rows), sett_lt(block, blocks)))
        sett_set(p->SD, sett_div(most, greatest), row, block);
}

void sett__settle_blocks(const terms *s, const block_place *p, sett_val *thread, int threads)
{
    const int all = s->blocks.rows * s->blocks.blocks;
    for (int i = 0; i < all; i += threads) {
        sett_val *mine = sett_add(thread, i);
        if (i + threads <= all)
            settle(s, p, mine);
        else
            sett_if (s->b, sett_lt(mine, all))
                settle(s, p, mine);
    }
}

/* Sums of integers lie in registers of integers. */
void sett__hold(sett_tensor *registers, sett_val *x)
{
    sett_val *f = sett_to(x, SETT_F32);
    sett_store(registers, sett_reshape(sett_tensor_dtype(registers) == SETT_I32 ? sett_bitcast(f, SETT_I32) : f, sett_shape(registers)));
}

sett_val *sett__held(sett_tensor *registers)
{
    return sett_bitcast(sett_load(registers), SETT_F32);
}

sett_val *sett__block_scaled(const terms *s, const sett_epilogue_tile *at, sett_val *x)
{
    return sett_mul(x, sett__load_spread(s->b, at->partition_tile(at, s->block_by), NULL));
}
