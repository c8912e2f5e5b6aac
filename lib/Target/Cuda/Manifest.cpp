// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Manifest.cpp - the host plan as JSON -----------------------------===//

#include "Manifest.h"

#include "AtenStep.h"
#include "pkb/Analysis/Reach.h"
#include "pkb_rt/layout.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pkb;
namespace json = llvm::json;

std::string pkb::sourceOf(Location loc) {
  std::string text;
  loc->walk([&](Location inner) {
    if (auto place = dyn_cast<FileLineColLoc>(inner)) {
      text = (place.getFilename().getValue() + ":" + Twine(place.getLine())).str();
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return text;
}

/// dtype, sizes and strides of a memref, as fields of a slot.
static json::Object describe(MemRefType type) {
  int64_t offset = 0;
  SmallVector<int64_t> strides;
  (void)type.getStridesAndOffset(strides, offset); // static by construction
  std::optional<aten::ScalarType> dtype = aten::getScalarType(type.getElementType());
  return json::Object{{"dtype", dtype ? aten::stringifyScalarType(*dtype) : StringRef("?")},
                      {"sizes", json::Array(type.getShape())},
                      {"strides", json::Array(ArrayRef<int64_t>(strides))}};
}

/// Bytes from the first of a memref to the end of its last element.
static int64_t bytesOf(MemRefType type) { return reachOf(type) * xfer::elementBytes(type.getElementType()); }

/// A slot with the dtype, sizes and strides of `shape`. `fields` are those of its kind.
int64_t ManifestBuilder::addSlot(json::Object shape, StringRef kind, json::Object fields) {
  json::Object slot{{"id", slots.size()}, {"kind", kind}};
  for (StringRef field : {"dtype", "sizes", "strides"})
    slot[field] = std::move(shape[field]);
  for (auto &field : fields)
    slot[field.first] = std::move(field.second);
  slots.push_back(std::move(slot));
  return slots.size() - 1;
}

int64_t ManifestBuilder::addSlot(Value value, StringRef kind, json::Object fields) {
  auto type = dyn_cast<MemRefType>(value.getType());
  int64_t id = addSlot(describe(type ? type : MemRefType::get({}, value.getType())), kind, std::move(fields));
  slotOf[value] = id;
  // What an operator returns has the strides it likes.
  roomOf[value] = kind == "aten" || !type ? std::numeric_limits<int64_t>::max() : bytesOf(type);
  return id;
}

/// A window of another slot, from element `offset` on, counted in elements of the window.
LogicalResult ManifestBuilder::addView(Operation *view, int64_t offset) {
  Value window = view->getResult(0), source = view->getOperand(0);
  auto type = cast<MemRefType>(window.getType());
  int64_t begin = offset * xfer::elementBytes(type.getElementType()), bytes = bytesOf(type), room = roomOf.lookup(source);
  if (offset < 0 || (bytes > 0 && begin + bytes > room))
    return view->emitOpError() << "must lie in the " << room << " bytes of memory from its source on, got: bytes " << begin << " to " << begin + bytes;
  addSlot(window, "view", json::Object{{"of", slotOf.lookup(source)}, {"offset", offset}});
  roomOf[window] = room == std::numeric_limits<int64_t>::max() ? room : room - begin;
  return success();
}

/// A step that copies one slot to another of the same sizes. An element that `type`, that of `to`, has more than once, because a stride is 0, is
/// written once.
json::Value ManifestBuilder::copyStep(MemRefType type, int64_t from, int64_t to, std::string source) {
  int64_t offset = 0;
  SmallVector<int64_t> strides, sizes(type.getShape());
  (void)type.getStridesAndOffset(strides, offset); // static by construction
  for (auto [size, stride] : llvm::zip_equal(sizes, strides))
    size = stride == 0 ? std::min<int64_t>(size, 1) : size;
  if (ArrayRef(sizes) != type.getShape())
    for (int64_t *place : {&from, &to}) {
      json::Object slot = *slots[*place].getAsObject();
      slot["sizes"] = json::Array(sizes);
      *place = addSlot(std::move(slot), "view", json::Object{{"of", *place}, {"offset", 0}});
    }
  json::Object step{{"kind", "copy"}, {"from", from}, {"to", to}};
  if (!source.empty())
    step["source"] = std::move(source);
  return step;
}

/// The slot of an operand; null if it does not exist on this rank.
json::Value ManifestBuilder::slotJson(Value operand) const {
  return operand.getDefiningOp<cuda::AbsentOp>() ? json::Value(nullptr) : json::Value(slotOf.lookup(operand));
}

int64_t ManifestBuilder::addGroup(comm::GroupAttr group) {
  auto [place, added] = groupOf.try_emplace(group, groupOf.size());
  if (added) {
    json::Array rows;
    for (int64_t row = 0; row < group.getNumRows(); ++row)
      rows.push_back(json::Array(group.getRow(row)));
    groups.push_back(json::Object{{"id", place->second}, {"partition", std::move(rows)}});
  }
  return place->second;
}

/// The memory that `value` is a window of, itself if it is none.
static Value rootOf(Value value) {
  while (isa_and_nonnull<memref::ReinterpretCastOp, cuda::BitcastOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

/// True if a caller who allocates memory of this type gets all of a storage of as many bytes, in some order, some of it more than once.
static bool coversStorage(MemRefType window, MemRefType storage) {
  int64_t offset = 0;
  SmallVector<int64_t> strides;
  return succeeded(window.getStridesAndOffset(strides, offset)) && offset == 0 && bytesOf(window) == bytesOf(storage) && coversReach(window);
}

/// Which allocations are the caller's, before slots are numbered.
LogicalResult ManifestBuilder::collectOutputs(func::FuncOp main) {
  auto ret = cast<func::ReturnOp>(main.getBody().front().getTerminator());
  for (auto [index, value] : llvm::enumerate(ret.getOperands())) {
    Value root = rootOf(value);
    if (isa<BlockArgument>(root) || !root.getDefiningOp<memref::AllocOp>() || outputOf.count(root))
      continue;
    if (root == value || coversStorage(cast<MemRefType>(value.getType()), cast<MemRefType>(root.getType())))
      outputOf[root] = index;
  }
  return success();
}

LogicalResult ManifestBuilder::addConstant(memref::GetGlobalOp use) {
  auto global = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(use, use.getNameAttr());
  auto value = global ? dyn_cast_or_null<ElementsAttr>(global.getInitialValueAttr()) : ElementsAttr();
  std::string bytes;
  int64_t size = cast<MemRefType>(use.getType()).getNumElements() *
                 xfer::elementBytes(cast<MemRefType>(use.getType()).getElementType());
  if (auto dense = dyn_cast_or_null<DenseElementsAttr>(value)) {
    ArrayRef<char> raw = dense.getRawData();
    if (dense.isSplat()) {
      int64_t element = size / std::max<int64_t>(1, dense.getNumElements());
      for (int64_t i = 0; i < dense.getNumElements(); ++i)
        bytes.append(raw.data(), element);
    } else {
      bytes.assign(raw.begin(), raw.end());
    }
  } else if (auto resource = dyn_cast_or_null<DenseResourceElementsAttr>(value)) {
    if (AsmResourceBlob *blob = resource.getRawHandle().getBlob())
      bytes.assign(blob->getData().begin(), blob->getData().end());
  }
  if (static_cast<int64_t>(bytes.size()) != size)
    return use.emitOpError() << "must name a constant of " << size << " bytes, got: " << bytes.size();
  constants.resize(llvm::alignTo(constants.size(), 256));
  int64_t offset = constants.size();
  constants += bytes;
  addSlot(use.getResult(), "constant", json::Object{{"offset", offset}});
  return success();
}

LogicalResult ManifestBuilder::collectSlots(func::FuncOp main) {
  for (BlockArgument argument : main.getArguments()) {
    addSlot(argument, "argument", json::Object{{"index", argument.getArgNumber()}});
    json::Object described = describe(cast<MemRefType>(argument.getType()));
    if (main.getArgAttr(argument.getArgNumber(), aten::kWrittenAttrName))
      described["written"] = true;
    if (auto alias = main.getArgAttrOfType<aten::AliasAttr>(argument.getArgNumber(), aten::kAliasOfAttrName)) {
      described["alias_of"] = alias.getIndex();
      auto bytes = main.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), aten::kAliasBytesAttrName);
      described["alias_bytes"] = bytes ? bytes.getInt() : 0;
    }
    arguments.push_back(std::move(described));
  }
  auto ret = cast<func::ReturnOp>(main.getBody().front().getTerminator());
  for (Operation &op : main.getBody().front()) {
    if (auto alloc = dyn_cast<memref::AllocOp>(op)) {
      Value value = alloc.getMemref();
      auto output = outputOf.find(value);
      if (output != outputOf.end()) {
        Value returned = ret.getOperand(output->second);
        int64_t id = addSlot(returned, "output", json::Object{{"index", output->second}});
        if (returned != value)
          addSlot(value, "view", json::Object{{"of", id}, {"offset", 0}});
        continue;
      }
      auto makes = [&](Operation *user) {
        auto call = dyn_cast<aten::CallOp>(user);
        return call && llvm::is_contained(call.getOuts(), value);
      };
      if (auto maker = llvm::find_if(value.getUsers(), makes); maker != value.getUsers().end()) {
        json::Object more;
        if ((*maker)->hasAttr(aten::kHostAttrName))
          more["device"] = "cpu";
        addSlot(value, "aten", std::move(more));
        continue;
      }
      auto type = cast<MemRefType>(value.getType());
      addSlot(value, "temporary", json::Object{{"workspace", workspace}});
      workspace += llvm::alignTo(bytesOf(type), 256);
    } else if (auto cast = dyn_cast<memref::ReinterpretCastOp>(op)) {
      if (slotOf.count(cast.getResult()))
        continue;
      int64_t offset = 0;
      SmallVector<int64_t> strides;
      if (failed(llvm::cast<MemRefType>(cast.getType()).getStridesAndOffset(strides, offset)))
        return cast.emitOpError() << "must have static strides to be emitted";
      if (failed(addView(cast, offset)))
        return failure();
    } else if (auto read = dyn_cast<cuda::HostReadOp>(op)) {
      addSlot(read.getResult(), "aten", json::Object{{"device", "cpu"}});
    } else if (auto bitcast = dyn_cast<cuda::BitcastOp>(op)) {
      if (!slotOf.count(bitcast.getResult()) && failed(addView(bitcast, 0)))
        return failure();
    } else if (auto constant = dyn_cast<memref::GetGlobalOp>(op)) {
      if (failed(addConstant(constant)))
        return failure();
    }
  }
  for (auto [index, value] : llvm::enumerate(ret.getOperands())) {
    json::Object output = describe(cast<MemRefType>(value.getType()));
    Value root = rootOf(value);
    output["alias_of"] = nullptr;
    if (auto argument = dyn_cast<BlockArgument>(root)) {
      output["alias_of"] = argument.getArgNumber();
      output["slot"] = slotOf.lookup(value);
    } else if (auto place = outputOf.find(root);
               place != outputOf.end() &&
               (place->second == static_cast<int64_t>(index) ||
                main.getResultAttrOfType<aten::AliasAttr>(index, aten::kAliasOfAttrName))) { // memory of its own, or of another output
      output["slot"] = slotOf.lookup(value);
    } else {
      // Memory that the caller cannot own as it is: part of a storage, or a second name for one.
      auto type = llvm::cast<MemRefType>(value.getType());
      int64_t own = addSlot(describe(type), "output", json::Object{{"index", static_cast<int64_t>(index)}});
      endSteps.push_back(copyStep(type, slotOf.lookup(value), own, ""));
      output["slot"] = own;
    }
    outputs.push_back(std::move(output));
  }
  return success();
}

json::Value ManifestBuilder::callStep(aten::CallOp call) {
  auto inputSlot = [&](int64_t operand) { return slotOf.lookup(call.getInputs()[operand]); };
  auto outSlot = [&](int64_t result) { return slotOf.lookup(call.getOuts()[result]); };
  json::Array args, results, mutates, kwargs;
  for (Attribute argument : call.getArgs())
    args.push_back(argumentToJson(argument, inputSlot));
  for (NamedAttribute argument : call.getKwargs())
    kwargs.push_back(json::Array{argument.getName().getValue(), argumentToJson(argument.getValue(), inputSlot)});
  for (Attribute returned : call.getReturns())
    results.push_back(returnToJson(returned, inputSlot, outSlot));
  for (int64_t operand : call.getMutates())
    mutates.push_back(inputSlot(operand));
  return json::Object{{"kind", "aten"},          {"op", call.getCallee()},         {"overload", call.getOverload()},
                      {"args", std::move(args)}, {"kwargs", std::move(kwargs)},    {"results", std::move(results)},
                      {"mutates", std::move(mutates)}, {"source", sourceOf(call.getLoc())}};
}

/// The calls of a step, with bytes for elements. Those of a transfer go to a byte of staging memory.
json::Array ManifestBuilder::callList(OperandRange operands, ArrayAttr calls, bool transfer) {
  int64_t bytes = xfer::elementBytes(cast<MemRefType>(operands.front().getType()).getElementType());
  json::Array list;
  for (auto call : calls.getAsRange<xfer::CallAttr>()) {
    auto place = [&](int64_t operand, int64_t offset) {
      return json::Object{{"slot", slotJson(operands[operand])}, {"offset", offset * bytes}};
    };
    json::Object entry{{"function", xfer::stringifyLibraryFunction(call.getFunction())},
                       {"count", call.getCount()},
                       {"from", place(call.getFrom(), call.getFromOffset())}};
    entry["to"] = transfer ? json::Value(call.getToOffset() * bytes) : json::Value(place(call.getTo(), call.getToOffset()));
    if (call.getFunction() == xfer::LibraryFunction::Message) {
      entry["source"] = call.getSource();
      entry["dest"] = call.getDest();
    } else if (call.getFunction() == xfer::LibraryFunction::Broadcast || call.getFunction() == xfer::LibraryFunction::Reduce) {
      entry["root"] = call.getRoot();
    }
    if (call.getRow() >= 0)
      entry["row"] = call.getRow();
    list.push_back(std::move(entry));
  }
  return list;
}

json::Value ManifestBuilder::libraryStep(cuda::LibraryCallOp call) {
  json::Object step{{"kind", "library"},
                    {"library", "nccl"},
                    {"group", addGroup(call.getGroup())},
                    {"dtype", *describe(cast<MemRefType>(call.getOperands().front().getType())).getString("dtype")},
                    {"calls", callList(call.getOperands(), call.getCalls(), /*transfer=*/false)},
                    {"source", sourceOf(call.getLoc())}};
  if (std::optional<comm::ReduceKind> kind = call.getReduce())
    step["reduce"] = comm::stringifyReduceKind(*kind);
  if (std::optional<ArrayRef<double>> factors = call.getFactors())
    step["factors"] = json::Array(*factors);
  if (std::optional<llvm::APFloat> predicted = call.getPredictedUs())
    step["predicted_us"] = predicted->convertToDouble();
  if (std::optional<uint64_t> sent = call.getSentBytes())
    step["sent_bytes"] = static_cast<int64_t>(*sent);
  return step;
}

LogicalResult ManifestBuilder::collectSteps(func::FuncOp main) {
  for (Operation &op : main.getBody().front()) {
    if (auto launch = dyn_cast<cuda::LaunchOp>(op)) {
      auto kernel = SymbolTable::lookupNearestSymbolFrom<cuda::KernelOp>(launch, launch.getKernelAttr());
      json::Array pointers;
      for (Value operand : launch.getOperands())
        pointers.push_back(json::Object{{"slot", slotJson(operand)}, {"offset", 0}});
      json::Object step{{"kind", "launch"},
                        {"kernel", kernel.getSymName()},
                        {"group", addGroup(kernel.getGroup())},
                        {"grid", static_cast<int64_t>(kernel.getBlocks())},
                        {"block", static_cast<int64_t>(kernel.getThreads())},
                        {"pointers", std::move(pointers)},
                        {"source", sourceOf(launch.getLoc())}};
      if (std::optional<llvm::APFloat> predicted = kernel.getPredictedUs())
        step["predicted_us"] = predicted->convertToDouble();
      if (std::optional<uint64_t> sent = kernel.getSentBytes())
        step["sent_bytes"] = static_cast<int64_t>(*sent);
      steps.push_back(std::move(step));
    } else if (auto call = dyn_cast<cuda::LibraryCallOp>(op)) {
      steps.push_back(libraryStep(call));
    } else if (auto transfer = dyn_cast<cuda::TransferOp>(op)) {
      steps.push_back(json::Object{{"kind", "transfer"},
                                   {"group", addGroup(transfer.getGroup())},
                                   {"dtype", *describe(cast<MemRefType>(transfer.getOperands().front().getType())).getString("dtype")},
                                   {"calls", callList(transfer.getOperands(), transfer.getCalls(), /*transfer=*/true)},
                                   {"source", sourceOf(transfer.getLoc())}});
    } else if (auto call = dyn_cast<aten::CallOp>(op)) {
      steps.push_back(callStep(call));
    } else if (auto read = dyn_cast<cuda::HostReadOp>(op)) {
      steps.push_back(json::Object{{"kind", "host_read"},
                                   {"from", slotOf.lookup(read.getSource())},
                                   {"to", slotOf.lookup(read.getResult())},
                                   {"source", sourceOf(read.getLoc())}});
    } else if (auto copy = dyn_cast<memref::CopyOp>(op)) {
      steps.push_back(copyStep(cast<MemRefType>(copy.getTarget().getType()), slotOf.lookup(copy.getSource()), slotOf.lookup(copy.getTarget()),
                               sourceOf(copy.getLoc())));
    } else if (!isa<cuda::AbsentOp, cuda::BitcastOp, memref::AllocOp, memref::ReinterpretCastOp, memref::GetGlobalOp, func::ReturnOp>(op)) {
      return op.emitOpError() << "has no form in the host plan";
    }
  }
  for (json::Value &step : endSteps)
    steps.push_back(std::move(step));
  return success();
}

void ManifestBuilder::addKernels() {
  for (auto kernel : module.getOps<cuda::KernelOp>()) {
    region = std::max<int64_t>(region, kernel.getRegionBytes());
    kernels.push_back(json::Object{{"name", kernel.getSymName()},
                                   {"block", static_cast<int64_t>(kernel.getThreads())},
                                   {"min_blocks", static_cast<int64_t>(kernel.getMinBlocks())},
                                   {"grid", json::Array{static_cast<int64_t>(kernel.getBlocks()), static_cast<int64_t>(kernel.getBlocks())}},
                                   {"ranks", static_cast<int64_t>(kernel.getRanks())},
                                   {"pointers", static_cast<int64_t>(kernel.getPointers())},
                                   {"mechanism", xfer::stringifyMechanism(kernel.getMechanism())}});
    kernel.walk([&](cuda::SitedOpInterface op) {
      sites.push_back(json::Object{{"id", op.getSiteNumber()},
                                   {"kernel", kernel.getSymName()},
                                   {"primitive", op->getName().stripDialect()},
                                   {"source", sourceOf(op.getLoc())}});
    });
  }
}

/// What a rank needs to know of its program.
FailureOr<json::Object> ManifestBuilder::buildProgram(func::FuncOp function) {
  slotOf.clear();
  roomOf.clear();
  outputOf.clear();
  for (json::Array *list : {&slots, &steps, &endSteps, &arguments, &outputs})
    list->clear();
  workspace = 0;
  if (failed(collectOutputs(function)) || failed(collectSlots(function)) || failed(collectSteps(function)))
    return failure();
  copies[function.getName().str()] = llvm::count_if(steps, [](const json::Value &step) { return step.getAsObject()->getString("kind") == "copy"; });
  json::Object program{{"arguments", std::move(arguments)},
                       {"outputs", std::move(outputs)},
                       {"slots", std::move(slots)},
                       {"steps", std::move(steps)},
                       {"workspace_bytes", workspace}};
  if (aten::ProgramAttr from = provenanceOf(function)) {
    program["input_tree"] = treeToJson(from.getInputs());
    program["output_tree"] = treeToJson(from.getOutputs());
  }
  return program;
}

aten::ProgramAttr pkb::provenanceOf(func::FuncOp function) {
  auto own = function->getAttrOfType<aten::ProgramAttr>(aten::kProgramAttrName);
  auto module = function->getParentOfType<ModuleOp>();
  return own ? own : module->getAttrOfType<aten::ProgramAttr>(aten::kProgramAttrName);
}

FailureOr<json::Object> ManifestBuilder::build() {
  auto functions = module.getOps<func::FuncOp>();
  if (functions.empty())
    return module.emitError() << "module must have a function @main to be emitted";
  json::Object manifest;
  json::Array programs;
  for (func::FuncOp function : functions) {
    FailureOr<json::Object> program = buildProgram(function);
    if (failed(program))
      return failure();
    if (DenseI64ArrayAttr ranks = comm::getRanks(function)) {
      (*program)["ranks"] = json::Array(ranks.asArrayRef());
      programs.push_back(std::move(*program));
    } else {
      manifest = std::move(*program);
    }
  }
  if (!programs.empty())
    manifest["programs"] = std::move(programs);
  addKernels();
  comm::MeshAttr mesh = comm::getMesh(module);
  manifest["schema"] = "pkb-manifest";
  manifest["version"] = json::Array{PKB_MANIFEST_MAJOR, PKB_MANIFEST_MINOR};
  manifest["world_size"] = mesh ? mesh.getSize() : 1;
  manifest["groups"] = std::move(groups);
  manifest["kernels"] = std::move(kernels);
  manifest["region_bytes"] = region;
  manifest["sites"] = std::move(sites);
  manifest["guards"] = json::Array{};
  manifest["remarks"] = json::Array{};
  if (aten::ProgramAttr from = provenanceOf(*functions.begin())) {
    manifest["name"] = from.getFunction();
    manifest["bundle"] = from.getBundle();
    manifest["capture"] = from.getCapture();
    manifest["torch"] = from.getTorch();
  } else {
    manifest["name"] = "main";
    manifest["bundle"] = nullptr;
  }
  return manifest;
}
