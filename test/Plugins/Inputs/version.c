// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A plugin's entry point without a plugin: says what API and which pkb it was built for.
#include <stdint.h>
struct Info {
  uint32_t api;
  const char *name, *version;
  void (*add)(void);
};
static void nothing(void) {}
struct Info mlirGetPassPluginInfo(void) {
  struct Info info = {API, "version", VERSION, nothing};
  return info;
}
#ifdef MISSING
void notInAnyTool(void);
void (*const needed)(void) = notInAnyTool;
#endif
