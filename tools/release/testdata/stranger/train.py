"""A program that somebody has: BATCH is how large its batches are."""
import os


def train(batch):
    import torch  # here, so that a process that only names this function needs no library of NVIDIA

    model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(2):
        x = torch.randn(batch * 256, 1024, device="cuda")
        model(x).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    train(int(os.environ.get("BATCH", 8)))
