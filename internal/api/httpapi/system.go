package httpapi

import (
	"context"
	"net/http"
	"runtime"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/service"
)

// registerSystem registers the operations that report the state of the server.
func (a *API) registerSystem() {
	add(a, route{
		Method: http.MethodGet, Path: "/system", ID: "getSystem", Tag: tagAccess, Role: access.RoleAdmin,
		Summary:     "Show the server and the processes on its store",
		Description: "The processes are the living ones that drive runs of the caller's namespace, or wait for some.",
	}, a.getSystem)
}

// System is the state of a server.
type System struct {
	Version   string                  `json:"version" doc:"Version of the server"`
	Go        string                  `json:"go" doc:"Version of Go that it was built with"`
	Platform  string                  `json:"platform" doc:"Operating system and processor"`
	Processes []service.ProcessReport `json:"processes"`
}

func (a *API) getSystem(ctx context.Context, c *transport.Caller, _ *struct{}) (*struct{ Body System }, error) {
	all, err := c.Service.Processes(ctx)
	if err != nil {
		return nil, err
	}
	return &struct{ Body System }{System{a.cfg.Version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, all}},
		nil
}
