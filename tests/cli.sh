#!/bin/sh
# The command keeps its promises: exit codes, one clear line for bad input,
# nothing left behind. usage: cli.sh PATH_OF_VERBFAULT
set -u
verbfault=$1
readme=$(cd "$(dirname "$0")/.." && pwd)/README.md
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
# Names that need no quotes and fit into a list, wherever the repository lies.
ln -s "$verbfault" verbfault
verbfault=$scratch/verbfault
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
one_line 'a full disk' 3 \
    '^verbfault: standard output: cannot be written: No space left' \
    sh -c "'$verbfault' list >/dev/full"
for word in --help --version; do
    one_line "a full disk, $word" 3 \
        '^verbfault: standard output: cannot be written: No space left' \
        sh -c "'$verbfault' $word >/dev/full"
done

# ---- a pipe has its words once

mkfifo pipe
{
    cat crash.scn
    echo 'expect legacy-2026-08-22 ready'
} >pipe &
expect 'a scenario from a pipe' 1 '^1 run, 1 unexpected' \
    timeout 20 "$verbfault" replay --subject legacy-2026-08-22 pipe
one_line 'standard input twice' 2 'standard input is read once' \
    "$verbfault" replay - - <clean.scn

# ---- files that cannot be written are told before anything is run
mkdir place
: >place/file
export LC_ALL=C
# refused NAME PATH WHY COMMAND...: one line, exit 3, and no result is printed
refused() {
    name=$1 path=$2 why=$3
    shift 3
    one_line "$name" 3 "^verbfault $1: $path: cannot be written: $why\$" \
        "$verbfault" "$@"
}
for bad in 'gone/x|No such file or directory' 'place|Is a directory' \
    'place/file/x|Not a directory'; do
    path=${bad%|*} why=${bad#*|}
    refused "minimize -o $path" "$path" "$why" minimize -o "$path" crash.scn
    for option in svg html; do
        refused "explain --$option $path" "$path" "$why" \
            explain "--$option" "$path" clean.scn
    done
    for option in json junit sarif; do
        refused "replay --$option $path" "$path" "$why" \
            replay "--$option" "$path" clean.scn
    done
    # A run of its own would take minutes.
    for option in --json --junit --sarif --html -o --resume; do
        refused "sweep $option $path" "$path" "$why" \
            sweep --preset full $option "$path"
    done
    for option in json junit sarif html; do
        refused "sweep --$option $path of a program" "$path" "$why" \
            sweep -n 1 "--$option" "$path" -- sleep 600
    done
done
refused 'examples in a file' place/file 'Not a directory' \
    sweep --preset full --examples place/file
refused 'examples of a program' gone/x 'No such file or directory' \
    sweep --examples gone/x -- sleep 600
refused 'record -o' gone/x 'No such file or directory' \
    record -o gone/x -- sleep 600
refused 'record -o of a folder' place 'Is a directory' \
    record -o place -- sleep 600
one_line 'run --trace' 3 'gone/x: cannot be written: No such file' \
    "$verbfault" run --trace gone/x -- sleep 600
one_line 'two results in one file' 2 'same.json is for one of them' \
    "$verbfault" replay --json same.json --junit same.json clean.scn
one_line 'two in one file of two names' 2 './same.json is for one of them' \
    "$verbfault" sweep --json same.json --html ./same.json clean.scn
ln -s one.json two.json
one_line 'two in one file, by a link' 2 'two.json is for one of them' \
    "$verbfault" sweep --json one.json --html two.json clean.scn
cp clean.scn both.scn
one_line 'a scenario that results would replace' 2 \
    'both.scn: it is to be read and to be written' \
    "$verbfault" replay --json ./both.scn both.scn
one_line 'and those of a sweep' 2 \
    'both.scn: it is to be read and to be written' \
    "$verbfault" sweep -o both.scn both.scn
same 'it is as it was' clean.scn both.scn
one_line 'two on standard output' 2 'standard output is for one of them' \
    "$verbfault" sweep --html - --sarif -
one_line 'the state of a sweep is a file' 2 'o takes a file' \
    "$verbfault" sweep -o -
expect 'what was asked is as it was' 0 '^file$' ls place
# The disk is full in the middle of it: the old file stays, nothing else does.
echo old >place/page.html
one_line 'a file that grows too large' 3 \
    'place/page.html: cannot be written: File too large' sh -c "
    trap '' XFSZ; ulimit -f 4
    exec '$verbfault' explain --html place/page.html clean.scn"
expect 'the old one stays' 0 '^old$' cat place/page.html
ls -A place >left
expect 'and nothing half-written' 0 '^2 left' wc -l left
chmod 640 place/page.html
ln -s place/page.html link.html
"$verbfault" explain --html link.html clean.scn
expect 'a link is followed' 0 '^</html>' cat place/page.html
expect 'the link stays, and the permissions' 0 '^-rw-r-----.*place/page.html$' \
    sh -c 'test -L link.html && ls -l place/page.html'
expect 'what is no file is written as it is' 0 '^<!DOCTYPE html>' sh -c \
    "'$verbfault' explain --html /dev/stdout clean.scn | cat"
if [ "$(id -u)" != 0 ]; then
    chmod 500 place
    expect 'a folder that takes no new file' 0 '^fine$' sh -c \
        "'$verbfault' explain --html place/page.html clean.scn && echo fine"
    refused 'nor a new one in it' place/new 'Permission denied' \
        explain --html place/new clean.scn
    chmod 700 place
fi
# Faults without a run are for programs: no model runs in silence.
printf 'profile ideal\nfault 0 reg_mr 1 null ENOMEM\n' >own.scn
for subcommand in replay trace explain minimize sweep; do
    expect "$subcommand of a program's faults" 2 \
        '^own.scn: .* verbfault run --scenario own.scn -- COMMAND' \
        "$verbfault" $subcommand own.scn
done
expect 'beside another' 2 '^own.scn: ' "$verbfault" replay clean.scn own.scn
expect 'nothing to run is said' 0 'nothing runs' "$verbfault" replay empty.scn

# Ctrl-C, in the middle of a scenario that takes long. Only the replay hears of
# it: what it has started it ends.
{
    printf 'ranks 8 mesh\nrun init\n'
    yes 'run all_sum float64 1048576' | head -n 150
} >long.scn
timeout --foreground -k 5 20 "$verbfault" replay --subject cjaccl --subject sockets \
    clean.scn long.scn >rows 2>&1 &
pid=$!
while kill -0 $pid 2>/dev/null && ! grep -q '^clean.scn *sockets' rows; do
    continue
done
kill -INT $pid
wait $pid
ended=$?
expect 'Ctrl-C in a replay' 0 '^2 runs, 0 unexpected \(interrupted\)$' cat rows
expect 'and it is told' 0 '^1$' echo $ended
expect 'no row of what was not done' 0 '^0$' sh -c 'grep -c long.scn rows || :'

echo "$passed passed, $failed failed"
[ $failed = 0 ]
