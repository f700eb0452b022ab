# SPDX-License-Identifier: Apache-2.0
"""Products of matrices, C (M,N) = A (M,K) times B (N,K) transposed, beside cuBLAS and cuBLASLt, with sett and torch installed, on a Hopper GPU.
Without a GPU all of it runs small, on the CPU engine, and compares results alone.

    bench/products.py sweep [--shapes N,K;N,K...] [--rows M,M...] [--seeds SEED,SEED...] [--out FILE.csv] [--budget SECONDS] [--rounds ROUNDS] [--early]
                            [--configs '[{"bm": 64, "bn": 128}, ...]']
                                               every configuration of product_table.py, or these, in every cell, or in those of `drawn`, as CSV
    bench/products.py analyse FILE.csv...      what follows from it; needs neither a GPU nor torch, and so does
    bench/products.py model FILE.csv FILE.svg  the model of sett_product beside the times of `cells`, as SVG; needs the command sett
    bench/products.py picture FILE.csv FILE.svg

    bench/products.py pack FILE [SEED...] [--rows ROW,...] [--assembler ptxas|nvjitlink]
                                               compiles what the rows need, and `drawn` for these seeds
    bench/products.py ROW [--pack FILE] [--budget SECONDS] [--warm SECONDS] [--out PREFIX]
                                               a row by the protocol of product_cells.py, from a pack alone: nothing is compiled. ROW:
        cells          bf16, 12 (N,K) of models at 22 M, beside cuBLAS
        drawn SEED     20 random shapes
        invariant      rows of the same bits for every M, beside the usual choice and cuBLAS
        few            1, 4 and 8 rows, beside what reads B alone
        w4a16          weights of 4 bits at 1 and 16 rows, (N,K) of (8192,28672) and (4096,14336), beside what reads them alone
        w4a16_tiles    the same by each tile
        large          8192^3, 4096^3, 8192 x 8192 x 512
        f32            4096^3 by multiply-adds, and by tf32
        fp8            beside cuBLASLt with fast sums
        fp8_blocks     with scales of blocks, beside cuBLASLt's
        epilogues      bias and GELU, a residual, SwiGLU, beside the plain product; fp8 with amax, beside fp8
        grouped        groups of rows with weights of their own, contiguous and masked, bf16 and fp8, beside one product of as many rows
        experts        4096 tokens to 8 of 256 experts, beside what reads the weights alone, and one product of as many rows
        assemblers PACK 24 of `cells`, by another pack too, that another assembler made
        mlp [TOKENS..] the MLP of LLaMA-3.1-8B at 1 to 128 tokens, beside torch.compile, also with max-autotune, and torch
    bench/products.py random [SEED] [--count N] [--only NUMBER] [--pack FILE] [--write]
                                               10,000 random problems from a pack of at most 300 kernels, which --write makes, beside sums of Float64; it needs
                                               NumPy instead of torch without a GPU: 2,000 small ones, in all orders of the CPU engine
    bench/products.py bits FILE [SEED] [--each SHAPES] [--pack FILE]
                                               the bits that the CPU engine gives at three shapes of every kernel of `random`, as a file; with the pack of
                                               `random --write` the GPU's beside those of the file; it needs torch
    bench/products.py model-pack [--write] [--pack FILE] [--threads N]
                                               all products of LLaMA-3.1-8B and Qwen3-30B-A3B, examples/models.warm: how many kernels; what a sealed process
                                               takes to be ready beyond the driver's start; random M; it needs NumPy instead of torch without a GPU
    bench/products.py readme [main] [few] [fp8] [llama]
                                               rows of README, as Markdown
    bench/products.py                          all of it, small; on a GPU README's rows"""

import argparse
import json
import sys

BUDGET_S = 280  # of a row: five minutes, less what Python takes to begin


def pairs(text):
    return [tuple(int(x) for x in pair.split(",")) for pair in text.split(";")]


def numbers(text):
    return [int(x) for x in text.split(",")]


def sweep(words):
    from product_sweep import ROUNDS, sweep as of

    p = argparse.ArgumentParser(prog="bench/products.py sweep")
    p.add_argument("--shapes", type=pairs)
    p.add_argument("--rows", type=numbers)
    p.add_argument("--seeds", type=numbers, default=())
    p.add_argument("--out")
    p.add_argument("--budget", type=float, default=200)
    p.add_argument("--rounds", type=int, default=ROUNDS)
    p.add_argument("--configs", type=json.loads)
    p.add_argument("--early", action="store_true", help="sett's kernels begin before the one before them has ended (PDL), in cells where torch's do")
    of(**vars(p.parse_args(words)))


def analyse(words):
    from product_table import analyse as of

    of(*words)


def picture(words):
    from product_picture import picture as of

    of(*words)


def model(words):
    from product_model import model as of

    of(*words)


def pack(words):
    from product_rows import ROW, pack as of

    p = argparse.ArgumentParser(prog="bench/products.py pack")
    p.add_argument("path", metavar="FILE")
    p.add_argument("seeds", nargs="*", metavar="SEED")
    p.add_argument("--rows", type=lambda text: text.split(","), default=list(ROW))
    p.add_argument("--assembler", choices=("auto", "ptxas", "nvjitlink"), default="auto")
    of(**vars(p.parse_args(words)))


def row(name, words):
    from product_cells import WARM_S
    from product_rows import run
    from product_way import PACK

    p = argparse.ArgumentParser(prog=f"bench/products.py {name}")
    p.set_defaults(words=())
    if name == "drawn":
        p.add_argument("words", nargs=1, metavar="SEED", type=int)
    if name == "assemblers":
        p.add_argument("words", nargs=1, metavar="PACK")
    if name == "mlp":
        p.add_argument("words", nargs="*", metavar="TOKENS", type=int)
    p.add_argument("--pack", default=PACK)
    p.add_argument("--budget", type=float, default=BUDGET_S)
    p.add_argument("--warm", type=float, default=WARM_S)
    p.add_argument("--out")
    run(name, **vars(p.parse_args(words)))


def at_random(words):
    from product_random import main as of

    of(words)


def bits(words):
    from product_bits import main as of

    of(words)


def model_pack(words):
    from product_models import main as of

    of(words)


def readme(words):
    from product_readme import readme as of

    of(*words)


def every(_):
    from gpu import GPU
    from product_rows import ROW

    if not GPU:
        sweep([])
        for name in ROW:
            row(name, ["1"] * (name in ("drawn", "assemblers")))
    readme([])


def main():
    parts = {"sweep": sweep, "analyse": analyse, "picture": picture, "model": model, "pack": pack, "random": at_random, "bits": bits, "model-pack": model_pack, "readme": readme, "": every}
    name, *words = sys.argv[1:] or ("",)
    if name in parts:
        parts[name](words)
    elif name in ("cells", "drawn", "invariant", "few", "w4a16", "w4a16_tiles", "large", "f32", "fp8", "fp8_blocks", "epilogues", "mlp", "assemblers", "grouped", "experts"):
        row(name, words)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
