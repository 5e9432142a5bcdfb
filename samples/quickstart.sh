#!/usr/bin/env bash
# From a fresh machine to the first fused kernels: installs what is missing, builds the library and the samples,
# times gelu and softmax eager against fused on whatever device is there, and leaves their graphs as DOT files.
#
#   samples/quickstart.sh [directory for the DOT files, default .]
set -eu -o pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${SINTER_BUILD_DIR:-$root/build}
export -n SINTER_BUILD_DIR  # no setting of the library, which warns of names it does not know
output=${1:-.}
mkdir -p "$build" "$output"
# shellcheck source=cmake/setup.sh
source "$root/cmake/setup.sh"

install_packages
echo "Building in $build; a few minutes"
configure -DSINTER_BUILD_SAMPLES=ON
cmake --build "$build" --target samples/all -j "$(nproc)" >"$build/build.log" 2>&1 || {
  tail -n 30 "$build/build.log"
  echo "The build failed; the whole log is $build/build.log"
  exit 1
}

sinter=$build/samples/sinter
"$sinter" doctor
"$sinter" bench gelu softmax
for what in gelu softmax; do
  for stage in captured optimized fused; do
    "$sinter" dot "$what" --stage "$stage" -o "$output/$what-$stage.dot"
  done
done
echo "Graphs before and after fusion: $output/{gelu,softmax}-{captured,optimized,fused}.dot"
echo "Draw one with: dot -Tsvg $output/gelu-fused.dot -o gelu.svg"
