// A bias that the library adds at the end of a matrix product: the addition joins the product's group.
#include "passes/fuser.h"
#include "passes/join_bias.h"

namespace sinter::passes {

using ir::Value;

/// The group of the product, if `node` adds a bias to it that its library can add, else -1. The product must
/// have no other use, since it is never stored, and the bias lie in an input as one dense row: what others
/// compute is better fused with them.
int Fuser::product_with_bias(Value node) const {
  if (!library_.adds_bias) return -1;
  const std::optional<BiasedProduct> sum = biased_product(g_, node);
  if (!sum || users_[sum->product.id] != 1) return -1;
  const std::optional<ir::View>& bias = views_[sum->bias.id];
  if (!bias || g_.op(bias->base) != ir::Op::input || g_.dtype(bias->base) != g_.dtype(node)) return -1;
  const ir::Shape& shape = g_.shape(node);
  return is_row(g_.shape(sum->bias), *bias, shape[shape.rank() - 1]) ? group_of_[sum->product.id] : -1;
}

void Fuser::add_bias(int product, Value node) {
  Building& group = groups_[static_cast<std::size_t>(product)];
  group.nodes.push_back(node);
  group.last = node.id;
  group_of_[node.id] = product;
  for (const Edge& e : edges_of(node))
    if (group_of_[e.trace->source.id] != product) read_stored(product, e.trace->source);
  raise_horizon(product, node.id);
}

}  // namespace sinter::passes
