"""Whoever looks for a module, and however often: what is to be done is done once, when it is imported."""
import importlib.abc
import importlib.util
import sys
import tempfile

import gaugeblock_imports

done = []


class Own(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """A finder and loader of a program, as of a package that is installed to be edited."""

    def find_spec(self, name, path, target=None):
        return importlib.util.spec_from_loader(name, self) if name in ("own", "late") else None

    def exec_module(self, module):
        done.append("executed")
        if module.__name__ == "late" and done.count("executed") == 1:
            raise ImportError("not yet")


def case(name, do, want):
    done.clear()
    gaugeblock_imports.Import(name, lambda module: done.append(module.__name__), lambda: done.append("before"))
    do()
    assert done == want, f"{name}: {done}, not {want}"


def searched():
    for _ in range(2):
        assert importlib.util.find_spec("searched").loader
    assert not done, done
    import searched
    importlib.reload(searched)


def own():
    sys.meta_path.append(Own())
    import own


def late():
    try:
        import late
    except ImportError:
        pass
    import late


with tempfile.TemporaryDirectory() as folder:
    sys.path.insert(0, folder)
    open(folder + "/searched.py", "w").close()
    case("searched", searched, ["before", "searched"])
    case("own", own, ["before", "executed", "own"])
    case("late", late, ["before", "executed", "before", "executed", "late"])
