# SPDX-License-Identifier: Apache-2.0
# Cuts out of C sources what some functions need, and writes it as one file: the part of the library that an exported kernel
# carries is the library's own code, not a second writing of it.
#
#     awk -v roots="f g" -v open="g" -v given="t u" -v before="h" -f slice.awk a.c b.c ... >out.c
#
# A file is taken apart into its declarations (with the comment above each), and a declaration is kept if a root, or one that is
# kept, names what it declares. Headers that the files include in quotes, and those of include/, are taken apart likewise. What the
# list `given` names is left out, as whoever includes the result has it, and what the roots `before` need, as it was written before.
# All that has linkage becomes static, but for `open`. The sources must be written as this project writes: a declaration begins and
# ends a line, directives are not indented, and of two .c files no static names that are both kept are equal.
BEGIN {
    NONE = split("", item)
    for (i = split(open, w, " "); i; i--) opened[w[i]] = 1
    for (i = split(given, w, " "); i; i--) have[w[i]] = 1
    for (i = 1; i < ARGC; i++) take_file(ARGV[i])
    keep(before)
    for (i in kept) left[i] = 1
    keep(roots)
    write()
    exit bad
}
function keep(names,   i, w) {
    for (i = split(names, w, " "); i; i--) {
        if (!(("", w[i]) in of)) stop("no file declares the root " w[i])
        reach("", w[i])
    }
    while (queued) follow(queue[queued--])
}
function stop(why) {print "slice.awk: " why >"/dev/stderr"; bad = 1}

# ---- taking apart ---------------------------------------------------------------------------------------------------
function there(f,   line, is) {is = (getline line <f) >= 0; close(f); return is}
function take_file(f,   n, i, line, lines, base, in_struct) {
    if (f in taken) return
    taken[f] = 1
    n = 0
    while ((getline line <f) > 0) {
        if (line ~ /^(typedef )?struct [^;]*$/) in_struct = 1
        if (line ~ /^}/) in_struct = 0
        if (in_struct && line ~ /^#include ".*\.def"$/) n = take_rows(f, n, line)
        else line_of[f, ++n] = line
    }
    close(f)
    if (!n) stop("cannot read " f)
    take_lines(f, n)
}
# A struct whose fields are the rows of a table beside it has them in the place of the include, without what is said of the table.
function take_rows(f, n, line,   at, in_note, row) {
    at = f
    sub(/^[^"]*"/, "", line); sub(/".*/, "", line); sub(/[^\/]*$/, line, at)
    if (!there(at)) stop("cannot read " at)
    while ((getline row <at) > 0) {
        if (row ~ /^\/\*/) in_note = 1
        if (!in_note) line_of[f, ++n] = row
        if (row ~ /\*\//) in_note = 0
    }
    close(at)
    return n
}
# A header's guard is its first conditional, around all of it.
function take_lines(f, n,   i, line, guard, note, in_note, word, skip, depth, to) {
    for (i = 1; i <= n; i++) {
        line = line_of[f, i]
        if (in_note || line ~ /^\/\*/) {
            note = in_note ? note "\n" line : line
            in_note = line !~ /\*\//
            if (!in_note && note ~ /^\/\* ---- /) note = ""
            continue
        }
        if (line ~ /^ ?$/) {note = ""; continue}
        word = directive(line)
        if (word == "include") {note = ""; take_include(f, line); continue}
        if (word == "ifndef" && f ~ /\.h$/ && !guard) {guard = 1; i++; note = ""; continue}
        if (word == "endif") {note = ""; continue} # of a guard, or of a part of which one side was taken
        if ((word == "ifndef" && line ~ /__cplusplus/) || (word == "ifdef" && line ~ /_H_$/)) {note = ""; continue} # a header that is there
        if (word == "ifdef" && line ~ /__cplusplus/) {i = other_side(f, i, n); note = ""; continue}
        to = last_of(f, i, n, word, line)
        take_item(f, i, to, note)
        note = ""
        i = to
    }
}
function directive(line) {return line ~ /^ *#/ && match(line, /[a-z]+/) ? substr(line, RSTART, RLENGTH) : ""}
# Behind the part of C++: at its #else, or its #endif.
function other_side(f, i, n,   depth, word) {
    for (; i <= n; i++) {
        word = directive(line_of[f, i])
        if (word ~ /^if/) depth++
        if (word == "endif" && !--depth) return i
        if (word == "else" && depth == 1) {drop_end(f, i + 1, n); return i}
    }
    return n
}
function drop_end(f, i, n,   depth, word) {
    for (depth = 1; i <= n; i++) {
        word = directive(line_of[f, i])
        if (word ~ /^if/) depth++
        if (word == "endif" && !--depth) {line_of[f, i] = " "; return}
    }
}
function take_include(f, line,   name, at) {
    name = line
    sub(/^ *# *include *["<]/, "", name); sub(/[">].*/, "", name)
    if (line ~ /</ && name !~ /^sett\//) {
        if (!((f, name) in asked)) {asked[f, name] = 1; asks[f] = asks[f] " " name}
        return
    }
    at = f
    if (line ~ /</) at = "include/" name
    else if (!sub(/[^\/]*$/, name, at) || !there(at)) at = name
    take_file(at)
}
# Where what begins on line i ends. A conditional part is one piece, and so is what a macro that is undefined again stands for.
function last_of(f, i, n, word, line,   depth, code, name, j) {
    if (word ~ /^if/) {
        for (; i <= n; i++) {
            word = directive(line_of[f, i])
            if (word ~ /^if/) depth++
            if (word == "endif" && !--depth) return i
        }
        return n
    }
    if (word == "define") {
        name = macro_of(line)
        j = end_of_macro(f, i, n)
        for (i = j + 1; i <= n && !(directive(line_of[f, i]) == "define" && macro_of(line_of[f, i]) == name); i++)
            if (line_of[f, i] ~ ("^ *# *undef +" name "$")) return i
        return j
    }
    if (word != "") return i
    plain_in = 0
    for (; i <= n; i++) {
        if (directive(line_of[f, i]) != "") continue
        code = plain(line_of[f, i])
        depth += gsub(/[{(]/, "&", code) - gsub(/[})]/, "&", code)
        if (!depth && !plain_in && code ~ /[;}] *$/) return i
    }
    return n
}
# Its lines, and those of a comment that begins on one of them.
function end_of_macro(f, i, n) {
    plain_in = 0
    for (; i <= n; i++) {
        plain(line_of[f, i])
        if (!plain_in && line_of[f, i] !~ /\\$/) return i
    }
    return n
}
function macro_of(line) {sub(/^ *# *define +/, "", line); sub(/[^A-Za-z0-9_].*/, "", line); return line}
# Without strings, characters and comments; plain_in: inside a comment.
function plain(line,   out, c) {
    gsub(/\\\\/, "", line); gsub(/\\["']/, "", line)
    gsub(/'"'/, "' '", line); gsub(/'[{}()]'/, "' '", line)
    while (line != "") {
        if (plain_in) {
            if (!(c = index(line, "*/"))) return out
            line = substr(line, c + 2); plain_in = 0
        }
        if (!match(line, /"|\/\*|\/\//)) return out line
        out = out substr(line, 1, RSTART - 1)
        c = substr(line, RSTART, RLENGTH)
        line = substr(line, RSTART + RLENGTH)
        if (c == "//") return out
        if (c == "/*") plain_in = 1
        else {out = out "\"\""; line = substr(line, index(line, "\"") + 1)}
    }
    return out
}

# ---- what a piece declares -----------------------------------------------------------------------------------------------
function take_item(f, from, to, note,   i, text, code, group) {
    NONE++
    for (i = from; i <= to; i++) text = text (i > from ? "\n" : "") line_of[f, i]
    plain_in = 0
    group = directive(line_of[f, from]) != ""
    for (i = from; i <= to; i++) code = code " " plain(line_of[f, i])
    item[NONE] = text; comment[NONE] = note; file[NONE] = f; code_of[NONE] = code
    if (group) declare_group(NONE, f, from, to)
    else if (declare(NONE, f, code)) linked[NONE, 1] = 1
}
# The macros of a piece, and what stands between them.
function declare_group(k, f, from, to,   i, at, word, j, code) {
    for (i = from; i <= to; i++) {
        word = directive(line_of[f, i])
        if (word == "define") {
            if (to == from || !undefined(f, i, to)) name(k, f, macro_of(line_of[f, i]), 1)
            formal(k, line_of[f, i])
            i = end_of_macro(f, i, to)
        } else if (word == "" && line_of[f, i] ~ /[^ ]/) {
            j = last_of(f, i, to, "", "")
            code = ""
            plain_in = 0
            for (at = i; at <= j; at++) if (directive(line_of[f, at]) == "") code = code " " plain(line_of[f, at])
            if (declare(k, f, code)) linked[k, i - from + 1] = 1
            i = j
        }
    }
}
function undefined(f, i, to) {return line_of[f, to] ~ ("^ *# *undef +" macro_of(line_of[f, i]) "$")}
# A macro's parameters are names of nobody.
function formal(k, line,   n, part, i) {
    if (line !~ /^ *# *define +[A-Za-z0-9_]+\(/) return
    sub(/^[^(]*\(/, "", line); sub(/\).*/, "", line)
    n = split(line, part, /[ ,]+/)
    for (i = 1; i <= n; i++) own[k, part[i]] = 1
}
function name(k, f, n, local,   at) {
    at = local && f ~ /\.c$/ ? f : ""
    if (n == "" || ((at, n, k) in said)) return
    said[at, n, k] = 1
    of[at, n] = of[at, n] " " k
    if (at != "") locals[k] = locals[k] " " n
    if (n in opened) shown[k] = 1
    if (n in have) left[k] = 1
}
function last_name(t) {sub(/[^A-Za-z0-9_]*$/, "", t); return match(t, /[A-Za-z_][A-Za-z0-9_]*$/) ? substr(t, RSTART, RLENGTH) : ""}
# Has it linkage?
function declare(k, f, code,   t, head, body, tail, local, first) {
    t = code
    while (match(t, /__attribute__ *\(\([^()]*(\([^()]*\))?[^()]*\)\)/)) t = substr(t, 1, RSTART - 1) substr(t, RSTART + RLENGTH)
    gsub(/(SETT_PRINTF|SETT_KEEPS_ADDRESS|SETT_API)(\([^()]*\))?/, "", t)
    gsub(/[ \t]+/, " ", t); sub(/^ /, "", t)
    if (t ~ /^(_S|s)tatic_assert/) return 0
    if (t ~ /^(struct|union|enum) [A-Za-z0-9_]+ ?;/) {
        name(k, f, last_name(t), 1)
        return 0
    }
    first = match(t, /[({=;[]/) ? substr(t, RSTART, 1) : ""
    head = substr(t, 1, RSTART - 1)
    if (t ~ /^(typedef |static |const )*(struct|union|enum)( [A-Za-z0-9_]+)? \{/) {
        body = substr(t, index(t, "{") + 1)
        tail = body
        while (tail ~ /\{[^{}]*\}/) gsub(/\{[^{}]*\}/, "", tail)
        sub(/^[^}]*\}/, "", tail); sub(/[=[].*/, "", tail)
        if (match(head, /(struct|union|enum) [A-Za-z0-9_]+/)) {local = substr(head, RSTART, RLENGTH); sub(/.* /, "", local); name(k, f, local, 1)}
        if (head ~ /enum/) enumerators(k, f, body)
        name(k, f, last_name(tail), 1)
        return head !~ /typedef/ && last_name(tail) != ""
    }
    if (t ~ /^typedef /) {
        if (match(t, /\( ?\* ?[A-Za-z0-9_]+ ?\)/)) name(k, f, last_name(substr(t, RSTART, RLENGTH)), 1)
        else name(k, f, last_name(first == "(" ? head : t), 1)
        return 0
    }
    name(k, f, last_name(head), t ~ /(^| )static /)
    return 1
}
function enumerators(k, f, body,   n, part, i) {
    sub(/\}.*/, "", body)
    while (body ~ /\([^()]*\)/) gsub(/\([^()]*\)/, "", body)
    n = split(body, part, ",")
    for (i = 1; i <= n; i++) {
        sub(/^ */, "", part[i]); sub(/[^A-Za-z0-9_].*/, "", part[i])
        name(k, f, part[i], 1)
    }
}

# ---- what is kept ------------------------------------------------------------------------------------------------------------
function reach(f, n,   list, i, m) {
    m = split(of[f, n], list, " ")
    for (i = 1; i <= m; i++) if (!(list[i] in kept)) {kept[list[i]] = 1; queue[++queued] = list[i]}
}
function follow(k,   t, w, f) {
    f = file[k]
    if (k in left) return
    t = code_of[k]
    gsub(/(\.|->) *[A-Za-z_][A-Za-z0-9_]*/, " ", t)
    while (match(t, /[A-Za-z_][A-Za-z0-9_]*/)) {
        w = substr(t, RSTART, RLENGTH)
        t = substr(t, RSTART + RLENGTH)
        if (((k, w) in own) || w == "SETT_API") continue
        if ((f, w) in of) reach(f, w)
        else if (("", w) in of) reach("", w)
    }
}

# ---- writing -----------------------------------------------------------------------------------------------------------------
function write(   k, i, n, w, f, who) {
    for (k = 1; k <= NONE; k++) {
        if (!(k in kept)) continue
        n = split(locals[k], w, " ")
        for (i = 1; i <= n; i++) {
            if ((w[i] in who) && who[w[i]] != file[k]) stop(w[i] " is of " who[w[i]] " and of " file[k] ": give one another name")
            who[w[i]] = file[k]
        }
        n = k in left ? 0 : split(asks[file[k]], w, " ")
        for (i = 1; i <= n; i++) if (!(w[i] in needs)) {needs[w[i]] = 1; sorted[++m] = w[i]}
    }
    for (i = 2; i <= m; i++) for (k = i; k > 1 && sorted[k] < sorted[k - 1]; k--) {f = sorted[k]; sorted[k] = sorted[k - 1]; sorted[k - 1] = f}
    for (i = 1; i <= m; i++) print "#include <" sorted[i] ">"
    for (k = 1; k <= NONE; k++) {
        if (!(k in kept) || (k in left)) continue
        if (file[k] != f) {f = file[k]; print "\n/* ---- " f " ---- */"}
        else print ""
        if (comment[k] != "") print comment[k]
        n = split(item[k], w, "\n")
        for (i = 1; i <= n; i++) print (k, i) in linked ? with_linkage(w[i], item[k], k in shown) : w[i]
    }
}
# Static may stand on a later line than the first.
function with_linkage(line, t, open) {
    gsub(/(SETT_API|SETT_KEEPS_ADDRESS) /, "", line)
    sub(/^extern /, "", line)
    return open || line ~ /(^| )static / || t ~ /^__attribute__[^;{=]*static / ? line : "static " line
}
