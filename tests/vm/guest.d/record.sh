# What was recorded on the kernel's device replays on the mock.
#
# recorded NAME RANKS DEVICE_FILE COMMAND...: cjaccl's group, each rank's calls
# written down, and made again without the device
recorded() {
    name=$1 ranks=$2 file=$3
    shift 3
    wanted "$name" || return 0
    port=$((port + 1))
    printf '%s\n' "$file" >"$scratch/$name.json"
    # shellcheck disable=SC2016 # the rank is the inner shell's
    JACCL_IBV_DEVICES=$scratch/$name.json JACCL_COORDINATOR=127.0.0.1:$port \
        CJ_START_TIMEOUT=20 CJ_OPERATION_TIMEOUT=20 timeout 60 \
        "$build/verbfault" record --device -n "$ranks" -o "$results/$name.scn" \
        -- sh -c 'JACCL_RANK=$VERBFAULT_RANK exec "$@"' sh "$@" \
        >"$scratch/$name.log" 2>&1
    recorded=$?
    if [ $recorded = 0 ]; then
        "$build/verbfault" replay "$results/$name.scn" >>"$scratch/$name.log" 2>&1
        recorded=$?
    fi
    verdict "$name" $recorded
}
recorded record-cjaccl-mesh 2 '[[null,"rxe0"],["rxe0",null]]' \
    "$programs/collectives"
