#!/bin/sh
# Runs COMMAND, which would run for ever, until it has printed a line that
# matches PATTERN; then ends it. Exit 0 if the line came.
#
# usage: until.sh DIRECTORY PATTERN COMMAND [ARGUMENT...]
#
# DIRECTORY is a place for a named pipe.
set -u
pipe=$1/until pattern=$2
shift 2
mkfifo "$pipe" || exit 2
"$@" >"$pipe" 2>&1 &
child=$!
found=1
while IFS= read -r line; do
    printf '%s\n' "$line"
    if printf '%s\n' "$line" | grep -qE "$pattern"; then
        found=0
        break
    fi
done <"$pipe"
kill $child 2>/dev/null
wait $child 2>/dev/null
rm -f "$pipe"
exit $found
