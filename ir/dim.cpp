#include "ir/dim.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>

#include "ir/base/check.h"

namespace sinter::ir {
namespace {

std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  if (__builtin_add_overflow(a, b, &r)) fail<ShapeError>("a length exceeds 2^63: {} + {}", a, b);
  return r;
}

std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  if (__builtin_mul_overflow(a, b, &r)) fail<ShapeError>("a length exceeds 2^63: {} * {}", a, b);
  return r;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_name(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

}  // namespace

Dim Dim::symbol(std::string name) {
  if (name.empty() || is_digit(name[0]) || !std::ranges::all_of(name, is_name))
    fail<ValueError>("'{}' cannot name a length: write letters, digits and '_', not beginning with a digit",
                     name);
  Polynomial p;
  p[{std::move(name)}] = 1;
  return from(std::move(p));
}

std::int64_t Dim::value() const {
  SINTER_ASSERT(is_constant(), "the length {} has no value yet", str());
  return constant_;
}

Dim Dim::from(Polynomial p) {
  std::erase_if(p, [](const auto& term) { return term.second == 0; });
  if (p.empty()) return Dim(0);
  if (p.size() == 1 && p.begin()->first.empty()) return Dim(p.begin()->second);
  Dim d;
  d.poly_ = std::make_shared<const Polynomial>(std::move(p));
  return d;
}

Dim::Polynomial Dim::polynomial() const {
  if (poly_) return *poly_;
  Polynomial p;
  if (constant_ != 0) p[{}] = constant_;
  return p;
}

Dim operator+(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return checked_add(a.constant_, b.constant_);
  Dim::Polynomial sum = a.polynomial();
  for (const auto& [monomial, factor] : b.polynomial()) sum[monomial] = checked_add(sum[monomial], factor);
  return Dim::from(std::move(sum));
}

Dim operator-(const Dim& a, const Dim& b) {
  return a + b * Dim(-1);
}

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return checked_mul(a.constant_, b.constant_);
  Dim::Polynomial product;
  const Dim::Polynomial pa = a.polynomial(), pb = b.polynomial();
  for (const auto& [ma, fa] : pa)
    for (const auto& [mb, fb] : pb) {
      Dim::Monomial m;
      std::merge(ma.begin(), ma.end(), mb.begin(), mb.end(), std::back_inserter(m));
      product[m] = checked_add(product[m], checked_mul(fa, fb));
    }
  return Dim::from(std::move(product));
}

bool operator==(const Dim& a, const Dim& b) {
  if (a.is_constant() != b.is_constant()) return false;
  if (a.is_constant()) return a.constant_ == b.constant_;
  return a.poly_ == b.poly_ || *a.poly_ == *b.poly_;
}

std::optional<Dim> Dim::divided_by(const Dim& b) const {
  if (b.is(0)) return std::nullopt;
  if (is_constant() && b.is_constant())
    return constant_ % b.constant_ == 0 ? std::optional<Dim>(constant_ / b.constant_) : std::nullopt;
  // Long division by the leading term; exact or nothing.
  Polynomial rest = polynomial();
  const Polynomial divisor = b.polynomial();
  const auto& [lead, lead_factor] = *divisor.rbegin();
  Dim quotient(0);
  while (!rest.empty()) {
    const auto [top, top_factor] = *rest.rbegin();
    if (top_factor % lead_factor != 0 || !std::includes(top.begin(), top.end(), lead.begin(), lead.end()))
      return std::nullopt;
    Monomial m;
    std::set_difference(top.begin(), top.end(), lead.begin(), lead.end(), std::back_inserter(m));
    const Dim term = from({{m, top_factor / lead_factor}});
    quotient = quotient + term;
    const Dim remaining = from(std::move(rest)) - term * b;
    rest = remaining.polynomial();
    if (rest.contains(top)) return std::nullopt;
  }
  return quotient;
}

std::optional<std::pair<std::string, std::int64_t>> Dim::solved_for(std::int64_t value) const {
  if (!poly_) return std::nullopt;
  std::int64_t rest = value, factor = 0;
  std::string symbol;
  for (const auto& [monomial, f] : *poly_) {
    if (monomial.size() > 1 || (monomial.size() == 1 && factor != 0)) return std::nullopt;
    if (monomial.empty()) {
      if (__builtin_sub_overflow(value, f, &rest)) return std::nullopt;
    } else {
      symbol = monomial.front();
      factor = f;
    }
  }
  if (rest % factor != 0 || rest / factor < 0) return std::nullopt;
  return std::pair(symbol, rest / factor);
}

std::int64_t Dim::known_divisor(const Facts& facts) const {
  if (is_constant()) return constant_ < 0 ? -constant_ : constant_;
  std::int64_t divisor = 0;
  for (const auto& [monomial, factor] : *poly_) {
    std::int64_t term = factor < 0 ? -factor : factor;
    for (const std::string& s : monomial)
      if (auto fact = facts.divisor.find(s); fact != facts.divisor.end()) {
        // A product of known divisors that no longer fits is as good as its largest factor.
        if (__builtin_mul_overflow(term, fact->second, &term)) term = fact->second;
      }
    divisor = std::gcd(divisor, term);
  }
  return divisor;
}

Dim Dim::bind(const Bindings& values) const {
  if (is_constant()) return *this;
  Dim sum(0);
  for (const auto& [monomial, factor] : *poly_) {
    Dim term(factor);
    for (const std::string& s : monomial) {
      auto it = values.find(s);
      term = term * (it == values.end() ? symbol(s) : Dim(it->second));
    }
    sum = sum + term;
  }
  return sum;
}

void Dim::collect_symbols(std::vector<std::string>& into) const {
  if (!poly_) return;
  for (const auto& [monomial, factor] : *poly_)
    for (const std::string& s : monomial)
      if (std::find(into.begin(), into.end(), s) == into.end()) into.push_back(s);
}

std::string Dim::str() const {
  if (is_constant()) return std::to_string(constant_);
  std::string text;
  for (auto it = poly_->rbegin(); it != poly_->rend(); ++it) {
    auto [monomial, factor] = *it;
    if (text.empty()) {
      if (factor < 0) text += "-";
    } else {
      text += factor < 0 ? " - " : " + ";
    }
    const std::string magnitude = std::to_string(factor).substr(factor < 0 ? 1 : 0);
    if (monomial.empty() || magnitude != "1") text += magnitude + (monomial.empty() ? "" : "*");
    for (std::size_t i = 0; i < monomial.size(); ++i) text += (i ? "*" : "") + monomial[i];
  }
  return text;
}

std::size_t Dim::hash() const {
  return poly_ ? std::hash<std::string>{}(str()) : std::hash<std::int64_t>{}(constant_);
}

namespace {

struct DimParser {
  std::string_view text;
  std::size_t at = 0;

  void spaces() {
    while (at < text.size() && text[at] == ' ') ++at;
  }
  bool eat(char c) {
    spaces();
    if (at >= text.size() || text[at] != c) return false;
    ++at;
    return true;
  }
  [[noreturn]] void refuse() const {
    fail<ValueError>("'{}' is not a length: write a number, a symbol, or a sum of products such as 2*M + 1",
                     text);
  }
  Dim factor() {
    spaces();
    const std::size_t begin = at;
    if (at < text.size() && is_digit(text[at])) {
      std::int64_t value = 0;
      for (; at < text.size() && is_digit(text[at]); ++at)
        value = checked_add(checked_mul(value, 10), text[at] - '0');
      return value;
    }
    while (at < text.size() && is_name(text[at])) ++at;
    if (at == begin) refuse();
    return Dim::symbol(std::string(text.substr(begin, at - begin)));
  }
  Dim term() {
    Dim product = factor();
    while (eat('*')) product = product * factor();
    return product;
  }
  Dim sum() {
    Dim total = eat('-') ? Dim(0) - term() : term();
    while (true) {
      if (eat('+'))
        total = total + term();
      else if (eat('-'))
        total = total - term();
      else
        break;
    }
    spaces();
    if (at != text.size()) refuse();
    return total;
  }
};

}  // namespace

Dim parse_dim(std::string_view text) {
  return DimParser{text}.sum();
}

}  // namespace sinter::ir
