//===- OptMain.cpp - what pkb-opt does ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pkb/Driver/OptMain.h"
#include "Placeless.h"
#include "pkb/Driver/ArtefactOutput.h"
#include "pkb/Driver/DumpDir.h"
#include "pkb/Driver/Explain.h"
#include "pkb/Frontend/ImportBundle.h"
#include "pkb/Target/CudaEmitter.h"
#include "dialects/Comm/IR/Comm.h"
#include "dialects/Xfer/IR/Xfer.h"
#include "passes/Contract/Passes.h"
#include "runtime/lib/OutputFile.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace pkb;

static int fail(const Twine &message) {
  llvm::WithColor::error(llvm::errs(), "pkb-opt") << message << "\n";
  return 1;
}

static EmitKind resolve(const OptRequest &request) {
  if (request.emit != EmitKind::Auto)
    return request.emit;
  StringRef extension = llvm::sys::path::extension(request.output);
  if (extension == ".cu")
    return EmitKind::Cuda;
  if (extension == ".pkx")
    return EmitKind::Artefact;
  if (extension == ".mlirbc")
    return EmitKind::Bytecode;
  return EmitKind::Mlir;
}

/// The message for an output, if there is a reason why it was not written; the exit status.
static int checkWritten(StringRef path, const std::string &why) {
  return why.empty() ? 0 : fail("cannot write output '" + path + "': " + why);
}

/// Writes `text` to standard output, or to a file whole or not at all.
static int writeOutput(StringRef path, StringRef text) {
  std::string why;
  if (path == "-") {
    llvm::outs() << text;
    llvm::outs().flush();
    if (std::error_code code = llvm::outs().error())
      why = code.message();
    llvm::outs().clear_error(); // which would end the process with a second message
  } else {
    why = pkb_rt::writeWholeFile(path.str(), text);
  }
  return checkWritten(path, why);
}

/// Whether every file that is asked for can be written, as far as that shows before; the exit status.
static int checkOutputs(const OptRequest &request) {
  for (const std::string &path : {request.output, request.explainOutput})
    if (!path.empty() && path != "-")
      if (int status = checkWritten(path, pkb_rt::whyNotWritable(path)))
        return status;
  return 0;
}

std::vector<std::string> pkb::passTargetFile(int argc, char **argv,
                                             std::string &error) {
  std::vector<std::string> arguments(argv, argv + argc);
  std::string file, *pipeline = nullptr;
  for (size_t i = 1; i < arguments.size(); ++i) {
    StringRef argument = StringRef(arguments[i]).ltrim('-');
    if (argument == "target-file" && i + 1 < arguments.size())
      file = arguments[i + 1];
    else if (argument.consume_front("target-file="))
      file = argument.str();
    else if (argument == "pkb-pipeline" || argument.starts_with("pkb-pipeline="))
      pipeline = &arguments[i];
  }
  if (!file.empty() && !pipeline)
    error = "--target-file needs --pkb-pipeline=target=<machine>x<ranks>";
  if (file.find_first_of(" {}'\"") != std::string::npos)
    error = "--target-file must not contain spaces, quotes or braces, got: " + file;
  if (!file.empty() && pipeline)
    *pipeline += (StringRef(*pipeline).contains('=') ? " " : "=") +
                 ("target-file=" + file);
  return arguments;
}

/// A copy that is aligned as the sections of bytecode must be.
static std::unique_ptr<llvm::MemoryBuffer> alignBytecode(StringRef bytes,
                                                         StringRef name) {
  auto buffer = llvm::WritableMemoryBuffer::getNewUninitMemBuffer(
      bytes.size(), name, llvm::Align(4096));
  std::copy(bytes.begin(), bytes.end(), buffer->getBufferStart());
  return buffer;
}

/// The input file, or all files of a folder of programs by rank.
static llvm::Expected<SmallVector<std::unique_ptr<llvm::MemoryBuffer>>>
openInput(StringRef input) {
  SmallVector<std::string> paths;
  if (llvm::sys::fs::is_directory(input)) {
    auto pathOf = [&](size_t rank) {
      SmallString<128> path(input);
      llvm::sys::path::append(path, "rank" + Twine(rank) + ".pt2");
      return std::string(path);
    };
    while (llvm::sys::fs::exists(pathOf(paths.size())))
      paths.push_back(pathOf(paths.size()));
    if (paths.empty())
      return llvm::createStringError("folder '" + input +
                                     "' must hold rank0.pt2, rank1.pt2, ...");
  } else {
    paths.push_back(input.str());
  }
  SmallVector<std::unique_ptr<llvm::MemoryBuffer>> files;
  for (const std::string &path : paths) {
    auto file = llvm::MemoryBuffer::getFileOrSTDIN(path);
    if (std::error_code code = file.getError())
      return llvm::createStringError("cannot open input '" + path +
                                     "': " + code.message());
    files.push_back(std::move(*file));
  }
  return std::move(files);
}

/// A bundle becomes bytecode of its L1 module, so that the rest of the tool
/// sees one kind of input.
static llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
importToBytecode(ArrayRef<std::unique_ptr<llvm::MemoryBuffer>> files,
                 const OptRequest &request, DialectRegistry &registry) {
  MLIRContext context(registry);
  StringRef path = request.input;
  SmallVector<StringRef> bytes;
  for (const auto &file : files)
    bytes.push_back(file->getBuffer());
  auto module = importBundle(bytes, path, request.worldSize, context);
  if (!module)
    return module.takeError();
  std::string bytecode;
  llvm::raw_string_ostream os(bytecode);
  if (failed(writeBytecodeToFile(module->get(), os)))
    return llvm::createStringError("cannot write the imported module");
  return alignBytecode(bytecode, path);
}

/// What the files say of the user's lines. They were imported before, so they can be read.
static SourceLines sourceLinesOf(ArrayRef<std::unique_ptr<llvm::MemoryBuffer>> files, const OptRequest &request) {
  SmallVector<StringRef> bytes;
  for (const auto &file : files)
    bytes.push_back(file->getBuffer());
  return llvm::cantFail(readSourceLines(bytes, request.worldSize));
}

/// True for a module of level L1 or L2.
static bool isAboveCuda(ModuleOp module) {
  return module.walk([](Operation *op) {
    return isa_and_nonnull<comm::CommDialect, xfer::XferDialect>(op->getDialect()) ? WalkResult::interrupt() : WalkResult::advance();
  }).wasInterrupted();
}

/// Prints the module in `bytecode` as CUDA. If it is `quiet`, a module that is not lowered so far is a failure without a message.
static FailureOr<EmittedProgram> emitCudaFrom(StringRef bytecode,
                                              StringRef path,
                                              DialectRegistry &registry,
                                              bool quiet) {
  MLIRContext context(registry);
  std::optional<ScopedDiagnosticHandler> silence;
  if (quiet)
    silence.emplace(&context, [](Diagnostic &) { return success(); });
  ParserConfig config(&context, /*verifyAfterParse=*/false);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(alignBytecode(bytecode, path), llvm::SMLoc());
  auto module = parseSourceFile<ModuleOp>(sources, config);
  if (!module)
    return failure();
  if (isAboveCuda(*module)) // one line, and not one for each operation
    return failure();
  // The emitter prints what its gate lets pass, and nothing else.
  PassManager gate(&context);
  gate.addPass(createVerifyCudaEmittablePass());
  if (failed(gate.run(*module)))
    return failure();
  return emitProgram(*module);
}

/// Writes the text, and beside it the constants if there are any.
static int writeProgram(const EmittedProgram &program, StringRef output) {
  if (!program.data.empty()) {
    if (output == "-")
      return fail("the program has constants, which need a file beside it; name "
                  "an output file with -o X.cu");
    // Both before either is put in place: each is of no use with another's.
    std::string dataPath = output.str() + ".data";
    pkb_rt::OutputFile data(dataPath), text(output.str());
    int status = checkWritten(dataPath, data.write(program.data));
    if (!status)
      status = checkWritten(output, text.write(program.text));
    if (!status)
      status = checkWritten(dataPath, data.keep());
    return status ? status : checkWritten(output, text.keep());
  }
  return writeOutput(output, program.text);
}

/// True if a pass of `manager` chooses mechanisms.
static bool choosesMechanisms(PassManager &manager) {
  return llvm::any_of(manager.getPasses(), [](Pass &pass) { return pass.getArgument() == "pkb-select-mechanism"; });
}

/// Makes the passes of `config` explain themselves. The error says why that cannot be.
static llvm::Error listenTo(MlirOptMainConfig &config, Explanation &explanation) {
  if (config.shouldEmitRemarks())
    return llvm::createStringError("--explain gathers all remarks; leave out --remarks-filter and the like");
  if (!config.inputSplitMarker().empty())
    return llvm::createStringError("--explain is for one program; leave out --split-input-file");
  MlirOptMainConfig plain = config;
  config.setPassPipelineSetupFn([&explanation, plain](PassManager &manager) -> LogicalResult {
    if (failed(plain.setupPassPipeline(manager)))
      return failure();
    if (!choosesMechanisms(manager)) {
      fail("--explain needs passes that choose mechanisms: --pkb-pipeline=target=<machine>x<ranks>");
      return failure();
    }
    return explanation.listen(*manager.getContext());
  });
  return llvm::Error::success();
}

/// Makes the passes of `config` leave the IR after each of them in a folder. Sets `incomplete` if that fails on the way.
static llvm::Error dumpInto(MlirOptMainConfig &config, const std::string &folder, bool &incomplete) {
  if (!config.inputSplitMarker().empty())
    return llvm::createStringError("--dump-dir is for one program; leave out --split-input-file");
  if (llvm::Error error = prepareDumpFolder(folder))
    return error;
  MlirOptMainConfig plain = config;
  config.setPassPipelineSetupFn([folder, plain, &incomplete](PassManager &manager) -> LogicalResult {
    dumpAfterEachPass(manager, folder, incomplete);
    return plain.setupPassPipeline(manager);
  });
  return llvm::Error::success();
}

/// Why a filter of remarks is none. MLIR passes over one that it cannot read, and shows nothing.
static llvm::Error checkFilters(const MlirOptMainConfig &config) {
  std::pair<StringRef, std::string> filters[] = {{"--remarks-filter", config.getRemarksAllFilter()},
                                                 {"--remarks-filter-passed", config.getRemarksPassedFilter()},
                                                 {"--remarks-filter-missed", config.getRemarksMissedFilter()},
                                                 {"--remarks-filter-failed", config.getRemarksFailedFilter()},
                                                 {"--remarks-filter-analyse", config.getRemarksAnalyseFilter()}};
  for (const auto &[option, filter] : filters)
    if (std::string why; !filter.empty() && !llvm::Regex(filter).isValid(why))
      return llvm::createStringError(option + "=" + filter + " is no regular expression: " + why);
  return llvm::Error::success();
}

/// Makes what the passes of `config` say about no line of the program, but about an option, name the tool.
static void nameTool(MlirOptMainConfig &config) {
  if (config.shouldVerifyDiagnostics()) // whose handler must see all
    return;
  MlirOptMainConfig plain = config;
  config.setPassPipelineSetupFn([plain](PassManager &manager) -> LogicalResult {
    nameToolWherePlaceless(*manager.getContext(), "pkb-opt");
    return plain.setupPassPipeline(manager);
  });
}

static int writeExplanation(const Explanation &explanation, const OptRequest &request) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (request.explain == ExplainKind::Json)
    os << llvm::formatv("{0:2}", explanation.toJson()) << "\n";
  else
    explanation.printTable(os);
  if (request.explainOutput.empty()) {
    llvm::errs() << text;
    return 0;
  }
  return writeOutput(request.explainOutput, text);
}

int pkb::runOpt(const OptRequest &request, DialectRegistry &registry,
                const MlirOptMainConfig &requested) {
  StringRef extension = llvm::sys::path::extension(request.output);
  if (request.emit == EmitKind::Auto &&
      !llvm::is_contained({"", ".cu", ".pkx", ".mlir", ".mlirbc"}, extension))
    return fail("cannot write '" + request.output +
                "': what is written has the extension .cu, .pkx, .mlir or "
                ".mlirbc, or is named by --emit");
  EmitKind emit = resolve(request);
  MlirOptMainConfig config = requested;
  if (llvm::Error error = checkFilters(config))
    return fail(llvm::toString(std::move(error)));
  if (emit != EmitKind::Mlir)
    config.emitBytecode(true);
  nameTool(config);
  bool emitsCuda = emit == EmitKind::Cuda || emit == EmitKind::Artefact;
  if (emit == EmitKind::Artefact && request.output == "-")
    return fail("an artefact is not written to standard output; name a file "
                "with -o X.pkx");
  if (emitsCuda && !config.inputSplitMarker().empty())
    return fail("a split input cannot be emitted as CUDA; emit MLIR, or leave "
                "out --split-input-file");

  if (int status = checkOutputs(request))
    return status;
  auto files = openInput(request.input);
  if (!files)
    return fail(llvm::toString(files.takeError()));
  Explanation explanation(request.input);
  if (request.explain != ExplainKind::None)
    if (llvm::Error error = listenTo(config, explanation))
      return fail(llvm::toString(std::move(error)));
  bool incompleteDump = false;
  if (!request.dumpFolder.empty())
    if (llvm::Error error = dumpInto(config, request.dumpFolder, incompleteDump))
      return fail(llvm::toString(std::move(error)));
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  StringRef bundle;
  if (looksLikeBundle(files->front()->getBuffer()) || files->size() > 1) {
    auto imported = importToBytecode(*files, request, registry);
    if (!imported)
      return fail(llvm::toString(imported.takeError()));
    buffer = std::move(*imported);
    if (request.explain != ExplainKind::None)
      explanation.setSourceLines(sourceLinesOf(*files, request));
    if (files->size() == 1) // programs of torch.export carry no source
      bundle = files->front()->getBuffer();
  } else if (llvm::is_contained({".pkb", ".pt2"},
                                llvm::sys::path::extension(request.input))) {
    return fail("bundle '" + request.input +
                "' is not a zip file (empty or damaged); export it again");
  } else if (request.worldSize) {
    return fail("--world-size is for a .pt2 file, got: '" + request.input + "'");
  } else if (std::string why = whyNoModule(files->front()->getBuffer(), request.input); !why.empty()) {
    return fail(why);
  } else {
    buffer = std::move(files->front());
  }

  std::string text;
  llvm::raw_string_ostream os(text);
  if (failed(MlirOptMain(os, std::move(buffer), registry, config)) || incompleteDump)
    return 1;
  FailureOr<EmittedProgram> program = failure();
  if (emitsCuda || request.explain != ExplainKind::None)
    program = emitCudaFrom(text, request.input, registry, /*quiet=*/!emitsCuda);
  if (request.explain != ExplainKind::None) {
    if (succeeded(program))
      explanation.setCopies(program->copies);
    if (int status = writeExplanation(explanation, request))
      return status;
  }
  if (emitsCuda) {
    if (failed(program))
      return fail("cannot emit CUDA from '" + request.input +
                  "'; run the whole pipeline "
                  "(--pkb-pipeline=target=<machine>x<ranks>) first");
    if (emit == EmitKind::Cuda)
      return writeProgram(*program, request.output);
    if (llvm::Error error = writeArtefact(*program, bundle, request.output))
      return fail(llvm::toString(std::move(error)));
    return 0;
  }
  return writeOutput(request.output, text);
}
