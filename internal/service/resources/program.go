package resources

import "github.com/hocket-run/hocket/internal/driver"

// MetaProgram holds the name of the program that started a run by embedding Hocket (D29).
const MetaProgram = driver.MetaProgram

// openProgram adds to a run of a Go graph its functions, which only the program that contains them
// can provide (D29).
func (op *Opener) openProgram(info driver.Info, kit *driver.RunResources) error {
	if info.Program == nil {
		return &driver.ForeignError{Run: info.Run, Graph: info.Workflow.Name, Program: info.Meta[MetaProgram]}
	}
	kit.Program = info.Program
	if op.cfg.Functions != nil {
		kit.Program = op.cfg.Functions(info)
	}
	return nil
}
