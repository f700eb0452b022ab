# SPDX-License-Identifier: Apache-2.0
"""Runs each bug of tests/bugs and its twin, and judges what is told of them: tests/bugs.sh says how."""
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

RIGHT, WRONG, REFUSED, FAULT = range(4)
OUTCOME = ("right numbers", "wrong numbers", "refused", "fault")


SAME = ("1", "8", "8")  # workers, of runs by a seed: their reports are the same, byte for byte


def run(program, name, twin, order, folder, threads="0"):
    """Exit code, text and findings (None: no checker wrote them) of one run."""
    path = os.path.join(folder, f"{name}-{int(twin)}-{order.replace(':', '-')}.json")
    env = dict(os.environ, SETT_CPU_ASYNC=order, BUG_THREADS=threads)
    env.pop("SETT_CHECK_JSON", None)
    if os.environ.get("BUGS_OF_THE_ENGINE"):
        env.pop("SETT_CHECK", None)
    else:
        env.update(SETT_CHECK=env.get("SETT_CHECK", "1"), SETT_CHECK_JSON=path)
    try:
        done = subprocess.run([program, name] + ["--twin"] * twin, env=env, capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        return -1, f"{name} was not done after 120 s", None
    findings = None
    if os.path.exists(path):
        with open(path) as f:
            findings = json.load(f)["findings"]
    return done.returncode, done.stdout + done.stderr, findings


def lines(bug, main):
    return {s["line"] for s in bug["sites"] if s["main"] == main}


def told(bug, code, text, findings):
    """(found, both): a finding of a right kind has a line marked 1 or 2, or one has both; a refusal's text has."""
    base, ones, twos = os.path.basename(bug["file"]), lines(bug, 1), lines(bug, 2)
    sets = []
    for f in findings or []:
        if f["kind"] in bug["kind"] or code == REFUSED:
            sets.append({s["line"] for s in f["sites"] if os.path.basename(s["file"]) == base})
    if code == REFUSED or (findings is None and code == FAULT):
        sets.append({int(n) for n in re.findall(re.escape(base) + r":(\d+)", text)})
    found = any(s & (ones | twos) for s in sets)
    both = any(s & ones and (not twos or s & twos) for s in sets)
    return found, both


def judge(program, bug, orders, folder):
    """What is known of a bug after all orders: a dictionary."""
    j = {"bug": bug, "found": False, "both": False, "first": False, "outcomes": set(), "twin": [], "broken": [], "checked": False, "says": []}
    for i, order in enumerate(orders):
        code, text, findings = run(program, bug["name"], False, order, folder)
        if code not in (RIGHT, WRONG, REFUSED, FAULT):
            j["broken"].append(f"{order}: exit code {code}: {text.strip()}")
        found, both = told(bug, code, text, findings)
        j["checked"] |= findings is not None
        j["found"] |= found
        j["both"] |= both
        j["first"] |= found and not i
        j["outcomes"].add(code)
        j["says"] += [f"{order}: {f['kind']} at {', '.join(str(s['line']) for s in f['sites'])}" for f in findings or []] or [f"{order}: {text.strip()}"]
        code, text, findings = run(program, bug["name"], True, order, folder)
        loud = [f for f in findings or [] if f["level"] != "cost" or f["kind"] in bug["kind"]]
        if code or loud:
            j["twin"].append(f"{order}: {text.strip()} {' '.join(f['kind'] + ': ' + f['text'] for f in loud)}")
    if os.environ.get("BUGS_AGAIN"):
        for twin in (False, True):
            again = [run(program, bug["name"], twin, orders[-1], folder, threads) for threads in SAME]
            j["broken"] += [f"{orders[-1]}, workers {threads}: another report: {one[1].strip()}, and {again[0][1].strip()}" for threads, one in zip(SAME, again) if one != again[0]]
    return j


def main():
    program, index = sys.argv[1], sys.argv[2]
    orders = sys.argv[3:] or ["lazy"]
    only = os.environ.get("BUGS", "").split()
    bugs = [b for b in json.load(open(index)) if not only or b["name"] in only or b["kind"][0] in only]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        all_of = list(pool.map(lambda b: judge(program, b, orders, folder), bugs))
    checked = any(j["checked"] for j in all_of)
    columns = ("bugs", "found", "both lines", "in the first order") + OUTCOME + ("twins complained of",)
    print("| kind | " + " | ".join(columns) + " |\n|" + " --- |" * (len(columns) + 1))
    kinds = sorted({b["kind"][0] for b in bugs})
    for kind in kinds + ["all"]:
        of = [j for j in all_of if kind in ("all", j["bug"]["kind"][0])]
        worst = [max(j["outcomes"]) for j in of]  # a fault in any order, else a refusal, else wrong numbers in any
        row = [len(of)] + [sum(j[k] for j in of) for k in ("found", "both", "first")]
        row += [worst.count(code) for code in (RIGHT, WRONG, REFUSED, FAULT)] + [sum(bool(j["twin"]) for j in of)]
        print(f"| {kind} | " + " | ".join(str(n) for n in row) + " |")
    failed = False
    for j in all_of:
        name = j["bug"]["file"]
        for what in ("twin", "broken"):
            if j[what]:
                failed = True
                print(f"{name}: {what}: {j[what][0]}")
        known = j["bug"].get("missed")
        if known and j["found"]:
            failed = True
            print(f"{name}: found, and its head says that it is missed")
        if not (j["found"] and j["both"]):
            failed |= checked and not known
            if known:
                print(f"{name}: missed, as known: {known}")
                continue
            print(f"{name}: {'one line' if j['found'] else 'MISSED'}; wanted {'|'.join(j['bug']['kind'])} at "
                  f"{sorted(lines(j['bug'], 1))}, {sorted(lines(j['bug'], 2))}; {'; '.join(j['says'])[:400]}")
    if not checked:
        failed |= not os.environ.get("BUGS_OF_THE_ENGINE")
        print("no findings were written: what is above is what the engine says without a checker")
    sys.exit(failed)


main()
