# RUN: %python %s
# REQUIRES: torch
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every way to spell a collective is carried out and recorded in one functional form."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))

import torch
from harness import ExportTest, collectives


class FormsTest(ExportTest):
    def test_reductions_in_place_async_and_functional(self):
        bundle, ranks = self.outputs(
            """
            import torch.distributed._functional_collectives as fc
            from torch.distributed import all_reduce

            def solution(x):
                a, b, c = x.clone(), x.clone(), x.clone()
                dist.all_reduce(a)
                work = all_reduce(b, op=dist.ReduceOp.MAX, async_op=True)
                work.wait()
                dist.all_reduce(c, op=dist.ReduceOp.AVG, group=dist.group.WORLD)
                d = fc.all_reduce(x, "sum", dist.group.WORLD)
                e = x.clone()
                dist.reduce(e, dst=1)
                return a, b, c, d, e
            """,
            3,
        )
        x = [r[0][0] for r in ranks]
        total = (x[0] + x[1]) + x[2]
        for k, (_, (a, b, c, d, e), _) in enumerate(ranks):
            self.assertBits(a, total)
            self.assertBits(b, torch.maximum(torch.maximum(x[0], x[1]), x[2]))
            self.assertBits(c, total / 3)
            self.assertBits(d, total)
            self.assertBits(e, total if k == 1 else x[k])
        events = collectives(bundle.ranks[0])
        self.assertEqual([e["name"] for e in events], ["all_reduce"] * 4 + ["reduce"])
        self.assertEqual([e["reduce"] for e in events], ["sum", "max", "avg", "sum", "sum"])
        self.assertEqual([e["async"] for e in events], [False, True, False, True, False])
        self.assertEqual([len(e["writes"]) for e in events], [1, 1, 1, 0, 1])
        waits = [e for e in bundle.ranks[0]["events"] if e["kind"] == "wait"]
        self.assertEqual([bundle.ranks[0]["events"][w["collective"]]["reduce"] for w in waits], ["max", "sum"])

    def test_gathers(self):
        bundle, ranks = self.outputs(
            """
            import torch.distributed._functional_collectives as fc

            def solution(x):
                w = dist.get_world_size()
                parts = [torch.empty_like(x) for _ in range(w)]
                dist.all_gather(parts, x)
                stacked = x.new_empty((w, *x.shape))
                dist.all_gather_into_tensor(stacked, x)
                joined = x.new_empty((w * x.shape[0], *x.shape[1:]))
                dist.all_gather_into_tensor(joined, x)
                uneven = [torch.empty(r + 1, device=x.device) for r in range(w)]
                dist.all_gather(uneven, x.flatten()[: dist.get_rank() + 1].clone())
                f = fc.all_gather_tensor(x, 0, dist.group.WORLD)
                got = [torch.empty_like(x) for _ in range(w)] if dist.get_rank() == 2 else None
                dist.gather(x, got, dst=2)
                return parts, stacked, joined, uneven, f, got
            """,
            3,
        )
        x = [r[0][0] for r in ranks]
        for k, (_, outs, _) in enumerate(ranks):
            for a, b in zip(outs[:3], x):
                self.assertBits(a, b)
            self.assertBits(outs[3], torch.stack(x))
            self.assertBits(outs[4], torch.cat(x))
            for r in range(3):
                self.assertBits(outs[5 + r], x[r].flatten()[: r + 1])
            self.assertBits(outs[8], torch.cat(x))
            self.assertEqual(len(outs), 12 if k == 2 else 9)
            for a, b in zip(outs[9:], x):
                self.assertBits(a, b)
        record = bundle.ranks[0]
        events = collectives(record)
        self.assertEqual([e["name"] for e in events], ["all_gather"] * 5 + ["gather"])
        self.assertEqual([len(e["outputs"]) for e in events], [3, 1, 1, 3, 1, 0])
        for e in (events[1], events[2], events[4]):
            self.assertEqual(record["tensors"][e["outputs"][0]]["sizes"], [3, 6, 4])
        self.assertEqual(events[5]["root"], 2)

    def test_all_to_all(self):
        _, ranks = self.outputs(
            """
            import torch.distributed._functional_collectives as fc

            def solution(x):
                w, r = dist.get_world_size(), dist.get_rank()
                single = torch.empty_like(x)
                dist.all_to_all_single(single, x)
                ins = list(x.chunk(w))
                outs = [torch.empty_like(t) for t in ins]
                dist.all_to_all(outs, ins)
                send = [(r + d) % 3 for d in range(w)]
                recv = [(s + r) % 3 for s in range(w)]
                uneven = x.new_empty(sum(recv), 4)
                dist.all_to_all_single(uneven, x[: sum(send)].contiguous(), recv, send)
                f = fc.all_to_all_single(x, None, None, dist.group.WORLD)
                return single, outs, uneven, f + 0
            """,
            3,
        )
        x = [r[0][0] for r in ranks]
        for k, (_, outs, _) in enumerate(ranks):
            wanted = torch.cat([x[s].chunk(3)[k] for s in range(3)])
            self.assertBits(outs[0], wanted)
            self.assertBits(torch.cat(outs[1:4]), wanted)
            pieces = []
            for s in range(3):
                send = [(s + d) % 3 for d in range(3)]
                pieces.append(x[s][: sum(send)].split(send)[k])
            self.assertBits(outs[4], torch.cat(pieces))
            self.assertBits(outs[5], wanted)

    def test_scatters_broadcasts_and_barriers(self):
        bundle, ranks = self.outputs(
            """
            def solution(x):
                w, r = dist.get_world_size(), dist.get_rank()
                a = x.new_empty(2, 4)
                dist.reduce_scatter_tensor(a, x)
                b = x.new_empty(2, 4)
                dist.reduce_scatter(b, list(x.chunk(w)), op=dist.ReduceOp.MIN)
                c = x.clone()
                dist.broadcast(c, src=2)
                d = x.new_empty(2, 4)
                dist.scatter(d, [t.contiguous() for t in x.chunk(w)] if r == 1 else None, src=1)
                dist.barrier()
                return a, b, c, d
            """,
            3,
        )
        x = [r[0][0] for r in ranks]
        total = (x[0] + x[1]) + x[2]
        for k, (_, (a, b, c, d), _) in enumerate(ranks):
            self.assertBits(a, total.chunk(3)[k])
            self.assertBits(b, torch.stack(x).amin(0).chunk(3)[k])
            self.assertBits(c, x[2])
            self.assertBits(d, x[1].chunk(3)[k])
        names = [e["name"] for e in collectives(bundle.ranks[0])]
        self.assertEqual(names, ["reduce_scatter", "reduce_scatter", "broadcast", "scatter", "barrier"])

    def test_coalesced(self):
        """A coalescing manager gives one event per tensor."""
        bundle, ranks = self.outputs(
            """
            from torch.distributed.distributed_c10d import _coalescing_manager

            def solution(x):
                a, b = x.clone(), x * 2
                with _coalescing_manager(async_ops=True) as cm:
                    dist.all_reduce(a)
                    dist.all_reduce(b)
                cm.wait()
                c, d = x.new_empty(12, 4), x.new_empty(12, 4)
                with _coalescing_manager():
                    dist.all_gather_into_tensor(c, x)
                    dist.all_gather_into_tensor(d, x + 1)
                return a, b, c, d
            """,
            2,
        )
        x = [r[0][0] for r in ranks]
        for _, (a, b, c, d), _ in ranks:
            self.assertBits(a, x[0] + x[1])
            self.assertBits(b, x[0] * 2 + x[1] * 2)
            self.assertBits(c, torch.cat(x))
            self.assertBits(d, torch.cat(x) + 1)
        self.assertEqual([e["name"] for e in collectives(bundle.ranks[0])], ["all_reduce"] * 2 + ["all_gather"] * 2)

    def test_coalesced_with_a_device(self):
        """The form with a device: calls that have a coalesced form, others, and messages, under one work."""
        bundle, ranks = self.outputs(
            """
            from torch.distributed.distributed_c10d import _coalescing_manager

            def solution(x):
                w, r = dist.get_world_size(), dist.get_rank()
                outs = [x.new_empty(6 * w, 4) for _ in range(2)]
                with _coalescing_manager(dist.group.WORLD, x.device, async_ops=True) as cm:
                    for k, out in enumerate(outs):
                        dist.all_gather_into_tensor(out, x + k)
                cm.wait()
                y, z, got = x.clone(), x * 2, torch.zeros_like(x)
                with _coalescing_manager(device=x.device):
                    dist.broadcast(y, 1)
                    dist.broadcast(z, 0)
                with _coalescing_manager(device=x.device, async_ops=True) as cm:
                    dist.isend(x, (r + 1) % w)
                    dist.irecv(got, (r - 1) % w)
                cm.wait()
                return *outs, y, z, got
            """,
            2,
        )
        x = [r[0][0] for r in ranks]
        for k, (_, (a, b, y, z, got), _) in enumerate(ranks):
            self.assertBits(a, torch.cat(x))
            self.assertBits(b, torch.cat(x) + 1)
            self.assertBits(y, x[1])
            self.assertBits(z, x[0] * 2)
            self.assertBits(got, x[1 - k])
        self.assertEqual([e["name"] for e in collectives(bundle.ranks[0])], ["all_gather"] * 2 + ["broadcast"] * 2 + ["send", "recv"])

    def test_messages(self):
        """send, recv, isend, irecv and batches; a receive arrives at its wait."""
        bundle, ranks = self.outputs(
            """
            def solution(x):
                w, r = dist.get_world_size(), dist.get_rank()
                a = torch.zeros_like(x)
                if r == 0:
                    dist.send(x, 1)
                elif r == 1:
                    dist.recv(a, 0)
                b = torch.zeros_like(x)
                reqs = dist.batch_isend_irecv([
                    dist.P2POp(dist.isend, x, (r + 1) % w), dist.P2POp(dist.irecv, b, (r - 1) % w),
                ])
                for q in reqs:
                    q.wait()
                c = torch.zeros_like(x)
                recv = dist.irecv(c, (r + 1) % w)
                send = dist.isend(x * 3, (r - 1) % w)
                recv.wait()
                send.wait()
                return a, b, c
            """,
            3,
        )
        x = [r[0][0] for r in ranks]
        for k, (_, (a, b, c), _) in enumerate(ranks):
            self.assertBits(a, x[0] if k == 1 else torch.zeros_like(x[0]))
            self.assertBits(b, x[(k - 1) % 3])
            self.assertBits(c, x[(k + 1) % 3] * 3)
        names = [e["name"] for e in collectives(bundle.ranks[1])]
        self.assertEqual(names, ["recv", "send", "recv", "recv", "send"])
        self.assertEqual([e["peer"] for e in collectives(bundle.ranks[1])], [0, 2, 0, 2, 0])

    def test_groups(self):
        """Groups made inside the function and in inputs, a mesh, ranks counted within the group."""
        bundle, ranks = self.outputs(
            """
            from torch.distributed.device_mesh import init_device_mesh

            def inputs(rank, world_size, device, trial=0):
                pairs = [dist.new_group([0, 1]), dist.new_group([2, 3])]
                return numbers(rank, trial, 4, 4, device=device), pairs[rank // 2]

            def solution(x, pair):
                odd = dist.new_group([1, 3])
                assert dist.get_backend(pair) == "nccl" and dist.get_world_size(pair) == 2
                a, b, c, d = x.clone(), x.clone(), x.clone(), x.clone()
                dist.all_reduce(a, group=pair)
                if dist.get_rank() % 2:
                    dist.broadcast(b, src=3, group=odd)
                mesh = init_device_mesh("cuda", (2, 2), mesh_dim_names=("dp", "tp"))
                dist.all_reduce(c, group=mesh.get_group("dp"))
                dist.reduce(d, dst=dist.get_global_rank(pair, 1), group=pair)
                return a, b, c, d
            """,
            4,
            inputs="",
        )
        x = [r[0][0] for r in ranks]
        for k, (_, (a, b, c, d), _) in enumerate(ranks):
            p = k // 2 * 2
            self.assertBits(a, x[p] + x[p + 1])
            self.assertBits(b, x[3] if k % 2 else x[k])
            self.assertBits(c, x[k % 2] + x[k % 2 + 2])
            self.assertBits(d, x[p] + x[p + 1] if k % 2 else x[k])
        self.assertEqual(bundle.groups[0], (0, 1, 2, 3))
        self.assertEqual(set(bundle.groups[1:]), {(0, 1), (0, 2), (1, 3), (2, 3)})
        events = collectives(bundle.ranks[3])
        self.assertEqual([bundle.groups[e["group"]] for e in events], [(2, 3), (1, 3), (1, 3), (2, 3)])
        self.assertEqual([e.get("root") for e in events], [None, 1, None, 1])
        self.assertEqual(bundle.ranks[3]["inputs"]["items"][1], {"kind": "group", "id": bundle.groups.index((2, 3))})

    def test_object_collectives(self):
        """Host objects travel and are baked; the tensors that depend on them are right."""
        bundle, ranks = self.outputs(
            """
            def solution(x):
                w, r = dist.get_world_size(), dist.get_rank()
                got = [None] * w
                dist.all_gather_object(got, {"rank": r, "scale": 2.0 + r})
                box = [{"offset": 5} if r == 1 else None]
                dist.broadcast_object_list(box, src=1)
                dealt = [None]
                dist.scatter_object_list(dealt, [10, 20, 30] if r == 0 else None, src=0)
                told = [None] * w if r == 2 else None
                dist.gather_object(r * 7, told, dst=2)
                extra = sum(told) if told else 0
                return x * sum(g["scale"] for g in got) + box[0]["offset"] + dealt[0] + extra
            """,
            3,
        )
        for k, ((x,), (y,), _) in enumerate(ranks):
            self.assertBits(y, x * 9.0 + 5 + [10, 20, 30][k] + (21 if k == 2 else 0))
        self.assertEqual(collectives(bundle.ranks[0]), [])

    def test_callers(self):
        """A collective in a helper function is told by the lines that led to it, up to the function that is exported."""
        bundle = self.export("""
            def reduced(x):
                dist.all_reduce(x)  # here
                return x

            class Layer(torch.nn.Module):
                def forward(self, x):
                    return reduced(x) * 2  # forward

            def deep(x, n):
                return deep(x, n - 1) if n else reduced(x)  # deep

            def solution(x):
                x = Layer()(x)  # first
                x = x + reduced(x)  # second
                dist.all_reduce(x)  # plain
                return deep(x, 20)
            """)
        record = bundle.ranks[0]
        sites = [record["sites"][e["site"]] for e in collectives(record)]
        self.assertEqual([f"{self.folder}/program.py:{s['line']}" for s in sites], [self.line_of(w) for w in ("# here", "# here", "# plain", "# here")])

        def callers(site):
            return [f"{self.folder}/{os.path.basename(f['file'])}:{f['line']}" for f in site.get("callers", [])]

        self.assertEqual(callers(sites[0]), [self.line_of("# forward"), self.line_of("# first")])
        self.assertEqual([f["function"] for f in sites[0]["callers"]], ["forward", "solution"])
        self.assertEqual(callers(sites[1]), [self.line_of("# second")])
        self.assertNotIn("callers", sites[2])
        self.assertEqual(callers(sites[3]), [self.line_of("# deep")] * 8)
        self.assertTrue(all(f["file"].startswith("source/") for s in sites for f in s.get("callers", [])), sites)

    def test_one_rank(self):
        """A world of one: every collective is the identity, and a script's own set-up is accepted."""
        bundle, ranks = self.outputs(
            """
            import os

            def solution(x):
                dist.init_process_group("nccl", rank=int(os.environ["RANK"]), world_size=int(os.environ["WORLD_SIZE"]))
                torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
                a = x.clone()
                dist.all_reduce(a)
                b, c = torch.empty_like(x), torch.empty_like(x)
                dist.all_to_all_single(b, a)
                dist.all_gather([c], b)
                dist.destroy_process_group()
                return c
            """,
            1,
        )
        (x,), (c,), _ = ranks[0]
        self.assertBits(c, x)
        self.assertEqual(len(collectives(bundle.ranks[0])), 3)

    def test_narrow_and_odd_dtypes(self):
        _, ranks = self.outputs(
            """
            def inputs(rank, world_size, device, trial=0):
                x = numbers(rank, trial, 5, 3)
                return x.to(device, torch.bfloat16), (x * 10).to(device, torch.int32), torch.complex(x, x + 1).to(device), (x > 0).to(device), x.to(device).to(torch.float8_e4m3fn)

            def solution(b, i, c, m, f):
                outs = []
                for t in (b, i, c, m):
                    t = t.clone()
                    dist.all_reduce(t)
                    outs.append(t)
                g = torch.empty(2, 5, 3, dtype=torch.uint8, device=f.device)
                dist.all_gather_into_tensor(g, f.view(torch.uint8))
                return outs, g.view(torch.float8_e4m3fn)
            """,
            2,
            inputs="",
        )
        (b, i, c, m, f), (b2, i2, c2, m2, f2) = ranks[0][0], ranks[1][0]
        for _, (rb, ri, rc, rm, rf), _ in ranks:
            self.assertBits(rb, (b.float() + b2.float()).bfloat16())
            self.assertBits(ri, i + i2)
            self.assertBits(rc, c + c2)
            self.assertBits(rm, m | m2)
            self.assertBits(rf.view(torch.uint8), torch.stack([f.view(torch.uint8), f2.view(torch.uint8)]))


if __name__ == "__main__":
    unittest.main()
