package service

import (
	"net/http"

	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/fetch"
)

// fetchClient gives the client of one fetch toolset (SEC8). Hosts that the operator's own file names may be private.
func (k *kits) fetchClient(spec tool.Spec) *http.Client {
	var allow []string
	if spec.Trusted {
		allow = fetch.Hosts(spec)
	}
	return k.client(allow...)
}
