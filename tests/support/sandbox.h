// What tests of faults set up for themselves: directories, variables of the environment, scripts in place of
// programs, captured warnings, and child processes that may break their own world.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/base/log.h"

namespace sinter::testing {

/// A directory of the test's own, removed at its end.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory();

  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

  /// Writes a file and returns its path.
  std::string write(std::string_view name, std::string_view text) const;
  /// Writes an executable shell script of these lines and returns its path.
  std::string script(std::string_view name, std::string_view lines) const;
  /// Names of what lies in it, sorted.
  std::vector<std::string> names() const;

 private:
  std::string path_;
};

/// Sets variables (or removes them, where there is no value) as long as it lives; sinter's settings follow.
class ScopedEnvironment {
 public:
  using Change = std::pair<std::string, std::optional<std::string>>;
  ScopedEnvironment(std::initializer_list<Change> changes);
  ScopedEnvironment(const ScopedEnvironment&) = delete;
  ScopedEnvironment& operator=(const ScopedEnvironment&) = delete;
  ~ScopedEnvironment();

 private:
  std::map<std::string, std::optional<std::string>> before_;
};

/// Takes what sinter logs as long as it lives, and makes it warn anew.
class CapturedLog {
 public:
  CapturedLog();
  CapturedLog(const CapturedLog&) = delete;
  CapturedLog& operator=(const CapturedLog&) = delete;
  ~CapturedLog();

  std::vector<std::string> lines() const;
  /// Lines that contain the text.
  int count(std::string_view text) const;
  std::string text() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
  LogSink before_;
};

/// What a child returns when it lacks what it needs.
inline constexpr int child_cannot = 77;

/// Runs `body` in a forked child, which exits with what it returns (or 99 on an exception, 98 after a
/// minute). The child has no threads but this one, so nothing that uses the task pool may run in it.
int in_child(const std::function<int()>& body);

/// Gives the calling (child) process a mount namespace of its own and mounts a tmpfs with these options.
/// False if it may not.
bool mount_tmpfs(const std::string& directory, const std::string& options, unsigned long flags = 0);

/// Makes the calling (child) process one of another user without privileges. False if it may not.
bool become_other_user();

std::string read_text(const std::string& path);

}  // namespace sinter::testing
