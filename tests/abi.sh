#!/bin/sh
# libverbfault.so stands in for an installed libibverbs.so.1: the same symbols
# in the same versions, and programs that were linked with that one run on it.
# usage: abi.sh LIBVERBFAULT ABI_PROGRAM
# What cannot be tested here is said in one line each, with the reason.
set -u
library=$1 program=$2
exports=$(cd "$(dirname "$0")/.." && pwd)/mocks/abi/exports.map
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
# A name that fits into the loader's lists, wherever the repository lies.
ln -s "$(dirname "$library")" lib
library=$scratch/lib/$(basename "$library") dropin=$scratch/lib/dropin
failed=0 passed=0

good() {
    passed=$((passed + 1))
}
bad() {
    failed=$((failed + 1))
    echo "FAIL $*"
}
skip() {
    echo "skipped: $*"
}
# expect NAME PATTERN COMMAND...: succeeds, and has such a line
expect() {
    name=$1 pattern=$2
    shift 2
    if "$@" >out 2>&1 && grep -qE "$pattern" out; then
        good
    else
        bad "$name: want /$pattern/ in:"
        head -n 5 out
    fi
}
# finish: the verdict
finish() {
    echo "$passed passed, $failed failed"
    [ $failed = 0 ]
    exit
}

# Where the loader finds libibverbs.so.1.
installed() {
    ldconfig=$(command -v ldconfig || echo /sbin/ldconfig)
    "$ldconfig" -p 2>/dev/null |
        awk '$1 == "libibverbs.so.1" { print $NF; exit }'
}
# "NAME VERSION default|hidden" of each symbol that a library defines
symbols() {
    objdump -T "$1" | awk '
        /\*UND\*/ || /\*ABS\*/ || NF < 6 || !/^[0-9a-f]/ { next }
        {
            version = $(NF - 1)
            kind = version ~ /^\(/ ? "hidden" : "default"
            gsub(/[()]/, "", version)
            print $NF, version, kind
        }' | sort
}
# The names in one version of exports.map that match a pattern.
names() {
    sed -n "/^$1 {/,/^}/p" "$exports" | tr -d ' ;' | grep -E "$2"
}

real=$(installed)
if [ -z "$real" ]; then
    skip "symbols against libibverbs.so.1: none is installed"
elif ! command -v objdump >/dev/null; then
    skip "symbols against $real: no objdump (binutils)"
elif ! objdump -T "$real" | grep -q IBVERBS_PRIVATE_34; then
    skip "symbols against $real: another release than rdma-core 44's"
else
    symbols "$real" >theirs
    symbols "$library" | grep -vE ' (VERBFAULT_1|Base) ' >ours
    if [ -s theirs ] && cmp -s theirs ours; then good; else
        bad "symbols: < $real, > libverbfault.so"
        diff theirs ours
    fi
fi

if objdump -T "$library" | grep -qE '__(asan|tsan|msan)_init'; then
    skip "programs: the library is built with a sanitizer, they are not"
    finish
fi
export VERBFAULT_KEEP_GOING=0 LD_BIND_NOW=1

# The same answers, whichever library is behind it.
[ -n "$real" ] && "$program" words >theirs
LD_PRELOAD=$library "$program" words >ours || bad "words: exit $?"
if [ -n "$real" ]; then
    if [ -s theirs ] && cmp -s theirs ours; then good; else
        bad "words: < $real, > libverbfault.so"
        diff theirs ours | head -n 20
    fi
fi

for profile in thunderbolt rxe ideal; do
    export VERBFAULT_PROFILE=$profile
    # Of a link layer that it does not know, ibv_devinfo shows no GID types.
    type=', RoCE v2'
    [ $profile != thunderbolt ] || type=
    expect "device, $profile, preloaded" '^rdma_en2$' \
        env LD_PRELOAD="$library" "$program" device
    expect "device, $profile, in its place" '^rdma_en2$' \
        env LD_LIBRARY_PATH="$dropin" "$program" device
    if command -v ibv_devinfo >/dev/null; then
        expect "ibv_devices, $profile" 'rdma_en2 .*0200760000000000' \
            env LD_PRELOAD="$library" ibv_devices
        expect "ibv_devinfo, $profile" "GID.*169\\.254\\.1\\.1$type\$" \
            env LD_PRELOAD="$library" ibv_devinfo -v
        expect "ibv_devinfo, $profile, in its place" 'PORT_ACTIVE' \
            env LD_LIBRARY_PATH="$dropin" ibv_devinfo -v
    else
        skip "ibv_devinfo, $profile: not installed (ibverbs-utils)"
    fi
done

# The functions of 2006: one line, whatever is called and how often.
expect "of 2006" 'IBVERBS_1.0' env LD_PRELOAD="$library" "$program" old
[ "$(wc -l <out)" = 1 ] || bad "of 2006: not one line"

# Nothing that the library does not do is a crash.
expect "refused, private" 'refused' env LD_PRELOAD="$library" "$program" \
    refused $(names IBVERBS_PRIVATE_34 \
        '^(ibv_cmd_|_?verbs_[a-z]|execute_|ibv_read_ibdev)' |
        grep -v disassociate)
expect "refused, public" 'refused' env LD_PRELOAD="$library" "$program" \
    refused $(names 'IBVERBS_1\.[0-9]*' \
        '^ibv_(import_|unimport_|reg_dmabuf_mr|set_ece|query_ece)')

# Everything that what is installed asks of libibverbs is there.
for file in /usr/bin/ibv_* /usr/bin/ib_* /usr/bin/ucx_info /usr/bin/fi_info \
    /usr/lib/*/libmlx5.so.1 /usr/lib/*/librdmacm.so.1 \
    /usr/lib/*/ucx/libuct_ib.so.0; do
    [ -e "$file" ] || continue
    LD_PRELOAD=$library ldd -r "$file" >out 2>&1
    if grep -qE 'undefined|not found|not defined' out; then
        bad "$file:"
        grep -E 'undefined|not found|not defined' out | head -n 5
    else
        good
    fi
done
finish
