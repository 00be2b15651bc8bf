package pgtest

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/hocket-run/hocket/internal/certtest"
)

// certify writes a key and a certificate for the server, and returns the file with the certificate
// of the authority that signed it.
func (s *Server) certify() (string, error) {
	a, err := certtest.New()
	if err != nil {
		return "", err
	}
	cert, key, err := a.Issue("localhost")
	if err != nil {
		return "", err
	}
	authority := filepath.Join(s.Dir, "authority.crt")
	return authority, errors.Join(os.WriteFile(authority, a.PEM, 0o600), s.write("server.crt", cert),
		s.write("server.key", key))
}
