package engine

// sound tells whether all numbers of a stored state lead somewhere. Snapshots come from disk: one that is not sound is not used, and the journal is folded.
func (s *state) sound(p *Plan) bool {
	if s.Created == nil {
		return len(s.Flows) == 0 && len(s.Scopes) == 0 && s.Steps.len() == 0 && len(s.Ready)+len(s.Held)+len(s.Running)+len(s.Calls)+len(s.Timers)+len(s.Waits) == 0
	}
	flows := s.plans(p)
	if flows == nil || len(s.Scopes) == 0 {
		return false
	}
	return s.soundScopes(flows) && s.soundSteps(flows) && s.soundQueues(flows) && s.soundCalls()
}

func (s *state) isStep(id int) bool { return id >= 1 && id <= s.Steps.len() }

// orNone takes 0 for the run's input.
func (s *state) orNone(id int) bool { return id == 0 || s.isStep(id) }

// stands tells whether a scope has a node of that number.
func (s *state) stands(flows []*flow, scope, node int) bool {
	return scope >= 0 && scope < len(s.Scopes) && node >= 0 && node < len(flows[s.Scopes[scope].Flow].nodes)
}

func (s *state) soundScopes(flows []*flow) bool {
	for i := range s.Scopes {
		sc := &s.Scopes[i]
		if sc.Flow < 0 || sc.Flow >= len(flows) || !s.orNone(sc.Owner) || (i > 0) != (sc.Owner > 0) || !s.orNone(sc.Arrived) || !s.orNone(sc.Last) || sc.Branch < 0 {
			return false
		}
		for _, list := range [2][]entry{sc.Base, sc.Entries} {
			for _, e := range list {
				if e.Node < 0 || e.Node >= len(flows[sc.Flow].nodes) || !s.isStep(e.Step) {
					return false
				}
			}
		}
	}
	return true
}

func (s *state) soundSteps(flows []*flow) bool {
	for i := range s.Steps.len() {
		if st := s.Steps.at(i); !s.stands(flows, st.Scope, st.Node) || !s.orNone(st.From) || st.Approval < 0 || st.Approval > len(s.Waits) || !s.soundStep(st, flows) {
			return false
		}
	}
	for i := range s.Scopes {
		if sc := &s.Scopes[i]; sc.Branch > 0 {
			owner := s.Steps.at(sc.Owner - 1)
			if f := flows[s.Scopes[owner.Scope].Flow].nodes[owner.Node].Fork; f == nil || sc.Branch > len(f.Branches) {
				return false
			}
		}
	}
	return true
}

func (s *state) soundQueues(flows []*flow) bool {
	for _, list := range [2][]token{s.Ready, s.Held} {
		for _, t := range list {
			if !s.stands(flows, t.Scope, t.Node) || !s.orNone(t.From) {
				return false
			}
		}
	}
	for _, id := range s.Running {
		if !s.isStep(id) {
			return false
		}
	}
	return true
}

func (s *state) soundCalls() bool {
	for _, t := range s.Timers {
		if !s.isStep(t.Step) {
			return false
		}
	}
	for i := range s.Waits {
		if !s.isStep(s.Waits[i].Step) {
			return false
		}
	}
	for _, c := range s.Children {
		if c == nil || !s.isStep(c.Step) {
			return false
		}
	}
	for _, v := range s.Reservations {
		if v == nil || !s.isStep(v.Step) {
			return false
		}
	}
	for _, c := range s.Calls {
		if c == nil || !s.isStep(c.Step) {
			return false
		}
		if c.State == callCancelled || c.Kind != callModel && c.ToolID == "" {
			continue
		}
		a := s.Steps.at(c.Step - 1).Agent
		if a == nil || c.Frame < 0 || c.Frame >= len(a.Frames) || c.Kind == callModel && (c.Length < 0 || c.Length > len(s.Convs[a.Frames[c.Frame].Conv])) {
			return false
		}
	}
	return true
}

// plans gives the compiled workflows beside Flows, nil where there is one that cannot be.
func (s *state) plans(p *Plan) []*flow {
	var flows []*flow
	for i, fr := range s.Flows {
		if i == 0 {
			flows = append(flows, p.root)
			continue
		}
		if fr.Step < 1 || fr.Step > s.Steps.len() {
			return nil
		}
		st := s.Steps.at(fr.Step - 1)
		if st.Scope < 0 || st.Scope >= len(s.Scopes) {
			return nil
		}
		at := s.Scopes[st.Scope].Flow // begun before what runs inside of it
		if at < 0 || at >= i || fr.Like < 0 || fr.Like >= i || st.Node < 0 || st.Node >= len(flows[at].nodes) || flows[at].nodes[st.Node].Subflow == nil {
			return nil
		}
		flows = append(flows, flows[at].flows[flows[at].nodes[st.Node].Subflow.Flow])
		if fr.Like > 0 && (s.Flows[fr.Like].Like > 0 || flows[fr.Like] != flows[i]) {
			return nil
		}
	}
	return flows
}

func (s *state) soundStep(st *step, flows []*flow) bool {
	n := &flows[s.Scopes[st.Scope].Flow].nodes[st.Node]
	if n.Subflow != nil && (st.Block == nil || len(st.Block.Scopes) != 1 || st.Flow < 1 || st.Flow >= len(flows)) {
		return false
	}
	if !soundNotes(st, n) {
		return false
	}
	if st.Block != nil {
		for _, id := range st.Block.Scopes {
			if id < 1 || id >= len(s.Scopes) {
				return false
			}
		}
	}
	if st.By != "" && flows[s.Scopes[st.Scope].Flow].agents[st.By] == nil {
		return false
	}
	if st.Agent == nil {
		return true
	}
	if st.Agent.Root < 0 || st.Agent.Root >= len(st.Agent.Frames) {
		return false
	}
	for i := range st.Agent.Frames {
		fr := &st.Agent.Frames[i]
		if fr.Parent < -1 || fr.Parent >= i || flows[s.Scopes[st.Scope].Flow].agents[fr.Agent] == nil {
			return false
		}
	}
	return true
}
