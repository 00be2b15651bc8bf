package run

import (
	"bytes"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/form"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/workflow"
)

// inputPlace is the name of a run's input in diagnostics.
const inputPlace = "input"

// input sets the input of a run: a string, or the object of the workflow's inputs. It
// returns the environment variables that the input reads.
//
// It returns an *InvalidError with a diagnostic for each input that does not match.
func (s *Runner) input(graph *workflow.Workflow, q StartRequest, spec *driver.Spec) (sends []string, err error) {
	if err := s.inputFits(len(q.Input) + len(q.Inputs)); err != nil {
		return nil, err
	}
	if len(graph.Inputs) == 0 {
		if inputs := string(bytes.TrimSpace(q.Inputs)); inputs != "" && inputs != "{}" && inputs != "null" {
			return nil, failure.Refuse(errcode.InputsNotDeclared, nil, nil)
		}
		text, sends, err := s.definitions.Input(graph, q.Input)
		if err != nil {
			return nil, err
		}
		spec.Input = expr.Quote(text)
		return sends, nil
	}
	object, problems := form.Read(graph.Inputs, q.Input, q.Inputs)
	if problems.HasErrors() {
		for i := range problems {
			problems[i].Span.File = inputPlace
		}
		return nil, &failure.InvalidError{Diagnostics: problems, Err: errcode.New(errcode.InvalidInputs, nil, nil)}
	}
	spec.Input = object
	return nil, s.inputFits(len(object)) // including defaults
}

func (s *Runner) inputFits(size int) error {
	if most := s.cfg.MaxInput; most > 0 && int64(size) > most {
		return failure.Refuse(errcode.InputTooLarge, errcode.Fields{"size": size, "max": most}, nil)
	}
	return nil
}
