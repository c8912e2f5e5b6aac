# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""nvrtc.py LIBNVRTC SOURCE OPTION...: compiles SOURCE through NVRTC; prints the size of the cubin, or the log with exit 1."""
import ctypes
import sys

library, source, *options = sys.argv[1:]
nvrtc = ctypes.CDLL(library)
with open(source, "rb") as file:
    text = file.read()
program = ctypes.c_void_p()
assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, b"program.cu", 0, None, None) == 0
array = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
result = nvrtc.nvrtcCompileProgram(program, len(options), array)
size = ctypes.c_size_t()
nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
log = ctypes.create_string_buffer(size.value)
nvrtc.nvrtcGetProgramLog(program, log)
print(log.value.decode(), end="")
if result != 0:
    sys.exit(1)
nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
print("cubin of", size.value, "bytes")
