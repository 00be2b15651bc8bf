package held

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/workflow"
)

// Prepared is a run that is ready to start.
type Prepared struct {
	Run        string
	Plan       Compiled
	Definition journal.Blob
	Files      []journal.Blob
	New        journal.NewRun
	Start      engine.Start
}

// Prepare builds the stored form of a new run. find is as in Compile.
func (p *Plans) Prepare(spec *driver.Spec, kind journal.Kind, now func() time.Time,
	find func(*workflow.Workflow) (driver.Program, error)) (r Prepared, err error) {
	if spec.Workflow == nil {
		return r, errors.New("start run: no workflow")
	}
	if spec.Input != nil && !json.Valid(spec.Input) {
		return r, errors.New("start run: the input is not JSON")
	}
	if r.Definition, err = p.Definition(spec.Workflow); err != nil {
		return r, fmt.Errorf("start run: %w", err)
	}
	if r.Plan, err = p.Compile(r.Definition.Hash, spec.Workflow, spec.Program, find); err != nil {
		return r, err
	}
	if err := spec.Labels.Check(); err != nil {
		return r, fmt.Errorf("start run: %w", err)
	}
	if driver.HasOwnMeta(spec.Meta) {
		// otherwise a client could name any file
		return r, fmt.Errorf("start run: meta keys that begin with %s are reserved", driver.MetaOwn)
	}
	r.Run = cmp.Or(spec.Run, driver.NewRunID(now()))
	w := r.Plan.Plan.Workflow()
	id, name := spec.WorkflowID, spec.WorkflowName
	if id == "" && name == "" {
		id, name = w.ID, w.Name
	}
	var meta map[string]string
	r.Files, meta = spec.Kept()
	r.New = journal.NewRun{
		Workflow: cmp.Or(id, name), WorkflowName: name, Format: w.Format, Parent: spec.ParentRun, Session: spec.Session,
		Place: spec.Place, Kind: kind,
		Definition: r.Definition.Hash, Created: now(), Meta: meta,
		Branch: spec.Meta[driver.MetaBranch], Trigger: spec.Trigger, Labels: spec.Labels,
		Preview: journal.Preview(spec.Input),
	}
	r.Start = engine.Start{Queued: spec.Queued, Created: event.RunCreated{
		Workflow: id, Name: name, Format: w.Format, Input: spec.Input, Limits: spec.Limits, Prices: spec.Prices,
		ParentRun: spec.ParentRun, ForkedFrom: spec.ForkedFrom, Meta: spec.Meta, Facts: spec.Facts,
		Remind: workflow.Duration(spec.Remind),
		Above:  spec.Above, Trigger: spec.Trigger, Labels: spec.Labels,
	}}
	return r, nil
}

// NewInfo is Info for a run without a history. files are driver.Spec.Files.
func (r *Prepared) NewInfo(files map[string][]byte) driver.Info {
	info := Info(r.Run, r.Plan.Plan.Workflow(), r.New, newFiles(r.Run, files))
	info.History = noHistory
	return info
}
