"""What is written on a real GPU: snapshots when memory runs out, and recordings."""

import os
import sys
from pathlib import Path
from typing import Any, List, Optional, Union

MOST_DUMPS = 10  # of a process: one that lives with failures does not write for ever

attached: List[Any] = []  # observers, which cannot be taken away again


class _Observer:
    """Called by the allocator when it has no memory for a request, before OutOfMemoryError is raised."""

    def __init__(self, torch: Any, folder: Path):
        self.torch = torch
        self.folder = folder
        self.dumps = 0
        self.dumping = False

    def __call__(self, device: int, asked: int, limit: int, free: int) -> None:
        if self.dumping or self.dumps >= MOST_DUMPS:
            return
        self.dumping = True
        try:
            path = self.path()
            part = path.with_name(f"{path.name}.{os.getpid()}.part")
            self.torch.cuda.memory._dump_snapshot(str(part))
            os.replace(part, path)
            self.dumps += 1
            print(
                f"gaugeblock: no memory for {asked} bytes on GPU {device} ({free} bytes free, PyTorch may take {limit}): wrote {path}; "
                f"gaugeblock whatif {path} says what would help",
                file=sys.stderr, flush=True,
            )  # fmt: skip
        except Exception as problem:  # the program's own error is the one that counts
            print(f"gaugeblock: the memory snapshot could not be written: {problem}", file=sys.stderr, flush=True)
        finally:
            self.dumping = False

    def path(self) -> Path:
        """One file a rank; a later failure replaces an earlier one."""
        rank = os.environ.get("RANK") or os.environ.get("SLURM_PROCID")
        distributed = self.torch.distributed
        if distributed.is_available() and distributed.is_initialized():
            rank = str(distributed.get_rank())
        return self.folder / f"oom-rank{rank or 0}.pickle"


def dump_on_oom(folder: Union[str, Path], max_entries: int = 1_000_000) -> None:
    """From now on, a memory snapshot is written to folder/oom-rank{RANK}.pickle when the GPU has no
    memory for a request, also if the program then goes on. gaugeblock.whatif and gaugeblock.report
    read it.

    Call it at the start of the program: the snapshot has what happened since then. max_entries: how
    many of the last events are kept, some 200 bytes of host memory each and some more for each
    different call stack; an allocation and its free are three. A history that the program records
    itself is left as it is. Works with PyTorch 2.1 or later on CUDA; without CUDA it does nothing."""
    import torch

    if not torch.cuda.is_available():
        return
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if attached:
        attached[0].folder = folder
        return
    observer = _Observer(torch, folder)
    attached.append(observer)

    def attach() -> None:
        if not torch._C._cuda_isHistoryEnabled():
            torch.cuda.memory._record_memory_history(enabled="all", context="all", stacks="python", max_entries=max_entries)
        torch._C._cuda_attach_out_of_memory_observer(observer)

    torch.cuda._lazy_call(attach)


def record(path: Optional[str] = None, max_entries: int = 2_000_000) -> None:
    """Records what the program asks of the allocator, as a trace that "gaugeblock replay" replays
    and "gaugeblock whatif" reads. Call it before the first CUDA tensor; needs PyTorch 2.10.

    path: {pid} and {rank} in it stand for the process and the variable RANK; trace.jsonl.gz if it is
    not given. The trace is written at the end of the program, or by gaugeblock.gb_record.stop()."""
    from . import gb_record

    gb_record.start(path, max_entries)
