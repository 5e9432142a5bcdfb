#!/usr/bin/env bash
# Runs what the target `gather` put into a folder, on a machine with an NVIDIA GPU: every test, with a missing GPU
# as a failure; compute-sanitizer's memcheck and racecheck on the tests that launch the most kinds of kernels;
# and the benchmark table. Nothing is built, and neither CMake nor this source tree is needed.
#
#   tests/gpu.sh FOLDER [--no-bench] [--no-sanitizer]
#
# SINTER_GPU_MINUTES is the limit for the whole, 8 unless set; SINTER_GPU_OUTPUT a directory for the logs and the
# tables, FOLDER/output unless set. The last line is "N passed, N failed, N skipped", in test cases; the exit code
# is 1 if anything failed.
set -u -o pipefail

folder= with_bench=1 with_sanitizer=1
for word in "$@"; do
  case $word in
    --no-bench) with_bench= ;;
    --no-sanitizer) with_sanitizer= ;;
    *) folder=$word ;;
  esac
done
if [[ -z $folder || ! -x $folder/sinter ]]; then
  echo "usage: $0 FOLDER [--no-bench] [--no-sanitizer], where FOLDER is what the target gather has made" >&2
  exit 1
fi
folder=$(cd "$folder" && pwd)
output=${SINTER_GPU_OUTPUT:-$folder/output}
mkdir -p "$output" && output=$(cd "$output" && pwd)
deadline=$((SECONDS + 60 * ${SINTER_GPU_MINUTES:-8}))
export SINTER_REQUIRE_GPU=1 SINTER_CACHE_DIR=${SINTER_CACHE_DIR:-$output/cache}
mkdir -p -m 700 "$SINTER_CACHE_DIR"
unset SINTER_GPU_MINUTES SINTER_GPU_OUTPUT  # the settings warn of names they do not know
passed=0 failed=0 skipped=0

# bounded SECONDS COMMAND...: runs it for so long at most, and no longer than what is left of the whole.
bounded() {
  local limit=$1 left=$((deadline - SECONDS))
  shift
  timeout --kill-after=5 $((left < 1 ? 1 : left < limit ? left : limit)) "$@"
}

# number PATTERN LOG: the last number before PATTERN in a log, else 0.
number() { grep -oE "[0-9]+ $1" "$2" | tail -n 1 | grep -oE '^[0-9]+' || echo 0; }

# run_tests NAME SECONDS COMMAND...: one test executable, alone or under a tool; leaves a log, the code and the time.
run_tests() {
  local name=$1 limit=$2 code=0 began=$SECONDS
  local log=$output/${name// /-}.log
  shift 2
  bounded "$limit" "$@" >"$log" 2>&1 || code=$?
  echo "$code $((SECONDS - began))" >"$log.end"
}

# count NAME [may_run_out]: adds the results of run_tests NAME to the totals, from Catch2's summary. What may run out of
# time counts as skipped when it does.
count() {
  local name=$1 code seconds bad good skips
  local log=$output/${name// /-}.log
  read -r code seconds <"$log.end"
  skips=$(number "of [0-9]+ test cases skipped" "$log")
  if grep -q 'All tests passed' "$log"; then
    good=$(number "test cases?\)" "$log") bad=0
  else
    good=$(sed -nE 's/^test cases:.*\| +([0-9]+) passed.*/\1/p' "$log" | tail -n 1)
    bad=$(sed -nE 's/^test cases:.*\| +([0-9]+) failed.*/\1/p' "$log" | tail -n 1)
  fi
  good=${good:-0} bad=${bad:-0}
  ((good >= skips)) && good=$((good - skips))
  if [[ $code -eq 124 && ${2:-} == may_run_out ]]; then
    good=0 bad=0 skips=1
  elif [[ $code -ne 0 && $code -ne 4 && $bad -eq 0 ]]; then
    bad=1  # it crashed, or ran out of time
  fi
  passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + skips))
  printf '%-26s %4d passed %3d failed %3d skipped %4d s\n' "$name" "$good" "$bad" "$skips" "$seconds"
  if ((bad > 0)); then
    echo "  code $code; the log is $log; what it says of failures, and its end:"
    grep -nE '(FAILED|error):|^  [A-Z_]+\(|due to|=========.*(Invalid|hazard|Error|ERROR)' "$log" | head -n 12 | sed 's/^/  | /'
    tail -n 5 "$log" | sed 's/^/  | /'
  fi
}

# shard COUNT NUMBER TEST: what of the test executable's cases the shard NUMBER (0, 1, ...) of COUNT runs, as arguments
# for Catch2: version 3 divides by itself, version 2 takes a list of names.
cases='~[exhaustive]~[.]'
shard() {
  local count=$1 number=$2 test=$3
  if "$test" --help | grep -q -- --shard-count; then
    printf '%s\n' "$cases" --shard-count "$count" --shard-index "$number"
  else
    local names=$output/$(basename "$test").$number.names
    "$test" --list-test-names-only "$cases" | awk -v n="$count" -v i="$number" 'NR % n == i { gsub(/,/, "\\,"); print }' >"$names"
    printf '%s\n' -f "$names"
  fi
}

# Kernels are compiled for most of the time, one core each, so the tests of many kernels run in several processes.
shards_of() {
  case $(basename "$1") in
    test_program) echo 6 ;;
    test_cuda) echo 4 ;;
    *) echo 1 ;;
  esac
}

"$folder/sinter" doctor || { echo "sinter doctor failed"; failed=1; }
cd "$output" || exit 1
for test in "$folder"/test_*; do
  shards=$(shards_of "$test")
  for ((i = 0; i < shards; ++i)); do
    mapfile -t what < <(shard "$shards" "$i" "$test")
    run_tests "$(basename "$test") $i" 200 "$test" "${what[@]}" &
  done
done
wait
for test in "$folder"/test_*; do
  shards=$(shards_of "$test")
  for ((i = 0; i < shards; ++i)); do count "$(basename "$test") $i"; done
done

for sample in gelu softmax own_formula mlp; do
  if bounded 60 "$folder/$sample" >"$output/sample-$sample.log" 2>&1; then
    passed=$((passed + 1))
  else
    echo "the sample $sample failed; the log is $output/sample-$sample.log"
    failed=$((failed + 1))
  fi
done

# Test cases of test_program that between them launch every kind of kernel, on few elements: the tools below are some
# hundred times slower than the kernels, and call a program that launches nothing a failure.
sanitized=(
  'inputs are read right*' 'few and many rows*' 'short rows\, side by side*' 'columns of any length*'
  'transposed tensors*' 'any axes of a tensor*' 'argmax and argmin*' 'folding nothing*' 'rows of no elements*'
  'strict: a sum*' 'conversions one after*' 'every operation is right on f32'
  'rows and across them: results*' 'rows and across them: the gradients*' 'long rows\, each of a block' 'rows that are shared by blocks*'
  'rows of odd lengths beside*' 'sums of exponentials over columns' 'means and squared distances from them over rows that*'
)
sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
if [[ -n $with_sanitizer && -x $sanitizer ]]; then
  for check in memcheck racecheck; do
    for i in "${!sanitized[@]}"; do
      run_tests "$check $i" 100 "$sanitizer" --tool "$check" --error-exitcode 1 "$folder/test_program" "${sanitized[$i]}" &
    done
    wait
    for i in "${!sanitized[@]}"; do
      echo "${sanitized[$i]}:"
      count "$check $i" may_run_out
    done
  done
elif [[ -n $with_sanitizer ]]; then
  echo "compute-sanitizer is not there: left out"
fi

if [[ -n $with_bench ]]; then
  began=$SECONDS
  bounded 240 "$folder/sinter" bench --device cuda --markdown "$output/bench.md" || {
    echo "sinter bench failed with code $?"
    failed=$((failed + 1))
  }
fi
echo "$passed passed, $failed failed, $skipped skipped"
[[ $failed -eq 0 ]]
