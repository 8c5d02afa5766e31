#!/bin/sh
# Usage: screenshots.sh FOLDER: makes pages of each kind with the command, and pictures of them: light, dark, and 380
# pixels wide. PYTHON is a Python with PyTorch for the page of a run, which is left out without it.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
browser=
for name in chromium chromium-browser google-chrome chrome; do
	browser=${browser:-$(command -v "$name" || true)}
done
if [ -z "$browser" ]; then
	echo "skipped: there is no browser (chromium)"
	exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
gaugeblock=${GAUGEBLOCK:-$work/gaugeblock}
[ -n "${GAUGEBLOCK:-}" ] || (cd "$root" && ${GO:-go} build -o "$gaugeblock" ./cmd/gaugeblock)
runs=$root/snapshot/tell/testdata/snapshots

mkdir -p "$work/ranks" "$work/iterations"
for rank in 0:gpt_varlen.default.nolimit 1:gpt_oom7.default.limit 2:gpt_varlen.default.nolimit 3:gpt_oom7.default.nolimit; do
	cp "$runs/${rank#*:}.pickle.gz" "$work/ranks/rank${rank%%:*}.pickle.gz"
done
for iteration in 10:two_streams.default.nolimit 20:gpt_cut.default.nolimit 30:gpt_oom7.default.limit; do
	mkdir -p "$work/iterations/iteration_${iteration%%:*}"
	cp "$runs/${iteration#*:}.pickle.gz" "$work/iterations/iteration_${iteration%%:*}/rank0.pickle.gz"
done
report() { "$gaugeblock" report "$@" 2>/dev/null >/dev/null; }
report "$runs/gpt_oom7.default.limit.pickle.gz" -o "$work/one.html"
report "$runs/gpt_oom7.default.nolimit.pickle.gz" "$runs/gpt_oom7.default.limit.pickle.gz" -o "$work/two.html"
report "$work/ranks" -o "$work/ranks.html"
kinds="one: timeline:#allocations-section entry:#entry=5000 two: ranks: iterations:"
if "${PYTHON:-python3}" -c 'from importlib.util import find_spec as find; exit(not find("torch"))'; then
	# In the checkout, where the libraries of the fake GPU can be built.
	(cd "$root" && "$gaugeblock" run --gpu h200 --report "$work/run.html" -- "${PYTHON:-python3}" "$root/tools/run/testdata/train.py" >/dev/null)
	kinds="$kinds run:"
	rm -r "$work/iterations"
	(cd "$root" && "$gaugeblock" run --gpu h200 -- "${PYTHON:-python3}" "$root/tools/run/testdata/leaks.py" "$work/iterations" >/dev/null)
else
	echo "skipped: the page of a run, and of a leak, which need PyTorch (PYTHON=...)"
fi
report "$work/iterations" -o "$work/iterations.html"

# A picture of a page in a frame, since a window of a browser cannot be narrow.
picture() { # NAME WIDTH HEIGHT SCHEME PAGE FRAGMENT
	echo "<!doctype html><style>body { margin: 0 } iframe { border: 0; display: block }</style><iframe src='$5.html$6' width=$2 height=$3></iframe>" >"$work/frame.html"
	"$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --allow-file-access-from-files --user-data-dir="$work/browser" \
		--blink-settings=preferredColorScheme="$4" --window-size="$(($2 > 500 ? $2 : 500)),$3" --virtual-time-budget=8000 \
		--screenshot="$out/$1.png" "file://$work/frame.html" 2>/dev/null
	echo "$out/$1.png"
}
for kind in $kinds; do
	name=${kind%%:*} fragment=${kind#*:}
	page=$name
	case $name in timeline | entry) page=one ;; esac
	picture "$name-light" 1200 1500 1 "$page" "$fragment"
	picture "$name-dark" 1200 1500 0 "$page" "$fragment"
	picture "$name-narrow" 380 1500 1 "$page" "$fragment"
done
