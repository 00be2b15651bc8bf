package live

import (
	"encoding/json"
	"strconv"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine/event"
)

// frame is a message in wire format. All watchers share it, and it never changes.
type frame struct {
	// seq is the event that the message shows; it is 0 for pieces of model output, which have no
	// id.
	seq  uint64
	kind string
	data []byte
}

// newFrame returns a message with one line of JSON. If seq is 0, the message has no id.
func newFrame(seq uint64, kind string, data []byte) *frame {
	b := make([]byte, 0, len(data)+len(kind)+48)
	if seq > 0 {
		b = append(b, "id: "...)
		b = strconv.AppendUint(b, seq, 10)
		b = append(b, '\n')
	}
	b = append(b, "event: "...)
	b = append(b, kind...)
	b = append(b, "\ndata: "...)
	b = append(b, data...)
	return &frame{seq: seq, kind: kind, data: append(b, "\n\n"...)}
}

// jsonFrame is newFrame for the JSON encoding of v, which contains no line breaks.
func jsonFrame(seq uint64, kind string, v any) (*frame, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return newFrame(seq, kind, b), nil
}

// piece is a driver.Delta in the form that is streamed.
type piece struct {
	Run string `json:"run"`
	driver.Delta
}

// reset tells the client to discard the output of an earlier attempt of a call.
type reset struct {
	Run     string `json:"run"`
	Node    string `json:"node,omitempty"`
	Step    int    `json:"step,omitempty"`
	Call    string `json:"call"`
	Attempt int    `json:"attempt"`
}

// end is the last message of a stream.
type end struct {
	Run    string       `json:"run"`
	Seq    uint64       `json:"seq"`
	Status event.Status `json:"status"`
}
