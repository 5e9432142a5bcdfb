#include "runtime/subprocess.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "runtime/file.h"

namespace sinter::runtime {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  FileDescriptor read_end, write_end;

  bool open() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    read_end = FileDescriptor(ends[0]);
    write_end = FileDescriptor(ends[1]);
    return fcntl(read_end.get(), F_SETFL, O_NONBLOCK) == 0;
  }
};

/// Our environment with the command's changes, in the form that posix_spawn takes.
std::vector<std::string> environment_of(const Command& command) {
  std::vector<std::string> entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto replaces = [&](const auto& change) {
      return text.starts_with(change.first) && text.substr(change.first.size()).starts_with('=');
    };
    if (std::none_of(command.environment.begin(), command.environment.end(), replaces))
      entries.emplace_back(text);
  }
  for (const auto& [name, value] : command.environment) entries.push_back(name + "=" + value);
  return entries;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

/// Starts the program and returns its process id, or zero with `failure` set.
pid_t start(const Command& command, int out, int err, std::string& failure) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, err, STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t signals;
  sigfillset(&signals);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);

  std::vector<std::string> arguments = command.arguments, environment = environment_of(command);
  pid_t child = 0;
  const int error = posix_spawn(&child, arguments.front().c_str(), &files, &attributes,
                                pointers(arguments).data(), pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error == 0) return child;
  failure = fmt::format("cannot start {}: {}", command.arguments.front(), std::strerror(error));
  return 0;
}

/// Collects both streams of one program: their beginnings in memory, all of it in a file once that is not
/// enough.
class Capture {
 public:
  Capture(const Command& command, Outcome& outcome) : command_(command), outcome_(outcome) {}

  /// Takes what there is to read. Returns false at the end of the stream.
  bool drain(const FileDescriptor& stream, std::string& kept) {
    std::array<char, 16384> chunk;
    while (!outcome_.flooded) {
      const ssize_t count = read(stream.get(), chunk.data(), chunk.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return errno == EAGAIN;
      if (count == 0) return false;
      take({chunk.data(), static_cast<std::size_t>(count)}, kept);
    }
    return true;
  }

 private:
  void take(std::string_view text, std::string& kept) {
    seen_ += text.size();
    if (seen_ > command_.most_bytes) outcome_.flooded = true;
    const std::size_t room = command_.kept_bytes - std::min(command_.kept_bytes, kept.size());
    if (text.size() > room && !log_) open_log();
    kept.append(text.substr(0, room));
    if (log_) write_all(log_.get(), text);  // a log that cannot be written is no reason to fail
  }

  void open_log() {
    const std::string& directory = command_.log_directory;
    std::string path = (directory.empty() ? temporary_directory() : directory) + "/sinter-log-XXXXXX";
    log_ = FileDescriptor(mkostemp(path.data(), O_CLOEXEC));
    if (!log_) return;
    outcome_.log = path;
    write_all(log_.get(), outcome_.out);
    write_all(log_.get(), outcome_.err);
  }

  const Command& command_;
  Outcome& outcome_;
  FileDescriptor log_;
  std::size_t seen_ = 0;
};

/// Waits until the program has ended, its output has been taken, or it has to be stopped.
void attend(const Command& command, pid_t child, Pipe& out, Pipe& err, Outcome& outcome) {
  Capture capture(command, outcome);
  // Readable once the child has ended. Without it (a kernel before 5.3) the child is asked every few
  // milliseconds.
  const FileDescriptor ended(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  const auto deadline = Clock::now() + command.time_limit;
  bool out_open = true, err_open = true, running = true;
  while (running && !outcome.flooded) {
    using std::chrono::milliseconds;
    auto wait = ended ? milliseconds(60'000) : milliseconds(5);
    if (command.time_limit.count() > 0) {
      const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
      if (left.count() <= 0) {
        outcome.timed_out = true;
        return;
      }
      wait = std::min(wait, left);
    }
    std::array<pollfd, 3> watched{pollfd{out_open ? out.read_end.get() : -1, POLLIN, 0},
                                  pollfd{err_open ? err.read_end.get() : -1, POLLIN, 0},
                                  pollfd{ended.get(), POLLIN, 0}};
    if (poll(watched.data(), watched.size(), static_cast<int>(wait.count())) < 0 && errno != EINTR) return;
    siginfo_t status{};
    const int waited = waitid(P_PID, static_cast<id_t>(child), &status, WEXITED | WNOHANG | WNOWAIT);
    running = waited == 0 && status.si_pid == 0;
    if (out_open) out_open = capture.drain(out.read_end, outcome.out);
    if (err_open) err_open = capture.drain(err.read_end, outcome.err);
  }
}

void reap(pid_t child, Outcome& outcome) {
  int status = 0;
  pid_t waited = 0;
  do waited = waitpid(child, &status, 0);
  while (waited < 0 && errno == EINTR);
  if (waited != child)
    outcome.status_lost =
        true;  // SIGCHLD is ignored here, or another part of the program waits for any child
  else if (WIFEXITED(status))
    outcome.exit_code = WEXITSTATUS(status);
  else if (WIFSIGNALED(status))
    outcome.signal = WTERMSIG(status);
}

}  // namespace

Outcome run_program(const Command& command) {
  Outcome outcome;
  Pipe out, err;
  if (!out.open() || !err.open()) {
    outcome.failure =
        fmt::format("cannot start {}: no pipe: {}", command.arguments.front(), std::strerror(errno));
    return outcome;
  }
  const pid_t child = start(command, out.write_end.get(), err.write_end.get(), outcome.failure);
  if (child == 0) return outcome;
  out.write_end = FileDescriptor();
  err.write_end = FileDescriptor();
  attend(command, child, out, err, outcome);
  // The child has not been waited for yet, so that its number, which names the group, cannot have been given
  // away.
  kill(-child, SIGKILL);
  reap(child, outcome);
  return outcome;
}

std::string Outcome::describe() const {
  if (!failure.empty()) return failure;
  if (timed_out) return "did not end in time and was stopped";
  if (flooded) return "wrote without end and was stopped";
  if (status_lost) return "ended";
  if (signal != 0) return fmt::format("was ended by signal {} ({})", signal, strsignal(signal));
  return fmt::format("exited with {}", exit_code);
}

std::string quoted(const std::vector<std::string>& arguments) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  std::string line;
  for (const std::string& argument : arguments) {
    if (!line.empty()) line += ' ';
    if (!argument.empty() && argument.find_first_not_of(plain) == std::string::npos) {
      line += argument;
      continue;
    }
    line += '\'';
    for (const char c : argument) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

std::string find_program(const std::string& name) {
  const auto is_program = [](const std::string& path) {
    struct stat info {};
    return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
  };
  if (name.empty()) return "";
  if (name.find('/') != std::string::npos) return is_program(name) ? name : "";
  const char* search = std::getenv("PATH");
  std::string_view rest = search != nullptr ? search : "/usr/local/bin:/usr/bin:/bin";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    // An empty entry means the current directory, which is no place to look for a compiler.
    if (end > 0)
      if (std::string path = fmt::format("{}/{}", rest.substr(0, end), name); is_program(path)) return path;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return "";
}

}  // namespace sinter::runtime
