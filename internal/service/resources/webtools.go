package resources

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/outbound"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/api"
	"github.com/hocket-run/hocket/internal/tool/fetch"
	"github.com/hocket-run/hocket/internal/tool/search"
	"github.com/hocket-run/hocket/workflow"
)

// webOptions are those options of HTTP toolsets that name addresses and the data sent to them.
type webOptions struct {
	API struct {
		Endpoint string            `json:"endpoint"`
		Headers  map[string]string `json:"headers"`
	} `json:"api_config"`
	URL     string            `json:"url"`
	Server  string            `json:"server"`
	Headers map[string]string `json:"headers"`
	Auth    json.RawMessage   `json:"auth"`
	APIKey  string            `json:"api_key"`
	BaseURL string            `json:"base_url"`
	// Provider is the provider of a web search.
	Provider string `json:"provider"`
}

// webOptionsOf returns the options as far as they can be parsed: opening the toolset reports the
// errors, and what a person is asked about remains complete.
func webOptionsOf(spec tool.Spec) (o webOptions) {
	_ = json.Unmarshal(spec.Options, &o)
	return o
}

// fetchClient returns the client of one fetch toolset (SEC8). Hosts in the operator's own file may
// be private.
func (op *Opener) fetchClient(spec tool.Spec) *http.Client {
	var allow []string
	if spec.Trusted {
		allow = fetch.Hosts(spec)
	}
	// Pages belong to third parties, which receive no trace headers.
	return outbound.New(outbound.Config{Allow: slices.Concat(allow, op.cfg.Operator.Outbound.Allow),
		Logger: op.cfg.Logger})
}

// localhostAlone resolves localhost and no other name: nothing is asked of the network before a
// person has agreed.
func localhostAlone(_ context.Context, host string) ([]netip.Addr, error) {
	if host = strings.ToLower(strings.TrimSuffix(host, ".")); host == "localhost" || strings.HasSuffix(host,
		".localhost") {
		return []netip.Addr{netip.IPv6Loopback()}, nil
	}
	return nil, errors.New("not looked up")
}

// PrivateAddresses returns, as lines of CommandsError.Access, the addresses that trust in a
// document opens although they are not public: those that its toolsets and its providers name by
// number, or as localhost.
func (op *Opener) PrivateAddresses(ctx context.Context, specs []tool.Spec, w *workflow.Workflow) []string {
	var out []string
	add := func(address, by string) {
		if address == "" {
			return
		}
		err := outbound.Check(ctx, outbound.Config{Allow: op.cfg.Operator.Outbound.Allow, Resolve: localhostAlone},
			op.address(address))
		if errors.Is(err, outbound.ErrRefused) {
			out = append(out, "call "+address+", which is not a public address ("+by+")")
		}
	}
	for _, s := range specs {
		o := webOptionsOf(s)
		addresses := []string{o.API.Endpoint, o.URL, o.Server}
		if s.Remote != nil {
			addresses = append(addresses, s.Remote.URL)
		}
		for _, host := range fetch.Hosts(s) {
			addresses = append(addresses, "http://"+strings.TrimLeft(host, "*."))
		}
		for _, a := range addresses {
			add(a, "toolset "+s.Title())
		}
	}
	for name, p := range allProviders(w) {
		add(p.BaseURL, "provider "+name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// apiConfig returns the configuration of toolsets of HTTP APIs. A toolset for which the operator
// vouches may be at a private address, and receive values of our environment (D34).
func (op *Opener) apiConfig(dir string) api.Config {
	var decode func(body []byte, contentType string) string
	if op.cfg.Pages != nil {
		decode = op.cfg.Pages.Decode
	}
	return api.Config{
		Decode: decode,
		HTTP: func(spec tool.Spec) *http.Client {
			var allow []string
			if o := webOptionsOf(spec); spec.Trusted {
				allow = []string{op.address(o.API.Endpoint), op.address(o.URL), op.address(o.Server)}
			}
			return op.client(allow...)
		},
		Lookup: op.lookupFor,
		ReadFile: func(_ tool.Spec, path string, limit int) ([]byte, error) {
			if !filepath.IsAbs(path) {
				path = filepath.Join(dir, path)
			}
			return readBounded(path, limit)
		},
		Logger: op.cfg.Logger,
	}
}

// searchConfig returns the configuration of web searches: the operator's keys, and a private
// address only if the operator named it.
func (op *Opener) searchConfig() search.Config {
	return search.Config{
		HTTP: func(allow string) *http.Client {
			if allow == "" {
				return op.client()
			}
			return op.client(allow)
		},
		Lookup: op.lookup,
	}
}

// readBounded reads a regular file of at most limit bytes.
func readBounded(path string, limit int) ([]byte, error) {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err == nil && len(data) > limit {
		return nil, fmt.Errorf("%s has more than the limit of %d bytes", path, limit)
	}
	return data, err
}

// lookupFor returns the function that looks up the values that a spec may refer to: for a trusted
// spec, those available to the operator's definitions. It returns nil for any other spec.
func (op *Opener) lookupFor(spec tool.Spec) func(string) (string, bool) {
	if !spec.Trusted {
		return nil
	}
	return op.lookup
}

// address returns an address as it will be requested.
func (op *Opener) address(text string) string {
	return reference.ReplaceAllStringFunc(text, func(ref string) string {
		v, _ := op.lookup(nameIn(ref))
		return v
	})
}

// inEndpoint matches a variable in the endpoint of an api_config, in which `${name}` without env is
// a placeholder for an argument.
var inEndpoint = regexp.MustCompile(`\$\{\s*env\.[A-Za-z_]\w*\s*\}`)

// webSends returns the address to which a toolset of an HTTP API sends data, and the strings whose
// variables it sends.
func webSends(spec tool.Spec) (to string, texts []string) {
	o := webOptionsOf(spec)
	switch spec.Type {
	case tool.TypeAPI:
		return o.API.Endpoint, append(inEndpoint.FindAllString(o.API.Endpoint, -1), sortedValues(o.API.Headers)...)
	case tool.TypeOpenAPI:
		if to = o.Server; to == "" {
			to = o.URL
		}
		return to, append(sortedValues(o.Headers), o.URL, o.Server, string(o.Auth))
	case tool.TypeWebSearch:
		if to = o.BaseURL; to == "" {
			to = "its search provider"
		}
		texts = []string{o.APIKey, o.BaseURL}
		// the key in the provider's usual variable then goes to the document's address
		if o.BaseURL != "" && o.APIKey == "" {
			for _, name := range search.Keys(o.Provider) {
				texts = append(texts, "${"+name+"}")
			}
		}
		return to, texts
	}
	return "", nil
}

func sortedValues(m map[string]string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[name])
	}
	return out
}
