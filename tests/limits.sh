#!/bin/sh
# SPDX-License-Identifier: MIT
# What ends compiling, told in one line and leaving nothing:  sh tests/limits.sh STRATA
# Memory from next to nothing up to enough, wherever it runs out; processor time; signals that
# others send to the processes that compile.
set -u
strata=$(realpath "$1")
here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
mkdir tmp
export TMPDIR="$work/tmp" XDG_CACHE_HOME=/proc # there is no cache: all is compiled
fail() { echo "limits.sh: $*" >&2; exit 1; }

layers() {  # layers N
    cat <<END
return model {
  name = "deep", vocab = 64, context = 16, dim = 8, norm = rmsnorm {},
  layers = times($1, layer { attention { heads = 2 }, mlp { hidden = 8, activation = "relu" } }),
}
END
}
cat >deep.lua <<'END'
local list = {}  -- layers of as many widths: kernels of their own
for i = 1, 60 do
  list[i] = layer { attention { heads = 2 }, mlp { hidden = 8 + i, activation = "relu" } }
end
return model { name = "deep", vocab = 64, context = 16, dim = 8, norm = rmsnorm {}, layers = list }
END
layers 10000 >deeper.lua

# told PATTERN: status 3 and one line of that pattern, behind what tells progress; nothing left
told() {
    [ "$status" = 3 ] || fail "$what: expected status 3, found $status: $(cat err)"
    sed -n '/^error: /,$p' err >told
    mv told err
    [ "$(wc -l <err)" = 1 ] || fail "$what: expected one line, found $(cat err)"
    grep -qE "$1" err || fail "$what: expected $1, found $(cat err)"
    clean
}
clean() { [ -z "$(ls -A tmp)" ] || fail "$what: left $(ls -A tmp)"; }

more='found more needed by [a-z ]+(, [0-9]+ operations)?$'

# sweep COMMAND STEPS: with more memory each time until it is enough
sweep() {
    : >steps
    size=80
    while what="$1 --max-memory ${size}M"; do
        # shellcheck disable=SC2086
        "$strata" $what >/dev/null 2>err
        status=$?
        [ $status != 0 ] || break
        who='(deep.lua|strata compare)'
        told "^error: $who: expected at most $size MB of memory \(--max-memory\), $more"
        sed 's/.*needed by //; s/,.*//' err >>steps
        size=$((size + 8))
        [ $size -lt 2000 ] || fail "$1: expected 2 GB to be enough"
    done
    clean
    [ "$(sort -u steps | wc -l)" -ge "$2" ] ||
        fail "$1: expected memory to run out in $2 steps or more, found $(sort -u steps)"
}
if [ -z "${STRATA_SANITIZE:-}" ]; then  # sanitizers reserve address space
    sweep 'build deep.lua -o deep' 3
    sweep 'inspect deep.lua' 1
    sweep 'compare deep.lua deep.lua' 2
    what='ulimit -v'
    status=127 size=100
    while [ $status = 127 ]; do  # the program itself is not loaded yet
        size=$((size + 10))
        (ulimit -v $((size * 1024)); "$strata" build deep.lua) >/dev/null 2>err
        status=$?
    done
    size=$(((size - 10) * 1024)) told=0
    while [ $told -lt 12 ]; do  # wherever it runs out from then on
        size=$((size + 256))
        (ulimit -v $size; "$strata" build deep.lua) >/dev/null 2>err
        status=$?
        # before we begin: the loader's errors and its own crash (init_tls), or LLVM's
        case $told:$status in 0:127 | 0:134 | 0:139) continue ;; esac
        most="$((size / 1024)) MB of memory"
        told "^error: (deep.lua|strata): expected at most $most \(ulimit -v\), $more"
        told=$((told + 1))
    done
fi

# Operations one after another: more than a kernel has, of every token or of parameters alone.
chain() {  # chain START STEP RESULT
    cat <<END
local chain = mixer {
  open = function(m, e) return { h = e } end,
  read = function(m, s, site)
    local h = $1
    for i = 1, 40000 do h = $2 end
    return $3
  end,
  write = function(m, s, site, out) return { h = s.h + out } end,
  close = function(m, s) return s.h end,
}
return model { name = "chain", vocab = 256, context = 8, dim = 4, norm = rmsnorm {},
  residual = chain {}, layers = { layer { mlp { hidden = 4 } } } }
END
}
chain s.h 'h * 1.0001' h >mul.lua
chain s.h 'exp(h)' h >exp.lua
chain 'm:param(site, "q", { 4 }, 1)' 'h * 1.0001' 's.h * h' >par.lua
for spec in mul exp par; do
    for command in 'build' 'inspect' 'compare deep.lua'; do
        what="$command $spec.lua"
        # shellcheck disable=SC2086
        "$strata" $command $spec.lua >/dev/null 2>err
        status=$?
        sed -i '/^ *[0-9]* | /d' err
        told "^error: $spec.lua:5: expected at most 32768 instructions between one product and the \
next, found more from operation '[a-z]+' of layers.0.mlp on, number [0-9]+ of [0-9]+$"
    done
done

# Reads that differ in how many sources they have are one kernel: no more of them in a deeper model.
kernels() {  # kernels MIXER LAYERS
    layers "$2" | sed "s/dim = 8,/dim = 32, residual = $1,/" >reads.lua
    "$strata" inspect reads.lua --kernels --json >json 2>err || fail "$1, $2 layers: $(cat err)"
    grep -o '"name": *"rows[^"]*"' json | wc -l
}
for mixer in 'denseformer {}' 'attnres { block_size = 1 }' 'haares { block_size = 1 }'; do
    few=$(kernels "$mixer" 150) more=$(kernels "$mixer" 250)
    [ "$few" -gt 20 ] || fail "$mixer: expected row kernels, found $few"
    [ "$more" -le $((few + few / 20)) ] ||
        fail "$mixer: expected as many kernels for 250 layers as for 150, $few, found $more"
done

for command in 'build' 'inspect' 'compare deep.lua'; do
    what="$command --max-seconds 1"
    # shellcheck disable=SC2086
    "$strata" $command deeper.lua --max-seconds 1 >/dev/null 2>err
    status=$?
    sed -i '/^ *1 | /d; /^ *[0-9]* | /d' err
    told '^error: deeper.lua:([0-9]+:)? expected at most 1 s of processor time'
done
# A comparison gives each spec what build gives it, planning and compiling together: most of what
# both take is enough for neither.
layers 6000 >long.lua
seconds() {  # seconds COMMAND ...: of processor time
    python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(int(used.ru_utime + used.ru_stime))' "$strata" "$@"
}
most=$(seconds build long.lua -o long)
if [ "$most" -ge 3 ]; then
    most=$((most - 2)) what="compare --max-seconds $((most - 2))"
    "$strata" compare long.lua long.lua --max-seconds $most >/dev/null 2>err
    status=$?
    told "^error: long.lua:([0-9]+:)? expected at most $most s of processor time"
fi
what='ulimit -t'
(ulimit -t 1; "$strata" inspect deeper.lua) >/dev/null 2>err
status=$?
told '^error: deeper.lua:([0-9]+:)? expected at most 1 s of processor time \(ulimit -t\)'

# What a spec calls is charged: it is the instructions that run out, long before the seconds.
for call in 'option { ["a" .. i] = 1 }' \
    'option { ["a" .. i] = { one_of = names, default = "1" } }' \
    'attention { heads = 2 }' 'layer { mlp { hidden = 8 } }' 'haares { blocks = 2 }' \
    'adamw { lr = 1e-3 }' 'pcall(mlp, { hiden = 8 })' 'table.concat(names)' \
    'text:gsub("x", "y")'; do
    what="a loop of $call"
    { echo 'local names, text = { "1" }, ("x"):rep(16000)'
      echo 'for i = 2, 1000 do names[i] = "" .. i end'
      echo "for i = 1, 1e9 do local x = pcall(function() return $call end) end"
    } >loop.lua
    "$strata" check loop.lua --max-seconds 15 >/dev/null 2>err
    status=$?
    sed -i '/^ *[0-9]* | /d' err
    told '^error: loop.lua:3: expected at most 50000000 instructions, found more$'
done

# The first process waits for the second, which waits for the third, which generates code.
command -v pgrep >/dev/null || { echo "limits.sh: no pgrep, processes are not killed"; exit 0; }
spec=$here/specs/papers/haares/haares-large-48.lua
hurt() {  # hurt SIGNAL GENERATION
    what="signal $1 to process $2"
    "$strata" build "$spec" -O3 -o hurt >/dev/null 2>err &
    first=$! third=
    while [ -z "$third" ]; do
        kill -0 $first 2>/dev/null || fail "$what: expected it to take longer"
        second=$(pgrep -P $first)
        [ -z "$second" ] || third=$(pgrep -P "$second")
    done
    eval "kill -$1 \$$2"
    wait $first
    status=$?
}
for process in second third; do
    hurt KILL $process
    told 'found the compiler killed by the system, .* or by somebody'
    hurt TERM $process
    [ $status = 143 ] || fail "$what: expected status 143, found $status"
    clean
    hurt SEGV $process
    [ $status = 5 ] || fail "$what: expected status 5, found $status"
    clean
done
hurt KILL first
for _ in 1 2 3 4 5 6 7 8 9 10; do
    [ -n "$(ls -A tmp)" ] || break
    sleep 0.2
done
clean

# As many layers as a model may have, with what most have, stay below the limit of instructions.
sed 's/heads = 2/heads = 2, qk_norm = true, bias = true, rope = {}/; s/"relu"/"swiglu"/' \
    deeper.lua >usual.lua
"$strata" check usual.lua >/dev/null 2>err || fail "check usual.lua: expected 0, found $(cat err)"
echo "limits: told, nothing left"
