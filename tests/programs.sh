#!/bin/sh
# Programs that nobody here wrote, over the mock: rdma-core's examples,
# perftest, UCX, libfabric, Open MPI over UCX, and rdma-core's own tests of
# pyverbs, as far as Debian's packages have been installed.
#
# usage: programs.sh PATH_OF_VERBFAULT [WORD]
#
#   WORD   only the programs whose name has this word in it
#
# Prints one line a program: "ok NAME", "skip NAME: reason" or "FAIL NAME:
# reason" with the end of its output, and at the end the counts. Exit 1 if one
# failed. Of each kind a few run; with PROGRAMS_ALL=1, or with a WORD, all.
#
# PROGRAMS_PROFILE   the profile (default ideal)
# PROGRAMS_GID       the GID index (default 0)
# PROGRAMS_LIMIT     what a program may take, in seconds (default 120). It is
#                    there for programs that hang; nothing else depends on time
#
# verbfault finds mistakes in these programs, too. What is known is in known()
# below, with the reason; any other finding fails.
#
# One by hand:
#
#   build/verbfault run -n 2 --profile ideal -- sh tests/programs/pair.sh \
#       18515 "$(mktemp -d)" 'ibv_rc_pingpong -c -g 0' \
#       'ibv_rc_pingpong -c -g 0 127.0.0.1'
set -u
case ${1-} in
--help | -h)
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0" | sed '$d'
    exit 0
    ;;
'')
    echo "programs.sh: the path of verbfault is missing; try --help" >&2
    exit 2
    ;;
esac
verbfault=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
word=${2-}
profile=${PROGRAMS_PROFILE-ideal}
gid=${PROGRAMS_GID-0}
limit=${PROGRAMS_LIMIT-120}
helpers=$(cd "$(dirname "$0")" && pwd)/programs
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' INT TERM HUP
cd "$scratch" || exit 1
passed=0 failed=0 skipped=0
# all: is everything to run, or a few of each kind?
all() {
    [ "${PROGRAMS_ALL-0}" = 1 ] || [ -n "$word" ]
}

# known PROGRAM TITLE: the finding is expected of the program
known() {
    case $1/$2 in
    ib_*'/children-alive in close_device')
        # perftest 4.5 leaves a completion queue of the client to the kernel.
        ;;
    'pyverbs test_atomic/bad-atomic in post_send' | \
        'pyverbs test_atomic/unknown-key in post_send' | \
        'pyverbs test_mr/mr-changed-while-posted in rereg_mr' | \
        'pyverbs test_mr/wrong-domain-key in post_recv' | \
        'pyverbs test_qpex/queue-overflow in post_recv' | \
        'pyverbs test_qpex/wrong-state in post_'*)
        # Done on purpose: the test wants to see the error.
        ;;
    pyverbs\ *'/mr-released-while-posted in dereg_mr')
        # The suite releases its regions before its queue pairs.
        ;;
    *) return 1 ;;
    esac
}

# Words that no program prints while all is well. A program that finds wrong
# data may end with status 0.
bad='invalid data|[Cc]ompletion with error|Failed status|[Ss]egmentation'
bad="$bad|Couldn.t|Unable to|[Dd]ata validation failed"

# wanted NAME: is it to run?
wanted() {
    case $1 in
    *"$word"*) return 0 ;;
    esac
    return 1
}
good() {
    passed=$((passed + 1))
    echo "ok $1"
}
skip() {
    skipped=$((skipped + 1))
    echo "skip $1: $2"
}
fail() {
    failed=$((failed + 1))
    echo "FAIL $1: $2"
    tail -n 12 out | sed 's/^/    /'
}
# installed NAME BINARY: or a skip line
installed() {
    command -v "$2" >/dev/null && return 0
    skip "$1" 'package not installed'
    return 1
}
# A port that nobody listens on or is connected with, a new one each time.
port=$((20000 + $$ % 10000))
new_port() {
    port=$((port + 1))
    while awk -v port="$(printf '%04X' $port)" '
        substr($2, length($2) - 3) == port { found = 1 }
        END { exit !found }' /proc/net/tcp /proc/net/tcp6 2>/dev/null; do
        port=$((port + 1))
    done
}
# start RANKS COMMAND...: over the mock; the output goes to out
start() {
    ranks=$1
    shift
    timeout -k 5 "$limit" "$verbfault" run -n "$ranks" --profile "$profile" \
        -- "$@" >out 2>&1 </dev/null
    status=$?
}
# findings: their titles, one a line
findings() {
    sed -n 's/^r[0-9]*: finding: //p' out | sort -u
}
# unexpected NAME: the first finding that is not known; false: there is none
unexpected() {
    findings >titles
    while IFS= read -r title; do
        known "$1" "$title" && continue
        echo "$title"
        return 0
    done <titles
    return 1
}
# ended: how a rank ended, when not well; false: all did
ended() {
    grep -E '^verbfault run: rank [0-9]+: ' out | grep -v ': exit 0, '
}
# sound NAME: it ended well, but for what is known; or it has failed
sound() {
    if [ $status = 124 ] || [ $status = 137 ]; then
        fail "$1" "still running after $limit s"
    elif title=$(unexpected "$1"); then
        fail "$1" "finding: $title"
    elif line=$(ended); then
        fail "$1" "$(echo "$line" | head -n 1)"
    elif [ $status != 0 ] && [ ! -s titles ]; then
        fail "$1" "exit $status"
    else
        return 0
    fi
    return 1
}
# judge NAME PATTERN: sound, a line of PATTERN, none of the bad words
judge() {
    sound "$1" || return 0
    if grep -qE "$bad" out; then
        fail "$1" "$(grep -E "$bad" out | head -n 1)"
    elif ! grep -qE "$2" out; then
        fail "$1" "no line like /$2/"
    else
        good "$1"
    fi
}
# alone NAME PATTERN COMMAND...: on one rank
alone() {
    name=$1 pattern=$2
    shift 2
    wanted "$name" && installed "$name" "$1" || return 0
    start 1 "$@"
    judge "$name" "$pattern"
}
# pair NAME BINARY PATTERN SERVER CLIENT: on two ranks; @ is the port
pair() {
    wanted "$1" && installed "$1" "$2" || return 0
    new_port
    rm -rf pair
    mkdir pair
    start 2 sh "$helpers/pair.sh" $port "$scratch/pair" \
        "$(printf '%s' "$4" | sed "s/@/$port/g")" \
        "$(printf '%s' "$5" | sed "s/@/$port/g")"
    judge "$1" "$3"
}
# pingpong BINARY [ARGUMENT...]: both sides take the same arguments
pingpong() {
    both="$* -p @ -g $gid"
    pair "$*" "$1" 'iters in' "$both" "$both 127.0.0.1"
}
# on_thunderbolt [ARGUMENT...]
on_thunderbolt() {
    other=$profile
    profile=thunderbolt
    pair "ibv_uc_pingpong thunderbolt -c $*" ibv_uc_pingpong 'iters in' \
        "ibv_uc_pingpong -c $* -p @" "ibv_uc_pingpong -c $* -p @ 127.0.0.1"
    profile=$other
}
# perftest PATTERN BINARY [ARGUMENT...]
perftest() {
    pattern=$1
    shift
    both="$* -F -p @"
    pair "$*" "$1" "$pattern" "$both" "$both 127.0.0.1"
}
# ucx TLS TEST [ARGUMENT...]
ucx() {
    tls=$1
    shift
    command="UCX_TLS=$tls ucx_perftest -p @"
    pair "ucx_perftest $tls $*" ucx_perftest 'Final:' "$command" \
        "$command -t $* 127.0.0.1"
}
# fabric PROVIDER TYPE
fabric() {
    both="fi_pingpong -c -p '$1' -e $2 -I 100"
    pair "fi_pingpong $1 $2" fi_pingpong '^(.1. )? *(64|256|1k|4k)' \
        "$both -B @" "$both -P @ 127.0.0.1"
}

# rdma-core's examples
alone ibv_devices '[0-9a-f]{16}' ibv_devices
alone 'ibv_devinfo -v' 'PORT_ACTIVE' ibv_devinfo -v
if wanted ibv_asyncwatch && installed ibv_asyncwatch ibv_asyncwatch; then
    start 1 sh "$helpers/until.sh" "$scratch" 'async event FD' ibv_asyncwatch
    judge ibv_asyncwatch 'async event FD'
fi
for events in '' -e; do
    pingpong ibv_rc_pingpong -c ${events:+-e}
    pingpong ibv_uc_pingpong -c ${events:+-e}
    pingpong ibv_ud_pingpong -c ${events:+-e}
    pingpong ibv_srq_pingpong -c ${events:+-e}
    # What macOS ships, on what it has.
    on_thunderbolt ${events:+-e} # down the cable, by LID
    on_thunderbolt -g 1 ${events:+-e}
done
if all; then
    pingpong ibv_rc_pingpong -c -N
    pingpong ibv_rc_pingpong -c -s 1048576 -n 200
    pingpong ibv_uc_pingpong -c -s 1048576 -n 200
    pingpong ibv_rc_pingpong -c -s 1
    pingpong ibv_srq_pingpong -c -q 4 -s 65536
fi

# perftest: the last size of -a is 8 MiB; UD ends at the MTU
perftest ' 8388608 ' ib_send_bw -c RC -a -n 10
perftest ' 2 ' ib_write_lat -c UC -n 50
perftest ' (1024|2048|4096) ' ib_send_bw -c UD -n 200
perftest ' 8388608 ' ib_read_bw -a -n 10
perftest ' 8 ' ib_atomic_lat -A CMP_AND_SWAP -n 50
perftest ' 2 ' ib_send_lat -e -n 100
perftest ' 65536 ' ib_write_bw -q 8 -n 100
if all; then
    for service in RC UC; do
        perftest ' 8388608 ' ib_send_bw -c $service -a -n 100
        perftest ' 8388608 ' ib_write_bw -c $service -a -n 100
        perftest ' 8388608 ' ib_send_lat -c $service -a -n 20
        perftest ' 8388608 ' ib_write_lat -c $service -a -n 20
    done
    perftest ' (1024|2048|4096) ' ib_send_bw -c UD -a -n 1000
    perftest ' (1024|2048|4096) ' ib_send_lat -c UD -a -n 100
    perftest ' 8388608 ' ib_read_bw -a -n 100
    perftest ' 8388608 ' ib_read_lat -a -n 20
    for kind in FETCH_AND_ADD CMP_AND_SWAP; do
        perftest ' 8 ' ib_atomic_bw -A $kind -n 1000
        perftest ' 8 ' ib_atomic_lat -A $kind -n 1000
    done
    # perftest itself refuses ib_write_bw -e.
    for test in ib_send_bw ib_send_lat ib_read_bw ib_atomic_bw; do
        perftest ' (8|64|65536|2) ' $test -e -n 500
    done
    for test in ib_send_bw ib_write_bw ib_read_bw; do
        perftest ' 65536 ' $test -q 8 -n 200
    done
    perftest ' 65536 ' ib_send_bw -b -n 500
    perftest ' 65536 ' ib_write_bw -b -n 500
    perftest ' 65536 ' ib_send_bw --use-srq -q 4 -n 200
    perftest ' 65536 ' ib_send_bw --use_old_post_send -n 500
    perftest ' 65536 ' ib_write_bw --post_list 16 -n 512
fi

# UCX. It takes the IPv4 address by itself, and drops datagrams that came by IPv4
# unless the completion's sl says so, which it does not with soft-RoCE.
[ "$profile" = ideal ] || export UCX_IB_GID_INDEX="$gid"
alone 'ucx_info -d' 'Transport: rc_verbs' ucx_info -d
for tls in rc_verbs,ud_verbs,self ud_verbs,self; do
    ucx "$tls" tag_lat -s 64 -n 1000
    ucx "$tls" ucp_put_bw -s 65536 -n 100
    all || continue
    ucx "$tls" tag_lat -s 64 -n 20000
    ucx "$tls" ucp_am_lat -s 64 -n 20000
    ucx "$tls" tag_bw -s 65536 -n 2000
    ucx "$tls" tag_bw -s 1048576 -n 200
    ucx "$tls" ucp_put_bw -s 65536 -n 2000
    ucx "$tls" ucp_get -s 65536 -n 2000
    ucx "$tls" ucp_fadd -s 8 -n 2000
    ucx "$tls" ucp_cswap -s 8 -n 2000
done

# libfabric: an endpoint that needs no rdmacm. fi_pingpong opens an event queue
# beside a bare datagram endpoint, and that asks for rdmacm; not so here.
alone 'fi_info -p verbs' 'FI_EP_DGRAM' fi_info -p verbs
fabric 'verbs;ofi_rxd' rdm

# Open MPI over UCX: both processes are on one rank, with one device
if wanted 'mpirun exchange' && installed 'mpirun exchange' mpirun &&
    installed 'mpirun exchange' mpicc; then
    if mpicc -O1 -o exchange "$helpers/mpi/exchange.c" >out 2>&1; then
        start 1 env UCX_TLS=rc_verbs,ud_verbs,self UCX_LOG_LEVEL=info \
            mpirun --allow-run-as-root --oversubscribe -n 2 --mca pml ucx --mca osc '^ucx,rdma' \
            --mca pml_ucx_tls any --mca pml_ucx_devices any ./exchange
        # UCX tells what carries the messages.
        grep -q 'rc_verbs/' out || echo 'Unable to see rc_verbs' >>out
        judge 'mpirun exchange' '2 ranks: exact'
    else
        fail 'mpirun exchange' 'mpicc does not compile'
    fi
fi

# rdma-core's own tests. Debian has them beside pyverbs' documentation; an
# image without documentation has none.
python=/usr/bin/python3
suite=/usr/share/doc/rdma-core/tests
modules='test_addr test_atomic test_cq test_cq_events test_cqex test_device
    test_fork test_mr test_pd test_qp test_qpex test_relaxed_ordering'
# What they test, no device of the mock has.
absent='test_flow test_odp test_parent_domain test_rdmacm test_rss_traffic
    test_shared_pd test_tag_matching'
all && modules="$modules $absent"
# count WORD: how many tests the summary says are WORD
count() {
    sed -n "s/.*[(, ]$1=\([0-9]*\).*/\1/p" out | tail -n 1
}
# module NAME: one of the suite's modules, counted
module() {
    wanted "pyverbs $1" || return 0
    start 1 env -C "$scratch/suite" $python tests/run_tests.py -v "tests.$1"
    ran=$(sed -n 's/.*Ran \([0-9]*\) tests\{0,1\} in.*/\1/p' out | tail -n 1)
    left_out=$(count skipped)
    left_out=${left_out:-0}
    failures=$(count failures) errors=$(count errors)
    wrong=$((${failures:-0} + ${errors:-0}))
    if [ $wrong != 0 ]; then
        grep -E '(FAIL|ERROR)$|rror: |Error' out >wrong
        mv wrong out
        fail "pyverbs $1" "$wrong of $ran, $left_out skipped"
    elif ! sound "pyverbs $1"; then
        return 0
    elif [ -z "$ran" ]; then
        fail "pyverbs $1" 'ended before its summary'
    else
        good "pyverbs $1: $((ran - left_out)) passed, $left_out skipped"
    fi
}
if ! $python -c 'import pyverbs' 2>/dev/null; then
    wanted pyverbs && skip pyverbs 'package not installed'
elif [ ! -e $suite/run_tests.py ]; then
    wanted pyverbs && skip pyverbs "no $suite on this machine"
else
    mkdir -p suite
    cp -r $suite suite/tests
    find suite/tests -name '*.gz' -exec gunzip {} +
    for module in $modules; do
        module "$module"
    done
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
