#!/bin/sh
# The page of a sweep: small, whole, nothing from outside; what it says repeats
# a run does repeat it; and in a real browser, where there is one, a click opens
# a cell. (How soon it is there: bench/page.)
# usage: page.sh PATH_OF_VERBFAULT [DIRECTORY_OF_PROGRAMS]
set -u
verbfault=$1 programs=${2:-}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
mkdir bin tmp
ln -s "$verbfault" bin/verbfault
PATH=$scratch/bin:$PATH
TMPDIR=$scratch/tmp
export PATH TMPDIR
failed=0 passed=0
check() {
    name=$1
    shift
    if "$@" >check.out 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $name: $*"
        head -n 20 check.out
    fi
}

both='--subject cjaccl --subject legacy-2026-08-22'
verbfault sweep $both --html page.html >table 2>&1
check 'a sweep with a page is as fine as one without' [ $? = 0 ]
check 'under 5 MB' [ "$(wc -c <page.html)" -lt 5242880 ]
check 'nothing from outside' sh -c \
    '! grep -qE "(src|href)=|@import|url\(|https?://" page.html'
verbfault sweep $both --jobs 1 --html - >again.html 2>/dev/null
check 'the same bytes from one worker, on standard output' \
    cmp page.html again.html
verbfault sweep $both --verbs dereg_mr,query_gid --depth 2 --ranks 0 \
    --html two.html >table 2>&1
check 'two faults at a time' grep -q 'two faults at a time' two.html
for shard in 1 2; do
    verbfault sweep $both --verbs dereg_mr,query_gid --depth 2 --ranks 0 \
        --shard $shard/2 -o part$shard >/dev/null 2>&1
done
verbfault sweep --merge part1 part2 --html merged.html >/dev/null 2>&1
check 'the same page of merged shards' cmp two.html merged.html
printf '# </script><script>alert(1)</script>\ndevice * x-_.y\nrun init\n' \
    >'<i>&.scn'
verbfault sweep --subject cjaccl --verbs reg_mr --html bad.html '<i>&.scn' \
    >/dev/null 2>&1
check 'no markup of a scenario' sh -c '! grep -qE "alert\(1|<i>" bad.html'
if command -v xmllint >/dev/null 2>&1; then
    for page in page two bad; do
        check "$page.html is well-formed" xmllint --noout $page.html
    done
else
    echo "skipped: well-formedness (no xmllint; Debian: libxml2-utils)"
fi
verbfault sweep --verbs reg_mr --subject cjaccl --html /nonexistent/x \
    >/dev/null 2>errors
check 'a page that cannot be written is exit 3' [ $? = 3 ]
verbfault sweep --html >/dev/null 2>errors
check 'a file is missing: exit 2' [ $? = 2 ]
check 'in one line' [ "$(wc -l <errors)" = 1 ]

# What is to be pasted begins with the command as it was called.
mkdir "a b"
ln -s "$verbfault" "a b/it's"
"./a b/it's" sweep --subject cjaccl --verbs create_qp --html called.html \
    >/dev/null 2>&1
# text_shell() and JSON make of it:
check 'commands are named as it was called' \
    grep -qF '"replay":"'"'./a b/it'\\\\''s' replay --verbose" called.html
"./a b/it's" explain --subject cjaccl --html called.html '<i>&.scn' >/dev/null
check 'by explain, too' \
    grep -qF "<pre>&#39;./a b/it&#39;\\&#39;&#39;s&#39; explain --subject cjaccl" \
    called.html
"./a b/it's" sweep --verbs >/dev/null 2>errors
check 'and the way to the help' \
    grep -qF "try './a b/it'\\''s' sweep --help" errors
verbfault sweep --subject cjaccl --verbs create_qp --ranks 0 '<i>&.scn' \
    >table 2>&1
check 'one point is one point' grep -q ': 1 point, [0-9]* runs, 0 broken promises' \
    table

verbfault sweep --preset quick --verbs create_qp --html many.html >/dev/null 2>&1
check 'the points of a map are a block of their own' \
    [ "$(grep -c 'application/json" id="map-' many.html)" = 15 ]
check 'calls that are alike are there once' \
    grep -qE '^\[0,[0-9]+,\[.*\[[0-9]+,[0-9]{2,},[0-9]+\]' page.html

# Where no script runs, the totals are there, and that the maps are not is said.
sed '/<script/,/<\/script>/d' many.html >still.html
check 'totals need no script' grep -q 'error in init: create queue pair' \
    still.html
check 'what does is said' grep -q '<noscript>.*totals above need none' still.html

# ---- in a browser

# browse PAGE SCRIPT [#PLACE]: runs the script, which may await, in the page once
# it is loaded; what it answers is in `answer`. Time is the browser's: it does not
# pass while something is to be done.
browse() {
    sed 's|</body>||; s|</html>||' "$1" >browsed.html
    cat >>browsed.html <<EOT
<script>
function event(on, name) {
  return new Promise(function (done) {
    on.addEventListener(name, done, {once: true});
  });
}
function key(name) {
  document.activeElement.dispatchEvent(
      new KeyboardEvent('keydown', {key: name, bubbles: true}));
}
function part(i) { return document.querySelectorAll('.part')[i]; }
function cells(i) { return part(i).querySelectorAll('.cells button').length; }
var panel = document.getElementById('panel');
addEventListener('load', async function () {
  var node = document.createElement('pre'), result;
  try { result = await (async function () { $2 })(); }
  catch (e) { result = 'ERROR ' + e; }
  node.id = 'result';
  node.textContent = result;
  document.body.append(node);
});
</script></body></html>
EOT
    # HOME: a browser leaves things there.
    HOME=$scratch/tmp timeout 120 "$browser" --headless --no-sandbox \
        --disable-gpu --virtual-time-budget=30000 $scheme \
        --dump-dom "file://$scratch/browsed.html${3:-}" 2>/dev/null |
        sed -n '/<pre id="result">/,/<\/pre>/p' |
        sed 's|.*<pre id="result">||; s|</pre>.*||; s|&lt;|<|g; s|&gt;|>|g
             s|&quot;|"|g; s|&amp;|\&|g' >answer
}
click() {
    echo "var cell = Array.from(document.querySelectorAll('.cells button'))
        .find(function (b) { return b.title.indexOf('$1') === 0 &&
                             b.textContent === '$2'; });
        cell.click();"
}
browser= scheme=
for name in chromium chromium-browser google-chrome; do
    [ -n "$browser" ] || browser=$(command -v $name) || :
done
if [ -z "$browser" ]; then
    echo "skipped: clicks and commands (no chromium)"
else
    browse page.html "$(click 'rank 0: call 3 of reg_mr' C)
        return document.querySelector('#panel pre').textContent;"
    check 'a click shows the command' grep -q '^verbfault replay .*END' answer
    check 'of that cell' grep -q '^fault 0 reg_mr 3 null ENOMEM$' answer
    sh ./answer >replayed 2>&1
    check 'pasted, it repeats the run' \
        grep -qE 'crash .*null-mr in dereg_mr' replayed
    browse page.html "$(click 'rank 0: call 3 of reg_mr' C)
        return document.querySelectorAll('#panel pre')[1].textContent;"
    sh ./answer >replayed 2>&1
    check 'and draws it' grep -q 'null-mr in dereg_mr: a NULL mr' replayed
    browse page.html "$(click 'rank 1: side channel after' e)
        return document.querySelector('#panel pre, #panel button').textContent;"
    check 'bytes of the side channel' grep -qE 'verbfault|close' answer
    browse page.html "document.querySelector('.f[data-outcome=\"7\"]').click();
        var all = document.querySelectorAll('.cells button').length;
        var dim = document.querySelectorAll('.cells .dim').length;
        return dim > 0 && dim < all ? 'filtered' : dim + ' of ' + all;"
    check 'a filter leaves some' grep -q '^filtered$' answer

    # Of many maps the first is open, the others are drawn when they are.
    browse many.html "var before = [part(0).open, cells(0) > 0, part(9).open,
                                    cells(9)].join();
        part(9).querySelector('summary').click();
        await event(part(9), 'toggle');
        return before + ' ' + (cells(9) > 0) + cells(10);"
    check 'a map that is opened later is drawn then' \
        grep -qx 'true,true,false,0 true0' answer
    browse many.html "document.querySelector('.t[data-part=\"9\"]').click();
        var left = part(9).querySelector('.cells button:not(.dim)');
        return part(9).open + left.title;"
    check 'a title opens its map and shows where it is' \
        grep -q '^truerank 0: call 1 of create_qp' answer
    browse many.html "await new Promise(function (done) {
          setTimeout(done, 1000); });
        var at = document.activeElement.getBoundingClientRect();
        return [part(9).open, cells(2), document.activeElement.title,
                at.top > 0 && at.bottom < innerHeight,
                panel.querySelector('h2').textContent].join('|');" '#9.1.1'
    check 'an address leads to a cell of a map not drawn before' grep -qx \
        'true|0|rank 1: call 1 of create_qp: .*|true|rank 1: call 1 of create_qp' \
        answer
    browse many.html "key('ArrowUp');
        var up = document.activeElement.title.slice(0, 6);
        document.activeElement.click();
        var hash = location.hash;
        key('Escape');
        return [up, hash, panel.hidden, location.hash,
                document.activeElement.title.slice(0, 6)].join('|');" '#9.1.1'
    check 'keys walk it, and an open cell is the address' \
        grep -qx 'rank 0|#9.0.1|true||rank 0' answer
    browse many.html "var all = [panel.hidden];
        location.hash = '#3.0.1';
        await event(window, 'hashchange');
        all.push(panel.hidden, part(3).open);
        return all.join();" '#99.1.1'
    check 'an address that is none shows nothing, the next one does' \
        grep -qx 'true,false,true' answer
    scheme=--blink-settings=preferredColorScheme=0
    browse many.html "return getComputedStyle(document.body).backgroundColor;"
    check 'dark for who likes it dark' grep -qx 'rgb(22, 24, 28)' answer
    scheme=
    HOME=$scratch/tmp timeout 120 "$browser" --headless --no-sandbox \
        --disable-gpu --print-to-pdf=printed.pdf "file://$scratch/many.html" \
        >/dev/null 2>&1
    check 'prints' [ -s printed.pdf ]
    if command -v pdftotext >/dev/null 2>&1; then
        pdftotext printed.pdf printed.txt
        check 'totals are printed' \
            grep -q 'error in init: create queue pair' printed.txt
        check 'and the map that is open' grep -q 'create_qp ×' printed.txt
    else
        echo "skipped: what is printed (no pdftotext; Debian: poppler-utils)"
    fi
fi

# ---- real programs

if [ -n "$programs" ] && [ -x "$programs/run_careless" ]; then
    verbfault sweep -n 1 --once --verbs reg_mr --html real.html -- \
        "$programs/run_careless" >/dev/null 2>&1
    check 'findings are exit 1' [ $? = 1 ]
    check 'the run command reads a scenario' \
        grep -q 'verbfault run -n 1 --scenario - --timeout 10' real.html
    if [ -n "$browser" ]; then
        browse real.html "$(click 'rank 0: call 1 of reg_mr' C)
            return document.querySelector('#panel pre').textContent;"
        sh ./answer >replayed 2>&1
        check 'pasted, it repeats that, too' \
            grep -q '^r0: crash: null-mr' replayed
    fi
else
    echo "skipped: real programs (not built)"
fi

echo "$passed checks passed, $failed failed"
[ $failed = 0 ]
