package tool

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
)

// original is the placeholder in Spec.Instruction for what the toolset itself says about its use.
const original = "{ORIGINAL_INSTRUCTIONS}"

// said gives what a toolset says about its use, as far as agents get it: "" where the document's own words replace it. It goes into system prompts, so it
// is pinned as tools are (SEC14).
func (in *instance) said(ts Toolset) string {
	i, ok := ts.(Instructor)
	if !ok || in.spec.Instruction != "" && !strings.Contains(in.spec.Instruction, original) {
		return ""
	}
	return i.Instructions()
}

// saysPin is the pin of instructions; the zero Pin: there are none. No tool has its key, since no tool's name is empty.
func saysPin(text string) Pin {
	if text == "" {
		return Pin{}
	}
	return pinOf(chat.ToolDef{Description: text}, "")
}

// saysKey is the key of the instructions of an instance in Pins.
func (in *instance) saysKey() string { return pinKey(append(slices.Clone(in.pinPrefix), "")...) }

// pinSays holds on to the instructions of a toolset that is listed for the first time in this process. Those that an earlier process of the run pinned stay; where
// it pinned tools alone, the toolset had none. s.mu is held.
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

// acceptSays holds on to other instructions from now on: a person has seen them.
func (s *Set) acceptSays(in *instance, p Pin) {
	s.mu.Lock()
	s.setPin(in.saysKey(), p)
	s.mu.Unlock()
	in.mu.Lock()
	defer in.mu.Unlock()
	in.says = p
}

// told gives the instructions for a toolset that agents get: those pinned in the run, or those of the document where it has some.
func (in *instance) told() string {
	in.mu.Lock()
	text := in.says.Def.Description
	in.mu.Unlock()
	if in.spec.Instruction != "" {
		text = strings.ReplaceAll(in.spec.Instruction, original, text)
	}
	return strings.TrimSpace(text)
}

// describeSays says what became of instructions, for a person to judge.
func describeSays(toolset string, was, now Pin) string {
	a, b := differing(was.Def.Description, now.Def.Description)
	return "The instructions of toolset " + strconv.Quote(toolset) + ", which are part of the prompts of its agents, changed since this run began. Approving accepts the new ones.\n" +
		"Instructions before: " + a + "\nInstructions now: " + b
}
