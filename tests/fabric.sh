#!/bin/sh
# Separate processes over the shared-memory fabric: all-reduces that have to be
# exact, and ranks that die, of which nothing may be left.
# usage: fabric.sh PATH_OF_VERBFAULT DIRECTORY_OF_PROGRAMS [CRASHES [FIRST]]
#
# CRASHES: runs of a program that dies in one of five ways at a random call or
# microsecond, 25 by default; the number of the first one, which is its seed
# too, is FIRST: `fabric.sh V D 1 17` repeats number 17.
# FABRIC_ALL=1: every all-reduce with 64 ranks, not only two.
set -u
verbfault=$1 programs=$2 crashes=${3:-25} first=${4:-1}
scratch=$(mktemp -d)
mark=VERBFAULT_TEST_MARK=$$.$(date +%s)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/tmp"
cd "$scratch" || exit 1
# Names that need no quotes and fit into a list, wherever the repository lies.
ln -s "$verbfault" verbfault
ln -s "$programs" programs
verbfault=$scratch/verbfault programs=$scratch/programs
failed=0 passed=0

good() {
    passed=$((passed + 1))
}
bad() {
    failed=$((failed + 1))
    echo "FAIL $1"
    tail -n 12 out
}
# run ARGUMENTS...: verbfault run; output to `out`, exit code to $got
run() {
    rm -f board
    env "$mark" TMPDIR="$scratch/tmp" "$verbfault" run --timeout 120 "$@" \
        >out 2>&1
    got=$?
}

# ---- all-reduce ------------------------------------------------------------

# reduce RANKS PROFILE MODE [OPTION...]
reduce() {
    ranks=$1 profile=$2 mode=$3
    shift 3
    run -n "$ranks" --profile "$profile" "$@" -- \
        "$programs/run_allreduce" "$mode" board 1 3 1000 20001
    if [ $got = 0 ] && [ "$(grep -c '^\[[0-9]*\] exact$' out)" = "$ranks" ]
    then
        good
    else
        bad "all-reduce $mode, $ranks ranks, $profile $*: exit $got"
    fi
}
for mode in send events write mesh; do
    reduce 2 ideal "$mode"
    reduce 5 rxe "$mode"
    reduce 3 ideal "$mode" --copy-twice
done
if [ -n "${FABRIC_ALL-}" ]; then
    for mode in send events write mesh; do
        reduce 64 ideal "$mode"
        reduce 64 rxe "$mode"
    done
else
    reduce 64 ideal send
    reduce 64 rxe events
fi

# ---- hard times ------------------------------------------------------------

# storm RANKS MODE COUNT
storm() {
    ranks=$1
    shift
    for copy in '' --copy-twice; do
        run -n "$ranks" ${copy:+"$copy"} -- \
            "$programs/run_storm" "$1" board "$2"
        if [ $got = 0 ] && [ "$(grep -c '\] well$' out)" = "$ranks" ]; then
            good
        else
            bad "$1 $2 $copy: exit $got"
        fi
    done
}
storm 3 events 3000
storm 2 churn 60
storm 3 shared 2000
storm 2 threads 100
storm 2 forks 3
storm 2 closed 10
storm 1 signals 20
for _ in 1 2 3; do
    storm 2 exits 1
done

# ---- deaths ----------------------------------------------------------------

# What could be left behind.
belongings() {
    find /dev/shm -name 'verbfault*' 2>/dev/null
    find "$scratch/tmp" -mindepth 1
    grep -lzxF "$mark" /proc/[0-9]*/environ 2>/dev/null
    grep -i verbfault /proc/net/unix
}
# die NUMBER: how and when follow from the number
die() {
    seed=$((($1 * 7919 + 13) % 10007))
    when=$((seed % 150 + 1))
    case $(($1 % 5)) in
    0) how=segv ;;
    1) how=abort ;;
    2) how="exit" ;;
    3) how=quiet ;;
    4) how=kill when=$((seed * 5 % 60000)) ;;
    esac
    copy=
    [ $(($1 / 5 % 2)) = 0 ] || copy=--copy-twice
    run -n 3 ${copy:+"$copy"} -- "$programs/run_crasher" board "$how" "$when"
    left=$(belongings)
    if [ "$(grep -c '^\[[12]\] survived$' out)" != 2 ]; then
        bad "death $1 ($how $when $copy): the others do not survive"
    elif [ -n "$left" ]; then
        bad "death $1 ($how $when $copy): left behind: $left"
    else
        good
    fi
}
number=$first
while [ "$number" -lt $((first + crashes)) ]; do
    die "$number"
    number=$((number + 1))
done

echo "$passed passed, $failed failed"
[ $failed = 0 ]
