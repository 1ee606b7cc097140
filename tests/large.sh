#!/bin/sh
# A8: operations on 2 GiB and more of each rank are exact to the last byte, in
# separate processes; over a mesh, a ring, and sockets. Small ones, the same
# program with 1 MiB, run always.
# usage: large.sh PATH_OF_VERBFAULT DIRECTORY_OF_PROGRAMS
#
# FABRIC_ALL=1: the large ones, too. They take a minute each and 9 GiB.
set -u
verbfault=$1 programs=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
# Names that need no quotes and fit into a list, wherever the repository lies.
ln -s "$verbfault" verbfault
ln -s "$programs" programs
verbfault=$scratch/verbfault programs=$scratch/programs
failed=0 passed=0

printf 'profile ideal\nranks 2 mesh\n' >mesh.scn
printf 'profile rxe\nranks 2 ring 2\n' >ring.scn
printf 'ranks 2 mesh\nsetting * backend sockets\n' >sockets.scn

# large KIND MEBIBYTES
large() {
    "$verbfault" run --timeout 900 --scenario "$1.scn" -- \
        "$programs/run_large" "$2" >out 2>&1
    got=$?
    if [ $got = 0 ] && [ "$(grep -c '^\[[0-9]*\] exact' out)" = 8 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $1, $2 MiB of each rank: exit $got"
        tail -n 12 out
    fi
}

for kind in mesh ring sockets; do
    large $kind 1
done
available=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB$/\1/p' /proc/meminfo)
if [ -z "${FABRIC_ALL-}" ]; then
    echo "skip 2 GiB and more: FABRIC_ALL is not set"
elif [ "${available:-0}" -lt 9437184 ]; then
    echo "skip 2 GiB and more: 9 GiB of memory are needed," \
        "$((${available:-0} / 1048576)) are available"
else
    for kind in mesh ring sockets; do
        large $kind 2049
    done
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
