# torch_memory_saver as PyTorch loads it, in the mode in which it is a plugged-in allocator.
csrc=$SRC/$NAME/csrc
exec "$CXX" -std=c++17 $OPT -w -shared -fPIC -DUSE_CUDA -DTMS_HOOK_MODE_TORCH -Iinclude -I"$CUDA/include" \
	"$csrc/core.cpp" "$csrc/entrypoint.cpp" "$csrc/api_forwarder.cpp" "$csrc/disk_backend.cpp" -o "$OUT" -L"$CUDA" -lcuda -lcudart -ldl -Wl,-rpath,"$CUDA"
