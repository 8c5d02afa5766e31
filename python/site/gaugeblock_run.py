"""The part of "gaugeblock run" inside the program: the libraries of the fake GPU are loaded before
any others of their names, and what PyTorch's allocator did is written to a file at the end.

Variables: GAUGEBLOCK_RUN_FOLDER is where the answers go, GAUGEBLOCK_RUN_LIBRARIES where the
libraries are, GAUGEBLOCK_RUN_HISTORY (none, plain, stacks) what a memory snapshot is to hold,
GAUGEBLOCK_RUN_PROGRESS is set if somebody watches."""
import atexit
import ctypes
import faulthandler
import functools
import gc
import json
import os
import pickle
import re
import select
import signal
import sys
import threading
import time

import gaugeblock_alone
import gaugeblock_imports
import gaugeblock_values as values

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.environ.get("GAUGEBLOCK_RUN_FOLDER", "")
LIBRARIES = os.environ.get("GAUGEBLOCK_RUN_LIBRARIES", "")  # read once: a program may clear its environment
HISTORY = os.environ.get("GAUGEBLOCK_RUN_HISTORY", "none")
HISTORY_ENTRIES = 4_000_000 if HISTORY == "stacks" else 200_000
PROGRESS_SECONDS = 0.5
SECONDS_TO_ANSWER = 10
RANKS = os.environ.get("WORLD_SIZE", "1")

# The order of loading: who needs another comes behind it.
FIRST = ["libcuda.so.1", "libcudart.so.12", "libcudart.so.13", "libnvidia-ml.so.1"]

# The statistics that the answer has and a program can reset, and PyTorch's functions that do so.
PEAKS = ["reserved_bytes.all.peak", "allocated_bytes.all.peak"]
COUNTS = ["allocation.all.allocated", "num_alloc_retries", "num_ooms"]
RESETS = ["_cuda_resetPeakMemoryStats", "_cuda_resetAccumulatedMemoryStats", "_accelerator_resetPeakStats", "_accelerator_resetAccumulatedStats"]

steps = 0
ooms = []
kept = {}  # by device: the statistics from before a reset
streams_recorded = {}  # how often which line has called record_stream, if that is asked for
uncaught = ""
no_values = ""  # why values are not kept
other_allocator = ""  # that the program has chosen instead of PyTorch's own
cudnn = {}  # whether NVIDIA's library is there, whether it is asked, and what pip calls it and its compiler
written = False


def start():
    leave("loaded")  # who finds no answer knows that it is not for want of this
    local = os.environ.get("LOCAL_WORLD_SIZE", "")
    if local.isdigit() and int(local) > int(os.environ["GAUGEBLOCK_CUDA_DEVICES"]):
        os.environ["GAUGEBLOCK_CUDA_DEVICES"] = str(min(int(local), 16))  # as many as torchrun starts processes
    if RANKS != "1" and os.environ["GAUGEBLOCK_CUDA_ADDRESSES"] == "process":
        os.environ["GAUGEBLOCK_CUDA_ADDRESSES"] = "real"  # what NCCL takes was measured beside these
    load_libraries(LIBRARIES)
    os.kill = asking_first(os.kill)
    gaugeblock_imports.Import("torch", prepare, before=tell_cudnn)


def load_libraries(folder):
    """A library of a SONAME that is loaded already is the one that later users get."""
    os.environ.setdefault("TRITON_LIBCUDA_PATH", folder)
    own = users_libraries()
    names = [n for n in sorted(os.listdir(folder)) if ".so." in n and n not in FIRST and n not in own]
    for name in FIRST + names:
        ctypes.CDLL(os.path.join(folder, name), ctypes.RTLD_GLOBAL)
    # An extension that names a function of theirs which they do not have is loaded, and fails if it calls it.
    sys.setdlopenflags(sys.getdlopenflags() & ~os.RTLD_NOW | os.RTLD_LAZY)


def folders_of(*parts):
    """Where libraries of NVIDIA are: in the user's wheels, or in the environment as conda installs them."""
    folders = [os.path.join(path, "nvidia", part) for path in sys.path for part in parts] + [os.path.join(sys.prefix, "lib")]
    return [folder for folder in folders if os.path.isdir(folder)]


def users_libraries():
    """Libraries that are better the user's own, if they are there: the run-time compiler.
    It looks for its builtins by their name alone, and cuDNN for it, so they are loaded here."""
    found = set()
    for folder in folders_of("cuda_nvrtc/lib", "cu13/lib", "cu12/lib"):
        compilers = [n for n in os.listdir(folder) if re.fullmatch(r"libnvrtc\.so\.\d+", n)]
        for name in [n for n in os.listdir(folder) if n.startswith("libnvrtc-builtins.so.")] + compilers:
            ctypes.CDLL(os.path.join(folder, name), ctypes.RTLD_GLOBAL)
        found.update(compilers)
    return found


def leave(name):
    """A file that says something by being there."""
    try:
        open(os.path.join(FOLDER, name), "w").close()
    except OSError:
        pass


def tell_cudnn():
    """Which cuDNN there is, and which one torch was built with."""
    from importlib import metadata

    libraries = (os.path.join(folder, "libcudnn.so.9") for folder in folders_of("cudnn/lib"))
    library = next((path for path in libraries if os.path.exists(path)), "")
    off = os.environ.get("GAUGEBLOCK_RUN_CUDNN") == "none"
    try:
        needs = [need.partition(";")[0].strip() for need in metadata.requires("torch") or []]
    except metadata.PackageNotFoundError:
        needs = []
    wheel = next((n for n in needs if n.startswith("nvidia-cudnn")), "nvidia-cudnn-cu13")
    compiler = next((n for n in needs if n.startswith("nvidia-cuda-nvrtc")), "nvidia-cuda-nvrtc")
    toolkit = next((n.partition("==")[2] for n in needs if n.startswith("cuda-toolkit[")), "")
    if toolkit:
        compiler = f"'{compiler}=={toolkit.rpartition('.')[0]}.*'"
    cudnn.update(off=off, there=library != "", wheel=wheel, compiler=compiler)
    if library and not off:
        os.environ["GAUGEBLOCK_CUDNN"] = library
    elif "==" in wheel:
        major, minor, patch = wheel.partition("==")[2].split(".")[:3]
        os.environ["GAUGEBLOCK_CUDNN_VERSION"] = str(int(major) * 10000 + int(minor) * 100 + int(patch))


def cudnn_plans():
    """What is not known of the workspaces that cuDNN's plans were asked for: fakegpu/cuda/thin/cudnn_backend.c."""
    numbers = (ctypes.c_uint64 * 5)()
    ctypes.CDLL(os.path.join(LIBRARIES, "libcudnn.so.9")).gaugeblock_cudnn_plans(numbers)
    names = ["asked", "without_library", "not_compiled", "estimated", "largest_estimate"]
    return dict(cudnn, **dict(zip(names, numbers)))


def prepare(torch):
    global no_values
    if os.environ.get("GAUGEBLOCK_RUN_VALUES") != "none":
        no_values = values.start(torch, os.path.join(os.path.dirname(HERE), "values"), where)
    if "GAUGEBLOCK_RUN_ALONE" in os.environ:
        gaugeblock_alone.prepare(torch)
    # The devices are those of the fake machine, also if CUDA_VISIBLE_DEVICES names others, which the management library knows.
    # That library is asked, not CUDA: a child that is forked could not use CUDA then.
    torch.cuda._device_count_nvml = torch.cuda._raw_device_count_nvml
    torch.cuda._lazy_call(lambda: at_first_use(torch))
    from multiprocessing import util

    util.register_after_fork(steps_hook, in_child)


def in_child(_):
    """A child of multiprocessing ends without Python's atexit; its own list of what to do is empty here."""
    from multiprocessing import util

    util.Finalize(None, write_answer, exitpriority=0)


def at_first_use(torch):
    """Called when CUDA is initialized in this process."""
    global other_allocator
    leave(f"{os.getpid()}.begun")
    if torch.cuda.get_allocator_backend() != "native":  # which has neither statistics nor a history that could be asked for
        other_allocator = torch.cuda.get_allocator_backend()
        watch_for_its_end()
        return
    from torch.optim.optimizer import register_optimizer_step_post_hook

    register_optimizer_step_post_hook(steps_hook)
    torch._C._cuda_attach_out_of_memory_observer(out_of_memory)
    stacks = HISTORY == "stacks"
    if stacks or HISTORY == "plain" and not torch._C._cuda_isHistoryEnabled():  # what the program records is its own
        torch.cuda.memory._record_memory_history(
            enabled="all", context="all" if stacks else None, stacks="python", max_entries=HISTORY_ENTRIES)
    for name in RESETS:
        if hasattr(torch._C, name):
            setattr(torch._C, name, keeping(torch, getattr(torch._C, name)))
    watch_for_its_end()
    watch_places(torch)
    if "GAUGEBLOCK_RUN_STREAMS" in os.environ:
        watch_streams(torch)
    if "GAUGEBLOCK_RUN_PROGRESS" in os.environ:
        threading.Thread(target=tell_progress, args=(torch,), daemon=True).start()


def watch_streams(torch):
    """Counts the lines that call record_stream: when their blocks are free again depends on time."""
    record = torch.Tensor.record_stream

    def record_stream(self, stream):
        at = where()
        streams_recorded[at] = streams_recorded.get(at, 0) + 1
        return record(self, stream)

    torch.Tensor.record_stream = record_stream


def steps_hook(*_):
    global steps
    steps += 1
    let_watchdog_look()


AT_PLACE, AT_END_OF_GROUP, AT_END = range(3)


def let_watchdog_look(at=AT_PLACE):
    """The next collective lets go of the tensors of those that NCCL's watchdog has seen as complete. On a GPU it looks
    every tenth of a second; here it does in these places."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        ctypes.CDLL("libcuda.so.1").gaugeblock_watchdog_looks(at)


def watch_places(torch):
    """A backward pass, and the end of groups of processes, which waits for the watchdog. Steps have their own hook."""
    for module, name in [(torch.autograd, "backward"), (torch.distributed, "destroy_process_group")]:
        before(module, name)


def before(module, name):
    function = getattr(module, name, None)
    if function is None:
        return

    @functools.wraps(function)
    def looked_at(*arguments, **others):
        let_watchdog_look(AT_END_OF_GROUP if name == "destroy_process_group" else AT_PLACE)
        return function(*arguments, **others)

    setattr(module, name, looked_at)


def asking_first(kill):
    """Who ends another process of the program by a signal lets it answer before: multiprocessing's terminate() and
    kill(), and what engines do with their workers at the end."""
    def asks(pid, number):
        if number in (signal.SIGTERM, signal.SIGKILL) and pid != os.getpid():
            ask(pid)
        return kill(pid, number)

    return asks


def ask(pid):
    question, answered = (os.path.join(FOLDER, f"{pid}.{word}") for word in ("question", "answered"))
    try:
        os.close(os.open(question, os.O_WRONLY | os.O_NONBLOCK))
        os.unlink(question)
    except OSError:
        return  # it has no use of CUDA, or was asked
    end = time.monotonic() + SECONDS_TO_ANSWER
    while not os.path.exists(answered) and time.monotonic() < end:
        time.sleep(0.01)


def wait_for_question():
    """A thread that sleeps until somebody asks, or SIGTERM comes, which timeout and batch systems send to all processes.
    A handler of Python's own would be seen by the program, and wait for the main thread; that of faulthandler writes to a pipe."""
    question = os.path.join(FOLDER, f"{os.getpid()}.question")
    os.mkfifo(question)
    asked = os.open(question, os.O_RDONLY | os.O_NONBLOCK)
    terminated, writes = os.pipe()
    process = os.getpid()

    def handle(on):
        if os.getpid() != process or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
            return  # it is the program's
        if on:
            faulthandler.register(signal.SIGTERM, file=writes, all_threads=False)
        else:
            faulthandler.unregister(signal.SIGTERM)

    def wait():
        nonlocal process
        select.select([asked, terminated], [], [])
        try:
            write_answer(last=False)
        finally:
            put(f"{os.getpid()}.answered", {})
            handle(False)
            process = 0
            if select.select([terminated], [], [], 0)[0]:
                os.kill(os.getpid(), signal.SIGTERM)

    handle(True)
    os.register_at_fork(before=lambda: handle(False), after_in_parent=lambda: handle(True))  # a child has the same pipe
    threading.Thread(target=wait, daemon=True).start()


def watch_for_its_end():
    atexit.register(at_end)
    try:
        wait_for_question()
    except OSError:
        pass  # such as a folder that is gone: it cannot answer, as without
    leave = os._exit

    def _exit(status):
        """The end of a process without Python's own."""
        try:
            write_answer()
        finally:
            leave(status)

    os._exit = _exit
    hook = sys.excepthook

    def excepthook(kind, value, trace):
        global uncaught
        uncaught = name_of(value)
        nccl_without_memory(trace)
        hook(kind, value, trace)

    sys.excepthook = excepthook


def name_of(error):
    """The name of an exception, or of the one for want of memory from which it came."""
    kinds = []
    while error is not None:
        kinds.append(f"{type(error).__module__}.{type(error).__qualname__}")
        error = error.__cause__ or error.__context__
    return next((k for k in kinds if k.endswith("OutOfMemoryError")), kinds[0])


def nccl_without_memory(trace):
    """The program ends with an error of NCCL, which had no memory for its own buffers."""
    if not uncaught.endswith(".DistBackendError"):
        return
    lacks = (ctypes.c_uint64 * 2)()
    ctypes.CDLL(os.path.join(LIBRARIES, "libnccl.so.2")).gaugeblock_nccl_lacks(lacks)
    if lacks[0] == 0:
        return
    while trace.tb_next is not None:
        trace = trace.tb_next
    import torch

    device = torch.cuda.current_device()
    out_of_memory(device, lacks[0], torch.cuda.get_device_properties(device).total_memory, lacks[1], users_line(trace.tb_frame), "NCCL")


def out_of_memory(device, asked, limit, free, found=None, by=""):
    """The allocator has no memory for a request, and is about to raise torch.OutOfMemoryError; or another library has none."""
    import torch

    stats = torch.cuda.memory_stats(device)
    at, function = found or place()
    ooms.append({
        **({"by": by} if by else {}),
        "device": device, "asked": asked, "limit": limit, "free": free, "step": steps, "at": at, "function": function,
        "reserved": stats["reserved_bytes.all.current"], "allocated": stats["allocated_bytes.all.current"],
        "requested": stats["requested_bytes.all.current"],
    })
    del ooms[1000:]


def where():
    return place()[0]


def place():
    """The user's line, and its function: the innermost one that is in no installed package, of this
    thread or, in the backward pass, whose threads run no Python, of the main thread."""
    found = users_line(sys._getframe(1))
    main = threading.main_thread().ident
    if found[0] or main == threading.get_ident():
        return found  # sys._current_frames has this frame too, and a frame that holds itself keeps all tensors of its callers
    return users_line(sys._current_frames().get(main))


def users_line(frame):
    while frame is not None:
        code = frame.f_code
        if is_users(code.co_filename):
            return f"{os.path.relpath(code.co_filename)}:{frame.f_lineno}", code.co_name
        frame = frame.f_back
    return "", ""


def is_users(file):
    return "site-packages" not in file and os.path.dirname(file) != HERE and not file.startswith("<")


def keeping(torch, reset):
    """A function by which a program resets statistics, as trainers do at each step. What they were is kept."""
    def reset_and_keep(device):
        before = torch.cuda.memory_stats(device)
        reset(device)
        after, old = torch.cuda.memory_stats(device), kept.setdefault(device, {})
        for key in PEAKS:
            old[key] = max(old.get(key, 0), before[key])
        for key in COUNTS:
            old[key] = old.get(key, 0) + before[key] - after[key]

    return reset_and_keep


def statistics(torch, device):
    """The allocator's statistics of a device, as if nobody had reset any."""
    stats, old = torch.cuda.memory_stats(device), kept.get(device, {})
    stats.update({key: max(stats[key], old[key]) for key in PEAKS if key in old})
    stats.update({key: stats[key] + old[key] for key in COUNTS if key in old})
    return stats


def figures(torch):
    """The allocator's statistics of each device that was used."""
    devices = []
    for device in range(torch.cuda.device_count()):
        stats = statistics(torch, device)
        if stats.get("allocation.all.allocated", 0) == 0:
            continue
        devices.append({
            "device": device, "total": torch.cuda.get_device_properties(device).total_memory,
            "peak_reserved": stats["reserved_bytes.all.peak"], "peak_allocated": stats["allocated_bytes.all.peak"],
            "reserved": stats["reserved_bytes.all.current"], "allocated": stats["allocated_bytes.all.current"],
            "allocations": stats["allocation.all.allocated"], "retries": stats["num_alloc_retries"],
            "ooms": stats["num_ooms"], "driver_allocations": stats["num_device_alloc"], "driver_frees": stats["num_device_free"],
        })
    return devices


def undisturbed():
    """A second Ctrl-C, or that of the terminal beside that of who started this process, does not end what is written at the end."""
    while threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        except KeyboardInterrupt:
            pass


def at_end():
    write_answer()
    let_watchdog_look(AT_END)


def write_answer(last=True):
    global written
    if last and not written:
        undisturbed()
    torch = sys.modules.get("torch")
    if written or torch is None or not torch.cuda.is_initialized():
        return
    written = last
    answer = {
        "pid": os.getpid(), "torch": torch.__version__, "rank": os.environ.get("RANK", ""), "command": sys.argv[:1],
        "steps": steps, "no_values": no_values, "decisions": values.unknown(values.DECISION), "floats_read": values.unknown(values.FLOAT), "turned": values.unknown(values.TURNED),
        "streams_recorded": streams_recorded, "uncaught": uncaught, "ooms": ooms, "other_allocator": other_allocator,
        "devices": [] if other_allocator else figures(torch),
        "cudnn": cudnn_plans(),
    }
    if not other_allocator and (HISTORY == "stacks" or HISTORY == "plain" and ooms):
        answer["snapshot"] = os.path.join(FOLDER, f"{os.getpid()}.pickle")
        try:
            dump_snapshot(torch, answer["snapshot"])
        except OSError as problem:
            print(f"gaugeblock: the memory snapshot could not be written: {problem}", file=sys.stderr)
            del answer["snapshot"]
    try:
        put(f"{os.getpid()}.json", answer)
    except OSError as problem:  # such as a full disk
        print(f"gaugeblock: the answer could not be written: {problem}", file=sys.stderr)
        for d in answer["devices"]:
            print(f"gaugeblock: device {d['device']}: peak reserved {d['peak_reserved']} bytes, allocated {d['peak_allocated']}", file=sys.stderr)


def dump_snapshot(torch, path):
    """PyTorch's snapshot. In a backward pass the entry of a request that failed has no stack, since the
    thread that made it runs no Python: it gets the line at which the main thread waited."""
    snapshot = torch.cuda.memory._snapshot()
    for device, entries in enumerate(snapshot["device_traces"]):
        failures = [o for o in ooms if o["device"] == device and "by" not in o]
        recorded = [e for e in entries if e["action"] == "oom"]
        if len(failures) != len(recorded) or HISTORY != "stacks":
            continue
        for failure, entry in zip(failures, recorded):
            file, _, line = failure["at"].rpartition(":")
            if file and not any(is_users(f["filename"]) for f in entry.get("frames", [])):
                entry["frames"] = entry.get("frames", []) + [{"filename": os.path.abspath(file), "line": int(line), "name": failure["function"]}]
    with open(path, "wb") as f:
        pickle.dump(snapshot, f)


def put(name, answer):
    path = os.path.join(FOLDER, name)
    with open(path + ".part", "w", encoding="utf-8") as f:
        json.dump(answer, f)
    os.replace(path + ".part", path)


def tell_progress(torch):
    while not written:
        collects = gc.isenabled()
        gc.disable()  # so that the program's own garbage is collected when it would be without this thread
        try:
            now = {"devices": figures(torch), "steps": steps}
            put(f"{os.getpid()}.progress", now)
        finally:
            if collects:
                gc.enable()
        time.sleep(PROGRESS_SECONDS)
