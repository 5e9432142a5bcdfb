#include "codegen/emit_body.h"

#include <fmt/ranges.h>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

#include "ir/base/check.h"

namespace sinter::codegen {

using ir::Op;
using Kind = KernelValue::Kind;

void Lines::open(std::string_view line) {
  add(line);
  ++depth_;
}

void Lines::close(std::string_view line) {
  --depth_;
  add(line);
}

void Lines::add(std::string_view line) {
  if (!line.starts_with('#')) text_.append(static_cast<std::size_t>(2 * depth_), ' ');
  text_ += line;
  text_ += '\n';
}

BodyPrinter::BodyPrinter(const Kernel& kernel, Lines& lines) : kernel_(&kernel), lines_(lines) {
  for (std::size_t i = 0; i < kernel.buffers.size(); ++i) {
    KernelParam p;
    p.kind = KernelParam::Kind::buffer;
    p.buffer = static_cast<int>(i);
    p.name = buffer(p.buffer);
    params_.push_back(std::move(p));
  }
}

std::string BodyPrinter::length(const ir::Dim& d, const std::string& name) {
  if (made_.emplace(name, true).second) {
    KernelParam p;
    p.kind = KernelParam::Kind::length;
    p.name = name;
    p.length = d;
    params_.push_back(std::move(p));
  }
  return name;
}

std::string BodyPrinter::phase() {
  KernelParam p;
  p.kind = KernelParam::Kind::phase;
  p.name = "phase";
  params_.push_back(std::move(p));
  return "phase";
}

std::string BodyPrinter::scratch(const std::string& name, const std::string& type, int array) {
  KernelParam p;
  p.kind = KernelParam::Kind::scratch;
  p.name = name;
  p.type = type;
  p.buffer = array;
  params_.push_back(std::move(p));
  return name;
}

std::string BodyPrinter::value_name(int value) {
  return fmt::format("v{}", value);
}

std::string BodyPrinter::extent(int axis) {
  return length(kernel_->axes[static_cast<std::size_t>(axis)].extent, fmt::format("n{}", axis));
}

std::string BodyPrinter::buffer(int number) const {
  // Numbered among the inputs and among the outputs.
  int rank = 0;
  for (int i = 0; i < number; ++i)
    rank += kernel_->buffers[static_cast<std::size_t>(i)].written ==
            kernel_->buffers[static_cast<std::size_t>(number)].written;
  return fmt::format("{}{}", kernel_->buffers[static_cast<std::size_t>(number)].written ? "out" : "in", rank);
}

std::string BodyPrinter::affine(const Affine& a, const std::string& where, bool guarded) {
  std::string text;
  for (const Term& t : a.terms) {
    const Atom& atom = kernel_->atoms[t.atom];
    std::string part;
    switch (atom.kind) {
      case Atom::Kind::axis:
        part = fmt::format("i{}", atom.number);
        break;
      case Atom::Kind::value:
        part = (guarded ? "(index)" : "") + value_name(atom.number);
        break;
      case Atom::Kind::quotient:
      case Atom::Kind::remainder: {
        const std::string own = fmt::format("d{}", t.atom);
        part = fmt::format("({}) {} {}", affine(atom.index, own, guarded),
                           atom.kind == Atom::Kind::quotient ? "/" : "%", length(atom.divisor, own));
        part = "(" + part + ")";
        break;
      }
    }
    // A factor of 1 is part of what the kernel is, all others are arguments.
    if (!t.factor.is(1)) part += " * " + length(t.factor, fmt::format("{}_s{}", where, t.atom));
    text += (text.empty() ? "" : " + ") + part;
  }
  if (!a.constant.is(0)) text += (text.empty() ? "" : " + ") + length(a.constant, where + "_o");
  return text.empty() ? "0" : text;
}

std::string BodyPrinter::element(int buffer_number, const Affine& address, const std::string& where) {
  return fmt::format("{}[{}]", buffer(buffer_number), affine(address, where));
}

std::string BodyPrinter::place_of(int value) {
  const KernelValue& v = kernel_->values[static_cast<std::size_t>(value)];
  return fmt::format("{} + {}", buffer(v.buffer), affine(v.address, value_name(value)));
}

std::string BodyPrinter::store_index(int number) {
  const KernelStore& s = kernel_->stores[static_cast<std::size_t>(number)];
  const std::string name = fmt::format("w{}", number);
  const std::string index = affine(s.address, name);
  const bool adds = s.in_part && s.address.constant.is(0);
  return adds ? index + " + " + length(s.address.constant, name + "_o") : index;
}

std::string BodyPrinter::load(int value) {
  const KernelValue& v = kernel_->values[static_cast<std::size_t>(value)];
  std::string text = element(v.buffer, v.address, value_name(value));
  if (v.guard >= 0)
    text = fmt::format("{} ? {} : {}{{}}", value_name(v.guard), text, stored_type_name(v.dtype));
  return from_stored(text, v.dtype);
}

std::string BodyPrinter::from_stored(const std::string& text, DType t) {
  return is_bool(t) ? fmt::format("to_bool({})", text) : text;
}

ir::Dim pieces_of(const ir::Dim& n, std::int64_t size) {
  return n.is_constant() ? ir::Dim((n.value() + size - 1) / size) : n;
}

std::string type_name(DType t) {
  return is_bool(t) ? "boolean" : std::string(sinter::name(t));
}

std::string stored_type_name(DType t) {
  return is_bool(t) ? "uint8" : type_name(t);
}

namespace {

std::string substitute(std::string_view text, const std::vector<std::string>& operands) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '$')
      result += operands[static_cast<std::size_t>(text[++i] - '0')];
    else
      result += text[i];
  }
  return result;
}

}  // namespace

std::string BodyPrinter::apply(Op op, DType dtype, const std::vector<std::string>& operands) {
  const ir::ElementwiseInfo& info = ir::elementwise_info(op);
  if (op == Op::cast) return fmt::format("to_{}({})", sinter::name(dtype), operands[0]);
  if (!is_whole(dtype) || !info.is(ir::wraps)) return substitute(info.emit, operands);
  // Overflow of signed numbers is undefined in C++; of unsigned ones it wraps, as docs/numerics.md asks.
  const char* wide = dtype == DType::int64 ? "uint64" : "uint32";
  std::vector<std::string> converted;
  for (const std::string& o : operands) converted.push_back(fmt::format("({}){}", wide, o));
  std::string text = substitute(info.emit, converted);
  if (info.emit.find('(') != std::string_view::npos)
    text = substitute(info.emit, operands);  // a function sees to it
  return fmt::format("({})({})", type_name(dtype), text);
}

std::string BodyPrinter::literal(const ir::Scalar& scalar, const std::string& name) {
  if (made_.emplace(name, true).second) {
    KernelParam p;
    p.kind = KernelParam::Kind::literal;
    p.name = name;
    p.literal = scalar;
    params_.push_back(std::move(p));
  }
  return name;
}

std::string BodyPrinter::identity(int value) {
  const KernelValue& v = kernel_->values[static_cast<std::size_t>(value)];
  const DType t = kernel_->values[static_cast<std::size_t>(v.operands[0])].dtype;
  const ir::Identity identity = ir::reduction_info(v.op).identity;
  const long double infinity = std::numeric_limits<long double>::infinity();
  ir::Scalar s = ir::Scalar::from_whole(t, identity == ir::Identity::one);
  if (identity == ir::Identity::lowest) s = ir::Scalar::from_real(t, -infinity);
  if (identity == ir::Identity::highest) s = ir::Scalar::from_real(t, infinity);
  if (is_bool(t) && identity == ir::Identity::lowest) s.bits = 0;
  return literal(s, fmt::format("e{}", value));
}

void BodyPrinter::decode(const std::string& variable, const std::vector<int>& axes) {
  SINTER_ASSERT(std::ranges::all_of(variable, [](char c) { return std::isalnum(c) != 0 || c == '_'; }),
                "names are made of '{}'", variable);
  std::string rest = variable;
  for (std::size_t i = axes.size(); i-- > 0;) {
    if (i == 0) {
      lines_.add(fmt::format("const index i{} = {};", axes[i], rest));
      break;
    }
    lines_.add(fmt::format("const index i{} = {} % {};", axes[i], rest, extent(axes[i])));
    const std::string next = fmt::format("{}_{}", variable, axes[i]);
    lines_.add(fmt::format("const index {} = {} / {};", next, rest, extent(axes[i])));
    rest = next;
  }
}

namespace {

/// Whether the form of a function may take x and a constant k in place of the product k x.
bool takes_factor(const KernelValue& v) {
  return v.op == Op::erfc && (v.form == passes::MathForm::narrow || v.form == passes::MathForm::coarse);
}

}  // namespace

/// The names of x and k where the value is a product k x with a moderate constant, else the value's own.
std::vector<std::string> BodyPrinter::factors(int product) const {
  const KernelValue& v = kernel_->values[static_cast<std::size_t>(product)];
  const auto is_moderate = [&](int number) {
    const KernelValue& k = kernel_->values[static_cast<std::size_t>(number)];
    const long double size = k.kind == Kind::literal ? std::fabs(k.literal.real()) : 0;
    return size >= 0x1p-20L && size <= 0x1p20L;
  };
  if (v.kind == Kind::compute && v.op == Op::mul && v.dtype == DType::f32) {
    if (is_moderate(v.operands[1])) return {value_name(v.operands[0]), value_name(v.operands[1])};
    if (is_moderate(v.operands[0])) return {value_name(v.operands[1]), value_name(v.operands[0])};
  }
  return {value_name(product)};
}

std::string BodyPrinter::expression(int value) {
  const KernelValue& v = kernel_->values[static_cast<std::size_t>(value)];
  const std::string own = value_name(value);
  std::vector<std::string> operands;
  for (int o : v.operands) operands.push_back(value_name(o));
  switch (v.kind) {
    case Kind::load:
      return load(value);
    case Kind::literal:
      return literal(v.literal, fmt::format("c{}", value));
    case Kind::index:
      return fmt::format("to_{}((int64)({}))", sinter::name(v.dtype), affine(v.address, own));
    case Kind::inside:
      return fmt::format("(uint64)({}) < (uint64){}", affine(v.range.index, own, false),
                         length(v.range.length, own + "_n"));
    case Kind::wrap: {
      const std::string whole = fmt::format("(int64){}", operands[0]);
      return fmt::format("{} < 0 ? {} + {} : {}", whole, whole, length(v.length, own + "_n"), whole);
    }
    case Kind::within:
      return fmt::format("between({}, 0, {} - 1)", operands[0], length(v.length, own + "_n"));
    case Kind::search:
      return fmt::format("{}({}{}, {}, {}, {})", name(v.op), buffer(v.buffer),
                         v.address.constant.is(0) ? "" : " + " + affine(v.address, own),
                         length(v.length, own + "_n"), length(v.stride, own + "_s"),
                         fmt::join(operands, ", "));
    case Kind::random:
      return fmt::format("random_bits({}, {}, (int64)({}))", operands[0], operands[1],
                         affine(v.address, own));
    case Kind::compute:
      if (v.form == passes::MathForm::portable) return apply(v.op, v.dtype, operands);
      if (takes_factor(v)) operands = factors(v.operands[0]);
      return fmt::format("{}{}({})", prefix(v.form), name(v.op), fmt::join(operands, ", "));
    case Kind::reduce:
      break;
  }
  fail<InternalError>("a reduction is not an expression");
}

void BodyPrinter::segment(int axis) {
  const KernelAxis& a = kernel_->axes[static_cast<std::size_t>(axis)];
  const std::string n = extent(axis);
  lines_.add(
      fmt::format("const index segment_begin = between({}, 0, {});", element(a.bounds, a.first, "begin"), n));
  lines_.add(fmt::format("const index segment_end = between({}, segment_begin, {});",
                         element(a.bounds, a.end, "end"), n));
}

void BodyPrinter::declare(int value, const Load& load) {
  const KernelValue& v = kernel_->values[static_cast<std::size_t>(value)];
  const bool given = load && v.kind == Kind::load;
  lines_.add(fmt::format("const {} {} = {};", type_name(v.dtype), value_name(value),
                         given ? load(value) : expression(value)));
}

int BodyPrinter::lay_out(int index_bytes) {
  int offset = 0;
  for (KernelParam& p : params_) {
    const bool is_wide = p.kind == KernelParam::Kind::buffer || p.kind == KernelParam::Kind::phase ||
                         p.kind == KernelParam::Kind::scratch;
    const int size = is_wide                               ? 8
                     : p.kind == KernelParam::Kind::length ? index_bytes
                                                           : size_of(p.literal.dtype);
    offset = (offset + size - 1) / size * size;
    p.offset = offset;
    offset += size;
  }
  return (offset + 7) / 8 * 8;
}

namespace {
std::string param_type(const Kernel& k, const KernelParam& p) {
  if (p.kind == KernelParam::Kind::length) return "index ";
  if (p.kind == KernelParam::Kind::phase) return "int64 ";
  if (p.kind == KernelParam::Kind::scratch) return p.type + "* ";
  if (p.kind == KernelParam::Kind::literal) return type_name(p.literal.dtype) + " ";
  const KernelBuffer& b = k.buffers[static_cast<std::size_t>(p.buffer)];
  return fmt::format("{}{}* ", b.written ? "" : "const ", stored_type_name(b.dtype));
}
}  // namespace

std::string BodyPrinter::param_struct(std::string_view name) const {
  std::string text = fmt::format("struct {} {{\n", name);
  for (const KernelParam& p : params_) text += fmt::format("  {}{};\n", param_type(*kernel_, p), p.name);
  return text + "};\n";
}

std::vector<std::string> BodyPrinter::param_locals() const {
  std::vector<std::string> locals;
  for (const KernelParam& p : params_) {
    // What other blocks write is no const, nor restricted to one name.
    const char* before =
        p.kind == KernelParam::Kind::buffer || p.kind == KernelParam::Kind::scratch ? "" : "const ";
    const char* after = p.kind == KernelParam::Kind::buffer ? "__restrict " : "";
    locals.push_back(fmt::format("{}{}{}{} = p.{};", before, param_type(*kernel_, p), after, p.name, p.name));
  }
  return locals;
}

std::string header_comment(const Kernel& k, const Schedule& schedule) {
  std::string ops, buffers;
  for (const KernelValue& v : k.values)
    if (v.kind == Kind::compute || v.kind == Kind::reduce)
      ops += fmt::format("{}{}", ops.empty() ? "" : " ", name(v.op));
  constexpr std::size_t longest = 90;
  if (ops.size() > longest) ops = ops.substr(0, ops.rfind(' ', longest)) + " ...";
  std::string domain;
  for (const KernelAxis& a : k.axes)
    domain +=
        fmt::format("{}{}{}", domain.empty() ? "" : " x ", a.extent.str(), a.reduced ? " (folded)" : "");
  return fmt::format(
      "// {}\n// computes {}\n// over     {}\n// schedule {}\n// reads {} bytes, writes {} bytes\n", k.name,
      ops.empty() ? "a copy" : ops, domain.empty() ? "one element" : domain, schedule.str(),
      k.bytes(false).str(), k.bytes(true).str());
}

KernelSource emit(const Kernel& kernel, const Schedule& schedule, const Target& target) {
  return target.backend == Backend::cpu ? emit_cpp(kernel, schedule) : emit_cuda(kernel, schedule, target);
}

}  // namespace sinter::codegen
