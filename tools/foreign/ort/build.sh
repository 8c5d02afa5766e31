# ONNX Runtime's arena, with declarations of our own in place of the rest.
exec "$CXX" -std=c++17 $OPT -w -shared -fPIC -DPLATFORM_POSIX -Iinclude -I"$SRC/$NAME/onnxruntime" -I"$CUDA/include" adaptor.cc \
	"$SRC/$NAME/onnxruntime/core/framework/bfc_arena.cc" -o "$OUT" -L"$CUDA" -lcudart -Wl,--disable-new-dtags,-rpath,"$CUDA"
