#include "runtime/subprocess.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "tests/catch.h"
#include "tests/support/sandbox.h"

using namespace sinter::runtime;
using Catch::Matchers::ContainsSubstring;
using sinter::testing::read_text;
using sinter::testing::TemporaryDirectory;
using namespace std::chrono_literals;

namespace {

double seconds_of(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Outcome shell(const std::string& lines) {
  return run_program({{"/bin/sh", "-c", lines}});
}

}  // namespace

TEST_CASE("both streams and the exit code of a program are captured") {
  const Outcome outcome = shell("echo out; echo err >&2; exit 3");
  CHECK(outcome.failure.empty());
  CHECK_FALSE(outcome.ok());
  CHECK(outcome.exit_code == 3);
  CHECK(outcome.out == "out\n");
  CHECK(outcome.err == "err\n");
  CHECK(outcome.log.empty());
  CHECK(outcome.describe() == "exited with 3");
}

TEST_CASE("arguments reach the program as they are, without a shell") {
  const TemporaryDirectory directory;
  const std::string program = directory.script("show args", "for a in \"$@\"; do printf '[%s]' \"$a\"; done");
  const Outcome outcome = run_program({{program, "a b", "; rm -rf x", "$HOME", "'\"", ""}});
  CHECK(outcome.ok());
  CHECK(outcome.out == "[a b][; rm -rf x][$HOME]['\"][]");
}

TEST_CASE("a program that is not there is a failure in words") {
  const Outcome outcome = run_program({{"/nowhere/c++"}});
  CHECK_FALSE(outcome.ok());
  CHECK(outcome.describe() == "cannot start /nowhere/c++: No such file or directory");
}

TEST_CASE("a program that hangs is killed with its children when its time is over") {
  const TemporaryDirectory directory;
  Command command{{"/bin/sh", "-c", "sleep 100 & echo $! > " + directory.path() + "/pid; sleep 100"}};
  command.time_limit = 300ms;
  Outcome outcome;
  CHECK(seconds_of([&] { outcome = run_program(command); }) < 5);
  CHECK(outcome.timed_out);
  CHECK_FALSE(outcome.ok());
  const pid_t grandchild = std::stoi(read_text(directory / "pid"));
  for (int i = 0; i < 100 && kill(grandchild, 0) == 0; ++i) {
    // Killed, and perhaps not yet collected by init.
    if (read_text("/proc/" + std::to_string(grandchild) + "/stat").find(") Z") != std::string::npos) break;
    std::this_thread::sleep_for(20ms);
  }
  const std::string state = read_text("/proc/" + std::to_string(grandchild) + "/stat");
  CHECK((state.empty() || state.find(") Z") != std::string::npos));
}

TEST_CASE("a program that ignores signals is stopped all the same") {
  Command command{{"/bin/sh", "-c", "trap '' TERM INT HUP; while :; do sleep 0.05; done"}};
  command.time_limit = 200ms;
  CHECK(run_program(command).timed_out);
}

TEST_CASE("a child that keeps the pipe open does not keep the caller") {
  Outcome outcome;
  CHECK(seconds_of([&] { outcome = shell("echo done; sleep 100 &"); }) < 5);
  CHECK(outcome.ok());
  CHECK(outcome.out == "done\n");
}

TEST_CASE("a long log is cut, with the whole in a file") {
  const TemporaryDirectory directory;
  Command command{
      {"/bin/sh", "-c", "i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done; echo last >&2"}};
  command.kept_bytes = 100;
  command.log_directory = directory.path();
  const Outcome outcome = run_program(command);
  CHECK(outcome.ok());
  CHECK(outcome.out.size() == 100);
  REQUIRE_FALSE(outcome.log.empty());
  const std::string whole = read_text(outcome.log);
  CHECK_THAT(whole, ContainsSubstring("line 0\n") && ContainsSubstring("line 2999\n") &&
                        ContainsSubstring("last\n"));
  struct stat info {};
  REQUIRE(stat(outcome.log.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
}

TEST_CASE("a program that writes without end is stopped") {
  const TemporaryDirectory directory;
  Command command{{"/bin/sh", "-c", "while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done"}};
  command.most_bytes = 1 << 20;
  command.log_directory = directory.path();
  const Outcome outcome = run_program(command);
  CHECK(outcome.flooded);
  CHECK_FALSE(outcome.ok());
  CHECK(outcome.out.size() == command.kept_bytes);
}

TEST_CASE("a program has its own process group, default signals, no input and no open files of ours") {
  const int open_file = open("/dev/null", O_RDONLY);  // without O_CLOEXEC
  REQUIRE(open_file > 2);
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  const Outcome outcome =
      shell("cat; ls /proc/self/fd | wc -l; ps -o pgid= -p $$; echo $$; grep SigIgn /proc/$$/status");
  std::signal(SIGPIPE, before);
  close(open_file);
  std::istringstream words(outcome.out);
  int files = 0, group = 0, process = 0;
  std::string label, ignored;
  words >> files;
  CHECK(files == 4);  // the three streams and the directory that ls reads
  if (outcome.err.find("ps") == std::string::npos) {
    words >> group;
    words >> process;
    CHECK(group == process);
  } else {
    words >> process;
  }
  words >> label >> ignored;
  CHECK((std::stoull(ignored, nullptr, 16) & 0x7fffffff) == 0);  // beyond are the C library's own
}

TEST_CASE("a signal that ends a program is named") {
  const Outcome outcome = shell("kill -SEGV $$");
  CHECK(outcome.signal == SIGSEGV);
  CHECK_THAT(outcome.describe(), ContainsSubstring("signal 11"));
}

TEST_CASE("a program that ignores SIGCHLD can run others") {
  const int code = sinter::testing::in_child([] {
    std::signal(SIGCHLD, SIG_IGN);
    const Outcome outcome = shell("echo fine");
    return outcome.ok() && outcome.status_lost && outcome.out == "fine\n" ? 0 : 1;
  });
  CHECK(code == 0);
}

TEST_CASE("programs run in many threads at once and leave no files open") {
  const auto open_files = [] {
    int count = 0;
    for (int i = 0; i < 256; ++i) count += fcntl(i, F_GETFD) >= 0;
    return count;
  };
  const int before = open_files();
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i)
        right += shell("echo " + std::to_string(t * 10 + i)).out == std::to_string(t * 10 + i) + "\n";
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 40);
  CHECK(open_files() == before);
}

TEST_CASE("variables of a command replace ours") {
  const sinter::testing::ScopedEnvironment environment{{"RUNTIME_TEST", "old"}};
  Command command{{"/bin/sh", "-c", "echo $RUNTIME_TEST $RUNTIME_TEST2; env | grep -c ^RUNTIME_TEST="}};
  command.environment = {{"RUNTIME_TEST", "new"}, {"RUNTIME_TEST2", "more"}};
  CHECK(run_program(command).out == "new more\n1\n");
}

TEST_CASE("a quoted command means the same to a shell") {
  const std::vector<std::string> arguments{"printf", "[%s]", "plain", "a b", "it's", "$HOME", "", "*", "\\"};
  CHECK(shell(quoted(arguments)).out == "[plain][a b][it's][$HOME][][*][\\]");
}

TEST_CASE("a program is found on PATH, or by its path") {
  const TemporaryDirectory directory;
  const std::string program = directory.script("my compiler", "exit 0");
  directory.write("not executable", "");
  const sinter::testing::ScopedEnvironment environment{{"PATH", ":/nowhere:" + directory.path()}};
  CHECK(find_program("my compiler") == program);
  CHECK(find_program(program) == program);
  CHECK(find_program("not executable").empty());
  CHECK(find_program("").empty());
  CHECK(find_program(directory.path()).empty());
}
