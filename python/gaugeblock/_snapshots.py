"""What memory snapshots tell: gaugeblock whatif and gaugeblock report."""

import contextlib
import json
import os
import pickle
import tempfile
from pathlib import Path
from typing import Any, Dict, Iterator, Optional, Sequence, Union

from ._command import byte_flag, call

# A file of torch.cuda.memory._dump_snapshot, or what torch.cuda.memory._snapshot returns.
Snapshot = Union[str, Path, Dict[str, Any]]


@contextlib.contextmanager
def files(snapshots: Sequence[Snapshot]) -> Iterator[Sequence[str]]:
    """The files of snapshots, some of which are written for a while."""
    with tempfile.TemporaryDirectory(prefix="gaugeblock-") as folder:
        names = []
        for number, snapshot in enumerate(snapshots):
            if isinstance(snapshot, dict):
                file = Path(folder) / f"snapshot{number}.pickle"
                file.write_bytes(pickle.dumps(snapshot))
                snapshot = file
            if not isinstance(snapshot, (str, os.PathLike)):
                raise TypeError(f"a snapshot is a file, or what torch.cuda.memory._snapshot() returns, not a {type(snapshot).__name__}")
            names.append(os.fspath(snapshot))
        yield names


def whatif(
    snapshot: Snapshot,
    settings: Union[str, Sequence[str]] = (),
    limit: Optional[int] = None,
    device_memory: Optional[int] = None,
    search: bool = False,
    pytorch: Optional[str] = None,
) -> Dict[str, Any]:
    """Predicts a run under other settings of the allocator. The result is what "gaugeblock whatif
    --json" prints, with sizes in bytes: brief has the verdict, and rows one for each of the settings.

    snapshot: a file, or what torch.cuda.memory._snapshot() returned; it needs its history. settings:
    each as in PYTORCH_ALLOC_CONF; empty: the usual ones. limit, device_memory: bytes of a memory
    fraction, and of the device. search: also the smallest limit. pytorch: a release, such as "2.13".
    """
    flags = [f"--settings={text}" for text in ([settings] if isinstance(settings, str) else settings)]
    flags += byte_flag("limit", limit) + byte_flag("device-memory", device_memory)
    flags += ["--search"] if search else []
    flags += [f"--pytorch={pytorch}"] if pytorch is not None else []
    with files([snapshot]) as names:
        answer: Dict[str, Any] = json.loads(call("whatif", "--json", *flags, "--", *names))
    return answer


def report(*snapshots: Snapshot, out: Union[str, Path], whatif: bool = True) -> Path:
    """Writes an HTML page about a snapshot, about two side by side, or about the ranks of a run (a
    folder, or more than two files), and returns its path."""
    with files(snapshots) as names:
        call("report", f"--out={out}", *([] if whatif else ["--no-whatif"]), "--", *names)
    return Path(out)
