/* SPDX-License-Identifier: Apache-2.0 */
/* The modelled device: an H200. */
#include "inside.h"

uint64_t sett__model_blocks(const sett__program *p, const sett__sim_launch *l)
{
    enum { PROCESSORS = 132, WARPS = 64, BLOCKS = 32, REGISTERS = 65536, SHARED = 228 << 10, RESERVED = 1 << 10 };
    const sett__sig *sig = &p->tape->sig;
    uint32_t warps = (sett__threads(l) + WARP - 1) / WARP, most = WARPS / warps;
    uint32_t by_memory = SHARED / (sig->smem + l->smem_more + RESERVED);
    uint32_t by_registers = sig->max_registers ? REGISTERS / ((uint32_t)sett__round_up(sig->max_registers, 8) * WARP * warps) : most;
    most = sett__least(sett__least(most, by_memory), sett__least(by_registers, BLOCKS));
    return (uint64_t)most * PROCESSORS;
}
