#include "runtime/cuda/cublaslt.h"

#include <dlfcn.h>

#include <map>
#include <mutex>

#include "ir/base/check.h"
#include "ir/base/settings.h"
#include "runtime/cuda/find_library.h"

namespace sinter::runtime::cuda {
namespace {

// Newer ones refuse descriptions that they do not understand, by the size that those are made with.
constexpr std::size_t oldest = 12 * 10000;

template <class F>
void find(void* library, const char* symbol, F& function, std::string& missing) {
  function = reinterpret_cast<F>(dlsym(library, symbol));
  if (function == nullptr) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", symbol);
}

/// Why the library is of no use, or nothing.
std::string take_functions(void* library, CublasLt& lt) {
  std::string missing;
  find(library, "cublasLtCreate", lt.create, missing);
  find(library, "cublasLtGetStatusName", lt.status_name, missing);
  find(library, "cublasLtGetVersion", lt.version_number, missing);
  find(library, "cublasLtMatmul", lt.matmul, missing);
  find(library, "cublasLtMatmulAlgoGetHeuristic", lt.get_heuristic, missing);
  find(library, "cublasLtMatmulDescInit_internal", lt.init_description, missing);
  find(library, "cublasLtMatmulDescSetAttribute", lt.set_in_description, missing);
  find(library, "cublasLtMatrixLayoutInit_internal", lt.init_layout, missing);
  find(library, "cublasLtMatrixLayoutSetAttribute", lt.set_in_layout, missing);
  find(library, "cublasLtMatmulPreferenceInit_internal", lt.init_preference, missing);
  find(library, "cublasLtMatmulPreferenceSetAttribute", lt.set_in_preference, missing);
  if (!missing.empty()) return "lacks " + missing;
  if (lt.version_number() < oldest) return fmt::format("is version {}, and 12 is needed", lt.version());
  return "";
}

}  // namespace

std::string CublasLt::version() const {
  const std::size_t number = version_number();
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

CublasLt load_cublaslt(const std::string& setting) {
  CublasLt lt;
  const FoundLibrary found = find_library(
      {"cuBLASLt", "SINTER_CUBLASLT", setting, {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}},
      [&](void* library, const std::string&) { return take_functions(library, lt); });
  lt.path = found.path;
  lt.reason = found.reason;
  return lt;
}

const CublasLt& cublaslt() {
  static const CublasLt instance = load_cublaslt(settings().cublaslt);
  return instance;
}

cublasLtHandle_t cublaslt_handle(int device) {
  static std::mutex mutex;
  static std::map<int, cublasLtHandle_t> handles;  // as long as the process
  const CublasLt& lt = cublaslt();
  if (!lt.usable()) fail<DeviceError>("matrix products on a GPU are cuBLASLt's, and {}", lt.reason);
  const std::lock_guard lock(mutex);
  cublasLtHandle_t& handle = handles[device];
  if (handle == nullptr)
    if (const cublasStatus_t status = lt.create(&handle); status != CUBLAS_STATUS_SUCCESS)
      fail<DeviceError>("cuBLASLt cannot start on cuda:{}: {}", device, lt.status_name(status));
  return handle;
}

}  // namespace sinter::runtime::cuda
