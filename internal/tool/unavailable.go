package tool

import (
	"context"

	"github.com/hocket-run/hocket/internal/chat"
)

// Unavailable returns a tool that is offered and whose every call returns why it cannot be used: a
// tool that the document requests and that nothing here provides is never dropped silently (S0-55).
func Unavailable(def chat.ToolDef, why string) Tool { return unavailable{def, why} }

type unavailable struct {
	def chat.ToolDef
	why string
}

func (u unavailable) Def() chat.ToolDef { return u.def }

func (u unavailable) Policy() Policy { return PolicyRetry }

func (u unavailable) Call(context.Context, Call) (Result, error) {
	return Result{}, Errorf(KindUnsupported, u.def.Name, "tool %q is not available: %s", u.def.Name, u.why)
}
