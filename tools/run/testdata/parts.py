"""What "gaugeblock run" puts into a program, beside a torch that has only what it asks for. Ends with 1 if one of these
tests fails. What PyTorch itself does there is tested with it."""
import contextlib
import ctypes
import gc
import importlib
import io
import json
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
import types
import unittest
from importlib import metadata
from unittest import mock

import gaugeblock_alone
import gaugeblock_run as run
import gaugeblock_values as values

RAW = ["allocation.all.allocated", "num_alloc_retries", "num_ooms", "num_device_alloc", "num_device_free", "reserved_bytes.all.peak",
       "allocated_bytes.all.peak", "reserved_bytes.all.current", "allocated_bytes.all.current", "requested_bytes.all.current"]


class Torch(types.ModuleType):
    """What gaugeblock_run asks of PyTorch: two devices, the first of which was used."""

    def __init__(self):
        super().__init__("torch")
        self.__version__ = "2.11.0"
        self.stats = [dict(zip(RAW, range(10, 20))), dict.fromkeys(RAW, 0)]
        self.snapshot = {"device_traces": [[], []]}
        self.lazy, self.resets, self.steps, self.watchdog = [], [], [], []
        self.cuda = types.SimpleNamespace(
            is_initialized=lambda: True, device_count=lambda: 2, memory_stats=lambda device: dict(self.stats[device]),
            get_device_properties=lambda device: types.SimpleNamespace(total_memory=100 + device), get_allocator_backend=lambda: "native",
            _raw_device_count_nvml=lambda: 2, current_device=lambda: 0, _device_count_nvml=lambda: 1, _lazy_call=self.lazy.append,
            memory=types.SimpleNamespace(_snapshot=lambda: self.snapshot, _record_memory_history=mock.Mock()))
        self._C = types.SimpleNamespace(
            _cuda_attach_out_of_memory_observer=mock.Mock(), _cuda_isHistoryEnabled=lambda: False,
            _cuda_resetPeakMemoryStats=self.resets.append, _accelerator_resetPeakStats=self.resets.append)
        self.autograd = types.SimpleNamespace(backward=lambda x: x + 1)
        self.distributed = types.SimpleNamespace(destroy_process_group=lambda: "gone", is_available=lambda: True, is_initialized=lambda: True)
        self.Tensor = type("Tensor", (), {"record_stream": lambda tensor, stream: stream})
        optimizer = types.SimpleNamespace(register_optimizer_step_post_hook=self.steps.append)
        modules = {"torch": self, "torch.distributed": self.distributed, "torch.optim": types.ModuleType("torch.optim"), "torch.optim.optimizer": optimizer}
        self.patch = mock.patch.dict(sys.modules, modules)


class Library:
    """What ctypes.CDLL gives: which were loaded, in their order, and what was called."""
    loaded, calls, lacks = [], [], [0, 0]

    def __init__(self, name, mode=None):
        self.loaded.append((name, mode))

    def __getattr__(self, function):
        def call(*arguments):
            self.calls.append((function, *arguments))
            if function == "gaugeblock_cudnn_plans":
                arguments[0][:] = [5, 4, 3, 2, 1]
            if function == "gaugeblock_nccl_lacks":
                arguments[0][:] = self.lacks
        return call


class Case(unittest.TestCase):
    def load(self, **environment):
        """The module as it is at the start of a program with these variables."""
        for name in [n for n in os.environ if n.startswith("GAUGEBLOCK_") or n in ("WORLD_SIZE", "LOCAL_WORLD_SIZE", "RANK")]:
            del os.environ[name]
        os.environ.update({"GAUGEBLOCK_RUN_FOLDER": self.folder, "GAUGEBLOCK_RUN_LIBRARIES": "/libraries", **environment})
        importlib.reload(run)

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.enterContext(mock.patch.dict(os.environ))
        for where, name in [(os, "kill"), (os, "_exit"), (sys, "excepthook"), (sys, "path"), (sys, "meta_path"), (sys, "argv")]:
            value = getattr(where, name)
            self.enterContext(mock.patch.object(where, name, list(value) if isinstance(value, list) else value))
        self.enterContext(mock.patch.object(ctypes, "CDLL", Library))
        self.registered = self.enterContext(mock.patch("atexit.register"))
        Library.loaded.clear()
        Library.calls.clear()
        self.torch = Torch()
        self.enterContext(self.torch.patch)
        self.load()

    def enterContext(self, manager):  # unittest has it since 3.11
        value = manager.__enter__()
        self.addCleanup(manager.__exit__, None, None, None)
        return value

    def file(self, name):
        return os.path.join(self.folder, name)

    def answer(self, kind="json"):
        with open(self.file(f"{os.getpid()}.{kind}"), encoding="utf-8") as f:
            return json.load(f)


class Start(Case):
    def start(self, **environment):
        self.load(**{"GAUGEBLOCK_CUDA_DEVICES": "2", "GAUGEBLOCK_CUDA_ADDRESSES": "process", **environment})
        with mock.patch.object(run, "load_libraries") as load:
            run.start()
        load.assert_called_once_with("/libraries")

    def test_variables(self):
        for devices, addresses, variables in [
            ("2", "process", {}), ("2", "process", {"LOCAL_WORLD_SIZE": "1", "WORLD_SIZE": "1"}), ("2", "process", {"LOCAL_WORLD_SIZE": "two"}),
            ("2", "process", {"LOCAL_WORLD_SIZE": "2"}), ("4", "real", {"LOCAL_WORLD_SIZE": "4", "WORLD_SIZE": "8"}), ("16", "process", {"LOCAL_WORLD_SIZE": "40"}),
            ("2", "fixed", {"WORLD_SIZE": "2", "GAUGEBLOCK_CUDA_ADDRESSES": "fixed"}),
        ]:
            self.start(**variables)
            self.assertEqual((os.environ["GAUGEBLOCK_CUDA_DEVICES"], os.environ["GAUGEBLOCK_CUDA_ADDRESSES"]), (devices, addresses), variables)
        self.assertTrue(os.path.exists(self.file("loaded")))

    def test_what_is_hooked(self):
        kill = os.kill
        self.start()
        self.assertIsNot(os.kill, kill)
        found = sys.meta_path[0]
        self.assertEqual((found.name, found.after, found.before), ("torch", run.prepare, run.tell_cudnn))

    def test_folder_is_gone(self):
        self.start(GAUGEBLOCK_RUN_FOLDER=self.file("gone"))


class Libraries(Case):
    def test_order(self):
        wheels = self.file("wheels")
        for folder, names in [
            ("libraries", ["libcublas.so.12", "libcuda.so.1", "libcudart.so.12", "libcudart.so.13", "libnvidia-ml.so.1", "libnvrtc.so.12", "include", "libz.a"]),
            ("wheels/nvidia/cuda_nvrtc/lib", ["libnvrtc.so.12", "libnvrtc-builtins.so.12.9", "libother.so.1"]),
            ("wheels/nvidia/cu13/lib", ["libnvrtc.so.13"]),
            ("prefix/lib", ["libnvrtc.so.11", "libnvrtc.so.11.8", "libnvrtc-builtins.so.11.8", "libc.so.6"]),  # as conda has them
        ]:
            os.makedirs(self.file(folder))
            for name in names:
                open(os.path.join(self.file(folder), name), "w").close()
        sys.path[:] = [self.file("none"), wheels]
        flags = sys.getdlopenflags()
        self.addCleanup(sys.setdlopenflags, flags)
        sys.setdlopenflags(os.RTLD_NOW | os.RTLD_GLOBAL)
        with mock.patch.object(sys, "prefix", self.file("prefix")):
            run.load_libraries(self.file("libraries"))
        self.assertEqual(sys.getdlopenflags(), os.RTLD_LAZY | os.RTLD_GLOBAL)
        users = ["cuda_nvrtc/lib/libnvrtc-builtins.so.12.9", "cuda_nvrtc/lib/libnvrtc.so.12", "cu13/lib/libnvrtc.so.13"]
        own = ["libcuda.so.1", "libcudart.so.12", "libcudart.so.13", "libnvidia-ml.so.1", "libcublas.so.12"]
        condas = [self.file(f"prefix/lib/{name}") for name in ("libnvrtc-builtins.so.11.8", "libnvrtc.so.11")]
        want = [os.path.join(wheels, "nvidia", n) for n in users] + condas + [os.path.join(self.file("libraries"), n) for n in own]
        self.assertEqual(Library.loaded, [(path, ctypes.RTLD_GLOBAL) for path in want])
        self.assertEqual(os.environ["TRITON_LIBCUDA_PATH"], self.file("libraries"))

    def test_cudnn(self):
        library = self.file("nvidia/cudnn/lib/libcudnn.so.9")
        os.makedirs(os.path.dirname(library))
        cases = [  # what torch needs, whether the library is there, whether it is off; wheel, compiler, variables
            (None, False, False, "nvidia-cudnn-cu13", "nvidia-cuda-nvrtc", {}),
            ([], True, False, "nvidia-cudnn-cu13", "nvidia-cuda-nvrtc", {"GAUGEBLOCK_CUDNN": library}),
            (["nvidia-cudnn-cu12==9.10.2.21; platform_system == 'Linux'", "nvidia-cuda-nvrtc-cu12==12.8.93"], False, False,
             "nvidia-cudnn-cu12==9.10.2.21", "nvidia-cuda-nvrtc-cu12==12.8.93", {"GAUGEBLOCK_CUDNN_VERSION": "91002"}),
            (["cuda-toolkit[nvrtc]==13.0.2", "nvidia-cudnn-cu13==9.19.0.56"], True, True, "nvidia-cudnn-cu13==9.19.0.56", "'nvidia-cuda-nvrtc==13.0.*'",
             {"GAUGEBLOCK_CUDNN_VERSION": "91900"}),
        ]
        for needs, there, off, wheel, compiler, variables in cases:
            self.load(**({"GAUGEBLOCK_RUN_CUDNN": "none"} if off else {}))
            if there:
                open(library, "w").close()
            requires = mock.Mock(side_effect=metadata.PackageNotFoundError) if needs is None else lambda _: needs
            with mock.patch.object(metadata, "requires", requires), mock.patch.object(sys, "path", ["/none", self.folder]):
                run.tell_cudnn()
            self.assertEqual(run.cudnn, {"off": off, "there": there, "wheel": wheel, "compiler": compiler})
            self.assertEqual({k: v for k, v in os.environ.items() if k.startswith("GAUGEBLOCK_CUDNN")}, variables)
            with contextlib.suppress(OSError):
                os.unlink(library)
        condas = self.file("lib/libcudnn.so.9")
        os.makedirs(os.path.dirname(condas))
        open(condas, "w").close()
        self.load()
        with mock.patch.object(metadata, "requires", lambda _: []), mock.patch.object(sys, "path", ["/none"]), mock.patch.object(sys, "prefix", self.folder):
            run.tell_cudnn()
        self.assertEqual((run.cudnn["there"], os.environ["GAUGEBLOCK_CUDNN"]), (True, condas))
        plans = run.cudnn_plans()
        self.assertEqual(Library.loaded, [("/libraries/libcudnn.so.9", None)])
        self.assertEqual({k: plans[k] for k in list(plans)[4:]}, {"asked": 5, "without_library": 4, "not_compiled": 3, "estimated": 2, "largest_estimate": 1})


class Prepare(Case):
    def prepare(self, **environment):
        self.load(**environment)
        with mock.patch.object(run.values, "start", return_value="why") as start, mock.patch.object(run.gaugeblock_alone, "prepare") as alone:
            run.prepare(self.torch)
        return start, alone

    def test_values_and_one_rank(self):
        start, alone = self.prepare()
        start.assert_called_once_with(self.torch, os.path.join(os.path.dirname(run.HERE), "values"), run.where)
        self.assertEqual((run.no_values, alone.called), ("why", False))
        start, alone = self.prepare(GAUGEBLOCK_RUN_VALUES="none", GAUGEBLOCK_RUN_ALONE="1")
        self.assertEqual((start.called, run.no_values), (False, ""))
        alone.assert_called_once_with(self.torch)

    def test_devices_and_first_use(self):
        self.prepare()
        self.assertEqual(self.torch.cuda._device_count_nvml(), 2)
        with mock.patch.object(run, "at_first_use") as use:
            self.torch.lazy[0]()
        use.assert_called_once_with(self.torch)

    def test_child(self):
        with mock.patch("multiprocessing.util.register_after_fork") as after, mock.patch("multiprocessing.util.Finalize") as end:
            self.prepare()
            self.assertEqual(after.call_args.args, (run.steps_hook, run.in_child))
            run.in_child(None)
        end.assert_called_once_with(None, run.write_answer, exitpriority=0)


class FirstUse(Case):
    def use(self, **environment):
        self.load(**environment)
        with mock.patch.object(run, "watch_for_its_end") as watch, mock.patch.object(run, "tell_progress") as tell:
            run.at_first_use(self.torch)
            time.sleep(0)
            for thread in threading.enumerate():
                if thread is not threading.main_thread():
                    thread.join()
        watch.assert_called_once_with()
        return tell

    def test_other_allocator(self):
        self.torch.cuda.get_allocator_backend = lambda: "cudaMallocAsync"
        self.use()
        self.assertEqual((run.other_allocator, self.torch.steps), ("cudaMallocAsync", []))

    def test_observers(self):
        tell = self.use()
        self.assertEqual((self.torch.steps, run.other_allocator, tell.called), ([run.steps_hook], "", False))
        self.torch._C._cuda_attach_out_of_memory_observer.assert_called_once_with(run.out_of_memory)
        self.assertEqual(hasattr(self.torch._C, "_cuda_resetAccumulatedMemoryStats"), False)
        for reset in (self.torch._C._cuda_resetPeakMemoryStats, self.torch._C._accelerator_resetPeakStats):
            reset(1)
        self.assertEqual((self.torch.resets, list(run.kept)), ([1, 1], [1]))
        self.use(GAUGEBLOCK_RUN_PROGRESS="1").assert_called_once_with(self.torch)

    def test_history(self):
        record = self.torch.cuda.memory._record_memory_history
        for history, enabled, want in [
            ("none", False, None), ("plain", True, None), ("plain", False, (None, 200_000)), ("stacks", True, ("all", 4_000_000)),
        ]:
            record.reset_mock()
            self.torch._C._cuda_isHistoryEnabled = lambda: enabled
            self.use(GAUGEBLOCK_RUN_HISTORY=history)
            calls = [] if want is None else [mock.call(enabled="all", context=want[0], stacks="python", max_entries=want[1])]
            self.assertEqual(record.call_args_list, calls, (history, enabled))

    def test_streams(self):
        self.use(GAUGEBLOCK_RUN_STREAMS="1")
        tensor = self.torch.Tensor()
        self.assertEqual([tensor.record_stream(k) for k in (3, 4)], [3, 4])
        self.assertEqual((list(run.streams_recorded.values()), "parts.py:" in str(run.streams_recorded)), ([2], True))

    def test_watchdog(self):
        self.use()
        self.assertEqual((self.torch.autograd.backward(4), self.torch.distributed.destroy_process_group()), (5, "gone"))
        run.steps_hook(None, None)
        self.assertEqual((Library.calls, run.steps), ([("gaugeblock_watchdog_looks", ends) for ends in (0, 1, 0)], 1))
        self.assertEqual(Library.loaded[-1][0], "libcuda.so.1")
        run.before(self.torch, "no_such_function")
        self.assertFalse(hasattr(self.torch, "no_such_function"))
        for there, begun in [(False, True), (True, False)]:
            self.torch.distributed.is_available, self.torch.distributed.is_initialized = lambda: there, lambda: begun
            run.let_watchdog_look()
        del sys.modules["torch.distributed"]
        run.let_watchdog_look()
        self.assertEqual(len(Library.calls), 3)


class Ends(Case):
    def test_who_is_asked(self):
        killed = []
        kill = run.asking_first(lambda pid, number: killed.append((pid, number)) or 7)
        with mock.patch.object(run, "ask") as ask:
            for pid, number in [(1, signal.SIGTERM), (2, signal.SIGKILL), (3, signal.SIGUSR1), (os.getpid(), signal.SIGTERM)]:
                self.assertEqual(kill(pid, number), 7)
        self.assertEqual(([c.args for c in ask.call_args_list], len(killed), killed[0]), ([(1,), (2,)], 4, (1, signal.SIGTERM)))

    def test_ask(self):
        """One without a question is not waited for, and of one with it the answer is, once."""
        began = time.monotonic()
        run.ask(1)
        self.assertLess(time.monotonic() - began, 5)
        with mock.patch.object(run, "write_answer") as write:
            run.wait_for_question()
            deadline = time.monotonic() + 20
            while os.path.exists(self.file(f"{os.getpid()}.question")) and time.monotonic() < deadline:
                run.ask(os.getpid())  # until the thread reads
        self.assertEqual(self.answer("answered"), {})
        write.assert_called_once_with(last=False)

    def test_ask_gives_up(self):
        os.mkfifo(self.file("1.question"))
        reader = os.open(self.file("1.question"), os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        with mock.patch.object(run, "SECONDS_TO_ANSWER", 0.05), mock.patch.object(run.time, "sleep") as sleep:
            run.ask(1)
        self.assertTrue(sleep.called)

    def test_end(self):
        left, hooked = [], []
        os._exit, sys.excepthook = left.append, lambda *a: hooked.append(a)
        with mock.patch.object(run, "wait_for_question", side_effect=OSError):
            run.watch_for_its_end()
        self.registered.assert_called_once_with(run.at_end)
        Library.calls.clear()
        with mock.patch.object(run, "write_answer", lambda: Library.calls.append("written")), mock.patch.dict(sys.modules, {"torch.distributed": Torch().distributed}):
            run.at_end()
        self.assertEqual(Library.calls, ["written", ("gaugeblock_watchdog_looks", 2)])
        with mock.patch.object(run, "write_answer") as write:
            os._exit(3)
            write.assert_called_once_with()
            write.side_effect = ValueError
            self.assertRaises(ValueError, os._exit, 4)
        error = ValueError("x")
        sys.excepthook(ValueError, error, None)
        self.assertEqual((left, hooked, run.uncaught), ([3, 4], [(ValueError, error, None)], "builtins.ValueError"))

    def test_names(self):
        class OutOfMemoryError(Exception):
            pass

        memory = f"{__name__}.{OutOfMemoryError.__qualname__}"
        for of, chained, want in [("cause", False, memory), ("context", True, memory), ("other", False, "builtins.ValueError")]:
            error, first = ValueError(), KeyError() if of == "other" else OutOfMemoryError()
            setattr(error, "__context__" if chained else "__cause__", first)
            self.assertEqual(run.name_of(error), want, of)


class Answers(Case):
    def test_out_of_memory(self):
        run.steps = 3
        run.out_of_memory(0, 512, 1000, 5)
        (found,) = run.ooms
        self.assertRegex(found.pop("at"), r"parts\.py:\d+$")
        self.assertEqual(found, {"device": 0, "asked": 512, "limit": 1000, "free": 5, "step": 3, "function": "test_out_of_memory", "reserved": 17, "allocated": 18, "requested": 19})
        run.ooms = [0] * 1000
        run.out_of_memory(0, 512, 1000, 5)
        self.assertEqual((len(run.ooms), run.ooms[-1]), (1000, 0))

    def test_nccl_without_memory(self):
        def fails():
            raise ValueError

        try:
            fails()
        except ValueError as error:
            trace = error.__traceback__
        for lacks, uncaught, found in [([512, 5], "torch.distributed.DistBackendError", True), ([0, 5], "torch.distributed.DistBackendError", False), ([512, 5], "x.Other", False)]:
            run.ooms, run.uncaught = [], uncaught
            with mock.patch.object(Library, "lacks", lacks):
                run.nccl_without_memory(trace)
            self.assertEqual(len(run.ooms), found)
            for one in run.ooms:
                self.assertEqual((one["by"], one["asked"], one["free"], one["limit"], one["function"]), ("NCCL", 512, 5, 100, "fails"))

    def test_whose_line(self):
        for file, own in [("/home/me/train.py", True), ("/v/site-packages/torch/a.py", False), (run.__file__, False), ("<string>", False)]:
            self.assertEqual(run.is_users(file), own, file)
        place, functions = {}, []
        exec(compile("def inner(): return where()\n", "/v/site-packages/p.py", "exec"), {"where": lambda: functions.append(run.place()) or run.where()}, place)
        found = place["inner"]()
        self.assertRegex(found, r"parts\.py:\d+$")
        elsewhere = []
        thread = threading.Thread(target=lambda: elsewhere.append(run.users_line(None)) or elsewhere.append(run.place()))
        thread.start()
        thread.join()
        self.assertEqual((elsewhere[0], functions[0][1]), (("", ""), "<lambda>"))
        made = {}
        exec(compile("def outside(): made['at'] = place()\n", "<string>", "exec"), {"place": run.place, "made": made}, place)
        thread = threading.Thread()
        thread.run = place["outside"]
        with mock.patch.object(run, "is_users", side_effect=lambda file: file == __file__):
            thread.start()
            thread.join()
        self.assertRegex(made["at"][0], r"parts\.py:\d+$")  # the main thread's line, since this thread has none

    def test_resets(self):
        stats = self.torch.stats[0]

        def reset(device):
            stats.update({"reserved_bytes.all.peak": 5, "allocated_bytes.all.peak": 4, "allocation.all.allocated": 0, "num_alloc_retries": 0, "num_ooms": 0})

        resets = run.keeping(self.torch, reset)
        resets(0)
        stats.update({"reserved_bytes.all.peak": 100, "allocation.all.allocated": 3})
        resets(0)
        stats.update({"allocated_bytes.all.peak": 6, "num_ooms": 2})
        now = run.statistics(self.torch, 0)
        self.assertEqual([now[k] for k in RAW], [13, 11, 14, 13, 14, 100, 16, 17, 18, 19])
        self.assertEqual(run.statistics(self.torch, 1), self.torch.stats[1])

    def test_figures(self):
        self.assertEqual(run.figures(self.torch), [{
            "device": 0, "total": 100, "peak_reserved": 15, "peak_allocated": 16, "reserved": 17, "allocated": 18,
            "allocations": 10, "retries": 11, "ooms": 12, "driver_allocations": 13, "driver_frees": 14}])

    def write(self, **more):
        with mock.patch.object(run.values, "unknown", side_effect=lambda kind: {"a.py:1": kind + 1}), contextlib.redirect_stderr(io.StringIO()) as told:
            run.write_answer(**more)
        return told.getvalue()

    def test_answer(self):
        self.load(RANK="1")
        sys.argv[:] = ["train.py", "--more"]
        self.write(last=False)
        self.assertEqual(self.answer(), {
            "pid": os.getpid(), "torch": "2.11.0", "rank": "1", "command": ["train.py"], "steps": 0, "no_values": "", "decisions": {"a.py:1": 1},
            "floats_read": {"a.py:1": 2}, "turned": {"a.py:1": 3}, "streams_recorded": {}, "uncaught": "", "ooms": [], "other_allocator": "", "devices": run.figures(self.torch),
            "cudnn": {"asked": 5, "without_library": 4, "not_compiled": 3, "estimated": 2, "largest_estimate": 1}})
        run.steps = 1
        self.write()
        run.steps = 2
        self.write()
        self.assertEqual((self.answer()["steps"], os.listdir(self.folder)), (1, [f"{os.getpid()}.json"]))

    def test_no_answer(self):
        self.torch.cuda.is_initialized = lambda: False
        self.write()
        del sys.modules["torch"]
        self.write()
        self.assertEqual((os.listdir(self.folder), run.written), ([], False))

    def test_snapshot(self):
        for history, other, ooms, there in [
            ("none", "", [1], False), ("plain", "", [], False), ("plain", "", [1], True), ("stacks", "", [], True), ("stacks", "backend", [1], False),
        ]:
            self.load(GAUGEBLOCK_RUN_HISTORY=history)
            run.other_allocator, run.ooms = other, ooms
            with mock.patch.object(run, "dump_snapshot") as dump:
                self.write()
            path = self.file(f"{os.getpid()}.pickle")
            self.assertEqual((dump.call_args_list, self.answer().get("snapshot")), ([mock.call(self.torch, path)] if there else [], path if there else None), (history, other, ooms))
            self.assertEqual(bool(self.answer()["devices"]), not other)

    def test_full_disk(self):
        self.load(GAUGEBLOCK_RUN_HISTORY="stacks")
        with mock.patch.object(run, "dump_snapshot", side_effect=OSError("no space")):
            self.assertEqual(self.write(), "gaugeblock: the memory snapshot could not be written: no space\n")
        self.assertNotIn("snapshot", self.answer())
        self.load()
        with mock.patch.object(run, "put", side_effect=OSError("no space")):
            self.assertEqual(self.write(), "gaugeblock: the answer could not be written: no space\ngaugeblock: device 0: peak reserved 15 bytes, allocated 16\n")

    def test_stacks_of_failures(self):
        at = os.path.relpath(__file__) + ":12"
        failure = {"device": 0, "at": at, "function": "f"}
        own = {"filename": os.path.abspath(__file__), "line": 12, "name": "f"}
        theirs, mine = {"filename": "/v/site-packages/a.py"}, {"filename": "/home/me/a.py"}
        for history, failures, frames, want in [
            ("stacks", [failure], [theirs], [theirs, own]), ("stacks", [failure], None, [own]), ("stacks", [failure], [theirs, mine], [theirs, mine]),
            ("stacks", [failure, failure], [theirs], [theirs]), ("plain", [failure], [theirs], [theirs]), ("stacks", [dict(failure, at="")], [theirs], [theirs]),
            ("stacks", [dict(failure, device=1), failure], [theirs], [theirs, own]),
        ]:
            self.load(GAUGEBLOCK_RUN_HISTORY=history)
            run.ooms = failures
            entry = {"action": "oom"} if frames is None else {"action": "oom", "frames": list(frames)}
            self.torch.snapshot = {"device_traces": [[{"action": "alloc", "frames": []}, entry], []]}
            run.dump_snapshot(self.torch, self.file("s"))
            with open(self.file("s"), "rb") as f:
                self.assertEqual(pickle.load(f)["device_traces"][0], [{"action": "alloc", "frames": []}, {"action": "oom", "frames": want}], (history, failures))

    def test_progress(self):
        for collects in (True, False):
            (gc.enable if collects else gc.disable)()
            self.addCleanup(gc.enable)
            run.written, run.steps, during = False, 4, []

            def sleep(seconds):
                during.append((seconds, gc.isenabled()))
                run.written = len(during) == 2

            with mock.patch.object(run.time, "sleep", sleep), mock.patch.object(run, "figures", side_effect=lambda _: [gc.isenabled()]):
                run.tell_progress(self.torch)
            self.assertEqual((self.answer("progress"), during), ({"devices": [False], "steps": 4}, [(0.5, collects)] * 2))


class Values(Case):
    def setUp(self):
        super().setUp()
        self.sources = self.file("sources")
        os.mkdir(self.sources)
        with open(os.path.join(self.sources, "values.cc"), "w", encoding="utf-8") as f:
            f.write("int x;")
        self.torch.__file__ = "/v/torch/__init__.py"
        self.torch._C._GLIBCXX_USE_CXX11_ABI = True
        self.enterContext(mock.patch.object(values, "library", None))
        self.enterContext(mock.patch.object(threading.Thread, "run", threading.Thread.run))

    def built(self, torch=None, **environment):
        for name in ("XDG_CACHE_HOME", "GAUGEBLOCK_CACHE", "CXX"):
            os.environ.pop(name, None)
        os.environ.update({"GAUGEBLOCK_CACHE": self.file("cache"), "PYTHONPATH": "/site", **environment})
        commands = []

        def compiles(command, check, capture_output, env):
            commands.append(command)
            self.assertEqual((check, capture_output, "PYTHONPATH" in env, "GAUGEBLOCK_CACHE" in env), (True, True, False, True))
            open(command[command.index("-o") + 1], "w").close()

        with mock.patch("subprocess.run", compiles), contextlib.redirect_stderr(io.StringIO()) as told:
            path = values.built(torch or self.torch, self.sources)
        self.assertEqual((os.path.exists(path), "compiling" in told.getvalue()), (True, commands != []))
        self.assertEqual(os.listdir(os.path.dirname(path)).count(os.path.basename(path)), 1)
        return path, commands

    def test_built_once(self):
        path, (command,) = self.built()
        self.assertEqual(command, [
            "c++", "-std=c++20", "-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-D_GLIBCXX_USE_CXX11_ABI=1", "-I", "/v/torch/include",
            "-I", "/v/torch/include/torch/csrc/api/include", "-I", "/libraries/include", os.path.join(self.sources, "values.cc"),
            "-o", f"{path}.{os.getpid()}", "-L", "/v/torch/lib", "-lc10", "-ltorch_cpu", "-lc10_cuda"])
        self.assertRegex(os.path.relpath(path, self.folder), r"^cache/values-2\.11\.0-[0-9a-f]{16}\.so$")
        self.assertEqual(self.built(), (path, []))
        with open(os.path.join(self.sources, "known.h"), "w", encoding="utf-8") as f:
            f.write("int y;")
        other, (command,) = self.built(CXX="clang++")
        self.assertEqual((other == path, command[0]), (False, "clang++"))
        self.torch.__version__ = "2.12.1"
        self.torch._C._GLIBCXX_USE_CXX11_ABI = False
        path, (command,) = self.built(GAUGEBLOCK_CACHE="", XDG_CACHE_HOME=self.file("user"))
        self.assertEqual((os.path.dirname(path), command[6]), (self.file("user/gaugeblock"), "-D_GLIBCXX_USE_CXX11_ABI=0"))
        self.assertEqual(os.path.dirname(self.built(GAUGEBLOCK_CACHE="", HOME=self.file("home"))[0]), self.file("home/.cache/gaugeblock"))

    def start(self, where=None):
        with mock.patch.object(values, "built", return_value="/cache/values.so"):
            self.assertEqual(values.start(self.torch, self.sources, where), "")
        self.assertEqual(Library.loaded, [("/cache/values.so", ctypes.RTLD_GLOBAL)])

    def test_not_built(self):
        with mock.patch.object(values, "built", side_effect=OSError("no" + 300 * "!")):
            self.assertEqual(values.start(self.torch, self.sources, None), "values of integers are not kept: " + 300 * "!")
        self.assertEqual(values.unknown(values.FLOAT), {})

    def test_started(self):
        self.start(lambda: "train.py:7")
        (_, line, check, used, loops), enable = Library.calls
        self.assertEqual(enable, ("gaugeblock_values_enable", 1))
        text = ctypes.create_string_buffer(20)
        for size, want in [(20, b"train.py:7"), (11, b"train.py:7"), (6, b"train")]:
            line(ctypes.addressof(text), size)
            self.assertEqual(text.value, want)
        self.start_again(lambda: "", text)
        with mock.patch.object(values.gaugeblock_checks, "wanted", return_value=1), mock.patch.object(values.gaugeblock_conditions, "used", return_value=2):
            self.assertEqual((check(), used()), (1, 2))
        with mock.patch.object(values.gaugeblock_loops, "waits", return_value=3) as waits:
            self.assertEqual((loops(b"a.py:1 item", 9), waits.call_args.args), (3, (b"a.py:1 item", 9)))

    def start_again(self, where, text):
        Library.loaded.clear()
        self.start(where)
        Library.calls[2][1](ctypes.addressof(text), 20)
        self.assertEqual(text.value, b"C++")

    def test_threads(self):
        for backend, switched in [("native", []), ("other", [("gaugeblock_values_enable", 0)])]:
            Library.loaded.clear()
            with mock.patch.object(threading.Thread, "run", lambda thread: ran.append(thread)):
                self.start()
                self.torch.cuda.get_allocator_backend = lambda: backend
                Library.calls.clear()
                ran = []
                self.torch.lazy[-1]()
                thread = threading.Thread()
                thread.run()
            attached = [("gaugeblock_values_attach",)] if backend == "native" else switched
            self.assertEqual((Library.calls, ran), (attached + [("gaugeblock_values_enable", int(backend == "native"))], [thread]))

    def test_unknown(self):
        lines = b"3 a b.py:5\n1 C++\n\xff"

        def unknown(kind, text, size):
            size = getattr(size, "value", size)
            if text is not None:
                text[:size] = lines[:size].ljust(size, b"\0") if kind == values.FLOAT else b"1 other".ljust(size, b"\0")
            return len(lines) - 1

        with mock.patch.object(values, "library", types.SimpleNamespace(gaugeblock_values_unknown=unknown)):
            self.assertEqual(values.unknown(values.FLOAT), {"a b.py:5": 3, "C++": 1})


class OneRank(Case):
    def setUp(self):
        super().setUp()
        os.environ.update(WORLD_SIZE="8", RANK="3")
        self.begun = []
        self.c10d = types.SimpleNamespace(
            Store=type("Store", (), {}), init_process_group=lambda backend, **more: self.begun.append((backend, more)),
            _new_process_group_helper=lambda *arguments, **more: (arguments, more))

    def test_when(self):
        gaugeblock_alone.prepare(self.torch)
        self.assertEqual((sys.meta_path[0].name, sys.meta_path[0].after), (gaugeblock_alone.C10D, gaugeblock_alone.change))
        found = list(sys.meta_path)
        initialize = self.c10d.init_process_group
        others = {name: types.SimpleNamespace(init_process_group=initialize) for name in ("torch.distributed", "torch.distributed.more", "mine")}
        others["torch.distributed.other"] = types.SimpleNamespace(init_process_group=5)
        fake = {name: types.ModuleType(name) for name in ("torch.testing", "torch.testing._internal", "torch.testing._internal.distributed")}
        fake["torch.testing._internal.distributed.fake_pg"] = types.ModuleType("fake_pg")
        self.enterContext(mock.patch.dict(sys.modules, {gaugeblock_alone.C10D: self.c10d, **others, **fake}))
        gaugeblock_alone.prepare(self.torch)
        self.assertEqual(sys.meta_path, found)
        changed = {name for name, module in others.items() if module.init_process_group not in (initialize, 5)}
        self.assertEqual(changed, {"torch.distributed", "torch.distributed.more"})
        self.c10d.init_process_group()
        self.c10d.init_process_group("nccl", "env://", 60, 2, 1, store="own", group_name="g")
        store = self.begun[0][1]["store"]
        self.assertEqual(self.begun, [("cpu:gloo,cuda:nccl", {"world_size": 8, "rank": 3, "store": store}), ("nccl", {"world_size": 8, "rank": 3, "store": store, "timeout": 60, "group_name": "g"})])
        group = self.c10d._new_process_group_helper
        self.assertEqual(group(8, 3, [1], "cpu:gloo,cuda:nccl", 5, x=6), ((8, 3, [1], "cpu:fake,cuda:nccl", 5), {"x": 6}))

    def test_store(self):
        store = gaugeblock_alone.store_of_all(self.c10d)
        self.assertEqual((store.get("a"), store.check(["a"]), store.num_keys(), store.wait(["a"], 3), store.set_timeout(3)), (bytes(128), False, 0, None, None))
        store.set("a", b"x")
        store.set("b", 5)
        self.assertEqual((store.get("a"), store.get("b"), store.check(["a", "b"]), store.check(["a", "c"]), store.num_keys()), (b"x", b"5", True, False, 2))
        self.assertEqual([store.add("n", 2), store.add("n", 3), store.add("a barrier", 1), store.get("n")], [2, 5, 8, b"5"])
        self.assertEqual([store.compare_set("c", "", "1"), store.compare_set("c", "0", "2"), store.compare_set("c", "1", "3")], [b"1", b"1", b"3"])
        self.assertEqual((store.delete_key("c"), store.delete_key("c"), store.check(["c"])), (True, False, False))


if __name__ == "__main__":
    unittest.main()
