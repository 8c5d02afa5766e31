"""Numbers that a program decides by: "while loss.item() > 0.1", "norm = float(n); if norm > 1", and those that may not
be 0: "10 * math.log10(1 / mse.item())". What is done with a number that is read from the device is followed through
the code of the function, and of its callers if it is returned. It is not followed into other functions, attributes
or containers."""
import dis
import functools
import sys

NUMBER, LIKELY = "a number", "of a number"  # the number or what is computed of it; what some function made of it
FUNCTIONS = frozenset("float int bool complex abs round max min sum any all pow divmod sorted isnan isinf isfinite isclose sqrt exp log log2 log10 "
                      "mean median std fabs floor ceil asarray array".split())
METHODS = frozenset("item tolist numpy cpu detach float double to clone mean sum min max norm abs any all squeeze view reshape flatten isnan "
                    "isinf isfinite sqrt exp log round add sub mul div neg argmax argmin astype is_integer".split())
LOGARITHMS = frozenset("log log2 log10".split())
NO_DECISION = frozenset("len isinstance issubclass type hasattr getattr callable id str repr print format".split())  # nothing of a number
NOTHING = frozenset("CACHE NOP RESUME NOT_TAKEN PRECALL KW_NAMES EXTENDED_ARG COPY_FREE_VARS MAKE_CELL GEN_START SETUP_ANNOTATIONS POP_BLOCK".split())
ENDS = frozenset("RAISE_VARARGS RERAISE RETURN_VALUE RETURN_CONST JUMP_FORWARD JUMP_ABSOLUTE JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT".split())
DIVISIONS = frozenset(f"{how}_{what}" for how in ("BINARY", "INPLACE") for what in ("TRUE_DIVIDE", "FLOOR_DIVIDE", "MODULO"))  # before 3.11
ASKS = ("_IF_TRUE", "_IF_FALSE", "_OR_POP")
DEPTH, MOST = 50, 20000  # values below what is looked at; steps


DECIDES, NOT_ZERO, RETURNED = 1, 2, 4  # what becomes of a number, added


def used():
    """Whether a condition rests on the number that the program reads now (1), and whether it may not be 0 (2)."""
    try:
        frame = sys._getframe(2)  # behind this function and that which C calls
    except ValueError:
        return 0
    found = RETURNED
    while found & RETURNED and frame is not None:
        found = found & ~RETURNED | _follow(frame.f_code, frame.f_lasti)
        frame = frame.f_back
    return found & ~RETURNED


@functools.lru_cache(maxsize=None)
def _follow(code, at):
    """What becomes of a number that an instruction gives."""
    steps = [s for s in dis.get_instructions(code) if s.opname != "CACHE"]
    first = max((k for k, s in enumerate(steps) if s.offset <= at), default=0)
    if steps[first].opname == "PRECALL":
        first += 1
    name = steps[first].opname
    if "JUMP" in name:
        return DECIDES  # the condition itself asks
    if not name.startswith(("CALL", "TO_BOOL", "UNARY", "BINARY", "COMPARE", "FOR_ITER")):
        return 0
    before = {}  # what is on the stack there already, such as the function that gets the number
    for k, stack, _ in _walk(steps, 0, [None] * DEPTH):
        before[k] = stack
    stack, _ = _applied(steps[first], before.get(first, [None] * DEPTH), frozenset(), False)
    found = 0
    for k, stack, _ in _walk(steps, first + 1, stack[:-1] + [NUMBER]):
        found |= _use(steps[k], stack)
    return found


def _use(step, stack):
    """The same of one instruction."""
    name, top = step.opname, stack[-1]
    if "JUMP" in name and name.endswith(ASKS):
        return DECIDES if top in (NUMBER, LIKELY) else 0
    if top != NUMBER:
        return 0
    if name in ("RETURN_VALUE", "YIELD_VALUE"):
        return RETURNED
    divides = name in DIVISIONS or name == "BINARY_OP" and step.argrepr.rstrip("=") in ("/", "//", "%")
    return NOT_ZERO if divides or name.startswith("CALL") and _word(_parts(step, stack)) in LOGARITHMS else 0


def _walk(steps, first, stack):
    """The instructions that may come, each with the stack and the variables before it, until nothing is new."""
    places = {s.offset: k for k, s in enumerate(steps)}
    seen, coming = {}, [(first, stack, frozenset())]
    for _ in range(MOST):
        if not coming:
            return
        k, stack, variables = coming.pop()
        if k >= len(steps):
            continue
        if k in seen:
            stack, variables = _joined(seen[k], stack, variables)
            if (stack, variables) == seen[k]:
                continue
        seen[k] = stack, variables
        yield k, stack, variables
        step = steps[k]
        if step.opname not in ENDS:
            coming.append((k + 1, *_applied(step, stack, variables, False)))
        if jumps(step, places):
            coming.append((places[step.argval], *_applied(step, stack, variables, True)))


def instructions(code, without=frozenset(("CACHE", "EXTENDED_ARG"))):
    """The instructions of a function but for those that do nothing, and at which of them each place of the code is."""
    steps, places = [], {}
    for step in dis.get_instructions(code):
        places[step.offset] = len(steps)  # who jumps to what does nothing goes on behind it
        if step.opname not in without:
            steps.append(step)
    return steps, places


def jumps(step, places):
    """Whether an instruction may go on elsewhere, but for what waits and what comes of exceptions."""
    return (step.opcode in dis.hasjrel or step.opcode in dis.hasjabs) and step.argval in places and not step.opname.startswith(("SETUP", "SEND"))


def _joined(before, stack, variables):
    old, names = before
    n = min(len(old), len(stack))
    both = [a if a == b else _of((a, b)) for a, b in zip(old[len(old) - n:], stack[len(stack) - n:])]
    return both, names | variables


def _applied(step, stack, variables, jumps):
    """The stack and the variables that hold the number, behind an instruction."""
    stack = list(stack)
    name, argument = step.opname, step.arg

    def pop(n=1):
        taken = stack[len(stack) - n:] if n else []
        del stack[len(stack) - n:]
        return taken

    if name in NOTHING:
        return stack, variables
    effect = dis.stack_effect(step.opcode, argument, jump=jumps)
    if name.startswith(("LOAD_FAST", "STORE_FAST", "LOAD_NAME", "LOAD_GLOBAL", "LOAD_DEREF", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF")):
        return _variables(step, stack, variables, effect)
    if name.startswith("DELETE_") and name.rpartition("_")[2] in ("FAST", "NAME", "GLOBAL", "DEREF"):
        return stack, variables - {step.argval}
    if name in ("LOAD_ATTR", "LOAD_METHOD"):
        of = pop()[0]
        is_number = of in (NUMBER, LIKELY)
        stack.append((of if step.argval in METHODS else None) if is_number else "name " + str(step.argval))
        stack.extend([None] * effect)
    elif name.startswith("CALL") and not name.startswith("CALL_INTRINSIC"):
        _call(step, stack)
    elif name in ("COPY", "DUP_TOP"):
        stack.append(stack[-(argument or 1)])
    elif name == "DUP_TOP_TWO":
        stack.extend(stack[-2:])
    elif name == "SWAP":
        stack[-1], stack[-argument] = stack[-argument], stack[-1]
    elif name.startswith("ROT_"):
        n = {"ROT_TWO": 2, "ROT_THREE": 3, "ROT_FOUR": 4}.get(name, argument)
        moved = stack.pop()
        stack.insert(len(stack) - n + 1, moved)
    elif name in ("IS_OP", "BINARY_SLICE") or name.startswith("FORMAT") or name in ("BUILD_STRING", "BUILD_MAP", "BUILD_SLICE", "BUILD_CONST_KEY_MAP", "CONVERT_VALUE"):
        pop(1 - effect)
        stack.append(None)
    elif name.startswith(("BINARY", "INPLACE", "COMPARE", "CONTAINS", "UNARY", "TO_BOOL", "BUILD_LIST", "BUILD_TUPLE", "BUILD_SET")):
        stack.append(_of(pop(1 - effect)))
    elif name in ("UNPACK_SEQUENCE", "GET_ITER", "CALL_INTRINSIC_1", "LIST_TO_TUPLE"):
        of = _of(pop())
        stack.extend([of] * (effect + 1))
    elif name == "FOR_ITER" and not jumps:
        stack.append(_of(stack[-1:]))
    elif name in ("LIST_APPEND", "SET_ADD"):
        of = _of(pop())
        stack[-argument] = of or stack[-argument]
    elif name.startswith("JUMP_IF"):
        pop(-effect)
    elif effect < 0:
        pop(-effect)
    elif effect > 0:
        stack.extend([None] * effect)
    elif stack and not name.startswith(("JUMP", "POP_JUMP")):
        stack[-1] = None
    return stack, variables


def _variables(step, stack, variables, effect):
    """Instructions on one variable, or on two."""
    names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
    for kind, name in zip(step.opname.replace("_BORROW", "").replace("_CHECK", "").replace("_AND_CLEAR", "").split("_")[::2], names):
        if kind == "STORE":
            variables = variables | {name} if stack.pop() == NUMBER else variables - {name}
        else:
            stack.append(NUMBER if name in variables else f"name {name}")
    if step.opname == "LOAD_GLOBAL" and effect == 2:  # with a place for who it is called of
        stack.insert(len(stack) - (sys.version_info < (3, 13)), None)
    return stack, variables


def _parts(step, stack):
    """What a call takes off the stack: the function, with a place for whose it is, and the arguments."""
    beside = {"CALL": 2, "CALL_METHOD": 2, "CALL_FUNCTION": 1, "CALL_FUNCTION_KW": 2, "CALL_KW": 3}.get(step.opname)
    n = 1 - dis.stack_effect(step.opcode, step.arg) if beside is None else step.arg + beside
    return stack[len(stack) - n:]


def _word(parts):
    """The name by which a call's function was found."""
    return next((p[5:] for p in parts[:2] if p and p.startswith("name ")), "")


def _call(step, stack):
    parts = _parts(step, stack)
    del stack[len(stack) - len(parts):]
    word = _word(parts)
    if NUMBER in parts[: 2 if step.opname in ("CALL", "CALL_METHOD", "CALL_KW") else 1]:
        stack.append(NUMBER)  # its method
    elif NUMBER not in parts or word in NO_DECISION:
        stack.append(None)
    else:
        stack.append(NUMBER if word in FUNCTIONS else LIKELY)


def _of(values):
    return NUMBER if NUMBER in values else LIKELY if LIKELY in values else None
