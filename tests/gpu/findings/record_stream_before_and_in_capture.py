"""Silent corruption: a use recorded before a capture is not waited for if a use of the same stream is recorded in it.

The other stream has eager work to do when the capture begins. It then takes part in the capture. The graph is
never replayed. y must hold ones.
"""
import sys

import torch

N = 64 << 20


def run(in_capture_too):
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    main, side = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(main):
        y = torch.zeros(N, dtype=torch.uint8, device="cuda")
        w = torch.zeros(N, dtype=torch.uint8, device="cuda")
        x = torch.ones(N, dtype=torch.uint8, device="cuda")
        address = x.data_ptr()
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(2_000_000_000)
        y.copy_(x)
    x.record_stream(side)

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(main):
        graph.capture_begin()
        side.wait_stream(main)
        with torch.cuda.stream(side):
            w.copy_(x)
        if in_capture_too:
            x.record_stream(side)
        main.wait_stream(side)
        del x
        graph.capture_end()
        z = torch.empty(N, dtype=torch.uint8, device="cuda")
        reused, busy = z.data_ptr() == address, not side.query()
        z.fill_(2)
    torch.cuda.synchronize()
    print(f"recorded in the capture as well {in_capture_too!s:5}: x's address reused {reused}, "
          f"other stream busy {busy}, y holds {y.unique().tolist()}")
    return y.unique().tolist() != [1]


assert not run(False)
sys.exit(1 if run(True) else 0)
