"""CUDA events on the stream on which JAX computes, which JAX itself does not show.

A custom call of XLA's is given that stream, and records an event there. It is compiled when it is first wanted, by
the host's compiler with the headers that come with JAX; the driver's functions are found in the library that JAX has
loaded."""
import ctypes
import os
import pathlib
import shutil
import subprocess
import tempfile

SOURCE = r"""
#include <dlfcn.h>

#include <mutex>
#include <vector>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace {

template <class... Arguments>
int driver(const char* name, Arguments... arguments) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  void* const function = library ? dlsym(library, name) : nullptr;
  return function ? reinterpret_cast<int (*)(Arguments...)>(function)(arguments...) : -1;
}

std::mutex mutex;
std::vector<void*> events;
void* context = nullptr;

ffi::Error record(void* stream, ffi::AnyBuffer, ffi::Result<ffi::AnyBuffer>) {
  const std::lock_guard lock(mutex);
  void* event = nullptr;
  driver("cuCtxGetCurrent", &context);
  if (driver("cuEventCreate", &event, 0u) != 0 || driver("cuEventRecord", event, stream) != 0)
    return ffi::Error::Internal("no event was recorded");
  events.push_back(event);
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(mark, record,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::PlatformStream<void*>>()
                                  .Arg<ffi::AnyBuffer>()
                                  .Ret<ffi::AnyBuffer>());

// Milliseconds from one event to another, by their numbers, once both have been; negative if there is no telling.
extern "C" double milliseconds(int from, int to) {
  const std::lock_guard lock(mutex);
  float found = -1;
  driver("cuCtxSetCurrent", context);
  if (to >= static_cast<int>(events.size()) || driver("cuEventSynchronize", events[to]) != 0 ||
      driver("cuEventElapsedTime", &found, events[from], events[to]) != 0)
    return -1;
  return found;
}

extern "C" void forget() {
  const std::lock_guard lock(mutex);
  driver("cuCtxSetCurrent", context);
  for (void* event : events) driver("cuEventDestroy_v2", event);
  events.clear();
}
"""


def build(include):
    """The library, or an OSError that says why there is none."""
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
    if not compiler:
        raise OSError("no C++ compiler for JAX's events")
    with tempfile.TemporaryDirectory() as folder:
        source, library = pathlib.Path(folder, "mark.cpp"), pathlib.Path(folder, "mark.so")
        source.write_text(SOURCE)
        done = subprocess.run([compiler, "-std=c++17", "-O1", "-shared", "-fPIC", f"-I{include}", str(source), "-o",
                               str(library), "-ldl"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise OSError(f"JAX's events do not compile: {done.stderr.strip().splitlines()[:1]}")
        return ctypes.CDLL(str(library))


class JaxEvents:
    """Makes what EventClock asks for."""

    def __init__(self, jax):
        import jax.ffi
        self.jax, self.library, self.count = jax, build(jax.ffi.include_dir()), 0
        self.library.milliseconds.restype = ctypes.c_double
        jax.ffi.register_ffi_target("sinter_mark", jax.ffi.pycapsule(self.library.mark), platform="CUDA")
        self.token = jax.numpy.zeros(1, dtype=jax.numpy.int32)
        kind = jax.ShapeDtypeStruct((1,), jax.numpy.int32)
        self.mark = jax.jit(lambda x: jax.ffi.ffi_call("sinter_mark", kind, has_side_effect=True)(x))
        self.event().record()
        self.synchronize()  # a custom call that does not work is refused here

    def event(self):
        return JaxEvent(self)

    def synchronize(self):
        self.jax.block_until_ready(self.token)

    def milliseconds(self, start, stop):
        found = self.library.milliseconds(start.number, stop.number)
        if found < 0:
            raise RuntimeError("JAX's stream has lost an event")
        return found

    def forget(self):
        self.synchronize()
        self.library.forget()
        self.count = 0


class JaxEvent:
    def __init__(self, events):
        self.events, self.number = events, None

    def record(self):
        events = self.events
        events.token = events.mark(events.token)
        self.number, events.count = events.count, events.count + 1
