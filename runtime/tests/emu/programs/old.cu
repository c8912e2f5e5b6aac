/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What a program built with another version of the device header looks like from outside. */
#include <stdint.h>

extern "C" const uint32_t pkb_hooks_version;
const uint32_t pkb_hooks_version = 1;
extern "C" void pkb_bind_hooks(const void *) {}
