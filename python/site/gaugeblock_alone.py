"""One rank of a program for many: the others do not run. NCCL's process groups are torch's own, and the fake
NCCL takes the others to have what this rank has. Groups of the host are torch's fake ones."""
import os
import sys

import gaugeblock_imports

C10D = "torch.distributed.distributed_c10d"


def prepare(torch):
    """Called when torch has been imported, which may have imported torch.distributed."""
    if C10D in sys.modules:
        change(sys.modules[C10D])
    else:
        gaugeblock_imports.Import(C10D, change)


def change(c10d):
    """Process groups meet in a store of this process, and those of the host are fake."""
    store = store_of_all(c10d)
    ranks = int(os.environ["WORLD_SIZE"])
    initialize, group = c10d.init_process_group, c10d._new_process_group_helper

    def init_process_group(backend=None, init_method=None, timeout=None, world_size=-1, rank=-1, **others):
        import torch.testing._internal.distributed.fake_pg  # the backend "fake"

        others.update({} if timeout is None else {"timeout": timeout})
        others["store"] = store
        initialize(backend or "cpu:gloo,cuda:nccl", world_size=ranks, rank=int(os.environ["RANK"]), **others)

    def new_group(size, rank, members, backend, *arguments, **others):
        return group(size, rank, members, str(backend).replace("gloo", "fake"), *arguments, **others)

    c10d._new_process_group_helper = new_group
    for name, module in list(sys.modules.items()):  # those that have imported it
        if name.startswith("torch.distributed") and getattr(module, "init_process_group", None) is initialize:
            module.init_process_group = init_process_group


def store_of_all(c10d):
    """A store in which all ranks have arrived, and have said nothing."""

    class Store(c10d.Store):
        def __init__(self):
            super().__init__()
            self.values = {}

        def set(self, key, value):
            self.values[key] = value if isinstance(value, bytes) else str(value).encode()

        def get(self, key):
            return self.values.get(key, bytes(128))

        def add(self, key, amount):
            if "barrier" in key:
                return int(os.environ["WORLD_SIZE"])
            self.values[key] = str(int(self.values.get(key, b"0")) + amount).encode()
            return int(self.values[key])

        def wait(self, *_):
            pass

        def check(self, keys):
            return all(k in self.values for k in keys)

        def compare_set(self, key, expected, desired):
            if self.values.get(key, b"").decode() in ("", expected):
                self.set(key, desired)
            return self.get(key)

        def delete_key(self, key):
            return self.values.pop(key, None) is not None

        def num_keys(self):
            return len(self.values)

        def set_timeout(self, timeout):
            pass

    return Store()
