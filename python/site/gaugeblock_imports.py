"""What is done when a module is imported."""
import copy
import importlib.abc
import sys


class Import(importlib.abc.MetaPathFinder):
    """Finds a module as the finders behind it do. Who looks for a module need not import it, so both calls are
    made when it is imported: before ahead of it, and after with the module, once."""

    def __init__(self, name, after, before=lambda: None):
        self.name, self.after, self.before = name, after, before
        sys.meta_path.insert(0, self)

    def find_spec(self, name, path, target=None):
        if name != self.name or self not in sys.meta_path:
            return None
        behind = sys.meta_path[sys.meta_path.index(self) + 1:]
        found = (finder.find_spec(name, path, target) for finder in behind if hasattr(finder, "find_spec"))
        spec = next((s for s in found if s is not None), None)
        if spec is None or spec.loader is None:
            return spec
        spec.loader = copy.copy(spec.loader)  # a finder can have one for all modules
        execute = spec.loader.exec_module

        def exec_module(module):
            self.before()
            execute(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                self.after(module)

        spec.loader.exec_module = exec_module
        return spec
