package journal

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
)

// benchEvents returns the events of one agent step and its decision, as most records hold them.
func benchEvents() []event.Event {
	cost := 0.00012
	data := []event.Data{
		&event.ModelReplied{Call: "4.0.1", Attempt: 1, Message: chat.Message{Role: chat.RoleAssistant,
			Text: chat.NewText("Durable execution keeps what was done. It \"never\" repeats it.")},
			Usage: &chat.Usage{InputTokens: 120, OutputTokens: 42}, CostUSD: &cost, Model: "openai/gpt-5-mini",
			Stop: "stop"},
		&event.StepCompleted{Reply: true, Ports: []string{"out"}},
		&event.EdgeTaken{Edge: 3, To: "check", Token: 9},
		&event.StepStarted{Tokens: []int{9}, Kind: "decide", Iteration: 1, From: 4},
		&event.ConditionChecked{Index: 0, Op: "contains", Text: "durable", Result: true},
		&event.StepCompleted{Same: true, Ports: []string{"condition-0"}},
		&event.EdgeTaken{Edge: 5, To: "writer", Token: 10},
		&event.StepStarted{Tokens: []int{10}, Kind: "agent", Iteration: 1, Agent: "writer",
			Input: event.Value(`"Write about durable execution."`)},
		&event.ModelCalled{Call: "6.0.1", Attempt: 1, Agent: "writer", Model: "openai/gpt-5-mini", Conversation: "6.0",
			Length: 1,
			Added:  []chat.Message{{Role: chat.RoleUser, Text: chat.NewText("Write about durable execution.")}}},
	}
	events := make([]event.Event, len(data))
	for i, d := range data {
		events[i] = event.Event{Seq: uint64(100 + i), At: time.UnixMicro(1767225600000000).UTC(), Node: "writer",
			Step: 4 + i/3, Data: d}
	}
	return events
}

func perEvent(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/event")
}

func BenchmarkEncode(b *testing.B) {
	events := benchEvents()
	b.ReportAllocs()
	for b.Loop() {
		data, _, err := Encode(events)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(data)))
	}
	perEvent(b, len(events))
}

func BenchmarkDecode(b *testing.B) {
	events := benchEvents()
	data, _, err := Encode(events)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(data, nil); err != nil {
			b.Fatal(err)
		}
	}
	perEvent(b, len(events))
}

// BenchmarkEncodingJSON measures encoding/json on the data alone.
func BenchmarkEncodingJSON(b *testing.B) {
	events := benchEvents()
	var all [][]byte
	for _, e := range events {
		data, err := json.Marshal(e.Data)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, data)
	}
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, e := range events {
				if _, err := json.Marshal(e.Data); err != nil {
					b.Fatal(err)
				}
			}
		}
		perEvent(b, len(events))
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for i, e := range events {
				d, _ := engine.NewData(e.Data.Type())
				if err := json.Unmarshal(all[i], d); err != nil {
					b.Fatal(err)
				}
			}
		}
		perEvent(b, len(events))
	})
}

func BenchmarkMarshalEvent(b *testing.B) {
	events := benchEvents()
	b.ReportAllocs()
	for b.Loop() {
		for _, e := range events {
			if _, err := MarshalEvent("01JD0000000000000000000000", e); err != nil {
				b.Fatal(err)
			}
		}
	}
	perEvent(b, len(events))
}
