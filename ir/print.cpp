#include "ir/print.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "ir/build.h"
#include "ir/text_form.h"

namespace sinter::ir {
namespace {

/// True when a reader that gives a plain number this dtype gets the very bits.
bool reads_back(const Scalar& value, std::optional<DType> met) {
  return met == value.dtype && !spell_number(value).starts_with("nan:");
}

std::string attribute(Op op, std::string_view key, const Attrs& attrs) {
  auto list = [](const std::vector<std::int64_t>& numbers) {
    return fmt::format("[{}]", fmt::join(numbers, ", "));
  };
  if (key == "axes") return list(attrs.axes);
  if (key == "axis") return is_reduction(op) ? "" : std::to_string(attrs.axes[0]);
  if (key == "keepdims") return attrs.keepdims ? "true" : "";
  if (key == "dtype") return is_reduction(op) ? "" : std::string(name(attrs.dtype));
  if (key == "shape" || key == "lengths") return attrs.shape.str();
  if (key == "starts" || key == "before") return Shape(attrs.starts).str();
  if (key == "after") return Shape(attrs.ends).str();
  if (key == "steps") return list(attrs.steps);
  if (key == "value")
    return reads_back(attrs.value, attrs.value.dtype) ? spell_number(attrs.value) : spell_scalar(attrs.value);
  return "";  // ranges, which is only read, as are axis and dtype of a reduction
}

class Printer {
 public:
  explicit Printer(const Graph& graph) : g_(graph), names_(graph.size()), listed_(graph.size(), false) {
    name_inputs();
    list_constants();
  }

  std::string run() {
    header();
    std::size_t number = 0;
    for (std::uint32_t id = 0; id < g_.size(); ++id) {
      const Value v{id};
      if (g_.op(v) == Op::input || (g_.op(v) == Op::constant && !listed_[id])) continue;
      names_[id] = std::to_string(number++);
      out_ += fmt::format("  %{} = ", names_[id]);
      node(v);
      out_ += '\n';
    }
    out_ += "  return";
    std::string_view separator = " ";
    for (const Output& output : g_.outputs()) {
      out_ += separator;
      separator = ", ";
      if (!output.name.empty()) out_ += spell_name(output.name) + "=";
      out_ += g_.op(output.value) == Op::constant ? spell_scalar(g_.attrs(output.value).value)
                                                  : reference(output.value);
    }
    out_ += "\n}\n";
    return std::move(out_);
  }

 private:
  void name_inputs() {
    std::unordered_map<std::string_view, int> seen;
    for (Value v : g_.inputs()) {
      const std::string& name = g_.attrs(v).name;
      const int occurrence = ++seen[name];
      names_[v.id] = spell_name(name);
      if (occurrence > 1) names_[v.id] += fmt::format("~{}", occurrence);
    }
  }

  /// A parser makes the constants of a line when it meets them, just before the line's node. Constants that
  /// stand elsewhere in the graph's order, or that nobody uses, get a line of their own in that place.
  void list_constants() {
    std::vector<bool> made(g_.size(), false);
    std::vector<Value> waiting;
    auto settle = [&](const std::vector<Value>& used) {
      std::vector<Value> fresh;
      for (Value v : used)
        if (g_.op(v) == Op::constant && !made[v.id] && std::ranges::find(fresh, v) == fresh.end())
          fresh.push_back(v);
      const bool in_place =
          fresh.size() <= waiting.size() && std::equal(fresh.rbegin(), fresh.rend(), waiting.rbegin());
      const std::size_t own_line = waiting.size() - (in_place ? fresh.size() : 0);
      for (std::size_t i = 0; i < waiting.size(); ++i) {
        made[waiting[i].id] = true;
        listed_[waiting[i].id] = i < own_line;
      }
      waiting.clear();
    };
    for (std::uint32_t id = 0; id < g_.size(); ++id) {
      const Value v{id};
      if (g_.op(v) == Op::constant)
        waiting.push_back(v);
      else if (g_.op(v) != Op::input)
        settle({g_.operands(v).begin(), g_.operands(v).end()});
    }
    std::vector<Value> returned;
    for (const Output& output : g_.outputs()) returned.push_back(output.value);
    settle(returned);
  }

  void header() {
    std::vector<std::string> inputs;
    std::size_t length = g_.name().size();
    for (Value v : g_.inputs()) {
      inputs.push_back(fmt::format("%{}: {}{}", names_[v.id], name(g_.dtype(v)), g_.shape(v).str()));
      length += inputs.back().size() + 2;
    }
    const std::string_view separator = length > 90 ? ",\n    " : ", ";
    out_ = fmt::format("graph @{}({}{})", spell_name(g_.name()), length > 90 ? "\n    " : "",
                       fmt::join(inputs, separator));
    std::vector<std::string> facts;
    for (const auto& [symbol, divisor] : g_.facts().divisor)
      facts.push_back(fmt::format("{} % {} == 0", symbol, divisor));
    for (const auto& [symbol, least] : g_.facts().minimum)
      facts.push_back(fmt::format("{} >= {}", symbol, least));
    if (!facts.empty()) out_ += fmt::format(" where {}", fmt::join(facts, ", "));
    out_ += " {\n";
  }

  std::string reference(Value v) const { return fmt::format("%{}", names_[v.id]); }

  void node(Value v) {
    out_ += name(g_.op(v));
    out_ += '(';
    if (g_.op(v) == Op::constant) {
      out_ += spell_scalar(g_.attrs(v).value);
      out_ += ')';
      return;
    }
    std::string_view separator;
    const std::span<const Value> operands = g_.operands(v);
    const std::size_t condition =
        is_elementwise(g_.op(v)) && elementwise_info(g_.op(v)).rule == DTypeRule::select;
    const std::optional<DType> met =
        is_elementwise(g_.op(v)) ? meeting_dtype(operands.subspan(condition)) : std::nullopt;
    auto is_plain = [&](std::size_t i) {
      return g_.op(operands[i]) != Op::constant ||
             reads_back(g_.attrs(operands[i]).value, i < condition ? DType::boolean : met);
    };
    // All or none, since a parser makes constants with a dtype before those without.
    bool plain = true;
    for (std::size_t i = 0; i < operands.size(); ++i) plain = plain && is_plain(i);
    for (Value x : operands) {
      out_ += separator;
      separator = ", ";
      const Scalar& value = g_.attrs(x).value;
      out_ += g_.op(x) != Op::constant ? reference(x) : plain ? spell_number(value) : spell_scalar(value);
    }
    if (const std::string attributes = print_attributes(g_, v); !attributes.empty()) {
      out_ += separator;
      out_ += attributes;
    }
    out_ += ')';
  }

  /// The dtype in which operands meet if their constants are written as plain numbers.
  std::optional<DType> meeting_dtype(std::span<const Value> operands) const {
    std::vector<Operand> written;
    for (Value v : operands) {
      const Scalar& value = g_.attrs(v).value;
      if (g_.op(v) != Op::constant)
        written.emplace_back(v);
      else if (is_float(value.dtype))
        written.emplace_back(Literal{static_cast<double>(value.real())});
      else if (is_bool(value.dtype))
        written.emplace_back(Literal{value.bits != 0});
      else
        written.emplace_back(Literal{value.whole()});
    }
    return common_dtype(g_, written);
  }

  const Graph& g_;
  std::vector<std::string> names_;  // without the sign
  std::vector<bool> listed_;        // constants with a line of their own
  std::string out_;
};

}  // namespace

std::string print_attributes(const Graph& graph, Value node) {
  std::string text;
  for (std::string_view key : attribute_names(graph.op(node))) {
    const std::string value = attribute(graph.op(node), key, graph.attrs(node));
    if (!value.empty()) text += fmt::format("{}{}={}", text.empty() ? "" : ", ", key, value);
  }
  return text;
}

std::string print(const Graph& graph) {
  return Printer(graph).run();
}

}  // namespace sinter::ir
