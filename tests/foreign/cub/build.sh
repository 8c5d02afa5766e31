# CUB's allocator is a header; the oldest version has no streams.
set -- -std=c++14 $OPT -w -shared -fPIC -I"$CUDA/include"
case $NAME in
cub-stream) set -- "$@" -DWITHOUT_STREAMS ;;
esac
exec "$CXX" "$@" -I"$SRC/$NAME" adaptor.cc -o "$OUT" -L"$CUDA" -lcudart
