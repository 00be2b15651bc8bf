package model_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/model"
)

// TestTransientKinds checks P12: only transient failures are retried by default.
func TestTransientKinds(t *testing.T) {
	t.Parallel()
	want := "rate_limit timeout overloaded network server"
	var got []string
	for _, k := range model.ErrorKinds() {
		if k.IsTransient() {
			got = append(got, string(k))
		}
	}
	if strings.Join(got, " ") != want {
		t.Errorf("got %v; want %s", got, want)
	}
}

func TestSourceOf(t *testing.T) {
	t.Parallel()
	for want, err := range map[int]error{
		0: errors.New("x"),
		3: fmt.Errorf("call: %w", &model.Error{Kind: model.KindServer, Source: 3}),
		4: fmt.Errorf("call: %w", &model.Interrupted{Source: 4, Err: context.Canceled}),
		5: &model.Error{Kind: model.KindServer, Err: &model.Interrupted{Source: 5, Err: context.Canceled}},
	} {
		if got := model.SourceOf(err); got != want {
			t.Errorf("%v: got %d; want %d", err, got, want)
		}
	}
	if err := fmt.Errorf("x: %w", &model.Interrupted{Err: context.Canceled}); !errors.Is(err, context.Canceled) {
		t.Error("Interrupted hides its cause")
	}
}

// TestScrub checks SEC11: no key in an error message, neither the exact key nor one of a known
// form.
func TestScrub(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"bad key canary+1/=":                                 "bad key [secret]",
		"GET /?key=canary%2B1%2F%3D failed":                  "GET /?key=[secret] failed",
		"Incorrect API key provided: sk-proj-ab***********z": "Incorrect API key provided: [secret]",
		"key AIzaSyA1234567890abcdefghij is wrong":           "key [secret] is wrong",
		"Authorization: Bearer abcdef123456":                 "Authorization: [secret]",
		"dial https://me:hunter2@host/v1":                    "dial https://me:[secret]@host/v1",
		"https://h/v1?api_key=abc&x=1":                       "https://h/v1?api_key=[secret]&x=1",
		"the task-force asked for a bearer of news":          "the task-force asked for a bearer of news",
		"plain text, 3 tokens":                               "plain text, 3 tokens",
	} {
		if got := model.Scrub(in, "canary+1/=", "to", ""); got != want {
			t.Errorf("Scrub(%q):\ngot  %q\nwant %q", in, got, want)
		}
	}
}
