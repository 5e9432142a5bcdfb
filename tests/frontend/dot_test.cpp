// DOT read back by libcgraph: it must parse, and say what the graph and the partition say.
#include "frontend/dot.h"

#include <graphviz/cgraph.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ir/parse.h"
#include "ir/text_form.h"
#include "passes/lower_scatters.h"
#include "tests/catch.h"
#include "tests/support/random_graph.h"

using namespace sinter;
using namespace sinter::ir;
using Catch::Matchers::ContainsSubstring;

namespace {

using Attributes = std::map<std::string, std::string>;

struct Edge {
  std::string from, to;
  Attributes attributes;
};

struct Picture {
  Attributes attributes;
  std::map<std::string, Attributes> nodes;
  std::vector<Edge> edges;
  std::map<std::string, Attributes> clusters;
  std::map<std::string, std::set<std::string>> members;  // of clusters
};

Attributes attributes_of(Agraph_t* root, int kind, void* object) {
  Attributes result;
  for (Agsym_t* symbol = agnxtattr(root, kind, nullptr); symbol; symbol = agnxtattr(root, kind, symbol))
    result[symbol->name] = agxget(object, symbol);
  return result;
}

Picture read(const std::string& text) {
  const std::unique_ptr<Agraph_t, decltype(&agclose)> root(agmemread(text.c_str()), agclose);
  INFO(text.substr(0, 2000));
  REQUIRE(root);
  Picture picture;
  picture.attributes = attributes_of(root.get(), AGRAPH, root.get());
  for (Agnode_t* n = agfstnode(root.get()); n; n = agnxtnode(root.get(), n)) {
    picture.nodes[agnameof(n)] = attributes_of(root.get(), AGNODE, n);
    for (Agedge_t* e = agfstout(root.get(), n); e; e = agnxtout(root.get(), e))
      picture.edges.push_back(
          {agnameof(agtail(e)), agnameof(aghead(e)), attributes_of(root.get(), AGEDGE, e)});
  }
  for (Agraph_t* c = agfstsubg(root.get()); c; c = agnxtsubg(c)) {
    picture.clusters[agnameof(c)] = attributes_of(root.get(), AGRAPH, c);
    for (Agnode_t* n = agfstnode(c); n; n = agnxtnode(c, n)) picture.members[agnameof(c)].insert(agnameof(n));
  }
  return picture;
}

const Edge& edge(const Picture& picture, const std::string& from, const std::string& to) {
  for (const Edge& e : picture.edges)
    if (e.from == from && e.to == to) return e;
  FAIL("no edge from " << from << " to " << to);
  return picture.edges[0];
}

/// What a reader sees: DOT's escapes and entities taken back.
std::string shown(std::string label) {
  std::string text;
  for (std::size_t i = 0; i < label.size(); ++i) {
    if (label[i] == '\\' && i + 1 < label.size())
      text += label[++i] == 'n' || label[i] == 'l' ? '\n' : label[i];
    else if (label.compare(i, 5, "&amp;") == 0)
      text += '&', i += 4;
    else
      text += label[i];
  }
  return text;
}

Graph normalised() {
  return parse(
      "graph @row_scale(%x: f32[M, 8], %w: f32[8]) {\n"
      "  %0 = mul(%x, 0.5)\n"
      "  %1 = sum(%0, axes=[1], keepdims=true)\n"
      "  %2 = broadcast_to(%1, shape=[M, 8])\n"
      "  %3 = div(%0, %2)\n"
      "  %4 = add(%3, %w)\n"
      "  return %4, scale=%1\n"
      "}");
}

}  // namespace

TEST_CASE("a captured graph is drawn node by node, with constants in their readers") {
  const Picture p = read(frontend::dot(normalised()));
  CHECK(p.attributes.at("label") == "row_scale: captured, 9 nodes");
  CHECK(shown(p.nodes.at("n0").at("label")) == "x\nf32[M, 8]");
  CHECK(p.nodes.at("n3").at("label") == "mul(\u00b7, 0.5)");
  CHECK(shown(p.nodes.at("n4").at("label")) == "sum\naxes=[1], keepdims=true");
  CHECK_FALSE(p.nodes.contains("n2"));
  CHECK(p.nodes.size() == 10);
  const Edge& e = edge(p, "n0", "n3");
  CHECK(e.attributes.at("shape") == "[M, 8]");
  CHECK(e.attributes.at("dtype") == "f32");
  CHECK(e.attributes.at("bytes") == "32*M");
  CHECK(edge(p, "n4", "out1").attributes.at("shape") == "[M, 1]");
  CHECK(p.nodes.at("out1").at("label") == "scale");
}

TEST_CASE("a fused graph has a cluster per group, copies of what is read through, and reasons on its edges") {
  const Graph g = normalised();
  const Value x{0}, w{1}, half{3}, total{4}, quotient{6}, biased{8};
  REQUIRE(g.op(biased) == Op::add);
  passes::Partition partition;
  partition.groups.push_back(
      {.nodes = {half, total}, .inputs = {x}, .outputs = {total}, .domain = {}, .reduced = {}});
  partition.groups.push_back({.nodes = {half, quotient, biased},
                              .inputs = {x, total, w},
                              .outputs = {biased},
                              .domain = {},
                              .reduced = {}});
  partition.boundaries.push_back({total, 0, 1, "a reason \\ with \"quotes\" and more than thirty letters"});
  const std::vector<runtime::GroupSummary> summaries{{"fused_mul_sum", "grid(rows)", 100, 20},
                                                     {"fused_div", "", 8, 8}};
  const Picture p = read(frontend::dot(g, partition, summaries));
  CHECK(p.clusters.at("cluster_k0").at("schedule") == "grid(rows)");
  CHECK(p.clusters.at("cluster_k0").at("bytes") == "120");
  CHECK_THAT(shown(p.clusters.at("cluster_k0").at("label")),
             ContainsSubstring("fused_mul_sum\ngrid(rows)\nmoves 120 B\n"));
  CHECK(p.members.at("cluster_k0") == std::set<std::string>{"k0_n3", "k0_n4"});
  CHECK(p.members.at("cluster_k1") == std::set<std::string>{"k1_n3", "k1_n5", "k1_n6", "k1_n7", "k1_n8"});
  const Edge& e = edge(p, "k0_n4", "k1_n5");
  CHECK(e.attributes.at("reason") == partition.boundaries[0].reason);
  CHECK_THAT(shown(e.attributes.at("label")), ContainsSubstring("a reason \\ with \"quotes\" and more"));
  CHECK(edge(p, "n0", "k1_n3").attributes.at("reason") == "");
  edge(p, "k0_n4", "out1");
  edge(p, "k1_n8", "out0");
  edge(p, "n1", "k1_n7");
}

TEST_CASE("names of any kind stay in labels, and the labels say them") {
  std::vector<std::string> names{
      "int", "tanh", "x;}//",  "*/", "two\nlines",        "back\\",     "two\\\\", "quo\"te", "\\\"",
      "<b>", "&lt;", "\\N\\G", "",   "h\u00e9llo \u2713", "cluster_k0", "->",      "\x01",    "tail\\\"\\"};
  Graph g("graph\\");
  for (const std::string& name : names) g.output(g.input(name, f32, {2}), name);
  const Picture p = read(frontend::dot(g));
  CHECK(p.nodes.size() == 2 * names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string spelled = spell_name(names[i]);
    CHECK(shown(p.nodes.at("n" + std::to_string(i)).at("label")) == spelled + "\nf32[2]");
    if (!names[i].empty()) CHECK(shown(p.nodes.at("out" + std::to_string(i)).at("label")) == spelled);
  }
  CHECK(shown(p.attributes.at("label")).starts_with("\"graph\\\\\": captured"));
}

TEST_CASE("long names are cut, and bytes that are not UTF-8 are spelled out") {
  Graph g;
  g.input(std::string(70000, 'n'), f32, {2});
  g.input("caf\xe9", f32, {2});
  std::string accents;
  for (int i = 0; i < 100; ++i) accents += "\u00e9";
  g.input(accents, f32, {2});
  const Picture p = read(frontend::dot(g));
  CHECK(p.nodes.at("n0").at("label").size() < 100);
  CHECK(shown(p.nodes.at("n1").at("label")) == "\"caf\\xe9\"\nf32[2]");
  CHECK_THAT(p.nodes.at("n2").at("label"), ContainsSubstring("\u00e9..."));
}

TEST_CASE("random graphs and their partitions read back") {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Graph g = testing::random_graph(seed);
    std::size_t edges = g.outputs().size(), nodes = g.outputs().size();
    for (std::uint32_t id = 0; id < g.size(); ++id) {
      if (g.op(Value{id}) == Op::constant) continue;
      ++nodes;
      for (Value operand : g.operands(Value{id})) edges += g.op(operand) != Op::constant;
    }
    const Picture p = read(frontend::dot(g));
    INFO("seed " << seed);
    CHECK(p.edges.size() == edges);
    CHECK(p.nodes.size() >= nodes);  // and outputs that are constants
    const Graph to_fuse = passes::lower_scatters(g, {});
    const passes::Partition partition = passes::fuse(to_fuse);
    CHECK(read(frontend::dot(to_fuse, partition)).clusters.size() == partition.groups.size());
  }
}

TEST_CASE("a chain of 10^5 nodes is drawn without recursion") {
  Graph g;
  Value x = g.input("x", f32, {2});
  for (int i = 0; i < 100000; ++i) x = g.add(i % 2 ? Op::exp : Op::tanh, {&x, 1});
  g.output(x);
  CHECK(frontend::dot(g).size() > 1000000);
}
