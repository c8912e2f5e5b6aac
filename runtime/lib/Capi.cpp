// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C interface (pkb_rt/pkb.h).
#include "Error.h"
#include "Program.h"

#include <cstring>

using namespace pkb_rt;

namespace {

void fillTensor(const Shape &shape, pkb_tensor *out) {
  std::memset(out, 0, sizeof(*out));
  out->dtype = shape.dtype;
  out->ndim = int32_t(shape.sizes.size());
  std::memcpy(out->sizes, shape.sizes.data(), shape.sizes.size() * sizeof(int64_t));
  std::memcpy(out->strides, shape.strides.data(), shape.strides.size() * sizeof(int64_t));
}

pkb_status nullArgument(const char *name) { return setLastError(PKB_ERROR_ARGUMENT, cat(name, " is null")); }

/// A forked child must not touch the device, nor speak on its parent's sockets.
pkb_status refuseChild() {
  return setLastError(PKB_ERROR_ARGUMENT, "this process is a forked child of the one that made the context, and CUDA does not survive a fork; make a new "
                                          "context here, or start processes by spawn");
}

} // namespace

extern "C" {

pkb_status pkb_default_timeout(double *seconds) {
  if (!seconds) {
    return nullArgument("seconds");
  }
  return guarded([&] { *seconds = defaultTimeout(); });
}

pkb_status pkb_context_create(const pkb_context_desc *desc, pkb_context **out) {
  if (!desc || !out) {
    return nullArgument(desc ? "out" : "desc");
  }
  *out = nullptr;
  return guarded([&] { *out = new pkb_context(*desc); });
}

void pkb_context_destroy(pkb_context *context) {
  if (context && !context->forked()) { // what a child has of it goes with the child
    delete context;
  }
}

void pkb_context_abort(pkb_context *context, const char *reason) {
  if (context && !context->forked()) {
    context->leave(reason && *reason ? reason : "this rank has left");
  }
}

pkb_status pkb_program_load(pkb_context *context, const char *path, const char *cache_dir, pkb_program **out) {
  if (!context || !path || !out) {
    return nullArgument(!context ? "context" : !path ? "path" : "out");
  }
  *out = nullptr;
  if (context->forked()) {
    return refuseChild();
  }
  if (context->lost()) {
    return setLastError(PKB_ERROR_PEER_LOST, context->lostText());
  }
  return guarded([&] { *out = new pkb_program(*context, path, cache_dir ? cache_dir : ""); });
}

void pkb_program_unload(pkb_program *program) {
  if (program && !program->context.forked()) {
    delete program;
  }
}

pkb_context *pkb_program_context(const pkb_program *program) { return program ? &program->context : nullptr; }

int32_t pkb_program_input_count(const pkb_program *program) {
  return program ? int32_t(program->manifest.arguments.size()) : 0;
}
int32_t pkb_program_output_count(const pkb_program *program) {
  return program ? int32_t(program->manifest.outputs.size()) : 0;
}
int32_t pkb_program_launch_count(const pkb_program *program) { return program ? program->stepCount() : 0; }

pkb_status pkb_program_input(const pkb_program *program, int32_t i, pkb_tensor *out) {
  if (!program || !out) {
    return nullArgument(program ? "out" : "program");
  }
  if (i < 0 || i >= pkb_program_input_count(program)) {
    return setLastError(PKB_ERROR_ARGUMENT, cat("'", program->manifest.name, "' has ",
                                                program->manifest.arguments.size(), " inputs, asked for: ", i));
  }
  fillTensor(program->manifest.arguments[size_t(i)], out);
  return PKB_OK;
}

int32_t pkb_program_input_written(const pkb_program *program, int32_t i) {
  return program && i >= 0 && i < pkb_program_input_count(program) && program->manifest.arguments[size_t(i)].written;
}

pkb_status pkb_program_output(const pkb_program *program, int32_t i, pkb_tensor *out, int32_t *alias_of) {
  if (!program || !out) {
    return nullArgument(program ? "out" : "program");
  }
  if (i < 0 || i >= pkb_program_output_count(program)) {
    return setLastError(PKB_ERROR_ARGUMENT, cat("'", program->manifest.name, "' has ", program->manifest.outputs.size(),
                                                " outputs, asked for: ", i));
  }
  const Output &output = program->manifest.outputs[size_t(i)];
  fillTensor(output.shape, out);
  if (alias_of) {
    *alias_of = output.aliasOf;
  }
  return PKB_OK;
}

const char *pkb_program_manifest(const pkb_program *program) { return program ? program->manifest.text.c_str() : ""; }

const char *pkb_program_notes(const pkb_program *program) { return program ? program->notes.c_str() : ""; }

pkb_status pkb_program_call(pkb_program *program, void *stream, const pkb_tensor *inputs, int32_t n_inputs,
                            pkb_tensor *outputs, int32_t n_outputs) {
  if (!program) {
    return nullArgument("program");
  }
  if (__builtin_expect(program->context.forked(), 0)) {
    return refuseChild();
  }
  return program->call(static_cast<pkb_cu_stream>(stream), inputs, n_inputs, outputs, n_outputs);
}

pkb_status pkb_program_refuse(pkb_program *program, const char *reason) {
  if (!program) {
    return nullArgument("program");
  }
  if (program->context.forked()) {
    return refuseChild();
  }
  return program->refuseCall(reason && *reason ? reason : "the caller gave no reason");
}

pkb_status pkb_context_synchronize(pkb_context *context, void *stream) {
  if (!context) {
    return nullArgument("context");
  }
  if (context->forked()) {
    return refuseChild();
  }
  const pkb_driver *driver = context->driver;
  driver->ctx_set_current(context->cuda);
  pkb_cu_result result = driver->stream_synchronize(static_cast<pkb_cu_stream>(stream));
  std::string deferred = context->takeDeferredError();
  if (!context->lost()) {
    context->checkOrder();
  }
  if (context->lost() || context->reported()) {
    return setLastError(PKB_ERROR_PEER_LOST, context->lostText());
  }
  if (!deferred.empty()) {
    return setLastError(PKB_ERROR_ATEN, deferred);
  }
  if (result != 0) {
    return setLastError(PKB_ERROR_DEVICE, cat("rank ", context->rank, ": waiting for the stream failed: ",
                                              driverText(driver, result), " (", result, ")"));
  }
  return PKB_OK;
}

} // extern "C"
