// A length of an axis: a whole number, or a polynomial with whole coefficients over named symbols, kept in
// normal form so that equal lengths compare equal. Facts about symbols let passes prove divisibility without
// a value.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::ir {

/// Values of symbols, for Dim::bind.
using Bindings = std::map<std::string, std::int64_t, std::less<>>;

/// What is known of the symbols of a graph: `where M % 8 == 0, M >= 1`.
struct Facts {
  std::map<std::string, std::int64_t, std::less<>> divisor;  // the symbol is a multiple of this
  std::map<std::string, std::int64_t, std::less<>> minimum;  // the symbol is at least this
  friend bool operator==(const Facts&, const Facts&) = default;
};

class Dim {
 public:
  Dim(std::int64_t value = 0) : constant_(value) {}
  /// Throws ValueError unless the name is of letters, digits and '_', not beginning with a digit.
  static Dim symbol(std::string name);

  bool is_constant() const { return !poly_; }
  /// The number; only for a constant.
  std::int64_t value() const;
  bool is(std::int64_t value) const { return is_constant() && constant_ == value; }

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  friend bool operator==(const Dim& a, const Dim& b);

  /// a / b when that is exact for every value of the symbols, else nothing.
  std::optional<Dim> divided_by(const Dim& b) const;
  /// The greatest number that provably divides this length (0 divides only 0).
  std::int64_t known_divisor(const Facts& facts) const;
  /// The symbol, and its value where this length is `value`: for a length that is a multiple of one symbol,
  /// or that and a number, with a whole and not negative solution.
  std::optional<std::pair<std::string, std::int64_t>> solved_for(std::int64_t value) const;
  /// The length with these symbols replaced; symbols without a binding stay.
  Dim bind(const Bindings& values) const;

  void collect_symbols(std::vector<std::string>& into) const;
  std::string str() const;
  std::size_t hash() const;

 private:
  using Monomial = std::vector<std::string>;            // sorted symbols, repeated for powers
  using Polynomial = std::map<Monomial, std::int64_t>;  // no zero coefficients
  static Dim from(Polynomial p);
  Polynomial polynomial() const;

  std::int64_t constant_ = 0;
  std::shared_ptr<const Polynomial> poly_;  // null for a constant
};

/// Reads `4096`, `M`, `2*M*N + 3`; throws ValueError on anything else.
Dim parse_dim(std::string_view text);

}  // namespace sinter::ir
