package tool

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/permit"
)

// Resource is one thing that a call would reach, in all its spellings. Permissions are compared
// with it in addition to the arguments as written.
type Resource = permit.Resource

// Resolver is implemented by tools whose arguments can name one thing in several ways, such as
// paths and addresses.
type Resolver interface {
	// Resources returns what a call would reach, with at least one Resource for each argument that
	// holds a path or an address. It changes nothing and uses no network. An argument that names
	// nothing reachable is returned as a Resource without Names; the call itself reports why.
	// Resources returns the error of a closed toolset or of ctx.
	Resources(ctx context.Context, c Call) ([]Resource, error)
}

// Scope is what the permissions let one call reach. A nil Scope means everything. It is safe for
// concurrent use.
type Scope struct {
	decided []Resource
	hides   func(Resource) bool
}

// ErrMoved is returned when what an argument names changed between the decision about a call and
// the call.
var ErrMoved = errors.New("the target of the call changed after the call was checked; nothing was done")

// Check returns nil if r is among the resources that were decided on, and ErrMoved otherwise.
func (s *Scope) Check(r Resource) error {
	if s == nil || slices.ContainsFunc(s.decided, func(d Resource) bool { return reflect.DeepEqual(d, r) }) {
		return nil
	}
	return ErrMoved
}

// Hides reports whether a rule that denies or asks hides r from a call that encounters it without
// naming it: a file in a folder that is searched, or an address that another one redirects to.
func (s *Scope) Hides(r Resource) bool { return s != nil && s.hides(r) }

// within returns what a call would reach, and the call with its scope; both are nil if no rule
// applies.
func (s *Set) within(ctx context.Context, b *binding, t Tool, c Call) (Call, []Resource, error) {
	rules := s.policyFor(c)
	if c.Scope = nil; rules.IsZero() {
		return c, nil, nil
	}
	var resources []Resource
	if r, ok := t.(Resolver); ok {
		own := c
		own.Name = b.own
		var err error
		if resources, err = r.Resources(ctx, own); err != nil {
			return c, nil, err
		}
	}
	pc := b.permitCall(c, resources)
	c.Scope = &Scope{decided: resources, hides: func(r Resource) bool { return rules.Hides(pc, r) }}
	return c, resources, nil
}

// permitCall converts a call into the form that permissions use.
func (b *binding) permitCall(c Call, resources []Resource) permit.Call {
	return permit.Call{Own: b.own, Offered: b.offered, Toolset: b.toolset(), Type: b.kind(), Arguments: c.Arguments,
		Resources: resources}
}

// policyFor returns the rules that apply to a call: those of its agent, and those that it inherits
// from the agents as whose sub-agent it works.
func (s *Set) policyFor(c Call) permit.Policy {
	rules, ok := s.rules[c.Agent]
	if !ok {
		rules = s.defaultRules
	}
	for _, above := range c.Within {
		rules = rules.And(s.inherited[above])
	}
	return rules
}

// decide returns the permission decision for a call that reaches resources.
func (s *Set) decide(b *binding, c Call, resources []Resource) permit.Decision {
	d, _ := s.policyFor(c).Decide(b.permitCall(c, resources))
	return d
}

// atLeast returns the permission decision for a call regardless of what it reaches: the actual
// decision is this one or a stricter one.
func (s *Set) atLeast(b *binding, c Call) permit.Decision {
	pc := b.permitCall(c, nil)
	_, pc.Unresolved = b.entry.tool.(Resolver)
	d, _ := s.policyFor(c).Decide(pc)
	return d
}

// leadsTo describes, for a person, what part of resources the arguments do not show; "" means
// nothing.
func leadsTo(args json.RawMessage, resources []Resource) string {
	var lines []string
	for _, r := range resources {
		if r.Guess {
			continue
		}
		for _, names := range r.Names {
			shown := slices.ContainsFunc(names, func(n string) bool {
				quoted, err := json.Marshal(n)
				return err == nil && strings.Contains(string(args), string(quoted))
			})
			if line := "It reaches " + shownName(names) + " by " + r.Argument + "."; !shown && len(names) > 0 &&
				!slices.Contains(lines, line) && names[0] != "." {
				lines = append(lines, line)
			}
		}
	}
	return strings.Join(lines, "\n")
}

func shownName(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return strconv.Quote(names[0])
}
