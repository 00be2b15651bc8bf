package event

import "github.com/hocket-run/hocket/internal/engine/typed"

// Sized is an event whose contents count against the limit on the size of a run.
type Sized interface {
	// Size returns the size of the event's contents in bytes. Contents that are only referenced do
	// not count.
	Size() int
}

// Size implements Sized.
func (d *RunCreated) Size() int { return len(d.Input) }

// Size implements Sized.
func (d *StepStarted) Size() int { return len(d.Input) + d.Recipe.Size() + len(d.System) }

// Size implements Sized.
func (d *StepCompleted) Size() int { return len(d.Output) + sizeOf(d.Update, d.Edits) }

// Size implements Sized.
func (d *StepFailed) Size() int { return len(d.Output) }

// Size implements Sized.
func (d *ModelReplied) Size() int {
	n := int(d.Message.Text.Len()) + len(d.Message.Extra)
	for _, c := range d.Message.ToolCalls {
		n += len(c.ID) + len(c.Name) + len(c.Arguments) + len(c.Extra)
	}
	return n
}

// Size implements Sized.
func (d *ModelFailed) Size() int { return len(d.Error.Message) }

// Size implements Sized.
func (d *ToolReturned) Size() int { return len(d.Text) + len(d.Structured) }

// Size implements Sized.
func (d *ToolFailed) Size() int { return len(d.Error.Message) }

// Size implements Sized.
func (d *FuncReturned) Size() int { return len(d.Output) + sizeOf(d.Update, d.Edits) }

// Size implements Sized.
func (d *FuncNoted) Size() int { return len(d.Value) }

// Size implements Sized.
func (d *SubagentStarted) Size() int { return len(d.Input) + len(d.System) }

// Size implements Sized.
func (d *SubagentCompleted) Size() int { return len(d.Output) }

// Size implements Sized.
func (d *AgentHanded) Size() int { return len(d.System) }

// Size implements Sized.
func (d *SignalReceived) Size() int {
	return len(d.Signal) + len(d.Value) + len(d.Key) + len(d.By.Name)
}

// Size implements Sized.
func (d *WaitAnswered) Size() int {
	return len(d.Note) + len(d.Answer) + len(d.Arguments) + len(d.By.Name)
}

func sizeOf(fields map[string]Value, edits []typed.Edit) int {
	n := 0
	for i := range edits {
		n += len(edits[i].Text)
	}
	for _, v := range fields {
		n += len(v)
	}
	return n
}
