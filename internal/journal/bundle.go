package journal

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/hocket-run/hocket/internal/engine/event"
)

// bundleVersion is the version of the bundle format around the records, which have their own
// version.
const bundleVersion = 2

// Bundle is a run to be moved to another store: all its events, including the values stored outside
// them.
type Bundle struct {
	Run string
	// Model is the model with which the run was started, or "" for none.
	Model string
	// Events are all events of the run, starting with number 1.
	Events []event.Event
}

// storedBundle is the stored form of a bundle. Its bytes are base64-encoded, so that reformatting
// the JSON does not change them.
type storedBundle struct {
	Version int      `json:"version"`
	Run     string   `json:"run"`
	Model   string   `json:"model,omitempty"`
	Records [][]byte `json:"records"`
	Blobs   [][]byte `json:"blobs,omitempty"`
	// Sum covers all other fields: it detects damage, and is no defense against forgery.
	Sum string `json:"sum"`
}

func (s *storedBundle) sum() string {
	h := sha256.New()
	var size [8]byte
	for _, list := range [][][]byte{{[]byte("hocket bundle"), []byte(s.Run), []byte(s.Model)}, s.Records, s.Blobs} {
		binary.BigEndian.PutUint64(size[:], uint64(len(list)))
		h.Write(size[:])
		for _, part := range list {
			binary.BigEndian.PutUint64(size[:], uint64(len(part)))
			h.Write(size[:])
			h.Write(part)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Seal returns the bundle as JSON. Equal bundles yield equal bytes. Its errors are those of Encode.
func (p Bundle) Seal() (json.RawMessage, error) {
	first, more, blobs, err := EncodeParts(nil, p.Events)
	if err != nil {
		return nil, fmt.Errorf("seal run %s: %w", p.Run, err)
	}
	s := storedBundle{Version: bundleVersion, Run: p.Run, Model: p.Model, Records: [][]byte{first.Data}}
	for _, r := range more {
		s.Records = append(s.Records, r.Data)
	}
	for _, b := range blobs {
		s.Blobs = append(s.Blobs, b.Data)
	}
	s.Sum = s.sum()
	return json.Marshal(s)
}

// OpenBundle reads a bundle written by Seal. Its errors are *NewerError and *CorruptError; it never
// returns a partial run (P17). It does not check that the events form a valid run; the fold does.
func OpenBundle(data []byte) (Bundle, error) {
	var s storedBundle
	if err := json.Unmarshal(data, &s); err != nil {
		return Bundle{}, &CorruptError{Reason: "it cannot be read: " + err.Error()}
	}
	switch {
	case s.Version > bundleVersion:
		return Bundle{}, &NewerError{What: "journal of run " + s.Run, Have: bundleVersion, Found: s.Version}
	case s.Version != bundleVersion || s.Sum != s.sum():
		return Bundle{}, &CorruptError{Run: s.Run, Reason: "checksum does not match"}
	}
	blobs := map[string][]byte{}
	for _, b := range s.Blobs {
		blobs[HashOf(b)] = b
	}
	p := Bundle{Run: s.Run, Model: s.Model}
	for _, data := range s.Records {
		events, err := Decode(data, func(hash string) ([]byte, error) {
			if b, ok := blobs[hash]; ok {
				return b, nil
			}
			return nil, ErrNotFound
		})
		if err != nil {
			return Bundle{}, InRun(s.Run, err)
		}
		if next := uint64(len(p.Events)) + 1; events[0].Seq != next {
			return Bundle{}, &CorruptError{Run: s.Run, Seq: next, Reason: "a record is missing"}
		}
		p.Events = append(p.Events, events...)
	}
	if len(p.Events) == 0 {
		return Bundle{}, &CorruptError{Run: s.Run, Seq: 1, Reason: "the first events are missing"}
	}
	return p, nil
}
