package hooks

import (
	"context"
	"time"
)

// LinkForTest makes a link for a wait.
func (h *Hooks) LinkForTest(ctx context.Context, namespace, run, wait, whose string, from time.Time) (string, error) {
	sp, err := h.space(ctx, namespace)
	if err != nil {
		return "", err
	}
	w, _, err := readWait(ctx, sp.service, run, wait)
	if err != nil {
		return "", err
	}
	return h.link(sp, run, w, whose, from), nil
}

// StoreForTest gives the store of a namespace; nil where there is none.
func (h *Hooks) StoreForTest(ctx context.Context, namespace string) Store {
	sp, err := h.space(ctx, namespace)
	if err != nil {
		return nil
	}
	return sp.store
}
