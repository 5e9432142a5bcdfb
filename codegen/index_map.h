// Index arithmetic of kernels: sums of axes times factors, with whole divisions where a reshape needs them.
// An element's place in memory, a padded range and a counter are all of this form; factors and constants are
// lengths, which a kernel gets as arguments.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace sinter::codegen {

struct Term {
  int atom;
  ir::Dim factor;
  friend bool operator==(const Term&, const Term&) = default;
};

/// constant + sum of factor * atom; terms are sorted by atom, factors are not zero.
struct Affine {
  ir::Dim constant;
  std::vector<Term> terms;

  static Affine of(ir::Dim constant) { return {std::move(constant), {}}; }
  static Affine atom(int atom) { return {0, {{atom, 1}}}; }
  bool is_constant() const { return terms.empty(); }
  /// The factor of an atom, 0 where it does not occur.
  ir::Dim factor(int atom) const;
  std::size_t hash() const;
  friend bool operator==(const Affine&, const Affine&) = default;
};

Affine operator+(const Affine& a, const Affine& b);
Affine operator*(const Affine& a, const ir::Dim& factor);

/// What index arithmetic is made of.
struct Atom {
  enum class Kind : std::uint8_t {
    axis,      // an axis of the kernel's domain
    quotient,  // of an index that is not negative, rounded down
    remainder,
    value,  // a whole number that the kernel computes: the index of a gather
  };
  Kind kind = Kind::axis;
  int number = 0;   // axis, or value
  Affine index;     // quotient, remainder
  ir::Dim divisor;  // quotient, remainder
  ir::Dim extent;   // the atom is in [0, extent)
  friend bool operator==(const Atom&, const Atom&) = default;
};

/// The atoms of one kernel; equal ones are stored once. The first are the axes of the domain.
class Atoms {
 public:
  int axis(ir::Dim extent);
  int value(int value, ir::Dim extent);
  /// index / divisor and index % divisor, simplified where terms divide, for an index in [0, extent).
  Affine quotient(const Affine& index, const ir::Dim& divisor, const ir::Dim& extent);
  Affine remainder(const Affine& index, const ir::Dim& divisor);
  const Atom& operator[](int atom) const { return atoms_[static_cast<std::size_t>(atom)]; }
  Atom& operator[](int atom) { return atoms_[static_cast<std::size_t>(atom)]; }
  int size() const { return static_cast<int>(atoms_.size()); }
  void append(Atom atom) { atoms_.push_back(std::move(atom)); }

 private:
  int intern(Atom atom);
  /// Terms whose factors the divisor divides, and the rest; the rest is provably in [0, divisor), or split is
  /// refused.
  bool split(const Affine& index, const ir::Dim& divisor, Affine& divided, Affine& rest) const;
  std::vector<Atom> atoms_;
};

/// Indices of one node's element, an Affine per axis.
using IndexMap = std::vector<Affine>;

/// A test that `index` is in [0, length); pad, concat and gathers make them.
struct Guard {
  Affine index;
  ir::Dim length;
  friend bool operator==(const Guard&, const Guard&) = default;
};

/// The index of the operand's element that a movement op other than pad and concat reads at `map`.
IndexMap operand_index(const ir::Graph& graph, ir::Value node, const IndexMap& map, Atoms& atoms);

}  // namespace sinter::codegen
