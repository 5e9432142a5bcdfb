// Running another program and hearing what it says.
//
// A program is started by its argument list, never through a shell, in a process group of its own, with
// default signal dispositions, standard input from /dev/null and no other open file. When its time is over or
// its output passes all bounds, the whole group is killed; whatever the group leaves running after the
// program itself has ended is killed too. Safe to call from several threads.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sinter::runtime {

struct Command {
  std::vector<std::string> arguments;                              // the first is the path of the program
  std::vector<std::pair<std::string, std::string>> environment{};  // added to ours, or in place of ours
  std::chrono::milliseconds time_limit{0};                         // none if zero
  std::size_t kept_bytes =
      64 << 10;  // of each stream, its beginning; the whole goes to a file if there is more
  std::size_t most_bytes = 64 << 20;  // of both streams together; a program that writes more is killed
  std::string log_directory{};        // where such a file is put; empty for the directory of temporary files
};

struct Outcome {
  std::string failure;  // why the program could not be started; empty if it was
  int exit_code = -1;   // valid if it exited by itself
  int signal = 0;       // the signal that ended it, or zero
  bool timed_out = false, flooded = false;
  bool status_lost = false;  // somebody else in this process has waited for it, so how it ended is not known
  std::string out, err;      // the beginnings of what it wrote
  std::string log;           // path of a file with all it wrote, where `out` or `err` are cut

  /// It ran to its end and exited with 0, as far as can be known.
  bool ok() const { return failure.empty() && !timed_out && !flooded && (status_lost || exit_code == 0); }
  /// How it ended, in words: "exited with 1", "was stopped after 60 s", ...
  std::string describe() const;
};

Outcome run_program(const Command& command);

/// The command as one would type it, with quotes where a shell needs them.
std::string quoted(const std::vector<std::string>& arguments);

/// The file that `name` means to execvp: itself if it has a slash, else the first executable of that name on
/// PATH. Empty if there is none.
std::string find_program(const std::string& name);

}  // namespace sinter::runtime
