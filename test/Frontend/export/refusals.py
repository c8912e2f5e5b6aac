# RUN: %python %s
# REQUIRES: torch
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a plain record cannot hold is refused with the line of the user's code, and nothing is written."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))

from harness import ExportTest


class HostReadTest(ExportTest):
    def check_read(self, line, name, text="reads a device value on the host at {line} ({name})"):
        """One program that reads in `line`, and a near miss that reads a constant in the same way."""
        message = self.refused(f"""
            def solution(x):
                dist.all_reduce(x)
                {line}  # here
                return x * 2
            """)
        self.assertIn(text.format(line=self.line_of("# here"), name=name), message)

    def test_reads(self):
        for line, name in (
            ("x.sum().item()", "_local_scalar_dense"),
            ("float(x[0, 0])", "_local_scalar_dense"),
            ("int(x[0, 0])", "_local_scalar_dense"),
            ("assert x.sum() < 1e9", "_local_scalar_dense"),
            ("x.tolist()", "tolist"),
            ("x.cpu().tolist()", "tolist"),
            ("x.cpu().numpy()", "numpy"),
            ("torch.equal(x, x + 1)", "equal"),
            ("[0][x.argmax() * 0]", "_local_scalar_dense"),
        ):
            with self.subTest(line):
                self.check_read(line, name)

    def test_sizes_that_depend_on_data(self):
        text = "makes a tensor whose size depends on data at {line} ({name})"
        for line, name in (
            ("x.nonzero()", "nonzero"),
            ("x.masked_select(x > 0)", "masked_select"),
            ("x[x > 0]", "index"),
            ("torch.unique(x)", "_unique2"),
            ("torch.bincount((x * 0).long().flatten())", "bincount"),
            ("x[:, 0].repeat_interleave((x[:, 0] > 0).long())", "repeat_interleave"),
        ):
            with self.subTest(line):
                self.check_read(line, name, text)

    def test_what_torch_says_of_the_cpu_is_put_into_words(self):
        message = self.refused("""
            def solution(x):
                norm = torch.nn.SyncBatchNorm(4, device=x.device)
                return norm(x)  # here
            """)
        self.assertIn("operator aten::batch_norm_stats has no CPU kernel, and a program is captured on CPU tensors", message)
        message = self.refused("""
            def solution(x):
                dist.all_reduce(x)
                return torch.func.vmap(lambda row: row * 2)(x)  # here
            """)
        self.assertIn(f"a function under torch.func.vmap cannot be captured; write its batch dimension out at {self.line_of('# here')}", message)

    def test_near_misses_are_exported(self):
        """Constants read on the host, fixed indices, masked writes of one value, values exchanged between constants."""
        self.export("""
            def solution(x):
                n = torch.tensor([2, 3])
                dist.all_reduce(n)
                k = int(n[0]) + n.tolist()[1]
                y = x[torch.tensor([0, 2], device=x.device)] * k
                z = x.clone()
                z[x > 0] = 0.0
                w = x[torch.tensor([True, False] * 3, device=x.device)]
                print(y)
                dist.all_reduce(y)
                return y, z, w, torch.where(x > 0, x, -x)
            """)


class OtherRefusalsTest(ExportTest):
    def test_random_numbers(self):
        message = self.refused("""
            def solution(x):
                y = F.dropout(x, 0.5)  # here
                dist.all_reduce(y)
                return y
            """)
        self.assertIn(f"draws random numbers at {self.line_of('# here')}, and a result depends on them", message)
        message = self.refused("""
            def solution(x):
                x.add_(torch.rand_like(x))  # here
                return x.new_zeros(2)
            """)
        self.assertIn(f"aten::rand_like draws random numbers at {self.line_of('# here')}", message)
        message = self.refused("""
            def solution(x):
                y = torch.empty_like(x).normal_()
                dist.all_reduce(y)
                return y.sign()
            """)
        self.assertIn("draws random numbers", message)
        self.export("""
            def solution(x):
                unused = torch.rand(4)
                return F.dropout(x, 0.5, training=False) + 1
            """)

    def test_random_numbers_that_are_overwritten(self):
        self.export("""
            def solution(x):
                layer = torch.nn.Linear(4, 2, device=x.device)  # draws its weights
                with torch.no_grad():
                    layer.weight.copy_(x[:2])
                    layer.bias.zero_()
                y = layer(x).detach() * torch.empty(1, device=x.device).uniform_().fill_(2)
                dist.all_reduce(y)
                return y
            """)
        for left in ("y[:3].copy_(x[:3])", "y.copy_(y)", "y.fill_(y[0, 0])", "y.add_(x)"):
            message = self.refused(f"""
                def solution(x):
                    y = torch.empty_like(x).uniform_()
                    {left}
                    dist.all_reduce(y)
                    return y
                """)
            self.assertIn("draws random numbers", message, left)

    def test_global_state(self):
        message = self.refused("""
            CACHE = torch.zeros(6, 4)

            def solution(x):
                CACHE.add_(x)  # here
                return x + 1
            """)
        self.assertIn("writes to a tensor that is neither an argument nor made by it", message)
        message = self.refused("""
            STEP = [0]

            def solution(x):
                STEP[0] += 1
                return x + STEP[0]  # here
            """)
        self.assertIn("the program changes with its inputs", message)

    def test_hidden_gradients(self):
        """A gradient left in an argument is an effect that no result shows; one that is returned or cleared is fine."""
        inputs = """
            def inputs(rank, world_size, device, trial=0):
                return (numbers(rank, trial, 3, device=device).requires_grad_(),)
            """
        body = "def solution(x):\n    (x * x).sum().backward()\n    y = x.detach() + x.grad\n    {}\n    return {}\n"
        message = self.refused(body.format("pass", "y"), inputs=inputs)
        self.assertIn("leaves a gradient in the .grad of an argument [3]", message)
        self.export(body.format("pass", "x.grad"), inputs=inputs)
        self.export(body.format("x.grad = None", "y"), inputs=inputs)
        message = self.refused(
            """
            from torch.nn.parallel import DistributedDataParallel

            def inputs(rank, world_size, device, trial=0):
                return DistributedDataParallel(torch.nn.Linear(4, 2).to(device)), numbers(rank, trial, 6, 4, device=device)

            def solution(ddp, x):
                ddp(x).square().mean().backward()
                return [p.grad for p in ddp.parameters()]
            """,
            inputs="",
        )
        self.assertIn("writes to a tensor that is neither an argument nor made by it", message)  # the reducer's buckets

    def test_containers(self):
        for change, where in (("box[0] = x + 1", "argument[1][0]"), ("box.append(x)", "argument[1]"), ("box.pop()", "argument[1]")):
            with self.subTest(change):
                message = self.refused(
                    f"""
                    def solution(x, box):
                        {change}
                        return x * 2
                    """,
                    inputs="""
                    def inputs(rank, world_size, device, trial=0):
                        x = numbers(rank, trial, 3, device=device)
                        return x, [x + 1]
                    """,
                )
                self.assertIn(f"changes the container {where} of its caller", message)

    def test_arguments_replaced(self):
        """The caller's module would have other parameters, which no compiled program can do; a copy of it may."""
        inputs = """
        def inputs(rank, world_size, device, trial=0):
            torch.manual_seed(trial)
            return numbers(rank, trial, 3, 4, device=device), torch.nn.Linear(4, 2).to(device)
        """
        for change, text in (
            ("m.weight = torch.nn.Parameter(m.weight * 2)", "changes the container argument[1]['weight'] of its caller"),
            ("m.weight.data = m.weight.data * 2", "puts other memory behind an argument (by .data or set_); copy into it instead"),
        ):
            program = """
            import copy

            def solution(x, m):
                COPY
                CHANGE
                return m(x).detach()
            """
            with self.subTest(change):
                message = self.refused(program.replace("CHANGE", change).replace("COPY", "pass"), inputs=inputs)
                self.assertIn(text, message)
                self.export(program.replace("CHANGE", change).replace("COPY", "m = copy.deepcopy(m)"), inputs=inputs)

    def test_inputs_that_change_with_the_trial(self):
        message = self.refused(
            """
            def solution(x, step):
                return x * step
            """,
            inputs="""
            def inputs(rank, world_size, device, trial=0):
                return numbers(rank, trial, 3, device=device), trial + 1
            """,
        )
        self.assertIn("argument 1 is 1 at first and 2 in trial 1; a plain record holds one value", message)
        message = self.refused(
            """
            def solution(x):
                return x * 2
            """,
            inputs="""
            def inputs(rank, world_size, device, trial=0):
                return (numbers(rank, trial, 3 + trial, device=device),)
            """,
        )
        self.assertIn("argument 0 is float32 [3] at first and float32 [4] in trial 1; a plain record holds one shape", message)

    def test_literal_made_from_data(self):
        """A constant that took its values from the inputs behind the recorder's back is found by the fresh trials."""
        message = self.refused(
            """
            import builtins

            def inputs(rank, world_size, device, trial=0):
                builtins.hidden = float(trial)
                return (numbers(rank, trial, 3, device=device),)

            def solution(x):
                import builtins
                return x + torch.tensor([builtins.hidden] * 3, device=x.device)  # here
            """,
            inputs="",
        )
        self.assertIn(f"the constant made at {self.line_of('# here')} has other values in trial 1", message)

    def test_things_without_a_record(self):
        for body, text in (
            ("return x.to_sparse()", "makes a tensor whose size depends on data|sparse_coo tensors are not supported"),
            ("torch.set_default_dtype(torch.float64); return torch.ones(2)", r"torch.set_default_dtype\(torch.float64\) is in effect"),
            ("return lambda: x", "result is a builtins.function, which a record cannot hold"),
            ("return {1: x}", "result is a dict with keys that are not strings"),
            ("with torch.autocast('cuda', dtype=torch.bfloat16): return x @ x.t()", "torch.autocast at .* cannot be captured"),
            ("import threading; t = threading.Thread(target=dist.barrier); t.start(); t.join(); return x", "a thread of the program failed: it calls a collective"),
            ("dist.irecv(x, 1 - dist.get_rank()); dist.isend(x * 1, 1 - dist.get_rank()); return x", "the receive at .* is never waited for"),
            ("dist.all_gather_object([None] * 2, x); return x", "an object collective carries a tensor"),
            ("dist.recv(x); return x", "receive from any source"),
        ):
            with self.subTest(body):
                self.assertRegex(self.refused(f"""
                    def solution(x):
                        {body}
                    """), text)

    def test_damaged_records_are_refused(self):
        """A record that lost, gained or reordered a collective or a write does not survive its replay."""
        text = """
            def solution(x):
                y = x.clone()
                dist.all_reduce(y)
                z = y * 2
                dist.all_gather_into_tensor(z.new_empty(12, 4), z)
                y.add_(1)
                dist.broadcast(z, src=0)
                return y, z
            """
        names = ("all_reduce", "all_gather", "broadcast")

        def event(record, name):
            return next(i for i, e in enumerate(record["events"]) if e.get("name", e.get("op")) == name)

        def lose(name):
            return lambda record: record["events"].pop(event(record, name))

        def add(record):
            record["events"].append(dict(record["events"][event(record, "all_gather")]))

        def swap(record):
            i, j = event(record, "all_gather"), event(record, "broadcast")
            record["events"][i], record["events"][j] = record["events"][j], record["events"][i]

        def lose_write(record):
            record["events"][event(record, "all_reduce")]["writes"] = []

        def other_reduction(record):
            record["events"][event(record, "all_reduce")]["reduce"] = "max"

        for damage in [lose(n) for n in (*names, "aten::add_")] + [add, swap, lose_write, other_reduction]:
            message = self.refused_damaged(text, damage)
            self.assertRegex(message, "replay|deadlock|disagree|used before")
        self.assertEqual(self.refused_damaged(text, lambda record: None), None)

    def test_one_damaged_rank_is_enough(self):
        """Losing a collective on one rank only is a deadlock of the replay, found at once."""
        text = """
            def solution(x):
                dist.all_reduce(x)
                return x
            """

        def damage(record):
            if record["rank"] == 1:
                del record["events"][0]

        self.assertRegex(self.refused_damaged(text, damage), "deadlock|replay")

    def refused_damaged(self, text, damage):
        from pkb.export import ExportError, jobs
        from pkb.export.source import Ref

        path = self.write(text)
        out = os.path.join(self.folder, "damaged.pkb")
        job = jobs.Job(Ref(path, "solution"), Ref(path, "inputs"), 2, out, damage=damage)
        try:
            jobs.run(job)
        except ExportError as e:
            self.assertFalse(os.path.exists(out))
            return str(e)
        return None


if __name__ == "__main__":
    unittest.main()
