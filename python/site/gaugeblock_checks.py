"""Checks that stop a program: "if not good.all(): raise", "assert (a >= b).all()". What such a boolean of the
device is decides whether the program goes on, and a boolean that is not known is taken to let it go on."""
import bisect
import functools
import sys

import gaugeblock_conditions as conditions

NOTHING = frozenset(("CACHE", "EXTENDED_ARG", "NOP", "NOT_TAKEN"))
MOST = 200  # instructions of a message


def wanted():
    """1 or 0: with which boolean the line that asks for it goes on, if it stops with the other. -1: neither or both."""
    try:
        frame = sys._getframe(2)  # behind this function and that which C calls
    except ValueError:
        return -1
    negated = False
    while frame is not None:
        found, turned = _wanted(frame.f_code, frame.f_lasti)
        negated ^= turned
        if found != RETURNED:
            return -1 if found < 0 else found ^ negated
        frame = frame.f_back
    return -1


RETURNED = 2


@functools.lru_cache(maxsize=None)
def _wanted(code, at):
    """The same for what an instruction gives, or RETURNED, and whether it is negated before."""
    steps, places = conditions.instructions(code, NOTHING)
    k, negated = bisect.bisect_right([s.offset for s in steps], at) - 1, False  # a caller may be at what is behind its instruction
    if "JUMP" not in steps[k].opname:
        negated = steps[k].opname == "UNARY_NOT"
        k += 2 if steps[k].opname == "PRECALL" else 1
    while k < len(steps) and steps[k].opname in ("TO_BOOL", "UNARY_NOT"):
        negated ^= steps[k].opname == "UNARY_NOT"
        k += 1
    if k >= len(steps):
        return -1, False
    if steps[k].opname == "RETURN_VALUE":
        return RETURNED, negated
    if "JUMP" not in steps[k].opname or not steps[k].opname.endswith(("IF_TRUE", "IF_FALSE")):
        return -1, False
    jumps, falls = _stops(steps, places[steps[k].argval]), _stops(steps, k + 1)
    if jumps == falls:
        return -1, False
    return int(steps[k].opname.endswith("IF_FALSE") == jumps), negated


def _stops(steps, k):
    """Whether nothing but an exception comes of these instructions."""
    for step in steps[k:k + MOST]:
        if step.opname == "RAISE_VARARGS":
            return True
        if "JUMP" in step.opname or step.opname.startswith(("RETURN", "YIELD", "FOR_ITER")):
            return False
    return False
