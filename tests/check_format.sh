#!/usr/bin/env bash
# Fails if a source file is not as .clang-format has it. Version 14 decides; others format differently.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
formatter=$(command -v clang-format-14) || { echo "SKIPPED: clang-format 14 is not installed"; exit 4; }
find ir passes codegen runtime frontend samples tests \( -name '*.h' -o -name '*.cpp' \) -print0 |
  xargs -0 "$formatter" --dry-run -Werror
