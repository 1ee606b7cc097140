#!/bin/sh
# Are the loops of the reductions vectorized?
#
#   vectors.sh COMPILER ID SOURCE FLAGS...
#
# Compiles SOURCE (cjaccl/src/reduce.c) as the library does, asks the compiler
# which loops it vectorized, and compares that with the lines that hold one. ID
# is CMake's name of the compiler: GNU, Clang or AppleClang.
set -eu
compiler=$1
id=$2
source=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

case $id in
GNU) ask=-fopt-info-vec said='optimized: loop vectorized' ;;
*Clang) ask=-Rpass=loop-vectorize said='remark: vectorized loop' ;;
*) echo "skipped: how does $id tell what it vectorized?"; exit 77 ;;
esac

"$compiler" "$@" "$ask" -c "$source" -o "$work/object" >"$work/said" 2>&1 || {
    cat "$work/said"
    exit 1
}
grep "$said" "$work/said" |
    sed -n "s/^.*${source##*/}:\([0-9]*\):.*/\1/p" | sort -u >"$work/done"

"$compiler" "$@" -dM -E -x c /dev/null >"$work/macros"
has() {
    grep -qw "$1" "$work/macros"
}
# Without SSE4.2 an x86-64 cannot compare 64-bit integers, and gcc does not make
# that of 32-bit ones. Of two versions of a loop one always has it.
excused=none
if [ "$id" = GNU ] && has __x86_64__ && ! has CJI_CLONES && ! has __SSE4_2__
then
    excused='LOOP(m??_?64,*'
fi
# Where there is arithmetic of float16, other lines take the place of these.
other='*__fp16*'
has __ARM_FEATURE_FP16_SCALAR_ARITHMETIC && other='*half*'

loops=0
left=0
# Line and text of every use of a macro that makes a loop.
grep -nE '^(LOOP|COMPLEX_LOOP)\(' "$source" \
    >"$work/loops"
while IFS=: read -r line text; do
    # shellcheck disable=SC2254 # they are patterns
    case $text in
    $excused | $other) continue ;;
    esac
    loops=$((loops + 1))
    grep -qx "$line" "$work/done" || {
        echo "not vectorized: ${source##*/}:$line: $text"
        left=$((left + 1))
    }
done <"$work/loops"
[ "$loops" -ge 30 ] || { echo "only $loops loops found"; exit 1; }
[ "$left" -eq 0 ] || exit 1
echo "$loops of $loops vectorized"
