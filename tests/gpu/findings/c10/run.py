"""Builds each program of this folder against a PyTorch, runs it, and prints what it prints, then a table.

    python3 run.py TORCH [TORCH ...] [--cuda FOLDER]

TORCH is a folder with lib/libc10.so, lib/libc10_cuda.so and include (the folder "torch" of an installed PyTorch),
of 2.12 or later. FOLDER has include/cuda_runtime_api.h and lib or lib64 with libcudart. A C++ compiler is needed.
Exit status of a program: 1 if the fault is there, 0 if not, 2 if it cannot be shown on this machine.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

VERDICTS = {1: "fault", 0: "no fault", 2: "not run"}


def build(program, torch, cuda, to):
    libraries = [path for path in (cuda / "lib", cuda / "lib64") if path.is_dir()]
    runtime = next(file for path in libraries for file in sorted(path.glob("libcudart.so*")))
    subprocess.run(["c++", "-std=c++20", "-O2", "-w", f"-I{torch}/include", f"-I{cuda}/include", program, "-o", to,
                    f"-L{torch}/lib", "-lc10_cuda", "-lc10", runtime,
                    *(f"-Wl,-rpath,{path}" for path in (torch / "lib", *libraries))], check=True)


def version(torch):
    text = (torch / "include/torch/headeronly/version.h").read_text()
    return re.search(r'TORCH_VERSION\s*\\?\s*"([^"]+)', text)[1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("torch", nargs="+", type=pathlib.Path)
    parser.add_argument("--cuda", type=pathlib.Path, default=pathlib.Path("/usr/local/cuda"))
    arguments = parser.parse_args()
    table = []
    with tempfile.TemporaryDirectory() as scratch:
        for torch in arguments.torch:
            for program in sorted(pathlib.Path(__file__).resolve().parent.glob("*.cc")):
                to = pathlib.Path(scratch) / program.stem
                build(program, torch.resolve(), arguments.cuda, to)
                done = subprocess.run([to], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
                verdict = VERDICTS.get(done.returncode, f"exit status {done.returncode}")
                table.append((version(torch), program.stem, verdict))
                print(f"== {version(torch)} {program.stem}: {verdict}\n{done.stdout.strip()}\n", flush=True)
    for row in table:
        print("{:8} {:32} {}".format(*row))
    sys.exit(0 if all(not verdict.startswith("exit status") for _, _, verdict in table) else 1)


if __name__ == "__main__":
    main()
