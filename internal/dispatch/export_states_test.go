package dispatch

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

func (p phase) String() string { return [...]string{"running", "stopping", "leaving"}[p] }

func (k knowledge) String() string {
	return [...]string{"unknown", "loading", "loading old", "current", "outdated"}[k]
}

func (c condition) String() string { return [...]string{"open", "draining", "parked"}[c] }

func (s searchState) String() string { return [...]string{"idle", "searching", "overtaken"}[s] }

func (h headState) String() string {
	return [...]string{"free", "queued", "in flight", "answered", "settled"}[h]
}

// effectWords describes the effects.
var effectWords = map[effect]string{
	never: "never", none: "", dropQueue: "drop queue", dropEarly: "drop early, search all", startSlowly: "start slowly, search all",
	find: "search", retry: "search in 1 s", adopt: "use it", learn: "learn health", learnNew: "learn if newer",
	hold: "hold", checkSoon: "check now", checkLater: "check when free", release: "give space back",
}

var messageWords = map[message]string{
	onStop: "stop", onLeave: "leave", onReload: "reload", onNewer: "newer version", onExpiry: "secret ended", onLoad: "load",
	onOpen: "open", onDrain: "draining", onPark: "parked", onSearch: "search",
	onRecord: "record", onFound: "found", onStale: "stale", onFailed: "failed", onTaken: "taken", onNews: "news", onBegin: "begin",
	onCut: "cut off", onAnswer: "answer", onNext: "next", onSettle: "settle", onDrop: "drop", onFree: "free",
}

// A Table is a table of the lane's states: a column for each state, and a row for each message.
type Table struct {
	Name  string // in the first cell
	Text  string
	Wrong []string // entries without words
}

// Tables returns the tables of the lane's states, and the messages that are in none.
func Tables() (list []Table, wrong []string) {
	used := map[message]int{}
	list = []Table{
		tableOf("Phase", phases, used), tableOf("Endpoint", endpoints, used), tableOf("Health", conditions, used),
		tableOf("Search", searches, used), tableOf("Head", heads, used),
	}
	for m := range numMessages {
		if used[m] == 0 {
			wrong = append(wrong, messageWords[m])
		}
	}
	return list, wrong
}

func tableOf[S interface {
	~int
	fmt.Stringer
}](name string, states table[S], used map[message]int,
) Table {
	t := Table{Name: name}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprint(w, name)
	for s := range states {
		_, _ = fmt.Fprint(w, "\t", S(s))
	}
	for m := range numMessages {
		if !slices.ContainsFunc(states, func(row [numMessages]step[S]) bool { return row[m].effect != never }) {
			continue
		}
		used[m]++
		_, _ = fmt.Fprint(w, "\n", messageWords[m])
		for s := range states {
			e := states[s][m]
			words, known := effectWords[e.effect]
			if !known {
				t.Wrong = append(t.Wrong, fmt.Sprintf("%v in %v", messageWords[m], S(s)))
			}
			if int(e.next) != s && e.effect != never {
				words = strings.TrimSuffix(e.next.String()+", "+words, ", ")
			}
			_, _ = fmt.Fprint(w, "\t", words)
		}
	}
	_ = w.Flush()
	for line := range strings.Lines(b.String()) {
		t.Text += strings.TrimRight(line, " \n") + "\n"
	}
	return t
}
