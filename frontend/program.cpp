#include "sinter/program.h"

#include "frontend/dot.h"
#include "ir/print.h"
#include "runtime/program.h"
#include "sinter/file.h"

namespace sinter {

std::string Program::explain() const {
  return impl_->explain();
}
std::string Program::json() const {
  return impl_->explain_json();
}
std::string Program::source() const {
  return impl_->source();
}
std::string Program::compile_report() const {
  return impl_->compile_report();
}
std::string Program::compile_json() const {
  return impl_->compile_json();
}
std::string Program::ptx() const {
  return impl_->ptx();
}
int Program::launches() const {
  return impl_->launches();
}

int Program::eager_launches() const {
  return impl_->eager_launches();
}

std::string Program::text(Stage stage) const {
  return ir::print(stage == Stage::captured ? impl_->captured() : impl_->optimized());
}

std::string Program::dot(Stage stage) const {
  switch (stage) {
    case Stage::captured:
      return frontend::dot(impl_->captured());
    case Stage::optimized:
      return frontend::dot(impl_->optimized(), "optimized");
    case Stage::fused:
      break;
  }
  return frontend::dot(impl_->optimized(), impl_->partition(), impl_->summaries());
}

void Program::write_dot(const std::string& path, Stage stage) const {
  write_file(path, dot(stage), "the DOT file");
}

}  // namespace sinter
