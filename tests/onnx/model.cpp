#include "tests/onnx/model.h"

#include <cstring>
#include <fstream>
#include <sstream>

#include "ir/base/check.h"
#include "tests/onnx/protobuf.h"

// The numbers of fields are those of onnx.proto.
namespace sinter::testing::onnx {
namespace {

/// Calls `f` with each field of a message.
template <class F>
void for_each_field(std::string_view message, F&& f) {
  FieldReader reader(message);
  while (const std::optional<Field> field = reader.next()) f(*field);
}

template <class T>
void store(ir::Array& array, const std::vector<T>& values) {
  if (values.size() * sizeof(T) != array.data.size())
    fail<ValueError>("tensor: {} values of {} bytes for {} bytes", values.size(), sizeof(T),
                     array.data.size());
  if (!values.empty()) std::memcpy(array.data.data(), values.data(), array.data.size());
}

/// Numbers of the field int32_data: 16-bit floats come as their bits, the others as values.
void store_integers(ir::Array& array, const std::vector<std::int64_t>& values) {
  if (static_cast<std::int64_t>(values.size()) != array.elements())
    fail<ValueError>("tensor: {} values for {} elements", values.size(), array.elements());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const ir::Scalar scalar = is_16bit_float(array.dtype)
                                  ? ir::Scalar{array.dtype, static_cast<std::uint16_t>(values[i])}
                                  : ir::Scalar::from_whole(array.dtype, values[i]);
    array.set(static_cast<std::int64_t>(i), scalar);
  }
}

Attribute parse_attribute(std::string_view text, std::string& name) {
  Attribute attribute;
  for_each_field(text, [&](const Field& field) {
    switch (field.number) {
      case 1:
        name = field.bytes;
        break;
      case 2:
        attribute.real = field.real();
        break;
      case 3:
        attribute.integer = field.integer();
        break;
      case 4:
        attribute.text = field.bytes;
        break;
      case 5:
        attribute.tensor = parse_tensor(field.bytes);
        break;
      case 6:
        attribute.has_graph = true;
        break;
      case 7:
        append_floats(field, attribute.reals);
        break;
      case 8:
        append_integers(field, attribute.integers);
        break;
      default:
        break;
    }
  });
  return attribute;
}

Node parse_node(std::string_view text) {
  Node node;
  for_each_field(text, [&](const Field& field) {
    switch (field.number) {
      case 1:
        node.inputs.emplace_back(field.bytes);
        break;
      case 2:
        node.outputs.emplace_back(field.bytes);
        break;
      case 4:
        node.op = field.bytes;
        break;
      case 5: {
        std::string name;
        Attribute attribute = parse_attribute(field.bytes, name);
        node.attributes.emplace(std::move(name), std::move(attribute));
        break;
      }
      default:
        break;
    }
  });
  return node;
}

/// The field of that number that comes last, as text.
std::string text_field(std::string_view message, int number) {
  std::string text;
  for_each_field(message, [&](const Field& field) {
    if (field.number == number) text = field.bytes;
  });
  return text;
}

/// The name of an input or output, which must be a tensor.
std::string parse_value_info(std::string_view text) {
  std::string_view type;
  for_each_field(text, [&](const Field& field) {
    if (field.number == 2) type = field.bytes;
  });
  for_each_field(type, [&](const Field& field) {
    if (field.number != 1) fail<UnsupportedError>("inputs or outputs that are not tensors");
  });
  return text_field(text, 1);
}

void parse_graph(std::string_view text, Model& model) {
  for_each_field(text, [&](const Field& field) {
    switch (field.number) {
      case 1:
        model.nodes.push_back(parse_node(field.bytes));
        break;
      case 5:
        model.initializers.emplace(text_field(field.bytes, 8), parse_tensor(field.bytes));
        break;
      case 11:
        model.inputs.push_back(parse_value_info(field.bytes));
        break;
      case 12:
        model.outputs.push_back(parse_value_info(field.bytes));
        break;
      default:
        break;
    }
  });
}

/// The version that a model imports of ONNX's own operators.
void parse_opset(std::string_view text, Model& model) {
  std::string domain;
  std::int64_t version = 0;
  for_each_field(text, [&](const Field& field) {
    if (field.number == 1) domain = field.bytes;
    if (field.number == 2) version = field.integer();
  });
  if (domain.empty() || domain == "ai.onnx") model.opset = version;
}

}  // namespace

DType dtype_from_onnx(std::int64_t number) {
  switch (number) {
    case 1:
      return DType::f32;
    case 2:
      return DType::uint8;
    case 3:
      return DType::int8;
    case 6:
      return DType::int32;
    case 7:
      return DType::int64;
    case 9:
      return DType::boolean;
    case 10:
      return DType::f16;
    case 11:
      return DType::f64;
    case 16:
      return DType::bf16;
    default:
      break;
  }
  static const std::map<std::int64_t, std::string_view> names{
      {4, "uint16"},  {5, "int16"},      {8, "string"},     {12, "uint32"},
      {13, "uint64"}, {14, "complex64"}, {15, "complex128"}};
  const auto found = names.find(number);
  fail<UnsupportedError>("dtype {}",
                         found == names.end() ? std::to_string(number) : std::string(found->second));
}

ir::Array parse_tensor(std::string_view text) {
  std::vector<std::int64_t> shape, integers;
  std::vector<float> floats;
  std::vector<double> doubles;
  std::optional<std::string_view> raw;
  std::int64_t dtype = 0;
  for_each_field(text, [&](const Field& field) {
    switch (field.number) {
      case 1:
        append_integers(field, shape);
        break;
      case 2:
        dtype = field.integer();
        break;
      case 4:
        append_floats(field, floats);
        break;
      case 5:
      case 7:
        append_integers(field, integers);
        break;
      case 9:
        raw = field.bytes;
        break;
      case 10:
        append_doubles(field, doubles);
        break;
      default:
        break;
    }
  });
  ir::Array array(dtype_from_onnx(dtype), shape);
  if (raw) {
    store(array, std::vector<char>(raw->begin(), raw->end()));
  } else if (array.dtype == DType::f32) {
    store(array, floats);
  } else if (array.dtype == DType::f64) {
    store(array, doubles);
  } else {
    store_integers(array, integers);
  }
  return array;
}

Model parse_model(std::string_view text) {
  Model model;
  for_each_field(text, [&](const Field& field) {
    if (field.number == 7) parse_graph(field.bytes, model);
    if (field.number == 8) parse_opset(field.bytes, model);
  });
  return model;
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) fail<ValueError>("cannot read {}", path.string());
  return text.str();
}

}  // namespace sinter::testing::onnx
