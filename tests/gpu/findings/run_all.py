"""Runs every script of this folder, each in a process of its own, and prints what they print, then a table.

    python3 run_all.py [--only NAME ...] [--timeout SECONDS]

Exit status of a script: 1 if the fault is there, 0 if not, 2 if it cannot be shown on this machine. Exit
status of this program: 0 if each gave one of these.
"""
import argparse
import pathlib
import subprocess
import sys
import time

VERDICTS = {1: "fault", 0: "no fault", 2: "not run"}
parser = argparse.ArgumentParser()
parser.add_argument("--only", nargs="*", default=[])
parser.add_argument("--timeout", type=float, default=120)
arguments = parser.parse_args()
here = pathlib.Path(__file__).resolve()
cards = "*map(torch.cuda.get_device_name, range(torch.cuda.device_count()))"
version = f"import torch; print(torch.__version__, {cards}, sep=', ')"
print(subprocess.run([sys.executable, "-c", version], capture_output=True, text=True).stdout, flush=True)
table = []
for script in sorted(here.parent.glob("*.py")):
    if script == here or arguments.only and script.stem not in arguments.only:
        continue
    start = time.time()
    try:
        done = subprocess.run([sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=arguments.timeout)
        output, verdict = done.stdout, VERDICTS.get(done.returncode, f"exit status {done.returncode}")
        if "Traceback" in output:
            verdict = "broken script"
    except subprocess.TimeoutExpired as e:
        output, verdict = (e.stdout or b"").decode(), "timeout"
    table.append((script.stem, verdict, time.time() - start))
    print(f"== {script.stem}: {verdict}\n{output.strip()}\n", flush=True)
for name, verdict, seconds in table:
    print(f"{name:40} {verdict:16} {seconds:6.1f} s")
sys.exit(0 if all(v in VERDICTS.values() for _, v, _ in table) else 1)
