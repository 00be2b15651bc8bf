package server

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certificate is loaded from its files, and reloaded when they change, so that a renewed one needs
// no restart. It is safe for concurrent use.
type certificate struct {
	cert, key string
	log       *slog.Logger

	mu     sync.Mutex
	loaded *tls.Certificate
	at     [2]time.Time // modification times of the files last loaded
}

// get returns the certificate for a connection. If the files are invalid, the previous certificate
// remains in use.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var at [2]time.Time
	var failed error
	for i, path := range []string{c.cert, c.key} {
		st, err := os.Stat(path)
		if err == nil {
			at[i] = st.ModTime()
		}
		failed = errors.Join(failed, err)
	}
	if c.loaded != nil && at == c.at {
		return c.loaded, nil
	}
	c.at = at
	if failed == nil {
		var pair tls.Certificate
		if pair, failed = tls.LoadX509KeyPair(c.cert, c.key); failed == nil {
			c.loaded = &pair
		}
	}
	if failed != nil && c.loaded != nil {
		c.log.Error("the changed certificate is not usable; the previous one stays in use", "err", failed)
		failed = nil
	}
	return c.loaded, failed
}
