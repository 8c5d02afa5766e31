"""What is done when a module is imported."""
import importlib.abc
import importlib.machinery
import sys


class Import(importlib.abc.MetaPathFinder):
    """Finds a module as the others do, once: before is called when it is looked for, and after with
    the module when it has been imported."""

    def __init__(self, name, after, before=lambda: None):
        self.name, self.after, self.before = name, after, before
        sys.meta_path.insert(0, self)

    def find_spec(self, name, path, target=None):
        if name != self.name:
            return None
        sys.meta_path.remove(self)
        self.before()
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            self.after(module)

        spec.loader.exec_module = exec_module
        return spec
