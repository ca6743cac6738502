#!/bin/sh
# SPDX-License-Identifier: MIT
# The code is as .clang-format writes it and at most 100 columns wide, as Lua, CMake and scripts
# are; rows of tables between "clang-format off" and "on", those of .def files and the Lua inputs of
# tests may be wider.  Functions have at most 40 lines, files 400, and functions of the compiler and
# of the runtime at most 8 parameters, but for kernels, which take operands, and the model's own
# functions (abi.def).  Each file says its licence.  No file of the compiler has the name of another
# one there, none of the runtime that of another one there, no type of either that of another type:
#   sh tests/style.sh
# 77, "skipped": there is no clang-format 22 (other versions write other things).
set -eu
cd "$(dirname "$0")/.."
files=$(find compiler runtime tests specs -name '*.[ch]')
scripts=$(find CMakeLists.txt cmake compiler generated runtime specs tests -type f |
    grep -E '\.(lua|cmake|sh|awk|in)$|CMakeLists' |
    grep -vE '^tests/(errors|golden|specs|bad|routes)/.*lua$')
wide=$(printf '%s\n' "$files" "$scripts" | tr '\n' '\0' | xargs -0 awk '
    /clang-format off/ { off = 1 }
    /clang-format on/ { off = 0 }
    !off && length($0) > 100 {
        print FILENAME ":" FNR ": expected at most 100 columns, found " length($0)
    }')
[ -z "$wide" ] || { printf '%s\n' "$wide"; exit 1; }

# Whose licence it is, in the first lines of everything but inputs of tests and what strata init
# writes, which is its user's.
all=$(find . \( -name .git -o -name 'build*' -o -name .venv \) -prune -o -type f \
    \( -name '*.[ch]' -o -name '*.cpp' -o -name '*.def' -o -name '*.lua' -o -name '*.sh' -o \
    -name '*.awk' -o -name '*.py' -o -name '*.cmake' -o -name '*.in' -o -name CMakeLists.txt -o \
    -name Makefile -o -name Dockerfile -o -name '*.toml' -o -name '*.yml' -o -name '*.map' -o \
    -name '*.[1-8]' \) -print |
    grep -vE '^\./(specs/sample/|tests/(errors|golden|specs|bad|routes)/.*lua$)')
unsaid=$(printf '%s\n' "$all" | tr '\n' '\0' | xargs -0 awk '
    FNR == 1 { if (file && !said) print file; file = FILENAME; said = 0 }
    FNR <= 3 && /SPDX-License-Identifier: MIT/ { said = 1 }
    END { if (file && !said) print file }')
[ -z "$unsaid" ] || {
    printf '%s\n' "$unsaid" | sed 's/$/: expected SPDX-License-Identifier: MIT in its first lines/'
    exit 1
}

long=$(printf '%s\n' "$files" | xargs awk '
    function end_file() {
        if (file && lines > 400)
            print file ": expected at most 400 lines, found " lines
    }
    FNR == 1 { end_file(); file = FILENAME; start = 0 }
    { lines = FNR }
    /^[A-Za-z_]/ && /\(/ {
        head = FNR
        name = $0
        sub(/\(.*/, "", name)
        sub(/.*[ *]/, "", name)
    }
    /^[^ #\/}].*\{$|^ .*\) \{$/ && !start && head { start = head }
    /^[A-Za-z_].*;$/ { head = 0 }
    /^}/ {
        if (start && $0 == "}" && FNR - start >= 40)
            print FILENAME ":" start ": expected at most 40 lines of " name ", found " \
                FNR - start + 1
        start = head = 0
    }
    END { end_file() }')
[ -z "$long" ] || { printf '%s\n' "$long"; exit 1; }

# A function's parameters, from column 0 to the "{" or ";" behind them.
many=$(printf '%s\n' "$files" | grep '^compiler/\|^runtime/' | grep -v '^runtime/kernels/' |
    xargs awk '
    /^[A-Za-z]/ && /\(/ && !/^typedef/ { text = ""; on = 1; start = FNR }
    !on { next }
    { text = text $0 }
    /[{;]$/ {
        on = depth = 0
        n = 1
        sub(/^__attribute__\(\(format\([^)]*\)\)\) */, "", text)
        for (i = index(text, "("); i <= length(text); i++) {
            c = substr(text, i, 1)
            if (c == "(") depth++
            if (c == ")" && --depth == 0) break
            if (c == "," && depth == 1) n++
        }
        if (n > 8 && text !~ / model_| gemm\(/)
            print FILENAME ":" start ": expected at most 8 parameters, found " n
    }')
[ -z "$many" ] || { printf '%s\n' "$many"; exit 1; }

# A folder is a room: what is beside a file can be looked over.
crowded=$(printf '%s\n' "$files" | grep '^compiler/.*\.[ch]$\|^runtime/.*\.[ch]$' |
    sed 's,/[^/]*$,,' | sort | uniq -c |
    awk '$1 > 50 { print $2 ": expected at most 50 C files, found " $1 }')
[ -z "$crowded" ] || { printf '%s\n' "$crowded"; exit 1; }

for part in compiler runtime; do
    twice=$(printf '%s\n' "$files" | grep "^$part/" | sed 's,.*/,,' | sort | uniq -d)
    [ -z "$twice" ] || {
        echo "$part: expected one file of a name, found several of" $twice
        exit 1
    }
done

twice=$(printf '%s\n' "$files" | grep '^compiler/\|^runtime/' | xargs awk '
    /^} [A-Z][A-Za-z0-9_]*;$/ || /^typedef [^({]* [A-Z][A-Za-z0-9_]*;$/ {
        sub(/;$/, "", $NF)
        print $NF, FILENAME
    }' | sort -u | awk '
    { count[$1]++; in_file[$1] = in_file[$1] " " $2 }
    END {
        for (name in count)
            if (count[name] > 1)
                print name ": expected one type of the name, found" in_file[name]
    }')
[ -z "$twice" ] || { printf '%s\n' "$twice"; exit 1; }

shared=$(printf '%s\n' "$files" | grep '^compiler/.*\.c$\|^runtime/.*\.c$' | xargs awk '
    /^(static|INLINE) / && !/^static (_Noreturn )?struct [A-Za-z]+ \{/ {
        name = $0
        if (match(name, /^[^=;(\[]*\(/) || match(name, /^[^=;(]*[=;[]/))
            name = substr(name, 1, RLENGTH - 1)
        sub(/\[.*/, "", name)
        sub(/ +$/, "", name)
        sub(/.*[ *]/, "", name)
        if (name ~ /^[A-Za-z_][A-Za-z0-9_]*$/ && name != "__attribute__") print name, FILENAME
    }' | sort -u | awk '
    { count[$1]++; in_file[$1] = in_file[$1] " " $2 }
    END {
        for (name in count)
            if (count[name] > 2)
                print name ": expected a static name in at most 2 files, found it in" in_file[name]
    }')
[ -z "$shared" ] || { printf '%s\n' "$shared"; exit 1; }

format=$(command -v clang-format-22 || command -v clang-format || true)
case $([ -z "$format" ] || "$format" --version) in
*"version 22."*) ;;
*) echo "skipped: clang-format 22 is not installed"; exit 77 ;;
esac
printf '%s\n' "$files" | xargs "$format" --dry-run -Werror || {
    echo "style.sh: expected what clang-format writes; $format -i FILE does"
    exit 1
}
echo "style: $(printf '%s\n' "$files" | wc -l) files"
