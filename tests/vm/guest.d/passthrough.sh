# The passage over the kernel's device: programs as they are, and with faults that
# the device knows nothing of.
passage="$build/verbfault run --device -n 1 --"
# shellcheck disable=SC2086 # words
{
    pair passthrough-uc-pingpong $passage ibv_uc_pingpong -d rxe0 -g 1 -n 50
    pair passthrough-rc-events $passage ibv_rc_pingpong -d rxe0 -g 1 -n 50 -e
    pair passthrough-write-bw $passage ib_write_bw -d rxe0 -x 1 -n 100 -s 4096
    group passthrough-cjaccl-mesh 2 '[[null,"rxe0"],["rxe0",null]]' \
        $passage "$programs/collectives"
}
# refused VERB EFFECT SAID: rdma-core's ping-pong with a fault ends in its own error
refused() {
    printf 'fault 0 %s 1 %s\n' "$1" "$2" >"$scratch/$1.scn"
    test_it "passthrough-fault-$1" sh -c \
        "$build/verbfault run --device -n 1 --scenario $scratch/$1.scn -- \
        ibv_uc_pingpong -d rxe0 -g 1 -n 5 2>&1 | tee /dev/stderr | grep -q \"$3\""
}
refused reg_mr 'null ENOMEM' "Couldn't register MR"
refused create_cq 'null ENOMEM' "Couldn't create CQ"
refused modify_qp 'errno EINVAL' 'Failed to modify QP to INIT'
