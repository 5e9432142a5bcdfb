#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test that this machine can run.
#
#   tests/run.sh [--exhaustive] [ctest option...]
#
# Options of ctest choose what is run, not what is built: `tests/run.sh -R NAME` builds every target too. For one test,
# `ninja -C build test_runtime && ctest --test-dir build -R NAME`.
# --exhaustive adds the tests that go through all inputs of a function (hours). The last line is
# "N passed, N failed, N skipped"; the exit code is 1 if anything failed. Tests that the end of the time cuts off have
# failed; those it leaves no room for are counted in a line before. SINTER_BUILD_DIR names another build directory than
# build/, SINTER_TEST_MINUTES another limit than 25 minutes for the whole.
set -u -o pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${SINTER_BUILD_DIR:-$root/build}
jobs=$(nproc)
deadline=$((SECONDS + 60 * ${SINTER_TEST_MINUTES:-25}))
export -n SINTER_BUILD_DIR SINTER_TEST_MINUTES  # no settings of the library, which warns of names it does not know
mkdir -p "$build"
# shellcheck source=cmake/setup.sh
source "$root/cmake/setup.sh"

leave_out=(-LE exhaustive)
if [[ ${1:-} == --exhaustive ]]; then
  leave_out=()
  deadline=$((SECONDS + 23 * 3600))  # CTest knows a time of the day
  shift
fi

# Ends the run before any test was started: what did not get built counts as one failure.
give_up() {
  echo "$1"
  echo "0 passed, 1 failed, 0 skipped"
  exit 1
}

# bounded COMMAND...: runs it for no longer than what is left of the time.
bounded() { timeout --kill-after=10 $((deadline - SECONDS > 1 ? deadline - SECONDS : 1)) "$@"; }

# attribute NAME: a number from the head of CTest's report.
attribute() { grep -o -m1 "[[:space:]]$1=\"[0-9]*\"" "$report" | grep -o '[0-9]*' || echo 0; }

# Prints, for each reason, how many tests were skipped because of it.
print_skip_reasons() {
  local reasons
  reasons=$(sed -n 's/^SKIPPED: //p' "$build/Testing/Temporary/LastTest.log" | sort | uniq -c | sort -rn)
  [[ -n $reasons ]] && printf 'Skipped, and why:\n%s\n' "$reasons"
}

install_packages
echo "Building in $build with $jobs jobs"
configure -DSINTER_BUILD_TESTS=ON -DSINTER_BUILD_SAMPLES=ON || give_up "The build could not be configured."
bounded cmake --build "$build" -j "$jobs" >"$build/build.log" 2>&1 || {
  code=$?
  [[ $code -eq 124 || $code -eq 137 ]] &&
    give_up "The time was over before all was built (SINTER_TEST_MINUTES is for building and testing); go on by running this again."
  grep -A 20 -m 3 'FAILED: \|error: ' "$build/build.log" || tail -n 30 "$build/build.log"
  give_up "The build failed or ran out of time; the whole log is $build/build.log"
}

report=$build/tests.xml
rm -f "$report"
selection=(--test-dir "$build" "${leave_out[@]}" "$@")
# CTest stops by itself, so that it still writes its report.
left=$((deadline - SECONDS - 15))
bounded ctest "${selection[@]}" -j "$jobs" --output-on-failure --output-junit "$report" \
  --stop-time "$(date -d "+$((left > 1 ? left : 1)) seconds" +%H:%M:%S)"
ctest_code=$?
[[ -s $report ]] || give_up "The tests ran out of time."

total=$(attribute tests) failed=$(attribute failures) skipped=$(attribute skipped)
passed=$((total - failed - skipped))
not_run=$(($(ctest "${selection[@]}" -N | sed -n 's/^Total Tests: //p') - total))
print_skip_reasons
if [[ ${#leave_out[@]} -gt 0 ]]; then
  count=$(ctest --test-dir "$build" -N -L exhaustive | sed -n 's/^Total Tests: //p')
  echo "$count exhaustive tests left out (--exhaustive runs them)"
fi
if [[ $not_run -gt 0 ]]; then
  echo "$not_run tests were not started: the time was over (SINTER_TEST_MINUTES)"
  [[ $failed -eq 0 ]] && failed=1
fi
if [[ $ctest_code -ne 0 && $failed -eq 0 ]]; then
  echo "ctest ended with code $ctest_code"
  failed=1
fi
echo "$passed passed, $failed failed, $skipped skipped"
[[ $failed -eq 0 ]]
