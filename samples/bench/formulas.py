"""The workloads of compare.py: their formulas, their inputs, and how these are drawn.

A formula is written once, over the names that numpy, torch, JAX and CuPy call things by (names.py); numpy's is the
reference, in double precision. The tool has the same workloads in samples/suite.
"""
import functools
import math

import numpy as np

# The formulas, over what all libraries have. `m.wide` takes 16-bit values to f32, where the formula of a careful
# user does; `m.like(y, x)` takes y back to x's dtype; `m.dense` lays a permuted result out anew.

def gelu(m, x):
    return 0.5 * x * (1.0 + m.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def gelu_erf(m, x):
    return 0.5 * x * (1.0 + m.erf(x * math.sqrt(0.5)))


def softmax(m, x):
    numerator = m.exp(x - m.row_max(x))
    return numerator / m.row_sum(numerator)


def log_softmax(m, x):
    wide = m.wide(x)
    shifted = wide - m.row_max(wide)
    return m.like(shifted - m.log(m.row_sum(m.exp(shifted))), x)


def layernorm(m, x, weight, bias):
    wide = m.wide(x)
    centred = wide - m.row_mean(wide)
    normal = centred / m.sqrt(m.row_mean(centred * centred) + 1e-5)
    return m.like(normal * m.wide(weight) + m.wide(bias), x)


def rmsnorm(m, x, weight):
    wide = m.wide(x)
    return m.like(wide / m.sqrt(m.row_mean(wide * wide) + 1e-6) * m.wide(weight), x)


def add_rmsnorm(m, x, residual, weight):
    h = x + residual
    return h, rmsnorm(m, h, weight)


def layernorm_backward(m, x, weight, mean, rstd, dy):
    wide = m.wide(dy)
    normal, dnormal = (m.wide(x) - mean) * rstd, wide * m.wide(weight)
    dx = (dnormal - m.row_mean(dnormal) - normal * m.row_mean(dnormal * normal)) * rstd
    return m.like(dx, x), m.like(m.column_sum(wide * normal), x), m.like(m.column_sum(wide), x)


def rmsnorm_backward(m, x, weight, rstd, dy):
    wide = m.wide(dy)
    normal, dnormal = m.wide(x) * rstd, wide * m.wide(weight)
    dx = (dnormal - normal * m.row_mean(dnormal * normal)) * rstd
    return m.like(dx, x), m.like(m.column_sum(wide * normal), x)


def cross_entropy(m, logits, labels):
    wide = m.wide(logits)
    top = m.row_max(wide)
    return m.like((m.log(m.row_sum(m.exp(wide - top))) + top)[:, 0] - m.pick(wide, labels), logits)


def sum_and_sumsq(m, x):
    wide = m.wide(x)
    return m.like(m.column_sum(wide), x), m.like(m.column_sum(wide * wide), x)


def adamw(m, parameter, gradient, first, second):
    first = 0.9 * first + 0.1 * gradient
    second = 0.999 * second + 0.001 * gradient * gradient
    step = (first / 0.1) / (m.sqrt(second / 0.001) + 1e-8) + 0.01 * parameter
    return parameter - 1e-3 * step, first, second


def adamw_many(m, *tensors):
    if hasattr(m, "adamw_many"):
        return m.adamw_many(*tensors)
    return tuple(y for i in range(0, len(tensors), 4) for y in adamw(m, *tensors[i:i + 4]))


def mlp(m, x, *weights):
    for w, b in zip(weights[::2], weights[1::2]):
        x = gelu(m, x @ w + b)
    return x


class Input:
    """An input: its distribution, and the axes along which the rows or the columns of a result run in it."""

    def __init__(self, name, shape, how="normal", rows=None, columns=None, wide=False, taken=False,
                 one_often=False):
        self.name, self.shape, self.how, self.rows, self.columns = name, tuple(shape), how, rows, columns
        self.wide = wide            # f32 where the workload is in 16 bits
        self.taken = taken          # the formula takes rows by their numbers, and needs no others
        self.one_often = one_often  # half of the indices are 0


class Workload:
    """A formula, and its inputs as a function of the lengths.

    outputs says how a result is checked, one word for all or one each: by some of its "rows" or "columns", or as
    the "one" number that it is. `puts` says that the formula takes the number of the result's rows after its inputs,
    or, for the reference, which of them are wanted.
    """

    def __init__(self, formula, inputs, outputs="rows", flops=None, elementwise=False, puts=False):
        self.formula, self.inputs, self.outputs, self.puts = formula, inputs, outputs, puts
        self.flops = flops              # of its products; None for what is bound by memory
        self.elementwise = elementwise  # CuPy fuses it

    def how_checked(self, number):
        return self.outputs if isinstance(self.outputs, str) else self.outputs[number]


def matrix(p, name, how="normal"):
    return Input(name, (p["rows"], p["cols"]), how, rows=0, columns=1)


def row(p, name, length="cols"):
    return Input(name, (p[length],), columns=0)


def matrices(*names):
    return lambda p: [matrix(p, name) for name in names]


def statistic(p, name, how="normal"):
    return Input(name, (p["rows"], 1), how, rows=0, wide=True)


def transposed(p):
    return [matrix(p, "x"), Input("y", (p["cols"], p["rows"]), rows=1, columns=0)]


def nchw(p):
    return [Input("x", (p["batch"], p["dim"], p["rows"], p["cols"]), rows=0), Input("weight", (p["dim"],)),
            Input("bias", (p["dim"],))]


def optimizer(*names_and_shapes):
    inputs = []
    for name, shape in names_and_shapes:
        inputs += [Input(name, shape, rows=0), Input(name + "_gradient", shape, rows=0),
                   Input(name + "_m", shape, rows=0), Input(name + "_v", shape, "positive", rows=0)]
    return inputs


def transformer(p):
    dim, cols = p["dim"], p["cols"]
    tensors = [("tokens", (p["rows"], dim))]
    for layer in range(p["layers"]):
        for name in ("query", "key", "value", "out"):
            tensors += [(f"layer{layer}_{name}", (dim, dim)), (f"layer{layer}_{name}_bias", (dim,))]
        tensors += [(f"layer{layer}_up", (dim, cols)), (f"layer{layer}_up_bias", (cols,)),
                    (f"layer{layer}_down", (cols, dim))]
        tensors += [(f"layer{layer}_{name}", (dim,)) for name in
                    ("down_bias", "norm1_weight", "norm1_bias", "norm2_weight", "norm2_bias")]
    return optimizer(*tensors)


def product(p, *between):
    return ([Input("x", (p["rows"], p["dim"]), rows=0)] + list(between)
            + [Input("w", (p["dim"], p["cols"]), "weights")])


def product_flops(p):
    return 2 * p["rows"] * p["dim"] * p["cols"]


def layers_of(p):
    inputs = [Input("x", (p["batch"], p["dim"]), rows=0)]
    for i in range(p["layers"]):
        inputs += [Input(f"w{i}", (p["dim"], p["dim"]), "weights"), Input(f"b{i}", (p["dim"],))]
    return inputs


def embedding_backward(one_often):
    """The gradient of a table, of whose rows a batch was taken."""
    def inputs(p):
        return [Input("gradient", (p["batch"], p["cols"]), taken=True),
                Input("index", (p["batch"],), p["rows"], one_often=one_often)]
    return Workload(lambda m, gradient, index, rows: m.put(gradient, index, rows), inputs, puts=True)


WORKLOADS = {
    "gelu": Workload(gelu, matrices("x"), elementwise=True),
    "gelu_erf": Workload(gelu_erf, matrices("x")),
    "silu": Workload(lambda m, x: x * m.sigmoid(x), matrices("x"), elementwise=True),
    "swiglu": Workload(lambda m, gate, x: gate * m.sigmoid(gate) * x, matrices("gate", "x"), elementwise=True),
    "softmax": Workload(softmax, matrices("x")),
    "log_softmax": Workload(log_softmax, matrices("x")),
    "layernorm": Workload(layernorm, lambda p: [matrix(p, "x"), row(p, "weight"), row(p, "bias")]),
    "rmsnorm": Workload(rmsnorm, lambda p: [matrix(p, "x"), row(p, "weight")]),
    "add_rmsnorm": Workload(add_rmsnorm, lambda p: [matrix(p, "x"), matrix(p, "residual"), row(p, "weight")]),
    "layernorm_backward": Workload(
        layernorm_backward, lambda p: [matrix(p, "x"), row(p, "weight"), statistic(p, "mean"),
                                       statistic(p, "rstd", "positive"), matrix(p, "dy")],
        outputs=("rows", "columns", "columns")),
    "rmsnorm_backward": Workload(
        rmsnorm_backward, lambda p: [matrix(p, "x"), row(p, "weight"), statistic(p, "rstd", "positive"),
                                     matrix(p, "dy")], outputs=("rows", "columns")),
    "cross_entropy": Workload(cross_entropy, lambda p: [matrix(p, "logits"),
                                                        Input("labels", (p["rows"],), p["cols"], rows=0)]),
    "column_sum": Workload(lambda m, x: m.column_sum(x), matrices("x"), outputs="columns"),
    "sum_and_sumsq": Workload(sum_and_sumsq, matrices("x"), outputs="columns"),
    "sum": Workload(lambda m, x: m.sum(x), matrices("x"), outputs="one"),
    "add_transposed": Workload(lambda m, x, y: x + y.T, transposed),
    "permute0213": Workload(lambda m, x: m.dense(m.permute(x, (0, 2, 1, 3)) * 0.125),
                            lambda p: [Input("x", (p["batch"], p["rows"], p["dim"], p["cols"]), rows=0)]),
    "nchw_to_nhwc": Workload(lambda m, x, w, b: m.dense(m.permute(x, (0, 2, 3, 1)) * w + b), nchw),
    "embedding": Workload(lambda m, table, index: m.take(table, index),
                          lambda p: [Input("table", (p["rows"], p["cols"]), taken=True),
                                     Input("index", (p["batch"],), p["rows"], rows=0)]),
    "embedding_backward": embedding_backward(False),
    "embedding_backward_one_often": embedding_backward(True),
    "adamw": Workload(adamw, lambda p: optimizer(*[("parameter", (p["rows"], p["cols"]))]), elementwise=True),
    "adamw_many": Workload(adamw_many, transformer),
    "matmul": Workload(lambda m, x, w: x @ w, product, flops=product_flops),
    "linear_gelu": Workload(lambda m, x, w, b: gelu(m, x @ w + b),
                            lambda p: product(p) + [Input("bias", (p["cols"],))], flops=product_flops),
    "layernorm_linear_gelu": Workload(
        lambda m, x, g, c, w, b: gelu(m, layernorm(m, x, g, c) @ w + b),
        lambda p: product(p, Input("norm_weight", (p["dim"],)), Input("norm_bias", (p["dim"],)))
        + [Input("bias", (p["cols"],))], flops=product_flops),
    "mlp": Workload(mlp, layers_of, flops=lambda p: 2 * p["layers"] * p["batch"] * p["dim"] ** 2),
}


# The generator of draw.cpp: SplitMix64 and the method of Box and Muller. What it has drawn once it keeps.

def period_of(number):
    """Numbers after which draw.cpp repeats those of an input."""
    return 1 << 22 if number < 16 else (1 << 16) + 1


def mix(z):
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
    return z ^ (z >> np.uint64(31))


def bits(number, count):
    with np.errstate(over="ignore"):
        start = mix(np.uint64(0)) ^ mix(~np.uint64(number))
        return mix(start + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9e3779b97f4a7c15))


@functools.lru_cache(maxsize=None)
def normals(number):
    """All up to where they repeat, as f64."""
    pairs = (period_of(number) + 1) // 2
    uniform = ((bits(number, 2 * pairs) >> np.uint64(11)).astype(np.float64) + 1) * 2.0 ** -53
    radius, angle = np.sqrt(-2 * np.log(uniform[::2])), 2 * math.pi * uniform[1::2]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).reshape(-1)


def to_bf16(values):
    """The bits, rounded to the nearest, halves to even."""
    wide = values.astype(np.float32).view(np.uint32)
    return ((wide + 0x7fff + ((wide >> 16) & 1)) >> 16).astype(np.uint16)


def from_bf16(stored):
    return (stored.astype(np.uint32) << 16).view(np.float32)


def draw(number, given, dtype):
    """The numbers of the input of that number, up to where they repeat, as they are stored: bf16 as the bits."""
    count = min(math.prod(given.shape), period_of(number))
    if not isinstance(given.how, str):  # labels, and other indices
        drawn = bits(number, count)
        places = (drawn % np.uint64(given.how)).astype(np.int64)
        return np.where(drawn >> np.uint64(63) == 0, 0, places) if given.one_often else places
    values = normals(number)[:count]
    if given.how == "weights":
        values = values / math.sqrt(given.shape[0])
    if given.how == "positive":
        values = abs(values)
    return to_bf16(values) if dtype == "bf16" and not given.wide else values.astype(np.float32)


def as_doubles(stored):
    """Numbers as draw gives them, for the reference; indices stay whole."""
    if stored.dtype == np.uint16:
        return from_bf16(stored).astype(np.float64)
    return stored if stored.dtype == np.int64 else stored.astype(np.float64)
