#include "runtime/host_compiler.h"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "runtime/compile_error.h"
#include "runtime/kernel_cache.h"
#include "runtime/kernel_loader.h"
#include "runtime/subprocess.h"
#include "sinter/error.h"
#include "tests/catch.h"
#include "tests/support/sandbox.h"

using namespace sinter::runtime;
using Catch::Matchers::ContainsSubstring;
using sinter::testing::CapturedLog;
using sinter::testing::read_text;
using sinter::testing::ScopedEnvironment;
using sinter::testing::TemporaryDirectory;
namespace fs = std::filesystem;

namespace {

constexpr const char* doubling =
    "extern \"C\" void doubling(const void* p, long begin, long end, void*) {\n"
    "  float* x = *static_cast<float* const*>(p);\n"
    "  for (long i = begin; i < end; ++i) x[i] *= 2.0f;\n"
    "}\n";

HostCompiler find_compiler() {
  DiskCache none({});
  return HostCompiler(none);
}

/// The compiler of this machine, for scripts that stand in front of it.
std::string real_compiler() {
  for (const char* name : {"c++", "g++", "clang++"})
    if (const std::string path = find_program(name); !path.empty()) return path;
  SINTER_SKIP("no C++ compiler on PATH");
}

void check_doubles(const HostCompiler& compiler) {
  REQUIRE(compiler.usable());
  const auto object = LoadedObject::load("doubling", compiler.compile("doubling", doubling));
  float values[3] = {1, 2, 3};
  float* data = values;
  reinterpret_cast<KernelEntry>(object->function("doubling"))(&data, 0, 3, nullptr);
  CHECK((values[0] == 2 && values[1] == 4 && values[2] == 6));
}

/// The compiler is refused for this reason, and whoever asks the kernel cache gets one warning.
void check_refused(const std::string& reason) {
  const CapturedLog log;
  KernelCache cache{DiskCacheOptions{}};
  CHECK_FALSE(cache.can_compile());
  CHECK_FALSE(cache.can_compile());
  CHECK_THAT(cache.compiler().reason(), ContainsSubstring(reason));
  CHECK(log.count("there is no C++ compiler, so programs are evaluated op by op") == 1);
  CHECK(log.lines().size() == 1);
  CHECK_THROWS_AS(cache.get_or_compile(KernelSpec{"k", "", "", "k"}), sinter::CompileError);
}

}  // namespace

TEST_CASE("the compiler of this machine is found and compiles a kernel") {
  real_compiler();
  const ScopedEnvironment environment{{"SINTER_CXX", {}}, {"CXX", {}}};
  check_doubles(find_compiler());
}

TEST_CASE("SINTER_CXX comes before CXX, and that before the compilers on PATH") {
  const TemporaryDirectory directory;
  const std::string line = "exec " + real_compiler() + " \"$@\"";
  const std::string a = directory.script("a++", line), b = directory.script("b++", line);
  {
    const ScopedEnvironment environment{{"SINTER_CXX", a}, {"CXX", b}};
    CHECK(find_compiler().program() == std::vector<std::string>{a});
  }
  const ScopedEnvironment environment{{"SINTER_CXX", {}}, {"CXX", b}};
  CHECK(find_compiler().program() == std::vector<std::string>{b});
}

TEST_CASE("a compiler's path may have spaces, quotes and semicolons") {
  const TemporaryDirectory directory;
  fs::create_directory(directory / "it's; a \"dir\"");
  const std::string program =
      directory.script("it's; a \"dir\"/my c++", "exec " + real_compiler() + " \"$@\"");
  const ScopedEnvironment environment{{"SINTER_CXX", program}};
  check_doubles(find_compiler());
}

TEST_CASE("a compiler may be given with a launcher and arguments") {
  const TemporaryDirectory directory;
  directory.script("launcher", "echo \"$@\" >> " + directory.path() + "/calls; exec \"$@\"");
  const ScopedEnvironment environment{
      {"SINTER_CXX", directory / "launcher " + real_compiler() + " -DEXTRA=1"}};
  check_doubles(find_compiler());
  CHECK_THAT(read_text(directory / "calls"), ContainsSubstring(real_compiler() + " -DEXTRA=1 -std=c++20"));
}

TEST_CASE("nothing in CXX reaches a shell") {
  const TemporaryDirectory directory;
  const std::string victim = directory.write("victim", "text");
  const ScopedEnvironment environment{{"SINTER_CXX", "g++; rm -rf " + victim}};
  check_refused("SINTER_CXX=g++; rm -rf " + victim + ": no such program");
  const ScopedEnvironment spaced{{"SINTER_CXX", "g++ ; rm -rf " + victim}};
  CHECK_FALSE(find_compiler().usable());
  CHECK(read_text(victim) == "text");
}

TEST_CASE("a CXX that does not work is passed over with a warning") {
  real_compiler();
  const CapturedLog log;
  const ScopedEnvironment environment{{"SINTER_CXX", {}}, {"CXX", "/nowhere/c++"}};
  CHECK(find_compiler().usable());
  CHECK(log.count("since others do not work: CXX=/nowhere/c++: no such program") == 1);
  CHECK(log.lines().size() == 1);
}

TEST_CASE("SINTER_CXX=0 means to compile nothing") {
  const ScopedEnvironment environment{{"SINTER_CXX", "0"}};
  check_refused("SINTER_CXX is off");
}

TEST_CASE("without a compiler on PATH the reason names what was tried") {
  const TemporaryDirectory directory;
  const ScopedEnvironment environment{{"SINTER_CXX", {}}, {"CXX", {}}, {"PATH", directory.path()}};
  check_refused("c++: no such program; g++: no such program; clang++: no such program");
}

TEST_CASE("a compiler that fails is refused with what it says") {
  const TemporaryDirectory directory;
  const std::string program = directory.script(
      "c++", "case $1 in --version) echo fake 1;; *) echo 'error: no cc1plus' >&2; exit 1;; esac");
  const ScopedEnvironment environment{{"SINTER_CXX", program}};
  check_refused("a trial exited with 1: error: no cc1plus");
}

TEST_CASE("a compiler that writes no object, or a bad one, is refused") {
  const TemporaryDirectory directory;
  const auto lines = GENERATE(as<std::string>{}, "exit 0",
                              "for a; do case $a in *.so) echo nonsense > $a;; esac; done; exit 0");
  const ScopedEnvironment environment{{"SINTER_CXX", directory.script("c++", lines)}};
  check_refused(lines == "exit 0" ? "a trial exited with 0, but wrote no object: the compiler said nothing"
                                  : "");
}

TEST_CASE("a compiler that makes wrong code is refused") {
  const TemporaryDirectory directory;
  const std::string program =
      directory.script("c++", "for a; do case $a in */trial.cpp) sed -i s/2.0f/3.0f/ $a;; esac; done; exec " +
                                  real_compiler() + " \"$@\"");
  const ScopedEnvironment environment{{"SINTER_CXX", program}};
  check_refused("a trial computes wrong values");
}

TEST_CASE("a compiler that hangs is stopped and refused") {
  const TemporaryDirectory directory;
  const auto condition = GENERATE(as<std::string>{}, "--version", "-std=c++20");
  const ScopedEnvironment environment{
      {"SINTER_COMPILE_TIMEOUT", "1"},
      {"SINTER_CXX", directory.script("c++", "[ $1 = " + condition + " ] && sleep 100; echo version 1")}};
  const auto start = std::chrono::steady_clock::now();
  check_refused("did not end in time and was stopped");
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
}

TEST_CASE("a compiler that floods is stopped and refused, and leaves nothing behind") {
  const TemporaryDirectory directory, temporary;
  const ScopedEnvironment environment{
      {"TMPDIR", temporary.path()},
      {"SINTER_CXX", directory.script("c++", "while :; do echo $0 $0 $0 $0 $0 $0; done")}};
  check_refused("wrote without end and was stopped");
  CHECK(temporary.names().empty());
}

TEST_CASE("options that a compiler does not know are left out") {
  const TemporaryDirectory directory;
  const std::string program = directory.script(
      "c++",
      "for a; do case $a in -march=native) echo 'error: no such option' >&2; exit 1;; esac; done; exec " +
          real_compiler() + " \"$@\"");
  const ScopedEnvironment environment{{"SINTER_CXX", program}};
  check_doubles(find_compiler());
}

TEST_CASE(
    "the trial's object is kept on disk, so that the next process runs the compiler for its version only") {
  const TemporaryDirectory directory;
  const std::string program = directory.script(
      "c++", "echo call >> " + directory.path() + "/calls; exec " + real_compiler() + " \"$@\"");
  const ScopedEnvironment environment{{"SINTER_CXX", program}};
  DiskCache cache({directory / "cache"});
  CHECK(HostCompiler(cache).usable());
  const auto calls = [&] {
    const std::string text = read_text(directory / "calls");
    return std::count(text.begin(), text.end(), '\n');
  };
  CHECK(calls() == 2);
  CHECK(HostCompiler(cache).usable());
  CHECK(calls() == 3);
}

TEST_CASE("with the trial's object on disk no temporary directory is needed, nor asked for") {
  real_compiler();
  const TemporaryDirectory directory;
  DiskCache cache({directory / "cache"});
  REQUIRE(HostCompiler(cache).usable());
  const CapturedLog log;
  const ScopedEnvironment environment{{"TMPDIR", "/nowhere"}};
  CHECK(HostCompiler(cache).usable());
  CHECK(log.lines().empty());
}

TEST_CASE("a TMPDIR that cannot be used is warned of once, and /tmp serves") {
  real_compiler();
  const TemporaryDirectory directory;
  const bool is_file = GENERATE(false, true);
  const std::string path = is_file ? directory.write("file", "") : directory / "absent";
  const CapturedLog log;
  const ScopedEnvironment environment{{"TMPDIR", path}};
  check_doubles(find_compiler());
  check_doubles(find_compiler());
  CHECK(log.lines().size() == 1);
  CHECK(log.count("TMPDIR=" + path + " cannot be used, so temporary files are put in /tmp: " +
                  (is_file ? "Not a directory" : "No such file or directory")) == 1);
}

TEST_CASE("without a place for temporary files that is the fault, said once, and no compiler's") {
  if (geteuid() != 0) SINTER_SKIP("only root may try to write to /proc");
  real_compiler();
  const ScopedEnvironment environment{{"SINTER_CXX", {}}, {"CXX", {}}, {"TMPDIR", "/proc"}};
  const CapturedLog log;
  KernelCache cache{DiskCacheOptions{}};
  CHECK_FALSE(cache.can_compile());
  CHECK(cache.compiler().reason().starts_with("cannot make a directory for temporary files in /proc: "));
  CHECK(log.lines().size() == 1);
  CHECK(log.count("no C++ compiler can be run, so programs are evaluated op by op, slowly: cannot make") ==
        1);
}

TEST_CASE("the identity of a compiler tells versions, programs, options and processors apart") {
  const TemporaryDirectory directory;
  const std::string real = real_compiler();
  const auto compiler = [&](const std::string& version) {
    return directory.script("c++",
                            "[ $1 = --version ] && echo " + version + " && exit; exec " + real + " \"$@\"");
  };
  const ScopedEnvironment environment{{"SINTER_CXX", compiler("one")}};
  const std::string first = find_compiler().identity();
  compiler("two");
  const std::string second = find_compiler().identity();
  CHECK(first != second);
  CHECK_THAT(first, ContainsSubstring(directory / "c++") && ContainsSubstring("one") &&
                        ContainsSubstring("-ffp-contract=off") && ContainsSubstring(processor_identity()));
}

TEST_CASE(
    "source that does not compile gives the kernel, the error and its line, the source, and a command") {
  const TemporaryDirectory temporary;
  const ScopedEnvironment environment{{"TMPDIR", temporary.path()}};
  const HostCompiler compiler = find_compiler();
  if (!compiler.usable()) SINTER_SKIP("no C++ compiler: " + compiler.reason());
  const std::string source = "// header\nextern \"C\" void fused_add() {\n  undeclared_name(1);\n}\n";
  std::string message;
  try {
    compiler.compile("fused_add", source);
  } catch (const sinter::CompileError& error) {
    message = error.what();
  }
  CHECK_THAT(message, ContainsSubstring("kernel fused_add: the C++ compiler exited with 1") &&
                          ContainsSubstring("fused_add.cpp:3:") && ContainsSubstring("undeclared_name") &&
                          ContainsSubstring("line 3:   undeclared_name(1);"));
  const auto field = [&](const std::string& name) {
    const std::size_t begin = message.find(name) + name.size();
    return message.substr(begin, message.find('\n', begin) - begin);
  };
  CHECK(read_text(field("source: ")) == source);
  CHECK_THAT(read_text(field("log: ")), ContainsSubstring("undeclared_name"));
  const Outcome again = run_program({{"/bin/sh", "-c", field("repeat: ")}});
  CHECK(again.exit_code == 1);
  CHECK_THAT(again.err, ContainsSubstring("undeclared_name"));
}

TEST_CASE("compiling leaves no files behind") {
  const TemporaryDirectory temporary;
  const ScopedEnvironment environment{{"TMPDIR", temporary.path()}};
  const HostCompiler compiler = find_compiler();
  if (!compiler.usable()) SINTER_SKIP("no C++ compiler: " + compiler.reason());
  check_doubles(compiler);
  CHECK(temporary.names().empty());
}

TEST_CASE("a compilation that hangs is stopped, with the setting in the error") {
  const TemporaryDirectory directory, temporary;
  const std::string program = directory.script(
      "c++", "for a; do case $a in */slow.cpp) sleep 100;; esac; done; exec " + real_compiler() + " \"$@\"");
  const ScopedEnvironment environment{
      {"SINTER_CXX", program}, {"SINTER_COMPILE_TIMEOUT", "5"}, {"TMPDIR", temporary.path()}};
  const HostCompiler compiler = find_compiler();
  REQUIRE(compiler.usable());
  const ScopedEnvironment hurry{{"SINTER_COMPILE_TIMEOUT", "1"}};
  CHECK_THROWS_WITH(compiler.compile("slow", doubling),
                    ContainsSubstring("kernel slow: the C++ compiler did not end in time and was stopped "
                                      "(SINTER_COMPILE_TIMEOUT=1)"));
}

TEST_CASE("a long error log is kept whole in a file that the error names") {
  const TemporaryDirectory directory, temporary;
  const std::string program = directory.script("c++",
                                               "for a; do case $a in */loud.cpp) i=0; while [ $i -lt 5000 ]; "
                                               "do echo \"$a:1:1: error: number $i of many\" "
                                               ">&2; i=$((i+1)); done; exit 1;; esac; done; exec " +
                                                   real_compiler() + " \"$@\"");
  const ScopedEnvironment environment{{"SINTER_CXX", program}, {"TMPDIR", temporary.path()}};
  const HostCompiler compiler = find_compiler();
  REQUIRE(compiler.usable());
  std::string message;
  try {
    compiler.compile("loud", doubling);
  } catch (const sinter::CompileError& error) {
    message = error.what();
  }
  CHECK_THAT(message, ContainsSubstring("error: number 0 of many"));
  CHECK(message.size() < 4000);
  const std::size_t begin = message.find("log: ") + 5;
  CHECK_THAT(read_text(message.substr(begin, message.find('\n', begin) - begin)),
             ContainsSubstring("number 4999 of many"));
}

TEST_CASE("the first error is found among notes and warnings, in any form") {
  const std::string source = "one\ntwo\nthree\n";
  const FirstError plain = find_first_error(
      "In file included\n/t/k.cpp: In function:\n/t/k.cpp:2:3: warning: w\n"
      "/t/k.cpp:3:1: error: bad\n/t/k.cpp:1:1: error: later\n",
      "/t/k.cpp", source);
  CHECK(plain.message == "/t/k.cpp:3:1: error: bad");
  CHECK(plain.line == 3);
  CHECK(plain.code == "three");
  CHECK(find_first_error("/t/k.cpp:9:1: fatal error: far\n", "/t/k.cpp", source).code.empty());
  CHECK(find_first_error("/usr/bin/ld: k.o: undefined reference to `f'", "/t/k.cpp", source).line == 0);
  CHECK(
      find_first_error("ptxas info    : 0 bytes gmem\nptxas error   : too much shared data\n", "k.cu", source)
          .message == "ptxas error   : too much shared data");
  CHECK(find_first_error("\nkilled\n", "/t/k.cpp", source).message == "killed");
  CHECK(find_first_error("", "/t/k.cpp", source).message == "the compiler said nothing");
}
