// sinter bench: eager against fused.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "samples/bench/self.h"
#include "samples/bench/stopwatch.h"
#include "samples/tool/bench_by_hand.h"
#include "samples/tool/bench_result.h"
#include "samples/tool/check_number.h"
#include "samples/tool/inputs.h"
#include "samples/tool/lines.h"
#include "samples/tool/output.h"
#include "samples/tool/subject.h"
#include "samples/tool/tensor_files.h"
#include "samples/tool/verbs.h"

namespace tool {
namespace {

using sinter::Tensor;
using Tensors = std::vector<Tensor>;

struct BenchOptions {
  std::vector<std::string> whats, inputs;
  SubjectOptions subject;
  std::string device, markdown, output_dir, batch;
  double seconds = 3;
  bool by_hand = false, no_eager = false, no_first_call = false;
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

auto compile(const Subject& subject, const SubjectOptions& options) {
  return sinter::compile(subject.function, {.numerics = options.chosen_numerics(), .name = subject.name});
}

/// Bytes that must move.
double bytes_of(const Subject& subject, const Tensors& inputs, const Tensors& outputs) {
  if (subject.bytes) return subject.bytes(inputs, outputs);
  double bytes = 0;
  for (const Tensors* tensors : {&inputs, &outputs})
    for (const Tensor& x : *tensors) bytes += static_cast<double>(x.nbytes());
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

/// Milliseconds of the first call in another process, with its kernel cache in that directory.
double first_call(const Subject& subject, const BenchOptions& options, const std::string& cache) {
  std::vector<std::string> arguments{"first-call", subject.name};
  const auto add = [&](const std::string& option, const std::string& value) {
    if (!value.empty()) arguments.insert(arguments.end(), {option, value});
  };
  for (const auto& [name, value] : subject.choices) add("--set", name + "=" + value);
  for (const std::string& text : options.inputs) add("--input", text);
  add("--numerics", options.subject.numerics);
  add("--device", options.device);
  return std::stod(bench::run_self(arguments, {{"SINTER_CACHE", "1"}, {"SINTER_CACHE_DIR", cache}}));
}

/// A workload with the tensors given for it.
struct Job {
  Subject subject;
  Given given;
};

BenchResult bench_one(const Job& job, const BenchOptions& options, const sinter::Device& device,
                      bench::Stopwatch& stopwatch) {
  const Subject& subject = job.subject;
  BenchResult result;
  result.name = subject.name;
  result.device = device.name();
  const Tensors inputs = complete_inputs(subject, job.given, 0, device);
  const auto compiled = compile(subject, options.subject);
  Tensors outputs = compiled(inputs);
  count_work(compiled.programs().front(), result);
  result.bytes = bytes_of(subject, inputs, outputs);
  const auto specs = subject.function.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i)
    result.inputs.push_back(fmt::format("{}: {}[{}]", specs[i].name, name(inputs[i].dtype()),
                                        fmt::join(inputs[i].shape(), ", ")));

  // The results of the last repetition go before the clock runs.
  const auto before = [&] { outputs.clear(); };
  result.copy_gbps = stopwatch.copy_bandwidth(options.seconds * 0.1);
  // Fused first: what has kept a GPU hot before would slow it down.
  result.fused = stopwatch.measure(options.seconds * 0.4, before, [&] { outputs = compiled(inputs); });
  if (!options.output_dir.empty()) write_tensors(options.output_dir, subject.function.outputs(), outputs);
  if (!options.no_eager)
    result.eager =
        stopwatch.measure(options.seconds * 0.5, before, [&] { outputs = subject.function(inputs); });
  const bool is_f32 = !inputs.empty() && inputs[0].dtype() == sinter::f32;
  if (options.by_hand && subject.by_hand && is_f32 && !device.is_gpu())
    result.by_hand = time_by_hand(subject, inputs, outputs, options.seconds * 0.4, stopwatch);

  if (!options.no_first_call) {
    const TemporaryDirectory cache;
    result.first_call_ms = first_call(subject, options, cache.path());
    result.first_call_warm_ms = first_call(subject, options, cache.path());
  }
  return result;
}

std::vector<Job> open_jobs(const BenchOptions& options) {
  std::vector<std::string> names = options.whats;
  if (names.empty())
    for (const suite::Workload& workload : suite::workloads()) names.push_back(workload.name);
  if ((!options.inputs.empty() || !options.output_dir.empty()) && names.size() != 1)
    throw sinter::ValueError("--input and --output-dir are for one workload; name it");
  std::vector<Job> jobs;
  for (const What& what : open_all(names, options.subject.choices())) {
    Given given = load_inputs(what, options.inputs);
    Subject subject = what.settle(lengths_from(what.inputs(), given));
    jobs.push_back({std::move(subject), std::move(given)});
  }
  return jobs;
}

void show_progress(std::size_t done, std::size_t all, const std::string& name) {
  if (::isatty(STDERR_FILENO) == 0) return;
  fmt::print(stderr, "\r\033[K{}", done == all ? "" : fmt::format("{} of {}: {}", done + 1, all, name));
  std::fflush(stderr);
}

std::vector<BenchResult> bench_all(const BenchOptions& options, const sinter::Device& device,
                                   bench::Stopwatch& stopwatch) {
  const std::vector<Job> jobs = open_jobs(options);
  std::vector<BenchResult> results;
  for (const Job& job : jobs) {
    show_progress(results.size(), jobs.size(), job.subject.name);
    results.push_back(bench_one(job, options, device, stopwatch));
  }
  show_progress(results.size(), jobs.size(), "");
  return results;
}

/// What chooses the workloads and how they are measured.
void add_options(CLI::App& app, BenchOptions& options) {
  app.add_option("WHAT", options.whats, "workloads, or files with a graph; the whole suite if none is given");
  options.subject.add_to(app);
  app.add_option("--input", options.inputs, "NAME=FILE.npy: an input; the others are drawn")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
  app.add_option("--seconds", options.seconds, "time for the repetitions of one workload; 3 unless given")
      ->check(above_zero());
  app.add_flag("--no-eager", options.no_eager, "leaves out eager, which takes long where much is fused");
  app.add_flag("--no-first-call", options.no_first_call, "leaves out the first calls, which take seconds");
  app.add_option("--output-dir", options.output_dir,
                 "writes NAME.npy there for every output of the last fused repetition, bf16 as uint16");
}

/// Answers every line of --batch, which has arguments of bench, as a process of its own would with --json.
void run_batch(const BenchOptions& options, const sinter::Device& device, bench::Stopwatch& stopwatch) {
  for_each_line(options.batch, [&](const std::string& line) {
    BenchOptions own;
    CLI::App app;
    add_options(app, own);
    app.parse(line);
    own.device = options.device;
    return bench_json_line(bench_all(own, device, stopwatch));
  });
}

std::string command_of(const BenchOptions& options) {
  std::string command = "sinter bench";
  for (const std::string& what : options.whats) command += " " + what;
  for (const std::string& text : options.subject.set) command += " --set " + text;
  if (!options.device.empty()) command += " --device " + options.device;
  if (!options.subject.numerics.empty()) command += " --numerics " + options.subject.numerics;
  if (options.by_hand) command += " --against-handwritten";
  return command;
}

void run_bench(const BenchOptions& options) {
  const sinter::Device device = device_of(options.device);
  if (!options.batch.empty()) return run_batch(options, device, *bench::stopwatch_of(device));
  open_jobs(options);  // complains before a second passes
  const std::unique_ptr<bench::Stopwatch> stopwatch = bench::stopwatch_of(device);
  const std::vector<BenchResult> results = bench_all(options, device, *stopwatch);
  if (!options.markdown.empty())
    sinter::write_file(options.markdown,
                       bench_markdown(results, command_of(options), device, stopwatch->method()),
                       "the table");
  print(options.subject.json ? bench_json(results) : bench_table(results));
}

/// What every process does once, looking for compilers and libraries and starting threads or a GPU, by
/// operations on whole numbers and f64 that no workload has.
void warm_up(const sinter::Device& device) {
  const Tensor one = sinter::from_vector<std::int64_t>({1}, {1}, device);
  const Tensor xored = sinter::bitwise_xor(one, sinter::from_vector<std::int64_t>({2}, {1}, device));
  if (!device.is_gpu()) return;
  const Tensor square = sinter::from_vector<double>({1, 2, 3, 4}, {2, 2}, device);
  const Tensor product = sinter::matmul(square, square);
  sinter::synchronize();
}

/// Prints the milliseconds of a function's first call in this process.
void print_first_call(const BenchOptions& options) {
  const sinter::Device device = device_of(options.device);
  warm_up(device);
  const Job job = open_jobs(options).front();
  const Tensors inputs = complete_inputs(job.subject, job.given, 0, device);
  sinter::synchronize();
  const auto call = [&] {
    const Tensors outputs = compile(job.subject, options.subject)(inputs);
    sinter::synchronize();
  };
  print(fmt::format("{}\n", bench::milliseconds_of(call)));
}

}  // namespace

void add_bench(CLI::App& app) {
  const auto options = std::make_shared<BenchOptions>();
  CLI::App* verb = app.add_subcommand("bench", "times eager against fused");
  add_options(*verb, *options);
  verb->add_option("--device", options->device,
                   "where it runs: cpu, cuda, cuda:1; else the device that is there");
  verb->add_flag("--against-handwritten", options->by_hand,
                 "on the CPU, also times workloads that are written and vectorised by hand (gelu in f32)");
  verb->add_option("--markdown", options->markdown, "file to which the table is written, with the machine");
  const std::vector<CLI::Option*> of_lines = verb->get_options([](const CLI::Option* option) {
    return !option->check_name("--help") && !option->check_name("--device") && !option->check_name("--json");
  });
  CLI::Option* const batch =
      verb->add_option(
              "--batch", options->batch,
              "file, or - for standard input, with a line of arguments per run; prints JSON, a line each")
          ->type_name("FILE");
  for (CLI::Option* const option : of_lines) batch->excludes(option);
  verb->callback([options] { run_bench(*options); });

  CLI::App* hidden = app.add_subcommand("first-call", "")->group("");
  hidden->add_option("WHAT", options->whats)->required();
  options->subject.add_to(*hidden);
  hidden->add_option("--input", options->inputs)->allow_extra_args(false);
  hidden->add_option("--device", options->device);
  hidden->callback([options] { print_first_call(*options); });
}

}  // namespace tool
