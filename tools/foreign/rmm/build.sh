# Builds NAME, which is VERSION-RESOURCE, from SRC/VERSION: recipes.go has the variables.
# VERSION-gtests is RMM's own tests of its pool and arena, VERSION-real the program real.cc.
version=${NAME%-*} resource=${NAME##*-}
rmm=$SRC/$version
if [ "$version" = rmm-headfix ]; then rmm=$SRC/rmm-head; fi
if [ -d "$rmm/cpp" ]; then rmm=$rmm/cpp; fi

# Each version belongs to a generation of RMM's interface, with its headers of CCCL. The
# first is headers alone; the others have sources, and their macros for a log are made by
# rapids-logger.
objects=${OUT%/*}/$version.objects$OPT
mkdir -p "$objects"
case $version in
*-dev | *-devfix | *-ptds | *-ptdsfix) generation=1 cccl=$SRC/cccl22 options="-std=c++17" ;;
*-aba | *-abafix) generation=2 cccl=$SRC/cccl32 options="-std=c++20 -Icccl" ;;
*) generation=3 cccl=$SRC/cccl options="-std=c++20 -Icccl" ;;
esac
sources=
if [ $generation -gt 1 ]; then
	options="$options -I$SRC/rapids-logger/include"
	mkdir -p "$objects/rmm"
	sed -e 's/@_RAPIDS_LOGGER_MACRO_PREFIX@/RMM/g; s/@_RAPIDS_LOGGER_DEFAULT_LOGGER@/rmm::default_logger()/g' \
		"$SRC/rapids-logger/cmake/logger_macros.hpp.in" >"$objects/rmm/logger_macros.hpp"
	sources="$SRC/rapids-logger/src/logger.cpp"
	for s in aligned cuda_device cuda_stream cuda_stream_view device_buffer error logger runtime_shutdown; do
		sources="$sources $rmm/src/$s.cpp"
	done
	for s in arena binning cuda fixed_size limiting pool; do
		for f in memory_resource resource_adaptor; do
			sources="$sources $rmm/src/mr/${s}_$f.cpp $rmm/src/mr/detail/${s}_${f}_impl.cpp"
		done
	done
fi

# rmm-headfix is rmm-head with what two pull requests of RMM's propose: 2490, the event is
# recorded behind the wait when lists are merged; 2471, the arena knows streams by their ids.
change() { # FILE, FOLDER IT IS IN, EXPRESSION OF SED
	mkdir -p "$objects/${1%/*}"
	sed "$3" "$2/$1" >"$objects/$1"
	if cmp -s "$2/$1" "$objects/$1"; then
		echo "$1 is not as it was" >&2
		exit 1
	fi
}
if [ "$version" = rmm-headfix ]; then
	record='cudaEventRecord(stream_event.event, stream_event.stream);'
	id='[](cudaStream_t s) { unsigned long long id = 0; cudaStreamGetId(s, \&id); return id; }(stream.value())'
	change rmm/mr/detail/stream_ordered_memory_resource.hpp "$rmm/include" "/^ *blocks.insert(std::move(other_blocks));/a $record"
	change rmm/mr/detail/arena_memory_resource_impl.hpp "$rmm/include" 's/map<cudaStream_t, arena>/map<unsigned long long, arena>/'
	change mr/detail/arena_memory_resource_impl.cpp "$rmm/src" "/stream_arenas_/s/stream.value()/$id/"
	sources=$(echo "$sources" | sed "s|$rmm/src/mr/detail/arena_memory_resource_impl.cpp|$objects/mr/detail/arena_memory_resource_impl.cpp|")
fi

compile() { # SOURCE OBJECT
	$CXX $OPT -fPIC -w $options -DTHRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_CPP \
		-DCCCL_IGNORE_DEPRECATED_STREAM_REF_HEADER -DLIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE -DFMT_HEADER_ONLY \
		-DRESOURCE_$resource -DGENERATION=$generation -Iinclude -I"$CUDA/include" -I"$objects" -I"$rmm/include" \
		-I"$cccl/libcudacxx/include" -I"$cccl/thrust" -I"$cccl/cub" -c "$1" -o "$2"
}

# What the resources of a version have in common is compiled once.
common=
for s in $sources; do
	if [ ! -f "$s" ]; then continue; fi
	o=${s#"$SRC/"}
	o=$objects/$(echo "${o#"$objects/"}" | tr / .).o
	if [ ! -f "$o" ]; then compile "$s" "$o"; fi
	common="$common $o"
done
link() {
	$CXX "$@" $common "$CUDA/libcudart.so.12" -Wl,--disable-new-dtags,-rpath,"$CUDA" -lpthread -ldl -Wl,-z,defs
}
if [ "$resource" = real ]; then
	compile real.cc "$objects/real.o"
	$CXX -o "$OUT" "$objects/real.o" "$CUDA/libcudart.so.12" -Wl,--disable-new-dtags,-rpath,"$CUDA" -lpthread -ldl
	exit
fi
if [ "$resource" != gtests ]; then
	compile adaptor.cc "$objects/adaptor.$resource.o"
	link -shared -o "$OUT" "$objects/adaptor.$resource.o"
	exit
fi
options="$options -I$rmm/tests"
for t in pool arena; do
	o=$objects/${t}_mr_tests.o
	if [ ! -f "$o" ]; then compile "$(ls "$rmm"/tests/mr/${t}_mr_tests.cpp "$rmm"/tests/mr/device/${t}_mr_tests.cpp 2>/dev/null)" "$o"; fi
done
link -o "$OUT" "$objects/pool_mr_tests.o" "$objects/arena_mr_tests.o" -lgmock_main -lgmock -lgtest
