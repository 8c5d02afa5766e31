"""Out of memory without need: each page that is received from another process under expandable segments takes
addresses for 9/8 of the device.

Some hundred small tensors that lie in different pages are all that a process can receive. Without expandable
segments it can receive all.
"""
import resource
import subprocess
import sys

import torch
import torch.multiprocessing as mp

MiB = 1 << 20


def receive(queue, result):
    kept, error = [], ""
    try:
        while (tensor := queue.get()) is not None:
            kept.append(tensor)
    except RuntimeError as e:
        error = str(e).splitlines()[0]
    result.put((len(kept), error))
    queue.cancel_join_thread()


def run(expandable):
    torch._C._accelerator_setAllocatorSettings(f"expandable_segments:{expandable}")
    count = 2**47 // (torch.cuda.get_device_properties(0).total_memory * 9 // 8) + 100
    tensors = [torch.empty(MiB, dtype=torch.uint8, device="cuda") for _ in range(2 * count)][::2]
    context = mp.get_context("spawn")
    queue, result = context.Queue(), context.SimpleQueue()
    process = context.Process(target=receive, args=(queue, result), daemon=True)
    process.start()
    for tensor in tensors + [None]:
        queue.put(tensor)
    received, error = result.get()
    queue.cancel_join_thread()
    process.kill()
    print(f"expandable_segments:{expandable}: {count} tensors of 1 MiB sent, {received} received {error}", flush=True)
    return received < count


if __name__ == "__main__":
    if len(sys.argv) > 1:
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        sys.exit(1 if run(sys.argv[1] == "True") else 0)
    status = [subprocess.run([sys.executable, __file__, expandable], stderr=subprocess.DEVNULL).returncode
              for expandable in ("False", "True")]
    assert status[0] == 0
    sys.exit(status[1])
