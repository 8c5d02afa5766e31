"""What gaugeblock_checks says of the lines that ask for a boolean. Ends with 1 if one differs."""
import ctypes
import sys

import gaugeblock_checks

said = []


@ctypes.CFUNCTYPE(ctypes.c_int)
def asked():
    said.append(gaugeblock_checks.wanted())
    return 1


def turned():
    return not asked()


def raises():
    if asked() and False:
        pass
    if not asked():
        raise ValueError(f"{said} is wrong")


def raises_if():
    if turned():
        raise ValueError("wrong")


def asserts():
    assert asked(), "wrong"


def goes_both_ways():
    if asked():
        return 1
    return 2


def counts():
    return asked() + 1


def stops_if():
    try:
        if asked():
            raise ValueError("wrong")
    except ValueError:
        pass


exec("def far():\n    if asked():\n        " + "n = 1; " * 300 + "\n    else:\n        raise ValueError('wrong')")  # jumps that need more than a byte
exec("def far_behind():\n    " + "n = 1; " * 300 + "\n    if not asked():\n        raise ValueError('wrong')")

wrong = []
for function, want in [(raises, [-1, 1]), (raises_if, [1]), (asserts, [1]), (goes_both_ways, [-1]), (counts, [-1]), (stops_if, [0]), (far, [1]), (far_behind, [1])]:
    function()
    if said != want:
        wrong.append(f"{function.__name__}: {said}, not {want}")
    said.clear()
print("\n".join(wrong))
sys.exit(len(wrong) > 0)
