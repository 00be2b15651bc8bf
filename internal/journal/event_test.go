package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
)

var testTime = time.Date(2026, 1, 2, 3, 4, 5, 678000, time.UTC)

func TestStoredForm(t *testing.T) {
	t.Parallel()
	data, blobs, err := Encode([]event.Event{
		{Seq: 17, At: testTime, Node: "writer", Step: 4, Data: &event.StepStarted{Tokens: []int{3}, Kind: "agent",
			Iteration: 1, Input: event.Value(`"hi"`)}},
		{Seq: 18, At: testTime.Add(5 * time.Microsecond), Data: &event.RunStarted{}},
		{Seq: 19, At: testTime.Add(5 * time.Microsecond), Data: &event.RunPaused{Wait: "w"}},
	})
	if err != nil || blobs != nil {
		t.Fatal(err, blobs)
	}
	want :=
		`{"v":2,"seq":17,"at":1767323045000678,"events":[[6,0,"writer",4,{"tokens":[3],"kind":"agent","iteration":1,` +
			`"input":"hi"}],` +
			`[2,5,"",0,{}],[4,{"wait":"w"}]]}`
	if diff := cmp.Diff(string(data), want); diff != "" {
		t.Error(diff)
	}
}

// TestMarshalEvent checks docs/events.md.
func TestMarshalEvent(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		event event.Event
		want  string
	}{
		"of a step": {
			event.Event{Seq: 17, At: testTime, Node: "n2", Step: 4,
				Data: &event.StepFailed{Error: event.Failure{Code: "timeout", Message: "too <slow>\n"}}},
			`{"run":"r1","seq":17,"time":"2026-01-02T03:04:05.000678Z","type":"step.failed","node":"n2","step":4,` +
				`"data":{"error":{"code":"timeout","message":"too <slow>\n"}}}`,
		},
		"of the run": {
			event.Event{Seq: 1, At: testTime.Add(-678 * time.Microsecond), Data: &event.RunStarted{}},
			`{"run":"r1","seq":1,"time":"2026-01-02T03:04:05.000000Z","type":"run.started","node":null,"step":null,` +
				`"data":{}}`,
		},
		"value over several lines": {
			event.Event{Seq: 1, At: testTime, Data: &event.RunCreated{Digest: "d", Input: event.Value("[1,\n 2]")}},
			`{"run":"r1","seq":1,"time":"2026-01-02T03:04:05.000678Z","type":"run.created","node":null,"step":null,` +
				`"data":{"version":0,"digest":"d","input":[1,  2],"limits":{}}}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := MarshalEvent("r1", tt.event)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(got), tt.want); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestEncode_LargeValues checks D2: content over 32 KiB is stored as one blob per content,
// whether it is a string or a value.
func TestEncode_LargeValues(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("ä", AsideBytes/2)
	big := text + "!"
	quoted, err := json.Marshal(big)
	if err != nil {
		t.Fatal(err)
	}
	object := event.Value(`{"a":"` + text + `"}`)
	events := []event.Event{
		{Seq: 1, Step: 1, Data: &event.StepStarted{Tokens: []int{1}, Input: quoted}},
		{Seq: 2, Step: 1, Data: &event.ModelCalled{Added: []chat.Message{{Role: "user", Text: chat.NewText("short")},
			{Role: "user", Text: chat.NewText(big)}}}},
		{Seq: 3, Step: 1, Data: &event.ModelReplied{Message: chat.Message{Text: chat.NewText(text)}}},
		{Seq: 4, Step: 1, Data: &event.StepCompleted{Output: object,
			Update: map[string]event.Value{"~a/b": object, "c": event.Value(`1`)}}},
	}
	data, blobs, err := Encode(events)
	if err != nil {
		t.Fatal(err)
	}
	if len(blobs) != 2 || string(blobs[0].Data) != big || string(blobs[1].Data) != string(object) {
		t.Fatalf("%d blobs", len(blobs))
	}
	for _, part := range []string{
		fmt.Sprintf(
			`"aside":[[0,"/input","%s","text"],[1,"/added/1/text","%[1]s","text"],[3,"/output","%s","json"],[3,`+
				`"/update/~0a~1b","%[2]s","json"]],`,
			blobs[0].Hash, blobs[1].Hash),
		`"input":null}`, `{"role":"user","text":""}`, `{"output":null,"update":{"c":1,"~a/b":null}}`, text + `"`,
	} {
		if !strings.Contains(string(data), part) {
			t.Errorf("record lacks %.80s", part)
		}
	}
	got, err := Decode(data, blobsOf(t, blobs))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, events, cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })); diff != "" {
		t.Error("events changed")
	}
}

// TestDecodeWithoutBlob checks P17: a missing value is damage of the run, not a missing run.
func TestDecodeWithoutBlob(t *testing.T) {
	t.Parallel()
	data, _, err := Encode([]event.Event{
		{Seq: 7, Data: &event.RunStarted{}},
		{Seq: 8, Step: 1,
			Data: &event.ModelReplied{Message: chat.Message{Text: chat.NewText(strings.Repeat("x", AsideBytes+1))}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	events, err := Decode(data, func(hash string) ([]byte, error) {
		return nil, fmt.Errorf("read blob %s: %w", hash, ErrNotFound)
	})
	var corrupt *CorruptError
	if !errors.As(err, &corrupt) || corrupt.Seq != 8 || errors.Is(err, ErrNotFound) || events != nil {
		t.Errorf("got %v, %v; want a *CorruptError at event 8", events, err)
	}
	down := errors.New("store is down")
	if _, err := Decode(data, func(string) ([]byte, error) { return nil, down }); !errors.Is(err, down) ||
		errors.As(err, &corrupt) {
		t.Errorf("got %v; want the error of the store", err)
	}
}

// TestDecode_UserDataLikeEnvelope checks SEC6: what users write is data, whatever it looks like.
func TestDecode_UserDataLikeEnvelope(t *testing.T) {
	t.Parallel()
	hash := HashOf([]byte("secret of another run"))
	asked := false
	load := func(string) ([]byte, error) { asked = true; return []byte("secret of another run"), nil }
	for _, forged := range []string{
		`{"v":2,"seq":1,"at":0,"aside":[[0,"/output","` + hash + `","text"]],"events":[[7,{"output":null}]]}`,
		`[0,"/output","` + hash + `","text"]`, `"` + hash + `"`, `null`, `""`,
		`{"aside":[[0,"","` + hash + `","json"]]}`,
	} {
		events := []event.Event{
			{Seq: 1, At: testTime, Node: forged, Step: 1, Data: &event.StepCompleted{Output: event.Value(forged),
				Update: map[string]event.Value{forged: event.Value(forged)}}},
			{Seq: 2, At: testTime, Data: &event.ToolReturned{Text: forged}}}
		data, blobs, err := Encode(events)
		if err != nil || blobs != nil {
			t.Fatal(err, blobs)
		}
		got, err := Decode(data, load)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(got, events); diff != "" || asked {
			t.Errorf("data was read as ours (%v): %s", asked, diff)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	var none *event.RunStarted
	tests := map[string]struct {
		events []event.Event
		want   string
	}{
		"nothing":   {nil, "there are none"},
		"no number": {[]event.Event{{Data: &event.RunStarted{}}}, "has no number"},
		"a gap": {[]event.Event{{Seq: 1, Data: &event.RunStarted{}}, {Seq: 3, Data: &event.RunStarted{}}},
			"expected event 2, got 3"},
		"no data":  {[]event.Event{{Seq: 1}}, "no data"},
		"nil data": {[]event.Event{{Seq: 1, Data: none}}, "no data"},
		"value not JSON": {[]event.Event{{Seq: 1, Data: &event.StepCompleted{Output: event.Value(`{"a":1} x`)}}},
			"output: value is not JSON"},
		"value in a map": {
			[]event.Event{
				{Seq: 1, Data: &event.StepCompleted{Update: map[string]event.Value{"f": event.Value(`}`)}}},
			}, "update: f: value is not JSON",
		},
		"key not UTF-8": {[]event.Event{{Seq: 1, Data: &event.RunCreated{Meta: map[string]string{"\xff": ""}}}},
			"not UTF-8"},
		"node not UTF-8":   {[]event.Event{{Seq: 1, Node: "\xff", Data: &event.RunStarted{}}}, "not UTF-8"},
		"number not known": {[]event.Event{{Seq: 1, Data: &event.ModelReplied{CostUSD: new(math.NaN())}}}, "NaN"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, _, err := Encode(tt.events); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestDecodeRefuses checks P17: each kind of damage is a typed error, and no events are returned
// with it.
func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	content := []byte("content")
	hash := HashOf(content)
	load := func(h string) ([]byte, error) {
		switch h {
		case hash:
			return content, nil
		case HashOf([]byte("other")):
			return content, nil
		}
		return nil, ErrNotFound
	}
	record := func(aside, events string) string {
		return `{"v":2,"seq":5,"at":0,` + aside + `"events":[` + events + `]}`
	}
	completed := `[7,0,"n",1,{"output":null}]`
	tests := map[string]struct {
		data, want string
		seq        uint64
	}{
		"empty":              {``, `"{\"v\":" is missing`, 0},
		"no record":          {`{"a":1}`, "is missing", 0},
		"version 0":          {`{"v":0,"seq":1,"at":0,"events":[]}`, "no version", 0},
		"event 0":            {`{"v":2,"seq":0,"at":0,"events":[[2,{}]]}`, "no number", 0},
		"no events":          {record(``, ``), `"[" is missing`, 5},
		"unknown type":       {record(``, `[2,{}],["run.danced",{}]`), `unknown event type "run.danced"`, 6},
		"number 0":           {record(``, `[0,{}]`), "unknown event type 0", 5},
		"unknown number":     {record(``, `[2,{}],[24,{}]`), "unknown event type 24", 6},
		"name with a number": {record(``, `["run.started",{}]`), `"run.started" has a number`, 5},
		"place twice":        {record(``, `[2,0,"",0,{}]`), "those of the event before", 5},
		"former version":     {`{"v":1,"seq":1,"at":0,"events":[["run.started",0,"",0,{}]]}`, "not read any more", 0},
		"unknown field":      {record(``, `[4,{"wait":"w","until":1}]`), `unknown field "until"`, 5},
		"unknown inner field": {record(``, `["run.failed",{"error":{"code":"a","message":"b","extra":1}}]`),
			`unknown field "extra"`, 5},
		"other case":  {record(``, `[4,{"Wait":"w"}]`), `unknown field "Wait"`, 5},
		"field twice": {record(``, `[4,{"wait":"w","wait":"v"}]`), `duplicate field "wait"`, 5},
		"key twice":   {record(``, `[7,{"update":{"a":1,"a":2}}]`), `duplicate key "a"`, 5},
		"wrong type":  {record(``, `[4,{"wait":3}]`), "not a string", 5},
		"fraction":    {record(``, `[3,{"outputStep":1.5}]`), "not an integer", 5},
		"other time": {record(``, `[17,{"wait":"w","kind":"k","deadline":"2026-01-02T03:04:05Z"}]`),
			"not a time", 5},
		"white space":    {record(``, ` [2,{}]`), `"[" is missing`, 5},
		"behind the end": {record(``, `[2,{}]`) + " ", "after the end", 5},
		"broken text":    {record(``, `[4,{"wait":"\ud800"}]`), "not a string", 5},
		"not UTF-8":      {record(``, "[4,{\"wait\":\"\xff\"}]"), "not a string", 5},
		"aside of no event": {record(`"aside":[[1,"/output","`+hash+`","text"]],`, completed), "belongs to no event",
			5},
		"aside without hash": {record(`"aside":[[0,"/output","../x","text"]],`, completed), "has no hash", 5},
		"aside elsewhere": {record(`"aside":[[0,"/outputs","`+hash+`","text"]],`, completed), "no such location",
			5},
		"aside too deep": {record(`"aside":[[0,"/output/a","`+hash+`","text"]],`, completed), "no such location",
			5},
		"aside at the root": {record(`"aside":[[0,"","`+hash+`","text"]],`, completed), "no such location", 5},
		"aside twice": {record(`"aside":[[0,"/output","`+hash+`","text"],[0,"/output","`+hash+`","text"]],`,
			completed), "no such location", 5},
		"aside of no form": {record(`"aside":[[0,"/output","`+hash+`","gob"]],`, completed), "no such location", 5},
		"aside no JSON":    {record(`"aside":[[0,"/output","`+hash+`","json"]],`, completed), "not JSON", 5},
		"aside of other hash": {record(`"aside":[[0,"/output","`+HashOf([]byte("other"))+`","text"]],`, completed),
			"different content", 5},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events, err := Decode([]byte(tt.data), load)
			var corrupt *CorruptError
			if !errors.As(err, &corrupt) || !strings.Contains(corrupt.Reason, tt.want) || corrupt.Seq != tt.seq ||
				events != nil {
				t.Errorf("got %#v, want %q at %d", err, tt.want, tt.seq)
			}
		})
	}

	t.Run("newer", func(t *testing.T) {
		t.Parallel()
		_, err := Decode([]byte(`{"v":3,"everything":"else may differ"`), load)
		var newer *NewerError
		if !errors.As(err, &newer) || newer.Found != 3 || newer.Have != RecordVersion {
			t.Errorf("got %v", err)
		}
	})
}
