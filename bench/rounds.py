# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks in Python share: several ways to do a thing, timed in rounds, each round in a new random order."""

import random

import torch


def in_turn(ways, rounds):
    """(number of the round, name, way), rounds x ways of them."""
    for number in range(rounds):
        for name in random.sample(list(ways), len(ways)):
            yield number, name, ways[name]


def device_ms(ways, rounds=31, each=1):
    """What one run of each way takes on the device, by name and in order of the rounds: the mean of `each` behind one that is not timed."""
    times = {name: [] for name in ways}
    for _, name, way in in_turn(ways, rounds):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        way()
        begin.record()
        for _ in range(each):
            way()
        end.record()
        end.synchronize()
        times[name].append(begin.elapsed_time(end) / each)
    return times
