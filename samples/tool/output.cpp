#include "samples/tool/output.h"

#include <sinter/error.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

namespace tool {

void print(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0)
    throw sinter::ValueError(std::string("standard output cannot be written to: ") + std::strerror(errno));
}

}  // namespace tool
