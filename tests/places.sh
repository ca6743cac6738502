#!/bin/sh
# SPDX-License-Identifier: MIT
# Nothing is replaced that a person made: every command that writes, with every kind of existing
# file in the place of its output.  What is there stays as it was, to the bit, and the command ends
# with status 1 (2: the name is no name for it), unless the command itself wrote that file; and with
# --overwrite only regular files go that the command does not read.
#   sh tests/places.sh STRATA               of each command the kinds that differ in the outcome
#   sh tests/places.sh STRATA all           every kind, as a table: a row a command, a column a kind
#   sh tests/places.sh STRATA COMMAND       that row
set -u
strata=$(realpath "$1")
all=${2:+1}
only=${2:-} && [ "$only" != all ] || only=
checkpoints=$(realpath "$(dirname "$0")/checkpoints")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
cd "$work" || exit 1
export LC_ALL=C XDG_CACHE_HOME="$work/cache"
wrong=0
fail() { echo "places.sh: $*" >&2; wrong=$((wrong + 1)); }
die() { fail "$*"; exit 1; }

# == What is read ==============================================================
spec() {    # spec NAME TOKENIZER
    cat <<END
return model {
  name = "$1", vocab = 300, context = 16, dim = 16, tokenizer = $2, norm = rmsnorm {},
  residual = require "mine" {},
  layers = times(1, layer { attention { heads = 2 }, mlp { hidden = 32, activation = "swiglu" } }),
  train = { optimizer = adamw { lr = 3e-3 }, batch = 2, seed = 3 },
}
END
}
cat >mine.lua <<'END'
return mixer {
  open = function(m, e) return { h = e } end,
  read = function(m, state) return state.h end,
  write = function(m, state, site, out) return { h = state.h + out } end,
  close = function(m, state) return state.h end,
}
END
spec m '"tok.json"' >m.lua
sed '/residual/d' m.lua | sed 's/"m"/"plain"/' >plain.lua
yes 'the quick brown fox jumps over the lazy dog' | head -c 6000 >text
cp text val
"$strata" tokenizer train --vocab 300 text -o tok.json >/dev/null || die "no tokenizer"
"$strata" build m.lua >/dev/null || die "no program"
"$strata" build plain.lua >/dev/null || die "no second program"
./m train --data text --val val --steps 4 --save-every 2 --eval-every 2 --log log --out w \
    >/dev/null || die "no run"
./m train --data text --steps 2 --out other --seed 9 >/dev/null || die "no other run"
./plain train --data text --steps 2 --out p >/dev/null || die "no plain run"
json='{"targets":{"dtype":"I32","shape":[1,2],"data_offsets":[8,16]},'
json=$json'"tokens":{"dtype":"I32","shape":[1,2],"data_offsets":[0,8]}}     '
{ printf '\200\0\0\0\0\0\0\0%s' "$json"; printf '\1\0\0\0\2\0\0\0\2\0\0\0\3\0\0\0'; } >in
cp -r "$checkpoints/llama" hf && cp tok.json hf/tokenizer.json
"$strata" import hf -o im >/dev/null 2>&1 || die "no import"
"$strata" import "$checkpoints/llama" -o ex >/dev/null 2>&1 || die "no second import"

# == Commands ==================================================================
# 'write NAME WORDS...' runs it, 'place' is where it writes, 'reads' what it reads.
names='build object header rule text picture page import weights tokenizer gguf hf tokens train_tok
strip merge quantize logits gradients probe run best log'
write() {
    name=$1 && shift
    case $name in
    build) "$strata" build m.lua -o out "$@" ;;
    object) "$strata" build m.lua --emit obj -o out "$@" ;;
    header) "$strata" build m.lua --emit obj -o new.o "$@" ;;
    rule) "$strata" build m.lua -o new --depfile out "$@" ;;
    text) "$strata" inspect m.lua --kernels -o out "$@" ;;
    picture) "$strata" inspect m.lua --matrix -o out.svg "$@" ;;
    page) "$strata" compare m.lua plain.lua -o out "$@" ;;
    import | weights | tokenizer) "$strata" import hf -o new "$@" ;;
    gguf) "$strata" export ex.lua --weights ex.safetensors --to gguf out "$@" ;;
    hf) "$strata" export ex.lua --weights ex.safetensors --to hf out "$@" ;;
    tokens) "$strata" tokens text --spec m.lua -o out "$@" ;;
    train_tok) "$strata" tokenizer train text --vocab 280 -o out "$@" ;;
    strip) "$strata" weights strip w -o out "$@" ;;
    merge) "$strata" weights merge lora.lua adapted -o out "$@" ;;
    quantize) "$strata" quantize w --spec m.lua -o out "$@" ;;
    logits) ./m logits --weights w --tokens in --out out "$@" ;;
    gradients) ./m gradients --weights w --tokens in --out out "$@" ;;
    probe) ./m probe --weights w --data text --tokens 16 --output out "$@" ;;
    run) ./m train --data text --val val --steps 2 --lr 0.1 --out out "$@" ;;
    best) ./m train --data text --val val --steps 2 --lr 0.1 --out new "$@" ;;
    log) ./m train --data text --steps 2 --lr 0.1 --out new --log out "$@" ;;
    esac >said 2>err
}
place() {
    case $1 in
    header) echo new.h ;;
    picture) echo out.svg ;;
    import) echo new.lua ;;
    weights) echo new.safetensors ;;
    tokenizer) echo new.tokenizer.json ;;
    best) echo new.best ;;
    *) echo out ;;
    esac
}
# The same where 'over NAME FILE' says.
over() {
    name=$1 to=$2 && shift 2
    case $name in
    build) "$strata" build m.lua -o "$to" "$@" ;;
    object) "$strata" build m.lua --emit obj -o "$to" "$@" ;;
    rule) "$strata" build m.lua -o new --depfile "$to" "$@" ;;
    text) "$strata" inspect m.lua --kernels -o "$to" "$@" ;;
    page)
        "$strata" compare m.lua plain.lua --train text --val val --init w --steps 1 -o "$to" "$@"
        ;;
    gguf) "$strata" export ex.lua --weights ex.safetensors --to gguf "$to" "$@" ;;
    hf) "$strata" export ex.lua --weights ex.safetensors --to hf "$to" "$@" ;;
    tokens) "$strata" tokens text --spec m.lua -o "$to" "$@" ;;
    train_tok) "$strata" tokenizer train text --vocab 280 -o "$to" "$@" ;;
    strip) "$strata" weights strip w -o "$to" "$@" ;;
    merge) "$strata" weights merge lora.lua adapted -o "$to" "$@" ;;
    quantize) "$strata" quantize w --spec m.lua -o "$to" "$@" ;;
    logits) ./m logits --weights w --tokens in --out "$to" "$@" ;;
    gradients) ./m gradients --weights w --tokens in --out "$to" "$@" ;;
    probe) ./m probe --weights w --before other --data text --tokens 16 --output "$to" "$@" ;;
    run) ./m train --data text --val val --init w --steps 2 --out "$to" "$@" ;;
    log) ./m train --data text --val val --init w --steps 2 --out new --log "$to" "$@" ;;
    esac >said 2>err
}
reads() {
    case $1 in
    build | object | rule | text) echo m.lua mine.lua tok.json ;;
    page) echo m.lua plain.lua mine.lua tok.json text val w ;;
    gguf) echo ex.lua ex.safetensors ;;
    tokens) echo text m.lua mine.lua tok.json ;;
    train_tok) echo text ;;
    strip) echo w ;;
    merge) echo lora.lua adapted mine.lua ;;
    quantize) echo w m.lua mine.lua ;;
    logits | gradients) echo w in m ;;
    probe) echo w other text m ;;
    run | log) echo text val w m ;;
    esac
}
sed 's/norm =/lora = { rank = 2, targets = { "*.q" } }, norm =/' m.lua >lora.lua
"$strata" build lora.lua -o adapt >/dev/null && ./adapt train --data text --steps 1 --out adapted \
    >/dev/null || die "no adapters"

# == What is there =============================================================
mkdir kinds own
cp plain.lua kinds/spec && cp text kinds/text && cp w kinds/checkpoint && cp w.best kinds/best
cp tok.json kinds/tokenizer && cp log kinds/log && cp im.lua kinds/imported_spec
sed 's/return model/-- mine\nreturn model/' im.lua >kinds/edited_spec
"$strata" weights strip w -o kinds/weights >/dev/null
for name in $names; do
    write "$name" || die "$name: $(cat err)"
    [ "$name" = hf ] || cp "$(place "$name")" "own/$name"
    rm -rf out out.* new new.*
done
sed 's/new:/else:/' own/rule >kinds/rule
for name in build object header text picture page probe tokens logits gradients; do
    cp own/$name kinds/own_$name
done
cp /bin/true kinds/program && printf '{"mine": 1}\n' >kinds/json
printf '!<arch>\nmine' >kinds/archive
kinds=$(cd kinds && ls)
odd='own folder full link dangling fifo empty read_only'
sha256sum m.lua plain.lua mine.lua text val tok.json m plain w w.best other p in log lora.lua \
    adapted im.* ex.* hf/* >before

put() {    # put KIND PATH
    rm -rf out out.* new new.* elsewhere
    case $1 in
    folder) mkdir "$2" ;;
    full) mkdir "$2" && cp text "$2/mine" ;;
    link) cp text elsewhere && ln -s elsewhere "$2" ;;
    dangling) ln -s nowhere "$2" ;;
    fifo) mkfifo "$2" ;;
    empty) : >"$2" ;;
    own) cp "own/$name" "$2" ;;
    read_only) cp "own/$name" "$2" && chmod 444 "$2" ;;
    *) cp "kinds/$1" "$2" ;;
    esac
}
state() {    # what it is, and what is in it
    stat -c %F "$1" 2>&1
    [ -p "$1" ] || { [ -d "$1" ] && find "$1" -type f -exec sha256sum {} +; } ||
        sha256sum "$1" 2>&1
}
inputs() { sha256sum -c --quiet before >changed 2>&1 || fail "$*: $(cat changed)"; }

# Kinds that a command takes for its own.
owns() {
    case $1 in
    build | object) echo own own_build own_object ;;
    text) echo own own_picture own_header own_text ;;
    picture) echo own own_header own_picture own_text ;;
    import) echo own imported_spec ;;
    gguf | hf | train_tok | strip | merge | quantize) ;;
    *) echo own "own_$1" ;;
    esac
}
# The kinds of a row: all, or one of each outcome.
row() {
    [ -z "$all" ] || { echo "$kinds $odd" && return; }
    echo spec checkpoint edited_spec own_tokens own folder link fifo empty read_only
    for own in $(owns "$1"); do
        case $own in own | own_tokens) ;; *) [ ! -e "kinds/$own" ] || echo "$own" ;; esac
    done
}
is_in() { case " $2 " in *" $1 "*) return 0 ;; esac; return 1; }

# == The walk ==================================================================
rows=0 kept=0 replaced=0
one() {    # one NAME KIND WORDS...: the column's letter
    name=$1 kind=$2 && shift 2
    at=$(place "$name")
    put "$kind" "$at"
    state "$at" >was
    write "$name" "$@" </dev/null
    status=$?
    state "$at" >is
    rows=$((rows + 1))
    if cmp -s was is; then letter=. && kept=$((kept + 1))
    else letter=R && replaced=$((replaced + 1)); fi
    left=$(find . -name '*.strata-*')
    [ -z "$left" ] || fail "$name over $kind left $left"
}
printf '%-10s' command
[ -z "$all" ] || for kind in $kinds $odd; do printf ' %s' "$kind"; done
[ -n "$all" ] || printf ' replaces unasked'
echo
for name in $names; do
    [ -z "$only" ] || [ "$only" = "$name" ] || continue
    printf '%-10s' "$name"
    for kind in $(row "$name"); do
        is_in "$kind$name" "ownhf read_onlyhf" && continue
        one "$name" "$kind"
        if [ -n "$all" ]; then printf ' %s' "$letter"
        elif [ $letter = R ]; then printf ' %s' "$kind"; fi
        if is_in "$kind" "$(owns "$name") empty" || [ "$kind$name" = danglinglog ]; then
            [ $status = 0 ] || [ "$kind$name" = emptyhf ] ||
                fail "$name over $kind: status $status, $(cat err)"
        else
            [ $letter = . ] || fail "$name replaced $kind"
            [ $status = 1 ] || fail "$name over $kind: status $status, $(cat err)"
            grep -q "^error: $at" err || fail "$name over $kind does not name it: $(cat err)"
        fi
    done
    echo
    # asked for: regular files, no others
    inputs "$name"
    asked='spec folder link'
    [ -z "$all" ] || asked="spec checkpoint $odd"
    for kind in $asked; do
        is_in "$kind$name" "ownhf read_onlyhf" && continue
        one "$name" "$kind" --overwrite
        case $kind$name in
        folderhf | danglinglog) wanted=0 ;;
        folder* | full* | link* | dangling* | fifo* | *hf) wanted=1 ;;
        read_onlylog | speclog | checkpointlog) wanted=1 ;;
        *) wanted=0 ;;
        esac
        [ $status = $wanted ] || fail "$name over $kind --overwrite: status $status, $(cat err)"
        [ $wanted = 0 ] || [ $letter = . ] || fail "$name --overwrite replaced $kind"
    done
    # what it reads, by its name and by others
    rm -rf out out.* new new.*
    for file in $(reads "$name"); do
        ln -s "$file" soft && ln "$file" hard
        paths='soft hard'
        [ -z "$all" ] || paths="$file ./kinds/../$file soft hard"
        for path in $paths; do
            over "$name" "$path" --overwrite </dev/null
            status=$?
            rows=$((rows + 1)) kept=$((kept + 1))
            [ $status = 1 ] || [ $status = 2 ] ||
                fail "$name over $path, which it reads: $status, $(cat err)"
            [ -L soft ] && [ hard -ef "$file" ] || fail "$name over $path: links are others"
        done
        ! over "$name" "$file" </dev/null || fail "$name over $file, which it reads"
        inputs "$name over $file, which it reads"
        rm -f soft hard out out.* new new.*
    done
    # devices
    case $name in
    build | object | text | page | tokens | train_tok | strip | logits | gradients | probe | log)
        devices=/dev/fd/1
        [ -z "$all" ] || devices='/dev/null /dev/stdout /dev/fd/1'
        for to in $devices; do
            over "$name" $to </dev/null || fail "$name to $to: status $?, $(cat err)"
            rm -f new new.*
        done
        [ -c /dev/null ] || die "/dev/null is none any more"
        ;;
    esac
done

# == Twice ======================================================================
# Every view of inspect, written again over itself.
if [ -z "$only" ]; then
    for view in '' --graph --graph=after:simplify --passes --folded --kernels --memory --cost \
        --header --matrix; do
        for as in '' --json; do
            rm -f view
            for time in first second; do
                # shellcheck disable=SC2086 # words
                "$strata" inspect m.lua $view $as -o view >said 2>err ||
                    fail "inspect $view $as, $time: $(cat err)"
                rows=$((rows + 1))
            done
        done
    done
fi

# == Others ====================================================================
# init replaces nothing, and with --overwrite its own five files.
mkdir mine && cp text mine/model.lua
! "$strata" init mine >said 2>err || fail "init replaced a spec"
cmp -s text mine/model.lua || fail "init changed a spec"
# An import beside an edited spec says what would change.
"$strata" import hf -o im >/dev/null || fail "import over its own files: $(cat err)"
sed -i '2s/^/-- mine /' im.lua
! "$strata" import hf -o im >said 2>err || fail "import replaced an edited spec"
grep -q 'from line 2 on it would have 1 other lines in the place of 1' err || fail "$(cat err)"
grep -q '^  - -- mine' err || fail "expected the line that was edited: $(cat err)"
# A folder that holds a file that is read is not replaced.
"$strata" export ex.lua --weights ex.safetensors --to hf twice >/dev/null || fail "no export"
cp ex.safetensors twice/model.safetensors
sha256sum twice/* >folder
for out in twice ./twice/ "$work/twice"; do
    ! "$strata" export ex.lua --weights twice/model.safetensors --to hf $out --overwrite \
        >said 2>err || fail "export replaced the folder that it reads"
    grep -q 'found one with a file that is read' err || fail "$(cat err)"
    sha256sum -c --quiet folder || fail "export changed the folder that it reads"
done
echo "places: $rows cases, $kept kept, $replaced replaced where they may be; $wrong wrong"
[ $wrong = 0 ]
