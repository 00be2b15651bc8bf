package view

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/jsontext"
	_ "github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/workflow"
)

// memory is a source for one run, with its long values by hash.
type memory struct {
	events []event.Event
	blobs  map[string][]byte
	passes int
}

func (m *memory) RunDefinition(context.Context, string) (journal.Head, *workflow.Workflow, error) {
	return journal.Head{Run: "r"}, &workflow.Workflow{}, nil
}

func (m *memory) EachShort(_ context.Context, _ string, after uint64, t *Table, take func(event.Event) error) error {
	m.passes++
	for _, e := range m.events {
		data, blobs, err := journal.Encode([]event.Event{e})
		if err != nil {
			return err
		}
		for _, b := range blobs {
			m.blobs[b.Hash] = b.Data
		}
		own, err := journal.DecodeReferences(data, t.Refer)
		if err != nil {
			return err
		}
		if e.Seq > after {
			if err := take(own[0]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *memory) Beginning(_ context.Context, _ string, r *Ref, n int) ([]byte, int64, error) {
	b := m.blobs[r.Hash]
	return b[:min(n, len(b))], int64(len(b)), nil
}

func (m *memory) Open(_ context.Context, _ string, r *Ref) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(m.blobs[r.Hash])), nil
}

// drawn generates strings and values of all lengths that matter, in which characters may be cut at
// any byte.
func drawn(t *rapid.T) []event.Event {
	var events []event.Event
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range rapid.IntRange(1, 12).Draw(t, "events") {
		unit := rapid.SampledFrom([]string{"x", "ü", "\u2028\n", `"\`, "\x00\t", "𝄞", "\xff", `{"$value":1}`}).Draw(t,
			"unit")
		n := rapid.SampledFrom([]int{0, 1, shortBytes, shortBytes + 1, Limit / 2, Limit, Limit + 1, 100_000, 300_000}).
			Draw(t, "bytes")
		text := fmt.Sprint(i) + strings.Repeat(unit, n/len(unit))
		value, err := json.Marshal(map[string]any{"a": []any{text, i},
			"": rapid.SampledFrom([]any{nil, map[string]any{key: "no"}}).Draw(t, "more")})
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, event.Event{Seq: uint64(i + 1), At: at, Step: 1, Data: &event.ModelReplied{
			Call: "c", Message: chat.Message{Role: chat.RoleAssistant, Text: chat.NewText(text),
				ToolCalls: []chat.ToolCall{{ID: "t", Name: "n", Arguments: value}}},
		}})
	}
	return events
}

// TestEvent_FullAndShort checks the property that an event shown in full equals the event without
// references, and that for an event shown in short form the value of each reference in it is found
// and, when substituted, yields the same event.
func TestEvent_FullAndShort(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &memory{events: drawn(t), blobs: map[string][]byte{}}
		r, err := Open(context.Background(), m, "r")
		if err != nil {
			t.Fatal(err)
		}
		var lines []json.RawMessage
		want := ""
		for _, e := range m.events {
			line, err := journal.MarshalEvent("r", e)
			if err != nil {
				t.Fatal(err)
			}
			want += string(line) + "\n"
		}
		if err := r.Each(t.Context(), 0, func(e event.Event) error {
			line, err := r.Event(e)
			lines = append(lines, line)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		write := func(s Style) string {
			var b bytes.Buffer
			doc, err := r.PrepareLines(t.Context(), lines, s)
			if err == nil {
				err = doc.WriteTo(t.Context(), &b)
			}
			if err != nil {
				t.Fatal(err)
			}
			return b.String()
		}
		if got := write(Style{}); got != want {
			t.Fatalf("shown whole: %d bytes, want %d: %.300q, want %.300q", len(got), len(want), got, want)
		}
		short := write(Style{Limit: Limit, Href: Address("r")})
		if strings.Contains(short, r.table.prefix) {
			t.Fatal("a token is shown")
		}
		for {
			i := strings.Index(short, `{"`+key+`":{"bytes"`)
			if i < 0 {
				break
			}
			var ref Reference
			dec := json.NewDecoder(strings.NewReader(short[i:]))
			if err := dec.Decode(&ref); err != nil {
				t.Fatal(err)
			}
			one, err := Open(t.Context(), m, "r")
			if err != nil {
				t.Fatal(err)
			}
			isText := !strings.HasSuffix(ref.Value.Href, "?type=json")
			found, err := one.Find(t.Context(), ref.Value.SHA256, isText)
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if err := found.WriteTo(t.Context(), &b); err != nil || int64(b.Len()) != ref.Value.Bytes ||
				journal.HashOf(b.Bytes()) != ref.Value.SHA256 || found.Bytes != ref.Value.Bytes {
				t.Fatalf("%+v: %d bytes, %v", ref, b.Len(), err)
			}
			whole := b.Bytes()
			if isText {
				whole, _ = jsontext.AppendString(nil, b.String())
			}
			short = short[:i] + string(whole) + short[i+int(dec.InputOffset()):]
			// content at an address has no references: the rest of the property concerns other
			// values
			if isReserved(whole) {
				return
			}
		}
		if short != want {
			t.Fatalf("put together: %d bytes, want %d", len(short), len(want))
		}
	})
}

// TestFill checks that values for which a table has no room are read again for a view, several at a
// time.
func TestFill(t *testing.T) {
	t.Parallel()
	m := &memory{blobs: map[string][]byte{}}
	const n = 300
	for i := range n {
		m.events = append(m.events, event.Event{Seq: uint64(i + 1), At: time.Unix(0, 0).UTC(), Step: 1,
			Data: &event.ModelReplied{Call: "c",
				Message: chat.Message{Text: chat.NewText(fmt.Sprintf("%030000d", i))}}})
	}
	r, err := Open(t.Context(), m, "r")
	if err != nil {
		t.Fatal(err)
	}
	var lines []json.RawMessage
	if err := r.Each(t.Context(), 0, func(e event.Event) error {
		line, err := r.Event(e)
		lines = append(lines, line)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	held := func() (bytes int) {
		for _, v := range r.table.refs {
			bytes += len(v.content)
		}
		return bytes
	}
	if held() > keepBytes {
		t.Errorf("%d bytes are kept", held())
	}
	doc, err := r.PrepareLines(t.Context(), lines, Style{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := doc.WriteTo(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n") {
		if !strings.Contains(line, fmt.Sprintf(`%05d"`, i)) || len(line) < 30_000 {
			t.Fatalf("line %d is %.300s", i, line)
		}
	}
	if most := 2 + n*30_000/fillBytes + 1; m.passes > most || held() > keepBytes+fillBytes {
		t.Errorf("the journal was read %d times, at most %d are needed; %d bytes are held", m.passes, most, held())
	}
}

// TestSizeLimit checks that a response is limited, whatever there is to show.
func TestSizeLimit(t *testing.T) {
	t.Parallel()
	m := &memory{blobs: map[string][]byte{}}
	for i := range 400 {
		m.events = append(m.events, event.Event{Seq: uint64(i + 1), At: time.Unix(0, 0).UTC(), Step: 1,
			Data: &event.ModelReplied{Call: "c",
				Message: chat.Message{Text: chat.NewText(fmt.Sprintf("%032000d", i))}}})
	}
	r, err := Open(t.Context(), m, "r")
	if err != nil {
		t.Fatal(err)
	}
	var lines []json.RawMessage
	if err := r.Each(t.Context(), 0, func(e event.Event) error {
		line, err := r.Event(e)
		lines = append(lines, line)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := r.Write(t.Context(), &b, lines, Style{Limit: Limit, Bounded: true, Href: Address("r")}); err != nil ||
		b.Len() > budgetBytes+Limit+400*600 || !json.Valid(b.Bytes()) {
		t.Errorf("%d bytes, %v", b.Len(), err)
	}
}
