// The few file operations that the runtime is built on, each of which finishes what it begins: interrupted
// calls are resumed, short writes continued, descriptors closed.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace sinter::runtime {

/// An open file, closed when it goes.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~FileDescriptor();

  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

/// Writes everything, or returns false with errno set.
bool write_all(int file, std::string_view bytes);

/// Reads `size` bytes, or returns false (errno is 0 if the file is shorter).
bool read_all(int file, std::string& bytes, std::size_t size);

/// Makes a file of that content, 0600 whatever the umask; false with errno set if it cannot, or if it is
/// there.
bool write_new_file(const std::string& path, std::string_view bytes);

/// Content of a regular file; false with errno set if it cannot be read.
bool read_file(const std::string& path, std::string& bytes);

/// $TMPDIR if that is an absolute path, else /tmp; that too, with a warning, where $TMPDIR is no directory
/// that can be written.
std::string temporary_directory();

}  // namespace sinter::runtime
