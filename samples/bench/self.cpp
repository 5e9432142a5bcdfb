#include "samples/bench/self.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>

extern char** environ;

namespace bench {
namespace {

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& changes) {
  std::vector<std::string> texts;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    if (!changes.contains(text.substr(0, text.find('=')))) texts.push_back(text);
  }
  for (const auto& [name, value] : changes) texts.push_back(name + "=" + value);
  return texts;
}

std::string read_to_end(int file) {
  std::string text;
  std::array<char, 4096> part{};
  for (;;) {
    const ssize_t got = ::read(file, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

std::string run_self(const std::vector<std::string>& arguments,
                     const std::map<std::string, std::string>& environment) {
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) throw std::runtime_error("cannot make a pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, pipe[0]);
  posix_spawn_file_actions_addclose(&actions, pipe[1]);
  std::vector<std::string> command{"sinter"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = environment_with(environment);
  pid_t child = 0;
  const int error = posix_spawn(&child, "/proc/self/exe", &actions, nullptr, pointers_to(command).data(),
                                pointers_to(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  ::close(pipe[1]);
  const std::string text = error == 0 ? read_to_end(pipe[0]) : std::string();
  ::close(pipe[0]);
  int status = 0;
  if (error != 0) throw std::runtime_error("cannot start another process");
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw std::runtime_error("a process of this program failed");
  return text;
}

}  // namespace bench
