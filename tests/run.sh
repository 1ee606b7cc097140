#!/bin/sh
# `verbfault run` keeps its promises: exit codes, whole lines, what a rank finds
# in its environment, and no process that survives it, whoever dies how.
# usage: run.sh PATH_OF_VERBFAULT DIRECTORY_OF_PROGRAMS
#
# The programs are those of tests/programs/*.c; one that could not be built on
# this machine is said to be missing. $VERBFAULT_LIBRARY may name a stand-in
# for libverbfault: then nothing that needs verbs is tested.
set -u
verbfault=$1 programs=$2
scratch=$(mktemp -d)
mark=VERBFAULT_TEST_MARK=$$.$(date +%s)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
# Names that need no quotes and fit into a list, wherever the repository lies.
libraries=$(dirname "$verbfault")/lib
ln -s "$verbfault" verbfault
ln -s "$programs" programs
verbfault=$scratch/verbfault programs=$scratch/programs
rank=$programs/run_rank
failed=0 passed=0

good() {
    passed=$((passed + 1))
}
bad() {
    failed=$((failed + 1))
    echo "FAIL $1"
    head -n 8 out
}
skip() {
    echo "skipped: $*"
}
# run CODE COMMAND...: verbfault run; its output goes to `out`
run() {
    code=$1
    shift
    env "$mark" "$verbfault" run "$@" >out 2>&1
    got=$?
    [ $got = "$code" ]
}
# expect NAME CODE PATTERN ARGUMENTS...: exit code, and a line of the output
expect() {
    name=$1 code=$2 pattern=$3
    shift 3
    if run "$code" "$@" && grep -qE -- "$pattern" out; then
        good
    else
        bad "$name: exit $got (want $code), want /$pattern/ in:"
    fi
}
# one_line NAME CODE PATTERN ARGUMENTS...: and it is the only line
one_line() {
    expect "$@"
    [ "$(wc -l <out)" = 1 ] || bad "$1: more than one line:"
}
# also NAME PATTERN: the output of the last run has this line, too
also() {
    if grep -qE -- "$2" out; then
        good
    else
        bad "$1: want /$2/ in:"
    fi
}
# never NAME PATTERN: it has no such line
never() {
    if grep -qE -- "$2" out; then
        bad "$1: do not want /$2/ in:"
    else
        good
    fi
}
# marked: the processes that some run here has started and that live
marked() {
    grep -lzxF "$mark" /proc/[0-9]*/environ 2>/dev/null |
        while IFS=/ read -r _ _ pid _; do
            # the dead have no environment; grep may have read it just before
            [ ! -e "/proc/$pid/exe" ] || echo "$pid"
        done
}
# until_true SECONDS COMMAND...: polls; 1 when it does not come true
until_true() {
    limit=$(($(date +%s) + $1))
    shift
    until "$@"; do
        [ "$(date +%s)" -le $limit ] || return 1
        sleep 0.02
    done
}
none_marked() {
    [ -z "$(marked)" ]
}
gone() { # PID: no such process, or only its status is left
    [ ! -e "/proc/$1" ] || grep -qE '^State:[[:space:]]*[ZX]' "/proc/$1/status"
}
# no_process NAME: nothing of the last run is left
no_process() {
    if until_true 20 none_marked; then
        good
    else
        bad "$1: processes are left: $(marked)"
        # shellcheck disable=SC2046
        kill -9 $(marked)
    fi
}
has_lines() { # FILE PATTERN COUNT
    [ "$(grep -cE -- "$2" "$1")" -ge "$3" ]
}
# start NAME LINES ARGUMENTS...: verbfault run in the background, as $front,
# until its ranks have said "ready" so many times
start() {
    name=$1 lines=$2
    shift 2
    : >out
    env "$mark" "$rank" unignored "$verbfault" run "$@" >out 2>&1 &
    front=$!
    until_true 20 has_lines out 'ready' "$lines" || bad "$name: no start:"
}
# ends NAME CODE PATTERN: it does, with this code and line, and leaves nothing
ends() {
    wait $front
    got=$?
    if [ $got = "$2" ] && grep -qE -- "$3" out; then
        good
    else
        bad "$1: exit $got (want $2), want /$3/ in:"
    fi
    no_process "$1"
}

# ---- bad input -------------------------------------------------------------

one_line 'no command' 2 'a command is missing'
one_line 'an unknown option' 2 'frob' --frob true
one_line 'no ranks' 2 '1 to 64 ranks' -n 0 true
one_line 'too many ranks' 2 '1 to 64 ranks' -n 65 true
one_line 'ranks that are no number' 2 '1 to 64 ranks' -n 2x true
one_line 'an unknown profile' 2 'no profile "frob"; there are' \
    --profile frob true
one_line 'a timeout of nothing' 2 'leaves no time' --timeout 0 true
one_line 'a timeout that is no time' 2 'takes seconds' --timeout 1s true
one_line 'a grace below nothing' 2 'takes seconds' --grace -1 true
one_line 'more cables than devices' 2 'too many' \
    -n 64 --profile thunderbolt true
one_line 'a command that does not exist' 2 'frob: no such command' -- frob
one_line 'a path that does not exist' 2 '\./frob: No such file' ./frob
one_line 'a directory' 2 'is a directory' /
: >plain
one_line 'not executable' 2 'is not executable' ./plain
printf '#!/nonexistent/interpreter\n' >lost
chmod +x lost
one_line 'an interpreter that does not exist' 2 'cannot be executed' ./lost
one_line 'no place for the trace' 3 'cannot be written: No such' \
    --trace /nonexistent/trace true
if [ -e "$programs/run_static" ]; then
    one_line 'a static program' 2 'is statically linked' "$programs/run_static"
else
    skip "a static program: none could be linked"
fi
if [ -e "$programs/run_own_verbs" ]; then
    one_line 'a program with verbs in it' 2 'has verbs linked into it' \
        "$programs/run_own_verbs"
fi
printf 'fault 0 regmr 1 null ENOMEM\n' >word.scn
printf 'ranks 4 mesh\n' >four.scn
printf 'fault 1 reg_mr 1 null ENOMEM\n' >second.scn
printf '# big\ndevice 0 rdma_en2\ncable 0:rdma_en9 1:rdma_en2\n' >device.scn
one_line 'a bad scenario' 2 '^word.scn:1:9: unknown verb' \
    --scenario word.scn true
one_line 'no such scenario' 2 '^gone.scn: ' --scenario gone.scn true
one_line 'a scenario for more ranks than given' 2 \
    '^four.scn:1:1: the scenario has 4 ranks, but -n is 2' \
    -n 2 --scenario four.scn true
one_line 'a scenario for fewer ranks than given' 2 'has 4 ranks, but -n is 8' \
    -n 8 --scenario four.scn true
one_line 'a fault of a rank that does not run' 2 \
    '^second.scn:1:1: this is about rank 1, but -n is 1' \
    -n 1 --scenario second.scn true
one_line 'a device that no rank has' 2 '^device.scn:3:' \
    --scenario device.scn true
one_line 'more ranks than a scenario knows' 2 '8 ranks at most, not 9' \
    -n 9 --scenario second.scn true
(
    VERBFAULT_LIBRARY=/nonexistent/libverbfault.so
    export VERBFAULT_LIBRARY
    one_line 'no library' 3 'no such library' true
    exit $failed
) || failed=$((failed + 1))

# ---- what a run is ---------------------------------------------------------

expect 'two ranks by default' 0 '^\[1\] 1 of 2$' echo '{rank} of {ranks}'
also 'and the other' '^\[0\] 0 of 2$'
also 'a program without verbs is noticed' \
    'note: ranks 0, 1 never called a verb'
expect 'options end at the command' 0 '^\[0\] -n$' -n 1 printf '%s\n' -n
expect 'a script without an interpreter line' 0 '^\[0\] script a$' -n 1 sh -c \
    'echo "echo script \$1" >bare; chmod +x bare; ./bare a'
run 0 -n 1 ./bare b && also 'as the command itself' '^\[0\] script b$'
expect 'failing ranks' 1 'rank 1: exit 7, 0 findings' sh -c 'exit 7'
expect 'one failing rank' 1 'rank 0: exit 1, 0 findings' \
    sh -c 'exit $((1 - {rank}))'
also 'and one that does not' 'rank 1: exit 0, 0 findings'
expect 'a rank that dies by a signal' 1 '^r0: ended by SIGSEGV' \
    -n 1 "$rank" raise 11
also 'in the table' 'rank 0: SIGSEGV, 0 findings'
expect '64 ranks' 0 'note: ranks 0 to 63 never' -n 64 true
expect 'only what is not fine of many ranks' 1 'rank 5: exit 1, 0 findings' \
    -n 64 sh -c '[ {rank} != 5 ]'
also 'the others are counted' '63 more: exit 0, 0 findings'
never 'and not shown' 'rank 6:'
expect 'a last line without its end' 0 '^\[0\] tail$' -n 1 "$rank" partial tail
run 0 -n 4 "$rank" torrent 20000
if [ "$(grep -cE '^\[[0-3]\] <[0-9]+:x*>$' out)" = 160000 ]; then
    good
else
    bad 'no line is torn or lost'
fi
never 'and nothing is in between' '^[^v[]'
env "$mark" "$verbfault" run "$rank" torrent 2000 >out 2>errors
if [ "$(grep -cE '^\[[01]\] <[0-9]+:x*>$' out)" = 4000 ] &&
    [ "$(grep -cE '^\[[01]\] <[0-9]+:x*>$' errors)" = 4000 ]; then
    good
else
    bad 'standard error stays apart'
fi
expect 'no input' 0 'never' cat
echo words | expect '-n 1 keeps its input' 0 '^\[0\] words$' -n 1 cat
expect 'plain in a pipe' 0 '^\[0\] x$' -n 1 echo x
(
    TERM=xterm
    export TERM
    unset NO_COLOR
    env "$mark" "$rank" terminal "$verbfault" run echo x >out
)
also 'coloured on a terminal' "^$(printf '\033')\\[[0-9]+m\\[0\\]"
(
    NO_COLOR=1
    export NO_COLOR
    env "$mark" "$rank" terminal "$verbfault" run echo x >out
)
also 'unless it is not wanted' '^\[0\] x'
env "$mark" "$rank" terminal "$verbfault" run -n 1 \
    sh -c '[ -t 0 ] && [ -t 1 ] && echo terminal' >out
also 'one rank has the terminal itself' '^terminal'
if env "$mark" "$verbfault" run "$rank" torrent 100000 2>errors |
    head -n 1 >out && until_true 20 none_marked; then
    good
else
    bad 'a reader that goes away ends the run'
fi
env "$mark" "$verbfault" run -n 1 echo x >/dev/full 2>out
got=$?
if [ $got = 3 ]; then good; else bad "a full disk: exit $got (want 3):"; fi
also 'a full disk is said' 'standard output cannot be written'
if [ -e "$programs/run_verbs" ]; then
    env "$mark" "$verbfault" run -n 1 --trace /dev/full -- \
        "$programs/run_verbs" >out 2>&1
    got=$?
    if [ $got = 3 ]; then good; else bad "a trace on a full disk: exit $got:"; fi
    also 'of a trace, too' '/dev/full: cannot be written: No space left'
fi

# ---- what a rank finds -----------------------------------------------------

# shellcheck disable=SC2016
show='echo "$VERBFAULT_RANK/$VERBFAULT_RANKS $MLX_RANK $JACCL_RANK" \
    "$MLX_JACCL_COORDINATOR $JACCL_COORDINATOR ring=${MLX_JACCL_RING-}";
    cat "$MLX_IBV_DEVICES"; cmp "$MLX_IBV_DEVICES" "$JACCL_IBV_DEVICES"'
expect 'its rank' 0 '^\[1\] 1/2 1 1 127.0.0.1:[0-9]+ 127.0.0.1:[0-9]+ ring=$' \
    sh -c "$show"
if [ "$(grep -oE '127.0.0.1:[0-9]+' out | sort -u | wc -l)" = 1 ]; then
    good
else
    bad 'all ranks have one coordinator'
fi
also 'one device without cables' '^\[0\] \[\[null, "rdma0"\],$'
expect 'a device for each other rank with cables' 0 \
    '^\[2\]  \["rdma_en2", "rdma_en3", null\]\]$' \
    -n 3 --profile thunderbolt sh -c "$show"
cat >file.scn <<'END'
profile rxe
ranks 3 ring 2
cell 1 0 1 "" other
rows 2 2
coordinator 2 "10.9.8.7:65"
fault 0 reg_mr 1 null ENOMEM
order 7
run init
expect cjaccl error
END
expect 'the cells of a scenario' 0 \
    '^\[0\] \[\[null, \["rdma_en4", "rdma_en5"\], \["rdma_en2", "rdma_en3"\]' \
    --scenario file.scn sh -c "$show"
also 'one view of them' '^\[1\] \[\[null, \["", "other"\], '
also 'with fewer rows' '^\[2\]  \[\["rdma_en2", "rdma_en3"\], null\]\]$'
also 'what one rank is told' '^\[2\] 2/3 2 2 10.9.8.7:65 10.9.8.7:65 ring=1$'
also 'what is left aside is said' '^file.scn: note: .*order, run, expect$'
expect '-n where the scenario leaves it open' 0 '^\[2\] 2/3 ' \
    -n 3 --scenario second.scn sh -c "$show"
printf 'library 0 absent\nlibrary 1 without ibv_reg_mr\n' >absent.scn
# shellcheck disable=SC2016
expect 'a rank without the library' 0 '^\[0\] none$' \
    --scenario absent.scn sh -c 'echo "${LD_PRELOAD-none}"'
also 'and one with it' '^\[1\] /'
also 'what cannot be done is said' '^absent.scn: note: .*: library without$'
(
    LD_PRELOAD=libm.so.6
    LD_LIBRARY_PATH=/tmp
    export LD_PRELOAD LD_LIBRARY_PATH
    # shellcheck disable=SC2016
    run 0 -n 1 sh -c 'echo "$LD_PRELOAD $LD_LIBRARY_PATH"'
)
also 'the library comes first' '^\[0\] /.*:libm.so.6 /.*/dropin:/tmp$'
if [ -e "$programs/run_asan" ]; then
    expect 'a program under AddressSanitizer' 0 '^\[0\] well$' \
        -n 1 "$programs/run_asan"
    expect 'also as a child' 0 '^\[0\] well$' \
        -n 1 sh -c "'$programs/run_asan' && true"
    never 'that does not mind who comes first' 'does not come first'
else
    skip "a program under AddressSanitizer: none could be linked"
fi

# ---- verbs -----------------------------------------------------------------

verbs() {
    program=$programs/run_verbs
    expect 'a program that does well' 0 '^\[1\] 1 devices, first rdma0$' \
        "$program" well
    never 'has nothing said of it' 'verbfault|finding|note'
    expect 'events of what is gone are forgotten' 0 '^\[1\] forgotten$' \
        --timeout 30 "$programs/run_forgotten"
    expect 'a NULL region released' 1 '^r0: .*null-mr in dereg_mr' \
        --scenario mr.scn "$program" null
    also 'what the plan did is seen' '^\[0\] reg_mr: 12$'
    also 'the last calls are shown' '^    .*reg_mr\(.*planned'
    also 'a fault that took effect is named' 'as planned: fault 0 reg_mr 1 null'
    also 'the table counts it' 'rank 0: .*, 1 finding$'
    also 'the other rank is fine' 'rank 1: exit 0, 0 findings'
    expect 'a fault that is dealt with' 0 '^\[0\] reg_mr: 12$' \
        --scenario mr.scn "$program" well
    expect 'a fault that is never reached is named' 0 \
        'note: never reached: fault 0 reg_mr 99 null' \
        --scenario late.scn "$program" well
    expect 'a domain released too early' 1 \
        '^r1: finding: children-alive in dealloc_pd' "$program" order
    expect 'the same finding again and again is told three times' 1 \
        '^verbfault run: r0: 2 more of "children-alive in dealloc_pd"' -n 1 \
        sh -c "for i in 1 2 3 4 5; do '$program' order; done"
    [ "$(grep -c '^r0: finding: children-alive in dealloc_pd' out)" = 3 ] ||
        bad 'three times, not more:'
    expect 'a leak is no finding by itself' 0 'first rdma0' "$program" leak
    expect 'unless it is asked for' 1 '^r0: leak of' \
        --leaks "$program" leak
    also 'and is named' '^    1 left at the end: mr 1$'
    expect 'a fault of its own' 1 '^r0: ended by SIGABRT' "$program" fault
    also 'an abort has no address' '^    signal 6$'
    expect 'a bad end without a finding' 1 'rank 0: exit 5, 0 findings' \
        "$program" well 5
    expect 'the trace' 0 'done' --trace trace "$program" well
    if [ "$(grep -cE '^r[01] #[0-9]+ reg_mr\(' trace)" = 2 ]; then
        good
    else
        bad 'the trace has the calls of both ranks'
    fi
    expect 'a trace among the output' 0 '^.0. r0 #[0-9]* reg_mr[(]' \
        --trace - "$program" well
    expect 'children are ranks, too' 0 '^\[0\] done$' sh -c "'$program' well; :"
}
# slow MILLISECONDS NTH: the scenario in which a completion is late
slow() {
    printf 'profile ideal\nranks 1 mesh\ndevice 0 rdma0\nfault 0 completion %s delay %s\n' \
        "$2" "$1"
}
# What is due by time alone wakes whoever sleeps, and nothing overtakes.
sleepers() {
    slow 60 3 >late3.scn
    slow 20 2+ >late2.scn
    for how in poll select wait; do
        for what in late2 late3; do
            expect "a late completion wakes who sleeps by $how ($what)" 0 \
                '^.0. in its order$' -n 1 --scenario $what.scn \
                "$programs/run_late" sends $how
        done
        expect "the end of the retries, too, by $how" 0 '^.0. in its order$' \
            -n 1 "$programs/run_late" retries $how
    done
}
printf 'profile ideal\nfault 0 reg_mr 1 null ENOMEM\n' >mr.scn
printf 'profile ideal\nfault 0 reg_mr 99 null ENOMEM\n' >late.scn
# The loader's lists are cut at blanks and colons.
beneath_a_blank() {
    mkdir 'a b:c'
    cp -R "$libraries/." 'a b:c'
    VERBFAULT_LIBRARY="$scratch/a b:c/libverbfault.so"
    export VERBFAULT_LIBRARY
    expect 'a library under a path with a blank and a colon' 1 \
        '^r0: crash: null-mr in dereg_mr$' -n 1 --scenario mr.scn -- \
        "$programs/run_careless"
    unset VERBFAULT_LIBRARY
    rm -r 'a b:c'
}
if [ -n "${VERBFAULT_LIBRARY-}" ]; then
    skip "verbs: $VERBFAULT_LIBRARY stands in for the library"
elif [ -e "$programs/run_verbs" ]; then
    verbs
    sleepers
    beneath_a_blank
else
    skip "verbs: there was no libibverbs to link a program with"
fi

# ---- nothing survives ------------------------------------------------------

expect '--timeout' 1 'ranks 0, 1 still running after 0.2 s' \
    --timeout 0.2 "$rank" wait
also 'says how they ended' 'rank 1: SIGTERM \(ended\), 0 findings'
no_process '--timeout'
expect '--timeout names who still runs' 1 'rank 1 still running' \
    --timeout 0.5 sh -c "[ {rank} = 0 ] || exec '$rank' wait"
expect 'a rank that does not want to end' 1 'rank 0: SIGKILL \(ended\)' \
    -n 1 --timeout 0.2 "$rank" stubborn
no_process 'a rank that does not want to end'
expect '--grace' 1 'rank 0 failed, and 1 did not end within 0.2 s' \
    --grace 0.2 sh -c "[ {rank} = 1 ] || exit 4; exec '$rank' wait"
also 'says both ends' 'rank 0: exit 4, 0 findings'
expect 'no grace' 1 'did not end within 0 s' \
    --grace 0 sh -c "[ {rank} = 1 ] || exit 4; exec '$rank' wait"
no_process '--grace'
expect 'a daemon of a rank' 0 '1 process outlived the rank' -n 1 "$rank" daemon
no_process 'a daemon of a rank'
daemon=$(sed -n 's/^\[0\] left //p' out)
if [ -n "$daemon" ] && gone "$daemon"; then
    good
else
    bad "the daemon (without an environment to know it by) is left: $daemon"
fi
expect 'a child of a rank' 0 'left [0-9]' -n 1 "$rank" leave
no_process 'a child of a rank'

start 'Ctrl-C' 2 "$rank" wait
kill -INT $front
ends 'Ctrl-C' 1 'SIGINT: ending the ranks'
also 'Ctrl-C reaches the ranks' 'rank 0: SIGINT \(ended\)'
start 'Ctrl-C that is heard' 2 "$rank" patient
kill -INT $front
ends 'Ctrl-C that is heard' 1 'rank 1: exit 3 \(ended\)'
also 'by each rank' '^\[1\] interrupted$'
start 'Ctrl-C that is ignored' 2 "$rank" stubborn
kill -INT $front
ends 'Ctrl-C that is ignored' 1 'rank 1: SIGKILL \(ended\)'
start 'SIGTERM' 2 "$rank" wait
kill -TERM $front
ends 'SIGTERM' 1 'rank 0: SIGTERM \(ended\)'
start 'SIGHUP' 2 "$rank" wait
kill -HUP $front
ends 'SIGHUP' 1 'SIGHUP: ending the ranks'

# kill -9: of the front, of the keeper, of both; while somebody is left, not
# even a daemon survives. Nothing but its number is known of it.
for victim in front keeper both; do
    # shellcheck disable=SC2016
    life='"$0" daemon; echo keeper $PPID; exec "$0" stubborn'
    [ $victim != both ] || life=${life#*;}
    start "kill -9 of $victim" 2 sh -c "$life" "$rank"
    keeper=$(sed -n 's/^\[0\] keeper //p' out)
    daemons=$(sed -n 's/^\[[01]\] left //p' out)
    case $victim in
    front) kill -9 $front ;;
    keeper) kill -9 "$keeper" ;;
    both) kill -9 $front "$keeper" ;;
    esac
    wait $front 2>/dev/null
    got=$?
    no_process "kill -9 of $victim"
    if [ $victim = keeper ]; then
        if [ $got = 3 ]; then good; else bad "the front answers $got"; fi
        also 'the front says so' 'was ended by SIGKILL; the ranks are ended'
    fi
    for daemon in $daemons; do
        if until_true 20 gone "$daemon"; then
            good
        else
            bad "a daemon survives kill -9 of $victim"
            kill -9 "$daemon"
        fi
    done
done

echo "$passed passed, $failed failed"
[ $failed = 0 ]
