#!/bin/sh
# The passage over a real library: what programs do through it, with and without
# faults. Beneath is the mock's own libibverbs.so.1 (build/lib/dropin), so no
# hardware is needed and what should happen is known; with --real it is the
# machine's, with a device that can talk to itself over RC.
#
# usage: device.sh [--real] PATH_OF_VERBFAULT DIRECTORY_OF_PROGRAMS [PART...]
#
#   PART   same, faults, findings, run, replay, side, interrupt, programs: only
#          these. In a virtual machine without KVM each takes some minutes:
#
#     scripts/vm --time 900 -- env DEVICE_GID=1 sh tests/device.sh --real \
#         build/plain/verbfault build/plain/tests/run same findings
#
# Exit 1 if a promise is broken. DEVICE_GID is the GID index for rdma-core's and
# perftest's programs (default 0).
set -u
real=no
if [ "${1-}" = --real ]; then
    real=yes
    shift
fi
verbfault=$(cd "$(dirname "$1")" && pwd)/$(basename "$1") programs=$2
libraries=$(dirname "$verbfault")/lib
helpers=$(cd "$(dirname "$0")" && pwd)/programs
top=$(cd "$(dirname "$0")/.." && pwd)
gid=${DEVICE_GID-0}
shift 2
parts=${*:-same faults findings run replay side interrupt programs}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
# Names that need no quotes and fit into a list, wherever the repository lies.
ln -s "$verbfault" verbfault
ln -s "$programs" programs
ln -s "$libraries" libraries
ln -s "$helpers" helpers
ln -s "$top" top
verbfault=$scratch/verbfault programs=$scratch/programs
libraries=$scratch/libraries helpers=$scratch/helpers top=$scratch/top
library=$libraries/libverbfault-device.so mock=$libraries/libverbfault.so
passage=$programs/run_passage
failed=0 passed=0

good() {
    passed=$((passed + 1))
}
bad() {
    failed=$((failed + 1))
    echo "FAIL $1"
    head -n 8 out | sed 's/^/    /'
}
skip() {
    echo "skip $1"
}
# beneath COMMAND...: over the library alone; status and output in out
beneath() {
    if [ $real = yes ]; then
        timeout 60 "$@" >out 2>&1
    else
        VERBFAULT_PROFILE=ideal VERBFAULT_RANKS=1 VERBFAULT_DEVICES=dev0 \
            LD_LIBRARY_PATH="$libraries/dropin" timeout 60 "$@" >out 2>&1
    fi
    echo "status $?" >>out
}
# through COMMAND...: through the passage
through() {
    beneath env LD_PRELOAD="$library" "$@"
}
# planned FAULT COMMAND...: with a fault of rank 0's
planned() {
    fault=$1
    shift
    VERBFAULT_DEVICE_FAULTS="0 $fault" through "$@"
}
# want NAME PATTERN: a line of out
want() {
    if grep -qE -- "$2" out; then good; else bad "$1: want /$2/ in:"; fi
}
never() {
    if grep -qE -- "$2" out; then bad "$1: do not want /$2/ in:"; else good; fi
}

# part NAME: is it to run?
part() {
    case " $parts " in
    *" $1 "*) return 0 ;;
    esac
    return 1
}

# ---- the same, with and without ---------------------------------------------

part_same() {
    while read -r mode count; do
        through "$passage" "$mode" "$count"
        want "$mode" 'whole$'
        want "$mode" 'status 0$'
        never "$mode" 'verbfault'
    done <<'MODES'
talk 200
events 200
extended 200
threads 500
fork 100
acks 1
again 3000
MODES
    # Later than the mock has patience for: what it says then is not said twice.
    through "$passage" late-ack 45
    want 'a late acknowledgement' '^1 whole$'
    said=1
    [ $real = no ] || said=0
    if [ "$(grep -c 'unacked-events' out)" -le $said ]; then good; else
        bad 'a late acknowledgement is one'
    fi
    through "$passage" by-name
    want 'a library that is opened by its name' '^success$'
    VERBFAULT_DEVICE_TRACE=named through "$passage" by-name
    if grep -q 'alloc_pd(context=1) = pd=1' named.r0; then good; else
        bad 'its calls are seen'
    fi

    if [ $real = no ]; then
        through "$passage" strangers 1 "$mock"
        want 'handles that nobody saw made' '^10 whole$'
        never 'are no mistakes' 'finding'
        for mode in talk events extended again; do
            VERBFAULT_TRACE=mock beneath "$passage" $mode 50
            VERBFAULT_DEVICE_TRACE=device through "$passage" $mode 50
            if [ -s mock.r0 ] && cmp -s mock.r0 device.r0; then good; else
                diff mock.r0 device.r0 >out
                bad "$mode: the trace is the mock's (<)"
            fi
        done
    fi

}

# ---- faults ------------------------------------------------------------------

part_faults() {
    # Each: a fault of either kind of verbs, and what the program says of it.
    while IFS='|' read -r fault says; do
        for mode in talk extended; do
            planned "$fault" "$passage" $mode 20
            want "$mode, $fault" "$says"
            never "$mode, $fault" 'finding|Segmentation'
            [ $real = no ] || continue
            mv out through
            VERBFAULT_FAULTS="0 $fault" beneath "$passage" $mode 20
            if cmp -s out through; then good; else
                diff out through >both
                mv both out
                bad "$mode, $fault: not as over the mock (<)"
            fi
        done
    done <<'FAULTS'
get_device_list 1 null ENOSYS|get_device_list: Function not impl
open_device 1 null EACCES|open_device: Permission denied
query_gid 1 errno EIO|query_gid: Input/output error
alloc_pd 1 null EPERM|alloc_pd: Operation not permitted
reg_mr 1 null ENOMEM|reg_mr: Cannot allocate memory
create_cq 1 null EMFILE|create_cq: Too many open files
create_qp 2 null ENOMEM|create_qp(_ex)?: Cannot allocate memory
modify_qp 3 errno EINVAL|modify_qp to RTR: Invalid argument
post_send 5 errno ENOMEM|post_send: Cannot allocate memory
post_recv 5 errno ENOMEM|post_recv: Cannot allocate memory
poll_cq 7 return -1|poll_cq: failed
poll_cq 7 garbled|completion: unknown
poll_cq 7 unwritten|completion: another request's
completion 5 drop|poll_cq: nothing came
completion 5 status RETRY_EXC_ERR|transport retry counter exceeded
completion 5 duplicate|completion: another request's
completion 5 garbled|completion: another request's
completion 5 delay 20|20 whole
completion 5 unplug|transport retry counter exceeded
post_send 5 unplug|transport retry counter exceeded
post_send 5 exit|status 0
FAULTS
    planned 'completion 5 delay 20' "$passage" events 20
    want 'a late completion wakes who sleeps' '20 whole'
    planned 'completion 5 unplug' "$passage" events 20
    want 'a cable that goes wakes who sleeps' 'retry counter exceeded'
    planned 'post_send 5 errno ENOMEM' "$passage" threads 20
    want 'a fault on a thread' 'post_send: Cannot allocate memory'

}

# ---- findings ----------------------------------------------------------------

part_findings() {
    # A real library may write over what it frees in a way that a program faults on
    # before the verb is reached: cq and qp are for the mock's.
    kinds='null-mr freed-mr pd-for-mr freed-pd freed-qp'
    [ $real = yes ] || kinds="$kinds freed-cq"
    for mistake in $kinds; do
        case $mistake in
        pd-for-mr) title=pd-not-mr ;;
        *) title=$mistake ;;
        esac
        VERBFAULT_DEVICE_KEEP_GOING=0 through "$passage" "$mistake"
        want "$mistake" "finding: r0: $title in "
        want "$mistake ends it" 'status 99'
    done
    # The mock's threads might acknowledge; a real library has none.
    if [ $real = yes ]; then
        beneath env LD_PRELOAD="$library" timeout 5 "$passage" no-ack
        want 'no acknowledgement, for ever' 'finding: r0: unacked-events in dest'
    fi
    through "$passage" freed-mr
    want 'a freed handle is not passed on' '^freed-mr: Invalid argument$'

}

# ---- verbfault run --device --------------------------------------------------

run() {
    beneath "$verbfault" run --device "$@"
}
part_run() {
    run -- "$passage" talk 20
    want 'a run' '^\[0\] 20 whole$'
    want 'that is fine' 'status 0'
    never 'of which nothing is said' 'verbfault run'
    cat >mr.scn <<'SCENARIO'
profile thunderbolt
device 0 rdma_en2 used_mr=64
fault 0 reg_mr 1 null ENOMEM
fault 0 alloc 1 null ENOMEM
run init
SCENARIO
    run --scenario mr.scn -- "$passage" talk 20
    want 'a fault of a scenario' '^\[0\] ibv_reg_mr: Cannot allocate memory'
    want 'took effect' 'as planned: fault 0 reg_mr 1 null'
    want 'what is left aside is said in one line' \
        '^mr.scn: note: .*: profile, device, fault alloc, run$'
    printf 'fault 0 reg_mr 9 null ENOMEM\n' >late.scn
    run --scenario late.scn -- "$passage" talk 20
    want 'a fault that was not reached' 'never reached: fault 0 reg_mr 9 null'
    printf 'fault 1 reg_mr 1 null ENOMEM\n' >other.scn
    run --scenario other.scn -- "$passage" talk 20
    want 'a fault of nobody' '^other.scn:1:1: this is about rank 1, and there is 1$'
    want 'is bad input' 'status 2'
    run --profile rxe -- "$passage" talk 20
    want 'no profile for real devices' 'profile is for the mock'
    run -- "$passage" null-mr
    want 'a finding' '^r0: crash: null-mr in dereg_mr$'
    want 'with its calls' 'dereg_mr\(mr=NULL\)'
    want 'ends in 1' 'status 1'
    run --leaks -n 2 -- "$passage" null-mr
    want 'of each rank' '^r1: crash: null-mr in dereg_mr$'
    run --leaks -- "$passage" talk 20
    never 'no leak' 'leak'
    run -- "$passage" fork 20
    want 'a child enters anew' '60 whole'
    run --trace trace -- "$passage" talk 5
    if [ "$(grep -c '^r0 #[0-9]* post_send' trace)" = 5 ]; then good; else
        bad 'a trace'
    fi
    run -- true
    want 'a program without verbs' 'note: rank 0 never called a verb'
    VERBFAULT_REAL_LIBRARY= run -- true
    if grep -q 'verbs library: :' out; then
        bad 'an empty name is taken for one'
    else
        good
    fi
    VERBFAULT_REAL_LIBRARY=/nope run -- touch started
    want 'no library' '^verbfault run: no verbs library: /nope: '
    want 'no library' '^status 3$'
    if [ "$(wc -l <out)" = 2 ] && [ ! -e started ]; then good; else
        bad 'no library: one line, and nothing is started'
    fi
    if [ $real = no ]; then
        printf 'ranks 1 mesh\nnodevices 0\n' >none.scn
        "$verbfault" run --scenario none.scn -- "$verbfault" run --device -- \
            ibv_devices >out 2>&1
        want 'no device' 'note: this machine has no RDMA device .*: .*rdma'
    fi
    # shellcheck disable=SC2016
    MLX_RANK=7 run -- sh -c 'echo "$MLX_RANK/$VERBFAULT_RANK"'
    want "a launcher's variables" '^\[0\] 7/0$'

}

# ---- verbfault replay --device -----------------------------------------------

# replay ARGUMENTS...: over the mock its ranks are processes of one machine
replay() {
    if [ $real = yes ]; then
        timeout 300 "$verbfault" replay --device "$@" >out 2>&1
        echo "status $?" >>out
    else
        timeout 300 "$verbfault" run -n 1 --profile ideal -- sh -c \
            '"$@" 2>&1; echo "status $?"' sh "$verbfault" replay --device \
            "$@" 2>/dev/null | sed 's/^\[0\] //' >out
    fi
}
# corpus: one of each kind of thing that a device can be made to do
agreeing='
init/clean-mesh-2 ready
init/clean-ring-2 ready
init/c6-coordinator-name ready
init/c6-coordinator-a-b-c error in init: configuration
init/c9-rows-3 error in init
init/a1-send-error error in all_sum
init/a2-completion-late ready
init/a2-completion-twice error in all_sum
init/a3-poll-minus-1 error in all_sum
init/a4-peer-exits error in all_sum
init/s1-reg_mr-null-1 error in init: register arena
init/s2-left-over-process ready
init/s2-second-group ready
init/s3-missing-device-rank-0 error in init: open device
init/s4-no-device-list error in init: device list
init/s5-empty-name-mesh error in init
init/s8-queue-pairs-used-up error in init: create queue pair
init/s9-library-absent error in init: library
init/s9-library-without-reg_mr error in init: library
init/s12-rtr-60 error in init: queue pair to RTR
init/s14-dealloc-pd-busy error in init: queue pair to RTR
init/s16-alloc-fails error in init: allocate arena
init/fallback-rtr ready
init/fallback-no-device-list ready
collectives/a4-peer-exits-in-all_max error in all_max
collectives/a7-send-before-receive ready
collectives/a11-send-to-oneself error in send
collectives/groups-several ready
'
skipping='
init/s6-port-down devices: port=down
init/s10-no-ipv4-gid devices: ipv4=no
init/s4-no-device devices: nodevices
init/c7-too-late time: late 120000
collectives/a5-cable-goes-ring crash: post-after-unplug in post_send
recordings/soft-roce-cjaccl-mesh recording: its answers are one device
'
# corpus_files TABLE: the files of a table
corpus_files() {
    echo "$1" | awk -v top="$top" 'NF { print top "/corpus/" $1 ".scn" }'
}
part_replay() {
    # shellcheck disable=SC2046
    replay $(corpus_files "$agreeing") $(corpus_files "$skipping")
    cp out all
    while read -r name outcome; do
        [ -n "$name" ] || continue
        grep "/$name\\.scn  cjaccl  *[a-z]" all >out
        want "$name" ' as expected  '
        want "$name" " ${outcome%% *}  .*${outcome#error }|  ready "
    done <<AGREEING
$agreeing
AGREEING
    while read -r name why; do
        [ -n "$name" ] || continue
        grep "/$name\\.scn  " all >out
        want "$name" " skipped  .*  $why"
    done <<SKIPPING
$skipping
SKIPPING
    mv all out
    want 'how many, and why not the others' '^6 skipped: 3 devices, 1 time'
    want 'how many' '^28 runs, 0 unexpected$'
    want 'fine' '^status 0$'

    head='run init
run all_sum float32 1024'
    printf '%s\nexpect cjaccl error\n' "$head" >wrong.scn
    printf 'fault 0 reg_mr 1 null ENOMEM\n%s\n' "$head" >unsaid.scn
    printf 'fault 0 open_device 2 null EIO\nranks 3 mesh\n%s\nexpect cjaccl error\n' \
        "$head" >late.scn
    printf 'ranks 2 mesh\n' >idle.scn
    replay --json results wrong.scn unsaid.scn late.scn idle.scn
    want 'what is not as expected' '^wrong.scn .* ready  *UNEXPECTED'
    want 'and what was' '^    expected error$'
    want 'without a word of the file: as simulated' \
        '^unsaid.scn .* error  *as expected  error in init: register arena'
    want 'a fault that nobody came to' '^late.scn .* ready  *not reached'
    want 'nothing to do' '^idle.scn .* skipped .* nothing runs'
    want 'counts' '^3 runs, 1 unexpected$'
    want 'is told' '^status 1$'
    cp results out
    want 'results' '"verdict": "skipped"'
    want 'results' '"verdict": "wrong"'
    printf 'fault 1 post_send 999 hang\n%s\n' "$head" >never.scn
    replay never.scn
    want 'a fault that is never come to, here or there' \
        '^    never came to: fault 1 post_send 999 hang'
    replay --subject sockets wrong.scn "$top/corpus/init/clean-sockets.scn"
    want 'sockets' 'clean-sockets.scn *sockets  *ready  *as expected'
    replay --subject legacy-2026-08-22 wrong.scn
    want 'a model' '^verbfault replay: .*--device is for cjaccl and sockets'
    want 'is no program' '^status 2$'
    replay --device=no-such-device wrong.scn
    want 'another device' '^wrong.scn .* error  *UNEXPECTED|as expected'
    VERBFAULT_REAL_LIBRARY=/nope replay wrong.scn
    want 'no library' '^verbfault replay: /nope: '
    want 'no library' '^status 3$'
    [ "$(wc -l <out)" = 2 ] || bad 'no library: one line'
    if [ $real = no ]; then
        printf 'ranks 1 mesh\nnodevices 0\n' >none.scn
        "$verbfault" run --scenario none.scn -- sh -c '"$@" 2>&1
            echo "status $?"' sh "$verbfault" replay --device wrong.scn \
            2>/dev/null | sed 's/^\[0\] //' >out
        want 'no device' '^verbfault replay: no active RDMA device here .*rdma'
        want 'no device' '^status 3$'
        [ "$(wc -l <out)" = 2 ] || bad 'no device: one line'
    fi
}

# in_background ARGUMENTS...: replay, its output in rows, its number in pid. Only
# it hears of a Ctrl-C.
in_background() {
    rm -f pid
    # shellcheck disable=SC2016
    set -- sh -c '"$@" >rows 2>&1 &
        echo $! >pid.new; mv pid.new pid; wait $!; echo "status $?" >>rows' \
        sh timeout --foreground -k 5 60 "$verbfault" replay --device "$@"
    [ $real = yes ] || set -- "$verbfault" run -n 1 --profile ideal -- "$@"
    : >rows
    mkdir -p temporary
    TMPDIR=$scratch/temporary "$@" >/dev/null 2>&1 &
}
# How many bytes ranks have written where they meet.
ranks_met() {
    cat temporary/verbfault-replay-*/meeting 2>/dev/null | tr -d '\0' | wc -c
}
part_interrupt() {
    printf 'run init\n' >quick.scn
    printf 'channel 1 silent 8\nrun init\n' >silent.scn
    in_background --timeout 600 quick.scn silent.scn
    background=$!
    until [ -s pid ] && grep -q '^quick.scn' rows && [ "$(ranks_met)" -gt 3 ]; do
        kill -0 $background || break
    done
    kill -INT "$(cat pid)"
    wait $background
    cp rows out
    want 'Ctrl-C: what was done' '^1 run, 0 unexpected \(interrupted\)$'
    want 'Ctrl-C: is told' '^status 1$'
    never 'Ctrl-C: what was not' '^silent.scn'
    ls -A temporary >out
    [ ! -s out ] || bad 'Ctrl-C: files are left'
    pgrep -f "replay --rank.*$scratch" >out 2>/dev/null
    [ ! -s out ] || bad 'Ctrl-C: ranks are left'
}

# ---- the side channel is TCP, and no device ---------------------------------

# rows FILE: each scenario with the outcome and the title of its row
rows() {
    sed -n 's/^\([^ ]*\.scn\)  *cjaccl  *\([a-z]*\)  *\(as expected\|-\)  */\1 \2 /p' "$1" |
        sort
}
part_side() {
    # shellcheck disable=SC2046
    set -- $(grep -rlE '^(channel|peer|stray)' --include='*.scn' \
        "$top/corpus/" "$top/repro/")
    "$verbfault" replay --subject cjaccl "$@" >out 2>&1
    rows out >simulated
    # A rank that waits for bytes that never come waits as long as that.
    patience=4
    [ $real = no ] || patience=8
    replay --timeout $patience "$@"
    rows out >real
    want 'every one is run' "^$# runs, 0 unexpected\$"
    diff simulated real >out
    [ ! -s out ] || bad 'a side channel with faults: as in the simulator'
    [ "$(wc -l <real)" = $# ] || bad "a side channel: $# rows"
    good

    head='run init
run all_sum float32 1024'
    printf 'channel 1 close 1000000\n%s\n' "$head" >never.scn
    replay --timeout $patience never.scn
    want 'a byte that is never sent' '^never.scn .* ready  *as expected'
    want 'a byte that is never sent' '^    never came to: channel 1 close 1000000'
    # At that very byte: before its 128 rank 0 has sent 8. It begins later, so that
    # it is not the first whose time is over.
    printf 'late 0 500\nchannel 0 silent 13\n%s\n' "$head" >part.scn
    replay --timeout 2 --verbose part.scn
    want 'an answer that is not whole' \
        '^    rank 1: error: .*rank 0 answered with 5 of 128 bytes'
    printf 'ranks 4 mesh\nstray\nstray\npeer 3 sends 02000000\n%s\n' \
        "$head" >crowd.scn
    replay --timeout $patience --verbose crowd.scn
    want 'strays, a peer and ranks' '^crowd.scn .* error  *as expected'
    want 'a rank without a program' '^    rank 3: ready: a hostile peer'
    # Strays are first: so many that ranks wait outside until the time is over.
    {
        yes stray | head -n 16
        printf '%s\nexpect cjaccl error "error in init: accept"\n' "$head"
    } >full.scn
    replay --timeout 3 full.scn
    want 'no room for the ranks' '^full.scn .* error  *as expected'
    # In every start again.
    printf 'stray\n%s\nrun finalize\n%s\n' "$head" "$head" >again.scn
    replay --timeout $patience again.scn
    want 'guests in every start' '^again.scn .* ready  *as expected'
    want 'fine' '^status 0$'
}

# ---- programs that nobody here wrote -----------------------------------------

# pair NAME PROGRAM PATTERN SERVER CLIENT: both ends through the passage, on two
# ranks of the mock, or on the real device; @ is the port
port=$((20000 + $$ % 10000))
pair() {
    if ! command -v "$2" >/dev/null; then
        skip "$1: not installed"
        return
    fi
    port=$((port + 1))
    rm -rf pair
    mkdir pair
    server="$verbfault run --device -- $4" client="$verbfault run --device -- $5"
    set -- "$1" "$3" "$(echo "$server" | sed "s/@/$port/g")" \
        "$(echo "$client" | sed "s/@/$port/g")"
    if [ $real = no ]; then
        timeout 120 "$verbfault" run -n 2 --profile ideal -- sh \
            "$helpers/pair.sh" $port "$scratch/pair" "$3" "$4" >out 2>&1
    else
        VERBFAULT_RANK=0 timeout 120 sh "$helpers/pair.sh" $port \
            "$scratch/pair" "$3" "$4" >server 2>&1 &
        VERBFAULT_RANK=1 timeout 120 sh "$helpers/pair.sh" $port \
            "$scratch/pair" "$3" "$4" >out 2>&1
        wait
        cat server >>out
    fi
    want "$1" "$2"
    # perftest 4.5 leaves a completion queue of the client to the kernel.
    grep 'finding: ' out | grep -v 'children-alive in close_device' >found
    [ ! -s found ] || bad "$1: a finding"
    never "$1" 'with error|Failed|Segmentation|Couldn|Unable'
}
pingpong() {
    pair "$*" "$1" 'iters in' "$* -g $gid -p @" "$* -g $gid -p @ 127.0.0.1"
}
perftest() {
    pattern=$1
    shift
    pair "$*" "$1" "$pattern" "$* -F -x $gid -p @" "$* -F -x $gid -p @ 127.0.0.1"
}
part_programs() {
    if command -v ibv_devinfo >/dev/null; then
        beneath ibv_devices && mv out alone
        through ibv_devices
        if cmp -s alone out; then good; else bad 'ibv_devices'; fi
        beneath ibv_devinfo -v && mv out alone
        through ibv_devinfo -v
        if cmp -s alone out; then good; else bad 'ibv_devinfo -v'; fi
    else
        skip 'ibv_devinfo: not installed'
    fi
    for events in '' -e; do
        for service in rc uc ud srq; do
            pingpong ibv_${service}_pingpong -c ${events:+-e}
        done
    done
    # All sizes: nothing is lost, or it would not end.
    rounds=100
    [ $real = no ] || rounds=10
    perftest ' 8388608 ' ib_send_bw -a -n $rounds
    [ $real = yes ] || perftest ' 8388608 ' ib_send_bw -c UC -a -n $rounds
    perftest ' 2 ' ib_write_lat -n 200
    perftest ' 8 ' ib_atomic_bw -n 500
    perftest ' 65536 ' ib_send_bw -e -n 100
    perftest ' 65536 ' ib_read_bw -n 100
    perftest ' 65536 ' ib_write_bw -q 4 -n 100

    # cjaccl opens the library itself.
    if [ $real = no ] && [ -x "$programs/run_operations_cjaccl" ]; then
        timeout 120 "$verbfault" run -n 2 --profile thunderbolt -- sh -c \
            "'$verbfault' run --device --trace '$scratch/cjaccl.{rank}' -- \
            '$programs/run_operations_cjaccl' -q" >out 2>&1
        echo "status $?" >>out
        want 'cjaccl' 'status 0'
        if grep -q 'post_send' cjaccl.0 && grep -q 'post_send' cjaccl.1; then
            good
        else
            bad 'cjaccl goes through the passage'
        fi
    fi

}

for part in same faults findings run replay side interrupt programs; do
    ! part $part || part_$part
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
