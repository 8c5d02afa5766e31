# CUB's allocator is a header of CCCL, which needs libcudacxx and more of CUDA's names.
exec "$CXX" -std=c++17 $OPT -w -shared -fPIC -I../rmm/include -I"$SRC/${NAME#cub-}/cub" -I"$SRC/${NAME#cub-}/libcudacxx/include" \
	-I"$CUDA/include" adaptor.cc -o "$OUT" -L"$CUDA" -lcudart -Wl,--disable-new-dtags,-rpath,"$CUDA"
