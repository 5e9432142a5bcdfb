// The recording of a function as a graph.
//
// A Capture collects the graph and, for each of its inputs, where the input comes from at every run. While a
// CaptureScope lives, operations of its thread are recorded in its capture; scopes nest, and the innermost
// counts. There is no other state: when the scope ends, by return or by exception, the thread runs operations
// at once again.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/device_of.h"
#include "frontend/tensor_impl.h"
#include "ir/build.h"
#include "sinter/operand.h"

namespace sinter::frontend {

struct VarImpl;

/// Where an input of a captured graph comes from.
enum class SlotKind : std::uint8_t {
  argument,        // the tensor argument of number `index`
  bound,           // the same tensor at every run
  var,             // the tensor that the Var holds
  random_key,      // the seed of the random sequence
  random_counter,  // a new place in the random sequence at every run
};

struct Slot {
  SlotKind kind = SlotKind::argument;
  int index = 0;
  Tensor bound;
  std::shared_ptr<VarImpl> var;
};

class Capture {
 public:
  explicit Capture(std::string name);
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  /// Adds an argument and gives the stand-in for it. Without a name it is x and its number.
  Tensor argument(DType dtype, const ir::Shape& shape);
  Tensor argument(std::string name, DType dtype, const ir::Shape& shape);
  /// The value of an operand in the graph: nodes as they are, generators by their nodes, memory as a bound
  /// input.
  ir::Operand operand(const Operand& x);
  ir::Value value(const Tensor& x, const ir::Where& where);
  /// The stand-in for what a Var holds.
  Tensor read(const std::shared_ptr<VarImpl>& var, const ir::Where& where);
  /// Two inputs of int64 for random_bits, drawn at every run.
  std::pair<ir::Value, ir::Value> draw(const ir::Where& where);
  /// A tensor that stands for a node.
  Tensor tensor(ir::Value value) const;

  /// Notes that the function has this tensor for an input. Throws DeviceError if another is elsewhere.
  void place(const Tensor& x) { device_.add(x, graph_.name()); }
  /// Where the function runs.
  const CommonDevice& device() const { return device_; }

  ir::Graph& graph() { return graph_; }
  const std::vector<Slot>& slots() const { return slots_; }

 private:
  ir::Value bind(const Tensor& x, const ir::Where& where);
  ir::Value add_input(Slot slot, std::string name, DType dtype, const ir::Shape& shape,
                      const ir::Where& where);

  std::uint64_t id_;
  ir::Graph graph_;
  CommonDevice device_;
  std::vector<Slot> slots_;
  std::unordered_map<const void*, ir::Value>
      known_;  // inputs of bound tensors and Vars, which slots_ keeps alive
  int arguments_ = 0;
};

class CaptureScope {
 public:
  explicit CaptureScope(Capture& capture);
  ~CaptureScope();
  CaptureScope(const CaptureScope&) = delete;
  CaptureScope& operator=(const CaptureScope&) = delete;

 private:
  Capture* outer_;
};

/// The capture that records this thread's operations, or null.
Capture* current_capture();

}  // namespace sinter::frontend
