# shellcheck shell=bash
# Sourced by tests/run.sh and samples/quickstart.sh: installs the packages that are missing, and configures.
# They set `root`, the source directory, and `build`, the build directory.
: "${root:?}" "${build:?}"

# Prints the packages of the list that this machine lacks.
missing_packages() {
  local package
  grep -v '^#' "$root/cmake/packages-debian.txt" | while read -r package; do
    dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || echo "$package"
  done
}

# Installs what is missing, as root or by sudo; without either it says what to install and goes on.
install_packages() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "Not a Debian or Ubuntu machine: cmake/packages-debian.txt lists what is needed."
    return
  fi
  local missing sudo=
  missing=$(missing_packages | tr '\n' ' ')
  [[ -z $missing ]] && return
  if [[ $EUID -ne 0 ]]; then
    sudo='sudo -n'
    if ! $sudo true 2>/dev/null; then
      echo "Missing packages, and no right to install them: apt-get install $missing"
      return
    fi
  fi
  echo "Installing $missing"
  # shellcheck disable=SC2086  # the list is made of words
  { $sudo apt-get update -qq &&
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing; } \
    >"$build/packages.log" 2>&1 || { tail -n 20 "$build/packages.log"; echo "Installing the packages failed."; }
}

# configure OPTION...: a release build in $build.
configure() {
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release "$@" >"$build/configure.log" 2>&1 || {
    tail -n 30 "$build/configure.log"
    return 1
  }
}
