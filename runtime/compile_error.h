// What the user reads when generated code does not compile.
#pragma once

#include <string>
#include <string_view>

namespace sinter::runtime {

struct FirstError {
  std::string message;  // the compiler's line, or the first line it wrote if none looks like an error
  int line = 0;         // in the source; zero if it names none
  std::string code;     // that line of the source
};

/// Finds the first error in what a compiler wrote about the file `path`, whose text is `source`.
FirstError find_first_error(std::string_view output, std::string_view path, std::string_view source);

/// Name of the file a kernel's source stands in, without an ending: the kernel's name as far as it is a plain
/// word.
std::string file_stem(const std::string& kernel);

}  // namespace sinter::runtime
