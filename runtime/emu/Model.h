// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory model of proof mode (docs/Rationale/Emulator.md). Runs on the scheduler thread only.
#ifndef PKB_EMU_MODEL_H
#define PKB_EMU_MODEL_H

#include <cstdint>
#include <vector>

namespace pkb_emu_impl {

using VectorClock = std::vector<uint32_t>;
struct StoreBuffer {};
struct Thread {};
struct StreamModel {};
class Model {};

} // namespace pkb_emu_impl

#endif
