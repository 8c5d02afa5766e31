"""Runs a function in a child process on the fake GPU."""

import json
import os
import pickle
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from multiprocessing import spawn
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence, Union

from ._command import GaugeblockError, binary, byte_flag, message


@dataclass(frozen=True)
class OutOfMemory:
    """The request for which there was no memory. Sizes are in bytes."""

    asked: int
    free: int  # on the GPU
    reserved: int
    allocated: int
    step: int  # of the optimizer
    at: str  # the program's line, such as train.py:88


@dataclass(frozen=True)
class Result:
    """What the allocator did. Sizes are in bytes, of the process and GPU that reserved most."""

    gpu: str
    memory: int  # of each GPU
    peak_reserved: int
    peak_allocated: int
    out_of_memory: Optional[OutOfMemory]  # None: the function ran to its end
    seconds: float
    told: str  # the same in words
    output: str = field(repr=False)  # what the function printed, and then told
    details: Dict[str, Any] = field(repr=False)  # as of gaugeblock run --json


class ProgramError(Exception):
    """The function ended with an error that is not for want of memory."""

    def __init__(self, status: int, output: str):
        super().__init__(f"the program ended with {status}:\n" + "\n".join(output.strip().splitlines()[-20:]))
        self.status = status
        self.output = output


def run(
    fn: Union[Callable[..., Any], Sequence[str]],
    *args: Any,
    gpu: str = "h200",
    memory: Optional[int] = None,
    gpus: int = 1,
    settings: Optional[str] = None,
    page: Union[str, Path, None] = None,
    snapshot: Union[str, Path, None] = None,
    values: bool = True,
    sites: bool = False,
) -> Result:
    """Runs fn(*args) on a fake GPU, in a child process with this Python and its PyTorch.

    fn is a function at the top of a module, or a command such as ["python", "train.py"]. What it
    computes on the GPU is not there, and what it returns is lost. It must not use the GPU before,
    nor does the child see what this process did to its modules. The child imports the module of fn: a
    script that calls run() does so under if __name__ == "__main__", as with multiprocessing.

    gpu: one of those that "gaugeblock run --help" lists. memory: bytes of each GPU, if not as the
    GPU has. settings: as in PYTORCH_ALLOC_CONF. page, snapshot: files for an HTML page and for
    PyTorch's memory snapshot. values: False runs without true values of integers. sites: details has
    the lines that hold the memory at the peak.

    Running out of memory is a Result. Another error of fn raises ProgramError; TypeError says that
    the child cannot get fn or its arguments, GaugeblockError that there is no fake GPU for this
    system, or that an argument makes no sense."""
    if importing():
        raise GaugeblockError('run() is called while the child of run() imports this program: call it under if __name__ == "__main__"')
    with tempfile.TemporaryDirectory(prefix="gaugeblock-") as folder:
        command = child(fn, args, Path(folder) / "call") if callable(fn) else words(fn, args)
        answer = Path(folder) / "result.json"
        flags = [f"--gpu={gpu}", f"--gpus={gpus}", f"--json={answer}", f"--values={'true' if values else 'none'}"]
        flags += byte_flag("memory", memory)
        flags += [f"--settings={settings}"] if settings is not None else []
        flags += [f"--report={page}"] if page is not None else []
        flags += ["--sites"] if sites else []
        flags += [f"--snapshot={snapshot}"] if snapshot is not None else []
        with open(Path(folder) / "output", "w+", encoding="utf-8", errors="replace") as printed:
            done = subprocess.run([binary(), "run", *flags, "--", *command], stdin=subprocess.DEVNULL, stdout=printed, stderr=subprocess.STDOUT)
            printed.seek(0)
            output = printed.read()
        if not answer.exists():
            raise GaugeblockError(message(output, done.returncode))
        return result(json.loads(answer.read_text(encoding="utf-8")), output)


def importing() -> bool:
    """Whether this is a child of run() that has not yet come to its function."""
    from . import _child

    return _child.importing


def words(command: Sequence[str], args: Sequence[Any]) -> List[str]:
    """A command, which is no text, since a text has no words, and has its arguments in it."""
    if isinstance(command, (str, bytes, os.PathLike)):
        raise TypeError(f'give a function, or a command as a list, such as ["python", "train.py"]: not {command!r}')
    if args:
        raise TypeError(f"a command has its arguments in its list: {args!r} would be lost")
    return [os.fspath(word) for word in command]


def child(fn: Callable[..., Any], args: Sequence[Any], file: Path) -> List[str]:
    """The command of a child that calls a function, found as multiprocessing finds it."""
    main = sys.modules["__main__"]
    in_file = getattr(main, "__spec__", None) is not None or os.path.exists(getattr(main, "__file__", None) or "")
    if getattr(fn, "__module__", None) == "__main__" and not in_file:
        raise TypeError(f"the child process cannot find {fn!r}, which was typed at a prompt or in a notebook: put it in a file and import that")
    data = spawn.get_preparation_data("gaugeblock")
    for name in ("authkey", "start_method"):
        data.pop(name, None)
    try:
        text = pickle.dumps(data) + pickle.dumps((fn, args))
    except (pickle.PicklingError, AttributeError, TypeError) as problem:
        raise TypeError(f"the child process cannot find {fn!r}: give a function at the top of a module, and arguments that pickle takes") from problem
    file.write_bytes(text)
    return [sys.executable, "-m", "gaugeblock._child", str(file)]


def result(details: Dict[str, Any], output: str) -> Result:
    summary = details["summary"]
    failed = summary.get("out_of_memory")
    if details["status"] != 0 and failed is None:
        raise ProgramError(details["status"], output)
    return Result(
        gpu=details["gpu"], memory=details["memory"], peak_reserved=summary["peak_reserved"], peak_allocated=summary["peak_allocated"],
        out_of_memory=None if failed is None else OutOfMemory(**{k: failed.get(k, "") for k in OutOfMemory.__dataclass_fields__}),
        seconds=details["seconds"], told=summary["told"], output=output, details=details,
    )  # fmt: skip
