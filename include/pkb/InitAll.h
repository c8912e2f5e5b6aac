//===- InitAll.h - registration of everything -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PKB_INITALL_H
#define PKB_INITALL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace pkb {

/// Adds our dialects and the upstream ones that our levels are made of.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Registers every pass family, the pipelines, and the upstream passes that
/// help when reading IR (canonicalize, cse, symbol-dce, …). Once per process.
void registerAllPasses();

} // namespace pkb

#endif // PKB_INITALL_H
