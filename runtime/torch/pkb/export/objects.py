# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Object collectives: Python objects travel between the ranks as host values and are baked into a plain record."""

import io
import pickle

import torch
import torch.distributed as dist

from . import sites
from .c10d import group_ranks
from .errors import ExportError


class _Pickler(pickle.Pickler):
    def persistent_id(self, obj):
        if isinstance(obj, torch.Tensor):
            raise ExportError(
                f"an object collective carries a tensor at {sites.text(sites.current())}; "
                "send it with a tensor collective, so that the record can hold it"
            )
        return None


def _dump(obj):
    buffer = io.BytesIO()
    _Pickler(buffer).dump(obj)
    return buffer.getvalue()


def install_object_collectives(rank):
    """Replace the object collectives of torch.distributed by ones over the exchange."""
    c = dist.distributed_c10d
    x = rank.exchange

    def group_of(group):
        return group_ranks(group or c._get_default_group())

    def meet(name, group, pieces, root=None):
        ranks = group_of(group)
        if x.rank not in ranks:
            return None
        where = sites.text(sites.current())
        meta = {"name": name, "reduce": None, "root": root, "dtype": "object", "site": where, "inputs": [], "outputs": []}
        return x.meet(ranks, meta, pieces)

    def load(payload, piece=0):
        return pickle.loads(payload.piece(piece))

    def in_group(ranks, global_rank, group_rank):
        """The rank within the group of what the caller named (None: the default, global rank 0)."""
        if group_rank is not None:
            return group_rank
        return ranks.index(global_rank or 0)

    def all_gather_object(object_list, obj, group=None):
        peers = meet("all_gather_object", group, [_dump(obj)])
        for i, (_, payload) in enumerate(peers or ()):
            object_list[i] = load(payload)

    def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None):
        ranks = group_of(group)
        root = in_group(ranks, src, group_src)
        mine = [_dump(o) for o in object_list] if ranks[root] == x.rank else []
        peers = meet("broadcast_object_list", group, mine, root)
        if peers and ranks[root] != x.rank:
            for i in range(len(object_list)):
                object_list[i] = load(peers[root][1], i)

    def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None):
        ranks = group_of(group)
        root = in_group(ranks, dst, group_dst)
        peers = meet("gather_object", group, [_dump(obj)], root)
        if peers and ranks[root] == x.rank:
            for i, (_, payload) in enumerate(peers):
                object_gather_list[i] = load(payload)

    def scatter_object_list(
        scatter_object_output_list, scatter_object_input_list=None, src=None, group=None, group_src=None
    ):
        ranks = group_of(group)
        root = in_group(ranks, src, group_src)
        mine = [_dump(o) for o in scatter_object_input_list] if ranks[root] == x.rank else []
        peers = meet("scatter_object_list", group, mine, root)
        if peers:
            scatter_object_output_list[0] = load(peers[root][1], ranks.index(x.rank))

    def peer_of(group, global_rank, group_rank):
        return group_of(group)[group_rank] if group_rank is not None else global_rank

    def message():
        return {"name": "object", "dtype": "object", "numel": None, "site": sites.text(sites.current())}

    def send_object_list(object_list, dst=None, group=None, device=None, group_dst=None, use_batch=False):
        x.send(group_of(group), peer_of(group, dst, group_dst), "object", message(), [_dump(o) for o in object_list])

    def recv_object_list(object_list, src=None, group=None, device=None, group_src=None, use_batch=False):
        source, _, payload = x.recv(group_of(group), peer_of(group, src, group_src), "object", message())
        for i in range(len(object_list)):
            object_list[i] = load(payload, i)
        return source

    for function in (
        all_gather_object, broadcast_object_list, gather_object, scatter_object_list, send_object_list, recv_object_list,
    ):  # fmt: skip
        setattr(c, function.__name__, function)
        setattr(dist, function.__name__, function)
