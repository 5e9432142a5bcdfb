// The tensor graph: immutable nodes in topological order, owned by the Graph, each named by a small handle.
//
// A node is made by Graph::add, which checks it and works out its shape and dtype (ir/infer.h), so an invalid
// node cannot exist, and returns the existing node when there already is one of the same op, operands and
// attributes. Operands always precede their node. Side tables are vectors indexed by Value::id. ir/build.h
// has the functions that promote, broadcast and normalise axes before they call add.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <source_location>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "ir/op.h"
#include "ir/scalar.h"
#include "ir/shape.h"

namespace sinter::ir {

struct Value {
  std::uint32_t id = ~0u;
  bool valid() const { return id != ~0u; }
  friend auto operator<=>(const Value&, const Value&) = default;
};

/// What an operation needs beside its operands; each op uses the fields that ir/infer.cpp names, the rest
/// stay empty.
struct Attrs {
  std::vector<std::int64_t>
      axes;  // reductions, flip, permute_dims: axes; concat, gathers, scatters, iota: one
  std::vector<std::int64_t> steps;  // slice: step per axis, not 0
  std::vector<Dim> starts;          // slice: first index per axis; pad: elements added before, per axis
  std::vector<Dim> ends;            // pad: elements added after, per axis
  Shape shape;   // broadcast_to, reshape, slice (lengths), iota, random_bits, input: the result; scatter_add:
                 // the length of its axis
  Scalar value;  // constant, pad
  DType dtype = DType::f32;  // cast, iota, input
  bool keepdims = false;     // reductions
  std::string name;          // input
  friend bool operator==(const Attrs&, const Attrs&) = default;
  std::size_t hash() const;
};

struct Node {
  Op op;
  DType dtype;
  std::uint32_t arity;
  std::uint32_t first_operand;  // into the graph's operand list
  const Shape* shape;           // interned: equal shapes have equal addresses
  const Attrs* attrs;           // interned; never null
  std::source_location location;
};

struct Output {
  std::string name;
  Value value;
};

class Graph {
 public:
  explicit Graph(std::string name = "graph");
  Graph(Graph&&) = default;
  Graph& operator=(Graph&&) = default;

  /// Adds an input, in the order of the function's parameters. Names need not be unique or identifiers.
  Value input(std::string name, DType dtype, const Shape& shape,
              std::source_location where = std::source_location::current());
  Value constant(Scalar value, std::source_location where = std::source_location::current());
  /// Adds a checked node, or finds the equal one. Throws ShapeError, DTypeError or ValueError.
  Value add(Op op, std::span<const Value> operands, const Attrs& attrs = {},
            std::source_location where = std::source_location::current());
  void output(Value value, std::string name = {});

  std::size_t size() const { return nodes_.size(); }
  const Node& operator[](Value v) const { return nodes_[v.id]; }
  std::span<const Value> operands(Value v) const {
    return {operands_.data() + nodes_[v.id].first_operand, nodes_[v.id].arity};
  }
  Op op(Value v) const { return nodes_[v.id].op; }
  DType dtype(Value v) const { return nodes_[v.id].dtype; }
  const Shape& shape(Value v) const { return *nodes_[v.id].shape; }
  const Attrs& attrs(Value v) const { return *nodes_[v.id].attrs; }

  const std::string& name() const { return name_; }
  const std::vector<Value>& inputs() const { return inputs_; }
  const std::vector<Output>& outputs() const { return outputs_; }
  const Facts& facts() const { return facts_; }
  Facts& facts() { return facts_; }
  /// Symbols of the inputs' shapes, in order of appearance.
  std::vector<std::string> symbols() const;

 private:
  const Shape* intern(Shape shape);
  const Attrs* intern(const Attrs& attrs);
  Value append(Op op, DType dtype, const Shape* shape, const Attrs* attrs, std::span<const Value> operands,
               std::source_location where);
  std::size_t slot_of(Op op, const Attrs* attrs, std::span<const Value> operands) const;
  void grow_index();

  struct ShapeHash {
    std::size_t operator()(const Shape& s) const { return s.hash(); }
  };
  struct AttrsHash {
    std::size_t operator()(const Attrs& a) const { return a.hash(); }
  };

  std::string name_;
  std::vector<Node> nodes_;
  std::vector<Value> operands_;
  std::vector<Value> inputs_;
  std::vector<Output> outputs_;
  Facts facts_;
  std::unordered_set<Shape, ShapeHash> shapes_;
  std::unordered_set<Attrs, AttrsHash> attrs_;
  const Attrs* no_attrs_ = nullptr;
  std::vector<std::uint32_t> index_;  // open addressing over node ids, for finding equal nodes
};

/// "add(f32[M, 4096], f32[4096])": the op and its operands, for messages.
std::string describe(const Graph& graph, Op op, std::span<const Value> operands);

}  // namespace sinter::ir
