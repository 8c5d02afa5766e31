# CUB's allocator is a header. Its oldest version has no streams; the newer ones, of the
# repository CCCL, need libcudacxx and more of CUDA's names.
set -- $OPT -w -shared -fPIC
case $NAME in
cub-stream) set -- "$@" -std=c++14 -DWITHOUT_STREAMS -I"$SRC/$NAME" ;;
cub-erase | cub-erasefix | cub-head) set -- "$@" -std=c++17 -I../rmm/include -I"$SRC/$NAME/cub" -I"$SRC/$NAME/libcudacxx/include" ;;
cub-cccl*) set -- "$@" -std=c++17 -I../rmm/include -I"$SRC/${NAME#cub-}/cub" -I"$SRC/${NAME#cub-}/libcudacxx/include" ;;
*) set -- "$@" -std=c++14 -I"$SRC/$NAME" ;;
esac
exec "$CXX" "$@" -I"$CUDA/include" adaptor.cc -o "$OUT" -L"$CUDA" -lcudart -Wl,--disable-new-dtags,-rpath,"$CUDA"
