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

// Config configures a Conn. Only Settings.Address is required.
type Config struct {
	// Settings are the operator's settings.
	Settings config.Temporal
	// Secret resolves a reference, for the API key. If nil, no reference can be resolved.
	Secret func(ref string) (string, error)
	// Identity identifies this process in Temporal's histories; empty means the SDK's default, the
	// process ID and the host name.
	Identity string
	// Logger receives the SDK's log messages; nil disables them.
	Logger *slog.Logger
}

// Conn is a connection to one namespace of a Temporal server. It is safe for concurrent use.
type Conn struct {
	settings config.Temporal
	client   client.Client
}

// DefaultNamespace is the Temporal namespace that is used if the settings name none.
const DefaultNamespace = "default"

// keyAge is how long an API key is used before its reference is resolved again.
const keyAge = time.Minute

// New creates a connection. It reads the files of the settings and does not wait for the server.
// The caller must close the connection.
//
// It returns an *errcode.Error with errcode.TemporalSetting, or with errcode.TemporalKey if the API
// key cannot be resolved.
func New(cfg Config) (*Conn, error) {
	s := cfg.Settings
	if s.Address == "" {
		return nil,
			settingError("the address of the server is missing; name it with --temporal, or temporal.address in " +
				"hocket.yaml")
	}
	if problem := s.Problem(); problem != "" {
		return nil, settingError(problem)
	}
	s.Namespace = cmp.Or(s.Namespace, DefaultNamespace)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	opts := client.Options{HostPort: s.Address, Namespace: s.Namespace, Identity: cfg.Identity,
		Logger: log.NewStructuredLogger(slog.New(sdkLog{cfg.Logger.Handler()}))}
	opts.ConnectionOptions.GetSystemInfoTimeout = checkTimeout
	var err error
	if opts.ConnectionOptions.TLS, err = tlsConfig(s); err != nil {
		return nil, err
	}
	if s.APIKey != "" {
		k := &key{ref: s.APIKey, resolve: cfg.Secret}
		if _, err := k.value(time.Now()); err != nil {
			return nil, errcode.New(errcode.TemporalKey, errcode.Fields{"problem": err.Error()}, err)
		}
		opts.Credentials = client.NewAPIKeyDynamicCredentials(func(context.Context) (string, error) {
			return k.value(time.Now())
		})
	}
	c, err := client.NewLazyClient(opts)
	if err != nil {
		return nil, settingError(err.Error())
	}
	return &Conn{settings: s, client: c}, nil
}

// Client returns the SDK's client. It is owned by the Conn.
func (c *Conn) Client() client.Client { return c.client }

// Namespace returns the Temporal namespace.
func (c *Conn) Namespace() string { return c.settings.Namespace }

// Address returns the address as host:port.
func (c *Conn) Address() string { return c.settings.Address }

// Close closes the connection. Calls in flight fail.
func (c *Conn) Close() { c.client.Close() }

// key is an API key that may be replaced while it is in use.
type key struct {
	ref     string
	resolve func(string) (string, error)

	mu   sync.Mutex
	last string
	at   time.Time
}

// value returns the key, or the previous one if the reference cannot be resolved at the moment.
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

// tlsConfig returns the TLS configuration of the settings, or nil if they do not use TLS. The
// client's certificate is read for each connection, so that it can be replaced.
func tlsConfig(s config.Temporal) (*tls.Config, error) {
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
