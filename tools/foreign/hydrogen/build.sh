# Hydrogen's pool is a header.
exec "$CXX" -std=c++17 $OPT -w -shared -fPIC -Iinclude -I"$CUDA/include" -I"$SRC/$NAME/include" adaptor.cc \
	-o "$OUT" -L"$CUDA" -lcudart -lpthread -Wl,--disable-new-dtags,-rpath,"$CUDA"
