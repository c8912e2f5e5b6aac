# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The parent's side: fork W ranks, pair their meetings and messages, and turn every way to go wrong into one message.

The coordinator sees all ranks, so it knows a deadlock when it happens: every rank that still runs is waiting, and no
meeting can be completed. Timeouts are only for ranks that compute for ever.
"""

import ctypes
import faulthandler
import os
import re
import selectors
import signal
import socket
import sys
import time
import traceback

from . import agree
from .errors import ExportError, HangError
from .exchange import Exchange, recv_message, send_message
from .folders import shared_folder

_PR_SET_PDEATHSIG = 1
GRACE_S = 1.0  # how long the peers of a failed rank may still report their own error


def die_with_parent():
    """In a forked process: be killed when the process that forked it ends, however it ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def clean_up_on_sigterm():
    """In a main program: SIGTERM ends it the ordinary way, so that ranks and temporary folders go too."""

    def leave(*_):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough: a second one must not stop the removal of folders
        sys.exit(128 + signal.SIGTERM)

    signal.signal(signal.SIGTERM, leave)


class _Rank:
    def __init__(self, pid, sock, log):
        self.pid, self.sock, self.log = pid, sock, log
        self.waiting = None  # the message it waits in
        self.finished = False
        self.lost = False
        self.result = None
        self.error = None


def run_ranks(world_size, body, timeout=300.0, what="the export", notes=None):
    """Fork `world_size` ranks, run `body(exchange) -> picklable` on each, and return their results in rank order.

    Raises ExportError (HangError for hangs and deadlocks) with the first cause; all ranks are dead on return.
    timeout: seconds for the whole run. notes: dict that takes what ranks post as "note" on the way, by rank.
    """
    with shared_folder() as folder:
        return _run_ranks_in(folder, world_size, body, timeout, what, notes)


def _run_ranks_in(folder, world_size, body, timeout, what, notes):
    ranks = []
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        for k in range(world_size):
            ours, theirs = socket.socketpair()
            log = os.path.join(folder, f"trace{k}")
            pid = os.fork()
            if pid == 0:
                for r in ranks:
                    r.sock.close()
                ours.close()
                _child(theirs, k, world_size, folder, log, body)
            theirs.close()
            ranks.append(_Rank(pid, ours, log))
        return _Coordinator(ranks, timeout, what, notes).run()
    finally:
        for r in ranks:
            try:
                os.kill(r.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            try:
                os.waitpid(r.pid, 0)
            except ChildProcessError:
                pass
            r.sock.close()


def _child(sock, rank, world_size, folder, log, body):
    """The life of a forked rank; never returns."""
    status = 1
    try:
        die_with_parent()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        trace = open(log, "w")  # noqa: SIM115 (lives as long as the process)
        faulthandler.register(signal.SIGUSR1, file=trace, all_threads=False)
        exchange = Exchange(sock, rank, world_size, folder)
        try:
            exchange.post("done", body(exchange))
            status = 0
        except ExportError as e:
            exchange.post("error", (str(e), e.code, None))
        except BaseException as e:  # noqa: BLE001 (user code may raise anything, SystemExit included)
            exchange.post("error", (_describe(e), 1, traceback.format_exc()))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _describe(error):
    """"ValueError: text at FILE:LINE", the line being the innermost one of the user's code."""
    from .sites import user_frame_of_traceback

    lines = str(error).strip().splitlines()
    text = f"{type(error).__name__}: {_in_words(lines[0])}" if lines else type(error).__name__
    where = user_frame_of_traceback(error.__traceback__)
    return f"{text} at {where}" if where else text


def _in_words(text):
    """What torch says of a program that runs on CPU tensors, as it concerns one that is meant for GPUs."""
    if missing := re.match(r"Could not run '([^']+)' with arguments from the 'CPU' backend", text):
        return f"operator {missing[1]} has no CPU kernel, and a program is captured on CPU tensors; use operators that have one"
    if "BatchedTensorImpl" in text:
        return "a function under torch.func.vmap cannot be captured; write its batch dimension out"
    return text


class _Coordinator:
    def __init__(self, ranks, timeout, what, notes):
        self.ranks, self.timeout, self.what = ranks, timeout, what
        self.notes = {} if notes is None else notes
        self.mail = {}  # (group, source, destination) -> list of sent messages in order

    def run(self):
        selector = selectors.DefaultSelector()
        for k, r in enumerate(self.ranks):
            selector.register(r.sock, selectors.EVENT_READ, k)
        end = time.monotonic() + self.timeout
        while not all(r.finished for r in self.ranks):
            left = end - time.monotonic()
            events = selector.select(max(left, 0)) if left > 0 else []
            if not events:
                raise self._timed_out()
            for key, _ in events:
                k = key.data
                try:
                    message = recv_message(self.ranks[k].sock)
                except ConnectionError:
                    message = None
                if message is None:
                    selector.unregister(key.fileobj)
                    self._gone(k)
                else:
                    self._take(k, message)
            if any(r.error or r.lost for r in self.ranks):
                self._first_error(selector)
            self._match()
        left_over = [(key, m) for key, box in self.mail.items() for m in box]
        if left_over:
            (_, source, peer), m = left_over[0]
            raise HangError(f"rank {source} sends to rank {peer} at {m[0]['site']}, and rank {peer} never receives it")
        return [r.result for r in self.ranks]

    def _take(self, k, message):
        r = self.ranks[k]
        kind = message[0]
        if kind == "done":
            r.result, r.finished = message[1], True
        elif kind == "error":
            r.error, r.finished = message[1], True
        elif kind == "note":
            self.notes[k] = message[1]
        elif kind == "send":
            _, group, peer, tag, meta, path, lengths = message
            self.mail.setdefault((group, k, peer), []).append((meta, tag, path, lengths))
        else:  # meet, recv
            r.waiting = message

    def _gone(self, k):
        r = self.ranks[k]
        if not r.finished:
            r.finished = r.lost = True

    def _match(self):
        """Complete every meeting and message that can be; find deadlocks."""
        progress = True
        while progress:
            progress = False
            for k, r in enumerate(self.ranks):
                if r.waiting and r.waiting[0] == "recv":
                    progress |= self._deliver(k)
                elif r.waiting:
                    progress |= self._meet(r.waiting[1])
        running = [r for r in self.ranks if not r.finished]
        if running and all(r.waiting for r in running):
            raise self._deadlock()

    def _deliver(self, k):
        _, group, peer, tag, meta = self.ranks[k].waiting
        for source in group if peer is None else (peer,):
            box = self.mail.get((group, source, k), [])
            index = next((i for i, m in enumerate(box) if m[1] == tag), None)
            if index is None:
                continue
            their, _, path, lengths = box.pop(index)
            problem = agree.message_problem(their, meta)
            if problem:
                raise ExportError(
                    f"rank {source} sends at {their['site']} what rank {k} does not expect at {meta['site']}: {problem}"
                )
            self._answer(k, (source, their, path, lengths))
            return True
        return False

    def _meet(self, group):
        waits = [self.ranks[k].waiting for k in group]
        if not all(w and w[0] == "meet" and w[1] == group for w in waits):
            return False
        problem = agree.meeting_problem(group, [w[2] for w in waits])
        if problem:
            raise HangError(problem)
        answer = [w[2:5] for w in waits]
        for k in group:
            self._answer(k, answer)
        return True

    def _answer(self, k, answer):
        self.ranks[k].waiting = None
        try:
            send_message(self.ranks[k].sock, answer)
        except (BrokenPipeError, ConnectionError):
            pass  # its end of file arrives next and says what happened

    def _deadlock(self):
        lines = []
        for k, r in enumerate(self.ranks):
            if r.waiting and r.waiting[0] == "meet":
                _, group, meta, _, _ = r.waiting
                lines.append(agree.waits(k, group, meta))
            elif r.waiting:
                _, _, peer, _, meta = r.waiting
                lines.append(f"rank {k} waits to receive from {'anybody' if peer is None else f'rank {peer}'} at {meta['site']}")
            else:
                lines.append(f"rank {k} has returned")
        return HangError("deadlock in the program: " + "; ".join(lines))

    def _first_error(self, selector):
        """Raise the error of a rank; give the others a moment, so that a real cause wins over its consequences."""
        end = time.monotonic() + GRACE_S
        while time.monotonic() < end and not all(r.finished or r.waiting for r in self.ranks):
            for key, _ in selector.select(end - time.monotonic()):
                message = recv_message(self.ranks[key.data].sock)
                if message is None:
                    selector.unregister(key.fileobj)
                    self._gone(key.data)
                else:
                    self._take(key.data, message)
        for k, r in enumerate(self.ranks):
            if r.error:
                text, code, trace = r.error
                if trace and os.environ.get("PKB_EXPORT_TRACEBACK") == "1":
                    sys.stderr.write(trace)
                if trace is None and all(o.error and o.error[0] == text for o in self.ranks):
                    raise ExportError(text, code=code)
                if trace is None:
                    raise ExportError(f"{text} (rank {k})", code=code)
                raise ExportError(f"rank {k} raised {text}", code=code)
        for k, r in enumerate(self.ranks):
            if r.lost:
                status = os.waitpid(r.pid, 0)[1]
                how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit status {os.WEXITSTATUS(status)}"
                raise HangError(f"rank {k} died ({how}) while running {self.what}")

    def _timed_out(self):
        """Name the ranks that still compute and the user's line they are at."""
        busy = [k for k, r in enumerate(self.ranks) if not r.finished and not r.waiting]
        for k in busy:
            os.kill(self.ranks[k].pid, signal.SIGUSR1)
        time.sleep(0.3)
        from .sites import user_frame_of_dump

        where = []
        for k in busy:
            with open(self.ranks[k].log) as f:
                place = user_frame_of_dump(f.read())
            where.append(f"rank {k} is at {place}" if place else f"rank {k} is in no line of the user's code")
        return HangError(
            f"{self.what} did not finish in {self.timeout:g} s: {'; '.join(where)}; raise --timeout if it is only slow"
        )
