#include "runtime/steps.h"

#include <mutex>
#include <unordered_set>

namespace sinter::runtime {

const char* lasting_name(const std::string& name) {
  static std::mutex& mutex = *new std::mutex;
  static std::unordered_set<std::string>& names = *new std::unordered_set<std::string>;
  const std::lock_guard lock(mutex);
  return names.insert(name).first->c_str();
}

}  // namespace sinter::runtime
