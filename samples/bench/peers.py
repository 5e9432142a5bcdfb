"""Whom compare.py measures. Each peer makes a program of a case: `prepare` gives an object that has called it once,
with `error` and `first_call_ms`, and whose `median_ms(seconds)` times it, the caches flushed before each repetition.
"""
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

import numpy as np

from cases import as_tuple
from formulas import from_bf16
from jax_events import JaxEvents
from names import cupy_names, jax_names, torch_names

MIB = 1 << 20
FLUSH_BYTES = 256 * MIB
REPETITIONS_AT_ONCE = 5  # under way together, so that a GPU never waits for Python


class CpuClock:
    """Wall time, after a walk through other memory."""

    def __init__(self):
        self.other = np.ones(FLUSH_BYTES // 8, dtype=np.int64)

    def median_ms(self, call, seconds):
        call()
        times, end = [], time.monotonic() + seconds
        while len(times) < 3 or (time.monotonic() < end and len(times) < 1000):
            self.other.sum()
            begin = time.perf_counter()
            call()
            times.append((time.perf_counter() - begin) * 1e3)
        return statistics.median(times)


class EventClock:
    """Device time by CUDA events, as torch and CuPy have them."""

    def __init__(self, flush, event, milliseconds, synchronize):
        self.flush, self.event, self.milliseconds, self.synchronize = flush, event, milliseconds, synchronize

    def median_ms(self, call, seconds):
        call()
        self.synchronize()
        times, end = [], time.monotonic() + seconds
        while len(times) < 5 or (time.monotonic() < end and len(times) < 1000):
            marks = []
            for _ in range(REPETITIONS_AT_ONCE):
                self.flush()
                start, stop = self.event(), self.event()
                start.record()
                call()
                stop.record()
                marks.append((start, stop))
            self.synchronize()
            times += [self.milliseconds(start, stop) for start, stop in marks]
        return statistics.median(times)


class JaxGpuClock(EventClock):
    """The same of JAX, by events that jax_events.py records on its stream. It takes JAX some tenths of a millisecond to
    start a call, so the flush takes longer: what follows is then there before the GPU is.
    """

    def __init__(self, jax):
        self.events = JaxEvents(jax)
        self.write = jax.jit(lambda x: x + 1, donate_argnums=0)
        self.scratch = jax.numpy.zeros(8 * FLUSH_BYTES // 4, dtype=jax.numpy.int32)
        super().__init__(self.flush_caches, self.events.event, self.events.milliseconds, self.events.synchronize)

    def flush_caches(self):
        self.scratch = self.write(self.scratch)

    def median_ms(self, call, seconds):
        median = super().median_ms(call, seconds)
        self.events.forget()
        return median


class Prepared:
    """A call of some library, made once and checked."""

    def __init__(self, case, clock, call, select):
        begin = time.perf_counter()
        outputs = as_tuple(call())
        checked = [select(y, case.select(i, y.shape)) for i, y in enumerate(outputs)]  # waits for them
        self.first_call_ms = (time.perf_counter() - begin) * 1e3
        del outputs
        self.error, self.clock, self.call = case.error(checked), clock, call

    def median_ms(self, seconds):
        return self.clock.median_ms(self.call, seconds)

    def facts(self):
        return {"error": self.error, "first_call_ms": self.first_call_ms}


class TorchPeer:
    def __init__(self, device):
        import torch
        import torch._dynamo
        if device == "cuda" and not torch.cuda.is_available():
            raise ImportError("torch finds no GPU")
        self.torch, self.names, self.device = torch, torch_names(torch), device
        torch.set_grad_enabled(False)
        torch.backends.cuda.matmul.allow_tf32 = False
        self.notes = {"torch": torch.__version__}
        if device == "cpu":
            self.clock = CpuClock()
            torch.set_num_threads(len(os.sched_getaffinity(0)))
            return
        self.notes["GPU"] = torch.cuda.get_device_name()
        scratch = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
        self.clock = EventClock(scratch.zero_, lambda: torch.cuda.Event(enable_timing=True),
                                lambda start, stop: start.elapsed_time(stop), torch.cuda.synchronize)

    def tensors(self, case):
        torch, made = self.torch, []
        for given, stored in zip(case.inputs, case.drawn):
            is_bf16 = stored.dtype == np.uint16
            flat = torch.from_numpy(stored.view(np.int16) if is_bf16 else stored).to(self.device)
            count = math.prod(given.shape)
            flat = flat.repeat(-(-count // len(flat)))[:count]
            made.append((flat.view(torch.bfloat16) if is_bf16 else flat).reshape(given.shape))
        return made

    def select(self, y, chosen):
        if chosen is not None:
            y = y[self.torch.from_numpy(chosen).to(y.device)]
        return y.double().cpu().numpy()

    def prepare(self, case, compiled):
        values, formula, names = self.tensors(case), case.workload.formula, self.names

        def call(*x):
            return formula(names, *x, *case.more)
        if compiled:
            self.torch._dynamo.reset()
            call = self.torch.compile(call, dynamic=False)
        return Prepared(case, self.clock, lambda: call(*values), self.select)

    def free(self):
        if self.device == "cuda":
            self.torch.cuda.empty_cache()


class JaxPeer:
    def __init__(self, device):
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        if device == "cpu":
            os.environ.setdefault("JAX_PLATFORMS", "cpu")
        import jax
        import jax.scipy.special
        if device == "cuda" and jax.default_backend() != "gpu":
            raise ImportError("JAX finds no GPU")
        self.jax, self.names, self.notes = jax, jax_names(jax), {"JAX": jax.__version__}
        self.clock = JaxGpuClock(jax) if device == "cuda" else CpuClock()
        self.waits = device == "cpu"

    def arrays(self, case):
        jax, jnp, made = self.jax, self.jax.numpy, []
        for given, stored in zip(case.inputs, case.drawn):
            count = math.prod(given.shape)
            if stored.dtype == np.uint16:
                flat = jax.lax.bitcast_convert_type(jnp.asarray(stored), jnp.bfloat16)
            else:
                flat = jnp.asarray(stored.astype(np.int32) if stored.dtype == np.int64 else stored)
            made.append(jnp.tile(flat, -(-count // len(flat)))[:count].reshape(given.shape))
        return jax.block_until_ready(made)

    def prepare(self, case):
        jax, names, formula = self.jax, self.names, case.workload.formula
        values = self.arrays(case)
        precision = "highest" if case.dtype == "f32" else "default"
        jitted = jax.jit(lambda *x: formula(names, *x, *case.more))

        def call():
            with jax.default_matmul_precision(precision):
                result = jitted(*values)
            return jax.block_until_ready(result) if self.waits else result

        def select(y, chosen):
            return np.asarray((y if chosen is None else y[chosen]).astype(jax.numpy.float32))
        return Prepared(case, self.clock, call, select)

    def free(self):
        pass


class CupyPeer:
    """CuPy, through cupy.fuse where the formula is elementwise."""

    def __init__(self, device):
        if device != "cuda":
            raise ImportError("CuPy runs on a GPU only")
        import cupy
        self.cupy, self.names, self.notes = cupy, cupy_names(cupy), {"CuPy": cupy.__version__}
        scratch = cupy.empty(FLUSH_BYTES, dtype=cupy.uint8)
        self.clock = EventClock(lambda: scratch.fill(0), cupy.cuda.Event, cupy.cuda.get_elapsed_time,
                                cupy.cuda.runtime.deviceSynchronize)

    def prepare(self, case):
        if case.dtype == "bf16":
            return None
        cupy, names, formula = self.cupy, self.names, case.workload.formula
        values = []
        for given, stored in zip(case.inputs, case.drawn):
            count = math.prod(given.shape)
            values.append(cupy.tile(cupy.asarray(stored), -(-count // len(stored)))[:count].reshape(given.shape))

        def call(*x):
            return formula(names, *x, *case.more)
        if case.workload.elementwise:
            call = cupy.fuse()(call)
        return Prepared(case, self.clock, lambda: call(*values),
                        lambda y, chosen: cupy.asnumpy(y if chosen is None else y[cupy.asarray(chosen)]))

    def free(self):
        self.cupy.get_default_memory_pool().free_all_blocks()


class Sinter:
    """The tool, as a process that answers line by line (sinter bench --batch)."""

    def __init__(self, tool, device, numerics=None, fusion=None, eager=False, first_call=False, tuned=False):
        self.command = [tool, "bench", "--batch", "-", "--device", device]
        self.extra = ["--numerics", numerics] if numerics else []
        self.options = ([] if eager else ["--no-eager"]) + ([] if first_call else ["--no-first-call"])
        self.process, self.notes = None, {}
        self.environment = dict(os.environ, SINTER_DEVICE=device)
        if fusion:
            self.environment["SINTER_FUSION"] = fusion
        if tuned:
            self.environment["SINTER_AUTOTUNE"] = "1"

    def ask(self, words):
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(self.command, env=self.environment, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, text=True)
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        answer = json.loads(line) if line else {"error": "the tool ended"}
        if "error" in answer:  # the next case gets a process that has nothing to do with it
            self.close()
            raise RuntimeError(f"sinter: {answer['error'][:300]}")
        return answer[0]

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()
            self.process = None

    def prepare(self, case, seconds):
        return PreparedSinter(self, case, seconds)

    def free(self):
        pass


class PreparedSinter:
    def __init__(self, sinter, case, seconds):
        self.sinter = sinter
        self.words = [case.name, "--set", f"dtype={case.dtype}", *sinter.extra]
        for name, length in case.lengths.items():
            self.words += ["--set", f"{name}={length}"]
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        with tempfile.TemporaryDirectory(dir=memory) as folder:
            self.result = self.ask(seconds, ["--output-dir", folder, *sinter.options])
            self.error = case.error([self.load(case, i, file) for i, file in enumerate(in_order(folder))])
        self.unspent = self.result["fused_ms"]  # the time of the first round

    def ask(self, seconds, options):
        # Of the seconds it gets, bench spends 0.4 parts on the fused program.
        return self.sinter.ask([*self.words, "--seconds", f"{seconds / 0.4:.4f}", *options])

    @staticmethod
    def load(case, number, file):
        y = np.load(file, mmap_mode="r")
        chosen = case.select(number, y.shape)
        y = np.array(y if chosen is None else y[chosen])
        return from_bf16(y) if y.dtype == np.uint16 else y

    def median_ms(self, seconds):
        first, self.unspent = self.unspent, None
        return first or self.ask(seconds, ["--no-eager", "--no-first-call"])["fused_ms"]

    def facts(self):
        kept = ("eager_ms", "first_call_ms", "first_call_warm_ms", "tflops", "bytes", "copy_gbps", "eager_launches",
                "fused_launches")
        return {"error": self.error, **{key: self.result[key] for key in kept if key in self.result}}


def in_order(folder):
    """out0.npy, out1.npy, ..., out10.npy"""
    return sorted(pathlib.Path(folder).glob("*.npy"), key=lambda file: [int(n) for n in re.findall(r"\d+", file.name)])
