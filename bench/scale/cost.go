package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/store/pghome"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

// cost is the average cost of one run.
type cost struct {
	kind kind
	// rows is the number of stored rows in all tables, records the number in the journal.
	rows, records float64
	// bytes is the size on disk including indexes, wal the size of the log sent to a replica, file
	// the size in a store in a file.
	bytes, wal, file float64
	// alone is the number of writing transactions if one run executes at a time, together the
	// number if many do.
	alone, together float64
	// hocket and postgres are milliseconds of processor time if many runs execute concurrently.
	hocket, postgres float64
}

// measureCosts measures each kind of run, and prints the tables.
func measureCosts(ctx context.Context, s *server, only string, runs int, out, problems io.Writer) error {
	var costs []cost
	for _, k := range kinds {
		if only != "" && k.name != only {
			continue
		}
		fmt.Fprintln(problems, "measuring", k.name)
		c, err := measure(ctx, s, k, runs)
		if err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
		costs = append(costs, c)
	}
	if len(costs) == 0 {
		return fmt.Errorf("no kind of run is named %q", only)
	}
	return printCosts(out, costs, runs)
}

// measure measures one kind of run in a new schema and in a new file.
func measure(ctx context.Context, s *server, k kind, runs int) (c cost, err error) {
	c.kind = k
	if err := s.drop(ctx); err != nil {
		return c, err
	}
	w, err := openWorld(ctx, k, service.Config{Documents: linked.Kit(), DB: s.url,
		Stores: store.Servers{Postgres: pghome.New(nil)}})
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := w.runMany(ctx, 10, 1); err != nil { // warm-up: tables, plans, caches
		return c, err
	}
	n := float64(runs)
	few := max(1, runs/10)
	before, err := s.readState(ctx)
	if err != nil {
		return c, err
	}
	if err := w.runMany(ctx, few, 1); err != nil {
		return c, err
	}
	middle, err := s.readState(ctx)
	if err != nil {
		return c, err
	}
	began := processTime()
	if err := w.runMany(ctx, runs, runs); err != nil {
		return c, err
	}
	spent := processTime() - began
	after, err := s.readState(ctx)
	if err != nil {
		return c, err
	}
	c.alone = float64(middle.transactions-before.transactions) / float64(few)
	c.together = float64(after.transactions-middle.transactions) / n
	c.rows, c.records = float64(after.rows-middle.rows)/n, float64(after.records-middle.records)/n
	c.bytes, c.wal = float64(after.bytes-middle.bytes)/n, float64(after.wal-middle.wal)/n
	c.hocket, c.postgres = ms(spent)/n, ms(after.processor-middle.processor)/n
	c.file, err = measureFile(ctx, k, runs)
	return c, err
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// measureFile returns by how much a run grows a store in a file.
func measureFile(ctx context.Context, k kind, runs int) (_ float64, err error) {
	dir, err := os.MkdirTemp("", "hocket-scale-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "hocket.db")
	var sizes [2]int64
	for i, n := range []int{10, runs} { // closing the store merges its log into the file
		w, err := openWorld(ctx, k, service.Config{Documents: linked.Kit(), DB: file})
		if err != nil {
			return 0, err
		}
		if err := errors.Join(w.runMany(ctx, n, n), w.Close()); err != nil {
			return 0, err
		}
		st, err := os.Stat(file)
		if err != nil {
			return 0, err
		}
		sizes[i] = st.Size()
	}
	return float64(sizes[1]-sizes[0]) / float64(runs), nil
}

// fixture is a service with a workflow.
type fixture struct {
	*service.Service
	kind kind
	w    *workflow.Workflow
	fake *fake
}

func openWorld(ctx context.Context, k kind, cfg service.Config) (*fixture, error) {
	f := &fake{turns: k.turns}
	cfg.Env = func(string) string { return "" }
	cfg.Models, cfg.Tools, cfg.MaxCalls = map[string]model.Client{"own": f}, []tool.Tool{lookup{&f.words}}, 4096
	s, err := service.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	w, list, err := s.Load(ctx, k.file, []byte(k.document), service.LoadOptions{})
	if err != nil || list.HasErrors() {
		return nil, errors.Join(fmt.Errorf("load %s: %w", k.file, errors.Join(list.Err(), err)), s.Close())
	}
	return &fixture{s, k, w, f}, nil
}

// runMany executes n runs, at most at of them concurrently.
func (w *fixture) runMany(ctx context.Context, n, at int) error {
	var mu sync.Mutex
	var wg sync.WaitGroup
	var all []error
	slots := make(chan struct{}, at)
	for range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := w.runOne(ctx); err != nil {
				mu.Lock()
				defer mu.Unlock()
				all = append(all, err)
			}
		})
	}
	wg.Wait()
	if len(all) > 0 {
		return fmt.Errorf("%d of %d runs did not complete: %w", len(all), n, all[0])
	}
	return nil
}

// runOne executes a run, and approves it if it asks.
func (w *fixture) runOne(ctx context.Context) error {
	id, err := w.Start(ctx, service.StartRequest{Workflow: w.w, Input: w.fake.text(inputBytes)})
	if err != nil {
		return err
	}
	st, err := w.Wait(ctx, id)
	if err == nil && st.Status == event.StatusPaused && w.kind.isAnswered {
		if err = w.Answer(ctx, id, service.AnswerRequest{By: event.LocalBy(event.ChannelProgram),
			Value: service.Decide("approve")}); err == nil {
			st, err = w.Wait(ctx, id)
		}
	}
	if err == nil && st.Status != event.StatusCompleted {
		err = fmt.Errorf("run %s is %s", id, st.Status)
	}
	return err
}

// printCosts prints the cost of runs, and what several daily numbers of runs require.
func printCosts(out io.Writer, costs []cost, runs int) error {
	p := &printer{w: out}
	p.linef("Each figure is one run's: the mean of %d at the same time, and for “alone” of %d one after another.", runs,
		max(1, runs/10))
	p.linef("")
	p.table("kind", "calls", "rows", "of these records", "bytes in PostgreSQL", "of its log (WAL)", "bytes in SQLite",
		"writing transactions, alone", "together", "processor time of Hocket", "of PostgreSQL")
	for _, c := range costs {
		p.row(c.kind.what, fmt.Sprint(c.kind.calls), fixed(c.rows), fixed(c.records), kilobytes(c.bytes),
			kilobytes(c.wal), kilobytes(c.file), fixed(c.alone), fmt.Sprintf("%.2f", c.together),
			fmt.Sprintf("%.1f ms", c.hocket), fmt.Sprintf("%.1f ms", c.postgres))
	}
	for _, day := range []float64{1e6, 1e8} {
		p.linef("")
		p.linef("%s million runs a day, %.0f a second on average:", fixed(day/1e6), day/86400)
		p.linef("")
		p.table("kind", "records a second", "log, MB a second", "disk a day", "disk for 30 days",
			"processors of Hocket", "of PostgreSQL")
		for _, c := range costs {
			rate := day / 86400
			p.row(c.kind.what, fixed(rate*c.records), fmt.Sprintf("%.2f", rate*c.wal/1e6), size(day*c.bytes),
				size(30*day*c.bytes), fmt.Sprintf("%.2f", rate*c.hocket/1000),
				fmt.Sprintf("%.2f", rate*c.postgres/1000))
		}
	}
	return p.err
}

// printer prints Markdown.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) linef(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

func (p *printer) row(cells ...string) {
	p.linef("| %s |", strings.Join(cells, " | "))
}

func (p *printer) table(heads ...string) {
	p.row(heads...)
	rules := slices.Repeat([]string{"---:"}, len(heads))
	rules[0] = "---"
	p.row(rules...)
}

// fixed formats a number without decimals, or with one if it is less than 10 and not an integer.
func fixed(v float64) string {
	if v < 10 && v != float64(int(v)) {
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

func kilobytes(v float64) string { return fmt.Sprintf("%.1f KB", v/1000) }

func size(v float64) string {
	for _, u := range []struct {
		name string
		of   float64
	}{{"TB", 1e12}, {"GB", 1e9}} {
		if v >= u.of {
			return fmt.Sprintf("%.3g %s", v/u.of, u.name)
		}
	}
	return fmt.Sprintf("%.3g MB", v/1e6)
}
