package driver

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/journal"
)

// Keys of journal.NewRun.Meta that are the drivers' own. They begin with MetaOwn, which no starter of a run may use.
const (
	MetaOwn = "hocket."
	// MetaModel is the model that overrides those of all agents of the run.
	MetaModel = "hocket.model"
	// MetaFile with the name of a file is the hash of the blob that holds it.
	MetaFile = "hocket.file."
	// MetaProgram, which is no key of the drivers' own, holds the name of the program that started the run by embedding Hocket: its functions, tools and models are there (D29).
	MetaProgram = "program"
	// MetaBranch, which is none either, names the branch of the workflow that runs: project.MetaTargetBranchID.
	MetaBranch = "targetBranchId"
	// MetaRemind is there where waits of the run have reminders though its definition has none.
	MetaRemind = "hocket.remind"
	// MetaSlot holds the bound and the name of the slot that the run has, or waits for: a number, a space, and the name.
	MetaSlot = "hocket.slot"
)

// ModelOf gives the model that overrides those of a run's agents, "" where none does.
func ModelOf(head journal.Head) string { return head.Meta[MetaModel] }

// SlotOf gives what a run asks the store for before it goes on; false where it asks for nothing.
func SlotOf(run string, meta map[string]string) (journal.Slot, bool) {
	most, name, _ := strings.Cut(meta[MetaSlot], " ")
	n, err := strconv.Atoi(most)
	s := journal.Slot{Name: name, Run: run, Max: n}
	return s, err == nil && s.Validate() == nil
}

// HasOwnMeta tells whether there are keys of the drivers' own.
func HasOwnMeta(meta map[string]string) bool {
	for k := range meta {
		if strings.HasPrefix(k, MetaOwn) {
			return true
		}
	}
	return false
}

// UserMeta gives what the starter of a run said of it, without the drivers' own keys. The map is shared.
func UserMeta(meta map[string]string) map[string]string {
	if !HasOwnMeta(meta) {
		return meta
	}
	return CopyUserMeta(meta)
}

// CopyUserMeta is UserMeta as a map that may be changed.
func CopyUserMeta(meta map[string]string) map[string]string {
	out := make(map[string]string, len(meta))
	for k, v := range meta {
		if !strings.HasPrefix(k, MetaOwn) {
			out[k] = v
		}
	}
	return out
}

// Kept gives the files of a run that begins, and its meta with the drivers' own keys.
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
