"""The program gaugeblock, which this package brings."""

import operator
import os
import shutil
import subprocess
from pathlib import Path
from typing import List, Optional


class GaugeblockError(Exception):
    """The program gaugeblock could not do what it was asked for; the message is its own."""


def binary() -> str:
    """The path of the program gaugeblock: in this package, or else in PATH."""
    name = "gaugeblock.exe" if os.name == "nt" else "gaugeblock"
    own = Path(__file__).parent / "bin" / name
    if own.exists():
        return str(own)
    found = shutil.which(name)
    if found is None:
        raise GaugeblockError(f"the program gaugeblock is neither in {own.parent} nor in PATH")
    return found


def call(*arguments: str) -> str:
    """What the program prints for these arguments."""
    done = subprocess.run([binary(), *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8", errors="replace")
    if done.returncode != 0:
        raise GaugeblockError(message(done.stderr, done.returncode))
    return done.stdout


def byte_flag(name: str, value: Optional[int]) -> List[str]:
    """A flag that takes a number of bytes, if there is a value."""
    if value is None:
        return []
    try:
        return [f"--{name}={operator.index(value)}B"]
    except TypeError:
        raise TypeError(f"{name.replace('-', '_')} is a number of bytes, such as 24 * gaugeblock.GiB: not {value!r}") from None


def message(said: str, status: int) -> str:
    lines: List[str] = said.strip().splitlines()
    return "\n".join(lines[-20:]) or f"gaugeblock ended with {status}"
