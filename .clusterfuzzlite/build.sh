#!/bin/sh
# Builds the fuzzers of what must hold (not the models of JACCL, which crash by
# design) as OSS-Fuzz, ClusterFuzzLite and their kin ask for it.
#
# Reads CC, CXX, CFLAGS, CXXFLAGS and LIB_FUZZING_ENGINE; writes to OUT each
# fuzz_NAME with fuzz_NAME_seed_corpus.zip, .options and, where there is one,
# .dict, and to OUT/lib the one library that they need beside libc. Builds in
# WORK (default: a folder of its own that is removed again).
set -eu

fail() {
    echo "build.sh: $*" >&2
    exit 3
}
root=$(cd "$(dirname "$0")/.." && pwd)
[ -f "$root/CMakeLists.txt" ] || root=${SRC:?}/verbfault
: "${OUT:?build.sh: OUT names the folder for the fuzzers}"
: "${LIB_FUZZING_ENGINE:?build.sh: LIB_FUZZING_ENGINE names what to link with}"
for tool in cmake ninja zip pkg-config; do
    command -v "$tool" >/dev/null || fail "$tool is missing"
done
if [ -n "${WORK-}" ]; then
    build=$WORK/verbfault
else
    build=$(mktemp -d)
    trap 'rm -rf "$build"' EXIT
    trap 'exit 130' INT TERM
fi
mkdir -p "$OUT/lib"

# The programs run on a machine that has libc and no more.
cmake -G Ninja -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=None \
    -DVERBFAULT_TESTS=OFF -DVERBFAULT_FUZZERS=ON \
    -DVERBFAULT_FUZZ_ENGINE="$LIB_FUZZING_ENGINE" \
    -DCMAKE_SKIP_BUILD_RPATH=OFF -DCMAKE_BUILD_RPATH="\$ORIGIN/lib"
cmake --build "$build" --target fuzzers

library=$(pkg-config --variable=libdir jansson)/libjansson.so.4
[ -e "$library" ] || fail "libjansson.so.4 is not where pkg-config says"
cp -L "$library" "$OUT/lib/"

# seeds NAME: the folders of corpus/ that hold the target's inputs
seeds() {
    case $1 in
    init-*) echo init ;;
    collectives-*) echo collectives ;;
    *) echo "${1%%-*}" ;;
    esac
}
# dictionary NAME
dictionary() {
    case $1 in
    init-* | collectives-* | order-*) echo scenario ;;
    *) echo "${1%%-*}" ;;
    esac
}
for fuzzer in "$build"/fuzz/fuzz_*; do
    [ -x "$fuzzer" ] || continue
    program=$(basename "$fuzzer")
    name=${program#fuzz_}
    cp "$fuzzer" "$OUT/"
    rm -f "$OUT/${program}_seed_corpus.zip"
    (cd "$root/corpus/$(seeds "$name")" &&
        zip -q -j -X "$OUT/${program}_seed_corpus.zip" ./*)
    words=$root/fuzz/dictionaries/$(dictionary "$name").dict
    if [ -f "$words" ]; then
        cp "$words" "$OUT/$program.dict"
    fi
    printf '[libfuzzer]\nmax_len = 4096\ntimeout = 60\n' \
        >"$OUT/$program.options"
done
