#!/bin/sh
# A sweep of real processes finds what a fault shows in them.
# usage: sweep_programs.sh PATH_OF_VERBFAULT DIRECTORY_OF_PROGRAMS
set -u
verbfault=$1 programs=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
# Names that need no quotes and fit into a list, wherever the repository lies.
ln -s "$verbfault" verbfault
ln -s "$programs" programs
verbfault=$scratch/verbfault programs=$scratch/programs
mkdir tmp
TMPDIR=$scratch/tmp
export TMPDIR
failed=0 passed=0
# check NAME COMMAND...
check() {
    name=$1
    shift
    if "$@" >check.out 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $name: $*"
        head -n 20 check.out out
    fi
}
careless=$programs/run_careless

"$verbfault" sweep -n 1 --once --examples examples --json r.json -- \
    "$careless" >out 2>errors
code=$?
check 'findings are exit 1' [ $code = 1 ]
check 'each call is a point' grep -q '^== .*run_careless: 8 points, ' out
check 'no run missed its fault' sh -c '! grep -q "never came" out'
check 'the region that is not there' \
    grep -qE '^ +3  crash +null-mr in dereg_mr$' out
check 'the domain that is not there' \
    grep -qE '^ +2  crash +null-pd in reg_mr$' out
check 'its example' grep -q '^ *fault 0 alloc_pd 1 null ENOMEM$' out
check 'no device is an error' grep -qE '^ +[0-9]+  error +exit 4$' out
check 'and what was said with it' grep -q '\[0\] no region' out
for example in examples/program-0-crash-*.scn; do
    check "$example repeats it" sh -c \
        "'$verbfault' run -n 1 --scenario '$example' -- '$careless' 2>&1 |
            grep -q '^r0: crash: null-'"
done
set -- examples/program-0-crash-*.scn
check 'two of them' [ $# = 2 ]

"$verbfault" sweep -n 1 --verbs reg_mr,open_device --max-points 1 --once -- \
    "$careless" >out 2>errors
check 'no more points than wanted' \
    grep -q ': 1 point, [0-9]* runs, 1 point left out' out
"$verbfault" sweep -n 2 --verbs open_device,alloc_pd,reg_mr --max-points 2 \
    --once --html page.html -- "$careless" >out 2>errors
check 'and some of every rank' sh -c \
    'grep -q "^\[0," page.html && grep -q "^\[1," page.html'

"$verbfault" sweep -n 1 --verbs alloc_pd --ends --timeout 1 --once -- \
    "$careless" >out 2>errors
check 'a rank that stops hangs' \
    grep -qE '^ +1  hang +still runs when the time is over$' out

# A shell tells of a signal by its status.
"$verbfault" sweep -n 1 --verbs dealloc_pd --once -- \
    sh -c '"$1"; exit 134' - "$careless" >out 2>errors
check 'a signal behind a shell is a crash' \
    grep -q 'crash  *exit 134: behind a shell, ended by SIGABRT$' out
check 'what the clean run showed, too, is marked' \
    grep -q '^  *without any fault, too' out
"$verbfault" sweep -n 1 --verbs alloc_pd --once -- "$careless" >out 2>errors
check 'what it did not is not' sh -c '! grep -q "without any fault" out'

# Rank 1 fails, rank 0 has the last word.
cat >talk <<'END'
if [ $VERBFAULT_RANK = 1 ]; then
    "$2"
    status=$?
    echo "the one that failed: $status"
    : >"$1/done"
    exit $status
fi
until [ -e "$1/done" ]; do sleep 0.02; done
echo 'the other one'
END
"$verbfault" sweep -n 2 --ranks 1 --verbs open_device --once -- \
    sh talk '{scratch}' "$careless" >out 2>errors
check 'the message is that of the rank that failed' \
    grep -q '^  *\[1\] the one that failed: 4$' out

# Rank 1 makes an illegal call and, where its region is not released, waits.
cat >wait <<'END'
[ $VERBFAULT_RANK = 1 ] || exit "$1"
"$2" order || exec sleep 30
END
order() { # SECONDS STATUS_OF_RANK_0: a sweep in which rank 1 waits
    "$verbfault" sweep -n 2 --ranks 1 --verbs dereg_mr --once --timeout 1 \
        --grace "$1" --json r.json --html page.html -- \
        sh wait "$2" "$programs/run_verbs" >out 2>errors
}
illegal='violation +children-alive in dealloc_pd$'
order 0.2 3
check 'a finding is worth more than a wait for who failed' \
    grep -qE "^ +[0-9]+  $illegal" out
check 'which is no entry then' sh -c '! grep -q "waits for a rank" out'
order 9 0
check 'a rank that hangs by itself is told' \
    grep -qE '^ +[0-9]+  hang +still runs when the time is over$' out
check 'and what it did before, too' grep -qE "^ +[0-9]+  $illegal" out
check 'in JSON' grep -q '"children-alive in dealloc_pd"' r.json
check 'and on the page' grep -q 'children-alive in dealloc_pd' page.html
check 'each run counts once' grep -q ': 1 point, 2 runs$' out

"$verbfault" sweep -n 1 --verbs create_ah -- "$careless" >out 2>&1
code=$?
check 'no call to fail is exit 2' [ $code = 2 ]
check 'and says so' grep -q 'there is no call to fail' out
"$verbfault" sweep -n 1 --ranks 1 -- "$careless" >out 2>&1
code=$?
check 'a rank that is not started is exit 2' [ $code = 2 ]
check 'in one line' \
    [ "$(sed 's/; try .*//' out)" = \
        'verbfault sweep: --ranks: there is no rank 1: 1 rank, from 0 on' ]
"$verbfault" sweep -n 1 --verbs alloc_pd,create_ah --once -- "$careless" \
    >out 2>&1
check 'a verb that it does not call is told' \
    grep -q '^verbfault sweep: --verbs: no point of create_ah$' out
"$verbfault" sweep -n 1 --verbs free_device_list --onward -- "$careless" \
    >out 2>&1
code=$?
check 'nothing to run is exit 2' [ $code = 2 ]
check 'and says so, too' grep -q 'there is nothing to run' out

# {scratch} is empty each time: a program that fills it would fail.
"$verbfault" sweep -n 1 --verbs dealloc_pd --once -- \
    sh -c 'mkdir "$1/d" && exec "$2"' - '{scratch}' "$careless" >out 2>errors
code=$?
check 'each run has a directory of its own' [ $code = 0 ]
check 'it is one that fails in nothing' grep -q '  ready' out

"$verbfault" sweep -n 1 -- ./nothing >out 2>&1
code=$?
check 'no such command is exit 2' [ $code = 2 ]
"$verbfault" sweep -n 1 --timeout 1 -- sleep 30 >out 2>&1
code=$?
check 'a command that takes too long is told' [ $code = 2 ]
check 'in a line' grep -q 'without any fault it takes longer' out
# The fault that it takes, of several, and no more of it than it takes.
cat >many.scn <<'END'
profile ideal
fault 0 close_device 1 errno EIO # never comes to it
fault 0 reg_mr 1+ null EAGAIN
fault 0 destroy_cq 2 errno EBUSY
device * rdma0 max_mr=7
END
"$verbfault" minimize -n 1 --scenario many.scn -o small.scn -- "$careless" \
    >out 2>errors
code=$?
check 'it is minimized' [ $code = 0 ]
check 'to what it was' grep -q '^many.scn: crash: null-mr in dereg_mr$' errors
printf '%s\n' 'profile ideal' 'device * rdma0 max_mr=7' \
    'fault 0 reg_mr 1 null ENOMEM' >wanted.scn
check 'to one fault; devices stay' cmp wanted.scn small.scn
"$verbfault" minimize -n 1 --scenario many.scn --title 'null-pd in reg_mr' -- \
    "$careless" >out 2>errors
check 'another title' [ $? = 1 ]
"$verbfault" minimize -n 1 --scenario many.scn -- true >out 2>errors
check 'one that ends well' [ $? = 1 ]
check 'is told' grep -q 'many.scn: the command ends well' errors
"$verbfault" minimize -n 1 -- "$careless" >out 2>errors
check 'without a scenario' [ $? = 2 ]
"$verbfault" minimize --scenario many.scn -n 1 "$careless" >out 2>errors
check 'without the --' [ $? = 2 ]
"$verbfault" minimize -n 1 --scenario many.scn -- no/such/program >out 2>errors
check 'no such program' [ $? = 2 ]

check 'nothing is left behind' [ -z "$(ls "$TMPDIR")" ]

# Nor by one that is killed, nor is its run.
cat >last <<'END'
touch "$2/mine"
trap '' TERM
echo $$ >"$1"
exec sleep 60
END
limit=$(($(date +%s) + 30))
until_time() { # COMMAND...: until it is true, or the time is over
    until "$@"; do
        [ "$(date +%s)" -le $limit ] || return 1
        sleep 0.02
    done
}
gone() {
    [ ! -e "/proc/$1" ] || grep -qE '^State:[[:space:]]*[ZX]' "/proc/$1/status"
}
"$verbfault" sweep -n 1 --timeout 60 -- sh last pid '{scratch}' >out 2>&1 &
sweep=$!
check 'a sweep to kill starts' until_time test -s pid
kill -9 $sweep
check 'its folder goes with it' \
    until_time sh -c '[ -z "$(ls "$TMPDIR")" ]'
check 'and what it ran' until_time gone "$(cat pid)"
rm pid
mkdir empty
"$verbfault" record -o empty/file -n 1 -- sh last pid . >out 2>&1 &
record=$!
check 'a recording to kill starts' until_time test -s pid
check 'it has a file' [ -n "$(ls empty)" ]
kill -9 $record
check 'which goes with it' until_time sh -c '[ -z "$(ls empty)" ]'
check 'and what it recorded' until_time gone "$(cat pid)"

echo "$passed passed, $failed failed"
[ $failed = 0 ]
