package run

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/workflow"
)

// metaRequest holds the hash of the request that started the run, where it came with a key.
const metaRequest = "request"

// MaxKey bounds keys of requests and names of sessions, in bytes.
const MaxKey = 255

// Started tells of a run that was asked for.
type Started struct {
	Run string
	// Again: it was there already, because the same request came before. It may have gone any way since, and ended.
	Again bool
}

// Begin is Start for requests with a Key: the first of them begins the run, and all others get its result, in whatever process and state it is, as long as it
// has not been pruned. The store decides which one is first (P24), so it holds across processes.
//
// Errors: those of Start; *InvalidError where the same key came with another request, or is none.
func (s *Runner) Begin(ctx context.Context, q StartRequest) (Started, error) {
	if q.Key == "" {
		run, err := s.begin(ctx, q)
		return Started{Run: run}, err
	}
	if err := checkKey("the idempotency key", q.Key); err != nil {
		return Started{}, err
	}
	if q.RunID != "" {
		return Started{}, failure.Refuse(errcode.KeyAndRunID, nil, nil)
	}
	hash, err := q.hash()
	if err != nil {
		return Started{}, err
	}
	run := driver.KeyedRunID(q.Key)
	meta := map[string]string{metaRequest: hash}
	maps.Copy(meta, q.meta)
	q.meta = meta
	for {
		head, err := s.store.Head(ctx, run)
		switch {
		case err == nil && head.Meta[metaRequest] != hash:
			return Started{}, failure.Refuse(errcode.KeyReused, errcode.Fields{"key": q.Key, "run": run}, nil)
		case err == nil:
			return Started{Run: run, Again: true}, nil
		case !errors.Is(err, journal.ErrNotFound):
			return Started{}, err
		}
		q.RunID = run
		if _, err := s.begin(ctx, q); !errors.Is(err, journal.ErrExists) {
			return Started{Run: run}, err
		}
		// Another request with this key is about to store the run, or just has.
		if err := pause(ctx, lookAgain); err != nil {
			return Started{}, err
		}
	}
}

// lookAgain is how long a request waits before it asks the store anew what became of another.
const lookAgain = 20 * time.Millisecond

func pause(ctx context.Context, wait time.Duration) error {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// hash gives what tells one request from another. A stored workflow counts by its id, so that a request that is made again after the publication of a new
// version is the same one; a document counts by what it says.
func (q StartRequest) hash() (string, error) {
	what := "stored " + q.Workflow.ID
	if q.Version == 0 || q.Workflow.ID == "" {
		digest, err := q.Workflow.Digest()
		if err != nil {
			return "", fmt.Errorf("start run: %w", err)
		}
		what = "document " + digest
	}
	text, err := json.Marshal(struct {
		Texts   []string        `json:"texts"`
		Limits  workflow.Limits `json:"limits"`
		Tools   []byte          `json:"tools"`
		Replies []byte          `json:"replies"`
		Labels  workflow.Labels `json:"labels,omitempty"`
		Inputs  []byte          `json:"inputs,omitempty"`
	}{[]string{what, q.Branch, q.Input, q.Model, q.ParentRun, q.Session}, q.Limits, q.Tools, q.Replies, q.Labels, q.Inputs})
	if err != nil {
		return "", fmt.Errorf("start run: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), nil
}

// checkKey tells whether a name that a program made up can be one: at most MaxKey bytes that can be printed.
func checkKey(what, key string) error {
	bad := func(r rune) bool { return !unicode.IsPrint(r) }
	if len(key) > MaxKey || !utf8.ValidString(key) || strings.ContainsFunc(key, bad) {
		return failure.Refuse(errcode.InvalidKey, errcode.Fields{"what": what, "key": clip(key), "max": MaxKey}, nil)
	}
	return nil
}

// clip shortens what is shown of a value that is too long.
func clip(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// answeredWith gives the wait that was answered with a key, where isAt holds of its node; nil: at any. "" where none was.
func (r Recorded) answeredWith(key string, isAt func(node string) bool) string {
	answered := slices.DeleteFunc(slices.Clone(r.Waits), func(w *Asked) bool { return w.Answer == nil || w.Answer.Key != key || isAt != nil && !isAt(w.Node) })
	if len(answered) > 0 {
		return slices.MinFunc(answered, func(a, b *Asked) int { return cmp.Compare(a.Ended, b.Ended) }).Wait
	}
	return ""
}
