# Takes sources out of clones of their repositories, for recipes whose sources are at a
# commit (sources.txt):
#
#	sh tools/foreign/checkout.sh CLONES TO
#
# CLONES has the clones, TO gets a folder for each line; then "make zoo SRC=TO" finds them.
# The repositories, on GitHub: rapidsai/rmm, tracel-ai/cubecl, NVIDIA/cub, NVIDIA/cccl, ggml-org/ggml,
# NVIDIA/cnmem, microsoft/onnxruntime, vllm-project/vllm.
set -eu
[ $# = 2 ] || { echo "usage: checkout.sh CLONES TO" >&2; exit 2; }
table=$(dirname "$0")/sources.txt
grep -v '^#' "$table" | while IFS='|' read -r folder repository commit paths; do
	folder=${folder% } repository=$(echo $repository) commit=$(echo $commit)
	if [ ! -d "$1/$repository" ]; then
		echo "no clone of $repository: $folder is left out" >&2
	elif [ ! -d "$2/$folder" ]; then
		mkdir -p "$2/$folder.part"
		git -C "$1/$repository" archive "$commit" -- $paths | tar -x -C "$2/$folder.part"
		mv "$2/$folder.part" "$2/$folder"
	fi
done
