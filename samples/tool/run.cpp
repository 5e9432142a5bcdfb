// sinter run: inputs from files or drawn from a seed, outputs to files.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "samples/tool/check_number.h"
#include "samples/tool/inputs.h"
#include "samples/tool/output.h"
#include "samples/tool/subject.h"
#include "samples/tool/tensor_files.h"
#include "samples/tool/verbs.h"

namespace tool {
namespace {

using Json = nlohmann::ordered_json;
using sinter::Tensor;
using sinter::ValueError;

struct RunOptions {
  std::string what;
  SubjectOptions subject;
  std::vector<std::string> inputs;
  std::uint64_t seed = 0;
  std::string output_dir, device, mode = "fused";
};

std::vector<Tensor> run_in_mode(const Subject& subject, const std::vector<Tensor>& inputs,
                                const RunOptions& options) {
  if (options.mode == "eager") return subject.function(inputs);
  if (options.mode == "reference") return subject.function.evaluate(inputs, sinter::Evaluator::reference);
  if (options.mode == "typed") return subject.function.evaluate(inputs, sinter::Evaluator::typed);
  return sinter::compile(subject.function,
                         {.numerics = options.subject.chosen_numerics(), .name = subject.name})(inputs);
}

/// What came out, for people: dtype and shape, then where it was written or the values themselves.
std::string report(const std::vector<std::string>& names, const std::vector<Tensor>& outputs,
                   const std::vector<std::string>& files) {
  std::string text;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (files.empty()) {
      text += fmt::format("{}: {}\n", names[i], outputs[i].str());
      continue;
    }
    text += fmt::format("{}: {}[{}] in {}{}\n", names[i], name(outputs[i].dtype()),
                        fmt::join(outputs[i].shape(), ", "), files[i],
                        outputs[i].dtype() == sinter::bf16 ? ", as the uint16 of its bits" : "");
  }
  return text;
}

std::string report_json(const RunOptions& options, const std::vector<std::string>& names,
                        const std::vector<Tensor>& outputs, const std::vector<std::string>& files) {
  Json list = Json::array();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Json output{{"name", names[i]}, {"dtype", name(outputs[i].dtype())}, {"shape", outputs[i].shape()}};
    if (!files.empty()) output["file"] = files[i];
    list.push_back(std::move(output));
  }
  return Json{{"name", options.what}, {"mode", options.mode}, {"outputs", std::move(list)}}.dump(2) + "\n";
}

void run(const RunOptions& options) {
  // The evaluators are the CPU's.
  const bool evaluates = options.mode == "reference" || options.mode == "typed";
  const sinter::Device device = evaluates ? sinter::Device("cpu") : device_of(options.device);
  const What what = open_all({options.what}, options.subject.choices()).front();
  const Given given = load_inputs(what, options.inputs);
  const Subject subject = what.settle(lengths_from(what.inputs(), given));
  const std::vector<Tensor> outputs =
      run_in_mode(subject, complete_inputs(subject, given, options.seed, device), options);
  const std::vector<std::string> names = subject.function.outputs();
  std::vector<std::string> files;
  if (!options.output_dir.empty()) files = write_tensors(options.output_dir, names, outputs);
  print(options.subject.json ? report_json(options, names, outputs, files) : report(names, outputs, files));
}

}  // namespace

void add_run(CLI::App& app) {
  const auto options = std::make_shared<RunOptions>();
  CLI::App* verb = app.add_subcommand("run", "runs it");
  verb->add_option("WHAT", options->what, "a workload, or a file with a graph")->required();
  options->subject.add_to(*verb);
  verb->add_option("--input", options->inputs,
                   "NAME=FILE.npy: an input; those not given are drawn from the seed")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
  verb->add_option("--seed", options->seed, "what inputs are drawn from")->check(whole());
  verb->add_option("--output-dir", options->output_dir,
                   "writes NAME.npy there for every output, bf16 as uint16");
  verb->add_option("--device", options->device,
                   "where it runs: cpu, cuda, cuda:1; else the device that is there");
  verb->add_option(
          "--mode", options->mode,
          "reference (exact but for the last rounding), typed (an evaluator that rounds at every operation), "
          "eager (a kernel per operation), fused (the default)")
      ->check(CLI::IsMember({"reference", "typed", "eager", "fused"}));
  verb->callback([options] { run(*options); });
}

}  // namespace tool
