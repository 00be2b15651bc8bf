package cli

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
)

// live draws the running steps at the bottom of a terminal, each with a spinner, its time, its tokens and the end of what its model says; finished
// steps stay above as lines.
type live struct {
	mu     sync.Mutex
	app    *app
	board  board
	drawn  int // lines on the screen below the finished ones
	frame  int
	ended  bool
	hidden bool
	stop   chan struct{}
	gone   chan struct{}
}

const drawEvery = 100 * time.Millisecond

// maxDrawn bounds the lines at the bottom; more running steps are counted.
const maxDrawn = 8

var spinner = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

func newLive(a *app) *live {
	l := &live{app: a, stop: make(chan struct{}), gone: make(chan struct{})}
	go l.spin()
	return l
}

func (l *live) spin() {
	defer close(l.gone)
	tick := time.NewTicker(drawEvery)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-tick.C:
			l.mu.Lock()
			l.frame++
			if !l.hidden {
				l.draw()
			}
			l.mu.Unlock()
		}
	}
}

func (l *live) event(e engine.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	ln := l.board.add(e)
	if _, ok := e.Data.(*engine.RunResumed); ok {
		l.hidden = false
	}
	if ln == nil {
		return
	}
	l.erase()
	fmt.Fprintf(l.app.Err, "%s %s\n", l.paint(ln.mark), short(ln.text, l.width()-2))
	if !l.hidden {
		l.draw()
	}
}

func (l *live) delta(d driver.Delta) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.board.find(d.Step)
	if a == nil {
		return
	}
	if d.Offset == 0 {
		a.said = ""
	}
	a.said += d.Text
	if r := []rune(a.said); len(r) > 400 {
		a.said = string(r[len(r)-200:])
	}
}

func (l *live) hide() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.erase()
	l.hidden = true
}

func (l *live) done() {
	l.mu.Lock()
	if l.ended {
		l.mu.Unlock()
		return
	}
	l.ended = true
	l.erase()
	close(l.stop)
	l.mu.Unlock()
	<-l.gone
}

func (l *live) width() int {
	if l.app.Width != nil {
		if w := l.app.Width(); w > 10 {
			return w
		}
	}
	return 80
}

// erase takes the lines at the bottom away.
func (l *live) erase() {
	if l.drawn > 0 {
		fmt.Fprintf(l.app.Err, "\x1b[%dA\r\x1b[J", l.drawn)
		l.drawn = 0
	}
}

func (l *live) draw() {
	if l.ended || (len(l.board.running) == 0 && l.drawn == 0) {
		return
	}
	var b strings.Builder
	if l.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r\x1b[J", l.drawn)
	}
	l.drawn = 0
	width := l.width() - 1
	for i, a := range l.board.running {
		if i == maxDrawn {
			fmt.Fprintf(&b, "  and %d more\n", len(l.board.running)-i)
			l.drawn++
			break
		}
		head := a.title() + "  " + duration(time.Since(a.started).Truncate(100*time.Millisecond))
		if t := a.usage.InputTokens + a.usage.OutputTokens; t > 0 {
			head += fmt.Sprintf("  %d tokens", t)
		}
		tail := a.doing
		if a.said != "" {
			tail = clean(a.said)
		}
		room := width - 2 - len([]rune(head))
		if tail != "" && room > 8 {
			r := []rune(strings.TrimSpace(tail))
			if len(r) > room-2 {
				r = append([]rune{'…'}, r[len(r)-(room-3):]...)
			}
			tail = "  " + l.app.color.dim(string(r))
		} else {
			tail = ""
		}
		fmt.Fprintf(&b, "%s %s%s\n", l.app.color.blue(spinner[l.frame%len(spinner)]), short(head, width-2), tail)
		l.drawn++
	}
	fmt.Fprint(l.app.Err, b.String())
}

func (l *live) paint(mark string) string {
	c := l.app.color
	switch mark {
	case markDone:
		return c.green(mark)
	case markFail:
		return c.red(mark)
	case markWait, markRetry:
		return c.yellow(mark)
	}
	return c.dim(mark)
}
