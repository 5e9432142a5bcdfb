#include "codegen/index_map.h"

#include "ir/parse.h"
#include "tests/catch.h"

using namespace sinter;
using namespace sinter::codegen;
using ir::Dim;

namespace {

const Dim m = Dim::symbol("M"), n = Dim::symbol("N");

/// The map of the operand of the graph's output, for axes of the output's shape.
struct Moved {
  Atoms atoms;
  IndexMap map;
};

Moved moved(std::string_view input, std::string_view expression) {
  const ir::Graph g = ir::parse(std::string("graph @g(%x: f32")
                                    .append(input)
                                    .append(") {\n  return ")
                                    .append(expression)
                                    .append("\n}\n"));
  Moved result;
  IndexMap own;
  const ir::Value out = g.outputs()[0].value;
  for (const Dim& d : g.shape(out)) own.push_back(Affine::atom(result.atoms.axis(d)));
  result.map = operand_index(g, out, own, result.atoms);
  return result;
}

Affine axis(int i) {
  return Affine::atom(i);
}

}  // namespace

TEST_CASE("affine sums keep their terms sorted, and drop those that cancel") {
  const Affine sum = axis(2) * 3 + axis(0) + Affine::of(5) + axis(2) * -3;
  CHECK(sum == axis(0) + Affine::of(5));
  CHECK((axis(1) * 4 + axis(0)).terms.front().atom == 0);
  CHECK((axis(1) * 0 + Affine::of(2)).is_constant());
  CHECK((axis(1) * m).factor(1) == m);
  CHECK((axis(1) * m).factor(0).is(0));
}

TEST_CASE("a quotient and a remainder of terms that divide need no division") {
  Atoms atoms;
  atoms.axis(4), atoms.axis(8), atoms.axis(2);
  const Affine line = axis(0) * 16 + axis(1) * 2 + axis(2);
  CHECK(atoms.quotient(line, 2, 32) == axis(0) * 8 + axis(1));
  CHECK(atoms.remainder(line, 2) == axis(2));
  CHECK(atoms.quotient(line, 16, 4) == axis(0));
  CHECK(atoms.remainder(line, 16) == axis(1) * 2 + axis(2));
  CHECK(atoms.quotient(line + Affine::of(1), 4, 17) != axis(0) * 4);
  CHECK(atoms.quotient(axis(0) * 16 + Affine::of(3), 16, 4) == axis(0));
  CHECK(atoms.quotient(line, 1, 64) == line);
  CHECK(atoms.remainder(line, 1) == Affine::of(0));
}

TEST_CASE("a quotient that may carry is an atom of its own, made once") {
  Atoms atoms;
  atoms.axis(4), atoms.axis(9);
  const Affine line = axis(0) * 8 + axis(1);  // i1 may be 8
  const Affine first = atoms.quotient(line, 8, 5);
  CHECK(first == Affine::atom(2));
  CHECK(atoms[2].kind == Atom::Kind::quotient);
  CHECK(atoms[2].index == line);
  CHECK(atoms[2].extent.is(5));
  CHECK(atoms.quotient(line, 8, 5) == first);
  CHECK(atoms.remainder(line, 8) == Affine::atom(3));
  CHECK(atoms[3].extent.is(8));
  CHECK(atoms.size() == 4);
}

TEST_CASE("negative terms and constants are not split") {
  Atoms atoms;
  atoms.axis(4), atoms.axis(8);
  CHECK(atoms.quotient(axis(0) * 8 + axis(1) * -1 + Affine::of(7), 8, 4) == Affine::atom(2));
  CHECK(atoms.quotient(axis(0) * 8 + Affine::of(-1), 8, 4) == Affine::atom(3));
}

TEST_CASE("lengths may be symbols") {
  Atoms atoms;
  atoms.axis(m), atoms.axis(8), atoms.axis(n);
  CHECK(atoms.quotient(axis(0) * 8 + axis(1), 8, m) == axis(0));
  CHECK(atoms.remainder(axis(0) * 8 + axis(1), 8) == axis(1));
  CHECK(atoms.quotient(axis(1) * (m * n) + Affine::of(0), n, m) == axis(1) * m);
  // i2 is below N, but no rule knows it: a division, which is right for all values.
  CHECK(atoms[atoms.quotient(axis(0) * n + axis(2), n, m).terms[0].atom].kind == Atom::Kind::quotient);
}

TEST_CASE("broadcasting, permuting, slicing and flipping are maps without divisions") {
  CHECK(moved("[3, 1]", "broadcast_to(%x, shape=[5, 3, 4])").map == IndexMap{axis(1), Affine::of(0)});
  CHECK(moved("[3, 4, 5]", "permute_dims(%x, axes=[2, 0, 1])").map == IndexMap{axis(1), axis(2), axis(0)});
  CHECK(moved("[9, 4]", "slice(%x, ranges=[7:1:-2, 1:])").map ==
        IndexMap{axis(0) * -2 + Affine::of(7), axis(1) + Affine::of(1)});
  CHECK(moved("[M, 4]", "flip(%x, axes=[0])").map == IndexMap{axis(0) * -1 + Affine::of(m - 1), axis(1)});
}

TEST_CASE("a reshape divides only where axes are split and joined across each other") {
  CHECK(moved("[6, 4]", "reshape(%x, shape=[24])").map.size() == 2);
  CHECK(moved("[24]", "reshape(%x, shape=[6, 4])").map == IndexMap{axis(0) * 4 + axis(1)});
  CHECK(moved("[M, 8, 4]", "reshape(%x, shape=[M, 32])").map[0] == axis(0));
  CHECK(moved("[M, 32]", "reshape(%x, shape=[M, 8, 4])").map == IndexMap{axis(0), axis(1) * 4 + axis(2)});
  CHECK(moved("[M, N, 1]", "reshape(%x, shape=[1, M, N])").map ==
        IndexMap{axis(0) * m + axis(1), axis(2), Affine::of(0)});
  const Moved across = moved("[4, 6]", "reshape(%x, shape=[8, 3])");
  REQUIRE(across.atoms.size() == 4);
  CHECK(across.atoms[2].index == axis(0) * 3 + axis(1));
  CHECK(across.atoms[2].divisor.is(6));
  CHECK(across.atoms[2].kind == Atom::Kind::remainder);
  CHECK(across.atoms[3].kind == Atom::Kind::quotient);
  CHECK(across.atoms[3].extent.is(4));
  CHECK(across.map == IndexMap{Affine::atom(3), Affine::atom(2)});
  // [4, 6] as [2, 2, 2, 3]: every part divides.
  CHECK(moved("[4, 6]", "reshape(%x, shape=[2, 2, 2, 3])").map ==
        IndexMap{axis(0) * 2 + axis(1), axis(2) * 3 + axis(3)});
}

TEST_CASE("a reshape of nothing reads nothing") {
  CHECK(moved("[0, 6]", "reshape(%x, shape=[3, 0])").map == IndexMap{Affine::of(0), Affine::of(0)});
}
