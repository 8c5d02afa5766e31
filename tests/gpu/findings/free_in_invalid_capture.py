"""Crash: with graph_capture_record_stream_reuse:True, freeing a tensor that two streams used ends the process
if a capture has failed.

An operation that is not allowed in a capture raises an exception. When Python then drops the tensor, before
capture_end(), the allocator asserts that the capture is valid. An assertion in a destructor cannot be caught.
Without the setting there is an exception.
"""
import os
import subprocess
import sys

import torch


def program(reuse):
    torch._C._accelerator_setAllocatorSettings(f"graph_capture_record_stream_reuse:{reuse}")
    main, side = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(main):
        x = torch.ones(1 << 20, device="cuda")
        x.add_(1)
        torch.cuda.synchronize()
        x.record_stream(side)
        graph = torch.cuda.CUDAGraph()
        graph.capture_begin()
        try:
            x.add_(1)
            torch.cuda.synchronize()
        except Exception as e:
            print("caught:", str(e).splitlines()[0], flush=True)
        del x
        print("the tensor is freed", flush=True)


if len(sys.argv) > 1:
    program(sys.argv[1])
    os._exit(0)
status = {}
for reuse in ("False", "True"):
    child = subprocess.run([sys.executable, __file__, reuse], capture_output=True, text=True)
    print(f"graph_capture_record_stream_reuse:{reuse}")
    print(child.stdout + "\n".join(line[:200] for line in child.stderr.splitlines()[:3]))
    print("exit status of the program:", child.returncode)
    status[reuse] = child.returncode
sys.exit(1 if status["False"] == 0 and status["True"] < 0 else 0)
