# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Sourced by tools/check and tools/quickstart: installs what is missing and builds. Every step says what it does and how
# long it took; a step that cannot be done ends the script with one line that says why.
#
#   pkb_setup_packages [--with-tests]   apt packages (only what is missing; needs root only then)
#   pkb_setup_venv                      build/venv with the pinned torch and numpy
#   pkb_setup_nvcc                      nvcc: of the PATH, of /usr/local/cuda, else from wheels into build/venv
#   pkb_configure                       cmake into build/
#   pkb_build TARGET...                 ninja

PKB_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
PKB_BUILD=${PKB_BUILD:-$PKB_ROOT/build}
PKB_LLVM=22
PKB_TORCH=2.11.0
PKB_CUDA=13.0
PKB_STARTED=$SECONDS

say() { printf '[%3d s] %s\n' $((SECONDS - PKB_STARTED)) "$*"; }
die() { printf '%s: error: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# run_logged NAME COMMAND...: output into build/logs/NAME.log; shown (its end) only on failure.
run_logged() {
  local name=$1 log=$PKB_BUILD/logs/$1.log from=$SECONDS
  shift
  mkdir -p "$PKB_BUILD/logs"
  "$@" </dev/null >"$log" 2>&1 &
  local job=$! waited=0 next=30
  while kill -0 "$job" 2>/dev/null; do
    sleep 1
    waited=$((SECONDS - from))
    if [ "$waited" -ge "$next" ]; then
      say "  $name: still running, $waited s"
      next=$((waited + 30))
    fi
  done
  if ! wait "$job"; then
    tail -n 25 "$log" >&2
    die "$name failed; the whole log is $log"
  fi
}

pkb_setup_packages() {
  local need=(git g++ cmake ninja-build ccache python3 python3-venv
    clang-$PKB_LLVM lld-$PKB_LLVM "libmlir-$PKB_LLVM-dev" "mlir-$PKB_LLVM-tools" "llvm-$PKB_LLVM-dev"
    "llvm-$PKB_LLVM-tools" libboost-context-dev libcli11-dev nlohmann-json3-dev libminizip-dev libfmt-dev
    libzstd-dev zlib1g-dev pkg-config)
  if [ "${1:-}" = --with-tests ]; then
    need+=(libgtest-dev python3-psutil)
  fi
  local missing=() package
  command -v dpkg-query >/dev/null || die "this script installs Debian packages; elsewhere install the list in docs/GettingStarted.md by hand"
  for package in "${need[@]}"; do
    [ "$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null)" = "install ok installed" ] || missing+=("$package")
  done
  if [ ${#missing[@]} -eq 0 ]; then
    say "packages: all ${#need[@]} are there"
    return
  fi
  [ "$(id -u)" -eq 0 ] || die "packages are missing; as root: apt-get install --no-install-recommends ${missing[*]}"
  say "packages: installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  local options=(-o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
  run_logged apt-update apt-get "${options[@]}" update
  run_logged apt-install apt-get "${options[@]}" install -y --no-install-recommends "${missing[@]}"
  say "packages: installed"
}

# A Python of at least 3.11 that can make virtual environments.
pkb_find_python() {
  local python
  for python in python3.11 python3.12 python3.13 python3 /usr/bin/python3; do
    if "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
      command -v "$python"
      return
    fi
  done
  die "no Python of at least 3.11 with venv: install python3 and python3-venv"
}

pip_install() {
  PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore \
    "$PKB_BUILD/venv/bin/python" -m pip install --no-input --progress-bar off --retries 5 "$@"
}

pkb_setup_venv() {
  local python="$PKB_BUILD/venv/bin/python"
  if [ "$("$python" -c 'import importlib.metadata as m; print(m.version("torch").split("+")[0]); m.version("numpy")' 2>/dev/null)" = "$PKB_TORCH" ]; then
    say "torch $PKB_TORCH: is there ($PKB_BUILD/venv)"
    return
  fi
  local free
  mkdir -p "$PKB_BUILD"
  free=$(df -Pk "$PKB_BUILD" | awk 'NR == 2 {print int($4 / 1048576)}')
  [ "$free" -ge 8 ] || die "torch needs 8 GB of disk below $PKB_BUILD, there are $free: free some, or set PKB_BUILD to another folder"
  say "torch $PKB_TORCH: installing into $PKB_BUILD/venv (about 5 GB, one to four minutes)"
  [ -x "$python" ] || run_logged venv "$(pkb_find_python)" -m venv "$PKB_BUILD/venv"
  run_logged pip-torch pip_install "torch==$PKB_TORCH" numpy
  say "torch $PKB_TORCH: installed"
}

pkb_find_nvcc() {
  local path
  for path in "$(command -v nvcc)" /usr/local/cuda/bin/nvcc "$PKB_BUILD"/venv/lib/python3*/site-packages/nvidia/cu13/bin/nvcc; do
    if [ -n "$path" ] && "$path" --version >/dev/null 2>&1; then
      echo "$path"
      return
    fi
  done
  return 1
}

pkb_setup_nvcc() {
  local nvcc
  if ! nvcc=$(pkb_find_nvcc); then
    say "nvcc $PKB_CUDA: installing its wheels into $PKB_BUILD/venv"
    # All of one release: a newer front end writes PTX that this ptxas refuses.
    run_logged pip-nvcc pip_install "nvidia-cuda-nvcc==$PKB_CUDA.*" "nvidia-cuda-crt==$PKB_CUDA.*" \
      "nvidia-nvvm==$PKB_CUDA.*" "nvidia-cuda-runtime==$PKB_CUDA.*" "nvidia-cuda-cccl==$PKB_CUDA.*"
    nvcc=$(pkb_find_nvcc) || die "nvcc was installed into $PKB_BUILD/venv but does not run; see $PKB_BUILD/logs/pip-nvcc.log"
  fi
  say "nvcc: $nvcc ($("$nvcc" --version | sed -n 's/.*release \([0-9.]*\).*/\1/p'))"
}

pkb_configure() {
  say "cmake: configuring $PKB_BUILD"
  run_logged configure cmake -S "$PKB_ROOT" -B "$PKB_BUILD" -G Ninja "-DPKB_VENV=$PKB_BUILD/venv" "$@"
}

# Ninja writes a line per step; every 20th and everything that is no step is shown.
show_build() {
  local line
  while IFS= read -r line; do
    if [[ $line =~ ^\[([0-9]+)/[0-9]+\]\  ]]; then
      [ $((BASH_REMATCH[1] % 20)) -ne 0 ] || printf '        %s\n' "${line%% *} ${line##* }"
    elif [[ ! $line =~ ^ninja:\ (Entering|no\ work) ]]; then
      printf '%s\n' "$line"
    fi
  done
}

pkb_build() {
  local log=$PKB_BUILD/logs/build.log from=$SECONDS
  mkdir -p "$PKB_BUILD/logs"
  say "ninja: building ${*:-everything} with $(nproc) jobs"
  NINJA_STATUS='[%f/%t] ' ninja -C "$PKB_BUILD" -j "$(nproc)" "$@" </dev/null 2>&1 | tee "$log" | show_build
  [ "${PIPESTATUS[0]}" -eq 0 ] || die "the build failed; the whole log is $log"
  say "ninja: done in $((SECONDS - from)) s"
}
