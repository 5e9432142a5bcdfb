// An environment variable set for the length of a test.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

#include "ir/base/settings.h"

namespace sinter::testing {

/// Sets a variable and reads the settings again, and undoes both at the end.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value, 1);
    reread_settings();
  }
  ~Environment() {
    if (before_)
      ::setenv(name_, before_->c_str(), 1);
    else
      ::unsetenv(name_);
    reread_settings();
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace sinter::testing
