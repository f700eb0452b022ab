# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin: kernels of tests run on the CPU engine under the checker of sett, and a test that launches one with an error fails.

    pytest --sett-check=errors        races, missing fences and waits, memory that nobody wrote, deadlocks ...
    pytest --sett-check=1             also tells warnings and costs, at the end
    pytest --sett-check=strict        besides, stores of equal values to one place by one instruction are a race

    @pytest.mark.sett_finding("race", match="shared memory")   # told of this test, and wanted; else it fails

docs/checking.md of sett says what is found. This module stands beside the package, so that a run without --sett-check loads no sett."""

import os
import re
from collections import Counter
from typing import Any, Iterable, List, Tuple

WORDS = ("errors", "1", "strict")


class News:
    """What was found since it was asked last. One finding comes once a process, so what rises is its count."""

    def __init__(self) -> None:
        import sett

        self._all, self._seen = sett.findings, Counter()  # type: Any, Any
        self()

    def __call__(self) -> "List[Any]":
        fresh = []
        for f in self._all():
            key = f[:4] + f[5:]  # all but the count
            if f.count > self._seen[key]:
                fresh.append(f)
            self._seen[key] = f.count
        return fresh


def judge(found: "Iterable[Any]", wanted: "Iterable[Tuple[str, str]]") -> "Tuple[str, List[Any]]":
    """Why a test fails ("": it does not), and the warnings and costs. Each that is wanted, a kind and a pattern, must be there."""
    why, rest, missing = [], [], list(wanted)
    for f in found:
        kinds = [w for w in wanted if w[0] == f.kind and re.search(w[1], f.text)]
        missing = [w for w in missing if w not in kinds]
        if not kinds:
            (why if f.level == "error" else rest).append(f)
    lines = [f.text for f in why]
    lines += [f"sett_finding: no {kind} was found" + (f" that matches {match!r}" if match else "") for kind, match in missing]
    return "\n".join(lines), rest


def wanted_by(item: "Any") -> "List[Tuple[str, str]]":
    """The marks of a test: sett_finding(kind, match="")."""
    pairs = []
    for mark in item.iter_markers("sett_finding"):
        words = dict(zip(("kind", "match"), mark.args), **mark.kwargs)
        if set(words) - {"kind", "match"} or "kind" not in words or len(mark.args) > 2:
            raise TypeError(f"sett_finding of {item.nodeid} takes a kind, as \"race\", and match, a pattern of its text")
        pairs.append((words["kind"], words.get("match") or ""))
    return pairs


class Checking:
    """The hooks of a run with --sett-check. A report of setup, call or teardown is made when that has ended, by this process."""

    def __init__(self, failure: "Any") -> None:
        self.news, self.failure = News(), failure
        self.also: "List[Tuple[str, Any]]" = []

    def pytest_runtest_makereport(self, item: "Any", call: "Any") -> None:
        found = self.news()
        # A mark is of the test, not of its fixtures; what did not come is no news where the test failed or was skipped.
        wanted = wanted_by(item) if call.when == "call" else []
        why, rest = judge(found, wanted if call.excinfo is None else [w for w in wanted if any(w[0] == f.kind for f in found)])
        self.also += [(item.nodeid, f) for f in rest]
        if why and call.excinfo is None:
            call.excinfo = self.failure(why)
        elif why:
            item.add_report_section(call.when, "sett check", why)

    def pytest_terminal_summary(self, terminalreporter: "Any") -> None:
        told = set()
        for where, f in self.also:
            if f.text not in told:
                if not told:
                    terminalreporter.section("sett check: warnings and costs")
                terminalreporter.line(f"{where}: {f.level}\n{f.text}")
            told.add(f.text)


def pytest_addoption(parser: "Any") -> None:
    text = "run kernels for the CPU under sett's checker, and fail tests that launch one with an error"
    parser.getgroup("sett").addoption("--sett-check", choices=WORDS, default=None, help=text)
    parser.addini("sett_check", text + ": " + ", ".join(WORDS), default="")


def pytest_configure(config: "Any") -> None:
    config.addinivalue_line("markers", 'sett_finding(kind, match=""): with --sett-check, sett\'s checker finds this in the test, and that is right')
    word = config.getoption("--sett-check") or config.getini("sett_check")
    if not word:
        return
    import pytest

    if word not in WORDS:
        raise pytest.UsageError(f"sett_check is {word!r}; it may be {', '.join(WORDS)}")
    os.environ["SETT_CHECK"] = word  # of engines that are opened from now on, in child processes too

    def failure(text: str) -> "Any":
        try:
            pytest.fail(text, pytrace=False)
        except pytest.fail.Exception as e:
            return pytest.ExceptionInfo.from_exception(e)

    config.pluginmanager.register(Checking(failure), "sett-checking")
