#include "tests/support/sandbox.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "ir/base/settings.h"

namespace sinter::testing {

namespace fs = std::filesystem;

TemporaryDirectory::TemporaryDirectory()
    : path_((fs::temp_directory_path() / "sinter-test-XXXXXX").string()) {
  if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("cannot make " + path_);
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string TemporaryDirectory::write(std::string_view name, std::string_view text) const {
  const std::string file = *this / name;
  std::ofstream(file, std::ios::binary) << text;
  return file;
}

std::string TemporaryDirectory::script(std::string_view name, std::string_view lines) const {
  const std::string file = write(name, "#!/bin/sh\n" + std::string(lines) + "\n");
  fs::permissions(file, fs::perms::owner_all);
  return file;
}

std::vector<std::string> TemporaryDirectory::names() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path_)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

namespace {
void set_variable(const std::string& name, const std::optional<std::string>& value) {
  if (value)
    setenv(name.c_str(), value->c_str(), 1);
  else
    unsetenv(name.c_str());
}
}  // namespace

ScopedEnvironment::ScopedEnvironment(std::initializer_list<Change> changes) {
  for (const auto& [name, value] : changes) {
    const char* old = std::getenv(name.c_str());
    before_[name] = old != nullptr ? std::optional<std::string>(old) : std::nullopt;
    set_variable(name, value);
  }
  reread_settings();
}

ScopedEnvironment::~ScopedEnvironment() {
  for (const auto& [name, value] : before_) set_variable(name, value);
  reread_settings();
}

CapturedLog::CapturedLog() {
  forget_warnings();
  before_ = set_log_sink([this](std::string_view line) {
    const std::lock_guard lock(mutex_);
    lines_.emplace_back(line);
  });
}

CapturedLog::~CapturedLog() {
  set_log_sink(before_);
}

std::vector<std::string> CapturedLog::lines() const {
  const std::lock_guard lock(mutex_);
  return lines_;
}

int CapturedLog::count(std::string_view text) const {
  const auto all = lines();
  return static_cast<int>(std::count_if(
      all.begin(), all.end(), [&](const std::string& line) { return line.find(text) != std::string::npos; }));
}

std::string CapturedLog::text() const {
  std::string text;
  for (const std::string& line : lines()) text += line + "\n";
  return text;
}

int in_child(const std::function<int()>& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot fork");
  if (child == 0) {
    std::signal(SIGALRM, [](int) { _exit(98); });
    alarm(60);
    try {
      _exit(body());
    } catch (const std::exception& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
      _exit(99);
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool mount_tmpfs(const std::string& directory, const std::string& options, unsigned long flags) {
  static const bool separated =
      unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
  return separated && mount("tmpfs", directory.c_str(), "tmpfs", flags, options.c_str()) == 0;
}

bool become_other_user() {
  constexpr unsigned nobody = 65534;
  return setgid(nobody) == 0 && setuid(nobody) == 0;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace sinter::testing
