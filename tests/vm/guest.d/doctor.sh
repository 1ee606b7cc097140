# The doctor on a device that works, and on a file that names another one.
test_it doctor "$build/verbfault" doctor --device rxe0
printf '[[null,"rxe7"],["rxe7",null]]\n' >"$scratch/wrong.json"
test_it doctor-wrong-name sh -c \
    "! $build/verbfault doctor --rank 0 $scratch/wrong.json >$scratch/out 2>&1 &&
    cat $scratch/out && grep -q '^FAIL .*rxe7' $scratch/out"
