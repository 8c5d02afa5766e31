"""The README's examples in Python, beside train.py, s.pickle of it, and a test for pytest if that is installed."""
import importlib.util
import subprocess
import sys
from pathlib import Path

import gaugeblock
from train import train


def main():
    mem = gaugeblock.run(train, 8, gpu="4090")
    assert mem.out_of_memory is None and mem.peak_reserved < 1 * gaugeblock.GiB, mem
    assert "peak reserved" in mem.told, mem.told
    full = gaugeblock.run(train, 4096, gpu="t4")
    assert full.out_of_memory and "train.py" in full.told, full.told
    rows = gaugeblock.whatif("s.pickle")["rows"]
    assert any(row["recorded"] and row["peak_reserved"] == mem.peak_reserved for row in rows), rows
    page = gaugeblock.report("s.pickle", out="page2.html")
    assert page.stat().st_size > 10_000
    if importlib.util.find_spec("pytest"):
        said = subprocess.run([sys.executable, "-m", "pytest", "-q", "--gaugeblock-pages", "pages", "test_memory.py"], stdout=subprocess.PIPE, text=True)
        assert said.returncode == 0 and len(list(Path("pages").glob("*.html"))) == 3, said.stdout
        print("with pytest")


if __name__ == "__main__":
    main()
    print("all checked")
