package dial

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"os"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/errcode"
)

// Config is what a Conn is made of. Only Settings.Address must be set.
type Config struct {
	// Settings are the operator's.
	Settings config.Temporal
	// Secret gives the value of a reference, for the API key. Nil: there are none.
	Secret func(ref string) (string, error)
	// Identity names this process in Temporal's histories; "": the SDK's, which is the number of the process and the name of the machine.
	Identity string
	// Logger gets what the SDK says; nil: none.
	Logger *slog.Logger
}

// Conn is a connection to one namespace of a Temporal server. Safe for concurrent use.
type Conn struct {
	settings config.Temporal
	client   client.Client
}

// DefaultNamespace is the namespace of Temporal where the settings name none.
const DefaultNamespace = "default"

// keyAge is how long an API key is used before its reference is resolved again.
const keyAge = time.Minute

// New makes a connection. It reads the files of the settings, and does not wait for the server. Close it.
//
// Errors: *errcode.Error with errcode.TemporalSetting, or errcode.TemporalKey where the API key cannot be resolved.
func New(cfg Config) (*Conn, error) {
	s := cfg.Settings
	if s.Address == "" {
		return nil, settingError("the address of the server is missing; name it with --temporal, or temporal.address in hocket.yaml")
	}
	if problem := s.Problem(); problem != "" {
		return nil, settingError(problem)
	}
	s.Namespace = cmp.Or(s.Namespace, DefaultNamespace)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	opts := client.Options{HostPort: s.Address, Namespace: s.Namespace, Identity: cfg.Identity, Logger: log.NewStructuredLogger(slog.New(sdkLog{cfg.Logger.Handler()}))}
	opts.ConnectionOptions.GetSystemInfoTimeout = patience
	var err error
	if opts.ConnectionOptions.TLS, err = secure(s); err != nil {
		return nil, err
	}
	if s.APIKey != "" {
		k := &key{ref: s.APIKey, resolve: cfg.Secret}
		if _, err := k.value(time.Now()); err != nil {
			return nil, errcode.New(errcode.TemporalKey, errcode.Fields{"problem": err.Error()}, err)
		}
		opts.Credentials = client.NewAPIKeyDynamicCredentials(func(context.Context) (string, error) { return k.value(time.Now()) })
	}
	c, err := client.NewLazyClient(opts)
	if err != nil {
		return nil, settingError(err.Error())
	}
	return &Conn{settings: s, client: c}, nil
}

// Client is the SDK's. It belongs to the Conn.
func (c *Conn) Client() client.Client { return c.client }

// Namespace is that of Temporal.
func (c *Conn) Namespace() string { return c.settings.Namespace }

// Address is host:port.
func (c *Conn) Address() string { return c.settings.Address }

// Close ends the connection. Calls under way fail.
func (c *Conn) Close() { c.client.Close() }

// key is an API key that may be replaced while it is used.
type key struct {
	ref     string
	resolve func(string) (string, error)

	mu   sync.Mutex
	last string
	at   time.Time
}

// value gives the key, and the former one where the reference cannot be resolved for the moment.
func (k *key) value(now time.Time) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.last != "" && now.Sub(k.at) < keyAge {
		return k.last, nil
	}
	if k.resolve == nil {
		return "", errNoSecrets
	}
	text, err := k.resolve(k.ref)
	if err != nil && k.last == "" {
		return "", err
	}
	if err == nil {
		k.last = text
	}
	k.at = now
	return k.last, nil
}

// secure gives the TLS of the settings; nil: they ask for none. The client's certificate is read for each connection, so that it can be replaced.
func secure(s config.Temporal) (*tls.Config, error) {
	t := s.TLS
	if !s.IsTLS() {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CA != "" {
		text, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, settingError("the file of the certificate authority cannot be read: " + pathCause(err))
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, settingError(t.CA + " holds no certificate in PEM form")
		}
	}
	if t.Cert != "" {
		load := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
			return &pair, err
		}
		if _, err := load(nil); err != nil {
			return nil, settingError("the client's certificate and key cannot be used: " + pathCause(err))
		}
		c.GetClientCertificate = load
	}
	return c, nil
}
