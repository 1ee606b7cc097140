# The corpus on the kernel's device: some of each kind in every run. All of corpus/
# and repro/ takes twenty minutes and has to be asked for:
#
#     VM_TIME=1800 tests/vm/run.sh BUILD corpus-whole

# In the guest's own memory: a rank is a process, and each starts anew.
mkdir -p "$scratch/own/lib"
cp "$build/verbfault" "$scratch/own/" 2>/dev/null
cp "$build/lib/libverbfault-device.so" "$scratch/own/lib/" 2>/dev/null
top=$(cd "$here/../.." && pwd)

# replay_them LOG TIMEOUT FILE...
replay_them() {
    log=$1 seconds=$2
    shift 2
    timeout "${VM_REPLAY_TIME-120}" "$scratch/own/verbfault" replay --device \
        --timeout "$seconds" "$@" >"$log" 2>&1
}
# replayed NAME FILE...: none is unexpected. The counts are told. What differs is
# done again with more patience: this machine may be a slow one.
replayed() {
    name=$1 log=$scratch/$1.log
    shift
    replay_them "$log" 8 "$@"
    replayed=$?
    counts=$(grep -E '^[0-9]+ (skipped|whose|runs?)' "$log")
    again=$(sed -n 's/^\([^ ]*\.scn\) .* UNEXPECTED .*/\1/p' "$log")
    cp "$log" "$results/$name.log"
    if [ $replayed = 1 ] && [ -n "$again" ]; then
        # shellcheck disable=SC2086
        replay_them "$log" 40 $again
        replayed=$?
        counts="$counts
with more patience: $(grep -E '^[0-9]+ runs?' "$log")"
    fi
    verdict "$name" $replayed
    echo "$counts" | sed 's/^/    /'
    [ $replayed = 0 ] || grep -A 4 UNEXPECTED "$log" |
        head -n 60 | sed 's/^/    /'
}
some() {
    for one in init/clean-mesh-2 init/s1-reg_mr-null-37 init/s12-rtr-60 \
        init/a1-send-error init/a4-peer-exits init/fallback-rtr \
        collectives/a9-sizes-rxe collectives/a5-cable-goes \
        init/c4-garbled-byte init/c1-peer-announces-0 init/c5-stray-client \
        init/s10-no-ipv4-gid init/c7-too-late \
        recordings/soft-roce-cjaccl-mesh; do
        echo "$top/corpus/$one.scn"
    done
}
# shellcheck disable=SC2046
if [ "$word" = corpus-whole ]; then
    VM_REPLAY_TIME=1700
    replayed corpus-whole $(find "$top/corpus" "$top/repro" -name '*.scn' | sort)
elif wanted corpus-on-the-device; then
    replayed corpus-on-the-device $(some)
fi
