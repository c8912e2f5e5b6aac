// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams, their operations, graphs. The emulator's mutex is held throughout, except while a copy moves bytes.
#include "Emulator.h"

#include <algorithm>
#include <cstring>

namespace pkb_emu_impl {

Stream *Emulator::findStream(pkb_cu_stream stream, int device) {
  if (stream == nullptr)
    return devices[device].defaultStream.get();
  Stream *found = reinterpret_cast<Stream *>(stream);
  return streams.count(found) ? found : nullptr;
}

// A stream's operations go into the capture from now on.
void Capture::join(Stream *stream) {
  lanes[stream] = Lane{graph->lanes++, stream->last};
  stream->last = nullptr;
}

// Adds an operation at a stream's end, or to the graph that the stream is being captured into.
int Emulator::enqueue(Stream *stream, OpRef op) {
  if (devices[stream->device].dead)
    return kUnavailable;
  if (failed)
    return kLaunchFailed;
  if (stream->capture) {
    Capture &capture = *stream->capture;
    if (capture.broken)
      return kCaptureInvalidated;
    for (const OpRef &dep : op->deps) {
      const auto &nodes = capture.graph->nodes;
      if (std::none_of(nodes.begin(), nodes.end(), [&](const Graph::Node &node) { return node.op == dep; })) {
        capture.broken = true;
        return kCaptureInvalidated; // waits for work outside of the capture
      }
    }
    capture.graph->nodes.push_back({capture.lanes[stream].index, op, op.get()});
    stream->last = op;
    return kOk;
  }
  // The legacy default stream and the blocking streams of a device wait for one another.
  if (stream->isDefault) {
    for (Stream *other : streams)
      if (other->device == stream->device && !other->nonblocking && other->last && !other->last->done && !other->capture)
        op->deps.push_back(other->last);
  } else if (!stream->nonblocking && !stream->hiddenLane) {
    const OpRef &last = devices[stream->device].defaultStream->last;
    if (last && !last->done)
      op->deps.push_back(last);
  }
  stream->queue.push_back(op);
  stream->last = op;
  ++activity;
  wake.notify_one();
  return kOk;
}

int Emulator::waitFor(std::unique_lock<std::mutex> &lock, const OpRef &op) {
  hosts.wait(lock, [&] { return op->done; });
  return op->result;
}

// Ends the operation at the head of a stream.
void Emulator::finishOp(Stream *stream, const OpRef &op, int result) {
  op->result = result;
  op->done = true;
  op->finished = Clock::now();
  if (watching())
    op->clock = stream->model->known;
  op->deps.clear();
  stream->queue.pop_front();
  hosts.notify_all();
}

// The operation as it was enqueued, without what waits for it or what it waits for.
OpRef Op::copy() const {
  auto clone = std::make_shared<Op>();
  clone->kind = kind;
  clone->function = function;
  clone->grid = grid;
  clone->block = block;
  clone->param = param;
  clone->to = to;
  clone->from = from;
  clone->bytes = bytes;
  clone->value = value;
  clone->call = call;
  clone->user = user;
  if (nccl)
    clone->nccl = std::make_shared<NcclGroup>(*nccl);
  return clone;
}

// A graph launch runs each captured lane in a stream of its own; it is done when they are empty.
void Emulator::launchGraph(Op &op, Stream *stream) {
  ++counts.graph_launches;
  std::unordered_map<const Op *, OpRef> clones;
  for (int lane = 0; lane < op.graph->lanes; ++lane) {
    auto hidden = std::make_unique<Stream>();
    hidden->device = stream->device;
    hidden->id = stream->id;
    hidden->hiddenLane = true;
    hidden->model = &stream->model->lane(size_t(lane));
    hidden->model->known = stream->model->known;
    active.push_back(hidden.get());
    op.hidden.push_back(std::move(hidden));
  }
  for (const Graph::Node &node : op.graph->nodes) {
    OpRef clone = node.op->copy();
    for (const OpRef &dep : node.op->deps)
      clone->deps.push_back(clones.at(dep.get()));
    clones[node.id] = clone;
    op.hidden[node.lane]->queue.push_back(clone);
  }
}

// Starts what can start and ends what has ended; true if anything happened.
bool Emulator::advanceStreams() {
  bool any = false, again = true;
  while (again) {
    again = false;
    for (size_t at = 0; at < active.size(); ++at) {
      Stream *stream = active[at];
      while (!stream->queue.empty()) {
        OpRef op = stream->queue.front();
        const bool broken = failed || devices[stream->device].dead;
        if (!op->started) {
          if (!broken && !std::all_of(op->deps.begin(), op->deps.end(), [](const OpRef &dep) { return dep->done; }))
            break;
          op->started = true;
          any = again = true;
          if (watching()) {
            stream->model->known.join(op->enqueued);
            for (const OpRef &dep : op->deps)
              stream->model->known.join(dep->clock);
          }
          if (broken) {
            finishOp(stream, op, devices[stream->device].dead ? kUnavailable : kLaunchFailed);
            continue;
          }
          switch (op->kind) {
          case OpKind::kernel:
            decideMode();
            startKernel(*op, stream);
            break;
          case OpKind::copy:
            ++counts.copies;
            if (watching())
              model.bulk(*stream->model, stream->id, stream->device, op->from, op->to, op->bytes);
            memmove(op->to, op->from, op->bytes);
            finishOp(stream, op, kOk);
            continue;
          case OpKind::set:
            ++counts.memsets;
            if (watching())
              model.bulk(*stream->model, stream->id, stream->device, nullptr, op->to, op->bytes);
            memset(op->to, op->value, op->bytes);
            finishOp(stream, op, kOk);
            continue;
          case OpKind::record:
          case OpKind::wait:
            finishOp(stream, op, kOk);
            continue;
          case OpKind::graph:
            launchGraph(*op, stream);
            break;
          case OpKind::host:
            startHostCall(stream, op);
            break;
          case OpKind::nccl:
            startNccl(stream, op);
            break;
          }
          break;
        }
        // running
        bool ended = false;
        int result = failed ? int(kLaunchFailed) : int(kOk);
        if (op->kind == OpKind::kernel) {
          ended = op->kernel->finished == op->kernel->started && !op->kernel->draining && (op->kernel->started == op->kernel->grid || failed);
          if (devices[stream->device].dead) {
            ended = true;
            result = kUnavailable;
          }
          if (ended) {
            auto &running = devices[stream->device].running;
            running.erase(std::find(running.begin(), running.end(), op->kernel.get()));
          }
        } else if (op->kind == OpKind::graph) {
          ended = std::all_of(op->hidden.begin(), op->hidden.end(), [](const auto &hidden) { return hidden->queue.empty(); });
          if (ended) {
            for (auto &hidden : op->hidden) {
              stream->model->known.join(hidden->model->known);
              active.erase(std::find(active.begin(), active.end(), hidden.get()));
              if (hidden->worker.joinable())
                retireWorker(*hidden);
            }
            again = true;
          }
        } else if (op->kind == OpKind::host) {
          ended = op->hostReturned;
        } else if (op->kind == OpKind::nccl) {
          ended = broken || op->nccl->pending == 0 || op->nccl->world->aborted;
          if (broken && devices[stream->device].dead)
            result = kUnavailable;
        }
        if (!ended)
          break;
        any = again = true;
        finishOp(stream, op, result);
        if (op->kind == OpKind::graph) {
          op->hidden.clear();
          at = size_t(-1); // `active` has changed
          break;
        }
      }
      if (at == size_t(-1))
        break;
    }
  }
  return any;
}

// Host functions run on a thread of their stream: they may wait for other ranks' host functions.
void Emulator::startHostCall(Stream *stream, const OpRef &op) {
  ++hostCallsRunning;
  if (!stream->worker.joinable()) {
    auto box = stream->box = std::make_shared<HostBox>();
    stream->worker = std::thread([this, box] {
      std::unique_lock<std::mutex> lock(mutex);
      for (;;) {
        box->wake.wait(lock, [&] { return box->stop || !box->calls.empty(); });
        if (box->calls.empty())
          return;
        OpRef next = box->calls.front();
        box->calls.pop_front();
        lock.unlock();
        next->call(next->user);
        lock.lock();
        next->hostReturned = true;
        --hostCallsRunning;
        ++activity;
        wake.notify_one();
      }
    });
  }
  stream->box->calls.push_back(op);
  stream->box->wake.notify_one();
}

// Lets a stream's worker end after what it has; its thread is joined at the end of the emulator.
void Emulator::retireWorker(Stream &stream) {
  stream.box->stop = true;
  stream.box->wake.notify_one();
  retired.push_back(std::move(stream.worker));
}

} // namespace pkb_emu_impl
