#!/bin/sh
# Groups of cjaccl and of the real JACCL: are the results those of JACCL alone?
#
#   mixed.sh VERBFAULT DIRECTORY [quick|wide|full] [RANKS...]
#
# DIRECTORY holds run_operations_cjaccl and run_operations_jaccl, which are
# tests/programs/operations.cpp with either library. For each number of ranks (2
# to 4), mesh and rings of one and two wires, and profile, all-JACCL's output is
# the reference, and every other way to choose a library for each rank has to
# print the same lines. Then all_gather in a ring, where JACCL's own is wrong: a
# mixed group has to refuse it. quick: 2 ranks, few sizes, thunderbolt; wide: 2 to
# 4 ranks, few sizes; full: all sizes.
set -eu
verbfault=$1
directory=$2
mode=${3:-quick}
[ $# -lt 3 ] || shift
shift 2
ranks=$*
profiles='ideal thunderbolt'
few=-q
case $mode in
full) few='' ;;
wide) ;;
*)
    profiles='thunderbolt'
    : "${ranks:=2}"
    ;;
esac
: "${ranks:=2 3 4}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
groups=0

# What a lost message would make a hang is an error soon.
CJ_OPERATION_TIMEOUT=60
export CJ_OPERATION_TIMEOUT

# Rank r runs the library that is letter r of $1: c(jaccl) or j(accl).
cat >"$work/choose" <<'END'
letters=$1
directory=$2
shift 2
case $(printf %s "$letters" | cut -c $((VERBFAULT_RANK + 1))) in
c) exec "$directory/run_operations_cjaccl" "$@" ;;
*) exec "$directory/run_operations_jaccl" "$@" ;;
esac
END

# run LETTERS ARGUMENTS...: the results, sorted; what else is said is in errors
run() {
    letters=$1
    shift
    status=0
    "$verbfault" run --scenario "$work/scenario" --profile "$profile" \
        --timeout 300 --grace 5 -- sh "$work/choose" "$letters" "$directory" \
        "$@" >"$work/out" 2>"$work/errors" || status=$?
    grep -E '^\[[0-9]+\] [a-z_0-9]+ [a-z0-9]+ [0-9]+ [0-9a-f]{16}$' \
        "$work/out" | sort || true
    return $status
}

# Every way to write $1 letters c and j.
words() {
    awk -v n="$1" 'BEGIN {
        for (i = 0; i < 2 ^ n; i++) {
            word = ""
            for (bit = 0; bit < n; bit++)
                word = word (int(i / 2 ^ bit) % 2 ? "c" : "j")
            print word
        }
    }'
}

report() {
    echo "mixed.sh: $topology, $profile, $letters: $*" >&2
    head -5 "$work/errors" >&2
    failed=$((failed + 1))
}

compare() {
    for word in $(words "$n"); do
        case $word in *c*) ;; *) continue ;; esac
        # Of themselves, cjaccl's ranks have another order in a mesh, and
        # are not what is looked for here.
        case $word in *j*) ;; *) continue ;; esac
        letters=$word
        groups=$((groups + 1))
        # shellcheck disable=SC2086 # words
        if ! run "$word" $few $gather >"$work/got"; then
            report "failed"
        elif ! cmp -s "$work/reference" "$work/got"; then
            report "other results: $(diff "$work/reference" "$work/got" |
                grep -c '^>') of $(wc -l <"$work/reference"): $(diff \
                "$work/reference" "$work/got" | sed -n 's/^> //p' | head -1)"
        fi
    done
}

# Refused by cjaccl's rank; the others then cannot go on, and are ended.
refuses_all_gather() {
    letters=cj
    [ "$n" = 2 ] || letters=cjj
    [ "$n" -lt 4 ] || letters=cjjj
    if run "$letters" -q all_gather >"$work/got"; then
        report "all_gather in a ring with JACCL is not refused"
    elif ! grep -q 'all_gather' "$work/errors" "$work/out"; then
        report "the refusal does not name all_gather"
    fi
}

for n in $ranks; do
    for topology in "ranks $n mesh" "ranks $n ring 1" "ranks $n ring 2"; do
        echo "$topology" >"$work/scenario"
        for profile in $profiles; do
            letters=$(words "$n" | head -1)
            case $topology in *mesh*) gather='' ;; *) gather=-g ;; esac
            # shellcheck disable=SC2086 # words
            run "$letters" $few $gather >"$work/reference" ||
                { report 'JACCL alone failed'; continue; }
            results=$(wc -l <"$work/reference")
            before=$groups
            compare
            echo "$topology, $profile: $((groups - before)) groups," \
                "$results results each"
            case $topology in *ring*) refuses_all_gather ;; esac
        done
    done
done
echo "$groups mixed groups, $failed failures"
[ "$failed" -eq 0 ]
