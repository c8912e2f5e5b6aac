# RUN: %python %s
# REQUIRES: torch
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks that disagree: the deadlock is reported at once, with the lines of the user's code on both sides."""

import os
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))

from harness import ExportTest
from pkb.export import HangError


class DeadlockTest(ExportTest):
    def stuck(self, text, world_size=2, inputs=None, **options):
        """The message of a hang; it must not take the timeout to find it."""
        start = time.monotonic()
        kwargs = {} if inputs is None else {"inputs": inputs}
        path = self.write(text, **kwargs)
        with self.assertRaises(HangError) as caught:
            self.export(text, world_size, timeout=90, **kwargs, **options)
        self.assertLess(time.monotonic() - start, 60)
        self.assertEqual(caught.exception.code, 4)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "x.pkb")))
        self.assertTrue(path)
        return str(caught.exception)

    def test_other_collective(self):
        message = self.stuck("""
            def solution(x):
                if dist.get_rank() == 0:
                    dist.all_reduce(x)  # zero
                else:
                    dist.broadcast(x, src=0)  # one
                return x
            """)
        self.assertIn("ranks disagree on the collective", message)
        self.assertIn(f"rank 0 calls all_reduce (collective all_reduce) at {self.line_of('# zero')}", message)
        self.assertIn(f"rank 1 calls broadcast (collective broadcast) at {self.line_of('# one')}", message)

    def test_missing_rank(self):
        message = self.stuck("""
            def solution(x):
                if dist.get_rank() != 1:
                    dist.all_reduce(x)  # here
                return x
            """, 3)
        where = self.line_of("# here")
        self.assertIn("deadlock in the program", message)
        self.assertIn(f"rank 0 waits in all_reduce of group [0, 1, 2] at {where}", message)
        self.assertIn("rank 1 has returned from the function", message)
        self.assertIn(f"rank 2 waits in all_reduce of group [0, 1, 2] at {where}", message)

    def test_order_of_groups(self):
        """Rank 0 and rank 1 enter two groups in opposite orders."""
        message = self.stuck("""
            def solution(x):
                a, b = dist.new_group([0, 1]), dist.new_group([0, 1, 2])
                if dist.get_rank() == 0:
                    dist.all_reduce(x, group=a)  # pair
                    dist.all_reduce(x, group=b)
                else:
                    dist.all_reduce(x, group=b)  # all
                    if dist.get_rank() == 1:
                        dist.all_reduce(x, group=a)
                return x
            """, 3)
        self.assertIn(f"rank 0 waits in all_reduce of group [0, 1] at {self.line_of('# pair')}", message)
        self.assertIn(f"rank 1 waits in all_reduce of group [0, 1, 2] at {self.line_of('# all')}", message)

    def test_order_of_groups_with_the_same_ranks(self):
        message = self.stuck("""
            def solution(x):
                group = dist.new_group([0, 1])
                dist.all_reduce(x, group=group if dist.get_rank() else None)  # here
                return x
            """)
        self.assertIn(f"rank 0 calls all_reduce at {self.line_of('# here')} of the group made at the start", message)
        for how in ("", ", async_op=True"):
            message = self.stuck(f"""
                def solution(x):
                    a, y = dist.new_group([0, 1]), x * 2  # made a
                    b = dist.new_group([0, 1])  # made b
                    if dist.get_rank() == 0:
                        h = dist.all_reduce(x, group=a{how})  # zero
                        g = dist.all_reduce(y, group=b{how})
                    else:
                        g = dist.all_reduce(y, group=b{how})  # one
                        h = dist.all_reduce(x, group=a{how})
                    return x, y
                """)
            self.assertIn("ranks disagree on the group, of two that have ranks [0, 1]", message)
            self.assertIn(f"rank 0 calls all_reduce at {self.line_of('# zero')} of the group made at {self.line_of('# made a')}", message)
            self.assertIn(f"rank 1 calls all_reduce at {self.line_of('# one')} of the group made at {self.line_of('# made b')}", message)

    def test_groups_that_only_some_ranks_make(self):
        message = self.stuck("""
            def solution(x):
                if dist.get_rank() == 0:
                    dist.new_group([0])  # here
                dist.all_reduce(x)
                return x
            """)
        self.assertIn(f"rank 0 makes group [0] at {self.line_of('# here')}, rank 1 makes no more groups", message)
        message = self.stuck("""
            def solution(x):
                r = dist.get_rank()
                group = dist.new_group([0, 1] if r < 2 else [2])  # here
                dist.all_reduce(x, group=group)
                return x
            """, 3)
        where = self.line_of("# here")
        self.assertIn(f"rank 0 makes group [0, 1] at {where}, rank 2 makes group [2] at {where}", message)
        self.assertIn("every rank must call new_group, members or not, in one order", message)

    def test_groups_that_are_made_right(self):
        """Members alone may make a group that synchronizes locally; two groups with the same ranks, in one order."""
        self.export("""
            def solution(x):
                r, twins = dist.get_rank(), [dist.new_group([0, 1, 2]) for _ in range(2)]
                for group in (twins[1], twins[0], None):
                    dist.all_reduce(x, group=group)
                if r < 2:
                    dist.all_reduce(x, group=dist.new_group([0, 1], use_local_synchronization=True))
                return x
            """, 3)

    def test_shapes_dtypes_roots_reductions(self):
        for call, noun in (
            ("dist.all_reduce(x[: 2 + r].clone())", "shape"),
            ("dist.all_reduce(x.to(torch.float64 if r else torch.float32))", "dtype"),
            ("dist.broadcast(x, src=r)", "root"),
            ("dist.all_reduce(x, op=dist.ReduceOp.MAX if r else dist.ReduceOp.SUM)", "reduction"),
            ("dist.all_gather([torch.empty(3), torch.empty(4)], torch.empty(3))", "shape"),
            ("dist.all_to_all_single(torch.empty(5), torch.empty(4 + r), [2, 3], [2, 2 + r])", "split sizes"),
        ):
            with self.subTest(call):
                message = self.stuck(f"""
                    def solution(x):
                        r = dist.get_rank()
                        {call}  # here
                        return x
                    """)
                self.assertIn(f"ranks disagree on the {noun}", message)
                self.assertIn(self.line_of("# here"), message)

    def test_messages(self):
        message = self.stuck("""
            def solution(x):
                if dist.get_rank() == 0:
                    dist.recv(x, 1)  # here
                return x
            """)
        self.assertIn(f"rank 0 waits to receive from rank 1 at {self.line_of('# here')}", message)
        message = self.stuck("""
            def solution(x):
                if dist.get_rank() == 0:
                    dist.send(x, 1)  # here
                return x
            """)
        self.assertIn("rank 0 sends to rank 1", message)
        self.assertIn(self.line_of("# here"), message)
        message = self.refused("""
            def solution(x):
                if dist.get_rank() == 0:
                    dist.send(x, 1)
                else:
                    dist.recv(x[:2], 0)
                return x
            """)
        self.assertIn("what rank 1 does not expect", message)
        self.assertIn("24 elements against 8", message)

    def test_wrong_sizes_of_one_call(self):
        """What torch would refuse on GPUs is refused here, not sent."""
        for call, text in (
            ("dist.all_gather_into_tensor(x.new_empty(3, 4), x)", "must hold 2 times input"),
            ("dist.reduce_scatter_tensor(x.new_empty(5, 4), x)", "must hold 2 times output"),
            ("dist.all_to_all_single(x.new_empty(5, 4), x[:5].clone())", "5 rows, which 2 ranks cannot share equally"),
            ("dist.all_to_all_single(torch.empty_like(x), x, [3, 3], [3, 2])", "do not add up to 6 rows"),
            ("dist.all_gather([torch.empty_like(x)], x)", "1 outputs for a group of 2 ranks"),
            ("dist.scatter(x[:3], [x[:3]] if dist.get_rank() == 0 else None)", "1 inputs for a group of 2 ranks"),
            ("dist.gather(x, [torch.empty_like(x)] * 3 if dist.get_rank() == 0 else None)", "3 outputs for a group of 2 ranks"),
            ("dist.broadcast(x, src=7)", "root 7 is not one of the 2 ranks of the group"),
            ("dist.reduce(x, dst=2)", "root 2 is not one of the 2 ranks of the group"),
            ("dist.scatter(torch.empty_like(x), None, src=-3)", "root -3 is not one of the 2 ranks of the group"),
            ("dist.broadcast(x, group_src=5)", "root 5 is not one of the 2 ranks of the group"),
            ("dist.send(x, dst=11)", "peer 11 is not one of the 2 ranks of the group"),
            ("dist.irecv(x, src=2)", "peer 2 is not one of the 2 ranks of the group"),
            ("dist.broadcast(x, src=1, group=dist.new_group([0]))", "rank 1 is not one of the ranks [0] of the group"),
            ("dist.all_reduce(x > 0, op=dist.ReduceOp.AVG)", "reduction avg is not defined for bool"),
            ("dist.all_reduce(x, op=dist.ReduceOp.BXOR)", "reduction bxor is not defined for float32"),
            ("dist.all_reduce(torch.complex(x, x), op=dist.ReduceOp.MAX)", "complex"),
            ("dist.new_group([0, 9])", "rank 0 raised ValueError"),
        ):
            with self.subTest(call):
                message = self.refused(f"""
                    def solution(x):
                        {call}  # here
                        return x
                    """)
                self.assertIn(text, message)
                self.assertIn(self.line_of("# here"), message)

    def test_group_that_some_ranks_make(self):
        message = self.stuck("""
            def solution(x):
                if dist.get_rank() == 0:
                    dist.all_reduce(x, group=dist.new_group([0, 1]))  # here
                return x
            """, 3)
        self.assertIn(f"rank 0 waits in all_reduce of group [0, 1] at {self.line_of('# here')}", message)
        self.assertIn("rank 1 has returned from the function", message)


if __name__ == "__main__":
    unittest.main()
