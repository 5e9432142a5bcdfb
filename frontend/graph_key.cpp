#include "frontend/graph_key.h"

#include <fmt/format.h>

#include <algorithm>

namespace sinter::frontend {
namespace {

void append_text(std::string& key, const std::string& text) {
  append(key, static_cast<std::int64_t>(text.size()));
  key += text;
}

void append_dim(std::string& key, const ir::Dim& d) {
  key += d.is_constant() ? '=' : '?';
  if (d.is_constant())
    append(key, d.value());
  else
    append_text(key, d.str());
}

template <class Dims>
void append_dims(std::string& key, const Dims& dims, std::size_t count) {
  append(key, static_cast<std::int64_t>(count));
  for (const ir::Dim& d : dims) append_dim(key, d);
}

void append_numbers(std::string& key, const std::vector<std::int64_t>& numbers) {
  append(key, static_cast<std::int64_t>(numbers.size()));
  for (const std::int64_t n : numbers) append(key, n);
}

void append_attrs(std::string& key, const ir::Attrs& attrs) {
  append_numbers(key, attrs.axes);
  append_numbers(key, attrs.steps);
  append_dims(key, attrs.starts, attrs.starts.size());
  append_dims(key, attrs.ends, attrs.ends.size());
  append_dims(key, attrs.shape, attrs.shape.dims().size());
  append(key, static_cast<std::int64_t>(attrs.value.bits));
  key += static_cast<char>(attrs.value.dtype);
  key += static_cast<char>(attrs.dtype);
  key += attrs.keepdims ? 'k' : '-';
}

void append_node(std::string& key, const ir::Graph& graph, ir::Value v) {
  const ir::Op op = graph.op(v);
  key += static_cast<char>(op);
  for (const ir::Value x : graph.operands(v)) append(key, x.id);
  if (!ir::is_elementwise(op) || op == ir::Op::cast) append_attrs(key, graph.attrs(v));
}

std::string in_words(const ir::Graph& graph, ir::Value v) {
  return fmt::format("{} giving {}{}", ir::describe(graph, graph.op(v), graph.operands(v)),
                     name(graph.dtype(v)), graph.shape(v).str());
}

}  // namespace

void append(std::string& key, std::int64_t value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string graph_key(const ir::Graph& graph) {
  std::string key;
  key.reserve(graph.size() * 64);
  for (std::uint32_t id = 0; id < graph.size(); ++id) append_node(key, graph, {id});
  key += '|';
  for (const ir::Output& output : graph.outputs()) append(key, output.value.id);
  return key;
}

std::string first_difference(const ir::Graph& before, const ir::Graph& now) {
  const auto common = static_cast<std::uint32_t>(std::min(before.size(), now.size()));
  for (std::uint32_t id = 0; id < common; ++id) {
    std::string a, b;
    append_node(a, before, {id});
    append_node(b, now, {id});
    if (a == b) continue;
    const std::string as = in_words(before, {id}), bs = in_words(now, {id});
    return fmt::format("node {} was {}, and is {}", id, as, as == bs ? "another of that form" : bs);
  }
  if (before.size() != now.size())
    return fmt::format("it had {} nodes, and has {}", before.size(), now.size());
  return graph_key(before) == graph_key(now) ? "" : "its outputs are other nodes";
}

}  // namespace sinter::frontend
