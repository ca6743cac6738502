#!/bin/sh
# SPDX-License-Identifier: MIT
# Ctrl-C, SIGTERM and SIGHUP while a command writes: nothing is left, what was there stays, and the
# exit status is 128 and the signal's number.  What kill -9 leaves the next command removes.
#   sh tests/stopped.sh STRATA
set -u
. "$(dirname "$0")/support/work.sh"
wrong=0
fail() { echo "stopped.sh: $*" >&2; wrong=$((wrong + 1)); }
die() { fail "$*"; exit 1; }

# Large enough that writing it takes a while: 70 MB.
cat >m.lua <<'END'
return model {
  name = "m", vocab = 32000, context = 64, dim = 512, norm = rmsnorm { eps = 1e-6 },
  layers = times(1, layer { attention { heads = 8, rope = { theta = 10000 } },
                            mlp { hidden = 1024, activation = "swiglu" } }),
  train = { batch = 1 },
}
END
head -c 4000000 /dev/zero | tr '\0' 'a' >text
"$strata" build m.lua >/dev/null || die "no program"
{ printf '\210\330\064\001\001\0\0\0\350\003\0\0' && head -c 3012 /dev/zero; } >ids
./m train --data ids --steps 0 --out w >/dev/null || die "no weights"
"$strata" export m.lua --weights w --to hf hf >/dev/null || die "no export"
"$strata" export m.lua --weights w --to hf there >/dev/null || die "no second export"
sha256sum there/* >folder

strata() { exec env --default-signal=INT "$strata" "$@"; }
run() {
    case $1 in
    hf) strata export m.lua --weights w --to hf out ;;
    replace) strata export m.lua --weights w --to hf there --overwrite ;;
    gguf) strata export m.lua --weights w --to gguf out ;;
    import) strata import hf -o out ;;
    strip) strata weights strip w -o out ;;
    quantize) strata quantize w --spec m.lua -o out ;;
    esac >said 2>err
}
# stop SIGNAL COMMAND: at the first sight of a temporary file; $status, 0 if it was too late
stop() {
    (run "$2") &
    child=$!
    until [ -n "$(find . -maxdepth 2 -name '*.strata-tmp*')" ]; do
        kill -0 $child 2>/dev/null || break
    done
    kill "-$1" $child 2>/dev/null
    wait $child
    status=$?
}
left() { find . -path ./tmp -prune -o -name '*strata-*' -print -o -name 'out*' -print; }

stopped=0
for command in hf replace gguf import strip quantize; do
    for signal in INT TERM HUP; do
        case $signal in INT) wanted=130 ;; TERM) wanted=143 ;; HUP) wanted=129 ;; esac
        for try in 1 2 3 4 5 6; do
            stop $signal $command
            [ $status = 0 ] || break
            rm -rf out*
        done
        [ $status = $wanted ] || fail "$command, SIG$signal: status $status, $(cat err)"
        [ -z "$(left)" ] || fail "$command, SIG$signal left $(left)"
        [ -z "$(ls tmp)" ] || fail "$command, SIG$signal left tmp/$(ls tmp)"
        sha256sum -c --quiet folder || fail "$command, SIG$signal: the folder that was there"
        stopped=$((stopped + 1))
        rm -rf out*
    done
done
# -9: of the process that writes and of the one that waits for it
for command in hf replace gguf import; do
    (run $command) &
    child=$!
    until [ -n "$(find . -maxdepth 2 -name '*.strata-tmp*')" ]; do
        kill -0 $child 2>/dev/null || break
    done
    # shellcheck disable=SC2046
    kill -9 $child $(cat /proc/$child/task/$child/children 2>/dev/null) 2>/dev/null
    wait $child 2>/dev/null
    sha256sum -c --quiet folder 2>/dev/null || [ $command = replace ] || fail "$command, -9"
    case $command in hf | replace)
        if [ -d out.strata-tmp ] || [ -d there.strata-tmp ]; then named=1; else named=0; fi ;;
    *) named=0 ;;
    esac
    rm -rf out out.lua out.safetensors
    (run $command) || fail "$command after -9: $(cat err)"
    said='strata-tmp, which an export that was stopped left: removed'
    [ $named = 0 ] || grep -q "^note: .*$said" err ||
        fail "$command after -9 does not say what it found: $(cat err)"
    [ -z "$(find . -maxdepth 2 -name '*.strata-*')" ] || fail "$command left $(left)"
    rm -rf out*
done
# A folder under the temporary name that holds something else is nobody's to remove.
mkdir out.strata-tmp && cp ids out.strata-tmp/mine
! (run hf) || fail "an export removed a person's folder"
cmp -s ids out.strata-tmp/mine || fail "an export changed a person's folder"
echo "stopped: $stopped commands by signals; $wrong wrong"
[ $wrong = 0 ]
