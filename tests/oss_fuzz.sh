#!/bin/sh
# Builds the fuzzers as OSS-Fuzz does (.clusterfuzzlite/build.sh) and runs what
# lands in its OUT: each fuzzer with its dictionary over its seed corpus.
#
# usage: tests/oss_fuzz.sh [VERBFAULT]
#
# Prints "ok NAME" and "FAIL NAME" lines; exit 1 if one failed. VERBFAULT
# (default build/verbfault) tells the words that the dictionary must hold.
set -eu
cd "$(dirname "$0")/.."
verbfault=${1-build/verbfault}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
failed=0
good() { echo "ok $*"; }
bad() {
    failed=1
    echo "FAIL $*"
}

"$verbfault" list | while read -r kind word _; do
    [ "$kind" != detail ] || continue # of recordings, which nothing mutates
    grep -qxF "\"$word\"" fuzz/dictionaries/scenario.dict || echo "$word"
done >"$scratch/missing"
if [ -s "$scratch/missing" ]; then
    bad "scenario.dict lacks $(tr '\n' ' ' <"$scratch/missing")"
else
    good "scenario.dict holds every word"
fi

# As OSS-Fuzz's own flags are, but for speed: what is built is run some hundred
# times only. (UBSan has its turn in the fuzzing build.)
flags='-O0 -gline-tables-only -fsanitize=address,fuzzer-no-link'
mkdir "$scratch/out" "$scratch/work"
if ! CC=clang CXX=clang++ OUT=$scratch/out WORK=$scratch/work \
    CFLAGS="$flags" CXXFLAGS="$flags" \
    LIB_FUZZING_ENGINE=-fsanitize=fuzzer \
    sh .clusterfuzzlite/build.sh >"$scratch/log" 2>&1; then
    tail -n 30 "$scratch/log"
    bad "build.sh"
    exit 1
fi
rm -rf "$scratch/work"

wanted=$(sed -n 's/^add_fuzzer(\([a-z_]*\) .*/\1/p' fuzz/CMakeLists.txt)
for name in init-cjaccl init-sockets collectives-cjaccl collectives-sockets \
    order-cjaccl order-sockets $wanted; do
    [ -x "$scratch/out/fuzz_$name" ] || bad "fuzz_$name is not there"
done
ran=0
for fuzzer in "$scratch"/out/fuzz_*; do
    name=$(basename "$fuzzer")
    case $name in *.*) continue ;; esac
    ran=$((ran + 1))
    mkdir "$scratch/seeds"
    if ldd "$fuzzer" | grep 'libjansson' | grep -qv "$scratch/out/lib"; then
        bad "$name takes libjansson from outside of OUT"
    fi
    set -- -seed=1 -runs=300
    [ ! -f "$fuzzer.dict" ] || set -- "$@" -dict="$fuzzer.dict"
    eval "$(sed -n 's/^\(max_len\|timeout\) = \([0-9]*\)$/set -- "$@" -\1=\2/p' \
        "$fuzzer.options")"
    if (cd "$scratch/seeds" && unzip -q "${fuzzer}_seed_corpus.zip" &&
        "$fuzzer" "$@" .) >"$scratch/log" 2>&1; then
        good "$name"
    else
        tail -n 30 "$scratch/log"
        bad "$name"
    fi
    rm -rf "$scratch/seeds"
done
[ $ran -gt 0 ] || bad "nothing to run has landed in OUT"
exit $failed
