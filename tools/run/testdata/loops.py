"""What is told of the loop around a read, asked at every tenth one. Ends with 1 if something else is told."""
import ctypes
import sys
import weakref

import gaugeblock_loops
from gaugeblock_loops import FOR, IN_VAIN, NO_LOOP, PROGRESS, WAITS

state = {}


class Done(Exception):
    pass


@ctypes.CFUNCTYPE(None)
def asked():
    state["reads"] += 1
    if state["reads"] % 10 == 0:
        state["told"].append(gaugeblock_loops.waits(state["place"], 10))


def read():
    """False, as a value that is not known."""
    asked()
    if state["reads"] >= 60:
        raise Done
    return False


class Solver:
    n, done = 0, False

    def __init__(self):
        self.n, self.state = 0, {"left": 5}

    def step(self):
        self.n += 1
        return read()

    @property
    def converged(self):
        return read()


def waits_not():
    while not read():
        pass


def waits_break():
    n = 0
    while True:
        n += 1
        if n % 7 == 0:
            str(n)
        if read():
            print("converged")
            break


def waits_flag():
    done, losses = False, []
    while not done:
        losses.append(0)
        done = read()


def waits_method():
    solver = Solver()
    while not solver.converged:
        solver.n += 1


def waits_attribute():
    solver = Solver()
    while not solver.done:
        solver.done = solver.step()


def waits_or_error():
    n = 0
    while not read():
        n += 1
        if n > 1000:
            raise RuntimeError("not converged")


def waits_try():
    while True:
        try:
            if read():
                return 1
        except ValueError:
            continue


def waits_far():
    n = 0
    while n < 10 ** 9:
        n += 1
        if read():
            break


def waits_generator():
    while not any(read() for _ in range(3)):
        pass


def waits_list():
    while not any([read() for _ in range(3)]):
        pass


def waits_locals():
    n, here = 0, locals()
    while n < 1000:
        n, here["n"] = n + 1, n
        read()


def moves_outside():
    for k in range(100):
        while True:
            if read() or state["reads"] % 5 == 0:
                break


def counts_while(n=0):
    while n < 1000:
        n += 1
        read()


def counts_break():
    n = 0
    while True:
        read()
        if n > 1000:
            break
        n += 1


def counts_and():
    n = 0
    while not read() and n < 1000:
        n += 1


def counts_down():
    n = 1000
    while n:
        n -= 1
        read()


def counts_attribute():
    solver = Solver()
    while solver.n < 1000:
        solver.step()


def counts_length():
    items = []
    while len(items) < 100:
        items.append(read())


def counts_enclosed():
    n = 0

    def more():
        return n

    while n < 1000:
        n = more() + 1
        read()


def for_range():
    for _ in range(1000):
        if read():
            break


def for_in_while():
    while True:
        for _ in range(5):
            read()


LONG = "n = 1; "  # jumps over many of these need more than a byte
exec(f"def for_long():\n    for k in range(1000):\n        {LONG * 300}read()")
exec(f"def counts_while_long():\n    n = 0\n    while n < 1000:\n        n += 1; read(); {LONG.replace('n', 'm') * 300}")


def none_recursion(n=0):
    read()
    if n < 100:
        none_recursion(n + 1)


class Kept:
    pass


def frees():
    """What the function has let go of stays gone after it was asked."""
    thing = Kept()
    gone = weakref.ref(thing)
    while not read():
        if state["reads"] == 30:
            del thing
        elif state["reads"] > 30 and gone() is not None:
            state["told"].append("kept")


WANT = {"waits": {IN_VAIN}, "moves": {WAITS}, "waits_far": {WAITS}, "counts": {PROGRESS}, "for": {FOR}, "none": {NO_LOOP}, "frees": {IN_VAIN}}
wrong = []


def tell(name):
    want = WANT.get(name, WANT.get(name.partition("_")[0]))
    if want is None or not callable(globals()[name]):
        return
    state.update(reads=0, told=[], place=name.encode())
    try:
        globals()[name]()
    except Done:
        pass
    if len(state["told"]) < 5 or set(state["told"][1:]) != want:  # the first time there is nothing to compare with
        wrong.append(f"{name}: {state['told']}, not {want}")


list(map(tell, sorted(globals())))  # no loop of this file is around them
print("\n".join(wrong))
sys.exit(len(wrong) > 0)
