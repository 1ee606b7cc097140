#!/bin/sh
# `verbfault record` keeps its promises: a recording replays with the same trace
# and outcome, what was changed in it is told, and it holds nothing that it
# should not.
#
# usage: record.sh PATH_OF_VERBFAULT DIRECTORY_OF_PROGRAMS
#
# The machine needs no device: programs run on the mock, and with --device over
# the mock's own libibverbs. rdma-core's and perftest's programs are tested
# where they are installed.
set -u
verbfault=$(cd "$(dirname "$1")" && pwd)/$(basename "$1") programs=$2
libraries=$(dirname "$verbfault")/lib
bench=$(dirname "$verbfault")/cjaccl-bench
pair=$(cd "$(dirname "$0")" && pwd)/programs/pair.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
failed=0 passed=0 port=$((20000 + $$ % 20000))

good() {
    passed=$((passed + 1))
}
bad() {
    failed=$((failed + 1))
    echo "FAIL $1"
    head -n 8 out | cut -c 1-300 | sed 's/^/    /'
}
# exits NAME CODE COMMAND...: its output goes to out
exits() {
    name=$1 code=$2
    shift 2
    timeout 120 "$@" >out 2>&1
    got=$?
    if [ $got = "$code" ]; then good; else
        bad "$name: exit $got (want $code)"
    fi
}
# want NAME PATTERN [FILE]
want() {
    if grep -qE -- "$2" "${3-out}"; then good; else bad "$1: want /$2/ in:"; fi
}
never() {
    if grep -qE -- "$2" "${3-out}"; then bad "$1: do not want /$2/"; else
        good
    fi
}
# What a rank called, without numbers that the device chose.
recorded() {
    sed -n "s/^call $2 //p" "$1" | sed 's/ ; .*//; s/ (planned)$//
        s/^\(get_device_guid.*\) = .*/\1/'
}
traced() {
    sed -n "s/^r$2 #[0-9]* //p" "$1" | sed 's/ (planned)$//
        /^completion(/d; s/^\(get_device_guid.*\) = .*/\1/'
}
# same_trace NAME FILE: of every rank, call for call
same_trace() {
    "$verbfault" trace "$2" >trace 2>out
    for rank in 0 1 2 3; do
        recorded "$2" $rank >calls
        traced trace $rank >again
        if cmp -s calls again; then good; else
            diff calls again >out
            bad "$1: rank $rank calls otherwise (> is the replay)"
        fi
    done
}
# record_pair NAME CODE PROGRAM...: a server and its client
record_pair() {
    both=$1 status=$2
    shift 2
    port=$((port + 1))
    mkdir "$both"
    exits "$both" "$status" "$verbfault" record -o "$both.scn" -n 2 \
        --profile rxe -- sh "$pair" $port "$scratch/$both" \
        "$* -p $port" "$* -p $port 127.0.0.1"
    exits "$both replays" 0 "$verbfault" replay "$both.scn"
    want "$both replays" 'as expected'
    same_trace "$both" "$both.scn"
}

# ---- words and codes ---------------------------------------------------------

exits help 0 "$verbfault" record --help
want help 'usage: verbfault record'
exits 'no file' 2 "$verbfault" record -- true
exits 'no command' 2 "$verbfault" record -o a.scn
exits 'too many ranks' 2 "$verbfault" record -o a.scn -n 9 -- true
exits 'no profile' 2 "$verbfault" record -o a.scn --profile none -- true
exits 'no calls' 2 "$verbfault" record -o a.scn --profile rxe -- true
want 'no calls' 'no verbs call'
exits 'a file that cannot be' 3 "$verbfault" record -o no/a.scn \
    --profile rxe -- true
exits details 0 "$verbfault" list details
want details '^detail remote= '
"$verbfault" list >out
want 'the subject' '^subject recording '

# ---- the same again ----------------------------------------------------------

for profile in rxe thunderbolt; do
    exits "cjaccl, $profile" 0 "$verbfault" record -o cjaccl.scn -n 2 \
        --profile $profile -- "$bench" -m 4096 all_sum barrier
    exits "cjaccl, $profile, replays" 0 "$verbfault" replay cjaccl.scn
    same_trace "cjaccl, $profile" cjaccl.scn
    [ ! -e cjaccl.scn.part ] || bad 'the part is left behind'
done
for program in rc uc srq; do
    if ! command -v ibv_${program}_pingpong >/dev/null; then
        echo "skipped: ibv_${program}_pingpong is not installed"
        continue
    fi
    case $program in srq) more=-e ;; *) more= ;; esac
    record_pair $program 0 ibv_${program}_pingpong $more -c -g 0 -n 100
done
if command -v ib_send_bw >/dev/null; then
    # It closes its device with a completion queue alive.
    record_pair bw 1 ib_send_bw -F -x 0 -n 500
    want 'a violation' \
        '^expect recording violation "children-alive in close_device"' bw.scn
else
    echo "skipped: ib_send_bw is not installed"
fi
exits 'by fmt' 0 "$verbfault" fmt cjaccl.scn
if cmp -s out cjaccl.scn; then good; else bad 'fmt changes a recording'; fi

# ---- what fails and what dies ------------------------------------------------

# Each: a fault, the exit code, what the recording expects.
while IFS='|' read -r fault code expected; do
    printf 'profile ideal\n%s\n' "$fault" >fault.scn
    exits "$fault" "$code" "$verbfault" record -o f.scn -n 1 \
        --scenario fault.scn -- "$programs/run_careless"
    want "$fault" "^expect recording $expected\$" f.scn
    exits "$fault replays" 0 "$verbfault" replay f.scn
    same_trace "$fault" f.scn
done <<'FAULTS'
fault 0 reg_mr 1 null ENOMEM|1|crash "null-mr in dereg_mr"
fault 0 alloc_pd 1 null ENOMEM|1|crash "null-pd in reg_mr"
device * rdma0 max_mr=0|1|crash "null-mr in dereg_mr"
fault 0 close_device 1 errno EIO|0|ready
fault 0 dereg_mr 1 exit|1|ready
FAULTS
printf 'profile rxe\nfault 0 post_send 20 exit\n' >fault.scn
exits 'a killed rank' 1 "$verbfault" record -o killed.scn -n 2 --grace 5 \
    --scenario fault.scn -- "$bench" -m 4096 barrier
exits 'a killed rank parses' 0 "$verbfault" fmt killed.scn
exits 'a killed rank replays' 0 "$verbfault" replay killed.scn
want 'its last call' '^call 0 post_send.*\(exit\)' killed.scn
exits 'a command for programs only' 2 "$verbfault" minimize f.scn
want 'why not' 'a recording cannot be minimized'
exits 'no sweep' 2 "$verbfault" sweep f.scn
exits 'another subject' 2 "$verbfault" replay --subject cjaccl f.scn

# ---- what was changed is told ------------------------------------------------

sed '0,/ = mr=1 ;/s// = NULL ENOMEM ;/' cjaccl.scn >edited.scn
exits 'a changed answer' 1 "$verbfault" replay edited.scn
want 'a changed answer' 'parted in reg_mr: call [0-9]+ of rank [01], reg_mr'
sed '0,/\(call 0 poll_cq.*RECV SUCCESS\) len=[0-9]*/s//\1 len=3/' cjaccl.scn \
    >edited.scn
exits 'a changed completion' 1 "$verbfault" replay edited.scn
want 'a changed completion' 'parted in poll_cq: call [0-9]+ of rank 0.*len=3.*but'
sed '0,/granted=[0-9]*:/s//granted=7:/' cjaccl.scn >edited.scn
exits 'another size' 1 "$verbfault" replay edited.scn
want 'another size' 'parted in create_qp: .*recorded granted=7:'
sed '0,/op=2 /s//op=2 sog=1 /' cjaccl.scn >edited.scn
exits 'no such detail' 2 "$verbfault" replay edited.scn
want 'no such detail' 'edited.scn:[0-9]+:[0-9]+: no detail "sog=1"'
# What the mock would grant and the recording was refused, by a device say.
sed 's/ = mr=1 ;.*/ = NULL ENOMEM (planned) ; planned=null:ENOMEM at=0/
    /^call 0 dereg_mr/,$d' f.scn >planned.scn
exits 'a planned answer' 0 "$verbfault" replay planned.scn

# ---- what is not in it -------------------------------------------------------

hidden=verbfaultSecret
cat cjaccl.scn killed.scn f.scn >all.scn
never 'a device name' 'rdma_en|rdma0|rxe0' all.scn
never 'a path or a program' 'cjaccl|careless|/' all.scn
never 'a host' "$(hostname)" all.scn
never 'an address' 'fe80|0x7f[0-9a-f]{8}|10\.0|127\.' all.scn
if [ -x "$programs/run_secret" ]; then
    exits 'a secret' 0 "$verbfault" record -o secret.scn -n 1 --profile ideal \
        -- "$programs/run_secret" $hidden
    exits 'a secret replays' 0 "$verbfault" replay secret.scn
    same_trace 'a secret' secret.scn
    never 'what was sent' "$hidden" secret.scn
    never 'what was sent, in hexadecimal' \
        "$(printf $hidden | od -An -tx1 | tr -d ' \n' | cut -c 1-8)" secret.scn
fi
exits 'names are kept' 0 "$verbfault" record -o named.scn -n 2 --keep-names \
    --profile rxe -- "$bench" -m 64 barrier
want 'names are kept' '^device 0 rdma0$' named.scn
exits 'names replay' 0 "$verbfault" replay named.scn

# ---- over a library that is not the mock's entries ---------------------------

for mode in talk events extended; do
    exits "device, $mode" 0 env VERBFAULT_PROFILE=rxe VERBFAULT_RANKS=1 \
        VERBFAULT_DEVICES=rxe0 LD_LIBRARY_PATH="$libraries/dropin" \
        "$verbfault" record --device -o device.scn -- \
        "$programs/run_passage" $mode 50
    want "device, $mode" '^profile rxe$' device.scn
    exits "device, $mode, replays" 0 "$verbfault" replay device.scn
    same_trace "device, $mode" device.scn
done

# ---- one side ----------------------------------------------------------------

# Machines that record their own: a recorder inside of each rank, over the
# mock's library, as it would be over each machine's own. one_side NAME PROFILE
# RANKS CODE OPTIONS COMMAND: makes NAME0.scn, NAME1.scn, ...
one_side() {
    side=$1 of=$2 sides=$3 ends=$4 more=$5 command=$6
    exits "$side, each side" "$ends" env VERBFAULT="$verbfault" SIDE="$side" \
        OF="$of" COMMAND="$command" MORE="$more" \
        VERBFAULT_REAL_LIBRARY="$libraries/dropin/libibverbs.so.1" \
        "$verbfault" run -n "$sides" --profile "$of" -- sh -c \
        '"$VERBFAULT" record --device --profile "$OF" $MORE \
            -o "$SIDE$VERBFAULT_RANK.scn" -- $COMMAND'
}
# joins NAME CODE FILE...: replays, with nothing of the numbers left
joins() {
    joined=$1 status=$2
    shift 2
    exits "$joined, joined" "$status" "$verbfault" record --join \
        -o "$joined.scn" "$@"
    exits "$joined, joined, replays" 0 "$verbfault" replay "$joined.scn"
    want "$joined, joined, replays" 'as expected'
    never "$joined, joined: strangers" '=\?' "$joined.scn"
    never "$joined, joined: numbers" ' (num|key|mark)=' "$joined.scn"
    same_trace "$joined, joined" "$joined.scn"
}
for profile in rxe thunderbolt; do
    one_side $profile $profile 2 0 '' "$bench -m 64 all_sum barrier"
    for rank in 0 1; do
        never "$profile, one side: nobody's own" 'dest=[0-9]' $profile$rank.scn
        want "$profile, one side: the peer" 'dest=\?:[0-9]' $profile$rank.scn
        never "$profile, one side: an address" 'fe80|0x7f[0-9a-f]{8}|169\.254' \
            $profile$rank.scn
        exits "$profile, one side replays" 0 "$verbfault" replay \
            $profile$rank.scn
        want "$profile, one side replays" 'in part'
        want "$profile, how far" \
            'rank 0 up to call [0-9]+ of [0-9]+ as recorded; the rest needs'
    done
    joins $profile 0 ${profile}0.scn ${profile}1.scn
done
one_side mesh thunderbolt 3 0 '' "$bench -m 64 barrier"
joins mesh 0 mesh0.scn mesh1.scn mesh2.scn
want 'wires are found' '^cable 0:dev1 2:dev0$' mesh.scn
# In the wrong order it is the same run with other numbers.
joins turned 0 mesh2.scn mesh0.scn mesh1.scn
exits 'two of three' 0 "$verbfault" record --join -o two.scn mesh0.scn mesh1.scn
want 'two of three' 'note: [0-9]+ ways lead to somebody who is in none'
exits 'two of three replay' 0 "$verbfault" replay two.scn
want 'two of three replay' 'in part'
joins 'and the third' 0 two.scn mesh2.scn
# What crashes before any message needs one file only.
printf 'fault 0 reg_mr 1 null ENOMEM\n' >fault.scn
one_side alone thunderbolt 2 1 '--scenario fault.scn' "$programs/run_careless"
for rank in 0 1; do
    want 'a crash of one side' \
        '^expect recording crash "null-mr in dereg_mr"' alone$rank.scn
    exits 'a crash of one side replays' 0 "$verbfault" replay alone$rank.scn
    want 'a crash of one side replays' 'crash +as expected +null-mr in dereg_mr'
done
joins 'both crash' 0 alone0.scn alone1.scn
# What crashes behind the first message needs both: that is told.
sed '$d' rxe0.scn >late.scn
echo 'call 0 dereg_mr(mr=NULL) = ? (null-mr)
expect recording crash "null-mr in dereg_mr"' >>late.scn
exits 'a late crash' 1 "$verbfault" replay late.scn
want 'a late crash' 'UNEXPECTED'
want 'a late crash, how far' 'the rest needs the recording of its peer'
exits 'a late crash, joined' 0 "$verbfault" record --join -o crash.scn \
    late.scn rxe1.scn
exits 'a late crash, joined, replays' 0 "$verbfault" replay crash.scn
want 'a late crash, joined, replays' 'crash +as expected +null-mr in dereg_mr'

exits 'one file' 2 "$verbfault" record --join -o a.scn rxe0.scn
want 'one file' 'at least two recordings'
exits 'a command to join' 2 "$verbfault" record --join -o a.scn -n 2 rxe0.scn \
    rxe1.scn
exits 'not of one run' 2 "$verbfault" record --join -o a.scn rxe0.scn \
    cjaccl.scn
want 'not of one run' 'profile|no queue pair of rxe0.scn leads to'
exits 'the same side twice' 2 "$verbfault" record --join -o a.scn rxe0.scn \
    rxe0.scn
want 'the same side twice' 'no queue pair of rxe0.scn leads to'
exits 'two profiles' 2 "$verbfault" record --join -o a.scn rxe0.scn \
    thunderbolt1.scn
want 'two profiles' 'rxe0.scn has the profile rxe, thunderbolt1.scn has'
exits 'no recording' 2 "$verbfault" record --join -o a.scn rxe0.scn fault.scn
want 'no recording' 'fault.scn: no recording'
# Devices number alike: without the marks two ways are as good.
sed 's/ mark=[0-9]*//; s/num=25[0-9]/num=256/; s/dest=?:25[0-9]/dest=?:256/' \
    mesh1.scn >alike1.scn
for rank in 0 2; do
    sed 's/ mark=[0-9]*//; s/num=25[0-9]/num=256/; s/dest=?:25[0-9]/dest=?:256/' \
        mesh$rank.scn >alike$rank.scn
done
exits undecided 2 "$verbfault" record --join -o a.scn alike0.scn alike1.scn \
    alike2.scn
want undecided 'alike0.scn: queue pair 1 leads to one of number 256.*told which'

echo "$passed passed, $failed failed"
[ $failed = 0 ]
