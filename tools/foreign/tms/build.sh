# torch_memory_saver as PyTorch loads it, in the mode in which it is a plugged-in allocator;
# tms-quiet and tms-busy, tms-twice and tms-twicefix are programs that pause and resume.
folder=$NAME
case $NAME in tms-quiet | tms-busy) folder=tms-head ;; esac
csrc=$SRC/$folder/csrc
set -- "$csrc/core.cpp" "$csrc/entrypoint.cpp" "$csrc/api_forwarder.cpp" "$csrc/disk_backend.cpp"
case $NAME in
tms-head) set -- "$@" adaptor.cc -shared -fPIC ;;
tms-busy) set -- "$@" program.cc ;;
*) set -- "$@" program.cc -DQUIET ;;
esac
exec "$CXX" -std=c++17 $OPT -w -DUSE_CUDA -DTMS_HOOK_MODE_TORCH -I"$CUDA/include" "$@" -o "$OUT" \
	-L"$CUDA" -lcuda -lcudart -ldl -lpthread -Wl,--disable-new-dtags,-rpath,"$CUDA"
