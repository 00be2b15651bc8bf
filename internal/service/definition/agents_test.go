package definition_test

import (
	"github.com/hocket-run/hocket/internal/service/failure"

	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAgentUsers checks that published workflows and drafts of every format that name an agent
// without defining it are reported as its users.
func TestAgentUsers(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	ctx := t.Context()
	applyAgents(t, s, desk)
	applyText(t, s, "lobby.json", lobby, false)
	applyText(t, s, "rounds.json",
		`{"nodes": [{"id": "a", "type": "agent", "config": {"agentId": "desk"}}], "edges": [], "maxRounds": 1}`, true)
	applyText(t, s, "own.json", strings.Replace(strings.ReplaceAll(lobby, `"lobby"`, `"own"`), `"edges": []`,
		`"edges": [], "agents": [{"id": "desk"}]`, 1), false)
	users, err := s.AgentUsers(ctx, "desk")
	if diff := cmp.Diff([]string{"lobby", "rounds"}, users); err != nil || diff != "" {
		t.Errorf("users (-want +got): %v\n%s", err, diff)
	}
	err = s.DeleteAgent(ctx, "desk", false)
	if used, ok := errors.AsType[*failure.InUseError](err); !ok || len(used.Workflows) != 2 ||
		failure.CodeOf(err) != failure.CodeConflict {
		t.Errorf("got %v", err)
	}
	if err := s.DeleteAgent(ctx, "desk", true); err != nil {
		t.Error(err)
	}
	if rows, err := s.Agents(ctx); err != nil || len(rows) != 0 {
		t.Errorf("agents %v, %v", rows, err)
	}
}

// TestAgentsRoundTrip checks that agents apply accepts the output of agents show, byte for byte
// (P29).
func TestAgentsRoundTrip(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	applyAgents(t, s, `{"agents": [{"id": "z"}, {"id": "a", "name": "<A> & \"B\"", "description": "d", `+
		`"systemPrompt": "one\ntwo\u0000\u2028", "model": "m", "tools": ["x", "y"]}]}`)
	first, err := s.AgentsText(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	again := inMemory(t)
	applyAgents(t, again, string(first))
	second, err := again.AgentsText(t.Context(), nil)
	if diff := cmp.Diff(string(first), string(second)); err != nil || diff != "" {
		t.Errorf("(-first +second): %v\n%s", err, diff)
	}
	list, problems, err := again.CatalogAgents(t.Context(), []string{"a"})
	if err != nil || len(problems) > 0 || len(list) != 2 || list[0].System != "one\ntwo\x00\u2028" ||
		!slices.Equal(list[0].Tools, []string{"x", "y"}) {
		t.Errorf("got %+v, %v, %v", list, problems, err)
	}
}
