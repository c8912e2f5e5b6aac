// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- VerifyXferMechanisms.cpp - what a mechanism can carry out --------===//
//
// Asks the table of legality (pkb/Analysis/Mechanisms.def) for each kernel and library call, whoever has written its schedule.
//
//===----------------------------------------------------------------------===//

#include "passes/Contract/VerifyXferRules.h"
#include "pkb/Analysis/Mechanisms.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace pkb;

/// The sizes of the messages of a kernel that moves its arguments' elements. Those of a fused kernel are computed, and have rules of their own.
static void addSizes(xfer::KernelOp kernel, MechanismQuestion &question) {
  auto buffers = kernel.getEntry().getOps<xfer::SymmBufferOp>();
  int64_t bytes = buffers.empty() ? 1 : xfer::elementBytes((*buffers.begin()).getType().getElementType());
  for (auto pipeline : kernel.getEntry().getOps<xfer::PipelineOp>())
    question.messageBytes = std::max<int64_t>(question.messageBytes, pipeline.getElements() * bytes);
  question.even = talksToAll(question.collective);
  question.wholeVectors = question.messageBytes % 16 == 0;
  if (std::optional<ArrayRef<int64_t>> counts = kernel.getCounts()) {
    question.even &= question.ranks == 1 || !llvm::is_contained(*counts, 0);
    question.wholeVectors = llvm::all_of(*counts, [&](int64_t count) { return count * bytes % 16 == 0; });
  }
}

/// One collective of a fused kernel, whose messages are computed.
static MechanismQuestion phaseQuestion(xfer::PipelineOp pipeline) {
  MechanismQuestion question;
  question.collective = pipeline.getCollective();
  if (isReduction(question.collective))
    question.reduction = pipeline.getCombination();
  question.messageBytes = 16;
  pipeline.walk([&](xfer::PutOp put) { question.element = getElementTypeOrSelf(put.getBuffer().getType().getElementType()); }); // a line of a row is a vector
  return question;
}

void pkb::checkMechanism(xfer::KernelOp kernel, const XferLimits &limits, TransferReporter &reporter) {
  SmallVector<MechanismQuestion> questions;
  if (kernel.getFused()) {
    for (auto pipeline : kernel.getEntry().getOps<xfer::PipelineOp>())
      questions.push_back(phaseQuestion(pipeline));
  } else {
    MechanismQuestion question;
    question.collective = kernel.getImplements();
    if (isReduction(question.collective))
      question.reduction = kernel.getReduction().value_or(comm::ReduceKind::Sum);
    if (kernel.getEntry().getNumArguments() > 0)
      question.element = cast<MemRefType>(kernel.getEntry().getArgument(0).getType()).getElementType();
    addSizes(kernel, question);
    questions.push_back(question);
  }
  // A mesh whose links nobody knows is of no machine yet.
  comm::MeshAttr mesh = comm::getMesh(kernel);
  xfer::Mechanism mechanism = kernel.getSchedule().getMechanism();
  for (MechanismQuestion &question : questions) {
    question.ranks = kernel.getGroupSize();
    question.arenaBytes = limits.arenaBytes;
    question.copyEngines = mesh && mesh.getLink() != comm::LinkKind::Unknown ? mesh.getCopyEngines() : 1;
    if (question.collective == xfer::Collective::None)
      continue;
    if (std::optional<std::string> reason = whyIllegal(mechanism, question))
      reporter.report(TransferCode::IllegalMechanism, kernel, Twine(xfer::stringifyMechanism(mechanism)) + " is not legal for it: " + *reason);
  }
}

void pkb::checkMechanism(xfer::LibraryCallOp call, TransferReporter &reporter) {
  if (!call.getReduce())
    return;
  MechanismQuestion question;
  question.collective = xfer::Collective::AllReduce;
  question.reduction = call.getReduce();
  question.element = cast<MemRefType>(call.getOperands().front().getType()).getElementType();
  question.ranks = call.getGroup().getSize();
  question.messageBytes = 16;
  if (std::optional<std::string> reason = whyIllegal(call.getMechanism(), question))
    reporter.report(TransferCode::IllegalMechanism, call, Twine(xfer::stringifyMechanism(call.getMechanism())) + " is not legal for it: " + *reason);
}
