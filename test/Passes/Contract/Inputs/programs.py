# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints level L1 programs with every collective that kernels carry out, in single and list form, one per schedule.

usage: programs.py RANKS MECHANISM [--missing-slots N]

RANKS: group sizes, separated by commas. MECHANISM: ldst or ll. Depths 0, 1 and 3; messages of no element, of less than a chunk, of chunks that
do not fill the grid, and of many chunks per block. The ring has 2 * depth + 2 - N slots.
"""
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("ranks")
parser.add_argument("mechanism")
parser.add_argument("--missing-slots", type=int, default=0)
options = parser.parse_args()


def program(ranks, elements, depth):
    slots = 2 * depth + 2 - options.missing_slots
    schedule = (f"{{xfer.schedule = #xfer.schedule<mechanism = {options.mechanism}, blocks = 3, threads = 64, chunk = 32, "
                f"depth = {depth}, slots = {slots}, unroll = 2>}}")
    group = "<[[" + ", ".join(str(rank) for rank in range(ranks)) + "]]>"
    one, all_ = f"tensor<{elements}xbf16>", f"tensor<{elements * ranks}xbf16>"

    def many(text):
        return ", ".join([text] * ranks)

    lines = [f"module attributes {{comm.mesh = #comm.mesh<size = {ranks}>}} {{",
             f"func.func @main(%a: {one}, %b: {all_}) {{",
             f"  %0 = comm.all_reduce sum %a in {group} accumulate f32 deterministic {schedule} : {one}",
             f"  %1 = comm.all_gather %a in {group} {schedule} : ({one}) -> {all_}",
             f"  %2 = comm.all_to_all %b in {group} {schedule} : ({all_}) -> {all_}"]
    lines += [f"  %5 = comm.reduce_scatter avg %b in {group} accumulate f32 deterministic {schedule} : ({all_}) -> {one}"]
    if options.mechanism == "ldst": # roles: the last rank is the root, the first two ranks exchange
        pairs = "[[0, 0]]" if ranks == 1 else "[[0, 1], [1, 0]]"
        counts = [max(0, elements - 7 * rank) for rank in range(ranks)]
        total = f"tensor<{sum(counts)}xbf16>"
        lines += [f"  %6 = comm.broadcast %a in {group} from [{ranks - 1}] {schedule} : {one}",
                  f"  %7 = comm.reduce max %a in {group} to [{ranks - 1}] accumulate f32 deterministic {schedule} : {one}",
                  f"  %8 = comm.gather %a in {group} to [{ranks - 1}] {schedule} : ({one}) -> {all_}",
                  f"  %9 = comm.scatter %b in {group} from [{ranks - 1}] {schedule} : ({all_}) -> {one}",
                  f"  %10 = comm.permute %a in {group} pairs {pairs} {schedule} : ({one}) -> {one}",
                  f"  %11 = comm.all_gather_v %a in {group} counts {counts} {schedule} : ({one}) -> {total}",
                  f"  comm.barrier in {group} {schedule}"]
    if ranks > 1:
        lines += [f"  %3:{ranks} = comm.all_gather %a in {group} {schedule} : ({one}) -> ({many(one)})",
                  f"  %4:{ranks} = comm.all_to_all {many('%a')} in {group} {schedule} : ({many(one)}) -> ({many(one)})"]
    return "\n".join(lines + ["  return", "}", "}"])


sizes = [0, 1, 40, 1000] if options.mechanism == "ldst" else [1, 40, 1000]
if options.missing_slots:
    sizes = [1000]
print("\n// -----\n".join(program(int(ranks), elements, depth)
                         for ranks in options.ranks.split(",") for elements in sizes for depth in (0, 1, 3)))
