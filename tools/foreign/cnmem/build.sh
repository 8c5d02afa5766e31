# cnmem is one file. It names functions of managed memory that are not called here.
exec "$CXX" -std=c++14 $OPT -w -shared -fPIC -Iinclude -I"$CUDA/include" -I"$SRC/$NAME/include" adaptor.cc "$SRC/$NAME/src/cnmem.cpp" \
	-o "$OUT" -L"$CUDA" -lcudart -lpthread -Wl,--disable-new-dtags,-rpath,"$CUDA"
