package engine

// unborn tells whether the child may never have been stored: nothing is kept for it any more, and it has used nothing of what was.
func (c *child) unborn() bool {
	return c.Ended && c.Used == spending{} && c.Part != spending{}
}

// keptBy is what the children of one call may still use.
func (r *Run) keptBy(call string) (all spending) {
	for _, c := range r.s.Children {
		if c.Call == call {
			all = all.plus(c.kept())
		}
	}
	return all
}

// keptIdle is what the children of a call that is to be made again hold, and those of others that are to be made again, with the calls kept for these: nobody frees it before.
// Nothing where the call has no such children: then it waits for those that have.
func (r *Run) keptIdle(key string) spending {
	all := r.keptBy(key)
	if all == (spending{}) {
		return all
	}
	for other, c := range r.s.Calls {
		if _, sleeps := r.s.Timers[callTimer(other)]; other != key && !sleeps && (c.State == callDue || c.State == callFailed) {
			all = all.plus(r.keptBy(other)).plus(r.keptCall(other, c))
		}
	}
	return all
}

// keptCall is the call that is kept for one that a person is asked about, or has just approved of, while its children hold what they may use: it counts again once it is made.
func (r *Run) keptCall(key string, c *call) (kept spending) {
	if c != nil && c.Kind == callTool && (c.State == callAsking || c.State == callDue && c.Approved != "") && r.keptBy(key) != kept {
		kept.Calls = 1
	}
	return kept
}

// reservations sums what model calls and child runs that are out may still use, and the calls that are kept for held ones.
func (r *Run) reservations(p *purse, match func(step int) bool) {
	for key, c := range r.s.Calls {
		if c.Kind == callModel && c.Reserved != nil && (c.State == callOpen || c.State == callCancelled) && match(c.Step) {
			p.reserved = p.reserved.plus(r.most(c.Model, c.Reserved))
		} else if match(c.Step) {
			p.reserved = p.reserved.plus(r.keptCall(key, c))
		}
	}
	for _, c := range r.s.Children {
		if !c.Ended && match(c.Step) {
			p.reserved = p.reserved.plus(c.kept())
		}
	}
	for _, v := range r.s.Reservations {
		if match(v.Step) {
			p.reserved = p.reserved.plus(v.Part)
		}
	}
}

// maySlot tells whether a call that was out before may be out again: it needs no slot where others that have one may wait for what its children hold.
func (r *Run) maySlot(key string, c *call) bool {
	return r.step(c.Step).open > 0 || r.slot() || r.keptBy(key) != spending{}
}

// rivals counts the other calls that may start runs too and for which nothing is kept yet.
func (r *Run) rivals(key string) int {
	has := map[string]bool{key: true}
	for _, ch := range r.s.Children {
		if !ch.Ended {
			has[ch.Call] = true
		}
	}
	n := 0
	for other, c := range r.s.Calls {
		if c.Kind != callModel && c.State == callOpen && !has[other] {
			n++
		}
	}
	return n
}
