package engine

// count adds n times a call to the counters that follow from Calls.
func (r *Run) count(c *call, n int) {
	r.step(c.Step).calls += n
	switch c.State {
	case callOpen:
		st := r.step(c.Step)
		if st.open == 0 {
			r.busy++
		}
		if st.open += n; st.open == 0 {
			r.busy--
		}
		r.open += n
	case callCancelled:
		r.late += n
	case callDue:
		r.due += n
	}
}

// setCall moves a call on.
func (r *Run) setCall(c *call, s callState) {
	r.count(c, -1)
	c.State = s
	r.count(c, 1)
}

// forget takes a call out. It stays as it is until another one begins.
func (r *Run) forget(key string, c *call) {
	r.count(c, -1)
	r.closeAccount(key, c)
	delete(r.s.Calls, key)
	if c.Kind == callFunc {
		r.spare = append(r.spare, c)
	}
}

// dropCalls marks calls that are out as cancelled and forgets those that wait for nothing outside.
func (r *Run) dropCalls(match func(*call) bool) {
	for key, c := range r.s.Calls {
		switch {
		case !match(c) || c.State == callCancelled:
		case c.State == callOpen:
			r.setCall(c, callCancelled)
			c.Args = nil
			r.s.SettleAt = r.s.At.Add(SettleTime)
		default:
			r.forget(key, c)
			delete(r.s.Timers, callTimer(key))
		}
	}
}

// beginCall opens a call, or a further attempt of one.
func (r *Run) beginCall(ev *Event, key string, c call) *call {
	st := r.step(ev.Step)
	if r.s.Calls == nil {
		r.s.Calls = map[string]*call{}
	}
	if st.Due {
		st.Due = false
		r.due--
	}
	c.Step, c.Seq = ev.Step, ev.Seq
	if old := r.s.Calls[key]; old != nil {
		r.count(old, -1)
		c.Last, c.Approved, c.Unknown, c.Kept = old.Last, old.Approved, old.Unknown, old.Kept
	} else {
		st.Calls++
	}
	if st.Agent == nil {
		st.Tries = c.Attempt
	}
	p := r.newCall(c)
	r.s.Calls[key] = p
	r.count(p, 1)
	return p
}

// newCall gives a place to a call, of a function that has returned where there is one.
func (r *Run) newCall(c call) *call {
	n := len(r.spare)
	if n == 0 {
		return r.mem.calls.put(c)
	}
	p := r.spare[n-1]
	r.spare = r.spare[:n-1]
	*p = c
	return p
}

// endCall takes out a call that has its result.
func (r *Run) endCall(key string) *call {
	c := r.s.Calls[key]
	r.forget(key, c)
	return c
}

// failCall keeps a failed call, for which is decided next whether it is made again. One that was cancelled is taken out.
func (r *Run) failCall(key string, late bool) {
	c := r.s.Calls[key]
	switch {
	case late:
		r.forget(key, c)
		return
	case c.Kind == callModel:
		r.s.Ledger.Release(key)
	default:
		r.s.Ledger.CloseSessions(world{r}, key)
	}
	r.setCall(c, callFailed)
}
