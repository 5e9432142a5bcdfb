// The text of codegen/prelude/*.inc as the build put it into the library.
#pragma once

#include <span>
#include <string_view>

namespace sinter::codegen {

struct PreludeFile {
  std::string_view name, text;
};

/// The files, in an order in which everything is defined before it is used.
extern const std::span<const PreludeFile> prelude_files;

}  // namespace sinter::codegen
