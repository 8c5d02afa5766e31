"""The README's example of a test, for pytest."""
import gaugeblock
from train import train


def test_memory(gpu_memory):
    mem = gpu_memory(train, 16, gpu="4090")
    assert mem.out_of_memory is None
    assert mem.peak_reserved < 1 * gaugeblock.GiB


def test_grows(gpu_memory):
    assert gpu_memory(train, 16, gpu="t4").peak_reserved > gpu_memory(train, 8, gpu="t4").peak_reserved
