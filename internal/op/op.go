package op

import (
	"context"
	"reflect"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/service"
)

// Prefix is the path prefix of all operations of the HTTP API.
const Prefix = "/api/v1"

// Effect classifies what an operation does, for clients that ask people before they call it.
type Effect int

// The effects.
const (
	Reads   Effect = iota // changes nothing
	Adds                  // adds something new
	Changes               // replaces something; repeating the call changes nothing more
	Removes               // removes something irrecoverably
	Acts                  // makes agents work; their tools may have effects outside
)

// Operation is an entry of the table, apart from its types.
type Operation struct {
	// ID is the operationId of the HTTP API.
	ID string
	// Role is the role that the caller must have (SEC2).
	Role access.Role
	// Effect is what the operation does.
	Effect Effect
	// Action is the name of the operation in the audit log; "" if it changes nothing.
	Action string
	// HTTP describes the route of the operation.
	HTTP HTTP
	// Tool describes the tool of the operation; a Tool without a name means that there is none.
	Tool Tool

	in, out reflect.Type
	call    func(ctx context.Context, c *Caller, in any) (any, error)
}

// HTTP describes a route of the HTTP API.
type HTTP struct {
	// Method and Path are the mux pattern; Path is relative to Prefix.
	Method, Path string
	// Summary is one line, About holds the details in Markdown, and Tag groups operations.
	Summary, About, Tag string
	// Status is the status on success; 0 means 200, or 204 without a result.
	Status int
	// Also lists further success statuses, and Errors those of problems that not every operation
	// has.
	Also, Errors []int
	// Bounded means that a store which does not respond is waited for only a while. The caller may
	// then repeat the request, whether or not it took effect.
	Bounded bool
}

// Tool describes a tool of the MCP server.
type Tool struct {
	Name, Title, About string
	// Args are the arguments in the order of the schema. Results are the fields of the result in the
	// same way; nil if the result is a Run.
	Args, Results []Text
	// Next returns what a model should do after a result; nil means that the result has no such
	// text.
	Next func(out any) string
	// Stop is how long the tool waits for a run that the operation stops; 0 means that it does not
	// stop a run.
	Stop time.Duration
}

// Text describes an argument of a tool or a field of its result.
type Text struct {
	Name, About string
	// Of is the name that the field of the input or result has elsewhere; "" means Name.
	Of string
	// Alias is another name of the argument (S1-40), which is then required under either; "" means
	// none.
	Alias string
}

// Op is an entry of the table with the types of its input and of its result.
type Op[In, Out any] struct {
	Operation
	do     func(ctx context.Context, c *Caller, in *In) (Out, error)
	target func(in *In, out *Out) string
}

// New returns an entry. target returns the object of the action in the audit log; before the
// operation is carried out, it is called with a zero result. It is nil if o has no Action.
func New[In, Out any](o Operation, do func(context.Context, *Caller, *In) (Out, error),
	target func(*In, *Out) string) *Op[In, Out] {
	p := &Op[In, Out]{Operation: o, do: do, target: target}
	p.in, p.out = reflect.TypeFor[In](), reflect.TypeFor[Out]()
	p.call = func(ctx context.Context, c *Caller, in any) (any, error) {
		out, err := p.do(ctx, c, in.(*In))
		if err == nil && p.Action != "" && c.Record != nil {
			c.Record(p.Action, p.target(in.(*In), &out))
		}
		return out, err
	}
	return p
}

// Do carries out the operation. The error is transport.ErrUnauthorized or a
// *transport.ForbiddenError if the caller lacks the role, a *FieldError if the input is invalid, or
// one of the function of the operation.
func (p *Op[In, Out]) Do(ctx context.Context, c *Caller, in *In) (Out, error) {
	out, err := p.Call(ctx, c, in)
	result, _ := out.(Out)
	return result, err
}

// Target returns the object of the action for a record in the audit log that is written before the
// operation is carried out.
func (p *Op[In, Out]) Target(in *In) string { return p.target(in, new(Out)) }

// Call is Op.Do for transports that do not know the types: in is a pointer to an input, as Decode
// returns it.
func (o *Operation) Call(ctx context.Context, c *Caller, in any) (any, error) {
	if err := c.Require(o.Role); err != nil {
		return nil, err
	}
	return o.call(ctx, c, in)
}

// ReturnsRun reports whether the result of the operation is a Run.
func (o *Operation) ReturnsRun() bool { return o.out == reflect.TypeFor[Run]() }

// Caller is who calls an operation, and through which transport.
type Caller struct {
	*transport.Caller
	// Channel is recorded with what the operation does to a run.
	Channel service.Channel
	// Record stores an action in the audit log, after it was done; nil means that it is not stored.
	Record func(action, target string)
}

// Local returns the caller for a person who uses a store on this machine, who may do everything.
func Local(s *service.Service, record func(action, target string)) *Caller {
	who := access.Principal{Name: event.LocalActor, Namespace: access.DefaultNamespace, Role: access.RoleAdmin,
		Approve: true}
	return &Caller{&transport.Caller{Principal: who, Service: s}, event.ChannelCLI, record}
}

// By returns the caller as recorded with what the operation does to a run.
func (c *Caller) By() service.Actor { return c.Actor(c.Channel) }

// All returns all entries.
func All() []*Operation {
	return []*Operation{&CancelRun.Operation, &SignalRun.Operation, &RetryRun.Operation, &ForkRun.Operation}
}
