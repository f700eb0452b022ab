#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every public call that takes a build or an object of one, from the headers: one line each for tests/unit/test_stale.c.
#     CALL(sett_where_at, "vaa", sett_where_at(SETT_HERE, V(0), A(1), A(2)))
# The letters say what the operands are: v value, l layout, t tensor, s struct, a argument, r region, d divisor; m c an atom of a
# product, of a copy, x p tiled, y q a thread's slice, u a tensor map, i a pipeline, e its state,
# k a scheduler, w a work tile. A call with an operand of
# another kind, such as a struct of arguments, is BY_HAND(name, n): the test has to define it, with n operands, which are
# the objects among the struct's members too. stdin: the headers, preprocessed.
tr '\n' ' ' | sed 's/__attribute__ *((visibility("default")))/\n@/g; s/__attribute__ *(([^@;]*))//g; s/typedef struct/\ntypedef struct/g' |
    awk '
function object(type) {
    if (type ~ /^(const )?sett_val \*$/) return "v"
    if (type ~ /^(const )?sett_layout \*$/) return "l"
    if (type ~ /^(const )?sett_tensor \*$/) return "t"
    if (type ~ /^(const )?sett_struct \*$/) return "s"
    if (type ~ /^(const )?sett_mma_atom \*$/) return "m"
    if (type ~ /^(const )?sett_tiled_mma \*$/) return "x"
    if (type ~ /^(const )?sett_thr_mma \*$/) return "y"
    if (type ~ /^(const )?sett_copy_atom \*$/) return "c"
    if (type ~ /^(const )?sett_tiled_copy \*$/) return "p"
    if (type ~ /^(const )?sett_thr_copy \*$/) return "q"
    if (type ~ /^(const )?sett_tma \*$/) return "u"
    if (type ~ /^(const )?sett_pipeline \*$/) return "i"
    if (type ~ /^(const )?sett_pipeline_state \*$/) return "e"
    if (type ~ /^(const )?sett_scheduler \*$/) return "k"
    if (type ~ /^(const )?sett_work_tile \*$/) return "w"
    if (type == "sett_region *") return "r"
    if (type == "sett_fast_divmod") return "d"
    return type == "sett_arg" ? "a" : ""
}
function trim(x) { gsub(/^ +| +$/, "", x); gsub(/ +/, " ", x); return x }
# A type without the name behind it.
function type_of(p) {
    p = trim(p)
    if (p ~ /\*[A-Za-z_]+$/) sub(/[A-Za-z_]+$/, "", p)
    else if (p ~ /^(const )?[a-z_0-9A-Z]+ [a-z_]+$/) sub(/ [a-z_]+$/, "", p)
    return trim(p)
}
# Members of a struct that are objects, and how many of them lie in one declaration.
/^typedef struct/ && match($0, /\{[^}]*\} *sett_[a-z_]+/) {
    whole = substr($0, RSTART + 1, RLENGTH - 1); name = whole
    sub(/.*\} */, "", name); sub(/\}.*/, "", whole)
    n = split(whole, member, ";")
    for (i = 1; i <= n; i++) {
        first = member[i]; sub(/,.*/, "", first)
        type = trim(first) == "" ? "" : type_of(first)
        if (type != "")
            members[name] += (object(type) != "" || type == "const sett_arg *" ? 1 : members[type]) * split(member[i], unused, ",")
    }
}
/^@/ {
    rest = substr($0, 2); sub(/[;{].*/, "", rest)
    while (match(rest, /sett_[a-z0-9_]+ *\([^()]*\)/)) {
        call = substr(rest, RSTART, RLENGTH); rest = substr(rest, RSTART + RLENGTH)
        name = call; sub(/ *\(.*/, "", name)
        list = call; sub(/^[^(]*\(/, "", list); sub(/\)$/, "", list)
        kinds = ""; text = ""; hand = 0; inner = 0; build = 0; n = split(list, param, ",")
        for (i = 1; i <= n; i++) {
            type = type_of(param[i]); k = object(type); at = length(kinds)
            if (k != "") { text = text ", " toupper(k) "(" at ")"; kinds = kinds k; continue }
            if (type == "const sett_arg *") { text = text ", &A(" at ")"; kinds = kinds "a"; continue }
            bare = type; gsub(/const |\*| /, "", bare)
            if (type == "sett_site") text = text ", SETT_HERE"
            else if (type == "sett_build *") { text = text ", b"; build = 1 }
            else if (type == "const char *" && param[i] ~ /format/) text = text ", \"{}\""
            else if (type == "const char *") text = text ", \"x\""
            else if (type == "char *") text = text ", buf"
            else if (type == "size_t") text = text ", sizeof buf"
            else if (type == "_Bool") text = text ", false"
            else if (type == "sett_dtype") text = text ", SETT_F32"
            else if (type == "sett_val **") text = text ", &out"
            else if (type == "void *") text = text ", NULL"
            else if (type == "int" || type == "int64_t") text = text ", 2"
            else if (type ~ /^sett_[a-z_]+$/ && type !~ /_fn$/ && !members[bare]) text = text ", (" type ")0"
            else hand = 1
            inner += members[bare]
        }
        if (name == "sett_build_end") continue # test_stale.c ends one twice
        if (hand && (build || length(kinds) + inner)) print "BY_HAND(" name ", " length(kinds) + inner ")"
        else if (build || kinds != "") print "CALL(" name ", \"" kinds "\", " name "(" substr(text, 3) "))"
    }
}'
