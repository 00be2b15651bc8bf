package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/driver/carry"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/secret"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/store"
)

// addTemporalFlag adds the flag that names a Temporal server. The other settings are in
// hocket.yaml.
func (a *app) addTemporalFlag(c *cobra.Command) {
	c.Flags().StringVar(&a.temporal.Address, "temporal", "",
		"let the Temporal server at `HOST:PORT` carry the runs that are started (hocket-temporal only; default: from "+
			"hocket.yaml, else none)")
}

// addTemporalFlags adds all flags for connecting to a Temporal server.
func (a *app) addTemporalFlags(c *cobra.Command) {
	a.addTemporalFlag(c)
	f, t := c.Flags(), &a.temporal
	f.StringVar(&t.Namespace, "temporal-namespace", "",
		"`NAME` of the namespace of Temporal, which must exist (default: default)")
	f.StringVar(&t.TLS.Cert, "temporal-tls-cert", "", "PEM `FILE` with the certificate of this process for Temporal")
	f.StringVar(&t.TLS.Key, "temporal-tls-key", "", "PEM `FILE` with the key of --temporal-tls-cert")
	f.StringVar(&t.TLS.CA, "temporal-tls-ca", "",
		"PEM `FILE` with the authority of the Temporal server's certificate (default: those of the machine)")
	f.StringVar(&t.TLS.ServerName, "temporal-tls-server-name", "",
		"`NAME` in the certificate of the Temporal server (default: its host)")
	f.StringVar(&t.APIKey, "temporal-api-key", "",
		"`REFERENCE` to the API key of Temporal, such as '${env.TEMPORAL_API_KEY}' or file:PATH; it is sent over "+
			"TLS only")
	for _, name := range []string{"cert", "key", "ca"} {
		must(c.MarkFlagFilename("temporal-tls-"+name, "pem", "crt", "key"))
	}
}

// temporalSettings returns the Temporal settings of flags and configuration; flags take precedence.
func (a *app) temporalSettings() config.Temporal {
	var t config.Temporal
	if a.operator != nil {
		t = a.operator.Temporal
	}
	flags := a.temporal
	for _, s := range []struct{ to, flag *string }{
		{&t.Address, &flags.Address}, {&t.Namespace, &flags.Namespace}, {&t.TLS.Cert, &flags.TLS.Cert},
		{&t.TLS.Key, &flags.TLS.Key},
		{&t.TLS.CA, &flags.TLS.CA}, {&t.TLS.ServerName, &flags.TLS.ServerName}, {&t.APIKey, &flags.APIKey},
	} {
		if *s.flag != "" {
			*s.to = *s.flag
		}
	}
	if a.temporal == (config.Temporal{}) && t.Address == "" {
		return config.Temporal{} // the file leaves the address to a flag, which is not set
	}
	return t
}

// connectTemporal connects to the Temporal server named in the settings, if there is one, for a
// verb that executes the calls in queues. It does not wait for the server.
func (a *app) connectTemporal(queues []string) error {
	settings := a.temporalSettings()
	if settings == (config.Temporal{}) {
		return nil
	}
	c, err := a.connect(settings, queues)
	if err != nil {
		return err
	}
	at, err := a.config().Locator()
	if err == nil && at.URL() == nil {
		err = errcode.New(errcode.TemporalStore, errcode.Fields{"store": at.String()}, nil)
	}
	if err != nil {
		c.Close()
		return err
	}
	a.carrier = c
	return nil
}

// prepareTemporal is like connectTemporal, for a verb that starts something and waits for it: if
// the server cannot be used, it returns an error, and nothing has run.
func (a *app) prepareTemporal(ctx context.Context) error {
	if err := a.connectTemporal(carry.Queues()); err != nil || a.carrier == nil {
		return err
	}
	if err := a.carrier.Prepare(ctx); err != nil {
		return &exit{ExitUse, errcode.Text(err, errcode.Command)}
	}
	return nil
}

// workTemporal makes this process a worker until ctx is done or s is closed, if Temporal executes
// its runs.
func (a *app) workTemporal(ctx context.Context, s *service.Service) {
	if a.carrier != nil {
		a.guard(func(f func()) { go f() }, func() { s.Work(ctx) })
	}
}

func (a *app) connect(settings config.Temporal, queues []string) (carry.Carrier, error) {
	if a.wiring.Temporal == nil {
		return nil, errcode.New(errcode.TemporalUnsupported, nil, nil)
	}
	resolver := secret.Resolver{Env: a.Env, Keeper: a.keeper}
	return a.wiring.Temporal(carry.Config{Settings: settings, Queues: queues, Secret: resolver.Value,
		Logger: a.config().Logger})
}

// parseQueues parses --queues.
func parseQueues(names []string) ([]string, error) {
	if len(names) == 0 {
		return nil, mustBe("queues", "a list of "+orList(carry.Queues()), "")
	}
	for _, name := range names {
		if !slices.Contains(carry.Queues(), name) {
			return nil, mustBe("queues", "a list of "+orList(carry.Queues()), name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// temporalFindings is what doctor finds out about Temporal.
type temporalFindings struct {
	Facts []store.Fact `json:"facts"`
	// Problem is the reason why the server cannot be used; "" means that it can.
	Problem string `json:"problem,omitempty"`
}

// findTemporal queries the Temporal server named in the settings; it returns nil if there is none.
func (a *app) findTemporal(ctx context.Context) *temporalFindings {
	settings := a.temporalSettings()
	if settings == (config.Temporal{}) {
		return nil
	}
	f := &temporalFindings{}
	c, err := a.connect(settings, nil)
	if err == nil {
		defer c.Close()
		f.Facts, err = c.Facts(ctx)
	}
	if at, wrong := a.config().Locator(); err == nil && wrong == nil && at.URL() == nil {
		err = errcode.New(errcode.TemporalStore, errcode.Fields{"store": at.String()}, nil)
	}
	if err != nil {
		f.Problem = a.keeper.Redact(errcode.Text(err, errcode.Command))
	}
	return f
}
