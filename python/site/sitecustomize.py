"""Python runs this file at its start because "gaugeblock run" has put its folder on PYTHONPATH.

It loads the libraries of the fake GPU, watches for torch, and then runs the sitecustomize that
would have been run without it."""
import importlib.machinery
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def next_sitecustomize():
    """The sitecustomize behind this one on sys.path, if there is one."""
    paths = [os.path.abspath(p or ".") for p in sys.path]
    behind = sys.path[paths.index(HERE) + 1 :] if HERE in paths else []
    return importlib.machinery.PathFinder.find_spec("sitecustomize", behind)


def chain():
    spec = next_sitecustomize()
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


if "GAUGEBLOCK_RUN_FOLDER" in os.environ:
    import gaugeblock_run

    gaugeblock_run.start()
chain()
