package auth_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/auth"
	"github.com/rondo-engine/rondo/internal/auth/authtest"
)

func TestKeysAreFetchedOnceAndRefreshedWhenOld(t *testing.T) {
	t.Parallel()
	is := authtest.NewIssuer(t)
	verifier := newVerifier(t, is.Config("acme"))
	call := func() {
		t.Helper()
		if _, err := verifier.Authenticate(request("Bearer " + is.Token("acme", "ann", nil))); err != nil {
			t.Fatalf("refused: %v", err)
		}
	}
	call()
	call()
	if got := is.Fetches(); got != 1 {
		t.Errorf("%d fetches for two calls, want 1", got)
	}
	is.Advance(time.Hour)
	call()
	call()
	if got := is.Fetches(); got != 2 {
		t.Errorf("%d fetches after an hour, want 2", got)
	}
}

func TestUnknownKeysCauseOneFetchInThirtySeconds(t *testing.T) {
	t.Parallel()
	is := authtest.NewIssuer(t)
	verifier := newVerifier(t, is.Config("acme"))
	unknown := func(want rondo.Code) {
		t.Helper()
		token := authtest.RS256(is.RSA, `{"alg":"RS256","kid":"new"}`, payloadOf(is))
		if _, err := verifier.Authenticate(request("Bearer " + token)); rondo.CodeOf(err) != want {
			t.Fatalf("got %v, want %q", err, want)
		}
	}
	for range 20 {
		unknown(auth.CodeTokenInvalid)
	}
	if got := is.Fetches(); got != 1 {
		t.Errorf("%d fetches for a flood of unknown keys, want 1", got)
	}
	is.Publish(authtest.RSAEntry("new", &is.RSA.PublicKey))
	is.Advance(29 * time.Second)
	unknown(auth.CodeTokenInvalid)
	is.Advance(time.Second)
	unknown("")
	if got := is.Fetches(); got != 2 {
		t.Errorf("%d fetches after the rotation, want 2", got)
	}
}

func TestStaleKeysServeForADayWhileTheIssuerIsDown(t *testing.T) {
	t.Parallel()
	is := authtest.NewIssuer(t)
	verifier := newVerifier(t, is.Config("acme"))
	call := func() rondo.Code {
		_, err := verifier.Authenticate(request("Bearer " + is.Token("acme", "ann", nil)))
		return rondo.CodeOf(err)
	}
	if got := call(); got != "" {
		t.Fatalf("refused: %s", got)
	}
	is.AnswerKeysWith(func() (int, string) { return http.StatusBadGateway, "" })
	is.Advance(24 * time.Hour)
	if got := call(); got != "" {
		t.Errorf("after 24 h: %s, want the stale keys to serve", got)
	}
	is.Advance(time.Second)
	if got := call(); got != rondo.CodeUnavailable {
		t.Errorf("after more than 24 h: %q, want %s", got, rondo.CodeUnavailable)
	}
	is.AnswerKeysWith(nil)
	is.Advance(time.Second)
	if got := call(); got != "" {
		t.Errorf("after the issuer came back: %s", got)
	}
}

func TestAnswersThatAreNoKeySetAreRefused(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func() (int, string){
		"server error":   func() (int, string) { return 500, `{"keys":[]}` },
		"redirect":       func() (int, string) { return 302, "" },
		"not JSON":       func() (int, string) { return 200, "<html>" },
		"no keys member": func() (int, string) { return 200, "{}" },
		"too large":      func() (int, string) { return 200, `{"keys":[],"x":"` + strings.Repeat("x", 600<<10) + `"}` },
		"too many keys":  func() (int, string) { return 200, `{"keys":[` + strings.Repeat(`{},`, 100) + `{}]}` },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := authtest.NewIssuer(t)
			is.AnswerKeysWith(answer)
			_, err := newVerifier(t, is.Config("acme")).Authenticate(request("Bearer " + is.Token("acme", "ann", nil)))
			if rondo.CodeOf(err) != rondo.CodeUnavailable {
				t.Errorf("got %v, want %s", err, rondo.CodeUnavailable)
			}
		})
	}
}

func TestKeysThatMustNotVerifyAreLeftOut(t *testing.T) {
	t.Parallel()
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatalf("make a weak key: %v", err)
	}
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	is := authtest.NewIssuer(t)
	changed := func(kid string, change map[string]any) map[string]any {
		entry := authtest.RSAEntry(kid, &is.RSA.PublicKey)
		maps.Copy(entry, change)
		return entry
	}
	is.Publish(authtest.RSAEntry("weak", &weak.PublicKey))
	is.Publish(changed("enc", map[string]any{"use": "enc"}))
	is.Publish(changed("ops", map[string]any{"key_ops": []string{"encrypt"}}))
	is.Publish(changed("other-alg", map[string]any{"alg": "RS512"}))
	is.Publish(changed("private", map[string]any{"d": "AQAB"}))
	is.Publish(map[string]any{"kty": "oct", "kid": "secret", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0"})
	is.Publish(map[string]any{"kty": "unheard-of", "kid": "odd"})
	is.Publish(authtest.ECEntry("p384", &p384.PublicKey))
	verifier := newVerifier(t, is.Config("acme"))
	payload := payloadOf(is)
	for name, token := range map[string]string{
		"weak RSA key":            authtest.RS256(weak, `{"alg":"RS256","kid":"weak"}`, payload),
		"key for encryption":      authtest.RS256(is.RSA, `{"alg":"RS256","kid":"enc"}`, payload),
		"key for other use":       authtest.RS256(is.RSA, `{"alg":"RS256","kid":"ops"}`, payload),
		"key for other algorithm": authtest.RS256(is.RSA, `{"alg":"RS256","kid":"other-alg"}`, payload),
		"published private key":   authtest.RS256(is.RSA, `{"alg":"RS256","kid":"private"}`, payload),
		"published secret":        authtest.HS256([]byte("secret-secret-secret-secret"), `{"alg":"HS256","kid":"secret"}`, payload),
		"ES256 on P-384":          authtest.ES256(p384, `{"alg":"ES256","kid":"p384"}`, payload),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := verifier.Authenticate(request("Bearer " + token)); rondo.CodeOf(err) != auth.CodeTokenInvalid {
				t.Errorf("got %v, want %s", err, auth.CodeTokenInvalid)
			}
		})
	}
	if _, err := verifier.Authenticate(request("Bearer " + is.Token("acme", "ann", nil))); err != nil {
		t.Errorf("the good key beside them is refused: %v", err)
	}
}

func TestKeysAreDiscoveredFromTheIssuer(t *testing.T) {
	t.Parallel()
	is := authtest.NewIssuer(t)
	cfg := is.Config("acme")
	cfg.JWKSURL = ""
	if _, err := newVerifier(t, cfg).Authenticate(request("Bearer " + is.Token("acme", "ann", nil))); err != nil {
		t.Errorf("refused: %v", err)
	}
}

func TestConcurrentCallersShareOneFetch(t *testing.T) {
	t.Parallel()
	is := authtest.NewIssuer(t)
	verifier := newVerifier(t, is.Config("acme"))
	token := "Bearer " + is.Token("acme", "ann", nil)
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			if _, err := verifier.Authenticate(request(token)); err != nil {
				t.Errorf("refused: %v", err)
			}
		})
	}
	wg.Wait()
	if got := is.Fetches(); got != 1 {
		t.Errorf("%d fetches for 32 callers at once, want 1", got)
	}
}

// payloadOf is the payload of an honest token.
func payloadOf(is *authtest.Issuer) string {
	return `{"iss":"` + is.URL + `","aud":"rondo-api","exp":4102444800,"org_id":"acme","sub":"ann"}`
}
