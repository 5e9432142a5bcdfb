#include "samples/tool/bench_result.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "samples/bench/machine.h"

namespace tool {
namespace {

using Json = nlohmann::ordered_json;
using bench::Timing;

/// Three digits that count.
std::string digits(double value) {
  if (value >= 100) return fmt::format("{:.0f}", value);
  if (value >= 10) return fmt::format("{:.1f}", value);
  return value >= 1 ? fmt::format("{:.2f}", value) : fmt::format("{:.3g}", value);
}

std::string with_spread(const Timing& t) {
  return fmt::format("{} ({} to {})", digits(t.median), digits(t.p10), digits(t.p90));
}

/// A column of the table. One whose cells are all empty is left out.
struct Column {
  std::string title;
  std::function<std::string(const BenchResult&)> cell;
};

std::vector<Column> columns() {
  const auto spread = [](const std::optional<Timing>& t) { return t ? with_spread(*t) : ""; };
  const auto number = [](const std::optional<double>& x) { return x ? digits(*x) : ""; };
  return {
      {"eager ms", [=](const BenchResult& r) { return spread(r.eager); }},
      {"fused ms", [=](const BenchResult& r) { return spread(r.fused); }},
      {"by hand ms", [=](const BenchResult& r) { return spread(r.by_hand); }},
      {"ratio", [](const BenchResult& r) { return r.eager ? digits(r.eager->median / r.fused.median) : ""; }},
      {"GB/s", [](const BenchResult& r) { return digits(r.gbps()); }},
      {"% of copy", [](const BenchResult& r) { return fmt::format("{:.0f}", r.percent_of_copy()); }},
      {"TFLOP/s", [](const BenchResult& r) { return r.flops > 0 ? digits(r.tflops()) : ""; }},
      {"launches",
       [](const BenchResult& r) { return fmt::format("{} to {}", r.eager_launches, r.fused_launches); }},
      {"first call ms", [=](const BenchResult& r) { return number(r.first_call_ms); }},
      {"from disk ms", [=](const BenchResult& r) { return number(r.first_call_warm_ms); }},
  };
}

std::vector<std::vector<std::string>> table(const std::vector<BenchResult>& results) {
  std::vector<std::vector<std::string>> rows{{"workload"}};
  for (const BenchResult& r : results) rows.push_back({r.name});
  for (const Column& column : columns()) {
    std::vector<std::string> cells;
    for (const BenchResult& r : results) cells.push_back(column.cell(r));
    if (std::ranges::all_of(cells, &std::string::empty)) continue;
    rows[0].push_back(column.title);
    for (std::size_t i = 0; i < cells.size(); ++i) rows[i + 1].push_back(cells[i]);
  }
  return rows;
}

double median_copy(const std::vector<BenchResult>& results) {
  std::vector<double> rates;
  for (const BenchResult& r : results) rates.push_back(r.copy_gbps);
  std::ranges::sort(rates);
  return rates[rates.size() / 2];
}

Json spread_json(const Timing& t) {
  return {{"p10_ms", t.p10}, {"p90_ms", t.p90}, {"repetitions", t.repetitions}};
}

Json as_json(const std::vector<BenchResult>& results) {
  Json list = Json::array();
  for (const BenchResult& r : results) {
    Json object{{"name", r.name},
                {"device", r.device},
                {"fused_ms", r.fused.median},
                {"gbps", r.gbps()},
                {"percent_of_copy", r.percent_of_copy()},
                {"copy_gbps", r.copy_gbps},
                {"bytes", r.bytes},
                {"eager_launches", r.eager_launches},
                {"fused_launches", r.fused_launches},
                {"fused_spread", spread_json(r.fused)},
                {"inputs", r.inputs}};
    if (r.eager) {
      object["eager_ms"] = r.eager->median;
      object["eager_spread"] = spread_json(*r.eager);
      object["ratio"] = r.eager->median / r.fused.median;
    }
    if (r.first_call_ms) object["first_call_ms"] = *r.first_call_ms;
    if (r.first_call_warm_ms) object["first_call_warm_ms"] = *r.first_call_warm_ms;
    if (r.flops > 0) object["tflops"] = r.tflops();
    if (r.by_hand) {
      object["by_hand_ms"] = r.by_hand->median;
      object["by_hand_spread"] = spread_json(*r.by_hand);
    }
    list.push_back(std::move(object));
  }
  return list;
}

}  // namespace

std::string bench_table(const std::vector<BenchResult>& results) {
  const auto rows = table(results);
  std::vector<std::size_t> widths(rows[0].size(), 0);
  for (const auto& cells : rows)
    for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], cells[i].size());
  std::string text = fmt::format("device {}, copy bandwidth {} GB/s; median (10th to 90th percentile)\n",
                                 results[0].device, digits(median_copy(results)));
  for (const auto& cells : rows) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) line += fmt::format("{:<{}}  ", cells[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string bench_json(const std::vector<BenchResult>& results) {
  return as_json(results).dump(2) + "\n";
}

std::string bench_json_line(const std::vector<BenchResult>& results) {
  return as_json(results).dump() + "\n";
}

std::string bench_markdown(const std::vector<BenchResult>& results, const std::string& command,
                           const sinter::Device& device, const std::string& method) {
  std::string text =
      fmt::format("# Eager against fused: {}\n\nWritten by `{}`.\n\n", results[0].device, command);
  for (const std::string& line : bench::describe_machine(device)) text += fmt::format("- {}\n", line);
  text += fmt::format(
      "- copy bandwidth, read plus written: {} GB/s (median over the workloads)\n"
      "- method: {}\n\n"
      "Milliseconds are medians, with the 10th and the 90th percentile. Eager runs one kernel per operation. "
      "GB/s\n"
      "counts every input and output once, and % of copy compares it with a copy measured just before. First "
      "call:\n"
      "capture, passes, compilation and one run in a fresh process, with an empty kernel cache and with one "
      "that has\n"
      "the kernels.\n\n",
      digits(median_copy(results)), method);
  auto rows = table(results);
  rows[0].insert(rows[0].begin() + 1, "inputs");
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto& inputs = results[i].inputs;
    const std::string shown = inputs.size() > 4 ? fmt::format("{}, {}, {}, and {} more", inputs[0], inputs[1],
                                                              inputs[2], inputs.size() - 3)
                                                : fmt::format("{}", fmt::join(inputs, ", "));
    rows[i + 1].insert(rows[i + 1].begin() + 1, shown);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    text += fmt::format("| {} |\n", fmt::join(rows[i], " | "));
    if (i > 0) continue;
    for (std::size_t k = 0; k < rows[0].size(); ++k) text += "|---";
    text += "|\n";
  }
  return text;
}

}  // namespace tool
