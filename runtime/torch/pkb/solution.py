# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program as one Python file: `python -m pkb.solution X.pkx OUT.py` (pkb-run X.pkx --pkb-solution OUT.py); X.cu works too.

The file defines `solution(*args)`, as ParallelKernelBench expects it of a candidate. It carries the program, the run time, the
table of operators and the device headers, and needs torch 2.11.0 on a machine with x86-64 Linux and CUDA 12.8 or newer.
"""

import base64
import contextlib
import hashlib
import io
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import zipfile

from . import artefact, native
from .files import check_writable, whole_file, why_not

_LIBRARIES = ("libpkb_rt.so", "libpkb_aten.so", "libpkb_torch.so")
_MODULES = ("__init__.py", "artefact.py", "native.py", "context.py", "program.py", "trees.py")

_TEMPLATE = '''\
"""{name}: made by pkb, the compiler of multi-GPU kernels, for {world_size} ranks ({target}). Program {program}.

Self-contained: the text below is a zip archive with the program, the run time and its headers. It is unpacked once per machine. {kernels} Needs torch {torch}.
"""

import base64
import io
import os
import sys
import tempfile
import zipfile

DIGEST = "{digest}"


def _unpack():
    """The folder with the files; made by the first process that gets there."""
    folder = os.path.join(tempfile.gettempdir(), f"pkb-solution-{{os.getuid()}}-{{DIGEST[:16]}}")
    if not os.path.isdir(folder):
        part = tempfile.mkdtemp(prefix="pkb-solution-part-")
        with zipfile.ZipFile(io.BytesIO(base64.b85decode("".join(ARCHIVE.split())))) as archive:
            archive.extractall(part)
        try:
            os.rename(part, folder)
        except OSError:
            if not os.path.isdir(folder):
                raise
    if os.stat(folder).st_uid != os.getuid():
        raise RuntimeError(f"{{folder}} belongs to another user; remove it or set TMPDIR")
    return folder


def load(**options):
    """The program as a callable (pkb.load); collective over the process group."""
    folder = _unpack()
    package = os.path.join(folder, "python")
    if package not in sys.path:
        sys.path.insert(0, package)
    import pkb

    # What it does not fit is an error: a call of the original would be no result of this program.
    return pkb.load(os.path.join(folder, "{program_file}"), **{{"fallback": None, **options}})


_program = None


def solution(*args, **kwargs):
    global _program
    if _program is None:
        _program = load()
    return _program(*args, **kwargs)


ARCHIVE = """
{archive}
"""
'''


def _stripped(path):
    """Contents of a library without its debug symbols, where `strip` is at hand."""
    tool = shutil.which("strip")
    if tool:
        with contextlib.suppress(OSError), tempfile.TemporaryDirectory() as folder:  # no room for a copy
            copy = pathlib.Path(folder) / path.name
            shutil.copyfile(path, copy)
            if subprocess.run([tool, "--strip-unneeded", str(copy)], capture_output=True, check=False).returncode == 0:
                return copy.read_bytes()
    return path.read_bytes()


def _headers(libraries):
    here = pathlib.Path(__file__).resolve()
    for folder in (libraries.parent / "include", here.parents[2] / "include"):
        if (folder / "pkb_rt" / "device.h").is_file():
            return folder
    raise native.PkbError(f"pkb_rt/device.h is not beside {libraries}; install or build pkb")


def manifest_of(path):
    """The manifest of an emitted program or an artefact. Raises PkbError if the file has none."""
    if artefact.is_artefact(path):
        text = artefact.members(path)["program.cu"].decode(errors="replace")
    else:
        try:
            text = pathlib.Path(path).read_text(encoding="utf-8")
        except OSError as error:
            raise native.PkbError(f"cannot read '{path}': {error.strerror}") from error
        except UnicodeDecodeError:
            text = ""
    found = re.match(r"/\* pkb-manifest\n(.*?)\n\*/\n", text, re.S)
    try:
        return json.loads(found.group(1))
    except (AttributeError, ValueError):
        raise native.PkbError(f"'{path}' has no manifest; it must be a .cu that pkb-opt emitted") from None


def write(program, out):
    """Writes the file `out` for a program (X.pkx, or X.cu with X.cu.data beside it if it has one). Raises PkbError."""
    program, out = pathlib.Path(program), pathlib.Path(out)
    try:
        check_writable(out)
    except OSError as error:
        raise native.PkbError(f"cannot write '{out}': {error.strerror}") from error
    manifest = manifest_of(program)
    libraries = native.library_directory()
    headers = _headers(libraries)
    package = pathlib.Path(__file__).resolve().parent
    compiled = artefact.is_artefact(program)
    program_file = "program.pkx" if compiled else "program.cu"
    files = {program_file: program.read_bytes()}
    if manifest.get("data") and not compiled:
        data = program.with_name(program.name + ".data")
        if not data.is_file():
            raise native.PkbError(f"'{program}' has constants in '{data}', which is missing; write both again with pkb-opt")
        files["program.cu.data"] = data.read_bytes()
    for name in _LIBRARIES:
        if not (libraries / name).is_file():
            raise native.PkbError(f"{libraries / name} is missing; build pkb on a machine with torch")
        files[f"lib/{name}"] = _stripped(libraries / name)
    for name in _MODULES:
        files[f"python/pkb/{name}"] = (package / name).read_bytes()
    for path in sorted((headers / "pkb_rt").rglob("*")):
        if path.is_file():
            files[f"include/{path.relative_to(headers)}"] = path.read_bytes()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_LZMA) as archive:
        for name, contents in files.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), contents, zipfile.ZIP_LZMA)
    encoded = base64.b85encode(packed.getvalue()).decode()
    text = _TEMPLATE.format(
        name=manifest["name"],
        world_size=manifest["world_size"],
        target=manifest.get("target", "?"),
        program=manifest.get("program", "without an id"),
        torch=manifest.get("torch", "2.11.0"),
        program_file=program_file,
        kernels="Its kernels are compiled." if compiled else "The kernels are compiled by torch's NVRTC at the first call.",
        digest=hashlib.sha256(packed.getvalue()).hexdigest(),
        archive="\n".join(textwrap.wrap(encoded, 160)),
    )
    try:
        with whole_file(out) as file:
            file.write(text.encode("ascii"))
    except OSError as error:
        raise native.PkbError(f"cannot write '{out}': {error.strerror}") from error


def main(arguments):
    if len(arguments) != 2:
        print("usage: python -m pkb.solution X.pkx|X.cu OUT.py", file=sys.stderr)
        return 2
    try:
        write(*arguments)
    except native.PkbError as error:
        print(f"pkb-run: error: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"pkb-run: error: {why_not(error)}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
