"""The Python package of a wheel for another system, with this system's command under the name that its own has there.
Arguments: the system, a memory snapshot, and a folder."""
import sys
import types
from pathlib import Path

import gaugeblock
import gaugeblock._command
import installed  # beside this file

system, snapshot, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
if system == "windows":
    gaugeblock._command.os = types.SimpleNamespace(name="nt")
name = "gaugeblock.exe" if system == "windows" else "gaugeblock"
assert Path(gaugeblock.binary()) == Path(gaugeblock.__file__).parent / "bin" / name, gaugeblock.binary()
installed.check_snapshots(snapshot, folder)
installed.check_that_nothing_is_unpickled(folder)
installed.check_dump_on_oom(folder)
print("all checked")
