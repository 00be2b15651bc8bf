// Package certtest creates certificates for tests of TLS: an authority, and server and client
// certificates that it signed.
package certtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"time"
)

// Authority signs certificates. It is not safe for concurrent use.
type Authority struct {
	// PEM is the certificate of the authority; trusting it means trusting the certificates that it
	// issues.
	PEM []byte

	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	last int64 // serial number
}

// New creates an authority whose certificates are valid for a day.
func New() (*Authority, error) {
	now := time.Now()
	a := &Authority{last: 1, cert: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Hocket's tests"}, NotBefore: now.Add(-time.Hour),
		NotAfter: now.Add(24 * time.Hour),
		IsCA:     true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	a.PEM, err = a.sign(a.cert, &a.key.PublicKey)
	return a, err
}

// Issue returns a new certificate and its key, in PEM, for a server at localhost and 127.0.0.1 or a
// client with that name.
func (a *Authority) Issue(name string) (cert, key []byte, err error) {
	a.last++
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	text, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	cert, err = a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(a.last), Subject: pkix.Name{CommonName: name}, NotBefore: a.cert.NotBefore,
		NotAfter: a.cert.NotAfter,
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth,
			x509.ExtKeyUsageClientAuth},
	}, &private.PublicKey)
	return cert, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text}), err
}

func (a *Authority) sign(c *x509.Certificate, public *ecdsa.PublicKey) ([]byte, error) {
	text, err := x509.CreateCertificate(rand.Reader, c, a.cert, public, a.key)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: text}), err
}
