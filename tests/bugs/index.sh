#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the index of this folder from the heads and marks of its programs: tests/bugs/index.sh >tests/bugs/index.json
# It complains of a program without a kind, a fix or a line marked 1, of two that have one name, and of a CUDA C++ text (cuda/NAME.cu) of no
# program, without a marked line or without a twin.
set -u
cd "$(dirname "$0")" || exit 1
find . -mindepth 2 -name '*.c' | sed 's|^\./||' | LC_ALL=C sort | xargs awk '
    function text(s) {gsub(/\\/, "\\\\", s); gsub(/"/, "\\\"", s); return "\"" s "\""}
    function field(line, key,   at) {
        at = index(line, key ": ")
        if (!at || substr(line, 1, at - 1) !~ /^[\/* ]*$/) return 0
        value[key] = substr(line, at + length(key) + 2)
        sub(/ *\*\/ *$/, "", value[key])
        return 1
    }
    function complain(why) {print "index.sh: " file ": " why >"/dev/stderr"; bad = 1}
    # Adds the marks of a line to sites; first becomes true if one is of the first access.
    function marks(rest, at,   mark, one, main) {
        while (match(rest, /\/\* @[^*]*\*\//)) {
            mark = substr(rest, RSTART + 3, RLENGTH - 5)
            rest = substr(rest, RSTART + RLENGTH)
            while (match(mark, /@([12] )?[a-z]+/)) {
                one = substr(mark, RSTART + 1, RLENGTH - 1)
                mark = substr(mark, RSTART + RLENGTH)
                main = one ~ /^[12] / ? substr(one, 1, 1) : 0
                sub(/^[12] /, "", one)
                if (one !~ /^(write|read|atomic|copy|use|wait|arrive|init|barrier|fence|release|alloc)$/) complain("line " at ": no role: " one)
                if (main == 1) first = 1
                sites = sites (sites == "" ? "" : ", ") "{\"line\": " at ", \"role\": " text(one) ", \"main\": " main "}"
            }
        }
    }
    # The CUDA C++ text of a program, where there is one.
    function cuda(name,   path, line, at, twin) {
        path = "cuda/" name ".cu"
        sites = ""
        first = 0
        while ((getline line <path) > 0) {
            marks(line, ++at)
            if (line ~ /^#ifn?def TWIN$/) twin = 1
        }
        close(path)
        if (!at) return ""
        texts++
        if (!first) complain(path ": no line is marked @1")
        if (!twin) complain(path ": no #ifdef TWIN")
        return ",\n   \"cuda\": {\"file\": " text("tests/bugs/" path) ", \"sites\": [" sites "]}"
    }
    function finish(   name, kinds, n, k, i, own, other) {
        if (file == "") return
        name = file
        sub(/.*\//, "", name)
        sub(/\.c$/, "", name)
        if (name !~ /^[a-z][a-z0-9_]*$/) complain("a name is of small letters, digits and _")
        if (name in known) complain("the name is also that of " known[name])
        known[name] = file
        if (!("kind" in value)) complain("no kind")
        if (!("missing" in value)) complain("no missing")
        if (!("fix" in value)) complain("no fix")
        if (!first) complain("no line is marked @1")
        n = split(value["kind"], k, / *\| */)
        for (i = 1; i <= n; i++) {
            if (k[i] !~ /^(race|proxy-fence|proxy-fence-side|order|uninit|bounds|align|deadlock|divergence|barrier-count|init|lifetime|tensormap|pdl|registers|swizzle|bank-conflict|sectors|narrow)$/) complain("no kind of the checker: " k[i])
            kinds = kinds (i > 1 ? ", " : "") text(k[i])
        }
        if (substr(file, 1, index(file, "/") - 1) != k[1]) complain("the folder is not the first kind, " k[1])
        own = sites
        other = cuda(name)
        printf "%s  {\"name\": %s, \"file\": %s, \"kind\": [%s],\n   \"missing\": %s,\n   \"fix\": %s,\n   \"public\": %s,%s\n   \"sites\": [%s]%s}", \
            (count++ ? ",\n" : ""), text(name), text("tests/bugs/" file), kinds, text(value["missing"]), text(value["fix"]), text(value["public"]), ("missed" in value ? " \"missed\": " text(value["missed"]) "," : ""), own, other
    }
    BEGIN {print "["}
    FNR == 1 {finish(); file = FILENAME; delete value; sites = ""; first = 0; head = 1}
    head {field($0, "kind") || field($0, "missing") || field($0, "fix") || field($0, "public") || field($0, "missed")}
    /\*\// && FNR > 1 {head = 0}
    {marks($0, FNR)}
    END {
        finish()
        print "\n]"
        file = "cuda"
        while (("ls cuda" | getline one) > 0) files += one ~ /\.cu$/
        if (files != texts) complain("a text is of no program")
        exit bad
    }'
