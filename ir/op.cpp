#include "ir/op.h"

#include <unordered_map>

#include "ir/base/check.h"
#include "ir/reference_math.h"

namespace sinter::ir {
namespace {

struct OpText {
  std::string_view name, api, doc;
};

constexpr std::array op_texts{
#define SINTER_ELEMENTWISE(id, api, arity, rule, emit, fr, wr, flags, flops, derivative, doc) \
  OpText{#id, #api, doc},
#define SINTER_REDUCTION(id, api, combine, identity, accumulator, doc) OpText{#id, #api, doc},
#define SINTER_MOVEMENT(id, api, doc) OpText{#id, #api, doc},
#define SINTER_GATHER(id, api, doc) OpText{#id, #api, doc},
#define SINTER_SCATTER(id, api, form, doc) OpText{#id, #api, doc},
#define SINTER_SEARCH(id, api, arity, doc) OpText{#id, #api, doc},
#define SINTER_CONTRACTION(id, api, doc) OpText{#id, #api, doc},
#define SINTER_GENERATOR(id, api, doc) OpText{#id, #api, doc},
#include "ir/ops.def"
};

// The reference columns are expressions over a, b, c (and t); most use only some of them.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
constexpr std::array elementwise_infos{
#define SINTER_ELEMENTWISE(id, api, arity, rule, emit, float_ref, whole_ref, flags, flops, derivative, doc) \
  ElementwiseInfo{Op::id,                                                                                   \
                  arity,                                                                                    \
                  DTypeRule::rule,                                                                          \
                  emit,                                                                                     \
                  [](long double a, long double b, long double c) -> long double {                          \
                    return static_cast<long double>(float_ref);                                             \
                  },                                                                                        \
                  [](std::int64_t a, std::int64_t b, std::int64_t c, DType t) -> std::int64_t {             \
                    return static_cast<std::int64_t>(whole_ref);                                            \
                  },                                                                                        \
                  flags,                                                                                    \
                  flops,                                                                                    \
                  derivative},
#include "ir/ops.def"
};
#pragma GCC diagnostic pop

constexpr std::array reduction_infos{
#define SINTER_REDUCTION(id, api, combine, identity, accumulator, doc) \
  ReductionInfo{Op::id, Op::combine, Identity::identity, Accumulator::accumulator},
#include "ir/ops.def"
};

constexpr std::array scatter_forms{
#define SINTER_SCATTER(id, api, form, doc) ScatterForm::form,
#include "ir/ops.def"
};

constexpr std::array search_arities{
#define SINTER_SEARCH(id, api, arity, doc) arity,
#include "ir/ops.def"
};

/// The first operation of a family.
constexpr Op first_of(Family f) {
  Op first{};
  while (family(first) != f) first = static_cast<Op>(static_cast<int>(first) + 1);
  return first;
}

constexpr std::size_t index(Op op) {
  return static_cast<std::size_t>(op);
}

}  // namespace

const decltype(all_ops) all_ops{
#define SINTER_ELEMENTWISE(id, ...) Op::id,
#define SINTER_REDUCTION(id, ...) Op::id,
#define SINTER_MOVEMENT(id, ...) Op::id,
#define SINTER_GATHER(id, ...) Op::id,
#define SINTER_SCATTER(id, ...) Op::id,
#define SINTER_SEARCH(id, ...) Op::id,
#define SINTER_CONTRACTION(id, ...) Op::id,
#define SINTER_GENERATOR(id, ...) Op::id,
#include "ir/ops.def"
};

std::string_view name(Op op) {
  return op_texts[index(op)].name;
}
std::string_view api_name(Op op) {
  return op_texts[index(op)].api;
}
std::string_view doc(Op op) {
  return op_texts[index(op)].doc;
}

std::optional<Op> op_from_name(std::string_view text) {
  static const auto* by_name = [] {
    auto* map = new std::unordered_map<std::string_view, Op>;
    for (Op op : all_ops) map->emplace(api_name(op), op);
    for (Op op : all_ops) map->insert_or_assign(name(op), op);
    return map;
  }();
  auto it = by_name->find(text);
  return it == by_name->end() ? std::nullopt : std::optional<Op>(it->second);
}

const ElementwiseInfo& elementwise_info(Op op) {
  SINTER_ASSERT(is_elementwise(op), "{} is not elementwise", name(op));
  return elementwise_infos[index(op)];
}

const ReductionInfo& reduction_info(Op op) {
  SINTER_ASSERT(is_reduction(op), "{} is not a reduction", name(op));
  return reduction_infos[index(op) - elementwise_infos.size()];
}

ScatterForm scatter_form(Op op) {
  SINTER_ASSERT(is_scatter(op), "{} is not a scatter", name(op));
  return scatter_forms[index(op) - index(first_of(Family::scatter))];
}

int search_arity(Op op) {
  SINTER_ASSERT(is_search(op), "{} is not a search", name(op));
  return search_arities[index(op) - index(first_of(Family::search))];
}

bool reads_memory(Op op, std::size_t operand) {
  if (is_search(op)) return operand == 0;
  return is_scatter(op) && scatter_form(op) == ScatterForm::by_segment && operand == 2;
}

bool admits(DTypeRule rule, DType t) {
  switch (rule) {
    case DTypeRule::numeric:
      return !is_bool(t);
    case DTypeRule::floating:
      return is_float(t);
    case DTypeRule::logical:
      return is_bool(t);
    case DTypeRule::bitwise:
      return !is_float(t);
    case DTypeRule::shift:
      return is_whole(t);
    case DTypeRule::ordered:
    case DTypeRule::test:
    case DTypeRule::compare:
    case DTypeRule::select:
    case DTypeRule::cast:
      break;
  }
  return true;
}

DType reduction_result(Op op, DType operand) {
  switch (reduction_info(op).accumulator) {
    case Accumulator::wide:
      return is_float(operand) ? operand : DType::int64;
    case Accumulator::truth:
      return DType::boolean;
    case Accumulator::index:
      return DType::int64;
    case Accumulator::same:
      break;
  }
  return operand;
}

}  // namespace sinter::ir
