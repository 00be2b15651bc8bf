package tool

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
)

// original is the placeholder in Spec.Instruction for the toolset's own instructions.
const original = "{ORIGINAL_INSTRUCTIONS}"

// said returns a toolset's instructions for its use as far as agents see them: "" if the document's
// own text replaces them. They become part of system prompts, so they are pinned as tools are
// (SEC14).
func (in *instance) said(ts Toolset) string {
	i, ok := ts.(Instructor)
	if !ok || in.spec.Instruction != "" && !strings.Contains(in.spec.Instruction, original) {
		return ""
	}
	return i.Instructions()
}

// saysPin returns the pin of instructions; the zero Pin means that there are none. It never equals
// the pin of a tool, because no tool has an empty name.
func saysPin(text string) Pin {
	if text == "" {
		return Pin{}
	}
	return pinOf(chat.ToolDef{Description: text}, "")
}

// saysKey returns the key of an instance's instructions in Pins.
func (in *instance) saysKey() string { return pinKey(append(slices.Clone(in.pinPrefix), "")...) }

// pinSays pins the instructions of a toolset that is listed for the first time in this process.
// Instructions that an earlier process of the run pinned are kept; if it pinned only tools, the
// toolset had no instructions. The caller holds s.mu.
func (s *Set) pinSays(in *instance, text string, seenBefore bool) {
	now := saysPin(text)
	before, ok := s.pins[in.saysKey()]
	switch {
	case ok:
		now = before
	case seenBefore:
		now = Pin{}
	case now.Hash != "":
		s.setPin(in.saysKey(), now)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.says = now
}

// acceptSays pins other instructions from now on, after a person has approved them.
func (s *Set) acceptSays(in *instance, p Pin) {
	s.mu.Lock()
	s.setPin(in.saysKey(), p)
	s.mu.Unlock()
	in.mu.Lock()
	defer in.mu.Unlock()
	in.says = p
}

// told returns the instructions for a toolset that agents get: those pinned in the run, or the
// document's own if it has any.
func (in *instance) told() string {
	in.mu.Lock()
	text := in.says.Def.Description
	in.mu.Unlock()
	if in.spec.Instruction != "" {
		text = strings.ReplaceAll(in.spec.Instruction, original, text)
	}
	return strings.TrimSpace(text)
}

// describeSays describes for a person how instructions changed.
func describeSays(toolset string, was, now Pin) string {
	a, b := differing(was.Def.Description, now.Def.Description)
	return "The instructions of toolset " + strconv.Quote(toolset) + ", which are part of the prompts of its agents, " +
		"changed since this run began. Approving accepts the new ones.\n" +
		"Instructions before: " + a + "\nInstructions now: " + b
}
