# -*- Python -*-
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Settings of every lit root of the tree.

Features (use with REQUIRES / UNSUPPORTED):
  linux         always on Linux
  nvcc          a CUDA 13 compiler was found; %nvcc is its path
  torch         the virtual environment has the pinned torch; %python is its interpreter
  aten          libpkb_aten.so was built (needs torch)
  nvlink-N      at least N GPUs, for each N from 2 up
  pkb-checkout  PKB_CHECKOUT names a checkout of ParallelKernelBench
  plugins       pkb-opt links the shared MLIR library, so any plugin loads
  full          the run includes long tests (-D full=1)
  dev-full      /dev/full is the device that is always full

Substitutions: %python, %nvcc, %cxx, %src (repository root), %build (build tree), %shlibext.
PKB_CHECK_ROUNDTRIP=1 in the environment adds --verify-roundtrip to every pkb-opt.
"""
import os
import platform
import re
import shutil
import stat
import subprocess

import lit.formats

config.name = config.pkb_suite
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test", ".py", ".pdll", ".cu"]
config.excludes = [
    "CMakeLists.txt", "Inputs", "lib", "unit", "__pycache__", "README.md",
    "lit.cfg.py", "lit.site.cfg.py", "reference.py",
]

SOURCE = config.pkb_source_dir
BUILD = config.pkb_build_dir
PKB_BIN = os.path.join(BUILD, "bin")


def run_quietly(*argv, timeout=60):
    """The standard output of a command, or None where it is missing or fails."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=timeout)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def find_python():
    named = os.environ.get("PKB_PYTHON")
    candidates = [named] if named else [os.path.join(config.pkb_venv, "bin", "python")]
    candidates.append(shutil.which("python3"))
    for path in candidates:
        if path and os.access(path, os.X_OK):
            return path
    return "python3"


def find_nvcc():
    """nvcc of the PATH, of /usr/local/cuda, or of the wheels in the virtual environment."""
    found = shutil.which("nvcc")
    if found:
        return found
    places = ["/usr/local/cuda/bin/nvcc"]
    lib = os.path.join(config.pkb_venv, "lib")
    if os.path.isdir(lib):
        for version in sorted(os.listdir(lib)):
            places.append(os.path.join(lib, version, "site-packages", "nvidia", "cu13", "bin", "nvcc"))
    for path in places:
        if os.access(path, os.X_OK):
            return path
    return None


def count_gpus():
    listed = run_quietly("nvidia-smi", "-L")
    if listed is None:
        return 0
    return len(re.findall(r"^GPU \d+:", listed, re.M))


# --- environment ---------------------------------------------------------------------------------
config.environment["PATH"] = os.path.pathsep.join(
    [PKB_BIN, config.pkb_llvm_bin, config.environment.get("PATH", os.defpath)])
for name in ("PKB_CHECKOUT", "PKB_PYTHON", "CUDA_HOME", "CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH",
             "CCACHE_DIR", "XDG_CACHE_HOME", "HOME", "TMPDIR", "CI"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
config.environment["PYTHONPATH"] = os.path.join(SOURCE, "runtime", "torch")
config.environment["PYTHONDONTWRITEBYTECODE"] = "1"
config.environment["OMP_NUM_THREADS"] = "1"
config.environment["FILECHECK_OPTS"] = "-enable-var-scope"
config.environment["PKB_SOURCE_DIR"] = SOURCE
config.environment["PKB_BUILD_DIR"] = BUILD

python = find_python()
config.environment["PKB_PYTHON"] = python
config.substitutions.append(("%python", python))
config.substitutions.append(("%src", SOURCE))
config.substitutions.append(("%build", BUILD))
config.substitutions.append(("%shlibext", ".so"))
config.substitutions.append(("%cxx", os.path.join(config.pkb_llvm_bin, "clang++")))

# --- features ------------------------------------------------------------------------------------
if platform.system() == "Linux":
    config.available_features.add("linux")

if os.path.exists("/dev/full") and stat.S_ISCHR(os.stat("/dev/full").st_mode):
    config.available_features.add("dev-full")

nvcc = find_nvcc()
if nvcc:
    config.available_features.add("nvcc")
    config.environment["PKB_NVCC"] = nvcc
    config.substitutions.append(("%nvcc", nvcc))

torch_version = run_quietly(python, "-c", "import importlib.metadata as m; print(m.version('torch'))")
if torch_version and torch_version.startswith("2.11.0"):
    config.available_features.add("torch")

if any(os.path.exists(os.path.join(BUILD, d, "libpkb_aten.so")) for d in ("lib", "runtime/aten")):
    config.available_features.add("aten")

for n in range(2, count_gpus() + 1):
    config.available_features.add(f"nvlink-{n}")

checkout = os.environ.get("PKB_CHECKOUT", "")
if checkout and os.path.isdir(os.path.join(checkout, "reference")):
    config.available_features.add("pkb-checkout")

if config.pkb_static not in ("ON", "1", "TRUE"):
    config.available_features.add("plugins")

if lit_config.params.get("full", "0") not in ("0", "", "no"):
    config.available_features.add("full")

# --- tools ---------------------------------------------------------------------------------------
# Whole words only, and not inside a path or an option.
if os.environ.get("PKB_CHECK_ROUNDTRIP", "0") not in ("0", ""):
    config.substitutions.append((r"(?<![\w./-])pkb-opt(?![\w./-])", "pkb-opt --verify-roundtrip"))
