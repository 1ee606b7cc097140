#!/bin/sh
# Everything that needs a real RDMA device, on a virtual machine that has two;
# and the conformance run, the same calls on that and on the mock.
#
# usage: tests/vm/run.sh BUILD [WORD]
#
#   BUILD   the build folder, of scripts/build plain
#   WORD    only the tests with this word in their names
#
# Prints a line a test: "ok NAME", "FAIL NAME", "skip NAME: reason". Exit 1 if
# one failed, 3 if there can be no machine here, with one line why.
# VM_RESULTS=DIRECTORY keeps what the two devices answered: real, mock, compared.
# VM_TIME=SECONDS is what all of it may take in the machine (600): the limit is
# there for what hangs. It takes some four minutes of processor time.
set -u
case ${1-} in
'' | -*)
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0" | sed '$d'
    [ "${1-}" = --help ] && exit 0
    exit 2
    ;;
esac
build=$(cd "$1" && pwd -P) || exit 2
word=${2-}
top=$(cd "$(dirname "$0")/../.." && pwd -P)
for made in lib/libverbfault.so cjaccl/libcjaccl.a; do
    if ! [ -e "$build/$made" ]; then
        echo "run.sh: $build/$made is missing: scripts/build plain" >&2
        exit 3
    fi
done
work=$(mktemp -d "${TMPDIR:-/tmp}/verbfault-vm.XXXXXX")
machine=
trap 'rm -rf "$work"' EXIT
trap '[ -z "$machine" ] || kill "$machine"; wait; exit 130' INT TERM HUP
mkdir "$work/results"

wanted() {
    case $1 in *"$word"*) return 0 ;; esac
    return 1
}
# Nothing but libibverbs is in the one, nothing but cjaccl in the other.
compile() {
    result=$1
    shift
    # shellcheck disable=SC2086
    ${CC:-cc} -std=c11 -O1 -g -D_DEFAULT_SOURCE -D_POSIX_C_SOURCE=200809L \
        -o "$work/$result" "$@" || exit 3
}
compile conformance "$top"/tests/conformance/*.c -libverbs
# shellcheck disable=SC2046
compile collectives -I"$top/cjaccl/include" "$top/tests/vm/collectives.c" \
    "$build/cjaccl/libcjaccl.a" $(pkg-config --libs jansson) -lpthread -ldl

# on_mock OPTIONS...: the same program, the same devices' names, one machine
on_mock() {
    LD_PRELOAD=$build/lib/libverbfault.so VERBFAULT_PROFILE=rxe \
        VERBFAULT_RANKS=1 VERBFAULT_DEVICES=rxe0,rxe1 \
        "$work/conformance" "$@" >>"$work/results/mock" 2>>"$work/mock.log"
}

! wanted conformance || on_mock -j 8 -q 20
"$top/scripts/vm" --time "${VM_TIME-600}" --see "$build" --see "$work" --out "$work/results" \
    sh "$top/tests/vm/guest.sh" "$build" "$work" "$work/results" "$word" &
machine=$!
wait $machine
ended=$?
machine=
[ $ended -le 1 ] || exit $ended

judge() {
    awk -f "$top/tests/conformance/compare.awk" \
        "$top/tests/conformance/known.txt" "$work/results/real" \
        "$work/results/mock" >"$work/results/compared"
}
if wanted conformance; then
    if ! judge; then
        # guest.sh has had patience with the device
        # shellcheck disable=SC2046
        on_mock -j 2 -q 400 $(sed -n 's/^-- \([^,]*\), call.*/\1/p' \
            "$work/results/compared")
    fi
    if judge; then
        echo "ok conformance: $(tail -n 1 "$work/results/compared")"
    else
        ended=1
        echo "FAIL conformance: $(tail -n 1 "$work/results/compared")"
        head -n 60 "$work/results/compared" | sed 's/^/    /'
    fi
fi
if [ -n "${VM_RESULTS-}" ]; then
    mkdir -p "$VM_RESULTS" && cp "$work/results"/* "$VM_RESULTS"
fi
exit $ended
