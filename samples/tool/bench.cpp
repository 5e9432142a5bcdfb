// sinter bench: eager against fused.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "samples/bench/machine.h"
#include "samples/bench/memory.h"
#include "samples/bench/self.h"
#include "samples/tool/bench_result.h"
#include "samples/tool/output.h"
#include "samples/tool/subject.h"
#include "samples/tool/verbs.h"

namespace tool {
namespace {

using sinter::Tensor;
using Tensors = std::vector<Tensor>;

struct BenchOptions {
  std::vector<std::string> whats;
  SubjectOptions subject;
  std::string device, markdown;
  double seconds = 3;
  bool by_hand = false;
};

/// A directory for the kernel cache of the processes that time first calls.
class TemporaryDirectory {
 public:
  TemporaryDirectory() : path_((std::filesystem::temp_directory_path() / "sinter-bench-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) throw sinter::ValueError("no directory can be made at " + path_);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Tensors draw_inputs(const Subject& subject) {
  Tensors inputs;
  for (const sinter::GraphInput& input : subject.function.inputs())
    inputs.push_back(suite::draw(input, subject.draws[inputs.size()], 0, inputs.size()));
  return inputs;
}

auto compile(const Subject& subject, const SubjectOptions& options) {
  return sinter::compile(subject.function, {.numerics = options.chosen_numerics(), .name = subject.name});
}

double total_bytes(const Tensors& tensors) {
  double bytes = 0;
  for (const Tensor& x : tensors) bytes += static_cast<double>(x.nbytes());
  return bytes;
}

/// One run's launches, and the operations of its matrix products.
void count_work(const sinter::Program& program, BenchResult& result) {
  const auto facts = nlohmann::json::parse(program.json());
  result.eager_launches = facts["eager_launches"];
  result.fused_launches = facts["launches"];
  for (const auto& gemm : facts["gemms"])
    result.flops += 2 * gemm["m"].get<double>() * gemm["n"].get<double>() * gemm["k"].get<double>() *
                    gemm["batch"].get<double>();
}

/// Times the hand-written form of the workload. Its arrays are plain memory, as those of a program without
/// sinter.
bench::Timing time_by_hand(const Subject& subject, const Tensors& inputs, const Tensors& outputs,
                           double seconds, bench::Team& team, bench::Memory& memory) {
  std::vector<const float*> from;
  for (const Tensor& x : inputs) from.push_back(x.data<float>());
  std::vector<std::vector<float>> memory_of_outputs;
  std::vector<float*> to;
  for (const Tensor& y : outputs) {
    memory_of_outputs.emplace_back(static_cast<std::size_t>(y.size()));
    to.push_back(memory_of_outputs.back().data());
  }
  const auto count = static_cast<std::size_t>(outputs[0].size());
  const bench::Timing timing = bench::measure(
      seconds, [&] { memory.flush(); },
      [&] {
        team.run(count, [&](std::size_t begin, std::size_t end) { subject.by_hand(from, to, begin, end); });
      });
  const Tensor by_hand = sinter::from_vector<float>(memory_of_outputs[0], outputs[0].shape());
  if (!sinter::allclose(by_hand, outputs[0], 1e-5, 1e-6))
    throw sinter::InternalError(subject.name + ": written by hand it gives other values");
  return timing;
}

/// Milliseconds of the first call in another process, with its kernel cache in that directory.
double first_call(const Subject& subject, const std::string& numerics, const std::string& cache) {
  std::vector<std::string> arguments{"first-call", subject.name};
  for (const auto& [name, value] : subject.choices)
    arguments.insert(arguments.end(), {"--set", name + "=" + value});
  if (!numerics.empty()) arguments.insert(arguments.end(), {"--numerics", numerics});
  return std::stod(bench::run_self(arguments, {{"SINTER_CACHE", "1"}, {"SINTER_CACHE_DIR", cache}}));
}

BenchResult bench_one(const Subject& subject, const BenchOptions& options, bench::Team& team,
                      bench::Memory& memory) {
  BenchResult result;
  result.name = subject.name;
  result.device = sinter::Device().name();
  const Tensors inputs = draw_inputs(subject);
  const auto compiled = compile(subject, options.subject);
  Tensors outputs = compiled(inputs);
  count_work(compiled.programs().front(), result);
  result.bytes = total_bytes(inputs) + total_bytes(outputs);
  const auto specs = subject.function.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i)
    result.inputs.push_back(fmt::format("{}: {}[{}]", specs[i].name, name(inputs[i].dtype()),
                                        fmt::join(inputs[i].shape(), ", ")));

  // The results of the last repetition go before the clock runs.
  auto before = [&] {
    outputs.clear();
    memory.flush();
  };
  result.copy_gbps = memory.copy_bandwidth(options.seconds * 0.1);
  result.eager = bench::measure(options.seconds * 0.5, before, [&] { outputs = subject.function(inputs); });
  result.fused = bench::measure(options.seconds * 0.4, before, [&] { outputs = compiled(inputs); });
  const bool is_f32 = !inputs.empty() && inputs[0].dtype() == sinter::f32;
  if (options.by_hand && subject.by_hand && is_f32)
    result.by_hand = time_by_hand(subject, inputs, outputs, options.seconds * 0.4, team, memory);

  const TemporaryDirectory cache;
  result.first_call_ms = first_call(subject, options.subject.numerics, cache.path());
  result.first_call_warm_ms = first_call(subject, options.subject.numerics, cache.path());
  return result;
}

void show_progress(std::size_t done, std::size_t all, const std::string& name) {
  if (::isatty(STDERR_FILENO) == 0) return;
  fmt::print(stderr, "\r\033[K{}", done == all ? "" : fmt::format("{} of {}: {}", done + 1, all, name));
  std::fflush(stderr);
}

void run_bench(const BenchOptions& options) {
  if (!options.device.empty()) sinter::Device{options.device};  // refuses one that is not there
  std::vector<std::string> names = options.whats;
  if (names.empty())
    for (const suite::Workload& workload : suite::workloads()) names.push_back(workload.name);
  std::vector<Subject> subjects;
  for (const What& what : open_all(names, options.subject.choices())) subjects.push_back(what.settle());

  bench::Team team(bench::thread_count());
  bench::Memory memory(team);
  std::vector<BenchResult> results;
  for (const Subject& subject : subjects) {
    show_progress(results.size(), subjects.size(), subject.name);
    results.push_back(bench_one(subject, options, team, memory));
  }
  show_progress(results.size(), subjects.size(), "");
  if (!options.markdown.empty()) {
    std::string command = "sinter bench";
    for (const std::string& what : options.whats) command += " " + what;
    for (const std::string& text : options.subject.set) command += " --set " + text;
    if (!options.subject.numerics.empty()) command += " --numerics " + options.subject.numerics;
    if (options.by_hand) command += " --against-handwritten";
    write_file(options.markdown, bench_markdown(results, command));
  }
  print(options.subject.json ? bench_json(results) : bench_table(results));
}

/// Prints the milliseconds of a function's first call in this process. What every process does once, looking
/// for the compiler and starting threads, is done before, by an operation on whole numbers that no workload
/// has.
void print_first_call(const BenchOptions& options) {
  const Tensor one = sinter::from_vector<std::int64_t>({1});
  sinter::bitwise_xor(one, sinter::from_vector<std::int64_t>({2}));
  const Subject subject = open_one(options.whats[0], options.subject.choices());
  const Tensors inputs = draw_inputs(subject);
  print(fmt::format("{}\n", bench::milliseconds_of([&] { compile(subject, options.subject)(inputs); })));
}

}  // namespace

void add_bench(CLI::App& app) {
  const auto options = std::make_shared<BenchOptions>();
  CLI::App* verb = app.add_subcommand("bench", "times eager against fused");
  verb->add_option("WHAT", options->whats,
                   "workloads, or files with a graph; the whole suite if none is given");
  options->subject.add_to(*verb);
  verb->add_option("--device", options->device, "where it runs; else the device that is there")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  verb->add_option("--seconds", options->seconds, "time for the repetitions of one workload; 3 unless given")
      ->check(CLI::PositiveNumber);
  verb->add_flag("--against-handwritten", options->by_hand,
                 "also times workloads that are written and vectorised by hand (gelu in f32)");
  verb->add_option("--markdown", options->markdown, "file to which the table is written, with the machine");
  verb->callback([options] { run_bench(*options); });

  CLI::App* hidden = app.add_subcommand("first-call", "")->group("");
  hidden->add_option("WHAT", options->whats)->required();
  options->subject.add_to(*hidden);
  hidden->callback([options] { print_first_call(*options); });
}

}  // namespace tool
