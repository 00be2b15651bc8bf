package cassette

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/model"
)

// maxRecording is the maximum size in bytes of a recording that is continued.
const maxRecording = 1 << 30

// Continue returns a Recorder that continues the recording at path. known are the replies that the
// run has in its journal, in any order.
//
// A reply that is recorded but not known arrived at the moment the process died; its call is
// repeated, so its entry is dropped. The file is replaced as a whole before anything is appended.
// Continue returns an error if the file is not a recording, or lacks a known reply: it is then a
// different file, and is left unchanged.
func Continue(client model.Client, path string, known []chat.Message) (*Recorder, error) {
	entries, err := recorded(path)
	if err != nil {
		return nil, fmt.Errorf("continue recording: %w", err)
	}
	left := map[string]int{}
	for _, m := range known {
		left[keyOf(entryOf(model.Request{}, model.Reply{Message: m}, nil))]++
	}
	kept := entries[:0:0]
	for _, e := range entries {
		key := keyOf(e)
		if e.Error == nil {
			if left[key] == 0 {
				continue
			}
			left[key]--
		}
		kept = append(kept, e)
	}
	for _, n := range left {
		if n > 0 {
			return nil,
				fmt.Errorf("continue recording: %s lacks replies of the run; it is another recording, or was changed",
					path)
		}
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, fmt.Errorf("continue recording: %w", err)
	}
	beside, err := os.CreateTemp(filepath.Dir(target), ".hocket-record-*") // only its owner may read it
	if err != nil {
		return nil, fmt.Errorf("continue recording: %w", err)
	}
	r, err := begin(client, beside, path)
	for i := 0; err == nil && i < len(kept); i++ {
		r.write(kept[i])
		err = r.err
	}
	if err == nil {
		err = os.Rename(beside.Name(), target)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("continue recording: %w", err), beside.Close(), os.Remove(beside.Name()))
	}
	return r, nil
}

// recorded reads the entries of a recording.
func recorded(path string) ([]entry, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s is not a regular file", path), err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxRecording+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxRecording:
		return nil, fmt.Errorf("%s has more than %d bytes", path, maxRecording)
	}
	head, _ := formatOf(path).head()
	if !bytes.HasPrefix(text, []byte(head)) {
		return nil, fmt.Errorf("%s is not a recording by hocket", path)
	}
	if strings.TrimSpace(strings.TrimPrefix(string(text), head)) == "" {
		return nil, nil
	}
	node, diags := source.Parse(path, text)
	if err := diags.Err(); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	var doc struct {
		Replies []entry `json:"replies"`
	}
	if err := json.Unmarshal(node.JSON(), &doc); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	return doc.Replies, nil
}

// keyOf returns a key that distinguishes replies by their content.
func keyOf(e entry) string {
	text := ""
	switch {
	case e.Text != nil:
		text = *e.Text
	case len(e.JSON) > 0:
		text = string(e.JSON)
	}
	parts := []string{text}
	for _, c := range e.ToolCalls {
		var b bytes.Buffer
		if json.Compact(&b, c.Arguments) != nil {
			b.Write(c.Arguments)
		}
		parts = append(parts, c.ID, c.Name, b.String())
	}
	key, err := json.Marshal(parts)
	if err != nil {
		return strings.Join(parts, "\x00") // strings always marshal
	}
	return string(key)
}
