#!/bin/sh
# `verbfault doctor` names each failure that it can name, on mock devices that
# are made to fail in that way, and leaves nothing behind.
# usage: doctor.sh PATH_OF_VERBFAULT DIRECTORY_OF_PROGRAMS PATH_OF_LIBVERBFAULT
#
# S1, S2, ... are the start-up failures of the table in docs/doctor.md.
set -u
verbfault=$1 programs=$2 library=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
# Names that need no quotes and fit into a list, wherever the repository lies.
ln -s "$verbfault" verbfault
ln -s "$programs" programs
ln -s "$(dirname "$library")" lib
verbfault=$scratch/verbfault programs=$scratch/programs
library=$scratch/lib/$(basename "$library")
guest=$programs/run_doctor_guest
unset JACCL_RANK MLX_RANK JACCL_IBV_DEVICES MLX_IBV_DEVICES JACCL_RING \
    MLX_JACCL_RING NO_COLOR
failed=0 passed=0
port=$((20000 + $$ % 20000))

good() {
    passed=$((passed + 1))
}
bad() { # MESSAGE FILE...
    failed=$((failed + 1))
    echo "FAIL $1"
    shift
    head -n 30 "$@"
}
# check NAME COMMAND...
check() {
    name=$1
    shift
    if "$@" >check.out 2>&1; then
        good
    else
        bad "$name: $*" check.out
    fi
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
# scene PROFILE DEVICE [LINE...]: one machine; DEVICE is what `device 0` has
scene() {
    printf 'profile %s\nranks 1 mesh\n' "$1" >scene.scn
    [ "$2" = none ] || echo "device 0 $2" >>scene.scn
    shift 2
    for line; do
        echo "$line" >>scene.scn
    done
}
# examine [ARGUMENTS...]: the doctor in that scene: doc, err, code; what the
# run has to say about it: out
# shellcheck disable=SC2016
examine() {
    "$verbfault" run --leaks --scenario scene.scn -- sh -c \
        'unset JACCL_RANK MLX_RANK JACCL_IBV_DEVICES MLX_IBV_DEVICES
        "$@" >doc 2>err
        echo $? >code' sh "$verbfault" doctor "$@" >out 2>&1
}
# Nothing is left but what the scene did not let go; no call was illegal.
clean() {
    ! grep -A 1 -E '^(r[0-9]+: )(finding|leak)' out |
        grep -vE '^--$|: leak of |not released, as planned$'
}
# judge NAME CODE PATTERN: of what was examined last
judge() {
    if [ "$(cat code)" = "$2" ] && grep -qE -- "$3" doc && clean >left; then
        good
    else
        bad "$1: exit $(cat code) (want $2), want /$3/ and nothing left in:" \
            doc err left
    fi
}
# expect NAME CODE PATTERN [ARGUMENTS...]
expect() {
    name=$1 code=$2 pattern=$3
    shift 3
    examine "$@"
    judge "$name" "$code" "$pattern"
}
# problems NAME N: so many FAIL lines in what was examined last
problems() {
    check "$1: $2 problems" [ "$(grep -c '^FAIL' doc)" = "$2" ]
}
# twin NAME [ARGUMENTS...]: --json says what the lines of the last one said
twin() {
    twin=$1
    shift
    sed -E 's/^(ok|FAIL|skip) +/\1 /; /^(ok|FAIL|skip)/!d; s/ ?\(after .*//' \
        doc | sed -E 's/:[0-9]{4,5}/:PORT/g' >lines
    cp code code.lines
    examine --json "$@"
    check "$twin: the exit code with --json" cmp code code.lines
    command -v python3 >/dev/null || return
    check "$twin: --json" python3 - <<'END'
import json, re
root = json.load(open("doc"))
want = open("lines").read().splitlines()
got = []
for line in root["lines"]:
    head = line["step"] + (" " + line["device"] if "device" in line else "")
    tail = ": " + line["advice"] if "advice" in line else ""
    text = "%s %s: %s%s" % (line["verdict"], head, line["text"], tail)
    got.append(re.sub(":[0-9]{4,5}", ":PORT", text))
assert got == want, (got, want)
assert root["problems"] == sum(w.startswith("FAIL") for w in want)
assert root["exit"] == int(open("code").read())
assert root["command"] == "doctor" and root["interrupted"] is False
END
}

# ---- usage and files -------------------------------------------------------

# refused NAME CODE PATTERN ARGUMENTS...: one line on standard error, no steps
refused() {
    name=$1 code=$2 pattern=$3
    shift 3
    "$verbfault" doctor "$@" >doc 2>err
    got=$?
    if [ $got = "$code" ] && grep -qE -- "$pattern" err && [ ! -s doc ] &&
        [ "$(wc -l <err)" = 1 ]; then
        good
    else
        bad "$name: exit $got (want $code), want /$pattern/ in:" err doc
    fi
}
refused 'an unknown option' 2 'unknown option' --frob
refused 'two files' 2 'more than one file' a b --rank 0
refused 'neither file nor rank' 2 'nofile: No such file' nofile
echo '[[null]]' >file
refused 'no rank' 2 'file has a row for each rank: give --rank N' file
refused 'a rank that is none' 2 '0 to 63, not "x"' a --rank x
refused 'both sides at once' 2 'exclude each other' --listen --peer h
refused 'a port that is none' 2 'takes a port, 0 to 65535' --listen=70000
refused 'a port that is none, apart' 2 'takes a port' --listen 70000
refused 'a peer with a bad port' 2 'no port from 1 to 65535' --peer h:0
refused 'a peer with a bad port' 2 'no port from 1 to 65535' --peer '[::1]:x'
refused 'a peer without a name' 2 'has no address' --peer=
refused 'no time' 2 'takes 0.1 to 86400 seconds' --timeout 0
refused 'no such file' 2 'nofile: no such file.*ENOENT' nofile --rank 0
printf '[[null, "a"],\n ["a" null]]\n' >file
refused 'no JSON' 2 '^file: line 2, column [0-9]+ is no JSON' file --rank 0
printf '[[null, ""], ["a", null]]\n' >file
refused 'S5, an empty name' 2 '^file: .*row 0, column 1 is empty' file --rank 0
printf '[[null, "a"], [null, null]]\n' >file
refused 'S5, an empty cell' 2 '^file: .*row 1, column 0 is empty' \
    file --rank 0
printf '[[null, "a"], ["a"]]\n' >file
refused 'a short row' 2 '^file: row 1 has 1 column' file --rank 0
printf '[[null, "a"], ["a", null]]\n' >file
refused 'no such row' 2 '^file: rank 2 is not one' file --rank 2
check 'help' sh -c "'$verbfault' help doctor | grep -q '^usage: .* doctor'"

# ---- the library -----------------------------------------------------------

# alone NAME CODE PATTERN VARIABLE=VALUE...: without `run`
alone() {
    name=$1 code=$2 pattern=$3
    shift 3
    env "$@" "$verbfault" doctor >doc 2>err
    echo $? >code
    : >out
    cat err >>out
    judge "$name" "$code" "$pattern"
}
lacking=$programs/doctor/lacking complete=$programs/doctor/complete
mkdir broken
: >broken/libibverbs.so.1
alone 'S9, no library' 3 '^FAIL library: .* cannot be loaded \(.*\): install' \
    "LD_LIBRARY_PATH=$scratch/broken"
problems 'S9, no library' 1
alone 'S9, a symbol is missing' 3 \
    '^FAIL library: .*/lacking/.* lacks 1[0-9] symbols: ibv_get_device_list, ' \
    "LD_LIBRARY_PATH=$lacking"
# spoilt NAME CODE PATTERN [VARIABLE=VALUE]
spoilt() {
    alone "$@" "LD_LIBRARY_PATH=$complete" "DOCTOR_REAL=$library" \
        VERBFAULT_PROFILE=rxe VERBFAULT_LEAKS=1
}
spoilt 'a library that has all' 0 '^ok   library: .*/complete/.*all 18'
check 'it is the one that answers' grep -q '^ok   message rdma_en2: ' doc
spoilt 'the address in another entry' 1 \
    '^FAIL GID rdma_en2: .* is in entry 2, and JACCL sends from entry 1' \
    'DOCTOR_SWAP=1 2'
spoilt 'a table that cannot be' 1 '^FAIL port rdma_en2: .* table of 5000 GIDs' \
    DOCTOR_GIDS=5000
spoilt 'a wrong byte' 1 \
    '^FAIL message rdma_en2: byte 4095 of 4096 came as 0x.* and was sent as' \
    DOCTOR_SPOIL=4095
spoilt 'a wrong length' 1 '^FAIL message rdma_en2: .* a length of 100' \
    DOCTOR_SPOIL=length

# ---- all is well -----------------------------------------------------------

scene rxe rdma_en2
expect 'all is well' 0 '^no problem found \(14 steps ok, 0 skipped\)$'
check 'the mock answers' grep -q "^ok   library: .*/$(basename "$library")" doc
check 'every step' [ "$(sed -n 's/^ok   \([^:]*\): .*/\1/p' doc |
    tr '\n' ',')" = 'library,devices,open rdma_en2,limits rdma_en2,port '\
'rdma_en2,GID rdma_en2,domain rdma_en2,completion queue rdma_en2,queue pairs '\
'rdma_en2,regions rdma_en2,INIT rdma_en2,RTR rdma_en2,RTS rdma_en2,message '\
'rdma_en2,' ]
check 'no colours in a file' sh -c "! grep -q '$(printf '\033')' doc"
twin 'all is well'
if command -v script >/dev/null; then
    TERM=xterm LD_LIBRARY_PATH=$lacking script -qec "$verbfault doctor" \
        /dev/null >doc 2>&1 </dev/null
    check 'colours on a terminal' grep -q "^$(printf '\033')\[1;31mFAIL" doc
fi
scene thunderbolt rdma_en2
expect 'Thunderbolt' 0 '^skip RTR rdma_en2: a Thunderbolt device has no way'
check 'its queue pairs' grep -q '^ok   queue pairs rdma_en2: 10, until .*EBUS' \
    doc
check 'its regions' grep -q \
    '^ok   regions rdma_en2: 100, until .* room for 1 group at a time$' doc
twin 'Thunderbolt'

# ---- names -----------------------------------------------------------------

scene rxe rdma_en2 'device 0 rdma_en4'
printf '[[null, "rdma_en2"], ["x", null]]\n' >file
expect 'the file names it' 0 '^ok   name rdma_en2: row 0, column 1 of file' \
    file --rank 0
check 'others are left alone' sh -c "! grep -q 'open rdma_en4' doc"
printf '[[null, "rdma_en3"], ["x", null]]\n' >file
expect 'S3, a wrong name' 1 \
    '^FAIL name rdma_en3: row 0, column 1 of file names a device that does' \
    file --rank 0
check 'S3: what exists' grep -q 'this machine has rdma_en2, rdma_en4: corr' doc
twin 'S3' file --rank 0
printf '{"hosts": [{"ssh": "a", "ips": [], "rdma": [null, "x", "y"]},
 {"rdma": ["rdma_en2", null, "rdma_en3"]}, {"rdma": ["y", "x", null]}]}' >file
expect 'a hostfile' 1 '^FAIL name rdma_en3: row 1, column 2 of file' \
    file --rank 1
check 'the other is examined' grep -q '^ok   message rdma_en2' doc
expect 'one device of it' 0 '^ok   name rdma_en2: row 1, column 0' \
    file --rank 1 --device rdma_en2
expect 'no such device' 1 '^FAIL name frob: there is no such device; .* has r' \
    --device frob
printf '[[null, ["rdma_en2", "rdma_en4"]], [["a", "b"], null]]' >file
JACCL_RING=1
export JACCL_RING
expect 'a ring' 0 '^ok   queue pairs rdma_en4: .* JACCL needs 2$' file --rank 0
unset JACCL_RING
printf '[[null,"rdma_en2","rdma_en2"],["a",null,"a"],["a","a",null]]' >file
scene rxe 'rdma_en2 max_mr=100'
expect 'two peers over one device' 1 \
    '^FAIL regions rdma_en2: 100 could be registered of the 128' file --rank 0

# ---- devices ---------------------------------------------------------------

scene rxe none 'nodevices 0'
expect 'S4, no device' 1 '^FAIL devices: the library lists no device: '
twin 'S4'
scene rxe none 'nodevices 0 ENOSYS'
expect 'S4, no list' 1 '^FAIL devices: .* no list of devices: .*ENOSYS \('
scene rxe rdma_en2 'fault 0 open_device 1 null EACCES'
expect 'S7, not opened' 1 '^FAIL open rdma_en2: .*permission denied, EACCES'
scene rxe rdma_en2 'fault 0 get_device_name 1+ null EIO'
expect 'no name' 1 '^FAIL open .a device without a name.: .* name has gone'
scene rxe rdma_en2 'device 0 rdma_en3' 'fault 0 open_device 2 null EIO'
expect 'S7, one of two' 1 '^FAIL open rdma_en3: .*EIO'
check 'the other one' grep -q '^ok   message rdma_en2' doc
scene rxe rdma_en2 'fault 0 query_device 1 errno EIO'
expect 'no limits' 0 '^skip limits rdma_en2: it does not tell them: .*EIO'
scene thunderbolt 'rdma_en2 port=down'
expect 'S6, all ports down' 1 '^FAIL port: no device has an active port: plug'
expect 'S6, the port down' 1 '^FAIL port rdma_en2: port 1 is down, not active' \
    --device rdma_en2
problems 'S6' 1
scene rxe rdma_en2 'device 0 rdma_en3 port=down'
expect 'a port that nobody needs' 0 '^skip port rdma_en3: port 1 is down, and'
scene rxe rdma_en2 'fault 0 query_port 1 errno EINVAL'
expect 'S11, query_port' 1 '^FAIL port rdma_en2: .* cannot be queried: .*EINVAL'
scene rxe rdma_en2 'fault 0 query_port 1 unwritten'
expect 'S11, unwritten' 1 '^FAIL port rdma_en2: port 1 is not reported'
scene rxe rdma_en2 'fault 0 query_port 1 garbled'
expect 'S11, garbled' 1 '^FAIL port rdma_en2: '
scene rxe 'rdma_en2 ipv4=no'
expect 'S10, no IPv4' 1 '^FAIL GID rdma_en2: none of .* give its network inter'
check 'S10: what needs none' grep -q '^ok   regions rdma_en2' doc
check 'S10: what needs one' grep -q '^skip RTR rdma_en2: without a GID' doc
twin 'S10'
scene rxe rdma_en2 'fault 0 query_gid 2 errno EIO'
expect 'S10, unreadable' 1 '^FAIL GID rdma_en2: none .* \(1 cannot be read\)'
scene thunderbolt rdma_en2 'fault 0 alloc_pd 1 null ENOMEM'
expect 'S6, no domain' 1 '^FAIL domain rdma_en2: .*ENOMEM .12.: the port was'
scene rxe rdma_en2 'fault 0 create_cq 1 null ENOMEM'
expect 'no completion queue' 1 '^FAIL completion queue rdma_en2: .*ENOMEM'

# ---- limits ----------------------------------------------------------------

scene thunderbolt 'rdma_en2 used_qp=10'
expect 'S8, no queue pair left' 1 \
    '^FAIL queue pairs rdma_en2: 0 could .*EBUSY .16.; it allows 10, so others'
scene thunderbolt 'rdma_en2 used_qp=4'
expect 'S8, some are taken' 0 '^ok   queue pairs rdma_en2: 6, until .*EBUSY .16'
check 'by whom' grep -q 'allows 10, so others seem to hold 4$' doc
scene rxe rdma_en2 'fault 0 create_qp 11 null EBUSY'
expect 'S8, EBUSY at the 11th' 0 '^ok   queue pairs rdma_en2: 10, until .*EBUSY'
scene rxe rdma_en2 'fault 0 create_qp 3 null EIO'
expect 'EIO at the 3rd' 1 '^FAIL queue pairs rdma_en2: 2 could .* out of order'
scene rxe rdma_en2 'fault 0 create_qp 1+ null EOPNOTSUPP'
expect 'no UC' 1 '^FAIL queue pairs rdma_en2: .*EOPNOTSUPP .*JACCL needs UC'
for n in 1 37 64; do
    scene rxe rdma_en2 "fault 0 reg_mr $n null ENOMEM"
    expect "S1, reg_mr at $n" 1 \
        "^FAIL regions rdma_en2: $((n - 1)) could be registered of the 64"
done
twin 'S1'
scene rxe rdma_en2 'fault 0 reg_mr 65+ null ENOMEM'
expect 'reg_mr at 65' 1 '^ok   regions rdma_en2: 64, until .* for 1 group at'
check 'and none for a message' grep -q \
    '^FAIL message rdma_en2: no region for a message' doc
scene thunderbolt 'rdma_en2 used_mr=64'
expect 'S2, a group holds them' 1 \
    '^FAIL regions rdma_en2: 36 could .* 100, so others seem to hold 64; it cr'

for right in EPERM EACCES; do
    scene rxe rdma_en2 "fault 0 reg_mr 1+ null $right"
    expect "no right to lock memory: $right" 1 \
        "^FAIL regions rdma_en2: 0 could .*$right .* this user may not lock mem"
done

# S15: a start-up that failed keeps what it had built, in a process that goes on.
# half NAME FILE CODE PATTERN: of a doctor that came meanwhile (1) or later (2)
scene thunderbolt rdma_en2
# shellcheck disable=SC2016
"$verbfault" run --scenario scene.scn -- sh -c '
    unset JACCL_RANK MLX_RANK JACCL_IBV_DEVICES MLX_IBV_DEVICES
    mkfifo held
    "$1" <held >built &
    exec 9>held
    shift
    tries=0
    until [ -s built ] || [ $tries = 1000 ]; do
        tries=$((tries + 1))
        sleep 0.02
    done
    "$@" >doc.1 2>err
    echo $? >code.1
    exec 9>&-
    wait
    "$@" >doc.2 2>err
    echo $? >code.2' sh "$programs/run_doctor_half" "$verbfault" doctor \
    >out 2>&1
half() {
    if [ "$(cat "code.$2")" = "$3" ] && grep -qE "$4" "doc.$2"; then
        good
    else
        bad "$1: exit $(cat "code.$2") (want $3), want /$4/ in:" "doc.$2" out
    fi
}
half 'S15, regions are missing' 1 1 \
    '^FAIL regions rdma_en2: 60 could .* so others seem to hold 40; it crashes'
half 'S15, and queue pairs' 1 1 \
    '^ok   queue pairs rdma_en2: 4, until .* so others seem to hold 6$'
half 'S15, until that process ends' 2 0 '^ok   regions rdma_en2: 100, until '
half 'S15, until that process ends' 2 0 '^ok   queue pairs rdma_en2: 10, until '

# S16: no memory for what is to be registered.
# no_memory BYTES PATTERN
no_memory() {
    scene rxe rdma_en2
    (
        export DOCTOR_NO_MEMORY="$1" \
            LD_PRELOAD="$programs/doctor/doctor_no_memory.so"
        examine
    )
    judge "S16, no memory for $1 bytes" 1 "$2"
}
no_memory 524288 '^FAIL regions rdma_en2: no memory for a buffer of 512 KiB: en'
no_memory 8192 '^FAIL message rdma_en2: no memory for a message: '

# ---- queue pairs -----------------------------------------------------------

for step in '1 INIT' '2 INIT' '5 RTS' '6 RTS'; do
    scene rxe rdma_en2 "fault 0 modify_qp ${step% *} errno EIO"
    expect "S13, modify_qp $step" 1 "^FAIL ${step#* } rdma_en2: .*EIO .5.: "
done
rtr() { # ERRNO PATTERN
    scene rxe rdma_en2 "fault 0 modify_qp 3 errno $1"
    expect "S12, RTR $1" 1 "^FAIL RTR rdma_en2: .*$2"
    problems "S12, RTR $1" 1
}
rtr 22 'EINVAL .22.: there is no way .* IPv4 addresses of one network'
rtr 60 ': the other end does not answer .* 60 on macOS'
rtr ETIMEDOUT 'ETIMEDOUT .*: the other end does not answer'
rtr 16 'EBUSY .16.: the device still holds what a process that crashed had'
rtr 96 ': the GID has gone .* lost its IPv4 address'
rtr EIO 'EIO .5.: check the cable'
twin 'S12'

# ---- messages --------------------------------------------------------------

message() { # FAULT PATTERN
    scene rxe rdma_en2 "fault 0 $1"
    expect "$1" 1 "^FAIL message rdma_en2: $2"
    problems "$1" 1
}
message 'post_send 1 errno ENOMEM' 'a send is refused: .*ENOMEM'
message 'post_recv 1 errno ENOMEM' 'a receive is refused: .*ENOMEM'
message 'completion 1 status WR_FLUSH_ERR' 'the receive completed .*flushed .5'
message 'completion 2 status LOC_LEN_ERR' 'the send completed .*local length .1'
message 'completion 2 status RETRY_EXC_ERR' 'the send .*does not answer'
message 'completion 1 drop' 'the message did not come in 2.0 s: it was lost'
message 'completion 2 drop' 'the send did not complete in 2.0 s'
message 'completion 1+ drop' 'neither the send nor the receive completed'
message 'completion 1+ delay 5000' 'neither the send nor the receive completed'
message 'completion 1 duplicate' 'a completion names request 0x'
message 'completion 2 duplicate' 'a completion came twice'
message 'completion 1 garbled' 'a completion names request 0x'
message 'poll_cq 1 return -1' 'the completion queue cannot be polled: .* -1'
message 'poll_cq 1 unwritten' 'a completion names request 0'
scene rxe rdma_en2 'fault 0 completion 1 delay 600'
expect 'a late completion' 0 'are the same, after [0-9.]* s$'

# ---- undo ------------------------------------------------------------------

undo() { # VERB N WHAT
    scene rxe rdma_en2 "fault 0 $1 $2 errno EBUSY"
    expect "S14, $1 $2" 1 "^FAIL undo rdma_en2: its $3 cannot be .*EBUSY .16.: "
    check "S14, $1: it is left, as planned" grep -q 'left at the end' out
}
undo dealloc_pd 1 domain
undo close_device 1 context
undo destroy_cq 1 'completion queue'
undo destroy_qp 5 'queue pair'
undo destroy_qp 33 'queue pair'
undo dereg_mr 5 region
undo dereg_mr 129 region

# interrupt LINE [ARGUMENTS...]: Ctrl-C once that line has been said
# shellcheck disable=SC2016
interrupt() {
    line=$1
    shift
    "$verbfault" run --leaks --scenario scene.scn -- sh -c \
        'unset JACCL_RANK MLX_RANK JACCL_IBV_DEVICES MLX_IBV_DEVICES
        line=$1
        shift
        "$@" >doc 2>err &
        until grep -q "^$line" doc || ! kill -0 $!; do sleep 0.02; done
        kill -INT $!
        wait $!
        echo $? >code' sh "$line" "$verbfault" doctor "$@" >out 2>&1
}
# interrupted NAME LINE [ARGUMENTS...]: that, and how it ends. The doctor waits
# two seconds for a message of its own; on a machine where a signal takes
# longer, another time.
interrupted() {
    name=$1
    shift
    for _ in 1 2 3 4 5; do
        interrupt "$@"
        grep -q 'neither the send nor the receive' doc || break
    done
    judge "$name" 1 '^interrupted; what was made has been given back'
    check "$name: no problem is made of it" sh -c '! grep -q "^FAIL" doc'
}
scene rxe rdma_en2 'fault 0 completion 1+ drop'
interrupted 'Ctrl-C, waiting for a message' 'ok   RTS'
scene rxe rdma_en2
interrupted 'Ctrl-C, listening' 'ok   listening' --listen 0 --timeout 60
interrupted 'Ctrl-C, connecting' 'ok   message' --peer 127.0.0.1:1 --timeout 60

# ---- a peer that is none, or no good one -----------------------------------

next_port() {
    port=$((port + 1))
}
# calls NAME PATTERN TEXT...: the doctor connects to a guest that says so
calls() {
    name=$1 pattern=$2
    shift 2
    next_port
    "$guest" listen $port "$@" >guest.out 2>&1 &
    examine --peer "127.0.0.1:$port" --timeout 1
    judge "$name" 1 "^FAIL $pattern"
    wait $!
}
# called NAME PATTERN TEXT...: the guest connects to a doctor that listens
called() {
    name=$1 pattern=$2
    shift 2
    next_port
    "$guest" connect $port "$@" >guest.out 2>&1 &
    examine --listen $port --timeout 1
    judge "$name" 1 "^FAIL $pattern"
    wait $!
}
hello='verbfault-doctor 1\n'
scene rxe rdma_en2
next_port
expect 'nobody listens' 1 \
    '^FAIL connection: 127.0.0.1:[0-9]*: connection refused, ECONN.*: start ' \
    --peer "127.0.0.1:$port" --timeout 0.3
twin 'nobody listens' --peer "127.0.0.1:$port" --timeout 0.3
expect 'nobody connects' 1 '^FAIL connection: nobody connected in 0.3 s: st' \
    --listen 0 --timeout 0.3
expect 'no such host' 1 '^FAIL connection: a[.][.]b:32324: no such host: st' \
    --peer a..b --timeout 0.3
calls 'it is another program' 'connection: .*no doctor: it says .SSH-2.0.' \
    'SSH-2.0\n' ...
calls 'it is silent' 'connection: 127.* answers, but it says nothing' ...
calls 'it closes' 'connection: .* answers, but it closes the connection'
calls 'another version' 'connection: .* of another version' \
    'verbfault-doctor 2\n' ...
calls 'it leaves' 'connection: 127.* went away in step card' "$hello" -
calls 'it falls silent' \
    'connection: 127.* says nothing any more, in step card' "$hello" ...
calls 'it talks nonsense' 'connection: .*no doctor says in step card: .frob' \
    "$hello" 'frob\n' ...
calls 'a card that is none' 'connection: .*no doctor says in step card: .a b' \
    "$hello" 'card ok a b c d\n' ...
calls 'it has no device' 'there: 127.* fails in step card: no cable' \
    "$hello" 'card fail no cable\n' ...
long=$(printf '%02000d' 0)
calls 'it never ends' 'connection: .*no doctor says in step card: .0000' \
    "$hello" "$long" ...
called 'another program calls' \
    'connection: no doctor connected in 1.0 s; 127.* did, but .*GET / HTTP' \
    'GET / HTTP/1.0\n' ...
called 'a caller leaves' 'connection: .* did, but it closes the connection'
next_port
"$guest" listen $port ... >guest.out 2>&1 &
holder=$!
until_true 20 sh -c "! '$guest' probe $port"
expect 'the port is taken' 1 \
    '^FAIL connection: port [0-9]* cannot be .* in use, EADDRINUSE' \
    --listen $port --timeout 1
kill $holder
wait $holder 2>/dev/null
scene rxe 'rdma_en2 port=down'
next_port
"$guest" connect $port "$hello" - 'card ok x 0 1 00\n' - >guest.out 2>&1 &
examine --listen $port --timeout 1
judge 'no device here' 1 '^FAIL card: no device of this machine came so far'
wait $!
check 'and the peer is told' grep -q 'heard card fail no device' guest.out

# ---- two machines ----------------------------------------------------------

# both NAME CODE0 CODE1 PATTERN0 PATTERN1: rank 0 listens, rank 1 connects
# shellcheck disable=SC2016
both() {
    next_port
    rm -f doc.? err.? code.?
    "$verbfault" run -n 2 --leaks --scenario pair.scn -- sh -c \
        'if [ $VERBFAULT_RANK = 0 ]; then
            set -- "$1" doctor --listen "$2" --timeout 20
        else
            set -- "$1" doctor --peer "127.0.0.1:$2" --timeout 20
        fi
        "$@" >doc.$VERBFAULT_RANK 2>err.$VERBFAULT_RANK
        echo $? >code.$VERBFAULT_RANK' sh "$verbfault" $port >out 2>&1
    for rank in 0 1; do
        cp doc.$rank doc
        cp err.$rank err
        cp code.$rank code
        if [ $rank = 0 ]; then
            judge "$1 (0)" "$2" "$4"
        else
            judge "$1 (1)" "$3" "$5"
        fi
    done
}
pair() { # PROFILE LINE...
    printf 'ranks 2 mesh\nprofile %s\n' "$1" >pair.scn
    shift
    for line; do
        echo "$line" >>pair.scn
    done
}
pair rxe
both 'two machines' 0 0 '^ok   message .* went to here from 127' \
    '^ok   message .* went to here from 127'
check 'and back' sh -c 'grep -q "^ok   message .* from here to 127" doc.0 &&
    grep -q "^ok   message .* from here to 127" doc.1'
pair thunderbolt
both 'two Macs' 0 0 '^ok   message .* went to here from 127' \
    '^ok   message .* went to here from 127'
# Before these the doctor has changed states on its own: 3 times on a device
# that has no way to itself (INIT twice, and an RTR that fails), else 6 times.
pair thunderbolt 'fault 1 modify_qp 5 errno 22'
both 'S12, RTR between two' 1 1 '^FAIL there: 127.* in step RTR: .*EINVAL' \
    '^FAIL RTR rdma_en2: .*EINVAL .22.: there is no way'
pair rxe 'fault 0 modify_qp 8 errno 16'
both 'S12, RTR on the listener' 1 1 '^FAIL RTR rdma_en2: .*EBUSY' \
    '^FAIL there: 127.* fails in step RTR: .*EBUSY'
pair rxe 'fault 1 modify_qp 9 errno EIO'
both 'RTS between two' 1 1 '^FAIL there: .* step RTR: a connected .*EIO' \
    '^FAIL RTS rdma_en2: .*EIO'
pair rxe 'fault 0 create_cq 1 null ENOMEM'
both 'a card on one machine' 1 1 '^FAIL completion queue' \
    '^FAIL there: 127.* fails in step card: no device of this machine'
pair rxe 'fault 1 post_recv 2 errno ENOMEM'
both 'no receive there' 1 1 '^FAIL there: .* step ready: a receive is refused' \
    '^FAIL message rdma_en2: a receive is refused'
pair rxe 'fault 0 completion 3 drop'
both 'lost on the way to 0' 1 1 \
    '^FAIL message rdma_en2: the message did not come' \
    '^FAIL there: 127.* fails in step first message: the message did not come'
check 'the other way is fine' grep -q '^ok   message .* from here to 127' doc.0
pair rxe 'fault 1 completion 4 drop'
both 'lost on the way to 1' 1 1 \
    '^FAIL there: 127.* fails in step second message: the message did not come' \
    '^FAIL message rdma_en2: the message did not come'
check 'the other way is fine' grep -q '^ok   message .* from here to 127' doc.1
pair rxe 'fault 1 post_send 2 errno ENOMEM'
both 'not sent' 1 1 '^FAIL there: .* step first message: a send is refused' \
    '^FAIL message rdma_en2: a send is refused: .*ENOMEM'
pair rxe 'fault 1 completion 4 status WR_FLUSH_ERR'
both 'an error completion' 1 1 '^FAIL there: .* step second message: the receive comp' \
    '^FAIL message rdma_en2: the receive completed with an error: flushed'

echo "doctor: $passed passed, $failed failed"
[ $failed = 0 ]
