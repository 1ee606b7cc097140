#!/bin/sh
# The command keeps its promises: exit codes, one clear line for bad input,
# nothing left behind. usage: cli.sh PATH_OF_VERBFAULT
set -u
verbfault=$1
readme=$(cd "$(dirname "$0")/.." && pwd)/README.md
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
failed=0 passed=0

# expect NAME CODE PATTERN COMMAND...: exit code, and a line of the output
expect() {
    name=$1 code=$2 pattern=$3
    shift 3
    "$@" >out 2>&1
    got=$?
    if [ $got = "$code" ] && grep -qE "$pattern" out; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $name: exit $got (want $code), want /$pattern/ in:"
        head -n 5 out
    fi
}
# same NAME FILE FILE
same() {
    if cmp -s "$2" "$3"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $1:"
        diff "$2" "$3"
    fi
}
# one_line NAME CODE PATTERN COMMAND...: and it is the only line
one_line() {
    expect "$@"
    if [ "$(wc -l <out)" != 1 ]; then
        failed=$((failed + 1))
        echo "FAIL $1: more than one line:"
        head -n 5 out
    fi
}

# An installed libjaccl makes one more.
# All but the one that only recordings have.
subjects=$("$verbfault" list subjects | grep -vcE 'left out|^subject recording')

printf 'fault 0 reg_mr 1 null ENOMEM\nrun init\n' >crash.scn
printf 'run init\nrun all_sum float32 1024\n' >clean.scn
printf 'fault 0 regmr 1 null ENOMEM\nrun init\n' >word.scn
printf 'run init\nrun all_sum float32 99999999999\n' >range.scn
printf 'ranks 2 mesh\nfault 5 reg_mr 1 null ENOMEM\n' >rank.scn
printf 'run init\n\000\001\002' >binary.scn
head -c 100000000 /dev/zero | tr '\0' '#' >huge.scn
: >empty.scn

: >any.scn
if "$verbfault" list subjects | grep -q 'native .*left out'; then
    one_line 'native without libjaccl' 3 'native is left out: .*libjaccl' \
        "$verbfault" replay --subject native any.scn
    one_line 'trace of native without libjaccl' 3 'native is left out' \
        "$verbfault" trace --subject native any.scn
fi
expect 'help' 0 '^usage: verbfault' "$verbfault" --help
for sub in replay trace minimize fmt list; do
    expect "$sub --help" 0 "^usage: verbfault $sub" "$verbfault" $sub --help
    [ $sub = list ] || one_line "$sub without a file" 2 'file' "$verbfault" $sub
    [ $sub = list ] ||
        expect "$sub --nonsense" 2 'nonsense' "$verbfault" $sub --nonsense x
done
one_line 'no subcommand' 2 'subcommand' "$verbfault"
one_line 'unknown subcommand' 2 'no subcommand "frob"' "$verbfault" frob
one_line 'unknown word' 2 '^word.scn:1:9: unknown verb "regmr".*reg_mr' \
    "$verbfault" replay word.scn
one_line 'number out of range' 2 '^range.scn:2:21: ' "$verbfault" replay range.scn
one_line 'rank out of range' 2 '^rank.scn:2:7: ' "$verbfault" replay rank.scn
one_line 'not text' 2 '^binary.scn:2:1: not text' "$verbfault" fmt binary.scn
one_line '100 MB' 2 '^huge.scn: ' "$verbfault" replay huge.scn
one_line 'no such file' 2 '^gone.scn: ' "$verbfault" replay gone.scn
one_line 'a directory' 2 '^\.: ' "$verbfault" replay .
one_line 'no such subject' 2 'no subject "nobody"' \
    "$verbfault" replay --subject nobody clean.scn
one_line 'output cannot be written' 2 'cannot be written' sh -c \
    "'$verbfault' minimize -o /nonexistent/x crash.scn 2>&1 | grep written; exit 2"

expect 'a crash is no surprise without an expectation' 0 '0 unexpected' \
    "$verbfault" replay crash.scn
expect 'the empty scenario' 0 "$subjects runs, 0 unexpected" "$verbfault" replay empty.scn
{
    cat crash.scn
    echo 'expect legacy-2026-08-22 ready'
} >surprise.scn
expect 'a surprise' 1 'UNEXPECTED' "$verbfault" replay surprise.scn
{
    cat crash.scn
    echo 'expect legacy-2026-08-22 crash "some other title"'
} >title.scn
expect 'another title is a surprise' 1 'UNEXPECTED' "$verbfault" replay title.scn

expect 'trace shows the planned call' 1 \
    '^r0 #8 reg_mr\(pd=1, len=4096, access=0x7\) = NULL ENOMEM \(planned\)' \
    "$verbfault" trace --subject legacy-2026-08-22 crash.scn
expect 'trace names the finding' 1 '^r0 !! null-mr in dereg_mr' \
    "$verbfault" trace --subject legacy-2026-08-22 crash.scn
expect 'keep going really faults' 1 'rank 0: crash: fault in dereg_mr' \
    "$verbfault" trace --keep-going --subject legacy-2026-08-22 crash.scn
# A fault that never strikes tests nothing, and is told.
printf '%s\n' 'fault 0 reg_mr 1 null ENOMEM' 'fault 0 reg_mr 999 null EIO' \
    'channel 1 close 999999' 'run init' >far.scn
missed='fault 0 reg_mr 999 null EIO; channel 1 close 999999'
expect 'replay says what never struck' 0 "^    never came to: $missed\$" \
    "$verbfault" replay --subject legacy-2026-08-22 far.scn
expect 'also what struck another subject' 0 \
    "^    never came to: fault 0 reg_mr 1 null ENOMEM; $missed\$" \
    "$verbfault" replay --subject sockets far.scn
expect 'trace does' 1 '^never came to: fault 0 reg_mr 999 null EIO$' \
    "$verbfault" trace far.scn
expect 'of the side channel, too' 1 '^never came to: channel 1 close 999999$' \
    "$verbfault" trace far.scn
"$verbfault" trace far.scn >calls 2>/dev/null
expect 'but not among the calls' 1 '^0$' grep -c 'never came' calls
expect 'explain does' 1 'Rank 0 never came to 1 of its 2 faults\.' \
    "$verbfault" explain far.scn
expect 'explain of the side channel' 1 'Rank 1 never came to its fault\.' \
    "$verbfault" explain far.scn
for format in json junit sarif; do
    expect "$format does" 0 '999 null EIO.*[^ ]* *channel 1 close 999999' sh -c \
        "'$verbfault' replay --$format - far.scn | tr -d '\n'"
done
expect 'nothing is told where all struck' 1 '^0$' sh -c \
    "'$verbfault' replay --subject cjaccl crash.scn | grep -c never"

"$verbfault" trace clean.scn >one 2>&1
"$verbfault" trace clean.scn >two 2>&1
same 'two traces are the same, byte for byte' one two

expect 'minimize keeps the title' 0 'fault 0 reg_mr 1 null ENOMEM' \
    "$verbfault" minimize crash.scn
expect 'nothing to minimize' 1 'ends ready' "$verbfault" minimize clean.scn
"$verbfault" fmt crash.scn >once.scn
"$verbfault" fmt once.scn >twice.scn
same 'fmt is stable' once.scn twice.scn
expect 'fmt reads standard input' 0 '^run init' sh -c \
    "'$verbfault' fmt - <clean.scn"
expect 'fmt --full shows the defaults' 0 '^cable 0:rdma_en2 1:rdma_en2' \
    "$verbfault" fmt --full clean.scn
for list in subjects profiles verbs effects outcomes types operations settings \
    details; do
    expect "list $list" 0 "^${list%s} " "$verbfault" list $list
done

# Ten crashing inputs of one kind, one minimal text.
i=0
while [ $i -lt 10 ]; do
    case $i in
    0) printf 'run init\nrun init\n' ;;
    1) printf 'device * rdma_en2 max_mr=10\nrun init\n' ;;
    2) printf 'device 1 rdma_en2 used_mr=64\nrun init\nrun barrier\n' ;;
    3) printf 'fault 1 reg_mr 33+ null EBUSY\norder 9\nrun init\n' ;;
    4) printf 'ranks 3 mesh\nfault 2 reg_mr 100 null EIO\nrun init\n' ;;
    5) printf 'ranks 2 ring\nfault 0 reg_mr 7 null ENOMEM\nrun init\n' ;;
    6) printf 'profile rxe\nfault 0 reg_mr 2 null 12\nrun init\nrun init\n' ;;
    7) printf 'ranks 8 mesh\nrun init\nrun finalize\nfault 7 reg_mr 447 null ENOMEM\n' ;;
    8) printf 'stray\nchannel 1 garble 900\nfault 1 reg_mr 64 null 1\nrun init\n' ;;
    9) printf 'ranks 4 ring 2\nfault 3 reg_mr 5+ null EAGAIN\nrun init\nrun all_sum bool 3\n' ;;
    esac >kind.scn
    expect "kind $i" 0 'null-mr in dereg_mr' \
        "$verbfault" minimize -o "min$i.scn" kind.scn
    same "kind $i minimizes to the same text" min0.scn "min$i.scn"
    i=$((i + 1))
done

# The README's scenario does what the README says.
sed -n '/^    # another process holds/,/^    expect cjaccl/s/^    //p' \
    "$readme" >readme.scn
expect 'the scenario of the README' 0 "$subjects runs, 0 unexpected" \
    "$verbfault" replay readme.scn
expect 'it has its expectations' 0 '^expect cjaccl error' cat readme.scn

expect 'an expectation of nobody' 2 ':3:1: no subject "foo"' sh -c \
    "{ cat crash.scn; echo expect foo crash; } >foo.scn; '$verbfault' replay foo.scn"
expect 'bad files are found before the first run' 2 '^word.scn:1:9' \
    "$verbfault" replay clean.scn word.scn
expect 'an inline verb is no symbol' 2 '^poll.scn:1:19: ' sh -c \
    "echo library 0 without ibv_poll_cq >poll.scn; '$verbfault' replay poll.scn"
expect 'a full disk' 3 'cannot be written' sh -c "'$verbfault' list >/dev/full"
expect 'nothing to run is said' 0 'nothing runs' "$verbfault" replay empty.scn

echo "$passed passed, $failed failed"
[ $failed = 0 ]
