# SPDX-License-Identifier: MIT
# Sourced: makes $folder, for what a script measures: what it names, else one that goes when the
# script ends.
if [ -z "$folder" ]; then
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    trap 'exit 1' INT TERM
fi
mkdir -p "$folder"
