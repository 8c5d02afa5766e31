"""A fixture for pytest: gpu_memory runs a function on a fake GPU and tells what memory it needed."""

import re
from pathlib import Path
from typing import Any, Callable

import pytest

from ._run import Result, run


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("gaugeblock")
    group.addoption("--gaugeblock-gpu", default="h200", metavar="GPU", help="the fake GPU of the fixture gpu_memory, if a test names none (h200)")
    group.addoption("--gaugeblock-pages", metavar="FOLDER", help="write an HTML page for each run of the fixture gpu_memory")


@pytest.fixture
def gpu_memory(request: Any) -> Callable[..., Result]:
    """gaugeblock.run, on the GPU of --gaugeblock-gpu:

    def test_memory(gpu_memory):
        mem = gpu_memory(train, gpu="4090")
        assert mem.peak_reserved < 8 * gaugeblock.GiB
    """
    runs = 0

    def call(fn: Any, *args: Any, **options: Any) -> Result:
        nonlocal runs
        runs += 1
        options.setdefault("gpu", request.config.getoption("--gaugeblock-gpu"))
        pages = request.config.getoption("--gaugeblock-pages")
        if pages:
            Path(pages).mkdir(parents=True, exist_ok=True)
            name = re.sub(r"[^\w.\[\]-]+", "_", request.node.nodeid)
            options.setdefault("page", Path(pages) / f"{name}{'' if runs == 1 else '-' + str(runs)}.html")
        return run(fn, *args, **options)

    return call
