package cassette

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/text"
)

// Recorder is a client that records the replies of the client that it wraps. It is safe for
// concurrent use.
type Recorder struct {
	client model.Client

	mu     sync.Mutex
	file   *os.File
	format format
	end    int64 // where the next entry goes
	count  int
	err    error // the first write error; recording stops there
	agents map[string]*agent
}

// agent is the state of one agent's calls.
type agent struct {
	nodes map[string]bool
	// open are the calls in flight, past the last messages of earlier calls.
	open []*call
	past []text.Text
	// ambiguous reports whether two calls were in flight at the same time, or two nodes made calls.
	// From then on every entry holds more than the name.
	ambiguous bool
}

// call is one call in flight.
type call struct {
	node string
	last text.Text
}

// pastLimit is the number of earlier prompts from which an entry is distinguished.
const pastLimit = 64

// New returns a Recorder for client that writes to path, replacing any existing file; only its
// owner may read it, since conversations are private. A path that ends in .json is written as JSON,
// any other as YAML. Close the Recorder after the last call.
func New(client model.Client, path string) (*Recorder, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("record model calls: %w", err)
	}
	return begin(client, f, path)
}

// formatOf returns the format of a recording at a path.
func formatOf(path string) format {
	if strings.HasSuffix(strings.ToLower(path), ".json") {
		return jsonFormat{}
	}
	return yamlFormat{}
}

// begin returns a Recorder on an empty file, in the format of a path.
func begin(client model.Client, f *os.File, path string) (*Recorder, error) {
	r := &Recorder{client: client, file: f, format: formatOf(path), agents: map[string]*agent{}}
	head, tail := r.format.head()
	if _, err := f.WriteString(head + tail); err != nil {
		return nil, errors.Join(fmt.Errorf("record model calls: %w", err), f.Close())
	}
	r.end = int64(len(head))
	return r, nil
}

// Close ends the recording. It returns the first write error, if there was one.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return r.err
	}
	err := r.file.Close()
	r.file = nil
	return errors.Join(r.err, err)
}

// Call implements model.Client. A failure to write the recording does not fail the call: Close
// reports it.
func (r *Recorder) Call(ctx context.Context, req model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	c := &call{node: req.Node, last: req.Last()}
	name := r.begin(req, c)
	reply, err := r.client.Call(ctx, req, onDelta)
	r.finish(name, c, req, reply, err)
	return reply, err
}

// begin registers a call as in flight and returns the name by which its agent is known.
func (r *Recorder) begin(req model.Request, c *call) string {
	name := req.Agent
	if name == "" {
		name = req.Node
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.agents[name]
	if a == nil {
		a = &agent{nodes: map[string]bool{}}
		r.agents[name] = a
	}
	a.nodes[req.Node] = true
	a.open = append(a.open, c)
	a.ambiguous = a.ambiguous || len(a.open) > 1 || len(a.nodes) > 1
	return name
}

// finish writes the entry of a call.
func (r *Recorder) finish(name string, c *call, req model.Request, reply model.Reply, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.agents[name]
	e := entryOf(req, reply, err)
	e.Agent = name
	if a.ambiguous {
		r.disambiguate(a, c, &e)
	}
	for i, other := range a.open {
		if other == c {
			a.open = append(a.open[:i], a.open[i+1:]...)
			break
		}
	}
	a.past = append(a.past, c.last)
	if len(a.past) > pastLimit {
		a.past = a.past[1:]
	}
	var failed *model.Error
	if err == nil || errors.As(err, &failed) {
		r.write(e)
	}
}

// disambiguate adds to an entry what distinguishes its call from the agent's other calls: the node,
// unless another agent uses it too, and a piece of the last message that the other calls lack.
// Calls that agree in both may get each other's replies, which makes no observable difference.
func (r *Recorder) disambiguate(a *agent, c *call, e *entry) {
	if c.node != "" && len(a.nodes) > 1 && !r.isSharedNode(a, c.node) {
		e.Agent = c.node
	}
	others := slices.Clone(a.past)
	for _, o := range a.open {
		if o != c {
			others = append(others, o.last)
		}
	}
	e.Contains = quotation(c.last, others)
}

// isSharedNode reports whether another agent makes calls from the same node, as sub-agents do.
func (r *Recorder) isSharedNode(a *agent, node string) bool {
	for _, other := range r.agents {
		if other != a && other.nodes[node] {
			return true
		}
	}
	return false
}

// maxQuotation is the maximum length of a quotation in bytes.
const maxQuotation = 160

// quotation returns a line of last, or a piece of one, that occurs in none of the others (messages
// equal to last are ignored), or "" if there is none.
func quotation(last text.Text, others []text.Text) string {
	rivals := slices.DeleteFunc(slices.Clone(others), last.Equal)
	if len(rivals) == 0 {
		return ""
	}
	for line := range strings.Lines(last.String()) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		for _, piece := range []string{head(line), tail(line)} {
			if !slices.ContainsFunc(rivals, func(t text.Text) bool { return t.Contains(piece) }) {
				return piece
			}
		}
	}
	return ""
}

// head and tail cut at rune boundaries.
func head(s string) string {
	if len(s) <= maxQuotation {
		return s
	}
	return strings.ToValidUTF8(s[:maxQuotation], "")
}

func tail(s string) string {
	if len(s) <= maxQuotation {
		return s
	}
	return strings.ToValidUTF8(s[len(s)-maxQuotation:], "")
}

// write appends an entry in one write, overwriting the end of the document if the format has one. A
// partially written entry is truncated, so that the file stays valid when the disk is full.
func (r *Recorder) write(e entry) {
	if r.file == nil || r.err != nil {
		return
	}
	text, end, err := r.format.entry(e, r.count == 0)
	if err == nil {
		_, err = r.file.WriteAt([]byte(text+end), r.end)
	}
	if err != nil {
		r.err = fmt.Errorf("record model calls: %w", err)
		_, closing := r.format.head()
		_ = r.file.Truncate(r.end) // the first error is the one to report
		_, _ = r.file.WriteAt([]byte(closing), r.end)
		return
	}
	r.end += int64(len(text))
	r.count++
}
