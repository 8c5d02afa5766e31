"""Loops that wait for a value that only a GPU would have computed: "while loss > 0.1", "if step_is_good: break". Such a
loop makes no progress if a while statement is the innermost loop around what reads the value, and the integers and the
sizes by which it may end are as they were, or need very many turns more."""
import functools
import inspect
import sys

import gaugeblock_conditions as conditions

PROGRESS, IN_VAIN, WAITS, FOR, NO_LOOP = range(5)  # IN_VAIN: those around it make no progress either; FOR: of a for statement
MANY = 10000  # reads after which a loop that counts them ends soon enough
SIZED = (list, tuple, dict, set, frozenset, str, bytes, bytearray)
LOCALS = frozenset("locals vars exec eval dir".split())
IN_ONE_LINE = frozenset("<genexpr> <listcomp> <setcomp> <dictcomp>".split())

last = {}  # by place of a read: by what the loops around it end


def waits(place, reads):
    """What the innermost loop around the place of a read has done since the last call, some reads ago."""
    frame = sys._getframe(2)  # behind this function and that which C calls
    inner, outer, kind = None, [], NO_LOOP
    while frame is not None:
        code = frame.f_code
        for k, loop in enumerate(_around(code, frame.f_lasti) if code.co_name not in IN_ONE_LINE else ()):
            if inner is None:
                inner, kind = _ends_by(frame, loop), FOR if loop.is_for else WAITS
            else:
                outer.append(_ends_by(frame, loop))
        frame = frame.f_back
    if inner is None:
        return NO_LOOP
    before, last[place] = last.get(place), (inner, outer)
    if kind == FOR or before is None:
        return kind
    if len(before[0]) == len(inner) and any(_progresses(a, b, reads) for a, b in zip(before[0], inner)):
        return PROGRESS
    return IN_VAIN if before == last[place] else WAITS


def _progresses(before, now, reads):
    """Whether a condition's integers have changed, so that it is true within MANY reads if one approaches another."""
    changed = [(a, b) for a, b in zip(before, now) if a != b]
    if len(before) != len(now) or not changed:
        return False
    others = [x for x in now if isinstance(x, int) and (x, x) in zip(before, now)]
    ahead = [(x - b) / (b - a) * reads for a, b in changed if isinstance(a, int) and isinstance(b, int) for x in others if (x - b) * (b - a) > 0]
    return not ahead or min(ahead) <= MANY


class Loop:
    """The instructions of a loop, whether it is a for statement, and of each condition by which it may end the variables with
    their attributes, and numbers."""

    def __init__(self, steps, after, body, head):
        self.body, self.is_for = body, steps[head].opname == "FOR_ITER"
        self.paths = []
        self.assigns = steps[head + 1].opname.startswith(("STORE", "UNPACK"))
        self.turn = steps[head + 1].argval if self.is_for else None  # the name of what is new in each turn, if it has one
        for k in sorted(body):
            leaves = [n for n in after[k] if n not in body]
            if "_IF_" in steps[k].opname and leaves and not _raises(steps, leaves[0]):
                self.paths.append(_operands(steps, k))


@functools.lru_cache(maxsize=None)
def _loops(code):
    """The instructions of a function, and its loops, the innermost first."""
    steps, places = conditions.instructions(code)
    after = [[] for _ in steps]
    before = [[] for _ in steps]
    for k, step in enumerate(steps):
        if step.opname not in conditions.ENDS and k + 1 < len(steps):
            after[k].append(k + 1)
        if conditions.jumps(step, places):
            after[k].append(places[step.argval])
        for n in after[k]:
            before[n].append(k)
    bodies = {}
    for k in range(len(steps)):
        for head in after[k]:
            if head <= k:
                body, coming = bodies.setdefault(head, {head}), [k]
                while coming:
                    n = coming.pop()
                    if n not in body:
                        body.add(n)
                        coming.extend(before[n])
    loops = [Loop(steps, after, body, head) for head, body in sorted(bodies.items(), key=lambda b: len(b[1]))]
    return steps, [loop for loop in loops if not _in_one_line(steps, loops, loop)]


def _in_one_line(steps, loops, loop):
    """Whether a loop is a comprehension, which newer Pythons have in the function itself, or any() or all() of one."""
    if not loop.is_for:
        return False
    inner = set().union(*(other.body for other in loops if len(other.body) < len(loop.body)))
    return not loop.assigns or any(steps[k].opname in ("LIST_APPEND", "SET_ADD", "MAP_ADD") for k in loop.body - inner)


def _around(code, at):
    """The loops around an instruction, the innermost first."""
    steps, loops = _loops(code)
    here = max((k for k, s in enumerate(steps) if s.offset <= at), default=0)
    return [loop for loop in loops if here in loop.body]


def _raises(steps, k):
    """Whether instructions raise before anything else is decided: a loop is not meant to end so."""
    for step in steps[k:]:
        if step.opname in conditions.ENDS or "JUMP" in step.opname:
            return step.opname == "RAISE_VARARGS"
    return False


def _operands(steps, k):
    """What the condition that an instruction asks for is made of: variables with attributes, and numbers."""
    first = k
    while first > 0 and not ("JUMP" in steps[first - 1].opname or steps[first - 1].opname in conditions.ENDS
                             or steps[first - 1].opname.startswith(("STORE", "POP", "FOR_ITER", "RESUME"))):
        first -= 1
    found, variable = [], False
    for step in steps[first:k]:
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD") and variable:
            found[-1] += (step.argval,)
        elif step.opname.startswith("LOAD_CONST") or step.opname == "LOAD_SMALL_INT":
            found.append(step.argval)
            variable = False
        elif step.opname.startswith(("LOAD_FAST", "LOAD_NAME", "LOAD_GLOBAL", "LOAD_DEREF")):
            found.extend((name,) for name in (step.argval if isinstance(step.argval, tuple) else (step.argval,)))
            variable = True
        elif step.opname not in conditions.NOTHING:
            variable = False
    return found


def _ends_by(frame, loop):
    """The integers, sizes and texts by which a loop ends now, of each condition."""
    if LOCALS & set(frame.f_code.co_names):
        return []  # it may have the dictionary that is cleared below
    local = frame.f_locals
    try:
        found = [[_plain(p, local, frame.f_globals) for p in condition] for condition in loop.paths]
        if loop.is_for:
            turn = local.get(loop.turn) if isinstance(loop.turn, str) else None
            found.append([turn if isinstance(turn, int) else object()])  # what is new may be where the old was
        return found
    finally:
        if isinstance(local, dict) and frame.f_code.co_flags & inspect.CO_OPTIMIZED and sys.gettrace() is None:
            local.clear()  # a copy, which before Python 3.13 would keep the function's tensors until it ends


def _plain(path, local, others):
    """What is told of a variable, without a call of the program's code."""
    if not isinstance(path, tuple):
        value = path
    else:
        value = local[path[0]] if path[0] in local else others.get(path[0])
        for name in path[1:]:
            attributes = getattr(value, "__dict__", None) if not isinstance(value, type(sys)) else None
            if not isinstance(attributes, dict) or name not in attributes:
                break
            value = attributes[name]
    if isinstance(value, (bool, int)) or value is None:
        return value
    if isinstance(value, SIZED):
        return len(value)
    shape = value.shape if type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "shape") else None
    return str(tuple(shape)) if shape is not None else None
