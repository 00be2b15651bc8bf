package service

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/model/script"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

// Names of the files that are kept with a run (D19).
const (
	fileTools   = "tools"
	fileReplies = "replies"
)

// metaTrusted holds the hash of the commands that were allowed for a run.
const metaTrusted = "trusted"

// StartRequest says what to run.
type StartRequest struct {
	Workflow *workflow.Workflow
	Input    string
	// RunID must be new; "" makes one.
	RunID string
	// Model overrides every agent's model.
	Model string
	// ToolsFile and RepliesFile name files with extra tools and with a reply script; Tools and Replies are their content.
	ToolsFile, RepliesFile string
	Tools, Replies         []byte
	// Record names a file to which the model calls of the run are written as a reply script; "" writes none.
	Record string
	Limits workflow.Limits
	// Trust allows the commands that the document names (SEC5).
	Trust bool
}

// NewRunID makes an id that no run has; ids sort by the time at which they were made.
func NewRunID() string { return driver.NewRunID(time.Now()) }

// Start checks what can be known before the first call and begins the run. It returns once the run is stored.
//
// Errors: *InvalidError, *CommandsError, *model.RefError with nothing stored (D25); journal.ErrExists.
func (s *Service) Start(ctx context.Context, q StartRequest) (run string, err error) {
	spec := driver.Spec{
		Run: q.RunID, Workflow: q.Workflow, Input: expr.Quote(q.Input), Limits: q.Limits, Model: q.Model,
		Meta: map[string]string{}, Files: map[string][]byte{},
	}
	if strings.ContainsAny(q.RunID, " \t\r\n/\\") {
		return "", invalidf("run id %q: blanks and slashes are not allowed", q.RunID)
	}
	if q.ToolsFile != "" {
		_, problems := tool.ParseToolsFile(q.ToolsFile, q.Tools)
		if problems.HasErrors() {
			return "", &InvalidError{Diagnostics: problems}
		}
		spec.Files[fileTools] = q.Tools
	}
	if q.RepliesFile != "" {
		if _, problems := script.Parse(q.RepliesFile, q.Replies); problems.HasErrors() {
			return "", &InvalidError{Diagnostics: problems}
		}
		spec.Files[fileReplies] = q.Replies
	}
	specs, problems := documentSpecs(q.Workflow)
	if problems.HasErrors() {
		return "", &InvalidError{Diagnostics: problems}
	}
	if commands := tool.Commands(specs); len(commands) > 0 {
		if !q.Trust {
			return "", &CommandsError{Commands: commands}
		}
		spec.Meta[metaTrusted] = tool.TrustHash(specs)
	}
	if q.RepliesFile == "" {
		if err := s.kits.checkModels(q.Workflow, q.Model, q.Trust); err != nil {
			return "", err
		}
	}
	if q.Record != "" {
		if s.kits.recorder, err = newRecorder(q.Record); err != nil {
			return "", err
		}
	}
	return s.driver.Start(ctx, spec)
}

// documentSpecs gives the toolsets that the agents of a workflow list.
func documentSpecs(w *workflow.Workflow) ([]tool.Spec, diag.List) {
	var (
		specs    []tool.Spec
		problems diag.List
	)
	for i := range w.Agents {
		a := &w.Agents[i]
		for _, raw := range a.Toolsets {
			var sp tool.Spec
			if err := json.Unmarshal(raw, &sp); err != nil {
				problems.Errorf(w.Source.Agent(a.ID), "agents."+a.ID+".toolsets", "bad-toolset", "agent %q: toolset: %v", a.ID, err)
				continue
			}
			specs = append(specs, sp)
		}
	}
	for _, f := range w.Flows {
		more, ds := documentSpecs(f)
		specs = append(specs, more...)
		problems = append(problems, ds...)
	}
	return specs, problems
}
