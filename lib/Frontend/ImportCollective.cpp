//===- ImportCollective.cpp - collectives of the record -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Frontend/Importer.h"
#include "lib/Frontend/Program.h"
#include "pkb/Support/Error.h"

using namespace mlir;
using namespace pkb;
using namespace pkb::frontend;

/// The type in which sums of `element` are made: fp32 for narrower floats.
static Type getAccumulationType(Type element) {
  if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32)
    return Float32Type::get(element.getContext());
  return element;
}

/// True if splits are given and are not all equal.
static bool isUneven(const llvm::json::Object &event) {
  const llvm::json::Object *splits = event.getObject("splits");
  if (!splits)
    return false;
  std::optional<llvm::json::Value> first;
  for (StringRef key : {"in", "out"})
    if (const llvm::json::Array *list = splits->getArray(key))
      for (const llvm::json::Value &value : *list) {
        if (!first)
          first = value;
        if (value != *first)
          return true;
      }
  return false;
}

/// {"expr": …} among the splits.
static llvm::Error refuseSymbols(const llvm::json::Object &event) {
  const llvm::json::Object *splits = event.getObject("splits");
  for (StringRef key : {"in", "out"})
    if (const llvm::json::Array *list = splits ? splits->getArray(key) : nullptr)
      for (const llvm::json::Value &value : *list)
        if (!value.getAsInteger()) {
          std::string text;
          llvm::raw_string_ostream(text) << value;
          return makeError("has the symbolic split ", text,
                           ", which is not supported; export without "
                           "--dynamic");
        }
  return llvm::Error::success();
}

llvm::Expected<Value> Importer::readContiguous(int64_t tensor, Location loc) {
  llvm::Expected<Value> value = storages.read(tensor, loc);
  if (!value)
    return value;
  auto type = cast<RankedTensorType>(value->getType());
  if (!type.getEncoding())
    return value;
  MLIRContext *context = builder.getContext();
  auto call = aten::CallOp::create(
      builder, loc, TypeRange{aten::getContiguousType(type)}, "aten::clone", "",
      ValueRange{*value}, ValueRange(),
      builder.getArrayAttr({aten::OperandAttr::get(context, 0)}),
      builder.getDictionaryAttr(builder.getNamedAttr(
          "memory_format", aten::MemoryFormatAttr::get(
                               context, aten::MemoryFormat::Contiguous))),
      builder.getArrayAttr({aten::ResultAttr::get(context, 0)}),
      ArrayRef<int64_t>(), false);
  return call.getResult(0);
}

/// The record's result may have any shape with as many elements: it is flat
/// memory. The operation has one of two.
SmallVector<Value> Importer::gather(ArrayRef<Type> types, Value input,
                                    comm::GroupAttr group, Location loc) {
  SmallVector<Type> results(types);
  auto from = cast<RankedTensorType>(input.getType());
  auto to = cast<RankedTensorType>(types.front());
  SmallVector<int64_t> stacked(from.getShape()), joined(from.getShape());
  stacked.insert(stacked.begin(), group.getSize());
  if (!joined.empty())
    joined.front() *= group.getSize();
  bool reshape = types.size() == 1 && to.getShape() != ArrayRef(stacked) &&
                 (joined.empty() || to.getShape() != ArrayRef(joined)) &&
                 to.getNumElements() == from.getNumElements() * group.getSize();
  if (reshape)
    results = {RankedTensorType::get(stacked, from.getElementType())};
  auto op = comm::AllGatherOp::create(builder, loc, results, input, group);
  if (!reshape)
    return SmallVector<Value>(op.getResults());
  return {aten::AsStridedOp::create(builder, loc, to, op.getResult(0))};
}

llvm::Error Importer::importCollective(int64_t index) {
  const llvm::json::Object &event = *program.events[index].json;
  Location loc = locationOf(program.events[index].site);
  MLIRContext *context = builder.getContext();
  StringRef name = event.getString("name").value_or("");
  auto group = comm::GroupAttr::get(context, groups.ofEvent(index));
  auto inputs = getTensors(event, "inputs");
  if (!inputs)
    return inputs.takeError();
  auto outputs = getTensors(event, "outputs");
  if (!outputs)
    return outputs.takeError();
  if (llvm::Error error = refuseSymbols(event))
    return error;

  SmallVector<Value> operands;
  for (int64_t tensor : *inputs) {
    if (program.storages[program.tensors[tensor].storage].onHost)
      return makeError("a tensor in host memory is not supported; move it to the "
                       "device first");
    llvm::Expected<Value> value = readContiguous(tensor, loc);
    if (!value)
      return value.takeError();
    operands.push_back(*value);
  }
  SmallVector<Type> types;
  for (int64_t tensor : *outputs) {
    if (storages.isMade(tensor))
      return makeError("result must be a fresh tensor, got: tensor ",
                       program.tensors[tensor].id);
    llvm::Expected<RankedTensorType> type = storages.getFreshType(tensor);
    if (!type)
      return type.takeError();
    if (type->getEncoding())
      return makeError("result must be contiguous, got: tensor ",
                       program.tensors[tensor].id);
    types.push_back(*type);
  }

  SmallVector<Value> results;
  if (name == "all_reduce") {
    StringRef kindName = event.getString("reduce").value_or("");
    auto kind = comm::symbolizeReduceKind(kindName);
    if (!kind || *kind == comm::ReduceKind::PremulSum)
      return makeError("reduction '", kindName, "' is not supported yet");
    if (operands.size() != types.size())
      return makeError("must have as many outputs as inputs, got: ",
                       types.size(), " and ", operands.size());
    for (auto [operand, type] : llvm::zip_equal(operands, types)) {
      if (operand.getType() != type)
        return makeError("output must have the shape and dtype of the input");
      auto element = cast<RankedTensorType>(type).getElementType();
      results.push_back(comm::AllReduceOp::create(
          builder, loc, type, *kind, operand, group,
          /*factors=*/DenseF64ArrayAttr(), getAccumulationType(element),
          /*deterministic=*/true));
    }
  } else if (name == "all_gather") {
    if (operands.size() != 1 || types.empty())
      return makeError("must have one input and an output, got: ",
                       operands.size(), " and ", types.size());
    if (isUneven(event) ||
        (types.size() > 1 && !llvm::all_of(types, [&](Type type) {
           return type == operands.front().getType();
         })))
      return makeError("with tensors of different shapes is not supported yet");
    llvm::append_range(results, gather(types, operands.front(), group, loc));
  } else if (name == "all_to_all") {
    if (operands.empty() || operands.size() != types.size())
      return makeError("must have as many outputs as inputs, got: ",
                       types.size(), " and ", operands.size());
    if (isUneven(event) ||
        (types.size() > 1 && !llvm::all_equal(llvm::concat<const Type>(
                                 SmallVector<Type>(ValueRange(operands).getTypes()),
                                 types))))
      return makeError("with parts of different sizes is not supported yet");
    llvm::append_range(results, comm::AllToAllOp::create(builder, loc, types,
                                                   operands, group)
                              .getResults());
  } else { // barrier; unification let no other pass
    comm::BarrierOp::create(builder, loc, group);
  }

  for (auto [tensor, value] : llvm::zip_equal(*outputs, results))
    storages.define(program.tensors[tensor].storage, storages.getWindow(tensor),
                    value);
  if (const llvm::json::Array *writes = event.getArray("writes"))
    for (const llvm::json::Value &write : *writes) {
      const llvm::json::Array *pair = write.getAsArray();
      if (!pair || pair->size() != 2 || !(*pair)[0].getAsInteger() ||
          !(*pair)[1].getAsInteger())
        return makeError("write must be a pair of tensors");
      llvm::Expected<int64_t> source = program.getTensor(*(*pair)[0].getAsInteger());
      if (!source)
        return source.takeError();
      llvm::Expected<int64_t> target = program.getTensor(*(*pair)[1].getAsInteger());
      if (!target)
        return target.takeError();
      llvm::Expected<Value> value = storages.read(*source, loc);
      if (!value)
        return value.takeError();
      if (llvm::Error error = storages.write(*target, *value, loc))
        return error;
    }
  return llvm::Error::success();
}
