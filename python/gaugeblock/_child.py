"""The child process of run(): calls the function that the file names."""

import pickle
import sys
from multiprocessing import spawn


importing = False  # the program's modules, where run() would begin one child after the other


def main() -> None:
    from . import _child  # this module is __main__, too

    with open(sys.argv[1], "rb") as f:
        data = pickle.load(f)
        _child.importing = True
        spawn.prepare(data)
        try:
            fn, args = pickle.load(f)
        except AttributeError as problem:
            sys.exit(f"gaugeblock: the child process imported the file, and the function or an argument of run() is not there: {problem}")
    _child.importing = False
    fn(*args)


if __name__ == "__main__":
    main()
