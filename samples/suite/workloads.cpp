#include <algorithm>

#include "samples/suite/parts.h"

namespace suite {

std::vector<Parameter> matrix_parameters() {
  return {{"rows", "4096"}, {"cols", "4096"}, dtype_parameter()};
}

Input matrix_input(const Parameters& p, std::string name, Draw draw) {
  return {std::move(name), p.dtype(), {p.length("rows"), p.length("cols")}, draw};
}
Input row_input(const Parameters& p, std::string name) {
  return {std::move(name), p.dtype(), {p.length("cols")}};
}
std::vector<Input> one_matrix(const Parameters& p) {
  return {matrix_input(p, "x")};
}

const std::vector<Workload>& workloads() {
  static const std::vector<Workload> all = [] {
    std::vector<Workload> list;
    for (auto* part : {elementwise_workloads, row_workloads, norm_backward_workloads, sum_workloads,
                       layout_workloads, optimizer_workloads, product_workloads})
      std::ranges::move(part(), std::back_inserter(list));
    return list;
  }();
  return all;
}

const Workload* find_workload(std::string_view name) {
  const auto found = std::ranges::find(workloads(), name, &Workload::name);
  return found == workloads().end() ? nullptr : &*found;
}

}  // namespace suite
