//===- ExportedRecord.h - a graph of torch.export as a record ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_FRONTEND_EXPORTEDRECORD_H
#define LIB_FRONTEND_EXPORTEDRECORD_H

#include "dialects/Aten/IR/Aten.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <map>
#include <string>
#include <vector>

namespace pkb::frontend {

/// Turns the nodes of a graph into the events of docs/Rationale/Bundle.md. The
/// graph names tensors and says their layout, but not which ones share memory:
/// that follows from the operators, of which views are known by name.
class RecordBuilder {
public:
  explicit RecordBuilder(const llvm::json::Object &graph) : graph(graph) {}

  /// Says that tensor `name` is an argument.
  llvm::Error addInput(llvm::StringRef name);
  /// Says that tensor `name` lies in a constant storage: `key` is its name in the
  /// archive, the same for tensors that share it.
  llvm::Error addConstant(llvm::StringRef name, const std::string &key,
                          const std::string &hash, llvm::StringRef bytes);
  /// Reads all nodes.
  llvm::Error readNodes();
  /// Overwrites the argument `target` with `source` at the end.
  llvm::Error overwrite(llvm::StringRef target, llvm::StringRef source);

  /// The id of a tensor that is there already.
  llvm::Expected<int64_t> getTensor(llvm::StringRef name) const;
  bool hasCollectives() const { return collectives > 0; }
  int64_t getGroupSize() const { return groupSize; }
  llvm::StringMap<std::string> takeMembers() { return std::move(members); }
  /// rank<k>.json.
  llvm::json::Value takeJson(llvm::json::Value inputs, llvm::json::Value outputs);

private:
  /// How a tensor lies in its storage.
  struct Layout {
    aten::ScalarType dtype = aten::ScalarType::Float32;
    std::vector<int64_t> sizes, strides;
    int64_t offset = 0;
    bool isContiguous() const;
    int64_t getEnd() const; // bytes from the start of the storage
  };
  using Node = llvm::json::Object;

  llvm::Expected<Layout> readLayout(llvm::StringRef name) const;
  int64_t addStorage(int64_t bytes, llvm::StringRef origin);
  int64_t addTensor(const Layout &layout, int64_t storage);
  /// A tensor in memory of its own.
  int64_t addFresh(const Layout &layout, llvm::StringRef origin);
  llvm::Expected<int64_t> defineFresh(llvm::StringRef name);
  llvm::Expected<int64_t> defineView(llvm::StringRef name, int64_t of);

  llvm::Error readNode(const Node &node);
  llvm::Error readOp(const Node &node, llvm::StringRef space, llvm::StringRef op,
                     llvm::StringRef overload);
  llvm::Expected<bool> isView(const Node &node, llvm::StringRef op,
                              int64_t operand, llvm::StringRef result) const;
  llvm::Error readCollective(const Node &node, llvm::StringRef op);
  llvm::Error addCollective(llvm::json::Object event, int64_t input,
                            llvm::StringRef result, llvm::StringRef target);
  llvm::Error checkGroup(const Node &node);
  llvm::Expected<llvm::json::Value> readArgument(const Node &argument) const;
  int64_t addSite(const Node &node);

  const llvm::json::Object &graph;
  llvm::json::Array storages, tensors, literals, events, sites;
  std::vector<int64_t> storageBytes, storageOf; // by storage, by tensor
  std::vector<bool> isConstant;                 // by storage
  std::vector<Layout> layouts;                  // by tensor
  std::map<std::tuple<int64_t, aten::ScalarType, std::vector<int64_t>,
                      std::vector<int64_t>, int64_t>,
           int64_t>
      tensorOfLayout; // by storage, dtype, sizes, strides, offset
  llvm::StringMap<int64_t> tensorOf;            // by name
  std::map<std::string, int64_t> constants;     // storages by key
  std::map<std::pair<std::string, int64_t>, int64_t> siteOf;
  llvm::StringMap<std::string> members;
  int64_t collectives = 0, groupSize = 0;
};

} // namespace pkb::frontend

#endif // LIB_FRONTEND_EXPORTEDRECORD_H
