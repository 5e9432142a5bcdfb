#!/usr/bin/env python3
"""sinter beside torch eager, torch.compile and JAX, on one GPU, in one run.

  compare.py [--only NAME,...] [--peers eager,compile,jax] [--json FILE] [--markdown FILE]

Every case is timed on the same numbers, which both sides draw by the same generator (samples/suite/draw.cpp), all
peers in turn and then in the opposite order: by CUDA events, with the last-level cache flushed before each
repetition, as the median. JAX shows no events, so its time is that of many flushes and calls less that of the flushes.
Every result is compared with the formula in double precision. A ratio is a peer's time over sinter's. Peers that are
not installed are left out.
"""
import argparse
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

from formulas import Numpy, WORKLOADS, cases, draw, from_bf16, jax_names, torch_names

MIB = 1 << 20
FLUSH_BYTES = 256 * MIB
REST_SECONDS = 0.3  # before each measurement: a GPU that is hot from the one before runs slower


class Case:
    def __init__(self, name, dtype, lengths):
        self.workload, self.name, self.dtype, self.lengths = WORKLOADS[name], name, dtype, lengths
        self.inputs = self.workload.inputs(lengths)
        self.drawn = [draw(i, shape, how, dtype) for i, (_, shape, how) in enumerate(self.inputs)]
        self.expected = self.reference()

    def title(self):
        return f"{self.name} {self.dtype} " + " ".join(f"{k}={v}" for k, v in self.lengths.items())

    def rows(self):
        """Rows whose results are compared: all of them would take longer than everything else."""
        count = self.inputs[0][1][0]
        return np.unique(np.linspace(0, count - 1, 48).astype(np.int64)) if self.workload.by_rows else None

    def whole(self, i):
        _, shape, _ = self.inputs[i]
        return np.resize(self.drawn[i][1], shape)

    def part(self, i, rows):
        """Rows of an input, where it has as many as the result; else all of it."""
        _, shape, _ = self.inputs[i]
        values, count = self.drawn[i][1], self.inputs[0][1][0]
        if self.name == "add_transposed" and i == 1:  # columns
            return values[(np.arange(shape[0])[:, None] * shape[1] + rows[None, :]) % len(values)]
        if shape[0] != count or (i > 0 and self.workload.flops):
            return self.whole(i)
        if len(shape) == 1:
            return values[rows % len(values)]
        return values[(rows[:, None] * shape[1] + np.arange(shape[1])) % len(values)]

    def reference(self):
        m, rows = Numpy(), self.rows()
        if rows is not None:
            self.scale = None
            return as_tuple(self.workload.formula(m, *[self.part(i, rows) for i in range(len(self.inputs))]))
        values = [self.whole(i) for i in range(len(self.inputs))]
        self.scale = np.asarray(self.workload.magnitude(m, *values))
        return as_tuple(self.workload.formula(m, *values))

    def error(self, outputs):
        """The greatest error over what the dtype allows: above 1 it is wrong."""
        relative, absolute = {"f32": (3e-5, 2e-5), "bf16": (0.03, 0.03)}[self.dtype]
        worst = 0.0
        for got, want in zip(outputs, self.expected):
            got = np.asarray(got, dtype=np.float64).reshape(want.shape)
            size = np.sqrt(np.mean(want * want))
            allowed = relative * abs(want) + absolute * size
            if self.scale is not None:
                allowed = (2.0 ** -8 if self.dtype == "bf16" else 0) * abs(want) + 32 * 2.0 ** -24 * self.scale
            with np.errstate(invalid="ignore"):
                error = abs(got - want) / np.maximum(allowed, 1e-300)
            worst = max(worst, float("inf") if np.isnan(error).any() else float(error.max()))
        return worst


def as_tuple(x):
    return x if isinstance(x, tuple) else (x,)


class TorchPeer:
    """torch, plainly or through torch.compile."""

    def __init__(self, torch):
        self.torch, self.names = torch, torch_names(torch)
        torch.backends.cuda.matmul.allow_tf32 = False
        self.scratch = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")

    def tensors(self, case):
        torch, made = self.torch, []
        for (_, shape, _), (stored, _) in zip(case.inputs, case.drawn):
            flat = torch.from_numpy(stored.view(np.int16) if stored.dtype == np.uint16 else stored).cuda()
            count = math.prod(shape)
            flat = flat.repeat(-(-count // len(flat)))[:count]
            made.append((flat.view(torch.bfloat16) if stored.dtype == np.uint16 else flat).reshape(shape).contiguous())
        return made

    def median(self, call, seconds):
        torch = self.torch
        call()
        torch.cuda.synchronize()
        times, end = [], time.monotonic() + seconds
        while len(times) < 5 or (time.monotonic() < end and len(times) < 1000):
            marks = []
            for _ in range(5):
                self.scratch.zero_()
                start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                start.record()
                call()
                stop.record()
                marks.append((start, stop))
            torch.cuda.synchronize()
            times += [start.elapsed_time(stop) for start, stop in marks]
        return statistics.median(times)

    def copy_gbps(self):
        torch = self.torch
        a = torch.empty(2048 * MIB, dtype=torch.uint8, device="cuda")
        b = torch.empty_like(a)
        return 2 * a.numel() / self.median(lambda: b.copy_(a), 0.3) / 1e6

    def run(self, case, seconds, compiled):
        torch = self.torch
        values, formula, names = self.tensors(case), case.workload.formula, self.names

        def call(*x):
            return formula(names, *x)
        if compiled:
            torch._dynamo.reset()
            call = torch.compile(call)
        with torch.no_grad():
            begin = time.perf_counter()
            outputs = as_tuple(call(*values))
            torch.cuda.synchronize()
            first = (time.perf_counter() - begin) * 1e3
            rows = case.rows()
            if rows is not None:
                outputs = [y[torch.from_numpy(rows).cuda()] for y in outputs]
            checked = [y.double().cpu().numpy() for y in outputs]
            del outputs
            return {"ms": self.median(lambda: call(*values), seconds), "first_call_ms": first,
                    "error": case.error(checked)}


class JaxPeer:
    def __init__(self, jax, torch_peer):
        self.jax, self.names, self.torch_peer = jax, jax_names(jax), torch_peer
        self.flush = jax.jit(lambda x: x + 1, donate_argnums=0)

    def arrays(self, case):
        jnp, made = self.jax.numpy, []
        for (_, shape, _), (stored, _) in zip(case.inputs, case.drawn):
            count = math.prod(shape)
            if stored.dtype == np.uint16:
                flat = self.jax.lax.bitcast_convert_type(jnp.asarray(stored), jnp.bfloat16)
            else:
                flat = jnp.asarray(stored.astype(np.int32) if stored.dtype == np.int64 else stored)
            made.append(jnp.tile(flat, -(-count // len(flat)))[:count].reshape(shape))
        return self.jax.block_until_ready(made)

    def run(self, case, seconds, _):
        jax, names, formula = self.jax, self.names, case.workload.formula
        values = self.arrays(case)
        with jax.default_matmul_precision("highest" if case.dtype == "f32" else "default"):
            call = jax.jit(lambda *x: formula(names, *x))
            begin = time.perf_counter()
            outputs = jax.block_until_ready(as_tuple(call(*values)))
            first = (time.perf_counter() - begin) * 1e3
            rows = case.rows()
            checked = [np.asarray((y if rows is None else y[rows]).astype(jax.numpy.float32)) for y in outputs]
            del outputs
            return {"ms": self.median(call, values, seconds), "first_call_ms": first, "error": case.error(checked)}

    def median(self, call, values, seconds):
        jax, rounds = self.jax, 10
        scratch = jax.numpy.zeros(FLUSH_BYTES // 4, dtype=jax.numpy.int32)

        def round_ms(timed):
            nonlocal scratch
            jax.block_until_ready(scratch)
            begin, result = time.perf_counter(), None
            for _ in range(rounds):
                scratch = self.flush(scratch)
                if timed:
                    result = call(*values)
            jax.block_until_ready((scratch, result))
            return (time.perf_counter() - begin) * 1e3 / rounds
        times, end = [], time.monotonic() + seconds
        round_ms(True)
        while len(times) < 3 or (time.monotonic() < end and len(times) < 100):
            without = round_ms(False)
            times.append(round_ms(True) - without)
        return statistics.median(times)


class Sinter:
    def __init__(self, tool, device, numerics, first_call):
        self.tool, self.device = tool, device
        self.no_first_call = [] if first_call else ["--no-first-call"]
        self.extra = ["--numerics", numerics] if numerics else []
        self.environment = dict(os.environ, SINTER_DEVICE=device)

    def call(self, *words):
        done = subprocess.run([self.tool, *words, *self.extra], env=self.environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"sinter {words[0]} {words[1]}: {done.stderr.strip()[:300]}")
        return done.stdout

    def run(self, case, seconds, _):
        chosen = ["--set", f"dtype={case.dtype}"]
        for name, length in case.lengths.items():
            chosen += ["--set", f"{name}={length}"]
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        with tempfile.TemporaryDirectory(dir=memory) as folder:
            # Of the seconds it gets, bench spends 0.4 parts on the fused program, and those first.
            result = json.loads(self.call("bench", case.name, *chosen, "--device", self.device, "--json", "--seconds",
                                          str(seconds / 0.4), "--output-dir", folder, *self.no_first_call))[0]
            files = sorted(pathlib.Path(folder).glob("*.npy"))
            rows = case.rows()
            outputs = []
            for file in files:
                y = np.load(file, mmap_mode="r")
                y = np.array(y if rows is None else y[rows])
                outputs.append(from_bf16(y) if y.dtype == np.uint16 else y)
            error = case.error(outputs)
        first_calls = {} if self.no_first_call else {key: result[key] for key in ("first_call_ms", "first_call_warm_ms")}
        return {"ms": result["fused_ms"], "error": error, "eager_ms": result["eager_ms"], **first_calls,
                "percent_of_copy": result["percent_of_copy"], "tflops": result.get("tflops"),
                "launches": result["fused_launches"], "copy_gbps": result["copy_gbps"]}


def find_tool(given):
    here = pathlib.Path(__file__).resolve().parent
    usual = [here / "sinter", here.parent.parent / "build/samples/sinter", shutil.which("sinter")]
    places = [given] if given else usual
    for place in places:
        if place and os.access(place, os.X_OK):
            return str(place)
    if given:
        sys.exit(f"compare.py: --sinter {given} is no program")
    return None


def open_peers(wanted):
    """The peers that are installed, by name, with a call that runs a case; notes on the machine."""
    runs, notes, torch_peer = {}, {}, None
    if {"eager", "compile"} & set(wanted):
        try:
            import torch
            if not torch.cuda.is_available():
                raise ImportError("it finds no GPU")
            torch_peer = TorchPeer(torch)
            notes["torch"] = torch.__version__
            notes["GPU"] = torch.cuda.get_device_name()
            if "eager" in wanted:
                runs["torch eager"] = lambda case, seconds: torch_peer.run(case, seconds, False)
            if "compile" in wanted:
                runs["torch.compile"] = lambda case, seconds: torch_peer.run(case, seconds, True)
        except ImportError as error:
            print(f"torch is left out: {error}", file=sys.stderr)
    if "jax" in wanted:
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        try:
            import jax
            import jax.scipy.special
            if jax.default_backend() != "gpu":
                raise ImportError("it finds no GPU")
            jax_peer = JaxPeer(jax, torch_peer)
            notes["JAX"] = jax.__version__
            runs["JAX"] = lambda case, seconds: jax_peer.run(case, seconds, None)
        except (ImportError, RuntimeError) as error:
            print(f"JAX is left out: {error}", file=sys.stderr)
    if torch_peer:
        notes["copy bandwidth by torch, read plus written"] = f"{torch_peer.copy_gbps():.0f} GB/s"
    return runs, notes


def digits(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def markdown(results, peers, notes, command):
    lines = ["# sinter beside its peers", "", f"Written by `{command}`.", ""]
    lines += [f"- {name}: {value}" for name, value in notes.items()]
    lines += ["", "Milliseconds are medians of device time, with the last-level cache flushed before each repetition; in",
              "brackets a peer's time over sinter's, above 1 where sinter is faster. An error is the greatest difference from",
              "the formula in double precision, over what the dtype allows; above 1 a result is wrong.", ""]
    header = ["workload", "sinter ms", "% of copy or TFLOP/s", "sinter eager ms"] + [f"{p} ms" for p in peers if p != "sinter"]
    header += ["first call ms", "error, of what is allowed"]
    lines += ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    for entry in results:
        own = entry["peers"].get("sinter", {})
        cells = [entry["title"], digits(own["ms"]) if "ms" in own else own.get("failed", "")]
        rate = "" if "ms" not in own else (f"{own['tflops']:.0f} TFLOP/s" if own.get("tflops")
                                           else f"{own['percent_of_copy']:.0f} %")
        cells.append(rate)
        cells.append(f"{digits(own['eager_ms'])} ({own['eager_ms'] / own['ms']:.2f})" if "ms" in own else "")
        for peer in peers:
            if peer == "sinter":
                continue
            other = entry["peers"].get(peer, {})
            text = digits(other["ms"]) if "ms" in other else other.get("failed", "")
            if "ms" in other and "ms" in own:
                text += f" ({other['ms'] / own['ms']:.2f})"
            cells.append(text)
        cells.append(", ".join(f"{p} {digits(r['first_call_ms'])}" for p, r in entry["peers"].items()
                               if "first_call_ms" in r and p != "torch eager"))
        cells.append(", ".join(f"{p} {r['error']:.2g}" for p, r in entry["peers"].items() if "error" in r))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def compare(case, runs, seconds, rounds):
    """Every peer in turn, then all in the opposite order, and so on: what a GPU's heat and power do to the first and
    to the last of them cancels out. Milliseconds are the mean of a peer's rounds."""
    entry = {"title": case.title(), "name": case.name, "dtype": case.dtype, "lengths": case.lengths, "peers": {}}
    for number in range(rounds):
        for peer in list(runs) if number % 2 == 0 else reversed(runs):
            before = entry["peers"].get(peer)
            if before and "failed" in before:
                continue
            time.sleep(REST_SECONDS)
            try:
                now = runs[peer](case, seconds)
            except Exception as error:  # whatever a peer throws is its result
                now = {"failed": f"{type(error).__name__}: {error}"[:300]}
            if "failed" not in now:
                now["ms_of_rounds"] = (before["ms_of_rounds"] if before else []) + [now["ms"]]
                if before:  # first calls are first in the first round, and the worse error counts
                    now = {**before, "ms_of_rounds": now["ms_of_rounds"], "error": max(before["error"], now["error"])}
                now["ms"] = statistics.mean(now["ms_of_rounds"])
            entry["peers"][peer] = now
            if "torch" in sys.modules:
                sys.modules["torch"].cuda.empty_cache()
    return entry


def show(entry):
    own = entry["peers"].get("sinter", {}).get("ms")
    parts = []
    for peer, result in entry["peers"].items():
        if "failed" in result:
            parts.append(f"{peer} failed ({result['failed']})")
            continue
        ratio = f" ({result['ms'] / own:.2f})" if own and peer != "sinter" else ""
        wrong = "" if result["error"] <= 1 else f" WRONG by {result['error']:.3g}"
        parts.append(f"{peer} {digits(result['ms'])} ms{ratio}{wrong}")
    print(f"{entry['title']}: " + ", ".join(parts), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="workloads, with or without a dtype: gelu,softmax:bf16")
    parser.add_argument("--peers", default="sinter,eager,compile,jax", help="some of these; all of them unless given")
    parser.add_argument("--sinter", help="the tool; else the one beside this file, in build/samples or on the PATH")
    parser.add_argument("--device", default="cuda", help="where sinter runs; the peers always run on the GPU")
    parser.add_argument("--numerics", choices=["strict", "standard", "fast"], help="sinter's numeric mode")
    parser.add_argument("--seconds", type=float, default=0.3, help="time for the repetitions of one peer and case")
    parser.add_argument("--rounds", type=int, default=2, help="how often every peer is measured; every other round backwards")
    parser.add_argument("--no-first-call", action="store_true", help="leaves out sinter's first calls, which take seconds")
    parser.add_argument("--shrink", type=int, default=1, help="divides the lengths, to try this out")
    parser.add_argument("--markdown", help="file for the table")
    parser.add_argument("--json", help="file for the numbers")
    options = parser.parse_args()

    wanted = [word.split(":") for word in options.only.split(",") if word]
    for word in wanted:
        if word[0] not in WORKLOADS:
            parser.error(f"--only {word[0]}: there are {', '.join(WORKLOADS)}")
    peers = options.peers.split(",")
    for peer in peers:
        if peer not in ("sinter", "eager", "compile", "jax"):
            parser.error(f"--peers {peer}: there are sinter, eager, compile, jax")

    runs, notes = {}, {}
    if "sinter" in peers:
        tool = find_tool(options.sinter)
        if tool:
            sinter = Sinter(tool, options.device, options.numerics, not options.no_first_call)
            runs["sinter"] = lambda case, seconds: sinter.run(case, seconds, None)
        else:
            print("sinter is left out: no tool was found; name it with --sinter", file=sys.stderr)
    others, notes = open_peers(peers)
    runs.update(others)
    if not runs:
        sys.exit("compare.py: nothing to run: no peer is installed and there is no sinter tool")
    notes["date"] = time.strftime("%Y-%m-%d", time.gmtime())

    command = "samples/bench/compare.py" + "".join(f" --only {options.only}" if options.only else "")

    def write(results):
        """After every case, so that a run which is cut short leaves what it has measured."""
        if options.json:
            with open(options.json, "w") as file:
                json.dump({"machine": notes, "results": results}, file, indent=1)
        if options.markdown:
            with open(options.markdown, "w") as file:
                file.write(markdown(results, list(runs), notes, command))

    results = []
    for name, dtype, lengths in cases():
        if wanted and not any(name == w[0] and (len(w) == 1 or w[1] == dtype) for w in wanted):
            continue
        small = {k: v if k == "layers" else max(v // options.shrink, 8) for k, v in lengths.items()}
        results.append(compare(Case(name, dtype, small), runs, options.seconds, options.rounds))
        show(results[-1])
        write(results)
    wrong = [e["title"] for e in results if not e["peers"].get("sinter", {"error": 0}).get("error", 2) <= 1]
    if wrong and "sinter" in runs:
        sys.exit("compare.py: sinter failed, or was wrong, in: " + "; ".join(wrong))


if __name__ == "__main__":
    main()
