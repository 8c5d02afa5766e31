# ggml's pools are in a file full of kernels: the text of the pool is cut out of it, unchanged.
mkdir -p "$OUT.include"
case $NAME in
ggml-vmm*)
	file=$SRC/$NAME/src/ggml-cuda.cu global=1
	case $NAME in *fix) global=2 ;; esac
	sed -n '/^inline cudaError_t ggml_cuda_set_device(/,/^}/p; /^static void ggml_cuda_set_device(/,/^}/p' "$file" >"$OUT.include/pool.h"
	sed -n '/^#define MAX_CUDA_BUFFERS/,/^#if !defined(GGML_USE_HIPBLAS)/p' "$file" | sed '$d' >>"$OUT.include/pool.h"
	set -- -DGLOBAL=$global
	;;
*)
	file=$SRC/$NAME/src/ggml-cuda/ggml-cuda.cu
	sed -n '/^struct ggml_cuda_pool {/,/^};/p' "$SRC/$NAME/src/ggml-cuda/common.cuh" >"$OUT.include/pool.h"
	sed -n '/^void ggml_cuda_set_device(/,/^}/p; /^static cudaError_t ggml_cuda_device_malloc(/,/^}/p; /^struct ggml_cuda_pool_leg /,/^};/p' "$file" >>"$OUT.include/pool.h"
	set --
	;;
esac
"$CXX" -std=c++17 $OPT -w -shared -fPIC "$@" -Iinclude -I"$OUT.include" -I"$CUDA/include" adaptor.cc -o "$OUT" -L"$CUDA" -lcudart -Wl,--disable-new-dtags,-rpath,"$CUDA"
rm -r "$OUT.include"
