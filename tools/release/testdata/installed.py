"""What can be asked of an installed gaugeblock without PyTorch. Arguments: a memory snapshot, and a folder."""
import os
import pickle
import sys
import types
from pathlib import Path

import gaugeblock


def says(word):
    print("said", word)


def fails():
    raise KeyError("nothing")


class Trap:
    """Whoever unpickles it makes a file."""

    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return open, (str(self.file), "w")


class Torch:
    """As much of PyTorch as dump_on_oom calls."""

    def __init__(self):
        self.recorded, self.observers, self.broken = [], [], False
        self.distributed = types.SimpleNamespace(is_available=lambda: False)
        memory = types.SimpleNamespace(_record_memory_history=lambda **how: self.recorded.append(how), _dump_snapshot=self.dump)
        self.cuda = types.SimpleNamespace(is_available=lambda: True, _lazy_call=lambda call: call(), memory=memory)
        self._C = types.SimpleNamespace(_cuda_isHistoryEnabled=lambda: False, _cuda_attach_out_of_memory_observer=self.observers.append)
        self.dumps = 0

    def dump(self, path):
        self.dumps += 1
        if self.broken:
            raise OSError("the disk is full")
        Path(path).write_text(str(self.dumps))


def raises(kind, call, text):
    try:
        call()
    except kind as error:
        assert text in str(error), error
        return
    raise AssertionError(f"no {kind.__name__}")


def check_run():
    result = gaugeblock.run(says, "this", gpu="4090", memory=8 * gaugeblock.GiB)
    assert "said this" in result.output and result.memory == 8 << 30 and result.gpu == "4090" and result.out_of_memory is None, result
    raises(gaugeblock.ProgramError, lambda: gaugeblock.run(fails), "KeyError: 'nothing'")
    raises(TypeError, lambda: gaugeblock.run(lambda: 0), "at the top of a module")
    raises(gaugeblock.GaugeblockError, lambda: gaugeblock.run(says, gpu="nothing"), "is none of h200")


def check_snapshots(snapshot, folder):
    assert gaugeblock.whatif(snapshot)["rows"]
    page = gaugeblock.report(snapshot, out=folder / "page.html", whatif=False)
    assert page.read_text(encoding="utf-8").startswith("<!")
    raises(gaugeblock.GaugeblockError, lambda: gaugeblock.whatif(folder / "none.pickle"), "none.pickle")


def check_that_nothing_is_unpickled(folder):
    sprung = folder / "sprung"
    for name, content in {"trap": Trap(sprung), "inside": {"segments": [Trap(sprung)], "device_traces": [[]]}}.items():
        file = folder / f"{name}.pickle"
        file.write_bytes(pickle.dumps(content))
        raises(gaugeblock.GaugeblockError, lambda: gaugeblock.whatif(file), file.name)
        raises(gaugeblock.GaugeblockError, lambda: gaugeblock.report(file, out=folder / "trap.html"), file.name)
    assert not sprung.exists() and not (folder / "trap.html").exists()
    pickle.loads((folder / "trap.pickle").read_bytes()).close()
    assert sprung.exists()  # the trap is one


def check_dump_on_oom(folder):
    sys.modules["torch"] = torch = Torch()
    os.environ["RANK"] = "3"
    gaugeblock.dump_on_oom(folder / "oom", max_entries=7)
    gaugeblock.dump_on_oom(folder / "oom")
    (observer,) = torch.observers
    assert [how["max_entries"] for how in torch.recorded] == [7]
    torch.broken = True
    observer(0, 1, 2, 3)  # says that it failed, and raises nothing
    torch.broken = False
    for _ in range(20):
        observer(0, 1, 2, 3)
    assert os.listdir(folder / "oom") == ["oom-rank3.pickle"] and (folder / "oom" / "oom-rank3.pickle").read_text() == "11"


if __name__ == "__main__":
    assert gaugeblock.__version__ == "1.2.3", gaugeblock.__version__
    check_run()
    check_snapshots(sys.argv[1], Path(sys.argv[2]))
    check_that_nothing_is_unpickled(Path(sys.argv[2]))
    check_dump_on_oom(Path(sys.argv[2]))
    print("all checked")
