#!/bin/sh
# One rank of a server and its client: rank 0 runs SERVER, the others CLIENT
# once the server listens on PORT.
#
# usage: pair.sh PORT DIRECTORY SERVER CLIENT
#
# SERVER and CLIENT are shell commands. Many a server accepts one connection
# only, so its port is not probed by connecting: /proc/net/tcp tells whether
# somebody listens. A client whose connection is refused all the same is started
# again. It gives up when the server has ended. DIRECTORY holds the files by
# which the two sides know of each other; it must be empty at the start.
set -u
port=$1 directory=$2 server=$3 client=$4
log=$directory/client

# The columns are slot, local address, remote address, state; 0A is LISTEN.
listens() {
    awk -v port="$(printf '%04X' "$port")" '
        $4 == "0A" && substr($2, length($2) - 3) == port { found = 1 }
        END { exit !found }' /proc/net/tcp /proc/net/tcp6 2>/dev/null
}

if [ "${VERBFAULT_RANK:?}" = 0 ]; then
    sh -c "$server"
    status=$?
    : >"$directory/server-ended"
    exit $status
fi

until listens; do
    if [ -e "$directory/server-ended" ]; then
        echo "pair.sh: the server ended before it listened" >&2
        exit 1
    fi
    sleep 0.02
done
while :; do
    sh -c "$client" >"$log" 2>&1
    status=$?
    if [ $status = 0 ] || [ -e "$directory/server-ended" ] ||
        ! grep -qiE "refused|couldn't connect" "$log"; then
        cat "$log"
        exit $status
    fi
done
