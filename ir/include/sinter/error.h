// Every error that sinter raises. Each message names the operation, its operands' shapes and dtypes, the rule
// that was broken, the user's line where it is known, and a hint.
#pragma once

#include <stdexcept>
#include <string>

namespace sinter {

/// Base of all errors. Catch this to catch everything that sinter throws.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Shapes, ranks or axes do not fit the operation.
class ShapeError : public Error {
 public:
  using Error::Error;
};

/// A dtype that the operation does not admit, or a scalar that the dtype cannot hold.
class DTypeError : public Error {
 public:
  using Error::Error;
};

/// A value, name, option, file or text that is not acceptable.
class ValueError : public Error {
 public:
  using Error::Error;
};

/// Generated source that the compiler refused, or a compiler that could not be run.
class CompileError : public Error {
 public:
  using Error::Error;
};

/// A device that is missing, lost, or out of memory.
class DeviceError : public Error {
 public:
  using Error::Error;
};

/// A correct request that this version cannot serve; the message says why and what to do instead.
class UnsupportedError : public Error {
 public:
  using Error::Error;
};

/// A fault of sinter itself. Please report it with the message.
class InternalError : public Error {
 public:
  using Error::Error;
};

}  // namespace sinter
