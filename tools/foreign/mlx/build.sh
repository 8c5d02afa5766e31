# MLX's allocator is one file; what it needs of MLX is in include.
exec "$CXX" -std=c++17 $OPT -w -shared -fPIC -DMLX_STATIC -Iinclude -I"$CUDA/include" -I"$SRC/$NAME" \
	adaptor.cc "$SRC/$NAME/mlx/backend/cuda/allocator.cpp" -o "$OUT" -L"$CUDA" -lcudart -lpthread -Wl,--disable-new-dtags,-rpath,"$CUDA"
