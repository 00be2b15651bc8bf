package openaiapi

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/format"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// model is an entry of OpenAI's list of models.
type model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"` // Unix seconds; 0 means unknown
	OwnedBy string `json:"owned_by"`
	Name    string `json:"name,omitempty"`
}

const ownedBy = "hocket"

func modelOf(id string, e catalog.Entry) model {
	m := model{ID: id, Object: "model", OwnedBy: ownedBy, Name: e.Name}
	if !e.Updated.IsZero() {
		m.Created = e.Updated.Unix()
	}
	return m
}

// listModels writes all published workflows, and the branches of those that have some as
// `id/branch`.
func listModels(w http.ResponseWriter, r *http.Request, c *transport.Caller) error {
	entries, err := c.Service.Entries(r.Context())
	if err != nil {
		return err
	}
	list := []model{}
	for _, e := range entries {
		if e.Published == 0 && !e.HasRows {
			continue
		}
		ids, err := modelIDs(r.Context(), c.Service, e)
		if err != nil {
			return err
		}
		for _, id := range ids {
			list = append(list, modelOf(id, e))
		}
	}
	return writeJSON(w, map[string]any{"object": "list", "data": list})
}

// modelIDs returns the model names of a workflow. A workflow that cannot be loaded is listed under
// its id, and a request for it reports the reason.
func modelIDs(ctx context.Context, s *service.Service, e catalog.Entry) ([]string, error) {
	if f, _ := format.Of(e.Format); !f.Branches {
		return []string{e.ID}, nil
	}
	wf, _, problems, err := s.LoadStored(ctx, e.ID, service.Which{}, service.LoadOptions{})
	if ctx.Err() != nil {
		return nil, err
	}
	if err != nil || wf == nil || problems.HasErrors() {
		return []string{e.ID}, nil //nolint:nilerr // a request for it gets the error
	}
	var ids []string
	if len(wf.Nodes) > 0 || len(wf.Branches) == 0 {
		ids = append(ids, e.ID)
	}
	for _, b := range wf.Branches {
		ids = append(ids, e.ID+"/"+b.ID)
	}
	return ids, nil
}

// getModel writes one model.
func getModel(w http.ResponseWriter, r *http.Request, c *transport.Caller) error {
	id := r.PathValue("model")
	t, err := find(r.Context(), c.Service, id)
	if err != nil {
		return err
	}
	return writeJSON(w, modelOf(id, t.entry))
}

// target is what a model name refers to.
type target struct {
	entry    catalog.Entry
	workflow *workflow.Workflow
	version  int
	branch   string
}

// find resolves a model name: `workflow` is the published version, `workflow/branch` one of its
// branches. Versions have no names here, since a version may be a draft, which a token with only
// the role run must not see (SEC2).
//
// The error is an *apiError with the code model_not_found, whether the model does not exist, is a
// draft or belongs to others (SEC10), or with the code invalid if the workflow cannot run.
func find(ctx context.Context, s *service.Service, name string) (target, error) {
	unknown := &apiError{
		status: http.StatusNotFound, kind: typeInvalid, code: codeModelNotFound, param: "model",
		message: "The model `" + name + "` does not exist: no workflow with that name is published",
	}
	id, branch, _ := strings.Cut(name, "/")
	wf, d, problems, err := s.LoadStored(ctx, id, service.Which{}, service.LoadOptions{})
	switch {
	case errors.Is(err, catalog.ErrNotFound), err != nil && d.Entry.ID != "" && d.Entry.Published == 0 &&
		!d.Entry.HasRows:
		return target{}, unknown
	case err != nil:
		return target{}, err
	case problems.HasErrors():
		return target{}, aboutModel(&service.InvalidError{Diagnostics: problems})
	}
	if _, err := service.Choose(wf, branch); err != nil {
		if branch != "" {
			return target{}, unknown
		}
		return target{}, aboutModel(err)
	}
	return target{d.Entry, wf, d.Version, branch}, nil
}

// aboutModel returns an error about the requested model.
func aboutModel(err error) *apiError {
	e := errorOf(err)
	e.param = "model"
	return e
}
