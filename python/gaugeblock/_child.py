"""The child process of run(): calls the function that the file names."""

import pickle
import sys
from multiprocessing import spawn


def main() -> None:
    with open(sys.argv[1], "rb") as f:
        spawn.prepare(pickle.load(f))
        fn, args = pickle.load(f)
    fn(*args)


if __name__ == "__main__":
    main()
