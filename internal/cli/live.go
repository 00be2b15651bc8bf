package cli

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// live draws the running steps at the bottom of a terminal, each with a spinner, its duration, its
// tokens and the end of its model output; finished steps stay above as lines. No line is longer
// than the terminal is wide, so that each drawn line takes one line on the screen.
type live struct {
	mu      sync.Mutex
	app     *app
	board   board
	drawn   []int // widths of the drawn lines below the finished ones
	frame   int
	ended   bool
	hidden  bool
	stop    chan struct{}
	stopped chan struct{}
}

const drawEvery = 100 * time.Millisecond

// maxDrawn is the maximum number of lines at the bottom; further running steps are only counted.
const maxDrawn = 8

// keptRunes is the maximum amount of model output kept: more than any terminal is wide.
const keptRunes = 400

var spinner = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

func newLive(a *app) *live {
	l := &live{app: a, stop: make(chan struct{}), stopped: make(chan struct{})}
	a.guard(func(spin func()) { go spin() }, l.spin)
	return l
}

func (l *live) spin() {
	defer close(l.stopped)
	tick := time.NewTicker(drawEvery)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-tick.C:
			l.turn()
		}
	}
}

// turn redraws with the next frame of the spinner.
func (l *live) turn() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frame++
	l.write("")
}

func (l *live) name(w *workflow.Workflow) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.board.name(w)
}

func (l *live) skip(e event.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.board.add(e)
}

func (l *live) event(e event.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	ln := l.board.add(e)
	if _, ok := e.Data.(*event.RunResumed); ok {
		l.hidden = false
	}
	if ln != nil {
		l.write(l.paint(ln.mark) + " " + ln.fit(l.width()-3) + "\n")
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
		a.output = ""
	}
	a.output += d.Text
	if r := []rune(a.output); len(r) > 2*keptRunes {
		a.output = string(r[len(r)-keptRunes:])
	}
}

func (l *live) say(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write(text)
}

func (l *live) hide() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hidden = true
	l.write("")
}

func (l *live) done() {
	if l.end() {
		<-l.stopped
	}
}

// end erases the display for good; it returns false if that was done before.
func (l *live) end() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return false
	}
	l.ended = true
	close(l.stop)
	l.write("")
	return true
}

func (l *live) width() int {
	if l.app.Width != nil {
		if w := l.app.Width(); w > 0 {
			return w
		}
	}
	return 80
}

// write writes whole lines above the running steps and redraws those, in a single write, so that
// nothing flickers. The caller holds l.mu.
func (l *live) write(lines string) {
	var b strings.Builder
	width := l.width()
	// If the terminal has become narrower, the drawn lines now take more rows.
	rows := 0
	for _, w := range l.drawn {
		rows += max(1, (w+width-1)/width)
	}
	if rows > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r\x1b[J", rows)
	}
	b.WriteString(lines)
	l.drawn = l.drawn[:0]
	if !l.ended && !l.hidden {
		l.draw(&b, width-1)
	}
	if b.Len() > 0 {
		fmt.Fprint(l.app.Err, b.String())
	}
}

// draw draws the running steps in lines of at most width columns.
func (l *live) draw(b *strings.Builder, width int) {
	for i, a := range l.board.running {
		if i == maxDrawn {
			more := short(fmt.Sprintf("  and %d more", len(l.board.running)-i), width)
			b.WriteString(more + "\n")
			l.drawn = append(l.drawn, columns(more))
			return
		}
		ln := line{title: a.title(), facts: a.facts(a.started.Add(time.Since(a.started).Truncate(drawEvery)))}
		head, tail := ln.fit(width-2), a.doing
		if a.output != "" {
			tail = clean(a.output)
		}
		took := 2 + columns(head)
		if room := width - took - 2; tail != "" && room >= minTail {
			tail = lastColumns(strings.TrimSpace(tail), room)
			took += 2 + columns(tail)
			tail = "  " + l.app.color.dim(tail)
		} else {
			tail = ""
		}
		mark := l.app.color.blue(spinner[l.frame%len(spinner)])
		if a.waits {
			mark = l.paint(markWait) // no spinner while a person thinks
		}
		fmt.Fprintf(b, "%s %s%s\n", mark, head, tail)
		l.drawn = append(l.drawn, took)
	}
}

func (l *live) paint(mark string) string {
	c := l.app.color
	switch mark {
	case markDone:
		return c.green(mark)
	case markFail:
		return c.red(mark)
	case markWait, markRetry, markWarning:
		return c.yellow(mark)
	}
	return c.dim(mark)
}
