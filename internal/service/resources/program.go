package resources

import (
	"context"

	"github.com/hocket-run/hocket/internal/driver"
)

// MetaProgram holds the name of the program that started a run by embedding Hocket (D29).
const MetaProgram = "program"

// Offerer is a program whose functions are called within a context that holds what it offers them: driver.RunResources.Within.
type Offerer interface {
	Within(ctx context.Context) context.Context
}

// openProgram gives a run of a Go graph its functions, which the program that has them alone can do (D29).
func (op *Opener) openProgram(info driver.Info, kit *driver.RunResources) error {
	if info.Program == nil {
		return &driver.ForeignError{Run: info.Run, Graph: info.Workflow.Name, Program: info.Meta[MetaProgram]}
	}
	kit.Program = info.Program
	if op.cfg.Functions != nil {
		kit.Program, kit.Idles = op.cfg.Functions(info), op.cfg.Spawns
		if p, ok := kit.Program.(Offerer); ok {
			kit.Within = p.Within
		}
	}
	return nil
}
