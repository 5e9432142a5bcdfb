// cuBLASLt, loaded when first used.
#pragma once

#include <cublasLt.h>

#include <string>

namespace sinter::runtime::cuda {

/// The functions that matrix products need, by the names in cublasLt.h without their prefix.
struct CublasLt {
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtGetStatusName) status_name = nullptr;
  decltype(&cublasLtGetVersion) version_number = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) get_heuristic = nullptr;
  decltype(&cublasLtMatmulDescInit_internal) init_description = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) set_in_description = nullptr;
  decltype(&cublasLtMatrixLayoutInit_internal) init_layout = nullptr;
  decltype(&cublasLtMatrixLayoutSetAttribute) set_in_layout = nullptr;
  decltype(&cublasLtMatmulPreferenceInit_internal) init_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_in_preference = nullptr;

  std::string path;    // of the library
  std::string reason;  // why there is none: what was searched, where, and the variable to set

  bool usable() const { return reason.empty(); }
  /// "13.1.0"; for a library that is there.
  std::string version() const;
};

/// Looks for the library where the setting SINTER_CUBLASLT says.
CublasLt load_cublaslt(const std::string& setting);

/// The process's own, looked for at the first call.
const CublasLt& cublaslt();

/// The library's object for a GPU, which must be the current one; made at the first call. Throws DeviceError
/// without the library.
cublasLtHandle_t cublaslt_handle(int device);

}  // namespace sinter::runtime::cuda
