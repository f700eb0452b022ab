# SPDX-License-Identifier: Apache-2.0
"""Rows of bench/model.py from logits to tokens, of experts, and of rows and pages that indices choose. Two draws of the same logits differ, so that a
draw is right that its options leave."""

import types

import torch
from model_cells import DEVICE, Cell, bf16, close, empty, equal

import sett

PAGE = 16


def of_rows(t, rows):
    """Rows of a tensor; PyTorch indexes no unsigned ones on a GPU."""
    same = {torch.uint64: torch.int64, torch.uint32: torch.int32}.get(t.dtype, t.dtype)
    return t.view(same)[rows].view(t.dtype)


def binding(family, bind, **options):
    """bind(set): the arguments of a launch."""

    def of(engine, s):
        kernel = engine.compile(family, **{"dtype": "bf16", "no_pdl": 1, **options})
        return kernel.prepare(*bind(s)) if s is not None else None

    return of


def full(value, *shape, dtype=torch.float32):
    return torch.full(shape, value, dtype=dtype, device=DEVICE)


def integers(low, high, *shape):
    return torch.randint(low, high, shape, dtype=torch.int32, device=DEVICE)


# ---- tokens ------------------------------------------------------------------------------------------------------------------
def argmax(tokens, vocabulary):
    def make():
        return types.SimpleNamespace(x=bf16(tokens, vocabulary, scale=3), token=empty(tokens, dtype=torch.int32))

    bind = lambda s: (s.x, s.token)
    right = lambda s, got: equal(s.x.gather(1, got[0].long()[:, None])[:, 0], s.x.amax(-1))
    return Cell(f"argmax, {tokens} x {vocabulary}", 2.0 * tokens * vocabulary, make, binding(sett.kernels.argmax, bind, cols=vocabulary), lambda s: (s.token,),
        lambda s: (torch.argmax(s.x, -1).int(),), right,
        more={f"sett, {n} blocks": binding(sett.kernels.argmax, bind, cols=vocabulary, blocks=n, values=16, threads=512) for n in (1, 2)})


def drawn(p):
    """Of weights that need no sum of 1: by exponential numbers, as gpt-fast does."""
    return torch.argmax(p / torch.empty_like(p).exponential_(1), -1).int()


def sampling(tokens, vocabulary, title, k=0, p=0.0, least=0.0, penalties=False):
    """What is left of the softmax, as vLLM's text has it: min-p, then top-k, then top-p."""

    def make():
        s = types.SimpleNamespace(x=bf16(tokens, vocabulary, scale=3), token=empty(tokens, dtype=torch.int32), temperature=full(0.8, tokens))
        s.seed, s.offset = (torch.arange(tokens, device=DEVICE, dtype=torch.int64).view(torch.uint64) for _ in range(2))
        s.k, s.p, s.least = full(k, tokens, dtype=torch.int32), full(p, tokens), full(least, tokens)
        if penalties:
            s.counts = integers(0, 20, tokens, vocabulary).sub_(17).clamp_(0)
            s.repetition, s.presence, s.frequency = full(1.1, tokens), full(0.2, tokens), full(0.1, tokens)
        return s

    def bind(s):
        rest = (s.k,) if k else ()
        rest += ((s.p,) if p else ()) + ((s.least,) if least else ())
        before = (s.counts, s.repetition, s.presence, s.frequency) if penalties else ()
        return (s.x, *before, s.temperature, s.seed, s.offset, *rest, s.token)

    def left(s, to, slack=0.0):
        """Probabilities, 0 of what is not left; slack: of the bounds, which rounding moves."""
        x = s.x.to(to)
        if penalties:
            by, came = s.repetition.to(to)[:, None], s.counts > 0
            x = torch.where(came, torch.where(x > 0, x / by, x * by), x)
            x = x - s.frequency.to(to)[:, None] * s.counts - s.presence.to(to)[:, None] * came
        x = x / s.temperature.to(to)[:, None]
        q = torch.softmax(x, -1)
        if least:
            q = torch.where(q >= s.least.to(to)[:, None] * q.amax(-1, keepdim=True) * (1 - slack), q, 0)
        if k and not p:
            q = torch.where(q >= q.topk(k, -1).values[:, -1:] * (1 - slack), q, 0)
        if p:
            order, at = q.sort(-1, descending=True)
            if k:
                order = torch.where(torch.arange(vocabulary, device=DEVICE) < k, order, 0)
            order = order / order.sum(-1, keepdim=True)
            order = torch.where(order.cumsum(-1) - order <= s.p.to(to)[:, None] * (1 + slack), order, 0)
            q = torch.zeros_like(q).scatter(-1, at, order)
        return q

    def right(s, got):
        rows = sorted({0, tokens // 2, tokens - 1})
        some = types.SimpleNamespace(**{name: of_rows(t, rows) for name, t in vars(s).items()})
        return bool((left(some, torch.float64, 1e-4).gather(1, got[0][rows].long()[:, None]) > 0).all().item())

    options = {"cols": vocabulary, "top_k": int(k > 0), "top_p": int(p > 0), "min_p": int(least > 0), "penalties": int(penalties)}
    return Cell(f"{title}, {tokens} x {vocabulary}", tokens * vocabulary * (6.0 if penalties else 2.0), make, binding(sett.kernels.sampling, bind, **options), lambda s: (s.token,),
        lambda s: (drawn(left(s, torch.float32)),), right)


# ---- experts -----------------------------------------------------------------------------------------------------------------
def topk(tokens, experts, k, deepseek):
    groups, best = (8, 4) if deepseek else (0, 0)

    def make():
        return types.SimpleNamespace(x=bf16(tokens, experts), bias=torch.rand(experts, device=DEVICE) / 8, w=empty(tokens, k, dtype=torch.float32), id=empty(tokens, k, dtype=torch.int32))

    def plain(s, to=torch.float32):
        if not deepseek:
            w, at = torch.softmax(s.x.to(to), -1).topk(k, -1)
            return w / w.sum(-1, keepdim=True), at.int()
        score = s.x.to(to).sigmoid()
        by = score + s.bias
        of_group = by.view(tokens, groups, -1).topk(2, -1).values.sum(-1)
        keep = torch.zeros_like(of_group).scatter(1, of_group.topk(best, -1).indices, 1.0).bool()
        by = torch.where(keep.repeat_interleave(experts // groups, 1), by, float("-inf"))
        at = by.topk(k, -1).indices
        w = score.gather(1, at)
        return w / w.sum(-1, keepdim=True) * 2.5, at.int()

    def right(s, got):
        """Equal scores may come in any order, so weights are compared, and that they are those of the experts."""
        want, score = plain(s, torch.float64)[0], torch.softmax(s.x.double(), -1) if not deepseek else s.x.double().sigmoid()
        own = score.gather(1, got[1].long())
        return close(got[0].sort(-1).values, want.sort(-1).values, 1e-3, 1e-6) and close(own / own.sum(-1, keepdim=True) * (2.5 if deepseek else 1), got[0].double(), 1e-3, 1e-6)

    options = {"experts": experts, "top_k": k, "renormalise": 1, **({"sigmoid": 1, "bias": 1, "groups": groups, "top_groups": best} if deepseek else {})}
    bind = lambda s: (s.x, *((s.bias,) if deepseek else ()), s.w, s.id, 2.5 if deepseek else 1.0)
    return Cell(f"router, {'sigmoid, groups' if deepseek else 'softmax'}, {tokens} x {experts}, top {k}", tokens * (2.0 * experts + 8.0 * k), make,
        binding(sett.kernels.moe_topk, bind, **options), lambda s: (s.w, s.id), plain, right)


def permute(tokens, experts, k):
    def make():
        s = types.SimpleNamespace(id=torch.rand(tokens, experts, device=DEVICE).topk(k, -1).indices.int().contiguous())
        s.offsets, s.token, s.place = empty(experts + 1, dtype=torch.int32), empty(tokens * k, dtype=torch.int32), empty(tokens, k, dtype=torch.int32)
        return s

    def plain(s):
        flat = s.id.flatten().long()
        order = torch.argsort(flat, stable=True)
        counts = torch.zeros(experts, dtype=torch.int64, device=DEVICE).scatter_add(0, flat, torch.ones_like(flat))
        offsets = torch.cat((torch.zeros(1, dtype=torch.int64, device=DEVICE), counts.cumsum(0)))
        place = torch.empty_like(order).scatter(0, order, torch.arange(tokens * k, device=DEVICE))
        return offsets.int(), (order // k).int(), place.int().view(tokens, k)

    right = lambda s, got: all(equal(g, w) for g, w in zip(got, plain(s)))
    bind = lambda s: (s.id, s.offsets, s.token, s.place)
    return Cell(f"order of experts, {tokens} tokens, top {k} of {experts}", 12.0 * tokens * k, make, binding(sett.kernels.moe_permute, bind, dtype=0, experts=experts, top_k=k),
        lambda s: (s.offsets, s.token, s.place), plain, right)


def unpermute(tokens, cols, k):
    def make():
        return types.SimpleNamespace(p=bf16(tokens * k, cols), w=torch.rand(tokens, k, device=DEVICE), place=torch.randperm(tokens * k, device=DEVICE).int().view(tokens, k), y=empty(tokens, cols))

    plain = lambda s: ((s.p[s.place.long()].float() * s.w[..., None]).sum(1).to(torch.bfloat16),)
    right = lambda s, got: close(got[0], (s.p[s.place.long()].double() * s.w[..., None].double()).sum(1), 0.01, 1e-2)
    return Cell(f"sums of experts' rows, {tokens} tokens, top {k}, {cols}", 2.0 * tokens * cols * (k + 1), make,
        binding(sett.kernels.moe_unpermute, lambda s: (s.p, s.w, s.place, s.y), cols=cols, top_k=k), lambda s: (s.y,), plain, right)


# ---- rows, pages, sums -------------------------------------------------------------------------------------------------------
def embedding(n, cols, table, title):
    def make():
        return types.SimpleNamespace(id=integers(0, table, n), w=bf16(table, cols), y=empty(n, cols))

    right = lambda s, got: equal(got[0], s.w[s.id.long()])
    return Cell(f"{title}, {n} x {cols}", 4.0 * n * cols, make, binding(sett.kernels.embedding, lambda s: (s.id, s.w, s.y), cols=cols), lambda s: (s.y,),
        lambda s: (torch.nn.functional.embedding(s.id, s.w),), right)


def copy_pages(pages, cols):
    def make():
        pool = bf16(2 * pages, cols)
        return types.SimpleNamespace(pool=pool, pairs=torch.arange(2 * pages, dtype=torch.int32, device=DEVICE).view(2, pages).T.contiguous())

    def plain(s):
        s.pool[s.pairs[:, 1]] = s.pool[s.pairs[:, 0]]
        return (s.pool[pages:],)

    right = lambda s, got: equal(s.pool[pages:], s.pool[:pages]) and got[0].shape == s.pool[pages:].shape
    return Cell(f"copy of {pages} pages of {cols}", 4.0 * pages * cols, make, binding(sett.kernels.copy_pages, lambda s: (s.pairs, s.pool), cols=cols), lambda s: (s.pool[pages:],), plain, right)


def gather_pages(keys, heads, d):
    pages = -(-keys // PAGE)

    def make():
        s = types.SimpleNamespace(pool=bf16(pages, heads, PAGE, d), y=empty(keys, heads, d))
        s.table, s.offsets = torch.randperm(pages, device=DEVICE).int()[None].contiguous(), torch.tensor([0, keys], dtype=torch.int32, device=DEVICE)
        return s

    plain = lambda s: (s.pool[s.table[0].long()].transpose(1, 2).reshape(-1, heads, d)[:keys].clone(),)
    right = lambda s, got: equal(got[0], plain(s)[0])
    return Cell(f"{keys} keys from pages of {PAGE}, {heads} heads of {d}", 4.0 * keys * heads * d, make,
        binding(sett.kernels.gather_pages, lambda s: (s.pool, s.table, s.offsets, s.y), d=d, page=PAGE), lambda s: (s.y,), plain, right)


def cumsum(rows, n, split):
    blocks = 64

    def make():
        s = types.SimpleNamespace(x=torch.rand(rows, n, device=DEVICE), y=empty(rows, n, dtype=torch.float32))
        s.part, s.done = torch.zeros(rows * blocks, dtype=torch.int64, device=DEVICE).view(torch.uint64), torch.zeros(rows, dtype=torch.int32, device=DEVICE).view(torch.uint32)
        return s

    bind = lambda s: (s.x, s.y, s.part, s.done) if split else (s.x, s.y)
    right = lambda s, got: close(got[0], s.x.double().cumsum(-1), 2e-5, 1e-3)
    return Cell(f"cumulative sum, {rows} x {n}, f32", 8.0 * rows * n, make, binding(sett.kernels.cumsum, bind, dtype="f32", split=int(split), **({"blocks": blocks} if split else {})),
        lambda s: (s.y,), lambda s: (torch.cumsum(s.x, -1),), right)


def rows(pick):
    vocabulary, hidden, experts, many = pick(128256, 700), pick(4096, 64), pick(128, 32), pick(256, 64)
    draw = lambda t, title, **options: sampling(t, vocabulary, title, **options)
    return {
        "argmax": lambda t: argmax(t, vocabulary),
        "sampling": lambda t: draw(t, "temperature"),
        "sampling_top_k": lambda t: draw(t, "top-k 50", k=50),
        "sampling_top_p": lambda t: draw(t, "top-p 0.9", p=0.9),
        "sampling_top_k_top_p": lambda t: draw(t, "top-k 50, top-p 0.9", k=50, p=0.9),
        "sampling_min_p": lambda t: draw(t, "min-p 0.05", least=0.05),
        "sampling_penalties": lambda t: draw(t, "penalties", penalties=True),
        "moe_topk": lambda t: topk(t, experts, 8, False),
        "moe_topk_groups": lambda t: topk(t, many, 8, True),
        "moe_permute": lambda t: permute(t, experts, 8),
        "moe_gather": lambda t: embedding(8 * t, hidden, t, "rows in the order of experts"),
        "moe_unpermute": lambda t: unpermute(t, hidden, 8),
        "embedding": lambda t: embedding(t, hidden, vocabulary, "embedding"),
        "copy_pages": lambda t: copy_pages(t, PAGE * 8 * pick(128, 16)),
        "gather_pages": lambda t: gather_pages(PAGE * t, pick(8, 2), pick(128, 16)),
        "cumsum": lambda t: cumsum(t, hidden, False),
        "cumsum_long": lambda t: cumsum(1, hidden * t, True),
    }
