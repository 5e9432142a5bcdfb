// Orders of work on a device, and points in them.
//
// What is started on one stream runs in the order in which it was started; between streams there is no order
// but the one that marks make. The CPU has no streams: a null pointer stands for its order, in which
// everything has run when the call that started it returns.
#pragma once

#include <memory>

namespace sinter::runtime {

/// A point in the work of a stream.
class Mark {
 public:
  virtual ~Mark() = default;
  /// Whether everything before it has run.
  virtual bool passed() = 0;
  /// Blocks this thread until then.
  virtual void wait() = 0;
};

/// There is one object per stream, so that equal pointers mean the same stream.
class Stream {
 public:
  virtual ~Stream() = default;
  /// The point after everything that was started so far.
  virtual std::unique_ptr<Mark> mark() = 0;
  /// Whatever is started on this stream from now on runs after everything that was started on `other`.
  virtual void follow(Stream& other) = 0;
};

}  // namespace sinter::runtime
