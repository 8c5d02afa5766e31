"""Silent corruption: with graph_capture_record_stream_reuse:True a use recorded before a capture is not waited for if
the stream joins the capture.

The setting lets a capture free memory that the graph's edges show to be unused. Edges say nothing of eager work
queued before the capture. y must hold ones.
"""
import sys

import torch

N = 64 << 20


def run(reuse):
    torch._C._accelerator_setAllocatorSettings(f"graph_capture_record_stream_reuse:{reuse}")
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    main, side = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(main):
        tiny = torch.zeros(1, device="cuda")
        y = torch.zeros(N, dtype=torch.uint8, device="cuda")
        x = torch.ones(N, dtype=torch.uint8, device="cuda")
        address = x.data_ptr()
        tiny.add_(1)
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(2_000_000_000)
        y.copy_(x)
    x.record_stream(side)

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(main):
        graph.capture_begin()
        tiny.add_(1)
        side.wait_stream(main)
        with torch.cuda.stream(side):
            tiny.add_(1)
        main.wait_stream(side)
        del x
        tiny.add_(1)
        torch.empty(1, device="cuda")
        graph.capture_end()
        z = torch.empty(N, dtype=torch.uint8, device="cuda")
        reused, busy = z.data_ptr() == address, not side.query()
        z.fill_(2)
    torch.cuda.synchronize()
    print(f"graph_capture_record_stream_reuse {reuse!s:5}: x's address reused {reused}, "
          f"other stream busy {busy}, y holds {y.unique().tolist()}")
    return y.unique().tolist() != [1]


assert not run(False)
sys.exit(1 if run(True) else 0)
