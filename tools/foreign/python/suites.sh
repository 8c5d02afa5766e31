# The tests of memory, streams and events that CuPy and Numba have, on the fake GPU's libraries, counted:
#
#	sh suites.sh LIBRARIES PYTHON [CUPY HEADERS]
#
# LIBRARIES is the folder of make fake-cuda. PYTHON has numba-cuda, filecheck, pytest and Cython installed, and with
# CUPY, its unpacked source distribution, also cupy; its module is built first (../cupy/build.sh), with
# NVIDIA's headers in HEADERS. What fails for want of a compiler of kernels (libnvvm, nvJitLink, headers) is counted
# apart. The exit status is 1 if anything else fails.
set -u
libraries=$1 python=$2 cupy=${3-} headers=${4-}
here=$(cd "$(dirname "$0")" && pwd)
out=$(mktemp -d)
trap 'rm -r "$out"' EXIT
export LD_LIBRARY_PATH="$libraries" GAUGEBLOCK_CUDA_GPU=h200 GAUGEBLOCK_CUDA_DEVICES=2 GAUGEBLOCK_CUDA_LOG="$out/absent" PYTHONDONTWRITEBYTECODE=1
status=0

# count NAME PASSED SKIPPED FAILED LACKING: of the failures, those for want of a compiler.
count() {
	echo "$1: $2 passed, $3 skipped, $4 failed, $5 of them for want of a compiler of kernels"
	[ "$4" -eq "$5" ] || { status=1; cat "$out/log"; }
}

lacking='libnvvm|nvJitLink|Failed to find CUDA headers'
modules="test_cuda_memory test_host_alloc test_managed_alloc test_deallocations test_emm_plugins test_pinned test_events \
	test_streams test_context_stack test_select_device test_reset_device test_cuda_ndarray"
# GAUGEBLOCK_CUDA_MEMORY: a test fills a good part of the device, which is memory of the host here
GAUGEBLOCK_CUDA_MEMORY=1GiB "$python" -m numba.runtests -v $(for m in $modules; do echo "numba.cuda.tests.cudadrv.$m"; done) >"$out/log" 2>&1
failed=$(grep -cE '\.\.\. (ERROR|FAIL)$' "$out/log")
count Numba "$(grep -c '\.\.\. ok$' "$out/log")" "$(grep -c '\.\.\. skipped' "$out/log")" "$failed" "$(grep -cE "^[a-zA-Z_.]*Error: .*($lacking)" "$out/log")"

if [ -n "$cupy" ]; then
	sh "$here/../cupy/build.sh" "$cupy" "$headers" "$libraries" "$python" >"$out/log" 2>&1 || { cat "$out/log"; exit 1; }
	mkdir "$out/cuda" && ln -s "$headers" "$out/cuda/include" && cp -r "$cupy/tests" "$out/tests"
	(cd "$out/tests" && CUDA_PATH="$out/cuda" "$python" -m pytest -q -W ignore --tb=short -p no:cacheprovider $(for t in test_memory.py \
		test_memory_hook.py memory_hooks_tests test_pinned_memory.py test_stream.py test_event.py test_runtime.py; do
		[ -e "cupy_tests/cuda_tests/$t" ] && echo "cupy_tests/cuda_tests/$t"; done)) >"$out/log" 2>&1
	number() { grep -oE "[0-9]+ $1" "$out/log" | tail -1 | grep -oE '[0-9]+' || echo 0; }
	count CuPy "$(number passed)" "$(number skipped)" "$(number failed)" "$(grep -cE "^E .*($lacking)" "$out/log")"
fi
exit $status
