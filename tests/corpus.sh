#!/bin/sh
# scripts/corpus keeps a corpus small: in miniature, with a fuzz target of its own
# in a copy of the script's surroundings.
# usage: corpus.sh REPOSITORY
set -u
repository=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
failed=0 passed=0
# check NAME COMMAND...
check() {
    name=$1
    shift
    if "$@" >check.out 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $name: $*"
        head -n 20 check.out out
    fi
}

mkdir -p small/scripts small/build/fuzzing/fuzz small/corpus/verbs \
    small/corpus/side_channel small/corpus/init
cp "$repository/scripts/corpus" small/scripts/corpus
printf '#!/bin/sh\n' >small/scripts/setup
cp small/scripts/setup small/scripts/build
# Reads no scenarios, so it takes every text.
printf '#!/bin/sh\ncat\n' >small/build/verbfault
chmod +x small/scripts/* small/build/verbfault
cat >mini.c <<'END'
/* Four words are told apart; what looks for them is not counted. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static volatile int seen;

__attribute__((noinline, no_sanitize("coverage"))) static int
has(const uint8_t *data, size_t size, const char *word)
{
    size_t length = strlen(word);
    for (size_t i = 0; i + length <= size; i++)
        if (memcmp(data + i, word, length) == 0)
            return 1;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (has(data, size, "red"))
        seen = 1;
    if (has(data, size, "green")) {
        seen = 2;
        if (has(data, size, "blue"))
            seen = 3;
    }
    if (has(data, size, "white"))
        seen = 4;
    return 0;
}
END
if ! clang -fsanitize=fuzzer -O1 mini.c -o small/build/fuzzing/fuzz/fuzz_verbs \
    2>/dev/null; then
    echo "skipped: no clang with libFuzzer"
    exit 77
fi
for target in side_channel init-cjaccl; do
    cp small/build/fuzzing/fuzz/fuzz_verbs small/build/fuzzing/fuzz/fuzz_$target
done
corpus() {
    small/scripts/corpus "$@" </dev/null >out 2>&1
}
found() {
    find "small/corpus/$1" -name 'found-*' | wc -l
}

# ---- merge

mkdir learnt
printf 'red\n' >small/corpus/verbs/red
printf 'one\ngreen\ntwo\nred\nthree\nblue\nfour\n' >learnt/long
printf 'one\ntwo\nred\ngreen\nthree\nblue\nfour\nfive\nsix\n' >learnt/longer
printf 'x red y\n' >learnt/known
check 'merge' corpus merge verbs learnt
check 'one is enough for what is new' [ "$(found verbs)" = 1 ]
check 'without a line that it can do without' \
    [ "$(cat small/corpus/verbs/found-*)" = "$(printf 'green\nblue')" ]
check 'under the name of what it holds' [ -e "small/corpus/verbs/found-$(
    printf 'green\nblue\n' | sha1sum | cut -c 1-12)" ]
check 'what was there is as it was' [ "$(cat small/corpus/verbs/red)" = red ]
check 'it is told of' grep -q -- '- found-' small/corpus/FILES.md
corpus merge verbs learnt
check 'once more brings nothing' [ "$(found verbs)" = 1 ]

# ---- of bytes, and of scenarios

printf 'red' >small/corpus/side_channel/red
printf '\000\001redgreen\377\000white\000' >learnt/bytes
rm learnt/lon* learnt/known
check 'merge of bytes' corpus merge side_channel learnt
check 'no byte too many' \
    [ "$(cat small/corpus/side_channel/found-*)" = greenwhite ]
printf 'red\nwhite\n' >small/corpus/init/named.scn
rm learnt/*
printf 'red\nblue\ngreen\nwhite\n' >learnt/scenario
check 'merge of scenarios' corpus merge init-cjaccl learnt
check 'a scenario says whose it is' [ "$(cat small/corpus/init/found-*.scn)" = \
    "$(printf '# Found by fuzz_init-cjaccl: reaches what no named case does.
blue\ngreen')" ]

# ---- minimize

rm -f small/corpus/verbs/found-*
printf 'blue\nsome\nmore\ngreen\nlines\n' \
    >small/corpus/verbs/found-0123456789ab
printf 'some\nlines\nwhite\n' >small/corpus/verbs/found-by-somebody
check 'minimize' corpus minimize verbs
check 'says what it did' \
    grep -q '^corpus/verbs/found-[0-9a-f]*: 11 bytes, was 27$' out
check 'the long one is gone' [ ! -e small/corpus/verbs/found-0123456789ab ]
check 'the short one is there' [ "$(cat "small/corpus/verbs/found-$(
    printf 'blue\ngreen\n' | sha1sum | cut -c 1-12)")" = \
    "$(printf 'blue\ngreen')" ]
check 'what people named stays' \
    [ "$(wc -l <small/corpus/verbs/found-by-somebody)" = 3 ]
corpus minimize verbs
check 'it is as short as it can be' grep -q ': 11 bytes, was 11$' out
check 'minimize of a scenario' corpus minimize init-cjaccl
check 'it still says whose it is' \
    grep -q '^# Found by' small/corpus/init/found-*.scn

# ---- prune

printf 'blue\ngreen\n' >small/corpus/verbs/case
check 'prune' corpus prune verbs
check 'what a case reaches needs no found one' [ "$(found verbs)" = 1 ]
check 'but what people named stays' [ -e small/corpus/verbs/found-by-somebody ]
check 'all folders' corpus prune

# ---- usage

for command in minimize prune merge; do
    corpus $command nothing learnt
    code=$?
    check "$command of no target" [ $code = 2 ]
    check 'is told' grep -q 'no folder for the target "nothing"' out
done
corpus check
check 'the readme is what it would write' [ $? = 0 ]

echo "$passed passed, $failed failed"
[ $failed = 0 ]
