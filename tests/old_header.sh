#!/bin/sh
# Builds with an older verbs.h: the installed one, less all that rdma-core has
# added since its version 28 and this project uses (mocks/front/infiniband.h).
#
#   tests/old_header.sh SOURCE VERBS_INCLUDE CC
set -u
source=$1 include=$2 compiler=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP

failed()
{
    echo "old_header: $*" >&2
    exit 1
}

mkdir "$work/infiniband"
cp "$include"/infiniband/verbs_api.h "$work/infiniband/" 2>/dev/null
sed -e '/IBV_WR_ATOMIC_WRITE/d' \
    -e '/(\*wr_atomic_write)/,/;/d' \
    -e '/^static inline void ibv_wr_atomic_write/,/^}/d' \
    -e '/IBV_RATE_800_GBPS/d' -e '/IBV_RATE_1200_GBPS/d' \
    -e '/phys_port_cnt_ex;/d' \
    -e '/IBV_CQ_INIT_ATTR_MASK_PD/d' \
    -e '/^enum ibv_fork_status {/,/^};/d' \
    -e '/^enum ibv_fork_status ibv_is_fork_initialized/,/;/d' \
    -e '/^struct ibv_ece {/,/^};/d' \
    -e '/^int ibv_\(set\|query\)_ece(/,/;/d' \
    -e '/^enum ibv_gid_type {/,/^};/d' \
    -e '/^struct ibv_gid_entry {/,/^};/d' \
    -e '/^int _ibv_query_gid_ex(/,/;/d' \
    -e '/^ssize_t _ibv_query_gid_table(/,/;/d' \
    -e '/^static inline int ibv_query_gid_ex(/,/^}/d' \
    -e '/^static inline ssize_t ibv_query_gid_table(/,/^}/d' \
    -e '/^struct ibv_mr \*ibv_reg_dmabuf_mr(/,/;/d' \
    -e '/^int ibv_query_qp_data_in_order(/,/;/d' \
    "$include/infiniband/verbs.h" >"$work/infiniband/verbs.h" ||
    failed "cannot read $include/infiniband/verbs.h"

# Not optimized: it is to compile, and its test programs are another's.
CC=$compiler CFLAGS=-O0 cmake -G Ninja -S "$source" -B "$work/build" \
    -DVERBS_INCLUDE="$work" -DVERBFAULT_TESTS=OFF -DCMAKE_BUILD_TYPE=Debug \
    >"$work/log" 2>&1 || {
    cat "$work/log" >&2
    failed "cmake does not take the old header"
}
for feature in ATOMIC_WRITE FAST_RATES PORT_COUNT FORK_STATUS GID_ENTRY ECE \
    CQ_DOMAIN; do
    grep -q "^VERBS_HAS_$feature:INTERNAL=\$" "$work/build/CMakeCache.txt" ||
        failed "$feature was not missed: has the header another form?"
done
cmake --build "$work/build" --parallel 2 \
    --target verbfault verbfault_device sim >"$work/log" 2>&1 || {
    grep -A4 'error:' "$work/log" >&2
    failed "it does not build with an old header"
}

# One that is too old, or no header at all, is named in one line.
printf '#include <stdint.h>\nstruct ibv_device;\n' \
    >"$work/infiniband/verbs.h"
CC=$compiler cmake -G Ninja -S "$source" -B "$work/none" \
    -DVERBS_INCLUDE="$work" -DVERBFAULT_TESTS=OFF >"$work/log" 2>&1 &&
    failed "a header without verbs was taken"
tr -s '[:space:]' ' ' <"$work/log" | grep -q 'older than rdma-core 28' ||
    failed "what is wrong with the header is not said: $(cat "$work/log")"
echo "old_header: 2 passed"
