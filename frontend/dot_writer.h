// A thin C++ face of libcgraph: building a graph, and spelling text so that every version reads it back.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct Agraph_s;
struct Agnode_s;
struct Agedge_s;

namespace sinter::frontend {

/// User text for a label: control characters and invalid UTF-8 as \xNN, at most `longest` characters, and all
/// that DOT gives a meaning (backslash, ampersand) written so that it stands for itself. It never ends in an
/// odd number of backslashes, which libcgraph 2.42 would write as an open quote.
std::string dot_label(std::string_view text, std::size_t longest = 60);

/// libcgraph keeps global state, so there is one writer at a time: constructing one waits for the others to
/// end.
class DotWriter {
 public:
  using Graph = Agraph_s*;
  using Node = Agnode_s*;
  using Edge = Agedge_s*;

  DotWriter();
  ~DotWriter();
  DotWriter(const DotWriter&) = delete;
  DotWriter& operator=(const DotWriter&) = delete;

  Graph root() const { return root_; }
  Graph cluster(const std::string& id);
  /// In the root, or in a cluster.
  Node node(Graph in, const std::string& id);
  Edge edge(Node from, Node to);
  /// `object` is a Graph, Node or Edge. Values are DOT text already (labels come from dot_label).
  void set(void* object, const char* attribute, const std::string& value);
  /// A default for all nodes or edges.
  void set_all_nodes(const char* attribute, const std::string& value);
  void set_all_edges(const char* attribute, const std::string& value);

  std::string text() const;

 private:
  Graph root_ = nullptr;
};

}  // namespace sinter::frontend
