// Directories that are there while something is compiled.
//
// A process that is ended meanwhile, by ^C, say, cannot remove its directories. The next one that makes some
// does it: a directory in use has a locked file in it, and the system ends a lock with its process.
#pragma once

#include <string>

#include "runtime/file.h"

namespace sinter::runtime {

/// A new directory for our own use alone (0700), under the directory of temporary files; with its content it
/// is removed when the object goes, unless it is kept.
class PrivateDirectory {
 public:
  /// Throws CompileError where none can be made.
  PrivateDirectory();
  PrivateDirectory(const PrivateDirectory&) = delete;
  PrivateDirectory& operator=(const PrivateDirectory&) = delete;
  ~PrivateDirectory();

  const std::string& path() const { return path_; }
  void keep();

 private:
  std::string path_;
  FileDescriptor lock_;
  bool kept_ = false;
};

/// Removes those that processes of this user have left behind. The first PrivateDirectory of a process does
/// it.
void remove_abandoned_directories();

}  // namespace sinter::runtime
