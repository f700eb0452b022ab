# SPDX-License-Identifier: Apache-2.0
"""Host time to issue one launch from Python, of an add of three small matrices of halves on a GPU, by each way that there is; torch.add
beside them in the same run, and bench/issue's raw cuLaunchKernelEx if BUILD is given. Batches in random order; medians over rounds, with
the quarters around them. Prints Markdown.

    bench/python_calls.py [BUILD]          with sett and torch installed, apache-tvm-ffi and CuPy if they are"""

import statistics
import subprocess
import sys
import time

import torch
from rounds import in_turn

import sett
import sett.torch

BATCH, ROUNDS, SIZE = 200, 201, (16, 256)


def ways() -> dict:
    engine = sett.Engine()
    kernel = engine.compile(sett.kernels.elementwise, dtype=torch.float16, op=0)
    a, b, c = (torch.rand(SIZE, device="cuda").half() for _ in range(3))
    others = [tuple(torch.rand(SIZE, device="cuda").half() for _ in range(3)) for _ in range(2)]
    prepared = kernel.prepare(a, b, c)
    in_place = sett.torch.custom_op("bench::add_into", kernel)
    out_of_place = sett.torch.custom_op("bench::add", kernel, outputs={"C": "A"})
    stream = torch.cuda.current_stream().cuda_stream
    found = {
        "torch.add(a, b, out=c)": lambda: torch.add(a, b, out=c),
        "torch.add(a, b)": lambda: torch.add(a, b),
        "prepared()": prepared,
        "prepared(stream)": lambda: prepared(stream),
        "kernel(a, b, c)": lambda: kernel(a, b, c),
        "kernel(A=a, B=b, C=c)": lambda: kernel(A=a, B=b, C=c),
        "prepared.bind(a, b, c), no launch": lambda: (prepared.bind(*others[0]), prepared.bind(*others[1])),
        "operation of PyTorch, in place": lambda: in_place(a, b, c),
        "operation of PyTorch, gives c": lambda: out_of_place(a, b),
        "a call of nothing": lambda: None,
    }
    try:
        from sett import tvm_ffi

        function = tvm_ffi.function(kernel)
        found["tvm_ffi.Function(a, b, c)"] = lambda: function(a, b, c)
    except ImportError as e:
        print(f"no tvm-ffi: {e}")
    try:
        import cupy

        x, y, z = (cupy.zeros(SIZE, "f2") for _ in range(3))
        found["kernel(x, y, z) of CuPy"] = lambda: kernel(x, y, z)
        found["cupy.add(x, y, out=z)"] = lambda: cupy.add(x, y, out=z)
    except ImportError as e:
        print(f"no CuPy: {e}")
    return found


def main() -> None:
    found = ways()
    seen = {name: [] for name in found}
    for number, name, call in in_turn(found, ROUNDS + 3):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(BATCH):
            call()
        spent = time.perf_counter() - begin
        if number >= 3:
            seen[name].append(spent / BATCH * 1e6 / (2 if "bind" in name else 1))
    print(f"sett {sett.__version__}, torch {torch.__version__}, Python {sys.version.split()[0]}, {torch.cuda.get_device_name()}; "
        f"{ROUNDS} rounds of {BATCH}\n")
    print("| way | us | p25 - p75 |\n| --- | --- | --- |")
    for name, times in sorted(seen.items(), key=lambda item: statistics.median(item[1])):
        quarter = statistics.quantiles(times, n=4)
        print(f"| {name} | {quarter[1]:.2f} | {quarter[0]:.2f} - {quarter[2]:.2f} |")
    if len(sys.argv) > 1:
        print("\nRaw, by bench/issue:\n")
        sys.stdout.flush()
        subprocess.run([f"{sys.argv[1]}/bench/issue"], check=False)


if __name__ == "__main__":
    main()
