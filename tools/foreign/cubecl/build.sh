# The modules of cubecl-runtime that manage memory, with our crate around them.
from=$SRC/$NAME/crates/cubecl-runtime/src
[ -d "$from" ] || { echo "no $from" >&2; exit 1; }
work=$OUT.crate
rm -rf "$work"
mkdir -p "$work/stream" "$work/storage"
cp lib.rs cuda.rs stubs.rs "$work"
ln -s "$from/memory_management" "$work/memory_management"
ln -s "$from/stream/base.rs" "$from/stream/event.rs" "$work/stream"
ln -s "$from/storage/base.rs" "$work/storage"
printf 'mod base;\npub use base::*;\n' >"$work/storage/mod.rs"
printf 'mod base;\nmod event;\npub use base::*;\npub use event::*;\n' >"$work/stream/mod.rs"
# Of id.rs only the macro is needed.
sed -n '/^#\[macro_export/,/^}/p' "$from/id.rs" >"$work/id.rs"
rustc --edition 2021 --crate-type proc-macro --crate-name derive_new -o "$work/libderive_new.so" derive_new.rs
# What -O leaves out is left out as well where nothing is optimized, for a quick build.
optimize=-O
case $OPT in -O0) optimize="-C opt-level=0 -C debug-assertions=off -C overflow-checks=off" ;; esac
set -- --edition 2024 $optimize -A warnings --crate-type cdylib --crate-name cubecl -o "$OUT"
rustc "$@" --extern derive_new="$work/libderive_new.so" -L native="$CUDA" -C link-arg=-Wl,--disable-new-dtags,-rpath,"$CUDA" "$work/lib.rs"
rm -rf "$work"
