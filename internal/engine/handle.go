package engine

// handle passes an input to the component that decides what follows from it.
func (r *Run) handle(in InputData) {
	switch d := in.(type) {
	case Start:
		r.start(d)
	case Admitted:
		r.admitted()
	case ModelResult:
		r.pinned(d.Pins)
		r.handleModel(d)
	case ToolResult:
		r.pinned(d.Pins)
		r.handleTool(d)
	case ToolHeld:
		r.pinned(d.Pins)
		r.handleHeld(d)
	case FuncResult:
		r.handleFunc(&d)
	case *FuncResult:
		r.handleFunc(d)
	case FuncNote:
		r.handleNote(d)
	case ChildStart:
		r.handleChild(d)
	case CallUse:
		r.handleUse(d)
	case CallReserve:
		r.handleReserve(d)
	case TimerDue:
		r.handleTimer(d)
	case Answer:
		r.handleAnswer(d)
	case Cancel:
		r.handleCancel(d)
	case Recovered:
		r.handleRecovered(d)
	case Reopen:
		r.handleReopen(d)
	case Continue:
	}
}
