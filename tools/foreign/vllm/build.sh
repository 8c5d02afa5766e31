# vLLM's extension module in an interpreter's process: it needs Python with its library.
from=$SRC/$NAME
rm -rf "$OUT.python"
mkdir -p "$OUT.python"
cp prepare.py "$from/vllm/device_allocator/cumem.py" "$OUT.python"
set -- -std=c++17 $OPT -w -fPIC -I"$CUDA/include" $(python3-config --includes)
"$CXX" "$@" -Dmy_malloc=vllm_malloc -Dmy_free=vllm_free -c "$from/csrc/cumem_allocator.cpp" -o "$OUT.o"
"$CXX" "$@" -DFOLDER="\"$OUT.python\"" -shared adaptor.cc "$OUT.o" -o "$OUT" -L"$CUDA" -lcuda -lcudart -Wl,--disable-new-dtags,-rpath,"$CUDA" \
	$(python3-config --ldflags --embed)
rm "$OUT.o"
