package server

import (
	"context"
	"sync"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
)

// alone is a server with the one namespace default.
type alone struct {
	service *service.Service
	cancel  context.CancelFunc
	tended  sync.WaitGroup
}

func openAlone(ctx context.Context, cfg service.Config, tend func(context.Context, string, *service.Service)) (*alone, error) {
	s, err := service.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	a := &alone{service: s, cancel: cancel}
	a.tended.Go(func() { tend(ctx, access.DefaultNamespace, s) })
	return a, nil
}

// Names implements Namespaces.
func (a *alone) Names(context.Context) ([]string, error) {
	return []string{access.DefaultNamespace}, nil
}

// Service implements Namespaces.
func (a *alone) Service(_ context.Context, namespace string) (*service.Service, error) {
	if namespace != access.DefaultNamespace {
		return nil, journal.ErrNotFound
	}
	return a.service, nil
}

// Close implements Namespaces.
func (a *alone) Close() error {
	a.cancel()
	a.tended.Wait()
	return a.service.Close()
}
