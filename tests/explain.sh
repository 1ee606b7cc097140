#!/bin/sh
# verbfault explain says what happened, as text, picture and page; and what a
# scenario says of itself cannot become markup or a terminal's command.
# usage: explain.sh PATH_OF_VERBFAULT REPRO
set -u
verbfault=$1 repro=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
# Lines are wrapped: a short name, wherever the repository lies.
cp -R "$repro" repro || exit 1
repro=repro
LC_ALL=C
export LC_ALL
unset COLUMNS NO_COLOR
failed=0 passed=0
# check NAME COMMAND...: the file `out` is shown when it fails
check() {
    name=$1
    shift
    if "$@" >check.out 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $name: $*"
        head -n 60 out
        head -n 5 check.out
    fi
}
# explain CODE ARGUMENT...: into the file `out`
explain() {
    want=$1
    shift
    "$verbfault" explain "$@" >out 2>errors
    got=$?
    check "exit $want of $*" [ $got = "$want" ]
}
# says NAME LINE...: they are there, in this order
says() {
    name=$1
    shift
    for line in "$@"; do printf '%s\n' "$line"; done >wanted
    check "$name" awk 'NR == FNR { wanted[NR] = $0; count = NR; next }
        n < count && index($0, wanted[n + 1]) { n++ }
        END { if (n < count) { print "missing: " wanted[n + 1]; exit 1 } }' \
        wanted out
}

# ---- runs of the repository

legacy='--subject legacy-2026-08-22'
explain 1 $legacy "$repro"/null-mr-in-dereg_mr/*.scn
says 'a region that is not there' \
    'crash: null-mr in dereg_mr' \
    'Rank 0: call 1 of reg_mr answers NULL with errno ENOMEM.' \
    'r0 r1' \
    'run init' \
    'reg_mr x64' \
    '!  |   #8 reg_mr(pd=1, len=4096, access=0x7) = NULL ENOMEM (planned)' \
    'X  |   #9 dereg_mr(mr=NULL) = ? (null-mr)' \
    'X  |   null-mr in dereg_mr: a NULL mr was passed on' \
    '   u   #76-143 dereg_mr x64, destroy_qp, destroy_cq, dealloc_pd, close' \
    'r0  crash: null-mr in dereg_mr: a NULL mr was passed on' \
    'not released 4 (context 1; pd 1; cq 1; qp 1): its process ends' \
    'r1  error: error in init' \
    'made 69 objects, released 1, undid 68, nothing is left'

explain 0 --subject cjaccl "$repro"/null-mr-in-dereg_mr/*.scn
says 'the same on cjaccl' \
    '(planned)' \
    'u  |   #' \
    'x  |   error in init: register arena: cjaccl: rank 0: rdma_en2' \
    'undid 5, nothing is left'

explain 1 $legacy "$repro"/leak-of-device-list/*.scn
says 'a list that is never freed' \
    'open_device(device=1) = NULL ENOMEM (planned)' \
    'leak of device-list' \
    'not released 1 (list 1)'

explain 1 $legacy "$repro"/index-of-empty-infos-in-ring/*.scn
says 'a byte of the side channel' \
    'The byte after the first 0 that rank 0 sends on the side channel' \
    '!  |   a byte of the side channel is inverted (planned)' \
    '*  |   side channel: sends 64 bytes to r1' \
    'X  |   index of empty infos in ring'

explain 1 $legacy "$repro"/waits-for-completions/*.scn
says 'a completion that never comes' \
    'Rank 0: completion 1 never comes.' \
    '!  |   #80 completion(qp=1, wr_id=0x10001, status=0) = drop (planned)' \
    '+->*   #78-80 post_recv, post_send, poll_cq  <- r0 4096 bytes' \
    'X      waits for completions: nothing can bring it any more' \
    'r0  hang: waits for completions'

# ---- messages

printf 'run init\nrun all_sum float32 1024\n' >sum.scn
explain 0 --subject cjaccl sum.scn
says 'a message goes from post to completion' \
    'side channel: receives 4 bytes from r1' \
    'post_recv, post_send  -> r1' \
    '+->*   #18-20 post_recv, post_send, poll_cq  <- r0'
printf 'fault 0 reg_mr 999 null ENOMEM\nrun init\n' >far.scn
explain 0 far.scn
says 'a fault that never struck' 'call 999 of reg_mr answers NULL' \
    'Rank 0 never came to its fault.'

printf 'ranks 8 mesh\nrun init\nrun all_sum float32 64\n' >eight.scn
explain 0 --subject cjaccl eight.scn
says 'eight ranks' 'r0 r1 r2 r3 r4 r5 r6 r7' '*<-+--+--+--+--+--+--+'
for topology in '2 ring' '2 ring 2' '3 ring 2' '4 mesh'; do
    printf 'ranks %s\nrun init\nrun all_sum float32 4096\n' "$topology" >t.scn
    for subject in cjaccl legacy-2026-08-22; do
        COLUMNS=400 explain 0 --subject $subject --all t.scn
        # Every completion of a receive has the message that it received.
        check "no receive without its send, $topology, $subject" awk '
            / RECV SUCCESS / {
                receives++
                if (!/  <- r[0-9]/) { print; bad = 1 }
            }
            END { exit bad || !receives }' out
    done
done

cp "$repro"/null-mr-in-dereg_mr/*.scn null.scn

# ---- width, colours, the same bytes

explain 0 --subject cjaccl --all sum.scn
check 'all of it' sh -c '! grep -q " x[0-9]" out'
for columns in 60 200; do
    COLUMNS=$columns "$verbfault" explain $legacy null.scn >out
    check "no line wider than $columns" \
        awk -v n=$columns 'length($0) > n { print; bad = 1 } END { exit bad }' \
        out
done
check 'no colour where no terminal is' sh -c '! grep -q "$(printf "\033")" out'
# On a terminal each colour is put on and taken off again, and nothing else is.
if command -v python3 >/dev/null; then
    # coloured NAME=VALUE...: what it prints on a terminal
    coloured() {
        env "$@" python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' \
            "$verbfault" explain $legacy null.scn </dev/null >out
    }
    escape=$(printf '\033')
    coloured TERM=xterm
    check 'colours on a terminal' grep -q "$escape\\[1;31m" out
    check 'what is put on is taken off, and no more' awk '
        { n += gsub(/\033\[[0-9;]*[1-9]m/, ""); m += gsub(/\033\[0m/, "") }
        END { print n, m; exit n != m }' out
    coloured TERM=xterm NO_COLOR=1
    check 'NO_COLOR' sh -c '! grep -q "$1" out' - "$escape"
    coloured TERM=dumb
    check 'a terminal without colours' sh -c '! grep -q "$1" out' - "$escape"
else
    echo "skipped: colours on a terminal (no python3)"
fi
explain 0 --svg one.svg --html one.html --subject cjaccl eight.scn
explain 0 --svg two.svg --html two.html --subject cjaccl eight.scn
check 'the same picture' cmp one.svg two.svg
check 'the same page' cmp one.html two.html
check 'nothing is printed beside it' [ ! -s out ]
check 'nothing from outside' sh -c \
    '! grep -qE "(src|href)=|@import|url\(" one.svg one.html'
check 'a title for each mark' \
    sh -c '[ "$(grep -c "class=\"row" one.svg)" -le \
             "$(grep -c "<title>" one.svg)" ]'
check 'light and dark' grep -q 'prefers-color-scheme:dark' one.svg

# ---- hostile text

{
    printf '# </pre><script>alert(1)</script> "&\047\n'
    printf 'fault 0 reg_mr 1 null ENOMEM # ]]><svg onload=x>\nrun init\n'
} >'<b>&.scn'
explain 1 $legacy --svg bad.svg --html bad.html '<b>&.scn'
cp bad.html out
check 'no markup of a scenario' \
    sh -c '! grep -qE "<script>alert|<svg onload|<b>" bad.svg bad.html'
check 'it is there as text' grep -q '&lt;script&gt;alert(1)&lt;/script&gt;' out
explain 1 $legacy '<b>&.scn'
check 'nothing for a terminal' sh -c '! grep -q "$(printf "\033")" out'

if command -v xmllint >/dev/null 2>&1; then
    for file in one.svg bad.svg one.html bad.html; do
        check "$file is well-formed" xmllint --noout "$file"
    done
else
    echo "skipped: well-formedness (no xmllint; Debian: libxml2-utils)"
fi

# ---- usage

# usage NAME PATTERN ARGUMENT...: exit 2 with one line that says what is wrong
usage() {
    name=$1 pattern=$2
    shift 2
    explain 2 "$@"
    cp errors out
    check "$name" sh -c "grep -q -e '$pattern' errors &&
        [ \$(wc -l <errors) = 1 ]"
}
usage 'no file' 'takes one file'
usage 'two files' 'takes one file' sum.scn sum.scn
usage 'no such option' 'unknown option' --nothing sum.scn
usage 'no such subject' 'no subject "nobody"' --subject nobody sum.scn
usage 'no such file' 'none.scn' none.scn
usage 'both to one place' 'standard output is for one' --svg - --html - sum.scn
explain 3 --svg /nonexistent/x.svg --subject cjaccl sum.scn
explain 0 --help
says 'help' 'usage: verbfault explain'

echo "$passed checks passed, $failed failed"
[ $failed = 0 ]
