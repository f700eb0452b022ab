# SPDX-License-Identifier: Apache-2.0
"""Rows of bench/products.py of groups, as a mixture of experts has them: one launch of a product of each group's rows with weights of its own,
beside one product of as many rows with one weight, and torch's grouped products."""

import functools
import types

import torch
from gpu import DEVICE, GPU
from graphs import guess_ms
from product_cells import Cell
from product_readme import near
from product_way import OURS, Bound, product_of, sized

ONE = "sett, one product of as many rows"
FP8 = torch.float8_e4m3fn
EXPERTS, ACTIVE, TOKENS = 256, 8, 4096
READ = 1 << 29  # elements of Float32 at most that a pure read takes of the weights


class Groups:
    """A product of groups, as a way of a cell: sets have .a, .b, .out and .table, which is .offsets or .counts of the call. usual: rows of most
    groups, 0: not known."""

    def __init__(self, product, m, usual=0):
        self.product, self.m, self.usual = product, m, usual

    def kernel(self):
        self.product.kernel(self.m)

    def bind(self, s):
        name = "counts" if self.product.problem["grouped"] == "masked" else "offsets"
        call = functools.partial(self.product.made(), s.a, s.b, s.out, expected_m=self.usual, **{name: s.table})

        def run():
            call()
            return s.out

        return run


class One:
    """A product of rows that lie behind each other with the weights of the first group, which writes .one."""

    def __init__(self, product, m):
        self.bound = Bound(product, m, "one")

    def kernel(self):
        self.bound.kernel()

    def bind(self, s):
        return self.bound.bind(types.SimpleNamespace(a=s.flat, b=s.b[0], one=s.one))


def close_of(k, dtype):
    """Of a small K the bound of a larger one, as what a few steps lose is further from its mean."""
    return near(max(k, 512), dtype == FP8)


def ints(values):
    return torch.tensor(values, dtype=torch.int32, device=DEVICE)


def starts_of(counts):
    return [sum(counts[:i]) for i in range(len(counts) + 1)]


def torch_grouped(dtype):
    """Of contiguous groups."""
    if dtype == FP8:
        def bind(s):
            rows, columns = torch.ones(s.a.shape[0], device=DEVICE), torch.ones(s.b.shape[:2], device=DEVICE)
            return lambda: torch._scaled_grouped_mm(s.a, s.b.transpose(1, 2), rows, columns, offs=s.ends, out_dtype=torch.bfloat16, use_fast_accum=True)

        return {"torch._scaled_grouped_mm, fast sums": bind}
    return {"torch._grouped_mm": lambda s: lambda: torch._grouped_mm(s.a, s.b.transpose(1, 2), offs=s.ends)}


def contiguous(engine, counts, n, k, dtype, title):
    """A cell: rows of all groups behind each other."""
    rows, groups, starts = sum(counts), len(counts), starts_of(counts)

    def make(data, results):
        s = types.SimpleNamespace(a=data.take(rows, k), b=data.take(groups, n, k), out=results.take(rows, n), one=results.take(rows, n), table=ints(starts), ends=ints(starts[1:]))
        s.flat = s.a
        return s

    def want(s):
        right = torch.cat([s.a[at : at + c].float() @ s.b[i].float().T for i, (at, c) in enumerate(zip(starts, counts))])
        return dict.fromkeys((OURS, *torch_grouped(dtype)), right) | {ONE: s.a.float() @ s.b[0].float().T}

    return cell(engine, rows, groups, n, k, dtype, f"{title}, N {n}, K {k}", make, want, dict(max_m=rows, grouped="contiguous", groups=groups), torch_grouped(dtype), close_of(k, dtype))


def masked(engine, counts, room, n, k, dtype, title):
    """A cell: a matrix of `room` rows for each group, of which the first ones count."""
    rows, groups = sum(counts), len(counts)
    valid = torch.cat([torch.arange(c) + i * room for i, c in enumerate(counts)]).to(DEVICE)
    usual = round(rows / groups)

    def make(data, results):
        s = types.SimpleNamespace(a=data.take(groups, room, k), b=data.take(groups, n, k), out=results.take(groups, room, n), one=results.take(rows, n), table=ints(counts))
        s.flat = s.a.view(-1, k)[:rows]
        return s

    def want(s):
        each = torch.stack([a.float() @ b.float().T for a, b in zip(s.a, s.b)])
        return {OURS: each, "torch.bmm": each, ONE: s.flat.float() @ s.b[0].float().T}

    def right(got, want, close=close_of(k, dtype)):
        pick = (lambda t: t.view(-1, n)[valid]) if want.dim() == 3 else lambda t: t  # other rows are written by nobody
        return close(pick(got), pick(want))

    peers = {"torch.bmm": lambda s: lambda: torch.bmm(s.a, s.b.transpose(1, 2), out=s.out)} if dtype != FP8 else {}
    problem = dict(max_m=room, grouped="masked", groups=groups)
    return cell(engine, rows, groups, n, k, dtype, f"{title}, N {n}, K {k}", make, want, problem, peers, right, usual if usual < room else 0, room)


def cell(engine, rows, groups, n, k, dtype, title, make, want, problem, peers, right, usual=0, room=0):
    width, name = (1, "f8E4M3FN") if dtype == FP8 else (2, "bf16")
    lie = max(rows, groups * room)
    written = 2 * n * (rows + lie)
    ours = {OURS: lambda early: Groups(product_of(engine, n, k, name, early=early, **problem), room or rows, usual),
        ONE: lambda early: One(product_of(engine, n, k, name, max_m=max(rows, 8192), early=early), rows)}
    return Cell(f"{'fp8' if dtype == FP8 else 'bf16'}, {title}", rows, n, k, (lie * k + groups * n * k) * width + written, max(guess_ms(rows, n, k, width), groups * n * k * width / 4e9), make, ours, peers if GPU or dtype != FP8 else {}, want, right, dtype,
        written=written)


def grouped(engine, _):
    """N, K of DeepSeek-V3's experts. Masked: all rows of a matrix, and about half of them."""
    every = []
    for dtype in (torch.bfloat16, FP8):
        for n, k in sized(engine, ((4096, 7168), (7168, 2048)), ((96, 144),)):
            for groups, rows in sized(engine, ((4, 8192), (8, 4096)), ((3, 40),)):
                every.append(contiguous(engine, [rows] * groups, n, k, dtype, f"contiguous, {groups} x {rows} rows"))
            rows, uneven = sized(engine, (256, [181, 299, 222, 322]), (24, [17, 3, 0, 32]))
            every.append(masked(engine, [rows] * 4, rows, n, k, dtype, f"masked, 4 x {rows} rows"))
            every.append(masked(engine, uneven, 2 * rows, n, k, dtype, f"masked, {', '.join(map(str, uneven))} of {2 * rows} rows"))
    return every


def routed(tokens, experts, active):
    """How many tokens each expert gets, where each token takes the `active` best of random scores."""
    some = torch.Generator().manual_seed(1)
    chosen = torch.rand(tokens, experts, generator=some).topk(active).indices
    return torch.bincount(chosen.flatten(), minlength=experts).tolist()


def experts(engine, _, reader):
    """The layer of DeepSeek-V3: 8 of 256 experts for each of 4096 tokens, beside what reads weights alone. reader(engine): ways to read .read."""
    tokens, count, active = sized(engine, (TOKENS, EXPERTS, ACTIVE), (20, 6, 2))
    counts = routed(tokens, count, active)
    every = [contiguous(engine, counts, n, k, dtype, f"{tokens} tokens to {active} of {count} experts")
        for dtype in (torch.bfloat16, FP8) for n, k in sized(engine, ((4096, 7168), (7168, 2048)), ((96, 144),))]
    reads = reader(engine, lambda s: s.b.view(-1).view(torch.float32)[:READ])
    for c in every:
        c.peers.update(reads)
        c.reads = tuple(reads)
    return every


# ---- reports --------------------------------------------------------------------------------------------------------------
def read_bytes(c, groups):
    return min(4 * READ, groups * c.n * c.k * c.dtype.itemsize)


def report_grouped(results, table, speed):
    """Beside one product, whose rows are as many."""
    table(results)
    print(f"\nTFLOP/s of {OURS} over those of one product of as many rows: median (least..most of the repetitions)")
    for r in results:
        if ONE in r.times:
            print(f"  {speed(r, OURS, ONE)} {r.cell.title}")


def report_experts(results, table, speed):
    """Beside the longer one of what its bytes take at the speed of the best pure read, and its products at that of one product."""
    table(results)
    count = EXPERTS if GPU else 6
    for r in results:
        c, reads = r.cell, [way for way in r.times if way in r.cell.reads]
        if not reads or ONE not in r.times:
            continue
        moved = (c.m * c.k + count * c.n * c.k) * c.dtype.itemsize + 2 * c.m * c.n
        bandwidth = max(read_bytes(c, count) / r.time(way).us for way in reads)  # bytes a us
        least = max(moved / bandwidth, r.time(ONE).us)
        print(f"{c.title}: {r.time(OURS).us:.1f} us; its {moved / 1e6:.0f} MB at {bandwidth / 1e6:.2f} TB/s take {moved / bandwidth:.1f} us, one product of as many rows "
            f"{r.time(ONE).us:.1f} us: {least / r.time(OURS).us:.3f} of the longer one")
    print(f"Rows of experts: {min(routed(TOKENS, EXPERTS, ACTIVE))} to {max(routed(TOKENS, EXPERTS, ACTIVE))}")
