# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rank's side of the exchange: meet the peers of a group, give them bytes, take theirs.

Control messages go to the coordinator over a socket; payloads are files in a directory that all ranks of the job share
(memory-backed where the machine has one). Nothing here knows what a collective computes.
"""

import mmap
import os
import pickle
import struct

from .errors import ExportError, HangError


def send_message(sock, message):
    """One pickled message with a length in front; only ever between processes forked from one parent."""
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    sock.sendall(struct.pack("<Q", len(data)) + data)


def recv_message(sock):
    """The next message of a blocking socket, or None when the other side is gone."""
    head = _recv_exactly(sock, 8)
    if head is None:
        return None
    data = _recv_exactly(sock, struct.unpack("<Q", head)[0])
    return None if data is None else pickle.loads(data)


def _recv_exactly(sock, n):
    parts = []
    while n:
        part = sock.recv(min(n, 1 << 20))
        if not part:
            return None
        parts.append(part)
        n -= len(part)
    return b"".join(parts)


class Payload:
    """Bytes that a peer has published: a private map of its file, cut into the pieces it holds."""

    def __init__(self, path, lengths):
        self.lengths = lengths
        self._data = b""
        if sum(lengths):
            with open(path, "rb") as f:
                self._data = memoryview(mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_COPY))

    def piece(self, index):
        start = sum(self.lengths[:index])
        return self._data[start : start + self.lengths[index]]


class Exchange:
    """One rank's end. `rank` and `world_size` are global; groups are tuples of global ranks."""

    def __init__(self, sock, rank, world_size, folder):
        self.rank, self.world_size = rank, world_size
        self._sock, self._folder = sock, folder
        self._count = 0
        self._mine = {}  # group -> path of the payload that its members may still read

    def _publish(self, pieces):
        """Write the pieces (buffers) to a fresh file; returns (path, lengths)."""
        lengths = [len(p) for p in pieces]
        if not sum(lengths):
            return None, lengths
        self._count += 1
        path = os.path.join(self._folder, f"p{self.rank}.{self._count}")
        try:
            with open(path, "wb") as f:
                for p in pieces:
                    f.write(p)
        except OSError as e:
            raise ExportError(f"cannot hold {sum(lengths)} bytes for a collective in {self._folder}: {e.strerror}") from e
        return path, lengths

    def meet(self, group, meta, pieces):
        """Meet all members of `group`, each with its `meta` and its pieces of bytes.

        Returns a list of (meta, Payload), one per member in group order. The coordinator refuses members that disagree.
        """
        path, lengths = self._publish(pieces)
        send_message(self._sock, ("meet", tuple(group), meta, path, lengths))
        answer = self._answer()
        # Everybody has arrived here, so nobody reads what this rank published for the meeting before.
        old = self._mine.pop(tuple(group), None)
        if old:
            os.unlink(old)
        if path:
            self._mine[tuple(group)] = path
        return [(m, Payload(p, n)) for m, p, n in answer]

    def send(self, group, peer, tag, meta, pieces):
        """Give bytes to the global rank `peer`; returns at once."""
        path, lengths = self._publish(pieces)
        send_message(self._sock, ("send", tuple(group), peer, tag, meta, path, lengths))

    def recv(self, group, peer, tag, meta):
        """Take the oldest unread bytes that `peer` (None: anybody) sent here; returns (source, meta, Payload)."""
        send_message(self._sock, ("recv", tuple(group), peer, tag, meta))
        source, their, path, lengths = self._answer()
        payload = Payload(path, lengths)
        if path:
            os.unlink(path)
        return source, their, payload

    def post(self, kind, value):
        """Tell the coordinator something that needs no answer (a result, an error, where the rank is)."""
        send_message(self._sock, (kind, value))

    def _answer(self):
        message = recv_message(self._sock)
        if message is None:
            raise HangError("the coordinating process is gone")
        return message
