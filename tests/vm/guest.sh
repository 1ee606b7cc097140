#!/bin/sh
# What runs on the real kernel device, inside of scripts/vm; run.sh starts it.
#
# usage: guest.sh BUILD PROGRAMS RESULTS [WORD]
#
#   BUILD     the build folder: BUILD/verbfault and the rest
#   PROGRAMS  where run.sh has put conformance and collectives
#   RESULTS   a directory that the host sees, too
#   WORD      only what has it in its name
#
# Each test is a line: "ok NAME", "FAIL NAME" with the end of what it said, or
# "skip NAME: reason". Exit 1 if one failed.
#
# More tests: a file guest.d/NAME.sh beside this one is read at the end. It has
# test_it, pair, skip and the variables above, and says what it has to say with
# them.
set -u
if [ $# -lt 3 ]; then
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0" | sed '$d'
    exit 2
fi
# shellcheck disable=SC2034
build=$1
programs=$2 results=$3 word=${4-}
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
cd "$scratch" || exit 3
failed=0 port=18600

wanted() {
    case $1 in *"$word"*) return 0 ;; esac
    return 1
}
skip() {
    ! wanted "$1" || echo "skip $1: $2"
}
verdict() {
    if [ "$2" = 0 ]; then
        echo "ok $1"
    else
        failed=1
        echo "FAIL $1: exit $2"
        tail -n 12 "$scratch/$1.log" | sed 's/^/    /'
    fi
}
# test_it NAME COMMAND...: it exits with 0
test_it() {
    name=$1
    shift
    wanted "$name" || return 0
    timeout 60 "$@" >"$scratch/$name.log" 2>&1
    verdict "$name" $?
}
# until_listening PORT: a server is there. No connection is made: some servers
# take one only. In /proc/net/tcp a state of 0A is LISTEN.
until_listening() {
    hex=$(printf '%04X' "$1")
    tries=0
    until cat /proc/net/tcp /proc/net/tcp6 |
        grep -q "^ *[0-9]*: [0-9A-F]*:$hex [0-9A-F:]* 0A "; do
        tries=$((tries + 1))
        [ $tries -lt 200 ] || return 1
        sleep 0.05
    done
}
# pair NAME COMMAND...: as a server, and as a client of that, over 10.77.0.1;
# both end with 0, in $patience seconds (60). COMMAND gets a port of its own by -p.
pair() {
    name=$1
    shift
    wanted "$name" || return 0
    port=$((port + 1))
    timeout "${patience-60}" "$@" -p $port >"$scratch/$name.server" 2>&1 &
    server=$!
    until_listening $port
    timeout "${patience-60}" "$@" -p $port 10.77.0.1 >"$scratch/$name.log" 2>&1
    ended=$?
    if ! wait $server; then
        [ $ended != 0 ] || ended=1
        cat "$scratch/$name.server" >>"$scratch/$name.log"
    fi
    verdict "$name" $ended
}
# group NAME RANKS DEVICE_FILE COMMAND...: a process a rank; all end with 0
group() {
    name=$1 ranks=$2 file=$3
    shift 3
    wanted "$name" || return 0
    port=$((port + 1))
    printf '%s\n' "$file" >"$scratch/$name.json"
    members='' ended=0 rank=0
    while [ $rank -lt "$ranks" ]; do
        JACCL_RANK=$rank JACCL_IBV_DEVICES=$scratch/$name.json \
            JACCL_COORDINATOR=127.0.0.1:$port CJ_START_TIMEOUT=20 \
            CJ_OPERATION_TIMEOUT=20 \
            timeout 60 "$@" >"$scratch/$name.$rank" 2>&1 &
        members="$members $!"
        rank=$((rank + 1))
    done
    for member in $members; do
        wait "$member" || ended=$?
    done
    cat "$scratch/$name".[0-9]* >"$scratch/$name.log"
    verdict "$name" $ended
}

two_devices() {
    ibv_devices
    [ "$(ibv_devices | grep -c ' rxe[01] ')" = 2 ]
}
wanted two-devices && {
    two_devices >"$scratch/two-devices.log" 2>&1
    verdict two-devices $?
}
for device in rxe0 rxe1; do
    test_it "active-$device" sh -c \
        "ibv_devinfo -d $device && ibv_devinfo -d $device | grep -q PORT_ACTIVE"
done

pair uc-pingpong ibv_uc_pingpong -d rxe0 -g 1 -n 50
pair rc-pingpong ibv_rc_pingpong -d rxe0 -g 1 -n 50
pair ud-pingpong ibv_ud_pingpong -d rxe0 -g 1 -n 50 -s 512
pair srq-pingpong ibv_srq_pingpong -d rxe0 -g 1 -n 50 -q 2
pair send-bw-rc ib_send_bw -d rxe0 -x 1 -n 100 -s 4096
pair send-bw-uc ib_send_bw -c UC -d rxe0 -x 1 -n 20 -s 1024
pair write-bw ib_write_bw -d rxe0 -x 1 -n 100 -s 4096
pair read-bw ib_read_bw -d rxe0 -x 1 -n 100 -s 4096
skip rc-pingpong-between-devices "two soft-RoCE devices of one kernel do not \
reach each other: the way between them is the loopback interface, which has \
no device"

# cjaccl knows nothing but libibverbs: this is the real one.
group cjaccl-mesh 2 '[[null,"rxe0"],["rxe0",null]]' "$programs/collectives" 2
group cjaccl-mesh-3 3 '[[null,"rxe0","rxe1"],["rxe0",null,"rxe0"],["rxe1","rxe0",null]]' \
    "$programs/collectives"
group cjaccl-ring 2 '[[null,["rxe0","rxe1"]],[["rxe0","rxe1"],null]]' \
    env JACCL_RING=1 "$programs/collectives"

# What differs is done again with more patience and less at the same time: late
# is not never, and this machine may be a slow one. The later answer counts.
conformance() {
    run=$programs/conformance judge=$here/../conformance
    "$run" -j 8 -q 60 >"$results/real" || return 1
    again=$(awk -f "$judge/compare.awk" "$judge/known.txt" "$results/real" \
        "$results/mock" | sed -n 's/^-- \([^,]*\), call.*/\1/p')
    # shellcheck disable=SC2086
    [ -z "$again" ] || "$run" -j 2 -q 400 $again >>"$results/real"
}
if wanted conformance; then
    conformance >"$scratch/conformance.log" 2>&1
    verdict conformance-on-the-device $?
fi

for more in "$here"/guest.d/*.sh; do
    [ -e "$more" ] || continue
    # shellcheck disable=SC1090
    . "$more"
done
exit $failed
