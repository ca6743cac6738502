# SPDX-License-Identifier: MIT
# Names in comments of C that nothing has, as FILE:LINE: NAME.  Its input are
#   kind=path a list of the tree's paths; kind=words files whose words exist; kind=look files of C
# A name is a word before "(", a word of two parts or more with "_" between them, or that of a file.
# Parts of at most two letters are indices of a formula (h_i) and say nothing.  A part in capitals
# beside others, NAME or P, stands for any word: model_NAME is there if model_init is.  Quoted
# text is an example.  A name that ends with "_" is there if one begins with it.

function is_c() { return FILENAME ~ /[.](c|h|def|cpp|inc)$/ }

# Splits a line of C: 'code' is what is no comment, 'said' what is one.
function split_line(line,    at, rest) {
    code = said = ""
    while (line != "") {
        if (inside) {
            at = index(line, "*/")
            said = said (at ? substr(line, 1, at - 1) : line) " "
            if (!at) return
            inside = 0
            line = substr(line, at + 2)
            continue
        }
        if (!match(line, /\/[*]|\/\/|"|'/)) {
            code = code line
            return
        }
        code = code substr(line, 1, RSTART - 1) " "
        rest = substr(line, RSTART)
        if (substr(rest, 1, 2) == "/*") {
            inside = 1
            line = substr(rest, 3)
        } else if (substr(rest, 1, 2) == "//") {
            said = said substr(rest, 3)
            return
        } else if (match(rest, /^"([^"\\]|\\.)*"|^'([^'\\]|\\.)*'/)) {
            code = code substr(rest, 1, RLENGTH) " "
            line = substr(rest, RLENGTH + 1)
        } else {
            code = code substr(rest, 2)
            return
        }
    }
}

function take_words(text) {
    while (match(text, /[A-Za-z_][A-Za-z0-9_]*([.][a-z]+)?/)) {
        take_word(substr(text, RSTART, RLENGTH))
        text = substr(text, RSTART + RLENGTH)
    }
}

# A word, and what is before a "." in it, as in attr.axis; the same with a part left out.
function take_word(word,    at) {
    if (word in seen) return
    seen[word]
    at = index(word, ".")
    if (at) {
        there[word]
        take_word(substr(word, at + 1))
        word = substr(word, 1, at - 1)
    }
    there[word]
}

# Do words match it, of which parts in capitals are any?
function fits(name,    pattern, n, part, i, word, lower) {
    if (name in asked) return asked[name]
    lower = name ~ /[a-z]/
    n = split(name, part, "_")
    for (i = 1; i <= n; i++) {
        if (part[i] ~ /^[A-Z]$/ || part[i] ~ /^(NAME|PREFIX)$/ || lower && part[i] ~ /^[A-Z]+$/)
            part[i] = "[A-Za-z0-9_]+"
        pattern = pattern (i > 1 ? "_" : "") part[i]
    }
    if (index(pattern, "[") || name ~ /_$/)
        for (word in there)
            if (word ~ ("^" pattern (name ~ /_$/ ? "" : "$"))) return asked[name] = 1
    return asked[name] = 0
}

# Is there a name of so many parts that says something?
function says(name,    part, n, i, long) {
    n = split(name, part, "_")
    for (i = 1; i <= n; i++) long += length(part[i]) > 2
    return long > 1
}

function look(text,    name, before) {
    while (match(text, /[A-Za-z0-9_.\/-]*[A-Za-z0-9_][.](c|h|def|lua|sh|py|awk|md|cmake)/)) {
        name = substr(text, RSTART, RLENGTH)
        before = substr(text, 1, RSTART - 1)
        text = substr(text, RSTART + RLENGTH)
        look_words(before)
        if (match(text, /^[A-Za-z0-9_]+/)) {    # "Graph.short": no file of the shell
            name = name substr(text, 1, RLENGTH)
            text = substr(text, RLENGTH + 1)
            look_words(name)
        } else {
            look_file(name)
        }
    }
    look_words(text)
}

function look_file(name) {
    sub(/^[.\/]+/, "", name)
    if (!(name in path) && !(name in there) && name !~ /(^|[\/_])[A-Z]+[._\/]/)
        print FILENAME ":" FNR ": " name
}

function look_words(text,    name, call) {
    while (match(text, /[A-Za-z_][A-Za-z0-9_]*[(]?/)) {
        name = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        call = sub(/[(]$/, "", name)
        if (name in there || name in path || !(call && length(name) > 2 || says(name))) continue
        if (!fits(name)) print FILENAME ":" FNR ": " name
    }
}

kind == "path" {
    rest = $0
    do {
        path[rest]
        stem = rest
        if (sub(/[.][a-z]+$/, "", stem)) path[stem]
    } while (sub(/^[^\/]*\//, "", rest))
    next
}
FNR == 1 { inside = 0 }
kind == "words" && !is_c() {
    if (!/^[ \t]*(#|--|;)/) take_words($0)
    next
}
{ split_line($0) }
kind == "words" { take_words(code) }
kind == "look" && said != "" {
    gsub(/"[^"]*"/, "", said)
    look(said)
}
