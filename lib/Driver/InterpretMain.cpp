// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- InterpretMain.cpp - what pkb-interpret does -------------------------===//

#include "pkb/Driver/InterpretMain.h"
#include "Placeless.h"

#include "pkb/Frontend/ImportBundle.h"
#include "pkb/Reference/Interpreter.h"
#include "pkb/Support/Error.h"

#include "runtime/lib/OutputFile.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Support/ToolUtilities.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace pkb;
using namespace pkb::reference;
namespace json = llvm::json;

namespace {

constexpr int kRight = 0, kWrong = 1, kBadInput = 2;

using Module = OwningOpRef<ModuleOp>;
using Outcome = std::vector<std::vector<Observed>>;

int fail(int status, const Twine &message) {
  llvm::WithColor::error(llvm::errs(), "pkb-interpret") << message << "\n";
  return status;
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> readFile(const std::string &path) {
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (std::error_code code = file.getError())
    return makeError("cannot open '", path, "': ", code.message());
  return std::move(*file);
}

/// A program from a bundle or from MLIR; `sources` keeps the text for messages.
llvm::Expected<Module> parse(std::unique_ptr<llvm::MemoryBuffer> buffer, const std::string &path, MLIRContext &context,
                             llvm::SourceMgr &sources) {
  if (looksLikeBundle(buffer->getBuffer()))
    return importBundle({buffer->getBuffer()}, path, /*worldSize=*/0, context);
  if (std::string why = whyNoModule(buffer->getBuffer(), path); !why.empty())
    return makeError(why);
  llvm::SourceMgr own;
  own.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(*buffer, /*RequiresNullTerminator=*/false), llvm::SMLoc());
  sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  Module module = parseSourceFile<ModuleOp>(own, ParserConfig(&context));
  if (!module)
    return makeError("cannot read '", path, "' as a module");
  return module;
}

/// One program, or two that must compute the same, from a file or a piece of it.
class Run {
public:
  Run(const InterpretRequest &request, std::string name, std::string outputs)
      : request(request), name(std::move(name)), outputs(std::move(outputs)) {}

  int run(ModuleOp program, ModuleOp other);

private:
  llvm::Expected<std::vector<RankInputs>> makeInputs(Interpreter &program, uint64_t seed);
  void print(const Outcome &outcome, uint64_t seed, int64_t call);
  llvm::Error write(const Outcome &outcome);

  const InterpretRequest &request;
  std::string name, outputs;
  int64_t compared = 0; // elements
};

} // namespace

llvm::Expected<std::vector<RankInputs>> Run::makeInputs(Interpreter &program, uint64_t seed) {
  if (request.inputs.empty())
    return program.randomInputs(seed, request.random);
  std::vector<RankInputs> inputs(program.worldSize());
  for (auto [rank, own] : llvm::enumerate(inputs))
    for (size_t index = 0; index < program.argumentTypes(rank).size(); ++index) {
      std::string path = (request.inputs + "/rank" + Twine(rank) + "." + Twine(index) + ".bin").str();
      auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
      if (std::error_code code = file.getError())
        return makeError("cannot open '", path, "': ", code.message());
      own.arguments.emplace_back((*file)->getBufferStart(), (*file)->getBufferEnd());
    }
  return inputs;
}

void Run::print(const Outcome &outcome, uint64_t seed, int64_t call) {
  for (auto [rank, tensors] : llvm::enumerate(outcome))
    for (const Observed &tensor : tensors) {
      auto type = cast<ShapedType>(tensor.type);
      int64_t count = tensor.defined ? type.getNumElements() : 0;
      std::string typeText;
      llvm::raw_string_ostream(typeText) << type;
      if (request.json) {
        json::Array elements;
        for (int64_t i = 0; i < std::min(count, request.print); ++i)
          elements.push_back(elementText(tensor, i));
        llvm::outs() << json::Value(json::Object{
                            {"program", name},
                            {"seed", static_cast<int64_t>(seed)},
                            {"call", call},
                            {"rank", static_cast<int64_t>(rank)},
                            {"name", tensor.name},
                            {"type", typeText},
                            {"defined", tensor.defined},
                            {"elements", std::move(elements)},
                            {"bytes", llvm::toHex(StringRef(tensor.bytes.data(), tensor.bytes.size()), true)}})
                     << "\n";
        continue;
      }
      llvm::outs() << "rank " << rank << " " << tensor.name << ": " << typeText;
      llvm::outs() << (tensor.defined ? " [" : " not defined");
      for (int64_t i = 0; i < std::min(count, request.print); ++i)
        llvm::outs() << (i ? ", " : "") << elementText(tensor, i);
      llvm::outs() << (count > request.print ? ", ..." : "") << (tensor.defined ? "]" : "") << "\n";
    }
}

llvm::Error Run::write(const Outcome &outcome) {
  if (std::error_code code = llvm::sys::fs::create_directories(outputs))
    return makeError("cannot make '", outputs, "': ", code.message());
  for (auto [rank, tensors] : llvm::enumerate(outcome))
    for (const Observed &tensor : tensors) {
      std::string stem = StringRef(tensor.name).starts_with("result") ? "result" : "argument";
      std::string path =
          (outputs + "/rank" + Twine(rank) + "." + stem + StringRef(tensor.name).rsplit(' ').second + ".bin").str();
      std::error_code code;
      llvm::raw_fd_ostream os(path, code);
      if (code)
        return makeError("cannot write '", path, "': ", code.message());
      os.write(tensor.bytes.data(), tensor.bytes.size());
      os.close();
      if (os.has_error()) {
        code = os.error();
        os.clear_error();
        return makeError("cannot write '", path, "': ", code.message());
      }
    }
  return llvm::Error::success();
}

int Run::run(ModuleOp program, ModuleOp other) {
  for (uint64_t seed = request.seed; seed < request.seed + request.seeds; ++seed) {
    RunOptions options{seed, request.aten};
    auto left = Interpreter::create(program, options);
    if (!left)
      return fail(kBadInput, name + ": " + llvm::toString(left.takeError()));
    std::unique_ptr<Interpreter> right;
    if (other) {
      auto made = Interpreter::create(other, options);
      if (!made)
        return fail(kBadInput, name + ", the other program: " + llvm::toString(made.takeError()));
      right = std::move(*made);
      if (right->worldSize() != (*left)->worldSize())
        return fail(kBadInput, name + " is for " + Twine((*left)->worldSize()) + " ranks and the other program for " +
                                   Twine(right->worldSize()));
    }
    for (int64_t call = 0; call < request.calls; ++call) {
      std::string where = (name + ": seed " + Twine(seed) + " call " + Twine(call) + ": ").str();
      auto inputs = makeInputs(**left, seed * 65536 + call);
      if (!inputs)
        return fail(kBadInput, name + ": " + llvm::toString(inputs.takeError()));
      auto outcome = (*left)->call(*inputs);
      if (!outcome)
        return fail(kWrong, where + llvm::toString(outcome.takeError()));
      if (call + 1 == request.calls && seed + 1 == request.seed + request.seeds && !outputs.empty())
        if (llvm::Error error = write(*outcome))
          return fail(kBadInput, llvm::toString(std::move(error)));
      if (!right) {
        print(*outcome, seed, call);
        continue;
      }
      auto second = right->call(*inputs);
      if (!second)
        return fail(kWrong, where + "the other program: " + llvm::toString(second.takeError()));
      if (std::string difference = firstDifference(*outcome, *second, request.ulps); !difference.empty())
        return fail(kWrong, where + difference);
      for (auto [mine, theirs] : llvm::zip_equal(*outcome, *second))
        for (auto [l, r] : llvm::zip_equal(mine, theirs))
          compared += l.defined && r.defined ? cast<ShapedType>(l.type).getNumElements() : 0;
    }
  }
  if (other)
    llvm::outs() << name << ": equal, " << compared << " elements, seeds " << request.seeds << ", calls "
                 << request.calls << "\n";
  return kRight;
}

/// Interprets one module, and the one to compare it with.
static int runPiece(const InterpretRequest &request, const std::string &name, const std::string &outputs,
                    std::unique_ptr<llvm::MemoryBuffer> text, DialectRegistry &registry) {
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler handler(sources, &context, llvm::errs());
  nameToolWherePlaceless(context, "pkb-interpret");
  auto program = parse(std::move(text), request.input, context, sources);
  if (!program)
    return fail(kBadInput, llvm::toString(program.takeError()));
  Module other;
  if (!request.against.empty()) {
    auto file = readFile(request.against);
    if (!file)
      return fail(kBadInput, llvm::toString(file.takeError()));
    auto parsed = parse(std::move(*file), request.against, context, sources);
    if (!parsed)
      return fail(kBadInput, llvm::toString(parsed.takeError()));
    other = std::move(*parsed);
  } else if (!request.lower.empty()) {
    other = cast<ModuleOp>((*program)->getOperation()->clone());
    std::string anchored = "builtin.module(" + request.lower + ")";
    FailureOr<OpPassManager> passes = parsePassPipeline(anchored);
    if (failed(passes))
      return fail(kBadInput, "'" + request.lower + "' is no list of passes");
    PassManager manager(&context);
    static_cast<OpPassManager &>(manager) = std::move(*passes);
    if (failed(manager.run(*other)))
      return fail(kBadInput, name + ": cannot be lowered by '" + request.lower + "'");
    if (OperationEquivalence::isEquivalentTo(**program, *other, OperationEquivalence::IgnoreLocations))
      return fail(kBadInput, name + ": '" + request.lower + "' changes nothing, so there is nothing to compare");
  }
  return Run(request, name, outputs).run(**program, other ? *other : ModuleOp());
}

int pkb::runInterpret(const InterpretRequest &request, DialectRegistry &registry) {
  if (!request.against.empty() && !request.lower.empty())
    return fail(kBadInput, "a program is compared with --against or with --lower, not both");
  if (request.seeds < 1 || request.calls < 1)
    return fail(kBadInput, "--seeds and --calls must be at least 1");
  if (request.ulps < 0 || request.print < 0 || request.random.limit < 0)
    return fail(kBadInput, "--ulps, --print and --int-limit must not be negative");
  if (request.seed + uint64_t(request.seeds) < request.seed)
    return fail(kBadInput, "--seed and --seeds end past the last seed, 18446744073709551615");
  if (!request.outputs.empty()) { // found now, and not after the run
    if (std::error_code code = llvm::sys::fs::create_directories(request.outputs))
      return fail(kBadInput, "cannot make '" + request.outputs + "': " + code.message());
    if (std::string why = pkb_rt::whyNotWritable(request.outputs + "/rank0.bin"); !why.empty())
      return fail(kBadInput, "cannot write into '" + request.outputs + "': " + why);
  }
  auto file = readFile(request.input);
  if (!file)
    return fail(kBadInput, llvm::toString(file.takeError()));
  if (!request.split)
    return runPiece(request, request.input, request.outputs, std::move(*file), registry);
  if (!request.against.empty())
    return fail(kBadInput, "--split-input-file compares with --lower, not with --against");
  int status = kRight, number = 0;
  SmallVector<StringRef> pieces;
  (*file)->getBuffer().split(pieces, kDefaultSplitMarker);
  for (StringRef piece : pieces) {
    std::string own = std::to_string(number++), name = request.input + " piece " + own;
    std::string outputs = request.outputs.empty() ? "" : request.outputs + "/" + own;
    status = std::max(
        status, runPiece(request, name, outputs, llvm::MemoryBuffer::getMemBufferCopy(piece, request.input), registry));
  }
  return status;
}
