#include "samples/tool/subject.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>
#include <sstream>

namespace tool {
namespace {

namespace fs = std::filesystem;
using sinter::ValueError;

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

[[noreturn]] void refuse_name(const std::string& name) {
  const auto closest = std::ranges::min_element(
      suite::workloads(), {}, [&](const suite::Workload& w) { return edit_distance(w.name, name); });
  const bool is_close = edit_distance(closest->name, name) <= 2;
  throw ValueError(fmt::format(
      "\"{}\" is neither a workload nor a file; {}", name,
      is_close ? fmt::format("did you mean {}?", closest->name) : "`sinter list` shows the workloads"));
}

std::string read_text(const std::string& path) {
  if (fs::is_directory(path)) throw ValueError(path + " is a directory, not a file with a graph");
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  if (file) text << file.rdbuf();
  if (!file) throw ValueError(path + " cannot be read: " + std::strerror(errno));
  return text.str();
}

std::int64_t length_of(const std::string& name, const std::string& text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end || number < 0)
    throw ValueError(fmt::format("--set {}={}: {} is a length: a whole number, 0 or more", name, text, name));
  return number;
}

bool is_length(const suite::Parameter& parameter) {
  return parameter.name != "dtype" && parameter.name != "layers";
}

/// The parameters with the lengths that are not chosen left open: symbols of the parameters' names.
suite::Parameters open_parameters(const suite::Workload& workload, suite::Choices choices) {
  for (const suite::Parameter& p : workload.parameters)
    if (is_length(p)) choices.emplace(p.name, p.name);
  return {workload.parameters, choices};
}

std::vector<sinter::GraphInput> specs(const std::vector<suite::Input>& inputs) {
  std::vector<sinter::GraphInput> result;
  for (const suite::Input& input : inputs) result.push_back({input.name, {input.dtype, input.shape}});
  return result;
}

Subject from_workload(const suite::Workload& workload, const suite::Choices& choices) {
  const suite::Parameters parameters(workload.parameters, choices);
  const std::vector<suite::Input> inputs = workload.inputs(parameters);
  auto formula = [&](const suite::Tensors& tensors) { return workload.formula(tensors, parameters); };
  Subject subject{workload.name, sinter::GraphFunction::record(workload.name, specs(inputs), formula)};
  for (const suite::Input& input : inputs) subject.draws.push_back(input.draw);
  subject.by_hand = workload.by_hand;
  subject.bytes = workload.bytes;
  return subject;
}

Subject from_graph(const std::string& name, const sinter::GraphFunction& function) {
  return {name, function, std::vector<suite::Draw>(function.inputs().size(), suite::Draw::normal), {}};
}

}  // namespace

void SubjectOptions::add_to(CLI::App& verb) {
  verb.add_option("--set", set,
                  "NAME=VALUE: rows, cols, layers, dim, batch, dtype of a workload; a symbol's length")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  verb.add_option("--numerics", numerics, "numeric mode; else that of SINTER_NUMERICS")
      ->check(CLI::IsMember({"strict", "standard", "fast"}));
  verb.add_flag("--json", json, "print JSON");
}

suite::Choices SubjectOptions::choices() const {
  suite::Choices choices;
  for (const std::string& text : set) {
    const std::size_t sign = text.find('=');
    if (sign == std::string::npos || sign == 0)
      throw ValueError(fmt::format("--set {}: must be NAME=VALUE, such as --set rows=128", text));
    choices.insert_or_assign(text.substr(0, sign), text.substr(sign + 1));
  }
  return choices;
}

std::optional<sinter::Numerics> SubjectOptions::chosen_numerics() const {
  return sinter::numerics_from_name(numerics);
}

void TargetOptions::add_to(CLI::App& verb) {
  verb.add_option("--target", target, "what code is for; else the device that is there")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  verb.add_option("--arch", arch, "NVIDIA architecture; else that of the GPU, or sm_90a")->type_name("sm_NN");
}

sinter::Target TargetOptions::chosen() const {
  if (target == "cpu" && !arch.empty())
    throw ValueError("--arch " + arch + " is for --target cuda; CPU code is for the processor it is made on");
  if (!arch.empty()) return sinter::Target(arch);
  if (target.empty()) return sinter::Target(sinter::Device().architecture());
  if (target == "cpu") return sinter::Target("cpu");
  try {
    return sinter::Target(sinter::Device("cuda").architecture());
  } catch (const sinter::DeviceError&) {  // none is needed to look
    return sinter::Target("sm_90a");
  }
}

What::What(std::string name, suite::Choices choices) : name_(std::move(name)), choices_(std::move(choices)) {
  workload_ = suite::find_workload(name_);
  if (workload_) return;
  if (!fs::exists(name_)) refuse_name(name_);
  from_file_ = sinter::GraphFunction::parse(read_text(name_), name_);
}

std::vector<sinter::GraphInput> What::inputs() const {
  if (from_file_) return from_file_->inputs();
  return specs(workload_->inputs(open_parameters(*workload_, choices_)));
}

Subject What::settle(const Lengths& given) const {
  suite::Choices choices = choices_;
  for (const auto& [name, length] : given) choices.emplace(name, std::to_string(length));
  Subject subject = workload_ ? from_workload(*workload_, choices) : from_graph(name_, *from_file_);
  for (const auto& [name, value] : choices_)
    if (has(name)) subject.choices.emplace(name, value);
  Lengths lengths;
  for (const std::string& symbol : subject.function.symbols())
    if (const auto chosen = choices.find(symbol); chosen != choices.end())
      lengths.emplace(symbol, length_of(symbol, chosen->second));
  if (!lengths.empty()) subject.function = subject.function.bind(lengths);
  return subject;
}

std::vector<std::string> What::symbols() const {
  if (from_file_) return from_file_->symbols();
  // Lengths of a workload that were chosen to be symbols.
  std::vector<std::string> symbols;
  for (const suite::Parameter& p : workload_->parameters)
    if (const auto chosen = choices_.find(p.name); chosen != choices_.end() && is_length(p))
      symbols.push_back(chosen->second);
  return symbols;
}

bool What::has(const std::string& name) const {
  const std::vector<std::string> known = symbols();
  if (std::ranges::find(known, name) != known.end()) return true;
  return workload_ && std::ranges::find(workload_->parameters, name, &suite::Parameter::name) !=
                          workload_->parameters.end();
}

std::string What::settable() const {
  std::vector<std::string> names = symbols();
  if (workload_) {
    names.clear();
    for (const suite::Parameter& p : workload_->parameters) names.push_back(p.name);
  }
  return names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, ", "));
}

std::vector<What> open_all(const std::vector<std::string>& names, const suite::Choices& choices) {
  std::vector<What> all;
  for (const std::string& name : names) all.emplace_back(name, choices);
  for (const auto& [name, value] : choices) {
    if (std::ranges::any_of(all, [&](const What& what) { return what.has(name); })) continue;
    std::vector<std::string> known;
    for (const What& what : all) known.push_back(fmt::format("{} has {}", what.name(), what.settable()));
    throw ValueError(
        fmt::format("--set {}={}: there is no {} to set; {}", name, value, name, fmt::join(known, "; ")));
  }
  return all;
}

Subject open_one(const std::string& name, const suite::Choices& choices) {
  return open_all({name}, choices).front().settle();
}

Lengths lengths_from(const std::vector<sinter::GraphInput>& inputs,
                     const std::map<std::string, sinter::Tensor>& given) {
  std::map<std::string, sinter::Shape> shapes;
  for (const auto& [name, tensor] : given) shapes.emplace(name, tensor.shape());
  return sinter::solve_lengths(inputs, shapes);
}

}  // namespace tool
