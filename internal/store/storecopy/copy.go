package storecopy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/store/tables"
)

// Config says how to copy.
type Config struct {
	// Live copies from a store that is used: runs that have ended or wait for a person alone, and what else is there at that moment.
	Live bool
	// DryRun compares and counts, and writes nothing.
	DryRun bool
	// Store says how to open both stores.
	Store store.Config
	// Progress is called after each step, by one goroutine. It must be quick. Nil: nothing is told.
	Progress func(Progress)

	// Of tests: fault fails at some moments of a copy, piece bounds the bytes that are written at once.
	fault func() error
	piece int64
}

// Phase is what a copy does.
type Phase string

// The phases, in their order.
const (
	Copying   Phase = "copying"
	Verifying Phase = "verifying"
)

// Progress is how far a copy is.
type Progress struct {
	Phase            Phase
	Namespace, Table string
	// Done and Total are bytes of the phase, about.
	Done, Total int64
}

// Amount counts what was copied, or would be, and what was there before.
type Amount struct {
	Copied  int `json:"copied"`
	Present int `json:"present"`
}

// Verified counts what was read in TO after the copy, and compared.
type Verified struct {
	Runs    int `json:"runs"`
	Records int `json:"records"`
	Blobs   int `json:"blobs"`
	Rows    int `json:"rows"`
}

// Result is what a copy did.
type Result struct {
	Namespaces int    `json:"namespaces"`
	Runs       Amount `json:"runs"`
	// Records are those of the journals. A dry run does not count them.
	Records Amount `json:"records"`
	Blobs   Amount `json:"blobs"`
	// Rows are all others: of workflows, agents, tokens, the audit log, webhooks, checkpoints, memories, and what belongs to runs.
	Rows Amount `json:"rows"`
	// Bytes is about how much was copied, or would be.
	Bytes int64 `json:"bytes"`
	// Left are the runs that Live left out.
	Left     int      `json:"left"`
	Verified Verified `json:"verified"`
	DryRun   bool     `json:"dryRun"`
	// Unfinished: the copy failed, and TO has a part of it, which nothing but a copy can open.
	Unfinished bool `json:"-"`
	// KeyFile is the file of the key that was made for TO; "": none.
	KeyFile string `json:"keyFile,omitempty"`
}

// side is one of the stores.
type side struct {
	at    store.Locator
	cfg   store.Config
	homes map[string]*store.Home // of namespaces
}

func (s *side) String() string { return s.at.String() }

// name names the store of a namespace.
func (s *side) name(namespace string) string {
	if namespace == access.DefaultNamespace {
		return s.at.String()
	}
	return s.at.String() + ", namespace " + namespace
}

// open opens the home of a namespace; nil where there is none, unless make is set.
func (s *side) open(ctx context.Context, namespace string, create bool) (*store.Home, error) {
	if h := s.homes[namespace]; h != nil {
		return h, nil
	}
	at, err := s.at.Namespace(namespace)
	if err != nil {
		return nil, err
	}
	if !create {
		if view, err := at.Look(ctx); err != nil || !view.Exists {
			return nil, err
		}
	}
	h, err := at.Open(ctx, s.cfg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name(namespace), err)
	}
	s.homes[namespace] = h
	return h, nil
}

func (s *side) close() error {
	var errs []error
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(s.homes))) {
		errs = append(errs, s.homes[name].Close())
	}
	return errors.Join(errs...)
}

// job is a copy at work.
type job struct {
	from, to *side
	cfg      Config
	res      Result
	names    []string // namespaces, the default one first
	isMarked bool     // TO has the mark of an unfinished copy
	// refreshes: FROM is in use and may have changed since TO was written, which no one could use.
	refreshes bool
	total     int64  // bytes to write, about
	done      int64  // of the phase
	stored    int64  // bytes of FROM, about
	key       []byte // of FROM; nil: it has none
}

// Copy copies all that a store holds into another one, and verifies it. What is there already with the same content is passed over, so that a copy that was stopped goes on.
//
// Errors: those of opening stores; *errcode.Error with a code store-copy-… for stores that cannot be copied, or whose contents differ; *journal.CorruptError for what is damaged;
// *tables.TextError for a text that TO cannot keep. Unless TO is read or written, they come before it is changed.
func Copy(ctx context.Context, from, to store.Locator, cfg Config) (res Result, err error) {
	j := &job{
		from: &side{from, cfg.Store, map[string]*store.Home{}}, to: &side{to, cfg.Store, map[string]*store.Home{}}, cfg: cfg,
	}
	j.to.cfg.Unfinished = true
	if j.cfg.fault == nil {
		j.cfg.fault = func() error { return nil }
	}
	j.cfg.piece = cmp.Or(j.cfg.piece, pageBytes)
	defer func() {
		res.Unfinished = err != nil && j.isMarked
		if cerr := errors.Join(j.from.close(), j.to.close()); err == nil {
			err = cerr
		}
	}()
	if err := j.begin(ctx); err != nil {
		return j.res, err
	}
	if j.refreshes = cfg.Live && j.isMarked; !j.refreshes || cfg.DryRun {
		err = j.each(ctx, false, func(p *pair) error {
			if j.refreshes {
				return p.forecast(ctx)
			}
			return p.all(ctx, p.plan)
		})
		if err != nil || cfg.DryRun {
			return j.res, err
		}
	}
	return j.res, j.run(ctx)
}

// begin opens the stores that are there, and refuses those that cannot be copied.
func (j *job) begin(ctx context.Context) error {
	if err := j.refuseLocators(ctx); err != nil {
		return err
	}
	from, err := j.from.open(ctx, access.DefaultNamespace, false)
	if err != nil {
		return err
	}
	to, err := j.to.open(ctx, access.DefaultNamespace, false)
	if err != nil {
		return err
	}
	if to != nil {
		if err := j.refuseSame(ctx, from, to); err != nil {
			return err
		}
		if j.isMarked, err = isMarked(ctx, to.Tables); err != nil {
			return fmt.Errorf("%s: %w", j.to, err)
		}
	}
	names, err := from.Access.Namespaces(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", j.from, err)
	}
	j.names = append([]string{access.DefaultNamespace}, slices.DeleteFunc(slices.Sorted(slices.Values(names)), func(n string) bool { return n == access.DefaultNamespace })...)
	j.res.Namespaces, j.res.DryRun = len(j.names), j.cfg.DryRun
	if err := j.refuseOwned(ctx); err != nil {
		return err
	}
	return j.checkKeys(ctx, from)
}

// refuseOwned refuses stores that living processes use.
func (j *job) refuseOwned(ctx context.Context) error {
	for _, s := range []*side{j.from, j.to} {
		if s == j.from && j.cfg.Live {
			continue
		}
		for _, name := range j.names {
			h, err := s.open(ctx, name, false)
			if err != nil && s == j.to && errors.Is(err, access.ErrNoNamespace) {
				continue
			}
			if err != nil {
				return err
			}
			if h == nil {
				continue
			}
			who, err := users(ctx, h.Tables, h.Journal)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name(name), err)
			}
			if who != "" {
				return inUse(s.name(name), who, s == j.from)
			}
		}
	}
	return nil
}

// run copies and verifies.
func (j *job) run(ctx context.Context) error {
	if err := j.makeKeyFile(); err != nil {
		return err
	}
	home, err := j.to.open(ctx, access.DefaultNamespace, true)
	if err != nil {
		return err
	}
	if missing := j.res.Runs.Copied + j.res.Blobs.Copied + j.res.Rows.Copied; missing > 0 && !j.isMarked {
		if err := j.execute(ctx, home.Tables, sqlMark); err != nil {
			return err
		}
		j.isMarked = true
	}
	if j.key != nil { // TO stores its fingerprint, where it is a server
		if _, err := home.Key(); err != nil {
			return err
		}
	}
	present := func(a *Amount) { *a = Amount{Present: a.Present} } // planned so far
	present(&j.res.Runs)
	present(&j.res.Blobs)
	present(&j.res.Rows)
	j.total, j.done, j.res.Bytes, j.res.Left = j.res.Bytes, 0, 0, 0
	err = j.each(ctx, true, func(p *pair) error {
		if j.refreshes {
			if err := p.refresh(ctx); err != nil {
				return err
			}
		}
		if err := p.all(ctx, p.copy); err != nil {
			return err
		}
		if err := p.raiseCounters(ctx); err != nil || !j.cfg.Live {
			return err
		}
		return p.all(ctx, p.verify) // what comes later is not copied
	})
	if err != nil {
		return err
	}
	if !j.cfg.Live {
		j.total, j.done = j.stored, 0
		// FROM is read again: a process that used it meanwhile is found.
		err := j.each(ctx, true, func(p *pair) error { return p.all(ctx, p.verify) })
		if err != nil {
			return err
		}
	}
	if j.isMarked {
		return j.execute(ctx, home.Tables, sqlUnmark)
	}
	return nil
}

// each gives do each namespace of FROM, as it is at one moment. create makes stores of TO that are not there.
func (j *job) each(ctx context.Context, create bool, do func(*pair) error) error {
	for _, name := range j.names {
		from, err := j.from.open(ctx, name, false)
		if err != nil {
			return err
		}
		if from == nil { // a namespace that was never used
			continue
		}
		p := &pair{job: j, name: name}
		to, err := j.to.open(ctx, name, create)
		if err != nil && (create || !errors.Is(err, access.ErrNoNamespace)) {
			return err
		}
		if to != nil {
			p.to.db = to.Tables
		}
		err = from.Tables.View(ctx, func(tx tables.Tx) (err error) {
			p.from.tx = tx
			if j.cfg.Live {
				if p.left, err = leftOut(tx); err != nil {
					return err
				}
				j.res.Left += len(p.left.runs)
			}
			return do(p)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// all goes through all tables.
func (p *pair) all(ctx context.Context, do func(context.Context, *table, *piece) error) error {
	for _, t := range list {
		if err := p.walk(ctx, t, do); err != nil {
			return err
		}
	}
	return nil
}

// amount is where rows of a table are counted.
func (j *job) amount(t *table) *Amount {
	switch t {
	case runs:
		return &j.res.Runs
	case blobs:
		return &j.res.Blobs
	}
	return &j.res.Rows
}

// planned counts what TO lacks and has.
func (j *job) planned(t *table, missing, present int, size int64) {
	a := j.amount(t)
	a.Copied += missing
	a.Present += present
	j.res.Bytes += size
}

// wrote counts what was written.
func (j *job) wrote(t *table, rows, records int, size int64) {
	j.amount(t).Copied += rows
	j.res.Records.Copied += records
	j.res.Bytes += size
}

func (j *job) verified(t *table, rows int) {
	switch t {
	case runs:
		j.res.Verified.Runs += rows
	case blobs:
		j.res.Verified.Blobs += rows
	default:
		j.res.Verified.Rows += rows
	}
}

func (j *job) progress(phase Phase, namespace string, t *table, size int64) {
	j.done += size
	if j.cfg.Progress != nil {
		j.cfg.Progress(Progress{phase, namespace, t.name, j.done, max(j.total, j.done)})
	}
}
