# perftest's full size sweep, alone and through the passage: the same sizes, as many
# messages of each, no completion lost (it would not come to its end), no finding.
# What the passage costs is told as a ratio, the geometric mean over all sizes: of
# bandwidths, and of latencies. In an emulated machine that is mostly the kernel's
# time. Unless they are asked for, only SEND is done, for the time that it takes:
#
#     tests/vm/run.sh BUILD sizes

passage=$build/lib/libverbfault-device.so

# rows LOG COLUMN: size, messages, and the column that counts, of each size
rows() {
    # A time may be negative where the processors' clocks differ.
    awk -v column="$2" '
        $1 ~ /^[0-9]+$/ && $2 ~ /^[0-9]+$/ && NF >= 5 { print $1, $2, $column }' \
        "$1"
}
# all_sizes NAME COLUMN PROGRAM [OPTION...]
all_sizes() {
    all=$1 column=$2
    shift 2
    wanted "sizes-$all" || return 0
    pair "sizes-$all-alone" "$@" -d rxe0 -x 1 -a -n 5 -F
    pair "sizes-$all-passed" env LD_PRELOAD="$passage" "$@" \
        -d rxe0 -x 1 -a -n 5 -F
    rows "$scratch/sizes-$all-alone.log" "$column" >"$scratch/alone"
    rows "$scratch/sizes-$all-passed.log" "$column" >"$scratch/passed"
    paste -d ' ' "$scratch/alone" "$scratch/passed" | awk '
        $1 != $4 || $2 != $5 { bad = 1 }
        $3 > 0 && $6 > 0 { sum += log($6 / $3); count++ }
        END {
            printf "    %d sizes, with the passage %.2f times\n", NR,
                count ? exp(sum / count) : 0
            exit bad || NR < 20
        }' >"$scratch/sizes-$all.log"
    same=$?
    # perftest 4.5 leaves a completion queue of the client to the kernel.
    ! grep -hE 'finding: |crash: ' "$scratch/sizes-$all-passed".* |
        grep -v 'children-alive in close_device' \
            >>"$scratch/sizes-$all.log" || same=1
    verdict "sizes-$all" $same
    [ $same != 0 ] || cat "$scratch/sizes-$all.log"
}
patience=150
all_sizes send-bw 4 ib_send_bw
if [ -n "$word" ]; then
    all_sizes write-bw 4 ib_write_bw
    all_sizes read-bw 4 ib_read_bw
    all_sizes send-lat 6 ib_send_lat
    all_sizes write-lat 6 ib_write_lat
fi
unset patience
