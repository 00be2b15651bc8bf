package acp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/coder/acp-go-sdk"
)

// offers are the available settings of a session. Newer agents report them as options, older ones
// as models and modes.
type offers struct {
	options []sdk.SessionConfigOption
	models  *sdk.SessionModelState
	modes   *sdk.SessionModeState
}

// choose sets model and mode, if they are not "". A value that the agent does not offer results in
// an error that lists the values it does.
func (s *session) choose(ctx context.Context, o offers, model, mode string) error {
	if model != "" {
		if err := s.set(ctx, o, sdk.SessionConfigOptionCategoryModel, model, s.modelByMethod(o)); err != nil {
			return fmt.Errorf("model of the agent: %w", err)
		}
	}
	if mode != "" {
		if err := s.set(ctx, o, sdk.SessionConfigOptionCategoryMode, mode, s.modeByMethod(o)); err != nil {
			return fmt.Errorf("mode of the agent: %w", err)
		}
	}
	return nil
}

// method is the older way to change a setting: its allowed values and the function that sets it.
type method struct {
	values []string
	set    func(ctx context.Context, value string) error
}

func (s *session) set(ctx context.Context, o offers, category sdk.SessionConfigOptionCategory, value string,
	old method) error {
	for _, option := range o.options {
		if option.Select == nil || option.Select.Category == nil || *option.Select.Category != category {
			continue
		}
		values := selectable(option.Select.Options)
		if err := offered(values, value); err != nil {
			return err
		}
		_, err := do(ctx, s.conn, func(ctx context.Context) (sdk.SetSessionConfigOptionResponse, error) {
			return s.conn.rpc.SetSessionConfigOption(ctx, sdk.SetSessionConfigOptionRequest{
				ValueId: &sdk.SetSessionConfigOptionValueId{
					SessionId: s.id, ConfigId: option.Select.Id, Value: sdk.SessionConfigValueId(value),
				}})
		})
		return err
	}
	if err := offered(old.values, value); err != nil {
		return err
	}
	return old.set(ctx, value)
}

func offered(values []string, value string) error {
	switch {
	case slices.Contains(values, value):
		return nil
	case len(values) == 0:
		return fmt.Errorf("%q cannot be set: the agent offers no choice; its own config or command line may", value)
	}
	return fmt.Errorf("the agent does not offer %q; it offers %s", value, strings.Join(values, ", "))
}

func selectable(o sdk.SessionConfigSelectOptions) []string {
	var list []string
	if o.Ungrouped != nil {
		for _, v := range *o.Ungrouped {
			list = append(list, string(v.Value))
		}
	}
	if o.Grouped != nil {
		for _, g := range *o.Grouped {
			for _, v := range g.Options {
				list = append(list, string(v.Value))
			}
		}
	}
	return list
}

func (s *session) modelByMethod(o offers) method {
	m := method{set: func(ctx context.Context, value string) error {
		_, err := do(ctx, s.conn, func(ctx context.Context) (sdk.UnstableSetSessionModelResponse, error) {
			return s.conn.rpc.UnstableSetSessionModel(ctx, sdk.UnstableSetSessionModelRequest{SessionId: s.id,
				ModelId: sdk.UnstableModelId(value)})
		})
		return err
	}}
	if o.models != nil {
		for _, a := range o.models.AvailableModels {
			m.values = append(m.values, string(a.ModelId))
		}
	}
	return m
}

func (s *session) modeByMethod(o offers) method {
	m := method{set: func(ctx context.Context, value string) error {
		_, err := do(ctx, s.conn, func(ctx context.Context) (sdk.SetSessionModeResponse, error) {
			return s.conn.rpc.SetSessionMode(ctx,
				sdk.SetSessionModeRequest{SessionId: s.id, ModeId: sdk.SessionModeId(value)})
		})
		return err
	}}
	if o.modes != nil {
		for _, a := range o.modes.AvailableModes {
			m.values = append(m.values, string(a.Id))
		}
	}
	return m
}
