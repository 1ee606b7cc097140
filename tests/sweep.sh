#!/bin/sh
# verbfault sweep keeps its promises: what it counts, that nothing is lost when
# it is interrupted or shared out, and that others can read what it writes.
# usage: sweep.sh PATH_OF_VERBFAULT
set -u
verbfault=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
# Names that need no quotes and fit into a list, wherever the repository lies.
ln -s "$verbfault" verbfault
verbfault=$scratch/verbfault
failed=0 passed=0

good() {
    passed=$((passed + 1))
}
# bad NAME WHY [FILE]
bad() {
    failed=$((failed + 1))
    echo "FAIL $1: $2"
    [ $# -lt 3 ] || head -n 8 "$3"
}
# expect NAME CODE PATTERN COMMAND...: exit code, and a line of the output
expect() {
    name=$1 code=$2 pattern=$3
    shift 3
    "$@" >out 2>&1
    got=$?
    if [ $got = "$code" ] && grep -qE -e "$pattern" out; then
        good
    else
        bad "$name" "exit $got (want $code), want /$pattern/ in:" out
    fi
}
same() {
    if cmp -s "$2" "$3"; then
        good
    else
        bad "$1" "$(cmp "$2" "$3" 2>&1)"
    fi
}
# check NAME COMMAND...
check() {
    name=$1
    shift
    if "$@" >check.out 2>&1; then good; else bad "$name" "$*" check.out; fi
}

legacy="--subject legacy-2026-08-22"
printf 'run init\nexpect cjaccl ready\n' >start.scn
printf 'fault 0 reg_mr 1 null ENOMEM\nrun init\n' >faulty.scn
printf 'run nit\n' >bad.scn

# ---- usage
expect 'help' 0 '^usage: verbfault sweep' "$verbfault" sweep --help
expect 'the command tells of it' 0 '^  sweep ' "$verbfault" --help
expect 'a bad scenario' 2 '^bad.scn:1:5: ' "$verbfault" sweep bad.scn
# A command without the -- before it.
for words in '-n 2' '-n2' '--profile ideal' '--timeout=3' '--max-points 5'; do
    option=${words%%[ =2]*}
    # shellcheck disable=SC2086
    expect "$words without a --" 2 \
        "^verbfault sweep: $option.* is for programs, and the -- before the" \
        "$verbfault" sweep $words sleep 1
    check 'in one line' [ "$(wc -l <out)" = 1 ]
done
printf '#!/bin/sh\nexit 0\n' >program
chmod +x program
for command in sweep replay trace explain minimize; do
    expect "$command of a program" 2 \
        '^\./program: a program, not a scenario: .* behind a --$' \
        "$verbfault" $command ./program
    check 'in one line, too' [ "$(wc -l <out)" = 1 ]
done
expect 'a command before the --' 2 '"sleep" stands before the --' \
    "$verbfault" sweep -n 2 sleep -- 1
expect 'a scenario before it' 2 'a scenario is --scenario FILE' \
    "$verbfault" sweep start.scn -- sleep 1
expect 'nothing behind it' 2 'a command is missing' "$verbfault" sweep -n 2 --
expect 'no such verb' 2 'no such word: "regmr"' \
    "$verbfault" sweep --verbs reg_mr,regmr
expect 'no such rank' 2 'no such word: "9"' "$verbfault" sweep --ranks 9
# What chooses nothing says so: a gate that tests nothing must not be green.
expect 'a rank that the scenario does not have' 2 \
    '^verbfault sweep: --ranks: there is no rank 7: 2 ranks, from 0 on' \
    "$verbfault" sweep --ranks 7 start.scn
check 'and nothing else' [ "$(wc -l <out)" = 1 ]
expect 'beside one that it has' 2 'there is no rank 2:' \
    "$verbfault" sweep --ranks 0,2 --subject cjaccl
expect 'a rank that one scenario of a preset has' 0 \
    '^2 ranks ring: cjaccl: nothing of what was asked for can go wrong in it' \
    "$verbfault" sweep --subject cjaccl --preset quick --ranks 2 \
    --verbs create_qp,setup
check 'the others have no run' \
    grep -q '^== cjaccl, 2 ranks mesh, depth 1: 0 points, 0 runs' out
expect 'a verb that nothing calls' 0 \
    '^verbfault sweep: --verbs: no point of create_ah,destroy_ah$' \
    "$verbfault" sweep --subject cjaccl --verbs create_ah,create_qp,destroy_ah
expect 'a shard without a point' 0 'shard 9/9: .* this one has none' \
    "$verbfault" sweep --subject cjaccl --verbs create_qp --shard 9/9
printf '%s\n' 'device * rdma_en2' >still.scn
expect 'a scenario that runs nothing is told' 0 \
    '^still.scn: nothing runs in it, so no call can fail' \
    "$verbfault" sweep --subject cjaccl still.scn
expect 'no point at all is no success' 2 'nothing that can go wrong' \
    "$verbfault" sweep --subject cjaccl --verbs create_ah start.scn
expect 'no such depth' 2 'from 1 to 2' "$verbfault" sweep --depth 3
expect 'no such shard' 2 'K/N' "$verbfault" sweep --shard 3/2
expect 'no such preset' 2 'no preset "slow"' "$verbfault" sweep --preset slow
expect 'neither once nor onward' 2 'leave nothing' \
    "$verbfault" sweep --once --onward
expect 'no such subject' 2 'no subject' "$verbfault" sweep --subject x
expect 'no state' 2 'is not the state of a sweep' \
    "$verbfault" sweep --merge start.scn
expect 'a state that cannot be written' 3 'cannot be written' \
    "$verbfault" sweep $legacy --verbs reg_mr -o gone/x start.scn

# ---- what it counts
expect 'each region of a rank' 0 'depth 1: 64 points, 576 runs$' \
    "$verbfault" sweep $legacy --verbs reg_mr --ranks 0 start.scn
expect 'once' 0 'depth 1: 64 points, 384 runs$' \
    "$verbfault" sweep $legacy --verbs reg_mr --ranks 0 --once start.scn
expect 'onward: ends and cables cannot come twice' 0 '64 points, 384 runs$' \
    "$verbfault" sweep $legacy --verbs reg_mr --ranks 0 --onward start.scn
expect 'their crash under its title' 0 '^ +384  crash +null-mr in dereg_mr$' \
    "$verbfault" sweep $legacy --verbs reg_mr --ranks 0 start.scn
check 'and the first fault under that' \
    grep -q '^ *fault 0 reg_mr 1 null ENOMEM$' out
expect 'the promises of cjaccl' 0 '^0 broken promises$|numbers. 0 broken' \
    sh -c "'$verbfault' sweep --subject cjaccl | sed 's/.*repeats\\. //'"
expect 'without a scenario there is one' 0 '^== cjaccl, 2 ranks mesh' \
    "$verbfault" sweep --subject cjaccl
expect 'a scenario with a fault is said to have one' 0 \
    'ends so without any fault: crash: null-mr' \
    "$verbfault" sweep $legacy --verbs dereg_mr faulty.scn
expect 'the call that has a fault gets no other' 2 'nothing that can go wrong' \
    "$verbfault" sweep $legacy --verbs reg_mr --ranks 0 faulty.scn
expect 'a preset' 0 '^== cjaccl, 3 ranks mesh' \
    "$verbfault" sweep --subject cjaccl --preset quick --verbs create_qp
"$verbfault" sweep --subject cjaccl --verbs create_qp >out 2>errors
check 'it is quiet in a pipe' [ "$(wc -l <errors)" = 1 ]

# ---- nothing is lost
sweep_it() {
    "$verbfault" sweep $legacy --subject cjaccl --verbs create_qp,channel,setup \
        "$@" 2>errors
}
sweep_it -o whole.txt start.scn >whole.out
head -n 60 whole.txt >cut.txt
printf 'point\t0\t12\t0 chan' >>cut.txt
sweep_it --resume cut.txt start.scn >cut.out
same 'a killed sweep goes on: the state' whole.txt cut.txt
same 'a killed sweep goes on: the report' whole.out cut.out
head -n 60 whole.txt >cut.txt
"$verbfault" sweep --resume cut.txt >cut.out 2>errors
same 'the state alone says what to do' whole.txt cut.txt
expect 'another sweep is not gone on with' 2 'the state of another sweep' \
    "$verbfault" sweep $legacy --resume whole.txt start.scn
expect 'nor another shard' 2 'the state of another shard' \
    "$verbfault" sweep --resume whole.txt $legacy --subject cjaccl \
    --verbs create_qp,channel,setup --shard 1/2 start.scn
sweep_it --jobs 1 -o one.txt start.scn >one.out
same 'one worker: the state' whole.txt one.txt
same 'one worker: the report' whole.out one.out
for shard in 1 2 3; do
    sweep_it --shard $shard/3 -o shard$shard.txt start.scn >/dev/null
done
"$verbfault" sweep --merge -o merged.txt shard2.txt shard3.txt shard1.txt \
    >merged.out
same 'shards merge: the state' whole.txt merged.txt
same 'shards merge: the report' whole.out merged.out
expect 'a missing shard is said' 1 'points are missing' \
    "$verbfault" sweep --merge shard1.txt shard3.txt

# Ctrl-C, once some points are done.
long="--depth 2 --verbs reg_mr,dereg_mr,create_cq --jobs 2"
: >interrupted.txt
# shellcheck disable=SC2086
"$verbfault" sweep $legacy $long -o interrupted.txt start.scn >out 2>errors &
pid=$!
while kill -0 $pid 2>/dev/null &&
    [ "$(grep -c '^point' interrupted.txt)" -lt 5 ]; do
    :
done
kill -INT $pid
wait $pid
code=$?
check 'Ctrl-C ends it with 1' [ $code = 1 ]
check 'and says how to go on' grep -q 'sweep --resume interrupted.txt' errors
check 'it keeps what is done' [ "$(grep -c '^point' interrupted.txt)" -ge 5 ]
check 'and is not through' [ "$(grep -c '^point' interrupted.txt)" -lt 250 ]
check 'it leaves no process' sh -c \
    "! ps -A -o args 2>/dev/null | grep -q '[o] interrupted.txt'"

# ---- what others read
sweep_it --json r.json --junit r.xml --sarif r.sarif --examples examples \
    start.scn >out
"$verbfault" replay --json p.json --junit p.xml --sarif p.sarif start.scn \
    faulty.scn >out
{
    cat faulty.scn
    echo 'expect cjaccl ready'
} >'a "strange" <name> & more.scn'
expect 'replay still says what is unexpected' 1 UNEXPECTED \
    "$verbfault" replay --json q.json --junit q.xml --sarif q.sarif \
    'a "strange" <name> & more.scn'
if command -v python3 >/dev/null; then
    for file in r.json p.json q.json r.sarif p.sarif q.sarif; do
        check "$file parses" python3 -m json.tool $file
    done
    check 'the strange name is whole' python3 - <<'PYTHON'
import json
rows = json.load(open("q.json"))["results"]
assert all(r["scenario"] == 'a "strange" <name> & more.scn' for r in rows)
wrong = [r for r in rows if r["verdict"] == "wrong"]
assert [r["subject"] for r in wrong] == ["cjaccl"], wrong
found = json.load(open("q.sarif"))["runs"][0]
assert [r["level"] for r in found["results"]].count("error") == 1
uri = found["results"][0]["locations"][0]["physicalLocation"][
    "artifactLocation"]["uri"]
assert uri == "a%20%22strange%22%20%3Cname%3E%20%26%20more.scn", uri
for result in found["results"]:
    rule = found["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert rule["id"] == result["ruleId"]
sweep = json.load(open("r.json"))
for walk in sweep["walks"]:
    rows = [r for r in sweep["results"] if r["subject"] == walk["subject"]]
    assert sum(r["count"] for r in rows) == walk["runs"], walk
    assert walk["points"] == walk["points_done"] > 0
PYTHON
else
    echo "skip: no python3 to read JSON with"
fi
if command -v xmllint >/dev/null; then
    for file in r.xml p.xml q.xml; do
        check "$file parses" xmllint --noout $file
    done
    check 'a failure in it' [ "$(xmllint --xpath 'count(//failure)' q.xml)" = 1 ]
    check 'the name in it' [ "$(xmllint --xpath \
        'string(//failure/../@name)' q.xml)" = 'a "strange" <name> & more.scn' ]
else
    echo "skip: no xmllint to read XML with"
fi
expect 'JSON on standard output is all that is there' 0 '^\{' sh -c \
    "'$verbfault' replay --json - start.scn | head -n 1"
expect 'a result that cannot be written' 3 'cannot be written' \
    "$verbfault" replay --junit gone/x.xml start.scn
expect 'examples do what they say' 0 ', 0 unexpected$' \
    "$verbfault" replay examples/*.scn
check 'and there are some' [ "$(ls examples | wc -l)" -gt 10 ]

echo "$passed passed, $failed failed"
[ $failed = 0 ]
