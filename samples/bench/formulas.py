"""The workloads of compare.py: their formulas, their inputs, and how these are drawn.

A formula is written once, over the names that numpy, torch and JAX call things by; numpy's is the reference, in
double precision. The tool has the same workloads in samples/suite/workloads.cpp.
"""
import math

import numpy as np

PERIOD = 1 << 22  # numbers after which draw.cpp repeats them

# The formulas, over what all libraries have. `m.wide` takes 16-bit values to f32, where the formula of a careful
# user does; `m.like(y, x)` takes y back to x's dtype.

def gelu(m, x):
    return 0.5 * x * (1.0 + m.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def gelu_erf(m, x):
    return 0.5 * x * (1.0 + m.erf(x * math.sqrt(0.5)))


def softmax(m, x):
    numerator = m.exp(x - m.row_max(x))
    return numerator / m.row_sum(numerator)


def layernorm(m, x, weight, bias):
    wide = m.wide(x)
    centred = wide - m.row_mean(wide)
    normal = centred / m.sqrt(m.row_mean(centred * centred) + 1e-5)
    return m.like(normal * m.wide(weight) + m.wide(bias), x)


def add_rmsnorm(m, x, residual, weight):
    h = x + residual
    wide = m.wide(h)
    return h, m.like(wide / m.sqrt(m.row_mean(wide * wide) + 1e-6) * m.wide(weight), x)


def cross_entropy(m, logits, labels):
    wide = m.wide(logits)
    top = m.row_max(wide)
    return m.like((m.log(m.row_sum(m.exp(wide - top))) + top)[:, 0] - m.pick(wide, labels), logits)


def adamw(m, parameter, gradient, first, second):
    first = 0.9 * first + 0.1 * gradient
    second = 0.999 * second + 0.001 * gradient * gradient
    step = (first / 0.1) / (m.sqrt(second / 0.001) + 1e-8) + 0.01 * parameter
    return parameter - 1e-3 * step, first, second


def mlp(m, x, *weights):
    for w, b in zip(weights[::2], weights[1::2]):
        x = gelu(m, x @ w + b)
    return x


class Workload:
    """A formula with its inputs: functions of the lengths that give name, shape and distribution."""

    def __init__(self, formula, inputs, by_rows=True, magnitude=None, flops=None):
        self.formula, self.inputs, self.by_rows = formula, inputs, by_rows
        self.magnitude = magnitude  # what a sum's rounding errors are relative to
        self.flops = flops


def matrix(*names):
    return lambda p: [(name, (p["rows"], p["cols"]), "normal") for name in names]


def with_rows_of_weights(matrices, vectors):
    return lambda p: matrix(*matrices)(p) + [(name, (p["cols"],), "normal") for name in vectors]


def product(p, *between):
    return ([("x", (p["rows"], p["dim"]), "normal")] + list(between)
            + [("w", (p["dim"], p["cols"]), "weights")])


def product_flops(p):
    return 2 * p["rows"] * p["dim"] * p["cols"]


def layers_of(p):
    inputs = [("x", (p["batch"], p["dim"]), "normal")]
    for i in range(p["layers"]):
        inputs += [(f"w{i}", (p["dim"], p["dim"]), "weights"), (f"b{i}", (p["dim"],), "normal")]
    return inputs


WORKLOADS = {
    "gelu": Workload(gelu, matrix("x")),
    "gelu_erf": Workload(gelu_erf, matrix("x")),
    "silu": Workload(lambda m, x: x * m.sigmoid(x), matrix("x")),
    "swiglu": Workload(lambda m, gate, x: gate * m.sigmoid(gate) * x, matrix("gate", "x")),
    "softmax": Workload(softmax, matrix("x")),
    "layernorm": Workload(layernorm, with_rows_of_weights(["x"], ["weight", "bias"])),
    "add_rmsnorm": Workload(add_rmsnorm, with_rows_of_weights(["x", "residual"], ["weight"])),
    "cross_entropy": Workload(cross_entropy, lambda p: [("logits", (p["rows"], p["cols"]), "normal"),
                                                        ("labels", (p["rows"],), p["cols"])]),
    "column_sum": Workload(lambda m, x: m.column_sum(x), matrix("x"), by_rows=False,
                           magnitude=lambda m, x: m.column_sum(abs(x))),
    "sum": Workload(lambda m, x: m.sum(x), matrix("x"), by_rows=False, magnitude=lambda m, x: m.sum(abs(x))),
    "add_transposed": Workload(lambda m, x, y: x + y.T, lambda p: [("x", (p["rows"], p["cols"]), "normal"),
                                                                  ("y", (p["cols"], p["rows"]), "normal")]),
    "adamw": Workload(adamw, lambda p: matrix("parameter", "gradient", "m")(p)
                      + [("v", (p["rows"], p["cols"]), "positive")]),
    "matmul": Workload(lambda m, x, w: x @ w, product, flops=product_flops),
    "linear_gelu": Workload(lambda m, x, w, b: gelu(m, x @ w + b),
                            lambda p: product(p) + [("bias", (p["cols"],), "normal")], flops=product_flops),
    "layernorm_linear_gelu": Workload(
        lambda m, x, g, c, w, b: gelu(m, layernorm(m, x, g, c) @ w + b),
        lambda p: product(p, ("norm_weight", (p["dim"],), "normal"), ("norm_bias", (p["dim"],), "normal"))
        + [("bias", (p["cols"],), "normal")], flops=product_flops),
    "mlp": Workload(mlp, layers_of, flops=lambda p: 2 * p["layers"] * p["batch"] * p["dim"] ** 2),
}


def cases():
    """(workload, dtype, lengths), in the order of the table."""
    def square(rows, cols=None):
        return {"rows": rows, "cols": cols or rows}

    both = ("f32", "bf16")
    table = [("gelu", both, square(16384)), ("gelu_erf", both, square(16384)), ("silu", both, square(16384, 11008)),
             ("swiglu", both, square(16384, 11008)), ("softmax", both, square(16384)),
             ("softmax", both, square(4096, 131072)), ("softmax", both, square(1 << 20, 128)),
             ("layernorm", both, square(16384, 4096)), ("add_rmsnorm", both, square(16384, 8192)),
             ("cross_entropy", ("bf16",), square(8192, 128256)), ("column_sum", both, square(65536, 4096)),
             ("sum", both, square(16384)), ("add_transposed", both, square(16384)),
             ("adamw", ("f32",), square(8192, 16384)), ("matmul", both, {"rows": 8192, "cols": 8192, "dim": 8192}),
             ("linear_gelu", ("bf16",), {"rows": 8192, "cols": 4096, "dim": 4096}),
             ("layernorm_linear_gelu", ("bf16",), {"rows": 8192, "cols": 16384, "dim": 4096}),
             ("mlp", both, {"batch": 1024, "dim": 2048, "layers": 64}),
             ("mlp", ("bf16",), {"batch": 128, "dim": 256, "layers": 4})]
    return [(name, dtype, lengths) for name, dtypes, lengths in table for dtype in dtypes]


# The generator of draw.cpp: SplitMix64 and the method of Box and Muller.

def mix(z):
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
    return z ^ (z >> np.uint64(31))


def bits(number, count):
    with np.errstate(over="ignore"):
        start = mix(np.uint64(0)) ^ mix(~np.uint64(number))
        return mix(start + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9e3779b97f4a7c15))


def to_bf16(values):
    """The bits, rounded to the nearest, halves to even."""
    wide = values.astype(np.float32).view(np.uint32)
    return ((wide + 0x7fff + ((wide >> 16) & 1)) >> 16).astype(np.uint16)


def from_bf16(stored):
    return (stored.astype(np.uint32) << 16).view(np.float32)


def draw(number, shape, how, dtype):
    """The numbers of the input of that number, up to where they repeat: as stored, and as doubles."""
    count = min(math.prod(shape), PERIOD)
    if not isinstance(how, str):  # labels
        values = (bits(number, count) % np.uint64(how)).astype(np.int64)
        return values, values
    pairs = (count + 1) // 2
    uniform = ((bits(number, 2 * pairs) >> np.uint64(11)).astype(np.float64) + 1) * 2.0 ** -53
    radius, angle = np.sqrt(-2 * np.log(uniform[::2])), 2 * math.pi * uniform[1::2]
    values = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).reshape(-1)[:count]
    if how == "weights":
        values = values / math.sqrt(shape[0])
    if how == "positive":
        values = abs(values)
    if dtype == "bf16":
        stored = to_bf16(values)
        return stored, from_bf16(stored).astype(np.float64)
    stored = values.astype(np.float32)
    return stored, stored.astype(np.float64)


# What each library calls what the formulas use.

class Numpy:
    """In double precision, for the reference."""
    exp, tanh, sqrt, log = np.exp, np.tanh, np.sqrt, np.log
    sum, column_sum = staticmethod(np.sum), staticmethod(lambda x: np.sum(x, axis=0))
    row_max = staticmethod(lambda x: np.max(x, axis=-1, keepdims=True))
    row_sum = staticmethod(lambda x: np.sum(x, axis=-1, keepdims=True))
    row_mean = staticmethod(lambda x: np.mean(x, axis=-1, keepdims=True))
    sigmoid = staticmethod(lambda x: 1 / (1 + np.exp(-x)))
    wide = staticmethod(lambda x: x)
    like = staticmethod(lambda y, x: y)
    pick = staticmethod(lambda x, labels: x[np.arange(len(labels)), labels])

    @staticmethod
    def erf(x):
        return np.vectorize(math.erf)(x)


def torch_names(torch):
    class Torch:
        exp, tanh, sqrt, log, erf, sigmoid = (torch.exp, torch.tanh, torch.sqrt, torch.log, torch.erf,
                                              torch.sigmoid)
        sum, column_sum = torch.sum, staticmethod(lambda x: x.sum(0))
        row_max = staticmethod(lambda x: x.amax(-1, keepdim=True))
        row_sum = staticmethod(lambda x: x.sum(-1, keepdim=True))
        row_mean = staticmethod(lambda x: x.mean(-1, keepdim=True))
        wide = staticmethod(lambda x: x.float())
        like = staticmethod(lambda y, x: y.to(x.dtype))
        pick = staticmethod(lambda x, labels: x.gather(-1, labels[:, None]).squeeze(-1))
    return Torch


def jax_names(jax):
    jnp = jax.numpy

    class Jax:
        exp, tanh, sqrt, log, erf, sigmoid = (jnp.exp, jnp.tanh, jnp.sqrt, jnp.log, jax.scipy.special.erf,
                                              jax.nn.sigmoid)
        sum, column_sum = jnp.sum, staticmethod(lambda x: x.sum(0))
        row_max = staticmethod(lambda x: x.max(-1, keepdims=True))
        row_sum = staticmethod(lambda x: x.sum(-1, keepdims=True))
        row_mean = staticmethod(lambda x: x.mean(-1, keepdims=True))
        wide = staticmethod(lambda x: x.astype(jnp.float32))
        like = staticmethod(lambda y, x: y.astype(x.dtype))
        pick = staticmethod(lambda x, labels: jnp.take_along_axis(x, labels[:, None], axis=-1)[:, 0])
    return Jax
