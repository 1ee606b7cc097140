#!/bin/sh
# Is an installed cjaccl of use to others?
#
#   install.sh BUILD SOURCE GENERATOR CC CXX [VERBFAULT]
#
# Installs BUILD below a scratch prefix, moves it, so that nothing can still
# point to where it was built or installed, and builds the examples (C and C++)
# against it by find_package and by pkg-config. Each is run as a group of one,
# and, given the verbfault command, as three ranks. CXX is "" where C++ was left
# out.
set -eu
build=$1
source=$2
generator=$3
cc=$4
cxx=$5
verbfault=${6-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset JACCL_RANK MLX_RANK JACCL_IBV_DEVICES MLX_IBV_DEVICES || true

fail() {
    echo "install.sh: $*" >&2
    exit 1
}

cmake --install "$build" --prefix "$work/first" >"$work/installed" ||
    fail "installing failed"
mv "$work/first" "$work/prefix"
prefix=$work/prefix

# Where it was built is nobody's business.
if grep -rIl -e "$build" -e "$work/first" "$prefix" >"$work/told"; then
    cat "$work/told" >&2
    fail "these files tell where it was built"
fi

# check PROGRAM: as a group of one, then of three
check() {
    "$1" >"$work/out" 2>&1 || { cat "$work/out" >&2; fail "$1 failed"; }
    grep -qx 'rank 0 of 1: the sum is 1' "$work/out" ||
        fail "$1 alone says: $(cat "$work/out")"
    [ -n "$verbfault" ] || return 0
    "$verbfault" run -n 3 --timeout 60 -- "$1" >"$work/out" 2>&1 ||
        { cat "$work/out" >&2; fail "three ranks of $1 failed"; }
    for rank in 0 1 2; do
        grep -qx "\[$rank\] rank $rank of 3: the sum is 6" "$work/out" ||
            fail "three ranks of $1 say: $(cat "$work/out")"
    done
}

languages='c'
[ -z "$cxx" ] || languages='c cpp'

# By find_package. Without a C++ compiler there are no such examples.
if [ -n "$cxx" ]; then
    cmake -S "$source/cjaccl/examples" -B "$work/examples" -G "$generator" \
        -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
        -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_C_FLAGS='-Wall -Wextra -Werror' \
        -DCMAKE_CXX_FLAGS='-Wall -Wextra -Werror' >"$work/log" 2>&1 ||
        { cat "$work/log" >&2; fail "find_package failed"; }
    cmake --build "$work/examples" >"$work/log" 2>&1 ||
        { cat "$work/log" >&2; fail "the examples do not build"; }
    for language in $languages; do
        check "$work/examples/all_sum_$language"
    done
fi

# By pkg-config.
PKG_CONFIG_PATH=$(find "$prefix" -name pkgconfig)${PKG_CONFIG_PATH+:$PKG_CONFIG_PATH}
export PKG_CONFIG_PATH
# shellcheck disable=SC2046 # words
"$cc" "$source/cjaccl/examples/all_sum.c" -o "$work/by_pkg_config_c" \
    $(pkg-config --cflags --libs cjaccl) || fail "pkg-config cjaccl failed"
check "$work/by_pkg_config_c"
if [ -n "$cxx" ]; then
    # shellcheck disable=SC2046 # words
    "$cxx" -std=c++17 "$source/cjaccl/examples/all_sum.cpp" \
        -o "$work/by_pkg_config_cpp" \
        $(pkg-config --cflags --libs cjaccl-cxx) ||
        fail "pkg-config cjaccl-cxx failed"
    check "$work/by_pkg_config_cpp"
fi
