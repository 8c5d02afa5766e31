"""True values of integer and boolean tensors: loads what values.cc was built to, and tells at the
end which reads rest on unknown values."""
import ctypes
import hashlib
import os
import subprocess
import sys
import threading

import gaugeblock_checks
import gaugeblock_conditions
import gaugeblock_loops

DECISION, FLOAT, TURNED = range(3)

library = None
keep = []  # callbacks that C++ calls


def start(torch, sources, where):
    """Switches values on in this thread and those that it starts. Returns a line that says why not, or ""."""
    global library
    try:
        library = ctypes.CDLL(built(torch, sources), ctypes.RTLD_GLOBAL)
    except (OSError, subprocess.SubprocessError) as problem:
        return f"values of integers are not kept: {str(problem)[-300:]}"

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t)
    def line(text, size):
        at = (where() or "C++").encode()[: size - 1] + b"\0"
        ctypes.memmove(text, at, len(at))

    @ctypes.CFUNCTYPE(ctypes.c_int)
    def check():
        return gaugeblock_checks.wanted()

    @ctypes.CFUNCTYPE(ctypes.c_int)
    def used():
        return gaugeblock_conditions.used()

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_long)
    def loops(place, reads):
        return gaugeblock_loops.waits(place, reads)

    keep.extend([line, check, used, loops])
    library.gaugeblock_values_start(line, check, used, loops)
    library.gaugeblock_values_enable(1)
    run = threading.Thread.run
    enabled = 1

    def run_with_values(self):
        library.gaugeblock_values_enable(enabled)
        run(self)

    def attach():
        """Only PyTorch's own allocator tells what is freed, which must be forgotten: without it there are no values."""
        nonlocal enabled
        if torch.cuda.get_allocator_backend() == "native":
            library.gaugeblock_values_attach()
        else:
            enabled = 0
            library.gaugeblock_values_enable(enabled)

    threading.Thread.run = run_with_values
    torch.cuda._lazy_call(attach)
    return ""


def built(torch, sources):
    """The library for this torch, compiled once with the headers that torch brings."""
    digest = hashlib.sha256(torch.__version__.encode())
    for name in sorted(os.listdir(sources)):
        with open(os.path.join(sources, name), "rb") as f:
            digest.update(f.read())
    user = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    cache = os.environ.get("GAUGEBLOCK_CACHE") or os.path.join(user, "gaugeblock")  # as internal/cache
    path = os.path.join(cache, f"values-{torch.__version__}-{digest.hexdigest()[:16]}.so")
    if os.path.exists(path):
        return path
    os.makedirs(cache, exist_ok=True)
    print("gaugeblock: compiling for this PyTorch, once: it takes up to a minute", file=sys.stderr)
    home = os.path.dirname(torch.__file__)
    include = os.path.join(home, "include")
    part = f"{path}.{os.getpid()}"
    abi = int(torch._C._GLIBCXX_USE_CXX11_ABI)
    command = [os.environ.get("CXX") or "c++", "-std=c++20", "-O2", "-shared", "-fPIC", "-fvisibility=hidden", f"-D_GLIBCXX_USE_CXX11_ABI={abi}",
               "-I", include, "-I", os.path.join(include, "torch/csrc/api/include"), "-I", os.path.join(os.environ["GAUGEBLOCK_RUN_LIBRARIES"], "include"),
               os.path.join(sources, "values.cc"), "-o", part, "-L", os.path.join(home, "lib"), "-lc10", "-ltorch_cpu", "-lc10_cuda"]
    subprocess.run(command, check=True, capture_output=True, env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"})
    os.replace(part, path)
    return path


def unknown(kind):
    """How often which line has read values that are not known."""
    if library is None:
        return {}
    size = library.gaugeblock_values_unknown(kind, None, 0)
    text = ctypes.create_string_buffer(size)
    library.gaugeblock_values_unknown(kind, text, ctypes.c_size_t(size))
    lines = (line.partition(" ") for line in text.value.decode(errors="replace").splitlines())
    return {at: int(times) for times, _, at in lines}
