"""Resets the statistics after the peak, as trainers do at each step."""
import torch

x = torch.empty(300 << 20, dtype=torch.uint8, device="cuda")
del x
torch.cuda.empty_cache()
try:
    torch.empty(1 << 50, dtype=torch.uint8, device="cuda")
except torch.OutOfMemoryError:
    pass
torch.cuda.reset_peak_memory_stats()
torch.cuda.reset_accumulated_memory_stats()
torch.accelerator.reset_peak_memory_stats()
assert torch.cuda.max_memory_allocated() == 0, "what the program sees is PyTorch's own"
