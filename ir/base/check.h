// Raising errors. Checks stay on in release builds.
#pragma once

#include <fmt/format.h>

#include "sinter/error.h"

namespace sinter {

/// Throws an error of kind E with a formatted message.
template <class E, class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) {
  throw E(fmt::format(text, std::forward<Args>(args)...));
}

/// Throws InternalError unless `condition`; for what sinter itself must guarantee.
#define SINTER_ASSERT(condition, ...)                                                                        \
  do {                                                                                                       \
    if (!(condition)) [[unlikely]]                                                                           \
      ::sinter::fail<::sinter::InternalError>("{}:{}: {} does not hold: {}", __FILE__, __LINE__, #condition, \
                                              fmt::format(__VA_ARGS__));                                     \
  } while (false)

}  // namespace sinter
