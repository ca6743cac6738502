#!/bin/sh
# SPDX-License-Identifier: MIT
# Bad input: runs every row of table.txt and compares exit status and first line
# of standard error; then looks whether the row left, changed or removed a file.
#   sh tests/bad/run.sh STRATA [WORD]     WORD: only rows whose command holds it
# The fixtures that rows use are made here: see 'fixtures'.
# STRATA_SANITIZE=1 leaves out rows that limit the address space, which sanitizers reserve.
set -u
here=$(cd "$(dirname "$0")" && pwd)
strata=$(realpath "$1")
only=${2:-}
work=$(mktemp -d) || exit 1
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
checkpoints=$here/../checkpoints
export TMPDIR="$work/tmp" LC_ALL=C strata checkpoints
unset NO_COLOR
chmod 755 "$work"

# Who may not read and write everything, for rows about permissions.
nobody=
[ "$(id -u)" != 0 ] || nobody='setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all'
export nobody

# st HEADER [DATA]: a safetensors file; both in printf's notation.
st() {
    header=$(printf '%b.' "$1") && header=${header%.}
    n=${#header}
    # shellcheck disable=SC2059
    printf "\\$(printf %o $((n % 256)))\\$(printf %o $((n / 256 % 256)))\\0\\0\\0\\0\\0\\0"
    printf '%s' "$header"
    [ $# -lt 2 ] || printf '%b' "$2"
}

# tf A B C D VERSION COUNT IDS: a token file; its number as octal bytes, ids as printf writes them.
tf() {
    # shellcheck disable=SC2059
    printf "\\$1\\$2\\$3\\$4\\$(printf %o "$5")\\0\\0\\0\\$(printf %o "$6")\\0\\0\\0"
    head -c 1012 /dev/zero
    # shellcheck disable=SC2059
    printf "$7" 0
}

spec() {    # spec NAME TOKENIZER DIM
    cat <<END
return model {
  name = "$1", vocab = 256, context = 16, dim = $3, $2
  norm = rmsnorm { eps = 1e-6 },
  layers = times(1, layer { attention { heads = 2 }, mlp { hidden = 32, activation = "relu" } }),
}
END
}

# mixer [FUNCTION]: mixed.lua, and the mixer that it requires, mine.lua: the plain stream, but for
# a FUNCTION given, 'read = function(m, state, site) ... end'.  A function a line, open on line 2.
mixer() {
    echo 'return mixer {' >mine.lua
    for line in 'open = function(m, e) return { h = e } end' \
        'read = function(m, state, site) return state.h end' \
        'write = function(m, state, site, out) return { h = state.h + out } end' \
        'close = function(m, state, site) return state.h end'; do
        for other; do [ "${other%% *}" != "${line%% *}" ] || line=$other; done
        echo "  $line," >>mine.lua
    done
    echo '}' >>mine.lua
    sed 's/  norm.*/&\n  residual = require "mine" {},/' tiny.lua >mixed.lua
}

# checkpoint NAME [SED]: hf, a folder of tests/checkpoints, its config.json changed
checkpoint() {
    cp -r "$checkpoints/$1" hf && chmod -R u+w hf
    [ $# -lt 2 ] || sed -i "$2" hf/config.json
}

# residual SPEC MIXER: mixed.lua, a fixture's spec with another mixer, two layers
residual() { sed "s/  norm.*/&\\n  residual = $2,/; s/times(1/times(2/" "$1" >mixed.lua; }

# cell SED: celled.lua, of tiny.lua, and the sublayer that it requires, the LSTM-like cell of
# specs/hybrids, changed
cell() {
    sed "$1" "$here/../../specs/hybrids/shared/cell.lua" >cell.lua
    sed 's/layer {/& require "cell" {},/' tiny.lua >celled.lua
}

# A model of each kind, weights for them, text, and a folder for what rows prepare.
fixtures() {
    mkdir tmp in && chmod 777 in && cd in || return 1
    spec tiny 'tokenizer = "bytes",' 16 >tiny.lua
    spec wide 'tokenizer = "bytes",' 32 >wide.lua
    spec chars 'tokenizer = "chars",' 16 >chars.lua
    spec mute '' 16 >mute.lua
    for name in tiny wide chars mute; do "$strata" build $name.lua || return 1; done
    "$strata" build tiny.lua --inference -o infer || return 1
    "$strata" build tiny.lua --precision bf16 -o half || return 1
    spec both '' 16 | sed 's/heads = 2/heads = 2, causal = false/' >both.lua
    "$strata" build both.lua || return 1
    yes 'the quick brown fox jumps over the lazy dog' | head -c 2000 >text
    yes 'another text' | head -c 2000 >other
    printf 'caf\351' >latin1
    : >empty
    mkdir folder
    shape='"dtype":"I32","shape":[1,2],"data_offsets":'
    st "{\"tokens\":{${shape}[0,8]},\"targets\":{${shape}[8,16]}}" \
       '\01\0\0\0\02\0\0\0\02\0\0\0\03\0\0\0' >tokens
    ./tiny train --data text --steps 4 --save-every 2 >/dev/null &&
    ./wide train --data text --steps 0 >/dev/null &&
    ./chars train --data text --steps 1 >/dev/null &&
    ./mute logits --help >/dev/null
}

inventory() {
    {
        find . -type d -printf '%y %m %p\n'
        find . ! -type d -printf '%y %m %s %T@ %l %p\n'
    } | sort
}

# row LINE COMMAND STATUS FIRST PREPARE
row() {
    [ -z "$only" ] || case $2 in *"$only"*) ;; *) return ;; esac
    if [ -n "${STRATA_SANITIZE:-}" ]; then
        case $2 in
        *'ulimit -v'*) echo "table.txt:$1: skipped, limits the address space"; return ;;
        esac
    fi
    rows=$((rows + 1))
    (eval "$5") >/dev/null 2>&1
    inventory >../before
    (PATH="$(dirname "$strata"):$PATH"; timeout 60 sh -c "$2") >../out 2>../err </dev/null
    status=$?
    inventory >../after
    first=
    case $4 in error:*) first=$(grep -m 1 '^error:' ../err) ;; esac
    [ -n "$first" ] || first=$(head -n 1 ../err)
    wrong=
    [ "$status" = "$3" ] || wrong="status $status instead of $3"
    case $4 in
    *…*)
        case $first in
        "${4%%…*}"*"${4##*…}") ;;
        *) wrong="$wrong; another first line" ;;
        esac
        ;;
    *) [ "$first" = "$4" ] || wrong="$wrong; another first line" ;;
    esac
    changed=$(diff ../before ../after | grep '^[<>]' | head -n 4 | tr '\n' ' ')
    [ -z "$changed" ] || wrong="$wrong; files changed: $changed"
    [ -z "$(ls -A ../tmp)" ] || wrong="$wrong; left in TMPDIR: $(ls -A ../tmp)"
    if [ -n "$wrong" ]; then
        failed=$((failed + 1))
        printf 'table.txt:%s: %s\n  $ %s\n' "$1" "$wrong" "$2"
        printf '  expected: %s\n  found:    %s\n' "$4" "$first"
    fi
    if [ -n "$5" ] || [ -n "$wrong" ]; then rm -rf ../in/* ../tmp/* && cp -a ../whole/. .; fi
}

cd "$work" || exit 1
fixtures || { echo "fixtures could not be made"; exit 1; }
cp -a . ../whole
rows=0 failed=0 number=0 prepare='' command=''
while IFS= read -r line; do
    number=$((number + 1))
    case $line in
    '#'* | '') ;;
    '+ '*) prepare="$prepare${line#+ }
" ;;
    '$ '*) command=${line#??} ;;
    *)  row $number "$command" "${line%% *}" "${line#* }" "$prepare"
        prepare='' command='' ;;
    esac
done <"$here/table.txt"
echo "$rows rows, $failed wrong"
[ -n "$only" ] || [ $rows -ge 100 ] || { echo "expected at least 100 rows"; exit 1; }
[ $failed = 0 ]
