# Where a device and the mock part ways.
#
# usage: awk -f compare.awk known.txt REAL MOCK
#
# REAL and MOCK are what the conformance program printed on each; of a sequence
# that is there twice, the later one counts. A call is a
# line and the indented ones below it. The first difference of each sequence is
# shown, unless known.txt explains it: then the comparison goes on behind it, or
# ends there, as known.txt says. At the end the differences by kind, and how
# many sequences are alike. Exit 1 if one is unexplained.
#
# A line of known.txt: its word in docs/conformance.md, how, an expression for
# the device's call and one for the mock's, separated by " ## ". How: "on", the
# comparison goes on with the next call; "end", the two are in different states
# from there on; "but", it is not the whole call that the expressions match but
# a piece of it, and without such pieces the two have to be alike; "more", the
# mock says more lines of the second expression than the device, in the call of
# the first, or says them sooner. A " | " in a call stands for the end of a line.

function fail(name, call, real, mock) {
    differing++
    printf "-- %s, call %d\n   device: %s\n   mock:   %s\n", name, call, real, mock
    kind = real
    sub(/[ (].*/, "", kind)
    kinds[kind]++
}

# Are they alike without the pieces that may differ? Then explained[] has why.
function alike_but(name, real, mock,    i, cut, used) {
    for (i = 1; i <= reasons && real != mock; i++)
        if (how[i] == "but" && name ~ about[i]) {
            cut = gsub(real_form[i], "~", real)
            cut += gsub(mock_form[i], "~", mock)
            if (cut)
                used[i] = 1
        }
    if (real != mock)
        return 0
    for (i in used)
        explained[word[i]]++
    return 1
}

# Is real what mock says without some lines of that form, or with lines that the
# mock has said before? pending[] has what the device may say yet.
function says_more(real, mock, form,    r, m, most, few, i, j, early, late) {
    most = split(mock, m, / \|  /)
    few = split(real, r, / \|  /)
    for (i = j = 1; i <= most || j <= few;)
        if (i <= most && j <= few && m[i] == r[j]) {
            i++
            j++
        } else if (j <= few && r[j] ~ form && (r[j] in pending)) {
            late[r[j++]]
        } else if (i <= most && m[i] ~ form) {
            early[m[i++]]
        } else {
            return 0
        }
    for (i in late)
        delete pending[i]
    for (i in early)
        pending[i]
    return 1
}

# The number of what explains it; 0: nothing does.
function explain(name, real, mock,    i) {
    for (i = 1; i <= reasons; i++)
        if (name !~ about[i] || real !~ real_form[i])
            continue
        else if (how[i] == "more" && says_more(real, mock, mock_form[i]))
            return i
        else if ((how[i] == "on" || how[i] == "end") && mock ~ mock_form[i])
            return i
    return 0
}

FNR == 1 { file++ }
file == 1 {
    if ($0 ~ /^#/ || $0 == "")
        next
    parts = split($0, part, / ## /)
    if (parts != 4) {
        print "known.txt: " $0 ": not four parts"
        broken = 1
        exit
    }
    reasons++
    split(part[1] "@", part_of_word, "@")
    word[reasons] = part_of_word[1]
    about[reasons] = part_of_word[2]
    how[reasons] = part[2]
    real_form[reasons] = part[3]
    mock_form[reasons] = part[4]
    next
}
/^== / {
    name = substr($0, 4)
    count[file, name] = 0
    if (file == 2 && !(name in seen)) {
        names[++sequences] = name
        seen[name] = 1
    }
    next
}
/^  / { # of the call above
    call[file, name, count[file, name]] = call[file, name, count[file, name]] " |" $0
    next
}
/./ { call[file, name, ++count[file, name]] = $0 }

END {
    if (broken)
        exit 2
    for (s = 1; s <= sequences; s++) {
        name = names[s]
        split("", pending)
        plain = 1
        most = count[2, name]
        if (count[3, name] + 0 > most)
            most = count[3, name]
        for (i = 1; i <= most; i++) {
            calls++
            real = i <= count[2, name] ? call[2, name, i] : "(no such call)"
            mock = i <= count[3, name] + 0 ? call[3, name, i] : "(no such call)"
            if (real == mock)
                continue
            plain = 0
            if (alike_but(name, real, mock))
                continue
            reason = explain(name, real, mock)
            if (!reason) {
                fail(name, i, real, mock)
                break
            }
            explained[word[reason]]++
            if (how[reason] == "end")
                break
        }
        alike += plain
    }
    print ""
    for (kind in kinds)
        printf "unexplained: %s in %d sequences\n", kind, kinds[kind]
    for (i = 1; i <= reasons; i++)
        if (word[i] in explained) {
            printf "explained: %s, %d calls\n", word[i], explained[word[i]]
            delete explained[word[i]]
        }
    printf "%d sequences, %d calls: %d alike, %d explained, %d not\n", sequences, calls, alike, sequences - alike - differing, differing
    exit differing > 0 || sequences == 0
}
