#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mutants of kernels: each barrier, fence, wait, arrive and commit of a C source is removed, or moved in the unsafe direction past
at least one access, one at a time, and a program that runs the kernel says under the checker whether that is found.

    tests/mutate/mutate.py BUILD [FILE.c ...] [--list] [--jobs N] [--orders ORDER,...] [--only NAME] [--json OUT]

BUILD: a built tree, such as build/release. FILE: of examples/ and kernels/; without any, all that drivers.txt names. An example is its own
driver; of a file of kernels/ drivers.txt names commands. A mutant is found when a run reports a finding of level error or warning, or the
kernel is refused with a line. equivalent.txt lists those that no order of the kernel's effects can tell from the source, each with a reason;
one there that is found, or that no longer exists, is told. Exit 1: some were neither found nor listed."""

import argparse
import concurrent.futures
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

# What is unsafe: a wait that comes later, a release that comes earlier, a barrier either way.
LATER, EARLIER = 1, 2
CALLS = {
    **dict.fromkeys(("sett_sync_threads", "sett_sync_warp", "sett_barrier", "sett_cluster_sync", "sett_order_wait"), LATER | EARLIER),
    **dict.fromkeys(
        ("sett_cluster_wait", "sett_mbarrier_wait", "sett_consumer_wait", "sett_producer_acquire", "sett_producer_acquire_tx",
         "sett_cp_async_wait_group", "sett_cp_async_wait_all", "sett_tma_store_wait", "sett_tma_store_wait_read", "sett_mma_wait",
         "sett_griddepcontrol_wait", "sett_producer_tail", "sett_pipeline_init_wait", "sett_fence_tma_desc_acquire"), LATER),
    **dict.fromkeys(
        ("sett_barrier_arrive", "sett_cluster_arrive", "sett_cluster_arrive_relaxed", "sett_mbarrier_arrive", "sett_mbarrier_arrive_and_expect_tx",
         "sett_mbarrier_expect_tx", "sett_consumer_release", "sett_producer_commit", "sett_cp_async_commit_group", "sett_cp_async_mbarrier_arrive",
         "sett_cp_async_mbarrier_arrive_noinc", "sett_tma_store_commit", "sett_mma_commit", "sett_mma_fence", "sett_order_arrive",
         "sett_fence_view_async_shared", "sett_fence_mbarrier_init", "sett_fence_acq_rel_gpu", "sett_fence_acq_rel_cta", "sett_fence_acq_rel_cluster",
         "sett_fence_acq_rel_sys", "sett_fence_tma_desc_release", "sett_fence_proxy", "sett_pipeline_init_arrive"), EARLIER),
}
# A kernel without it is launched behind the whole of the one before: right, and slower. Past a declaration it stays as well: that loads what
# programs of one launch have from the host.
STAYS = {"sett_griddepcontrol_wait"}
CALL = re.compile(r"\b(" + "|".join(sorted(CALLS, key=len, reverse=True)) + r")\s*\(")
ACCESS = re.compile(
    r"\bsett_(load|store|copy|set|at|gemm|mma|tma_load|tma_store|tma_reduce|bulk|cp_async|atomic|block_reduce|store_async|ldmatrix|stmatrix|epilogue)\w*\s*\(")


def blank(text):
    """The same text with comments, strings and lines of the preprocessor as spaces: positions stay."""
    out = list(text)
    for m in re.finditer(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|^[ \t]*#(?:\\\n|[^\n])*", text, re.S | re.M):
        for k in range(*m.span()):
            if out[k] != "\n":
                out[k] = " "
    return "".join(out)


def close(text, at):
    """Behind the bracket that ends the one at `at`."""
    depth = 0
    for k in range(at, len(text)):
        depth += text[k] in "([{"
        depth -= text[k] in ")]}"
        if not depth:
            return k + 1
    return len(text)


def statements(text, at, end):
    """Of a block's inside: lists of (first, behind), one a block, the inner ones too. An else belongs to its if."""
    mine, first, k = [], None, at
    inner = []
    while k < end:
        c = text[k]
        if c.isspace():
            k += 1
            continue
        if first is None:
            first = k
        if c in "([":
            k = close(text, k)
        elif c == ";":
            k += 1
            mine.append((first, k))
            first = None
        elif c == "{":
            behind = close(text, k)
            before = text[first:k].rstrip()
            body = not before or before.endswith(")") or re.search(r"\b(else|do)$", before)
            if body:
                inner += statements(text, k + 1, behind - 1)
            k = behind
            if body and not re.match(r"\s*(else|while)\b", text[k:end]):
                mine.append((first, k))
                first = None
        else:
            k += 1
    joined = []
    for s in mine:
        if joined and re.match(r"sett_el(se|if)\b", text[s[0]:s[1]]):
            joined[-1] = (joined[-1][0], s[1])
        else:
            joined.append(s)
    return [joined] + inner


def functions(text):
    """(name, first, behind) of each function's body: a brace at the left margin ends it."""
    for m in re.finditer(r"^(?:static |SETT_\w+ )?[A-Za-z_][\w \t*]*?\**(\w+)\s*\([^;{}]*\)\s*\n?\{", text, re.M):
        yield m.group(1), m.end(), close(text, m.end() - 1) - 1


class Mutant:
    def __init__(self, file, source, function, name, nth, how, edits):
        self.file, self.how, self.edits, self.source = file, how, edits, source
        self.name = f"{file}:{function}:{name}:{nth}:{how}"

    @property
    def line(self):
        return self.source.count("\n", 0, self.edits[0][0]) + 1

    def text(self):
        out = self.source
        for first, behind, to in sorted(self.edits, reverse=True):
            out = out[:first] + to + out[behind:]
        return out


def moved(text, block, i, step, own, ways, past_names):
    """The place past the next statements that way, up to and with the first that accesses memory, or, of what comes later, that tells, of what
    comes earlier, that waits; None: there is none."""
    other = EARLIER if step > 0 else LATER
    ends = [*own, *(name for name, way in ways.items() if way == other)]
    k = i + step
    while 0 <= k < len(block):
        s = text[block[k][0]:block[k][1]]
        if re.match(r"(return|break|continue)\b", s):
            return None
        if ACCESS.search(s) or re.match(r"sett__\w+(?<!_begin)(?<!_end)\s*\(", s) or any(re.search(r"\b%s\s*\(" % f, s) for f in ends):
            return block[k][1] if step > 0 else block[k][0]
        if not past_names and re.match(r"[A-Za-z_][\w ]*[ *]\w+ *=", s):
            return None
        k += step
    return None


def apart(text):
    """The same text with calls that are a list, f(), g();, as statements of their own: positions stay."""
    out = list(text)
    for _, first, behind in functions(text):
        for block in statements(text, first, behind):
            for at, end in block:
                commas = []
                while re.match(r"\s*\w+\s*\(", text[at:end]):
                    at = close(text, text.index("(", at))
                    if text[at] != ",":
                        break
                    commas.append(at)
                    at += 1
                for k in commas if text[at:end].strip() == ";" else ():
                    out[k] = ";"
    return "".join(out)


def sorts(text):
    """Of a file's functions: those that access memory, or call what may; and those that only wait or only tell, as in CALLS: their calls are moved
    like those in them."""
    bodies = {name: text[first:behind] for name, first, behind in functions(text)}
    called = {name: set(re.findall(r"\b(\w+)\s*\(", body)) for name, body in bodies.items()}
    loud = {name for name, body in bodies.items() if re.search(r"\bsett__\w+\s*\(|" + ACCESS.pattern, body)}
    more = loud
    while more:
        more = {name for name in bodies if called[name] & loud} - loud
        loud |= more
    waits = {}
    for name in bodies:
        ways = {way for of, way in {**CALLS, **waits}.items() if of in called[name]}
        if len(ways) == 1 and not ways & {LATER | EARLIER} and name not in loud and "sett_make" not in bodies[name]:
            waits[name] = ways.pop()
    return loud, waits


def moves_as(text, at, end, first):
    """Is this call all that a statement which begins at `first` does, behind conditions?"""
    while first < at:
        m = re.match(r"\s*(?:sett_)?if\s*\(", text[first:at])
        if not m:
            return False
        first = close(text, first + m.end() - 1)
        first += len(text[first:at]) - len(text[first:at].lstrip())
    return text[end] == ";" and not re.match(r"\s*(sett_)?else\b", text[end + 1:])


def mutants(file):
    with open(os.path.join(ROOT, file)) as f:
        source = f.read()
    text = apart(blank(source))
    source = "".join(";" if t == ";" else s for s, t in zip(source, text))
    own, waits = sorts(text)
    ways = {**CALLS, **waits}
    calls = re.compile(r"\b(" + "|".join([*waits, CALL.pattern[3:].split(")")[0]]) + r")\s*\(")
    out = []
    for function, first, behind in functions(text):
        seen = {}
        blocks = statements(text, first, behind)
        where = [(s, b, i) for b in blocks for i, s in enumerate(b)]
        for m in calls.finditer(text, first, behind):
            at, end = m.start(), close(text, m.end() - 1)
            before, after = text[:at].rstrip(), text[end:].lstrip()
            if not before.endswith((";", "{", "}", ")", ",", "else")) or after[:1] not in (";", ","):
                continue  # its value is used
            name = m.group(1)
            nth = seen[name] = seen.get(name, 0) + 1
            if name not in STAYS and name not in waits:
                out.append(Mutant(file, source, function, name, nth, "removed", [(at, end, "(void)0")]))
            for s, block, i in where:
                if s[1] != end + 1 or not moves_as(text, at, end, s[0]):
                    continue
                for way, how, step in ((LATER, "later", 1), (EARLIER, "earlier", -1)):
                    to = moved(text, block, i, step, own, ways, name not in STAYS) if ways[name] & way else None
                    if to is not None:
                        out.append(Mutant(file, source, function, name, nth, how, [(*s, ";"), (to, to, " " + source[slice(*s)] + " ")]))
                break
    return out


def read_table(name):
    with open(os.path.join(HERE, name)) as f:
        for line in f:
            line = line.split("#")[0].strip() if name == "drivers.txt" else line.strip()
            if line and not line.startswith("#"):
                yield line


class Build:
    """Compiles one file again, and links what it is in, in a folder of its own."""

    def __init__(self, build):
        self.build = build
        self.commands = {}

    def make(self, target):
        if target not in self.commands:
            out = subprocess.run(["make", "-s", "V=1", "-n", "-W", self.source_of(target), target], cwd=ROOT, capture_output=True, text=True).stdout
            self.commands[target] = [l for l in out.splitlines() if re.match(r"\S*(cc|gcc|clang)\S* ", l)]
        return self.commands[target]

    def source_of(self, target):
        return self.current

    def run(self, mutant, folder):
        """Builds into the folder; the environment for the program, or None: it does not compile."""
        self.current = mutant.file
        example = mutant.file.startswith("examples/")
        stem = os.path.splitext(os.path.basename(mutant.file))[0]
        source = os.path.join(folder, os.path.basename(mutant.file))
        with open(source, "w") as f:
            f.write(f'#line 1 "{mutant.file}"\n' + mutant.text())
        target = f"{self.build}/examples/{stem}" if example else f"{self.build}/libsett-kernels.so.0"
        obj = f"{self.build}/obj/{mutant.file[:-2]}.o"
        own_obj = os.path.join(folder, stem + ".o")
        flags = self.flags(obj, mutant.file)
        c = subprocess.run(shlex.split(flags) + ["-w", "-O0", "-iquote", os.path.dirname(mutant.file), "-c", "-o", own_obj, source], cwd=ROOT, capture_output=True, text=True)
        if c.returncode:
            return None
        if example:
            program = os.path.join(folder, stem)
            link = ["cc", "-o", program, own_obj, f"-L{self.build}", "-lsett-kernels", "-lsett", f"-Wl,-rpath,{os.path.abspath(os.path.join(ROOT, self.build))}", "-lm", "-ldl", "-lpthread"]
        else:
            objects = [o if o != obj else own_obj for o in self.kernel_objects()]
            link = ["cc", "-shared", "-Wl,--build-id", "-Wl,-soname,libsett-kernels.so.0", "-o", os.path.join(folder, "libsett-kernels.so.0"), *objects, f"-L{self.build}", "-lsett",
                    f"-Wl,-rpath,{os.path.abspath(os.path.join(ROOT, self.build))}", "-lm", "-ldl", "-lpthread"]
        c = subprocess.run(link, cwd=ROOT, capture_output=True, text=True)
        if c.returncode:
            return None
        if not example:  # sett for Python takes the library beside it
            tree = os.path.join(folder, "tree")
            shutil.copytree(os.path.join(ROOT, self.build, "python/tree"), tree, copy_function=os.link)
            of_tree = os.path.join(tree, "sett/lib/libsett-kernels.so.0")
            os.unlink(of_tree)
            os.link(os.path.join(folder, "libsett-kernels.so.0"), of_tree)
        return [[os.path.join(folder, stem)]] if example else None

    def flags(self, obj, file):
        key = "flags of " + file.split("/")[0]
        if key not in self.commands:
            out = subprocess.run(["make", "-s", "V=1", "-n", "-W", file, obj], cwd=ROOT, capture_output=True, text=True).stdout
            line = next(l for l in out.splitlines() if " -c -o " in l)
            self.commands[key] = re.sub(r" -MMD -MP -c -o .*", "", line)
        return self.commands[key]

    def kernel_objects(self):
        if "objects" not in self.commands:
            self.commands["objects"] = [f"{self.build}/obj/kernels/{f[:-2]}.o" for f in sorted(os.listdir(os.path.join(ROOT, "kernels"))) if f.endswith(".c")]
        return self.commands["objects"]


def judge(commands, folder, order, checks):
    """What the runs say: (verdict, words)."""
    findings, bad = [], ""
    env = dict(os.environ, SETT_CHECK=checks, SETT_CHECK_JSON=os.path.join(folder, "found.json"), SETT_DEVICE="cpu", SETT_CACHE_DIR="",
               SETT_CPU_ASYNC=order, PYTHONPATH=os.path.join(folder, "tree"))
    for command in commands:
        try:
            os.unlink(env["SETT_CHECK_JSON"])
        except FileNotFoundError:
            pass
        try:
            c = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, errors="replace", timeout=120)
            said = (c.stdout + c.stderr).strip().splitlines()
            if c.returncode:
                bad = bad or f"exit {c.returncode}: {said[-1] if said else ''}"
        except subprocess.TimeoutExpired:
            bad = bad or "no end"
        try:
            with open(env["SETT_CHECK_JSON"]) as f:
                findings += [x for x in json.load(f)["findings"] if x["level"] != "cost"]
        except (OSError, ValueError):
            pass
        if findings:
            return "found", findings[0]["kind"] + ": " + findings[0]["text"][:150]
    if re.search(r"sett\.Error: \S+\.[ch]:\d+: ", bad):
        return "found", "refused: " + bad
    return ("seen", bad) if bad else ("silent", "")


def run(build, drivers, mutant, orders):
    with tempfile.TemporaryDirectory(prefix="mutant-", dir=os.path.join(ROOT, build.build)) as folder:
        own = build.run(mutant, folder)
        if own is None and mutant.file.startswith("examples/"):
            return "stillborn", ""
        if not mutant.file.startswith("examples/") and not os.path.exists(os.path.join(folder, "libsett-kernels.so.0")):
            return "stillborn", ""
        commands = own or [[sys.executable if x == "python3" else x for x in shlex.split(d)] for d in drivers[mutant.file]]
        seen = ("silent", "")
        for order, checks in [(order, "errors") for order in orders] + [(orders[0], "1")]:  # warnings last: costs take long
            verdict = judge(commands, folder, order, checks)
            if verdict[0] == "found":
                return verdict
            seen = verdict if verdict[0] == "seen" else seen
        return seen


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("build")
    p.add_argument("file", nargs="*")
    p.add_argument("--list", action="store_true")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--orders", default="lazy,random:2,random:6,eager,random:1,random:4,random:8")  # until one finds it
    p.add_argument("--only", default="")
    p.add_argument("--json")
    a = p.parse_intermixed_args()
    drivers = {}
    for line in read_table("drivers.txt"):
        files, command = line.split(":", 1)
        for f in files.split():
            drivers.setdefault(f, []).append(command.strip().replace("$B", a.build))
    listed = dict(line.split(" ", 1) for line in read_table("equivalent.txt"))
    files = a.file or sorted({f"examples/{f}" for f in os.listdir(os.path.join(ROOT, "examples")) if f.endswith(".c") and f != "families.c"} | set(drivers))
    all_of = [m for f in files for m in mutants(f) if a.only in m.name]
    if a.list:
        print("\n".join(f"{m.name} line {m.line}" for m in all_of))
        return 0
    build, result = Build(a.build), {}
    for f in sorted({m.file for m in all_of}):  # what is made once, before threads share it
        build.flags(f"{a.build}/obj/{f[:-2]}.o", f)
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        for m, (verdict, words) in zip(all_of, pool.map(lambda m: run(build, drivers, m, a.orders.split(",")), all_of)):
            result[m.name] = verdict
            if verdict in ("seen", "silent") and m.name not in listed:
                print(f"{verdict}: {m.name} ({m.file}:{m.line}) {words}", flush=True)
            elif verdict == "found" and m.name in listed:
                print(f"found, and listed as equivalent: {m.name}: {words}", flush=True)
    for name in listed:
        if name.split(":")[0] in files and a.only in name and name not in result:
            print(f"listed as equivalent, and there is none such: {name}")
    for what in ("removed", "moved"):
        of = {n: v for n, v in result.items() if v != "stillborn" and n.endswith(":removed") == (what == "removed")}
        count = {v: sum(x == v for x in of.values()) for v in ("found", "seen", "silent")}
        equal = sum(n in listed for n in of)
        print(f"{what}: {len(of)} mutants, {count['found']} found, {equal} equivalent ({100 * equal / max(1, len(of)):.1f} %), "
              f"{sum(v != 'found' and n not in listed for n, v in of.items())} missed ({count['seen']} of all fail otherwise)")
    if a.json:
        with open(a.json, "w") as f:
            json.dump(result, f, indent=1)
    return int(any(v in ("seen", "silent") and n not in listed for n, v in result.items()))


if __name__ == "__main__":
    sys.exit(main())
