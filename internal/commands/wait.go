package commands

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"codemode/internal/bridge"

	"golang.org/x/term"
)

// When a wait is shown: on a terminal in a line that is rewritten, elsewhere once in a line of its own.
const (
	waitShown = 300 * time.Millisecond
	waitTold  = 2 * time.Second
	waitTick  = 100 * time.Millisecond // ten times a second is as often as anybody reads
)

// wait is something that takes time, and what is known of it.
type wait struct {
	subject string // the server it is about, or empty
	begun   string // what it was at first
	text    string
	began   time.Time
	told    bool
}

func (w *wait) says(text string) string {
	if w.subject == "" {
		return text
	}
	return w.subject + ": " + text
}

// waiting says what it is that takes time, or what is new about it; an empty text is its end. It may be called from any
// goroutine. A timer shows it as long as there is anything to wait for.
func (u *ui) waiting(subject, text string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	i := slices.IndexFunc(u.waits, func(w *wait) bool { return w.subject == subject })
	switch {
	case i >= 0 && text == "":
		u.waits = slices.Delete(u.waits, i, i+1)
		u.clear()
	case i >= 0:
		u.waits[i].text = text
	case text != "":
		u.waits = append(u.waits, &wait{subject: subject, begun: text, text: text, began: time.Now()})
	}
	u.watch()
}

// watch sets the timer, where there is anything to wait for. It is called with u.mu held.
func (u *ui) watch() {
	switch {
	case len(u.waits) == 0 || u.ticking:
	case u.ticker == nil:
		u.ticker, u.ticking = time.AfterFunc(waitTick, u.tick), true
	default:
		u.ticker.Reset(waitTick)
		u.ticking = true
	}
}

func (u *ui) tick() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ticking = false
	if u.live {
		u.showWaits()
	} else {
		u.tellWaits()
	}
	u.watch()
}

// foremost are the waits that are told: those for servers, if there are any, say more than what waits for them.
func foremost(waits []*wait) []*wait {
	servers := slices.DeleteFunc(slices.Clone(waits), func(w *wait) bool { return w.subject == "" })
	if len(servers) > 0 {
		return servers
	}
	return waits
}

// showWaits writes the line of what was begun last. It is not shown behind what a program has printed without a line
// end. It is called with u.mu held.
func (u *ui) showWaits() {
	if w, ok := u.out.(*lockedWriter); len(u.waits) == 0 || u.inLine || ok && w.screen.taken() {
		return
	}
	waits := foremost(u.waits)
	w := waits[len(waits)-1]
	took := time.Since(w.began)
	if took < waitShown {
		return
	}
	end := fmt.Sprintf(" … %d s", int(took.Seconds()))
	if n := len(waits) - 1; n > 0 {
		end += fmt.Sprintf(" (and %d more)", n)
	}
	const head = "codemode: "
	line := head + cut(oneLine(w.says(w.text)), max(20, u.width()-len(head)-utf8.RuneCountInString(end)-1)) + end
	if line == u.shown && u.progress {
		return
	}
	u.clear()
	fmt.Fprint(u.out, line)
	u.progress, u.shown = true, line
}

// tellWaits writes a line about what has taken long, once. It is called with u.mu held.
func (u *ui) tellWaits() {
	var late []*wait
	for _, w := range u.waits {
		if !w.told && time.Since(w.began) >= waitTold {
			w.told = true
			late = append(late, w)
		}
	}
	if len(late) == 0 {
		return
	}
	late = foremost(late)
	w := late[len(late)-1]
	text := w.says(w.begun) // what it said since is one line of many
	if n := len(late) - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	fmt.Fprintf(u.out, "codemode: waiting: %s\n", oneLine(text))
}

// width is how many columns the terminal has.
func (u *ui) width() int {
	out := u.out
	if w, ok := out.(*lockedWriter); ok {
		out = w.Writer
	}
	if f, ok := out.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return w
		}
	}
	return 80
}

// busy is waiting for something that tells its progress.
func (u *ui) busy(done, total int, what string) {
	switch {
	case done >= total:
		u.waiting("", "")
	case done == 0:
		u.waiting("", what)
	default:
		u.waiting("", fmt.Sprintf("%s %d %%", what, 100*done/total))
	}
}

// working is waiting for something that says itself how far it is.
func (u *ui) working(what string) { u.waiting("", what) }

// done ends what busy and working have begun.
func (u *ui) done() { u.waiting("", "") }

// quit ends all waits.
func (u *ui) quit() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.waits = nil
	u.clear()
	if u.ticker != nil {
		u.ticker.Stop()
	}
}

// calls shows the calls of a program that take long, on a terminal; elsewhere its output is all that is wanted.
func (u *ui) calls() func(call, text string) {
	if !u.live {
		return nil
	}
	var mu sync.Mutex
	underWay := map[string]int{}
	return func(call, text string) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case text == bridge.Called:
			underWay[call]++
		case text == "":
			if underWay[call]--; underWay[call] > 0 {
				return
			}
			delete(underWay, call)
		case underWay[call] == 0: // it has ended
			return
		}
		u.waiting(call, text)
	}
}
