#include "runtime/host_compiler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "ir/base/check.h"
#include "ir/base/log.h"
#include "ir/base/settings.h"
#include "runtime/compile_error.h"
#include "runtime/file.h"
#include "runtime/kernel_loader.h"
#include "runtime/private_directory.h"
#include "runtime/subprocess.h"

namespace sinter::runtime {
namespace {

/// A set of options; the trial takes the first set that the compiler understands.
struct Options {
  std::vector<std::string> before, after;  // the source file
};

// The meaning of a kernel: no contraction, whole numbers wrap, NaN and signed zeros are kept.
const std::vector<std::string> semantics{"-std=c++20",
                                         "-O3",
                                         "-fopenmp-simd",
                                         "-ffp-contract=off",
                                         "-fno-math-errno",
                                         "-fno-trapping-math",
                                         "-fwrapv",
                                         "-fno-exceptions",
                                         "-fno-rtti",
                                         "-fno-asynchronous-unwind-tables",
                                         "-fPIC",
                                         "-shared",
                                         "-w"};

std::vector<Options> option_sets() {
  // A kernel needs nothing of the C++ run-time library; leaving it and the linker's plugin out saves a third
  // of the time that a small kernel takes.
  std::vector<std::string> quick = semantics;
  quick.insert(quick.end(),
               {"-march=native", "-pipe", "-fno-use-linker-plugin", "-nostdlib", "-nostartfiles"});
  std::vector<std::string> native = semantics;
  native.emplace_back("-march=native");
  return {{quick, {"-lm", "-lc", "-lgcc"}}, {native, {"-lm"}}, {semantics, {"-lm"}}};
}

constexpr const char* trial_entry = "sinter_trial";
constexpr const char* trial_source =
    "extern \"C\" void sinter_trial(const void* params, long begin, long end, void*) {\n"
    "  float* x = *static_cast<float* const*>(params);\n"
    "#pragma omp simd\n"
    "  for (long i = begin; i < end; ++i) x[i] = __builtin_fmaf(x[i], 2.0f, 1.0f);\n"
    "}\n";

std::chrono::seconds compile_limit() {
  return std::chrono::seconds(settings().compile_timeout);
}

/// A trial is small, and whoever waits for it has asked for something else.
std::chrono::seconds trial_limit() {
  constexpr std::chrono::seconds most{20};
  return compile_limit().count() > 0 ? std::min(compile_limit(), most) : most;
}

/// Whether the loaded trial computes what it should.
bool trial_is_right(std::string_view object) {
  const auto loaded = LoadedObject::load(trial_entry, object);
  const auto entry = reinterpret_cast<KernelEntry>(loaded->function(trial_entry));
  std::array<float, 19> values{};
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  float* const data = values.data();
  entry(&data, 0, values.size(), nullptr);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] != static_cast<float>(2 * i + 1)) return false;
  return true;
}

/// The argument list that a user's setting means: a program whose name is the whole text, spaces and all, or
/// else a program and its first arguments ("ccache g++"). Empty if there is no such program.
std::vector<std::string> parse_program(const std::string& text) {
  if (const std::string path = find_program(text); !path.empty()) return {path};
  std::istringstream words(text);
  std::vector<std::string> program;
  for (std::string word; words >> word;) program.push_back(word);
  if (program.empty()) return {};
  program.front() = find_program(program.front());
  if (program.front().empty()) return {};
  return program;
}

struct Candidate {
  std::string setting;  // what the user wrote, for messages
  std::string text;
};

std::vector<Candidate> candidates() {
  const std::string& chosen = settings().cxx;
  if (chosen.empty()) return {};
  if (chosen != "auto") return {{"SINTER_CXX=" + chosen, chosen}};
  std::vector<Candidate> list;
  if (const char* cxx = std::getenv("CXX"); cxx != nullptr && *cxx != '\0')
    list.push_back({fmt::format("CXX={}", cxx), cxx});
  for (const char* name : {"c++", "g++", "clang++"}) list.push_back({name, name});
  return list;
}

/// What the program says of its version. It has no need of temporary files, and so little is read of it that
/// no log of ours goes to one.
Outcome ask_version(const std::vector<std::string>& program) {
  Command command{program};
  command.arguments.emplace_back("--version");
  command.environment = {{"LC_ALL", "C"}};
  command.time_limit = trial_limit();
  command.most_bytes = command.kept_bytes / 2;
  return run_program(command);
}

/// A compiler's run: messages in English, its temporary files where we remove them.
Outcome run_compiler(std::vector<std::string> arguments, const std::string& directory,
                     std::chrono::seconds limit) {
  Command command{std::move(arguments)};
  command.environment = {{"LC_ALL", "C"}, {"TMPDIR", directory}};
  command.time_limit = limit;
  command.most_bytes = 16 << 20;
  command.log_directory = directory;
  return run_program(command);
}

std::vector<std::string> concat(std::initializer_list<std::vector<std::string>> parts) {
  std::vector<std::string> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// How a run ended that made no object.
std::string describe(const Outcome& outcome) {
  return outcome.describe() + (outcome.ok() ? ", but wrote no object" : "");
}

[[noreturn]] void fail_to_compile(const std::string& kernel, const std::string& source,
                                  const Outcome& outcome, const std::vector<std::string>& arguments,
                                  const std::string& source_path) {
  const std::string directory = source_path.substr(0, source_path.rfind('/'));
  std::string log = outcome.log;
  if (log.empty() && write_new_file(directory + "/compile.log", outcome.out + outcome.err))
    log = directory + "/compile.log";
  const FirstError error = find_first_error(outcome.err + outcome.out, source_path, source);
  std::string text = fmt::format("kernel {}: the C++ compiler {}", kernel, describe(outcome));
  if (outcome.timed_out) text += fmt::format(" (SINTER_COMPILE_TIMEOUT={})", settings().compile_timeout);
  text += "\n  " + error.message;
  if (error.line > 0) text += fmt::format("\n  line {}: {}", error.line, error.code);
  fail<CompileError>("{}\n  source: {}\n  log: {}\n  repeat: {}", text, source_path, log, quoted(arguments));
}

}  // namespace

HostCompiler::HostCompiler(DiskCache& cache) {
  std::vector<std::string> faults;
  for (const Candidate& candidate : candidates()) {
    const std::vector<std::string> program = parse_program(candidate.text);
    const std::string fault = program.empty() ? "no such program" : try_candidate(program, cache);
    if (fault.empty()) break;
    faults.push_back(fmt::format("{}: {}", candidate.setting, fault));
  }
  if (usable()) {
    if (!faults.empty())
      warn_once("compiler", "{} is used as the C++ compiler, since others do not work: {}", program_.front(),
                fmt::join(faults, "; "));
    return;
  }
  reason_ = faults.empty()          ? "SINTER_CXX is off"
            : no_directory_.empty() ? fmt::format("{}", fmt::join(faults, "; "))
                                    : no_directory_;
}

std::string HostCompiler::try_candidate(const std::vector<std::string>& program, DiskCache& cache) try {
  std::optional<PrivateDirectory> directory;
  const Outcome version = ask_version(program);
  if (!version.ok()) return version.describe();
  std::string fault;
  for (const Options& options : option_sets()) {
    HostCompiler trial = *this;
    trial.program_ = program;
    trial.options_ = options.before;
    trial.libraries_ = options.after;
    trial.identity_ = fmt::format("{}\n{}{}\n{}", quoted(program), version.out,
                                  quoted(concat({options.before, options.after})), processor_identity());
    bool hopeless = false;
    const std::string object = trial.compile_trial(directory, cache, fault, hopeless);
    if (!object.empty() && trial_is_right(object)) {
      *this = std::move(trial);
      return "";
    }
    if (!object.empty()) fault = "a trial computes wrong values";
    no_directory_ = trial.no_directory_;
    if (hopeless) break;
  }
  return fault;
} catch (const CompileError& error) {
  return error.what();
}

std::string HostCompiler::compile_trial(std::optional<PrivateDirectory>& directory, DiskCache& cache,
                                        std::string& fault, bool& hopeless) {
  const std::string key = fmt::format("trial of the compiler\n{}\n{}", identity_, trial_source);
  if (auto kept = cache.load(key)) return *kept;
  try {
    if (!directory) directory.emplace();
  } catch (const CompileError& error) {
    fault = no_directory_ = error.what();
    hopeless = true;
    return "";
  }
  const std::string source = directory->path() + "/trial.cpp", out = directory->path() + "/trial.so";
  write_new_file(source, trial_source);  // there already if other options have been tried
  const Outcome outcome = run_compiler(concat({program_, options_, {source, "-o", out}, libraries_}),
                                       directory->path(), trial_limit());
  std::string object;
  if (outcome.ok() && read_file(out, object) && !object.empty()) {
    cache.store(key, object);
    return object;
  }
  hopeless = outcome.timed_out || outcome.flooded;  // which other options will not cure
  fault = fmt::format("a trial {}: {}", describe(outcome),
                      find_first_error(outcome.err + outcome.out, source, trial_source).message);
  return "";
}

std::string HostCompiler::compile(const std::string& kernel, const std::string& source) const {
  if (!usable()) fail<CompileError>("kernel {}: there is no C++ compiler ({})", kernel, reason_);
  PrivateDirectory directory;
  const std::string stem = directory.path() + "/" + file_stem(kernel);
  const std::string source_path = stem + ".cpp", object_path = stem + ".so";
  if (!write_new_file(source_path, source))
    fail<CompileError>("kernel {}: cannot write {}: {}", kernel, source_path, std::strerror(errno));
  const auto arguments = concat({program_, options_, {source_path, "-o", object_path}, libraries_});
  const Outcome outcome = run_compiler(arguments, directory.path(), compile_limit());
  std::string object;
  if (outcome.ok() && read_file(object_path, object) && !object.empty()) return object;
  directory.keep();
  fail_to_compile(kernel, source, outcome, arguments, source_path);
}

std::string processor_identity() {
  std::ifstream file("/proc/cpuinfo");
  std::vector<std::string> parts;
  for (std::string line; std::getline(file, line) && !line.empty();)  // the first processor's
    for (const std::string_view field : {"model name", "cpu family", "model\t", "stepping", "flags",
                                         "Features", "CPU implementer", "CPU part", "isa"})
      if (line.starts_with(field)) parts.push_back(line.substr(line.find(':') + 1));
  return fmt::format("processor:{}", fmt::join(parts, ";"));
}

}  // namespace sinter::runtime
