package tool

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
)

// original is the placeholder in Spec.Instruction for the toolset's own instructions.
const original = "{ORIGINAL_INSTRUCTIONS}"

// currentInstructions returns a toolset's instructions for its use as far as agents see them: "" if
// the document's own text replaces them. They become part of system prompts, so they are pinned as
// tools are (SEC14).
func (in *instance) currentInstructions(ts Toolset) string {
	i, ok := ts.(Instructor)
	if !ok || in.spec.Instruction != "" && !strings.Contains(in.spec.Instruction, original) {
		return ""
	}
	return i.Instructions()
}

// instructionsPin returns the pin of instructions; the zero Pin means that there are none. It never
// equals the pin of a tool, because no tool has an empty name.
func instructionsPin(text string) Pin {
	if text == "" {
		return Pin{}
	}
	return pinOf(chat.ToolDef{Description: text}, "")
}

// instructionsKey returns the key of an instance's instructions in Pins.
func (in *instance) instructionsKey() string {
	return pinKey(append(slices.Clone(in.pinPrefix), "")...)
}

// pinInstructions pins the instructions of a toolset that is listed for the first time in this
// process. Instructions that an earlier process of the run pinned are kept; if it pinned only
// tools, the toolset had no instructions. The caller holds s.mu.
func (s *Set) pinInstructions(in *instance, text string, seenBefore bool) {
	now := instructionsPin(text)
	before, ok := s.pins[in.instructionsKey()]
	switch {
	case ok:
		now = before
	case seenBefore:
		now = Pin{}
	case now.Hash != "":
		s.setPin(in.instructionsKey(), now)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.instructions = now
}

// acceptInstructions pins other instructions from now on, after a person has approved them.
func (s *Set) acceptInstructions(in *instance, p Pin) {
	s.mu.Lock()
	s.setPin(in.instructionsKey(), p)
	s.mu.Unlock()
	in.mu.Lock()
	defer in.mu.Unlock()
	in.instructions = p
}

// pinnedInstructions returns the instructions for a toolset that agents get: those pinned in the
// run, or the document's own if it has any.
func (in *instance) pinnedInstructions() string {
	in.mu.Lock()
	text := in.instructions.Def.Description
	in.mu.Unlock()
	if in.spec.Instruction != "" {
		text = strings.ReplaceAll(in.spec.Instruction, original, text)
	}
	return strings.TrimSpace(text)
}

// describeInstructionsChange describes for a person how instructions changed.
func describeInstructionsChange(toolset string, was, now Pin) string {
	a, b := differing(was.Def.Description, now.Def.Description)
	return "The instructions of toolset " + strconv.Quote(toolset) + ", which are part of the prompts of its agents, " +
		"changed since this run began. Approving accepts the new ones.\n" +
		"Instructions before: " + a + "\nInstructions now: " + b
}
