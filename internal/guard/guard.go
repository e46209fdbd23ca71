// Package guard makes HTTP clients for requests whose URLs tenants choose: they reach
// public addresses and nothing else, so that nobody borrows the server's place in its
// network.
//
// # Guarantees
//
//  1. The address is judged when it is dialled, after names were resolved, on every
//     dial: a name that changes its address meanwhile gains nothing.
//  2. Only ports of a list, only https unless plain http is allowed; no redirect is
//     followed, no proxy of the environment is used.
//  3. Errors name the rule, never the resolved address.
//
// It imports the standard library, the root package and code.dny.dev/ssrf.
package guard

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"

	"github.com/rondo-engine/rondo"
)

// Options widen what is allowed. The zero value allows https to public addresses at
// port 443.
type Options struct {
	// Private are ranges that may be reached although they are not public.
	Private []netip.Prefix
	// PlainHTTP allows http URLs.
	PlainHTTP bool
	// Ports that may be dialled. Default: 443, and 80 with PlainHTTP. 0 is any port.
	Ports []int
	// TLS is the client's TLS configuration. Default: the system's roots.
	TLS *tls.Config
}

// Client is a guarded client. Its requests must be made of URLs that Check passed.
type Client struct {
	HTTP  *http.Client
	opts  Options
	judge *ssrf.Guardian
}

const (
	dialTimeout = 5 * time.Second
	maxHeader   = 64 << 10
	// maxIdle bounds the connections that are kept between requests.
	maxIdle = 100
)

// refusal is why a dial is refused.
type refusal struct{ rule string }

func (r *refusal) Error() string { return r.rule }

// New makes a client.
func New(opts Options) *Client {
	if len(opts.Ports) == 0 {
		opts.Ports = []int{443}
		if opts.PlainHTTP {
			opts.Ports = []int{443, 80}
		}
	}
	var v4, v6 []netip.Prefix
	for _, p := range opts.Private {
		if p.Addr().Is4() {
			v4 = append(v4, p)
		} else {
			v6 = append(v6, p)
		}
	}
	c := &Client{opts: opts, judge: ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...))}
	dialer := &net.Dialer{Timeout: dialTimeout, Control: c.control}
	c.HTTP = &http.Client{
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSClientConfig: opts.TLS, ForceAttemptHTTP2: true,
			TLSHandshakeTimeout: dialTimeout, IdleConnTimeout: time.Minute, MaxIdleConns: maxIdle,
			MaxResponseHeaderBytes: maxHeader,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c
}

// control judges the address that is about to be dialled.
func (c *Client) control(network, address string, _ syscall.RawConn) error {
	if network != "tcp4" && network != "tcp6" {
		return &refusal{"only TCP is allowed"}
	}
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return &refusal{"the address cannot be read"}
	}
	if !c.portAllowed(int(target.Port())) {
		return &refusal{"the port is not allowed"}
	}
	return c.Judge(target.Addr())
}

// Judge says why an address must not be reached, nil when it may.
func (c *Client) Judge(address netip.Addr) error {
	address = address.Unmap().WithZone("")
	if slices.ContainsFunc(c.opts.Private, func(p netip.Prefix) bool { return p.Contains(address) }) {
		return nil
	}
	if !address.IsGlobalUnicast() || slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(address) }) || c.judge.SafeAddr(address) != nil {
		return &refusal{"the address is not a public one"}
	}
	return nil
}

func (c *Client) portAllowed(port int) bool {
	return slices.Contains(c.opts.Ports, port) || slices.Contains(c.opts.Ports, 0)
}

// Check says why a URL must not be requested, nil when it may be tried. What it
// refuses is CodeForbidden or CodeInvalid and would be refused again.
func (c *Client) Check(u *url.URL) error {
	switch {
	case u.Scheme != "https" && u.Scheme != "http" || u.Opaque != "" || u.Hostname() == "":
		return invalid("this is not an http or https URL", "write it like https://api.example.org/path")
	case u.Scheme == "http" && !c.opts.PlainHTTP:
		return forbidden("plain http is not allowed", "use https, or let the operator allow plain http")
	case u.User != nil:
		return invalid("the URL has credentials", "put them in a header")
	case strings.ContainsAny(u.Hostname(), " \t\r\n\x00/\\@%"):
		return invalid("the host of the URL cannot be one", "write it like https://api.example.org/path")
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	number, err := strconv.Atoi(port)
	if err != nil || number < 1 || number > 65535 {
		return invalid("the port of the URL is not a number", "write it like https://api.example.org:8443/path")
	}
	if !c.portAllowed(number) {
		return forbidden("port "+port+" is not allowed", "use another port, or let the operator allow it")
	}
	if address, err := netip.ParseAddr(u.Hostname()); err == nil {
		if err := c.Judge(address); err != nil {
			return forbidden(err.Error(), hintPrivate)
		}
	}
	return nil
}

const hintPrivate = "name a public host, or let the operator allow its range"

// Refused returns the error for callers when a request failed because the guard did
// not let it out, and nil when it failed for another reason.
func Refused(err error) error {
	why, ok := errors.AsType[*refusal](err)
	if !ok {
		return nil
	}
	return forbidden(why.rule, hintPrivate)
}

func forbidden(message, hint string) error {
	return &rondo.Error{Code: rondo.CodeForbidden, Op: "guard request", Message: message, Hint: hint}
}

func invalid(message, hint string) error {
	return &rondo.Error{Code: rondo.CodeInvalid, Op: "guard request", Message: message, Hint: hint}
}
