# The module cupy_backends.cuda.api.runtime of CuPy, which has NVIDIA's runtime linked in, against the fake one:
#
#	sh build.sh SOURCE HEADERS LIBRARIES PYTHON
#
# SOURCE is the unpacked source distribution of the release that PYTHON has installed (READTHEDOCS=True pip download
# --no-deps --no-binary cupy cupy==14.2.0; the variable says that no CUDA is to be looked for), HEADERS the folder with
# NVIDIA's cuda_runtime.h, LIBRARIES that of the fake GPU (make fake-cuda). PYTHON needs Cython. The module in the
# installation is replaced; the one before is beside it, with .nvidia behind its name.
set -e
source=$1 headers=$2 libraries=$3 python=$4
installed=$("$python" -c 'import importlib.util as u; print(u.find_spec("cupy_backends").submodule_search_locations[0])')
module=$(ls "$installed"/cuda/api/runtime.*.so)
include=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
built=$(mktemp -d)
trap 'rm -r "$built"' EXIT
(cd "$source" && "$python" -m cython -3 --cplus -X language_level=3 -E CUPY_CUDA_VERSION=12090 -E CUPY_HIP_VERSION=0 -E CUPY_USE_CUDA_PYTHON=False \
	-o "$built/runtime.cpp" cupy_backends/cuda/api/runtime.pyx)
${CXX:-c++} -O1 -w -shared -fPIC -D_FORCE_INLINES=1 -I"$include" -I"$headers" -I"$source/cupy_backends" -I"$source/cupy_backends/cuda/api" \
	"$built/runtime.cpp" -o "$built/runtime.so" -L"$libraries" -l:libcudart.so.12 -Wl,--disable-new-dtags,-rpath,"$libraries"
[ -e "$module.nvidia" ] || cp "$module" "$module.nvidia"
cp "$built/runtime.so" "$module"
