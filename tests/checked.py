# SPDX-License-Identifier: Apache-2.0
"""The suites under the checker: tests/checked.py build/release [SUITE...]. Nothing may be told but costs, and what tests/checked.txt says is
meant; no test may end by a signal. What the list has and no run needs is told too, where all suites are run."""
import concurrent.futures
import fnmatch
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

COLUMNS = "suite", "place", "kinds", "reason"
CHECKED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "checked.txt")


def function_at(file, line, sources={}):
    """Name of the function, or of the test, that a line of a file is in."""
    if not os.path.exists(file):  # of a tape that somebody wrote
        return "-"
    if file not in sources:
        with open(file, encoding="utf-8") as f:
            sources[file] = f.read().split("\n")
    for text in reversed(sources[file][:line]):
        test = re.match(r"START_TEST\((\w+)\)", text)
        body = test or re.match(r"(?:\w+[ *]+)+(\w+)\(", text)
        if body and not text.endswith(";"):
            return body.group(1)
    return "*"


class Entry:
    """A line of the list: findings of these kinds, one of whose first two sites is in FILE:FUNCTION, or a test that fails."""

    def __init__(self, text):
        self.text, self.needed = text, False
        self.suite, self.place, self.kinds, self.reason = text.split(None, len(COLUMNS) - 1)
        self.always = not self.kinds.endswith("?")
        self.kinds = self.kinds.rstrip("?").split(",")

    def means(self, suite, places, kind):
        is_it = self.suite == suite and any(fnmatch.fnmatch(kind, k) for k in self.kinds) and any(fnmatch.fnmatch(p, self.place) for p in places)
        self.needed |= is_it
        return is_it


def run(build, suite, folder):
    """Lines of the runner, and the findings of all its processes."""
    env = dict(os.environ, SETT_CHECK="1", SETT_CHECK_JSON=os.path.join(folder, suite + "-%p.json"))
    done = subprocess.run([os.path.join(build, "runner"), suite], env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    findings = []
    for path in glob.glob(os.path.join(folder, suite + "-*.json")):
        with open(path, encoding="utf-8") as f:
            findings += json.load(f)["findings"]
    return done.stdout.split("\n"), findings


def judge(suite, lines, findings, known):
    """What is wrong of a suite's run."""
    wrong = set()
    for f in findings:
        places = [f"{os.path.basename(s['file'])}:{function_at(s['file'], s['line'])}" for s in f["sites"][:2]] or ["-:-"]
        if f["level"] == "cost" or "refused when compiled" in f["text"]:  # a test of a refusal has its text
            continue
        if not any([k.means(suite, places, f["kind"]) for k in known]):
            wrong.add(f"{', '.join(places)}: {f['text']}")
    for line in lines:
        failed = re.match(r"([^:]*):\d+:([FE]):[^:]*:([^:]*):\d+: (.*)", line)
        if failed and not (failed[2] == "F" and any([k.means(suite, [f"{os.path.basename(failed[1])}:{failed[3]}"], "fails") for k in known])):
            wrong.add(line)
    if not any("Checks:" in line for line in lines):
        wrong.add("it did not end")
    return sorted(wrong)


def main():
    build, some = sys.argv[1], sys.argv[2:]
    with open(CHECKED, encoding="utf-8") as f:
        known = [Entry(line.strip()) for line in f if line.strip() and not line.startswith("#")]
    every = subprocess.run([os.path.join(build, "runner"), "-"], stderr=subprocess.PIPE, text=True, check=False).stderr.split("there are: ")[1].split()
    left_out = {k.suite for k in known if k.kinds == ["left-out"]}
    suites = some or [s for s in every if s not in left_out]
    bad = False
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        os.chmod(folder, 0o777)  # some tests run as another user
        for suite, (lines, findings) in zip(suites, pool.map(lambda s: run(build, s, folder), suites)):
            wrong = judge(suite, lines, findings, known)
            bad |= bool(wrong)
            for text in wrong:
                print(f"suite {suite}: {text}", flush=True)
    for k in known if not some else []:
        if not k.needed and k.always and k.suite not in left_out:
            bad = True
            print(f"tests/checked.txt: nothing needed \"{k.text}\"")
    if not bad:
        print(f"{len(suites)} suites under the checker: nothing but what tests/checked.txt lists")
    return bad


if __name__ == "__main__":
    sys.exit(main())
