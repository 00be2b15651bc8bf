package driver

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/journal"
)

// Keys of journal.NewRun.Meta that are reserved for the drivers. They have the prefix MetaOwn,
// which callers that start runs must not use.
const (
	MetaOwn = "hocket."
	// MetaModel is the model that overrides the models of all agents of the run.
	MetaModel = "hocket.model"
	// MetaFile followed by the name of a file is the key of the hash of the blob that holds the
	// file.
	MetaFile = "hocket.file."
	// MetaProgram, which is not a reserved key, holds the name of the program that started the run
	// by embedding Hocket and has its functions, tools and models (D29).
	MetaProgram = "program"
	// MetaBranch names the workflow branch that runs; it is not a reserved key either:
	// project.MetaTargetBranchID.
	MetaBranch = "targetBranchId"
	// MetaRemind is present if waits of the run have reminders although its definition has none.
	MetaRemind = "hocket.remind"
	// MetaSlot holds the limit and the name of the slot that the run has or waits for: a number, a
	// space, and the name.
	MetaSlot = "hocket.slot"
)

// ModelOf returns the model that overrides the models of a run's agents, or "" if none does.
func ModelOf(head journal.Head) string { return head.Meta[MetaModel] }

// SlotOf returns the slot that a run requests from the store before it continues; false means that
// it requests none.
func SlotOf(run string, meta map[string]string) (journal.Slot, bool) {
	most, name, _ := strings.Cut(meta[MetaSlot], " ")
	n, err := strconv.Atoi(most)
	s := journal.Slot{Name: name, Run: run, Max: n}
	return s, err == nil && s.Validate() == nil
}

// HasOwnMeta reports whether meta contains keys reserved for the drivers.
func HasOwnMeta(meta map[string]string) bool {
	for k := range meta {
		if strings.HasPrefix(k, MetaOwn) {
			return true
		}
	}
	return false
}

// UserMeta returns the meta set by the starter of a run, without the drivers' own keys. The map is
// shared.
func UserMeta(meta map[string]string) map[string]string {
	if !HasOwnMeta(meta) {
		return meta
	}
	return CopyUserMeta(meta)
}

// CopyUserMeta is UserMeta as a map that may be modified.
func CopyUserMeta(meta map[string]string) map[string]string {
	out := make(map[string]string, len(meta))
	for k, v := range meta {
		if !strings.HasPrefix(k, MetaOwn) {
			out[k] = v
		}
	}
	return out
}

// Kept returns the files of a new run, and its meta including the drivers' own keys.
func (s *Spec) Kept() ([]journal.Blob, map[string]string) {
	if s.Model == "" && s.Remind <= 0 && s.Slot == nil && len(s.Files) == 0 {
		return nil, UserMeta(s.Meta)
	}
	meta := CopyUserMeta(s.Meta)
	if s.Model != "" {
		meta[MetaModel] = s.Model
	}
	if s.Remind > 0 {
		meta[MetaRemind] = s.Remind.String()
	}
	if s.Slot != nil {
		meta[MetaSlot] = strconv.Itoa(s.Slot.Max) + " " + s.Slot.Name
	}
	var blobs []journal.Blob
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		b := journal.NewBlob(s.Files[name])
		meta[MetaFile+name] = b.Hash
		blobs = append(blobs, b)
	}
	return blobs, meta
}
