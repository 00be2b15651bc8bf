package catalog

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// Memory is a catalog in memory, which does not outlive the process. The zero Memory is empty and
// ready to use.
type Memory struct {
	mu        sync.Mutex
	workflows map[string]*memWorkflow
	agents    map[string]Row
}

var _ Store = (*Memory)(nil)

type memWorkflow struct {
	published, draft int
	latest           int
	updated          time.Time
	versions         []Version // by number
	rows             *Rows
	layout           []byte
}

// exists reports whether the workflow exists; a deleted workflow keeps only its latest version
// number.
func (w *memWorkflow) exists() bool { return w != nil && (len(w.versions) > 0 || w.rows != nil) }

func (w *memWorkflow) tag(id string) string {
	if !w.exists() {
		return TagAbsent
	}
	return Tag(w.entry(id), w.rows)
}

func (w *memWorkflow) version(n int) *Version {
	i := slices.IndexFunc(w.versions, func(v Version) bool { return v.Number == n })
	if i < 0 {
		return nil
	}
	return &w.versions[i]
}

func (w *memWorkflow) entry(id string) Entry {
	e := Entry{ID: id, Published: w.published, Draft: w.draft, HasRows: w.rows != nil, Updated: w.updated}
	v := w.version(w.published)
	switch {
	case w.rows != nil && (v == nil || v.Format == FormatRoutes):
		e.Name, e.Format = w.rows.Workflow.Text(1), FormatRoutes
		return e
	case v == nil:
		v = w.version(w.draft)
	}
	e.Name, e.Format, e.Labels = v.Name, v.Format, v.Labels.With(nil)
	return e
}

// Put implements Workflows.
func (m *Memory) Put(ctx context.Context, puts []Put, agents []Row) ([]Stored, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.workflows == nil {
		m.workflows = map[string]*memWorkflow{}
	}
	for _, p := range puts {
		if err := Expected(p.Expect, m.workflows[p.ID].tag(p.ID)); err != nil {
			return nil, fmt.Errorf("store workflow %s: %w", p.ID, err)
		}
	}
	var out []Stored
	for _, p := range puts {
		w := m.workflows[p.ID]
		if w == nil {
			w = &memWorkflow{}
			m.workflows[p.ID] = w
		}
		out = append(out, w.put(p))
	}
	m.putAgents(agents)
	return out, nil
}

func (w *memWorkflow) put(p Put) Stored {
	says := func(n int) bool {
		v := w.version(n)
		return v != nil && v.Format == p.Format && bytes.Equal(v.Text, p.Text)
	}
	now := Plan(p.Draft, w.published, w.draft, w.latest, says)
	same := !now.IsNew && now.Published == w.published && now.Draft == w.draft
	if now.IsNew {
		w.versions = append(w.versions, Version{
			Workflow: p.ID, Number: now.Version, Format: p.Format, Name: p.Name, File: p.File, Digest: p.Digest,
			Text: bytes.Clone(p.Text), Labels: p.Labels.With(nil), Created: p.At.UTC().Truncate(time.Microsecond),
		})
		w.latest = now.Version
	}
	if !p.Draft {
		same = w.setRows(p.Rows) && same
	}
	w.published, w.draft = now.Published, now.Draft
	if !same {
		w.updated = p.At.UTC().Truncate(time.Microsecond)
	}
	return Stored{Entry: w.entry(p.ID), Tag: w.tag(p.ID), Version: now.Version, Unchanged: same}
}

// setRows sets the rows and reports whether they were already equal to r.
func (w *memWorkflow) setRows(r *Rows) bool {
	before := w.rows
	if w.rows = nil; r != nil {
		c := r.Normal()
		w.rows = &c
	}
	if before == nil || w.rows == nil {
		return before == w.rows
	}
	return before.Equal(*w.rows)
}

// Publish implements Workflows.
func (m *Memory) Publish(ctx context.Context, p Publication) (Stored, error) {
	if err := ctx.Err(); err != nil {
		return Stored{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.workflows[p.ID]
	if !w.exists() || w.version(p.Version) == nil {
		return Stored{}, fmt.Errorf("publish version %d of workflow %s: %w", p.Version, p.ID, ErrNotFound)
	}
	if err := Expected(p.Expect, w.tag(p.ID)); err != nil {
		return Stored{}, fmt.Errorf("publish version %d of workflow %s: %w", p.Version, p.ID, err)
	}
	w.published = p.Version
	if w.draft == p.Version {
		w.draft = 0
	}
	w.setRows(p.Rows)
	w.updated = p.At.UTC().Truncate(time.Microsecond)
	return Stored{Entry: w.entry(p.ID), Tag: w.tag(p.ID), Version: p.Version}, nil
}

func (m *Memory) find(ctx context.Context, verb, id string) (*memWorkflow, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if w := m.workflows[id]; w.exists() {
		return w, nil
	}
	return nil, fmt.Errorf("%s %s: %w", verb, id, ErrNotFound)
}

// Entry implements Workflows.
func (m *Memory) Entry(ctx context.Context, id string) (Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w, err := m.find(ctx, "read workflow", id)
	if err != nil {
		return Entry{}, err
	}
	return w.entry(id), nil
}

// Entries implements Workflows.
func (m *Memory) Entries(ctx context.Context) ([]Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.entries(), nil
}

func (m *Memory) entries() (out []Entry) {
	for _, id := range slices.Sorted(maps.Keys(m.workflows)) {
		if w := m.workflows[id]; w.exists() {
			out = append(out, w.entry(id))
		}
	}
	return out
}

// Versions implements Versions.
func (m *Memory) Versions(ctx context.Context, id string) ([]Version, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w, err := m.find(ctx, "read workflow", id)
	if err != nil {
		return nil, err
	}
	out := slices.Clone(w.versions)
	for i := range out {
		out[i].Text, out[i].Labels = nil, out[i].Labels.With(nil)
	}
	return out, nil
}

// Version implements Versions.
func (m *Memory) Version(ctx context.Context, id string, number int) (Version, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w, err := m.find(ctx, "read workflow", id)
	if err != nil {
		return Version{}, err
	}
	v := w.version(number)
	if v == nil {
		return Version{}, fmt.Errorf("read version %d of workflow %s: %w", number, id, ErrNotFound)
	}
	c := *v
	c.Text, c.Labels = bytes.Clone(v.Text), v.Labels.With(nil)
	return c, nil
}

// Rows implements Workflows.
func (m *Memory) Rows(ctx context.Context, id string) (Rows, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w, err := m.find(ctx, "read rows of workflow", id)
	switch {
	case err != nil:
		return Rows{}, err
	case w.rows == nil:
		return Rows{}, fmt.Errorf("read rows of workflow %s: %w", id, ErrNotFound)
	}
	return w.rows.Normal(), nil
}

// Layout implements Layouts.
func (m *Memory) Layout(ctx context.Context, id string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w, err := m.find(ctx, "read the layout of workflow", id)
	if err != nil {
		return nil, err
	}
	return bytes.Clone(w.layout), nil
}

// PutLayout implements Layouts.
func (m *Memory) PutLayout(ctx context.Context, id string, text []byte, expect string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	w, err := m.find(ctx, "store the layout of workflow", id)
	if err != nil {
		return err
	}
	if err := Expected(expect, LayoutTag(w.layout)); err != nil {
		return fmt.Errorf("store the layout of workflow %s: %w", id, err)
	}
	w.layout = bytes.Clone(text)
	return nil
}

// Delete implements Workflows.
func (m *Memory) Delete(ctx context.Context, id, expect string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	w, err := m.find(ctx, "delete workflow", id)
	if err != nil {
		return err
	}
	if err := Expected(expect, w.tag(id)); err != nil {
		return fmt.Errorf("delete workflow %s: %w", id, err)
	}
	*w = memWorkflow{latest: w.latest}
	return nil
}

// PutAgents implements Agents.
func (m *Memory) PutAgents(ctx context.Context, agents []Row, _ bool, expect map[string]string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, tag := range expect {
		if err := Expected(tag, m.agentTag(id)); err != nil {
			return fmt.Errorf("store agent %s: %w", id, err)
		}
	}
	m.putAgents(agents)
	return nil
}

func (m *Memory) agentTag(id string) string {
	if m.agents[id] == nil {
		return TagAbsent
	}
	return AgentTag(m.agents[id])
}

func (m *Memory) putAgents(agents []Row) {
	if m.agents == nil {
		m.agents = map[string]Row{}
	}
	for _, a := range agents {
		a = a.Normal()
		m.agents[a.ID()] = a
	}
}

// Agents implements Agents.
func (m *Memory) Agents(ctx context.Context) ([]Row, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Row
	for _, id := range slices.Sorted(maps.Keys(m.agents)) {
		out = append(out, slices.Clone(m.agents[id]))
	}
	return out, nil
}

// DeleteAgent implements Agents.
func (m *Memory) DeleteAgent(ctx context.Context, id, expect string, may func(entries []Entry) bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.agents[id] == nil:
		return fmt.Errorf("delete agent %s: %w", id, ErrNotFound)
	case Expected(expect, m.agentTag(id)) != nil, may != nil && !may(m.entries()):
		return fmt.Errorf("delete agent %s: %w", id, ErrChanged)
	}
	delete(m.agents, id)
	return nil
}
