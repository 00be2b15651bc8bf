package outbound

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"syscall"
	"testing"
)

// TestNew_NoDescriptors checks that a request for whose connection no file descriptor is left is
// sent once there is one, and that any other failure is returned at once.
func TestNew_NoDescriptors(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(srv.Close)
	for _, test := range []struct {
		failures int
		err      error
		want     error
	}{
		{2, os.NewSyscallError("socket", syscall.EMFILE), nil},
		{2, os.NewSyscallError("socket", syscall.ENFILE), nil},
		{1, os.NewSyscallError("connect", syscall.ECONNREFUSED), syscall.ECONNREFUSED},
		{1, &net.DNSError{Err: "no such host", IsNotFound: true}, &net.DNSError{Err: "no such host", IsNotFound: true}},
	} {
		left := test.failures
		dial := func(ctx context.Context, network, address string) (net.Conn, error) {
			if left--; left >= 0 {
				return nil, &net.OpError{Op: "dial", Net: network, Err: test.err}
			}
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}
		tr := newTransport(dial, Config{})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := tr.RoundTrip(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		_, isDNS := errors.AsType[*net.DNSError](err)
		_, wantDNS := errors.AsType[*net.DNSError](test.want)
		if !errors.Is(err, test.want) && (!isDNS || !wantDNS) {
			t.Errorf("%v: got %v, want %v", test.err, err, test.want)
		}
		tr.CloseIdleConnections()
	}
}
