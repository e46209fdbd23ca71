package guard_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/guard"
)

// forbiddenAddresses are dialled by nobody: the edges and some middle of every range
// that is not public, and addresses that carry such a one inside.
var forbiddenAddresses = []string{
	// This host, this network.
	"0.0.0.0", "0.0.0.1", "0.255.255.255",
	// Private use.
	"10.0.0.0", "10.0.0.1", "10.1.2.3", "10.255.255.255",
	"172.16.0.0", "172.16.0.1", "172.20.10.2", "172.31.255.255",
	"192.168.0.0", "192.168.0.1", "192.168.1.254", "192.168.255.255",
	// Shared address space.
	"100.64.0.0", "100.64.0.1", "100.100.100.200", "100.127.255.255",
	// Loopback.
	"127.0.0.0", "127.0.0.1", "127.0.0.53", "127.1.1.1", "127.255.255.255",
	// Link local, the clouds' metadata among them.
	"169.254.0.0", "169.254.0.1", "169.254.169.254", "169.254.170.2", "169.254.255.255",
	// Protocol assignments, documentation, AS112, AMT, 6to4 relays, benchmarks.
	"192.0.0.0", "192.0.0.1", "192.0.0.8", "192.0.0.170", "192.0.0.192", "192.0.0.255",
	"192.0.2.0", "192.0.2.1", "192.0.2.255", "198.51.100.0", "198.51.100.7", "198.51.100.255", "203.0.113.0", "203.0.113.9", "203.0.113.255",
	"192.31.196.1", "192.52.193.1", "192.175.48.1", "192.88.99.1",
	"198.18.0.0", "198.18.0.1", "198.19.255.255",
	// Multicast, reserved, broadcast.
	"224.0.0.0", "224.0.0.1", "239.255.255.255", "240.0.0.0", "240.0.0.1", "250.1.2.3", "255.255.255.254", "255.255.255.255",
	// IPv6: unspecified, loopback, IPv4 inside.
	"::", "::1", "::2", "::7f00:1", "::10.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:192.168.0.1", "::ffff:0.0.0.0",
	"::ffff:0:127.0.0.1", "::ffff:0:10.0.0.1",
	// Translators and tunnels.
	"64:ff9b::", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b::10.0.0.1", "64:ff9b::8.8.8.8", "64:ff9b:1::1", "64:ff9b:1:ffff::1",
	"2001::", "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:1::1", "2001:2::1", "2001:10::1", "2001:20::1", "2001:1ff:ffff::1",
	"2002::", "2002:7f00:1::", "2002:a00:1::1", "2002:a9fe:a9fe::1", "2002:c0a8:1::1", "2002:ffff:ffff::1",
	// Documentation, discard, others that are no places.
	"2001:db8::", "2001:db8::1", "2001:db8:ffff:ffff::1", "3fff::1", "3fff:fff::1", "100::", "100::1", "5f00::1", "2620:4f:8000::1",
	// Unique local, link local, site local, multicast.
	"fc00::", "fc00::1", "fd00::1", "fd00:ec2::254", "fdff:ffff::1",
	"fe80::", "fe80::1", "fe80::a9fe:a9fe", "febf:ffff::1", "fe80::1%eth0",
	"fec0::", "fec0::1", "feff:ffff::1",
	"ff00::", "ff01::1", "ff02::1", "ff02::fb", "ff05::2", "ff0e::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
	// Outside of what is given out as global unicast.
	"1::1", "4000::1", "8000::1", "e000::1",
}

// publicAddresses are just beside those.
var publicAddresses = []string{
	"1.0.0.0", "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.1",
	"169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.0.3.0", "192.167.255.255", "192.169.0.0",
	"198.17.255.255", "198.20.0.0", "198.51.99.255", "198.51.101.0", "203.0.112.255", "203.0.114.0", "223.255.255.255",
	"2001:200::1", "2001:4860:4860::8888", "2606:4700:4700::1111", "2a00:1450:4001::1", "2003::1", "2001:db7:ffff::1", "2001:db9::1", "::ffff:8.8.8.8",
}

func TestOnlyPublicAddressesAreReached(t *testing.T) {
	t.Parallel()
	client := guard.New(guard.Options{})
	if len(forbiddenAddresses) < 120 {
		t.Errorf("only %d forbidden addresses are tried, want at least 120", len(forbiddenAddresses))
	}
	for _, address := range forbiddenAddresses {
		if client.Judge(netip.MustParseAddr(address)) == nil {
			t.Errorf("%s may be reached", address)
		}
		u := &url.URL{Scheme: "https", Host: net.JoinHostPort(address, "443"), Path: "/"}
		if client.Check(u) == nil {
			t.Errorf("%s may be requested", u)
		}
	}
	for _, address := range publicAddresses {
		if err := client.Judge(netip.MustParseAddr(address)); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// The same addresses are refused when they are dialled, whatever the URL said.
func TestEveryDialIsJudged(t *testing.T) {
	t.Parallel()
	client := guard.New(guard.Options{PlainHTTP: true})
	for _, address := range forbiddenAddresses {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+net.JoinHostPort(strings.ReplaceAll(address, "%", "%25"), "80")+"/", nil)
		if err != nil {
			if strings.Contains(address, "%") {
				continue // a zone makes no URL: refused before
			}
			t.Fatal(err)
		}
		response, err := client.HTTP.Do(request)
		if err == nil {
			_ = response.Body.Close()
			t.Errorf("%s was reached", address)
			continue
		}
		if rondo.CodeOf(guard.Refused(err)) != rondo.CodeForbidden {
			t.Errorf("%s: %v, want a refusal", address, err)
		}
	}
}

func TestURLsAreJudged(t *testing.T) {
	t.Parallel()
	client := guard.New(guard.Options{Ports: []int{443, 8443}})
	for raw, allowed := range map[string]bool{
		"https://example.org/x":             true,
		"https://example.org:8443/x":        true,
		"https://1.1.1.1/":                  true,
		"https://[2606:4700:4700::1111]/":   true,
		"http://example.org/":               false,
		"https://example.org:22/":           false,
		"https://example.org:80/":           false,
		"https://example.org:0/":            false,
		"https://example.org:99999/":        false,
		"https://user:pass@example.org/":    false,
		"https://user@example.org/":         false,
		"ftp://example.org/":                false,
		"file:///etc/passwd":                false,
		"gopher://example.org/":             false,
		"unix:///var/run/docker.sock":       false,
		"https:///x":                        false,
		"https:example.org":                 false,
		"//example.org/":                    false,
		"javascript:alert(1)":               false,
		"https://127.0.0.1/":                false,
		"https://[::1]/":                    false,
		"https://[::ffff:127.0.0.1]/":       false,
		"https://[fe80::1%25eth0]/":         false,
		"https://169.254.169.254/latest/":   false,
		"https://example.org%2f@127.0.0.1/": false,
	} {
		u, err := url.Parse(raw)
		if err != nil {
			if allowed {
				t.Errorf("%s: %v", raw, err)
			}
			continue
		}
		if err := client.Check(u); (err == nil) != allowed {
			t.Errorf("%s: %v, want allowed = %t", raw, err, allowed)
		}
	}
}

// secure is a server with a certificate, and a client's options that trust it.
func secure(t *testing.T, handler http.HandlerFunc) (*url.URL, guard.Options) {
	t.Helper()
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return u, guard.Options{Ports: []int{port}, TLS: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
}

func get(ctx context.Context, t *testing.T, client *guard.Client, target string) (status int, err error) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.HTTP.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

func TestNamesAreJudgedByWhereTheyLead(t *testing.T) {
	t.Parallel()
	u, opts := secure(t, func(http.ResponseWriter, *http.Request) { t.Error("the server was reached") })
	client := guard.New(opts)
	for _, host := range []string{"localhost", "LOCALHOST", "localhost.", "127.1", "2130706433", "0x7f.1", "0177.0.0.1", "0"} {
		target := "https://" + host + ":" + u.Port() + "/"
		parsed, err := url.Parse(target)
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Check(parsed); err != nil {
			continue // refused before it is dialled: as good
		}
		_, err = get(t.Context(), t, client, target)
		if err == nil {
			t.Errorf("%s was reached", host)
		}
	}
}

func TestTheOperatorCanAllowARange(t *testing.T) {
	t.Parallel()
	u, opts := secure(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	opts.Private = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	client := guard.New(opts)
	if err := client.Check(u); err != nil {
		t.Fatal(err)
	}
	status, err := get(t.Context(), t, client, u.String())
	if err != nil || status != http.StatusTeapot {
		t.Errorf("%d, %v", status, err)
	}
	for _, still := range []string{"10.0.0.1", "169.254.169.254", "::1"} {
		if client.Judge(netip.MustParseAddr(still)) == nil {
			t.Errorf("%s may be reached too", still)
		}
	}
}

func TestRedirectsAreNotFollowedAndProxiesNotUsed(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	var reached int
	u, opts := secure(t, func(w http.ResponseWriter, r *http.Request) {
		reached++
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	})
	opts.Private = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	status, err := get(t.Context(), t, guard.New(opts), u.String())
	if err != nil || status != http.StatusFound || reached != 1 {
		t.Errorf("%d, %v after %d requests, want the redirect itself after one", status, err, reached)
	}
}

func TestAPortIsJudgedAtTheDialToo(t *testing.T) {
	t.Parallel()
	u, opts := secure(t, func(http.ResponseWriter, *http.Request) { t.Error("the server was reached") })
	opts.Private = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	opts.Ports = []int{443}
	_, err := get(t.Context(), t, guard.New(opts), u.String())
	if guard.Refused(err) == nil {
		t.Errorf("%v, want a refusal", err)
	}
}
