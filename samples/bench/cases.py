"""What compare.py measures: workloads with dtypes and lengths, and the figures that are asked of them."""
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from formulas import WORKLOADS, as_doubles, draw, period_of
from names import Magnitudes, Numpy

BOTH = ("f32", "bf16")
NEVER_BELOW = 0.97  # times the speed of the best peer, for every case


class Asked:
    """Bounds: percent of the copy bandwidth, times the speed of the best peer or of torch.compile, GB/s, launches."""

    def __init__(self, percent=None, best=NEVER_BELOW, compiled=None, gbps=None, launches=None):
        self.percent, self.best, self.compiled, self.gbps, self.launches = percent, best, compiled, gbps, launches


def square(rows, cols=None):
    return {"rows": rows, "cols": cols or rows}


def table():
    """(workload, {dtype: asked}, lengths), in the order of the table."""
    def both(*arguments, **named):
        return {dtype: Asked(*arguments, **named) for dtype in BOTH}

    backward = both(best=NEVER_BELOW, compiled=1.3, gbps=3400, launches=2)
    return [
        ("gelu", {"f32": Asked(98), "bf16": Asked(97, best=1.2)}, square(16384)),
        ("gelu_erf", {"bf16": Asked(95)}, square(16384)),
        ("silu", both(98), square(16384, 11008)),
        ("swiglu", both(98), square(16384, 11008)),
        ("softmax", {"f32": Asked(97), "bf16": Asked(97, best=1.38)}, square(16384)),
        ("softmax", both(90, best=1.8), square(4096, 131072)),
        ("softmax", both(97), square(1 << 20, 128)),
        ("log_softmax", both(), square(16384)),
        ("layernorm", {"f32": Asked(best=0.98), "bf16": Asked(best=1.22)}, square(16384, 4096)),
        ("rmsnorm", both(), square(16384, 8192)),
        ("add_rmsnorm", both(96), square(16384, 8192)),
        ("layernorm_backward", backward, square(16384, 4096)),
        ("layernorm_backward", {"bf16": backward["bf16"]}, square(8192)),
        ("rmsnorm_backward", backward, square(16384, 4096)),
        ("rmsnorm_backward", {"bf16": backward["bf16"]}, square(8192)),
        ("cross_entropy", {"bf16": Asked(98, best=2.2)}, square(8192, 128256)),
        ("column_sum", both(best=1.02), square(65536, 4096)),
        ("sum_and_sumsq", both(), square(65536, 4096)),
        ("sum", both(best=1.0), square(16384)),
        ("add_transposed", both(98), square(16384)),
        ("permute0213", both(), {"batch": 16, "rows": 4096, "dim": 32, "cols": 64}),
        ("nchw_to_nhwc", both(), {"batch": 256, "dim": 256, "rows": 56, "cols": 56}),
        ("embedding", {"bf16": Asked()}, {"batch": 32768, "rows": 131072, "cols": 4096}),
        ("embedding_backward", both(), {"batch": 32768, "rows": 32768, "cols": 4096}),
        ("embedding_backward_one_often", both(), {"batch": 32768, "rows": 32768, "cols": 4096}),
        ("adamw", {"f32": Asked(98)}, square(8192, 16384)),
        ("adamw_many", {"f32": Asked()}, {"rows": 16384, "dim": 512, "cols": 2048, "layers": 16}),
        ("matmul", both(), {"rows": 8192, "cols": 8192, "dim": 8192}),
        ("linear_gelu", {"bf16": Asked(best=1.15)}, {"rows": 8192, "cols": 4096, "dim": 4096}),
        ("layernorm_linear_gelu", {"bf16": Asked(best=1.07)}, {"rows": 8192, "cols": 16384, "dim": 4096}),
        ("mlp", {"f32": Asked(best=1.0), "bf16": Asked(best=1.3)}, {"batch": 1024, "dim": 2048, "layers": 64}),
    ]


def cases(device):
    """(workload, dtype, lengths, asked). The CPU gets fewer rows, and is held against torch.compile alone."""
    result = []
    for name, asked_of, lengths in table():
        for dtype, asked in asked_of.items():
            if device == "cpu":
                lengths, asked = on_cpu(name, lengths)
            result.append((name, dtype, lengths, asked))
    return result


def on_cpu(name, lengths):
    """Lengths for the CPU, of which no input has more than 2^24 elements, and what is asked there."""
    if WORKLOADS[name].flops:
        limits = {"layers": 4, "dim": 1024}
        return {k: min(v, limits.get(k, 512)) for k, v in lengths.items()}, Asked(best=None)
    lengths = dict(lengths)
    while max(math.prod(i.shape) for i in WORKLOADS[name].inputs(lengths)) > 1 << 24:
        lengths[max(("batch", "rows"), key=lambda k: lengths.get(k, 0))] //= 2
    return lengths, Asked(best=None, compiled=1.0)


SWEPT = ("softmax", "rmsnorm")
ODD_LENGTHS = (257, 1000, 1001, 4097, 5000, 12288, 12289, 24004, 50257, 57332, 65537, 200001)
SWEEP_BYTES = 1 << 29  # of the input


def sweep_cases(device):
    """softmax and rmsnorm over row lengths, at a fixed size of the input."""
    result = []
    size = SWEEP_BYTES if device == "cuda" else 1 << 26
    for name in SWEPT:
        for dtype in BOTH:
            for cols in sorted([1 << k for k in range(6, 19)] + list(ODD_LENGTHS)):
                rows = max(size // (cols * (4 if dtype == "f32" else 2)), 1)
                percent = None if device == "cpu" or cols < 256 else 95 if cols <= 16384 else 88
                result.append((name, dtype, square(rows, cols), Asked(percent, best=None)))
    return result


def title_of(name, dtype, lengths):
    return f"{name} {dtype} " + " ".join(f"{k}={v}" for k, v in lengths.items())


class Table:
    """An input that is too large to lay out, of which rows are taken."""

    def __init__(self, values, cols):
        self.values, self.cols = values, cols

    def __getitem__(self, index):
        return self.values[(index[:, None] * self.cols + np.arange(self.cols)) % len(self.values)]


class Case:
    """A workload with its numbers, and what some rows and columns of its results must be."""

    def __init__(self, name, dtype, lengths):
        self.workload, self.name, self.dtype, self.lengths = WORKLOADS[name], name, dtype, lengths
        self.more = (lengths["rows"],) if self.workload.puts else ()  # what the formula takes after the inputs
        self.title = title_of(name, dtype, lengths)
        self.inputs = self.workload.inputs(lengths)
        with ThreadPoolExecutor() as threads:
            self.drawn = list(threads.map(lambda i: draw(i, self.inputs[i], dtype), range(len(self.inputs))))
        self.expected, self.scales = {}, {}  # by number of the output
        self.evaluate()

    def chosen(self, how, length):
        """The rows or columns, of so many, whose results are compared: all would take longer than everything else."""
        if how == "one":
            return None
        widths = [math.prod(i.shape) // length for i in self.inputs
                  if (axis := getattr(i, how)) is not None and i.shape[axis] == length]
        count = min(max((1 << 23) // max(widths, default=1), 1), 48)
        return np.unique(np.linspace(0, length - 1, count).astype(np.int64))

    def part(self, number, how):
        """The chosen rows or columns of an input; all of it where it has none."""
        given = self.inputs[number]
        values, axis = as_doubles(self.drawn[number]), getattr(given, how, None)
        if axis is None:
            if given.taken:
                return Table(values, given.shape[1])
            return np.resize(values, given.shape)
        index = np.zeros((1,) * len(given.shape), dtype=np.int64)
        for i, length in enumerate(given.shape):
            places = self.chosen(how, length) if i == axis else np.arange(length)
            index = index * length + places.reshape([-1 if k == i else 1 for k in range(len(given.shape))])
        return values[index % len(values)]

    def evaluate(self):
        kinds = self.workload.outputs
        for how in dict.fromkeys([kinds] if isinstance(kinds, str) else kinds):
            times = 1
            if how == "one" and math.prod(self.inputs[0].shape) % period_of(0) == 0:  # the numbers, over and over
                values = [as_doubles(self.drawn[0])]
                times = math.prod(self.inputs[0].shape) // period_of(0)
            else:
                with ThreadPoolExecutor() as threads:
                    values = list(threads.map(lambda i: self.part(i, how), range(len(self.inputs))))
            if self.workload.puts:
                values.append(self.chosen(how, self.lengths["rows"]))
            wanted = as_tuple(self.workload.formula(Numpy(), *values))
            adds_up = how != "rows" or self.workload.puts
            scales = as_tuple(self.workload.formula(Magnitudes(), *values)) if adds_up else None
            for i, value in enumerate(wanted):
                if self.workload.how_checked(i) != how:
                    continue
                self.expected[i] = np.asarray(value, dtype=np.float64) * times
                if scales:
                    self.scales[i] = np.asarray(scales[i], dtype=np.float64) * times

    def select(self, number, shape):
        """Which elements of the first axis of a result are compared; None for all."""
        return self.chosen(self.workload.how_checked(number), shape[0]) if len(shape) else None

    def error(self, outputs):
        """The greatest error over what the dtype allows, of selected results: above 1 it is wrong."""
        relative, absolute = {"f32": (3e-5, 2e-5), "bf16": (0.03, 0.03)}[self.dtype]
        worst = 0.0
        for i, got in enumerate(outputs):
            want = self.expected[i]
            got = np.asarray(got, dtype=np.float64).reshape(want.shape)
            if i in self.scales:
                allowed = (2.0 ** -8 if self.dtype == "bf16" else 0) * abs(want) + 32 * 2.0 ** -24 * self.scales[i]
            else:
                allowed = relative * abs(want) + absolute * np.sqrt(np.mean(want * want))
            with np.errstate(invalid="ignore"):
                error = abs(got - want) / np.maximum(allowed, 1e-300)
            worst = max(worst, float("inf") if np.isnan(error).any() else float(error.max()))
        return worst


def as_tuple(x):
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)
