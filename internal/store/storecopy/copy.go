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

// Config configures a copy.
type Config struct {
	// Live copies from a store that is in use: only runs that have ended or wait for a person, and
	// everything else as it is at that moment.
	Live bool
	// DryRun compares and counts, and writes nothing.
	DryRun bool
	// Store configures how both stores are opened.
	Store store.Config
	// Progress is called after each step, from one goroutine. It must be quick. If nil, progress is
	// not reported.
	Progress func(Progress)

	// For tests: fault fails at some points of a copy, piece limits the bytes written at once.
	fault func() error
	piece int64
}

// Phase is a phase of a copy.
type Phase string

// The phases, in order.
const (
	Copying   Phase = "copying"
	Verifying Phase = "verifying"
)

// Progress is the progress of a copy.
type Progress struct {
	Phase            Phase
	Namespace, Table string
	// Done and Total are approximate bytes of the phase.
	Done, Total int64
}

// Amount counts what was copied, or would be, and what already existed.
type Amount struct {
	Copied  int `json:"copied"`
	Present int `json:"present"`
}

// Verified counts what was read from TO after the copy, and compared.
type Verified struct {
	Runs    int `json:"runs"`
	Records int `json:"records"`
	Blobs   int `json:"blobs"`
	Rows    int `json:"rows"`
}

// Result is the result of a copy.
type Result struct {
	Namespaces int    `json:"namespaces"`
	Runs       Amount `json:"runs"`
	// Records counts the records of the journals. A dry run does not count them.
	Records Amount `json:"records"`
	Blobs   Amount `json:"blobs"`
	// Rows counts all other rows: of workflows, agents, tokens, the audit log, webhooks,
	// checkpoints, memories, and the data of runs.
	Rows Amount `json:"rows"`
	// Bytes is the approximate number of bytes that were copied, or would be.
	Bytes int64 `json:"bytes"`
	// Left is the number of runs that Live left out.
	Left     int      `json:"left"`
	Verified Verified `json:"verified"`
	DryRun   bool     `json:"dryRun"`
	// Unfinished means that the copy failed, and that TO contains a part of it, which only another
	// copy can open.
	Unfinished bool `json:"-"`
	// KeyFile is the key file that was created for TO; "" means none.
	KeyFile string `json:"keyFile,omitempty"`
}

// side is one of the two stores.
type side struct {
	at    store.Locator
	cfg   store.Config
	homes map[string]*store.Home // by namespace
}

func (s *side) String() string { return s.at.String() }

// name returns the name of a namespace's store for messages.
func (s *side) name(namespace string) string {
	if namespace == access.DefaultNamespace {
		return s.at.String()
	}
	return s.at.String() + ", namespace " + namespace
}

// open opens the home of a namespace. It returns nil if there is none, unless create is set.
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

// job is a copy in progress.
type job struct {
	from, to *side
	cfg      Config
	res      Result
	names    []string // namespaces, the default one first
	isMarked bool     // TO has the mark of an unfinished copy
	// mayBeStale means that FROM is in use and may have changed since an earlier call wrote the
	// unfinished TO.
	mayBeStale bool
	total      int64  // approximate bytes to write
	done       int64  // of the phase
	stored     int64  // approximate bytes of FROM
	key        []byte // of FROM; nil if it has none
}

// Copy copies everything in a store to another one, and verifies it. Whatever already exists with
// the same content is skipped, so that repeating an interrupted copy continues it.
//
// Errors are those of opening stores; *errcode.Error with a code store-copy-… for stores that
// cannot be copied, or whose contents differ; *journal.CorruptError for corrupted data;
// *tables.TextError for a text that TO cannot store. Unless they come from reading or writing TO,
// they are returned before TO is changed.
func Copy(ctx context.Context, from, to store.Locator, cfg Config) (res Result, err error) {
	j := &job{
		from: &side{from, cfg.Store, map[string]*store.Home{}}, to: &side{to, cfg.Store, map[string]*store.Home{}},
		cfg: cfg,
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
	if j.mayBeStale = cfg.Live && j.isMarked; !j.mayBeStale || cfg.DryRun {
		err = j.each(ctx, false, func(p *pair) error {
			if j.mayBeStale {
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

// begin opens the existing stores, and rejects those that cannot be copied.
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
	j.names = append([]string{access.DefaultNamespace}, slices.DeleteFunc(slices.Sorted(slices.Values(names)),
		func(n string) bool { return n == access.DefaultNamespace })...)
	j.res.Namespaces, j.res.DryRun = len(j.names), j.cfg.DryRun
	if err := j.refuseOwned(ctx); err != nil {
		return err
	}
	return j.checkKeys(ctx, from)
}

// refuseOwned returns an error for stores that living processes use.
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
			who, err := describeUsers(ctx, h.Tables, h.Journal)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name(name), err)
			}
			if who != "" {
				return inUseError(s.name(name), who, s == j.from)
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
	if j.key != nil { // TO stores its fingerprint, if it is a server
		if _, err := home.Key(); err != nil {
			return err
		}
	}
	present := func(a *Amount) { *a = Amount{Present: a.Present} } // keep only what planning counted as present
	present(&j.res.Runs)
	present(&j.res.Blobs)
	present(&j.res.Rows)
	j.total, j.done, j.res.Bytes, j.res.Left = j.res.Bytes, 0, 0, 0
	err = j.each(ctx, true, func(p *pair) error {
		if j.mayBeStale {
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
		return p.all(ctx, p.verify) // later changes are not copied
	})
	if err != nil {
		return err
	}
	if !j.cfg.Live {
		j.total, j.done = j.stored, 0
		// FROM is read again, which detects a process that used it meanwhile.
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

// each calls do with each namespace of FROM, as it is at one moment. create creates missing stores
// of TO.
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

// all calls do for every table.
func (p *pair) all(ctx context.Context, do func(context.Context, *table, *piece) error) error {
	for _, t := range list {
		if err := p.walk(ctx, t, do); err != nil {
			return err
		}
	}
	return nil
}

// amount returns the counter for rows of a table.
func (j *job) amount(t *table) *Amount {
	switch t {
	case runs:
		return &j.res.Runs
	case blobs:
		return &j.res.Blobs
	}
	return &j.res.Rows
}

// countPlanned adds the rows that TO lacks and those that it has to the counts.
func (j *job) countPlanned(t *table, missing, present int, size int64) {
	a := j.amount(t)
	a.Copied += missing
	a.Present += present
	j.res.Bytes += size
}

// countWritten adds what was written to the counts.
func (j *job) countWritten(t *table, rows, records int, size int64) {
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
