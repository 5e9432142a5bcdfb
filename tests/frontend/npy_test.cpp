// .npy files, against files as NumPy writes them.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/catch.h"
#include "tests/frontend/tensors.h"

using namespace sinter;
using namespace sinter::testing;
namespace fs = std::filesystem;

namespace {

/// A directory of its own for the test, removed afterwards.
struct Directory {
  fs::path path;
  Directory() {
    std::string name = (fs::temp_directory_path() / "sinter-npy-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~Directory() { fs::remove_all(path); }
  std::string file(const std::string& name) const { return (path / name).string(); }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(file(name), std::ios::binary) << bytes;
    return file(name);
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator()));
  }
};

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A file as the format's description has it: version, length of the header, header, elements.
std::string npy(int major, std::string header, const std::string& elements) {
  std::string file("\x93NUMPY", 6);
  file += static_cast<char>(major);
  file += '\0';
  const auto length = static_cast<std::uint32_t>(header.size());
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) file += static_cast<char>(length >> (8 * i));
  return file + header + elements;
}

template <class T>
std::string raw(std::vector<T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace

TEST_CASE("every dtype and shape is read back as it was saved") {
  const Directory directory;
  for (const DType t : all_dtypes)
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 3}, Shape{0, 4}, Shape{1, 2, 3}}) {
      std::int64_t n = 1;
      for (const std::int64_t length : shape) n *= length;
      const Tensor x = reshape(arange(n).astype(t), shape);
      const std::string path = directory.file("x.npy");
      save_npy(x, path);
      CHECK(same_bits(t == bf16 ? load(path, bf16) : load(path), x));
    }
  CHECK(directory.files() == 1);
}

TEST_CASE("a saved file is byte for byte what numpy.save writes") {
  const Directory directory;
  save_npy(floats({1, 2}), directory.file("x.npy"));
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  header.resize(117, ' ');
  CHECK(bytes_of(directory.file("x.npy")) == npy(1, header + "\n", raw<float>({1, 2})));
}

TEST_CASE("versions 2 and 3, double quotes and Fortran order are read") {
  const Directory directory;
  const std::string elements = raw<float>({1, 4, 2, 5, 3, 6});
  for (int major : {1, 2, 3}) {
    const std::string path = directory.write(
        "x.npy", npy(major, "{\"fortran_order\":True,\"shape\":(2,3),\"descr\":\"<f4\"}\n", elements));
    const Tensor x = from_npy(path);
    CHECK(x.shape() == Shape{2, 3});
    CHECK(numbers(x) == std::vector<double>{1, 2, 3, 4, 5, 6});
  }
}

TEST_CASE("the other byte order is read") {
  const Directory directory;
  const std::string header = "{'descr': '>i4', 'fortran_order': False, 'shape': (2,), }\n";
  const Tensor x = load(directory.write("x.npy", npy(1, header, {"\0\0\0\1\xff\xff\xff\xfe", 8})));
  CHECK(x.dtype() == int32);
  CHECK(numbers(x) == std::vector<double>{1, -2});
}

TEST_CASE("views are saved in their own order") {
  const Directory directory;
  const Tensor x = permute_dims(floats({1, 2, 3, 4}, {2, 2}), {1, 0});
  save_npy(x, directory.file("x.npy"));
  CHECK(numbers(load(directory.file("x.npy"))) == std::vector<double>{1, 3, 2, 4});
}

TEST_CASE("a file that is not what it should be is refused with what is wrong") {
  const Directory directory;
  const auto refused = [&](const std::string& bytes, const std::string& why) {
    INFO(why);
    CHECK_THROWS_WITH(load(directory.write("x.npy", bytes)),
                      Catch::Matchers::ContainsSubstring(why) && Catch::Matchers::ContainsSubstring("x.npy"));
  };
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n";
  refused("", "does not begin with");
  refused("PK\3\4 and so on", "does not begin with");
  refused(npy(1, good, "").substr(0, 8), "ends within its header");
  refused(npy(1, good, "").substr(0, 40), "ends within its header");
  refused(npy(4, good, raw<float>({1, 2})), "version is 4");
  refused(npy(1, good, raw<float>({1})), "take 8 bytes, but 4 follow");
  refused(npy(1, good, raw<float>({1, 2, 3})), "take 8 bytes, but 12 follow");
  refused(npy(1, "{'descr': '<c8', 'fortran_order': False, 'shape': (), }", ""), "'<c8' has no counterpart");
  refused(npy(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (), }", ""), "records");
  refused(npy(1, "{'descr': '<f4', 'shape': (), }", ""), "must all be there");
  refused(npy(1, "{'descr': '<f4', 'fortran_order': 1, 'shape': (), }", ""), "neither True nor False");
  refused(npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", ""), "not negative");
  refused(npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }", ""),
          "more bytes than can be addressed");
  CHECK_THROWS_WITH(load(directory.file("none.npy")), Catch::Matchers::ContainsSubstring("No such file"));
  const std::string floats_file = directory.write("f.npy", npy(1, good, raw<float>({1, 2})));
  CHECK_THROWS_AS(load(floats_file, bf16), ValueError);
}

TEST_CASE("a link that is written to stays, and so does what is no file") {
  const Directory directory;
  const std::string file = directory.file("x.npy"), link = directory.file("link"),
                    pipe = directory.file("pipe");
  save_npy(floats({1}), file);
  fs::create_symlink(file, link);
  save_npy(floats({2}), link);
  CHECK(fs::is_symlink(link));
  CHECK(from_npy(file).item<float>() == 2);

  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  save_npy(floats({1}), pipe);
  char magic[6] = {};
  CHECK(::read(reader, magic, sizeof(magic)) == sizeof(magic));
  CHECK(std::string(magic + 1, 5) == "NUMPY");
  ::close(reader);
  CHECK(fs::is_fifo(pipe));
  CHECK(directory.files() == 3);
}

TEST_CASE("a file that cannot be written leaves nothing behind") {
  const Directory directory;
  fs::create_directory(directory.file("taken.npy"));
  CHECK_THROWS_AS(save_npy(floats({1}), directory.file("taken.npy")), ValueError);
  CHECK_THROWS_WITH(save_npy(floats({1}), directory.file("no/x.npy")),
                    Catch::Matchers::ContainsSubstring("No such file"));
  CHECK(directory.files() == 1);
}
