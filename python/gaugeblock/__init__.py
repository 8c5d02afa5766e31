"""What PyTorch's CUDA caching allocator does with a program's memory, without and with a GPU.

Without a GPU: run() runs a function with the installed PyTorch on a fake GPU. whatif() and report()
read memory snapshots. With a GPU: dump_on_oom() writes a snapshot when memory runs out, record()
records everything that the program asks of the allocator. Sizes are in bytes."""

from importlib import metadata

from ._command import GaugeblockError, binary
from ._gpu import dump_on_oom, record
from ._run import OutOfMemory, ProgramError, Result, run
from ._snapshots import report, whatif

try:
    __version__ = metadata.version("gaugeblock")
except metadata.PackageNotFoundError:  # not installed by pip
    __version__ = "unknown"

KiB, MiB, GiB = 1 << 10, 1 << 20, 1 << 30

__all__ = [
    "GaugeblockError", "GiB", "KiB", "MiB", "OutOfMemory", "ProgramError", "Result",
    "binary", "dump_on_oom", "record", "report", "run", "whatif",
]  # fmt: skip
