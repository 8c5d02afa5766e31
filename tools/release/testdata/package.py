"""The Python package beside a command that only notes what it is asked for. Argument: a folder that has the package."""
import contextlib
import dataclasses
import io
import json
import os
import pickle
import subprocess
import sys
import types
from pathlib import Path

FOLDER = Path(sys.argv[1])
COMMAND = """#!%s
import json, os, sys
from pathlib import Path
Path(os.environ["NOTES"]).write_text(json.dumps(sys.argv[1:]))
for argument in sys.argv:
    if argument.startswith("--json="):
        Path(argument[7:]).write_text(os.environ["ANSWER"])
    if argument.endswith(".pickle"):
        Path(os.environ["NOTES"] + ".pickle").write_bytes(Path(argument).read_bytes())
print(os.environ.get("PRINTED", ""))
print(os.environ.get("SAID", ""), file=sys.stderr)
sys.exit(int(os.environ.get("STATUS", "0")))
"""
OOM = {"asked": 5, "free": 4, "reserved": 3, "allocated": 2, "step": 1, "at": "train.py:88", "more": 9}
ANSWER = {
    "gpu": "4090", "memory": 24, "status": 0, "seconds": 1.5, "more": [7],
    "summary": {"peak_reserved": 20, "peak_allocated": 10, "told": "in words"},
}  # fmt: skip


def put_command(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(COMMAND % sys.executable)
    path.chmod(0o755)


def behaves(**how):
    for name in ("ANSWER", "PRINTED", "SAID", "STATUS"):
        os.environ.pop(name, None)
    os.environ.update(how)


def asked():
    return json.loads(Path(os.environ["NOTES"]).read_text())


def raises(kind, call):
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")


def equal(got, want):
    assert got == want, f"{got!r} is not {want!r}"


def is_told(text):  # a function for the child
    print(text)


def check_command():
    error = raises(gaugeblock.GaugeblockError, gaugeblock.binary)
    equal(str(error), f"the program gaugeblock is neither in {FOLDER / 'gaugeblock' / 'bin'} nor in PATH")
    os.environ["PATH"] = str(FOLDER / "path")
    put_command(FOLDER / "path" / "gaugeblock")
    equal(gaugeblock.binary(), str(FOLDER / "path" / "gaugeblock"))
    put_command(FOLDER / "gaugeblock" / "bin" / "gaugeblock")
    equal(gaugeblock.binary(), str(FOLDER / "gaugeblock" / "bin" / "gaugeblock"))
    behaves(STATUS="7", PRINTED="out", SAID="err")
    done = subprocess.run([sys.executable, "-m", "gaugeblock", "whatif", "a b"], capture_output=True, text=True)
    equal((done.returncode, done.stdout, done.stderr, asked()), (7, "out\n", "err\n", ["whatif", "a b"]))
    equal((gaugeblock.KiB, gaugeblock.MiB, gaugeblock.GiB), (1024, 1024**2, 1024**3))


def run_flags():
    flags = asked()
    equal((flags[0], flags[3].split("=")[0], Path(flags[3]).name), ("run", "--json", "result.json"))
    return flags[1:3] + flags[4:]


def check_run():
    behaves(ANSWER=json.dumps(ANSWER), PRINTED="printed")
    result = gaugeblock.run(["python", "train.py"])
    equal(run_flags(), ["--gpu=h200", "--gpus=1", "--values=true", "--", "python", "train.py"])
    equal((result.gpu, result.memory, result.peak_reserved, result.peak_allocated, result.out_of_memory), ("4090", 24, 20, 10, None))
    equal((result.seconds, result.told, result.output.strip(), result.details), (1.5, "in words", "printed", ANSWER))
    assert "printed" not in repr(result) and "more" not in repr(result), result
    raises(dataclasses.FrozenInstanceError, lambda: setattr(result, "gpu", ""))
    gaugeblock.run(
        ["true"], gpu="l4", memory=5, gpus=2, settings="a:1", page="p.html", snapshot="s.x", values=False, sites=True,
    )  # fmt: skip
    equal(run_flags(), [
        "--gpu=l4", "--gpus=2", "--values=none", "--memory=5B", "--settings=a:1", "--report=p.html", "--sites", "--snapshot=s.x", "--", "true",
    ])  # fmt: skip
    gaugeblock.run(["true"], memory=0, settings="")
    equal(run_flags(), ["--gpu=h200", "--gpus=1", "--values=true", "--memory=0B", "--settings=", "--", "true"])
    gaugeblock.run(is_told, "this")
    child = run_flags()[4:]
    equal(child[:3], [sys.executable, "-m", "gaugeblock._child"])
    assert not Path(child[3]).exists(), "the call is left behind"
    failed = {**ANSWER, "status": 1, "summary": {**ANSWER["summary"], "out_of_memory": OOM}}
    behaves(ANSWER=json.dumps(failed), STATUS="1")
    oom = gaugeblock.run(["true"]).out_of_memory
    equal(dataclasses.asdict(oom), {k: v for k, v in OOM.items() if k != "more"})
    raises(dataclasses.FrozenInstanceError, lambda: setattr(oom, "at", ""))
    del OOM["at"]
    behaves(ANSWER=json.dumps(failed), STATUS="0")
    equal(gaugeblock.run(["true"]).out_of_memory.at, "")


def check_run_fails():
    lines = "\n".join(str(n) for n in range(30))
    last = "\n".join(str(n) for n in range(10, 30))
    behaves(ANSWER=json.dumps({**ANSWER, "status": 3}), STATUS="3", PRINTED=lines)
    error = raises(gaugeblock.ProgramError, lambda: gaugeblock.run(["false"]))
    equal((error.status, error.output.strip(), str(error)), (3, lines, "the program ended with 3:\n" + last))
    os.environ["PATH"], path = "", os.environ["PATH"]
    behaves(STATUS="2", SAID=lines)
    for call in (lambda: gaugeblock.whatif("s.pickle"), lambda: gaugeblock.report("s", out="p.html")):
        Path("s.pickle").write_bytes(b"")
        equal(str(raises(gaugeblock.GaugeblockError, call)), last)
    behaves(STATUS="9")
    equal(str(raises(gaugeblock.GaugeblockError, lambda: gaugeblock.report("s", out="p"))), "gaugeblock ended with 9")
    os.environ["PATH"] = path
    command = FOLDER / "gaugeblock" / "bin" / "gaugeblock"
    command.write_text(f"#!{sys.executable}\nprint('no fake GPU')\nraise SystemExit(2)\n")
    equal(str(raises(gaugeblock.GaugeblockError, lambda: gaugeblock.run(["true"]))), "no fake GPU")
    put_command(command)
    error = raises(TypeError, lambda: gaugeblock.run(lambda: 0))
    assert "the child process cannot find <function" in str(error) and "at the top of a module" in str(error), error


def check_misuse():
    behaves(ANSWER=json.dumps(ANSWER))
    Path(os.environ["NOTES"]).unlink()
    for fn, args, text in (
        ("python train.py", (), "a command as a list"), (b"true", (), "a command as a list"), (Path("train.py"), (), "a command as a list"),
        (["true"], (1,), "(1,) would be lost"), (["true", 5], (), "int"), (None, (), "NoneType"),
        (is_told, (lambda: 0,), "arguments that pickle takes"), (is_told, (io.StringIO(),) * 2 + (sys,), "arguments that pickle takes"),
    ):  # fmt: skip
        error = raises(TypeError, lambda: gaugeblock.run(fn, *args))
        assert text in str(error), error
    for name, call in (
        ("memory", lambda: gaugeblock.run(["true"], memory="24GiB")), ("limit", lambda: gaugeblock.whatif("a", limit=1.5)),
        ("device_memory", lambda: gaugeblock.whatif("a", device_memory="1")),
    ):  # fmt: skip
        error = raises(TypeError, call)
        assert str(error).startswith(f"{name} is a number of bytes"), error
    for snapshot in (None, [], 5):
        error = raises(TypeError, lambda: gaugeblock.whatif(snapshot))
        assert f"not a {type(snapshot).__name__}" in str(error), error
    assert not Path(os.environ["NOTES"]).exists(), asked()
    behaves(PRINTED="{}")
    gaugeblock.whatif("a.json", settings="a:1")
    equal(asked(), ["whatif", "--json", "--settings=a:1", "--", "a.json"])


PROGRAM = """import sys
sys.path.insert(0, sys.argv[1])
import gaugeblock
from gaugeblock import _run
def train(): print("trained")
def none(*arguments, **more): raise SystemExit("the command is asked")
_run.subprocess.run = none
gaugeblock.run(train)
"""


def check_main():
    """Where the function is in the program that calls run: typed in, or in a file that calls it while the child imports it."""
    typed = subprocess.run([sys.executable, "-", str(FOLDER)], input=PROGRAM, capture_output=True, text=True)
    assert typed.stderr.splitlines()[-1].startswith("TypeError") and "typed at a prompt or in a notebook" in typed.stderr, typed.stderr
    file = FOLDER / "program.py"
    file.write_text(PROGRAM)
    started = subprocess.run([sys.executable, str(file), str(FOLDER)], capture_output=True, text=True)
    equal(started.stderr, "the command is asked\n")
    kept = FOLDER / "kept"
    file.write_text(PROGRAM.replace('raise SystemExit("the command is asked")', f"import shutil; shutil.copy(arguments[0][-1], {str(kept)!r}); sys.exit()"))
    subprocess.run([sys.executable, str(file), str(FOLDER)], check=True)
    child = subprocess.run([sys.executable, "-m", "gaugeblock._child", str(kept)], capture_output=True, text=True)
    assert child.returncode == 1 and 'call it under if __name__ == "__main__"' in child.stderr.splitlines()[-1], child.stderr
    file.write_text(file.read_text().replace("gaugeblock.run(train)", 'if __name__ == "__main__": gaugeblock.run(train)'))
    child = subprocess.run([sys.executable, "-m", "gaugeblock._child", str(kept)], capture_output=True, text=True)
    equal((child.returncode, child.stdout), (0, "trained\n"))
    file.write_text(file.read_text().replace("def train", "pass  # def train"))
    child = subprocess.run([sys.executable, "-m", "gaugeblock._child", str(kept)], capture_output=True, text=True)
    assert child.returncode == 1 and child.stderr.startswith("gaugeblock: the child process imported the file") and "'train'" in child.stderr, child.stderr


def check_snapshots():
    behaves(PRINTED='{"rows": [1]}')
    equal(gaugeblock.whatif("a.json"), {"rows": [1]})
    equal(asked(), ["whatif", "--json", "--", "a.json"])
    snapshot = {"segments": [], "device_traces": [[1]]}
    gaugeblock.whatif(snapshot, settings=["a:1", "b:2"], limit=5, device_memory=6, search=True, pytorch="2.13")
    flags = asked()
    equal(flags[:-1], ["whatif", "--json", "--settings=a:1", "--settings=b:2", "--limit=5B", "--device-memory=6B", "--search", "--pytorch=2.13", "--"])
    equal((Path(flags[-1]).name, Path(flags[-1]).exists()), ("snapshot0.pickle", False))
    equal(pickle.loads(Path(os.environ["NOTES"] + ".pickle").read_bytes()), snapshot)
    equal(gaugeblock.report("a.json", snapshot, out="p.html"), Path("p.html"))
    flags = asked()
    equal(flags[:-1] + [Path(flags[-1]).name], ["report", "--out=p.html", "--", "a.json", "snapshot1.pickle"])
    gaugeblock.report("a.json", out=Path("q.html"), whatif=False)
    equal(asked(), ["report", "--out=q.html", "--no-whatif", "--", "a.json"])


class Torch(types.ModuleType):
    """As much of PyTorch as dump_on_oom calls."""

    def __init__(self, available=True, recording=False, rank=None):
        self.recorded, self.observers, self.broken, self.dumps = [], [], False, 0
        self.distributed = types.SimpleNamespace(is_available=lambda: rank is not None, is_initialized=lambda: rank >= 0, get_rank=lambda: rank)
        memory = types.SimpleNamespace(_record_memory_history=lambda **how: self.recorded.append(how), _dump_snapshot=self.dump)
        self.cuda = types.SimpleNamespace(is_available=lambda: available, _lazy_call=lambda call: call(), memory=memory)
        self._C = types.SimpleNamespace(_cuda_isHistoryEnabled=lambda: recording, _cuda_attach_out_of_memory_observer=self.observers.append)

    def dump(self, path):
        self.dumps += 1
        equal(Path(path).suffix, ".part")
        if self.broken:
            raise OSError("the disk is full")
        Path(path).write_text(str(self.dumps))
        if self.observers and self.dumps == 1:
            self.observers[0](0, 1, 2, 3)  # no memory for the snapshot itself: no second one begins


def said(call):
    text = io.StringIO()
    with contextlib.redirect_stderr(text):
        call()
    return text.getvalue()


def dump_with(torch, folder, **options):
    sys.modules["torch"] = torch
    from gaugeblock import _gpu

    _gpu.attached.clear()
    gaugeblock.dump_on_oom(folder, **options)
    return torch.observers


def check_dump_on_oom():
    for name in ("RANK", "SLURM_PROCID"):
        os.environ.pop(name, None)
    equal(dump_with(Torch(available=False), FOLDER / "never"), [])
    assert not (FOLDER / "never").exists()
    torch = Torch(recording=True)
    (observer,) = dump_with(torch, FOLDER / "a" / "b")
    equal(torch.recorded, [])
    file = FOLDER / "a" / "b" / "oom-rank0.pickle"
    equal(said(lambda: observer(1, 500, 700, 300)),
          f"gaugeblock: no memory for 500 bytes on GPU 1 (300 bytes free, PyTorch may take 700): wrote {file}; gaugeblock whatif {file} says what would help\n")  # fmt: skip
    equal((torch.dumps, file.read_text()), (1, "1"))
    torch.broken = True
    equal(said(lambda: observer(1, 500, 700, 300)), "gaugeblock: the memory snapshot could not be written: the disk is full\n")
    torch.broken = False
    said(lambda: [observer(1, 2, 3, 4) for _ in range(20)])
    equal((torch.dumps, file.read_text()), (11, "11"))
    gaugeblock.dump_on_oom(FOLDER / "c")
    equal((observer.folder, len(torch.observers)), (FOLDER / "c", 1))
    torch = Torch()
    dump_with(torch, FOLDER / "d", max_entries=7)
    equal(torch.recorded, [{"enabled": "all", "context": "all", "stacks": "python", "max_entries": 7}])
    dump_with(torch, FOLDER / "d")
    equal(torch.recorded[1]["max_entries"], 1_000_000)
    for variables, rank, name in (({"SLURM_PROCID": "4"}, None, "4"), ({"SLURM_PROCID": "4", "RANK": "3"}, None, "3"), ({"RANK": "3"}, 5, "5"), ({"RANK": "3"}, -1, "3")):
        os.environ.pop("SLURM_PROCID", None)
        os.environ.update(variables)
        (observer,) = dump_with(Torch(rank=rank), FOLDER / "d")
        equal(observer.path(), FOLDER / "d" / f"oom-rank{name}.pickle")


def check_record():
    calls = []
    sys.modules["gaugeblock.gb_record"] = module = types.ModuleType("gaugeblock.gb_record")
    module.start = lambda *arguments: calls.append(arguments)
    gaugeblock.gb_record = module
    gaugeblock.record()
    gaugeblock.record("trace-{pid}.jsonl", max_entries=5)
    equal(calls, [(None, 2_000_000), ("trace-{pid}.jsonl", 5)])


def check_pytest():
    sys.modules["pytest"] = stub = types.ModuleType("pytest")
    stub.fixture = lambda function: function
    from gaugeblock import pytest_plugin

    added = {}
    group = types.SimpleNamespace(addoption=lambda name, **how: added.update({name: how.get("default")}))
    pytest_plugin.pytest_addoption(types.SimpleNamespace(getgroup=lambda name: group if name == "gaugeblock" else None))
    equal(added, {"--gaugeblock-gpu": "h200", "--gaugeblock-pages": None})
    options = {"--gaugeblock-gpu": "t4", "--gaugeblock-pages": None}
    request = types.SimpleNamespace(config=types.SimpleNamespace(getoption=options.get), node=types.SimpleNamespace(nodeid="a/test b.py::test[x-1]"))
    behaves(ANSWER=json.dumps(ANSWER))
    run = pytest_plugin.gpu_memory(request)
    equal(run(["true"]).gpu, "4090")
    equal(run_flags(), ["--gpu=t4", "--gpus=1", "--values=true", "--", "true"])
    options["--gaugeblock-pages"] = str(FOLDER / "pages" / "new")
    for more, page in (({}, "-2"), ({"gpu": "l4"}, "-3"), ({"page": "own.html"}, None)):
        run(["true"], **more)
        path = "own.html" if page is None else FOLDER / "pages" / "new" / f"a_test_b.py_test[x-1]{page}.html"
        equal(run_flags(), [f"--gpu={more.get('gpu', 't4')}", "--gpus=1", "--values=true", f"--report={path}", "--", "true"])
    assert (FOLDER / "pages" / "new").is_dir()
    first = pytest_plugin.gpu_memory(request)
    first(["true"])
    assert run_flags()[3].endswith("test[x-1].html"), run_flags()


if __name__ == "__main__":
    os.chdir(FOLDER)
    os.environ.update(NOTES=str(FOLDER / "notes"), PATH="", PYTHONPATH=str(FOLDER))
    sys.path.insert(0, str(FOLDER))
    import gaugeblock

    equal(gaugeblock.__version__, "unknown")
    check_command()
    check_run()
    check_run_fails()
    check_misuse()
    check_main()
    check_snapshots()
    check_dump_on_oom()
    check_record()
    check_pytest()
    print("all checked")
