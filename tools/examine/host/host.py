# The process in which an allocator in Python is examined: host.cc as a part of it does what is ordered.
# The driver's module is imported once, before a process is forked for each program.
#
#   host.py FAKE DRIVER
import ctypes
import importlib.util
import os
import sys
import traceback

fake, path = sys.argv[1:]
host = ctypes.CDLL(os.path.join(fake, "libgaugeblock-host.so"), mode=ctypes.RTLD_GLOBAL)
host.gaugeblock_open(fake.encode())
sys.path.append(os.path.dirname(os.path.abspath(path)))  # last: its name may be that of a package
spec = importlib.util.spec_from_file_location("driver", path)
driver = importlib.util.module_from_spec(spec)
sys.modules["driver"] = driver
spec.loader.exec_module(driver)

kept = []  # ctypes keeps nothing of what it is given


def role(name, result, arguments, required=False):
    function = getattr(driver, name, None)
    if function is None:
        if required:
            sys.exit(f"{path} has no function {name}")
        return

    def call(*given):
        try:
            answer = function(*(g or 0 for g in given))
            return int(answer or 0) if result is not None else None
        except BaseException as e:
            if os.environ.get("GAUGEBLOCK_TRACEBACKS"):
                traceback.print_exc()
            host.gaugeblock_raise(f"{type(e).__name__}: {e}".encode())
            return 0 if result is not None else None

    kept.append(ctypes.CFUNCTYPE(result, *arguments)(call))
    host.gaugeblock_role({"empty_cache": "reset"}.get(name, name).encode(), kept[-1])


pointer, size, device = ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int
role("malloc", pointer, (size, device, pointer), required=True)
role("free", None, (pointer, size, device, pointer), required=True)
role("record_stream", None, (pointer, pointer))
role("empty_cache", None, ())
role("init", None, (device,))
role("malloc_aligned", pointer, (size, ctypes.c_size_t, device, pointer))
role("resize", ctypes.c_int, (pointer, size, size, device, pointer))
role("sleep", None, ())
role("wake", None, ())
role("end", None, ())
words = ctypes.c_char_p(getattr(driver, "contract", "").encode())
kept.append(ctypes.CFUNCTYPE(ctypes.c_void_p)(lambda: ctypes.cast(words, ctypes.c_void_p).value))
host.gaugeblock_role(b"contract", kept[-1])
sys.stdout.flush()
arguments = (ctypes.c_char_p * 3)(b"host", fake.encode(), b"-")
host.gaugeblock_run(3, arguments)
