#include "sinter/doctor.h"

#include "runtime/doctor.h"

namespace sinter {
namespace {

Health health_of(runtime::Health health) {
  switch (health) {
    case runtime::Health::good:
      return Health::good;
    case runtime::Health::absent:
      return Health::absent;
    case runtime::Health::bad:
      break;
  }
  return Health::bad;
}

}  // namespace

std::vector<Finding> examine_machine() {
  std::vector<Finding> findings;
  for (const runtime::Finding& f : runtime::examine())
    findings.push_back({f.subject, f.value, health_of(f.health), f.hint});
  return findings;
}

std::string doctor_report() {
  return runtime::doctor_report(runtime::examine());
}

}  // namespace sinter
