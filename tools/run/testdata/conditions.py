"""Which numbers that a program reads it decides by (1), and which may not be 0 (2). Ends with 1 if one is told otherwise."""
import ctypes
import math
import sys

import gaugeblock_conditions

said = []


class Copy(int):
    shape, device = (1,), "cpu"

    def item(self):
        return int(self)

    def numpy(self):
        return self


@ctypes.CFUNCTYPE(ctypes.py_object)
def asked():
    said.append(gaugeblock_conditions.used())
    return Copy(3)


class Number:
    """Its functions read, as those of a tensor."""
    def item(self):
        return asked()

    def __float__(self):
        return float(asked())

    def __bool__(self):
        return asked() > 2

    def tolist(self):
        return [asked()]

    def cpu(self):
        return asked()

    def __format__(self, how):
        return format(asked(), how)


loss, losses, logs = Number(), [], {}


def decides_while():
    while loss.item() > 5:
        pass


def decides_if_clipped(max_norm=1.0):
    total = math.sqrt(loss.item() ** 2)
    scale = max_norm / (total + 1e-6)
    if scale < 1:
        return 1


def decides_float():
    if float(loss) < 1 or len(losses) > 100:
        return 1


def decides_itself():
    return 1 if loss else 0


def decides_bool():
    found = bool(loss)
    if not found:
        return 1


def decides_later():
    best = last = 9
    for _ in range(2):
        if last < 5 and abs(best - last) < 1e-3:
            break
        last, other = loss.item(), 1
    return None


def decides_best():
    total = 0
    for _ in range(2):
        total += loss.item()
    mean = total / 2
    best = min(9, mean)
    return "saved" if best == mean else None


def decides_finite():
    if not math.isfinite(loss.item()):
        sys.exit(1)


def decides_assert():
    assert loss.cpu().numpy().item() < 9, "too much"


def decides_list():
    first, = loss.tolist()
    if first > 1 and first < 9:
        return 1


def decides_any():
    if any(x.item() > 5 for x in (loss, loss)):
        return 1


def norm_of(number):
    with open("/dev/null"):
        value = number.item()
    return value * 2


def decides_in_caller():
    if norm_of(loss) > 1:
        return 1


def decides_by_function(stopper=lambda x: x > 5):
    if stopper(loss.item()):
        return 1


def divides_psnr():
    total = 0
    total += 10 * math.log10(1 / loss.item())
    print(total, file=open("/dev/null", "w"))


def divides_later():
    mean = sum([loss.item(), 1.0]) + 1
    ratio = 5.0
    ratio /= mean
    return [ratio]


def divides_logarithm():
    return [math.log(float(loss))]


def divides_and_decides():
    if 1 % norm_of(loss) > 3:
        return 1


def logs_print():
    print(loss.item(), file=open("/dev/null", "w"))
    print(f"{loss:.3f} {loss.item():.3f}", "{}".format(loss.item()), file=open("/dev/null", "w"))


def logs_list(step=0):
    losses.append(loss.item())
    if step % 10 == 0:
        logs["loss"] = loss.item()
    if losses:
        return 1


def logs_mean():
    total = 0.0
    for k in range(2):
        total += loss.item() * 4
        if k == 1:
            print(total / 2, file=open("/dev/null", "w"))
    return None


def logs_shape():
    x = loss.cpu()
    if x.shape[0] > 4 or x.device == "cuda" or isinstance(x, float) or len(loss.tolist()) > 3 or x is None:
        return 1


def logs_again():
    value = loss.item()
    losses.append(value)
    value = len(losses)
    if value > 100:
        return 1


def logs_dictionary():
    metrics = {"loss": loss.item(), "lr": 0.1}
    message = " ".join(f"{k} {v}" for k, v in metrics.items())
    if message:
        return 1


def logs_argument(log=lambda **more: None):
    log(loss=loss.item(), step=3)
    found = log(**{"loss": loss.item()})
    if found:
        return 1


def decides_chain():
    if 0 < loss.item() < 5:
        return 1


def decides_loop():
    for value in loss.tolist():
        if value > 1:
            return 1


def decides_swapped():
    mine, other = loss.item(), 1
    mine, other = other, mine
    if other > 1:
        return 1


def decides_of_three():
    a, b, c = 1, loss.item(), 2
    a, b, c = b, c, a
    return 1 if a else 0


def logs_swapped():
    mine, other = loss.item(), 1
    mine, other = other, mine
    if mine > 1:
        return 1
    return other


def logs_deleted():
    value = loss.item()
    del value
    value = len(losses)
    if value > 100:
        return 1


def logs_augmented(k=0):
    sums = [0, 0]
    sums[k] += loss.item()
    if k > 3:
        return 1
    return sums


USES = {"logs": 0, "decides": 1, "divides": 2, "divides_and_decides": 3, "decides_if_clipped": 3}
wrong = []
for name, function in sorted(globals().items()):
    want = USES.get(name, USES.get(name.partition("_")[0]))
    if want is not None and callable(function):
        function()
        if not said or any(x != want for x in said):
            wrong.append(f"{name}: {said}, not {want}")
        said.clear()
print("\n".join(wrong))
sys.exit(len(wrong) > 0)
