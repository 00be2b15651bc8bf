package engine

// handle passes an input to the component that decides what follows from it.
func (r *Run) handle(in InputData) {
	switch d := in.(type) {
	case Start:
		r.lifecycle.start(d)
	case Admitted:
		r.lifecycle.admitted()
	case ModelResult:
		r.calls.pinned(d.Pins)
		r.calls.handleModel(d)
	case ToolResult:
		r.calls.pinned(d.Pins)
		r.calls.handleTool(d)
	case ToolHeld:
		r.calls.pinned(d.Pins)
		r.people.handleHeld(d)
	case FuncResult:
		r.calls.handleFunc(&d)
	case *FuncResult:
		r.calls.handleFunc(d)
	case FuncNote:
		r.calls.handleNote(d)
	case ChildStart:
		r.budgets.handleChild(d)
	case CallUse:
		r.budgets.handleUse(d)
	case CallReserve:
		r.budgets.handleReserve(d)
	case TimerDue:
		r.handleTimer(d.ID)
	case Answer:
		r.people.handleAnswer(d)
	case Cancel:
		r.lifecycle.handleCancel(d)
	case Recovered:
		r.lifecycle.handleRecovered(d)
	case Reopen:
		r.lifecycle.handleReopen(d)
	case Continue:
	}
}

func (r *Run) handleTimer(id string) {
	if r.state.Status.Ended() {
		return
	}
	switch id {
	case timerTimeout:
		r.lifecycle.timeUp()
		return
	case timerSettle:
		r.lifecycle.settleTimeUp()
		return
	}
	if t, ok := r.state.Waits.Timer(id); ok {
		r.people.timerDue(t)
	} else if t, ok := r.state.Loop.Timer(id); ok {
		r.calls.timerDue(id, t)
	} else if step := r.state.timeoutOf(id); step > 0 {
		r.steps.expireStep(step)
	}
}
