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

llvm::Expected<Value> Importer::readContiguous(int64_t tensor, Location loc) {
  llvm::Expected<Value> value = storages.read(tensor, loc);
  if (!value)
    return value;
  auto type = cast<RankedTensorType>(value->getType());
  if (aten::isRowMajor(type))
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

/// The elements of a contiguous tensor in the shape of `type`, where they are.
static Value reshape(OpBuilder &builder, Location loc, Value value, Type type) {
  auto from = cast<RankedTensorType>(value.getType());
  auto wanted = cast<RankedTensorType>(type);
  if (from.getShape() == wanted.getShape())
    return value;
  RankedTensorType window = aten::getTensorType(
      wanted.getShape(), from.getElementType(),
      aten::getContiguousStrides(wanted.getShape()), aten::getLayout(from).offset);
  return aten::AsStridedOp::create(builder, loc, window, value);
}

static SmallVector<Value> reshapeAll(OpBuilder &builder, Location loc,
                                     ValueRange values, TypeRange types) {
  SmallVector<Value> reshaped;
  for (auto [value, type] : llvm::zip_equal(values, types))
    reshaped.push_back(reshape(builder, loc, value, type));
  return reshaped;
}

/// The type of `size` tensors like `part` in one: `whole` if it is that along
/// dimension 0 or along a new one. The record's tensor may have any shape with
/// as many elements, since it is flat memory.
static Type getWhole(Type part, Type whole, int64_t size) {
  auto type = cast<RankedTensorType>(part);
  SmallVector<int64_t> stacked(type.getShape()), joined(type.getShape());
  stacked.insert(stacked.begin(), size);
  if (!joined.empty())
    joined.front() *= size;
  ArrayRef<int64_t> shape = cast<RankedTensorType>(whole).getShape();
  if (shape == ArrayRef(stacked) ||
      (!joined.empty() && shape == ArrayRef(joined)))
    return whole;
  return RankedTensorType::get(stacked, type.getElementType());
}

//===----------------------------------------------------------------------===//
// One kind of collective each
//===----------------------------------------------------------------------===//

namespace {
/// Makes the operation of one event. `types` are those of the outputs; on a rank
/// that gets none, the operation has results all the same.
class CollectiveBuilder {
public:
  CollectiveBuilder(OpBuilder &builder, Location loc, comm::GroupAttr group,
                    const CollectiveTables &tables, ArrayRef<Value> inputs,
                    ArrayRef<Type> types)
      : builder(builder), loc(loc), group(group), tables(tables), inputs(inputs),
        types(types), size(group.getSize()) {}

  /// The values of the outputs.
  llvm::Expected<SmallVector<Value>> build(StringRef name, StringRef reduction);

private:
  SmallVector<Value> gather(bool toRoots);
  SmallVector<Value> scatter();
  SmallVector<Value> reduceScatter();
  SmallVector<Value> allToAll();

  Type getElementType() const {
    Type type = inputs.empty() ? types.front() : inputs.front().getType();
    return cast<RankedTensorType>(type).getElementType();
  }
  Type getAccumulation() const { return getAccumulationType(getElementType()); }
  DenseF64ArrayAttr getFactors() const {
    return tables.factors.empty() ? DenseF64ArrayAttr()
                                  : builder.getDenseF64ArrayAttr(tables.factors);
  }
  /// Inputs that are the parts of one tensor, or each a part.
  SmallVector<Value> shapeParts(Type part) {
    SmallVector<Type> wanted(inputs.size(), part);
    if (inputs.size() == 1)
      wanted.front() = getWhole(part, inputs.front().getType(), size);
    return reshapeAll(builder, loc, inputs, wanted);
  }

  OpBuilder &builder;
  Location loc;
  comm::GroupAttr group;
  const CollectiveTables &tables;
  ArrayRef<Value> inputs;
  ArrayRef<Type> types;
  int64_t size;
  comm::ReduceKind kind = comm::ReduceKind::Sum;
};
} // namespace

SmallVector<Value> CollectiveBuilder::gather(bool toRoots) {
  Value input = inputs.front();
  if (!tables.even)
    return comm::AllGatherVOp::create(builder, loc, types, input, group,
                                      tables.counts)
        .getResults();
  Type part = comm::getFreshType(input.getType());
  SmallVector<Type> results(types.empty() ? size : types.size(), part);
  if (types.size() == 1)
    results.front() = getWhole(part, types.front(), size);
  ValueRange values;
  if (toRoots)
    values = comm::GatherOp::create(builder, loc, results, input, group,
                                    tables.roots)
                 .getResults();
  else
    values =
        comm::AllGatherOp::create(builder, loc, results, input, group).getResults();
  if (types.empty())
    return {};
  return reshapeAll(builder, loc, values, types);
}

SmallVector<Value> CollectiveBuilder::scatter() {
  SmallVector<Value> parts;
  if (inputs.empty())
    parts.assign(size, comm::AbsentOp::create(builder, loc, types.front()));
  else
    parts = shapeParts(types.front());
  return {comm::ScatterOp::create(builder, loc, types.front(), parts, group,
                                  tables.roots)};
}

SmallVector<Value> CollectiveBuilder::reduceScatter() {
  if (!tables.even)
    return {comm::ReduceScatterVOp::create(
        builder, loc, types.front(), kind, inputs, group, tables.counts,
        getFactors(), getAccumulation(), /*deterministic=*/true)};
  return {comm::ReduceScatterOp::create(
      builder, loc, types.front(), kind, shapeParts(types.front()), group,
      getFactors(), getAccumulation(), /*deterministic=*/true)};
}

SmallVector<Value> CollectiveBuilder::allToAll() {
  auto isEven = [&](Type type) {
    auto shape = cast<RankedTensorType>(type).getShape();
    return !shape.empty() && shape.front() % size == 0;
  };
  if (inputs.size() > 1 && tables.even) {
    Type part = comm::getFreshType(inputs.front().getType());
    auto op = comm::AllToAllOp::create(
        builder, loc, SmallVector<Type>(types.size(), part), shapeParts(part),
        group);
    return reshapeAll(builder, loc, op.getResults(), types);
  }
  if (inputs.size() == 1 && tables.even && isEven(types.front()) &&
      isEven(inputs.front().getType()))
    return comm::AllToAllOp::create(builder, loc, types, inputs, group)
        .getResults();
  return comm::AllToAllVOp::create(builder, loc, types, inputs, group,
                                   tables.counts)
      .getResults();
}

llvm::Expected<SmallVector<Value>>
CollectiveBuilder::build(StringRef name, StringRef reduction) {
  if (!reduction.empty()) {
    auto given = comm::symbolizeReduceKind(reduction);
    if (!given)
      return makeError("reduction '", reduction, "' is not supported");
    kind = *given;
  }
  if (name == "barrier") {
    comm::BarrierOp::create(builder, loc, group);
    return SmallVector<Value>();
  }
  if (name == "all_gather" || name == "gather")
    return gather(/*toRoots=*/name == "gather");
  if (name == "scatter")
    return scatter();
  if (name == "reduce_scatter")
    return reduceScatter();
  if (name == "all_to_all")
    return allToAll();

  // One tensor of the same type everywhere.
  Value input = inputs.front();
  Type type = comm::getFreshType(input.getType());
  if (!types.empty() && types.front() != type)
    return makeError("output must have the shape and dtype of the input");
  Value result;
  if (name == "all_reduce")
    result = comm::AllReduceOp::create(builder, loc, type, kind, input, group,
                                       getFactors(), getAccumulation(),
                                       /*deterministic=*/true);
  else if (name == "reduce")
    result = comm::ReduceOp::create(builder, loc, type, kind, input, group,
                                    tables.roots, getFactors(),
                                    getAccumulation(), /*deterministic=*/true);
  else // broadcast; the schedule let no other pass
    result = comm::BroadcastOp::create(builder, loc, type, input, group,
                                       tables.roots);
  return types.empty() ? SmallVector<Value>() : SmallVector<Value>{result};
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

/// Overwrites the caller's tensors with what came.
llvm::Error Importer::importWrites(const llvm::json::Object &event,
                                   Location loc) {
  const llvm::json::Array *writes = event.getArray("writes");
  if (!writes)
    return llvm::Error::success();
  for (const llvm::json::Value &write : *writes) {
    const llvm::json::Array *pair = write.getAsArray();
    if (!pair || pair->size() != 2 || !(*pair)[0].getAsInteger() ||
        !(*pair)[1].getAsInteger())
      return makeError("write must be a pair of tensors");
    llvm::Expected<int64_t> source =
        program.getTensor(*(*pair)[0].getAsInteger());
    if (!source)
      return source.takeError();
    llvm::Expected<int64_t> target =
        program.getTensor(*(*pair)[1].getAsInteger());
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

llvm::Expected<SmallVector<Type>>
Importer::getOutputTypes(ArrayRef<int64_t> outputs) {
  SmallVector<Type> types;
  for (int64_t tensor : outputs) {
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
  return types;
}

llvm::Error Importer::importCollective(int64_t index) {
  const llvm::json::Object &event = *program.events[index].json;
  Location loc = locationOf(program.events[index].site);
  StringRef name = event.getString("name").value_or("");
  const Exchange &exchange = exchangeOf(index);
  llvm::Expected<CollectiveTables> tables = makeTables(bundle, exchange);
  if (!tables)
    return tables.takeError();
  auto inputs = getTensors(event, "inputs");
  if (!inputs)
    return inputs.takeError();
  auto outputs = getTensors(event, "outputs");
  if (!outputs)
    return outputs.takeError();

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
  auto types = getOutputTypes(*outputs);
  if (!types)
    return types.takeError();
  auto group = comm::GroupAttr::get(builder.getContext(), exchange.rows);
  auto results = CollectiveBuilder(builder, loc, group, *tables, operands, *types)
                     .build(name, event.getString("reduce").value_or(""));
  if (!results)
    return results.takeError();
  for (auto [tensor, value] : llvm::zip_equal(*outputs, *results))
    storages.define(program.tensors[tensor].storage, storages.getWindow(tensor),
                    value);
  return importWrites(event, loc);
}
