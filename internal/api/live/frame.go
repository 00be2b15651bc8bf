package live

import (
	"encoding/json"
	"strconv"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
)

// frame is a message as it goes over the wire. It is shared by all who watch, and never changed.
type frame struct {
	// seq is the event that it shows; 0 for pieces of what models say, which have no id.
	seq  uint64
	kind string
	data []byte
}

// newFrame makes a message of one line of JSON. seq 0 gives one without id.
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

// jsonFrame is newFrame of what encoding/json makes of v, in which no line ends.
func jsonFrame(seq uint64, kind string, v any) (*frame, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return newFrame(seq, kind, b), nil
}

// piece is a driver.Delta as it is shown.
type piece struct {
	Run string `json:"run"`
	driver.Delta
}

// reset says that what an earlier attempt of a call said is void.
type reset struct {
	Run     string `json:"run"`
	Node    string `json:"node,omitempty"`
	Step    int    `json:"step,omitempty"`
	Call    string `json:"call"`
	Attempt int    `json:"attempt"`
}

// end is the last message of a stream.
type end struct {
	Run    string        `json:"run"`
	Seq    uint64        `json:"seq"`
	Status engine.Status `json:"status"`
}
